//! Integers: arithmetic, indices, addresses in memory, conditions.

use super::inst::{Condition, FloatCondition, FloatOrder, Inst, Label, Mem, Value, Whole, WholeOp};
use super::lower::{Lowering, What};
use tamis_ir::algebra::{BinaryOp, UnaryOp};
use tamis_ir::datatype::{Register, Scalar};
use tamis_ir::ids::{Array, Var};
use tamis_ir::ir::build::{add, int};
use tamis_ir::ir::{Expr, Type};

impl Lowering<'_> {
    /// The value of an integer or truth value.
    pub(super) fn whole(&mut self, e: &Expr) -> Option<Value> {
        (self.function.type_of(e).lanes == 1).then_some(())?;
        match e {
            Expr::Var(v) => return Some(self.known(What::Value, e).unwrap_or(self.var(*v))),
            Expr::Len(array) => return Some(self.len(*array)),
            // Truth values are 0 or 1, and integers with and without sign have the same bits.
            Expr::Convert(to, a)
                if to.is_integer() && !self.function.type_of(a).register.is_float() =>
            {
                return self.whole(a);
            }
            _ => {}
        }
        if let Some(value) = self.known(What::Value, e) {
            return Some(value);
        }
        let to = self.fresh(Type::INDEX);
        let level = self.level(e);
        self.compute(e, to, level)?;
        let varies = matches!(e, Expr::Load { array, .. } if !self.is_input(*array));
        if !varies && !reads_other(self, e) {
            self.remember(level, What::Value, e, to);
        }
        Some(to)
    }

    /// Computes an integer into a value, before the loop of a level or here.
    fn compute(&mut self, e: &Expr, to: Value, level: usize) -> Option<()> {
        match e {
            Expr::Const(c) => self.place(level, Inst::Const { to, value: bits(*c)? }),
            Expr::Load { array, index, lanes: 1 } => {
                let elem = self.function.arrays[*array].elem;
                let mem = self.mem(*array, index)?;
                self.place(level, Inst::Load { to, mem, elem });
            }
            Expr::Binary(BinaryOp::Mul, multiple, by)
                if let Some(a) = self.rounded(multiple, by, level) =>
            {
                // A multiple of a power of two: the lower bits are 0.
                let (a, b) = (self.whole(a)?, Whole::Const(-positive(by)?));
                self.place(level, Inst::Whole { op: WholeOp::And, to, a, b });
            }
            Expr::Binary(BinaryOp::Div, a, by) => self.divided(a, by, to, level)?,
            Expr::Binary(BinaryOp::Mod, a, by) => self.rest(a, by, to, level)?,
            Expr::Binary(op, a, b) => {
                let (op, a, b) = match (op, &**a) {
                    // Constants come last.
                    (BinaryOp::Add | BinaryOp::Mul, Expr::Const(_)) => (op, b, a),
                    _ => (op, a, b),
                };
                let signed = self.function.type_of(a).register == Register::I64;
                let op = operation(*op, signed)?;
                let (a, b) = (self.whole(a)?, self.operand(b)?);
                let shift = match (op, b) {
                    (WholeOp::Mul, Whole::Const(c)) if c > 0 && c & (c - 1) == 0 => {
                        Some(c.trailing_zeros() as i32)
                    }
                    _ => None,
                };
                let (op, b) = shift.map_or((op, b), |by| (WholeOp::Left, Whole::Const(by)));
                self.place(level, Inst::Whole { op, to, a, b });
            }
            Expr::Unary(UnaryOp::Neg, a) => {
                let a = self.whole(a)?;
                let zero = self.whole(&int(0))?;
                let b = Whole::Value(a);
                self.place(level, Inst::Whole { op: WholeOp::Sub, to, a: zero, b });
            }
            _ => return None,
        }
        Some(())
    }

    /// The integer, not negative, that `multiple * by` is the next multiple of a power of two down from.
    fn rounded<'e>(&self, multiple: &'e Expr, by: &Expr, level: usize) -> Option<&'e Expr> {
        let Expr::Binary(BinaryOp::Div, a, divisor) = multiple else { return None };
        let is_power = positive(by).is_some_and(|by| by.count_ones() == 1);
        (is_power && **divisor == *by && self.is_not_negative(a, level)).then_some(a)
    }

    /// Whether an integer is known not to be negative where something is computed: before a loop around, it may be.
    fn is_not_negative(&self, e: &Expr, level: usize) -> bool {
        level == self.depth() && self.known(What::NotNegative, e).is_some()
    }

    /// A quotient by a constant, toward zero. By a power of two, negative numbers are raised by it
    /// less one and shifted.
    fn divided(&mut self, a: &Expr, by: &Expr, to: Value, level: usize) -> Option<()> {
        let by_value = positive(by)?;
        let a_value = self.whole(a)?;
        if by_value.count_ones() != 1 {
            let b = Whole::Value(self.whole(by)?);
            self.place(level, Inst::Whole { op: WholeOp::Div, to, a: a_value, b });
            return Some(());
        }
        if self.is_not_negative(a, level) {
            let b = Whole::Const(by_value.trailing_zeros() as i32);
            self.place(level, Inst::Whole { op: WholeOp::Right, to, a: a_value, b });
            return Some(());
        }
        let sign = self.step(level, WholeOp::Right, a_value, Whole::Const(63));
        let more = self.step(level, WholeOp::And, sign, Whole::Const(by_value - 1));
        let raised = self.step(level, WholeOp::Add, more, Whole::Value(a_value));
        let b = Whole::Const(by_value.trailing_zeros() as i32);
        self.place(level, Inst::Whole { op: WholeOp::Right, to, a: raised, b });
        Some(())
    }

    /// The rest of a quotient by a constant, raised where it is negative.
    fn rest(&mut self, a: &Expr, by: &Expr, to: Value, level: usize) -> Option<()> {
        let by_value = positive(by)?;
        let a_value = self.whole(a)?;
        let quotient = self.fresh(Type::INDEX);
        self.divided(a, by, quotient, level)?;
        let whole = self.step(level, WholeOp::Mul, quotient, Whole::Const(by_value));
        let rest = self.step(level, WholeOp::Sub, a_value, Whole::Value(whole));
        let sign = self.step(level, WholeOp::Right, rest, Whole::Const(63));
        let more = self.step(level, WholeOp::And, sign, Whole::Const(by_value));
        let b = Whole::Value(more);
        self.place(level, Inst::Whole { op: WholeOp::Add, to, a: rest, b });
        Some(())
    }

    /// An integer of its own.
    fn step(&mut self, level: usize, op: WholeOp, a: Value, b: Whole) -> Value {
        let to = self.fresh(Type::INDEX);
        self.place(level, Inst::Whole { op, to, a, b });
        to
    }

    pub(super) fn operand(&mut self, e: &Expr) -> Option<Whole> {
        match e {
            Expr::Const(c) if i32::try_from(bits(*c)?).is_ok() => {
                Some(Whole::Const(bits(*c)? as i32))
            }
            e => self.whole(e).map(Whole::Value),
        }
    }

    /// Gives a variable of integers or truth values its next value.
    pub(super) fn assign_whole(&mut self, var: Var, e: &Expr) -> Option<()> {
        let (to, level) = (self.var(var), self.level(e));
        let ty = self.function.type_of(e);
        (ty.lanes == 1).then_some(())?;
        if ty == Type::BOOL && !matches!(e, Expr::Var(_) | Expr::Const(_) | Expr::Load { .. }) {
            let (truth, after) = (self.fresh(Type::INDEX), self.label());
            self.code.push(Inst::Const { to: truth, value: 0 });
            self.jump_unless(e, after)?;
            self.code.push(Inst::Const { to: truth, value: 1 });
            self.code.extend([Inst::Label(after), Inst::Move { to, from: truth }]);
            self.changed(to);
            return Some(());
        }
        if level < self.depth() && !matches!(e, Expr::Var(_) | Expr::Const(_)) {
            // Known before the loop: what depends on it is as well.
            let from = self.whole(e)?;
            self.code.push(Inst::Move { to, from });
            self.changed(to);
            self.alias(var, from, level);
            return Some(());
        }
        let plain = matches!(e, Expr::Var(_) | Expr::Len(_) | Expr::Convert(..));
        if plain || self.known(What::Value, e).is_some() {
            let from = self.whole(e)?;
            self.code.push(Inst::Move { to, from });
        } else {
            self.compute(e, to, self.depth())?;
        }
        self.changed(to);
        Some(())
    }

    /// The address of an element. What stays the same in the innermost loop is added to the address
    /// before it, and constants are left to the instruction.
    pub(super) fn mem(&mut self, array: Array, index: &Expr) -> Option<Mem> {
        let size = self.function.arrays[array].elem.size();
        let shift = size.trailing_zeros() as u8;
        let mut terms = vec![];
        let mut offset = 0i64;
        collect(index, &mut terms, &mut offset);
        let mut offset = i32::try_from(offset.wrapping_mul(size as i64)).ok();
        if offset.is_none() {
            (terms, offset) = (vec![index.clone()], Some(0));
        }
        let here = self.depth();
        let (same, rest): (Vec<Expr>, Vec<Expr>) =
            terms.into_iter().partition(|term| self.level(term) < here);
        let (same, rest) = match self.changes(self.base(array)) == here {
            true => (vec![], [same, rest].concat()),
            false => (same, rest),
        };
        let base = match same.into_iter().reduce(add) {
            Some(same) => self.address(array, &same, shift)?,
            None => self.base(array),
        };
        let index = match rest.into_iter().reduce(add) {
            Some(rest) => Some((self.whole(&rest)?, shift)),
            None => None,
        };
        Some(Mem { base, index, offset: offset? })
    }

    /// The address of an element.
    fn address(&mut self, array: Array, index: &Expr, shift: u8) -> Option<Value> {
        if let Some(value) = self.known(What::Place(array), index) {
            return Some(value);
        }
        let level = self.level(index).max(self.changes(self.base(array)));
        let index_value = self.whole(index)?;
        let to = self.fresh(Type::INDEX);
        let mem = Mem { base: self.base(array), index: Some((index_value, shift)), offset: 0 };
        self.place(level, Inst::Address { to, mem });
        self.remember(level, What::Place(array), index, to);
        Some(to)
    }

    /// Jumps where a condition does not hold.
    pub(super) fn jump_unless(&mut self, cond: &Expr, to: Label) -> Option<()> {
        self.jump(cond, false, to)
    }

    /// Jumps where a condition does, or does not, hold.
    pub(super) fn jump(&mut self, cond: &Expr, holds: bool, to: Label) -> Option<()> {
        match cond {
            Expr::Const(Scalar::Bool(c)) => {
                if *c == holds {
                    self.code.push(Inst::Jump(to));
                }
            }
            Expr::Unary(UnaryOp::Not, a) => self.jump(a, !holds, to)?,
            Expr::AndThen(a, b) | Expr::Binary(BinaryOp::And, a, b) => {
                self.either(a, b, false, holds, to)?
            }
            Expr::Binary(BinaryOp::Or, a, b) => self.either(a, b, true, holds, to)?,
            Expr::Binary(op, a, b) if op.is_logical() => {
                let register = self.function.type_of(a).register;
                if register.is_float() {
                    return self.jump_float(*op, a, b, holds, to);
                }
                let if_ = condition(*op, register == Register::I64)?;
                let if_ = if holds { if_ } else { if_.negated() };
                let (if_, a, b) = match **a {
                    Expr::Const(_) => (if_.swapped(), b, a),
                    _ => (if_, a, b),
                };
                let (a, b) = (self.whole(a)?, self.operand(b)?);
                self.code.push(Inst::Branch { if_, a, b, to });
            }
            Expr::Var(_) | Expr::Load { .. } => {
                let a = self.whole(cond)?;
                let if_ = if holds { Condition::NotEqual } else { Condition::Equal };
                self.code.push(Inst::Branch { if_, a, b: Whole::Const(0), to });
            }
            _ => return None,
        }
        Some(())
    }

    /// Jumps on two conditions. Where the first equals `decides`, it is that of both.
    fn either(&mut self, a: &Expr, b: &Expr, decides: bool, holds: bool, to: Label) -> Option<()> {
        if decides == holds {
            self.jump(a, holds, to)?;
            return self.second(b, holds, to);
        }
        let after = self.label();
        self.jump(a, decides, after)?;
        self.second(b, holds, to)?;
        self.code.push(Inst::Label(after));
        Some(())
    }

    /// Jumps on a condition that is not always asked.
    fn second(&mut self, cond: &Expr, holds: bool, to: Label) -> Option<()> {
        self.apart(|t| t.jump(cond, holds, to))
    }

    fn jump_float(
        &mut self,
        op: BinaryOp,
        a: &Expr,
        b: &Expr,
        holds: bool,
        to: Label,
    ) -> Option<()> {
        let (order, swapped, negated) = match op {
            BinaryOp::Eq => (FloatOrder::Equal, false, false),
            BinaryOp::Ne => (FloatOrder::Equal, false, true),
            BinaryOp::Gt => (FloatOrder::Greater, false, false),
            BinaryOp::Ge => (FloatOrder::GreaterOrEqual, false, false),
            BinaryOp::Lt => (FloatOrder::Greater, true, false),
            BinaryOp::Le => (FloatOrder::GreaterOrEqual, true, false),
            _ => return None,
        };
        let (a, b) = (self.float(a)?, self.float(b)?);
        let (a, b) = if swapped { (b, a) } else { (a, b) };
        let if_ = FloatCondition { holds: order, negated: negated == holds };
        self.code.push(Inst::FloatBranch { if_, a, b, to });
        Some(())
    }
}

