//! Scalar replacement: elements that a loop reads and writes in every iteration stay in registers.
//!
//! ```text
//! for p in lo..hi { y[q] = fma(A[p], x[crd[p]], y[q]) }
//!
//! if lo < hi {
//!   s = y[q]
//!   for p in lo..hi { s = fma(A[p], x[crd[p]], s) }
//!   y[q] = s
//! }
//! ```
//!
//! There may be several elements, such as the rows of a block. If some iterations reach the same elements through an
//! inner loop, registers are stored before that loop and loaded after it:
//!
//! ```text
//! for p in lo..hi {
//!   if m - crd[p] < 3 { for k in 0..2 { y[q + k] = y[q + k] + .. } }
//!   else { y[q] = y[q] + ..; y[q + 1] = y[q + 1] + .. }
//! }
//!
//! s = y[q]; s_2 = y[q + 1]
//! for p in lo..hi {
//!   if m - crd[p] < 3 { y[q] = s; y[q + 1] = s_2; for k in 0..2 { .. } s = y[q]; s_2 = y[q + 1] }
//!   else { s = s + ..; s_2 = s_2 + .. }
//! }
//! y[q] = s; y[q + 1] = s_2
//! ```
//!
//! The operations and their order stay the same; stored values have the type of the register. An element that other
//! iterations of a parallel loop update as well is updated once with the loop's reduction, which starts from the
//! operator's identity:
//!
//! ```text
//! for p in lo..hi { update y[q] by sum: A[p] }
//!
//! if lo < hi {
//!   s = 0
//!   for p in lo..hi { s = s + A[p] }
//!   update y[q] by sum: s
//! }
//! ```

use crate::algebra::{BinaryOp, ReduceOp};
use crate::datatype::Scalar;
use crate::ids::{Array, Var};
use crate::ir::build::{assign, binary, int, load, lt, store, when};
use crate::ir::flow::{assigned, mentions};
use crate::ir::parallel::on_numbers;
use crate::ir::{Expr, Function, Stmt};
use crate::transform::affine::{beside_constant, inlined, reads, reads_inputs_only};
use crate::transform::copies::Names;
use crate::transform::{fresh, rewrite};

/// The largest number of elements in registers at the same time.
const MOST: usize = 8;
/// The largest trip count of an inner loop over elements.
const ITERATIONS: i64 = 8;

/// The pass.
pub(in crate::transform) fn promote_elements(mut function: Function) -> Function {
    let body = std::mem::take(&mut function.body);
    let body = rewrite(body, &mut |s| kept(&mut function, s));
    Function { body, ..function }
}

fn kept(function: &mut Function, s: &Stmt) -> Option<Vec<Stmt>> {
    let Stmt::For { var, lo, hi, step, body } = s else { return None };
    if let Some(Stmt::Update { array, index, .. }) = inlined(body).map(|(_, last)| last) {
        return combined(function, s, array, index);
    }
    // If an iteration may end early, an element might not be stored back.
    if body.iter().any(fails) {
        return None;
    }
    let (mut before, mut body, mut after) = (vec![], body.clone(), vec![]);
    for array in stored(&body) {
        let Some(elements) = Elements::of(function, array, *var, &body) else { continue };
        before.extend(elements.fetched());
        after.extend(elements.put_back());
        body = elements.in_registers(&body);
    }
    if after.is_empty() {
        return None;
    }
    let body = rewrite(body, &mut |s| kept(function, s));
    let nest = Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), step: *step, body };
    Some(vec![when(lt(lo.clone(), hi.clone()), [before, vec![nest], after].concat())])
}

/// The arrays that a block stores to, each once, except in statements in which no element can stay in a register.
fn stored(block: &[Stmt]) -> Vec<Array> {
    let mut found = vec![];
    for s in block {
        let here = match s {
            Stmt::Store { array, .. } => vec![*array],
            Stmt::For { .. } | Stmt::If { .. } => s.blocks().flat_map(stored).collect(),
            _ => vec![],
        };
        found.extend(here);
    }
    found.sort();
    found.dedup();
    found
}

/// The elements of an array that a loop uses, all of which every iteration reads before it writes them.
struct Elements {
    array: Array,
    /// The index of each element, and its register.
    kept: Vec<(Expr, Var)>,
}

