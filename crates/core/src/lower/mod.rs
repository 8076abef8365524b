//! Lowering: a kernel of concrete index notation becomes an imperative function.
//!
//! ```text
//! forall(i, where(y(i) = t, forall(j, t += A(i,j) * x(j))))
//!
//! for i in 0..y1_size {
//!   t = 0.0
//!   for pA2 in A2_pos[i]..A2_pos[i + 1] {
//!     j = A2_crd[pA2]
//!     t = fma(A_vals[pA2], x_vals[j], t)
//!   }
//!   y_vals[i] = t
//! }
//! ```
//!
//! The plan says which operands drive each loop, how the others are found and how the result is written
//! ([`crate::plan`]); here each of its nodes becomes code, with level functions for the levels: no level format is
//! named. Every order of loops has code, so [`crate::legalise`] only chooses which is fast.
//!
//! Each type needs only those listed before it:
//!
//! ```text
//! Builder         declares variables and arrays of the function
//! Values          computes in the kernel's type; Intervals says which steps need a test
//! Symbols         names and sizes of tensors, dimensions and positions: `cx`
//! Scope           the state at a statement: coordinates with a value, and positions reached in operands
//! LoopEmitter     merges the operands of one loop, an Iterator each
//! LevelWriter     appends the levels of the result; an Accumulator or a CooBuffer gathers entries for it
//! GpuContext      which units run which loops, and what these share
//! Lowerer         walks the plan, and has the others emit the code of each node
//! ```

mod binding;
mod builder;
mod complex;
mod concatenate;
mod dropped;
mod expression;
mod gpu;
mod intervals;
mod overflow;
mod partition;
mod read;
mod reserves;
mod scope;
mod scratch;
mod signature;
mod symbols;
mod threads;
mod value;
mod values;
mod write;

pub use crate::plan::SharedStructure;
pub use binding::Binding;
pub use dropped::Dropped;
pub use gpu::fallback::GpuFallback;
pub use signature::Lowered;

use crate::cin::{Kernel, KernelKind, Program, Role};
use crate::plan::{self, Node, Plan};
use builder::Builder;
use gpu::{GpuContext, parallel};
use partition::Interval;
use scope::Scope;
use scratch::{if_any, if_partial, noticing, unnoticed};
use std::collections::{BTreeMap, BTreeSet};
use symbols::Symbols;
use tamis_ir::ids::{IndexVar, TensorId, Var};
use tamis_ir::ir::{self, Expr};
use threads::{Parts, threaded};
use value::Value;
use values::Values;
use write::Writing;

/// The function that computes a kernel by a plan, and the meaning of its parameters.
pub fn lower(program: &Program, kernel: &Kernel, plan: &Plan, name: &str) -> Lowered {
    if let Some(lowered) = threaded(program, kernel, name) {
        return lowered;
    }
    let new = |gpu| Lowerer { gpu, ..Lowerer::new(program, kernel, plan, name) };
    let sliced = GpuContext { in_slices: kernel.is_for_gpu(), ..GpuContext::default() };
    let whole = |why| new(GpuContext { unphased: Some(why), ..GpuContext::default() }).lowered();
    new(sliced).lowered().or_else(whole).expect("workspaces that are no slices are always right")
}

impl<'p> Lowerer<'p> {
    fn new(program: &'p Program, kernel: &'p Kernel, plan: &'p Plan, name: &str) -> Lowerer<'p> {
        Lowerer {
            program,
            kernel,
            plan,
            cx: Symbols::new(Values::new(program, kernel, Builder::new(name))),
            writing: Writing::default(),
            gpu: GpuContext::default(),
            times: vec![],
            opened: vec![],
            interval: None,
            parts: None,
            counted: BTreeMap::new(),
            uncounted: BTreeSet::new(),
        }
    }

    /// The function; an error if the slices of workspaces have no loops that count their terms.
    fn lowered(mut self) -> Result<Lowered, GpuFallback> {
        let body = self.kernel();
        // A result that is not assembled in two phases is assembled on the host.
        let sliced = self.writing.slice().is_some();
        let host = gpu::fallback::host(self.kernel, &self.plan.output, &self.gpu, sliced);
        if let (Some(why), true) = (host, sliced) {
            return Err(why);
        }
        let (body, serial) = match host {
            None => parallel::marked(&self.gpu.units, body),
            Some(_) => (parallel::in_order(body), vec![]),
        };
        let on_host = host.is_some();
        let dropped = dropped::dropped(
            (self.program, self.kernel),
            self.plan,
            (&self.uncounted, on_host),
            &serial,
        );
        let like = self.cx.planner().like();
        let parts = self.plan.parts.clone();
        Ok(Lowered {
            dropped,
            ..signature::finish(self.cx.values.builder, body, parts, host, like)
        })
    }
}

/// The state of lowering a plan.
struct Lowerer<'p> {
    program: &'p Program,
    kernel: &'p Kernel,
    plan: &'p Plan,
    /// The function so far.
    cx: Symbols<'p>,
    /// The state of writing the result.
    writing: Writing,
    gpu: GpuContext,
    /// Where one iteration stands for several: how many times values are added to each tensor.
    times: Vec<(TensorId, Var)>,
    /// Workspaces that were initialised at the entries of a pattern: only at these are values added.
    opened: Vec<TensorId>,
    /// The part of the outermost loop that the function computes, if not all of it.
    interval: Option<Interval<'p>>,
    /// All parts, if the function runs them itself.
    parts: Option<Parts<'p>>,
    /// The number of counted loops over each variable.
    counted: BTreeMap<IndexVar, usize>,
    /// Variables with loops that are not counted.
    uncounted: BTreeSet<IndexVar>,
}

