//! Staging: results that the loops do not write in order are listed, sorted, and then appended.
//!
//! ```text
//! for j in ..  for i in ..   push (i, j, value)
//! sort by (i, j)
//! for each run of equal i    for each run of equal j    append the run's combined value
//! ```
//!
//! The list holds the coordinates of the levels that are out of order; the levels before are
//! written in order by the outer loops, which sort and append the list at their every coordinate.

use super::result::{Assembly, Plan, Rest};
use super::{Code, Lowerer, Scope};
use crate::algebra::ReduceOp;
use crate::cin::Stmt;
use crate::datatype::{DataType, Register};
use crate::ids::{Array, Var};
use crate::ir::build::{add, all, assign, eq, int, load, lt, store};
use crate::ir::{self, Expr};

/// The arrays of the list.
#[derive(Clone)]
pub(super) struct Stage {
    /// The first staged level.
    first: usize,
    /// Coordinates per staged level.
    crds: Vec<Array>,
    /// Values in the compute type.
    vals: Array,
    /// How many entries there are.
    count: Var,
    /// How entries of the same coordinate are combined.
    op: Option<ReduceOp>,
}

impl Lowerer<'_> {
    /// The statement with its results staged, below a position of the level before `first`.
    pub(super) fn staged(&mut self, first: usize, parent: Expr, body: &Stmt, scope: Scope) -> Code {
        let stage = self.stage(first);
        let body = self.resolved(body, scope);
        if body.stmts.is_empty() {
            return Code::nothing();
        }
        let mut stmts = vec![assign(stage.count, int(0))];
        stmts.extend(body.stmts);
        stmts.push(ir::Stmt::Sort {
            keys: stage.crds.clone(),
            carried: vec![stage.vals],
            lo: int(0),
            hi: Expr::Var(stage.count),
        });
        stmts.extend(self.unstage(&stage, first, parent, int(0), Expr::Var(stage.count)));
        Code { stmts, covers: false }
    }

    /// Adds an entry to the list.
    pub(super) fn push(&mut self, stage: &Stage, value: Expr, scope: &Scope) -> Vec<ir::Stmt> {
        let vars = self.level_vars(self.kernel.result);
        let count = || Expr::Var(stage.count);
        let room = |array| ir::Stmt::Reserve { array, len: add(count(), int(1)) };
        let mut stmts: Vec<ir::Stmt> = stage.crds.iter().map(|&crd| room(crd)).collect();
        stmts.push(room(stage.vals));
        for (k, &crd) in stage.crds.iter().enumerate() {
            let coordinate = Expr::Var(scope.bound[&vars[stage.first + k]]);
            stmts.push(store(crd, count(), coordinate));
        }
        stmts.push(store(stage.vals, count(), value));
        stmts.push(self.advance(stage.count));
        stmts
    }

    /// The list's arrays, declared on first use.
    fn stage(&mut self, first: usize) -> Stage {
        if let Plan::Assemble(Assembly { rest: Rest::Staged(Some(stage)), .. }) = &self.plan {
            return stage.clone();
        }
        let result = &self.program.tensors[self.kernel.result];
        let (name, storage) = (result.name.clone(), result.storage.clone());
        let levels = storage.format.levels().len();
        let width = storage.crd.datatype();
        let crds = (first..levels)
            .map(|k| self.builder.local(&format!("{name}_stage{}_crd", k + 1), width))
            .collect();
        let elem = match self.facts.register {
            Register::F32 => DataType::F32,
            Register::F64 => DataType::F64,
            Register::Bool | Register::I64 => DataType::I64,
        };
        let vals = self.builder.local(&format!("{name}_stage_vals"), elem);
        let count = self.temp(&format!("{name}_stage_size"));
        let mut op = None;
        self.kernel.body.for_each_assign(&mut |lhs, combined, _| {
            if lhs.tensor == self.kernel.result {
                op = combined;
            }
        });
        let stage = Stage { first, crds, vals, count, op };
        if let Plan::Assemble(Assembly { rest: Rest::Staged(place), .. }) = &mut self.plan {
            *place = Some(stage.clone());
        }
        stage
    }

    /// Appends the entries `lo..hi`, which agree in the levels before `k`, below a position.
    fn unstage(
        &mut self,
        stage: &Stage,
        k: usize,
        parent: Expr,
        lo: Expr,
        hi: Expr,
    ) -> Vec<ir::Stmt> {
        let result = self.kernel.result;
        let level = self.arrays(result).levels[k];
        let kind = self.program.storage(result).format.levels()[k].kind;
        let crd = stage.crds[k - stage.first];
        let (q, end, coordinate) =
            (self.temp("q"), self.temp(&format!("q{}_end", k + 1)), self.temp("c"));
        let at = |p: Expr| load(crd, p);
        let same =
            all([lt(Expr::Var(end), hi.clone()), eq(at(Expr::Var(end)), Expr::Var(coordinate))]);
        let mut body = vec![
            assign(coordinate, at(Expr::Var(q))),
            assign(end, add(Expr::Var(q), int(1))),
            ir::Stmt::While { cond: same, body: vec![self.advance(end)] },
        ];
        let located = kind.locate(&level, parent.clone(), Expr::Var(coordinate));
        let appended = located.is_none();
        let position = match located {
            Some(position) => {
                let p = self.temp("p");
                body.push(assign(p, position));
                Expr::Var(p)
            }
            None => {
                let next = Expr::Var(self.next(k));
                body.extend(self.open(k, next.clone()));
                next
            }
        };
        if k + 1 < self.program.storage(result).format.levels().len() {
            body.extend(self.unstage(stage, k + 1, position, Expr::Var(q), Expr::Var(end)));
        } else {
            body.extend(self.run(stage, position, Expr::Var(q), Expr::Var(end)));
        }
        if appended {
            body.extend(self.keep(k, Expr::Var(coordinate)));
        }
        body.push(assign(q, Expr::Var(end)));
        let mut stmts = vec![assign(q, lo), ir::Stmt::While { cond: lt(Expr::Var(q), hi), body }];
        stmts.extend(self.edges_at(k, parent));
        stmts
    }

    /// Combines the values of one run of equal coordinates and stores the result.
    fn run(&mut self, stage: &Stage, position: Expr, lo: Expr, hi: Expr) -> Vec<ir::Stmt> {
        let Some(op) = stage.op else {
            let value = self.loaded(stage.vals, lo);
            return self.write(position, None, value);
        };
        let total = self.builder.var("total", ir::Type::scalar(self.facts.register));
        let r = self.temp("r");
        let mut step = vec![];
        let next = self.loaded(stage.vals, Expr::Var(r));
        let value = self.combined(op, Expr::Var(total), next, &mut step);
        step.push(assign(total, value));
        let mut stmts = vec![
            assign(total, self.loaded(stage.vals, lo.clone())),
            ir::Stmt::For { var: r, lo: add(lo, int(1)), hi, step: 1, body: step },
        ];
        stmts.extend(self.write(position, None, Expr::Var(total)));
        stmts
    }
}
