//! Kernels: a program compiled for operands of certain formats, callable any number of times.

use crate::backend::Backend;
use crate::binding::{Binding, Sizes, Values, check_once};
use crate::compiled_kind::CompiledKind;
use crate::operand::{
    Given, Operand, check_pattern, longest, operand, other_pattern, request, variable,
};
use crate::profile::Clock;
use crate::results::Results;
use crate::scattered::{self, is_scattered};
use crate::{ToFormat, cache, dims};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use tamis_core::cin::{KernelKind, Role};
use tamis_core::format::{Format, FormatSpec, Storage};
use tamis_core::kind;
use tamis_core::notation::{self, Program};
use tamis_core::pipeline::{self, Compiled};
use tamis_core::schedule::Schedule;
use tamis_ir::algebra::Strictness;
use tamis_ir::datatype::DataType;
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::{Id, IdVec, IndexVar, TensorId};
use tamis_runtime::{Tensor, processor};

/// What is wanted of a compilation beyond the program and its operands.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The formats of results by name, where they should not be inferred.
    pub results: BTreeMap<String, FormatSpec>,
    /// The element type of results whose format does not say.
    pub datatype: Option<DataType>,
    /// Dimensions of index variables by name that operands do not fix.
    pub dims: BTreeMap<String, u64>,
    /// Dimensions of results by name that nothing else fixes: those of which a slice is written.
    pub shapes: BTreeMap<String, Vec<u64>>,
    /// How the loops run, as far as the user says.
    pub schedule: Schedule,
    /// What runs the kernels.
    pub backend: Backend,
    /// How kernels are cut into parts that run at the same time.
    pub parts: Parts,
    /// The most threads that run parts at the same time; by default all threads of the pool.
    pub threads: Option<usize>,
    /// What `/`, `mod` and `atan2` make of a first argument that is an implicit 0.
    ///
    /// ```
    /// use tamis::{Kernel, Options, Strictness, Tensor};
    /// # fn main() -> Result<(), tamis::Diagnostic> {
    /// let a = Tensor::csr([1, 2], vec![0, 1], vec![0], vec![0.0])?;
    /// let s = Tensor::dense(&[], vec![0.0])?;
    /// let operands = [("A", &a), ("s", &s)];
    /// let quotients = |strict| {
    ///     let options = Options { strict, ..Options::default() };
    ///     Kernel::compile("N(i,j) = A(i,j) / s", &operands, &options)?.run(&operands)
    /// };
    /// assert_eq!(quotients(Strictness::Sparse)?[0].1.nnz(), 1); // 0/0 where a 0 is stored
    /// assert_eq!(quotients(Strictness::Ieee)?[0].1.nnz(), 2); // and where none is
    /// # Ok(())
    /// # }
    /// ```
    pub strict: Strictness,
}

impl Options {
    /// Refuses dimensions and shapes of what the program does not have.
    pub fn check_names(&self, program: &Program) -> Result<(), Diagnostic> {
        self.dims.keys().try_for_each(|name| variable(program, name).map(drop))?;
        self.shapes.keys().try_for_each(|name| operand(program, name).map(drop))
    }
}

/// How kernels are cut into parts that run at the same time, on the threads of rayon's pool.
///
/// Where they are cut depends on the operands and not on the number of threads, so results are the
/// same, bit for bit, for any number.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub enum Parts {
    /// They are not.
    Whole,
    /// Into parts that take some tens of microseconds or more. Where the entries of parts have to be
    /// sorted once more to become one result, only if a schedule asks for it or each of them takes long
    /// to compute.
    #[default]
    Worthwhile,
    /// Into parts with about so many stored elements of the operand that is cut.
    OfElements(u64),
    /// By their own functions, which run the parts of loops that the schedule gives to threads: as in C that is written
    /// for OpenMP. Here these run one after the other.
    Own,
}

/// Values by tensor, and dimensions by index variable.
pub type Bound<'v> = (Vec<Option<Cow<'v, Tensor>>>, IdVec<IndexVar, u64>);

