//! Facts about expressions: which memory they read, and how their values change with a variable.

use crate::algebra::{BinaryOp, UnaryOp};
use crate::datatype::Scalar;
use crate::ids::{Array, Var};
use crate::ir::build::{add, int};
use crate::ir::flow::{exposes, mentions, replace};
use crate::ir::{ArrayRole, Expr, Function, Stmt};
use std::collections::{BTreeMap, BTreeSet};

/// Whether an expression depends on what is in memory.
pub(super) fn loads(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e, Expr::Load { .. } | Expr::Len(_)));
    found
}

/// Whether an expression reads an array.
pub(super) fn reads(e: &Expr, array: Array) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e, Expr::Load { array: a, .. } if *a == array));
    found
}

/// An expression with a part replaced.
pub(super) fn exchange(e: Expr, part: &Expr, by: &Expr) -> Expr {
    if e == *part {
        return by.clone();
    }
    e.map_children(&mut |child| exchange(child, part, by))
}

/// An expression with the variable increased by `by`. In indices, the constant is added last, where it becomes part of
/// an address.
pub(super) fn shifted(e: Expr, var: Var, by: i64) -> Expr {
    match e {
        e if by == 0 || !mentions(&e, var) => e,
        Expr::Load { array, index, lanes } if beside(&index, var).is_some() => {
            Expr::Load { array, index: Box::new(add(*index, int(by))), lanes }
        }
        Expr::Var(v) => add(Expr::Var(v), int(by)),
        _ => e.map_children(&mut |child| shifted(child, var, by)),
    }
}

/// The largest trip count of a loop from `lo` to `hi`, if constants bound it.
pub(super) fn most_iterations(lo: &Expr, hi: &Expr) -> Option<i64> {
    let constant = |e: &Expr| match e {
        Expr::Const(Scalar::I64(c)) => Some(*c),
        _ => None,
    };
    let end = match hi {
        Expr::Binary(BinaryOp::Min, a, b) => constant(a).or(constant(b)),
        hi => constant(hi),
    };
    Some(end?.saturating_sub(constant(lo)?))
}

/// `rest`, if an expression is `rest + var`.
pub(super) fn beside(e: &Expr, var: Var) -> Option<Expr> {
    match e {
        Expr::Var(v) if *v == var => Some(int(0)),
        Expr::Binary(BinaryOp::Add, a, b) if !mentions(b, var) => {
            Some(add(beside(a, var)?, (**b).clone()))
        }
        Expr::Binary(BinaryOp::Add, a, b) if !mentions(a, var) => {
            Some(add((**a).clone(), beside(b, var)?))
        }
        _ => None,
    }
}

/// Splits an index into a rest and an added constant.
pub(super) fn beside_constant(e: &Expr) -> (Expr, i64) {
    match e {
        Expr::Const(Scalar::I64(c)) => (int(0), *c),
        Expr::Binary(BinaryOp::Add, a, b) => match (&**a, &**b) {
            (a, Expr::Const(Scalar::I64(c))) => {
                let (rest, more) = beside_constant(a);
                (rest, more.wrapping_add(*c))
            }
            _ => (e.clone(), 0),
        },
        e => (e.clone(), 0),
    }
}

/// Whether a block reads a value that a variable in `changed` had before the block: then it cannot run twice. `known`
/// are the variables assigned so far.
pub(super) fn is_carried_in(block: &[Stmt], changed: &[Var], known: &[Var]) -> bool {
    let mut open: BTreeSet<Var> = changed.iter().copied().collect();
    known.iter().for_each(|v| {
        open.remove(v);
    });
    reads_open(block, &mut open)
}

/// Whether a block reads one of these variables before it assigns the variable; `open` is restored.
fn reads_open(block: &[Stmt], open: &mut BTreeSet<Var>) -> bool {
    let mut assigned = vec![];
    let found = block.iter().any(|s| {
        if s.exprs().any(|e| reads_any(e, open)) {
            return true;
        }
        let bound = match s {
            Stmt::For { var, .. } | Stmt::Parallel { var, .. } => open.take(var),
            _ => None,
        };
        let within = s.blocks().any(|b| reads_open(b, open));
        open.extend(bound);
        if let Stmt::Assign { var, .. } = s {
            assigned.extend(open.take(var));
        }
        within
    });
    open.extend(assigned);
    found
}

