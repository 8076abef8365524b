//! Programs that ask for much compilation: many modes, operands, statements, commands, or deep nesting.
//!
//! ```text
//! a = A0(i0,i1) * A1(i2,i3) * A2(i4,i5) * ..            forty operands
//! split(i, a0, b0, 2); split(a0, a1, b1, 2); ..        a loop split a hundred times
//! ```
//!
//! Each is at most 64 KB of text, compiles within seconds or is refused with a diagnostic.

use crate::random::Random;
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};
use tamis::explain::{Explanation, Stage};
use tamis::{Diagnostic, Options, threads};

/// The longest text.
const LONGEST: usize = 64 << 10;

/// A program with the formats of its tensors and a schedule.
#[derive(Debug)]
pub struct Hostile {
    /// What it has much of.
    pub kind: &'static str,
    text: String,
    formats: Vec<(String, String)>,
    schedule: String,
}

/// What became of a program.
#[derive(Debug)]
pub enum Outcome {
    /// It was compiled.
    Compiled,
    /// It was refused.
    Refused(Box<Diagnostic>),
    /// That is a mistake of ours.
    Panicked,
}

impl fmt::Display for Hostile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, format) in &self.formats {
            writeln!(f, "{name}: {format}")?;
        }
        writeln!(f, "{}\nschedule: {}", self.text, self.schedule)
    }
}

/// Compiles a program to the imperative form and to machine code: the outcome, and the processor time
/// that took.
pub fn compile(program: &Hostile) -> (Outcome, Duration) {
    let (wall, cpu) = (Instant::now(), threads::time());
    let outcome = match std::panic::catch_unwind(|| attempt(program)) {
        Ok(Ok(())) => Outcome::Compiled,
        Ok(Err(diagnostic)) => Outcome::Refused(Box::new(diagnostic)),
        Err(_) => Outcome::Panicked,
    };
    let cpu = threads::time().zip(cpu).map(|(after, before)| after.saturating_sub(before));
    (outcome, cpu.unwrap_or_else(|| wall.elapsed()))
}

fn attempt(hostile: &Hostile) -> Result<(), Diagnostic> {
    let program = tamis::notation::parse(&hostile.text)?;
    let mut formats = BTreeMap::new();
    for (name, text) in &hostile.formats {
        let order = program.tensor(name).map(|id| program.tensors[id].order);
        formats.insert(name.clone(), tamis::format::parse(text, order)?);
    }
    let schedule = tamis::schedule::parse(&hostile.schedule)?;
    let options = Options { schedule, ..Options::default() };
    let explanation = Explanation::of(&program, &formats, &options)?;
    explanation.stage(Stage::Asm).map(drop)
}

/// A random program.
pub fn program(random: &mut Random) -> Hostile {
    let draw = *random.pick(&KINDS);
    let mut program = draw.1(random);
    program.kind = draw.0;
    // Cut where a character ends: the texts are ASCII.
    program.text.truncate(LONGEST);
    program
}

type Draw = fn(&mut Random) -> Hostile;

/// What programs have much of.
const KINDS: [(&str, Draw); 14] = [
    ("operands at the same coordinates", merged),
    ("operands of two variables", contracted),
    ("modes", modes),
    ("statements", statements),
    ("nesting", nested),
    ("parentheses", parentheses),
    ("arguments", arguments),
    ("constants", constants),
    ("splits", splits),
    ("fused loops", fused),
    ("unrolled loops", unrolled),
    ("slices", slices),
    ("letters", letters),
    ("blocks", blocks),
];

const MATRICES: [&str; 9] =
    ["dense", "csr", "csc", "dcsr", "coo", "dia", "ell", "bcsr(2,2)", "bcsr(8,8)"];
const OPERATORS: [&str; 5] = [" + ", " * ", " - ", " / ", " < "];
const FUNCTIONS: [&str; 8] = ["sin", "exp", "square", "cube", "abs", "not", "sqrt", "conj"];

fn hostile(text: String) -> Hostile {
    Hostile { kind: "", text, formats: vec![], schedule: String::new() }
}

/// Mostly a number that is accepted, now and then one far beyond.
fn many(random: &mut Random, usual: usize) -> usize {
    let most = if random.one_in(4) { 40 * usual } else { usual };
    1 + random.below(most)
}

