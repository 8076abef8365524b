//! Results of loops on a GPU in two phases: entries are counted row by row, the counts are summed
//! up, and every row writes its entries from its own place on.
//!
//! ```text
//! for i in .. on gpu_block               for i in .. on gpu_block  pC2 = 0; ..; C2_pos[i + 1] = pC2
//!   ..                                   C2_pos[0..C1_size + 1] = its sums
//!   C2_crd[pC2] = j; pC2 = pC2 + 1       reserve C2_crd, C2_pos[C1_size]
//!   ..                                   for i in .. on gpu_block
//!   C2_pos[i + 1] = pC2                    pC2 = C2_pos[i]; ..; C2_crd[pC2] = j; pC2 = pC2 + 1; ..
//! ```
//!
//! Positions that levels below have are counted for each row as well, in arrays of the kernel. What
//! counts is what of the loops leads to the counts ([`super::assemble`]). Results whose rows have no
//! place, or that are sorted or widened, stay with the host. (The thesis, section 5.3; two passes
//! over the same loops.)

use super::assemble::Needed;
use super::result::{Assembler, Assembly, Plan, Rest};
use super::scan::Sums;
use super::{Lowerer, ir};
use crate::algebra::BinaryOp;
use crate::ids::{Array, Var};
use crate::ir::build::{add, assign, binary, int, load, mul, store, sub};
use crate::ir::flow::{assigned, mentions, uses};
use crate::ir::{Expr, Status, Stmt};

/// What a row counts, and where.
struct Count {
    /// `pC2`.
    next: Var,
    /// How many entries each row has, behind the place of the row; later where they end.
    ends: Array,
    level: usize,
    /// The positions of the level.
    pos: Array,
}

/// What is done twice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Count,
    Fill,
}

struct Phases<'a> {
    /// Of each appended level; those of the first are its positions.
    counts: &'a [Count],
    results: &'a [Array],
}

