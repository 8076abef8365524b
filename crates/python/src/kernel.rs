//! Programs in index notation, compiled for the operands that come.
//!
//! ```text
//! y(i) = A(i,j) * x(j)      called with csr f64 and dense f64: compiled, run
//!                           called with csr f32 and dense f32: compiled, run
//! ```

use crate::effort::Effort;
use crate::failure::{detached, guarded, interruptible, raised, refused};
use crate::operand::{Owner, operands};
use crate::operands::{Named, Operands, borrowed, owned};
use crate::ordering::{Ordering, check_order};
use crate::result::{is_scipys, returned};
use crate::size::{Size, numbers};
use crate::slow::Slow;
use crate::sparse::ordered;
use crate::specs::{constant, spec};
use crate::stored::Stored;
use crate::threads::on_threads;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::collections::BTreeMap;
use std::sync::atomic::{self, AtomicBool};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tamis::explain::{Explanation, Stage};
use tamis::format::FormatSpec;
use tamis::notation::{self, Program};
use tamis::{Backend, Code, DataType, Diagnostic, Options, Scalar, Strictness};
use tamis::{Results, Tensor, schedule};

/// The most forms of one program that are kept; those that were compiled first go.
const KEPT: usize = 32;

/// A program in index notation, compiled for operands of certain formats when these come first.
#[pyclass(frozen, subclass, module = "tamis._native")]
pub struct Kernel {
    text: String,
    pub(crate) program: Program,
    /// The operands, in the order in which they are read first.
    pub(crate) operands: Vec<String>,
    /// The formats that operands are converted to.
    pub(crate) formats: BTreeMap<String, FormatSpec>,
    /// What elements are that SciPy's operands do not store, if not 0.
    pub(crate) absent: Option<Scalar>,
    options: Options,
    effort: Effort,
    forms: Mutex<Vec<Arc<Form>>>,
    /// Whether some form ignores the order of SciPy's coordinates, so that nobody need look at it first.
    any_order: AtomicBool,
}

/// A program compiled for operands stored in certain ways.
pub(crate) struct Form {
    operands: Vec<Stored>,
    pub(crate) kernel: tamis::Kernel,
    /// Whether operands of SciPy's that are unordered are better sorted first.
    orders: bool,
    ordering: Ordering,
    slow: Slow,
}

/// The results of a call by name, the tier that ran, and the seconds before and in the run.
type Traced<'py> = (Vec<(String, Bound<'py, PyAny>)>, Option<&'static str>, f64, f64);

impl Kernel {
    /// What is compiled, and how.
    pub(crate) fn source(&self) -> (&Program, &Options) {
        (&self.program, &self.options)
    }

