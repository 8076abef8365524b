//! Schedules for kernels with a precomputed part for each row, and several loops inside.
//!
//! ```text
//! forall(i, forall(j, where(forall(l, A(i,l) += w * E(j,l)), forall(k, w += B(i,j) * C(i,k) * D(j,k)))))
//!                                  a warp per row, with l and k on its threads
//! ```

use super::{Names, Nest, WARPS};
use crate::cin::Stmt;
use crate::schedule::nest::assignments;
use tamis_ir::ids::IndexVar;

impl Nest<'_> {
    /// A warp per row, with the innermost loops of all parts on its threads; a block if rows cannot be split.
    pub(super) fn branches(&self) -> Vec<String> {
        let Names { block, warp, .. } = &self.names;
        let derived = &self.program.derived;
        let (mut innermost, mut outer): (Vec<(IndexVar, bool)>, Vec<IndexVar>) = (vec![], vec![]);
        assignments(&self.kernel.body, &mut vec![], &mut |assign, loops| {
            let (Stmt::Assign { lhs, .. }, Some((&last, around))) = (assign, loops.split_last())
            else {
                return;
            };
            outer.extend(around);
            innermost.push((last, derived.follows(last, &lhs.indices)));
        });
        // A loop that is around another one in one branch cannot run on threads in all branches.
        innermost.retain(|(var, _)| !outer.contains(var) && !self.loops.contains(var));
        let races = |var: IndexVar| match innermost.iter().all(|(v, told)| *v != var || *told) {
            true => "no_races",
            false => "parallel_reduction",
        };
        let mut threads: Vec<IndexVar> = vec![];
        for (var, _) in &innermost {
            if !threads.contains(var) {
                threads.push(*var);
            }
        }
        let rows = self.split_rows(block, warp, WARPS);
        let units = [(&**block, "gpu_block"), (warp, "gpu_warp")];
        let on_threads = |var: &IndexVar| {
            format!("; parallelize({}, gpu_thread, {})", self.name(*var), races(*var))
        };
        let on_threads: String = threads.iter().map(on_threads).collect();
        let warps = format!("{rows}{}{on_threads}", self.on_units(self.races(), &units));
        let row = self.name(self.loops[0]);
        let blocks = format!("parallelize({row}, gpu_block, {}){on_threads}", self.races());
        if threads.is_empty() { vec![] } else { vec![warps, blocks] }
    }
}
