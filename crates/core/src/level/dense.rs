//! The dense level: every coordinate of the dimension has a position; no arrays.
//!
//! ```text
//! parent    0        1        2
//! position  0 1 2 3  4 5 6 7  8 9 10 11      position = parent * size + coordinate
//! ```

use super::{Bounds, LevelArrays, LevelFormat, Part, Properties};
use crate::ir::Expr;
use crate::ir::build::{add, int, mul};

#[derive(Debug)]
pub(super) struct Dense;

impl LevelFormat for Dense {
    fn name(&self) -> &'static str {
        "dense"
    }

    fn properties(&self) -> Properties {
        Properties { full: true, ordered: true, unique: true, branchless: false, compact: true }
    }

    fn parts(&self) -> &'static [Part] {
        &[]
    }

    fn summary(&self) -> &'static str {
        "every coordinate of the dimension, found by arithmetic"
    }

    fn coord_bounds(&self, level: &LevelArrays) -> Option<Bounds> {
        Some(Bounds { lo: int(0), hi: level.size() })
    }

    fn locate(&self, level: &LevelArrays, parent: Expr, coordinate: Expr) -> Option<Expr> {
        Some(add(mul(parent, level.size()), coordinate))
    }

    fn size(&self, level: &LevelArrays, parents: Expr) -> Option<Expr> {
        Some(mul(parents, level.size()))
    }
}
