//! Binsparse 0.1: a descriptor in JSON, and arrays that it names.
//!
//! ```text
//! {"binsparse": {"version": "0.1", "format": "COOR", "shape": [2, 3], "number_of_stored_values": 2,
//!                "data_types": {"indices_0": "uint64", "indices_1": "uint64", "values": "float64"}}}
//! ```
//!
//! The vectors and matrices that the specification names are read, and tensors of one sparse level;
//! vectors are written as CVEC, matrices as COOR, other tensors as one sparse level.
//!
//! <https://graphblas.org/binsparse-specification/>

use super::array::{Array, paired, select};
use super::levels::{check_length, expanded};
use super::{Archive, entries, unsupported, wrong};
use crate::counted::Counted;
use crate::error::Parsed;
use serde_json::{Map, Value, json};
use std::io::{Read, Seek};
use tamis_runtime::{Coordinates, DataType, Scalar, Values};

/// Reads an archive.
pub(super) fn read(archive: &mut Archive<impl Read + Seek>) -> Parsed<Coordinates> {
    let text = archive.array("binsparse")?.text()?;
    let whole: Value = serde_json::from_str(&text).map_err(|e| wrong(format!("binsparse: {e}")))?;
    let said = whole.get("binsparse").unwrap_or(&whole);
    let version = said["version"].as_str().unwrap_or("0.1");
    if version.split('.').next() != Some("0") {
        return Err(unsupported(format!("binsparse {version}"), "write it as version 0.1"));
    }
    let dims: Option<Vec<u64>> =
        said["shape"].as_array().and_then(|shape| shape.iter().map(Value::as_u64).collect());
    let dims = dims.ok_or_else(|| wrong("binsparse does not say the shape"))?;
    let stored = said["number_of_stored_values"].as_u64();
    let format = &said["format"];
    let name = format["custom"]
        .as_object()
        .or(format.as_object())
        .map_or(format.as_str(), |custom| sparse_root(custom, dims.len()).then_some("COO"));
    let name = name.ok_or_else(|| unsupported(format!("the format {format}"), FORMATS))?;
    let mut list = |name: &str| archive.indices(name);
    let rows = |at: usize| dims.get(at).copied().unwrap_or(0);
    let (crds, order) = match (name, dims.len()) {
        ("COO" | "COOR" | "COOC", order) => {
            let crds = (0..order).map(|m| list(&format!("indices_{m}"))).collect::<Parsed<_>>()?;
            (crds, order)
        }
        ("CVEC", 1) => (vec![list("indices_0")?], 1),
        ("CSR", 2) => (lines(&mut list, 0..rows(0), false)?, 2),
        ("CSC", 2) => (lines(&mut list, 0..rows(1), true)?, 2),
        ("DCSR" | "DCSC", 2) => {
            let outer = list("indices_0")?;
            (lines(&mut list, outer.into_iter(), name == "DCSC")?, 2)
        }
        ("DVEC", 1) => (all([rows(0), 1], false)?[..1].to_vec(), 1),
        ("DMAT" | "DMATR", 2) => (all([rows(0), rows(1)], false)?, 2),
        ("DMATC", 2) => (all([rows(1), rows(0)], true)?, 2),
        _ => {
            return Err(unsupported(
                format!("the format {name} of {} dimensions", dims.len()),
                FORMATS,
            ));
        }
    };
    let count = crds.first().map_or(1, Vec::len);
    debug_assert_eq!(crds.len(), order);
    if let Some(stored) = stored {
        check_length("indices", count, stored)?;
    }
    let vals = values(archive, said["data_types"]["values"].as_str().unwrap_or(""), count)?;
    entries(dims, crds, vals)
}

/// What is read.
const FORMATS: &str = "CSR, CSC, DCSR, DCSC, COO, CVEC, DVEC, DMAT and one sparse level are read";

/// Compressed rows or columns.
fn lines(
    list: &mut impl FnMut(&str) -> Parsed<Vec<u64>>,
    outer: impl Iterator<Item = u64> + ExactCount,
    by_columns: bool,
) -> Parsed<Vec<Vec<u64>>> {
    let pointers = list("pointers_to_1")?;
    check_length("pointers_to_1", pointers.len(), outer.count_of().saturating_add(1))?;
    let inner = list("indices_1")?;
    let outer = expanded(&pointers, ["pointers_to_1", "indices_1"], outer, inner.len())?;
    check_length("indices_1", inner.len(), outer.len() as u64)?;
    Ok(if by_columns { vec![inner, outer] } else { vec![outer, inner] })
}

/// How many there are, of rows and of a list of them.
trait ExactCount {
    fn count_of(&self) -> u64;
}

impl ExactCount for std::ops::Range<u64> {
    fn count_of(&self) -> u64 {
        self.end - self.start
    }
}

impl ExactCount for std::vec::IntoIter<u64> {
    fn count_of(&self) -> u64 {
        self.len() as u64
    }
}

/// Every coordinate of an outer and an inner dimension.
fn all([outer, inner]: [u64; 2], by_columns: bool) -> Parsed<Vec<Vec<u64>>> {
    let (mut outers, mut inners) = (Counted::default(), Counted::default());
    for o in 0..outer {
        for i in 0..inner {
            outers.push(o)?;
            inners.push(i)?;
        }
    }
    let (outers, inners) = (outers.into_vec(), inners.into_vec());
    Ok(if by_columns { vec![inners, outers] } else { vec![outers, inners] })
}

