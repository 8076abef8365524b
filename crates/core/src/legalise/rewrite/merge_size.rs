//! How many cases the merge of a value's operands has.
//!
//! ```text
//! A(i,j) * B(i,j)            1 case      both meet
//! A(i,j) + B(i,j)            3 cases     A alone, B alone, both
//! A(i,j) * B(i,j) + C(i,j)   3 cases     the product alone, C alone, both
//! ```

use crate::legalise::Context;
use crate::notation::{Access, Expr};
use tamis_ir::algebra::BinaryOp;
use tamis_ir::datatype::DataType;

/// The largest measure of one merge: all combinations of four operands of one sparse level. More
/// cases take longer to compile than another pass over the data takes.
const MAX_POINTS: usize = 15;
/// The most operands that meet in one merge, of whatever cases: they have numbers below 64.
pub(in crate::legalise) const MAX_OPERANDS: usize = 32;

/// Whether the merge of a value's operands has few cases.
pub(in crate::legalise) fn merges_little(
    cx: &Context<'_>,
    value: &Expr,
    compute: DataType,
) -> bool {
    points(cx, value, compute) <= MAX_POINTS && cx.listing(value) <= MAX_OPERANDS
}

/// A measure of the cases of a value's merges over all its loops: what annihilates meets, all
/// else joins. An operand counts once per sparse level, since each level's cases hold all
/// cases of the next.
pub(in crate::legalise) fn points(cx: &Context<'_>, e: &Expr, compute: DataType) -> usize {
    let join = |n: usize, m: usize| n.saturating_add(1).saturating_mul(m.saturating_add(1)) - 1;
    match e {
        Expr::Access(a) => {
            let levels = cx.program.storage(a.tensor).format.levels();
            levels.iter().filter(|l| !l.kind.properties().full).count()
        }
        Expr::Binary(BinaryOp::Mul, a, b) => {
            let sides = [&**a, &**b];
            let [x, y] = sides.map(|side| points(cx, side, compute));
            // A side without any of which nothing is left has one case.
            if sides.iter().any(|side| meets(cx, side, compute)) {
                return x.max(y);
            }
            let vanish = sides.iter().all(|side| vanishes(cx, side, compute, &|_| true));
            if vanish { x.saturating_mul(y) } else { join(x, y) }
        }
        Expr::Binary(op, a, b) if cx.facts(compute).decides_first(*op) => {
            let [x, y] = [a, b].map(|side| points(cx, side, compute));
            let vanishes = vanishes(cx, a, compute, &|_| true);
            if vanishes { x.saturating_mul(y.saturating_add(1)) } else { join(x, y) }
        }
        _ => e.children().iter().fold(0, |n, child| join(n, points(cx, child, compute))),
    }
}

/// Whether a factor is zero without any one of the operands that list coordinates.
pub(in crate::legalise) fn meets(cx: &Context<'_>, factor: &Expr, compute: DataType) -> bool {
    if let Expr::Binary(BinaryOp::Mul, a, b) = factor {
        return meets(cx, a, compute) && meets(cx, b, compute);
    }
    let listing = factor.accesses().into_iter().filter(|a| !cx.is_full(a));
    listing.into_iter().all(|operand| vanishes(cx, factor, compute, &|a| a == operand))
}

/// Whether a factor is zero without the operands of some that list coordinates.
pub(in crate::legalise) fn vanishes(
    cx: &Context<'_>,
    factor: &Expr,
    compute: DataType,
    absent: &dyn Fn(&Access) -> bool,
) -> bool {
    let absent = |a: &Access| !cx.is_full(a) && absent(a);
    let left = cx.facts(compute).expr_without(factor, &absent);
    matches!(left, Expr::Literal(c) if BinaryOp::Mul.annihilated_left(c).is_some())
}
