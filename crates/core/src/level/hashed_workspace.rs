//! The hashed level of workspaces: a hash table of the coordinates that were written, below all parents.
//!
//! ```text
//! written   (0,4) (1,2) (0,1)     parent and coordinate
//! position    0     1     2       in the order in which they came
//! above       0     1     0       the parents, where there are several
//! keys        4     2     1       the coordinates
//! slots     0 2 0 1 0 0 3 0       a position and one more, in the slot of its hash or the next free one
//! pos       0     2 3             once all came and are walked: where the coordinates of each parent are listed
//! crd       1 4   2
//! ```
//!
//! Its memory, and the time to empty it, follow the number of written coordinates, not the dimensions: there are at
//! least twice as many slots as positions, and slots double when they become too few (sparse tensor algebra with
//! workspaces, section 4.4; linear probing and multiplicative hashing: Knuth, The Art of Computer Programming, section
//! 6.4).

use super::arrays::HashTable;
use super::compressed::Compressed;
use super::listed::each;
use super::{
    Bounds, Entry, Labelled, LevelArrays, LevelFormat, LevelView, Located, Names, Part, Properties,
    Scratch,
};
use tamis_ir::algebra::BinaryOp;
use tamis_ir::datatype::Register;
use tamis_ir::ids::{Array, Var};
use tamis_ir::ir::build::{
    add, all, assign, binary, div, eq, for_loop, int, load, lt, mul, store, sub, when,
};
use tamis_ir::ir::{Expr, Status, Stmt, high};

pub(super) const PROPERTIES: Properties = Properties::LISTED;

/// The initial number of slots, a power of two.
const FEWEST: i64 = 16;
/// A hash has 32 bits.
const MOST: i64 = 1 << 31;
/// The multipliers of coordinates, and of the positions above them: odd, with irregular bits.
pub(super) const OF_KEY: i64 = 0x9E37_79B9_7F4A_7C15_u64 as i64;
pub(super) const OF_PARENT: i64 = 0xC2B2_AE3D_27D4_EB4F_u64 as i64;

#[derive(Debug)]
pub(super) struct HashedWorkspace;

impl LevelFormat for HashedWorkspace {
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
        "a hash table of coordinates below all parents; for workspaces"
    }

    fn walks(&self) -> bool {
        true
    }

    fn walks_coordinates(&self) -> bool {
        true
    }

    // The listed coordinates are walked, and checked, as a compressed level.
    fn pos_bounds(&self, level: &LevelArrays, parent: Expr) -> Option<Bounds> {
        Compressed.pos_bounds(level, parent)
    }

    fn pos_access(&self, level: &LevelArrays, parent: Expr, position: Expr) -> Option<Labelled> {
        Compressed.pos_access(level, parent, position)
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
        Some(probed(level.table(), parent, coordinate, names).1)
    }

    fn scratch(&self) -> Option<&dyn Scratch> {
        Some(self)
    }

    fn positions(&self, level: &LevelView<'_>, parents: u64) -> u64 {
        Compressed.positions(level, parents)
    }

    fn children(
        &self,
        level: &LevelView<'_>,
        parent: u64,
        within: (i64, i64),
        visit: &mut dyn FnMut(u64, i64),
    ) {
        Compressed.children(level, parent, within, visit);
    }

    fn check(&self, level: &LevelView<'_>, parents: u64) -> Result<(), String> {
        Compressed.check(level, parents)
    }

    fn length(&self, level: &LevelView<'_>, part: Part, parents: u64) -> u64 {
        Compressed.length(level, part, parents)
    }
}

impl Scratch for HashedWorkspace {
    fn grows(&self) -> bool {
        true
    }

    fn scratch_size(&self, level: &LevelArrays, _: Expr) -> Expr {
        level.table().positions()
    }

