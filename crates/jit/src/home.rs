//! Where variables live: in registers, as far as Cranelift finds some, or in memory.
//!
//! Code whose registers are chosen by a single pass has all of them in memory between blocks anyway;
//! said so from the start, it is translated and chosen in half the time.

use crate::stmt::Translator;
use cranelift_codegen::ir::{
    InstBuilder, MemFlagsData, StackSlot, StackSlotData, StackSlotKind, Type, Value, types,
};
use cranelift_frontend::{FunctionBuilder, Variable};
use tamis_ir::ids::{Array, Id};
use tamis_ir::ir::{Function, Stmt};

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

/// Of functions with more statements than so many that make room, arrays that grow stay in their
/// slots: every such statement would be a point where variables meet, and registers are few.
const MOST_RESERVES: usize = 40;

/// The variables of the address and the length of each array; `None` where its slots have them.
pub(crate) fn of_arrays(
    function: &Function,
    b: &mut FunctionBuilder<'_>,
    in_memory: bool,
) -> Vec<Option<(Variable, Variable)>> {
    let growing = growing(&function.body);
    let in_slots = |array| in_memory || growing.len() > MOST_RESERVES && growing.contains(&array);
    let mut variable = || b.declare_var(types::I64);
    let arrays = function.arrays.enumerate();
    arrays.map(|(array, _)| (!in_slots(array)).then(|| (variable(), variable()))).collect()
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
    /// Takes an array's address and length from its slots.
    pub(crate) fn reload(&mut self, array: Array) {
        let Some((address, len)) = self.arrays[array.index()] else { return };
        let offset = self.slots[array.index()];
        let flags = MemFlagsData::trusted();
        let value = self.b.ins().load(types::I64, flags, self.base, offset);
        self.b.def_var(address, value);
        let value = self.b.ins().load(types::I64, flags, self.base, offset + 8);
        self.b.def_var(len, value);
    }

    /// An array's address.
    pub(crate) fn array(&mut self, array: Array) -> Value {
        match self.arrays[array.index()] {
            Some((address, _)) => self.b.use_var(address),
            None => self.slot(array, 0),
        }
    }

    /// An array's length.
    pub(crate) fn len(&mut self, array: Array) -> Value {
        match self.arrays[array.index()] {
            Some((_, len)) => self.b.use_var(len),
            None => self.slot(array, 8),
        }
    }

    fn slot(&mut self, array: Array, at: i32) -> Value {
        let offset = self.slots[array.index()] + at;
        self.b.ins().load(types::I64, MemFlagsData::trusted(), self.base, offset)
    }
}
