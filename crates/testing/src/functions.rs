//! The functions that programs compile to, before and after the passes.

use crate::case::Case;
use tamis::{Backend, Diagnostic, Kernel, Tensor};
use tamis_core::ir::Function;
use tamis_core::pipeline::{self, Stage};

/// Every function that the compiler makes of a case on its way to the backends.
pub fn of(case: &Case) -> Result<Vec<Function>, Diagnostic> {
    let tensors: Vec<(&str, Tensor)> = case
        .operands
        .iter()
        .map(|o| Ok((o.name.as_str(), o.tensor()?)))
        .collect::<Result<_, Diagnostic>>()?;
    let operands: Vec<(&str, &Tensor)> = tensors.iter().map(|(n, t)| (*n, t)).collect();
    let options = case.options(Backend::Interpreter)?;
    let kernel = Kernel::compile(&case.text, &operands, &options)?;
    let mut functions = vec![];
    for backend in [Backend::Interpreter, Backend::Jit, Backend::C] {
        let program = &kernel.compiled().program;
        pipeline::functions(program, backend.target(), &mut |stage| match stage {
            Stage::Lowered(l) | Stage::Transformed(l) => functions.push(l.function.clone()),
            Stage::Legalised(_) => {}
        });
    }
    Ok(functions)
}
