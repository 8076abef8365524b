//! The dense level: every coordinate of the dimension has a position; no arrays.
//!
//! ```text
//! parent    0        1        2
//! position  0 1 2 3  4 5 6 7  8 9 10 11      position = parent * size + coordinate
//! ```

use super::{LevelArrays, LevelFormat, LevelView, Located, Names, Part, Properties};
use tamis_ir::ir::Expr;
use tamis_ir::ir::build::{add, mul};

pub(super) const PROPERTIES: Properties = Properties { full: true, ..Properties::LISTED };

#[derive(Debug)]
pub(super) struct Dense;

impl LevelFormat for Dense {
    fn name(&self) -> &'static str {
        "dense"
    }

    fn properties(&self) -> Properties {
        PROPERTIES
    }

    fn parts(&self) -> &'static [Part] {
        &[]
    }

    fn summary(&self) -> &'static str {
        "every coordinate of the dimension, found by arithmetic"
    }

    fn locates(&self) -> bool {
        true
    }

    fn locate(
        &self,
        level: &LevelArrays,
        parent: Expr,
        coordinate: Expr,
        _: &mut dyn Names,
    ) -> Option<Located> {
        Some(Located::at(position(level, parent, coordinate)))
    }

    fn size(&self, level: &LevelArrays, parents: Expr) -> Option<Expr> {
        Some(mul(parents, level.size.clone()))
    }

    fn positions(&self, level: &LevelView<'_>, parents: u64) -> u64 {
        parents.saturating_mul(level.header.size)
    }

    fn children(
        &self,
        level: &LevelView<'_>,
        parent: u64,
        open: (i64, i64),
        visit: &mut dyn FnMut(u64, i64),
    ) {
        for c in open.0..open.1 {
            visit(parent * level.header.size + level.from_least(c), c);
        }
    }

    fn check(&self, _: &LevelView<'_>, _: u64) -> Result<(), String> {
        Ok(())
    }

    fn length(&self, _: &LevelView<'_>, _: Part, _: u64) -> u64 {
        0
    }
}

/// `parent * size + coordinate`.
pub(super) fn position(level: &LevelArrays, parent: Expr, coordinate: Expr) -> Expr {
    add(mul(parent, level.size.clone()), level.from_least(coordinate))
}
