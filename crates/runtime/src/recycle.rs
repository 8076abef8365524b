//! Freed arrays from 64 KiB on, kept for later ones of about their size.
//!
//! A page fault costs more than most kernels spend on the page: the system finds it and clears it. A
//! program that drops one result and computes the next gets the pages of the first, and so does one that
//! holds several results alive. Kept blocks take no more than a part of the machine's memory, count as
//! free, and go back to the system when memory runs short, or when others are allocated or freed and they
//! were not needed for some seconds.

use crate::blocks;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

/// How long a block is kept unused.
const KEPT_FOR: Duration = Duration::from_secs(5);
/// What the system allocates at least.
const PAGE: usize = 4096;
/// A block serves requests for at least this part of its size, so that little is wasted.
const LEAST_PART: f64 = 0.75;

/// A block of the malloc family.
struct Block {
    address: *mut c_void,
    since: Instant,
}

// SAFETY: a block is owned by the pool alone, and nothing is read through the address.
unsafe impl Send for Block {}

/// The kept blocks.
struct Pool {
    /// By size and number: the smallest block that suits is found in logarithmic time.
    blocks: BTreeMap<(usize, u64), Block>,
    /// The size of each block by its number: the one freed first comes first.
    ages: BTreeMap<u64, usize>,
    /// The number of the next block.
    next: u64,
    /// Bytes of all blocks.
    bytes: usize,
}

static POOL: Mutex<Pool> =
    Mutex::new(Pool { blocks: BTreeMap::new(), ages: BTreeMap::new(), next: 0, bytes: 0 });

impl Pool {
    fn insert(&mut self, address: *mut c_void, bytes: usize) {
        self.blocks.insert((bytes, self.next), Block { address, since: Instant::now() });
        self.ages.insert(self.next, bytes);
        self.next += 1;
        self.bytes += bytes;
    }

    fn remove(&mut self, key: (usize, u64)) -> Option<Block> {
        let block = self.blocks.remove(&key)?;
        self.ages.remove(&key.1);
        self.bytes -= key.0;
        Some(block)
    }

    /// The block that was freed first.
    fn oldest(&self) -> Option<((usize, u64), &Block)> {
        let (&number, &bytes) = self.ages.first_key_value()?;
        self.blocks.get(&(bytes, number)).map(|block| ((bytes, number), block))
    }

    /// Gives the blocks that were freed first back to the system as long as `is_due` says so.
    fn give_back(&mut self, is_due: impl Fn(&Pool, &Block) -> bool) {
        while let Some((key, block)) = self.oldest()
            && is_due(self, block)
            && let Some(block) = self.remove(key)
        {
            // SAFETY: the block was owned by the pool, which it left.
            unsafe { blocks::free(block.address) }
        }
    }
}

/// The pool, unless another thread has it: waiting would make every allocation wait, and a process
/// that was forked meanwhile would wait for ever.
fn whole_pool() -> Option<MutexGuard<'static, Pool>> {
    match POOL.try_lock() {
        Ok(pool) => Some(pool),
        Err(TryLockError::Poisoned(pool)) => Some(pool.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// The pool, without blocks that were not needed for long.
fn pool() -> Option<MutexGuard<'static, Pool>> {
    let mut pool = whole_pool()?;
    pool.give_back(|_, block| block.since.elapsed() > KEPT_FOR);
    Some(pool)
}

/// A kept block of at least `bytes` and at most `most`, so aligned, and its size.
pub(crate) fn take(bytes: usize, most: usize, alignment: usize) -> Option<(*mut c_void, usize)> {
    let mut pool = pool()?;
    // The C library maps as much more as an alignment may need, and leaves behind a block what it did not need before it.
    let aligned = bytes.saturating_add(alignment).saturating_add(PAGE);
    let most = most.min(aligned.max((bytes as f64 / LEAST_PART) as usize));
    if most < bytes {
        return None;
    }
    let mut fits = pool.blocks.range((bytes, 0)..=(most, u64::MAX));
    let is_aligned = |block: &Block| block.address.addr().is_multiple_of(alignment);
    let (&key, _) = fits.find(|(_, block)| is_aligned(block))?;
    let block = pool.remove(key)?;
    Some((block.address, key.0))
}

/// Keeps a block of so many bytes, unless that alone is beyond `limit`, which all kept ones stay
/// within. Says whether it was kept.
///
/// # Safety
/// The address is of the malloc family and is not used again.
pub(crate) unsafe fn keep(address: *mut c_void, bytes: usize, limit: usize) -> bool {
    let Some(mut pool) = pool() else { return false };
    if bytes > limit {
        return false;
    }
    pool.give_back(|pool, _| pool.bytes + bytes > limit);
    pool.insert(address, bytes);
    true
}

/// Gives every kept block back to the system; says how many bytes that were.
pub(crate) fn release() -> usize {
    let Some(mut pool) = whole_pool() else { return 0 };
    let bytes = pool.bytes;
    pool.give_back(|_, _| true);
    bytes
}

/// How many bytes are kept.
pub(crate) fn kept() -> usize {
    pool().map_or(0, |pool| pool.bytes)
}
