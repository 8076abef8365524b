//! Schedules for sums that threads share.
//!
//! ```text
//! y(i) = A(i,j) * x(j)          8 threads of a warp per row, one thread if rows have few entries
//! ```

use super::{MOST_LANES, MOST_ROWS, Names, Nest, THREADS};
use crate::cin::Role;
use crate::notation::Access;
use tamis_ir::ids::IndexVar;

/// The number of entries of a row that a thread should sum.
const ENTRIES_OF_THREAD: u64 = 4;
/// The threads per row, if nothing is known of rows: most rows of sparse matrices are short.
const LANES: u64 = 8;

impl Nest<'_> {
    /// A part of a warp per row, with the entries or coordinates of a sum on its threads; a single thread if that is
    /// enough.
    pub(super) fn sums(&self, sum: IndexVar) -> Vec<String> {
        let Names { block, warp, thread, rest, .. } = &self.names;
        let threads = self.lanes(sum);
        if threads == 1 {
            return vec![self.rows()];
        }
        let rows = self.split_rows(block, warp, (THREADS / threads).min(MOST_ROWS));
        let (outer, inner): (Vec<IndexVar>, Vec<IndexVar>) = {
            let at = self.loops.iter().position(|v| *v == sum).unwrap_or(0);
            (self.loops[self.outer..at.max(self.outer)].to_vec(), self.loops[at + 1..].to_vec())
        };
        let list = |vars: &[IndexVar]| -> String {
            vars.iter().map(|v| format!(", {}", self.name(*v))).collect()
        };
        let is_sum = inner.iter().all(|v| !self.is_told(*v));
        let races = if is_sum { "parallel_reduction" } else { "atomics" };
        let units = [(&**block, "gpu_block"), (warp, "gpu_warp")];
        let on_threads = |split: String| {
            format!(
                "{rows}; {split}; reorder({block}, {warp}{}, {thread}, {rest}{}){}; \
                 parallelize({thread}, gpu_thread, {races})",
                list(&outer),
                list(&inner),
                self.on_units(self.races(), &units)
            )
        };
        self.shared_sum(sum, threads).into_iter().map(on_threads).collect()
    }

    /// A part of a warp per row, with the entries or coordinates of the last sum inside all loops on its threads.
    pub(super) fn inner_sums(&self, sums: &[IndexVar]) -> Vec<String> {
        let Names { block, warp, thread, rest, .. } = &self.names;
        let Some(&sum) = sums.last() else { return vec![] };
        let threads = self.lanes(sum);
        if threads == 1 {
            return vec![self.rows()];
        }
        let rows = self.split_rows(block, warp, (THREADS / threads).min(MOST_ROWS));
        let units = [(&**block, "gpu_block"), (warp, "gpu_warp")];
        let on_threads = |split: String| {
            format!(
                "{rows}; {split}; reorder({thread}, {rest}){}; \
                 parallelize({thread}, gpu_thread, parallel_reduction)",
                self.on_units(self.races(), &units)
            )
        };
        self.shared_sum(sum, threads).into_iter().map(on_threads).collect()
    }

    /// How threads share a sum: by entries of an operand, or by coordinates if each operand is full at these.
    /// Otherwise each thread would search for all coordinates, few of which an operand stores.
    fn shared_sum(&self, sum: IndexVar, threads: u64) -> Vec<String> {
        let Names { thread, rest, fused, .. } = &self.names;
        let j = self.name(sum);
        let by_position = self.sparse(sum).map(|access| {
            let operand = crate::cin::print::access(self.program, access);
            format!("pos({j}, {fused}, {operand}); split({fused}, {rest}, {thread}, {threads})")
        });
        let by_coordinate = format!("split({j}, {rest}, {thread}, {threads})");
        let by_coordinate = self.is_in_arrays(sum).then_some(by_coordinate);
        by_position.into_iter().chain(by_coordinate).collect()
    }

    /// The number of threads that sum a row.
    pub(super) fn lanes(&self, sum: IndexVar) -> u64 {
        let known = self.sparse(sum).and_then(|access| self.entries_of_row(access, sum));
        let lanes = known.map(|mean| (mean / ENTRIES_OF_THREAD).max(1).next_power_of_two());
        lanes.map_or(LANES, |lanes| lanes.min(MOST_LANES))
    }

    /// The average number of entries in a row of an operand, if its second level is over a variable and the first one
    /// over all rows.
    fn entries_of_row(&self, access: &Access, var: IndexVar) -> Option<u64> {
        let Role::Input(id) = self.program.tensors[access.tensor].role else { return None };
        let vars = self.program.level_vars(access.tensor, &access.indices);
        let second = vars.len() == 2 && vars[1] == var;
        let rows = *self.request.statistics.dims.get(vars.first().filter(|_| second)?)?;
        Some(self.request.statistics.entries.get(&id)?.div_ceil(rows.max(1)))
    }
}
