//! Initialises results row by row, in the loop that then works on the row while it is in cache.
//!
//! ```text
//! fill Y[0..n * m] = 0.0
//! for i in 0..n { for p in row { for k in 0..m { Y[i * m + k] = .. Y[i * m + k] .. } } }
//!
//! for i in 0..n { fill Y[i * m..(i + 1) * m] = 0.0; for p in row { .. } }
//! ```
//!
//! Sizes are never negative. Every access in the loop must provably lie in its own row. The rows may be those of a
//! part: `Y[first * m..last * m]` in a loop from `first` to `last`.

use crate::algebra::BinaryOp;
use crate::ids::{Array, Var};
use crate::ir::build::{add, int, mul};
use crate::ir::flow::assigned;
use crate::ir::{Expr, Function, Stmt};

/// The pass.
pub(in crate::transform) fn fuse_init(mut function: Function) -> Function {
    let body = std::mem::take(&mut function.body);
    let body = block(&function, body);
    Function { body, ..function }
}

fn block(function: &Function, stmts: Vec<Stmt>) -> Vec<Stmt> {
    let mut out: Vec<Stmt> = Vec::with_capacity(stmts.len());
    let mut rest = stmts.into_iter();
    while let Some(s) = rest.next() {
        match rest.as_slice().first().and_then(|next| sunk(function, &s, next)) {
            Some(both) => {
                rest.next();
                out.push(both);
            }
            None => out.push(s.map_children(&mut |e| e, &mut |b| block(function, b))),
        }
    }
    out
}

/// The loop over rows, with the fill of each row moved into it.
fn sunk(function: &Function, fill: &Stmt, next: &Stmt) -> Option<Stmt> {
    let Stmt::Fill { array, lo, hi: end, value: value @ Expr::Const(_) } = fill else {
        return None;
    };
    let Stmt::For { var, lo: first, hi, step: 1, body } = next else { return None };
    let row = row_of(end, hi)?;
    let begins = *first == *lo && *lo == int(0) || row_of(lo, first).as_ref() == Some(&row);
    let mut changed = vec![*var];
    assigned(body, &mut changed);
    let fixed = row.iter().all(|f| matches!(f, Expr::Var(v) if !changed.contains(v)));
    let rows = Rows { function, array: *array, var: *var, row };
    if !begins || rows.row.is_empty() || !fixed || !works_long(body) || !rows.own(body, &[]) {
        return None;
    }
    let size = rows.row.iter().cloned().reduce(mul)?;
    let fill = Stmt::Fill {
        array: *array,
        lo: mul(Expr::Var(*var), size.clone()),
        hi: mul(add(Expr::Var(*var), int(1)), size),
        value: value.clone(),
    };
    let body = [vec![fill], body.clone()].concat();
    Some(Stmt::For { var: *var, lo: first.clone(), hi: hi.clone(), step: 1, body })
}

/// Whether a loop over rows contains loops. Otherwise it writes few elements of each row, and most keep the fill
/// value, which new memory already has if it is zero.
fn works_long(body: &[Stmt]) -> bool {
    body.iter()
        .any(|s| matches!(s, Stmt::For { .. } | Stmt::While { .. }) || s.blocks().any(works_long))
}

/// The factors of a row's size, if `place` is the start of row `number` in a level.
fn row_of(place: &Expr, number: &Expr) -> Option<Vec<Expr>> {
    let mut row = factors(place);
    let at = row.iter().position(|f| f == number)?;
    row.remove(at);
    Some(row)
}

/// The factors of a product.
pub(in crate::transform) fn factors(e: &Expr) -> Vec<Expr> {
    match e {
        Expr::Binary(BinaryOp::Mul, a, b) => [factors(a), factors(b)].concat(),
        e => vec![e.clone()],
    }
}

/// A loop variable and, if it starts from 0, its upper bound.
type Range<'s> = (Var, Option<&'s Expr>);

/// The rows of a full array, one for each value of a loop variable.
pub(in crate::transform) struct Rows<'f> {
    pub(in crate::transform) function: &'f Function,
    pub(in crate::transform) array: Array,
    /// The number of the row.
    pub(in crate::transform) var: Var,
    /// The factors of a row's size.
    pub(in crate::transform) row: Vec<Expr>,
}

