//! One `forall`: its iterators, its lattice, and the code of one case of its body.

use super::resolve::distinct;
use super::{Code, Lowerer, Scope};
use crate::cin::Stmt;
use crate::ids::{Id, IndexVar, Var};
use crate::ir;
use crate::iteration::lattice::Lattice;
use crate::level::{LevelArrays, LevelKind};
use crate::notation::Access;

/// One sparse operand at one index variable.
pub(super) struct Iterator {
    pub(super) access: Access,
    pub(super) level: usize,
    pub(super) kind: LevelKind,
    pub(super) arrays: LevelArrays,
    pub(super) parent: ir::Expr,
    /// `pA2`, the position.
    pub(super) position: Var,
}

/// An operand, and the variable that holds its position.
pub(super) type At<'i> = (&'i Iterator, Var);

/// A `forall` on its way to code.
pub(super) struct Loop<'s> {
    pub(super) var: IndexVar,
    /// The variable of the coordinate.
    pub(super) index: Var,
    pub(super) iterators: Vec<Iterator>,
    pub(super) lattice: Lattice,
    pub(super) scope: &'s Scope,
    /// The level of the result that this loop writes in order.
    pub(super) result_level: Option<usize>,
}

impl Lowerer<'_> {
    pub(super) fn forall(&mut self, var: IndexVar, body: &Stmt, scope: &Scope) -> Code {
        let iterators = self.iterators(var, body, scope);
        let accesses: Vec<Access> = iterators.iter().map(|it| it.access.clone()).collect();
        let nest = Loop {
            var,
            index: self.index(var),
            lattice: Lattice::build(self.facts, body, &accesses),
            iterators,
            scope,
            result_level: self.result_level(var, scope),
        };
        let code = self.merge(&nest);
        match nest.result_level {
            Some(level) => {
                let edges = self.edges(level, scope);
                Code { stmts: [code.stmts, edges].concat(), ..code }
            }
            None => code,
        }
    }

    /// The operands that have to be iterated to find their coordinates of a variable.
    fn iterators(&mut self, var: IndexVar, body: &Stmt, scope: &Scope) -> Vec<Iterator> {
        let mut found = vec![];
        for access in distinct(body) {
            if self.next_var(&access, scope) != Some(var) {
                continue;
            }
            let reached = scope.reached(&access);
            let level = reached.levels;
            let kind = self.program.storage(access.tensor).format.levels()[level].kind;
            let arrays = self.arrays(access.tensor).levels[level];
            if kind.properties().full {
                continue;
            }
            let position = self.position_var(&access, level);
            let parent = reached.position;
            found.push(Iterator { access, level, kind, arrays, parent, position });
        }
        found
    }

    /// The code of one case: the coordinate is known, and these operands have a position.
    pub(super) fn case(&mut self, nest: &Loop<'_>, present: &[At<'_>], body: &Stmt) -> Code {
        let mut scope = nest.scope.clone();
        scope.bound.insert(nest.var, nest.index);
        for (it, position) in present {
            scope.reach(&it.access, it.level + 1, ir::Expr::Var(*position));
        }
        match nest.result_level {
            Some(level) => self.assembled(level, nest.index, body, scope),
            None => self.resolved(body, scope),
        }
    }

    /// The level of the result that a loop over `var` writes in order here.
    fn result_level(&self, var: IndexVar, scope: &Scope) -> Option<usize> {
        let level = scope.result.levels;
        let (in_order, modes) = self.plan.in_order()?;
        (level < in_order && modes[level] == var).then_some(level)
    }

    /// The index variable of each level of a tensor.
    pub(super) fn level_vars(&self, tensor: crate::ids::TensorId) -> Vec<IndexVar> {
        let t = &self.program.tensors[tensor];
        t.storage.format.levels().iter().map(|l| t.modes[l.mode.index()]).collect()
    }
}
