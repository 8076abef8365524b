//! The natural logarithm, whose text the Rust backend also prints.

/// What `(log((1 + s) / (1 - s)) / s - 2) / s^2` is in `s^2`: a polynomial fitted to numbers between the roots of
/// 1/2 and of 2, to 2^-59 of the logarithm.
pub(crate) const LOG_TERMS: [f64; 7] = [
    0.6666666666666735,
    0.3999999999940986,
    0.285714287434959,
    0.22222198454861977,
    0.1818357073277142,
    0.15313879880873513,
    0.1479772536847454,
];

/// The natural logarithm by operations that every backend has, since libraries differ: within one ulp, by arithmetic
/// alone, so that it can be vectorised. It is NaN below 0.
#[inline(always)]
pub fn log(x: f64) -> f64 {
    // The bits of 1, and the significant bits of the root of 1/2.
    let (unit, root) = (0x3ff0_0000_0000_0000_u64, 0x3fe6_a09e_0000_0000);
    let [c0, c1, c2, c3, c4, c5, c6] = LOG_TERMS;
    // Subnormal numbers are multiplied by 2^54, and the bias of exponents is adjusted.
    let small = x < f64::MIN_POSITIVE;
    let (y, bias) =
        if small { (x * 18014398509481984.0, 4503599627371573.0) } else { (x, 4503599627371519.0) };
    // x = 2^k (1 + f)
    let bits = y.to_bits().wrapping_add(unit - root);
    let k = f64::from_bits(bits >> 52 | 0x4330_0000_0000_0000) - bias;
    let f = f64::from_bits((bits & 0xf_ffff_ffff_ffff) + root) - 1.0;
    let s = f / (2.0 + f);
    let w = s * s;
    let v = w * w;
    let p = w * ((c0 + w * c1) + v * ((c2 + w * c3) + v * ((c4 + w * c5) + v * c6)));
    let h = 0.5 * f * f;
    // k times the high part of ln 2 is exact, and so is the rounding error of its sum with f.
    let power = k * 0.6931471805601177;
    let sum = power + f;
    let lost = (power - sum) + f;
    let log = sum + (lost - (h - (s * (h + p) + k * -1.7239444525614835e-13)));
    let other = if x == 0.0 { f64::NEG_INFINITY } else { x };
    let other = if x < 0.0 { f64::NAN } else { other };
    if x > 0.0 && x < f64::INFINITY { log } else { other }
}
