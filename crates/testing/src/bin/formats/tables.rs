//! The tables of formats.

use crate::expressions::{fused, split};
use crate::matrices::{Matrix, storage, stored};
use crate::{clock, clock_each};
use std::collections::BTreeMap;
use tamis::{Backend, Diagnostic, Kernel, Options, Tensor, format};

/// The formats that meet each other.
const FORMATS: [&str; 14] = [
    "csr",
    "csc",
    "dcsr",
    "dcsc",
    "coo",
    "coo(nonordered)",
    "csr(nonordered)",
    "dok",
    "ell",
    "dia",
    "bcsr(4,4)",
    "csb(128,128)",
    "bitmap",
    "dense",
];

/// How often, and how large in bytes.
#[derive(Clone, Copy)]
pub struct Bench {
    /// How often what is slow runs.
    pub runs: usize,
    /// How many random programs.
    pub programs: usize,
    /// The most bytes of one tensor.
    pub most: u64,
}

type Table = fn(Bench, &Matrix) -> Result<(), Diagnostic>;

/// Every table by its name.
pub const TABLES: [(&str, Table); 5] = [
    ("pairs", pairs),
    ("products", products),
    ("conversions", conversions),
    ("fused", fused),
    ("split", split),
];

impl Bench {
    /// The matrix in each format in which it is not too large.
    fn in_formats(self, matrix: &Matrix) -> Result<Vec<(&'static str, Tensor)>, Diagnostic> {
        let mut found = vec![];
        for name in FORMATS {
            let bytes = tamis::footprint(&matrix.entries, &storage(name)?);
            if bytes.is_none_or(|b| b <= self.most) {
                found.push((name, matrix.packed(name)?));
            }
        }
        Ok(found)
    }

    /// How long a program takes, with results in formats.
    pub fn time(
        self,
        text: &str,
        operands: &[(&str, &Tensor)],
        results: &[(&str, &str)],
    ) -> Result<f64, Diagnostic> {
        Ok(self.times(&[text], operands, results)?[0])
    }

    /// How long programs of the same operands take; their runs alternate.
    pub fn times(
        self,
        texts: &[&str],
        operands: &[(&str, &Tensor)],
        results: &[(&str, &str)],
    ) -> Result<Vec<f64>, Diagnostic> {
        let spec =
            |(tensor, name): &(&str, &str)| Ok((tensor.to_string(), format::parse(name, Some(2))?));
        let results: Result<BTreeMap<_, _>, Diagnostic> = results.iter().map(spec).collect();
        let options = Options { results: results?, backend: Backend::Jit, ..Options::default() };
        let compiled = texts.iter().map(|text| Kernel::compile(text, operands, &options));
        let kernels = compiled.collect::<Result<Vec<_>, _>>()?;
        clock_each(self.runs, kernels.len(), |k| kernels[k].run(operands).map(drop))
    }
}

/// Sums and elementwise products of the matrix in two formats, against two `csr`.
fn pairs(bench: Bench, matrix: &Matrix) -> Result<(), Diagnostic> {
    let tensors = bench.in_formats(matrix)?;
    for op in ["+", "*"] {
        let text = format!("C(i,j) = A(i,j) {op} B(i,j)");
        let time =
            |a: &Tensor, b: &Tensor| bench.time(&text, &[("A", a), ("B", b)], &[("C", "csr")]);
        let csr = time(&tensors[0].1, &tensors[0].1)?;
        println!("`{text}` of two csr takes {csr:.2} ms. Others against it:\n");
        let names: Vec<&str> = tensors.iter().map(|(name, _)| *name).collect();
        println!("| | {} |\n|---|{}", names.join(" | "), "---|".repeat(names.len()));
        let mut bars = Bars::default();
        for (k, (name, a)) in tensors.iter().enumerate() {
            print!("| {name} |{}", " |".repeat(k));
            for (other, b) in &tensors[k..] {
                let ratio = time(a, b)? / csr;
                // What stores every element is told by how many these are.
                let whole = |t: &Tensor| t.vals().len() > 4 * matrix.entries.vals().len();
                if !whole(a) && !whole(b) {
                    bars.add(ratio, format!("{name} {op} {other}"));
                }
                print!(" {ratio:.1} |");
            }
            println!();
        }
        bars.print("largest 3x, geometric mean 1.5x", 3.0);
    }
    Ok(())
}

