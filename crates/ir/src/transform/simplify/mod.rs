//! Simplification: folds constants, propagates copies, and removes statements without effect.
//!
//! ```text
//! k_begin = 0; k_hi = n
//! k_mid = k_begin + (k_hi - k_begin) / 4 * 4     becomes     k_mid = n / 4 * 4
//! for k in k_mid..k_hi { .. }                                for k in k_mid..n { .. }
//! ```
//!
//! Every value keeps its bits. Variables that name a position or a coordinate stay, even if they are used once: they
//! help readers, and cost nothing in machine code.

mod dead;
mod rules;

#[cfg(test)]
mod tests;

use crate::datatype::Scalar;
use crate::ids::Var;
use crate::ir::flow::assigned;
use crate::ir::number::number;
use crate::ir::{Expr, Function, Stmt};

/// The largest number of rounds; the pass ends earlier if a round finds nothing to do.
const ROUNDS: usize = 8;

/// The pass.
pub(super) fn simplify(mut function: Function) -> Function {
    for _ in 0..ROUNDS {
        let body = std::mem::take(&mut function.body);
        let mut forward = Forward { function: &function, known: vec![], changed: false };
        let body = forward.block(body);
        let changed = forward.changed;
        let (body, removed) = dead::remove(&function, body);
        function.body = body;
        if !changed && !removed {
            break;
        }
    }
    number(function)
}

/// The known value of a variable.
#[derive(Clone, Copy, PartialEq)]
enum Value {
    Const(Scalar),
    Copy(Var),
}

/// A walk in the order of evaluation.
struct Forward<'f> {
    function: &'f Function,
    /// The variables with a known value. There are few, since loops forget what they assign.
    known: Vec<(Var, Value)>,
    changed: bool,
}

