//! How what is compiled grows with a program: at most as `n log n` of its operands, modes, statements and
//! commands, as long as it is not refused for its size.
//!
//! ```text
//! operands   C(i,j) = A0(i,j) + A1(i,j) + ..      8, 16, 32, ..
//! commands   split(i, a0, b0, 2); split(a0, ..)   each time at most 2 (1 + 1/log n) times as much
//! ```

use crate::case::{Case, Operand};
use crate::functions::Functions;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tamis::{Backend, Code, Diagnostic, Strictness};
use tamis_ir::ir::flow;

/// Measured from so many on.
const LEAST: usize = 8;
/// As far as that.
const MOST: usize = 64;
/// What is compiled may grow by so much more than it should: small programs have parts that do not grow.
const SLACK: f64 = 1.15;

/// Programs that have more and more of one thing.
pub struct Family {
    /// What they have much of.
    pub name: &'static str,
    /// As far as that is accepted.
    most: usize,
    program: fn(usize) -> Case,
    /// Why its code grows as the square, if it does.
    pub squares: Option<&'static str>,
}

const LEFT: &str =
    "at each level of a sum one operand may be left, and is walked by loops over all levels below";

/// All of them.
pub const FAMILIES: &[Family] = &[
    Family {
        name: "sparse terms",
        most: MOST,
        program: |n| joined(n, " + ", "csr"),
        squares: None,
    },
    Family {
        name: "dense terms",
        most: MOST,
        program: |n| joined(n, " + ", "dense"),
        squares: None,
    },
    Family {
        name: "sparse factors",
        most: MOST,
        program: |n| joined(n, " * ", "csr"),
        squares: None,
    },
    Family { name: "minima", most: MOST, program: minima, squares: None },
    Family { name: "contracted factors", most: MOST, program: chain, squares: None },
    Family { name: "factors of a ladder", most: 32, program: ladder, squares: None },
    Family { name: "modes of a product", most: 32, program: |n| modes(n, " * "), squares: None },
    Family { name: "modes of a sum", most: 32, program: |n| modes(n, " + "), squares: Some(LEFT) },
    Family { name: "statements", most: MOST, program: statements, squares: None },
    Family { name: "commands", most: 32, program: commands, squares: None },
    Family { name: "nested functions", most: MOST, program: nested, squares: None },
    Family { name: "slices", most: MOST, program: slices, squares: None },
];

/// What a program of so many takes to compile.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// How many of what the family has much of.
    pub count: usize,
    /// Statements, operators and operands of the functions, as lowered and transformed.
    pub code: usize,
    /// What compilation took.
    pub took: Duration,
}

impl Family {
    /// What programs of more and more take, as far as they are accepted.
    pub fn sizes(&self) -> Result<Vec<Size>, Diagnostic> {
        let mut sizes = vec![];
        let mut count = LEAST;
        while count <= self.most {
            match size(&(self.program)(count), count) {
                Ok(size) => sizes.push(size),
                Err(d) if d.code == Code::TooLarge => break,
                Err(d) => return Err(d),
            }
            count *= 2;
        }
        Ok(sizes)
    }
}

impl Family {
    /// Whether a program of twice as many is too much larger.
    pub fn is_steep(&self, less: Size, more: Size) -> bool {
        let growth = match self.squares {
            Some(_) => 4.0,
            None => 2.0 * (1.0 + 1.0 / (less.count as f64).log2()),
        };
        more.code as f64 > SLACK * growth * less.code as f64
    }
}

fn size(case: &Case, count: usize) -> Result<Size, Diagnostic> {
    let start = Instant::now();
    case.compile(Backend::Interpreter)?;
    let took = start.elapsed();
    let functions = Functions::of(case)?;
    let lowered = functions.lowered();
    let all = lowered.iter().chain(functions.compiled());
    Ok(Size { count, code: all.map(|l| flow::size(&l.function.body)).sum(), took })
}

fn list(count: usize, separator: &str, item: impl FnMut(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(separator)
}

/// A program of operands that all have one entry.
fn case(text: String, operands: Vec<(String, &str, Vec<u64>)>) -> Case {
    let operand = |(name, format, dims): (String, &str, Vec<u64>)| Operand {
        name,
        format: format.to_owned(),
        entries: vec![(vec![0; dims.len()], 1.0.into())],
        dims,
    };
    Case {
        text,
        operands: operands.into_iter().map(operand).collect(),
        results: BTreeMap::new(),
        dims: BTreeMap::new(),
        shapes: BTreeMap::new(),
        schedule: String::new(),
        strict: Strictness::Sparse,
    }
}

fn matrices(count: usize, format: &str) -> Vec<(String, &str, Vec<u64>)> {
    (0..count).map(|k| (format!("A{k}"), format, vec![2, 2])).collect()
}

fn joined(count: usize, sign: &str, format: &str) -> Case {
    let value = list(count, sign, |k| format!("A{k}(i,j)"));
    case(format!("C(i,j) = {value}"), matrices(count, format))
}

fn minima(count: usize) -> Case {
    let value = (1..count).fold("A0(i,j)".to_owned(), |v, k| format!("min({v}, A{k}(i,j))"));
    case(format!("C(i,j) = {value}"), matrices(count, "csr"))
}

fn chain(count: usize) -> Case {
    let value = list(count, " * ", |k| format!("A{k}(i{k},i{})", k + 1));
    case(format!("s = {value}"), matrices(count, "csr"))
}

/// Two chains, with a rung between each pair of factors.
fn ladder(count: usize) -> Case {
    let factor = |k: usize| {
        let (side, k) = (["i", "j"][k % 2], k / 2);
        format!("{}{k}({side}{k},r{k},{side}{})", side.to_uppercase(), k + 1)
    };
    let operand = |k: usize| (format!("{}{}", ["I", "J"][k % 2], k / 2), "csf", vec![2; 3]);
    case(format!("s = {}", list(count, " * ", factor)), (0..count).map(operand).collect())
}

fn modes(count: usize, sign: &str) -> Case {
    let vars = list(count, ",", |k| format!("i{k}"));
    let tensor = |name: &str| (name.to_owned(), "csf", vec![2; count]);
    case(format!("R({vars}) = T({vars}){sign}U({vars})"), vec![tensor("T"), tensor("U")])
}

fn statements(count: usize) -> Case {
    let later = list(count - 1, "; ", |k| format!("R{}(i,j) = R{k}(i,j) + A(i,j)", k + 1));
    case(format!("R0(i,j) = A(i,j); {later}"), vec![("A".to_owned(), "csr", vec![2, 2])])
}

fn commands(count: usize) -> Case {
    let vector = |name: &str, format| (name.to_owned(), format, vec![1 << 20]);
    let mut case = case("y(i) = x(i)".to_owned(), vec![vector("x", "dense")]);
    let outer = |k: usize| if k == 0 { "i".to_owned() } else { format!("a{}", k - 1) };
    case.schedule = list(count, "; ", |k| format!("split({}, a{k}, b{k}, 2)", outer(k)));
    case
}

fn nested(count: usize) -> Case {
    let value = (0..count).fold("A(i,j)".to_owned(), |v, _| format!("sin({v} + 1)"));
    case(format!("C(i,j) = {value}"), vec![("A".to_owned(), "dense", vec![2, 2])])
}

fn slices(count: usize) -> Case {
    let value = list(count, " + ", |k| format!("A(i[{k}:{}], j)", k + 2));
    case(format!("C(i,j) = {value}"), vec![("A".to_owned(), "csr", vec![count as u64 + 2, 2])])
}
