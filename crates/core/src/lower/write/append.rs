//! Appending to the levels of a result in the order of the loops.
//!
//! ```text
//! for i in ..                      level 1 (dense): pC1 = i
//!   for j in ..                    level 2 (compressed)
//!     C2_crd[pC2] = j;  C_vals[pC2] = ..;  pC2 = pC2 + 1
//!   C2_pos[i + 1] = pC2
//! ```
//!
//! A coordinate of an outer compressed level is kept only if something was appended below it.

use crate::lower::builder::advance;
use crate::lower::scope::Scope;
use crate::lower::symbols::Symbols;
use crate::lower::{Code, Lowerer};
use crate::notation::Access;
use crate::plan::{Assembler, Node};
use std::collections::BTreeMap;
use std::ops::Range;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ids::{IndexVar, TensorId, Var};
use tamis_ir::ir::build::{add, assign, binary, eq, for_loop, int, lt, mul, sub, when};
use tamis_ir::ir::{self, Expr, Status};

/// The largest number of entries for which memory is reserved in advance.
const MOST_EXPECTED: i64 = 1 << 27;

impl Lowerer<'_> {
    /// The code for one coordinate of a level that is written in order: the levels below, within the level functions.
    pub(in crate::lower) fn assembled(
        &mut self,
        k: usize,
        index: Var,
        body: &Node,
        scope: Scope,
        universal: bool,
    ) -> Code {
        let result = self.kernel.result;
        let format = &self.program.storage(result).format;
        let (kind, last) = (format.levels()[k].kind, format.levels().len() - 1);
        let goes_on = format.chain_goes_on(k);
        if matches!(self.cx.levels().assembler(k), Assembler::Place) {
            let level = self.cx.arrays(result).levels[k].clone();
            let parent = scope.result.position.clone();
            let located =
                kind.locate(&level, parent, Expr::Var(index), &mut self.cx.values.builder);
            let located = located.expect("a level where every coordinate has a position locates");
            return self.below(k, located.position, body, scope);
        }
        let next = self.writing.levels.next(&mut self.cx, k);
        if k == last || goes_on {
            // The assignment appends, since it does not always run; the last level of a chain does so for all of it.
            return self.below(k, Expr::Var(next), body, scope);
        }
        self.kept_if_used(k, index, body, scope, universal)
    }

    /// The code for a coordinate of an appended level with levels below: it is stored only if something was appended
    /// below it.
    fn kept_if_used(
        &mut self,
        k: usize,
        index: Var,
        body: &Node,
        scope: Scope,
        universal: bool,
    ) -> Code {
        let vars = self.cx.result_vars();
        let bound = scope.bound.clone();
        let next = self.writing.levels.next(&mut self.cx, k);
        let position = Expr::Var(next);
        // Rows, blocks or diagonals without entries below are not stored.
        let may_stay_empty = universal && self.cx.levels().appended_level_below(k).is_none();
        let touched = may_stay_empty.then(|| self.cx.temp_of(next, "_touched"));
        self.gpu.tentative |= touched.is_some();
        self.writing.touched = touched;
        let behind = add(position.clone(), int(1));
        let mut stmts =
            self.writing.levels.open_below(&mut self.cx, k, position.clone(), behind.clone());
        if touched.is_some() {
            // Without entries, the block is still as it was initialised.
            let opened = self.cx.temp_of(next, "_opened");
            self.cx.prologue.push(assign(opened, int(0)));
            let is_room = |s: &ir::Stmt| matches!(s, ir::Stmt::Reserve { .. });
            let (room, mut first): (Vec<_>, Vec<_>) = stmts.into_iter().partition(is_room);
            first.push(assign(opened, behind.clone()));
            stmts = [room, vec![when(lt(Expr::Var(opened), behind), first)]].concat();
        }
        let below = self.below(k, position, body, scope);
        self.writing.touched = None;
        if below.stmts.is_empty() {
            return Code::nothing();
        }
        let coordinate = |l: usize| Expr::Var(if l == k { index } else { bound[&vars[l]] });
        let keep = self.writing.levels.keep(&mut self.cx, k, &coordinate);
        match (self.writing.levels.appended_below(&mut self.cx, k), touched) {
            (Some(child), _) => {
                let begin = self.cx.temp_of(child, "_begin");
                stmts.push(assign(begin, Expr::Var(child)));
                stmts.extend(below.stmts);
                stmts.push(when(lt(Expr::Var(begin), Expr::Var(child)), keep));
            }
            (None, Some(touched)) => {
                stmts.push(assign(touched, int(0)));
                stmts.extend(below.stmts);
                stmts.push(when(lt(int(0), Expr::Var(touched)), keep));
            }
            (None, None) => stmts.extend([below.stmts, keep].concat()),
        }
        Code { stmts, covers: false }
    }

    /// The code below a position of level `k`.
    fn below(&mut self, k: usize, position: Expr, body: &Node, mut scope: Scope) -> Code {
        scope.result.levels = k + 1;
        scope.result.position = position.clone();
        match self.plan.output.gathered_from() {
            Some(first) if first == k + 1 => self.staged(first, position, Some(body), scope),
            _ => self.node(body, scope),
        }
    }
}

