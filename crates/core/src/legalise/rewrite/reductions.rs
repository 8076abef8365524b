//! Reductions in fewer nested loops: nested reductions become one, terms with fewer variables are reduced separately,
//! and a reduction that lacks variables of the result is computed once for all of their coordinates. The terms of
//! `min`, `max`, `and` and `or` are grouped by their variables, so that equal parts are found however the terms were
//! written, and are reduced one by one if their merge would have many cases.
//!
//! ```text
//! min(a(i), B(i,j), c(i))                min(min(a(i), c(i)), B(i,j))
//! s = sum(j, sum(i, A(i,j)))             s = sum(i, j, A(i,j))
//! y(i) = min(j, min(A(i,j), b(j)))       y(i) = min(min(j, A(i,j)), min(j, b(j)))
//! C(i,k) = sum(j, A(i,j))                t(i) = sum(j, A(i,j));  C(i,k) = t(i)
//! ```
//!
//! None of this happens under a schedule, whose commands name the loops of the statement.

use crate::legalise::rewrite::factorize::independent;
use crate::legalise::rewrite::merge_size::merges_little;
use crate::legalise::{Context, Legaliser, Task};
use crate::notation::Expr;
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp};
use tamis_ir::datatype::DataType;
use tamis_ir::ids::IndexVar;

/// The value, with nested reductions joined, and terms with fewer variables reduced separately.
pub(in crate::legalise) fn regrouped(cx: &Context<'_>, value: Expr, compute: DataType) -> Expr {
    if cx.request.commands.given {
        return value;
    }
    let is_sparse = |e: &Expr| {
        let without = cx.facts(compute).expr_without(e, &|a| !cx.is_full(a));
        let few = cx.density(e, compute).is_none_or(|density| density < 0.5);
        few && matches!(without, Expr::Literal(c) if c.is_zero())
    };
    let has_negatives = compute.integers().is_none() && compute != DataType::Bool;
    regroup(value, has_negatives.then_some(&is_sparse))
}

/// Tells which values are zero at most elements. `None` where differences have to stay, as with integers.
type Negation<'f> = Option<&'f dyn Fn(&Expr) -> bool>;

impl Legaliser<'_> {
    /// The task as a copy of a temporary, if it is a reduction that lacks variables of the result.
    pub(in crate::legalise) fn repeated(&mut self, task: Task) -> Task {
        let order = self.storage_order(&task);
        let is_reduction = matches!(task.value, Expr::Reduce { .. });
        let free = task.value.free_vars();
        let used: Vec<IndexVar> = order.iter().copied().filter(|v| free.contains(v)).collect();
        if self.request.commands.given || !is_reduction || used.len() == order.len() {
            return task;
        }
        let value = self.temporary("t", None, used, task.value, task.compute);
        Task { value, ..task }
    }
}

/// A `min`, `max`, `any` or `all` of terms whose merge has many cases becomes one reduction per term.
pub(in crate::legalise) fn terms_apart(cx: &Context<'_>, task: Task) -> Task {
    let Expr::Reduce { op, vars, body } = &task.value else { return task };
    let many = !cx.request.commands.given && !merges_little(cx, body, task.compute);
    let all = terms(body, op.binary());
    if !op.is_idempotent() || !many || all.len() < 2 {
        return task;
    }
    let reduce =
        |term: &Expr| Expr::Reduce { op: *op, vars: vars.clone(), body: Box::new(term.clone()) };
    let join = |a, b| Expr::Binary(op.binary(), Box::new(a), Box::new(b));
    let value = all.into_iter().map(reduce).reduce(join).expect("there are terms");
    Task { value, ..task }
}

fn regroup(e: Expr, negation: Negation<'_>) -> Expr {
    if let Expr::Binary(op @ (BinaryOp::Min | BinaryOp::Max | BinaryOp::And | BinaryOp::Or), ..) = e
    {
        return grouped(op, terms(&e, op), negation);
    }
    match joined(e) {
        Expr::Reduce { op, vars, body } => {
            let body = regroup(*body, negation);
            let body = opened(op, &vars, &body, negation).unwrap_or(body);
            apart(op, vars, body)
        }
        e => e.map_children(&mut |child| regroup(child, negation)),
    }
}

/// Nested reductions of one operator become one, over the variables in the order in which they appear.
fn joined(e: Expr) -> Expr {
    let Expr::Reduce { op, mut vars, mut body } = e else { return e };
    loop {
        match *body {
            Expr::Reduce { op: inner, vars: more, body: within }
                if inner == op && disjoint(&vars, &more) =>
            {
                vars.extend(more);
                body = within;
            }
            other => {
                let used = other.free_vars();
                let at = |v: &IndexVar| used.iter().position(|u| u == v).unwrap_or(used.len());
                vars.sort_by_key(at);
                return Expr::Reduce { op, vars, body: Box::new(other) };
            }
        }
    }
}

