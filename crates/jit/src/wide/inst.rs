//! Instructions on values, of which there are as many as it takes: what lowering gives, and what
//! registers are then found for.
//!
//! ```text
//! for p in lo..hi { t = fma(splat(A[p], 8), X[p; 8], t) }
//!
//!     move p, lo; branch p >= hi, 1
//! 0:  splat v, [A + p * 8]; fma t, v, [X + p * 8]
//!     add p, p, 1; branch p < hi, 0
//! 1:
//! ```

use std::fmt;
use tamis_ir::datatype::DataType;
use tamis_ir::ids::Array;
use tamis_ir::ir::Status;

/// What an instruction reads or writes: an integer, an address, a float or a vector.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Value(pub(super) u32);

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

impl Value {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A position in the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Label(pub(super) u32);

/// An address in memory: a base, a multiple of a value by a power of two, and bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mem {
    pub(super) base: Value,
    /// The value, and the exponent.
    pub(super) index: Option<(Value, u8)>,
    pub(super) offset: i32,
}

/// The second operand of an integer operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Whole {
    Value(Value),
    Const(i32),
}

/// The last operand of a float operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Float {
    Value(Value),
    Mem(Mem),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WholeOp {
    Add,
    Sub,
    Mul,
    And,
    /// Toward zero, by a value that is neither 0 nor -1.
    Div,
    /// Shifts by a constant; to the right with the sign.
    Left,
    Right,
    /// The operand that the condition chooses when compared with the other.
    Choose(Condition),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FloatOp {
    Add,
    Sub,
    Mul,
    Div,
    Min,
    Max,
    /// On bits.
    And,
    Xor,
}

/// How two integers compare; the last four without sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Condition {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Below,
    BelowOrEqual,
    Above,
    AboveOrEqual,
}

impl Condition {
    /// The same for the operands in the other order.
    pub(super) fn swapped(self) -> Condition {
        use Condition::*;
        match self {
            Equal | NotEqual => self,
            Less => Greater,
            LessOrEqual => GreaterOrEqual,
            Greater => Less,
            GreaterOrEqual => LessOrEqual,
            Below => Above,
            BelowOrEqual => AboveOrEqual,
            Above => Below,
            AboveOrEqual => BelowOrEqual,
        }
    }

    pub(super) fn negated(self) -> Condition {
        use Condition::*;
        match self {
            Equal => NotEqual,
            NotEqual => Equal,
            Less => GreaterOrEqual,
            LessOrEqual => Greater,
            Greater => LessOrEqual,
            GreaterOrEqual => Less,
            Below => AboveOrEqual,
            BelowOrEqual => Above,
            Above => BelowOrEqual,
            AboveOrEqual => Below,
        }
    }
}

/// How two floats compare, or that they do not: then one of them is NaN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FloatCondition {
    pub(super) holds: FloatOrder,
    pub(super) negated: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FloatOrder {
    Equal,
    /// The first operand is the greater one.
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Inst {
    Nothing,
    Label(Label),
    Jump(Label),
    /// Jumps if the integers compare so.
    Branch {
        if_: Condition,
        a: Value,
        b: Whole,
        to: Label,
    },
    /// Jumps if the floats compare so.
    FloatBranch {
        if_: FloatCondition,
        a: Value,
        b: Value,
        to: Label,
    },
    /// Raises an integer, and jumps if it is still less than the end.
    Next {
        i: Value,
        by: i32,
        end: Whole,
        to: Label,
    },
    /// Makes an array at least so long. Its address and its length stand one after the other at an
    /// offset from the address of the slots.
    Reserve {
        array: Grown,
        len: Value,
    },
    /// Ends the code with a status.
    Fail(Status),
    Const {
        to: Value,
        value: i64,
    },
    Move {
        to: Value,
        from: Value,
    },
    Whole {
        op: WholeOp,
        to: Value,
        a: Value,
        b: Whole,
    },
    /// An effective address.
    Address {
        to: Value,
        mem: Mem,
    },
    Load {
        to: Value,
        mem: Mem,
        elem: DataType,
    },
    Store {
        from: Value,
        mem: Mem,
        elem: DataType,
    },
    Prefetch {
        mem: Mem,
        /// Into the second level of cache only.
        far: bool,
    },
    /// Bits of an integer, as a float in each lane.
    Bits {
        to: Value,
        from: Value,
    },
    Zero {
        to: Value,
    },
    FloatLoad {
        to: Value,
        mem: Mem,
    },
    FloatStore {
        from: Value,
        mem: Mem,
        /// Non-temporal, if it is a whole line.
        streamed: bool,
    },
    /// A scalar in each lane.
    Splat {
        to: Value,
        from: Float,
    },
    Float {
        op: FloatOp,
        to: Value,
        a: Value,
        b: Float,
    },
    /// `to = a * b + to`, rounded once.
    Fma {
        to: Value,
        a: Value,
        b: Float,
    },
    Sqrt {
        to: Value,
        from: Value,
    },
    /// Two doubles from memory.
    Pair {
        to: Value,
        low: Mem,
        high: Mem,
    },
    /// The lanes of two vectors.
    Join {
        to: Value,
        low: Value,
        high: Value,
    },
    /// The scalar `yes` if the integers compare so, else `no`.
    Choice {
        to: Value,
        if_: Condition,
        a: Value,
        b: Whole,
        yes: Value,
        no: Value,
    },
    /// The lanes of the upper half.
    Half {
        to: Value,
        from: Value,
    },
    /// A float of one precision as one of the other.
    Precision {
        to: Value,
        from: Float,
    },
    /// An integer as a float.
    FromWhole {
        to: Value,
        from: Value,
    },
}

/// An array that may grow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grown {
    pub(super) array: Array,
    pub(super) base: Value,
    pub(super) len: Value,
    pub(super) slots: Value,
    pub(super) size: usize,
}