/// Whether a custom format is one sparse level of all modes.
fn sparse_root(custom: &Map<String, Value>, order: usize) -> bool {
    let Some(level) = custom.get("level") else { return false };
    let in_order = custom.get("transpose").and_then(Value::as_array).is_none_or(|modes| {
        modes.iter().enumerate().all(|(at, mode)| mode.as_u64() == Some(at as u64))
    });
    let is_sparse = level["level_desc"] == "sparse" && level["rank"] == order as u64;
    is_sparse && level["level"]["level_desc"] == "element" && in_order
}

/// The values: one for all if they are `iso`, parts side by side if they are complex.
fn values(archive: &mut Archive<impl Read + Seek>, said: &str, count: usize) -> Parsed<Values> {
    let vals = archive.array("values")?.numbers()?;
    let vals = match (said.contains("complex["), vals) {
        (true, Values::F32(parts)) => Values::C64(paired(&parts)?),
        (true, Values::F64(parts)) => Values::C128(paired(&parts)?),
        (_, Values::I8(list)) if said.contains("bint8") => {
            Values::Bool(list.into_iter().map(|x| u8::from(x != 0)).collect())
        }
        (_, Values::U8(list)) if said.contains("bint8") => {
            Values::Bool(list.into_iter().map(|x| u8::from(x != 0)).collect())
        }
        (_, vals) => vals,
    };
    match said.starts_with("iso[") && vals.len() == 1 {
        true => select(&vals, std::iter::repeat_n(0, count)),
        false => check_length("values", vals.len(), count as u64).map(|()| vals),
    }
}

/// How many modes a tensor may have that is written.
pub(super) const MOST_MODES: usize = 8;

/// The arrays of an archive of a tensor of 1 to [`MOST_MODES`] modes.
pub(super) fn parts(
    list: &Coordinates,
    fill: Option<Scalar>,
) -> Parsed<Vec<(&'static str, Array)>> {
    const INDICES: [&str; MOST_MODES] = [
        "indices_0",
        "indices_1",
        "indices_2",
        "indices_3",
        "indices_4",
        "indices_5",
        "indices_6",
        "indices_7",
    ];
    let (order, crds) = (list.dims().len(), list.crds());
    let order_of_entries = sorted(list)?;
    let format = match order {
        1 => json!("CVEC"),
        2 => json!("COOR"),
        _ => json!({"custom": {"level": {
            "level_desc": "sparse", "rank": order, "level": {"level_desc": "element"},
        }}}),
    };
    let datatype = list.vals().datatype();
    let value_type = type_name(datatype);
    let mut types = Map::new();
    (0..order).for_each(|m| drop(types.insert(INDICES[m].to_owned(), json!("int64"))));
    types.insert("values".to_owned(), json!(value_type));
    let mut said = json!({
        "version": "0.1.0", "format": format, "shape": list.dims(),
        "number_of_stored_values": list.vals().len(), "data_types": types,
    });
    if fill.is_some() {
        said["fill"] = json!(true);
        said["data_types"]["fill_value"] = json!(value_type);
    }
    let mut parts = vec![("binsparse", Array::of_text(&json!({"binsparse": said}).to_string()))];
    for (name, crd) in INDICES.into_iter().zip(crds) {
        let sorted: Vec<u64> = order_of_entries.iter().map(|&n| crd[n]).collect();
        parts.push((name, Array::of_indices(&sorted)?));
    }
    let vals = match select(list.vals(), order_of_entries.iter().copied())? {
        Values::C64(list) => Values::F32(list.into_flattened()),
        Values::C128(list) => Values::F64(list.into_flattened()),
        Values::Bool(list) => Values::U8(list),
        vals => vals,
    };
    parts.push(("values", Array::of_values(vals)));
    Ok(parts)
}

/// The entries in the order of their coordinates.
fn sorted(list: &Coordinates) -> Parsed<Counted<usize>> {
    let mut order: Counted<usize> = Counted::with_room(list.vals().len())?;
    (0..list.vals().len()).try_for_each(|n| order.push(n))?;
    let coordinates = |n: &usize| list.crds().iter().map(|crd| crd[*n]).collect::<Vec<_>>();
    if !order.is_sorted_by_key(coordinates) {
        order.sort_by_cached_key(coordinates);
    }
    Ok(order)
}

/// What the descriptor calls a type.
fn type_name(datatype: DataType) -> &'static str {
    match datatype {
        DataType::C64 => "complex[float32]",
        DataType::C128 => "complex[float64]",
        DataType::Bool => "bint8",
        DataType::Bf16 => "float32",
        DataType::I8 => "int8",
        DataType::I16 => "int16",
        DataType::I32 => "int32",
        DataType::I64 => "int64",
        DataType::U8 => "uint8",
        DataType::U16 => "uint16",
        DataType::U32 => "uint32",
        DataType::U64 => "uint64",
        DataType::F16 => "float16",
        DataType::F32 => "float32",
        DataType::F64 => "float64",
    }
}
