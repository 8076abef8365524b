//! Store-to-load forwarding: an element that straight code updates several times is read and written once.
//!
//! ```text
//! y[q + 1] = y[q + 1] + 1
//! y[q + 1] = y[q + 1] + 1
//!
//! s = y[q + 1]
//! s = s + 1
//! s = s + 1
//! y[q + 1] = s
//! ```
//!
//! Unrolled loops over blocks count, or write to the next position of a row, once for each column of a block. Each
//! update would wait for the previous store, about five cycles, while an addition takes one. Only integers are
//! forwarded: stores of floats may round.

use crate::algebra::BinaryOp;
use crate::datatype::{Register, Scalar};
use crate::ids::{Array, Var};
use crate::ir::build::{assign, load, store};
use crate::ir::flow::mentions;
use crate::ir::{Expr, Function, Stmt, Type};
use crate::transform::fresh;

/// The pass.
pub(in crate::transform) fn forward_stores(mut function: Function) -> Function {
    let body = std::mem::take(&mut function.body);
    let body = forwarded(&mut function, body);
    Function { body, ..function }
}

/// A block with repeatedly stored elements of straight code in variables.
fn forwarded(function: &mut Function, block: Vec<Stmt>) -> Vec<Stmt> {
    let inside = |s: Stmt| s.map_children(&mut |e| e, &mut |b| forwarded(function, b));
    let mut block: Vec<Stmt> = block.into_iter().map(inside).collect();
    let mut at = 0;
    while at < block.len() {
        match Element::at(function, &block[at..]) {
            // The statements that replace these may have another such element.
            Some((element, len)) => {
                let s = fresh(function, "s", Type::INDEX);
                let run: Vec<Stmt> = block[at..at + len].to_vec();
                block.splice(at..at + len, element.in_variable(run, s));
            }
            None => at += 1,
        }
    }
    block
}

/// An element of an array of integers.
#[derive(PartialEq)]
struct Element {
    array: Array,
    index: Expr,
}

impl Element {
    /// The element that the first statement reads and that is stored to more than once, and the number of statements
    /// up to the last such store.
    fn at(function: &Function, stmts: &[Stmt]) -> Option<(Element, usize)> {
        let mut read = vec![];
        for e in stmts.first().filter(|s| is_plain(s))?.exprs() {
            e.walk(&mut |e| {
                if let Expr::Load { array, index, lanes: 1 } = e {
                    read.push(Element { array: *array, index: (**index).clone() });
                }
            });
        }
        read.into_iter().find_map(|element| {
            let is_integer = function.arrays[element.array].elem.register() == Register::I64;
            let len = element.run(function, stmts).filter(|_| is_integer)?;
            Some((element, len))
        })
    }

    /// The number of statements up to the last store to the element, if at least two store to it, nothing else may
    /// touch it, and there is no branch.
    fn run(&self, function: &Function, stmts: &[Stmt]) -> Option<usize> {
        let (mut stores, mut end) = (0, 0);
        for (k, s) in stmts.iter().enumerate() {
            if !is_plain(s) || !s.exprs().all(|e| self.is_apart(e)) {
                break;
            }
            match s {
                Stmt::Store { array, index, value } if *array == self.array => {
                    if *index != self.index || !is_integer(function, value) {
                        break;
                    }
                    (stores, end) = (stores + 1, k + 1);
                }
                Stmt::Store { array, .. } if self.is_found_by(*array) => break,
                Stmt::Assign { var, .. } if mentions(&self.index, *var) => break,
                _ => {}
            }
        }
        (stores > 1).then_some(end)
    }

    /// Whether the index is read from an array.
    fn is_found_by(&self, other: Array) -> bool {
        let mut found = false;
        self.index.walk(&mut |e| found |= matches!(e, Expr::Load { array, .. } if *array == other));
        found
    }

    /// Whether an expression reads no other element of the array, and this one only as a scalar.
    fn is_apart(&self, e: &Expr) -> bool {
        let mut apart = true;
        e.walk(&mut |e| {
            if let Expr::Load { array, index, lanes } = e {
                apart &= *array != self.array || **index == self.index && *lanes == 1;
            }
        });
        apart
    }

    /// The statements with the element in a variable.
    fn in_variable(self, run: Vec<Stmt>, s: Var) -> Vec<Stmt> {
        let Element { array, index } = &self;
        let mut stmts = vec![assign(s, load(*array, index.clone()))];
        for stmt in run {
            let stmt = stmt.map_children(&mut |e| self.read_from(e, s), &mut |block| block);
            stmts.push(match stmt {
                Stmt::Store { array: to, value, .. } if to == *array => assign(s, value),
                other => other,
            });
        }
        stmts.push(store(*array, index.clone(), Expr::Var(s)));
        stmts
    }

    /// The expression with the variable in place of the element.
    fn read_from(&self, e: Expr, s: Var) -> Expr {
        match e {
            Expr::Load { array, index, .. } if array == self.array && *index == self.index => {
                Expr::Var(s)
            }
            e => e.map_children(&mut |child| self.read_from(child, s)),
        }
    }
}

/// Whether a statement only assigns a variable or an element.
fn is_plain(s: &Stmt) -> bool {
    matches!(s, Stmt::Assign { .. } | Stmt::Store { .. })
}

/// Whether an expression is a scalar sum of integers.
fn is_integer(function: &Function, e: &Expr) -> bool {
    match e {
        Expr::Const(c) => matches!(c, Scalar::I64(_)),
        Expr::Var(v) => function.vars[*v].ty == Type::INDEX,
        Expr::Load { array, lanes: 1, .. } => {
            function.arrays[*array].elem.register() == Register::I64
        }
        Expr::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => {
            is_integer(function, a) && is_integer(function, b)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;
    use crate::transform::random;

    fn check(body: &str, expected: &str) {
        let text = |body: &str, vars: &str| {
            let vars = format!("var i, j, p{vars}: i64\n");
            format!(
                "fn f(n: i64, y: shared [i64], x: shared [i64], v: out [f64]) {{\n{vars}{body}}}\n"
            )
        };
        let parsed = |text: String| parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
        let after = forward_stores(parsed(text(body, "")));
        let vars = if after.vars.len() > 4 { ", s" } else { "" };
        assert_eq!(after.to_string(), parsed(text(expected, vars)).to_string());
    }

    #[test]
    fn elements_that_count_are_kept() {
        let one = "y[i + 1] = y[i + 1] + 1\n";
        check(
            &format!("i = n\n{one}{one}i = 2\n{one}"),
            &format!("i = n\ns = y[i + 1]\ns = s + 1\ns = s + 1\ny[i + 1] = s\ni = 2\n{one}"),
        );
        let next = "p = y[i]\ny[i] = p + 1\nv[p] = 1.0\n";
        check(
            &format!("i = n\n{next}{next}"),
            "i = n\ns = y[i]\np = s\ns = p + 1\nv[p] = 1.0\np = s\ns = p + 1\ny[i] = s\nv[p] = 1.0\n",
        );
    }

    #[test]
    fn others_stay() {
        let one = "y[i] = y[i] + 1\n";
        for between in ["y[j] = 0\n", "j = y[i + 1]\n", "i = 2\n", "if n < 2 { j = 1 }\n"] {
            let body = format!("i = n\nj = 1\n{one}{between}{one}");
            check(&body, &body);
        }
        let one = "y[x[0]] = y[x[0]] + 1\n";
        let moved = format!("{one}x[0] = 2\n{one}");
        check(&moved, &moved);
        random::check(|f, _| forward_stores(f), crate::transform::Target::SCALAR, 300);
    }
}
