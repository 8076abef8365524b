//! Functions under 60 lines, files under 500 before their tests, or a reason at that line.

use super::{Tree, before_tests};

const FILE: usize = 500;
const FUNCTION: usize = 60;
const REASON: &str = "// tidy: long because ";

pub fn check(tree: &Tree) -> Vec<String> {
    let mut findings = vec![];
    for (path, text) in rust(tree) {
        let lines = before_tests(text).lines().count();
        if lines > FILE && !text.contains(REASON) {
            findings.push(format!("{path} has {lines} lines"));
        }
        for (name, lines, reason) in functions(text) {
            if lines > FUNCTION && !reason {
                findings.push(format!("{path}: fn {name} has {lines} lines"));
            }
        }
    }
    findings
}

/// The ten longest files and functions.
pub fn longest(tree: &Tree) -> String {
    let mut files: Vec<(usize, String)> = vec![];
    let mut all: Vec<(usize, String)> = vec![];
    for (path, text) in rust(tree) {
        files.push((before_tests(text).lines().count(), path.to_owned()));
        all.extend(functions(text).into_iter().map(|(name, n, _)| (n, format!("{path} {name}"))));
    }
    let mut out = String::new();
    for (title, mut list) in [("longest files", files), ("longest functions", all)] {
        list.sort_by(|a, b| b.cmp(a));
        let shown: Vec<String> =
            list.iter().take(10).map(|(n, what)| format!("{n:5} {what}")).collect();
        out.push_str(&format!("{title}\n{}\n", shown.join("\n")));
    }
    out
}

fn rust(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.matching("", ".rs")
}

/// Name, lines, and whether a reason is given, of each function: from its `fn` line to the brace
/// that closes it at the same indentation.
fn functions(text: &str) -> Vec<(String, usize, bool)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = vec![];
    for (k, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let head =
            ["fn ", "pub fn ", "pub(crate) fn ", "pub(super) fn ", "unsafe fn ", "pub unsafe fn "];
        let Some(rest) = head.iter().find_map(|h| code.strip_prefix(h)) else { continue };
        if line.ends_with(';') {
            continue;
        }
        let indent = &line[..line.len() - code.len()];
        let close = format!("{indent}}}");
        let Some(end) = lines[k..].iter().position(|l| *l == close) else { continue };
        let name = rest.split(['(', '<']).next().unwrap_or_default().to_owned();
        let before = k.saturating_sub(3);
        let reason = lines[before..k].iter().any(|l| l.contains(REASON));
        found.push((name, end + 1, reason));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_functions_are_found() {
        let body = "    x();\n".repeat(70);
        let tree = Tree::of(&[("a.rs", &format!("fn long() {{\n{body}}}\n"))]);
        assert_eq!(check(&tree), ["a.rs: fn long has 72 lines"]);
    }
}
