//! Prefetches blocks of values, one for each step of a stream.

use super::{AHEAD, LINE, Streams};
use crate::algebra::BinaryOp;
use crate::datatype::Scalar;
use crate::ids::{Array, Var};
use crate::ir::build::{add, int, mul};
use crate::ir::{Expr, Stmt};
use crate::transform::copies::Names;

impl Streams<'_> {
    /// Hints for the blocks that each step reads at its position.
    pub(in crate::transform::memory::prefetch) fn blocks(
        &self,
        position: Var,
        body: &[Stmt],
    ) -> Vec<Stmt> {
        let mut found = vec![];
        self.read_in_blocks(body, position, &mut Names::default(), &mut found);
        let ask = |(array, size): (Array, i64)| {
            let bytes = self.function.arrays[array].elem.size();
            let elements = move |bytes_on: usize| (bytes_on / bytes) as i64;
            let lines = (size as usize * bytes).div_ceil(LINE);
            let first = mul(Expr::Var(position), int(size));
            (0..lines).map(move |line| Stmt::Prefetch {
                array,
                index: add(first.clone(), int(elements(AHEAD + line * LINE))),
                far: true,
            })
        };
        found.into_iter().flat_map(ask).collect()
    }

    /// Adds the inputs with a block of elements for each position, and the size of the block.
    fn read_in_blocks(
        &self,
        block: &[Stmt],
        position: Var,
        names: &mut Names,
        found: &mut Vec<(Array, i64)>,
    ) {
        for s in block {
            for e in s.exprs() {
                e.walk(&mut |e| {
                    let Expr::Load { array, index, .. } = e else { return };
                    let known = found.iter().any(|(known, _)| known == array);
                    // Smaller blocks would be prefetched several times.
                    let line = (LINE / self.function.arrays[*array].elem.size()) as i64;
                    match multiple(&names.resolved(index), position) {
                        Some((size, at))
                            if size * 2 >= line
                                && (0..size).contains(&at)
                                && !known
                                && self.is_input(*array) =>
                        {
                            found.push((*array, size));
                        }
                        _ => {}
                    }
                });
            }
            if let Stmt::Assign { var, value } = s {
                names.assign(*var, value);
            }
            if let Stmt::If { then, otherwise, .. } = s {
                for way in [then, otherwise] {
                    self.read_in_blocks(way, position, &mut names.clone(), found);
                }
            }
            s.blocks().for_each(|b| names.forget(b));
        }
    }
}

/// The factors `(a, b)` of an expression `a * var + b`.
fn multiple(e: &Expr, var: Var) -> Option<(i64, i64)> {
    match e {
        Expr::Var(v) if *v == var => Some((1, 0)),
        Expr::Const(Scalar::I64(c)) => Some((0, *c)),
        Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Mul), a, b) => {
            let ((a, c), (b, d)) = (multiple(a, var)?, multiple(b, var)?);
            match op {
                BinaryOp::Add => Some((a.checked_add(b)?, c.checked_add(d)?)),
                _ if a == 0 => Some((c.checked_mul(b)?, c.checked_mul(d)?)),
                _ if b == 0 => Some((a.checked_mul(d)?, c.checked_mul(d)?)),
                _ => None,
            }
        }
        _ => None,
    }
}
