//! Guards loops whose iterations have an effect only if a loop-invariant fiber of an operand has entries, or a
//! loop-invariant truth value holds: otherwise they are skipped.
//!
//! ```text
//! for p in lo..hi { l = B_crd[p]; q = C_pos[k]; end = C_pos[k + 1]; r = D_pos[l]; while q < end && r < .. { .. } }
//!
//! if lo < hi && C_pos[k] < C_pos[k + 1] { for p in lo..hi { .. } }
//!
//! for p in lo..hi { j = crd[p]; y[j] = y[j] or (A[p] and x[i]) }
//!
//! if lo < hi && x[i] { for p in lo..hi { .. } }
//! ```

use crate::algebra::BinaryOp;
use crate::datatype::DataType;
use crate::ids::Var;
use crate::ir::build::{all, lt, when};
use crate::ir::flow::{assigned, exposes, mentions, reads_first};
use crate::ir::{Expr, Function, Stmt, Type};
use crate::transform::Target;
use crate::transform::affine::{loads, reads_inputs_only};
use crate::transform::copies::Names;

/// The pass. On a GPU it has no use: threads of a warp wait for each other anyway.
pub(in crate::transform) fn guard_empty(function: Function, target: Target) -> Function {
    match target.gpu {
        true => function,
        false => Function { body: block(&function, &function.body, &|_| false), ..function },
    }
}

/// Inner loops first, so that a guard moves out of all loops that it does not depend on. `later` tells whether a
/// variable is read after the block.
fn block(function: &Function, stmts: &[Stmt], later: &dyn Fn(Var) -> bool) -> Vec<Stmt> {
    let rewritten = stmts.iter().enumerate().map(|(k, s)| {
        let after = |var: Var| {
            let mut given = false;
            reads_first(&stmts[k + 1..], var, &mut given) || (!given && later(var))
        };
        let again = |var: Var| match s {
            Stmt::If { .. } => false,
            s => exposes(std::slice::from_ref(s), var),
        };
        let within = |var: Var| again(var) || after(var);
        let s = s.clone().map_children(&mut |e| e, &mut |b| block(function, &b, &within));
        match question(function, &s, &after) {
            Some(cond) => when(cond, vec![s]),
            None => s,
        }
    });
    rewritten.collect()
}

/// The loop-invariant condition without which no iteration of a loop has an effect.
fn question(function: &Function, s: &Stmt, after: &dyn Fn(Var) -> bool) -> Option<Expr> {
    let Stmt::For { var, lo, hi, body, .. } = s else { return None };
    let (last, before) = body.split_last()?;
    let cond = match last {
        Stmt::While { cond, .. } => cond.clone(),
        Stmt::If { cond, otherwise, .. } if otherwise.is_empty() => cond.clone(),
        Stmt::For { lo, hi, .. } => lt(lo.clone(), hi.clone()),
        Stmt::Store { .. } => found_true(function, last)?.clone(),
        _ => return None,
    };
    let mut names = Names::default();
    for s in before {
        let Stmt::Assign { var, value } = s else { return None };
        names.assign(*var, value);
    }
    // Loops along rows are better tiled.
    if matches!(last, Stmt::Store { index, .. } if !loads(&names.resolved(index))) {
        return None;
    }
    let mut changed = vec![*var];
    assigned(body, &mut changed);
    let is_same =
        |e: &Expr| reads_inputs_only(function, e) && !changed.iter().any(|v| mentions(e, *v));
    let (mut wanted, mut guarded) = (vec![lt(lo.clone(), hi.clone())], false);
    conditions(&cond, &mut |e| {
        let mut others = false;
        both_true(e, &mut |e| {
            let resolved = names.resolved(e);
            let is_asked = is_same(&resolved) && function.type_of(&resolved) == Type::BOOL;
            // Code behind a condition that is not a guard may be safe to evaluate only where that condition holds.
            match is_asked && !(guarded && loads(e)) {
                true if wanted.contains(&resolved) => {}
                true => wanted.push(resolved),
                false => others = true,
            }
        });
        guarded |= others;
    });
    // Assigned variables would keep their old values if no iteration runs.
    if !wanted[1..].iter().any(loads) || changed.iter().any(|v| after(*v)) {
        return None;
    }
    Some(all(wanted))
}

/// The condition for a scattered element, a truth value, to become true by `y[j] = y[j] or ..`; otherwise it does not
/// change.
fn found_true<'e>(function: &Function, s: &'e Stmt) -> Option<&'e Expr> {
    let Stmt::Store { array, index, value } = s else { return None };
    let Expr::Binary(BinaryOp::Or, element, other) = truth(value) else { return None };
    let here = Expr::Load { array: *array, index: Box::new(index.clone()), lanes: 1 };
    let is_truth = function.arrays[*array].elem == DataType::Bool;
    (is_truth && *truth(element) == here).then_some(other)
}

/// A truth value without conversions between the types of registers and arrays.
fn truth(e: &Expr) -> &Expr {
    match e {
        Expr::Convert(_, inner) => truth(inner),
        e => e,
    }
}

