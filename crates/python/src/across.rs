//! Some columns of compressed rows, or rows of compressed columns: one pass over all coordinates finds the entries,
//! another where lines end.
//!
//! ```text
//! columns 3, 0 of csr    pos 0 2 3, crd 0 3 1    the positions 0 and 1, coordinates 1 and 0; exchanged in row 0
//! ```

use crate::lookup::{places, table};
use crate::memory::buffer;
use crate::reshape::Index;
use crate::select::{Level, Pick, Selected, broken, mode, put_together};
use tamis::level::{COMPRESSED, DENSE};
use tamis::{Buffer, Diagnostic, Element, Tensor, Values};

/// So many coordinates are looked at before those that were found are kept.
const BLOCK: usize = 1024;

/// What a list without repetitions, or steps, select across all lines of compressed ones. Nothing for other formats
/// and picks.
pub(crate) fn some(tensor: &Tensor, picks: &[Pick]) -> Option<Result<Selected, Diagnostic>> {
    let [line, other] = tensor.storage().format.levels() else { return None };
    let data = &tensor.levels()[1];
    let (Some(pos), Some(crd)) = (&data.pos, &data.crd) else { return None };
    let is_whole = line.kind == DENSE && matches!(picks[mode(line)], Pick::All);
    let pick = &picks[mode(other)];
    let is_apart = other.kind == COMPRESSED && pick.row().is_none();
    if !is_whole || !is_apart || crd.len() != tensor.vals().len() {
        return None;
    }
    let size = tensor.dims()[mode(other)];
    let table = match pick {
        Pick::List(list) => Some(table(list, size, crd.len())?),
        Pick::Steps { .. } => None,
        Pick::All | Pick::At(_) => return None,
    };
    let made = || {
        let (ends, crd, at) = match (crd.as_slice::<i32>(), crd.as_slice::<i64>()) {
            (Some(crd), _) => found(pos, crd, pick, table.as_deref())?,
            (_, Some(crd)) => found(pos, crd, pick, table.as_deref())?,
            _ => return Err(broken()),
        };
        let vals = buffer(Values::gathered(tensor.vals(), &at));
        Ok(put_together(tensor, picks, vec![Level::Dense, Level::Listed(ends, crd)], vals))
    };
    Some(made())
}

/// Where lines end among the entries that are found, their coordinates, and their positions.
type Found = (Vec<i64>, Buffer, Vec<usize>);

fn found<C: Index + Into<i64> + Ord>(
    pos: &Buffer,
    crd: &[C],
    pick: &Pick,
    table: Option<&[u32]>,
) -> Result<Found, Diagnostic> {
    let (mut coords, mut at) = match table {
        Some(table) => kept(crd, |c| {
            let place = usize::try_from(c).ok().and_then(|c| table.get(c));
            i64::from(place.copied().unwrap_or(0)) - 1
        }),
        None => kept(crd, |c| {
            let mut found = -1;
            places(pick, None, c, |place| found = place as i64);
            found
        }),
    };
    let ends = match (pos.as_slice::<i32>(), pos.as_slice::<i64>()) {
        (Some(pos), _) => ends(pos, crd.len(), &at),
        (_, Some(pos)) => ends(pos, crd.len(), &at),
        _ => return Err(broken()),
    };
    if !pick.ascends() {
        sort(&ends, &mut coords, &mut at);
    }
    Ok((ends, Buffer::from_vec(coords), at))
}

/// The places of coordinates that have one, not a negative number, and their positions. Each is written, and counted
/// if it has one: processors do not predict which have.
fn kept<C: Index + Into<i64>>(crd: &[C], place: impl Fn(i64) -> i64) -> (Vec<C>, Vec<usize>) {
    let (mut coords, mut at) = (vec![], vec![]);
    let (mut own, mut positions) = ([C::narrowed(0); BLOCK], [0; BLOCK]);
    for (block, crd) in crd.chunks(BLOCK).enumerate() {
        let mut count = 0;
        for (n, &c) in crd.iter().enumerate() {
            let found = place(c.into());
            own[count % BLOCK] = C::narrowed(found as u64);
            positions[count % BLOCK] = block * BLOCK + n;
            count += usize::from(found >= 0);
        }
        coords.extend_from_slice(&own[..count]);
        at.extend_from_slice(&positions[..count]);
    }
    (coords, at)
}

/// Where lines end among entries at ascending positions of so many.
fn ends<P: Element + Into<i64>>(pos: &[P], stored: usize, at: &[usize]) -> Vec<i64> {
    if at.len() == stored {
        return pos.iter().map(|&end| end.into()).collect();
    }
    let mut end = 0;
    let below = |&p: &P| {
        while at.get(end).is_some_and(|&at| (at as i64) < p.into()) {
            end += 1;
        }
        end as i64
    };
    pos.iter().map(below).collect()
}

/// Sorts the entries of each line by their coordinates, which are there once.
fn sort<C: Index + Ord>(ends: &[i64], coords: &mut [C], at: &mut [usize]) {
    let mut pairs: Vec<(C, usize)> = vec![];
    for pair in ends.windows(2) {
        let line = pair[0] as usize..pair[1] as usize;
        let (own, positions) = (&mut coords[line.clone()], &mut at[line]);
        if own.is_sorted() {
            continue;
        }
        if own.is_sorted_by(|a, b| a > b) {
            own.reverse();
            positions.reverse();
            continue;
        }
        pairs.clear();
        pairs.extend(own.iter().copied().zip(positions.iter().copied()));
        pairs.sort_unstable();
        for (n, &(c, position)) in pairs.iter().enumerate() {
            (own[n], positions[n]) = (c, position);
        }
    }
}
