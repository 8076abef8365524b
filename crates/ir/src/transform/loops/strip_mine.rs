//! Strip-mines nests that traverse a result many times, and interchanges the loops: each strip is computed while it is
//! in cache.
//!
//! ```text
//! fill y[0..n] = 0.0
//! for p in diagonals { d = crd[p]; for i in max(0, -d)..min(n, m - d) { y[i] = fma(.., y[i]) } }
//!
//! for strip in 0..(n + 511) / 512 {
//!   first = strip * 512; last = min(first + 512, n)
//!   fill y[first..last] = 0.0
//!   for p in diagonals { d = crd[p]; for i in max(max(0, -d), first)..min(min(n, m - d), last) { .. } }
//! }
//! ```
//!
//! Each element is computed by the same operations in the same order. A strip is as long as a page, which is as far as
//! processors prefetch each of the streams that the nest reads. Nests that are tiled into registers need no strips,
//! and code for people has none. Names that a nest assigns are not read outside of it.

use crate::algebra::BinaryOp;
use crate::ids::{Array, Var};
use crate::ir::build::{add, assign, binary, int, mul, sub};
use crate::ir::flow::{assigned, mentions};
use crate::ir::{Expr, Function, Stmt, Type};
use crate::transform::affine::{is_carried_in, reads};
use crate::transform::loops::fuse_init::{Rows, factors};
use crate::transform::{Target, fresh};

/// Bytes of a strip.
const BYTES: usize = 4096;

/// The pass.
pub(in crate::transform) fn strip_mine(mut function: Function, target: Target) -> Function {
    if target.vector_bytes == 0 {
        return function;
    }
    let body = std::mem::take(&mut function.body);
    let body = block(&mut function, body);
    Function { body, ..function }
}

fn block(function: &mut Function, stmts: Vec<Stmt>) -> Vec<Stmt> {
    let mut out: Vec<Stmt> = Vec::with_capacity(stmts.len());
    for s in stmts {
        match out.last().and_then(|fill| Nest::of(function, fill, &s)) {
            Some(nest) => {
                out.pop();
                out.extend(nest.in_strips(function, s));
            }
            None => out.push(s.map_children(&mut |e| e, &mut |b| block(function, b))),
        }
    }
    out
}

/// A nest over a result that is filled just before.
struct Nest {
    array: Array,
    value: Expr,
    /// The variable of the loop over rows of the result.
    row: Var,
    /// The first row that was filled, and the end of the rows.
    first: Expr,
    last: Expr,
    /// The factors of a row's size.
    size: Vec<Expr>,
}

impl Nest {
    fn of(function: &Function, fill: &Stmt, nest: &Stmt) -> Option<Nest> {
        let Stmt::Fill { array, lo, hi: end, value: value @ Expr::Const(_) } = fill else {
            return None;
        };
        let mut changed = vec![];
        assigned(std::slice::from_ref(nest), &mut changed);
        let same = |e: &Expr| !changed.iter().any(|v| mentions(e, *v));
        let repeats = !is_carried_in(std::slice::from_ref(nest), &changed, &[]);
        let apart = only_stores_to(nest, *array) && !reads_outside(nest, *array);
        if !repeats || !apart || !same(lo) || !same(end) {
            return None;
        }
        let ends = factors(end);
        inner_loops(nest).into_iter().find_map(|(row, bounds, body)| {
            let tiled = same(bounds.0) && same(bounds.1) && is_straight(body);
            // A value that one row passes to the next, such as a position in a list, would start again in each strip.
            let mut of_rows = vec![];
            assigned(body, &mut of_rows);
            let alone = !is_carried_in(body, &of_rows, &[row]);
            let cut = |k: usize| {
                let mut size = ends.clone();
                let last = size.remove(k);
                let first = quotient(lo, &size)?;
                let rows = Rows { function, array: *array, var: row, row: size.clone() };
                let known = size.iter().all(|f| matches!(f, Expr::Var(_)));
                let within = is_among(BinaryOp::Max, bounds.0, &first)
                    && is_among(BinaryOp::Min, bounds.1, &last);
                let value = value.clone();
                let nest = Nest { array: *array, value, row, first, last, size };
                (alone && rows.own(body, &[]) && known && within && !tiled).then_some(nest)
            };
            (0..ends.len()).find_map(cut)
        })
    }

