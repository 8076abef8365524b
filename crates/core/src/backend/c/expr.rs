//! Expressions as C.

use super::{Writer, index, lane_name, type_name};
use crate::algebra::{BinaryOp, UnaryOp};
use crate::datatype::{DataType, Register, Scalar};
use crate::ids::Id;
use crate::ir::{Expr, Type};

/// How tightly C's operators bind; higher is tighter.
const OR: u8 = 1;
const AND: u8 = 2;
const EQUALITY: u8 = 3;
const COMPARE: u8 = 4;
const SUM: u8 = 5;
const PRODUCT: u8 = 6;
const PREFIX: u8 = 7;
const ATOM: u8 = 8;

impl Writer<'_> {
    /// An expression as text.
    pub(super) fn expr(&self, e: &Expr) -> String {
        self.written(e).0
    }

    fn operand(&self, e: &Expr, binding: u8) -> String {
        let (text, own) = self.written(e);
        if own < binding { format!("({text})") } else { text }
    }

    /// An operand of 64-bit arithmetic: narrower elements are widened first.
    fn wide(&self, e: &Expr, binding: u8) -> String {
        match e {
            Expr::Load { array, lanes: 1, .. }
                if matches!(self.function.arrays[*array].elem, DataType::I32 | DataType::Bool) =>
            {
                format!("(int64_t){}", self.operand(e, PREFIX))
            }
            _ => self.operand(e, binding),
        }
    }

    fn written(&self, e: &Expr) -> (String, u8) {
        match e {
            Expr::Const(c) => constant(*c),
            Expr::Var(v) => (self.vars[v.index()].clone(), ATOM),
            Expr::Load { array, index: at, lanes } => {
                let name = &self.arrays[index(*array)];
                let at = self.expr(at);
                if *lanes == 1 {
                    return (format!("{name}[{at}]"), ATOM);
                }
                let vector = type_name(self.function.type_of(e));
                (format!("*(const {vector}_at *)&{name}[{at}]"), PREFIX)
            }
            Expr::Unary(op, a) => self.unary(*op, a),
            Expr::Binary(op, a, b) => self.binary(*op, a, b),
            Expr::AndThen(a, b) => {
                (format!("{} && {}", self.operand(a, AND), self.operand(b, AND + 1)), AND)
            }
            Expr::Select(c, a, b) => {
                let ty = self.function.type_of(a);
                let (c, a, b) = (self.expr(c), self.expr(a), self.expr(b));
                (format!("tamis_select_{}({c}, {a}, {b})", suffix(ty)), ATOM)
            }
            Expr::Fma(a, b, c) => {
                let ty = self.function.type_of(a);
                let (a, b, c) = (self.expr(a), self.expr(b), self.expr(c));
                let name = match (ty.lanes, ty.register) {
                    (1, Register::F32) => "__builtin_fmaf".to_owned(),
                    (1, _) => "__builtin_fma".to_owned(),
                    _ => format!("tamis_fma_{}", suffix(ty)),
                };
                (format!("{name}({a}, {b}, {c})"), ATOM)
            }
            Expr::Convert(to, a) => self.convert(*to, a),
            Expr::Splat(a, lanes) => {
                let ty = Type { lanes: *lanes, ..self.function.type_of(a) };
                (format!("{} - ({}){{0}}", self.operand(a, SUM), type_name(ty)), SUM)
            }
            Expr::Sum(a) => {
                let ty = self.function.type_of(a);
                (format!("tamis_sum_{}({})", suffix(ty), self.expr(a)), ATOM)
            }
            Expr::Len(array) => (format!("{}_len", self.arrays[index(*array)]), ATOM),
        }
    }

    fn convert(&self, to: Register, a: &Expr) -> (String, u8) {
        let from = self.function.type_of(a).register;
        match (from, to) {
            (f, t) if f == t => self.written(a),
            (Register::F32, Register::I64) | (Register::F64, Register::I64) => {
                (format!("tamis_i64_of({})", self.expr(a)), ATOM)
            }
            (_, Register::Bool) => (format!("{} != 0", self.wide(a, EQUALITY + 1)), EQUALITY),
            (_, to) => {
                let ty = type_name(Type::scalar(to));
                (format!("({ty}){}", self.operand(a, PREFIX)), PREFIX)
            }
        }
    }

    fn unary(&self, op: UnaryOp, a: &Expr) -> (String, u8) {
        let ty = self.function.type_of(a);
        match (op, ty.register) {
            (UnaryOp::Not, _) => (format!("!{}", self.operand(a, PREFIX)), PREFIX),
            (UnaryOp::Neg, _) => (format!("-{}", self.wide(a, ATOM)), PREFIX),
            (UnaryOp::Abs, Register::F64) if ty.lanes == 1 => call("fabs", &[self.expr(a)]),
            (UnaryOp::Abs, Register::F32) if ty.lanes == 1 => call("fabsf", &[self.expr(a)]),
            (UnaryOp::Abs | UnaryOp::Square | UnaryOp::Cube, _) => {
                call(&format!("tamis_{}_{}", op.name(), suffix(ty)), &[self.expr(a)])
            }
            (_, Register::F32) => call(&format!("{}f", op.name()), &[self.expr(a)]),
            _ => call(op.name(), &[self.expr(a)]),
        }
    }

    fn binary(&self, op: BinaryOp, a: &Expr, b: &Expr) -> (String, u8) {
        let ty = self.function.type_of(a);
        let float = matches!(ty.register, Register::F32 | Register::F64);
        let infix = |sign: &str, level: u8| {
            let (left, right) = (self.wide(a, level), self.wide(b, level + 1));
            (format!("{left} {sign} {right}"), level)
        };
        match op {
            BinaryOp::Add => infix("+", SUM),
            BinaryOp::Sub => infix("-", SUM),
            BinaryOp::Mul => infix("*", PRODUCT),
            BinaryOp::Div if float => infix("/", PRODUCT),
            BinaryOp::Lt => infix("<", COMPARE),
            BinaryOp::Le => infix("<=", COMPARE),
            BinaryOp::Gt => infix(">", COMPARE),
            BinaryOp::Ge => infix(">=", COMPARE),
            BinaryOp::Eq => infix("==", EQUALITY),
            BinaryOp::Ne => infix("!=", EQUALITY),
            BinaryOp::And if ty.register == Register::Bool => {
                (format!("{} & {}", self.operand(a, ATOM), self.operand(b, ATOM)), OR)
            }
            BinaryOp::Or if ty.register == Register::Bool => {
                (format!("{} | {}", self.operand(a, ATOM), self.operand(b, ATOM)), OR)
            }
            BinaryOp::Xor if ty.register == Register::Bool => {
                (format!("{} ^ {}", self.operand(a, ATOM), self.operand(b, ATOM)), OR)
            }
            BinaryOp::Pow | BinaryOp::Atan2 => {
                let f32 = if ty.register == Register::F32 { "f" } else { "" };
                call(&format!("{}{f32}", op.name()), &[self.expr(a), self.expr(b)])
            }
            op => {
                let name = match op {
                    BinaryOp::Div => "div",
                    op => op.name(),
                };
                let name = format!("tamis_{name}_{}", suffix(ty));
                call(&name, &[self.expr(a), self.expr(b)])
            }
        }
    }
}

