//! Which operands drive each loop, and how the others are found.
//!
//! | level meets its loop   | ordered, unique     | ordered, repeated | unordered, padded, with gaps |
//! |------------------------|---------------------|-------------------|------------------------------|
//! | with nothing else      | walked              | walked by segment | walked, if it decides alone  |
//! | with other operands    | merged              | merged by segment | not read: copied before      |
//! | after its coordinate   | located or searched | not read          | located, or not read         |
//!
//! (Figure 4-3 of the thesis, for any expression.)

use super::known::{Descent, Known};
use super::{
    Absent, Advance, Assembler, Assembly, Background, Body, Case, Driver, Duplicates, Locate,
    Lookup, Loop, Merge, Node, Output, Planner, Rest, Sum, Where, Window, distinct, given,
};
use crate::cin::simplify::written;
use crate::cin::{self, Stmt, WalkOrder};
use crate::format::LevelSpec;
use crate::iteration::lattice::{Lattice, Point, Set};
use crate::level::LevelKind;
use crate::notation::{Access, Slicing};
use std::slice::from_ref;
use tamis_ir::ids::IndexVar;

/// Decides how operands are read, after the decision how the result is written.
#[derive(Clone, Copy)]
pub(super) struct ReadPlanner<'p> {
    pub(super) planner: Planner<'p>,
    pub(super) output: &'p Output,
}

