//! How a kernel is cut into parts of its outermost loop, so that parts run in parallel, or why it is not.
//!
//! ```text
//! y(i) = A(i,j) * x(j)      csr       cut by coordinates of i; parts share y
//! y(i) = A(i,j) * x(j)      coo       cut by coordinates of i; parts share y
//! C(i,k) = A(i,j) * B(j,k)  csr       cut by coordinates of i; parts of C are concatenated
//! ```
//!
//! Where the caller cuts does not change what any coordinate computes. What becomes of the parts
//! depends on the result: they write elements of their own, or are joined ([`Join`]).
//!
//! A schedule may have threads share a loop inside of others. Every part then runs the loops around it, and of
//! this loop its own part, which is the same as if threads met after each iteration around: what an
//! iteration reads is complete, or its own ([`Partitioner::is_apart`]).

use super::{
    Driver, Duplicates, Join, Loop, Node, Output, Planner, Window, distinct, given, outer_loops,
};
use crate::cin::simplify::written;
use crate::cin::{ParallelUnit, Root, Scale, Stmt};
use crate::format::{LevelMap, LevelSpec};
use crate::level::Part;
use crate::notation::{self, Access, Slicing};
use tamis_ir::ids::{IndexVar, TensorId};

/// How a kernel may be cut into parts, and how their results become one.
#[derive(Clone, PartialEq, Debug)]
pub struct Partition {
    /// What is cut: coordinates or positions.
    pub cut: CutBy,
    /// How the results of parts are joined.
    pub join: Join,
    /// The variable of the outermost loop.
    pub var: IndexVar,
    /// What an iteration of that loop is: a coordinate, a position, or one of a variable that was split or fused.
    pub scale: Scale,
    /// Tensors whose first level is over the cut variable, or over the variable that it was split from: their entries
    /// balance the cuts. Without one, all parts have the same number of iterations.
    pub leads: Vec<TensorId>,
    /// The levels of these whose coordinates choose rows of other tensors.
    pub meetings: Vec<Meeting>,
    /// Variables that each entry of the result sums over densely.
    pub summed: Vec<IndexVar>,
    /// Whether the schedule parallelizes the loop.
    pub asked: bool,
}

/// A level whose coordinates choose rows of another tensor, as those of the first factor of a product of
/// matrices do of the second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Meeting {
    /// The tensor that chooses.
    pub lead: TensorId,
    /// Its level.
    pub level: usize,
    /// The tensor whose first level the coordinates are of; it has a position for each of them.
    pub met: TensorId,
    /// Whether the result has a mode of those rows, so that it may have more entries than the tensor that chooses.
    pub grows: bool,
}

/// Why a kernel runs in one part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NotCut {
    /// Nobody asked for parts.
    NotAsked,
    /// The schedule has the outermost loop run on one thread, or on a GPU.
    Commanded,
    /// There is no loop.
    NoLoop,
    /// There are loops, but none around everything else.
    Apart,
    /// Operands are walked together that have no order, or not all of what is walked is at hand.
    Walk,
    /// What iterations of the outermost loop count is not known outside of it.
    Scale,
    /// Results of parts cannot become one.
    Join,
    /// Integer steps may leave 64 bits: kernels test them, combining parts would not.
    Tested,
    /// What iterations of a loop inside of others add up is read before all have added to it.
    Incomplete,
}

impl NotCut {
    /// The reason in words.
    pub fn reason(self) -> &'static str {
        match self {
            NotCut::NotAsked => "nobody asked for parts",
            NotCut::Commanded => "the schedule says what runs the outermost loop",
            NotCut::NoLoop => "there is no loop",
            NotCut::Apart => "no loop is around everything else",
            NotCut::Walk => "operands are walked together that cannot be cut",
            NotCut::Scale => "the size of the outermost loop is not known outside of it",
            NotCut::Join => "results of parts cannot become one",
            NotCut::Tested => {
                "integers are tested for overflow, which combining parts would not do"
            }
            NotCut::Incomplete => {
                "what its iterations add up is read, or written, outside of it before all are done"
            }
        }
    }
}

/// What a part has an interval of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CutBy {
    /// The coordinates of the outermost loop.
    Coordinates,
    /// The positions of the first level of the only operand that the loop walks.
    Positions,
    /// The same, where those of the same coordinate stay together.
    Segments,
}

