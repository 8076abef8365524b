//! Tensors on a device: results that are operands of the next call, tables that are kept with tensors,
//! memory that is used again, and threads that call at the same time; by the stand-in for NVIDIA's driver.

use tamis::gpu::{self, DeviceTensor, to_device};
use tamis::{Backend, Code, Kernel, Options, Tensor};
use tamis_testing::functions::bits;
use tamis_testing::stand_in::{Report, alone};

/// Tiles of four positions.
const TILES: &str = "fuse(i, j, f); pos(f, p, A(i,j)); split(p, block, rest, 4); \
                     split(rest, thread, nz, 2); parallelize(block, gpu_block, temporary); \
                     parallelize(thread, gpu_thread, temporary)";

fn matrix(scale: f64) -> Tensor {
    let (pos, crd) = (vec![0, 2, 2, 5, 6, 7], vec![0, 3, 1, 2, 4, 0, 4]);
    let vals = (1..=7).map(|k| scale * f64::from(k)).collect();
    Tensor::csr([5, 5], pos, crd, vals).unwrap()
}

fn vector() -> Tensor {
    Tensor::dense(&[5], vec![1.0, -2.0, 3.0, 0.5, 4.0]).unwrap()
}

fn options(backend: Backend, results: &[(&str, &str)]) -> Options {
    let mut options = Options { backend, ..Options::default() };
    for (name, format) in results {
        let order = if *name == "y" { 1 } else { 2 };
        let format = tamis::format::parse(format, Some(order)).unwrap();
        options.results.insert((*name).to_owned(), format);
    }
    options
}

type Operands<'t> = &'t [(&'t str, &'t Tensor)];

/// What a program gives on the processor.
fn expected(text: &str, operands: Operands<'_>, results: &[(&str, &str)]) -> Tensor {
    let options = options(Backend::Interpreter, results);
    let kernel = Kernel::compile(text, operands, &options).unwrap();
    kernel.run(operands).unwrap().pop().unwrap().1
}

fn pairs<'t>(
    operands: Operands<'t>,
    tensors: &'t [DeviceTensor],
) -> Vec<(&'t str, &'t DeviceTensor)> {
    operands.iter().map(|(name, _)| *name).zip(tensors).collect()
}

fn copied(operands: Operands<'_>) -> Vec<DeviceTensor> {
    operands.iter().map(|(_, tensor)| to_device(tensor).unwrap()).collect()
}

/// Memory was freed, whoever dropped it, and threads have the devices that they had before.
fn assert_nothing_left(report: Option<Report>) {
    let left = report.map(|Report { used, entered, .. }| (used, entered));
    assert!(left.is_none_or(|left| left == (0, 0)), "{left:?}");
}

/// Programs give on the device what they give on the processor, dense and sparse, of several kernels, and
/// of kernels that run on the host.
#[test]
fn results_are_those_of_the_processor() {
    let report = alone("results_are_those_of_the_processor", || {
        let (a, x) = (matrix(1.0), vector());
        let both: Operands<'_> = &[("A", &a), ("x", &x)];
        let programs: &[(&str, &[(&str, &str)])] = &[
            ("y(i) = A(i,j) * x(j)", &[("y", "dense")]),
            ("C(i,j) = A(i,k) * A(k,j) * x(j)", &[("C", "csr")]),
            ("C(i,j) = A(i,j) * x(j)", &[("C", "csr")]),
            ("C(i,j) = A(i,j) * x(j)", &[("C", "dcsr")]),
            (
                "C(i,j) = A(i,j) * x(i) * x(j); y(i) = C(i,j) * x(j)",
                &[("C", "csr"), ("y", "dense")],
            ),
            ("C(i,j) = A(i,j) * x(j)", &[("C", "dok")]),
            ("C(i,j) = A(j,i) * x(j)", &[("C", "csr")]),
            ("y(j) = A(i,j) * x(i)", &[("y", "sparse")]),
            ("t(i) = A(i,j) * x(j); y(i) = A(i,j) * t(j)", &[("y", "dense")]),
        ];
        for (text, results) in programs {
            let expected = expected(text, both, results);
            let kernel = Kernel::compile(text, both, &options(Backend::Cuda, results)).unwrap();
            let from_host = kernel.run(both).unwrap().pop().unwrap().1;
            assert_eq!(bits(&from_host), bits(&expected), "{text}");
            let tensors = copied(both);
            for _ in 0..2 {
                let result = kernel.run_on_device(&pairs(both, &tensors)).unwrap().pop().unwrap().1;
                assert_eq!(result.dims(), expected.dims());
                assert_eq!(result.storage(), expected.storage());
                assert_eq!(bits(&result.from_device().unwrap()), bits(&expected), "{text}");
            }
        }
        let other = Kernel::compile("y(i) = x(i)", &[("x", &x)], &Options::default()).unwrap();
        let refused = other.run_on_device(&[("x", &to_device(&x).unwrap())]).err().unwrap();
        assert_eq!(refused.code, Code::UnsupportedBackend);
        gpu::release();
    });
    assert_nothing_left(report);
}

