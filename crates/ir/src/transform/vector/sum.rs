//! A sum with several accumulators, and the code for the remaining entries.

use crate::algebra::BinaryOp;
use crate::datatype::{DataType, Scalar};
use crate::ids::Var;
use crate::ir::build::{add, assign, binary, int, lt, mul, when};
use crate::ir::flow::replace;
use crate::ir::{Expr, Function, Stmt, Type};
use crate::transform::affine::{Scattered, exchange, shifted, widened};
use crate::transform::fresh;

/// The number of accumulators of a sum over scattered operands.
pub(super) const WAYS: i64 = 4;
/// Sums over scattered operands that are shorter than this have one accumulator.
const SHORT: i64 = 8;

/// A sum, minimum or maximum: its loop, its variable and the combined value.
#[derive(Clone)]
pub(in crate::transform) struct Sum {
    pub(in crate::transform) var: Var,
    pub(in crate::transform) lo: Expr,
    pub(in crate::transform) hi: Expr,
    pub(in crate::transform) total: Var,
    /// The operator that combines values with the total: `+`, min or max.
    pub(in crate::transform) op: BinaryOp,
    pub(in crate::transform) value: Expr,
    pub(in crate::transform) body: Vec<Stmt>,
    pub(in crate::transform) left: Left,
    pub(in crate::transform) held: Held,
}

/// How the remaining entries of a sum over several accumulators are added.
#[derive(Clone, PartialEq)]
pub(in crate::transform) enum Left {
    /// By a loop.
    Loop,
    /// Branchless, if computing a value takes no longer than a mispredicted branch.
    Selects,
    /// By the result of a probe of segments, at run time.
    Asked(Segments),
}

/// The results of probes of a stream's segments, with code for short ones.
#[derive(Clone, PartialEq)]
pub(in crate::transform) struct Segments {
    /// Most segments are as long as their neighbours, so branches are predicted.
    pub(in crate::transform) even: Expr,
    /// Where this condition holds, a short segment is summed by this code.
    pub(in crate::transform) few: (Expr, Vec<Stmt>),
}

/// How the accumulators of a sum over scattered operands are held.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::transform) enum Held {
    /// In separate variables.
    Scalars,
    /// In the lanes of one vector, if the operands can be: the same bits with fewer instructions.
    Lanes(Names),
}

/// Whether coordinates are loaded into variables before they are used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::transform) enum Names {
    /// All of them before the values, so that two adjacent ones are loaded by one instruction.
    Before,
    /// None: our own code generator has too few registers for that.
    None,
}

impl Sum {
    pub(in crate::transform) fn over_scalars(self, function: &mut Function) -> Vec<Stmt> {
        let value = self.value.clone();
        self.unrolled(function, (None, value), WAYS, 1)
    }

    /// The value in several iterations. Coordinates of 32 bits are loaded into variables first, so that two adjacent
    /// ones are loaded by one instruction.
    pub(in crate::transform) fn named(
        &self,
        function: &mut Function,
        value: Expr,
        (iterations, lanes): (i64, i64),
        names: &mut Vec<Stmt>,
    ) -> Vec<Expr> {
        let mut values: Vec<Expr> =
            (0..iterations).map(|k| shifted(value.clone(), self.var, k * lanes)).collect();
        for s in &self.body {
            let Stmt::Assign { var, value: coordinate @ Expr::Load { array, index, lanes: 1 } } = s
            else {
                continue;
            };
            let words = matches!(function.arrays[*array].elem, DataType::I32 | DataType::U32);
            if lanes > 1
                || self.held == Held::Lanes(Names::None)
                || !words
                || **index != Expr::Var(self.var)
            {
                continue;
            }
            let name = function.vars[*var].name.clone();
            for (k, value) in values.iter_mut().enumerate() {
                let at = shifted(coordinate.clone(), self.var, k as i64 * lanes);
                let name = fresh(function, &name, Type::INDEX);
                *value = exchange(value.clone(), &at, &Expr::Var(name));
                names.push(assign(name, at));
            }
        }
        values
    }

    /// Variables for the bounds, and the statements that compute them.
    pub(in crate::transform) fn bounds(&self, function: &mut Function) -> (Var, Var, Vec<Stmt>) {
        if let (Expr::Var(begin), Expr::Var(end)) = (&self.lo, &self.hi) {
            return (*begin, *end, vec![]);
        }
        let name = function.vars[self.var].name.clone();
        let [begin, end] =
            ["begin", "hi"].map(|suffix| fresh(function, &format!("{name}_{suffix}"), Type::INDEX));
        (begin, end, vec![assign(begin, self.lo.clone()), assign(end, self.hi.clone())])
    }

