//! What a user may want to know of the kernels of a program.

use crate::failure::note;
use std::collections::BTreeMap;
use tamis::notation::Expr;
use tamis::unstable::ir::algebra::BinaryOp;
use tamis::{Backend, DataType, FormatSpec, Kernel};

/// Tells which kernels do not run on the GPU that was asked for.
pub fn host(kernel: &Kernel, backend: Backend) {
    if backend.target().gpu {
        tamis::explain::on_host(&kernel.compiled().functions).iter().for_each(|host| note(host));
    }
}

/// Tells that quotients are rounded, where kernels divide integers and neither formats nor `--dtype` ask for these.
pub fn quotients(kernel: &Kernel, formats: &BTreeMap<String, FormatSpec>, dtype: Option<DataType>) {
    let is_integer = |t: DataType| !t.is_float() && !t.is_complex() && t != DataType::Bool;
    let mut asked = formats.values().filter_map(|spec| spec.datatype).chain(dtype);
    let mut divides = false;
    let cin = &kernel.compiled().program;
    let notation = kernel.program();
    for kernel in cin.kernels.iter().filter(|k| is_integer(k.compute)) {
        kernel.body.for_each_assign(&mut |_, _, rhs| {
            rhs.walk(&mut |e| divides |= matches!(e, Expr::Binary(BinaryOp::Div, ..)));
        });
        // Quotients of numbers alone are computed before there are kernels.
        let result = notation.tensor(&cin.tensors[kernel.result].name);
        for statement in notation.statements.iter().filter(|s| Some(s.result.tensor) == result) {
            statement.value.walk(&mut |e| {
                let is_constant = e.accesses().is_empty();
                divides |= is_constant && matches!(e, Expr::Binary(BinaryOp::Div, ..));
            });
        }
    }
    if divides && !asked.any(is_integer) {
        note("integers are divided, which rounds toward 0: --dtype f64 keeps fractions");
    }
}
