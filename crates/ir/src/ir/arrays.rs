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
    /// Who owns it and what may be done with it.
    pub role: ArrayRole,
    /// Whether it is so large that vectors are best written to it by non-temporal stores.
    pub streamed: bool,
}

impl ArrayDecl {
    /// An array that is written like any other.
    pub fn new(name: &str, elem: DataType, role: ArrayRole) -> ArrayDecl {
        ArrayDecl { name: name.to_owned(), elem, role, streamed: false }
    }
}

/// Who owns an array and what may be done with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrayRole {
    /// The caller's, only read.
    Input,
    /// The caller's, of fixed size, read and written.
    Output,
    /// An output of which every element has a value beforehand, and other calls may be writing
    /// other elements meanwhile.
    Shared,
    /// Allocated and grown by the kernel, handed to the caller.
    Result,
    /// Allocated and grown by the kernel, gone after the call. Of a parallel loop that is around all
    /// that uses it, every iteration has its own; those of other loops share it.
    Local,
    /// The same, but reserved outside of parallel loops, and shared by their iterations.
    Common,
}

impl ArrayRole {
    /// Whether nobody but the kernel knows of the array.
    pub fn is_own(self) -> bool {
        matches!(self, ArrayRole::Local | ArrayRole::Common)
    }
}
