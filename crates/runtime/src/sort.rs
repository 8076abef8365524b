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
