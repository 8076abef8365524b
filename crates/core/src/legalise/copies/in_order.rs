//! Copies of operands with levels in loop order: their formats, and reads of them.

use super::transpose::is_dense;
use crate::format::Format;
use crate::legalise::Context;
use crate::level::{COMPRESSED, DENSE};
use crate::notation::{Access, Expr};
use tamis_ir::ids::IndexVar;

/// The format of a copy of an operand with levels in the order of these variables. The first level is dense, and so
/// locates rows, if the operand's first level is full or it has enough entries. Implicit coordinates stay implicit;
/// the copy of a dense tensor is dense.
pub(in crate::legalise) fn copy_format(
    cx: &Context<'_>,
    access: &Access,
    vars: &[IndexVar],
) -> Format {
    let format = &cx.program.storage(access.tensor).format;
    if is_dense(format) {
        return Format::in_order(vec![DENSE; vars.len()]);
    }
    let full = format.levels().first().is_some_and(|level| level.kind.properties().full);
    let rows = match vars {
        [first, _, ..] => cx.is_small(*first) && (full || cx.fills_rows(access, *first)),
        [first] => cx.is_small(*first) && format.is_full(),
        [] => false,
    };
    let first = if rows { DENSE } else { COMPRESSED };
    let kind = |k| if k == 0 { first } else { COMPRESSED };
    Format::in_order((0..vars.len()).map(kind))
}

/// The variables of an access, each once, in the order in which loops give them values; variables of inner reductions
/// come last.
pub(in crate::legalise) fn copy_order(
    cx: &Context<'_>,
    access: &Access,
    loops: &[IndexVar],
) -> Vec<IndexVar> {
    let mut order: Vec<IndexVar> = vec![];
    for &v in &access.indices {
        if !order.contains(&v) {
            order.push(v);
        }
    }
    order.sort_by_key(|&v| cx.depth(v, loops));
    order
}

/// The access with a variable of its own for each mode, if it repeats a variable and is not plain.
pub(in crate::legalise) fn with_distinct_indices(cx: &mut Context<'_>, access: &Access) -> Access {
    let mut distinct = access.clone();
    if cx.program.storage(access.tensor).format.is_plain() {
        return distinct;
    }
    for k in 0..distinct.indices.len() {
        let var = distinct.indices[k];
        if distinct.indices[..k].contains(&var) {
            distinct.indices[k] = cx.another(var);
        }
    }
    distinct
}

/// A value that reads a copy of an operand.
pub(in crate::legalise) fn replace(e: Expr, access: &Access, copy: &Expr) -> Expr {
    match e {
        Expr::Access(a) if a == *access => match copy {
            // The copy takes the span of the operand.
            Expr::Access(copy) => Expr::Access(Access { span: a.span, ..copy.clone() }),
            _ => copy.clone(),
        },
        _ => e.map_children(&mut |child| replace(child, access, copy)),
    }
}
