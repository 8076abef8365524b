//! Project chores: `cargo xtask ci | tidy | python | mpi | targets | bless | bench | gpu | differential | cliffs`.

mod mpi;
mod python;
mod tidy;

use std::env::consts::EXE_SUFFIX;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Instant;

const HELP: &str = "cargo xtask COMMAND
  ci                   everything that has to hold before a change lands
  tidy                 layers, sizes, maps, recipes, words, links, filetests, error coverage, dependencies, variables
  python               build the Python package and run its tests
  mpi [ARGS]           ranks under the MPI libraries of PyPI, and ends of ranks: --hosts, --kills N
  targets              check that the command and the library build for other systems and processors
  bless                rewrite what filetests expect
  bench [ARGS]         race Tamis against its peers
  bench --paper N      tables and figures of papers: 000 to 004 or all, --files FILE.mtx.gz ..., --quick, --save
  bench --calls        what calls cost: a small one, and a solver beside the same by hand
  bench --formats      formats against each other, one beside csr: --only TABLE,... [FILE.mtx ...]
  gpu [ARGS]           check kernels on a GPU against the processor, and time them: --quick
  differential [ARGS]  random programs: --seconds N, --count N, --seed N, --backend NAME
  cliffs [ARGS]        equivalent programs that take far more than each other: --count N, --seed N, --reasons";

/// Tests and the differential run share one profile, so that Cranelift is built once.
const PROFILE: &str = "ci";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rest: Vec<&str> = args.iter().skip(1).map(String::as_str).collect();
    let done = match args.first().map(String::as_str) {
        Some("ci") => ci(),
        Some("tidy") => tidy::run(),
        Some("python") => python::test(PROFILE),
        Some("mpi") => mpi::test(PROFILE, &rest),
        Some("targets") => targets(),
        Some("bless") => cargo(
            &["test", "--profile", PROFILE, "-p", "tamis-testing", "--test", "filetests"],
            &[],
            Some("BLESS"),
        ),
        Some("bench") if rest.first() == Some(&"--calls") => cargo(
            &["run", "--release", "-p", "tamis-testing", "--bin", "calls", "--"],
            &rest[1..],
            None,
        ),
        Some("bench") if rest.first() == Some(&"--formats") => cargo(
            &["run", "--release", "-p", "tamis-testing", "--bin", "formats", "--"],
            &rest[1..],
            None,
        ),
        Some("bench") => {
            cargo(&["run", "--release", "--manifest-path", "bench/Cargo.toml", "--"], &rest, None)
        }
        Some("gpu") => {
            cargo(&["run", "--release", "-p", "tamis-testing", "--bin", "gpu", "--"], &rest, None)
        }
        Some("differential") => cargo(
            &["run", "--release", "-p", "tamis-testing", "--bin", "differential", "--"],
            &rest,
            None,
        ),
        Some("cliffs") => cargo(
            &["run", "--release", "-p", "tamis-testing", "--bin", "cliffs", "--"],
            &rest,
            None,
        ),
        _ => {
            println!("{HELP}");
            return ExitCode::from(2);
        }
    };
    if done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A step of `ci`: its name, and what says whether it holds.
