//! Splits one task into several: parts that are computed beforehand into temporaries.
//!
//! Seven reasons:
//!
//! - a reduction lacks variables of the result;
//! - factors of a product need fewer loops than all of it;
//! - a reduction inside a larger expression suits other loops than the rest;
//! - the terms of a reduction are few, and are listed first ([`super::listed_terms`]);
//! - a merge of so many sparse operands would have too many cases;
//! - the result cannot hold intermediate sums;
//! - the result is better assembled elsewhere first ([`crate::legalise::output`]).

use crate::cin::Role;
use crate::format::Format;
use crate::legalise::copies::in_order::{copy_format, copy_order, replace};
use crate::legalise::copies::transpose::{is_written_often, transposed_result};
use crate::legalise::gathered::gathered_elsewhere;
use crate::legalise::infer::formats::inferred_storage;
use crate::legalise::order::loops::{innermost_reduced, reduced_loops};
use crate::legalise::order::{Order, best_order};
use crate::legalise::output::{output_order, scatters};
use crate::legalise::rewrite::diagonals::diagonals_once;
use crate::legalise::rewrite::hashed_rows::hashed_rows;
use crate::legalise::rewrite::listed_sum::listed_sum;
use crate::legalise::rewrite::merge_size::{MAX_OPERANDS, merges_little, points};
use crate::legalise::rewrite::nary_sum::gather;
use crate::legalise::rewrite::reductions::terms_apart;
use crate::legalise::rewrite::row_workspaces::{holds_sums, summed_rows};
use crate::legalise::rewrite::semiring::Semiring;
use crate::legalise::{Context, Legaliser, Task};
use crate::level::{BITMAP, COMPRESSED, DENSE};
use crate::notation::{Access, Expr};
use crate::plan::OutputOrder;
use crate::plan::access::distinct;
use tamis_ir::algebra::ZeroRule;
use tamis_ir::datatype::DataType;
use tamis_ir::ids::{Id, IndexVar};

/// How zeros of a part of a value matter.
#[derive(Clone, Copy)]
enum Zeros {
    /// Zeros are added: implicit ones are as good as computed ones.
    Added,
    /// Zeros are multiplied or divided: an implicit 0 annihilates, while a computed 0 divided by 0 is a NaN.
    Multiplied,
}

impl Zeros {
    /// How zeros of an expression's operands matter, if zeros of the expression matter as `self` says.
    fn within(self, e: &Expr) -> Zeros {
        match e {
            Expr::Binary(op, ..) if op.zero_rule() != ZeroRule::Neither => Zeros::Multiplied,
            _ => self,
        }
    }
}

/// A part of a value that may be computed beforehand.
struct Part {
    value: Expr,
    vars: Vec<IndexVar>,
}

