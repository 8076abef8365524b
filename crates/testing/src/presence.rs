//! Which values of the dense reference are implicit, since an implicit 0 annihilates.
//!
//! ```text
//! A(i) / d(i)           A(i) implicit      0, and implicit
//! (A(i) + B(i)) / d(i)  A(i) stored        computed, and stored
//! sum(i, A(i)) / d      A without entries  0, or 0 / d as the loops have it
//! ```

use crate::number::Number;
use tamis::Strictness;
use tamis_ir::algebra::{BinaryOp, ZeroRule};
use tamis_ir::datatype::Scalar;

/// Whether a value follows from fill values and constants alone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Presence {
    /// It does.
    #[default]
    Implicit,
    /// Formats and loops decide: padding, sums without a stored term, and what earlier statements wrote.
    Either,
    /// It does not.
    Stored,
    /// What the value is follows from what formats and loops decide.
    Undefined,
}

/// A value and whether it is implicit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Value {
    /// The number.
    pub number: Number,
    /// Whether it is implicit.
    pub presence: Presence,
}

impl Value {
    /// A constant.
    pub fn constant(number: Number) -> Value {
        Value { number, presence: Presence::Implicit }
    }

    /// A value that is stored.
    pub fn stored(number: Number) -> Value {
        Value { number, presence: Presence::Stored }
    }

    fn is_zero(self, presence: Presence) -> bool {
        self.presence == presence && !self.number.is_true()
    }
}

/// An operator applied to two values: `computed` to their numbers, unless a zero decides.
pub fn binary(
    op: BinaryOp,
    [a, b]: [Value; 2],
    strictness: Strictness,
    computed: impl Fn(Number, Number) -> Number,
) -> Value {
    let sparse = strictness == Strictness::Sparse;
    let (first, second) = match op.zero_rule() {
        ZeroRule::Either => (true, true),
        ZeroRule::First => (sparse, false),
        ZeroRule::Neither => (false, false),
    };
    let decides = |presence| {
        let zero = |value: Value, decides| (decides && value.is_zero(presence)).then_some(value);
        zero(a, first).or(zero(b, second))
    };
    if let Some(zero) = decides(Presence::Implicit) {
        return zero;
    }
    let both = a.presence.max(b.presence);
    let number = computed(a.number, b.number);
    // An infinity that is not stored may decide beside what is no number, but for another constant.
    let constant = |value: Value| match value.number {
        Number { re, im: 0.0 } => Scalar::F64(re),
        number => number.scalar(),
    };
    let left = |value: Value| op.annihilated_left(constant(value));
    let right = |value: Value| op.annihilated_right(constant(value));
    let by_infinity = |value: Value, by: Option<Scalar>| {
        let may = value.presence < Presence::Stored && !value.number.is_finite();
        by.filter(|_| may && both > Presence::Implicit).map(|c| Number::of(c).is_same(number))
    };
    let infinite = [by_infinity(a, left(a)), by_infinity(b, right(b))];
    let presence = match decides(Presence::Either) {
        _ if both == Presence::Undefined || infinite.contains(&Some(false)) => Presence::Undefined,
        // What it decided may decide in turn.
        None if infinite.contains(&Some(true)) => Presence::Either,
        Some(_) if !number.is_true() => Presence::Either,
        Some(_) => Presence::Undefined,
        None => both,
    };
    Value { number, presence }
}

/// The presence of what is reduced from terms: without a stored one formats and loops decide. Where
/// infinite terms are `products`, the order of the factors decides.
pub fn reduced(terms: Presence, products: bool, number: Number) -> Presence {
    match terms {
        _ if products && !number.is_finite() => Presence::Undefined,
        Presence::Implicit => Presence::Either,
        terms => terms,
    }
}
