//! Results that are accumulated in dense workspaces before they are appended in order.
//!
//! ```text
//! csr, one row       for .. if set[j]  w[j] = w[j] + value  else  w[j] = value, list j
//!                    sort the list; for each j  append w[j]
//! bcsr, dia          for .. if rank[d] == 0  list d
//!                    sort the list; for each d  append it, rank[d] = its position
//!                    for .. vals[rank[d] * size + i] = value
//! ```
//!
//! Levels that may be unordered are not sorted.
//!
//! Only touched elements are cleared (papers: sparse tensor algebra with workspaces, sections 3 and 5; the attribute
//! queries of the thesis). Results without such a workspace use a coordinate buffer: see
//! [`crate::lower::write::coo_buffer`].

use super::Pass;
use super::append::LevelWriter;
use crate::lower::builder::advance;
use crate::lower::gpu::hash_accumulator::RowHashTable;
use crate::lower::gpu::heap_sort::sorted_in_place;
use crate::lower::scope::Scope;
use crate::lower::symbols::Symbols;
use crate::lower::value::{Vals, Value};
use crate::lower::{Code, Lowerer};
use crate::plan::{Node, Rest};
use tamis_ir::algebra::ReduceOp;
use tamis_ir::datatype::DataType;
use tamis_ir::ids::{Array, Var};
use tamis_ir::ir::build::{add, assign, eq, for_loop, int, keep_room, load, store, sub, when};
use tamis_ir::ir::{self, ArrayRole, Expr};

/// The coordinates of one level that were inserted, with a value or position for each.
#[derive(Clone)]
pub(in crate::lower) struct Accumulator {
    /// The level.
    level: usize,
    /// For each coordinate its value, or its position plus one.
    at: Array,
    /// The values, if `at` has values.
    vals: Vals,
    /// The mask of coordinates with a value, if coordinates may be duplicates.
    set: Option<Array>,
    /// The coordinates.
    list: Array,
    /// The number of coordinates; in a slice, the end of its list.
    count: Var,
    /// How values of duplicates are combined.
    op: Option<ReduceOp>,
    /// The slices, if the arrays are split into one for each row.
    pub(in crate::lower) slice: Option<Box<RowHashTable>>,
}

impl Accumulator {
    /// Declares the arrays, cleared before everything else.
    fn declared(
        cx: &mut Symbols<'_>,
        level: usize,
        is_ranked: bool,
        in_slices: bool,
    ) -> Accumulator {
        let result = &cx.program.tensors[cx.kernel.result];
        let (name, crd) = (result.name.clone(), result.storage.crd.datatype());
        let wide = matches!(cx.result().levels[level].least, Expr::Const(_));
        let crd = if wide { crd } else { DataType::I64 };
        let size = cx.result().levels[level].size.clone();
        let op = cx.planner().combining();
        let role = if in_slices { ArrayRole::Common } else { ArrayRole::Local };
        let vals = match is_ranked {
            true => Vals::Real(cx.own(&format!("{name}_rank"), DataType::I64, role)),
            false => cx.waiting_vals(&format!("{name}_w"), role),
        };
        let list = cx.own(&format!("{name}_list"), crd, role);
        let at = vals.arrays()[0];
        if in_slices {
            let slice = RowHashTable::declared(cx, &name, vals, list, crd, size);
            let count = cx.temp(&format!("{name}_list_end"));
            let slice = Some(Box::new(slice));
            return Accumulator { level, at, vals, set: None, list, count, op, slice };
        }
        let set =
            (!is_ranked && op.is_some()).then(|| cx.local(&format!("{name}_set"), DataType::Bool));
        let count = cx.temp(&format!("{name}_list_size"));
        for array in vals.arrays().into_iter().chain([list]).chain(set) {
            cx.prologue.push(ir::Stmt::Reserve { array, len: size.clone() });
        }
        if let Some(array) = set.or(is_ranked.then_some(at)) {
            let (lo, hi) = (int(0), size);
            cx.prologue.push(ir::Stmt::Fill { array, lo, hi, value: int(0) });
        }
        Accumulator { level, at, vals, set, list, count, op, slice: None }
    }

    /// Appends the accumulated entries, and clears the workspace.
    fn appended(
        &self,
        cx: &mut Symbols<'_>,
        levels: &mut LevelWriter,
        loops: Vec<ir::Stmt>,
    ) -> Vec<ir::Stmt> {
        let mut stmts = vec![assign(self.count, self.begin())];
        stmts.extend(loops);
        stmts.extend(self.sorted_list(cx));
        stmts.extend(self.room_for_list(cx, levels));
        let (q, c) = (cx.temp("q"), cx.temp("c"));
        let next = Expr::Var(levels.next(cx, self.level));
        let mut each = vec![assign(c, load(self.list, Expr::Var(q)))];
        let at = self.listed_at(q, Expr::Var(c));
        let value = cx.loaded(self.vals, at.clone());
        each.extend(cx.write(next, None, value));
        // There is enough memory for the whole list.
        let coordinate = self.coordinate(cx, c);
        each.extend(levels.keep_in_room(cx, self.level, &|_| coordinate.clone()));
        each.extend(self.slice.as_ref().map(|slice| slice.in_slots(vec![slice.cleared(at)])));
        each.extend(self.set.map(|set| store(set, Expr::Var(c), int(0))));
        stmts.push(for_loop(q, self.begin(), Expr::Var(self.count), each));
        stmts
    }

