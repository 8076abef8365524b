//! A whole program as text: declarations, and kernels with everything that affects lowering.
//!
//! ```text
//! width i32
//! var i
//! var j
//! tensor y(i): dense = result 0
//! tensor A(i,j): csr = input 1
//! tensor x(j): dense = input 2
//! tensor s: dense = register 0.0
//! kernel y f64 fused chunked workspace
//!   forall(i, where(y(i) = s, forall(j, s += A(i,j) * x(j))))
//! ```
//!
//! [`print()`] writes it and [`parse()`] reads it back to the same program: ids are numbered in the order of the
//! declarations. An ambiguous name, or one that is a word of the text, is followed by a dot and its number. In values,
//! `@i` is the value of an index variable; parentheses surround an operand of an infix operator if it is an infix
//! operator itself. [`print::program`](super::print::program) is the short form for people.

mod parse;
mod print;
mod reader;
mod values;

pub(crate) use parse::CinParser;
pub use parse::parse;
pub(crate) use print::Printer;
pub use print::print;
pub(crate) use reader::Reader;
