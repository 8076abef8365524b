//! Descending the levels of operands whose index variable has a value already.
//!
//! A level with `locate` is arithmetic. A level without is searched: where nothing is found the
//! operand has its fill value there, and the statement becomes what that leaves. This is how
//! diagonals `A(i,i)` and operands stored in another order than the loops are read.

use super::{Code, Lowerer, Scope};
use crate::algebra::BinaryOp;
use crate::cin::Stmt;
use crate::ids::{Id, IndexVar, Var};
use crate::ir;
use crate::ir::build::{add, assign, binary, eq, int, lt, when};
use crate::notation::Access;

impl Lowerer<'_> {
    /// The code of a statement after every operand has descended as far as the bound variables
    /// allow.
    pub(super) fn resolved(&mut self, s: &Stmt, mut scope: Scope) -> Code {
        let mut prefix = vec![];
        for access in distinct(s) {
            while let Some(var) = self.next_var(&access, &scope) {
                let Some(&coordinate) = scope.bound.get(&var) else { break };
                let located = self.locate(&access, coordinate, &mut scope);
                let Some(stmts) = located else {
                    let found = self.search(&access, coordinate, s, &scope);
                    return Code { stmts: [prefix, found.stmts].concat(), covers: found.covers };
                };
                prefix.extend(stmts);
            }
        }
        let code = self.stmt(s, &scope);
        Code { stmts: [prefix, code.stmts].concat(), covers: code.covers }
    }

    /// The variable of the first level that an access has not descended.
    pub(super) fn next_var(&self, access: &Access, scope: &Scope) -> Option<IndexVar> {
        let levels = self.program.storage(access.tensor).format.levels();
        let spec = levels.get(scope.reached(access).levels)?;
        Some(access.indices[spec.mode.index()])
    }

    /// Descends one level by `locate`, if the level has it.
    fn locate(
        &mut self,
        access: &Access,
        coordinate: Var,
        scope: &mut Scope,
    ) -> Option<Vec<ir::Stmt>> {
        let reached = scope.reached(access);
        let k = reached.levels;
        let level = self.arrays(access.tensor).levels[k];
        let kind = self.program.storage(access.tensor).format.levels()[k].kind;
        let position = kind.locate(&level, reached.position, ir::Expr::Var(coordinate))?;
        if matches!(position, ir::Expr::Var(_)) {
            scope.reach(access, k + 1, position);
            return Some(vec![]);
        }
        let p = self.position_var(access, k);
        scope.reach(access, k + 1, ir::Expr::Var(p));
        Some(vec![assign(p, position)])
    }

    /// Descends one level by binary search for the coordinate among the ordered children.
    fn search(&mut self, access: &Access, coordinate: Var, s: &Stmt, scope: &Scope) -> Code {
        let reached = scope.reached(access);
        let k = reached.levels;
        let level = self.arrays(access.tensor).levels[k];
        let kind = self.program.storage(access.tensor).format.levels()[k].kind;
        let bounds = kind.pos_bounds(&level, reached.position).expect("a level can be iterated");
        let p = self.position_var(access, k);
        let (lo, hi) = (ir::Expr::Var(p), self.temp(&format!("{}_end", self.name_of(p))));
        let (end, mid) = (self.temp("end"), self.temp("mid"));
        let at = |position| kind.pos_access(&level, position).expect("a level has coordinates");
        let coordinate = || ir::Expr::Var(coordinate);
        // The end of the segment stays in `hi`; `end` shrinks until `p` is the lower bound.
        let half = binary(BinaryOp::Div, add(lo.clone(), ir::Expr::Var(end)), int(2));
        let step = ir::Stmt::If {
            cond: lt(at(ir::Expr::Var(mid)), coordinate()),
            then: vec![assign(p, add(ir::Expr::Var(mid), int(1)))],
            otherwise: vec![assign(end, ir::Expr::Var(mid))],
        };
        let mut stmts = vec![
            assign(p, bounds.lo),
            assign(hi, bounds.hi),
            assign(end, ir::Expr::Var(hi)),
            ir::Stmt::While {
                cond: lt(lo.clone(), ir::Expr::Var(end)),
                body: vec![assign(mid, half), step],
            },
        ];
        let found =
            ir::build::all([lt(lo.clone(), ir::Expr::Var(hi)), eq(at(lo.clone()), coordinate())]);
        let mut below = scope.clone();
        below.reach(access, k + 1, lo);
        let present = self.resolved(s, below);
        let absent = match self.facts.without(s, &|a| a == access) {
            Some(rest) => self.resolved(&rest, scope.clone()),
            None => Code::nothing(),
        };
        let covers = present.covers && absent.covers;
        stmts.push(match absent.stmts.is_empty() {
            true => when(found, present.stmts),
            false => ir::Stmt::If { cond: found, then: present.stmts, otherwise: absent.stmts },
        });
        Code { stmts, covers }
    }

    /// The variable `pA2` for the position of an access at a level.
    pub(super) fn position_var(&mut self, access: &Access, level: usize) -> Var {
        let key = (access.tensor, access.indices.clone(), level);
        if let Some(&known) = self.positions.get(&key) {
            return known;
        }
        let name = format!("p{}{}", self.program.tensors[access.tensor].name, level + 1);
        let var = self.temp(&name);
        self.positions.insert(key, var);
        var
    }

    /// A new index variable of the code.
    pub(super) fn temp(&mut self, name: &str) -> Var {
        self.builder.var(name, ir::Type::INDEX)
    }

    pub(super) fn name_of(&self, var: Var) -> String {
        self.builder.vars[var].name.clone()
    }
}

/// Each access of a statement once, in order.
pub(super) fn distinct(s: &Stmt) -> Vec<Access> {
    let mut found: Vec<Access> = vec![];
    for access in s.reads() {
        if !found.contains(access) {
            found.push(access.clone());
        }
    }
    found
}
