//! The map is true: what `docs/architecture.md` names exists, and each module of a crate is named there or at the head of
//! the crate's root.

use super::Tree;

const MAP: &str = "docs/architecture.md";
/// Two pages.
const LINES: usize = 130;

pub fn check(tree: &Tree) -> Vec<String> {
    let Some(map) = tree.get(MAP) else { return vec![format!("{MAP} is missing")] };
    let mut findings = missing(tree, MAP, map);
    if map.lines().count() > LINES {
        findings.push(format!("{MAP} is longer than two pages ({LINES} lines)"));
    }
    for (path, _) in tree.matching("crates/", ".rs") {
        let parts: Vec<&str> = path.split('/').collect();
        let ["crates", name, "src", module, ..] = parts[..] else { continue };
        let module = module.trim_end_matches(".rs");
        if ["lib", "main", "bin", "tests"].contains(&module) {
            continue;
        }
        let section = map.split(&format!("### `crates/{name}`")).nth(1).unwrap_or_default();
        let section = section.split("\n### ").next().unwrap_or_default();
        let listed = format!("{section}{}", head(tree, name));
        if !listed.contains(&format!("`{module}`")) {
            let finding = format!("neither {MAP} nor the root of crates/{name} names {module}");
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
    findings
}

/// The files and folders that a page names in backticks and that do not exist.
pub fn missing(tree: &Tree, page: &str, text: &str) -> Vec<String> {
    let missing = paths(text).into_iter().filter(|word| !exists(tree, word));
    missing.map(|word| format!("{page} names {word}, which does not exist")).collect()
}

/// The paths that a page names in backticks.
pub fn paths(text: &str) -> Vec<&str> {
    let roots = ["crates/", "docs/", "tests/", "bench/", "xtask/", "data/", "examples/", "python/"];
    let named = text
        .lines()
        .filter(|l| !l.starts_with("```"))
        .flat_map(|l| l.split('`').skip(1).step_by(2));
    let is_path = |word: &&str| !word.contains([' ', '*', '(', '<', '=']);
    named.filter(is_path).filter(|word| roots.iter().any(|root| word.starts_with(root))).collect()
}

fn exists(tree: &Tree, path: &str) -> bool {
    let folder = format!("{}/", path.trim_end_matches('/'));
    tree.files.iter().any(|(p, _)| p == path || p.starts_with(&folder))
}

/// The documentation at the head of a crate's root.
fn head(tree: &Tree, name: &str) -> String {
    let root = ["lib", "main"].map(|root| tree.get(&format!("crates/{name}/src/{root}.rs")));
    let lines = root.into_iter().flatten().flat_map(str::lines);
    lines.take_while(|line| line.starts_with("//!")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_paths_and_modules_are_found() {
        let tree = Tree::of(&[
            (MAP, "### `crates/a`\n| `one` | `docs/gone.md` |\n"),
            ("crates/a/src/lib.rs", "//! `three`\nmod two;\n"),
            ("crates/a/src/one.rs", ""),
            ("crates/a/src/two.rs", ""),
            ("crates/a/src/three.rs", ""),
        ]);
        assert_eq!(check(&tree).len(), 2);
    }
}
