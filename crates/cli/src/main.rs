//! The `tamis` command. Exit status: 0 done, 1 the computation or a file failed, 2 the request is
//! wrong.
//!
//! # Modules
//!
//! | module | what it does |
//! |---|---|
//! | `args` | the command line |
//! | `run` `explain` `build` `convert` `info` `formats` | the commands |
//! | `inputs` `given` `dimensions` `generate` | operands from files and generators |
//! | `recommend` | formats by what is measured, with their bytes |
//! | `progress` | what takes long, on the last line of a terminal |
//! | `failure` | exit status |
//! | `json` | what `--json` prints |

mod args;
mod build;
mod convert;
mod dimensions;
mod explain;
mod failure;
mod formats;
mod generate;
mod given;
mod info;
mod inputs;
mod json;
mod progress;
mod recommend;
mod run;

use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use failure::Failure;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

/// Operands that are read unordered are large.
#[global_allocator]
static ALLOCATOR: tamis::HugePages = tamis::HugePages;

fn main() -> ExitCode {
    tamis::ending::on_signals();
    tamis::end_with_diagnostic();
    let command = Cli::parse().command;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let level = tamis::processor::level().map_err(Failure::from);
    let done = level.and_then(|_| act(command, &mut out)).and_then(|()| Ok(out.flush()?));
    drop(out);
    if let Some(reason) = tamis::cache_refusal() {
        failure::note(&format!("without a cache of compiled kernels: {reason}"));
    }
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Does what the command line asks for; what it prints goes to `out`.
fn act(command: Command, out: &mut dyn Write) -> Result<(), Failure> {
    match command {
        Command::Run(args) => run::run(&args, out),
        Command::Explain(args) => explain::explain(&args, out),
        Command::Build(args) => build::build(&args, out),
        Command::Convert(args) => convert::convert(&args, out),
        Command::Info(args) => info::info(&args, out),
        Command::Formats => formats::formats(out),
        Command::Completions { shell } => {
            let mut script = vec![];
            clap_complete::generate(shell, &mut Cli::command(), "tamis", &mut script);
            Ok(out.write_all(&script)?)
        }
    }
}
