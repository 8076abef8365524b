//! Why equivalent programs may take more than a few times as much as each other.

use super::comparison::{Cliff, Pair};

/// A reason, as narrow as it can be.
#[derive(Debug)]
pub struct Reason {
    /// One sentence.
    pub why: &'static str,
    /// Whether it is why this pair differs.
    holds: fn(&Pair, Cliff) -> bool,
}

/// All reasons.
pub const REASONS: &[Reason] = &[];

/// Why a pair differs, if that has a reason.
pub fn reason(pair: &Pair, cliff: Cliff) -> Option<&'static Reason> {
    REASONS.iter().find(|reason| (reason.holds)(pair, cliff))
}