impl Elements {
    fn of(function: &mut Function, array: Array, var: Var, body: &[Stmt]) -> Option<Elements> {
        let element = load(array, int(0));
        let ty = function.type_of(&element);
        let wide = ty.register.datatype() == function.arrays[array].elem;
        let mut changed = vec![var];
        assigned(body, &mut changed);
        let mut seen =
            Seen { function, array, changed, read: vec![], all: vec![], written: vec![] };
        let straight = seen.block(body, &mut Names::default()).is_some() && seen.is_direct(body);
        let Seen { read, mut all, written, .. } = seen;
        all.retain(|index| !read.contains(index));
        let apart =
            read.iter().all(|index| beside_constant(index).0 == beside_constant(&read[0]).0);
        if !wide
            || !straight
            || !apart
            || !all.is_empty()
            || read.len() > MOST
            || written.is_empty()
        {
            return None;
        }
        let kept = read.into_iter().map(|index| (index, fresh(function, "s", ty))).collect();
        Some(Elements { array, kept })
    }

    fn fetched(&self) -> Vec<Stmt> {
        let fetch =
            |(index, register): &(Expr, Var)| assign(*register, load(self.array, index.clone()));
        self.kept.iter().map(fetch).collect()
    }

    fn put_back(&self) -> Vec<Stmt> {
        let put = |(index, register): &(Expr, Var)| {
            store(self.array, index.clone(), Expr::Var(*register))
        };
        self.kept.iter().map(put).collect()
    }

    fn in_registers(&self, body: &[Stmt]) -> Vec<Stmt> {
        self.block(body, &mut Names::default())
    }

    fn block(&self, block: &[Stmt], names: &mut Names) -> Vec<Stmt> {
        let mut out = vec![];
        for s in block {
            if iterations(s).is_some() && touches(s, self.array) {
                out.extend(self.put_back());
                out.push(s.clone());
                out.extend(self.fetched());
                names.forget(std::slice::from_ref(s));
                continue;
            }
            let at = &*names;
            let inside = |b: Vec<Stmt>| {
                let mut names = at.clone();
                names.forget(std::slice::from_ref(s));
                let names = if matches!(s, Stmt::If { .. }) { &mut at.clone() } else { &mut names };
                self.block(&b, names)
            };
            let new = s.clone().map_children(&mut |e| self.expr(e, at), &mut |b| inside(b));
            out.push(match new {
                Stmt::Store { array, index, value } if array == self.array => {
                    self.register(&index, at).map_or_else(
                        || store(array, index.clone(), value.clone()),
                        |register| assign(register, value.clone()),
                    )
                }
                new => new,
            });
            match s {
                Stmt::Assign { var, value } => names.assign(*var, value),
                s => names.forget(std::slice::from_ref(s)),
            }
        }
        out
    }

    fn expr(&self, e: Expr, names: &Names) -> Expr {
        match &e {
            Expr::Load { array, index, .. } if *array == self.array => {
                self.register(index, names).map_or_else(|| e.clone(), Expr::Var)
            }
            _ => e.map_children(&mut |e| self.expr(e, names)),
        }
    }

    fn register(&self, index: &Expr, names: &Names) -> Option<Var> {
        let index = settled(names.resolved(index));
        self.kept.iter().find(|(at, _)| *at == index).map(|(_, register)| *register)
    }
}

/// How the paths through a block use an array.
struct Seen<'f> {
    function: &'f Function,
    array: Array,
    /// The variables whose values differ between iterations.
    changed: Vec<Var>,
    /// The elements that every path reads before it may write them.
    read: Vec<Expr>,
    /// All elements.
    all: Vec<Expr>,
    /// The elements that some path writes.
    written: Vec<Expr>,
}

