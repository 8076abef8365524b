//! Coordinate buffers: results that loops do not write in order are listed, sorted and then assembled.
//!
//! ```text
//! for j in ..  for i in ..   push (i, j, value)
//! sort by (i, j)
//! for each run of equal i    for each run of equal j    append the run's combined value
//! ```
//!
//! The buffer holds the coordinates of the levels that are out of order, counted from the lowest one. Outer loops
//! write the levels above in order, and sort and assemble the buffer at each of their coordinates.

use crate::format::LevelMap;
use crate::lower::builder::advance;
use crate::lower::scope::Scope;
use crate::lower::symbols::Symbols;
use crate::lower::value::{Vals, Value};
use crate::lower::values::Values;
use tamis_ir::algebra::ReduceOp;
use tamis_ir::datatype::DataType;
use tamis_ir::ids::{Array, Var};
use tamis_ir::ir::build::{add, int, store};
use tamis_ir::ir::{self, ArrayRole, Expr};

/// The arrays of the buffer.
#[derive(Clone)]
pub(in crate::lower) struct CooBuffer {
    /// The first level in the buffer.
    pub(in crate::lower) first: usize,
    /// The coordinates of each level in the buffer.
    pub(in crate::lower) crds: Vec<Array>,
    /// The values, in the compute type.
    pub(in crate::lower) vals: Vals,
    /// The number of entries.
    pub(in crate::lower) count: Var,
    /// How duplicates are combined.
    pub(in crate::lower) op: Option<ReduceOp>,
}

impl CooBuffer {
    /// The coordinates of a level.
    pub(in crate::lower) fn crd(&self, k: usize) -> Array {
        self.crds[k - self.first]
    }
}

impl CooBuffer {
    /// Declares the arrays of a buffer.
    pub(in crate::lower) fn declared(cx: &mut Symbols<'_>, first: usize) -> CooBuffer {
        let result = &cx.program.tensors[cx.kernel.result];
        let (name, storage) = (result.name.clone(), result.storage.clone());
        let width = |k: usize| match storage.format.levels()[k].map {
            // A diagonal counted from the lowest one may exceed both dimensions.
            LevelMap::Diff { .. } => DataType::I64,
            _ => storage.crd.datatype(),
        };
        let levels = first..storage.format.levels().len();
        let crds = levels.map(|k| cx.local(&format!("{name}_stage{}_crd", k + 1), width(k)));
        let crds = crds.collect();
        let vals = cx.waiting_vals(&format!("{name}_stage_vals"), ArrayRole::Local);
        let count = cx.temp(&format!("{name}_stage_size"));
        let op = cx.planner().combining();
        CooBuffer { first, crds, vals, count, op }
    }

    /// Sorts the buffer by its levels.
    pub(in crate::lower) fn sorted(&self) -> ir::Stmt {
        let carried = self.vals.arrays();
        ir::Stmt::Sort { keys: self.crds.clone(), carried, lo: int(0), hi: Expr::Var(self.count) }
    }

    /// Adds an entry to the buffer.
    pub(in crate::lower) fn push(
        &self,
        cx: &mut Symbols<'_>,
        value: Value,
        scope: &mut Scope,
    ) -> Vec<ir::Stmt> {
        let vars = cx.result_vars();
        let levels = cx.result().levels;
        let count = || Expr::Var(self.count);
        let room = |array| ir::Stmt::Reserve { array, len: add(count(), int(1)) };
        let mut stmts: Vec<ir::Stmt> = self.crds.iter().map(|&crd| room(crd)).collect();
        stmts.extend(self.vals.reserve(&add(count(), int(1))));
        for k in self.first..vars.len() {
            let coordinate = match scope.coordinate(cx, vars[k], &mut stmts) {
                _ if cx.levels().is_slot(k) => int(0),
                Some(coordinate) => levels[k].from_least(Expr::Var(coordinate)),
                None => unreachable!("all modes of a result are bound"),
            };
            stmts.push(store(self.crd(k), count(), coordinate));
        }
        stmts.extend(cx.kept_value(self.vals, count(), value));
        stmts.push(advance(self.count));
        stmts
    }
}

impl Values<'_> {
    /// Arrays for values in the compute type that are written later.
    pub(in crate::lower) fn waiting_vals(&mut self, name: &str, role: ArrayRole) -> Vals {
        let elem = self.facts.register().datatype();
        let re = self.builder.own(name, elem, role);
        match self.planner().holds_complex() {
            false => Vals::Real(re),
            true => Vals::Split(re, self.builder.own(&format!("{name}_im"), elem, role)),
        }
    }

    /// Stores a value of the compute type at a position of such arrays.
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
