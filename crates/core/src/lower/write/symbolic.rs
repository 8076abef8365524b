//! Assemble kernels: the code of a fused kernel that the result's levels need, and then filled values.
//!
//! ```text
//! fused                                  assembled
//!
//! for pB2 in B2_pos[k]..B2_pos[k + 1]    for pB2 in B2_pos[k]..B2_pos[k + 1]
//!   j = B2_crd[pB2]                        j = B2_crd[pB2]
//!   if set[j] == 0                         if set[j] == 0
//!     set[j] = 1                             set[j] = 1
//!     list[size] = j                         list[size] = j
//!     size = size + 1                        size = size + 1
//!     w[j] = A_vals[pA2] * B_vals[pB2]
//!   else
//!     w[j] = w[j] + A_vals[pA2] * B_vals[pB2]
//!                                        ..
//!                                        reserve C_vals, C2_pos[C1_size]
//!                                        fill C_vals[0..C2_pos[C1_size]] = 0
//! ```
//!
//! The entries of a result do not depend on values, so code that only computes values is removed, and integers that
//! would overflow are not computed (sparse tensor algebra with workspaces, section 6).

use crate::lower::Lowerer;
use crate::lower::symbols::Symbols;
use crate::lower::write::append::OwnRows;
use crate::plan::{Assembler, Output};
use std::collections::BTreeSet;
use tamis_ir::algebra::{BinaryOp, UnaryOp};
use tamis_ir::ids::{Array, Var};
use tamis_ir::ir::build::int;
use tamis_ir::ir::{ArrayRole, Expr, Status, Stmt};

impl Lowerer<'_> {
    /// The code of a kernel that the levels of its result need, and initialised values.
    pub(in crate::lower) fn assembled_only(&mut self, code: Vec<Stmt>) -> Vec<Stmt> {
        let vals = self.cx.result().vals;
        let own = self.own_rows();
        let count = count_of_positions(&mut self.cx, own);
        let mut needed = Needed::default();
        needed.read(&count);
        for (array, declared) in self.cx.arrays.enumerate() {
            if declared.role == ArrayRole::Result && !vals.arrays().contains(&array) {
                needed.arrays.insert(array);
            }
        }
        while needed.more(&code) {}
        let mut code = needed.of(code);
        if self.plan.output != Output::InPlace {
            code.extend(vals.reserve(&count));
        }
        let fill = self.program.storage(self.kernel.result).fill;
        code.extend(self.cx.filled(vals, int(0), count, fill));
        code
    }
}

/// The number of positions of the last level of the result, once all levels are assembled.
fn count_of_positions(cx: &mut Symbols<'_>, own: OwnRows) -> Expr {
    let arrays = cx.result();
    let mut count = int(1);
    for (k, level) in arrays.levels.iter().enumerate() {
        count = match cx.levels().assembler(k) {
            Assembler::Append(_) if cx.levels().head(k) < k => count,
            Assembler::Append(_) => {
                let bounds = cx.levels().kind(k).pos_bounds(level, count.clone());
                bounds.expect("an appended level has positions").lo
            }
            Assembler::Place | Assembler::Insert(_) => match (k, &own) {
                (0, Some((_, end))) => end.clone(),
                _ => {
                    let size = cx.levels().kind(k).size(level, count);
                    size.expect("a level without append has a size")
                }
            },
        };
    }
    count
}

/// The negation of a condition.
fn not(cond: Expr) -> Expr {
    match cond {
        Expr::Binary(BinaryOp::Ne, a, b) => Expr::Binary(BinaryOp::Eq, a, b),
        cond => Expr::Unary(UnaryOp::Not, Box::new(cond)),
    }
}

/// The variables and arrays that are needed.
#[derive(Default)]
pub(in crate::lower) struct Needed {
    pub(in crate::lower) vars: BTreeSet<Var>,
    pub(in crate::lower) arrays: BTreeSet<Array>,
}

impl Needed {
    /// Adds the variables and arrays that needed statements read; returns whether any was new.
    pub(in crate::lower) fn more(&mut self, block: &[Stmt]) -> bool {
        let mut found = false;
        for s in block {
            if !self.runs(s) {
                continue;
            }
            for e in s.exprs() {
                found |= self.read(e);
            }
            if let Stmt::Sort { keys, .. } = s {
                keys.iter().for_each(|key| found |= self.arrays.insert(*key));
            }
            for inner in s.blocks() {
                found |= self.more(inner);
            }
        }
        found
    }

    /// Adds the variables and arrays that an expression reads; returns whether any was new.
    fn read(&mut self, e: &Expr) -> bool {
        let mut found = false;
        e.walk(&mut |e| match e {
            Expr::Var(v) => found |= self.vars.insert(*v),
            Expr::Load { array, .. } | Expr::Len(array) => found |= self.arrays.insert(*array),
            _ => {}
        });
        found
    }

    /// Whether a statement is needed. Every loop terminates.
    fn runs(&self, s: &Stmt) -> bool {
        match s {
            Stmt::Assign { var, .. } => self.vars.contains(var),
            Stmt::Store { array, .. }
            | Stmt::Update { array, .. }
            | Stmt::Fill { array, .. }
            | Stmt::Reserve { array, .. }
            | Stmt::Prefetch { array, .. } => self.arrays.contains(array),
            Stmt::Sort { keys, carried, .. } => {
                keys.iter().chain(carried).any(|array| self.arrays.contains(array))
            }
            Stmt::For { .. }
            | Stmt::Parallel { .. }
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::InOrder { .. } => s.blocks().flatten().any(|inner| self.runs(inner)),
            Stmt::Fail(status) => *status != Status::IntegerOverflow,
            Stmt::Comment(_) => false,
        }
    }

    /// The needed statements.
    pub(in crate::lower) fn of(&self, block: Vec<Stmt>) -> Vec<Stmt> {
        let kept = block.into_iter().filter(|s| self.runs(s));
        kept.map(|s| match s.map_children(&mut |e| e, &mut |block| self.of(block)) {
            Stmt::Sort { keys, mut carried, lo, hi } => {
                carried.retain(|array| self.arrays.contains(array));
                Stmt::Sort { keys, carried, lo, hi }
            }
            Stmt::If { cond, then, otherwise } if then.is_empty() => {
                Stmt::If { cond: not(cond), then: otherwise, otherwise: then }
            }
            s => s,
        })
        .collect()
    }
}
