//! Random functions with every kind of scalar statement and expression, to run before and after a pass. Lowered
//! programs have less variety: they are tested in `crates/testing`.

use super::Target;
use crate::interpret::{Argument, Buffer, Outcome, run};
use crate::ir::parse::parse;
use crate::ir::verify::verify;
use crate::ir::{Function, Param};
use std::fmt::Write;

/// Checks on many random functions that a pass changes no result, does no additional work, and has no effect when it
/// runs again.
pub(super) fn check(pass: fn(Function, Target) -> Function, target: Target, seeds: u64) {
    let mut compared = 0;
    for seed in 0..seeds {
        let before = Generator { state: seed, text: String::new(), free: vec![] }.function();
        verify(&before).unwrap_or_else(|d| panic!("{d}\n{before}"));
        let after = pass(before.clone(), target);
        verify(&after).unwrap_or_else(|d| panic!("{d}\n{before}{after}"));
        assert!(parse(&after.to_string()).as_ref() == Ok(&after), "{after}");
        let again = pass(after.clone(), target);
        assert!(again == after, "the pass finds more to do:\n{before}{after}{again}");
        let (Some(old), Some(new)) = (outcome(&before), outcome(&after)) else { continue };
        compared += 1;
        assert!(
            old.status == new.status && outputs(&before, &old) == outputs(&after, &new),
            "{before}{after}"
        );
        let (old, new) = (old.counts, new.counts);
        let less = new.loads + new.iterations <= old.loads + old.iterations;
        assert!(less && new.stores <= old.stores, "{old:?} {new:?}\n{before}{after}");
    }
    assert!(compared > seeds / 2, "only {compared} of {seeds} ended");
}

/// The outcome of a run, if it ends soon enough.
fn outcome(function: &Function) -> Option<Outcome> {
    let argument = |param: &Param| match *param {
        Param::Scalar(_) => Argument::Scalar(crate::datatype::Scalar::I64(3)),
        Param::Array(a) => Argument::Array(match function.arrays[a].name.as_str() {
            "a" => Buffer::F64(vec![1.5, -0.0, f64::INFINITY, -2.0]),
            "b" => Buffer::I64(vec![0, -1, 7, 2]),
            _ => Buffer::of(function.arrays[a].elem, 4),
        }),
    };
    let arguments = function.params.iter().map(argument).collect();
    match run(function, arguments, Some(2000)) {
        Ok(outcome) => Some(outcome),
        Err(fault) if fault.to_string().contains("limit") => None,
        Err(fault) => panic!("{fault}\n{function}"),
    }
}

/// The bits of the outputs, with all NaNs alike.
fn outputs(function: &Function, outcome: &Outcome) -> Vec<Vec<u64>> {
    let bits = |buffer: &Buffer| match buffer {
        Buffer::F64(v) => v.iter().map(|x| if x.is_nan() { 1 } else { x.to_bits() }).collect(),
        Buffer::I64(v) => v.iter().map(|&x| x as u64).collect(),
        other => panic!("no output is {other:?}"),
    };
    let arrays = function.arrays.iter().zip(&outcome.arrays);
    arrays
        .filter(|(decl, _)| ["y", "z"].contains(&decl.name.as_str()))
        .map(|(_, b)| bits(b))
        .collect()
}

const HEAD: &str = "\
fn f(n: i64, m: i64, a: in [f64], b: in [i64], y: out [f64], z: out [i64]) {
  local l: [i64]
  var i, j, k, q0, q1, q2: i64
  var r, s, t: f64
  var c, d: bool
  reserve l, 4
  fill l[0..4] = m
  fill y[0..4] = 0.0
  fill z[0..4] = 0
";

struct Generator {
    state: u64,
    text: String,
    /// Loop variables with a value.
    free: Vec<usize>,
}

impl Generator {
    fn function(mut self) -> Function {
        self.text.push_str(HEAD);
        for var in ["i", "j", "k", "r", "s", "t", "c", "d"] {
            let value = if "ijk".contains(var) {
                "n"
            } else if "rst".contains(var) {
                "0.5"
            } else {
                "n < m"
            };
            let _ = writeln!(self.text, "{var} = {value}");
        }
        self.block(3);
        self.text.push_str("}\n");
        parse(&self.text).unwrap_or_else(|d| panic!("{d}\n{}", self.text))
    }

    fn below(&mut self, n: usize) -> usize {
        self.state =
            self.state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        ((self.state >> 33) % n as u64) as usize
    }