/// Whether the operands of a value should be in one merge.
type Fits<'f> = &'f dyn Fn(&Context<'_>, &Expr) -> bool;

impl Legaliser<'_> {
    /// The task with worthwhile parts replaced by temporaries.
    pub(in crate::legalise) fn split(&mut self, task: Task) -> Task {
        let task = self.repeated(task);
        let task = self.with_vectors(task);
        let task = diagonals_once(self, task);
        let task = self.contracted(task);
        let task = self.with_listed_terms(task);
        let task = terms_apart(self, task);
        let compute = task.compute;
        let order = self.storage_order(&task);
        let value = match task.value {
            Expr::Reduce { op, vars, body } => {
                let outer: Vec<IndexVar> = order.iter().chain(&vars).copied().collect();
                let body = self.hoist_reductions(*body, &outer, compute);
                Expr::Reduce { op, vars, body: Box::new(body) }
            }
            value => self.hoist_reductions(value, &order, compute),
        };
        let task = Task { value, ..task };
        if listed_sum(self, &task).is_some() {
            // Scattered entries are combined in the type of the sum, and padding beside entries is written at the end.
            let spreads = self.program.storage(task.result).format.spreads();
            if holds_sums(self, &task) && !spreads {
                return task;
            }
            let value = self.temporary("t", None, order, task.value, compute);
            return self.split(Task { value, ..task });
        }
        let task = match gather(self, &task) {
            Some(_) => {
                let value = self.merged_in_pairs(task.value, &order, compute);
                Task { value, ..task }
            }
            None => self.narrowed(task),
        };
        let task = self.accumulate_elsewhere(task);
        let task = add_duplicates_elsewhere(self, task);
        self.assemble_elsewhere(task)
    }

    /// The task with parts of its value replaced by temporaries until no merge has many cases.
    pub(in crate::legalise) fn narrowed(&mut self, task: Task) -> Task {
        let order = self.storage_order(&task);
        let value = self.narrow(task.value, &order, task.compute);
        let value = self.merged_in_pairs(value, &order, task.compute);
        Task { value, ..task }
    }

    /// Replaces reductions by temporaries if they do not fit into loops over `outer`, or are loop-invariant there:
    /// each of the latter is a number with a kernel of its own, so that threads share both kernels.
    fn hoist_reductions(&mut self, e: Expr, outer: &[IndexVar], compute: DataType) -> Expr {
        let Expr::Reduce { op, vars, body } = e else {
            return e.map_children(&mut |child| self.hoist_reductions(child, outer, compute));
        };
        let inner: Vec<IndexVar> = outer.iter().chain(&vars).copied().collect();
        let reduction = Expr::Reduce { op, vars, body };
        let free = reduction.free_vars();
        let used: Vec<IndexVar> = outer.iter().copied().filter(|v| free.contains(v)).collect();
        let counts = reduction.accesses().is_empty();
        let is_number = used.is_empty() && !counts && !self.request.commands.given;
        let prefix = outer.starts_with(&used) && !is_number;
        if (prefix || used.len() == outer.len()) && fits_within(self, &reduction, &used) {
            let Expr::Reduce { op, vars, body } = reduction else { return reduction };
            let body = self.hoist_reductions(*body, &inner, compute);
            return Expr::Reduce { op, vars, body: Box::new(body) };
        }
        self.temporary("t", None, used, reduction, compute)
    }

    /// Computes parts of a value in temporaries until no merge has too many lattice points. First come copies of
    /// operands that list coordinates in more levels than necessary, as blocks may; then parts that occur in the value
    /// more than once. If two operands of many levels are already too many, each temporary joins two.
    fn narrow(&mut self, value: Expr, order: &[IndexVar], compute: DataType) -> Expr {
        let mut value = value;
        while !merges_little(self, &value, compute) {
            let Some((access, vars, format)) = copied_plain(self, &value) else { break };
            let name = format!("{}_plain", self.program.tensors[access.tensor].name);
            let source = Expr::Access(access.clone());
            let copy = self.temporary(&name, Some(format), vars, source, compute);
            value = replace(value, &access, &copy);
        }
        while !merges_little(self, &value, compute) {
            let few: Fits<'_> = &|cx, e| merges_little(cx, e, compute);
            let two: Fits<'_> = &|cx, e| cx.listing(e) == 2;
            let mut parts = vec![];
            let is_repeated: Fits<'_> = &|_, e| uses(&value, e) > 1;
            find_parts(self, &value, order, (compute, is_repeated), &mut parts);
            if parts.is_empty() {
                find_parts(self, &value, order, (compute, few), &mut parts);
            }
            if parts.is_empty() && self.listing(&value) > 2 {
                find_parts(self, &value, order, (compute, two), &mut parts);
            }
            // The first of the parts with the fewest entries, whatever the written order.
            let size = |part: &Part| {
                let density = self.density(&part.value, compute).unwrap_or(1.0);
                density * self.trips_over(&part.vars)
            };
            let Some(part) = parts.into_iter().min_by(|a, b| size(a).total_cmp(&size(b))) else {
                break;
            };
            let format = match is_multiplied(&value, &part.value, Zeros::Added) {
                false => None,
                true => with_presence(self, &part.value, &part.vars, compute),
            };
            let temporary = self.temporary("t", format, part.vars, part.value.clone(), compute);
            value = replaced(value, &part.value, &temporary);
        }
        value
    }

    /// Makes the task a copy of a temporary if the result cannot hold partial sums: it starts from another value than
    /// the reduction, or its elements are narrower. A register can hold them, except for sums of parts.
    fn accumulate_elsewhere(&mut self, task: Task) -> Task {
        let Expr::Reduce { op, .. } = &task.value else { return task };
        let storage = self.program.storage(task.result);
        let identity = self.program.identity(*op, task.compute);
        let same_start = storage.format.is_full()
            || identity.is_some_and(|id| id.same_value(storage.fill.computed(task.compute)));
        let wide = holds_sums(self, &task);
        let parts = self.request.parallel && task.vars.is_empty();
        let told = matches!(self.program.tensors[task.result].role,
            Role::Result(id) if self.request.restored.contains(&id));
        if (same_start && wide) || (!told && !parts && reduces_innermost(self, &task)) {
            return task;
        }
        let order = best_order(self, &task, false);
        if !told
            && (same_start && gathers_rows(self, &task, &order)
                || summed_rows(self, &task, &order.vars).is_some()
                || hashed_rows(self, &task, &order.vars, None).is_some())
        {
            return task;
        }
        let order = self.storage_order(&task);
        let value = self.temporary("t", None, order, task.value, task.compute);
        Task { value, ..task }
    }

    /// Makes the task a copy of a temporary if that is better than assembling the result in the order of the loops.
    ///
    /// Where entries store elements for others, what holds the entries anyway is better a tensor, of
    /// which it is known what it takes before the result is allocated.
    fn assemble_elsewhere(&mut self, task: Task) -> Task {
        let format = self.program.storage(task.result).format.clone();
        let is_copy = task.is_copy();
        if format.is_full() && !is_written_often(self, &task) {
            return task;
        }
        let Order { vars: loops, converted } = best_order(self, &task, is_copy);
        let written = output_order(self, &task, &loops, &converted);
        let value = match written {
            OutputOrder::InOrder => {
                let Some(vars) = transposed_result(self, &task, &loops) else { return task };
                let format = Format::in_order(vec![DENSE; vars.len()]);
                self.temporary("t", Some(format), vars, task.value, task.compute)
            }
            _ if format.spreads() && !is_copy => {
                let format = listed_where_absent(self, &task);
                self.temporary("t", format, task.vars.clone(), task.value, task.compute)
            }
            _ => match gathered_elsewhere(self, &task, (&loops, &converted), written) {
                Some(temporary) => gathered_in(self, temporary, &task),
                None => return task,
            },
        };
        let task = Task { value, ..task };
        // A temporary gathered in loop order may become the result row by row.
        let loops = best_order(self, &task, true).vars;
        let written = output_order(self, &task, &loops, &[]);
        let Some(temporary) = gathered_elsewhere(self, &task, (&loops, &[]), written) else {
            return task;
        };
        let value = gathered_in(self, temporary, &task);
        Task { value, ..task }
    }
}