/// Compiled tensors with their patterns, and where these are in a list.
type PatternPlaces<'v, T> = SmallVec<[(TensorId, &'v T, usize); 4]>;

/// A program compiled for operands of certain formats.
///
/// Results whose entries are known may be computed many times without finding out where these
/// are:
///
/// ```
/// use tamis::{Kernel, Options, Tensor};
/// # fn main() -> Result<(), tamis::Diagnostic> {
/// let csr = |vals| Tensor::csr([2, 2], vec![0, 2, 3], vec![0, 1, 1], vals);
/// let mut a = csr(vec![1.0, 2.0, 3.0])?;
/// let mut options = Options::default();
/// options.results.insert("C".to_owned(), tamis::format::parse("csr", Some(2))?);
/// let kernel = Kernel::compile("C(i,j) = A(i,k) * A(k,j)", &[("A", &a)], &options)?;
/// let pattern = kernel.assemble(&[("A", &a)])?;
/// for step in 1..4 {
///     a = csr(vec![f64::from(step), 2.0, 3.0])?;
///     let results = kernel.compute(&[("A", &a)], &[("C", &pattern[0].1)])?;
///     assert_eq!(results[0].1.nnz(), 3);
/// }
/// # Ok(())
/// # }
/// ```
pub struct Kernel {
    program: Program,
    fused: CompiledKind,
    assemble: OnceLock<Result<CompiledKind, Diagnostic>>,
    compute: OnceLock<Result<CompiledKind, Diagnostic>>,
    sizes: Sizes,
    /// The formats of results that no kernel writes.
    scattered: BTreeMap<String, Format>,
    /// What was found out of the operands of the last call.
    pub(crate) binding: Mutex<Option<Arc<Binding>>>,
    /// Memory for what dense results were before a call that reads and writes them.
    pub(crate) before: Mutex<Vec<Tensor>>,
    /// The position in [`Backend::ALL`] of the one that ran last; beyond it before the first run.
    ran_on: AtomicUsize,
    /// The stages of compilation, and the seconds that each took.
    stages: Vec<(&'static str, f64)>,
    /// What ranks asked each other for in the last run.
    #[cfg(feature = "dist")]
    requests: crate::dist::Requests,
    /// The variables of which ranks have slices.
    #[cfg(feature = "dist")]
    slicings: OnceLock<Result<Vec<crate::dist::Slicing>, Diagnostic>>,
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, ran_on) = (&self.program.source, self.ran_on());
        f.debug_struct("Kernel")
            .field("program", source)
            .field("ran_on", &ran_on)
            .finish_non_exhaustive()
    }
}

/// Computes the last result of a program. The kernel is compiled when operands stored like these
/// come for the first time.
///
/// # Errors
/// When the program cannot be compiled, or its computation fails: [`Diagnostic::code`] tells why.
pub fn evaluate(text: &str, operands: &[(&str, &Tensor)]) -> Result<Tensor, Diagnostic> {
    let kernel = cache::kernel(text, operands, &Options::default())?;
    let mut results = kernel.run(operands)?;
    let (_, last) = results.pop().ok_or_else(|| {
        Diagnostic::new(Code::Syntax, "the program computes nothing").help("write a statement")
    })?;
    Ok(last)
}

impl Kernel {
    /// Compiles a program for operands stored like these.
    pub fn compile(
        text: &str,
        operands: &[(&str, &Tensor)],
        options: &Options,
    ) -> Result<Kernel, Diagnostic> {
        Kernel::of_program(notation::parse(text)?, operands, options)
    }

    /// Compiles a program that is parsed or built already.
    pub fn of_program(
        program: Program,
        operands: &[(&str, &Tensor)],
        options: &Options,
    ) -> Result<Kernel, Diagnostic> {
        Kernel::of_operands(program, operands, options)
    }

