//! Rewrites of statements into several: temporaries, factors, contractions, long sums.

pub(super) mod contraction;
mod diagonals;
pub(super) mod factorize;
pub(super) mod hashed_rows;
pub(super) mod listed_sum;
mod listed_terms;
pub(super) mod merge_size;
pub(super) mod nary_sum;
pub(super) mod plain_factors;
pub(super) mod reductions;
mod row_pairs;
pub(super) mod row_workspaces;
mod semiring;
pub(super) mod temporaries;
pub(super) mod vectors;
