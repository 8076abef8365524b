//! What legalisation reads: the request, and the program under construction.

use crate::cin::simplify::Facts;
use crate::cin::{self, Program, Role};
use crate::format::{Format, Storage};
use crate::legalise::Request;
use crate::legalise::order::Weighed;
use crate::level::LevelKind;
use crate::notation::{Access, Expr};
use crate::plan::access::{AccessMethods, Task};
use std::collections::BTreeMap;
use tamis_ir::algebra::ReduceOp;
use tamis_ir::datatype::DataType;
use tamis_ir::ids::{Id, IndexVar, Mode, TensorId};

/// The largest dimension of a result that is accumulated in a dense array.
const MOST_GATHERED: u64 = 1 << 26;

/// Threshold, in bytes, for non-temporal stores to dense tensors: other stores first read the line that they
/// write. Measured to pay from 32 MiB on, if nothing reads the tensor soon.
const STREAMED: u64 = 64 << 20;

/// What the functions of legalisation read; making kernels adds to the program.
pub(super) struct Context<'r> {
    pub(super) request: &'r Request<'r>,
    /// The program under construction.
    pub(super) program: Program,
    /// Estimated numbers of entries of tensors that kernels compute, where known.
    pub(super) expected: BTreeMap<TensorId, u64>,
    /// The values whose entries are being gathered in temporaries, innermost last: such a value is not gathered again.
    pub(super) gathering: Vec<Expr>,
    /// The loop orders that were weighed recently.
    pub(super) weighed: Weighed,
}

impl Context<'_> {
    /// Rules for the values of expressions of this type.
    pub(super) fn facts(&self, compute: DataType) -> Facts<'_> {
        Facts { program: &self.program, compute }
    }

    /// How operands can be read.
    pub(super) fn access_methods(&self) -> AccessMethods<'_> {
        AccessMethods { program: &self.program }
    }

    /// The variables of an access in the order of its levels.
    pub(super) fn level_vars(&self, access: &Access) -> Vec<IndexVar> {
        self.program.level_vars(access.tensor, &access.indices)
    }

    /// The variables of a result in the order of its levels.
    pub(super) fn storage_order(&self, task: &Task) -> Vec<IndexVar> {
        let levels = self.program.storage(task.result).format.levels();
        let modes = levels.iter().flat_map(|l| l.map.modes());
        let mut vars = vec![];
        for var in modes.map(|m| task.vars[m.index()]) {
            if !vars.contains(&var) {
                vars.push(var);
            }
        }
        vars
    }

    /// The number of loops, from the outermost on, after which a variable has a value.
    pub(super) fn depth(&self, var: IndexVar, loops: &[IndexVar]) -> usize {
        self.program.derived.depth(var, loops)
    }

    /// Whether a variable has a value once others have.
    pub(super) fn follows(&self, var: IndexVar, known: &[IndexVar]) -> bool {
        self.program.derived.follows(var, known)
    }

    /// Whether a loop variable is reduced: it does not follow from the variables of the result.
    pub(super) fn is_reduced(&self, var: IndexVar, task: &Task) -> bool {
        !self.follows(var, &task.vars)
    }

    /// Whether an operand stores every element.
    pub(super) fn is_full(&self, access: &Access) -> bool {
        self.program.storage(access.tensor).format.is_full()
    }

    /// Whether some sparse operand has a variable among its indices.
    pub(super) fn is_constrained(&self, value: &Expr, var: IndexVar) -> bool {
        value.accesses().iter().any(|a| !self.is_full(a) && a.indices.contains(&var))
    }

    /// The number of operands of a value that list coordinates.
    pub(super) fn listing(&self, value: &Expr) -> usize {
        let lists = |a: &&Access| !self.is_full(a);
        value.accesses().into_iter().filter(lists).count()
    }

    /// Whether an array over a dimension is worth its memory.
    pub(super) fn is_small(&self, var: IndexVar) -> bool {
        self.known_dimension(var).is_none_or(|d| d <= MOST_GATHERED)
    }

    /// Whether arrays over the dimensions of a result are worth their memory.
    pub(super) fn has_small_dimensions(&self, task: &Task) -> bool {
        task.vars.iter().all(|v| self.is_small(*v))
    }

    /// Whether a tensor is dense and known to exceed the caches.
    pub(super) fn is_streamed(&self, tensor: TensorId) -> bool {
        let cin::Tensor { storage, modes, .. } = &self.program.tensors[tensor];
        let sizes: Option<Vec<u64>> = modes.iter().map(|v| self.known_dimension(*v)).collect();
        let bytes = |sizes: Vec<u64>| {
            sizes.into_iter().fold(storage.datatype.size() as u64, u64::saturating_mul)
        };
        storage.format.is_full() && sizes.map(bytes).is_some_and(|bytes| bytes >= STREAMED)
    }

    /// Gives the levels of every operand of a value their variables.
    pub(super) fn declare_uses(&mut self, value: &Expr) {
        for access in value.accesses() {
            let format = self.program.storage(access.tensor).format.clone();
            let (derived, vars) = (&mut self.program.derived, &mut self.program.vars);
            derived.declare(&format, access.tensor, &access.indices, vars);
        }
    }

    /// A workspace in which an operator combines values like this one, initialised to the operator's identity.
    pub(super) fn workspace(
        &mut self,
        kinds: Vec<LevelKind>,
        vars: &[IndexVar],
        op: ReduceOp,
        (value, compute): (&Expr, DataType),
    ) -> TensorId {
        let datatype = self.program.accumulator(value, compute);
        let mut storage = Storage::of(Format::in_order(kinds), datatype);
        if let Some(identity) = self.program.identity(op, compute) {
            storage.fill = identity.computed(compute).stored(datatype);
        }
        self.program.declare("w", storage, Role::Workspace, vars.to_vec())
    }

    /// A new variable with the dimension of another.
    pub(super) fn another(&mut self, var: IndexVar) -> IndexVar {
        self.program.derived.another(var, &mut self.program.vars)
    }

    /// The variable with the dimension of a mode of a tensor of the notation.
    pub(super) fn of_mode(&mut self, tensor: TensorId, mode: Mode) -> IndexVar {
        self.program.derived.of_mode(tensor, mode, &mut self.program.vars)
    }
}
