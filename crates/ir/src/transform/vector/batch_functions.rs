//! Computes mathematical functions eight at a time: a loop with one function call per entry collects arguments first.
//!
//! ```text
//! for i in 0..n { for p in pos[i]..pos[i + 1] { y[p] = A[p] * exp(x[crd[p]]) } }
//!
//! next = 0
//! while next < n {
//!   from = next; count = 0
//!   while next < n && count < 256 {
//!     at = count - pos[next]; count = count + max(pos[next + 1] - pos[next], 0)
//!     reserve exp_of, count + 8
//!     for p in pos[next]..pos[next + 1] { exp_of[at + p] = x[crd[p]] }
//!     next = next + 1
//!   }
//!   exp_of[count; 8] = splat(1.0, 8)
//!   for k in 0..count step 8 { exp_of[k; 8] = exp(exp_of[k; 8]) }
//!   count = 0
//!   for i in from..next {
//!     at = count - pos[i]; count = count + max(pos[i + 1] - pos[i], 0)
//!     for p in pos[i]..pos[i + 1] { y[p] = A[p] * exp_of[at + p] }
//!   }
//! }
//! ```
//!
//! Rows of sparse tensors are short, so several rows share a batch; other loops are cut every 256 iterations. Code
//! that an argument needs (a slice of the loop) runs twice, provided that it has no such function and no loop, and
//! reads nothing that the loop writes; code that only the argument needs runs once. The order of all other code is as
//! before, so no bit changes.

use super::slice::{Reads, Slice, reads_of};
use crate::algebra::{BinaryOp, UnaryOp};
use crate::datatype::{DataType, Register, Scalar};
use crate::ids::{Array, Var};
use crate::ir::build::{add, all, assign, binary, for_loop, int, load, lt, store, sub};
use crate::ir::flow::replace;
use crate::ir::{ArrayDecl, ArrayRole, Expr, Function, Stmt, Type, Unit};
use crate::transform::{Target, for_each, fresh, unused};

/// The number of arguments that fills a batch.
const BATCH: i64 = 256;
/// The number of functions computed at a time.
const LANES: u16 = 8;

/// The pass.
pub(in crate::transform) fn batch_functions(mut function: Function, target: Target) -> Function {
    let mut some = false;
    for_each(&function.body, &mut |s| some |= s.exprs().any(has_function));
    if target.gpu || !some {
        return function;
    }
    let body = std::mem::take(&mut function.body);
    let reads = reads_of(&body);
    let body = block(&mut function, &reads, body);
    Function { body, ..function }
}

/// Whether a function takes long for a single number, and has a vectorised version.
pub(super) fn is_batched(op: UnaryOp) -> bool {
    matches!(op, UnaryOp::Exp | UnaryOp::Log)
}

/// Whether an expression contains such a function.
pub(super) fn has_function(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e, Expr::Unary(op, _) if is_batched(*op)));
    found
}

fn block(function: &mut Function, reads: &Reads, stmts: Vec<Stmt>) -> Vec<Stmt> {
    let mut out = vec![];
    for s in stmts {
        match of_rows(function, reads, &s).or_else(|| of_iterations(function, reads, &s)) {
            Some(new) => out.extend(new),
            // Units of a GPU would share the arguments; threads of a processor have their own.
            None if matches!(s, Stmt::Parallel { unit, .. } if unit != Unit::Core) => out.push(s),
            None => out.push(s.map_children(&mut |e| e, &mut |b| block(function, reads, b))),
        }
    }
    out
}

/// A function call in the body of a loop.
struct Site<'s> {
    /// The index of the statement in the body.
    at: usize,
    op: UnaryOp,
    argument: &'s Expr,
    register: Register,
}

