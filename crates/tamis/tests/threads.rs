//! Results are the same, bit for bit, for any number of threads.

use tamis::{Backend, Coordinates, Duplicates, Kernel, Options, Parts, Tensor, Values, format};

/// Entries in no order with values whose sums depend on it.
fn random(format_text: &str, dims: &[u64], entries: usize, seed: u64) -> Tensor {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 33
    };
    let crds = dims.iter().map(|&d| (0..entries).map(|_| next() % d).collect()).collect();
    let vals = (0..entries).map(|_| next() as f64 / 1e9 + 1e-3).collect();
    let list = Coordinates { dims: dims.to_vec(), crds, vals: Values::F64(vals) };
    let spec = format::parse(format_text, Some(dims.len())).unwrap_or_else(|d| panic!("{d}"));
    let storage = spec.resolve(tamis::DataType::F64).unwrap_or_else(|d| panic!("{d}"));
    tamis::pack(&list, &storage, Duplicates::Sum).unwrap_or_else(|d| panic!("{d}"))
}

fn bits(tensor: &Tensor) -> Vec<Vec<u64>> {
    let levels = tensor.levels().iter().flat_map(|l| [&l.pos, &l.crd, &l.mask]).flatten();
    let index = |b: &tamis::Buffer| (0..b.len()).map(|k| b.index(k) as u64).collect();
    let vals = tensor.vals().as_slice::<f64>().unwrap_or_default();
    let vals = vals.iter().map(|x| x.to_bits()).collect();
    levels.map(index).chain([vals]).collect()
}

/// The result on 1, 2, 3 and 8 threads.
fn check(text: &str, operands: &[(&str, &Tensor)], result: &str) {
    let order = text.split_once('=').map_or(0, |(lhs, _)| lhs.matches(',').count() + 1);
    let order = if text.starts_with("a =") { 0 } else { order };
    let spec = format::parse(result, Some(order)).unwrap_or_else(|d| panic!("{d}"));
    let name = text.split(['(', ' ']).next().unwrap_or_default().to_owned();
    let options = Options {
        results: [(name, spec)].into(),
        backend: Backend::Jit,
        parts: Parts::OfElements(500),
        ..Options::default()
    };
    let kernel = Kernel::compile(text, operands, &options).unwrap_or_else(|d| panic!("{d}"));
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let mut results = pool
            .unwrap_or_else(|e| panic!("{e}"))
            .install(|| kernel.run(operands))
            .unwrap_or_else(|d| panic!("{text}: {d}"));
        bits(&results.remove(0).1)
    };
    let alone = on(1);
    for threads in [2, 3, 8] {
        assert_eq!(alone, on(threads), "{text} as {result} on {threads} threads");
    }
}

#[test]
fn results_do_not_depend_on_threads() {
    let csr = random("csr", &[3000, 3000], 20_000, 1);
    let csc = random("csc", &[3000, 3000], 20_000, 2);
    let coo = random("coo", &[3000, 3000], 20_000, 3);
    let dok = random("dok", &[3000, 3000], 20_000, 4);
    let x = random("dense", &[3000], 3000, 5);
    let y = "dense";
    for a in [&csr, &csc, &coo, &dok] {
        check("y(i) = A(i,j) * x(j)", &[("A", a), ("x", &x)], y);
        check("y(j) = A(i,j) * x(i)", &[("A", a), ("x", &x)], y);
        check("a = A(i,j) * x(i) * x(j)", &[("A", a), ("x", &x)], "dense");
        for c in ["csr", "dcsr", "coo", "csc", "dok", "bcsr(4,4)"] {
            check("C(i,j) = A(i,j) + B(j,i)", &[("A", a), ("B", &csr)], c);
        }
    }
    for c in ["csr", "dcsr", "coo", "csc"] {
        check("C(i,j) = A(i,k) * B(k,j)", &[("A", &csr), ("B", &csr)], c);
    }
}
