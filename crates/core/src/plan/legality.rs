//! Whether the loops of a kernel can read its operands, after commands rewrote the loops.
//!
//! ```text
//! forall(j, forall(i, y(i) += A(i,j) * x(j)))        A: ell        its slots are above i and j
//! ```
//!
//! Ordered and unique operands without padding can be read in any loops. They are searched where loops are against the
//! order of their levels; the cases with an entry and without one then have code of their own.

use super::access::{AccessMethod, AccessMethods, Task};
use super::{Planner, background};
use crate::cin::simplify::Facts;
use crate::cin::{Kernel, Program, Relation, Stmt};
use crate::notation::{Access, Expr};
use tamis_ir::ids::IndexVar;

/// An operand that the loops of a kernel cannot read, and the loops around it.
pub fn unreadable(program: &Program, kernel: &Kernel) -> Option<(Access, Vec<IndexVar>)> {
    within(program, kernel, &kernel.body, &mut vec![])
}

/// The number of operands that a kernel searches, with work left where they have no entry.
pub fn count_searched(program: &Program, kernel: &Kernel) -> usize {
    let facts = Facts { program, compute: kernel.compute };
    let mut found: Vec<&Access> = vec![];
    let mut operands = kernel.body.reads();
    operands.retain(|a| !program.is_local(a.tensor));
    for access in operands {
        let is_new = !found.contains(&access);
        let doubles = || facts.without(&kernel.body, &|a| a == access).is_some();
        if is_new && is_searched(program, kernel, access) && doubles() {
            found.push(access);
        }
    }
    found.len()
}

/// Whether some loops reach a level of an operand that lists coordinates when its coordinate is already known.
fn is_searched(program: &Program, kernel: &Kernel, access: &Access) -> bool {
    let derived = &program.derived;
    let loops = kernel.body.loops();
    let fused = |v: &IndexVar| {
        derived.relations().any(|(own, relation)| {
            let of =
                matches!(relation, Relation::Fused { outer, inner } if outer == v || inner == v);
            of && derived.position(own).is_none()
        })
    };
    let mut latest = 0;
    program.levels(access).into_iter().any(|(level, var)| {
        let depth = derived.depth(var, &loops);
        let known = depth < latest || (!loops.contains(&var) && fused(&var));
        latest = latest.max(depth);
        !level.kind.properties().full && !level.kind.locates() && known
    })
}

/// An operand that a loop walks and that must be walked alone, although the loop also has to visit coordinates that
/// the operand lacks, for instance to read a temporary there.
fn needed_elsewhere(
    program: &Program,
    kernel: &Kernel,
    (var, outer): (IndexVar, &[IndexVar]),
    body: &Stmt,
) -> Option<Access> {
    let ways = AccessMethods { program };
    let facts = Facts { program, compute: kernel.compute };
    let mut operands = vec![];
    body.for_each_assign(&mut |_, _, rhs| operands.extend(rhs.accesses().into_iter().cloned()));
    operands.retain(|a| !program.is_local(a.tensor) && ways.is_alone(a));
    operands.into_iter().find(|operand| {
        let levels = program.levels(operand);
        let walked = levels.iter().any(|(l, v)| *v == var && !l.kind.locates());
        let is_once = |rest: &Stmt| {
            let known = program.derived.known_in(outer);
            !outer.is_empty()
                && !background::adds(rest)
                && background::is_once(Planner::new(program, kernel), var, &known, rest)
        };
        walked && facts.without(body, &|a| a == operand).is_some_and(|rest| !is_once(&rest))
    })
}

fn within(
    program: &Program,
    kernel: &Kernel,
    s: &Stmt,
    loops: &mut Vec<IndexVar>,
) -> Option<(Access, Vec<IndexVar>)> {
    match s {
        Stmt::Forall { var, body } => {
            loops.push(*var);
            let found = within(program, kernel, body, loops).or_else(|| {
                let outer = &loops[..loops.len() - 1];
                let found = needed_elsewhere(program, kernel, (*var, outer), body)?;
                Some((found, loops.clone()))
            });
            loops.pop();
            found
        }
        Stmt::Where { consumer, producer } => within(program, kernel, producer, loops)
            .or_else(|| within(program, kernel, consumer, loops)),
        Stmt::Sequence(parts) => parts.iter().find_map(|s| within(program, kernel, s, loops)),
        Stmt::Within { pattern, body } => {
            let others: Vec<&Access> =
                kernel.body.reads().into_iter().filter(|a| *a != pattern).collect();
            match (AccessMethods { program }).finds_entries(pattern, &others, loops) {
                true => within(program, kernel, body, loops),
                false => Some((pattern.clone(), loops.clone())),
            }
        }
        Stmt::Assign { lhs, op, rhs } => {
            let reduced = |op| {
                let (vars, body) = (loops.clone(), Box::new(rhs.clone()));
                Expr::Reduce { op, vars, body }
            };
            let task = Task {
                result: lhs.tensor,
                vars: lhs.indices.clone(),
                value: op.map_or_else(|| rhs.clone(), reduced),
                compute: kernel.compute,
            };
            let ways = AccessMethods { program };
            let local = |a: &Access| program.is_local(a.tensor);
            let operands = super::access::distinct(rhs);
            // A loop over positions reaches entries in any format.
            let counted = |a: &Access| {
                loops.iter().filter_map(|&v| program.derived.position(v)).any(|p| {
                    matches!(program.derived.relation(p),
                        Some(Relation::Position { access, .. }) if access == a)
                })
            };
            let copied = |a: &&Access| {
                !local(a) && !counted(a) && ways.of(a, loops, &task) == AccessMethod::Copied
            };
            operands.iter().find(copied).map(|a| (a.clone(), loops.clone()))
        }
    }
}
