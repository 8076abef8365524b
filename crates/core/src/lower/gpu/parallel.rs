//! Loops that a GPU runs.
//!
//! ```text
//! parallelize(i, gpu_block, no_races)      for i in 0..y1_size on gpu_block {
//! parallelize(j, gpu_thread, atomics)        s = 0.0
//!                                            for j in .. on gpu_thread with s by sum {
//! parallelize(p, gpu_block, atomics)       update y_vals[i] by sum: s
//! ```
//!
//! A loop becomes parallel if its iterations share nothing but values that they combine, threads by a reduction and
//! all units by elements of the result. Otherwise the loop stays serial, and so do inner loops that need it around
//! them. The host runs code outside of loops over blocks. (Sparse iteration space transformations, section 6.3.)

use crate::cin::Tag;
use crate::cin::tiles::tiles;
use crate::lower::Lowerer;
use crate::lower::gpu::GpuContext;
use crate::lower::scope::Scope;
use crate::lower::symbols::Symbols;
use crate::lower::value::{Vals, Value};
use crate::lower::values::Values;
use crate::notation::Access;
use crate::plan::Output;
use std::collections::BTreeMap;
use tamis_ir::algebra::{BinaryOp, ReduceOp};
use tamis_ir::datatype::Register;
use tamis_ir::ids::{IndexVar, TensorId, Var};
use tamis_ir::ir::flow::{assigned, mentions, reads_first};
use tamis_ir::ir::{self, Expr, Reduction, Stmt, Unit};

impl GpuContext {
    /// Records the unit that runs a loop over an index variable, whose variable in code is `var`.
    pub(in crate::lower) fn on_unit(&mut self, cx: &mut Symbols<'_>, own: IndexVar, var: Var) {
        if let Some(unit) = cx.planner().unit(own) {
            self.units.insert(var, (own, unit));
        }
        let tag = cx.kernel.tags.get(&own);
        cx.values.builder.vars[var].by_lanes |= tag.is_some_and(Tag::is_by_lanes);
    }

    /// Whether blocks run a loop.
    pub(in crate::lower) fn is_on_blocks(&self, s: &Stmt) -> bool {
        matches!(s, Stmt::For { var, .. } if self.units.get(var).is_some_and(|(_, unit)| *unit == Unit::Block))
    }

    /// Whether several iterations of surrounding GPU loops may write to the same element: a loop's variable does not
    /// follow from the element's coordinates, or has duplicates. Without an operator, each element is written once.
    /// The outermost `own` of these loops do not count: each of their iterations has elements of its own.
    fn is_raced(
        &self,
        cx: &Symbols<'_>,
        lhs: &Access,
        op: Option<ReduceOp>,
        scope: &Scope,
        own: usize,
    ) -> bool {
        let derived = &cx.program.derived;
        let on_units =
            scope.loops.iter().enumerate().filter(|(_, var)| cx.planner().unit(**var).is_some());
        on_units.skip(own).any(|(k, var)| {
            let known = [&lhs.indices[..], &scope.loops[..k]].concat();
            let again = op.is_some() && scope.repeating.contains(var);
            again || !derived.follows(*var, &known)
        })
    }

    /// Records the loops around a workspace.
    pub(in crate::lower) fn note_loops(
        &mut self,
        cx: &Symbols<'_>,
        tensor: TensorId,
        scope: &Scope,
    ) {
        self.own_loops.insert(tensor, scope.parallel_loops(cx));
    }

    /// Records a write to a workspace that does not belong to a single iteration.
    pub(in crate::lower) fn note_local(
        &mut self,
        cx: &Symbols<'_>,
        tensor: TensorId,
        scope: &Scope,
    ) {
        let own = self.own_loops.get(&tensor).copied().unwrap_or(0);
        self.raced |= scope.parallel_loops(cx) > own;
    }

    /// The operator of an atomic update of a workspace, if several threads of the block that owns it may write to the
    /// same element. Records a race if there is no such update.
    pub(in crate::lower) fn local_update(
        &mut self,
        cx: &mut Symbols<'_>,
        lhs: &Access,
        op: Option<ReduceOp>,
        value: &Value,
        scope: &Scope,
    ) -> Option<ReduceOp> {
        let own = self.own_loops.get(&lhs.tensor).copied().unwrap_or(0);
        if own == 0 || !self.lent.contains(&lhs.tensor) {
            self.note_local(cx, lhs.tensor, scope);
            return None;
        }
        if !self.is_raced(cx, lhs, op, scope, own) {
            return None;
        }
        let vals = cx.arrays(lhs.tensor).vals;
        let op = op.filter(|op| cx.updates(vals, *op, value));
        self.raced |= op.is_none();
        op
    }
}

