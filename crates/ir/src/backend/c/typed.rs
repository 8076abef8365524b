//! Operators without a sign in C: calls, and helpers for each type.
//!
//! ```text
//! tamis_min_f64      x where x < y or x is NaN, otherwise y, by a mask
//! tamis_min_f64x8    the same in every lane
//! tamis_sin_f64x8    sin of each lane
//! ```

use super::elementary;
use super::types::{element, parse, scalar as c_type, suffix, type_name};
use crate::algebra::{BinaryOp, UnaryOp};
use crate::datatype::{DataType, Register};
use crate::ir::Type;
use std::fmt::Display;

/// A function of one operand, other than the negative and functions of truth values.
pub(in crate::backend) fn unary(op: UnaryOp, ty: Type, x: &str) -> String {
    let name = op.name();
    match (op, ty.lanes, ty.register) {
        (UnaryOp::Abs, 1, Register::F64 | Register::F32) => math("fabs", ty, &[x]),
        (_, 1, Register::F64 | Register::F32) if is_library(op) => math(name, ty, &[x]),
        (_, 1, to @ (Register::I64 | Register::U64)) if op.needs_float() => {
            let double = Type::scalar(Register::F64);
            format!("tamis_{}_of({})", to.name(), unary(op, double, x))
        }
        _ => format!("tamis_{name}_{}({x})", suffix(ty)),
    }
}

/// Whether a function is from the library; the others are defined by the semantics of the imperative form.
fn is_library(op: UnaryOp) -> bool {
    use UnaryOp::{Acosh, Asinh, Atanh, Cbrt, Exp, Log};
    op.needs_float() && !matches!(op, Cbrt | Asinh | Acosh | Atanh | Exp | Log)
}

/// An operator of two operands as a call.
pub(in crate::backend) fn binary(op: BinaryOp, ty: Type, x: &str, y: &str) -> String {
    match (op, ty.lanes, ty.register) {
        (BinaryOp::Atan2, 1, Register::F64 | Register::F32) => math("atan2", ty, &[x, y]),
        (_, 1, to @ (Register::I64 | Register::U64)) if op.needs_float() => {
            let double = Type::scalar(Register::F64);
            format!("tamis_{}_of({})", to.name(), binary(op, double, x, y))
        }
        _ => format!("tamis_{}_{}({x}, {y})", word(op), suffix(ty)),
    }
}

/// A library's function, of the operand's precision.
fn math(name: &str, ty: Type, args: &[&str]) -> String {
    let end = if ty.register == Register::F32 { "f" } else { "" };
    format!("{name}{end}({})", args.join(", "))
}

fn word(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Div => "div",
        BinaryOp::Eq => "eq",
        BinaryOp::Ne => "ne",
        BinaryOp::Lt => "lt",
        BinaryOp::Le => "le",
        BinaryOp::Gt => "gt",
        BinaryOp::Ge => "ge",
        op => op.name(),
    }
}

/// The text of a helper `tamis_OP_TYPE`.
pub(in crate::backend) fn helper(name: &str) -> Option<String> {
    let (op, end) = name.strip_prefix("tamis_")?.rsplit_once('_')?;
    let (result, params, body) = match parse(end) {
        Some(ty) if ty.lanes == 1 => scalar(op, ty)?,
        Some(ty) => vector(op, ty).or_else(|| conversion(op, ty)).or_else(|| lanewise(op, ty))?,
        None => memory(op, end)?,
    };
    Some(format!("static inline {result} {name}({params}) {{ {body} }}"))
}

/// The return type of a helper, its parameters and its body.
type Parts = (String, String, String);

fn parts(ty: &str, params: &str, body: &str) -> Parts {
    let params = params.replace("TYPE", ty);
    (ty.to_owned(), params, body.replace("TYPE", ty))
}

const ONE: &str = "TYPE x";
const TWO: &str = "TYPE x, TYPE y";
const CHOICE: &str = "bool c, TYPE x, TYPE y";

