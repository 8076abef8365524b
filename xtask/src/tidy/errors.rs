//! Every diagnostic code has a section in `docs/errors.md` and a test that shows its message.

use super::Tree;

pub fn check(tree: &Tree) -> Vec<String> {
    let docs = tree.get("docs/errors.md").unwrap_or_default();
    let mut findings = vec![];
    for code in codes(tree) {
        if !docs.contains(&format!("## {code}\n")) {
            findings.push(format!("docs/errors.md has no section {code}"));
        }
        // A mistake of ours cannot be provoked.
        let shown = [format!("error[{code}]"), format!("warning[{code}]")];
        if code != "internal" && !tests(tree).any(|t| shown.iter().any(|s| t.contains(s))) {
            findings.push(format!("no test shows {}", shown[0]));
        }
    }
    findings
}

/// The codes of the compiler and of files.
fn codes(tree: &Tree) -> Vec<String> {
    let mut found = vec![];
    let core = tree.get("crates/ir/src/diagnostic.rs").unwrap_or_default();
    let kinds = ["Request", "Execution", "Warning"].map(|kind| format!("\" {kind} \""));
    for line in core.lines().filter(|l| kinds.iter().any(|kind| l.contains(kind))) {
        found.extend(line.split('"').nth(1).map(str::to_owned));
    }
    let io = tree.get("crates/io/src/error.rs").unwrap_or_default();
    for line in io.lines().filter(|l| l.contains("=> \"file-")) {
        found.extend(line.split('"').nth(1).map(str::to_owned));
    }
    found
}

fn tests(tree: &Tree) -> impl Iterator<Item = &str> {
    let is_test = |p: &str| p.contains("tests/") || p.ends_with("tests.rs");
    let in_file = |t: &str| t.contains("#[cfg(test)]");
    tree.files.iter().filter(move |(p, t)| is_test(p) || in_file(t)).map(|(_, t)| t.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_without_section_and_test_are_found() {
        for kind in ["Request", "Warning"] {
            let code = format!("    A \"a-b\" {kind} \"text\";\n");
            let tree = Tree::of(&[("crates/ir/src/diagnostic.rs", &code)]);
            assert_eq!(check(&tree).len(), 2);
        }
    }
}
