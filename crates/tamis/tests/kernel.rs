//! The Rust interface: kernels that run again, user operators, and what they refuse.

use tamis::notation::{Operator, OperatorProperties, build, parse_with};
use tamis::{Backend, Buffer, DataType, IndexWidth, Kernel, LevelData, Options, Tensor};

fn matrix() -> Tensor {
    Tensor::csr([2, 3], vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0]).expect("valid arrays")
}

fn vector() -> Tensor {
    Tensor::dense(&[3], vec![1.0, 10.0, 100.0]).expect("valid arrays")
}

#[test]
fn the_backend_that_ran_is_known_once_it_did() {
    let (a, x) = (matrix(), vector());
    let operands = [("A", &a), ("x", &x)];
    for (backend, ran_on) in
        [(Backend::Auto, Backend::Jit), (Backend::Interpreter, Backend::Interpreter)]
    {
        let options = Options { backend, ..Options::default() };
        let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &operands, &options);
        let kernel = kernel.expect("a valid program");
        assert_eq!(kernel.ran_on(), None);
        kernel.run(&operands).expect("it runs");
        assert_eq!(kernel.ran_on(), Some(ran_on));
    }
}

#[test]
fn a_kernel_runs_again_on_other_contents() {
    let (a, x) = (matrix(), vector());
    let operands = [("A", &a), ("x", &x)];
    let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &operands, &Options::default());
    let kernel = kernel.expect("a valid program");
    for scale in [1.0, 2.0] {
        let x = Tensor::dense(&[3], vec![scale, 0.0, 0.0]).expect("valid arrays");
        let results = kernel.run(&[("A", &a), ("x", &x)]).expect("it runs");
        assert_eq!(results[0].1.vals().as_slice::<f64>(), Some(&[scale, 0.0][..]));
    }
}

#[test]
fn a_missing_operand_is_shown_where_it_is_read() {
    let (a, x) = (matrix(), vector());
    let operands = [("A", &a), ("x", &x)];
    let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &operands, &Options::default());
    let told = kernel.expect("a valid program").run(&operands[..1]);
    let told = told.expect_err("x is missing").to_string();
    let expected = "error[missing-input]: x has no value\n  | y(i) = A(i,j) * x(j)\n  |                 ^^^^\n";
    assert!(told.starts_with(expected), "{told}");
    let told = tamis::evaluate("y(i) = A(i,j) * x(j)", &[("A", &x), ("x", &x)]);
    let told = told.expect_err("a vector").message;
    assert_eq!(told, "A has 1 mode and is used with 2");
}

#[test]
fn a_kernel_refuses_operands_that_are_stored_otherwise() {
    let (a, x) = (matrix(), vector());
    let operands = [("A", &a), ("x", &x)];
    let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &operands, &Options::default());
    let kernel = kernel.expect("a valid program");
    let b = Tensor::csc([2, 3], vec![0, 1, 2, 3], vec![0, 1, 0], vec![1.0, 3.0, 2.0]);
    let b = b.expect("valid arrays");
    let refused = kernel.run(&[("A", &b), ("x", &x)]).expect_err("another format");
    let expected = "error[format-property]: A is stored as csc, the kernel was compiled for csr";
    assert!(refused.to_string().starts_with(expected), "{refused}");
    let x = Tensor::dense(&[3], vec![1f32, 2.0, 3.0]).expect("as many values");
    let refused = kernel.run(&[("A", &a), ("x", &x)]).expect_err("another type");
    let expected = "error[format-property]: x is stored as dense{f32}, the kernel was compiled for dense{f64}\n  \
                    = help: compile for it, by Program::operand(\"x\", &x), or convert it";
    assert_eq!(refused.to_string(), expected);
}

#[test]
fn built_programs_equal_their_text() {
    let (a, x) = (matrix(), vector());
    let program = build(|b| {
        let [i, j] = b.vars(["i", "j"]);
        let [y, a, x] = b.tensors(["y", "A", "x"]);
        b.assign(y[i], 2.0 * a[[i, j]] * x[j]);
    });
    let operands = [("A", &a), ("x", &x)];
    let kernel = Kernel::of_program(program.expect("valid"), &operands, &Options::default());
    let results = kernel.expect("a valid program").run(&operands).expect("it runs");
    assert_eq!(results[0].1.vals().as_slice::<f64>(), Some(&[402.0, 60.0][..]));
}

#[test]
fn built_numbers_below_zero_are_those_of_texts() {
    let x = Tensor::dense(&[1], vec![7u64]).expect("valid arrays");
    let built = build(|b| {
        let [i] = b.vars(["i"]);
        let [y, x] = b.tensors(["y", "x"]);
        b.assign(y[i], x[i] / -5);
    });
    for program in [built, parse_with("y(i) = x(i) / -5", &[])] {
        let options = Options { datatype: Some(DataType::U32), ..Options::default() };
        let kernel = Kernel::of_program(program.expect("valid"), &[("x", &x)], &options);
        let refused = kernel.expect("a valid program").run(&[("x", &x)]).expect_err("no sign");
        assert_eq!(refused.code, tamis::Code::IntegerOverflow);
    }
}

