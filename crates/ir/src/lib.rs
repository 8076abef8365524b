//! The imperative form of Tamis kernels, and everything that depends on it alone; backends are built on this crate.
//!
//! A [function](ir::Function) of the form is printed, parsed, [verified](ir::verify), [interpreted](interpret),
//! improved by [passes](transform) and written as [C or CUDA](backend). The crate is pure: no unsafe code, no
//! input or output, no threads. Modules are listed bottom layer first, which is also the order in which to
//! read them.

#![forbid(unsafe_code)]

pub mod ids;

pub mod diagnostic;

pub mod half;

pub mod datatype;

pub mod algebra;

pub mod ir;

pub mod interpret;

pub mod transform;

pub mod backend;
