//! Sorting a list of coordinates, which kernels do once a row: most lists are short, and a list holds a
//! coordinate once.
//!
//! ```text
//! few                   by comparing                              7 2 5             2 5 7
//! some, nearly in order by insertion
//! some                  by counting how many are less             2 0 1             2 5 7
//! many in a short span  as bits, read in order                    bits 2, 5, 7 set  2 5 7
//! many                  by digits, the least significant first
//! ```
//!
//! The switch points are where nanoseconds per coordinate cross, lists of random coordinates in a span of so
//! many times their number, or of 2^24:
//!
//! | coordinates | comparing | counting | bits, 4 | digits, 4 | digits, 64 | digits, 2^24 |
//! |--:|--:|--:|--:|--:|--:|--:|
//! | 16 | 8.6 | 3.8 | 2.9 | 9.7 | 18.7 | 36.5 |
//! | 32 | 5.0 | 3.9 | 2.7 | 6.5 | 8.8 | 19.4 |
//! | 64 | 5.7 | 4.6 | 2.6 | 5.5 | 5.9 | 10.5 |
//! | 96 | 6.3 | 5.8 | 2.4 | 4.6 | 4.7 | 9.3 |
//! | 128 | 6.5 | | 2.3 | 4.1 | 4.3 | 8.5 |
//! | 4096 | 9.6 | | 1.4 | 3.1 | 4.8 | 6.4 |
//!
//! What lies beside each coordinate of a row moves along ([`sort_pairs`]): a few by insertion, a row that descends by
//! exchanging its ends, others by counting as well.

#[cfg(target_arch = "x86_64")]
use crate::processor::{self, Level};

/// Up to this length lists are sorted by comparing, whatever their span.
const FEW: usize = 8;
/// The same for coordinates with what lies beside each, by insertion.
const FEW_PAIRS: usize = 6;
/// Up to this length a list with few descents is sorted by insertion: rows of structured matrices, whose next
/// one is alike.
const NEARLY_UP_TO: usize = 32;
/// Up to this length a list too wide for bits is sorted by counting.
const COUNTED_UP_TO: usize = 96;
/// Up to so many coordinates for each digit a list is sorted by comparing.
const COMPARED_PER_DIGIT: usize = 48;
/// Coordinates that are compared with one at the same time.
const LANES: usize = 16;
/// The span of a list, per coordinate, up to which it is sorted as bits.
const DENSE: u64 = 16;
/// The same for ranks: a word for each coordinate.
const RANKED_DENSE: u64 = 64;
/// Words and coordinates that are held on the stack.
const ON_STACK: usize = 256;
const FEW_ON_STACK: usize = 32;

/// An integer, as lists hold them: one of 32 or 64 bits may be below 0, as of a level `i-j`.
pub(crate) trait Coordinate: Copy + Ord + Default {
    /// How far it is from a lesser one.
    fn above(self, least: Self) -> u64;
    /// The coordinate that is so far from this one.
    fn plus(self, distance: u64) -> Self;
}

macro_rules! coordinates {
    ($($t:ty, $unsigned:ty;)*) => {$(
        impl Coordinate for $t {
            fn above(self, least: $t) -> u64 {
                u64::from(self.wrapping_sub(least) as $unsigned)
            }
            fn plus(self, distance: u64) -> $t {
                self.wrapping_add(distance as $t)
            }
        }
    )*};
}

coordinates!(u8, u8; u16, u16; i32, u32; i64, u64; u64, u64;);

