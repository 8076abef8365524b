//! `tamis run` on several ranks: processes that MPI started, or threads of this one.

use crate::args::RunArgs;
use crate::failure::{Failure, invalid};
use crate::{json, run, streams};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Instant;
use tamis::dist::{
    Communicator, Counted, Described, Distributed, Grid, Mpi, Placements, agree, on_threads, phase,
    same,
};
use tamis::notation::Program;
use tamis::{Code, Diagnostic, Kernel, Options, Results, Schedule, Storage, Tensor};

/// More threads as ranks are of no use.
const MOST_THREADS: usize = 256;

/// What computes.
#[derive(Clone, Copy)]
pub enum Ranks<'m> {
    /// This process alone.
    One,
    /// So many threads of it.
    Threads(usize),
    /// The processes that MPI started.
    Mpi(&'m Mpi),
}

impl Ranks<'_> {
    /// How many there are.
    pub fn count(self) -> usize {
        match self {
            Ranks::One => 1,
            Ranks::Threads(ranks) => ranks,
            Ranks::Mpi(mpi) => mpi.ranks(),
        }
    }

    /// Whether there are several, so that each has a part of the operands.
    pub fn are_several(self) -> bool {
        self.count() > 1
    }

    /// Does work on the ranks of this process, which are numbered; what each gave.
    pub fn each<T: Send>(
        self,
        work: impl Fn(&dyn Communicator, usize) -> Result<T, Diagnostic> + Sync,
    ) -> Result<Vec<T>, Diagnostic> {
        match self {
            Ranks::One => Ok(vec![]),
            Ranks::Threads(ranks) => {
                on_threads(ranks, |comm| work(comm, comm.rank())).into_iter().collect()
            }
            Ranks::Mpi(mpi) => Ok(vec![work(mpi, 0)?]),
        }
    }
}

/// An operand.
pub enum Operand {
    /// All of it.
    Whole(Tensor),
    /// What each rank of this process has.
    OfRanks(Vec<Distributed>),
    /// What is known of one that is kept on disk.
    OnDisk(Described),
}

/// The grid of ranks, and where tensors lie on it.
#[derive(Clone)]
pub struct Layout {
    pub grid: Grid,
    pub placements: Placements,
}

impl Layout {
    /// What the command line says of so many ranks.
    pub fn of(
        grid: Option<&str>,
        schedule: &Schedule,
        placements: Placements,
        ranks: usize,
    ) -> Result<Layout, Diagnostic> {
        Ok(Layout { grid: Grid::of(grid, schedule, &placements, ranks)?, placements })
    }
}

/// The operands of a program by name.
pub enum Operands {
    /// All of them.
    Whole(Vec<(String, Tensor)>),
    /// What each rank of this process has.
    OfRanks(Vec<Vec<(String, Distributed)>>),
}

impl Operands {
    /// Splits operands over the ranks, unless they are split already, and moves them where they are wanted.
    pub fn on(
        ranks: Ranks<'_>,
        all: Vec<(String, Operand)>,
        Layout { grid, placements }: &Layout,
    ) -> Result<Operands, Diagnostic> {
        let mut whole = vec![];
        let mut of_ranks: Vec<Vec<(String, Distributed)>> = ranks.each(|_, _| Ok(vec![]))?;
        for (name, operand) in all {
            let parts = match operand {
                Operand::Whole(tensor) if of_ranks.is_empty() => {
                    whole.push((name, tensor));
                    continue;
                }
                Operand::Whole(tensor) => {
                    ranks.each(|comm, _| phase(comm, || Distributed::split(comm, &tensor)))?
                }
                Operand::OfRanks(parts) => parts,
                Operand::OnDisk(_) => unreachable!("ranks keep nothing on disk"),
            };
            let lie = |comm: &dyn Communicator, rank: usize| {
                phase(comm, || parts[rank].clone().placed_as(comm, grid, (&name, placements)))
            };
            let parts = ranks.each(lie)?;
            of_ranks.iter_mut().zip(parts).for_each(|(all, part)| all.push((name.clone(), part)));
        }
        match of_ranks.is_empty() {
            true => Ok(Operands::Whole(whole)),
            false => Ok(Operands::OfRanks(of_ranks)),
        }
    }

