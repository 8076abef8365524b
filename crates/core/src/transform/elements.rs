//! An element that an innermost loop updates in every turn stays in a register.
//!
//! ```text
//! for p in lo..hi { y[q] = fma(A[p], x[crd[p]], y[q]) }
//!
//! if lo < hi {
//!   s = y[q]
//!   for p in lo..hi { s = fma(A[p], x[crd[p]], s) }
//!   y[q] = s
//! }
//! ```
//!
//! The operations and their order stay the same; what is stored has the type of the register. An
//! element that other iterations of a parallel loop update too is combined with what a loop makes of
//! the operator's identity:
//!
//! ```text
//! for p in lo..hi { update y[q] by sum: A[p] }
//!
//! if lo < hi {
//!   s = 0
//!   for p in lo..hi { s = s + A[p] }
//!   update y[q] by sum: s
//! }
//! ```

use super::affine::{exchange, inlined, reads_inputs_only, uses};
use super::{fresh, rewrite};
use crate::algebra::{BinaryOp, ReduceOp};
use crate::ids::Array;
use crate::ir::build::{assign, binary, lt, store, when};
use crate::ir::flow::assigned;
use crate::ir::parallel::on_numbers;
use crate::ir::{Expr, Function, Stmt};

/// The pass.
pub(super) fn keep(mut function: Function) -> Function {
    let body = std::mem::take(&mut function.body);
    let body = rewrite(body, &mut |s| kept(&mut function, s));
    Function { body, ..function }
}

fn kept(function: &mut Function, s: &Stmt) -> Option<Vec<Stmt>> {
    let Stmt::For { var, lo, hi, step: 1, body } = s else { return None };
    let (array, index, value) = match inlined(body)?.1 {
        Stmt::Store { array, index, value } => (array, index, value),
        Stmt::Update { array, index, .. } => return combined(function, s, array, index),
        _ => return None,
    };
    let element = Expr::Load { array, index: Box::new(index.clone()), lanes: 1 };
    let ty = function.type_of(&element);
    let wide = ty.register.datatype() == function.arrays[array].elem;
    let mut changed = vec![*var];
    assigned(body, &mut changed);
    let fixed = !changed.iter().any(|v| uses(&index, *v)) && reads_inputs_only(function, &index);
    let (value, before) = (exchange(value.clone(), &element, &Expr::Var(*var)), value);
    // Every use of the array is of the element.
    if !wide || !fixed || value == before || touches(&value, array) {
        return None;
    }
    let register = fresh(function, "s", ty);
    let (names, last) = body.split_at(body.len() - 1);
    let [Stmt::Store { index: own_index, value: own, .. }] = last else { return None };
    let own_element = Expr::Load { array, index: Box::new(own_index.clone()), lanes: 1 };
    let own = exchange(own.clone(), &own_element, &Expr::Var(register));
    if touches(&own, array) {
        return None;
    }
    let body = [names, &[assign(register, own)]].concat();
    let nest = Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), step: 1, body };
    let kept = vec![assign(register, element), nest, store(array, index, Expr::Var(register))];
    Some(vec![when(lt(lo.clone(), hi.clone()), kept)])
}

/// The same of an element that a loop updates in every turn.
fn combined(function: &mut Function, s: &Stmt, array: Array, index: Expr) -> Option<Vec<Stmt>> {
    let Stmt::For { var, lo, hi, body, .. } = s else { return None };
    let (last, names) = body.split_last()?;
    let Stmt::Update { op, value, .. } = last else { return None };
    let mut changed = vec![*var];
    assigned(body, &mut changed);
    let fixed = !changed.iter().any(|v| uses(&index, *v)) && reads_inputs_only(function, &index);
    if !fixed || touches(value, array) {
        return None;
    }
    let ty = function.type_of(value);
    let identity = Expr::Const(op.identity(ty.register)?);
    let register = fresh(function, "s", ty);
    let sum = match (op, value) {
        (ReduceOp::Add, Expr::Binary(BinaryOp::Mul, a, b)) if ty.register.is_float() => {
            Expr::Fma(a.clone(), b.clone(), Box::new(Expr::Var(register)))
        }
        _ => binary(on_numbers(*op), Expr::Var(register), value.clone()),
    };
    let body = [names, &[assign(register, sum)]].concat();
    let nest = Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), step: 1, body };
    let update = Stmt::Update { array, index, op: *op, value: Expr::Var(register) };
    Some(vec![when(lt(lo.clone(), hi.clone()), vec![assign(register, identity), nest, update])])
}

/// Whether an expression reads an array.
fn touches(e: &Expr, array: Array) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e, Expr::Load { array: a, .. } if *a == array));
    found
}