    fn pick<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items[self.below(items.len())]
    }

    fn block(&mut self, depth: usize) {
        for _ in 0..1 + self.below(5) {
            self.stmt(depth);
        }
    }

    fn stmt(&mut self, depth: usize) {
        let choice = if depth == 0 { self.below(7) } else { self.below(11) };
        let line = match choice {
            0..=2 => format!("{} = {}", self.pick(&["i", "j", "k"]), self.int(2)),
            3 => format!("{} = {}", self.pick(&["r", "s", "t"]), self.float(2)),
            4 => format!("{} = {}", self.pick(&["c", "d"]), self.truth(2)),
            5 => format!("y[{}] = {}", self.place(), self.float(2)),
            6 => format!("{}[{}] = {}", self.pick(&["z", "l"]), self.place(), self.int(2)),
            7 | 8 if self.free.len() < 3 => return self.for_loop(depth),
            9 => {
                let step = self.below(2);
                let _ = writeln!(self.text, "while i < 9 {{\ni = i + {step}");
                self.block(depth - 1);
                "}".to_owned()
            }
            _ => return self.branch(depth),
        };
        let _ = writeln!(self.text, "{line}");
    }

    fn for_loop(&mut self, depth: usize) {
        let var = self.free.len();
        let (lo, hi) = (self.bound(), self.bound());
        let _ = writeln!(self.text, "for q{var} in {lo}..{hi} {{");
        self.free.push(var);
        self.block(depth - 1);
        self.free.pop();
        self.text.push_str("}\n");
    }

    fn branch(&mut self, depth: usize) {
        let cond = self.truth(2);
        let _ = writeln!(self.text, "if {cond} {{");
        match self.below(8) {
            0 => self.text.push_str("fail integer_overflow\n"),
            _ => self.block(depth - 1),
        }
        if self.below(2) == 0 {
            self.text.push_str("} else {\n");
            self.block(depth - 1);
        }
        self.text.push_str("}\n");
    }

    fn bound(&mut self) -> String {
        let bound = self.int(1);
        match self.below(3) {
            0 => self.pick(&["0", "n", "2", "mod(i, 4)"]).to_owned(),
            _ => format!("mod({bound}, 4)"),
        }
    }

    /// An index within every array.
    fn place(&mut self) -> String {
        match self.below(3) {
            0 => self.pick(&["0", "1", "n"]).to_owned(),
            _ => format!("mod({}, 4)", self.int(1)),
        }
    }

    fn int(&mut self, depth: usize) -> String {
        if depth == 0 || self.below(3) == 0 {
            return match self.below(8) {
                0..=3 => self.pick(&["0", "1", "-1", "2", "4", "9223372036854775807"]).to_owned(),
                4 if !self.free.is_empty() => format!("q{}", self.below(self.free.len())),
                _ => self.pick(&["i", "j", "k", "n", "m"]).to_owned(),
            };
        }
        let (a, b) = (self.int(depth - 1), self.int(depth - 1));
        match self.below(11) {
            0..=4 => format!("({a} {} {b})", self.pick(&["+", "-", "*", "/", "+"])),
            5 => format!("{}({a}, {b})", self.pick(&["mod", "min", "max", "bitand"])),
            6 => format!("select({}, {a}, {b})", self.truth(depth - 1)),
            7 => format!("i64({})", self.truth(depth - 1)),
            8 => format!("-({a})"),
            _ => format!("{}[{}]", self.pick(&["b", "z", "l"]), self.place()),
        }
    }

    fn float(&mut self, depth: usize) -> String {
        if depth == 0 || self.below(3) == 0 {
            return self.pick(&["0.0", "-0.0", "1.0", "inf", "0.1", "r", "s", "t", "r"]).to_owned();
        }
        let (a, b) = (self.float(depth - 1), self.float(depth - 1));
        match self.below(10) {
            0..=3 => format!("({a} {} {b})", self.pick(&["+", "-", "*", "/"])),
            4 => format!("{}({a}, {b})", self.pick(&["min", "max", "mod"])),
            5 => format!("fma({a}, {b}, {})", self.float(depth - 1)),
            6 => format!("select({}, {a}, {b})", self.truth(depth - 1)),
            7 => format!("f64({})", self.int(depth - 1)),
            8 => format!("-({a})"),
            _ => format!("{}[{}]", self.pick(&["a", "y"]), self.place()),
        }
    }

    fn truth(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.pick(&["true", "false", "c", "d"]).to_owned();
        }
        let (a, b) = (self.truth(depth - 1), self.truth(depth - 1));
        let compare = self.pick(&["==", "!=", "<", "<=", ">", ">="]);
        match self.below(9) {
            0..=2 => format!("({} {compare} {})", self.int(depth - 1), self.int(depth - 1)),
            3 => format!("({} {compare} {})", self.float(depth - 1), self.float(depth - 1)),
            4 => format!("{}({a}, {b})", self.pick(&["and", "or", "xor"])),
            5 => format!("({a} && {b})"),
            6 => format!("({a} {compare} {b})"),
            7 => format!("not({a})"),
            _ => format!("bool({})", self.int(depth - 1)),
        }
    }
}
