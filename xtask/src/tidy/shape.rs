//! The shape of the code, as numbers to watch: the largest types, circles of imports, names that mean several things.
//!
//! ```text
//! largest types        39 fields, 276 methods in 41 files   core Lowerer
//! import circles       core: 2 of 5 files at most           a.rs b.rs
//! homonyms             Kind: core cin, ir diagnostic
//! ```

use super::{Tree, before_tests};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

pub fn report(tree: &Tree) -> String {
    let mut out = String::from("largest types\n");
    for (name, own, size) in largest(tree).into_iter().take(10) {
        out.push_str(&format!("  {size}   {name} {own}\n"));
    }
    out.push_str("import circles\n");
    for (name, found) in circles(tree) {
        let largest = found.first().map_or(String::new(), |circle| {
            format!(", the largest of {} files: {}", circle.len(), short(name, circle))
        });
        out.push_str(&format!("  {name}: {}{largest}\n", found.len()));
    }
    out.push_str("homonyms\n");
    for line in homonyms(tree) {
        out.push_str(&format!("  {line}\n"));
    }
    out
}

/// The most fields and methods of a type of the compiler, in all types of its name.
const MOST_FIELDS: usize = 12;
const MOST_METHODS: usize = 40;

/// The most files of the compiler that import each other in a circle.
const MOST_IN_CIRCLE: usize = 2;

/// The crates that the compiler is made of.
const COMPILER: [&str; 2] = ["core", "ir"];

/// Types of the compiler that do too much to be understood as a whole, and files that can only be read together.
pub fn check(tree: &Tree) -> Vec<String> {
    let is_over = |size: &Size<'_>| size.fields > MOST_FIELDS || size.methods > MOST_METHODS;
    let large = largest(tree).into_iter();
    let large = large.filter(|(name, _, size)| COMPILER.contains(name) && is_over(size));
    let large = large.map(|(name, own, size)| {
        format!(
            "{name} {own}: {size}; at most {MOST_FIELDS} and {MOST_METHODS}: split it, or give one of two another name"
        )
    });
    let circles = circles(tree).into_iter().filter(|(name, _)| COMPILER.contains(name));
    let circles = circles.flat_map(|(name, found)| {
        let wide = found.into_iter().filter(|circle| circle.len() > MOST_IN_CIRCLE);
        wide.map(move |circle| {
            let (n, files) = (circle.len(), short(name, &circle));
            format!(
                "{name}: {n} files import each other, at most {MOST_IN_CIRCLE} may: move what they share into one of its own: {files}"
            )
        })
    });
    large.chain(circles).collect()
}

/// The crate of a file of Rust code that is no test.
fn crate_of(path: &str) -> Option<&str> {
    let is_test = path.ends_with("tests.rs") || path.contains("/tests/");
    let rest = path.strip_prefix("crates/").filter(|_| !is_test && path.contains("/src/"))?;
    rest.split('/').next()
}

fn sources(tree: &Tree) -> impl Iterator<Item = (&str, &str, &str)> {
    tree.matching("crates/", ".rs").filter_map(|(p, t)| Some((crate_of(p)?, p, before_tests(t))))
}

#[derive(Default)]
struct Size<'t> {
    fields: usize,
    methods: usize,
    files: BTreeSet<&'t str>,
}

impl fmt::Display for Size<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (fields, methods, files) = (self.fields, self.methods, self.files.len());
        write!(f, "{fields:3} fields, {methods:3} methods in {files:2} files")
    }
}

/// The types of each crate by their fields and methods, most first.
fn largest(tree: &Tree) -> Vec<(&str, &str, Size<'_>)> {
    let mut sizes: BTreeMap<(&str, &str), Size<'_>> = BTreeMap::new();
    for (name, path, text) in sources(tree) {
        let lines: Vec<&str> = text.lines().collect();
        for (k, line) in lines.iter().enumerate() {
            let code = line.trim_start();
            let indent = line.len() - code.len();
            let body = || {
                let closes =
                    |l: &&&str| l.starts_with(&" ".repeat(indent)) && l[indent..].starts_with('}');
                let end = lines[k + 1..].iter().position(|l| closes(&l)).unwrap_or(0);
                let own =
                    move |l: &&&str| l.len() > indent + 4 && !l[indent + 4..].starts_with(' ');
                lines[k + 1..k + 1 + end].iter().filter(own).map(|l| l.trim_start())
            };
            if let Some(own) = declared(code, "struct ").filter(|_| code.ends_with('{')) {
                let is_field = |l: &&str| l.contains(": ") && !l.starts_with(['/', '#']);
                sizes.entry((name, own)).or_default().fields += body().filter(is_field).count();
            }
            if let Some(own) = implemented(code) {
                let is_method = |l: &&str| {
                    ["fn ", "const fn ", "unsafe fn "].iter().any(|f| bare(l).starts_with(f))
                };
                let size = sizes.entry((name, own)).or_default();
                size.methods += body().filter(is_method).count();
                size.files.insert(path);
            }
        }
    }
    let mut sizes: Vec<_> = sizes.into_iter().collect();
    sizes.sort_by_key(|(name, size)| (usize::MAX - size.fields - size.methods, *name));
    sizes.into_iter().map(|((name, own), size)| (name, own, size)).collect()
}

