//! Splits one shared array into slices for the workspaces of GPU loops that no constant bounds.
//!
//! ```text
//! reserve w, n
//! for b in 0..m on gpu_block { for v in 0..min(k - b * 8, 8) on gpu_warp { .. w[j] .. } }
//!
//! reserve w, min(m, 1024) * (8 * n)
//! for g in 0..min(m, 1024) on gpu_block {
//!   for b in g..m step 1024 {
//!     for v in 0..min(k - b * 8, 8) on gpu_warp { w_at = (g * 8 + v) * n; .. w[w_at + j] .. }
//!   }
//! }
//! ```
//!
//! The size of memory that threads share has to be known when a kernel is compiled; that of these slices is known when
//! it is launched. A block runs several iterations one after another, in the same slices, so that memory depends on
//! the number of concurrent iterations.

use crate::algebra::BinaryOp;
use crate::ids::{Array, Var};
use crate::ir::build::{add, assign, binary, int, mul, sub};
use crate::ir::flow::{arrays, assigned};
use crate::ir::parallel::owners;
use crate::ir::{ArrayDecl, ArrayRole, Expr, Function, Stmt, Type, Unit};
use crate::transform::{Target, for_each, fresh};

/// The approximate number of slices in use at the same time, and the smallest number of blocks.
const SLICES: i64 = 8192;
const LEAST_BLOCKS: i64 = 128;

/// The pass.
pub(in crate::transform) fn slice_workspaces(mut function: Function, target: Target) -> Function {
    let of = |(id, a): (Array, &ArrayDecl)| (a.role == ArrayRole::Local).then_some(id);
    let locals: Vec<Array> = function.arrays.enumerate().filter_map(of).collect();
    for array in locals.into_iter().filter(|_| target.gpu) {
        if let Some(sliced) = Sliced::of(&function, array) {
            sliced.apply(&mut function);
        }
    }
    function
}

/// A workspace, and the loops whose iterations have one each.
struct Sliced {
    array: Array,
    /// The number of elements of each.
    len: Expr,
    /// The statement that reserves it, and the loop over blocks.
    reserve: usize,
    at: usize,
    /// The loops inside of that, with their first values and largest trip counts.
    inner: Vec<(Var, Expr, i64)>,
}

impl Sliced {
    fn of(function: &Function, array: Array) -> Option<Sliced> {
        let uses = |s: &Stmt| {
            let mut used = vec![];
            arrays(s, &mut used);
            used.contains(&array)
        };
        let users: Vec<usize> =
            (0..function.body.len()).filter(|&k| uses(&function.body[k])).collect();
        let &[reserve, at] = &users[..] else { return None };
        let (Stmt::Reserve { len, .. }, root) = (&function.body[reserve], &function.body[at])
        else {
            return None;
        };
        let Stmt::Parallel { unit: Unit::Block, combined, body, .. } = root else { return None };
        let [owner] = owners(std::slice::from_ref(root), array)[..] else { return None };
        let fits = is_number(function, len) && !is_bounded(len) && combined.is_empty();
        if !fits || owner.loops == 0 || !is_plain(body, array) {
            return None;
        }
        let mut inner = vec![];
        let mut block = body;
        while inner.len() + 1 < owner.loops {
            let mut within = block.iter().filter(|s| uses(s));
            let (s, None) = (within.next()?, within.next()) else { return None };
            match s {
                Stmt::Parallel { var, lo, hi, body, .. } => {
                    inner.push((*var, lo.clone(), most(hi)?));
                    block = body;
                }
                Stmt::For { body, .. } => block = body,
                Stmt::If { then, otherwise, .. } => {
                    block = if then.iter().any(uses) { then } else { otherwise };
                }
                _ => return None,
            }
        }
        Some(Sliced { array, len: len.clone(), reserve, at, inner })
    }

