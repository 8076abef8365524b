//! The FROSTT tensor format, `.tns`: one entry per line, its one-based coordinates and its value.
//!
//! ```text
//! # dims: 3 4 5          optional: the dimensions; otherwise the largest coordinates
//! 1 1 1 0.5
//! 3 4 2 4
//! ```
//!
//! A tensor of order 0 is one line with the value. A truth value is 0 or 1, a complex number
//! `1.5+2j`. Comments start with `#` or `;`.
//!
//! The extended format, which MLIR writes, has two lines before the entries: the order and the
//! number of entries, then the dimensions; its complex numbers are two fields. A file is taken as
//! extended if it has no `# dims:` comment and either a comment says `extended FROSTT format`, or
//! - its first line is two numbers, an order of at least 1 and a count,
//! - its second line is as many numbers as the order says,
//! - its third line has one field more than that, or two; or there is none and the count is 0.
//!
//! A plain file never looks like that, save for a vector of two entries whose first line is `2 0`;
//! a `# dims:` line makes it plain.
//!
//! The header of ParTI and HiCOO, the order and then the dimensions, is told apart from entries, and
//! refused.
//!
//! Smith et al., "FROSTT: The Formidable Repository of Open Sparse Tensors and Tools", 2017.

mod read;
mod values;
mod write;

pub use read::read_frostt;
pub(crate) use read::{COMMENTS, Head, largest, read_head, read_source};
pub use write::write_frostt;
pub(crate) use write::{write_entries, write_head};
