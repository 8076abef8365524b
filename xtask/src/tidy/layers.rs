//! Arrows between crates, the order of the modules of `ir` and `core`, and where unsafe code may be.

use super::{Tree, before_tests};

/// Which of our crates each may depend on.
const ARROWS: &[(&str, &[&str])] = &[
    ("ir", &[]),
    ("core", &["tamis-ir"]),
    ("runtime", &["tamis-ir", "tamis-core"]),
    ("jit", &["tamis-ir", "tamis-core", "tamis-runtime"]),
    ("cuda", &["tamis-ir", "tamis-core", "tamis-runtime"]),
    ("io", &["tamis-ir", "tamis-runtime"]),
    ("dist", &["tamis-ir"]),
    (
        "tamis",
        &[
            "tamis-ir",
            "tamis-core",
            "tamis-runtime",
            "tamis-jit",
            "tamis-cuda",
            "tamis-io",
            "tamis-dist",
        ],
    ),
    ("cli", &["tamis", "tamis-io"]),
    ("python", &["tamis", "tamis-io"]),
];
const UNSAFE: [&str; 6] =
    ["crates/runtime/", "crates/jit/", "crates/cuda/", "crates/dist/", "bench/", "crates/python/"];

pub fn check(tree: &Tree) -> Vec<String> {
    let mut findings = arrows(tree);
    findings.extend(["ir", "core"].into_iter().flat_map(|name| order(tree, name)));
    for (path, text) in tree.matching("crates/", ".rs") {
        let allowed = UNSAFE.iter().any(|p| path.starts_with(p));
        let used = |line: &str| line.contains("unsafe {") || line.contains("unsafe fn");
        if !allowed && text.lines().any(used) {
            findings.push(format!("{path} has unsafe code"));
        }
    }
    findings
}

fn arrows(tree: &Tree) -> Vec<String> {
    let mut findings = vec![];
    for (name, allowed) in ARROWS {
        let path = format!("crates/{name}/Cargo.toml");
        let Some(text) = tree.get(&path) else { continue };
        let section = text.split("[dependencies]").nth(1).unwrap_or_default();
        let section = section.split("\n[").next().unwrap_or_default();
        for line in section.lines() {
            let dependency = line.split(['.', ' ', '=']).next().unwrap_or_default();
            if dependency.starts_with("tamis") && !allowed.contains(&dependency) {
                findings.push(format!("{path} depends on {dependency}"));
            }
            let pure = ["ir", "core"].contains(name);
            if pure && !dependency.is_empty() && !dependency.starts_with("tamis") {
                findings.push(format!("{name} depends on {dependency}"));
            }
        }
    }
    findings
}

/// A module of the crate uses only modules that its `lib.rs` lists before it.
fn order(tree: &Tree, name: &str) -> Vec<String> {
    let root = format!("crates/{name}/src/");
    let lib = tree.get(&format!("{root}lib.rs")).unwrap_or_default();
    let modules: Vec<&str> =
        lib.lines().filter_map(|l| l.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    let mut findings = vec![];
    for (path, text) in tree.matching(&root, ".rs") {
        let own = path[root.len()..].split(['/', '.']).next().unwrap_or_default();
        let Some(place) = modules.iter().position(|m| *m == own) else { continue };
        if path.ends_with("tests.rs") {
            continue;
        }
        for used in before_tests(text).split("crate::").skip(1) {
            let used = used.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
            // Documentation links point anywhere.
            if modules.iter().position(|m| *m == used).is_some_and(|at| at > place)
                && !is_link(text, used)
            {
                findings.push(format!("{path} uses {used}, which is a later module"));
            }
        }
    }
    findings
}

fn is_link(text: &str, module: &str) -> bool {
    let code = |line: &&str| !line.trim_start().starts_with("//");
    !text.lines().filter(code).any(|line| line.contains(&format!("crate::{module}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forbidden_arrows_and_orders_are_found() {
        let tree = Tree::of(&[
            ("crates/io/Cargo.toml", "[dependencies]\ntamis-jit.workspace = true\n"),
            ("crates/core/src/lib.rs", "pub mod ids;\npub mod ir;\n"),
            ("crates/core/src/ids.rs", "use crate::ir::Expr;\n"),
            ("crates/io/src/lib.rs", "fn f() { unsafe { g() } }\n"),
        ]);
        assert_eq!(check(&tree).len(), 3);
    }
}
