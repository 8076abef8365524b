//! Workspaces of rows that several threads gather at a time: slices of arrays that they share.
//!
//! ```text
//! terms = terms + 1                            how many terms a row has, in loops of their own
//! C_begins[i + 1] = min(terms * 2 + 1, size)   summed up: where its slice ends
//!
//! at = begin + mod(j, end - begin)             a free slot, or that of the coordinate
//! while C_keys[at] >= 0 && C_keys[at] != j  at = at + 1, from the slice's end to its begin
//! if C_keys[at] < 0  C_keys[at] = j, C_w[at] = value, list j  else  C_w[at] = C_w[at] + value
//! ```
//!
//! A slice has twice as many slots as its row has terms, so that one is free close by, or one for
//! every coordinate, so that each has its own. Memory follows from the terms, not from how wide rows
//! are times how many are computed at the same time, and terms are added in the order in which they come.
//! (Linear probing: Knuth, The Art of Computer Programming, section 6.4; of products of matrices: Nagasaka et
//! al., High-performance sparse matrix-matrix products, 2018.)

use crate::lower::symbols::Symbols;
use crate::lower::value::Vals;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::datatype::DataType;
use tamis_ir::ids::{Array, Var};
use tamis_ir::ir::build::{add, assign, binary, eq, int, load, lt, mul, store, sub, when};
use tamis_ir::ir::{Expr, Stmt};

/// Slices of arrays, one for each row.
#[derive(Clone)]
pub(in crate::lower) struct RowHashTable {
    /// How many values come for a row.
    pub(in crate::lower) terms: Var,
    /// Where the slice at hand begins and ends.
    pub(in crate::lower) begin: Var,
    pub(in crate::lower) end: Var,
    /// Where each slice begins.
    pub(in crate::lower) begins: Array,
    /// The coordinate in a slot, or -1.
    pub(in crate::lower) keys: Array,
    /// The slot of each coordinate of the list.
    pub(in crate::lower) places: Array,
    /// These arrays, and those of values and of the list.
    pub(in crate::lower) arrays: Vec<Array>,
    /// What sorts the list, which is not needed to count it.
    pub(in crate::lower) sorting: Var,
    /// How many coordinates there are.
    size: Expr,
}

impl RowHashTable {
    /// How many slots a row's slice has.
    pub(in crate::lower) fn places_for_terms(&self) -> Expr {
        let twice = add(mul(Expr::Var(self.terms), int(2)), int(1));
        binary(BinaryOp::Min, twice, self.size.clone())
    }

    /// Adds a slot to the list.
    pub(in crate::lower) fn listed(&self, end: Var, place: Var) -> Stmt {
        store(self.places, Expr::Var(end), Expr::Var(place))
    }

    /// Whether a slot is free, and what takes it for a coordinate.
    pub(in crate::lower) fn taken(&self, place: Var, c: Var) -> (Expr, Stmt) {
        let free = lt(load(self.keys, Expr::Var(place)), int(0));
        (free, store(self.keys, Expr::Var(place), Expr::Var(c)))
    }

    /// Frees a slot.
    pub(in crate::lower) fn cleared(&self, place: Expr) -> Stmt {
        store(self.keys, place, int(-1))
    }
}

impl RowHashTable {
    /// The arrays of a workspace in slices, beside those of its values and its list.
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

    /// The slot of a coordinate: that which it has, or a free one.
    pub(in crate::lower) fn place_in(
        &self,
        cx: &mut Symbols<'_>,
        c: Var,
        looking: bool,
        stmts: &mut Vec<Stmt>,
    ) -> Var {
        let at = cx.temp("at");
        let [begin, end] = [self.begin, self.end].map(Expr::Var);
        let own = binary(BinaryOp::Mod, Expr::Var(c), sub(end.clone(), begin.clone()));
        let key = load(self.keys, Expr::Var(at));
        let other = binary(BinaryOp::Ne, key.clone(), Expr::Var(c));
        let taken = Expr::AndThen(Box::new(binary(BinaryOp::Ge, key, int(0))), Box::new(other));
        let next = vec![
            assign(at, add(Expr::Var(at), int(1))),
            when(eq(Expr::Var(at), end), vec![assign(at, begin.clone())]),
        ];
        if looking {
            stmts.push(assign(self.terms, add(Expr::Var(self.terms), int(1))));
        }
        stmts.push(assign(at, add(begin, own)));
        stmts.push(Stmt::While { cond: taken, body: next });
        at
    }
}
