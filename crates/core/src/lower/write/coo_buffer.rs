//! Staging: results that the loops do not write in order are listed, sorted, and then assembled.
//!
//! ```text
//! for j in ..  for i in ..   push (i, j, value)
//! sort by (i, j)
//! for each run of equal i    for each run of equal j    append the run's combined value
//! ```
//!
//! The list holds the coordinates of the levels that are out of order, counted from the least one;
//! the levels before are written in order by the outer loops, which sort and assemble the list at
//! their every coordinate.

use crate::format::LevelMap;
use crate::lower::builder::advance;
use crate::lower::scope::Scope;
use crate::lower::value::{Vals, Value};
use crate::lower::values::Values;
use crate::lower::{Code, Lowerer};
use crate::plan::{Node, Rest};
use tamis_ir::algebra::ReduceOp;
use tamis_ir::datatype::DataType;
use tamis_ir::ids::{Array, Var};
use tamis_ir::ir::build::{add, assign, int, store};
use tamis_ir::ir::{self, Expr, Role};

/// The arrays of the list.
#[derive(Clone)]
pub(in crate::lower) struct Stage {
    /// The first staged level.
    pub(in crate::lower) first: usize,
    /// Coordinates per staged level.
    pub(in crate::lower) crds: Vec<Array>,
    /// Values in the compute type.
    pub(in crate::lower) vals: Vals,
    /// How many entries there are.
    pub(in crate::lower) count: Var,
    /// How entries of the same coordinate are combined.
    pub(in crate::lower) op: Option<ReduceOp>,
}

impl Stage {
    /// The coordinates of a level.
    pub(in crate::lower) fn crd(&self, k: usize) -> Array {
        self.crds[k - self.first]
    }
}

impl Lowerer<'_> {
    /// The statement with its results gathered, below a position of the level before `first`.
    pub(in crate::lower) fn staged(
        &mut self,
        first: usize,
        parent: Expr,
        body: Option<&Node>,
        scope: Scope,
    ) -> Code {
        let Some(rest) = self.plan.output.rest() else { return Code::nothing() };
        match (rest, body) {
            (Rest::Accumulator, Some(body)) => self.with_workspace(first, parent, body, scope),
            (Rest::PositionAccumulator, Some(body)) => self.ranked(first, parent, body, scope),
            (Rest::CountThenFill, Some(body)) => self.counted(body, scope),
            (_, body) => self.listed_and_sorted(first, parent, body, scope),
        }
    }

    /// The same by a list.
    fn listed_and_sorted(
        &mut self,
        first: usize,
        parent: Expr,
        body: Option<&Node>,
        scope: Scope,
    ) -> Code {
        let body = match body {
            Some(body) => {
                self.stage(first);
                self.node(body, scope)
            }
            None => Code::nothing(),
        };
        if body.stmts.is_empty() && first > 0 {
            return Code::nothing();
        }
        if body.stmts.is_empty() {
            let widths = self.widths_of_nothing();
            return Code { stmts: [widths, self.open_root()].concat(), covers: false };
        }
        let stage = self.stage(first);
        let mut stmts = vec![assign(stage.count, int(0))];
        stmts.extend(body.stmts);
        stmts.push(self.sorted(&stage));
        stmts.extend(self.widths(&stage));
        if first == 0 {
            stmts.extend(self.open_root());
        }
        stmts.extend(self.unstage(&stage, first, parent, int(0), Expr::Var(stage.count)));
        Code { stmts, covers: false }
    }

    /// Sorts the list by its levels.
    pub(in crate::lower) fn sorted(&self, stage: &Stage) -> ir::Stmt {
        let carried = stage.vals.arrays();
        ir::Stmt::Sort { keys: stage.crds.clone(), carried, lo: int(0), hi: Expr::Var(stage.count) }
    }

    /// Adds an entry to the list.
    pub(in crate::lower) fn push(&mut self, value: Value, scope: &mut Scope) -> Vec<ir::Stmt> {
        let stage = self.writing.buffer.clone();
        let stage = stage.expect("the buffer is declared before its loops");
        let vars = self.cx.result_vars();
        let levels = self.cx.result().levels;
        let count = || Expr::Var(stage.count);
        let room = |array| ir::Stmt::Reserve { array, len: add(count(), int(1)) };
        let mut stmts: Vec<ir::Stmt> = stage.crds.iter().map(|&crd| room(crd)).collect();
        stmts.extend(stage.vals.reserve(&add(count(), int(1))));
        for k in stage.first..vars.len() {
            let coordinate = match scope.coordinate(&mut self.cx, vars[k], &mut stmts) {
                _ if self.cx.levels().is_slot(k) => int(0),
                Some(coordinate) => levels[k].from_least(Expr::Var(coordinate)),
                None => unreachable!("all modes of a result are bound"),
            };
            stmts.push(store(stage.crd(k), count(), coordinate));
        }
        stmts.extend(self.cx.kept_value(stage.vals, count(), value));
        stmts.push(advance(stage.count));
        stmts
    }

    /// The list's arrays, declared on first use.
    fn stage(&mut self, first: usize) -> Stage {
        if let Some(stage) = &self.writing.buffer {
            return stage.clone();
        }
        let result = &self.program.tensors[self.kernel.result];
        let (name, storage) = (result.name.clone(), result.storage.clone());
        let width = |k: usize| match storage.format.levels()[k].map {
            // A diagonal counted from the least one may be beyond both dimensions.
            LevelMap::Diff { .. } => DataType::I64,
            _ => storage.crd.datatype(),
        };
        let levels = storage.format.levels().len();
        let crds = (first..levels)
            .map(|k| self.cx.values.builder.local(&format!("{name}_stage{}_crd", k + 1), width(k)))
            .collect();
        let vals = self.listed_vals(&format!("{name}_stage_vals"));
        let count = self.cx.temp(&format!("{name}_stage_size"));
        let op = self.cx.planner().combining();
        let stage = Stage { first, crds, vals, count, op };
        self.writing.buffer = Some(stage.clone());
        stage
    }

    /// Arrays for values that wait to be written: of the compute type's own elements.
    pub(in crate::lower) fn listed_vals(&mut self, name: &str) -> Vals {
        self.cx.waiting_vals(name, Role::Local)
    }

    /// A buffer of which each row of the result has a slice.
    pub(in crate::lower) fn shared_vals(&mut self, name: &str) -> Vals {
        self.cx.waiting_vals(name, Role::Common)
    }
}

impl Values<'_> {
    fn waiting_vals(&mut self, name: &str, role: Role) -> Vals {
        let elem = self.facts.register().datatype();
        let re = self.builder.own(name, elem, role);
        match self.planner().holds_complex() {
            false => Vals::Real(re),
            true => Vals::Split(re, self.builder.own(&format!("{name}_im"), elem, role)),
        }
    }

    /// Puts a value of the compute type at a position of such arrays.
    pub(in crate::lower) fn kept_value(
        &mut self,
        vals: Vals,
        position: Expr,
        value: Value,
    ) -> Vec<ir::Stmt> {
        let mut stmts = vec![];
        let value = self.hold(value, &mut stmts);
        let zero = self.zero();
        stmts.extend(vals.store(&position, value, zero));
        stmts
    }
}
