//! Rust's integers as positions and coordinates.

use tamis_ir::datatype::IndexWidth;
use tamis_ir::diagnostic::{Code, Diagnostic};

/// An integer of which arrays of positions and coordinates may be: they are taken over as they are,
/// and checked as part of a tensor.
///
/// ```
/// use tamis_runtime::Tensor;
/// # fn main() -> Result<(), tamis_runtime::Diagnostic> {
/// let of = |pos: Vec<usize>, crd: Vec<u32>| Tensor::csr([2, 3], pos, crd, vec![1.0, 2.0]);
/// assert_eq!(of(vec![0, 1, 2], vec![2, 0])?.nnz(), 2);
/// assert!(of(vec![0, 1, 2], vec![2, 3]).is_err());
/// # Ok(())
/// # }
/// ```
pub trait Index: Copy + Send + Sync + sealed::Sealed + 'static {
    /// How wide it is.
    const WIDTH: IndexWidth;

    /// The index of this value, if it has one.
    fn checked(value: i64) -> Option<Self>;

    /// The index where its width has no such number with a sign, as arrays are read.
    fn beyond_sign(self) -> Option<u64>;
}

/// The error for the first of some indices that is beyond numbers with a sign, as which it would be negative.
pub(crate) fn refused<I: Index>(indices: &[I]) -> Option<Diagnostic> {
    let index = indices.iter().find_map(|index| index.beyond_sign())?;
    let bits = 8 * I::WIDTH.datatype().size();
    let message = format!("the index {index} does not fit {bits} bits with a sign");
    let help = match I::WIDTH {
        IndexWidth::I32 => "give positions and coordinates of 64 bits",
        IndexWidth::I64 => "positions and coordinates are below 2^62",
    };
    Some(Diagnostic::new(Code::InvalidTensor, message).help(help))
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! indices {
    ($($t:ty: $width:ident),*) => {$(
        impl sealed::Sealed for $t {}
        impl Index for $t {
            const WIDTH: IndexWidth = IndexWidth::$width;
            fn checked(value: i64) -> Option<$t> {
                value.try_into().ok()
            }
            fn beyond_sign(self) -> Option<u64> {
                let largest = match Self::WIDTH {
                    IndexWidth::I32 => i128::from(i32::MAX),
                    IndexWidth::I64 => i128::from(i64::MAX),
                };
                (self as i128 > largest).then_some(self as u64)
            }
        }
    )*};
}
indices!(i32: I32, u32: I32, i64: I64, u64: I64);
#[cfg(target_pointer_width = "64")]
indices!(usize: I64, isize: I64);
#[cfg(target_pointer_width = "32")]
indices!(usize: I32, isize: I32);