/// The terms of an operator whose order does not matter, but for the sign of 0, with terms of the same variables
/// together.
fn grouped(op: BinaryOp, terms: Vec<&Expr>, negation: Negation<'_>) -> Expr {
    let join = |a, b| Expr::Binary(op, Box::new(a), Box::new(b));
    let mut groups: Vec<(Vec<IndexVar>, Vec<Expr>)> = vec![];
    for term in terms {
        let mut vars = term.free_vars();
        vars.sort();
        let term = regroup(term.clone(), negation);
        match groups.iter_mut().find(|(others, _)| *others == vars) {
            Some((_, group)) => group.push(term),
            None => groups.push((vars, vec![term])),
        }
    }
    let groups = groups.into_iter().filter_map(|(_, group)| group.into_iter().reduce(join));
    groups.reduce(join).expect("there is a term")
}

fn disjoint(vars: &[IndexVar], others: &[IndexVar]) -> bool {
    !vars.iter().any(|v| others.contains(v))
}

/// A reduction, where terms that need fewer loops than all of them, or whose factors have loops of their own, are
/// reduced separately. Terms of `min`, `max`, `any` and `all` that lack a variable need no loop over it: the loop
/// becomes a test that the variable has coordinates. Products stay whole: one of the factors may overflow where
/// another is 0.
fn apart(op: ReduceOp, vars: Vec<IndexVar>, body: Expr) -> Expr {
    let reduce = |body| Expr::Reduce { op, vars: vars.clone(), body: Box::new(body) };
    if op == ReduceOp::Mul {
        return reduce(body);
    }
    let mut groups: Vec<(Vec<IndexVar>, Expr)> = vec![];
    let join = |a, b| Expr::Binary(op.binary(), Box::new(a), Box::new(b));
    let all = terms(&body, op.binary());
    let over = if op.is_idempotent() { &[][..] } else { &vars };
    for term in all {
        let mut loops = [&term.free_vars()[..], over].concat();
        loops.sort();
        loops.dedup();
        let is_alone = op == ReduceOp::Add && is_separable(term, &vars);
        match groups.iter_mut().find(|(others, _)| *others == loops) {
            Some((_, sum)) if !is_alone => *sum = join(sum.clone(), term.clone()),
            // No other term joins a group with the key of no loops: the loops of each term have the reduced variables.
            _ => groups.push((if is_alone { vec![] } else { loops }, term.clone())),
        }
    }
    match groups.len() {
        1 => reduce(body),
        _ => {
            let sums = groups.into_iter().map(|(_, sum)| reduce(sum));
            sums.reduce(join).expect("there is a term")
        }
    }
}

/// The reduced value, with differences as sums of negative terms, if these have loops of their own then.
///
/// In a sum, a difference of dense values stays if one of the values has all variables of the difference: both sums
/// may be large where the differences are small. In minima and maxima parentheses stay.
fn opened(op: ReduceOp, vars: &[IndexVar], body: &Expr, negation: Negation<'_>) -> Option<Expr> {
    let is_sparse = negation?;
    let splits = |a: &Expr, b: &Expr| {
        let (a_vars, b_vars) = (a.free_vars(), b.free_vars());
        let has_all = |own: &[IndexVar], other: &[IndexVar]| other.iter().all(|v| own.contains(v));
        let lack = !has_all(&a_vars, &b_vars) && !has_all(&b_vars, &a_vars);
        lack || is_sparse(a) || is_sparse(b)
    };
    let (found, helps) = match op {
        ReduceOp::Add => {
            let found = without_differences(body.clone(), &splits);
            let is_one = matches!(apart(op, vars.to_vec(), found.clone()), Expr::Reduce { .. });
            (found, !is_one)
        }
        ReduceOp::Min | ReduceOp::Max => {
            let found = negative_terms(body.clone());
            let own: Vec<Vec<IndexVar>> =
                terms(&found, BinaryOp::Add).into_iter().map(Expr::free_vars).collect();
            let factors: Vec<&[IndexVar]> = own.iter().map(Vec::as_slice).collect();
            let is_apart = factors.iter().any(|f| disjoint(f, vars));
            (found, is_apart || independent(&factors, vars).len() > 1)
        }
        _ => return None,
    };
    (helps && found != *body).then_some(found)
}

/// A sum in which the differences that `splits` picks become sums.
fn without_differences(e: Expr, splits: &dyn Fn(&Expr, &Expr) -> bool) -> Expr {
    match e {
        Expr::Binary(BinaryOp::Add, a, b) => {
            plus(without_differences(*a, splits), without_differences(*b, splits))
        }
        Expr::Binary(BinaryOp::Sub, a, b) if splits(&a, &b) => {
            plus(without_differences(*a, splits), negated(without_differences(*b, splits)))
        }
        e => e,
    }
}

/// A sum or difference that is computed from the left, `a - b - c`, as a sum of negative terms.
fn negative_terms(e: Expr) -> Expr {
    match e {
        Expr::Binary(BinaryOp::Add, a, b) => plus(negative_terms(*a), *b),
        Expr::Binary(BinaryOp::Sub, a, b) => plus(negative_terms(*a), Expr::Unary(UnaryOp::Neg, b)),
        e => e,
    }
}

fn plus(a: Expr, b: Expr) -> Expr {
    Expr::Binary(BinaryOp::Add, Box::new(a), Box::new(b))
}