/// Whether an expression reads what stores may change.
fn reads_other(lowering: &Lowering<'_>, e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| {
        if let Expr::Load { array, .. } = e {
            found |= !lowering.is_input(*array);
        }
    });
    found
}

/// The terms of a sum, and the sum of the constants among them.
fn collect(e: &Expr, terms: &mut Vec<Expr>, offset: &mut i64) {
    match e {
        Expr::Const(Scalar::I64(c)) => *offset = offset.wrapping_add(*c),
        Expr::Binary(BinaryOp::Add, a, b) => {
            collect(a, terms, offset);
            collect(b, terms, offset);
        }
        e => terms.push(e.clone()),
    }
}

fn bits(c: Scalar) -> Option<i64> {
    match c {
        Scalar::I64(x) => Some(x),
        Scalar::U64(x) => Some(x.cast_signed()),
        Scalar::Bool(b) => Some(i64::from(b)),
        _ => None,
    }
}

/// A constant of 2 or more.
fn positive(e: &Expr) -> Option<i32> {
    match e {
        Expr::Const(Scalar::I64(c)) if *c > 1 => i32::try_from(*c).ok(),
        _ => None,
    }
}

pub(super) fn operation(op: BinaryOp, signed: bool) -> Option<WholeOp> {
    Some(match op {
        BinaryOp::Add => WholeOp::Add,
        BinaryOp::Sub => WholeOp::Sub,
        BinaryOp::Mul => WholeOp::Mul,
        BinaryOp::Min => WholeOp::Choose(condition(BinaryOp::Lt, signed)?),
        BinaryOp::Max => WholeOp::Choose(condition(BinaryOp::Gt, signed)?),
        _ => return None,
    })
}

/// How integers compare; truth values are those without sign.
pub(super) fn condition(op: BinaryOp, signed: bool) -> Option<Condition> {
    Some(match (op, signed) {
        (BinaryOp::Eq, _) => Condition::Equal,
        (BinaryOp::Ne, _) => Condition::NotEqual,
        (BinaryOp::Lt, true) => Condition::Less,
        (BinaryOp::Le, true) => Condition::LessOrEqual,
        (BinaryOp::Gt, true) => Condition::Greater,
        (BinaryOp::Ge, true) => Condition::GreaterOrEqual,
        (BinaryOp::Lt, false) => Condition::Below,
        (BinaryOp::Le, false) => Condition::BelowOrEqual,
        (BinaryOp::Gt, false) => Condition::Above,
        (BinaryOp::Ge, false) => Condition::AboveOrEqual,
        _ => return None,
    })
}
