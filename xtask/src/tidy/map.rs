//! The map is true: what `docs/architecture.md` names exists, and every module is in it.

use super::Tree;

const MAP: &str = "docs/architecture.md";

pub fn check(tree: &Tree) -> Vec<String> {
    let Some(map) = tree.get(MAP) else { return vec![format!("{MAP} is missing")] };
    let mut findings = vec![];
    for word in map.split('`').skip(1).step_by(2) {
        let is_path = word.contains('/') && !word.contains([' ', '*', '(', '<', '=']);
        let roots = ["crates/", "docs/", "tests/", "bench/", "xtask/", "data/"];
        if is_path && roots.iter().any(|r| word.starts_with(r)) {
            let exists = tree.files.iter().any(|(p, _)| {
                p == word || p.starts_with(&format!("{}/", word.trim_end_matches('/')))
            });
            if !exists {
                findings.push(format!("{MAP} names {word}, which does not exist"));
            }
        }
    }
    for (path, _) in tree.matching("crates/", ".rs") {
        let parts: Vec<&str> = path.split('/').collect();
        let ["crates", name, "src", module, ..] = parts[..] else { continue };
        let module = module.trim_end_matches(".rs");
        if ["lib", "main", "bin", "tests"].contains(&module) {
            continue;
        }
        let section = map.split(&format!("`crates/{name}`")).nth(1).unwrap_or_default();
        let section = section.split("\n### ").next().unwrap_or_default();
        if !section.contains(&format!("`{module}`")) {
            let finding = format!("{MAP} does not name module {module} of crates/{name}");
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_paths_and_modules_are_found() {
        let tree = Tree::of(&[
            (MAP, "### `crates/a`\n| `one` | `docs/gone.md` |\n"),
            ("crates/a/src/one.rs", ""),
            ("crates/a/src/two.rs", ""),
        ]);
        assert_eq!(check(&tree).len(), 2);
    }
}
