//! Comparing a case's results on a backend with the dense reference.

use crate::carried_out;
use crate::case::Case;
use crate::functions::bits;
use crate::kinds;
use crate::number::Number;
use crate::reference::{self, Dense, Sizes};
use crate::standalone;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use tamis::{Backend, Code, DataType, Diagnostic, Kernel, Options, Parts, Tensor};
use tamis_core::cin::Role;
use tamis_core::notation::{Expr, Program};
use tamis_ir::algebra::ReduceOp;
use tamis_ir::datatype::Scalar;
use tamis_ir::diagnostic::Place;

/// How a case went.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// Every result is right.
    Right,
    /// The case is not a valid program, or its values are too large to be exact.
    Invalid,
    /// Something is wrong, in one line.
    Wrong(String),
}

/// Runs a case on a backend and compares.
pub fn check(case: &Case, backend: Backend) -> Outcome {
    let attempted = std::panic::catch_unwind(|| attempt(case, backend));
    match attempted {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(d)) if invalid(&d) || refused_schedule(case, &d) => Outcome::Invalid,
        Ok(Err(d)) => Outcome::Wrong(format!("refused: {d}")),
        Err(_) => Outcome::Wrong("a panic".to_owned()),
    }
}

pub(crate) fn invalid(d: &Diagnostic) -> bool {
    // A statement that uses `i` only as a value reads it as a scalar; another's index `i` clashes.
    let clash = d.code == Code::Syntax && d.message.contains("names a tensor and an index");
    clash
        || matches!(
            d.code,
            Code::ImplicitReduction
                | Code::ResultVariable
                | Code::ResultRedefined
                | Code::BoundVariable
                | Code::UnknownTensor
                | Code::UnknownVariable
                | Code::OrderMismatch
        )
}

/// Whether the schedule is at fault, not the program.
pub(crate) fn refused_schedule(case: &Case, d: &Diagnostic) -> bool {
    let there = matches!(&d.place, Some(Place::Text { source, .. }) if **source == *case.schedule);
    !case.schedule.is_empty() && (there || d.code == Code::BoundBroken)
}

fn attempt(case: &Case, backend: Backend) -> Result<Outcome, Diagnostic> {
    let outcome = attempt_kernels(case, backend)?;
    if (&outcome, backend) == (&Outcome::Right, Backend::Interpreter)
        && let Some(what) = differs_as_one_function(case)?
    {
        return Ok(Outcome::Wrong(format!("as one function: {what}")));
    }
    Ok(outcome)
}

fn attempt_kernels(case: &Case, backend: Backend) -> Result<Outcome, Diagnostic> {
    let program = tamis::notation::parse(&case.text)?;
    if lacks_values(case, &program) {
        return Ok(Outcome::Invalid);
    }
    let tensors = case.tensors()?;
    let dense: BTreeMap<String, Dense> =
        tensors.iter().map(|(n, t)| (n.clone(), Dense::of(t))).collect();
    let operands: Vec<(&str, &Tensor)> = tensors.iter().map(|(n, t)| (n.as_str(), t)).collect();
    let kernel = Kernel::compile(&case.text, &operands, &case.options(backend)?)?;
    if let Some(what) =
        carried_out::dropped(kernel.compiled()).filter(|_| !case.schedule.is_empty())
    {
        return Ok(Outcome::Wrong(format!("not carried out: {what}")));
    }
    let types = result_types(&kernel);
    let mut sizes = Sizes {
        dims: case.dims.clone(),
        shapes: case.shapes.clone(),
        types: types.clone(),
        strictness: case.strict,
        ..Sizes::default()
    };
    let expected = reference::evaluate(&program, &dense, &sizes)?;
    if is_inexact(case, &tensors, &expected) || expected.values().any(Dense::is_undefined) {
        return Ok(Outcome::Invalid);
    }
    let results = match on_threads(3, || kernel.run(&operands)) {
        // An earlier value of a result may not fit either, and be gone afterwards; of many factors
        // some may leave 64 bits before they meet a zero.
        Err(d)
            if d.code == Code::IntegerOverflow
                && (program.statements.len() > 1
                    || overflows(&types, &expected)
                    || reference::reach(&program, &dense, &sizes)? >= 2_f64.powi(63)) =>
        {
            return Ok(Outcome::Invalid);
        }
        results => results?,
    };
    if backend != Backend::Interpreter
        && !are_same(&results, &on_threads(1, || kernel.run(&operands))?, backend)
    {
        return Ok(Outcome::Wrong("other bits on one thread than on three".to_owned()));
    }
    let fill = |t: &Tensor| Number::of(t.storage().fill);
    sizes.fills = results.iter().map(|(name, t)| (name.clone(), fill(t))).collect();
    let expected = reference::evaluate(&program, &dense, &sizes)?;
    for (name, tensor) in &results {
        let outcome = compare(name, tensor, &expected[name], case, &program)?;
        if outcome != Outcome::Right {
            return Ok(outcome);
        }
    }
    let kinds = on_threads(3, || kinds::check(&kernel, &operands, &results, &expected))?;
    Ok(kinds.map_or(Outcome::Right, Outcome::Wrong))
}

