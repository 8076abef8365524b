//! Text to numbers, from bytes.
//!
//! [`leading_float`] handles the common case in one pass: at most 19 digits whose value is exact
//! after one multiplication or division by a power of ten (Clinger 1990, "How to read floating
//! point numbers accurately"). Everything else goes through the standard library, which is exact
//! too but needs the end of the number first.

use tamis_runtime::Scalar;

/// Powers of ten that an `f64` holds exactly.
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// The digits from `at` on appended to `mantissa`, and where they end.
#[inline(always)]
fn digits(text: &[u8], mut at: usize, mut mantissa: u64) -> (u64, usize) {
    while let Some(&byte) = text.get(at) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    (mantissa, at)
}

/// The digits at `at` as an integer, and how many bytes they take; wraps beyond 19 digits.
#[inline(always)]
pub(crate) fn leading_digits(text: &[u8], at: usize) -> (u64, usize) {
    let (value, end) = digits(text, at, 0);
    (value, end - at)
}

/// The floating-point number at `at` and where it ends, or `None` where the short way is not exact.
#[inline(always)]
pub(crate) fn leading_float(text: &[u8], at: usize) -> Option<(f64, usize)> {
    let negative = text.get(at) == Some(&b'-');
    let start = at + usize::from(negative);
    let (whole, mut end) = digits(text, start, 0);
    let mut mantissa = whole;
    let mut count = end - start;
    let mut exponent = 0i64;
    if text.get(end) == Some(&b'.') {
        let (all, after) = digits(text, end + 1, mantissa);
        let fraction = after - end - 1;
        mantissa = all;
        count += fraction;
        exponent = -(fraction as i64);
        end = after;
    }
    if count == 0 || count > 19 {
        return None;
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let sign = text.get(end + 1).copied();
        let first = end + 1 + usize::from(matches!(sign, Some(b'-' | b'+')));
        let (power, length) = leading_digits(text, first);
        if length == 0 || length > 4 {
            return None;
        }
        exponent += if sign == Some(b'-') { -(power as i64) } else { power as i64 };
        end = first + length;
    }
    if mantissa > 1 << 53 || !(-22..=22).contains(&exponent) {
        return None;
    }
    let power = EXACT_POWERS[exponent.unsigned_abs() as usize];
    let value = if exponent < 0 { mantissa as f64 / power } else { mantissa as f64 * power };
    Some((if negative { -value } else { value }, end))
}

/// A whole field as an integer of up to 128 bit.
pub(crate) fn integer(field: &[u8]) -> Option<i128> {
    let text = std::str::from_utf8(field).ok()?;
    // Nearly all are short, and those are read faster.
    text.parse::<i64>().map(i128::from).or_else(|_| text.parse()).ok()
}

/// Whether a field of digits is beyond the largest float, so that its nearest value is infinite.
pub(crate) fn is_beyond(field: &[u8], value: f64) -> bool {
    value.is_infinite() && field.iter().any(u8::is_ascii_digit)
}

/// A float as an integer, if it is one of less than 127 bit.
pub(crate) fn whole(x: f64) -> Option<i128> {
    (x.trunc() == x && x.abs() < (1u128 << 126) as f64).then_some(x as i128)
}

/// A whole field as a floating-point number: also `inf`, `nan`, and Fortran's `1.5D+3`.
pub(crate) fn float(field: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(field).ok()?;
    if let Ok(value) = text.parse() {
        return Some(value);
    }
    let starts_number =
        field.first().is_some_and(|b| matches!(b, b'0'..=b'9' | b'.' | b'+' | b'-'));
    if !starts_number || !text.contains(['d', 'D']) {
        return None;
    }
    text.replace(['d', 'D'], "e").parse().ok()
}

/// A number in a field of a Fortran file, where the letter of the exponent may be missing:
/// `0.5-100` is 0.5e-100.
pub(crate) fn fortran_float(field: &[u8]) -> Option<f64> {
    float(field).or_else(|| {
        let text = std::str::from_utf8(field).ok()?;
        let (mantissa, exponent) = text.split_at(text.rfind(['+', '-'])?);
        let plain = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b'+' | b'-');
        if mantissa.is_empty() || !field.iter().all(|&b| plain(b)) {
            return None;
        }
        format!("{mantissa}e{exponent}").parse().ok()
    })
}

/// A whole field as a complex number: `1.5+2j`, `-3e-1-1j`, `2j`, `4`; `i` serves as `j`.
pub(crate) fn complex(field: &[u8]) -> Option<[f64; 2]> {
    let [re, im] = complex_parts(field);
    Some([re.map_or(Some(0.0), float)?, im.map_or(Some(0.0), float)?])
}

/// Whether a part of a complex number is beyond the largest float.
pub(crate) fn is_beyond_complex(field: &[u8]) -> bool {
    let parts = complex_parts(field).into_iter().flatten();
    parts.into_iter().any(|part| float(part).is_some_and(|value| is_beyond(part, value)))
}

/// The text of the real and of the imaginary part.
fn complex_parts(field: &[u8]) -> [Option<&[u8]>; 2] {
    let Some((b'j' | b'J' | b'i' | b'I', body)) = field.split_last() else {
        return [Some(field), None];
    };
    let is_split = |p: usize| {
        matches!(body[p], b'+' | b'-') && p > 0 && !matches!(body[p - 1], b'e' | b'E' | b'd' | b'D')
    };
    match (0..body.len()).rev().find(|&p| is_split(p)) {
        Some(p) => [Some(&body[..p]), Some(&body[p..])],
        None => [None, Some(body)],
    }
}

/// How a number is said in a file that only has text: names of what is no number in any case, as values have them.
pub(crate) fn scalar_of(text: &str) -> Option<Scalar> {
    let text = text.trim().to_ascii_lowercase().replace("infinity", "inf");
    Scalar::parse(&text).filter(|value| !value.is_beyond(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The short way agrees with the standard library to the bit, and stops where the number ends.
    fn check(text: &str) {
        let Some((value, end)) = leading_float(text.as_bytes(), 0) else { return };
        assert_eq!(Ok(value.to_bits()), text[..end].parse().map(f64::to_bits), "{text}");
        let next = text.as_bytes().get(end);
        assert!(!next.is_some_and(u8::is_ascii_digit), "{text}");
    }

    #[test]
    fn short_way_is_exact() {
        for text in ["0", "-0", "1e22", "1e23", "9007199254740993", "5.", ".5", "1.2.3", "1e5e5"] {
            check(text);
        }
        let mut state = 1u64;
        for _ in 0..100_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let mantissa = (state >> 8) >> (state % 50);
            let whole = mantissa / 1000;
            check(&format!("{whole}.{:03}", mantissa % 1000));
            check(&format!("-{mantissa}e{}", (state >> 50) as i64 % 50 - 25));
            check(&format!("{:?}", f64::from_bits(state)));
        }
    }

    #[test]
    fn short_way_takes_what_files_hold() {
        for text in ["1", "-17", "0.5", "123.4567", "1e-3", "2.5E+10", ".25", "4."] {
            assert!(leading_float(text.as_bytes(), 0).is_some(), "{text}");
        }
    }

    #[test]
    fn complex_numbers() {
        let check = |text: &str, expect| assert_eq!(complex(text.as_bytes()), expect, "{text}");
        check("1.5+2j", Some([1.5, 2.0]));
        check("-1e-3-2E+5J", Some([-1e-3, -2e5]));
        check("-4i", Some([0.0, -4.0]));
        check("3", Some([3.0, 0.0]));
        check("j", None);
        check("1+j", None);
        check("1+2jj", None);
    }
}
