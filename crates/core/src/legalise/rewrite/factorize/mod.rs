//! Long products: loops that all factors share are shared, other loops run one after the other instead of nested.
//!
//! ```text
//! A(i,l) = B(i,j) * C(i,k) * D(j,k) * E(j,l)
//!
//! forall(i, forall(j, where(forall(l, A(i,l) += B(i,j) * E(j,l) * s), forall(k, s += C(i,k) * D(j,k)))))
//!
//! A(i,l) = B(i,j) * C(j,k) * D(k,l)
//!
//! forall(i, where(forall(k, forall(l, A(i,l) += w(k) * D(k,l))), forall(j, forall(k, w(k) += B(i,j) * C(j,k)))))
//! ```
//!
//! Fusion after distribution (SparseLNR, section 4): a product is split into a part that is summed first and the rest, and
//! the two share their outermost loops. The sum of the part is a number; or a vector, where one variable of both is not
//! shared; or a number for each entry of a row ([`rows`]). Part and rest are split further.
//!
//! A sum may be empty: then its 0 times an infinite factor would be a NaN, so the rest is skipped (`Kernel::partial`).

pub(in crate::legalise) mod independent;
mod nests;
mod product;
mod rows;

pub(in crate::legalise) use independent::independent;
use nests::{Nests, trip_count};
use product::{Factor, Product, edges_of, is_by_modes, lists};

use crate::cin::Stmt;
use crate::legalise::order::topological;
use crate::legalise::rewrite::semiring::Semiring;
use crate::legalise::{Context, Task};
use crate::level::DENSE;
use crate::notation::{Access, Expr};
use crate::steps::CONTIGUOUS;
use tamis_ir::ids::{IndexVar, TensorId};

/// A split may cost at most this share of one nest.
const WORTH: f64 = 0.6;
/// The same for a split without a loop around part and rest, so that threads cannot share the kernel.
const WORTH_ALONE: f64 = 0.25;
/// The most splits inside of each other.
const DEPTH: usize = 4;
/// Up to this many sums that share factors, all their subsets are candidates for the part; beyond it, some are summed by
/// contraction first.
pub(in crate::legalise) const MAX_SUMS: usize = 4;

/// The loops of a product.
struct Plan {
    cost: f64,
    loops: Loops,
}

/// How the loops run: one nest, or part and rest.
enum Loops {
    Nest(Product, Vec<IndexVar>),
    Split(Box<Split>),
}

struct Split {
    shared: Vec<IndexVar>,
    /// The number of the part.
    number: usize,
    /// The variables of the part's sum.
    kept: Vec<IndexVar>,
    factors: Vec<Factor>,
    /// Whether the part's sum may be empty; then the rest is skipped.
    is_partial: bool,
    /// The operand over whose row part and rest have a loop each, instead of the last shared loop.
    rows: Option<Access>,
    part: Plan,
    rest: Plan,
}

/// What the statements of a plan are built from.
struct Target {
    semiring: Semiring,
    /// The temporaries that hold the sums of parts, by the numbers of these.
    parts: Vec<(usize, Access)>,
    partial: Vec<TensorId>,
    /// Whether loops may visit a coordinate again, because an operand stores duplicates.
    revisits: bool,
}

/// The statement of a product whose loops are split.
pub(in crate::legalise) struct Distributed {
    pub(in crate::legalise) cost: f64,
    pub(in crate::legalise) body: Stmt,
    /// The temporaries whose sums may be empty.
    pub(in crate::legalise) partial: Vec<TensorId>,
}

impl Plan {
    /// One order of all loops that keeps the orders of the parts and of the rest.
    fn order(&self) -> Vec<IndexVar> {
        let split = match &self.loops {
            Loops::Nest(_, vars) => return vars.clone(),
            Loops::Split(split) => split,
        };
        let (mut order, rest) = (split.shared.clone(), split.rest.order());
        let mut rest = rest.into_iter();
        for var in split.part.order() {
            if rest.clone().any(|v| v == var) {
                order.extend(rest.by_ref().take_while(|v| *v != var));
            }
            order.push(var);
        }
        order.extend(rest);
        order
    }