/// Whether a program reads what is no operand: a variable used only as a value reads as a scalar that has none.
pub(crate) fn lacks_values(case: &Case, program: &Program) -> bool {
    let results = program.results();
    let has_value = |name: &str| case.operands.iter().any(|o| o.name == name);
    program.tensors.enumerate().any(|(id, t)| !results.contains(&id) && !has_value(&t.name))
}

/// What is wrong with the program as one function, if something is. It runs as a whole, since parts may store an
/// unordered result in another order.
fn differs_as_one_function(case: &Case) -> Result<Option<String>, Diagnostic> {
    let tensors = case.tensors()?;
    let operands: Vec<(&str, &Tensor)> = tensors.iter().map(|(n, t)| (n.as_str(), t)).collect();
    let whole = Options { parts: Parts::Whole, ..case.options(Backend::Interpreter)? };
    let kernel = Kernel::compile(&case.text, &operands, &whole)?;
    standalone::difference(&kernel, &operands, &kernel.run(&operands)?)
}

/// Whether values are too large, or not numbers, for the types that compute them.
pub(crate) fn is_inexact(
    case: &Case,
    tensors: &[(String, Tensor)],
    expected: &BTreeMap<String, Dense>,
) -> bool {
    let halves = case.operands.iter().map(|o| &o.format).chain(case.results.values());
    let most = if halves.into_iter().any(|f| f.contains("f16")) { 256.0 } else { 1e6 };
    let inexact = |d: &Dense| d.vals.iter().any(|v| v.size() > most && v.is_finite());
    let unusual = |d: &Dense| d.vals.iter().any(|v| !v.is_finite());
    let exact = |d: DataType| !d.is_float() || d.is_complex();
    let integers = tensors.iter().any(|(_, t)| exact(t.storage().datatype));
    expected.values().any(inexact) || (integers && expected.values().any(unusual))
}

/// Whether a program multiplies all elements over a variable.
pub(crate) fn multiplies(program: &Program) -> bool {
    let mut found = false;
    for statement in &program.statements {
        let is_product = |e: &Expr| matches!(e, Expr::Reduce { op: ReduceOp::Mul, .. });
        statement.value.walk(&mut |e| found |= is_product(e));
    }
    found
}

/// Whether a wrong element may be that of a product that left its type.
fn overflowed(element: Number, tensor: &Tensor) -> bool {
    let is_false = tensor.storage().datatype == DataType::Bool && element.size() == 0.0;
    is_false || !element.is_finite()
}

/// Whether results have the same bits.
/// On a GPU, the order of atomic operations decides about the sign of zeros.
pub(crate) fn are_same(
    some: &[(String, Tensor)],
    others: &[(String, Tensor)],
    backend: Backend,
) -> bool {
    let bits = |tensor: &Tensor| {
        let mut bits = bits(tensor);
        if matches!(backend, Backend::Cuda | Backend::CudaEmulated) {
            bits.iter_mut().flatten().for_each(|x| *x = unsigned_zero(*x));
        }
        bits
    };
    some.iter().zip(others).all(|((_, a), (_, b))| bits(a) == bits(b))
}

