//! Removes loops that only iterate over segments of the next level: adjacent segments form a single range.
//!
//! ```text
//! for i in 0..A1_size                         for pA2 in A2_pos[0]..A2_pos[A1_size]
//!   for pA2 in A2_pos[i]..A2_pos[i + 1]         count[A2_crd[pA2]] += 1
//!     count[A2_crd[pA2]] += 1
//! ```
//!
//! The visited entries, and their order, stay the same.

use tamis_ir::datatype::Scalar;
use tamis_ir::ids::{Array, Var};
use tamis_ir::ir::build::{add, int};
use tamis_ir::ir::flow::{replace, uses};
use tamis_ir::ir::{Expr, Stmt};

/// Facts about the parameters of a function.
pub(in crate::lower) struct Known {
    /// Arrays that are known to ascend: positions of operands.
    pub(in crate::lower) positions: Vec<Array>,
    /// Variables that are known not to be negative: dimensions.
    pub(in crate::lower) sizes: Vec<Var>,
}

impl Known {
    /// The block without such loops.
    pub(in crate::lower) fn flattened(&self, block: Vec<Stmt>) -> Vec<Stmt> {
        // Inner loops first: a merged one may consist of the segments of the loop around it.
        let inner = |s: Stmt| s.map_children(&mut |e| e, &mut |b| self.flattened(b));
        block.into_iter().map(inner).map(|s| self.joined(&s).unwrap_or(s)).collect()
    }

    /// A loop over the segments of consecutive parents, as one loop over their positions.
    fn joined(&self, s: &Stmt) -> Option<Stmt> {
        let Stmt::For { var: parent, lo: first, hi: end, step: 1, body } = s else { return None };
        let (inner, labels) = body.split_last()?;
        let Stmt::For { var, lo, hi, step: 1, body } = inner else { return None };
        let unused = |v: Var| !body.iter().any(|s| uses(s, v));
        let is_label =
            |s: &Stmt| matches!(s, Stmt::Assign { var, value: Expr::Load { .. } } if unused(*var));
        let joins = self.follow(lo, hi, *parent)
            && self.ascends(first, end)
            && unused(*parent)
            && labels.iter().all(is_label);
        joins.then(|| Stmt::For {
            var: *var,
            lo: replace(lo.clone(), *parent, first),
            hi: replace(lo.clone(), *parent, end),
            step: 1,
            body: body.clone(),
        })
    }

    /// Whether a segment of a parent ends where that of the next parent begins.
    fn follow(&self, lo: &Expr, hi: &Expr, parent: Var) -> bool {
        let Some((lo, hi)) = self.positions(lo, hi) else { return false };
        let next = *lo == Expr::Var(parent) && *hi == add(Expr::Var(parent), int(1));
        next || self.follow(lo, hi, parent)
    }

    /// Whether a range certainly does not end before it begins.
    fn ascends(&self, lo: &Expr, hi: &Expr) -> bool {
        match (lo, hi) {
            (Expr::Const(Scalar::I64(lo)), Expr::Const(Scalar::I64(hi))) => lo <= hi,
            (lo, Expr::Var(size)) if *lo == int(0) => self.sizes.contains(size),
            (lo, hi) if *hi == add(lo.clone(), int(1)) => true,
            (lo, hi) => self.positions(lo, hi).is_some_and(|(lo, hi)| self.ascends(lo, hi)),
        }
    }

    /// The indices, if both bounds are elements of the same positions array.
    fn positions<'e>(&self, lo: &'e Expr, hi: &'e Expr) -> Option<(&'e Expr, &'e Expr)> {
        match (lo, hi) {
            (Expr::Load { array: a, index: lo, .. }, Expr::Load { array: b, index: hi, .. }) => {
                (a == b && self.positions.contains(a)).then_some((lo, hi))
            }
            _ => None,
        }
    }
}
