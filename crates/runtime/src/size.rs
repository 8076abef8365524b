//! Sizes as people write them.

/// A number of bytes, or of thousands, millions, .. of them, `500M`, `8GB`, or of powers of 1024, `8GiB`; `None` if it
/// is none.
///
/// ```
/// use tamis_runtime::size::bytes;
/// assert_eq!(["1.5k", "8GB", "2MiB", "7"].map(bytes), [Some(1500), Some(8_000_000_000), Some(2 << 20), Some(7)]);
/// assert_eq!(["GB", "1e9", "8 G", "3Gi", "-1"].map(bytes), [None; 5]);
/// ```
pub fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(char::is_alphabetic).unwrap_or(text.len()));
    let unit = unit.to_ascii_uppercase();
    let (letter, base) = match unit.strip_suffix("IB").filter(|letter| !letter.is_empty()) {
        Some(letter) => (letter, 1024f64),
        None => (unit.strip_suffix('B').unwrap_or(&unit), 1000f64),
    };
    let power = ["", "K", "M", "G", "T"].iter().position(|&l| l == letter)?;
    let size = number.parse::<f64>().ok()? * base.powi(power as i32);
    (0.0..u64::MAX as f64).contains(&size).then_some(size as u64)
}
