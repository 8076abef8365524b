//! Filetests are short and show the earliest stage that makes their point; whole texts of C are in few of them.

use super::Tree;

/// The most lines of a file that is not about text.
const LINES: usize = 60;
/// How the head of a file begins that is about a whole text.
const ABOUT_TEXT: &str = "# text:";
/// How many of these there may be.
const FEW: usize = 8;
const TEXTS: [&str; 3] = ["\n---- c\n", "\n---- cuda\n", "\n---- asm\n"];

pub fn check(tree: &Tree) -> Vec<String> {
    let mut findings = vec![];
    let mut about_text = 0;
    for (path, text) in tree.matching("tests/", ".test") {
        if text.starts_with(ABOUT_TEXT) {
            about_text += 1;
            continue;
        }
        let lines = text.lines().count();
        if lines > LINES {
            findings
                .push(format!("{path} has {lines} lines: show an earlier stage, or lines of one"));
        }
        if TEXTS.iter().any(|section| text.contains(section)) {
            findings.push(format!("{path} has a whole text, and its head is not {ABOUT_TEXT}"));
        }
    }
    if about_text > FEW {
        findings.push(format!("{about_text} filetests are about whole texts, not {FEW}"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_and_whole_texts_are_found() {
        let long = format!("# long\n---- ir\n{}", "x\n".repeat(60));
        let tree = Tree::of(&[
            ("tests/a/long.test", &long),
            ("tests/a/whole.test", "# whole\n---- c\nx\n"),
            ("tests/a/some.test", "# some\n---- c with x\nx\n"),
            ("tests/a/text.test", &long.replace("# long", "# text: long")),
        ]);
        assert_eq!(check(&tree).len(), 2);
    }
}
