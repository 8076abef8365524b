//! Associates products by loops: factors that are known outside of a loop are multiplied, and divided, outside.
//!
//! ```text
//! forall(i, forall(j, y(j) += 0.85 * A(i,j) * r(i) / d(i)))
//! forall(i, forall(j, y(j) += 0.85 * r(i) / d(i) * A(i,j)))
//! ```
//!
//! Factors are sorted by the loop that gives them a value; factors of the same loop keep their order. Divisors stay
//! divisors, so that a number is known to be divided first. Only products of real floats are sorted, and none under a
//! schedule, whose commands name expressions.

use crate::cin::Stmt;
use crate::legalise::Context;
use crate::notation::Expr;
use tamis_ir::algebra::{BinaryOp, Strictness};
use tamis_ir::datatype::DataType;
use tamis_ir::ids::IndexVar;

/// A statement with its products associated by the surrounding loops.
pub(in crate::legalise) fn associated(cx: &Context<'_>, body: Stmt, compute: DataType) -> Stmt {
    let is_real = compute.is_float() && !compute.is_complex();
    match is_real && !cx.request.commands.given {
        true => associated_within(cx, body, &mut vec![]),
        false => body,
    }
}

fn associated_within(cx: &Context<'_>, stmt: Stmt, loops: &mut Vec<IndexVar>) -> Stmt {
    match stmt {
        Stmt::Forall { var, body } => {
            loops.push(var);
            let body = Box::new(associated_within(cx, *body, loops));
            loops.pop();
            Stmt::Forall { var, body }
        }
        Stmt::Assign { lhs, op, rhs } => {
            Stmt::Assign { lhs, op, rhs: associated_value(cx, rhs, loops) }
        }
        stmt => stmt.map_children(&mut |child| associated_within(cx, child, loops)),
    }
}

fn associated_value(cx: &Context<'_>, e: Expr, loops: &[IndexVar]) -> Expr {
    let mut factors = vec![];
    flatten(&e, &mut factors);
    let divides = factors.iter().any(|(op, _)| *op == BinaryOp::Div);
    let is_kept = divides && cx.request.strictness == Strictness::Ieee;
    let depths = factors.iter().map(|(_, factor)| known_after(cx, factor, loops));
    let mut sorted: Vec<_> = depths.zip(&factors).collect();
    let last = sorted.iter().map(|(depth, _)| *depth).max();
    // A single outer factor has no other factor to be multiplied with outside.
    let outer = sorted.iter().filter(|(depth, _)| Some(*depth) < last).count();
    if outer < 2 || is_kept {
        return e.map_children(&mut |child| associated_value(cx, child, loops));
    }
    sorted.sort_by_key(|(depth, _)| *depth);
    if let Some(first) = sorted.iter().position(|(_, (op, _))| *op == BinaryOp::Mul) {
        sorted[..=first].rotate_right(1);
    }
    let mut parts = sorted.into_iter().map(|(_, (op, factor))| (*op, (*factor).clone()));
    let (_, first) = parts.next().expect("a product has factors");
    let join = |left, (op, right)| {
        Expr::Binary(op, Box::new(left), Box::new(associated_value(cx, right, loops)))
    };
    parts.fold(associated_value(cx, first, loops), join)
}

/// The number of loops after which a factor has a value: all loops, if it is computed there.
fn known_after(cx: &Context<'_>, factor: &Expr, loops: &[IndexVar]) -> usize {
    let is_computed = |tensor| cx.program.is_workspace(tensor);
    if factor.accesses().iter().any(|a| is_computed(a.tensor)) {
        return loops.len();
    }
    factor.free_vars().iter().map(|v| cx.depth(*v, loops)).max().unwrap_or(0)
}

/// Collects the factors and divisors of a product, and those of numerators in it.
pub(in crate::legalise) fn flatten<'e>(e: &'e Expr, into: &mut Vec<(BinaryOp, &'e Expr)>) {
    match e {
        Expr::Binary(BinaryOp::Mul, a, b) => {
            flatten(a, into);
            flatten(b, into);
        }
        Expr::Binary(BinaryOp::Div, a, b) => {
            flatten(a, into);
            into.push((BinaryOp::Div, b));
        }
        factor => into.push((BinaryOp::Mul, factor)),
    }
}
