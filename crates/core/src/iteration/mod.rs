//! Iteration: which coordinates of an index variable have to be visited.

pub mod explain;
pub mod lattice;
