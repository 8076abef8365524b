//! A sparse tensor algebra compiler: write *what* in index notation and *where it lives* as
//! formats; Tamis generates the kernel that a specialist would have written, compiles it in
//! process and runs it.
//!
//! A sparse matrix times a vector:
//!
//! ```
//! use tamis::Tensor;
//! # fn main() -> Result<(), tamis::Diagnostic> {
//! let a = Tensor::csr([2, 3], vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
//! let x = Tensor::dense(&[3], vec![1.0, 10.0, 100.0])?;
//! let y = tamis::evaluate("y(i) = A(i,j) * x(j)", &[("A", &a), ("x", &x)])?;
//! assert_eq!(y.values::<f64>()?, [201.0, 30.0]);
//! # Ok(())
//! # }
//! ```
//!
//! A product of dense matrices at the entries of a sparse one (SDDMM): its other elements are not computed.
//!
//! ```
//! use tamis::{Program, Tensor};
//! # fn main() -> Result<(), tamis::Diagnostic> {
//! let s = Tensor::from_triplets([2, 2], [([0, 1], 1.0), ([1, 0], 2.0)])?;
//! let x = Tensor::dense(&[2, 2], vec![1.0, 2.0, 3.0, 4.0])?;
//! let program = Program::parse("S(i,j) = A(i,j) * X(i,k) * X(j,k)")?;
//! let kernel = program.operand("A", &s)?.operand("X", &x)?.compile()?;
//! let results = kernel.run(&[("A", &s), ("X", &x)])?;
//! assert_eq!(results["S"].values::<f64>()?, [11.0, 22.0]);
//! # Ok(())
//! # }
//! ```
//!
//! A product of sparse matrices (SpGEMM), into a format and by a schedule:
//!
//! ```
//! use tamis::{Program, Tensor};
//! # fn main() -> Result<(), tamis::Diagnostic> {
//! let a = Tensor::from_triplets([2, 2], [([0, 1], 2.0), ([1, 0], 3.0)])?;
//! let program = Program::parse("C(i,j) = A(i,k) * A(k,j)")?.operand("A", &a)?;
//! let kernel = program.format("C", "csr")?.schedule("reorder(i, k, j)")?.compile()?;
//! let results = kernel.run(&[("A", &a)])?;
//! assert_eq!(results["C"], Tensor::eye(2, 6.0)?);
//! # Ok(())
//! # }
//! ```
//!
//! A loop around kernels, whose results are written where those of the step before are (power iteration):
//!
//! ```
//! use tamis::{Program, Tensor};
//! # fn main() -> Result<(), tamis::Diagnostic> {
//! let a = Tensor::from_triplets([2, 2], [([0, 0], 3.0), ([0, 1], 1.0), ([1, 0], 1.0), ([1, 1], 3.0)])?;
//! let step = Program::parse("y(i) = A(i,j) * x(j); s = y(i) * y(i)")?.operand("A", &a)?.compile()?;
//! let scale = Program::parse("z(i) = y(i) / sqrt(s)")?.compile()?;
//! let mut x = Tensor::dense(&[2], vec![1.0, 0.0])?;
//! let (mut y, mut s) = (Tensor::zeros::<f64>(&[2])?, Tensor::scalar(0.0));
//! for _ in 0..50 {
//!     step.run_into(&[("A", &a), ("x", &x)], &mut [("y", &mut y), ("s", &mut s)])?;
//!     scale.run_into(&[("y", &y), ("s", &s)], &mut [("z", &mut x)])?;
//! }
//! assert!((s.values::<f64>()?[0].sqrt() - 4.0).abs() < 1e-9);
//! # Ok(())
//! # }
//! ```
//!
//! Another semiring: lengths of paths are added and the shortest stays; no edge is `inf`.
//!
//! ```
//! use tamis::{Program, Scalar, Tensor};
//! # fn main() -> Result<(), tamis::Diagnostic> {
//! let edges = [([0, 1], 2.0), ([1, 2], 3.0), ([0, 2], 9.0), ([2, 2], 0.0)];
//! let roads = Tensor::from_triplets([3, 3], edges)?.with_fill(Scalar::F64(f64::INFINITY))?;
//! let program = Program::parse("D(i,j) = min(k, A(i,k) + A(k,j))")?.operand("A", &roads)?;
//! let results = program.compile()?.run(&[("A", &roads)])?;
//! assert_eq!(results["D"].get(&[0, 2])?.as_f64(), 5.0);
//! assert_eq!(results["D"].get(&[2, 0])?.as_f64(), f64::INFINITY);
//! # Ok(())
//! # }
//! ```
//!
//! A file becomes a tensor of a format, and a result a file (feature `io`); `tamis::io` has headers, comments and parts of files:
//!
//! ```
//! # #[cfg(feature = "io")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tamis::temporary::Temporary::folder(&std::env::temp_dir())?;
//! # let [a_mtx, b_tns] = ["a.mtx", "b.tns"].map(|name| folder.path().join(name));
//! # std::fs::write(&a_mtx, "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 3 4.0\n2 1 5.0\n")?;
//! let a = tamis::read(&a_mtx, "csr{f32}")?;
//! let b = tamis::evaluate("B(j,i) = A(i,j)", &[("A", &a)])?;
//! tamis::write(&b_tns, &b)?;
//! assert_eq!(std::fs::read_to_string(&b_tns)?, "# dims: 3 2\n1 2 5\n3 1 4\n");
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "io"))]
//! # fn main() {}
//! ```
//!
//! A function of one's own, which is a reduction, too: the chance of either of two independent events, and of any of a row.
//!
//! ```
//! use tamis::notation::{Commutativity, Operator, OperatorProperties, parse_with};
//! use tamis::{Program, Tensor};
//! # fn main() -> Result<(), tamis::Diagnostic> {
//! let commutative = Commutativity::Commutative;
//! let properties = OperatorProperties { identity: Some(0.0), annihilator: None, commutative };
//! let either = Operator::binary("either", properties, |x, y| x + y - x * y)?;
//! let text = "B(i,j) = either(A(i,j), A(j,i)); b(i) = either(j, A(i,j))";
//! let a = Tensor::from_triplets([2, 2], [([0, 0], 0.5), ([0, 1], 0.5), ([1, 0], 0.25)])?;
//! let program = Program::from(parse_with(text, &[either])?).operand("A", &a)?;
//! let results = program.compile()?.run(&[("A", &a)])?;
//! assert_eq!(results["B"].get(&[0, 1])?.as_f64(), 0.625);
//! assert_eq!(results["b"].values::<f64>()?, [0.75, 0.25]);
//! # Ok(())
//! # }
//! ```
//!
//! A library that computes without Tamis, as text in C ([`Language::Rust`]: in Rust):
//!
//! ```
//! use std::collections::BTreeMap;
//! use tamis::{Language, Options, explain::Explanation, format, notation};
//! # fn main() -> Result<(), tamis::Diagnostic> {
//! let program = notation::parse("y(i) = A(i,j) * x(j)")?;
//! let formats = BTreeMap::from([("A".to_owned(), format::parse("csr", Some(2))?)]);
//! let program = Explanation::of(&program, &formats, &Options::default())?;
//! let files = program.library("spmv", Language::C)?;
//! assert_eq!([&files[0].name, &files[1].name], ["spmv.h", "spmv.c"]);
//! assert!(files[0].text.contains("int spmv(const spmv_A *A, const spmv_x *x, spmv_y *y);"));
//! # Ok(())
//! # }
//! ```
//!
//! Examples of items that are re-exported may name the crates that they are from: `tamis_runtime::Tensor` is `tamis::Tensor`.
//!
//! What others own is lent by a [`TensorView`]. A level format may live in another crate: `examples/banded` in the
//! repository is one.
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `jit` (default) | machine code in process; without it the interpreter runs kernels: slow, with few dependencies |
//! | `c-tier` | the system's C compiler, which `auto` tries for kernels that run long; its cache on disk; `tune` |
//! | `cuda` | kernels on a GPU and the module `gpu`; implies `jit` and `c-tier` |
//! | `io` | readers and writers of files, as the module `io` |
//! | `dist` | programs on several processes, as the module `dist`; MPI is looked for when it is used |
//! | `ndarray` | arrays of this crate as tensors and views, and tensors as arrays: `Tensor::try_from(array)`, `ArrayD::try_from(tensor)` |
//! | `sprs` | the same for its matrices by rows or columns: `TensorView::try_from(&matrix)`, `CsMat::try_from(tensor)` |
//! | `nalgebra-sparse` | the same for its `CsrMatrix` and `CscMatrix` |
//! | `faer` | the same for its `SparseRowMat` and `SparseColMat`, and for `Mat` by a copy |
//! | `serde` | `Serialize` and `Deserialize` for tensors, and by the module `as_text` for formats and schedules; what is read is checked as constructors do (JSON keeps the bits of floats with `serde_json`'s feature `float_roundtrip`) |
//!
//! # Modules
//!
//! | module | what it does |
//! |---|---|
//! | `kernel` | compile once, run often; assemble once, compute often |
//! | `builder` | programs with how they are to be compiled |
//! | `binding` | operands of a call as tensors of a kernel |
//! | `results` | what a call computed, by name |
//! | `reuse` | results in tensors that the caller has |
//! | `operand` | what kernels are compiled and called for, on the host or on the device |
//! | `compiled_kind` | the kernels of one kind, and running them |
//! | `on_device` | running them on a device, where tensors stay between them |
//! | `gpu` | tensors on a device for users |
//! | `backend` | what runs a function, and which backends were compiled in |
//! | `absent` | what stands for parts that were not |
//! | `tiers` | which of two tiers runs a kernel of `auto`, by their times |
//! | `cache` | kernels in memory, for conversions and `evaluate` |
//! | `convert` | any format to any other, by generated kernels |
//! | `scattered` | formats with levels in order below a hash map, packed in two steps |
//! | `slow` | a word before it is slow |
//! | `estimate` | steps, values and memory of a call, before it runs |
//! | `profile` | where the time of a call goes: stages, kernels, loops |
//! | `footprint`, `stored_values` | bytes and values of entries in a storage, before they are packed |
//! | `waste` | refusing formats that would take far more memory than entries need |
//! | `dims` | dimensions of index variables |
//! | `explain` | stages as text |
//! | `file` | files as tensors, and tensors as files, by name |
//! | `dist` | tensors and kernels in parts, on several processes |
//! | `library` | programs as libraries in C or Rust that need no Tamis |
//! | `tune` | the fastest of several schedules, timed and remembered |
//! | `unstable` | the stages of the compiler and the forms between them, which any release may change |

