//! Arrays that one side owns alone: written in place, and given away as vectors without a copy.
//!
//! ```text
//! Buffer::from_vec(v) .. into_vec()      the same vector
//! a result of a kernel .. into_vec()     a copy: its memory is the C library's
//! ```

use crate::budget;
use crate::index::{self, Index};
use crate::memory::{Buffer, Element, Malloc, allocate, for_element};
use std::any::Any;
use std::sync::{Arc, OnceLock};
use tamis_ir::datatype::DataType;
use tamis_ir::diagnostic::Diagnostic;

/// The owner of memory that is borrowed for a lifetime: clones of such arrays are copies.
pub(crate) struct Lent;

impl Lent {
    fn owner() -> Arc<dyn Any + Send + Sync> {
        static OWNER: OnceLock<Arc<dyn Any + Send + Sync>> = OnceLock::new();
        Arc::clone(OWNER.get_or_init(|| Arc::new(Lent)))
    }
}

/// The owner of memory that a vector gave away: foreign owners may be vectors too, of which an array is a part.
pub(crate) struct Taken<T>(pub(crate) Vec<T>);

impl Clone for Buffer {
    fn clone(&self) -> Buffer {
        match self.owner().is::<Lent>() {
            true => for_element!(self.datatype(), T => {
                Buffer::from_vec(self.as_slice::<T>().unwrap_or_default().to_vec())
            }),
            false => self.shared(),
        }
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Buffer) -> bool {
        for_element!(self.datatype(), T => self.as_slice::<T>() == other.as_slice::<T>())
    }
}

impl Buffer {
    /// Whether the elements are positions or coordinates of a vector that was given away.
    pub(crate) fn is_taken_indices(&self) -> bool {
        let owner = self.owner();
        owner.is::<Taken<i32>>()
            || owner.is::<Taken<i64>>()
            || owner.is::<Taken<u32>>()
            || owner.is::<Taken<u64>>()
            || owner.is::<Taken<usize>>()
    }

    /// The error for an index of a vector that was given away which is beyond numbers with a sign.
    pub(crate) fn refused_index(&self) -> Option<Diagnostic> {
        fn of<I: Index>(array: &Buffer) -> Option<Diagnostic> {
            index::refused(&array.owner().downcast_ref::<Taken<I>>()?.0)
        }
        of::<u32>(self).or_else(|| of::<u64>(self)).or_else(|| of::<usize>(self))
    }

    /// Takes indices over, without copying: numbers without a sign are read as those of the same
    /// width, so that one too large for these is negative.
    pub fn from_indices<I: Index>(indices: Vec<I>) -> Buffer {
        let (address, len) = (indices.as_ptr().cast(), indices.len());
        // SAFETY: an index has the size and the alignment of the integers of its width, any bits are
        // valid, and the vector is the owner.
        unsafe { Buffer::from_foreign(address, len, I::WIDTH.datatype(), Arc::new(Taken(indices))) }
    }

    /// Elements of somebody else, which are copied where the array is cloned.
    ///
    /// # Safety
    /// The elements are those of a data type. They stay valid and unchanged as long as the array lives.
    pub(crate) unsafe fn lent<T>(elements: &[T], datatype: DataType) -> Buffer {
        let (address, len) = (elements.as_ptr().cast(), elements.len());
        // SAFETY: as the caller promises.
        unsafe { Buffer::from_foreign(address, len, datatype, Lent::owner()) }
    }

    /// Elements that are there as long as the program runs.
    pub(crate) fn constant<T: Element>(elements: &'static [T]) -> Buffer {
        // SAFETY: as the type says.
        unsafe { Buffer::lent(elements, T::DATATYPE) }
    }

    /// The elements as a vector, if they are of this type: the vector that the array was made from,
    /// where nobody else has the array, a copy otherwise. Arrays of a kernel's result were made of no vector.
    ///
    /// ```
    /// use tamis_runtime::Buffer;
    /// let numbers = vec![1.0, 2.0];
    /// let address = numbers.as_ptr();
    /// let numbers = Buffer::from_vec(numbers).into_vec::<f64>().expect("the same type");
    /// assert_eq!((numbers.as_ptr(), numbers.len()), (address, 2));
    /// ```
    pub fn into_vec<T: Element>(self) -> Option<Vec<T>> {
        let len = self.len();
        self.as_slice::<T>()?;
        match self.into_owner::<Taken<T>>() {
            Ok(Taken(mut vector)) => {
                vector.truncate(len);
                Some(vector)
            }
            Err(shared) => shared.as_slice().map(<[T]>::to_vec),
        }
    }