/// Sorts a list. Without memory for digits it is sorted by comparing.
pub(crate) fn sort<T: Coordinate>(list: &mut [T]) {
    if list.len() <= FEW {
        return list.sort_unstable();
    }
    #[cfg(target_arch = "x86_64")]
    if processor::allows(Level::V3) {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { sort_wide(list) };
    }
    sort_many(list);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
fn sort_wide<T: Coordinate>(list: &mut [T]) {
    sort_many(list);
}

#[inline(always)]
fn sort_many<T: Coordinate>(list: &mut [T]) {
    if list.is_sorted() {
        return;
    }
    let descents = || list.windows(2).filter(|pair| pair[0] > pair[1]).count();
    if list.len() <= NEARLY_UP_TO && descents() * 4 <= list.len() && by_insertion(list) {
        return;
    }
    let least = list.iter().copied().fold(list[0], T::min);
    let most = list.iter().copied().fold(list[0], T::max);
    let span = most.above(least);
    let dense = span / DENSE <= list.len() as u64;
    let bits = 64 - span.leading_zeros();
    let done = match list.len() {
        _ if dense => with_room((span / 64 + 1) as usize, |words| as_bits(list, least, words)),
        0..=COUNTED_UP_TO if span <= i32::MAX as u64 => Some(by_counting(list, least)),
        len if len > COMPARED_PER_DIGIT * bits.div_ceil(8) as usize => {
            with_room(len, |other| by_digits(list, other, least, bits))
        }
        _ => None,
    };
    if done != Some(true) {
        list.sort_unstable();
    }
}

/// Sorts a list that nearly ascends, and says whether it is sorted: it gives up after more moves than there are
/// coordinates, as in `5 6 7 1 2 3`, and leaves the same coordinates in some order.
fn by_insertion<T: Coordinate>(list: &mut [T]) -> bool {
    let mut moved = 0;
    for k in 1..list.len() {
        let (c, mut to) = (list[k], k);
        while to > 0 && list[to - 1] > c {
            list[to] = list[to - 1];
            to -= 1;
        }
        list[to] = c;
        moved += k - to;
        if moved > list.len() {
            return false;
        }
    }
    true
}

/// The rank of each of some distinct coordinates, where it is found without sorting: those in a short span, as bits,
/// and a few, by counting; says whether it is.
pub(crate) fn ranks<T: Coordinate>(list: &[T], ranks: &mut [u32]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if processor::allows(Level::V3) {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { ranks_wide(list, ranks) };
    }
    ranks_of(list, ranks)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn ranks_wide<T: Coordinate>(list: &[T], ranks: &mut [u32]) -> bool {
    ranks_of(list, ranks)
}

#[inline(always)]
fn ranks_of<T: Coordinate>(list: &[T], ranks: &mut [u32]) -> bool {
    let Some(&first) = list.first() else { return true };
    let least = list.iter().copied().fold(first, T::min);
    let span = list.iter().copied().fold(first, T::max).above(least);
    if span / RANKED_DENSE <= list.len() as u64 {
        let words = (span / 64 + 1) as usize;
        return with_room(words, |words| ranks_as_bits(list, least, (words, ranks))) == Some(true);
    }
    if list.len() > COUNTED_UP_TO || span > i32::MAX as u64 {
        return false;
    }
    let Some([_, less]) = above_and_ranks::<T, COUNTED_UP_TO>(list, least) else { return false };
    for (rank, &less) in ranks.iter_mut().zip(&less) {
        *rank = less as u32;
    }
    true
}

/// The ranks of distinct coordinates as bits; no, if one is repeated.
#[inline(always)]
fn ranks_as_bits<T: Coordinate>(
    list: &[T],
    least: T,
    (words, ranks): (&mut [Word], &mut [u32]),
) -> bool {
    let mut repeated = 0;
    for &c in list {
        let distance = c.above(least);
        let (word, bit) = (&mut words[(distance / 64) as usize].bits, 1 << (distance % 64));
        repeated |= *word & bit;
        *word |= bit;
    }
    if repeated != 0 {
        return false;
    }
    let mut before = 0;
    for word in &mut *words {
        word.before = before;
        before += word.bits.count_ones();
    }
    for (rank, &c) in ranks.iter_mut().zip(list) {
        let distance = c.above(least);
        let word = words[(distance / 64) as usize];
        *rank = word.before + (word.bits & ((1 << (distance % 64)) - 1)).count_ones();
    }
    true
}

/// Coordinates as bits, and how many lie in the words before.
#[derive(Clone, Copy, Default)]
struct Word {
    bits: u64,
    before: u32,
}

/// Calls `f` with so many zeros; `None` without memory for them.
#[inline(always)]
pub(crate) fn with_room<T: Copy + Default, R>(
    len: usize,
    f: impl FnOnce(&mut [T]) -> R,
) -> Option<R> {
    // Most lists are so short that clearing room for many would take longer than what it is for.
    if let Some(few) = [T::default(); FEW_ON_STACK].get_mut(..len) {
        return Some(f(few));
    }
    if let Some(some) = [T::default(); ON_STACK].get_mut(..len) {
        return Some(f(some));
    }
    let mut many = Vec::new();
    many.try_reserve_exact(len).ok()?;
    many.resize(len, T::default());
    Some(f(&mut many))
}

/// Sorts a list of distinct coordinates within 31 bits of the least by how many are less than each; a list
/// that repeats one stays as it is, and the answer is no.
fn by_counting<T: Coordinate>(list: &mut [T], least: T) -> bool {
    // Clearing room for more takes longer than counting a few.
    match list.len().div_ceil(LANES) {
        0..=1 => by_counting_in::<T, LANES>(list, least),
        2 => by_counting_in::<T, { 2 * LANES }>(list, least),
        _ => by_counting_in::<T, COUNTED_UP_TO>(list, least),
    }
}

/// The same with room for so many.
#[inline(always)]
fn by_counting_in<T: Coordinate, const ROOM: usize>(list: &mut [T], least: T) -> bool {
    let Some([above, ranks]) = above_and_ranks::<T, ROOM>(list, least) else {
        return false;
    };
    for (&above, &rank) in above[..list.len()].iter().zip(&ranks) {
        list[rank as usize] = least.plus(above as u64);
    }
    true
}

/// How far some coordinates within 31 bits of the least are above it, and how many of them are less than each, if they
/// are distinct.
#[inline(always)]
fn above_and_ranks<T: Coordinate, const ROOM: usize>(
    list: &[T],
    least: T,
) -> Option<[[i32; ROOM]; 2]> {
    let (mut above, mut ranks) = ([0; ROOM], [0; ROOM]);
    for (above, &c) in above.iter_mut().zip(list) {
        *above = c.above(least) as i32;
    }
    let len = list.len();
    counted(&above, len, &mut ranks);
    // Equal coordinates have equal ranks, of which the sum is less.
    let sum: i32 = ranks[..len].iter().sum();
    (sum as usize == len * (len - 1) / 2).then_some([above, ranks])
}

/// Sorts a few distinct coordinates with what lies beside each, and says whether they are in order then: where they
/// are many, far apart or repeated they stay as they are.
pub(crate) fn sort_pairs<K: Coordinate, V: Copy + Default>(keys: &mut [K], with: &mut [V]) -> bool {
    if keys.is_sorted() {
        return true;
    }
    if keys.is_sorted_by(|a, b| a > b) {
        keys.reverse();
        with.reverse();
        return true;
    }
    match keys.len() {
        len if len <= FEW_PAIRS => pairs_by_insertion(keys, with),
        len if len <= LANES => pairs_by_counting::<K, V, LANES>(keys, with),
        len if len <= COUNTED_UP_TO => pairs_by_counting::<K, V, COUNTED_UP_TO>(keys, with),
        _ => false,
    }
}

/// The same by moving each to where it belongs, repeated ones too.
#[inline(always)]
fn pairs_by_insertion<K: Coordinate, V: Copy>(keys: &mut [K], with: &mut [V]) -> bool {
    for k in 1..keys.len() {
        let (key, value, mut to) = (keys[k], with[k], k);
        while to > 0 && keys[to - 1] > key {
            (keys[to], with[to]) = (keys[to - 1], with[to - 1]);
            to -= 1;
        }
        (keys[to], with[to]) = (key, value);
    }
    true
}

/// The same by how many are less than each, for as many as there is room for.
#[inline(always)]
fn pairs_by_counting<K: Coordinate, V: Copy + Default, const ROOM: usize>(
    keys: &mut [K],
    with: &mut [V],
) -> bool {
    let len = keys.len();
    let least = keys.iter().copied().fold(keys[0], K::min);
    let most = keys.iter().copied().fold(keys[0], K::max);
    if most.above(least) > i32::MAX as u64 {
        return false;
    }
    let Some([above, ranks]) = above_and_ranks::<K, ROOM>(keys, least) else { return false };
    let mut old = [V::default(); ROOM];
    old[..len].copy_from_slice(with);
    for ((&above, &old), &rank) in above[..len].iter().zip(&old).zip(&ranks) {
        keys[rank as usize] = least.plus(above as u64);
        with[rank as usize] = old;
    }
    true
}

/// How many of the first keys are less than each; room for both is a multiple of the lanes.
fn counted(keys: &[i32], len: usize, less: &mut [i32]) {
    #[cfg(target_arch = "x86_64")]
    if processor::allows(Level::V4) {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { counted_by_masks(keys, len, less) };
    } else if processor::allows(Level::V3) {
        // SAFETY: as above.
        return unsafe { counted_wide(keys, len, less) };
    }
    counted_plain(keys, len, less);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn counted_wide(keys: &[i32], len: usize, less: &mut [i32]) {
    counted_plain(keys, len, less);
}

/// The same, a comparison and a sum for all lanes; compilers make two vectors of them, and masks into numbers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn counted_by_masks(keys: &[i32], len: usize, less: &mut [i32]) {
    use std::arch::x86_64::{
        _mm512_cmpgt_epi32_mask, _mm512_loadu_si512, _mm512_mask_add_epi32, _mm512_set1_epi32,
        _mm512_setzero_si512, _mm512_storeu_si512,
    };
    let one = _mm512_set1_epi32(1);
    let blocks = keys.chunks_exact(LANES).zip(less.chunks_exact_mut(LANES));
    for (block, less) in blocks.take(len.div_ceil(LANES)) {
        // SAFETY: a block has as many lanes as the vector.
        let block = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
        let mut counts = _mm512_setzero_si512();
        for &other in &keys[..len] {
            let above = _mm512_cmpgt_epi32_mask(block, _mm512_set1_epi32(other));
            counts = _mm512_mask_add_epi32(counts, above, counts, one);
        }
        // SAFETY: as above.
        unsafe { _mm512_storeu_si512(less.as_mut_ptr().cast(), counts) };
    }
}

#[inline(always)]
fn counted_plain(keys: &[i32], len: usize, less: &mut [i32]) {
    let blocks = keys.chunks_exact(LANES).zip(less.chunks_exact_mut(LANES));
    for (block, less) in blocks.take(len.div_ceil(LANES)) {
        let mut counts = [0; LANES];
        for &other in &keys[..len] {
            for (count, &key) in counts.iter_mut().zip(block) {
                *count += i32::from(key > other);
            }
        }
        less.copy_from_slice(&counts);
    }
}

/// Sorts a list of distinct coordinates; a list that repeats one stays as it is, and the answer is no.
#[inline(always)]
fn as_bits<T: Coordinate>(list: &mut [T], least: T, words: &mut [u64]) -> bool {
    let mut repeated = 0;
    for &c in list.iter() {
        let distance = c.above(least);
        let (word, bit) = (&mut words[(distance / 64) as usize], 1 << (distance % 64));
        repeated |= *word & bit;
        *word |= bit;
    }
    if repeated != 0 {
        return false;
    }
    let mut places = list.iter_mut();
    for (start, word) in (0..).step_by(64).zip(words) {
        let mut rest = *word;
        while rest != 0 {
            let Some(place) = places.next() else { return true };
            *place = least.plus(start + u64::from(rest.trailing_zeros()));
            rest &= rest - 1;
        }
    }
    true
}

/// Sorts by digits the coordinates that differ in so many bits from the least.
#[inline(always)]
fn by_digits<T: Coordinate>(list: &mut [T], other: &mut [T], least: T, bits: u32) -> bool {
    let passes = bits.div_ceil(8).max(1);
    let width = bits.div_ceil(passes);
    let mask = (1u64 << width) - 1;
    let (mut from, mut to) = (&mut *list, &mut *other);
    for pass in 0..passes {
        let digit = |c: T| (c.above(least) >> (pass * width) & mask) as usize;
        let mut next = [0usize; 256];
        from.iter().for_each(|&c| next[digit(c)] += 1);
        let mut sum = 0;
        for n in &mut next[..=mask as usize] {
            sum += std::mem::replace(n, sum);
        }
        for &c in from.iter() {
            let place = &mut next[digit(c)];
            to[*place] = c;
            *place += 1;
        }
        std::mem::swap(&mut from, &mut to);
    }
    if passes % 2 == 1 {
        list.copy_from_slice(other);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Coordinate + std::fmt::Debug>(list: &[T]) {
        let mut expected = list.to_vec();
        expected.sort_unstable();
        let mut found = list.to_vec();
        sort(&mut found);
        assert_eq!(found, expected, "{list:?}");
        let (mut keys, mut origins): (Vec<T>, Vec<usize>) =
            (list.to_vec(), (0..list.len()).collect());
        if sort_pairs(&mut keys, &mut origins) {
            let mut pairs: Vec<(T, usize)> = list.iter().copied().zip(0..).collect();
            pairs.sort();
            assert_eq!(keys.into_iter().zip(origins).collect::<Vec<_>>(), pairs, "{list:?}");
        }
        let mut by_rank = vec![0; list.len()];
        if ranks(list, &mut by_rank) {
            let placed = list.iter().zip(&by_rank).map(|(c, &rank)| (rank as usize, *c));
            let expected: Vec<(usize, T)> = expected.into_iter().enumerate().collect();
            let mut placed: Vec<(usize, T)> = placed.collect();
            placed.sort_unstable();
            assert_eq!(placed, expected, "{list:?}");
        }
    }

    /// Lists of every length in question, over spans from dense to wide, with and without repetitions.
    #[test]
    fn the_order_is_that_of_the_library() {
        let mut state = 1u64;
        let mut random = |bound: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 20) % bound
        };
        let lengths = [
            0,
            1,
            2,
            3,
            4,
            FEW_PAIRS,
            FEW,
            FEW + 1,
            16,
            60,
            COUNTED_UP_TO,
            COUNTED_UP_TO + 1,
            255,
            257,
            5000,
        ];
        for len in lengths {
            for per in [1, 2, DENSE, DENSE + 1, 1 << 14, 1 << 30] {
                let bound = (len as u64 * per).max(1);
                let base = random(1 << 30);
                let repeated: Vec<u64> = (0..len).map(|_| base + random(bound)).collect();
                let mut distinct: Vec<u64> = (0..len as u64).map(|n| base + n * per).collect();
                let mut nearly = distinct.clone();
                nearly.rotate_left(len / 3);
                (1..len).for_each(|n| distinct.swap(n, random(n as u64 + 1) as usize));
                for list in [repeated, distinct, nearly] {
                    // Coordinates of a level i-j begin below 0.
                    let below = list.iter().map(|&c| c as i64 - base as i64 - len as i64 / 2);
                    let below: Vec<i64> = below.collect();
                    check(&below);
                    check(&below.iter().map(|&c| c as i32).collect::<Vec<_>>());
                    check(&list.iter().map(|&c| c as i64).collect::<Vec<_>>());
                    check(&list.iter().map(|&c| c as i32).collect::<Vec<_>>());
                    check(&list.iter().map(|&c| c as u16).collect::<Vec<_>>());
                    check(&list.iter().map(|&c| i64::MAX - c as i64).collect::<Vec<_>>());
                }
            }
        }
        check(&[i64::MAX, 0, i64::MIN, 7, 6, 5, 4, 3, 2, 1, 0, i64::MAX]);
    }
}
