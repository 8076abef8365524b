//! Numbers declarations in order: parameters first, then everything that the body uses; the rest is dropped.
//!
//! ```text
//! vars s, i, n, unused; fn f(n)   becomes   vars n, s, i; fn f(n)
//! ```

use super::{Expr, Function, Param, Stmt};
use crate::ids::{Array, Id, IdVec, Var};

/// The function with parameters numbered first, in their order, and without unused declarations. A variable whose
/// loops were to be vectorised stays, so that a later check can report that none are.
pub fn number(function: Function) -> Function {
    let Function { name, params, vars, arrays, body } = function;
    let mut used = Used::none(vars.len(), arrays.len());
    used.block(&body);
    vars.ids().filter(|v| vars[*v].by_lanes).for_each(|v| used.vars[v.index()] = true);
    let (mut first_vars, mut first_arrays) = (vec![], vec![]);
    for param in &params {
        match param {
            Param::Scalar(v) => first_vars.push(*v),
            Param::Array(a) => first_arrays.push(*a),
        }
    }
    let (vars, new_vars) = ordered(vars, first_vars, &used.vars);
    let (arrays, new_arrays) = ordered(arrays, first_arrays, &used.arrays);
    let map = Renamed { vars: new_vars, arrays: new_arrays };
    let params = params
        .into_iter()
        .map(|param| match param {
            Param::Scalar(v) => Param::Scalar(map.var(v)),
            Param::Array(a) => Param::Array(map.array(a)),
        })
        .collect();
    Function { name, params, vars, arrays, body: map.block(body) }
}

/// The variables and arrays in statements.
pub struct Used {
    /// For each variable.
    pub vars: Vec<bool>,
    /// For each array.
    pub arrays: Vec<bool>,
}

impl Used {
    /// No variables or arrays of a function with this many.
    pub fn none(vars: usize, arrays: usize) -> Used {
        Used { vars: vec![false; vars], arrays: vec![false; arrays] }
    }

    /// Adds the variables and arrays in a block.
    pub fn block(&mut self, block: &[Stmt]) {
        for s in block {
            let (vars, arrays) = s.named();
            vars.into_iter().for_each(|v| self.vars[v.index()] = true);
            arrays.into_iter().for_each(|a| self.arrays[a.index()] = true);
            for e in s.exprs() {
                e.walk(&mut |e| match e {
                    Expr::Var(v) => self.vars[v.index()] = true,
                    Expr::Load { array, .. } | Expr::Len(array) => {
                        self.arrays[array.index()] = true;
                    }
                    _ => {}
                });
            }
            s.blocks().for_each(|b| self.block(b));
        }
    }
}

/// The given items first, then the other used ones; and the new id of each old index.
fn ordered<I: Id, T: Clone>(
    items: IdVec<I, T>,
    first: Vec<I>,
    used: &[bool],
) -> (IdVec<I, T>, Vec<Option<I>>) {
    let mut kept = IdVec::new();
    let mut ids = vec![None; items.len()];
    let others = items.ids().filter(|id| used[id.index()] && !first.contains(id));
    for id in first.iter().copied().chain(others) {
        ids[id.index()] = Some(kept.push(items[id].clone()));
    }
    (kept, ids)
}

/// The new ids of variables and arrays, by the old ones; all used ones have one.
pub struct Renamed {
    /// The ids of variables.
    pub vars: Vec<Option<Var>>,
    /// The ids of arrays.
    pub arrays: Vec<Option<Array>>,
}

impl Renamed {
    /// No new ids yet for what a function declares.
    pub fn none(function: &Function) -> Renamed {
        let (vars, arrays) = (function.vars.len(), function.arrays.len());
        Renamed { vars: vec![None; vars], arrays: vec![None; arrays] }
    }

    fn var(&self, v: Var) -> Var {
        self.vars[v.index()].expect("used variables are kept")
    }

    fn array(&self, a: Array) -> Array {
        self.arrays[a.index()].expect("used arrays are kept")
    }

    /// Statements with the new ids.
    ///
    /// # Panics
    /// If a used variable or array has no new id.
    pub fn block(&self, block: Vec<Stmt>) -> Vec<Stmt> {
        block.into_iter().map(|s| self.stmt(s)).collect()
    }

    fn stmt(&self, s: Stmt) -> Stmt {
        let s = match s {
            Stmt::Assign { var, value } => Stmt::Assign { var: self.var(var), value },
            Stmt::For { var, lo, hi, step, body } => {
                Stmt::For { var: self.var(var), lo, hi, step, body }
            }
            Stmt::Parallel { unit, var, lo, hi, mut combined, body } => {
                combined.iter_mut().for_each(|c| c.var = self.var(c.var));
                Stmt::Parallel { unit, var: self.var(var), lo, hi, combined, body }
            }
            Stmt::Update { array, index, op, value } => {
                Stmt::Update { array: self.array(array), index, op, value }
            }
            Stmt::Store { array, index, value } => {
                Stmt::Store { array: self.array(array), index, value }
            }
            Stmt::Reserve { array, len } => Stmt::Reserve { array: self.array(array), len },
            Stmt::Fill { array, lo, hi, value } => {
                Stmt::Fill { array: self.array(array), lo, hi, value }
            }
            Stmt::Prefetch { array, index, far } => {
                Stmt::Prefetch { array: self.array(array), index, far }
            }
            Stmt::Sort { keys, carried, lo, hi } => {
                let all = |list: Vec<Array>| list.into_iter().map(|a| self.array(a)).collect();
                Stmt::Sort { keys: all(keys), carried: all(carried), lo, hi }
            }
            other => other,
        };
        s.map_children(&mut |e| self.expr(e), &mut |b| self.block(b))
    }

    fn expr(&self, e: Expr) -> Expr {
        let e = match e {
            Expr::Var(v) => Expr::Var(self.var(v)),
            Expr::Len(a) => Expr::Len(self.array(a)),
            Expr::Load { array, index, lanes } => {
                Expr::Load { array: self.array(array), index, lanes }
            }
            other => other,
        };
        e.map_children(&mut |child| self.expr(child))
    }
}
