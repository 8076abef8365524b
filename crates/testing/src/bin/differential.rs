//! The differential test: random programs on a backend against the dense reference.
//!
//! `differential [--seconds N] [--count N] [--seed N] [--values any|infinite|near]
//! [--backend jit|c|interp|interp-vectors|cuda|cuda-emulated] [--schedules some|all]
//! [--cpu LEVEL|each] [--cc PROGRAM] [--batch N] [--print wrong|all]`
//!
//! `--cpu each` runs so many programs, or so long, at each processor level that the machine has. `--cc`
//! names the C compiler; with `--batch N`, so many programs go to it at once and are compared with the
//! interpreter.
//!
//! With `--values near` operands are integers near the limits of their types, with `--values infinite`
//! ones and infinities.
//!
//! On a GPU, emulated or not, most programs have loops on its units by a schedule, others by themselves; the
//! interpreter, which checks that their iterations are independent, has some as well.
//!
//! With `--schedules all` every program that some command fits has a schedule. With `--print all` each
//! is printed before it runs, so that one that ends the process is seen.
//!
//! `differential [--backend B] --case FILE` runs a program that was found, as it was printed.
//!
//! `differential --illegal N [--seed N]` draws schedules that nobody checked until so many were refused,
//! each of which needs a diagnostic with its location, a reason and a way out; those that are accepted are run.
//! It tells how many commands are accepted as they are drawn.
//!
//! `differential --hostile N [--seed N]` compiles so many programs that ask for much compilation, each to the
//! imperative form and to machine code, and tells the time that the slowest take.
//!
//! `differential --huge N [--seed N]` draws so many programs of dimensions up to 2^62 - 1, runs them in the interpreter and
//! as machine code, and compares them with the same programs of small dimensions. It tells why programs are not
//! run that would take long.
//!
//! `differential --shares N [--seed N]` runs none of so many programs, but tells how many of them run
//! in parts when asked, and gives one of each kind that do not; with `--on-gpu N`, how many run on a GPU
//! as a whole where no schedule says how.
//!
//! `differential --texts N [--seed N]` runs none of so many programs, but prints a hash of the code that each
//! compiles to: two builds of the compiler that are meant to generate the same code print the same lines.
//!
//! `differential --libraries N [--seed N]` builds so many programs as libraries in C and in Rust with the compilers
//! `cc`, `c++` and `rustc`, runs them, and compares what they print with the interpreter.

//!
//! `differential --distributed N [--seed N]` runs so many programs on 1 to 16 ranks, each a thread, and compares
//! their results with those of one process, bit by bit; some programs say which loop ranks share. `differential --over-mpi N [--seed N]`, started by
//! `mpiexec`, does so on its processes.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tamis::dist::Communicator;
use tamis::processor::{self, Level};
use tamis::temporary::Temporary;
use tamis::{Backend, Diagnostic};
use tamis_testing::case::Case;
use tamis_testing::check::{Outcome, check};
use tamis_testing::coverage::{Shares, SharesOnGpu};
use tamis_testing::huge::{self, Found};
use tamis_testing::illegal::Draws;
use tamis_testing::random::Random;
use tamis_testing::schedules;
use tamis_testing::shrink::shrink;
use tamis_testing::{
    batch, distributed, filetest, generate, hostile, infinite, libraries, limits, texts,
};

fn main() -> ExitCode {
    let mut seed = 1;
    let mut report: Option<(Print, u64)> = None;
    let mut levels = vec![];
    let mut run = Run::default();
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        let value = args.next().unwrap_or_default();
        let number = || value.parse().unwrap_or(1);
        match flag.as_str() {
            "--seconds" => run.seconds = number(),
            "--count" => run.count = number(),
            "--shares" => report = Some((print_shares as Print, number())),
            "--illegal" => report = Some((print_refused, number())),
            "--hostile" => report = Some((print_hostile, number())),
            "--huge" => report = Some((print_huge, number())),
            "--texts" => report = Some((print_texts, number())),
            "--distributed" => report = Some((print_distributed, number())),
            "--over-mpi" => report = Some((print_over_mpi, number())),
            "--libraries" => report = Some((print_libraries, number())),
            "--on-gpu" => report = Some((print_shares_on_gpu, number())),
            "--seed" => seed = number(),
            "--cpu" if value == "each" => levels = Level::supported().collect(),
            "--cpu" => match Level::parse(&value).and_then(processor::set_level) {
                Ok(()) => {}
                Err(d) => return refused(&d.to_string()),
            },
            "--cc" => match tamis::use_c_compiler(&value) {
                Ok(()) => {}
                Err(d) => return refused(&d.to_string()),
            },
            "--batch" => run.batch = number() as usize,
            "--schedules" => run.scheduled = value == "all",
            "--print" => run.printed = value == "all",
            "--case" => return run_case(&value, run.backend),
            "--values" => run.values = value,
            "--backend" => run.backend = Backend::parse(&value).unwrap_or_default(),
            _ => return refused(&format!("unknown option {flag}")),
        }
    }
    if let Some((print, count)) = report {
        return print(seed, count);
    }
    if levels.is_empty() {
        return exit(processor::level().and_then(|level| run.at(level, &mut seed)));
    }
    exit(levels.into_iter().try_fold(true, |right, level| Ok(right && run.at(level, &mut seed)?)))
}

