//! Loads the operands of several iterations of a GPU loop before these run, so that the iterations wait once.
//!
//! ```text
//! for p in lo..hi { j = crd[p]; while pos[i + 1] <= p { i = i + 1 }; if i == run { s = s + A[p] * x[j] } else { .. } }
//!
//! mid = lo + (hi - lo) / 4 * 4
//! for p in lo..mid step 4 {
//!   crd_at = crd[p]; x_at = x[crd_at]; crd_at_2 = crd[p + 1]; x_at_2 = x[crd_at_2]; ..
//!   j = crd_at; while pos[i + 1] <= p { .. }; ..
//!   j = crd_at_2; while pos[i + 1] <= p + 1 { .. }; ..
//! }
//! for p in mid..hi { .. }
//! ```
//!
//! Loops and branches between loads prevent the device's compiler from doing this. Loads under a condition stay where
//! they are. (Sparse iteration space transformations, listing A.2: values precomputed in an unrolled loop.)

use crate::ids::Var;
use crate::ir::flow::{assigned, count, mentions, replace};
use crate::ir::{ArrayRole, Expr, Function, Stmt};
use crate::transform::affine::{most_iterations, shifted};
use crate::transform::{Target, by_iterations, fresh, rewrite};
use std::collections::BTreeMap;

/// The number of iterations that load together.
const ITERATIONS: i64 = 4;
/// The number if they add to several sums, each of which has loads of its own.
const OF_SUMS: i64 = 2;
/// The number if a loop has at most `SHORT` iterations: all of them together, or half.
const OF_SHORT: i64 = 8;
const SHORT: i64 = 16;
/// The largest number of statements of a body that is worth copying.
const MOST: usize = 28;

/// The pass.
pub(in crate::transform) fn loads_first(mut function: Function, target: Target) -> Function {
    if !target.gpu {
        return function;
    }
    let body = std::mem::take(&mut function.body);
    let body = rewrite(body, &mut |s| loading(&mut function, s));
    Function { body, ..function }
}

fn loading(function: &mut Function, s: &Stmt) -> Option<Vec<Stmt>> {
    let Stmt::For { var, lo, hi, step: 1, body } = s else { return None };
    let most = most_iterations(lo, hi);
    let adds = |s: &&Stmt| match s {
        Stmt::Assign { var, value } => {
            mentions(value, *var) && function.vars[*var].ty.register.is_float()
        }
        _ => false,
    };
    let sums = body.iter().filter(adds).count();
    let plain = |s: &Stmt| matches!(s, Stmt::Assign { .. } | Stmt::Store { .. } | Stmt::Comment(_));
    let branches = body.iter().any(|s| matches!(s, Stmt::If { .. } | Stmt::While { .. }));
    let known = body.iter().all(|s| plain(s) || matches!(s, Stmt::If { .. } | Stmt::While { .. }));
    let iterations = match most {
        Some(most @ ..=SHORT) => OF_SHORT.min(1 << most.max(1).ilog2()),
        _ if sums > 1 => OF_SUMS,
        _ => ITERATIONS,
    };
    if iterations < 2 || !(branches || sums > 1) || !known || has_loops(body) || count(body) > MOST
    {
        return None;
    }
    let mut loads = Loads::of(*var, body);
    let body_of_one: Vec<Stmt> = body.iter().map(|s| loads.taken(function, s)).collect();
    let Loads { found, .. } = loads;
    if !found.iter().any(|(_, load)| mentions(load, *var)) {
        return None;
    }
    let (mut first, mut then) = (vec![], vec![]);
    for k in 0..iterations {
        let mut own: Vec<(Var, Expr)> = vec![];
        let named = |e: Expr, own: &[(Var, Expr)]| {
            let e = shifted(e, *var, k);
            own.iter().fold(e, |e, (of, by)| replace(e, *of, by))
        };
        for (held, load) in &found {
            // Loop-invariant values are loaded once in any case.
            let same = !mentions(load, *var) && own.iter().all(|(of, _)| !mentions(load, *of));
            if k > 0 && same {
                continue;
            }
            let (name, ty) = (function.vars[*held].name.clone(), function.vars[*held].ty);
            let at = if k == 0 { *held } else { fresh(function, &name, ty) };
            first.push(Stmt::Assign { var: at, value: named(load.clone(), &own) });
            if !same {
                own.push((*held, Expr::Var(at)));
            }
        }
        then.extend(body_of_one.iter().map(|s| with(s.clone(), &|e| named(e, &own))));
    }
    let several = [first, then].concat();
    Some(by_iterations(function, (*var, lo, hi), (iterations, several), body))
}

