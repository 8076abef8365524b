//! Tamis as a contender in two tiers, and the bars that no race decides.

use std::rc::Rc;
use std::time::Instant;

use tamis::{Backend, Kernel, Options, Tensor};

use crate::bars::{Bar, Required};
use crate::contender::{Absent, Contender, Prepared, Role};
use crate::inputs::Csr;
use crate::operation::{Operation, Order, Storage};
use crate::problem::{Operands, Problem};
use crate::program::{self, CSF, Form, Program, csf, csr, dense, vector};

/// The tiers that take part on so many threads, and the C tier on one.
pub fn contenders(threads: usize) -> Vec<Box<dyn Contender>> {
    let mut tiers = vec![(Role::TamisJit, threads), (Role::TamisC, threads)];
    if threads > 1 {
        tiers.push((Role::TamisAlone, 1));
    }
    let tier = |(role, threads)| Box::new(Tier { role, threads }) as Box<dyn Contender>;
    tiers.into_iter().map(tier).collect()
}

struct Tier {
    role: Role,
    threads: usize,
}

impl Contender for Tier {
    fn name(&self) -> String {
        let alone = if self.role == Role::TamisAlone { " alone" } else { "" };
        format!("tamis-{}{alone}", self.backend().name())
    }

    fn role(&self) -> Role {
        self.role
    }

    fn prepare<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Prepared + 'a>, Absent> {
        of_problem(problem)?.prepare(self.backend(), self.threads)
    }
}

impl Tier {
    fn backend(&self) -> Backend {
        if self.role == Role::TamisJit { Backend::Jit } else { Backend::C }
    }
}

/// The program that computes a problem.
pub fn of_problem(problem: &Problem) -> Result<Program, Absent> {
    if let Some(program) = of_storage(problem) {
        return program.map_err(Absent::NotAvailable);
    }
    let of = |text, result: (&str, &str), operands| {
        Program::new(text, operands).format(result.0, result.1)
    };
    Ok(match &problem.operands {
        Operands::Matrix { a } => of("T(i,j) = A(i,j)", ("T", "csr"), vec![("A", csr(a))]),
        Operands::MatrixVector { a, x } => {
            Program::new("y(i) = A(i,j) * x(j)", vec![("A", csr(a)), ("x", vector(x))])
                .format("y", "dense")
        }
        Operands::MatrixDense { a, x } => {
            let operands = vec![("A", csr(a)), ("X", dense(x))];
            of("Y(i,k) = A(i,j) * X(j,k)", ("Y", "dense"), operands)
        }
        Operands::TwoMatrices { a, b } => {
            let text = match problem.operation {
                Operation::Spgemm(_, order) => return Ok(product(a, b, order)),
                Operation::Spadd => "C(i,j) = A(i,j) + B(i,j)",
                _ => "C(i,j) = A(i,j) * B(i,j)",
            };
            of(text, ("C", "csr"), vec![("A", csr(a)), ("B", csr(b))])
        }
        Operands::Squared(a) => {
            let part = match problem.operation {
                Operation::SpgemmPart(part) => Some(part),
                _ => None,
            };
            Program { part, ..product(a, a, Order::Sorted) }
        }
        Operands::Matrices { all } => sum(all),
        Operands::Residual { a, x, b } => {
            let operands = vec![("A", csr(a)), ("x", vector(x)), ("b", vector(b))];
            Program::new("y(i) = b(i) - A(i,j) * x(j)", operands).format("y", "dense")
        }
        Operands::SampledProduct { b, dense: [c, d, e] } => {
            let operands = vec![("B", csr(b)), ("C", dense(c)), ("D", dense(d)), ("E", dense(e))];
            let text = "A(i,l) = B(i,j) * C(i,k) * D(j,k) * E(j,l)";
            of(text, ("A", "dense"), operands)
        }
        Operands::Sampled { b, c, d } => {
            let operands = vec![("B", csr(b)), ("C", dense(c)), ("D", dense(d))];
            of("A(i,j) = B(i,j) * C(i,k) * D(j,k)", ("A", "csr"), operands)
        }
        _ => return of_tensors(problem),
    })
}

fn of_tensors(problem: &Problem) -> Result<Program, Absent> {
    let of = |text, result: (&str, &str), operands| {
        Program::new(text, operands).format(result.0, result.1)
    };
    Ok(match &problem.operands {
        Operands::TensorVector { b, c } => {
            let operands = vec![("B", csf(b)), ("c", vector(c))];
            of("A(i,j) = B(i,j,k) * c(k)", ("A", "csr"), operands)
        }
        Operands::TensorMatrix { b, c } => {
            let fibers = "(i, j, r) -> (i: dense, j: compressed, r: dense)";
            let operands = vec![("B", csf(b)), ("C", dense(c))];
            of("A(i,j,r) = B(i,j,k) * C(k,r)", ("A", fibers), operands)
        }
        Operands::TensorTwoMatrices { b, c, d } => {
            let operands = vec![("B", csf(b)), ("C", dense(c)), ("D", dense(d))];
            of("A(i,r) = B(i,k,l) * C(k,r) * D(l,r)", ("A", "dense"), operands)
        }
        Operands::TensorTwoSparse { b, c, d } => {
            let operands = vec![("B", csf(b)), ("C", csr(c)), ("D", csr(d))];
            of("A(i,r) = B(i,k,l) * C(k,r) * D(l,r)", ("A", "csr"), operands)
        }
        Operands::TwoTensors { b, c } => {
            let operands = vec![("B", csf(b)), ("C", csf(c))];
            if problem.operation == Operation::InnerProduct {
                return Ok(Program::new("a = B(i,j,k) * C(i,j,k)", operands));
            }
            let sum = Program::new("A(i,j,k) = B(i,j,k) + C(i,j,k)", operands);
            Program { form: Form::Entries, ..sum.format("A", CSF) }
        }
        _ => return Err(Absent::NoOperation),
    })
}

