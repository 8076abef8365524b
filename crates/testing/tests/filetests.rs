//! Every `tests/**/*.test` of the project.

use std::path::{Path, PathBuf};

fn find(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("the folder of filetests can be read");
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            find(&path, found);
        } else if path.extension().is_some_and(|e| e == "test") {
            found.push(path);
        }
    }
}

#[test]
fn filetests_hold() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let mut paths = vec![];
    find(&root, &mut paths);
    paths.sort();
    assert!(paths.len() > 30, "only {} filetests were found", paths.len());
    let bless = std::env::var_os("BLESS").is_some();
    let mut failures = vec![];
    for path in &paths {
        let text = std::fs::read_to_string(path).expect("a filetest can be read");
        match tamis_testing::filetest::run(&text) {
            Ok(new) if new == text => {}
            Ok(new) if bless => std::fs::write(path, new).expect("a filetest can be written"),
            Ok(new) => failures.push(format!("{}: expected\n{text}got\n{new}", path.display())),
            Err(problem) => failures.push(format!("{}: {problem}", path.display())),
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} failed:\n{}",
        failures.len(),
        paths.len(),
        failures.join("\n")
    );
}
