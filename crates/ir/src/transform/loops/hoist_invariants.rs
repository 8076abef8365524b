//! Hoists loop-invariant loads, roots, quotients and functions out of innermost loops.
//!
//! ```text
//! for p in pos[j]..pos[j + 1] { i = crd[p]; y[i] = fma(A_vals[p], x_vals[j], y[i]) }
//!
//! p_begin = pos[j]; p_end = pos[j + 1]
//! if p_begin < p_end {
//!   x_val = x_vals[j]
//!   for p in p_begin..p_end { i = crd[p]; y[i] = fma(A_vals[p], x_val, y[i]) }
//! }
//! ```
//!
//! A loop without iterations loads nothing, as before: its indices may be out of bounds. The pass runs only if the
//! target asks for it: optimising compilers do the same, and people read the loop more easily as it was. Arithmetic
//! that takes no longer than a load stays in the loop, and is left to the backends.

use crate::algebra::{BinaryOp, UnaryOp};
use crate::ids::{Array, Var};
use crate::ir::build::{assign, lt, when};
use crate::ir::flow::{assigned, mentions};
use crate::ir::{Expr, Function, Stmt, Type};
use crate::transform::affine::exchange;
use crate::transform::{Target, fresh};

/// The pass.
pub(in crate::transform) fn hoist_invariants(mut function: Function, target: Target) -> Function {
    if !target.hoists {
        return function;
    }
    let body = std::mem::take(&mut function.body);
    let mut pass = Hoist { function: &mut function, facts: vec![] };
    let body = pass.block(body);
    Function { body, ..function }
}

struct Hoist<'f> {
    function: &'f mut Function,
    /// Comparisons of variables and constants that hold at this point.
    facts: Vec<Expr>,
}

/// An innermost loop.
struct Loop {
    var: Var,
    lo: Expr,
    hi: Expr,
    step: i64,
    body: Vec<Stmt>,
}

impl Hoist<'_> {
    fn block(&mut self, block: Vec<Stmt>) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(block.len());
        for s in block {
            let mut changed = vec![];
            assigned(std::slice::from_ref(&s), &mut changed);
            let outer = self.facts.clone();
            self.facts.retain(|fact| changed.iter().all(|v| !mentions(fact, *v)));
            let after = self.facts.clone();
            match s {
                Stmt::For { var, lo, hi, step, body } if body.iter().all(is_simple) => {
                    self.innermost(Loop { var, lo, hi, step, body }, &mut out);
                }
                Stmt::If { cond, then, otherwise } => {
                    self.facts = outer.clone();
                    self.facts.extend(as_fact(&cond));
                    let then = self.block(then);
                    self.facts = outer;
                    let otherwise = self.block(otherwise);
                    out.push(Stmt::If { cond, then, otherwise });
                }
                s => out.push(s.map_children(&mut |e| e, &mut |b| self.block(b))),
            }
            self.facts = after;
        }
        out
    }

    fn innermost(&mut self, mut l: Loop, out: &mut Vec<Stmt>) {
        let mut loads = self.invariant(&l);
        if loads.is_empty() {
            out.push(Stmt::For { var: l.var, lo: l.lo, hi: l.hi, step: l.step, body: l.body });
            return;
        }
        let mut before = vec![];
        while let Some(load) = loads.pop() {
            let ty = self.function.type_of(&load);
            let name = match &load {
                Expr::Load { array, .. } => {
                    let name = &self.function.arrays[*array].name;
                    name.strip_suffix('s').map_or(format!("{name}_here"), str::to_owned)
                }
                Expr::Unary(op, _) => format!("{}_here", op.name()),
                Expr::Binary(BinaryOp::Div, ..) => "quotient_here".to_owned(),
                Expr::Binary(op, ..) => format!("{}_here", op.name()),
                _ => continue,
            };
            let var = fresh(self.function, &name, ty);
            l.body = exchanged(l.body, &load, &Expr::Var(var));
            loads = loads.into_iter().map(|l| exchange(l, &load, &Expr::Var(var))).collect();
            before.push(assign(var, load));
        }
        let runs = self.facts.contains(&lt(l.lo.clone(), l.hi.clone()));
        let lo = if runs { l.lo } else { self.named(l.lo, l.var, "begin", out) };
        let hi = if runs { l.hi } else { self.named(l.hi, l.var, "end", out) };
        let cond = lt(lo.clone(), hi.clone());
        before.push(Stmt::For { var: l.var, lo, hi, step: l.step, body: l.body });
        match runs {
            true => out.extend(before),
            false => out.push(when(cond, before)),
        }
    }

    /// A bound as a variable or constant, so that it can be compared and used.
    fn named(&mut self, bound: Expr, var: Var, what: &str, out: &mut Vec<Stmt>) -> Expr {
        if matches!(bound, Expr::Var(_) | Expr::Const(_)) {
            return bound;
        }
        let name = format!("{}_{what}", self.function.vars[var].name);
        let named = fresh(self.function, &name, Type::INDEX);
        out.push(assign(named, bound));
        Expr::Var(named)
    }

    /// The loop-invariant loads and long computations of a loop, outer ones before those within them.
    fn invariant(&self, l: &Loop) -> Vec<Expr> {
        let (mut vars, mut arrays) = (vec![l.var], vec![]);
        assigned(&l.body, &mut vars);
        written(&l.body, &mut arrays);
        let mut found = vec![];
        l.body.iter().flat_map(Stmt::exprs).for_each(|e| {
            collect(self.function, e, (&vars, &arrays), &mut found);
        });
        found.retain(|e| self.function.type_of(e).lanes == 1);
        found.reverse();
        found.sort_by_key(|e| std::cmp::Reverse(size(e)));
        found
    }
}

