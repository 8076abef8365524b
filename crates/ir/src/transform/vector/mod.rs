//! Passes that run several iterations together: SIMD, register tiles, unrolling.

pub(super) mod batch_functions;
mod common_factors;
pub(super) mod privatize_sums;
pub(super) mod register_tile;
mod slice;
pub(super) mod split_accumulators;
pub(super) mod split_vectors;
pub(super) mod sum;
pub(super) mod unroll_and_jam;
pub(super) mod unroll_twice;
pub(super) mod vectorize;
