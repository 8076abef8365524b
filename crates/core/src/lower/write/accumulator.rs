//! Results that are gathered in dense workspaces before they are appended in order.
//!
//! ```text
//! csr, one row       for .. if set[j]  w[j] = w[j] + value  else  w[j] = value, list j
//!                    sort the list; for each j  append w[j]
//! bcsr, dia          for .. if rank[d] == 0  list d
//!                    sort the list; for each d  append it, rank[d] = its position
//!                    for .. vals[rank[d] * size + i] = value
//! csc from csr       for .. count of j;  sums of counts;  for .. next slot of j     = value
//! ```
//!
//! Levels that need no order are not sorted.
//!
//! Only what was touched is cleared (papers: sparse tensor algebra with workspaces, sections 3 and
//! 5; the attribute queries of the thesis). What cannot be had so is listed: see [`crate::lower::write::coo_buffer`].

use crate::lower::builder::advance;
use crate::lower::gpu::hash_accumulator::Slice;
use crate::lower::gpu::heap_sort::sorted_in_place;
use crate::lower::scope::Scope;
use crate::lower::value::{Vals, Value};
use crate::lower::{Code, Lowerer};
use crate::plan::{Node, Rest};
use tamis_ir::algebra::ReduceOp;
use tamis_ir::datatype::DataType;
use tamis_ir::ids::{Array, Var};
use tamis_ir::ir::build::{add, assign, eq, for_loop, int, load, store, sub, when};
use tamis_ir::ir::{self, Expr};

/// The coordinates of one level that have come, and what is known at each.
#[derive(Clone)]
pub(in crate::lower) struct Workspace {
    /// The level.
    level: usize,
    /// What is at a coordinate: a value, or a position and one more.
    at: Array,
    /// The values, where values are.
    vals: Vals,
    /// Whether a value is there, where its coordinate may be a duplicate.
    set: Option<Array>,
    /// The coordinates.
    list: Array,
    /// How many; in a slice, where the list ends.
    count: Var,
    /// How values at duplicate coordinates are combined.
    op: Option<ReduceOp>,
    /// Where the arrays are slices that hold some of the coordinates.
    pub(in crate::lower) slice: Option<Box<Slice>>,
}

/// Which of two passes over the same loops is being lowered.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::lower) enum Pass {
    /// Learns which coordinates come.
    #[default]
    Look,
    /// Writes their values.
    Fill,
}

impl Workspace {
    /// Where the list begins.
    fn begin(&self) -> Expr {
        self.slice.as_ref().map_or(int(0), |slice| Expr::Var(slice.begin))
    }

    /// The position of the coordinate `c` that the list has at `q`.
    fn listed_at(&self, q: Var, c: Expr) -> Expr {
        self.slice.as_ref().map_or(c, |slice| load(slice.places, Expr::Var(q)))
    }
}

