//! Cliffs: equivalent programs of which one takes far more steps or memory.
//!
//! ```text
//! random program -- transformation --> another
//!      | interpret                        | interpret
//!    counts        -- comparison --     counts          at most 4 times as many, or a reason
//! ```
//!
//! Everything is counted, so that a seed tells everywhere the same.

mod algebraic;
pub mod comparison;
pub mod growth;
pub mod reasons;
pub mod shrink;
mod sites;
mod stored;
pub mod transformation;
