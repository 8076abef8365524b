//! Expressions of index notation become expressions of the imperative form.
//!
//! Every operand is converted to the statement's compute type, comparisons become 1 or 0 of that type, and user
//! operators are replaced by their bodies.

use super::value::Value;
use super::values::{Values, convert};
use crate::notation::{self, Within};
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp};
use tamis_ir::ids::UserOp;
use tamis_ir::ir::build::binary;
use tamis_ir::ir::{self, Expr};

/// The context in which an expression is computed: operands, coordinates and parameters.
pub(super) trait Operands<'p> {
    /// The builder of values.
    fn values(&mut self) -> &mut Values<'p>;
    /// An access, a coordinate or a parameter; statements that compute it are added to `prefix`.
    fn operand(&mut self, e: &notation::Expr, prefix: &mut Vec<ir::Stmt>) -> Value;
    /// Whether slices contain the values of variables.
    fn is_within(&mut self, within: &[Within]) -> Expr;
}

/// The parameters of a user operator.
struct Params<'v, 'p> {
    values: &'v mut Values<'p>,
    params: Vec<Value>,
}

impl<'p> Operands<'p> for Params<'_, 'p> {
    fn values(&mut self) -> &mut Values<'p> {
        self.values
    }

    fn operand(&mut self, e: &notation::Expr, _: &mut Vec<ir::Stmt>) -> Value {
        match e {
            notation::Expr::Param(k) => self.params[*k].clone(),
            _ => unreachable!("an operator knows of its parameters alone"),
        }
    }

    fn is_within(&mut self, _: &[Within]) -> Expr {
        unreachable!("an operator has no coordinates")
    }
}

/// The value of an expression in the compute type; statements that compute it are added to `prefix`.
pub(super) fn value<'p>(
    from: &mut impl Operands<'p>,
    e: &notation::Expr,
    prefix: &mut Vec<ir::Stmt>,
) -> Value {
    let register = from.values().facts.register();
    match e {
        notation::Expr::Literal(c) => Value::constant(from.values().facts.typed(*c)),
        notation::Expr::Access(_) | notation::Expr::Index(_) | notation::Expr::Param(_) => {
            from.operand(e, prefix)
        }
        notation::Expr::Unary(UnaryOp::Not, a) => {
            let a = truth(from, a, prefix);
            convert(register, Expr::Unary(UnaryOp::Not, Box::new(a))).into()
        }
        notation::Expr::Unary(op, a) => {
            let a = value(from, a, prefix);
            from.values().function(*op, a, prefix)
        }
        notation::Expr::UserUnary(op, a) => user(from, *op, &[a], prefix),
        notation::Expr::Binary(BinaryOp::User(op), a, b) => user(from, *op, &[a, b], prefix),
        notation::Expr::Binary(op, ..) if op.is_logical() => {
            convert(register, truth(from, e, prefix)).into()
        }
        notation::Expr::Binary(op, a, b) => {
            let (a, b) = (value(from, a, prefix), value(from, b, prefix));
            from.values().operator(*op, a, b, prefix)
        }
        notation::Expr::Choose { within, then, otherwise } => {
            let cond = from.is_within(within);
            let mut arm = |e: &notation::Expr| {
                let mut stmts = vec![];
                (value(from, e, &mut stmts), stmts)
            };
            let ((x, mut then), (y, mut otherwise)) = (arm(then), arm(otherwise));
            let values = from.values();
            let chosen = values.held_vars("chosen", x.im.is_some() || y.im.is_some());
            then.extend(values.assigned(chosen, x));
            otherwise.extend(values.assigned(chosen, y));
            prefix.push(ir::Stmt::If { cond, then, otherwise });
            chosen.value()
        }
        notation::Expr::Reduce { .. } => unreachable!("legalisation leaves no reductions"),
    }
}

/// Whether an expression differs from 0.
fn truth<'p>(from: &mut impl Operands<'p>, e: &notation::Expr, prefix: &mut Vec<ir::Stmt>) -> Expr {
    use BinaryOp::{And, Or, Xor};
    match e {
        notation::Expr::Binary(op @ (And | Or | Xor), a, b) => {
            let a = truth(from, a, prefix);
            binary(*op, a, truth(from, b, prefix))
        }
        notation::Expr::Binary(op, a, b) if op.is_logical() => {
            let (a, b) = (value(from, a, prefix), value(from, b, prefix));
            from.values().comparison(*op, a, b)
        }
        notation::Expr::Unary(UnaryOp::Not, a) => {
            Expr::Unary(UnaryOp::Not, Box::new(truth(from, a, prefix)))
        }
        _ => {
            let value = value(from, e, prefix);
            from.values().is_true(value)
        }
    }
}

/// The value of a user operator.
fn user<'p>(
    from: &mut impl Operands<'p>,
    op: UserOp,
    args: &[&notation::Expr],
    prefix: &mut Vec<ir::Stmt>,
) -> Value {
    let args: Vec<Value> = args.iter().map(|a| value(from, a, prefix)).collect();
    inlined(from.values(), op, args, prefix)
}

/// The body of a user operator; operands get variables, since the body may read them several times.
fn inlined(
    values: &mut Values<'_>,
    op: UserOp,
    args: Vec<Value>,
    prefix: &mut Vec<ir::Stmt>,
) -> Value {
    let operator = &values.program.operators[op];
    let mut params: Vec<Value> = vec![];
    for (k, value) in args.into_iter().enumerate() {
        let held = values.held_vars(&format!("{}_{k}", operator.name), value.im.is_some());
        prefix.extend(values.assigned(held, value));
        params.push(held.value());
    }
    value(&mut Params { values, params }, &operator.body, prefix)
}

impl Values<'_> {
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
            (ReduceOp::User(id), value) => inlined(self, id, vec![old, value], prefix),
            (op, value) if old.im.is_some() || value.im.is_some() => {
                self.combined_parts(op, old, value, prefix)
            }
            (ReduceOp::Add, Value { re: Expr::Binary(BinaryOp::Mul, a, b), .. })
                if float && !self.planner().waits_for_sums() =>
            {
                Expr::Fma(a, b, Box::new(old.re)).into()
            }
            (op, value) => self.accumulated(op, old.re, value.re, prefix).into(),
        }
    }
}
