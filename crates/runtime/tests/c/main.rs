//! The text of the C backend, compiled and run, gives the bits of the interpreter.
//!
//! Functions are built by hand, so that every operator, type, width and statement occurs, whether
//! lowering makes it today or not. Each test is one file of C.

mod case;
mod names;
mod operators;
mod statements;
mod values;

use case::Case;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use tamis_ir::backend::c;
use tamis_runtime::cc;
use tamis_runtime::processor::{self, Level};
use tamis_runtime::temporary::Temporary;

/// Checks that each case gives the same in C as interpreted, at each level that the machine has,
/// by each compiler that it has.
fn check(cases: &[Case]) {
    check_at(Level::supported().collect(), cases);
}

fn check_at(levels: Vec<Level>, cases: &[Case]) {
    // The level and the compiler are those of the process.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let problems: Vec<String> =
        cases.chunks(AT_ONCE).flat_map(|cases| problems(&levels, cases)).collect();
    assert!(
        problems.is_empty(),
        "{} differ:\n{}",
        problems.len(),
        problems[..problems.len().min(20)].join("\n")
    );
}

/// How many cases a compiler gets at once: it may be slow, and has a minute.
const AT_ONCE: usize = 200;

/// Where cases differ from what the interpreter gives.
fn problems(levels: &[Level], cases: &[Case]) -> Vec<String> {
    let functions: Vec<_> = cases.iter().map(|c| &c.function).collect();
    let text = c::emit(&functions);
    let expected: Vec<_> = cases.iter().map(Case::interpreted).collect();
    let mut problems = vec![];
    for program in ["clang", "gcc"] {
        if cc::use_compiler(program).is_err() {
            continue;
        }
        for &level in levels {
            processor::set_level(level).unwrap_or_else(|d| panic!("{d}"));
            let compiled = cc::compile(&text, &c::entries(&functions));
            let compiled = compiled.unwrap_or_else(|d| panic!("{d}\n{text}"));
            for ((case, executable), expected) in cases.iter().zip(&compiled).zip(&expected) {
                let differences = case.differences(expected, &case.called(executable));
                let told = |text| format!("{program} at {}: {text}", level.name());
                problems.extend(differences.into_iter().map(told));
            }
        }
    }
    problems
}

#[test]
fn operators_of_scalars() {
    check(&operators::scalars());
}

#[test]
fn operators_of_vectors() {
    check(&operators::vectors());
}

#[test]
fn constants_and_integer_arithmetic() {
    check(&values::cases());
}

#[test]
fn statements() {
    check(&statements::cases());
}

#[test]
fn names_of_any_kind() {
    // No level changes what names mean.
    check_at(vec![Level::Native], &names::cases());
}

#[test]
fn compilers_find_nothing_to_warn_about() {
    let program = std::env::var("TAMIS_CC").unwrap_or_else(|_| "cc".to_owned());
    // Not those of constants, some of which compare as they cannot, which is worth a remark.
    let sets = [operators::scalars(), operators::vectors(), statements::cases(), names::cases()];
    let functions: Vec<_> = sets.iter().flatten().map(|c| &c.function).collect();
    let folder = Temporary::folder(&std::env::temp_dir()).expect("a temporary folder can be made");
    let path = folder.path().join("warnings.c");
    std::fs::write(&path, c::emit(&functions)).expect("a temporary file can be written");
    let flags = ["-std=gnu11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"];
    let output = Command::new(program).args(flags).arg(&path).output();
    if let Ok(output) = output {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
