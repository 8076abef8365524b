//! Infinite operands meet what is stored, and nothing else: no format and no order of loops makes
//! a NaN of an infinity and an absent entry.

use std::collections::BTreeMap;
use tamis::{Backend, Coordinates, DataType, Duplicates, Kernel, Options, Tensor, Values, format};
use tamis_testing::check::Outcome;
use tamis_testing::random::Random;
use tamis_testing::{generate, infinite};

const INF: f64 = f64::INFINITY;

fn stored(text: &str, dims: &[u64], entries: &[(&[u64], f64)]) -> Tensor {
    let crds = (0..dims.len()).map(|m| entries.iter().map(|(c, _)| c[m]).collect()).collect();
    let vals = Values::F64(entries.iter().map(|(_, v)| *v).collect());
    let list = Coordinates::new(dims.to_vec(), crds, vals).expect("a list of entries");
    let spec = format::parse(text, Some(dims.len())).expect("a format");
    let storage = spec.resolve(DataType::F64).expect("a storage");
    tamis::pack(&list, &storage, Duplicates::Refuse).expect("a tensor")
}

#[test]
fn an_infinite_factor_of_nothing_is_nothing() {
    let d = Tensor::dense(&[4], vec![INF, 2.0, -INF, INF]).expect("a vector");
    let x = Tensor::dense(&[3], vec![1.0, 2.0, 4.0]).expect("a vector");
    let entries: [(&[u64], f64); 3] = [(&[1, 0], 1.0), (&[1, 2], 2.0), (&[3, 1], -5.0)];
    for text in ["csr", "csc", "dcsr", "coo", "dok", "dcsc", "(i,j)->(i:dense,j:bitmap)"] {
        let a = stored(text, &[4, 3], &entries);
        let operands = [("d", &d), ("A", &a), ("x", &x)];
        for value in ["d(i) * A(i,j) * x(j)", "A(i,j) * d(i) * x(j)", "x(j) * (A(i,j) * d(i))"] {
            for loops in ["", "reorder(j, i)", "reorder(i, j)"] {
                let schedule = tamis::schedule::parse(loops).expect("a schedule");
                let spec = format::parse("dense", Some(1)).expect("a format");
                let results = BTreeMap::from([("y".to_owned(), spec)]);
                let options = Options { results, schedule, ..Options::default() };
                let run = || {
                    Kernel::compile(&format!("y(i) = {value}"), &operands, &options)?.run(&operands)
                };
                match run() {
                    Ok(results) => assert_eq!(
                        results[0].1.vals().as_slice::<f64>(),
                        Some(&[0.0, 18.0, 0.0, -INF][..]),
                        "{value} of {text} by {loops:?}"
                    ),
                    // Not every format has loops in every order.
                    Err(refused) => assert_ne!(loops, "", "{refused}"),
                }
            }
        }
    }
}

/// The diagonal is looked for once for all rows, in a copy that tells which elements are stored.
#[test]
fn an_infinite_factor_of_no_diagonal_is_nothing() {
    let n = 40;
    let d = Tensor::dense(&[n, n], vec![INF; (n * n) as usize]).expect("a matrix");
    let entries: [(&[u64], f64); 3] = [(&[0, 1], 1.0), (&[2, 2], 7.0), (&[5, 4], 2.0)];
    for text in ["csr", "csc", "coo", "dok", "(i, j) -> (i-j: compressed(nonunique), j: singleton)"]
    {
        let e = stored(text, &[n, n], &entries);
        for reduction in
            ["sum(j, D(i,j) * E(j,j))", "sum(j, E(j,j) * D(i,j))", "max(j, D(i,j) * E(j,j))"]
        {
            let operands = [("D", &d), ("E", &e)];
            let s = tamis::evaluate(&format!("s(i) = {reduction}"), &operands).expect("a vector");
            let all = vec![INF; n as usize];
            assert_eq!(s.values::<f64>().expect("values"), all, "{reduction} of {text}");
        }
    }
}

/// The sum over an empty dimension is a zero to multiply with, whether its loop is divided or not.
#[test]
fn a_sum_over_nothing_is_a_zero_in_every_schedule() {
    let a = stored("csr", &[2, 2], &[(&[0, 0], INF), (&[1, 1], 1.0)]);
    let m = stored("sparse", &[2], &[(&[0], 1.0), (&[1], 1.0)]);
    let d = Tensor::dense(&[2, 0], Vec::<f64>::new()).expect("a matrix");
    let operands = [("A", &a), ("m", &m), ("D", &d)];
    let schedules = ["", "split(k, k0, k1, 4)", "divide(k, k0, k1, 4)", "unroll(k, 2)"];
    for loops in schedules.into_iter().chain(["split(k, k0, k1, 4); split(k0, k2, k3, 2)"]) {
        let schedule = tamis::schedule::parse(loops).expect("a schedule");
        let options = Options { schedule, ..Options::default() };
        let text = "y(i) = A(i,j) * sum(k, sqrt(m(j) * D(j,k)))";
        let kernel = Kernel::compile(text, &operands, &options).expect("a valid program");
        let y = kernel.run(&operands).expect("it runs").remove(0).1;
        let vals = y.vals().as_slice::<f64>().expect("floats");
        assert!(vals[0].is_nan() && vals[1] == 0.0, "{loops:?}: {vals:?}");
    }
}