/// A result with the entries of an operand takes over its arrays, and the operand may go first. Its entries may be asked for without values, and others may be given.
#[test]
fn results_take_over_levels() {
    let report = alone("results_take_over_levels", || {
        let (a, x) = (matrix(1.0), vector());
        let (text, csr) = ("C(i,j) = A(i,j) * x(j)", [("C", "csr")]);
        let both: Operands<'_> = &[("A", &a), ("x", &x)];
        let expected = expected(text, both, &csr);
        let kernel = Kernel::compile(text, both, &options(Backend::Cuda, &csr)).unwrap();
        assert!(kernel.compiled().functions[0].like.is_some());
        let tensors = copied(both);
        let result = kernel.run_on_device(&pairs(both, &tensors)).unwrap().remove(0).1;
        drop(tensors);
        assert_eq!(bits(&result.from_device().unwrap()), bits(&expected));
        drop(result);
        let pattern = kernel.assemble(both).unwrap().remove(0).1;
        assert_eq!(pattern.nnz(), expected.nnz());
        let computed = kernel.compute(both, &[("C", &pattern)]).unwrap().remove(0).1;
        assert_eq!(bits(&computed), bits(&expected));
        let vals = vec![0.0; 2];
        let fewer = Tensor::csr([5, 5], vec![0, 1, 1, 2, 2, 2], vec![3, 1], vals).unwrap();
        let computed = kernel.compute(both, &[("C", &fewer)]).unwrap().remove(0).1;
        assert_eq!(computed.nnz(), 2);
        gpu::release();
    });
    assert_nothing_left(report);
}

/// Values at entries that a result took over from an operand are computed as that result was: by as many kernels, and
/// with the levels of both.
#[test]
fn patterns_that_an_operand_shares_are_not_merged() {
    let report = alone("patterns_that_an_operand_shares_are_not_merged", || {
        let (a, x) = (matrix(1.0), vector());
        let (text, csr) = ("C(i,j) = A(i,j) * x(j)", [("C", "csr")]);
        let both: Operands<'_> = &[("A", &a), ("x", &x)];
        let expected = expected(text, both, &csr);
        let kernel = Kernel::compile(text, both, &options(Backend::Cuda, &csr)).unwrap();
        let tensors = copied(both);
        let operands = pairs(both, &tensors);
        let first = kernel.run_on_device(&operands).unwrap().remove(0).1;
        assert!(first.shares_levels(&tensors[0], 2));
        let again = kernel.compute_on_device(&operands, &[("C", &first)]).unwrap().remove(0).1;
        assert!(again.shares_levels(&tensors[0], 2));
        assert_eq!(bits(&again.from_device().unwrap()), bits(&expected));
        let copy = to_device(&first.from_device().unwrap()).unwrap();
        assert!(!copy.shares_levels(&tensors[0], 2));
        let merged = kernel.compute_on_device(&operands, &[("C", &copy)]).unwrap().remove(0).1;
        assert!(merged.shares_levels(&copy, 2));
        assert_eq!(bits(&merged.from_device().unwrap()), bits(&expected));
        drop((first, again, copy, merged, tensors));
        gpu::release();
    });
    assert_nothing_left(report);
}

