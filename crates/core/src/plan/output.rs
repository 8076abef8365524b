//! How a kernel writes its result: in place, in the order of its levels, or accumulated first.
//!
//! ```text
//! y(i) dense                 in place
//! C(i,j) csr, loops i, j     both levels in order: each entry is appended
//! C(i,j) csr, loops i, k, j  one level in order; the rest of a row in an accumulator
//! C(i,j) csc, loops i, j     counted for each column, then filled
//! C(i,j) ell, loops i, j     counted for each row, then inserted
//! C(i,j) coo, loops i, k, j  a coordinate buffer, sorted
//! ```
//!
//! Appending is cheapest, so as many leading levels as possible are written in order: those whose variables are the
//! outermost loops, each visited in ascending order. The levels below are accumulated or sorted first (sparse tensor
//! algebra with workspaces, sections 3 and 5; the thesis, chapter 6).

use super::output_order::{Arrivals, assembly};
use super::visits::{Arrival, Visits, arrival};
use super::{CutBy, Planner};
use crate::cin::{Assembling, KernelKind, Relation, Stmt, WalkOrder};
use crate::format::{Format, LevelMap, LevelSpec};
use crate::level::{Append, Insert};
use crate::notation::{Access, Expr};
use tamis_ir::algebra::ReduceOp;
use tamis_ir::datatype::{DataType, Scalar};
use tamis_ir::ids::{IndexVar, TensorId};

/// How the result of a kernel is stored.
#[derive(Clone, PartialEq, Debug)]
pub enum Output {
    /// Every element has a position beforehand, in an array of the caller.
    InPlace,
    /// Every element has a position beforehand, and levels mark the stored ones.
    Insert,
    /// Levels are assembled entry by entry.
    Assemble(Assembly),
    /// The levels are those of a pattern, and values are written at its positions.
    SharedStructure,
}

/// How a result with assembled levels is written.
#[derive(Clone, PartialEq, Debug)]
pub struct Assembly {
    /// The index variable of each level.
    pub vars: Vec<IndexVar>,
    /// The loop that gives each variable its value. For the first level it may be a loop over positions in tiles.
    pub loops: Vec<IndexVar>,
    /// The number of leading levels that the outermost loops write in order.
    pub in_order: usize,
    /// How the remaining levels are written.
    pub rest: Rest,
}

/// How the levels that loops do not write in order are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rest {
    /// Below each position of the last level in order there is a block of values, at positions found by `locate`.
    Block,
    /// The last level is appended in the order of the loops, each entry once; then each fiber is sorted.
    AppendThenSort,
    /// As `AppendThenSort` for entries that may be duplicates, which are combined after sorting.
    AppendSortCombine,
    /// A coordinate buffer, sorted before it is appended.
    CoordinateBuffer,
    /// An accumulator: a dense workspace for the values of one level.
    Accumulator,
    /// An accumulator of positions: a dense workspace over one level, with blocks of values below.
    PositionAccumulator,
    /// Two phases: count the last level's coordinates below each position, sum the counts to positions, then fill.
    CountThenFill,
    /// As `CountThenFill`, and then each fiber is sorted.
    CountFillSort,
    /// Two phases: count the last level's coordinates below each position, which gives slots or hash maps their width,
    /// then insert.
    CountThenInsert,
}

impl Rest {
    /// Whether the loops run twice, first only to count entries.
    pub(crate) fn is_in_two_passes(self) -> bool {
        matches!(self, Rest::CountThenFill | Rest::CountFillSort | Rest::CountThenInsert)
    }
}

