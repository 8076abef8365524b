//! Which statements have code of our own: as many as possible that follow each other, from the
//! first with vectors to the last, if loops are among them.

use super::emit::emit;
use super::float::bytes;
use super::inst::{Inst, Value, without_dead};
use super::lower::{Lowering, grown, name};
use super::registers::{Homes, homes};
use super::{Unit, Vectors};
use crate::stmt::slots;
use tamis_ir::ids::{Id, Var};
use tamis_ir::ir::{Expr, Function, Stmt};

/// The code of a unit begins at a multiple of so many bytes.
const ALIGNED: usize = 64;

/// The units of a function.
pub(super) struct Units {
    pub(super) units: Vec<Unit>,
    pub(super) code: Vec<u8>,
    /// The instructions of each.
    pub(super) texts: Vec<Vec<Inst>>,
    /// Whether some loop with wide vectors is in none.
    pub(super) left: bool,
}

pub(super) fn units(function: &Function, vectors: Vectors) -> Units {
    let units = Units { units: vec![], code: vec![], texts: vec![], left: false };
    let mut select = Select { function, vectors, reads: vec![], slots: slots(function), units };
    if function.vars.iter().any(|v| v.ty.lanes > 1) {
        select.block(&function.body);
    }
    select.units
}

struct Select<'f> {
    function: &'f Function,
    vectors: Vectors,
    /// How often each variable is read; empty as long as nobody asked.
    reads: Vec<u32>,
    /// The byte offset of each array's slots.
    slots: Vec<i32>,
    units: Units,
}

impl Select<'_> {
    fn block(&mut self, mut stmts: &[Stmt]) {
        while let [s, rest @ ..] = stmts {
            if !self.has_vectors(s) {
                stmts = rest;
            } else if let Some(len) = self.unit(stmts) {
                stmts = &stmts[len..];
            } else {
                self.units.left |= self.is_wide_loop(s);
                s.blocks().for_each(|b| self.block(b));
                stmts = rest;
            }
        }
    }

    /// Makes a unit of the first statements, if they can be one.
    fn unit(&mut self, stmts: &[Stmt]) -> Option<usize> {
        let mut lowering = Lowering::new(self.function, self.vectors);
        let (mut len, mut end, mut loops) = (0, 0, false);
        for (k, s) in stmts.iter().enumerate() {
            if !has_code(s) || lowering.stmt(s).is_none() {
                break;
            }
            if self.has_vectors(s) {
                loops |= s.blocks().next().is_some();
                (len, end) = (k + 1, lowering.code.len());
            }
        }
        if !loops {
            return None;
        }
        lowering.code.truncate(end);
        self.emitted(&stmts[..len], &lowering)?;
        Some(len)
    }

    /// Adds a unit, if there are registers for its values.
    fn emitted(&mut self, stmts: &[Stmt], lowering: &Lowering<'_>) -> Option<()> {
        let (outputs, code, homes) = self.allotted(stmts, lowering)?;
        let values = lowering.values(&outputs);
        let types = &lowering.types;
        let emitted = emit(self.vectors, (&code, types, &homes), &values, &self.slots)?;
        let slot = |v: Value| emitted.frame.slot(v);
        let inputs = homes.inputs.iter().map(|v| Some((name(self.function, *v)?, slot(*v)?)));
        let outputs = outputs.iter().zip(&values).map(|(v, value)| Some((*v, slot(*value)?)));
        let (inputs, outputs) = (inputs.collect::<Option<_>>()?, outputs.collect::<Option<_>>()?);
        let mut arrays = vec![];
        grown(stmts, &mut arrays);
        arrays.sort_unstable();
        arrays.dedup();
        let all = &mut self.units.code;
        all.resize(all.len().next_multiple_of(ALIGNED), 0xcc);
        self.units.units.push(Unit {
            first: stmts.as_ptr(),
            len: stmts.len(),
            inputs,
            outputs,
            grown: arrays,
            fails: stmts.iter().any(fails),
            frame: emitted.frame.bytes,
            offset: all.len(),
        });
        all.extend(emitted.code);
        self.units.texts.push(code);
        Some(())
    }

    /// The variables that others read of a unit, its code, and where its values are.
    fn allotted(
        &mut self,
        stmts: &[Stmt],
        lowering: &Lowering<'_>,
    ) -> Option<(Vec<Var>, Vec<Inst>, Homes)> {
        let assigned = given(stmts);
        let outputs = self.read_outside(stmts, &assigned);
        let (code, homes) = allotted(lowering, &outputs)?;
        // What it reads and assigns, it may read again in the next iteration of a loop around.
        let carried = |v: &Var| outputs.contains(v) || homes.inputs.contains(&lowering.var(*v));
        let all: Vec<Var> = assigned.into_iter().filter(carried).collect();
        if all.len() == outputs.len() {
            return Some((outputs, code, homes));
        }
        let (code, homes) = allotted(lowering, &all)?;
        Some((all, code, homes))
    }

    /// Those of the variables that statements read beside these.
    fn read_outside(&mut self, stmts: &[Stmt], vars: &[Var]) -> Vec<Var> {
        let count = self.function.vars.len();
        if self.reads.is_empty() {
            self.reads = vec![0; count];
            reads(&self.function.body, &mut self.reads);
        }
        let mut inside = vec![0; count];
        reads(stmts, &mut inside);
        let outside = |v: &&Var| self.reads[v.index()] > inside[v.index()];
        vars.iter().filter(outside).copied().collect()
    }

    /// Whether a loop, by itself, assigns wide vectors.
    fn is_wide_loop(&self, s: &Stmt) -> bool {
        let wide = |s: &Stmt| match s {
            Stmt::Assign { var, .. } => bytes(self.function.vars[*var].ty) > 16,
            _ => false,
        };
        matches!(s, Stmt::For { .. } | Stmt::While { .. }) && s.blocks().flatten().any(wide)
    }

    fn has_vectors(&self, s: &Stmt) -> bool {
        let vector = |e: &Expr| {
            let mut found = false;
            e.walk(&mut |e| match e {
                Expr::Load { lanes, .. } | Expr::Splat(_, lanes) => found |= *lanes > 1,
                Expr::Var(v) => found |= self.function.vars[*v].ty.lanes > 1,
                _ => {}
            });
            found
        };
        s.exprs().any(vector) || s.blocks().flatten().any(|s| self.has_vectors(s))
    }
}

