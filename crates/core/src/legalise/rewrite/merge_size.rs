//! The number of cases in the merge of a value's operands.
//!
//! ```text
//! A(i,j) * B(i,j)            1 case      both meet
//! A(i,j) + B(i,j)            3 cases     A alone, B alone, both
//! A(i,j) * B(i,j) + C(i,j)   3 cases     the product alone, C alone, both
//! A(i,j) + B(i,j)            1 case      with fill value infinity
//! ```

use crate::legalise::Context;
use crate::legalise::rewrite::semiring::Semiring;
use crate::notation::Expr;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::datatype::{DataType, Scalar};

/// The largest measure of one merge: all combinations of four operands with one sparse level each. More cases take
/// longer to compile than another pass over the data takes to run.
pub(crate) const MAX_POINTS: usize = 15;
/// The largest measure where a schedule names parts of values: six operands with one sparse level each.
const MAX_POINTS_WHOLE: usize = 63;
/// The largest number of operands in one merge, however few cases it has: their numbers have to be below 64.
pub(in crate::legalise) const MAX_OPERANDS: usize = 32;

/// Whether the merge of a value's operands has few enough cases.
pub(in crate::legalise) fn merges_little(
    cx: &Context<'_>,
    value: &Expr,
    compute: DataType,
) -> bool {
    let most = if cx.request.commands.whole { MAX_POINTS_WHOLE } else { MAX_POINTS };
    points(cx, value, compute) <= most && cx.listing(value) <= MAX_OPERANDS
}

/// A measure of the cases of a value's merges over all its loops: annihilators intersect, everything else unites. An
/// operand counts once per sparse level, since each case of a level contains all cases of the next.
pub(in crate::legalise) fn points(cx: &Context<'_>, e: &Expr, compute: DataType) -> usize {
    measure(cx, e, compute).0
}

/// The points of a value, and its value without the operands that list coordinates, if that is a constant.
fn measure(cx: &Context<'_>, e: &Expr, compute: DataType) -> (usize, Option<Scalar>) {
    let facts = cx.facts(compute);
    match e {
        Expr::Access(a) => {
            let levels = cx.program.storage(a.tensor).format.levels();
            let listing = levels.iter().filter(|l| !l.kind.properties().full).count();
            (listing, (!cx.is_full(a)).then(|| facts.fill(a.tensor)))
        }
        Expr::Literal(c) => (0, Some(*c)),
        Expr::Unary(op, a) => {
            let (points, fill) = measure(cx, a, compute);
            let of = |c| constant(facts.expr(Expr::Unary(*op, Box::new(Expr::Literal(c)))));
            (points, fill.and_then(of))
        }
        Expr::Binary(op, a, b) => {
            let sides = [(&**a, measure(cx, a, compute)), (&**b, measure(cx, b, compute))];
            let fill = joined_fill(cx, *op, sides.map(|(_, (_, fill))| fill), compute);
            (joined_points(cx, *op, sides.map(|(e, (n, fill))| (e, n, fill)), compute), fill)
        }
        _ => {
            let children = e.children().into_iter();
            let points = children.fold(0, |n, child| join(n, points(cx, child, compute)));
            (points, constant(facts.expr_without(e, &|a| !cx.is_full(a))))
        }
    }
}

/// The points of a union: cases with both sides, and cases with either side alone.
fn join(n: usize, m: usize) -> usize {
    n.saturating_add(1).saturating_mul(m.saturating_add(1)) - 1
}

/// The points of an operator, from those of its sides, and from the sides' constants without operands that list.
fn joined_points(
    cx: &Context<'_>,
    op: BinaryOp,
    sides: [(&Expr, usize, Option<Scalar>); 2],
    compute: DataType,
) -> usize {
    let [(a, x, _), (b, y, _)] = sides;
    let sums = Semiring::arithmetic(compute);
    if op == BinaryOp::Mul {
        // If the value is gone without any one operand of a side, that side has one case.
        if [a, b].iter().any(|side| meets(cx, side, compute)) {
            return x.max(y);
        }
        let vanish = [a, b].iter().all(|side| sums.vanishes(cx, side, &|_| true));
        return if vanish { x.saturating_mul(y) } else { join(x, y) };
    }
    if cx.facts(compute).decides_first(op) {
        let vanishes = sums.vanishes(cx, a, &|_| true);
        return if vanishes { x.saturating_mul(y.saturating_add(1)) } else { join(x, y) };
    }
    let decides = decided(cx, op, sides.map(|(_, _, fill)| fill), compute);
    match (x > 0 && decides[0].is_some(), y > 0 && decides[1].is_some()) {
        (true, true) => x.saturating_mul(y),
        (true, false) => x.saturating_mul(y.saturating_add(1)),
        (false, true) => y.saturating_mul(x.saturating_add(1)),
        (false, false) => join(x, y),
    }
}

/// For each side, the operator's value where that side is a constant, if the other side does not matter: infinity plus
/// any term.
fn decided(
    cx: &Context<'_>,
    op: BinaryOp,
    [a, b]: [Option<Scalar>; 2],
    compute: DataType,
) -> [Option<Scalar>; 2] {
    let facts = cx.facts(compute);
    let side = |c: Option<Scalar>| c.map_or(Expr::Param(0), Expr::Literal);
    let alone = |a, b| facts.annihilated(op, &side(a), &side(b));
    let [left, right] = [alone(a, None), alone(None, b)];
    // Infinity minus infinity is neither.
    let is_both = |c: &Scalar| match (a, b) {
        (Some(a), Some(b)) => folded(cx, op, [a, b], compute).is_some_and(|x| x.same_value(*c)),
        _ => true,
    };
    [left, right].map(|found| found.filter(is_both))
}

/// The value of an operator where both sides are constants, or where one alone decides.
fn joined_fill(
    cx: &Context<'_>,
    op: BinaryOp,
    [a, b]: [Option<Scalar>; 2],
    compute: DataType,
) -> Option<Scalar> {
    match (a, b) {
        (Some(a), Some(b)) => folded(cx, op, [a, b], compute),
        _ => decided(cx, op, [a, b], compute).into_iter().flatten().next(),
    }
}

/// The value of an operator on constants.
fn folded(cx: &Context<'_>, op: BinaryOp, sides: [Scalar; 2], compute: DataType) -> Option<Scalar> {
    let [a, b] = sides.map(|c| Box::new(Expr::Literal(c)));
    constant(cx.facts(compute).expr(Expr::Binary(op, a, b)))
}

fn constant(e: Expr) -> Option<Scalar> {
    if let Expr::Literal(c) = e { Some(c) } else { None }
}

/// Whether a factor is zero as soon as any one of the operands that list coordinates has no entry.
pub(in crate::legalise) fn meets(cx: &Context<'_>, factor: &Expr, compute: DataType) -> bool {
    if let Expr::Binary(BinaryOp::Mul, a, b) = factor {
        return meets(cx, a, compute) && meets(cx, b, compute);
    }
    let listing = factor.accesses().into_iter().filter(|a| !cx.is_full(a));
    let sums = Semiring::arithmetic(compute);
    listing.into_iter().all(|operand| sums.vanishes(cx, factor, &|a| a == operand))
}
