//! Legalisation: index notation becomes kernels whose loops suit how the tensors are stored.
//!
//! ```text
//! C(i,j) = A(i,j) + B(j,i)          A, B, C: csr
//!
//! forall(j, forall(i, B2(i,j) = B(j,i)))
//! forall(i, forall(j, C(i,j) = A(i,j) + B2(i,j)))
//! ```
//!
//! Sums become explicit, element types and fill values are inferred, and each statement is split
//! into as many kernels as pay off: reductions that no common loop order suits, merges of too many
//! operands, and operands worth storing in another order become temporaries. Lowering would
//! accept any order of loops; here the cheap one is chosen.

mod context;
mod copies;
mod cost;
mod functions;
mod gathered;
mod infer;
mod order;
mod output;
mod rewrite;
mod statistics;
mod weights;

pub(crate) use rewrite::merge_size::MAX_POINTS;

use crate::cin::{Derived, Overflow, Program, Role};
use crate::format::{Format, FormatSpec, Storage};
use crate::level::{BITMAP, DENSE};
use crate::notation::{self, Access, Expr};
use crate::plan::access::Task;
use context::Context;
use infer::formats::{inferred_fill, inferred_storage, result_storage};
use infer::{complex, slices, types};
use order::Weighed;
use rewrite::reductions::regrouped;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};
use tamis_ir::algebra::{ReduceOp, Strictness};
use tamis_ir::datatype::{DataType, IndexWidth, Scalar};
use tamis_ir::diagnostic::{Code, Diagnostic, Setting};
use tamis_ir::ids::{Id, IdVec, IndexVar, TensorId};

/// What to compile: a program, the storage of its operands, and what the user asks of its results.
#[derive(Clone, Debug)]
pub struct Request<'p> {
    /// The statements.
    pub program: &'p notation::Program,
    /// The storage of every operand.
    pub inputs: BTreeMap<TensorId, Storage>,
    /// The formats of results for which the user gives one.
    pub results: BTreeMap<TensorId, FormatSpec>,
    /// The element type of results whose format has none.
    pub datatype: Option<DataType>,
    /// Known sizes of tensors.
    pub statistics: Statistics,
    /// The width of positions and coordinates of results and temporaries.
    pub width: IndexWidth,
    /// Whether an implicit 0 stays 0 as the first argument of functions such as division, or IEEE's rules hold.
    pub strictness: Strictness,
    /// Whether kernels are to be called for parts of their outermost loops, so that parts may run
    /// at the same time.
    pub parallel: bool,
    /// Whether functions run the parts of parallel loops themselves: nobody calls them for parts, as in a C library.
    pub threaded: bool,
    /// What the schedule asks of the loops that legalisation makes.
    pub commands: Commands,
    /// Tensors that the schedule's loops need in another format: they read copies of operands,
    /// and sum results up in temporaries.
    pub restored: BTreeSet<TensorId>,
}

/// What the schedule asks of the loops that legalisation makes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Commands {
    /// Whether there are commands: loops then read operands as they are stored, where some order of loops can.
    pub given: bool,
    /// Whether the first command splits loops: legalisation then chooses loops that are cheap after the split.
    pub apart: bool,
    /// Whether a value stays in one kernel even if its merge has more cases than pay off, up to a limit: commands name parts
    /// of it.
    pub whole: bool,
}

/// What is known of the sizes of a program's tensors. It only guides choices and may be rounded.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// Dimensions of index variables.
    pub dims: BTreeMap<IndexVar, u64>,
    /// Dimensions of tensors: a mode that a slice selects from has no variable.
    pub shapes: BTreeMap<TensorId, Vec<u64>>,
    /// How many values operands store, padding included.
    pub entries: BTreeMap<TensorId, u64>,
    /// Estimated length of the longest row of each operand.
    pub longest: BTreeMap<TensorId, u64>,
}

