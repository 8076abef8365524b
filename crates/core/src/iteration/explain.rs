//! Iteration lattices as text, for people.
//!
//! ```text
//! j:
//!   {A(i,j)}  s += A(i,j) * x(j)
//! ```

use super::lattice::Lattice;
use crate::cin::simplify::Facts;
use crate::cin::{Program, Stmt, print};
use crate::format::LevelSpec;
use crate::notation::Access;
use std::fmt::Write;
use tamis_ir::ids::IndexVar;

/// The lattice of each loop of each kernel.
pub fn lattices(program: &Program) -> String {
    let mut out = String::new();
    for kernel in &program.kernels {
        let facts = Facts { program, compute: kernel.compute };
        walk(facts, &kernel.body, &mut vec![], &mut out);
    }
    out
}

fn walk(facts: Facts<'_>, s: &Stmt, bound: &mut Vec<IndexVar>, out: &mut String) {
    match s {
        Stmt::Forall { var, body } => {
            let iterators = iterators(facts.program, body, *var, bound);
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
            bound.push(*var);
            walk(facts, body, bound, out);
            bound.pop();
        }
        _ => s.children().into_iter().for_each(|child| walk(facts, child, bound, out)),
    }
}

/// The operands whose first open level, when the loops outside are behind, is that of `var`.
fn iterators(program: &Program, body: &Stmt, var: IndexVar, bound: &[IndexVar]) -> Vec<Access> {
    let mut found: Vec<Access> = vec![];
    for access in body.reads() {
        let next = program.levels(access).into_iter().find(|(_, v)| !bound.contains(v));
        let lists = |(level, v): (LevelSpec, _)| v == var && !level.kind.properties().full;
        if next.is_some_and(lists) && !found.contains(access) {
            found.push(access.clone());
        }
    }
    found
}
