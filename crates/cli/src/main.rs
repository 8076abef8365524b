//! The `tamis` command. Exit status: 0 done, 1 the computation or a file failed, 2 the request is
//! wrong.
//!
//! # Modules
//!
//! | module | what it does |
//! |---|---|
//! | `args` `names` | the command line; values that shells complete |
//! | `run` `explain` `build` `convert` `info` `formats` | the commands |
//! | `profile` | where the time of a run goes, and what one is going to take |
//! | `ranks` | `run` on several ranks: processes that MPI started, or threads |
//! | `out_of_core` `part_by_part` | `run` part by part, on files that are larger than memory |
//! | `parts` | files that ranks read in parts |
//! | `statements` | the statements of a command, as written or of a file |
//! | `streams` | what can be read only once: standard input, pipes and devices |
//! | `inputs` `lists` `given` `dimensions` `generate` | operands from files and generators |
//! | `introduction` | what a program computes, in plain words |
//! | `recommend` | formats by what is measured, with their bytes |
//! | `picture` | where entries are, and how long rows are |
//! | `about` | version and manual |
//! | `progress` | what takes long, on the last line of a terminal |
//! | `failure` | exit status |
//! | `notes` | what users may want to know of kernels |
//! | `json` | what `--json` prints |
//! | `written` | text files |

mod about;
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
mod introduction;
mod json;
mod lists;
mod names;
mod notes;
mod out_of_core;
mod part_by_part;
mod parts;
mod picture;
mod profile;
mod progress;
mod ranks;
mod recommend;
mod run;
mod statements;
mod streams;
mod written;

use args::{Cli, Command};
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};
use failure::Failure;
use statements::Statements;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

/// Operands that are read unordered are large.
#[global_allocator]
static ALLOCATOR: tamis::HugePages = tamis::HugePages;

fn main() -> ExitCode {
    tamis::ending::on_signals();
    tamis::end_with_diagnostic();
    let wants_json = std::env::args_os().any(|argument| argument == "--json");
    let command = match parse() {
        Ok(cli) => cli.command,
        Err(error) if error.kind() == ErrorKind::InvalidUtf8 => {
            return told(&mut std::io::stdout().lock(), &not_text(), wants_json);
        }
        Err(error) if wants_json && error.use_stderr() => return refused(&error),
        // There may be no room for help where it is printed.
        Err(error) => match error.print() {
            Ok(()) => return ExitCode::from(error.exit_code() as u8),
            Err(e) => return Failure::from(e).report(),
        },
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    let level = tamis::processor::level().map_err(Failure::from);
    let done = level.and_then(|_| act(command, &mut out)).and_then(|()| Ok(out.flush()?));
    if let (Err(failure), true) = (&done, wants_json) {
        return told(&mut out, failure, true);
    }
    drop(out);
    if let Some(reason) = tamis::cache_refusal() {
        failure::note(&format!("without a cache of compiled kernels: {reason}"));
    }
    if let (Ok(()), Some(refusal)) = (&done, tamis::compiler_refusal()) {
        failure::note(&format!("without the C compiler: {}", refusal.message));
    }
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// The command line. What `--version` tells takes long to find out, so only it asks.
fn parse() -> Result<Cli, clap::Error> {
    let mut command = Cli::command();
    if std::env::args_os().any(|argument| argument == "--version") {
        command = command.long_version(about::version());
    }
    Cli::from_arg_matches(&command.try_get_matches()?)
}

/// An argument that is no text, as a file name may be.
fn not_text() -> Failure {
    let mut arguments = std::env::args_os();
    let argument = arguments.find(|argument| argument.to_str().is_none()).unwrap_or_default();
    let help = "give the file another name, or read it from standard input: -i A=- < FILE";
    failure::invalid(&argument.to_string_lossy(), "this is not UTF-8", help)
}

/// Tells a failure, as JSON where that is asked for.
fn told(out: &mut dyn Write, failure: &Failure, as_json: bool) -> ExitCode {
    let print = |out: &mut dyn Write| {
        json::print(out, serde_json::json!({"error": json::failure(failure)}))?;
        out.flush()
    };
    match as_json.then(|| print(out)) {
        Some(Ok(())) => failure.status(),
        // Nothing more fits there, or it is not asked for.
        _ => failure.report(),
    }
}

/// A command line that is wrong, as JSON.
fn refused(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    let lines = || text.lines().map(str::trim);
    let message: Vec<&str> = lines().take_while(|line| !line.is_empty()).collect();
    let message = message.join(" ");
    let message = message.trim_start_matches("error: ");
    let tip = lines().find_map(|line| line.strip_prefix("tip: "));
    let help = tip.or_else(|| lines().find(|line| line.starts_with("Usage: ")));
    let error = serde_json::json!({"code": "invalid-option", "message": message, "help": help, "place": null});
    let _ = json::print(&mut std::io::stdout(), serde_json::json!({"error": error}));
    ExitCode::from(2)
}

/// Does what the command line asks for; what it prints goes to `out`.
fn act(command: Command, out: &mut dyn Write) -> Result<(), Failure> {
    match command {
        Command::Run(mut args) => {
            let statements = Statements::read(&mut args.expression)?;
            ranks::run(&args, out)
                .map_err(|told| statements.located(told.with_files(&args.tensors.inputs)))
        }
        Command::Explain(mut args) => {
            let statements = Statements::read(&mut args.expression)?;
            explain::explain(&args, out)
                .map_err(|told| statements.located(told.with_files(&args.tensors.inputs)))
        }
        Command::Build(mut args) => {
            let statements = Statements::read(&mut args.expression)?;
            build::build(&args, out).map_err(|told| statements.located(told))
        }
        Command::Convert(args) => convert::convert(&args, out),
        Command::Info(args) => info::info(&args, out),
        Command::Formats(args) => formats::formats(&args, out),
        Command::Man { command } => about::man(command.as_deref(), out),
        Command::Completions { shell } => {
            let mut script = vec![];
            clap_complete::generate(shell, &mut Cli::command(), "tamis", &mut script);
            Ok(out.write_all(&script)?)
        }
    }
}
