//! Iteration: which coordinates of an index variable have to be visited.

pub mod graph;
pub mod lattice;
