//! Loops on the units of a GPU: how they nest, how many iterations run concurrently, and how races are resolved.
//!
//! ```text
//! forall(block, forall(warp, forall(row, forall(thread, ..))))      blocks hold warps of 32 threads
//! ```
//!
//! Checked after the last command, since a command may name a unit before the surrounding one. Sparse iteration space
//! transformations, section 6.3.

pub(in crate::schedule) mod heuristics;

use super::command::Command;
use super::list::Schedule;
use super::nest::{around, assignments, assignments_within};
use super::scheduler::Scheduler;
use crate::cin::tiles::{NoTiles, tiles};
use crate::cin::{Kernel, ParallelUnit, Program, Races, Relation, Stmt};
use crate::format::LevelMap;
use crate::notation::Access;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::IndexVar;
use tamis_ir::ir;

/// The most threads of a block.
pub const MOST_THREADS: u64 = 1024;
/// The threads of a warp.
pub const WARP: u64 = 32;

/// Refuses loops that no GPU can run as the schedule says.
pub(super) fn check<'s>(s: &mut Scheduler<'s>, schedule: &'s Schedule) -> Result<(), Diagnostic> {
    let tags: Vec<_> = s.kernel().tags.iter().map(|(&var, &tag)| (var, tag)).collect();
    for (var, tag) in tags {
        let (Some(unit), Some((_, races))) = (tag.gpu(), tag.parallel) else { continue };
        let name = s.name(var).to_owned();
        let named = |c: &Command| matches!(c, Command::Parallelize { var, .. } if *var == name);
        s.stand_at(schedule, &named);
        s.check_sized(0, var)?;
        if tag.unroll.is_some() {
            let message = format!("iterations of {name} run at the same time, not in order");
            return Err(s.refuse(0, message, "unroll a loop inside of it".to_owned()));
        }
        for outer in around(&s.kernel().body, var) {
            nested(s, var, unit, &outer)?;
            counted(s, var, unit, &outer)?;
            shared(s, var, &outer, unit, races)?;
        }
    }
    Ok(())
}

/// The unit of a loop.
fn unit_of(s: &Scheduler<'_>, var: IndexVar) -> Option<ParallelUnit> {
    s.kernel().tags.get(&var).and_then(|tag| tag.parallel).map(|(unit, _)| unit)
}

/// Blocks are outermost, warps in blocks, threads in either.
fn nested(
    s: &Scheduler<'_>,
    var: IndexVar,
    unit: ir::Unit,
    outer: &[IndexVar],
) -> Result<(), Diagnostic> {
    let name = s.name(var);
    if let Some(&first) = outer.first().filter(|_| unit == ir::Unit::Block) {
        let first = s.name(first);
        let message = format!(
            "blocks take the iterations of the outermost loop; {name} is inside of the loop over \
             {first}"
        );
        return Err(s.refuse(0, message, format!("reorder({name}, {first}) first")));
    }
    if unit == ir::Unit::Block {
        return Ok(());
    }
    let around: Vec<(IndexVar, ir::Unit)> = outer
        .iter()
        .filter_map(|&v| match unit_of(s, v) {
            Some(ParallelUnit::Gpu(unit)) => Some((v, unit)),
            _ => None,
        })
        .collect();
    if let Some((inner, other)) = around.iter().find(|(_, other)| *other >= unit) {
        let message = format!(
            "{} cannot run {name} inside of {}, which {} runs: blocks hold warps, and these threads",
            unit.name(),
            s.name(*inner),
            other.name()
        );
        let help = "nest them in the order gpu_block, gpu_warp, gpu_thread, each once";
        return Err(s.refuse(1, message, help.to_owned()));
    }
    if around.first().is_none_or(|(_, unit)| *unit != ir::Unit::Block) {
        let message = format!("no loop around {name} is over blocks, which hold warps and threads");
        let help = match outer.first() {
            Some(&first) => format!("parallelize({}, gpu_block, no_races)", s.name(first)),
            None => format!("split({name}, block, ..) first, and parallelize block on gpu_block"),
        };
        return Err(s.refuse(0, message, help));
    }
    Ok(())
}

/// Blocks and warps have a limited number of threads.
fn counted(
    s: &Scheduler<'_>,
    var: IndexVar,
    unit: ir::Unit,
    outer: &[IndexVar],
) -> Result<(), Diagnostic> {
    let is_warp = |v: &&IndexVar| unit_of(s, **v) == Some(ParallelUnit::Gpu(ir::Unit::Warp));
    let in_warp = outer.iter().any(|v| is_warp(&v));
    let (most, holds) = match unit {
        ir::Unit::Core | ir::Unit::Block => return Ok(()),
        ir::Unit::Warp => (MOST_THREADS / WARP, "a block has at most 32 warps"),
        ir::Unit::Thread if in_warp => (WARP, "a warp has 32 threads"),
        ir::Unit::Thread => (MOST_THREADS, "a block has at most 1024 threads"),
    };
    let Some(size) = size(s, var).filter(|&size| size > most) else { return Ok(()) };
    let name = s.name(var);
    let message = format!("{holds}, and {name} has {size} iterations");
    Err(s.refuse(0, message, format!("split {name} so that the inner loop has at most {most}")))
}

