//! `loopfuse(n)`: loops that operands do not share become separate loops, n times.
//!
//! ```text
//! forall(i, forall(j, forall(k, forall(l, A(i,l) += B(i,j) * C(i,k) * D(j,k) * E(j,l)))))
//!                                                                               loopfuse(1)
//! forall(i, forall(j, where(forall(l, A(i,l) += E(j,l) * s),
//!                           forall(k, s += B(i,j) * C(i,k) * D(j,k)))))
//! ```
//!
//! Fusion after distribution (SparseLNR, algorithm 1): the value without its last operand, or without a named one, is
//! computed beforehand; the leading loops that both have in common are shared, and the part below them is summed into
//! a number, or into a workspace over the other variables that both have. The next time, the precomputed part is
//! split.

use super::expression;
use super::precompute::{self, Loops, Split};
use super::scheduler::Scheduler;
use crate::cin::simplify::written;
use crate::cin::{Stmt, print};
use crate::notation::Expr;
use crate::schedule::path::{Side, Way};
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::IndexVar;

const TIMES: usize = 0;
const OPERAND: usize = 1;

pub(super) fn loopfuse(
    s: &mut Scheduler<'_>,
    times: u64,
    operand: Option<&str>,
) -> Result<(), Diagnostic> {
    let body = s.kernel().body.clone();
    let operand = operand.map(|text| expression::read(s, OPERAND, text)).transpose()?;
    let body = apart(s, &body, &mut Loops::default(), times, operand.as_ref())?;
    s.kernel_mut().body = body;
    s.declare_uses();
    Ok(())
}

/// A nest split `times` times.
fn apart(
    s: &mut Scheduler<'_>,
    stmt: &Stmt,
    outer: &mut Loops,
    times: u64,
    operand: Option<&Expr>,
) -> Result<Stmt, Diagnostic> {
    if times == 0 {
        return Ok(stmt.clone());
    }
    let way = Way::down(stmt);
    let Stmt::Assign { lhs, rhs, .. } = way.leaf else {
        return Err(nothing(s, "what is computed is the result of several statements".to_owned()));
    };
    let (part, rest) = match operand {
        Some(operand) => expression::without(rhs, operand).map(|part| (part, operand.clone())),
        None => expression::without_last(rhs),
    }
    .ok_or_else(|| nothing(s, unsplit(s, rhs, operand)))?;
    let sides = way.sides(s, &outer.all, lhs, (&part, &rest), false);
    for (wanted, own, others) in [(Side::Part, &part, &rest), (Side::Rest, &rest, &part)] {
        let mut loops = way.elements.iter().zip(&sides);
        if !loops.any(|(e, side)| e.var().is_some() && *side == wanted) {
            let [own, others] = [own, others].map(|e| print::expr(&s.program, e));
            return Err(nothing(
                s,
                format!("every loop of {own} is also one of {others}, or of the result"),
            ));
        }
    }
    let begin = sides.iter().take_while(|side| **side == Side::Both).count();
    let both = way.elements.iter().zip(&sides).skip(begin).filter(|(_, s)| **s == Side::Both);
    let vars: Vec<(IndexVar, IndexVar)> =
        both.filter_map(|(element, _)| element.var()).map(|v| (v, v)).collect();
    vars.iter().try_for_each(|&(var, _)| s.check_sized(TIMES, var))?;
    let workspace = fresh(s);
    let split = Split { part, vars, workspace: &workspace, kind: None };
    let done = precompute::apart(s, &way, &split, outer)?;
    deeper(s, &done, &workspace, outer, times - 1)
}

/// The nest, with the part that is computed into a workspace split further.
fn deeper(
    s: &mut Scheduler<'_>,
    stmt: &Stmt,
    workspace: &str,
    outer: &mut Loops,
    times: u64,
) -> Result<Stmt, Diagnostic> {
    Ok(match stmt {
        Stmt::Forall { var, body } => {
            outer.all.push(*var);
            let body = deeper(s, body, workspace, outer, times);
            outer.all.pop();
            Stmt::Forall { var: *var, body: Box::new(body?) }
        }
        Stmt::Where { consumer, producer } => {
            let is_own = s.program.tensors[written(producer)].name == workspace;
            let mut anew = Loops { begun: outer.all.len(), later: false, all: outer.all.clone() };
            match is_own {
                true => Stmt::Where {
                    consumer: consumer.clone(),
                    producer: Box::new(apart(s, producer, &mut anew, times, None)?),
                },
                false => Stmt::Where {
                    consumer: Box::new(deeper(s, consumer, workspace, outer, times)?),
                    producer: producer.clone(),
                },
            }
        }
        s => s.clone(),
    })
}

/// Why a value has no operand to split off.
fn unsplit(s: &Scheduler<'_>, value: &Expr, operand: Option<&Expr>) -> String {
    let value = print::expr(&s.program, value);
    match operand {
        Some(operand) => {
            let operand = print::expr(&s.program, operand);
            format!("{operand} is no operand of the outermost operator of {value}")
        }
        None => format!("{value} has no operands that an operator such as * or + joins"),
    }
}

fn nothing(s: &Scheduler<'_>, why: String) -> Diagnostic {
    let message = format!("loopfuse finds nothing to split off: {why}");
    let help = "name another operand, as in loopfuse(1, E(j,l)), or fuse fewer times".to_owned();
    s.refuse(TIMES, message, help)
}

/// A name for a workspace.
fn fresh(s: &Scheduler<'_>) -> String {
    let taken = |name: &str| {
        s.program.tensors.iter().any(|t| t.name == name) || s.program.vars.iter().any(|v| v == name)
    };
    let names = std::iter::once("w".to_owned()).chain((2..).map(|k| format!("w_{k}")));
    names.into_iter().find(|name| !taken(name)).unwrap_or_default()
}