type Step = (&'static str, fn() -> bool);

fn ci() -> bool {
    let steps: [Step; 13] = [
        ("format", || cargo(&["fmt", "--all", "--check"], &[], None)),
        ("clippy", || {
            let lints = ["--", "-D", "warnings"];
            cargo(
                &["clippy", "--quiet", "--workspace", "--all-targets", "--profile", PROFILE],
                &lints,
                None,
            )
        }),
        ("features", features),
        ("tidy", tidy::run),
        ("tests", tests),
        ("doctests", || {
            cargo(&["test", "--quiet", "--doc", "--workspace", "--profile", PROFILE], &[], None)
        }),
        ("neighbours", neighbours),
        ("documentation", documentation),
        ("packages", packages),
        ("python", || python::test(PROFILE)),
        ("mpi", || mpi::test(PROFILE, &[])),
        ("differential", || testing("differential", &["--cpu", "each", "--seconds", "3"])),
        ("cliffs", || testing("cliffs", &["--count", "1000"])),
    ];
    // What Python needs comes over the network while others compute.
    let installing = thread::spawn(python::install);
    let holds = steps.into_iter().all(|(name, step)| holds(name, step));
    let _ = installing.join();
    holds
}

fn holds(name: &str, step: fn() -> bool) -> bool {
    println!("== {name}");
    let start = Instant::now();
    let holds = step();
    println!(
        "== {name} {} in {:.1} s",
        if holds { "holds" } else { "FAILED" },
        start.elapsed().as_secs_f64()
    );
    holds
}

/// The library with each of its features alone, and without any, has no warning; other steps have all.
fn features() -> bool {
    ["", "jit", "c-tier", "cuda", "io", "serde"].iter().all(|feature| {
        let chosen = ["--no-default-features", "--features", feature, "--profile", PROFILE];
        let lints = ["--", "-D", "warnings"];
        cargo(&[&["clippy", "--quiet", "-p", "tamis"], &chosen[..]].concat(), &lints, None)
    })
}

/// Conversions from and to crates that are too large for all other steps to have them: their tests and their examples.
fn neighbours() -> bool {
    let runtime =
        ["-p", "tamis-runtime", "--features", "faer,nalgebra-sparse", "--profile", PROFILE];
    let run = |command: &[&str], rest: &[&str]| cargo(&[command, &runtime].concat(), rest, None);
    run(&["test", "--quiet", "--test", "matrices"], &[])
        && run(&["test", "--quiet", "--doc"], &["neighbours"])
}

/// What builds beside Linux on x86-64, and with all features, without a warning: checked, not run. `rustup` adds what
/// compiles for each.
fn targets() -> bool {
    let targets = [
        "aarch64-unknown-linux-gnu",
        "aarch64-apple-darwin",
        "x86_64-apple-darwin",
        "x86_64-pc-windows-msvc",
    ];
    let lints = ["--", "-D", "warnings"];
    let all =
        ["clippy", "--quiet", "-p", "tamis", "-p", "tamis-runtime", "--all-features", "--tests"];
    cargo(&all, &lints, None)
        && targets.iter().all(|target| {
            println!("== {target}");
            let added = Command::new("rustup").args(["target", "add", target]).status();
            if !added.is_ok_and(|s| s.success()) {
                println!("rustup has no {target}");
                return false;
            }
            let packages =
                ["-p", "tamis", "-p", "tamis-cli", "-p", "tamis-testing", "--target", target];
            cargo(&[&["clippy", "--quiet"], &packages[..]].concat(), &lints, None)
        })
}

/// The documentation of all crates, without a warning.
fn documentation() -> bool {
    let mut command = Command::new("cargo");
    command.args(["doc", "--quiet", "--workspace", "--no-deps", "--profile", PROFILE]);
    command.env("RUSTDOCFLAGS", "-D warnings").status().is_ok_and(|s| s.success())
}

/// The packages of all crates that are published, with what they name: put together, not built. No network is needed;
/// releases try the publication itself.
fn packages() -> bool {
    let mut command = Command::new("cargo");
    command.args([
        "package",
        "--quiet",
        "--workspace",
        "--no-verify",
        "--allow-dirty",
        "--offline",
    ]);
    for name in ["tamis-testing", "tamis-python", "tamis-example-banded", "xtask"] {
        command.args(["--exclude", name]);
    }
    command.status().is_ok_and(|s| s.success())
}

/// Runs a binary of the testing crate, built with the features that tests have: what these built serves.
fn testing(name: &str, rest: &[&str]) -> bool {
    let program = python::target().join(PROFILE).join(format!("{name}{EXE_SUFFIX}"));
    let run = || Command::new(program).args(rest).status().is_ok_and(|s| s.success());
    cargo(&["build", "--quiet", "--profile", PROFILE, "--workspace", "--bin", name], &[], None)
        && run()
}

/// All tests, by nextest where it is installed.
fn tests() -> bool {
    let nextest = Command::new("cargo").args(["nextest", "--version"]).output();
    if nextest.is_ok_and(|o| o.status.success()) {
        return cargo(&["nextest", "run", "--workspace", "--cargo-profile", PROFILE], &[], None);
    }
    cargo(&["test", "--workspace", "--profile", PROFILE, "--lib", "--bins", "--tests"], &[], None)
}

fn cargo(args: &[&str], rest: &[&str], variable: Option<&str>) -> bool {
    let mut command = Command::new("cargo");
    command.args(args).args(rest);
    if let Some(name) = variable {
        command.env(name, "1");
    }
    command.status().is_ok_and(|s| s.success())
}
