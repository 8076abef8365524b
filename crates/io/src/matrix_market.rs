//! The Matrix Market exchange format, `.mtx`.
//!
//! ```text
//! %%MatrixMarket matrix coordinate real symmetric      banner: object, layout, field, symmetry
//! % comments
//! 3 3 2                                                rows, columns, entries
//! 1 1 0.5                                              row, column, value: from 1
//! 3 2 4
//! ```
//!
//! Boisvert, Pozo, Remington, "The Matrix Market Exchange Formats: Initial Design", NISTIR 5935.

mod read;
mod write;

pub use read::read_matrix_market;
pub(crate) use read::{Head, read_head, read_source};
pub(crate) use write::InParts;
pub use write::write_matrix_market;
