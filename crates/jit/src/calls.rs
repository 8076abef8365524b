//! Calls of code by its address.

use crate::stmt::Translator;
use cranelift_codegen::ir::{AbiParam, InstBuilder, Signature, Type, Value, types};
use cranelift_codegen::isa::CallConv;

impl Translator<'_> {
    /// Calls a support function.
    pub(crate) fn call(
        &mut self,
        address: usize,
        args: &[Value],
        returns: Option<Type>,
    ) -> Option<Value> {
        self.call_by(self.isa.default_call_conv(), address, args, returns)
    }

    /// The same by a calling convention.
    pub(crate) fn call_by(
        &mut self,
        convention: CallConv,
        address: usize,
        args: &[Value],
        returns: Option<Type>,
    ) -> Option<Value> {
        let mut signature = Signature::new(convention);
        for &arg in args {
            let ty = self.b.func.dfg.value_type(arg);
            signature.params.push(AbiParam::new(ty));
        }
        signature.returns.extend(returns.map(AbiParam::new));
        let signature = self.b.import_signature(signature);
        let callee = self.b.ins().iconst(types::I64, address as i64);
        let call = self.b.ins().call_indirect(signature, callee, args);
        self.b.inst_results(call).first().copied()
    }
}
