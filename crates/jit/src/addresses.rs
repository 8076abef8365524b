//! Addresses of arrays: in the slots of the call, and in registers in the loops that use them.
//!
//! ```text
//! for i in ..            x[i], the address from its slot
//!   for p in ..          crd, vals, x: addresses are taken from their slots before the loop
//! ```
//!
//! A value that lives in all of a function has no register left for the loops where it is used, and is moved between
//! memory and registers in each of their iterations. One that is made before such a loop has a register in it.

use crate::stmt::Translator;
use crate::support;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::Variable;
use tamis_ir::ids::{Array, Id};
use tamis_ir::ir::flow::arrays;
use tamis_ir::ir::{Expr, Function, Stmt};

/// A loop has the addresses of the loops inside in registers too, if they are so many at most.
const MOST_HELD: usize = 8;

/// Of functions with more statements that make room, arrays that grow stay in their slots: every such statement would
/// be a point where variables meet.
const MOST_RESERVES: usize = 40;

/// Which arrays have their addresses in variables.
pub(crate) struct Addresses {
    /// By array, in the loops around.
    held: Vec<Option<Variable>>,
    /// Arrays whose addresses may be held.
    holds: Vec<bool>,
}

impl Addresses {
    pub(crate) fn of(function: &Function, in_memory: bool) -> Addresses {
        let growing = growing(&function.body);
        let holds =
            |array| !in_memory && (growing.len() <= MOST_RESERVES || !growing.contains(&array));
        let holds: Vec<bool> = function.arrays.enumerate().map(|(array, _)| holds(array)).collect();
        Addresses { held: vec![None; holds.len()], holds }
    }

    /// Ends a loop: the addresses that were held before it are held again.
    pub(crate) fn leave(&mut self, before: Vec<Option<Variable>>) {
        self.held = before;
    }
}

/// The array of each statement that makes room.
fn growing(block: &[Stmt]) -> Vec<Array> {
    let of = |s: &Stmt| match s {
        Stmt::Reserve { array, .. } => vec![*array],
        s => s.blocks().flat_map(growing).collect(),
    };
    block.iter().flat_map(of).collect()
}

impl Translator<'_> {
    /// Loads the addresses that a loop uses from their slots. Returns what was held before, for [`Addresses::leave`].
    pub(crate) fn hold(&mut self, cond: Option<&Expr>, body: &[Stmt]) -> Vec<Option<Variable>> {
        let before = self.addresses.held.clone();
        for array in self.wanted(cond, body) {
            let free =
                before[array.index()].is_none() && self.addresses.held[array.index()].is_none();
            if free && self.addresses.holds[array.index()] {
                let address = self.slot(array, 0);
                let variable = self.b.declare_var(types::I64);
                self.b.def_var(variable, address);
                self.addresses.held[array.index()] = Some(variable);
            }
        }
        before
    }

    /// The arrays whose addresses a loop is to have in registers.
    fn wanted(&self, cond: Option<&Expr>, body: &[Stmt]) -> Vec<Array> {
        if self.calls(cond, body) {
            return vec![];
        }
        let mut all = vec![];
        cond.iter().for_each(|e| in_expr(e, &mut all));
        let mut own = all.clone();
        body.iter().for_each(|s| arrays(s, &mut all));
        all.sort_unstable();
        all.dedup();
        if all.len() > MOST_HELD {
            outside_loops(body, &mut own);
            return own;
        }
        all
    }

    /// Whether statements call something that changes registers.
    fn calls(&self, cond: Option<&Expr>, body: &[Stmt]) -> bool {
        let is_half = |array: &Array| self.function.arrays[*array].elem.is_half();
        let by_statement = |s: &Stmt| match s {
            Stmt::Sort { .. } | Stmt::Fill { .. } => true,
            Stmt::Store { array, .. } | Stmt::Update { array, .. } => is_half(array),
            _ => false,
        };
        let exprs = |s: &Stmt| s.exprs().any(|e| self.calls_in(e));
        cond.is_some_and(|e| self.calls_in(e))
            || (0..body.len()).any(|k| self.wide.at(&body[k..]).is_some())
            || body.iter().any(|s| {
                by_statement(s) || exprs(s) || s.blocks().any(|block| self.calls(None, block))
            })
    }

    fn calls_in(&self, e: &Expr) -> bool {
        let mut found = false;
        e.walk(&mut |e| {
            found |= match e {
                Expr::Unary(op, _) => support::unary(*op).is_some(),
                Expr::Binary(op, a, _) => {
                    support::binary(*op).is_some() && self.function.type_of(a).register.is_float()
                }
                Expr::Fma(..) => !self.has_fma(),
                _ => false,
            }
        });
        found
    }

    /// Takes an array's address from its slot again.
    pub(crate) fn reload(&mut self, array: Array) {
        let Some(variable) = self.addresses.held[array.index()] else { return };
        let address = self.slot(array, 0);
        self.b.def_var(variable, address);
    }

    /// An array's address.
    pub(crate) fn array(&mut self, array: Array) -> Value {
        match self.addresses.held[array.index()] {
            Some(variable) => self.b.use_var(variable),
            None => self.slot(array, 0),
        }
    }

    /// An array's length.
    pub(crate) fn len(&mut self, array: Array) -> Value {
        self.slot(array, 8)
    }

    fn slot(&mut self, array: Array, at: i32) -> Value {
        let offset = self.slots[array.index()] + at;
        self.b.ins().load(types::I64, MemFlagsData::trusted(), self.base, offset)
    }
}

/// The arrays that statements use outside the loops among them.
fn outside_loops(block: &[Stmt], found: &mut Vec<Array>) {
    for s in block {
        match s {
            Stmt::While { .. } => {}
            Stmt::For { lo, hi, .. } | Stmt::Parallel { lo, hi, .. } => {
                in_expr(lo, found);
                in_expr(hi, found);
            }
            Stmt::If { cond, .. } => {
                in_expr(cond, found);
                s.blocks().for_each(|block| outside_loops(block, found));
            }
            s => arrays(s, found),
        }
    }
}

fn in_expr(e: &Expr, found: &mut Vec<Array>) {
    e.walk(&mut |e| {
        if let Expr::Load { array, .. } | Expr::Len(array) = e {
            found.push(*array);
        }
    });
}
