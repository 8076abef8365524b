//! The call that makes room in an array, which changes no register.
//!
//! Loops that append call it rarely. By the usual convention a call changes most registers, so whatever lives in the
//! loop would be in memory, also in the iterations without a call.

use crate::code::Code;
use crate::stmt::Translator;
use crate::{internal, support};
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, InstBuilder, MemFlagsData, Signature, StackSlotData, StackSlotKind, UserFuncName,
    Value, types,
};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use std::sync::OnceLock;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::{Array, Id};
use tamis_ir::ir::Expr;

/// Takes the address of an array's slots, a length, the size of an element, and where a status goes.
const PARAMS: usize = 4;

/// The address of code that calls [`support::reserve`] and gives all registers back.
fn address(isa: &OwnedTargetIsa) -> Result<usize, Diagnostic> {
    // Code of any level will do, since it moves whole registers.
    static CODE: OnceLock<Result<Code, Diagnostic>> = OnceLock::new();
    CODE.get_or_init(|| compile(isa)).as_ref().map(Code::address).map_err(Clone::clone)
}

fn signature() -> Signature {
    let mut signature = Signature::new(CallConv::PreserveAll);
    signature.params.extend([AbiParam::new(types::I64); PARAMS]);
    signature
}

fn compile(isa: &OwnedTargetIsa) -> Result<Code, Diagnostic> {
    let mut context = Context::new();
    context.func.name = UserFuncName::user(0, 0);
    context.func.signature = signature();
    let mut frontend = FunctionBuilderContext::new();
    let mut b = FunctionBuilder::new(&mut context.func, &mut frontend);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let params = b.block_params(entry).to_vec();
    let (status, args) = (params[PARAMS - 1], &params[..PARAMS - 1]);
    let mut called = Signature::new(isa.default_call_conv());
    called.params.extend([AbiParam::new(types::I64); PARAMS - 1]);
    called.returns.push(AbiParam::new(types::I64));
    let called = b.import_signature(called);
    let callee = b.ins().iconst(types::I64, support::reserve as *const () as i64);
    let call = b.ins().call_indirect(called, callee, args);
    let result = b.inst_results(call)[0];
    b.ins().store(MemFlagsData::trusted(), result, status, 0);
    b.ins().return_(&[]);
    b.seal_all_blocks();
    b.finalize(isa.frontend_config());
    let compiled = context
        .compile(&**isa, &mut ControlPlane::default())
        .map_err(|e| internal(format!("{:?}", e.inner)))?;
    Code::new(compiled.code_buffer())
}

impl Translator<'_> {
    /// Makes room in an array for so many elements.
    pub(crate) fn reserve(&mut self, array: Array, len: &Expr) -> Result<(), Diagnostic> {
        let len = self.scalar(len)?;
        let have = self.len(array);
        let (grow, grown, after) =
            (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(grow);
        self.b.set_cold_block(grown);
        // A negative length is unsigned beyond all others, and so fails in the support function.
        let short = self.b.ins().icmp(IntCC::UnsignedGreaterThan, len, have);
        self.b.ins().brif(short, grow, &[], after, &[]);
        self.b.switch_to_block(grow);
        let slot = self.b.ins().iadd_imm_s(self.base, i64::from(self.slots[array.index()]));
        let size = self.function.arrays[array].elem.size() as i64;
        let size = self.b.ins().iconst(types::I64, size);
        let status = self.grow(slot, len, size)?;
        self.b.ins().brif(status, self.exit, &[status.into()], grown, &[]);
        self.b.switch_to_block(grown);
        self.reload(array);
        self.b.ins().jump(after, &[]);
        self.b.switch_to_block(after);
        Ok(())
    }

    /// Makes room for elements of a size in the array of these slots; gives the status.
    fn grow(&mut self, slots: Value, len: Value, size: Value) -> Result<Value, Diagnostic> {
        let address = address(self.isa)?;
        let signature = self.b.import_signature(signature());
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, 8, 3);
        let slot = *self.status.get_or_insert_with(|| self.b.create_sized_stack_slot(slot));
        let status = self.b.ins().stack_addr(types::I64, slot, 0);
        let callee = self.b.ins().iconst(types::I64, address as i64);
        self.b.ins().call_indirect(signature, callee, &[slots, len, size, status]);
        Ok(self.b.ins().stack_load(types::I64, types::I64, slot, 0))
    }
}
