//! Packs a sorted coordinate buffer into the levels of the result.
//!
//! The statistics that a level needs before assembly are computed from the buffer (attribute queries): the entries of
//! the longest row for the slots of ELL, the children of each parent for its hash map, the widest span of a parent for
//! a band.

use crate::level::{Part, Query};
use crate::lower::builder::advance;
use crate::lower::symbols::Symbols;
use crate::lower::write::append::LevelWriter;
use crate::lower::write::coo_buffer::CooBuffer;
use crate::plan::Assembler;
use tamis_ir::algebra::{BinaryOp, UnaryOp};
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{
    add, all, assign, binary, eq, for_loop, int, load, lt, store, sub, when,
};
use tamis_ir::ir::{self, Expr, Status};

impl CooBuffer {
    /// Sets the widths of levels with a common width, and the positions of parents where each has its own.
    pub(in crate::lower) fn widths(
        &self,
        cx: &mut Symbols<'_>,
        writer: &mut LevelWriter,
    ) -> Vec<ir::Stmt> {
        let mut stmts = vec![];
        let levels = cx.program.storage(cx.kernel.result).format.levels();
        for (k, level) in levels.iter().enumerate().skip(self.first) {
            if level.insert_edges().is_some() {
                let all = (int(0), Expr::Var(self.count));
                stmts.extend(writer.measured(cx, k, &mut |cx, writer| {
                    self.unstage(cx, writer, self.first, int(0), all.clone())
                }));
            } else if level.has(Part::Width) {
                let most = match cx.levels().is_slot(k) {
                    true => self.numbered(cx, k, &mut stmts),
                    false => self.answered(cx, k, &mut stmts),
                };
                stmts.extend(width(cx, k, Expr::Var(most)));
            }
        }
        stmts
    }

    /// The statistic that a level needs, computed from the buffer.
    fn answered(&self, cx: &mut Symbols<'_>, k: usize, stmts: &mut Vec<ir::Stmt>) -> Var {
        match cx.levels().assembler(k) {
            Assembler::Insert(insert) if insert.insert_query() == Query::Span => {
                self.widest_span(cx, k, stmts)
            }
            _ => self.most_children(cx, k, stmts),
        }
    }

    /// Numbers the entries with the same coordinates in all levels that have a position for every coordinate, and
    /// sorts the buffer also by these numbers; returns the largest count.
    fn numbered(&self, cx: &mut Symbols<'_>, k: usize, stmts: &mut Vec<ir::Stmt>) -> Var {
        // The buffer is rewritten in place.
        let room = |array| ir::Stmt::Reserve { array, len: Expr::Var(self.count) };
        stmts.extend(self.crds.iter().copied().map(room));
        stmts.extend(self.vals.reserve(&Expr::Var(self.count)));
        stmts.extend(self.merged_duplicates(cx));
        let levels = self.first..self.first + self.crds.len();
        let grouping: Vec<usize> = levels
            .filter(|&l| {
                !cx.levels().is_slot(l) && matches!(cx.levels().assembler(l), Assembler::Place)
            })
            .collect();
        let (q, slot, most) = (cx.temp("q"), cx.temp("slot"), cx.temp("most"));
        let same = same_before(self, &grouping, q);
        let next = ir::Stmt::If {
            cond: all([lt(int(0), Expr::Var(q)), same]),
            then: vec![assign(slot, add(Expr::Var(slot), int(1)))],
            otherwise: vec![assign(slot, int(0))],
        };
        let body = vec![
            next,
            store(self.crd(k), Expr::Var(q), Expr::Var(slot)),
            assign(most, binary(BinaryOp::Max, Expr::Var(most), add(Expr::Var(slot), int(1)))),
        ];
        stmts.extend([assign(slot, int(0)), assign(most, int(0))]);
        stmts.push(for_loop(q, int(0), Expr::Var(self.count), body));
        stmts.push(self.sorted());
        most
    }

