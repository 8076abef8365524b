//! How to extend Tamis: each recipe of `docs/guide/extend` names few files, all of which exist.

use super::Tree;
use super::map::paths;

const FOLDER: &str = "docs/guide/extend/";
const RECIPES: [&str; 10] = [
    "level-format",
    "schedule-command",
    "operator",
    "merge-strategy",
    "writer",
    "pass",
    "backend",
    "file-format",
    "diagnostic",
    "stage",
];
/// The most files that an extension touches.
const STEPS: usize = 7;
const LINES: usize = 70;

pub fn check(tree: &Tree) -> Vec<String> {
    let mut findings = vec![];
    for name in RECIPES {
        let path = format!("{FOLDER}{name}.md");
        let Some(page) = tree.get(&path) else {
            findings.push(format!("{path} is missing"));
            continue;
        };
        let steps = steps(page);
        if steps.is_empty() || steps.len() > STEPS {
            findings
                .push(format!("{path} has {} steps under Files, not 1 to {STEPS}", steps.len()));
        }
        for step in steps.iter().filter(|step| paths(step).is_empty()) {
            findings.push(format!("{path} names no file in: {step}"));
        }
        if page.lines().count() > LINES {
            findings.push(format!("{path} has more than {LINES} lines"));
        }
    }
    for (path, page) in tree.matching(FOLDER, ".md") {
        findings.extend(super::map::missing(tree, path, page));
    }
    findings
}

/// The numbered lines under `## Files`.
fn steps(page: &str) -> Vec<&str> {
    let files = page.split("\n## Files\n").nth(1).unwrap_or_default();
    files.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_without_files_are_found() {
        let page = "# Adding\n\n## Files\n\n1. `crates/a.rs`: one.\n2. `crates/gone.rs`: two.\n3. three.\n";
        let mut files: Vec<(String, &str)> =
            RECIPES.iter().map(|name| (format!("{FOLDER}{name}.md"), page)).collect();
        files.push(("crates/a.rs".to_owned(), ""));
        files.remove(0);
        let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (p.as_str(), *t)).collect();
        let findings = check(&Tree::of(&files));
        assert_eq!(findings.len(), 1 + 9 * 2, "{findings:#?}");
        assert!(findings[0].contains("level-format.md is missing"));
    }
}
