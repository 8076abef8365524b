//! The cost of a loop order: trip counts from dimensions and estimated sparsity.
//!
//! The estimate follows lowering: at each loop some operands are walked, some located, some searched; the algebra
//! decides whether every coordinate is visited. Weights are in multiply-adds on cached data; they only have to rank
//! orders.

mod copies;
mod operands;
mod walks;

pub(in crate::legalise) use copies::conversion;
pub(super) use operands::{Operands, Shared};
pub(in crate::legalise) use walks::unpredicted;

use self::operands::Levels;
use super::Task;
use super::gathered::gathered_elsewhere;
use super::output::output_order;
use super::weights::*;
use crate::format::LevelMap;
use crate::legalise::copies::arrays::array_of;
use crate::legalise::copies::transpose::transposed_result;
use crate::legalise::functions::is_function;
use crate::legalise::rewrite::hashed_rows::hashed_rows;
use crate::legalise::statistics::{DIMENSION, FAN_OUT};
use crate::level::{BITMAP, LevelKind};
use crate::notation::{Access, Expr};
use crate::plan::OutputOrder;
use crate::steps::CONTIGUOUS;
use std::collections::BTreeSet;
use std::ptr;
use tamis_ir::ids::IndexVar;

/// An operand that a loop walks, and the number of coordinates that it lists.
type Walked<'o> = (&'o Levels, f64);

/// Whether there is no work where none of the operands that a loop walks has a coordinate.
type IsSilent<'s> = dyn Fn(&[Walked<'_>]) -> bool + 's;

/// The state of the estimate.
pub(super) struct Estimate<'o> {
    operands: &'o Operands<'o>,
    /// The variables of the loops so far, and all that follow from these.
    known: BTreeSet<IndexVar>,
    /// The number of levels of each operand that are descended.
    reached: Vec<(&'o Levels, usize)>,
    /// The number of iterations of the current loop, over all loops around it.
    trips: f64,
    cost: f64,
}

/// The reduced value of a task that is a reduction; otherwise its value.
fn body(task: &Task) -> &Expr {
    match &task.value {
        Expr::Reduce { body, .. } => body,
        value => value,
    }
}

impl<'o> Estimate<'o> {
    /// The cost of a task's loops in this order; infinity if it is certainly more than `most`.
    pub(super) fn of(operands: &'o Operands<'o>, vars: &[IndexVar], most: f64) -> f64 {
        let task = operands.task;
        let body = body(task);
        let reached = operands.levels().map(|levels| (levels, 0)).collect();
        let known = BTreeSet::new();
        let mut estimate = Estimate { operands, known, reached, trips: 1.0, cost: 0.0 };
        estimate.descend();
        let (mut universal, mut trips) = (false, vec![1.0]);
        for at in 1..=vars.len() {
            universal = estimate.enter(vars.split_at(at), body);
            trips.push(estimate.trips);
            // Contiguous iterations of the innermost loop reduce the cost at the end.
            if estimate.cost * CONTIGUOUS > most {
                return f64::INFINITY;
            }
        }
        estimate.inner_reductions(body, vars, &trips);
        let beside = estimate.functions(vars, universal, body)
            + estimate.revisits(vars)
            + estimate.rereads(vars)
            + estimate.conversions();
        let contiguous = if universal { estimate.trips * (1.0 - CONTIGUOUS) } else { 0.0 };
        if estimate.cost - contiguous + beside > most {
            return f64::INFINITY;
        }
        estimate.leaf(vars, universal);
        let cost = estimate.cost + beside;
        // The product of many huge dimensions exceeds the range of floats.
        if cost.is_nan() { f64::INFINITY } else { cost }
    }

