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
        let records = radix(packed(keys, &bits, len), total);
        return Some(records.into_iter().map(|(_, n)| n).collect());
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

/// Sorts keys of so many bits with what travels along, stably.
pub(crate) fn radix<T: Carried>(mut records: Vec<(u64, T)>, bits: u32) -> Vec<(u64, T)> {
    let mut scratch = records.clone();
    // Digits of equal widths: a narrow last one would count the same few places over and over.
    let passes = bits.div_ceil(DIGIT).max(1);
    let width = bits.div_ceil(passes);
    for k in 0..passes {
        let digit = |key: u64| (key >> (k * width)) as usize & ((1 << width) - 1);
        pass(&records, &mut scratch, digit);
        std::mem::swap(&mut records, &mut scratch);
    }
    records
}

/// What travels along with a key.
pub(crate) trait Carried: Copy + Send + Sync {}

impl Carried for u32 {}
impl Carried for u64 {}

/// One stable counting pass over a digit.
fn pass<T: Carried>(from: &[(u64, T)], to: &mut [(u64, T)], digit: impl Fn(u64) -> usize + Sync) {
    if from.len() < PARALLEL_FROM {
        // A task of its own would cost more than the pass.
        return short_pass(from, to, digit);
    }
    let size = from.len().div_ceil(CHUNKS);
    let mut counts: Vec<Vec<usize>> = from
        .par_chunks(size)
        .map(|chunk| {
            let mut count = vec![0usize; BUCKETS];
            chunk.iter().for_each(|r| count[digit(r.0)] += 1);
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
            let place = &mut next[digit(record.0)];
            // SAFETY: the prefix sums give every record of every chunk a place of its own below
            // `from.len()`, which is also the length of `to`.
            unsafe { target.at(*place).write(*record) };
            *place += 1;
        }
    });
}

/// The same on one thread.
fn short_pass<T: Carried>(from: &[(u64, T)], to: &mut [(u64, T)], digit: impl Fn(u64) -> usize) {
    let mut places = [0u32; BUCKETS];
    from.iter().for_each(|r| places[digit(r.0)] += 1);
    let mut next = 0;
    for place in &mut places {
        next += std::mem::replace(place, next);
    }
    for record in from {
        let place = &mut places[digit(record.0)];
        to[*place as usize] = *record;
        *place += 1;
    }
}

/// A place to write from several threads, each to elements of its own.
struct Target<T>(*mut (u64, T));

// SAFETY: see `pass`: threads write disjoint elements.
unsafe impl<T: Send> Sync for Target<T> {}

impl<T> Target<T> {
    fn at(&self, place: usize) -> *mut (u64, T) {
        self.0.wrapping_add(place)
    }
}