/// Fifty steps of an iteration: a copy there, one back, memory for two vectors, and no wait but the last.
#[test]
fn results_feed_the_next_call() {
    let report = alone("results_feed_the_next_call", || {
        let (a, start) = (matrix(0.125), vector());
        let text = "y(i) = A(i,j) * x(j) + x(i)";
        let mut x = start.clone();
        for _ in 0..50 {
            x = expected(text, &[("A", &a), ("x", &x)], &[("y", "dense")]);
        }
        let (on_device, mut step) = (to_device(&a).unwrap(), to_device(&start).unwrap());
        let operands = [("A", &on_device), ("x", &step)];
        let options = options(Backend::Cuda, &[("y", "dense")]);
        let kernel = Kernel::compile_on_device(text, &operands, &options).unwrap();
        for _ in 0..50 {
            let operands = [("A", &on_device), ("x", &step)];
            step = kernel.run_on_device(&operands).unwrap().remove(0).1;
        }
        assert!(gpu::last_milliseconds().is_some());
        assert_eq!(bits(&step.from_device().unwrap()), bits(&x));
    });
    let Some(Report { copies_in, copies_out, waits, allocations, orders, .. }) = report else {
        return;
    };
    // Of A three arrays, of x one; to choose a schedule, A's rows are looked at once.
    assert_eq!((copies_in, copies_out), (4, 4 + 1), "{report:?}");
    assert!(waits <= 6 && allocations <= 12 && orders == 0, "{report:?}");
}

/// Where tiles begin is found out once for each tensor, and forgotten with it.
#[test]
fn tables_are_kept_with_tensors() {
    let report = alone("tables_are_kept_with_tensors", || {
        let (a, x) = (matrix(1.0), vector());
        let operands: Operands<'_> = &[("A", &a), ("x", &x)];
        let text = "y(i) = A(i,j) * x(j)";
        let expected = expected(text, operands, &[("y", "dense")]);
        let schedule = tamis::schedule::parse(TILES).unwrap();
        let options = Options { schedule, ..options(Backend::Cuda, &[("y", "dense")]) };
        let compile = || Kernel::compile(text, operands, &options).unwrap();
        let kernel = compile();
        let tensors = copied(operands);
        let run = |kernel: &Kernel, tensors: &[DeviceTensor]| {
            let result = kernel.run_on_device(&pairs(operands, tensors)).unwrap().remove(0).1;
            assert_eq!(bits(&result.from_device().unwrap()), bits(&expected));
        };
        assert_eq!(tensors[0].tables_kept(), 0);
        (0..3).for_each(|_| run(&kernel, &tensors));
        assert_eq!(tensors[0].tables_kept(), 1);
        // Another kernel has a table of its own, and the first one's goes with the kernel.
        let other = compile();
        run(&other, &tensors);
        assert_eq!(tensors[0].tables_kept(), 2);
        drop(kernel);
        let third = compile();
        run(&third, &tensors);
        assert_eq!(tensors[0].tables_kept(), 2);
        // Another tensor has tables of its own, wherever its arrays are.
        for _ in 0..4 {
            let fresh = copied(operands);
            run(&third, &fresh);
            assert_eq!(fresh[0].tables_kept(), 1);
        }
        drop(tensors);
        gpu::release();
    });
    assert_nothing_left(report);
}

