//! Values of options that are one of some names: shells complete them, and help lists them.
//!
//! Whoever reads such an option refuses other names, and tells which one is likely meant.

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};
use std::ffi::OsStr;
use tamis::explain::Stage;
use tamis::format::NAMED;
use tamis::{Backend, DataType, KernelKind, Language};
use tamis_io::FileFormat;

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
