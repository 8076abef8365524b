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
//! ([`crate::plan`]); here each of its nodes becomes code, with level functions for the levels: no level format is named.
//! Every order of loops has code, so [`crate::legalise`] only chooses what is fast.

mod binding;
mod builder;
mod complex;
mod gpu;
mod overflow;
mod partition;
mod read;
mod scratch;
mod signature;
mod value;
mod write;

pub use binding::Binding;
pub use gpu::fallback::GpuFallback;
pub use signature::{Lowered, SharedStructure};

use crate::cin::simplify::Facts;
use crate::cin::{Kernel, Kind, Program, Role};
use crate::format::open::extent;
use crate::level::LevelArrays;
use crate::notation::Access;
use crate::plan::{self, Node, Plan, Planner};
use builder::Builder;
use complex::{Held, Vals, Value};
use gpu::{OnGpu, parallel};
use read::locate;
use std::collections::BTreeMap;
use tamis_ir::ids::{Id, IndexVar, Mode, TensorId, Var};
use tamis_ir::ir::build::assign;
use tamis_ir::ir::{self, Expr};
use write::Writing;

/// The function that computes a kernel, and what its parameters stand for.
pub fn lower(program: &Program, kernel: &Kernel, name: &str) -> Lowered {
    let plan = plan::plan(program, kernel);
    plan::verify::assert_valid(program, kernel, &plan);
    let new = |gpu| Lowerer { gpu, ..Lowerer::new(program, kernel, &plan, name) };
    let sliced = OnGpu { in_slices: kernel.is_for_gpu(), ..OnGpu::default() };
    let whole = |why| new(OnGpu { unphased: Some(why), ..OnGpu::default() }).lowered();
    new(sliced).lowered().or_else(whole).expect("workspaces that are no slices are always right")
}

impl<'p> Lowerer<'p> {
    fn new(program: &'p Program, kernel: &'p Kernel, plan: &'p Plan, name: &str) -> Lowerer<'p> {
        Lowerer {
            program,
            kernel,
            facts: Facts { program, compute: kernel.compute },
            builder: Builder::new(name),
            declared: Declared::default(),
            gpu: OnGpu::default(),
            ranges: BTreeMap::new(),
            times: vec![],
            params: vec![],
            interval: None,
            plan,
            writing: Writing::default(),
        }
    }

    /// The same facts as the plan was made of.
    fn planner(&self) -> Planner<'p> {
        Planner::new(self.program, self.kernel)
    }

    /// The function; or why slices have no loops that count them, if it would have some.
    fn lowered(mut self) -> Result<Lowered, GpuFallback> {
        let body = self.kernel();
        // What is assembled in one phase, the host assembles.
        let host = self.host();
        if let (Some(why), true) = (host, self.slice_of_plan().is_some()) {
            return Err(why);
        }
        let body = match host {
            None => parallel::marked(&self.gpu.units, body),
            Some(_) => parallel::in_order(body),
        };
        let like = self.like();
        Ok(signature::finish(self.builder, body, self.plan.parts.clone(), host, like))
    }
}

/// A kernel on its way to code.
struct Lowerer<'p> {
    program: &'p Program,
    kernel: &'p Kernel,
    facts: Facts<'p>,
    plan: &'p Plan,
    builder: Builder,
    declared: Declared,
    /// How far the result is written.
    writing: Writing,
    gpu: OnGpu,
    /// What integers that variables hold may be, where that is known.
    ranges: BTreeMap<Var, std::ops::RangeInclusive<i128>>,
    /// How often values are added to tensors in an iteration that stands for several.
    times: Vec<(TensorId, Var)>,
    /// What the parameters of the user operator being inlined are.
    params: Vec<Value>,
    /// The part of the outermost loop that the function computes, where not all of it.
    interval: Option<partition::Interval<'p>>,
}

/// The arrays and variables that things have in code, once these are declared.
#[derive(Default)]
struct Declared {
    tensors: BTreeMap<TensorId, TensorArrays>,
    dims: BTreeMap<IndexVar, Var>,
    vars: BTreeMap<IndexVar, Var>,
    registers: BTreeMap<TensorId, Held>,
    /// The flags of temporaries that may be empty reductions.
    anys: BTreeMap<TensorId, Var>,
    positions: BTreeMap<locate::Place, Var>,
    /// Per position variable: the end of its segment, the coordinate there, whether it is current.
    ends: BTreeMap<Var, Var>,
    coordinates: BTreeMap<Var, Var>,
    flags: BTreeMap<Var, Var>,
    /// Per position variable: the end of the positions of the same coordinate.
    segments: BTreeMap<Var, Var>,
}

