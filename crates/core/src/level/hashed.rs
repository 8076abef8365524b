//! The hashed level: each parent has a hash map of its own, whose buckets are a power of two and more than its
//! coordinates. A coordinate, counted from the least one, is in the bucket of its lowest bits, or in the next
//! one that was free; -1 marks an empty bucket.
//!
//! ```text
//! parent    0              1        2
//! pos       0              4        5             9
//! crd       4 1 -1 0       -1       -1 5 2 -1       0 found its bucket taken by 4, and so on to the last
//! ```

use super::{
    Bounds, Insert, InsertEdges, Labelled, LevelArrays, LevelFormat, LevelView, Located, Names,
    Part, Properties, compressed,
};
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{add, all, assign, binary, eq, int, load, lt, mul, store, sub};
use tamis_ir::ir::{Expr, Stmt};

pub(super) const PROPERTIES: Properties =
    Properties { ordered: false, compact: false, ..Properties::LISTED };

#[derive(Debug)]
pub(super) struct Hashed;

impl LevelFormat for Hashed {
    fn name(&self) -> &'static str {
        "hashed"
    }

    fn properties(&self) -> Properties {
        PROPERTIES
    }

    fn parts(&self) -> &'static [Part] {
        &[Part::Pos, Part::Crd]
    }

    fn summary(&self) -> &'static str {
        "a hash map of coordinates for each parent"
    }

    fn walks(&self) -> bool {
        true
    }

    fn pos_bounds(&self, level: &LevelArrays, parent: Expr) -> Option<Bounds> {
        let (lo, hi) = table(level, parent);
        Some(Bounds { lo, hi })
    }

    fn pos_access(&self, level: &LevelArrays, _: Expr, position: Expr) -> Option<Labelled> {
        let stored = level.coordinate(position);
        let found = binary(BinaryOp::Ne, stored.clone(), int(-1));
        Some(Labelled { coordinate: level.with_least(stored), found: Some(found) })
    }

    fn locates(&self) -> bool {
        true
    }

    /// Goes from bucket to bucket; a hash map always has an empty one.
    fn locate(
        &self,
        level: &LevelArrays,
        parent: Expr,
        coordinate: Expr,
        names: &mut dyn Names,
    ) -> Option<Located> {
        let coordinate = level.from_least(coordinate);
        let (bucket, p) = (names.index("bucket"), names.index("p"));
        let stored = || level.coordinate(Expr::Var(p));
        let (begin, end) = table(level, parent);
        let width = sub(end, begin.clone());
        let at = |bucket: Expr| assign(p, add(begin.clone(), bucket));
        let next = binary(BinaryOp::Mod, add(Expr::Var(bucket), int(1)), width.clone());
        let elsewhere = all([
            binary(BinaryOp::Ne, stored(), coordinate.clone()),
            binary(BinaryOp::Ne, stored(), int(-1)),
        ]);
        let stmts = vec![
            assign(bucket, binary(BinaryOp::Mod, coordinate.clone(), width)),
            at(Expr::Var(bucket)),
            Stmt::While {
                cond: elsewhere,
                body: vec![assign(bucket, next), at(Expr::Var(bucket))],
            },
        ];
        let found = eq(stored(), coordinate);
        Some(Located { stmts, position: Expr::Var(p), found: Some(found) })
    }

    fn size(&self, level: &LevelArrays, parents: Expr) -> Option<Expr> {
        Some(load(level.pos(), parents))
    }

    fn insert(&self) -> Option<&dyn Insert> {
        Some(self)
    }

    fn positions(&self, level: &LevelView<'_>, parents: u64) -> u64 {
        level.pos(parents)
    }

    fn children(
        &self,
        level: &LevelView<'_>,
        parent: u64,
        _: (i64, i64),
        visit: &mut dyn FnMut(u64, i64),
    ) {
        for p in level.pos(parent)..level.pos(parent + 1) {
            let c = level.coordinate(p);
            if c != -1 {
                visit(p, c + level.header.least);
            }
        }
    }

    fn check(&self, level: &LevelView<'_>, parents: u64) -> Result<(), String> {
        compressed::check_segments(level, parents)?;
        (0..parents).try_for_each(|parent| {
            let begin = level.pos(parent);
            check_table(level, begin, level.pos(parent + 1) - begin)
        })
    }

    fn length(&self, level: &LevelView<'_>, part: Part, parents: u64) -> u64 {
        match part {
            Part::Pos => parents.saturating_add(1),
            _ => level.pos(parents),
        }
    }
}

