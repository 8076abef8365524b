//! Iteration lattices as text, for people.
//!
//! ```text
//! j:
//!   {A(i,j)}  s += A(i,j) * x(j)
//! ```

use super::{Loop, Plan, plan};
use crate::cin::simplify::Facts;
use crate::cin::{Program, Stmt, print};
use crate::iteration::lattice::Lattice;
use crate::notation::Access;
use std::fmt::Write;
use tamis_ir::ids::IndexVar;

/// The lattice of each loop of each kernel, over the loop's drivers.
pub fn lattices(program: &Program) -> String {
    let mut out = String::new();
    for kernel in &program.kernels {
        let facts = Facts { program, compute: kernel.compute };
        walk(facts, &plan(program, kernel), &kernel.body, &mut out);
    }
    out
}

fn walk(facts: Facts<'_>, plan: &Plan, s: &Stmt, out: &mut String) {
    match s {
        Stmt::Forall { var, body } => {
            let iterators = iterators(plan, body, *var);
            let lattice = Lattice::build(facts, body, &iterators);
            let _ = writeln!(out, "{}:", facts.program.vars[*var]);
            for point in &lattice.points {
                let names: Vec<String> = iterators
                    .iter()
                    .enumerate()
                    .filter(|(k, _)| point.present & (1 << k) != 0)
                    .map(|(_, a)| print::access(facts.program, a))
                    .collect();
                let body = print::stmt(facts.program, &point.body);
                let names =
                    if names.is_empty() { "every coordinate".to_owned() } else { names.join(", ") };
                let _ = writeln!(out, "  {{{names}}}  {body}");
            }
            walk(facts, plan, body, out);
        }
        _ => s.children().into_iter().for_each(|child| walk(facts, plan, child, out)),
    }
}

/// The operands in the body of a loop that drive the loop.
fn iterators(plan: &Plan, body: &Stmt, var: IndexVar) -> Vec<Access> {
    let loops = plan.root.as_ref().map(|root| root.loops_over(var)).unwrap_or_default();
    let drives = |access: &Access| {
        let driven = |nest: &&Loop| nest.drivers.iter().any(|driver| driver.access == *access);
        loops.iter().any(driven)
    };
    let mut found: Vec<Access> = vec![];
    for access in body.reads() {
        if drives(access) && !found.contains(access) {
            found.push(access.clone());
        }
    }
    found
}
