//! Whole lines of compressed rows or columns, in the order in which a key names them.
//!
//! ```text
//! rows 2, 0 of csr    pos 0 1 3 5    the segments 3..5 and 0..1 of coordinates and values, one behind the other
//! ```

use crate::select::{Level, Pick, Ranges, Selected, broken, check, mode, put_together};
use tamis::level::DENSE;
use tamis::{Buffer, Diagnostic, Element, Tensor};

/// Whole lines of compressed ones, one behind the other: of these there is one list, of their segments. Nothing for
/// other formats and picks.
pub(crate) fn whole(tensor: &Tensor, picks: &[Pick]) -> Option<Result<Selected, Diagnostic>> {
    let [line, other] = tensor.storage().format.levels() else { return None };
    let data = &tensor.levels()[1];
    let (Some(pos), Some(crd)) = (&data.pos, &data.crd) else { return None };
    let is_whole = line.kind == DENSE && matches!(picks[mode(other)], Pick::All);
    let segments = match &picks[mode(line)] {
        _ if !is_whole => return None,
        &Pick::Steps { start, step, len } => {
            listed(pos, crd.len(), (0..len as usize).map(|n| (start + step * n as i64) as usize))
        }
        Pick::List(list) => listed(pos, crd.len(), list.iter().map(|&c| c as usize)),
        Pick::All | Pick::At(_) => return None,
    };
    let made = || {
        let (ends, segments) = segments?;
        check(&segments, tensor.vals().len())?;
        let (crd, vals) = crd.gathered_beside(tensor.vals(), &segments)?;
        Ok(put_together(tensor, picks, vec![Level::Dense, Level::Listed(ends, crd)], vals))
    };
    Some(made())
}

/// Where lines end behind one another, and the segments that they are.
fn listed(
    pos: &Buffer,
    coordinates: usize,
    lines: impl ExactSizeIterator<Item = usize>,
) -> Result<(Vec<i64>, Ranges), Diagnostic> {
    fn read<T: Element + Into<i64>>(
        pos: &[T],
        coordinates: usize,
        lines: impl ExactSizeIterator<Item = usize>,
    ) -> Option<(Vec<i64>, Ranges)> {
        let mut ends = Vec::with_capacity(lines.len() + 1);
        let mut segments = Vec::with_capacity(lines.len());
        let mut total = 0;
        ends.push(total);
        for line in lines {
            let pair = pos.get(line..line.checked_add(2)?)?;
            let (begin, end): (i64, i64) = (pair[0].into(), pair[1].into());
            if !(0 <= begin && begin <= end && end as usize <= coordinates) {
                return None;
            }
            total += end - begin;
            ends.push(total);
            segments.push(begin as usize..end as usize);
        }
        Some((ends, segments))
    }
    let made = match (pos.as_slice::<i32>(), pos.as_slice::<i64>()) {
        (Some(pos), _) => read(pos, coordinates, lines),
        (_, Some(pos)) => read(pos, coordinates, lines),
        _ => None,
    };
    made.ok_or_else(broken)
}
