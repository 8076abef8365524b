//! How operands are read: one file per way to iterate, merge or locate them.

pub(super) mod background;
pub(super) mod clip;
pub(super) mod collapse;
pub(super) mod duplicates;
pub(super) mod forall;
pub(super) mod gallop;
pub(super) mod led;
pub(super) mod locate;
pub(super) mod merge;
pub(super) mod nary;
pub(super) mod nary_sum;
pub(super) mod part;
pub(super) mod peel_blocks;
pub(super) mod position;
pub(super) mod recover;
pub(super) mod slice;
pub(super) mod two_finger;
pub(super) mod universe;
pub(super) mod unroll;
pub(super) mod walk;
pub(super) mod window;
