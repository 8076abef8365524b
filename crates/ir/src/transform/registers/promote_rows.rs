//! Rows that a loop adds to many times stay in registers, if their length is one of a few.
//!
//! ```text
//! for p in row { s = dot(C[i..], D[k..]); for l in 0..n { A[a + l] = fma(s, E[k * n + l], A[a + l]) } }
//!
//! if n == 64 {
//!   t0 = A[a; 8]; .. t7 = A[a + 56; 8]
//!   for p in row { s = dot(C[i..], D[k..]); t0 = fma(splat(s), E[k * n; 8], t0); .. }
//!   A[a; 8] = t0; ..
//! } else {
//!   for p in row { .. }
//! }
//! ```
//!
//! Unlike register tiles, this does not repeat the rest of the loop, which may be anything that does not use the row.
//! Each element is summed in the same order as before.

use crate::ids::Array;
use crate::ir::build::{eq, int};
use crate::ir::flow::{assigned, mentions};
use crate::ir::{Expr, Function, Stmt};
use crate::transform::Target;
use crate::transform::vector::register_tile::{Inner, as_inner, is_tiled, tiled};

/// Common row lengths of dense factors.
const LENGTHS: [i64; 2] = [64, 32];
/// The largest number of statements in a loop that is copied for each length.
const MOST_STATEMENTS: usize = 48;

/// The pass.
pub(in crate::transform) fn promote_rows(mut function: Function, target: Target) -> Function {
    if target.vector_bytes == 0 {
        return function;
    }
    let body = std::mem::take(&mut function.body);
    let body = block(&mut function, body, target);
    Function { body, ..function }
}

fn block(function: &mut Function, stmts: Vec<Stmt>, target: Target) -> Vec<Stmt> {
    let mut out: Vec<Stmt> = vec![];
    for s in stmts {
        match kept(function, &s, out.last(), target) {
            Some((fills, stmt)) => {
                if fills {
                    out.pop();
                }
                out.push(stmt);
            }
            None => out.push(s.map_children(&mut |e| e, &mut |b| block(function, b, target))),
        }
    }
    out
}

/// The loop once for each length; and whether this replaces the statement before it.
fn kept(
    function: &mut Function,
    s: &Stmt,
    before: Option<&Stmt>,
    target: Target,
) -> Option<(bool, Stmt)> {
    if !matches!(s, Stmt::For { .. } | Stmt::While { .. }) || is_tiled(function, s) {
        return None;
    }
    let inner = row(function, s)?;
    let start = before.and_then(|before| inner.filled_by(before));
    let lanes = inner.lanes(function, target);
    let most = i64::from(target.tile_registers) / 2;
    let fill = before.filter(|_| start.is_some()).cloned();
    let mut otherwise: Vec<Stmt> = fill.into_iter().chain([s.clone()]).collect();
    for length in LENGTHS.into_iter().rev().filter(|n| n % lanes == 0 && n / lanes <= most) {
        let wide = tiled(function, s, &inner, start.as_ref(), (length / lanes, lanes))?;
        let (lo, hi) = (int(0), int(length));
        let then = vec![Stmt::For { var: inner.var, lo, hi, step: length, body: wide }];
        let cond = eq(inner.hi.clone(), int(length));
        otherwise = vec![Stmt::If { cond, then, otherwise }];
    }
    match otherwise.pop() {
        Some(done @ Stmt::If { .. }) => Some((start.is_some(), done)),
        _ => None,
    }
}

