//! The tables of statements with several operands, as one kernel and as several.

use crate::matrices::Matrix;
use crate::tables::{Bars, Bench};
use tamis::{Diagnostic, Tensor};
use tamis_testing::random::Random;

/// The names of operands.
const NAMES: [&str; 6] = ["B", "C", "D", "E", "F", "G"];

/// The matrix and others of about its density, all `csr`.
fn moved(matrix: &Matrix) -> Result<Vec<(&'static str, Tensor)>, Diagnostic> {
    let named = NAMES.into_iter().enumerate();
    named.map(|(k, name)| Ok((name, matrix.moved(3 * k as u64)?.packed("csr")?))).collect()
}

/// Statements with several operands, whole and split.
pub fn fused(bench: Bench, matrix: &Matrix) -> Result<(), Diagnostic> {
    let named = moved(matrix)?;
    let operands: Vec<(&str, &Tensor)> = named.iter().map(|(n, t)| (*n, t)).collect();
    let programs = [
        ("B(i,j) * C(i,j) + D(i,j)", "T(i,j) = B(i,j) * C(i,j); A(i,j) = T(i,j) + D(i,j)"),
        ("B(i,j) + C(i,j) + D(i,j)", "T(i,j) = B(i,j) + C(i,j); A(i,j) = T(i,j) + D(i,j)"),
        ("(B(i,j) + C(i,j)) * D(i,j)", "T(i,j) = B(i,j) + C(i,j); A(i,j) = T(i,j) * D(i,j)"),
        (
            "B(i,j) + C(i,j) + D(i,j) + E(i,j)",
            "T(i,j) = B(i,j) + C(i,j); U(i,j) = D(i,j) + E(i,j); A(i,j) = T(i,j) + U(i,j)",
        ),
        (
            "B(i,j) * C(i,j) + D(i,j) * E(i,j)",
            "T(i,j) = B(i,j) * C(i,j); U(i,j) = D(i,j) * E(i,j); A(i,j) = T(i,j) + U(i,j)",
        ),
    ];
    println!("| value | whole, ms | split, ms | split of whole |\n|---|---|---|---|");
    for (value, apart) in programs {
        let of = if value.contains('E') { &operands[..4] } else { &operands[..3] };
        let whole = format!("A(i,j) = {value}");
        let times = bench.times(&[&whole, apart], of, &[("A", "csr")])?;
        let (whole, apart) = (times[0], times[1]);
        println!("| `{value}` | {whole:.2} | {apart:.2} | {:.2} |", apart / whole);
    }
    Ok(())
}

/// Random sums and products of 3 to 6 operands, against the best of a few ways to split them: at each part that is
/// itself a sum or a product, and at all of them.
pub fn split(bench: Bench, matrix: &Matrix) -> Result<(), Diagnostic> {
    let named = moved(matrix)?;
    let mut random = Random::new(7);
    let mut bars = Bars::default();
    for _ in 0..bench.programs {
        let count = 3 + random.below(NAMES.len() - 2);
        let of: Vec<(&str, &Tensor)> = named[..count].iter().map(|(n, t)| (*n, t)).collect();
        let value = Value::random(&mut random, count);
        let mut texts = vec![format!("A(i,j) = {}", value.text())];
        texts.extend(value.splits());
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let times = bench.times(&texts, &of, &[("A", "csr")])?;
        let whole = times[0];
        let best = times[1..].iter().copied().fold(f64::INFINITY, f64::min);
        bars.add(whole / best, format!("`{}` ({whole:.2} ms)", value.text()));
    }
    bars.print("of the whole to the best split: geometric mean 1, largest 1.11", 1.11);
    Ok(())
}

/// A sum or a product of operands.
#[derive(Clone)]
enum Value {
    Operand(String),
    Binary(char, Box<Value>, Box<Value>),
}

impl Value {
    /// A random one of so many operands.
    fn random(random: &mut Random, count: usize) -> Value {
        let operand = |name: &&str| Value::Operand(format!("{name}(i,j)"));
        let mut values: Vec<Value> = NAMES[..count].iter().map(operand).collect();
        while values.len() > 1 {
            let at = random.below(values.len() - 1);
            let op = *random.pick(&['+', '*']);
            let (b, a) = (values.remove(at + 1), values.remove(at));
            values.insert(at, Value::Binary(op, Box::new(a), Box::new(b)));
        }
        values.swap_remove(0)
    }

    fn text(&self) -> String {
        match self {
            Value::Operand(text) => text.clone(),
            Value::Binary(op, a, b) => {
                let [a, b] = [a, b].map(|side| match &**side {
                    Value::Operand(text) => text.clone(),
                    inner => format!("({})", inner.text()),
                });
                format!("{a} {op} {b}")
            }
        }
    }

    /// Programs that compute parts of it first.
    fn splits(&self) -> Vec<String> {
        let mut parts = vec![];
        self.parts(&mut parts);
        // The last one is the value itself.
        parts.pop();
        let ends = |chosen: &[Value]| self.by_parts(chosen);
        let mut programs: Vec<String> =
            parts.iter().map(|part| ends(std::slice::from_ref(part))).collect();
        if parts.len() > 1 {
            programs.push(ends(&parts));
        }
        programs
    }

    /// The sums and products in it, inner ones first.
    fn parts(&self, found: &mut Vec<Value>) {
        if let Value::Binary(_, a, b) = self {
            a.parts(found);
            b.parts(found);
            found.push(self.clone());
        }
    }

    /// The program that computes some parts first, inner ones before outer ones.
    fn by_parts(&self, parts: &[Value]) -> String {
        let name = |k: usize| format!("T{k}(i,j)");
        let short = |value: &Value, known: usize| {
            let texts = parts[..known].iter().enumerate();
            texts.rev().fold(value.text(), |text, (k, part)| {
                text.replace(&format!("({})", part.text()), &name(k))
            })
        };
        let all = parts.len();
        let mut program: Vec<String> =
            (0..all).map(|k| format!("{} = {}", name(k), short(&parts[k], k))).collect();
        program.push(format!("A(i,j) = {}", short(self, all)));
        program.join("; ")
    }
}
