//! Expressions as C.

use super::types::{narrow, suffix, type_name};
use super::{names, typed};
use crate::algebra::{BinaryOp, UnaryOp, eval};
use crate::datatype::{DataType, Register, Scalar};
use crate::ids::{Array, Var};
use crate::ir::{Expr, Function, Type};

/// The precedence of C's operators; higher binds tighter. Operands of logical operators are always atoms, and
/// comparisons are between sums, as compilers demand.
const BITS: u8 = 1;
const AND: u8 = 2;
const COMPARE: u8 = 3;
const SUM: u8 = 4;
const PRODUCT: u8 = 5;
const PREFIX: u8 = 6;
const ATOM: u8 = 7;

/// The expressions of a function.
pub(in crate::backend) struct Expressions<'f> {
    pub(in crate::backend) function: &'f Function,
    pub(in crate::backend) names: names::Locals,
    /// Whether the text is for a GPU, whose compiler lacks GCC's functions.
    pub(super) on_gpu: bool,
}

impl Expressions<'_> {
    pub(in crate::backend) fn var(&self, var: Var) -> &str {
        &self.names.var(var).name
    }

    pub(in crate::backend) fn array(&self, array: Array) -> &str {
        &self.names.array(array).name
    }

    /// An expression as text.
    pub(in crate::backend) fn expr(&self, e: &Expr) -> String {
        self.written(e).0
    }

    fn operand(&self, e: &Expr, binding: u8) -> String {
        let (text, own) = self.written(e);
        if own < binding { format!("({text})") } else { text }
    }

    /// An operand of 64-bit arithmetic: elements that are narrower in C are widened.
    fn wide(&self, e: &Expr, binding: u8) -> String {
        match self.bare(e) {
            Expr::Load { array, lanes: 1, .. } if self.is_narrow_integer(*array) => {
                format!("(int64_t){}", self.operand(e, PREFIX))
            }
            _ => self.operand(e, binding),
        }
    }

    /// The reduced lanes; eight bytes are added as one word.
    fn reduced(&self, op: BinaryOp, a: &Expr) -> (String, u8) {
        match a {
            Expr::Load { array, index, lanes: 8 }
                if self.function.arrays[*array].elem == DataType::Bool =>
            {
                let (name, at) = (self.array(*array), self.expr(index));
                (format!("tamis_count_of_eight(&{name}[{at}])"), ATOM)
            }
            a if op == BinaryOp::Add => self.call("tamis_sum", &[a], self.function.type_of(a)),
            a => {
                let name = format!("tamis_{}_of_lanes", op.name());
                self.call(&name, &[a], self.function.type_of(a))
            }
        }
    }

    fn is_narrow_integer(&self, array: Array) -> bool {
        let elem = self.function.arrays[array].elem;
        !elem.is_float() && narrow(elem, 1).is_some()
    }

    /// The value of integer arithmetic on constants, which C would compute in 32 bits.
    fn folded(&self, e: &Expr) -> Option<Scalar> {
        use BinaryOp::{Add, Mul, Sub};
        match self.bare(e) {
            Expr::Const(c @ (Scalar::I64(_) | Scalar::U64(_))) => Some(*c),
            Expr::Unary(UnaryOp::Neg, a) => Some(eval::unary(UnaryOp::Neg, self.folded(a)?)),
            Expr::Binary(op @ (Add | Sub | Mul), a, b) => {
                Some(eval::binary(*op, self.folded(a)?, self.folded(b)?))
            }
            _ => None,
        }
    }

    /// An expression without conversions to its own type.
    fn bare<'e>(&self, e: &'e Expr) -> &'e Expr {
        match e {
            Expr::Convert(to, a) if self.function.type_of(a).register == *to => self.bare(a),
            _ => e,
        }
    }

    fn selection(&self, c: &Expr, a: &Expr, b: &Expr) -> (String, u8) {
        let (by, ty) = (self.function.type_of(c), self.function.type_of(a));
        // Compilers select between two integers in registers without a branch; around loads they branch.
        let branches = ty.register.is_float() || loads(a) || loads(b);
        let is_masked = ty.lanes == 1 && ty.register != Register::Bool && branches;
        let name = match by.lanes {
            1 if is_masked && !self.on_gpu => "tamis_choose",
            1 => "tamis_select",
            _ => "tamis_blend",
        };
        self.call(name, &[c, a, b], ty)
    }

    fn loaded(&self, array: Array, index: &Expr, lanes: u16) -> (String, u8) {
        let (name, at) = (self.array(array), self.expr(index));
        let elem = self.function.arrays[array].elem;
        if lanes == 1 && elem.is_half() {
            return (format!("tamis_widen_{elem}({name}[{at}])"), ATOM);
        }
        if lanes == 1 {
            return (format!("{name}[{at}]"), ATOM);
        }
        if let Some(lanes) = narrow(elem, lanes) {
            return (format!("tamis_load_{lanes}(&{name}[{at}])"), ATOM);
        }
        let vector = type_name(Type { register: elem.register(), lanes });
        (format!("*(const {vector}_at *)&{name}[{at}]"), PREFIX)
    }

    fn written(&self, e: &Expr) -> (String, u8) {
        if let Some(c) = self.folded(e) {
            return self.constant(c);
        }
        match self.bare(e) {
            Expr::Const(c) => self.constant(*c),
            Expr::Var(v) => (self.var(*v).to_owned(), ATOM),
            Expr::Load { array, index, lanes } => self.loaded(*array, index, *lanes),
            Expr::Unary(op, a) => self.unary(*op, a),
            e if let Some(a) = self.function.halved(e) => {
                (format!("({} >> 32)", self.wide(a, ATOM)), ATOM)
            }
            e if let Some([a, b]) = self.function.leaving(e) => {
                (format!("tamis_leaves({}, {})", self.expr(a), self.expr(b)), ATOM)
            }
            Expr::Binary(op, a, b) => self.binary(*op, a, b),
            Expr::BitAnd(a, b) => {
                (format!("({} & {})", self.wide(a, ATOM), self.wide(b, ATOM)), ATOM)
            }
            Expr::AndThen(a, b) => {
                (format!("{} && {}", self.operand(a, AND), self.operand(b, AND + 1)), AND)
            }
            Expr::Select(c, a, b) => self.selection(c, a, b),
            Expr::Fma(a, b, c) => {
                let ty = self.function.type_of(a);
                let args = format!("({}, {}, {})", self.expr(a), self.expr(b), self.expr(c));
                let library = self.library();
                match (ty.lanes, ty.register) {
                    (1, Register::F32) => (format!("{library}fmaf{args}"), ATOM),
                    (1, _) => (format!("{library}fma{args}"), ATOM),
                    _ => (format!("tamis_fma_{}{args}", suffix(ty)), ATOM),
                }
            }
            Expr::Convert(to, a) => self.convert(*to, a),
            Expr::Splat(a, lanes) => {
                let ty = Type { lanes: *lanes, ..self.function.type_of(a) };
                let lane = match ty.register {
                    Register::Bool => format!("-(int64_t){}", self.operand(a, PREFIX)),
                    _ => self.wide(a, SUM),
                };
                (format!("{lane} - ({}){{0}}", type_name(ty)), SUM)
            }
            Expr::Lanes(all) => self.lanes(all, self.function.type_of(e)),
            Expr::Reduce(op, a) => self.reduced(*op, a),
            Expr::Len(array) => (self.names.array(*array).len.clone(), ATOM),
        }
    }

    pub(in crate::backend) fn constant(&self, c: Scalar) -> (String, u8) {
        constant(c, self.library())
    }

    /// The prefix of functions of the C library.
    fn library(&self) -> &'static str {
        if self.on_gpu { "" } else { "__builtin_" }
    }

    /// Scalars in the lanes of a vector.
    fn lanes(&self, all: &[Expr], ty: Type) -> (String, u8) {
        let lanes: Vec<String> = all.iter().map(|lane| self.expr(lane)).collect();
        (format!("({}){{{}}}", type_name(ty), lanes.join(", ")), ATOM)
    }

    /// A call of a helper of a type.
    fn call(&self, name: &str, args: &[&Expr], ty: Type) -> (String, u8) {
        let args: Vec<String> = args.iter().map(|a| self.expr(a)).collect();
        (format!("{name}_{}({})", suffix(ty), args.join(", ")), ATOM)
    }

    fn convert(&self, to: Register, a: &Expr) -> (String, u8) {
        let from = self.function.type_of(a);
        let to = Type { register: to, lanes: from.lanes };
        if from.lanes > 1 {
            return self.call(&format!("tamis_{}_of", suffix(to)), &[a], from);
        }
        match (from.register, to.register) {
            (Register::F32 | Register::F64, Register::I64 | Register::U64) => {
                (format!("tamis_{}_of({})", to.register.name(), self.expr(a)), ATOM)
            }
            (_, Register::Bool) => (format!("{} != 0", self.wide(a, SUM)), COMPARE),
            _ => (format!("({}){}", type_name(to), self.operand(a, PREFIX)), PREFIX),
        }
    }

    fn unary(&self, op: UnaryOp, a: &Expr) -> (String, u8) {
        let ty = self.function.type_of(a);
        match (op, ty.register) {
            (UnaryOp::Not, Register::Bool) if ty.lanes == 1 => {
                (format!("!{}", self.operand(a, PREFIX)), COMPARE)
            }
            (UnaryOp::Not, Register::Bool) => (format!("~{}", self.operand(a, PREFIX)), PREFIX),
            (_, Register::Bool) => self.written(a),
            (UnaryOp::Neg, _) => (format!("-{}", self.wide(a, ATOM)), PREFIX),
            _ => (typed::unary(op, ty, &self.expr(a)), ATOM),
        }
    }

    fn binary(&self, op: BinaryOp, a: &Expr, b: &Expr) -> (String, u8) {
        let ty = self.function.type_of(a);
        let float = ty.register.is_float();
        if let Some(sign) = comparison(op).filter(|_| ty.lanes == 1) {
            return (format!("{} {sign} {}", self.wide(a, SUM), self.wide(b, SUM)), COMPARE);
        }
        if op.is_logical() && comparison(op).is_none() || ty.register == Register::Bool {
            return self.logical(op, a, b);
        }
        match op {
            // For an x that is never negative, GCC 12 rewrites `0.0 - x`, `-x + 0.0` and similar as `-x`, which gives
            // -0.0 for 0.0. It does not know this of parameters.
            BinaryOp::Add | BinaryOp::Sub if self.is_zero(a) || self.is_zero(b) => {
                let name = if op == BinaryOp::Add { "tamis_add" } else { "tamis_sub" };
                self.call(name, &[a, b], ty)
            }
            BinaryOp::Add => self.arithmetic("+", SUM, a, b),
            BinaryOp::Sub => self.arithmetic("-", SUM, a, b),
            BinaryOp::Mul => self.arithmetic("*", PRODUCT, a, b),
            BinaryOp::Div if float => self.arithmetic("/", PRODUCT, a, b),
            BinaryOp::User(_) => unreachable!("operators of the user are inlined before"),
            op => (typed::binary(op, ty, &self.expr(a), &self.expr(b)), ATOM),
        }
    }

    fn arithmetic(&self, sign: &str, level: u8, a: &Expr, b: &Expr) -> (String, u8) {
        (format!("{} {sign} {}", self.wide(a, level), self.wide(b, level + 1)), level)
    }

    /// Whether an expression is the float 0 or -0.
    fn is_zero(&self, e: &Expr) -> bool {
        matches!(self.bare(e), Expr::Const(Scalar::F64(0.0) | Scalar::F32(0.0)))
    }

    /// An operator of truth values, as a sign that works for vectors as well.
    fn logical(&self, op: BinaryOp, a: &Expr, b: &Expr) -> (String, u8) {
        use BinaryOp::{And, Min, Mul, Sub, Xor};
        let ty = self.function.type_of(a);
        if comparison(op).is_some() {
            return (typed::binary(op, ty, &self.expr(a), &self.expr(b)), ATOM);
        }
        let truth = |e: &Expr| match ty.register {
            Register::Bool => self.operand(e, ATOM),
            _ => format!("({})", self.convert(Register::Bool, e).0),
        };
        let sign = match op {
            And | Mul | Min => "&",
            Xor | Sub => "^",
            _ => "|",
        };
        (format!("{} {sign} {}", truth(a), truth(b)), BITS)
    }
}

