//! What tests for integer overflow compute, by the processor's flag and shifts.

use crate::stmt::Translator;
use cranelift_codegen::ir::{InstBuilder, Value};
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ir::{Expr, Type};

impl Translator<'_> {
    /// The value of an expression that such a test asks for, if it is one.
    pub(crate) fn tested(&mut self, e: &Expr) -> Result<Option<Value>, Diagnostic> {
        if let Some([a, b]) = self.function.leaving(e) {
            let (a, b) = (self.scalar(a)?, self.scalar(b)?);
            return Ok(Some(self.b.ins().sadd_overflow(a, b).1));
        }
        let Some(whole) = self.function.halved(e) else { return Ok(None) };
        let a = self.scalar(whole)?;
        Ok(Some(match self.function.type_of(whole) == Type::INDEX {
            true => self.b.ins().sshr_imm_u(a, 32),
            false => self.b.ins().ushr_imm_u(a, 32),
        }))
    }
}