/// Appends the coordinate of a level at the next position.
fn append_coordinate(
    cx: &mut Symbols<'_>,
    level: usize,
    next: Var,
    coordinate: Expr,
) -> Vec<ir::Stmt> {
    let arrays = cx.result();
    let append = cx.levels().append_of(level);
    append.append_coord(&arrays.levels[level], Expr::Var(next), coordinate)
}

/// The state of writing the levels of a result in order.
#[derive(Default)]
pub(in crate::lower) struct LevelWriter {
    /// For each appended level, the variable with its next free position. Levels of a chain share one.
    next: BTreeMap<usize, Var>,
    /// While coordinates are inserted above a level only to find how many positions its parents need: that level.
    pub(super) measured: Option<usize>,
}

/// The rows of the result that only this part of the outermost loop computes, if there are parts.
pub(in crate::lower) type OwnRows = Option<(Expr, Expr)>;

impl LevelWriter {
    /// The variables with the next free positions.
    pub(in crate::lower) fn next_positions(&self) -> Vec<Var> {
        self.next.values().copied().collect()
    }

    /// Appends a coordinate at the next position of level `k`, and the coordinates of the chain above it.
    pub(in crate::lower) fn keep(
        &mut self,
        cx: &mut Symbols<'_>,
        k: usize,
        coordinate: &dyn Fn(usize) -> Expr,
    ) -> Vec<ir::Stmt> {
        let arrays = cx.result();
        let next = self.next(cx, k);
        let mut stmts = vec![];
        for l in cx.levels().head(k)..=k {
            stmts.push(arrays.levels[l].reserve_coordinates(add(Expr::Var(next), int(1))));
            stmts.extend(append_coordinate(cx, l, next, coordinate(l)));
        }
        stmts.push(advance(next));
        stmts
    }

    /// Appends a coordinate for which memory is reserved.
    pub(in crate::lower) fn keep_in_room(
        &mut self,
        cx: &mut Symbols<'_>,
        k: usize,
        coordinate: &dyn Fn(usize) -> Expr,
    ) -> Vec<ir::Stmt> {
        let next = self.next(cx, k);
        let levels = cx.levels().head(k)..=k;
        let mut stmts: Vec<ir::Stmt> =
            levels.flat_map(|l| append_coordinate(cx, l, next, coordinate(l))).collect();
        stmts.push(advance(next));
        stmts
    }

    /// Reserves memory for everything before the first coordinate.
    pub(in crate::lower) fn open_root(
        &mut self,
        cx: &mut Symbols<'_>,
        own: OwnRows,
    ) -> Vec<ir::Stmt> {
        let arrays = cx.result();
        let mut stmts = vec![];
        for k in 0..arrays.levels.len() {
            if let Assembler::Append(append) = cx.levels().assembler(k) {
                stmts.extend(append.append_init(&arrays.levels[k]));
                if cx.levels().head(k) == k {
                    stmts.push(assign(self.next(cx, k), int(0)));
                }
            }
        }
        stmts.extend(self.open_from(cx, 0, (int(0), int(1)), own));
        stmts
    }