impl Lowerer<'_> {
    /// Writes to an element that concurrent iterations may write to.
    pub(in crate::lower) fn written(
        &mut self,
        lhs: &Access,
        position: Expr,
        op: Option<ReduceOp>,
        value: Value,
        scope: &Scope,
    ) -> Vec<ir::Stmt> {
        let vals = self.cx.result().vals;
        if let Some(op) = op
            && matches!(self.plan.output, Output::InPlace | Output::SharedStructure)
            && let Ok(tiles) = tiles(self.program, self.kernel, lhs, &scope.loops)
        {
            return self.gpu.sums.in_run(&mut self.cx, &tiles, position, op, value, scope);
        }
        match (op, self.gpu.is_raced(&self.cx, lhs, op, scope, 0)) {
            (Some(op), true) if self.cx.updates(vals, op, &value) => {
                self.cx.updated(vals, position, op, value)
            }
            (op, raced) => {
                self.gpu.raced |= raced;
                self.cx.write(position, op, value)
            }
        }
    }
}

impl Scope {
    /// The number of loops around a statement that a GPU runs.
    pub(in crate::lower) fn parallel_loops(&self, cx: &Symbols<'_>) -> usize {
        self.loops.iter().filter(|&&var| cx.planner().unit(var).is_some()).count()
    }
}

impl Symbols<'_> {
    /// Whether elements of the result are as wide as the compute type.
    pub(in crate::lower) fn is_wide(&mut self) -> bool {
        let vals = self.result().vals;
        self.are_wide(vals)
    }
}

impl Values<'_> {
    /// Whether elements can be updated atomically: the operator is not the user's; complex elements are updated part
    /// by part.
    fn updates(&mut self, vals: Vals, op: ReduceOp, value: &Value) -> bool {
        let wide = self.are_wide(vals);
        let parts = matches!(vals, Vals::Real(_)) && value.im.is_none();
        // Atomic operations do not check for overflow.
        let wide = wide && !self.may_leave(op, &value.re);
        wide && !matches!(op, ReduceOp::User(_)) && (parts || op == ReduceOp::Add)
    }

    fn are_wide(&self, vals: Vals) -> bool {
        let register = self.facts.register().datatype();
        vals.arrays().into_iter().all(|a| self.builder.arrays[a].elem == register)
    }

    pub(in crate::lower) fn updated(
        &mut self,
        vals: Vals,
        position: Expr,
        op: ReduceOp,
        value: Value,
    ) -> Vec<ir::Stmt> {
        let value = self.reduced(Some(op), value);
        let mut stmts = vec![];
        let Value { re, im } = self.hold(value, &mut stmts);
        let zero = Expr::Const(tamis_ir::datatype::Scalar::F64(0.0).convert(self.facts.register()));
        for store in vals.store(&position, Value { re, im }, zero.clone()) {
            let Stmt::Store { array, index, value } = store else { continue };
            if op != ReduceOp::Add || value != zero {
                stmts.push(Stmt::Update { array, index, op, value });
            }
        }
        stmts
    }
}

/// Loops by their variables in code: those of the plan, and the units that are to run them.
pub(in crate::lower) type Units = BTreeMap<Var, (IndexVar, Unit)>;

/// Loops of the plan that stay serial although a unit should run them, and why.
pub(in crate::lower) type Serial = Vec<(IndexVar, &'static str)>;

/// A function's body with loops on units, and the loops that stay serial although a unit should run them.
pub(in crate::lower) fn marked(units: &Units, body: Vec<Stmt>) -> (Vec<Stmt>, Serial) {
    let mut marker = Marker { units, serial: vec![] };
    match units.is_empty() {
        true => (body, vec![]),
        false => (marker.block(body, None, &[]), marker.serial),
    }
}

/// A function's body without parallel loops.
pub(in crate::lower) fn in_order(body: Vec<Stmt>) -> Vec<Stmt> {
    let one = |s: Stmt| match s.map_children(&mut |e| e, &mut in_order) {
        Stmt::Parallel { var, lo, hi, body, .. } => Stmt::For { var, lo, hi, step: 1, body },
        s => s,
    };
    body.into_iter().map(one).collect()
}

struct Marker<'u> {
    units: &'u Units,
    serial: Serial,
}

/// The statements that may run after a block, and whether they certainly run.
type After<'b> = (&'b [Stmt], bool);

