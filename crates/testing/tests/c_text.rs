//! The C of every filetest is without remarks: it stands in explanations, and people compile it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use tamis::explain::{Explanation, Stage};
use tamis::processor::{self, Level};
use tamis::temporary::Temporary;
use tamis_testing::case::Case;

#[test]
fn compilers_find_nothing_to_warn_about() {
    let texts = texts();
    let temporary =
        Temporary::folder(&std::env::temp_dir()).expect("a temporary folder can be made");
    let folder = temporary.path();
    for (k, text) in texts.iter().enumerate() {
        std::fs::write(folder.join(format!("{k}.c")), text)
            .expect("a temporary file can be written");
    }
    let program = std::env::var("TAMIS_CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(program);
    command.args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-c"]);
    // A program may compare unsigned numbers with 0.
    command.arg("-Wno-type-limits");
    let files = (0..texts.len()).map(|k| format!("{k}.c"));
    let output = command.args(files).current_dir(folder).output();
    if let Ok(output) = output {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Compilers keep wider vectors in memory: sums with as many lanes as on other processors have several that fit.
#[test]
fn vectors_fit_the_registers_of_the_processor() {
    let Ok(()) = processor::set_level(Level::V3) else { return };
    let mut found = 0;
    for text in texts() {
        for size in text.split("vector_size(").skip(1) {
            // Helpers for part of a vector compute theirs from it.
            let Some(Ok(bytes)) = size.split(')').next().map(str::parse::<u32>) else { continue };
            assert!(bytes <= 32, "a vector of {bytes} bytes\n{text}");
            found += 1;
        }
    }
    assert!(found > 40, "only {found} vectors");
}

/// The C of the gallery.
fn texts() -> Vec<String> {
    let read = |path| {
        let text = std::fs::read_to_string(path).expect("a filetest can be read");
        let cases = tamis_testing::filetest::cases(&text).expect("a filetest can be parsed");
        cases.first().map(c)
    };
    let texts: Vec<String> = gallery().into_iter().filter_map(read).collect();
    assert!(texts.len() > 40, "only {} texts", texts.len());
    texts
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
