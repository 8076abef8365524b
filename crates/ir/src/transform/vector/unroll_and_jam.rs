//! Unroll-and-jam: computes vector sums for several iterations of the surrounding loop together.
//!
//! ```text
//! for p in lo..hi {
//!   j = crd[p]
//!   v = 0.0
//!   for k in 0..n step 8 { v = fma(C[i * n + k; 8], D[j * n + k; 8], v) }
//!   A[p] = B[p] * sum(v)
//! }
//!
//! for p in lo..mid step 4 {
//!   j_2 = crd[p]; j_3 = crd[p + 1]; .. j = crd[p + 3]
//!   v_2 = 0.0; .. v = 0.0
//!   for k in 0..n step 8 {
//!     c = C[i * n + k; 8]
//!     v_2 = fma(c, D[j_2 * n + k; 8], v_2); .. v = fma(c, D[j * n + k; 8], v)
//!   }
//!   A[p] = B[p] * sum(v_2); .. A[p + 3] = B[p + 3] * sum(v)
//! }
//! for p in mid..hi { .. }
//! ```
//!
//! If the loop gives hints under a condition, the condition is tested before the loop, and the loop with hints stays
//! as it is: there, the hints take most of the time.
//!
//! Loop-invariant vectors are loaded once, and sums do not wait for each other: SDDMM with 32 columns takes 0.8 of the
//! time. On a GPU, a thread sums several columns together, each in its original order, so that a coordinate is loaded
//! once for all of them: SpMM with 32 columns takes 0.5 to 0.9 of the time.

use crate::datatype::Register;
use crate::ids::Var;
use crate::ir::build::assign;
use crate::ir::flow::{assigned, assigns, count, exposes, mentions, replace};
use crate::ir::{Expr, Function, Stmt};
use crate::transform::affine::{exchange, reads_inputs_only, shifted};
use crate::transform::{Target, by_iterations, for_each, fresh, rewrite};
use std::collections::BTreeSet;

/// The iterations per step, if there are registers for their accumulators.
const ITERATIONS: usize = 4;

/// The largest number of accumulators of a GPU thread, and of statements of an iteration that are worth copying.
const OF_THREAD: usize = 24;
const MOST: usize = 60;

/// The pass.
pub(in crate::transform) fn unroll_and_jam(mut function: Function, target: Target) -> Function {
    let body = std::mem::take(&mut function.body);
    let body = rewrite(body, &mut |s| jammed(&mut function, target, s));
    Function { body, ..function }
}

/// A loop whose iterations first compute sums and then use them.
struct Iterations<'s> {
    var: Var,
    /// The code that computes the sums, each for a single iteration.
    sums: &'s [Stmt],
    /// The code that uses them.
    uses: &'s [Stmt],
    /// Variables whose values differ between iterations.
    own: BTreeSet<Var>,
}

fn jammed(function: &mut Function, target: Target, s: &Stmt) -> Option<Vec<Stmt>> {
    let Stmt::For { var, lo, hi, step: 1, body } = s else { return None };
    if let Some(question) = question(body) {
        let of = |answer| {
            let body = answered(body, question, answer);
            Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), step: 1, body }
        };
        // With hints, the hints take most of the time.
        let (then, without) = (vec![of(true)], of(false));
        let otherwise = jammed(function, target, &without)?;
        return Some(vec![Stmt::If { cond: question.clone(), then, otherwise }]);
    }
    let iterations = Iterations::of(function, *var, body, target)?;
    let at_once = match target.gpu {
        true => iterations.fitting_thread(function)?,
        false => iterations.fitting(function, target)?,
    };
    let several = iterations.taken(function, at_once);
    let mut stmts = by_iterations(function, (*var, lo, hi), (at_once as i64, several), body);
    // Threads have few columns, so no column should be left over.
    if target.gpu && at_once > 2 {
        let two = iterations.taken(function, 2);
        if let Some(Stmt::For { lo, hi, .. }) = stmts.pop() {
            stmts.extend(by_iterations(function, (*var, &lo, &hi), (2, two), body));
        }
    }
    Some(stmts)
}