    /// A result for its caller.
    fn returned<'py>(
        &self,
        py: Python<'py>,
        tensor: Tensor,
        owner: Owner,
    ) -> PyResult<Bound<'py, PyAny>> {
        let fill = tensor.storage().fill;
        let same = |absent: Scalar| absent.computed(tensor.storage().datatype).same_value(fill);
        match (self.absent, owner) {
            (Some(absent), Owner::SparseArray | Owner::SparseMatrix) if same(absent) => {
                let zero = Scalar::I64(0);
                let plain = tensor.clone().with_fill(zero).map_err(|d| raised(py, &d))?;
                // Others than SciPy's tell what they do not store.
                returned(py, if is_scipys(&plain, owner) { plain } else { tensor }, owner)
            }
            _ => returned(py, tensor, owner),
        }
    }

    /// The program as it was compiled for operands like these before.
    fn known(&self, operands: &[(&str, &Tensor)]) -> Option<Arc<Form>> {
        let suits = |form: &&Arc<Form>| {
            form.operands.len() == operands.len()
                && form.operands.iter().zip(operands).all(|(known, (n, t))| known.is_of(n, t))
        };
        let forms = self.forms.lock().unwrap_or_else(PoisonError::into_inner);
        forms.iter().find(suits).map(Arc::clone)
    }

    /// The program compiled for operands like these, now or before.
    pub(crate) fn form(&self, operands: &[(&str, &Tensor)]) -> Result<Arc<Form>, Diagnostic> {
        if let Some(form) = self.known(operands) {
            return Ok(form);
        }
        // Compiled without the lock: two that compile the same do no harm.
        let kernel = tamis::Kernel::of_program(self.program.clone(), operands, &self.options)?;
        let orders = !self.options.schedule.is_empty() || lists(&kernel);
        let operands = operands.iter().map(|(name, tensor)| Stored::of(name, tensor)).collect();
        let (ordering, slow) = (Ordering::default(), Slow::default());
        let form = Arc::new(Form { operands, kernel, orders, ordering, slow });
        let mut forms = self.forms.lock().unwrap_or_else(PoisonError::into_inner);
        if forms.len() == KEPT {
            forms.remove(0);
        }
        forms.push(Arc::clone(&form));
        Ok(form)
    }

    /// The program compiled for operands like these, without the interpreter's lock where it is
    /// compiled now. Unordered operands are sorted if that matters.
    fn form_for(this: &Bound<'_, Self>, operands: &mut Operands<'_>) -> PyResult<Arc<Form>> {
        let (py, own) = (this.py(), this.get());
        let form = |named: &Named<'_>| {
            if !own.effort.is_large {
                return detached(py, || own.form(&borrowed(named)));
            }
            let (kernel, named) = (this.clone().unbind(), owned(named));
            let compile = move || kernel.get().form(&borrowed(&named));
            interruptible(py, compile)?.map_err(|diagnostic| raised(py, &diagnostic))
        };
        let ignored = |form: Arc<Form>| form.ordering.is_ignored();
        if !operands.unchecked.is_empty()
            && !own.known(&borrowed(&operands.named)).is_some_and(ignored)
        {
            check_order(py, operands)?;
        }
        let found = form(&operands.named)?;
        if !found.orders && found.ordering.count(operands) {
            let (named, compiled_as) = (&operands.named, (&own.program, &own.options));
            let ignores =
                detached(py, || Ok(found.ordering.find_out(&found.kernel, compiled_as, named)))?;
            own.any_order.fetch_or(ignores, atomic::Ordering::Relaxed);
        }
        let Operands { named, loose, .. } = operands;
        if loose.is_empty() || !found.orders {
            return Ok(found);
        }
        for at in loose.drain(..) {
            named[at].1 = ordered(py, named[at].1.clone())?;
        }
        form(named)
    }

    /// The results by name, in the order of the statements that wrote them last.
    fn results(
        this: &Bound<'_, Self>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<(Results, Owner)> {
        let (form, operands) = Kernel::prepared(this, args, kwargs)?;
        Kernel::run(this, &form, operands)
    }

    /// The operands of a call, and the program compiled for them.
    fn prepared<'k>(
        this: &'k Bound<'_, Self>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<(Arc<Form>, Operands<'k>)> {
        let own = this.get();
        let unchecked = own.any_order.load(atomic::Ordering::Relaxed);
        let mut operands = own.bound(this.py(), (args, kwargs), unchecked)?;
        Ok((Kernel::form_for(this, &mut operands)?, operands))
    }

    /// The results of a compiled program.
    fn run(
        this: &Bound<'_, Self>,
        form: &Arc<Form>,
        operands: Operands<'_>,
    ) -> PyResult<(Results, Owner)> {
        let py = this.py();
        let Operands { named, owner, .. } = operands;
        let forecast = form.slow.warn(py, &form.kernel, &borrowed(&named))?;
        let Kernel { program, options, effort, .. } = this.get();
        if !effort.is_long(program, &options.dims, &named)
            || forecast.ends_soon(&form.kernel, &borrowed(&named))
        {
            let elements = named.iter().map(|(_, tensor)| tensor.vals().len()).sum();
            let run = || on_threads(elements, || form.kernel.run(&borrowed(&named)));
            return Ok((detached(py, run)?, owner));
        }
        let (named, form) = (owned(&named), Arc::clone(form));
        let run = move || on_threads(usize::MAX, || form.kernel.run(&borrowed(&named)));
        let results = interruptible(py, run)?.map_err(|diagnostic| raised(py, &diagnostic))?;
        Ok((results, owner))
    }
}

/// Whether a kernel lists what it computes, for which it has to sort what is unordered.
fn lists(kernel: &tamis::Kernel) -> bool {
    let program = &kernel.compiled().program;
    program.kernels.iter().any(|made| !program.tensors[made.result].storage.format.is_full())
}

#[pymethods]
impl Kernel {
    /// A program with the formats of operands and results by name, the type of results, the sizes
    /// of index variables and of results by name, a schedule, a backend, the format of the last
    /// result, what SciPy's operands do not store, and whether zeros that are not stored are divided.
    #[new]
    #[pyo3(signature = (text, formats, dtype, dims, shapes, schedule, backend, result, absent, strict = false))]
    #[allow(clippy::too_many_arguments, reason = "one for each keyword of tamis.compile")]
    fn new(
        py: Python<'_>,
        text: &str,
        formats: BTreeMap<String, String>,
        dtype: Option<&str>,
        dims: BTreeMap<String, Size>,
        shapes: BTreeMap<String, Vec<Size>>,
        schedule: &str,
        backend: &str,
        result: Option<&str>,
        absent: Option<&str>,
        strict: bool,
    ) -> PyResult<Kernel> {
        let said = |d: Diagnostic| raised(py, &d);
        let program = notation::parse(text).map_err(said)?;
        let schedule = schedule::parse(schedule).map_err(said)?;
        let Some(backend) = Backend::parse(backend) else {
            let message = format!("there is no backend named {backend}");
            let help = "the backends are auto, jit, c and interp";
            return Err(refused(py, Code::UnsupportedBackend, message, help));
        };
        if backend == Backend::Cuda {
            // NVRTC may be among the packages of an environment that no variable names.
            tamis::gpu::look_in(py.import("sys")?.getattr("path")?.extract()?);
        }
        let mut of_operands = BTreeMap::new();
        let dims = dims.into_iter().map(|(name, size)| (name, size.number())).collect();
        let shapes = shapes.into_iter().map(|(name, sizes)| (name, numbers(sizes))).collect();
        let strict = if strict { Strictness::Ieee } else { Strictness::Sparse };
        let mut options = Options { schedule, backend, dims, shapes, strict, ..Options::default() };
        options.check_names(&program).map_err(said)?;
        options.datatype = dtype.and_then(DataType::parse);
        let operands = operands(&program);
        for (name, format) in formats {
            let Some(id) = program.tensor(&name) else {
                let message = format!("the expression has no tensor named {name}");
                let names: Vec<&str> = program.tensors.iter().map(|t| t.name.as_str()).collect();
                let help = format!("its tensors are {}", names.join(", "));
                return Err(refused(py, Code::UnknownTensor, message, &help));
            };
            let spec = spec(py, &format, program.tensors[id].order)?;
            if program.statements.iter().any(|s| s.result.tensor == id) {
                options.results.insert(name.clone(), spec.clone());
            }
            if operands.contains(&name) {
                of_operands.insert(name, spec);
            }
        }
        if let (Some(format), Some(last)) = (result, program.statements.last()) {
            let decl = &program.tensors[last.result.tensor];
            options.results.insert(decl.name.clone(), spec(py, format, decl.order)?);
        }
        let (formats, absent) = (of_operands, absent.and_then(Scalar::parse));
        let forms = Mutex::new(vec![]);
        let (text, effort) = (text.to_owned(), Effort::of(&program));
        let any_order = AtomicBool::new(false);
        Ok(Kernel { text, program, operands, formats, absent, options, effort, forms, any_order })
    }

