//! Words that a finished tree does not have, headers that every file has, and phrases for which the field has a word.
//!
//! ```text
//! docs/glossary.md    | `turn`, `turns` | iteration, trip count | `in turn` |
//!
//! /// Each turn of a loop         refused: a comment of a Rust file
//! turn = self.turn();             not looked at: code
//! help("skip a turn of the loop") refused: a message
//! ```

use super::{Tree, before_tests};

const GLOSSARY: &str = "docs/glossary.md";

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
    findings.extend(phrases(tree));
    findings
}

/// A row of the glossary's table of refused phrases.
struct Refused<'t> {
    phrases: Vec<Vec<&'t str>>,
    instead: &'t str,
    /// Phrases that contain a refused one and mean something else.
    allowed: Vec<Vec<&'t str>>,
}

fn phrases(tree: &Tree) -> Vec<String> {
    let Some(glossary) = tree.get(GLOSSARY) else { return vec![format!("{GLOSSARY} is missing")] };
    let refused = table(glossary);
    let mut findings = vec![];
    for (path, text) in &tree.files {
        if path == GLOSSARY || path.ends_with("tidy/words.rs") {
            continue;
        }
        for (line, words) in prose(path, text) {
            for (phrase, instead) in found(&words, &refused) {
                findings.push(format!("{path}:{line} says `{phrase}`: write {instead}"));
            }
        }
    }
    findings
}

fn table(glossary: &str) -> Vec<Refused<'_>> {
    let section = glossary.split("## Refused phrases").nth(1).unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.filter_map(|row| {
        let mut cells = row.trim_matches('|').split('|');
        let (phrases, instead) = (quoted(cells.next()?), cells.next()?.trim());
        let allowed = quoted(cells.next().unwrap_or_default());
        Some(Refused { phrases, instead, allowed })
    })
    .collect()
}

/// The phrases in backticks, as words.
fn quoted(cell: &str) -> Vec<Vec<&str>> {
    cell.split('`').skip(1).step_by(2).map(|phrase| phrase.split(' ').collect()).collect()
}

/// Each refused phrase in a text of words, with what to write.
fn found<'t>(words: &[String], refused: &[Refused<'t>]) -> Vec<(String, &'t str)> {
    let at = |k: usize, phrase: &[&str]| {
        words.get(k..k + phrase.len()).is_some_and(|own| own.iter().eq(phrase))
    };
    let mut findings = vec![];
    for row in refused {
        let covers = |allowed: &Vec<&str>, k: usize, n: usize| {
            (k.saturating_sub(allowed.len())..=k)
                .any(|from| at(from, allowed) && from + allowed.len() >= k + n)
        };
        for phrase in &row.phrases {
            let hits = (0..words.len()).filter(|&k| at(k, phrase));
            let bad = hits.filter(|&k| !row.allowed.iter().any(|a| covers(a, k, phrase.len())));
            findings.extend(bad.map(|_| (phrase.join(" "), row.instead)));
        }
    }
    findings
}

/// What people read in a file: paragraphs of its comments and its messages, each with its first line and
/// its words.
fn prose(path: &str, text: &str) -> Vec<(usize, Vec<String>)> {
    let is_page = path.ends_with(".md") && path != "CHANGELOG.md";
    let is_python = path.ends_with(".py");
    let mut found: Vec<(usize, String)> = vec![];
    let (mut open, mut in_docstring) = (false, false);
    for (k, line) in text.lines().enumerate() {
        let quotes = if is_python { line.matches("\"\"\"").count() } else { 0 };
        let part = match line.trim_start() {
            own if is_page || in_docstring || quotes > 0 => Some(own),
            own if own.starts_with('#') && (is_python || path.ends_with(".test")) => Some(own),
            own if path.ends_with(".rs") => comment(own),
            _ => None,
        };
        in_docstring ^= quotes % 2 == 1;
        let part =
            part.map(|p| p.trim_start_matches(['/', '!', '#', ' '])).filter(|p| !p.is_empty());
        match (part, found.last_mut()) {
            (Some(part), Some((_, paragraph))) if open => *paragraph += &format!(" {part}"),
            (Some(part), _) => found.push((k + 1, part.to_owned())),
            (None, _) => {}
        }
        open = part.is_some();
    }
    if path.ends_with(".rs") && path.contains("/src/") {
        let lines = whole_lines(before_tests(text)).into_iter();
        found.extend(lines.flat_map(|(k, line)| messages(&line).into_iter().map(move |m| (k, m))));
    }
    found.into_iter().map(|(line, text)| (line, words(&text))).collect()
}

