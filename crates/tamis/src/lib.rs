//! A sparse tensor algebra compiler: write *what* in index notation and *where it lives* as
//! formats; Tamis generates the kernel that a specialist would have written, compiles it in
//! process and runs it.
//!
//! ```
//! use tamis::{Kernel, Options, Tensor};
//! # fn main() -> Result<(), tamis::Diagnostic> {
//! let a = Tensor::csr([2, 3], vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
//! let x = Tensor::dense(&[3], vec![1.0, 10.0, 100.0])?;
//! let y = tamis::evaluate("y(i) = A(i,j) * x(j)", &[("A", &a), ("x", &x)])?;
//! assert_eq!(y.vals().as_slice::<f64>(), Some(&[201.0, 30.0][..]));
//! # Ok(())
//! # }
//! ```
//!
//! # Modules
//!
//! | module | what it does |
//! |---|---|
//! | `kernel` | compile once, run often; assemble once, compute often |
//! | `binding` | operands of a call as tensors of a kernel |
//! | `reuse` | results in tensors that the caller has |
//! | `operand` | what kernels are compiled and called for, on the host or on the device |
//! | `compiled_kind` | the kernels of one kind, and running them |
//! | `on_device` | running them on a device, where tensors stay between them |
//! | `gpu` | tensors on a device for users |
//! | `backend` | what runs a function |
//! | `tiers` | which of two tiers runs a kernel of `auto`, by their times |
//! | `cache` | kernels in memory, for conversions and `evaluate` |
//! | `convert` | any format to any other, by generated kernels |
//! | `scattered` | formats with levels in order below a hash map, packed in two steps |
//! | `slow` | a word before it is slow |
//! | `footprint` | bytes of entries in a storage, before they are packed |
//! | `waste` | refusing formats that would take far more memory than entries need |
//! | `dims` | dimensions of index variables |
//! | `explain` | stages as text |
//! | `library` | programs as libraries in C or Rust that need no Tamis |
//! | `tune` | the fastest of several schedules, timed and remembered |

mod backend;
mod binding;
mod cache;
mod compiled_kind;
mod convert;
mod dims;
pub mod explain;
mod footprint;
pub mod gpu;
mod kernel;
mod library;
mod on_device;
mod operand;
mod reuse;
mod scattered;
mod slow;
mod tiers;
mod tune;
mod waste;

pub use backend::Backend;
pub use convert::{ToFormat, pack, usual_format};
pub use footprint::footprint;
pub use kernel::{Bound, Kernel, Options, Parts, evaluate};
pub use library::{Language, SourceFile};
pub use scattered::is_writable;
pub use tamis_core::cin::Kind as KernelKind;
pub use tamis_core::format::{Format, FormatSpec, Storage};
pub use tamis_core::schedule::Schedule;
pub use tamis_core::{format, level, notation, pipeline, schedule};
pub use tamis_ir::algebra::Strictness;
pub use tamis_ir::datatype::{DataType, IndexWidth, Scalar};
pub use tamis_ir::diagnostic::{Code, Diagnostic, Kind, Place, nearest};
pub use tamis_ir::half::{Bf16, F16};
pub use tamis_ir::ids;
pub use tamis_runtime::cc::{is_available as has_c_compiler, use_compiler as use_c_compiler};
pub use tamis_runtime::disk_cache::refusal as cache_refusal;
pub use tamis_runtime::{
    Buffer, Coordinates, Duplicates, Element, Entries, Index, Interrupt, LARGEST_DIMENSION,
    LevelData, Tensor, TensorView, Truth, Values, is_list,
};
pub use tamis_runtime::{
    HugePages, budget, end_with_diagnostic, ending, processor, size, temporary, threads,
};
pub use tune::{Tuned, tune};

/// The examples of the README, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
