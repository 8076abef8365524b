//! Concrete index notation: loops, and where temporary values are stored.
//!
//! ```text
//! forall(i, where(y(i) = t, forall(j, t += A(i,j) * x(j))))
//! ```
//!
//! Values are [`Expr`] without reductions; every literal has the statement's compute
//! type. Sparse tensor algebra with workspaces (Kjolstad et al.) defines the statements.

pub mod choice;
mod cut;
mod derived;
mod empty;
pub mod print;
mod provenance;
mod scale;
pub mod simplify;
mod slices;
mod stmt;
pub mod terms;
pub mod text;
pub mod tiles;
pub mod verify;

pub use choice::Choice;
pub use cut::{CutOptions, OnRanks};
pub use derived::Derived;
pub use provenance::{BoundType, Relation};
pub use scale::{FEW_PARTS, Root, Scale};
pub use slices::WalkOrder;
pub use stmt::Stmt;

use crate::format::{Format, LevelSpec, Storage};
use crate::notation::{Access, Expr, Operator};
use std::collections::{BTreeMap, BTreeSet};
use tamis_ir::algebra::{BinaryOp, ReduceOp, Strictness, UnaryOp};
use tamis_ir::datatype::{DataType, IndexWidth, Scalar};
use tamis_ir::ids::{IdVec, IndexVar, TensorId, UserOp};
use tamis_ir::ir;

/// Kernels in the order in which they run, and the names they share.
#[derive(Clone, Debug)]
pub struct Program {
    /// One kernel after another; later ones may read what earlier ones wrote.
    pub kernels: Vec<Kernel>,
    /// Every tensor: inputs, results, temporaries.
    pub tensors: IdVec<TensorId, Tensor>,
    /// Names of index variables.
    pub vars: IdVec<IndexVar, String>,
    /// The functions that derived index variables stand for.
    pub derived: Derived,
    /// Operators that the user defined.
    pub operators: IdVec<UserOp, Operator>,
    /// The width of coordinates where the user chose none.
    pub width: IndexWidth,
    /// How quotients and similar functions treat an implicit 0.
    pub strictness: Strictness,
}

/// One statement that computes one tensor.
#[derive(Clone, PartialEq, Debug)]
pub struct Kernel {
    /// The tensor that the kernel computes.
    pub result: TensorId,
    /// What the kernel computes of the result.
    pub kind: KernelKind,
    /// The operand with the same entries as the result, if values are computed at the operand's positions.
    pub like: Option<TensorId>,
    /// The type in which it computes.
    pub compute: DataType,
    /// The loops.
    pub body: Stmt,
    /// Whether operands with duplicates are walked entry by entry; the result then sums up the values of a coordinate.
    pub scatter: bool,
    /// How the result may be assembled.
    pub assembly: AssemblyOptions,
    /// The cheapest loops that legalisation compared, the chosen ones first.
    pub choices: Vec<Choice>,
    /// Who runs parts of it.
    pub cut: CutOptions,
    /// Tags of the schedule, by loop variable.
    pub tags: BTreeMap<IndexVar, Tag>,
    /// Temporaries that are factors of terms, where an empty reduction adds no term.
    pub partial: Vec<TensorId>,
    /// How integers beyond 64 bits are treated.
    pub overflow: Overflow,
}

/// How integers beyond 64 bits are treated, in a result and on the way to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Overflow {
    /// They wrap around.
    #[default]
    Wraps,
    /// They end the call, as integers do that do not fit the result's type.
    Checked,
    /// As `Checked`, for sums of so many terms that even 32-bit terms may overflow 64 bits.
    CheckedLong,
}

impl Overflow {
    /// Whether overflow ends the call.
    pub fn is_checked(self) -> bool {
        self != Overflow::Wraps
    }
}

/// How a result may be assembled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AssemblyOptions {
    /// Whether a dense workspace over any level of the result is small enough.
    pub workspace: bool,
    /// Whether each element gets so many values that summing them in a workspace costs less than sorting them.
    pub crowded: bool,
    /// The assembly that a schedule asks for.
    pub wanted: Option<Assembling>,
}

/// What a kernel computes of its result (sparse tensor algebra with workspaces, section 6).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum KernelKind {
    /// The coordinates of entries, and their values.
    #[default]
    Fused,
    /// The coordinates of entries; each value is the fill value.
    Assemble,
    /// The values of known entries: [`Stmt::Within`] says where these are.
    Compute,
}

