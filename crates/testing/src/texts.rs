//! What a program compiles to, as one number: builds that generate the same code agree in it, whatever the
//! order of their declarations and the names of their variables are.

use crate::case::Case;
use crate::coverage::cuda_text;
use crate::functions::Functions;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use tamis::Backend;

/// A hash of the functions of a case before and after the passes of each target, and of its CUDA C; or of why
/// it is refused.
pub fn hash(case: &Case) -> u64 {
    let mut hasher = DefaultHasher::new();
    match Functions::of(case) {
        Ok(functions) => {
            for backend in [Backend::Interpreter, Backend::Jit, Backend::C] {
                let all = functions.all(backend.target());
                all.iter().for_each(|f| code(&f.to_string()).hash(&mut hasher));
            }
        }
        Err(refusal) => refusal.to_string().hash(&mut hasher),
    }
    match cuda_text(case) {
        // Parameters stand in many lines, in the order of their declarations.
        Ok(text) => {
            let mut lines: Vec<String> = text.lines().map(renamed).collect();
            lines.sort();
            lines.hash(&mut hasher);
        }
        Err(refusal) => refusal.to_string().hash(&mut hasher),
    }
    hasher.finish()
}

/// The code of a function without its declarations, under names that do not depend on their order.
fn code(function: &str) -> String {
    let is_declaration = |line: &&str| {
        let mut words = line.split_whitespace();
        matches!(words.next(), Some("fn" | "var" | "local" | "common"))
    };
    let body: Vec<&str> = function.lines().filter(|line| !is_declaration(line)).collect();
    renamed(&body.join("\n"))
}

/// A text with every word replaced by the number of its first occurrence.
fn renamed(text: &str) -> String {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let end = match is_word(first) {
            true => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (word, after) = rest.split_at(end);
        match first.is_alphabetic() || first == '_' {
            true => {
                let next = numbers.len();
                out.push_str(&format!("w{}", numbers.entry(word).or_insert(next)));
            }
            false => out.push_str(word),
        }
        rest = after;
    }
    out
}
