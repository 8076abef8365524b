//! The Tamis sparse tensor algebra compiler: from index notation to the imperative form of [`tamis_ir`].
//!
//! The crate is pure: no unsafe code, no input or output, no threads. Modules are listed bottom
//! layer first, which is also the order in which to read them.

#![forbid(unsafe_code)]

pub mod level;

pub mod format;

pub mod notation;

pub mod cin;

pub mod iteration;

pub mod plan;

pub mod steps;

pub mod legalise;

pub mod schedule;

pub mod outline;

pub mod kind;

pub mod lower;

pub mod pipeline;

pub mod standalone;
