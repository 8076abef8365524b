//! What a caller has to pass: the parameters that the code really uses, and what each stands for.

use super::function::Builder;
use crate::ids::{Array, Id, IdVec, IndexVar, Level, TensorId, Var};
use crate::ir::{Expr, Function, Param, Role, Stmt};
use crate::level::Part;

/// A function and what its parameters stand for, one binding per parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct Lowered {
    /// The code.
    pub function: Function,
    /// What each parameter stands for.
    pub bindings: Vec<Binding>,
}

/// What a parameter stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Binding {
    /// The dimension of an index variable.
    Dimension(IndexVar),
    /// An array of a level.
    Level {
        /// The tensor.
        tensor: TensorId,
        /// The level.
        level: Level,
        /// Which array.
        part: Part,
    },
    /// The values.
    Vals {
        /// The tensor.
        tensor: TensorId,
    },
}

/// The function with this body, without the declarations that nothing uses.
///
/// Arrays of the result stay: the caller gets them back even when they are empty.
pub(super) fn finish(builder: Builder, body: Vec<Stmt>) -> Lowered {
    let mut used = Used {
        vars: vec![false; builder.vars.len()],
        arrays: builder.arrays.iter().map(|a| a.role != Role::Input).collect(),
    };
    used.block(&body);
    let (vars, var_ids) = keep(builder.vars, &used.vars);
    let (arrays, array_ids) = keep(builder.arrays, &used.arrays);
    let new_var = |v: Var| var_ids[v.index()];
    let new_array = |a: Array| array_ids[a.index()];
    let (mut params, mut bindings) = (vec![], vec![]);
    for (param, binding) in builder.params {
        let param = match param {
            Param::Scalar(v) => new_var(v).map(Param::Scalar),
            Param::Array(a) => new_array(a).map(Param::Array),
        };
        if let Some(param) = param {
            params.push(param);
            bindings.push(binding);
        }
    }
    let renumber = Renumber { vars: &var_ids, arrays: &array_ids };
    let body = renumber.block(body);
    Lowered { function: Function { name: builder.name, params, vars, arrays, body }, bindings }
}

struct Used {
    vars: Vec<bool>,
    arrays: Vec<bool>,
}

impl Used {
    fn block(&mut self, block: &[Stmt]) {
        for s in block {
            match s {
                Stmt::Assign { var, .. } | Stmt::For { var, .. } => self.vars[var.index()] = true,
                Stmt::Store { array, .. } | Stmt::Reserve { array, .. } => {
                    self.arrays[array.index()] = true;
                }
                Stmt::Fill { array, .. } => self.arrays[array.index()] = true,
                Stmt::Sort { keys, carried, .. } => {
                    keys.iter().chain(carried).for_each(|a| self.arrays[a.index()] = true);
                }
                _ => {}
            }
            for e in s.exprs() {
                e.walk(&mut |e| match e {
                    Expr::Var(v) => self.vars[v.index()] = true,
                    Expr::Load { array, .. } | Expr::Len(array) => {
                        self.arrays[array.index()] = true;
                    }
                    _ => {}
                });
            }
            s.blocks().into_iter().for_each(|b| self.block(b));
        }
    }
}

/// The used items, and for each old place the new id.
fn keep<I: Id, T>(items: IdVec<I, T>, used: &[bool]) -> (IdVec<I, T>, Vec<Option<I>>)
where
    T: Clone,
{
    let mut kept = IdVec::new();
    let ids = items.iter().zip(used).map(|(item, &u)| u.then(|| kept.push(item.clone()))).collect();
    (kept, ids)
}

struct Renumber<'m> {
    vars: &'m [Option<Var>],
    arrays: &'m [Option<Array>],
}

impl Renumber<'_> {
    fn var(&self, v: Var) -> Var {
        self.vars[v.index()].expect("used variables are kept")
    }

    fn array(&self, a: Array) -> Array {
        self.arrays[a.index()].expect("used arrays are kept")
    }

    fn block(&self, block: Vec<Stmt>) -> Vec<Stmt> {
        block.into_iter().map(|s| self.stmt(s)).collect()
    }

    fn stmt(&self, s: Stmt) -> Stmt {
        let s = match s {
            Stmt::Assign { var, value } => Stmt::Assign { var: self.var(var), value },
            Stmt::For { var, lo, hi, step, body } => {
                Stmt::For { var: self.var(var), lo, hi, step, body }
            }
            Stmt::Store { array, index, value } => {
                Stmt::Store { array: self.array(array), index, value }
            }
            Stmt::Reserve { array, len } => Stmt::Reserve { array: self.array(array), len },
            Stmt::Fill { array, lo, hi, value } => {
                Stmt::Fill { array: self.array(array), lo, hi, value }
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