/// Which random programs run, how many, and on what.
struct Run {
    seconds: u64,
    count: u64,
    backend: Backend,
    /// Which values operands have.
    values: String,
    scheduled: bool,
    printed: bool,
    /// How many programs are compiled by one call of the C compiler, if several are.
    batch: usize,
}

impl Default for Run {
    fn default() -> Run {
        let (seconds, count, backend) = (u64::MAX, u64::MAX, Backend::Jit);
        let (values, scheduled, printed, batch) = (String::new(), false, false, 1);
        Run { seconds, count, backend, values, scheduled, printed, batch }
    }
}

impl Run {
    /// Runs random programs from a seed on, at a level of the processor; whether all are right.
    fn at(&self, level: Level, seed: &mut u64) -> Result<bool, Diagnostic> {
        processor::set_level(level)?;
        let backend = self.backend;
        let deadline = Instant::now().checked_add(Duration::from_secs(self.seconds.min(1 << 30)));
        let (mut right, mut invalid) = (0u64, 0u64);
        while right < self.count && deadline.is_none_or(|d| Instant::now() < d) {
            if self.batch > 1 {
                let seeds = *seed..*seed + self.batch as u64;
                *seed = seeds.end;
                let cases: Vec<Case> = seeds.map(|at| generate::case(&mut random(at))).collect();
                match batch::check(&cases) {
                    Ok(valid) => right += valid,
                    Err((case, why)) => {
                        println!("at {}: {why}\n{case}", level.name());
                        return Ok(false);
                    }
                }
                continue;
            }
            let mut random = random(*seed);
            let case = drawn(&mut random, backend, self.scheduled);
            let (case, check) = with_values(&self.values, case, &mut random);
            if self.printed {
                println!("seed {seed}:\n{case}");
            }
            let check = |case: &Case| check(case, backend);
            match check(&case) {
                Outcome::Right => right += 1,
                Outcome::Invalid => invalid += 1,
                Outcome::Wrong(problem) => {
                    print_wrong(*seed, &format!("at {}: {problem}", level.name()), &case, &check);
                    return Ok(false);
                }
            }
            *seed += 1;
        }
        let (on, level) = (backend.name(), level.name());
        println!("{right} random programs right on {on} at {level}, {invalid} draws invalid");
        Ok(true)
    }
}

/// The exit status for whether everything was right.
fn exit(done: Result<bool, Diagnostic>) -> ExitCode {
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(d) => refused(&d.to_string()),
    }
}

/// Tells why nothing was run.
fn refused(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::from(2)
}

