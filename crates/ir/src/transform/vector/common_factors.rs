//! Multiplies the sum of several accumulators by the common factors of its terms, instead of each term.
//!
//! ```text
//! s = fma(c * A[p], x[p], s)      s0 = fma(A[p; 8], x[p; 8], s0) ..      s = fma(c, sum(s0), s)
//! ```

use crate::algebra::BinaryOp;
use crate::ir::Expr;
use crate::ir::build::{add, int, mul};
use crate::ir::flow::mentions;
use crate::transform::vector::sum::Sum;

impl Sum {
    /// The common factor of all terms, if there is one, and the value without it.
    pub(super) fn apart(&self) -> (Option<Expr>, Expr) {
        let Expr::Fma(a, b, total) = &self.value else { return (None, self.value.clone()) };
        let mut all = vec![];
        factors(a, &mut all);
        factors(b, &mut all);
        let (vary, fixed): (Vec<Expr>, Vec<Expr>) =
            all.into_iter().partition(|factor| mentions(factor, self.var));
        let product = |list: &[Expr]| list.iter().cloned().reduce(mul);
        let value = match vary.split_last() {
            None => return (None, self.value.clone()),
            Some((one, [])) => add((**total).clone(), one.clone()),
            Some((last, others)) => {
                let others = Box::new(product(others).unwrap_or_else(|| int(1)));
                Expr::Fma(others, Box::new(last.clone()), total.clone())
            }
        };
        (product(&fixed), value)
    }
}

/// Collects the factors of a product.
fn factors(e: &Expr, found: &mut Vec<Expr>) {
    match e {
        Expr::Binary(BinaryOp::Mul, a, b) => {
            factors(a, found);
            factors(b, found);
        }
        e => found.push(e.clone()),
    }
}
