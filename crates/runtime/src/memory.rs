//! Arrays in memory, each owned by exactly one side, and the page policy of large ones.
//!
//! Results of 1 KiB and more that never grew begin with a line of the cache; those of 4 MiB and more are aligned to 2 MiB
//! and offered to the system for huge pages: adding sparse matrices is page faults otherwise. Kernels grow results by
//! [`reserve`] or its like in C; all of it is the C library's memory, freed by [`budget`]'s `free`.

use crate::budget;
use crate::owned::Taken;
use crate::pages::{HUGE_FROM, HUGE_PAGE, LINE, LINES_FROM};
use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tamis_ir::datatype::{DataType, Scalar};
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::half::{Bf16, F16};

/// So many elements are copied at least.
const SHORT: usize = 16;
/// Results keep memory of so many times their size and no more.
const MOST_ROOM: usize = 4;

/// A Rust type that an array can hold. Only this crate says which, since arrays trust it.
pub trait Element: Copy + Send + Sync + sealed::Sealed + 'static {
    /// The data type of such elements.
    const DATATYPE: DataType;

    /// The element for a value of its register type that fits.
    fn of(value: Scalar) -> Self;

    /// The value in its register type.
    fn value(self) -> Scalar;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($t:ty: $d:ident, $of:expr, $value:expr;)*) => {
        $(
            impl sealed::Sealed for $t {}
            impl Element for $t {
                const DATATYPE: DataType = DataType::$d;
                fn of(value: Scalar) -> $t {
                    $of(value.computed(DataType::$d))
                }
                fn value(self) -> Scalar {
                    $value(self)
                }
            }
        )*
    };
}

elements! {
    Truth: Bool, |c: Scalar| Truth::from(!c.is_zero()), |x: Truth| Scalar::I64(i64::from(x.0));
    i8: I8, |c: Scalar| c.as_i64() as i8, |x| Scalar::I64(i64::from(x));
    i16: I16, |c: Scalar| c.as_i64() as i16, |x| Scalar::I64(i64::from(x));
    i32: I32, |c: Scalar| c.as_i64() as i32, |x| Scalar::I64(i64::from(x));
    i64: I64, |c: Scalar| c.as_i64(), Scalar::I64;
    u8: U8, |c: Scalar| c.as_i64() as u8, |x| Scalar::I64(i64::from(x));
    u16: U16, |c: Scalar| c.as_i64() as u16, |x| Scalar::I64(i64::from(x));
    u32: U32, |c: Scalar| c.as_i64() as u32, |x| Scalar::I64(i64::from(x));
    u64: U64, |c: Scalar| if let Scalar::U64(x) = c { x } else { c.as_i64() as u64 }, Scalar::U64;
    F16: F16, |c: Scalar| F16::from(c.as_f64()), |x: F16| Scalar::F32(x.into());
    Bf16: Bf16, |c: Scalar| Bf16::from(c.as_f64()), |x: Bf16| Scalar::F32(x.into());
    f32: F32, |c: Scalar| c.as_f64() as f32, Scalar::F32;
    f64: F64, |c: Scalar| c.as_f64(), Scalar::F64;
    [f32; 2]: C64, |c: Scalar| c.parts().map(|x| x.as_f64() as f32), Scalar::C64;
    [f64; 2]: C128, |c: Scalar| c.parts().map(Scalar::as_f64), Scalar::C128;
}

/// The body for the type of the elements of a data type.
macro_rules! for_element {
    ($datatype:expr, $t:ident => $body:expr) => {
        for_element!($datatype, $t => $body,
            Bool: $crate::memory::Truth, I8: i8, I16: i16, I32: i32, I64: i64, U8: u8, U16: u16,
            U32: u32, U64: u64, F16: tamis_ir::half::F16, Bf16: tamis_ir::half::Bf16,
            F32: f32, F64: f64, C64: [f32; 2], C128: [f64; 2])
    };
    ($datatype:expr, $t:ident => $body:expr, $($d:ident: $element:ty),*) => {
        match $datatype {
            $(tamis_ir::datatype::DataType::$d => {
                type $t = $element;
                $body
            })*
        }
    };
}
pub(crate) use for_element;

/// A truth value in memory: one byte, 0 or 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub struct Truth(u8);

impl From<bool> for Truth {
    fn from(truth: bool) -> Truth {
        Truth(u8::from(truth))
    }
}

impl Truth {
    /// The truth value of a byte, as foreign memory may hold it: valid ones are 0 and 1.
    pub fn of_byte(byte: u8) -> Truth {
        Truth(byte)
    }

    /// The byte.
    pub fn byte(self) -> u8 {
        self.0
    }
}

