//! Whether compiling or running a program may take long: then signals are looked for meanwhile, which
//! takes some microseconds.

use std::collections::BTreeMap;
use tamis::Tensor;
use tamis::notation::Program;

/// So many steps may take long.
const LONG: f64 = 1e10;

/// Programs that read tensors so many times may take long to compile.
const LARGE: usize = 64;

/// What tells of a program, before its operands are known, how long it may take.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// Whether compiling may take long.
    pub(crate) is_large: bool,
    /// At most so many times a statement reads one tensor.
    uses: i32,
}

impl Effort {
    pub(crate) fn of(program: &Program) -> Effort {
        let reads = || program.statements.iter().map(|statement| statement.value.accesses().len());
        let uses = reads().max().map_or(0, |most| i32::try_from(most).unwrap_or(i32::MAX));
        Effort { is_large: reads().sum::<usize>() > LARGE, uses }
    }

    /// Whether running may take long: at most a kernel meets all values of its operands, each with
    /// each, or all coordinates of its index variables, of which some have sizes by name.
    pub(crate) fn is_long(
        self,
        program: &Program,
        sizes: &BTreeMap<String, u64>,
        operands: &[(&str, Tensor)],
    ) -> bool {
        let product = |sizes: &[u64]| sizes.iter().map(|&n| n.max(1) as f64).product::<f64>();
        let values: f64 = operands.iter().map(|(_, x)| x.vals().len().max(1) as f64).product();
        if values > LONG {
            return true;
        }
        // Small operands, which are to cost nothing, have no more coordinates than this.
        let elements: f64 = operands.iter().map(|(_, x)| product(x.dims())).product();
        let named: f64 = sizes.values().map(|&n| n.max(1) as f64).product();
        elements.powi(self.uses) * named > LONG && steps(program, sizes, operands) > LONG
    }
}

/// How many coordinates the index variables of a statement have together, at most.
fn steps(program: &Program, sizes: &BTreeMap<String, u64>, operands: &[(&str, Tensor)]) -> f64 {
    let named =
        program.vars.enumerate().filter_map(|(var, decl)| Some((var, sizes.get(&decl.name)?)));
    let named: BTreeMap<_, _> = named.collect();
    let steps = program.statements.iter().map(|statement| -> f64 {
        let mut sizes = named.clone();
        for access in statement.value.accesses() {
            let name = &program.tensors[access.tensor].name;
            let known = operands.iter().find(|(own, _)| own == name);
            let dims = known.map_or(&[][..], |(_, tensor)| tensor.dims());
            sizes.extend(access.indices.iter().copied().zip(dims));
        }
        sizes.values().map(|&&size| size as f64).product()
    });
    steps.fold(0.0, f64::max)
}
