//! Results of parts that are arrays: their elements are combined in order of the parts.

use super::{Joined, Part};
use crate::kernel::{Call, Frame};
use crate::memory::{Element, for_element};
use crate::tensor::Tensor;
use std::sync::Mutex;
use tamis_ir::algebra::{ReduceOp, eval};
use tamis_ir::datatype::Scalar;
use tamis_ir::diagnostic::Diagnostic;

/// The combined result of the parts so far.
pub(super) struct Combination<'c> {
    call: Call<'c>,
    op: ReduceOp,
    size: usize,
    /// The frame of the first part, whose output takes up the others.
    first: Mutex<Option<Frame>>,
    place: usize,
}

impl<'c> Combination<'c> {
    pub(super) fn new(call: &Call<'c>, op: ReduceOp) -> Result<Combination<'c>, Diagnostic> {
        let (place, ..) = call.result_arrays().next().expect("a result has values");
        let size = call.full_size()?;
        Ok(Combination { call: *call, op, size, first: Mutex::new(None), place })
    }

    /// The result once every part was told.
    pub(super) fn finish(self) -> Result<Tensor, Diagnostic> {
        let first = self.first.into_inner().ok().flatten();
        self.call.taken(&mut first.expect("there are parts"))
    }
}

impl Joined for Combination<'_> {
    type Rest = ();

    fn next(&self, call: &Call<'_>, _: Part, frame: &mut Frame) -> Result<(), Diagnostic> {
        let Ok(mut first) = self.first.lock() else { return Ok(()) };
        let Some(first) = &mut *first else {
            let another = call.frame(None)?;
            *first = Some(std::mem::replace(frame, another));
            return Ok(());
        };
        let (all, more) = (first.slots[self.place], frame.slots[self.place]);
        for_element!(call.target.storage.datatype, T => {
            // SAFETY: both outputs hold a result of this data type, all written by the kernel, and
            // nobody else uses them: the frames are ours.
            let (all, more) = unsafe {
                (elements::<T>(all, self.size), &*elements::<T>(more, self.size))
            };
            combine(all, more, self.op);
        });
        Ok(())
    }

    fn rest(&self, (): (), _: &mut Frame) {}
}

/// # Safety
/// The address is that of so many elements that nobody else uses, or null for none.
unsafe fn elements<'a, T>(address: u64, len: usize) -> &'a mut [T] {
    match len {
        0 => &mut [],
        // SAFETY: as the caller promises.
        _ => unsafe { std::slice::from_raw_parts_mut(address as *mut T, len) },
    }
}

/// Combines elements with others.
pub(super) fn combine<T: Element>(all: &mut [T], more: &[T], op: ReduceOp) {
    let add = op == ReduceOp::Add;
    // What is most common is worth loops of its own.
    if let (true, Some(all), Some(more)) = (add, typed_mut::<T, f64>(all), typed::<T, f64>(more)) {
        return all.iter_mut().zip(more).for_each(|(a, b)| *a += b);
    }
    if let (true, Some(all), Some(more)) = (add, typed_mut::<T, f32>(all), typed::<T, f32>(more)) {
        return all.iter_mut().zip(more).for_each(|(a, b)| *a += b);
    }
    for (all, more) in all.iter_mut().zip(more) {
        *all = T::of(combined(all.value(), more.value(), op));
    }
}

/// What becomes of two values.
pub(super) fn combined(a: Scalar, b: Scalar, op: ReduceOp) -> Scalar {
    let is_truth = |x: Scalar| Scalar::Bool(!x.is_zero());
    match op {
        ReduceOp::Or | ReduceOp::And => eval::binary(op.binary(), is_truth(a), is_truth(b)),
        _ => eval::binary(op.binary(), a, b),
    }
}

/// Elements as those of a type, if they are.
fn typed<T: Element, U: Element>(elements: &[T]) -> Option<&[U]> {
    let (address, len) = (elements.as_ptr().cast(), elements.len());
    // SAFETY: a data type has one element type.
    (T::DATATYPE == U::DATATYPE).then(|| unsafe { std::slice::from_raw_parts(address, len) })
}

/// The same, to change.
fn typed_mut<T: Element, U: Element>(elements: &mut [T]) -> Option<&mut [U]> {
    let (address, len) = (elements.as_mut_ptr().cast(), elements.len());
    // SAFETY: a data type has one element type.
    (T::DATATYPE == U::DATATYPE).then(|| unsafe { std::slice::from_raw_parts_mut(address, len) })
}
