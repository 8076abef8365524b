//! How calls end: `fail integer_overflow`.

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(i64)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// An array could not be allocated.
    OutOfMemory = 1,
    /// An integer does not fit the data type of the result.
    IntegerOverflow = 2,
    /// A position does not fit the index width of the result.
    PositionOverflow = 3,
    /// A level can hold one coordinate per parent, and the result has none or several.
    CannotHold = 4,
    /// Operands disagree on a dimension, or a dimension is too large to store, or breaks a promise of the schedule;
    /// from functions that find dimensions themselves.
    Dimensions = 5,
}

impl Status {
    /// Every status.
    pub const ALL: [Status; 6] = [
        Status::Ok,
        Status::OutOfMemory,
        Status::IntegerOverflow,
        Status::PositionOverflow,
        Status::CannotHold,
        Status::Dimensions,
    ];
    /// The name in printed text.
    pub fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::OutOfMemory => "out_of_memory",
            Status::IntegerOverflow => "integer_overflow",
            Status::PositionOverflow => "position_overflow",
            Status::CannotHold => "cannot_hold",
            Status::Dimensions => "dimensions",
        }
    }
}
