//! `bound(k, kb, n, max_exact)`: a loop whose trip count is promised.
//!
//! ```text
//! forall(k, s)        bound(k, kb, 32, max_exact)        forall(kb, s)        for kb in 0..32
//! ```
//!
//! The promise is kept or the call fails: it is checked against the operands of every call.

use super::nest::replaced;
use super::scheduler::Scheduler;
use crate::cin::{BoundType, Program, Relation, Role, Stmt, Tensor};
use crate::format::LevelMap;
use std::collections::BTreeSet;
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::IndexVar;

pub(super) fn bound(
    s: &mut Scheduler<'_>,
    name: &str,
    bounded: &str,
    bound: BoundType,
) -> Result<(), Diagnostic> {
    let of = s.loop_var(0, name)?;
    s.check_sized(0, of)?;
    s.check_untagged(0, of)?;
    if s.program.derived.position(of).is_some() {
        let message = format!("bound needs coordinates; {name} counts positions");
        let help = "bound the variable that it counts positions of".to_owned();
        return Err(s.refuse(0, message, help));
    }
    let var = s.fresh(1, bounded)?;
    s.program.derived.relate(var, Relation::Same { of, bound: Some(bound) });
    if let BoundType::Exact(_) = bound {
        size_workspaces(s, of, var);
    }
    s.move_tag(var, of);
    s.rewrite(|body| replaced(body, of, &|body| Stmt::forall(&[var], body)));
    Ok(())
}

/// Gives workspaces over a variable the size that is promised for it.
fn size_workspaces(s: &mut Scheduler<'_>, of: IndexVar, bounded: IndexVar) {
    let derived = &s.program.derived;
    let is_over = |mode: &&mut IndexVar| {
        derived.is_same(**mode, of) || derived.alias(**mode) == derived.alias(of)
    };
    let workspaces = s.program.tensors.iter_mut().filter(|t| t.role == Role::Workspace);
    workspaces.flat_map(|t| t.modes.iter_mut()).filter(is_over).for_each(|mode| *mode = bounded);
}

/// Refuses dimensions that break promises of a schedule, or whose product exceeds 2^63 - 1 where loops are over fused
/// coordinates.
pub fn check_dimensions(
    program: &Program,
    dimension: &dyn Fn(IndexVar) -> u64,
) -> Result<(), Diagnostic> {
    let derived = &program.derived;
    let counted = counted(program);
    for (var, relation) in derived.relations() {
        match relation {
            Relation::Same { of, bound: Some(bound) } => {
                let size = derived.size(*of, dimension).unwrap_or(u64::MAX);
                if !bound.holds(size) {
                    let name = &program.vars[*of];
                    let promised = match bound {
                        BoundType::Exact(n) => format!("{n}"),
                        BoundType::Most(n) => format!("at most {n}"),
                    };
                    let message =
                        format!("the schedule bounds {name} to {promised}, and it has {size}");
                    return Err(Diagnostic::new(Code::BoundBroken, message)
                        .help("bound it to what the operands have, or leave bound out"));
                }
                if matches!(bound, BoundType::Exact(_)) && varies(program, var, *of, dimension) {
                    let name = &program.vars[*of];
                    let message = format!(
                        "the schedule bounds {name} to {size}, and the last part has fewer of it"
                    );
                    let help = "choose parts that divide the dimension, or leave bound out";
                    return Err(Diagnostic::new(Code::BoundBroken, message).help(help));
                }
            }
            Relation::Fused { .. }
                if counted.contains(&var) && derived.size(var, dimension).is_none() =>
            {
                let name = &program.vars[var];
                let message =
                    format!("the schedule fuses {name} of more than 2^63 - 1 coordinates");
                return Err(Diagnostic::new(Code::DimensionTooLarge, message)
                    .help("leave fuse out, or use pos on what is fused"));
            }
            _ => {}
        }
    }
    program.tensors.iter().try_for_each(|tensor| check_workspace(program, tensor, dimension))
}

