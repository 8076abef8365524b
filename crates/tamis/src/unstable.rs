//! The compiler's stages and the forms between them, for those who read or extend it. Any release may change them:
//! depend on one by `tamis = "=0.1.0"`.
//!
//! ```
//! use tamis::unstable::{cin, plan};
//! use tamis::{Kernel, Options, Tensor};
//!
//! # fn main() -> Result<(), tamis::Diagnostic> {
//! let a = Tensor::csr([2, 2], vec![0, 1, 2], vec![1, 0], vec![2.0, 3.0])?;
//! let x = Tensor::dense(&[2], vec![1.0, 1.0])?;
//! let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &[("A", &a), ("x", &x)], &Options::default())?;
//! let program: &cin::Program = &kernel.compiled().program;
//! assert!(cin::text::print(program).contains("forall(i, where(y(i) = s, forall(j, s += A(i,j) * x(j))))"));
//! let kernel = &program.kernels[0];
//! let read = plan::print(program, kernel, &plan::plan(program, kernel));
//! assert!(read.contains("for j: walk A(i,j) level 2 (compressed)"));
//! # Ok(())
//! # }
//! ```
//!
//! | module | what it has |
//! |---|---|
//! | `pipeline` | the stages one after the other, and [what they make](pipeline::Compiled) of a program |
//! | `cin` | concrete index notation: loops, workspaces, where schedules are applied |
//! | `plan` | how each loop reads, merges, writes and is cut |
//! | `lower` | plans to functions |
//! | `ir` | functions: their statements, passes, interpreter, and texts in C, CUDA and Rust |
//! | `ids` | the numbers of variables, tensors and modes in these |

pub use tamis_core::{cin, lower, pipeline, plan};
pub use tamis_ir as ir;
pub use tamis_ir::ids;