    /// The share of the cost of one nest that the plan may have. A sum without loops around it that is never empty becomes a
    /// kernel of its own, which threads share.
    fn worth(&self, cx: &Context<'_>, product: &Product) -> f64 {
        let Loops::Split(split) = &self.loops else { return 1.0 };
        let outermost = product.outer.is_empty() && split.shared.is_empty();
        let is_alone = outermost && split.is_partial && !product.appended.is_empty();
        if is_alone && cx.request.parallel { WORTH_ALONE } else { 1.0 }
    }

    /// Whether the rest may be skipped somewhere.
    fn may_leave_out(&self) -> bool {
        match &self.loops {
            Loops::Nest(..) => false,
            Loops::Split(split) => split.is_partial || split.rest.may_leave_out(),
        }
    }
}

/// An order of a task's loops from which they can be split, where splitting pays.
pub(in crate::legalise) fn order_apart(cx: &Context<'_>, task: &Task) -> Option<Vec<IndexVar>> {
    Some(plan_apart(cx, task)?.order())
}

/// Whether splitting a task's loops pays and its result lists no coordinates. With a result that lists them, part and rest
/// share fewer loops, so that a sum would be computed again for each entry.
pub(in crate::legalise) fn splits_rows(cx: &Context<'_>, task: &Task) -> bool {
    cx.program.listed_levels(task.result) == 0 && order_apart(cx, task).is_some()
}

/// The statement of a task whose loops are split, where that pays.
pub(in crate::legalise) fn distributed(cx: &mut Context<'_>, task: &Task) -> Option<Distributed> {
    let plan = plan_apart(cx, task)?;
    let (semiring, ..) = Semiring::of(&task.value, task.compute)?;
    let revisits =
        cx.access_methods().revisits_result(task.value.accesses().into_iter(), &task.vars);
    let mut target = Target { semiring, parts: vec![], partial: vec![], revisits };
    let lhs = Access::of(task.result, task.vars.clone());
    let cost = plan.cost;
    let body = built(cx, plan, &lhs, false, &mut target);
    Some(Distributed { cost, body, partial: target.partial })
}

fn plan_apart(cx: &Context<'_>, task: &Task) -> Option<Plan> {
    let (semiring, vars, body) = Semiring::of(&task.value, task.compute)?;
    let accesses = semiring.tensors(body)?;
    // A sum over a variable that no factor has repeats every term: it needs a loop around all.
    let has = |v: &IndexVar| accesses.iter().any(|a| a.indices.contains(v));
    let is_product = vars.iter().all(has);
    // Blocks, diagonals and slots have loops that no other operand can share: allowed where none has the variables.
    let is_apart = |a: &Access| {
        let mut others = accesses.iter().filter(|other| ***other != *a);
        let own = |v: &IndexVar| a.indices.contains(v);
        let is_whole = !a.is_diagonal() && a.indices.iter().all(|v| vars.contains(v));
        is_whole && !others.any(|o| o.indices.iter().any(own))
    };
    let has_loops = |a: &&Access| is_by_modes(cx, a) || is_apart(a);
    if !is_product
        || !cx.program.storage(task.result).format.stores_modes()
        || task.compute.is_complex()
        || !accesses.iter().all(has_loops)
    {
        return None;
    }
    let factors = accesses.into_iter().map(|a| Factor::Operand(a.clone())).collect();
    let written = cx.storage_order(task);
    let (outer, begun) = (vec![], 0);
    let appended = written[..cx.program.listed_levels(task.result)].to_vec();
    let product = Product { semiring, factors, written, appended, outer, begun, trips: 1.0 };
    let plan = plan(cx, &product, &mut 0, 0)?;
    let is_split = matches!(plan.loops, Loops::Split(_));
    // Where the rest is skipped, elements keep their initial value: it has to be the identity of the sum.
    let fill = cx.program.storage(task.result).fill.computed(task.compute);
    let identity = cx.program.identity(semiring.sum, task.compute);
    let starts = identity.is_some_and(|id| id.same_value(fill));
    (is_split && (starts || !plan.may_leave_out())).then_some(plan)
}