impl KernelKind {
    /// Every kind.
    pub const ALL: [KernelKind; 3] = [KernelKind::Fused, KernelKind::Assemble, KernelKind::Compute];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            KernelKind::Fused => "fused",
            KernelKind::Assemble => "assemble",
            KernelKind::Compute => "compute",
        }
    }

    /// The kind of this name.
    pub fn parse(name: &str) -> Option<KernelKind> {
        KernelKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// What a schedule asks of a loop beyond its position in the nest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tag {
    /// The unit that runs its iterations, and how races of these are resolved.
    pub parallel: Option<(ParallelUnit, Races)>,
    /// The unroll factor.
    pub unroll: Option<u64>,
    /// How it merges its operands.
    pub merge: Option<MergeStrategy>,
}

impl Tag {
    /// The unit of a GPU that runs the iterations.
    pub fn gpu(&self) -> Option<ir::Unit> {
        match self.parallel {
            Some((ParallelUnit::Gpu(unit), _)) => Some(unit),
            _ => None,
        }
    }

    /// Whether threads run the iterations.
    pub fn is_on_threads(&self) -> bool {
        matches!(self.parallel, Some((ParallelUnit::CpuThread, _)))
    }

    /// Whether the loop is to be vectorised.
    pub fn is_by_lanes(&self) -> bool {
        matches!(self.parallel, Some((ParallelUnit::CpuVector, _)))
    }
}

impl Kernel {
    /// Whether the caller gives the pattern of the result.
    pub fn has_pattern(&self) -> bool {
        self.kind == KernelKind::Compute && self.like.is_none()
    }

    /// Whether it combines values with those stored in its result.
    pub fn accumulates(&self) -> bool {
        let mut accumulates = false;
        self.body.for_each_assign(&mut |lhs, op, _| {
            accumulates |= lhs.tensor == self.result && op.is_some();
        });
        accumulates
    }

    /// Whether a GPU runs any of its loops.
    pub fn is_for_gpu(&self) -> bool {
        self.tags.values().any(|tag| tag.gpu().is_some())
    }
}

/// How a loop finds the coordinates that its operands have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MergeStrategy {
    /// Two-finger: every coordinate of each operand is visited.
    TwoFinger,
    /// An operand that is behind is searched for the coordinate of the others, with steps that double.
    Gallop,
}

impl MergeStrategy {
    /// Every strategy.
    pub const ALL: [MergeStrategy; 2] = [MergeStrategy::TwoFinger, MergeStrategy::Gallop];

    /// The name in schedules.
    pub fn name(self) -> &'static str {
        match self {
            MergeStrategy::TwoFinger => "two_finger",
            MergeStrategy::Gallop => "gallop",
        }
    }
}

/// How the entries of a result get positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assembling {
    /// Each entry is written behind the previous one.
    Append,
    /// Entries are written to positions that exist beforehand.
    Insert,
}

impl Assembling {
    /// Every kind of assembly.
    pub const ALL: [Assembling; 2] = [Assembling::Append, Assembling::Insert];

    /// The name in schedules.
    pub fn name(self) -> &'static str {
        match self {
            Assembling::Append => "append",
            Assembling::Insert => "insert",
        }
    }
}

/// The unit that runs the iterations of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParallelUnit {
    /// One after another.
    NotParallel,
    /// Threads.
    CpuThread,
    /// Lanes of vectors.
    CpuVector,
    /// Units of a GPU.
    Gpu(ir::Unit),
}

/// How races are resolved: several iterations that add to the same element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Races {
    /// There are none.
    NoRaces,
    /// Races are ignored; the user answers for the result.
    IgnoreRaces,
    /// Elements are updated atomically.
    Atomics,
    /// Each unit has its own copy of the elements; the copies are summed afterwards.
    Temporary,
    /// As `Temporary`, with copies summed in parallel.
    ParallelReduction,
}

impl ParallelUnit {
    /// Every unit.
    pub const ALL: [ParallelUnit; 6] = [
        ParallelUnit::NotParallel,
        ParallelUnit::CpuThread,
        ParallelUnit::CpuVector,
        ParallelUnit::Gpu(ir::Unit::Block),
        ParallelUnit::Gpu(ir::Unit::Warp),
        ParallelUnit::Gpu(ir::Unit::Thread),
    ];

