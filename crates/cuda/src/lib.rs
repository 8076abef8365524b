//! Running kernels of CUDA C.
//!
//! [`device`] runs them on a GPU by NVIDIA's driver, which code is compiled for by [`nvrtc`]; both are looked
//! for when they are needed, and what is missing is told. [`tensor`] has what they read and write, in
//! [`memory`] of the device, and [`stream`] the order in which things happen there; [`limits`] measures what
//! the device gives at most. [`emulated`] runs kernels on the processor, thread by thread in changing order,
//! so that what they compute can be tested where there is no GPU.

pub mod device;
pub mod driver;
pub mod emulated;
mod library;
pub mod limits;
pub mod memory;
pub mod nvrtc;
pub mod stream;
pub mod tensor;
