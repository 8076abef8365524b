//! Loops over the positions of an operand: each rank runs over those of its rows.
//!
//! ```text
//! y(i) = A(i,j) * x(j), by positions      rank 0: rows 0, 1        rank 1: rows 2, 3
//! positions   0 1 2 3 4 | 5 6 7 8         one process: parts begin at 3 and 6; rank 1 begins one at 1 of its own
//! ```
//!
//! One process cuts positions anywhere, also within a row, whose parts are then added up. Ranks cut at rows, and
//! each cuts its own positions where one process does, so that sums of each row are added up in the same way.

use super::run::Step;
use super::tensor::Distributed;
use super::wire::{Reader, put};
use super::work::{Cut, Given};
use tamis_core::plan::Join;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::TensorId;
use tamis_runtime::kernel::Executable;
use tamis_runtime::parallel::shares::Shares;

impl Step<'_> {
    /// Runs the positions that this rank has of an operand.
    pub(super) fn positions(
        self,
        executable: &dyn Executable,
        values: &Given<'_>,
        ((cut, mode), of): ((&Cut<'_>, usize), TensorId),
    ) -> Result<Distributed, Diagnostic> {
        let local = self.operands_of_part(values, cut)?;
        let call = self.work.call(executable, &local);
        let shares =
            Shares::of(call).filter(|_| matches!(cut.partition.join, Join::Overlap { .. }));
        let cuts = match shares {
            Some(shares) => self.own_cuts(shares, of)?,
            // Every element is of one position: where these are cut leaves no trace.
            None => vec![],
        };
        self.kept(call.run_cut(&cuts)?, (cut, mode))
    }

    /// Where parts of one process begin among the positions of this rank.
    fn own_cuts(self, shares: Shares<'_>, of: TensorId) -> Result<Vec<i64>, Diagnostic> {
        let own = shares.work(Some(of));
        let mut bytes = vec![];
        put(&mut bytes, own as u64);
        let all = self.comm.all_gather(&bytes)?;
        let all: Vec<u128> = all.iter().map(|b| u128::from(Reader(b).number())).collect();
        let (total, before) = (all.iter().sum(), all[..self.comm.rank()].iter().sum::<u128>());
        let parts = shares.parts(total);
        let begins = (1..parts).map(|part| shares.before(total, part, parts));
        let within = begins.filter(|&begin| before < begin && begin < before + own);
        let mut cuts: Vec<i64> = within.map(|begin| (begin - before) as i64).collect();
        cuts.dedup();
        Ok(cuts)
    }
}