/// The kernels of a program.
pub fn legalise(request: &Request<'_>) -> Result<Program, Diagnostic> {
    let explicit = notation::make_explicit(request.program)?;
    let program = Program {
        kernels: vec![],
        tensors: IdVec::new(),
        vars: explicit.vars.iter().map(|v| v.name.clone()).collect(),
        derived: Derived::default(),
        operators: explicit.operators.clone(),
        width: request.width,
        strictness: request.strictness,
    };
    let cx = Context {
        request,
        program,
        expected: BTreeMap::new(),
        gathering: vec![],
        weighed: Weighed::default(),
    };
    let mut l = Legaliser {
        cx,
        current: BTreeMap::new(),
        plain: BTreeMap::new(),
        made: vec![],
        overflow: Overflow::Wraps,
    };
    let results = explicit.results();
    for (id, decl) in explicit.tensors.enumerate() {
        if let Some(storage) = request.inputs.get(&id) {
            let modes = slices::modes(&mut l, &explicit, id);
            let suffix = if results.contains(&id) { "_old" } else { "" };
            let name = format!("{}{suffix}", decl.name);
            let tensor = l.program.declare(&name, storage.clone(), Role::Input(id), modes);
            l.current.insert(id, tensor);
        }
    }
    for statement in &explicit.statements {
        l.statement(&explicit, statement)?;
    }
    Ok(l.cx.program)
}

/// The state of legalisation: the program so far, and the temporaries that were made.
struct Legaliser<'r> {
    cx: Context<'r>,
    /// The tensor that holds the value of each tensor of the notation at the statement at hand.
    current: BTreeMap<TensorId, TensorId>,
    /// Copies of tensors whose levels are their modes.
    plain: BTreeMap<TensorId, TensorId>,
    /// The temporaries; those of the same value are computed once.
    made: Vec<(Made, TensorId)>,
    /// What the statement at hand does with integers beyond 64 bits.
    overflow: Overflow,
}

/// What a temporary holds.
#[derive(Clone, PartialEq)]
struct Made {
    value: Expr,
    vars: Vec<IndexVar>,
    storage: Storage,
    compute: DataType,
    overflow: Overflow,
}

impl<'r> Deref for Legaliser<'r> {
    type Target = Context<'r>;

    fn deref(&self) -> &Context<'r> {
        &self.cx
    }
}

impl DerefMut for Legaliser<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.cx
    }
}

