//! Libraries do not word their diagnostics for the command: an option or a subcommand stands in no text of theirs. What
//! interfaces name differently is a `Setting` of `crates/ir/src/diagnostic/setting.rs`.

use super::{Tree, before_tests};

/// The crates that people use without the command.
const LIBRARIES: [&str; 8] = ["ir", "core", "runtime", "jit", "cuda", "dist", "io", "tamis"];

pub fn check(tree: &Tree) -> Vec<String> {
    let mut findings = vec![];
    for name in LIBRARIES {
        let folder = format!("crates/{name}/src/");
        for (path, text) in tree.matching(&folder, ".rs") {
            for (n, line) in before_tests(text).lines().enumerate() {
                let is_code = !line.trim_start().starts_with("//") && !path.ends_with("/tests.rs");
                if let Some(option) = texts(line).find_map(option).filter(|_| is_code) {
                    findings.push(format!("{path}:{}: {option} is of the command alone", n + 1));
                }
            }
        }
    }
    findings
}

/// What stands in quotes in a line.
fn texts(line: &str) -> impl Iterator<Item = &str> {
    line.split('"').skip(1).step_by(2)
}

/// An option with a value, a long option among words, or a subcommand.
fn option(text: &str) -> Option<&str> {
    let words: Vec<&str> = text.split([' ', '`', '(', '\'']).collect();
    words.windows(2).find_map(|pair| {
        let [word, next] = pair else { return None };
        let is_named = |start| {
            word.strip_prefix(start).is_some_and(|name: &str| {
                !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
            })
        };
        let is_short = is_named("-") && word.len() == 2 && next.contains('=');
        let is_command = *word == "tamis" && next.bytes().all(|b| b.is_ascii_lowercase());
        (is_short || is_named("--") || is_command && !next.is_empty()).then_some(*word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_in_texts_of_libraries_are_found() {
        let texts = [
            "use --backend jit",
            "give it: -d {name}=SIZE",
            "see `tamis formats` for all",
            "a - b",
            "the rank -1 of {n}",
            "-o",
        ];
        for (n, text) in texts.into_iter().enumerate() {
            let line = format!("    x(\"{text}\");\n    // {text} \"{text}\"\n");
            let tree = Tree::of(&[("crates/jit/src/a.rs", &line), ("crates/cli/src/a.rs", &line)]);
            assert_eq!(check(&tree).len(), usize::from(n < 3), "{text}");
        }
    }
}
