//! Workspaces: tensors local to a kernel, between the producer and the consumer of a `where`.
//!
//! ```text
//! where(forall(j, C(i,j) = w(j)), forall(k, forall(j, w(j) += A(i,k) * B(k,j))))
//!
//! for .. for ..   if w1_mask[j] == 0  w1_mask[j] = 1, list j, w_vals[j] = ..  else  w_vals[j] += ..
//! sort the list; for each j listed    append w_vals[j]
//! for each j listed                   w1_mask[j] = 0
//! ```
//!
//! The last level, or all levels, may be sparse: they record written coordinates, and are cleared after the consumer,
//! in time by the number of these. Levels that grow allocate positions, and values, as coordinates are inserted. A
//! workspace without a sparse level is filled before the producer, unless the producer writes every element, or first
//! initialises those that the consumer reads.

use super::builder::TensorArrays;
use super::value::{Vals, Value};
use crate::level::{Entry, LevelArrays, Scratch};
use crate::lower::scope::Scope;
use crate::lower::symbols::Symbols;
use crate::lower::{Code, Lowerer};
use crate::notation::Access;
use crate::plan::{self, Output};
use tamis_ir::algebra::ReduceOp;
use tamis_ir::datatype::Scalar;
use tamis_ir::ids::{TensorId, Var};
use tamis_ir::ir::build::{add, assign, int, lt, mul, when};
use tamis_ir::ir::{self, Expr};

/// The initial number of values for which a growing workspace reserves memory.
const FIRST: i64 = 1;

impl Symbols<'_> {
    /// Allocates a workspace, before everything else.
    pub(super) fn allocate_local(&mut self, tensor: TensorId, arrays: &TensorArrays) {
        let sparse = sparse_levels(self, tensor, arrays);
        let sizes = arrays.levels.iter().map(|l| l.size.clone());
        let size = match sparse.iter().any(|level| level.scratch.grows()) {
            true => int(FIRST),
            false => sizes.fold(int(1), mul),
        };
        self.values.builder.prologue.extend(arrays.vals.reserve(&size));
        for SparseLevel { scratch, level, parents } in sparse {
            self.values.builder.prologue.extend(scratch.scratch_init(&level, parents));
        }
    }
}

/// A level of a workspace that records written coordinates.
struct SparseLevel {
    scratch: &'static dyn Scratch,
    level: LevelArrays,
    /// The number of positions of the level above.
    parents: Expr,
}

/// The sparse levels of a workspace, if it has any.
fn sparse_levels(cx: &Symbols<'_>, tensor: TensorId, arrays: &TensorArrays) -> Vec<SparseLevel> {
    let specs = cx.program.storage(tensor).format.levels();
    let mut parents = int(1);
    let mut found = vec![];
    for (spec, level) in specs.iter().zip(&arrays.levels) {
        let own = match spec.kind.format().scratch() {
            Some(scratch) => {
                let (level, parents) = (level.clone(), parents.clone());
                let size = scratch.scratch_size(&level, parents.clone());
                found.push(SparseLevel { scratch, level, parents });
                size
            }
            None => mul(parents, level.size.clone()),
        };
        parents = own;
    }
    found
}

/// The arrays of a workspace. One over positions below coordinates is allocated here, where the number of its
/// positions is known; the others are allocated at the beginning.
fn local_arrays(
    cx: &mut Symbols<'_>,
    tensor: TensorId,
    scope: &Scope,
) -> (TensorArrays, Vec<ir::Stmt>) {
    let program = cx.program;
    let modes = &program.tensors[tensor].modes;
    if !modes.iter().any(|mode| program.derived.position(*mode).is_some()) {
        return (cx.arrays(tensor), vec![]);
    }
    // If the same loops run again, this also allocates again.
    cx.tensors.remove(&tensor);
    let prologue = std::mem::take(&mut cx.values.builder.prologue);
    let arrays = cx.arrays_in(tensor, scope);
    let room = std::mem::replace(&mut cx.values.builder.prologue, prologue);
    (arrays, room)
}

/// Fills a workspace with its fill value.
fn fill_local(cx: &mut Symbols<'_>, tensor: TensorId, arrays: &TensorArrays) -> Vec<ir::Stmt> {
    let sizes = arrays.levels.iter().map(|l| l.size.clone());
    let size = sizes.fold(int(1), mul);
    let fill = cx.facts.fill(tensor);
    match arrays.vals {
        Vals::Split(re, im) => {
            let [x, y] = fill.parts();
            let mut stmts = cx.filled(Vals::Real(re), int(0), size.clone(), x);
            stmts.extend(cx.filled(Vals::Real(im), int(0), size, y));
            stmts
        }
        vals => cx.filled(vals, int(0), size, fill),
    }
}

