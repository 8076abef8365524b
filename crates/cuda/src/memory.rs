//! Memory of a device, and what is kept of it for later.
//!
//! ```text
//! let memory = stream.allocate(4096)?;
//! drop(memory);                            kept: the next 4096 bytes cost no call of the driver
//! memory::release()                        the driver's again
//! ```
//!
//! Memory is plain: nothing moves between host and device but by the copies that are asked for. Who gets
//! memory that a stream may still use waits for that stream on the device, not on the host. At most an
//! eighth of the device's memory is kept, and none where an allocation fails for want of it.

use crate::driver::{self, Device};
use crate::stream::{MOST, Stream};
use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU32, Ordering};
use tamis_ir::diagnostic::{Code, Diagnostic, Setting};

const _: () = assert!(MOST <= u32::BITS as usize, "streams are bits");

/// What the driver calls an allocation that did not succeed.
const OUT_OF_MEMORY: i32 = 2;
/// The least bytes that are allocated.
const LEAST: usize = 512;
/// Memory comes in so many sizes from one power of two to the next.
const SIZES: usize = 8;
/// At most this part of the device's memory is kept.
const KEPT_PART: usize = 8;

/// Memory that was freed, by its size.
#[derive(Default)]
pub(crate) struct Pool {
    free: BTreeMap<usize, Vec<Kept>>,
    bytes: usize,
    /// How many bytes are kept at most.
    limit: Option<usize>,
}

/// Memory that nobody has, and the streams that may still use it.
struct Kept {
    address: u64,
    users: u32,
}

impl Pool {
    /// Memory of a size, rather such that others need not be waited for.
    fn take(&mut self, room: usize, own: u32) -> Option<Kept> {
        let free = self.free.get_mut(&room)?;
        let at = free.iter().rposition(|kept| kept.users & !own == 0);
        let kept = free.swap_remove(at.or(free.len().checked_sub(1))?);
        self.bytes -= room;
        Some(kept)
    }
}

/// Memory of the device, kept for others when dropped.
pub struct Memory {
    device: &'static Device,
    address: u64,
    room: usize,
    /// The streams that were asked to use it.
    users: AtomicU32,
    /// The stream whose work has to be done before it is read, behind 0 for none.
    writer: AtomicU32,
}

impl Memory {
    /// Its address on the device.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Has a stream use it after it was written.
    pub(crate) fn read_by(&self, stream: &Stream) -> Result<(), Diagnostic> {
        self.users.fetch_or(1 << stream.number(), Ordering::AcqRel);
        match self.writer.load(Ordering::Acquire) {
            0 => Ok(()),
            writer => stream.follows(writer as usize - 1),
        }
    }

    /// What was written to it is there, as the host has seen.
    pub(crate) fn is_written(&self) {
        self.writer.store(0, Ordering::Release);
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let kept = Kept { address: self.address, users: *self.users.get_mut() };
        let beyond = {
            let mut pool = self.device.pool.lock().unwrap_or_else(PoisonError::into_inner);
            let fits = pool.limit.is_some_and(|limit| pool.bytes + self.room <= limit);
            match fits {
                true => {
                    pool.bytes += self.room;
                    pool.free.entry(self.room).or_default().push(kept);
                    None
                }
                false => Some(kept),
            }
        };
        if let Some(kept) = beyond {
            self.device.free(&[kept]);
        }
    }
}

impl Stream {
    /// So many bytes of memory that the stream writes to; of none a little.
    pub fn allocate(&self, bytes: usize) -> Result<Memory, Diagnostic> {
        let (device, room, own) = (self.device(), room(bytes), 1 << self.number());
        let found = {
            let mut pool = device.pool.lock().unwrap_or_else(PoisonError::into_inner);
            if pool.limit.is_none() {
                pool.limit = Some(device.memory().1 / KEPT_PART);
            }
            pool.take(room, own)
        };
        let memory = |address: u64, users: u32| Memory {
            device,
            address,
            room,
            users: AtomicU32::new(users | own),
            writer: AtomicU32::new(self.number() as u32 + 1),
        };
        let Some(Kept { address, users }) = found else {
            return Ok(memory(device.allocated(room, bytes)?, 0));
        };
        let memory = memory(address, users);
        (0..MOST).filter(|number| users >> number & 1 == 1).try_for_each(|n| self.follows(n))?;
        Ok(memory)
    }

    /// Copies to the device; the bytes may change when the stream was waited for.
    ///
    /// # Safety
    /// `from` holds so many bytes until then.
    pub unsafe fn copy_in(
        &self,
        to: &Memory,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), Diagnostic> {
        if bytes == 0 {
            return Ok(());
        }
        let device = self.device();
        // SAFETY: the caller promises the bytes; the memory is at least as large.
        let error =
            unsafe { (device.api.to_device)(to.address, from.cast(), bytes, self.handle()) };
        device.check("cannot be written", error)
    }

