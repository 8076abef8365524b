//! Pages lead somewhere: every relative link of a page resolves, to a heading too, and every page of `docs/` is in
//! the summary of the book.
//!
//! ```text
//! docs/guide/a.md     [cache](cache.md#size)     docs/guide/cache.md has a heading `## Size`
//! ```

use super::Tree;

const BOOK: &str = "docs/";
const SUMMARY: &str = "docs/SUMMARY.md";

pub fn check(tree: &Tree) -> Vec<String> {
    let mut findings = vec![];
    let mut listed = vec![];
    for (path, text) in tree.matching("", ".md") {
        for link in links(text) {
            let (page, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if page.is_empty() { path.to_owned() } else { resolved(path, page) };
            match tree.get(&target) {
                None if !is_folder(tree, &target) => {
                    findings.push(format!("{path} links to {link}, which does not exist"));
                }
                Some(text) if !heading.is_empty() && !headings(text).any(|h| h == heading) => {
                    findings.push(format!("{path} links to {link}, which has no such heading"));
                }
                _ => {}
            }
            if path == SUMMARY {
                listed.push(target);
            }
        }
    }
    let pages = tree.matching(BOOK, ".md").map(|(path, _)| path).filter(|path| *path != SUMMARY);
    let missing = pages.filter(|path| !listed.iter().any(|listed| listed == path));
    findings.extend(missing.map(|path| format!("{SUMMARY} does not list {path}")));
    findings
}

/// The relative links of a page, outside of code.
fn links(text: &str) -> Vec<&str> {
    let mut found = vec![];
    for line in prose(text) {
        for part in line.split('`').step_by(2) {
            let targets = part.split("](").skip(1).filter_map(|rest| rest.split(')').next());
            found.extend(targets.filter(|link| !link.contains(':')));
        }
    }
    found
}

/// The lines outside of blocks of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The names of a page's headings in links: small letters, digits and hyphens for spaces.
fn headings(text: &str) -> impl Iterator<Item = String> {
    prose(text).filter(|line| line.starts_with('#')).map(|line| {
        let kept = line.trim_start_matches('#').trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

/// What a link of a page names, from the root.
fn resolved(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn is_folder(tree: &Tree, path: &str) -> bool {
    tree.files.iter().any(|(p, _)| p.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_nowhere_and_pages_without_a_place_are_found() {
        let tree = Tree::of(&[
            (SUMMARY, "- [A](a.md)\n"),
            (
                "docs/a.md",
                "# A, (b)\n[b](b/b.md#b--c) [b](b/b.md#c) [x](../x.rs) [web](https://a)\n",
            ),
            (
                "docs/b/b.md",
                "## B & c\n[a](../a.md#a-b), `[c](c.md)`\n```\n[c](c.md)\n```\n[b](../b/)",
            ),
        ]);
        assert_eq!(
            check(&tree),
            [
                "docs/a.md links to b/b.md#c, which has no such heading",
                "docs/a.md links to ../x.rs, which does not exist",
                "docs/SUMMARY.md does not list docs/b/b.md",
            ]
        );
    }
}