    fn scratch_init(&self, level: &LevelArrays, _: Expr) -> Vec<Stmt> {
        let table = level.table();
        let mut stmts = vec![
            Stmt::Reserve { array: table.counts, len: int(2) },
            store(table.counts, int(0), int(0)),
            store(table.counts, int(1), int(FEWEST)),
        ];
        stmts.extend(table.room(int(FEWEST)));
        stmts
    }

    fn scratch_entry(
        &self,
        level: &LevelArrays,
        parent: Expr,
        coordinate: Expr,
        names: &mut dyn Names,
    ) -> Entry {
        let table = level.table();
        let (slot, at) = probed(table, parent.clone(), coordinate.clone(), names);
        let Expr::Var(p) = at.position else { unreachable!("a probe gives a variable") };
        let count = add(Expr::Var(p), int(1));
        let mut missing = vec![
            assign(p, table.positions()),
            store(table.slots, Expr::Var(slot), count.clone()),
            store(table.keys, Expr::Var(p), coordinate),
        ];
        missing.extend(table.above.map(|above| store(above, Expr::Var(p), parent)));
        missing.push(store(table.counts, int(0), count.clone()));
        missing.push(when(lt(table.width(), mul(count, int(2))), grown(table, names)));
        Entry { at, missing }
    }

    /// Counts the coordinates of each parent, and lists them parent after parent.
    fn scratch_list(&self, level: &LevelArrays, parents: Expr, names: &mut dyn Names) -> Vec<Stmt> {
        let (table, pos) = (level.table(), level.pos());
        let [q, total, to] = ["q", "total", "to"].map(|name| names.index(name));
        let key = || load(table.keys, Expr::Var(q));
        let each = |body| for_loop(q, int(0), table.positions(), body);
        let room = level.reserve_coordinates(table.positions());
        let Some(above) = table.above else {
            return vec![
                Stmt::Reserve { array: pos, len: int(2) },
                store(pos, int(0), int(0)),
                store(pos, int(1), table.positions()),
                room,
                each(vec![level.set_coordinate(Expr::Var(q), key())]),
            ];
        };
        // While coordinates are listed, the start of a parent is kept one element behind it, and moves to its end.
        let after = |distance| add(load(above, Expr::Var(q)), int(distance));
        let end = add(parents, int(2));
        let counted = store(pos, after(2), add(load(pos, after(2)), int(1)));
        let summed = vec![
            assign(total, add(Expr::Var(total), load(pos, Expr::Var(q)))),
            store(pos, Expr::Var(q), Expr::Var(total)),
        ];
        let listed = vec![
            assign(to, load(pos, after(1))),
            level.set_coordinate(Expr::Var(to), key()),
            store(pos, after(1), add(Expr::Var(to), int(1))),
        ];
        vec![
            Stmt::Reserve { array: pos, len: end.clone() },
            Stmt::Fill { array: pos, lo: int(0), hi: end.clone(), value: int(0) },
            each(vec![counted]),
            assign(total, int(0)),
            for_loop(q, int(2), end, summed),
            room,
            each(listed),
        ]
    }

    fn scratch_sort(&self, level: &LevelArrays, parents: Expr, names: &mut dyn Names) -> Vec<Stmt> {
        let Some(crd) = level.crd else { return vec![] };
        let sort = |parent: Expr| {
            let [lo, hi] = [parent.clone(), add(parent, int(1))].map(|at| load(level.pos(), at));
            vec![Stmt::Sort { keys: vec![crd.array], carried: vec![], lo, hi }]
        };
        each(parents, names.index("q"), &sort)
    }

    /// Shrinks a table that was far too large, so that emptying takes time by the number of written coordinates.
    fn scratch_clear(&self, level: &LevelArrays, _: Expr, _: &mut dyn Names) -> Vec<Stmt> {
        let table = level.table();
        let few = lt(mul(table.positions(), int(8)), table.width());
        let least = lt(int(FEWEST), table.width());
        let fewer = div(table.width(), int(2));
        vec![
            Stmt::Fill { array: table.slots, lo: int(0), hi: table.width(), value: int(0) },
            when(all([few, least]), vec![store(table.counts, int(1), fewer)]),
            store(table.counts, int(0), int(0)),
        ]
    }
}

