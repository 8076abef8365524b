//! The module `tamis._native`: what the package `tamis` does in Rust.
//!
//! ```text
//! NumPy, SciPy --foreign, array, sparse, operand--> Tensor --kernel--> Tensor --memory, result--> NumPy, SciPy
//! ```
//!
//! Arrays are borrowed by the buffer protocol and lent by it, copied where [`borrowing`] says so; the interpreter's lock
//! is given back while kernels are compiled and run.
//!
//! # Modules
//!
//! | module | what it does |
//! |---|---|
//! | `failure` | diagnostics and panics as exceptions |
//! | `size` | sizes of axes, variables and memory as Python gives them |
//! | `specs` | formats as users write them, and what they leave open |
//! | `foreign` | arrays of others, borrowed by the buffer protocol |
//! | `borrowing` | whether positions and coordinates of others are copied first |
//! | `memory` | arrays of tensors, lent by it |
//! | `threads` | the threads of kernels, and forks |
//! | `profile` | where the time of a program goes |
//! | `array` `sparse` `scalar` `operand` | arrays of NumPy, of SciPy, numbers, and anything else as operands |
//! | `result` | tensors as arrays of NumPy and SciPy |
//! | `convert` | other formats and other shapes |
//! | `compressed` | lists of coordinates as compressed rows or columns |
//! | `select` `listed` `lookup` | what keys select, by the arrays of a tensor: of rows, of lists; where coordinates are in a key |
//! | `lines` | whole lines of compressed rows, by a list of their segments |
//! | `across` | some entries of all lines of compressed rows |
//! | `stored` | operands as far as a compilation depends on them |
//! | `slow` | a word before it is slow |
//! | `effort` | which programs may take long, and are interruptible |
//! | `joined` | tensors one behind the other along an axis |
//! | `reshape` | tensors whose entries are in the order of rows, as matrices of another shape |
//! | `axes` | axes of one element more or less, and positions of coordinates |
//! | `counted` | how many entries lines have, along them and across |
//! | `tensor` `kernel` | what the classes `Tensor` and `Kernel` are made of |
//! | `operands` | the operands of a call, by name |
//! | `ordering` | whether code ignores the order of SciPy's coordinates |
//! | `file` | reading and writing |
//! | `ranks` `tasks` | programs on ranks of MPI, and as tasks |
//!
//! The files of `python/tamis`, each importing only those above it, but for imports inside of functions:
//!
//! | file | what it does |
//! |---|---|
//! | `_errors` | exceptions |
//! | `_guard` | foreign exceptions of a call as refusals that name it |
//! | `_operands` | classes of operands, copies of what cannot be borrowed, SciPy's constructors |
//! | `_programs` | `evaluate`, `compile` |
//! | `_einsum` | subscripts to index notation |
//! | `_formulas` | functions of elements in index notation: their text, types and numbers |
//! | `_plans` | what operators came to, kept for operands of these kinds |
//! | `_expressions` | operators as trees, to index notation |
//! | `_operators` | Python's operators on tensors and on lazy expressions |
//! | `_methods` | methods by NumPy's functions of their names |
//! | `_select` `_tensor` `_files` | keys, `Tensor`, files |
//! | `_rows` | tensors of entries in the order of rows or columns, without a sort |
//! | `_html` | drawings |
//! | `_binsparse` | files of HDF5 |
//! | `_moves` | entries at other coordinates |
//! | `_elements` | functions of elements of one tensor, or that no kernel has, by NumPy on what is stored |
//! | `_reductions` | reductions that no kernel does: by groups of entries, variances |
//! | `_searching` | where elements are, how often, and which are the least |
//! | `array_api` | the array API standard |
//! | `_linalg` `_linalg_of_standard` | norms and products, NumPy's and the standard's |
//! | `_arranging` | arrays of parts of others: blocks, rotations, elements put in and left out |
//! | `_missing` | reductions that leave out NaN, weighted means |
//! | `_cumulative` `_quantiles` `_statistics` | sums so far and orders; medians, quantiles; histograms, covariances |
//! | `_functions` | NumPy's functions of tensors |
//! | `_profile` `_explained` `_notebook` | what calls take, what programs become, both in notebooks |
//! | `_pieces` | tensors in pieces that Dask's tasks make |
//! | `dask` | programs as graphs of Dask's tasks |
//! | `mpi` | programs on ranks of MPI |

mod across;
mod array;
mod axes;
mod borrowing;
mod compressed;
mod convert;
mod counted;
mod effort;
mod failure;
mod file;
mod foreign;
mod joined;
mod kernel;
mod lines;
mod listed;
mod lookup;
mod memory;
mod operand;
mod operands;
mod ordering;
mod profile;
mod ranks;
mod reshape;
mod result;
mod scalar;
mod select;
mod size;
mod slow;
mod sparse;
mod specs;
mod stored;
mod tasks;
mod tensor;
mod threads;

/// Arrays that are made here are as large as operands, which NumPy has on huge pages, too.
#[global_allocator]
static ALLOCATOR: tamis::HugePages = tamis::HugePages;

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
    use crate::axes::{is_in_rows, lines, outer_axis, positions, reframed};
    #[pymodule_export]
    use crate::borrowing::{get_borrowing, set_borrowing};
    #[pymodule_export]
    use crate::counted::line_counts;
    #[pymodule_export]
    use crate::file::{read, write};
    #[pymodule_export]
    use crate::joined::joined;
    #[pymodule_export]
    use crate::kernel::Kernel;
    #[pymodule_export]
    use crate::memory::Memory;
    #[pymodule_export]
    use crate::operand::borrow;
    #[pymodule_export]
    use crate::profile::profiled;
    #[pymodule_export]
    use crate::ranks::{bare_format, fail_on_ranks, run_on_ranks};
    #[pymodule_export]
    use crate::reshape::in_rows;
    #[pymodule_export]
    use crate::tasks::Tasks;
    #[pymodule_export]
    use crate::tensor::Tensor;
    #[pymodule_export]
    use crate::threads::{
        after_fork, check_memory, get_num_threads, release_memory, set_memory_limit,
        set_num_threads,
    };
}