/// `x` where a mask of bits is set, otherwise `y`: for a conditional, compilers emit a branch, which may be
/// mispredicted.
fn by_mask(register: Register, mask: &str, choice: &str) -> String {
    let (lane, bits) = match register {
        Register::F32 => ("float", "int32_t"),
        _ => ("double", "int64_t"),
    };
    format!(
        "
#if defined(__GNUC__) && !defined(__TINYC__) && !defined(__CUDACC__)
  typedef {lane} lanes __attribute__((vector_size(16)));
  typedef {bits} bits __attribute__((vector_size(16)));
  lanes a = {{x}}, b = {{y}};
  bits m = {mask};
  return ((lanes)((m & (bits)a) | (~m & (bits)b)))[0];
#else
  return {choice};
#endif
"
    )
}

/// The minimum or maximum of two floats; the first one if it is NaN.
fn extreme(register: Register, least: bool) -> String {
    let sign = if least { '<' } else { '>' };
    let mask = format!("(bits)((a {sign} b) | (a != a))");
    by_mask(register, &mask, &format!("x {sign} y || x != x ? x : y"))
}

fn choose(register: Register) -> String {
    match register {
        Register::F32 => by_mask(register, "{-(int32_t)c}", "c ? x : y"),
        Register::F64 => by_mask(register, "{-(int64_t)c}", "c ? x : y"),
        _ => "return y ^ ((x ^ y) & -(TYPE)c);".to_owned(),
    }
}

fn scalar(op: &str, ty: Type) -> Option<Parts> {
    if let Some(body) = elementary::body(op, ty) {
        return Some(parts(&type_name(ty), ONE, &body));
    }
    let int = ty.register.is_integer();
    let unsigned = ty.register == Register::U64;
    let (params, body) = match op {
        "select" => (CHOICE, "return c ? x : y;"),
        _ if ty.register == Register::Bool => return None,
        "choose" => return Some(parts(&type_name(ty), CHOICE, &choose(ty.register))),
        "min" if int => (TWO, "return x < y ? x : y;"),
        "max" if int => (TWO, "return x > y ? x : y;"),
        "min" | "max" => {
            return Some(parts(&type_name(ty), TWO, &extreme(ty.register, op == "min")));
        }
        "not" => (ONE, "return x == 0;"),
        "abs" if unsigned => (ONE, "return x;"),
        "abs" if int => (ONE, "return x < 0 ? -x : x;"),
        "square" => (ONE, "return x * x;"),
        "cube" => (ONE, "return x * x * x;"),
        "heaviside" if int => (TWO, "return x == 0 ? y : x > 0;"),
        "add" => (TWO, "return x + y;"),
        "sub" => (TWO, "return x - y;"),
        "heaviside" => (TWO, "return x < 0 ? 0 : x == 0 ? y : x > 0 ? 1 : x;"),
        "div" if unsigned => (TWO, "return y == 0 ? 0 : x / y;"),
        "mod" if unsigned => (TWO, "return y == 0 ? 0 : x % y;"),
        "div" if int => (TWO, "return y == 0 ? 0 : y == -1 ? -x : x / y;"),
        "mod" if int => (
            TWO,
            "if (y == 0 || y == -1) return 0; TYPE r = x % y; return r != 0 && (r < 0) != (y < 0) ? r + y : r;",
        ),
        _ if int => return None,
        "mod" => (
            TWO,
            "TYPE r = __builtin_fmod@(x, y); return r == 0 ? copysign@((TYPE)0, y) : (r < 0) != (y < 0) ? r + y : r;",
        ),
        "pow" => (
            TWO,
            "volatile TYPE base = x, to = y; /* pow(x, 2) is not x * x */ return pow@(base, to);",
        ),
        "cbrt" if ty.register == Register::F32 => (ONE, "return (float)tamis_cbrt_f64(x);"),
        "cbrt" => (ONE, CBRT),
        "bits" if ty.register == Register::F64 => {
            let body = "uint64_t bits; memcpy(&bits, &x, 8); return bits;";
            return Some(("uint64_t".to_owned(), "double x".to_owned(), body.to_owned()));
        }
        "number" if ty.register == Register::F64 => ("uint64_t bits", "return tamis_f64_of(bits);"),
        "asinh" => (ONE, ASINH),
        "acosh" => (ONE, ACOSH),
        "atanh" => (ONE, "TYPE a = fabs@(x); return copysign@(log1p@(2 * a / (1 - a)) / 2, x);"),
        _ => return None,
    };
    // 1 / the smallest normal number: twice a larger number may be infinite.
    let (suffix, large) = match ty.register {
        Register::F32 => ("f", "8.507059173023462e37f"),
        _ => ("", "4.49423283715579e307"),
    };
    let body = body.replace('@', suffix).replace("LARGE", large);
    Some(parts(&type_name(ty), params, &body))
}