impl CutBy {
    /// Whether the parts are of positions.
    pub fn is_by_position(self) -> bool {
        matches!(self, CutBy::Positions | CutBy::Segments)
    }
}

/// Decides how a kernel is cut, once it is decided how its result is written.
#[derive(Clone, Copy)]
pub(super) struct Partitioner<'p> {
    pub(super) planner: Planner<'p>,
    pub(super) output: &'p Output,
    /// What is left of the kernel's statement.
    pub(super) body: Option<&'p Stmt>,
    /// How that is read and merged.
    pub(super) root: Option<&'p Node>,
}

impl<'p> Partitioner<'p> {
    /// Cuts the outermost loop of the kernel, if it can be cut.
    pub(super) fn cut(self) -> Result<Partition, NotCut> {
        let body = match (self.planner.kernel.cut.chunked, self.body) {
            (false, _) => return Err(NotCut::NotAsked),
            (true, None) => return Err(NotCut::NoLoop),
            (true, Some(body)) => beside_numbers(body),
        };
        let inner = self.asked_inside(body);
        let own = inner.or_else(|| self.cuttable(body)).ok_or_else(|| match body.loops()[..] {
            [] => NotCut::NoLoop,
            _ => NotCut::Apart,
        })?;
        let tag = self.planner.kernel.tags.get(&own).and_then(|tag| tag.parallel);
        let kept = tag.is_some_and(|(unit, _)| unit == ParallelUnit::NotParallel);
        if kept || self.planner.kernel.is_for_gpu() {
            return Err(NotCut::Commanded);
        }
        let loops = self.root.map_or(vec![], |root| root.loops_over(own));
        let nest = loops.first().ok_or(NotCut::NoLoop)?;
        if inner.is_some() {
            self.check_inside(own, body, &loops)?;
        }
        let Loop { var, drivers, .. } = nest;
        let var = *var;
        let cut = self.cut_of(drivers, nest.is_universal()).ok_or(NotCut::Walk)?;
        let (scale, leads) = match (cut, &drivers[..]) {
            (cut, [only]) if cut.is_by_position() => (Scale::plain(var), vec![only.access.tensor]),
            _ => self.leads(var, body).ok_or(NotCut::Scale)?,
        };
        let scattered = |driver: &Driver| {
            let p = self.level(driver).kind.properties();
            match cut {
                CutBy::Coordinates => false,
                CutBy::Positions => !p.unique,
                CutBy::Segments => !p.ordered,
            }
        };
        // What is not combined comes once for each element.
        let combines = self.planner.kernel.accumulates() || self.planner.kernel.scatter;
        let repeats = combines && drivers.iter().any(scattered);
        let join = self.join(var, cut, repeats, body);
        let why = if self.planner.may_leave(body) { NotCut::Tested } else { NotCut::Join };
        let join = join.ok_or(why)?;
        let meetings = self.meetings(&leads, body);
        let (summed, asked) = (self.summed_over_all(body), tag.is_some());
        Ok(Partition { cut, join, var, scale, leads, meetings, summed, asked })
    }

    /// The loop inside of others that threads are to share, if there is one.
    fn asked_inside(self, body: &Stmt) -> Option<IndexVar> {
        let asked = body.loops().into_iter().find(|var| self.planner.is_on_threads(*var));
        asked.filter(|own| {
            outermost(body, self.planner.kernel.result).is_none_or(|(v, _)| v != *own)
        })
    }

    /// Refuses to cut loops over a variable inside of others whose parts are not parts of its coordinates, or
    /// need each other.
    fn check_inside(self, own: IndexVar, body: &Stmt, loops: &[&Loop]) -> Result<(), NotCut> {
        let is_cut = |nest: &&Loop| {
            let by = self.cut_of(&nest.drivers, nest.is_universal());
            nest.var == own && nest.window == Window::Whole && by == Some(CutBy::Coordinates)
        };
        match loops.iter().all(is_cut) {
            false => Err(NotCut::Walk),
            true if self.is_apart(own, body, false, &mut vec![]) => Ok(()),
            true => Err(NotCut::Incomplete),
        }
    }