fn has_loops(block: &[Stmt]) -> bool {
    let is_loop = |s: &Stmt| matches!(s, Stmt::For { .. } | Stmt::Parallel { .. });
    block.iter().any(|s| is_loop(s) || s.blocks().any(has_loops))
}

/// A statement with every expression replaced.
fn with(s: Stmt, f: &dyn Fn(Expr) -> Expr) -> Stmt {
    s.map_children(&mut |e| f(e), &mut |b| b.into_iter().map(|s| with(s, f)).collect())
}

/// Loads of operands that every iteration does, whatever earlier iterations did.
struct Loads {
    /// Variables that iterations assign, and the loop's variable.
    own: Vec<Var>,
    /// Those of them that follow from the loop's variable and from loads, with their values.
    follow: BTreeMap<Var, Expr>,
    /// The loads, and the variables that hold them.
    found: Vec<(Var, Expr)>,
    /// Variables that are assigned more than once.
    again: Vec<Var>,
}

impl Loads {
    fn of(var: Var, body: &[Stmt]) -> Loads {
        let mut own = vec![];
        assigned(body, &mut own);
        let count = |v: &Var| own.iter().filter(|o| *o == v).count();
        let again = own.iter().copied().filter(|v| count(v) > 1).collect();
        Loads { own, follow: BTreeMap::from([(var, Expr::Var(var))]), found: vec![], again }
    }

    /// A statement of the body, reading variables instead of loading.
    fn taken(&mut self, function: &mut Function, s: &Stmt) -> Stmt {
        match s {
            Stmt::Assign { var, value } => {
                let value = self.held(function, value.clone());
                if !self.again.contains(var)
                    && let Some(follows) = self.following(&value)
                {
                    self.follow.insert(*var, follows);
                }
                Stmt::Assign { var: *var, value }
            }
            Stmt::Store { .. } => {
                s.clone().map_children(&mut |e| self.held(function, e), &mut |b| b)
            }
            Stmt::If { cond, then, otherwise } => Stmt::If {
                cond: self.held(function, cond.clone()),
                then: then.clone(),
                otherwise: otherwise.clone(),
            },
            _ => s.clone(),
        }
    }

    /// An expression, reading variables instead of loading.
    fn held(&mut self, function: &mut Function, e: Expr) -> Expr {
        match e {
            Expr::AndThen(a, b) => Expr::AndThen(Box::new(self.held(function, *a)), b),
            Expr::Load { array, index, lanes: 1 }
                if function.arrays[array].role == ArrayRole::Input =>
            {
                let index = Box::new(self.held(function, *index));
                let Some(at) = self.following(&index) else {
                    return Expr::Load { array, index, lanes: 1 };
                };
                let load = Expr::Load { array, index: Box::new(at), lanes: 1 };
                if let Some((var, _)) = self.found.iter().find(|(_, other)| *other == load) {
                    return Expr::Var(*var);
                }
                let (name, ty) = (function.arrays[array].name.clone(), function.type_of(&load));
                let var = fresh(function, &format!("{name}_at"), ty);
                self.found.push((var, load));
                Expr::Var(var)
            }
            e => e.map_children(&mut |e| self.held(function, e)),
        }
    }

    /// An expression in terms of the loop's variable and loaded values, if it follows from these.
    fn following(&self, e: &Expr) -> Option<Expr> {
        let mut follows = true;
        e.walk(&mut |e| match e {
            Expr::Var(v) => follows &= !self.own.contains(v) || self.follow.contains_key(v),
            Expr::Load { .. } | Expr::Len(_) => follows = false,
            _ => {}
        });
        follows.then(|| self.by_known(e.clone()))
    }

