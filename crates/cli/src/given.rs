//! Which tensors an expression has, which of them are given values, and what is wrong with that.

use crate::failure::{Failure, invalid, suggested};
use crate::inputs::is_result;
use std::collections::BTreeSet;
use tamis::notation::Program;
use tamis::{Code, Diagnostic, Scalar};

/// Refuses operands without a value.
pub fn check_all_given(program: &Program, given: &BTreeSet<&str>) -> Result<(), Failure> {
    let mut written = BTreeSet::new();
    for statement in &program.statements {
        for access in statement.value.accesses() {
            let name = &program.tensors[access.tensor].name;
            if !given.contains(name.as_str()) && !written.contains(name) {
                let message = format!("{name} has neither a file nor a generator");
                let add = || match access.indices.is_empty() {
                    true if Scalar::parse(name).is_some() => {
                        format!("add its value: -i {name}={name}")
                    }
                    true => format!("add its value: -i {name}=0.5"),
                    false => format!("add -i {name}=FILE or -g {name}=DENSITY"),
                };
                return Err(Diagnostic::new(Code::MissingInput, message)
                    .at(&program.source, access.span.clone())
                    .help(tamis::notation::constant(name).unwrap_or_else(add))
                    .into());
            }
        }
        written.insert(program.tensors[statement.result.tensor].name.clone());
    }
    for &name in given {
        let read = program.statements.iter().any(|s| {
            s.value.accesses().iter().any(|a| program.tensors[a.tensor].name == name)
                || ((s.accumulate.is_some() || s.result.is_sliced())
                    && program.tensors[s.result.tensor].name == name)
        });
        if !read {
            let message = format!("{name} is given a value, but the expression only writes it");
            return Err(Diagnostic::new(Code::UnusedInput, message)
                .help("write += to add to what is stored, or drop the option")
                .into());
        }
    }
    Ok(())
}

/// How many indices a tensor has in the expression.
pub fn order_of(program: &Program, name: &str) -> Result<usize, Failure> {
    program.tensor(name).map(|id| program.tensors[id].order).ok_or_else(|| no_tensor(program, name))
}

/// The failure that a name is none of the expression's tensors.
fn no_tensor(program: &Program, name: &str) -> Failure {
    let message = format!("the expression has no tensor named {name}");
    let diagnostic = Diagnostic::new(Code::UnknownTensor, message);
    if let Some(var) = program.var(name) {
        // `transpose(A)` is an element of a tensor named `transpose`.
        let mut accesses = program.statements.iter().flat_map(|s| s.value.accesses());
        let place = accesses.find(|a| a.indices.contains(&var));
        let span = place.map_or(program.vars[var].span.clone(), |a| a.span.clone());
        return diagnostic
            .at(&program.source, span)
            .help(format!(
                "{name} is read as an index variable here; a tensor has indices, as in {name}(i,j)"
            ))
            .into();
    }
    let names: Vec<&str> = program.tensors.iter().map(|t| t.name.as_str()).collect();
    diagnostic.help(suggested(name, &names, "its tensors are")).into()
}

/// The first operand that has no value yet; results are no operands.
pub fn next(program: &Program, is_given: impl Fn(&str) -> bool) -> Option<String> {
    let reads = program.statements.iter().flat_map(|s| s.value.accesses());
    let mut names = reads.map(|access| program.tensors[access.tensor].name.as_str());
    names.find(|name| !is_given(name) && !is_result(program, name)).map(str::to_owned)
}

/// The failure that a tensor is given other dimensions than the expression has indices of it.
pub fn other_order(
    program: &Program,
    name: &str,
    own: usize,
    given: String,
    count: usize,
) -> Failure {
    let names = ["i", "j", "k", "l"];
    let indices: Vec<&str> = names.into_iter().cycle().take(count).collect();
    let of = |n| if n == 1 { "1 index".to_owned() } else { format!("{n} indices") };
    let message = format!("{name} has {} in the expression, {given}", of(own));
    let mut diagnostic = Diagnostic::new(Code::OrderMismatch, message);
    if let Some(id) = program.tensor(name) {
        diagnostic = diagnostic.at(&program.source, program.tensors[id].span.clone());
    }
    let help = match count {
        0 => format!("write {name}, without indices"),
        1..=4 => format!("write one index per mode: {name}({})", indices.join(",")),
        _ => "write one index per mode".to_owned(),
    };
    diagnostic.help(help).into()
}

/// The failure that a tensor is named twice.
pub fn twice(option: &str, name: &str) -> Failure {
    invalid(option, &format!("{name} is given twice"), "give each tensor one value and one format")
}