impl Marker<'_> {
    fn block(&mut self, block: Vec<Stmt>, around: Option<Unit>, after: &[After<'_>]) -> Vec<Stmt> {
        let mut out = vec![];
        for k in 0..block.len() {
            let rest = [&[(&block[k + 1..], true)], after].concat();
            out.push(self.stmt(&block[k], around, &rest));
        }
        out
    }

    fn stmt(&mut self, s: &Stmt, around: Option<Unit>, after: &[After<'_>]) -> Stmt {
        let whole = s.clone();
        let again: Vec<After<'_>> = match s {
            Stmt::For { body, .. } | Stmt::While { body, .. } => {
                [&[(&body[..], false)], after].concat()
            }
            _ => after.to_vec(),
        };
        let Some((unit, combined)) = self.parallel(s, around, after) else {
            return whole.map_children(&mut |e| e, &mut |b| self.block(b, around, &again));
        };
        let Stmt::For { var, lo, hi, body, .. } = whole else { return whole };
        let body = self.block(body, Some(unit), &again);
        Stmt::Parallel { unit, var, lo, hi, combined, body }
    }

    /// The unit that runs a loop and the reductions of its iterations, if the loop can be parallel.
    fn parallel(
        &mut self,
        s: &Stmt,
        around: Option<Unit>,
        after: &[After<'_>],
    ) -> Option<(Unit, Vec<Reduction>)> {
        let Stmt::For { var, step: 1, body, .. } = s else { return None };
        let &(own, unit) = self.units.get(var)?;
        let nests = match (around, unit) {
            (None, unit) => unit == Unit::Block,
            (Some(around), unit) => around < unit,
        };
        let why = match combined(body, after) {
            _ if !nests => "the loop around it that should run on units does not",
            None => "an iteration needs what those before it did",
            Some(values) if !values.is_empty() && unit != Unit::Thread => {
                "its iterations are combined into one value, which only threads do"
            }
            Some(values) => return Some((unit, values)),
        };
        self.serial.push((own, why));
        None
    }
}

/// The reductions of a loop's iterations; `None` if these depend on each other in another way.
fn combined(body: &[Stmt], after: &[After<'_>]) -> Option<Vec<Reduction>> {
    let mut own = vec![];
    assigned(body, &mut own);
    own.sort();
    own.dedup();
    own.retain(|&v| reads_first(body, v, &mut false) || is_read(v, after));
    own.into_iter().map(|v| reduction(body, v)).collect()
}

/// Whether one of the following statements may read a variable before it is assigned.
fn is_read(var: Var, after: &[After<'_>]) -> bool {
    for (block, surely) in after {
        let mut assigned = false;
        if reads_first(block, var, &mut assigned) {
            return true;
        }
        if assigned && *surely {
            return false;
        }
    }
    false
}

/// The operator, if all uses of a variable in a body are `var = var op value`.
fn reduction(body: &[Stmt], var: Var) -> Option<Reduction> {
    let mut ops = vec![];
    collect(body, var, &mut ops)?;
    let op = *ops.first()?;
    ops.iter().all(|other| *other == op).then_some(Reduction { var, op })
}

/// Collects the operators by which a block combines values with a variable; `None` if it uses the variable in another
/// way.
fn collect(body: &[Stmt], var: Var, ops: &mut Vec<ReduceOp>) -> Option<()> {
    for s in body {
        match s {
            Stmt::Assign { var: v, value } if *v == var => ops.push(combining(value, var)?),
            s if s.exprs().any(|e| mentions(e, var)) => return None,
            _ => {}
        }
        s.blocks().try_for_each(|block| collect(block, var, ops))?;
    }
    Some(())
}

/// The operator of `var op value`.
fn combining(e: &Expr, var: Var) -> Option<ReduceOp> {
    let own = |e: &Expr| *e == Expr::Var(var);
    let other = |e: &Expr| !mentions(e, var);
    match e {
        Expr::Fma(a, b, c) => (own(c) && other(a) && other(b)).then_some(ReduceOp::Add),
        Expr::Binary(op, a, b) if own(a) && other(b) => {
            let ops = [ReduceOp::Add, ReduceOp::Mul, ReduceOp::Min, ReduceOp::Max];
            ops.into_iter().find(|o| o.binary() == *op)
        }
        // Truth values, as numbers.
        Expr::Convert(to, a) if *to != Register::Bool => match &**a {
            Expr::Binary(op, a, b) if is_truth(a, var) && other(b) => {
                [ReduceOp::Or, ReduceOp::And].into_iter().find(|o| o.binary() == *op)
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether an expression tests a variable for being nonzero.
fn is_truth(e: &Expr, var: Var) -> bool {
    match e {
        Expr::Binary(BinaryOp::Ne, a, _) => **a == Expr::Var(var),
        Expr::Convert(Register::Bool, a) => **a == Expr::Var(var),
        _ => false,
    }
}
