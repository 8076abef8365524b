//! Tiles of positions for operands with rows so long that they would delay the rest of a GPU.
//!
//! ```text
//! y(i) = A(i,j) * x(j)          2048 positions for a block, 8 for a thread
//! C(i,k) = A(i,j) * B(j,k)      512 positions for a block, 64 for a warp, with columns on its threads
//! ```

use super::{MOST_LANES, Names, Nest};
use crate::cin::Role;
use crate::notation::Access;

/// A row with this many entries is not left to a warp, nor one with `LONG_OF_THREAD` entries to a thread, if all other
/// rows take less time on `AT_A_TIME` concurrent warps.
const LONG: u64 = 1024;
const LONG_OF_THREAD: u64 = 256;
const AT_A_TIME: u64 = 1024;
/// The positions of a block and of a thread, if rows are cut into tiles.
const TILES: [u64; 2] = [2048, 8];
/// The positions of a block and of a warp, if columns are on its threads.
const WIDE_TILES: [u64; 2] = [512, 64];

impl Nest<'_> {
    /// An operand with a row that takes longer on `lanes` threads than all other rows on the whole device, or with a
    /// chain, which has no rows that threads could take; and the number of outermost loops over its levels.
    fn skewed(&self, lanes: u64) -> Option<(&Access, usize)> {
        let statistics = &self.request.statistics;
        let long = (LONG * lanes / MOST_LANES).max(LONG_OF_THREAD);
        let is_skewed = |access: &&Access| {
            let Role::Input(id) = self.program.tensors[access.tensor].role else { return false };
            let known = statistics.longest.get(&id).zip(statistics.entries.get(&id));
            known.is_some_and(|(&longest, &entries)| {
                let alone = longest.saturating_mul(AT_A_TIME * MOST_LANES);
                longest >= long && alone > entries.saturating_mul(lanes)
            })
        };
        let is_list =
            |access: &&Access| self.program.storage(access.tensor).format.chain_goes_on(0);
        let found = self.reads.iter().find(|access| is_skewed(access) || is_list(access))?;
        let vars = self.program.level_vars(found.tensor, &found.indices);
        (vars.len() > 1 && self.loops.starts_with(&vars)).then_some((found, vars.len()))
    }

    /// Tiles of positions of such an operand, whose sums are combined in order.
    pub(super) fn tiles(&self) -> Option<String> {
        let Names { block, warp, thread, row, rest, fused, entry, column: columns, .. } =
            &self.names;
        let has_columns = self.loops[1..].iter().any(|v| self.is_column(*v));
        let sum = self.loops[1..].iter().rev().find(|v| !self.is_told(**v));
        let lanes = sum.filter(|_| !has_columns).map_or(MOST_LANES, |&sum| self.lanes(sum));
        let (access, levels) = self.skewed(lanes)?;
        let (outer, mut text) = self.fused(levels, fused);
        let operand = crate::cin::print::access(self.program, access);
        text += &format!("pos({outer}, {row}, {operand}); ");
        let inner = &self.loops[levels..];
        let Some(&column) = inner.iter().rev().find(|v| self.is_column(**v)) else {
            let [of_block, of_thread] = TILES;
            let units = [(&**block, "gpu_block"), (thread, "gpu_thread")];
            return Some(format!(
                "{text}split({row}, {block}, {rest}, {of_block}); split({rest}, {thread}, {entry}, \
                 {of_thread}){}",
                self.on_units("temporary", &units)
            ));
        };
        let [of_block, of_warp] = WIDE_TILES;
        let threads = self.count_columns(column).next_power_of_two().clamp(1, MOST_LANES);
        let others = inner.iter().filter(|v| **v != column);
        let others: String = others.map(|v| format!(", {}", self.name(*v))).collect();
        let units = [(&**block, "gpu_block"), (warp, "gpu_warp"), (thread, "gpu_thread")];
        Some(format!(
            "{text}split({row}, {block}, {rest}, {of_block}); split({rest}, {warp}, {entry}, \
             {of_warp}); split({}, {columns}, {thread}, {threads}); reorder({block}, {warp}, \
             {columns}, {thread}, {entry}{others}){}",
            self.name(column),
            self.on_units("temporary", &units)
        ))
    }
}
