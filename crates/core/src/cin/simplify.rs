//! Simplifies a statement whose operands are known, in part, to have their fill values.
//!
//! ```text
//! B * C + D     without C, all fills 0      D
//! min(B, C)     without B, fill infinity    C
//! B / c         without B, fill 0           0
//! ```
//!
//! All of sparse iteration follows from this: the algebra of operators and the fill values decide what remains to be
//! computed, if anything.
//!
//! A fill value annihilates: 0 times an implicit coordinate is 0 even if the other factor is infinite. So does an
//! empty sum: a factor is moved out of a sum only where every coordinate is visited, or where empty sums are skipped
//! ([`Kernel::partial`](super::Kernel::partial)).

use super::{Program, Role, Stmt};
use crate::format::{LevelMap, Storage};
use crate::notation::{Access, Commutativity, Expr};
use std::collections::BTreeSet;
use tamis_ir::algebra::{BinaryOp, ReduceOp, Strictness, UnaryOp, ZeroRule, eval};
use tamis_ir::datatype::{DataType, Register, Scalar};
use tamis_ir::ids::{IndexVar, TensorId};

/// The exponent for which a power becomes a product.
const TWO: Scalar = Scalar::I64(2);

/// The facts of a program that simplification needs, for one compute type.
#[derive(Clone, Copy)]
pub struct Facts<'p> {
    /// Formats, fill values and operators.
    pub program: &'p Program,
    /// The type in which the statement computes.
    pub compute: DataType,
}