    /// Makes the slices.
    fn apply(self, function: &mut Function) {
        let each: i64 = self.inner.iter().map(|(.., most)| most).product();
        let blocks = (SLICES / each.max(1)).max(LEAST_BLOCKS);
        let name = function.arrays[self.array].name.clone();
        let [slice, begin] =
            ["slice", "at"].map(|own| fresh(function, &format!("{name}_{own}"), Type::INDEX));
        let mut stmts = std::mem::take(&mut function.body);
        let Stmt::Parallel { unit, var, lo, hi, combined, body } = stmts.remove(self.at) else {
            unreachable!("a loop over blocks was found here")
        };
        let count = binary(BinaryOp::Min, sub(hi.clone(), lo.clone()), int(blocks));
        let mut which = Expr::Var(slice);
        for (var, from, most) in &self.inner {
            which = add(mul(which, int(*most)), sub(Expr::Var(*var), from.clone()));
        }
        let first = assign(begin, mul(which, self.len.clone()));
        let owner = self.inner.last().map(|(var, ..)| *var);
        let body = self.moved(body, (owner, begin), &first);
        let body = match owner {
            None => [vec![first], body].concat(),
            Some(_) => body,
        };
        let inner = Stmt::For { var, lo: add(lo, Expr::Var(slice)), hi, step: blocks, body };
        let (from, to) = (int(0), count.clone());
        let outer =
            Stmt::Parallel { unit, var: slice, lo: from, hi: to, combined, body: vec![inner] };
        let len = mul(count, mul(int(each), self.len.clone()));
        stmts.splice(self.at..self.at, [Stmt::Reserve { array: self.array, len }, outer]);
        stmts.remove(self.reserve);
        function.arrays[self.array].role = ArrayRole::Common;
        function.body = stmts;
    }

    /// A block, with the workspace's elements in a slice; the slice is computed in the innermost loop whose iterations
    /// have one each.
    fn moved(
        &self,
        block: Vec<Stmt>,
        (owner, begin): (Option<Var>, Var),
        first: &Stmt,
    ) -> Vec<Stmt> {
        let moved = |e: Expr| add(Expr::Var(begin), e);
        let stmt = |s: Stmt| {
            let is_owner = matches!(&s, Stmt::Parallel { var, .. } if Some(*var) == owner);
            let s = s.map_children(&mut |e| self.expr(e, begin), &mut |b| {
                let inner = self.moved(b, (owner, begin), first);
                if is_owner { [vec![first.clone()], inner].concat() } else { inner }
            });
            match s {
                Stmt::Store { array, index, value } if array == self.array => {
                    Stmt::Store { array, index: moved(index), value }
                }
                Stmt::Update { array, index, op, value } if array == self.array => {
                    Stmt::Update { array, index: moved(index), op, value }
                }
                Stmt::Fill { array, lo, hi, value } if array == self.array => {
                    Stmt::Fill { array, lo: moved(lo), hi: moved(hi), value }
                }
                s => s,
            }
        };
        block.into_iter().map(stmt).collect()
    }

    fn expr(&self, e: Expr, begin: Var) -> Expr {
        match e.map_children(&mut |e| self.expr(e, begin)) {
            Expr::Load { array, index, lanes } if array == self.array => {
                let index = Box::new(add(Expr::Var(begin), *index));
                Expr::Load { array, index, lanes }
            }
            e => e,
        }
    }
}

/// Whether a block only loads, stores, updates and fills elements of an array.
fn is_plain(block: &[Stmt], array: Array) -> bool {
    let mut plain = true;
    for_each(block, &mut |s| {
        plain &= match s {
            Stmt::Reserve { array: a, .. } | Stmt::Prefetch { array: a, .. } => *a != array,
            Stmt::Sort { keys, carried, .. } => !keys.contains(&array) && !carried.contains(&array),
            _ => true,
        };
        s.exprs().for_each(|e| e.walk(&mut |e| plain &= !matches!(e, Expr::Len(a) if *a == array)));
    });
    plain
}

