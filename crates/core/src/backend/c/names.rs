//! Names that are safe in C: escaped, and unique within a function.

use crate::ir::Function;
use std::collections::BTreeSet;

/// Words that C, its headers or the prelude use, and so no variable may.
const RESERVED: &str = "auto bool break case char const continue default do double else enum \
extern false float for goto if inline int int64_t int32_t uint8_t uint32_t uint64_t long register \
restrict return short signed sizeof static struct switch true typedef typeof union unsigned void \
volatile while asm linux unix NULL INFINITY NAN main status done slots free malloc realloc memcpy \
memset abs fabs sqrt cbrt exp log log10 pow fmod sin cos tan asin acos atan atan2 sinh cosh tanh \
asinh acosh atanh floor fma fabsf sqrtf cbrtf expf logf log10f powf fmodf sinf cosf tanf asinf \
acosf atanf atan2f sinhf coshf tanhf asinhf acoshf atanhf floorf fmaf j0 j1 jn y0 y1 yn gamma \
lgamma tgamma erf erfc exp2 expm1 log1p log2 logb hypot ceil round trunc rint remainder drem \
signgam index rindex div ldiv rand random time signal printf read write open close exit abort \
environ errno stdin stdout stderr assert";

/// A name as a C identifier that no header declares.
pub(super) fn escape(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => out.push(c),
            other => out.push_str(&format!("u{:x}_", u32::from(other))),
        }
    }
    let first = out.chars().next().unwrap_or('0');
    if first.is_ascii_digit() || first == '_' {
        out.insert(0, 'v');
    }
    let vector = ["f32x", "f64x", "i64x", "tamis_"].iter().any(|p| out.starts_with(p));
    if vector || out.starts_with("__") || RESERVED.split_whitespace().any(|word| word == out) {
        out.push('_');
    }
    out
}

/// The names of a function's variables and arrays.
pub(super) fn all(function: &Function) -> (Vec<String>, Vec<String>) {
    let mut taken = BTreeSet::from([escape(&function.name)]);
    let mut fresh = |name: &str, derived: &[&str]| {
        let mut candidate = escape(name);
        while taken.contains(&candidate)
            || derived.iter().any(|d| taken.contains(&format!("{candidate}{d}")))
        {
            candidate.push('_');
        }
        taken.extend(derived.iter().map(|d| format!("{candidate}{d}")));
        taken.insert(candidate.clone());
        candidate
    };
    let arrays = function
        .arrays
        .iter()
        .map(|a| fresh(&a.name, &["_len", "_out", "_out_len", "_grown"]))
        .collect();
    let vars = function.vars.iter().map(|v| fresh(&v.name, &["_hi"])).collect();
    (vars, arrays)
}
