//! Sorting records in the arrays of a running kernel, as [`tamis_ir::ir::Stmt::Sort`] asks.
//!
//! The keys of a record are packed into 64 bits where they fit, next to what travels along: the
//! element itself if only one array does, else the record's index. Kernels sort a short list per
//! row as often as one long list, so short ones take no memory but the stack: of distinct keys in a short span, and
//! of a few, each gets its rank by itself, and every array is written once.

use crate::ascending::{self, Coordinate, with_room};
use crate::budget;
use crate::radix::{Record, Workers, sorted};
use smallvec::SmallVec;
use tamis_ir::diagnostic::Diagnostic;

/// Up to this length records are sorted on the stack.
const STACK_UP_TO: usize = 64;
/// Up to this length records are put at their ranks, where these are found.
const RANKED_UP_TO: usize = 1 << 16;
/// Records have seldom more arrays.
const FEW_ARRAYS: usize = 4;

/// Sorts the records `lo..hi` of arrays in memory, stably, by the first `keys` of them.
///
/// Each array is an address and the size of its elements, 1, 2, 4 or 8 bytes; keys are integers
/// with a sign of 4 or 8 bytes: coordinates of a level `i-j` are below 0. The error is that there is too little memory to sort them.
///
/// # Safety
/// The arrays are readable and writable in `lo..hi` and do not overlap.
pub unsafe fn sort_records(
    arrays: &[[u64; 2]],
    keys: usize,
    lo: usize,
    hi: usize,
) -> Result<(), Diagnostic> {
    if let (&[[address, size]], 1) = (arrays, keys) {
        // SAFETY: forwarded.
        unsafe { sort_list(address, size, lo, hi) };
        return Ok(());
    }
    let column = |&[address, size]: &[u64; 2]| Column { address: address + size * lo as u64, size };
    let len = hi.saturating_sub(lo);
    if let ([key, with], 1) = (arrays, keys)
        // SAFETY: forwarded.
        && unsafe { sort_pairs(column(key), column(with), len) }
    {
        return Ok(());
    }
    let columns: SmallVec<[Column; FEW_ARRAYS]> = arrays.iter().map(column).collect();
    let (keys, carried) = columns.split_at(keys);
    let keys: &SmallVec<[Key; FEW_ARRAYS]> =
        &keys.iter().map(|&column| Key { column, least: 0 }).collect();
    if len > STACK_UP_TO {
        // The order, and one array at a time.
        budget::check("the order of entries", 16.0 * len as f64, budget::SMALLER_RESULT)?;
    }
    // SAFETY: the columns start at `lo`, and the caller promises `len` elements from there on.
    unsafe {
        if in_order(keys, len) {
            return Ok(());
        }
        if len <= RANKED_UP_TO && by_ranks(keys, carried, len) {
            return Ok(());
        }
        let keys: &SmallVec<[Key; FEW_ARRAYS]> =
            &keys.iter().map(|key| key.above_least(len)).collect();
        let bits: Vec<u32> = keys.iter().map(|k| 64 - k.largest(len).leading_zeros()).collect();
        if bits.iter().sum::<u32>() > 64 {
            by_comparing(keys, carried, len);
        } else if len <= STACK_UP_TO {
            let mut records = [Record { key: 0, load: 0 }; STACK_UP_TO];
            let records = &mut records[..len];
            (0..len).for_each(|k| records[k] = record(keys, carried, &bits, k));
            records.sort_by_key(|r| r.key);
            unpack(keys, carried, &bits, records);
        } else {
            let of = |k| record(keys, carried, &bits, k);
            let mut records = sorted(Workers::One, len, bits.iter().sum(), of)?;
            unpack(keys, carried, &bits, records.as_mut_slice());
        }
    }
    Ok(())
}