/// The cheapest loops of a product.
fn plan(cx: &Context<'_>, product: &Product, numbers: &mut usize, depth: usize) -> Option<Plan> {
    let open = product.loops(cx);
    let orders = topological(&open, &edges_of(cx, &product.factors, &open));
    // One nest may run in an order that does not append to the result: its entries are sorted in a temporary. So may a rest,
    // where its operands allow no order that appends.
    let is_rest = product.factors.iter().any(|f| matches!(f, Factor::Part(..)));
    let appends = |order: &Vec<IndexVar>| order.starts_with(&product.appended);
    let only_appending = is_rest && orders.iter().any(appends);
    let nests = orders.into_iter().filter(|order| !only_appending || appends(order));
    let all = Nests::of(cx, product, &open);
    let costs = nests.map(|order| (all.cost(&order), order));
    let (cost, order) = costs.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let mut best = Plan { cost, loops: Loops::Nest(product.clone(), order) };
    if depth == DEPTH {
        return Some(best);
    }
    let sums = product.sums();
    if sums.len() > MAX_SUMS {
        return Some(plan_separate(cx, product, numbers, depth, best));
    }
    let worth = best.cost * WORTH;
    // Sums that share no factor are not tried as one part: it would be split next anyway.
    let factors: Vec<&[IndexVar]> = product.factors.iter().map(Factor::vars).collect();
    for chosen in independent(&factors, &sums).iter().flat_map(|group| subsets(group)) {
        let split = split_over(cx, product, &chosen, numbers, depth + 1);
        let pays = |plan: &Plan| plan.cost < best.cost.min(worth) * plan.worth(cx, product);
        if let Some(plan) = split.filter(pays) {
            best = plan;
        }
    }
    Some(best)
}

/// All sets of some variables but the empty one.
fn subsets(vars: &[IndexVar]) -> impl Iterator<Item = Vec<IndexVar>> {
    let chosen = |bits: usize| (0..vars.len()).filter(move |k| bits >> k & 1 == 1);
    (1..1_usize << vars.len()).map(move |bits| chosen(bits).map(|k| vars[k]).collect())
}

/// The loops of a product that is summed over many variables. Sums that have no factor in common become loops after each
/// other instead of inside each other.
fn plan_separate(
    cx: &Context<'_>,
    product: &Product,
    numbers: &mut usize,
    depth: usize,
    best: Plan,
) -> Plan {
    let factors: Vec<&[IndexVar]> = product.factors.iter().map(Factor::vars).collect();
    let separate = independent(&factors, &product.sums());
    // All sums are connected by factors, and there are too many of them to try subsets.
    if separate.len() < 2 {
        return best;
    }
    let split = |sums: &Vec<IndexVar>| split_over(cx, product, sums, numbers, depth);
    let split = separate.iter().find_map(split);
    let pays = |plan: &Plan| plan.cost < best.cost * plan.worth(cx, product);
    split.filter(pays).unwrap_or(best)
}