/// Code, and whether it writes every element of the result.
struct Code {
    stmts: Vec<ir::Stmt>,
    covers: bool,
}

impl Code {
    fn nothing() -> Code {
        Code { stmts: vec![], covers: false }
    }
}

impl Lowerer<'_> {
    fn kernel(&mut self) -> Vec<ir::Stmt> {
        let plan = self.plan;
        if let Ok(partition) = &plan.parts {
            self.interval = Some(match self.kernel.cut.threaded {
                true => self.parts.insert(Parts::declared(&mut self.cx, partition)).interval(),
                false => Interval::declared(&mut self.cx, partition),
            });
        }
        let scope = Scope::default();
        let code = match (&plan.root, plan.output.gathered_from()) {
            (root, Some(0)) => self.staged(0, ir::build::int(0), root.as_ref(), scope),
            (Some(root), _) => self.node(root, scope),
            (None, _) => Code::nothing(),
        };
        let mut stmts = self.cx.scalar_operands(&self.plan.scalars);
        let [room, tables] = self.gpu.tables.filled_tables(&mut self.cx);
        stmts.extend(room);
        match self.in_phases(&code.stmts) {
            Ok(phases) => {
                self.gpu.phased = true;
                stmts.extend(tables);
                stmts.extend(phases);
            }
            Err(why) => {
                self.gpu.unphased.get_or_insert(why);
                let [room, joined] = self.gpu.sums.joined_tiles(&mut self.cx);
                stmts.extend(room);
                stmts.extend(tables);
                stmts.extend(self.before_result(code.covers));
                stmts.extend(code.stmts);
                stmts.extend(joined);
                stmts.extend(self.after_result());
            }
        }
        let code = [std::mem::take(&mut self.cx.prologue), stmts].concat();
        match self.kernel.kind {
            KernelKind::Assemble => self.assembled_only(code),
            KernelKind::Fused | KernelKind::Compute => self.in_own_parts(code),
        }
    }

    /// The code of a step of the plan.
    fn node(&mut self, node: &Node, scope: Scope) -> Code {
        match node {
            Node::Loop(nest) => self.forall(nest, &scope),
            Node::Locate(locate) => self.located(locate, scope),
            Node::Where(temporary) => self.where_node(temporary, &scope),
            Node::IfAny(tensor, node) => if_any(self.cx.any_flag(*tensor), self.node(node, scope)),
            Node::Sequence(parts) => self.sequence(parts, &scope),
            Node::Assign { lhs, op, rhs } => self.assignment(lhs, *op, rhs, &scope),
        }
    }

    /// The rows of the result that only this part computes.
    fn own_rows(&mut self) -> Option<(Expr, Expr)> {
        self.interval.clone()?.own_rows(&mut self.cx, &self.plan.output)
    }

    fn sequence(&mut self, parts: &[Node], scope: &Scope) -> Code {
        let mut all = Code::nothing();
        for part in parts {
            let code = self.node(part, scope.clone());
            all.stmts.extend(code.stmts);
            all.covers |= code.covers;
        }
        all
    }

    fn where_node(&mut self, temporary: &plan::Where, scope: &Scope) -> Code {
        let plan::Where { tensor, asks, producer, consumer, .. } = temporary;
        let Role::Register(initial) = self.program.tensors[*tensor].role else {
            return self.with_local(temporary, scope);
        };
        let held = self.cx.register(*tensor);
        let datatype = self.program.storage(*tensor).datatype;
        let mut stmts = self.cx.assigned(held, Value::constant(initial.computed(datatype)));
        let any = noticing(&mut self.cx, temporary);
        let produced = self.node(producer, scope.clone()).stmts;
        let consumer = self.node(consumer, scope.clone());
        let code = match *asks {
            true => if_partial(any, [vec![], produced], consumer),
            false => if_partial(None, [unnoticed(any), produced], consumer),
        };
        stmts.extend(code.stmts);
        Code { stmts, covers: code.covers }
    }
}