fn list(count: usize, separator: &str, item: impl FnMut(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(separator)
}

fn names(prefix: &str, count: usize) -> String {
    list(count, ",", |k| format!("{prefix}{k}"))
}

fn operand_formats(random: &mut Random, count: usize) -> Vec<(String, String)> {
    let same = *random.pick(&MATRICES);
    let mixed = random.one_in(2);
    let mut format = || if mixed { *random.pick(&MATRICES) } else { same };
    (0..count).map(|k| (format!("A{k}"), format().to_owned())).collect()
}

fn merged(random: &mut Random) -> Hostile {
    let count = many(random, 60);
    let (op, mixed) = (*random.pick(&OPERATORS), random.one_in(2));
    let mut text = "C(i,j) = A0(i,j)".to_owned();
    for k in 1..count {
        let op = if mixed { *random.pick(&OPERATORS[..3]) } else { op };
        text += &format!("{op}A{k}(i,j)");
    }
    let formats = operand_formats(random, count.min(100));
    Hostile { formats, ..hostile(text) }
}

fn contracted(random: &mut Random) -> Hostile {
    let count = many(random, 40);
    let chained = random.one_in(2);
    let of = |k: usize| match chained {
        true => format!("A{k}(i{k},i{})", k + 1),
        false => format!("A{k}(i{k},j{k})"),
    };
    let op = *random.pick(&OPERATORS[..2]);
    let result = if chained { format!("C(i0,i{count})") } else { "c".to_owned() };
    let text = format!("{result} = {}", list(count, op, of));
    Hostile { formats: operand_formats(random, count.min(100)), ..hostile(text) }
}

fn modes(random: &mut Random) -> Hostile {
    let order = many(random, 64);
    let vars = names("i", order);
    let reversed = list(order, ",", |k| format!("i{}", order - 1 - k));
    let op = *random.pick(&OPERATORS[..2]);
    let text = match random.below(4) {
        0 => format!("A({vars}) = B({vars})"),
        1 => format!("A({vars}) = B({reversed})"),
        2 => format!("a = B({vars})"),
        _ => format!("A({vars}) = B({vars}){op}C({vars})"),
    };
    let letters = *random.pick(&["s", "d", "u", "ds", "sd"]);
    let format = match random.below(3) {
        0 => "coo".to_owned(),
        1 => "csf".to_owned(),
        _ => letters.chars().cycle().take(order).collect(),
    };
    let formats = ["A", "B", "C"].map(|name| (name.to_owned(), format.clone()));
    let formats = formats.into_iter().filter(|(name, _)| text.contains(&format!("{name}(")));
    Hostile { formats: formats.collect(), ..hostile(text) }
}

fn statements(random: &mut Random) -> Hostile {
    let count = many(random, 300);
    let text = match random.below(3) {
        0 => list(count, "; ", |k| format!("a{k}(i) = A0(i,j) * {k}")),
        1 => list(count, "; ", |k| format!("A{}(i,j) = A{k}(i,j) + B(i,j)", k + 1)),
        _ => list(count, "; ", |k| format!("a(i) += A{k}(i,j) * x(j)")),
    };
    Hostile { formats: operand_formats(random, 1), ..hostile(text) }
}

fn nested(random: &mut Random) -> Hostile {
    let depth = many(random, 90);
    let mut text = (*random.pick(&["x(i)", "x(i) * 1j", "i", "3j"])).to_owned();
    for _ in 0..depth {
        let c = *random.pick(&["2", "0.5", "x(i)", "y(i)"]);
        text = match random.below(4) {
            0 => format!("{}({text})", random.pick(&FUNCTIONS)),
            1 => format!("max({text}, {c})"),
            2 => format!("mod({c}, {text})"),
            _ => format!("({text}{}{c})", random.pick(&OPERATORS)),
        };
    }
    hostile(format!("z(i) = {text}"))
}

fn parentheses(random: &mut Random) -> Hostile {
    let depth = many(random, 190);
    let (open, close) = *random.pick(&[("(", ")"), ("-(", ")"), ("abs(", ")"), ("((", "))")]);
    hostile(format!("a(i) = {}x(i){}", open.repeat(depth), close.repeat(depth)))
}

fn arguments(random: &mut Random) -> Hostile {
    let count = many(random, 190);
    let function = *random.pick(&["max", "min", "and", "or", "sum"]);
    let value = *random.pick(&["x(i)", "x(i) < 2", "i", "A0(i,j)"]);
    let text = list(count, ", ", |k| format!("{value} * {k}"));
    Hostile { formats: operand_formats(random, 1), ..hostile(format!("a(i) = {function}({text})")) }
}

fn constants(random: &mut Random) -> Hostile {
    const CONSTANTS: [&str; 9] = [
        "3j",
        "0j",
        "2",
        "1e308",
        "18446744073709551615",
        "-0.0",
        "1e-320",
        "(1e308 * 10)",
        "(1 < 2)",
    ];
    let count = many(random, 190);
    let assign = *random.pick(&["=", "min=", "+=", "or="]);
    let mut text = format!("a {assign} b");
    for _ in 0..count {
        text += &format!("{}{}", random.pick(&OPERATORS[..4]), random.pick(&CONSTANTS));
    }
    hostile(text)
}

fn splits(random: &mut Random) -> Hostile {
    let count = many(random, 16);
    let outer = random.one_in(2);
    let command = *random.pick(&["split", "divide"]);
    let size = *random.pick(&[2, 3, 8, 1024]);
    let commands = list(count, "; ", |k| {
        let of = match (k, outer) {
            (0, _) => "i".to_owned(),
            (_, true) => format!("a{}", k - 1),
            (_, false) => format!("b{}", k - 1),
        };
        format!("{command}({of}, a{k}, b{k}, {size})")
    });
    let (text, format) = *random.pick(&[
        ("y(i) = A0(i,j) * x(j)", "csr"),
        ("y(i) = A0(i,j) * 2", "dense"),
        ("y(i) = A0(i,j) * x(j)", "dcsr"),
    ]);
    let formats = vec![("A0".to_owned(), format.to_owned())];
    Hostile { formats, schedule: commands, ..hostile(text.to_owned()) }
}

fn fused(random: &mut Random) -> Hostile {
    let order = 2 + random.below(30);
    let vars = names("i", order);
    let commands = list(order - 1, "; ", |k| match k {
        0 => "fuse(i0, i1, f0)".to_owned(),
        k => format!("fuse(f{}, i{}, f{k})", k - 1, k + 1),
    });
    Hostile { schedule: commands, ..hostile(format!("A({vars}) = B({vars}) * 2")) }
}

fn unrolled(random: &mut Random) -> Hostile {
    let factor = |random: &mut Random| *random.pick(&[2, 4, 8, 64, 100_000]);
    let [i, j, k] = [(); 3].map(|()| factor(random));
    let commands = format!("unroll(i, {i}); unroll(k, {k}); unroll(j, {j})");
    let text = "C(i,j) = A0(i,k) * A1(k,j)".to_owned();
    Hostile { formats: operand_formats(random, 2), schedule: commands, ..hostile(text) }
}

fn slices(random: &mut Random) -> Hostile {
    let count = many(random, 100);
    let text = match random.one_in(2) {
        true => format!("a = {}", list(count, " + ", |k| format!("x(i[{k}:{}])", k + 5))),
        false => list(count, "; ", |k| format!("x(i[{k}:{}]) += b(i)", k + 5)),
    };
    let formats = vec![("x".to_owned(), (*random.pick(&["s", "d"])).to_owned())];
    Hostile { formats, ..hostile(text) }
}

fn letters(random: &mut Random) -> Hostile {
    let count = many(random, 1600);
    let format = random.pick(&["s", "d", "u", "q", "uc"]).repeat(count);
    let text = match random.one_in(2) {
        true => format!("{} = b", "a".repeat(count)),
        false => "a = A(i)".to_owned(),
    };
    Hostile { formats: vec![("A".to_owned(), format)], ..hostile(text) }
}

fn blocks(random: &mut Random) -> Hostile {
    let count = 1 + random.below(20);
    let of = |k: usize| format!("A{k}(i,j)");
    let size = 1 + random.below(9);
    let format = format!("bcsr({size},{})", 1 + random.below(9));
    let formats = (0..count).map(|k| (format!("A{k}"), format.clone())).collect();
    let op = *random.pick(&OPERATORS[..2]);
    let text = format!("C(i,j) = {}", list(count, op, of));
    Hostile { formats, ..hostile(text) }
}