/// The inverse hyperbolic sine, as in [`crate::algebra::eval`].
const ASINH: &str = "TYPE a = fabs@(x), i = 1 / a; \
    return copysign@(a > LARGE ? log@(a) + (TYPE)0.6931471805599453 : log1p@(a + a / (hypot@(1, i) + i)), x);";
/// The inverse hyperbolic cosine, as there.
const ACOSH: &str = "if (x > LARGE) return log@(x) + (TYPE)0.6931471805599453; \
    return x < 1 ? __builtin_nan@(\"\") : log@(x + sqrt@(x - 1) * sqrt@(x + 1));";
/// The cube root, as there.
const CBRT: &str = "
  if (x == 0 || x - x != 0) return x;
  double a = fabs(x), scale = 1, t;
  if (a < 2.2250738585072014e-308) a *= 18014398509481984.0, scale = 3.814697265625e-6;
  uint64_t bits;
  memcpy(&bits, &a, 8);
  bits = bits / 3 + ((uint64_t)715094163 << 32);
  memcpy(&t, &bits, 8);
  for (int k = 0; k < 2; k++) {
    double q = a / (t * t) / t;
    t *= (1 + 2 * q) / (2 + q);
  }
  memcpy(&bits, &t, 8);
  bits = (bits + (1 << 29)) & ~(uint64_t)0x3fffffff;
  memcpy(&t, &bits, 8);
  double r = a / (t * t);
  return copysign((t + t * ((r - t) / (t + t + r))) * scale, x);
";

/// Operators that have a form by masks, or involve all lanes.
fn vector(op: &str, ty: Type) -> Option<Parts> {
    let lanes = ty.lanes;
    let single = ty.register == Register::F32;
    let bits = if single { "i32" } else { "i64" };
    let (mask, truth) = (format!("{bits}x{lanes}"), format!("boolx{lanes}"));
    let float = ty.register.is_float();
    let bool = ty.register == Register::Bool;
    if let Some(body) = elementary::body(op, ty) {
        return Some(parts(&type_name(ty), ONE, &body));
    }
    let choose = "return (TYPE)((m & (MASK)x) | (~m & (MASK)y));";
    let (params, body) = match op {
        "select" => (CHOICE, "return c ? x : y;".to_owned()),
        "blend" if single => (
            "TRUTH c, TYPE x, TYPE y",
            format!("MASK m = __builtin_convertvector(c, MASK); {choose}"),
        ),
        "blend" => ("TRUTH c, TYPE x, TYPE y", format!("MASK m = (MASK)c; {choose}")),
        "eq" | "ne" | "lt" | "le" | "gt" | "ge" => {
            let body = comparison(op, ty);
            return Some((truth, TWO.replace("TYPE", &type_name(ty)), body));
        }
        "sum" | "min_of_lanes" | "max_of_lanes" => {
            let (own, lane) = (type_name(ty), c_type(ty.register).to_owned());
            return Some((lane, format!("{own} x"), reduced(op, ty)));
        }
        _ if bool => return None,
        "min" | "max" => {
            let sign = if op == "min" { "<" } else { ">" };
            let nan = if float { " | (x != x)" } else { "" };
            (TWO, format!("MASK m = (MASK)((x {sign} y){nan}); {choose}"))
        }
        "abs" if single => (ONE, "return (TYPE)((MASK)x & INT32_MAX);".to_owned()),
        "abs" if float => (ONE, "return (TYPE)((MASK)x & INT64_MAX);".to_owned()),
        "abs" if ty.register == Register::U64 => (ONE, "return x;".to_owned()),
        "abs" => (ONE, "MASK m = (MASK)(x < 0); return (x ^ m) - m;".to_owned()),
        "not" => (ONE, "return (TYPE)((MASK)(x == 0) & (MASK)((TYPE){0} + 1));".to_owned()),
        "heaviside" => {
            let nan = if float { " | ((MASK)(x != x) & (MASK)x)" } else { "" };
            let step = "((MASK)(x == 0) & (MASK)y) | ((MASK)(x > 0) & (MASK)((TYPE){0} + 1))";
            (TWO, format!("return (TYPE)({step}{nan});"))
        }
        "square" => (ONE, "return x * x;".to_owned()),
        "cube" => (ONE, "return x * x * x;".to_owned()),
        "fma" => ("TYPE x, TYPE y, TYPE z", fused(ty)),
        "bits" if ty.register == Register::F64 => {
            let body = format!("return (u64x{lanes})x;");
            return Some((format!("u64x{lanes}"), ONE.replace("TYPE", &type_name(ty)), body));
        }
        "number" if ty.register == Register::F64 => ("WORDS bits", "return (TYPE)bits;".to_owned()),
        _ => return None,
    };
    let words = format!("u64x{lanes}");
    let filled =
        |text: &str| text.replace("MASK", &mask).replace("TRUTH", &truth).replace("WORDS", &words);
    Some(parts(&type_name(ty), &filled(params), &filled(&body)))
}

