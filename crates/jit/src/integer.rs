//! Operators of 64-bit integers, signed and unsigned.

use crate::internal;
use crate::stmt::Translator;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, InstructionData, Value, ValueDef, types};
use tamis_ir::algebra::BinaryOp;
use tamis_ir::diagnostic::Diagnostic;

impl Translator<'_> {
    pub(crate) fn binary_int(
        &mut self,
        op: BinaryOp,
        a: Value,
        b: Value,
    ) -> Result<Value, Diagnostic> {
        if let Some(condition) = int_condition(op) {
            return Ok(self.b.ins().icmp(condition, a, b));
        }
        Ok(match op {
            BinaryOp::Add => self.b.ins().iadd(a, b),
            BinaryOp::Sub => self.b.ins().isub(a, b),
            BinaryOp::Mul => self.b.ins().imul(a, b),
            BinaryOp::Div => self.divide(a, b),
            BinaryOp::Mod => self.modulo(a, b),
            BinaryOp::Min => self.b.ins().smin(a, b),
            BinaryOp::Max => self.b.ins().smax(a, b),
            BinaryOp::Heaviside => {
                let zero = self.b.ins().icmp_imm_s(IntCC::Equal, a, 0);
                let positive = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThan, a, 0);
                let step = self.b.ins().uextend(types::I64, positive);
                self.b.ins().select(zero, b, step)
            }
            _ => return Err(internal(format!("{} of I64", op.name()))),
        })
    }

    pub(crate) fn binary_unsigned(
        &mut self,
        op: BinaryOp,
        a: Value,
        b: Value,
    ) -> Result<Value, Diagnostic> {
        if let Some(condition) = int_condition(op) {
            return Ok(self.b.ins().icmp(unsigned(condition), a, b));
        }
        Ok(match op {
            BinaryOp::Min => self.b.ins().umin(a, b),
            BinaryOp::Max => self.b.ins().umax(a, b),
            BinaryOp::Div | BinaryOp::Mod => self.divide_unsigned(op, a, b),
            BinaryOp::Heaviside => {
                let zero = self.b.ins().icmp_imm_s(IntCC::Equal, a, 0);
                let one = self.b.ins().iconst(types::I64, 1);
                self.b.ins().select(zero, b, one)
            }
            op => self.binary_int(op, a, b)?,
        })
    }

    /// The quotient or the rest; 0 by 0.
    fn divide_unsigned(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        match (op, self.power_of_two(b)) {
            (BinaryOp::Div, Some(shift)) => return self.b.ins().ushr_imm_u(a, i64::from(shift)),
            (_, Some(shift)) => return self.b.ins().band_imm_s(a, (1i64 << shift) - 1),
            _ => {}
        }
        let by_zero = self.b.ins().icmp_imm_s(IntCC::Equal, b, 0);
        let (zero, one) = (self.b.ins().iconst(types::I64, 0), self.b.ins().iconst(types::I64, 1));
        let safe = self.b.ins().select(by_zero, one, b);
        let result = match op {
            BinaryOp::Div => self.b.ins().udiv(a, safe),
            _ => self.b.ins().urem(a, safe),
        };
        self.b.ins().select(by_zero, zero, result)
    }

    /// Division that never traps: by 0 gives 0, the least integer by -1 wraps.
    fn divide(&mut self, a: Value, b: Value) -> Value {
        if let Some(shift) = self.power_of_two(b) {
            // Rounds toward zero: negative dividends are raised by the divisor less one.
            let sign = self.b.ins().sshr_imm_u(a, 63);
            let low = self.b.ins().band_imm_s(sign, (1i64 << shift) - 1);
            let raised = self.b.ins().iadd(a, low);
            return self.b.ins().sshr_imm_u(raised, i64::from(shift));
        }
        let (zero, safe) = self.safe_divisor(b);
        let quotient = self.b.ins().sdiv(a, safe);
        let negated = self.b.ins().ineg(a);
        let minus = self.b.ins().icmp_imm_s(IntCC::Equal, b, -1);
        let quotient = self.b.ins().select(minus, negated, quotient);
        let none = self.b.ins().iconst(types::I64, 0);
        self.b.ins().select(zero, none, quotient)
    }

    /// The remainder with the sign of the divisor; 0 by 0.
    fn modulo(&mut self, a: Value, b: Value) -> Value {
        if let Some(shift) = self.power_of_two(b) {
            return self.b.ins().band_imm_s(a, (1i64 << shift) - 1);
        }
        let (_, safe) = self.safe_divisor(b);
        let rest = self.b.ins().srem(a, safe);
        let none = self.b.ins().iconst(types::I64, 0);
        let signs = self.b.ins().bxor(rest, b);
        let differ = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, signs, 0);
        let some = self.b.ins().icmp_imm_s(IntCC::NotEqual, rest, 0);
        let fix = self.b.ins().band(differ, some);
        let raised = self.b.ins().iadd(rest, b);
        let rest = self.b.ins().select(fix, raised, rest);
        let next = self.b.ins().iadd_imm_s(b, 1);
        let trivial = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, next, 1);
        self.b.ins().select(trivial, none, rest)
    }

    /// Whether a divisor is 0, and the divisor with 0 and -1 replaced by 1.
    fn safe_divisor(&mut self, b: Value) -> (Value, Value) {
        let zero = self.b.ins().icmp_imm_s(IntCC::Equal, b, 0);
        let next = self.b.ins().iadd_imm_s(b, 1);
        // 0 and -1 become 1 and 0, which no other divisor does.
        let trivial = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, next, 1);
        let one = self.b.ins().iconst(types::I64, 1);
        (zero, self.b.ins().select(trivial, one, b))
    }

    /// The exponent of a constant that is a power of two from 2 on.
    fn power_of_two(&self, value: Value) -> Option<u32> {
        let ValueDef::Result(inst, _) = self.b.func.dfg.value_def(value) else { return None };
        let InstructionData::UnaryImm { imm, .. } = self.b.func.dfg.insts[inst] else {
            return None;
        };
        let constant = u64::try_from(imm.bits()).ok()?;
        (constant >= 2 && constant.is_power_of_two()).then(|| constant.trailing_zeros())
    }
}

pub(crate) fn int_condition(op: BinaryOp) -> Option<IntCC> {
    Some(match op {
        BinaryOp::Eq => IntCC::Equal,
        BinaryOp::Ne => IntCC::NotEqual,
        BinaryOp::Lt => IntCC::SignedLessThan,
        BinaryOp::Le => IntCC::SignedLessThanOrEqual,
        BinaryOp::Gt => IntCC::SignedGreaterThan,
        BinaryOp::Ge => IntCC::SignedGreaterThanOrEqual,
        _ => return None,
    })
}

pub(crate) fn unsigned(condition: IntCC) -> IntCC {
    condition.unsigned()
}
