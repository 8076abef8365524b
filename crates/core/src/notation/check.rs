//! Rules that the grammar does not express, each with its advice.
//!
//! On the left side, a variable occurs once if there are slices; a reduction names no variable that is already bound;
//! a tensor is overwritten once, before it is read; a user operator is an expression over its own parameters, and
//! reduces only if order does not matter.

use super::lex::is_name;
use super::words::builtin;
use super::{Commutativity, Expr, Operator, Program, Statement};
use crate::format::MAX_ORDER;
use std::collections::BTreeSet;
use std::ops::Range;
use tamis_ir::algebra::{BinaryOp, ReduceOp};
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::{Id, IndexVar};

/// Checks that the left side names each variable once if it has slices. Without slices, `A(i,i)` is a diagonal.
pub(super) fn result_variables(
    source: &str,
    indices: impl Iterator<Item = Range<usize>>,
    is_sliced: bool,
) -> Result<(), Diagnostic> {
    let mut seen = vec![];
    for span in indices {
        let name = &source[span.clone()];
        if is_sliced && seen.contains(&name) {
            let message = format!("the left side names {name} twice, and a slice");
            let help = "write the diagonal of a tensor without slices, then add that to slices";
            return Err(Diagnostic::new(Code::ResultVariable, message).at(source, span).help(help));
        }
        seen.push(name);
    }
    Ok(())
}

/// The largest number of index variables in a statement.
const MAX_VARS: usize = 64;

/// The largest number of operands in a statement: uses of tensors and variables, and numbers.
const MAX_OPERANDS: usize = 256;

/// Checks that a use of a tensor has at most as many indices as a tensor may have modes.
pub(super) fn order(source: &str, span: &Range<usize>, order: usize) -> Result<(), Diagnostic> {
    if order <= MAX_ORDER {
        return Ok(());
    }
    let message = format!("a tensor has at most {MAX_ORDER} modes, and this one {order}");
    Err(too_large(source, span, message, "fuse some of its modes"))
}

/// Checks the numbers of variables and operands of a statement.
pub(super) fn sizes(source: &str, statement: &Statement) -> Result<(), Diagnostic> {
    let mut vars: BTreeSet<IndexVar> = statement.result.indices.iter().copied().collect();
    let mut operands = 0;
    statement.value.walk(&mut |e| {
        operands += usize::from(e.children().is_empty());
        match e {
            Expr::Access(access) => vars.extend(&access.indices),
            Expr::Index(var) => vars.extend([*var]),
            Expr::Reduce { vars: bound, .. } => vars.extend(bound),
            _ => {}
        }
    });
    let most = [(vars.len(), MAX_VARS, "index variables"), (operands, MAX_OPERANDS, "operands")];
    match most.into_iter().find(|(count, most, _)| count > most) {
        None => Ok(()),
        Some((count, most, what)) => {
            let message = format!("a statement has at most {most} {what}, and this one {count}");
            Err(too_large(source, &statement.span, message, "split it into several statements"))
        }
    }
}

fn too_large(source: &str, span: &Range<usize>, message: String, help: &str) -> Diagnostic {
    Diagnostic::new(Code::TooLarge, message).at(source, span.clone()).help(help)
}

/// The diagnostic for a reduction over a variable that the left side or an outer reduction binds.
pub(super) fn bound_twice(source: &str, span: &Range<usize>) -> Diagnostic {
    let name = &source[span.clone()];
    let message = format!("{name} is bound already, by the left side or by a reduction around");
    let diagnostic = Diagnostic::new(Code::BoundVariable, message).at(source, span.clone());
    diagnostic.help("reduce over another variable")
}

