//! `tamis --version` and `tamis man`: what this build is, and its manual.

use crate::args::Cli;
use crate::failure::{Failure, suggested};
use clap::CommandFactory;
use std::io::Write;
use std::sync::LazyLock;
use tamis::{Backend, Code, Diagnostic};

/// One fact a line: the version, the features that were compiled in, the backends that work here, the processor and the level that code is
/// generated for, the C compiler.
pub fn version() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(facts);
    &TEXT
}

fn facts() -> String {
    let backends = Backend::ALL.iter().filter(|backend| backend.is_available());
    let backends: Vec<&str> = backends.map(|backend| backend.name()).collect();
    let level = match tamis::processor::level() {
        Ok(level) => level.name().to_owned(),
        Err(told) => told.message,
    };
    let named = std::env::var("TAMIS_CC").ok().filter(|name| !name.is_empty());
    let compiler = match tamis::has_c_compiler() {
        true => named.unwrap_or_else(|| "found".to_owned()),
        false => "none".to_owned(),
    };
    let features: Vec<&str> = tamis::features().collect();
    format!(
        "{}\nfeatures: {}\nbackends: {}\nprocessor: {}\nprocessor level: {level}\nC compiler: {compiler}",
        env!("CARGO_PKG_VERSION"),
        features.join(", "),
        backends.join(", "),
        processor(&tamis::processor::model()),
    )
}

/// The name of a processor, else its architecture, of the lines that tell of it.
fn processor(lines: &str) -> &str {
    let named = lines.lines().filter_map(|line| line.split_once(':'));
    let name = named.filter(|(key, _)| key.trim() == "model name").map(|(_, name)| name.trim());
    name.chain(lines.lines()).next().unwrap_or("unknown")
}

/// Prints the manual page of the command, or of one of its commands.
pub fn man(command: Option<&str>, out: &mut dyn Write) -> Result<(), Failure> {
    // Of the help command there are no pages.
    let mut whole = Cli::command().disable_help_subcommand(true);
    whole.build();
    let page = match command {
        None => whole,
        Some(name) => {
            let names: Vec<&str> = whole.get_subcommands().map(|c| c.get_name()).collect();
            let found = whole.get_subcommands().find(|c| c.get_name() == name);
            found.cloned().ok_or_else(|| {
                let message = format!("there is no command named {name}");
                let help = suggested(name, &names, "the commands are");
                Diagnostic::new(Code::InvalidOption, message).help(help)
            })?
        }
    };
    let source = concat!("tamis ", env!("CARGO_PKG_VERSION"));
    let notes = page.get_after_help().map(ToString::to_string).unwrap_or_default();
    let (has_commands, has_version) = (page.has_subcommands(), page.get_version().is_some());
    let man = clap_mangen::Man::new(page).source(source);
    let out = &mut &mut *out;
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    if has_commands {
        man.render_subcommands_section(out)?;
    }
    writeln!(out, ".SH EXAMPLES AND NOTES\n.nf\n{}\n.fi", roff(&notes))?;
    if has_version {
        man.render_version_section(out)?;
    }
    Ok(())
}

/// Lines as they are in the language of manual pages.
fn roff(text: &str) -> String {
    let lines = text.replace('\\', "\\e").replace('-', "\\-");
    let is_request = |line: &str| line.starts_with(['.', '\'']);
    let kept = |line: &str| if is_request(line) { format!("\\&{line}") } else { line.to_owned() };
    lines.lines().map(kept).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_have_a_name_of_one_line() {
        let lines = "x86_64\nmodel name\t: Some Processor: 3 GHz\nflags\t\t: fpu vme";
        assert_eq!(processor(lines), "Some Processor: 3 GHz");
        assert_eq!(processor("aarch64\nFeatures\t: fp asimd"), "aarch64");
        assert_eq!(processor(&tamis::processor::model()).lines().count(), 1);
    }
}
