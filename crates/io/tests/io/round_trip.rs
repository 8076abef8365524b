//! What is written reads back the same, whatever the format, the values and the compression.

use crate::Folder;
use crate::random::Random;
use tamis_io::{Bf16, Coordinates, F16, Layout, Values, WriteOptions, read, write};

/// Floats that are hard to write or read.
const HARD: [f64; 10] = [
    0.0,
    -0.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    f64::MAX,
    f64::MIN_POSITIVE,
    5e-324,
    0.1 + 0.2,
    9007199254740993.0,
];

fn random_float(random: &mut Random) -> f64 {
    match random.below(4) {
        0 => HARD[random.below(HARD.len())],
        1 => random.below(100) as f64,
        2 => random.next() as f64 / 1e9,
        _ => f64::from_bits(random.next() << 32 | random.next() >> 8),
    }
}

fn random_values(random: &mut Random, kind: usize, length: usize) -> Values {
    let mut fill = |next: &mut dyn FnMut(&mut Random)| (0..length).for_each(|_| next(random));
    match kind {
        0 => {
            let mut v = Vec::new();
            fill(&mut |r| v.push(r.below(2) as u8));
            Values::Bool(v)
        }
        1 => {
            let mut v = Vec::new();
            fill(&mut |r| v.push(r.next() as i32));
            Values::I32(v)
        }
        2 => {
            let mut v = vec![];
            fill(&mut |r| v.push((r.next() << 40 ^ r.next()) as i64));
            Values::I64(v)
        }
        3 => {
            let mut v = Vec::new();
            fill(&mut |r| v.push(random_float(r) as f32));
            Values::F32(v)
        }
        4 => {
            let mut v = Vec::new();
            fill(&mut |r| v.push(random_float(r)));
            Values::F64(v)
        }
        5 => {
            let mut v = Vec::new();
            fill(&mut |r| v.push([random_float(r), random_float(r)]));
            Values::C128(v)
        }
        6 => {
            let mut v = Vec::new();
            fill(&mut |r| v.push([random_float(r) as f32, random_float(r) as f32]));
            Values::C64(v)
        }
        7 => {
            let mut v = Vec::new();
            fill(&mut |r| v.push(F16::from(random_float(r) as f32)));
            Values::F16(v)
        }
        8 => {
            let mut v = Vec::new();
            fill(&mut |r| v.push(Bf16::from(random_float(r) as f32)));
            Values::Bf16(v)
        }
        _ => {
            let mut v = Vec::new();
            fill(&mut |r| v.push(r.next() as u16));
            Values::U16(v)
        }
    }
}

fn random_tensor(random: &mut Random, order: usize, kind: usize) -> Coordinates {
    let length = if order == 0 { 1 } else { random.below(60) };
    let dims: Vec<u64> = (0..order).map(|_| 1 + random.below(9) as u64).collect();
    let crds = dims
        .iter()
        .map(|&dim| (0..length).map(|_| random.below(dim as usize) as u64).collect())
        .collect();
    Coordinates::new(dims, crds, random_values(random, kind, length)).unwrap()
}

/// The entries as coordinates and bits, where every NaN is the same and integers are floats if
/// the format has no integers.
fn bits(tensor: &Coordinates, has_integers: bool) -> Vec<(Vec<u64>, [u64; 2])> {
    let float = |x: f64| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() };
    let integer = |x: i64| if has_integers { x as u64 } else { float(x as f64) };
    let values: Vec<[u64; 2]> = match &tensor.vals() {
        complex if complex.datatype().is_complex() => {
            (0..complex.len()).map(|n| complex.get(n).parts().map(|x| float(x.as_f64()))).collect()
        }
        reals if reals.datatype().is_float() => {
            (0..reals.len()).map(|n| [float(reals.as_f64(n)), 0]).collect()
        }
        integers => (0..integers.len()).map(|n| [integer(integers.get(n).as_i64()), 0]).collect(),
    };
    let crds = |entry: usize| tensor.crds().iter().map(|crd| crd[entry]).collect();
    values.into_iter().enumerate().map(|(entry, value)| (crds(entry), value)).collect()
}

fn check(folder: &Folder, tensor: &Coordinates, name: &str) {
    let path = folder.file(name);
    let options = WriteOptions { comments: vec!["of a test".into()], ..Default::default() };
    write(&path, tensor, &options).unwrap();
    let back = read(&path).unwrap();
    let is_frostt = name.contains(".tns");
    let mut expect = bits(tensor, !is_frostt);
    if name.contains(".rb") {
        expect.sort_by_key(|(crds, _)| (crds[1], crds[0]));
    }
    assert_eq!(back.coordinates.dims(), tensor.dims());
    assert_eq!(bits(&back.coordinates, !is_frostt), expect, "{name} {tensor:?}");
    let has_comments = !is_frostt || !tensor.dims().is_empty();
    assert_eq!(back.header.comments.len(), usize::from(has_comments));
}

