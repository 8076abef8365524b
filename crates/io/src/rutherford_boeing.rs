//! The Rutherford-Boeing format, `.rb`, and the Harwell-Boeing format before it.
//!
//! ```text
//! title                                                                   key
//!              4             1             1             2      lines: all, pointers, rows, values
//! rua                        3             3             4             0      type, rows, columns
//! (26I3)          (26I3)          (3E26.18)           formats of pointers, row numbers and values
//!   1  3  4  5                                        where each column starts
//!   1  3  2  3                                        row numbers, column by column
//!  ...                                                values
//! ```
//!
//! The letters of the type are the field (`r`eal, `c`omplex, `i`nteger, `p`attern, `q` pattern
//! with values elsewhere), the symmetry (`s`ymmetric, `u`nsymmetric, `h`ermitian, `z` skew,
//! `r`ectangular) and `a`ssembled or `e`lemental. Numbers stand in columns of fixed width without
//! separators, as the Fortran formats say. Harwell-Boeing files may have right-hand sides after
//! the values, announced by a fifth number in line two and a fifth header line; they are left out.
//!
//! Duff, Grimes, Lewis, "The Rutherford-Boeing Sparse Matrix Collection", RAL-TR-97-031, 1997.

mod fortran;
mod read;
mod write;

pub use read::read_rutherford_boeing;
pub(crate) use read::{is_begun, read_source};
pub use write::write_rutherford_boeing;
