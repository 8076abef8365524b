//! Values: an expression of index notation becomes one of the imperative form.
//!
//! Every operand is converted to the statement's compute type, comparisons to 1 or 0 of it, and
//! user operators are replaced by their bodies.

use super::complex::{Vals, Value};
use super::{Lowerer, Scope};
use crate::notation;
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp};
use tamis_ir::datatype::Register;
use tamis_ir::ids::UserOp;
use tamis_ir::ir::build::{binary, int};
use tamis_ir::ir::{self, Expr};

impl Lowerer<'_> {
    /// Loads operands of order 0 once, before everything else.
    pub(super) fn scalar_operands(&mut self) -> Vec<ir::Stmt> {
        let mut stmts = vec![];
        for &tensor in &self.plan.scalars {
            let vals = self.arrays(tensor).vals;
            let value = self.loaded(vals, int(0));
            let held = self.register(tensor);
            self.note_range(&held.value(), self.program.storage(tensor).datatype);
            stmts.extend(self.assigned(held, value));
        }
        stmts
    }

    /// The value of an expression in the compute type; what has to run before goes to `prefix`.
    pub(super) fn value(
        &mut self,
        e: &notation::Expr,
        scope: &Scope,
        prefix: &mut Vec<ir::Stmt>,
    ) -> Value {
        let register = self.facts.register();
        match e {
            notation::Expr::Literal(c) => Value::constant(self.facts.typed(*c)),
            notation::Expr::Access(access) if access.indices.is_empty() => {
                self.register(access.tensor).value()
            }
            notation::Expr::Access(access) => {
                let (stmts, value) = self.summed(scope.reached(access), access);
                prefix.extend(stmts);
                value
            }
            notation::Expr::Index(v) => convert(register, Expr::Var(scope.bound[v])).into(),
            notation::Expr::Unary(UnaryOp::Not, a) => {
                let a = self.truth(a, scope, prefix);
                convert(register, Expr::Unary(UnaryOp::Not, Box::new(a))).into()
            }
            notation::Expr::Unary(op, a) => {
                let a = self.value(a, scope, prefix);
                self.function(*op, a, prefix)
            }
            notation::Expr::UserUnary(op, a) => self.user(*op, &[a], scope, prefix),
            notation::Expr::Binary(BinaryOp::User(op), a, b) => {
                self.user(*op, &[a, b], scope, prefix)
            }
            notation::Expr::Binary(op, ..) if op.is_logical() => {
                convert(register, self.truth(e, scope, prefix)).into()
            }
            notation::Expr::Binary(op, a, b) => {
                let a = self.value(a, scope, prefix);
                let b = self.value(b, scope, prefix);
                self.operator(*op, a, b, prefix)
            }
            notation::Expr::Param(k) => self.params[*k].clone(),
            notation::Expr::Choose { within, then, otherwise } => {
                let cond = self.is_within(within, scope);
                let mut arm = |e: &notation::Expr| {
                    let mut stmts = vec![];
                    (self.value(e, scope, &mut stmts), stmts)
                };
                let ((x, mut then), (y, mut otherwise)) = (arm(then), arm(otherwise));
                let chosen = self.held_vars("chosen", x.im.is_some() || y.im.is_some());
                then.extend(self.assigned(chosen, x));
                otherwise.extend(self.assigned(chosen, y));
                prefix.push(ir::Stmt::If { cond, then, otherwise });
                chosen.value()
            }
            notation::Expr::Reduce { .. } => unreachable!("legalisation leaves no reductions"),
        }
    }

    /// Whether an expression differs from 0.
    fn truth(&mut self, e: &notation::Expr, scope: &Scope, prefix: &mut Vec<ir::Stmt>) -> Expr {
        use BinaryOp::{And, Or, Xor};
        match e {
            notation::Expr::Binary(op @ (And | Or | Xor), a, b) => {
                let a = self.truth(a, scope, prefix);
                binary(*op, a, self.truth(b, scope, prefix))
            }
            notation::Expr::Binary(op, a, b) if op.is_logical() => {
                let a = self.value(a, scope, prefix);
                let b = self.value(b, scope, prefix);
                self.comparison(*op, a, b)
            }
            notation::Expr::Unary(UnaryOp::Not, a) => {
                Expr::Unary(UnaryOp::Not, Box::new(self.truth(a, scope, prefix)))
            }
            _ => {
                let value = self.value(e, scope, prefix);
                self.is_true(value)
            }
        }
    }

    /// A user operator's body; operands get variables, since the body may use them repeatedly.
    fn user(
        &mut self,
        op: UserOp,
        args: &[&notation::Expr],
        scope: &Scope,
        prefix: &mut Vec<ir::Stmt>,
    ) -> Value {
        let values: Vec<Value> = args.iter().map(|a| self.value(a, scope, prefix)).collect();
        self.inlined(op, values, prefix)
    }

    fn inlined(&mut self, op: UserOp, values: Vec<Value>, prefix: &mut Vec<ir::Stmt>) -> Value {
        let operator = &self.program.operators[op];
        let mut params: Vec<Value> = vec![];
        for (k, value) in values.into_iter().enumerate() {
            let held = self.held_vars(&format!("{}_{k}", operator.name), value.im.is_some());
            prefix.extend(self.assigned(held, value));
            params.push(held.value());
        }
        let outer = std::mem::replace(&mut self.params, params);
        let value = self.value(&operator.body, &Scope::default(), prefix);
        self.params = outer;
        value
    }

    /// `old op value` in the compute type, for reductions.
    pub(super) fn combined(
        &mut self,
        op: ReduceOp,
        old: Value,
        value: Value,
        prefix: &mut Vec<ir::Stmt>,
    ) -> Value {
        let float = self.facts.register().is_float();
        match (op, value) {
            (ReduceOp::Or | ReduceOp::And, value) => {
                let (old, value) = (self.is_true(old), self.is_true(value));
                convert(self.facts.register(), binary(op.binary(), old, value)).into()
            }
            (ReduceOp::User(id), value) => self.inlined(id, vec![old, value], prefix),
            (op, value) if old.im.is_some() || value.im.is_some() => {
                self.combined_parts(op, old, value, prefix)
            }
            (ReduceOp::Add, Value { re: Expr::Binary(BinaryOp::Mul, a, b), .. })
                if float && !self.waits_for_sums() =>
            {
                Expr::Fma(a, b, Box::new(old.re)).into()
            }
            (op, value) => self.accumulated(op, old.re, value.re, prefix).into(),
        }
    }

    /// A value as a reduction of it alone: 1 or 0 if it asks for truth.
    pub(super) fn reduced(&self, op: Option<ReduceOp>, value: Value) -> Value {
        match op {
            Some(ReduceOp::Or | ReduceOp::And) => {
                convert(self.facts.register(), self.is_true(value)).into()
            }
            _ => value,
        }
    }

    /// Whether each sum waits for the one before in memory, as in a loop over a list of entries:
    /// then the product is better ready beforehand.
    fn waits_for_sums(&self) -> bool {
        let loops = crate::plan::outer_loops(&self.kernel.body);
        let Some(&innermost) = loops.last() else { return false };
        let lists = |access: &notation::Access| {
            let vars = self.program.level_vars(access.tensor, &access.indices);
            let levels = self.program.storage(access.tensor).format.levels();
            levels.iter().zip(vars).any(|(l, v)| v == innermost && !l.kind.properties().full)
        };
        self.kernel.scatter && self.kernel.body.reads().into_iter().any(lists)
    }

    /// An element of an array in the compute type.
    pub(super) fn loaded(&self, vals: Vals, position: Expr) -> Value {
        let to = self.facts.register();
        let from = self.builder.arrays[vals.arrays()[0]].elem.register();
        let converted = |e| if from == to { e } else { convert(to, e) };
        let Value { re, im } = vals.load(&position);
        Value { re: converted(re), im: im.map(converted) }
    }
}

fn convert(to: Register, e: Expr) -> Expr {
    match (&e, to) {
        (Expr::Const(c), _) => Expr::Const(c.convert(to)),
        (Expr::Var(_), Register::I64) => e,
        _ => Expr::Convert(to, Box::new(e)),
    }
}