    /// Whether parts of the loops over a variable need nothing of each other: each writes the result inside of
    /// them, and temporaries from outside at elements that tell the variable, by which they are read.
    fn is_apart(self, own: IndexVar, s: &Stmt, inside: bool, local: &mut Vec<TensorId>) -> bool {
        let tells = |indices: &[IndexVar]| self.planner.program.derived.follows(own, indices);
        match s {
            Stmt::Forall { var, body } => self.is_apart(own, body, inside || *var == own, local),
            Stmt::Within { body, .. } => self.is_apart(own, body, inside, local),
            Stmt::Sequence(parts) => parts.iter().all(|s| self.is_apart(own, s, inside, local)),
            Stmt::Where { consumer, producer } => {
                let tensor = written(producer);
                let shares = inside || producer.loops().contains(&own);
                let mut reads = consumer.reads().into_iter().filter(|a| a.tensor == tensor);
                let read_apart = inside || !shares || reads.all(|access| tells(&access.indices));
                local.extend(inside.then_some(tensor));
                read_apart
                    && (!shares || self.is_apart(own, producer, inside, local))
                    && self.is_apart(own, consumer, inside, local)
            }
            Stmt::Assign { lhs, .. } => {
                let is_own =
                    lhs.tensor == self.planner.kernel.result || local.contains(&lhs.tensor);
                inside && (is_own || tells(&lhs.indices))
            }
        }
    }

    /// The loop to cut: the outermost one, or a dense one that writes elements of its own inside of
    /// a few diagonals or slots, which every part goes through.
    fn cuttable(self, body: &'p Stmt) -> Option<IndexVar> {
        let (mut var, mut below) = outermost(body, self.planner.kernel.result)?;
        let derived = &self.planner.program.derived;
        let few = |var| derived.map(var).is_some_and(LevelMap::spreads);
        let accesses = distinct(body);
        let dense = |var: IndexVar| {
            let made_from = derived.ancestors(var);
            let is_over = |v: &IndexVar| *v == var || made_from.contains(v);
            accesses.iter().all(|access| {
                let mut levels = self.planner.program.levels(access).into_iter();
                let full = levels.all(|(l, v)| !is_over(&v) || l.kind.properties().full);
                full && access.slices.is_empty()
            })
        };
        while let (Output::InPlace, true, Stmt::Forall { var: inner, body }) =
            (self.output, few(var), below)
            && !self.planner.is_told_by_result(var)
            && (few(*inner) || dense(*inner))
        {
            (var, below) = (*inner, body);
        }
        Some(var)
    }

    /// What iterations of the outermost loop count, and the tensors that know the work behind it.
    fn leads(self, var: IndexVar, body: &Stmt) -> Option<(Scale, Vec<TensorId>)> {
        let derived = &self.planner.program.derived;
        let begins_with = |var: IndexVar| {
            let mut leads = vec![];
            for access in given(body) {
                let vars = self.planner.program.level_vars(access.tensor, &access.indices);
                let begins = !vars.is_empty() && self.planner.program.slicing(&access, 0).is_none();
                if begins && vars[0] == var {
                    leads.push(access.tensor);
                }
            }
            if leads.is_empty() && self.planner.result_vars().first() == Some(&var) {
                leads.push(self.planner.kernel.result);
            }
            leads
        };
        let own = begins_with(var);
        if !own.is_empty() {
            return Some((Scale::plain(var), own));
        }
        if derived.map(var).is_some()
            && !derived.is_scheduled(var)
            && let Some(root) = self.level_over(var, body)
        {
            return Some((Scale::whole(root), vec![]));
        }
        let scale = Scale::of(derived, var)?;
        let leads = match scale.root {
            Root::Coordinates(root) if scale.is_ordered() => begins_with(root),
            Root::Coordinates(_) => vec![],
            Root::Positions(tensor, _) | Root::Level(tensor, _) => vec![tensor],
        };
        Some((scale, leads))
    }

    /// Variables that no operand lists, of loops inside of those over the result.
    fn summed_over_all(self, body: &Stmt) -> Vec<IndexVar> {
        let accesses = distinct(body);
        let lists = |var: IndexVar| {
            let mut levels = accesses.iter().flat_map(|a| self.planner.program.levels(a));
            levels.any(|(level, v)| v == var && !level.kind.properties().full)
        };
        let outer = outer_loops(body);
        let around = outer.iter().rposition(|&var| self.planner.is_told_by_result(var));
        let around = &outer[..around.map_or(0, |last| last + 1)];
        let mut loops = body.loops();
        loops.retain(|var| !around.contains(var) && !lists(*var));
        loops
    }

