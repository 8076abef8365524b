//! Arrays and matrices of other crates as tensors, and back: without a copy where the arrays are laid out alike.
//!
//! | feature | tensor of | view of | back |
//! |---|---|---|---|
//! | `ndarray` | `Array` | `ArrayView` in the order of its axes | `ArrayD`, from any format |
//! | `sprs` | `CsMatI` by rows or columns | `&CsMatI` | `CsMatI`, from `csr` and `csc` |
//! | `nalgebra-sparse` | `CsrMatrix`, `CscMatrix` | `&CsrMatrix`, `&CscMatrix` | the same, from `csr`, `csc` |
//! | `faer` | `SparseRowMat`, `SparseColMat`; `MatRef`, by a copy | `SparseRowMatRef`, `SparseColMatRef` | `SparseRowMat`, `SparseColMat`, from `csr`, `csc`; `Mat`, from any format |
//!
//! All are `TryFrom`. Elements and indices are of the types that [`crate::Element`] and [`crate::Index`] list. The feature `serde`
//! adds `Serialize` and `Deserialize` of tensors, and of formats and schedules [`as_text`].

#[cfg(feature = "serde")]
pub mod as_text;
#[cfg(any(feature = "sprs", feature = "nalgebra-sparse", feature = "faer"))]
mod compressed;
#[cfg(any(feature = "ndarray", feature = "faer"))]
mod dense;
#[cfg(feature = "faer")]
mod faer;
#[cfg(feature = "nalgebra-sparse")]
mod nalgebra_sparse;
#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(feature = "serde")]
mod serde;
#[cfg(feature = "sprs")]
mod sprs;