impl ReadPlanner<'_> {
    /// The whole statement of the kernel.
    pub(super) fn begin(self, s: &Stmt) -> Node {
        self.resolve(s, Known::default())
    }

    /// Plans a statement, after each operand has descended the levels whose coordinates are known.
    fn resolve(self, s: &Stmt, mut known: Known) -> Node {
        let program = self.planner.program;
        let mut located: Vec<(Access, usize, IndexVar, Lookup)> = vec![];
        let around = |located: Vec<_>, node: Node| {
            let wrap = |node, (access, level, var, by)| {
                let locate =
                    Locate { access, level, var, by, present: node, absent: Absent::Never };
                Node::Locate(Box::new(locate))
            };
            located.into_iter().rev().fold(node, wrap)
        };
        for access in given(s) {
            while let Some(var) = known.next_var(program, &access) {
                if !known.evaluate(program, var) {
                    break;
                }
                let level = known.descent(&access).levels;
                let by = self.lookup(&access, level);
                let is_segment = self.repeats(&access, level) && by != Lookup::Locate;
                let descent = Descent { levels: level + 1, is_segment };
                if self.planner.is_always_found(&access, level) {
                    known.descend(&access, descent);
                    located.push((access.clone(), level, var, by));
                    continue;
                }
                let mut below = known.clone();
                below.descend(&access, descent);
                let present = self.resolve(s, below);
                let rest = self.planner.facts.without(s, &|a| *a == access);
                let absent =
                    rest.map_or(Absent::Nothing, |s| Absent::Does(self.resolve(&s, known)));
                let locate = Locate { access, level, var, by, present, absent };
                return around(located, Node::Locate(Box::new(locate)));
            }
        }
        around(located, self.stmt(s, &known))
    }

    /// How the position of a coordinate is found in a level.
    fn lookup(self, access: &Access, level: usize) -> Lookup {
        let kind = self.kind(access, level);
        match (kind.locates(), kind.properties().ordered) {
            (true, _) => Lookup::Locate,
            (false, true) => Lookup::BinarySearch,
            (false, false) => Lookup::LinearSearch,
        }
    }

    fn stmt(self, s: &Stmt, known: &Known) -> Node {
        match s {
            Stmt::Forall { var, body } => self.forall(*var, body, known),
            Stmt::Where { consumer, producer } => {
                let facts = self.planner.facts;
                let opens = matches!(&**producer, Stmt::Sequence(parts) if facts.opens(&parts[0]));
                let tensor = written(producer);
                let producer = self.resolve(producer, known.clone());
                let mut asks = self.planner.asks(tensor, &producer);
                let mut after = known.clone();
                // Loops that end rows of the result run even if nothing was added.
                if asks && self.ends_rows(consumer, known) {
                    after.asked.push(tensor);
                    asks = false;
                }
                let consumer = self.resolve(consumer, after);
                Node::Where(Box::new(Where { tensor, opens, asks, producer, consumer }))
            }
            Stmt::Sequence(parts) => {
                let parts = parts.iter().map(|part| self.resolve(part, known.clone()));
                Node::Sequence(parts.collect())
            }
            Stmt::Assign { lhs, op, rhs } => {
                let assign = Node::Assign { lhs: lhs.clone(), op: *op, rhs: rhs.clone() };
                let is_result = lhs.tensor == self.planner.kernel.result;
                let asked = known.asked.iter().filter(|_| is_result);
                asked.fold(assign, |node, &tensor| Node::IfAny(tensor, Box::new(node)))
            }
            // The pattern has already descended to its entry.
            Stmt::Within { body, .. } => self.stmt(body, known),
        }
    }

    /// Whether loops in a statement write levels of the result in order.
    fn ends_rows(self, s: &Stmt, known: &Known) -> bool {
        let levels = self.output.in_order().map_or(0, |(levels, _)| levels);
        written(s) == self.planner.kernel.result && known.result < levels
    }

    /// The loop of a `forall`, and the loop with the work for empty reductions, if there is some.
    pub(super) fn nest(self, own: IndexVar, body: &Stmt, known: &Known) -> (Loop, Option<Loop>) {
        let program = self.planner.program;
        let (result_level, (var, window)) = self.order(own, body, known);
        let drivers = self.drivers((own, var), body, known, result_level.is_some());
        let accesses: Vec<Access> = drivers.iter().map(|d| d.access.clone()).collect();
        let mut lattice = Lattice::build(self.planner.facts, body, &accesses);
        let background = self.background((own, known), &mut lattice, result_level);
        let if_empty = self.if_empty((own, var), known, &mut lattice, &accesses);
        let merge = self.merge(own, &lattice, &drivers);
        let mut nest = Loop {
            own,
            var,
            window,
            drivers,
            merge,
            body: Body::Cases(vec![]),
            background: None,
            result_level,
        };
        let mut inside = known.clone();
        inside.bind(program, var);
        inside.result = result_level.map_or(inside.result, |level| level + 1);
        let if_empty = if_empty.map(|rest| {
            let node = self.resolve(&rest.body, inside.clone());
            rest.around(node, &nest)
        });
        nest.background = background.map(|(rest, times)| Background {
            node: self.case(&nest, 0, &rest, inside.clone()),
            times,
        });
        self.set_gallops(&mut nest, &lattice);
        nest.body = match lattice.sums {
            true => self.sum(&nest, &lattice, known, &inside),
            false => {
                let case = |Point { present, body }: Point| {
                    let node = self.case(&nest, present, &body, inside.clone());
                    Case { present, node }
                };
                Body::Cases(lattice.points.into_iter().map(case).collect())
            }
        };
        (nest, if_empty)
    }

    /// The level of the result that a loop writes in order, and the variable whose coordinates the loop visits.
    fn order(
        self,
        own: IndexVar,
        body: &Stmt,
        known: &Known,
    ) -> (Option<usize>, (IndexVar, Window)) {
        let level = self.result_level(own, body, known);
        let window = match level {
            Some(_) if !self.is_in_tiles(own) => None,
            _ => self.window(own, body, known),
        };
        let (var, window) = window.unwrap_or((own, Window::Whole));
        (level.or_else(|| self.result_level(var, body, known)), (var, window))
    }

    /// The step for a case, where these drivers have an entry.
    fn case(self, nest: &Loop, present: Set, body: &Stmt, mut known: Known) -> Node {
        let members = nest.drivers.iter().enumerate().filter(|(k, _)| present & (1 << k) != 0);
        for (_, driver) in members {
            let is_segment = driver.duplicates == Duplicates::Segment;
            known.descend(&driver.access, Descent { levels: driver.level + 1, is_segment });
        }
        self.resolve(body, known)
    }

    /// The operands that drive a loop: those that cannot be located, or one of them if it must be walked alone; the
    /// others are located or searched at each coordinate. If all can be located, one may drive whose entries decide
    /// what is visited.
    fn drivers(
        self,
        (own, var): (IndexVar, IndexVar),
        body: &Stmt,
        known: &Known,
        in_order: bool,
    ) -> Vec<Driver> {
        let Planner { program, kernel, facts } = self.planner;
        let (mut listed, mut located) = (vec![], vec![]);
        for access in given(body) {
            if known.next_var(program, &access) != Some(var) {
                continue;
            }
            let driver = self.driver(access, known);
            let kind = self.kind(&driver.access, driver.level);
            if kind.properties().full {
                continue;
            }
            if kind.locates() { located.push(driver) } else { listed.push(driver) }
        }
        if let Some(alone) = listed.iter().position(|driver| self.stands_alone(driver)) {
            return vec![listed.swap_remove(alone)];
        }
        if !listed.is_empty() {
            return listed;
        }
        let drives = |driver: &Driver| {
            let kind = self.kind(&driver.access, driver.level);
            let walk = program.walk(&driver.access, driver.level);
            let ascends = kind.properties().ordered && walk != WalkOrder::OutOfOrder;
            let is_segment = known.descent(&driver.access).is_segment;
            if !kind.walks() || (in_order && !ascends) || is_segment {
                return false;
            }
            let lattice = Lattice::build(facts, body, from_ref(&driver.access));
            // Parts are intervals of coordinates if some coordinates have to be counted.
            let outermost = known.bound.is_empty();
            let is_cut = kernel.cut.chunked && (outermost || self.planner.is_on_threads(own));
            let is_plain = own == var && !in_order && !is_cut;
            let is_silent = |rest: &Stmt| {
                is_plain && self.is_once(own, known, rest)
                    || self.is_if_empty((own, var), known, rest, from_ref(&driver.access))
            };
            lattice.points.last().is_none_or(|p| p.present != 0 || is_silent(&p.body))
        };
        match located.iter().position(drives) {
            Some(driver) => vec![located.swap_remove(driver)],
            None => vec![],
        }
    }

    fn driver(self, access: Access, known: &Known) -> Driver {
        let level = known.descent(&access).levels;
        // Duplicates are walked one by one where they are unordered, or have separate positions in levels below.
        let format = &self.planner.program.storage(access.tensor).format;
        let segmented = self.repeats(&access, level)
            && !format.revisits(level)
            && !self.planner.kernel.scatter
            && !self.goes_by_entry(&access);
        let duplicates = if segmented { Duplicates::Segment } else { Duplicates::Each };
        Driver { access, level, duplicates, advance: Advance::Step }
    }

    /// Whether each entry of an operand becomes one entry of the result, and nothing else does, so that duplicates
    /// need not be visited together: rows have positions, and each entry moves the end of its row.
    fn goes_by_entry(self, access: &Access) -> bool {
        let Planner { program, kernel, facts } = self.planner;
        let Output::Assemble(Assembly { in_order, rest: Rest::Block, vars, .. }) = self.output
        else {
            return false;
        };
        let levels = program.storage(access.tensor).format.levels();
        let Some((last, above)) = levels.split_last() else { return false };
        let own = program.level_vars(access.tensor, &access.indices);
        let result = &program.storage(kernel.result).format;
        let placed = |(k, level): (usize, &LevelSpec)| {
            level.kind.properties().unique || matches!(Assembler::of(result, k), Assembler::Place)
        };
        // Threads of a GPU would move the end of a row concurrently.
        !kernel.is_for_gpu()
            && distinct(&kernel.body) == [access.clone()]
            && access.slices.is_empty()
            && is_copy(&kernel.body)
            && !Lattice::build(facts, &kernel.body, from_ref(access)).is_universal()
            && *in_order == vars.len()
            && own == *vars
            && last.kind.properties().unique
            && above.iter().enumerate().all(placed)
    }

    /// Whether an operand must be walked alone, by its format or its slice.
    fn stands_alone(self, driver: &Driver) -> bool {
        let walk = self.planner.program.walk(&driver.access, driver.level);
        self.planner.only_alone(&driver.access, driver.level)
            || matches!(walk, WalkOrder::WithGaps | WalkOrder::OutOfOrder)
    }

    /// How the drivers of a loop are merged.
    fn merge(self, own: IndexVar, lattice: &Lattice, drivers: &[Driver]) -> Merge {
        let every = lattice.points.iter().fold(0, |set: Set, p| set | p.present);
        match (lattice.is_universal(), self.leaders(own, lattice, drivers)) {
            _ if lattice.points.is_empty() => Merge::Nothing,
            (true, _) => Merge::Universe,
            (_, Some(leaders)) => Merge::Led(leaders),
            _ if lattice.sums => Merge::NarySum,
            _ if every.count_ones() > 2 && lattice.points.len() > 1 => Merge::Nary,
            _ => Merge::Points,
        }
    }

    /// The drivers that lead a loop, if any do; a leader is in every point. The pattern of the result leads alone.
    /// Otherwise, loops of three drivers or more are led by the first two possible leaders, or by the only one.
    fn leaders(self, own: IndexVar, lattice: &Lattice, drivers: &[Driver]) -> Option<Set> {
        let needed = lattice.points.iter().fold(Set::MAX, |set, point| set & point.present);
        let leads = |k: &usize| {
            let driver = &drivers[*k];
            let p = self.kind(&driver.access, driver.level).properties();
            let segmented = driver.duplicates == Duplicates::Segment;
            needed & 1 << k != 0
                && p.ordered
                && p.unique
                && p.compact
                && !p.branchless
                && !segmented
        };
        let leaders: Vec<usize> = (0..drivers.len()).filter(leads).collect();
        let is_pattern = |k: &&usize| drivers[**k].access.tensor == self.planner.kernel.result;
        let (one_case, many) = (lattice.points.len() == 1, drivers.len() > 2);
        match (leaders.iter().find(is_pattern), &leaders[..]) {
            (Some(pattern), _) if many || !one_case => Some(1 << pattern),
            // If the only case needs all drivers, they gallop instead.
            (None, _) if one_case && self.is_to_gallop(own) => None,
            (None, [a, b, ..]) if many => Some(1 << a | 1 << b),
            (None, [a]) if many => Some(1 << a),
            _ => None,
        }
    }

    /// Makes drivers gallop where the schedule asks for it and there is no work at coordinates that only they have.
    fn set_gallops(self, nest: &mut Loop, lattice: &Lattice) {
        if !self.is_to_gallop(nest.own) || lattice.sums {
            return;
        }
        let leaders = match nest.merge {
            Merge::Points => nest.all_drivers(),
            Merge::Led(leaders) => leaders,
            _ => return,
        };
        let may = |(k, driver): (usize, &Driver)| {
            let is_whole = self.planner.program.slicing(&driver.access, driver.level).is_none();
            is_whole && lattice.below(1 << k).next().is_none()
        };
        let mut gallop: Vec<bool> = nest.drivers.iter().enumerate().map(may).collect();
        // Of two operands, the one that is behind gallops; of several, all gallop or none does.
        let leap = |k: usize| gallop[k] && nest.drivers[k].duplicates == Duplicates::Each;
        let together = (0..gallop.len()).filter(|k| leaders & 1 << k != 0);
        if leaders.count_ones() > 2 && !together.clone().all(leap) {
            return;
        }
        if leaders.count_ones() == 1 {
            together.for_each(|k| gallop[k] = false);
        }
        for (driver, gallop) in nest.drivers.iter_mut().zip(gallop) {
            driver.advance = if gallop { Advance::Gallop } else { Advance::Step };
        }
    }

    /// Whether the schedule asks a loop to gallop.
    fn is_to_gallop(self, own: IndexVar) -> bool {
        let tag = self.planner.kernel.tags.get(&own);
        tag.is_some_and(|tag| tag.merge == Some(cin::MergeStrategy::Gallop))
    }

    /// The terms of a sum in a register, one for each driver.
    fn sum(self, nest: &Loop, lattice: &Lattice, around: &Known, inside: &Known) -> Body {
        let Stmt::Where { consumer, producer } = &lattice.points[0].body else {
            unreachable!("a lattice of terms is that of a sum in a register");
        };
        let Stmt::Sequence(parts) = &**producer else {
            unreachable!("a sum in a register has several terms");
        };
        let read_by = |s: &Stmt| {
            let reads: Vec<Access> = s.reads().into_iter().cloned().collect();
            let drivers = nest.drivers.iter().enumerate();
            drivers.filter(move |(_, d)| reads.contains(&d.access)).map(|(k, _)| k).collect()
        };
        // Terms are added to the register, and write no level of the result.
        let term = Known { result: around.result, ..inside.clone() };
        let terms = parts.iter().filter_map(|part| {
            let of: Vec<usize> = read_by(part);
            let &k = of.first()?;
            Some((k, self.case(nest, 1 << k, part, term.clone())))
        });
        let of: Vec<usize> = read_by(consumer);
        let pattern = of.iter().fold(0, |set: Set, k| set | 1 << k);
        Body::Sum(Box::new(Sum {
            register: written(producer),
            terms: terms.collect(),
            pattern,
            consumer: self.case(nest, pattern, consumer, inside.clone()),
        }))
    }

    /// The level of the result that a loop over `var` writes in order at this point.
    fn result_level(self, var: IndexVar, body: &Stmt, known: &Known) -> Option<usize> {
        if written(body) != self.planner.kernel.result {
            return None;
        }
        let Output::Assemble(Assembly { in_order, loops, .. }) = self.output else { return None };
        (known.result < *in_order && loops[known.result] == var).then_some(known.result)
    }

    /// Whether a loop visits the positions in tiles of the result's first level.
    fn is_in_tiles(self, var: IndexVar) -> bool {
        match self.output {
            Output::Assemble(Assembly { vars, loops, .. }) => loops[0] == var && vars[0] != var,
            Output::InPlace | Output::Insert | Output::SharedStructure => false,
        }
    }

    /// Whether a level may have several positions of the same coordinate.
    fn repeats(self, access: &Access, level: usize) -> bool {
        !self.kind(access, level).properties().unique
    }

    /// The level format of a level of an operand.
    pub(super) fn kind(self, access: &Access, level: usize) -> LevelKind {
        self.planner.kind(access, level)
    }
}

