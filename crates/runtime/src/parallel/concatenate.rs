//! Results of parts whose levels follow one another.
//!
//! ```text
//! csr, rows 0..2     pos 0 2 5          crd 1 4 0 2 3
//!      rows 2..4     pos     0 1 3      crd 2 0 1
//! joined             pos 0 2 5 6 8      crd 1 4 0 2 3 2 0 1
//! ```
//!
//! Rows keep their positions; segments of later parts move behind those of earlier ones. Where each
//! part goes is settled in order; copying there happens at the same time.

use super::{Joined, Part};
use crate::budget;
use crate::kernel::{Call, Frame};
use crate::memory::{self, Buffer};
use crate::tensor::{LevelData, Tensor, views};
use std::collections::BTreeMap;
use std::sync::{Mutex, RwLock};
use tamis_core::level::{self, Header};
use tamis_core::lower::Binding;
use tamis_ir::datatype::DataType;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::Id;
use tamis_ir::ir::Status;

/// More bytes of an array are not reserved before they come.
const MOST_EXPECTED: usize = 1 << 30;

/// What has yet to come takes at most such a part of the memory that is left.
const LEFT_TO_OTHERS: usize = 8;

/// The result as far as parts were told.
pub(super) struct Concatenation<'c> {
    call: Call<'c>,
    levels: Vec<Joint>,
    /// The slot of the values.
    vals: usize,
    arrays: RwLock<BTreeMap<usize, Array>>,
    /// How many positions of each level there are.
    ends: Mutex<Vec<u64>>,
}

/// One level of the result: its arrays in the slots, and how it follows from the one above.
struct Joint {
    header: Header,
    /// Positions per parent; `None` where the part's positions array tells.
    size: Option<u64>,
    pos: Option<usize>,
    /// Coordinates, and how many there are per position.
    crd: Option<(usize, u64)>,
    mask: Option<usize>,
}

/// An array of the result under construction, instead of its slot.
struct Array {
    address: *mut u8,
    bytes: usize,
    elem: DataType,
}

impl Drop for Array {
    fn drop(&mut self) {
        // SAFETY: the memory is of the malloc family, or null, and owned here alone.
        drop(unsafe { Buffer::from_malloc(self.address, 0, self.elem) });
    }
}

// SAFETY: the memory belongs to the concatenation; parts write disjoint elements of it while they
// hold the lock for reading, and it moves only under the lock for writing.
unsafe impl Send for Array {}
// SAFETY: as above.
unsafe impl Sync for Array {}

/// Elements of a part to copy.
pub(super) struct Move {
    slot: usize,
    from: u64,
    to: u64,
    count: u64,
    /// What positions move by; `None` for everything else.
    shift: Option<i64>,
}

