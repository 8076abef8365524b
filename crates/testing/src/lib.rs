//! Random programs, a dense reference to compare with, shrinking, and the runner of filetests.

pub mod batch;
pub mod case;
pub mod check;
pub mod conformance;
pub mod filetest;
pub mod formats;
pub mod functions;
pub mod generate;
pub mod hostile;
pub mod illegal;
pub mod infinite;
pub mod kinds;
pub mod limits;
pub mod number;
pub mod random;
pub mod reference;
pub mod schedules;
pub mod share;
pub mod shrink;
mod slices;
pub mod stand_in;
pub mod texts;
