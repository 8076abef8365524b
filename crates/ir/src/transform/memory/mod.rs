//! Passes for memory accesses: non-temporal stores, software prefetch, early loads, and memory for unbounded
//! workspaces.

pub(super) mod loads_first;
pub(super) mod nontemporal;
pub(super) mod prefetch;
pub(super) mod slice_workspaces;
