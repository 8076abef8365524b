//! Every Rust file is compiled: it is a target's root, or a `mod` of a file that is compiled names it.

use super::Tree;
use std::collections::BTreeSet;

pub fn check(tree: &Tree) -> Vec<String> {
    let files: BTreeSet<&str> = tree.matching("", ".rs").map(|(path, _)| path).collect();
    let mut reached: BTreeSet<String> = BTreeSet::new();
    let mut next: Vec<String> =
        files.iter().filter(|path| is_root(path)).map(|path| (*path).to_owned()).collect();
    while let Some(path) = next.pop() {
        if files.contains(path.as_str()) && reached.insert(path.clone()) {
            next.extend(named(&path, tree.get(&path).unwrap_or_default()));
        }
    }
    let orphans = files.into_iter().filter(|path| !reached.contains(*path));
    orphans.map(|path| format!("{path} is compiled by no target: no `mod` names it")).collect()
}

/// Whether Cargo compiles a file by its name: `src/lib.rs`, `src/bin/x.rs`, `tests/x/main.rs`.
fn is_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        [.., "src", "lib.rs" | "main.rs"] => true,
        [.., "build.rs"] => !parts.contains(&"src"),
        [.., "tests" | "benches" | "examples" | "bin", _] => !parts.ends_with(&["src", "tests.rs"]),
        [.., "tests" | "benches" | "examples" | "bin", _, "main.rs"] => true,
        _ => false,
    }
}

/// The files that the modules of a file may be in.
fn named(path: &str, text: &str) -> Vec<String> {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let own = file.trim_end_matches(".rs");
    let inside = match own {
        "mod" | "lib" | "main" => folder.to_owned(),
        _ if is_root(path) => folder.to_owned(),
        own => format!("{folder}/{own}"),
    };
    let mut found = vec![];
    for line in text.lines() {
        let line = line.trim();
        if let Some(other) = line.strip_prefix("#[path = \"").and_then(|l| l.strip_suffix("\"]")) {
            found.push(joined(folder, other));
        }
        let module = line.strip_suffix(';').and_then(|l| l.rsplit_once("mod "));
        if let Some((_, name)) = module {
            found.extend([format!("{inside}/{name}.rs"), format!("{inside}/{name}/mod.rs")]);
        }
    }
    found
}

/// A path relative to a folder, without `..`.
fn joined(folder: &str, relative: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in relative.split('/') {
        match part {
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_no_module_names_are_found() {
        let tree = Tree::of(&[
            ("a/src/lib.rs", "pub mod one;\nmod build;\nmod two;\n"),
            ("a/src/one.rs", "pub(crate) mod inner;\n"),
            ("a/src/one/inner.rs", ""),
            ("a/src/one/left.rs", ""),
            ("a/src/two/mod.rs", "#[cfg(test)]\nmod tests;\n"),
            ("a/src/two/tests.rs", ""),
            ("a/src/build.rs", "mod part;\n"),
            ("a/src/build/part.rs", ""),
            ("a/src/gone.rs", "mod deeper;\n"),
            ("a/src/gone/deeper.rs", ""),
            ("a/tests/all.rs", "#[path = \"../examples/kit/help.rs\"]\nmod help;\n"),
            ("a/tests/set/main.rs", "mod case;\n"),
            ("a/tests/set/case.rs", ""),
            ("a/examples/kit/help.rs", ""),
        ]);
        let orphans = ["a/src/gone.rs", "a/src/gone/deeper.rs", "a/src/one/left.rs"];
        let told = orphans.map(|p| format!("{p} is compiled by no target: no `mod` names it"));
        assert_eq!(check(&tree), told);
    }
}