/// Products of the matrix with itself into a format, against the product into `csr`.
fn products(bench: Bench, matrix: &Matrix) -> Result<(), Diagnostic> {
    let a = matrix.packed("csr")?;
    let text = "C(i,j) = A(i,k) * B(k,j)";
    let time = |name: &str| bench.time(text, &[("A", &a), ("B", &a)], &[("C", name)]);
    let csr = time("csr")?;
    println!("`{text}` into csr takes {csr:.2} ms.\n\n| into | of csr | bar |\n|---|---|---|");
    for (name, bar) in [("dok", 3.0), ("ell", 2.0), ("coo", 1.3), ("csc", 1.5), ("dcsr", 1.1)] {
        println!("| {name} | {:.2} | {bar} |", time(name)? / csr);
    }
    Ok(())
}

/// Conversions between all formats, against a copy of the larger tensor.
fn conversions(bench: Bench, matrix: &Matrix) -> Result<(), Diagnostic> {
    let tensors = bench.in_formats(matrix)?;
    // A tensor shares its arrays with its clones.
    let copy = |bytes: usize| {
        let bytes = vec![1u8; bytes];
        clock(bench.runs, || {
            std::hint::black_box(bytes.clone());
            Ok(())
        })
    };
    let names: Vec<&str> = tensors.iter().map(|(name, _)| *name).collect();
    println!("| from, to | {} |\n|---|{}", names.join(" | "), "---|".repeat(names.len()));
    let mut bars = Bars::default();
    for (from, (name, tensor)) in tensors.iter().enumerate() {
        print!("| {name} |");
        for (to, other) in names.iter().enumerate() {
            if from == to {
                print!(" |");
                continue;
            }
            let time = clock(bench.runs, || stored(tensor, other).map(drop))?;
            // Padding is stored elements, which the result has, too.
            let ratio = time / copy(tensor.bytes().max(stored(tensor, other)?.bytes()))?;
            bars.add(ratio, format!("{name} to {other}"));
            print!(" {ratio:.1} |");
        }
        println!();
    }
    let copies = tensors.iter().map(|(_, tensor)| Ok(format!("{:.3}", copy(tensor.bytes())?)));
    println!("| copy, ms | {} |", copies.collect::<Result<Vec<_>, Diagnostic>>()?.join(" | "));
    bars.print("largest 5x", 5.0);
    Ok(())
}

/// Ratios that have a bar.
#[derive(Default)]
pub struct Bars {
    ratios: Vec<(f64, String)>,
}

impl Bars {
    /// A ratio of what it is named.
    pub fn add(&mut self, ratio: f64, what: String) {
        self.ratios.push((ratio, what));
    }

    /// The geometric mean, and what is above the bar, largest first.
    pub fn print(mut self, bar: &str, most: f64) {
        self.ratios.sort_by(|a, b| b.0.total_cmp(&a.0));
        let logs: f64 = self.ratios.iter().map(|(ratio, _)| ratio.ln()).sum();
        let mean = (logs / self.ratios.len().max(1) as f64).exp();
        let above: Vec<String> = self
            .ratios
            .iter()
            .take_while(|(ratio, _)| *ratio > most)
            .map(|(ratio, what)| format!("{what} {ratio:.1}"))
            .collect();
        println!(
            "\nGeometric mean {mean:.2}; bar: {bar}. {} of {} above it: {}.\n",
            above.len(),
            self.ratios.len(),
            above.join(", ")
        );
    }
}
