//! Programs compiled word by word: the same kernels as by operands and options, and what is refused.

use std::collections::BTreeMap;
use tamis::explain::Explanation;
use tamis::{
    Backend, Code, DataType, Diagnostic, Kernel, Options, Program, Strictness, Tensor, ToFormat,
    format, notation,
};

fn matrix() -> Tensor {
    Tensor::csr([2, 3], vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0]).expect("valid arrays")
}

fn vector() -> Tensor {
    Tensor::dense(&[3], vec![1.0, 10.0, 100.0]).expect("valid arrays")
}

fn code<T>(done: Result<T, Diagnostic>) -> Code {
    done.map(drop).expect_err("it is refused").code
}

#[test]
fn formats_and_tensors_give_the_same() -> Result<(), Diagnostic> {
    let (a, x) = (matrix(), vector());
    let text = "y(i) = A(i,j) * x(j)";
    let operands = [("A", &a), ("x", &x)];
    let expected = Kernel::compile(text, &operands, &Options::default())?.run(&operands)?;
    for backend in [Backend::Auto, Backend::Jit, Backend::Interpreter] {
        let program = Program::parse(text)?.backend(backend);
        let by_format = program.clone().format("A", "csr")?.compile()?;
        let by_tensor = program.clone().operand("A", &a)?.operand("x", &x)?.compile()?;
        let sparse = program.operand("A", &a)?.format("y", "(i) -> (i: compressed)")?.compile()?;
        for kernel in [by_format, by_tensor] {
            assert_eq!(kernel.run(&operands)?["y"], expected["y"]);
        }
        let y = sparse.run(&operands)?.take("y").expect("a result");
        assert_eq!(y.storage().format, format::parse("(i) -> (i: compressed)", Some(1))?.format);
    }
    Ok(())
}

#[test]
fn each_word_counts() -> Result<(), Diagnostic> {
    let narrow = Program::parse("y(i) = 2 * x(i)")?.datatype(DataType::F32).compile()?;
    let x = Tensor::dense(&[2], vec![1.0f32, 2.0])?;
    assert_eq!(narrow.run(&[("x", &x)])?["y"].values::<f32>()?, [2.0, 4.0]);
    let ones = Program::parse("y(i) = 1")?.dimension("i", 3)?.compile()?;
    assert_eq!(ones.run(&[])?["y"].shape(), [3]);
    let a = Tensor::csr([1, 2], vec![0, 1], vec![0], vec![0.0])?;
    let s = Tensor::scalar(0.0);
    for (strict, entries) in [(Strictness::Sparse, 1), (Strictness::Ieee, 2)] {
        let quotients = Program::parse("N(i,j) = A(i,j) / s")?.format("A", "csr")?.strict(strict);
        assert_eq!(quotients.compile()?.run(&[("A", &a), ("s", &s)])?["N"].nnz(), entries);
    }
    Ok(())
}

/// Results are the same for any number of threads, fixed by the program as by the pool.
#[test]
fn threads_change_no_bit() -> Result<(), Diagnostic> {
    let n = 400;
    let near = (0..n * n).filter(|k| k % 7 < 4).map(|k| ([k / n, k % n], (k % 97) as f64 / 3.0));
    let a = Tensor::from_triplets([n, n], near)?;
    let of = |threads| {
        let program = Program::parse("C(i,j) = A(i,k) * A(k,j)")?.format("A", "csr")?;
        program.format("C", "csr")?.threads(threads).compile()?.run(&[("A", &a)])
    };
    let two = of(2)?;
    assert_eq!(two["C"], of(3)?["C"]);
    assert_eq!(two["C"], of(1)?["C"]);
    Ok(())
}

#[test]
fn wrong_words_are_refused() -> Result<(), Diagnostic> {
    let program = Program::parse("C(i,j) = A(i,k) * B(k,j)")?;
    assert_eq!(code(program.clone().format("D", "csr")), Code::UnknownTensor);
    assert_eq!(code(program.clone().format("C", "crs")), Code::UnknownFormat);
    assert_eq!(code(program.clone().format("C", "csr(3)")), Code::UnknownFormat);
    assert_eq!(code(program.clone().operand("D", &matrix())), Code::UnknownTensor);
    assert_eq!(code(program.clone().dimension("q", 3)), Code::UnknownVariable);
    let both = program.clone().operand("A", &matrix())?.format("A", "csc")?;
    assert_eq!(code(both.compile()), Code::FormatProperty);
    assert_eq!(code(program.schedule("reorder(q, i)")?.compile()), Code::UnknownVariable);
    Ok(())
}

/// What a kernel computes is an operand of it again, whatever a dense result has for a fill value.
#[test]
fn dense_results_are_operands() -> Result<(), Diagnostic> {
    let a = matrix();
    let text = "y(j) = A(i,j) * x(i) + 1";
    let first = Tensor::dense(&[2], vec![1.0, 2.0])?;
    let kernel = Program::parse(text)?.operand("A", &a)?.operand("x", &first)?.compile()?;
    let ones = tamis::evaluate("x(i) = 0 * x(i) + 1", &[("x", &first)])?;
    let infinite = tamis::evaluate("x(i) = min(j, A(i,j) + inf)", &[("A", &a)])?;
    assert!(ones.storage() != first.storage() && infinite.storage() != first.storage());
    assert_eq!(kernel.run(&[("A", &a), ("x", &ones)])?["y"].values::<f64>()?, [2.0, 4.0, 3.0]);
    let y = kernel.run(&[("A", &a), ("x", &infinite)])?.take("y").expect("a result");
    assert!(y.values::<f64>()?.iter().all(|v| v.is_infinite()));
    Program::parse(text)?.format("x", "dense")?.operand("x", &ones)?.compile()?;
    // Of lists, what is not stored has to be the same.
    let sparse = Program::parse("s = x(i)")?.format("x", "sparse")?.compile()?;
    let filled = format::parse("sparse{fill: 1}", Some(1))?.resolve(DataType::F64)?;
    assert_eq!(code(sparse.run(&[("x", &ones.to_format(&filled)?)])), Code::FormatProperty);
    Ok(())
}

/// Scalars have no positions, so that no width of them matters.
#[test]
fn widths_of_no_arrays_do_not_matter() -> Result<(), Diagnostic> {
    let long = Tensor::coo([1 << 40], [vec![3u64, 1 << 39]], vec![1.0, 2.0])?;
    let s = tamis::evaluate("s = c(i)", &[("c", &long)])?;
    let kernel = Program::parse("t = 2 * s")?.format("s", "dense")?.compile()?;
    assert_eq!(kernel.run(&[("s", &s)])?["t"].values::<f64>()?, [6.0]);
    Ok(())
}

/// Formats are of tensors of the program, and in options of what it computes.
#[test]
fn formats_of_no_result_are_refused() -> Result<(), Diagnostic> {
    let x = vector();
    let text = "y(i) = 2 * x(i)";
    for (name, expected) in [("x", Code::UnusedInput), ("z", Code::UnknownTensor)] {
        let mut options = Options::default();
        options.results.insert(name.to_owned(), format::parse("sparse", Some(1))?);
        assert_eq!(code(Kernel::compile(text, &[("x", &x)], &options)), expected);
    }
    let program = notation::parse(text)?;
    let formats = BTreeMap::from([("z".to_owned(), format::parse("sparse", Some(1))?)]);
    let explained = Explanation::of(&program, &formats, &Options::default());
    assert_eq!(code(explained), Code::UnknownTensor);
    Ok(())
}