/// The product of two matrices.
pub fn product(a: &Csr, b: &Csr, order: Order) -> Program {
    let result = match order {
        Order::Sorted => "csr",
        Order::Unsorted => "csr(nonordered)",
    };
    let operands = vec![("A", csr(a)), ("B", csr(b))];
    Program::new("C(i,j) = A(i,k) * B(k,j)", operands).format("C", result)
}

/// The names of the terms of a sum.
pub const TERMS: [&str; 16] =
    ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P"];

/// The sum of matrices, in one expression.
pub fn sum(all: &[Rc<Csr>]) -> Program {
    let operands: Vec<(&str, Tensor)> = TERMS.into_iter().zip(all.iter().map(|a| csr(a))).collect();
    let terms: Vec<String> = operands.iter().map(|(name, _)| format!("{name}(i,j)")).collect();
    Program::new(&format!("S(i,j) = {}", terms.join(" + ")), operands).format("S", "csr")
}

/// The same for operations with matrices in other storage than CSR.
fn of_storage(problem: &Problem) -> Option<Result<Program, String>> {
    let stored = |a: &Csr, storage: Storage| program::stored(&csr(a), storage.format());
    let of = |text, result: (&str, &str), operands| Program {
        form: Form::Entries,
        ..Program::new(text, operands).format(result.0, result.1)
    };
    Some(match (problem.operation, &problem.operands) {
        (Operation::SpmvOf(storage), Operands::MatrixVector { a, x }) => {
            stored(a, storage).map(|a| {
                Program::new("y(i) = A(i,j) * x(j)", vec![("A", a), ("x", vector(x))])
                    .format("y", "dense")
            })
        }
        (Operation::SpmmOf(storage, _), Operands::MatrixDense { a, x }) => {
            stored(a, storage).map(|a| {
                Program::new("Y(i,k) = A(i,j) * X(j,k)", vec![("A", a), ("X", dense(x))])
                    .format("Y", "dense")
            })
        }
        (Operation::SpaddOf(storage), Operands::TwoMatrices { a, b }) => {
            stored(a, storage).and_then(|a| Ok((a, stored(b, storage)?))).map(|(a, b)| {
                let operands = vec![("A", a), ("B", b)];
                of("C(i,j) = A(i,j) + B(i,j)", ("C", storage.format()), operands)
            })
        }
        (Operation::Convert(from, to), Operands::Matrix { a }) => {
            stored(a, from).map(|a| of("T(i,j) = A(i,j)", ("T", to.format()), vec![("A", a)]))
        }
        _ => return None,
    })
}

/// Compile time over the gallery and the overhead of calling a compiled kernel again.
pub fn other_bars() -> Vec<Bar> {
    let gallery = gallery();
    let mut times: Vec<(f64, &str)> =
        gallery.iter().filter_map(|case| Some((compile_ms(case)?, case.text.as_str()))).collect();
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut bars = vec![];
    if let (Some(&(median, _)), Some(&(worst, text))) = (times.get(times.len() / 2), times.last()) {
        let bar = |what: &str, reached, most| Bar {
            what: format!(
                "a new kernel, from text to runnable, over {} of the gallery, {what}",
                times.len()
            ),
            reached,
            required: Required::AtMost(most),
            unit: "ms",
        };
        bars.push(bar("median", median, 3.0));
        let text = text.trim().replace('\n', "; ").replace('|', "\\|");
        bars.push(bar(&format!("worst: `{text}`"), worst, 20.0));
    }
    bars.push(Bar {
        what: "calling a compiled kernel again, on a 3 x 3 matrix".to_owned(),
        reached: call_us(),
        required: Required::AtMost(2.0),
        unit: "us",
    });
    bars
}

fn gallery() -> Vec<tamis_testing::case::Case> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/gallery");
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let texts = files.filter_map(|f| std::fs::read_to_string(f.path()).ok());
    texts.filter_map(|t| tamis_testing::filetest::cases(&t).ok()).flatten().collect()
}

/// The least of three compilations, in milliseconds.
fn compile_ms(case: &tamis_testing::case::Case) -> Option<f64> {
    let tensors: Vec<(String, Tensor)> = case
        .operands
        .iter()
        .map(|o| Some((o.name.clone(), o.tensor().ok()?)))
        .collect::<Option<_>>()?;
    let operands: Vec<(&str, &Tensor)> = tensors.iter().map(|(n, t)| (n.as_str(), t)).collect();
    let options = case.options(Backend::Jit).ok()?;
    let once = || {
        let start = Instant::now();
        Kernel::compile(&case.text, &operands, &options).ok()?;
        Some(start.elapsed().as_secs_f64() * 1e3)
    };
    [once()?, once()?, once()?].into_iter().reduce(f64::min)
}

fn call_us() -> f64 {
    let a = Tensor::csr([3, 3], vec![0, 1, 2, 3], vec![0, 1, 2], vec![1.0; 3]).expect("valid");
    let x = Tensor::dense(&[3], vec![1.0; 3]).expect("valid");
    let operands = [("A", &a), ("x", &x)];
    let options = Options { backend: Backend::Jit, ..Options::default() };
    let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &operands, &options).expect("valid");
    let calls = 100_000;
    let start = Instant::now();
    for _ in 0..calls {
        std::hint::black_box(kernel.run(&operands).expect("it runs"));
    }
    start.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
}
