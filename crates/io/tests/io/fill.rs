//! A fill value goes with the entries: from a tensor into every file, and from every file into a list.

use crate::Folder;
use std::path::Path;
use tamis_io::{
    Coordinates, Cut, Found, Layout, ReadOptions, Scalar, Values, WriteOptions, read, write,
    write_in_parts,
};
use tamis_runtime::{Element, Tensor};

fn tensors() -> Vec<Tensor> {
    fn of<T: Element>(values: [T; 2], fill: Scalar) -> Tensor {
        let entries = [([0, 2], values[0]), ([1, 0], values[1])];
        Tensor::from_triplets([2, 3], entries).unwrap().with_fill(fill).unwrap()
    }
    vec![
        of([1.5, 0.0], Scalar::F64(f64::INFINITY)),
        of([1.5, 0.0], Scalar::F64(f64::NAN)),
        of([1.5f32, 0.0], Scalar::F64(-0.25)),
        of([7i64, 0], Scalar::I64(i64::MAX)),
        of([7u8, 0], Scalar::I64(255)),
        of([[1.5, 2.0], [0.0, 0.0]], Scalar::C128([1.0, -1.0])),
        of([1.5, 2.0], Scalar::F64(0.0)),
    ]
}

fn expect_fill(list: &Coordinates, tensor: &Tensor, path: &Path) {
    assert!(list.has_fill(Some(tensor.storage().fill)), "{}: {:?}", path.display(), list.fill());
}

#[test]
fn files_have_the_fill_values_of_tensors() {
    let folder = Folder::new();
    for (n, tensor) in tensors().iter().enumerate() {
        let list = tensor.to_coordinates().unwrap();
        let names = ["a.mtx", "a.mtx.gz", "a.tns", "a.tns.gz", "a.npz", "a.bsp.npz", "b.tns/"];
        for name in names {
            let path = folder.file(&format!("{n}{name}"));
            write(&path, &list, &WriteOptions::default()).unwrap();
            let file = read(&path).unwrap();
            expect_fill(&file.coordinates, tensor, &path);
            assert!(file.coordinates.has_fill(file.header.fill), "{}", path.display());
            assert_eq!(file.coordinates.crds(), list.crds(), "{}", path.display());
        }
        let path = folder.file(&format!("{n}.rb"));
        let written = write(&path, &list, &WriteOptions::default());
        assert_eq!(written.is_ok(), list.fill().is_none(), "{}", path.display());
    }
}

#[test]
fn parts_of_files_have_the_fill_value() {
    let folder = Folder::new();
    let tensor = &tensors()[0];
    let list = tensor.to_coordinates().unwrap();
    for name in ["a.mtx", "a.tns"] {
        let path = folder.file(name);
        let about = (list.dims(), list.vals().datatype());
        let told = write_in_parts(&path, about, &WriteOptions::default(), |write| write(&list));
        assert!(told.unwrap_err().message.contains("fill value inf"));
        let options = WriteOptions { fill: list.fill(), ..WriteOptions::default() };
        write_in_parts(&path, about, &options, |write| write(&list)).unwrap();
        let cut = Cut::open(&path, &ReadOptions::default()).unwrap();
        let part = cut.read(0, 1, None).unwrap();
        let mut all = Found::default();
        all.join(&part.found);
        expect_fill(&cut.finished(part, &all).unwrap(), tensor, &path);
    }
}

/// Arrays have the fill value where there is no entry, not 0.
#[test]
fn arrays_hold_the_fill_value() {
    let folder = Folder::new();
    let list = tensors()[3].to_coordinates().unwrap();
    let path = folder.file("a.mtx");
    write(&path, &list, &WriteOptions { layout: Layout::Array, ..Default::default() }).unwrap();
    let most = i64::MAX;
    let values = Values::I64(vec![most, 0, most, most, 7, most]);
    assert_eq!(*read(&path).unwrap().coordinates.vals(), values);
}

#[test]
fn lists_of_two_fill_values_are_not_joined() {
    let [one, .., other] = &tensors()[..] else { unreachable!() };
    let mut list = one.to_coordinates().unwrap();
    assert!(list.append(other.to_coordinates().unwrap()).is_err());
    assert_ne!(list, list.clone().with_fill(Scalar::F64(3.0)));
    assert_eq!(list.picked(&[1]).unwrap().fill(), list.fill());
    list.append(one.to_coordinates().unwrap()).unwrap();
    assert_eq!(list.fill(), Some(Scalar::F64(f64::INFINITY)));
}
