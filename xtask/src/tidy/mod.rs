//! Checks of the tree that no compiler makes: each is one pure function from the tree to findings.

mod dependencies;
mod environment;
mod errors;
mod filetests;
mod interfaces;
mod layers;
mod links;
mod map;
mod modules;
mod recipes;
mod shape;
mod sizes;
mod toolchain;
mod words;

use std::path::Path;
use std::process::Command;

/// The project's text files.
pub struct Tree {
    /// Path from the root, and content.
    pub files: Vec<(String, String)>,
}

impl Tree {
    /// The content of a file.
    pub fn get(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|(p, _)| p == path).map(|(_, text)| text.as_str())
    }

    /// Files whose path begins and ends so.
    pub fn matching<'t>(
        &'t self,
        start: &'t str,
        end: &'t str,
    ) -> impl Iterator<Item = (&'t str, &'t str)> {
        let fits = move |p: &str| p.starts_with(start) && p.ends_with(end);
        self.files.iter().filter(move |(p, _)| fits(p)).map(|(p, t)| (p.as_str(), t.as_str()))
    }

    /// A tree of given files, for tests.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Tree {
        let own = |(p, t): &(&str, &str)| ((*p).to_owned(), (*t).to_owned());
        Tree { files: files.iter().map(own).collect() }
    }

    fn read() -> Tree {
        let list = Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard"])
            .output()
            .map(|o| String::from_utf8_lossy(&o.stdout).into_owned())
            .unwrap_or_default();
        let text = |p: &str| std::fs::read_to_string(Path::new(p)).ok().map(|t| (p.to_owned(), t));
        Tree { files: list.lines().filter_map(text).collect() }
    }
}

/// A rule and where it is broken.
pub type Check = (&'static str, fn(&Tree) -> Vec<String>);

/// Runs every check and prints what it finds.
pub fn run() -> bool {
    let tree = Tree::read();
    let checks: [Check; 14] = [
        ("layers", layers::check),
        ("sizes", sizes::check),
        ("shape", shape::check),
        ("map", map::check),
        ("recipes", recipes::check),
        ("filetests", filetests::check),
        ("modules", modules::check),
        ("errors", errors::check),
        ("interfaces", interfaces::check),
        ("dependencies", dependencies::check),
        ("toolchain", toolchain::check),
        ("words", words::check),
        ("links", links::check),
        ("environment", environment::check),
    ];
    println!("{}\n{}", sizes::longest(&tree), shape::report(&tree));
    let mut holds = !tree.files.is_empty();
    for (name, check) in checks {
        for finding in check(&tree) {
            println!("tidy {name}: {finding}");
            holds = false;
        }
    }
    holds
}

/// The code of a Rust file before its tests.
pub fn before_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text)
}
