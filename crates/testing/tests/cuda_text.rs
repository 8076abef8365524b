//! What the text of every kernel of the gallery promises is true.

use std::path::{Path, PathBuf};
use tamis_testing::filetest;

/// To NVIDIA's compiler, nobody else writes to what is `__restrict__`, not even where threads wait for
/// each other: a kernel that reads what its threads wrote would read what it knows of it.
#[test]
fn what_threads_hand_on_is_not_restricted() {
    let (mut handed_on, mut promised) = (0, 0);
    for path in gallery() {
        let text = std::fs::read_to_string(&path).unwrap();
        if !text.contains("gpu_") {
            continue;
        }
        for kernel in filetest::stage(&text, "cuda").unwrap().split("extern \"C\"").skip(1) {
            let (head, body) = kernel.split_once(") {\n").unwrap();
            let params = head.split_once('(').unwrap().1;
            for param in params.split(", ").filter(|p| p.contains('*') && !p.contains("const ")) {
                let name = param.rsplit([' ', '*']).next().unwrap();
                let (writes, reads) = uses(body, name);
                let restricted = param.contains("__restrict__");
                let shared = writes > 1 || writes > 0 && reads > 0;
                assert!(!(shared && restricted), "{}: {param} in\n{body}", path.display());
                handed_on += usize::from(shared);
                promised += usize::from(restricted && writes > 0);
            }
        }
    }
    assert!(handed_on >= 20 && promised >= 20, "{handed_on} arrays, {promised} promises");
}

/// How often a text writes to an array, and reads from it; what it updates it does not read.
fn uses(body: &str, name: &str) -> (usize, usize) {
    let (mut writes, mut reads) = (0, 0);
    for line in body.lines() {
        let element = format!("{name}[");
        let is_word =
            |at: usize| !line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let found = line.match_indices(&element).filter(|(at, _)| is_word(*at));
        for (at, _) in found {
            let after = &line[at..];
            let is_target = after.split_once("] = ").is_some_and(|(index, _)| {
                index.matches('[').count() == index.matches(']').count() + 1
            });
            let begins = line[..at].trim_end();
            let is_statement = begins.is_empty() || begins.ends_with(')') || begins.ends_with('{');
            match is_target && is_statement {
                true => writes += 1,
                false => reads += usize::from(!line[..at].ends_with('&')),
            }
        }
    }
    (writes, reads)
}

fn gallery() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/gallery");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}
