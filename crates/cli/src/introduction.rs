//! What a program computes, in three sentences for who sees it for the first time.
//!
//! ```text
//! # This computes y from A (csr) and x (dense).
//! # It takes the sum over j; coordinates that are not stored are skipped where they change nothing.
//! # Below is what each stage of the compiler makes of it; --emit STAGE prints one alone.
//! ```

use std::collections::BTreeMap;
use tamis::notation::{Expr, Program, make_explicit};
use tamis::{Diagnostic, FormatSpec};

/// The sentences as comments, a line each; operands without a format are dense.
pub fn introduction(
    program: &Program,
    formats: &BTreeMap<String, FormatSpec>,
) -> Result<String, Diagnostic> {
    let results = program.results();
    let is_read = |id| {
        let mut accesses = program.statements.iter().flat_map(|s| s.value.accesses());
        accesses.any(|access| access.tensor == id)
    };
    let (mut made, mut from) = (vec![], vec![]);
    for (id, tensor) in program.tensors.enumerate() {
        let is_result = results.contains(&id);
        let format = match formats.get(&tensor.name) {
            Some(spec) => format!(" ({})", spec.format),
            None if is_result || tensor.order == 0 => String::new(),
            None => " (dense)".to_owned(),
        };
        let described = format!("{}{format}", tensor.name);
        match is_result {
            true => made.push(described),
            false if is_read(id) => from.push(described),
            false => {}
        }
    }
    let from = if from.is_empty() { "numbers alone".to_owned() } else { joined(&from) };
    let reductions = reductions(&make_explicit(program)?);
    let taken = match reductions.is_empty() {
        true => "It sums nothing up".to_owned(),
        false => format!("It takes {}", joined(&reductions)),
    };
    Ok(format!(
        "# This computes {} from {from}.\n\
         # {taken}; coordinates that are not stored are skipped where they change nothing.\n\
         # Below is what each stage of the compiler makes of it; --emit STAGE prints one alone.\n",
        joined(&made)
    ))
}

/// The reductions of a program whose sums are written out, each once: `the sum over j`.
fn reductions(program: &Program) -> Vec<String> {
    let mut found = vec![];
    for statement in &program.statements {
        statement.value.walk(&mut |expression| {
            let Expr::Reduce { op, vars, .. } = expression else { return };
            let vars: Vec<String> = vars.iter().map(|&v| program.vars[v].name.clone()).collect();
            let reduction = format!("the {} over {}", op.name(), joined(&vars));
            if !found.contains(&reduction) {
                found.push(reduction);
            }
        });
    }
    found
}

/// Names as in a sentence: `a, b and c`.
fn joined(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [name] => name.clone(),
        [names @ .., last] => format!("{} and {last}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, format: (&str, &str), expected: [&str; 2]) {
        let program = tamis::notation::parse(text).expect("a program");
        let spec = tamis::format::parse(format.1, None).expect("a format");
        let formats = BTreeMap::from([(format.0.to_owned(), spec)]);
        let told = introduction(&program, &formats).expect("sentences");
        let lines: Vec<&str> = told.lines().collect();
        let sums = expected[1].to_owned() + "; coordinates that are not stored";
        assert_eq!((lines.len(), lines[0]), (3, expected[0]), "{told}");
        assert!(lines[1].starts_with(&sums), "{told}");
    }

    #[test]
    fn operands_and_reductions_are_named() {
        let a = ("A", "csr");
        check(
            "y(i) = A(i,j) * x(j)",
            a,
            ["# This computes y from A (csr) and x (dense).", "# It takes the sum over j"],
        );
        check(
            "y(i) max= A(i,j); s = a * y(i) + y(i)",
            a,
            [
                "# This computes y and s from A (csr) and a.",
                "# It takes the max over j and the sum over i",
            ],
        );
        check(
            "C(i,j) = A(i,j) + B(i,j)",
            ("C", "csr"),
            ["# This computes C (csr) from A (dense) and B (dense).", "# It sums nothing up"],
        );
        check("x(i) = 1", a, ["# This computes x from numbers alone.", "# It sums nothing up"]);
    }
}
