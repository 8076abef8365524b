//! Tensors in memory, packing, and the calling of kernels: the home of raw pointers.
//!
//! # Modules
//!
//! | module | what it does |
//! |---|---|
//! | `budget` | how much memory arrays may take, and do |
//! | `free` | how much memory the system can give |
//! | `exhausted` | ending with a diagnostic where memory runs out |
//! | `index` | Rust's integers as positions and coordinates |
//! | `blocks` | blocks of the C library, which arrays are made of |
//! | `memory` | arrays with one owner, the page policy of large ones |
//! | `concatenated` | parts of arrays one behind the other |
//! | `owned` | arrays that one side owns alone |
//! | `pages` | an allocator that asks for huge pages |
//! | `recycle` | large arrays that were freed, kept for the next |
//! | `extent` | how large dimensions may be |
//! | `coordinates` | a tensor as a list |
//! | `bytes` | values as bytes, and back |
//! | `tensor` | validated tensors |
//! | `view` | tensors of borrowed arrays |
//! | `neighbours` | arrays and matrices of `ndarray`, `sprs`, `nalgebra-sparse` and `faer` as tensors, and back; tensors, formats and schedules for `serde` |
//! | `quick` | seeing at once that arrays are valid |
//! | `ascending` | sorting the coordinates of a row |
//! | `radix` | stable parallel radix sort |
//! | `records` | sorting the lists of running kernels |
//! | `pack` | lists to tensors of any format |
//! | `kernel` | calling a function: slots, results |
//! | `in_place` | results in arrays that the caller has |
//! | `pattern` | values at the entries of a pattern, where no kernel finds them |
//! | `parallel` | calling it in parts: where to cut, threads, joining results |
//! | `interrupt` | giving up between parts |
//! | `interpreted` | the interpreter behind the calling convention, and counting what it does |
//! | `bandwidth` | how many bytes memory moves in a second |
//! | `cc` | the system's C compiler |
//! | `child` | running it, for so long at most |
//! | `library` | loading what it made |
//! | `disk_cache` | compiled libraries, and what was found out, on disk |
//! | `trusted` | folders in which nobody else can replace what we write |
//! | `temporary` | temporary files and folders |
//! | `ending` | removing these, and killing compilers, however the process ends |
//! | `size` | sizes as people write them |
//! | `threads` | the thread pool, and running the parts of a task on it |
//! | `processor` | the processor level that code is generated for: the one asked for, what it allows, what the machine has |
//!
//! The feature `c-tier` adds `cc`, `child`, `library`, `disk_cache` and `trusted`, the features `ndarray`, `sprs`,
//! `nalgebra-sparse`, `faer` and `serde` add `neighbours`. What systems do in their own ways is in files `unix` and `windows`.

mod ascending;
pub mod bandwidth;
mod blocks;
pub mod budget;
mod bytes;
#[cfg(feature = "c-tier")]
pub mod cc;
#[cfg(feature = "c-tier")]
mod child;
mod concatenated;
pub mod coordinates;
#[cfg(feature = "c-tier")]
pub mod disk_cache;
pub mod ending;
mod exhausted;
pub mod extent;
mod free;
mod in_place;
mod index;
pub mod interpreted;
mod interrupt;
pub mod kernel;
#[cfg(feature = "c-tier")]
mod library;
pub mod memory;
#[cfg(any(
    feature = "faer",
    feature = "nalgebra-sparse",
    feature = "ndarray",
    feature = "serde",
    feature = "sprs"
))]
mod neighbours;
mod owned;
pub mod pack;
mod pages;
pub mod parallel;
pub mod pattern;
pub mod processor;
mod quick;
mod radix;
pub mod records;
mod recycle;
pub mod size;
pub mod temporary;
pub mod tensor;
pub mod threads;
#[cfg(feature = "c-tier")]
mod trusted;
mod view;

pub use coordinates::{Coordinates, Values};
pub use exhausted::end_with_diagnostic;
pub use extent::{LARGEST_DIMENSION, check_dims};
pub use index::Index;
pub use interrupt::Interrupt;
pub use memory::{Buffer, Element, Truth};
#[cfg(feature = "serde")]
pub use neighbours::as_text;
pub use pack::{Duplicates, elements, is_list, pack};
pub use pages::HugePages;
pub use parallel::longest_row;
pub use tamis_core::format::MAX_ORDER;
pub use tamis_ir::datatype::{DataType, Scalar};
pub use tamis_ir::diagnostic::{Code, Diagnostic, nearest};
pub use tamis_ir::half::{Bf16, F16};
pub use tensor::{Entries, LevelData, Tensor};
pub use view::TensorView;
