//! The cube root, whose text the Rust backend also prints.

/// The cube root by operations that every backend has, since libraries differ. It is exact if the cube root is a
/// float, otherwise within one ulp.
pub(crate) fn cbrt(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let small = x.abs() < f64::MIN_POSITIVE;
    // Subnormal numbers are multiplied by 2^54, whose cube root is 2^18.
    let (raise, lower) = if small { (18014398509481984.0, 3.814697265625e-6) } else { (1.0, 1.0) };
    let a = x.abs() * raise;
    // A third of the exponent, with a correction for the bias; then iterations with cubic convergence.
    let mut t = f64::from_bits(a.to_bits() / 3 + (715_094_163 << 32));
    for _ in 0..2 {
        let q = a / (t * t) / t;
        t *= (1.0 + 2.0 * q) / (2.0 + q);
    }
    // With 23 bits left, t * t is exact.
    t = f64::from_bits((t.to_bits() + (1 << 29)) & !0x3fff_ffff);
    let r = a / (t * t);
    ((t + t * ((r - t) / (t + t + r))) * lower).copysign(x)
}