impl Seen<'_> {
    /// `None` if elements cannot be distinguished, or an iteration may end early.
    fn block(&mut self, block: &[Stmt], names: &mut Names) -> Option<()> {
        for s in block {
            if let Stmt::Fail(_) = s {
                return None;
            }
            for e in s.exprs() {
                self.expr(e, names)?;
            }
            match s {
                Stmt::Assign { var, value } => names.assign(*var, value),
                Stmt::Store { array, index, value } if *array == self.array => {
                    (self.function.type_of(value).lanes == 1).then_some(())?;
                    let index = self.fixed(index, names)?;
                    self.all.push(index.clone());
                    self.written.push(index);
                }
                s if !touches(s, self.array) && !fails(s) => names.forget(std::slice::from_ref(s)),
                Stmt::If { then, otherwise, .. } => {
                    let before = (self.read.clone(), self.written.clone());
                    self.block(then, &mut names.clone())?;
                    let (read, written) = (self.read.clone(), self.written.clone());
                    (self.read, self.written) = before;
                    self.block(otherwise, &mut names.clone())?;
                    self.read.retain(|index| read.contains(index));
                    // Each once: consecutive conditions would double them.
                    let fresh = written.into_iter().filter(|index| !self.written.contains(index));
                    let fresh: Vec<Expr> = fresh.collect();
                    self.written.extend(fresh);
                    names.forget(std::slice::from_ref(s));
                }
                Stmt::For { var, body, .. } => {
                    names.forget(std::slice::from_ref(s));
                    let before = self.read.clone();
                    for iteration in iterations(s).map_or(vec![None], |k| k.map(Some).collect()) {
                        let mut names = names.clone();
                        if let Some(k) = iteration {
                            names.assign(*var, &int(k));
                        }
                        self.block(body, &mut names)?;
                    }
                    if iterations(s).is_none() {
                        self.read = before;
                    }
                }
                _ => return None,
            }
        }
        Some(())
    }

    fn expr(&mut self, e: &Expr, names: &Names) -> Option<()> {
        let mut known = Some(());
        e.walk(&mut |e| match e {
            Expr::Len(array) if *array == self.array => known = None,
            // The second operand is not always evaluated.
            Expr::AndThen(_, b) if reads(b, self.array) => known = None,
            Expr::Load { array, index, lanes } if *array == self.array => {
                match self.fixed(index, names).filter(|_| *lanes == 1) {
                    Some(index) => {
                        if !self.written.contains(&index) && !self.read.contains(&index) {
                            self.read.push(index.clone());
                        }
                        self.all.push(index);
                    }
                    None => known = None,
                }
            }
            _ => {}
        });
        known
    }

    /// An index in terms of loop-invariant variables.
    fn fixed(&self, index: &Expr, names: &Names) -> Option<Expr> {
        let index = settled(names.resolved(index));
        let same = !self.changed.iter().any(|v| mentions(&index, *v));
        (same && reads_inputs_only(self.function, &index)).then_some(index)
    }

    /// Whether some path has no loop over elements.
    fn is_direct(&self, body: &[Stmt]) -> bool {
        body.iter().all(|s| match s {
            s if !touches(s, self.array) => true,
            Stmt::If { then, otherwise, .. } => self.is_direct(then) || self.is_direct(otherwise),
            s => iterations(s).is_none() && s.blocks().all(|b| self.is_direct(b)),
        })
    }
}

/// The values of the variable of a short loop.
fn iterations(s: &Stmt) -> Option<std::ops::Range<i64>> {
    let Stmt::For { lo: Expr::Const(lo), hi: Expr::Const(hi), step: 1, .. } = s else {
        return None;
    };
    let (Scalar::I64(lo), Scalar::I64(hi)) = (lo, hi) else { return None };
    (lo < hi && hi.saturating_sub(*lo) <= ITERATIONS).then_some(*lo..*hi)
}

/// An index with its constant part folded into one number.
fn settled(index: Expr) -> Expr {
    match beside_constant(&index) {
        (rest, 0) => rest,
        (rest, c) => crate::ir::build::add(rest, int(c)),
    }
}

/// Whether a statement may end the call.
fn fails(s: &Stmt) -> bool {
    matches!(s, Stmt::Fail(_)) || s.blocks().flatten().any(fails)
}

/// Whether a statement reads or writes an array.
fn touches(s: &Stmt, array: Array) -> bool {
    s.named().1.contains(&array)
        || s.exprs().into_iter().any(|e| reads(e, array))
        || s.blocks().flatten().any(|s| touches(s, array))
}

