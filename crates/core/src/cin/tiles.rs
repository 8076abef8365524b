//! Tiles of positions whose sums are combined in order; the partial sum of an element that several tiles share is
//! carried beside the result.
//!
//! ```text
//! fuse(i, j, f); pos(f, p, A); split(p, block, q, 4096); split(q, thread, k, 16)
//! parallelize(block, gpu_block, temporary); parallelize(thread, gpu_thread, temporary)
//!
//! forall(block, forall(thread, forall(k, y(i) += A(i,j) * x(j))))
//!        ^-- tiles of 16 positions --^
//! ```
//!
//! If the result is a scalar, every tile of any loops contributes to its only element.
//!
//! Rows lie one behind the other, so a tile has the end of a row, whole rows, and the beginning of a row. Only the end
//! of the first row is shared with earlier tiles. (Sparse iteration space transformations, section 6.3: temporaries of
//! the loops that race.)

use super::{Derived, Kernel, Program, Races, Relation};
use crate::format::LevelMap;
use crate::notation::Access;
use tamis_ir::ids::IndexVar;
use tamis_ir::ir::Unit;

/// How the loops around an assignment make tiles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tiles {
    /// The number of the loop that runs one tile in each iteration.
    pub at: usize,
    /// The loops over tiles; their iterations, in this order, follow the order of positions.
    pub tiles: Vec<IndexVar>,
    /// The other loops, whose variables follow from the element.
    pub beside: Vec<IndexVar>,
}

/// Why racing loops make no tiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoTiles {
    /// No loop races, or the schedule does not ask for temporaries.
    Unasked,
    /// The loops are not over positions of a whole operand.
    Positions,
    /// The loops do not visit tiles in order of positions.
    Order,
    /// Positions are not ordered by rows of the result.
    Rows,
    /// There is a loop over the result's coordinates among or inside of the loops over positions, or another loop
    /// around these.
    Beside,
}

/// The tiles of the loops around an assignment that combines values.
pub fn tiles(
    program: &Program,
    kernel: &Kernel,
    lhs: &Access,
    loops: &[IndexVar],
) -> Result<Tiles, NoTiles> {
    let derived = &program.derived;
    let told = |v: IndexVar| derived.follows(v, &lhs.indices);
    let raced = |k: &usize| is_raced(program, kernel, lhs, &loops[..=*k]);
    let raced: Vec<usize> = (0..loops.len()).filter(raced).collect();
    let (Some(&first), Some(&last)) = (raced.first(), raced.last()) else {
        return Err(NoTiles::Unasked);
    };
    if raced.iter().any(|&k| !asks(kernel, loops[k])) {
        return Err(NoTiles::Unasked);
    }
    if lhs.indices.is_empty() {
        return of_one_element(program, kernel, &loops[..=last]);
    }
    let position = derived.position(loops[first]).ok_or(NoTiles::Positions)?;
    let Some(Relation::Position { of, above, access, .. }) = derived.relation(position) else {
        return Err(NoTiles::Positions);
    };
    if !above.is_empty() {
        return Err(NoTiles::Positions);
    }
    let is_part = |v: &IndexVar| derived.position(*v) == Some(position);
    let parts: Vec<IndexVar> = loops.iter().copied().filter(is_part).collect();
    if parts != leaves(program, position, loops) {
        return Err(NoTiles::Order);
    }
    let at = (last..loops.len()).rfind(|&k| k == last || told(loops[k])).unwrap_or(last);
    let inside = &loops[last + 1..=at];
    let (tiles, beside): (Vec<IndexVar>, Vec<IndexVar>) =
        loops[..=at].iter().copied().partition(is_part);
    let counted = |v: &IndexVar| told(*v) && is_plain(derived, *v);
    if inside.iter().any(is_part) || !beside.iter().all(counted) {
        return Err(NoTiles::Beside);
    }
    let known = [&beside[..], &lhs.indices].concat();
    let rows = of.iter().take_while(|v| derived.follows(**v, &known)).count();
    let levels = program.storage(access.tensor).format.levels();
    let ordered = levels[..rows].iter().all(|l| l.kind.properties().ordered);
    let known = [&beside[..], &of[..rows]].concat();
    let told = lhs.indices.iter().all(|v| derived.follows(*v, &known));
    match told && ordered {
        true => Ok(Tiles { at, tiles, beside }),
        false => Err(NoTiles::Rows),
    }
}

/// Tiles that all add to the only element: any loops that visit each iteration once.
fn of_one_element(
    program: &Program,
    kernel: &Kernel,
    loops: &[IndexVar],
) -> Result<Tiles, NoTiles> {
    let derived = &program.derived;
    let again = |v: IndexVar| {
        kernel.body.reads().into_iter().any(|access| {
            let vars = program.level_vars(access.tensor, &access.indices);
            let levels = program.storage(access.tensor).format.levels();
            levels.iter().zip(vars).any(|(l, own)| own == v && !l.kind.properties().unique)
        })
    };
    let counted = |v: &IndexVar| match derived.relation(*v) {
        Some(Relation::Position { above, .. }) => above.is_empty(),
        _ => is_plain(derived, *v) && !again(*v),
    };
    match loops.iter().all(|v| counted(v) && derived.position(*v).is_none_or(|p| counted(&p))) {
        true => Ok(Tiles { at: loops.len() - 1, tiles: loops.to_vec(), beside: vec![] }),
        false => Err(NoTiles::Positions),
    }
}

/// Whether iterations are counted from 0, whatever the surrounding loops.
fn is_plain(derived: &Derived, var: IndexVar) -> bool {
    !matches!(derived.map(var), Some(LevelMap::Diff { .. } | LevelMap::Slot(_)))
}

/// Whether the last of these loops races on elements, unless threads of a block combine their values of one element.
fn is_raced(program: &Program, kernel: &Kernel, lhs: &Access, loops: &[IndexVar]) -> bool {
    let derived = &program.derived;
    let Some((&var, outer)) = loops.split_last() else { return false };
    let known = [&lhs.indices[..], outer].concat();
    let one = lhs.indices.iter().all(|v| derived.follows(*v, outer));
    let Some(unit) = kernel.tags.get(&var).and_then(|tag| tag.gpu()) else { return false };
    !(derived.follows(var, &known) || one && unit == Unit::Thread)
}

fn asks(kernel: &Kernel, var: IndexVar) -> bool {
    let races = kernel.tags.get(&var).and_then(|tag| tag.parallel);
    matches!(races, Some((_, Races::Temporary | Races::ParallelReduction)))
}

/// The loops into which a position variable was split, from the slowest to the fastest.
fn leaves(program: &Program, var: IndexVar, loops: &[IndexVar]) -> Vec<IndexVar> {
    let derived = &program.derived;
    if loops.contains(&var) {
        return vec![var];
    }
    for (other, relation) in derived.relations() {
        match relation {
            Relation::Part { of, place, .. } if *of == var => {
                return [leaves(program, other, loops), leaves(program, *place, loops)].concat();
            }
            // A variable may have another name in other loops, such as those that fill a workspace.
            Relation::Same { of, .. } if *of == var => match leaves(program, other, loops) {
                found if found.is_empty() => {}
                found => return found,
            },
            _ => {}
        }
    }
    for (block, map) in derived.iter() {
        if let LevelMap::Div(of, size) = map
            && of == var
            && let Some(place) = derived.var(LevelMap::Mod(of, size))
        {
            return [leaves(program, block, loops), leaves(program, place, loops)].concat();
        }
    }
    vec![]
}
