//! Comparing the results of a huge program with those of the small one.

use super::Huge;
use super::embedding::{Embedding, Gaps, Side};
use crate::carried_out;
use crate::case::Case;
use crate::check::{
    self, invalid, is_inexact, keeps_promises, lacks_values, on_threads, refused_schedule,
};
use crate::functions::Functions;
use crate::number::Number;
use crate::reference::{self, Dense, Evaluated, Sizes};
use std::collections::{BTreeMap, BTreeSet};
use tamis::{Backend, Code, DataType, Diagnostic, Kernel, Tensor};
use tamis_core::cin::{self, Role};
use tamis_core::notation::Program;

/// More steps than this are not run.
const MOST_STEPS: f64 = 2e5;
/// Runs that take more iterations, whatever was estimated, are cut off.
const MOST_ITERATIONS: u64 = 2_000_000;
/// More bytes than this are not run, and more are refused where the estimate is too low.
const MOST_BYTES: f64 = 16e6;
/// How many coordinates stand for those without an image: as many as a tensor has modes.
const GAPS: u64 = 3;

/// How a huge program went.
#[derive(Clone, PartialEq, Debug)]
pub enum Found {
    /// Every result is right.
    Right,
    /// It is not a valid program, or its results depend on coordinates without entries.
    Invalid,
    /// It would take many steps or much memory: why.
    NotRun(String),
    /// Something is wrong, in one line.
    Wrong(String),
}

/// Runs a program in the interpreter and as machine code, and compares.
pub fn check(huge: &Huge) -> Found {
    match std::panic::catch_unwind(|| attempt(&huge.case, &huge.embedding)) {
        Ok(Ok(found)) => found,
        Ok(Err(d)) if invalid(&d) || refused_schedule(&huge.case, &d) => Found::Invalid,
        Ok(Err(d)) if matches!(d.code, Code::OutOfMemory | Code::DimensionTooLarge) => {
            Found::NotRun(format!("{}, {}", d.code.name(), without_numbers(&d.message)))
        }
        Ok(Err(d)) => Found::Wrong(format!("refused: {d}")),
        Err(_) => Found::Wrong("a panic".to_owned()),
    }
}

/// A message as it is whatever the sizes are.
fn without_numbers(message: &str) -> String {
    let words = message.split(' ').filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
    words.collect::<Vec<_>>().join(" ")
}

/// Has large allocations refused from now on: those of a program of few entries are mistakes.
pub fn limit_memory() {
    tamis::budget::set_limit(2 * MOST_BYTES as usize);
}

fn attempt(case: &Case, embedding: &Embedding) -> Result<Found, Diagnostic> {
    let program = tamis::notation::parse(&case.text)?;
    if lacks_values(case, &program) {
        return Ok(Found::Invalid);
    }
    let tensors = case.tensors()?;
    let operands: Vec<(&str, &Tensor)> = tensors.iter().map(|(n, t)| (n.as_str(), t)).collect();
    let kernel = Kernel::compile(&case.text, &operands, &case.options(Backend::Jit)?)?;
    if let Some(what) =
        carried_out::dropped(kernel.compiled()).filter(|_| !case.schedule.is_empty())
    {
        return Ok(Found::Wrong(format!("not carried out: {what}")));
    }
    let Some(expected) = Expected::of(case, embedding, &kernel)? else { return Ok(Found::Invalid) };
    if let Some(why) = why_not(&kernel, &operands)? {
        let has_few = if expected.has_few(&kernel) { ", of results of few values" } else { "" };
        return Ok(Found::NotRun(why + has_few));
    }
    let interpreted = match interpreted(case, kernel.program()) {
        Err(d) if d.code == Code::IntegerOverflow && expected.may_overflow => {
            return Ok(Found::Invalid);
        }
        Err(d) if d.code == Code::TooLarge => {
            return Ok(Found::NotRun("more iterations than estimated".to_owned()));
        }
        results => results?,
    };
    let run = |threads| on_threads(threads, || kernel.run(&operands));
    let (compiled, alone) = (run(3)?, run(1)?);
    if !check::are_same(&compiled, &alone, Backend::Jit) {
        return Ok(Found::Wrong("other bits on one thread than on three".to_owned()));
    }
    let runs = [("interpreted", &interpreted[..]), ("compiled", &compiled)];
    for (how, results) in runs {
        for (name, tensor) in results {
            keeps_promises(tensor)?;
            if let Some(what) = expected.difference(name, tensor) {
                // Of many factors some may overflow before they meet a zero.
                let is_product = check::multiplies(&program) && what.overflowed;
                let why = format!("{how}, {name} at {}", what.message);
                return Ok(if is_product { Found::Invalid } else { Found::Wrong(why) });
            }
        }
    }
    Ok(Found::Right)
}

