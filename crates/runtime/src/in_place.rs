//! Results in arrays that the caller has: values where the entries stay, and the memory of lists.
//!
//! ```text
//! y dense        its values are written where they are
//! S like A       the same, where S has A's entries already
//! C csr          its arrays are the first memory that the kernel reserves
//! ```

use crate::interrupt::Interrupt;
use crate::kernel::{Call, Frame};
use crate::memory::Buffer;
use crate::parallel;
use crate::tensor::{LevelData, Tensor};
use std::borrow::Cow;
use tamis_core::level::Part;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::Id;
use tamis_ir::ir::ArrayRole;

impl Call<'_> {
    /// Runs the kernel with these values instead of those of the call, and leaves the result among them.
    ///
    /// The value of the result is a tensor to write into. If it has the result's storage and dimensions, it
    /// is written in place where the entries stay; otherwise its memory is used first. It is also the
    /// pattern of a kernel that follows one. After an error it is a valid tensor of any contents, or none.
    pub fn run_into(&self, values: &mut [Option<Cow<'_, Tensor>>]) -> Result<(), Diagnostic> {
        Interrupt::current().map_or(Ok(()), |interrupt| interrupt.check())?;
        let place = self.id.index();
        if let Some(address) = self.room(values) {
            let call = Call { values, ..*self };
            let done = match &self.lowered.partition {
                Ok(partition) => parallel::in_place(&call, partition, address)?,
                Err(_) => call.enter(&mut call.frame(Some(address))?).map(|()| true)?,
            };
            if done {
                return Ok(());
            }
        }
        let result = match self.follows {
            true => Call { values, ..*self }.run()?,
            false => {
                let left = values[place].take().map(Cow::into_owned);
                let call = Call { values, ..*self };
                match left.filter(|left| call.is_like(left) && self.lowered.partition.is_err()) {
                    Some(left) => call.whole_with(left)?,
                    None => call.run()?,
                }
            }
        };
        values[place] = Some(Cow::Owned(result));
        Ok(())
    }

    /// Where the values of the result are to be written in place, if they can.
    fn room(&self, values: &mut [Option<Cow<'_, Tensor>>]) -> Option<*mut u8> {
        let mut arrays = self.result_arrays();
        let (_, array, _) = arrays.next()?;
        if arrays.next().is_some() || !matches!(array.role, ArrayRole::Output | ArrayRole::Shared) {
            return None;
        }
        let place = self.id.index();
        let fits = values[place].as_deref().is_some_and(|room| {
            let call = Call { values, ..*self };
            self.follows || call.is_like(room) && call.has_levels(room)
        });
        match &mut values[place] {
            Some(Cow::Owned(room)) if fits => room.vals.own_address(),
            _ => None,
        }
    }

    /// Whether a tensor is stored and shaped as the result is.
    fn is_like(&self, room: &Tensor) -> bool {
        let shape = self.target.modes.iter().map(|&var| &self.dims[var]);
        room.storage() == &self.target.storage && room.dims().iter().eq(shape)
    }

    /// Whether a tensor has the levels that the result takes over.
    fn has_levels(&self, room: &Tensor) -> bool {
        let Some(like) = self.lowered.like else { return true };
        let own = &room.levels()[..like.levels];
        own.iter().zip(self.levels_like(like)).all(|(own, other)| is_same(own, other))
    }

    /// Runs the kernel as a whole, which reserves the memory of a tensor first.
    fn whole_with(&self, left: Tensor) -> Result<Tensor, Diagnostic> {
        let mut frame = self.frame(None)?;
        self.give(&mut frame, left);
        self.enter(&mut frame)?;
        self.taken(&mut frame)
    }

    /// Puts the arrays of a tensor where the kernel leaves those of the result, as an earlier call would.
    fn give(&self, frame: &mut Frame, left: Tensor) {
        let (_, _, mut levels, vals) = left.into_parts();
        let mut vals = Some(vals);
        for (place, array, binding) in self.result_arrays() {
            let buffer = match self.level_part(binding) {
                Some((level, part)) => levels[level].part_mut(part).take(),
                None => vals.take(),
            };
            if array.role == ArrayRole::Result
                && let Some((address, len)) = buffer.and_then(Buffer::into_malloc)
            {
                let numbers = if array.elem.is_complex() { 2 * len } else { len };
                (frame.slots[place], frame.slots[place + 1]) = (address as u64, numbers as u64);
            }
        }
    }
}

/// Whether levels have the same arrays, or equal ones.
fn is_same(level: &LevelData, other: &LevelData) -> bool {
    Part::ALL.into_iter().all(|part| match (level.part(part), other.part(part)) {
        (Some(a), Some(b)) => (a.address(), a.len()) == (b.address(), b.len()) || a == b,
        (a, b) => a.is_none() && b.is_none(),
    })
}
