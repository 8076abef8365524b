//! One race: every contender prepares the same problem, the results are compared, and only then are those
//! that agree timed, in rounds, so that whatever disturbs the machine disturbs them all.

use crate::contender::{Absent, Contender, Prepared, Role};
use crate::operation::{Operation, Order};
use crate::problem::{Output, Problem};

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Rounds, in each of which every contender is timed.
    pub rounds: usize,
    /// Timed runs in a round.
    pub burst: usize,
    /// A contender is not timed again once it has used up so many seconds.
    pub seconds: f64,
}

impl Effort {
    /// For numbers to be quoted.
    pub const FULL: Self = Self { rounds: 7, burst: 10, seconds: 4.0 };
    /// For a first impression.
    pub const QUICK: Self = Self { rounds: 2, burst: 2, seconds: 0.4 };
    /// For the tables of papers, which have many rows.
    pub const PAPER: Self = Self { rounds: 4, burst: 5, seconds: 0.4 };
    /// For a first impression of these.
    pub const PAPER_QUICK: Self = Self { rounds: 1, burst: 2, seconds: 0.1 };
}

/// A round begins with runs of so many seconds that are not timed.
const SETTLING: f64 = 0.03;

/// The outcome of a race.
pub struct Race {
    /// What was computed.
    pub operation: Operation,
    /// On which input.
    pub input: String,
    /// The sparse input, for people.
    pub description: String,
    /// Bytes of operands and result, each of which must cross the memory bus once.
    pub bytes: usize,
    /// One entry per contender, in the order given.
    pub entries: Vec<Entry>,
}

/// How one contender did.
pub struct Entry {
    /// Its name.
    pub name: String,
    /// What it is compared as.
    pub role: Role,
    /// Its times, or why there are none.
    pub outcome: Outcome,
}

/// Times, or why there are none.
pub enum Outcome {
    /// Seconds of each run, in order.
    Seconds(Vec<f64>),
    /// It did not take part.
    Absent(Absent),
    /// It failed, or its result differs from the first contender's that had one.
    Wrong(String),
}

impl Entry {
    /// The median of its times.
    pub fn median(&self) -> Option<f64> {
        let Outcome::Seconds(times) = &self.outcome else { return None };
        let mut times = times.clone();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied()
    }
}

/// Prepares, compares and times.
pub fn race<'c>(
    problem: &'c Problem,
    description: String,
    contenders: &'c [Box<dyn Contender>],
    effort: Effort,
) -> Race {
    let compared = Compared::of(problem.operation);
    let start = |contender: &'c dyn Contender| Started {
        name: contender.name(),
        role: contender.role(),
        compared,
        prepared: contender.prepare(problem),
    };
    let (entries, result_bytes) = timed(contenders.iter().map(|one| start(&**one)), effort);
    Race {
        operation: problem.operation,
        input: problem.input.clone(),
        description,
        bytes: problem.operand_bytes() + result_bytes,
        entries,
    }
}

/// A contender that is prepared, or why it is not.
pub struct Started<'a> {
    /// Its name.
    pub name: String,
    /// What it is compared as.
    pub role: Role,
    /// What of its result is compared.
    pub compared: Compared,
    /// The contender.
    pub prepared: Result<Box<dyn Prepared + 'a>, Absent>,
}

/// What of a result is compared with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// All of it.
    Whole,
    /// All of it, when the columns of each row are sorted.
    AnyOrder,
    /// Its entries, when the columns of each row are sorted: values are not computed.
    Entries,
}

impl Compared {
    /// What of the result of an operation is compared.
    pub fn of(operation: Operation) -> Self {
        match operation {
            Operation::Spgemm(_, Order::Unsorted) => Self::AnyOrder,
            _ => Self::Whole,
        }
    }
}

/// Compares contenders, in the order given, and times them in rounds; also the bytes of the result.
pub fn timed<'a>(
    contenders: impl Iterator<Item = Started<'a>>,
    effort: Effort,
) -> (Vec<Entry>, usize) {
    let mut runners = Vec::new();
    let mut reference = None;
    for contender in contenders {
        let mut runner = Runner::start(contender);
        runner.compare(&mut reference);
        runners.push(runner);
    }
    let count = runners.len();
    for round in 0..effort.rounds {
        for turn in 0..count {
            runners[(turn + round) % count].turn(effort).rest();
        }
    }
    let bytes = reference.map_or(0, |output: Output| output.bytes());
    (runners.into_iter().map(Runner::finish).collect(), bytes)
}

/// A contender in the course of a race.
struct Runner<'a> {
    name: String,
    role: Role,
    state: Result<Box<dyn Prepared + 'a>, Outcome>,
    compared: Compared,
    warm_up: f64,
    times: Vec<f64>,
}

impl<'a> Runner<'a> {
    fn start(contender: Started<'a>) -> Self {
        let Started { name, role, compared, prepared } = contender;
        let state = prepared.map_err(Outcome::Absent);
        Self { name, role, state, compared, warm_up: 0.0, times: Vec::new() }
    }

    /// Runs once; the first result of a race becomes the reference for the others.
    fn compare(&mut self, reference: &mut Option<Output>) {
        let Ok(prepared) = &mut self.state else { return };
        let computed = prepared.run().and_then(|seconds| {
            self.warm_up = seconds;
            let output = prepared.output()?;
            Ok(match self.compared {
                Compared::AnyOrder | Compared::Entries => output.in_order(),
                Compared::Whole => output,
            })
        });
        let verdict = computed.and_then(|output| match reference {
            None => {
                *reference = Some(output);
                Ok(())
            }
            Some(first) if self.compared == Compared::Entries => {
                first.difference_of_entries(&output).map_or(Ok(()), Err)
            }
            Some(first) => first.difference(&output).map_or(Ok(()), Err),
        });
        if let Err(why) = verdict {
            self.state = Err(Outcome::Wrong(why));
        }
        self.rest();
    }

    /// A burst of runs, the first of which are not timed: they find the caches full of what others
    /// left, and threads asleep or on the same core.
    fn turn(&mut self, effort: Effort) -> &mut Self {
        let (mut settled, mut timed) = (0.0, 0);
        while timed < effort.burst {
            let Ok(prepared) = &mut self.state else { break };
            let spent: f64 = self.times.iter().sum();
            if spent > 0.0 && spent + self.warm_up > effort.seconds {
                break;
            }
            match prepared.run() {
                Ok(seconds) if settled < SETTLING => settled += seconds,
                Ok(seconds) => {
                    self.times.push(seconds);
                    timed += 1;
                }
                Err(why) => self.state = Err(Outcome::Wrong(why)),
            }
        }
        self
    }

    fn rest(&mut self) {
        if let Ok(prepared) = &mut self.state {
            prepared.rest();
        }
    }

    fn finish(self) -> Entry {
        let outcome = match self.state {
            Ok(_) => Outcome::Seconds(self.times),
            Err(outcome) => outcome,
        };
        Entry { name: self.name, role: self.role, outcome }
    }
}