/// Why a kernel is not run, if it takes long or much memory.
fn why_not(kernel: &Kernel, operands: &[(&str, &Tensor)]) -> Result<Option<String>, Diagnostic> {
    let estimate = kernel.estimate(operands)?;
    let (steps, bytes) = (estimate.steps(), estimate.bytes(3));
    if steps <= MOST_STEPS && bytes <= MOST_BYTES {
        return Ok(None);
    }
    let warning = kernel.warnings_from(operands, MOST_STEPS)?.into_iter().next();
    let what = if steps > MOST_STEPS { "steps" } else { "bytes" };
    Ok(Some(match warning {
        Some(d) => format!("{what}, {}", d.code.name()),
        None => format!("{what}, without a warning"),
    }))
}

/// The results of the interpreter, if its loops end soon.
fn interpreted(case: &Case, notation: &Program) -> Result<Vec<(String, Tensor)>, Diagnostic> {
    let mut functions = Functions::of(case)?;
    let program = functions.program().clone();
    let mut results: Vec<(String, Tensor)> = vec![];
    for (k, lowered) in functions.compiled().to_vec().iter().enumerate() {
        let tensor = functions.run_within(k, lowered, MOST_ITERATIONS)?;
        let target = &program.tensors[program.kernels[k].result];
        if let Role::Result(source) = target.role {
            let name = notation.tensors[source].name.clone();
            results.retain(|(other, _)| *other != name);
            results.push((name, tensor.clone()));
        }
        functions.keep(k, tensor);
    }
    Ok(results)
}

/// What the results are to be.
struct Expected<'e> {
    embedding: &'e Embedding,
    small: Side,
    results: BTreeMap<String, Dense>,
    /// Whether the program may fail, as the small one may.
    may_overflow: bool,
}

/// What differs at an element.
struct Difference {
    message: String,
    overflowed: bool,
}

impl Expected<'_> {
    /// That of a case; `None` if it depends on coordinates without entries, or is not exact.
    fn of<'e>(
        case: &Case,
        embedding: &'e Embedding,
        kernel: &Kernel,
    ) -> Result<Option<Expected<'e>>, Diagnostic> {
        let small = embedding.small(GAPS);
        let of = |count, gaps| {
            let labels = embedding.labels(gaps, count);
            Small::of(case, embedding, kernel, &embedding.small(count), labels)
        };
        let (few, more) = (of(GAPS, Gaps::Lowest)?, of(GAPS + 1, Gaps::Highest)?);
        let Some((few, more)) = few.zip(more) else { return Ok(None) };
        // What cancels is not exact where there are very many.
        if few.magnitudes != more.magnitudes {
            return Ok(None);
        }
        let expected = Expected {
            embedding,
            small,
            results: few.results,
            may_overflow: few.may_overflow || more.may_overflow,
        };
        let are_same = expected.results.iter().all(|(name, dense)| {
            let (classes, to) = (expected.classes(name, dense), embedding.small(GAPS + 1));
            let others = &more.results[name];
            dense.coordinates().zip(&dense.vals).all(|(at, value)| {
                let other = embedding.place(&classes, &at, &expected.small, &to);
                others.at(&other).is_same(*value)
            })
        });
        Ok(are_same.then_some(expected))
    }

    /// Whether results have their fill values at all coordinates without an image, and do not store all of them.
    fn has_few(&self, kernel: &Kernel) -> bool {
        let mut storages = kernel.compiled().program.tensors.iter().filter_map(|t| match t.role {
            Role::Result(_) => Some(&t.storage),
            _ => None,
        });
        let fills = fills(kernel);
        let is_few = |(name, dense): (&String, &Dense)| {
            let classes = self.classes(name, dense);
            dense.coordinates().zip(&dense.vals).all(|(at, value)| {
                let mut all = at.iter().zip(&classes);
                let is_image = all.all(|(c, class)| self.small.images[*class].contains(c));
                is_image || value.is_same(fills[name])
            })
        };
        storages.all(|storage| !storage.format.is_full()) && self.results.iter().all(is_few)
    }

    fn classes(&self, name: &str, dense: &Dense) -> Vec<usize> {
        self.embedding.classes.of_tensor(name, dense.dims.len()).expect("a tensor of the program")
    }

    /// Where a result is not what is expected, if it is not.
    fn difference(&self, name: &str, tensor: &Tensor) -> Option<Difference> {
        let dense = &self.results[name];
        let classes = self.classes(name, dense);
        let huge = &self.embedding.huge;
        let dims: Vec<u64> = classes.iter().map(|&class| huge.dims[class]).collect();
        if dims != tensor.dims() {
            let message = format!("has dimensions {:?}, not {dims:?}", tensor.dims());
            return Some(Difference { message, overflowed: false });
        }
        let differs = |at: &[u64], got: Number, want: Number| {
            let is_bool = tensor.storage().datatype == DataType::Bool;
            let overflowed = is_bool && !got.is_true() || !got.is_finite();
            Difference { message: format!("{at:?} is {got}, not {want}"), overflowed }
        };
        let mut seen = vec![false; dense.vals.len()];
        for (at, got) in elements(tensor) {
            let place = self.embedding.place(&classes, &at, huge, &self.small);
            let want = dense.at(&place);
            if !got.is_same(want) {
                return Some(differs(&at, got, want));
            }
            seen[dense.place(&place)] = true;
        }
        let fill = Number::of(tensor.storage().fill);
        let is_canonical =
            |at: &[u64]| self.embedding.place(&classes, at, &self.small, &self.small) == at;
        let mut unseen = dense.coordinates().zip(&dense.vals).zip(&seen);
        let missing =
            unseen.find(|((at, value), seen)| !**seen && !value.is_same(fill) && is_canonical(at));
        missing.map(|((at, value), _)| differs(&at, fill, *value)).map(|found| Difference {
            message: format!("{} in small dimensions", found.message),
            ..found
        })
    }
}

