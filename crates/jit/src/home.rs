//! Where variables live: in registers, as far as Cranelift finds some, or in memory.
//!
//! Code whose registers are chosen by a single pass has all of them in memory between blocks anyway;
//! said so from the start, it is translated and chosen in half the time.

use cranelift_codegen::ir::{
    InstBuilder, StackSlot, StackSlotData, StackSlotKind, Type, Value, types,
};
use cranelift_frontend::{FunctionBuilder, Variable};

/// Where a variable lives.
#[derive(Clone, Copy)]
pub(crate) enum Home {
    Register(Variable),
    Memory(StackSlot, Type),
}

impl Home {
    pub(crate) fn new(b: &mut FunctionBuilder<'_>, ty: Type, in_memory: bool) -> Home {
        if !in_memory {
            return Home::Register(b.declare_var(ty));
        }
        let align = ty.bytes().trailing_zeros() as u8;
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, ty.bytes(), align);
        Home::Memory(b.create_sized_stack_slot(data), ty)
    }

    pub(crate) fn get(self, b: &mut FunctionBuilder<'_>) -> Value {
        match self {
            Home::Register(variable) => b.use_var(variable),
            Home::Memory(slot, ty) => b.ins().stack_load(types::I64, ty, slot, 0),
        }
    }

    pub(crate) fn set(self, b: &mut FunctionBuilder<'_>, value: Value) {
        match self {
            Home::Register(variable) => b.def_var(variable, value),
            Home::Memory(slot, _) => {
                b.ins().stack_store(types::I64, value, slot, 0);
            }
        }
    }
}
