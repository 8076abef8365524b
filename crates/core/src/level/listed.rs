//! The listed level: a position for every coordinate, a mask and a list of the stored ones.
//!
//! ```text
//! parent    0            1
//! mask      1 0 0 1      0 0 1 0          position = parent * size + coordinate
//! pos       2            1                how many are listed
//! crd       3 0 . .      2 . . .          the coordinates, in the order in which they came
//! ```
//!
//! For workspaces only: written coordinates are located, walked and cleared without touching the other positions
//! (sparse tensor algebra with workspaces, section 6).

use super::bitmap::Bitmap;
use super::dense::{Dense, position};
use super::{
    Bounds, Entry, Labelled, LevelArrays, LevelFormat, LevelView, Located, Names, Part, Properties,
    Scratch,
};
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{add, for_loop, int, load, mul, store};
use tamis_ir::ir::{Expr, Stmt};

pub(super) const PROPERTIES: Properties = Properties::LISTED;

#[derive(Debug)]
pub(super) struct Listed;

impl LevelFormat for Listed {
    fn name(&self) -> &'static str {
        "listed"
    }

    fn properties(&self) -> Properties {
        PROPERTIES
    }

    fn parts(&self) -> &'static [Part] {
        &[Part::Pos, Part::Crd, Part::Mask]
    }

    fn summary(&self) -> &'static str {
        "room for every coordinate, a mask and a list of those present; for workspaces"
    }

    fn pos_bounds(&self, level: &LevelArrays, parent: Expr) -> Option<Bounds> {
        let lo = mul(parent.clone(), level.size.clone());
        Some(Bounds { lo: lo.clone(), hi: add(lo, load(level.pos(), parent)) })
    }

    fn pos_access(&self, level: &LevelArrays, _: Expr, position: Expr) -> Option<Labelled> {
        Some(Labelled { coordinate: level.coordinate(position), found: None })
    }

    fn walks(&self) -> bool {
        true
    }

    fn walks_coordinates(&self) -> bool {
        true
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
        Bitmap.locate(level, parent, coordinate, names)
    }

    fn size(&self, level: &LevelArrays, parents: Expr) -> Option<Expr> {
        Dense.size(level, parents)
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
        _: (i64, i64),
        visit: &mut dyn FnMut(u64, i64),
    ) {
        let first = parent * level.header.size;
        for place in first..first + level.pos(parent) {
            let c = level.coordinate(place);
            visit(first + level.from_least(c), c);
        }
    }

    fn check(&self, level: &LevelView<'_>, parents: u64) -> Result<(), String> {
        Bitmap.check(level, parents)
    }

    fn length(&self, level: &LevelView<'_>, part: Part, parents: u64) -> u64 {
        match part {
            Part::Pos => parents,
            _ => self.positions(level, parents),
        }
    }
}

impl Scratch for Listed {
    fn scratch_init(&self, level: &LevelArrays, parents: Expr) -> Vec<Stmt> {
        let room = |array, len: &Expr| Stmt::Reserve { array, len: len.clone() };
        let size = mul(parents.clone(), level.size.clone());
        let none = |array, hi| Stmt::Fill { array, lo: int(0), hi, value: int(0) };
        vec![
            room(level.mask(), &size),
            level.reserve_coordinates(size.clone()),
            room(level.pos(), &parents),
            none(level.mask(), size),
            none(level.pos(), parents),
        ]
    }

    fn scratch_entry(
        &self,
        level: &LevelArrays,
        parent: Expr,
        coordinate: Expr,
        names: &mut dyn Names,
    ) -> Entry {
        let Entry { at, mut missing } =
            Bitmap.scratch_entry(level, parent.clone(), coordinate.clone(), names);
        let count = || load(level.pos(), parent.clone());
        let next = add(mul(parent.clone(), level.size.clone()), count());
        missing.push(level.set_coordinate(next, coordinate));
        missing.push(store(level.pos(), parent.clone(), add(count(), int(1))));
        Entry { at, missing }
    }

    fn scratch_sort(&self, level: &LevelArrays, parents: Expr, names: &mut dyn Names) -> Vec<Stmt> {
        let Some(crd) = level.crd else { return vec![] };
        let sort = |parent: Expr| {
            let lo = mul(parent.clone(), level.size.clone());
            let hi = add(lo.clone(), load(level.pos(), parent));
            Stmt::Sort { keys: vec![crd.array], carried: vec![], lo, hi }
        };
        each(parents, names.index("p"), &|parent| vec![sort(parent)])
    }

    fn scratch_clear(
        &self,
        level: &LevelArrays,
        parents: Expr,
        names: &mut dyn Names,
    ) -> Vec<Stmt> {
        let (p, q) = (names.index("p"), names.index("q"));
        let clear = |parent: Expr| {
            let lo = mul(parent.clone(), level.size.clone());
            let hi = add(lo.clone(), load(level.pos(), parent.clone()));
            let at = position(level, parent.clone(), level.coordinate(Expr::Var(q)));
            let forget = store(level.mask(), at, int(0));
            vec![for_loop(q, lo, hi, vec![forget]), store(level.pos(), parent, int(0))]
        };
        each(parents, p, &clear)
    }
}

/// The code for each parent: a loop, unless there is only one parent.
pub(super) fn each(parents: Expr, p: Var, body: &dyn Fn(Expr) -> Vec<Stmt>) -> Vec<Stmt> {
    match parents == int(1) {
        true => body(int(0)),
        false => vec![for_loop(p, int(0), parents, body(Expr::Var(p)))],
    }
}
