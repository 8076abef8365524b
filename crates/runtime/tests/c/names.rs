//! Names that mean something in C, its headers, or the text itself.

use crate::case::Case;
use tamis_ir::datatype::DataType;
use tamis_ir::interpret::Buffer;
use tamis_ir::ir::Expr;
use tamis_ir::ir::build::{add, assign, for_loop, int, load, store};
use tamis_ir::ir::{Stmt, build};

const NAMES: &str = "auto bool break case char const constexpr continue default do double else \
enum extern false float for goto if inline int int64_t int32_t uint8_t uint64_t size_t ptrdiff_t \
long nullptr register restrict return short signed sizeof static static_assert struct switch \
thread_local true typedef typeof typeof_unqual union unsigned void volatile while alignas alignof \
asm linux unix i386 NULL INT64_MAX INT64_MIN INT64_C PTRDIFF_MAX MADV_HUGEPAGE INFINITY NAN EOF \
M_PI HUGE_VAL I J main status done slots stdin stdout stderr errno assert free malloc realloc \
memcpy memset posix_memalign madvise abs fabs fabsf sqrt sqrtf pow powf floor floorf fma log sin \
asinh log1p hypot copysign y0 j1 jn gamma signgam index rindex environ isnan signbit offsetof \
unreachable alloca major minor tamis tamis_k tamis_hi tamis_p tamis_value tamis_key tamis_sort \
tamis_column tamis_min_f64 tamis_min_f64x8 tamis_i64_of tamis_reserve tamis_capacity f64x8 i64x4 \
f32x16 boolx8 i32x8 f64x8_at x_at x_hi x_lo x_len x_out x_grown x_out_len x x_ x__ _x __x _Bool \
_Complex __func__ __LINE__ __builtin_fma A_vals A2_pos pA2 i j k row π µ_π x² ñ compute compute_x \
compute_names this class new and or not xor near far interface";

pub fn cases() -> Vec<Case> {
    let mut cases = vec![variables(), arrays("in"), arrays("local"), loops()];
    cases.extend(functions());
    cases
}

fn names() -> impl Iterator<Item = &'static str> {
    NAMES.split_whitespace()
}

/// Variables of all names at once.
fn variables() -> Case {
    let mut case = Case::new("compute_names");
    let vars: Vec<_> = names().map(|name| case.index(name)).collect();
    let out = case.output("out", DataType::I64, vars.len());
    for (k, &v) in vars.iter().enumerate() {
        case.push(assign(v, int(k as i64 + 1)));
    }
    for (k, &v) in vars.iter().enumerate() {
        case.push(store(out, int(k as i64), Expr::Var(v)));
    }
    everything(&mut case);
    case
}

/// Arrays of all names at once, given or made.
fn arrays(role: &str) -> Case {
    let mut case = Case::new("compute_arrays");
    let arrays: Vec<_> = names()
        .enumerate()
        .map(|(k, name)| match role {
            "in" => case.input(name, Buffer::I64(vec![k as i64])),
            _ => case.local(name, DataType::I64),
        })
        .collect();
    let out = case.output("outputs", DataType::I64, arrays.len());
    for (k, &a) in arrays.iter().enumerate() {
        if role != "in" {
            case.push(Stmt::Reserve { array: a, len: int(1) });
            case.push(store(a, int(0), int(k as i64 + 5)));
        }
        case.push(store(out, int(k as i64), load(a, int(0))));
    }
    everything(&mut case);
    case
}

/// Loops whose bound is held in a variable of the text's own.
fn loops() -> Case {
    let mut case = Case::new("compute_loops");
    let names = ["x", "x_hi", "x_lo", "x_hi_", "pA2", "pA2_hi", "tamis_k"];
    let vars: Vec<_> = names.iter().map(|name| case.index(name)).collect();
    let out = case.output("out", DataType::I64, 64);
    let end = case.local("end", DataType::I64);
    let total = case.index("total");
    case.push(Stmt::Reserve { array: end, len: int(1) });
    case.push(store(end, int(0), int(3)));
    case.push(assign(total, int(0)));
    let step = assign(total, vars.iter().map(|&v| Expr::Var(v)).fold(Expr::Var(total), add));
    let mut body = vec![step];
    for &v in vars.iter().rev() {
        body = vec![for_loop(v, int(1), load(end, int(0)), body)];
    }
    case.function.body.extend(body);
    case.push(store(out, int(0), Expr::Var(total)));
    for k in 1..64 {
        case.push(store(out, int(k), int(k)));
    }
    case
}

/// Uses helpers of the text beside the names.
fn everything(case: &mut Case) {
    let list = case.local("list", DataType::I64);
    case.push(Stmt::Reserve { array: list, len: int(2) });
    case.push(Stmt::Fill { array: list, lo: int(0), hi: int(2), value: int(0) });
    case.push(Stmt::Sort { keys: vec![list], carried: vec![], lo: int(0), hi: int(2) });
    case.push(Stmt::Comment("*/ int tamis_sort; /* ??/".to_owned()));
    let bits = case.output("more", DataType::F64, 16);
    let at = |k| build::binary(tamis_ir::algebra::BinaryOp::Min, half(k), half(1));
    for k in 0..8 {
        case.push(store(bits, int(k), at(k)));
    }
    let wide = Expr::Splat(Box::new(half(3)), 8);
    let wide = build::binary(tamis_ir::algebra::BinaryOp::Max, wide.clone(), wide);
    case.push(store(bits, int(8), wide));
}

fn half(k: i64) -> Expr {
    Expr::Const(tamis_ir::datatype::Scalar::F64(k as f64 / 2.0))
}

/// Functions of all names in one file; each stores its number.
fn functions() -> Vec<Case> {
    let more = ["compute_y", "compute_y_entry", "compute_y_entry_entry", "slots", "compute_int"];
    names()
        .chain(more)
        .enumerate()
        .map(|(k, name)| {
            let mut case = Case::new(name);
            let out = case.output("out", DataType::I64, 1);
            case.push(store(out, int(0), int(k as i64)));
            case
        })
        .collect()
}
