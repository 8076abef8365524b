//! What takes part in one column of a table.

use std::rc::Rc;

use tamis::Backend;

use crate::contender::{Absent, Role};
use crate::files::Named;
use crate::inputs::{Csf3, Csr};
use crate::measure::{Compared, Started};
use crate::operation::Part;
use crate::problem::{Input, Problem};
use crate::program::Program;

/// A problem, which libraries compute where they have the operation, and programs of Tamis beside.
pub struct Case {
    /// What libraries and kernels by hand compute.
    pub problem: Option<Problem>,
    /// The programs.
    pub programs: Vec<Entrant>,
}

/// A program with the name under which it stands in a table.
pub struct Entrant {
    /// The name.
    pub name: String,
    /// The program, or why there is none.
    pub program: Result<Program, String>,
    /// What compiles it.
    pub backend: Backend,
    /// On so many threads.
    pub threads: usize,
    /// What of its result is compared.
    pub compared: Compared,
}

impl Case {
    /// Programs beside what libraries compute.
    pub fn new(problem: Option<Problem>, programs: Vec<Entrant>) -> Self {
        Self { problem, programs }
    }

    /// The bytes of the first operand by program: the sparse one.
    pub fn storage(&self) -> Vec<(String, usize)> {
        let bytes = |entrant: &Entrant| {
            let program = entrant.program.as_ref().ok()?;
            Some((entrant.name.clone(), program.operands.first()?.1.bytes()))
        };
        self.programs.iter().filter_map(bytes).collect()
    }
}

impl Entrant {
    /// A program compiled by the system's C compiler, on one thread.
    pub fn new(name: &str, program: Result<Program, String>) -> Self {
        Self {
            name: format!("tamis {name}"),
            program,
            backend: Backend::C,
            threads: 1,
            compared: Compared::Whole,
        }
    }

    /// The same compiled in process.
    pub fn jit(name: &str, program: Result<Program, String>) -> Self {
        Self { backend: Backend::Jit, ..Self::new(&format!("{name}, JIT"), program) }
    }

    /// The same under another rule of comparison.
    pub fn compared(self, compared: Compared) -> Self {
        Self { compared, ..self }
    }

    /// Gets ready to run.
    pub fn start<'a>(self) -> Started<'a> {
        let part = self.program.as_ref().is_ok_and(|program| program.part.is_some());
        let role = match (part, self.backend) {
            (true, _) => Role::TamisPart,
            (false, Backend::Jit) => Role::TamisJit,
            _ => Role::TamisC,
        };
        Started {
            name: self.name,
            role,
            compared: self.compared,
            prepared: self
                .program
                .map_err(Absent::NotAvailable)
                .and_then(|program| program.prepare(self.backend, self.threads)),
        }
    }
}

impl Named {
    /// The matrix.
    pub fn matrix(&self) -> Result<Rc<Csr>, String> {
        match &self.input {
            Input::Matrix(a) => Ok(a.clone()),
            Input::Tensor(_) => Err("a tensor, not a matrix".to_owned()),
        }
    }

    /// The tensor.
    pub fn tensor(&self) -> Result<Rc<Csf3>, String> {
        match &self.input {
            Input::Tensor(b) => Ok(b.clone()),
            Input::Matrix(_) => Err("a matrix, not a tensor".to_owned()),
        }
    }
}

/// A program that finds entries or values alone.
pub fn part(program: Program, part: Part) -> Program {
    Program { part: Some(part), ..program }
}