/// The largest trip count of a loop, as far as the schedule determines it.
fn size(s: &Scheduler<'_>, var: IndexVar) -> Option<u64> {
    let derived = &s.program.derived;
    match (derived.relation(var), derived.map(var)) {
        (Some(Relation::Part { parts, .. }), _) => Some(*parts),
        (Some(Relation::Same { of, bound }), _) => {
            bound.map(|bound| bound.size()).or_else(|| size(s, *of))
        }
        (Some(Relation::Fused { outer, inner }), _) => {
            size(s, *outer)?.checked_mul(size(s, *inner)?)
        }
        (Some(_), _) => None,
        (None, Some(LevelMap::Div(i, b))) => Some(size(s, i)?.div_ceil(b)),
        (None, Some(LevelMap::Mod(i, b))) => Some(size(s, i).unwrap_or(b).min(b)),
        (None, _) => None,
    }
}

/// The operand that a loop walks entry by entry, although it may have duplicates.
pub(super) fn repeating<'k>(
    program: &Program,
    kernel: &'k Kernel,
    var: IndexVar,
) -> Option<&'k Access> {
    let same = |v: IndexVar| program.derived.alias(v) == program.derived.alias(var);
    let repeats = |access: &&Access| {
        let vars = program.level_vars(access.tensor, &access.indices);
        let levels = program.storage(access.tensor).format.levels();
        vars.iter().zip(levels).any(|(&v, l)| same(v) && !l.kind.properties().unique)
    };
    kernel.body.reads().into_iter().filter(|_| kernel.scatter).find(repeats)
}

/// The element that several iterations of an inner loop write: of the result, or of a workspace from outside.
fn raced(s: &Scheduler<'_>, var: IndexVar, outer: &[IndexVar]) -> Option<Access> {
    let mut found = None;
    let again = repeating(&s.program, s.kernel(), var).is_some();
    assignments_within(&s.kernel().body, var, &mut |lhs, inside| {
        let known = [&lhs.indices[..], outer].concat();
        if !inside && (again || !s.program.derived.follows(var, &known)) {
            found.get_or_insert(lhs.clone());
        }
    });
    found
}

/// Several iterations may add to the same element only in a way that their unit supports.
fn shared(
    s: &Scheduler<'_>,
    var: IndexVar,
    outer: &[IndexVar],
    unit: ir::Unit,
    races: Races,
) -> Result<(), Diagnostic> {
    let Some(lhs) = raced(s, var, outer) else { return Ok(()) };
    let (name, element) = (s.name(var), crate::cin::print::access(&s.program, &lhs));
    match (races, unit) {
        (Races::NoRaces, _) => {
            let (why, help) = match repeating(&s.program, s.kernel(), var) {
                Some(access) => {
                    let operand = &s.program.tensors[access.tensor].name;
                    let why = format!("several entries of {operand} may have the same {name}");
                    (why, "choose atomics")
                }
                None => (
                    format!("{name} does not follow from its coordinates"),
                    "choose atomics, or parallel_reduction for threads that add to one element",
                ),
            };
            let message =
                format!("several iterations of {name} may add to the same {element}: {why}");
            Err(s.refuse(2, message, help.to_owned()))
        }
        (Races::IgnoreRaces | Races::Atomics, _) => Ok(()),
        (Races::Temporary | Races::ParallelReduction, _) if tiled(s, var).is_ok() => Ok(()),
        (Races::Temporary | Races::ParallelReduction, ir::Unit::Thread) => {
            let derived = &s.program.derived;
            let known = |v: &IndexVar| derived.follows(*v, outer);
            if lhs.indices.iter().all(known) {
                return Ok(());
            }
            let message = format!(
                "threads of {name} may add to different elements {element}, so that these are no \
                 sum over threads"
            );
            let help = "choose atomics, or loops around that give the coordinates of the result";
            Err(s.refuse(2, message, help.to_owned()))
        }
        (Races::Temporary | Races::ParallelReduction, _) => {
            let message = format!(
                "only threads combine what they compute; {} runs {name}, and several iterations \
                 may add to the same {element}",
                unit.name()
            );
            let help = instead(tiled(s, var).err().unwrap_or(NoTiles::Unasked));
            Err(s.refuse(2, message, help.to_owned()))
        }
    }
}

/// What to do instead, where loops make no tiles.
fn instead(why: NoTiles) -> &'static str {
    match why {
        NoTiles::Unasked => "choose atomics, or temporary for all loops over tiles",
        NoTiles::Positions => {
            "choose atomics, or loops over all positions of an operand: fuse and pos first"
        }
        NoTiles::Order => {
            "choose atomics, or reorder the loops so that parts of positions are one behind \
             the other"
        }
        NoTiles::Rows => "choose atomics: its positions do not come element by element",
        NoTiles::Beside => {
            "choose atomics, or reorder so that loops over coordinates of the result are \
             around the innermost loop over positions"
        }
    }
}

/// Whether everything that a loop writes is summed over tiles of positions in order; or why not.
fn tiled(s: &Scheduler<'_>, var: IndexVar) -> Result<(), NoTiles> {
    let mut found = Ok(());
    assignments(&s.kernel().body, &mut vec![], &mut |assign, loops| {
        let Stmt::Assign { lhs, .. } = assign else { return };
        if lhs.tensor == s.kernel().result && loops.contains(&var) && found.is_ok() {
            found = tiles(&s.program, s.kernel(), lhs, loops).map(|_| ());
        }
    });
    found
}