/// The position of an element of a workspace. Coordinates of levels above the last one are inserted, unless only
/// existing positions are wanted.
fn local_position(
    cx: &mut Symbols<'_>,
    lhs: &Access,
    scope: &Scope,
    wanted: Wanted,
    stmts: &mut Vec<ir::Stmt>,
) -> LocalPosition {
    let mut scope = scope.clone();
    let arrays = cx.arrays(lhs.tensor);
    let vars = cx.program.level_vars(lhs.tensor, &lhs.indices);
    let levels = cx.program.storage(lhs.tensor).format.levels();
    let (mut position, mut entry) = (int(0), None);
    for (k, var) in vars.iter().enumerate() {
        let coordinate = scope.coordinate(cx, *var, stmts);
        let coordinate = Expr::Var(coordinate.expect("the coordinates of a workspace are bound"));
        if let (Some((found, missing)), Wanted::All) = (entry.take(), wanted) {
            stmts.push(ir::Stmt::If { cond: found, then: vec![], otherwise: missing });
        }
        let (kind, level, names) = (levels[k].kind, &arrays.levels[k], &mut cx.values.builder);
        let (at, missing) = match kind.format().scratch() {
            Some(scratch) => {
                let Entry { at, missing } =
                    scratch.scratch_entry(level, position, coordinate, names);
                (Some(at), missing)
            }
            None => (kind.locate(level, position, coordinate, names), vec![]),
        };
        let at = at.expect("levels of a workspace locate");
        stmts.extend(at.stmts);
        (position, entry) = (at.position, at.found.map(|found| (found, missing)));
    }
    if !matches!(position, Expr::Var(_)) {
        let p = cx.position_var(lhs, levels.len() - 1);
        stmts.push(assign(p, position));
        position = Expr::Var(p);
    }
    LocalPosition { position, entry }
}

/// Which elements of a workspace are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Every element; missing ones are inserted.
    All,
    /// Elements with a value; others have no position.
    Known,
}

/// The position of an element of a workspace.
struct LocalPosition {
    position: Expr,
    /// If the last level is sparse: whether the element was written before, and the statements that insert it.
    entry: Option<(Expr, Vec<ir::Stmt>)>,
}

impl Lowerer<'_> {
    /// A consumer that reads a workspace, behind its producer.
    pub(super) fn with_local(&mut self, temporary: &plan::Where, scope: &Scope) -> Code {
        let plan::Where { tensor, opens, asks, ref producer, ref consumer } = *temporary;
        let (arrays, room) = local_arrays(&mut self.cx, tensor, scope);
        self.gpu.note_loops(&self.cx, tensor, scope);
        let sparse = sparse_levels(&self.cx, tensor, &arrays);
        let is_sparse = !sparse.is_empty();
        self.gpu.grows |= sparse.iter().any(|level| level.scratch.grows());
        // Writes to masks and lists depend on earlier writes, so threads cannot share these.
        if !opens && !is_sparse {
            self.gpu.lent.insert(tensor);
        }
        if opens {
            self.opened.push(tensor);
        }
        let any = noticing(&mut self.cx, temporary);
        let is_walked = consumer.walks(tensor);
        let producer = self.node(producer, scope.clone());
        let consumer = self.node(consumer, scope.clone());
        if consumer.stmts.is_empty() {
            return Code::nothing();
        }
        let mut stmts = room.clone();
        if !is_sparse {
            let before = match (opens, producer.covers) {
                (true, _) => {
                    self.fill_once(tensor, &arrays);
                    vec![]
                }
                (false, true) => vec![],
                (false, false) => fill_local(&mut self.cx, tensor, &arrays),
            };
            let before = [room, before].concat();
            return match asks {
                true => if_partial(any, [before, producer.stmts], consumer),
                false => {
                    if_partial(None, [[before, unnoticed(any)].concat(), producer.stmts], consumer)
                }
            };
        }
        let names = &mut self.cx.values.builder;
        stmts.extend(producer.stmts);
        let is_sorted = is_walked && matches!(self.plan.output, Output::Assemble(_));
        for SparseLevel { scratch, level, parents } in sparse.iter().filter(|_| is_walked) {
            stmts.extend(scratch.scratch_list(level, parents.clone(), names));
            if is_sorted {
                stmts.extend(scratch.scratch_sort(level, parents.clone(), names));
            }
        }
        stmts.extend(consumer.stmts);
        for SparseLevel { scratch, level, parents } in sparse {
            stmts.extend(scratch.scratch_clear(&level, parents, names));
        }
        Code { stmts, covers: consumer.covers }
    }

    /// Writes a value to a workspace, or combines it with the stored value.
    pub(super) fn write_local(
        &mut self,
        lhs: &Access,
        op: Option<ReduceOp>,
        value: Value,
        scope: &Scope,
    ) -> Code {
        let update = self.gpu.local_update(&mut self.cx, lhs, op, &value, scope);
        let mut stmts = vec![];
        let arrays = self.cx.arrays(lhs.tensor);
        let is_opened = op.is_some() && self.opened.contains(&lhs.tensor);
        let wanted = if is_opened { Wanted::Known } else { Wanted::All };
        let LocalPosition { position, entry } =
            local_position(&mut self.cx, lhs, scope, wanted, &mut stmts);
        if let Some(op) = update {
            stmts.extend(self.cx.updated(arrays.vals, position, op, value));
            return Code { stmts, covers: false };
        }
        let value = self.cx.hold(value, &mut stmts);
        let mut again = vec![];
        let total = match op {
            Some(op) => {
                let old = self.cx.loaded(arrays.vals, position.clone());
                self.cx.combined(op, old, value.clone(), &mut again)
            }
            None => value.clone(),
        };
        again.extend(self.cx.kept_value(arrays.vals, position.clone(), total));
        let Some((found, mut first)) = entry else {
            stmts.extend(again);
            return Code { stmts, covers: op.is_none() };
        };
        if is_opened {
            stmts.push(when(found, again));
            return Code { stmts, covers: false };
        }
        if arrays.levels.iter().any(|level| level.table.is_some()) {
            first.extend(arrays.vals.reserve(&add(position.clone(), int(1))));
        }
        let alone = self.cx.reduced(op, value);
        first.extend(self.cx.kept_value(arrays.vals, position, alone));
        stmts.push(ir::Stmt::If { cond: found, then: again, otherwise: first });
        Code { stmts, covers: false }
    }

    /// Initialises every element of a workspace when it is allocated. Elements outside of the pattern may be added to
    /// but are never read: a call for another part finds the workspace as it was left.
    fn fill_once(&mut self, tensor: TensorId, arrays: &TensorArrays) {
        let filled = fill_local(&mut self.cx, tensor, arrays);
        if self.interval.is_none() {
            return self.cx.prologue.extend(filled);
        }
        let sizes = arrays.levels.iter().map(|l| l.size.clone());
        let size = sizes.fold(int(1), mul);
        let own = arrays.vals.arrays();
        let is_own =
            |s: &ir::Stmt| matches!(s, ir::Stmt::Reserve { array, .. } if own.contains(array));
        let prologue = std::mem::take(&mut self.cx.prologue);
        let (room, others): (Vec<ir::Stmt>, _) = prologue.into_iter().partition(is_own);
        self.cx.prologue = others;
        let first = [room.clone(), filled].concat();
        self.cx.prologue.push(when(lt(Expr::Len(own[0]), size), first));
        self.cx.prologue.extend(room);
    }
}

