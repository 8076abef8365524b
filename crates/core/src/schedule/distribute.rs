//! `distribute(i, io, ii, x)`: each rank of a grid runs a part of a loop; `communicate(B, io)`: ranks first get the
//! elements of a tensor that they need.
//!
//! ```text
//! forall(i, s)        distribute(i, io, ii, x)        forall(ii, s)        ii: a part on each rank of x, by io
//! ```
//!
//! This is `divide` into as many parts as there are ranks (DISTAL, section 5), with the outer loop outside of the
//! kernel: a rank runs one iteration of it, so every rank runs the kernel that one process would run. Coordinates are
//! cut evenly; after `pos`, so that ranks have about the same number of nonzeros of the operand. Ranks in a grid share
//! one loop along each axis.

use super::nest::replaced;
use super::scheduler::Scheduler;
use crate::cin::{OnRanks, Relation, Stmt};
use tamis_ir::diagnostic::Diagnostic;

pub(super) fn distribute(
    s: &mut Scheduler<'_>,
    name: &str,
    (outer, inner): (&str, &str),
    axis: &str,
) -> Result<(), Diagnostic> {
    let of = s.loop_var(0, name)?;
    s.check_from_zero(0, of)?;
    s.check_untagged(0, of)?;
    if let Some(ranks) = s.kernel().cut.ranks.iter().find(|ranks| ranks.axis == axis) {
        let inner = s.name(ranks.inner);
        let message = format!("ranks share the loop over {inner} along {axis} already");
        let help = "name another axis of the grid for this loop, or leave it out";
        return Err(s.refuse(3, message, help.to_owned()));
    }
    let of_ranks = |ranks: &OnRanks| {
        ranks.inner == of || s.program.derived.ancestors(of).contains(&ranks.inner)
    };
    if let Some(ranks) = s.kernel().cut.ranks.iter().find(|ranks| of_ranks(ranks)) {
        let message = format!("ranks share the loop over {} already", s.name(ranks.inner));
        return Err(s.refuse(0, message, "name another loop for this axis".to_owned()));
    }
    s.check_fresh_pair(outer, inner)?;
    let part = s.fresh(2, inner)?;
    s.program.derived.relate(part, Relation::Same { of, bound: None });
    s.move_tag(part, of);
    s.rewrite(|body| replaced(body, of, &|body| Stmt::forall(&[part], body)));
    let (outer, axis) = (outer.to_owned(), axis.to_owned());
    s.kernel_mut().cut.ranks.push(OnRanks { inner: part, outer, axis });
    Ok(())
}

/// Restores the variables of distributed loops if no other loop was derived from the part's: the kernel then has the
/// same loops and names as without the command.
pub(super) fn restored(s: &mut Scheduler<'_>) {
    (0..s.kernel().cut.ranks.len()).for_each(|k| restore(s, k));
}

fn restore(s: &mut Scheduler<'_>, k: usize) {
    let part = s.kernel().cut.ranks[k].inner;
    let Some(&Relation::Same { of, bound: None }) = s.program.derived.relation(part) else {
        return;
    };
    let body = &s.kernel().body;
    let is_index = body.reads().iter().any(|access| access.indices.contains(&part))
        || s.program.tensors.iter().any(|tensor| tensor.modes.contains(&part));
    if is_index || !body.loops().contains(&part) {
        return;
    }
    s.move_tag(of, part);
    s.rewrite(|body| replaced(body, part, &|body| Stmt::forall(&[of], body)));
    s.kernel_mut().cut.ranks[k].inner = of;
}

/// Ranks always get all elements that they need before their part begins, so the command changes nothing; it is
/// refused for other loops.
pub(super) fn communicate(
    s: &mut Scheduler<'_>,
    tensor: &str,
    outer: &str,
) -> Result<(), Diagnostic> {
    let kernel = s.kernel();
    let Some(ranks) = kernel.cut.ranks.last() else {
        let message = format!("no loop over {outer} is shared by ranks");
        let help = format!("distribute a loop first, as in distribute(i, {outer}, ii, x)");
        return Err(s.refuse(1, message, help));
    };
    if kernel.cut.ranks.iter().all(|ranks| ranks.outer != outer) {
        let message =
            format!("ranks get what they need of {tensor} before their part of the loop begins");
        let help = format!("name a loop over ranks, such as {}", ranks.outer);
        return Err(s.refuse(1, message, help));
    }
    // A statement may have become several kernels; one of the others may read the tensor.
    let reads = s.program.kernels.iter().flat_map(|kernel| kernel.body.reads());
    let is_read = reads.into_iter().any(|access| s.is_named(access.tensor, tensor));
    if is_read || s.is_named(kernel.result, s.own_name(tensor)) {
        return Ok(());
    }
    let message = format!("the program neither reads nor computes {tensor}");
    Err(s.refuse(0, message, "name an operand, or the result of the loop".to_owned()))
}
