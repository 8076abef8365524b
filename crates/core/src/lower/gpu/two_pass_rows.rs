//! The rows of a result, in the phases of loops that count and fill them.
//!
//! ```text
//! rows with a position         for i in .. on gpu_block   pC2 = C2_pos[i]; ..
//! rows in order, numbered      for block .. for thread ..   row = block * 256 + thread; pC1 = pC1_ends[row]; ..
//! ```
//!
//! If the first level of the result lists its coordinates as well, a row has as many of its entries as it appends, and
//! the number of the row is that of the iteration.

use crate::lower::gpu::hash_accumulator::RowHashTable;
use crate::lower::write::symbolic::Needed;
use std::collections::BTreeMap;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ids::{Array, Var};
use tamis_ir::ir::build::{add, assign, binary, int, load, mul, store, sub};
use tamis_ir::ir::flow::{assigned, mentions};
use tamis_ir::ir::{Expr, Status, Stmt};

/// The purpose of one run of the loops.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::lower) enum Phase {
    /// Finds the size of a row's slice.
    Bound,
    Count,
    Fill,
}

/// The count of a row's entries.
pub(in crate::lower) struct Count {
    /// `pC2`.
    pub(in crate::lower) next: Var,
    /// The number of entries of each row, behind the position or number of the row; later the end of the row.
    pub(in crate::lower) ends: Array,
    pub(in crate::lower) level: usize,
    /// The positions of the level.
    pub(in crate::lower) pos: Array,
}

/// How loops write a result in phases.
pub(in crate::lower) struct Phases<'a> {
    /// The counts of each appended level; those of the first level are its positions, if its parents have positions.
    pub(in crate::lower) counts: &'a [Count],
    /// The arrays of the result, and those of slices.
    pub(in crate::lower) arrays: &'a [Array],
    pub(in crate::lower) slice: Option<&'a RowHashTable>,
    /// The numbers of rows, where they have no position.
    pub(in crate::lower) numbers: Option<&'a Numbers>,
}

/// The numbers of rows that parallel loops visit in order.
pub(in crate::lower) struct Numbers {
    /// The number of the current row.
    pub(in crate::lower) row: Var,
    /// The variables of the loops.
    loops: Vec<Var>,
    number: Expr,
    /// The number of rows.
    pub(in crate::lower) count: Expr,
}

impl Numbers {
    /// The rows of a loop over blocks and of parallel loops in it, by `units`.
    pub(in crate::lower) fn of<U>(
        s: &Stmt,
        phases: &Phases<'_>,
        units: &BTreeMap<Var, U>,
        row: Var,
    ) -> Option<Numbers> {
        let Stmt::For { var, lo, hi, step: 1, body } = s else { return None };
        let number = sub(Expr::Var(*var), lo.clone());
        let count = binary(BinaryOp::Max, sub(hi.clone(), lo.clone()), int(0));
        let mut numbers = Numbers { row, loops: vec![*var], number, count };
        let mut body = body;
        while let Some(Stmt::For { var, lo, hi, step: 1, body: inner }) = phases.alone(body)
            && units.contains_key(var)
            && *lo == int(0)
            && let Some(most) = most(hi)
        {
            let Numbers { loops, number, count, .. } = &mut numbers;
            *number = add(mul(number.clone(), int(most)), Expr::Var(*var));
            *count = mul(count.clone(), int(most));
            loops.push(*var);
            body = inner;
        }
        Some(numbers)
    }
}

/// The upper limit of a bound, if constants determine it.
fn most(hi: &Expr) -> Option<i64> {
    match hi {
        Expr::Const(c) => Some(c.as_i64()),
        Expr::Binary(BinaryOp::Min, a, b) => match (most(a), most(b)) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (one, other) => one.or(other),
        },
        _ => None,
    }
}

