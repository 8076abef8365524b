//! Results of many pages: machine code, which computes some strip by strip, gives what the interpreter gives.

mod random;

use tamis::{Backend, Coordinates, Kernel, Options, Parts, Tensor, format};

/// Small integers for values, whose sums are exact in any order.
fn random(format_text: &str, dims: &[u64], entries: usize, seed: u64) -> Tensor {
    random::random(format_text, dims, entries, seed, |x| (x % 7) as f64 - 3.0)
}

/// The values of a dense result.
fn values(text: &str, operands: &[(&str, &Tensor)], backend: Backend) -> Vec<f64> {
    let order = text.split_once('=').map_or(0, |(lhs, _)| lhs.matches(',').count() + 1);
    let dense = format::parse("dense", Some(order)).unwrap_or_else(|d| panic!("{d}"));
    let options = Options {
        results: [("R".to_owned(), dense)].into(),
        backend,
        parts: Parts::Whole,
        ..Options::default()
    };
    let kernel = Kernel::compile(text, operands, &options).unwrap_or_else(|d| panic!("{d}"));
    let mut results = kernel.run(operands).unwrap_or_else(|d| panic!("{text}: {d}"));
    results.remove(0).1.vals().as_slice::<f64>().unwrap_or_default().to_vec()
}

#[test]
fn results_of_many_pages_are_those_of_the_interpreter() {
    let x = random("dense", &[6], 12, 1);
    let c = random("dense", &[6, 40], 200, 2);
    let d = random("dense", &[6, 1100], 6000, 3);
    let v = random("sparse", &[1100], 150, 4);
    let blocks = "(i, j) -> (j: compressed, i/4: dense, i%4: dense)";
    for format in ["csr", "csc", "dcsr", "coo", "dia", "ell", "dok", "bcsr(2,4)", blocks] {
        let b = random(format, &[6, 1100], 300, 5);
        let operands = [("x", &x), ("C", &c), ("D", &d), ("v", &v), ("B", &b)];
        for text in [
            "R(j) = B(i,j) * x(i)",
            "R(j) = sum(i, x(i) + B(i,j))",
            "R(j) = sum(i, max(x(i), B(i,j)))",
            "R(j) = sum(i, x(i) * (1 + B(i,j)))",
            "R(j) = sum(i, abs(D(i,j) - B(i,j)))",
            "R(j,k) = sum(i, C(i,k) + v(j))",
            "R(j,k) = sum(i, C(i,k) * (D(i,j) - B(i,j)))",
            "R(j,i) = B(i,j) + v(j)",
        ] {
            let read = |(name, _): &&(&str, &Tensor)| text.contains(&format!("{name}("));
            let used: Vec<(&str, &Tensor)> = operands.iter().filter(read).copied().collect();
            let [want, got] =
                [Backend::Interpreter, Backend::Jit].map(|backend| values(text, &used, backend));
            assert!(want == got, "{text} with B in {format}");
        }
    }
}

/// The coordinates and values of a result in a format, computed as a whole.
fn listed(text: &str, result: &str, a: &Tensor, backend: Backend) -> Coordinates {
    let spec = format::parse(result, Some(a.dims().len())).unwrap_or_else(|d| panic!("{d}"));
    let results = [("R".to_owned(), spec)].into();
    let options = Options { results, backend, parts: Parts::Whole, ..Options::default() };
    let operands = [("A", a)];
    let kernel = Kernel::compile(text, &operands, &options).unwrap_or_else(|d| panic!("{d}"));
    let mut results = kernel.run(&operands).unwrap_or_else(|d| panic!("{text}: {d}"));
    results.remove(0).1.to_coordinates().expect("room for a list")
}

