//! `assemble(C, append)`, `assemble(C, insert)`: how the entries of a result get their positions.
//!
//! ```text
//! append    each entry behind the previous one      loops in the order in which C is stored, or rows accumulated first
//! insert    at positions that exist beforehand      C has them all, or entries of each row are counted first
//! ```
//!
//! An assembly that the loops cannot carry out is refused once the plan is known ([`super::refuse_dropped`]).

use super::scheduler::Scheduler;
use crate::cin::{Assembling, Kernel};
use tamis_ir::diagnostic::Diagnostic;

pub(super) fn assemble(
    s: &mut Scheduler<'_>,
    name: &str,
    how: Assembling,
) -> Result<(), Diagnostic> {
    let own = s.own_name(name).to_owned();
    let result = &s.program.tensors[s.kernel().result].name;
    if *result != own {
        let message = format!("the loops that the schedule is for compute {result}, not {name}");
        return Err(s.refuse(0, message, format!("name {result}")));
    }
    // If a kernel copies the values of other loops into the result, the command is for the copy.
    let stores = |k: &Kernel| s.program.tensors[k.result].name == name;
    let kernel = s.program.kernels.iter().rposition(stores).unwrap_or(s.kernel);
    let wanted = &mut s.program.kernels[kernel].assembly.wanted;
    if wanted.is_some() {
        let message = format!("an earlier command says how {name} is assembled");
        return Err(s.refuse(0, message, "leave one of the two commands out".to_owned()));
    }
    *wanted = Some(how);
    Ok(())
}
