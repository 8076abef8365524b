//! How an operand is read in loops of some order (figure 4-3 of the thesis, for any expression).
//!
//! | level meets its loop   | ordered, unique | ordered, repeated   | unordered, padded, slots, gaps|
//! |------------------------|-----------------|---------------------|------------------------------|
//! | with nothing else      | walked          | walked by segments  | walked, if it decides alone  |
//! | with other operands    | merged          | merged by segments  | reordered                    |
//! | after its coordinate   | located or searched | copied          | located, or copied           |
//!
//! An operand decides alone if nothing is to be done without it, or the same once for all coordinates that it lacks; the
//! others are then located.

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
    /// Whether the value is an element of a tensor for each element of the result, so that copying that one
    /// into another order first does the work twice. One that is repeated along a mode of the result has fewer.
    pub(crate) fn is_copy(&self) -> bool {
        let all = |a: &Access| self.vars.iter().all(|v| a.indices.contains(v));
        matches!(&self.value, Expr::Access(a) if all(a))
    }
}

/// How an operand is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AccessMethod {
    /// As its levels come, or by arithmetic.
    Direct,
    /// By searches, since the loops meet its levels in another order.
    Searched,
    /// Not at all: it has to be copied.
    Copied,
}

/// A program whose operands are read.
#[derive(Clone, Copy)]
pub(crate) struct AccessMethods<'p> {
    pub(crate) program: &'p Program,
}

impl AccessMethods<'_> {
    /// How an operand can be read; of several that can only be walked alone, the first is walked.
    pub(crate) fn of(self, access: &Access, loops: &[IndexVar], task: &Task) -> AccessMethod {
        let before = task.value.accesses().into_iter().take_while(|a| *a != access);
        let mut alone = before.filter(|a| self.is_alone(a));
        self.after(access, loops, task, alone.next().is_some())
    }

    /// How an operand that can only be walked alone can be read where all others like it are copied.
    pub(crate) fn of_one(self, access: &Access, loops: &[IndexVar], task: &Task) -> AccessMethod {
        self.after(access, loops, task, false)
    }

    /// How an operand can be read, perhaps after another one that can only be walked alone.
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

    /// Whether loops come to the elements of an operand, as far as these follow from them.
    pub(crate) fn is_reached(self, access: &Access, loops: &[IndexVar]) -> bool {
        let is_plain = self.program.storage(access.tensor).format.is_plain();
        is_plain && !self.passes_over(access) || self.down(access, loops).is_some()
    }

    /// Whether loops over the levels of a pattern, which decides what is visited, come to its
    /// entries, each once, with these operands beside it.
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

    /// Operands that any loops may read: against the order of their levels they are searched.
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

    /// How loops come down the levels of an operand; `None` if they cannot.
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

    /// Whether an operand can only be walked by itself.
    pub(crate) fn is_alone(self, access: &Access) -> bool {
        let format = &self.program.storage(access.tensor).format;
        let alone = format.is_revisiting() || walks_padding(format) || self.passes_over(access);
        !self.is_located(access) && alone
    }

    /// Whether walking the levels of an operand comes to coordinates that its slices do not name,
    /// or in another order.
    fn passes_over(self, access: &Access) -> bool {
        let levels = self.program.storage(access.tensor).format.levels();
        (0..levels.len()).any(|k| {
            let walk = self.program.walk(access, k);
            !levels[k].kind.locates() && matches!(walk, WalkOrder::WithGaps | WalkOrder::OutOfOrder)
        })
    }

    /// Whether entries of the same coordinate of an operand come apart, and have to be added up by
    /// the result.
    pub(crate) fn adds_entries(self, access: &Access) -> bool {
        let format = &self.program.storage(access.tensor).format;
        format.has_duplicates() && format.is_revisiting()
    }

    /// Whether every level of an operand finds coordinates by arithmetic or hashing.
    fn is_located(self, access: &Access) -> bool {
        let levels = self.program.storage(access.tensor).format.levels();
        levels.iter().all(|l| l.kind.locates() && !matches!(l.map, LevelMap::Slot(_)))
    }

    /// Whether nothing is to be done where an operand has no entry.
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

    /// Whether, in each loop over a level of an operand, one iteration does what all those without an entry do: the
    /// maximum of a row takes their 0 once.
    fn leaves_once(self, access: &Access, loops: &[IndexVar], task: &Task) -> bool {
        let Expr::Reduce { op, body, .. } = &task.value else { return false };
        let revisits = self.program.storage(access.tensor).format.is_revisiting();
        // Sums would count the coordinates without an entry.
        if revisits || *op == ReduceOp::Add {
            return false;
        }
        let facts = Facts { program: self.program, compute: task.compute };
        let rest = facts.expr_without(body, &|a| a == access);
        self.program.levels(access).into_iter().all(|(level, var)| {
            // The parts of an outermost loop over positions do not know whether all coordinates have entries.
            let outer = loops.iter().position(|v| *v == var).filter(|at| *at > 0);
            level.kind.properties().full
                || outer.is_some_and(|at| {
                    let known = self.program.derived.known_in(&loops[..at]);
                    facts.takes_once((var, &known), (*op, &task.vars), &rest)
                })
        })
    }

    /// The value without effect: that of unwritten elements of the result, if an empty sum has the same.
    pub(crate) fn nothing(self, task: &Task) -> Option<Scalar> {
        let fill = Facts { program: self.program, compute: task.compute }.fill(task.result);
        match &task.value {
            Expr::Reduce { op, .. } => {
                self.program.identity(*op, task.compute).filter(|zero| zero.same_value(fill))
            }
            _ => Some(fill),
        }
    }

    /// Whether a sum over the entries of an operand is what the task wants of it, so that entries
    /// of the same coordinate may be added one by one; booleans are true if one of them is.
    fn is_linear(self, access: &Access, task: &Task) -> bool {
        let result = self.program.storage(task.result);
        let is_bool = self.program.storage(access.tensor).datatype == DataType::Bool;
        // Where sums are numbers, they would count them.
        if is_bool && !(task.compute == DataType::Bool && result.datatype == DataType::Bool) {
            return false;
        }
        match &task.value {
            Expr::Reduce { op: ReduceOp::Add, body, .. } => linear(body, access),
            // The list that such a result is written from adds them up.
            Expr::Access(a) if a == access => !result.format.is_placed(),
            _ => false,
        }
    }

    /// Whether the loops may reach a coordinate of a result over these variables several times because of how an
    /// operand is stored. A duplicate coordinate of a variable that is summed is one more term.
    pub(crate) fn is_revisited<'a>(
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

    /// Whether the loops over an operand may reach a coordinate several times, or it has duplicates.
    pub(crate) fn is_revisited_by(self, value: &Expr) -> bool {
        value.accesses().iter().any(|a| {
            let format = &self.program.storage(a.tensor).format;
            format.is_revisiting() || repeats(format)
        })
    }

    /// Whether an operand is a list of coordinates in order that alone decides what is visited,
    /// and the result can add up what comes: then one loop over the list is best.
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

/// Whether a format repeats coordinates.
fn repeats(format: &Format) -> bool {
    format.levels().iter().any(|l| !l.kind.properties().unique)
}

/// Whether walking a format's levels reaches positions without a coordinate, or unordered ones.
fn walks_padding(format: &Format) -> bool {
    format.levels().iter().any(|l| {
        let p = l.kind.properties();
        !l.kind.locates() && (!p.ordered || !p.compact)
    })
}

/// Whether a value is a sum of products with an access, one in each.
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
