//! Loops that do nothing unless a loop-invariant fiber of an operand has entries are guarded: they are
//! skipped where it has none.
//!
//! ```text
//! for p in lo..hi { l = B_crd[p]; q = C_pos[k]; end = C_pos[k + 1]; r = D_pos[l]; while q < end && r < .. { .. } }
//!
//! if lo < hi && C_pos[k] < C_pos[k + 1] { for p in lo..hi { .. } }
//! ```

use crate::ids::Var;
use crate::ir::build::{all, lt, when};
use crate::ir::flow::{assigned, exposes, mentions, reads_first};
use crate::ir::{Expr, Function, Stmt};
use crate::transform::Target;
use crate::transform::affine::{loads, reads_inputs_only};
use crate::transform::copies::Names;

/// The pass. On a GPU threads of a warp had to wait for each other anyway.
pub(in crate::transform) fn guard_empty(function: Function, target: Target) -> Function {
    match target.gpu {
        true => function,
        false => Function { body: block(&function, &function.body, &|_| false), ..function },
    }
}

/// Inner loops first, so that a question leaves all loops that it does not depend on. `later` tells
/// whether a variable is read behind the block.
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

/// What has to hold for any iteration of a loop to do something, as far as it is loop-invariant.
fn question(function: &Function, s: &Stmt, after: &dyn Fn(Var) -> bool) -> Option<Expr> {
    let Stmt::For { var, lo, hi, body, .. } = s else { return None };
    let (last, before) = body.split_last()?;
    let cond = match last {
        Stmt::While { cond, .. } => cond.clone(),
        Stmt::If { cond, otherwise, .. } if otherwise.is_empty() => cond.clone(),
        Stmt::For { lo, hi, .. } => lt(lo.clone(), hi.clone()),
        _ => return None,
    };
    let mut names = Names::default();
    for s in before {
        let Stmt::Assign { var, value } = s else { return None };
        names.assign(*var, value);
    }
    let mut changed = vec![*var];
    assigned(body, &mut changed);
    let is_same =
        |e: &Expr| reads_inputs_only(function, e) && !changed.iter().any(|v| mentions(e, *v));
    let (mut wanted, mut guarded) = (vec![lt(lo.clone(), hi.clone())], false);
    conditions(&cond, &mut |e| {
        let resolved = names.resolved(e);
        // What stands behind a condition that is not asked may read only where that holds.
        match is_same(&resolved) && !(guarded && loads(e)) {
            true if wanted.contains(&resolved) => {}
            true => wanted.push(resolved),
            false => guarded = true,
        }
    });
    // What is assigned has to be as it was if no iteration runs.
    if !wanted[1..].iter().any(loads) || changed.iter().any(|v| after(*v)) {
        return None;
    }
    Some(all(wanted))
}

/// The conditions that hold together.
fn conditions<'e>(cond: &'e Expr, each: &mut impl FnMut(&'e Expr)) {
    match cond {
        Expr::AndThen(a, b) => {
            conditions(a, each);
            conditions(b, each);
        }
        cond => each(cond),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;

    fn check(body: &str, expect: &str) {
        let head = "fn f(n: i64, pos: in [i32], crd: in [i32], y: out [f64]) {\n  var i, j, k, p, q, end: i64\n";
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
    fn others_stay() {
        let merge = "while q < end { y[j] = 1.0 q = q + 1 }";
        for body in [
            // Other entries in each iteration.
            format!("for k in 0..n {{ q = pos[k] end = pos[k + 1] {merge} }}"),
            "for k in 0..n { for q in pos[k]..pos[k + 1] { y[q] = 1.0 } }".to_owned(),
            // Something beside them.
            format!("for j in 0..n {{ y[j] = 0.0 q = pos[k] end = pos[k + 1] {merge} }}"),
            // What may not be read where the other condition does not hold.
            "for j in 0..n { while j < k && crd[k] < n { y[j] = 1.0 k = k + 1 } }".to_owned(),
            "for j in 0..n { if p < j && crd[k] < n { y[j] = 1.0 } }".to_owned(),
            // What iterations leave is read.
            format!("for j in 0..n {{ q = pos[k] end = pos[k + 1] {merge} }} y[q] = 0.0"),
            format!(
                "for i in 0..n {{ y[q] = 0.0 for j in 0..n {{ q = pos[k] end = pos[k + 1] {merge} }} }}"
            ),
        ] {
            check(&body, &body);
        }
    }
}
