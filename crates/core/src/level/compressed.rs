//! The compressed level: each parent has a segment of the coordinates array.
//!
//! ```text
//! parent   0      1  2
//! pos      0      2  2        5           segment of p is pos[p] .. pos[p + 1]
//! crd      1  3      0  2  3
//! ```

use super::{Append, Bounds, LevelArrays, LevelFormat, Part, Properties};
use crate::ids::Var;
use crate::ir::build::{add, for_loop, int, load, lt, store, when};
use crate::ir::{Expr, Stmt};

#[derive(Debug)]
pub(super) struct Compressed;

impl LevelFormat for Compressed {
    fn name(&self) -> &'static str {
        "compressed"
    }

    fn properties(&self) -> Properties {
        Properties { full: false, ordered: true, unique: true, branchless: false, compact: true }
    }

    fn parts(&self) -> &'static [Part] {
        &[Part::Pos, Part::Crd]
    }

    fn summary(&self) -> &'static str {
        "the coordinates present, a segment of an array for each parent"
    }

    fn pos_bounds(&self, level: &LevelArrays, parent: Expr) -> Option<Bounds> {
        let lo = load(level.pos(), parent.clone());
        Some(Bounds { lo, hi: load(level.pos(), add(parent, int(1))) })
    }

    fn pos_access(&self, level: &LevelArrays, position: Expr) -> Option<Expr> {
        Some(load(level.crd(), position))
    }

    fn append(&self) -> Option<&dyn Append> {
        Some(self)
    }
}

impl Append for Compressed {
    fn append_init(&self, level: &LevelArrays, parents: Option<Expr>) -> Vec<Stmt> {
        let entries = add(parents.unwrap_or(int(0)), int(1));
        vec![
            Stmt::Reserve { array: level.pos(), len: entries.clone() },
            Stmt::Fill { array: level.pos(), lo: int(0), hi: entries, value: int(0) },
        ]
    }

    fn append_coord(&self, level: &LevelArrays, position: Expr, coordinate: Expr) -> Vec<Stmt> {
        vec![store(level.crd(), position, coordinate)]
    }

    fn append_edges(&self, level: &LevelArrays, parent: Expr, end: Expr) -> Vec<Stmt> {
        vec![store(level.pos(), add(parent, int(1)), end)]
    }

    fn append_parents(&self, level: &LevelArrays, lo: Expr, hi: Expr) -> Vec<Stmt> {
        let (lo, hi) = (add(lo, int(1)), add(hi, int(1)));
        vec![
            Stmt::Reserve { array: level.pos(), len: hi.clone() },
            Stmt::Fill { array: level.pos(), lo, hi, value: int(0) },
        ]
    }

    fn append_finalize(&self, level: &LevelArrays, parents: Expr, scratch: Var) -> Vec<Stmt> {
        let p = || Expr::Var(scratch);
        let (here, next) = (load(level.pos(), p()), load(level.pos(), add(p(), int(1))));
        let carry = store(level.pos(), add(p(), int(1)), here.clone());
        vec![for_loop(scratch, int(0), parents, vec![when(lt(next, here), vec![carry])])]
    }
}
