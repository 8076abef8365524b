//! Running kernels of CUDA C.
//!
//! [`device`] runs them on a GPU by NVIDIA's driver, which code is compiled for by [`nvrtc`]; both are looked
//! for when they are needed, and what is missing is told. [`tensor`] has what they read and write, in
//! [`memory`] of the device, and [`stream`] the order in which things happen there; [`limits`] measures what
//! the device gives at most. [`emulated`] runs kernels on the processor, thread by thread in changing order,
//! so that what they compute can be tested where there is no GPU.
//!
//! # Modules
//!
//! | module | what it does |
//! |---|---|
//! | `library` | shared libraries that may be missing |
//! | `driver` | NVIDIA's driver: a device, and starting kernels |
//! | `stream` | what is done in order on the device, and how long it takes |
//! | `memory` | memory of the device, and what is kept of it for later |
//! | `tensor` | tensors on the device, and tables that follow from them |
//! | `nvrtc` | NVIDIA's compilers, where they are installed, and which suits a device |
//! | `device` | functions on a device: kernels one after another, and room for what they write |
//! | `limits` | how fast a device copies and gathers: the yardsticks of benchmarks |
//! | `emulated` | kernels on the processor, a fiber per thread in changing order |

pub mod device;
pub mod driver;
pub mod emulated;
mod library;
pub mod limits;
pub mod memory;
pub mod nvrtc;
pub mod stream;
pub mod tensor;
