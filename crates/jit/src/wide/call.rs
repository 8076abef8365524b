//! Calls of units from Cranelift's code.

use super::lower::Name;
use super::{Unit, Wide};
use crate::stmt::Translator;
use crate::vector::Lanes;
use cranelift_codegen::ir::{InstBuilder, StackSlot, StackSlotData, StackSlotKind, Value, types};
use cranelift_codegen::isa::CallConv;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::{Id, Var};
use tamis_ir::ir::Stmt;
use tamis_ir::ir::flow::assigned;

impl Wide {
    /// The address of a unit's code.
    pub(crate) fn address(&self, unit: &Unit) -> usize {
        self.code.as_ref().map_or(0, |code| code.address() + unit.offset)
    }
}

impl Translator<'_> {
    /// Fills the frame of a unit of these statements, calls its code and takes what that assigned.
    pub(crate) fn unit(
        &mut self,
        stmts: &[Stmt],
        unit: &Unit,
        address: usize,
    ) -> Result<(), Diagnostic> {
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, unit.frame, 3);
        let frame = self.b.create_sized_stack_slot(data);
        for &(name, offset) in &unit.inputs {
            match name {
                Name::Var(v) => self.put(v, frame, offset),
                Name::Base(a) => {
                    let base = self.array(a);
                    self.b.ins().stack_store(types::I64, base, frame, offset);
                }
                Name::Slots => {
                    let slots = self.base;
                    self.b.ins().stack_store(types::I64, slots, frame, offset);
                }
                Name::Len(a) => {
                    let len = self.len(a);
                    self.b.ins().stack_store(types::I64, len, frame, offset);
                }
            }
        }
        let at = self.b.ins().stack_addr(types::I64, frame, 0);
        let status = self.call_by(CallConv::SystemV, address, &[at], Some(types::I64));
        if let (Some(status), true) = (status, unit.fails) {
            let done = self.b.create_block();
            self.b.ins().brif(status, self.exit, &[status.into()], done, &[]);
            self.b.switch_to_block(done);
        }
        unit.grown.iter().for_each(|array| self.reload(*array));
        for &(var, offset) in &unit.outputs {
            self.take(var, frame, offset)?;
        }
        let mut changed = vec![];
        assigned(stmts, &mut changed);
        self.anchors.forget(&changed);
        Ok(())
    }

    fn put(&mut self, var: Var, frame: StackSlot, offset: i32) {
        let mut at = offset;
        for home in self.vars[var.index()].clone() {
            let value = home.get(&mut self.b);
            let ty = self.b.func.dfg.value_type(value);
            // Truth values take a slot as integers do.
            let (bytes, value) = match ty {
                types::I8 => (8, self.b.ins().uextend(types::I64, value)),
                ty => (ty.bytes() as i32, value),
            };
            self.b.ins().stack_store(types::I64, value, frame, at);
            at += bytes;
        }
    }

    fn take(&mut self, var: Var, frame: StackSlot, offset: i32) -> Result<(), Diagnostic> {
        let Lanes { ty, parts } = Lanes::of(self.function.vars[var].ty)?;
        let load = |t: &mut Self, k: usize| -> Value {
            let at = offset + k as i32 * ty.bytes() as i32;
            match ty {
                types::I8 => {
                    let whole = t.b.ins().stack_load(types::I64, types::I64, frame, at);
                    t.b.ins().ireduce(types::I8, whole)
                }
                ty => t.b.ins().stack_load(types::I64, ty, frame, at),
            }
        };
        let values: Vec<Value> = (0..parts).map(|k| load(self, k)).collect();
        self.assign(var, &values);
        Ok(())
    }
}
