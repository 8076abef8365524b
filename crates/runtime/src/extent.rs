//! How large dimensions may be, and their products.

use crate::kernel::shape;
use tamis_core::cin;
use tamis_core::format::{LevelMap, MAX_ORDER};
use tamis_core::level::Part;
use tamis_ir::datatype::IndexWidth;
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::{IdVec, IndexVar};

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

/// Refuses results whose coordinates or blocks are beyond what their arrays can hold.
pub fn check_extents(target: &cin::Tensor, dims: &IdVec<IndexVar, u64>) -> Result<(), Diagnostic> {
    let (shape, storage) = (shape(target, dims), &target.storage);
    let headers = storage.format.headers(&shape, &|_| 1);
    let mut block = 1u64;
    for (level, header) in storage.format.levels().iter().zip(&headers) {
        if !level.has(Part::Crd) {
            let each = if header.properties.branchless { 1 } else { header.size.max(1) };
            let size = block.checked_mul(each).filter(|&n| n < 1 << 62);
            block = size.ok_or_else(|| too_large(&shape))?;
            continue;
        }
        block = 1;
        let last = header.least.saturating_add(header.size as i64).saturating_sub(1);
        let beyond = last.max(header.least.saturating_neg()) > i64::from(i32::MAX);
        if storage.crd == IndexWidth::I32 && beyond && !matches!(level.map, LevelMap::Slot(_)) {
            let name = &target.name;
            let message = format!("coordinates of {name} go up to {last} and have 32 bits");
            return Err(Diagnostic::new(Code::PositionOverflow, message)
                .help("ask for 64-bit coordinates: {crd: i64}"));
        }
    }
    Ok(())
}
