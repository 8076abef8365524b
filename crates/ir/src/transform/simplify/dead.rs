//! Removes assignments that are never read, and statements that then have no effect.

use crate::ids::{Id, Var};
use crate::ir::{Expr, Function, Stmt};

/// A body without these, and whether anything was removed.
pub(super) fn remove(function: &Function, body: Vec<Stmt>) -> (Vec<Stmt>, bool) {
    let mut dead = Dead { removed: false };
    let body = dead.block(body, &mut Live(vec![false; function.vars.len()]));
    (body, dead.removed)
}

/// The variables whose value may still be read.
#[derive(Clone)]
struct Live(Vec<bool>);

impl Live {
    fn has(&self, var: Var) -> bool {
        self.0[var.index()]
    }

    fn set(&mut self, var: Var, live: bool) {
        self.0[var.index()] = live;
    }

    fn reads(&mut self, e: &Expr) {
        e.walk(&mut |e| {
            if let Expr::Var(v) = e {
                self.set(*v, true);
            }
        });
    }

    fn join(&mut self, other: &Live) {
        self.0.iter_mut().zip(&other.0).for_each(|(live, other)| *live |= other);
    }

    /// Goes from the end of a block to its beginning.
    fn before(&mut self, block: &[Stmt]) {
        for s in block.iter().rev() {
            match s {
                Stmt::Assign { var, .. } => self.set(*var, false),
                Stmt::For { var, body, .. } => {
                    self.again(body);
                    self.set(*var, false);
                }
                Stmt::Parallel { var, body, combined, .. } => {
                    self.again(body);
                    self.set(*var, false);
                    combined.iter().for_each(|c| self.set(c.var, true));
                }
                Stmt::While { body, .. } => self.again(body),
                Stmt::InOrder { body } => self.before(body),
                Stmt::If { then, otherwise, .. } => {
                    let mut other = self.clone();
                    self.before(then);
                    other.before(otherwise);
                    self.join(&other);
                }
                Stmt::Fail(_) => self.0.fill(false),
                _ => {}
            }
            s.exprs().for_each(|e| self.reads(e));
        }
    }

    /// Adds the variables that a body reads from before it, including from its own previous iteration.
    fn again(&mut self, body: &[Stmt]) {
        let mut first = Live(vec![false; self.0.len()]);
        first.before(body);
        self.join(&first);
    }
}

struct Dead {
    removed: bool,
}

impl Dead {
    /// Goes from the end of a block to its beginning.
    fn block(&mut self, block: Vec<Stmt>, live: &mut Live) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(block.len());
        for s in block.into_iter().rev() {
            match self.stmt(s, live) {
                Some(s) => {
                    s.exprs().for_each(|e| live.reads(e));
                    out.push(s);
                }
                None => self.removed = true,
            }
        }
        out.reverse();
        out
    }

    fn stmt(&mut self, s: Stmt, live: &mut Live) -> Option<Stmt> {
        Some(match s {
            Stmt::Assign { var, value } => {
                live.has(var).then_some(())?;
                live.set(var, false);
                Stmt::Assign { var, value }
            }
            Stmt::For { var, lo, hi, step, body } => {
                let body = self.repeated(body, live, None);
                live.set(var, false);
                (!body.is_empty()).then_some(())?;
                Stmt::For { var, lo, hi, step, body }
            }
            Stmt::Parallel { unit, var, lo, hi, combined, body } => {
                let body = self.repeated(body, live, None);
                live.set(var, false);
                combined.iter().for_each(|c| live.set(c.var, true));
                (!body.is_empty()).then_some(())?;
                Stmt::Parallel { unit, var, lo, hi, combined, body }
            }
            Stmt::While { cond, body } => {
                let body = self.repeated(body, live, Some(&cond));
                Stmt::While { cond, body }
            }
            Stmt::If { cond, then, otherwise } => {
                let mut other = live.clone();
                let then = self.block(then, live);
                let otherwise = self.block(otherwise, &mut other);
                live.join(&other);
                (!then.is_empty() || !otherwise.is_empty()).then_some(())?;
                Stmt::If { cond, then, otherwise }
            }
            Stmt::InOrder { body } => Stmt::InOrder { body: self.block(body, live) },
            Stmt::Fail(status) => {
                live.0.fill(false);
                Stmt::Fail(status)
            }
            s => s,
        })
    }

    fn repeated(&mut self, body: Vec<Stmt>, live: &mut Live, cond: Option<&Expr>) -> Vec<Stmt> {
        cond.into_iter().for_each(|e| live.reads(e));
        live.again(&body);
        let mut within = live.clone();
        let body = self.block(body, &mut within);
        live.join(&within);
        body
    }
}
