//! What stands before kernels: types and constants that headers would define, and how threads
//! combine values. Everything else is defined as in C ([`crate::backend::c`]).

use super::device::combination;
use crate::algebra::ReduceOp;
use crate::backend::c::types::{parse, type_name};
use crate::datatype::Register;
use crate::ir::Type;

/// The definition of a word.
pub(super) fn word(word: &str) -> Option<String> {
    let fixed = FIXED.iter().find(|(name, _)| *name == word);
    fixed.map(|(_, text)| (*text).to_owned()).or_else(|| typed(word))
}

const FIXED: [(&str, &str); 14] = [
    ("int8_t", "typedef signed char int8_t;"),
    ("uint8_t", "typedef unsigned char uint8_t;"),
    ("int16_t", "typedef short int16_t;"),
    ("uint16_t", "typedef unsigned short uint16_t;"),
    ("int32_t", "typedef int int32_t;"),
    ("uint32_t", "typedef unsigned int uint32_t;"),
    ("int64_t", "typedef long long int64_t;"),
    ("uint64_t", "typedef unsigned long long uint64_t;"),
    ("INT64_MAX", "#define INT64_MAX 0x7fffffffffffffffLL"),
    ("INT64_MIN", "#define INT64_MIN (-0x7fffffffffffffffLL - 1)"),
    ("UINT64_MAX", "#define UINT64_MAX 0xffffffffffffffffULL"),
    (
        "tamis_inf",
        "static inline double tamis_inf() { return __longlong_as_double(0x7ff0000000000000LL); }",
    ),
    ("tamis_inff", "static inline float tamis_inff() { return __int_as_float(0x7f800000); }"),
    (
        "tamis_mask",
        "/* The threads of a warp that take an iteration together. */
static inline unsigned tamis_mask(int width) {
  return width == 32 ? 0xffffffffu : ((1u << width) - 1) << threadIdx.x % 32 / width * width;
}",
    ),
];

/// `tamis_warp_sum_f64`, `tamis_block_max_i64`, `tamis_update_min_f32`.
fn typed(word: &str) -> Option<String> {
    let (over, rest) = word.strip_prefix("tamis_")?.split_once('_')?;
    let (name, ty) = rest.split_once('_')?;
    let op = ReduceOp::ALL.into_iter().find(|op| op.name() == name)?;
    let ty = parse(ty).filter(|ty| ty.lanes == 1 && ty.register != Register::Bool)?;
    match over {
        "warp" => Some(over_warp(word, op, ty)),
        "block" => Some(over_block(word, op, ty)),
        "update" => Some(update(word, op, ty)),
        _ => None,
    }
}

fn over_warp(word: &str, op: ReduceOp, ty: Type) -> String {
    let name = type_name(ty);
    let both = combination(op, ty, "x", "__shfl_xor_sync(tamis_mask(width), x, k)");
    format!(
        "static inline {name} {word}({name} x, int width) {{
  for (int k = width / 2; k > 0; k /= 2) x = {both};
  return x;
}}"
    )
}

fn over_block(word: &str, op: ReduceOp, ty: Type) -> String {
    let name = type_name(ty);
    let over_warp = word.replace("_block_", "_warp_");
    let both = combination(op, ty, "x", "tamis_part[k]");
    format!(
        "static inline {name} {word}({name} x, int threads) {{
  __shared__ {name} tamis_part[32];
  x = {over_warp}(x, 32);
  if (threadIdx.x % 32 == 0) tamis_part[threadIdx.x / 32] = x;
  __syncthreads();
  x = tamis_part[0];
  for (int k = 1; k < threads / 32; k++) x = {both};
  __syncthreads();
  return x;
}}"
    )
}

/// Sums are added by the machine; other operators try again until nobody came between.
fn update(word: &str, op: ReduceOp, ty: Type) -> String {
    let name = type_name(ty);
    let (bits, to, from) = match ty.register {
        Register::F32 => ("unsigned", "__float_as_uint", "__uint_as_float"),
        Register::F64 => ("unsigned long long", "__double_as_longlong", "__longlong_as_double"),
        _ => ("unsigned long long", "", ""),
    };
    let head = format!("static inline void {word}({name} *p, {name} x)");
    match (op, ty.register.is_float()) {
        (ReduceOp::Add, true) => format!("{head} {{ atomicAdd(p, x); }}"),
        (ReduceOp::Add, false) => format!("{head} {{ atomicAdd(({bits} *)p, ({bits})x); }}"),
        _ => {
            let both = combination(op, ty, &format!("({name}){from}(seen)"), "x");
            format!(
                "{head} {{
  {bits} seen, old = *(volatile {bits} *)p;
  do {{
    seen = old;
    old = atomicCAS(({bits} *)p, seen, ({bits}){to}({both}));
  }} while (old != seen);
}}"
            )
        }
    }
}