    fn in_strips(self, function: &mut Function, nest: Stmt) -> Vec<Stmt> {
        let elements = (BYTES / function.arrays[self.array].elem.size()) as i64;
        let [strip, first, last] =
            ["strip", "strip_first", "strip_last"].map(|name| fresh(function, name, Type::INDEX));
        let mut out = vec![];
        let mut rows = int(elements);
        if let Some(size) = self.size.iter().cloned().reduce(mul) {
            let most = |e: Expr| binary(BinaryOp::Max, e, int(1));
            let var = fresh(function, "strip_rows", Type::INDEX);
            out.push(assign(var, most(binary(BinaryOp::Div, int(elements), most(size)))));
            rows = Expr::Var(var);
        }
        let count = sub(self.last.clone(), self.first.clone());
        let count = sub(add(count, rows.clone()), int(1));
        let next = add(Expr::Var(first), rows.clone());
        let place = |row: Var| self.size.iter().cloned().fold(Expr::Var(row), mul);
        let body = vec![
            assign(first, add(self.first.clone(), mul(Expr::Var(strip), rows.clone()))),
            assign(last, binary(BinaryOp::Min, next, self.last.clone())),
            Stmt::Fill {
                array: self.array,
                lo: place(first),
                hi: place(last),
                value: self.value.clone(),
            },
            self.within(nest, first, last),
        ];
        let hi = binary(BinaryOp::Div, count, rows);
        out.push(Stmt::For { var: strip, lo: int(0), hi, step: 1, body });
        out
    }

    /// The nest for the rows of a strip.
    fn within(&self, s: Stmt, first: Var, last: Var) -> Stmt {
        match s {
            Stmt::For { var, lo, hi, step, body } if var == self.row => {
                let (from, to) = (Expr::Var(first), Expr::Var(last));
                let lo = if lo == self.first { from } else { binary(BinaryOp::Max, lo, from) };
                let hi = if hi == self.last { to } else { binary(BinaryOp::Min, hi, to) };
                Stmt::For { var, lo, hi, step, body }
            }
            s => {
                let inner = &mut |b: Vec<Stmt>| {
                    b.into_iter().map(|s| self.within(s, first, last)).collect()
                };
                s.map_children(&mut |e| e, inner)
            }
        }
    }
}

/// A loop with its bounds and body.
type Loop<'s> = (Var, (&'s Expr, &'s Expr), &'s [Stmt]);

/// The directly nested loops, except for names between them, without the outermost.
fn inner_loops(nest: &Stmt) -> Vec<Loop<'_>> {
    let Stmt::For { body, .. } = nest else { return vec![] };
    match body.split_last() {
        Some((inner @ Stmt::For { var, lo, hi, step: 1, body }, names))
            if names.iter().all(|s| matches!(s, Stmt::Assign { .. })) =>
        {
            [vec![(*var, (lo, hi), &body[..])], inner_loops(inner)].concat()
        }
        _ => vec![],
    }
}

/// Whether a block does not branch.
fn is_straight(block: &[Stmt]) -> bool {
    block.iter().all(|s| matches!(s, Stmt::Assign { .. } | Stmt::Store { .. }))
}

/// Whether a statement has no effect other than stores to an array.
fn only_stores_to(s: &Stmt, array: Array) -> bool {
    match s {
        Stmt::Store { array: a, .. } => *a == array,
        Stmt::Assign { .. } | Stmt::Comment(_) => true,
        Stmt::For { .. } | Stmt::If { .. } | Stmt::While { .. } => {
            s.blocks().flatten().all(|s| only_stores_to(s, array))
        }
        _ => false,
    }
}

/// Whether directly nested loops read an array in their bounds, or in names between them: such an element need not be
/// of the current row.
fn reads_outside(nest: &Stmt, array: Array) -> bool {
    let here = |s: &Stmt| s.exprs().any(|e| reads(e, array));
    let Stmt::For { body, .. } = nest else { return false };
    let Some((inner, names)) = body.split_last() else { return here(nest) };
    let deeper = matches!(inner, Stmt::For { .. }) && names.iter().all(|s| s.blocks().count() == 0);
    here(nest) || deeper && (names.iter().any(here) || reads_outside(inner, array))
}

/// The factor of a product that is left without these, if it is a single one.
fn quotient(e: &Expr, by: &[Expr]) -> Option<Expr> {
    if *e == int(0) {
        return Some(int(0));
    }
    let mut rest = factors(e);
    for f in by {
        rest.remove(rest.iter().position(|g| g == f)?);
    }
    match &rest[..] {
        [only] => Some(only.clone()),
        _ => None,
    }
}