/// Sorts a few distinct keys with an element beside each, or finds them in order; says whether they are.
///
/// # Safety
/// So many elements of both are readable and writable.
unsafe fn sort_pairs(keys: Column, with: Column, len: usize) -> bool {
    /// # Safety
    /// As its caller.
    unsafe fn go<K: Coordinate, V: Bits + Default>(keys: u64, with: u64, len: usize) -> bool {
        // SAFETY: the caller promises so, and arrays do not overlap.
        let (keys, with) = unsafe {
            let keys = std::slice::from_raw_parts_mut(keys as *mut K, len);
            (keys, std::slice::from_raw_parts_mut(with as *mut V, len))
        };
        ascending::sort_pairs(keys, with)
    }
    let (is_narrow, keys) = (keys.size == 4, keys.address);
    let (size, values) = (with.size, with.address);
    // SAFETY: forwarded.
    unsafe {
        match (is_narrow, size) {
            (true, 1) => go::<i32, u8>(keys, values, len),
            (true, 2) => go::<i32, u16>(keys, values, len),
            (true, 4) => go::<i32, u32>(keys, values, len),
            (true, _) => go::<i32, u64>(keys, values, len),
            (false, 1) => go::<i64, u8>(keys, values, len),
            (false, 2) => go::<i64, u16>(keys, values, len),
            (false, 4) => go::<i64, u32>(keys, values, len),
            (false, _) => go::<i64, u64>(keys, values, len),
        }
    }
}

/// Sorts a list by itself.
///
/// # Safety
/// The elements `lo..hi` are readable and writable.
unsafe fn sort_list(address: u64, size: u64, lo: usize, hi: usize) {
    /// # Safety
    /// As its caller.
    unsafe fn go<T: Coordinate>(address: u64, lo: usize, hi: usize) {
        // SAFETY: the caller promises so.
        ascending::sort(unsafe {
            std::slice::from_raw_parts_mut((address as *mut T).add(lo), hi.saturating_sub(lo))
        });
    }
    // SAFETY: forwarded.
    unsafe {
        match size {
            1 => go::<u8>(address, lo, hi),
            2 => go::<u16>(address, lo, hi),
            4 => go::<i32>(address, lo, hi),
            _ => go::<i64>(address, lo, hi),
        }
    }
}

/// An element of any array, widened to 64 bits.
trait Bits: Copy {
    fn get(self) -> u64;
    fn put(bits: u64) -> Self;
}

macro_rules! bits {
    ($($t:ty)*) => {$(
        impl Bits for $t {
            fn get(self) -> u64 {
                u64::from(self)
            }
            fn put(bits: u64) -> Self {
                bits as $t
            }
        }
    )*};
}

bits!(u8 u16 u32 u64);

/// The elements of one array from the first record on.
#[derive(Clone, Copy)]
struct Column {
    address: u64,
    size: u64,
}

impl Column {
    /// # Safety
    /// Element `k` is readable.
    unsafe fn get(self, k: usize) -> u64 {
        // SAFETY: the caller promises so.
        unsafe {
            match self.size {
                1 => (*(self.address as *const u8).add(k)).get(),
                2 => (*(self.address as *const u16).add(k)).get(),
                4 => (*(self.address as *const u32).add(k)).get(),
                _ => *(self.address as *const u64).add(k),
            }
        }
    }

    /// Calls `f` on each element in turn.
    ///
    /// # Safety
    /// So many elements are readable.
    unsafe fn read(self, len: usize, mut f: impl FnMut(usize, u64)) {
        /// # Safety
        /// As its caller.
        unsafe fn go<T: Bits>(address: u64, len: usize, f: &mut impl FnMut(usize, u64)) {
            for k in 0..len {
                // SAFETY: the caller promises so.
                f(k, unsafe { *(address as *const T).add(k) }.get());
            }
        }
        // SAFETY: forwarded.
        unsafe {
            match self.size {
                1 => go::<u8>(self.address, len, &mut f),
                2 => go::<u16>(self.address, len, &mut f),
                4 => go::<u32>(self.address, len, &mut f),
                _ => go::<u64>(self.address, len, &mut f),
            }
        }
    }