#![warn(missing_debug_implementations)]

mod absent;
mod backend;
mod binding;
mod builder;
mod cache;
mod compiled_kind;
mod convert;
mod dims;
#[cfg(feature = "dist")]
pub mod dist;
mod estimate;
pub mod explain;
#[cfg(feature = "io")]
mod file;
mod footprint;
#[cfg(feature = "cuda")]
pub mod gpu;
mod kernel;
mod library;
#[cfg(feature = "cuda")]
mod on_device;
mod operand;
mod profile;
mod results;
mod reuse;
mod scattered;
mod slow;
#[cfg(all(feature = "jit", feature = "c-tier"))]
mod tiers;
#[cfg(feature = "c-tier")]
mod tune;
pub mod unstable;
mod waste;

#[cfg(not(feature = "cuda"))]
use absent::on_device;
#[cfg(not(all(feature = "jit", feature = "c-tier")))]
use absent::tiers;
pub use backend::{Backend, features};
pub use builder::Program;
pub use convert::{AsStorage, ToFormat, from_entries, pack, usual_format};
pub use estimate::{Estimate, KernelEstimate, LoopEstimate};
#[cfg(feature = "io")]
pub use file::{read, write};
pub use footprint::{footprint, stored_values};
pub use kernel::{Bound, Kernel, Options, Parts, evaluate};
pub use library::{Language, SourceFile};
pub use profile::{KernelProfile, LoopProfile, Profile, RunProfile};
pub use results::Results;
pub use scattered::is_writable;
pub use tamis_core::cin::KernelKind;
pub use tamis_core::format::{Format, FormatSpec, Storage};
pub use tamis_core::schedule::Schedule;
pub use tamis_core::{format, level, notation, schedule};
#[cfg(feature = "io")]
pub use tamis_io as io;
pub use tamis_ir::algebra::Strictness;
pub use tamis_ir::datatype::{DataType, IndexWidth, Scalar};
pub use tamis_ir::diagnostic::{Code, Diagnostic, Kind, Place, Setting, Settings, nearest};
pub use tamis_ir::half::{Bf16, F16};
pub use tamis_ir::ids;
pub use tamis_ir::interpret::Counts;
#[cfg(feature = "serde")]
pub use tamis_runtime::as_text;
#[cfg(feature = "c-tier")]
pub use tamis_runtime::cc::refusal as compiler_refusal;
#[cfg(feature = "c-tier")]
pub use tamis_runtime::cc::{is_available as has_c_compiler, use_compiler as use_c_compiler};
#[cfg(feature = "c-tier")]
pub use tamis_runtime::disk_cache::refusal as cache_refusal;
pub use tamis_runtime::{
    Buffer, Coordinates, Duplicates, Element, Entries, Index, Interrupt, LARGEST_DIMENSION,
    LevelData, Tensor, TensorView, Truth, Values, is_list,
};
pub use tamis_runtime::{
    HugePages, budget, end_with_diagnostic, ending, processor, size, temporary, threads,
};
#[cfg(feature = "c-tier")]
pub use tune::{Tuned, tune};

/// The examples of the README, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