    /// Enters the last of `loops`, which has loops inside; returns whether it visits every coordinate.
    fn enter(&mut self, (loops, inside): (&[IndexVar], &[IndexVar]), body: &Expr) -> bool {
        let [.., var] = *loops else { return false };
        let silent = |it: &[Walked<'_>]| {
            self.nothing_without(body, it)
                || self.once_without(body, it, var)
                || self.fills_without(body, it, var)
        };
        let iterated = self.iterated(var, &silent);
        let universal = iterated.is_empty() || !silent(&iterated);
        let (steps, trips) = if universal {
            let Operands { cx, task, .. } = self.operands;
            let is_element = task.vars.iter().all(|v| cx.follows(*v, loops));
            let reduces = !inside.is_empty() && is_element;
            let trips = if reduces { self.decided(var, body) } else { self.dimension(var) };
            let repeated: f64 = iterated.iter().map(|it| self.repeated(it)).sum();
            (self.dimension(var) + repeated, trips)
        } else if iterated.iter().any(|it| !silent(std::slice::from_ref(it))) {
            self.union(var, &iterated)
        } else {
            self.intersection(var, &iterated)
        };
        let weight = if self.is_block_offset(var) && universal { CONTIGUOUS } else { 1.0 };
        self.cost += self.trips * steps.max(1.0) * weight;
        self.trips *= trips;
        self.operands.cx.program.derived.learn(var, &mut self.known);
        for (levels, k) in &mut self.reached {
            if iterated.iter().any(|(walked, _)| ptr::eq(*walked, *levels)) {
                *k += 1;
            }
        }
        self.descend();
        universal
    }

    /// The number of coordinates for which reductions in inner loops run: only those that an operand lists, if the
    /// value is a constant where it has no entry.
    fn decided(&self, var: IndexVar, body: &Expr) -> f64 {
        let facts = self.operands.cx.facts(self.operands.task.compute);
        let decides = |access: &Access| {
            matches!(facts.expr_without(body, &|a| a == access), Expr::Literal(_))
        };
        let lists = |&(levels, k): &(&Levels, usize)| {
            let (of, kind) = levels.get(k)?;
            let lists = of == var && !kind.locates() && decides(&levels.access);
            lists.then(|| self.fan_out(levels, k, var))
        };
        self.reached.iter().filter_map(lists).fold(self.dimension(var), f64::min)
    }

    /// The operands that a loop walks, and the number of coordinates that each lists. An unordered one is walked
    /// alone. One that locates, such as a hash map, is walked only if no other operand lists coordinates and there is
    /// no work elsewhere.
    fn iterated(&self, var: IndexVar, silent: &IsSilent<'_>) -> Vec<Walked<'o>> {
        let here = |wanted: &dyn Fn(LevelKind) -> bool| -> Vec<Walked<'o>> {
            let is_listing = |(levels, k): &&(&Levels, usize)| {
                levels.get(*k).is_some_and(|(of, kind)| of == var && wanted(kind))
            };
            let listing = self.reached.iter().filter(is_listing);
            listing.map(|&(levels, k)| (levels, self.fan_out(levels, k, var))).collect()
        };
        let disordered = |kind: LevelKind| {
            let properties = kind.properties();
            !kind.locates() && !properties.ordered && !properties.branchless
        };
        let longest = here(&disordered).into_iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
        let listed = longest.map_or_else(|| here(&|kind| !kind.locates()), |one| vec![one]);
        if !listed.is_empty() {
            return listed;
        }
        let mut located = here(&|kind| !kind.properties().full);
        located.retain(|it| silent(std::slice::from_ref(it)));
        located.into_iter().min_by(|(_, a), (_, b)| a.total_cmp(b)).into_iter().collect()
    }

    /// Descends the levels whose variable is known, by locating or searching.
    fn descend(&mut self) {
        for at in 0..self.reached.len() {
            loop {
                let (levels, k) = self.reached[at];
                match levels.get(k) {
                    Some((var, kind)) if self.is_known(var) => {
                        let p = kind.properties();
                        self.cost += match kind.locates() {
                            true if p.full || p.ordered => 0.0,
                            true => {
                                let looks = self.looks(&levels.access);
                                self.trips *= self.found(levels, k, var);
                                looks
                            }
                            false if p.branchless => self.segment(levels, k) * self.trips,
                            false => {
                                let among = self.fan_out(levels, k, var).max(2.0);
                                SEARCH * among.log2() * self.trips
                            }
                        };
                        self.reached[at].1 += 1;
                    }
                    _ => break,
                }
            }
        }
    }

    /// The share of hash lookups after which the iteration continues: those that find an entry, if there is no work
    /// without one.
    fn found(&self, levels: &Levels, level: usize, var: IndexVar) -> f64 {
        let Operands { cx, task, .. } = self.operands;
        match cx.access_methods().decides(&levels.access, task) {
            true => (self.fan_out(levels, level, var) / self.dimension(var)).min(1.0),
            false => 1.0,
        }
    }