impl Legaliser<'_> {
    fn statement(
        &mut self,
        source: &notation::Program,
        statement: &notation::Statement,
    ) -> Result<(), Diagnostic> {
        let id = statement.result.tensor;
        self.check_diagonal(source, statement)?;
        let value = self.with_previous(source, statement)?;
        let spec = self.request.results.get(&id);
        let wanted = spec.and_then(|s| s.datatype).or(self.request.datatype);
        let stored = types::compute_type(&self.program, &value, wanted);
        let compute = types::computing(&self.program, stored, &value);
        self.overflow = types::overflow(wanted.unwrap_or(stored));
        // Checked before constants are folded, which may change the type of a value.
        complex::check_operators(&self.program, source, statement, &value)?;
        let is_real = self.program.is_real(&value);
        let value = self.facts(compute).expr(types::decided(value, compute));
        let value = regrouped(self, value, compute);
        let fill = spec.and_then(|s| s.fill);
        let mut written = match statement.result.is_sliced() {
            true => self.patched(&statement.result, value, (compute, wanted), fill),
            false => {
                let (vars, value) = (statement.result.indices.clone(), self.sliceable(value));
                slices::Written { vars, value, stored, compute, fill }
            }
        };
        let stored = written.stored;
        let given =
            if is_real { types::value_type(&self.program, &written.value, stored) } else { stored };
        let datatype = wanted.unwrap_or(given);
        complex::check_result(source, statement, given, datatype)?;
        if statement.result.is_diagonal() {
            written.value = self.for_diagonal(written.value, &written.vars, written.compute);
        }
        self.declare_uses(&written.value);
        let storage = self.result_storage(source, &statement.result, &written, datatype)?;
        let slices::Written { vars, value, compute, .. } = written;
        let name = source.tensors[id].name.clone();
        let result = self.program.declare(&name, storage, Role::Result(id), vars.clone());
        self.program.tensors[result].streamed = self.is_streamed(result);
        self.expect(result, (&value, compute), &vars);
        self.compute(Task { result, vars, value, compute });
        self.current.insert(id, result);
        Ok(())
    }

    /// The storage of a result: the user's, that of the tensor of which a slice is written, or an inferred one.
    fn result_storage(
        &self,
        source: &notation::Program,
        result: &Access,
        written: &slices::Written,
        datatype: DataType,
    ) -> Result<Storage, Diagnostic> {
        let slices::Written { vars, value, compute, fill, .. } = written;
        let zero = Scalar::I64(0).computed(datatype);
        // Elements beside a diagonal are not written: the fill value that the expression has there does not matter.
        let inferred = |of_value| if result.is_diagonal() { zero } else { of_value };
        let filled = |of_value| fill.map_or(inferred(of_value), |fill| fill.stored(datatype));
        let Some(spec) = self.request.results.get(&result.tensor) else {
            return Ok(self.kept_storage(result, datatype).unwrap_or_else(|| {
                let storage = result_storage(self, value, vars, *compute, datatype);
                Storage { fill: filled(storage.fill), ..storage }
            }));
        };
        check_writable(&source.tensors[result.tensor].name, &spec.format)?;
        let mut storage = spec.storage_of(&source.tensors[result.tensor].name, datatype)?;
        storage.pos = spec.pos.unwrap_or(self.request.width);
        storage.crd = spec.crd.unwrap_or(self.request.width);
        if spec.fill.is_none() {
            storage.fill = filled(inferred_fill(self, value, *compute, datatype));
        }
        Ok(storage)
    }

    /// The value that is written to a diagonal. Unless it is short, it is a temporary over the variables of the diagonal,
    /// each once.
    fn for_diagonal(&mut self, value: Expr, vars: &[IndexVar], compute: DataType) -> Expr {
        let is_short =
            !rewrite::row_workspaces::has_reduction(&value) && value.accesses().len() <= 2;
        if is_short {
            return value;
        }
        let mut once = vec![];
        vars.iter().for_each(|var| {
            if !once.contains(var) {
                once.push(*var)
            }
        });
        self.temporary("t", None, once, value, compute)
    }

    /// Refuses a diagonal of a tensor that has a value, whose other elements would be gone.
    fn check_diagonal(
        &self,
        source: &notation::Program,
        statement: &notation::Statement,
    ) -> Result<(), Diagnostic> {
        let result = &statement.result;
        if !result.is_diagonal() || !self.current.contains_key(&result.tensor) {
            return Ok(());
        }
        let name = &source.tensors[result.tensor].name;
        let message = format!("{name} has a value, of which only a diagonal is written");
        Err(Diagnostic::new(Code::ResultVariable, message)
            .at(&source.source, result.span.clone())
            .help("write the diagonal of a new tensor D, as D(i,i) = ..., then B(i,j) = A(i,j) + D(i,j)"))
    }

    /// The right side with the tensors' present values, and the result's own for `op=`.
    fn with_previous(
        &self,
        source: &notation::Program,
        statement: &notation::Statement,
    ) -> Result<Expr, Diagnostic> {
        let value = self.present(source, statement.value.clone())?;
        Ok(match (statement.accumulate, self.current.get(&statement.result.tensor)) {
            (Some(op), Some(&tensor)) => {
                let old = Expr::Access(Access { tensor, ..statement.result.clone() });
                Expr::Binary(op.binary(), Box::new(old), Box::new(value))
            }
            // Without a value before, the operator makes truth values of numbers.
            (Some(op @ (ReduceOp::Or | ReduceOp::And)), None) if !is_reduced(&value) => {
                let unit = Expr::Literal(Scalar::I64(i64::from(op == ReduceOp::And)));
                Expr::Binary(op.binary(), Box::new(unit), Box::new(value))
            }
            _ => value,
        })
    }

    /// A value with every tensor of the notation replaced by the tensor that holds its value at the statement at hand.
    fn present(&self, source: &notation::Program, e: Expr) -> Result<Expr, Diagnostic> {
        if let Expr::Access(access) = e {
            let Some(&tensor) = self.current.get(&access.tensor) else {
                let name = &source.tensors[access.tensor].name;
                return Err(Diagnostic::new(
                    Code::MissingInput,
                    format!("{name} is read, but has no value"),
                )
                .at(&source.source, access.span)
                .help_by("give it one: {}", [Setting::Value(name.clone())]));
            };
            return Ok(Expr::Access(Access { tensor, ..access }));
        }
        let mut failure = None;
        let e = e.map_children(&mut |child| match self.present(source, child) {
            Ok(child) => child,
            Err(diagnostic) => {
                failure.get_or_insert(diagnostic);
                Expr::Literal(Scalar::I64(0))
            }
        });
        failure.map_or(Ok(e), Err)
    }

    /// The kernels that compute a tensor, temporaries first.
    fn compute(&mut self, task: Task) {
        self.declare_uses(&task.value);
        let task = self.split(task);
        let kernel = self.kernel(task);
        self.program.kernels.push(kernel);
    }

    /// A temporary that holds a value for every combination of `vars`, as an operand.
    fn temporary(
        &mut self,
        name: &str,
        format: Option<Format>,
        vars: Vec<IndexVar>,
        value: Expr,
        compute: DataType,
    ) -> Expr {
        self.declare_uses(&value);
        let (compute, datatype) = match &value {
            // Truth values of duplicates are combined by `or`, not added.
            Expr::Access(a) if self.program.storage(a.tensor).datatype == DataType::Bool => {
                (DataType::Bool, DataType::Bool)
            }
            // Without duplicates nothing is added: the copy keeps the type of the operand.
            Expr::Access(a)
                if self.program.storage(a.tensor).datatype.is_float()
                    && !self.program.storage(a.tensor).format.has_duplicates() =>
            {
                let datatype = self.program.storage(a.tensor).datatype;
                (datatype, datatype)
            }
            // Partial results of `any` and `all` are truth values, too.
            value if compute == DataType::Bool && is_reduced(value) => (compute, compute),
            _ => (compute, self.program.accumulator(&value, compute)),
        };
        let mut storage = inferred_storage(self, &value, &vars, compute, datatype);
        // An implicit 0 annihilates: a full copy of a sparse operand needs a bitmap to tell it from a stored 0.
        let copied =
            matches!(&value, Expr::Access(a) if !self.is_full(a)) && storage.format.is_full();
        if let Some(format) = format {
            storage.format = format;
        } else if copied && !vars.is_empty() {
            let kinds = (1..vars.len()).map(|_| DENSE).chain([BITMAP]);
            storage.format = Format::in_order(kinds);
        }
        let made = Made { value, vars, storage, compute, overflow: self.overflow };
        if let Some((_, tensor)) = self.made.iter().find(|(known, _)| *known == made) {
            return Expr::Access(Access::of(*tensor, made.vars));
        }
        let Made { value, vars, storage, .. } = made.clone();
        let tensor = self.program.declare(name, storage, Role::Temporary, vars.clone());
        self.program.tensors[tensor].streamed = self.is_streamed(tensor);
        self.expect(tensor, (&value, compute), &vars);
        self.compute(Task { result: tensor, vars: vars.clone(), value, compute });
        if !self.request.commands.given {
            self.made.push((made, tensor));
        }
        Expr::Access(Access::of(tensor, vars))
    }

    /// Goes back to a program as it was before some temporaries were made.
    fn restore(&mut self, before: Program) {
        let count = before.tensors.len();
        self.program = before;
        self.made.retain(|(_, tensor)| tensor.index() < count);
        self.expected.retain(|tensor, _| tensor.index() < count);
        // New temporaries may get the numbers of the dropped ones, which keys of this cache contain.
        self.weighed = Weighed::default();
    }
}

/// Whether a value is that of `any` or `all`.
fn is_reduced(value: &Expr) -> bool {
    matches!(value, Expr::Reduce { op: ReduceOp::Or | ReduceOp::And, .. })
}

/// Refuses formats that no kernel can write.
fn check_writable(name: &str, format: &Format) -> Result<(), Diagnostic> {
    let Some(level) = format.unwritable_level() else { return Ok(()) };
    let message = format!(
        "{name} cannot be written as {format}: level {} is written in order, but lies below a \
         hash map beside slots",
        level + 1
    );
    Err(Diagnostic::new(Code::FormatProperty, message)
        .help("make the levels below the hashed one dense or hashed, or the hashed one compressed"))
}
