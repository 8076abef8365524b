//! The names of types in C: `int64_t`, `double`, `f64x8`; truth values in lanes are 0 or -1.

use crate::datatype::{DataType, Register};
use crate::ir::Type;

/// The C type of an array's elements.
pub(in crate::backend) fn element(elem: DataType) -> &'static str {
    match elem {
        DataType::Bool | DataType::U8 => "uint8_t",
        DataType::I8 => "int8_t",
        DataType::I16 => "int16_t",
        DataType::I32 => "int32_t",
        DataType::I64 => "int64_t",
        DataType::U16 | DataType::F16 | DataType::Bf16 => "uint16_t",
        DataType::U32 => "uint32_t",
        DataType::U64 => "uint64_t",
        DataType::F32 | DataType::C64 => "float",
        DataType::F64 | DataType::C128 => "double",
    }
}

/// The C type of a value.
pub(in crate::backend) fn type_name(ty: Type) -> String {
    match ty.lanes {
        1 => scalar(ty.register).to_owned(),
        _ => suffix(ty),
    }
}

/// The C type of one lane.
pub(in crate::backend) fn scalar(register: Register) -> &'static str {
    match register {
        Register::Bool => "bool",
        Register::I64 => "int64_t",
        Register::U64 => "uint64_t",
        Register::F32 => "float",
        Register::F64 => "double",
    }
}

/// The suffix of a helper's name: `f64`, `f64x8`.
pub(in crate::backend) fn suffix(ty: Type) -> String {
    let lane = ty.register.name();
    if ty.lanes == 1 { lane.to_owned() } else { format!("{lane}x{}", ty.lanes) }
}

/// The type with this [`suffix`].
pub(in crate::backend) fn parse(suffix: &str) -> Option<Type> {
    let (lane, lanes) = split(suffix);
    Some(Type { register: Register::parse(lane)?, lanes: lanes? })
}

/// The lanes of narrow elements in memory: `i32x8`, `u8x8`, `f16x8`.
pub(in crate::backend) fn narrow(elem: DataType, lanes: u16) -> Option<String> {
    match elem {
        DataType::Bool => Some(format!("u8x{lanes}")),
        _ if elem.register().datatype() != elem => Some(format!("{elem}x{lanes}")),
        _ => None,
    }
}

/// A value of a register type as it is stored.
pub(in crate::backend) fn stored(elem: DataType, from: Register, text: &str) -> String {
    let is_atom = text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    match narrow(elem, 1) {
        _ if elem.is_half() && from == Register::F64 => {
            format!("tamis_round_{elem}(tamis_round_to_odd({text}))")
        }
        _ if elem.is_half() => format!("tamis_round_{elem}({text})"),
        None => text.to_owned(),
        Some(_) if is_atom => format!("({}){text}", element(elem)),
        Some(_) => format!("({})({text})", element(elem)),
    }
}

/// The declaration of a vector type, or of its form in memory, `f64x8_at`.
pub(in crate::backend) fn declare(word: &str) -> Option<String> {
    let (lane, lanes) = split(word.strip_suffix("_at").unwrap_or(word));
    let (name, bytes) = match DataType::parse(lane)? {
        DataType::Bool => ("int64_t", 8),
        elem => (element(elem), elem.size()),
    };
    let lanes = lanes.filter(|&n| n > 1)?;
    let size = bytes * usize::from(lanes);
    let memory = match word.ends_with("_at") {
        true => format!(", aligned({bytes}), may_alias"),
        false => String::new(),
    };
    Some(format!("typedef {name} {word} __attribute__((vector_size({size}){memory}));"))
}

/// `f64x8` as `f64` and 8; `f64` has one lane.
fn split(word: &str) -> (&str, Option<u16>) {
    match word.split_once('x') {
        None => (word, Some(1)),
        Some((lane, lanes)) => {
            let count = lanes.parse().ok().filter(|n: &u16| n.is_power_of_two() && *n > 1);
            (lane, count.filter(|n| n.to_string() == lanes))
        }
    }
}