/// An array of elements of one data type. Cloning shares the memory, or copies what is borrowed for a
/// lifetime ([`crate::TensorView`]).
pub struct Buffer {
    address: *const u8,
    len: usize,
    datatype: DataType,
    /// Keeps the memory alive.
    owner: Arc<dyn Any + Send + Sync>,
}

// SAFETY: the memory is written after construction only by whoever owns it alone, and
// the owner is itself Send and Sync.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

/// Memory of the C library.
pub(crate) struct Malloc(pub(crate) *mut c_void);

// SAFETY: the pointer is owned by this value alone and only freed.
unsafe impl Send for Malloc {}
// SAFETY: as above; nothing is read through it.
unsafe impl Sync for Malloc {}

impl Drop for Malloc {
    fn drop(&mut self) {
        // SAFETY: the pointer came from the malloc family and is freed once.
        unsafe { budget::free(self.0) }
    }
}

impl Buffer {
    /// Takes a vector over, without copying.
    pub fn from_vec<T: Element>(data: Vec<T>) -> Buffer {
        let len = data.len();
        let address = if len == 0 { aligned_nothing() } else { data.as_ptr().cast() };
        Buffer { address, len, datatype: T::DATATYPE, owner: Arc::new(Taken(data)) }
    }

    /// Borrows foreign memory, kept alive by `owner`.
    ///
    /// # Safety
    /// `address` points to `len` aligned elements of `datatype` that stay valid and unchanged as
    /// long as `owner` lives; without elements it is any address.
    pub unsafe fn from_foreign(
        address: *const u8,
        len: usize,
        datatype: DataType,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Buffer {
        let address = if len == 0 { aligned_nothing() } else { address };
        Buffer { address, len, datatype, owner }
    }

    /// Takes over memory of the malloc family (on Windows of [`reserve`] and [`grow`]), which is freed with the last clone.
    ///
    /// # Safety
    /// `address` is null with `len` 0, or came from the malloc family, is owned by the caller
    /// alone and holds `len` elements of `datatype`.
    pub unsafe fn from_malloc(address: *mut u8, len: usize, datatype: DataType) -> Buffer {
        let start = if len == 0 { aligned_nothing() } else { address.cast_const() };
        Buffer { address: start, len, datatype, owner: Arc::new(Malloc(address.cast())) }
    }

    /// Zeroed memory.
    pub fn zeroed(datatype: DataType, len: usize) -> Result<Buffer, Diagnostic> {
        let address = allocate(datatype, len)?;
        let bytes = len * datatype.size();
        if !address.is_null() {
            // SAFETY: the allocation has this many bytes.
            unsafe { libc::memset(address.cast(), 0, bytes) };
        }
        // SAFETY: just allocated by the malloc family, with room for `len` elements.
        Ok(unsafe { Buffer::from_malloc(address, len, datatype) })
    }

    /// So many elements that are `fill`, but for those at given positions. Values fit the type.
    pub fn scattered(
        len: usize,
        fill: Scalar,
        datatype: DataType,
        entries: impl Iterator<Item = (usize, Scalar)>,
    ) -> Result<Buffer, Diagnostic> {
        for_element!(datatype, T => {
            let mut made = Building::<T>::new(len)?;
            // SAFETY: there is room for every element, nobody else has the memory, and all are written
            // before they are read.
            unsafe {
                (0..len).for_each(|at| made.write(at, T::of(fill)));
                let elements = made.as_mut_slice();
                entries.for_each(|(at, value)| elements[at] = T::of(value));
                Ok(made.finish())
            }
        })
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The type of the elements.
    pub fn datatype(&self) -> DataType {
        self.datatype
    }

    /// The first element's address.
    pub fn address(&self) -> *const u8 {
        self.address
    }

    /// What keeps the memory alive.
    pub fn owner(&self) -> &Arc<dyn Any + Send + Sync> {
        &self.owner
    }

    /// The same, to look whether it is the only one.
    pub(crate) fn owner_mut(&mut self) -> &mut Arc<dyn Any + Send + Sync> {
        &mut self.owner
    }

    /// What keeps the memory alive, without the array.
    pub(crate) fn into_shared_owner(self) -> Arc<dyn Any + Send + Sync> {
        self.owner
    }

    /// The same memory, kept alive by the same owner.
    pub(crate) fn shared(&self) -> Buffer {
        Buffer { owner: Arc::clone(&self.owner), ..*self }
    }

    /// Bytes of the elements.
    pub fn bytes(&self) -> usize {
        self.len * self.datatype.size()
    }

    /// The same memory, seen only up to `len` elements.
    pub fn truncated(mut self, len: usize) -> Buffer {
        self.len = self.len.min(len);
        self
    }

    /// The same elements, without the room behind them where that is much: kernels reserve what a
    /// result may take, and so does every part of it, and the next, which gets this room.
    pub(crate) fn fitted(mut self) -> Buffer {
        let owner = Arc::get_mut(&mut self.owner).and_then(|owner| owner.downcast_mut());
        let Some(Malloc(room)) = owner else { return self };
        // SAFETY: the memory is of the malloc family.
        let room = unsafe { budget::size(*room) };
        if room < HUGE_FROM || room / MOST_ROOM < self.bytes() {
            return self;
        }
        let Ok(address) = allocate(self.datatype, self.len) else { return self };
        // SAFETY: both have so many elements, and the new ones are nobody else's.
        unsafe {
            std::ptr::copy_nonoverlapping(self.address.cast(), address, self.bytes());
            Buffer::from_malloc(address, self.len, self.datatype)
        }
    }

    /// The same elements for longer than a call: what others lend may change afterwards, and is copied.
    pub(crate) fn kept(&self) -> Result<Buffer, Diagnostic> {
        if self.owner.is::<Malloc>() || self.is_taken_indices() || self.is_empty() {
            return Ok(self.clone());
        }
        self.copied()
    }

    /// The elements, if they are of this type.
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        if T::DATATYPE != self.datatype {
            return None;
        }
        // SAFETY: the constructors guarantee `len` valid elements of the data type at `address`.
        Some(unsafe { std::slice::from_raw_parts(self.address.cast(), self.len) })
    }

    /// An element in its register type. One behind the end is a panic.
    pub fn get(&self, at: usize) -> Scalar {
        for_element!(self.datatype, T => {
            self.as_slice::<T>().expect("the data type was matched")[at].value()
        })
    }

    /// An element of an array of positions or coordinates; 0 for other types. One behind the end is a panic.
    pub fn index(&self, at: usize) -> i64 {
        match self.get(at) {
            Scalar::I64(x) => x,
            _ => 0,
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<String> = (0..self.len.min(16)).map(|k| self.get(k).to_string()).collect();
        let more = if self.len > 16 { ", .." } else { "" };
        write!(f, "{}[{}{more}]", self.datatype, shown.join(", "))
    }
}

/// The address of arrays without elements, aligned for every element type. A borrower may read an element
/// there, as NumPy does when it converts under a mask.
fn aligned_nothing() -> *const u8 {
    static NOTHING: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
    NOTHING.as_ptr().cast()
}

/// Uninitialised memory for so many elements under the page policy; null for none.
///
/// The error says how much was needed.
pub fn allocate(datatype: DataType, len: usize) -> Result<*mut u8, Diagnostic> {
    fresh(len, datatype.size(), budget::SMALLER_RESULT)
}

/// Uninitialised memory for `len` things of `size` bytes; null for none. `help` is the way out
/// where it is too much.
fn fresh(len: usize, size: usize, help: &str) -> Result<*mut u8, Diagnostic> {
    let bytes = len.checked_mul(size).filter(|&b| b <= isize::MAX as usize);
    let address = bytes.map_or(std::ptr::null_mut(), |bytes| {
        // SAFETY: a null old address with 0 old bytes is a fresh allocation.
        unsafe { reserve(std::ptr::null_mut(), 0, bytes) }
    });
    if address.is_null() && len > 0 {
        return Err(budget::refusal("an array", Some(len as f64 * size as f64), help));
    }
    Ok(address)
}

/// Gives `len` elements a value.
///
/// # Safety
/// There is room for so many at the address, and nobody else uses it meanwhile.
pub(crate) unsafe fn fill(address: *mut u8, datatype: DataType, len: usize, value: Scalar) {
    for_element!(datatype, T => {
        let (first, element) = (address.cast::<T>(), T::of(value));
        // SAFETY: the caller promises the room.
        (0..len).for_each(|at| unsafe { first.add(at).write(element) });
    });
}

/// An array under construction: memory under the page policy, uninitialised at first and written
/// by several threads at once, each to elements of its own.
pub(crate) struct Building<T> {
    address: *mut T,
    len: usize,
}

// SAFETY: the memory is owned by this value alone; writes through a shared reference are unsafe
// and their callers promise that indices are disjoint.
unsafe impl<T: Send + Sync> Send for Building<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Building<T> {}

impl<T: Copy> Building<T> {
    /// Room for `len` things.
    pub fn new(len: usize) -> Result<Building<T>, Diagnostic> {
        const { assert!(align_of::<T>() <= 16, "malloc aligns to 16 bytes") }
        Ok(Building { address: fresh(len, size_of::<T>(), budget::SMALLER_TENSOR)?.cast(), len })
    }

    /// How many things there is room for.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Writes a thing to its element.
    ///
    /// # Safety
    /// The index is below the length and no other thread uses it meanwhile.
    pub unsafe fn write(&self, at: usize, thing: T) {
        debug_assert!(at < self.len);
        // SAFETY: the element lies in the allocation and is used by this thread alone.
        unsafe { self.address.add(at).write(thing) }
    }

    /// Writes things of an array to the elements from one on. Of few it writes what follows them there, too,
    /// since processors do not predict the number, and these elements are to be written later.
    ///
    /// # Safety
    /// As of [`Building::write`], for all elements from that one on.
    pub unsafe fn append(&self, at: usize, all: &[T], range: Range<usize>) {
        let (start, things) = (range.start, &all[range]);
        debug_assert!(at + things.len() <= self.len);
        let has_room = at + SHORT <= self.len && start + SHORT <= all.len();
        let len = if things.len() <= SHORT && has_room { SHORT } else { things.len() };
        // SAFETY: both arrays have so many elements from there on; this one is used by the caller alone.
        unsafe {
            let (from, to) = (all.as_ptr().add(start), self.address.add(at));
            match len {
                // A number that is known is no call.
                SHORT => from.copy_to_nonoverlapping(to, SHORT),
                len => from.copy_to_nonoverlapping(to, len),
            }
        }
    }

    /// All things.
    ///
    /// # Safety
    /// Every element was written and no thread still writes.
    pub unsafe fn as_mut_slice(&mut self) -> &mut [T] {
        let address = if self.len == 0 { std::ptr::dangling_mut() } else { self.address };
        // SAFETY: the allocation holds `len` things, all written as the caller promises.
        unsafe { std::slice::from_raw_parts_mut(address, self.len) }
    }

    /// The finished array.
    ///
    /// # Safety
    /// Every element was written.
    pub unsafe fn finish(self) -> Buffer
    where
        T: Element,
    {
        let (address, len) = (self.address, self.len);
        std::mem::forget(self);
        // SAFETY: the memory is of the malloc family, was owned here alone and is initialised.
        unsafe { Buffer::from_malloc(address.cast(), len, T::DATATYPE) }
    }
}

impl<T> Drop for Building<T> {
    fn drop(&mut self) {
        // SAFETY: the memory is of the malloc family, or null, and owned here alone.
        unsafe { budget::free(self.address.cast()) }
    }
}

/// Makes memory of at least `bytes` of what is at `old`, which takes no more than that meanwhile where the system
/// moves pages; null on failure, when the old memory stays as it was.
///
/// # Safety
/// `old` is null or memory of the malloc family.
pub unsafe fn grow(old: *mut u8, bytes: usize) -> *mut u8 {
    // SAFETY: as the caller promises.
    unsafe { budget::realloc(old.cast(), bytes) }.cast()
}

/// Moves `old_bytes` at `old` to memory of at least `new_bytes`; null on failure, when the old
/// memory stays as it was, or when there is nothing to hold.
///
/// # Safety
/// `old` is null with `old_bytes` 0, or memory of the malloc family with at least `old_bytes`.
pub unsafe fn reserve(old: *mut u8, old_bytes: usize, new_bytes: usize) -> *mut u8 {
    if new_bytes == 0 {
        return std::ptr::null_mut();
    }
    let is_large = new_bytes >= HUGE_FROM;
    if new_bytes < LINES_FROM || !old.is_null() && !is_large {
        // SAFETY: `old` is null or of the malloc family, as the caller promises.
        return unsafe { budget::realloc(old.cast(), new_bytes) }.cast();
    }
    let alignment = if is_large { HUGE_PAGE } else { LINE };
    let mut fresh: *mut c_void = std::ptr::null_mut();
    // SAFETY: the alignment is a power of two and a multiple of the pointer size.
    if unsafe { budget::posix_memalign(&mut fresh, alignment, new_bytes) } != 0 {
        return std::ptr::null_mut();
    }
    // SAFETY: the range was just allocated; the advice changes no contents. The copy stays within
    // both allocations, and `old` is freed once.
    unsafe {
        #[cfg(target_os = "linux")]
        if is_large {
            libc::madvise(fresh, new_bytes, libc::MADV_HUGEPAGE);
        }
        if !old.is_null() {
            libc::memcpy(fresh, old.cast(), old_bytes.min(new_bytes));
            budget::free(old.cast());
        }
    }
    fresh.cast()
}
