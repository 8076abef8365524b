//! Tamis beside its peers, a specialist's kernels and the limits of the machine, in one run.
//!
//! Inputs are generated, every contender computes every operation it has, results are compared, and medians
//! are printed as a table. `README.md` says what is fair about it and how to read it.

mod bars;
mod clock;
mod contender;
mod hand;
mod inputs;
mod limits;
mod measure;
mod operation;
mod pages;
mod peers_eigen;
mod peers_python;
mod peers_rust;
mod problem;
mod process;
mod program;
mod report;
mod schedules;
mod studies;
mod tamis_contender;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clock::Clock;
use contender::Contender;
use limits::Limits;
use measure::{Effort, Race};
use operation::{OPERATIONS, Operation};
use pages::Pages;
use problem::{Input, Problem};
use report::Report;
use studies::STUDIES;
use tamis::temporary::Temporary;

const USAGE: &str = "\
usage: tamis-bench [--quick] [--only OPERATION,...] [--inputs INPUT,...] [--threads N]
                   [--pages huge|small] [--clock wall|processor] [--save]
       tamis-bench --schedules [--quick] [--only STUDY,...] [--inputs INPUT,...] [--save]

  --schedules  studies instead of races: one program in several ways, on one and two threads (fused original
             spmv spmm32 mttkrp32 skewed tiled)

  --quick    few repetitions: a first impression
  --only     operations by name or beginning of a name: spmv spmm spmm64 spadd hadamard ttv ttm mttkrp sddmm
             spadd7 spgemm spgemm-unsorted spgemm-0.0025 mttkrp32-sparse spmv-coo spmv-dia spmv-bcsr spadd-coo
             coo-csr csr-csc csr-dia csr-bcsr
  --inputs   inputs by name: lap2d_1000 lap3d_100 fem60k rmat17 uni500k, smaller ones (lap2d_128 lap3d_25
             fem15k rmat14 uni16k), densities10k, and tensors (uni1000 zipf5m)
  --threads  how many threads contenders may use (default: 1); kernels by hand and crates use one
  --pages    the pages that everybody's arrays lie on (default: huge)
  --clock    what a second is: processor leaves out the turns of other programs (default: wall)
  --save     write bench/out/<date>.json and bench/out/latest.md";

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let options = match Options::parse(&arguments) {
        Ok(Some(options)) => options,
        Ok(None) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            eprintln!("{message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("results disagree");
            ExitCode::FAILURE
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the benchmark; whether all results agreed.
fn run(options: &Options) -> Result<bool, String> {
    options.pages.adopt();
    options.clock.choose();
    let parent = std::env::temp_dir();
    let work = Temporary::folder(&parent).map_err(|e| format!("{}: {e}", parent.display()))?;
    if options.schedules {
        return options.finish(&studied(options, work.path()));
    }
    let cores = process::pin_to_cores(options.threads)?;
    let contenders = contenders(work.path(), options.threads);
    let limits = Limits::measure(options.threads);
    let races = race_all(options, &contenders, &limits);
    let bars = match options.threads {
        1 => [bars::of_races(&races, &limits), tamis_contender::other_bars()].concat(),
        _ => bars::of_races_on_several(&races, &limits),
    };
    let conditions = vec![
        ("processor", format!("{}, cores {cores:?}", process::processor())),
        ("threads", options.threads.to_string()),
        ("pages", options.pages.describe()),
        ("clock", options.clock.name().into()),
        ("effort", format!("{:?}", options.effort)),
        ("Rust code", rust_target().into()),
    ];
    options.finish(&Report { conditions, limits, races, studies: vec![], bars })
}

/// Studies of schedules on as many threads as each way says.
fn studied(options: &Options, work: &Path) -> Report {
    let hand = hand::Hand::compile(work);
    let limits = Limits::measure(1);
    let wants_input = |name: &str| options.wants_input(name);
    let studies = schedules::run(&|name| options.wants(name), &wants_input, &hand, options.effort);
    let conditions = vec![
        ("processor", process::processor()),
        ("pages", options.pages.describe()),
        ("effort", format!("{:?}", options.effort)),
    ];
    let bars = schedules::bars(&studies);
    Report { conditions, limits, races: vec![], studies, bars }
}

fn contenders(work: &Path, threads: usize) -> Vec<Box<dyn Contender>> {
    let mut all: Vec<Box<dyn Contender>> = vec![Box::new(hand::Hand::compile(work))];
    all.extend(tamis_contender::contenders(threads));
    all.push(Box::new(peers_rust::Sprs));
    all.push(Box::new(peers_rust::Faer));
    all.push(Box::new(peers_rust::Nalgebra));
    all.push(Box::new(peers_eigen::Eigen::compile(work)));
    all.extend(peers_python::contenders(work, threads));
    all
}

/// Every race; its row is shown when it is over.
fn race_all(options: &Options, contenders: &[Box<dyn Contender>], limits: &Limits) -> Vec<Race> {
    let mut inputs = BTreeMap::new();
    let mut races = Vec::new();
    for operation in options.operations() {
        for &name in operation.inputs().iter().filter(|name| options.wants_input(name)) {
            let input = inputs.entry(name).or_insert_with(|| Input::generate(name));
            let Some(input) = input else { continue };
            let Some(problem) = Problem::new(operation, name, input) else { continue };
            eprintln!("{operation} {name}");
            let race = measure::race(&problem, input.describe(), contenders, options.effort);
            eprintln!("{}", report::row(&race, limits));
            races.push(race);
        }
    }
    races
}

/// Peers written in Rust are at the mercy of the flags this program was compiled with.
fn rust_target() -> &'static str {
    match (cfg!(target_feature = "avx512f"), cfg!(target_feature = "avx2")) {
        (true, _) => "compiled for AVX-512",
        (_, true) => "compiled for AVX2",
        _ => {
            "compiled for the baseline of the architecture (RUSTFLAGS=-Ctarget-cpu=native for more)"
        }
    }
}

/// What the command line asks for.
struct Options {
    effort: Effort,
    only: Vec<String>,
    inputs: Vec<String>,
    threads: usize,
    pages: Pages,
    clock: Clock,
    save: bool,
    schedules: bool,
}

impl Options {
    /// `None` when only help is wanted.
    fn parse(arguments: &[OsString]) -> Result<Option<Self>, String> {
        let mut options = Self {
            effort: Effort::FULL,
            only: Vec::new(),
            inputs: Vec::new(),
            threads: 1,
            pages: Pages::Huge,
            clock: Clock::Wall,
            save: false,
            schedules: false,
        };
        let mut rest = arguments.iter().map(|argument| argument.to_string_lossy());
        while let Some(argument) = rest.next() {
            let mut value = || rest.next().ok_or(format!("{argument} wants a value"));
            match argument.as_ref() {
                "--quick" => options.effort = Effort::QUICK,
                "--save" => options.save = true,
                "--schedules" => options.schedules = true,
                "--only" => options.only = list(&value()?),
                "--inputs" => options.inputs = list(&value()?),
                "--threads" => options.threads = threads(&value()?)?,
                "--pages" => options.pages = pages(&value()?)?,
                "--clock" => options.clock = clock(&value()?)?,
                "--help" | "-h" => return Ok(None),
                _ => return Err(format!("unknown argument {argument}")),
            }
        }
        options.check()?;
        Ok(Some(options))
    }

    fn check(&self) -> Result<(), String> {
        if self.threads > 1 && self.clock == Clock::Processor {
            return Err("the processor's clock counts one thread".to_owned());
        }
        let all: Vec<(String, &[&str])> = match self.schedules {
            true => STUDIES.iter().map(|s| (s.name.to_owned(), s.inputs)).collect(),
            false => OPERATIONS.iter().map(|o| (o.to_string(), o.inputs())).collect(),
        };
        let unknown = |only: &&String| !all.iter().any(|(name, _)| name.starts_with(only.as_str()));
        if let Some(only) = self.only.iter().find(unknown) {
            return Err(format!("nothing to run begins with {only}"));
        }
        let known = |name: &String| all.iter().any(|(_, inputs)| inputs.contains(&name.as_str()));
        match self.inputs.iter().find(|name| !known(name)) {
            Some(name) => Err(format!("there is no input {name}")),
            None => Ok(()),
        }
    }

    fn operations(&self) -> impl Iterator<Item = Operation> {
        OPERATIONS.into_iter().filter(|operation| self.wants(&operation.to_string()))
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| name.starts_with(only.as_str()))
    }

    /// Shows a report, and saves it; whether all results agreed.
    fn finish(&self, report: &Report) -> Result<bool, String> {
        println!("{}", report.markdown());
        if self.save {
            let out = Path::new(env!("CARGO_MANIFEST_DIR")).join("out");
            let path = report.save(&out).map_err(|e| format!("{}: {e}", out.display()))?;
            eprintln!("saved {}", path.display());
        }
        Ok(report.agrees())
    }

    fn wants_input(&self, name: &str) -> bool {
        self.inputs.is_empty() || self.inputs.iter().any(|input| input == name)
    }
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::to_string).collect()
}

fn threads(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|&count| count > 0);
    count.ok_or(format!("--threads is a number of threads, not {text}"))
}

fn pages(text: &str) -> Result<Pages, String> {
    match text {
        "huge" => Ok(Pages::Huge),
        "small" => Ok(Pages::Small),
        _ => Err(format!("--pages is huge or small, not {text}")),
    }
}

fn clock(text: &str) -> Result<Clock, String> {
    let named = |clock: &Clock| clock.name() == text;
    let clock = [Clock::Wall, Clock::Processor].into_iter().find(named);
    clock.ok_or(format!("--clock is wall or processor, not {text}"))
}