    /// Reserves memory below new positions `lo..hi` of level `k`.
    pub(in crate::lower) fn open_below(
        &mut self,
        cx: &mut Symbols<'_>,
        k: usize,
        lo: Expr,
        hi: Expr,
    ) -> Vec<ir::Stmt> {
        self.open_from(cx, k + 1, (lo, hi), None)
    }

    /// Reserves memory below new positions `lo..hi` of the level above `first`: for the edges of the next appended
    /// level, or for a block of values, and for inserted levels in between.
    fn open_from(
        &mut self,
        cx: &mut Symbols<'_>,
        first: usize,
        (mut lo, mut hi): (Expr, Expr),
        own: OwnRows,
    ) -> Vec<ir::Stmt> {
        let arrays = cx.result();
        let mut stmts = vec![];
        let mut is_block = false;
        for k in first..arrays.levels.len() {
            let (level, kind) = (&arrays.levels[k], cx.levels().kind(k));
            if self.measured == Some(k) {
                stmts.extend(cx.levels().edges_of(k).edges_init(level, lo, hi));
                return stmts;
            }
            let size = |parents: Expr| kind.size(level, parents);
            let assembler = cx.levels().assembler(k);
            if let Assembler::Append(append) = assembler {
                let before = own.is_some().then(|| sub(lo.clone(), int(1)));
                stmts.extend(append.append_parents(level, lo, hi));
                let edges = before.map(|before| append.append_edges(level, before, int(0)));
                stmts.extend(edges.into_iter().flatten());
                return stmts;
            }
            (lo, hi) = match (size(lo.clone()), size(hi.clone())) {
                (Some(lo), Some(hi)) => (lo, hi),
                _ => (lo, hi),
            };
            if let (0, Some(own)) = (k, &own) {
                (lo, hi) = own.clone();
            }
            is_block = true;
            if let Assembler::Insert(insert) = assembler {
                stmts.extend(insert.insert_init(level, lo.clone(), hi.clone()));
            }
        }
        stmts.extend(arrays.vals.reserve(&hi));
        if is_block {
            let initial = cx.planner().initial();
            stmts.extend(cx.filled(arrays.vals, lo, hi, initial));
        }
        stmts
    }

    /// `append_edges` after all children of a parent of level `k`.
    pub(in crate::lower) fn edges(
        &mut self,
        cx: &mut Symbols<'_>,
        k: usize,
        scope: &Scope,
    ) -> Vec<ir::Stmt> {
        self.edges_at(cx, k, scope.result.position.clone())
    }

    pub(in crate::lower) fn edges_at(
        &mut self,
        cx: &mut Symbols<'_>,
        k: usize,
        parent: Expr,
    ) -> Vec<ir::Stmt> {
        let level = cx.result().levels[k].clone();
        let Assembler::Append(append) = cx.levels().assembler(k) else { return vec![] };
        if cx.levels().head(k) < k {
            return vec![];
        }
        let next = self.next(cx, k);
        let mut stmts = level.pos.map_or(vec![], |pos| cx.check_position(pos, Expr::Var(next)));
        stmts.extend(append.append_edges(&level, parent, Expr::Var(next)));
        stmts
    }

    /// `append_finalize` for every appended level whose parents may have been skipped. Also checks levels with one
    /// coordinate for each parent.
    pub(in crate::lower) fn finalize_levels(
        &mut self,
        cx: &mut Symbols<'_>,
        own: OwnRows,
    ) -> Vec<ir::Stmt> {
        let arrays = cx.result();
        let mut stmts = vec![];
        let (mut from, mut count) = (int(0), int(1));
        for (k, level) in arrays.levels.iter().enumerate() {
            let kind = cx.levels().kind(k);
            match cx.levels().assembler(k) {
                Assembler::Append(append) if cx.levels().head(k) == k => {
                    let above = k.checked_sub(1).map(|above| cx.levels().assembler(above));
                    let scattered = matches!(above, Some(Assembler::Place | Assembler::Insert(_)));
                    if scattered {
                        let p = cx.temp("p");
                        stmts.extend(append.append_finalize(level, from, count, p));
                    }
                    (from, count) = (int(0), Expr::Var(self.next(cx, k)));
                }
                Assembler::Append(_) => {}
                Assembler::Place | Assembler::Insert(_) => {
                    let size = |parents| kind.size(level, parents);
                    let sizes = size(from).zip(size(count));
                    (from, count) = sizes.expect("a level without append has a size");
                    if let (0, Some(own)) = (k, &own) {
                        (from, count) = own.clone();
                    }
                    let p = kind.properties();
                    if p.branchless && p.compact && !p.full {
                        let position = cx.temp("p");
                        let none = eq(level.coordinate(Expr::Var(position)), int(-1));
                        let fail = when(none, vec![ir::Stmt::Fail(Status::CannotHold)]);
                        stmts.push(for_loop(position, from.clone(), count.clone(), vec![fail]));
                    }
                }
            }
        }
        stmts
    }

