//! The stable order of entries: a radix sort of records by an integer key.
//!
//! One scatter by the most significant digit makes buckets that fit in cache, which are then
//! sorted on their own. Chunks and buckets do not depend on the number of threads; a stable order
//! is unique anyway.
//!
//! ```text
//! records    31 12 35 11 14    by the tens: 12 11 14 | 31 35    each bucket: 11 12 14 | 31 35
//! ```

use crate::budget;
use crate::memory::Building;
use crate::threads::{self, locked};
use std::sync::Mutex;
use tamis_ir::diagnostic::Diagnostic;

/// Most bits of the first digit: its buckets' ends are written at once, so they should be in cache.
const TOP: u32 = 8;
/// Most bits of a later digit.
const DIGIT: u32 = 10;
/// Up to this length, insertion beats counting.
const INSERTION_UP_TO: usize = 40;
/// Entries of a bucket worth the first scatter.
const BUCKET: usize = 1 << 10;
/// Up to this length, records stay in cache while all digits are sorted by.
const IN_CACHE: usize = 1 << 14;
/// Least records of a chunk, and most chunks.
const CHUNK: usize = 1 << 16;
const CHUNKS: usize = 64;

/// An unsigned integer to sort by.
pub(crate) trait Key: Copy + Ord + Send + Sync + 'static {
    /// A key of no bits.
    const ZERO: Self;
    /// The key followed by `bits` bits of a further number.
    fn then(self, number: u64, bits: u32) -> Self;
    /// The low 64 bits of the key without its `shift` lowest bits.
    fn low(self, shift: u32) -> u64;
    /// The bits in which two keys differ, up to the highest: 0 for equal keys.
    fn differing(self, other: Self) -> u32;
}

macro_rules! keys {
    ($($t:ident)*) => {$(
        impl Key for $t {
            const ZERO: $t = 0;
            fn then(self, number: u64, bits: u32) -> $t {
                (self << bits) | $t::from(number)
            }
            fn low(self, shift: u32) -> u64 {
                (self >> shift) as u64
            }
            fn differing(self, other: $t) -> u32 {
                $t::BITS - (self ^ other).leading_zeros()
            }
        }
    )*};
}

keys!(u64 u128);

/// What is sorted: a key and 64 bits that go with it.
#[derive(Clone, Copy)]
pub(crate) struct Record<K> {
    pub key: K,
    pub load: u64,
}

/// The bits that numbers below `bound` need.
pub(crate) fn bits_below(bound: u64) -> u32 {
    64 - bound.saturating_sub(1).leading_zeros()
}

/// Whether entries ascend by their keys, first key first; equal ones may follow each other.
pub(crate) fn is_sorted(keys: &[&[u64]], len: usize) -> bool {
    let follows = |n: usize| match keys.iter().find(|key| key[n - 1] != key[n]) {
        Some(key) => key[n - 1] < key[n],
        None => true,
    };
    threads::all(len.div_ceil(CHUNK), &|c| {
        ((c * CHUNK).max(1)..len.min((c + 1) * CHUNK)).all(follows)
    })
}

/// The indices of entries in ascending order of their keys, first key first, for keys of any number
/// of bits. Keys are below `bounds`.
pub(crate) fn sorted_order(
    keys: &[&[u64]],
    bounds: &[u64],
    len: usize,
) -> Result<Vec<u64>, Diagnostic> {
    budget::check("the order of entries", 8.0 * len as f64, budget::SMALLER_TENSOR)?;
    // As many of the last keys as fit in one number are sorted by at once, then those before.
    let mut order: Vec<u64> = (0..len as u64).collect();
    let mut end = keys.len();
    while end > 0 {
        let (mut start, mut bits) = (end, 0);
        while start > 0 && bits + bits_below(bounds[start - 1]) <= u128::BITS {
            start -= 1;
            bits += bits_below(bounds[start]);
        }
        let mut records = sorted(Workers::Pool, len, bits, |n| {
            let place = order[n] as usize;
            let key = (start..end)
                .fold(u128::ZERO, |key, k| key.then(keys[k][place], bits_below(bounds[k])));
            Record { key, load: order[n] }
        })?;
        // SAFETY: sorting wrote every element.
        order = unsafe { records.as_mut_slice() }.iter().map(|record| record.load).collect();
        end = start;
    }
    Ok(order)
}