    /// The name in schedules.
    pub fn name(self) -> &'static str {
        match self {
            ParallelUnit::NotParallel => "not_parallel",
            ParallelUnit::CpuThread => "cpu_thread",
            ParallelUnit::CpuVector => "cpu_vector",
            ParallelUnit::Gpu(unit) => unit.name(),
        }
    }
}

impl Races {
    /// Every strategy.
    pub const ALL: [Races; 5] = [
        Races::NoRaces,
        Races::IgnoreRaces,
        Races::Atomics,
        Races::Temporary,
        Races::ParallelReduction,
    ];

    /// The name in schedules.
    pub fn name(self) -> &'static str {
        match self {
            Races::NoRaces => "no_races",
            Races::IgnoreRaces => "ignore_races",
            Races::Atomics => "atomics",
            Races::Temporary => "temporary",
            Races::ParallelReduction => "parallel_reduction",
        }
    }
}

/// A tensor of a program.
#[derive(Clone, PartialEq, Debug)]
pub struct Tensor {
    /// A unique name.
    pub name: String,
    /// How it is stored.
    pub storage: Storage,
    /// The role of the tensor.
    pub role: Role,
    /// The index variables with the dimensions of its modes.
    pub modes: Vec<IndexVar>,
    /// Whether it is dense, and so large that it is best written by non-temporal stores.
    pub streamed: bool,
}

/// The role of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// An input: the tensor of this id in the notation.
    Input(TensorId),
    /// A result: the tensor of this id in the notation.
    Result(TensorId),
    /// Computed by one kernel, read by later ones.
    Temporary,
    /// A scalar in a register, with its initial value.
    Register(Scalar),
    /// A tensor within a kernel, reset to its fill value whenever its producer begins.
    Workspace,
}

impl Program {
    /// The temporaries that each kernel is the last to read.
    pub fn last_reads(&self) -> Vec<Vec<TensorId>> {
        let mut later = BTreeSet::new();
        let is_temporary = |t: &TensorId| self.tensors[*t].role == Role::Temporary;
        let last = |kernel: &Kernel| {
            let read = kernel.body.reads().into_iter().map(|access| access.tensor);
            read.filter(is_temporary).filter(|t| later.insert(*t)).collect()
        };
        let mut all: Vec<Vec<TensorId>> = self.kernels.iter().rev().map(last).collect();
        all.reverse();
        all
    }

    /// The number of leading levels down to the last one that is not full.
    pub fn listed_levels(&self, tensor: TensorId) -> usize {
        let levels = self.storage(tensor).format.levels();
        levels.iter().rposition(|level| !level.kind.properties().full).map_or(0, |last| last + 1)
    }

    /// A new tensor, with a unique name derived from this one.
    pub fn declare(
        &mut self,
        name: &str,
        storage: Storage,
        role: Role,
        modes: Vec<IndexVar>,
    ) -> TensorId {
        let name = unused(name, self.tensors.iter().map(|t| &t.name));
        let format = storage.format.clone();
        let tensor = Tensor { name, storage, role, modes: modes.clone(), streamed: false };
        let id = self.tensors.push(tensor);
        if format.order() == modes.len() {
            self.derived.declare(&format, id, &modes, &mut self.vars);
        }
        id
    }

    /// A new index variable, with a unique name derived from this one.
    pub fn variable(&mut self, name: &str) -> IndexVar {
        self.vars.push(self.unused_name(name))
    }

    /// A name, derived from this one, that neither an index variable nor a tensor has.
    pub fn unused_name(&self, name: &str) -> String {
        unused(name, self.vars.iter().chain(self.tensors.iter().map(|t| &t.name)))
    }

    /// A new register, initialised to the reduction's identity.
    pub fn register(&mut self, op: ReduceOp, value: &Expr, compute: DataType) -> TensorId {
        let datatype = match op {
            ReduceOp::Or | ReduceOp::And => self.accumulator(value, compute).part(),
            _ => self.accumulator(value, compute),
        };
        let identity = self.identity(op, compute);
        let initial = identity.unwrap_or(Scalar::I64(0)).computed(datatype);
        let storage = Storage::of(Format::in_order([]), datatype);
        self.declare("s", storage, Role::Register(initial), vec![])
    }

