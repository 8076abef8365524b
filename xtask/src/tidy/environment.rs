//! One page lists every variable of the environment that sources read, and none that they do not.
//!
//! ```text
//! std::env::var("TAMIS_CPU")     docs/guide/environment.md has `TAMIS_CPU`
//! ```

use super::Tree;

const PAGE: &str = "docs/guide/environment.md";
/// Where sources are whose variables the page lists; `bench/` has its own.
const ROOTS: [&str; 4] = ["crates/", "python/tamis/", "python/tests/", "xtask/src/"];
/// Code that reads a variable begins so.
const READS: [&str; 4] = ["var(\"", "var_os(\"", "environ.get(\"", "environ[\""];
/// Variables of ours begin so, wherever their names stand.
const OURS: &str = "\"TAMIS_";

pub fn check(tree: &Tree) -> Vec<String> {
    let Some(page) = tree.get(PAGE) else { return vec![format!("{PAGE} is missing")] };
    let listed: Vec<&str> = page.split('`').skip(1).step_by(2).filter(|w| is_name(w)).collect();
    let mut findings = vec![];
    let mut read: Vec<&str> = vec![];
    for (path, text) in &tree.files {
        let is_source = ROOTS.iter().any(|root| path.starts_with(root));
        // Tests of a crate set variables for processes that they start.
        let is_test = path.starts_with("crates/") && path.contains("/tests/");
        if !is_source || is_test || path.ends_with("tidy/environment.rs") {
            continue;
        }
        for name in names(text) {
            if !listed.contains(&name) && !read.contains(&name) {
                findings.push(format!("{path} reads {name}, which {PAGE} does not list"));
            }
            read.push(name);
        }
    }
    let ours = listed.iter().filter(|name| name.starts_with("TAMIS_") && !read.contains(name));
    findings.extend(ours.map(|name| format!("{PAGE} lists {name}, which nothing reads")));
    findings
}

/// The variables that a source reads.
fn names(text: &str) -> Vec<&str> {
    let after = |start: &'static str| {
        text.split(start).skip(1).filter_map(|rest| rest.split('"').next()).filter(|w| is_name(w))
    };
    let ours = text.match_indices(OURS).filter_map(|(at, _)| text[at + 1..].split('"').next());
    READS.into_iter().flat_map(after).chain(ours.filter(|word| is_name(word))).collect()
}

fn is_name(word: &str) -> bool {
    let fits = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    word.len() > 1 && word.starts_with(|c: char| c.is_ascii_uppercase()) && word.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_the_page_lacks_are_found() {
        let page = "| `TAMIS_A` | one |\n| `HOME` | `TAMIS_B` |\n";
        let rust = "env::var(\"HOME\"); env::var_os(\"OTHER\"); const A: &str = \"TAMIS_A\";";
        let tree = Tree::of(&[
            (PAGE, page),
            ("crates/a/src/a.rs", rust),
            ("crates/a/tests/a.rs", "var(\"TEST\")"),
        ]);
        assert_eq!(
            check(&tree),
            [
                format!("crates/a/src/a.rs reads OTHER, which {PAGE} does not list"),
                format!("{PAGE} lists TAMIS_B, which nothing reads"),
            ]
        );
    }
}