/// Whether an expression reads one of these variables.
fn reads_any(e: &Expr, vars: &BTreeSet<Var>) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e, Expr::Var(v) if vars.contains(v)));
    found
}

/// The last statement of a block whose other statements only name indices, with these names replaced by their values.
pub(super) fn inlined(block: &[Stmt]) -> Option<(Vec<Var>, Stmt)> {
    let (last, names) = block.split_last()?;
    let mut last = last.clone();
    let mut vars = vec![];
    for s in names.iter().rev() {
        let Stmt::Assign { var, value } = s else { return None };
        if exposes(block, *var) {
            // A name that the last iteration leaves may be read later.
            return None;
        }
        last = last.map_children(&mut |e| replace(e, *var, value), &mut |b| b);
        vars.push(*var);
    }
    Some((vars, last))
}

/// How scattered elements are vectorised.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scattered {
    /// Not at all: they are an obstacle.
    Refused,
    /// They are loaded one by one.
    Gathered,
}

/// The expression for `lanes` consecutive values of a variable, if it is scalar and can be vectorised.
pub(super) fn widened(
    function: &Function,
    e: &Expr,
    at: (Var, u16),
    scattered: Scattered,
) -> Option<Expr> {
    widened_beside(function, e, at, (&BTreeMap::new(), scattered))
}

/// As [`widened`], given variables that already have vectors.
pub(super) fn widened_beside(
    function: &Function,
    e: &Expr,
    (var, lanes): (Var, u16),
    (vectors, scattered): (&BTreeMap<Var, Var>, Scattered),
) -> Option<Expr> {
    let float = |e: &Expr| {
        let ty = function.type_of(e);
        ty.register.is_float() && ty.lanes == 1
    };
    if !mentions(e, var) && !vectors.keys().any(|v| mentions(e, *v)) {
        return float(e).then(|| Expr::Splat(Box::new(e.clone()), lanes));
    }
    let wide =
        |e: &Expr| widened_beside(function, e, (var, lanes), (vectors, scattered)).map(Box::new);
    match e {
        Expr::Var(v) => vectors.get(v).map(|v| Expr::Var(*v)),
        Expr::Load { array, index, lanes: 1 } if float(e) && beside(index, var).is_some() => {
            Some(Expr::Load { array: *array, index: index.clone(), lanes })
        }
        Expr::Load { lanes: 1, .. } if float(e) && scattered == Scattered::Gathered => {
            Some(Expr::Lanes((0..lanes).map(|k| shifted(e.clone(), var, k.into())).collect()))
        }
        Expr::Unary(op, a) if has_unary(*op) && float(a) => Some(Expr::Unary(*op, wide(a)?)),
        Expr::Binary(op, a, b) if has_binary(*op) && float(a) => {
            Some(Expr::Binary(*op, wide(a)?, wide(b)?))
        }
        Expr::Convert(to, a) if to.is_float() && float(a) => Some(Expr::Convert(*to, wide(a)?)),
        Expr::Fma(a, b, c) => Some(Expr::Fma(wide(a)?, wide(b)?, wide(c)?)),
        _ => None,
    }
}

/// Whether there are vector instructions, at most a few, for a function of floats.
fn has_unary(op: UnaryOp) -> bool {
    use UnaryOp::{Abs, Cube, Neg, Sqrt, Square};
    matches!(op, Neg | Abs | Sqrt | Square | Cube)
}

/// Whether there is a vector instruction for an operator on floats.
fn has_binary(op: BinaryOp) -> bool {
    use BinaryOp::{Add, Div, Max, Min, Mul, Sub};
    matches!(op, Add | Sub | Mul | Div | Min | Max)
}

/// Whether every load of an expression is from an input, which is never written.
pub(super) fn reads_inputs_only(function: &Function, e: &Expr) -> bool {
    let mut only = true;
    e.walk(&mut |e| {
        if let Expr::Load { array, .. } = e {
            only &= function.arrays[*array].role == ArrayRole::Input;
        }
        only &= !matches!(e, Expr::Len(_));
    });
    only
}
