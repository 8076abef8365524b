//! Coordinates of sliced modes, from values of index variables and back.
//!
//! ```text
//! A(i[2:8])             coordinate = i + 2           i = coordinate - 2
//! A(i[1:9:3])           coordinate = i * 3 + 1       i = (coordinate - 1) / 3   if it divides
//! A(i[{1,2,7}])         coordinate = i < 2 ? i + 1 : i + 5
//! ```
//!
//! A loop over such a level starts and ends at the slice's first and last coordinate, which are searched, or skips
//! coordinates outside of the slice.

use crate::cin::WalkOrder;
use crate::format::LevelMap;
use crate::lower::Scope;
use crate::lower::symbols::Symbols;
use crate::notation::{Access, Slice, Slicing, Within};
use tamis_ir::algebra::BinaryOp;
use tamis_ir::datatype::Scalar;
use tamis_ir::ids::{Id, IndexVar};
use tamis_ir::ir::Expr;
use tamis_ir::ir::build::{add, all, binary, div, eq, int, lt, mul, sub};

/// The largest dimension: a slice with this step, or a larger one, has at most one coordinate.
const FARTHEST: i64 = (1 << 62) - 1;

/// A slice in code.
#[derive(Clone)]
pub(in crate::lower) enum View {
    /// `first + step * k` for `k < count`.
    Steps {
        first: Expr,
        step: i64,
        count: Expr,
        /// Whether it extends to the end of the mode.
        to_end: bool,
    },
    /// Runs of consecutive coordinates.
    Runs(Vec<Run>),
}

/// Consecutive coordinates of a set.
#[derive(Clone)]
pub(in crate::lower) struct Run {
    first: i64,
    last: i64,
    /// The value of the variable at the run's first coordinate.
    index: i64,
}

/// The relation between a level's coordinates and the values of its index variable.
#[derive(Clone)]
pub(in crate::lower) enum Sliced {
    /// They are equal.
    Whole,
    /// The variable counts coordinates of the level; `checked` if a walk may reach coordinates outside of the slice.
    Taken { view: View, checked: bool },
    /// The level counts values of the variable.
    Placed(View),
}

impl View {
    /// The coordinate at a value of the variable.
    pub(in crate::lower) fn coordinate(&self, k: Expr) -> Expr {
        match self {
            View::Steps { first, step: 1, .. } => add(k, first.clone()),
            View::Steps { first, step: -1, .. } => sub(first.clone(), k),
            View::Steps { first, step, .. } => add(mul(k, int(*step)), first.clone()),
            View::Runs(runs) => {
                pick(runs, &k, &|run| run.index, &|run| add(k.clone(), int(run.first - run.index)))
            }
        }
    }

    /// The value of the variable at a coordinate, if the slice contains that.
    pub(in crate::lower) fn index(&self, c: Expr) -> Expr {
        match self {
            View::Steps { step, .. } => {
                div(self.distance(c), int(step.checked_abs().unwrap_or(i64::MAX)))
            }
            View::Runs(runs) => {
                pick(runs, &c, &|run| run.first, &|run| sub(c.clone(), int(run.first - run.index)))
            }
        }
    }

    /// The number of the slice's coordinates below `c`, for ascending slices.
    fn rank(&self, c: Expr) -> Expr {
        let from_zero = |e: Expr| binary(BinaryOp::Max, e, int(0));
        match self {
            View::Steps { step, .. } => {
                let up = step.checked_sub(1).unwrap_or(i64::MAX);
                div(add(from_zero(self.distance(c)), int(up)), int(*step))
            }
            View::Runs(runs) => pick(runs, &c, &|run| run.first, &|run| {
                let within = binary(BinaryOp::Min, c.clone(), int(run.last + 1));
                from_zero(sub(within, int(run.first - run.index)))
            }),
        }
    }

    /// The conditions for a coordinate to be in the slice.
    pub(in crate::lower) fn names(&self, c: &Expr) -> Vec<Expr> {
        match self {
            View::Steps { first, step, count, to_end } => {
                let size = int(step.checked_abs().unwrap_or(i64::MAX));
                let distance = self.distance(c.clone());
                let mut conditions = vec![];
                if *step < 0 || *first != int(0) {
                    conditions.push(binary(BinaryOp::Ge, distance.clone(), int(0)));
                }
                if *step < 0 || !to_end {
                    let within = lt(div(distance.clone(), size.clone()), count.clone());
                    conditions.push(within);
                }
                if size != int(1) {
                    conditions.push(eq(binary(BinaryOp::Mod, distance, size), int(0)));
                }
                conditions
            }
            View::Runs(runs) => {
                let last = pick(runs, c, &|run| run.first, &|run| int(run.last));
                let from = binary(BinaryOp::Ge, c.clone(), int(runs[0].first));
                vec![from, binary(BinaryOp::Le, c.clone(), last)]
            }
        }
    }