/// The condition for hints within sums, if it is loop-invariant.
fn question(body: &[Stmt]) -> Option<&Expr> {
    let hints = |block: &[Stmt]| block.iter().all(|s| matches!(s, Stmt::Prefetch { .. }));
    body.iter().flat_map(Stmt::blocks).flatten().find_map(|s| match s {
        Stmt::If { cond: cond @ Expr::Var(v), then, .. }
            if hints(then) && !body.iter().any(|s| assigns(s, *v)) =>
        {
            Some(cond)
        }
        _ => None,
    })
}

/// The statements, with the outcome of a condition known.
fn answered(body: &[Stmt], question: &Expr, answer: bool) -> Vec<Stmt> {
    rewrite(body.to_vec(), &mut |s| match s {
        Stmt::If { cond, then, otherwise } if cond == question => {
            Some(if answer { then } else { otherwise }.clone())
        }
        _ => None,
    })
}

impl<'s> Iterations<'s> {
    fn of(
        function: &Function,
        var: Var,
        body: &'s [Stmt],
        target: Target,
    ) -> Option<Iterations<'s>> {
        let last = body.iter().rposition(|s| matches!(s, Stmt::For { .. }))?;
        let (sums, uses) = body.split_at(last + 1);
        let (mut set, mut used) = (vec![], vec![]);
        assigned(sums, &mut set);
        assigned(uses, &mut used);
        let straight = |s: &Stmt| matches!(s, Stmt::Assign { .. } | Stmt::Store { .. });
        let alone = set.iter().all(|v| !exposes(body, *v))
            && uses.iter().all(straight)
            && sums.iter().all(|s| is_sum(function, s, &used, target));
        let own = own(sums, var)?;
        alone.then_some(Iterations { var, sums, uses, own })
    }

    /// The number of iterations for whose accumulators there are registers, if more than one.
    fn fitting(&self, function: &Function, target: Target) -> Option<usize> {
        let bytes = |v: &Var| {
            let ty = function.vars[*v].ty;
            if ty.lanes > 1 {
                usize::from(ty.lanes) * if ty.register == Register::F32 { 4 } else { 8 }
            } else {
                0
            }
        };
        let vector = usize::from(target.vector_bytes).max(1);
        let registers: usize = self.own.iter().map(|v| bytes(v).div_ceil(vector)).sum();
        let most = usize::from(target.tile_registers) / registers.max(1);
        let at_once = ITERATIONS.min(most);
        (registers > 0 && at_once >= 2).then_some(at_once)
    }

    /// The same number for scalar accumulators of a GPU thread.
    fn fitting_thread(&self, function: &Function) -> Option<usize> {
        let own = self.own.iter().filter(|v| function.vars[**v].ty.register.is_float()).count();
        let fits = |iterations: &usize| own * iterations <= OF_THREAD;
        let at_once = [ITERATIONS, 2].into_iter().find(fits);
        at_once.filter(|_| own > 0 && count(self.sums) <= MOST)
    }

    /// The code of `iterations` jammed iterations.
    fn taken(&self, function: &mut Function, iterations: usize) -> Vec<Stmt> {
        // The last iteration uses the existing variables.
        let names: Vec<Vec<(Var, Var)>> = (0..iterations)
            .map(|iteration| {
                let own = self.own.iter().map(|&v| {
                    let decl = function.vars[v].clone();
                    match iteration + 1 < iterations {
                        true => (v, fresh(function, &decl.name, decl.ty)),
                        false => (v, v),
                    }
                });
                own.collect()
            })
            .collect();
        let mut out = self.together(function, self.sums, &names, None);
        for (k, names) in names.iter().enumerate() {
            out.extend(self.uses.iter().map(|s| self.renamed(s, names, k as i64)));
        }
        out
    }

    /// The statements of all iterations; those that are the same in all of them run once, in the loop over a variable.
    fn together(
        &self,
        function: &mut Function,
        block: &[Stmt],
        names: &[Vec<(Var, Var)>],
        around: Option<Var>,
    ) -> Vec<Stmt> {
        let mut out = vec![];
        for s in block {
            match s {
                Stmt::For { var, lo, hi, step, body } => {
                    let body = self.together(function, body, names, Some(*var));
                    let (var, lo, hi, step) = (*var, lo.clone(), hi.clone(), *step);
                    out.push(Stmt::For { var, lo, hi, step, body });
                }
                Stmt::If { cond, then, otherwise } if assigns_some(s) => {
                    let [then, otherwise] = [then, otherwise]
                        .map(|block| self.together(function, block, names, around));
                    out.push(Stmt::If { cond: cond.clone(), then, otherwise });
                }
                Stmt::Assign { var, .. } if !self.own.contains(var) => out.push(s.clone()),
                s => {
                    let s = match around {
                        Some(var) => self.shared(function, s, var, &mut out),
                        None => s.clone(),
                    };
                    let each = names.iter().enumerate();
                    out.extend(each.map(|(k, names)| self.renamed(&s, names, k as i64)));
                }
            }
        }
        out
    }

    /// A statement of one iteration.
    fn renamed(&self, s: &Stmt, names: &[(Var, Var)], iteration: i64) -> Stmt {
        let rename = |e: Expr| {
            let e = names.iter().fold(e, |e, (from, to)| replace(e, *from, &Expr::Var(*to)));
            shifted(e, self.var, iteration)
        };
        let renamed = s.clone().map_children(&mut { rename }, &mut |block| {
            block.iter().map(|s| self.renamed(s, names, iteration)).collect()
        });
        match renamed {
            Stmt::Assign { var, value } => {
                let to = names.iter().find(|(from, _)| *from == var);
                Stmt::Assign { var: to.map_or(var, |(_, to)| *to), value }
            }
            s => s,
        }
    }

    /// A statement of a sum, with the vectors that all iterations load held in variables.
    fn shared(&self, function: &mut Function, s: &Stmt, var: Var, out: &mut Vec<Stmt>) -> Stmt {
        let mut vectors: Vec<Expr> = vec![];
        for e in s.exprs() {
            e.walk(&mut |e| {
                let Expr::Load { index, lanes: 2.., .. } = e else { return };
                let differs =
                    mentions(index, self.var) || self.own.iter().any(|v| mentions(index, *v));
                if !differs && mentions(index, var) && !vectors.contains(e) {
                    vectors.push(e.clone());
                }
            });
        }
        vectors.into_iter().fold(s.clone(), |s, vector| {
            let name = fresh(function, "shared", function.type_of(&vector));
            let s = s.map_children(&mut |e| exchange(e, &vector, &Expr::Var(name)), &mut |b| b);
            out.push(assign(name, vector));
            s
        })
    }
}