impl Facts<'_> {
    /// The register type of values, or of their parts.
    pub fn register(&self) -> Register {
        self.compute.register()
    }

    /// A constant in the compute type, or in that of its parts if it is real.
    pub fn typed(&self, c: Scalar) -> Scalar {
        c.computed(if c.is_complex() { self.compute } else { self.compute.part() })
    }

    /// The constant that an expression folded to: real if the expression is real by its operands and operators.
    fn folded(&self, e: &Expr, c: Scalar) -> Expr {
        let is_real = self.program.is_real(e);
        Expr::Literal(c.computed(if is_real { self.compute.part() } else { self.compute }))
    }

    /// The fill value of a tensor in the compute type, or in that of its parts.
    pub fn fill(&self, tensor: TensorId) -> Scalar {
        self.typed(self.program.storage(tensor).fill)
    }

    /// The statement if the accesses that `absent` picks have their fill values, and picked patterns no entry; `None`
    /// if it then has no effect.
    pub fn without(&self, s: &Stmt, absent: &dyn Fn(&Access) -> bool) -> Option<Stmt> {
        let left = outside(s.clone(), absent)?;
        self.stmt(left.map_exprs(&mut |e| self.substitute(e, absent)))
    }

    /// A value if the accesses that `absent` picks have their fill values.
    pub fn expr_without(&self, e: &Expr, absent: &dyn Fn(&Access) -> bool) -> Expr {
        self.expr(self.substitute(e.clone(), absent))
    }

    fn substitute(&self, e: Expr, absent: &dyn Fn(&Access) -> bool) -> Expr {
        match e {
            Expr::Access(a) if absent(&a) => Expr::Literal(self.fill(a.tensor)),
            _ => e.map_children(&mut |child| self.substitute(child, absent)),
        }
    }

    /// The statement with every value simplified; `None` if it has no effect.
    pub fn stmt(&self, s: Stmt) -> Option<Stmt> {
        match s {
            Stmt::Forall { var, body } => {
                let body = Box::new(self.stmt(*body)?);
                Some(Stmt::Forall { var, body })
            }
            Stmt::Where { consumer, producer } => self.where_stmt(*consumer, *producer),
            Stmt::Sequence(parts) => {
                let mut parts: Vec<Stmt> = parts.into_iter().filter_map(|s| self.stmt(s)).collect();
                match parts.len() {
                    0 => None,
                    1 => parts.pop(),
                    _ => Some(Stmt::Sequence(parts)),
                }
            }
            Stmt::Assign { lhs, op, rhs } => {
                let rhs = self.expr(rhs);
                match &rhs {
                    Expr::Literal(c) if self.is_noop(&lhs, op, *c) => None,
                    _ => Some(Stmt::Assign { lhs, op, rhs }),
                }
            }
            // A pattern at which a workspace is initialised is kept.
            Stmt::Within { .. } if self.opens(&s) => Some(s),
            Stmt::Within { pattern, body } => {
                let body = Box::new(self.stmt(*body)?);
                Some(Stmt::Within { pattern, body })
            }
        }
    }

    /// Whether a statement only initialises a workspace at the entries of a pattern.
    pub fn opens(&self, s: &Stmt) -> bool {
        match s {
            Stmt::Forall { body, .. } => self.opens(body),
            Stmt::Within { body, .. } => match &**body {
                Stmt::Assign { lhs, op: None, rhs: Expr::Literal(_) } => {
                    self.program.tensors[lhs.tensor].role == Role::Workspace
                }
                _ => false,
            },
            _ => false,
        }
    }

    fn where_stmt(&self, consumer: Stmt, producer: Stmt) -> Option<Stmt> {
        let temporary = written(&producer);
        let register = match self.program.tensors[temporary].role {
            Role::Register(initial) => Some(self.typed(initial)),
            _ => None,
        };
        let constant = match self.stmt(producer).filter(|producer| !self.opens(producer)) {
            None => register.unwrap_or_else(|| self.fill(temporary)),
            Some(Stmt::Assign { op: None, rhs: Expr::Literal(c), .. }) if register.is_some() => c,
            Some(producer) => {
                let consumer = Box::new(self.stmt(consumer)?);
                return Some(Stmt::Where { consumer, producer: Box::new(producer) });
            }
        };
        self.stmt(consumer.map_exprs(&mut |e| replace(e, temporary, constant)))
    }

    /// Whether writing the constant has no effect, given that results start from their fill value and accumulations
    /// from the operator's identity.
    fn is_noop(&self, lhs: &Access, op: Option<ReduceOp>, c: Scalar) -> bool {
        match op {
            Some(op) => self.program.identity(op, self.compute).is_some_and(|id| id.same_value(c)),
            None => {
                let Storage { datatype, fill, .. } = *self.program.storage(lhs.tensor);
                c.fits(datatype) && c.stored(datatype).same_value(fill)
            }
        }
    }

    /// Whether one iteration of a loop over `var` can stand for all of them, where the variables in `known` have
    /// values outside of the loop: values and written elements are the same in every iteration, and the operator
    /// combines the value once, or as many times as there are iterations.
    ///
    /// ```text
    /// s max= 0        y(i) min= b(i)        s *= 0        s += 1
    /// ```
    pub fn is_once(&self, var: IndexVar, known: &BTreeSet<IndexVar>, s: &Stmt) -> bool {
        match s {
            Stmt::Forall { body, .. } => self.is_once(var, known, body),
            Stmt::Assign { lhs, op: Some(op), rhs } => {
                self.takes_once((var, known), (*op, &lhs.indices), rhs)
            }
            Stmt::Where { consumer, producer } => {
                let mut same = true;
                producer.for_each_assign(&mut |lhs, _, rhs| {
                    same &= self.is_same((var, known), &lhs.indices, rhs);
                });
                let left = |e| match self.absorbing(producer) {
                    Some(c) => replace(e, written(producer), c),
                    None => e,
                };
                same && self.is_once(var, known, &consumer.clone().map_exprs(&mut |e| left(e)))
            }
            _ => false,
        }
    }

    /// Whether [`is_once`](Self::is_once) holds for one assignment, to an element over the variables of `written`.
    pub fn takes_once(
        &self,
        (var, known): (IndexVar, &BTreeSet<IndexVar>),
        (op, written): (ReduceOp, &[IndexVar]),
        value: &Expr,
    ) -> bool {
        let takes = match (op, value) {
            (op, _) if op.is_idempotent() => true,
            // An offset in the last block may exceed the dimension.
            (ReduceOp::Add, _) => {
                matches!(self.program.derived.map(var), None | Some(LevelMap::Mode(_)))
            }
            (_, Expr::Literal(c)) => self.absorbs(op, *c),
            _ => false,
        };
        takes && self.is_same((var, known), written, value)
    }

    /// Whether a value and its element over `written` are the same at every coordinate of a variable.
    fn is_same(
        &self,
        (var, known): (IndexVar, &BTreeSet<IndexVar>),
        written: &[IndexVar],
        value: &Expr,
    ) -> bool {
        let derived = &self.program.derived;
        let is_rectangular = match derived.map(var) {
            None | Some(LevelMap::Mode(_) | LevelMap::Div(..) | LevelMap::Mod(..)) => true,
            Some(LevelMap::Diff { .. } | LevelMap::Slot(_)) => false,
        };
        let varying = derived.varying_with(var, known);
        let depends = |v: &IndexVar| varying.contains(v);
        let mut chooses = false;
        value.walk(&mut |e| chooses |= matches!(e, Expr::Choose { .. }));
        let varies = written.iter().any(depends) || value.free_vars().iter().any(depends);
        is_rectangular && !derived.is_scheduled(var) && !varies && !chooses
    }

    /// Whether a constant decides the value of a reduction.
    fn absorbs(&self, op: ReduceOp, c: Scalar) -> bool {
        same(self.right_annihilator(op.binary(), c), c)
    }

    /// The constant that a register holds, because that term decides the reduction's value.
    fn absorbing(&self, producer: &Stmt) -> Option<Scalar> {
        match producer {
            Stmt::Forall { body, .. } => self.absorbing(body),
            Stmt::Assign { op: Some(op), rhs: Expr::Literal(c), .. } => {
                self.absorbs(*op, *c).then_some(*c)
            }
            _ => None,
        }
    }

    /// The value with constants folded and identities and annihilators applied, bottom up.
    pub fn expr(&self, e: Expr) -> Expr {
        let e = e.map_children(&mut |child| self.expr(child));
        match e {
            Expr::Literal(c) => Expr::Literal(self.typed(c)),
            Expr::Unary(op, ref a) => match **a {
                // Overflow of 64 bits is left to the kernel, which detects it.
                Expr::Literal(c) if !eval::overflows_unary(op, c) => {
                    self.folded(&e, eval::unary(op, c))
                }
                _ => e,
            },
            Expr::UserUnary(op, a) => match *a {
                Expr::Literal(c) => self.inline(op, &[c]),
                a => Expr::UserUnary(op, Box::new(a)),
            },
            Expr::Binary(op, ref a, ref b) => match self.constant(op, a, b) {
                Some(c) => self.folded(&e, c),
                None => self.with_identity(e),
            },
            Expr::Reduce { op, ref body, .. } => match **body {
                Expr::Literal(c) if same(self.program.identity(op, self.compute), c) => {
                    self.folded(&e, c)
                }
                _ => e,
            },
            Expr::Choose { ref then, ref otherwise, .. } => match (&**then, &**otherwise) {
                (Expr::Literal(a), Expr::Literal(b)) if a.same_value(*b) => self.folded(&e, *a),
                _ => e,
            },
            other => other,
        }
    }

    /// The constant value of an operator with simplified operands, if it is one.
    fn constant(&self, op: BinaryOp, a: &Expr, b: &Expr) -> Option<Scalar> {
        let (Expr::Literal(x), Expr::Literal(y)) = (a, b) else {
            return self.annihilated(op, a, b);
        };
        match op {
            BinaryOp::User(id) => match self.inline(id, &[*x, *y]) {
                Expr::Literal(c) => Some(c),
                _ => None,
            },
            // An implicit 0 gives 0 even beside an implicit infinity or NaN.
            BinaryOp::Mul if x.is_zero() && !y.is_zero() => Some(*x),
            BinaryOp::Mul if y.is_zero() && !x.is_zero() => Some(*y),
            _ if x.is_zero() && self.decides_first(op) => Some(*x),
            // Overflow of 64 bits is left to the kernel, which detects it.
            _ if eval::overflows(op, *x, *y) => None,
            _ => Some(eval::binary(op, *x, *y)),
        }
    }

    /// The other operand beside an operator's identity, otherwise the whole value.
    fn with_identity(&self, e: Expr) -> Expr {
        match e {
            Expr::Binary(op, a, b) => match (*a, *b) {
                (Expr::Literal(x), b) if same(self.left_identity(op), x) => b,
                (a, Expr::Literal(y)) if same(self.right_identity(op), y) => a,
                // A product, where the platform's `pow` takes a logarithm.
                (a, Expr::Literal(y)) if op == BinaryOp::Pow && y.same_value(self.typed(TWO)) => {
                    Expr::Unary(UnaryOp::Square, Box::new(a))
                }
                (a, b) => Expr::Binary(op, Box::new(a), Box::new(b)),
            },
            e => e,
        }
    }

    /// The constant that an operator gives beside an annihilator, if it is the same where the other operand is
    /// implicit: it is not for infinity minus a tensor with fill value infinity.
    pub fn annihilated(&self, op: BinaryOp, a: &Expr, b: &Expr) -> Option<Scalar> {
        let c = match (a, b) {
            (Expr::Literal(x), _) => self.left_annihilator(op, *x)?,
            (_, Expr::Literal(y)) => self.right_annihilator(op, *y)?,
            _ => return None,
        };
        let listed = |a: &Access| !self.program.storage(a.tensor).format.is_full();
        let [a, b] = [a, b].map(|side| self.expr_without(side, &listed));
        match (&a, &b) {
            (Expr::Literal(_), Expr::Literal(_)) => {
                self.constant(op, &a, &b).filter(|found| found.same_value(c))
            }
            _ => Some(c),
        }
    }

    fn left_annihilator(&self, op: BinaryOp, c: Scalar) -> Option<Scalar> {
        match op {
            BinaryOp::User(id) => {
                let annihilator = self.program.operators[id].properties.annihilator?;
                let annihilator = Scalar::F64(annihilator).computed(self.compute);
                annihilator.same_value(c).then_some(c)
            }
            _ if op.zero_rule() == ZeroRule::First && !self.decides_first(op) => None,
            _ => op.annihilated_left(c),
        }
    }

    /// Whether a first argument of 0 alone makes the function's value 0. Integers divided by 0 are 0.
    pub fn decides_first(&self, op: BinaryOp) -> bool {
        let by_ieee = self.program.strictness == Strictness::Ieee && self.register().is_float();
        op.zero_rule() == ZeroRule::First && !by_ieee
    }

    fn right_annihilator(&self, op: BinaryOp, c: Scalar) -> Option<Scalar> {
        match op {
            BinaryOp::User(_) => self.left_annihilator(op, c),
            _ => op.annihilated_right(c),
        }
    }

    fn left_identity(&self, op: BinaryOp) -> Option<Scalar> {
        match op {
            BinaryOp::User(_) => self.right_identity(op),
            _ => op.left_identity(self.register()).map(|c| c.computed(self.compute)),
        }
    }

    fn right_identity(&self, op: BinaryOp) -> Option<Scalar> {
        match op {
            BinaryOp::User(id) => {
                let identity = self.program.operators[id].properties.identity?;
                Some(Scalar::F64(identity).computed(self.compute))
            }
            _ => op.right_identity(self.register()).map(|c| c.computed(self.compute)),
        }
    }

    /// A user operator applied to constants.
    fn inline(&self, op: tamis_ir::ids::UserOp, args: &[Scalar]) -> Expr {
        let body = self.program.operators[op].body.clone();
        self.expr(with_params(body, &|k| Expr::Literal(args[k])))
    }

    /// Whether the operands of an operator commute.
    pub fn is_commutative(&self, op: BinaryOp) -> bool {
        match op {
            BinaryOp::User(id) => {
                self.program.operators[id].properties.commutative == Commutativity::Commutative
            }
            _ => op.is_commutative(),
        }
    }
}

