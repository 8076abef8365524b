//! Iteration: which coordinates of an index variable have to be visited.

pub mod explain;
pub mod graph;
pub mod lattice;
