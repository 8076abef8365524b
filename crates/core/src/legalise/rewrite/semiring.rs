//! Semirings: an operator that distributes over a reduction.
//!
//! ```text
//! sum(j, A(i,j) * B(j,k))           products, summed
//! min(j, A(i,j) + B(j,k))           shortest paths
//! max(j, min(A(i,j), B(j,k)))       widest paths
//! any(j, and(A(i,j), B(j,k)))       paths
//! ```
//!
//! In rewrites, "sums" and "products" are those of any semiring.

use crate::legalise::Context;
use crate::notation::{Access, Expr, Slicing};
use tamis_ir::algebra::{BinaryOp, ReduceOp};
use tamis_ir::datatype::DataType;
use tamis_ir::ids::IndexVar;

/// A reduction, the operator that distributes over it, and the compute type.
#[derive(Clone, Copy)]
pub(in crate::legalise) struct Semiring {
    pub(in crate::legalise) sum: ReduceOp,
    pub(in crate::legalise) times: BinaryOp,
    pub(in crate::legalise) compute: DataType,
}

impl Semiring {
    /// The semiring of sums and products.
    pub(super) fn arithmetic(compute: DataType) -> Semiring {
        Semiring { sum: ReduceOp::Add, times: BinaryOp::Mul, compute }
    }

    /// The semiring of a reduction, with its variables and its reduced value. Integer sums are one factor of a
    /// minimum: adding to the value of an empty minimum would overflow.
    pub(super) fn of(value: &Expr, compute: DataType) -> Option<(Semiring, &Vec<IndexVar>, &Expr)> {
        let Expr::Reduce { op: sum, vars, body } = value else { return None };
        let times = match (sum, &**body) {
            (ReduceOp::Add, _) => BinaryOp::Mul,
            (ReduceOp::Min | ReduceOp::Max, Expr::Binary(BinaryOp::Add, ..))
                if compute.is_float() =>
            {
                BinaryOp::Add
            }
            (ReduceOp::Min, _) => BinaryOp::Max,
            (ReduceOp::Max, _) => BinaryOp::Min,
            (ReduceOp::Or, _) => BinaryOp::And,
            (ReduceOp::And, _) => BinaryOp::Or,
            (ReduceOp::Mul | ReduceOp::User(_), _) => return None,
        };
        Some((Semiring { sum: *sum, times, compute }, vars, body))
    }

    /// The sum of a product over some variables; without variables, the product.
    pub(super) fn summed(self, vars: Vec<IndexVar>, factors: Vec<Expr>) -> Expr {
        let body = self.product(factors);
        match vars.is_empty() {
            true => body,
            false => Expr::Reduce { op: self.sum, vars, body: Box::new(body) },
        }
    }

    /// The product of factors.
    pub(super) fn product(self, factors: Vec<Expr>) -> Expr {
        let times = |a, b| Expr::Binary(self.times, Box::new(a), Box::new(b));
        factors.into_iter().reduce(times).expect("both sides have factors")
    }

    /// The factors of a product.
    pub(super) fn factors<'e>(self, e: &'e Expr, into: &mut Vec<&'e Expr>) {
        match e {
            Expr::Binary(op, a, b) if *op == self.times => {
                self.factors(a, into);
                self.factors(b, into);
            }
            factor => into.push(factor),
        }
    }

    /// The tensors of a product, where slices are ascending; `None` if it has other factors.
    pub(super) fn tensors(self, product: &Expr) -> Option<Vec<&Access>> {
        let mut factors = vec![];
        self.factors(product, &mut factors);
        factors.into_iter().map(read_forwards).collect()
    }

    /// Whether there are only terms at coordinates that an operand lists.
    pub(super) fn lists(self, cx: &Context<'_>, access: &Access) -> bool {
        !cx.is_full(access) && self.skips(cx, access)
    }

    /// Whether there are no terms where an operand has no entry.
    pub(super) fn skips(self, cx: &Context<'_>, access: &Access) -> bool {
        let fill = cx.program.storage(access.tensor).fill.computed(self.compute);
        let identity = cx.program.identity(self.sum, self.compute);
        let absent = self.times.annihilated_left(fill);
        absent.zip(identity).is_some_and(|(absent, id)| absent.same_value(id))
    }

    /// Whether the product is annihilated by a factor where the operands that `absent` picks have no entry.
    pub(in crate::legalise) fn vanishes(
        self,
        cx: &Context<'_>,
        factor: &Expr,
        absent: &dyn Fn(&Access) -> bool,
    ) -> bool {
        let absent = |a: &Access| !cx.is_full(a) && absent(a);
        let left = cx.facts(self.compute).expr_without(factor, &absent);
        matches!(left, Expr::Literal(c) if self.times.annihilated_left(c).is_some())
    }

    /// Whether the identity of the sum annihilates every product. Zero does not beside infinity.
    pub(super) fn absorbs(self) -> bool {
        let is_logical = matches!(self.sum, ReduceOp::Or | ReduceOp::And);
        is_logical || self.compute.integers().is_some()
    }
}

/// A tensor without slices, or with ascending ones.
pub(super) fn read_forwards(factor: &Expr) -> Option<&Access> {
    let Expr::Access(access) = factor else { return None };
    let ascends = |s: &Slicing| matches!(s, Slicing::Taken(_)) && s.ascends();
    access.slices.values().all(ascends).then_some(access)
}