impl Rows<'_> {
    /// Whether every access of a block is to the current row; `ranges` are those of the surrounding loops, outermost
    /// first.
    pub(in crate::transform) fn own(&self, block: &[Stmt], ranges: &[Range<'_>]) -> bool {
        block.iter().all(|s| {
            let place = match s {
                Stmt::Store { array, index, value } if *array == self.array => {
                    self.function.type_of(value).lanes == 1 && self.is_own(index, ranges)
                }
                s => !s.named().1.contains(&self.array),
            };
            let mut loads = true;
            s.exprs().for_each(|e| {
                e.walk(&mut |e| match e {
                    Expr::Load { array, index, lanes } if *array == self.array => {
                        loads &= *lanes == 1 && self.is_own(index, ranges);
                    }
                    Expr::Len(array) => loads &= *array != self.array,
                    _ => {}
                });
            });
            let mut inner = ranges.to_vec();
            if let Stmt::For { var, lo, hi, .. } = s {
                inner.push((*var, (*lo == int(0)).then_some(hi)));
            }
            place && loads && s.blocks().all(|b| self.own(b, &inner))
        })
    }

    fn is_own(&self, index: &Expr, ranges: &[Range<'_>]) -> bool {
        let Some(strides) = self.strides(index, ranges) else { return false };
        let mut row = self.row.clone();
        let all = strides.iter().all(|stride| {
            let found = row.iter().position(|f| f == stride);
            found.map(|k| row.remove(k)).is_some()
        });
        all && row.is_empty()
    }

    /// The factors of the row's number in an index, if each added number is below its stride.
    fn strides(&self, index: &Expr, ranges: &[Range<'_>]) -> Option<Vec<Expr>> {
        let Expr::Binary(BinaryOp::Add, head, place) = index else {
            return (*index == Expr::Var(self.var)).then(Vec::new);
        };
        let Expr::Binary(BinaryOp::Mul, head, stride) = &**head else { return None };
        let Expr::Var(place) = **place else { return None };
        let (_, below) = ranges.iter().rev().find(|(v, _)| *v == place)?;
        (*below == Some(stride)).then_some(())?;
        let mut strides = self.strides(head, ranges)?;
        strides.push((**stride).clone());
        Some(strides)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;
    use crate::transform::random;

    const HEAD: &str = "fn f(n: i64, m: i64, l: i64, A: in [f64], y: out [f64]) {\n";

    /// Expects a body to become another one.
    fn check(body: &str, expect: &str) {
        let text = |body: &str| format!("{HEAD}  var i, j, k: i64\n{body}\n}}\n");
        let read = |body: &str| parse(&text(body)).unwrap_or_else(|d| panic!("{d}"));
        assert_eq!(fuse_init(read(body)).to_string(), read(expect).to_string());
    }

    #[test]
    fn rows_are_filled_where_they_are_used() {
        check(
            "fill y[0..n * m] = 0.0 for i in 0..n { for k in 0..m { \
             y[i * m + k] = y[i * m + k] + A[k] } }",
            "for i in 0..n { fill y[i * m..(i + 1) * m] = 0.0 for k in 0..m { \
             y[i * m + k] = y[i * m + k] + A[k] } }",
        );
        check(
            "fill y[0..n * m * l] = 0.0 for i in 0..n { for j in 0..m { for k in 0..l { \
             y[(i * m + j) * l + k] = A[k] } } }",
            "for i in 0..n { fill y[i * (m * l)..(i + 1) * (m * l)] = 0.0 for j in 0..m { \
             for k in 0..l { y[(i * m + j) * l + k] = A[k] } } }",
        );
    }

    #[test]
    fn rows_of_a_part_are_filled_where_they_are_used() {
        let each = "for k in 0..m { y[i * m + k] = y[i * m + k] + A[k] }";
        check(
            &format!("fill y[j * m..l * m] = 0.0 for i in j..l {{ {each} }}"),
            &format!("for i in j..l {{ fill y[i * m..(i + 1) * m] = 0.0 {each} }}"),
        );
    }

    #[test]
    fn what_may_touch_other_rows_stays() {
        for body in [
            "fill y[j * m..n * m] = 0.0 for i in k..n { for k in 0..m { y[i * m + k] = 1.0 } }",
            "fill y[0..n * m] = 0.0 for i in j..n { for k in 0..m { y[i * m + k] = 1.0 } }",
            "fill y[j * l..n * m] = 0.0 for i in j..n { for k in 0..m { y[i * m + k] = 1.0 } }",
            "fill y[0..n * m] = 0.0 for i in 0..n { for k in 0..l { y[i * m + k] = 1.0 } }",
            "fill y[0..n * m] = 0.0 for i in 0..n { for k in 1..m { y[i * m + k] = 1.0 } }",
            "fill y[0..n * m] = 0.0 for i in 0..n { for k in 0..m { y[i * l + k] = 1.0 } }",
            "fill y[0..n * m] = 0.0 for i in 0..n { for k in 0..m { y[i * m + k] = y[k] } }",
            "fill y[0..n * m] = 0.0 for i in 0..n step 2 { for k in 0..m { y[i * m + k] = 1.0 } }",
            "fill y[0..n * m] = 0.0 for i in 0..l { for k in 0..m { y[i * m + k] = 1.0 } }",
            "fill y[0..n] = 0.0 for i in 0..n { y[i] = 1.0 }",
            "fill y[0..n * m] = 0.0 for i in 0..n { for k in 0..m { for k in 0..l { \
             y[i * m + k] = 1.0 } } }",
        ] {
            check(body, body);
        }
    }

    #[test]
    fn random_functions_stay_the_same() {
        random::check(|f, _| fuse_init(f), crate::transform::Target::SCALAR, 1000);
    }
}
