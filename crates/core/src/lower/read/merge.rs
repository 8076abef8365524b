//! The loops of a lattice: which operands each loop walks, and its cases.
//!
//! ```text
//! {b, c}, {b}, {c}          while both have entries:  both / only b / only c
//!                           rest of b
//!                           rest of c
//! ```
//!
//! A single iterator is a counted loop over its positions. A loop over every coordinate of the dimension is a counted
//! loop that tests sparse operands for entries. Three operands or more share one loop, or follow those that are needed
//! everywhere ([`super::led`]).

use super::forall::{At, Iterator, LoopEmitter};
use crate::iteration::lattice::Set;
use crate::lower::builder::Beside;
use crate::lower::builder::Builder;
use crate::lower::symbols::Symbols;
use crate::lower::{Code, Lowerer};
use crate::plan::{Body, Case, Merge};
use std::collections::BTreeMap;
use tamis_ir::datatype::Register;
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{add, all, assign, int, when};
use tamis_ir::ir::{Expr, Stmt};

impl LoopEmitter<'_> {
    pub(in crate::lower) fn merge(&self, lowerer: &mut Lowerer<'_>) -> Code {
        let own = self.plan.own;
        let counted = |lowerer: &Lowerer<'_>| lowerer.counted.get(&own).copied().unwrap_or(0);
        let before = counted(lowerer);
        let code = self.merged(lowerer);
        let loops = match (self.plan.merge, &self.plan.body) {
            (Merge::Nothing, _) => 0,
            (Merge::Points, Body::Cases(points)) => points.len(),
            _ => 1,
        };
        if counted(lowerer) < before + loops && !code.stmts.is_empty() {
            lowerer.uncounted.insert(own);
        }
        code
    }

    fn merged(&self, lowerer: &mut Lowerer<'_>) -> Code {
        let uncovered = |stmts| Code { stmts, covers: false };
        match (self.plan.merge, &self.plan.body) {
            (Merge::Nothing, _) => Code::nothing(),
            (Merge::Universe, _) => self.universe(lowerer),
            (Merge::Led(leaders), _) => self.led(lowerer, leaders),
            (Merge::NarySum, _) => uncovered(self.sum(lowerer)),
            (Merge::Nary, _) => uncovered(self.any(lowerer, self.every())),
            (Merge::Points, Body::Cases(cases)) => self.by_points(lowerer, cases),
            (Merge::Points, Body::Sum(_)) => unreachable!("terms of a sum share a loop"),
        }
    }

    /// A loop per point of the lattice, more operands first.
    fn by_points(&self, lowerer: &mut Lowerer<'_>, points: &[Case]) -> Code {
        let (mut stmts, mut covers) = (vec![], false);
        let mut started: Set = 0;
        for point in points {
            if point.present.count_ones() == 1 {
                let code = self.walk(lowerer, point, started);
                stmts.extend(code.stmts);
                // A walk over all entries of the pattern covers the result, which has no other elements.
                let it = &self.iterators[point.present.trailing_zeros() as usize];
                let all = points.len() == 1 && it.kind.properties().compact;
                let own = it.access.tensor == lowerer.kernel.result
                    || lowerer.cx.planner().is_like(&it.access, it.level);
                covers = all && own && code.covers;
            } else {
                stmts.extend(self.start(&mut lowerer.cx, point.present & !started));
                stmts.push(self.together(lowerer, point.present));
            }
            started |= point.present;
        }
        Code { stmts, covers }
    }

    /// Finds the segment of an operand if it is at the coordinate; otherwise the segment is empty.
    pub(in crate::lower) fn segment_if(
        &self,
        cx: &mut Builder,
        it: &Iterator,
        flag: Var,
    ) -> Vec<Stmt> {
        let segment = self.segments_at(cx, &[(it, it.position)]);
        if segment.is_empty() {
            return vec![];
        }
        let empty = assign(cx.segment_end(it.position), Expr::Var(it.position));
        vec![empty, when(Expr::Var(flag), segment)]
    }

    /// Finds the segments of the operands that are at the coordinate.
    pub(in crate::lower) fn segments_at(&self, cx: &mut Builder, at: &[At<'_>]) -> Vec<Stmt> {
        let mut stmts = vec![];
        for (it, position) in at.iter().filter(|(it, _)| it.segmented) {
            let end = Expr::Var(it.end(cx));
            let stored = it.stored(*position, self.index);
            stmts.extend(it.segment(cx, *position, stored, end));
        }
        stmts
    }

    /// Sets positions to the starts of their segments.
    pub(in crate::lower) fn start(&self, cx: &mut Builder, fresh: Set) -> Vec<Stmt> {
        let mut stmts = vec![];
        for it in self.members(fresh) {
            let bounds = it.bounds();
            let (lo, hi) = self.cut_positions((bounds.lo, bounds.hi));
            stmts.push(assign(it.position, lo));
            stmts.push(assign(it.end(cx), hi));
            stmts.extend(it.clipped(cx));
            if let (true, Some(part)) = (self.is_cut(), &self.interval) {
                stmts.extend(it.cut_to(cx, part));
            }
        }
        stmts
    }

    /// The points below a set as a chain of conditions, more operands first.
    pub(in crate::lower) fn cases(
        &self,
        lowerer: &mut Lowerer<'_>,
        present: Set,
        flags: &BTreeMap<usize, Var>,
    ) -> Code {
        if let Body::Sum(sum) = &self.plan.body {
            let at = |it: &Iterator| flags.get(&it.number).map(|&flag| Expr::Var(flag));
            let stmts = self.terms_at(lowerer, sum, &at, &mut |_, _| vec![]);
            return Code { stmts, covers: false };
        }
        let mut covers = true;
        let mut arms = vec![];
        for case in self.plan.below(present) {
            let at = self.at(case.present);
            let code = self.case(lowerer, &at, &case.node);
            covers &= code.covers;
            let flags: Vec<Var> =
                at.iter().filter_map(|(it, _)| flags.get(&it.number).copied()).collect();
            arms.push((flags.is_empty(), all(flags.into_iter().map(Expr::Var)), code.stmts));
        }
        covers &= self.is_universal();
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

impl Iterator {
    /// Advances an operand to its next coordinate.
    pub(in crate::lower) fn advanced(&self, cx: &mut Builder) -> Stmt {
        let next = match self.segmented {
            true => Expr::Var(cx.segment_end(self.position)),
            false => add(Expr::Var(self.position), int(1)),
        };
        assign(self.position, next)
    }

    /// Advances an operand to its next coordinate if it is at the current one.
    pub(in crate::lower) fn advanced_if(&self, cx: &mut Builder, flag: Var) -> Stmt {
        if self.segmented {
            return self.advanced(cx);
        }
        let step = Expr::Convert(Register::I64, Box::new(Expr::Var(flag)));
        assign(self.position, add(Expr::Var(self.position), step))
    }
}

impl Iterator {
    /// The variable `pA2_end` for the end of an operand's segment.
    pub(in crate::lower) fn end(&self, cx: &mut Builder) -> Var {
        let name = format!("{}_end", cx.name_of(self.position));
        cx.beside(self.position, Beside::End, &name)
    }

    /// The variable `jA` for the coordinate at an operand's position.
    pub(in crate::lower) fn coordinate_var(
        &self,
        cx: &mut Symbols<'_>,
        nest: &LoopEmitter<'_>,
    ) -> Var {
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

impl LoopEmitter<'_> {
    /// The iterators that occur in any point.
    pub(in crate::lower) fn every(&self) -> Set {
        self.plan.points().iter().fold(0, |set, point| set | point)
    }

    /// The iterators of a set.
    pub(in crate::lower) fn members(&self, set: Set) -> impl std::iter::Iterator<Item = &Iterator> {
        self.iterators.iter().enumerate().filter(move |(k, _)| set & (1 << k) != 0).map(|(_, i)| i)
    }

    /// The iterators of a set at their positions.
    pub(in crate::lower) fn at(&self, set: Set) -> Vec<At<'_>> {
        self.members(set).map(|it| (it, it.position)).collect()
    }
}
