//! Programs on several ranks, each a thread, compared bit by bit with one process, and the bytes that they send with
//! those that were forecast.

use crate::case::Case;
use crate::check::{Outcome, invalid, refused_schedule};
use crate::random::Random;
use std::collections::BTreeMap;
use tamis::dist::{
    Communicator, Counted, Distributed, Forecast, Grid, Placement, Placements, Run as Nth,
    on_threads, phase,
};
use tamis::{Backend, Code, DataType, Diagnostic, Kernel, Scalar, Tensor, Values};
use tamis_core::plan::distribution::may_split;
use tamis_core::schedule::Command;

/// Numbers of ranks that divide few sizes evenly.
pub const RANKS: [usize; 8] = [1, 2, 3, 4, 5, 7, 8, 16];

/// Runs a case in one process and on so many ranks, each a thread.
pub fn check(case: &Case, ranks: usize) -> Outcome {
    outcome(case, || {
        let prepared = Prepared::of(case, ranks)?;
        let found = on_threads(ranks, |comm| prepared.on_rank(comm));
        let forecast = match prepared.forecast(ranks) {
            Ok(forecast) => forecast,
            Err(why) if is_refused(&why) => None,
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
        let (rank, ranks) = (comm.rank(), comm.ranks());
        let prepared = Prepared::of(case, ranks)?;
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
    grid: Grid,
    /// Where some of them lie.
    placements: Placements,
    expected: Run<tamis::Results>,
}

impl Prepared {
    fn of(case: &Case, ranks: usize) -> Result<Prepared, Diagnostic> {
        let mut operands = case.tensors()?;
        for (_, tensor) in &mut operands {
            *tensor = inexact(tensor)?;
        }
        let given: Vec<(&str, &Tensor)> = operands.iter().map(|(n, t)| (n.as_str(), t)).collect();
        let kernel = Kernel::compile(&case.text, &given, &case.options(Backend::Jit)?)?;
        let expected = kernel.run(&given);
        let (grid, placements) = layout(case, &operands, ranks)?;
        Ok(Prepared { kernel, operands, grid, placements, expected })
    }

    fn valid(&self) -> Outcome {
        if self.expected.is_ok() { Outcome::Right } else { Outcome::Invalid }
    }

    /// What ranks are to send, where one process has results.
    fn forecast(&self, ranks: usize) -> Result<Option<Forecast>, Diagnostic> {
        let given: Vec<(&str, &Tensor)> =
            self.operands.iter().map(|(n, t)| (n.as_str(), t)).collect();
        match &self.expected {
            Ok(_) if self.grid.dimensions() > 1 => Ok(None),
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
                        Some(placement) => split.placed(comm, &self.grid, placement)?,
                        None => split,
                    },
                ));
            }
            let parts: Vec<(&str, &Distributed)> = parts.iter().map(|(n, t)| (*n, t)).collect();
            // The second run knows what ranks asked for in the first.
            let counted = Counted::new(comm);
            self.kernel.run_on_grid(&counted, &self.grid, &parts)?;
            let first = counted.counts().sent;
            let results = self.kernel.run_on_grid(&counted, &self.grid, &parts)?;
            let sent = [first, counted.counts().sent - first];
            let gathered = results.iter().map(|(name, t)| Ok((name.clone(), t.gather(comm)?)));
            Ok(Found { results: gathered.collect::<Run<_>>()?, sent })
        })
    }
}

/// A grid with the axes that the schedule names, now and then with two where it names none; and where operands lie that
/// may be cut, now and then: chosen by the text of the case, so that shrinking keeps it.
fn layout(
    case: &Case,
    operands: &[(String, Tensor)],
    ranks: usize,
) -> Result<(Grid, Placements), Diagnostic> {
    let seed = case.text.bytes().fold(7u64, |hash, b| hash.wrapping_mul(31) ^ u64::from(b));
    let mut random = Random::new(seed);
    let schedule = tamis::schedule::parse(&case.schedule)?;
    let [by_x, by_y] = ["x", "y"].map(|axis| {
        let is_along =
            |c: &Command| matches!(c, Command::Distribute { axis: own, .. } if own == axis);
        schedule.commands().any(is_along)
    });
    let two = by_x && by_y || !by_x && !by_y && random.one_in(3);
    let divisors: Vec<usize> = (1..=ranks).filter(|&n| ranks.is_multiple_of(n)).collect();
    let along = *random.pick(&divisors);
    let text = match (two, by_y) {
        (true, _) => format!("x={along},y={}", ranks / along),
        (false, true) => format!("y={ranks}"),
        (false, false) => format!("x={ranks}"),
    };
    let axes: Vec<&str> = text.split(',').filter_map(|axis| axis.split('=').next()).collect();
    let mut placements = Placements::new();
    for (name, tensor) in operands.iter().filter(|(_, tensor)| tensor.dims().len() < 9) {
        if random.one_in(3) {
            placements.insert(name.clone(), placement(&mut random, tensor, &axes));
        }
    }
    Ok((Grid::of(Some(&text), &schedule, &placements, ranks)?, placements))
}

/// Where a tensor may lie along some axes.
fn placement(random: &mut Random, tensor: &Tensor, axes: &[&str]) -> Placement {
    let format = &tensor.storage().format;
    let axis = (*random.pick(axes)).to_owned();
    let is_plain = format.to_string().chars().all(|c| !"/%+-".contains(c));
    match random.below(4) {
        _ if !may_split(format) || tensor.dims().is_empty() => Placement::Replicated,
        0 => Placement::Rows(axis),
        1 => Placement::Nonzeros(Some(axis)),
        2 if is_plain => {
            let modes = tensor.dims().len();
            let first = random.below(modes);
            let modes = (0..modes).map(|mode| (mode + first) % modes);
            Placement::Blocks(
                modes.zip(axes).map(|(mode, axis)| (mode, (*axis).to_owned())).collect(),
            )
        }
        _ => Placement::Replicated,
    }
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

/// Whether ranks cannot share what they were asked to, or lay out an operand so.
fn is_refused(why: &Diagnostic) -> bool {
    why.code == Code::UnsupportedSchedule
        || ["on ranks are not foretold", "on the order of their entries", "not cut by this mode"]
            .iter()
            .any(|end| why.message.ends_with(end))
}

/// How what a rank found differs from one process, if it does.
fn difference(
    expected: &Run<tamis::Results>,
    found: &Run<Found>,
) -> Result<Option<String>, Diagnostic> {
    let (expected, found) = match (expected, found) {
        (Err(expected), Err(found)) if expected.code == found.code => return Ok(None),
        (_, Err(found)) if is_refused(found) => return Ok(None),
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
