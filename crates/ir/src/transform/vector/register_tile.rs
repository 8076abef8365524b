//! Dense inner loops are tiled into vector registers, across the loops that sum into them.
//!
//! ```text
//! for p in row { for j in 0..n { C[c + j] = fma(A[p], B[k * n + j], C[c + j]) } }
//!
//! for j in 0..n/16*16 step 16 {
//!   t0 = C[c + j; 8]; t1 = C[c + j + 8; 8]
//!   for p in row { t0 = fma(splat(A[p]), B[k * n + j; 8], t0); t1 = .. }
//!   C[c + j; 8] = t0; C[c + j + 8; 8] = t1
//! }
//! for p in row { for j in n/16*16..n { .. } }
//! ```
//!
//! Narrower tiles take the rest that wider ones leave; the last one is half a vector wide if vectors are wide. Each
//! element is summed in the same order as before, so the bits do not depend on the tile. If the elements were filled
//! with a value just before, the tiles start from it instead of loading.

use crate::algebra::BinaryOp;
use crate::datatype::DataType;
use crate::ids::{Array, Var};
use crate::ir::build::{add, assign, binary, int, lt, mul, when};
use crate::ir::flow::{assigned, mentions};
use crate::ir::{Expr, Function, Stmt, Type};
use crate::transform::affine::{
    Scattered, beside, exchange, inlined, is_carried_in, loads, shifted, widened,
};
use crate::transform::{Target, fresh};

/// The pass.
pub(in crate::transform) fn register_tile(mut function: Function, target: Target) -> Function {
    if target.vector_bytes == 0 {
        return function;
    }
    let body = std::mem::take(&mut function.body);
    let body = block(&mut function, body, target);
    Function { body, ..function }
}

fn block(function: &mut Function, stmts: Vec<Stmt>, target: Target) -> Vec<Stmt> {
    let mut out = vec![];
    for s in stmts {
        match tile_nest(function, &s, out.last(), target) {
            Some(Tiled { stmts, fills }) => {
                if fills {
                    out.pop();
                }
                out.extend(stmts);
            }
            None => {
                out.push(s.map_children(&mut |e| e, &mut |b| block(function, b, target)));
            }
        }
    }
    out
}

/// The tiled nest, and whether it replaces the statement before it.
struct Tiled {
    stmts: Vec<Stmt>,
    fills: bool,
}

/// The dense loop inside a nest.
pub(in crate::transform) struct Inner {
    pub(in crate::transform) var: Var,
    pub(in crate::transform) lo: Expr,
    pub(in crate::transform) hi: Expr,
    pub(in crate::transform) array: Array,
    /// The index of the element for `var` = 0.
    pub(in crate::transform) base: Expr,
    value: Expr,
}

fn tile_nest(
    function: &mut Function,
    s: &Stmt,
    before: Option<&Stmt>,
    target: Target,
) -> Option<Tiled> {
    if !matches!(s, Stmt::For { .. } | Stmt::While { .. }) {
        return None;
    }
    let inner = only_inner(function, std::slice::from_ref(s))?;
    let mut changed = vec![];
    assigned(std::slice::from_ref(s), &mut changed);
    let fixed = |e: &Expr| changed.iter().all(|v| !mentions(e, *v)) && !loads(e);
    let repeatable = !is_carried_in(std::slice::from_ref(s), &changed, &[]);
    let bounded = fixed(&inner.lo) && fixed(&inner.hi);
    if !repeatable || !fixed(&inner.base) || !bounded || !inner.counts_alone(&changed) {
        return None;
    }
    let lanes = inner.lanes(function, target);
    let is_loop_itself = matches!(s, Stmt::For { var, .. } if *var == inner.var);
    let registers = if is_loop_itself { 4 } else { i64::from(target.tile_registers) };
    let name = function.vars[inner.var].name.clone();
    let start = before.and_then(|s| inner.filled_by(s));
    let mut stmts = vec![];
    let mut from = inner.lo.clone();
    if !matches!(from, Expr::Const(_)) {
        let first = fresh(function, &format!("{name}_first"), Type::INDEX);
        stmts.push(assign(first, from));
        from = Expr::Var(first);
    }
    for (registers, lanes) in cascade(registers, lanes, target) {
        let width = registers * lanes;
        let to = fresh(function, &format!("{name}_tiled"), Type::INDEX);
        let rest = binary(BinaryOp::Sub, inner.hi.clone(), from.clone());
        // The bounds of a loop may be reversed.
        let rest = if inner.lo == int(0) { rest } else { binary(BinaryOp::Max, rest, int(0)) };
        let whole = mul(binary(BinaryOp::Div, rest, int(width)), int(width));
        stmts.push(assign(to, add(from.clone(), whole)));
        let body = tiled(function, s, &inner, start.as_ref(), (registers, lanes))?;
        let (lo, hi) = (from, Expr::Var(to));
        stmts.push(Stmt::For { var: inner.var, lo, hi, step: width, body });
        from = Expr::Var(to);
    }
    let rest = with_inner(vec![s.clone()], inner.var, &|stmt| match stmt {
        Stmt::For { var, hi, step, body, .. } => {
            vec![Stmt::For { var, lo: from.clone(), hi, step, body }]
        }
        other => vec![other],
    });
    let fill = start.clone().map(|value| Stmt::Fill {
        array: inner.array,
        lo: add(inner.base.clone(), from.clone()),
        hi: add(inner.base.clone(), inner.hi.clone()),
        value,
    });
    let rest = fill.into_iter().chain(rest).collect();
    stmts.push(when(lt(from, inner.hi.clone()), rest));
    Some(Tiled { stmts, fills: start.is_some() })
}

