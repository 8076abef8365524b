//! Results are the same, bit for bit, for any number of threads.

mod random;

use random::packed;
use tamis::{Backend, Coordinates, Kernel, Options, Parts, Tensor, Values, format, schedule};

/// Values whose sums depend on the order.
fn random(format_text: &str, dims: &[u64], entries: usize, seed: u64) -> Tensor {
    random::random(format_text, dims, entries, seed, |x| x as f64 / 1e9 + 1e-3)
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
    check_scheduled(text, "", operands, result);
}

/// The same with a schedule; the result on one thread.
fn check_scheduled(
    text: &str,
    schedule: &str,
    operands: &[(&str, &Tensor)],
    result: &str,
) -> Vec<f64> {
    let order = text.split_once('=').map_or(0, |(lhs, _)| lhs.matches(',').count() + 1);
    let order = if text.starts_with("a =") { 0 } else { order };
    let spec = format::parse(result, Some(order)).unwrap_or_else(|d| panic!("{d}"));
    let name = text.split(['(', ' ']).next().unwrap_or_default().to_owned();
    let options = Options {
        results: [(name, spec)].into(),
        backend: Backend::Jit,
        parts: Parts::OfElements(500),
        schedule: schedule::parse(schedule).unwrap_or_else(|d| panic!("{d}")),
        ..Options::default()
    };
    let kernel = Kernel::compile(text, operands, &options).unwrap_or_else(|d| panic!("{d}"));
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let mut results = pool
            .unwrap_or_else(|e| panic!("{e}"))
            .install(|| kernel.run(operands))
            .unwrap_or_else(|d| panic!("{text}: {d}"));
        results.remove(0).1
    };
    let alone = on(1);
    for threads in [2, 3, 8] {
        let same = bits(&alone) == bits(&on(threads));
        assert!(same, "{text} with {schedule} as {result} on {threads} threads");
    }
    alone.vals().as_slice::<f64>().unwrap_or_default().to_vec()
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

#[test]
fn packing_makes_places_only_for_entries() {
    let crds = vec![vec![0, 3, 10], vec![2, 2, 5], vec![1, 1, 1]];
    let list = Coordinates::new(vec![11, 6, 8], crds, Values::F64(vec![1.0; 3]))
        .expect("a list of entries");
    for (format, places) in [
        ("(i, j, k) -> (k/2: compressed, k%2: dense, i: compressed, j: dense)", 3 * 6),
        ("(i, j, k) -> (k/1: compressed, i: compressed, j: compressed, k%1: dense)", 3),
    ] {
        assert_eq!(packed(format, &list).vals().len(), places, "{format}");
    }
}

#[test]
fn rows_without_elements_are_stored_alike() {
    let (none, many) = (random("sparse", &[0], 0, 1), random("dense", &[52], 52, 2));
    let operands = [("B", &none), ("R", &many)];
    for result in ["(i, j) -> (i: compressed, j: dense)", "(i, j) -> (i: compressed, j: bitmap)"] {
        check("S(j,i) = B(i) * R(j)", &operands, result);
    }
}

#[test]
fn absent_zeros_have_no_sign() {
    let a = random("csr", &[30, 30], 40, 1);
    let options = Options { backend: Backend::Interpreter, ..Options::default() };
    let kernel = Kernel::compile("R(i,j) = -A(i,j)", &[("A", &a)], &options);
    let results = kernel.and_then(|k| k.run(&[("A", &a)])).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(results[0].1.storage().fill, tamis::Scalar::F64(0.0));
}

/// A matrix of which one row has most entries, one has none, and the others have few.
fn skewed() -> Tensor {
    let columns = (0..8000).chain((0..2000).map(|k| k * 7 % 8000));
    let rows = std::iter::repeat_n(700, 8000).chain((0..2000).map(|k| k / 2 + u64::from(k > 900)));
    let list = Coordinates::new(
        vec![1200, 8000],
        vec![rows.collect(), columns.collect()],
        Values::F64((0..10_000).map(|k| 1.0 / f64::from(k + 1)).collect()),
    )
    .expect("a list of entries");
    packed("csr", &list)
}

