//! From a sorted list to the levels of the result.
//!
//! What a level has to know before it is assembled is asked of the list (attribute queries): the
//! entries of the longest row for the slots of ELL, the children of the fullest parent for a hash
//! map, the span of the widest parent for a band.

use crate::level::{Part, Query};
use crate::lower::Lowerer;
use crate::lower::builder::advance;
use crate::lower::write::coo_buffer::Stage;
use crate::plan::Assembler;
use tamis_ir::algebra::{BinaryOp, UnaryOp};
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{
    add, all, assign, binary, eq, for_loop, int, load, lt, store, sub, when,
};
use tamis_ir::ir::{self, Expr, Status};

impl Lowerer<'_> {
    /// Gives the levels that have a width theirs.
    pub(in crate::lower) fn widths(&mut self, stage: &Stage) -> Vec<ir::Stmt> {
        let mut stmts = vec![];
        let levels = self.program.storage(self.kernel.result).format.levels();
        for k in (stage.first..levels.len()).filter(|&k| levels[k].has(Part::Width)) {
            let most = match self.cx.levels().is_slot(k) {
                true => self.numbered(stage, k, &mut stmts),
                false => self.answered(stage, k, &mut stmts),
            };
            stmts.extend(self.width(k, Expr::Var(most)));
        }
        stmts
    }

    /// The same for a result without entries.
    pub(in crate::lower) fn widths_of_nothing(&mut self) -> Vec<ir::Stmt> {
        let levels = self.program.storage(self.kernel.result).format.levels();
        let with_width = (0..levels.len()).filter(|&k| levels[k].has(Part::Width));
        with_width.flat_map(|k| self.width(k, int(0))).collect()
    }

    /// The answer to what a level asks of the list.
    fn answered(&mut self, stage: &Stage, k: usize, stmts: &mut Vec<ir::Stmt>) -> Var {
        match self.cx.levels().assembler(k) {
            Assembler::Insert(insert) if insert.insert_query() == Query::Span => {
                self.widest_span(stage, k, stmts)
            }
            _ => self.most_children(stage, k, stmts),
        }
    }

    /// Sets the width of a level from the answer.
    fn width(&mut self, k: usize, most: Expr) -> Vec<ir::Stmt> {
        let mut stmts = vec![];
        let mut width = most;
        if let Assembler::Insert(insert) = self.cx.levels().assembler(k) {
            let wide = self.cx.temp("width");
            let code = insert.insert_width(width, wide);
            stmts.extend(code.expect("an inserted level with a width says which"));
            width = Expr::Var(wide);
        }
        let array = self.cx.result().levels[k].width;
        let array = array.expect("the level has a width");
        stmts.push(ir::Stmt::Reserve { array, len: int(1) });
        stmts.push(store(array, int(0), width));
        stmts
    }

    /// Numbers the entries that agree in all levels with a position for every coordinate, and sorts
    /// the list by the numbers too; the most there are.
    fn numbered(&mut self, stage: &Stage, k: usize, stmts: &mut Vec<ir::Stmt>) -> Var {
        // The list is rewritten in place.
        let room = |array| ir::Stmt::Reserve { array, len: Expr::Var(stage.count) };
        stmts.extend(stage.crds.iter().copied().map(room));
        stmts.extend(stage.vals.reserve(&Expr::Var(stage.count)));
        stmts.extend(self.merged_duplicates(stage));
        let levels = stage.first..stage.first + stage.crds.len();
        let grouping: Vec<usize> = levels
            .filter(|&l| {
                !self.cx.levels().is_slot(l)
                    && matches!(self.cx.levels().assembler(l), Assembler::Place)
            })
            .collect();
        let (q, slot, most) = (self.cx.temp("q"), self.cx.temp("slot"), self.cx.temp("most"));
        let same = same_before(stage, &grouping, q);
        let next = ir::Stmt::If {
            cond: all([lt(int(0), Expr::Var(q)), same]),
            then: vec![assign(slot, add(Expr::Var(slot), int(1)))],
            otherwise: vec![assign(slot, int(0))],
        };
        let body = vec![
            next,
            store(stage.crd(k), Expr::Var(q), Expr::Var(slot)),
            assign(most, binary(BinaryOp::Max, Expr::Var(most), add(Expr::Var(slot), int(1)))),
        ];
        stmts.extend([assign(slot, int(0)), assign(most, int(0))]);
        stmts.push(for_loop(q, int(0), Expr::Var(stage.count), body));
        stmts.push(self.sorted(stage));
        most
    }

    /// The most coordinates of level `k` below one parent.
    fn most_children(&mut self, stage: &Stage, k: usize, stmts: &mut Vec<ir::Stmt>) -> Var {
        let (q, children, most) =
            (self.cx.temp("q"), self.cx.temp("children"), self.cx.temp("most"));
        let above: Vec<usize> = (stage.first..k).collect();
        let sibling = all([lt(int(0), Expr::Var(q)), same_before(stage, &above, q)]);
        let differs = ir::Expr::Unary(UnaryOp::Not, Box::new(same_before(stage, &[k], q)));
        let next = ir::Stmt::If {
            cond: sibling,
            then: vec![when(differs, vec![assign(children, add(Expr::Var(children), int(1)))])],
            otherwise: vec![assign(children, int(1))],
        };
        let body =
            vec![next, assign(most, binary(BinaryOp::Max, Expr::Var(most), Expr::Var(children)))];
        stmts.extend([assign(children, int(0)), assign(most, int(0))]);
        stmts.push(for_loop(q, int(0), Expr::Var(stage.count), body));
        most
    }

    /// The most coordinates of level `k` from the first below a parent to the last.
    fn widest_span(&mut self, stage: &Stage, k: usize, stmts: &mut Vec<ir::Stmt>) -> Var {
        let (q, first, most) = (self.cx.temp("q"), self.cx.temp("first"), self.cx.temp("most"));
        let above: Vec<usize> = (stage.first..k).collect();
        let sibling = all([lt(int(0), Expr::Var(q)), same_before(stage, &above, q)]);
        let coordinate = || load(stage.crd(k), Expr::Var(q));
        let starts = ir::Stmt::If {
            cond: sibling,
            then: vec![],
            otherwise: vec![assign(first, coordinate())],
        };
        let span = add(sub(coordinate(), Expr::Var(first)), int(1));
        let body = vec![starts, assign(most, binary(BinaryOp::Max, Expr::Var(most), span))];
        stmts.extend([assign(first, int(0)), assign(most, int(0))]);
        stmts.push(for_loop(q, int(0), Expr::Var(stage.count), body));
        most
    }

    /// Leaves one entry for each coordinate in the list.
    fn merged_duplicates(&mut self, stage: &Stage) -> Vec<ir::Stmt> {
        let levels: Vec<usize> = (stage.first..stage.first + stage.crds.len()).collect();
        let (q, kept) = (self.cx.temp("q"), self.cx.temp("kept"));
        let (to, from) = (|| Expr::Var(kept), || Expr::Var(q));
        let last = || add(to(), int(-1));
        let equal =
            levels.iter().map(|&l| eq(load(stage.crd(l), last()), load(stage.crd(l), from())));
        let same = all(std::iter::once(lt(int(0), to())).chain(equal));
        let value = self.cx.loaded(stage.vals, from());
        let mut then = vec![];
        if let Some(op) = stage.op {
            let old = self.cx.loaded(stage.vals, last());
            let total = self.cx.combined(op, old, value.clone(), &mut then);
            then.extend(self.cx.kept_value(stage.vals, last(), total));
        }
        let mut otherwise: Vec<ir::Stmt> =
            levels.iter().map(|&l| store(stage.crd(l), to(), load(stage.crd(l), from()))).collect();
        otherwise.extend(self.cx.kept_value(stage.vals, to(), value));
        otherwise.push(advance(kept));
        let body = vec![ir::Stmt::If { cond: same, then, otherwise }];
        vec![
            assign(kept, int(0)),
            for_loop(q, int(0), Expr::Var(stage.count), body),
            assign(stage.count, to()),
        ]
    }

    /// Assembles the entries `lo..hi`, which agree in the levels before `k`, below a position.
    pub(in crate::lower) fn unstage(
        &mut self,
        stage: &Stage,
        k: usize,
        parent: Expr,
        lo: Expr,
        hi: Expr,
    ) -> Vec<ir::Stmt> {
        let levels = self.cx.result().levels.len();
        let last =
            (k + 1..levels).take_while(|&l| self.cx.levels().head(l) <= k).last().unwrap_or(k);
        let (q, end) = (self.cx.temp("q"), self.cx.temp(&format!("q{}_end", last + 1)));
        let coordinates: Vec<Var> = (k..=last).map(|_| self.cx.temp("c")).collect();
        let mut body = vec![];
        let mut same = vec![lt(Expr::Var(end), hi.clone())];
        for (l, &c) in (k..).zip(&coordinates) {
            body.push(assign(c, load(stage.crd(l), Expr::Var(q))));
            same.push(eq(load(stage.crd(l), Expr::Var(end)), Expr::Var(c)));
        }
        body.push(assign(end, add(Expr::Var(q), int(1))));
        body.push(ir::Stmt::While { cond: all(same), body: vec![advance(end)] });
        let stored = |l: usize| Expr::Var(coordinates[l - k]);
        let (position, after) = self.entered(k, last, parent.clone(), &stored, &mut body);
        if last + 1 < levels {
            body.extend(self.unstage(stage, last + 1, position, Expr::Var(q), Expr::Var(end)));
        } else {
            body.extend(self.run(stage, position, Expr::Var(q), Expr::Var(end)));
        }
        body.extend(after);
        body.push(assign(q, Expr::Var(end)));
        let mut stmts = vec![assign(q, lo), ir::Stmt::While { cond: lt(Expr::Var(q), hi), body }];
        stmts.extend(self.edges_at(k, parent));
        stmts
    }

    /// The position of coordinates of the levels `k..=last` below a parent, and what has to be
    /// done there after everything below.
    fn entered(
        &mut self,
        k: usize,
        last: usize,
        parent: Expr,
        stored: &dyn Fn(usize) -> Expr,
        body: &mut Vec<ir::Stmt>,
    ) -> (Expr, Vec<ir::Stmt>) {
        let arrays = self.cx.result();
        let coordinate = |l: usize| add(stored(l), arrays.levels[l].least.clone());
        let level = &arrays.levels[k];
        match self.cx.levels().assembler(k) {
            Assembler::Append(_) => {
                let next = Expr::Var(self.next(k));
                body.extend(self.open_below(last, next.clone(), add(next.clone(), int(1))));
                (next, self.keep(last, &coordinate))
            }
            Assembler::Insert(insert) => {
                let at = insert.insert_position(
                    level,
                    parent,
                    coordinate(k),
                    &mut self.cx.values.builder,
                );
                body.extend(at.stmts);
                let p = self.cx.temp("p");
                body.push(assign(p, at.position));
                if self.cx.levels().kind(k).properties().branchless {
                    let taken = binary(BinaryOp::Ge, level.coordinate(Expr::Var(p)), int(0));
                    body.push(when(taken, vec![ir::Stmt::Fail(Status::CannotHold)]));
                }
                body.extend(insert.insert_coord(level, Expr::Var(p), coordinate(k)));
                (Expr::Var(p), vec![])
            }
            Assembler::Place => {
                let at = self.cx.levels().kind(k).locate(
                    level,
                    parent,
                    coordinate(k),
                    &mut self.cx.values.builder,
                );
                let at = at.expect("a level where every coordinate has a position locates");
                let p = self.cx.temp("p");
                body.push(assign(p, at.position));
                (Expr::Var(p), vec![])
            }
        }
    }

    /// Combines the values of one run of equal coordinates and stores the result.
    fn run(&mut self, stage: &Stage, position: Expr, lo: Expr, hi: Expr) -> Vec<ir::Stmt> {
        let Some(op) = stage.op else {
            let value = self.cx.loaded(stage.vals, lo);
            return self.cx.write(position, None, value);
        };
        let first = self.cx.loaded(stage.vals, lo.clone());
        let total = self.cx.held_vars("total", first.im.is_some());
        let r = self.cx.temp("r");
        let mut step = vec![];
        let next = self.cx.loaded(stage.vals, Expr::Var(r));
        let value = self.cx.combined(op, total.value(), next, &mut step);
        step.extend(self.cx.assigned(total, value));
        let mut stmts = self.cx.assigned(total, first);
        stmts.push(for_loop(r, add(lo, int(1)), hi, step));
        stmts.extend(self.cx.write(position, None, total.value()));
        stmts
    }
}

/// Whether an entry agrees with the one before in some levels.
fn same_before(stage: &Stage, levels: &[usize], q: Var) -> Expr {
    let before = || add(Expr::Var(q), int(-1));
    all(levels.iter().map(|&l| eq(load(stage.crd(l), before()), load(stage.crd(l), Expr::Var(q)))))
}