/// The stored elements of a tensor.
fn elements(tensor: &Tensor) -> BTreeMap<Vec<u64>, Number> {
    let list = tensor.to_coordinates().expect("room for a list");
    let mut found: BTreeMap<Vec<u64>, Number> = BTreeMap::new();
    for n in 0..list.vals().len() {
        let at = list.crds().iter().map(|c| c[n]).collect();
        let value = Number::of(list.vals().get(n));
        let datatype = tensor.storage().datatype;
        found
            .entry(at)
            .and_modify(|sum| *sum = reference::stored(datatype, *sum + value))
            .or_insert(value);
    }
    found
}

/// What the small program gives.
struct Small {
    results: BTreeMap<String, Dense>,
    magnitudes: BTreeSet<u64>,
    may_overflow: bool,
}

impl Small {
    fn of(
        case: &Case,
        embedding: &Embedding,
        kernel: &Kernel,
        side: &Side,
        labels: BTreeMap<String, Vec<f64>>,
    ) -> Result<Option<Small>, Diagnostic> {
        let case = embedding.moved(case, &embedding.huge, side);
        let program = tamis::notation::parse(&case.text)?;
        let tensors = case.tensors()?;
        let dense: BTreeMap<String, Dense> =
            tensors.iter().map(|(n, t)| (n.clone(), Dense::of(t))).collect();
        let types = check::result_types(kernel);
        let sizes = Sizes {
            dims: case.dims.clone(),
            shapes: case.shapes.clone(),
            types: types.clone(),
            fills: fills(kernel),
            labels,
            strictness: case.strict,
        };
        let Evaluated { results, magnitudes } = reference::evaluated(&program, &dense, &sizes)?;
        if is_inexact(&case, &tensors, &results) || results.values().any(Dense::is_undefined) {
            return Ok(None);
        }
        let may_overflow = program.statements.len() > 1
            || check::overflows(&types, &results)
            || reference::reach(&program, &dense, &sizes)? >= 2_f64.powi(63);
        Ok(Some(Small { results, magnitudes, may_overflow }))
    }
}

/// The fill values of the results of a kernel.
fn fills(kernel: &Kernel) -> BTreeMap<String, Number> {
    let tensors = kernel.compiled().program.tensors.iter();
    let of = |t: &cin::Tensor| match t.role {
        Role::Result(source) => {
            Some((kernel.program().tensors[source].name.clone(), Number::of(t.storage.fill)))
        }
        _ => None,
    };
    tensors.filter_map(of).collect()
}
