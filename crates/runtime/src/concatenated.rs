//! Parts of arrays one behind the other.
//!
//! ```text
//! a b c d, 2..4 and 0..1      c d a
//! ```

use crate::memory::{Buffer, Building, Element, for_element};
use std::ops::Range;
use tamis_ir::datatype::DataType;
use tamis_ir::diagnostic::Diagnostic;

impl Buffer {
    /// The elements in these ranges, one range behind the other, as an array of its own.
    ///
    /// # Errors
    /// When they do not fit in memory.
    ///
    /// # Panics
    /// When a range ends behind the end.
    pub fn gathered(&self, ranges: &[Range<usize>]) -> Result<Buffer, Diagnostic> {
        let pieces = ranges.iter().map(|range| (self, range.clone()));
        Buffer::concatenated(self.datatype(), pieces)
    }

    /// The elements of this array of coordinates, and of another beside it, in these ranges, in one pass over them.
    ///
    /// # Errors
    /// When they do not fit in memory.
    ///
    /// # Panics
    /// When a range ends behind the end of one of them.
    pub fn gathered_beside(
        &self,
        other: &Buffer,
        ranges: &[Range<usize>],
    ) -> Result<(Buffer, Buffer), Diagnostic> {
        for_element!(other.datatype(), T => {
            let others = other.as_slice::<T>().expect("the array is of its type");
            match (self.as_slice::<i32>(), self.as_slice::<i64>()) {
                (Some(own), _) => both(own, others, ranges),
                (_, Some(own)) => both(own, others, ranges),
                _ => Ok((self.gathered(ranges)?, other.gathered(ranges)?)),
            }
        })
    }

    /// The elements of arrays of a type in these ranges, one range behind the other, as an array of its own.
    ///
    /// # Errors
    /// When they do not fit in memory.
    ///
    /// # Panics
    /// When a range ends behind the end, or an array is of another type.
    pub fn concatenated<'b>(
        datatype: DataType,
        pieces: impl Iterator<Item = (&'b Buffer, Range<usize>)> + Clone,
    ) -> Result<Buffer, Diagnostic> {
        for_element!(datatype, T => {
            let made = Building::new(pieces.clone().map(|(_, range)| range.len()).sum())?;
            let mut end = 0;
            for (buffer, range) in pieces {
                let all = buffer.as_slice::<T>().expect("the array is of the type");
                let len = range.len();
                // SAFETY: there is room for every element, and nobody else has the memory.
                unsafe { made.append(end, all, range) };
                end += len;
            }
            // SAFETY: as many were written as there is room for.
            Ok(unsafe { made.finish() })
        })
    }
}

/// The elements of two arrays in these ranges of both.
fn both<C: Element, T: Element>(
    one: &[C],
    other: &[T],
    ranges: &[Range<usize>],
) -> Result<(Buffer, Buffer), Diagnostic> {
    let count = ranges.iter().map(Range::len).sum();
    let (ones, others) = (Building::new(count)?, Building::new(count)?);
    let mut end = 0;
    for range in ranges {
        // SAFETY: there is room for every element, and nobody else has the memory.
        unsafe {
            ones.append(end, one, range.clone());
            others.append(end, other, range.clone());
        }
        end += range.len();
    }
    // SAFETY: as many were written as there is room for.
    Ok(unsafe { (ones.finish(), others.finish()) })
}
