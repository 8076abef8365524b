//! Refuses operators without a meaning for complex numbers: these have no order, and few functions.
//!
//! ```text
//! error[type-mismatch]: max has no meaning for complex numbers
//!   | m = max(i, z(i))
//!   |            ^^^^
//!   = help: take abs(..), real(..) or imag(..) of them
//! ```

use crate::cin::Program;
use crate::notation::{self, Expr, Statement};
use tamis_ir::datatype::DataType;
use tamis_ir::diagnostic::{Code, Diagnostic};

/// Refuses operators that complex operands do not have.
pub(in crate::legalise) fn check_operators(
    program: &Program,
    source: &notation::Program,
    statement: &Statement,
    value: &Expr,
) -> Result<(), Diagnostic> {
    Check { program, source, statement }.value(value)
}

/// Refuses complex values for real results: `given` is the type of the value.
pub(in crate::legalise) fn check_result(
    source: &notation::Program,
    statement: &Statement,
    given: DataType,
    datatype: DataType,
) -> Result<(), Diagnostic> {
    if datatype.is_complex() || datatype == DataType::Bool || !given.is_complex() {
        return Ok(());
    }
    let name = &source.tensors[statement.result.tensor].name;
    let message = format!("{name} holds {datatype} values, but is given complex ones");
    Err(Diagnostic::new(Code::TypeMismatch, message)
        .at(&source.source, statement.result.span.clone())
        .help(format!("take abs(..), real(..) or imag(..), or store {name} as c128")))
}

struct Check<'p> {
    program: &'p Program,
    source: &'p notation::Program,
    statement: &'p Statement,
}

impl Check<'_> {
    fn value(&self, e: &Expr) -> Result<(), Diagnostic> {
        for child in e.children() {
            self.value(child)?;
        }
        let user = e.user_op().map(|op| &self.program.operators[op]);
        if let Some(operator) = user {
            self.value(&operator.body)?;
        }
        let name = match (e, user) {
            (_, Some(operator)) => &operator.name,
            (Expr::Unary(op, _), _) if !op.is_complex() => op.name(),
            (Expr::Binary(op, ..), _) if !op.is_complex() => op.name(),
            (Expr::Reduce { op, .. }, _) if !op.binary().is_complex() => op.name(),
            _ => return Ok(()),
        };
        // An operator that gives complex numbers for real ones cannot combine its own results.
        let combined = user.filter(|_| matches!(e, Expr::Reduce { .. })).map(|o| &o.body);
        let mut operands = e.children().into_iter().chain(combined);
        match operands.find(|operand| !self.program.is_real(operand)) {
            Some(operand) => Err(self.refusal(name, operand)),
            None => Ok(()),
        }
    }

    fn refusal(&self, name: &str, operand: &Expr) -> Diagnostic {
        let accesses = operand.accesses();
        let complex = |a: &&&notation::Access| {
            self.program.storage(a.tensor).datatype.is_complex() && !a.span.is_empty()
        };
        let place = accesses.iter().find(complex).map(|a| a.span.clone());
        let place = place.unwrap_or(self.statement.span.clone());
        let message = format!("{name} has no meaning for complex numbers");
        Diagnostic::new(Code::TypeMismatch, message)
            .at(&self.source.source, place)
            .help("take abs(..), real(..) or imag(..) of them")
    }
}
