//! Concatenates the results of parts that a function runs itself.
//!
//! ```text
//! C(i,j) = A(i,k) * B(k,j)      csr, parallelize(i, cpu_thread, no_races)
//!
//! for part in 0..parts on cpu_thread {
//!   ..                                    C2_pos_of_part, C2_crd_of_part, C_vals_of_part
//!   in order {
//!     end = ends[1];  count = C2_pos_of_part[i_end]
//!     for p in i_begin..i_end { C2_pos[p + 1] = C2_pos_of_part[p + 1] + end }
//!     for p in 0..count { C2_crd[p + end] = C2_crd_of_part[p] } ..
//!     ends[1] = end + count
//!   }
//! }
//! ```
//!
//! Rows keep their positions; segments of later parts move behind those of earlier ones, as where the caller of a
//! kernel joins parts. A part waits until all earlier parts are moved, which takes far less time than computing them.

use super::symbols::Symbols;
use super::value::Vals;
use tamis_ir::datatype::DataType;
use tamis_ir::ids::{Array, Var};
use tamis_ir::ir::build::{add, assign, for_loop, int, load, mul, store};
use tamis_ir::ir::number::Renamed;
use tamis_ir::ir::{ArrayRole, Expr, Stmt};

/// The code that concatenates the parts of a result.
pub(super) struct Concatenated {
    /// Statements before the loop over parts.
    pub(super) before: Vec<Stmt>,
    /// The statements of one part.
    pub(super) part: Vec<Stmt>,
    /// Statements after that loop.
    pub(super) after: Vec<Stmt>,
}

/// The code of a part, which then moves its entries behind those of earlier parts. `rows` is the range of its
/// first-level coordinates, counted from the lowest one, if each has a position.
pub(super) fn concatenated(
    cx: &mut Symbols<'_>,
    rows: Option<(Expr, Expr)>,
    code: Vec<Stmt>,
) -> Concatenated {
    let ends = cx.common("ends", DataType::I64);
    let count = cx.result().levels.len() as i64;
    let before = vec![
        Stmt::Reserve { array: ends, len: int(count) },
        Stmt::Fill { array: ends, lo: int(0), hi: int(count), value: int(0) },
    ];
    let own = own_arrays(cx);
    let mut moving = Moving { own: &own, ends, moved: vec![], stmts: vec![] };
    moving.levels(cx, rows);
    let moved = moving.stmts;
    let after = last(cx, ends);
    let mut part = renamed(cx, &own, code);
    part.push(Stmt::InOrder { body: moved });
    Concatenated { before, part, after }
}

/// For each array of the result, an array of the part's own.
fn own_arrays(cx: &mut Symbols<'_>) -> Vec<(Array, Array)> {
    let is_result = |a: &Array| cx.arrays[*a].role == ArrayRole::Result;
    let of_result: Vec<Array> = cx.arrays.ids().filter(is_result).collect();
    let own = |array: Array| {
        let (name, elem) = (format!("{}_of_part", cx.arrays[array].name), cx.arrays[array].elem);
        (array, cx.local(&name, elem))
    };
    of_result.into_iter().map(own).collect()
}

/// The code, with a part's own arrays instead of those of the result.
fn renamed(cx: &Symbols<'_>, own: &[(Array, Array)], code: Vec<Stmt>) -> Vec<Stmt> {
    let vars = cx.values.builder.vars.ids().map(Some).collect();
    let mut arrays: Vec<Option<Array>> = cx.arrays.ids().map(Some).collect();
    for (of_result, own) in own {
        arrays[tamis_ir::ids::Id::index(*of_result)] = Some(*own);
    }
    Renamed { vars, arrays }.block(code)
}

/// The code that moves the entries of a part.
struct Moving<'o> {
    own: &'o [(Array, Array)],
    /// For each level, the number of positions of earlier parts.
    ends: Array,
    /// Arrays of coordinates that several levels share, once they are moved.
    moved: Vec<Array>,
    stmts: Vec<Stmt>,
}