/// The variables whose coordinates loops count, directly or in parts. Loops over positions do not depend on the number
/// of coordinates.
pub(crate) fn counted(program: &Program) -> BTreeSet<IndexVar> {
    let mut found = BTreeSet::new();
    let mut open: Vec<IndexVar> = program.kernels.iter().flat_map(|k| k.body.loops()).collect();
    while let Some(var) = open.pop() {
        if found.insert(var) && program.derived.position(var).is_none() {
            open.extend(program.derived.origins(var));
        }
    }
    found
}

/// Refuses workspaces with more elements than an array can have.
fn check_workspace(
    program: &Program,
    tensor: &Tensor,
    dimension: &dyn Fn(IndexVar) -> u64,
) -> Result<(), Diagnostic> {
    const WIDEST: u64 = 16;
    // The number of positions, in parts and offsets in these, depends on the operand, which is in memory.
    let sizes = || tensor.modes.iter().map(|&mode| elements(program, mode, dimension));
    let positions = if sizes().any(|size| size.is_none()) { 1 << 32 } else { 1 };
    let elements = sizes().flatten().try_fold(positions, u64::checked_mul);
    let fits = |n: u64| n.checked_mul(WIDEST).is_some_and(|bytes| i64::try_from(bytes).is_ok());
    if tensor.role != Role::Workspace || tensor.storage.format.grows() || elements.is_some_and(fits)
    {
        return Ok(());
    }
    let message = format!("the workspace {} has more elements than memory can have", tensor.name);
    Err(Diagnostic::new(Code::DimensionTooLarge, message)
        .help("precompute over fewer loops, or over smaller tiles, or have it hashed"))
}

/// The largest number of elements of a workspace's mode: blocks may be larger than the dimension.
fn elements(program: &Program, mode: IndexVar, dimension: &dyn Fn(IndexVar) -> u64) -> Option<u64> {
    let derived = &program.derived;
    let all = derived.origins(mode).into_iter().map(|of| derived.size(of, dimension));
    match derived.map(mode) {
        Some(LevelMap::Mod(..)) => all.chain([derived.size(mode, dimension)]).flatten().min(),
        _ => derived.size(mode, dimension),
    }
}

/// Whether a variable, or one that it was derived from, has fewer coordinates in the last part of a surrounding loop.
fn varies(
    program: &Program,
    bounded: IndexVar,
    of: IndexVar,
    dimension: &dyn Fn(IndexVar) -> u64,
) -> bool {
    let size = |v: IndexVar| program.derived.size(v, dimension);
    parts_around(program, bounded, of)
        .into_iter()
        .any(|(v, parts)| size(v).is_none_or(|size| size % parts != 0))
}

/// The variables that loops around a bounded one split, with the size or number of their parts: all parts have the
/// same number of the bounded loop's coordinates only if this divides the dimension.
pub(crate) fn parts_around(
    program: &Program,
    bounded: IndexVar,
    of: IndexVar,
) -> Vec<(IndexVar, u64)> {
    let derived = &program.derived;
    let around = program.kernels.iter().flat_map(|kernel| {
        let loops = kernel.body.loops();
        let at =
            loops.iter().position(|&v| v == bounded || derived.ancestors(v).contains(&bounded));
        loops[..at.unwrap_or(0)].to_vec()
    });
    let outside: Vec<IndexVar> =
        around.flat_map(|v| std::iter::once(v).chain(derived.ancestors(v))).collect();
    let split = |v: IndexVar| {
        let (i, other, parts) = match (derived.relation(v), derived.map(v)) {
            (Some(&Relation::Part { of, place, parts }), _) => (of, Some(place), parts),
            (Some(&Relation::Place { of, part }), _) => match derived.relation(part) {
                Some(&Relation::Part { parts, .. }) => (of, Some(part), parts),
                _ => return None,
            },
            (None, Some(LevelMap::Div(i, b))) => (i, derived.var(LevelMap::Mod(i, b)), b),
            (None, Some(LevelMap::Mod(i, b))) => (i, derived.var(LevelMap::Div(i, b)), b),
            _ => return None,
        };
        other.filter(|other| outside.contains(other)).map(|_| (i, parts))
    };
    std::iter::once(of).chain(derived.ancestors(of)).filter_map(split).collect()
}