/// A product split into the factors over some variables and the rest.
fn split_over(
    cx: &Context<'_>,
    product: &Product,
    chosen: &[IndexVar],
    numbers: &mut usize,
    depth: usize,
) -> Option<Plan> {
    let over = |f: &Factor| f.vars().iter().any(|v| chosen.contains(v));
    let (part, rest): (Vec<Factor>, Vec<Factor>) = product.factors.iter().cloned().partition(over);
    let needed =
        |v: &IndexVar| product.written.contains(v) || rest.iter().any(|f| f.vars().contains(v));
    // Factors of the rest, or the result, still have the variable: it cannot be summed in the part.
    if rest.is_empty() || chosen.iter().any(needed) {
        return None;
    }
    let mut kept = product.open();
    kept.retain(|v| part.iter().any(|f| f.vars().contains(v)) && needed(v));
    // Loops over levels that no other operand can be merged with, or searched in, are not shared.
    if !product.are_ascending(cx, &kept) {
        return None;
    }
    let shared = shareable(cx, product, &kept);
    // With many sums, all loops that can be shared are: fewer are not tried.
    let fewest = if product.sums().len() > MAX_SUMS { shared.len() } else { 0 };
    let least = kept.len().saturating_sub(1).max(fewest);
    let mut best: Option<Plan> = None;
    for count in least..=shared.len() {
        let sides = (part.clone(), rest.clone());
        let (shared, kept) = (shared[..count].to_vec(), kept.clone());
        let split = split_at(cx, product, sides, (shared, kept), (numbers, depth));
        if let Some(plan) = split
            && best.as_ref().is_none_or(|best| plan.cost < best.cost)
        {
            best = Some(plan);
        }
    }
    best
}

/// Of the variables that both sides of a split use, those that can be the outermost loops, in order.
fn shareable(cx: &Context<'_>, product: &Product, both: &[IndexVar]) -> Vec<IndexVar> {
    let edges = edges_of(cx, &product.factors, &product.open());
    let mut shared: Vec<IndexVar> = vec![];
    loop {
        let first = product.outer.is_empty() && shared.is_empty();
        let ready = |v: &IndexVar| {
            let reads = edges.iter().all(|(from, to)| to != v || shared.contains(from));
            reads && (!first || begins(cx, product, *v))
        };
        let next: Vec<IndexVar> =
            both.iter().copied().filter(|v| !shared.contains(v) && ready(v)).collect();
        // Listed coordinates have to be read in order; the part's sum may be a vector over other variables.
        let listed = next.iter().find(|v| lists(cx, &product.factors, |w| w == **v));
        match listed.or(next.first()) {
            Some(&next) => shared.push(next),
            None => return shared,
        }
    }
}

/// Whether the outermost loop may be over a variable. The result is written row by row; a number is summed in the order of
/// listed coordinates.
fn begins(cx: &Context<'_>, product: &Product, var: IndexVar) -> bool {
    match product.written.first() {
        Some(outermost) => *outermost == var,
        None => lists(cx, &product.factors, |v| v == var) || !lists(cx, &product.factors, |_| true),
    }
}

/// The split that shares these loops; `kept` are the variables that both sides have.
fn split_at(
    cx: &Context<'_>,
    product: &Product,
    (part, mut rest): (Vec<Factor>, Vec<Factor>),
    (shared, mut kept): (Vec<IndexVar>, Vec<IndexVar>),
    (numbers, depth): (&mut usize, usize),
) -> Option<Plan> {
    kept.retain(|v| !shared.contains(v));
    let outer = [&product.outer[..], &shared].concat();
    // Factors that need no loop of the part belong to the rest.
    let (part, fixed): (Vec<Factor>, Vec<Factor>) =
        part.into_iter().partition(|f| f.vars().iter().any(|v| !outer.contains(v)));
    rest.splice(0..0, fixed);
    let trips = shared.iter().fold(product.trips, |n, &v| n * trip_count(cx, product, v));
    // Whether anything came has to be the same for every element that is left.
    let listed = part.iter().any(|factor| {
        let over = factor.vars().iter().any(|v| kept.contains(v));
        over && lists(cx, std::slice::from_ref(factor), |v| !outer.contains(&v))
    });
    let is_small = kept.iter().all(|v| cx.is_small(*v));
    if listed || !is_small || (outer.is_empty() && !kept.is_empty()) {
        return None;
    }
    let may_be_empty = |f: &Factor| match f {
        Factor::Operand(access) => !cx.is_full(access),
        Factor::Part(.., is_partial) => *is_partial,
    };
    let is_partial = !product.semiring.absorbs() && part.iter().any(may_be_empty);
    let appended = match product.appended.strip_prefix(&shared[..]) {
        Some(inner) => inner.to_vec(),
        None if shared.starts_with(&product.appended) => vec![],
        None => return None,
    };
    *numbers += 1;
    let number = *numbers;
    rest.push(Factor::Part(number, kept.clone(), is_partial));
    let begun = outer.len();
    let factors = part.clone();
    let semiring = product.semiring;
    let written = kept.clone();
    let part = Product {
        semiring,
        factors: part,
        written,
        appended: vec![],
        outer: outer.clone(),
        begun,
        trips,
    };
    let part = plan(cx, &part, numbers, depth)?;
    let rest = Product { factors: rest, appended, outer, trips, ..product.clone() };
    let rows = kept.is_empty().then(|| rows::operand(cx, &rest, &factors, &shared)).flatten();
    let rest = plan(cx, &rest, numbers, depth)?;
    let cleared: f64 = kept.iter().map(|v| cx.dimension_of(*v)).product();
    let cost = part.cost + rest.cost + trips * cleared * CONTIGUOUS;
    let split = Split { shared, number, kept, factors, is_partial, rows, part, rest };
    Some(Plan { cost, loops: Loops::Split(Box::new(split)) })
}