/// The arrays of a tensor under their generated names.
#[derive(Clone)]
struct TensorArrays {
    levels: Vec<LevelArrays>,
    vals: Vals,
}

/// What is known at a statement of the loop nest.
#[derive(Clone, Default)]
struct Scope {
    /// Index variables with a value, and the variable that holds it.
    bound: BTreeMap<IndexVar, Var>,
    /// How far each access has descended its levels.
    reached: Vec<(Access, Reached)>,
    /// How far the loops have descended the levels that the result stores in order.
    result: Reached,
    /// The position at the last of an operand's levels that the result has.
    like: Option<ir::Expr>,
    /// The loops around.
    loops: Vec<IndexVar>,
    /// Those of them that may visit a coordinate again: over entries of an operand that repeats
    /// coordinates.
    repeating: Vec<IndexVar>,
}

/// The levels of an access that are behind, and the position at the last of them.
#[derive(Clone)]
struct Reached {
    levels: usize,
    position: ir::Expr,
    /// The end of several positions of the same coordinate.
    end: Option<ir::Expr>,
}

/// Code, and whether it gives every element of the result a value.
struct Code {
    stmts: Vec<ir::Stmt>,
    covers: bool,
}

impl Default for Reached {
    fn default() -> Self {
        Reached { levels: 0, position: ir::build::int(0), end: None }
    }
}

impl Code {
    fn nothing() -> Code {
        Code { stmts: vec![], covers: false }
    }
}

impl Scope {
    fn reached(&self, access: &Access) -> Reached {
        let known = self.reached.iter().find(|(a, _)| a == access);
        known.map_or(Reached::default(), |(_, r)| r.clone())
    }

    fn reach(&mut self, access: &Access, reached: Reached) {
        self.reached.retain(|(a, _)| a != access);
        self.reached.push((access.clone(), reached));
    }
}

