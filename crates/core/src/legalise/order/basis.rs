//! The variables over which the loops of a task may run: those of the notation, or of the levels of an operand or the
//! result, which may store functions of them.
//!
//! ```text
//! y(i) = A(i,j) * x(j)       i, j        A: csr
//!                            i0 j0 i1 j1 A: bcsr(4,4)    i and j follow
//!                            d i         A: dia          j follows
//!                            s i j       A: ell
//! ```

use crate::format::LevelMap;
use crate::legalise::{Context, Task};
use crate::notation::Access;
use tamis_ir::ids::IndexVar;

/// How many bases are weighed, beside the variables of the notation.
const MAX_BASES: usize = 8;

/// The bases worth considering, each in a first order.
pub(in crate::legalise) fn bases(
    cx: &Context<'_>,
    task: &Task,
    accesses: &[Access],
) -> Vec<Vec<IndexVar>> {
    let plain = plain_basis(cx, task);
    let mut bases = vec![];
    let result = (task.result, task.vars.as_slice());
    let uses = accesses.iter().map(|a| (a.tensor, a.indices.as_slice()));
    for (tensor, indices) in uses.chain([result]) {
        if bases.len() >= MAX_BASES {
            break;
        }
        let format = &cx.program.storage(tensor).format;
        let has = |of: &dyn Fn(LevelMap) -> bool| format.levels().iter().any(|l| of(l.map));
        let outer = indices.iter().all(|v| plain.contains(v));
        let repeats = (1..indices.len()).any(|k| indices[..k].contains(&indices[k]));
        // The difference of the coordinates of `A(i,i)` is always 0, and its slots follow from the row: these need no
        // loops.
        let fixed = |map| repeats && matches!(map, LevelMap::Diff { .. } | LevelMap::Slot(_));
        let is_mapped = has(&|map| !matches!(map, LevelMap::Mode(_)));
        if !is_mapped || !outer || has(&fixed) {
            continue;
        }
        let is_result = (tensor, indices) == (task.result, &task.vars[..]);
        let slots = |v: &IndexVar| cx.program.derived.slots(*v).is_some();
        if is_result && cx.program.level_vars(tensor, indices).iter().any(slots) {
            continue;
        }
        let levels = cx.program.level_vars(tensor, indices);
        let mut found = vec![basis_of(cx, levels.clone(), &plain)];
        if is_result {
            found.push(basis_of(cx, outer_blocks(cx, task, &levels), &plain));
        }
        for basis in found {
            if !bases.contains(&basis) && is_independent(cx, &basis) {
                bases.push(basis);
            }
        }
    }
    // Orders are tried in turn, and of equally cheap ones the first is chosen.
    bases.push(plain);
    bases
}

/// The loops over the variables of the notation: those of the result, then those reduced.
fn plain_basis(cx: &Context<'_>, task: &Task) -> Vec<IndexVar> {
    let mut vars = cx.storage_order(task);
    if let crate::notation::Expr::Reduce { vars: reduced, .. } = &task.value {
        vars.extend(reduced);
    }
    vars
}

/// The loops over the outermost blocks of a result, the offsets in them, and variables of the notation.
pub(in crate::legalise) fn block_basis(cx: &Context<'_>, task: &Task) -> Vec<IndexVar> {
    let levels = cx.program.level_vars(task.result, &task.vars);
    basis_of(cx, outer_blocks(cx, task, &levels), &plain_basis(cx, task))
}

/// The outermost levels of a result down to the first sparse one, and the offsets in their blocks: loops over these
/// write one row of blocks after another.
fn outer_blocks(cx: &Context<'_>, task: &Task, vars: &[IndexVar]) -> Vec<IndexVar> {
    let levels = cx.program.storage(task.result).format.levels();
    let full = levels.iter().take_while(|l| l.kind.properties().full).count();
    let place = |var: &IndexVar| match cx.program.derived.map(*var) {
        Some(LevelMap::Div(i, size)) => cx.program.derived.var(LevelMap::Mod(i, size)),
        _ => None,
    };
    let places: Vec<IndexVar> = vars[..full].iter().filter_map(place).collect();
    [&vars[..full], &places].concat()
}

/// The loops over some levels, and over the variables that do not follow from these.
fn basis_of(cx: &Context<'_>, levels: Vec<IndexVar>, plain: &[IndexVar]) -> Vec<IndexVar> {
    let mut basis: Vec<IndexVar> = vec![];
    for var in levels.iter().chain(plain) {
        if !cx.follows(*var, &basis) {
            basis.push(*var);
        }
    }
    basis
}

/// Whether no variable follows from the others: a loop over one that did would visit coordinates repeatedly, or wrong
/// ones.
fn is_independent(cx: &Context<'_>, basis: &[IndexVar]) -> bool {
    let others = |k: usize| [&basis[..k], &basis[k + 1..]].concat();
    (0..basis.len()).all(|k| !cx.follows(basis[k], &others(k)))
}