impl Phases<'_> {
    /// Whether a statement uses the result, or its positions.
    pub(in crate::lower) fn touches(&self, s: &Stmt) -> bool {
        let mut arrays = s.named().1;
        for e in s.exprs() {
            e.walk(&mut |e| {
                if let Expr::Load { array, .. } | Expr::Len(array) = e {
                    arrays.push(*array);
                }
            });
        }
        let slice = |s: &RowHashTable| [s.terms, s.begin];
        let vars: Vec<Var> = self.counts.iter().map(|c| c.next).collect();
        let vars: Vec<Var> =
            vars.into_iter().chain(self.slice.into_iter().flat_map(slice)).collect();
        let own = |s: &Stmt| {
            let named = s.named().0;
            vars.iter().any(|v| named.contains(v) || s.exprs().any(|e| mentions(e, *v)))
        };
        arrays.iter().any(|a| self.arrays.contains(a))
            || own(s)
            || s.blocks().flatten().any(|s| self.touches(s))
    }

    /// The only statement of a block that uses the result.
    fn alone<'s>(&self, block: &'s [Stmt]) -> Option<&'s Stmt> {
        let mut touched = block.iter().filter(|s| self.touches(s));
        touched.next().filter(|_| touched.next().is_none())
    }

    /// The loops around the rows, in one phase; `None` if a statement writes the result outside of rows.
    pub(in crate::lower) fn of(&self, block: &[Stmt], phase: Phase) -> Option<Vec<Stmt>> {
        if let Some(row) = block.iter().find_map(|s| self.ends_row(s)) {
            return self.row(block, &row, phase);
        }
        let around = |s: &Stmt| match (self.numbers, s) {
            (Some(numbers), Stmt::For { var, .. }) => numbers.loops.contains(var),
            (Some(_), _) => false,
            (None, _) => true,
        };
        if let Some(numbers) = self.numbers
            && !self.alone(block).is_some_and(around)
        {
            let number = assign(numbers.row, numbers.number.clone());
            let row = self.row(block, &Expr::Var(numbers.row), phase)?;
            return Some([vec![number], row].concat());
        }
        let at = block.iter().position(|s| self.touches(s))?;
        self.alone(block)?;
        let inside = match &block[at] {
            Stmt::For { var, lo, hi, step, body } => {
                let (var, lo, hi, step) = (*var, lo.clone(), hi.clone(), *step);
                Stmt::For { var, lo, hi, step, body: self.of(body, phase)? }
            }
            Stmt::If { cond, then, otherwise } if otherwise.is_empty() => {
                Stmt::If { cond: cond.clone(), then: self.of(then, phase)?, otherwise: vec![] }
            }
            _ => return None,
        };
        Some([&block[..at], &[inside], &block[at + 1..]].concat())
    }

    /// The position of the row, if a statement says where the row ends.
    fn ends_row(&self, s: &Stmt) -> Option<Expr> {
        let first = self.counts.first().filter(|_| self.numbers.is_none())?;
        match s {
            Stmt::Store { array, index: Expr::Binary(BinaryOp::Add, row, one), value }
                if *array == first.ends && *value == Expr::Var(first.next) && **one == int(1) =>
            {
                Some((**row).clone())
            }
            _ => None,
        }
    }

    /// The code of a row in one phase.
    fn row(&self, block: &[Stmt], row: &Expr, phase: Phase) -> Option<Vec<Stmt>> {
        let begins = block.iter().position(|s| self.touches(s))?;
        let mut changed = vec![];
        assigned(&block[begins..], &mut changed);
        if changed.iter().any(|&v| mentions(row, v)) {
            return None;
        }
        let mut stmts = block[..begins].to_vec();
        let after = add(row.clone(), int(1));
        stmts.extend(self.opened(row, phase));
        for s in &block[begins..] {
            match phase {
                _ if self.ends_row(s).is_some() => stmts.extend(self.ended(&after, phase)),
                Phase::Count => stmts.extend(self.unsorted(vec![s.clone()])),
                Phase::Bound | Phase::Fill => stmts.extend(self.settled(vec![s.clone()], phase)),
            }
        }
        stmts.extend(self.numbers.into_iter().flat_map(|_| self.ended(&after, phase)));
        Some(stmts)
    }

    /// The code at the end of a row: stores its counts behind its number or position.
    fn ended(&self, after: &Expr, phase: Phase) -> Vec<Stmt> {
        let count = |count: &Count| store(count.ends, after.clone(), Expr::Var(count.next));
        let bound =
            |slice: &RowHashTable| store(slice.begins, after.clone(), slice.places_for_terms());
        match phase {
            Phase::Bound => self.slice.map(bound).into_iter().collect(),
            Phase::Count => self.counts.iter().map(count).collect(),
            Phase::Fill => vec![],
        }
    }

    /// The code at the start of a row.
    fn opened(&self, row: &Expr, phase: Phase) -> Vec<Stmt> {
        let mut stmts = vec![];
        if let Some(slice) = self.slice {
            let bounds = [(slice.begin, row.clone()), (slice.end, add(row.clone(), int(1)))];
            match phase {
                Phase::Bound => stmts.push(assign(slice.terms, int(0))),
                _ => stmts.extend(bounds.map(|(var, at)| assign(var, load(slice.begins, at)))),
            }
        }
        stmts.extend(self.counts.iter().map(|count| {
            let first = match phase {
                Phase::Bound | Phase::Count => int(0),
                Phase::Fill => load(count.ends, row.clone()),
            };
            assign(count.next, first)
        }));
        stmts
    }

    /// Loops over rows without a position, without the statements that store the ends of the first level's entries.
    pub(in crate::lower) fn without_end(&self, block: &[Stmt]) -> Vec<Stmt> {
        let first = self.counts.first();
        let ends = |s: &Stmt| match (first, s) {
            (Some(first), Stmt::Store { array, .. }) => *array == first.pos,
            (Some(first), Stmt::If { cond, then, .. }) => {
                *then == [Stmt::Fail(Status::PositionOverflow)] && mentions(cond, first.next)
            }
            _ => false,
        };
        let kept = block.iter().filter(|s| !ends(s));
        kept.map(|s| s.clone().map_children(&mut |e| e, &mut |b| self.without_end(&b))).collect()
    }

    /// Statements without sorts, which change no count.
    fn unsorted(&self, block: Vec<Stmt>) -> Vec<Stmt> {
        let sorts = |s: &Stmt| {
            self.slice.is_some_and(|slice| {
                s.named().0.contains(&slice.sorting)
                    || s.exprs().any(|e| mentions(e, slice.sorting))
            })
        };
        let kept = block.into_iter().filter(|s| !sorts(s));
        kept.map(|s| s.map_children(&mut |e| e, &mut |b| self.unsorted(b))).collect()
    }

    /// Statements that need neither reserve memory nor check positions. The end of a coordinate's children is written
    /// once the coordinate is kept: otherwise it has no position in the row.
    fn settled(&self, block: Vec<Stmt>, phase: Phase) -> Vec<Stmt> {
        let below = |array: &Array| self.counts.iter().skip(1).any(|count| count.pos == *array);
        let terms = self.slice.filter(|_| phase == Phase::Fill).map(|slice| slice.terms);
        let idle = |s: &Stmt| match s {
            Stmt::Assign { var, .. } => terms == Some(*var),
            Stmt::Reserve { array, .. } => self.arrays.contains(array),
            Stmt::Store { array, .. } | Stmt::Fill { array, .. } => below(array),
            Stmt::If { then, .. } => *then == [Stmt::Fail(Status::PositionOverflow)],
            _ => false,
        };
        let mut out = vec![];
        for s in block.into_iter().filter(|s| !idle(s)) {
            if let Stmt::Assign { var, .. } = &s {
                let levels = self.counts.iter().zip(&self.counts[1..]);
                out.extend(levels.filter(|(own, _)| own.next == *var).map(|(own, child)| {
                    store(child.pos, add(Expr::Var(own.next), int(1)), Expr::Var(child.next))
                }));
            }
            out.push(s.map_children(&mut |e| e, &mut |b| self.settled(b, phase)));
        }
        out
    }

    /// The code of the loops on which counts depend.
    pub(in crate::lower) fn needed(&self, loops: Vec<Stmt>, phase: Phase) -> Vec<Stmt> {
        let counted: Vec<(Var, Array)> = match (self.slice, phase) {
            (Some(slice), Phase::Bound) => vec![(slice.terms, slice.begins)],
            _ => self.counts.iter().map(|count| (count.next, count.ends)).collect(),
        };
        let mut needed = Needed::default();
        needed.vars.extend(counted.iter().map(|(var, _)| *var));
        needed.arrays.extend(counted.iter().map(|(_, array)| *array));
        while needed.more(&loops) {}
        let vars: Vec<Var> = counted.into_iter().map(|(var, _)| var).collect();
        summed_at_once(needed.of(loops), &vars)
    }
}

/// Replaces loops that only count their iterations by one addition.
fn summed_at_once(block: Vec<Stmt>, counts: &[Var]) -> Vec<Stmt> {
    let once = |s: Stmt| {
        let s = s.map_children(&mut |e| e, &mut |b| summed_at_once(b, counts));
        let Stmt::For { lo, hi, step: 1, body, .. } = &s else { return s };
        let [Stmt::Assign { var, value }] = &body[..] else { return s };
        if !counts.contains(var) || *value != add(Expr::Var(*var), int(1)) {
            return s;
        }
        let trips = binary(BinaryOp::Max, sub(hi.clone(), lo.clone()), int(0));
        assign(*var, add(Expr::Var(*var), trips))
    };
    block.into_iter().map(once).collect()
}