    /// Computes the last result.
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        this: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = this.py();
        let (mut results, owner) = guarded(py, || Kernel::results(this, args, kwargs))?;
        match results.pop() {
            Some((_, tensor)) => {
                drop(results);
                this.get().returned(py, tensor, owner)
            }
            None => {
                let message = "the program computes nothing".to_owned();
                Err(refused(py, Code::Syntax, message, "write a statement"))
            }
        }
    }

    /// Computes every result; with them, by name in the order of their statements, come the tier that ran, the
    /// seconds until the program was compiled, or found, for these operands, and those of its run.
    #[pyo3(signature = (*args, **kwargs))]
    fn traced<'py>(
        this: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Traced<'py>> {
        let py = this.py();
        guarded(py, || {
            let begin = Instant::now();
            let (form, operands) = Kernel::prepared(this, args, kwargs)?;
            let compiled = begin.elapsed();
            let (results, owner) = Kernel::run(this, &form, operands)?;
            let ran = (begin.elapsed() - compiled).as_secs_f64();
            let tier = form.kernel.ran_on().map(Backend::name);
            let named = |(name, tensor)| Ok((name, this.get().returned(py, tensor, owner)?));
            let results = results.into_iter().map(named).collect::<PyResult<_>>()?;
            Ok((results, tier, compiled.as_secs_f64(), ran))
        })
    }

    /// Computes every result, by name.
    #[pyo3(signature = (*args, **kwargs))]
    fn all<'py>(
        this: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = this.py();
        let (results, owner) = guarded(py, || Kernel::results(this, args, kwargs))?;
        let named = PyDict::new(py);
        for (name, tensor) in results {
            named.set_item(name, this.get().returned(py, tensor, owner)?)?;
        }
        Ok(named)
    }

    /// The expression.
    #[getter]
    fn expression(&self) -> &str {
        &self.text
    }

    /// The operands, in the order in which a call takes them.
    #[getter]
    fn operands(&self) -> Vec<String> {
        self.operands.clone()
    }

    /// The commands of the schedule; empty if the order of loops is chosen.
    #[getter]
    fn schedule(&self) -> String {
        self.options.schedule.to_string()
    }

    /// A stage of compilation as text: `notation cin schedule graph lattice plan comm ir c cuda asm`.
    /// Operands are as they were in the last call; without one, as `compile` said, else dense.
    fn explain(&self, py: Python<'_>, stage: &str) -> PyResult<String> {
        let Some(stage) = Stage::parse(stage) else {
            let names: Vec<&str> = Stage::ALL.iter().map(|s| s.name()).collect();
            let message = format!("there is no stage named {stage}");
            let help = format!("the stages are {}", names.join(", "));
            return Err(refused(py, Code::InvalidOption, message, &help));
        };
        let mut formats = self.options.results.clone();
        formats.extend(self.formats.clone());
        let mut options = self.options.clone();
        let last = self.forms.lock().unwrap_or_else(PoisonError::into_inner).last().cloned();
        let mut entries = BTreeMap::new();
        for known in last.iter().flat_map(|form| &form.operands) {
            let storage = &known.storage;
            let spec = FormatSpec {
                datatype: Some(storage.datatype),
                pos: Some(storage.pos),
                crd: Some(storage.crd),
                fill: Some(constant(storage.fill)),
                ..FormatSpec::of(storage.format.clone())
            };
            formats.insert(known.name.clone(), spec);
            options.shapes.insert(known.name.clone(), known.sizes.clone());
            entries.insert(known.name.clone(), known.entries);
        }
        detached(py, || {
            Explanation::of(&self.program, &formats, &options)?.of_entries(&entries).stage(stage)
        })
    }
}