    /// A program compiled for them.
    pub fn compile(&self, program: Program, options: &Options) -> Result<Kernel, Diagnostic> {
        match self {
            Operands::Whole(all) => Kernel::of_program(program, &named(all), options),
            Operands::OfRanks(all) => Kernel::of_distributed(program, &named(&all[0]), options),
        }
    }

    /// What is going to be slow.
    pub fn warnings(&self, kernel: &Kernel) -> Result<Vec<Diagnostic>, Diagnostic> {
        match self {
            Operands::Whole(all) => kernel.warnings(&named(all)),
            Operands::OfRanks(all) => kernel.warnings_of_distributed(&named(&all[0])),
        }
    }

    /// What they are.
    pub fn json(&self) -> Vec<serde_json::Value> {
        match self {
            Operands::Whole(all) => all.iter().map(|(name, t)| json::tensor(name, t)).collect(),
            Operands::OfRanks(all) => {
                all[0].iter().map(|(name, t)| json::distributed(name, t)).collect()
            }
        }
    }

    /// Runs a kernel. Results that go to folders stay on the ranks; others are whole.
    pub fn run(
        &self,
        ranks: Ranks<'_>,
        kernel: &Kernel,
        (outputs, layout): (&[(String, PathBuf)], &Layout),
    ) -> Result<Ran, Diagnostic> {
        match self {
            Operands::Whole(all) => {
                let start = Instant::now();
                let results = kernel.run(&named(all))?;
                let seconds = start.elapsed().as_secs_f64();
                Ok(Ran { results: whole(results), seconds, sent: None })
            }
            Operands::OfRanks(all) => {
                let run = |comm: &dyn Communicator, rank: usize| {
                    distributed(comm, (kernel, layout), &named(&all[rank]), outputs)
                };
                let ran = ranks.each(run)?;
                Ok(ran.into_iter().reduce(Ran::joined).expect("there is a rank"))
            }
        }
    }
}

/// Operands as kernels take them.
pub fn named<T>(all: &[(String, T)]) -> Vec<(&str, &T)> {
    all.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect()
}

/// A result.
pub enum Outcome {
    /// All of it.
    Whole(Tensor),
    /// What each rank of this process has.
    OfRanks(Vec<Distributed>),
}

impl Outcome {
    /// How it is stored.
    pub fn storage(&self) -> &Storage {
        match self {
            Outcome::Whole(tensor) => tensor.storage(),
            Outcome::OfRanks(parts) => parts[0].storage(),
        }
    }
}

/// Results by name.
pub type Outcomes = Vec<(String, Outcome)>;

/// The results of one process.
pub fn whole(results: Results) -> Outcomes {
    results.into_iter().map(|(name, tensor)| (name, Outcome::Whole(tensor))).collect()
}

/// What a run gave.
pub struct Ran {
    /// The results.
    pub results: Outcomes,
    /// How long it took, without cutting operands and gathering results.
    pub seconds: f64,
    /// How many ranks there were, and how many bytes they sent each other meanwhile.
    pub sent: Option<(usize, u64)>,
}

impl Ran {
    /// With what another rank of this process has.
    fn joined(mut self, other: Ran) -> Ran {
        for ((_, all), (_, other)) in self.results.iter_mut().zip(other.results) {
            if let (Outcome::OfRanks(all), Outcome::OfRanks(other)) = (all, other) {
                all.extend(other);
            }
        }
        self
    }
}

fn distributed(
    comm: &dyn Communicator,
    (kernel, Layout { grid, placements }): (&Kernel, &Layout),
    operands: &[(&str, &Distributed)],
    outputs: &[(String, PathBuf)],
) -> Result<Ran, Diagnostic> {
    phase(comm, || {
        let counted = Counted::new(comm);
        agree(comm, Ok(()))?;
        let start = Instant::now();
        let results = kernel.run_on_grid(&counted, grid, operands)?;
        let seconds = start.elapsed().as_secs_f64();
        let sent = comm.all_gather(&counted.counts().sent.to_le_bytes())?;
        let sent =
            sent.iter().map(|bytes| bytes.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b)));
        let sent = Some((comm.ranks(), sent.sum()));
        let to_folder =
            |name: &str| outputs.iter().any(|(n, path)| n == name && tamis_io::is_folder(path));
        let outcome = |(name, part): (String, Distributed)| match to_folder(&name) {
            true => {
                let part = part.placed_as(comm, grid, (&name, placements))?;
                Ok((name, Outcome::OfRanks(vec![part])))
            }
            false => Ok((name, Outcome::Whole(part.gather(comm)?))),
        };
        let results = results.into_iter().map(outcome).collect::<Result<_, Diagnostic>>()?;
        Ok(Ran { results, seconds, sent })
    })
}

