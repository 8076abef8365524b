//! Running kernels of CUDA C.
//!
//! [`emulated`] runs them on the processor, thread by thread in changing order, so that what they
//! compute can be tested where there is no GPU.

pub mod emulated;
mod library;
pub mod nvrtc;
