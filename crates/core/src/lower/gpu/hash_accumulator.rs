//! Workspaces for rows that threads compute concurrently: slices of arrays that the threads share.
//!
//! ```text
//! terms = terms + 1                            the number of terms of a row, counted by loops of their own
//! C_begins[i + 1] = min(terms * 2 + 1, size)   summed up: the end of its slice
//!
//! at = begin + mod(j, end - begin)             a free slot, or that of the coordinate
//! while C_keys[at] >= 0 && C_keys[at] != j  at = at + 1, from the slice's end to its begin
//! if C_keys[at] < 0  C_keys[at] = j, C_w[at] = value, list j  else  C_w[at] = C_w[at] + value
//!
//! q = list_end; while q > begin && C_list[q - 1] > j  q = q - 1         in short slices: the list is sorted
//! if q > begin && C_list[q - 1] == j  at = C_places[q - 1]  else  move what is behind, list j at q
//! ```
//!
//! A slice has twice as many slots as its row has terms, so that a free one is close by; or one for every coordinate,
//! if these are fewer. Memory depends on the number of terms, not on the width of rows times the number of concurrent
//! rows, and terms are added in the order of the loops. (Linear probing: Knuth, The Art of Computer Programming,
//! section 6.4; for products of matrices: Nagasaka et al., High-performance sparse matrix-matrix products, 2018.)

use crate::lower::builder::advance;
use crate::lower::symbols::Symbols;
use crate::lower::value::Vals;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::datatype::DataType;
use tamis_ir::ids::{Array, Var};
use tamis_ir::ir::build::{add, assign, binary, eq, int, load, lt, mul, store, sub, when};
use tamis_ir::ir::{Expr, Stmt};

/// The largest number of slots of a slice whose list is kept sorted: those of 64 terms.
const SHORT: i64 = 2 * 64 + 1;

/// Slices of arrays, one for each row.
#[derive(Clone)]
pub(in crate::lower) struct RowHashTable {
    /// The number of values for the current row.
    pub(in crate::lower) terms: Var,
    /// The start and the end of the current slice.
    pub(in crate::lower) begin: Var,
    pub(in crate::lower) end: Var,
    /// The start of each slice.
    pub(in crate::lower) begins: Array,
    /// The coordinate in a slot, or -1.
    pub(in crate::lower) keys: Array,
    /// The slot of each coordinate in the list.
    pub(in crate::lower) places: Array,
    /// These arrays, and those of values and of the list.
    pub(in crate::lower) arrays: Vec<Array>,
    /// Whether the list is sorted; counting does not need that.
    pub(in crate::lower) sorting: Var,
    /// The number of coordinates of the level.
    size: Expr,
}

impl RowHashTable {
    /// The number of slots of a row's slice.
    pub(in crate::lower) fn places_for_terms(&self) -> Expr {
        let twice = add(mul(Expr::Var(self.terms), int(2)), int(1));
        binary(BinaryOp::Min, twice, self.size.clone())
    }

    /// Whether coordinates are found in a sorted list instead of slots: there are few terms, and fewer slots than
    /// coordinates.
    fn is_short(&self) -> Expr {
        let slots = sub(Expr::Var(self.end), Expr::Var(self.begin));
        let few = binary(BinaryOp::Le, slots.clone(), int(SHORT));
        Expr::AndThen(Box::new(few), Box::new(lt(slots, self.size.clone())))
    }

    /// Statements only for slices that use slots.
    pub(in crate::lower) fn in_slots(&self, stmts: Vec<Stmt>) -> Stmt {
        Stmt::If { cond: self.is_short(), then: vec![], otherwise: stmts }
    }

    /// Frees a slot.
    pub(in crate::lower) fn cleared(&self, place: Expr) -> Stmt {
        store(self.keys, place, int(-1))
    }
}