impl Lowerer<'_> {
    /// The kernel with loops that count and loops that fill, if these loops can be both; `nest` is
    /// what the loops are without that.
    pub(super) fn in_phases(&mut self, nest: &[Stmt]) -> Option<Vec<Stmt>> {
        let heads = self.counted_levels()?;
        let parents = self.places_above(heads[0]);
        let arrays = self.arrays(self.kernel.result);
        let parts = |l: &crate::level::LevelArrays| [l.pos, l.crd.map(|crd| crd.array)];
        let levels = arrays.levels.iter().flat_map(parts).flatten();
        let results: Vec<Array> = levels.chain(arrays.vals.arrays()).collect();
        let mut counts: Vec<Count> = vec![];
        for &level in &heads {
            let pos = arrays.levels[level].pos();
            let ends = match counts.is_empty() {
                true => pos,
                false => {
                    let next = self.next(level);
                    let name = format!("{}_ends", self.name_of(next));
                    self.builder.common(&name, crate::datatype::DataType::I64)
                }
            };
            counts.push(Count { next: self.next(level), ends, level, pos });
        }
        let phases = Phases { counts: &counts, results: &results };
        let at = nest.iter().position(|s| phases.touches(s))?;
        if at + 1 < nest.len() || !self.runs_on_blocks(&nest[at]) {
            return None;
        }
        let counting = phases.of(&nest[at..], Phase::Count)?;
        let filling = phases.of(&nest[at..], Phase::Fill)?;
        let behind = add(parents.clone(), int(1));
        let (mut before, mut scans) = (vec![], vec![]);
        for count in &counts {
            before.push(Stmt::Reserve { array: count.ends, len: behind.clone() });
            let sums = Sums { array: count.ends, len: behind.clone(), depth: 2 };
            scans.extend(self.scanned(sums, &mut before));
        }
        let mut stmts = before;
        stmts.extend(counts.iter().map(|count| {
            let (lo, hi) = (int(0), behind.clone());
            Stmt::Fill { array: count.ends, lo, hi, value: int(0) }
        }));
        stmts.extend_from_slice(&nest[..at]);
        stmts.extend(phases.needed(counting));
        stmts.extend(scans);
        stmts.extend(self.room_for(&counts, &parents));
        stmts.extend(self.by_threads(filling));
        Some(stmts)
    }

    /// The levels whose entries are counted, the first one below levels where all have a place.
    fn counted_levels(&self) -> Option<Vec<usize>> {
        let Plan::Assemble(Assembly { rest: Rest::Block, .. }) = &self.plan else { return None };
        if !self.kernel.is_for_gpu() || self.raced || self.tentative {
            return None;
        }
        let levels = self.program.storage(self.kernel.result).format.levels();
        let appended = |k: usize| matches!(self.assembler(k), Assembler::Append(_));
        let heads: Vec<usize> =
            (0..levels.len()).filter(|&k| appended(k) && self.head(k) == k).collect();
        let first = *heads.first().filter(|&&first| first > 0)?;
        let last = (0..levels.len()).rfind(|&k| appended(k))?;
        let counts = |k: usize| match self.assembler(k) {
            Assembler::Append(append) => append.count().is_some(),
            Assembler::Place | Assembler::Insert(_) => false,
        };
        let above = (0..first).all(|k| matches!(self.assembler(k), Assembler::Place));
        let dense = (0..levels.len()).all(|k| {
            let p = levels[k].kind.properties();
            appended(k) || p.full
        });
        let close = (first..=last).all(appended);
        (above && dense && close && heads.iter().all(|&k| counts(k))).then_some(heads)
    }

    /// How many places the levels above one have, which all are full.
    fn places_above(&mut self, level: usize) -> Expr {
        let arrays = self.arrays(self.kernel.result);
        let sizes = arrays.levels[..level].iter().map(|l| l.size.clone());
        sizes.fold(int(1), mul)
    }

    fn runs_on_blocks(&self, s: &Stmt) -> bool {
        matches!(s, Stmt::For { var, .. } if self.units.get(var) == Some(&ir::Unit::Block))
    }

    /// Room for what was counted.
    fn room_for(&mut self, counts: &[Count], parents: &Expr) -> Vec<Stmt> {
        let arrays = self.arrays(self.kernel.result);
        let mut stmts = vec![];
        let mut above = None;
        let mut total = int(0);
        for count in counts {
            total = load(count.ends, parents.clone());
            if let Some(above) = above {
                stmts.extend(self.check_position(count.pos, total.clone()));
                stmts.push(Stmt::Reserve { array: count.pos, len: add(above, int(1)) });
                stmts.push(store(count.pos, int(0), int(0)));
            }
            let chain = (count.level..arrays.levels.len()).filter(|&k| self.head(k) == count.level);
            let own: Vec<usize> =
                chain.filter(|&k| matches!(self.assembler(k), Assembler::Append(_))).collect();
            for k in own {
                stmts.push(arrays.levels[k].reserve_coordinates(total.clone()));
            }
            above = Some(total.clone());
        }
        let last = counts.last().map_or(0, |count| count.level);
        let appended = |k: &usize| matches!(self.assembler(*k), Assembler::Append(_));
        let below = (last..arrays.levels.len()).filter(|k| !appended(k));
        let block = below.map(|k| arrays.levels[k].size.clone()).fold(int(1), mul);
        stmts.extend(arrays.vals.reserve(&mul(total, block)));
        // A chain has one array for several levels.
        stmts.dedup();
        stmts
    }

    /// Entries that every turn of a loop over threads appends have places of their own: the turn
    /// tells which.
    fn by_threads(&mut self, block: Vec<Stmt>) -> Vec<Stmt> {
        let Plan::Assemble(Assembly { next, .. }) = &self.plan else { return block };
        let nexts: Vec<Var> = next.iter().flatten().copied().collect();
        let mut out = vec![];
        for s in block {
            let s = s.map_children(&mut |e| e, &mut |b| self.by_threads(b));
            let on_threads = matches!(&s, Stmt::For { var, .. } if self.units.get(var) == Some(&ir::Unit::Thread));
            let taken =
                nexts.iter().filter(|_| on_threads).find_map(|&next| self.numbered_turns(&s, next));
            out.extend(taken.unwrap_or_else(|| vec![s]));
        }
        out
    }

    /// A loop every turn of which advances a position once, with positions that its turns tell.
    fn numbered_turns(&mut self, s: &Stmt, next: Var) -> Option<Vec<Stmt>> {
        let Stmt::For { var, lo, hi, step: 1, body } = s else { return None };
        let advances = self.advance(next);
        let at = body.iter().position(|s| *s == advances)?;
        let mut changed = vec![];
        assigned(body, &mut changed);
        let once = changed.iter().filter(|v| **v == next).count() == 1;
        let later = body[at + 1..].iter().any(|s| uses(s, next));
        let moves = |e: &Expr| changed.iter().any(|&v| mentions(e, v)) || mentions(e, *var);
        if !once || later || moves(lo) || moves(hi) {
            return None;
        }
        let own = self.temp(&format!("{}_at", self.name_of(next)));
        let turn = sub(Expr::Var(*var), lo.clone());
        let mut inner = vec![assign(own, add(Expr::Var(next), turn))];
        inner
            .extend(body.iter().filter(|s| **s != advances).map(|s| renamed(s.clone(), next, own)));
        let turns = binary(BinaryOp::Max, sub(hi.clone(), lo.clone()), int(0));
        let (lo, hi) = (lo.clone(), hi.clone());
        Some(vec![
            Stmt::For { var: *var, lo, hi, step: 1, body: inner },
            assign(next, add(Expr::Var(next), turns)),
        ])
    }
}

