//! Programs on several ranks, each a thread, compared bit by bit with one process, and the bytes that they send with
//! those that were forecast.

use crate::case::Case;
use crate::check::{Outcome, invalid, refused_schedule};
use crate::random::Random;
use std::collections::BTreeMap;
use tamis::dist::{
    Communicator, Counted, Distributed, Forecast, Placement, Placements, Run as Nth, on_threads,
    phase,
};
use tamis::{Backend, DataType, Diagnostic, Kernel, Scalar, Tensor, Values};
use tamis_core::plan::distribution::may_split;

/// Numbers of ranks that divide few sizes evenly.
pub const RANKS: [usize; 8] = [1, 2, 3, 4, 5, 7, 8, 16];

/// Runs a case in one process and on so many ranks, each a thread.
pub fn check(case: &Case, ranks: usize) -> Outcome {
    outcome(case, || {
        let prepared = Prepared::of(case)?;
        let found = on_threads(ranks, |comm| prepared.on_rank(comm));
        let forecast = match prepared.forecast(ranks) {
            Ok(forecast) => forecast,
            Err(why) => return Ok(Outcome::Wrong(format!("no forecast: {why}"))),
        };
        found.iter().enumerate().try_fold(prepared.valid(), |outcome, (rank, found)| {
            let what = difference(&prepared.expected, found)?;
            let what = what.or_else(|| forecast.as_ref().and_then(|f| miscast(f, rank, found)));
            Ok(what
                .map_or(outcome, |what| Outcome::Wrong(format!("rank {rank} of {ranks}: {what}"))))
        })
    })
}

/// Runs a case in this process alone and as one of the ranks of a communicator, which all call this.
pub fn check_on(case: &Case, comm: &dyn Communicator) -> Outcome {
    outcome(case, || {
        let prepared = Prepared::of(case)?;
        let (rank, ranks) = (comm.rank(), comm.ranks());
        let found = prepared.on_rank(comm);
        let what = difference(&prepared.expected, &found)?;
        let forecast = prepared.forecast(ranks)?;
        let what = what.or_else(|| forecast.as_ref().and_then(|f| miscast(f, rank, &found)));
        let wrong = |what| Outcome::Wrong(format!("rank {rank} of {ranks}: {what}"));
        Ok(what.map_or(prepared.valid(), wrong))
    })
}

fn outcome(case: &Case, attempt: impl FnOnce() -> Result<Outcome, Diagnostic>) -> Outcome {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(attempt)) {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(d)) if invalid(&d) || refused_schedule(case, &d) => Outcome::Invalid,
        // The command tells the same without ranks.
        Ok(Err(_)) => Outcome::Invalid,
        Err(_) => Outcome::Wrong("a panic".to_owned()),
    }
}

/// A kernel, its operands, and what one process computes.
struct Prepared {
    kernel: Kernel,
    operands: Vec<(String, Tensor)>,
    /// Where some of them lie.
    placements: Placements,
    expected: Run<tamis::Results>,
}

impl Prepared {
    fn of(case: &Case) -> Result<Prepared, Diagnostic> {
        let mut operands = case.tensors()?;
        for (_, tensor) in &mut operands {
            *tensor = inexact(tensor)?;
        }
        let given: Vec<(&str, &Tensor)> = operands.iter().map(|(n, t)| (n.as_str(), t)).collect();
        let kernel = Kernel::compile(&case.text, &given, &case.options(Backend::Jit)?)?;
        let expected = kernel.run(&given);
        let placements = placements(case, &operands);
        Ok(Prepared { kernel, operands, placements, expected })
    }

    fn valid(&self) -> Outcome {
        if self.expected.is_ok() { Outcome::Right } else { Outcome::Invalid }
    }

    /// What ranks are to send, where one process has results.
    fn forecast(&self, ranks: usize) -> Result<Option<Forecast>, Diagnostic> {
        let given: Vec<(&str, &Tensor)> =
            self.operands.iter().map(|(n, t)| (n.as_str(), t)).collect();
        match &self.expected {
            Ok(_) => self.kernel.forecast(ranks, &given, &self.placements).map(Some),
            Err(_) => Ok(None),
        }
    }

    fn on_rank(&self, comm: &dyn Communicator) -> Run<Found> {
        phase(comm, || {
            let mut parts = vec![];
            for (name, tensor) in &self.operands {
                let split = Distributed::split(comm, tensor)?;
                parts.push((
                    name.as_str(),
                    match self.placements.get(name) {
                        Some(placement) => split.placed(comm, *placement)?,
                        None => split,
                    },
                ));
            }
            let parts: Vec<(&str, &Distributed)> = parts.iter().map(|(n, t)| (*n, t)).collect();
            // The second run knows what ranks asked for in the first.
            let counted = Counted::new(comm);
            self.kernel.run_distributed(&counted, &parts)?;
            let first = counted.counts().sent;
            let results = self.kernel.run_distributed(&counted, &parts)?;
            let sent = [first, counted.counts().sent - first];
            let gathered = results.iter().map(|(name, t)| Ok((name.clone(), t.gather(comm)?)));
            Ok(Found { results: gathered.collect::<Run<_>>()?, sent })
        })
    }
}