/// The code for an element that a loop updates in every iteration: the loop with a register, and one update.
fn combined(function: &mut Function, s: &Stmt, array: Array, index: Expr) -> Option<Vec<Stmt>> {
    let Stmt::For { var, lo, hi, step: 1, body } = s else { return None };
    let (last, names) = body.split_last()?;
    let Stmt::Update { op, value, .. } = last else { return None };
    let mut changed = vec![*var];
    assigned(body, &mut changed);
    let fixed =
        !changed.iter().any(|v| mentions(&index, *v)) && reads_inputs_only(function, &index);
    if !fixed || reads(value, array) {
        return None;
    }
    let ty = function.type_of(value);
    let identity = Expr::Const(op.identity(ty.register)?);
    let register = fresh(function, "s", ty);
    let sum = match (op, value) {
        (ReduceOp::Add, Expr::Binary(BinaryOp::Mul, a, b)) if ty.register.is_float() => {
            Expr::Fma(a.clone(), b.clone(), Box::new(Expr::Var(register)))
        }
        _ => binary(on_numbers(*op), Expr::Var(register), value.clone()),
    };
    let body = [names, &[assign(register, sum)]].concat();
    let nest = Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), step: 1, body };
    let update = Stmt::Update { array, index, op: *op, value: Expr::Var(register) };
    Some(vec![when(lt(lo.clone(), hi.clone()), vec![assign(register, identity), nest, update])])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;

    fn check(body: &str, expect: &str) {
        let head = "fn f(n: i64, crd: in [i32], A: in [f64], y: out [f64]) {\n";
        let text = |vars: &str, body: &str| {
            format!("{head}  var i, j, k, p: i64\n  var {vars}: f64\n{body}\n}}\n")
        };
        let read =
            |vars: &str, body: &str| parse(&text(vars, body)).unwrap_or_else(|d| panic!("{d}"));
        let kept = promote_elements(read("t", body)).to_string();
        let lines = |text: &str| {
            let lines = text.lines().map(str::trim).filter(|l| !l.starts_with("var"));
            lines.map(str::to_owned).collect::<Vec<_>>().join("\n")
        };
        let expect = read("t, s, s_2", expect).to_string();
        assert_eq!(lines(&kept), lines(&expect));
        assert_eq!(
            promote_elements(parse(&kept).unwrap_or_else(|d| panic!("{d}"))).to_string(),
            kept
        );
    }

    #[test]
    fn many_conditions_take_no_longer() {
        let condition = "if n < i64(crd[p]) { y[i] = y[i] + A[p] } ";
        let kept = "if n < i64(crd[p]) { s = s + A[p] } ";
        check(
            &format!("for p in 0..n {{ y[i] = y[i] + A[p] {} }}", condition.repeat(64)),
            &format!(
                "if 0 < n {{ s = y[i] for p in 0..n {{ s = s + A[p] {} }} y[i] = s }}",
                kept.repeat(64)
            ),
        );
    }

    #[test]
    fn the_rows_of_a_block_stay_in_registers() {
        check(
            "for p in 0..n { k = 2 * i y[k] = y[k] + A[p] k = 2 * i + 1 y[k] = y[k] + A[p] }",
            "if 0 < n { s = y[2 * i] s_2 = y[2 * i + 1] \
             for p in 0..n { k = 2 * i s = s + A[p] k = 2 * i + 1 s_2 = s_2 + A[p] } \
             y[2 * i] = s y[2 * i + 1] = s_2 }",
        );
        // Another path to the elements, through a loop.
        check(
            "for p in 0..n { if n < i64(crd[p]) { for k in 0..2 { t = 0.0 \
             for j in 0..n { t = t + A[j] } y[i + k] = y[i + k] + t } } else { y[i] = y[i] + A[p] y[i + 1] = y[i + 1] * A[p] } }",
            "if 0 < n { s = y[i] s_2 = y[i + 1] for p in 0..n { if n < i64(crd[p]) { \
             y[i] = s y[i + 1] = s_2 \
             for k in 0..2 { t = 0.0 for j in 0..n { t = t + A[j] } y[i + k] = y[i + k] + t } \
             s = y[i] s_2 = y[i + 1] } else { s = s + A[p] s_2 = s_2 * A[p] } } \
             y[i] = s y[i + 1] = s_2 }",
        );
    }

    #[test]
    fn what_may_be_elsewhere_stays() {
        for body in [
            // Not every iteration reads it.
            "for p in 0..n { if A[p] > 0.0 { y[i] = y[i] + A[p] } }",
            "for p in 0..n { y[i] = A[p] }",
            "for p in 0..n { y[i] = A[p] y[i] = y[i] + A[p] }",
            // Other elements may be the same.
            "for p in 0..n { y[i] = y[i] + A[p] y[j] = y[j] + A[p] }",
            "for p in 0..n { y[i] = y[i] + y[p] }",
            "for p in 0..n { j = j + p y[j] = y[j] + A[p] }",
            "for p in 0..n { for k in 0..2 { y[i + k] = y[i + k] + A[p] } }",
        ] {
            check(body, body);
        }
    }
}