/// The temporary for the sum of a part.
fn left_by(
    cx: &mut Context<'_>,
    value: &Expr,
    kept: &[IndexVar],
    Semiring { sum, compute, .. }: Semiring,
) -> TensorId {
    if kept.is_empty() {
        return cx.program.register(sum, value, compute);
    }
    cx.workspace(vec![DENSE; kept.len()], kept, sum, (value, compute))
}

/// The product of factors.
fn value(factors: &[Factor], target: &Target) -> Expr {
    let operand = |factor: &Factor| match factor {
        Factor::Operand(access) => access.clone(),
        Factor::Part(number, ..) => {
            let part = target.parts.iter().find(|(n, _)| n == number);
            part.expect("parts are built before what reads them").1.clone()
        }
    };
    target.semiring.product(factors.iter().map(|f| Expr::Access(operand(f))).collect())
}

/// The statement of a plan that adds to `lhs`; `partial` if it is skipped where sums are empty.
fn built(
    cx: &mut Context<'_>,
    plan: Plan,
    lhs: &Access,
    partial: bool,
    target: &mut Target,
) -> Stmt {
    let split = match plan.loops {
        Loops::Split(split) => *split,
        Loops::Nest(product, order) => {
            let mut loops = product.outer[product.begun..].iter().chain(&order);
            // A skipped element is not stored where the result lists elements; elsewhere it keeps its initial value, so that
            // others are added to it.
            let format = &cx.program.storage(lhs.tensor).format;
            let lists = format.levels().last().is_some_and(|l| !l.kind.properties().full);
            let again = partial && !lists || loops.any(|v| !lhs.indices.contains(v));
            let op = (again || target.revisits).then_some(target.semiring.sum);
            // Factors that inner loops do not change come first, so that they are multiplied outside of these.
            let depth = |f: &Factor| order.iter().rposition(|v| f.vars().contains(v));
            let mut factors = product.factors;
            factors.sort_by_key(depth);
            let rhs = value(&factors, target);
            return Stmt::forall(&order, Stmt::Assign { lhs: lhs.clone(), op, rhs });
        }
    };
    let value = value(&split.factors, target);
    let (mut shared, mut kept) = (split.shared, split.kept);
    let own = split.rows.map(|row| rows::entries(cx, row, &mut shared));
    kept.extend(own);
    let tensor = left_by(cx, &value, &kept, target.semiring);
    let left = Access::of(tensor, kept);
    target.parts.push((split.number, left.clone()));
    if split.is_partial {
        target.partial.push(tensor);
    }
    let part = built(cx, split.part, &left, false, target);
    let rest = built(cx, split.rest, lhs, partial || split.is_partial, target);
    let own: Vec<IndexVar> = own.into_iter().collect();
    let [consumer, producer] = [rest, part].map(|side| Box::new(Stmt::forall(&own, side)));
    Stmt::forall(&shared, Stmt::Where { consumer, producer })
}