/// Who sorts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workers {
    /// The calling thread.
    One,
    /// All threads of the pool.
    Pool,
}

impl Workers {
    /// What comes of the numbers below `count`, in their order.
    fn map<T: Send>(self, count: usize, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
        match self {
            Workers::One => (0..count).map(f).collect(),
            Workers::Pool => threads::map(count, &f),
        }
    }
}

/// The records `0..len`, stably sorted by keys of so many bits.
pub(crate) fn sorted<K: Key>(
    workers: Workers,
    len: usize,
    bits: u32,
    record: impl Fn(usize) -> Record<K> + Sync,
) -> Result<Building<Record<K>>, Diagnostic> {
    let top = (len / BUCKET).checked_ilog2().unwrap_or(0).min(TOP).min(bits);
    let low = bits - top;
    let (mut records, ends) = scattered(workers, len, low, top, &record)?;
    // SAFETY: the scatter wrote every element and is done.
    let mut rest = unsafe { records.as_mut_slice() };
    let mut buckets = Vec::with_capacity(ends.len());
    let mut start = 0;
    for end in ends {
        let (bucket, tail) = std::mem::take(&mut rest).split_at_mut(end - start);
        (rest, start) = (tail, end);
        if bucket.len() > 1 {
            buckets.push(bucket);
        }
    }
    match workers {
        Workers::Pool if buckets.len() > 1 => {
            let buckets: Vec<_> = buckets.into_iter().map(Mutex::new).collect();
            let spare = Mutex::new(vec![]);
            threads::each(buckets.len(), &|b| {
                let mut scratch = locked(&spare).pop().unwrap_or_default();
                within(&mut locked(&buckets[b]), &mut scratch, low);
                locked(&spare).push(scratch);
            });
        }
        _ => {
            let mut scratch = vec![];
            buckets.iter_mut().for_each(|bucket| within(bucket, &mut scratch, low));
        }
    }
    Ok(records)
}

/// The records in buckets by the `top` bits above `low` ones, and the end of each bucket.
fn scattered<K: Key>(
    workers: Workers,
    len: usize,
    low: u32,
    top: u32,
    record: &(impl Fn(usize) -> Record<K> + Sync),
) -> Result<(Building<Record<K>>, Vec<usize>), Diagnostic> {
    let target = Building::new(len)?;
    if top == 0 {
        // SAFETY: every element is written once, by this thread.
        (0..len).for_each(|n| unsafe { target.write(n, record(n)) });
        return Ok((target, vec![len]));
    }
    let size = match workers {
        Workers::One => len,
        Workers::Pool => CHUNK.max(len.div_ceil(CHUNKS)),
    };
    let chunk = |c: usize| c * size..len.min((c + 1) * size);
    let bucket = |record: &Record<K>| record.key.low(low) as usize;
    let mut counts: Vec<Vec<usize>> = workers.map(len.div_ceil(size), |c| {
        let mut counts = vec![0usize; 1 << top];
        chunk(c).for_each(|n| counts[bucket(&record(n))] += 1);
        counts
    });
    let mut next = 0;
    let mut ends = vec![0; 1 << top];
    for (b, end) in ends.iter_mut().enumerate() {
        for counts in &mut counts {
            next += std::mem::replace(&mut counts[b], next);
        }
        *end = next;
    }
    workers.map(counts.len(), |c| {
        let mut next = counts[c].clone();
        for n in chunk(c) {
            let record = record(n);
            let place = &mut next[bucket(&record)];
            // SAFETY: the sums of counts give each record of each chunk an index of its own.
            unsafe { target.write(*place, record) };
            *place += 1;
        }
    });
    Ok((target, ends))
}

/// Sorts a bucket whose keys agree but in their `bits` lowest bits.
fn within<K: Key>(records: &mut [Record<K>], scratch: &mut Vec<Record<K>>, bits: u32) {
    if bits == 0 || records.len() < 2 {
        return;
    }
    if records.len() <= INSERTION_UP_TO {
        return insertion(records);
    }
    scratch.clear();
    scratch.extend_from_slice(records);
    let digit = records.len().ilog2().min(DIGIT);
    let passes = bits.div_ceil(digit);
    if passes <= 5 && records.len() <= IN_CACHE {
        return least_first(records, scratch, bits, bits.div_ceil(passes));
    }
    // Buckets that fit in cache; and long keys differ early.
    let top = (records.len() / BUCKET).checked_ilog2().unwrap_or(0).clamp(8, TOP).min(bits);
    let low = bits - top;
    let ends = pass(scratch, records, low, top);
    let mut start = 0;
    for end in ends {
        within(&mut records[start..end], scratch, low);
        start = end;
    }
}

