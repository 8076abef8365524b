//! Whether results can hold the sums that are not complete yet.
//!
//! ```text
//! y(i) += A(i,j) * x(j)        y: dense{i8}        sums are i64, and only the last has to fit
//! ```
//!
//! Legalisation makes a temporary where the loops it chose need one; other loops may need one where
//! there is none.

use super::Schedule;
use crate::cin::{Kernel, Program};
use crate::diagnostic::{Code, Diagnostic};

/// Refuses schedules whose loops leave incomplete sums in a result that cannot hold them.
pub(super) fn check(program: &Program, schedule: &Schedule) -> Result<(), Diagnostic> {
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
            Err(Diagnostic::new(Code::UnsupportedSchedule, message)
                .at(&schedule.source, 0..schedule.source.len())
                .help(help))
        }
    }
}

fn holds_sums(program: &Program, kernel: &Kernel) -> bool {
    let storage = program.storage(kernel.result);
    let mut holds = true;
    kernel.body.for_each_assign(&mut |lhs, op, rhs| {
        let Some(op) = op.filter(|_| lhs.tensor == kernel.result) else { return };
        let identity = program.identity(op, kernel.compute);
        let fill = storage.fill.computed(kernel.compute);
        let starts = storage.format.is_full() || identity.is_some_and(|id| id.same_value(fill));
        holds &= starts && storage.datatype == program.accumulator(rhs, kernel.compute);
    });
    holds
}