/// Where the hash map of a parent begins, and where it ends.
fn table(level: &LevelArrays, parent: Expr) -> (Expr, Expr) {
    (load(level.pos(), parent.clone()), load(level.pos(), add(parent, int(1))))
}

/// Every coordinate is found on the way from its bucket on, and every search ends.
fn check_table(level: &LevelView<'_>, base: u64, width: u64) -> Result<(), String> {
    if !width.is_power_of_two() {
        return Err(format!("a hash table has {width} buckets, which is not a power of two"));
    }
    if !(0..width).any(|b| level.coordinate(base + b) == -1) {
        return Err("a hash table has no empty bucket, so searches would not end".to_owned());
    }
    for b in 0..width {
        let c = level.coordinate(base + b);
        match c {
            -1 => continue,
            ..-1 => return Err(format!("bucket {b} holds {c}; -1 marks an empty one")),
            0.. => {}
        }
        let mut at = c as u64 % width;
        while at != b && !matches!(level.coordinate(base + at), -1) {
            if level.coordinate(base + at) == c {
                return Err(format!("the coordinate {c} is in a hash table twice"));
            }
            at = (at + 1) % width;
        }
        if at != b {
            return Err(format!("the coordinate {c} is not found from its bucket on"));
        }
    }
    Ok(())
}

impl Insert for Hashed {
    fn insert_init(&self, level: &LevelArrays, lo: Expr, hi: Expr) -> Vec<Stmt> {
        let crd = level.crd.expect("a hashed level has coordinates");
        let room = Stmt::Reserve { array: crd.array, len: hi.clone() };
        vec![room, Stmt::Fill { array: crd.array, lo, hi, value: int(-1) }]
    }

    fn insert_position(
        &self,
        level: &LevelArrays,
        parent: Expr,
        coordinate: Expr,
        names: &mut dyn Names,
    ) -> Located {
        self.locate(level, parent, coordinate, names).expect("a hashed level locates")
    }

    fn insert_coord(&self, level: &LevelArrays, position: Expr, coordinate: Expr) -> Vec<Stmt> {
        vec![level.set_coordinate(position, level.from_least(coordinate))]
    }

    fn edges(&self) -> Option<&dyn InsertEdges> {
        Some(self)
    }

    /// Twice the children, as a power of two, so that a bucket stays empty.
    fn insert_width(&self, children: Expr, width: Var) -> Option<Vec<Stmt>> {
        let narrow = lt(Expr::Var(width), mul(children, int(2)));
        let wider = assign(width, mul(Expr::Var(width), int(2)));
        Some(vec![assign(width, int(1)), Stmt::While { cond: narrow, body: vec![wider] }])
    }
}

impl InsertEdges for Hashed {
    /// A hash map without coordinates has one bucket.
    fn edges_init(&self, level: &LevelArrays, lo: Expr, hi: Expr) -> Vec<Stmt> {
        let (lo, hi) = (add(lo, int(1)), add(hi, int(1)));
        let room = Stmt::Reserve { array: level.pos(), len: hi.clone() };
        vec![room, Stmt::Fill { array: level.pos(), lo, hi, value: int(1) }]
    }

    fn insert_edges(&self, level: &LevelArrays, parent: Expr, width: Expr) -> Vec<Stmt> {
        vec![store(level.pos(), add(parent, int(1)), width)]
    }

    fn edges_finalize(
        &self,
        level: &LevelArrays,
        parents: Expr,
        scratch: Var,
        total: Var,
        check: Vec<Stmt>,
    ) -> Vec<Stmt> {
        let mut stmts = vec![
            Stmt::Reserve { array: level.pos(), len: add(parents.clone(), int(1)) },
            store(level.pos(), int(0), int(0)),
        ];
        stmts.extend(compressed::sums(level, 1, parents, (scratch, total), check));
        stmts
    }
}
