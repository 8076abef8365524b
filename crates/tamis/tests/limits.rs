//! Programs at the limits: many operands, many loops, large tiles.

use tamis::{
    Backend, Code, Coordinates, Duplicates, Kernel, Options, Tensor, Values, format, schedule,
};

const LENGTH: u64 = 12;

/// Entries of a vector, or on the diagonal of a matrix: operand `k` lacks one in five.
fn operand(k: usize, text: &str, order: usize) -> (Tensor, Vec<f64>) {
    let value = |i: u64| if (i as usize + k) % 5 == 3 { 0.0 } else { 1.0 + (i % 3) as f64 / 4.0 };
    let dense: Vec<f64> = (0..LENGTH).map(value).collect();
    let stored: Vec<u64> = (0..LENGTH).filter(|&i| dense[i as usize] != 0.0).collect();
    let vals = Values::F64(stored.iter().map(|&i| dense[i as usize]).collect());
    let list = Coordinates::new(vec![LENGTH; order], vec![stored; order], vals)
        .expect("a list of entries");
    let spec = format::parse(text, Some(order)).unwrap_or_else(|d| panic!("{d}"));
    let storage = spec.resolve(tamis::DataType::F64).unwrap_or_else(|d| panic!("{d}"));
    let tensor = tamis::pack(&list, &storage, Duplicates::Sum).unwrap_or_else(|d| panic!("{d}"));
    (tensor, dense)
}

/// Runs a program over operands `a0`, `a1`, .. and compares with what follows from their elements.
fn check(text: &str, count: usize, (format, order): (&str, usize), expect: impl Fn(&[f64]) -> f64) {
    let (tensors, dense): (Vec<Tensor>, Vec<Vec<f64>>) =
        (0..count).map(|k| operand(k, format, order)).unzip();
    let names: Vec<String> = (0..count).map(|k| format!("a{k}")).collect();
    let operands: Vec<(&str, &Tensor)> = names.iter().map(String::as_str).zip(&tensors).collect();
    for backend in [Backend::Jit, Backend::Interpreter] {
        let results = [("y".to_owned(), format::parse("dense", Some(1)).expect("a format"))].into();
        let options = Options { backend, results, ..Options::default() };
        let kernel = Kernel::compile(text, &operands, &options).unwrap_or_else(|d| panic!("{d}"));
        let y = kernel.run(&operands).unwrap_or_else(|d| panic!("{d}")).remove(0).1;
        let y = y.vals().as_slice::<f64>().expect("floats");
        for i in 0..LENGTH as usize {
            let at: Vec<f64> = dense.iter().map(|d| d[i]).collect();
            let (found, expect) = (y[i], expect(&at));
            assert!((found - expect).abs() <= 1e-12 * expect.abs(), "{text}: {found} for {expect}");
        }
    }
}

fn joined(count: usize, by: &str, term: impl Fn(usize) -> String) -> String {
    (0..count).map(term).collect::<Vec<_>>().join(by)
}

/// Positions for each row are refused before any are written, whatever lies below them.
#[test]
fn positions_beyond_memory_are_refused_at_once() {
    for format in ["csr", "bcsr(4,4)", "dcsr", "(i,j) -> (i: dense, j: bitmap)"] {
        let entries = [([7, 1 << 40], 2.0), ([0, 3], 1.0)];
        let made = tamis::from_entries([1 << 44, 1 << 41], entries, format, Duplicates::Sum);
        match (format, made) {
            ("dcsr", made) => assert_eq!(made.expect("two entries").nnz(), 2),
            (_, made) => {
                let refused = made.expect_err(format).code;
                let known = [Code::OutOfMemory, Code::DimensionTooLarge];
                assert!(known.contains(&refused), "{format}: {refused:?}");
            }
        }
    }
}

#[test]
fn products_of_sums_have_few_cases() {
    let factor = |k: usize| format!("(a{}(i) + a{}(i))", 2 * k, 2 * k + 1);
    let text = format!("y(i) = {}", joined(10, " * ", factor));
    check(&text, 20, ("sparse", 1), |a| a.chunks(2).map(|pair| pair[0] + pair[1]).product());
    let text = format!("y(i) = {}", joined(12, " * ", |k| format!("(a{k}(i) + 1)")));
    check(&text, 12, ("sparse", 1), |a| a.iter().map(|a| a + 1.0).product());
}

#[test]
fn any_number_of_operands_meets() {
    let product = joined(64, " * ", |k| format!("a{k}(i)"));
    let text = format!("y(i) = {product} + a64(i)");
    check(&text, 65, ("sparse", 1), |a| a[..64].iter().product::<f64>() + a[64]);
    let nested = (0..70).rev().fold("1".to_owned(), |e, k| format!("a{k}(i) * ({e})"));
    check(&format!("y(i) = {nested}"), 70, ("sparse", 1), |a| a.iter().product());
}

#[test]
fn sums_of_diagonals_have_few_cases() {
    let text = format!("y(i) = {}", joined(16, " + ", |k| format!("a{k}(i,i)")));
    check(&text, 16, ("csr", 2), |a| a.iter().sum());
}