/// The operands of `&&`.
fn conditions<'e>(cond: &'e Expr, each: &mut impl FnMut(&'e Expr)) {
    match cond {
        Expr::AndThen(a, b) => {
            conditions(a, each);
            conditions(b, each);
        }
        cond => each(cond),
    }
}

/// The operands of `and`, each of which is computed in any case.
fn both_true<'e>(cond: &'e Expr, each: &mut impl FnMut(&'e Expr)) {
    match truth(cond) {
        Expr::Binary(BinaryOp::And, a, b) => {
            both_true(a, each);
            both_true(b, each);
        }
        _ => each(cond),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;

    fn check(body: &str, expect: &str) {
        let head = "fn f(n: i64, pos: in [i32], crd: in [i32], a: in [bool], x: in [bool], y: out [f64], \
                    z: out [bool]) {\n  var i, j, k, p, q, end: i64\n";
        let text = |body: &str| format!("{head}{body}\n}}\n");
        let read = |body: &str| parse(&text(body)).unwrap_or_else(|d| panic!("{d}"));
        assert_eq!(guard_empty(read(body), Target::SCALAR).to_string(), read(expect).to_string());
    }

    #[test]
    fn loops_are_passed_over_where_no_iteration_does_something() {
        let merge = "q = pos[k] end = pos[k + 1] while q < end && p < n { y[j] = 1.0 q = q + 1 }";
        check(
            &format!("for k in 0..n {{ for j in 0..n {{ p = crd[j] {merge} }} }}"),
            &format!(
                "for k in 0..n {{ if 0 < n && pos[k] < pos[k + 1] \
                 {{ for j in 0..n {{ p = crd[j] {merge} }} }} }}"
            ),
        );
        let each = "p = crd[j] for q in pos[k]..pos[k + 1] { y[p] = 1.0 }";
        check(
            &format!("for k in 0..n {{ for j in 0..n {{ {each} }} }}"),
            &format!(
                "for k in 0..n {{ if 0 < n && pos[k] < pos[k + 1] {{ for j in 0..n {{ {each} }} }} }}"
            ),
        );
        check(
            &format!("k = crd[0] for i in 0..n {{ for j in 0..n {{ p = crd[j] {merge} }} }}"),
            &format!(
                "k = crd[0] if 0 < n && pos[k] < pos[k + 1] {{ for i in 0..n {{ \
                 if 0 < n && pos[k] < pos[k + 1] {{ for j in 0..n {{ p = crd[j] {merge} }} }} }} }}"
            ),
        );
    }

    #[test]
    fn loops_are_passed_over_where_what_they_find_is_false() {
        let body = "p = crd[j] z[p] = i64(or(bool(z[p]), and(bool(a[j]), bool(x[k]))))";
        check(
            &format!("for k in 0..n {{ for j in pos[k]..pos[k + 1] {{ {body} }} }}"),
            &format!(
                "for k in 0..n {{ if pos[k] < pos[k + 1] && bool(x[k]) \
                 {{ for j in pos[k]..pos[k + 1] {{ {body} }} }} }}"
            ),
        );
    }

    #[test]
    fn others_stay() {
        let merge = "while q < end { y[j] = 1.0 q = q + 1 }";
        for body in [
            // The entries differ between iterations.
            format!("for k in 0..n {{ q = pos[k] end = pos[k + 1] {merge} }}"),
            "for k in 0..n { for q in pos[k]..pos[k + 1] { y[q] = 1.0 } }".to_owned(),
            // Stores of other elements, along a row, or where nothing is found.
            "for k in 0..n { for j in 0..n { p = crd[j] \
             z[p] = i64(and(bool(z[p]), and(bool(a[j]), bool(x[k])))) } }"
                .to_owned(),
            "for k in 0..n { for j in 0..n { p = crd[j] \
             z[p] = i64(or(bool(z[j]), and(bool(a[j]), bool(x[k])))) } }"
                .to_owned(),
            "for k in 0..n { for j in 0..n { z[j] = i64(or(bool(z[j]), and(bool(a[j]), bool(x[k])))) } }"
                .to_owned(),
            // An effect outside of the guard.
            format!("for j in 0..n {{ y[j] = 0.0 q = pos[k] end = pos[k + 1] {merge} }}"),
            // A load that is not safe where the other condition does not hold.
            "for j in 0..n { while j < k && crd[k] < n { y[j] = 1.0 k = k + 1 } }".to_owned(),
            "for j in 0..n { if p < j && crd[k] < n { y[j] = 1.0 } }".to_owned(),
            // Variables that are read after the loop.
            format!("for j in 0..n {{ q = pos[k] end = pos[k + 1] {merge} }} y[q] = 0.0"),
            format!(
                "for i in 0..n {{ y[q] = 0.0 for j in 0..n {{ q = pos[k] end = pos[k + 1] {merge} }} }}"
            ),
        ] {
            check(&body, &body);
        }
    }
}
