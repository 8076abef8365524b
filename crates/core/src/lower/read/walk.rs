//! A loop over the positions of one operand.

use super::forall::{Iterator, LoopEmitter};
use crate::iteration::lattice::Set;
use crate::level::Bounds;
use crate::lower::{Code, Lowerer};
use crate::plan::Case;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::datatype::{DataType, Register};
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{add, assign, binary, for_loop, int, load, lt, store, sub, when};
use tamis_ir::ir::{Expr, Stmt};

impl LoopEmitter<'_> {
    /// A loop over the positions of one operand, from where an earlier loop stopped, if there was one.
    pub(in crate::lower) fn walk(
        &self,
        lowerer: &mut Lowerer<'_>,
        point: &Case,
        started: Set,
    ) -> Code {
        let it = &self.iterators[point.present.trailing_zeros() as usize];
        let fresh = point.present & started == 0;
        if it.segmented {
            return Code { stmts: self.walk_segments(lowerer, point, it, fresh), covers: false };
        }
        let fresh = fresh && !it.is_clipped() && !self.is_cut();
        let position = match fresh {
            true => it.position,
            false => lowerer.cx.temp_of(it.position, "_rest"),
        };
        let is_filtered = self.is_filtered(lowerer, it);
        let Code { stmts: body, covers } = match is_filtered {
            true => self.visit_found(lowerer, point, it, position),
            false => self.visit(lowerer, point, it, position),
        };
        if fresh && it.kind.properties().branchless && it.parent.end.is_none() {
            let first = vec![assign(position, it.parent.position.clone())];
            return Code { stmts: [first, body].concat(), covers };
        }
        let mut stmts = vec![];
        let (lo, hi) = match fresh {
            true => {
                let bounds = it.bounds();
                self.cut_positions((bounds.lo, bounds.hi))
            }
            false => {
                stmts.extend(self.start(&mut lowerer.cx, point.present & !started));
                (Expr::Var(it.position), Expr::Var(it.end(&mut lowerer.cx)))
            }
        };
        let range = Bounds { lo, hi };
        stmts.extend(match is_filtered {
            true => self.filtered(lowerer, it, position, range, body),
            false => self.positions(lowerer, it, position, range, body),
        });
        Code { stmts, covers: covers && !it.is_clipped() }
    }

    /// Whether positions with a coordinate are listed first: a test of each position, as of the buckets of a hash map,
    /// is an unpredictable branch. Loops that a schedule tags test instead.
    fn is_filtered(&self, lowerer: &Lowerer<'_>, it: &Iterator) -> bool {
        let (p, kernel) = (it.kind.properties(), lowerer.cx.kernel);
        let is_scattered = it.kind.locates() && !p.compact && !p.ordered;
        is_scattered && !kernel.is_for_gpu() && !kernel.tags.contains_key(&self.plan.own)
    }

    /// A loop over the positions with a coordinate, which are first listed by branchless code:
    ///
    /// ```text
    /// n = 0
    /// for p in lo..hi
    ///   found[n] = p;  n = n + (p has a coordinate)
    /// for q in 0..n
    ///   p = found[q]; ..
    /// ```
    fn filtered(
        &self,
        lowerer: &mut Lowerer<'_>,
        it: &Iterator,
        p: Var,
        Bounds { lo, hi }: Bounds,
        body: Vec<Stmt>,
    ) -> Vec<Stmt> {
        let cx = &mut lowerer.cx;
        let name = format!("{}{}_found", cx.program.tensors[it.access.tensor].name, it.level + 1);
        let listed = cx.local(&name, DataType::I64);
        let [n, q] = ["_n", "_q"].map(|suffix| cx.temp_of(p, suffix));
        let is_found = it.labelled(p).found.expect("a level whose positions are filtered tells");
        let list = vec![
            store(listed, Expr::Var(n), Expr::Var(p)),
            assign(n, add(Expr::Var(n), Expr::Convert(Register::I64, Box::new(is_found)))),
        ];
        let most = binary(BinaryOp::Max, sub(hi.clone(), lo.clone()), int(0));
        let mut stmts = vec![
            Stmt::Reserve { array: listed, len: most },
            assign(n, int(0)),
            for_loop(p, lo, hi, list),
        ];
        let each = [vec![assign(p, load(listed, Expr::Var(q)))], body].concat();
        stmts.extend(lowerer.counted_loop(self.plan.own, q, (int(0), Expr::Var(n)), each));
        stmts
    }

    /// A loop over positions that skips empty stretches, if the level can test for these:
    ///
    /// ```text
    /// for first in lo..hi step n
    ///   if not (first + n <= hi and then these n are empty)
    ///     for p in first..min(first + n, hi)
    /// ```
    pub(in crate::lower) fn positions(
        &self,
        lowerer: &mut Lowerer<'_>,
        it: &Iterator,
        p: Var,
        range: Bounds,
        body: Vec<Stmt>,
    ) -> Vec<Stmt> {
        let Bounds { lo, hi } = range;
        let first = lowerer.cx.temp_of(p, "_first");
        let Some(passed) = it.kind.pos_passed(&it.arrays, Expr::Var(first)) else {
            return lowerer.counted_loop(self.plan.own, p, (lo, hi), body);
        };
        let end = it.end(&mut lowerer.cx);
        let next = add(Expr::Var(first), int(passed.positions));
        let whole = binary(BinaryOp::Le, next.clone(), Expr::Var(end));
        let rest = binary(BinaryOp::Min, next, Expr::Var(end));
        let within = Stmt::For { var: p, lo: Expr::Var(first), hi: rest, step: 1, body };
        let stretch = Stmt::If {
            cond: Expr::AndThen(Box::new(whole), Box::new(passed.empty)),
            then: vec![],
            otherwise: vec![within],
        };
        let (end_value, hi) = (hi, Expr::Var(end));
        let mut stmts = vec![];
        if end_value != hi {
            stmts.push(assign(end, end_value));
        }
        stmts.push(Stmt::For { var: first, lo, hi, step: passed.positions, body: vec![stretch] });
        stmts
    }

    /// The code at one position of an operand, if it has a coordinate.
    pub(in crate::lower) fn visit(
        &self,
        lowerer: &mut Lowerer<'_>,
        point: &Case,
        it: &Iterator,
        position: Var,
    ) -> Code {
        let found = it.labelled(position).found;
        let Code { mut stmts, covers } = self.visit_found(lowerer, point, it, position);
        let Some(found) = found else { return Code { stmts, covers } };
        let rest = stmts.split_off(1);
        stmts.extend((!rest.is_empty()).then(|| when(found, rest)));
        Code { stmts, covers: false }
    }

    /// The code at one position of an operand that has a coordinate.
    fn visit_found(
        &self,
        lowerer: &mut Lowerer<'_>,
        point: &Case,
        it: &Iterator,
        position: Var,
    ) -> Code {
        let labelled = it.labelled(position);
        let mut body = vec![assign(self.index, labelled.coordinate)];
        let mut at = position;
        if it.kind.walks_coordinates() {
            let c = Expr::Var(self.index);
            let parent = it.parent.position.clone();
            let located = it.kind.locate(&it.arrays, parent, c, &mut lowerer.cx.values.builder);
            let located = located.expect("coordinates that are walked are located");
            at = lowerer.cx.temp_of(position, "_at");
            body.extend(located.stmts);
            body.push(assign(at, located.position));
        }
        let code = self.case(lowerer, &[(it, at)], &point.node);
        body.extend(code.stmts);
        Code { stmts: body, covers: code.covers && labelled.found.is_none() }
    }

    /// A loop over the segments of one operand.
    pub(in crate::lower) fn walk_segments(
        &self,
        lowerer: &mut Lowerer<'_>,
        point: &Case,
        it: &Iterator,
        fresh: bool,
    ) -> Vec<Stmt> {
        let first = 1 << it.number;
        let mut stmts = if fresh { self.start(&mut lowerer.cx, first) } else { vec![] };
        let end = Expr::Var(it.end(&mut lowerer.cx));
        let labelled = it.labelled(it.position);
        let mut body = vec![assign(self.index, labelled.coordinate)];
        let stored = it.stored(it.position, self.index);
        body.extend(it.segment(&mut lowerer.cx, it.position, stored, end.clone()));
        let code = self.case(lowerer, &[(it, it.position)], &point.node).stmts;
        match labelled.found {
            Some(found) if !code.is_empty() => body.push(when(found, code)),
            _ => body.extend(code),
        }
        body.push(it.advanced(&mut lowerer.cx));
        stmts.push(Stmt::While { cond: lt(Expr::Var(it.position), end), body });
        stmts
    }
}