fn allotted(lowering: &Lowering<'_>, outputs: &[Var]) -> Option<(Vec<Inst>, Homes)> {
    let (types, outputs) = (&lowering.types, lowering.values(outputs));
    let code = without_dead(&lowering.code, types.len(), &outputs);
    let homes = homes(&code, types, &outputs, lowering.vectors.registers())?;
    Some((code, homes))
}

/// Whether a statement and those within are of the kinds that have code.
fn has_code(s: &Stmt) -> bool {
    let here = matches!(
        s,
        Stmt::Assign { .. }
            | Stmt::Store { .. }
            | Stmt::For { .. }
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Fill { .. }
            | Stmt::Prefetch { .. }
            | Stmt::Reserve { .. }
            | Stmt::Fail(_)
            | Stmt::Comment(_)
    );
    here && s.blocks().flatten().all(has_code)
}

/// Whether a statement may end the call.
fn fails(s: &Stmt) -> bool {
    matches!(s, Stmt::Reserve { .. } | Stmt::Fail(_)) || s.blocks().flatten().any(fails)
}

/// The variables that statements give a value, once each.
fn given(stmts: &[Stmt]) -> Vec<Var> {
    let mut found = vec![];
    collect(stmts, &mut found);
    found.sort_unstable();
    found.dedup();
    found
}

fn collect(stmts: &[Stmt], found: &mut Vec<Var>) {
    for s in stmts {
        if let Stmt::Assign { var, .. } = s {
            found.push(*var);
        }
        s.blocks().for_each(|b| collect(b, found));
    }
}

fn reads(stmts: &[Stmt], counts: &mut [u32]) {
    for s in stmts {
        for e in s.exprs() {
            e.walk(&mut |e| {
                if let Expr::Var(v) = e {
                    counts[v.index()] += 1;
                }
            });
        }
        s.blocks().for_each(|b| reads(b, counts));
    }
}
