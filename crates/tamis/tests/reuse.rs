//! Results in tensors that are there: the same values as new ones.

mod common;

use common::{matrix, options, vector};
use tamis::{Backend, Code, Kernel, Options, Program, Tensor, TensorView};

/// Tensors of any contents, formats and dimensions, alone or shared, are replaced by the result.
#[test]
fn results_are_those_of_new_tensors() {
    let programs = [
        ("C(i,j) = A(i,j) + B(i,j)", "csr"),
        ("C(i,j) = A(i,k) * B(k,j)", "csr"),
        ("C(i,j) = A(i,k) * B(k,j)", "dense"),
        ("C(i,j) = 2 * A(i,j)", "csr"),
        ("C(i,j) = A(i,j) * B(i,k) * B(j,k)", "csr"),
        ("C(i,j) = A(i,j) * B(i,j)", "dcsr"),
        ("C(i,j) = A(i,j)", "coo"),
        ("C(i,j) = A(i,j) + B(j,i)", "csc"),
        ("C(i,j) = A(i,j)", "bcsr(2,2)"),
        ("C(i,j) = A(i,j)", "ell"),
        ("C(i,j) = A(i,j) + B(i,j)", "dok"),
    ];
    for backend in [Backend::Jit, Backend::Interpreter] {
        for (text, format) in programs {
            let (a, b) = (matrix(6, 2.0), matrix(6, 3.0));
            let mut operands = vec![("A", &a), ("B", &b)];
            operands.retain(|(name, _)| text.contains(&format!("{name}(")));
            let options = options(backend, &[("C", format)]);
            let kernel = Kernel::compile(text, &operands, &options).expect("a valid program");
            let new = || kernel.run(&operands).expect("it runs").remove(0).1;
            let expected = new();
            let other = Tensor::zeros::<f64>(&[6, 6]).expect("room");
            let (kept, mut shared) = (expected.clone(), expected.clone());
            let full = Tensor::dense(&[6, 6], vec![7.0; 36]).expect("a matrix");
            let rooms = [Tensor::default(), other, new(), matrix(6, 9.0), matrix(9, 9.0), full];
            for mut into in rooms.into_iter().chain([matrix(2, 1.0)]) {
                for _ in 0..3 {
                    let done = kernel.run_into(&operands, &mut [("C", &mut into)]);
                    done.unwrap_or_else(|d| panic!("{text} {format}: {d}"));
                    assert_eq!(into, expected, "{text} {format} {backend:?}");
                }
            }
            kernel.run_into(&operands, &mut [("C", &mut shared)]).expect("it runs");
            assert_eq!((&kept, &shared), (&expected, &expected));
            let mut pattern = kernel.assemble(&operands).expect("it runs").remove(0).1;
            for _ in 0..3 {
                let done = kernel.compute_into(&operands, &mut [("C", &mut pattern)]);
                done.unwrap_or_else(|d| panic!("{text} {format}: {d}"));
                assert_eq!(pattern, expected, "{text} {format} {backend:?}");
            }
        }
    }
}

/// Two statements, of which the second reads the result of the first, and one result of two that is wanted.
#[test]
fn several_results_are_written() {
    let (a, x) = (matrix(6, 2.0), vector(6));
    let operands = [("A", &a), ("x", &x)];
    let text = "y(i) = A(i,j) * x(j); z(i) = A(i,j) * y(j)";
    let kernel = Kernel::compile(text, &operands, &Options::default()).expect("a valid program");
    let expected = kernel.run(&operands).expect("it runs");
    let (mut y, mut z) = (vector(6), Tensor::default());
    kernel.run_into(&operands, &mut [("z", &mut z)]).expect("it runs");
    assert_eq!(z, expected[1].1);
    kernel.run_into(&operands, &mut [("z", &mut z), ("y", &mut y)]).expect("it runs");
    assert_eq!((&y, &z), (&expected[0].1, &expected[1].1));
}

