//! Random programs, a dense reference to compare with, shrinking, and the runner of filetests.
//!
//! # Modules
//!
//! | module | what it does |
//! |---|---|
//! | `case` | a program with operands |
//! | `generate` `slices` `formats` `schedules` `random` | random programs in random formats and schedules |
//! | `number` `presence` `reference` | the dense reference, in complex numbers |
//! | `carried_out` | whether code does what a schedule says, by what is printed of it |
//! | `check` `kinds` `infinite` `limits` `illegal` `shrink` | comparing, kinds of kernels, infinite values, integers near their limits and illegal schedules too, and making failures small |
//! | `hostile` | programs that ask for much compilation, and how long that takes |
//! | `huge` | programs of dimensions up to 2^62 - 1, against the same ones of small dimensions |
//! | `texts` | a hash of what a program compiles to, to compare builds |
//! | `coverage` | how many random programs run in parts, or on a GPU, and why others do not |
//! | `standalone` `libraries` | programs as one function, and as libraries, against their kernels |
//! | `distributed` | programs on several ranks, against one process |
//! | `stand_in` | a library that stands for NVIDIA's driver and compiler, on the emulated GPU |
//! | `cliffs` | equivalent programs, and whether one takes far more steps or memory |
//! | `conformance` | the suite that any level format, of this project or not, has to pass |
//! | `filetest` | the runner of `tests/` |
//! | `functions` | what programs compile to, interpreted |
//! | `batch` | the kernels of many programs in one call of the C compiler |

pub mod batch;
mod carried_out;
pub mod case;
pub mod check;
pub mod cliffs;
pub mod conformance;
pub mod coverage;
pub mod distributed;
pub mod filetest;
pub mod formats;
pub mod functions;
pub mod generate;
pub mod hostile;
pub mod huge;
pub mod illegal;
pub mod infinite;
pub mod kinds;
pub mod libraries;
pub mod limits;
pub mod number;
pub mod presence;
pub mod random;
pub mod reference;
pub mod schedules;
pub mod shrink;
mod slices;
pub mod stand_in;
pub mod standalone;
pub mod texts;
