//! Vectors: Cranelift has 128-bit ones, so wider ones are several of them.

use crate::internal;
use crate::stmt::machine_type;
use cranelift_codegen::ir::Type;
use cranelift_frontend::{FunctionBuilder, Variable};
use tamis_core::datatype::Register;
use tamis_core::diagnostic::Diagnostic;
use tamis_core::ir;

/// How a type is held: so many machine values of one machine type.
#[derive(Clone, Copy)]
pub(crate) struct Lanes {
    pub(crate) ty: Type,
    pub(crate) parts: usize,
}

impl Lanes {
    pub(crate) fn of(ty: ir::Type) -> Result<Lanes, Diagnostic> {
        let lane = machine_type(ty.register);
        if ty.lanes == 1 {
            return Ok(Lanes { ty: lane, parts: 1 });
        }
        let per_part = match ty.register {
            Register::F32 => 4,
            Register::F64 | Register::I64 => 2,
            Register::Bool => return Err(internal("a vector of truth values".to_owned())),
        };
        let lanes = usize::from(ty.lanes);
        if !lanes.is_multiple_of(per_part) {
            return Err(internal(format!("a vector of {lanes} lanes")));
        }
        let vector = lane.by(per_part as u32);
        let ty = vector.ok_or_else(|| internal("a vector type".to_owned()))?;
        Ok(Lanes { ty, parts: lanes / per_part })
    }

    pub(crate) fn declare(self, b: &mut FunctionBuilder<'_>) -> Vec<Variable> {
        (0..self.parts).map(|_| b.declare_var(self.ty)).collect()
    }
}
