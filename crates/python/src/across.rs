//! Some columns of compressed rows, or rows of compressed columns: one pass over all coordinates finds the entries,
//! another where lines end.
//!
//! ```text
//! columns 3, 0 of csr    pos 0 2 3, crd 0 3 1    the positions 0 and 1, coordinates 1 and 0; exchanged in row 0
//! ```

use crate::lookup::{is_short, places, table};
use crate::memory::buffer;
use crate::reshape::Index;
use crate::select::{Level, Pick, Selected, broken, mode, put_together};
use tamis::level::{COMPRESSED, DENSE};
use tamis::{Buffer, Diagnostic, Element, Tensor, Values};

/// How many coordinates are looked at before the entries that were found are moved from the stack to the result.
const BLOCK: usize = 1024;

/// What a list without repetitions, or steps, select across all lines of compressed ones. Nothing for other formats
/// and picks.
pub(crate) fn some(tensor: &Tensor, picks: &[Pick]) -> Option<Result<Selected, Diagnostic>> {
    let [line, other] = tensor.storage().format.levels() else { return None };
    let data = &tensor.levels()[1];
    let (Some(pos), Some(crd)) = (&data.pos, &data.crd) else { return None };
    let is_whole = line.kind == DENSE && matches!(picks[mode(line)], Pick::All);
    let (size, pick) = (tensor.dims()[mode(other)], &picks[mode(other)]);
    let is_apart = other.kind == COMPRESSED && pick.row().is_none();
    let is_numbered = u32::try_from(crd.len()).is_ok();
    // Of a longer axis greater coordinates than the level holds may become of lesser ones.
    let is_held = crd.as_slice::<i64>().is_some() || i32::try_from(size).is_ok() || pick.ascends();
    if !is_whole || !is_apart || !is_numbered || !is_held || crd.len() != tensor.vals().len() {
        return None;
    }
    let table = match pick {
        Pick::List(list) => Some(table(list, size, crd.len())?),
        // Which coordinates are steps is looked up, too: divisions take longer.
        &Pick::Steps { start, step, len } if step.abs() > 1 && is_short(0, size, crd.len()) => {
            let list: Vec<u64> = (0..len as i64).map(|n| (start + step * n) as u64).collect();
            table(&list, size, crd.len())
        }
        Pick::Steps { .. } => None,
        Pick::All | Pick::At(_) => return None,
    };
    let made = || {
        let (ends, crd, at) = match (crd.as_slice::<i32>(), crd.as_slice::<i64>()) {
            (Some(crd), _) => found(pos, crd, (size, pick), table.as_deref())?,
            (_, Some(crd)) => found(pos, crd, (size, pick), table.as_deref())?,
            _ => return Err(broken()),
        };
        let vals = gathered(tensor.vals(), &at);
        Ok(put_together(tensor, picks, vec![Level::Dense, Level::Listed(ends, crd)], vals))
    };
    Some(made())
}

/// Where lines end among the entries that are found, their coordinates, and their positions.
type Found = (Vec<i64>, Buffer, Vec<u32>);

/// The values at some positions.
pub(crate) fn gathered(vals: &Buffer, at: &[u32]) -> Buffer {
    fn of<T: Element>(vals: &Buffer, at: &[u32]) -> Option<Buffer> {
        let all = vals.as_slice::<T>()?;
        Some(Buffer::from_vec(at.iter().map(|&at| all[at as usize]).collect()))
    }
    of::<f64>(vals, at)
        .or_else(|| of::<f32>(vals, at))
        .or_else(|| of::<[f64; 2]>(vals, at))
        .or_else(|| of::<i64>(vals, at))
        .or_else(|| of::<i32>(vals, at))
        .unwrap_or_else(|| {
            let at: Vec<usize> = at.iter().map(|&at| at as usize).collect();
            buffer(Values::gathered(vals, &at))
        })
}

fn found<C: Index + Into<i64> + Ord>(
    pos: &Buffer,
    crd: &[C],
    (size, pick): (u64, &Pick),
    table: Option<&[u32]>,
) -> Result<Found, Diagnostic> {
    if let &Pick::Steps { start, step: -1, len } = pick
        && len == size
    {
        return match (pos.as_slice::<i32>(), pos.as_slice::<i64>()) {
            (Some(pos), _) => reversed(pos, crd, start),
            (_, Some(pos)) => reversed(pos, crd, start),
            _ => Err(broken()),
        };
    }
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

/// All entries, those of each line backwards.
fn reversed<P, C>(pos: &[P], crd: &[C], last: i64) -> Result<Found, Diagnostic>
where
    P: Element + Into<i64>,
    C: Index + Into<i64>,
{
    let (mut coords, mut at) = (Vec::with_capacity(crd.len()), Vec::with_capacity(crd.len()));
    let ends: Vec<i64> = pos.iter().map(|&end| end.into()).collect();
    for pair in ends.windows(2) {
        let line = crd.get(pair[0] as usize..pair[1] as usize).ok_or_else(broken)?;
        coords.extend(line.iter().rev().map(|&c| C::narrowed((last - c.into()) as u64)));
        at.extend((pair[0] as u32..pair[1] as u32).rev());
    }
    Ok((ends, Buffer::from_vec(coords), at))
}

/// The coordinates that `place` gives entries in the result, and the positions of these entries. Entries for which it
/// gives a negative number are left out. There is no branch on that, since processors would mispredict it: each entry is
/// written, and the next one overwrites it if it was not counted.
fn kept<C: Index + Into<i64>>(crd: &[C], place: impl Fn(i64) -> i64) -> (Vec<C>, Vec<u32>) {
    let (mut coords, mut at) = (vec![], vec![]);
    let (mut own, mut positions) = ([C::narrowed(0); BLOCK], [0; BLOCK]);
    for (block, crd) in crd.chunks(BLOCK).enumerate() {
        let mut count = 0;
        for (n, &c) in crd.iter().enumerate() {
            let found = place(c.into());
            own[count % BLOCK] = C::narrowed(found as u64);
            positions[count % BLOCK] = (block * BLOCK + n) as u32;
            count += usize::from(found >= 0);
        }
        coords.extend_from_slice(&own[..count]);
        at.extend_from_slice(&positions[..count]);
    }
    (coords, at)
}

/// Where lines end among entries at ascending positions of so many.
fn ends<P: Element + Into<i64>>(pos: &[P], stored: usize, at: &[u32]) -> Vec<i64> {
    if at.len() == stored {
        return pos.iter().map(|&end| end.into()).collect();
    }
    let mut end = 0;
    let below = |&p: &P| {
        while at.get(end).is_some_and(|&at| i64::from(at) < p.into()) {
            end += 1;
        }
        end as i64
    };
    pos.iter().map(below).collect()
}

/// Sorts the entries of each line by their coordinates, which are there once.
fn sort<C: Index + Ord>(ends: &[i64], coords: &mut [C], at: &mut [u32]) {
    let mut pairs: Vec<(C, u32)> = vec![];
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
