//! Sorts within one thread, in place and without calls.
//!
//! ```text
//! root = (hi - lo) / 2; last = hi - lo
//! while last > 1 {
//!   if root > 0 { root = root - 1 } else { last = last - 1; swap lo, lo + last }
//!   at = root; child = at * 2 + 1
//!   while child < last {
//!     if child + 1 < last && keys[lo + child] < keys[lo + child + 1] { child = child + 1 }
//!     if keys[lo + at] < keys[lo + child] { swap them; at = child; child = at * 2 + 1 }
//!     else { child = last }
//!   }
//! }
//! ```
//!
//! The sort is not stable, so keys have to differ. (Heapsort: Knuth, The Art of Computer Programming, section 5.2.3.)

use crate::lower::builder::Builder;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ids::{Array, Var};
use tamis_ir::ir::build::{add, assign, binary, div, int, load, lt, mul, store, sub, when};
use tamis_ir::ir::{Expr, Stmt};

/// Sorts the records `lo..hi` by distinct keys; `last` is a free loop variable.
pub(in crate::lower) fn sorted_in_place(
    cx: &mut Builder,
    last: Var,
    [keys, carried]: [Array; 2],
    lo: Expr,
    hi: Expr,
) -> Vec<Stmt> {
    let [root, at, child] = ["root", "at", "child"].map(|name| cx.temp(name));
    let key = |var: Var, more: i64| load(keys, add(add(lo.clone(), Expr::Var(var)), int(more)));
    let first_child = || add(mul(Expr::Var(at), int(2)), int(1));
    let and_then = |a: Expr, b: Expr| Expr::AndThen(Box::new(a), Box::new(b));
    let mut swap = |a: Expr, b: Expr| {
        let mut stmts = vec![];
        for array in [keys, carried] {
            let held = cx.temp("held");
            stmts.push(assign(held, load(array, a.clone())));
            stmts.push(store(array, a.clone(), load(array, b.clone())));
            stmts.push(store(array, b.clone(), Expr::Var(held)));
        }
        stmts
    };
    let place = |var: Var| add(lo.clone(), Expr::Var(var));
    let mut taken = vec![assign(last, sub(Expr::Var(last), int(1)))];
    taken.extend(swap(lo.clone(), place(last)));
    let mut down = swap(place(at), place(child));
    down.extend([assign(at, Expr::Var(child)), assign(child, first_child())]);
    let beside = lt(add(Expr::Var(child), int(1)), Expr::Var(last));
    let larger = and_then(beside, lt(key(child, 0), key(child, 1)));
    let sifted = vec![
        when(larger, vec![assign(child, add(Expr::Var(child), int(1)))]),
        Stmt::If {
            cond: lt(key(at, 0), key(child, 0)),
            then: down,
            otherwise: vec![assign(child, Expr::Var(last))],
        },
    ];
    let each = vec![
        Stmt::If {
            cond: lt(int(0), Expr::Var(root)),
            then: vec![assign(root, sub(Expr::Var(root), int(1)))],
            otherwise: taken,
        },
        assign(at, Expr::Var(root)),
        assign(child, first_child()),
        Stmt::While { cond: lt(Expr::Var(child), Expr::Var(last)), body: sifted },
    ];
    let size = sub(hi, lo.clone());
    vec![
        assign(last, size),
        assign(root, div(Expr::Var(last), int(2))),
        Stmt::While { cond: binary(BinaryOp::Gt, Expr::Var(last), int(1)), body: each },
    ]
}
