//! `mergeby(i, gallop)`: how a loop finds the coordinates that its operands have in common.
//!
//! ```text
//! two_finger    the operand that is behind advances by one           n + m steps
//! gallop        it is searched with steps that double                n log (m / n) steps, n < m
//! ```
//!
//! Where an operand alone gives a value, as in sums, each of its coordinates is visited in any case, and the merge
//! stays a two-finger merge.

use super::scheduler::Scheduler;
use crate::cin::MergeStrategy;
use tamis_ir::diagnostic::Diagnostic;

pub(super) fn mergeby(
    s: &mut Scheduler<'_>,
    name: &str,
    merge: MergeStrategy,
) -> Result<(), Diagnostic> {
    let var = s.loop_var(0, name)?;
    s.check_unsaid(0, var, |tag| tag.merge.is_some(), "what merges")?;
    s.kernel_mut().tags.entry(var).or_default().merge = Some(merge);
    Ok(())
}