    /// The largest number of coordinates of level `k` below one parent.
    fn most_children(&self, cx: &mut Symbols<'_>, k: usize, stmts: &mut Vec<ir::Stmt>) -> Var {
        let (q, children, most) = (cx.temp("q"), cx.temp("children"), cx.temp("most"));
        let above: Vec<usize> = (self.first..k).collect();
        let sibling = all([lt(int(0), Expr::Var(q)), same_before(self, &above, q)]);
        let differs = ir::Expr::Unary(UnaryOp::Not, Box::new(same_before(self, &[k], q)));
        let next = ir::Stmt::If {
            cond: sibling,
            then: vec![when(differs, vec![assign(children, add(Expr::Var(children), int(1)))])],
            otherwise: vec![assign(children, int(1))],
        };
        let body =
            vec![next, assign(most, binary(BinaryOp::Max, Expr::Var(most), Expr::Var(children)))];
        stmts.extend([assign(children, int(0)), assign(most, int(0))]);
        stmts.push(for_loop(q, int(0), Expr::Var(self.count), body));
        most
    }

    /// The largest number of coordinates of level `k` from the first below a parent to the last, both included.
    fn widest_span(&self, cx: &mut Symbols<'_>, k: usize, stmts: &mut Vec<ir::Stmt>) -> Var {
        let (q, first, most) = (cx.temp("q"), cx.temp("first"), cx.temp("most"));
        let above: Vec<usize> = (self.first..k).collect();
        let sibling = all([lt(int(0), Expr::Var(q)), same_before(self, &above, q)]);
        let coordinate = || load(self.crd(k), Expr::Var(q));
        let starts = ir::Stmt::If {
            cond: sibling,
            then: vec![],
            otherwise: vec![assign(first, coordinate())],
        };
        let span = add(sub(coordinate(), Expr::Var(first)), int(1));
        let body = vec![starts, assign(most, binary(BinaryOp::Max, Expr::Var(most), span))];
        stmts.extend([assign(first, int(0)), assign(most, int(0))]);
        stmts.push(for_loop(q, int(0), Expr::Var(self.count), body));
        most
    }

    /// Combines duplicates in the buffer, leaving one entry for each coordinate.
    fn merged_duplicates(&self, cx: &mut Symbols<'_>) -> Vec<ir::Stmt> {
        let levels: Vec<usize> = (self.first..self.first + self.crds.len()).collect();
        let (q, kept) = (cx.temp("q"), cx.temp("kept"));
        let (to, from) = (|| Expr::Var(kept), || Expr::Var(q));
        let last = || add(to(), int(-1));
        let equal =
            levels.iter().map(|&l| eq(load(self.crd(l), last()), load(self.crd(l), from())));
        let same = all(std::iter::once(lt(int(0), to())).chain(equal));
        let value = cx.loaded(self.vals, from());
        let mut then = vec![];
        if let Some(op) = self.op {
            let old = cx.loaded(self.vals, last());
            let total = cx.combined(op, old, value.clone(), &mut then);
            then.extend(cx.kept_value(self.vals, last(), total));
        }
        let mut otherwise: Vec<ir::Stmt> =
            levels.iter().map(|&l| store(self.crd(l), to(), load(self.crd(l), from()))).collect();
        otherwise.extend(cx.kept_value(self.vals, to(), value));
        otherwise.push(advance(kept));
        let body = vec![ir::Stmt::If { cond: same, then, otherwise }];
        vec![
            assign(kept, int(0)),
            for_loop(q, int(0), Expr::Var(self.count), body),
            assign(self.count, to()),
        ]
    }

    /// Assembles the entries `lo..hi`, which have the same coordinates in the levels before `k`, below a position.
    pub(in crate::lower) fn unstage(
        &self,
        cx: &mut Symbols<'_>,
        levels: &mut LevelWriter,
        k: usize,
        parent: Expr,
        (lo, hi): (Expr, Expr),
    ) -> Vec<ir::Stmt> {
        if levels.is_measured(k) {
            return self.own_width(cx, k, parent, (lo, hi));
        }
        let depth = cx.levels().len();
        let last = (k + 1..depth).take_while(|&l| cx.levels().head(l) <= k).last().unwrap_or(k);
        let (q, end) = (cx.temp("q"), cx.temp(&format!("q{}_end", last + 1)));
        let coordinates: Vec<Var> = (k..=last).map(|_| cx.temp("c")).collect();
        let mut body = vec![];
        let mut same = vec![lt(Expr::Var(end), hi.clone())];
        for (l, &c) in (k..).zip(&coordinates) {
            body.push(assign(c, load(self.crd(l), Expr::Var(q))));
            same.push(eq(load(self.crd(l), Expr::Var(end)), Expr::Var(c)));
        }
        body.push(assign(end, add(Expr::Var(q), int(1))));
        body.push(ir::Stmt::While { cond: all(same), body: vec![advance(end)] });
        let stored = |l: usize| Expr::Var(coordinates[l - k]);
        let (position, after) = levels.entered(cx, k, last, parent.clone(), &stored, &mut body);
        if last + 1 < depth {
            let run = (Expr::Var(q), Expr::Var(end));
            body.extend(self.unstage(cx, levels, last + 1, position, run));
        } else {
            body.extend(self.run(cx, position, Expr::Var(q), Expr::Var(end)));
        }
        body.extend(after);
        body.push(assign(q, Expr::Var(end)));
        let mut stmts = vec![assign(q, lo), ir::Stmt::While { cond: lt(Expr::Var(q), hi), body }];
        stmts.extend(levels.edges_at(cx, k, parent));
        stmts
    }

