//! Sizes as people write them.

/// A number of bytes, or of thousands, millions, .. of them: `500M`, `8G`; `None` if it is none.
pub fn bytes(text: &str) -> Option<u64> {
    let letters = ["", "K", "M", "G", "T"];
    let (number, letter) = text.split_at(text.find(char::is_alphabetic).unwrap_or(text.len()));
    let power = letters.iter().position(|l| l.eq_ignore_ascii_case(letter))?;
    let size = number.parse::<f64>().ok()? * 1000f64.powi(power as i32);
    (0.0..u64::MAX as f64).contains(&size).then_some(size as u64)
}
