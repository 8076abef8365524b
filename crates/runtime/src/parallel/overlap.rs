//! Results of parts that are rows of an array, where a row may be of two parts or more.
//!
//! ```text
//! positions   0 1 2 3 | 4 5 6 7 | 8 9        rows of the parts   0 1 | 1 | 1 2 3
//! ```
//!
//! A part computes its rows in memory of its own. The first and the last of them are combined with
//! what others have there, in order of the parts; nobody else has those between.

use super::combine::combine;
use super::cut::rows;
use super::{Joined, Part};
use crate::kernel::{Call, Frame};
use crate::memory::{self, Buffer, for_element};
use crate::tensor::Tensor;
use std::ops::Range;
use std::sync::Mutex;
use tamis_core::plan::Partition;
use tamis_ir::algebra::ReduceOp;
use tamis_ir::datatype::Scalar;
use tamis_ir::diagnostic::Diagnostic;

/// The result, and what parts need to write their rows.
pub(super) struct Rows<'c> {
    call: Call<'c>,
    partition: &'c Partition,
    op: ReduceOp,
    /// What elements are before.
    initial: Scalar,
    /// How many rows there are.
    count: u64,
    /// Elements of a row.
    row: usize,
    /// The slot of the result.
    place: usize,
    /// The address of the result.
    all: usize,
    /// The frame that owns it.
    frame: Mutex<Frame>,
}

/// The rows of a part, and the index of its first element in the result.
pub(super) struct Computed {
    rows: Buffer,
    first: usize,
}

impl<'c> Rows<'c> {
    pub(super) fn new(
        call: &Call<'c>,
        partition: &'c Partition,
        (op, initial): (ReduceOp, Scalar),
        frame: Frame,
    ) -> Result<Rows<'c>, Diagnostic> {
        let (place, ..) = call.result_arrays().next().expect("a result has values");
        let count = call.target.storage.format.headers(&call.shape(), &|_| 0)[0].size;
        let row = call.full_size()? / count.max(1) as usize;
        let all = frame.slots[place] as usize;
        let frame = Mutex::new(frame);
        Ok(Rows { call: *call, partition, op, initial, count, row, place, all, frame })
    }

    /// The result once every part was told.
    pub(super) fn finish(self) -> Result<Tensor, Diagnostic> {
        let mut frame = self.frame.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.call.taken(&mut frame)
    }

    /// The elements of a part's rows: the first one's index in the result, and how many.
    fn extent(&self, part: Part) -> (usize, usize) {
        let (first, last) = match self.call.executable.is_concurrent() {
            true => rows(&self.call, &self.partition.scale, part),
            // What copies the result in and out needs all of it.
            false => (0, self.count),
        };
        (first as usize * self.row, (last - first) as usize * self.row)
    }

    /// Whether a part that had room for all rows wrote to no others than its own.
    fn is_own(&self, part: Part, computed: &Computed) -> bool {
        let (begin, end) = rows(&self.call, &self.partition.scale, part);
        let own = begin as usize * self.row..end as usize * self.row;
        let initial = self.initial.stored(computed.rows.datatype());
        let places = (0..computed.rows.len()).filter(|k| !own.contains(&(k + computed.first)));
        places.into_iter().all(|k| computed.rows.get(k).same_value(initial))
    }

    /// Combines elements of a part with those of the result.
    fn add(&self, part: &Computed, elements: Range<usize>) {
        if elements.is_empty() {
            return;
        }
        let address = self.all as *mut u8;
        for_element!(part.rows.datatype(), T => {
            let (from, len) = (part.first + elements.start, elements.len());
            // SAFETY: the result has these elements, and nobody else uses them now: those of the
            // first and last row under the lock on the order, others belong to the part.
            let all = unsafe { std::slice::from_raw_parts_mut(address.cast::<T>().add(from), len) };
            let rows = part.rows.as_slice::<T>().expect("the data type was matched");
            combine(all, &rows[elements], self.op);
        });
    }
}

impl Joined for Rows<'_> {
    type Rest = Computed;

    fn begin(&self, call: &Call<'_>, part: Part, frame: &mut Frame) -> Result<(), Diagnostic> {
        let (first, count) = self.extent(part);
        let datatype = call.target.storage.datatype;
        let address = memory::allocate(datatype, count)?;
        // SAFETY: there is room for so many elements.
        unsafe { memory::fill(address, datatype, count, self.initial) };
        // The kernel uses no other rows, and finds these where they are in the whole result.
        let before = (first * datatype.size()) as u64;
        frame.slots[self.place] = (address as u64).wrapping_sub(before);
        // SAFETY: the memory was just allocated for so many elements.
        frame.lent = Some(unsafe { Buffer::from_malloc(address, count, datatype) });
        Ok(())
    }

    fn next(&self, _: &Call<'_>, part: Part, frame: &mut Frame) -> Result<Computed, Diagnostic> {
        let rows = frame.lent.take().expect("a part that ran has rows");
        let computed = Computed { rows, first: self.extent(part).0 };
        debug_assert!(self.is_own(part, &computed), "a part wrote to rows of others");
        let count = computed.rows.len();
        self.add(&computed, 0..self.row.min(count));
        self.add(&computed, count.saturating_sub(self.row).max(self.row.min(count))..count);
        Ok(computed)
    }

    fn rest(&self, computed: Computed, _: &mut Frame) {
        let last = computed.rows.len().saturating_sub(self.row);
        self.add(&computed, self.row.min(last)..last);
    }
}
