//! Backends that write text.

pub mod c;
