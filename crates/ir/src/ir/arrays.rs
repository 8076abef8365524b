//! Arrays of a function.

#[cfg(doc)]
use super::Stmt;
use crate::datatype::DataType;

/// An array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArrayDecl {
    /// An identifier.
    pub name: String,
    /// The type of the elements in memory.
    pub elem: DataType,
    /// The owner of the array, and how it may be used.
    pub role: ArrayRole,
    /// Whether it is so large that vectors are best written by non-temporal stores.
    pub streamed: bool,
}

impl ArrayDecl {
    /// An array that is written by ordinary stores.
    pub fn new(name: &str, elem: DataType, role: ArrayRole) -> ArrayDecl {
        ArrayDecl { name: name.to_owned(), elem, role, streamed: false }
    }
}

/// The owner of an array, and how it may be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrayRole {
    /// Owned by the caller, only read.
    Input,
    /// Owned by the caller, of fixed size, read and written.
    Output,
    /// An output whose elements all have a value beforehand. Concurrent calls may write other elements.
    Shared,
    /// Allocated and grown by the kernel, then handed to the caller.
    Result,
    /// Allocated and grown by the kernel, freed after the call. If a parallel loop is around all uses, each of its
    /// iterations has its own array; iterations of other loops share it.
    Local,
    /// As `Local`, but reserved outside of parallel loops, and shared by their iterations.
    Common,
}

impl ArrayRole {
    /// Whether only the kernel uses the array.
    pub fn is_own(self) -> bool {
        matches!(self, ArrayRole::Local | ArrayRole::Common)
    }
}