    /// Whether computing a value takes no longer than a mispredicted branch.
    fn is_cheap(&self) -> bool {
        let mut is_cheap = true;
        self.value.walk(&mut |e| {
            is_cheap &= match e {
                Expr::Load { lanes, .. } => *lanes == 1,
                Expr::Var(_) | Expr::Const(_) | Expr::Convert(..) | Expr::Fma(..) => true,
                Expr::Binary(op, ..) => {
                    matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul)
                }
                _ => false,
            };
        });
        is_cheap
    }

    /// Adds the first entries of a short sum, given their coordinates and values.
    fn one_by_one(&self, names: &[Stmt], values: &[Expr], (begin, mid): (Var, Var)) -> Vec<Stmt> {
        let totals = values.iter().map(|value| assign(self.total, value.clone()));
        let at = |e: Expr| replace(e, self.var, &Expr::Var(begin));
        let entries = names.iter().cloned().chain(totals);
        let entries = entries.map(|s| s.map_children(&mut { at }, &mut |b| b));
        let next = assign(mid, add(Expr::Var(begin), int(values.len() as i64)));
        entries.chain([next]).collect()
    }

    /// Adds the last entries of a long sum, from `mid` on; there are fewer than `ways`. Loads beyond the end repeat
    /// the last entry.
    fn left(&self, function: &mut Function, (mid, end): (Var, Var), ways: i64) -> Vec<Stmt> {
        let name = function.vars[self.var].name.clone();
        let last = binary(BinaryOp::Sub, Expr::Var(end), int(1));
        let mut stmts = vec![];
        for k in 0..ways - 1 {
            let at = fresh(function, &format!("{name}_left"), Type::INDEX);
            let wanted = add(Expr::Var(mid), int(k));
            stmts.push(assign(at, binary(BinaryOp::Min, wanted.clone(), last.clone())));
            let value = Box::new(replace(self.value.clone(), self.var, &Expr::Var(at)));
            let total = Box::new(Expr::Var(self.total));
            let is_there = Box::new(lt(wanted, Expr::Var(end)));
            stmts.push(assign(self.total, Expr::Select(is_there, value, total)));
        }
        stmts
    }

    /// The value of several iterations in lanes, if that is requested and possible.
    fn in_lanes(&self, function: &Function, ways: i64) -> Option<Expr> {
        let is_wanted = matches!(self.held, Held::Lanes(_));
        let gathered = || widened_sum(function, (self, Scattered::Gathered), ways as u16);
        is_wanted.then(gathered).flatten()
    }

    /// The initial value of accumulators; for a minimum or maximum, the total itself.
    fn start(&self, ty: Type) -> Expr {
        let start = match self.op {
            BinaryOp::Add => Expr::Const(Scalar::I64(0).convert(ty.register)),
            _ => Expr::Var(self.total),
        };
        if ty.lanes > 1 { splat(start, ty.lanes) } else { start }
    }

    /// Whether the code tests if a loop fills vectors. Loops that begin at a constant have about the same length in most
    /// runs, and an empty sum is cheap.
    fn may_be_short(&self) -> bool {
        !matches!(self.lo, Expr::Const(_)) || self.op != BinaryOp::Add
    }

    /// The loop with `ways` accumulators of `lanes` lanes, and the remaining entries.
    pub(super) fn unrolled(
        self,
        function: &mut Function,
        (factor, value): (Option<Expr>, Expr),
        ways: i64,
        lanes: i64,
    ) -> Vec<Stmt> {
        let gathered = if lanes == 1 { self.in_lanes(function, ways) } else { None };
        let (accumulators, wide) = if gathered.is_some() { (1, ways) } else { (ways, lanes) };
        let ty = Type { lanes: wide as u16, ..function.vars[self.total].ty };
        let start = self.start(ty);
        let [base, name] = [self.total, self.var].map(|v| function.vars[v].name.clone());
        let parts: Vec<Var> =
            (0..accumulators).map(|k| fresh(function, &format!("{base}{k}"), ty)).collect();
        let (begin, end, bounds) = self.bounds(function);
        let mid = fresh(function, &format!("{name}_mid"), Type::INDEX);
        let stride = ways * lanes;
        let count = binary(BinaryOp::Sub, Expr::Var(end), Expr::Var(begin));
        let whole = mul(binary(BinaryOp::Div, count, int(stride)), int(stride));
        let mut stmts = vec![assign(mid, add(Expr::Var(begin), whole))];
        stmts.extend(parts.iter().map(|&part| assign(part, start.clone())));
        let mut names = vec![];
        let values = self.named(function, value, (ways, lanes), &mut names);
        let one_by_one = self.one_by_one(&names, &values, (begin, mid));
        let (mut body, values) = match gathered {
            Some(value) => (vec![], vec![value]),
            None => (names, values),
        };
        let one = |part, value| assign(part, replace(value, self.total, &Expr::Var(part)));
        body.extend(parts.iter().zip(values).map(|(&part, value)| one(part, value)));
        let (lo, hi) = (Expr::Var(begin), Expr::Var(mid));
        stmts.push(Stmt::For { var: self.var, lo, hi, step: stride, body });
        let joined = halves_combined(self.op, parts);
        let joined = if ty.lanes > 1 { Expr::Reduce(self.op, Box::new(joined)) } else { joined };
        let are_some =
            (lanes > 1 && !self.may_be_short()).then(|| lt(Expr::Var(begin), Expr::Var(mid)));
        let total = with_terms((self.op, Expr::Var(self.total)), factor, joined, are_some);
        stmts.push(assign(self.total, total));
        let ended = self.ended(function, (begin, mid, end), (stmts, one_by_one), (ways, lanes));
        [bounds, ended].concat()
    }

    /// A long sum from `begin` to `mid`, the remaining entries up to `end`, and the code for a short sum instead.
    fn ended(
        self,
        function: &mut Function,
        (begin, mid, end): (Var, Var, Var),
        (mut stmts, one_by_one): (Vec<Stmt>, Vec<Stmt>),
        (ways, lanes): (i64, i64),
    ) -> Vec<Stmt> {
        let count = binary(BinaryOp::Sub, Expr::Var(end), Expr::Var(begin));
        let may_be_short = self.may_be_short();
        let (lo, hi) = (Expr::Var(mid), Expr::Var(end));
        let are_chosen = lanes == 1 && self.left != Left::Loop && self.is_cheap();
        let chosen = if are_chosen { self.left(function, (mid, end), ways) } else { vec![] };
        let mut rest = vec![Stmt::For { var: self.var, lo, hi, step: 1, body: self.body }];
        let asked = match self.left {
            Left::Asked(Segments { even, few }) if are_chosen => {
                stmts.push(Stmt::If { cond: even, then: rest.clone(), otherwise: chosen });
                Some(few)
            }
            _ => {
                stmts.extend(chosen);
                None
            }
        };
        if lanes > 1 && may_be_short {
            // A sum that is too short for vectors should not wait for their lanes.
            let cond = binary(BinaryOp::Ge, count, int(ways * lanes));
            let otherwise = vec![assign(mid, Expr::Var(begin))];
            stmts = vec![Stmt::If { cond, then: stmts, otherwise }];
        } else if lanes == 1 {
            let all = lt(add(Expr::Var(begin), int(ways - 1)), Expr::Var(end));
            let mut otherwise = vec![assign(mid, Expr::Var(begin)), when(all, one_by_one)];
            if are_chosen {
                otherwise.append(&mut rest);
            }
            if let Some((cond, then)) = asked {
                otherwise = vec![Stmt::If { cond, then, otherwise }];
            }
            let is_long = binary(BinaryOp::Ge, count, int(SHORT));
            stmts = vec![Stmt::If { cond: is_long, then: stmts, otherwise }];
        }
        [stmts, rest].concat()
    }
}