#[test]
fn every_format_and_type() {
    let folder = Folder::new();
    let mut random = Random(1);
    for round in 0..40 {
        for kind in 0..10 {
            let matrix = random_tensor(&mut random, 2, kind);
            for name in ["a.mtx", "a.mtx.gz", "a.rb", "a.rb.gz", "a.tns", "a.tns.gz"] {
                check(&folder, &matrix, name);
            }
            check(&folder, &random_tensor(&mut random, round % 6, kind), "a.tns");
        }
    }
}

/// No integer of 64 bit is rounded on its way, whether the format says that it is one or not.
#[test]
fn integers_are_exact() {
    let folder = Folder::new();
    let list = |vals: Values| {
        Coordinates::new(vec![3, 1], vec![vec![0, 1, 2], vec![0, 0, 0]], vals).unwrap()
    };
    let wide = [
        Values::I64(vec![i64::MIN, 9007199254740993, i64::MAX]),
        Values::U64(vec![7, 9007199254740993, u64::MAX]),
    ];
    for vals in wide {
        let tensor = list(vals);
        for name in ["a.mtx", "a.rb", "a.tns"] {
            write(&folder.file(name), &tensor, &WriteOptions::default()).unwrap();
            assert_eq!(read(&folder.file(name)).unwrap().coordinates, tensor, "{name}");
        }
    }
}

#[test]
fn vectors_and_scalars_are_matrices_of_one_column() {
    let folder = Folder::new();
    let vector = Coordinates::new(vec![4], vec![vec![3, 1]], Values::F64(vec![2.0, 5.0])).unwrap();
    let scalar = Coordinates::new(vec![], vec![], Values::F64(vec![2.5])).unwrap();
    for name in ["v.mtx", "v.rb"] {
        write(&folder.file(name), &vector, &WriteOptions::default()).unwrap();
        let back = read(&folder.file(name)).unwrap().coordinates;
        assert_eq!((back.dims(), back.vals().len()), (&[4, 1][..], 2));
        write(&folder.file(name), &scalar, &WriteOptions::default()).unwrap();
        let back = read(&folder.file(name)).unwrap().coordinates;
        assert_eq!((back.dims(), back.vals()), (&[1, 1][..], &Values::F64(vec![2.5])));
    }
}

#[test]
fn array_layout_adds_duplicates() {
    let folder = Folder::new();
    let tensor = Coordinates::new(
        vec![2, 2],
        vec![vec![1, 1, 0], vec![0, 0, 1]],
        Values::I64(vec![2, 3, 7]),
    )
    .unwrap();
    let options = WriteOptions { layout: Layout::Array, ..Default::default() };
    write(&folder.file("a.mtx"), &tensor, &options).unwrap();
    let text = std::fs::read_to_string(folder.file("a.mtx")).unwrap();
    assert_eq!(text, "%%MatrixMarket matrix array integer general\n2 2\n0\n5\n7\n0\n");
}

#[test]
fn text_is_short_and_exact() {
    let folder = Folder::new();
    let tensor = Coordinates::new(
        vec![3, 4],
        vec![vec![0, 2, 1], vec![3, 0, 1]],
        Values::F64(vec![3.0, 0.1, -1e300]),
    )
    .unwrap();
    write(&folder.file("a.tns"), &tensor, &WriteOptions::default()).unwrap();
    let text = std::fs::read_to_string(folder.file("a.tns")).unwrap();
    assert_eq!(text, "# dims: 3 4\n1 4 3\n3 1 0.1\n2 2 -1e300\n");
    let scalar = Coordinates::new(vec![], vec![], Values::C128(vec![[1.5, -2.0]])).unwrap();
    write(&folder.file("a.tns"), &scalar, &WriteOptions::default()).unwrap();
    assert_eq!(std::fs::read_to_string(folder.file("a.tns")).unwrap(), "1.5-2j\n");
    let scalar = Coordinates::new(vec![], vec![], Values::I32(vec![])).unwrap();
    write(&folder.file("a.tns"), &scalar, &WriteOptions::default()).unwrap();
    assert_eq!(std::fs::read_to_string(folder.file("a.tns")).unwrap(), "0\n");
}