/// The comment of a line.
fn comment(line: &str) -> Option<&str> {
    let (code, comment) = line.split_once("//")?;
    let is_code = code.matches('"').count() % 2 == 0 && !code.ends_with(':');
    is_code.then_some(comment)
}

/// The lines of code without comments, those joined that a string goes on over, each with its number.
fn whole_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = vec![];
    let mut goes_on = false;
    for (k, line) in text.lines().enumerate().filter(|(_, l)| !l.trim_start().starts_with("//")) {
        let part = line.trim().trim_end_matches('\\');
        match lines.last_mut() {
            Some((_, whole)) if goes_on => whole.push_str(part),
            _ => lines.push((k + 1, part.to_owned())),
        }
        goes_on = line.ends_with('\\');
    }
    lines
}

/// Strings of three words and more: diagnostics, help, and what else a program says.
fn messages(line: &str) -> Vec<String> {
    let strings = line.split('"').skip(1).step_by(2).filter(|s| s.split_whitespace().count() > 2);
    strings
        .map(|s| {
            // What is written into a message is no word of it.
            let parts = s.split('{').enumerate();
            parts
                .map(
                    |(k, part)| {
                        if k == 0 { part } else { part.split_once('}').map_or("", |p| p.1) }
                    },
                )
                .collect::<Vec<_>>()
                .join(" _ ")
        })
        .collect()
}

/// The words of a text in small letters, without code in backticks.
fn words(text: &str) -> Vec<String> {
    let outside: Vec<&str> = text.split('`').step_by(2).collect();
    let outside = outside.join(" _ ").to_lowercase();
    let letters = outside.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '\'');
    letters.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_files_are_found() {
        let tree = Tree::of(&[(GLOSSARY, ""), ("a.rs", "fn f() { todo!() }\n")]);
        assert_eq!(check(&tree).len(), 2);
    }

    #[test]
    fn refused_phrases_are_found() {
        let table =
            "## Refused phrases\n| `turn` | iteration | `in turn` |\n| `no use` | none | |\n";
        let rust = "//! Each turn, and `turn`, one\n//! in turn.\n\nfn turn() {} // a turn\n\n\
                    /// Is of no\n/// use.\nconst A: &str = \"skip \\\n    a turn, {turn}\";\n";
        let tree = Tree::of(&[
            (GLOSSARY, table),
            ("a/src/a.rs", rust),
            ("docs/guide/a.md", "Of no\nuse.\n"),
            ("tests/a.test", "# a turn\nturn\n"),
            (
                "python/a.py",
                "turn = 1\ndef f():\n    \"\"\"A\n    turn.\"\"\"\n    return turn  # a turn\n",
            ),
        ]);
        let places = [
            "a/src/a.rs:1 ",
            "a/src/a.rs:4 ",
            "a/src/a.rs:6 ",
            "a/src/a.rs:8 ",
            "docs/guide/a.md:1 ",
            "tests/a.test:1 ",
            "python/a.py:3 ",
        ];
        let findings = check(&tree);
        assert_eq!(findings.len(), places.len(), "{findings:#?}");
        for (finding, place) in findings.iter().zip(places) {
            assert!(finding.starts_with(place), "{finding}");
        }
    }
}