    /// The next free position of the next appended level below level `k`.
    pub(in crate::lower) fn appended_below(
        &mut self,
        cx: &mut Symbols<'_>,
        k: usize,
    ) -> Option<Var> {
        cx.levels().appended_level_below(k).map(|child| self.next(cx, child))
    }

    /// The variable `pC2` with the next free position of an appended level; a chain has one.
    pub(in crate::lower) fn next(&mut self, cx: &mut Symbols<'_>, k: usize) -> Var {
        let k = cx.levels().head(k);
        if let Some(&var) = self.next.get(&k) {
            return var;
        }
        let name = format!("p{}{}", cx.program.tensors[cx.kernel.result].name, k + 1);
        let var = cx.temp(&name);
        self.next.insert(k, var);
        var
    }
}

/// Reserves memory for as many entries as the sparse operands have together, at the last appended level: untouched
/// memory costs nothing, while growth copies.
pub(in crate::lower) fn expected_room(cx: &mut Symbols<'_>) -> Vec<ir::Stmt> {
    let arrays = cx.result();
    let appended = |k: &usize| matches!(cx.levels().assembler(*k), Assembler::Append(_));
    let last = (0..arrays.levels.len()).rfind(appended);
    let Some(last) = last else { return vec![] };
    let var = cx.result_vars()[last];
    let mut total = int(0);
    for access in crate::plan::distinct(&cx.kernel.body) {
        let full = cx.program.storage(access.tensor).format.is_full();
        if !full && !cx.program.is_workspace(access.tensor) {
            total = add(total, entries(cx, &access, var));
        }
    }
    if total == int(0) {
        return vec![];
    }
    let block = cx.positions_at(cx.kernel.result, last + 1..arrays.levels.len(), int(1));
    let room = cx.temp("room");
    let most = match block == int(1) {
        true => int(MOST_EXPECTED),
        false => {
            let block = binary(BinaryOp::Max, block.clone(), int(1));
            binary(BinaryOp::Div, int(MOST_EXPECTED), block)
        }
    };
    let mut stmts = vec![assign(room, binary(BinaryOp::Min, total, most))];
    for level in &arrays.levels[cx.levels().head(last)..=last] {
        stmts.push(level.reserve_coordinates(Expr::Var(room)));
    }
    stmts.extend(arrays.vals.reserve(&mul(Expr::Var(room), block)));
    stmts
}

/// The number of positions of an operand at its last level over a variable, or else at its last level.
fn entries(cx: &mut Symbols<'_>, access: &Access, var: IndexVar) -> Expr {
    let vars = cx.program.level_vars(access.tensor, &access.indices);
    let depth = vars.iter().rposition(|&v| v == var).map_or(vars.len(), |k| k + 1);
    cx.positions_at(access.tensor, 0..depth, int(1))
}

impl Symbols<'_> {
    /// The number of positions of a tensor at the last of some levels, below a number of positions of the level above
    /// the first.
    pub(in crate::lower) fn positions_at(
        &mut self,
        tensor: TensorId,
        levels: Range<usize>,
        parents: Expr,
    ) -> Expr {
        let arrays = self.arrays(tensor);
        let specs = self.program.storage(tensor).format.levels();
        let below = arrays.levels[levels.clone()].iter().zip(&specs[levels]);
        below.fold(parents, |parents, (level, spec)| {
            match spec.kind.size(level, parents.clone()) {
                Some(size) => size,
                None => match spec.kind.pos_bounds(level, parents) {
                    // The first child of the parent behind the last one is the end of all children.
                    Some(bounds) => bounds.lo,
                    None => int(0),
                },
            }
        })
    }
}
