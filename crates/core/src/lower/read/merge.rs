//! The loops of a lattice: which operands are walked together, and the cases at a coordinate.
//!
//! ```text
//! {b, c}, {b}, {c}          while both are live:  both / only b / only c
//!                           rest of b
//!                           rest of c
//! ```
//!
//! One iterator is a counted loop over its positions; every coordinate of the dimension is a
//! counted loop over coordinates, with the sparse operands asked whether they are there. Three
//! operands and more share one loop.

use super::forall::{At, Iterator, Loop};
use crate::iteration::lattice::Set;
use crate::lower::builder::Beside;
use crate::lower::builder::Builder;
use crate::lower::symbols::Symbols;
use crate::lower::{Code, Lowerer};
use crate::plan::{Body, Case, Merge};
use tamis_ir::datatype::Register;
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{add, all, assign, int, when};
use tamis_ir::ir::{Expr, Stmt};

impl Lowerer<'_> {
    pub(in crate::lower) fn merge(&mut self, nest: &Loop<'_>) -> Code {
        let uncovered = |stmts| Code { stmts, covers: false };
        match (nest.plan.merge, &nest.plan.body) {
            (Merge::Nothing, _) => Code::nothing(),
            (Merge::Universe, _) => self.universe(nest),
            (Merge::Led(leader), _) => self.led(nest, &nest.iterators[leader]),
            (Merge::NarySum, _) => uncovered(self.sum(nest)),
            (Merge::Nary, _) => uncovered(self.any(nest, nest.every())),
            (Merge::Points, Body::Cases(cases)) => self.by_points(nest, cases),
            (Merge::Points, Body::Sum(_)) => unreachable!("terms of a sum share a loop"),
        }
    }

    /// A loop per point of the lattice, more operands first.
    fn by_points(&mut self, nest: &Loop<'_>, points: &[Case]) -> Code {
        let (mut stmts, mut covers) = (vec![], false);
        let mut started: Set = 0;
        for point in points {
            if point.present.count_ones() == 1 {
                let code = self.walk(nest, point, started);
                stmts.extend(code.stmts);
                // What has the entries of the pattern has no others.
                let it = &nest.iterators[point.present.trailing_zeros() as usize];
                let all = points.len() == 1 && it.kind.properties().compact;
                let own = self.cx.is_pattern(&it.access)
                    || self.cx.planner().is_like(&it.access, it.level);
                covers = all && own && code.covers;
            } else {
                stmts.extend(self.start(nest, point.present & !started));
                stmts.push(self.together(nest, point));
            }
            started |= point.present;
        }
        Code { stmts, covers }
    }

    /// Moves an operand on to its next coordinate.
    pub(in crate::lower) fn advanced(&mut self, it: &Iterator) -> Stmt {
        let next = match it.segmented {
            true => Expr::Var(self.cx.segment_end(it.position)),
            false => add(Expr::Var(it.position), int(1)),
        };
        assign(it.position, next)
    }

    /// Moves an operand on to its next coordinate if it is at the present one.
    pub(in crate::lower) fn advanced_if(&mut self, it: &Iterator, flag: Var) -> Stmt {
        if it.segmented {
            return self.advanced(it);
        }
        let step = Expr::Convert(Register::I64, Box::new(Expr::Var(flag)));
        assign(it.position, add(Expr::Var(it.position), step))
    }

    /// Finds the segment of an operand if it is at the coordinate; else it is empty.
    pub(in crate::lower) fn segment_if(
        &mut self,
        nest: &Loop<'_>,
        it: &Iterator,
        flag: Var,
    ) -> Vec<Stmt> {
        let segment = self.segments_at(nest, &[(it, it.position)]);
        if segment.is_empty() {
            return vec![];
        }
        let empty = assign(self.cx.segment_end(it.position), Expr::Var(it.position));
        vec![empty, when(Expr::Var(flag), segment)]
    }

    /// Finds the segments of the operands that are at the coordinate.
    pub(in crate::lower) fn segments_at(&mut self, nest: &Loop<'_>, at: &[At<'_>]) -> Vec<Stmt> {
        let mut stmts = vec![];
        for (it, position) in at.iter().filter(|(it, _)| it.segmented) {
            let end = Expr::Var(it.end(&mut self.cx));
            let stored = it.stored(*position, nest.index);
            stmts.extend(self.segment(it, *position, stored, end));
        }
        stmts
    }

    /// Sets positions to the beginnings of their segments.
    pub(in crate::lower) fn start(&mut self, nest: &Loop<'_>, fresh: Set) -> Vec<Stmt> {
        let mut stmts = vec![];
        for it in nest.members(fresh) {
            let bounds = it.bounds();
            let (lo, hi) = self.cut_positions(nest, (bounds.lo, bounds.hi));
            stmts.push(assign(it.position, lo));
            stmts.push(assign(it.end(&mut self.cx), hi));
            stmts.extend(self.clipped(it));
            if self.is_cut(nest) {
                stmts.extend(self.cut_to_part(it));
            }
        }
        stmts
    }

    /// The points below a set as a chain of conditions, more operands first.
    pub(in crate::lower) fn cases(
        &mut self,
        nest: &Loop<'_>,
        present: Set,
        flag_of: &dyn Fn(&Iterator) -> Option<Var>,
    ) -> Code {
        if let Body::Sum(sum) = &nest.plan.body {
            let at = |it: &Iterator| flag_of(it).map(Expr::Var);
            let stmts = self.terms_at(nest, sum, &at, &mut |_, _| vec![]);
            return Code { stmts, covers: false };
        }
        let mut covers = true;
        let mut arms = vec![];
        for case in nest.plan.below(present) {
            let at = nest.at(case.present);
            let code = self.case(nest, &at, &case.node);
            covers &= code.covers;
            let flags: Vec<Var> = at.iter().filter_map(|(it, _)| flag_of(it)).collect();
            arms.push((flags.is_empty(), all(flags.into_iter().map(Expr::Var)), code.stmts));
        }
        covers &= nest.is_universal();
        let mut chain = vec![];
        for (always, cond, then) in arms.into_iter().rev() {
            chain = match (always, chain.is_empty()) {
                (true, _) => then,
                (false, true) => vec![when(cond, then)],
                (false, false) => vec![Stmt::If { cond, then, otherwise: chain }],
            };
        }
        Code { stmts: chain, covers }
    }
}

