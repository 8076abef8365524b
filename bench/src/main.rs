//! Tamis beside its peers, a specialist's kernels and the limits of the machine, in one run.
//!
//! Inputs are generated, every contender computes every operation it has, results are compared, and medians
//! are printed as a table. `README.md` says what is fair about it and how to read it.

mod bars;
mod clock;
mod contender;
mod files;
mod hand;
mod inputs;
mod limits;
mod measure;
mod operation;
mod options;
mod pages;
mod papers;
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
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contender::Contender;
use limits::Limits;
use measure::Race;
use options::{Options, USAGE, What};
use papers::Paper;
use problem::{Input, Problem};
use report::Report;
use tamis::temporary::Temporary;

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
    match &options.what {
        What::Schedules => return finish(options, &studied(options, work.path())),
        What::Papers(papers, files) => return of_papers(options, papers, files, work.path()),
        What::Races => {}
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
    finish(options, &Report { conditions, limits, races, studies: vec![], bars })
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

/// Shows a report, and saves it; whether all results agreed.
fn finish(options: &Options, report: &Report) -> Result<bool, String> {
    println!("{}", report.markdown());
    if options.save {
        let out = Path::new(env!("CARGO_MANIFEST_DIR")).join("out");
        let path = report.save(&out).map_err(|e| format!("{}: {e}", out.display()))?;
        eprintln!("saved {}", path.display());
    }
    Ok(report.agrees())
}

/// The tables and figures of papers; whether all results agreed.
fn of_papers(
    options: &Options,
    papers: &[&Paper],
    files: &[PathBuf],
    work: &Path,
) -> Result<bool, String> {
    let cores = process::pin_to_cores(options.cores())?;
    let contenders = contenders(work, 1);
    let files = papers::read(files);
    let mut agrees = true;
    for paper in papers {
        let load = process::load();
        let request = papers::Request {
            contenders: &contenders,
            effort: options.effort,
            extent: options.extent,
            files: &files,
            wants: &|figure| options.wants(figure),
            wants_input: &|input| options.wants_input(input),
        };
        let shown = papers::run(paper, &request);
        let conditions = vec![
            ("command", options.command.clone()),
            ("date", report::now()),
            ("machine", process::machine()),
            ("cores", format!("{cores:?}, load {load} before and {} after", process::load())),
            ("pages", options.pages.describe()),
            ("clock", options.clock.name().into()),
            ("effort", format!("{:?}", options.effort)),
            ("Rust code", rust_target().into()),
        ];
        println!("{}", papers::section(paper, &shown, &conditions));
        agrees &= shown.iter().all(papers::Shown::agrees);
        if options.save {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
            let saved = papers::save(folder, paper, &shown, &conditions);
            saved.map_err(|e| format!("{}: {e}", folder.display()))?;
        }
    }
    Ok(agrees)
}