/// Stored zeros are values: nothing is left out of a sum where there are any.
#[test]
fn an_infinite_factor_of_a_stored_zero_is_nan() {
    let d = Tensor::dense(&[1], vec![INF]).expect("a vector");
    let x = Tensor::dense(&[2], vec![1.0, 1.0]).expect("a vector");
    for text in ["csr", "csc", "dense"] {
        let a = stored(text, &[1, 2], &[(&[0, 1], 0.0)]);
        let y = tamis::evaluate("y(i) = d(i) * A(i,j) * x(j)", &[("d", &d), ("A", &a), ("x", &x)]);
        let y = y.expect("a result");
        assert!(y.vals().as_slice::<f64>().is_some_and(|y| y[0].is_nan()), "{text}");
    }
}

/// What chains of products compute beforehand tracks empty reductions.
#[test]
fn an_infinite_factor_of_nothing_is_nothing_in_chains() {
    let a = [(&[0, 1][..], INF), (&[1, 2][..], 2.0)];
    let b = [(&[0, 0][..], 3.0), (&[2, 1][..], 4.0)];
    let c = [(&[0, 0][..], INF), (&[1, 0][..], 5.0), (&[1, 1][..], 1.0)];
    let x = Tensor::dense(&[2], vec![INF, 6.0]).expect("a vector");
    let z = Tensor::dense(&[2, 2], vec![INF, INF, 6.0, 7.0]).expect("a matrix");
    for texts in [["csr", "csr"], ["csr", "csc"], ["csc", "csr"], ["coo", "dok"], ["dcsr", "csr"]] {
        let a = stored(texts[0], &[2, 3], &a);
        let b = stored(texts[1], &[3, 2], &b);
        let c = stored(texts[0], &[2, 2], &c);
        let operands = [("A", &a), ("B", &b), ("C", &c), ("x", &x), ("Z", &z)];
        let check = |text: &str, used: &[usize], expected: &[f64]| {
            let operands: Vec<(&str, &Tensor)> = used.iter().map(|&k| operands[k]).collect();
            let name = text.split('(').next().unwrap_or_default().to_owned();
            let order = text.split_once(')').map_or(0, |(lhs, _)| lhs.matches(',').count() + 1);
            let spec = format::parse("dense", Some(order)).expect("a format");
            let results = BTreeMap::from([(name, spec)]);
            let options = Options { results, ..Options::default() };
            let kernel = Kernel::compile(text, &operands, &options).expect("a kernel");
            let results = kernel.run(&operands).expect("a result");
            let vals = results[0].1.vals().as_slice::<f64>();
            assert_eq!(vals, Some(expected), "{text} of {texts:?}");
        };
        check("y(i) = A(i,j) * B(j,k) * x(k)", &[0, 1, 3], &[0.0, 48.0]);
        check("y(i) = x(k) * B(j,k) * A(i,j)", &[0, 1, 3], &[0.0, 48.0]);
        check("Y(i,l) = A(i,j) * B(j,k) * Z(k,l)", &[0, 1, 4], &[0.0, 0.0, 48.0, 56.0]);
        check("Y(i,l) = A(i,j) * B(j,k) * C(k,l)", &[0, 1, 2], &[0.0, 0.0, 40.0, 8.0]);
        check("Y(i,m) = A(i,j) * B(j,k) * C(k,l) * Z(l,m)", &[0, 1, 2, 4], &[0.0, 0.0, INF, INF]);
    }
}

/// Kernels that run the sums of long products apart track empty reductions.
#[test]
fn an_infinite_factor_of_nothing_is_nothing_in_split_products() {
    // Rows of no, four and eight entries.
    let entry = |i: u64, j: u64| ([i, j], 1.0);
    let entries: Vec<([u64; 2], f64)> =
        (0..4).map(|j| entry(1, j)).chain((0..8).map(|j| entry(2, j))).collect();
    let entries: Vec<(&[u64], f64)> = entries.iter().map(|(at, v)| (&at[..], *v)).collect();
    let ones = |rows, columns| {
        let vals = vec![1.0; (rows * columns) as usize];
        Tensor::dense(&[rows, columns], vals).expect("a matrix")
    };
    let infinite = Tensor::dense(&[40, 40], vec![INF; 1600]).expect("a matrix");
    for format in ["csr", "dcsr"] {
        let b = stored(format, &[3, 8], &entries);
        let check = |text: &str, operands: &[(&str, &Tensor)]| {
            let spec = format::parse("dense", Some(2)).expect("a format");
            let results = BTreeMap::from([("A".to_owned(), spec)]);
            let options = Options { results, ..Options::default() };
            let kernel = Kernel::compile(text, operands, &options).expect("a kernel");
            let results = kernel.run(operands).expect("a result");
            let vals = results[0].1.vals().as_slice::<f64>().expect("doubles");
            let (nothing, rest) = vals.split_at(vals.len() / 3);
            assert!(nothing.iter().all(|v| *v == 0.0), "{text} of {format}");
            assert!(rest.iter().all(|v| *v == INF), "{text} of {format}");
        };
        let (c, e) = (ones(8, 40), ones(8, 40));
        check("A(i,l) = B(i,j) * C(j,k) * D(k,l)", &[("B", &b), ("C", &c), ("D", &infinite)]);
        check("A(i,l) = B(i,j) * D(i,l)", &[("B", &b), ("D", &stored_rows(&infinite))]);
        let f = ones(3, 40);
        let operands = [("B", &b), ("C", &f), ("E", &e), ("F", &c), ("D", &infinite)];
        check("A(i,m) = B(i,j) * C(i,k) * E(j,k) * F(j,l) * D(l,m)", &operands);
    }
}

