//! `parallel`: the nesting of units, and the reductions of iterations.

use super::{Broken, Checked, check as check_that};
use crate::algebra::ReduceOp;
use crate::datatype::Register;
use crate::ir::{ArrayRole, Function, Stmt, Unit};

/// Checks every parallel loop and update of a function.
pub(super) fn check(function: &Function) -> Checked {
    block(function, &function.body, None)
}

/// A block inside of a loop on a unit.
fn block(function: &Function, stmts: &[Stmt], around: Option<Unit>) -> Checked {
    stmts.iter().try_for_each(|s| {
        let inside = stmt(function, s, around).map_err(|broken| broken.at(function, s))?;
        let is_loop = matches!(s, Stmt::Parallel { unit: Unit::Core, .. });
        let ordered = |s: &Stmt| matches!(s, Stmt::InOrder { .. });
        s.blocks().try_for_each(|b| {
            let all = b.iter().filter(|s| ordered(s)).count();
            let fits = all == 0 || (is_loop && all == 1);
            check_that(fits, "parallel", || "in order outside of a loop over cores".to_owned())
                .map_err(|broken| broken.at(function, s))?;
            block(function, b, inside)
        })
    })
}

fn stmt(function: &Function, s: &Stmt, around: Option<Unit>) -> Result<Option<Unit>, Broken> {
    match s {
        Stmt::Parallel { unit, var, combined, .. } => {
            let nests = match around {
                None => matches!(unit, Unit::Core | Unit::Block),
                Some(Unit::Core) => false,
                Some(around) => around < *unit,
            };
            check_that(nests, "parallel", || format!("{} in {around:?}", unit.name()))?;
            for c in combined {
                let decl = &function.vars[c.var];
                let number = decl.ty.lanes == 1 && decl.ty.register != Register::Bool;
                let fits = number && c.var != *var && ReduceOp::ALL.contains(&c.op);
                check_that(fits, "parallel", || format!("{} combined by {:?}", decl.name, c.op))?;
            }
            Ok(Some(*unit))
        }
        Stmt::Update { array, op, .. } => {
            let decl = &function.arrays[*array];
            let wide = decl.elem.register().datatype() == decl.elem;
            let fits = wide && ReduceOp::ALL.contains(op);
            check_that(fits, "parallel", || format!("{} updated by {op:?}", decl.name))?;
            Ok(around)
        }
        Stmt::Reserve { array, .. } if function.arrays[*array].role == ArrayRole::Common => {
            let decl = &function.arrays[*array];
            let grows = || format!("{} is reserved in a parallel loop", decl.name);
            check_that(around.is_none(), "parallel", grows)?;
            Ok(around)
        }
        _ => Ok(around),
    }
}
