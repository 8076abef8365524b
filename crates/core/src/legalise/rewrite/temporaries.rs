//! Splitting one task into several: what is computed beforehand into temporaries.
//!
//! Seven reasons: a reduction that lacks variables of the result; factors of a product that need fewer loops than all of it; a reduction inside a
//! larger expression that suits other loops than the rest; a merge of so many sparse operands that
//! the cases of its lattice would be too many; a result that cannot hold intermediate sums; a result
//! that is better assembled elsewhere first, see [`crate::legalise::written`].

use crate::cin::Role;
use crate::format::Format;
use crate::legalise::order::Order;
use crate::legalise::{Legaliser, Task};
use crate::level::{BITMAP, DENSE};
use crate::notation::{Access, Expr};
use crate::plan::OutputOrder;
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp, ZeroRule};
use tamis_ir::datatype::{DataType, Scalar};
use tamis_ir::ids::{Id, IndexVar};

/// The largest measure of one merge: all combinations of four operands of one sparse level. More
/// cases take longer to compile than another pass over the data takes.
const MAX_POINTS: usize = 15;
/// The most operands that meet in one merge, of whatever cases: they have numbers below 64.
const MAX_OPERANDS: usize = 32;

/// What becomes of the zeros of a part of a value.
#[derive(Clone, Copy)]
enum Zeros {
    /// They are added, so that implicit ones are as good as computed ones.
    Added,
    /// They are multiplied or divided: an implicit 0 annihilates, a computed one over 0 is no number.
    Multiplied,
}

/// A part of a value that may be computed beforehand.
struct Part {
    value: Expr,
    vars: Vec<IndexVar>,
    zeros: Zeros,
}

