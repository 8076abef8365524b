//! Tensors, formats and schedules in files of others.

use tamis::as_text::AsText;
use tamis::format::{self, NAMED};
use tamis::{
    Coordinates, DataType, Duplicates, Format, Schedule, Storage, Tensor, Values, pack, schedule,
};

/// Reads what was written, and gives the text.
#[track_caller]
fn round<T>(value: &T) -> String
where
    T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let text = serde_json::to_string(value).unwrap_or_else(|e| panic!("{value:?}: {e}"));
    let back: T = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
    assert_eq!(&back, value, "{text}");
    // Keys in another order, as other programs write them.
    let sorted = serde_json::from_str::<serde_json::Value>(&text).map(|value| value.to_string());
    let sorted = sorted.unwrap_or_else(|e| panic!("{text}: {e}"));
    assert_eq!(serde_json::from_str::<T>(&sorted).ok().as_ref(), Some(value), "{sorted}");
    text
}

fn tensor(text: &str, vals: Values) -> Tensor {
    let crds = vec![vec![0, 0, 2, 3], vec![1, 2, 2, 0]];
    let list = Coordinates::new(vec![4, 3], crds, vals).unwrap_or_else(|d| panic!("{d}"));
    let spec = format::parse(text, Some(2)).unwrap_or_else(|d| panic!("{d}"));
    let storage = spec.resolve(list.vals().datatype()).unwrap_or_else(|d| panic!("{d}"));
    pack(&list, &storage, Duplicates::Refuse).unwrap_or_else(|d| panic!("{text}: {d}"))
}

fn floats() -> Values {
    Values::F64(vec![1.5, -2.0, 0.1, 1e300])
}

const FORMATS: [&str; 11] =
    ["csr", "csc", "dcsr", "coo", "coo(aos)", "dense", "ell", "dia", "bcsr(2,3)", "dok", "bitmap"];

#[test]
fn tensors_of_all_formats_and_types_read_back() {
    FORMATS.iter().for_each(|text| drop(round(&tensor(text, floats()))));
    for datatype in DataType::ALL {
        let text = format!("csr{{{datatype}}}");
        round(&tensor(&text, Values::F64(vec![1.0, 0.0, 1.0, 1.0])));
    }
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let text = round(&tensor("csr", Values::F64(vec![inf, -inf, 0.25, -0.0])));
    assert!(text.contains(r#""values":{"f64":["inf","-inf",0.25,-0.0]}"#), "{text}");
    let text = serde_json::to_string(&tensor("csr", Values::F64(vec![nan; 4])));
    let back: Result<Tensor, _> = serde_json::from_str(&text.unwrap_or_default());
    let values = back.map(|tensor| tensor.values::<f64>().map(<[f64]>::to_vec));
    assert!(matches!(values, Ok(Ok(v)) if v.iter().all(|x| x.is_nan())));
    round(&tensor("csr{fill: inf}", floats()));
}

#[test]
fn formats_and_schedules_read_back() {
    for order in 1..4 {
        for named in &NAMED {
            let specs =
                [named.name.to_owned(), format!("{}{{f32, fill: 1, pos: i64}}", named.name)];
            for spec in specs.iter().filter_map(|text| format::parse(text, Some(order)).ok()) {
                round(&AsText(spec.clone()));
                round(&AsText(spec.format.clone()));
                let storage = spec.resolve(DataType::F64).unwrap_or_else(|d| panic!("{d}"));
                round(&AsText(storage));
            }
        }
    }
    let commands = schedule::parse("split(i, i0, i1, 4); reorder(i0, j, i1)");
    let text = round(&AsText(commands.unwrap_or_else(|d| panic!("{d}"))));
    assert_eq!(text, r#""split(i, i0, i1, 4); reorder(i0, j, i1)""#);
    assert!(serde_json::from_str::<AsText<Schedule>>(r#""split(i""#).is_err());
    assert!(serde_json::from_str::<AsText<Format>>(r#""csr{f32}""#).is_err());
    assert!(serde_json::from_str::<AsText<Storage>>(r#""csr{i8, fill: 1000}""#).is_err());
}

/// A text with a byte changed, left out or cut off is an error or a tensor, never a panic.
#[test]
fn what_is_damaged_is_an_error_or_valid() {
    let mut errors = 0;
    for format in FORMATS {
        let text = round(&tensor(format, floats()));
        for at in 0..text.len() {
            let (before, rest) = text.split_at(at);
            let changed = ["0", "9", "-", "]", "null", "e9"]
                .map(|new| format!("{before}{new}{}", &rest[1..]));
            let others = [before.to_owned(), format!("{before}{}", &rest[1..])];
            for damaged in changed.iter().chain(&others) {
                match serde_json::from_str::<Tensor>(damaged) {
                    Ok(valid) => drop(valid.to_coordinates()),
                    Err(_) => errors += 1,
                }
            }
        }
    }
    assert!(errors > 10_000, "{errors}");
    let beyond = |values: &str| {
        let text = r#"{"dims":[1],"format":"dense{TYPE}","levels":[{"pos":null,"crd":null,"width":null,"mask":null}],"values":VALUES}"#;
        let (name, _) = values[2..].split_once('"').unwrap_or_default();
        let text = text.replace("TYPE", name).replace("VALUES", values);
        serde_json::from_str::<Tensor>(&text).map_err(|e| e.to_string())
    };
    assert!(beyond(r#"{"f32":[1.5]}"#).is_ok());
    for wrong in [
        r#"{"f32":[1e300]}"#,
        r#"{"f16":[1e10]}"#,
        r#"{"i8":[300]}"#,
        r#"{"f64":["1.5"]}"#,
        r#"{"u8":[-1]}"#,
    ] {
        assert!(beyond(wrong).is_err(), "{wrong}");
    }
}
