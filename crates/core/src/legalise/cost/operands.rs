//! The operands of a task whose loop orders are weighed, and the levels that these descend.

use crate::format::Format;
use crate::legalise::{Context, Task};
use crate::level::LevelKind;
use crate::notation::{Access, Expr};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use tamis_ir::datatype::Scalar;
use tamis_ir::ids::IndexVar;

/// A task, with some operands as if they were converted.
pub(in crate::legalise) struct Operands<'l> {
    pub(super) cx: &'l Context<'l>,
    pub(super) task: &'l Task,
    /// Operands to convert, with the variables and the format of the converted levels.
    pub(super) converted: Vec<(Access, Vec<IndexVar>, Format)>,
    /// Their levels.
    pub(super) copies: Vec<Levels>,
    pub(super) shared: &'l Shared,
}

/// What the estimates of all orders of a task share.
pub(in crate::legalise) struct Shared {
    /// The levels of the operands as they are stored.
    stored: Vec<Levels>,
    /// The task's value without some of its operands. The bits of the key are the absent operands.
    pub(super) without: RefCell<BTreeMap<u64, Expr>>,
    /// The value that has no effect.
    pub(super) nothing: Option<Scalar>,
}

impl Shared {
    /// That of a task, whose operands are `accesses`.
    pub(in crate::legalise) fn of(cx: &Context<'_>, task: &Task, accesses: &[Access]) -> Shared {
        let stored = accesses.iter().map(|access| Levels::stored(cx, access)).collect();
        let nothing = cx.access_methods().nothing(task);
        Shared { stored, without: RefCell::default(), nothing }
    }
}

impl<'l> Operands<'l> {
    /// Those of a task, if copies of some have levels of these variables and formats.
    pub(in crate::legalise) fn of(
        (cx, task): (&'l Context<'l>, &'l Task),
        converted: Vec<(Access, Vec<IndexVar>, Format)>,
        shared: &'l Shared,
    ) -> Operands<'l> {
        let copy = |(access, vars, format): &(Access, Vec<IndexVar>, Format)| {
            Levels::of(access, format, vars.clone())
        };
        let copies = converted.iter().map(copy).collect();
        Operands { cx, task, converted, copies, shared }
    }

    /// The levels of all operands, which a loop order descends.
    pub(super) fn levels(&self) -> impl Iterator<Item = &Levels> {
        let copy = |a: &Access| self.copies.iter().find(|levels| levels.access == *a);
        self.shared.stored.iter().map(move |levels| copy(&levels.access).unwrap_or(levels))
    }
}

/// The levels of an operand.
pub(super) struct Levels {
    pub(super) access: Access,
    levels: Vec<(LevelKind, IndexVar)>,
    /// The estimated number of positions of each level, if known. Only some orders ask for it.
    positions: OnceCell<Option<Vec<f64>>>,
}

impl Levels {
    /// Those of an operand as it is stored.
    pub(super) fn stored(cx: &Context<'_>, access: &Access) -> Levels {
        Levels::of(access, &cx.program.storage(access.tensor).format, cx.level_vars(access))
    }

    /// Those of a copy of an operand.
    pub(super) fn of(access: &Access, format: &Format, vars: Vec<IndexVar>) -> Levels {
        let kinds = format.levels().iter().map(|level| level.kind);
        let levels = kinds.zip(vars).collect();
        Levels { access: access.clone(), levels, positions: OnceCell::new() }
    }

    /// The variable of a level, and the level's format.
    pub(super) fn get(&self, level: usize) -> Option<(IndexVar, LevelKind)> {
        self.levels.get(level).map(|&(kind, var)| (var, kind))
    }

    /// The estimated number of positions of a level for each position of the level above, if known.
    pub(super) fn fan_out(&self, cx: &Context<'_>, level: usize) -> Option<f64> {
        let positions = || cx.positions_of(&self.access, &self.levels);
        let positions = self.positions.get_or_init(positions).as_ref()?;
        let above = level.checked_sub(1).map_or(Some(1.0), |k| positions.get(k).copied())?;
        Some(positions.get(level)? / above.max(1e-9))
    }
}
