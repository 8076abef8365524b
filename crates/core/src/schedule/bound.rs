//! `bound(k, kb, n, max_exact)`: a loop whose number of iterations is promised.
//!
//! ```text
//! forall(k, s)        bound(k, kb, 32, max_exact)        forall(kb, s)        for kb in 0..32
//! ```
//!
//! The promise is kept or the call fails: it is checked against the operands of every call.

use super::nest::replaced;
use super::scheduler::Scheduler;
use crate::cin::{Bound, Program, Relation, Stmt};
use crate::diagnostic::{Code, Diagnostic};
use crate::ids::IndexVar;

pub(super) fn bound(
    s: &mut Scheduler<'_>,
    name: &str,
    bounded: &str,
    bound: Bound,
) -> Result<(), Diagnostic> {
    let of = s.loop_var(0, name)?;
    s.check_coordinates(0, of)?;
    s.check_untagged(0, of)?;
    if s.program.derived.position(of).is_some() {
        let message = format!("bound needs coordinates; {name} counts positions");
        let help = "bound the variable that it counts positions of".to_owned();
        return Err(s.refuse(0, message, help));
    }
    let var = s.fresh(1, bounded)?;
    s.program.derived.relate(var, Relation::Same { of, bound: Some(bound) });
    s.rewrite(|body| replaced(body, of, &|body| Stmt::forall(&[var], body)));
    Ok(())
}

/// Refuses dimensions that break what a schedule promised of them, or whose product is beyond
/// 2^63 - 1 where a schedule fused them.
pub fn check_dimensions(
    program: &Program,
    dimension: &dyn Fn(IndexVar) -> u64,
) -> Result<(), Diagnostic> {
    let derived = &program.derived;
    for (var, relation) in derived.relations() {
        match relation {
            Relation::Same { of, bound: Some(bound) } => {
                let size = derived.size(*of, dimension).unwrap_or(u64::MAX);
                if !bound.holds(size) {
                    let name = &program.vars[*of];
                    let promised = match bound {
                        Bound::Exact(n) => format!("{n}"),
                        Bound::Most(n) => format!("at most {n}"),
                    };
                    let message =
                        format!("the schedule bounds {name} to {promised}, and it has {size}");
                    return Err(Diagnostic::new(Code::BoundBroken, message)
                        .help("bound it to what the operands have, or leave bound out"));
                }
            }
            Relation::Fused { .. } if derived.size(var, dimension).is_none() => {
                let name = &program.vars[var];
                let message =
                    format!("the schedule fuses {name} of more than 2^63 - 1 coordinates");
                return Err(Diagnostic::new(Code::DimensionTooLarge, message)
                    .help("leave fuse out, or use pos on what is fused"));
            }
            _ => {}
        }
    }
    Ok(())
}