/// Where operands lie that may be cut, now and then: chosen by the text of the case, so that shrinking keeps it.
fn placements(case: &Case, operands: &[(String, Tensor)]) -> Placements {
    let seed = case.text.bytes().fold(7u64, |hash, b| hash.wrapping_mul(31) ^ u64::from(b));
    let mut random = Random::new(seed);
    let mut placements = Placements::new();
    for (name, tensor) in operands {
        if !random.one_in(3) {
            continue;
        }
        let cut = [Placement::Rows, Placement::Nonzeros, Placement::Replicated];
        let placement = match may_split(&tensor.storage().format) {
            true => *random.pick(&cut),
            false => Placement::Replicated,
        };
        placements.insert(name.clone(), placement);
    }
    placements
}

type Run<T> = Result<T, Diagnostic>;

/// What a rank has of two runs: the results of the second, and the bytes that it sent in each.
struct Found {
    results: Vec<(String, Tensor)>,
    sent: [u64; 2],
}

/// How the bytes that a rank sent differ from the forecast, if they do.
fn miscast(forecast: &Forecast, rank: usize, found: &Run<Found>) -> Option<String> {
    let sent = found.as_ref().ok()?.sent;
    let runs = [Nth::First, Nth::Later].into_iter().zip(sent);
    runs.into_iter().find_map(|(run, sent)| {
        let told: u64 = forecast.steps_of(run).map(|step| step.sent[rank]).sum();
        let text = || format!("{sent} bytes sent instead of {told}:\n{}", forecast.text(None));
        (told != sent).then(text)
    })
}

/// How what a rank found differs from one process, if it does.
fn difference(
    expected: &Run<tamis::Results>,
    found: &Run<Found>,
) -> Result<Option<String>, Diagnostic> {
    let (expected, found) = match (expected, found) {
        (Err(expected), Err(found)) if expected.code == found.code => return Ok(None),
        (Err(expected), Err(found)) => return Ok(Some(format!("{found} instead of {expected}"))),
        (Err(expected), Ok(_)) => return Ok(Some(format!("a result instead of {expected}"))),
        (Ok(_), Err(found)) => return Ok(Some(format!("{found}"))),
        (Ok(expected), Ok(found)) => (expected, &found.results),
    };
    for ((name, expected), (_, found)) in expected.iter().zip(found) {
        if expected.storage() != found.storage() || expected.dims() != found.dims() {
            return Ok(Some(format!("{name} is stored in another way")));
        }
        let (expected, found) = (elements(expected)?, elements(found)?);
        if expected.len() != found.len() {
            let (n, of) = (found.len(), expected.len());
            return Ok(Some(format!("{name} has {n} entries instead of {of}")));
        }
        for ((at, expected), (other, found)) in expected.iter().zip(&found) {
            if at != other || expected != found {
                let what = format!("{name} at {at:?} is {expected:?}, at {other:?} {found:?}");
                return Ok(Some(what));
            }
        }
    }
    Ok(None)
}

/// The bits of the stored elements by coordinates.
fn elements(tensor: &Tensor) -> Result<BTreeMap<Vec<u64>, Vec<String>>, Diagnostic> {
    let list = tensor.to_coordinates()?;
    let mut found: BTreeMap<Vec<u64>, Vec<String>> = BTreeMap::new();
    for n in 0..list.vals().len() {
        let at = list.crds().iter().map(|crds| crds[n]).collect();
        found.entry(at).or_default().push(bits(list.vals().get(n)));
    }
    Ok(found)
}

fn bits(value: Scalar) -> String {
    let of = |x: f64| if x.is_nan() { "nan".to_owned() } else { format!("{x:?}") };
    match value {
        Scalar::F32(x) => of(f64::from(x)),
        Scalar::F64(x) => of(x),
        Scalar::C64([re, im]) => format!("{} {}", of(f64::from(re)), of(f64::from(im))),
        Scalar::C128([re, im]) => format!("{} {}", of(re), of(im)),
        value => format!("{value:?}"),
    }
}

/// The tensor with values whose sums depend on their order.
fn inexact(tensor: &Tensor) -> Result<Tensor, Diagnostic> {
    let factor = |n: usize| 1.0 + ((n * 2_654_435_761) % 1009) as f64 / 3027.0;
    let vals = match Values::copied(tensor.vals()) {
        Values::F64(all) => {
            let all = all.into_iter().enumerate().map(|(n, x)| x * factor(n)).collect();
            tamis::Buffer::from_vec::<f64>(all)
        }
        Values::F32(all) => {
            let all = all.into_iter().enumerate().map(|(n, x)| x * factor(n) as f32).collect();
            tamis::Buffer::from_vec::<f32>(all)
        }
        _ => return Ok(tensor.clone()),
    };
    debug_assert!(matches!(vals.datatype(), DataType::F64 | DataType::F32));
    let (dims, storage, levels, _) = tensor.clone().into_parts();
    Tensor::try_from_parts(dims, storage, levels, vals)
}
