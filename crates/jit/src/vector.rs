//! Vectors: Cranelift has 128-bit ones, so wider ones are several of them, narrower ones and truth
//! values are scalars side by side, and what has no vector instruction is done lane by lane.

use crate::expr::float_condition;
use crate::home::Home;
use crate::integer::int_condition;
use crate::internal;
use crate::stmt::{Translator, machine_type};
use cranelift_codegen::ir::{Endianness, InstBuilder, MemFlagsData, Type, Value, types};
use cranelift_frontend::FunctionBuilder;
use tamis_ir::algebra::{BinaryOp, UnaryOp};
use tamis_ir::datatype::Register;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::Array;
use tamis_ir::ir::{self, Expr};

/// How a type is held: so many machine values of one machine type.
#[derive(Clone, Copy)]
pub(crate) struct Lanes {
    pub(crate) ty: Type,
    pub(crate) parts: usize,
}

impl Lanes {
    pub(crate) fn of(ty: ir::Type) -> Result<Lanes, Diagnostic> {
        let lane = machine_type(ty.register);
        let lanes = usize::from(ty.lanes);
        if !lanes.is_power_of_two() {
            return Err(internal(format!("a vector of {lanes} lanes")));
        }
        let per_part = match ty.register {
            Register::Bool => 1,
            Register::F32 => 4,
            Register::F64 | Register::I64 | Register::U64 => 2,
        };
        match lane.by(per_part as u32) {
            Some(vector) if lanes >= per_part && per_part > 1 => {
                Ok(Lanes { ty: vector, parts: lanes / per_part })
            }
            _ => Ok(Lanes { ty: lane, parts: lanes }),
        }
    }

    pub(crate) fn declare(self, b: &mut FunctionBuilder<'_>, in_memory: bool) -> Vec<Home> {
        (0..self.parts).map(|_| Home::new(b, self.ty, in_memory)).collect()
    }
}

/// Whether vectors have an instruction for the function.
pub(crate) fn has_unary(op: UnaryOp, register: Register) -> bool {
    use UnaryOp::{Abs, Cube, Neg, Sqrt, Square};
    match register {
        Register::Bool => false,
        Register::I64 | Register::U64 => matches!(op, Neg | Square | Cube),
        Register::F32 | Register::F64 => matches!(op, Neg | Abs | Sqrt | Square | Cube),
    }
}

/// Whether vectors have an instruction for the operator that gives the operands' type.
pub(crate) fn has_binary(op: BinaryOp, register: Register) -> bool {
    use BinaryOp::{Add, Div, Max, Min, Mul, Sub};
    match register {
        Register::Bool => false,
        Register::I64 | Register::U64 => matches!(op, Add | Sub | Mul),
        Register::F32 | Register::F64 => matches!(op, Add | Sub | Mul | Div | Min | Max),
    }
}

