//! Whether a sum of integers leaves 64 bits, as an expression that backends recognise.
//!
//! ```text
//! b < 0 xor a + b < a
//! ```

use super::build::{binary, int, lt};
use super::{Expr, Function, Type};
use crate::algebra::BinaryOp;

/// Whether the sum of two variables or constants with a sign leaves 64 bits.
pub fn leaves(a: &Expr, b: &Expr) -> Expr {
    let sum = binary(BinaryOp::Add, a.clone(), b.clone());
    binary(BinaryOp::Xor, lt(b.clone(), int(0)), lt(sum, a.clone()))
}

impl Function {
    /// The operands of the sum, where an expression asks whether it leaves 64 bits.
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
    use super::leaves;
    use crate::datatype::Scalar;
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
}
