//! `reserved`: arrays of the kernel are reserved before they are used.

use super::{Checked, check as check_that};
use crate::ids::{Array, Id};
use crate::ir::{ArrayRole, Expr, Function, Stmt};

/// Checks every element that a function loads or stores.
pub(super) fn check(function: &Function) -> Checked {
    let own = |role: ArrayRole| role == ArrayRole::Result || role.is_own();
    let known: Vec<bool> = function.arrays.iter().map(|a| !own(a.role)).collect();
    let mut reserved = Reserved { surely: known.clone(), maybe: known };
    block(function, &function.body, &mut reserved)
}

/// The arrays that were reserved on every path to a point, and on some path.
#[derive(Clone)]
struct Reserved {
    surely: Vec<bool>,
    maybe: Vec<bool>,
}

fn block(function: &Function, stmts: &[Stmt], known: &mut Reserved) -> Checked {
    stmts.iter().try_for_each(|s| stmt(function, s, known).map_err(|b| b.at(function, s)))
}

fn stmt(function: &Function, s: &Stmt, known: &mut Reserved) -> Checked {
    if matches!(s, Stmt::For { .. } | Stmt::Parallel { .. } | Stmt::While { .. }) {
        // An earlier iteration of the body may have reserved.
        s.blocks().for_each(|b| reserves(b, &mut known.maybe));
    }
    for e in s.exprs() {
        let mut loaded = vec![];
        e.walk(&mut |e| {
            if let Expr::Load { array, .. } = e {
                loaded.push(*array);
            }
        });
        loaded.into_iter().try_for_each(|a| element(function, a, &known.maybe))?;
    }
    match s {
        Stmt::Store { array, .. } | Stmt::Update { array, .. } => {
            element(function, *array, &known.surely)?
        }
        Stmt::Reserve { array, .. } => {
            known.surely[array.index()] = true;
            known.maybe[array.index()] = true;
        }
        _ => {}
    }
    let mut ends = vec![];
    for b in s.blocks() {
        let mut within = known.clone();
        block(function, b, &mut within)?;
        known.maybe.iter_mut().zip(&within.maybe).for_each(|(known, &new)| *known |= new);
        if !matches!(b.last(), Some(Stmt::Fail(_))) {
            ends.push(within.surely);
        }
    }
    if matches!(s, Stmt::If { .. }) {
        for (k, known) in known.surely.iter_mut().enumerate() {
            *known |= ends.iter().all(|surely| surely[k]);
        }
    }
    Ok(())
}

fn element(function: &Function, array: Array, known: &[bool]) -> Checked {
    let name = &function.arrays[array].name;
    check_that(known[array.index()], "reserved", || format!("{name} is used but never reserved"))
}

fn reserves(block: &[Stmt], known: &mut [bool]) {
    for s in block {
        if let Stmt::Reserve { array, .. } = s {
            known[array.index()] = true;
        }
        s.blocks().for_each(|b| reserves(b, known));
    }
}