impl Translator<'_> {
    /// Applies `f` to corresponding values of the operands: to whole vectors if they have an
    /// instruction for it, else to each lane.
    pub(crate) fn each<const N: usize>(
        &mut self,
        by_vectors: bool,
        operands: [Vec<Value>; N],
        result: ir::Type,
        mut f: impl FnMut(&mut Self, [Value; N]) -> Result<Value, Diagnostic>,
    ) -> Result<Vec<Value>, Diagnostic> {
        if by_vectors || result.lanes == 1 {
            return (0..operands[0].len())
                .map(|k| f(self, std::array::from_fn(|n| operands[n][k])))
                .collect();
        }
        let operands = operands.map(|values| self.split_lanes(values));
        let lanes = (0..operands[0].len())
            .map(|k| f(self, std::array::from_fn(|n| operands[n][k])))
            .collect::<Result<_, _>>()?;
        self.join_lanes(lanes, result)
    }

    /// Every lane as a scalar.
    pub(crate) fn split_lanes(&mut self, values: Vec<Value>) -> Vec<Value> {
        let mut lanes = vec![];
        for value in values {
            let ty = self.b.func.dfg.value_type(value);
            match ty.is_vector() {
                true => lanes
                    .extend((0..ty.lane_count()).map(|k| self.b.ins().extractlane(value, k as u8))),
                false => lanes.push(value),
            }
        }
        lanes
    }

    /// Scalars put together as a type is held.
    pub(crate) fn join_lanes(
        &mut self,
        lanes: Vec<Value>,
        ty: ir::Type,
    ) -> Result<Vec<Value>, Diagnostic> {
        let held = Lanes::of(ty)?.ty;
        if !held.is_vector() {
            return Ok(lanes);
        }
        let parts = lanes.chunks(held.lane_count() as usize).map(|chunk| {
            let first = self.b.ins().splat(held, chunk[0]);
            let rest = chunk.iter().enumerate().skip(1);
            rest.fold(first, |v, (k, &lane)| self.b.ins().insertlane(v, lane, k as u8))
        });
        Ok(parts.collect())
    }

    /// How many of eight truth values hold: they are bytes of 0 and 1, which a product adds up in
    /// the highest byte of a word.
    pub(crate) fn count_of_eight(
        &mut self,
        array: Array,
        index: &Expr,
    ) -> Result<Value, Diagnostic> {
        let (address, offset) = self.place(array, index)?;
        let mut flags = MemFlagsData::new();
        flags.set_notrap();
        let word = self.b.ins().load(types::I64, flags, address, offset);
        let sums = self.b.ins().imul_imm_u(word, 0x0101_0101_0101_0101);
        Ok(self.b.ins().ushr_imm_u(sums, 56))
    }

    /// Where the lanes of a condition hold the lanes of `a`, else those of `b`.
    pub(crate) fn select_lanes(
        &mut self,
        c: &Expr,
        a: &Expr,
        b: &Expr,
    ) -> Result<Vec<Value>, Diagnostic> {
        let ty = self.function.type_of(a);
        let held = Lanes::of(ty)?.ty;
        if held.is_vector() && self.is_mask(c, held) {
            let masks = self.mask(c)?;
            let (a, b) = (self.expr(a)?, self.expr(b)?);
            let parts = masks.into_iter().zip(a.into_iter().zip(b));
            return Ok(parts.map(|(mask, (a, b))| self.blend(mask, a, b)).collect());
        }
        let operands = [self.expr(c)?, self.expr(a)?, self.expr(b)?];
        self.each(false, operands, ty, |t, [c, a, b]| Ok(t.chosen(c, a, b)))
    }

    /// `a` or `b`. Of floats Cranelift makes a branch, which the processor must predict.
    pub(crate) fn chosen(&mut self, c: Value, a: Value, b: Value) -> Value {
        let ty = self.b.func.dfg.value_type(a);
        if !ty.is_float() {
            return self.b.ins().select(c, a, b);
        }
        let [a, b] = [a, b].map(|x| self.b.ins().bitcast(ty.as_int(), MemFlagsData::new(), x));
        let bits = self.b.ins().select(c, a, b);
        self.b.ins().bitcast(ty, MemFlagsData::new(), bits)
    }

    /// Whether a condition can be had as masks over vectors of this shape.
    fn is_mask(&self, c: &Expr, held: Type) -> bool {
        match c {
            Expr::Unary(UnaryOp::Not, a) => self.is_mask(a, held),
            Expr::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, a, b) => {
                self.is_mask(a, held) && self.is_mask(b, held)
            }
            // Comparisons of integers without sign are done lane by lane.
            Expr::Binary(_, a, _) if self.function.type_of(a).register == Register::U64 => false,
            Expr::Binary(_, a, _) => Lanes::of(self.function.type_of(a))
                .is_ok_and(|l| l.ty.is_vector() && l.ty.lane_bits() == held.lane_bits()),
            _ => false,
        }
    }

    /// A condition for which [`Translator::is_mask`] holds: all bits of a lane, or none.
    fn mask(&mut self, c: &Expr) -> Result<Vec<Value>, Diagnostic> {
        if let Expr::Unary(_, a) = c {
            return Ok(self.mask(a)?.into_iter().map(|a| self.b.ins().bnot(a)).collect());
        }
        let Expr::Binary(op, a, b) = c else {
            return Err(internal("a mask of no comparison".to_owned()));
        };
        let joins = matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor);
        let (a, b) = match joins {
            true => (self.mask(a)?, self.mask(b)?),
            false => (self.expr(a)?, self.expr(b)?),
        };
        let pairs = a.into_iter().zip(b);
        pairs.map(|(a, b)| self.mask_part(*op, a, b)).collect()
    }

    fn mask_part(&mut self, op: BinaryOp, a: Value, b: Value) -> Result<Value, Diagnostic> {
        let float = self.b.func.dfg.value_type(a).lane_type().is_float();
        Ok(match (op, float_condition(op), int_condition(op)) {
            (BinaryOp::And, ..) => self.b.ins().band(a, b),
            (BinaryOp::Or, ..) => self.b.ins().bor(a, b),
            (BinaryOp::Xor, ..) => self.b.ins().bxor(a, b),
            (_, Some(condition), _) if float => self.b.ins().fcmp(condition, a, b),
            (_, _, Some(condition)) => self.b.ins().icmp(condition, a, b),
            _ => return Err(internal(format!("a mask by {}", op.name()))),
        })
    }

    /// The lanes of `a` where the mask is set, else those of `b`.
    pub(crate) fn blend(&mut self, mask: Value, a: Value, b: Value) -> Value {
        let ty = self.b.func.dfg.value_type(a);
        let bits = self.b.func.dfg.value_type(mask);
        let mut flags = MemFlagsData::new();
        flags.set_endianness(Endianness::Little);
        let (a, b) = (self.b.ins().bitcast(bits, flags, a), self.b.ins().bitcast(bits, flags, b));
        let chosen = self.b.ins().bitselect(mask, a, b);
        self.b.ins().bitcast(ty, flags, chosen)
    }

    /// `a * b + c`, rounded once.
    pub(crate) fn fused(
        &mut self,
        operands: [Vec<Value>; 3],
        ty: ir::Type,
    ) -> Result<Vec<Value>, Diagnostic> {
        self.each(self.has_fma(), operands, ty, |t, [a, b, c]| Ok(t.fma(ty.register, a, b, c)))
    }
}