impl Moving<'_> {
    fn levels(&mut self, cx: &mut Symbols<'_>, rows: Option<(Expr, Expr)>) {
        let (mut lo, mut hi, mut shift) = (int(0), int(1), int(0));
        for (k, level) in cx.result().levels.into_iter().enumerate() {
            let mut parents = None;
            (lo, hi, shift) = match (level.pos, &rows) {
                (Some(pos), _) => {
                    let (end, count) = self.appended(cx, k, pos, &hi);
                    parents = (k > 0).then_some((pos, (lo, hi), shift));
                    (int(0), Expr::Var(count), Expr::Var(end))
                }
                (None, Some((lo, hi))) if k == 0 => (lo.clone(), hi.clone(), int(0)),
                (None, _) => {
                    let mut size = |parents| cx.positions_at(cx.kernel.result, k..k + 1, parents);
                    (size(lo), size(hi), size(shift))
                }
            };
            if let Some(crd) = level.crd.filter(|crd| !self.moved.contains(&crd.array)) {
                self.moved.push(crd.array);
                self.copied(cx, crd.array, (&lo, &hi), &shift, crd.stride);
            }
            if let Some(mask) = level.mask {
                self.copied(cx, mask, (&lo, &hi), &shift, 1);
            }
            if let Some((pos, (lo, hi), above)) = parents {
                self.positions(cx, pos, (lo, hi), (above, shift.clone()));
            }
        }
        let vals = cx.result().vals;
        let numbers = if let Vals::Pairs(_) = vals { 2 } else { 1 };
        for array in vals.arrays() {
            self.copied(cx, array, (&lo, &hi), &shift, numbers);
        }
    }

    /// The number of positions of a level before the part, and the number in the part.
    fn appended(&mut self, cx: &mut Symbols<'_>, k: usize, pos: Array, hi: &Expr) -> (Var, Var) {
        let [end, count] = ["end", "count"].map(|name| cx.temp(name));
        let at = || int(k as i64);
        let all = add(Expr::Var(end), Expr::Var(count));
        self.stmts.push(assign(end, load(self.ends, at())));
        self.stmts.push(assign(count, load(self.of_part(pos), hi.clone())));
        self.stmts.extend(cx.check_position(pos, all.clone()));
        self.stmts.push(store(self.ends, at(), all));
        (end, count)
    }

    /// Moves the ends of segments by an offset, below parents that move by an offset.
    fn positions(
        &mut self,
        cx: &mut Symbols<'_>,
        pos: Array,
        (lo, hi): (Expr, Expr),
        (above, by): (Expr, Expr),
    ) {
        let p = cx.temp("p");
        let next = || add(Expr::Var(p), int(1));
        let len = add(add(hi.clone(), above.clone()), int(1));
        let end = add(load(self.of_part(pos), next()), by);
        let moved = store(pos, add(next(), above), end);
        self.stmts.push(Stmt::Reserve { array: pos, len });
        self.stmts.push(for_loop(p, lo, hi, vec![moved]));
    }

    /// Moves elements at positions by an offset, with `each` applied to a position.
    fn copied(
        &mut self,
        cx: &mut Symbols<'_>,
        array: Array,
        (lo, hi): (&Expr, &Expr),
        shift: &Expr,
        each: i64,
    ) {
        let [lo, hi, shift] = [lo, hi, shift].map(|e| mul(e.clone(), int(each)));
        let e = cx.temp("e");
        let moved = |at: Expr| add(at, shift.clone());
        let element = load(self.of_part(array), Expr::Var(e));
        self.stmts.push(Stmt::Reserve { array, len: moved(hi.clone()) });
        self.stmts.push(for_loop(e, lo, hi, vec![store(array, moved(Expr::Var(e)), element)]));
    }

    fn of_part(&self, array: Array) -> Array {
        let own = self.own.iter().find(|(of_result, _)| *of_result == array);
        own.expect("a part has an array for each of the result").1
    }
}

/// Writes the first positions of levels, which no part writes, and the end of the only segment of the first level.
fn last(cx: &mut Symbols<'_>, ends: Array) -> Vec<Stmt> {
    let mut stmts = vec![];
    let mut parents = int(1);
    for (k, level) in cx.result().levels.into_iter().enumerate() {
        let end = || load(ends, int(k as i64));
        parents = match level.pos {
            Some(array) => {
                let len = add(parents, int(1));
                stmts.extend([Stmt::Reserve { array, len }, store(array, int(0), int(0))]);
                stmts.extend((k == 0).then(|| store(array, int(1), end())));
                end()
            }
            None => cx.positions_at(cx.kernel.result, k..k + 1, parents),
        };
    }
    stmts
}
