//! Kernels whose outermost loop runs over a part of its coordinates, so that parts run in parallel.
//!
//! ```text
//! i_first = max(i_begin, 0);  i_last = max(i_first, min(i_end, y1_size))
//! for i in i_first..i_last ..
//! ```
//!
//! Where the caller cuts does not change what any coordinate computes. What becomes of the parts
//! depends on the result: they write elements of their own, or are joined ([`Join`]).

use super::forall::{Iterator, Loop};
use super::result::{Assembler, Assembly, Plan};
use super::scale::{Root, Scale};
use super::signature::Binding;
use super::slice::{Sliced, View};
use super::{Lowerer, Scope};
use crate::algebra::{BinaryOp, ReduceOp};
use crate::cin::{Relation, Stmt, Unit};
use crate::datatype::{DataType, Scalar};
use crate::format::LevelMap;
use crate::ids::{IndexVar, TensorId, Var};
use crate::ir::build::{assign, binary};
use crate::ir::{self, Expr, Param};
use crate::iteration::lattice::Lattice;
use crate::level::Part;
use crate::notation::{self, Access};

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
}

/// What a part has an interval of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    /// The coordinates of the outermost loop.
    Coordinates,
    /// The positions of the first level of the only operand that the loop walks.
    Positions,
}

/// How the results of parts become one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Join {
    /// They write elements of their own of one array, which has this value everywhere before.
    Shared {
        /// The value; `None` if every part gives all its elements one.
        initial: Option<Scalar>,
    },
    /// The levels of one follow those of the one before.
    Concatenate,
    /// They are arrays, and their elements are combined, in order of the parts.
    Combine(ReduceOp),
    /// They are rows of an array that follow each other, of which the first may be the last of
    /// the part before: then their elements are combined.
    Overlap {
        /// How elements are combined.
        op: ReduceOp,
        /// What every element is before.
        initial: Scalar,
    },
    /// Their entries are listed in order of the parts, and packed.
    Pack {
        /// How entries of the same coordinate are combined; `None` if only one part gives an
        /// element a value.
        op: Option<ReduceOp>,
    },
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
    pub(super) fn cut_outermost(&mut self, body: &Stmt) {
        let Some((own, below)) = self.cuttable(body) else { return };
        let tag = self.kernel.tags.get(&own).and_then(|tag| tag.parallel);
        if tag.is_some_and(|(unit, _)| unit == Unit::NotParallel) || self.kernel.is_for_gpu() {
            return;
        }
        let scope = Scope::default();
        let in_order = self.plan.in_order().is_some_and(|(n, vars)| n > 0 && vars[0] == own);
        let window = if in_order { None } else { self.window(own, below, &scope) };
        let var = window.map_or(own, |w| w.var);
        let iterators = self.iterators(var, below, &scope, in_order);
        let accesses: Vec<Access> = iterators.iter().map(|it| it.access.clone()).collect();
        let universal = Lattice::build(self.facts, below, &accesses).is_universal();
        let Some(cut) = cut(&iterators, universal) else { return };
        let Some((scale, leads)) = self.leads(var, cut, body) else { return };
        let repeats = iterators.iter().any(|it| !it.kind.properties().unique);
        let Some(join) = self.join(var, cut, repeats && cut == Cut::Positions, body) else {
            return;
        };
        if matches!(join, Join::Shared { .. } | Join::Overlap { .. }) {
            for array in self.arrays(self.kernel.result).vals.arrays() {
                self.builder.arrays[array].role = ir::Role::Shared;
            }
        }
        let (first, last) = self.interval(var, cut);
        let chunks = Chunks { cut, join, var, scale, leads };
        self.interval = Some(Interval { chunks, first, last });
    }

    /// The loop to cut: the outermost one, or a dense one that writes elements of its own inside of
    /// a few diagonals or slots, which every part goes through.
    fn cuttable<'s>(&self, body: &'s Stmt) -> Option<(IndexVar, &'s Stmt)> {
        let (mut var, mut below) = outermost(body, self.kernel.result)?;
        let derived = &self.program.derived;
        let few = |var| derived.map(var).is_some_and(LevelMap::spreads);
        let accesses = super::resolve::distinct(body);
        let dense = |var: IndexVar| {
            accesses.iter().all(|access| {
                let vars = self.program.level_vars(access.tensor, &access.indices);
                let levels = self.program.storage(access.tensor).format.levels();
                let full =
                    levels.iter().zip(vars).all(|(l, v)| v != var || l.kind.properties().full);
                full && access.slices.is_empty()
            })
        };
        while let (Plan::Full, true, Stmt::Forall { var: inner, body }) =
            (&self.plan, few(var), below)
            && !self.is_told_by_result(var)
            && (few(*inner) || dense(*inner))
        {
            (var, below) = (*inner, body);
        }
        Some((var, below))
    }

    fn is_told_by_result(&self, var: IndexVar) -> bool {
        let modes = &self.program.tensors[self.kernel.result].modes;
        self.program.derived.depth(var, modes) != usize::MAX
    }

    /// What iterations of the outermost loop count, and the tensors that know the work behind it.
    fn leads(&self, var: IndexVar, cut: Cut, body: &Stmt) -> Option<(Scale, Vec<TensorId>)> {
        let derived = &self.program.derived;
        let begins_with = |var: IndexVar| {
            let mut leads = vec![];
            for access in super::resolve::distinct(body) {
                let vars = self.program.level_vars(access.tensor, &access.indices);
                if access.slices.is_empty() && vars.first() == Some(&var) {
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
        let open = derived.map(var).is_some() && !derived.is_scheduled(var);
        if cut == Cut::Positions || open {
            return None;
        }
        let scale = Scale::of(derived, var)?;
        let leads = match scale.root {
            Root::Coordinates(root) if scale.is_ordered() => begins_with(root),
            Root::Coordinates(_) => vec![],
            Root::Positions(tensor, _) => vec![tensor],
        };
        Some((scale, leads))
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
        if cut == Cut::Positions {
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

    /// How results of parts become one; `None` if they cannot.
    fn join(&self, var: IndexVar, cut: Cut, repeats: bool, body: &Stmt) -> Option<Join> {
        let disjoint = !repeats && self.is_told_by_result(var);
        let combined = || self.combining_parts(body);
        let Plan::Assemble(Assembly { vars, in_order, .. }) = &self.plan else {
            return match (&self.plan, disjoint) {
                (Plan::Full | Plan::Follow, true) => {
                    Some(Join::Shared { initial: self.initial_elsewhere(var, cut) })
                }
                (Plan::Full, false) => combined().map(|op| match self.begins_in_order(var) {
                    true => Join::Overlap { op, initial: self.initial() },
                    false => Join::Combine(op),
                }),
                (Plan::Follow, false) => combined().map(Join::Combine),
                (_, true) => self.packing(None),
                (_, false) => combined().filter(added).and_then(|op| self.packing(Some(op))),
            };
        };
        let ordered = *in_order > 0 && vars[0] == var && cut == Cut::Coordinates;
        match disjoint {
            true if ordered && self.follows() => Some(Join::Concatenate),
            true => self.packing(None),
            false => combined().filter(added).and_then(|op| self.packing(Some(op))),
        }
    }

    /// Packing, where an entry brings no places for others: every part would have those, too.
    fn packing(&self, op: Option<ReduceOp>) -> Option<Join> {
        let format = &self.program.storage(self.kernel.result).format;
        let levels = format.levels().iter();
        let mut below = levels.skip_while(|l| l.kind.properties().full);
        let blocks = below.any(|l| l.kind.properties().full) || format.spreads();
        (!blocks).then_some(Join::Pack { op })
    }

    /// Whether a loop visits positions in an order in which the first coordinates of the result
    /// ascend.
    fn begins_in_order(&self, var: IndexVar) -> bool {
        let derived = &self.program.derived;
        let position = derived.position(var).and_then(|p| derived.relation(p));
        let ordered = Scale::of(derived, var).is_some_and(|scale| scale.is_ordered());
        let first = match position {
            Some(Relation::Position { of, .. }) => of.first(),
            _ => None,
        };
        ordered
            && self.has_plain_modes()
            && first.is_some()
            && self.level_vars(self.kernel.result).first() == first
    }

    /// The operator that makes one value of those that parts have for the same element, where
    /// that gives what one loop gives: parts start from its identity, and nothing is lost when
    /// they are stored.
    fn combining_parts(&self, body: &Stmt) -> Option<ReduceOp> {
        let mut ops = vec![];
        body.for_each_assign(&mut |lhs, op, _| {
            if lhs.tensor == self.kernel.result {
                ops.push(op.or(self.kernel.scatter.then_some(ReduceOp::Add)));
            }
        });
        let op = match (body, &ops[..]) {
            (Stmt::Where { producer, .. }, [None]) => reduction(producer)?,
            (_, [first, rest @ ..]) if rest.iter().all(|op| op == first) => (*first)?,
            _ => return None,
        };
        let storage = self.program.storage(self.kernel.result);
        let is_logical = matches!(op, ReduceOp::Or | ReduceOp::And);
        let kept = match storage.datatype {
            DataType::Bool => is_logical,
            d => d.part().register() == self.facts.register() && is_register(d.part()),
        };
        let identity = self.program.identity(op, self.facts.compute)?.computed(storage.datatype);
        let from_identity = matches!(body, Stmt::Where { .. }) || self.initial() == identity;
        (kept && from_identity && !matches!(op, ReduceOp::User(_))).then_some(op)
    }

    /// What the caller has to give every element beforehand, where parts do not do it themselves.
    fn initial_elsewhere(&self, var: IndexVar, cut: Cut) -> Option<Scalar> {
        (!self.fills_own_part(var, cut)).then(|| self.initial())
    }

    /// Whether the elements of a part of a full result lie side by side.
    fn fills_own_part(&self, var: IndexVar, cut: Cut) -> bool {
        let rows = match &self.plan {
            Plan::Full => self.has_plain_modes(),
            Plan::Follow => self.kind(0).properties().full && self.kind(0).locates(),
            Plan::Placed | Plan::Assemble(_) => false,
        };
        cut == Cut::Coordinates && rows && self.level_vars(self.kernel.result).first() == Some(&var)
    }

    /// Whether the arrays of the result's levels can be put one behind the other.
    fn follows(&self) -> bool {
        let levels = self.program.storage(self.kernel.result).format.levels();
        let placed = |k: usize| !matches!(self.assembler(k), Assembler::Insert(_));
        let first = levels[0].kind.properties().full || levels[0].has(Part::Pos);
        first && (0..levels.len()).all(|k| placed(k) && !levels[k].has(Part::Width))
    }

    /// Whether a loop runs over a part of its coordinates.
    pub(super) fn is_cut(&self, nest: &Loop<'_>) -> bool {
        let interval = self.interval.as_ref();
        interval.is_some_and(|i| i.chunks.var == nest.var && i.chunks.cut == Cut::Coordinates)
    }

    /// The coordinates that a loop has to visit if nothing else is known.
    pub(super) fn turns(&mut self, nest: &Loop<'_>) -> (Expr, Expr) {
        let (true, Some(interval)) = (self.is_cut(nest), self.interval.clone()) else {
            return self.range(nest.var, nest.scope);
        };
        if nest.scope.bound.is_empty() {
            return (interval.first, interval.last);
        }
        let (lo, hi) = self.range(nest.var, nest.scope);
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
            Some(i) if nest.scope.bound.is_empty() && i.chunks.cut == Cut::Positions => (
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
        let coordinate = |value: Expr| match &it.sliced {
            Sliced::Taken { view, .. } => view.coordinate(value),
            _ => value,
        };
        let (p, end) = (it.position, self.end(it));
        let mut stmts = self.lower_bound(it, p, coordinate(first));
        let behind: Var = self.temp(&format!("{}_last", self.name_of(p)));
        stmts.push(assign(behind, Expr::Var(p)));
        stmts.extend(self.lower_bound(it, behind, coordinate(last)));
        stmts.push(assign(end, Expr::Var(behind)));
        stmts
    }
}

/// Whether nothing is lost when a value is stored.
fn is_register(datatype: DataType) -> bool {
    datatype.register().datatype() == datatype
}

/// What can be cut of a loop over these operands.
fn cut(iterators: &[Iterator], universal: bool) -> Option<Cut> {
    let searched = |it: &Iterator| {
        let p = it.kind.properties();
        let ascending = match &it.sliced {
            Sliced::Whole => true,
            Sliced::Taken { view, .. } => matches!(view, View::Steps { step: 1.., .. }),
            Sliced::Placed(_) => false,
        };
        p.ordered && p.compact && ascending
    };
    if iterators.iter().all(searched) {
        return Some(Cut::Coordinates);
    }
    let [only] = iterators else { return None };
    (!universal && !only.segmented && !only.is_clipped()).then_some(Cut::Positions)
}

/// Packing adds up entries of the same coordinate.
fn added(op: &ReduceOp) -> bool {
    *op == ReduceOp::Add
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

/// The operator of a loop that sums up a register.
fn reduction(producer: &Stmt) -> Option<ReduceOp> {
    let register = crate::cin::simplify::written(producer);
    let mut ops = vec![];
    producer.for_each_assign(&mut |lhs, op, _| {
        if lhs.tensor == register {
            ops.push(op);
        }
    });
    match ops[..] {
        [op] => op,
        _ => None,
    }
}