    /// The elements of an array of positions or coordinates as a vector: the one that the array was
    /// made from, where nobody else has the array, a copy otherwise. Nothing where the array is of
    /// another type, or an index does not fit.
    pub fn into_indices<I: Index>(self) -> Option<Vec<I>> {
        if !matches!(self.datatype(), DataType::I32 | DataType::I64) {
            return None;
        }
        let len = self.len();
        match self.into_owner::<Taken<I>>() {
            Ok(Taken(mut vector)) => {
                vector.truncate(len);
                Some(vector)
            }
            Err(shared) => (0..len).map(|k| I::checked(shared.index(k))).collect(),
        }
    }

    /// What owns the memory, if it is this, and nobody else has it.
    fn into_owner<O: Send + Sync + 'static>(mut self) -> Result<O, Buffer> {
        if !self.owner().is::<O>() || Arc::get_mut(self.owner_mut()).is_none() {
            return Err(self);
        }
        let owner = self.into_shared_owner().downcast::<O>().ok().and_then(Arc::into_inner);
        Ok(owner.expect("nobody else has the array"))
    }

    /// The elements to write to, if they are of this type and nobody else has the array. Truth values
    /// are not written this way.
    pub fn as_mut_slice<T: Element>(&mut self) -> Option<&mut [T]> {
        if T::DATATYPE != self.datatype() || T::DATATYPE == DataType::Bool {
            return None;
        }
        let (address, len) = (self.own_address()?, self.len());
        // SAFETY: so many valid elements are there, and the array is the only way to them.
        Some(unsafe { std::slice::from_raw_parts_mut(address.cast(), len) })
    }

    /// Where elements may be written, if nobody else has the array.
    pub(crate) fn own_address(&mut self) -> Option<*mut u8> {
        let (address, datatype) = (self.address().cast_mut(), self.datatype());
        let owner = Arc::get_mut(self.owner_mut())?;
        if owner.is::<Malloc>() {
            return Some(address);
        }
        for_element!(datatype, T => {
            owner.downcast_mut::<Taken<T>>().map(|Taken(vector)| vector.as_mut_ptr().cast())
        })
    }

    /// The same elements in memory of their own.
    pub(crate) fn copied(&self) -> Result<Buffer, Diagnostic> {
        let address = allocate(self.datatype(), self.len())?;
        // SAFETY: both have so many elements, and the new ones are nobody else's.
        unsafe {
            std::ptr::copy_nonoverlapping(self.address(), address.cast(), self.bytes());
            Ok(Buffer::from_malloc(address, self.len(), self.datatype()))
        }
    }

    /// Writes the elements of an array of the same type and length over these, if nobody else has them; whether
    /// that is so.
    pub(crate) fn overwrite(&mut self, other: &Buffer) -> bool {
        let is_alike = (self.datatype(), self.len()) == (other.datatype(), other.len());
        let Some(address) = self.own_address().filter(|_| is_alike) else { return false };
        // SAFETY: both have so many bytes, and these are nobody else's.
        unsafe { std::ptr::copy_nonoverlapping(other.address(), address, other.bytes()) };
        true
    }

    /// The memory of an array that a kernel made and nobody else has, and for how many elements it has
    /// room: it is the caller's to free.
    pub(crate) fn into_malloc(mut self) -> Option<(*mut u8, usize)> {
        let size = self.datatype().size();
        let Malloc(address) = Arc::get_mut(self.owner_mut())?.downcast_mut()?;
        let address = std::mem::replace(address, std::ptr::null_mut());
        // SAFETY: the memory is of the malloc family.
        let bytes = unsafe { budget::size(address) };
        Some((address.cast(), bytes / size))
    }
}