/// Whether an expression has the same value everywhere: it consists of parameters.
fn is_number(function: &Function, e: &Expr) -> bool {
    let mut changed = vec![];
    assigned(&function.body, &mut changed);
    let mut same = true;
    e.walk(&mut |e| match e {
        Expr::Var(v) => same &= !changed.contains(v),
        Expr::Load { .. } | Expr::Len(_) => same = false,
        _ => {}
    });
    same
}

/// Whether constants bound an expression.
fn is_bounded(e: &Expr) -> bool {
    match e {
        Expr::Const(_) => true,
        Expr::Binary(BinaryOp::Min, a, b) => is_bounded(a) || is_bounded(b),
        Expr::Binary(BinaryOp::Max | BinaryOp::Add | BinaryOp::Mul, a, b) => {
            is_bounded(a) && is_bounded(b)
        }
        _ => false,
    }
}

/// The upper limit of a loop's end, if a constant gives one.
fn most(e: &Expr) -> Option<i64> {
    match e {
        Expr::Const(c) => Some(c.as_i64().max(1)),
        Expr::Binary(BinaryOp::Min, a, b) => match (most(a), most(b)) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Scalar;
    use crate::interpret::{Argument, Buffer, run};
    use crate::ir::parse::parse;

    /// A function with a workspace of `len` elements in a loop over blocks, before the pass.
    fn blocks(len: &str, body: &str) -> Function {
        let text = format!(
            "fn f(m: i64, n: i64, x: in [i64], y: shared [i64]) {{\n  local w: [i64]\n  \
             var b, v, i: i64\n  reserve w, {len}\n  for b in 0..m on gpu_block {{\n{body}\n  }}\n}}\n"
        );
        parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"))
    }

    fn sliced(len: &str, body: &str) -> Function {
        slice_workspaces(blocks(len, body), Target::GPU)
    }

    const ROW: &str = "fill w[0..n] = 1 for i in 0..n { w[i] = w[i] + x[i] + b } y[b] = w[n - 1]";

    #[test]
    fn every_iteration_has_a_slice() {
        let text = sliced("n", ROW).to_string();
        assert!(text.contains("reserve w, min(m, 8192) * n"), "{text}");
        assert!(text.contains("for w_slice in 0..min(m, 8192) on gpu_block {"), "{text}");
        assert!(text.contains("for b in w_slice..m step 8192 {"), "{text}");
        assert!(text.contains("w_at = w_slice * n"), "{text}");
        assert!(text.contains("fill w[w_at..w_at + n] = 1"), "{text}");
        let warps = format!(
            "for v in 0..min(m, 8) on gpu_warp {{ {} }}",
            ROW.replace("y[b]", "y[b * 8 + v]")
        );
        let text = sliced("n", &warps).to_string();
        assert!(text.contains("w_at = (w_slice * 8 + v) * n"), "{text}");
    }

    #[test]
    fn what_constants_bound_stays_and_so_does_what_no_loop_has() {
        for (len, body) in [("4", ROW), ("min(n, 64)", ROW)] {
            assert_eq!(sliced(len, body), blocks(len, body));
        }
        assert_eq!(slice_workspaces(blocks("n", ROW), Target::SCALAR), blocks("n", ROW));
        let unbounded = format!("for v in 0..m on gpu_warp {{ {ROW} }}");
        assert_eq!(sliced("n", &unbounded), blocks("n", &unbounded));
    }

    #[test]
    fn iterations_beyond_the_slices_use_them_again() {
        let rows = 20_000;
        let result = |function: &Function| {
            let x = Buffer::I64(vec![5, 7, 9]);
            let y = Buffer::I64(vec![0; rows as usize]);
            let numbers = [rows, 3].map(|n| Argument::Scalar(Scalar::I64(n)));
            let arguments = [&numbers[..], &[Argument::Array(x), Argument::Array(y)]].concat();
            format!("{:?}", run(function, arguments, None).unwrap().arrays[1])
        };
        assert_eq!(result(&sliced("n", ROW)), result(&blocks("n", ROW)));
    }
}