/// Whether an expression is a minimum, or maximum, of several operands, one of which is `bound`.
fn is_among(op: BinaryOp, e: &Expr, bound: &Expr) -> bool {
    match e {
        e if e == bound => true,
        Expr::Binary(o, a, b) if *o == op => is_among(op, a, bound) || is_among(op, b, bound),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;

    const TARGET: Target = Target { vector_bytes: 16, ..Target::SCALAR };

    fn read(body: &str) -> Function {
        let head = "fn f(n: i64, m: i64, begin: i64, crd: in [i32], A: in [f64], y: out [f64], z: out [f64]) {\n";
        let vars =
            "  var d, i, k, p, strip, strip_first, strip_last, strip_rows: i64\n  var t: f64\n";
        parse(&format!("{head}{vars}{body}\n}}\n")).unwrap_or_else(|d| panic!("{d}"))
    }

    fn check(body: &str, expect: &str) {
        let text = |f: Function| f.to_string().replace("_2", "");
        let lines = |text: String| {
            let lines = text.lines().filter(|l| !l.trim().starts_with("var")).map(str::to_owned);
            lines.collect::<Vec<_>>()
        };
        assert_eq!(lines(text(strip_mine(read(body), TARGET))), lines(read(expect).to_string()));
    }

    #[test]
    fn results_are_computed_strip_by_strip() {
        check(
            "fill y[begin..n] = 0.0 for p in 0..m { d = i64(crd[p]) \
             for i in max(begin, 0 - d)..min(n, m - d) { y[i] = y[i] + A[i] } }",
            "for strip in 0..(n - begin + 512 - 1) / 512 { strip_first = begin + strip * 512 \
             strip_last = min(strip_first + 512, n) fill y[strip_first..strip_last] = 0.0 \
             for p in 0..m { d = i64(crd[p]) \
             for i in max(max(begin, 0 - d), strip_first)..min(min(n, m - d), strip_last) { \
             y[i] = y[i] + A[i] } } }",
        );
        check(
            "fill y[0..n * m] = 0.0 for p in 0..m { for i in 0..n { if crd[i] > 0 { \
             for k in 0..m { y[i * m + k] = y[i * m + k] + A[i] } } } }",
            "strip_rows = max(512 / max(m, 1), 1) \
             for strip in 0..(n + strip_rows - 1) / strip_rows { \
             strip_first = strip * strip_rows strip_last = min(strip_first + strip_rows, n) \
             fill y[strip_first * m..strip_last * m] = 0.0 \
             for p in 0..m { for i in strip_first..strip_last { if crd[i] > 0 { \
             for k in 0..m { y[i * m + k] = y[i * m + k] + A[i] } } } } }",
        );
    }

    #[test]
    fn others_are_not() {
        let nest = |fill: &str, outer: &str, bounds: &str, store: &str| {
            format!(
                "{fill} for p in 0..m {{ d = i64(crd[p]) {outer} for i in {bounds} {{ {store} }} }}"
            )
        };
        let (fill, bounds, store) =
            ("fill y[0..n] = 0.0", "max(0, d)..min(n, m)", "y[i] = y[i] + A[i]");
        assert!(
            strip_mine(read(&nest(fill, "", bounds, store)), TARGET)
                .to_string()
                .contains("strip_first")
        );
        for body in [
            // The fill ends elsewhere, or is not of the range of the loop.
            nest("fill y[0..m] = 0.0", "", "max(0, d)..min(n, 3)", store),
            nest("fill y[1..n] = 0.0", "", bounds, store),
            nest("fill z[0..n] = 0.0", "", bounds, store),
            // Another element, or another array.
            nest(fill, "", bounds, "y[i] = y[0] + A[i]"),
            nest(fill, "", bounds, "y[i] = y[i] + A[i] z[i] = 1.0"),
            // Iterations that depend on each other.
            nest(fill, "k = k + 1", bounds, "y[i] = y[i] + A[k]"),
            // Rows that depend on each other.
            nest(fill, "k = 0", bounds, "y[i] = y[i] + A[k] k = k + 1"),
            // An element that the nest has not completed.
            nest(fill, "t = y[5]", bounds, "y[i] = y[i] + t"),
            // A register tile is better.
            nest(fill, "", "0..n", store),
        ] {
            check(&body, &body);
        }
    }
}