fn comparison(op: &str, ty: Type) -> String {
    let signs = [
        ("eq", "==", "~(x ^ y)"),
        ("ne", "!=", "x ^ y"),
        ("lt", "<", "~x & y"),
        ("le", "<=", "~x | y"),
        ("gt", ">", "x & ~y"),
        ("ge", ">=", "x | ~y"),
    ];
    let (_, sign, logic) = signs.into_iter().find(|(name, ..)| *name == op).unwrap_or(signs[0]);
    match ty.register {
        Register::Bool => format!("return {logic};"),
        Register::F32 => format!("return __builtin_convertvector(x {sign} y, boolx{});", ty.lanes),
        _ => format!("return (boolx{})(x {sign} y);", ty.lanes),
    }
}

/// `x * y + z`, rounded once. GCC vectorises a loop over lanes only if the block around it is not too large.
fn fused(ty: Type) -> String {
    let single = ty.register == Register::F32;
    let (end, letter) = if single { ("f", "ps") } else { ("", "pd") };
    let lanes = ty.lanes;
    let bits = usize::from(lanes) * if single { 32 } else { 64 };
    let native = match bits {
        128 => Some(("__FMA__", format!("__builtin_ia32_vfmadd{letter}(x, y, z)"))),
        256 => Some(("__FMA__", format!("__builtin_ia32_vfmadd{letter}256(x, y, z)"))),
        512 => {
            let all = if single { "(unsigned short)-1" } else { "(unsigned char)-1" };
            let call = format!("__builtin_ia32_vfmadd{letter}512_mask(x, y, z, {all}, 4)");
            Some(("__AVX512F__", call))
        }
        _ => None,
    };
    let by_lane = format!(
        "for (int k = 0; k < {lanes}; k++) z[k] = __builtin_fma{end}(x[k], y[k], z[k]);\n  return z;"
    );
    match native {
        Some((machine, call)) => format!(
            "\n#if defined({machine}) && !defined(__clang__)\n  return {call};\n#else\n  \
             {by_lane}\n#endif\n"
        ),
        None => by_lane,
    }
}

/// The reduced lanes, halves first.
fn reduced(op: &str, ty: Type) -> String {
    let lanes = ty.lanes;
    if ty.register == Register::Bool {
        return format!(
            "int64_t r = 0; for (int k = 0; k < {lanes}; k++) r |= x[k]; return r != 0;"
        );
    }
    let combined = |lanes: u16, x: &str, y: &str| match op.strip_suffix("_of_lanes") {
        Some(op) => format!("tamis_{op}_{}({x}, {y})", suffix(Type { lanes, ..ty })),
        None => format!("{x} + {y}"),
    };
    // Each step is on vectors of half the size, which takes fewer instructions.
    let lane = type_name(Type { lanes: 1, ..ty });
    let (mut steps, mut whole) = (String::new(), "x".to_owned());
    let mut half = lanes / 2;
    while half > 1 {
        let pick = |from: u16| {
            let picks: Vec<String> = (from..from + half).map(|k| k.to_string()).collect();
            format!("__builtin_shufflevector({whole}, {whole}, {})", picks.join(", "))
        };
        steps.push_str(&format!(
            "\n  typedef {lane} of{half} __attribute__((vector_size({half} * sizeof({lane}))));\n  \
             of{half} x{half} = {};",
            combined(half, &pick(0), &pick(half))
        ));
        whole = format!("x{half}");
        half /= 2;
    }
    let last = combined(1, &format!("{whole}[0]"), &format!("{whole}[1]"));
    let one = combined(1, "x[k]", "x[k + n]");
    format!(
        "\n#ifndef __has_builtin\n#define __has_builtin(name) 0\n#endif\n#if __has_builtin(__builtin_shufflevector){steps}\n  return \
         {last};\n#else\n  for (int n = {lanes} / 2; n > 0; n /= 2)\n    for (int \
         k = 0; k < n; k++) x[k] = {one};\n  return x[0];\n#endif\n"
    )
}