/// What an instruction does to a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Use {
    Reads,
    Writes,
}

impl Inst {
    /// Calls `f` on each value: first those read, then those written.
    pub(super) fn values(&self, f: &mut impl FnMut(Value, Use)) {
        use Inst::*;
        self.read(&mut |v| f(v, Use::Reads));
        match *self {
            Const { to, .. }
            | Move { to, .. }
            | Whole { to, .. }
            | Address { to, .. }
            | Load { to, .. }
            | Bits { to, .. }
            | Zero { to }
            | FloatLoad { to, .. }
            | Splat { to, .. }
            | Float { to, .. }
            | Fma { to, .. }
            | Sqrt { to, .. }
            | Pair { to, .. }
            | Join { to, .. }
            | Choice { to, .. }
            | Half { to, .. }
            | Precision { to, .. }
            | FromWhole { to, .. }
            | Next { i: to, .. } => f(to, Use::Writes),
            Reserve { array, .. } => {
                f(array.base, Use::Writes);
                f(array.len, Use::Writes);
            }
            Nothing
            | Label(_)
            | Jump(_)
            | Fail(_)
            | Branch { .. }
            | FloatBranch { .. }
            | Store { .. }
            | Prefetch { .. }
            | FloatStore { .. } => {}
        }
    }

    fn read(&self, f: &mut impl FnMut(Value)) {
        use Inst::*;
        match *self {
            Nothing | Label(_) | Jump(_) | Fail(_) | Const { .. } | Zero { .. } => {}
            Next { i, end, .. } => {
                f(i);
                end.read(f);
            }
            Reserve { array, len } => {
                [array.base, array.len, array.slots, len].into_iter().for_each(f);
            }
            Branch { a, b, .. } | Whole { a, b, .. } => {
                f(a);
                b.read(f);
            }
            FloatBranch { a, b, .. } => {
                f(a);
                f(b);
            }
            Move { from, .. }
            | Bits { from, .. }
            | Sqrt { from, .. }
            | Half { from, .. }
            | FromWhole { from, .. } => f(from),
            Address { mem, .. }
            | Load { mem, .. }
            | FloatLoad { mem, .. }
            | Prefetch { mem, .. } => {
                mem.read(f);
            }
            Store { from, mem, .. } | FloatStore { from, mem, .. } => {
                f(from);
                mem.read(f);
            }
            Splat { from, .. } | Precision { from, .. } => from.read(f),
            Float { a, b, .. } => {
                f(a);
                b.read(f);
            }
            Fma { to, a, b } => {
                f(to);
                f(a);
                b.read(f);
            }
            Pair { low, high, .. } => {
                low.read(f);
                high.read(f);
            }
            Join { low, high, .. } => {
                f(low);
                f(high);
            }
            Choice { a, b, yes, no, .. } => {
                f(a);
                b.read(f);
                f(yes);
                f(no);
            }
        }
    }

    /// Where the code may go on other than at the next instruction.
    pub(super) fn target(&self) -> Option<Label> {
        match *self {
            Inst::Jump(to)
            | Inst::Branch { to, .. }
            | Inst::FloatBranch { to, .. }
            | Inst::Next { to, .. } => Some(to),
            _ => None,
        }
    }
}

/// Code without what nobody reads.
pub(super) fn without_dead(code: &[Inst], count: usize, outputs: &[Value]) -> Vec<Inst> {
    let mut code = code.to_vec();
    let mut reads = vec![0u32; count];
    outputs.iter().for_each(|v| reads[v.index()] += 1);
    code.iter().for_each(|inst| inst.read(&mut |v| reads[v.index()] += 1));
    for at in (0..code.len()).rev() {
        let inst = code[at];
        let mut written = None;
        inst.values(&mut |v, how| {
            if how == Use::Writes {
                written = Some(v);
            }
        });
        if matches!(inst, Inst::Reserve { .. } | Inst::Next { .. }) {
            continue;
        }
        if written.is_some_and(|v| reads[v.index()] == 0) {
            inst.read(&mut |v| reads[v.index()] -= 1);
            code[at] = Inst::Nothing;
        }
    }
    code.retain(|inst| !matches!(inst, Inst::Nothing));
    code
}

impl Mem {
    fn read(&self, f: &mut impl FnMut(Value)) {
        f(self.base);
        self.index.into_iter().for_each(|(index, _)| f(index));
    }
}

impl Whole {
    fn read(&self, f: &mut impl FnMut(Value)) {
        if let Whole::Value(v) = *self {
            f(v);
        }
    }
}

impl Float {
    fn read(&self, f: &mut impl FnMut(Value)) {
        match self {
            Float::Value(v) => f(*v),
            Float::Mem(mem) => mem.read(f),
        }
    }
}
