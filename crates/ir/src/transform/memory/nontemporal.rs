//! Decides which results are written by non-temporal stores.
//!
//! ```text
//! fn f(C_vals: out streamed [f64]) { for i in 0..n { .. C_vals[i * 32; 8] = c } }
//! ```
//!
//! A store to memory that is not in a cache reads the line first; for results larger than caches, that is a third of
//! all traffic. Backends write whole lines without reading them, if they have vectors of that size. That pays if the
//! kernel does not read what it stored.

use crate::ids::Array;
use crate::ir::{Expr, Function, Stmt};

/// The pass: arrays marked as large stay marked where that pays.
pub(in crate::transform) fn nontemporal(mut function: Function) -> Function {
    let marked: Vec<Array> =
        function.arrays.enumerate().filter(|(_, a)| a.streamed).map(|(array, _)| array).collect();
    for array in marked {
        let mut vectors = Vectors::default();
        vectors.of(&function, array, &function.body);
        function.arrays[array].streamed = vectors.stored && !vectors.loaded;
    }
    function
}

/// How vectors of an array are used. Scalar accesses are to the rest that vectors leave.
#[derive(Default)]
struct Vectors {
    stored: bool,
    loaded: bool,
}

impl Vectors {
    fn of(&mut self, function: &Function, array: Array, block: &[Stmt]) {
        for s in block {
            if let Stmt::Store { array: a, value, .. } = s {
                self.stored |= *a == array && function.type_of(value).lanes > 1;
            }
            for e in s.exprs() {
                e.walk(&mut |e| {
                    self.loaded |=
                        matches!(e, Expr::Load { array: a, lanes: 2.., .. } if *a == array);
                });
            }
            s.blocks().for_each(|block| self.of(function, array, block));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;

    /// Whether `y` is streamed after the pass.
    fn is_streamed(body: &str) -> bool {
        let head = "fn f(n: i64, x: in [f64], y: out streamed [f64]) {\n  var i: i64\n";
        let function = parse(&format!("{head}{body}\n}}\n")).unwrap_or_else(|d| panic!("{d}"));
        let after = nontemporal(function);
        assert_eq!(parse(&after.to_string()).as_ref(), Ok(&after));
        after.arrays.iter().any(|array| array.streamed)
    }

    #[test]
    fn vectors_that_are_only_stored_are_streamed() {
        let vectors = "for i in 0..n step 8 { y[i; 8] = x[i; 8] }";
        assert!(is_streamed(vectors));
        assert!(is_streamed(&format!("{vectors} y[n] = 1.0 y[n] = y[n] + 1.0")));
        assert!(!is_streamed("for i in 0..n { y[i] = 1.0 }"));
        assert!(!is_streamed("for i in 0..n step 8 { y[i; 8] = x[i; 8] + y[i; 8] }"));
    }
}
