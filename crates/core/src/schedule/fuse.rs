//! `fuse(i, j, f)`: two directly nested loops become one.
//!
//! ```text
//! forall(i, forall(j, s))        fuse(i, j, f)        forall(f, s)        i = f / n, j = f mod n
//! ```
//!
//! On its own this does not change the order of iterations; it prepares for `pos`, `split` and `parallelize`. A fused
//! loop that none of these uses is split again.

use super::nest::{at_loops, replaced};
use super::scheduler::Scheduler;
use crate::cin::{Relation, Stmt, Tensor};
use crate::notation::Access;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::IndexVar;

pub(super) fn fuse(
    s: &mut Scheduler<'_>,
    (outer_name, inner_name): (&str, &str),
    name: &str,
) -> Result<(), Diagnostic> {
    let outer = s.loop_var(0, outer_name)?;
    let inner = s.loop_var(1, inner_name)?;
    for (arg, var) in [(0, outer), (1, inner)] {
        s.check_sized(arg, var)?;
        s.check_untagged(arg, var)?;
        s.check_unsaid(arg, var, |tag| tag.merge.is_some(), "what merges")?;
        if s.program.derived.position(var).is_some() {
            let message = format!("fuse needs coordinates; {} counts positions", s.name(var));
            return Err(s.refuse(arg, message, "fuse the loops first, then pos".to_owned()));
        }
    }
    let mut nested = true;
    let is_inner = |body: &Stmt| matches!(body, Stmt::Forall { var, .. } if *var == inner);
    let both = [outer, inner];
    let _ = at_loops(s.kernel().body.clone(), &both, &mut |nest| {
        nested &= matches!(&nest, Stmt::Forall { var, body } if *var == outer && is_inner(body));
        nest
    });
    if !nested {
        let message =
            format!("fuse needs {inner_name} directly inside {outer_name} wherever it is a loop");
        let loops = s.kernel().body.loops();
        let from = loops.iter().skip_while(|v| **v != outer).skip(1);
        let between = from.take_while(|v| **v != inner).map(|v| format!(", {}", s.name(*v)));
        let between: String = between.collect();
        let help = format!("reorder({outer_name}, {inner_name}{between}) first");
        return Err(s.refuse(usize::MAX, message, help));
    }
    let fused = s.fresh(2, name)?;
    s.program.derived.relate(fused, Relation::Fused { outer, inner });
    s.rewrite(|body| {
        replaced(body, outer, &|body| match body {
            Stmt::Forall { body, .. } => Stmt::Forall { var: fused, body },
            body => body,
        })
    });
    Ok(())
}

/// Splits fused loops from which no other loop was derived.
pub(super) fn unfused(s: &mut Scheduler<'_>) {
    loop {
        let loops: Vec<IndexVar> = s.kernel().body.loops();
        let fused = loops.into_iter().find_map(|var| match s.program.derived.relation(var) {
            Some(&Relation::Fused { outer, inner }) => {
                let counts = |t: &Tensor| t.modes.contains(&var);
                let reads = |access: &&Access| access.indices.contains(&var);
                let used = s.kernel().tags.contains_key(&var)
                    || s.program.tensors.iter().any(counts)
                    || s.kernel().body.reads().iter().any(reads);
                (!used).then_some((var, outer, inner))
            }
            _ => None,
        });
        let Some((var, outer, inner)) = fused else { return };
        s.rewrite(|body| replaced(body, var, &|body| Stmt::forall(&[outer, inner], body)));
    }
}
