//! Two-phase assembly on a GPU: entries are counted row by row, the counts are summed, and every row writes its
//! entries from its own position on.
//!
//! ```text
//! for i in .. on gpu_block               for i in .. on gpu_block  pC2 = 0; ..; C2_pos[i + 1] = pC2
//!   ..                                   C2_pos[0..C1_size + 1] = its sums
//!   C2_crd[pC2] = j; pC2 = pC2 + 1       reserve C2_crd, C2_pos[C1_size]
//!   ..                                   for i in .. on gpu_block
//!   C2_pos[i + 1] = pC2                    pC2 = C2_pos[i]; ..; C2_crd[pC2] = j; pC2 = pC2 + 1; ..
//! ```
//!
//! Positions of levels below are also counted for each row, in arrays of the kernel. The counting phase keeps only the
//! code that counts depend on ([`crate::lower::write::symbolic`]). Rows without a position are numbered
//! ([`crate::lower::gpu::two_pass_rows`]). A workspace has a slice of arrays for each row, whose terms earlier loops
//! count ([`crate::lower::gpu::hash_accumulator`]). Results that are listed and sorted, or inserted, stay on the host.
//! (The thesis, section 5.3; two passes over the same loops.)

use super::scan::Sums;
use crate::lower::Lowerer;
use crate::lower::gpu::fallback::GpuFallback;
use crate::lower::gpu::hash_accumulator::RowHashTable;
use crate::lower::gpu::parallel_append::by_threads;
use crate::lower::gpu::scan::scanned;
use crate::lower::gpu::two_pass_rows::{Count, Numbers, Phase, Phases};
use crate::lower::symbols::Symbols;
use crate::lower::write::append::LevelWriter;
use crate::plan::{Assembler, Rest};
use tamis_ir::ids::Array;
use tamis_ir::ir::build::{add, assign, int, load, mul, store};
use tamis_ir::ir::parallel::has_parallel;
use tamis_ir::ir::{Expr, Stmt};

impl Lowerer<'_> {
    /// The kernel with loops that count and loops that fill, if its loops can be both; `nest` is the kernel's loops.
    pub(in crate::lower) fn in_phases(&mut self, nest: &[Stmt]) -> Result<Vec<Stmt>, GpuFallback> {
        let heads = self.counted_levels().ok_or(GpuFallback::Levels)?;
        let numbered = heads[0] == 0;
        let counts = counts(&mut self.cx, &mut self.writing.levels, &heads);
        let slice = self.writing.slice().cloned();
        let own = arrays_in_phases(&mut self.cx, slice.as_ref());
        let slice = slice.as_ref();
        let mut phases = Phases { counts: &counts, arrays: &own, slice, numbers: None };
        let nest = if numbered { phases.without_end(nest) } else { nest.to_vec() };
        let at = nest.iter().position(|s| phases.touches(s)).ok_or(GpuFallback::Rows)?;
        let (before, nest) = nest.split_at(at);
        if nest.len() > 1 || !self.gpu.is_on_blocks(&nest[0]) {
            return Err(GpuFallback::Blocks);
        }
        let numbers = match numbered {
            true => {
                let row = self.cx.temp("row");
                Some(
                    Numbers::of(&nest[0], &phases, &self.gpu.units, row)
                        .ok_or(GpuFallback::Blocks)?,
                )
            }
            false => None,
        };
        phases.numbers = numbers.as_ref();
        let loops = |phase| phases.of(nest, phase).ok_or(GpuFallback::Rows);
        let [counting, filling] = [loops(Phase::Count)?, loops(Phase::Fill)?];
        if !has_parallel(&super::parallel::marked(&self.gpu.units, filling.clone()).0) {
            return Err(GpuFallback::InOrder);
        }
        let bounding = match slice {
            Some(_) => phases.needed(loops(Phase::Bound)?, Phase::Bound),
            None => vec![],
        };
        let (mut first, later, parents) = match &numbers {
            Some(numbers) => {
                let rows = self.cx.temp("rows");
                let count = assign(rows, numbers.count.clone());
                ([before, &[count]].concat(), &[][..], Expr::Var(rows))
            }
            None => (vec![], before, places_above(&mut self.cx, heads[0])),
        };
        let behind = add(parents.clone(), int(1));
        let mut scans = vec![];
        for count in &counts {
            first.push(Stmt::Reserve { array: count.ends, len: behind.clone() });
            let sums = Sums { array: count.ends, len: behind.clone(), depth: 2 };
            scans.extend(scanned(&mut self.cx, sums, &mut first));
        }
        let slices = slice.map(|slice| bounds(&mut self.cx, slice, bounding, &parents, &mut first));
        let mut stmts = first;
        stmts.extend(counts.iter().map(|count| {
            let (lo, hi) = (int(0), behind.clone());
            Stmt::Fill { array: count.ends, lo, hi, value: int(0) }
        }));
        stmts.extend_from_slice(later);
        stmts.extend(slices.into_iter().flatten());
        stmts.extend(phases.needed(counting, Phase::Count));
        stmts.extend(scans);
        stmts.extend(room_for(&mut self.cx, &counts, &parents));
        let nexts = self.writing.levels.next_positions();
        stmts.extend(by_threads(&mut self.cx, &self.gpu.units, &nexts, filling));
        Ok(stmts)
    }

    /// The levels whose entries are counted. Every coordinate has a position in the levels above the first of them.
    fn counted_levels(&self) -> Option<Vec<usize>> {
        if self.plan.output.rest()? != Rest::Block && self.writing.slice().is_none() {
            return None;
        }
        if !self.kernel.is_for_gpu() || self.gpu.raced || self.gpu.tentative {
            return None;
        }
        self.cx.levels().counted()
    }
}

