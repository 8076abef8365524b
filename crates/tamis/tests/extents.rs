//! Dimensions and coordinates at the end of what numbers can be.

use tamis::{
    Coordinates, Duplicates, IndexWidth, Kernel, LARGEST_DIMENSION, Options, Scalar, Tensor,
    ToFormat, Values, format,
};

fn packed(text: &str, dims: &[u64], crds: &[Vec<u64>]) -> Result<Tensor, tamis::Diagnostic> {
    let vals = Values::F64((0..crds[0].len()).map(|k| 1.0 + k as f64).collect());
    let list = Coordinates::new(dims.to_vec(), crds.to_vec(), vals).expect("a list of entries");
    let storage = format::parse(text, Some(dims.len()))?.resolve(tamis::DataType::F64)?;
    tamis::pack(&list, &storage, Duplicates::Sum)
}

fn run(text: &str, a: &Tensor, result: &str, shape: Vec<u64>) -> Result<Tensor, tamis::Diagnostic> {
    let options = Options {
        results: [("C".to_owned(), format::parse(result, Some(1))?)].into(),
        shapes: [("C".to_owned(), shape)].into_iter().filter(|(_, s)| !s.is_empty()).collect(),
        ..Options::default()
    };
    let kernel = Kernel::compile(text, &[("A", a)], &options)?;
    Ok(kernel.run(&[("A", a)])?.remove(0).1)
}

fn run_scalar(text: &str, a: &Tensor) -> f64 {
    let kernel = Kernel::compile(text, &[("A", a)], &Options::default()).expect("a kernel");
    let results = kernel.run(&[("A", a)]).expect("a result");
    let (_, c) = results.iter().find(|(name, _)| name == "C").expect("a number");
    c.vals().get(0).as_f64()
}

#[test]
fn coordinates_of_results_have_the_width_that_they_need() {
    let a = packed("sparse", &[6], &[vec![1, 3]]).expect("a vector");
    let text = "C(i[4000000000:4000000006]) = A(i)";
    for result in ["sparse", "hash"] {
        let c = run(text, &a, result, vec![5_000_000_000]).expect("a result");
        let mut crds = c.to_coordinates().expect("room for a list").crds()[0].clone();
        crds.sort_unstable();
        assert_eq!(crds, [4_000_000_001, 4_000_000_003]);
    }
    let refused = run(text, &a, "sparse{crd: i32}", vec![5_000_000_000]).expect_err("too wide");
    let message = "error[position-overflow]: coordinates of C go up to 4999999999 and have 32 bits";
    assert_eq!(refused.to_string().lines().next(), Some(message));
}

#[test]
fn coordinates_of_copies_have_the_width_that_they_need() {
    for format in ["(i) -> (i/4: compressed, i%4: dense)", "sparse", "hash"] {
        let crds = [vec![0, 4_000_000_001, 4_999_999_999]];
        let a =
            packed(&format!("{format}{{crd: i64}}"), &[5_000_000_000], &crds).expect("a vector");
        let c = run("C(i) = A(i[4000000001:])", &a, "sparse", vec![]).expect("a result");
        let list = c.to_coordinates().expect("room for a list");
        let stored = (0..list.vals().len()).filter(|&n| list.vals().get(n) != Scalar::F64(0.0));
        let stored: Vec<u64> = stored.map(|n| list.crds()[0][n]).collect();
        assert_eq!(stored, [0, 999_999_998], "{format}");
    }
}

/// Loops over what is written to slices go over its entries, not over all coordinates of the result.
#[test]
fn slices_of_long_results_are_written_in_time() {
    let long = 1 << 50;
    let a = Tensor::dense(&[3], vec![1.0, 2.0, 3.0]).expect("a vector");
    let text = "C(i[1125899906842619:1125899906839619:-1000]) = A(i)";
    for result in ["sparse", "hash", "coo(nonordered)"] {
        let options = Options {
            results: [("C".to_owned(), format::parse(result, Some(1)).expect("a format"))].into(),
            shapes: [("C".to_owned(), vec![long])].into(),
            ..Options::default()
        };
        let kernel = Kernel::compile(text, &[("A", &a)], &options).expect("a kernel");
        let c = kernel.run(&[("A", &a)]).expect("a result").remove(0).1;
        let mut crds = c.to_coordinates().expect("room for a list").crds()[0].clone();
        crds.sort_unstable();
        assert_eq!(crds, [long - 2005, long - 1005, long - 5]);
    }
}