/// An operator's body with its parameters replaced.
pub fn with_params(body: Expr, value: &dyn Fn(usize) -> Expr) -> Expr {
    match body {
        Expr::Param(k) => value(k),
        _ => body.map_children(&mut |child| with_params(child, value)),
    }
}

/// The tensor that a statement computes.
pub fn written(s: &Stmt) -> TensorId {
    match s {
        Stmt::Forall { body, .. } => written(body),
        Stmt::Where { consumer, .. } => written(consumer),
        Stmt::Sequence(parts) => written(parts.last().expect("a sequence has parts")),
        Stmt::Assign { lhs, .. } => lhs.tensor,
        Stmt::Within { body, .. } => written(body),
    }
}

/// The rest of a statement outside of the patterns that `absent` picks.
fn outside(s: Stmt, absent: &dyn Fn(&Access) -> bool) -> Option<Stmt> {
    let inner = |s: Box<Stmt>| outside(*s, absent).map(Box::new);
    match s {
        Stmt::Forall { var, body } => Some(Stmt::Forall { var, body: inner(body)? }),
        Stmt::Where { consumer, producer } => {
            Some(Stmt::Where { consumer: inner(consumer)?, producer: inner(producer)? })
        }
        Stmt::Sequence(parts) => {
            let parts: Vec<Stmt> =
                parts.into_iter().filter_map(|part| outside(part, absent)).collect();
            (!parts.is_empty()).then_some(Stmt::Sequence(parts))
        }
        Stmt::Assign { .. } => Some(s),
        Stmt::Within { pattern, .. } if absent(&pattern) => None,
        Stmt::Within { pattern, body } => Some(Stmt::Within { pattern, body: inner(body)? }),
    }
}

pub(super) fn replace(e: Expr, tensor: TensorId, value: Scalar) -> Expr {
    match e {
        Expr::Access(a) if a.tensor == tensor => Expr::Literal(value),
        _ => e.map_children(&mut |child| replace(child, tensor, value)),
    }
}

fn same(constant: Option<Scalar>, c: Scalar) -> bool {
    constant.is_some_and(|k| k.same_value(c))
}
