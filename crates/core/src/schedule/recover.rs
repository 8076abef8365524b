//! Makes loops over coordinates instead of loops over what a format stores: blocks, offsets, diagonals.
//!
//! ```text
//! A: bcsr(4,4)       forall(i0, forall(j0, forall(i1, forall(j1, s))))        split(i, a, b, 32)
//!                    forall(i, forall(j0, forall(j1, s)))                     i0 = i / 4, i1 = i % 4
//!
//! A: dia             forall(d, forall(i, s))                                  split(j, a, b, 32)
//!                    forall(d, forall(j, s))                                  i = j - d
//! ```
//!
//! A command names coordinates of the notation, whatever the formats are. If loops run over other variables, from
//! which these coordinates follow, the coordinates become loops, and the variables of levels follow from them (the
//! thesis, section 3.3; sparse iteration space transformations, section 6.2).

use super::nest::{assignments, at_loops};
use super::scheduler::Scheduler;
use crate::cin::{Kernel, Program, Stmt};
use crate::format::LevelMap;
use tamis_ir::ids::IndexVar;

/// A coordinate that follows from loops, and the loops that it replaces.
struct Recovery {
    var: IndexVar,
    instead: Vec<IndexVar>,
}

/// Makes loops over the coordinates with these names, where they follow from loops.
pub(super) fn recover(s: &mut Scheduler<'_>, names: &[&str]) {
    for name in names {
        if let Some(found) = recovery(&s.program, s.kernel(), name, names) {
            s.rewrite(|body| found.rewritten(body));
        }
    }
}

/// Whether a kernel has no loop over the coordinate of this name, but others from which it follows.
pub(super) fn is_recoverable(
    program: &Program,
    kernel: &Kernel,
    name: &str,
    names: &[&str],
) -> bool {
    recovery(program, kernel, name, names).is_some()
}

/// How a coordinate becomes a loop of a kernel, for a command with these names.
fn recovery(program: &Program, kernel: &Kernel, name: &str, names: &[&str]) -> Option<Recovery> {
    let loops = kernel.body.loops();
    let named = |v: IndexVar| program.vars[v] == name;
    if loops.iter().any(|&v| named(v)) {
        return None;
    }
    let derived = &program.derived;
    let open = |v: &IndexVar| loops.contains(v) && !kernel.tags.contains_key(v);
    let stored = |v: IndexVar| open(&v) && !derived.is_scheduled(v);
    derived.iter().filter(|(v, _)| stored(*v)).find_map(|(own, map)| {
        let (var, other, instead) = match map {
            LevelMap::Div(i, size) if named(i) => {
                let place = derived.var(LevelMap::Mod(i, size))?;
                (i, place, vec![own, place])
            }
            LevelMap::Diff { plus, minus } if plus != minus && (named(plus) || named(minus)) => {
                let (var, other) = if named(plus) { (plus, minus) } else { (minus, plus) };
                // Operands store diagonals, so loops over these stay unless the command names both coordinates.
                let both = names.contains(&program.vars[other].as_str());
                (var, other, vec![if both { own } else { other }])
            }
            _ => return None,
        };
        let found = Recovery { var, instead };
        (open(&other) && found.is_everywhere(&kernel.body, &[own, other])).then_some(found)
    })
}

impl Recovery {
    /// Whether every assignment in one of the loops is inside of all loops from which the coordinate follows.
    fn is_everywhere(&self, body: &Stmt, from: &[IndexVar]) -> bool {
        let mut everywhere = true;
        assignments(body, &mut vec![], &mut |_, loops| {
            let one = self.instead.iter().any(|v| loops.contains(v));
            everywhere &= !one || from.iter().all(|v| loops.contains(v));
        });
        everywhere
    }

    /// Replaces the outermost of the loops by the loop over the coordinate, and removes the others.
    fn rewritten(&self, body: Stmt) -> Stmt {
        at_loops(body, &self.instead, &mut |nest| Stmt::Forall {
            var: self.var,
            body: Box::new(self.without(nest)),
        })
    }

    fn without(&self, s: Stmt) -> Stmt {
        at_loops(s, &self.instead, &mut |nest| match nest {
            Stmt::Forall { body, .. } => self.without(*body),
            other => other,
        })
    }
}