/// Coordinates that a number of 32 bits would not tell apart differ as values.
#[test]
fn coordinates_as_values_are_exact() {
    let last = 1 << 24;
    let crds = [vec![5, last, last + 1], vec![5, last + 1, last]];
    for datatype in ["f16", "bf16", "f32", "f64", "i8", "c64", "c128"] {
        let a =
            packed(&format!("coo{{{datatype}}}"), &[last + 2, last + 2], &crds).expect("a list");
        for (text, expected) in [
            ("C = sum(i, j, (A(i,j) != 0) * (i == j))", 1.0),
            ("D(i,j) = A(i,j) * (i == j); C = D(i,j)", 1.0),
            ("D(i,j) = (A(i,j) != 0) * (j - i); C = D(i,j) * D(i,j)", 2.0),
        ] {
            let c = run_scalar(text, &a);
            assert_eq!(c, expected, "{datatype}: {text}");
        }
    }
}

/// Loops over positions need no coordinates to be counted, however many there would be.
#[test]
fn positions_of_large_tensors_are_fused() {
    let large = [LARGEST_DIMENSION, LARGEST_DIMENSION];
    let crds = [vec![0, 7, LARGEST_DIMENSION - 1], vec![5, 0, LARGEST_DIMENSION - 2]];
    let a = packed("dcsr{crd: i64}", &large, &crds).expect("three entries");
    let fused = |rest: &str| {
        let options = Options {
            schedule: tamis::schedule::parse(&format!("fuse(i, j, f); {rest}")).expect("commands"),
            ..Options::default()
        };
        Kernel::compile("C = A(i,j) * A(i,j)", &[("A", &a)], &options)?.run(&[("A", &a)])
    };
    let c = fused("pos(f, p, A(i,j)); split(p, p0, p1, 2)").expect("a number");
    assert_eq!(c[0].1.vals().get(0), Scalar::F64(14.0));
    let message =
        "error[dimension-too-large]: the schedule fuses f of more than 2^63 - 1 coordinates";
    let refused = fused("split(f, f0, f1, 2)").expect_err("too many");
    assert_eq!(refused.to_string().lines().next(), Some(message));
}

#[test]
fn dimensions_beyond_numbers_are_refused() {
    let text = "csr";
    let refused = packed(text, &[LARGEST_DIMENSION + 1, 3], &[vec![0], vec![0]]);
    let message =
        "error[dimension-too-large]: the dimension 4611686018427387904 is beyond 2^62 - 1";
    assert_eq!(refused.expect_err("too large").to_string().lines().next(), Some(message));
    let largest = [LARGEST_DIMENSION, LARGEST_DIMENSION];
    let a = packed("dcsr{crd: i64}", &largest, &[vec![0, 7, LARGEST_DIMENSION - 1], vec![5, 0, 1]]);
    let a = a.expect("three entries");
    for to in [
        "csr",
        "dia",
        "ell",
        "dok",
        "dense",
        "bitmap",
        "bcsr(2,2)",
        "csb(4,4)",
        "csc",
        "(i, j) -> (j-i: bitmap, j: compressed)",
        "(i, j) -> (j-i: dense, i: hashed)",
        "(i, j) -> (j-i: hashed, j: range)",
        "(i, j) -> (i: hashed, j: hashed)",
    ] {
        let spec = format::parse(to, Some(2)).expect(to);
        let mut storage = spec.resolve(tamis::DataType::F64).expect(to);
        (storage.pos, storage.crd) = (IndexWidth::I64, IndexWidth::I64);
        let code = match a.to_format(&storage) {
            Ok(_) => continue,
            Err(refused) => refused.code,
        };
        let named = [tamis::Code::OutOfMemory, tamis::Code::DimensionTooLarge];
        assert!(named.contains(&code), "{to}: {code:?}");
    }
}

