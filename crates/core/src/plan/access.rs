//! How an operand is read in loops of some order (figure 4-3 of the thesis, for any expression).
//!
//! | level meets its loop   | ordered, unique | ordered, repeated   | unordered, padded, slots, gaps|
//! |------------------------|-----------------|---------------------|------------------------------|
//! | with nothing else      | walked          | walked by segments  | walked, if it decides alone  |
//! | with other operands    | merged          | merged by segments  | reordered                    |
//! | after its coordinate   | located or searched | copied          | located, or copied           |
//!
//! An operand decides alone if no work is left without it, or the same work once for all coordinates that it lacks;
//! the other operands are then located.

use crate::cin::simplify::Facts;
use crate::cin::{Program, WalkOrder};
use crate::format::{Format, LevelMap};
use crate::notation::{Access, Expr};
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp};
use tamis_ir::datatype::{DataType, Scalar};
use tamis_ir::ids::{IndexVar, TensorId};

/// One tensor to compute: `result(vars) = value`.
#[derive(Clone, PartialEq)]
pub(crate) struct Task {
    pub(crate) result: TensorId,
    pub(crate) vars: Vec<IndexVar>,
    pub(crate) value: Expr,
    pub(crate) compute: DataType,
}

impl Task {
    /// Whether the value is an element of a tensor for each element of the result: copying that tensor into another
    /// order first would double the work. A tensor that is repeated along a mode of the result has fewer elements than
    /// the result.
    pub(crate) fn is_copy(&self) -> bool {
        let all = |a: &Access| self.vars.iter().all(|v| a.indices.contains(v));
        matches!(&self.value, Expr::Access(a) if all(a))
    }
}

/// How an operand is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AccessMethod {
    /// By walking its levels in their order, or by locating.
    Direct,
    /// By searches, since the loops meet its levels in another order.
    Searched,
    /// Not at all: it has to be copied.
    Copied,
}

/// Answers how operands of a program can be read.
#[derive(Clone, Copy)]
pub(crate) struct AccessMethods<'p> {
    pub(crate) program: &'p Program,
}

