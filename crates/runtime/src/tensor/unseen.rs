//! Matrices by rows of somebody else, of which nobody has looked at the coordinates yet.
//!
//! ```text
//! look at all, then run     coordinates come from memory twice
//! look at a part, run it    they come once: they are in the cache when the part reads them
//! ```
//!
//! Positions are looked at when the tensor is made; coordinates by the kernels that read it, each part
//! just before it runs ([`Call::unseen`](crate::kernel::Call::unseen)).

use super::{LevelData, Tensor};
use crate::extent::check_dims;
use crate::memory::Buffer;
use crate::quick;
use tamis_core::datatype::DataType;
use tamis_core::diagnostic::{Code, Diagnostic};
use tamis_core::format::{LevelMap, Storage};
use tamis_core::level::Part;
use tamis_core::transform::READ_BEYOND;

/// Fewer coordinates stay in the cache between a look and a kernel.
const LEAST: usize = 1 << 60;

impl Tensor {
    /// A tensor of these arrays, whose coordinates nobody has looked at; `None` where that spares
    /// nothing, or what was looked at does not hold: [`Tensor::try_from_parts`] tells the reason.
    ///
    /// # Safety
    /// Until [`Tensor::try_from_parts`] has accepted its arrays, it is only given to kernels, as unseen.
    pub unsafe fn of_unseen_rows(
        dims: &[u64],
        storage: &Storage,
        levels: &[LevelData],
        vals: &Buffer,
    ) -> Option<Tensor> {
        let [rows, row] = storage.format.levels() else { return None };
        let properties = row.kind.properties();
        let is_by_rows = rows.kind.properties().full
            && row.kind.parts() == [Part::Pos, Part::Crd]
            && (properties.ordered || !properties.unique)
            && [rows, row].into_iter().all(|level| matches!(level.map, LevelMap::Mode(_)));
        let [_, LevelData { pos: Some(pos), crd: Some(crd), .. }] = levels else { return None };
        let is_worth = crd.len() >= LEAST && vals.datatype() != DataType::Bool;
        if !is_by_rows || !is_worth || dims.len() != 2 || check_dims(dims).is_err() {
            return None;
        }
        let tensor = Tensor {
            dims: dims.to_vec(),
            storage: storage.clone(),
            levels: levels.to_vec(),
            vals: vals.clone(),
        };
        let holds = tensor.validate_arrays().is_ok()
            && vals.len() == crd.len()
            && quick::rows_begin(storage.format.headers(dims, &|_| 0)[0].size, pos, crd);
        holds.then_some(tensor)
    }

    /// Looks at the coordinates of some rows of a matrix, and at those that kernels read beyond them.
    pub(crate) fn look(&self, begin: i64, end: i64) -> Result<(), Diagnostic> {
        let headers = self.storage.format.headers(&self.dims, &|_| 0);
        let ([rows, row], [_, LevelData { pos: Some(pos), crd: Some(crd), .. }]) =
            (&headers[..], &self.levels[..])
        else {
            return self.validate();
        };
        let row_at = |at: i64| at.clamp(0, i64::try_from(rows.size).unwrap_or(i64::MAX)) as usize;
        let (begin, end) = (row_at(begin), row_at(end));
        if begin >= end || quick::rows_hold(row, (pos, crd), begin..end, READ_BEYOND) {
            return Ok(());
        }
        let message = "coordinates of an operand do not ascend, or lie outside of it";
        Err(Diagnostic::new(Code::InvalidTensor, message)
            .help("check how the arrays were made; pack builds valid ones from coordinates"))
    }

    /// Looks at all coordinates.
    ///
    /// # Errors
    ///
    /// [`Code::InvalidTensor`] if they do not keep the promises of the format.
    pub fn look_at_all(&self) -> Result<(), Diagnostic> {
        self.look(i64::MIN, i64::MAX)
    }
}