#[test]
fn lists_in_no_order_are_sorted_alike_by_all_backends() {
    // Few and many, crowded and far apart, keys within 64 bits and beyond, one column beside them and two.
    for (dims, entries) in [
        (&[300, 200][..], 90),
        (&[300, 200], 9_000),
        (&[3, 1 << 30], 40_000),
        (&[100_000, 100_000], 120_000),
        (&[1 << 50, 1 << 50], 40_000),
        (&[40, 1 << 20, 900], 50_000),
        (&[1 << 30, 1 << 30, 1 << 30], 70_000),
    ] {
        for (kind, text) in [("f64", ["R(j,i)", "R(k,i,j)"]), ("c128", ["R(i,j)", "R(j,k,i)"])] {
            let names = ["i", "j", "k"][..dims.len()].join(",");
            let text = format!("{} = A({names})", text[dims.len() - 2]);
            let format = match dims.len() {
                2 => "coo(nonordered,nonunique)",
                _ => {
                    "(i, j, k) -> (i: compressed(nonordered,nonunique), j: singleton(nonordered,nonunique), k: singleton(nonordered))"
                }
            };
            let a = random(&format!("{format}{{{kind}}}"), dims, entries, entries as u64);
            let result = if dims.len() == 2 { "dcsr" } else { "csf" };
            let list = |backend| listed(&text, &format!("{result}{{{kind}}}"), &a, backend);
            let want = list(Backend::Interpreter);
            assert!(want.vals().len() > entries / 2, "{text} of {dims:?} in {kind}");
            let mut backends = vec![Backend::Jit];
            backends.extend(tamis::has_c_compiler().then_some(Backend::C));
            for backend in backends {
                let got = list(backend);
                let same = got.crds() == want.crds() && got.vals() == want.vals();
                assert!(same, "{text} of {dims:?} in {kind} by {backend:?}");
            }
        }
    }
}

/// The same coordinates, of the last mode so many times as far apart.
fn stretched(list: &Coordinates, by: u64) -> Coordinates {
    let (mut dims, mut crds) = (list.dims().to_vec(), list.crds().to_vec());
    let last = dims.len() - 1;
    dims[last] *= by;
    crds[last].iter_mut().for_each(|c| *c *= by);
    Coordinates::new(dims, crds, list.vals().clone()).expect("a list")
}

/// The elements that are not 0.
fn elements(list: &Coordinates) -> Vec<(Vec<u64>, f64)> {
    let element = |n: usize| (list.crds().iter().map(|c| c[n]).collect(), list.vals().as_f64(n));
    (0..list.vals().len()).map(element).filter(|(_, value)| *value != 0.0).collect()
}

/// A product in which the columns of B are so many times as far apart.
fn product(
    (text, stored, result): (&str, &str, &str),
    (a, b): (&Tensor, &Coordinates),
    by: u64,
    backend: Backend,
) -> Coordinates {
    let order = Some(b.dims().len());
    let spec = format::parse(stored, order).expect("a format");
    let mut storage = spec.resolve(tamis::DataType::F64).expect("a storage");
    (storage.pos, storage.crd) = (tamis::IndexWidth::I64, tamis::IndexWidth::I64);
    let b = tamis::pack(&stretched(b, by), &storage, tamis::Duplicates::Refuse).expect("a tensor");
    let results = [("R".to_owned(), format::parse(result, order).expect("a format"))].into();
    let options = Options { results, backend, ..Options::default() };
    let operands = [("A", a), ("B", &b)];
    let kernel = Kernel::compile(text, &operands, &options).unwrap_or_else(|d| panic!("{d}"));
    let result = kernel.run(&operands).unwrap_or_else(|d| panic!("{text}: {d}")).remove(0);
    result.1.to_coordinates().expect("room for a list")
}

#[test]
fn rows_of_any_width_are_summed_alike() {
    let a = random("csr", &[80, 60], 900, 8);
    for (text, dims, stored, results) in [
        ("R(i,j) = A(i,k) * B(k,j)", &[60, 500][..], "csr", &["csr", "coo", "dcsr"][..]),
        ("R(i,j,l) = A(i,k) * B(k,j,l)", &[60, 20, 25], "csf", &["csf", "coo"]),
    ] {
        let b = random(stored, dims, 3_000, 9).to_coordinates().expect("room for a list");
        let want = product((text, stored, results[0]), (&a, &b), 1, Backend::Interpreter);
        assert!(elements(&want).len() > 5_000);
        let mut backends = vec![Backend::Jit, Backend::Interpreter];
        backends.extend(tamis::has_c_compiler().then_some(Backend::C));
        for by in [1, 1 << 20, 1 << 40] {
            let want = elements(&stretched(&want, by));
            for (&result, &backend) in
                results.iter().flat_map(|r| backends.iter().map(move |b| (r, b)))
            {
                let got = elements(&product((text, stored, result), (&a, &b), by, backend));
                assert!(got == want, "{text} in {result}, {by} apart, by {backend:?}");
            }
        }
    }
}
