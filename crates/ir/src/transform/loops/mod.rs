//! Passes that move, split and fuse loops and what they initialise.

pub(super) mod defer_overflow;
pub(super) mod fuse_init;
pub(super) mod guard_empty;
pub(super) mod hoist_invariants;
pub(super) mod position_loops;
pub(super) mod reserve_once;
pub(super) mod sink_flags;
pub(super) mod split_by_parent;
pub(super) mod strip_mine;
pub(super) mod unroll;
pub(super) mod unswitch;