    /// Where coordinates of these tensors choose rows of others.
    fn meetings(self, leads: &[TensorId], body: &Stmt) -> Vec<Meeting> {
        let mut accesses = distinct(body);
        accesses.retain(|access| !access.is_sliced());
        let (choose, chosen): (Vec<Access>, Vec<Access>) =
            accesses.into_iter().partition(|access| leads.contains(&access.tensor));
        let modes = &self.planner.program.tensors[self.planner.kernel.result].modes;
        let mut meetings = vec![];
        for lead in &choose {
            for (level, (spec, var)) in self.planner.program.levels(lead).into_iter().enumerate() {
                let over = |access: &&Access| {
                    let levels = self.planner.program.levels(access);
                    let first = levels.first().filter(|_| levels.len() > 1);
                    first.is_some_and(|(l, v)| *v == var && l.kind.properties().full)
                };
                let met = chosen.iter().filter(over).filter(|_| spec.has(Part::Crd));
                let lead = lead.tensor;
                meetings.extend(met.map(|access| {
                    let others = access.indices.iter().filter(|v| **v != var);
                    let grows = others.into_iter().any(|v| modes.contains(v));
                    Meeting { lead, level, met: access.tensor, grows }
                }));
            }
        }
        meetings
    }

    /// A level that stores a variable.
    fn level_over(self, var: IndexVar, body: &Stmt) -> Option<Root> {
        let reads = distinct(body);
        let outer = |access: &&Access| !self.planner.program.is_local(access.tensor);
        let of_read = reads.iter().filter(outer).find_map(|access| {
            let vars = self.planner.program.level_vars(access.tensor, &access.indices);
            let whole = |k: &usize| self.planner.program.slicing(access, *k).is_none();
            let level = vars.iter().position(|&v| v == var).filter(whole)?;
            Some(Root::Level(access.tensor, level))
        });
        of_read.or_else(|| {
            let vars = self.planner.result_vars();
            let level = vars.iter().position(|&v| v == var)?;
            Some(Root::Level(self.planner.kernel.result, level))
        })
    }

    /// What can be cut of a loop over these operands.
    fn cut_of(self, drivers: &[Driver], is_universal: bool) -> Option<CutBy> {
        let searched = |driver: &Driver| {
            let p = self.level(driver).kind.properties();
            let slicing = self.planner.program.slicing(&driver.access, driver.level);
            p.ordered && p.compact && slicing.is_none_or(Slicing::ascends)
        };
        match drivers {
            _ if drivers.iter().all(searched) => Some(CutBy::Coordinates),
            [only] if !is_universal && only.duplicates == Duplicates::Segment => {
                Some(CutBy::Segments)
            }
            [_] if !is_universal => Some(CutBy::Positions),
            _ => None,
        }
    }

    fn level(self, driver: &Driver) -> LevelSpec {
        let format = &self.planner.program.storage(driver.access.tensor).format;
        format.levels()[driver.level]
    }
}

/// The statement without the producers around it that have no loop: each part computes these registers for itself.
fn beside_numbers(s: &Stmt) -> &Stmt {
    match s {
        Stmt::Where { consumer, producer } if producer.loops().is_empty() => {
            beside_numbers(consumer)
        }
        s => s,
    }
}

/// The outermost loop of a statement; of a sum in a register that only the result takes, the loop of the sum.
fn outermost(s: &Stmt, result: TensorId) -> Option<(IndexVar, &Stmt)> {
    match s {
        Stmt::Forall { var, body } => Some((*var, body)),
        Stmt::Where { consumer, producer } => match (&**consumer, &**producer) {
            (
                Stmt::Assign { lhs, op: None, rhs: notation::Expr::Access(read) },
                Stmt::Forall { var, body },
            ) if lhs.tensor == result && read.tensor == crate::cin::simplify::written(producer) => {
                Some((*var, body))
            }
            _ => None,
        },
        Stmt::Assign { .. } | Stmt::Sequence(_) | Stmt::Within { .. } => None,
    }
}
