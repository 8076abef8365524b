//! `distribute(i, io, ii, x)`: each rank of a grid runs a part of a loop; `communicate(B, io)`: what it needs of a
//! tensor comes before.
//!
//! ```text
//! forall(i, s)        distribute(i, io, ii, x)        forall(ii, s)        ii: a part on each rank of x, by io
//! ```
//!
//! This is `divide` into as many parts as there are ranks (DISTAL, section 5), whose outer loop is not in the kernel:
//! a rank runs one iteration of it. So the kernel of one process is the kernel of each rank. Coordinates are cut
//! evenly; after `pos`, so that ranks have about as many nonzeros of the operand.

use super::nest::replaced;
use super::scheduler::Scheduler;
use crate::cin::{OnRanks, Relation, Stmt};
use tamis_ir::diagnostic::Diagnostic;

pub(super) fn distribute(
    s: &mut Scheduler<'_>,
    name: &str,
    (outer, inner): (&str, &str),
    grid: &str,
) -> Result<(), Diagnostic> {
    let of = s.loop_var(0, name)?;
    s.check_from_zero(0, of)?;
    s.check_untagged(0, of)?;
    if let Some(ranks) = &s.kernel().cut.ranks {
        let message = format!("ranks share the loop over {} already", s.name(ranks.inner));
        let help = "choose one loop of the statement for them: grids have one dimension";
        return Err(s.refuse(0, message, help.to_owned()));
    }
    s.check_fresh_pair(outer, inner)?;
    let part = s.fresh(2, inner)?;
    s.program.derived.relate(part, Relation::Same { of, bound: None });
    s.move_tag(part, of);
    s.rewrite(|body| replaced(body, of, &|body| Stmt::forall(&[part], body)));
    let (outer, grid) = (outer.to_owned(), grid.to_owned());
    s.kernel_mut().cut.ranks = Some(OnRanks { inner: part, outer, grid });
    Ok(())
}

/// Gives a loop that ranks share its variable back where nothing was made of the part's: the kernel is then the one
/// without the command, in its loops and in what they are called.
pub(super) fn restored(s: &mut Scheduler<'_>) {
    let Some(ranks) = &s.kernel().cut.ranks else { return };
    let part = ranks.inner;
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
    if let Some(ranks) = &mut s.kernel_mut().cut.ranks {
        ranks.inner = of;
    }
}

/// Ranks get what they need of every tensor before their part begins, so that there is nothing to do: other loops are
/// refused.
pub(super) fn communicate(
    s: &mut Scheduler<'_>,
    tensor: &str,
    outer: &str,
) -> Result<(), Diagnostic> {
    let kernel = s.kernel();
    let Some(ranks) = &kernel.cut.ranks else {
        let message = format!("no loop over {outer} is shared by ranks");
        let help = format!("distribute a loop first, as in distribute(i, {outer}, ii, x)");
        return Err(s.refuse(1, message, help));
    };
    if ranks.outer != outer {
        let message =
            format!("ranks get what they need of {tensor} before their part of the loop begins");
        let help = format!("name the loop over ranks, {}", ranks.outer);
        return Err(s.refuse(1, message, help));
    }
    // Other kernels of the program may read it: a statement may have become several.
    let reads = s.program.kernels.iter().flat_map(|kernel| kernel.body.reads());
    let is_read = reads.into_iter().any(|access| s.is_named(access.tensor, tensor));
    if is_read || s.is_named(kernel.result, s.own_name(tensor)) {
        return Ok(());
    }
    let message = format!("the program neither reads nor computes {tensor}");
    Err(s.refuse(0, message, "name an operand, or the result of the loop".to_owned()))
}
