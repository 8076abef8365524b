//! What prints the imperative form for compilers of other languages.

pub mod c;
pub mod cuda;
pub mod rust;
