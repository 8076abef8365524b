//! Expressions as Rust, in parentheses unless they are atoms. A vector is an array, computed lane by lane.

use super::{RustWriter, scalar_type};
use crate::algebra::{BinaryOp, UnaryOp};
use crate::datatype::{DataType, Register, Scalar};
use crate::ir::Expr;

/// A value of a register type as it is stored in an array.
pub(super) fn stored(elem: DataType, from: Register, value: &str) -> String {
    match elem {
        _ if elem.is_half() && from == Register::F64 => {
            stored(elem, Register::F32, &format!("round_to_odd({value})"))
        }
        DataType::F16 => format!("round_f16({value})"),
        DataType::Bf16 => format!("round_bf16({value})"),
        elem if elem.register().datatype() == elem && elem != DataType::Bool => value.to_owned(),
        elem => format!("({value}) as {}", super::element_type(elem)),
    }
}

impl RustWriter<'_> {
    /// An expression, as an operand.
    pub(super) fn expr(&self, e: &Expr) -> String {
        match self.function.type_of(e).lanes {
            1 => self.lane(e, ""),
            lanes => {
                let ty = scalar_type(self.function.type_of(e).register);
                format!("std::array::from_fn::<{ty}, {lanes}, _>(|k| {})", self.lane(e, "k"))
            }
        }
    }

    /// An expression that is not an operand.
    pub(super) fn bare(&self, e: &Expr) -> String {
        let text = self.expr(e);
        match text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
            Some(inner) if is_balanced(inner) => inner.to_owned(),
            _ => text,
        }
    }

    /// An index, with a lane added.
    pub(super) fn index(&self, e: &Expr, lane: &str) -> String {
        let index = match e {
            Expr::Const(Scalar::I64(at @ 0..)) if lane.is_empty() => return at.to_string(),
            e => self.lane(e, ""),
        };
        match lane {
            "" => format!("{index} as usize"),
            lane => format!("{index} as usize + {lane}"),
        }
    }

    /// A scalar, or the lane of a vector that `lane` counts.
    fn lane(&self, e: &Expr, lane: &str) -> String {
        match e {
            Expr::Const(c) => constant(*c),
            Expr::Var(v) if self.function.vars[*v].ty.lanes == 1 => self.var(*v).to_owned(),
            Expr::Var(v) => format!("{}[{lane}]", self.var(*v)),
            Expr::Load { array, index, lanes } => {
                let lane = if *lanes == 1 { "" } else { lane };
                self.loaded(*array, &self.index(index, lane))
            }
            Expr::Unary(op, a) => {
                unary(*op, self.function.type_of(a).register, &self.lane(a, lane))
            }
            Expr::Binary(op, a, b) => {
                let register = self.function.type_of(a).register;
                binary(*op, register, &self.lane(a, lane), &self.second(b, lane))
            }
            Expr::BitAnd(a, b) => format!("({} & {})", self.lane(a, lane), self.lane(b, lane)),
            Expr::AndThen(a, b) => format!("({} && {})", self.lane(a, lane), self.lane(b, lane)),
            Expr::Select(c, a, b) => {
                let args = [c, a, b].map(|e| self.lane(e, lane));
                format!("select({})", args.join(", "))
            }
            Expr::Fma(a, b, c) => {
                let [a, b, c] = [a, b, c].map(|e| self.lane(e, lane));
                format!("{a}.mul_add({b}, {c})")
            }
            Expr::Convert(to, a) => {
                convert(self.function.type_of(a).register, *to, &self.lane(a, lane))
            }
            Expr::Splat(a, _) => self.lane(a, ""),
            Expr::Lanes(all) => {
                let all: Vec<String> = all.iter().map(|e| self.lane(e, "")).collect();
                format!("[{}][{lane}]", all.join(", "))
            }
            Expr::Reduce(op, a) => self.reduced(*op, a),
            Expr::Len(array) => format!("({}.len() as i64)", self.array(*array)),
        }
    }

    /// A second operand, whose type is inferred from the first.
    fn second(&self, e: &Expr, lane: &str) -> String {
        match e {
            Expr::Const(Scalar::I64(x @ 0..)) => x.to_string(),
            Expr::Const(Scalar::U64(x)) => x.to_string(),
            Expr::Const(Scalar::F64(x)) if x.is_finite() && x.is_sign_positive() => {
                format!("{x:?}")
            }
            e => self.lane(e, lane),
        }
    }

    fn loaded(&self, array: crate::ids::Array, at: &str) -> String {
        let elem = self.function.arrays[array].elem;
        let text = format!("{}[{at}]", self.array(array));
        match elem {
            DataType::F16 => format!("widen_f16({text})"),
            DataType::Bf16 => format!("widen_bf16({text})"),
            elem if elem.register().datatype() == elem => text,
            elem => match elem.register() {
                Register::Bool => format!("({text} as i64)"),
                register => format!("({text} as {})", scalar_type(register)),
            },
        }
    }

    /// The reduced lanes, halves first.
    fn reduced(&self, op: BinaryOp, a: &Expr) -> String {
        let ty = self.function.type_of(a);
        let vector = self.expr(a);
        match ty.register {
            Register::Bool => format!("{vector}.iter().any(|&x| x)"),
            register if op == BinaryOp::Add && register.is_float() => {
                format!("halved({vector}, |x, y| x + y)")
            }
            register if op == BinaryOp::Add => {
                format!("halved({vector}, {}::wrapping_add)", register.name())
            }
            register => format!("halved({vector}, {}_{})", op.name(), register.name()),
        }
    }
}