/// Collects the outermost loads and long operations that are certainly evaluated and depend on none of the variables
/// and arrays.
fn collect(
    function: &Function,
    e: &Expr,
    changed @ (vars, arrays): (&[Var], &[Array]),
    found: &mut Vec<Expr>,
) {
    let mut fixed = true;
    e.walk(&mut |e| match e {
        Expr::Var(v) => fixed &= !vars.contains(v),
        Expr::Load { array, .. } | Expr::Len(array) => fixed &= !arrays.contains(array),
        _ => {}
    });
    match e {
        _ if fixed && is_long(function, e) => {
            if !found.contains(e) {
                found.push(e.clone());
            }
        }
        Expr::AndThen(a, _) => collect(function, a, changed, found),
        _ => e.for_each_child(&mut |child| collect(function, child, changed, found)),
    }
}

/// Whether an expression is a load, or an operation that takes as long as several others.
fn is_long(function: &Function, e: &Expr) -> bool {
    use UnaryOp::{Abs, Cube, Neg, Not, Square};
    let is_float = |e: &Expr| function.type_of(e).register.is_float();
    let is_plain = |e: &Expr| matches!(e, Expr::Const(_));
    match e {
        Expr::Load { .. } => true,
        Expr::Unary(op, a) => {
            !matches!(op, Abs | Cube | Neg | Not | Square) && is_float(a) && !is_plain(a)
        }
        Expr::Binary(BinaryOp::Div | BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::Mod, a, b) => {
            is_float(a) && !(is_plain(a) && is_plain(b))
        }
        _ => false,
    }
}

fn size(e: &Expr) -> usize {
    let mut count = 0;
    e.walk(&mut |_| count += 1);
    count
}

/// Whether a statement of an innermost loop neither loops nor ends the call.
fn is_simple(s: &Stmt) -> bool {
    match s {
        Stmt::For { .. } | Stmt::While { .. } | Stmt::Reserve { .. } | Stmt::Fail(_) => false,
        _ => s.blocks().flatten().all(is_simple),
    }
}

fn written(block: &[Stmt], arrays: &mut Vec<Array>) {
    for s in block {
        if !matches!(s, Stmt::Prefetch { .. }) {
            arrays.extend(s.named().1);
        }
        s.blocks().for_each(|b| written(b, arrays));
    }
}

/// A block with an expression replaced everywhere.
fn exchanged(block: Vec<Stmt>, part: &Expr, by: &Expr) -> Vec<Stmt> {
    let each = |s: Stmt| {
        let expr = &mut |e| exchange(e, part, by);
        s.map_children(expr, &mut |b| exchanged(b, part, by))
    };
    block.into_iter().map(each).collect()
}

