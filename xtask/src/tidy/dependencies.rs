//! Every external dependency is explained in `docs/decisions/`.

use super::Tree;

pub fn check(tree: &Tree) -> Vec<String> {
    let decisions: String = tree.matching("docs/decisions/", ".md").map(|(_, text)| text).collect();
    let mut findings = vec![];
    for (path, text) in tree.matching("", "Cargo.toml") {
        if path.starts_with("bench/") || path == "Cargo.toml" {
            continue;
        }
        for section in text.split("\n[").filter(|s| s.contains("dependencies]")) {
            for line in section.lines().skip(1) {
                let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
                if !name.is_empty() && !name.starts_with("tamis") && !decisions.contains(name) {
                    findings.push(format!("{path}: no decision names {name}"));
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unexplained_dependencies_are_found() {
        let tree =
            Tree::of(&[("crates/a/Cargo.toml", "[package]\n\n[dependencies]\nrayon = \"1\"\n")]);
        assert_eq!(check(&tree), ["crates/a/Cargo.toml: no decision names rayon"]);
    }
}
