//! The offset level: one coordinate for each position above, computed from the diagonal and the other coordinate,
//! which levels above store; no arrays.
//!
//! ```text
//! diagonal  -1         0          2            j - i
//! i         . 1 2      0 1 2      0 1 .
//! j         . 0 1      0 1 2      2 3 .        j = i + diagonal
//! ```

use super::{LevelArrays, LevelFormat, LevelView, Located, Names, Part, Properties};
use tamis_ir::ir::Expr;

pub(super) const PROPERTIES: Properties =
    Properties { full: true, branchless: true, ..Properties::LISTED };

#[derive(Debug)]
pub(super) struct Offset;

impl LevelFormat for Offset {
    fn name(&self) -> &'static str {
        "offset"
    }

    fn properties(&self) -> Properties {
        PROPERTIES
    }

    fn parts(&self) -> &'static [Part] {
        &[]
    }

    fn summary(&self) -> &'static str {
        "the coordinate that a diagonal and another coordinate above leave"
    }

    fn locates(&self) -> bool {
        true
    }

    fn locate(&self, _: &LevelArrays, parent: Expr, _: Expr, _: &mut dyn Names) -> Option<Located> {
        Some(Located::at(parent))
    }

    fn size(&self, _: &LevelArrays, parents: Expr) -> Option<Expr> {
        Some(parents)
    }

    fn positions(&self, _: &LevelView<'_>, parents: u64) -> u64 {
        parents
    }

    fn children(
        &self,
        _: &LevelView<'_>,
        parent: u64,
        open: (i64, i64),
        visit: &mut dyn FnMut(u64, i64),
    ) {
        if open.0 < open.1 {
            visit(parent, open.0);
        }
    }

    fn check(&self, _: &LevelView<'_>, _: u64) -> Result<(), String> {
        Ok(())
    }

    fn length(&self, _: &LevelView<'_>, _: Part, _: u64) -> u64 {
        0
    }
}