/// The negative of a sum.
fn negated(e: Expr) -> Expr {
    match e {
        Expr::Binary(BinaryOp::Add, a, b) => plus(negated(*a), negated(*b)),
        Expr::Unary(UnaryOp::Neg, e) => *e,
        e => Expr::Unary(UnaryOp::Neg, Box::new(e)),
    }
}

/// Whether the sums over a product have no common factor, so that each has loops of its own.
fn is_separable(term: &Expr, vars: &[IndexVar]) -> bool {
    let factors: Vec<Vec<IndexVar>> =
        terms(term, BinaryOp::Mul).into_iter().map(Expr::free_vars).collect();
    let factors: Vec<&[IndexVar]> = factors.iter().map(Vec::as_slice).collect();
    independent(&factors, vars).len() > 1
}

fn terms(e: &Expr, op: BinaryOp) -> Vec<&Expr> {
    match e {
        Expr::Binary(o, a, b) if *o == op => [terms(a, op), terms(b, op)].concat(),
        e => vec![e],
    }
}

#[cfg(test)]
mod tests {
    use super::regroup;
    use crate::notation::Expr;
    use crate::notation::parse;

    fn check(text: &str, expected: &str) {
        let mut program = parse(text).unwrap();
        // In this test, matrices are sparse.
        let is_sparse = |e: &Expr| e.accesses().iter().any(|a| a.indices.len() == 2);
        let value = program.statements[0].value.clone();
        program.statements[0].value = regroup(value, Some(&is_sparse));
        assert_eq!(program.to_string(), expected);
    }

    #[test]
    fn nested_reductions_are_one() {
        check("s = sum(i, sum(j, A(i,j)))", "s = sum(i, j, A(i,j))");
        check("s = max(i, min(j, A(i,j)))", "s = max(i, min(j, A(i,j)))");
        for text in ["s = sum(j, i, A(i,j))", "s = sum(j, sum(i, A(i,j)))"] {
            check(text, "s = sum(i, j, A(i,j))");
        }
        for text in ["s = min(i, j, min(a(i), b(j)))", "s = min(j, min(i, min(a(i), b(j))))"] {
            check(text, "s = min(min(i, j, a(i)), min(i, j, b(j)))");
        }
    }

    #[test]
    fn terms_are_grouped_by_variables_however_they_were_joined() {
        for text in [
            "R(i,j) = min(min(a(j), c(j)), min(B(i,j), D(j,i)))",
            "R(i,j) = min(a(j), min(min(B(i,j), c(j)), D(j,i)))",
            "R(i,j) = min(min(min(a(j), B(i,j)), c(j)), D(j,i))",
        ] {
            check(text, "R(i,j) = min(a(j), c(j), min(B(i,j), D(j,i)))");
        }
        check("y(i) = (a(i) + x + b(i)) * 2", "y(i) = (a(i) + x + b(i)) * 2");
    }

    #[test]
    fn terms_of_fewer_loops_are_reduced_apart() {
        check(
            "y(i) = min(j, min(A(i,j), min(A(i,j), b(j))))",
            "y(i) = min(min(j, min(A(i,j), A(i,j))), min(j, b(j)))",
        );
        check(
            "s = max(i, j, max(max(a(j), b(i)), c(j)))",
            "s = max(max(j, i, max(a(j), c(j))), max(j, i, b(i)))",
        );
        check(
            "y = any(i, j, or(or(a(i), B(i,j)), c(j)))",
            "y = or(any(i, j, a(i)), any(i, j, B(i,j)), any(i, j, c(j)))",
        );
        check("y(i) = sum(j, A(i,j) + B(j,i) + 1)", "y(i) = sum(j, A(i,j) + B(j,i)) + sum(j, 1)");
    }

    #[test]
    fn products_whose_sums_separate_are_summed_apart() {
        check(
            "s = sum(i, j, A(i,j) + x(i) * y(j))",
            "s = sum(i, j, A(i,j)) + sum(i, j, x(i) * y(j))",
        );
    }

    #[test]
    fn terms_of_the_same_loops_and_differences_of_dense_values_stay() {
        for text in [
            "y(i) = sum(j, A(i,j) + B(j,i))",
            "y(i) = sum(j, A(i,j) - B(i,j))",
            "s = sum(i, j, T(i,j,j) - b(j))",
            "s = sum(i, j, k, T(i,j,j) - b(j) - T(i,j,k))",
            "y(j) = min(i, a(i) - (b(j) - c(i)))",
            "y(j) = min(i, A(i,j) - B(i,j))",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn differences_are_sums_where_terms_have_loops_of_their_own() {
        check("y(i) = sum(j, A(i,j) - b(j))", "y(i) = sum(j, A(i,j)) + sum(j, -b(j))");
        check("s = sum(i, j, a(i) - b(j))", "s = sum(i, j, a(i)) + sum(i, j, -b(j))");
        check("y(j) = min(i, a(i) - b(j) - c(i))", "y(j) = min(i, a(i) + -b(j) + -c(i))");
    }
}
