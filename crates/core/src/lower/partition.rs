//! Kernels whose outermost loop runs over a part of its coordinates, so that parts run in parallel.
//!
//! ```text
//! i_first = max(i_begin, 0);  i_last = max(i_first, min(i_end, y1_size))
//! for i in i_first..i_last ..
//! ```
//!
//! Where the caller cuts does not change what any coordinate computes. What becomes of the parts
//! depends on the result: they write elements of their own, or are joined ([`Join`]).

use super::signature::Binding;
use super::{Lowerer, Scope};
use crate::cin::{Root, Scale, Stmt, Unit};
use crate::format::LevelMap;
use crate::level::Part;
use crate::lower::read::forall::{Iterator, Loop};
use crate::lower::read::slice::Sliced;
use crate::lower::write::combine::Join;
use crate::notation::{self, Access};
use crate::plan::{Assembler, Output};
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ids::{IndexVar, TensorId, Var};
use tamis_ir::ir::build::{assign, binary, lt};
use tamis_ir::ir::{self, Expr, Param};

/// How a kernel may be cut into parts, and how their results become one.
#[derive(Clone, PartialEq, Debug)]
pub struct Chunks {
    /// What the parts are parts of.
    pub cut: Cut,
    /// What becomes of their results.
    pub join: Join,
    /// The variable of the outermost loop.
    pub var: IndexVar,
    /// What the iterations of that loop count.
    pub scale: Scale,
    /// Tensors, operands or the result, whose first level is over what was cut into iterations:
    /// they tell where the work is. There may be none if the variable has a size.
    pub leads: Vec<TensorId>,
    /// Where entries of these choose rows of others.
    pub meetings: Vec<Meeting>,
    /// The variables over all of whose coordinates each entry of the result is a sum.
    pub summed: Vec<IndexVar>,
    /// Whether the schedule has the loop run in parallel.
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
    /// The tensor whose first level the coordinates are of; it has a place for each of them.
    pub met: TensorId,
}

/// Why a kernel runs in one part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Whole {
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
}

/// What a part has an interval of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    /// The coordinates of the outermost loop.
    Coordinates,
    /// The positions of the first level of the only operand that the loop walks.
    Positions,
    /// The same, where those of the same coordinate stay together.
    Segments,
}

impl Cut {
    /// Whether the parts are of positions.
    pub fn is_by_position(self) -> bool {
        matches!(self, Cut::Positions | Cut::Segments)
    }
}

/// The interval of a part in code.
#[derive(Clone)]
pub(super) struct Interval {
    pub(super) chunks: Chunks,
    pub(super) first: Expr,
    pub(super) last: Expr,
}

