//! Dimensions of index variables, from the operands and from what the user says.

use std::collections::BTreeMap;
use tamis_core::diagnostic::{Code, Diagnostic};
use tamis_core::ids::{IdVec, IndexVar, TensorId};
use tamis_core::notation::{Access, Expr, Program};

/// The dimension of each index variable, as far as operands and `given` fix it.
///
/// An operand is known by its dimensions; two uses of a variable must agree.
pub(crate) fn known(
    program: &Program,
    operands: &BTreeMap<TensorId, Vec<u64>>,
    given: &BTreeMap<IndexVar, u64>,
) -> Result<IdVec<IndexVar, Option<u64>>, Diagnostic> {
    let mut dims: IdVec<IndexVar, Option<u64>> = program.vars.iter().map(|_| None).collect();
    let mut origin: BTreeMap<IndexVar, String> = BTreeMap::new();
    for (&var, &dimension) in given {
        dims[var] = Some(dimension);
        origin.insert(var, "the option -d".to_owned());
    }
    let mut sizes: BTreeMap<TensorId, Vec<u64>> = operands.clone();
    for statement in &program.statements {
        let mut accesses: Vec<&Access> = vec![];
        statement.value.walk(&mut |e| {
            if let Expr::Access(access) = e {
                accesses.push(access);
            }
        });
        accesses.push(&statement.result);
        for access in accesses {
            let Some(size) = sizes.get(&access.tensor) else { continue };
            let name = &program.tensors[access.tensor].name;
            if size.len() != access.indices.len() {
                let message = format!(
                    "{name} has {} modes and is used with {}",
                    size.len(),
                    access.indices.len()
                );
                return Err(Diagnostic::new(Code::OrderMismatch, message)
                    .at(&program.source, access.span.clone())
                    .help("use one index variable per mode"));
            }
            for (mode, (&var, &dimension)) in access.indices.iter().zip(size).enumerate() {
                let here = format!("mode {} of {name}", mode + 1);
                match dims[var] {
                    Some(known) if known != dimension => {
                        let message = format!(
                            "index {}: {} has {known}, {here} has {dimension}",
                            program.vars[var].name, origin[&var]
                        );
                        return Err(mismatch(program, access, message));
                    }
                    Some(_) => {}
                    None => {
                        dims[var] = Some(dimension);
                        origin.insert(var, here);
                    }
                }
            }
        }
        let result: Option<Vec<u64>> = statement.result.indices.iter().map(|&v| dims[v]).collect();
        if let Some(result) = result {
            sizes.entry(statement.result.tensor).or_insert(result);
        }
    }
    Ok(dims)
}

fn mismatch(program: &Program, access: &Access, message: String) -> Diagnostic {
    Diagnostic::new(Code::DimensionMismatch, message)
        .at(&program.source, access.span.clone())
        .help("use different index variables, or operands of equal dimension")
}

/// Every dimension, or the diagnostic for the first that nothing fixes.
pub(crate) fn all(
    program: &Program,
    dims: &IdVec<IndexVar, Option<u64>>,
) -> Result<IdVec<IndexVar, u64>, Diagnostic> {
    for (var, dimension) in dims.enumerate() {
        if dimension.is_none() && !program.vars[var].name.is_empty() {
            let decl = &program.vars[var];
            return Err(Diagnostic::new(
                Code::DimensionUnknown,
                format!("nothing fixes the dimension of {}", decl.name),
            )
            .at(&program.source, decl.span.clone())
            .help(format!("give it: -d {}=SIZE", decl.name)));
        }
    }
    Ok(dims.iter().map(|d| d.unwrap_or(0)).collect())
}
