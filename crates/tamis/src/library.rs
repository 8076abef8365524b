//! Programs as text for other compilers: a library in C or a module in Rust that computes without Tamis.

use crate::backend::Backend;
use crate::binding::Sizes;
use crate::explain::Explanation;
use crate::kernel::Kernel;
use crate::operand::operand;
use crate::scattered::is_scattered;
use tamis_core::legalise::Request;
use tamis_core::pipeline;
use tamis_core::standalone::{self, Given, Standalone, c, rust};
use tamis_ir::backend;
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::transform::Target;
use tamis_runtime::processor;

/// The language of a library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// GNU C: `NAME.h` and `NAME.c`.
    C,
    /// Rust without unsafe code or other crates: `NAME.rs`.
    Rust,
}

impl Language {
    /// Every language.
    pub const ALL: [Language; 2] = [Language::C, Language::Rust];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Language::C => "c-library",
            Language::Rust => "rust",
        }
    }

    /// The language of this name.
    pub fn parse(name: &str) -> Option<Language> {
        Language::ALL.into_iter().find(|language| language.name() == name)
    }
}

/// A file of a library.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceFile {
    /// Its name.
    pub name: String,
    /// What is in it.
    pub text: String,
}

impl Explanation<'_> {
    /// The program as the files of a library called `name`, which computes it without Tamis: operands of these formats
    /// and any dimensions in, results out. What the options say of dimensions holds for every call; index variables
    /// that neither they nor operands fix become parameters.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use tamis::explain::Explanation;
    /// use tamis::{Language, Options, format, notation};
    /// # fn main() -> Result<(), tamis::Diagnostic> {
    /// let program = notation::parse("y(i) = A(i,j) * x(j)")?;
    /// let formats = BTreeMap::from([("A".to_owned(), format::parse("csr", Some(2))?)]);
    /// let library = Explanation::of(&program, &formats, &Options::default())?;
    /// let files = library.library("spmv", Language::C)?;
    /// assert_eq!(files[0].name, "spmv.h");
    /// assert!(files[0].text.contains("int spmv(const spmv_A *A, const spmv_x *x, spmv_y *y);"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the program cannot be compiled, the name is no identifier, or a result has a format that kernels do not
    /// write at once.
    pub fn library(&self, name: &str, language: Language) -> Result<Vec<SourceFile>, Diagnostic> {
        check_name(name)?;
        let file = |end: &str, text: String| SourceFile { name: format!("{name}.{end}"), text };
        match language {
            Language::C => {
                let level = self.level.or_else(|| processor::level().ok());
                let library = self.standalone(name, Backend::C.target_of(level), language)?;
                Ok(vec![file("h", c::header(&library, name)), file("c", c::source(&library, name))])
            }
            Language::Rust => {
                let library = self.standalone(name, Target::SCALAR, language)?;
                Ok(vec![file("rs", rust::module(&library, name))])
            }
        }
    }

    /// The program as one function that needs nothing else. What is to be C runs loops that the schedule gives to
    /// threads in parts.
    fn standalone(
        &self,
        name: &str,
        target: Target,
        language: Language,
    ) -> Result<Standalone, Diagnostic> {
        let program = self.request.program;
        for (name, spec) in &self.formats {
            let id = operand(program, name)?;
            let is_result = program.statements.iter().any(|s| s.result.tensor == id);
            if is_result && is_scattered(&spec.format) {
                let message = format!("{name} in {} is packed in two steps", spec.format);
                return Err(Diagnostic::new(Code::FormatProperty, message)
                    .help("ask for another format, such as coo, for the result of a library"));
            }
        }
        let request = Request { threaded: language == Language::C, ..self.request.clone() };
        let mut compiled = pipeline::compile(&request, &self.schedule, target)?;
        if compiled.program.kernels.iter().any(|kernel| kernel.overflow.is_checked()) {
            // Nobody counts the terms of sums before a call.
            compiled = pipeline::with_long_sums(&compiled, target);
        }
        standalone::standalone(name, program, &compiled, &self.given)
    }
}

impl Kernel {
    /// The kernels as one function that needs nothing else; `None` if a result is packed in two steps.
    ///
    /// # Errors
    ///
    /// If nothing fixes the dimensions of a result.
    pub fn standalone(&self, name: &str) -> Result<Option<Standalone>, Diagnostic> {
        let compiled = self.compiled();
        if compiled.program.tensors.iter().any(|tensor| self.is_scattered(&tensor.name)) {
            return Ok(None);
        }
        let Sizes { dims: vars, shapes: tensors } = self.sizes().clone();
        let given = Given { vars, tensors };
        standalone::standalone(name, self.program(), compiled, &given).map(Some)
    }
}

/// Refuses names that are no identifiers of C and Rust.
fn check_name(name: &str) -> Result<(), Diagnostic> {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let is_free = backend::c::identifier(name) == name && backend::rust::identifier(name) == name;
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    if backend::c::is_of_library(name) {
        let message = format!("`{name}` is a name of the C library");
        return Err(Diagnostic::new(Code::Syntax, message).help("choose another name: spmv"));
    }
    if !begins || !name.chars().all(is_word) {
        return Err(Diagnostic::new(Code::Syntax, format!("`{name}` is no name for a library"))
            .help("use lower-case letters, digits and `_`, a letter first: spmv"));
    }
    if !is_free {
        let message =
            format!("`{name}` is a word of C or Rust, or a name that libraries use inside");
        return Err(Diagnostic::new(Code::Syntax, message).help("choose another name: spmv"));
    }
    Ok(())
}