/// `TO_of`: a vector in another register type.
fn conversion(op: &str, from: Type) -> Option<Parts> {
    let to = parse(op.strip_suffix("_of")?).filter(|to| to.lanes == from.lanes)?;
    let (result, given) = (type_name(to), type_name(from));
    let body = match (from.register, to.register) {
        (Register::F32 | Register::F64, Register::I64 | Register::U64) => {
            let lane = format!("tamis_{}_of(x[k])", to.register.name());
            let lanes = by_lanes("y", c_type(to.register), to.lanes, &lane);
            format!("{result} y; {lanes} return y;")
        }
        (Register::F32, Register::Bool) => {
            format!("return __builtin_convertvector(x != 0, {result});")
        }
        (_, Register::Bool) => format!("return ({result})(x != 0);"),
        (Register::Bool, Register::I64 | Register::U64) => format!("return ({result})-x;"),
        (Register::Bool, _) => format!("return __builtin_convertvector(-x, {result});"),
        _ => format!("return __builtin_convertvector(x, {result});"),
    };
    Some((result, format!("{given} x"), body))
}

/// Loads of narrow elements into wide lanes, and stores back.
fn memory(op: &str, narrow: &str) -> Option<Parts> {
    super::types::declare(narrow)?;
    let (lane, lanes) = narrow.split_once('x')?;
    let elem = DataType::parse(lane)?;
    let element = element(elem);
    let wide = format!("{}x{lanes}", elem.register().name());
    match op {
        "load" if elem.is_half() => {
            let lane = format!("tamis_widen_{lane}(p[k])");
            let body = format!("{wide} x; {} return x;", by_lanes("x", "float", lanes, &lane));
            Some((wide, format!("const {element} *p"), body))
        }
        "store" if elem.is_half() => {
            let body =
                format!("for (int k = 0; k < {lanes}; k++) p[k] = tamis_round_{lane}(x[k]);");
            Some(("void".to_owned(), format!("{element} *p, {wide} x"), body))
        }
        "load" => Some((
            wide.clone(),
            format!("const {element} *p"),
            format!(
                "{narrow} x; memcpy(&x, p, sizeof x); return __builtin_convertvector(x, {wide});"
            ),
        )),
        "store" => Some((
            "void".to_owned(),
            format!("{element} *p, {wide} x"),
            format!("{narrow} y = __builtin_convertvector(x, {narrow}); memcpy(p, &y, sizeof y);"),
        )),
        _ => None,
    }
}

/// Any other operator, lane by lane.
fn lanewise(op: &str, ty: Type) -> Option<Parts> {
    let one = Type { lanes: 1, ..ty };
    let unary_op = UnaryOp::ALL.into_iter().find(|u| u.name() == op);
    let binary_op = BinaryOp::ALL.into_iter().find(|b| word(*b) == op);
    let (params, lane) = match (unary_op, binary_op) {
        _ if ty.register == Register::Bool => return None,
        (Some(op), _) => (ONE, unary(op, one, "x[k]")),
        (_, Some(op)) if !op.is_logical() => (TWO, binary(op, one, "x[k]", "y[k]")),
        _ => return None,
    };
    let body = format!("{} return x;", by_lanes("x", c_type(ty.register), ty.lanes, &lane));
    Some(parts(&type_name(ty), params, &body))
}

/// Assigns a vector its lanes `k` by way of an array: if comparisons are assigned to lanes one by one, GCC 12 makes
/// them a comparison of vectors, whose truth value is -1.
fn by_lanes(vector: &str, element: &str, lanes: impl Display, lane: &str) -> String {
    format!(
        "{element} part[{lanes}]; for (int k = 0; k < {lanes}; k++) part[k] = {lane}; memcpy(\
         &{vector}, part, sizeof part);"
    )
}
