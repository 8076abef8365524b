//! Whether results can hold incomplete sums.
//!
//! ```text
//! y(i) += A(i,j) * x(j)        y: dense{i8}        sums are i64, and only complete ones have to fit
//! ```
//!
//! Legalisation makes a temporary where its own loops need one; if other loops need one, it starts over.

use super::apply::Refusal;
use super::list::Schedule;
use super::nest::assignments;
use crate::cin::tiles::tiles;
use crate::cin::{Kernel, Program, Role, Stmt};
use tamis_ir::diagnostic::{Code, Diagnostic};

/// Refuses schedules whose loops leave incomplete sums in a result that cannot hold them.
pub(super) fn check(program: &Program, schedule: &Schedule) -> Result<(), Refusal> {
    if schedule.is_empty() {
        return Ok(());
    }
    match program.kernels.iter().find(|kernel| !holds_sums(program, kernel)) {
        None => Ok(()),
        Some(kernel) => {
            let name = program.name(kernel);
            let storage = program.storage(kernel.result);
            let message = format!(
                "{name}, stored as {storage}, cannot hold sums that are not complete: they start \
                 at another value than its fill value, or are of a wider type"
            );
            let help = "make the loops that reduce the innermost ones, with reorder";
            let diagnostic = Diagnostic::new(Code::UnsupportedSchedule, message)
                .at(&schedule.source, 0..schedule.source.len())
                .help(help);
            let storage = match program.tensors[kernel.result].role {
                Role::Result(id) => Some(id),
                _ => None,
            };
            Err(Refusal { diagnostic: Box::new(diagnostic), storage })
        }
    }
}

fn holds_sums(program: &Program, kernel: &Kernel) -> bool {
    let storage = program.storage(kernel.result);
    let mut holds = true;
    assignments(&kernel.body, &mut vec![], &mut |assign, loops| {
        let Stmt::Assign { lhs, op: Some(op), rhs } = assign else { return };
        if lhs.tensor != kernel.result {
            return;
        }
        let op = *op;
        let identity = program.identity(op, kernel.compute);
        let fill = storage.fill.computed(kernel.compute);
        let starts = storage.format.is_full() || identity.is_some_and(|id| id.same_value(fill));
        let wide = storage.datatype == program.accumulator(rhs, kernel.compute);
        // Tiles accumulate in a separate array if the result is too narrow.
        holds &= starts && (wide || tiles(program, kernel, lhs, loops).is_ok());
    });
    holds
}
