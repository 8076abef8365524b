//! What stands before the function: the helpers that it uses, and no others. What each computes is in [`crate::ir`].

use std::collections::BTreeSet;

/// The helpers that a text needs, and those that they need.
pub(super) fn before(body: &str) -> String {
    let mut out = String::new();
    require(body, &mut BTreeSet::new(), &mut out);
    out
}

fn require(text: &str, seen: &mut BTreeSet<&'static str>, out: &mut String) {
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
        let Some((name, definition)) = HELPERS.iter().find(|(name, _)| *name == word) else {
            continue;
        };
        if seen.insert(name) {
            require(definition, seen, out);
            out.push_str(definition);
            out.push_str("\n\n");
        }
    }
}

/// Whether a word is the name of a helper.
pub(super) fn defines(word: &str) -> bool {
    HELPERS.iter().any(|(name, _)| *name == word)
}

const HELPERS: [(&str, &str); 36] = [
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
    ("min_f64", "fn min_f64(x: f64, y: f64) -> f64 { if x < y || x.is_nan() { x } else { y } }"),
    ("min_f32", "fn min_f32(x: f32, y: f32) -> f32 { if x < y || x.is_nan() { x } else { y } }"),
    ("max_f64", "fn max_f64(x: f64, y: f64) -> f64 { if x > y || x.is_nan() { x } else { y } }"),
    ("max_f32", "fn max_f32(x: f32, y: f32) -> f32 { if x > y || x.is_nan() { x } else { y } }"),
    ("square_f64", "fn square_f64(x: f64) -> f64 { x * x }"),
    ("square_f32", "fn square_f32(x: f32) -> f32 { x * x }"),
    ("square_i64", "fn square_i64(x: i64) -> i64 { x.wrapping_mul(x) }"),
    ("square_u64", "fn square_u64(x: u64) -> u64 { x.wrapping_mul(x) }"),
    ("cube_f64", "fn cube_f64(x: f64) -> f64 { x * x * x }"),
    ("cube_f32", "fn cube_f32(x: f32) -> f32 { x * x * x }"),
    ("cube_i64", "fn cube_i64(x: i64) -> i64 { x.wrapping_mul(x).wrapping_mul(x) }"),
    ("cube_u64", "fn cube_u64(x: u64) -> u64 { x.wrapping_mul(x).wrapping_mul(x) }"),
    ("div_i64", "fn div_i64(x: i64, y: i64) -> i64 { if y == 0 { 0 } else { x.wrapping_div(y) } }"),
    ("div_u64", "fn div_u64(x: u64, y: u64) -> u64 { if y == 0 { 0 } else { x / y } }"),
    (
        "mod_i64",
        "fn mod_i64(x: i64, y: i64) -> i64 {
    let r = if y == 0 { 0 } else { x.wrapping_rem(y) };
    if r != 0 && (r < 0) != (y < 0) { r + y } else { r }
}",
    ),
    ("mod_u64", "fn mod_u64(x: u64, y: u64) -> u64 { if y == 0 { 0 } else { x % y } }"),
    (
        "mod_f64",
        "fn mod_f64(x: f64, y: f64) -> f64 {
    let r = x % y;
    if r == 0.0 { 0f64.copysign(y) } else if (r < 0.0) != (y < 0.0) { r + y } else { r }
}",
    ),
    (
        "mod_f32",
        "fn mod_f32(x: f32, y: f32) -> f32 {
    let r = x % y;
    if r == 0.0 { 0f32.copysign(y) } else if (r < 0.0) != (y < 0.0) { r + y } else { r }
}",
    ),
    (
        "heaviside_i64",
        "fn heaviside_i64(x: i64, y: i64) -> i64 { if x == 0 { y } else { i64::from(x > 0) } }",
    ),
    ("heaviside_u64", "fn heaviside_u64(x: u64, y: u64) -> u64 { if x == 0 { y } else { 1 } }"),
    (
        "heaviside_f64",
        "fn heaviside_f64(x: f64, y: f64) -> f64 {
    if x < 0.0 { 0.0 } else if x == 0.0 { y } else if x > 0.0 { 1.0 } else { x }
}",
    ),
    (
        "heaviside_f32",
        "fn heaviside_f32(x: f32, y: f32) -> f32 {
    if x < 0.0 { 0.0 } else if x == 0.0 { y } else if x > 0.0 { 1.0 } else { x }
}",
    ),
    (
        "cbrt_f64",
        "/// The cube root, exact where a cube root is, else within one ulp.
fn cbrt_f64(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let small = x.abs() < f64::MIN_POSITIVE;
    let (raise, lower) = if small { (18014398509481984.0, 3.814697265625e-6) } else { (1.0, 1.0) };
    let a = x.abs() * raise;
    let mut t = f64::from_bits(a.to_bits() / 3 + (715_094_163 << 32));
    for _ in 0..2 {
        let q = a / (t * t) / t;
        t *= (1.0 + 2.0 * q) / (2.0 + q);
    }
    t = f64::from_bits((t.to_bits() + (1 << 29)) & !0x3fff_ffff);
    let r = a / (t * t);
    ((t + t * ((r - t) / (t + t + r))) * lower).copysign(x)
}",
    ),
    ("cbrt_f32", "fn cbrt_f32(x: f32) -> f32 { cbrt_f64(f64::from(x)) as f32 }"),
    (
        "sum_f64",
        "/// The sum of lanes, halves first.
fn sum_f64<const N: usize>(mut x: [f64; N]) -> f64 {
    let mut n = N / 2;
    while n > 0 {
        (0..n).for_each(|k| x[k] += x[k + n]);
        n /= 2;
    }
    x[0]
}",
    ),
    (
        "sum_f32",
        "/// The sum of lanes, halves first.
fn sum_f32<const N: usize>(mut x: [f32; N]) -> f32 {
    let mut n = N / 2;
    while n > 0 {
        (0..n).for_each(|k| x[k] += x[k + n]);
        n /= 2;
    }
    x[0]
}",
    ),
    (
        "sum_i64",
        "fn sum_i64<const N: usize>(x: [i64; N]) -> i64 { x.iter().fold(0, |s, &x| s.wrapping_add(x)) }",
    ),
    (
        "sum_u64",
        "fn sum_u64<const N: usize>(x: [u64; N]) -> u64 { x.iter().fold(0, |s, &x| s.wrapping_add(x)) }",
    ),
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
    ("widen_bf16", "fn widen_bf16(x: u16) -> f32 { f32::from_bits(u32::from(x) << 16) }"),
    (
        "round_bf16",
        "fn round_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    if x.is_nan() { 0x7fc0 } else { (bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16 }
}",
    ),
];