impl Lowerer<'_> {
    /// Cuts the outermost loop of the kernel, if it can be cut.
    pub(super) fn cut_outermost(&mut self, body: &Stmt) -> Result<Interval, Whole> {
        let (own, below) = self.cuttable(body).ok_or_else(|| match body.loops().is_empty() {
            true => Whole::NoLoop,
            false => Whole::Apart,
        })?;
        let tag = self.kernel.tags.get(&own).and_then(|tag| tag.parallel);
        let kept = tag.is_some_and(|(unit, _)| unit == Unit::NotParallel);
        if kept || self.kernel.is_for_gpu() {
            return Err(Whole::Commanded);
        }
        let outermost =
            crate::plan::outermost(self.program, self.kernel, &self.plan.output, own, below);
        let crate::plan::Outermost { var, drivers, is_universal } = outermost;
        let scope = Scope::default();
        let iterators: Vec<Iterator> =
            drivers.iter().map(|driver| self.iterator(driver, &scope, None)).collect();
        let cut = cut(&iterators, is_universal).ok_or(Whole::Walk)?;
        let (scale, leads) = match (cut, &iterators[..]) {
            (cut, [only]) if cut.is_by_position() => (Scale::plain(var), vec![only.access.tensor]),
            _ => self.leads(var, body).ok_or(Whole::Scale)?,
        };
        let scattered = |it: &Iterator| {
            let p = it.kind.properties();
            match cut {
                Cut::Coordinates => false,
                Cut::Positions => !p.unique,
                Cut::Segments => !p.ordered,
            }
        };
        // What is not combined comes once for each element.
        let combines = self.kernel.accumulates() || self.kernel.scatter;
        let repeats = combines && iterators.iter().any(scattered);
        let join = self.join(var, cut, repeats, body);
        let why = if self.may_leave_in(body) { Whole::Tested } else { Whole::Join };
        let join = join.ok_or(why)?;
        if matches!(join, Join::Shared { .. } | Join::Overlap { .. }) {
            for array in self.arrays(self.kernel.result).vals.arrays() {
                self.builder.arrays[array].role = ir::Role::Shared;
            }
        }
        let (first, last) = self.interval(var, cut);
        let meetings = self.meetings(&leads, body);
        let (summed, asked) = (self.summed_over_all(body), tag.is_some());
        let chunks = Chunks { cut, join, var, scale, leads, meetings, summed, asked };
        Ok(Interval { chunks, first, last })
    }

    /// The loop to cut: the outermost one, or a dense one that writes elements of its own inside of
    /// a few diagonals or slots, which every part goes through.
    fn cuttable<'s>(&self, body: &'s Stmt) -> Option<(IndexVar, &'s Stmt)> {
        let (mut var, mut below) = outermost(body, self.kernel.result)?;
        let derived = &self.program.derived;
        let few = |var| derived.map(var).is_some_and(LevelMap::spreads);
        let accesses = crate::plan::distinct(body);
        let dense = |var: IndexVar| {
            let made_from = derived.ancestors(var);
            let is_over = |v: &IndexVar| *v == var || made_from.contains(v);
            accesses.iter().all(|access| {
                let mut levels = self.program.levels(access).into_iter();
                let full = levels.all(|(l, v)| !is_over(&v) || l.kind.properties().full);
                full && access.slices.is_empty()
            })
        };
        while let (Output::InPlace, true, Stmt::Forall { var: inner, body }) =
            (&self.plan.output, few(var), below)
            && !self.is_told_by_result(var)
            && (few(*inner) || dense(*inner))
        {
            (var, below) = (*inner, body);
        }
        Some((var, below))
    }

    pub(super) fn is_told_by_result(&self, var: IndexVar) -> bool {
        let modes = &self.program.tensors[self.kernel.result].modes;
        self.program.derived.follows(var, modes)
    }

    /// What iterations of the outermost loop count, and the tensors that know the work behind it.
    fn leads(&self, var: IndexVar, body: &Stmt) -> Option<(Scale, Vec<TensorId>)> {
        let derived = &self.program.derived;
        let begins_with = |var: IndexVar| {
            let mut leads = vec![];
            for access in crate::plan::distinct(body) {
                let vars = self.program.level_vars(access.tensor, &access.indices);
                let begins = !vars.is_empty() && self.program.slicing(&access, 0).is_none();
                if begins && vars[0] == var {
                    leads.push(access.tensor);
                }
            }
            if leads.is_empty() && self.level_vars(self.kernel.result).first() == Some(&var) {
                leads.push(self.kernel.result);
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
    fn summed_over_all(&self, body: &Stmt) -> Vec<IndexVar> {
        let accesses = crate::plan::distinct(body);
        let lists = |var: IndexVar| {
            let mut levels = accesses.iter().flat_map(|a| self.program.levels(a));
            levels.any(|(level, v)| v == var && !level.kind.properties().full)
        };
        let outer = crate::plan::outer_loops(body);
        let around = outer.iter().rposition(|&var| self.is_told_by_result(var));
        let around = &outer[..around.map_or(0, |last| last + 1)];
        let mut loops = body.loops();
        loops.retain(|var| !around.contains(var) && !lists(*var));
        loops
    }

    /// Where coordinates of these tensors choose rows of others.
    fn meetings(&self, leads: &[TensorId], body: &Stmt) -> Vec<Meeting> {
        let mut accesses = crate::plan::distinct(body);
        accesses.retain(|access| !access.is_sliced());
        let (choose, chosen): (Vec<Access>, Vec<Access>) =
            accesses.into_iter().partition(|access| leads.contains(&access.tensor));
        let mut meetings = vec![];
        for lead in &choose {
            for (level, (spec, var)) in self.program.levels(lead).into_iter().enumerate() {
                let over = |access: &&Access| {
                    let levels = self.program.levels(access);
                    let first = levels.first().filter(|_| levels.len() > 1);
                    first.is_some_and(|(l, v)| *v == var && l.kind.properties().full)
                };
                let met = chosen.iter().filter(over).filter(|_| spec.has(Part::Crd));
                let lead = lead.tensor;
                meetings.extend(met.map(|access| Meeting { lead, level, met: access.tensor }));
            }
        }
        meetings
    }

    /// A level that stores a variable.
    fn level_over(&self, var: IndexVar, body: &Stmt) -> Option<Root> {
        let reads = crate::plan::distinct(body);
        let of_read = reads.iter().find_map(|access| {
            let vars = self.program.level_vars(access.tensor, &access.indices);
            let whole = |k: &usize| self.program.slicing(access, *k).is_none();
            let level = vars.iter().position(|&v| v == var).filter(whole)?;
            Some(Root::Level(access.tensor, level))
        });
        of_read.or_else(|| {
            let vars = self.level_vars(self.kernel.result);
            let level = vars.iter().position(|&v| v == var)?;
            Some(Root::Level(self.kernel.result, level))
        })
    }

    /// The parameters with the interval, held within what there is.
    fn interval(&mut self, var: IndexVar, cut: Cut) -> (Expr, Expr) {
        let index = self.index(var);
        let name = self.name_of(index);
        let [begin, end] = [Binding::Begin, Binding::End].map(|binding| {
            let suffix = if binding == Binding::Begin { "begin" } else { "end" };
            let param = self.temp(&format!("{name}_{suffix}"));
            self.builder.params.push((Param::Scalar(param), binding));
            Expr::Var(param)
        });
        if cut.is_by_position() {
            return (begin, end);
        }
        let (lo, hi) = self.range(var, &Scope::default());
        let (first, last) =
            (self.temp(&format!("{name}_first")), self.temp(&format!("{name}_last")));
        let within = binary(BinaryOp::Min, end, hi);
        self.prologue.push(assign(first, binary(BinaryOp::Max, begin, lo)));
        self.prologue.push(assign(last, binary(BinaryOp::Max, Expr::Var(first), within)));
        (Expr::Var(first), Expr::Var(last))
    }

    /// Whether a loop runs over a part of its coordinates.
    pub(super) fn is_cut(&self, nest: &Loop<'_>) -> bool {
        let interval = self.interval.as_ref();
        interval.is_some_and(|i| i.chunks.var == nest.plan.var && i.chunks.cut == Cut::Coordinates)
    }

    /// The coordinates that a loop has to visit if nothing else is known.
    pub(super) fn turns(&mut self, nest: &Loop<'_>) -> (Expr, Expr) {
        let (true, Some(interval)) = (self.is_cut(nest), self.interval.clone()) else {
            return self.range(nest.plan.var, nest.scope);
        };
        if nest.scope.bound.is_empty() {
            return (interval.first, interval.last);
        }
        let (lo, hi) = self.range(nest.plan.var, nest.scope);
        (binary(BinaryOp::Max, interval.first, lo), binary(BinaryOp::Min, interval.last, hi))
    }

    /// Whether parts write elements of one array.
    pub(super) fn shares_result(&self) -> bool {
        let interval = self.interval.as_ref();
        interval
            .is_some_and(|i| matches!(i.chunks.join, Join::Shared { .. } | Join::Overlap { .. }))
    }

    /// The part of the positions that a loop over them runs over.
    pub(super) fn cut_positions(&self, nest: &Loop<'_>, bounds: (Expr, Expr)) -> (Expr, Expr) {
        match &self.interval {
            Some(i) if nest.scope.bound.is_empty() && i.chunks.cut.is_by_position() => (
                binary(BinaryOp::Max, i.first.clone(), bounds.0),
                binary(BinaryOp::Min, i.last.clone(), bounds.1),
            ),
            _ => bounds,
        }
    }

    /// The first coordinate of the part and the one behind its last, counted from the level's
    /// least, where the first level of the result is cut and every coordinate has a place there.
    pub(super) fn own_rows(&mut self) -> Option<(Expr, Expr)> {
        let Interval { chunks, first, last } = self.interval.clone()?;
        let own = match chunks.join {
            Join::Concatenate => matches!(self.assembler(0), Assembler::Place),
            Join::Shared { .. } => self.fills_own_part(chunks.var, chunks.cut),
            _ => false,
        };
        let level = own.then(|| self.arrays(self.kernel.result).levels[0].clone())?;
        Some((level.from_least(first), level.from_least(last)))
    }

    /// What a part of a full result has in every element before the loops.
    pub(super) fn filled_part(&mut self) -> Vec<ir::Stmt> {
        let Some((lo, hi)) = self.own_rows() else { return vec![] };
        let result = self.kernel.result;
        let levels = 1..self.arrays(result).levels.len();
        let lo = self.positions_at(result, levels.clone(), lo);
        let hi = self.positions_at(result, levels, hi);
        let (vals, initial) = (self.arrays(result).vals, self.initial());
        self.filled(vals, lo, hi, initial)
    }

    /// Sets an operand's position to the first coordinate of the part, and the end behind the
    /// last.
    pub(super) fn cut_to_part(&mut self, it: &Iterator) -> Vec<ir::Stmt> {
        let Some(Interval { first, last, .. }) = self.interval.clone() else { return vec![] };
        let before = |at: Var, bound: &Expr| match &it.sliced {
            Sliced::Whole => lt(it.raw(at).coordinate, bound.clone()),
            Sliced::Taken { view, .. } => lt(it.raw(at).coordinate, view.coordinate(bound.clone())),
            Sliced::Placed(_) => lt(it.coordinate(at), bound.clone()),
        };
        let (p, end) = (it.position, self.end(it));
        let mut stmts = self.first_from(p, &|at| before(at, &first), Expr::Var(end));
        let behind: Var = self.temp(&format!("{}_last", self.name_of(p)));
        stmts.push(assign(behind, Expr::Var(p)));
        stmts.extend(self.first_from(behind, &|at| before(at, &last), Expr::Var(end)));
        stmts.push(assign(end, Expr::Var(behind)));
        stmts
    }
}

/// What can be cut of a loop over these operands.
fn cut(iterators: &[Iterator], universal: bool) -> Option<Cut> {
    let searched = |it: &Iterator| {
        let p = it.kind.properties();
        let ascending = match &it.sliced {
            Sliced::Whole => true,
            Sliced::Taken { view, .. } | Sliced::Placed(view) => view.ascends(),
        };
        p.ordered && p.compact && ascending
    };
    match iterators {
        _ if iterators.iter().all(searched) => Some(Cut::Coordinates),
        [only] if !universal && only.segmented => Some(Cut::Segments),
        [_] if !universal => Some(Cut::Positions),
        _ => None,
    }
}

/// The outermost loop of a statement: also that of a sum that is the result as it is.
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