#[test]
fn loops_of_schedules_run_in_parts() {
    let a = skewed();
    let x = random("dense", &[8000], 20_000, 5);
    let text = "y(i) = A(i,j) * x(j)";
    let operands: &[(&str, &Tensor)] = &[("A", &a), ("x", &x)];
    let plain = check_scheduled(text, "", operands, "dense");
    for schedule in [
        "split(i, i0, i1, 32); parallelize(i0, cpu_thread, no_races)",
        "split(i, i0, i1, 32); reorder(i1, i0); parallelize(i1, cpu_thread, no_races)",
        "divide(i, i0, i1, 7)",
        "divide(i, i0, i1, 7); split(i0, i00, i01, 2)",
        "bound(i, ib, 1200, max_exact)",
        "reorder(j, i); parallelize(j, cpu_thread, atomics)",
        "fuse(i, j, f); pos(f, p, A); parallelize(p, cpu_thread, atomics)",
        "fuse(i, j, f); pos(f, p, A); split(p, p0, p1, 64); parallelize(p0, cpu_thread, atomics)",
        "fuse(i, j, f); pos(f, p, A); divide(p, p0, p1, 9); parallelize(p0, cpu_thread, temporary)",
        "fuse(i, j, f); parallelize(f, cpu_thread, parallel_reduction)",
    ] {
        let scheduled = check_scheduled(text, schedule, operands, "dense");
        for (i, (a, b)) in plain.iter().zip(&scheduled).enumerate() {
            assert!((a - b).abs() <= 1e-12 * a.abs(), "{schedule}: y({i}) is {b}, not {a}");
        }
    }
    // Rows of a slice are others in the result.
    let sliced = "y(i) = A(i[100:1000:3],j) * x(j)";
    let plain = check_scheduled(sliced, "", operands, "dense");
    let positions = "fuse(i, j, f); pos(f, p, A); parallelize(p, cpu_thread, atomics)";
    let scheduled = check_scheduled(sliced, positions, operands, "dense");
    assert!(plain.iter().zip(&scheduled).all(|(a, b)| (a - b).abs() <= 1e-12 * a.abs()));
    let both = "C(i,k) = A(i,j) * B(j,k)";
    let b = random("dense", &[8000, 5], 20_000, 6);
    let operands: &[(&str, &Tensor)] = &[("A", &a), ("B", &b)];
    let plain = check_scheduled(both, "", operands, "dense");
    let positions =
        "reorder(i, j, k); fuse(i, j, f); pos(f, p, A); parallelize(p, cpu_thread, atomics)";
    let scheduled = check_scheduled(both, positions, operands, "dense");
    assert!(plain.iter().zip(&scheduled).all(|(a, b)| (a - b).abs() <= 1e-12 * a.abs()));
}

/// Asked for the end before it begins, and on every number of threads.
#[test]
fn what_is_interrupted_ends_with_a_diagnostic() {
    let a = random("csr", &[4000, 4000], 200_000, 5);
    let operands = [("A", &a)];
    let kernel = Kernel::compile("c = A(i,j) * A(j,i)", &operands, &Options::default());
    let kernel = kernel.unwrap_or_else(|d| panic!("{d}"));
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.unwrap_or_else(|error| panic!("{error}"));
        let interrupt = tamis::Interrupt::default();
        let run = || pool.install(|| interrupt.over(|| kernel.run(&operands)));
        assert!(run().is_ok());
        interrupt.request();
        let told = run().map_or_else(|d| d.to_string(), |_| String::new());
        assert!(told.starts_with("error[interrupted]: the computation was interrupted"), "{told}");
        assert!(pool.install(|| kernel.run(&operands)).is_ok());
    }
}