/// Whether a value's operands are to meet in one merge.
type Fits<'f> = &'f dyn Fn(&Legaliser<'_>, &Expr) -> bool;

impl Legaliser<'_> {
    /// The task with the parts worth computing beforehand replaced by temporaries.
    pub(in crate::legalise) fn split(&mut self, task: Task) -> Task {
        let task = self.repeated(task);
        let task = self.with_vectors(task);
        let task = self.contracted(task);
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
        let task = if self.gather(&task).is_some() { task } else { self.narrowed(task) };
        let task = self.accumulate_elsewhere(task);
        self.assemble_elsewhere(task)
    }

    /// Whether the merge of a value's operands has few cases.
    pub(in crate::legalise) fn merges_little(&self, value: &Expr, compute: DataType) -> bool {
        self.points(value, compute) <= MAX_POINTS && self.listing(value) <= MAX_OPERANDS
    }

    /// The task with parts of its value replaced by temporaries until no merge has many cases.
    pub(in crate::legalise) fn narrowed(&mut self, task: Task) -> Task {
        let order = self.storage_order(&task);
        let value = self.narrow(task.value, &order, task.compute);
        let value = self.merged_in_pairs(value, &order, task.compute);
        Task { value, ..task }
    }

    /// The variables of a result in the order in which its levels come to them.
    pub(in crate::legalise) fn storage_order(&self, task: &Task) -> Vec<IndexVar> {
        let levels = self.program.storage(task.result).format.levels();
        let modes = levels.iter().flat_map(|l| l.map.modes());
        let mut vars = vec![];
        for var in modes.map(|m| task.vars[m.index()]) {
            if !vars.contains(&var) {
                vars.push(var);
            }
        }
        vars
    }

    /// Replaces each reduction that does not fit into loops over `outer` by a temporary.
    fn hoist_reductions(&mut self, e: Expr, outer: &[IndexVar], compute: DataType) -> Expr {
        let Expr::Reduce { op, vars, body } = e else {
            return e.map_children(&mut |child| self.hoist_reductions(child, outer, compute));
        };
        let inner: Vec<IndexVar> = outer.iter().chain(&vars).copied().collect();
        let reduction = Expr::Reduce { op, vars, body };
        let free = reduction.free_vars();
        let used: Vec<IndexVar> = outer.iter().copied().filter(|v| free.contains(v)).collect();
        let prefix = outer.starts_with(&used);
        if (prefix || used.len() == outer.len()) && self.fits_within(&reduction, &used) {
            let Expr::Reduce { op, vars, body } = reduction else { return reduction };
            let body = self.hoist_reductions(*body, &inner, compute);
            return Expr::Reduce { op, vars, body: Box::new(body) };
        }
        self.temporary("t", None, used, reduction, compute)
    }

    /// Whether the operands of a reduction can be read in storage order when the loops over
    /// `outer` are around its own.
    fn fits_within(&self, reduction: &Expr, outer: &[IndexVar]) -> bool {
        reduction.accesses().iter().all(|access| {
            let mut below_inner = false;
            self.program.levels(access).into_iter().all(|(level, var)| {
                let is_outer = self.follows(var, outer);
                let fits = level.kind.properties().full || !is_outer || !below_inner;
                below_inner |= !is_outer;
                fits
            })
        })
    }

    /// Replaces parts of a value until no merge has too many lattice points. Where already two
    /// operands have them, which are of many levels each, two meet at a time.
    fn narrow(&mut self, value: Expr, order: &[IndexVar], compute: DataType) -> Expr {
        let mut value = value;
        while !self.merges_little(&value, compute) {
            let few: Fits<'_> = &|l, e| l.merges_little(e, compute);
            let two: Fits<'_> = &|l, e| l.listing(e) == 2;
            let mut parts = vec![];
            self.parts(&value, order, (compute, few, Zeros::Added), &mut parts);
            if parts.is_empty() && self.listing(&value) > 2 {
                self.parts(&value, order, (compute, two, Zeros::Added), &mut parts);
            }
            // The first of the smallest, however the operands were written.
            let size = |part: &Part| self.trips_over(&part.vars);
            let Some(part) = parts.into_iter().min_by(|a, b| size(a).total_cmp(&size(b))) else {
                break;
            };
            let format = match part.zeros {
                Zeros::Added => None,
                Zeros::Multiplied => self.with_presence(&part.value, &part.vars, compute),
            };
            let temporary = self.temporary("t", format, part.vars, part.value.clone(), compute);
            value = replaced(value, &part.value, &temporary);
        }
        value
    }

    /// The largest operand trees that fit one merge, from the left.
    fn parts(
        &self,
        e: &Expr,
        order: &[IndexVar],
        (compute, fits, zeros): (DataType, Fits<'_>, Zeros),
        found: &mut Vec<Part>,
    ) {
        let is_one = self.points(e, compute) <= 1 && self.listing(e) <= MAX_OPERANDS / 2;
        if is_one || matches!(e, Expr::Access(_)) {
            return;
        }
        let free = e.free_vars();
        if fits(self, e) && free.iter().all(|v| order.contains(v)) {
            let vars = order.iter().copied().filter(|v| free.contains(v)).collect();
            found.push(Part { value: e.clone(), vars, zeros });
            return;
        }
        let zeros = match e {
            Expr::Binary(op, ..) if op.zero_rule() != ZeroRule::Neither => Zeros::Multiplied,
            _ => zeros,
        };
        let mut inner = order.to_vec();
        if let Expr::Reduce { vars, .. } = e {
            inner.extend(vars);
        }
        for child in e.children() {
            self.parts(child, &inner, (compute, fits, zeros), found);
        }
    }

    /// The format of a temporary that tells an implicit 0 from a computed one, where the inferred
    /// format does not.
    fn with_presence(&self, e: &Expr, vars: &[IndexVar], compute: DataType) -> Option<Format> {
        let inferred = self.inferred_storage(e, vars, compute, compute).format;
        let mut kinds = vec![DENSE; vars.len()];
        *kinds.first_mut()? = BITMAP;
        (inferred.is_full() && self.vanishes(e, compute, &|_| true))
            .then(|| Format::in_order(kinds))
    }

    /// How many operands of a value list coordinates.
    pub(super) fn listing(&self, value: &Expr) -> usize {
        let lists = |a: &&Access| !self.is_full(a);
        value.accesses().into_iter().filter(lists).count()
    }

    /// A measure of the cases of a value's merges over all its loops: what annihilates meets, all
    /// else joins. An operand counts once per sparse level, since each level's cases hold all
    /// cases of the next.
    pub(super) fn points(&self, e: &Expr, compute: DataType) -> usize {
        let join = |n: usize, m: usize| n.saturating_add(1).saturating_mul(m.saturating_add(1)) - 1;
        match e {
            Expr::Access(a) => {
                let levels = self.program.storage(a.tensor).format.levels();
                levels.iter().filter(|l| !l.kind.properties().full).count()
            }
            Expr::Binary(BinaryOp::Mul, a, b) => {
                let sides = [&**a, &**b];
                let [x, y] = sides.map(|side| self.points(side, compute));
                // A side without any of which nothing is left has one case.
                if sides.iter().any(|side| self.meets(side, compute)) {
                    return x.max(y);
                }
                let vanish = sides.iter().all(|side| self.vanishes(side, compute, &|_| true));
                if vanish { x.saturating_mul(y) } else { join(x, y) }
            }
            Expr::Binary(op, a, b) if self.facts(compute).decides_first(*op) => {
                let [x, y] = [a, b].map(|side| self.points(side, compute));
                let vanishes = self.vanishes(a, compute, &|_| true);
                if vanishes { x.saturating_mul(y.saturating_add(1)) } else { join(x, y) }
            }
            _ => e.children().iter().fold(0, |n, child| join(n, self.points(child, compute))),
        }
    }

    /// Whether a factor is zero without any one of the operands that list coordinates.
    fn meets(&self, factor: &Expr, compute: DataType) -> bool {
        if let Expr::Binary(BinaryOp::Mul, a, b) = factor {
            return self.meets(a, compute) && self.meets(b, compute);
        }
        let listing = factor.accesses().into_iter().filter(|a| !self.is_full(a));
        listing.into_iter().all(|operand| self.vanishes(factor, compute, &|a| a == operand))
    }

    /// Whether a factor is zero without the operands of some that list coordinates.
    pub(in crate::legalise) fn vanishes(
        &self,
        factor: &Expr,
        compute: DataType,
        absent: &dyn Fn(&Access) -> bool,
    ) -> bool {
        let absent = |a: &Access| !self.is_full(a) && absent(a);
        let left = self.facts(compute).expr_without(factor, &absent);
        matches!(left, Expr::Literal(c) if BinaryOp::Mul.annihilated_left(c).is_some())
    }

    /// Makes the task a copy of a temporary where the result itself cannot hold partial sums: it
    /// starts at another value than the reduction, or its elements are narrower. A register can,
    /// but for those of parts.
    fn accumulate_elsewhere(&mut self, task: Task) -> Task {
        let Expr::Reduce { op, .. } = &task.value else { return task };
        let storage = self.program.storage(task.result);
        let identity = self.program.identity(*op, task.compute);
        let same_start = storage.format.is_full()
            || identity.is_some_and(|id| id.same_value(storage.fill.computed(task.compute)));
        let wide = self.holds_sums(&task);
        let parts = self.request.parallel && task.vars.is_empty();
        let told = matches!(self.program.tensors[task.result].role,
            Role::Result(id) if self.request.restored.contains(&id));
        if (same_start && wide) || (!told && !parts && self.reduces_innermost(&task)) {
            return task;
        }
        let order = self.best_order(&task, false);
        if !told
            && (same_start && self.gathers_rows(&task, &order)
                || self.summed_rows(&task, &order).is_some())
        {
            return task;
        }
        let order = self.storage_order(&task);
        let value = self.temporary("t", None, order, task.value, task.compute);
        Task { value, ..task }
    }

    /// Whether a workspace for each row of a sparse result holds its sums, until the row is appended.
    fn gathers_rows(&self, task: &Task, order: &Order) -> bool {
        let format = &self.program.storage(task.result).format;
        let levels = format.levels();
        let lists = levels.last().is_some_and(|l| !l.kind.properties().full);
        let revisits = self.access_methods().is_revisited(task.value.accesses().into_iter());
        let gathered = self.written(task, &order.vars) == OutputOrder::Gathered;
        // What has a position for each element is added to where it is.
        lists
            && !format.is_placed()
            && gathered
            && !revisits
            && levels.iter().filter(|l| !l.kind.properties().full).count() == 1
    }

    /// Whether elements of the result hold what its value is summed in.
    pub(in crate::legalise) fn holds_sums(&self, task: &Task) -> bool {
        let datatype = self.program.storage(task.result).datatype;
        // Of truth values, a partial result tells what has come so far where nothing that comes can take it back.
        let tells = match &task.value {
            Expr::Reduce { op: ReduceOp::Or | ReduceOp::And | ReduceOp::Mul, .. } => true,
            Expr::Reduce { op: ReduceOp::Add, body, .. } => self.is_nonnegative(body),
            Expr::Reduce { .. } => false,
            _ => true,
        };
        let is_logical = [datatype, task.compute] == [DataType::Bool; 2] && tells;
        is_logical || datatype == self.program.accumulator(&task.value, task.compute)
    }

    /// Whether an expression of truth values and coordinates is never less than 0.
    fn is_nonnegative(&self, e: &Expr) -> bool {
        use BinaryOp::{Add, Max, Min, Mul};
        match e {
            Expr::Index(_) | Expr::Unary(UnaryOp::Not | UnaryOp::Abs, _) => true,
            Expr::Access(access) => self.program.storage(access.tensor).datatype == DataType::Bool,
            Expr::Literal(c) => matches!(c, Scalar::Bool(_) | Scalar::I64(0..) | Scalar::U64(_)),
            Expr::Binary(op, ..) if op.is_logical() => true,
            Expr::Binary(Add | Mul | Min | Max, a, b) => {
                self.is_nonnegative(a) && self.is_nonnegative(b)
            }
            _ => false,
        }
    }

    /// Whether the cheapest loops have all reductions innermost, so that a register holds the sum.
    fn reduces_innermost(&self, task: &Task) -> bool {
        let order = self.best_order(task, false);
        let kept = |a: &&Access| !order.converted.contains(a);
        let revisits =
            self.access_methods().is_revisited(task.value.accesses().into_iter().filter(kept));
        let reduced = self.reduced(task, &order.vars);
        let inner = self.innermost_reduced(task, &order.vars, &reduced);
        !revisits && reduced.iter().filter(|&&r| r).count() == inner
    }

    /// A use of a tensor.
    pub(in crate::legalise) fn access(
        &self,
        tensor: tamis_ir::ids::TensorId,
        vars: &[IndexVar],
    ) -> Access {
        Access::of(tensor, vars.to_vec())
    }
}

/// A value with the first use of a part replaced.
pub(super) fn replaced(e: Expr, part: &Expr, by: &Expr) -> Expr {
    fn go(e: Expr, part: &Expr, by: &Expr, done: &mut bool) -> Expr {
        if !*done && e == *part {
            *done = true;
            return by.clone();
        }
        e.map_children(&mut |child| go(child, part, by, done))
    }
    go(e, part, by, &mut false)
}