impl Lowerer<'_> {
    fn kernel(&mut self) -> Vec<ir::Stmt> {
        let plan = self.plan;
        if let Ok(partition) = &plan.parts {
            self.cut_outermost(partition);
        }
        let scope = Scope::default();
        let code = match (&plan.root, plan.output.gathered_from()) {
            (root, Some(0)) => self.staged(0, ir::build::int(0), root.as_ref(), scope),
            (Some(root), _) => self.node(root, scope),
            (None, _) => Code::nothing(),
        };
        let mut stmts = self.scalar_operands();
        let [room, tables] = self.filled_tables();
        stmts.extend(room);
        match self.in_phases(&code.stmts) {
            Ok(phases) => {
                self.gpu.phased = true;
                stmts.extend(tables);
                stmts.extend(phases);
            }
            Err(why) => {
                self.gpu.unphased.get_or_insert(why);
                let [room, joined] = self.joined_tiles();
                stmts.extend(room);
                stmts.extend(tables);
                stmts.extend(self.before_result(code.covers));
                stmts.extend(code.stmts);
                stmts.extend(joined);
                stmts.extend(self.after_result());
            }
        }
        let code = [std::mem::take(&mut self.builder.prologue), stmts].concat();
        match self.kernel.kind {
            Kind::Assemble => self.assembled_only(code),
            Kind::Fused | Kind::Compute => code,
        }
    }

    /// The code of a step of the plan.
    fn node(&mut self, node: &Node, scope: Scope) -> Code {
        match node {
            Node::Loop(nest) => self.forall(nest, &scope),
            Node::Locate(locate) => self.located(locate, scope),
            Node::Where(temporary) => self.where_node(temporary, &scope),
            Node::Sequence(parts) => self.sequence(parts, &scope),
            Node::Assign { lhs, op, rhs } => self.assignment(lhs, *op, rhs, &scope),
        }
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
        let plan::Where { tensor, producer, consumer, .. } = temporary;
        let Role::Register(initial) = self.program.tensors[*tensor].role else {
            return self.with_local(temporary, scope);
        };
        let held = self.register(*tensor);
        let datatype = self.program.storage(*tensor).datatype;
        let mut stmts = self.assigned(held, Value::constant(initial.computed(datatype)));
        let produced = self.node(producer, scope.clone()).stmts;
        let consumer = self.node(consumer, scope.clone());
        let code = self.if_partial(*tensor, [vec![], produced], consumer);
        stmts.extend(code.stmts);
        Code { stmts, covers: code.covers }
    }

    /// The variables that hold a register tensor.
    fn register(&mut self, tensor: TensorId) -> Held {
        if let Some(&held) = self.declared.registers.get(&tensor) {
            return held;
        }
        let name = self.program.tensors[tensor].name.clone();
        let held = self.held_vars(&name, self.program.storage(tensor).datatype.is_complex());
        self.declared.registers.insert(tensor, held);
        held
    }

    /// The variable that holds the value of an index variable.
    fn index(&mut self, var: IndexVar) -> Var {
        if let Some(&known) = self.declared.vars.get(&var) {
            return known;
        }
        let name = self.program.vars[var].clone();
        let fresh = self.builder.var(&name, ir::Type::INDEX);
        self.declared.vars.insert(var, fresh);
        fresh
    }

    /// The parameter with the dimension of an index variable, named `A2_size` after a level that
    /// stores it.
    fn dim(&mut self, var: IndexVar) -> Var {
        let var = self.program.derived.alias(var);
        if let Some(&known) = self.declared.dims.get(&var) {
            return known;
        }
        let result = &self.program.tensors[self.kernel.result];
        let written = (self.kernel.result, result.modes.as_slice());
        let reads = self.kernel.body.reads();
        // A slice's variable has the dimension of the slice; the tensor's own modes are whole.
        let whole = |a: &&&Access| a.slices.is_empty();
        let own = |a: &&Access| (a.tensor, self.program.tensors[a.tensor].modes.as_slice());
        let uses = reads.iter().filter(whole).map(|a| (a.tensor, a.indices.as_slice()));
        let sliced = reads.iter().filter(|a| !whole(a)).map(own);
        let name = uses
            .chain(sliced)
            .chain([written])
            .filter_map(|(tensor, vars)| {
                let levels = self.program.level_vars(tensor, vars);
                let level = levels.iter().position(|&v| v == var)?;
                Some(format!("{}{}_size", self.program.tensors[tensor].name, level + 1))
            })
            .next()
            .unwrap_or_else(|| format!("{}_size", self.program.vars[var]));
        let fresh = self.builder.size(&name, var);
        self.declared.dims.insert(var, fresh);
        fresh
    }

    /// The arrays of a tensor, declared on first use.
    fn arrays(&mut self, tensor: TensorId) -> TensorArrays {
        self.arrays_in(tensor, &Scope::default())
    }

    /// The arrays of a tensor that is declared where so much is known.
    fn arrays_in(&mut self, tensor: TensorId, scope: &Scope) -> TensorArrays {
        if let Some(known) = self.declared.tensors.get(&tensor) {
            return known.clone();
        }
        let result = (tensor == self.kernel.result).then_some(self.kernel.kind);
        let declared = &self.program.tensors[tensor];
        let mut arrays = match self.is_workspace(tensor) {
            true => self.builder.workspace(declared),
            false => self.builder.tensor(tensor, declared, result),
        };
        if let (true, Some(_), Vals::Real(vals)) = (declared.streamed, result, arrays.vals) {
            self.builder.arrays[vals].streamed = true;
        }
        for k in 0..arrays.levels.len() {
            let (least, size) = self.extent(tensor, k, &arrays.levels[k], scope);
            arrays.levels[k].least = least;
            arrays.levels[k].size = size;
        }
        if self.is_workspace(tensor) {
            self.allocate_local(tensor, &arrays);
        }
        if let (Some(like), true) = (self.like(), result.is_some()) {
            let levels = self.arrays(like.operand).levels;
            arrays.levels[..like.levels].clone_from_slice(&levels[..like.levels]);
        }
        self.declared.tensors.insert(tensor, arrays.clone());
        arrays
    }

    /// The least coordinate of a level, and the number of coordinates.
    fn extent(
        &mut self,
        tensor: TensorId,
        k: usize,
        level: &LevelArrays,
        scope: &Scope,
    ) -> (Expr, Expr) {
        let declared = &self.program.tensors[tensor];
        let spec = declared.storage.format.levels()[k];
        let is_own = self.is_workspace(tensor);
        let mut dimension = |m: Mode| match declared.modes[m.index()] {
            mode if is_own => self.elements(mode, scope),
            mode => self.size(mode, scope),
        };
        let mut slots = || level.width();
        let (least, size) = extent::<Mode, Expr>(spec.map, &mut dimension, &mut slots);
        let name = format!("{}{}", declared.name, k + 1);
        let mut named = |e: Expr, suffix: &str| match e {
            Expr::Const(_) | Expr::Var(_) | Expr::Load { .. } => e,
            e => {
                let var = self.builder.var(&format!("{name}_{suffix}"), ir::Type::INDEX);
                self.builder.prologue.push(assign(var, e));
                Expr::Var(var)
            }
        };
        (named(least, "least"), named(size, "size"))
    }
}