impl Inner {
    /// The number of elements in a vector, of the widest type in which the loop computes.
    pub(in crate::transform) fn lanes(&self, function: &Function, target: Target) -> i64 {
        let mut widest = function.arrays[self.array].elem.size();
        self.value.walk(&mut |e| {
            let register = function.type_of(e).register;
            if register.is_float() {
                widest = widest.max(register.datatype().size());
            }
        });
        i64::from(target.vector_bytes) / widest as i64
    }

    /// Whether nothing else in a nest, whose assigned variables are given, assigns the variable of this loop or loops
    /// over it: a tile's loop does.
    pub(in crate::transform) fn counts_alone(&self, assigned: &[Var]) -> bool {
        assigned.iter().filter(|v| **v == self.var).count() == 1
    }

    /// Whether the loop adds to the old values of elements.
    pub(in crate::transform) fn accumulates(&self) -> bool {
        contains(&self.value, &self.here(1))
    }

    /// The elements from the current value of the loop's variable on.
    fn here(&self, lanes: u16) -> Expr {
        let index = Box::new(add(self.base.clone(), Expr::Var(self.var)));
        Expr::Load { array: self.array, index, lanes }
    }

    /// The value of all elements, if the statement before the nest fills them with one.
    pub(in crate::transform) fn filled_by(&self, before: &Stmt) -> Option<Expr> {
        (self.lo == int(0)).then_some(())?;
        let Stmt::Fill { array, lo, hi, value: value @ Expr::Const(_) } = before else {
            return None;
        };
        let ends = match &self.base {
            Expr::Binary(BinaryOp::Mul, row, size) => {
                **size == self.hi && *hi == mul(add((**row).clone(), int(1)), self.hi.clone())
            }
            base => *base == int(0) && *hi == self.hi,
        };
        (*array == self.array && *lo == self.base && ends).then(|| value.clone())
    }
}

/// The sizes of tiles, in registers and lanes of each, widest first; narrower ones take the rest.
fn cascade(registers: i64, lanes: i64, target: Target) -> impl Iterator<Item = (i64, i64)> {
    // Narrow machine vectors leave a small rest, and code costs time to compile.
    let is_narrow = target.vector_bytes <= 16;
    let shrink = if is_narrow { 3 } else { 2 };
    let whole = std::iter::successors(Some(registers), move |r| Some(r / shrink));
    let half = (!is_narrow).then_some((1, lanes / 2));
    whole.take_while(|r| *r > 0).map(move |r| (r, lanes)).chain(half)
}