/// The value with the total as a vector.
pub(super) fn widened_sum(
    function: &Function,
    (sum, scattered): (&Sum, Scattered),
    lanes: u16,
) -> Option<Expr> {
    let wide = |e: &Expr| widened(function, e, (sum.var, lanes), scattered).map(Box::new);
    let total = Box::new(Expr::Var(sum.total));
    match &sum.value {
        Expr::Fma(a, b, _) => Some(Expr::Fma(wide(a)?, wide(b)?, total)),
        Expr::Binary(op, _, b) => Some(Expr::Binary(*op, total, wide(b)?)),
        _ => None,
    }
}

/// The total combined with a sum of terms times their common factor, or with their minimum or maximum. If there may be
/// no terms, the total then stays as it is, whatever the factor is.
fn with_terms(
    (op, total): (BinaryOp, Expr),
    factor: Option<Expr>,
    terms: Expr,
    are_some: Option<Expr>,
) -> Expr {
    let Some(factor) = factor else { return binary(op, total, terms) };
    let scaled = Expr::Fma(Box::new(factor), Box::new(terms), Box::new(total.clone()));
    match are_some {
        Some(are_some) => Expr::Select(Box::new(are_some), Box::new(scaled), Box::new(total)),
        None => scaled,
    }
}

fn splat(e: Expr, lanes: u16) -> Expr {
    Expr::Splat(Box::new(e), lanes)
}

/// Combines variables, halves first.
fn halves_combined(op: BinaryOp, parts: Vec<Var>) -> Expr {
    let mut joined: Vec<Expr> = parts.into_iter().map(Expr::Var).collect();
    while joined.len() > 1 {
        let high = joined.split_off(joined.len() / 2);
        let pairs = joined.into_iter().zip(high);
        joined = pairs.map(|(a, b)| binary(op, a, b)).collect();
    }
    joined.swap_remove(0)
}