/// Makes the copy of an operand with duplicates that is not reached in order a copy of a list of its coordinates, if the
/// result also stores elements without an entry, whose value is not 0: duplicates would be added to it.
fn add_duplicates_elsewhere(l: &mut Legaliser<'_>, task: Task) -> Task {
    let Expr::Access(access) = &task.value else { return task };
    let storage = l.program.storage(task.result);
    let levels = storage.format.levels();
    let is_padded = levels.last().is_some_and(|level| level.kind.properties().full);
    let starts_at_0 = storage.fill.computed(task.compute).is_zero();
    let adds = l.program.storage(access.tensor).format.has_duplicates() && scatters(l, &task);
    if !adds || !is_padded || starts_at_0 || storage.format.is_full() {
        return task;
    }
    let format = Format::in_order(vec![COMPRESSED; task.vars.len()]);
    let order = l.storage_order(&task);
    let value = l.temporary("t", Some(format), order, task.value, task.compute);
    Task { value, ..task }
}

/// A temporary with these variables and levels, in which loops gather the values of a task.
fn gathered_in(
    l: &mut Legaliser<'_>,
    (vars, format): (Vec<IndexVar>, Format),
    task: &Task,
) -> Expr {
    l.gathering.push(task.value.clone());
    let gathered = l.temporary("t", Some(format), vars, task.value.clone(), task.compute);
    l.gathering.pop();
    gathered
}

/// A format of rows for a temporary that would otherwise be full, although elements without operand entries have the
/// result's fill value.
fn listed_where_absent(cx: &Context<'_>, task: &Task) -> Option<Format> {
    let storage = cx.program.storage(task.result);
    let inferred =
        inferred_storage(cx, &task.value, &task.vars, task.compute, storage.datatype).format;
    let any_sparse = |a: &Access| !cx.program.storage(a.tensor).format.is_full();
    let facts = cx.facts(task.compute);
    let absent = facts.unless_empty(facts.expr_without(&task.value, &any_sparse));
    let fill = storage.fill.computed(task.compute);
    let kind = |k| if k == 0 { DENSE } else { COMPRESSED };
    (inferred.is_full() && matches!(absent, Expr::Literal(c) if c.same_value(fill)))
        .then(|| Format::in_order((0..task.vars.len()).map(kind)))
}

/// Whether the operands of a reduction can be read in storage order, without a copy, inside loops over `outer`:
/// blocks, slots and diagonals need loops over these.
fn fits_within(cx: &Context<'_>, reduction: &Expr, outer: &[IndexVar]) -> bool {
    reduction.accesses().iter().all(|access| {
        if !cx.request.commands.given && !cx.access_methods().is_reached(access, outer) {
            return false;
        }
        let mut below_inner = false;
        cx.program.levels(access).into_iter().all(|(level, var)| {
            let is_outer = cx.follows(var, outer);
            let fits = level.kind.properties().full || !is_outer || !below_inner;
            below_inner |= !is_outer;
            fits
        })
    })
}