    /// The width of a parent, from its children: the entries `lo..hi` are all below it.
    fn own_width(
        &self,
        cx: &mut Symbols<'_>,
        k: usize,
        parent: Expr,
        (lo, hi): (Expr, Expr),
    ) -> Vec<ir::Stmt> {
        let (q, children) = (cx.temp("q"), cx.temp("children"));
        let first = eq(Expr::Var(q), lo.clone());
        let differs = Expr::Unary(UnaryOp::Not, Box::new(same_before(self, &[k], q)));
        let counted = || assign(children, add(Expr::Var(children), int(1)));
        let each = ir::Stmt::If {
            cond: first,
            then: vec![counted()],
            otherwise: vec![when(differs, vec![counted()])],
        };
        let mut stmts = vec![assign(children, int(0)), for_loop(q, lo, hi, vec![each])];
        stmts.extend(edges(cx, k, parent, Expr::Var(children)));
        stmts
    }

    /// Combines the values of a run of equal coordinates, and stores the result.
    fn run(&self, cx: &mut Symbols<'_>, position: Expr, lo: Expr, hi: Expr) -> Vec<ir::Stmt> {
        let Some(op) = self.op else {
            let value = cx.loaded(self.vals, lo);
            return cx.write(position, None, value);
        };
        let first = cx.loaded(self.vals, lo.clone());
        let total = cx.held_vars("total", first.im.is_some());
        let r = cx.temp("r");
        let mut step = vec![];
        let next = cx.loaded(self.vals, Expr::Var(r));
        let value = cx.combined(op, total.value(), next, &mut step);
        step.extend(cx.assigned(total, value));
        let mut stmts = cx.assigned(total, first);
        stmts.push(for_loop(r, add(lo, int(1)), hi, step));
        stmts.extend(cx.write(position, None, total.value()));
        stmts
    }
}

/// Sets the widths for a result without entries.
pub(in crate::lower) fn widths_of_nothing(
    cx: &mut Symbols<'_>,
    writer: &mut LevelWriter,
) -> Vec<ir::Stmt> {
    let levels = cx.program.storage(cx.kernel.result).format.levels();
    let of_level = |k: usize| match levels[k].insert_edges() {
        Some(_) => writer.measured(cx, k, &mut |_, _| vec![]),
        None if levels[k].has(Part::Width) => width(cx, k, int(0)),
        None => vec![],
    };
    (0..levels.len()).flat_map(of_level).collect()
}

/// Gives a parent of a level the positions for this number of children.
pub(in crate::lower) fn edges(
    cx: &mut Symbols<'_>,
    k: usize,
    parent: Expr,
    children: Expr,
) -> Vec<ir::Stmt> {
    let Assembler::Insert(insert) = cx.levels().assembler(k) else { return vec![] };
    let wide = cx.temp("width");
    let mut stmts = insert.insert_width(children, wide).unwrap_or_default();
    let level = &cx.result().levels[k];
    stmts.extend(cx.levels().edges_of(k).insert_edges(level, parent, Expr::Var(wide)));
    stmts
}

