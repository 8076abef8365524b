//! Splits vectors that are wider than the processor's registers; sums have the same number of lanes on every
//! processor.
//!
//! ```text
//! s = s + f64(A[p; 8])        on a processor with vectors of 256 bits
//!
//! s_0 = s_0 + f64(A[p; 4])
//! s_1 = s_1 + f64(A[p + 4; 4])
//! ```
//!
//! C compilers take vectors of any width, but keep wide ones in memory, and some versions fail at converting them.
//! Vectors in one computation are split alike, by the widest type: a vector of 32-bit floats that is converted to
//! doubles is split into as many lanes as fit for doubles. Every value keeps its bits.

use crate::datatype::{DataType, Register};
use crate::ids::{Array, Var};
use crate::ir::build::{add, assign, binary, int};
use crate::ir::flow::mentions;
use crate::ir::{Expr, Function, Stmt, Type};
use crate::transform::{Target, for_each, fresh};
use std::collections::BTreeMap;

/// The pass.
pub(in crate::transform) fn split_vectors(mut function: Function, target: Target) -> Function {
    if target.vector_bytes == 0 {
        return function;
    }
    let (widths, parts) = (widths(&function), BTreeMap::new());
    let bytes = u32::from(target.vector_bytes);
    let body = std::mem::take(&mut function.body);
    let body = Splitting { function: &mut function, bytes, widths, parts, fit: 1 }.block(body);
    Function { body, ..function }
}

/// For each vector, the bytes of the widest type of lanes in computations with it.
fn widths(function: &Function) -> BTreeMap<Var, u32> {
    let mut widths = BTreeMap::new();
    loop {
        let mut changed = false;
        for_each(&function.body, &mut |s| {
            let Some(widest) = widest(function, &widths, s) else { return };
            for var in vectors(function, s) {
                changed |= widths.insert(var, widest) != Some(widest);
            }
        });
        if !changed {
            return widths;
        }
    }
}

/// The bytes of the widest type of lanes in a statement, and in other computations with its vectors.
fn widest(function: &Function, widths: &BTreeMap<Var, u32>, s: &Stmt) -> Option<u32> {
    let mut widest = vectors(function, s).filter_map(|v| widths.get(&v).copied()).max();
    s.exprs().for_each(|e| {
        e.walk(&mut |e| {
            // An operator has the type of its operands.
            let decides = matches!(
                e,
                Expr::Var(_)
                    | Expr::Load { .. }
                    | Expr::Splat(..)
                    | Expr::Lanes(_)
                    | Expr::Convert(..)
            );
            let ty =
                if decides && !is_word(function, e) { function.type_of(e) } else { Type::BOOL };
            if ty.lanes > 1 && ty.register != Register::Bool {
                widest = widest.max(Some(ty.register.datatype().size() as u32));
            }
        });
    });
    widest
}

/// The vectors that a statement assigns and reads outside of its blocks.
fn vectors(function: &Function, s: &Stmt) -> impl Iterator<Item = Var> {
    let mut found = vec![];
    if let Stmt::Assign { var, .. } = s {
        found.push(*var);
    }
    s.exprs().for_each(|e| {
        e.walk(&mut |e| found.extend(if let Expr::Var(v) = e { Some(*v) } else { None }))
    });
    found.into_iter().filter(|v| function.vars[*v].ty.lanes > 1)
}

/// Whether an expression is several truth values of a bitmap, which are counted as one word.
fn is_word(function: &Function, e: &Expr) -> bool {
    matches!(e, Expr::Load { array, lanes: 2.., .. } if function.arrays[*array].elem == DataType::Bool)
}

/// Whether an expression reduces the lanes of an operand for which `of` holds.
fn reduces(e: &Expr, of: &dyn Fn(&Expr) -> bool) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e, Expr::Reduce(_, value) if of(value)));
    found
}

/// Whether an expression reads an array, other than at a given index.
fn reads(e: &Expr, array: Array, but_at: Option<&Expr>) -> bool {
    let mut found = false;
    e.walk(&mut |e| {
        if let Expr::Load { array: from, index, .. } = e {
            found |= *from == array && but_at != Some(&**index);
        }
    });
    found
}

/// The vectors of a function, split statement by statement.
struct Splitting<'f> {
    function: &'f mut Function,
    /// The bytes of a register.
    bytes: u32,
    widths: BTreeMap<Var, u32>,
    /// The parts of vectors that were split.
    parts: BTreeMap<Var, Vec<Var>>,
    /// The number of lanes that fit, for the computation of a statement.
    fit: u16,
}

