//! The compressed level: each parent has a segment of the coordinates array.
//!
//! ```text
//! parent   0      1  2
//! pos      0      2  2        5           segment of p is pos[p] .. pos[p + 1]
//! crd      1  3      0  2  3
//! ```

use super::{
    Append, Bounds, Count, Labelled, LevelArrays, LevelFormat, LevelView, Part, Properties,
    Property,
};
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{add, assign, for_loop, int, load, lt, store, when};
use tamis_ir::ir::{Expr, Stmt};

#[derive(Debug)]
pub(super) struct Compressed;

impl LevelFormat for Compressed {
    fn name(&self) -> &'static str {
        "compressed"
    }

    fn properties(&self) -> Properties {
        Properties::LISTED
    }

    fn optional(&self) -> &'static [Property] {
        &[Property::Nonordered, Property::Nonunique, Property::Interleaved]
    }

    fn parts(&self) -> &'static [Part] {
        &[Part::Pos, Part::Crd]
    }

    fn summary(&self) -> &'static str {
        "the coordinates present, a segment of an array for each parent"
    }

    fn walks(&self) -> bool {
        true
    }

    fn pos_bounds(&self, level: &LevelArrays, parent: Expr) -> Option<Bounds> {
        let lo = load(level.pos(), parent.clone());
        Some(Bounds { lo, hi: load(level.pos(), add(parent, int(1))) })
    }

    fn pos_access(&self, level: &LevelArrays, _: Expr, position: Expr) -> Option<Labelled> {
        Some(Labelled { coordinate: level.coordinate(position), found: None })
    }

    fn append(&self) -> Option<&dyn Append> {
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
            visit(p, level.coordinate(p));
        }
    }

    fn check(&self, level: &LevelView<'_>, parents: u64) -> Result<(), String> {
        check_segments(level, parents)
    }

    fn length(&self, level: &LevelView<'_>, part: Part, parents: u64) -> u64 {
        match part {
            Part::Pos => parents.saturating_add(1),
            _ => level.pos(parents),
        }
    }
}

/// Replaces the number of each parent, so many entries behind the parent's in the positions array, by the sum of all up to it.
pub(super) fn sums(
    level: &LevelArrays,
    behind: i64,
    parents: Expr,
    (parent, total): (Var, Var),
    check: Vec<Stmt>,
) -> Vec<Stmt> {
    let entry = add(Expr::Var(parent), int(behind));
    let sum = add(Expr::Var(total), load(level.pos(), entry.clone()));
    let mut body = vec![assign(total, sum)];
    body.extend(check);
    body.push(store(level.pos(), entry, Expr::Var(total)));
    vec![assign(total, int(0)), for_loop(parent, int(0), parents, body)]
}

/// The segments of the parents follow each other, and are all there is.
pub(super) fn check_segments(level: &LevelView<'_>, parents: u64) -> Result<(), String> {
    let pos = level.pos.ok_or("the positions are missing")?;
    if pos.len() as u64 != parents.saturating_add(1) {
        return Err(format!("pos has {} entries for {parents} parents", pos.len()));
    }
    if pos.at(0) != 0 {
        return Err(format!("pos starts at {}, not 0", pos.at(0)));
    }
    if let Some(k) = (1..pos.len()).find(|&k| pos.at(k) < pos.at(k - 1)) {
        return Err(format!("pos descends at entry {k}"));
    }
    let (end, stored) = (level.pos(parents), level.coordinates());
    match end == stored {
        true => Ok(()),
        false => Err(format!("pos ends at {end}, crd has {stored} entries")),
    }
}

impl Append for Compressed {
    fn append_init(&self, level: &LevelArrays) -> Vec<Stmt> {
        vec![Stmt::Reserve { array: level.pos(), len: int(1) }, store(level.pos(), int(0), int(0))]
    }

    fn append_parents(&self, level: &LevelArrays, lo: Expr, hi: Expr) -> Vec<Stmt> {
        let (lo, hi) = (add(lo, int(1)), add(hi, int(1)));
        vec![
            Stmt::Reserve { array: level.pos(), len: hi.clone() },
            Stmt::Fill { array: level.pos(), lo, hi, value: int(0) },
        ]
    }

    fn append_coord(&self, level: &LevelArrays, position: Expr, coordinate: Expr) -> Vec<Stmt> {
        vec![level.set_coordinate(position, coordinate)]
    }

    fn append_edges(&self, level: &LevelArrays, parent: Expr, end: Expr) -> Vec<Stmt> {
        vec![store(level.pos(), add(parent, int(1)), end)]
    }

    fn append_finalize(&self, level: &LevelArrays, lo: Expr, hi: Expr, scratch: Var) -> Vec<Stmt> {
        let p = || Expr::Var(scratch);
        let (here, next) = (load(level.pos(), p()), load(level.pos(), add(p(), int(1))));
        let carry = store(level.pos(), add(p(), int(1)), here.clone());
        vec![for_loop(scratch, lo, hi, vec![when(lt(next, here), vec![carry])])]
    }

    fn count(&self) -> Option<&dyn Count> {
        Some(self)
    }
}

/// Counts are kept two entries behind the parent's, so that after the sums the entry behind it is
/// where its next child goes, and at last where its segment ends.
impl Count for Compressed {
    fn count_init(&self, level: &LevelArrays, parents: Expr) -> Vec<Stmt> {
        let (array, len) = (level.pos(), add(parents, int(2)));
        let room = Stmt::Reserve { array, len: len.clone() };
        vec![room, Stmt::Fill { array, lo: int(0), hi: len, value: int(0) }]
    }

    fn count_coord(&self, level: &LevelArrays, parent: Expr) -> Vec<Stmt> {
        let place = add(parent, int(2));
        let count = add(load(level.pos(), place.clone()), int(1));
        vec![store(level.pos(), place, count)]
    }

    fn count_sums(
        &self,
        level: &LevelArrays,
        parents: Expr,
        scratch: Var,
        total: Var,
        check: Vec<Stmt>,
    ) -> Vec<Stmt> {
        sums(level, 2, parents, (scratch, total), check)
    }

    fn count_next(&self, level: &LevelArrays, parent: Expr, position: Var) -> Vec<Stmt> {
        let place = add(parent, int(1));
        let next = add(Expr::Var(position), int(1));
        vec![assign(position, load(level.pos(), place.clone())), store(level.pos(), place, next)]
    }
}