#[test]
fn steps_of_slices_are_exact_up_to_the_largest_dimension() {
    let last = LARGEST_DIMENSION - 1;
    for step in [(1 << 59) + 1, 1 << 60, (1 << 60) + 1, 3 << 59, (1 << 61) + 7, 1 << 62] {
        let up: Vec<u64> = (0..8_u64).map_while(|k| k.checked_mul(step)).collect();
        let up: Vec<u64> = up.into_iter().filter(|&c| c <= last).collect();
        let down: Vec<u64> = up.iter().map(|c| last - c).collect();
        for (slice, crds) in [(format!("[::{step}]"), up), (format!("[::-{step}]"), down)] {
            let a = packed("sparse{crd: i64}", &[LARGEST_DIMENSION], std::slice::from_ref(&crds));
            let a = a.expect("a few entries");
            let squares: f64 = (1..=crds.len()).map(|n| (n * n) as f64).sum();
            assert_eq!(run_scalar(&format!("C = A(i{slice}) * (i + 1)"), &a), squares, "{slice}");
            let text = format!("C(i{slice}) = A(i{slice})");
            let c = run(&text, &a, "sparse", vec![LARGEST_DIMENSION]).expect("a result");
            let (mut stored, mut crds) =
                (c.to_coordinates().expect("room").crds()[0].clone(), crds);
            stored.sort_unstable();
            crds.sort_unstable();
            assert_eq!(stored, crds, "{slice}");
        }
    }
}

/// Slots of a hash map times a dimension may be 2^64 and more, which no number holds.
#[test]
fn lengths_beyond_numbers_are_refused() {
    for power in 56..62 {
        for levels in [
            "i: hashed, j: bitmap",
            "i: hashed, j: dense",
            "j: bitmap, i: hashed",
            "j: dense, i: hashed",
            "i: compressed, j: dense",
            "i: compressed, j: bitmap",
            "i/4: hashed, j: dense, i%4: bitmap",
        ] {
            let rows: Vec<u64> = (0..60).collect();
            let columns = rows.iter().map(|i| i * ((1 << power) / 60)).collect();
            let dims = [1 << 20, 1 << power];
            let a = packed("dcsr{crd: i64}", &dims, &[rows, columns]).expect("60 entries");
            let text = format!("(i, j) -> ({levels}){{pos: i64, crd: i64}}");
            let spec = format::parse(&text, Some(2)).expect(levels);
            let refused = a.to_format(&spec.resolve(tamis::DataType::F64).expect(levels));
            let code = refused.expect_err("beyond any memory").code;
            let named = [tamis::Code::OutOfMemory, tamis::Code::DimensionTooLarge];
            assert!(named.contains(&code), "{levels}, 2^{power}: {code:?}");
        }
    }
}

/// Blocks of rows of a diagonal reach beyond the tensor: what lies there is no entry of it.
#[test]
fn places_outside_of_a_tensor_are_no_entries() {
    let list = vec![vec![0, 0, 2], vec![0, 2, 1]];
    for format in [
        "(i, j) -> (j-i: compressed, i/2: compressed, i%2: dense)",
        "(i, j) -> (j-i: hashed, i/2: compressed, i%2: dense)",
        "(i, j) -> (i: hashed, j-i: compressed)",
        "(i, j) -> (j-i: hashed, j: compressed)",
    ] {
        let tensor = packed(format, &[3, 3], &list).unwrap_or_else(|d| panic!("{d}"));
        let entries = tensor.to_coordinates().expect("room for a list");
        assert!(entries.crds().iter().flatten().all(|&c| c < 3), "{format}: {entries:?}");
        let y = tamis::evaluate("y(i) = A(i,j) * (j + 1)", &[("A", &tensor)]);
        let y = y
            .unwrap_or_else(|d| panic!("{format}: {d}"))
            .to_coordinates()
            .expect("room for a list");
        let entries: Vec<_> =
            (0..y.vals().len()).map(|k| (y.crds()[0][k], y.vals().get(k))).collect();
        let value = |i: u64| entries.iter().find(|(c, _)| *c == i).map_or(0.0, |(_, v)| v.as_f64());
        assert_eq!([0, 1, 2].map(value), [7.0, 0.0, 6.0], "{format}");
    }
}