    /// The cost of hash lookups, or, if that is less, of copying the entries into an array and looking them up there.
    fn looks(&self, access: &Access) -> f64 {
        let by_hash = HASH * self.trips;
        array_of(self.operands.cx, access)
            .map_or(by_hash, |array| by_hash.min(array.cost + array.look * self.trips))
    }

    /// The number of entries in a segment of a level, which a search walks through.
    fn segment(&self, levels: &Levels, level: usize) -> f64 {
        let above = level.checked_sub(1).and_then(|k| Some((k, levels.get(k)?.0)));
        let entries = |(k, v)| self.fan_out(levels, k, v) / self.dimension(v).max(1.0);
        above.map_or(1.0, entries).max(SEARCH)
    }

    /// Adds the cost of reductions within the value, which have their own loops inside of those that bind their
    /// variables; `iterations` has the iterations at each depth.
    fn inner_reductions(&mut self, e: &Expr, outer: &[IndexVar], iterations: &[f64]) {
        let Expr::Reduce { vars, body, .. } = e else {
            let children = e.children().into_iter();
            return children.for_each(|child| self.inner_reductions(child, outer, iterations));
        };
        let (trips, known, reached) = (self.trips, self.known.clone(), self.reached.clone());
        let cx = self.operands.cx;
        let depth = e.free_vars().into_iter().map(|v| cx.depth(v, outer)).max().unwrap_or(0);
        self.trips = iterations.get(depth).copied().unwrap_or(trips);
        for &var in vars {
            self.enter((&[var], &[]), body);
        }
        self.inner_reductions(body, &[], &[]);
        (self.trips, self.known, self.reached) = (trips, known, reached);
    }

    /// Adds the cost of the assignment in the innermost loop.
    fn leaf(&mut self, vars: &[IndexVar], universal: bool) {
        let cx = self.operands.cx;
        let task = self.operands.task;
        let order = cx.program.level_vars(task.result, &task.vars);
        let copied: Vec<Access> = self.operands.converted.iter().map(|(a, ..)| a.clone()).collect();
        let written = output_order(cx, task, vars, &copied);
        if matches!(written, OutputOrder::Counted | OutputOrder::Sorted) {
            self.cost *= 2.0;
        }
        self.cost += self.trips
            * match written {
                OutputOrder::InOrder => 0.0,
                OutputOrder::Gathered => GATHER,
                OutputOrder::Counted => PLACE,
                OutputOrder::Sorted => SORT,
                _ if hashed_rows(cx, task, vars, None).is_some() => HASHED,
                _ if gathered_elsewhere(cx, task, (vars, &copied), written).is_some() => ELSEWHERE,
                OutputOrder::Listed => STAGE,
            };
        let Some(&inner) = vars.last() else { return };
        let full = cx.program.storage(task.result).format.is_full();
        let strided = |order: &[IndexVar]| order.contains(&inner) && order.last() != Some(&inner);
        let copied = full && transposed_result(cx, task, vars).is_some();
        if copied {
            let elements: f64 = order.iter().map(|&var| self.dimension(var)).product();
            self.cost += TRANSPOSE * elements;
        }
        // Consecutive iterations of the next outer loop stay in as many cached rows.
        let around = vars.iter().rev().nth(1).filter(|_| self.dimension(inner) <= STREAMS);
        let stride = |order: &[IndexVar]| match strided(order) {
            true if order.last() == around => STREAM,
            true => STRIDE,
            false => 0.0,
        };
        let mut strides = if full && !copied { stride(&order) } else { 0.0 };
        for (Levels { access, .. }, _) in &self.reached {
            let is_copied = self.operands.converted.iter().any(|(a, ..)| a == access);
            if !is_copied && cx.is_full(access) {
                strides += stride(&cx.level_vars(access));
            }
        }
        self.cost += self.trips * strides;
        let of_inner = |(levels, _): &(&Levels, usize)| {
            let levels = cx.program.levels(&levels.access).into_iter();
            levels.filter(|(_, v)| *v == inner).all(|(level, _)| level.kind.properties().full)
        };
        let is_dense = self.reached.iter().all(of_inner);
        if universal && strides == 0.0 && !self.is_block_offset(inner) && is_dense {
            self.cost -= self.trips * (1.0 - CONTIGUOUS);
        }
    }