impl Planner<'_> {
    /// Whether a level has a position for every value of its index variable.
    pub(super) fn is_always_found(self, access: &Access, level: usize) -> bool {
        let kind = self.kind(access, level);
        let slicing = self.program.slicing(access, level);
        let is_placed = matches!(slicing, Some(Slicing::Placed(_)));
        kind.locates() && kind.properties().full && !is_placed
    }

    /// The level format of a level of an operand.
    pub(super) fn kind(self, access: &Access, level: usize) -> LevelKind {
        self.program.storage(access.tensor).format.levels()[level].kind
    }

    /// Whether a level must be walked alone: its coordinates are unordered or have duplicates, or some positions have
    /// none.
    pub(super) fn only_alone(self, access: &Access, level: usize) -> bool {
        let format = &self.program.storage(access.tensor).format;
        let p = format.levels()[level].kind.properties();
        !p.ordered || !p.compact || (!p.unique && self.kernel.scatter) || format.revisits(level)
    }
}

/// Whether a statement is loops around one assignment.
fn is_copy(s: &Stmt) -> bool {
    match s {
        Stmt::Forall { body, .. } | Stmt::Within { body, .. } => is_copy(body),
        Stmt::Assign { op, .. } => op.is_none(),
        Stmt::Where { .. } | Stmt::Sequence(_) => false,
    }
}