#[test]
fn loops_are_divided_many_times() {
    let (a, dense) = operand(0, "sparse", 1);
    let more = joined(16, "; ", |k| format!("divide(b{k}, b{}, c{}, 2)", k + 1, k + 1));
    let commands = schedule::parse(&format!("divide(i, b0, c0, 2); {more}"));
    let commands = commands.unwrap_or_else(|d| panic!("{d}"));
    let options = Options { schedule: commands, ..Options::default() };
    let kernel = Kernel::compile("y(i) = 2 * a(i)", &[("a", &a)], &options);
    let kernel = kernel.unwrap_or_else(|d| panic!("{d}"));
    let y = kernel.run(&[("a", &a)]).unwrap_or_else(|d| panic!("{d}")).remove(0).1;
    let found = y.to_coordinates().expect("room for a list");
    let Values::F64(vals) = found.vals() else { panic!("floats") };
    for (&i, value) in found.crds()[0].iter().zip(vals) {
        assert_eq!(*value, 2.0 * dense[i as usize]);
    }
}

#[test]
fn workspaces_beyond_numbers_are_refused() {
    let (dims, vals) = (vec![2, 1 << 32, 1 << 32], Values::F64(vec![1.0; 2]));
    let list = Coordinates::new(dims, vec![vec![0, 1], vec![1, 5], vec![7, 0]], vals)
        .expect("a list of entries");
    let spec = format::parse("csf", Some(3)).unwrap_or_else(|d| panic!("{d}"));
    let storage = spec.resolve(tamis::DataType::F64).unwrap_or_else(|d| panic!("{d}"));
    let a = tamis::pack(&list, &storage, Duplicates::Sum).unwrap_or_else(|d| panic!("{d}"));
    for kind in ["dense", "listed", "bitmap"] {
        let command = format!("precompute(A(i,j,k), (j,k), (jw,kw), w, {kind})");
        let schedule = schedule::parse(&command).unwrap_or_else(|d| panic!("{d}"));
        let options = Options { schedule, ..Options::default() };
        let kernel = Kernel::compile("y(i) = A(i,j,k) * A(i,j,k)", &[("A", &a)], &options);
        let found = kernel.and_then(|kernel| kernel.run(&[("A", &a)])).expect_err("too large");
        let expect =
            "error[dimension-too-large]: the workspace w has more elements than memory can have";
        assert_eq!(found.to_string().lines().next(), Some(expect));
    }
}

/// Room for as many entries as there may be is reserved, and what is left of it is given back.
#[test]
fn results_keep_no_more_than_they_fill() {
    let empty = |length: u64, format: &str| {
        let list = Coordinates::new(vec![length], vec![vec![]], Values::F64(vec![]))
            .expect("a list of entries");
        let storage = format::parse(format, Some(1)).and_then(|f| f.resolve(tamis::DataType::F64));
        let packed = storage.and_then(|s| tamis::pack(&list, &s, Duplicates::Refuse));
        packed.unwrap_or_else(|d| panic!("{d}"))
    };
    let (a, b) = (empty(1 << 13, "bitmap"), empty(1 << 10, "dense"));
    let operands = [("A", &a), ("B", &b)];
    let rows = format::parse("(i, j) -> (i: compressed, j: dense)", Some(2)).expect("a format");
    let results = [("R".to_owned(), rows)].into();
    let options = Options { results, backend: Backend::Jit, ..Options::default() };
    let kernel = Kernel::compile("R(i,j) = A(i) * B(j)", &operands, &options);
    let kernel = kernel.unwrap_or_else(|d| panic!("{d}"));
    let before = tamis::budget::used();
    let run = || kernel.run(&operands).unwrap_or_else(|d| panic!("{d}"));
    let results: Vec<_> = (0..4).map(|_| run()).collect();
    assert!(results.iter().all(|r| r[0].1.nnz() == 0));
    assert!(tamis::budget::used() - before < 4 << 20);
}

/// A part whose result has a position for every row is not worth it for a few entries: together, parts
/// would take ten times the memory that there is.
#[test]
fn parts_have_no_more_places_than_entries() {
    let (n, entries) = (1u64 << 18, 1u64 << 20);
    let crds =
        vec![(0..entries).map(|p| p / 4).collect(), (0..entries).map(|p| p * 7 % n).collect()];
    let vals = Values::F64(vec![1.0; entries as usize]);
    let list = Coordinates::new(vec![n, n], crds, vals).expect("a list of entries");
    let storage = |name| format::parse(name, Some(2)).and_then(|f| f.resolve(tamis::DataType::F64));
    let packed = storage("csr").and_then(|s| tamis::pack(&list, &s, Duplicates::Refuse));
    let a = packed.unwrap_or_else(|d| panic!("{d}"));
    tamis::budget::set_limit(250 << 20);
    for format in ["ell", "dok"] {
        let results = [("R".to_owned(), format::parse(format, Some(2)).expect("a format"))].into();
        let options = Options { results, backend: Backend::Jit, ..Options::default() };
        let kernel = Kernel::compile("R(i,j) = abs(A(i,j))", &[("A", &a)], &options);
        let run = kernel.and_then(|kernel| kernel.run(&[("A", &a)]));
        assert_eq!(run.unwrap_or_else(|d| panic!("{d}"))[0].1.nnz(), entries as usize);
    }
}