fn unsigned_zero(x: Scalar) -> Scalar {
    match x {
        Scalar::F32(x) => Scalar::F32(x + 0.0),
        Scalar::F64(x) => Scalar::F64(x + 0.0),
        Scalar::C64(x) => Scalar::C64(x.map(|x| x + 0.0)),
        Scalar::C128(x) => Scalar::C128(x.map(|x| x + 0.0)),
        x => x,
    }
}

/// Runs something on a pool of so many threads.
pub(crate) fn on_threads<T: Send>(count: usize, run: impl FnOnce() -> T + Send) -> T {
    static POOLS: [OnceLock<ThreadPool>; 4] = [const { OnceLock::new() }; 4];
    let new = || ThreadPoolBuilder::new().num_threads(count).build();
    POOLS[count].get_or_init(|| new().expect("threads can be started")).install(run)
}

/// The element types of a program's results by name, one for each statement that writes them.
pub fn result_types(kernel: &Kernel) -> BTreeMap<String, Vec<DataType>> {
    let mut types: BTreeMap<String, Vec<DataType>> = BTreeMap::new();
    for t in kernel.compiled().program.tensors.iter() {
        if let Role::Result(source) = t.role {
            let name = kernel.program().tensors[source].name.clone();
            types.entry(name).or_default().push(t.storage.datatype);
        }
    }
    types
}

/// Whether something may be summed over a dimension of size 0 before it is multiplied: that is a
/// zero, of which an infinite factor makes no number; or an infinite factor, a minimum or maximum
/// without terms, may meet what a tensor does not store.
fn sums_nothing(case: &Case) -> bool {
    let mut dims = case.operands.iter().flat_map(|o| &o.dims).chain(case.dims.values());
    dims.any(|&d| d == 0)
}

/// Whether an element of a result does not fit its data type.
pub(crate) fn overflows(
    types: &BTreeMap<String, Vec<DataType>>,
    expected: &BTreeMap<String, Dense>,
) -> bool {
    types.iter().any(|(name, types)| {
        let Some(all) = types.last().and_then(|t| t.integers()) else { return false };
        !expected[name].vals.iter().all(|x| all.contains(&(x.re.trunc() as i128)))
    })
}

/// Whether the arrays of a result keep their format's promises.
pub(crate) fn keeps_promises(tensor: &Tensor) -> Result<(), Diagnostic> {
    let (dims, storage) = (tensor.dims().to_vec(), tensor.storage().clone());
    Tensor::try_from_parts(dims, storage, tensor.levels().to_vec(), tensor.vals().clone())?;
    Ok(())
}

fn compare(
    name: &str,
    tensor: &Tensor,
    expected: &Dense,
    case: &Case,
    program: &Program,
) -> Result<Outcome, Diagnostic> {
    keeps_promises(tensor)?;
    let got = Dense::of(tensor);
    if got.dims != expected.dims {
        return Ok(Outcome::Wrong(format!("{name} is {:?}, not {:?}", got.dims, expected.dims)));
    }
    let wrong = got.vals.iter().zip(&expected.vals).position(|(&got, &want)| !got.is_same(want));
    let is_nan = |got: Number, want: Number| got.is_nan() || want.is_nan();
    Ok(match wrong {
        None => Outcome::Right,
        // Of many factors some may overflow before they meet a zero, in a narrow type, and a product
        // of many even integers is zero in their type.
        Some(at) if overflowed(got.vals[at], tensor) && multiplies(program) => Outcome::Invalid,
        Some(at) if is_nan(got.vals[at], expected.vals[at]) && sums_nothing(case) => {
            Outcome::Invalid
        }
        Some(at) => {
            Outcome::Wrong(format!("{name} at {at} is {}, not {}", got.vals[at], expected.vals[at]))
        }
    })
}