/// The name of a type that a line declares by a keyword, if it is visible outside or not.
fn declared<'l>(code: &'l str, keyword: &str) -> Option<&'l str> {
    bare(code).strip_prefix(keyword)?.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// A declaration without its visibility.
fn bare(code: &str) -> &str {
    let Some(rest) = code.strip_prefix("pub") else { return code };
    match rest.strip_prefix('(') {
        Some(inside) => inside.split_once(") ").map_or(rest, |(_, rest)| rest),
        None => rest.trim_start(),
    }
}

/// The type of an `impl Type {` or `impl Trait for Type {`.
fn implemented(code: &str) -> Option<&str> {
    let rest = code.strip_prefix("impl").filter(|_| code.ends_with('{'))?;
    let rest = match rest.strip_prefix('<') {
        Some(generic) => after_angle(generic),
        None => rest,
    };
    let of = rest.split(" for ").last().unwrap_or(rest).trim_start();
    let own = of.split(['<', ' ', '{']).next().filter(|own| !own.is_empty())?;
    own.rsplit("::").next()
}

/// What follows the angle bracket that closes.
fn after_angle(text: &str) -> &str {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        depth += i32::from(c == '<') - i32::from(c == '>');
        if depth == 0 {
            return &text[at + 1..];
        }
    }
    ""
}

/// Per crate, the circles that its files form by `use`, the largest first.
fn circles(tree: &Tree) -> BTreeMap<&str, Vec<Vec<&str>>> {
    let crates: BTreeSet<&str> = sources(tree).map(|(name, _, _)| name).collect();
    let of_crate = |name| {
        let files: BTreeSet<&str> =
            sources(tree).filter(|(own, _, _)| *own == name).map(|(_, path, _)| path).collect();
        let uses: BTreeMap<&str, BTreeSet<&str>> = files
            .iter()
            .map(|path| {
                let text = before_tests(tree.get(path).unwrap_or_default());
                (*path, used(path, text, &files))
            })
            .collect();
        let mut found = components(&uses);
        found.retain(|circle| circle.len() > 1);
        found.sort_by_key(|circle| usize::MAX - circle.len());
        (name, found)
    };
    crates.into_iter().map(of_crate).collect()
}

/// The first files of a circle, from the sources of their crate.
fn short(name: &str, circle: &[&str]) -> String {
    let root = format!("crates/{name}/src/");
    circle.iter().take(8).map(|path| &path[root.len()..]).collect::<Vec<_>>().join(" ")
}

/// The files of the crate that a file imports from.
fn used<'t>(path: &str, text: &str, files: &BTreeSet<&'t str>) -> BTreeSet<&'t str> {
    let mut found = BTreeSet::new();
    let module = module_of(path);
    let statements = text.split(';').filter_map(|s| {
        let s = s.lines().filter(|l| !l.trim_start().starts_with("//")).collect::<String>();
        let at = s.find("use ")?;
        let is_use = ["", "pub ", "pub(crate) ", "pub(super) "].contains(&s[..at].trim_start());
        (is_use || s[..at].ends_with('}') || s[..at].ends_with("pub "))
            .then(|| s[at + 4..].to_owned())
    });
    for statement in statements {
        for item in flattened(&statement) {
            let mut target: Vec<&str> = vec![];
            let mut parts = item.split("::").map(str::trim).peekable();
            match parts.peek() {
                Some(&"crate") => drop(parts.next()),
                Some(&"self") => {
                    target.clone_from(&module);
                    parts.next();
                }
                Some(&"super") => {
                    target.clone_from(&module);
                    while parts.next_if_eq(&"super").is_some() {
                        target.pop();
                    }
                }
                _ => continue,
            }
            target.extend(parts);
            found.extend(file_of(path, &target, files).filter(|file| *file != path));
        }
    }
    found
}

/// `a::{b, c::d}` as `a::b` and `a::c::d`.
fn flattened(tree: &str) -> Vec<String> {
    let Some((head, rest)) = tree.split_once('{') else { return vec![tree.trim().to_owned()] };
    let inside = rest.rsplit_once('}').map_or(rest, |(inside, _)| inside);
    let (mut items, mut depth, mut item) = (vec![], 0, String::new());
    for c in inside.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        match c {
            ',' if depth == 0 => items.push(std::mem::take(&mut item)),
            c => item.push(c),
        }
    }
    items.push(item);
    let items = items.iter().filter(|item| !item.trim().is_empty());
    items.flat_map(|item| flattened(&format!("{}{}", head.trim(), item.trim()))).collect()
}

/// The path of a file's module.
fn module_of(path: &str) -> Vec<&str> {
    let inside = path.split("/src/").nth(1).unwrap_or_default().trim_end_matches(".rs");
    let parts = inside.split('/').filter(|part| !["lib", "main", "mod"].contains(part));
    parts.collect()
}

