//! The helpers before the function: only those that are used. [`crate::ir`] defines their values.

use std::collections::BTreeSet;

/// The helpers that a text uses, each after those that it uses itself.
pub(super) fn before(body: &str) -> String {
    let mut out = String::new();
    require(body, &mut BTreeSet::new(), &mut out);
    out
}

fn require(text: &str, seen: &mut BTreeSet<String>, out: &mut String) {
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
        let Some(definition) = definition(word).filter(|_| seen.insert(word.to_owned())) else {
            continue;
        };
        require(&definition, seen, out);
        out.push_str(&definition);
        out.push_str("\n\n");
    }
}

/// Whether a word is the name of a helper.
pub(super) fn defines(word: &str) -> bool {
    definition(word).is_some() || word.ends_with("_TERMS")
}

/// The text of a helper.
fn definition(word: &str) -> Option<String> {
    if let Some((name, text)) = OWN.iter().find(|(name, _)| word.strip_suffix("_f64") == Some(name))
    {
        let text = text.lines().filter(|l| !l.starts_with("//!")).collect::<Vec<_>>().join("\n");
        let text = text.trim().replace("pub(crate) ", "").replace("pub fn", "fn");
        return Some(text.replace(&format!("fn {name}("), &format!("fn {word}(")));
    }
    if let Some((_, text)) = HELPERS.iter().find(|(name, _)| *name == word) {
        return Some((*text).to_owned());
    }
    let (op, ty) = word.rsplit_once('_')?;
    let has_type = |types: &[&str]| types.contains(&ty);
    let (.., text) = TYPED.iter().find(|(name, types, _)| *name == op && has_type(types))?;
    Some(text.replace("NAME", word).replace("TYPE", ty))
}

/// Functions that share their text with the compiler.
const OWN: [(&str, &str); 3] = [
    ("cbrt", include_str!("../../algebra/cbrt.rs")),
    ("exp", include_str!("../../algebra/exp.rs")),
    ("log", include_str!("../../algebra/log.rs")),
];

const FLOATS: &[&str] = &["f32", "f64"];
const INTEGERS: &[&str] = &["i64", "u64"];

/// Helpers for several types: the operator, its types, the text.
const TYPED: [(&str, &[&str], &str); 18] = [
    (
        "min",
        FLOATS,
        "fn NAME(x: TYPE, y: TYPE) -> TYPE { if x < y || x.is_nan() { x } else { y } }",
    ),
    (
        "max",
        FLOATS,
        "fn NAME(x: TYPE, y: TYPE) -> TYPE { if x > y || x.is_nan() { x } else { y } }",
    ),
    ("square", FLOATS, "fn NAME(x: TYPE) -> TYPE { x * x }"),
    ("square", INTEGERS, "fn NAME(x: TYPE) -> TYPE { x.wrapping_mul(x) }"),
    ("cube", FLOATS, "fn NAME(x: TYPE) -> TYPE { x * x * x }"),
    ("cube", INTEGERS, "fn NAME(x: TYPE) -> TYPE { x.wrapping_mul(x).wrapping_mul(x) }"),
    (
        "div",
        INTEGERS,
        "fn NAME(x: TYPE, y: TYPE) -> TYPE { if y == 0 { 0 } else { x.wrapping_div(y) } }",
    ),
    (
        "mod",
        &["i64"],
        "fn NAME(x: TYPE, y: TYPE) -> TYPE {
    let r = if y == 0 { 0 } else { x.wrapping_rem(y) };
    if r != 0 && (r < 0) != (y < 0) { r + y } else { r }
}",
    ),
    ("mod", &["u64"], "fn NAME(x: TYPE, y: TYPE) -> TYPE { if y == 0 { 0 } else { x % y } }"),
    (
        "mod",
        FLOATS,
        "fn NAME(x: TYPE, y: TYPE) -> TYPE {
    let r = x % y;
    let zero: TYPE = 0.0;
    if r == 0.0 { zero.copysign(y) } else if (r < 0.0) != (y < 0.0) { r + y } else { r }
}",
    ),
    (
        "heaviside",
        INTEGERS,
        "fn NAME(x: TYPE, y: TYPE) -> TYPE { if x == 0 { y } else { (x > 0) as TYPE } }",
    ),
    (
        "heaviside",
        FLOATS,
        "fn NAME(x: TYPE, y: TYPE) -> TYPE {
    if x < 0.0 { 0.0 } else if x == 0.0 { y } else if x > 0.0 { 1.0 } else { x }
}",
    ),
    ("cbrt", &["f32"], "fn NAME(x: TYPE) -> TYPE { cbrt_f64(f64::from(x)) as TYPE }"),
    ("exp", &["f32"], "fn NAME(x: TYPE) -> TYPE { exp_f64(f64::from(x)) as TYPE }"),
    ("log", &["f32"], "fn NAME(x: TYPE) -> TYPE { log_f64(f64::from(x)) as TYPE }"),
    (
        "asinh",
        FLOATS,
        "fn NAME(x: TYPE) -> TYPE {
    let (a, one) = (x.abs(), 1.0 as TYPE);
    if a > 1.0 / TYPE::MIN_POSITIVE { return (a.ln() + 0.6931471805599453 as TYPE).copysign(x) }
    let i = one / a;
    (a + a / (one.hypot(i) + i)).ln_1p().copysign(x)
}",
    ),
    (
        "acosh",
        FLOATS,
        "fn NAME(x: TYPE) -> TYPE {
    if x > 1.0 / TYPE::MIN_POSITIVE { return x.ln() + 0.6931471805599453 as TYPE }
    if x < 1.0 { TYPE::NAN } else { (x + (x - 1.0).sqrt() * (x + 1.0).sqrt()).ln() }
}",
    ),
    (
        "atanh",
        FLOATS,
        "fn NAME(x: TYPE) -> TYPE {
    let a = x.abs();
    ((2.0 * a / (1.0 - a)).ln_1p() / 2.0).copysign(x)
}",
    ),
];