/// Threads call at the same time, read what others computed, and drop what they did not make.
#[test]
fn threads_call_at_the_same_time() {
    let report = alone("threads_call_at_the_same_time", || {
        let (a, x) = (matrix(0.5), vector());
        let operands: Operands<'_> = &[("A", &a), ("x", &x)];
        let text = "y(i) = A(i,j) * x(j)";
        let results = &[("y", "dense")];
        let once = expected(text, operands, results);
        let twice = expected(text, &[("A", &a), ("x", &once)], results);
        let kernel = Kernel::compile(text, operands, &options(Backend::Cuda, results)).unwrap();
        let a = to_device(&a).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let x = to_device(&x).unwrap();
                        let y = kernel.run_on_device(&[("A", &a), ("x", &x)]).unwrap();
                        let y = y.into_iter().next().unwrap().1;
                        // Another thread, which has another stream, goes on with it.
                        let z = std::thread::scope(|scope| {
                            let next = || {
                                let operands = [("A", &a), ("x", &y)];
                                kernel.run_on_device(&operands).unwrap().remove(0).1
                            };
                            scope.spawn(next).join().unwrap()
                        });
                        assert!(gpu::last_milliseconds().is_some());
                        assert_eq!(bits(&z.from_device().unwrap()), bits(&twice));
                        std::thread::scope(|scope| drop(scope.spawn(move || drop((y, z)))));
                    }
                });
            }
        });
        drop(a);
        std::thread::spawn(gpu::release).join().unwrap();
    });
    assert_nothing_left(report);
}

/// A stream that goes on with what another one computes, or gets memory that another one may still read,
/// waits for that one.
#[test]
fn streams_wait_for_each_other() {
    let report = alone("streams_wait_for_each_other", || {
        let (a, x) = (matrix(1.0), vector());
        let operands: Operands<'_> = &[("A", &a), ("x", &x)];
        let (text, results) = ("y(i) = A(i,j) * x(j)", &[("y", "dense")]);
        let once = expected(text, operands, results);
        let kernel = Kernel::compile(text, operands, &options(Backend::Cuda, results)).unwrap();
        let a = to_device(&a).unwrap();
        let run = || {
            let x = to_device(&x).unwrap();
            kernel.run_on_device(&[("A", &a), ("x", &x)]).unwrap().remove(0).1
        };
        let device = tamis_cuda::driver::device().unwrap();
        let _entered = device.enter().unwrap();
        // What was asked of the stream that is held has not begun yet, and later calls have another one.
        let result = run();
        let held = device.stream().unwrap();
        assert_eq!(bits(&result.from_device().unwrap()), bits(&once));
        drop(held);
        let result = run();
        let held = device.stream().unwrap();
        let other =
            |k: u8| to_device(&Tensor::dense(&[5], vec![f64::from(k); 5]).unwrap()).unwrap();
        let others: Vec<DeviceTensor> = (0..4).map(other).collect();
        assert_eq!(bits(&result.from_device().unwrap()), bits(&once));
        drop((held, others));
    });
    assert!(report.is_none_or(|report| report.orders > 0));
}

/// What is kept for later calls is given back where memory is wanted, and too little is told with numbers.
#[test]
fn memory_is_told_and_given_back() {
    alone("memory_is_told_and_given_back", || {
        let large = |len: usize| Tensor::dense(&[len as u64], vec![1.0; len]).unwrap();
        // Two MiB are kept at most, of sixteen.
        for _ in 0..4 {
            drop(to_device(&large(150_000)).unwrap());
        }
        let most = large((14 << 20) / 8);
        let held = to_device(&most).unwrap();
        let refused = to_device(&most).err().unwrap();
        assert_eq!(refused.code, Code::OutOfMemory);
        let told = refused.to_string();
        let expected = "Stub 1 has no room for 14680064 bytes: 2097152 of 16777216 are free";
        assert!(told.contains(expected), "{told}");
        assert_eq!(bits(&held.from_device().unwrap()), bits(&most));
        drop(held);
        assert_eq!(bits(&to_device(&most).unwrap().from_device().unwrap()), bits(&most));
    });
}
