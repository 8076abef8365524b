//! A level format from outside Tamis: the coordinates below each parent are one band, of which
//! only the first coordinate is stored.
//!
//! ```text
//! width     3
//! parent    0            1            2
//! crd       1            -1           4         the first coordinate, -1 for none
//! position  0 1 2        3 4 5        6 7 8     coordinate = crd[position / width] + position % width
//!           1 2 3        . . .        4 5 .     what lies outside the dimension is no coordinate
//! ```
//!
//! Every parent has room for the widest band. Positions in it that no entry was written to hold the
//! fill value, so a band is for rows whose entries lie close together: `(i, j) -> (i: dense, j:
//! banded)` is a band matrix, and stays one where the band moves.
//!
//! The guide to writing a level format, `docs/guide/extend/level-format.md`, goes through this file.

use tamis::level::code::{
    BinaryOp, Expr, Stmt, Var, add, all, assign, binary, eq, int, lt, mul, sub, when,
};
use tamis::level::{
    Bounds, Insert, Labelled, LevelArrays, LevelFormat, LevelView, Located, Names, Part,
    Properties, Query, register,
};

/// The level format.
#[derive(Debug)]
pub struct Banded;

/// Lets format text name the level format; false if the name was taken.
pub fn install() -> bool {
    register(&Banded)
}

impl LevelFormat for Banded {
    fn name(&self) -> &'static str {
        "banded"
    }

    fn properties(&self) -> Properties {
        Properties { compact: false, ..Properties::LISTED }
    }

    fn parts(&self) -> &'static [Part] {
        &[Part::Crd, Part::Width]
    }

    fn summary(&self) -> &'static str {
        "a band of coordinates for each parent, all of the same width"
    }

    fn walks(&self) -> bool {
        true
    }

    fn pos_bounds(&self, level: &LevelArrays, parent: Expr) -> Option<Bounds> {
        let lo = mul(parent.clone(), level.width());
        Some(Bounds { lo, hi: mul(add(parent, int(1)), level.width()) })
    }

    fn pos_access(&self, level: &LevelArrays, parent: Expr, position: Expr) -> Option<Labelled> {
        let first = level.coordinate(parent.clone());
        let distance = sub(position, mul(parent, level.width()));
        let place = add(first.clone(), distance);
        let found = all([lt(int(-1), first), lt(place.clone(), level.size.clone())]);
        Some(Labelled { coordinate: level.with_least(place), found: Some(found) })
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
        let first = level.coordinate(parent.clone());
        let place = sub(level.from_least(coordinate), first.clone());
        let found =
            all([lt(int(-1), first), lt(int(-1), place.clone()), lt(place.clone(), level.width())]);
        let position = add(mul(parent, level.width()), place);
        Some(Located { stmts: vec![], position, found: Some(found) })
    }

    fn size(&self, level: &LevelArrays, parents: Expr) -> Option<Expr> {
        Some(mul(parents, level.width()))
    }

    fn insert(&self) -> Option<&dyn Insert> {
        Some(self)
    }

    fn positions(&self, level: &LevelView<'_>, parents: u64) -> u64 {
        parents.saturating_mul(level.width())
    }

    fn children(
        &self,
        level: &LevelView<'_>,
        parent: u64,
        open: (i64, i64),
        visit: &mut dyn FnMut(u64, i64),
    ) {
        let first = level.coordinate(parent);
        if first < 0 {
            return;
        }
        let least = level.header.least;
        for place in 0..level.width() {
            let c = first + place as i64 + least;
            if open.0 <= c && c < open.1 {
                visit(parent * level.width() + place, c);
            }
        }
    }

    fn check(&self, level: &LevelView<'_>, parents: u64) -> Result<(), String> {
        let widths = level.width.ok_or("the width is missing")?;
        if widths.len() != 1 || widths.at(0) < 1 {
            return Err("the width is not one number from 1 on".to_owned());
        }
        if level.coordinates() != parents {
            return Err(format!("crd has {} entries for {parents} parents", level.coordinates()));
        }
        let size = level.header.size as i64;
        match (0..parents).find(|&p| !(-1..size).contains(&level.coordinate(p))) {
            None => Ok(()),
            Some(p) => Err(format!("band {p} begins outside the dimension")),
        }
    }

    fn length(&self, _: &LevelView<'_>, part: Part, parents: u64) -> u64 {
        match part {
            Part::Width => 1,
            _ => parents,
        }
    }

    fn length_code(&self, part: Part, parents: Expr, _: Expr) -> Expr {
        match part {
            Part::Width => int(1),
            _ => parents,
        }
    }
}

impl Insert for Banded {
    fn insert_init(&self, level: &LevelArrays, lo: Expr, hi: Expr) -> Vec<Stmt> {
        let parents = |positions: Expr| binary(BinaryOp::Div, positions, level.width());
        let array = level.crd.expect("a banded level has coordinates").array;
        let (lo, hi) = (parents(lo), parents(hi));
        vec![Stmt::Reserve { array, len: hi.clone() }, Stmt::Fill { array, lo, hi, value: int(-1) }]
    }

    /// The first coordinate that comes begins the band, since they come in order.
    fn insert_position(
        &self,
        level: &LevelArrays,
        parent: Expr,
        coordinate: Expr,
        names: &mut dyn Names,
    ) -> Located {
        let first = names.index("first");
        let place = level.from_least(coordinate);
        let begin = vec![
            assign(first, place.clone()),
            level.set_coordinate(parent.clone(), Expr::Var(first)),
        ];
        let stmts = vec![
            assign(first, level.coordinate(parent.clone())),
            when(eq(Expr::Var(first), int(-1)), begin),
        ];
        let position = add(mul(parent, level.width()), sub(place, Expr::Var(first)));
        Located { stmts, position, found: None }
    }

    fn insert_coord(&self, _: &LevelArrays, _: Expr, _: Expr) -> Vec<Stmt> {
        vec![]
    }

    fn insert_query(&self) -> Query {
        Query::Span
    }

    fn insert_width(&self, most: Expr, width: Var) -> Option<Vec<Stmt>> {
        Some(vec![assign(width, binary(BinaryOp::Max, most, int(1)))])
    }
}