impl Lowerer<'_> {
    /// One level by a workspace of values.
    pub(in crate::lower) fn with_workspace(
        &mut self,
        level: usize,
        parent: Expr,
        body: &Node,
        scope: Scope,
    ) -> Code {
        let w = self.workspace(level);
        self.note_slice(&scope);
        let body = self.node(body, scope);
        if body.stmts.is_empty() && level > 0 {
            return Code::nothing();
        }
        let mut stmts = vec![assign(w.count, w.begin())];
        stmts.extend(body.stmts);
        stmts.extend(self.sorted_list(&w));
        stmts.extend(self.room_for_list(&w));
        let (q, c) = (self.cx.temp("q"), self.cx.temp("c"));
        let next = Expr::Var(self.next(level));
        let mut each = vec![assign(c, load(w.list, Expr::Var(q)))];
        let at = w.listed_at(q, Expr::Var(c));
        let value = self.cx.loaded(w.vals, at.clone());
        each.extend(self.cx.write(next, None, value));
        // There is room for the whole list.
        let kept = self.kept(level, c).into_iter();
        each.extend(kept.filter(|s| !matches!(s, ir::Stmt::Reserve { .. })));
        each.extend(w.slice.as_ref().map(|slice| slice.cleared(at)));
        each.extend(w.set.map(|set| store(set, Expr::Var(c), int(0))));
        stmts.push(for_loop(q, w.begin(), Expr::Var(w.count), each));
        stmts.extend(self.edges_at(level, parent));
        Code { stmts, covers: false }
    }

    /// Puts a value into the workspace.
    pub(in crate::lower) fn gathered(&mut self, value: Value, scope: &mut Scope) -> Vec<ir::Stmt> {
        let w = self.workspace_of_plan();
        let mut stmts = vec![];
        let c = self.distance(w.level, scope, &mut stmts);
        let value = self.cx.hold(value, &mut stmts);
        let place = self.place_of(&w, c, scope, &mut stmts);
        let at = || Expr::Var(place);
        let alone = self.cx.reduced(w.op, value.clone());
        let mut first = self.cx.kept_value(w.vals, at(), alone);
        first.extend(w.slice.as_ref().map(|slice| slice.listed(w.count, place)));
        first.extend(self.listed(&w, c));
        let (is_new, now_known) = match (&w.slice, w.set) {
            (Some(slice), _) => slice.taken(place, c),
            (None, Some(set)) => (eq(load(set, at()), int(0)), store(set, at(), int(1))),
            (None, None) => {
                stmts.extend(first);
                return stmts;
            }
        };
        first.insert(0, now_known);
        let Some(op) = w.op else {
            stmts.extend(first);
            return stmts;
        };
        let mut again = vec![];
        let old = self.cx.loaded(w.vals, at());
        let total = self.cx.combined(op, old, value, &mut again);
        again.extend(self.cx.kept_value(w.vals, at(), total));
        stmts.push(ir::Stmt::If { cond: is_new, then: first, otherwise: again });
        stmts
    }

    /// One level by ranks, and below it a block for each of its coordinates.
    pub(in crate::lower) fn ranked(
        &mut self,
        level: usize,
        parent: Expr,
        body: &Node,
        scope: Scope,
    ) -> Code {
        let w = self.workspace(level);
        self.note_slice(&scope);
        self.writing.pass = Pass::Look;
        let look = self.node(body, scope.clone());
        if look.stmts.is_empty() && level > 0 {
            return Code::nothing();
        }
        self.writing.pass = Pass::Fill;
        let fill = self.node(body, scope);
        let mut stmts = vec![assign(w.count, w.begin())];
        stmts.extend(look.stmts);
        stmts.extend(self.sorted_list(&w));
        let (q, c) = (self.cx.temp("q"), self.cx.temp("c"));
        let next = Expr::Var(self.next(level));
        let mut each = vec![assign(c, load(w.list, Expr::Var(q)))];
        each.extend(self.open_below(level, next.clone(), add(next.clone(), int(1))));
        each.extend(self.kept(level, c));
        each.push(store(w.at, w.listed_at(q, Expr::Var(c)), next));
        stmts.push(for_loop(q, w.begin(), Expr::Var(w.count), each));
        let vals = self.cx.result().vals;
        let own = |array| ir::Stmt::Reserve { array, len: Expr::Len(array) };
        stmts.extend(vals.arrays().into_iter().map(own));
        stmts.extend(fill.stmts);
        let forget = match &w.slice {
            Some(slice) => slice.cleared(w.listed_at(q, int(0))),
            None => store(w.at, load(w.list, Expr::Var(q)), int(0)),
        };
        stmts.push(for_loop(q, w.begin(), Expr::Var(w.count), vec![forget]));
        stmts.extend(self.edges_at(level, parent));
        Code { stmts, covers: false }
    }

    /// A coordinate for the ranks, or the position of a value by them.
    pub(in crate::lower) fn by_rank(
        &mut self,
        op: Option<ReduceOp>,
        value: Value,
        scope: &mut Scope,
    ) -> Vec<ir::Stmt> {
        let w = self.workspace_of_plan();
        let mut stmts = vec![];
        let c = self.distance(w.level, scope, &mut stmts);
        let place = self.place_of(&w, c, scope, &mut stmts);
        if self.writing.pass == Pass::Look {
            let (is_new, now_known) = match &w.slice {
                Some(slice) => slice.taken(place, c),
                None => (eq(load(w.at, Expr::Var(c)), int(0)), store(w.at, Expr::Var(c), int(1))),
            };
            let mut new = vec![now_known];
            new.extend(w.slice.as_ref().map(|slice| slice.listed(w.count, place)));
            new.extend(self.listed(&w, c));
            stmts.push(when(is_new, new));
            return stmts;
        }
        let rank = add(load(w.at, Expr::Var(place)), int(-1));
        let position = scope.block_position(&mut self.cx, rank, w.level + 1, &mut stmts);
        stmts.extend(self.cx.write(position, op, value));
        stmts
    }

    /// All levels by counting the last one.
    pub(in crate::lower) fn counted(&mut self, body: &Node, scope: Scope) -> Code {
        let arrays = self.cx.result();
        let last = arrays.levels.len() - 1;
        let level = arrays.levels[last].clone();
        let count = self.cx.levels().count_of(last);
        let sizes = arrays.levels[..last].iter().map(|l| l.size.clone());
        let parents = sizes.fold(int(1), tamis_ir::ir::build::mul);
        self.writing.pass = Pass::Look;
        let look = self.node(body, scope.clone());
        self.writing.pass = Pass::Fill;
        let fill = self.node(body, scope);
        let (p, total) = (self.cx.temp("p"), self.cx.temp("total"));
        let mut stmts = count.count_init(&level, parents.clone());
        stmts.extend(look.stmts);
        let fits = level.pos.map_or(vec![], |pos| self.cx.check_position(pos, Expr::Var(total)));
        stmts.extend(count.count_sums(&level, parents, p, total, fits));
        stmts.push(level.reserve_coordinates(Expr::Var(total)));
        stmts.extend(arrays.vals.reserve(&Expr::Var(total)));
        stmts.extend(fill.stmts);
        Code { stmts, covers: false }
    }

    /// Counts a coordinate, or writes it and its value to the next position of its parent.
    pub(in crate::lower) fn by_count(&mut self, value: Value, scope: &mut Scope) -> Vec<ir::Stmt> {
        let arrays = self.cx.result();
        let vars = self.cx.result_vars();
        let last = arrays.levels.len() - 1;
        let level = &arrays.levels[last];
        let count = self.cx.levels().count_of(last);
        let mut stmts = vec![];
        let mut parent = int(0);
        for (k, var) in vars.iter().enumerate().take(last) {
            let coordinate = scope.coordinate(&mut self.cx, *var, &mut stmts);
            let coordinate = Expr::Var(coordinate.expect("all modes of a result are bound"));
            let located = self.cx.levels().kind(k).locate(
                &arrays.levels[k],
                parent,
                coordinate,
                &mut self.cx.values.builder,
            );
            parent = located.expect("levels above are full").position;
        }
        if self.writing.pass == Pass::Look {
            stmts.extend(count.count_coord(level, parent));
            return stmts;
        }
        let coordinate = scope.coordinate(&mut self.cx, vars[last], &mut stmts);
        let coordinate = Expr::Var(coordinate.expect("all modes of a result are bound"));
        let place = self.cx.temp("place");
        stmts.extend(count.count_next(level, parent, place));
        stmts.push(level.set_coordinate(Expr::Var(place), coordinate));
        stmts.extend(self.cx.write(Expr::Var(place), None, value));
        stmts
    }

    /// How far the coordinate of a level is from its least one.
    fn distance(&mut self, k: usize, scope: &mut Scope, stmts: &mut Vec<ir::Stmt>) -> Var {
        let var = self.cx.result_vars()[k];
        let level = self.cx.result().levels[k].clone();
        let coordinate = scope.coordinate(&mut self.cx, var, stmts);
        let coordinate = coordinate.expect("all modes of a result are bound");
        match level.from_least(Expr::Var(coordinate)) {
            Expr::Var(v) => v,
            distance => {
                let c = self.cx.temp("c");
                stmts.push(assign(c, distance));
                c
            }
        }
    }

    /// The position of a coordinate.
    fn place_of(&mut self, w: &Workspace, c: Var, scope: &Scope, stmts: &mut Vec<ir::Stmt>) -> Var {
        match &w.slice {
            Some(slice) => self.place_in(slice, c, scope, stmts),
            None => c,
        }
    }

    /// Adds a coordinate to the list.
    fn listed(&mut self, w: &Workspace, c: Var) -> Vec<ir::Stmt> {
        vec![store(w.list, Expr::Var(w.count), Expr::Var(c)), advance(w.count)]
    }

    /// Sorts the list, if its order is that of the result.
    fn sorted_list(&mut self, w: &Workspace) -> Vec<ir::Stmt> {
        let (keys, hi) = (vec![w.list], Expr::Var(w.count));
        match (self.cx.levels().kind(w.level).properties().ordered, &w.slice) {
            (false, _) => vec![],
            (true, Some(slice)) => {
                sorted_in_place(&mut self.cx, slice.sorting, [w.list, slice.places], w.begin(), hi)
            }
            (true, None) => vec![ir::Stmt::Sort { keys, carried: vec![], lo: int(0), hi }],
        }
    }

    /// Room for the whole list, so that nothing is to be asked for each of its coordinates.
    fn room_for_list(&mut self, w: &Workspace) -> Vec<ir::Stmt> {
        let arrays = self.cx.result();
        let count = sub(Expr::Var(w.count), w.begin());
        let end = add(Expr::Var(self.next(w.level)), count);
        let mut stmts = vec![arrays.levels[w.level].reserve_coordinates(end.clone())];
        stmts.extend(arrays.vals.reserve(&end));
        stmts
    }

    /// Appends the coordinate that is so far from the least one.
    fn kept(&mut self, k: usize, distance: Var) -> Vec<ir::Stmt> {
        let level = self.cx.result().levels[k].clone();
        let coordinate = level.with_least(Expr::Var(distance));
        self.keep(k, &|_| coordinate.clone())
    }

    fn workspace_of_plan(&self) -> Workspace {
        self.writing.accumulator.clone().expect("the accumulator is declared before its loops")
    }

    /// The arrays of the workspace, declared and cleared before everything else.
    fn workspace(&mut self, level: usize) -> Workspace {
        if let Some(w) = &self.writing.accumulator {
            return w.clone();
        }
        let is_ranked = self.plan.output.rest() == Some(Rest::PositionAccumulator);
        let result = &self.program.tensors[self.kernel.result];
        let (name, crd) = (result.name.clone(), result.storage.crd.datatype());
        let wide = matches!(self.cx.result().levels[level].least, Expr::Const(_));
        let crd = if wide { crd } else { DataType::I64 };
        let size = self.cx.result().levels[level].size.clone();
        let op = self.cx.planner().combining();
        if self.gpu.in_slices {
            let vals = match is_ranked {
                true => Vals::Real(
                    self.cx.values.builder.common(&format!("{name}_rank"), DataType::I64),
                ),
                false => self.shared_vals(&format!("{name}_w")),
            };
            let list = self.cx.values.builder.common(&format!("{name}_list"), crd);
            let slice = self.slice(&name, vals, list, crd, size);
            let count = self.cx.temp(&format!("{name}_list_end"));
            let at = vals.arrays()[0];
            let w = Workspace {
                level,
                at,
                vals,
                set: None,
                list,
                count,
                op,
                slice: Some(Box::new(slice)),
            };
            return self.declared(w);
        }
        let vals = match is_ranked {
            true => {
                Vals::Real(self.cx.values.builder.local(&format!("{name}_rank"), DataType::I64))
            }
            false => self.listed_vals(&format!("{name}_w")),
        };
        let at = vals.arrays()[0];
        let list = self.cx.values.builder.local(&format!("{name}_list"), crd);
        let set = (!is_ranked && op.is_some())
            .then(|| self.cx.values.builder.local(&format!("{name}_set"), DataType::Bool));
        let count = self.cx.temp(&format!("{name}_list_size"));
        for array in vals.arrays().into_iter().chain([list]).chain(set) {
            self.cx.values.builder.prologue.push(ir::Stmt::Reserve { array, len: size.clone() });
        }
        if let Some(array) = set.or(is_ranked.then_some(at)) {
            self.cx.values.builder.prologue.push(ir::Stmt::Fill {
                array,
                lo: int(0),
                hi: size,
                value: int(0),
            });
        }
        self.declared(Workspace { level, at, vals, set, list, count, op, slice: None })
    }

    fn declared(&mut self, w: Workspace) -> Workspace {
        self.writing.accumulator = Some(w.clone());
        w
    }
}
