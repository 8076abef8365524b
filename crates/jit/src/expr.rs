//! Expressions, each a list of machine values: one, or several for wide vectors.

use crate::integer::{int_condition, unsigned};
use crate::stmt::{Translator, machine_type};
use crate::vector::{self, Lanes};
use crate::{internal, support};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};
use tamis_ir::algebra::{BinaryOp, UnaryOp};
use tamis_ir::datatype::{DataType, Register, Scalar};
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::half;
use tamis_ir::ids::{Array, Id};
use tamis_ir::ir::{self, Expr};

impl Translator<'_> {
    /// The value of a scalar expression.
    pub(crate) fn scalar(&mut self, e: &Expr) -> Result<Value, Diagnostic> {
        Ok(self.expr(e)?[0])
    }

    /// The machine values of an expression.
    pub(crate) fn expr(&mut self, e: &Expr) -> Result<Vec<Value>, Diagnostic> {
        Ok(match e {
            Expr::Const(c) => vec![self.constant(*c)],
            Expr::Var(v) => self.vars[v.index()].iter().map(|home| home.get(&mut self.b)).collect(),
            Expr::Load { array, index, lanes } => self.load(*array, index, *lanes)?,
            Expr::Unary(op, a) => {
                let ty = self.function.type_of(a);
                let native = vector::has_unary(*op, ty.register);
                let a = self.expr(a)?;
                self.each(native, [a], ty, |t, [a]| t.unary(*op, ty.register, a))?
            }
            Expr::Binary(op, a, b) => {
                if let Some(value) = self.tested(e)? {
                    return Ok(vec![value]);
                }
                let register = self.function.type_of(a).register;
                let native = vector::has_binary(*op, register);
                let ty = self.function.type_of(e);
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                self.each(native, [a, b], ty, |t, [a, b]| t.binary(*op, register, a, b))?
            }
            Expr::BitAnd(a, b) => {
                let (a, b) = (self.scalar(a)?, self.scalar(b)?);
                vec![self.b.ins().band(a, b)]
            }
            Expr::AndThen(a, b) => vec![self.and_then(a, b)?],
            Expr::Select(c, a, b) => self.select(c, a, b)?,
            Expr::Fma(a, b, c) => {
                let ty = self.function.type_of(a);
                // The instruction overwrites its first factor: a load may go, a splat is used again.
                let (a, b) = if matches!(**a, Expr::Splat(..)) { (b, a) } else { (a, b) };
                let operands = [self.expr(a)?, self.expr(b)?, self.expr(c)?];
                self.fused(operands, ty)?
            }
            Expr::Convert(to, a) => {
                let from = self.function.type_of(a).register;
                let ty = self.function.type_of(e);
                let a = self.expr(a)?;
                self.each(false, [a], ty, |t, [a]| Ok(t.convert(a, from, *to)))?
            }
            Expr::Splat(a, lanes) => {
                let ty = ir::Type { lanes: *lanes, ..self.function.type_of(a) };
                let Lanes { ty, parts } = Lanes::of(ty)?;
                let value = self.scalar(a)?;
                let part = if ty.is_vector() { self.b.ins().splat(ty, value) } else { value };
                vec![part; parts]
            }
            Expr::Lanes(all) => {
                let lanes = all.iter().map(|lane| self.scalar(lane)).collect::<Result<_, _>>()?;
                self.join_lanes(lanes, self.function.type_of(e))?
            }
            Expr::Reduce(op, a) => vec![self.reduced(*op, a)?],
            Expr::Len(array) => vec![self.len(*array)],
        })
    }

    fn constant(&mut self, c: Scalar) -> Value {
        match c {
            Scalar::Bool(b) => self.b.ins().iconst(types::I8, i64::from(b)),
            Scalar::I64(x) => self.b.ins().iconst(types::I64, x),
            Scalar::U64(x) => self.b.ins().iconst(types::I64, x.cast_signed()),
            Scalar::F32(x) => self.b.ins().f32const(x),
            Scalar::F64(x) => self.b.ins().f64const(x),
            Scalar::C64(_) | Scalar::C128(_) => unreachable!("the imperative form is real"),
        }
    }

    fn load(&mut self, array: Array, index: &Expr, lanes: u16) -> Result<Vec<Value>, Diagnostic> {
        let elem = self.function.arrays[array].elem;
        let (address, offset) = self.place(array, index)?;
        let ty = ir::Type { register: elem.register(), lanes };
        let held = Lanes::of(ty)?;
        if held.ty.is_vector() && elem.size() == held.ty.lane_type().bytes() as usize {
            let mut flags = MemFlagsData::new();
            flags.set_notrap();
            if self.may_move(array, index) {
                flags = flags.with_readonly().with_can_move();
            }
            if self.has_fma() {
                // With FMA there is AVX, whose operands in memory need no alignment.
                flags.set_aligned();
            }
            let part = |k: usize| offset + 16 * k as i32;
            return Ok((0..held.parts)
                .map(|k| self.b.ins().load(held.ty, flags, address, part(k)))
                .collect());
        }
        let lanes = (0..i32::from(lanes))
            .map(|k| self.load_lane(elem, address, offset + k * elem.size() as i32))
            .collect();
        self.join_lanes(lanes, ty)
    }

    /// Loads one element, widened.
    fn load_lane(&mut self, elem: DataType, address: Value, offset: i32) -> Value {
        let flags = MemFlagsData::trusted();
        match elem {
            DataType::Bool | DataType::U8 => {
                self.b.ins().uload8(types::I64, flags, address, offset)
            }
            DataType::I8 => self.b.ins().sload8(types::I64, flags, address, offset),
            DataType::I16 => self.b.ins().sload16(types::I64, flags, address, offset),
            DataType::U16 => self.b.ins().uload16(types::I64, flags, address, offset),
            DataType::I32 => self.b.ins().sload32(flags, address, offset),
            DataType::U32 => self.b.ins().uload32(flags, address, offset),
            DataType::F16 | DataType::Bf16 => {
                let bits = self.b.ins().uload16(types::I32, flags, address, offset);
                self.widened_half(elem, bits)
            }
            _ => self.b.ins().load(machine_type(elem.register()), flags, address, offset),
        }
    }

    /// The float of 16 bits as [`tamis_ir::half`] widens it.
    fn widened_half(&mut self, elem: DataType, bits: Value) -> Value {
        if elem == DataType::Bf16 {
            let bits = self.b.ins().ishl_imm_u(bits, 16);
            return self.b.ins().bitcast(types::F32, MemFlagsData::new(), bits);
        }
        let sign = self.b.ins().band_imm_u(bits, 0x8000);
        let sign = self.b.ins().ishl_imm_u(sign, 16);
        let rest = self.b.ins().band_imm_u(bits, 0x7fff);
        let rest = self.b.ins().ishl_imm_u(rest, 13);
        let small = self.b.ins().bitcast(types::F32, MemFlagsData::new(), rest);
        let raise = self.b.ins().f32const(half::RAISE);
        let finite = self.b.ins().fmul(small, raise);
        let finite = self.b.ins().bitcast(types::I32, MemFlagsData::new(), finite);
        let other = self.b.ins().bor_imm_u(rest, 0x7f80_0000);
        let is_other =
            self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, rest, 0x7c00 << 13);
        let bits = self.b.ins().select(is_other, other, finite);
        let bits = self.b.ins().bor(bits, sign);
        self.b.ins().bitcast(types::F32, MemFlagsData::new(), bits)
    }

    /// The bits of a value that is stored as a float of 16 bits; any other value as it is.
    pub(crate) fn rounded_half(&mut self, elem: DataType, value: Value) -> Value {
        let f = match elem {
            DataType::F16 => support::round_f16 as *const () as usize,
            DataType::Bf16 => support::round_bf16 as *const () as usize,
            _ => return value,
        };
        let value = match self.b.func.dfg.value_type(value) {
            types::F32 => self.b.ins().fpromote(types::F64, value),
            _ => value,
        };
        self.call(f, &[value], Some(types::I64)).unwrap_or(value)
    }

    fn and_then(&mut self, a: &Expr, b: &Expr) -> Result<Value, Diagnostic> {
        let (second, after) = (self.b.create_block(), self.b.create_block());
        self.b.append_block_param(after, types::I8);
        let a = self.scalar(a)?;
        self.b.ins().brif(a, second, &[], after, &[a.into()]);
        self.b.switch_to_block(second);
        let b = self.scalar(b)?;
        self.b.ins().jump(after, &[b.into()]);
        self.b.switch_to_block(after);
        Ok(self.b.block_params(after)[0])
    }

    fn select(&mut self, c: &Expr, a: &Expr, b: &Expr) -> Result<Vec<Value>, Diagnostic> {
        if self.function.type_of(c).lanes > 1 {
            return self.select_lanes(c, a, b);
        }
        let (c, a, b) = (self.scalar(c)?, self.expr(a)?, self.expr(b)?);
        Ok(a.into_iter().zip(b).map(|(a, b)| self.chosen(c, a, b)).collect())
    }

    /// Whether code may use a fused multiply-add instruction.
    pub(crate) fn has_fma(&self) -> bool {
        let flags = self.isa.isa_flags();
        // Other architectures always have it, and no flag.
        flags.iter().find(|flag| flag.name == "has_fma").and_then(|f| f.as_bool()).unwrap_or(true)
    }

    pub(crate) fn fma(&mut self, register: Register, a: Value, b: Value, c: Value) -> Value {
        let scalar = self.b.func.dfg.value_type(a).is_float();
        if scalar && !self.has_fma() {
            let f = support::fma(register == Register::F64);
            let ty = machine_type(register);
            return self.call(f, &[a, b, c], Some(ty)).unwrap_or(c);
        }
        self.b.ins().fma(a, b, c)
    }

    /// The lanes combined, halves first.
    fn reduced(&mut self, op: BinaryOp, a: &Expr) -> Result<Value, Diagnostic> {
        if let Expr::Load { array, index, lanes: 8 } = a
            && self.function.arrays[*array].elem == DataType::Bool
        {
            return self.count_of_eight(*array, index);
        }
        let register = self.function.type_of(a).register;
        let mut parts = self.expr(a)?;
        while parts.len() > 1 {
            let half = parts.len() / 2;
            let (low, high) = parts.split_at(half);
            let pairs = low.iter().zip(high).map(|(&l, &h)| self.combined(op, register, [l, h]));
            parts = pairs.collect::<Result<_, _>>()?;
        }
        let vector = self.b.func.dfg.value_type(parts[0]);
        let mut lanes: Vec<Value> = (0..vector.lane_count())
            .map(|k| match vector.is_vector() {
                true => self.b.ins().extractlane(parts[0], k as u8),
                false => parts[0],
            })
            .collect();
        while lanes.len() > 1 {
            let half = lanes.len() / 2;
            let (low, high) = lanes.split_at(half);
            let pairs = low.iter().zip(high).map(|(&l, &h)| self.combined(op, register, [l, h]));
            lanes = pairs.collect::<Result<_, _>>()?;
        }
        Ok(lanes[0])
    }

    /// Lanes, or vectors of them, combined.
    fn combined(
        &mut self,
        op: BinaryOp,
        register: Register,
        [a, b]: [Value; 2],
    ) -> Result<Value, Diagnostic> {
        match register.is_float() {
            true => self.binary_float(op, register, a, b),
            false => Ok(self.b.ins().iadd(a, b)),
        }
    }

    fn unary(&mut self, op: UnaryOp, register: Register, a: Value) -> Result<Value, Diagnostic> {
        Ok(match (op, register) {
            (UnaryOp::Not, Register::Bool) => self.b.ins().icmp_imm_u(IntCC::Equal, a, 0),
            (UnaryOp::Neg, Register::I64 | Register::U64) => self.b.ins().ineg(a),
            (UnaryOp::Abs, Register::U64) => a,
            (UnaryOp::Abs, Register::I64) => self.b.ins().iabs(a),
            (UnaryOp::Square, _) => self.mul(register, a, a),
            (UnaryOp::Cube, _) => {
                let square = self.mul(register, a, a);
                self.mul(register, square, a)
            }
            (UnaryOp::Neg, Register::F32 | Register::F64) => self.b.ins().fneg(a),
            (UnaryOp::Abs, Register::F32 | Register::F64) => self.b.ins().fabs(a),
            (UnaryOp::Sqrt, Register::F32 | Register::F64) => self.b.ins().sqrt(a),
            (op, Register::F64) => self.math(support::unary(op), &[a], types::F64)?,
            (op, Register::F32) => self.math(support::unary32(op), &[a], types::F32)?,
            (op, register) => {
                return Err(internal(format!("{} of {register:?}", op.name())));
            }
        })
    }

    fn math(&mut self, f: Option<usize>, args: &[Value], ty: Type) -> Result<Value, Diagnostic> {
        let vector = self.b.func.dfg.value_type(args[0]).is_vector();
        let called = f.filter(|_| !vector).and_then(|f| self.call(f, args, Some(ty)));
        called.ok_or_else(|| internal("a function without code".to_owned()))
    }

    fn mul(&mut self, register: Register, a: Value, b: Value) -> Value {
        match register {
            Register::F32 | Register::F64 => self.b.ins().fmul(a, b),
            _ => self.b.ins().imul(a, b),
        }
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        register: Register,
        a: Value,
        b: Value,
    ) -> Result<Value, Diagnostic> {
        match register {
            Register::Bool => self.binary_bool(op, a, b),
            Register::I64 => self.binary_int(op, a, b),
            Register::U64 => self.binary_unsigned(op, a, b),
            Register::F32 | Register::F64 => self.binary_float(op, register, a, b),
        }
    }

    fn binary_bool(&mut self, op: BinaryOp, a: Value, b: Value) -> Result<Value, Diagnostic> {
        Ok(match op {
            BinaryOp::And => self.b.ins().band(a, b),
            BinaryOp::Or => self.b.ins().bor(a, b),
            BinaryOp::Xor => self.b.ins().bxor(a, b),
            _ => match int_condition(op) {
                Some(condition) => self.b.ins().icmp(unsigned(condition), a, b),
                None => return Err(internal(format!("{} of Bool", op.name()))),
            },
        })
    }

    fn binary_float(
        &mut self,
        op: BinaryOp,
        register: Register,
        a: Value,
        b: Value,
    ) -> Result<Value, Diagnostic> {
        let scalar = self.b.func.dfg.value_type(a).is_float();
        if let (Some(condition), true) = (float_condition(op), scalar) {
            return Ok(self.b.ins().fcmp(condition, a, b));
        }
        Ok(match op {
            BinaryOp::Add => self.b.ins().fadd(a, b),
            BinaryOp::Sub => self.b.ins().fsub(a, b),
            BinaryOp::Mul => self.b.ins().fmul(a, b),
            BinaryOp::Div => self.b.ins().fdiv(a, b),
            BinaryOp::Min => self.extreme(FloatCC::LessThan, a, b),
            BinaryOp::Max => self.extreme(FloatCC::GreaterThan, a, b),
            BinaryOp::Heaviside if scalar => self.heaviside(register, a, b),
            op if register == Register::F64 => {
                self.math(support::binary(op), &[a, b], types::F64)?
            }
            op => self.math(support::binary32(op), &[a, b], types::F32)?,
        })
    }

    /// `select(a < b || a != a, a, b)` and its mirror image, by a mask: of scalars too, since a branch on data that
    /// has no pattern is mispredicted half of the time.
    fn extreme(&mut self, condition: FloatCC, a: Value, b: Value) -> Value {
        let lanes = match self.b.func.dfg.value_type(a) {
            types::F64 => types::F64X2,
            types::F32 => types::F32X4,
            _ => return self.extreme_of_lanes(condition, a, b),
        };
        let [a, b] = [a, b].map(|x| self.b.ins().scalar_to_vector(lanes, x));
        let extremes = self.extreme_of_lanes(condition, a, b);
        self.b.ins().extractlane(extremes, 0)
    }

    fn extreme_of_lanes(&mut self, condition: FloatCC, a: Value, b: Value) -> Value {
        let better = self.b.ins().fcmp(condition, a, b);
        let nan = self.b.ins().fcmp(FloatCC::Unordered, a, a);
        let first = self.b.ins().bor(better, nan);
        self.blend(first, a, b)
    }

    fn heaviside(&mut self, register: Register, a: Value, b: Value) -> Value {
        let (zero, one) = match register {
            Register::F32 => (self.b.ins().f32const(0.0), self.b.ins().f32const(1.0)),
            _ => (self.b.ins().f64const(0.0), self.b.ins().f64const(1.0)),
        };
        let positive = self.b.ins().fcmp(FloatCC::GreaterThan, a, zero);
        let step = self.b.ins().select(positive, one, a);
        let equal = self.b.ins().fcmp(FloatCC::Equal, a, zero);
        let step = self.b.ins().select(equal, b, step);
        let negative = self.b.ins().fcmp(FloatCC::LessThan, a, zero);
        self.b.ins().select(negative, zero, step)
    }

    fn convert(&mut self, a: Value, from: Register, to: Register) -> Value {
        use Register::{Bool, F32, F64, I64, U64};
        match (from, to) {
            (Bool, Bool) | (I64 | U64, I64 | U64) | (F32, F32) | (F64, F64) => a,
            (Bool, I64 | U64) => self.b.ins().uextend(types::I64, a),
            (Bool, F32 | F64) => {
                let a = self.b.ins().uextend(types::I64, a);
                self.b.ins().fcvt_from_sint(machine_type(to), a)
            }
            (I64, F32 | F64) => self.b.ins().fcvt_from_sint(machine_type(to), a),
            (U64, F32 | F64) => self.b.ins().fcvt_from_uint(machine_type(to), a),
            (F32 | F64, I64) => self.b.ins().fcvt_to_sint_sat(types::I64, a),
            (F32 | F64, U64) => self.b.ins().fcvt_to_uint_sat(types::I64, a),
            (F32, F64) => self.b.ins().fpromote(types::F64, a),
            (F64, F32) => self.b.ins().fdemote(types::F32, a),
            (I64 | U64, Bool) => self.b.ins().icmp_imm_s(IntCC::NotEqual, a, 0),
            (F32 | F64, Bool) => {
                let zero = match from {
                    F32 => self.b.ins().f32const(0.0),
                    _ => self.b.ins().f64const(0.0),
                };
                self.b.ins().fcmp(FloatCC::NotEqual, a, zero)
            }
        }
    }
}

pub(crate) fn float_condition(op: BinaryOp) -> Option<FloatCC> {
    Some(match op {
        BinaryOp::Eq => FloatCC::Equal,
        BinaryOp::Ne => FloatCC::NotEqual,
        BinaryOp::Lt => FloatCC::LessThan,
        BinaryOp::Le => FloatCC::LessThanOrEqual,
        BinaryOp::Gt => FloatCC::GreaterThan,
        BinaryOp::Ge => FloatCC::GreaterThanOrEqual,
        _ => return None,
    })
}
