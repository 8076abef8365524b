//! What is known of the innermost loop: which loads Cranelift may move to where their value is
//! used, which keeps few values in registers at once and makes loads operands of arithmetic.
//!
//! ```text
//! for p in lo..hi { j = crd[p]; t0 = fma(a, X[j * n + k; 2], t0); t1 = fma(a, X[j * n + k + 2; 2], t1) }
//! ```
//!
//! It would also move them out of loops and so do them where the loop does not run, when their
//! index may lie outside. So only loads may move whose index surely changes with the innermost
//! loop: by its variable, or by what was loaded at an index that does.
//!
//! What stays the same in the loop is added to addresses apart from the rest, so that it is added
//! outside: `X + k` here, to which each iteration adds `j * n`.

use crate::stmt::Translator;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::datatype::Scalar;
use tamis_ir::ids::{Array, Var};
use tamis_ir::ir::build::add;
use tamis_ir::ir::flow::assigned;
use tamis_ir::ir::{ArrayRole, Expr, Function, Param, Stmt};

/// What is known of variables in the innermost loop.
#[derive(Default)]
pub(crate) struct Anchors {
    /// Those whose value is made anew in each iteration.
    made: Vec<Var>,
    /// Those that some iteration may give another value.
    changed: Vec<Var>,
}

impl Anchors {
    /// Starts the body of a loop; gives what holds again after it.
    pub(crate) fn enter(&mut self, var: Option<Var>, body: &[Stmt]) -> Anchors {
        let mut changed = Vec::from_iter(var);
        assigned(body, &mut changed);
        std::mem::replace(self, Anchors { made: var.into_iter().collect(), changed })
    }

    /// Notes that a variable has a new value.
    pub(crate) fn assign(&mut self, function: &Function, var: Var, value: &Expr) {
        let anchored =
            matches!(value, Expr::Load { index, lanes: 1, .. } if self.hold(function, index));
        self.made.retain(|v| *v != var);
        if anchored {
            self.made.push(var);
        }
    }

    /// Notes that variables have other values.
    pub(crate) fn forget(&mut self, vars: &[Var]) {
        self.made.retain(|v| !vars.contains(v));
    }

    /// Whether an index has a term with such a variable, which no other term can cancel.
    fn hold(&self, function: &Function, index: &Expr) -> bool {
        // Cranelift cannot know that a parameter is 0.
        let is_size = |e: &Expr| match e {
            Expr::Var(v) => function.params.contains(&Param::Scalar(*v)),
            Expr::Const(Scalar::I64(c)) => *c != 0,
            _ => false,
        };
        let mut terms = vec![];
        collect(index, &mut terms);
        self.made.iter().any(|v| {
            let mut with = terms.iter().filter(|term| mentions(term, *v));
            match (with.next(), with.next()) {
                (Some(Expr::Var(_)), None) => true,
                (Some(Expr::Binary(BinaryOp::Mul, a, b)), None) => {
                    (**a == Expr::Var(*v) && is_size(b)) || (**b == Expr::Var(*v) && is_size(a))
                }
                _ => false,
            }
        })
    }

    /// An index as a sum of what stays the same in the innermost loop and the rest, if it has both.
    pub(crate) fn apart(&self, index: &Expr) -> Option<[Expr; 2]> {
        let mut terms = vec![];
        collect(index, &mut terms);
        let stays = |e: &&Expr| {
            let mut stays = true;
            e.walk(&mut |e| match e {
                Expr::Var(v) => stays &= !self.changed.contains(v),
                Expr::Load { .. } | Expr::Len(_) => stays = false,
                _ => {}
            });
            stays
        };
        let (same, rest): (Vec<&Expr>, Vec<&Expr>) = terms.into_iter().partition(stays);
        let sum = |terms: Vec<&Expr>| terms.into_iter().cloned().reduce(add);
        Some([sum(same)?, sum(rest)?])
    }
}

/// The terms of a sum.
fn collect<'e>(e: &'e Expr, terms: &mut Vec<&'e Expr>) {
    match e {
        Expr::Binary(BinaryOp::Add, a, b) => {
            collect(a, terms);
            collect(b, terms);
        }
        e => terms.push(e),
    }
}

fn mentions(e: &Expr, var: Var) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= *e == Expr::Var(var));
    found
}

impl Translator<'_> {
    /// Whether a load may be moved within its loop.
    pub(crate) fn may_move(&self, array: Array, index: &Expr) -> bool {
        self.function.arrays[array].role == ArrayRole::Input
            && self.anchors.hold(self.function, index)
    }
}
