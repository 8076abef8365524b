//! How large dimensions may be, and their products.

use tamis_core::format::MAX_ORDER;
use tamis_ir::diagnostic::{Code, Diagnostic};

/// The largest dimension: those of diagonals, which two dimensions have together, are numbers too.
pub const LARGEST_DIMENSION: u64 = (1 << 62) - 1;

/// Refuses dimensions that no index can reach, and more of them than a tensor has modes.
pub fn check_dims(dims: &[u64]) -> Result<(), Diagnostic> {
    if dims.len() > MAX_ORDER {
        let message =
            format!("a tensor has at most {MAX_ORDER} modes, and this one {}", dims.len());
        return Err(Diagnostic::new(Code::TooLarge, message).help("fuse some of its modes"));
    }
    match dims.iter().find(|&&d| d > LARGEST_DIMENSION) {
        None => Ok(()),
        Some(d) => {
            let message = format!("the dimension {d} is beyond 2^62 - 1");
            Err(Diagnostic::new(Code::DimensionTooLarge, message).help("choose a smaller one"))
        }
    }
}

/// The diagnostic for a size beyond 2^63 - 1.
pub fn too_large(dims: &[u64]) -> Diagnostic {
    let dims: Vec<String> = dims.iter().map(u64::to_string).collect();
    let message = format!("the sizes {} multiply beyond 2^63 - 1", dims.join(" x "));
    Diagnostic::new(Code::DimensionTooLarge, message)
        .help("use a sparse format, whose memory does not depend on the product of dimensions")
}

/// How many elements a tensor of these dimensions has.
///
/// # Errors
/// If these are more than anyone has memory for.
pub fn elements(dims: &[u64]) -> Result<usize, Diagnostic> {
    let size = dims.iter().try_fold(1u64, |n, &d| n.checked_mul(d));
    size.filter(|&n| n <= i64::MAX as u64 / 16).map(|n| n as usize).ok_or_else(|| too_large(dims))
}