#[test]
fn names_are_given_once_and_of_results() {
    let (a, x) = (matrix(6, 2.0), vector(6));
    let operands = [("A", &a), ("x", &x)];
    let text = "y(i) = A(i,j) * x(j)";
    let kernel = Kernel::compile(text, &operands, &Options::default()).expect("a valid program");
    let twice = [("A", &a), ("x", &x), ("x", &x)];
    let code = |done: Result<(), tamis::Diagnostic>| done.expect_err("it is refused").code;
    assert_eq!(code(kernel.run(&twice).map(drop)), Code::UnusedInput);
    let compiled = Kernel::compile(text, &twice, &Options::default());
    assert_eq!(code(compiled.map(drop)), Code::UnusedInput);
    let (mut y, mut z) = (vector(6), vector(6));
    let mut into = |names: [&str; 2]| {
        kernel.run_into(&operands, &mut [(names[0], &mut y), (names[1], &mut z)])
    };
    assert_eq!(code(into(["y", "y"])), Code::UnusedInput);
    assert_eq!(code(into(["y", "x"])), Code::UnknownTensor);
    assert_eq!(code(into(["y", "q"])), Code::UnknownTensor);
}

/// Other dimensions under the same names are other dimensions of the result.
#[test]
fn dimensions_are_looked_at_in_each_call() {
    let (a, x) = (matrix(6, 2.0), vector(6));
    let kernel =
        Kernel::compile("y(i) = A(i,j) * x(j)", &[("A", &a), ("x", &x)], &Options::default());
    let kernel = kernel.expect("a valid program");
    let mut y = Tensor::default();
    for n in [6, 9, 6, 4] {
        let (a, x) = (matrix(n, 2.0), vector(n));
        kernel.run_into(&[("A", &a), ("x", &x)], &mut [("y", &mut y)]).expect("it runs");
        assert_eq!(y.shape(), [n]);
        assert_eq!(kernel.run(&[("x", &x), ("A", &a)]).expect("it runs")[0].1, y);
        let refused = kernel.run_into(&[("A", &a), ("x", &vector(n + 1))], &mut [("y", &mut y)]);
        assert_eq!(refused.expect_err("it is refused").code, Code::DimensionMismatch);
    }
}

/// Views are operands, and what is kept of them is a copy.
#[test]
fn borrowed_arrays_are_operands() {
    let (pos, crd, x) = (vec![0usize, 2, 3], vec![0u32, 2, 1], vec![1.0, 10.0, 100.0]);
    let mut vals = vec![1.0, 2.0, 3.0];
    let kept = {
        let a = TensorView::csr([2, 3], &pos, &crd, &vals).expect("a matrix");
        let x = TensorView::dense(&[3], &x).expect("a vector");
        let y = tamis::evaluate("y(i) = A(i,j) * x(j)", &[("A", &a), ("x", &x)]).expect("it runs");
        assert_eq!(y.values::<f64>(), Ok(&[201.0, 30.0][..]));
        let scaled = tamis::evaluate("C(i,j) = 2 * A(i,j)", &[("A", &a)]).expect("it runs");
        (a.clone(), scaled)
    };
    vals.fill(0.0);
    drop((pos, crd));
    assert_eq!(kept.0.values::<f64>(), Ok(&[1.0, 2.0, 3.0][..]));
    assert_eq!(kept.1.entries::<f64>().expect("floats").last(), Some((vec![1, 1], 6.0)));
}

/// What is added to is the tensor that is given, not nothing.
#[test]
fn results_that_are_added_to_keep_their_values() {
    let axpy = "x(i) += a * p(i)";
    let (a, p) = (Tensor::scalar(2.0), Tensor::dense(&[3], vec![1.0, 2.0, 3.0]).unwrap());
    let start = || Tensor::dense(&[3], vec![10.0; 3]).unwrap();
    let operands = [("a", &a), ("p", &p)];
    let program = || Program::parse(axpy).unwrap().operand("p", &p).unwrap();
    let kernel = program().operand("x", &start()).unwrap().compile().unwrap();
    let mut x = start();
    for step in 1..4 {
        kernel.run_into(&operands, &mut [("x", &mut x)]).unwrap();
        let wanted = [1.0, 2.0, 3.0].map(|p| 10.0 + 2.0 * p * f64::from(step));
        assert_eq!(x.values::<f64>().unwrap(), wanted);
    }
    // A value that is given counts.
    let (zero, mut y) = (Tensor::zeros::<f64>(&[3]).unwrap(), start());
    kernel.run_into(&[operands[0], operands[1], ("x", &zero)], &mut [("x", &mut y)]).unwrap();
    assert_eq!(y.values::<f64>().unwrap(), [2.0, 4.0, 6.0]);

    let told = program().compile().unwrap().run_into(&operands, &mut [("x", &mut x)]).unwrap_err();
    assert_eq!(told.code, Code::MissingInput, "{told}");
    assert_eq!(x.values::<f64>().unwrap(), [16.0, 22.0, 28.0]);

    // Sparse results, slices, and statements that begin with a plain one.
    let csr = |vals| Tensor::csr([2, 2], vec![0, 1, 2], vec![1, 0], vals).unwrap();
    let (b, mut c) = (csr(vec![1.0, 2.0]), csr(vec![5.0, 7.0]));
    let sum = Program::parse("C(i,j) += B(i,j)").unwrap().operand("B", &b).unwrap();
    let sum = sum.operand("C", &c).unwrap().compile().unwrap();
    sum.run_into(&[("B", &b)], &mut [("C", &mut c)]).unwrap();
    sum.compute_into(&[("B", &b)], &mut [("C", &mut c)]).unwrap();
    assert_eq!(c, csr(vec![7.0, 11.0]));
    let twice = Program::parse("x(i) = p(i); x(i) += p(i)").unwrap().compile().unwrap();
    twice.run_into(&[("p", &p)], &mut [("x", &mut x)]).unwrap();
    assert_eq!(x.values::<f64>().unwrap(), [2.0, 4.0, 6.0]);
}

