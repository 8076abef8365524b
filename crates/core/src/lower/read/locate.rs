//! Descending the levels of operands whose index variable has a value already.
//!
//! A level with `locate` is arithmetic. A level without is searched: where nothing is found the
//! operand has its fill value there, and the statement becomes what that leaves. This is how
//! diagonals `A(i,i)` and operands stored in another order than the loops are read.

use crate::cin::Stmt;
use crate::cin::simplify::written;
use crate::level::Located;
use crate::lower::{Code, Lowerer, Reached, Scope};
use crate::notation::{Access, Slicing};
use std::collections::BTreeMap;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ids::{IndexVar, Mode, TensorId, Var};
use tamis_ir::ir;
use tamis_ir::ir::build::{add, all, assign, binary, eq, int, lt, when};

impl Lowerer<'_> {
    /// The code of a statement after every operand has descended as far as the bound variables
    /// allow.
    pub(in crate::lower) fn resolved(&mut self, s: &Stmt, mut scope: Scope) -> Code {
        let mut prefix = vec![];
        for access in given(s) {
            while let Some(var) = self.next_var(&access, &scope) {
                let Some(coordinate) = self.coordinate(var, &mut scope, &mut prefix) else { break };
                let located = self.find(&access, coordinate, &scope);
                prefix.extend(located.stmts);
                let Some(found) = located.found else {
                    let p = self.held(&access, located.reached, &mut prefix);
                    self.reach(&access, p, &mut scope);
                    continue;
                };
                let split = self.split(&access, located.reached, found, s, &scope);
                return Code { stmts: [prefix, split.stmts].concat(), covers: split.covers };
            }
        }
        let code = self.stmt(s, &scope);
        Code { stmts: [prefix, code.stmts].concat(), covers: code.covers }
    }

    /// The variable of the first level that an access has not descended.
    pub(in crate::lower) fn next_var(&self, access: &Access, scope: &Scope) -> Option<IndexVar> {
        let vars = self.program.level_vars(access.tensor, &access.indices);
        vars.get(scope.reached(access).levels).copied()
    }

    /// Holds a position in the variable that belongs to it.
    fn held(&mut self, access: &Access, reached: Reached, prefix: &mut Vec<ir::Stmt>) -> Reached {
        if matches!(reached.position, ir::Expr::Var(_) | ir::Expr::Const(_)) {
            return reached;
        }
        let p = self.position_var(access, reached.levels - 1);
        prefix.push(assign(p, reached.position));
        Reached { position: ir::Expr::Var(p), ..reached }
    }

    /// Both ways on from an operand that may have nothing at a coordinate.
    fn split(
        &mut self,
        access: &Access,
        reached: Reached,
        found: ir::Expr,
        s: &Stmt,
        scope: &Scope,
    ) -> Code {
        let mut below = scope.clone();
        let mut then = vec![];
        let reached = self.held(access, reached, &mut then);
        self.reach(access, reached, &mut below);
        let present = self.resolved(s, below);
        then.extend(present.stmts);
        let absent = match self.facts.without(s, &|a| a == access) {
            Some(rest) => self.resolved(&rest, scope.clone()),
            None => Code::nothing(),
        };
        let covers = present.covers && absent.covers;
        let stmts = match absent.stmts.is_empty() {
            true => vec![when(found, then)],
            false => vec![ir::Stmt::If { cond: found, then, otherwise: absent.stmts }],
        };
        Code { stmts, covers }
    }

    /// Descends one level by `locate`, or by a search where the level lacks it.
    fn find(&mut self, access: &Access, coordinate: Var, scope: &Scope) -> Found {
        let parent = scope.reached(access);
        let k = parent.levels;
        let level = self.arrays(access.tensor).levels[k].clone();
        let kind = self.program.storage(access.tensor).format.levels()[k].kind;
        let mut stmts = vec![];
        let (coordinate, inside) = self.stored(access, k, coordinate, &mut stmts);
        let at = parent.position.clone();
        let found = match kind.locate(&level, at, coordinate.clone(), &mut self.builder) {
            Some(Located { stmts, position, found }) => {
                let reached = Reached { levels: k + 1, position, end: None };
                Found { stmts, reached, found }
            }
            None => self.search(access, coordinate, scope),
        };
        stmts.extend(found.stmts);
        let inside = inside.into_iter().chain(found.found).reduce(|a, b| all([a, b]));
        Found { stmts, found: inside, ..found }
    }

    /// The coordinate of a level at a value of its index variable, and when there is one.
    fn stored(
        &mut self,
        access: &Access,
        level: usize,
        value: Var,
        stmts: &mut Vec<ir::Stmt>,
    ) -> (ir::Expr, Vec<ir::Expr>) {
        let (coordinate, inside) = self.sliced(access, level).coordinate(ir::Expr::Var(value));
        if matches!(coordinate, ir::Expr::Var(_)) {
            return (coordinate, inside);
        }
        let name = &self.program.tensors[access.tensor].name;
        let held = self.temp(&format!("{}{name}", self.name_of(value)));
        stmts.push(assign(held, coordinate));
        (ir::Expr::Var(held), inside)
    }

    /// Descends one level by a search for the coordinate among the children: a binary one if they
    /// are ordered, else from the first to the last.
    fn search(&mut self, access: &Access, coordinate: ir::Expr, scope: &Scope) -> Found {
        let it = self.iterator(access.clone(), scope);
        let bounds = it.bounds();
        let (p, hi) = (it.position, self.end(&it));
        let (lo, end) = (ir::Expr::Var(p), ir::Expr::Var(hi));
        let mut stmts = vec![assign(p, bounds.lo), assign(hi, bounds.hi)];
        match it.kind.properties().ordered {
            true => stmts.extend(self.lower_bound(&it, p, coordinate.clone())),
            false => {
                let here = binary(BinaryOp::Ne, it.raw(p).coordinate, coordinate.clone());
                let cond = all([lt(lo.clone(), end.clone()), here]);
                stmts.push(ir::Stmt::While { cond, body: vec![self.advance(p)] });
            }
        }
        let here = all([lt(lo.clone(), end.clone()), eq(it.raw(p).coordinate, coordinate.clone())]);
        let mut reached = Reached { levels: it.level + 1, position: lo, end: None };
        if !it.kind.properties().unique {
            // Without a first position there is no segment either, and it stays empty.
            stmts.extend(self.segment(&it, p, coordinate, end));
            reached.end = Some(ir::Expr::Var(self.segment_end(p)));
        }
        Found { stmts, reached, found: Some(here) }
    }

    /// Moves a position of an operand to the first child from the coordinate of its level on.
    pub(in crate::lower) fn lower_bound(
        &mut self,
        it: &super::forall::Iterator,
        p: Var,
        coordinate: ir::Expr,
    ) -> Vec<ir::Stmt> {
        let end = ir::Expr::Var(self.end(it));
        self.first_from(p, &|at| lt(it.raw(at).coordinate, coordinate.clone()), end)
    }

    /// Moves a position to the first that is not before something, or to an end.
    pub(in crate::lower) fn first_from(
        &mut self,
        p: Var,
        before: &dyn Fn(Var) -> ir::Expr,
        behind: ir::Expr,
    ) -> Vec<ir::Stmt> {
        let (end, mid) = (self.temp("end"), self.temp("mid"));
        // The end of the segment stays as it is; `end` shrinks until `p` is the lower bound.
        let half = binary(BinaryOp::Div, add(ir::Expr::Var(p), ir::Expr::Var(end)), int(2));
        let step = ir::Stmt::If {
            cond: before(mid),
            then: vec![assign(p, add(ir::Expr::Var(mid), int(1)))],
            otherwise: vec![assign(end, ir::Expr::Var(mid))],
        };
        vec![
            assign(end, behind),
            ir::Stmt::While {
                cond: lt(ir::Expr::Var(p), ir::Expr::Var(end)),
                body: vec![assign(mid, half), step],
            },
        ]
    }

    /// The variable `pA2` for the position of an access at a level.
    pub(in crate::lower) fn position_var(&mut self, access: &Access, level: usize) -> Var {
        let key = (access.tensor, access.indices.clone(), access.slices.clone(), level);
        if let Some(&known) = self.positions.get(&key) {
            return known;
        }
        let name = format!("p{}{}", self.program.tensors[access.tensor].name, level + 1);
        let var = self.temp(&name);
        self.positions.insert(key, var);
        var
    }

    /// A new index variable of the code.
    pub(in crate::lower) fn temp(&mut self, name: &str) -> Var {
        self.builder.var(name, ir::Type::INDEX)
    }

    pub(in crate::lower) fn name_of(&self, var: Var) -> String {
        self.builder.vars[var].name.clone()
    }
}