impl Splitting<'_> {
    fn block(&mut self, block: Vec<Stmt>) -> Vec<Stmt> {
        block.into_iter().flat_map(|s| self.statement(s)).collect()
    }

    fn statement(&mut self, s: Stmt) -> Vec<Stmt> {
        let s = s.map_children(&mut |e| e, &mut |block| self.block(block));
        let Some(widest) = widest(self.function, &self.widths, &s) else { return vec![s] };
        self.fit = (self.bytes / widest) as u16;
        match s {
            Stmt::Assign { var, value } if self.count(&value) > 1 => {
                let (parts, assigned) = (0..self.count(&value))
                    .map(|k| (self.part(&value, k), self.variable(var, k)))
                    .unzip::<_, _, Vec<_>, Vec<_>>();
                let is_whole = reduces(&value, &|e| mentions(e, var));
                let (before, parts) = self.named(is_whole, parts);
                let assigns = assigned.into_iter().zip(parts).map(|(var, e)| assign(var, e));
                before.into_iter().chain(assigns).collect()
            }
            Stmt::Store { array, index, value } if self.count(&value) > 1 => {
                let elsewhere = reads(&index, array, None) || reads(&value, array, Some(&index));
                let index = self.whole(index);
                let parts = (0..self.count(&value)).map(|k| self.part(&value, k)).collect();
                let places = (0..self.count(&value)).map(|k| self.at(index.clone(), k)).collect();
                let (mut before, parts) = self.named(elsewhere, parts);
                let (more, places) = self.named(elsewhere, places);
                before.extend(more);
                let stores = places.into_iter().zip(parts);
                let stores = stores.map(|(index, value)| Stmt::Store { array, index, value });
                before.into_iter().chain(stores).collect()
            }
            s => vec![s.map_children(&mut |e| self.whole(e), &mut |block| block)],
        }
    }

    /// Names for expressions, if they have to be computed before anything is assigned or stored.
    fn named(&mut self, are_named: bool, all: Vec<Expr>) -> (Vec<Stmt>, Vec<Expr>) {
        if !are_named {
            return (vec![], all);
        }
        let names = all.iter().map(|e| fresh(self.function, "part", self.function.type_of(e)));
        let names: Vec<Var> = names.collect();
        let assigns = names.iter().zip(all).map(|(&name, e)| assign(name, e)).collect();
        (assigns, names.into_iter().map(Expr::Var).collect())
    }

    /// The number of parts of a value.
    fn count(&self, e: &Expr) -> u16 {
        self.function.type_of(e).lanes.div_ceil(self.fit)
    }

    /// The index of the first lane of a part.
    fn at(&self, index: Expr, part: u16) -> Expr {
        match part {
            0 => index,
            _ => add(index, int(i64::from(part * self.fit))),
        }
    }

    /// A part of a vector.
    fn variable(&mut self, var: Var, part: u16) -> Var {
        if !self.parts.contains_key(&var) {
            let (name, ty) = (self.function.vars[var].name.clone(), self.function.vars[var].ty);
            let fits = Type { lanes: self.fit, ..ty };
            let parts = (0..ty.lanes.div_ceil(self.fit))
                .map(|k| fresh(self.function, &format!("{name}_{k}"), fits))
                .collect();
            self.parts.insert(var, parts);
        }
        self.parts[&var][usize::from(part)]
    }

    /// A part of a value that has several parts.
    fn part(&mut self, e: &Expr, k: u16) -> Expr {
        if self.count(e) <= 1 {
            return self.whole(e.clone());
        }
        match e {
            Expr::Var(var) => Expr::Var(self.variable(*var, k)),
            Expr::Load { array, index, .. } => {
                let index = self.whole((**index).clone());
                let index = Box::new(self.at(index, k));
                Expr::Load { array: *array, index, lanes: self.fit }
            }
            Expr::Splat(a, _) => Expr::Splat(Box::new(self.whole((**a).clone())), self.fit),
            Expr::Lanes(all) => {
                let from = usize::from(k * self.fit);
                let all = all[from..from + usize::from(self.fit)].to_vec();
                Expr::Lanes(all.into_iter().map(|e| self.whole(e)).collect())
            }
            other => other.clone().map_children(&mut |e| self.part(&e, k)),
        }
    }

    /// A value that fits, of operands that may not fit.
    fn whole(&mut self, e: Expr) -> Expr {
        let Expr::Reduce(op, value) = &e else { return e.map_children(&mut |e| self.whole(e)) };
        if is_word(self.function, value) {
            return e.map_children(&mut |e| e.map_children(&mut |e| self.whole(e)));
        }
        let op = *op;
        let mut parts: Vec<Expr> = (0..self.count(value)).map(|k| self.part(value, k)).collect();
        // Halves first, as lanes are reduced.
        while parts.len() > 1 {
            let upper = parts.split_off(parts.len() / 2);
            let pairs = parts.into_iter().zip(upper);
            parts = pairs.map(|(a, b)| binary(op, a, b)).collect();
        }
        parts.pop().map_or(e, |sum| Expr::Reduce(op, Box::new(sum)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;

    fn split(vector_bytes: u16, body: &str) -> String {
        let head = "fn f(n: i64, x: in [f32], A: in [f64], y: out [f64], m: in [bool]) {\n  \
                    var p: i64\n  var a, b: f64\n  var t: f32x8\n  var s, u: f64x8\n";
        let function = parse(&format!("{head}{body}\n}}\n")).unwrap_or_else(|d| panic!("{d}"));
        let target = Target { vector_bytes, ..Target::SCALAR };
        let text = split_vectors(function, target).to_string();
        let lines = text.lines().map(str::trim).filter(|l| !l.starts_with("var"));
        lines.skip(1).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn vectors_are_as_wide_as_registers() {
        let sum = "s = splat(0.0, 8) for p in 0..n step 8 { s = fma(A[p; 8], splat(a, 8), s) } b = sum(s)";
        assert_eq!(split(64, sum), format!("{sum} }}"));
        assert_eq!(
            split(32, sum),
            "s_0 = splat(0.0, 4) s_1 = splat(0.0, 4) for p in 0..n step 8 { \
             s_0 = fma(A[p; 4], splat(a, 4), s_0) s_1 = fma(A[p + 4; 4], splat(a, 4), s_1) } \
             b = sum(s_0 + s_1) }"
        );
        let in_four = split(16, sum);
        assert!(in_four.ends_with("b = sum(s_0 + s_2 + (s_1 + s_3)) }"), "{in_four}");
        assert_eq!(split(0, sum), format!("{sum} }}"));
    }

    #[test]
    fn what_is_computed_together_is_split_alike() {
        let alike = "t = x[0; 8] u = f64(t) y[p; 8] = u + A[p; 8]";
        assert_eq!(
            split(32, alike),
            "t_0 = x[0; 4] t_1 = x[4; 4] u_0 = f64(t_0) u_1 = f64(t_1) \
             y[p; 4] = u_0 + A[p; 4] y[p + 4; 4] = u_1 + A[p + 4; 4] }"
        );
        let alone = "t = x[0; 8] b = f64(sum(t))";
        assert_eq!(split(32, alone), format!("{alone} }}"));
    }

    #[test]
    fn all_is_read_before_parts_are_written() {
        assert_eq!(
            split(32, "s = splat(sum(s), 8) + s"),
            "part = splat(sum(s_0 + s_1), 4) + s_0 part_2 = splat(sum(s_0 + s_1), 4) + s_1 \
             s_0 = part s_1 = part_2 }"
        );
        assert_eq!(
            split(32, "y[p; 8] = y[p - 4; 8]"),
            "part = y[p - 4; 4] part_2 = y[p - 4 + 4; 4] part_3 = p part_4 = p + 4 \
             y[part_3; 4] = part y[part_4; 4] = part_2 }"
        );
        assert_eq!(
            split(32, "y[p; 8] = exp(y[p; 8])"),
            "y[p; 4] = exp(y[p; 4]) y[p + 4; 4] = exp(y[p + 4; 4]) }"
        );
    }

    #[test]
    fn choices_minima_and_words_are_split_as_they_are_computed() {
        assert_eq!(
            split(32, "s = select(a < b, splat(a, 8), min(s, u)) b = max(s)"),
            "s_0 = select(a < b, splat(a, 4), min(s_0, u_0)) s_1 = select(a < b, splat(a, 4), min(s_1, u_1)) \
             b = max(max(s_0, s_1)) }"
        );
        let words = "p = sum(m[p; 8])";
        assert_eq!(split(16, words), format!("{words} }}"));
    }
}