/// Sorts by digits, the least significant first; `scratch` is a copy of the records.
fn least_first<K: Key>(
    records: &mut [Record<K>],
    scratch: &mut [Record<K>],
    bits: u32,
    digit: u32,
) {
    // Passes alternate between the two, and the last one writes the records.
    let (mut from, mut to) = if bits.div_ceil(digit).is_multiple_of(2) {
        (records, scratch)
    } else {
        (scratch, records)
    };
    let mut shift = 0;
    while shift < bits {
        pass(from, to, shift, digit.min(bits - shift));
        std::mem::swap(&mut from, &mut to);
        shift += digit;
    }
}

/// One stable counting pass over the digit of `width` bits above `shift` ones; the buckets' ends.
fn pass<K: Key>(from: &[Record<K>], to: &mut [Record<K>], shift: u32, width: u32) -> Vec<usize> {
    let mask = (1u64 << width) - 1;
    let digit = |r: &Record<K>| (r.key.low(shift) & mask) as usize;
    let mut next = vec![0usize; 1 << width];
    from.iter().for_each(|r| next[digit(r)] += 1);
    let mut sum = 0;
    for n in &mut next {
        sum += std::mem::replace(n, sum);
    }
    for r in from {
        let place = &mut next[digit(r)];
        to[*place] = *r;
        *place += 1;
    }
    next
}

fn insertion<K: Key>(records: &mut [Record<K>]) {
    for k in 1..records.len() {
        let record = records[k];
        let mut at = k;
        while at > 0 && record.key < records[at - 1].key {
            records[at] = records[at - 1];
            at -= 1;
        }
        records[at] = record;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the library's stable sort.
    fn check(bounds: &[u64], len: usize) {
        let mut state = len as u64;
        let mut random = |bound: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // Squares crowd near 0, so that buckets are of unequal size.
            let share = (state >> 40) as f64 / (1u64 << 24) as f64;
            (share * share * bound as f64) as u64
        };
        let columns: Vec<Vec<u64>> =
            bounds.iter().map(|&b| (0..len).map(|_| random(b)).collect()).collect();
        let keys: Vec<&[u64]> = columns.iter().map(Vec::as_slice).collect();
        let mut expected: Vec<u64> = (0..len as u64).collect();
        expected.sort_by_cached_key(|&n| keys.iter().map(|k| k[n as usize]).collect::<Vec<u64>>());
        assert_eq!(sorted_order(&keys, bounds, len).unwrap(), expected, "{bounds:?}");
        let bits = bounds.iter().map(|&b| bits_below(b)).sum();
        if bits < u64::BITS {
            let key = |n: usize| {
                let columns = keys.iter().zip(bounds);
                columns.fold(0, |key: u64, (k, &b)| key.then(k[n], bits_below(b)))
            };
            for workers in [Workers::One, Workers::Pool] {
                let record = |n| Record { key: key(n), load: n as u64 };
                let mut records = sorted(workers, len, bits, record).unwrap();
                // SAFETY: sorting wrote every element.
                let found = unsafe { records.as_mut_slice() }.iter().map(|r| r.load);
                assert!(found.eq(expected.iter().copied()), "{bounds:?}");
            }
        }
        let ascending: Vec<Vec<u64>> =
            columns.iter().map(|c| expected.iter().map(|&n| c[n as usize]).collect()).collect();
        let ascending: Vec<&[u64]> = ascending.iter().map(Vec::as_slice).collect();
        assert!(is_sorted(&ascending, len));
        assert_eq!(is_sorted(&keys, len), expected.is_sorted(), "{bounds:?}");
    }

    #[test]
    fn the_order_is_that_of_a_stable_sort() {
        for len in [0, 1, 2, 39, 41, 100, 1500, 5000, 150_000] {
            for bounds in [
                &[1][..],
                &[7],
                &[1000, 1000],
                &[1 << 20, 3, 1],
                &[u64::MAX],
                &[1 << 31, 1 << 31],
                &[1 << 62, 5, 1 << 62],
                &[1 << 40, 1 << 40, 1 << 40, 1 << 40],
            ] {
                check(bounds, len);
            }
        }
    }
}