/// Sets the width of a level from the statistic.
pub(in crate::lower) fn width(cx: &mut Symbols<'_>, k: usize, most: Expr) -> Vec<ir::Stmt> {
    let mut stmts = vec![];
    let mut width = most;
    if let Assembler::Insert(insert) = cx.levels().assembler(k) {
        let wide = cx.temp("width");
        let code = insert.insert_width(width, wide);
        stmts.extend(code.expect("an inserted level with a width says which"));
        width = Expr::Var(wide);
    }
    let array = cx.result().levels[k].width;
    let array = array.expect("the level has a width");
    stmts.push(ir::Stmt::Reserve { array, len: int(1) });
    stmts.push(store(array, int(0), width));
    stmts
}

impl LevelWriter {
    /// Gives each parent of a level its positions: `entries` inserts the levels above, and gives the width of each
    /// parent.
    pub(in crate::lower) fn measured(
        &mut self,
        cx: &mut Symbols<'_>,
        k: usize,
        entries: &mut dyn FnMut(&mut Symbols<'_>, &mut LevelWriter) -> Vec<ir::Stmt>,
    ) -> Vec<ir::Stmt> {
        self.measured = Some(k);
        let mut stmts = self.open_root(cx, None);
        stmts.extend(entries(cx, self));
        self.measured = None;
        let (parents, level) = (self.positions_above(cx, k), cx.result().levels[k].clone());
        let (p, total) = (cx.temp("p"), cx.temp("total"));
        let fits = level.pos.map_or(vec![], |pos| cx.check_position(pos, Expr::Var(total)));
        let edges = cx.levels().edges_of(k);
        stmts.extend(edges.edges_finalize(&level, parents, p, total, fits));
        stmts
    }

    /// Whether levels above a level are inserted to find the number of positions of its parents.
    pub(in crate::lower) fn is_measured(&self, k: usize) -> bool {
        self.measured == Some(k)
    }

    /// The number of positions of the levels above a level.
    fn positions_above(&mut self, cx: &mut Symbols<'_>, k: usize) -> Expr {
        let arrays = cx.result();
        (0..k).fold(int(1), |count, above| match cx.levels().assembler(above) {
            Assembler::Append(_) => Expr::Var(self.next(cx, above)),
            Assembler::Place | Assembler::Insert(_) => {
                let size = cx.levels().kind(above).size(&arrays.levels[above], count);
                size.expect("a level without append has a size")
            }
        })
    }

    /// The position of coordinates of the levels `k..=last` below a parent, and the code to run there after everything
    /// below.
    pub(in crate::lower) fn entered(
        &mut self,
        cx: &mut Symbols<'_>,
        k: usize,
        last: usize,
        parent: Expr,
        stored: &dyn Fn(usize) -> Expr,
        body: &mut Vec<ir::Stmt>,
    ) -> (Expr, Vec<ir::Stmt>) {
        let arrays = cx.result();
        let coordinate = |l: usize| add(stored(l), arrays.levels[l].least.clone());
        let level = &arrays.levels[k];
        match cx.levels().assembler(k) {
            Assembler::Append(_) => {
                let next = Expr::Var(self.next(cx, k));
                body.extend(self.open_below(cx, last, next.clone(), add(next.clone(), int(1))));
                (next, self.keep(cx, last, &coordinate))
            }
            Assembler::Insert(insert) => {
                let at =
                    insert.insert_position(level, parent, coordinate(k), &mut cx.values.builder);
                body.extend(at.stmts);
                let p = cx.temp("p");
                body.push(assign(p, at.position));
                if cx.levels().kind(k).properties().branchless {
                    let taken = binary(BinaryOp::Ge, level.coordinate(Expr::Var(p)), int(0));
                    body.push(when(taken, vec![ir::Stmt::Fail(Status::CannotHold)]));
                }
                body.extend(insert.insert_coord(level, Expr::Var(p), coordinate(k)));
                (Expr::Var(p), vec![])
            }
            Assembler::Place => {
                let at = cx.levels().kind(k).locate(
                    level,
                    parent,
                    coordinate(k),
                    &mut cx.values.builder,
                );
                let at = at.expect("a level where every coordinate has a position locates");
                let p = cx.temp("p");
                body.push(assign(p, at.position));
                (Expr::Var(p), vec![])
            }
        }
    }
}

/// Whether an entry has the same coordinates as the previous one in some levels.
fn same_before(stage: &CooBuffer, levels: &[usize], q: Var) -> Expr {
    let before = || add(Expr::Var(q), int(-1));
    all(levels.iter().map(|&l| eq(load(stage.crd(l), before()), load(stage.crd(l), Expr::Var(q)))))
}