/// The flag that tells whether anything was added to a temporary, if its reader needs that.
pub(super) fn noticing(cx: &mut Symbols<'_>, temporary: &plan::Where) -> Option<Var> {
    let is_asked = temporary.asks || temporary.consumer.asks_for(temporary.tensor);
    is_asked.then(|| cx.any_flag(temporary.tensor))
}

/// Code that runs only if something was added to a temporary.
pub(super) fn if_any(any: Var, code: Code) -> Code {
    match code.stmts.is_empty() {
        true => code,
        false => Code { stmts: vec![when(Expr::Var(any), code.stmts)], covers: false },
    }
}

/// Resets the flag of a temporary: nothing was added so far.
pub(super) fn unnoticed(any: Option<Var>) -> Vec<ir::Stmt> {
    any.map(|any| assign(any, Expr::Const(Scalar::Bool(false)))).into_iter().collect()
}

/// The code that prepares, produces and consumes a temporary. If there is a flag, the consumer runs only if the
/// producer set it.
pub(super) fn if_partial(
    any: Option<Var>,
    [before, produced]: [Vec<ir::Stmt>; 2],
    consumer: Code,
) -> Code {
    let Some(any) = any else {
        let stmts = [before, produced, consumer.stmts].concat();
        return Code { stmts, covers: consumer.covers };
    };
    let (yes, no) = [true, false].map(|b| assign(any, Expr::Const(Scalar::Bool(b)))).into();
    let (iterates, produced) = match <[ir::Stmt; 1]>::try_from(produced) {
        // Every iteration adds a term, so one iteration is as good as the flag.
        Ok([ir::Stmt::For { var, lo, hi, step, mut body }]) if body.contains(&yes) => {
            body.retain(|s| *s != yes);
            let iterates = lt(lo.clone(), hi.clone());
            let produced = vec![ir::Stmt::For { var, lo, hi, step, body }];
            let stmts = [before, produced, consumer.stmts].concat();
            return Code { stmts: vec![when(iterates, stmts)], covers: false };
        }
        Ok([s]) => match &s {
            ir::Stmt::For { lo, hi, .. } => (Some(lt(lo.clone(), hi.clone())), vec![s]),
            _ => (None, vec![s]),
        },
        Err(produced) => (None, produced),
    };
    let stmts = [vec![no], before, produced, vec![when(Expr::Var(any), consumer.stmts)]].concat();
    // Without an iteration, nothing needs preparation either.
    let stmts = iterates.map_or(stmts.clone(), |iterates| vec![when(iterates, stmts)]);
    Code { stmts, covers: false }
}