/// Helpers without a type, or for one that Rust lacks.
const HELPERS: [(&str, &str); 10] = [
    (
        "halved",
        "/// Lanes combined, halves first.
fn halved<T: Copy, const N: usize>(mut x: [T; N], combined: impl Fn(T, T) -> T) -> T {
    let mut n = N / 2;
    while n > 0 {
        (0..n).for_each(|k| x[k] = combined(x[k], x[k + n]));
        n /= 2;
    }
    x[0]
}",
    ),
    (
        "reserve",
        "/// Makes an array at least `len` long, and at least doubles it.
fn reserve<T: Copy + Default>(len: i64, array: &mut Vec<T>) -> Result<(), Error> {
    if len >= 0 && len as usize <= array.len() {
        return Ok(());
    }
    let len = usize::try_from(len).map_err(|_| Error::OutOfMemory)?;
    let len = len.max(2 * array.len()).max(16);
    array.try_reserve_exact(len - array.len()).map_err(|_| Error::OutOfMemory)?;
    array.resize(len, T::default());
    Ok(())
}",
    ),
    (
        "fill",
        "fn fill<T: Copy>(lo: i64, hi: i64, value: T, array: &mut [T]) {
    if lo < hi {
        array[lo as usize..hi as usize].fill(value);
    }
}",
    ),
    (
        "permute",
        "/// The elements from `lo` on in another order.
fn permute<T: Copy>(lo: i64, order: &[usize], array: &mut [T]) {
    let ordered: Vec<T> = order.iter().map(|&p| array[p]).collect();
    array[lo as usize..lo as usize + order.len()].copy_from_slice(&ordered);
}",
    ),
    ("select", "fn select<T>(c: bool, x: T, y: T) -> T { if c { x } else { y } }"),
    (
        "widen_f16",
        "fn widen_f16(x: u16) -> f32 {
    let (sign, rest) = (u32::from(x & 0x8000) << 16, u32::from(x & 0x7fff) << 13);
    let wide = match rest < 0x7c00 << 13 {
        true => (f32::from_bits(rest) * 5192296858534827628530496329220096.0).to_bits(), // 2^112
        false => rest | 0x7f80_0000,
    };
    f32::from_bits(wide | sign)
}",
    ),
    (
        "round_f16",
        "fn round_f16(x: f32) -> u16 {
    let (sign, rest) = (x.to_bits() >> 16 & 0x8000, x.to_bits() & 0x7fff_ffff);
    let half = match rest {
        0x7f80_0001.. => return 0x7e00,
        0x4780_0000.. => 0x7c00,
        0x3880_0000.. => (rest - (112 << 23) + 0xfff + (rest >> 13 & 1)) >> 13,
        _ => (f32::from_bits(rest) + 0.5).to_bits() - 0x3f00_0000,
    };
    (sign | half) as u16
}",
    ),
    (
        "round_to_odd",
        "fn round_to_odd(x: f64) -> f32 {
    let (bits, cut) = (x.to_bits(), (1u64 << 39) - 1);
    f64::from_bits(bits & !cut | u64::from(bits & cut != 0) << 39) as f32
}",
    ),
    ("widen_bf16", "fn widen_bf16(x: u16) -> f32 { f32::from_bits(u32::from(x) << 16) }"),
    (
        "round_bf16",
        "fn round_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    if x.is_nan() { 0x7fc0 } else { (bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16 }
}",
    ),
];
