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
use crate::iteration::lattice::{Point, Set};
use crate::level::Bounds;
use crate::lower::{Code, Lowerer};
use tamis_ir::algebra::BinaryOp;
use tamis_ir::datatype::{Register, Scalar};
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{add, all, assign, binary, eq, int, lt, when};
use tamis_ir::ir::{Expr, Stmt, Type};

impl Lowerer<'_> {
    pub(in crate::lower) fn merge(&mut self, nest: &Loop<'_>) -> Code {
        if nest.lattice.points.is_empty() {
            return Code::nothing();
        }
        if nest.lattice.is_universal() {
            return self.universe(nest);
        }
        if let Some(leader) = self.leader(nest) {
            return self.led(nest, leader);
        }
        if nest.lattice.sums {
            return Code { stmts: self.sum(nest), covers: false };
        }
        let every = nest.every();
        if every.count_ones() > 2 && nest.lattice.points.len() > 1 {
            return Code { stmts: self.any(nest, every), covers: false };
        }
        let (mut stmts, mut covers) = (vec![], false);
        let mut started: Set = 0;
        for point in &nest.lattice.points {
            if point.present.count_ones() == 1 {
                let code = self.walk(nest, point, started);
                stmts.extend(code.stmts);
                // What has the entries of the pattern has no others.
                let it = &nest.iterators[point.present.trailing_zeros() as usize];
                let all = nest.lattice.points.len() == 1 && it.kind.properties().compact;
                let own = self.is_pattern(&it.access) || self.is_like(&it.access, it.level);
                covers = all && own && code.covers;
            } else {
                stmts.extend(self.start(nest, point.present & !started));
                stmts.push(self.together(nest, point));
            }
            started |= point.present;
        }
        Code { stmts, covers }
    }

    /// Whether a use is that of the pattern of the result.
    pub(in crate::lower) fn is_pattern(&self, access: &crate::notation::Access) -> bool {
        access.tensor == self.kernel.result
    }

    /// A loop over the positions of one operand, from where an earlier loop left off if there was
    /// one.
    fn walk(&mut self, nest: &Loop<'_>, point: &Point, started: Set) -> Code {
        let it = &nest.iterators[point.present.trailing_zeros() as usize];
        let fresh = point.present & started == 0;
        if it.segmented {
            return Code { stmts: self.walk_segments(nest, point, it, fresh), covers: false };
        }
        let fresh = fresh && !it.is_clipped() && !self.is_cut(nest);
        let position = match fresh {
            true => it.position,
            false => {
                let rest = format!("{}_rest", self.name_of(it.position));
                self.temp(&rest)
            }
        };
        let Code { stmts: body, covers } = self.visit(nest, point, it, position);
        if fresh && it.kind.properties().branchless && it.parent.end.is_none() {
            let first = vec![assign(position, it.parent.position.clone())];
            return Code { stmts: [first, body].concat(), covers };
        }
        let mut stmts = vec![];
        let (lo, hi) = match fresh {
            true => {
                let bounds = it.bounds();
                self.cut_positions(nest, (bounds.lo, bounds.hi))
            }
            false => {
                stmts.extend(self.start(nest, point.present & !started));
                (Expr::Var(it.position), Expr::Var(self.end(it)))
            }
        };
        stmts.extend(self.positions(nest, it, position, Bounds { lo, hi }, body));
        Code { stmts, covers: covers && !it.is_clipped() }
    }

    /// A loop over positions, which passes over stretches that hold nothing where the level can
    /// tell:
    ///
    /// ```text
    /// for first in lo..hi step n
    ///   if not (first + n <= hi and then these n are empty)
    ///     for p in first..min(first + n, hi)
    /// ```
    pub(in crate::lower) fn positions(
        &mut self,
        nest: &Loop<'_>,
        it: &Iterator,
        p: Var,
        range: Bounds,
        body: Vec<Stmt>,
    ) -> Vec<Stmt> {
        let Bounds { lo, hi } = range;
        let first = self.temp(&format!("{}_first", self.name_of(p)));
        let Some(passed) = it.kind.pos_passed(&it.arrays, Expr::Var(first)) else {
            self.on_unit(nest.own, p);
            return self.unrolled(nest.own, Stmt::For { var: p, lo, hi, step: 1, body });
        };
        let end = self.end(it);
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

    /// What is done at one position of one operand, if it has a coordinate.
    fn visit(&mut self, nest: &Loop<'_>, point: &Point, it: &Iterator, position: Var) -> Code {
        let labelled = it.labelled(position);
        let mut body = vec![assign(nest.index, labelled.coordinate)];
        let mut at = position;
        if it.kind.walks_coordinates() {
            let c = Expr::Var(nest.index);
            let parent = it.parent.position.clone();
            let located = it.kind.locate(&it.arrays, parent, c, &mut self.builder);
            let located = located.expect("coordinates that are walked are located");
            at = self.temp(&format!("{}_at", self.name_of(position)));
            body.extend(located.stmts);
            body.push(assign(at, located.position));
        }
        let code = self.case(nest, &[(it, at)], &point.body);
        let covers = code.covers && labelled.found.is_none();
        match labelled.found {
            None => body.extend(code.stmts),
            Some(found) if code.stmts.is_empty() => drop(found),
            Some(found) => body.push(when(found, code.stmts)),
        }
        Code { stmts: body, covers }
    }

    /// A loop over the segments of equal coordinates of one operand.
    fn walk_segments(
        &mut self,
        nest: &Loop<'_>,
        point: &Point,
        it: &Iterator,
        fresh: bool,
    ) -> Vec<Stmt> {
        let first = 1 << nest.place(it);
        let mut stmts = if fresh { self.start(nest, first) } else { vec![] };
        let end = Expr::Var(self.end(it));
        let labelled = it.labelled(it.position);
        let mut body = vec![assign(nest.index, labelled.coordinate)];
        let stored = it.stored(it.position, nest.index);
        body.extend(self.segment(it, it.position, stored, end.clone()));
        let code = self.case(nest, &[(it, it.position)], &point.body).stmts;
        match labelled.found {
            Some(found) if !code.is_empty() => body.push(when(found, code)),
            _ => body.extend(code),
        }
        body.push(self.advanced(it));
        stmts.push(Stmt::While { cond: lt(Expr::Var(it.position), end), body });
        stmts
    }

    /// Moves an operand on to its next coordinate.
    fn advanced(&mut self, it: &Iterator) -> Stmt {
        let next = match it.segmented {
            true => Expr::Var(self.segment_end(it.position)),
            false => add(Expr::Var(it.position), int(1)),
        };
        assign(it.position, next)
    }

    /// Moves an operand on to its next coordinate if it is at the present one.
    fn advanced_if(&mut self, it: &Iterator, flag: Var) -> Stmt {
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
        let empty = assign(self.segment_end(it.position), Expr::Var(it.position));
        vec![empty, when(Expr::Var(flag), segment)]
    }

    /// Finds the segments of the operands that are at the coordinate.
    fn segments_at(&mut self, nest: &Loop<'_>, at: &[At<'_>]) -> Vec<Stmt> {
        let mut stmts = vec![];
        for (it, position) in at.iter().filter(|(it, _)| it.segmented) {
            let end = Expr::Var(self.end(it));
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
            stmts.push(assign(self.end(it), hi));
            stmts.extend(self.clipped(it));
            if self.is_cut(nest) {
                stmts.extend(self.cut_to_part(it));
            }
        }
        stmts
    }

    /// Walks several operands while all are live.
    fn together(&mut self, nest: &Loop<'_>, point: &Point) -> Stmt {
        let mut live = vec![];
        let mut body = vec![];
        let mut coordinates = vec![];
        for it in nest.members(point.present) {
            live.push(lt(Expr::Var(it.position), Expr::Var(self.end(it))));
            let coordinate = self.coordinate_var(nest, it);
            body.push(assign(coordinate, it.coordinate(it.position)));
            coordinates.push(coordinate);
        }
        let rest = match coordinates[..] {
            [a, b] => self.two(nest, point, a, b),
            _ => match self.all_of(nest, point, &coordinates) {
                Some(searched) => searched,
                None => self.many(nest, point.present, &coordinates),
            },
        };
        body.extend(rest);
        Stmt::While { cond: all(live), body }
    }

    /// Two operands: both, only the first, only the second.
    fn two(&mut self, nest: &Loop<'_>, point: &Point, a: Var, b: Var) -> Vec<Stmt> {
        let first = 1 << point.present.trailing_zeros();
        let second = point.present & !first;
        let both = self.advancing(nest, point.present, a);
        let only_first = self.passing(nest, first, (a, b));
        let only_second = self.passing(nest, second, (b, a));
        vec![Stmt::If {
            cond: eq(Expr::Var(a), Expr::Var(b)),
            then: both,
            otherwise: vec![Stmt::If {
                cond: lt(Expr::Var(a), Expr::Var(b)),
                then: only_first,
                otherwise: only_second,
            }],
        }]
    }

    /// The case in which one of two operands is at a coordinate before that of the other.
    fn passing(&mut self, nest: &Loop<'_>, alone: Set, (own, other): (Var, Var)) -> Vec<Stmt> {
        match nest.members(alone).next() {
            Some(it) if self.gallops(nest, alone) => self.galloped(it, other),
            _ => self.advancing(nest, alone, own),
        }
    }

    /// The case in which exactly these operands are at the coordinate, which moves them on.
    pub(in crate::lower) fn advancing(
        &mut self,
        nest: &Loop<'_>,
        present: Set,
        coordinate: Var,
    ) -> Vec<Stmt> {
        let mut stmts = vec![];
        let point = nest.lattice.below(present).next();
        if point.is_some() || nest.members(present).any(|it| it.segmented) {
            stmts.push(assign(nest.index, Expr::Var(coordinate)));
        }
        stmts.extend(self.segments_at(nest, &nest.at(present)));
        if let Some(point) = point {
            stmts.extend(self.case(nest, &nest.at(point.present), &point.body).stmts);
        }
        for it in nest.members(present) {
            stmts.push(self.advanced(it));
        }
        stmts
    }

    /// The least coordinate of several operands, and which of them are at it.
    fn many(&mut self, nest: &Loop<'_>, present: Set, coordinates: &[Var]) -> Vec<Stmt> {
        let least = coordinates.iter().map(|&c| Expr::Var(c));
        let least = least.reduce(|a, b| binary(BinaryOp::Min, a, b)).unwrap_or(int(0));
        let mut stmts = vec![assign(nest.index, least)];
        let mut flags = vec![];
        for (it, &coordinate) in nest.members(present).zip(coordinates) {
            let here = eq(Expr::Var(coordinate), Expr::Var(nest.index));
            flags.push((it, self.flag(it), here));
        }
        for (_, flag, here) in &flags {
            stmts.push(assign(*flag, here.clone()));
        }
        let flag_of = |it: &Iterator| flags.iter().find(|f| std::ptr::eq(f.0, it)).map(|f| f.1);
        for (it, flag, _) in &flags {
            stmts.extend(self.segment_if(nest, it, *flag));
        }
        stmts.extend(self.cases(nest, present, &flag_of).stmts);
        for (it, flag, _) in &flags {
            stmts.push(self.advanced_if(it, *flag));
        }
        stmts
    }

    /// Three operands or more, not all of which are needed: one loop while some point is live, so
    /// that there is one case per point and not one per point and loop. An operand at its end is
    /// at a coordinate beyond all others.
    fn any(&mut self, nest: &Loop<'_>, every: Set) -> Vec<Stmt> {
        let mut stmts = self.start(nest, every);
        let mut body = vec![];
        let mut coordinates = vec![];
        for it in nest.members(every) {
            let coordinate = self.coordinate_var(nest, it);
            let live = lt(Expr::Var(it.position), Expr::Var(self.end(it)));
            body.push(Stmt::If {
                cond: live,
                then: vec![assign(coordinate, it.coordinate(it.position))],
                otherwise: vec![assign(coordinate, int(i64::MAX))],
            });
            coordinates.push(coordinate);
        }
        body.extend(self.many(nest, every, &coordinates));
        let points = &nest.lattice.points;
        let minimal = points.iter().filter(|p| {
            let below = |q: &Point| q.present != p.present && q.present & !p.present == 0;
            !points.iter().any(below)
        });
        let mut live = vec![];
        for point in minimal {
            let mut parts = vec![];
            for it in nest.members(point.present) {
                parts.push(lt(Expr::Var(it.position), Expr::Var(self.end(it))));
            }
            live.push(all(parts));
        }
        let cond = live.into_iter().reduce(|a, b| binary(BinaryOp::Or, a, b));
        let cond = cond.unwrap_or(Expr::Const(Scalar::Bool(false)));
        stmts.push(Stmt::While { cond, body });
        stmts
    }

    /// Every coordinate of the dimension.
    fn universe(&mut self, nest: &Loop<'_>) -> Code {
        let every = nest.every();
        let (lo, hi) = match &nest.window {
            Some(window) => window.clone(),
            None => self.turns(nest),
        };
        // Iterations that run at the same time find their own places.
        let apart = self.unit(nest.own).is_some();
        let first = if apart { Expr::Var(nest.index) } else { lo.clone() };
        let places = self.tracking(nest.var, &first, nest.scope);
        let (mut stmts, mut body) = if apart { (vec![], places) } else { (places, vec![]) };
        stmts.extend(self.start(nest, every));
        if lo != int(0) && nest.window.is_none() && !self.is_cut(nest) {
            stmts.extend(nest.members(every).map(|it| self.skipped(it, &lo)));
        }
        let mut flags = vec![];
        for it in nest.members(every) {
            flags.push((it, self.flagged(nest, it, &mut body)));
        }
        let flag_of = |it: &Iterator| flags.iter().find(|f| std::ptr::eq(f.0, it)).map(|f| f.1);
        let cases = self.cases(nest, every, &flag_of);
        body.extend(cases.stmts);
        for (it, flag) in &flags {
            body.push(self.advanced_if(it, *flag));
        }
        self.on_unit(nest.own, nest.index);
        let every_coordinate = Stmt::For { var: nest.index, lo, hi, step: 1, body };
        match self.whole_block(nest) {
            Some((size, rest)) if !self.kernel.tags.contains_key(&nest.own) => {
                stmts.push(crate::lower::read::peel_blocks::peeled(every_coordinate, size, rest));
            }
            _ => stmts.extend(self.unrolled(nest.own, every_coordinate)),
        }
        Code { stmts, covers: cases.covers && !self.leaves_gaps(nest) }
    }

    /// Sets the variable that says whether an operand is at the coordinate, and its segment.
    pub(in crate::lower) fn flagged(
        &mut self,
        nest: &Loop<'_>,
        it: &Iterator,
        into: &mut Vec<Stmt>,
    ) -> Var {
        let live = lt(Expr::Var(it.position), Expr::Var(self.end(it)));
        let here = eq(it.coordinate(it.position), Expr::Var(nest.index));
        let flag = self.flag(it);
        into.push(assign(flag, all([live, here])));
        into.extend(self.segment_if(nest, it, flag));
        flag
    }

    /// The points below a set as a chain of conditions, more operands first.
    pub(in crate::lower) fn cases(
        &mut self,
        nest: &Loop<'_>,
        present: Set,
        flag_of: &dyn Fn(&Iterator) -> Option<Var>,
    ) -> Code {
        if nest.lattice.sums {
            let at = |it: &Iterator| flag_of(it).map(Expr::Var);
            let stmts = self.terms_at(nest, &at, &mut |_, _| vec![]);
            return Code { stmts, covers: false };
        }
        let mut covers = true;
        let mut arms = vec![];
        for point in nest.lattice.below(present) {
            let at = nest.at(point.present);
            let code = self.case(nest, &at, &point.body);
            covers &= code.covers;
            let flags: Vec<Var> = at.iter().filter_map(|(it, _)| flag_of(it)).collect();
            arms.push((flags.is_empty(), all(flags.into_iter().map(Expr::Var)), code.stmts));
        }
        covers &= nest.lattice.is_universal();
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

    /// The variable `pA2_end` for the end of an operand's segment.
    pub(in crate::lower) fn end(&mut self, it: &Iterator) -> Var {
        let name = format!("{}_end", self.name_of(it.position));
        *self.ends.entry(it.position).or_insert_with(|| self.builder.var(&name, Type::INDEX))
    }

    /// The variable `jA` for the coordinate at an operand's position.
    pub(in crate::lower) fn coordinate_var(&mut self, nest: &Loop<'_>, it: &Iterator) -> Var {
        let tensor = &self.program.tensors[it.access.tensor].name;
        let name = format!("{}{tensor}", self.name_of(nest.index));
        *self.coordinates.entry(it.position).or_insert_with(|| self.builder.var(&name, Type::INDEX))
    }

    /// The variable that says whether an operand is at the coordinate.
    pub(in crate::lower) fn flag(&mut self, it: &Iterator) -> Var {
        let name = format!("at_{}", self.name_of(it.position));
        *self.flags.entry(it.position).or_insert_with(|| self.builder.var(&name, Type::BOOL))
    }
}

impl Loop<'_> {
    /// The iterators that some point has.
    pub(in crate::lower) fn every(&self) -> Set {
        self.lattice.points.iter().fold(0, |set, p| set | p.present)
    }

    /// The iterators of a set.
    pub(in crate::lower) fn members(&self, set: Set) -> impl std::iter::Iterator<Item = &Iterator> {
        self.iterators.iter().enumerate().filter(move |(k, _)| set & (1 << k) != 0).map(|(_, i)| i)
    }

    /// The place of an iterator in sets.
    pub(in crate::lower) fn place(&self, it: &Iterator) -> usize {
        self.iterators.iter().position(|other| std::ptr::eq(other, it)).unwrap_or(0)
    }

    /// The iterators of a set at their positions.
    fn at(&self, set: Set) -> Vec<At<'_>> {
        self.members(set).map(|it| (it, it.position)).collect()
    }
}