/// Results with the entries of an operand have its positions and coordinates, which stay where they are.
#[test]
fn results_with_the_entries_of_an_operand_take_its_arrays_over() {
    let (a, x) = (matrix(6, 2.0), vector(6));
    let kernel = Program::parse("B(i,j) = A(i,j) * x(j)").unwrap();
    let kernel = kernel.operand("A", &a).unwrap().compile().unwrap();
    let address = |t: &Tensor| t.levels()[1].crd.as_ref().map(|crd| crd.address());
    let operands = [("A", &a), ("x", &x)];
    let mut b = kernel.run(&operands).unwrap().take("B").unwrap();
    let values = b.vals().address();
    for _ in 0..3 {
        kernel.run_into(&operands, &mut [("B", &mut b)]).unwrap();
        assert_eq!(b.vals().address(), values);
    }
    assert_eq!(b, kernel.run(&operands).unwrap().take("B").unwrap());
    let again = kernel.run(&[("A", &b), ("x", &x)]).unwrap().take("B").unwrap();
    assert_eq!([address(&again), address(&b)], [address(&a), address(&a)]);
}

/// A statement may read the result that it computes: the tensor's own values, in each call.
#[test]
fn results_may_be_computed_from_what_they_were() {
    let own = |values: &[f64]| Tensor::dense(&[3], values.to_vec()).expect("a vector");
    let (mut p, r) = (own(&[1.0, 2.0, 3.0]), own(&[1.0, 0.0, 1.0]));
    let beta = Tensor::scalar(2.0);
    let program = Program::parse("p(i) = r(i) + beta * p(i)").expect("a program");
    let kernel = program.operand("p", &p).expect("an operand").compile().expect("a kernel");
    for expected in [[3.0, 4.0, 7.0], [7.0, 8.0, 15.0]] {
        kernel.run_into(&[("beta", &beta), ("r", &r)], &mut [("p", &mut p)]).expect("it runs");
        assert_eq!(p.values::<f64>().expect("values"), expected);
    }
    // Its array stays where it is, and a clone keeps what it was.
    let (address, clone) = (p.vals().address(), p.clone());
    kernel.run_into(&[("beta", &beta), ("r", &r)], &mut [("p", &mut p)]).expect("it runs");
    assert_eq!(clone.values::<f64>().expect("values"), [7.0, 8.0, 15.0]);
    assert_ne!(p.vals().address(), address);
    let address = p.vals().address();
    for expected in [[31.0, 32.0, 63.0], [63.0, 64.0, 127.0]] {
        kernel.run_into(&[("beta", &beta), ("r", &r)], &mut [("p", &mut p)]).expect("it runs");
        assert_eq!(p.values::<f64>().expect("values"), expected);
        assert_eq!(p.vals().address(), address);
    }
    let mut s = Tensor::scalar(1.0);
    let program = Program::parse("s = 2 * s + r(i)").expect("a program");
    let kernel = program.operand("s", &s).expect("an operand").compile().expect("a kernel");
    kernel.compute_into(&[("r", &r)], &mut [("s", &mut s)]).expect("it computes");
    assert_eq!(s.values::<f64>().expect("values"), [4.0]);
}