impl<'s> Site<'s> {
    /// The first call in a block whose argument contains no other.
    fn of(function: &Function, body: &'s [Stmt]) -> Option<Site<'s>> {
        body.iter().enumerate().find_map(|(at, s)| {
            let (Stmt::Assign { value, .. } | Stmt::Store { value, .. }) = s else { return None };
            let mut found = None;
            evaluated(value, &mut |e| {
                if let Expr::Unary(op, argument) = e
                    && is_batched(*op)
                    && !has_function(argument)
                {
                    let ty = function.type_of(argument);
                    let register = Some(ty.register).filter(|r| r.is_float() && ty.lanes == 1);
                    found = found.take().or(register.map(|register| Site {
                        at,
                        op: *op,
                        argument,
                        register,
                    }));
                }
            });
            found
        })
    }

    /// The body, with the value read from elsewhere.
    fn replaced(&self, body: &[Stmt], by: &Expr) -> Vec<Stmt> {
        let function = Expr::Unary(self.op, Box::new(self.argument.clone()));
        let mut body = body.to_vec();
        let s = body[self.at].clone();
        body[self.at] = s.map_children(&mut |e| exchanged(e, &function, by), &mut |b| b);
        body
    }
}

/// Calls `f` on the parts of an expression that are evaluated whenever it is.
fn evaluated<'e>(e: &'e Expr, f: &mut impl FnMut(&'e Expr)) {
    f(e);
    match e {
        Expr::AndThen(a, _) => evaluated(a, f),
        e => e.for_each_child(&mut |child| evaluated(child, f)),
    }
}

fn exchanged(e: Expr, old: &Expr, new: &Expr) -> Expr {
    match e == *old {
        true => new.clone(),
        false => e.map_children(&mut |child| exchanged(child, old, new)),
    }
}

/// The variables of a batch, and the array of its arguments.
struct Batch {
    arguments: Array,
    next: Var,
    from: Var,
    count: Var,
    at: Var,
    k: Var,
}

impl Batch {
    fn new(function: &mut Function, site: &Site<'_>) -> Batch {
        let name = format!("{}_of", site.op.name());
        let elem = if site.register == Register::F32 { DataType::F32 } else { DataType::F64 };
        let name = unused(function, &name);
        let arguments = function.arrays.push(ArrayDecl::new(&name, elem, ArrayRole::Local));
        let [next, from, count, at, k] =
            ["next", "from", "count", "at", "k"].map(|name| fresh(function, name, Type::INDEX));
        Batch { arguments, next, from, count, at, k }
    }

    fn room(&self, len: Expr) -> Stmt {
        Stmt::Reserve { array: self.arguments, len: add(len, int(LANES.into())) }
    }

    /// Code before the entries of a row: the offset from an entry's position to its argument, and the new number of
    /// arguments in the batch.
    fn counted(&self, lo: &Expr, hi: &Expr) -> [Stmt; 2] {
        let count = Expr::Var(self.count);
        let size = binary(BinaryOp::Max, sub(hi.clone(), lo.clone()), int(0));
        [assign(self.at, sub(count.clone(), lo.clone())), assign(self.count, add(count, size))]
    }