    /// The element type that holds a value while it is computed: real values stay real in a statement that computes
    /// with complex numbers.
    pub fn accumulator(&self, value: &Expr, compute: DataType) -> DataType {
        let value = if self.is_real(value) { compute.part() } else { compute };
        if value.is_complex() { value } else { value.register().datatype() }
    }

    /// The storage of a tensor.
    pub fn storage(&self, tensor: TensorId) -> &Storage {
        &self.tensors[tensor].storage
    }

    /// Whether a sum of these values may be empty: an operand lists its coordinates, or is a temporary in `partial`.
    pub fn may_be_nothing(&self, value: &Expr, partial: &[TensorId]) -> bool {
        let lists =
            |a: &Access| !self.storage(a.tensor).format.is_full() || partial.contains(&a.tensor);
        value.accesses().into_iter().any(lists)
    }

    /// The index variable of each level of a use of a tensor.
    pub fn level_vars(&self, tensor: TensorId, indices: &[IndexVar]) -> Vec<IndexVar> {
        self.derived.of_levels(&self.storage(tensor).format, tensor, indices)
    }

    /// The levels of a use of a tensor, each with its index variable.
    pub fn levels(&self, access: &Access) -> Vec<(LevelSpec, IndexVar)> {
        let levels = self.storage(access.tensor).format.levels();
        levels.iter().copied().zip(self.level_vars(access.tensor, &access.indices)).collect()
    }

    /// Whether a tensor is a workspace of a kernel.
    pub fn is_workspace(&self, tensor: TensorId) -> bool {
        self.tensors[tensor].role == Role::Workspace
    }

    /// Whether a tensor is a register or a workspace of a kernel.
    pub fn is_local(&self, tensor: TensorId) -> bool {
        matches!(self.tensors[tensor].role, Role::Register(_) | Role::Workspace)
    }

    /// The name of the tensor that a kernel computes.
    pub fn name(&self, kernel: &Kernel) -> &str {
        &self.tensors[kernel.result].name
    }

    /// Whether a value is real by its operands and operators: a complex constant is complex whatever its imaginary
    /// part is.
    pub fn is_real(&self, value: &Expr) -> bool {
        let real = |e: &Expr| self.is_real(e);
        match value {
            Expr::Literal(c) => !c.is_complex(),
            Expr::Access(a) => !self.storage(a.tensor).datatype.is_complex(),
            Expr::Index(_) | Expr::Param(_) => true,
            Expr::Unary(UnaryOp::Abs | UnaryOp::Real | UnaryOp::Imag | UnaryOp::Not, _) => true,
            Expr::Binary(op, ..) if op.is_logical() => true,
            Expr::Reduce { op: ReduceOp::Or | ReduceOp::And, .. } => true,
            Expr::UserUnary(op, a) => real(a) && real(&self.operators[*op].body),
            Expr::Binary(BinaryOp::User(op), a, b) => {
                real(a) && real(b) && real(&self.operators[*op].body)
            }
            Expr::Unary(_, a) => real(a),
            Expr::Binary(_, a, b) => real(a) && real(b),
            Expr::Reduce { body, .. } => real(body),
            Expr::Choose { then, otherwise, .. } => real(then) && real(otherwise),
        }
    }

    /// The identity of a reduction; `None` for a user operator without one.
    pub fn identity(&self, op: ReduceOp, compute: DataType) -> Option<Scalar> {
        match op {
            ReduceOp::User(id) => {
                let identity = self.operators[id].properties.identity?;
                Some(Scalar::F64(identity).computed(compute))
            }
            _ => op.identity(compute.register()).map(|c| c.computed(compute)),
        }
    }
}

/// A name, or the first of `name_2`, `name_3` and so on, that is not taken.
fn unused<'n>(name: &str, taken: impl Iterator<Item = &'n String>) -> String {
    let endings: BTreeSet<&str> = taken.filter_map(|other| other.strip_prefix(name)).collect();
    let mut ending = String::new();
    for k in 2.. {
        if !endings.contains(ending.as_str()) {
            break;
        }
        ending = format!("_{k}");
    }
    format!("{name}{ending}")
}
