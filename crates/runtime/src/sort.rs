//! The stable order of entries by several keys: a parallel radix sort.
//!
//! Keys are packed into one 64-bit number where their bits fit, and sorted least significant digit
//! first. Each pass counts and scatters by chunks whose number does not depend on the threads, so
//! the order is the same for any number of them. Longer keys are compared instead.

use rayon::prelude::*;

const DIGIT: u32 = 11;
const BUCKETS: usize = 1 << DIGIT;
/// Entries from which chunks are worth their counts.
const PARALLEL_FROM: usize = 1 << 16;
const CHUNKS: usize = 16;

/// The places of entries in ascending order of their keys, first key first; `None` if they are in
/// order as they stand. `dims` bound the keys.
pub fn sorted_order(keys: &[&[u64]], dims: &[u64], len: usize) -> Option<Vec<u32>> {
    let in_order = |n: usize| keys.iter().map(|k| k[n - 1]).le(keys.iter().map(|k| k[n]));
    if (1..len).all(in_order) {
        return None;
    }
    let bits: Vec<u32> = dims.iter().map(|&d| 64 - d.saturating_sub(1).leading_zeros()).collect();
    let total: u32 = bits.iter().sum();
    if total <= 64 {
        return Some(radix(packed(keys, &bits, len), total));
    }
    let mut order: Vec<u32> = (0..len as u32).collect();
    order.par_sort_by(|&a, &b| {
        let of = |n: u32| keys.iter().map(move |k| k[n as usize]);
        of(a).cmp(of(b))
    });
    Some(order)
}

/// Each entry's keys as one number, with its place.
fn packed(keys: &[&[u64]], bits: &[u32], len: usize) -> Vec<(u64, u32)> {
    (0..len)
        .into_par_iter()
        .with_min_len(PARALLEL_FROM)
        .map(|n| {
            let key = keys
                .iter()
                .zip(bits)
                .fold(0u64, |key, (k, &b)| key.checked_shl(b).unwrap_or(0) | k[n]);
            (key, n as u32)
        })
        .collect()
}

fn radix(mut records: Vec<(u64, u32)>, bits: u32) -> Vec<u32> {
    let mut scratch = vec![(0u64, 0u32); records.len()];
    let mut shift = 0;
    while shift < bits {
        pass(&records, &mut scratch, shift);
        std::mem::swap(&mut records, &mut scratch);
        shift += DIGIT;
    }
    records.into_iter().map(|(_, n)| n).collect()
}

/// One stable counting pass over a digit.
fn pass(from: &[(u64, u32)], to: &mut [(u64, u32)], shift: u32) {
    let digit = |record: &(u64, u32)| (record.0 >> shift) as usize & (BUCKETS - 1);
    let chunks = if from.len() < PARALLEL_FROM { 1 } else { CHUNKS };
    let size = from.len().div_ceil(chunks).max(1);
    let mut counts: Vec<Vec<usize>> = from
        .par_chunks(size)
        .map(|chunk| {
            let mut count = vec![0usize; BUCKETS];
            chunk.iter().for_each(|r| count[digit(r)] += 1);
            count
        })
        .collect();
    let mut next = 0;
    for bucket in 0..BUCKETS {
        for count in &mut counts {
            let n = count[bucket];
            count[bucket] = next;
            next += n;
        }
    }
    let target = Target(to.as_mut_ptr());
    from.par_chunks(size).zip(counts).for_each(|(chunk, mut next)| {
        for record in chunk {
            let place = &mut next[digit(record)];
            // SAFETY: the prefix sums give every record of every chunk a place of its own below
            // `from.len()`, which is also the length of `to`.
            unsafe { target.at(*place).write(*record) };
            *place += 1;
        }
    });
}

/// A place to write from several threads, each to elements of its own.
struct Target(*mut (u64, u32));

// SAFETY: see `pass`: threads write disjoint elements.
unsafe impl Sync for Target {}

impl Target {
    fn at(&self, place: usize) -> *mut (u64, u32) {
        self.0.wrapping_add(place)
    }
}

/// Sorts the records `lo..hi` of arrays in memory, stably, by the first `keys` of them.
///
/// Each array is an address and the size of its elements, 1, 4 or 8 bytes; keys are integers from
/// 0 of 4 or 8 bytes.
///
/// # Safety
/// The arrays are readable and writable in `lo..hi` and do not overlap.
pub unsafe fn sort_records(arrays: &[[u64; 2]], keys: usize, lo: usize, hi: usize) {
    let len = hi - lo;
    let columns: Vec<Vec<u64>> = arrays[..keys]
        .iter()
        // SAFETY: the caller promises readable elements.
        .map(|&[address, size]| (lo..hi).map(|k| unsafe { read(address, size, k) }).collect())
        .collect();
    let views: Vec<&[u64]> = columns.iter().map(Vec::as_slice).collect();
    let bounds: Vec<u64> =
        views.iter().map(|c| c.iter().max().map_or(0, |m| m.saturating_add(1))).collect();
    let order = match len {
        0..=INSERTION_UP_TO => insertion(&views, len),
        _ => sorted_order(&views, &bounds, len),
    };
    let Some(order) = order else { return };
    for &[address, size] in arrays {
        // SAFETY: the caller promises readable and writable elements.
        unsafe {
            let old: Vec<u64> = (lo..hi).map(|k| read(address, size, k)).collect();
            for (k, &from) in order.iter().enumerate() {
                write(address, size, lo + k, old[from as usize]);
            }
        }
    }
}

/// Up to this length, insertion beats counting.
const INSERTION_UP_TO: usize = 48;

fn insertion(keys: &[&[u64]], len: usize) -> Option<Vec<u32>> {
    let less = |a: u32, b: u32| {
        let of = |n: u32| keys.iter().map(move |k| k[n as usize]);
        of(a).lt(of(b))
    };
    let mut order: Vec<u32> = (0..len as u32).collect();
    let mut moved = false;
    for k in 1..len {
        let mut at = k;
        while at > 0 && less(order[at], order[at - 1]) {
            order.swap(at, at - 1);
            at -= 1;
            moved = true;
        }
    }
    moved.then_some(order)
}

/// # Safety
/// Element `k` of the array is readable.
unsafe fn read(address: u64, size: u64, k: usize) -> u64 {
    // SAFETY: the caller promises so.
    unsafe {
        match size {
            1 => u64::from(*(address as *const u8).add(k)),
            4 => u64::from(*(address as *const u32).add(k)),
            _ => *(address as *const u64).add(k),
        }
    }
}

/// # Safety
/// Element `k` of the array is writable.
unsafe fn write(address: u64, size: u64, k: usize, bits: u64) {
    // SAFETY: the caller promises so.
    unsafe {
        match size {
            1 => *(address as *mut u8).add(k) = bits as u8,
            4 => *(address as *mut u32).add(k) = bits as u32,
            _ => *(address as *mut u64).add(k) = bits,
        }
    }
}