#[test]
fn user_operators_bring_their_algebra() {
    let properties = OperatorProperties {
        identity: Some(0.0),
        annihilator: None,
        commutative: tamis::notation::Commutativity::Commutative,
    };
    let hypot = Operator::binary("hyp", properties, |x, y| (x * x + y * y).sqrt());
    let program = parse_with("y = hyp(i, x(i))", &[hypot.expect("an operator")]).expect("valid");
    let x = Tensor::dense(&[2], vec![3.0, 4.0]).expect("valid arrays");
    let kernel = Kernel::of_program(program, &[("x", &x)], &Options::default());
    let results = kernel.expect("a valid program").run(&[("x", &x)]).expect("it runs");
    assert_eq!(results[0].1.vals().as_slice::<f64>(), Some(&[5.0][..]));
}

/// A chain whose rows stay in registers where they have some lengths, and in memory where they have not:
/// every backend computes the same bits.
#[test]
fn rows_of_every_length() {
    let text = "A(i,l) = B(i,j) * C(i,k) * D(j,k) * E(j,l)";
    let number = |at: usize| f64::from((at * 37 % 101) as u32) / 8.0 - 6.0;
    let dense = |rows: u64, columns: u64| {
        let vals: Vec<f64> = (0..(rows * columns) as usize).map(number).collect();
        Tensor::dense(&[rows, columns], vals).expect("as many values as elements")
    };
    let pos = vec![0, 3, 3, 10, 12, 13];
    let crd = vec![0, 2, 5, 0, 1, 2, 3, 4, 5, 6, 3, 6, 1];
    let vals: Vec<f64> = (0..13).map(number).collect();
    let b = Tensor::csr([5, 7], pos, crd, vals).expect("valid arrays");
    for (k, l) in [(64, 64), (32, 32), (16, 31), (17, 33), (0, 64), (1, 65), (8, 128), (70, 1)] {
        let (c, d, e) = (dense(5, k), dense(7, k), dense(7, l));
        let operands = [("B", &b), ("C", &c), ("D", &d), ("E", &e)];
        let result = |backend| {
            let schedule = tamis::schedule::parse("loopfuse(1)").expect("a command");
            let options = Options { backend, schedule, ..Options::default() };
            let kernel = Kernel::compile(text, &operands, &options).expect("a valid program");
            let results = kernel.run(&operands).expect("it runs");
            let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<u64>>();
            results[0].1.vals().as_slice::<f64>().map(bits)
        };
        let expected = result(Backend::Interpreter);
        for backend in [Backend::Jit, Backend::InterpreterOfVectors, Backend::C] {
            if backend != Backend::C || tamis::has_c_compiler() {
                assert_eq!(result(backend), expected, "{k} {l} {backend:?}");
            }
        }
    }
}

/// Unordered rows, which list some columns twice.
fn unordered(datatype: DataType) -> Tensor {
    let format = tamis::format::parse("csr(nonordered,nonunique)", Some(2)).expect("a format");
    let mut storage = format.resolve(datatype).expect("a storage");
    (storage.pos, storage.crd) = (IndexWidth::I32, IndexWidth::I32);
    let crd = |crd: Vec<i32>| Some(Buffer::from_vec(crd));
    let rows = LevelData {
        pos: crd(vec![0, 5, 5, 8]),
        crd: crd(vec![3, 1, 3, 1, 3, 2, 2, 0]),
        ..LevelData::default()
    };
    let vals = match datatype {
        DataType::F64 => Buffer::from_vec(vec![1e16, 2.0, 1.0, -2.0, -1e16, 4.0, 5.0, 6.0]),
        DataType::I8 => Buffer::from_vec(vec![100i8, 2, 100, -2, -100, 4, 5, 6]),
        _ => Buffer::from_vec(vec![1.0f32, 2.0, 1.0, -2.0, 3.0, 4.0, 5.0, 6.0]),
    };
    let levels = vec![LevelData::default(), rows];
    Tensor::try_from_parts(vec![3, 4], storage, levels, vals).expect("valid arrays")
}

/// Entries of the same coordinate are added in the order in which they are stored, in the type that is computed: of
/// integers of 8 bits only the sum has to fit.
#[test]
fn entries_of_unordered_rows_are_added_in_order() {
    let expected = |third: f64| [(1, 0.0), (3, third), (8, 6.0), (10, 9.0)];
    for (datatype, third) in [(DataType::F64, 0.0), (DataType::F32, 5.0), (DataType::I8, 100.0)] {
        let a = unordered(datatype);
        for backend in [Backend::Interpreter, Backend::Jit] {
            for format in ["csr", "dcsr", "coo", "csc", "csr(nonordered)"] {
                let spec = tamis::format::parse(format, Some(2)).expect("a format");
                let results = [("B".to_owned(), spec)].into();
                let options = Options { backend, results, ..Options::default() };
                let operands = [("A", &a)];
                let kernel = Kernel::compile("B(i,j) = A(i,j)", &operands, &options);
                let made = kernel.and_then(|kernel| kernel.run(&operands));
                let list = made.expect("it runs").remove(0).1.to_coordinates().expect("a list");
                let element = |n: usize| {
                    let at = |k: usize| list.crds()[k][n];
                    (4 * at(0) + at(1), list.vals().as_f64(n))
                };
                let mut elements: Vec<(u64, f64)> = (0..list.vals().len()).map(element).collect();
                elements.sort_by_key(|&(at, _)| at);
                assert_eq!(elements, expected(third), "{datatype:?} {format} {backend:?}");
            }
        }
    }
}
