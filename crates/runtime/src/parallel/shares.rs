//! Where a kernel is cut whose operands are not whole at hand: each process knows the work before a coordinate as
//! far as its own entries go, and what it adds to that is known by others.

use super::cut::{self, Lead};
use crate::coordinates::Values;
use crate::kernel::Call;
use crate::memory::Truth;
use tamis_core::plan::Partition;
use tamis_ir::algebra::ReduceOp;
use tamis_ir::ids::TensorId;

/// What tells how a kernel is cut.
#[derive(Clone, Copy)]
pub struct Shares<'c> {
    call: Call<'c>,
    partition: &'c Partition,
}

impl<'c> Shares<'c> {
    /// Those of a call, if its kernel can be cut.
    pub fn of(call: Call<'c>) -> Option<Shares<'c>> {
        let partition = call.lowered.partition.as_ref().ok()?;
        Some(Shares { call, partition })
    }

    /// Whether the whole is less work than two parts are worth, if operands store so many values in all.
    pub fn is_small(self, stored: &dyn Fn(TensorId) -> Option<u64>) -> bool {
        cut::is_small(&self.call, self.partition, stored)
    }

    fn lead(&self, lead: Option<TensorId>) -> Lead<'_> {
        match lead {
            Some(id) => Lead::of(&self.call, id, self.partition),
            None => Lead::even(&self.call, self.partition),
        }
    }

    /// How much work there is at the entries of an operand that are at hand; without one, in all iterations.
    pub fn work(self, lead: Option<TensorId>) -> u128 {
        self.lead(lead).work
    }

    /// In how many parts so much work is cut.
    pub fn parts(self, work: u128) -> u64 {
        cut::count(&self.call, self.partition, work)
    }

    /// How much work there is before a part, one of so many.
    pub fn before(self, work: u128, part: u64, parts: u64) -> u128 {
        cut::before_part(work, part, parts)
    }

    /// The first coordinate before which there is so much work at the entries at hand, if it is not behind all.
    pub fn coordinate(self, lead: Option<TensorId>, work: u128) -> Option<i64> {
        self.lead(lead).cut(work, self.partition.cut)
    }

    /// The iteration that a coordinate belongs to.
    pub fn iteration(self, coordinate: i64) -> i64 {
        cut::iteration(&self.call, &self.partition.scale, coordinate)
    }
}

/// Combines values with as many others of the same type, in this order, as parts of one call are.
///
/// # Panics
/// When they are of another type, or not as many.
pub fn combine(all: &mut Values, more: &Values, op: ReduceOp) {
    assert_eq!(all.len(), more.len(), "parts of one result have the same elements");
    macro_rules! combined {
        ($($v:ident),*) => {
            match (all, more) {
                (Values::Bool(all), Values::Bool(more)) => {
                    let truths = |bytes: &[u8]| bytes.iter().map(|&b| Truth::of_byte(b)).collect();
                    let (mut found, more): (Vec<Truth>, Vec<Truth>) = (truths(all), truths(more));
                    super::combine::combine(&mut found, &more, op);
                    *all = found.into_iter().map(Truth::byte).collect();
                }
                $((Values::$v(all), Values::$v(more)) => super::combine::combine(all, more, op),)*
                _ => panic!("parts of one result have one type"),
            }
        };
    }
    combined!(I8, I16, I32, I64, U8, U16, U32, U64, F16, Bf16, F32, F64, C64, C128);
}