    fn by_known(&self, e: Expr) -> Expr {
        match e {
            Expr::Var(v) => self.follow.get(&v).cloned().unwrap_or(Expr::Var(v)),
            e => e.map_children(&mut |e| self.by_known(e)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;

    fn transformed(body: &str, target: Target) -> String {
        let head = "fn f(n: i64, pos: in [i32], crd: in [i32], A: in [f64], x: in [f64], y: out [f64]) {\n  \
                    var i, j, p, q: i64\n  var s, t: f64\n";
        let function = parse(&format!("{head}{body}\n}}\n")).unwrap_or_else(|d| panic!("{d}"));
        let text = loads_first(function, target).to_string();
        let lines = text.lines().map(str::trim).filter(|l| !l.starts_with("var"));
        lines.skip(1).collect::<Vec<_>>().join(" ")
    }

    fn on_gpu(body: &str) -> String {
        transformed(body, Target::GPU)
    }

    /// An entry whose row is searched, and a sum that is stored at the end of the row.
    fn entry(p: &str, j: &str, a: &str, x: &str) -> String {
        format!(
            "while pos[i + 1] <= {p} {{ i = i + 1 }} j = {j} if i == q {{ s = s + {a} * {x} }} \
                 else {{ y[q] = s q = i s = {a} }}"
        )
    }

    #[test]
    fn loads_that_do_not_wait_for_branches_come_first() {
        let at = |p: &str| {
            let own = "t = A[p] * x[j] if i == q { s = s + t } else { y[q] = s q = i s = t }";
            format!(
                "while pos[i + 1] <= {p} {{ i = i + 1 }} j = crd[{p}] {}",
                own.replace("[p]", &format!("[{p}]"))
            )
        };
        let text = on_gpu(&format!("for p in 0..n {{ {} }}", at("p")));
        let loads = "crd_at = crd[p] A_at = A[p] x_at = x[crd_at] crd_at_2 = crd[p + 1] A_at_2 = A[p + 1] \
                     x_at_2 = x[crd_at_2] crd_at_3 = crd[p + 2]";
        assert!(text.contains(&format!("for p in p_first..p_mid step 4 {{ {loads}")), "{text}");
        let first = "while pos[i + 1] <= p { i = i + 1 } j = crd_at t = A_at * x_at if i == q";
        assert!(text.contains(first), "{text}");
        assert!(text.contains("while pos[i + 1] <= p + 3 { i = i + 1 } j = crd_at_4"), "{text}");
        assert!(text.ends_with(&format!("for p in p_mid..p_hi {{ {} }} }}", at("p"))), "{text}");
        // Short loops are a single step.
        let short = on_gpu(&format!("for p in 0..min(n, 8) {{ {} }}", at("p")));
        assert!(short.contains("for p in p_first..p_mid step 8"), "{short}");
    }

    #[test]
    fn loads_under_conditions_and_after_searches_stay() {
        let kept = |body: String| assert_eq!(on_gpu(&body), format!("{body} }}"));
        // No load happens in every iteration independently of earlier ones.
        kept("for p in 0..n { if i == q { s = s + A[p] } else { s = A[p] } q = p }".to_owned());
        kept("for p in 0..n { while i < p { i = i + 1 } if x[i] < s { s = x[i] } }".to_owned());
        // Too few iterations, inner loops, and a single sum, which has several accumulators instead.
        let few = entry("p", "crd[p]", "A[p]", "x[p]");
        kept(format!("for p in 0..min(n, 1) {{ {few} }}"));
        kept(
            "for p in 0..n { for q in 0..n { s = s + A[q] } if crd[p] < 3 { s = 0.0 } }".to_owned(),
        );
        kept("for p in 0..n { s = fma(A[p], x[p], s) }".to_owned());
        let one = format!("for p in 0..n {{ {few} }}");
        assert_eq!(transformed(&one, Target::SCALAR), format!("{one} }}"));
    }

    #[test]
    fn what_is_the_same_in_all_iterations_is_loaded_once() {
        let sums = "s = fma(A[p], x[j], s) t = fma(A[p + 1], x[j], t)";
        let text = on_gpu(&format!("for p in 0..n {{ {sums} }}"));
        let loads =
            "A_at = A[p] x_at = x[j] A_at_2 = A[p + 1] A_at_3 = A[p + 1] A_at_2_2 = A[p + 2]";
        assert!(text.contains(&format!("step 2 {{ {loads} s = fma(A_at, x_at, s)")), "{text}");
    }
}
