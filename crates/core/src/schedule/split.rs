//! `split(i, i0, i1, n)`: a loop becomes one over tiles of `n` coordinates or positions, and one within a tile.
//!
//! ```text
//! forall(i, s)        split(i, i0, i1, 32)        forall(i0, forall(i1, s))        i = i0 * 32 + i1
//! ```

use super::nest::replaced;
use super::scheduler::Scheduler;
use crate::cin::Stmt;
use tamis_ir::diagnostic::Diagnostic;

pub(super) fn split(
    s: &mut Scheduler<'_>,
    name: &str,
    (outer, inner): (&str, &str),
    size: u64,
) -> Result<(), Diagnostic> {
    let var = s.loop_var(0, name)?;
    s.check_from_zero(0, var)?;
    s.check_untagged(0, var)?;
    s.check_fresh_pair(outer, inner)?;
    let (derived, names) = (&mut s.program.derived, &mut s.program.vars);
    let (outer, inner) = derived.blocks(var, size, (outer, inner), names);
    s.move_tag(inner, var);
    s.rewrite(|body| replaced(body, var, &|body| Stmt::forall(&[outer, inner], body)));
    Ok(())
}