/// Checks that a tensor is overwritten once, before any other statement reads it, accumulates into it or writes a
/// slice of it.
pub(super) fn order_of_statements(program: &Program) -> Result<(), Diagnostic> {
    let refuse = |message: String, span: &Range<usize>, help: String| {
        let diagnostic = Diagnostic::new(Code::ResultRedefined, message);
        Err(diagnostic.at(&program.source, span.clone()).help(help))
    };
    // For each tensor, the first use by a statement before the tensor was written, and whether it was written.
    let mut read = vec![None; program.tensors.len()];
    let mut written = vec![false; program.tensors.len()];
    for statement in &program.statements {
        let result = &statement.result;
        let tensor = result.tensor.index();
        let name = &program.tensors[result.tensor].name;
        if let Some(span) = &read[tensor]
            && !written[tensor]
        {
            let message = format!("{name} is read before the statement that writes it");
            let help = format!("write {name} first, or give one of the two another name");
            return refuse(message, span, help);
        }
        let whole = !result.is_sliced();
        if written[tensor] && whole && statement.accumulate.is_none() {
            let message = format!("{name} is overwritten by a second statement");
            let help = format!("accumulate with {name} += ..., or use another name");
            return refuse(message, &result.span, help);
        }
        for access in statement.value.accesses() {
            if access.tensor != result.tensor {
                read[access.tensor.index()].get_or_insert(access.span.clone());
            }
        }
        written[tensor] = true;
    }
    Ok(())
}

/// Checks that a variable that is used as a value, or bound by `min(j, ...)` and the like, is also an index, or bound
/// by `sum(j, ...)`. Otherwise `min(j, ...)` would be parsed as a function of a scalar.
pub(super) fn indexed(program: &Program, statement: &Statement) -> Result<(), Diagnostic> {
    use ReduceOp::{Add, And, Max, Min, Mul, Or, User};
    let mut indices = statement.result.indices.clone();
    let mut values = vec![];
    statement.value.walk(&mut |e| match e {
        Expr::Access(access) => indices.extend(&access.indices),
        Expr::Index(var) => values.push(*var),
        Expr::Reduce { op: Min | Max | User(_), vars, .. } => values.extend(vars),
        Expr::Reduce { op: Add | Mul | Or | And, vars, .. } => indices.extend(vars),
        _ => {}
    });
    let Some(var) = values.into_iter().find(|var| !indices.contains(var)) else { return Ok(()) };
    let name = &program.vars[var].name;
    let message = format!("{name} is not an index of any tensor in the statement");
    let help = format!("use it as an index, so that its dimension is known: a({name})");
    Err(Diagnostic::new(Code::DimensionUnknown, message).help(help))
}

/// Checks that a user operator that reduces is declared to combine values in any order.
pub(super) fn combines(
    source: &str,
    span: &Range<usize>,
    operator: &Operator,
) -> Result<(), Diagnostic> {
    let name = &operator.name;
    let (message, help) = if operator.arity != 2 {
        let message = format!("{name} takes one argument and cannot combine values");
        (message, "reduce with an operator of two arguments")
    } else if operator.properties.commutative == Commutativity::Ordered {
        let message = format!("{name} is not declared commutative and cannot combine values");
        (message, "declare it commutative if it is")
    } else if operator.properties.identity.is_none() {
        (format!("{name} has no identity to start from"), "declare its identity")
    } else {
        return Ok(());
    };
    Err(Diagnostic::new(Code::ArgumentCount, message).at(source, span.clone()).help(help))
}

/// Checks that a user operator has a unique name, and a body over its parameters.
pub(super) fn operator(operator: &Operator, others: &[Operator]) -> Result<(), Diagnostic> {
    let name = &operator.name;
    let refuse = |code, message: String, help: &str| Err(Diagnostic::new(code, message).help(help));
    if !is_name(name) {
        let message = format!("{name:?} cannot be the name of an operator");
        return refuse(Code::Syntax, message, "a name is made of letters, digits and _");
    }
    if builtin(name).is_some() || others.iter().any(|other| other.name == *name) {
        let message = format!("there is already a function named {name}");
        return refuse(Code::Syntax, message, "choose another name for the operator");
    }
    if !(1..=2).contains(&operator.arity) {
        let message = format!("the operator {name} takes {} operands", operator.arity);
        return refuse(Code::ArgumentCount, message, "operators take one or two");
    }
    let mut foreign = false;
    operator.body.walk(&mut |e| {
        foreign |= match e {
            Expr::Param(k) => *k >= operator.arity,
            Expr::Literal(_) | Expr::Unary(..) => false,
            Expr::Binary(op, ..) => matches!(op, BinaryOp::User(_)),
            Expr::Access(_)
            | Expr::Index(_)
            | Expr::UserUnary(..)
            | Expr::Reduce { .. }
            | Expr::Choose { .. } => true,
        };
    });
    if foreign {
        let message = format!("the operator {name} uses more than its operands and numbers");
        return refuse(Code::Syntax, message, "build its value from its operands and functions");
    }
    Ok(())
}