impl<'c> Concatenation<'c> {
    pub(super) fn new(call: &Call<'c>) -> Concatenation<'c> {
        let (shape, storage) = (call.shape(), &call.target.storage);
        let nothing = vec![LevelData::default(); storage.format.levels().len()];
        let views = views(&storage.format, &shape, &nothing);
        let mut levels: Vec<Joint> = vec![];
        for (k, (spec, view)) in storage.format.levels().iter().zip(&views).enumerate() {
            let slot = |wanted: level::Part| {
                let is = |b: &Binding| matches!(b, Binding::Level { level, part, .. } if level.index() == k && *part == wanted);
                call.result_arrays().find(|(.., b)| is(b)).map(|(slot, ..)| slot)
            };
            let stride = storage.format.interleaved(k).map_or(1, |(_, crd)| crd.stride as u64);
            let pos = slot(level::Part::Pos);
            levels.push(Joint {
                header: view.header,
                size: pos.is_none().then(|| spec.kind.positions(view, 1)),
                pos,
                crd: slot(level::Part::Crd).map(|slot| (slot, stride)),
                mask: slot(level::Part::Mask),
            });
        }
        let mut arrays = BTreeMap::new();
        let mut vals = 0;
        for (slot, array, binding) in call.result_arrays() {
            let is_vals = matches!(binding, Binding::Vals { .. });
            let elem = if is_vals { storage.datatype } else { array.elem };
            if is_vals {
                vals = slot;
            }
            arrays.insert(slot, Array { address: std::ptr::null_mut(), bytes: 0, elem });
        }
        let ends = Mutex::new(vec![0; levels.len()]);
        Concatenation { call: *call, levels, vals, arrays: RwLock::new(arrays), ends }
    }

    /// A part that was not run has no entries, but its rows have positions.
    pub(super) fn skip(&self, part: Part) -> Result<(), Diagnostic> {
        let mut frame = self.call.frame(None)?;
        let mut zeros = |slot: Option<usize>, count: u64| -> Result<(), Diagnostic> {
            let Some(slot) = slot else { return Ok(()) };
            let (elem, count) = (self.elem(slot), count as usize);
            let address = memory::allocate(elem, count)?;
            if !address.is_null() {
                // SAFETY: the memory was just allocated for so many elements; the frame owns it from now on.
                unsafe { address.write_bytes(0, count * elem.size()) };
            }
            frame.slots[slot] = address as u64;
            Ok(())
        };
        let mut positions = 1;
        for (k, level) in self.levels.iter().enumerate() {
            zeros(level.pos, positions + 1)?;
            positions = match (level.size, k) {
                (None, _) => 0,
                (Some(_), 0) => level.rows(part).1,
                (Some(size), _) => positions * size,
            };
            zeros(level.crd.map(|(slot, _)| slot), positions * level.crd.map_or(1, |(_, s)| s))?;
            zeros(level.mask, positions)?;
        }
        zeros(Some(self.vals), positions)?;
        let moves = self.next(&self.call, part, &mut frame)?;
        self.rest(moves, &mut frame);
        Ok(())
    }

    /// Where the elements of a part go.
    fn moves(&self, part: Part, frame: &Frame, ends: &mut [u64]) -> Result<Vec<Move>, Diagnostic> {
        let mut moves = vec![];
        // The part's positions of the level above, and how far they move.
        let (mut lo, mut hi, mut shift) = (0, 1, 0);
        for (k, level) in self.levels.iter().enumerate() {
            let mut copy = |slot, lo: u64, hi: u64, shift: u64| {
                moves.push(Move { slot, from: lo, to: lo + shift, count: hi - lo, shift: None });
            };
            let end = &mut ends[k];
            match (level.size, level.pos) {
                (None, Some(slot)) => {
                    let elem = self.elem(slot);
                    // SAFETY: the part has a segment end for each of its parents.
                    let count = unsafe { position(frame.slots[slot], elem, hi) };
                    if elem == DataType::I32 && *end + count > i32::MAX as u64 {
                        return Err(self.call.failed(Status::PositionOverflow));
                    }
                    if let Some((slot, stride)) = level.crd {
                        copy(slot, 0, count * stride, *end * stride);
                    }
                    if k > 0 {
                        let (from, to, by) = (lo + 1, lo + 1 + shift, Some(*end as i64));
                        moves.push(Move { slot, from, to, count: hi - lo, shift: by });
                    }
                    (lo, hi, shift) = (0, count, *end);
                }
                (size, _) => {
                    let size = size.unwrap_or(1);
                    (lo, hi, shift) = match k {
                        0 => level.rows(part),
                        _ => (lo * size, hi * size, shift * size),
                    };
                    if let Some((slot, stride)) = level.crd {
                        copy(slot, lo * stride, hi * stride, shift * stride);
                    }
                    if let Some(slot) = level.mask {
                        copy(slot, lo, hi, shift);
                    }
                }
            }
            *end = hi + shift;
        }
        moves.push(Move { slot: self.vals, from: lo, to: lo + shift, count: hi - lo, shift: None });
        Ok(moves)
    }

    fn elem(&self, slot: usize) -> DataType {
        self.arrays.read().map_or(DataType::I64, |arrays| arrays[&slot].elem)
    }

    /// Makes room for what will be copied: for all parts at once, as far as those that were told let expect, if
    /// that leaves enough to others.
    fn make_room(&self, moves: &[Move], part: Part) -> Result<(), Diagnostic> {
        let Ok(arrays) = self.arrays.read() else { return Ok(()) };
        let bytes = |m: &Move| (m.to + m.count) as usize * arrays[&m.slot].elem.size();
        let short: Vec<(usize, usize)> = moves
            .iter()
            .filter(|m| m.count > 0 && bytes(m) > arrays[&m.slot].bytes)
            .map(|m| (m.slot, bytes(m)))
            .collect();
        drop(arrays);
        if short.is_empty() {
            return Ok(());
        }
        let Ok(mut arrays) = self.arrays.write() else { return Ok(()) };
        for (slot, bytes) in short {
            let Some(array) = arrays.get_mut(&slot) else { continue };
            let old = array.bytes;
            let expected = (bytes as f64 * self.rest_of(part) * 1.1) as usize;
            let wanted = expected.min(MOST_EXPECTED).max(bytes).max(2 * old);
            // SAFETY: the array holds so many bytes of the malloc family, and nobody uses it under this lock.
            let grown = unsafe {
                match wanted <= budget::left() / LEFT_TO_OTHERS {
                    true => (memory::reserve(array.address, old, wanted), wanted),
                    false => (memory::grow(array.address, bytes), bytes),
                }
            };
            if grown.0.is_null() {
                return Err(self.call.failed(Status::OutOfMemory));
            }
            (array.address, array.bytes) = grown;
        }
        Ok(())
    }

    /// How many times the length up to a part is expected in all, by its coordinates.
    fn rest_of(&self, part: Part) -> f64 {
        let header = self.levels[0].header;
        let before = part.end.saturating_sub(header.least).clamp(1, header.size.max(1) as i64);
        header.size as f64 / before as f64
    }

    /// Copies the elements of a part.
    fn copy(&self, moves: &[Move], frame: &Frame) {
        let Ok(arrays) = self.arrays.read() else { return };
        for m in moves.iter().filter(|m| m.count > 0) {
            let Array { address, elem, .. } = &arrays[&m.slot];
            let (from, count) = (frame.slots[m.slot] as *const u8, m.count as usize);
            // SAFETY: the part wrote these elements, room for them was made, and no other part has
            // the same positions.
            unsafe {
                let from = from.add(m.from as usize * elem.size());
                let to = address.add(m.to as usize * elem.size());
                match (m.shift, elem) {
                    (None, _) => std::ptr::copy_nonoverlapping(from, to, count * elem.size()),
                    (Some(by), DataType::I32) => {
                        let (from, to) = (from.cast::<i32>(), to.cast::<i32>());
                        (0..count).for_each(|k| to.add(k).write(from.add(k).read() + by as i32));
                    }
                    (Some(by), _) => {
                        let (from, to) = (from.cast::<i64>(), to.cast::<i64>());
                        (0..count).for_each(|k| to.add(k).write(from.add(k).read() + by));
                    }
                }
            }
        }
    }

    /// The result once every part was told.
    pub(super) fn finish(self) -> Result<Tensor, Diagnostic> {
        let storage = self.call.target.storage.clone();
        let ends = self.ends.into_inner().unwrap_or_default();
        let mut arrays = self.arrays.into_inner().unwrap_or_default();
        let mut levels = vec![LevelData::default(); self.levels.len()];
        let mut parents = 1;
        for ((k, level), end) in self.levels.iter().enumerate().zip(&ends) {
            let mut own = |slot: usize, count: u64| taken(&mut arrays, slot, count);
            if let Some(slot) = level.pos {
                let pos = own(slot, parents + 1)?;
                // SAFETY: the array was just taken, and nobody else uses it yet.
                unsafe { open(&pos, (k == 0).then_some(*end)) };
                levels[k].pos = Some(pos);
            }
            levels[k].crd = level.crd.map(|(slot, stride)| own(slot, end * stride)).transpose()?;
            levels[k].mask = level.mask.map(|slot| own(slot, *end)).transpose()?;
            parents = *end;
        }
        let vals = taken(&mut arrays, self.vals, parents)?;
        // SAFETY: the parts are valid for their coordinates, which ascend from part to part.
        Ok(unsafe { Tensor::from_parts_unchecked(self.call.shape(), storage, levels, vals) })
    }
}

impl Joined for Concatenation<'_> {
    type Rest = Vec<Move>;

