//! The C of every filetest is without remarks: it stands in explanations, and people compile it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use tamis::explain::{Explanation, Stage};
use tamis::temporary::Temporary;
use tamis_testing::case::Case;

#[test]
fn compilers_find_nothing_to_warn_about() {
    let temporary =
        Temporary::folder(&std::env::temp_dir()).expect("a temporary folder can be made");
    let folder = temporary.path();
    let mut texts = 0;
    for path in gallery() {
        let text = std::fs::read_to_string(path).expect("a filetest can be read");
        let cases = tamis_testing::filetest::cases(&text).expect("a filetest can be parsed");
        if let Some(case) = cases.first() {
            let path = folder.join(format!("{texts}.c"));
            std::fs::write(path, c(case)).expect("a temporary file can be written");
            texts += 1;
        }
    }
    assert!(texts > 40, "only {texts} texts");
    let program = std::env::var("TAMIS_CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(program);
    command.args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-c"]);
    // A program may compare unsigned numbers with 0.
    command.arg("-Wno-type-limits");
    let files = (0..texts).map(|k| format!("{k}.c"));
    let output = command.args(files).current_dir(folder).output();
    if let Ok(output) = output {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

fn gallery() -> Vec<std::path::PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/gallery");
    let entries = std::fs::read_dir(folder).expect("the folder of filetests can be read");
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The C that explanations show of a case.
fn c(case: &Case) -> String {
    let program = tamis::notation::parse(&case.text).expect("a filetest has a program");
    let given = case.operands.iter().map(|o| (o.name.clone(), o.format.clone()));
    let formats: BTreeMap<String, _> = given
        .chain(case.results.iter().map(|(name, format)| (name.clone(), format.clone())))
        .map(|(name, format)| {
            let order = program.tensor(&name).map(|id| program.tensors[id].order);
            (name, tamis::format::parse(&format, order).expect("a filetest has formats"))
        })
        .collect();
    let schedule = tamis::schedule::parse(&case.schedule).expect("a filetest has a schedule");
    let options = tamis::Options { schedule, ..tamis::Options::default() };
    let explanation = Explanation::of(&program, &formats, &options).expect("a filetest compiles");
    explanation.stage(Stage::C).expect("a filetest has C")
}
