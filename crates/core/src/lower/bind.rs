//! Index variables with a value, and those whose value follows.
//!
//! ```text
//! i0, i1 of bcsr(4,4)      i = i0 * 4 + i1       if i < i_size
//! d, i of dia              j = d + i             if 0 <= j and j < j_size
//! i                        i0 = i / 4            where an operand is stored by blocks
//! ```

use super::{Lowerer, Scope};
use crate::algebra::BinaryOp;
use crate::format::LevelMap;
use crate::format::open::{Known, open};
use crate::ids::{Id, IndexVar, Level, TensorId, Var};
use crate::ir::build::{add, assign, binary, int, lt, mul, sub};
use crate::ir::{Expr, Stmt};

/// What a value brings with it.
#[derive(Default)]
pub(super) struct Bound {
    /// Code for what follows.
    pub(super) stmts: Vec<Stmt>,
    /// Conditions for what follows to lie inside the tensors.
    pub(super) inside: Vec<Expr>,
}

impl Lowerer<'_> {
    /// Gives a loop variable its value, and every variable that follows from it. The values are
    /// inside the tensors if `exact`.
    pub(super) fn bind(
        &mut self,
        var: IndexVar,
        value: Var,
        scope: &mut Scope,
        exact: bool,
    ) -> Bound {
        scope.bound.insert(var, value);
        let mut bound = Bound::default();
        while let Some((var, value, conditions)) = self.following(scope) {
            let index = self.index(var);
            bound.stmts.push(assign(index, value));
            scope.bound.insert(var, index);
            if !exact {
                for condition in conditions {
                    bound.inside.push(condition.of(Expr::Var(index), self.dim(var)));
                }
            }
        }
        bound
    }

    /// A variable without a value that has one by what is bound.
    fn following(&self, scope: &Scope) -> Option<(IndexVar, Expr, Vec<Condition>)> {
        let of = |v: IndexVar| scope.bound.get(&v).map(|&v| Expr::Var(v));
        self.program.derived.iter().find_map(|(var, map)| match map {
            LevelMap::Div(i, size) if of(i).is_none() => {
                let place = of(self.program.derived.var(LevelMap::Mod(i, size))?)?;
                let i_is = add(mul(of(var)?, int(size as i64)), place);
                Some((i, i_is, vec![Condition::BelowDimension]))
            }
            LevelMap::Diff { plus, minus } if plus != minus => {
                let both = vec![Condition::FromZero, Condition::BelowDimension];
                match (of(plus), of(minus)) {
                    (None, Some(i)) => Some((plus, add(of(var)?, i), both)),
                    (Some(j), None) => Some((minus, sub(j, of(var)?), both)),
                    _ => None,
                }
            }
            _ => None,
        })
    }

    /// The variable that holds a coordinate, if it is bound or follows from what is.
    pub(super) fn coordinate(
        &mut self,
        var: IndexVar,
        scope: &mut Scope,
        prefix: &mut Vec<Stmt>,
    ) -> Option<Var> {
        if let Some(&known) = scope.bound.get(&var) {
            return Some(known);
        }
        let of = |v: IndexVar| scope.bound.get(&v).map(|&v| Expr::Var(v));
        let value = match self.program.derived.map(var)? {
            LevelMap::Mode(_) | LevelMap::Slot(_) => return None,
            LevelMap::Div(i, size) => binary(BinaryOp::Div, of(i)?, int(size as i64)),
            LevelMap::Mod(i, size) => binary(BinaryOp::Mod, of(i)?, int(size as i64)),
            LevelMap::Diff { plus, minus } => sub(of(plus)?, of(minus)?),
        };
        let name = self.program.vars[var].clone();
        let fresh = self.temp(&name);
        prefix.push(assign(fresh, value));
        scope.bound.insert(var, fresh);
        Some(fresh)
    }

    /// The coordinates that a loop over a variable has to visit if nothing else is known.
    pub(super) fn range(&mut self, var: IndexVar, scope: &Scope) -> (Expr, Expr) {
        let derived = &self.program.derived;
        let map = derived.map(var).unwrap_or(LevelMap::Mode(var));
        let slots = derived.slots(var);
        open(map, &mut Surroundings { lowerer: self, scope, slots })
    }
}

/// What has to hold of a value that follows.
enum Condition {
    FromZero,
    BelowDimension,
}

impl Condition {
    fn of(&self, value: Expr, dimension: Var) -> Expr {
        match self {
            Condition::FromZero => binary(BinaryOp::Ge, value, int(0)),
            Condition::BelowDimension => lt(value, Expr::Var(dimension)),
        }
    }
}

/// The variables bound at a place of the loops.
struct Surroundings<'s, 'l, 'p> {
    lowerer: &'l mut Lowerer<'p>,
    scope: &'s Scope,
    slots: Option<(TensorId, Level)>,
}

impl Known<IndexVar, Expr> for Surroundings<'_, '_, '_> {
    fn dimension(&mut self, var: IndexVar) -> Expr {
        Expr::Var(self.lowerer.dim(var))
    }

    fn mode(&mut self, var: IndexVar) -> Option<Expr> {
        self.scope.bound.get(&var).map(|&v| Expr::Var(v))
    }

    fn level(&mut self, map: LevelMap<IndexVar>) -> Option<Expr> {
        let var = self.lowerer.program.derived.var(map)?;
        self.mode(var)
    }

    fn diagonals(&mut self, var: IndexVar) -> Vec<LevelMap<IndexVar>> {
        let takes = |map: &LevelMap<IndexVar>| matches!(*map, LevelMap::Diff { plus, minus } if plus == var || minus == var);
        let derived = self.lowerer.program.derived.iter();
        let bound = derived.filter(|(var, _)| self.scope.bound.contains_key(var));
        bound.map(|(_, map)| map).filter(takes).collect()
    }

    fn slots(&mut self) -> Expr {
        let (tensor, level) = self.slots.expect("slots belong to a tensor");
        self.lowerer.arrays(tensor).levels[level.index()].width()
    }
}
