//! Running kernels of CUDA C.
//!
//! [`device`] runs them on a GPU by NVIDIA's driver, which compiles them by [`nvrtc`]; both are looked
//! for when they are needed, and what is missing is told. [`resident`] keeps tensors on the device, and [`kept`]
//! tables that follow from them; [`limits`] measures what the device gives at most.
//! [`emulated`] runs kernels on the processor, thread by thread in changing order, so that what they
//! compute can be tested where there is no GPU.

pub mod device;
pub mod driver;
pub mod emulated;
pub mod kept;
mod library;
pub mod limits;
pub mod nvrtc;
pub mod resident;