impl Symbols<'_> {
    /// Whether a use is that of the pattern of the result.
    pub(in crate::lower) fn is_pattern(&self, access: &crate::notation::Access) -> bool {
        access.tensor == self.kernel.result
    }
}

impl Iterator {
    /// The variable `pA2_end` for the end of an operand's segment.
    pub(in crate::lower) fn end(&self, cx: &mut Builder) -> Var {
        let name = format!("{}_end", cx.name_of(self.position));
        cx.beside(self.position, Beside::End, &name)
    }

    /// The variable `jA` for the coordinate at an operand's position.
    pub(in crate::lower) fn coordinate_var(&self, cx: &mut Symbols<'_>, nest: &Loop<'_>) -> Var {
        let tensor = &cx.program.tensors[self.access.tensor].name;
        let name = format!("{}{tensor}", cx.name_of(nest.index));
        cx.beside(self.position, Beside::Coordinate, &name)
    }

    /// The variable that says whether an operand is at the coordinate.
    pub(in crate::lower) fn flag(&self, cx: &mut Builder) -> Var {
        let name = format!("at_{}", cx.name_of(self.position));
        cx.beside(self.position, Beside::Flag, &name)
    }
}

impl Loop<'_> {
    /// The iterators that some point has.
    pub(in crate::lower) fn every(&self) -> Set {
        self.plan.points().iter().fold(0, |set, point| set | point)
    }

    /// The iterators of a set.
    pub(in crate::lower) fn members(&self, set: Set) -> impl std::iter::Iterator<Item = &Iterator> {
        self.iterators.iter().enumerate().filter(move |(k, _)| set & (1 << k) != 0).map(|(_, i)| i)
    }

    /// The index of an iterator in sets.
    pub(in crate::lower) fn place(&self, it: &Iterator) -> usize {
        self.iterators.iter().position(|other| std::ptr::eq(other, it)).unwrap_or(0)
    }

    /// The iterators of a set at their positions.
    pub(in crate::lower) fn at(&self, set: Set) -> Vec<At<'_>> {
        self.members(set).map(|it| (it, it.position)).collect()
    }
}
