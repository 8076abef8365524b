//! Whether a sum of integers overflows 64 bits, and the high half of an integer, as expressions that backends
//! recognise.
//!
//! ```text
//! b < 0 xor a + b < a
//! (a - mod(a, 2^32)) / 2^32        a >> 32
//! ```

use super::build::{binary, int, lt};
use super::{Expr, Function, Type};
use crate::algebra::BinaryOp;
use crate::datatype::{Register, Scalar};

/// Whether the sum of two signed variables or constants overflows 64 bits.
pub fn leaves(a: &Expr, b: &Expr) -> Expr {
    let sum = binary(BinaryOp::Add, a.clone(), b.clone());
    binary(BinaryOp::Xor, lt(b.clone(), int(0)), lt(sum, a.clone()))
}

/// An integer divided by 2^32, rounded down.
pub fn high(a: Expr, register: Register) -> Expr {
    let unit = Expr::Const(Scalar::I64(1 << 32).convert(register));
    let low = binary(BinaryOp::Mod, a.clone(), unit.clone());
    binary(BinaryOp::Div, binary(BinaryOp::Sub, a, low), unit)
}

impl Function {
    /// The integer of which an expression is the high half.
    pub fn halved<'e>(&self, e: &'e Expr) -> Option<&'e Expr> {
        let Expr::Binary(BinaryOp::Div, whole, unit) = e else { return None };
        let (Expr::Binary(BinaryOp::Sub, a, _), Expr::Const(unit)) = (&**whole, &**unit) else {
            return None;
        };
        let ty = self.type_of(a);
        (*e == high((**a).clone(), unit.register()) && ty.lanes == 1).then_some(a)
    }

    /// The operands of the sum, if an expression tests whether the sum overflows.
    pub fn leaving<'e>(&self, e: &'e Expr) -> Option<[&'e Expr; 2]> {
        let Expr::Binary(BinaryOp::Xor, negative, less) = e else { return None };
        let Expr::Binary(BinaryOp::Lt, b, _) = &**negative else { return None };
        let Expr::Binary(BinaryOp::Lt, _, a) = &**less else { return None };
        let is_signed = self.type_of(a) == Type::INDEX && self.type_of(b) == Type::INDEX;
        (is_signed && *e == leaves(a, b)).then_some([a, b])
    }
}

#[cfg(test)]
mod tests {
    use super::{high, leaves};
    use crate::datatype::{Register, Scalar};
    use crate::ir::Expr;
    use crate::ir::build::int;
    use crate::ir::{Function, Type, VarDecl};

    #[test]
    fn only_what_asks_for_overflow_is_recognised() {
        let mut vars = crate::ids::IdVec::new();
        let [a, b] = ["a", "b"].map(|name| Expr::Var(vars.push(VarDecl::new(name, Type::INDEX))));
        let arrays = crate::ids::IdVec::new();
        let function =
            Function { name: "f".to_owned(), params: vec![], vars, arrays, body: vec![] };
        assert_eq!(function.leaving(&leaves(&a, &b)), Some([&a, &b]));
        let other = leaves(&a, &b).map_children(&mut |e| match e {
            Expr::Binary(op, x, _) if *x == b => Expr::Binary(op, x, Box::new(int(1))),
            e => e,
        });
        assert_eq!(function.leaving(&other), None);
        assert_eq!(function.leaving(&Expr::Const(Scalar::Bool(true))), None);
    }

    #[test]
    fn only_high_halves_are_recognised() {
        for (ty, register) in
            [(Type::INDEX, Register::I64), (Type::scalar(Register::U64), Register::U64)]
        {
            let mut vars = crate::ids::IdVec::new();
            let a = Expr::Var(vars.push(VarDecl::new("a", ty)));
            let arrays = crate::ids::IdVec::new();
            let function =
                Function { name: "f".to_owned(), params: vec![], vars, arrays, body: vec![] };
            let half = high(a.clone(), register);
            assert_eq!(function.halved(&half), Some(&a));
            let unit = Expr::Const(Scalar::I64(1 << 32).convert(register));
            let Expr::Binary(op, whole, _) = half else { panic!("no quotient") };
            let other = Expr::Const(Scalar::I64(1 << 31).convert(register));
            assert_eq!(function.halved(&Expr::Binary(op, whole, Box::new(other))), None);
            assert_eq!(function.halved(&Expr::Binary(op, Box::new(a), Box::new(unit))), None);
        }
    }
}
