//! The module `tamis._native`: what the package `tamis` does in Rust.
//!
//! ```text
//! NumPy, SciPy --foreign, array, sparse, operand--> Tensor --kernel--> Tensor --memory, result--> NumPy, SciPy
//! ```
//!
//! Arrays are borrowed by the buffer protocol and lent by it, copied where [`borrowing`] says so; the interpreter's lock
//! is given back while kernels are compiled and run.

mod array;
mod borrowing;
mod convert;
mod effort;
mod failure;
mod file;
mod foreign;
mod kernel;
mod listed;
mod memory;
mod operand;
mod result;
mod scalar;
mod select;
mod size;
mod sparse;
mod tensor;
mod threads;

#[pyo3::pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name")]
    const version: &str = env!("CARGO_PKG_VERSION");

    /// Follows the environment: `TAMIS_CPU`, `TAMIS_NUM_THREADS` and `TAMIS_COPY`.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        tamis::processor::level().map_err(|d| crate::failure::raised(module.py(), &d))?;
        crate::threads::follow_environment(module.py())?;
        crate::borrowing::follow_environment(module.py())
    }

    #[pymodule_export]
    use crate::borrowing::{get_borrowing, set_borrowing};
    #[pymodule_export]
    use crate::file::{read, write};
    #[pymodule_export]
    use crate::kernel::Kernel;
    #[pymodule_export]
    use crate::memory::Memory;
    #[pymodule_export]
    use crate::operand::borrow;
    #[pymodule_export]
    use crate::tensor::Tensor;
    #[pymodule_export]
    use crate::threads::{
        after_fork, get_num_threads, release_memory, set_memory_limit, set_num_threads,
    };
}
