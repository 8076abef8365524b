//! The bitmap level: a position for every coordinate, and a mask of the stored ones.
//!
//! ```text
//! parent    0            1
//! mask      1 0 0 1      0 0 1 0          position = parent * size + coordinate
//! ```
//!
//! The mask has a byte for each position, so that threads can write rows at the same time. Loops load eight bytes as
//! one word, to test whether any is set.

use super::dense::{Dense, position};
use super::{
    Bounds, Entry, Insert, Labelled, LevelArrays, LevelFormat, LevelView, Located, Names, Part,
    Properties, Scratch, Stretch,
};
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ir::build::{add, binary, eq, int, load, mul, store, sub};
use tamis_ir::ir::{Expr, Stmt};

pub(super) const PROPERTIES: Properties = Properties { compact: false, ..Properties::LISTED };

/// Bytes of a word.
const WORD: u16 = 8;

#[derive(Debug)]
pub(super) struct Bitmap;

impl LevelFormat for Bitmap {
    fn name(&self) -> &'static str {
        "bitmap"
    }

    fn properties(&self) -> Properties {
        PROPERTIES
    }

    fn parts(&self) -> &'static [Part] {
        &[Part::Mask]
    }

    fn summary(&self) -> &'static str {
        "room for every coordinate of the dimension, and a mask of those present"
    }

    fn walks(&self) -> bool {
        true
    }

    fn pos_bounds(&self, level: &LevelArrays, parent: Expr) -> Option<Bounds> {
        let lo = mul(parent.clone(), level.size.clone());
        Some(Bounds { lo, hi: mul(add(parent, int(1)), level.size.clone()) })
    }

    fn pos_access(&self, level: &LevelArrays, parent: Expr, position: Expr) -> Option<Labelled> {
        let distance = sub(position.clone(), mul(parent, level.size.clone()));
        let found = binary(BinaryOp::Ne, load(level.mask(), position), int(0));
        Some(Labelled { coordinate: level.with_least(distance), found: Some(found) })
    }

    fn pos_passed(&self, level: &LevelArrays, position: Expr) -> Option<Stretch> {
        let word = Expr::Load { array: level.mask(), index: Box::new(position), lanes: WORD };
        let empty = eq(Expr::Reduce(BinaryOp::Add, Box::new(word)), int(0));
        Some(Stretch { positions: i64::from(WORD), empty })
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
        let position = position(level, parent, coordinate);
        let found = binary(BinaryOp::Ne, load(level.mask(), position.clone()), int(0));
        Some(Located { stmts: vec![], position, found: Some(found) })
    }

    fn size(&self, level: &LevelArrays, parents: Expr) -> Option<Expr> {
        Dense.size(level, parents)
    }

    fn insert(&self) -> Option<&dyn Insert> {
        Some(self)
    }

    fn scratch(&self) -> Option<&dyn Scratch> {
        Some(self)
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
        let mask = level.mask.expect("the level has a mask");
        Dense.children(level, parent, open, &mut |p, c| {
            if mask.at(p as usize) != 0 {
                visit(p, c);
            }
        });
    }

    fn check(&self, level: &LevelView<'_>, parents: u64) -> Result<(), String> {
        let mask = level.mask.ok_or("the mask is missing")?;
        let positions = self.positions(level, parents);
        if mask.len() as u64 != positions {
            return Err(format!("the mask has {} entries for {positions} positions", mask.len()));
        }
        match (0..mask.len()).find(|&k| !matches!(mask.at(k), 0 | 1)) {
            None => Ok(()),
            Some(k) => Err(format!("entry {k} of the mask is {}, not a bool", mask.at(k))),
        }
    }

    fn length(&self, level: &LevelView<'_>, _: Part, parents: u64) -> u64 {
        self.positions(level, parents)
    }
}

impl Insert for Bitmap {
    fn insert_init(&self, level: &LevelArrays, lo: Expr, hi: Expr) -> Vec<Stmt> {
        let room = Stmt::Reserve { array: level.mask(), len: hi.clone() };
        vec![room, Stmt::Fill { array: level.mask(), lo, hi, value: int(0) }]
    }

    fn insert_position(
        &self,
        level: &LevelArrays,
        parent: Expr,
        coordinate: Expr,
        _: &mut dyn Names,
    ) -> Located {
        Located::at(position(level, parent, coordinate))
    }

    fn insert_coord(&self, level: &LevelArrays, position: Expr, _: Expr) -> Vec<Stmt> {
        vec![store(level.mask(), position, int(1))]
    }
}

impl Scratch for Bitmap {
    fn scratch_init(&self, level: &LevelArrays, parents: Expr) -> Vec<Stmt> {
        self.insert_init(level, int(0), mul(parents, level.size.clone()))
    }

    fn scratch_entry(
        &self,
        level: &LevelArrays,
        parent: Expr,
        coordinate: Expr,
        names: &mut dyn Names,
    ) -> Entry {
        let at = self.locate(level, parent.clone(), coordinate.clone(), names);
        let at = at.expect("every coordinate has a position");
        let missing = vec![store(level.mask(), position(level, parent, coordinate), int(1))];
        Entry { at, missing }
    }

    fn scratch_sort(&self, _: &LevelArrays, _: Expr, _: &mut dyn Names) -> Vec<Stmt> {
        vec![]
    }

    fn scratch_clear(&self, level: &LevelArrays, parents: Expr, _: &mut dyn Names) -> Vec<Stmt> {
        let hi = mul(parents, level.size.clone());
        vec![Stmt::Fill { array: level.mask(), lo: int(0), hi, value: int(0) }]
    }
}
