//! The singleton level: one coordinate for each position above.
//!
//! ```text
//! coo              i: compressed(nonunique)     j: singleton
//! position         0 1 2 3                      0 1 2 3
//! crd              0 0 2 2                      1 3 0 3
//! ```
//!
//! A padded level may have positions without a coordinate, marked by -1: the rest of ELL rows that are shorter than
//! the longest.

use super::{
    Append, Bounds, Insert, Labelled, LevelArrays, LevelFormat, LevelView, Located, Names, Part,
    Properties, Property,
};
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{add, binary, int};
use tamis_ir::ir::{Expr, Stmt};

pub(super) const PROPERTIES: Properties = Properties { branchless: true, ..Properties::LISTED };

#[derive(Debug)]
pub(super) struct Singleton;

impl LevelFormat for Singleton {
    fn name(&self) -> &'static str {
        "singleton"
    }

    fn properties(&self) -> Properties {
        PROPERTIES
    }

    fn optional(&self) -> &'static [Property] {
        &[Property::Nonordered, Property::Nonunique, Property::Padded]
    }

    fn parts(&self) -> &'static [Part] {
        &[Part::Crd]
    }

    fn summary(&self) -> &'static str {
        "one coordinate for each position of the level above"
    }

    fn walks(&self) -> bool {
        true
    }

    fn pos_bounds(&self, _: &LevelArrays, parent: Expr) -> Option<Bounds> {
        Some(Bounds { lo: parent.clone(), hi: add(parent, int(1)) })
    }

    fn pos_access(&self, level: &LevelArrays, _: Expr, position: Expr) -> Option<Labelled> {
        let coordinate = level.coordinate(position);
        let found =
            (!level.properties.compact).then(|| binary(BinaryOp::Ge, coordinate.clone(), int(0)));
        Some(Labelled { coordinate, found })
    }

    fn size(&self, _: &LevelArrays, parents: Expr) -> Option<Expr> {
        Some(parents)
    }

    fn append(&self) -> Option<&dyn Append> {
        Some(self)
    }

    fn insert(&self) -> Option<&dyn Insert> {
        Some(self)
    }

    fn positions(&self, _: &LevelView<'_>, parents: u64) -> u64 {
        parents
    }

    fn children(
        &self,
        level: &LevelView<'_>,
        parent: u64,
        _: (i64, i64),
        visit: &mut dyn FnMut(u64, i64),
    ) {
        let c = level.coordinate(parent);
        if level.header.properties.compact || c != -1 {
            visit(parent, c);
        }
    }

    fn check(&self, level: &LevelView<'_>, parents: u64) -> Result<(), String> {
        let stored = level.coordinates();
        match stored == parents {
            true => Ok(()),
            false => Err(format!("crd has {stored} entries for {parents} parents")),
        }
    }

    fn length(&self, _: &LevelView<'_>, _: Part, parents: u64) -> u64 {
        parents
    }
}

/// Assembly where every parent has a child.
impl Append for Singleton {
    fn append_init(&self, _: &LevelArrays) -> Vec<Stmt> {
        vec![]
    }

    fn append_parents(&self, _: &LevelArrays, _: Expr, _: Expr) -> Vec<Stmt> {
        vec![]
    }

    fn append_coord(&self, level: &LevelArrays, position: Expr, coordinate: Expr) -> Vec<Stmt> {
        vec![level.set_coordinate(position, coordinate)]
    }

    fn append_edges(&self, _: &LevelArrays, _: Expr, _: Expr) -> Vec<Stmt> {
        vec![]
    }

    fn append_finalize(&self, _: &LevelArrays, _: Expr, _: Expr, _: Var) -> Vec<Stmt> {
        vec![]
    }
}

/// Assembly where positions may stay without a coordinate.
impl Insert for Singleton {
    fn insert_init(&self, level: &LevelArrays, lo: Expr, hi: Expr) -> Vec<Stmt> {
        let crd = level.crd.expect("a singleton level has coordinates");
        let room = Stmt::Reserve { array: crd.array, len: hi.clone() };
        vec![room, Stmt::Fill { array: crd.array, lo, hi, value: int(-1) }]
    }

    fn insert_position(
        &self,
        _: &LevelArrays,
        parent: Expr,
        _: Expr,
        _: &mut dyn Names,
    ) -> Located {
        Located::at(parent)
    }

    fn insert_coord(&self, level: &LevelArrays, position: Expr, coordinate: Expr) -> Vec<Stmt> {
        vec![level.set_coordinate(position, coordinate)]
    }
}