/// The nest for one tile, with accumulators in registers around it.
pub(in crate::transform) fn tiled(
    function: &mut Function,
    s: &Stmt,
    inner: &Inner,
    start: Option<&Expr>,
    (registers, lanes): (i64, i64),
) -> Option<Vec<Stmt>> {
    let register = function.arrays[inner.array].elem.register();
    let ty = Type { register, lanes: lanes as u16 };
    let first = add(inner.base.clone(), Expr::Var(inner.var));
    let place = |k: i64| add(first.clone(), int(k * lanes));
    let here = inner.here(lanes as u16);
    let wide = widened(function, &inner.value, (inner.var, lanes as u16), Scattered::Refused)?;
    let accumulates = contains(&wide, &here);
    let (mut before, mut steps, mut after) = (vec![], vec![], vec![]);
    for k in 0..registers {
        let t = fresh(function, &format!("t{k}"), ty);
        let load = Expr::Load { array: inner.array, index: Box::new(place(k)), lanes: ty.lanes };
        if accumulates {
            let splat = |value: &Expr| Expr::Splat(Box::new(value.clone()), ty.lanes);
            before.push(assign(t, start.map_or(load, splat)));
        }
        let value = exchange(wide.clone(), &here, &Expr::Var(t));
        steps.push(assign(t, shifted(value, inner.var, k * lanes)));
        after.push(Stmt::Store { array: inner.array, index: place(k), value: Expr::Var(t) });
    }
    let is_loop_itself = matches!(s, Stmt::For { var, .. } if *var == inner.var);
    if !accumulates && !is_loop_itself {
        return None;
    }
    let nest = with_inner(vec![s.clone()], inner.var, &|_| steps.clone());
    Some([before, nest, after].concat())
}

/// The dense loop of a nest that contains only that loop's store and names of indices.
fn only_inner(function: &Function, block: &[Stmt]) -> Option<Inner> {
    let mut found = None;
    for s in block {
        match s {
            Stmt::Assign { var, .. } if function.vars[*var].ty.lanes == 1 => {}
            Stmt::For { .. } | Stmt::While { .. } | Stmt::If { .. } => {
                let candidate = as_inner(function, s);
                let below = candidate.map_or_else(|| blocks(function, s), |i| Some(Some(i)))?;
                match (found.is_some(), below) {
                    (true, Some(_)) => return None,
                    (false, Some(inner)) => found = Some(inner),
                    (_, None) => {}
                }
            }
            _ => return None,
        }
    }
    found
}

/// The dense loop in the blocks of a statement: at most one, and no code that must not be repeated.
fn blocks(function: &Function, s: &Stmt) -> Option<Option<Inner>> {
    let mut found = None;
    for block in s.blocks() {
        let harmless = |s: &Stmt| matches!(s, Stmt::Assign { .. });
        if block.iter().all(harmless) {
            continue;
        }
        if found.is_some() {
            return None;
        }
        found = Some(only_inner(function, block)?);
    }
    Some(found)
}

/// Whether all code of a nest may be repeated by tiles.
pub(in crate::transform) fn is_tiled(function: &Function, s: &Stmt) -> bool {
    only_inner(function, std::slice::from_ref(s)).is_some()
}

/// Whether a loop on its own would be tiled.
pub(in crate::transform) fn is_tileable(function: &Function, s: &Stmt) -> bool {
    let fixed = |i: Inner| [i.base, i.lo, i.hi].iter().all(|e| !loads(e));
    as_inner(function, s).is_some_and(fixed)
}

/// A dense loop whose only store is to consecutive elements.
pub(in crate::transform) fn as_inner(function: &Function, s: &Stmt) -> Option<Inner> {
    let Stmt::For { var, lo, hi, step: 1, body } = s else { return None };
    let (_, last) = inlined(body)?;
    let Stmt::Store { array, index, value } = last else { return None };
    if !matches!(function.arrays[array].elem, DataType::F32 | DataType::F64) {
        return None;
    }
    let base = beside(&index, *var)?;
    // Other elements of the same array must not be read: their values in memory are old.
    let mut alone = true;
    value.walk(&mut |e| {
        if let Expr::Load { array: a, index: at, .. } = e {
            alone &= *a != array || **at == index;
        }
    });
    alone.then(|| Inner {
        var: *var,
        lo: lo.clone(),
        hi: hi.clone(),
        array,
        value: exchange(
            value,
            &Expr::Load { array, index: Box::new(index), lanes: 1 },
            &Expr::Load { array, index: Box::new(add(base.clone(), Expr::Var(*var))), lanes: 1 },
        ),
        base,
    })
}

/// A block with the loop over `var` replaced.
fn with_inner(block: Vec<Stmt>, var: Var, f: &dyn Fn(Stmt) -> Vec<Stmt>) -> Vec<Stmt> {
    let mut out = vec![];
    for s in block {
        match s {
            Stmt::For { var: v, .. } if v == var => out.extend(f(s)),
            s => out.push(s.map_children(&mut |e| e, &mut |b| with_inner(b, var, f))),
        }
    }
    out
}

fn contains(e: &Expr, part: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= e == part);
    found
}