impl Forward<'_> {
    fn block(&mut self, block: Vec<Stmt>) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(block.len());
        let mut rest = block.into_iter();
        for s in rest.by_ref() {
            self.stmt(s, &mut out);
            if let Some(Stmt::Fail(_)) = out.last() {
                break;
            }
        }
        self.changed |= rest.next().is_some();
        out
    }

    /// The bounds and the body of a loop that iterates.
    fn iterations(
        &mut self,
        var: Var,
        lo: Expr,
        hi: Expr,
        body: Vec<Stmt>,
    ) -> Option<(Expr, Expr, Vec<Stmt>)> {
        let (lo, hi) = (self.expr(lo), self.expr(hi));
        if never_runs(&lo, &hi) {
            self.changed = true;
            return None;
        }
        self.forget_assigned(&body);
        self.forget(&[var]);
        Some((lo, hi, self.inner(body)))
    }

    fn stmt(&mut self, s: Stmt, out: &mut Vec<Stmt>) {
        match s {
            Stmt::Assign { var, value } => {
                let value = self.whole(value);
                if value == Expr::Var(var) {
                    self.changed = true;
                    return;
                }
                self.forget(&[var]);
                match value {
                    Expr::Const(c) => self.known.push((var, Value::Const(c))),
                    Expr::Var(v) => self.known.push((var, Value::Copy(v))),
                    _ => {}
                }
                out.push(Stmt::Assign { var, value });
            }
            Stmt::For { var, lo, hi, step, body } => {
                let Some((lo, hi, body)) = self.iterations(var, lo, hi, body) else { return };
                out.push(Stmt::For { var, lo, hi, step, body });
            }
            Stmt::Parallel { unit, var, lo, hi, combined, body } => {
                let Some((lo, hi, body)) = self.iterations(var, lo, hi, body) else { return };
                out.push(Stmt::Parallel { unit, var, lo, hi, combined, body });
            }
            // Facts before a loop decide whether it has a first iteration.
            Stmt::While { ref cond, .. } if self.expr(cond.clone()) == truth(false) => {
                self.changed = true;
            }
            Stmt::Sort { ref lo, ref hi, .. } if never_runs(lo, hi) => self.changed = true,
            Stmt::While { cond, body } => {
                self.forget_assigned(&body);
                let cond = self.expr(cond);
                let body = self.inner(body);
                out.push(Stmt::While { cond, body });
            }
            Stmt::If { cond, then, otherwise } => self.branch(cond, then, otherwise, out),
            Stmt::InOrder { body } => out.push(Stmt::InOrder { body: self.block(body) }),
            Stmt::Store { array, index, value } => {
                let (index, value) = (self.expr(index), self.whole(value));
                out.push(Stmt::Store { array, index, value });
            }
            Stmt::Fill { array, lo, hi, value } => {
                let (lo, hi, value) = (self.expr(lo), self.expr(hi), self.whole(value));
                out.push(Stmt::Fill { array, lo, hi, value });
            }
            s => out.push(s.map_children(&mut |e| self.expr(e), &mut |b| b)),
        }
    }

    fn branch(&mut self, cond: Expr, then: Vec<Stmt>, otherwise: Vec<Stmt>, out: &mut Vec<Stmt>) {
        let cond = self.expr(cond);
        if let Expr::Const(Scalar::Bool(holds)) = cond {
            self.changed = true;
            out.extend(self.block(if holds { then } else { otherwise }));
            return;
        }
        let before = self.known.clone();
        let then = self.block(then);
        let after_then = std::mem::replace(&mut self.known, before);
        let otherwise = self.block(otherwise);
        if ends(&otherwise) {
            self.known = after_then;
        } else if !ends(&then) {
            self.known.retain(|known| after_then.contains(known));
        }
        out.push(Stmt::If { cond, then, otherwise });
    }

    /// A block that may run any number of times, so nothing is known of its assignments.
    fn inner(&mut self, block: Vec<Stmt>) -> Vec<Stmt> {
        let before = self.known.clone();
        let block = self.block(block);
        self.known = before;
        block
    }

    fn forget_assigned(&mut self, block: &[Stmt]) {
        if !self.known.is_empty() {
            let mut vars = vec![];
            assigned(block, &mut vars);
            self.forget(&vars);
        }
    }

    fn forget(&mut self, vars: &[Var]) {
        self.known.retain(|(var, value)| {
            let copied = matches!(value, Value::Copy(v) if vars.contains(v));
            !copied && !vars.contains(var)
        });
    }

    fn expr(&mut self, e: Expr) -> Expr {
        match (&e, self.value(&e)) {
            (_, Some(Expr::Const(Scalar::F32(_) | Scalar::F64(_)))) => return e,
            (_, Some(known)) => return self.changed(known),
            (Expr::Var(_), None) => return e,
            _ => {}
        }
        let mut e = e.map_children(&mut |child| self.expr(child));
        while let Some(simpler) = rules::apply(self.function, &e).or_else(|| self.with_floats(&e)) {
            e = self.changed(simpler);
        }
        e
    }

    /// The value of a whole right side.
    fn whole(&mut self, e: Expr) -> Expr {
        let e = self.expr(e);
        match self.value(&e) {
            Some(known) => self.changed(known),
            None => e,
        }
    }

    /// The known value of a variable.
    fn value(&self, e: &Expr) -> Option<Expr> {
        let Expr::Var(v) = e else { return None };
        let (_, value) = self.known.iter().find(|(var, _)| var == v)?;
        Some(match *value {
            Value::Const(c) => Expr::Const(c),
            Value::Copy(v) => Expr::Var(v),
        })
    }

    /// The simplified expression, if it follows from known floats. Otherwise the operands keep their names: `s + t`
    /// reads better than `0.0 + t`.
    fn with_floats(&self, e: &Expr) -> Option<Expr> {
        let mut some = false;
        e.for_each_child(&mut |child| some |= self.value(child).is_some());
        some.then_some(())?;
        let e = e.clone().map_children(&mut |child| self.value(&child).unwrap_or(child));
        rules::apply(self.function, &e)
    }

    fn changed(&mut self, e: Expr) -> Expr {
        self.changed = true;
        e
    }
}

fn never_runs(lo: &Expr, hi: &Expr) -> bool {
    match (lo, hi) {
        (Expr::Const(lo), Expr::Const(hi)) => lo.as_i64() >= hi.as_i64(),
        _ => lo == hi,
    }
}

/// Whether a block certainly ends the call.
fn ends(block: &[Stmt]) -> bool {
    matches!(block.last(), Some(Stmt::Fail(_)))
}

fn truth(b: bool) -> Expr {
    Expr::Const(Scalar::Bool(b))
}
