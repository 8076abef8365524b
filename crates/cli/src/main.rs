//! The `tamis` command. Exit status: 0 done, 1 the computation or a file failed, 2 the request is
//! wrong.

mod args;
mod convert;
mod explain;
mod failure;
mod formats;
mod generate;
mod info;
mod inputs;
mod progress;
mod recommend;
mod run;

use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use std::process::ExitCode;

fn main() -> ExitCode {
    tamis::pipes::end_with_reader();
    let done = match Cli::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Convert(args) => convert::convert(&args),
        Command::Info(args) => info::info(&args),
        Command::Formats => formats::formats(),
        Command::Completions { shell } => {
            let mut command = Cli::command();
            clap_complete::generate(shell, &mut command, "tamis", &mut std::io::stdout());
            Ok(())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
