//! Large arrays that are no longer used, kept for the next of about their size.
//!
//! Fresh pages cost more than most kernels: the system clears each, and finds it first. A program
//! that drops one result and computes the next gets the pages of the first. Kept blocks take no
//! more than a part of the machine's memory, count as free, and go back to the system when memory
//! runs short, or when others are asked for or freed and they were not needed for some seconds.

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

/// How long a block is kept unused.
const KEPT_FOR: Duration = Duration::from_secs(5);
/// A block is given for at least this part of its size, so that little is wasted.
const LEAST_PART: f64 = 0.75;

/// A block of the malloc family, aligned to huge pages.
struct Block {
    address: *mut c_void,
    bytes: usize,
    since: Instant,
}

// SAFETY: a block is owned by the list alone, and nothing is read through the address.
unsafe impl Send for Block {}

/// The kept blocks, the one freed last at the end.
static BLOCKS: Mutex<Vec<Block>> = Mutex::new(Vec::new());

/// The list, unless another thread has it: waiting would make every allocation wait, and a process
/// that was forked meanwhile would wait for ever.
fn all_blocks() -> Option<MutexGuard<'static, Vec<Block>>> {
    match BLOCKS.try_lock() {
        Ok(blocks) => Some(blocks),
        Err(TryLockError::Poisoned(blocks)) => Some(blocks.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// The list, without those that were not needed for long.
fn blocks() -> Option<MutexGuard<'static, Vec<Block>>> {
    let mut blocks = all_blocks()?;
    let old = blocks.iter().take_while(|b| b.since.elapsed() > KEPT_FOR).count();
    blocks.drain(..old).for_each(|b| give_back(&b));
    Some(blocks)
}

/// A kept block for so many bytes that takes no more than `most`, and what it takes.
pub(crate) fn take(bytes: usize, most: usize) -> Option<(*mut c_void, usize)> {
    let mut blocks = blocks()?;
    let most = most.min((bytes as f64 / LEAST_PART) as usize);
    let fits = |b: &Block| (bytes..=most).contains(&b.bytes);
    let best = (0..blocks.len()).filter(|&k| fits(&blocks[k])).min_by_key(|&k| blocks[k].bytes)?;
    let block = blocks.remove(best);
    Some((block.address, block.bytes))
}

/// Keeps a block of so many bytes, unless that alone is beyond `limit`, which all kept ones stay
/// within. Says whether it was kept.
///
/// # Safety
/// The address is of the malloc family, is aligned to huge pages and is not used again.
pub(crate) unsafe fn keep(address: *mut c_void, bytes: usize, limit: usize) -> bool {
    let Some(mut blocks) = blocks() else { return false };
    if bytes > limit {
        return false;
    }
    // The oldest make room.
    let mut kept: usize = blocks.iter().map(|b| b.bytes).sum();
    while kept + bytes > limit {
        let oldest = blocks.remove(0);
        kept -= oldest.bytes;
        give_back(&oldest);
    }
    blocks.push(Block { address, bytes, since: Instant::now() });
    true
}

/// Gives every kept block back to the system; says how many bytes that were.
pub(crate) fn release() -> usize {
    let Some(mut blocks) = all_blocks() else { return 0 };
    let bytes = blocks.iter().map(|b| b.bytes).sum();
    blocks.drain(..).for_each(|b| give_back(&b));
    bytes
}

/// How many bytes are kept.
pub(crate) fn kept() -> usize {
    blocks().map_or(0, |blocks| blocks.iter().map(|b| b.bytes).sum())
}

/// Frees a block that leaves the list.
fn give_back(block: &Block) {
    // SAFETY: the block was owned by the list, which it leaves.
    unsafe { libc::free(block.address) }
}
