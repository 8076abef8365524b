//! Ranks: several processes or threads that run the same program on parts of the data.
//!
//! A [`Communicator`] moves bytes between ranks and knows nothing of tensors. [`Mpi`] makes ranks of the processes that
//! `mpiexec` starts, [`on_threads`] of threads of this process; [`Counted`] counts what goes between them.
//!
//! **An error of one rank is the same error on every rank.** Work is done in phases: a rank may fail anywhere in a
//! [`phase`], and the others are told in the step that they are at, so that none waits for it. [`agree`] is a
//! phase of work that is done already. A rank that ends for good, also by a panic, is told of in the same way.
//!
//! ```
//! use tamis_dist::{agree, on_threads};
//!
//! let sums = on_threads(3, |comm| {
//!     let parts = comm.all_gather(&[comm.rank() as u8 + 1]);
//!     agree(comm, parts.map(|parts| parts.concat().iter().sum::<u8>()))
//! });
//! assert_eq!(sums, [Ok(6), Ok(6), Ok(6)]);
//! ```
//!
//! # Modules
//!
//! | module | what it does |
//! |---|---|
//! | `communicator` | what ranks can do together: exchange, gather, agree, check that they are alike |
//! | `bytes` | diagnostics as bytes |
//! | `steps` | the same error everywhere, over any engine |
//! | `threads` | ranks as threads of one process |
//! | `mpi` | ranks as processes that an MPI library connects |
//! | `counted` | how much went between ranks |

mod bytes;
mod communicator;
mod counted;
mod mpi;
mod steps;
mod threads;

pub use communicator::{Communicator, GroupWork, agree, grouped, phase, same};
pub use counted::{Counted, Counts};
pub use mpi::Mpi;
pub use threads::on_threads;
