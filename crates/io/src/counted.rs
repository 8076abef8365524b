//! Lists that grow with a file: they count against the memory limit, and say so where memory is too small.
//!
//! ```text
//! comments  "%\n%\n%\n.."      2 bytes of the file each, 24 of the list
//! ```

use crate::error::{Flaw, Parsed};
use std::ops::{Deref, DerefMut};
use tamis_runtime::budget::Reservation;

/// The least room of a list that grows.
const LEAST: usize = 64;

/// What the allocator takes for a string at least.
const SMALLEST_BLOCK: usize = 32;

/// A list that counts as long as it lives.
pub(crate) struct Counted<T> {
    items: Vec<T>,
    /// Bytes that the elements have elsewhere.
    elsewhere: usize,
    reservation: Reservation,
}

impl<T> Default for Counted<T> {
    fn default() -> Counted<T> {
        Counted { items: vec![], elsewhere: 0, reservation: Reservation::default() }
    }
}

impl<T> Counted<T> {
    /// An empty list with room for so many elements.
    pub fn with_room(length: usize) -> Parsed<Counted<T>> {
        let mut list = Counted::default();
        list.resize(length)?;
        Ok(list)
    }

    /// Adds an element.
    #[inline(always)]
    pub fn push(&mut self, item: T) -> Parsed<()> {
        if self.items.len() == self.items.capacity() {
            self.resize((self.items.len() / 2 * 3).max(LEAST))?;
        }
        self.items.push(item);
        Ok(())
    }

    /// The elements, which count no more.
    pub fn into_vec(self) -> Vec<T> {
        self.items
    }

    #[cold]
    fn resize(&mut self, room: usize) -> Parsed<()> {
        self.count(room)?;
        let more = room.saturating_sub(self.items.len());
        let reserved = self.items.try_reserve_exact(more);
        reserved.map_err(|_| Flaw::no_room(WHAT, more.saturating_mul(size_of::<T>())))
    }

    fn count(&mut self, room: usize) -> Parsed<()> {
        let bytes = room.saturating_mul(size_of::<T>()).saturating_add(self.elsewhere);
        self.reservation.resize(bytes, WHAT, "").map_err(Flaw::of_memory)
    }
}

const WHAT: &str = "a list that is read from the file";

impl Counted<String> {
    /// Adds a text.
    pub fn push_text(&mut self, text: String) -> Parsed<()> {
        if text.capacity() > 0 {
            self.elsewhere += text.capacity().max(SMALLEST_BLOCK);
            self.count(self.items.capacity())?;
        }
        self.push(text)
    }
}

impl<T> Deref for Counted<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T> DerefMut for Counted<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}
