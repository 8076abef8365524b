//! The range level: below a diagonal, the coordinates that lie inside the tensor. It is stored like a dense level, so
//! a diagonal that ends early leaves positions unused.
//!
//! ```text
//! diagonal  -1         0          2            3 x 4: j - i
//! position  0 1 2      3 4 5      6 7 8
//! i         . 1 2      0 1 2      0 1 .
//! ```

use super::dense::Dense;
use super::{LevelArrays, LevelFormat, LevelView, Located, Names, Part, Properties};
use tamis_ir::ir::Expr;

#[derive(Debug)]
pub(super) struct Range;

impl LevelFormat for Range {
    fn name(&self) -> &'static str {
        "range"
    }

    fn properties(&self) -> Properties {
        super::dense::PROPERTIES
    }

    fn parts(&self) -> &'static [Part] {
        &[]
    }

    fn summary(&self) -> &'static str {
        "the coordinates inside the tensor on a diagonal that a level above stores"
    }

    fn locates(&self) -> bool {
        true
    }

    fn locate(
        &self,
        level: &LevelArrays,
        parent: Expr,
        coordinate: Expr,
        names: &mut dyn Names,
    ) -> Option<Located> {
        Dense.locate(level, parent, coordinate, names)
    }

    fn size(&self, level: &LevelArrays, parents: Expr) -> Option<Expr> {
        Dense.size(level, parents)
    }

    fn positions(&self, level: &LevelView<'_>, parents: u64) -> u64 {
        Dense.positions(level, parents)
    }

    fn children(
        &self,
        level: &LevelView<'_>,
        parent: u64,
        open: (i64, i64),
        visit: &mut dyn FnMut(u64, i64),
    ) {
        Dense.children(level, parent, open, visit);
    }

    fn check(&self, _: &LevelView<'_>, _: u64) -> Result<(), String> {
        Ok(())
    }

    fn length(&self, _: &LevelView<'_>, _: Part, _: u64) -> u64 {
        0
    }
}