/// Runs the command on the ranks that are asked for. The first rank alone prints and writes.
pub fn run(args: &RunArgs, out: &mut dyn Write) -> Result<(), Failure> {
    match (args.mpi, args.ranks) {
        (true, Some(_)) => {
            Err(invalid("--ranks", "MPI says how many ranks there are", "leave it out"))
        }
        (false, Some(ranks)) if ranks > MOST_THREADS => {
            let reason = format!("more than {MOST_THREADS} threads as ranks");
            let help = "start processes with mpiexec, and use --mpi";
            Err(invalid(&format!("--ranks {ranks}"), &reason, help))
        }
        (false, Some(0)) => {
            Err(invalid("--ranks 0", "there is nothing to run on", "use at least 1"))
        }
        (false, None) => run::run(args, Ranks::One, out),
        (false, Some(ranks)) => run::run(args, Ranks::Threads(ranks), out),
        (true, None) => under_mpi(args, out),
    }
}

/// Refuses what the ranks of MPI would do each in its way.
fn check_alike(args: &RunArgs) -> Result<(), Failure> {
    if args.tune {
        let reason = "each rank would find other schedules fastest";
        return Err(invalid("--tune", reason, "tune in one process, and give the schedule by -s"));
    }
    let Some(file) = streams::first_read_once(&args.tensors.inputs) else { return Ok(()) };
    let help = "give a file that every rank can read";
    Err(invalid(&format!("-i {file}"), "what is read once is of one rank", help))
}

fn under_mpi(args: &RunArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let mpi = Mpi::world()?;
    let is_first = mpi.rank() == 0;
    let mut nowhere = io::sink();
    let out = if is_first { out } else { &mut nowhere };
    let arguments: Vec<String> = std::env::args().collect();
    let mut failure = None;
    let outcome = phase(&mpi, || {
        same(&mpi, "the command line", arguments.join("\0").as_bytes())?;
        let mut own = || {
            check_alike(args)?;
            let mut outputs = args.outputs.clone();
            // Others write their parts of folders.
            outputs.retain(|output| is_first || tamis_io::is_folder(output.as_ref()));
            run::run(&RunArgs { outputs, ..args.clone() }, Ranks::Mpi(&mpi), out)
        };
        own().map_err(|error| {
            let told = match &error {
                Failure::Diagnostic(diagnostic) => diagnostic.clone(),
                Failure::File(file) => {
                    let is_request = error.exit_code() == 2;
                    let code = if is_request { Code::InvalidOption } else { Code::InvalidTensor };
                    Diagnostic::new(code, file.to_string()).help(&file.help)
                }
            };
            failure = Some(error);
            told
        })
    });
    let told = mpi.end(outcome, |told| {
        if is_first {
            // Some launchers end all ranks as soon as one has ended.
            failure = Some(failure.take().unwrap_or_else(|| told.clone().into()));
            let _ = failure.iter().try_for_each(|failure| tell(failure, args.json));
        }
    });
    match told {
        Ok(()) => Ok(()),
        Err(told) => {
            std::process::exit(i32::from(failure.unwrap_or_else(|| told.into()).exit_code()))
        }
    }
}

fn tell(failure: &Failure, as_json: bool) -> io::Result<()> {
    if as_json {
        let error = serde_json::json!({"error": json::failure(failure)});
        return json::print(&mut io::stdout(), error);
    }
    failure.report();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check_alike;
    use crate::args::{Cli, Command};
    use clap::Parser;

    #[test]
    fn what_each_rank_would_do_in_its_way_is_refused() {
        let check = |more: &[&str]| {
            let run = ["tamis", "run", "y(i) = x(i)", "--mpi"];
            let cli = Cli::try_parse_from(run.iter().chain(more)).unwrap();
            let Command::Run(args) = cli.command else { panic!("another command") };
            check_alike(&args).is_ok()
        };
        assert!(check(&["-i", "x=a-.tns"]));
        for standard in ["x=-", "x= -", "-", "x=/dev/stdin"] {
            assert!(!check(&["-i", standard]), "{standard}");
        }
        assert!(!check(&["-i", "x=x.tns", "--tune"]));
    }
}