    fn next(&self, _: &Call<'_>, part: Part, frame: &mut Frame) -> Result<Vec<Move>, Diagnostic> {
        let Ok(mut ends) = self.ends.lock() else { return Ok(vec![]) };
        let moves = self.moves(part, frame, &mut ends)?;
        self.make_room(&moves, part)?;
        Ok(moves)
    }

    fn rest(&self, moves: Vec<Move>, frame: &mut Frame) {
        self.copy(&moves, frame);
    }
}

impl Joint {
    /// The part's positions in a first level where every coordinate has one, which do not move.
    fn rows(&self, part: Part) -> (u64, u64, u64) {
        let size = self.header.size as i64;
        let row = |c: i64| c.saturating_sub(self.header.least).clamp(0, size) as u64;
        (row(part.begin), row(part.end), 0)
    }
}

/// An element of an array of positions.
///
/// # Safety
/// The address is that of an array with such an element.
unsafe fn position(address: u64, elem: DataType, at: u64) -> u64 {
    // SAFETY: as the caller promises.
    unsafe {
        match elem {
            DataType::I32 => (address as *const i32).add(at as usize).read() as u64,
            _ => (address as *const i64).add(at as usize).read() as u64,
        }
    }
}

/// Sets the beginning of an array of positions, and the end of its only segment if that is given.
///
/// # Safety
/// Nobody else uses the array, which has these elements.
unsafe fn open(pos: &Buffer, only: Option<u64>) {
    let values = [Some(0), only];
    for (at, value) in values.into_iter().enumerate().filter_map(|(at, v)| v.map(|v| (at, v))) {
        // SAFETY: as the caller promises.
        unsafe {
            match pos.datatype() {
                DataType::I32 => pos.address().cast_mut().cast::<i32>().add(at).write(value as i32),
                _ => pos.address().cast_mut().cast::<i64>().add(at).write(value as i64),
            }
        }
    }
}

/// An array of the result with so many elements.
fn taken(
    arrays: &mut BTreeMap<usize, Array>,
    slot: usize,
    count: u64,
) -> Result<Buffer, Diagnostic> {
    let array = arrays.get_mut(&slot).expect("the slot is one of the result's");
    let needed = count as usize * array.elem.size();
    if needed > array.bytes {
        // SAFETY: the array holds so many bytes and is owned here alone.
        let fresh = unsafe { memory::grow(array.address, needed) };
        if fresh.is_null() {
            return Err(budget::refusal("an array", Some(needed as f64), budget::SMALLER_RESULT));
        }
        (array.address, array.bytes) = (fresh, needed);
    }
    let address = std::mem::replace(&mut array.address, std::ptr::null_mut());
    // SAFETY: the memory is of the malloc family, has room for the elements, all of which parts
    // wrote, and is owned by nobody else now.
    Ok(unsafe { Buffer::from_malloc(address, count as usize, array.elem) })
}
