//! Functions by our own arithmetic, for numbers and vectors alike: `tamis_exp_f64`, `tamis_log_f64x8`.
//!
//! ```text
//! y = CHOOSE(x > 710.0, 710.0, x);
//!
//! y = x > 710.0 ? 710.0 : x;                                          for numbers
//! y = tamis_blend_f64x8(x > 710.0, (f64x8){0} + 710.0, x);            for vectors
//! ```

use super::types::{suffix, type_name};
use crate::algebra::{EXP_TERMS, LOG_TERMS};
use crate::datatype::Register;
use crate::ir::Type;

/// The body of a function of `x`, if this is such a function.
pub(super) fn body(op: &str, ty: Type) -> Option<String> {
    let (text, terms): (_, &[f64]) = match op {
        "exp" => (EXP, &EXP_TERMS),
        "log" => (LOG, &LOG_TERMS),
        _ => return None,
    };
    let double = Type { register: Register::F64, ..ty };
    match ty.register {
        Register::F64 => Some(filled(text, terms, ty)),
        Register::F32 if ty.lanes == 1 => Some(format!("return (float)tamis_{op}_f64(x);")),
        Register::F32 => {
            let (wide, narrow) = (suffix(double), suffix(ty));
            Some(format!(
                "return tamis_{narrow}_of_{wide}(tamis_{op}_{wide}(tamis_{wide}_of_{narrow}(x)));"
            ))
        }
        _ => None,
    }
}

fn filled(text: &str, terms: &[f64], ty: Type) -> String {
    let end = suffix(ty);
    let (choice, zero, bits) = match ty.lanes {
        1 => ("select", "0.0".to_owned(), "uint64_t".to_owned()),
        lanes => ("blend", format!("({end}){{0}}"), format!("u64x{lanes}")),
    };
    let mut text = text.replace("TYPE", &type_name(ty)).replace("WORD", &bits);
    for (k, term) in terms.iter().enumerate() {
        text = text.replace(&format!("c{k}"), &format!("{term:?}"));
    }
    for (name, helper) in [("CHOOSE", choice), ("BITS", "bits"), ("NUMBER", "number")] {
        text = text.replace(name, &format!("tamis_{helper}_{end}"));
    }
    text.replace("ZERO", &zero)
}

/// As in [`crate::algebra::exp`].
const EXP: &str = "
  TYPE y = CHOOSE(x > 710.0, ZERO + 710.0, x);
  y = CHOOSE(y < -746.0, ZERO - 746.0, y);
  TYPE n = (y * 1.4426950408889634 + 6755399441055744.0) - 6755399441055744.0;
  TYPE high = y - n * 0.6931471805601177, low = n * -1.7239444525614835e-13;
  TYPE r = high - low, rest = (high - r) - low, s = r * r, q = s * s;
  TYPE upper = ((c4 + r * c5) + s * (c6 + r * c7)) + q * (c8 + r * c9);
  TYPE p = ((c0 + r * c1) + s * (c2 + r * c3)) + q * upper;
  TYPE one = 1.0 + r, lost = r - (one - 1.0);
  TYPE half = (n * 0.5 + 6755399441055744.0) - 6755399441055744.0;
  TYPE first = NUMBER(BITS(half + 6755399441056767.0) << 52);
  TYPE second = NUMBER(BITS((n - half) + 6755399441056767.0) << 52);
  return (one + (lost + (rest + s * p))) * first * second;
";

/// As in [`crate::algebra::log`].
const LOG: &str = "
  TYPE y = CHOOSE(x < 2.2250738585072014e-308, x * 18014398509481984.0, x);
  TYPE bias = CHOOSE(x < 2.2250738585072014e-308, ZERO + 4503599627371573.0, ZERO + 4503599627371519.0);
  WORD bits = BITS(y) + (uint64_t)0x95f6200000000;
  TYPE k = NUMBER(bits >> 52 | (uint64_t)0x4330000000000000) - bias;
  TYPE f = NUMBER((bits & (uint64_t)0xfffffffffffff) + (uint64_t)0x3fe6a09e00000000) - 1.0;
  TYPE s = f / (2.0 + f), w = s * s, v = w * w;
  TYPE p = w * ((c0 + w * c1) + v * ((c2 + w * c3) + v * ((c4 + w * c5) + v * c6)));
  TYPE h = 0.5 * f * f, power = k * 0.6931471805601177, sum = power + f, lost = (power - sum) + f;
  TYPE near = sum + (lost - (h - (s * (h + p) + k * -1.7239444525614835e-13)));
  TYPE other = CHOOSE(x == 0.0, ZERO - tamis_f64_of(0x7ff0000000000000), x);
  other = CHOOSE(x < 0.0, ZERO + tamis_f64_of(0x7ff8000000000000), other);
  near = CHOOSE(x < tamis_f64_of(0x7ff0000000000000), near, other);
  return CHOOSE(x > 0.0, near, other);
";