    /// Sets each element in turn to what `f` gives.
    ///
    /// # Safety
    /// So many elements are writable, and `f` does not read them.
    unsafe fn write(self, len: usize, f: impl Fn(usize) -> u64) {
        /// # Safety
        /// As its caller.
        unsafe fn go<T: Bits>(address: u64, len: usize, f: impl Fn(usize) -> u64) {
            for k in 0..len {
                // SAFETY: the caller promises so.
                unsafe { *(address as *mut T).add(k) = T::put(f(k)) };
            }
        }
        // SAFETY: forwarded.
        unsafe {
            match self.size {
                1 => go::<u8>(self.address, len, f),
                2 => go::<u16>(self.address, len, f),
                4 => go::<u32>(self.address, len, f),
                _ => go::<u64>(self.address, len, f),
            }
        }
    }

    /// Moves each element to its rank, with room for the old ones.
    ///
    /// # Safety
    /// So many elements are readable and writable, and ranks are below their number.
    unsafe fn ranked(self, ranks: &[u32], old: &mut [u64]) {
        /// # Safety
        /// As its caller.
        unsafe fn go<T: Bits>(address: u64, ranks: &[u32], old: &[u64]) {
            for (&rank, &x) in ranks.iter().zip(old) {
                // SAFETY: the caller promises so.
                unsafe { *(address as *mut T).add(rank as usize) = T::put(x) };
            }
        }
        // SAFETY: forwarded.
        unsafe {
            self.read(ranks.len(), |k, x| old[k] = x);
            match self.size {
                1 => go::<u8>(self.address, ranks, old),
                2 => go::<u16>(self.address, ranks, old),
                4 => go::<u32>(self.address, ranks, old),
                _ => go::<u64>(self.address, ranks, old),
            }
        }
    }

    /// # Safety
    /// So many elements are readable and writable.
    unsafe fn reorder(self, len: usize, from: impl Fn(usize) -> usize) {
        let mut old = Vec::with_capacity(len);
        // SAFETY: forwarded.
        unsafe {
            self.read(len, |_, x| old.push(x));
            self.write(len, |k| old[from(k)]);
        }
    }
}

/// A column of integers, as what they are above the least.
#[derive(Clone, Copy)]
struct Key {
    column: Column,
    least: i64,
}

impl Key {
    /// An element of the array as an integer.
    fn signed(self, bits: u64) -> i64 {
        if self.column.size == 4 { i64::from(bits as i32) } else { bits as i64 }
    }

    /// # Safety
    /// Element `k` is readable.
    unsafe fn get(self, k: usize) -> u64 {
        // SAFETY: forwarded.
        self.signed(unsafe { self.column.get(k) }).wrapping_sub(self.least) as u64
    }

    /// The column from its least integer on.
    ///
    /// # Safety
    /// So many elements are readable.
    unsafe fn above_least(self, len: usize) -> Key {
        let mut least = i64::MAX;
        // SAFETY: forwarded.
        unsafe { self.column.read(len, |_, x| least = least.min(self.signed(x))) };
        Key { least, ..self }
    }

    /// # Safety
    /// So many elements are readable.
    unsafe fn largest(self, len: usize) -> u64 {
        let mut largest = 0;
        let above = |x| self.signed(x).wrapping_sub(self.least) as u64;
        // SAFETY: forwarded.
        unsafe { self.column.read(len, |_, x| largest = largest.max(above(x))) };
        largest
    }
}

/// # Safety
/// So many elements of the keys are readable.
unsafe fn in_order(keys: &[Key], len: usize) -> bool {
    if let [key] = keys {
        let (mut before, mut ascends) = (i64::MIN, true);
        // SAFETY: forwarded.
        unsafe {
            key.column.read(len, |_, x| {
                let x = key.signed(x);
                ascends &= before <= x;
                before = x;
            });
        }
        return ascends;
    }
    // SAFETY: forwarded.
    let key = |k: usize| keys.iter().map(move |key| unsafe { key.get(k) } as i64);
    (1..len).all(|k| key(k - 1).le(key(k)))
}