/// The dense loop within a loop that adds to the same row in every iteration, if nothing else uses that row.
fn row(function: &Function, s: &Stmt) -> Option<Inner> {
    let mut changed = vec![];
    assigned(std::slice::from_ref(s), &mut changed);
    let mut loops = vec![];
    let statements = inner_loops(function, s, &mut loops);
    let fixed = |e: &Expr| {
        let mut loads = false;
        e.walk(&mut |e| loads |= matches!(e, Expr::Load { .. }));
        !loads && changed.iter().all(|v| !mentions(e, *v))
    };
    let is_kept = |inner: &Inner| {
        let is_row = inner.lo == int(0) && fixed(&inner.base) && fixed(&inner.hi);
        let alone = inner.counts_alone(&changed) && mentioned(s, inner.array) == 2;
        is_row && inner.accumulates() && alone
    };
    (statements <= MOST_STATEMENTS).then(|| loops.into_iter().find(is_kept)).flatten()
}

/// Collects the dense loops within a loop; returns the number of statements.
fn inner_loops(function: &Function, s: &Stmt, found: &mut Vec<Inner>) -> usize {
    let mut statements = 1;
    for below in s.blocks().flatten() {
        found.extend(as_inner(function, below));
        statements += inner_loops(function, below, found);
    }
    statements
}

/// How often a statement uses an array.
fn mentioned(s: &Stmt, array: Array) -> usize {
    let mut count = usize::from(match s {
        Stmt::Store { array: a, .. }
        | Stmt::Update { array: a, .. }
        | Stmt::Reserve { array: a, .. }
        | Stmt::Fill { array: a, .. }
        | Stmt::Prefetch { array: a, .. } => *a == array,
        Stmt::Sort { keys, carried, .. } => keys.contains(&array) || carried.contains(&array),
        _ => false,
    });
    for e in s.exprs() {
        e.walk(&mut |e| match e {
            Expr::Load { array: a, .. } | Expr::Len(a) => count += usize::from(*a == array),
            _ => {}
        });
    }
    count + s.blocks().flatten().map(|s| mentioned(s, array)).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;

    const WIDE: Target = Target { vector_bytes: 64, tile_registers: 16, ..Target::SCALAR };

    fn read(body: &str) -> Function {
        let head = "fn f(n: i64, m: i64, crd: in [i32], D: in [f64], E: in [f64], A: out [f64]) {\n  \
                    var i, j, k, l, p: i64\n  var s: f64\n  var v: f64x8\n";
        parse(&format!("{head}{body}\n}}\n")).unwrap_or_else(|d| panic!("{d}"))
    }

    /// A loop over entries that takes a sum and adds it, times a vector, to a row.
    fn entries(sum: &str, row: &str) -> Function {
        let iteration = format!("j = crd[p] v = splat(0.0, 8) {sum} s = sum(v)");
        read(&format!(
            "for i in 0..m {{ for p in 0..m {{ {iteration} for l in 0..n {{ {row} }} }} }}"
        ))
    }

    const SUM: &str = "for k in 0..m step 8 { v = fma(D[i * m + k; 8], D[j * m + k; 8], v) }";
    const ROW: &str = "A[i * n + l] = fma(s, E[j * n + l], A[i * n + l])";

    #[test]
    fn rows_of_some_lengths_stay_in_registers() {
        let kept = promote_rows(entries(SUM, ROW), WIDE).to_string();
        for expect in ["if n == 64 {", "if n == 32 {", "t7 = A[", "] = t7", "A[i * n + l] = fma("] {
            assert!(kept.contains(expect), "{expect}: {kept}");
        }
    }

    #[test]
    fn rows_that_something_else_sees_do_not() {
        for (sum, row) in [
            ("v = splat(A[j], 8)", ROW),
            ("A[j] = s", ROW),
            (SUM, "A[j * n + l] = fma(s, E[j * n + l], A[j * n + l])"),
            (SUM, "A[i * n + l] = s"),
            // The tile's loop is over l.
            ("l = crd[p] v = splat(D[l], 8)", ROW),
            ("for l in 0..m { v = splat(D[l], 8) }", ROW),
        ] {
            let function = entries(sum, row);
            assert_eq!(promote_rows(function.clone(), WIDE), function);
        }
        let function = entries(SUM, ROW);
        assert_eq!(promote_rows(function.clone(), Target::SCALAR), function);
    }
}