fn call(name: &str, args: &[String]) -> (String, u8) {
    (format!("{name}({})", args.join(", ")), ATOM)
}

/// The end of a helper's name: `f64`, `f64x8`.
fn suffix(ty: Type) -> String {
    match ty.lanes {
        1 => lane_name(ty.register).to_owned(),
        lanes => format!("{}x{lanes}", lane_name(ty.register)),
    }
}

fn constant(c: Scalar) -> (String, u8) {
    let signed = |text: String| {
        let level = if text.starts_with('-') { PREFIX } else { ATOM };
        (text, level)
    };
    match c {
        Scalar::Bool(b) => (b.to_string(), ATOM),
        Scalar::I64(i64::MIN) => ("(-9223372036854775807 - 1)".to_owned(), ATOM),
        Scalar::I64(x) => signed(x.to_string()),
        Scalar::F32(x) => {
            let (text, level) = float(f64::from(x), format!("{x:?}"));
            if x.is_finite() {
                (format!("{text}f"), level)
            } else {
                (format!("(float){text}"), PREFIX)
            }
        }
        Scalar::F64(x) => float(x, format!("{x:?}")),
    }
}

fn float(x: f64, text: String) -> (String, u8) {
    match x {
        _ if x.is_nan() => ("NAN".to_owned(), ATOM),
        f64::INFINITY => ("INFINITY".to_owned(), ATOM),
        f64::NEG_INFINITY => ("-INFINITY".to_owned(), PREFIX),
        _ if x.is_sign_negative() => (text, PREFIX),
        _ => (text, ATOM),
    }
}
