//! What ranks send each other, as bytes: numbers of seven bits a byte, differences in lists.

use super::coords::Coords;
use tamis_runtime::{Coordinates, Diagnostic, Values};

/// Adds a number: seven bits a byte, the last byte below 128.
pub(super) fn put(into: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        into.push(n as u8 | 0x80);
        n >>= 7;
    }
    into.push(n as u8);
}

/// Adds numbers as differences.
fn put_list(into: &mut Vec<u8>, list: impl IntoIterator<Item = u64>) {
    let mut last = 0i64;
    for n in list {
        let step = (n as i64).wrapping_sub(last);
        put(into, ((step << 1) ^ (step >> 63)) as u64);
        last = n as i64;
    }
}

/// Bytes of a rank, from the first on.
pub(super) struct Reader<'b>(pub(super) &'b [u8]);

impl<'b> Reader<'b> {
    pub(super) fn number(&mut self) -> u64 {
        let (mut n, mut shift) = (0, 0);
        while let Some((&byte, rest)) = self.0.split_first() {
            self.0 = rest;
            n |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                break;
            }
        }
        n
    }

    fn list(&mut self, count: usize) -> Vec<u64> {
        let mut last = 0i64;
        let next = |_| {
            let n = self.number();
            last = last.wrapping_add((n >> 1) as i64 ^ -((n & 1) as i64));
            last as u64
        };
        (0..count).map(next).collect()
    }
}

/// Adds the coordinates that a rank asks for: an interval, and others as differences or as a bit for each between
/// the first and the last, whichever is shorter.
pub(super) fn put_coords(into: &mut Vec<u8>, coords: &Coords) {
    let Coords::Some(interval, list) = coords else { return put(into, 0) };
    put(into, if is_dense(list) { 2 } else { 1 });
    put(into, interval.start);
    put(into, interval.end);
    if !is_dense(list) {
        put(into, list.len() as u64);
        return put_list(into, list.iter().copied());
    }
    let first = list[0];
    let mut bits = vec![0u8; ((list[list.len() - 1] - first) / 8 + 1) as usize];
    for at in list.iter().map(|at| at - first) {
        bits[(at / 8) as usize] |= 1 << (at % 8);
    }
    put(into, first);
    put(into, bits.len() as u64);
    into.extend_from_slice(&bits);
}

/// Whether a bit for each coordinate between the first and the last takes fewer bytes than differences do.
fn is_dense(list: &[u64]) -> bool {
    match list {
        [first, .., last] => (last - first) / 8 < list.len() as u64,
        _ => false,
    }
}

/// Coordinates that a rank asks for.
pub(super) fn coords(from: &mut Reader<'_>) -> Coords {
    let kind = from.number();
    if kind == 0 {
        return Coords::All;
    }
    let interval = from.number()..from.number();
    if kind == 1 {
        let count = from.number() as usize;
        return Coords::Some(interval, from.list(count));
    }
    let (first, count) = (from.number(), from.number() as usize);
    let (bits, rest) = from.0.split_at(count.min(from.0.len()));
    from.0 = rest;
    let each = (0..8 * bits.len()).filter(|at| bits[at / 8] & (1 << (at % 8)) != 0);
    Coords::Some(interval, each.map(|at| first + at as u64).collect())
}

/// Some entries of a list as bytes.
pub(super) fn entries(list: &Coordinates, places: &[usize]) -> Vec<u8> {
    let mut bytes = vec![];
    put(&mut bytes, places.len() as u64);
    for crds in list.crds() {
        put_list(&mut bytes, places.iter().map(|&n| crds[n]));
    }
    list.vals().put_bytes(places, &mut bytes);
    bytes
}

/// Adds entries that came as bytes to columns of coordinates and to values.
pub(super) fn take_entries(from: &[u8], crds: &mut [Vec<u64>], vals: &mut Values) {
    let mut from = Reader(from);
    let count = from.number() as usize;
    for crds in crds {
        crds.extend(from.list(count));
    }
    vals.extend_bytes(from.0);
}

/// A list of these entries.
pub(super) fn list(
    dims: &[u64],
    crds: Vec<Vec<u64>>,
    vals: Values,
) -> Result<Coordinates, Diagnostic> {
    Coordinates::new(dims.to_vec(), crds, vals)
}

#[cfg(test)]
mod tests {
    use super::{Coords, Reader, coords, put_coords};

    #[test]
    fn coordinates_come_as_they_were_asked_for() {
        let far = vec![3, 1 << 20, 1 << 40];
        let lists = [vec![], vec![7], vec![0, 1, 2, 9], far, (0..100).collect()];
        let mut all = vec![Coords::All, Coords::Some(3..900, vec![])];
        all.extend(lists.clone().map(|list| Coords::Some(0..0, list)));
        all.extend(lists.map(|list| Coords::Some(1 << 41..1 << 50, list)));
        for asked in all {
            let mut bytes = vec![];
            put_coords(&mut bytes, &asked);
            let mut from = Reader(&bytes);
            assert_eq!(coords(&mut from), asked);
            assert!(from.0.is_empty());
        }
    }
}