    /// Appends the coordinates that a first pass over the loops lists, runs a second pass that writes to their blocks,
    /// and clears the ranks.
    fn ranked(
        &self,
        cx: &mut Symbols<'_>,
        levels: &mut LevelWriter,
        [look, fill]: [Vec<ir::Stmt>; 2],
    ) -> Vec<ir::Stmt> {
        let mut stmts = vec![assign(self.count, self.begin())];
        stmts.extend(look);
        stmts.extend(self.sorted_list(cx));
        let (q, c) = (cx.temp("q"), cx.temp("c"));
        let next = Expr::Var(levels.next(cx, self.level));
        let mut each = vec![assign(c, load(self.list, Expr::Var(q)))];
        each.extend(levels.open_below(cx, self.level, next.clone(), add(next.clone(), int(1))));
        let coordinate = self.coordinate(cx, c);
        each.extend(levels.keep(cx, self.level, &|_| coordinate.clone()));
        each.push(store(self.at, self.listed_at(q, Expr::Var(c)), next));
        stmts.push(for_loop(q, self.begin(), Expr::Var(self.count), each));
        stmts.extend(cx.result().vals.arrays().into_iter().map(keep_room));
        stmts.extend(fill);
        let forget = match &self.slice {
            Some(slice) => slice.in_slots(vec![slice.cleared(self.listed_at(q, int(0)))]),
            None => store(self.at, load(self.list, Expr::Var(q)), int(0)),
        };
        stmts.push(for_loop(q, self.begin(), Expr::Var(self.count), vec![forget]));
        stmts
    }

    /// The start of the list.
    fn begin(&self) -> Expr {
        self.slice.as_ref().map_or(int(0), |slice| Expr::Var(slice.begin))
    }

    /// The position of the coordinate `c` that the list has at `q`.
    fn listed_at(&self, q: Var, c: Expr) -> Expr {
        self.slice.as_ref().map_or(c, |slice| load(slice.places, Expr::Var(q)))
    }
}

impl Lowerer<'_> {
    /// Assembles one level by an accumulator of values.
    pub(in crate::lower) fn accumulated(
        &mut self,
        level: usize,
        parent: Expr,
        body: &Node,
        scope: Scope,
    ) -> Code {
        let w = self.accumulator(level, &scope);
        let body = self.node(body, scope);
        if body.stmts.is_empty() && level > 0 {
            return Code::nothing();
        }
        let appended = w.appended(&mut self.cx, &mut self.writing.levels, body.stmts);
        let edges = self.writing.levels.edges_at(&mut self.cx, level, parent);
        Code { stmts: [appended, edges].concat(), covers: false }
    }

    /// Assembles one level by ranks, and below it a block for each of its coordinates.
    pub(in crate::lower) fn ranked(
        &mut self,
        level: usize,
        parent: Expr,
        body: &Node,
        scope: Scope,
    ) -> Code {
        let w = self.accumulator(level, &scope);
        self.writing.pass = Pass::Look;
        let look = self.node(body, scope.clone());
        if look.stmts.is_empty() && level > 0 {
            return Code::nothing();
        }
        self.writing.pass = Pass::Fill;
        let fill = self.node(body, scope);
        let levels = &mut self.writing.levels;
        let passes = [look.stmts, fill.stmts];
        let ranked = w.ranked(&mut self.cx, levels, passes);
        let edges = levels.edges_at(&mut self.cx, level, parent);
        Code { stmts: [ranked, edges].concat(), covers: false }
    }

    /// The accumulator, declared on first use.
    fn accumulator(&mut self, level: usize, scope: &Scope) -> Accumulator {
        if self.writing.accumulator.is_none() {
            let is_ranked = self.plan.output.rest() == Some(Rest::PositionAccumulator);
            let w = Accumulator::declared(&mut self.cx, level, is_ranked, self.gpu.in_slices);
            self.writing.accumulator = Some(w);
        }
        self.gpu.note_loops(&self.cx, self.kernel.result, scope);
        self.writing.accumulator.clone().expect("it was declared")
    }
}

