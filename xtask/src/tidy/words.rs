//! Words that a finished tree does not have, and headers that every file has.

use super::Tree;

pub fn check(tree: &Tree) -> Vec<String> {
    let unfinished = ["TODO", "FIXME", "XXX"];
    let calls = ["todo!(", "unimplemented!(", "dbg!(", "#[ignore", "should_panic"];
    let mut findings = vec![];
    for (path, text) in tree.matching("", ".rs") {
        if path.ends_with("tidy/words.rs") {
            continue;
        }
        for word in unfinished.iter().chain(&calls) {
            if text.contains(word) {
                findings.push(format!("{path} has {word}"));
            }
        }
        if !text.starts_with("//!") {
            findings.push(format!("{path} does not open with //!"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_files_are_found() {
        let tree = Tree::of(&[("a.rs", "fn f() { todo!() }\n")]);
        assert_eq!(check(&tree).len(), 2);
    }
}