/// Among operands stored by blocks or diagonals, the one that lists coordinates in the most levels, if a copy by modes
/// has fewer such levels; with the variables of the copy, in the order of the operand, and the copy's format.
fn copied_plain(cx: &Context<'_>, value: &Expr) -> Option<(Access, Vec<IndexVar>, Format)> {
    if cx.request.commands.given {
        return None;
    }
    let lists = |format: &Format| {
        format.levels().iter().filter(|level| !level.kind.properties().full).count()
    };
    let own = |a: &Access| lists(&cx.program.storage(a.tensor).format);
    let mut operands = distinct(value);
    operands.retain(|a| {
        let is_plain = cx.program.storage(a.tensor).format.stores_modes();
        !is_plain && !a.is_diagonal() && !a.is_sliced()
    });
    operands.sort_by_key(|a| std::cmp::Reverse(own(a)));
    operands.into_iter().find_map(|access| {
        let levels = cx.program.storage(access.tensor).format.levels();
        let modes: Vec<IndexVar> =
            levels.iter().flat_map(|l| l.map.modes()).map(|m| access.indices[m.index()]).collect();
        let vars = copy_order(cx, &access, &modes);
        let format = copy_format(cx, &access, &vars);
        (lists(&format) < own(&access)).then_some((access, vars, format))
    })
}

/// Finds the largest operand trees that fit one merge, from the left.
fn find_parts(
    cx: &Context<'_>,
    e: &Expr,
    order: &[IndexVar],
    (compute, fits): (DataType, Fits<'_>),
    found: &mut Vec<Part>,
) {
    let is_one = points(cx, e, compute) <= 1 && cx.listing(e) <= MAX_OPERANDS / 2;
    if is_one || matches!(e, Expr::Access(_)) {
        return;
    }
    let free = e.free_vars();
    if fits(cx, e) && free.iter().all(|v| order.contains(v)) {
        let vars = order.iter().copied().filter(|v| free.contains(v)).collect();
        found.push(Part { value: e.clone(), vars });
        return;
    }
    let mut inner = order.to_vec();
    if let Expr::Reduce { vars, .. } = e {
        inner.extend(vars);
    }
    for child in e.children() {
        find_parts(cx, child, &inner, (compute, fits), found);
    }
}

/// A format for a temporary that distinguishes implicit from computed zeros, where the inferred format does not.
fn with_presence(
    cx: &Context<'_>,
    e: &Expr,
    vars: &[IndexVar],
    compute: DataType,
) -> Option<Format> {
    let inferred = inferred_storage(cx, e, vars, compute, compute).format;
    let mut kinds = vec![DENSE; vars.len()];
    *kinds.first_mut()? = BITMAP;
    let vanishes = Semiring::arithmetic(compute).vanishes(cx, e, &|_| true);
    (inferred.is_full() && vanishes).then(|| Format::in_order(kinds))
}

/// Whether a workspace for each row of a sparse result holds its sums until the row is appended.
fn gathers_rows(cx: &Context<'_>, task: &Task, order: &Order) -> bool {
    let format = &cx.program.storage(task.result).format;
    let levels = format.levels();
    let lists = levels.last().is_some_and(|l| !l.kind.properties().full);
    let revisits =
        cx.access_methods().revisits_result(task.value.accesses().into_iter(), &task.vars);
    let written = output_order(cx, task, &order.vars, &order.converted);
    let gathered = matches!(written, OutputOrder::Gathered | OutputOrder::Counted);
    // A result with a position for each element is added to in place.
    lists
        && !format.is_placed()
        && gathered
        && !revisits
        && levels.iter().filter(|l| !l.kind.properties().full).count() == 1
}

/// Whether the cheapest loops have all reductions innermost, so that a register holds each sum.
fn reduces_innermost(cx: &Context<'_>, task: &Task) -> bool {
    let order = best_order(cx, task, false);
    let kept = |a: &&Access| !order.converted.contains(a);
    let revisits = cx
        .access_methods()
        .revisits_result(task.value.accesses().into_iter().filter(kept), &task.vars);
    let reduced = reduced_loops(cx, task, &order.vars);
    let inner = innermost_reduced(cx, task, &order.vars, &reduced);
    !revisits && reduced.iter().filter(|&&r| r).count() == inner
}

/// A value with every occurrence of a part replaced.
pub(super) fn replaced(e: Expr, part: &Expr, by: &Expr) -> Expr {
    match e == *part {
        true => by.clone(),
        false => e.map_children(&mut |child| replaced(child, part, by)),
    }
}

/// How often a part occurs in a value.
fn uses(e: &Expr, part: &Expr) -> usize {
    let within = || e.children().into_iter().map(|child| uses(child, part)).sum();
    if e == part { 1 } else { within() }
}

/// Whether some occurrence of a part is multiplied or divided.
fn is_multiplied(e: &Expr, part: &Expr, zeros: Zeros) -> bool {
    if e == part {
        return matches!(zeros, Zeros::Multiplied);
    }
    let zeros = zeros.within(e);
    e.children().into_iter().any(|child| is_multiplied(child, part, zeros))
}