    /// Copies from the device; the bytes are there when the stream was waited for.
    ///
    /// # Safety
    /// There is room for so many bytes at `to` until then.
    pub unsafe fn copy_out(
        &self,
        to: *mut u8,
        from: &Memory,
        bytes: usize,
    ) -> Result<(), Diagnostic> {
        if bytes == 0 {
            return Ok(());
        }
        let device = self.device();
        // SAFETY: the caller promises the room; the memory is at least as large.
        let error =
            unsafe { (device.api.from_device)(to.cast(), from.address, bytes, self.handle()) };
        device.check("cannot be read", error)
    }

    /// Sets the first bytes to 0.
    pub(crate) fn clear(&self, memory: &Memory, bytes: usize) -> Result<(), Diagnostic> {
        let device = self.device();
        // SAFETY: the memory is at least as large as what its owner asks for.
        let error =
            unsafe { (device.api.set)(memory.address, 0, bytes.min(memory.room), self.handle()) };
        device.check("cannot be written", error)
    }
}

impl Device {
    /// The bytes that are free, and those that the device has.
    fn memory(&self) -> (usize, usize) {
        let (mut free, mut total) = (0, 0);
        // SAFETY: there is room for both numbers.
        unsafe { (self.api.memory_info)(&mut free, &mut total) };
        (free, total)
    }

    /// The address of new memory, if need be with the help of what is kept.
    fn allocated(&'static self, room: usize, wanted: usize) -> Result<u64, Diagnostic> {
        let mut address = 0;
        // SAFETY: there is room for the address.
        let mut allocate = || unsafe { (self.api.allocate)(&mut address, room) };
        let mut error = allocate();
        if error == OUT_OF_MEMORY && self.release() > 0 {
            error = allocate();
        }
        if error == OUT_OF_MEMORY {
            let (free, total) = self.memory();
            let name = &self.name;
            let message =
                format!("{name} has no room for {wanted} bytes: {free} of {total} are free");
            return Err(Diagnostic::new(Code::OutOfMemory, message)
                .help_by("free tensors on the device, or use {}", [Setting::BackendJit]));
        }
        self.check("cannot allocate", error)?;
        Ok(address)
    }

    /// Gives what is kept back to the driver; how many bytes that were.
    fn release(&'static self) -> usize {
        let (kept, bytes) = {
            let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
            let kept: Vec<Kept> = std::mem::take(&mut pool.free).into_values().flatten().collect();
            (kept, std::mem::take(&mut pool.bytes))
        };
        self.free(&kept);
        bytes
    }

    /// Frees memory once nobody uses it.
    fn free(&'static self, all: &[Kept]) {
        // Any thread may have dropped it. Where the device cannot be entered, the driver has ended, and memory with it.
        let Ok(_entered) = self.enter() else { return };
        let users = all.iter().fold(0, |users, kept| users | kept.users);
        for number in (0..MOST).filter(|number| users >> number & 1 == 1) {
            let _ = self.wait_for(number);
        }
        for kept in all {
            // SAFETY: the address was allocated, nobody has it, and it is freed once.
            unsafe { (self.api.free)(kept.address) };
        }
    }
}

/// Gives memory that is kept for later tensors on the device back to the driver, and says how many bytes
/// that were.
pub fn release() -> usize {
    let device = driver::device().ok();
    device.map_or(0, |device| device.enter().map_or(0, |_entered| device.release()))
}

/// The bytes that are allocated where so many are wanted.
fn room(bytes: usize) -> usize {
    let above = bytes.max(LEAST).checked_next_power_of_two();
    let step = above.map_or(1, |above| (above / SIZES).max(LEAST));
    bytes.max(1).div_ceil(step).saturating_mul(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: usize, expected: usize) {
        assert_eq!(room(bytes), expected, "{bytes}");
    }

    #[test]
    fn memory_comes_in_few_sizes() {
        check(0, 512);
        check(1, 512);
        check(512, 512);
        check(513, 1024);
        check(4096, 4096);
        check(4097, 5120);
        check(1 << 30, 1 << 30);
        check((1 << 30) + 1, (1 << 30) + (1 << 28));
        check(usize::MAX / 2, 1 << 63);
        check(usize::MAX, usize::MAX);
    }

    /// Memory that only the own stream uses is taken first; the other has to be waited for.
    #[test]
    fn memory_of_others_is_taken_last() {
        let mut pool = Pool::default();
        let kept = [(1, 0b01), (2, 0b11), (3, 0b01), (4, 0b10)];
        let kept = kept.map(|(address, users)| Kept { address, users });
        pool.free.insert(512, kept.into());
        pool.bytes = 4 * 512;
        let mut take = || pool.take(512, 0b01).map(|kept| (kept.address, kept.users));
        assert_eq!(take(), Some((3, 0b01)));
        assert_eq!(take(), Some((1, 0b01)));
        let rest = [take(), take()];
        assert!(rest.contains(&Some((2, 0b11))) && rest.contains(&Some((4, 0b10))), "{rest:?}");
        assert_eq!(take(), None);
        assert_eq!(pool.bytes, 0);
    }
}
