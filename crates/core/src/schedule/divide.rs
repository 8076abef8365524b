//! `divide(i, i0, i1, n)`: a loop becomes a loop over `n` parts, and one within a part.
//!
//! ```text
//! forall(i, s)        divide(i, i0, i1, 4)        forall(i0, forall(i1, s))
//!                                                 i = i0 * width + i1, width = ceil(size of i / 4)
//! ```

use super::nest::replaced;
use super::scheduler::Scheduler;
use crate::cin::{Relation, Stmt};
use tamis_ir::diagnostic::Diagnostic;

pub(super) fn divide(
    s: &mut Scheduler<'_>,
    name: &str,
    (outer, inner): (&str, &str),
    parts: u64,
) -> Result<(), Diagnostic> {
    let of = s.loop_var(0, name)?;
    s.check_from_zero(0, of)?;
    s.check_untagged(0, of)?;
    s.check_fresh_pair(outer, inner)?;
    let part = s.fresh(1, outer)?;
    let place = s.fresh(2, inner)?;
    s.program.derived.relate(part, Relation::Part { of, place, parts });
    s.program.derived.relate(place, Relation::Place { of, part });
    s.move_tag(place, of);
    s.rewrite(|body| replaced(body, of, &|body| Stmt::forall(&[part, place], body)));
    Ok(())
}
