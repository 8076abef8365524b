//! Backends that print the imperative form for compilers of other languages.

pub mod c;
pub mod cuda;
pub mod rust;

/// A name in ASCII letters, digits and `_` with a letter first, which is an identifier in every language.
fn in_letters(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => out.push(c),
            other => out.push_str(&format!("u{:x}_", u32::from(other))),
        }
    }
    if !out.starts_with(|c: char| c.is_ascii_alphabetic()) {
        out.insert(0, 'v');
    }
    out
}
