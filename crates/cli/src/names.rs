//! Values of options that are one of some names: shells complete them, and help lists them.
//!
//! Whoever reads such an option refuses other names, and tells which one is likely meant.

use crate::streams;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use tamis::explain::Stage;
use tamis::format::NAMED;
use tamis::{Backend, DataType, KernelKind, Language};
use tamis_io::FileFormat;

/// So many bytes a program in a file has at most.
const LONGEST: u64 = 1 << 20;

/// Statements as they are written, or those of a file that is named behind `@`.
pub fn program(text: &str) -> Result<String, String> {
    let Some(name) = text.strip_prefix('@') else { return Ok(text.to_owned()) };
    let told = |e: io::Error| format!("{name}: {e}");
    let source: Box<dyn Read> = match name {
        "-" => {
            streams::take_for_program();
            Box::new(io::stdin())
        }
        name => Box::new(File::open(name).map_err(told)?),
    };
    let mut program = String::new();
    source.take(LONGEST + 1).read_to_string(&mut program).map_err(told)?;
    match program.len() as u64 > LONGEST {
        true => Err(format!("{name}: a program has at most {LONGEST} bytes")),
        // Editors on Windows put a byte order mark before a text.
        false => Ok(program.trim_start_matches('\u{feff}').to_owned()),
    }
}

/// The names of an option's values.
#[derive(Clone)]
pub struct Names(Vec<&'static str>);

impl Names {
    /// Those of stages.
    pub fn of_stages() -> Names {
        Names(Stage::ALL.map(Stage::name).to_vec())
    }

    /// Those of kinds of kernels.
    pub fn of_kinds() -> Names {
        Names(KernelKind::ALL.map(KernelKind::name).to_vec())
    }

    /// Those of backends.
    pub fn of_backends() -> Names {
        Names(Backend::ALL.map(Backend::name).to_vec())
    }

    /// Those of element types.
    pub fn of_types() -> Names {
        Names(DataType::ALL.map(DataType::name).to_vec())
    }

    /// Those of file formats.
    pub fn of_file_formats() -> Names {
        Names(FileFormat::NAMED.map(|(name, _)| name).to_vec())
    }

    /// Those of formats of tensors; some take arguments, as in `bcsr(4,4)`.
    pub fn of_formats() -> Names {
        Names(NAMED.iter().map(|named| named.name).collect())
    }

    /// Those of languages of libraries.
    pub fn of_languages() -> Names {
        Names(Language::ALL.map(Language::name).to_vec())
    }
}

impl TypedValueParser for Names {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        option: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, option, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(PossibleValue::new)))
    }
}