    /// The cost of functions. A function that is invariant in the innermost loop is computed once, before that loop.
    fn functions(&self, vars: &[IndexVar], universal: bool, e: &Expr) -> f64 {
        let within: f64 =
            e.children().into_iter().map(|child| self.functions(vars, universal, child)).sum();
        let is_fixed = |inner: &&IndexVar| universal && !e.free_vars().contains(inner);
        match (is_function(e), vars.last().filter(is_fixed)) {
            (false, _) => within,
            (true, None) => within + FUNCTION * self.trips,
            (true, Some(&inner)) => within + FUNCTION * self.trips / self.dimension(inner).max(1.0),
        }
    }

    /// The cost of adding to elements of a full result that have left a cache: loops over many elements are inside of
    /// a loop that reduces.
    fn revisits(&self, vars: &[IndexVar]) -> f64 {
        let Operands { cx, task, .. } = self.operands;
        let reduces = |v: &IndexVar| !cx.follows(*v, &task.vars);
        let full = cx.program.storage(task.result).format.is_full();
        let Some(outer) = vars.iter().position(reduces).filter(|_| full) else { return 0.0 };
        let inside = task.vars.iter().filter(|v| !cx.follows(**v, &vars[..outer]));
        let known = |v: &IndexVar| cx.known_dimension(*v).map(|d| d as f64);
        let elements: f64 = inside.filter_map(known).product();
        let is_dense = self.reached.iter().all(|(levels, _)| cx.is_full(&levels.access));
        match elements {
            _ if elements > CACHED => REVISIT * self.trips,
            _ if elements > CACHED_NEAR => REVISIT_NEAR * self.trips,
            _ if elements > 1.0 && is_dense => REVISIT_CACHED * self.trips,
            _ => 0.0,
        }
    }

    /// The cost of walking operands once for each iteration of an outermost loop over a variable that they lack.
    fn rereads(&self, vars: &[IndexVar]) -> f64 {
        let cx = self.operands.cx;
        let Some(&outer) = vars.first() else { return 0.0 };
        let operands = self.reached.iter().map(|(levels, _)| &levels.access);
        let operands = operands
            .filter(|a| !cx.is_full(a) && !a.indices.iter().any(|v| cx.follows(outer, &[*v])));
        let entries = operands.filter_map(|a| cx.input_entries(a));
        let entries: f64 =
            entries.map(|entries| entries as f64).filter(|&entries| entries > CACHED_NEAR).sum();
        REREAD * (self.dimension(outer) * entries).min(self.trips)
    }