impl AccessMethods<'_> {
    /// How an operand can be read; of several operands that must be walked alone, the first is walked.
    pub(crate) fn of(self, access: &Access, loops: &[IndexVar], task: &Task) -> AccessMethod {
        let before = task.value.accesses().into_iter().take_while(|a| *a != access);
        let mut alone = before.filter(|a| self.is_alone(a));
        self.after(access, loops, task, alone.next().is_some())
    }

    /// How an operand that must be walked alone can be read if all other such operands are copied.
    pub(crate) fn of_one(self, access: &Access, loops: &[IndexVar], task: &Task) -> AccessMethod {
        self.after(access, loops, task, false)
    }

    /// How an operand can be read, given whether an earlier operand must be walked alone.
    fn after(
        self,
        access: &Access,
        loops: &[IndexVar],
        task: &Task,
        alone_before: bool,
    ) -> AccessMethod {
        let format = &self.program.storage(access.tensor).format;
        if format.is_plain() && !self.passes_over(access) {
            return self.of_plain(access, loops);
        }
        let Some(way) = self.down(access, loops) else { return AccessMethod::Copied };
        let alone = format.is_revisiting() || walks_padding(format) || self.passes_over(access);
        let other_alone =
            || task.value.accesses().into_iter().any(|a| a != access && self.is_alone(a));
        let copied = match alone {
            true => {
                alone_before
                    || !(self.decides(access, task) || self.leaves_once(access, loops, task))
            }
            false => repeats(format) && other_alone(),
        };
        let copied = copied || (self.adds_entries(access) && !self.is_linear(access, task));
        if copied { AccessMethod::Copied } else { way }
    }

    /// Whether the loops can descend all levels of an operand whose coordinates follow from them.
    pub(crate) fn is_reached(self, access: &Access, loops: &[IndexVar]) -> bool {
        let is_plain = self.program.storage(access.tensor).format.is_plain();
        is_plain && !self.passes_over(access) || self.down(access, loops).is_some()
    }

    /// Whether loops over the levels of a pattern, whose entries alone are visited, reach each entry once, with these
    /// other operands in the loops.
    pub(crate) fn finds_entries(
        self,
        pattern: &Access,
        others: &[&Access],
        loops: &[IndexVar],
    ) -> bool {
        let format = &self.program.storage(pattern.tensor).format;
        if format.is_plain() {
            return true;
        }
        let is_plain = |a: &Access| {
            let format = &self.program.storage(a.tensor).format;
            format.is_plain() && !self.passes_over(a)
        };
        let found =
            |a: &&Access| self.program.is_local(a.tensor) || is_plain(a) || self.is_located(a);
        let reached = self.down(pattern, loops).is_some();
        reached && !format.has_duplicates() && others.iter().all(found)
    }

    /// Plain operands can be read in any loops: they are searched where loops are against the order of their levels.
    fn of_plain(self, access: &Access, loops: &[IndexVar]) -> AccessMethod {
        let mut latest = 0;
        let against = self.program.levels(access).into_iter().any(|(level, var)| {
            let depth = self.program.derived.depth(var, loops);
            let against = !level.kind.properties().full && depth < latest;
            latest = latest.max(depth);
            against
        });
        if against { AccessMethod::Searched } else { AccessMethod::Direct }
    }

    /// How loops descend the levels of an operand; `None` if they cannot.
    fn down(self, access: &Access, loops: &[IndexVar]) -> Option<AccessMethod> {
        let mut reached = 0;
        let mut way = AccessMethod::Direct;
        for (level, var) in self.program.levels(access) {
            let p = level.kind.properties();
            let depth = self.program.derived.depth(var, loops);
            let iterated = loops.contains(&var) && depth > reached;
            reached = reached.max(depth);
            if matches!(level.map, LevelMap::Slot(_)) && depth == usize::MAX {
                return None;
            }
            if level.kind.locates() || iterated {
                continue;
            }
            if depth == usize::MAX || !(p.ordered && p.unique && p.compact) {
                return None;
            }
            way = AccessMethod::Searched;
        }
        let inner = reached == usize::MAX && !self.is_located(access);
        (!inner).then_some(way)
    }

    /// Whether an operand must be walked alone: no other operand may be walked in the same loop.
    pub(crate) fn is_alone(self, access: &Access) -> bool {
        let format = &self.program.storage(access.tensor).format;
        let alone = format.is_revisiting() || walks_padding(format) || self.passes_over(access);
        !self.is_located(access) && alone
    }

    /// Whether a walk over the levels of an operand reaches coordinates outside of its slices, or in another order.
    fn passes_over(self, access: &Access) -> bool {
        let levels = self.program.storage(access.tensor).format.levels();
        (0..levels.len()).any(|k| {
            let walk = self.program.walk(access, k);
            !levels[k].kind.locates() && matches!(walk, WalkOrder::WithGaps | WalkOrder::OutOfOrder)
        })
    }

    /// Whether an operand has duplicates that a walk does not visit together, so that the result has to sum them.
    pub(crate) fn adds_entries(self, access: &Access) -> bool {
        let format = &self.program.storage(access.tensor).format;
        format.has_duplicates() && format.is_revisiting()
    }

    /// Whether every level of an operand locates coordinates.
    fn is_located(self, access: &Access) -> bool {
        let levels = self.program.storage(access.tensor).format.levels();
        levels.iter().all(|l| l.kind.locates() && !matches!(l.map, LevelMap::Slot(_)))
    }

    /// Whether there is no work where an operand has no entry.
    pub(crate) fn decides(self, access: &Access, task: &Task) -> bool {
        let body = match &task.value {
            Expr::Reduce { body, .. } => body,
            value => value,
        };
        let facts = Facts { program: self.program, compute: task.compute };
        let absent = |a: &Access| a == access;
        let Expr::Literal(c) = facts.expr_without(body, &absent) else { return false };
        self.nothing(task).is_some_and(|n| n.same_value(c))
    }

    /// Whether one iteration can stand for all iterations where an operand has no entry, in each loop over a level of
    /// it: the maximum of a row takes their 0 once.
    fn leaves_once(self, access: &Access, loops: &[IndexVar], task: &Task) -> bool {
        let Expr::Reduce { op, body, .. } = &task.value else { return false };
        let revisits = self.program.storage(access.tensor).format.is_revisiting();
        // A sum would count each coordinate without an entry.
        if revisits || *op == ReduceOp::Add {
            return false;
        }
        let facts = Facts { program: self.program, compute: task.compute };
        let rest = facts.expr_without(body, &|a| a == access);
        self.program.levels(access).into_iter().all(|(level, var)| {
            // A part of an outermost loop over positions does not know whether all coordinates have entries.
            let outer = loops.iter().position(|v| *v == var).filter(|at| *at > 0);
            level.kind.properties().full
                || outer.is_some_and(|at| {
                    let known = self.program.derived.known_in(&loops[..at]);
                    facts.takes_once((var, &known), (*op, &task.vars), &rest)
                })
        })
    }

    /// The value that need not be written: the fill value of the result, if it is also the value of an empty
    /// reduction.
    pub(crate) fn nothing(self, task: &Task) -> Option<Scalar> {
        let fill = Facts { program: self.program, compute: task.compute }.fill(task.result);
        match &task.value {
            Expr::Reduce { op, .. } => {
                self.program.identity(*op, task.compute).filter(|zero| zero.same_value(fill))
            }
            _ => Some(fill),
        }
    }

    /// Whether the task is linear in an operand, so that the values of duplicates may be added one by one; a boolean
    /// is true if one of them is.
    fn is_linear(self, access: &Access, task: &Task) -> bool {
        let result = self.program.storage(task.result);
        let is_bool = self.program.storage(access.tensor).datatype == DataType::Bool;
        // Where booleans are summed as numbers, duplicates would be counted.
        if is_bool && !(task.compute == DataType::Bool && result.datatype == DataType::Bool) {
            return false;
        }
        match &task.value {
            Expr::Reduce { op: ReduceOp::Add, body, .. } => linear(body, access),
            // The coordinate buffer from which such a result is written adds duplicates.
            Expr::Access(a) if a == access => !result.format.is_placed(),
            _ => false,
        }
    }

    /// Whether the loops may reach a coordinate of a result over these variables several times because of how an
    /// operand is stored. A duplicate coordinate of a reduced variable is only one more term.
    pub(crate) fn revisits_result<'a>(
        self,
        mut operands: impl Iterator<Item = &'a Access>,
        kept: &[IndexVar],
    ) -> bool {
        operands.any(|a| {
            let format = &self.program.storage(a.tensor).format;
            let mut levels = self.program.levels(a).into_iter().enumerate();
            levels.any(|(k, (level, var))| {
                let is_slot = matches!(level.map, LevelMap::Slot(_));
                format.revisits(k) && (is_slot || self.program.derived.follows(var, kept))
            })
        })
    }

    /// Whether any operand of a value may have duplicates, or a walk over it may reach a coordinate several times.
    pub(crate) fn reads_duplicates(self, value: &Expr) -> bool {
        value.accesses().iter().any(|a| {
            let format = &self.program.storage(a.tensor).format;
            format.is_revisiting() || repeats(format)
        })
    }

    /// Whether the only sparse operand is an ordered chain of levels outside of which there is no work, and the result
    /// holds sums: then one loop over the chain is best.
    pub(crate) fn is_list_driven(self, task: &Task) -> bool {
        // An operand may be read twice, as in A(i,j) * A(i,j).
        let mut sparse = distinct(&task.value);
        sparse.retain(|a| !self.program.storage(a.tensor).format.is_full());
        let (Expr::Reduce { .. }, [only]) = (&task.value, &sparse[..]) else { return false };
        let format = &self.program.storage(only.tensor).format;
        let list = (0..format.levels().len()).any(|k| format.chain_goes_on(k));
        let result = self.program.storage(task.result);
        let holds_sums = result.format.is_full()
            && result.datatype == self.program.accumulator(&task.value, task.compute);
        list && !format.has_duplicates() && holds_sums && self.decides(only, task)
    }
}