    /// The distance of a coordinate from the first one, in the slice's direction.
    fn distance(&self, c: Expr) -> Expr {
        match self {
            View::Steps { first, step, .. } if *step < 0 => sub(first.clone(), c),
            View::Steps { first, .. } => sub(c, first.clone()),
            View::Runs(_) => c,
        }
    }
}

/// The value of the run that contains `at`: the last run whose `start` is not beyond it.
fn pick(
    runs: &[Run],
    at: &Expr,
    start: &dyn Fn(&Run) -> i64,
    value: &dyn Fn(&Run) -> Expr,
) -> Expr {
    if let [only] = runs {
        return value(only);
    }
    let (lower, upper) = runs.split_at(runs.len() / 2);
    let below = lt(at.clone(), int(start(&upper[0])));
    let (lower, upper) = (pick(lower, at, start, value), pick(upper, at, start, value));
    Expr::Select(Box::new(below), Box::new(lower), Box::new(upper))
}

impl Sliced {
    /// The value of the index variable at a coordinate of the level.
    pub(in crate::lower) fn index(&self, c: Expr) -> Expr {
        match self {
            Sliced::Whole => c,
            Sliced::Taken { view, .. } => view.index(c),
            Sliced::Placed(view) => view.coordinate(c),
        }
    }

    /// The first coordinate of the level at a value of the index variable or behind it, for ascending slices.
    pub(in crate::lower) fn first_from(&self, k: Expr) -> Expr {
        match self {
            Sliced::Whole => k,
            Sliced::Taken { view, .. } => view.coordinate(k),
            Sliced::Placed(view) => view.rank(k),
        }
    }

    /// The conditions for a coordinate that a walk reaches to be in the slice.
    pub(in crate::lower) fn met(&self, c: &Expr) -> Vec<Expr> {
        match self {
            Sliced::Taken { view, checked: true } => view.names(c),
            _ => vec![],
        }
    }

    /// The coordinate of the level at a value of the index variable, and the conditions that there is one.
    pub(in crate::lower) fn coordinate(&self, k: Expr) -> (Expr, Vec<Expr>) {
        match self {
            Sliced::Whole => (k, vec![]),
            Sliced::Taken { view, .. } => (view.coordinate(k), vec![]),
            Sliced::Placed(view) => (view.index(k.clone()), view.names(&k)),
        }
    }
}

impl Symbols<'_> {
    /// How a level of an operand is sliced.
    pub(in crate::lower) fn sliced(&mut self, access: &Access, level: usize) -> Sliced {
        let Some(slicing) = self.program.slicing(access, level) else { return Sliced::Whole };
        let format = &self.program.storage(access.tensor).format;
        let LevelMap::Mode(mode) = format.levels()[level].map else { return Sliced::Whole };
        let own = self.program.tensors[access.tensor].modes[mode.index()];
        let var = access.indices[mode.index()];
        match slicing {
            Slicing::Taken(slice) => {
                let checked = self.program.walk(access, level) != WalkOrder::Between;
                Sliced::Taken { view: self.view(slice, var, own), checked }
            }
            Slicing::Placed(slice) => Sliced::Placed(self.view(slice, own, var)),
        }
    }

    /// The code of a slice, counted by one variable, of another variable's coordinates.
    fn view(&mut self, slice: &Slice, counter: IndexVar, of: IndexVar) -> View {
        match slice {
            Slice::Range { start, end, step } => {
                let (step, to_end) = ((*step).clamp(-FARTHEST, FARTHEST), end.is_none());
                let start = start.map(|s| int(i64::try_from(s).unwrap_or(i64::MAX)));
                let count = self.size(counter, &Scope::default());
                if step > 0 {
                    return View::Steps { first: start.unwrap_or(int(0)), step, count, to_end };
                }
                let last = sub(self.size(of, &Scope::default()), int(1));
                let first = match start {
                    Some(start) => binary(BinaryOp::Min, start, last),
                    None => last,
                };
                View::Steps { first, step, count, to_end }
            }
            Slice::Set(members) => {
                let mut runs: Vec<Run> = vec![];
                for (k, &member) in members.iter().enumerate() {
                    let c = member as i64;
                    match runs.last_mut() {
                        Some(run) if run.last + 1 == c => run.last = c,
                        _ => runs.push(Run { first: c, last: c, index: k as i64 }),
                    }
                }
                View::Runs(runs)
            }
        }
    }

    /// Whether slices contain the values of variables.
    pub(in crate::lower) fn is_within(&mut self, within: &[Within], scope: &Scope) -> Expr {
        let mut conditions = vec![];
        for Within { var, counter, slice } in within {
            let view = self.view(slice, *counter, *var);
            conditions.extend(view.names(&Expr::Var(scope.bound[var])));
        }
        match conditions.is_empty() {
            true => Expr::Const(Scalar::Bool(true)),
            false => all(conditions),
        }
    }
}