impl Accumulator {
    /// Adds a value to the workspace.
    pub(in crate::lower) fn gathered(
        &self,
        cx: &mut Symbols<'_>,
        value: Value,
        scope: &mut Scope,
        pass: Pass,
    ) -> Vec<ir::Stmt> {
        let mut stmts = vec![];
        let c = distance(cx, self.level, scope, &mut stmts);
        let value = cx.hold(value, &mut stmts);
        let (place, found) = self.place_of(cx, c, pass, &mut stmts);
        let at = || Expr::Var(place);
        let alone = cx.reduced(self.op, value.clone());
        let mut first = cx.kept_value(self.vals, at(), alone);
        if found.is_none() {
            first.extend(self.listed(c));
        }
        let is_new = match (found, self.set) {
            (Some(is_new), _) => is_new,
            (None, Some(set)) => {
                first.insert(0, store(set, at(), int(1)));
                eq(load(set, at()), int(0))
            }
            (None, None) => {
                stmts.extend(first);
                return stmts;
            }
        };
        let Some(op) = self.op else {
            stmts.extend(first);
            return stmts;
        };
        let mut again = vec![];
        let old = cx.loaded(self.vals, at());
        let total = cx.combined(op, old, value, &mut again);
        again.extend(cx.kept_value(self.vals, at(), total));
        stmts.push(ir::Stmt::If { cond: is_new, then: first, otherwise: again });
        stmts
    }

    /// Lists a coordinate in the first pass; in the second, the position of its value.
    pub(in crate::lower) fn by_rank(
        &self,
        cx: &mut Symbols<'_>,
        op: Option<ReduceOp>,
        value: Value,
        scope: &mut Scope,
        pass: Pass,
    ) -> Vec<ir::Stmt> {
        let mut stmts = vec![];
        let c = distance(cx, self.level, scope, &mut stmts);
        let (place, found) = self.place_of(cx, c, pass, &mut stmts);
        if pass == Pass::Look {
            if found.is_none() {
                let mut new = vec![store(self.at, Expr::Var(c), int(1))];
                new.extend(self.listed(c));
                stmts.push(when(eq(load(self.at, Expr::Var(c)), int(0)), new));
            }
            return stmts;
        }
        let rank = add(load(self.at, Expr::Var(place)), int(-1));
        let position = scope.block_position(cx, rank, self.level + 1, &mut stmts);
        stmts.extend(cx.write(position, op, value));
        stmts
    }

    /// The position of a coordinate; in a slice, which lists the coordinate, also whether it is new.
    fn place_of(
        &self,
        cx: &mut Symbols<'_>,
        c: Var,
        pass: Pass,
        stmts: &mut Vec<ir::Stmt>,
    ) -> (Var, Option<Expr>) {
        let Some(slice) = &self.slice else { return (c, None) };
        let list = (self.list, self.count);
        let (place, is_new) = slice.place_in(cx, c, list, pass == Pass::Look, stmts);
        (place, Some(is_new))
    }

    /// Adds a coordinate to the list.
    fn listed(&self, c: Var) -> Vec<ir::Stmt> {
        vec![store(self.list, Expr::Var(self.count), Expr::Var(c)), advance(self.count)]
    }

    /// Reserves memory for the whole list, so that appending a coordinate needs no test.
    fn room_for_list(&self, cx: &mut Symbols<'_>, levels: &mut LevelWriter) -> Vec<ir::Stmt> {
        let arrays = cx.result();
        let count = sub(Expr::Var(self.count), self.begin());
        let end = add(Expr::Var(levels.next(cx, self.level)), count);
        let mut stmts = vec![arrays.levels[self.level].reserve_coordinates(end.clone())];
        stmts.extend(arrays.vals.reserve(&end));
        stmts
    }

    /// The coordinate at a distance from the lowest one.
    fn coordinate(&self, cx: &mut Symbols<'_>, distance: Var) -> Expr {
        cx.result().levels[self.level].with_least(Expr::Var(distance))
    }

    /// Sorts the list, if the result's level is ordered.
    fn sorted_list(&self, cx: &mut Symbols<'_>) -> Vec<ir::Stmt> {
        let (keys, hi) = (vec![self.list], Expr::Var(self.count));
        match (cx.levels().kind(self.level).properties().ordered, &self.slice) {
            (false, _) => vec![],
            (true, Some(slice)) => {
                let arrays = [self.list, slice.places];
                let sorted = sorted_in_place(cx, slice.sorting, arrays, self.begin(), hi);
                vec![slice.in_slots(sorted)]
            }
            (true, None) => vec![ir::Stmt::Sort { keys, carried: vec![], lo: int(0), hi }],
        }
    }
}

/// The distance of a level's coordinate from its lowest one.
fn distance(cx: &mut Symbols<'_>, k: usize, scope: &mut Scope, stmts: &mut Vec<ir::Stmt>) -> Var {
    let var = cx.result_vars()[k];
    let level = cx.result().levels[k].clone();
    let coordinate = scope.coordinate(cx, var, stmts);
    let coordinate = coordinate.expect("all modes of a result are bound");
    match level.from_least(Expr::Var(coordinate)) {
        Expr::Var(v) => v,
        distance => {
            let c = cx.temp("c");
            stmts.push(assign(c, distance));
            c
        }
    }
}