/// Moves each record to its rank, if keys are distinct and ranks are found without sorting; says whether it did.
///
/// # Safety
/// So many elements of each column are readable and writable.
unsafe fn by_ranks(keys: &[Key], carried: &[Column], len: usize) -> bool {
    let moved = |ranks: &mut [u32]| {
        let found = with_room(len, |room: &mut [u64]| {
            // SAFETY: forwarded.
            if !unsafe { pack(keys, room) } || !ascending::ranks(room, ranks) {
                return false;
            }
            let columns = keys.iter().map(|key| &key.column).chain(carried);
            // SAFETY: forwarded; a rank is the number of lesser records.
            columns.for_each(|column| unsafe { column.ranked(ranks, room) });
            true
        });
        found == Some(true)
    };
    with_room(len, moved) == Some(true)
}

/// The keys of each record as one number that sorts as they do; whether they fit.
///
/// # Safety
/// So many elements of each key are readable.
unsafe fn pack(keys: &[Key], packed: &mut [u64]) -> bool {
    let mut width = 0;
    for key in keys {
        // SAFETY: forwarded.
        unsafe {
            let key = key.above_least(packed.len());
            let bits = 64 - key.largest(packed.len()).leading_zeros();
            width += bits;
            if width > 63 {
                return false;
            }
            key.column.read(packed.len(), |k, x| {
                let above = key.signed(x).wrapping_sub(key.least) as u64;
                packed[k] = packed[k] << bits | above;
            });
        }
    }
    true
}

/// The keys of a record as one number, each in so many bits, and what travels along.
///
/// # Safety
/// The element `k` of each column is readable.
unsafe fn record(keys: &[Key], carried: &[Column], bits: &[u32], k: usize) -> Record<u64> {
    // SAFETY: forwarded.
    unsafe {
        let packed = |key: u64, (c, &bits): (&Key, &u32)| key.unbounded_shl(bits) | c.get(k);
        let key = keys.iter().zip(bits).fold(0, packed);
        let load = match carried {
            [one] => one.get(k),
            _ => k as u64,
        };
        Record { key, load }
    }
}

/// Puts sorted records back.
///
/// # Safety
/// As many elements of each column as there are records are readable and writable.
unsafe fn unpack(keys: &[Key], carried: &[Column], bits: &[u32], records: &[Record<u64>]) {
    let len = records.len();
    let mut shift = 0;
    // SAFETY: forwarded.
    unsafe {
        for (key, bits) in keys.iter().zip(bits).rev() {
            let mask = u64::MAX.unbounded_shr(64 - bits);
            let above = |k: usize| records[k].key.unbounded_shr(shift) & mask;
            key.column.write(len, |k| above(k).wrapping_add(key.least as u64));
            shift += bits;
        }
        match carried {
            [one] => one.write(len, |k| records[k].load),
            _ => carried.iter().for_each(|c| c.reorder(len, |k| records[k].load as usize)),
        }
    }
}

/// Sorts by keys of any size.
///
/// # Safety
/// So many elements of each column are readable and writable.
unsafe fn by_comparing(keys: &[Key], carried: &[Column], len: usize) {
    let mut order: Vec<usize> = (0..len).collect();
    // SAFETY: forwarded.
    let key = |k: usize| keys.iter().map(move |key| unsafe { key.get(k) });
    order.sort_by(|&a, &b| key(a).cmp(key(b)));
    for column in keys.iter().map(|key| &key.column).chain(carried) {
        // SAFETY: forwarded.
        unsafe { column.reorder(len, |k| order[k]) };
    }
}

#[cfg(test)]
mod tests;
