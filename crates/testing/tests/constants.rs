//! Types follow from types alone: every function and operator of constants of every type, wherever values
//! stand, is compiled or refused, and interpreted as it runs in machine code.

use tamis::{Backend, Diagnostic, Kernel, Options, Tensor};
use tamis_ir::algebra::{BinaryOp, UnaryOp};
use tamis_testing::functions::bits;

/// Complex ones on the real axis, ones that are no numbers, beyond integers, and truth values.
const CONSTANTS: [&str; 13] = [
    "3j",
    "square(3j)",
    "square(square(3j))",
    "(2j - 2j)",
    "0j",
    "2",
    "-2",
    "0.5",
    "-0.0",
    "18446744073709551615",
    "(1e308 * 10)",
    "((1e308 * 10) - (1e308 * 10))",
    "(1 < 2)",
];

/// Where a value may stand.
const POSITIONS: [&str; 7] = [
    "a = E",
    "a min= E",
    "y(i) = x(i) * E",
    "y(i) = (E < 2) * x(i)",
    "a = sum(i, x(i) * E)",
    "a = max(real(E), 1) + x(i)",
    "a = mod(b, E) * x(i)",
];

/// Every element of the results, or why there are none.
fn results(text: &str, backend: Backend) -> Result<Vec<String>, Diagnostic> {
    let x = Tensor::dense(&[3], vec![1.5, -2.0, 0.0])?;
    let b = Tensor::dense::<f64>(&[], vec![2.0])?;
    let named = [("x", &x), ("b", &b)];
    let used = |name: &str| text.split(|c: char| !c.is_alphanumeric()).any(|word| word == name);
    let operands: Vec<(&str, &Tensor)> = named.into_iter().filter(|(n, _)| used(n)).collect();
    let options = Options { backend, ..Options::default() };
    let results = Kernel::compile(text, &operands, &options)?.run(&operands)?;
    Ok(results.iter().map(|(name, tensor)| format!("{name} {:?}", bits(tensor))).collect())
}

fn check(value: &str, position: &str) {
    let text = position.replace('E', value);
    let run = |backend| {
        let ran = std::panic::catch_unwind(|| results(&text, backend));
        ran.unwrap_or_else(|_| panic!("{text} panics on {}", backend.name()))
    };
    match (run(Backend::Interpreter), run(Backend::Jit)) {
        (Ok(interpreted), Ok(compiled)) => assert_eq!(interpreted, compiled, "{text}"),
        (Err(interpreted), Err(compiled)) => assert_eq!(interpreted.code, compiled.code, "{text}"),
        (interpreted, compiled) => panic!("{text}: {interpreted:?}, {compiled:?}"),
    }
}

/// An operator of two values as it is written.
fn written(op: BinaryOp, a: &str, b: &str) -> String {
    match op.name().starts_with(|c: char| c.is_alphabetic()) {
        true => format!("{}({a}, {b})", op.name()),
        false => format!("({a} {} {b})", op.name()),
    }
}

#[test]
fn functions_of_constants() {
    for op in UnaryOp::ALL {
        for (k, c) in CONSTANTS.iter().enumerate() {
            let value = format!("{}({c})", if op == UnaryOp::Neg { "-" } else { op.name() });
            (0..2).for_each(|more| check(&value, POSITIONS[(k + 3 * more) % POSITIONS.len()]));
        }
    }
}

#[test]
fn operators_of_constants() {
    for (n, op) in BinaryOp::ALL.into_iter().enumerate() {
        for (k, a) in CONSTANTS.iter().enumerate() {
            for (l, b) in CONSTANTS.iter().enumerate() {
                check(&written(op, a, b), POSITIONS[(n + 2 * k + 3 * l) % POSITIONS.len()]);
            }
        }
    }
}

#[test]
fn types_do_not_depend_on_values() {
    let refused = |text: &str| results(text, Backend::Jit).err().map(|d| d.code);
    for c in ["3j", "square(3j)", "square(square(3j))", "(2j - 2j)", "0j", "(0 * 3j)"] {
        for text in ["a = mod(b, E)", "a = max(E, 2) + b * x(i)", "a = b * (E < 1)"] {
            let text = text.replace('E', c);
            assert_eq!(refused(&text), Some(tamis::Code::TypeMismatch), "{text}");
        }
    }
}