/// The first three rows of a matrix.
fn stored_rows(matrix: &Tensor) -> Tensor {
    let columns = matrix.dims()[1];
    let vals = matrix.vals().as_slice::<f64>().expect("doubles");
    Tensor::dense(&[3, columns], vals[..3 * columns as usize].to_vec()).expect("a matrix")
}

/// Nor do schedules make a factor meet an empty sum.
#[test]
fn an_infinite_factor_of_nothing_is_nothing_under_schedules() {
    let b = stored("csr", &[2, 2], &[(&[0, 0], 1.0)]);
    let b3 = stored("csf", &[2, 2, 2], &[(&[0, 0, 0], 1.0)]);
    let ones = Tensor::dense(&[2, 2], vec![1.0; 4]).expect("a matrix");
    let infinite = Tensor::dense(&[2, 2], vec![INF; 4]).expect("a matrix");
    let infinite3 = Tensor::dense(&[2, 2, 2], vec![INF; 8]).expect("a tensor");
    let operands = [("B", &b), ("T", &b3), ("C", &ones), ("D", &infinite), ("D3", &infinite3)];
    let check = |text: &str, schedules: &[&str]| {
        let used = |name: &str| text.contains(&format!("{name}("));
        let operands: Vec<_> = operands.iter().copied().filter(|(name, _)| used(name)).collect();
        let order = text.split_once(')').map_or(0, |(lhs, _)| lhs.matches(',').count() + 1);
        for schedule in ["", "parallelize(i, cpu_thread)"].iter().chain(schedules) {
            let commands = tamis::schedule::parse(schedule).expect("a schedule");
            let spec = format::parse("dense", Some(order)).expect("a format");
            let results = BTreeMap::from([("Z".to_owned(), spec)]);
            let options = Options { results, schedule: commands, ..Options::default() };
            let Ok(kernel) = Kernel::compile(text, &operands, &options) else {
                assert_eq!(*schedule, "parallelize(i, cpu_thread)", "{text} by {schedule}");
                continue;
            };
            let results = kernel.run(&operands).expect("a result");
            let vals = results[0].1.vals().as_slice::<f64>().expect("doubles");
            assert!(vals.iter().all(|v| *v == 0.0 || *v == INF), "{text} by {schedule}: {vals:?}");
            assert!(vals.contains(&0.0) && vals.contains(&INF), "{text} by {schedule}: {vals:?}");
        }
    };
    let chain = [
        "reorder(i, l, k, j); loopfuse(1)",
        "loopfuse(1)",
        "loopfuse(1); split(j, j0, j1, 2)",
        "split(j, j0, j1, 2); loopfuse(1)",
        "loopfuse(1); precompute(B(i,j) * C(j,k), k, kw, ww)",
        "precompute(B(i,j) * C(j,k), k, kw, ww)",
    ];
    check("Z(i,l) = B(i,j) * C(j,k) * D(k,l)", &chain);
    let text = "Z(i,j,k) = B(j,k) * D3(j,k,l) * C(j,l) * C(i,k)";
    check(text, &["reorder(j, k); loopfuse(1)"]);
    check("Z(k) = B(i,k) * C(i,j) * D(k,l)", &["precompute(B(i,k) * C(i,j), k, k, w)"]);
    check("Z(j,l) = T(i,j,l) * C(i,l) * D(k,l) * C(j,k)", &["reorder(l, j, i)"]);
}

#[test]
fn random_programs_are_right_on_infinite_values() {
    let mut right = 0;
    for seed in 0..3000u64 {
        let mut random = Random::new(seed.wrapping_mul(0x1234_5678_9ABC_DEF1));
        let case = infinite::drawn(&generate::case(&mut random), &mut random);
        match infinite::check(&case, Backend::Interpreter) {
            Outcome::Right => right += 1,
            Outcome::Invalid => {}
            Outcome::Wrong(problem) => panic!("seed {seed}: {problem}\n{case}"),
        }
    }
    assert!(right > 50, "{right} programs only");
}
