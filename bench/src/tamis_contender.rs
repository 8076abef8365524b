//! Tamis as a contender in two tiers, and the bars that no race decides.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use rayon::{ThreadPool, ThreadPoolBuilder};
use tamis::{Backend, Kernel, Options, Tensor, ToFormat, format};

use crate::bars::{Bar, Required};
use crate::contender::{Absent, Contender, Prepared, Role, in_process};
use crate::inputs::{Csf3, Csr, Dense};
use crate::problem::{Operands, Operation, Order, Output, Part, Problem, Storage};

/// The tiers that take part on so many threads, and the C tier on one.
pub fn contenders(threads: usize) -> Result<Vec<Box<dyn Contender>>, String> {
    let mut tiers = vec![(Role::TamisJit, threads), (Role::TamisC, threads)];
    if threads > 1 {
        tiers.push((Role::TamisAlone, 1));
    }
    let tier = |(role, threads)| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|e| e.to_string())?;
        Ok(Box::new(Tier { role, pool }) as Box<dyn Contender>)
    };
    tiers.into_iter().map(tier).collect()
}

struct Tier {
    role: Role,
    pool: ThreadPool,
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
        let (text, result, operands) = program(problem);
        let options = Options {
            results: [(text[..1].to_owned(), result)].into(),
            backend: self.backend(),
            ..Options::default()
        };
        let absent = |d: tamis::Diagnostic| Absent::NotAvailable(d.to_string());
        let kernel = {
            let operands: Vec<(&str, &Tensor)> = operands.iter().map(|(n, t)| (*n, t)).collect();
            Kernel::compile(&text, &operands, &options).map_err(absent)?
        };
        let part = match problem.operation {
            Operation::SpgemmPart(part) => Some(part),
            _ => None,
        };
        let pattern = match part {
            None => vec![],
            Some(_) => {
                let operands: Vec<(&str, &Tensor)> =
                    operands.iter().map(|(n, t)| (*n, t)).collect();
                kernel.assemble(&operands).map_err(absent)?
            }
        };
        let stored = matches!(problem.operation, Operation::SpaddOf(_) | Operation::Convert(..));
        in_process(
            move || {
                let operands: Vec<(&str, &Tensor)> =
                    operands.iter().map(|(n, t)| (*n, t)).collect();
                let results = self.pool.install(|| match part {
                    None => kernel.run(&operands),
                    Some(Part::Assemble) => kernel.assemble(&operands),
                    Some(Part::Compute) => {
                        let patterns: Vec<(&str, &Tensor)> =
                            pattern.iter().map(|(n, t)| (n.as_str(), t)).collect();
                        kernel.compute(&operands, &patterns)
                    }
                });
                results.map_err(|d| d.to_string())
            },
            move |mut results| {
                let Some((_, result)) = results.pop() else { return Output::default() };
                if stored { as_csr(&result) } else { output(&result) }
            },
        )
    }
}

impl Tier {
    fn backend(&self) -> Backend {
        if self.role == Role::TamisJit { Backend::Jit } else { Backend::C }
    }
}

