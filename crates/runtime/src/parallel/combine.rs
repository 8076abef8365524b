//! Results of parts that are arrays: their elements are combined in order of the parts.

use super::{Joined, Part};
use crate::kernel::{Call, Frame};
use crate::memory::{Element, Truth, for_element};
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
    // What is most common is worth loops of its own: values of any type cost as much as a kernel does.
    let is_done = match op {
        ReduceOp::Add => {
            each(all, more, |a: f64, b| a + b)
                || each(all, more, |a: f32, b| a + b)
                || each(all, more, |[x, y]: [f64; 2], [c, d]| [x + c, y + d])
                || each(all, more, |[x, y]: [f32; 2], [c, d]| [x + c, y + d])
                || each(all, more, either)
                || each(all, more, i64::wrapping_add)
                || each(all, more, u64::wrapping_add)
        }
        ReduceOp::Min => {
            each(all, more, |a: f64, b| if a < b || a.is_nan() { a } else { b })
                || each(all, more, <i64 as Ord>::min)
                || each(all, more, <u64 as Ord>::min)
        }
        ReduceOp::Max => {
            each(all, more, |a: f64, b| if a > b || a.is_nan() { a } else { b })
                || each(all, more, <i64 as Ord>::max)
                || each(all, more, <u64 as Ord>::max)
        }
        ReduceOp::Or => {
            each(all, more, either)
                || each(all, more, |a: i64, b| i64::from(a | b != 0))
                || each(all, more, |a: u64, b| u64::from(a | b != 0))
        }
        ReduceOp::And => {
            each(all, more, |a: Truth, b| Truth::from(a.byte() & b.byte() != 0))
                || each(all, more, |a: i64, b| i64::from(a != 0 && b != 0))
                || each(all, more, |a: u64, b| u64::from(a != 0 && b != 0))
        }
        ReduceOp::Mul | ReduceOp::User(_) => false,
    };
    if !is_done {
        for (all, more) in all.iter_mut().zip(more) {
            *all = T::of(combined(all.value(), more.value(), op));
        }
    }
}

fn either(a: Truth, b: Truth) -> Truth {
    Truth::from(a.byte() | b.byte() != 0)
}

/// Combines elements of one type; false if they are of another.
fn each<T: Element, U: Element>(all: &mut [T], more: &[T], f: impl Fn(U, U) -> U) -> bool {
    let (Some(all), Some(more)) = (typed_mut::<T, U>(all), typed::<T, U>(more)) else {
        return false;
    };
    all.iter_mut().zip(more).for_each(|(a, b)| *a = f(*a, *b));
    true
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

#[cfg(test)]
mod tests {
    use super::{combine, combined};
    use crate::memory::{Element, Truth};
    use tamis_ir::algebra::ReduceOp;

    /// Loops for one type give what values of any type do.
    fn check<T: Element>(values: &[T]) {
        for op in [ReduceOp::Add, ReduceOp::Min, ReduceOp::Max, ReduceOp::Or, ReduceOp::And] {
            for &b in values {
                let mut all = values.to_vec();
                combine(&mut all, &vec![b; values.len()], op);
                for (&a, found) in values.iter().zip(&all) {
                    let expected = T::of(combined(a.value(), b.value(), op));
                    assert!(found.value().same_value(expected.value()), "{op:?}");
                }
            }
        }
    }

    #[test]
    fn loops_of_one_type_combine_as_values_of_any_type() {
        check(&[0.0, -0.0, 1.5, f64::NAN, f64::INFINITY, -2.0]);
        check(&[0.0_f32, -0.0, 1.5, f32::NAN]);
        check(&[[0.0, -0.0], [-0.0, f64::NAN], [1.5, f64::INFINITY]]);
        check(&[[0.0_f32, -0.0], [1.0e-9, f32::NAN], [1.5, 1.0]]);
        check(&[Truth::from(false), Truth::from(true)]);
        check(&[0_i32, 1, -7]);
        check(&[0_i64, 1, -7, 6, i64::MAX, i64::MIN]);
        check(&[0_u64, 1, 6, u64::MAX]);
    }
}
