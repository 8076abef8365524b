//! Making a pair small, as long as one of it takes too much.

use super::comparison::{Pair, Verdict, pair, taken};
use crate::case::Case;
use tamis_core::notation::{self, Expr, Program};

/// A smaller pair that still has the verdict's kind.
pub fn shrink(start: &Pair, seed: u64) -> Pair {
    let mut best = start.clone();
    loop {
        let smaller =
            candidates(&best.case).into_iter().find_map(|case| failing(&case, start, seed));
        match smaller {
            Some(smaller) => best = smaller,
            None => return best,
        }
    }
}

/// The pair of a smaller case, if it fails as the first one did.
fn failing(case: &Case, first: &Pair, seed: u64) -> Option<Pair> {
    let attempt = || {
        let before = taken(case).ok()?;
        let pair = pair(case, &before, first.transformation, seed)?.ok()?;
        let same = match (pair.verdict(), first.verdict()) {
            (Verdict::Cliff(a), Verdict::Cliff(b)) => a == b,
            (Verdict::Differs(_), Verdict::Differs(_)) => true,
            _ => false,
        };
        same.then_some(pair)
    };
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(attempt)).ok().flatten()
}

fn candidates(case: &Case) -> Vec<Case> {
    let Ok(program) = notation::parse(&case.text) else { return vec![] };
    let mut found: Vec<Case> = smaller(&program).iter().map(|p| with_text(case, p)).collect();
    for k in 0..case.operands.len() {
        for format in ["dense", "csr", "coo", "csf", "sparse"] {
            let mut simpler = case.clone();
            let old = &case.operands[k].format;
            let levels = old.split('{').next().unwrap_or_default();
            if levels == format || ["dense", "csr", "coo", "csf", "sparse"].contains(&levels) {
                continue;
            }
            let braces = old.find('{').map_or("", |at| &old[at..]);
            simpler.operands[k].format = format!("{format}{braces}");
            found.push(simpler);
        }
    }
    for name in case.results.keys() {
        let mut simpler = case.clone();
        simpler.results.remove(name);
        found.push(simpler);
    }
    found
}

/// The case with another program, without the operands that it lacks.
fn with_text(case: &Case, program: &Program) -> Case {
    let text = program.to_string();
    let mut new = Case { text, ..case.clone() };
    if let Ok(program) = notation::parse(&new.text) {
        new.operands.retain(|o| program.tensor(&o.name).is_some());
        new.results.retain(|name, _| program.tensor(name).is_some());
        new.dims.retain(|v, _| program.var(v).is_some());
    }
    new
}

/// Programs with a statement less, or with an operand instead of an expression of several.
fn smaller(program: &Program) -> Vec<Program> {
    let mut found = vec![];
    for k in 0..program.statements.len() {
        if program.statements.len() > 1 {
            let mut fewer = program.clone();
            fewer.statements.remove(k);
            found.push(fewer);
        }
        for value in parts(&program.statements[k].value) {
            let mut simpler = program.clone();
            simpler.statements[k].value = value;
            found.push(simpler);
        }
    }
    found
}

/// The expression with one of its expressions replaced by an operand of that.
fn parts(e: &Expr) -> Vec<Expr> {
    let children = e.children();
    let mut found: Vec<Expr> = match e {
        Expr::Reduce { .. } => vec![],
        _ => children.iter().map(|c| (*c).clone()).collect(),
    };
    for (k, child) in children.iter().enumerate() {
        for part in parts(child) {
            let mut at = 0;
            found.push(e.clone().map_children(&mut |c| {
                at += 1;
                if at == k + 1 { part.clone() } else { c }
            }));
        }
    }
    found
}
