//! The kernels of many random programs in one call of the C compiler, which takes a hundred times as
//! long as it takes to run them: C gives the bits of the interpreter.

use crate::case::Case;
use crate::functions::{Functions, bits};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tamis::{Backend, Diagnostic, Scalar};
use tamis_core::cin::Program;
use tamis_core::lower::Lowered;
use tamis_ir::backend::c;
use tamis_runtime::cc::{self, CFunction};

/// A case with its kernels as C has them, and the results of these, interpreted.
struct Interpreted<'c> {
    case: &'c Case,
    functions: Functions,
    kernels: Vec<(Lowered, Vec<Vec<Scalar>>)>,
}

/// How many cases have kernels that run, all of which are right in C; or one that is not, and why.
pub fn check(cases: &[Case]) -> Result<u64, (&Case, String)> {
    let mut valid: Vec<Interpreted<'_>> = cases.iter().filter_map(interpreted).collect();
    let Some(first) = valid.first() else { return Ok(0) };
    let all = valid.iter().flat_map(|case| &case.kernels);
    let all: Vec<_> = all.map(|(lowered, _)| &lowered.function).collect();
    let compiled = cc::compile(&c::emit(&all), &c::entries(&all));
    let mut compiled = compiled.map_err(|d| (first.case, d.to_string()))?.into_iter();
    for program in &mut valid {
        let compiled: Vec<CFunction> = compiled.by_ref().take(program.kernels.len()).collect();
        wrong(program, &compiled).map_or(Ok(()), |why| Err((program.case, why)))?;
    }
    Ok(valid.len() as u64)
}

/// A case whose program is valid, up to the first kernel that fails.
fn interpreted(case: &Case) -> Option<Interpreted<'_>> {
    let run = || -> Result<Interpreted<'_>, Diagnostic> {
        let mut functions = Functions::of(case)?;
        let mut kernels = vec![];
        for (k, lowered) in functions.transformed(Backend::C.target()).into_iter().enumerate() {
            let Ok(run) = functions.run(k, &lowered) else { break };
            kernels.push((lowered, bits(&run.tensor)));
            functions.keep(k, run.tensor);
        }
        // C begins without results of its own.
        Ok(Interpreted { case, functions: Functions::of(case)?, kernels })
    };
    let done = catch_unwind(AssertUnwindSafe(run)).ok()?.ok()?;
    (!done.kernels.is_empty()).then_some(done)
}

/// Whether the result of a kernel is a workspace over parts of a loop: its elements beside the dimension may hold
/// anything, and nothing reads them. Such a result is not compared; those of the kernels that read it are.
fn has_unwritten(program: &Program, kernel: usize) -> bool {
    let workspace = &program.tensors[program.kernels[kernel].result];
    workspace.modes.iter().any(|&mode| program.derived.relation(mode).is_some())
}

/// What C computes otherwise than the interpreter.
fn wrong(program: &mut Interpreted<'_>, compiled: &[CFunction]) -> Option<String> {
    for (k, ((lowered, expected), function)) in program.kernels.iter().zip(compiled).enumerate() {
        let name = &lowered.function.name;
        match program.functions.call(k, lowered, function) {
            Ok(tensor) => {
                let [got, expected] = [&bits(&tensor), expected].map(|b| format!("{b:?}"));
                if got != expected && !has_unwritten(program.functions.program(), k) {
                    return Some(format!("{name} gives {got}, not {expected}"));
                }
                program.functions.keep(k, tensor);
            }
            Err(d) => return Some(format!("{name}: {d}")),
        }
    }
    None
}