    /// Computes the function of `count` arguments. The last step is filled up with 1.
    fn computed(&self, site: &Site<'_>, count: Expr) -> Vec<Stmt> {
        let one = match site.register {
            Register::F32 => Scalar::F32(1.0),
            _ => Scalar::F64(1.0),
        };
        let (array, k) = (self.arguments, Expr::Var(self.k));
        let lanes = Expr::Load { array, index: Box::new(k.clone()), lanes: LANES };
        let value = Expr::Unary(site.op, Box::new(lanes));
        vec![
            store(array, count.clone(), Expr::Splat(Box::new(Expr::Const(one)), LANES)),
            Stmt::For {
                var: self.k,
                lo: int(0),
                hi: count,
                step: LANES.into(),
                body: vec![store(array, k, value)],
            },
        ]
    }
}

/// Batches of rows with entries of their own: a loop around the loop with the function.
fn of_rows(function: &mut Function, reads: &Reads, s: &Stmt) -> Option<Vec<Stmt>> {
    let Stmt::For { var: row, lo: first, hi: end, step: 1, body: around } = s else { return None };
    let within = around.iter().position(|s| is_sparse(s) && has_site(function, s))?;
    let (before, after) = (&around[..within], &around[within + 1..]);
    let Stmt::For { var, lo, hi, body, .. } = &around[within] else { return None };
    let site = Site::of(function, body)?;
    let mut slice = Slice::of(s, site.argument, &body[..=site.at]);
    slice.adds([lo, hi], before);
    // The rows, with the value read from elsewhere, and with statements before their entries.
    let rows = |by: &Expr, first: &[Stmt]| {
        let inner = for_loop(*var, lo.clone(), hi.clone(), site.replaced(body, by));
        slice.left(around, [before, first, &[inner], after].concat(), reads)
    };
    let repeats = |s: &Stmt| match s {
        Stmt::For { var: v, body, .. } if v == var => slice.has_loops_of(body),
        s => slice.has_loops_of(std::slice::from_ref(s)),
    };
    if function.vars[*row].by_lanes
        || function.vars[*var].by_lanes
        || !slice.is_free(&[around, body], *var)
        || rows(&int(0), &[]).iter().any(repeats)
    {
        return None;
    }
    let batch = Batch::new(function, &site);
    let (next, count) = (Expr::Var(batch.next), Expr::Var(batch.count));
    let place = add(Expr::Var(batch.at), Expr::Var(*var));
    let counted = batch.counted(lo, hi);
    let argument = store(batch.arguments, place.clone(), site.argument.clone());
    let collecting = [slice.kept(&body[..site.at]), vec![argument]].concat();
    let collecting = [
        slice.kept(before),
        counted.to_vec(),
        vec![batch.room(count.clone()), for_loop(*var, lo.clone(), hi.clone(), collecting)],
    ];
    let mut collecting = named(collecting.concat(), *row, &next);
    collecting.push(assign(batch.next, add(next.clone(), int(1))));
    let rows = rows(&load(batch.arguments, place), &counted);
    let last = fresh(function, "last", Type::INDEX);
    let more = lt(next.clone(), Expr::Var(last));
    let wants = all([more.clone(), lt(count.clone(), int(BATCH))]);
    let using = for_loop(*row, Expr::Var(batch.from), next.clone(), rows);
    let each = [
        vec![
            assign(batch.from, next),
            assign(batch.count, int(0)),
            Stmt::While { cond: wants, body: collecting },
        ],
        batch.computed(&site, count),
        vec![assign(batch.count, int(0))],
        block(function, reads, vec![using]),
    ];
    Some(vec![
        assign(batch.next, first.clone()),
        assign(last, end.clone()),
        batch.room(int(BATCH)),
        Stmt::While { cond: more, body: each.concat() },
    ])
}

/// Whether a loop is over the entries of a fiber.
fn is_sparse(s: &Stmt) -> bool {
    let loads = |e: &Expr| matches!(e, Expr::Load { .. });
    matches!(s, Stmt::For { lo, hi, step: 1, .. } if loads(lo) || loads(hi))
}

fn has_site(function: &Function, s: &Stmt) -> bool {
    s.blocks().any(|body| Site::of(function, body).is_some())
}

/// A block with another variable instead of the one of a surrounding loop.
fn named(block: Vec<Stmt>, var: Var, by: &Expr) -> Vec<Stmt> {
    let renamed =
        |s: Stmt| s.map_children(&mut |e| replace(e, var, by), &mut |b| named(b, var, by));
    block.into_iter().map(renamed).collect()
}

/// Batches of iterations of the loop with the function.
fn of_iterations(function: &mut Function, reads: &Reads, s: &Stmt) -> Option<Vec<Stmt>> {
    let Stmt::For { var, lo, hi, step: 1, body } = s else { return None };
    let site = Site::of(function, body)?;
    let slice = Slice::of(s, site.argument, &body[..=site.at]);
    let using = |by: &Expr| slice.left(body, site.replaced(body, by), reads);
    // Loops for the argument would run twice if the body needs them as well.
    let repeats = || slice.has_loops_of(&using(&int(0)));
    if function.vars[*var].by_lanes || !slice.is_free(&[body], *var) || repeats() {
        return None;
    }
    let batch = Batch::new(function, &site);
    let last = fresh(function, "last", Type::INDEX);
    let (from, next) = (Expr::Var(batch.from), Expr::Var(batch.next));
    let place = sub(Expr::Var(*var), from.clone());
    let argument = store(batch.arguments, place.clone(), site.argument.clone());
    let collecting = [slice.kept(&body[..site.at]), vec![argument]].concat();
    let using = using(&load(batch.arguments, place));
    let using = for_loop(*var, from.clone(), next.clone(), using);
    let end = binary(BinaryOp::Min, add(from.clone(), int(BATCH)), Expr::Var(last));
    let each = [
        vec![assign(batch.next, end), for_loop(*var, from.clone(), next.clone(), collecting)],
        batch.computed(&site, sub(next, from)),
        block(function, reads, vec![using]),
    ];
    Some(vec![
        assign(last, hi.clone()),
        batch.room(int(BATCH)),
        Stmt::For {
            var: batch.from,
            lo: lo.clone(),
            hi: Expr::Var(last),
            step: BATCH,
            body: each.concat(),
        },
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;
    use crate::ir::verify::verify;

    fn read(body: &str) -> Function {
        let text = format!(
            "fn f(n: i64, pos: in [i32], crd: in [i32], A: in [f64], B: in [f32], y: out [f64], \
             r: result [f64]) {{\n  var i, j, p, q: i64\n  var s, t: f64\n{body}\n}}\n"
        );
        let function = parse(&text).unwrap_or_else(|d| panic!("{d}"));
        verify(&function).unwrap_or_else(|d| panic!("{d}"));
        function
    }

    /// The code that the pass makes of a body; empty if it stays the same.
    fn check(body: &str, expect: &str) {
        let before = read(body);
        let after = batch_functions(before.clone(), Target::SCALAR);
        verify(&after).unwrap_or_else(|d| panic!("{d}\n{after}"));
        assert!(parse(&after.to_string()).as_ref() == Ok(&after), "{after}");
        if expect.is_empty() {
            assert!(after == before, "{after}");
            return;
        }
        let text = after.to_string();
        let squeezed = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(squeezed.contains(expect), "expected {expect} in\n{text}");
    }

    #[test]
    fn rows_share_batches() {
        check(
            "q = 0 for i in 0..n { s = 0.0 for p in pos[i]..pos[i + 1] { j = crd[p] t = A[p] * A[j] \
             y[q] = s * exp(t) s = s + A[p] q = q + j } y[i] = s }",
            "q = 0 next = 0 last = n reserve exp_of, 264 while next < last { from = next count = 0 \
             while next < last && count < 256 { at = count - pos[next] \
             count = count + max(pos[next + 1] - pos[next], 0) reserve exp_of, count + 8 \
             for p in pos[next]..pos[next + 1] { j = crd[p] t = A[p] * A[j] exp_of[at + p] = t } \
             next = next + 1 } exp_of[count; 8] = splat(1.0, 8) \
             for k in 0..count step 8 { exp_of[k; 8] = exp(exp_of[k; 8]) } count = 0 \
             for i in from..next { s = 0.0 at = count - pos[i] count = count + max(pos[i + 1] - pos[i], 0) \
             for p in pos[i]..pos[i + 1] { j = crd[p] y[q] = s * exp_of[at + p] s = s + A[p] q = q + j } \
             y[i] = s } }",
        );
    }

    #[test]
    fn iterations_share_batches() {
        check(
            "for i in 0..n { y[i] = log(A[i]) + f64(log(B[i])) }",
            "last = n reserve log_of, 264 for from in 0..last step 256 { next = min(from + 256, last) \
             for i in from..next { log_of[i - from] = A[i] }",
        );
        check("for i in 0..n { y[i] = f64(log(B[i])) }", "local log_of: [f32]");
        // A function of a function: first the inner one, then a batch of the outer one.
        check("for i in 0..n { y[i] = log(exp(A[i])) }", "log_of[i - from_2] = exp_of[i - from]");
        check(
            "for i in 0..n { t = exp(A[i]) y[i] = log(t + 1.0) }",
            "t = exp_of[i - from] log_of[i - from_2] = t + 1.0",
        );
    }

    #[test]
    fn threads_have_batches_of_their_own() {
        let rows = "for p in pos[i]..pos[i + 1] { y[p] = exp(A[p]) }";
        check(
            &format!("for i in 0..n on cpu_thread {{ {rows} }}"),
            "for i in 0..n on cpu_thread { last = pos[i + 1] reserve exp_of, 264 for from in pos[i]..last",
        );
        check(&format!("for i in 0..n on gpu_block {{ {rows} }}"), "");
    }

    #[test]
    fn what_is_left_to_the_next_iteration_stays() {
        // The argument is a value that the previous iteration computed, or stored.
        check("s = 1.0 for i in 0..n { s = exp(s) }", "");
        check("for i in 0..n { y[i] = exp(y[i]) }", "");
        check("s = 1.0 for i in 0..n { y[i] = exp(s + A[i]) s = s + 1.0 }", "");
        // The argument is loop-invariant, or not computed in each iteration.
        check("for i in 0..n { y[i] = exp(A[n]) }", "");
        check("for i in 0..n { if i < 3 { y[i] = exp(A[i]) } }", "");
        // A sum would be computed twice, unless only the argument needs it.
        let sum = "s = 0.0 for j in 0..n { s = s + A[j] * A[i] }";
        check(&format!("for i in 0..n {{ {sum} y[i] = s * exp(s) }}"), "");
        check(
            &format!("for i in 0..n {{ {sum} y[i] = A[i] * exp(s) }}"),
            "for i in from..next { y[i] = A[i] * exp_of[i - from] }",
        );
        // A sum before the entries of a row may be needed only for their argument, or for more.
        let entries = "for p in pos[i]..pos[i + 1] { y[p] = exp(s * A[p]) }";
        check(
            &format!("for i in 0..n {{ {sum} {entries} }}"),
            "for i in from..next { at = count - pos[i] count = count + max(pos[i + 1] - pos[i], 0)",
        );
        check(
            &format!("for i in 0..n {{ {sum} {entries} y[i] = s }}"),
            "for p in from..next { exp_of[p - from] = s * A[p] }",
        );
        // Rows pass a value on to later rows, while the entries of a row do not.
        check(
            "s = 0.0 for i in 0..n { for p in pos[i]..pos[i + 1] { y[p] = exp(s + A[p]) } s = A[i] }",
            "for p in from..next { exp_of[p - from] = s + A[p] }",
        );
    }
}
