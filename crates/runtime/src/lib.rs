//! Tensors in memory, packing, and the calling of kernels: the home of raw pointers.

mod ascending;
pub mod budget;
pub mod cc;
pub mod coordinates;
pub mod disk_cache;
mod extent;
pub mod interpreted;
mod interrupt;
pub mod kernel;
pub mod memory;
pub mod pack;
mod pages;
mod parallel;
pub mod pattern;
pub mod pipes;
pub mod processor;
mod quick;
mod radix;
pub mod records;
mod recycle;
pub mod tensor;
pub mod threads;

pub use coordinates::{Coordinates, Values};
pub use extent::{LARGEST_DIMENSION, check_dims};
pub use interrupt::Interrupt;
pub use memory::{Buffer, Element, Truth};
pub use pack::{Duplicates, is_list, pack};
pub use pages::HugePages;
pub use parallel::longest_row;
pub use tamis_core::datatype::{DataType, Scalar};
pub use tamis_core::half::{Bf16, F16};
pub use tensor::{LevelData, Tensor};
