//! Iteration: which coordinates of an index variable have to be visited.

pub mod lattice;