/// Whether an expression reads an array.
fn loads(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e, Expr::Load { .. }));
    found
}

fn comparison(op: BinaryOp) -> Option<&'static str> {
    use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
    matches!(op, Eq | Ne | Lt | Le | Gt | Ge).then(|| op.name())
}

/// A constant; `library` is the prefix of functions that the compiler has built in.
fn constant(c: Scalar, library: &str) -> (String, u8) {
    let text = match c {
        Scalar::Bool(b) => b.to_string(),
        Scalar::I64(i64::MIN) => "INT64_MIN".to_owned(),
        Scalar::I64(x) => x.to_string(),
        Scalar::U64(x) => format!("{x}u"),
        Scalar::F32(x) if x.is_finite() => format!("{x:?}f"),
        Scalar::F32(x) => special(f64::from(x), "f", library),
        Scalar::F64(x) if x.is_finite() => format!("{x:?}"),
        Scalar::F64(x) => special(x, "", library),
        Scalar::C64(_) | Scalar::C128(_) => unreachable!("the imperative form is real"),
    };
    let level = if text.starts_with('-') { PREFIX } else { ATOM };
    (text, level)
}

/// A constant without digits: infinity or NaN.
fn special(x: f64, end: &str, library: &str) -> String {
    let infinity = match library {
        "" => format!("tamis_inf{end}()"),
        library => format!("{library}inf{end}()"),
    };
    match x {
        _ if x.is_nan() => format!("{library}nan{end}(\"\")"),
        _ if x > 0.0 => infinity,
        _ => format!("-{infinity}"),
    }
}
