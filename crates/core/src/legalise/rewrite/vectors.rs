//! Multiplies vectors over one variable beforehand, where the entries of a sparse operand would repeat the
//! multiplications.
//!
//! ```text
//! y(i) = A(i,j) * x(j) / d(j)                 t(j) = x(j) / d(j)
//!                                             y(i) = A(i,j) * t(j)
//!
//! T(i,j) = A(i,j) / s(i) * log(n / d(j))      t(j) = log(n / d(j))
//!                                             T(i,j) = A(i,j) / s(i) * t(j)
//!
//! T(i,j) = A(i,j) * (x(j) + e(j))             t(j) = x(j) + e(j)      x: dense, e: sparse, merged once, not per row
//!                                             T(i,j) = A(i,j) * t(j)
//! ```
//!
//! The same holds for functions of vectors where all operands are dense and other loops would repeat them:
//!
//! ```text
//! L(i,j) = T(i,j) + log(p(j))                 t(j) = log(p(j))
//!                                             L(i,j) = T(i,j) + t(j)
//! ```
//!
//! Vectors over the variable of the operand's outermost level are left to the loop over it
//! ([`crate::legalise::order`]).
//! Divisors stay divisors: a divisor without a numerator over the same variable stays in the value.

use crate::legalise::functions::{has_functions, is_slow_function};
use crate::legalise::order::association::flatten;
use crate::legalise::rewrite::row_workspaces::has_reduction;
use crate::legalise::rewrite::semiring::Semiring;
use crate::legalise::{Context, Legaliser, Task};
use crate::notation::{Access, Expr};
use std::collections::BTreeSet;
use tamis_ir::algebra::{BinaryOp, Strictness};
use tamis_ir::datatype::DataType;
use tamis_ir::ids::IndexVar;

/// A vector pays if there are at least this many entries for each of its elements.
const WORTH: f64 = 2.0;

impl Legaliser<'_> {
    /// The task with temporaries for products of vectors that entries would repeat.
    pub(in crate::legalise) fn with_vectors(&mut self, task: Task) -> Task {
        let is_real = task.compute.is_float() && !task.compute.is_complex();
        if self.request.commands.given || !is_real {
            return task;
        }
        let repeats = repeats_functions(self, &task.value);
        let value = self.vectors_apart(task.value, task.compute);
        let value = if repeats { self.functions_apart(value, task.compute) } else { value };
        Task { value, ..task }
    }

    fn functions_apart(&mut self, e: Expr, compute: DataType) -> Expr {
        match e.free_vars()[..] {
            [var] if is_slow_function(&e) && is_vector(self, &e, compute, var) => {
                self.temporary("t", None, vec![var], e, compute)
            }
            _ => e.map_children(&mut |child| self.functions_apart(child, compute)),
        }
    }

    fn vectors_apart(&mut self, e: Expr, compute: DataType) -> Expr {
        let mut factors = vec![];
        flatten(&e, &mut factors);
        let divides = factors.iter().any(|(op, _)| *op == BinaryOp::Div);
        let is_kept = divides && self.request.strictness == Strictness::Ieee;
        let var = if is_kept || factors.len() == 1 {
            None
        } else {
            repeated_var(self, &factors, compute)
        };
        let Some(var) = var else {
            return e.map_children(&mut |child| self.vectors_apart(child, compute));
        };
        let owned = factors.into_iter().map(|(op, factor)| (op, factor.clone()));
        let (own, mut others): (Vec<_>, Vec<_>) =
            owned.partition(|(_, factor)| is_vector(self, factor, compute, var));
        let temporary = self.temporary("t", None, vec![var], product(own), compute);
        others.push((BinaryOp::Mul, temporary));
        self.vectors_apart(product(others), compute)
    }
}

/// The variable whose vectors are worth multiplying beforehand.
fn repeated_var(
    cx: &Context<'_>,
    factors: &[(BinaryOp, &Expr)],
    compute: DataType,
) -> Option<IndexVar> {
    let lists = |factor: &&Expr, access: &Access| {
        !cx.is_full(access) && Semiring::arithmetic(compute).vanishes(cx, factor, &|a| a == access)
    };
    let listed = factors.iter().find_map(|(_, factor)| {
        factor.accesses().into_iter().find(|access| lists(factor, access))
    })?;
    let inner = cx.level_vars(listed).into_iter().skip(1);
    let entries = cx.input_entries(listed)? as f64;
    inner.into_iter().find(|&var| {
        let own = || factors.iter().filter(|(_, factor)| is_vector(cx, factor, compute, var));
        let mut numerators = own().filter(|(op, _)| *op == BinaryOp::Mul).peekable();
        numerators.peek().is_some()
            && (own().count() > 1 || numerators.any(|(_, factor)| takes_long(cx, factor)))
            && WORTH * cx.dimension_of(var) < entries
    })
}

/// Whether every operand is full, and they have two variables or more.
fn repeats_functions(cx: &Context<'_>, value: &Expr) -> bool {
    let accesses = value.accesses();
    let vars: BTreeSet<IndexVar> = accesses.iter().flat_map(|a| a.indices.clone()).collect();
    let dense = accesses.into_iter().all(|a| cx.is_full(a) && a.slices.is_empty());
    dense && vars.len() > 1 && vars.into_iter().all(|var| cx.dimension_of(var) >= WORTH)
}

/// Whether elements of a vector have functions, or merge full operands with sparse ones.
fn takes_long(cx: &Context<'_>, vector: &Expr) -> bool {
    has_functions(vector) || vector.accesses().into_iter().any(|a| !cx.is_full(a))
}

/// Whether a value is a vector over a variable in which every element has a value.
fn is_vector(cx: &Context<'_>, value: &Expr, compute: DataType, var: IndexVar) -> bool {
    let accesses = value.accesses();
    let is_full = accesses.iter().all(|a| cx.is_full(a));
    let is_merged = || {
        let vanishes = Semiring::arithmetic(compute).vanishes(cx, value, &|_| true);
        !vanishes && accesses.iter().any(|a| cx.is_full(a))
    };
    value.free_vars() == [var]
        && !has_reduction(value)
        && accesses.iter().all(|a| a.slices.is_empty())
        && (is_full || is_merged())
}

/// The product of factors and quotient by divisors, the first numerator first.
fn product(mut factors: Vec<(BinaryOp, Expr)>) -> Expr {
    if let Some(first) = factors.iter().position(|(op, _)| *op == BinaryOp::Mul) {
        factors[..=first].rotate_right(1);
    }
    let join = |(_, left), (op, right)| (op, Expr::Binary(op, Box::new(left), Box::new(right)));
    factors.into_iter().reduce(join).expect("a product has factors").1
}
