//! The meaning of a function's parameters.

use crate::level::Part;
use tamis_ir::ids::{Id, IndexVar, Level, TensorId};

/// The meaning of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Binding {
    /// The dimension of an index variable.
    Dimension(IndexVar),
    /// The first coordinate, or position, of the part to compute; it may be below the range.
    Begin,
    /// The end of the part, exclusive; it may be beyond the range.
    End,
    /// An array of a level.
    Level {
        /// The tensor.
        tensor: TensorId,
        /// The level.
        level: Level,
        /// Which array.
        part: Part,
    },
    /// The values.
    Vals {
        /// The tensor.
        tensor: TensorId,
    },
}

impl Binding {
    /// The tensor of an array.
    pub fn tensor(&self) -> Option<TensorId> {
        match *self {
            Binding::Level { tensor, .. } | Binding::Vals { tensor } => Some(tensor),
            Binding::Dimension(_) | Binding::Begin | Binding::End => None,
        }
    }

    /// The sort key of the parameter: dimensions, the part, then tensors in the order of their declaration.
    pub(super) fn place(self) -> (usize, usize) {
        match self {
            Binding::Dimension(var) => (0, var.index()),
            Binding::Begin | Binding::End => (1, 0),
            Binding::Level { tensor, .. } | Binding::Vals { tensor } => (2, tensor.index()),
        }
    }
}
