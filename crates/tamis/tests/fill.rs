//! Lists of entries with a fill value become tensors whose every element is what the list says.

use tamis::{Coordinates, Duplicates, Scalar, Storage, Tensor, Values, format, pack};

fn storage(text: &str) -> Storage {
    let spec = format::parse(text, Some(2)).expect("a format");
    spec.resolve(tamis::DataType::F64).expect("a storage")
}

fn list() -> Coordinates {
    let crds = vec![vec![0, 2, 2], vec![1, 0, 3]];
    Coordinates::new(vec![3, 4], crds, Values::F64(vec![5.0, 0.0, -1.0])).expect("a list")
}

fn elements(tensor: &Tensor) -> Vec<String> {
    let places = (0..12).map(|n| [n / 4, n % 4]);
    places.map(|place| tensor.get(&place).expect("inside").to_string()).collect()
}

#[test]
fn packing_keeps_every_element_whatever_the_storage_has() {
    let formats = ["csr", "csc", "coo", "dcsr", "csf", "dense", "bcsr(2,2)", "ell", "dia"];
    for own in [0.0, f64::INFINITY, f64::NAN, 2.0] {
        let wanted = format!("dense{{fill: {}}}", Scalar::F64(own));
        let wanted = elements(&pack(&list(), &storage(&wanted), Duplicates::Sum).expect("packed"));
        let list = list().with_fill(Scalar::F64(own));
        for name in formats {
            for text in [name.to_owned(), format!("{name}{{fill: inf}}")] {
                // A list that says nothing has what the storage says.
                if own == 0.0 && text.contains("fill") {
                    continue;
                }
                let tensor = pack(&list, &storage(&text), Duplicates::Sum)
                    .unwrap_or_else(|d| panic!("{text}: {d}"));
                assert_eq!(elements(&tensor), wanted, "{own} in {text}");
                assert_eq!(tensor.storage(), &storage(&text));
            }
        }
    }
}

#[test]
fn fill_values_that_do_not_fit_are_refused() {
    let list = list().with_fill(Scalar::F64(f64::INFINITY));
    let storage = format::parse("csr{i32}", Some(2)).expect("a format");
    let storage = storage.resolve(tamis::DataType::F64).expect("a storage");
    let told = pack(&list, &storage, Duplicates::Sum).expect_err("no integer");
    assert_eq!(told.code, tamis::Code::TypeMismatch, "{told}");
}