/// How one level of a result gets its coordinates.
#[derive(Clone, Copy)]
pub enum Assembler {
    /// Every coordinate has a position.
    Place,
    /// By appending in order.
    Append(&'static dyn Append),
    /// By inserting in any order.
    Insert(&'static dyn Insert),
}

impl Assembler {
    /// How a level of a format gets its coordinates.
    pub fn of(format: &Format, k: usize) -> Assembler {
        let kind = format.levels()[k].kind;
        let chained = format.chain_head(k) < k;
        match (kind.format().insert(), kind.format().append()) {
            _ if kind.properties().full => Assembler::Place,
            (Some(insert), Some(append)) => match chained {
                true => Assembler::Append(append),
                false => Assembler::Insert(insert),
            },
            (Some(insert), None) => Assembler::Insert(insert),
            (None, Some(append)) => Assembler::Append(append),
            (None, None) => Assembler::Place,
        }
    }
}

impl Output {
    /// The number of levels that loops write in order, and the variable of each level of the result.
    pub fn in_order(&self) -> Option<(usize, &[IndexVar])> {
        match self {
            Output::InPlace | Output::Insert | Output::SharedStructure => None,
            Output::Assemble(assembly) => Some((assembly.in_order, &assembly.vars)),
        }
    }

    /// How the levels that are not in order are written, if levels are assembled.
    pub fn rest(&self) -> Option<Rest> {
        match self {
            Output::InPlace | Output::Insert | Output::SharedStructure => None,
            Output::Assemble(assembly) => Some(assembly.rest),
        }
    }

    /// The first level that is accumulated or sorted before it is written, if there is one.
    pub fn gathered_from(&self) -> Option<usize> {
        match self {
            Output::Assemble(Assembly { rest: Rest::Block, .. }) => None,
            Output::Assemble(Assembly { in_order, .. }) => Some(*in_order),
            Output::InPlace | Output::Insert | Output::SharedStructure => None,
        }
    }
}

impl Planner<'_> {
    /// Decides how the kernel stores its result: in place if every element has a position, appended if the outermost
    /// loops are those of its levels down to the last that is not full, otherwise accumulated or sorted first.
    pub(super) fn output(self) -> Output {
        let format = self.result_format();
        if self.kernel.kind == KernelKind::Compute {
            return Output::SharedStructure;
        }
        if format.is_full() {
            return Output::InPlace;
        }
        if format.is_placed() {
            return Output::Insert;
        }
        let vars = self.result_vars();
        let levels = vars.len();
        let assembler = |k| Assembler::of(format, k);
        let last = (0..levels).rposition(|k| !matches!(assembler(k), Assembler::Place));
        let last = last.unwrap_or(0);
        let inserts = (0..levels).any(|k| matches!(assembler(k), Assembler::Insert(_)));
        let mut own_loops = vars.clone();
        // Two phases count all entries beforehand, unless a level is appended to.
        let inserts = inserts || self.kernel.assembly.wanted == Some(Assembling::Insert);
        let in_order = match inserts {
            true => 0,
            false => {
                let mut loops = outer_loops(&self.kernel.body);
                own_loops[0] = self.join_tiles(&mut loops, vars[0]).unwrap_or(vars[0]);
                let ordered = vars.iter().zip(&loops).take_while(|(a, b)| a == b);
                ordered.take_while(|(v, _)| !self.is_unordered(**v)).count()
            }
        };
        // An element that accumulates in loops below the last level can only be appended once it is complete.
        let in_order = match last + 1 == levels && self.kernel.accumulates() {
            true => in_order.min(last),
            false => in_order,
        };
        let loops = &outer_loops(&self.kernel.body);
        let all = Visits { derived: &self.program.derived, loops, repeats: self.repeats() };
        let visits = Arrivals {
            arrival: |above: &[usize], last: &[usize]| self.arrival(above, last),
            are_added: self.repeats() && !self.kernel.accumulates(),
            as_stored: all.each_as_stored(&vars)
                && computes_as_stored(self)
                && !self.kernel.assembly.crowded,
            fit_workspace: self.kernel.assembly.workspace,
            may_sort: !self.kernel.is_for_gpu(),
        };
        let (in_order, rest) = assembly(format, in_order, visits);
        Output::Assemble(Assembly { vars, loops: own_loops, in_order, rest })
    }

    /// Whether the loops reach an entry once for each of its duplicates, to sum them.
    fn repeats(self) -> bool {
        let apart = |a: &Access| self.program.storage(a.tensor).format.has_duplicates();
        self.kernel.scatter && distinct(&self.kernel.body).iter().any(apart)
    }

    /// The order in which the loops reach the last of these levels, if they reach each entry of the result once.
    fn arrival(self, above: &[usize], last: &[usize]) -> Option<Arrival> {
        if self.kernel.accumulates() {
            return None;
        }
        let operands = distinct(&self.kernel.body);
        let loops = &outer_loops(&self.kernel.body);
        let visits = Visits { derived: &self.program.derived, loops, repeats: self.repeats() };
        let found = arrival(visits, &self.result_vars(), (above, last), &|v| !self.is_unordered(v));
        // With unordered duplicates, a coordinate may return after others in between.
        let again = |(level, v): (LevelSpec, IndexVar)| {
            let p = level.kind.properties();
            loops.contains(&v) && !p.unique && !p.ordered
        };
        let is_again = operands.iter().any(|a| self.program.levels(a).into_iter().any(again));
        let found = found.map(|found| if is_again { Arrival::Unordered } else { found });
        // The two parts of a complex element are adjacent, and a sort does not move them together.
        let is_complex = self.program.storage(self.kernel.result).datatype.is_complex();
        found.filter(|found| *found == Arrival::Ascending || !is_complex)
    }

    /// If the outermost loops together visit a variable in ascending order (a loop over positions of its coordinates,
    /// or a loop over tiles around one over the offsets), replaces them by the variable, and returns the innermost of
    /// them, which gives the variable its value.
    fn join_tiles(self, loops: &mut Vec<IndexVar>, var: IndexVar) -> Option<IndexVar> {
        let whole = |k: &usize| self.joined(&loops[..*k]) == Some(var);
        let most = (1..=loops.len()).find(whole)?;
        if loops[..most].iter().any(|v| self.is_unordered(*v)) {
            return None;
        }
        let innermost = loops[most - 1];
        loops.splice(..most, [var]);
        Some(innermost)
    }

    /// The variable that several loops together visit in order: loops over tiles and over positions in these.
    fn joined(self, loops: &[IndexVar]) -> Option<IndexVar> {
        let (&outer, inner) = loops.split_first()?;
        let var = match inner.is_empty() {
            true => outer,
            false => self.tiled(outer, self.joined(inner)?)?,
        };
        Some(self.told_by_position(var).unwrap_or(var))
    }

    /// The variable that a loop over tiles and a loop over the offsets in them visit together.
    fn tiled(self, tile: IndexVar, place: IndexVar) -> Option<IndexVar> {
        let derived = &self.program.derived;
        let of = match (derived.relation(tile), derived.map(tile)) {
            (Some(&Relation::Part { of, .. }), _) => of,
            (None, Some(LevelMap::Div(of, _))) => of,
            _ => return None,
        };
        (derived.is_scheduled(tile) && derived.other_half(tile) == Some(place)).then_some(of)
    }

    /// The variable whose coordinates ascend with the positions that `var` counts.
    fn told_by_position(self, var: IndexVar) -> Option<IndexVar> {
        let relation = self.program.derived.relation(var);
        let Some(Relation::Position { of, within, access, level, .. }) = relation else {
            return None;
        };
        let p = self.program.storage(access.tensor).format.levels()[*level].kind.properties();
        let ascends =
            p.ordered && p.unique && self.program.walk(access, *level) == WalkOrder::AsStored;
        let [of] = of[..] else { return None };
        ascends.then_some(within.unwrap_or(of))
    }

    /// Whether a loop over a variable may visit its coordinates unordered, or several times.
    fn is_unordered(self, var: IndexVar) -> bool {
        let (mut hashed, mut listed) = (false, false);
        let loops = outer_loops(&self.kernel.body);
        let inside: Vec<_> = loops.into_iter().skip_while(|&v| v != var).collect();
        for access in distinct(&self.kernel.body) {
            let vars = self.program.level_vars(access.tensor, &access.indices);
            let levels = self.program.storage(access.tensor).format.levels();
            for (k, level) in levels.iter().enumerate().filter(|(k, _)| vars[*k] == var) {
                let p = level.kind.properties();
                let reversed = self.program.walk(&access, k) == WalkOrder::OutOfOrder;
                match (p.full, level.kind.locates()) {
                    (true, _) => {}
                    (_, true) => hashed |= !p.ordered || reversed,
                    (_, false) if self.only_alone(&access, k) || reversed => return true,
                    // A level below one that an inner loop reaches is searched in that loop, not walked here.
                    (_, false) => listed |= vars[..k].iter().all(|above| !inside.contains(above)),
                }
            }
        }
        hashed && !listed
    }

    /// The index variable of each level of the result.
    pub(super) fn result_vars(self) -> Vec<IndexVar> {
        let result = self.kernel.result;
        self.program.level_vars(result, &self.program.tensors[result].modes)
    }

    pub(super) fn result_format(&self) -> &Format {
        &self.program.storage(self.kernel.result).format
    }

    /// Whether the levels of the result are its modes, so that each position is an element.
    pub(crate) fn has_plain_modes(self) -> bool {
        let levels = self.result_format().levels();
        levels.iter().all(|l| l.stores_mode() && !l.kind.properties().branchless)
    }

    /// Whether a variable has a value once the coordinates of a result's element are known.
    pub(crate) fn is_told_by_result(self, var: IndexVar) -> bool {
        let modes = &self.program.tensors[self.kernel.result].modes;
        self.program.derived.follows(var, modes)
    }

    /// The value of elements before the first write.
    pub(crate) fn initial(self) -> Scalar {
        self.initial_as(self.program.storage(self.kernel.result).datatype)
    }

    /// The value of elements before the first write, in another type.
    pub(crate) fn initial_as(self, datatype: DataType) -> Scalar {
        let mut initial = self.program.storage(self.kernel.result).fill.computed(datatype);
        self.kernel.body.for_each_assign(&mut |lhs, op, _| {
            let identity = op.and_then(|op| self.program.identity(op, self.facts.compute));
            if let (true, Some(identity)) = (lhs.tensor == self.kernel.result, identity) {
                initial = identity.computed(datatype);
            }
        });
        initial
    }

    /// Whether values of the result are complex while they are computed.
    pub(crate) fn holds_complex(self) -> bool {
        let mut complex = false;
        self.kernel.body.for_each_assign(&mut |lhs, _, rhs| {
            if lhs.tensor == self.kernel.result {
                complex |= !self.program.is_real(rhs);
            }
        });
        complex
    }

    /// How values of the same coordinate are combined in a coordinate buffer.
    pub(crate) fn combining(self) -> Option<ReduceOp> {
        let mut op = None;
        self.kernel.body.for_each_assign(&mut |lhs, combined, _| {
            if lhs.tensor == self.kernel.result {
                op = combined;
            }
        });
        // Duplicates that arrive one by one are summed.
        op.or(self.kernel.scatter.then_some(ReduceOp::Add))
    }

    /// How a value is combined with the stored one where it is written.
    pub(crate) fn adding(self, op: Option<ReduceOp>, value: &Expr) -> Option<ReduceOp> {
        op.or_else(|| self.adds_entries(value).then_some(ReduceOp::Add))
    }

    /// Whether a value has duplicates that arrive one by one and are to be summed.
    pub(super) fn adds_entries(self, value: &Expr) -> bool {
        let repeats = |a: &&Access| self.program.storage(a.tensor).format.has_duplicates();
        self.kernel.scatter && value.accesses().iter().any(repeats)
    }

    /// Whether the elements that a part writes are adjacent in memory.
    pub(crate) fn fills_own_part(self, output: &Output, var: IndexVar, cut: CutBy) -> bool {
        let first = self.result_format().levels().first().map(|level| level.kind);
        let rows = first.is_some_and(|first| first.properties().ordered)
            && match output {
                Output::InPlace => self.has_plain_modes(),
                Output::SharedStructure => {
                    first.is_some_and(|first| first.properties().full && first.locates())
                }
                Output::Insert | Output::Assemble(_) => false,
            };
        cut == CutBy::Coordinates && rows && self.result_vars().first() == Some(&var)
    }
}

/// The loops around the result's assignment, outermost first.
pub fn outer_loops(s: &Stmt) -> Vec<IndexVar> {
    match s {
        Stmt::Forall { var, body } => {
            let mut loops = vec![*var];
            loops.extend(outer_loops(body));
            loops
        }
        Stmt::Where { consumer, .. } => outer_loops(consumer),
        Stmt::Sequence(_) | Stmt::Assign { .. } | Stmt::Within { .. } => vec![],
    }
}

/// Each access of a statement once, in order, except accesses to temporaries that the statement itself computes.
pub(crate) fn given(s: &Stmt) -> Vec<Access> {
    let mut own = vec![];
    produced(s, &mut own);
    let mut found = distinct(s);
    found.retain(|access| !own.contains(&access.tensor));
    found
}

/// The temporaries that producers in a statement compute.
fn produced(s: &Stmt, into: &mut Vec<TensorId>) {
    match s {
        Stmt::Where { consumer, producer } => {
            into.push(crate::cin::simplify::written(producer));
            produced(producer, into);
            produced(consumer, into);
        }
        Stmt::Forall { body, .. } | Stmt::Within { body, .. } => produced(body, into),
        Stmt::Sequence(parts) => parts.iter().for_each(|part| produced(part, into)),
        Stmt::Assign { .. } => {}
    }
}

/// Each access of a statement once, in order.
pub(crate) fn distinct(s: &Stmt) -> Vec<Access> {
    let mut found: Vec<Access> = vec![];
    for access in s.reads() {
        if !found.contains(access) {
            found.push(access.clone());
        }
    }
    found
}

/// Whether values are combined in the type in which the result stores them, and it is real.
fn computes_as_stored(planner: Planner<'_>) -> bool {
    let datatype = planner.program.storage(planner.kernel.result).datatype;
    let register = datatype.register();
    !datatype.is_complex()
        && register == planner.facts.register()
        && register.datatype() == datatype
}