/// A level of a use of a tensor.
pub(in crate::lower) type Place = (TensorId, Vec<IndexVar>, BTreeMap<Mode, Slicing>, usize);

/// How an operand goes on at a coordinate.
struct Found {
    stmts: Vec<ir::Stmt>,
    reached: Reached,
    /// Whether the coordinate is there; `None` if it always is.
    found: Option<ir::Expr>,
}

/// Each access of a statement once, in order, but for those to what the statement itself computes
/// beforehand.
pub(in crate::lower) fn given(s: &Stmt) -> Vec<Access> {
    let mut own = vec![];
    produced(s, &mut own);
    let mut found = distinct(s);
    found.retain(|access| !own.contains(&access.tensor));
    found
}

/// The tensors that producers in a statement compute.
fn produced(s: &Stmt, into: &mut Vec<TensorId>) {
    match s {
        Stmt::Where { consumer, producer } => {
            into.push(written(producer));
            produced(producer, into);
            produced(consumer, into);
        }
        Stmt::Forall { body, .. } | Stmt::Within { body, .. } => produced(body, into),
        Stmt::Sequence(parts) => parts.iter().for_each(|part| produced(part, into)),
        Stmt::Assign { .. } => {}
    }
}

/// Each access of a statement once, in order.
pub(in crate::lower) fn distinct(s: &Stmt) -> Vec<Access> {
    let mut found: Vec<Access> = vec![];
    for access in s.reads() {
        if !found.contains(access) {
            found.push(access.clone());
        }
    }
    found
}