    /// Compiles a program for operands, wherever they are.
    pub(crate) fn of_operands<T: Operand>(
        program: Program,
        operands: &[(&str, &T)],
        options: &Options,
    ) -> Result<Kernel, Diagnostic> {
        check_once(operands.iter().map(|(name, _)| *name))?;
        let mut inputs = BTreeMap::new();
        for (name, tensor) in operands {
            let longest = longest(*tensor, options);
            let given = Given { longest, ..Given::of(*tensor) };
            inputs.insert(operand(&program, name)?, given);
        }
        Kernel::of_inputs(program, &inputs, options)
    }

    /// Compiles a program for what is known of its operands.
    pub(crate) fn of_inputs(
        program: Program,
        inputs: &BTreeMap<TensorId, Given>,
        options: &Options,
    ) -> Result<Kernel, Diagnostic> {
        processor::level()?;
        let mut given = BTreeMap::new();
        for (name, &dimension) in &options.dims {
            given.insert(variable(&program, name)?, dimension);
        }
        let mut shapes = BTreeMap::new();
        for (name, shape) in &options.shapes {
            let id = operand(&program, name)?;
            let value = inputs.get(&id).and_then(|t| t.dims.as_ref()).filter(|dims| *dims != shape);
            if let Some(value) = value {
                let message = format!("{name} has dimensions {value:?} and is given {shape:?}");
                return Err(Diagnostic::new(Code::DimensionMismatch, message)
                    .help("leave out the dimensions of tensors that have a value"));
            }
            shapes.insert(id, shape.clone());
        }
        let mut sizes = shapes.clone();
        sizes.extend(inputs.iter().filter_map(|(&id, t)| Some((id, t.dims.clone()?))));
        let known = dims::known(&program, sizes, &given)?;
        let dims: BTreeMap<IndexVar, u64> = match inputs.values().all(|t| t.dims.is_some()) {
            true => dims::all(&program, &known)?.enumerate().map(|(var, &d)| (var, d)).collect(),
            false => known.vars.enumerate().filter_map(|(var, d)| Some((var, (*d)?))).collect(),
        };
        let request = request(&program, inputs, (&dims, &known.tensors), options)?;
        let (mut clock, target) = (Clock::start(), options.backend.target());
        let ended = &mut |stage: pipeline::Stage| clock.lap(stage.name());
        let compiled = pipeline::compile_observed(&request, &options.schedule, target, ended)?;
        let fused = CompiledKind::load(compiled, KernelKind::Fused, options)?;
        clock.lap("code");
        clock.split("code", fused.generation());
        let formats = options.results.iter().map(|(name, s)| (name.clone(), s.format.clone()));
        Ok(Kernel {
            program,
            fused,
            assemble: OnceLock::new(),
            compute: OnceLock::new(),
            sizes: Sizes { dims: given, shapes },
            scattered: formats.filter(|(_, format)| is_scattered(format)).collect(),
            binding: Mutex::new(None),
            before: Mutex::default(),
            ran_on: AtomicUsize::new(Backend::ALL.len()),
            stages: clock.done(),
            #[cfg(feature = "dist")]
            requests: crate::dist::Requests::default(),
            #[cfg(feature = "dist")]
            slicings: OnceLock::new(),
        })
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// What the compiler made of the program.
    pub fn compiled(&self) -> &Compiled {
        self.fused.compiled()
    }

    /// Computes the results, by name in the order of the statements that wrote them last.
    ///
    /// The operands must be stored as those that the kernel was compiled for; dimensions and
    /// contents may differ.
    ///
    /// # Errors
    /// When an operand is missing, stored otherwise or of other dimensions than the rest, a result does not fit in
    /// memory, or integers overflow.
    pub fn run(&self, operands: &[(&str, &Tensor)]) -> Result<Results, Diagnostic> {
        let mut values = Values::new();
        let binding = self.bound(operands, &mut values)?;
        self.note(self.fused.run(&mut values, &binding.dims)?);
        self.formatted(values)
    }

    /// Remembers the backend whose code ran.
    pub(crate) fn note(&self, backend: Backend) {
        let place = Backend::ALL.iter().position(|b| *b == backend);
        self.ran_on.store(place.unwrap_or(Backend::ALL.len()), Ordering::Relaxed);
    }

    /// The backend whose code [`run`](Kernel::run) used last: of [`Backend::Auto`], machine code in process or
    /// that of the C compiler. None before the first run.
    pub fn ran_on(&self) -> Option<Backend> {
        Backend::ALL.get(self.ran_on.load(Ordering::Relaxed)).copied()
    }

    /// Finds out which entries the results have: each has the fill value.
    ///
    /// The operands are those of [`run`](Kernel::run); their values do not matter.
    ///
    /// # Errors
    /// As of [`run`](Kernel::run).
    pub fn assemble(&self, operands: &[(&str, &Tensor)]) -> Result<Results, Diagnostic> {
        let mut values = Values::new();
        let binding = self.bound(operands, &mut values)?;
        self.form(KernelKind::Assemble)?.run(&mut values, &binding.dims)?;
        self.formatted(values)
    }

    /// Computes the values that the results have at the entries of patterns, which are tensors of
    /// the dimensions, formats and element types of the results: those of
    /// [`assemble`](Kernel::assemble), of [`run`](Kernel::run), or any others.
    ///
    /// The results have the entries of their patterns and no others. Entries that the program does
    /// not reach have the fill value; what it would store elsewhere is left out, and statements
    /// that read the result do not see it. A result of which every element has a position needs no
    /// pattern.
    pub fn compute(
        &self,
        operands: &[(&str, &Tensor)],
        patterns: &[(&str, &Tensor)],
    ) -> Result<Results, Diagnostic> {
        let mut owned = vec![];
        for (name, pattern) in patterns {
            owned.push((*name, self.written(name, pattern)?));
        }
        let patterns: Vec<(&str, &Tensor)> = owned.iter().map(|(name, t)| (*name, t)).collect();
        let mut values = Values::new();
        let binding = self.bound(operands, &mut values)?;
        for (id, pattern, _) in self.pattern_places(&patterns, &binding.dims)? {
            values[id.index()] = Some(Cow::Borrowed(pattern));
        }
        self.form(KernelKind::Compute)?.run(&mut values, &binding.dims)?;
        self.formatted(values)
    }

    /// The dimensions that the user gave.
    pub(crate) fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// The stages of compilation, and the seconds that each took.
    pub fn stages(&self) -> &[(&'static str, f64)] {
        &self.stages
    }

    /// Whether the user gave the dimension of a variable, or a shape of which it may be one.
    #[cfg(feature = "dist")]
    pub(crate) fn gives_size(&self, var: &str) -> bool {
        let given = self.sizes.dims.keys().any(|&own| self.program.vars[own].name == var);
        given || !self.sizes.shapes.is_empty()
    }

    #[cfg(feature = "dist")]
    pub(crate) fn requests(&self) -> &crate::dist::Requests {
        &self.requests
    }

    /// The variables of which ranks have slices, found once.
    #[cfg(feature = "dist")]
    pub(crate) fn slicings(
        &self,
        find: fn(&Kernel) -> Result<Vec<crate::dist::Slicing>, Diagnostic>,
    ) -> Result<&[crate::dist::Slicing], Diagnostic> {
        match self.slicings.get_or_init(|| find(self)) {
            Ok(found) => Ok(found),
            Err(why) => Err(why.clone()),
        }
    }

    pub(crate) fn fused(&self) -> &CompiledKind {
        &self.fused
    }

    /// The kernels of a kind, compiled when they are needed first.
    pub(crate) fn form(&self, kind: KernelKind) -> Result<&CompiledKind, Diagnostic> {
        let place = match kind {
            KernelKind::Fused => return Ok(&self.fused),
            KernelKind::Assemble => &self.assemble,
            KernelKind::Compute => &self.compute,
        };
        place.get_or_init(|| self.fused.of_kind(kind)).as_ref().map_err(Clone::clone)
    }

    /// The pattern of a result as kernels write it.
    pub(crate) fn written(&self, name: &str, pattern: &Tensor) -> Result<Tensor, Diagnostic> {
        match self.scattered.get(name) {
            None => Ok(pattern.clone()),
            Some(format) if pattern.storage().format != *format => {
                Err(other_pattern(name, &pattern.storage().format, format))
            }
            Some(format) => {
                let format = scattered::stand_in(format);
                pattern.to_format(&Storage { format, ..pattern.storage().clone() })
            }
        }
    }

    /// The compiled tensors whose entries patterns are, with these and where they are in the list.
    pub(crate) fn pattern_places<'v, T: Operand>(
        &self,
        patterns: &[(&str, &'v T)],
        dims: &IdVec<IndexVar, u64>,
    ) -> Result<PatternPlaces<'v, T>, Diagnostic> {
        check_once(patterns.iter().map(|(name, _)| *name))?;
        let program = &self.compiled().program;
        let mut places = SmallVec::new();
        let mut known: SmallVec<[&String; 4]> = SmallVec::new();
        for (k, kernel) in program.kernels.iter().enumerate() {
            let target = &program.tensors[kernel.result];
            let Role::Result(source) = target.role else { continue };
            let name = &self.program.tensors[source].name;
            known.push(name);
            let is_last = !program.kernels[k + 1..]
                .iter()
                .any(|later| program.tensors[later.result].role == target.role);
            let given = patterns.iter().position(|(n, _)| n == name);
            match given.map(|place| (place, patterns[place].1)) {
                Some((place, pattern)) if is_last => {
                    check_pattern(name, pattern, target, dims)?;
                    if kind::follows(program, k) {
                        places.push((kernel.result, pattern, place));
                    }
                }
                None if kind::follows(program, k) => {
                    return Err(Diagnostic::new(
                        Code::MissingInput,
                        format!("the entries of {name} are not known"),
                    )
                    .help(format!("give {name} a pattern: a result of assemble or run")));
                }
                _ => {}
            }
        }
        match patterns.iter().find(|(name, _)| !known.iter().any(|k| k == name)) {
            None => Ok(places),
            Some((name, _)) => {
                operand(&self.program, name)?;
                Err(Diagnostic::new(Code::UnknownTensor, format!("{name} is not a result"))
                    .help("give patterns to results, and values to operands"))
            }
        }
    }

    /// The last result of each name, in the order of the statements that wrote them.
    pub(crate) fn named<T: Clone>(&self, mut values: Values<'_, T>) -> Results<T> {
        let mut results: Vec<(String, T)> = vec![];
        for (id, tensor) in self.compiled().program.tensors.enumerate() {
            let Role::Result(source) = tensor.role else { continue };
            if let Some(value) = values[id.index()].take() {
                let name = self.program.tensors[source].name.clone();
                results.retain(|(other, _)| *other != name);
                results.push((name, value.into_owned()));
            }
        }
        Results::new(results)
    }

    /// The results in the formats that were asked for.
    pub(crate) fn formatted(&self, values: Values<'_, Tensor>) -> Result<Results, Diagnostic> {
        let mut results = self.named(values);
        for (name, result) in results.iter_mut() {
            if let Some(packed) = self.scattered(name, result)? {
                *result = packed;
            }
        }
        Ok(results)
    }

    /// Whether no kernel writes the format of a result.
    pub(crate) fn is_scattered(&self, name: &str) -> bool {
        self.scattered.contains_key(name)
    }

    /// A result in its format, if no kernel writes that.
    pub(crate) fn scattered(
        &self,
        name: &str,
        result: &Tensor,
    ) -> Result<Option<Tensor>, Diagnostic> {
        let pack = |format: &Format| {
            let storage = Storage { format: format.clone(), ..result.storage().clone() };
            scattered::pack(result.to_coordinates()?, &storage)
        };
        self.scattered.get(name).map(pack).transpose()
    }

    /// The tensors of the compiled program that have a value before the first kernel runs, by id,
    /// and the dimension of each of its index variables.
    pub fn bind<'v>(&self, operands: &[(&str, &'v Tensor)]) -> Result<Bound<'v>, Diagnostic> {
        let mut values = Values::new();
        let binding = self.bound(operands, &mut values)?;
        Ok((values.into_vec(), binding.dims.clone()))
    }
}