fn is_balanced(text: &str) -> bool {
    let mut depth = 0;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return false;
        }
    }
    depth == 0
}

/// A constant; negative ones are in parentheses, since methods bind tighter than signs.
fn constant(c: Scalar) -> String {
    let text = match c {
        Scalar::Bool(b) => return b.to_string(),
        Scalar::I64(i64::MIN) => return "i64::MIN".to_owned(),
        Scalar::I64(x) => format!("{x}i64"),
        Scalar::U64(x) => format!("{x}u64"),
        Scalar::F32(x) => special(f64::from(x), "f32").unwrap_or_else(|| format!("{x:?}f32")),
        Scalar::F64(x) => special(x, "f64").unwrap_or_else(|| format!("{x:?}f64")),
        Scalar::C64(_) | Scalar::C128(_) => unreachable!("the imperative form is real"),
    };
    if text.starts_with('-') { format!("({text})") } else { text }
}

/// A constant without digits: infinity or NaN.
fn special(x: f64, ty: &str) -> Option<String> {
    match x {
        x if x.is_nan() => Some(format!("{ty}::NAN")),
        f64::INFINITY => Some(format!("{ty}::INFINITY")),
        f64::NEG_INFINITY => Some(format!("{ty}::NEG_INFINITY")),
        _ => None,
    }
}

fn convert(from: Register, to: Register, a: &str) -> String {
    match (from, to) {
        (from, to) if from == to => a.to_owned(),
        (Register::F32 | Register::F64, Register::Bool) => format!("({a} != 0.0)"),
        (_, Register::Bool) => format!("({a} != 0)"),
        (Register::Bool, Register::F32 | Register::F64) => {
            format!("({a} as u8 as {})", scalar_type(to))
        }
        (_, to) => format!("({a} as {})", scalar_type(to)),
    }
}

/// A value of a register type: 1 if the condition holds, otherwise 0.
fn truth(register: Register, condition: &str) -> String {
    convert(Register::Bool, register, &format!("({condition})"))
}

fn unary(op: UnaryOp, register: Register, a: &str) -> String {
    let float = register.is_float();
    let int = register.is_integer();
    match op {
        UnaryOp::Not if register == Register::Bool => format!("(!{a})"),
        _ if register == Register::Bool => a.to_owned(),
        UnaryOp::Not => truth(register, &format!("{a} == {}", super::nothing(register))),
        UnaryOp::Neg if float => format!("(-{a})"),
        UnaryOp::Neg => format!("{a}.wrapping_neg()"),
        UnaryOp::Abs if register == Register::U64 => a.to_owned(),
        UnaryOp::Abs if int => format!("{a}.wrapping_abs()"),
        UnaryOp::Square | UnaryOp::Cube => {
            format!("{}_{}({a})", op.name(), register.name())
        }
        op if int => {
            let wide = unary(op, Register::F64, &format!("({a} as f64)"));
            format!("({wide} as {})", scalar_type(register))
        }
        UnaryOp::Cbrt | UnaryOp::Exp | UnaryOp::Log => {
            format!("{}_{}({a})", op.name(), register.name())
        }
        UnaryOp::Asinh | UnaryOp::Acosh | UnaryOp::Atanh => {
            format!("{}_{}({a})", op.name(), register.name())
        }
        op => format!("{a}.{}()", op.name()),
    }
}

fn binary(op: BinaryOp, register: Register, a: &str, b: &str) -> String {
    use BinaryOp::{Add, And, Atan2, Div, Heaviside, Max, Min, Mod, Mul, Or, Pow, Sub, Xor};
    let float = register.is_float();
    if matches!(op, And | Or | Xor) || register == Register::Bool && !is_comparison(op) {
        let sign = match op {
            And | Mul | Min => "&",
            Xor | Sub => "^",
            _ => "|",
        };
        let bool = |x: &str| convert(register, Register::Bool, x);
        return format!("({} {sign} {})", bool(a), bool(b));
    }
    match op {
        Add | Sub | Mul | Div if float => {
            let sign = match op {
                Add => "+",
                Sub => "-",
                Mul => "*",
                _ => "/",
            };
            format!("({a} {sign} {b})")
        }
        Add => format!("{a}.wrapping_add({b})"),
        Sub => format!("{a}.wrapping_sub({b})"),
        Mul => format!("{a}.wrapping_mul({b})"),
        Min | Max if !float => format!("{a}.{}({b})", op.name()),
        Min | Max | Mod | Heaviside => format!("{}_{}({a}, {b})", op.name(), register.name()),
        Div => format!("div_{}({a}, {b})", register.name()),
        Pow | Atan2 if !float => {
            let wide =
                binary(op, Register::F64, &format!("({a} as f64)"), &format!("({b} as f64)"));
            format!("({wide} as {})", scalar_type(register))
        }
        Pow => format!("{a}.powf({b})"),
        Atan2 => format!("{a}.atan2({b})"),
        BinaryOp::User(_) => unreachable!("operators of the user are inlined before"),
        comparison => format!("({a} {} {b})", comparison.name()),
    }
}

fn is_comparison(op: BinaryOp) -> bool {
    use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
    matches!(op, Eq | Ne | Lt | Le | Gt | Ge)
}
