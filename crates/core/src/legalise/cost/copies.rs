//! The cost of copying operands into another order.

use super::{Estimate, Levels};
use crate::format::Format;
use crate::legalise::Context;
use crate::legalise::copies::transpose::is_dense;
use crate::legalise::output::copy_output_order;
use crate::legalise::weights::{CONVERT, CONVERT_BY_LIST, CONVERT_BY_ROWS, TRANSPOSE};
use crate::notation::Access;
use crate::plan::OutputOrder;
use tamis_ir::ids::IndexVar;

/// The cost of copying an entry of an operand into levels of these variables.
pub(in crate::legalise) fn conversion(
    cx: &Context<'_>,
    access: &Access,
    vars: &[IndexVar],
    format: &Format,
) -> f64 {
    if is_dense(format) {
        return TRANSPOSE;
    }
    match copy_output_order(cx, access, vars, format) {
        OutputOrder::InOrder | OutputOrder::Gathered | OutputOrder::Counted => CONVERT,
        OutputOrder::Sorted => CONVERT_BY_ROWS,
        OutputOrder::Listed => CONVERT_BY_LIST,
    }
}

impl Estimate<'_> {
    /// The cost of the copies that an order needs.
    pub(super) fn conversions(&self) -> f64 {
        let entries = |copy: &Levels| -> f64 {
            let access = &copy.access;
            if let Some(known) = self.operands.cx.known_entries(access) {
                // Padding of slots and diagonals outside of the tensor is not copied.
                let cells: f64 = access.indices.iter().map(|v| self.dimension(*v)).product();
                return cells.min(known as f64);
            }
            let levels = self.operands.cx.program.levels(access).into_iter().enumerate();
            let per_level = levels.map(|(k, (level, var))| match level.kind.properties().full {
                true => self.dimension(var),
                false => self.fan_out(copy, k, var),
            });
            per_level.product()
        };
        let cost = |(access, vars, format): &(Access, Vec<IndexVar>, Format)| {
            conversion(self.operands.cx, access, vars, format)
        };
        // Accesses of one tensor that are copied in the same order share a copy.
        let copies = &self.operands.converted;
        let modes = |(access, vars, _): &(Access, Vec<IndexVar>, Format)| {
            let of = |var| access.indices.iter().position(|index| index == var);
            (access.tensor, vars.iter().map(of).collect::<Vec<_>>())
        };
        let is_first = |k: usize| !copies[..k].iter().any(|copy| modes(copy) == modes(&copies[k]));
        let own = copies.iter().enumerate().filter(|(k, _)| is_first(*k));
        own.map(|(k, copy)| cost(copy) * entries(&self.operands.copies[k])).sum()
    }
}