    /// The value where none of these operands has an entry.
    fn without(&self, value: &Expr, operands: &[Walked<'_>]) -> Expr {
        let Operands { cx, task, shared, .. } = self.operands;
        let absent = |a: &Access| operands.iter().any(|(levels, _)| levels.access == *a);
        let found = || cx.facts(task.compute).expr_without(value, &absent);
        if self.reached.len() > u64::BITS as usize || !std::ptr::eq(value, body(task)) {
            return found();
        }
        let bits =
            self.reached.iter().enumerate().filter(|(_, (levels, _))| absent(&levels.access));
        let bits = bits.fold(0, |bits, (k, _)| bits | 1 << k);
        shared.without.borrow_mut().entry(bits).or_insert_with(found).clone()
    }

    /// Whether the value has no effect where none of these operands has an entry.
    fn nothing_without(&self, body: &Expr, operands: &[Walked<'_>]) -> bool {
        let Expr::Literal(c) = self.without(body, operands) else { return false };
        self.operands.shared.nothing.is_some_and(|n| n.same_value(c))
    }

    /// Whether one iteration of a loop can stand for all iterations where none of these operands has an entry, and the
    /// loop need not be cut by coordinates.
    fn once_without(&self, body: &Expr, operands: &[Walked<'_>], var: IndexVar) -> bool {
        let task = self.operands.task;
        let Expr::Reduce { op, .. } = task.value else { return false };
        let is_cut = self.operands.cx.request.parallel && self.known.is_empty();
        let locates = |&(levels, k): &(&Levels, usize)| {
            operands.iter().any(|(walked, _)| ptr::eq(*walked, levels))
                && levels.get(k).is_some_and(|(_, kind)| kind.locates())
        };
        if is_cut && self.reached.iter().any(locates) {
            return false;
        }
        let facts = self.operands.cx.facts(task.compute);
        facts.takes_once((var, &self.known), (op, &task.vars), &self.without(body, operands))
    }

    /// Whether a loop over coordinates of the result assigns fill values where none of these operands has an entry,
    /// unless a reduction is empty. All reduced variables have to be inside of the loop, and each of the operands has
    /// to have all of them.
    fn fills_without(&self, body: &Expr, operands: &[Walked<'_>], var: IndexVar) -> bool {
        let Operands { cx, task, .. } = self.operands;
        let Expr::Reduce { op, vars, .. } = &task.value else { return false };
        let is_cut = cx.request.parallel && self.known.is_empty();
        let inside = |v: &IndexVar| *v != var && !self.is_known(*v);
        let has_all =
            |(levels, _): &Walked<'_>| vars.iter().all(|v| levels.access.indices.contains(v));
        let is_written = task.vars.contains(&var);
        if is_cut || !is_written || !vars.iter().all(inside) || !operands.iter().all(has_all) {
            return false;
        }
        let facts = cx.facts(task.compute);
        let Expr::Literal(c) = self.without(body, operands) else { return false };
        facts.is_kept(*op, c) && c.same_value(facts.fill(task.result))
    }

    /// Whether a variable has a value in the loops so far.
    fn is_known(&self, var: IndexVar) -> bool {
        self.known.contains(&var)
    }

    /// Whether a loop is over the offsets in a block.
    fn is_block_offset(&self, var: IndexVar) -> bool {
        let derived = &self.operands.cx.program.derived;
        matches!(derived.map(var), Some(LevelMap::Mod(..)))
    }

    fn dimension(&self, var: IndexVar) -> f64 {
        let cx = self.operands.cx;
        match cx.program.derived.map(var) {
            None | Some(LevelMap::Mode(_)) => {
                cx.known_dimension(var).map_or(DIMENSION, |d| d as f64)
            }
            Some(LevelMap::Div(i, size)) => (self.dimension(i) / size as f64).max(1.0),
            Some(LevelMap::Mod(i, size)) => self.dimension(i).min(size as f64),
            Some(LevelMap::Diff { plus, minus }) => {
                match (self.is_known(plus), self.is_known(minus)) {
                    (false, false) => self.dimension(plus) + self.dimension(minus),
                    (true, _) => self.dimension(minus),
                    (_, true) => self.dimension(plus),
                }
            }
            Some(LevelMap::Slot(_)) => self.known_slots(var).unwrap_or(FAN_OUT),
        }
    }

    /// The number of slots of each row of an operand, if its entries are known.
    fn known_slots(&self, var: IndexVar) -> Option<f64> {
        let (tensor, _) = self.operands.cx.program.derived.slots(var)?;
        let mut operands = self.reached.iter().map(|(levels, _)| &levels.access);
        let positions = self.operands.cx.positions(operands.find(|a| a.tensor == tensor)?)?;
        let at = positions.iter().position(|(_, of, _)| *of == var)?;
        let above = at.checked_sub(1).map_or(1.0, |above| positions[above].2);
        Some((positions[at].2 / above.max(1.0)).max(1.0))
    }

    /// The number of coordinates that an operand lists below a position; of diagonals that are stored whole there are
    /// few.
    fn fan_out(&self, levels: &Levels, level: usize, var: IndexVar) -> f64 {
        let dimension = self.dimension(var);
        let kind = |k: usize| levels.get(k).map(|(_, kind)| kind);
        let (here, above) = (kind(level), level.checked_sub(1).and_then(kind));
        let is_alone = above.is_some_and(|kind| kind.properties().unique);
        if is_alone && here.is_some_and(|kind| kind.properties().branchless) {
            return 1.0;
        }
        // A walk reads every element of a mask.
        if here == Some(BITMAP) {
            return dimension;
        }
        if let Some(known) = levels.fan_out(self.operands.cx, level) {
            return known;
        }
        let below = levels.get(level + 1);
        let whole = below.is_none_or(|(_, kind)| kind.properties().full);
        match self.operands.cx.program.derived.map(var) {
            Some(LevelMap::Diff { .. }) if whole => DIAGONALS.min(dimension),
            Some(LevelMap::Div(_, size)) => (FAN_OUT / size as f64).max(1.0).min(dimension),
            _ if level == 0 => dimension.powf(0.8),
            _ => FAN_OUT.min(dimension),
        }
    }
}