/// The file that declares an item: of its longest leading path that is a module.
fn file_of<'t>(path: &str, target: &[&str], files: &BTreeSet<&'t str>) -> Option<&'t str> {
    let root = format!("{}/src", path.split("/src/").next().unwrap_or_default());
    (1..=target.len()).rev().find_map(|n| {
        let module = format!("{root}/{}", target[..n].join("/"));
        let names = [format!("{module}.rs"), format!("{module}/mod.rs")];
        names.iter().find_map(|name| files.get(name.as_str()).copied())
    })
}

/// The strongly connected components of a graph (Tarjan).
fn components<'t>(edges: &BTreeMap<&'t str, BTreeSet<&'t str>>) -> Vec<Vec<&'t str>> {
    struct Search<'s, 't> {
        edges: &'s BTreeMap<&'t str, BTreeSet<&'t str>>,
        numbers: BTreeMap<&'t str, usize>,
        low: BTreeMap<&'t str, usize>,
        stack: Vec<&'t str>,
        found: Vec<Vec<&'t str>>,
    }
    impl<'t> Search<'_, 't> {
        fn visit(&mut self, node: &'t str) {
            let number = self.numbers.len();
            self.numbers.insert(node, number);
            self.low.insert(node, number);
            self.stack.push(node);
            for &next in self.edges.get(node).into_iter().flatten() {
                if !self.numbers.contains_key(next) {
                    self.visit(next);
                }
                if self.stack.contains(&next) {
                    let low = self.low[node].min(self.low[next]);
                    self.low.insert(node, low);
                }
            }
            if self.low[node] == number {
                let at = self.stack.iter().position(|n| *n == node).unwrap_or(0);
                self.found.push(self.stack.split_off(at));
            }
        }
    }
    let (numbers, low) = (BTreeMap::new(), BTreeMap::new());
    let mut search = Search { edges, numbers, low, stack: vec![], found: vec![] };
    for node in edges.keys() {
        if !search.numbers.contains_key(node) {
            search.visit(node);
        }
    }
    search.found
}

/// Public types of one name in several files, in no test.
fn homonyms(tree: &Tree) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (_, path, text) in sources(tree) {
        for line in text.lines().filter(|l| l.trim_start().starts_with("pub ")) {
            let own = ["struct ", "enum ", "trait ", "type "].iter();
            let Some(own) = own.clone().find_map(|k| declared(line.trim_start(), k)) else {
                continue;
            };
            // A type inside of an implementation belongs to a trait.
            if line.starts_with("pub") && !places.entry(own).or_default().contains(&path) {
                places.entry(own).or_default().push(path);
            }
        }
    }
    let several = places.into_iter().filter(|(_, paths)| paths.len() > 1);
    several
        .map(|(own, paths)| {
            let short = paths.iter().map(|p| p.trim_start_matches("crates/").replace("/src", ""));
            format!("{own}: {}", short.collect::<Vec<_>>().join(", "))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_circles_and_homonyms_are_counted() {
        let one = "use super::two::Two;\npub struct One {\n    a: u8,\n    /// b: no\n    b: u8,\n}\n\n\
                   impl One {\n    fn f() {\n        let x: u8 = 0;\n    }\n    pub(crate) fn g() {}\n}\n";
        let two = "//! Two.\n\nuse crate::one::{One, Other};\nuse crate::three;\npub struct Two;\npub enum Same {}\n";
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", "mod one;\nmod three;\nmod two;\n"),
            ("crates/a/src/one.rs", one),
            ("crates/a/src/two.rs", two),
            ("crates/a/src/three/mod.rs", "pub struct Same;\n"),
        ]);
        let (name, own, size) = &largest(&tree)[0];
        assert_eq!((*name, *own), ("a", "One"));
        assert_eq!(size.to_string(), "  2 fields,   2 methods in  1 files");
        assert!(report(&tree).contains("a: 1, the largest of 2 files: one.rs two.rs\n"));
        assert_eq!(homonyms(&tree), ["Same: a/two.rs, a/three/mod.rs"]);
    }

    #[test]
    fn circles_of_three_files_of_the_compiler_are_refused() {
        let tree = |last: &str| {
            let next = |own: &str| format!("use super::{own}::Other;\n");
            Tree::of(&[
                ("crates/ir/src/one.rs", &next("two")),
                ("crates/ir/src/two.rs", &next("three")),
                ("crates/ir/src/three.rs", &next(last)),
            ])
        };
        assert_eq!(check(&tree("two")), Vec::<String>::new());
        let found = check(&tree("one"));
        assert!(found.len() == 1 && found[0].ends_with("one.rs two.rs three.rs"), "{found:?}");
    }

    #[test]
    fn large_types_of_the_compiler_are_refused() {
        let of = |fields: usize| {
            let fields: String = (0..fields).map(|k| format!("    f{k}: u8,\n")).collect();
            format!("struct Large {{\n{fields}}}\n")
        };
        let refused = |path, fields| check(&Tree::of(&[(path, &of(fields))])).len();
        assert_eq!(refused("crates/core/src/one.rs", MOST_FIELDS), 0);
        assert_eq!(refused("crates/core/src/one.rs", MOST_FIELDS + 1), 1);
        assert_eq!(refused("crates/jit/src/one.rs", MOST_FIELDS + 1), 0);
    }
}
