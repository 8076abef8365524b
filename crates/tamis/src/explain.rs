//! What the compiler makes of a program, stage by stage, without operands.

use crate::backend::Backend;
use std::collections::BTreeMap;
use tamis_core::backend::c;
use tamis_core::cin;
use tamis_core::datatype::{DataType, IndexWidth};
use tamis_core::diagnostic::{Code, Diagnostic};
use tamis_core::format::{self, FormatSpec, Storage};
use tamis_core::ids::TensorId;
use tamis_core::iteration::explain as iteration;
use tamis_core::legalise::Request;
use tamis_core::notation::{self, Program};
use tamis_core::pipeline;
use tamis_core::transform::Target;

/// A stage of compilation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Index notation with its sums written out.
    Notation,
    /// Concrete index notation.
    Cin,
    /// The schedule.
    Schedule,
    /// The iteration graph.
    Graph,
    /// The iteration lattices.
    Lattice,
    /// The imperative form.
    Ir,
    /// C.
    C,
    /// CUDA.
    Cuda,
    /// Machine code.
    Asm,
}

impl Stage {
    /// Every stage in order.
    pub const ALL: [Stage; 9] = [
        Stage::Notation,
        Stage::Cin,
        Stage::Schedule,
        Stage::Graph,
        Stage::Lattice,
        Stage::Ir,
        Stage::C,
        Stage::Cuda,
        Stage::Asm,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Notation => "notation",
            Stage::Cin => "cin",
            Stage::Schedule => "schedule",
            Stage::Graph => "graph",
            Stage::Lattice => "lattice",
            Stage::Ir => "ir",
            Stage::C => "c",
            Stage::Cuda => "cuda",
            Stage::Asm => "asm",
        }
    }

    /// The stage of this name.
    pub fn parse(name: &str) -> Option<Stage> {
        Stage::ALL.into_iter().find(|s| s.name() == name)
    }
}

/// A program and how its tensors are stored.
pub struct Explanation<'p> {
    program: &'p Program,
    inputs: BTreeMap<TensorId, Storage>,
    results: BTreeMap<TensorId, FormatSpec>,
}

impl<'p> Explanation<'p> {
    /// The program with these formats; operands without one are dense.
    pub fn of(
        program: &'p Program,
        formats: &BTreeMap<String, FormatSpec>,
    ) -> Result<Explanation<'p>, Diagnostic> {
        let mut explanation =
            Explanation { program, inputs: BTreeMap::new(), results: BTreeMap::new() };
        let mut written: Vec<TensorId> = vec![];
        for statement in &program.statements {
            for access in statement.value.accesses() {
                if !written.contains(&access.tensor) {
                    let decl = &program.tensors[access.tensor];
                    let dense = || format::parse("dense", Some(decl.order));
                    let spec = formats.get(&decl.name).cloned().map_or_else(dense, Ok)?;
                    explanation.inputs.insert(access.tensor, spec.resolve(DataType::F64)?);
                }
            }
            written.push(statement.result.tensor);
        }
        for (name, spec) in formats {
            if let Some(id) = program.tensor(name).filter(|id| written.contains(id)) {
                explanation.results.insert(id, spec.clone());
            }
        }
        Ok(explanation)
    }

    fn compiled(&self, target: Target) -> Result<pipeline::Compiled, Diagnostic> {
        let request = Request {
            program: self.program,
            inputs: self.inputs.clone(),
            results: self.results.clone(),
            datatype: None,
            dims: BTreeMap::new(),
            width: IndexWidth::I32,
            parallel: false,
        };
        pipeline::compile(&request, target)
    }

    /// One stage as text.
    pub fn stage(&self, stage: Stage) -> Result<String, Diagnostic> {
        let compiled = |backend: Backend| self.compiled(backend.target());
        Ok(match stage {
            Stage::Notation => format!("{}\n", notation::make_explicit(self.program)?),
            Stage::Cin => cin::print::program(&compiled(Backend::Interpreter)?.program),
            Stage::Schedule => "# no commands: the order of loops is chosen\n".to_owned(),
            Stage::Graph => iteration::graph(&compiled(Backend::Interpreter)?.program),
            Stage::Lattice => iteration::lattices(&compiled(Backend::Interpreter)?.program),
            Stage::Ir => {
                let functions = compiled(Backend::Interpreter)?.functions;
                functions.iter().map(|l| l.function.to_string()).collect()
            }
            Stage::C => {
                let functions = compiled(Backend::C)?.functions;
                c::emit(&functions.iter().map(|l| &l.function).collect::<Vec<_>>())
            }
            Stage::Asm => {
                let functions = compiled(Backend::Jit)?.functions;
                let texts: Result<Vec<String>, Diagnostic> =
                    functions.iter().map(|l| tamis_jit::listing(&l.function)).collect();
                texts?.concat()
            }
            Stage::Cuda => {
                let message = "there is no CUDA backend yet";
                return Err(Diagnostic::new(Code::UnsupportedBackend, message).help("use --emit c"));
            }
        })
    }
}