type Named = (&'static str, Tensor);

/// The expression, the format of its result, and its operands.
fn program(problem: &Problem) -> (String, tamis::FormatSpec, Vec<Named>) {
    if let Some(program) = program_of_storage(problem) {
        return program;
    }
    let (text, result, order, operands) = match &problem.operands {
        Operands::Matrix { a } => ("T(i,j) = A(i,j)", "csr", 2, vec![("A", csr(a))]),
        Operands::MatrixVector { a, x } => {
            ("y(i) = A(i,j) * x(j)", "dense", 1, vec![("A", csr(a)), ("x", vector(x))])
        }
        Operands::MatrixDense { a, x } => {
            ("Y(i,k) = A(i,j) * X(j,k)", "dense", 2, vec![("A", csr(a)), ("X", dense(x))])
        }
        Operands::TwoMatrices { a, b } => {
            let text = match problem.operation {
                Operation::Spgemm(_, order) => return product(a, b, order),
                Operation::Spadd => "C(i,j) = A(i,j) + B(i,j)",
                _ => "C(i,j) = A(i,j) * B(i,j)",
            };
            (text, "csr", 2, vec![("A", csr(a)), ("B", csr(b))])
        }
        Operands::Squared(a) => return product(a, a, Order::Sorted),
        Operands::Matrices { all } => return sum(all),
        Operands::TensorVector { b, c } => {
            ("A(i,j) = B(i,j,k) * c(k)", "csr", 2, vec![("B", csf(b)), ("c", vector(c))])
        }
        Operands::TensorMatrix { b, c } => (
            "A(i,j,r) = B(i,j,k) * C(k,r)",
            "(i, j, r) -> (i: dense, j: compressed, r: dense)",
            3,
            vec![("B", csf(b)), ("C", dense(c))],
        ),
        Operands::TensorTwoMatrices { b, c, d } => (
            "A(i,r) = B(i,k,l) * C(k,r) * D(l,r)",
            "dense",
            2,
            vec![("B", csf(b)), ("C", dense(c)), ("D", dense(d))],
        ),
        Operands::TensorTwoSparse { b, c, d } => (
            "A(i,r) = B(i,k,l) * C(k,r) * D(l,r)",
            "csr",
            2,
            vec![("B", csf(b)), ("C", csr(c)), ("D", csr(d))],
        ),
        Operands::Sampled { b, c, d } => (
            "A(i,j) = B(i,j) * C(i,k) * D(j,k)",
            "csr",
            2,
            vec![("B", csr(b)), ("C", dense(c)), ("D", dense(d))],
        ),
    };
    let spec = format::parse(result, Some(order)).expect("a format of the benchmark");
    (text.to_owned(), spec, operands)
}

fn product(a: &Csr, b: &Csr, order: Order) -> (String, tamis::FormatSpec, Vec<Named>) {
    let result = match order {
        Order::Sorted => "csr",
        Order::Unsorted => "csr(nonordered)",
    };
    let spec = format::parse(result, Some(2)).expect("a format of the benchmark");
    ("C(i,j) = A(i,k) * B(k,j)".to_owned(), spec, vec![("A", csr(a)), ("B", csr(b))])
}

fn sum(all: &[Rc<Csr>]) -> (String, tamis::FormatSpec, Vec<Named>) {
    const NAMES: [&str; 16] =
        ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P"];
    let operands: Vec<Named> = NAMES.into_iter().zip(all.iter().map(|a| csr(a))).collect();
    let terms: Vec<String> = operands.iter().map(|(name, _)| format!("{name}(i,j)")).collect();
    let spec = format::parse("csr", Some(2)).expect("a format of the benchmark");
    (format!("S(i,j) = {}", terms.join(" + ")), spec, operands)
}

/// The same for operations with matrices in other storage than CSR.
fn program_of_storage(problem: &Problem) -> Option<(String, tamis::FormatSpec, Vec<Named>)> {
    let (text, result, operands) = match (problem.operation, &problem.operands) {
        (Operation::SpmvOf(storage), Operands::MatrixVector { a, x }) => {
            let operands = vec![("A", stored(a, storage)), ("x", vector(x))];
            ("y(i) = A(i,j) * x(j)", "dense", operands)
        }
        (Operation::SpaddOf(storage), Operands::TwoMatrices { a, b }) => {
            let operands = vec![("A", stored(a, storage)), ("B", stored(b, storage))];
            ("C(i,j) = A(i,j) + B(i,j)", storage.format(), operands)
        }
        (Operation::Convert(from, to), Operands::Matrix { a }) => {
            ("T(i,j) = A(i,j)", to.format(), vec![("A", stored(a, from))])
        }
        _ => return None,
    };
    let order = if result == "dense" { 1 } else { 2 };
    let spec = format::parse(result, Some(order)).expect("a format of the benchmark");
    Some((text.to_owned(), spec, operands))
}

fn stored(a: &Csr, storage: Storage) -> Tensor {
    let spec = format::parse(storage.format(), Some(2)).expect("a format of the benchmark");
    let storage = spec.resolve(tamis::DataType::F64).expect("a storage");
    csr(a).to_format(&storage).expect("a conversion")
}

/// A matrix in any storage as CSR, without zeros, since blocks and diagonals are filled up with some.
fn as_csr(tensor: &Tensor) -> Output {
    let list = tensor.to_coordinates().expect("room for a list");
    let tamis::Values::F64(vals) = list.vals() else { return Output::default() };
    let mut entries: Vec<(u64, u64, f64)> = (0..vals.len())
        .map(|n| (list.crds()[0][n], list.crds()[1][n], vals[n]))
        .filter(|(_, _, value)| *value != 0.0)
        .collect();
    entries.sort_by_key(|&(i, j, _)| (i, j));
    let mut pos = vec![0; list.dims()[0] as usize + 1];
    entries.iter().for_each(|&(i, _, _)| pos[i as usize + 1] += 1);
    (1..pos.len()).for_each(|i| pos[i] += pos[i - 1]);
    let crd = entries.iter().map(|&(_, j, _)| j as i32).collect();
    Output { pos, crd, vals: entries.into_iter().map(|(_, _, value)| value).collect() }
}

pub(crate) fn csr(a: &Csr) -> Tensor {
    let dims = [a.rows as u64, a.cols as u64];
    Tensor::csr(dims, a.pos.clone(), a.crd.clone(), a.vals.clone()).expect("a valid input")
}

pub(crate) fn vector(x: &Dense) -> Tensor {
    array(&[x.rows as u64], x)
}

pub(crate) fn dense(x: &Dense) -> Tensor {
    array(&[x.rows as u64, x.cols as u64], x)
}

/// A dense operand in the memory that the other contenders read.
fn array(dims: &[u64], x: &Dense) -> Tensor {
    let vals = Arc::clone(&x.vals);
    // SAFETY: the numbers are aligned, stay as they are and live as long as the owner.
    let vals = unsafe {
        tamis::Buffer::from_foreign(vals.as_ptr().cast(), vals.len(), tamis::DataType::F64, vals)
    };
    let spec = format::parse("dense", Some(dims.len())).expect("a format of the benchmark");
    let storage = spec.resolve(tamis::DataType::F64).expect("a storage");
    let levels = vec![tamis::LevelData::default(); dims.len()];
    Tensor::try_from_parts(dims.to_vec(), storage, levels, vals).expect("a valid input")
}

pub(crate) fn csf(b: &Csf3) -> Tensor {
    let text = "(i, j, k) -> (i: dense, j: compressed, k: compressed)";
    let spec = format::parse(text, Some(3)).expect("a format of the benchmark");
    let storage = spec.resolve(tamis::DataType::F64).expect("a storage");
    let level = |pos: &Vec<i32>, crd: &Vec<i32>| tamis::LevelData {
        pos: Some(tamis::Buffer::from_vec(pos.clone())),
        crd: Some(tamis::Buffer::from_vec(crd.clone())),
        ..tamis::LevelData::default()
    };
    let levels =
        vec![tamis::LevelData::default(), level(&b.pos1, &b.crd1), level(&b.pos2, &b.crd2)];
    let vals = tamis::Buffer::from_vec(b.vals.to_vec());
    Tensor::try_from_parts(b.dims.map(|d| d as u64).to_vec(), storage, levels, vals)
        .expect("a valid input")
}

fn output(tensor: &Tensor) -> Output {
    let ints = |b: &Option<tamis::Buffer>| {
        b.as_ref().and_then(|b| b.as_slice::<i32>()).map(<[i32]>::to_vec).unwrap_or_default()
    };
    let vals = tensor.vals().as_slice::<f64>().map(<[f64]>::to_vec).unwrap_or_default();
    match tensor.levels().iter().find(|l| l.pos.is_some()) {
        Some(level) => Output { pos: ints(&level.pos), crd: ints(&level.crd), vals },
        None => Output::dense(vals),
    }
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