impl Phases<'_> {
    /// Whether a statement has to do with the result, or with its positions.
    fn touches(&self, s: &Stmt) -> bool {
        let mut arrays = s.named().1;
        for e in s.exprs() {
            e.walk(&mut |e| {
                if let Expr::Load { array, .. } | Expr::Len(array) = e {
                    arrays.push(*array);
                }
            });
        }
        let own = |s: &Stmt| {
            let named = s.named().0;
            self.counts
                .iter()
                .any(|c| named.contains(&c.next) || s.exprs().any(|e| mentions(e, c.next)))
        };
        arrays.iter().any(|a| self.results.contains(a))
            || own(s)
            || s.blocks().flatten().any(|s| self.touches(s))
    }

    /// Loops around the rows, in one phase; `None` if something of the result is outside of rows.
    fn of(&self, block: &[Stmt], phase: Phase) -> Option<Vec<Stmt>> {
        if let Some(row) = block.iter().find_map(|s| self.ends_row(s)) {
            return self.row(block, &row, phase);
        }
        let mut touched = (0..block.len()).filter(|&k| self.touches(&block[k]));
        let (at, None) = (touched.next()?, touched.next()) else { return None };
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

    /// The place of the row, if a statement says where the row ends.
    fn ends_row(&self, s: &Stmt) -> Option<Expr> {
        let first = self.counts.first()?;
        match s {
            Stmt::Store { array, index: Expr::Binary(BinaryOp::Add, row, one), value }
                if *array == first.ends && *value == Expr::Var(first.next) && **one == int(1) =>
            {
                Some((**row).clone())
            }
            _ => None,
        }
    }

    /// A row in one phase.
    fn row(&self, block: &[Stmt], row: &Expr, phase: Phase) -> Option<Vec<Stmt>> {
        let begins = block.iter().position(|s| self.touches(s))?;
        let mut changed = vec![];
        assigned(&block[begins..], &mut changed);
        if changed.iter().any(|&v| mentions(row, v)) {
            return None;
        }
        let mut stmts = block[..begins].to_vec();
        for count in self.counts {
            let first = match phase {
                Phase::Count => int(0),
                Phase::Fill => load(count.ends, row.clone()),
            };
            stmts.push(assign(count.next, first));
        }
        for s in &block[begins..] {
            match (self.ends_row(s), phase) {
                (Some(_), Phase::Count) => stmts.extend(self.counts.iter().map(|count| {
                    store(count.ends, add(row.clone(), int(1)), Expr::Var(count.next))
                })),
                (Some(_), Phase::Fill) => {}
                (None, Phase::Count) => stmts.push(s.clone()),
                (None, Phase::Fill) => stmts.extend(self.settled(vec![s.clone()])),
            }
        }
        Some(stmts)
    }

    /// Statements for which there is room, whose positions were checked. Where a coordinate's children
    /// end is written once it is kept: what is not kept has no place in the row.
    fn settled(&self, block: Vec<Stmt>) -> Vec<Stmt> {
        let below = |array: &Array| self.counts.iter().skip(1).any(|count| count.pos == *array);
        let idle = |s: &Stmt| match s {
            Stmt::Reserve { array, .. } => self.results.contains(array),
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
            out.push(s.map_children(&mut |e| e, &mut |b| self.settled(b)));
        }
        out
    }

    /// What of the loops counts.
    fn needed(&self, counting: Vec<Stmt>) -> Vec<Stmt> {
        let mut needed = Needed::default();
        for count in self.counts {
            needed.vars.insert(count.next);
            needed.arrays.insert(count.ends);
        }
        while needed.more(&counting) {}
        self.summed_at_once(needed.of(counting))
    }

    /// Loops that do nothing but count their turns, as one sum.
    fn summed_at_once(&self, block: Vec<Stmt>) -> Vec<Stmt> {
        let once = |s: Stmt| {
            let s = s.map_children(&mut |e| e, &mut |b| self.summed_at_once(b));
            let Stmt::For { lo, hi, step: 1, body, .. } = &s else { return s };
            let [Stmt::Assign { var, value }] = &body[..] else { return s };
            let counts = self.counts.iter().any(|count| count.next == *var);
            if !counts || *value != add(Expr::Var(*var), int(1)) {
                return s;
            }
            let turns = binary(BinaryOp::Max, sub(hi.clone(), lo.clone()), int(0));
            assign(*var, add(Expr::Var(*var), turns))
        };
        block.into_iter().map(once).collect()
    }
}

/// A statement with one variable in the place of another that it reads.
fn renamed(s: Stmt, from: Var, to: Var) -> Stmt {
    s.map_children(&mut |e| renamed_in(e, from, to), &mut |b| {
        b.into_iter().map(|s| renamed(s, from, to)).collect()
    })
}

fn renamed_in(e: Expr, from: Var, to: Var) -> Expr {
    match e {
        Expr::Var(v) if v == from => Expr::Var(to),
        e => e.map_children(&mut |e| renamed_in(e, from, to)),
    }
}