/// Runs what a file tells of a program, from its line that begins with `#` on.
fn run_case(file: &str, backend: Backend) -> ExitCode {
    let cases = std::fs::read_to_string(file)
        .map_err(|e| e.to_string())
        .and_then(|text| filetest::cases(&text[text.find('#').unwrap_or(0)..]));
    let outcomes = match cases {
        Ok(cases) => cases.iter().map(|case| check(case, backend)).collect::<Vec<_>>(),
        Err(why) => return refused(&format!("{file}: {why}")),
    };
    outcomes.iter().for_each(|outcome| println!("{outcome:?}"));
    match outcomes.iter().all(|outcome| *outcome == Outcome::Right) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Prints a program that is wrong, and a smaller one.
fn print_wrong(seed: u64, problem: &str, case: &Case, check: &dyn Fn(&Case) -> Outcome) {
    println!("seed {seed}: {problem}\n{case}");
    let small = shrink(case, &|c: &Case| matches!(check(c), Outcome::Wrong(_)));
    println!("shrunk, {:?}:\n{small}", check(&small));
}

/// What the random program of a seed is drawn from.
fn random(seed: u64) -> Random {
    Random::new(seed.wrapping_mul(0x1234_5678_9ABC_DEF1))
}

/// A random program for a backend, with a schedule in any case or now and then.
fn drawn(random: &mut Random, backend: Backend, scheduled: bool) -> Case {
    let mut case = generate::case(random);
    if scheduled && case.schedule.is_empty() {
        case.schedule = schedules::schedule(random, &case);
    }
    put_on_gpu(random, &mut case, backend);
    case
}

/// How a case is checked.
type Check = fn(&Case, Backend) -> Outcome;

/// A case with values of a kind, and how it is checked.
fn with_values(kind: &str, case: Case, random: &mut Random) -> (Case, Check) {
    match kind {
        "infinite" => (infinite::drawn(&case, random), infinite::check),
        "near" => (limits::drawn(&case, random), limits::check),
        _ => (case, check),
    }
}

/// Prints what is told of so many programs from a seed on.
type Print = fn(u64, u64) -> ExitCode;

/// Builds so many programs as libraries in C and in Rust, and prints the wrong ones.
fn print_libraries(seed: u64, count: u64) -> ExitCode {
    const AT_ONCE: u64 = 40;
    let folder = Temporary::folder(&std::env::temp_dir()).expect("there is room for a folder");
    let mut wrong = 0;
    for batch in 0..count.div_ceil(AT_ONCE) {
        let samples = libraries::drawn(&mut random(seed + batch), AT_ONCE as usize);
        for (language, found) in [
            ("C", libraries::wrong_in_c(&samples, folder.path())),
            ("Rust", libraries::wrong_in_rust(&samples, folder.path())),
        ] {
            wrong += found.len();
            found.iter().for_each(|what| println!("seed {}: in {language}: {what}", seed + batch));
        }
    }
    println!("{} programs as libraries, {wrong} wrong", count.div_ceil(AT_ONCE) * AT_ONCE);
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs so many programs on several ranks, and prints the first that is wrong.
fn print_distributed(seed: u64, count: u64) -> ExitCode {
    let (mut right, mut at) = (0, seed);
    while right < count {
        let mut random = random(at);
        let mut case = generate::case(&mut random);
        let ranks = *random.pick(&distributed::RANKS);
        put_on_ranks(&mut random, &mut case);
        match distributed::check(&case, ranks) {
            Outcome::Right => right += 1,
            Outcome::Invalid => {}
            Outcome::Wrong(problem) => {
                print_wrong(at, &problem, &case, &|case| distributed::check(case, ranks));
                return ExitCode::FAILURE;
            }
        }
        at += 1;
    }
    println!("{right} random programs on several ranks as in one process, of {} drawn", at - seed);
    ExitCode::SUCCESS
}

/// Runs so many programs on the processes that MPI started, until one is wrong on some rank.
fn print_over_mpi(seed: u64, count: u64) -> ExitCode {
    let mpi = match tamis::dist::Mpi::world() {
        Ok(mpi) => mpi,
        Err(d) => return refused(&d.to_string()),
    };
    let (mut right, mut at) = (0, seed);
    let mut outcome = Ok(());
    while right < count && outcome.is_ok() {
        let mut random = random(at);
        let mut case = generate::case(&mut random);
        put_on_ranks(&mut random, &mut case);
        let found = match distributed::check_on(&case, &mpi) {
            Outcome::Right => {
                right += 1;
                Ok(())
            }
            Outcome::Invalid => Ok(()),
            Outcome::Wrong(problem) => {
                println!("seed {at}: {problem}\n{case}");
                Err(Diagnostic::new(tamis::Code::Internal, problem))
            }
        };
        outcome = tamis::dist::agree(&mpi, found);
        at += 1;
    }
    let (is_first, ranks) = (mpi.rank() == 0, mpi.ranks());
    let outcome = mpi.end(outcome, |_| ());
    if is_first && outcome.is_ok() {
        println!("{right} random programs on {ranks} processes as in one");
    }
    if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs so many programs of huge dimensions, prints the wrong ones, and why others are not run.
fn print_huge(seed: u64, count: u64) -> ExitCode {
    huge::limit_memory();
    let (mut right, mut invalid, mut wrong) = (0, 0, 0);
    let mut not_run: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for at in seed..seed + count {
        let Some(program) = huge::drawn(&mut random(at)) else {
            invalid += 1;
            continue;
        };
        match huge::check(&program) {
            Found::Right => right += 1,
            Found::Invalid => invalid += 1,
            Found::NotRun(why) => not_run.entry(why).or_insert((0, at)).0 += 1,
            Found::Wrong(problem) => {
                wrong += 1;
                println!("seed {at}: {problem}\n{}", program.case);
                let found = |case: &Case| huge::check(&program.with(case));
                let small = shrink(&program.case, &|c| matches!(found(c), Found::Wrong(_)));
                println!("shrunk, {:?}:\n{small}", found(&small));
            }
        }
    }
    for (why, (count, first)) in not_run {
        println!("{count} not run, the first is that of seed {first}: {why}");
    }
    println!("{right} programs of huge dimensions right, {invalid} draws invalid, {wrong} wrong");
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints how many programs run in parts.
fn print_shares(seed: u64, count: u64) -> ExitCode {
    let mut shares = Shares::default();
    (seed..seed + count).for_each(|at| shares.count(&generate::case(&mut random(at))));
    for (name, share) in [("sparse", shares.sparse), ("full", shares.full)] {
        let (parallel, all, exempt) = (share.parallel, share.all(), share.exempt);
        println!("{name} results: {parallel} of {all} in parts, {exempt} without loops to cut");
        for (whole, (count, example)) in share.whole {
            println!("{count} {whole:?}, such as\n{example}");
        }
    }
    ExitCode::SUCCESS
}

/// Prints what becomes of schedules that nobody checked, until so many were refused.
fn print_refused(seed: u64, count: u64) -> ExitCode {
    let mut draws = Draws::default();
    for at in seed.. {
        let mut random = random(at);
        let case = generate::case(&mut random);
        if let Err(problem) = draws.count(&mut random, &case) {
            println!("seed {at}: {problem}");
            return ExitCode::FAILURE;
        }
        if draws.refused >= count {
            break;
        }
    }
    let Draws { accepted, drawn, refused, legal } = draws;
    println!("{refused} schedules refused with a diagnostic, {legal} accepted and right");
    println!("{accepted} of {drawn} commands accepted as they were drawn");
    ExitCode::SUCCESS
}

/// Prints how long programs take that ask for much compilation.
fn print_hostile(seed: u64, count: u64) -> ExitCode {
    let (mut slowest, mut refused, mut panics) = (vec![], 0, 0);
    for at in seed..seed + count {
        let program = hostile::program(&mut random(at));
        let (outcome, took) = hostile::compile(&program);
        match outcome {
            hostile::Outcome::Compiled => {}
            hostile::Outcome::Refused(_) => refused += 1,
            hostile::Outcome::Panicked => {
                panics += 1;
                println!("seed {at}: a panic\n{program}");
            }
        }
        slowest.push((took, at, program.kind));
    }
    slowest.sort_by_key(|s| std::cmp::Reverse(s.0));
    for (took, at, kind) in slowest.iter().take(20) {
        println!("{took:?} seed {at}: {kind}");
    }
    println!("{count} programs, {refused} refused, {panics} panics");
    match panics {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Prints a hash of the code of each program.
fn print_texts(seed: u64, count: u64) -> ExitCode {
    for at in seed..seed + count {
        let case = drawn(&mut random(at), Backend::Interpreter, false);
        println!("{at} {:016x}", texts::hash(&case));
    }
    ExitCode::SUCCESS
}

/// Prints how many programs run on a GPU.
fn print_shares_on_gpu(seed: u64, count: u64) -> ExitCode {
    let mut shares = SharesOnGpu::default();
    (seed..seed + count).for_each(|at| shares.count(&generate::case(&mut random(at))));
    for (name, share) in [("sparse", shares.sparse), ("full", shares.full)] {
        println!("{name} results: {} of {} on a GPU", share.whole, share.all());
        for (why, (count, example)) in share.host {
            println!("{count}: {why}, such as\n{example}");
        }
    }
    ExitCode::SUCCESS
}

/// Gives some cases a loop that ranks share.
fn put_on_ranks(random: &mut Random, case: &mut Case) {
    if random.one_in(2) {
        case.schedule = schedules::on_ranks(random, case);
    }
}

/// Gives some cases loops on a GPU, where the backend has one, or checks what they do.
fn put_on_gpu(random: &mut Random, case: &mut Case, backend: Backend) {
    let wanted = match backend {
        Backend::Cuda | Backend::CudaEmulated => !random.one_in(3),
        Backend::Interpreter => random.one_in(3),
        _ => false,
    };
    if wanted {
        case.schedule = schedules::on_gpu(random, case, &case.schedule);
    }
}