/// The counts of some levels: those of the first one are its positions, if its parents have positions.
fn counts(cx: &mut Symbols<'_>, levels: &mut LevelWriter, heads: &[usize]) -> Vec<Count> {
    let arrays = cx.result();
    let mut counts: Vec<Count> = vec![];
    for &level in heads {
        let (next, pos) = (levels.next(cx, level), arrays.levels[level].pos());
        let ends = match counts.is_empty() && level > 0 {
            true => pos,
            false => {
                let name = format!("{}_ends", cx.name_of(next));
                cx.common(&name, tamis_ir::datatype::DataType::I64)
            }
        };
        counts.push(Count { next, ends, level, pos });
    }
    counts
}

/// The arrays of the result, and of slices.
fn arrays_in_phases(cx: &mut Symbols<'_>, slice: Option<&RowHashTable>) -> Vec<Array> {
    let arrays = cx.result();
    let parts = |l: &crate::level::LevelArrays| [l.pos, l.crd.map(|crd| crd.array)];
    let levels = arrays.levels.iter().flat_map(parts).flatten();
    let slices = slice.into_iter().flat_map(|slice| slice.arrays.clone());
    levels.chain(arrays.vals.arrays()).chain(slices).collect()
}

/// The number of positions of the levels above one, all of which are full.
fn places_above(cx: &mut Symbols<'_>, level: usize) -> Expr {
    cx.positions_at(cx.kernel.result, 0..level, int(1))
}

/// Slices for rows, whose numbers of terms loops count.
fn bounds(
    cx: &mut Symbols<'_>,
    slice: &RowHashTable,
    loops: Vec<Stmt>,
    parents: &Expr,
    before: &mut Vec<Stmt>,
) -> Vec<Stmt> {
    let (array, len) = (slice.begins, add(parents.clone(), int(1)));
    before.push(Stmt::Reserve { array, len: len.clone() });
    let mut stmts = vec![Stmt::Fill { array, lo: int(0), hi: len.clone(), value: int(0) }];
    stmts.extend(loops);
    stmts.extend(scanned(cx, Sums { array, len, depth: 2 }, before));
    let all = load(array, parents.clone());
    let room = |&array: &Array| Stmt::Reserve { array, len: all.clone() };
    stmts.extend(slice.arrays.iter().map(room));
    stmts.push(Stmt::Fill { array: slice.keys, lo: int(0), hi: all, value: int(-1) });
    stmts
}

/// Reserves memory for the counted entries.
fn room_for(cx: &mut Symbols<'_>, counts: &[Count], parents: &Expr) -> Vec<Stmt> {
    let arrays = cx.result();
    let mut stmts = vec![];
    let numbered = counts.first().is_some_and(|first| first.ends != first.pos);
    let mut above = numbered.then_some(int(1));
    let mut total = int(0);
    for count in counts {
        total = load(count.ends, parents.clone());
        if let Some(above) = above {
            stmts.extend(cx.check_position(count.pos, total.clone()));
            stmts.push(Stmt::Reserve { array: count.pos, len: add(above, int(1)) });
            stmts.push(store(count.pos, int(0), int(0)));
            let root = count.level == 0;
            stmts.extend(root.then(|| store(count.pos, int(1), total.clone())));
        }
        let chain =
            (count.level..arrays.levels.len()).filter(|&k| cx.levels().head(k) == count.level);
        let own: Vec<usize> =
            chain.filter(|&k| matches!(cx.levels().assembler(k), Assembler::Append(_))).collect();
        for k in own {
            stmts.push(arrays.levels[k].reserve_coordinates(total.clone()));
        }
        above = Some(total.clone());
    }
    let last = counts.last().map_or(0, |count| count.level);
    let appended = |k: &usize| matches!(cx.levels().assembler(*k), Assembler::Append(_));
    let first = (last..arrays.levels.len()).find(|k| !appended(k)).unwrap_or(arrays.levels.len());
    let block = cx.positions_at(cx.kernel.result, first..arrays.levels.len(), int(1));
    stmts.extend(arrays.vals.reserve(&mul(total, block)));
    // The levels of a chain share one array.
    stmts.dedup();
    stmts
}