impl RowHashTable {
    /// The arrays of a sliced workspace, beside those of its values and its list.
    pub(in crate::lower) fn declared(
        cx: &mut Symbols<'_>,
        name: &str,
        vals: Vals,
        list: Array,
        crd: DataType,
        size: Expr,
    ) -> RowHashTable {
        let begins = cx.common(&format!("{name}_begins"), DataType::I64);
        let keys = cx.common(&format!("{name}_keys"), crd);
        let places = cx.common(&format!("{name}_places"), DataType::I64);
        let mut arrays = vals.arrays();
        arrays.extend([list, keys, places]);
        let vars = ["terms", "begin", "end", "last"].map(|own| cx.temp(own));
        let [terms, begin, end, sorting] = vars;
        RowHashTable { terms, begin, end, begins, keys, places, arrays, sorting, size }
    }

    /// The slot of a coordinate: its own, or a free one, whose coordinate is then listed; and whether it is new.
    pub(in crate::lower) fn place_in(
        &self,
        cx: &mut Symbols<'_>,
        c: Var,
        (list, count): (Array, Var),
        looking: bool,
        stmts: &mut Vec<Stmt>,
    ) -> (Var, Expr) {
        let [at, new] = ["at", "is_new"].map(|name| cx.temp(name));
        if looking {
            stmts.push(assign(self.terms, add(Expr::Var(self.terms), int(1))));
        }
        let then = self.in_order(cx, c, (list, count), (at, new));
        let otherwise = self.by_slot(c, (list, count), (at, new));
        stmts.push(Stmt::If { cond: self.is_short(), then, otherwise });
        (at, eq(Expr::Var(new), int(1)))
    }

    /// The lookup of a coordinate in a sorted list.
    fn in_order(
        &self,
        cx: &mut Symbols<'_>,
        c: Var,
        (list, count): (Array, Var),
        (at, new): (Var, Var),
    ) -> Vec<Stmt> {
        let [q, moved] = ["q", "moved"].map(|name| cx.temp(name));
        let before = |var: Var| add(Expr::Var(var), int(-1));
        let behind = |op, q: Var| {
            let some = lt(Expr::Var(self.begin), Expr::Var(q));
            let other = binary(op, load(list, before(q)), Expr::Var(c));
            Expr::AndThen(Box::new(some), Box::new(other))
        };
        let known = vec![assign(at, load(self.places, before(q))), assign(new, int(0))];
        let shift = |array| store(array, Expr::Var(moved), load(array, before(moved)));
        let shifted = vec![shift(list), shift(self.places), assign(moved, before(moved))];
        let listed = vec![
            assign(moved, Expr::Var(count)),
            Stmt::While { cond: lt(Expr::Var(q), Expr::Var(moved)), body: shifted },
            store(list, Expr::Var(q), Expr::Var(c)),
            store(self.places, Expr::Var(q), Expr::Var(count)),
            assign(at, Expr::Var(count)),
            assign(new, int(1)),
            advance(count),
        ];
        vec![
            assign(q, Expr::Var(count)),
            Stmt::While { cond: behind(BinaryOp::Gt, q), body: vec![assign(q, before(q))] },
            Stmt::If { cond: behind(BinaryOp::Eq, q), then: known, otherwise: listed },
        ]
    }

    /// The lookup of a coordinate in slots.
    fn by_slot(&self, c: Var, (list, count): (Array, Var), (at, new): (Var, Var)) -> Vec<Stmt> {
        let [begin, end] = [self.begin, self.end].map(Expr::Var);
        let own = binary(BinaryOp::Mod, Expr::Var(c), sub(end.clone(), begin.clone()));
        let key = load(self.keys, Expr::Var(at));
        let other = binary(BinaryOp::Ne, key.clone(), Expr::Var(c));
        let taken =
            Expr::AndThen(Box::new(binary(BinaryOp::Ge, key.clone(), int(0))), Box::new(other));
        let next = vec![
            assign(at, add(Expr::Var(at), int(1))),
            when(eq(Expr::Var(at), end), vec![assign(at, begin.clone())]),
        ];
        let listed = vec![
            assign(new, int(1)),
            store(self.keys, Expr::Var(at), Expr::Var(c)),
            store(self.places, Expr::Var(count), Expr::Var(at)),
            store(list, Expr::Var(count), Expr::Var(c)),
            advance(count),
        ];
        vec![
            assign(at, add(begin, own)),
            Stmt::While { cond: taken, body: next },
            assign(new, int(0)),
            when(lt(key, int(0)), listed),
        ]
    }
}