/// The slot that holds a coordinate, or would hold it, and its position.
fn probed(
    table: HashTable,
    parent: Expr,
    coordinate: Expr,
    names: &mut dyn Names,
) -> (Var, Located) {
    let (slot, p) = (names.index("slot"), names.index("p"));
    let differs = |array: Array, from: Expr| binary(BinaryOp::Ne, load(array, Expr::Var(p)), from);
    let other = differs(table.keys, coordinate.clone());
    let other = match table.above {
        Some(above) => binary(BinaryOp::Or, other, differs(above, parent.clone())),
        None => other,
    };
    let held = assign(p, sub(load(table.slots, Expr::Var(slot)), int(1)));
    let taken = binary(BinaryOp::Ge, Expr::Var(p), int(0));
    let mut next = stepped(table, slot);
    next.push(held.clone());
    let mut stmts = hashed(table, slot, parent, coordinate);
    stmts.push(held);
    let cond = Expr::AndThen(Box::new(taken.clone()), Box::new(other));
    stmts.push(Stmt::While { cond, body: next });
    (slot, Located { stmts, position: Expr::Var(p), found: Some(taken) })
}

/// The slot of a hash: the high bits of the product, scaled to the number of slots.
fn hashed(table: HashTable, slot: Var, parent: Expr, coordinate: Expr) -> Vec<Stmt> {
    let mixed = mul(coordinate, int(OF_KEY));
    let mixed = match table.above {
        Some(_) => add(mixed, mul(parent, int(OF_PARENT))),
        None => mixed,
    };
    let own = |e| high(e, Register::I64);
    let share = binary(BinaryOp::Mod, own(Expr::Var(slot)), int(1 << 32));
    vec![
        assign(slot, mixed),
        assign(slot, mul(share, table.width())),
        assign(slot, own(Expr::Var(slot))),
    ]
}

/// The next slot; the first slot follows the last.
fn stepped(table: HashTable, slot: Var) -> Vec<Stmt> {
    let end = eq(Expr::Var(slot), table.width());
    vec![assign(slot, add(Expr::Var(slot), int(1))), when(end, vec![assign(slot, int(0))])]
}

/// Doubles the slots, and inserts all positions anew.
fn grown(table: HashTable, names: &mut dyn Names) -> Vec<Stmt> {
    let HashTable { counts, keys, above, slots } = table;
    let [q, to] = ["q", "to"].map(|name| names.index(name));
    let at = |array| load(array, Expr::Var(q));
    let taken = binary(BinaryOp::Ne, load(slots, Expr::Var(to)), int(0));
    let mut each = hashed(table, to, above.map_or(int(0), at), at(keys));
    each.push(Stmt::While { cond: taken, body: stepped(table, to) });
    each.push(store(slots, Expr::Var(to), add(Expr::Var(q), int(1))));
    let mut stmts = vec![
        when(eq(table.width(), int(MOST)), vec![Stmt::Fail(Status::OutOfMemory)]),
        store(counts, int(1), mul(table.width(), int(2))),
    ];
    stmts.extend(table.room(table.width()));
    stmts.push(for_loop(q, int(0), table.positions(), each));
    stmts
}

impl HashTable {
    /// Allocates free slots, and memory for as many positions as they may hold.
    fn room(self, width: Expr) -> Vec<Stmt> {
        let positions = add(div(width.clone(), int(2)), int(1));
        let arrays = [self.keys].into_iter().chain(self.above);
        let mut stmts: Vec<Stmt> =
            arrays.map(|array| Stmt::Reserve { array, len: positions.clone() }).collect();
        stmts.push(Stmt::Reserve { array: self.slots, len: width.clone() });
        stmts.push(Stmt::Fill { array: self.slots, lo: int(0), hi: width, value: int(0) });
        stmts
    }
}