/// Whether a level of a format may have duplicates.
fn repeats(format: &Format) -> bool {
    format.levels().iter().any(|l| !l.kind.properties().unique)
}

/// Whether a walk over the levels of a format may reach padding, or unordered positions.
fn walks_padding(format: &Format) -> bool {
    format.levels().iter().any(|l| {
        let p = l.kind.properties();
        !l.kind.locates() && (!p.ordered || !p.compact)
    })
}

/// Whether a value is linear in an access: a sum of products, each with the access as one factor.
pub(crate) fn linear(e: &Expr, access: &Access) -> bool {
    let has = |e: &Expr| e.accesses().contains(&access);
    match e {
        Expr::Access(a) => a == access,
        Expr::Unary(UnaryOp::Neg, a) => linear(a, access),
        Expr::Binary(BinaryOp::Mul, a, b) => {
            (linear(a, access) && !has(b)) || (linear(b, access) && !has(a))
        }
        Expr::Binary(BinaryOp::Div, a, b) => linear(a, access) && !has(b),
        Expr::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => linear(a, access) && linear(b, access),
        _ => false,
    }
}

/// Each access of a value once.
pub(crate) fn distinct(value: &Expr) -> Vec<Access> {
    let mut found: Vec<Access> = vec![];
    for access in value.accesses() {
        if !found.contains(access) {
            found.push(access.clone());
        }
    }
    found
}