/// A comparison that stays true until one of its variables is assigned.
fn as_fact(cond: &Expr) -> Option<Expr> {
    let Expr::Binary(BinaryOp::Lt, a, b) = cond else { return None };
    let plain = |e: &Expr| matches!(e, Expr::Var(_) | Expr::Const(_));
    (plain(a) && plain(b)).then(|| cond.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;
    use crate::ir::verify::verify;
    use crate::transform::random;

    const TARGET: Target = Target { hoists: true, ..Target::SCALAR };
    const HEAD: &str = "fn f(n: i64, A: in [f64], B_vals: in [f64], y: out [f64]) {\n";

    /// Expects a body to become another one.
    fn check(body: &str, expect: &str) {
        let head = format!("{HEAD}  var i, j: i64\n  var s: f64\n  var c: bool\n");
        let function = parse(&format!("{head}{body}\n}}\n")).unwrap_or_else(|d| panic!("{d}"));
        verify(&function).unwrap_or_else(|d| panic!("{d}"));
        let text = hoist_invariants(function, TARGET).to_string();
        let lines = text.lines().skip(1).filter(|l| !l.starts_with("  var"));
        let lines: Vec<&str> = lines.map(|l| l.strip_prefix("  ").unwrap_or(l)).collect();
        assert_eq!(lines[..lines.len() - 1].join("\n"), expect);
    }

    #[test]
    fn loads_that_stay_the_same_move_out() {
        check(
            "for i in 0..n {\n  y[i] = A[n] * B_vals[n + 1] + A[n] * A[i]\n}",
            "if 0 < n {\n  A_here = A[n]\n  B_val = B_vals[n + 1]\n  for i in 0..n {\n    \
             y[i] = A_here * B_val + A_here * A[i]\n  }\n}",
        );
        check(
            "for i in 0..n {\n  y[i] = A[i64(A[0])] + A[0]\n}",
            "if 0 < n {\n  A_here = A[0]\n  A_here_2 = A[i64(A_here)]\n  for i in 0..n {\n    \
             y[i] = A_here_2 + A_here\n  }\n}",
        );
        check(
            "for i in n - 1..i64(A[n]) step 2 {\n  y[i] = A[n]\n}",
            "i_begin = n - 1\ni_end = i64(A[n])\nif i_begin < i_end {\n  A_here = A[n]\n  \
             for i in i_begin..i_end step 2 {\n    y[i] = A_here\n  }\n}",
        );
        check(
            "for i in 0..n {\n  if A[0] < 1.0 && A[1] < 2.0 {\n    y[i] = A[1] * A[0]\n  }\n}",
            "if 0 < n {\n  A_here = A[0]\n  for i in 0..n {\n    \
             if A_here < 1.0 && A[1] < 2.0 {\n      y[i] = A[1] * A_here\n    }\n  }\n}",
        );
    }

    #[test]
    fn long_operations_that_stay_the_same_move_out() {
        check(
            "for i in 0..n {\n  y[i] = A[i] / exp(A[n] / 2.0) + 3.0 * A[n]\n}",
            "if 0 < n {\n  A_here = A[n]\n  exp_here = exp(A_here / 2.0)\n  for i in 0..n {\n    \
             y[i] = A[i] / exp_here + 3.0 * A_here\n  }\n}",
        );
        check(
            "for i in 0..n {\n  y[i] = A[i] * (A[0] / A[1])\n}",
            "if 0 < n {\n  quotient_here = A[0] / A[1]\n  for i in 0..n {\n    \
             y[i] = A[i] * quotient_here\n  }\n}",
        );
    }

    #[test]
    fn what_is_known_to_run_is_not_asked_again() {
        check(
            "if 0 < n {\n  for j in 0..2 {\n    for i in 0..n {\n      y[i] = A[j]\n    }\n  }\n}",
            "if 0 < n {\n  for j in 0..2 {\n    A_here = A[j]\n    for i in 0..n {\n      \
             y[i] = A_here\n    }\n  }\n}",
        );
        check(
            "j = n\nif 0 < j {\n  j = 0\n  for i in 0..j {\n    y[i] = A[0]\n  }\n}",
            "j = n\nif 0 < j {\n  j = 0\n  if 0 < j {\n    A_here = A[0]\n    for i in 0..j {\n      \
             y[i] = A_here\n    }\n  }\n}",
        );
    }

    #[test]
    fn what_may_change_or_end_the_call_stays() {
        for body in [
            "for i in 0..n {\n  y[i] = A[i]\n}",
            "for i in 0..n {\n  j = i\n  y[i] = A[j]\n}",
            "for i in 0..n {\n  y[i] = y[0]\n}",
            "for i in 0..n {\n  if i < 2 {\n    y[i] = A[0]\n  }\n}",
            "for i in 0..n {\n  if i < 2 {\n    fail ok\n  }\n  y[i] = A[0]\n}",
            "for i in 0..n {\n  for j in 0..n {\n    y[i] = A[j]\n  }\n  y[i] = A[0]\n}",
        ] {
            check(body, body);
        }
    }

    #[test]
    fn random_functions_stay_the_same() {
        random::check(hoist_invariants, TARGET, 3000);
    }
}