/// Whether a statement assigns variables in its blocks: hints do not.
fn assigns_some(s: &Stmt) -> bool {
    let mut found = vec![];
    s.blocks().for_each(|block| assigned(block, &mut found));
    !found.is_empty()
}

/// Whether a statement belongs to sums and may be interleaved with other iterations.
fn is_sum(function: &Function, s: &Stmt, used: &[Var], target: Target) -> bool {
    let pure =
        s.exprs().all(|e| reads_inputs_only(function, e) && !used.iter().any(|v| mentions(e, *v)));
    pure && match s {
        Stmt::Assign { var, .. } => !used.contains(var),
        Stmt::For { body, .. } => body.iter().all(|s| match s {
            Stmt::For { .. } if !target.gpu => false,
            s => is_sum(function, s, used, target),
        }),
        Stmt::If { .. } if target.gpu => {
            s.blocks().flatten().all(|s| is_sum(function, s, used, target))
        }
        Stmt::Prefetch { .. } => true,
        _ => false,
    }
}

/// The variables whose values depend on `var`, directly or through each other. `None` if a condition or the bounds of
/// a loop do, since iterations then run different statements.
fn own(sums: &[Stmt], var: Var) -> Option<BTreeSet<Var>> {
    let mut all = vec![];
    for_each(sums, &mut |s| all.push(s.clone()));
    let mut own = BTreeSet::new();
    let differs =
        |e: &Expr, own: &BTreeSet<Var>| mentions(e, var) || own.iter().any(|v| mentions(e, *v));
    loop {
        let known = own.len();
        for s in &all {
            if let Stmt::Assign { var, value } = s
                && differs(value, &own)
            {
                own.insert(*var);
            }
        }
        if own.len() == known {
            break;
        }
    }
    let same = all.iter().all(|s| match s {
        Stmt::For { var, lo, hi, .. } => {
            !own.contains(var) && !differs(lo, &own) && !differs(hi, &own)
        }
        Stmt::If { cond, .. } => !assigns_some(s) || !differs(cond, &own),
        _ => true,
    });
    same.then_some(own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;

    const WIDE: Target = Target { vector_bytes: 64, tile_registers: 16, ..Target::SCALAR };

    fn read(body: &str) -> Function {
        let head = "fn f(n: i64, crd: in [i32], B: in [f64], C: in [f64], D: in [f64], A: out [f64]) {\n  \
                    var i, j, k, p, q: i64\n  var s, t: f64\n  var v: f64x8\n  var c: bool\n";
        parse(&format!("{head}{body}\n}}\n")).unwrap_or_else(|d| panic!("{d}"))
    }

    fn lines(function: &Function) -> String {
        let text = function.to_string();
        let lines = text.lines().map(str::trim).filter(|l| !l.starts_with("var"));
        lines.skip(1).collect::<Vec<_>>().join(" ")
    }

    /// A loop over entries, with a sum in each iteration and a use of the sum.
    fn entries(sum: &str, with: &str) -> Function {
        read(&format!("for p in 3..n {{ j = crd[p] v = splat(0.0, 8) {sum} s = sum(v) {with} }}"))
    }

    const SUM: &str = "for k in 0..n step 8 { if c { prefetch D[crd[p + i] * n + k] } \
                       v = fma(C[i * n + k; 8], D[j * n + k; 8], v) }";

    #[test]
    fn iterations_take_their_sums_together() {
        let two = Target { tile_registers: 2, ..WIDE };
        let jammed = unroll_and_jam(entries(SUM, "A[q] = B[p] * s q = q + 1"), two);
        let expect = "if c { for p in 3..n { j = crd[p] v = splat(0.0, 8) \
             for k in 0..n step 8 { prefetch D[crd[p + i] * n + k] \
             v = fma(C[i * n + k; 8], D[j * n + k; 8], v) } s = sum(v) A[q] = B[p] * s q = q + 1 } } \
             else { p_first = 3 p_hi = n p_mid = p_first + (p_hi - p_first) / 2 * 2 \
             for p in p_first..p_mid step 2 { j_2 = crd[p] j = crd[p + 1] \
             v_2 = splat(0.0, 8) v = splat(0.0, 8) \
             for k in 0..n step 8 { shared = C[i * n + k; 8] \
             v_2 = fma(shared, D[j_2 * n + k; 8], v_2) v = fma(shared, D[j * n + k; 8], v) } \
             s = sum(v_2) A[q] = B[p] * s q = q + 1 \
             s = sum(v) A[q] = B[p + 1] * s q = q + 1 } for p in p_mid..p_hi {";
        let text = lines(&jammed);
        assert!(text.starts_with(expect), "{text}");
        let four = lines(&unroll_and_jam(entries(SUM, "A[q] = B[p] * s q = q + 1"), WIDE));
        assert_eq!(four.matches("fma(shared").count(), 4, "{four}");
    }

    #[test]
    fn iterations_that_know_of_each_other_stay_apart() {
        let plain = "A[q] = B[p] * s q = q + 1";
        for (sum, with) in [
            // The next iteration depends on this one.
            (SUM, "i = i + 1"),
            (SUM, "n = n + 1"),
            ("for k in 0..n step 8 { v = fma(splat(A[k], 8), D[j * n + k; 8], v) }", plain),
            ("for k in 0..n step 8 { v = fma(splat(s, 8), D[j * n + k; 8], v) }", plain),
            // Sums of different lengths.
            ("for k in 0..j step 8 { v = fma(C[k; 8], D[k; 8], v) }", plain),
            ("for k in p..n step 8 { v = fma(C[k; 8], D[k; 8], v) }", plain),
            // Another effect.
            ("for k in 0..n step 8 { v = fma(C[k; 8], D[j; 8], v) A[k] = 0.0 }", plain),
            (SUM, "if j < 3 { A[q] = s }"),
            (SUM, "c = j < 3"),
        ] {
            let function = entries(sum, with);
            assert_eq!(unroll_and_jam(function.clone(), WIDE), function);
        }
        // Without enough registers.
        let function = entries(SUM, plain);
        for target in [Target { vector_bytes: 16, tile_registers: 4, ..WIDE }, Target::SCALAR] {
            assert_eq!(unroll_and_jam(function.clone(), target), function);
        }
    }

    /// Columns of a row on a GPU thread, four at a time.
    fn columns(body: &str) -> String {
        lines(&unroll_and_jam(read(body), Target::GPU))
    }

    #[test]
    fn columns_of_a_thread_are_summed_together() {
        let text = columns(
            "for k in 0..n { s = 0.0 for p in 3..n { j = crd[p] s = fma(B[p], D[j * n + k], s) } A[i * n + k] = s }",
        );
        let sums = |p: &str| format!("j = crd[{p}] s_2 = fma(B[{p}], D[j * n + k], s_2)");
        let several = format!(
            "for k in k_first..k_mid step 4 {{ s_2 = 0.0 s_3 = 0.0 s_4 = 0.0 s = 0.0 for p in 3..n {{ {} \
             s_3 = fma(B[p], D[j * n + k + 1], s_3) s_4 = fma(B[p], D[j * n + k + 2], s_4) \
             s = fma(B[p], D[j * n + k + 3], s) }} A[i * n + k] = s_2 A[i * n + (k + 1)] = s_3 \
             A[i * n + (k + 2)] = s_4 A[i * n + (k + 3)] = s }}",
            sums("p")
        );
        assert!(text.contains(&several), "{text}");
        let two = "for k in k_first_2..k_mid_2 step 2 { s_5 = 0.0 s = 0.0 for p in 3..n {";
        assert!(text.contains(two), "{text}");
        assert!(text.contains("for k in k_mid_2..k_hi_2 { s = 0.0 for p in 3..n"), "{text}");
    }

    #[test]
    fn columns_have_the_accumulators_that_each_has_alone() {
        let split = "if n >= 8 { q = 4 for p in 0..q step 4 { t = fma(B[p], D[p * n + k], t) } s = s + t } \
                     else { q = 0 } for p in q..n { s = fma(B[p], D[p * n + k], s) }";
        let text = columns(&format!("for k in 0..n {{ s = 0.0 t = 0.0 {} A[k] = s }}", split));
        let first = "if n >= 8 { q = 4 for p in 0..q step 4 { t_2 = fma(B[p], D[p * n + k], t_2)";
        assert!(text.contains(first), "{text}");
        assert!(text.contains("} s_2 = s_2 + t_2 s_3 = s_3 + t_3"), "{text}");
        assert!(text.contains("} else { q = 0 } for p in q..n { s_2 = fma("), "{text}");
        // The iterations differ in whether a sum is split.
        let own = format!(
            "for k in 0..n {{ s = 0.0 t = 0.0 {} A[k] = s }}",
            split.replace("n >= 8", "k >= 8")
        );
        assert_eq!(columns(&own), lines(&read(&own)));
    }

    #[test]
    fn what_columns_share_is_computed_once_in_loops_in_loops() {
        let text = columns(
            "for k in 0..n { s = 0.0 for p in 3..n { i = crd[p] for q in p..n { j = crd[q] \
             s = fma(B[q] * C[i * n + k], D[j * n + k], s) } } A[k] = s }",
        );
        let inner = "for p in 3..n { i = crd[p] for q in p..n { j = crd[q] s_2 = fma(B[q] * C[i * n + k], D[j * n + k], s_2)";
        assert!(text.contains(inner), "{text}");
    }

    #[test]
    fn columns_that_differ_in_more_than_values_stay() {
        let kept = |body: &str| {
            let before = lines(&read(body));
            assert_eq!(columns(body), before);
        };
        // Other entries for each column; a sum that continues; a value passed from one column to the next.
        kept("for k in 0..n { s = 0.0 for p in k..n { s = fma(B[p], D[p], s) } A[k] = s }");
        kept("for k in 0..n { for p in 3..n { s = fma(B[p], D[p * n + k], s) } A[k] = s }");
        kept(
            "for k in 0..n { s = A[k] for p in 3..n { s = fma(B[p], D[p * n + k], s) } A[k + 1] = s }",
        );
        // Only a GPU has columns on threads.
        let body =
            "for k in 0..n { s = 0.0 for p in 3..n { s = fma(B[p], D[p * n + k], s) } A[k] = s }";
        assert_eq!(lines(&unroll_and_jam(read(body), WIDE)), lines(&read(body)));
    }
}
