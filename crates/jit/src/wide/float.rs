//! Floats and vectors of them. Operands in memory are left to instructions.

use super::inst::{Float, FloatOp, Inst, Mem, Value, Whole, WholeOp};
use super::lower::{Lowering, What};
use super::whole::condition;
use tamis_ir::algebra::{BinaryOp, UnaryOp};
use tamis_ir::datatype::{DataType, Register, Scalar};
use tamis_ir::ids::Array;
use tamis_ir::ir::{Expr, Type};

/// Bytes of a float or of a vector of them.
pub(super) fn bytes(ty: Type) -> u16 {
    ty.lanes * if ty.register == Register::F32 { 4 } else { 8 }
}

impl Lowering<'_> {
    /// Whether values of a type fit in a register.
    fn has_register(&self, ty: Type) -> bool {
        let half = ty.register == Register::F32 && bytes(ty) == 16;
        let whole = (32..=self.vectors.bytes()).contains(&bytes(ty)) && bytes(ty).is_power_of_two();
        ty.lanes == 1 || half || (ty.register.is_float() && whole)
    }

    /// The value of a float or vector.
    pub(super) fn float(&mut self, e: &Expr) -> Option<Value> {
        let ty = self.function.type_of(e);
        self.has_register(ty).then_some(())?;
        if let Expr::Var(v) = e {
            return Some(self.var(*v));
        }
        if let Some(value) = self.known(What::Value, e) {
            return Some(value);
        }
        if let Expr::Const(c) = scalar(e)
            && let Some(bits) = bits(*c).filter(|bits| *bits != 0)
        {
            return Some(self.bits(e, bits, ty));
        }
        let to = self.fresh(ty);
        // What else goes into a splat is computed here.
        let level = match e {
            Expr::Splat(a, _) if matches!(**a, Expr::Var(_)) => self.level(a),
            _ => self.depth(),
        };
        self.float_into(e, to, level)?;
        let again = match e {
            Expr::Splat(a, _) => self.is_lasting(a),
            Expr::Load { lanes: 1, .. } => self.is_lasting(e),
            _ => false,
        };
        if again {
            self.remember(level, What::Value, e, to);
        }
        Some(to)
    }

    /// Whether an expression is the same as long as its variables are.
    fn is_lasting(&self, e: &Expr) -> bool {
        match e {
            Expr::Var(_) => true,
            Expr::Load { array, .. } => self.is_input(*array),
            Expr::Convert(to, a) => to.is_float() && self.is_lasting(a),
            _ => false,
        }
    }

    /// A constant other than 0, made before all loops.
    fn bits(&mut self, e: &Expr, bits: i64, ty: Type) -> Value {
        let (whole, to) = (self.fresh(Type::INDEX), self.fresh(ty));
        self.place(0, Inst::Const { to: whole, value: bits });
        self.place(0, Inst::Bits { to, from: whole });
        self.remember(0, What::Value, e, to);
        to
    }

    /// Computes a float or vector into a value, which the expression may read.
    pub(super) fn float_into(&mut self, e: &Expr, to: Value, level: usize) -> Option<()> {
        self.has_register(self.function.type_of(e)).then_some(())?;
        match e {
            Expr::Var(v) => {
                let from = self.var(*v);
                self.code.push(Inst::Move { to, from });
            }
            Expr::Const(_) => self.constant(e, to)?,
            Expr::Load { .. } => {
                let mem = self.float_mem(e)?;
                self.code.push(Inst::FloatLoad { to, mem });
            }
            Expr::Splat(a, _) if matches!(**a, Expr::Const(_)) => self.constant(e, to)?,
            Expr::Splat(a, _) => {
                let from = self.last(a)?;
                self.place(level, Inst::Splat { to, from });
            }
            Expr::Unary(op, a) => self.unary(*op, a, to)?,
            Expr::Binary(op, a, b) => {
                let op = operation(*op)?;
                let (a, b) = match op {
                    // Either may be in memory, and the bits are the same.
                    FloatOp::Add | FloatOp::Mul if is_load(a) && !is_load(b) => (b, a),
                    _ => (a, b),
                };
                let a = self.float(a)?;
                // The comparison that goes with them needs both in registers.
                let b = match op {
                    FloatOp::Min | FloatOp::Max => Float::Value(self.float(b)?),
                    _ => self.last(b)?,
                };
                self.code.push(Inst::Float { op, to, a, b });
            }
            Expr::Fma(a, b, c) => self.fused([a, b, c], to)?,
            Expr::Convert(_, a) => self.converted(a, to)?,
            Expr::Reduce(op, a) => self.reduced(*op, a, to)?,
            Expr::Lanes(all) => self.lanes(all, to)?,
            Expr::Select(cond, yes, no) => self.choice(cond, [yes, no], to)?,
            _ => return None,
        }
        Some(())
    }

    /// A vector of doubles that lie apart.
    fn lanes(&mut self, all: &[Expr], to: Value) -> Option<()> {
        let mut parts = vec![];
        for pair in all.chunks(2) {
            let [low, high] = pair else { return None };
            let doubles =
                [low, high].map(|e| self.function.type_of(e)) == [Type::scalar(Register::F64); 2];
            doubles.then_some(())?;
            let (low, high) = (self.float_mem(low)?, self.float_mem(high)?);
            let part = self.fresh(Type { register: Register::F64, lanes: 2 });
            self.code.push(Inst::Pair { to: part, low, high });
            parts.push(part);
        }
        let mut lanes = 2;
        while let [first, second, ..] = parts[..] {
            lanes *= 2;
            if parts.len() == 2 {
                self.code.push(Inst::Join { to, low: first, high: second });
                return Some(());
            }
            let mut joined = vec![];
            for pair in parts.chunks(2) {
                let [low, high] = *pair else { return None };
                let part = self.fresh(Type { register: Register::F64, lanes });
                self.code.push(Inst::Join { to: part, low, high });
                joined.push(part);
            }
            parts = joined;
        }
        None
    }

    /// One of two scalars, by a comparison of integers: branchless.
    fn choice(&mut self, cond: &Expr, [yes, no]: [&Expr; 2], to: Value) -> Option<()> {
        let Expr::Binary(op, a, b) = cond else { return None };
        let compared = self.function.type_of(a);
        let whole = self.ty(to).lanes == 1 && compared.lanes == 1 && !compared.register.is_float();
        whole.then_some(())?;
        let if_ = condition(*op, compared.register == Register::I64)?;
        let (yes, no) = (self.float(yes)?, self.float(no)?);
        let (a, b) = (self.whole(a)?, self.operand(b)?);
        self.code.push(Inst::Choice { to, if_, a, b, yes, no });
        Some(())
    }

    fn constant(&mut self, e: &Expr, to: Value) -> Option<()> {
        let Expr::Const(c) = scalar(e) else { return None };
        if bits(*c)? == 0 {
            self.code.push(Inst::Zero { to });
            return Some(());
        }
        let from = self.float(e)?;
        self.code.push(Inst::Move { to, from });
        Some(())
    }

    /// An operand that may stay in memory.
    fn last(&mut self, e: &Expr) -> Option<Float> {
        if is_load(e) && self.known(What::Value, e).is_none() {
            return self.float_mem(e).map(Float::Mem);
        }
        self.float(e).map(Float::Value)
    }

    /// The address of what is loaded, if a register can hold it as it is in memory.
    fn float_mem(&mut self, load: &Expr) -> Option<Mem> {
        let Expr::Load { array, index, .. } = load else { return None };
        let elem = self.function.arrays[*array].elem;
        let whole = matches!(elem, DataType::F32 | DataType::F64);
        (whole && self.has_register(self.function.type_of(load))).then_some(())?;
        self.mem(*array, index)
    }

    fn fused(&mut self, [a, b, c]: [&Expr; 3], to: Value) -> Option<()> {
        let (a, b) = if is_load(a) && !is_load(b) { (b, a) } else { (a, b) };
        if !matches!(c, Expr::Var(v) if self.var(*v) == to) {
            // The sum is overwritten, so it is a value of its own, which nothing else reads.
            let is_own = to.index() > self.slots().index();
            let total = if is_own { to } else { self.fresh(self.ty(to)) };
            self.float_into(c, total, self.depth())?;
            let (a, b) = (self.float(a)?, self.last(b)?);
            self.code.push(Inst::Fma { to: total, a, b });
            if !is_own {
                self.code.push(Inst::Move { to, from: total });
            }
            return Some(());
        }
        let (a, b) = (self.float(a)?, self.last(b)?);
        self.code.push(Inst::Fma { to, a, b });
        Some(())
    }

    fn unary(&mut self, op: UnaryOp, a: &Expr, to: Value) -> Option<()> {
        let ty = self.ty(to);
        let sign = if ty.register == Register::F32 { 0x8000_0000 } else { i64::MIN };
        let a = self.float(a)?;
        let float = |t: &mut Self, op: FloatOp, to: Value, a: Value, b: Value| {
            t.code.push(Inst::Float { op, to, a, b: Float::Value(b) });
        };
        match op {
            UnaryOp::Sqrt => self.code.push(Inst::Sqrt { to, from: a }),
            UnaryOp::Square => float(self, FloatOp::Mul, to, a, a),
            UnaryOp::Cube => {
                let square = self.fresh(ty);
                float(self, FloatOp::Mul, square, a, a);
                float(self, FloatOp::Mul, to, square, a);
            }
            UnaryOp::Neg | UnaryOp::Abs => {
                let (op, mask) = match op {
                    UnaryOp::Neg => (FloatOp::Xor, sign),
                    _ if ty.register == Register::F32 => (FloatOp::And, !sign & 0xffff_ffff),
                    _ => (FloatOp::And, !sign),
                };
                let (whole, bits) = (self.fresh(Type::INDEX), self.fresh(ty));
                self.code.push(Inst::Const { to: whole, value: mask });
                self.code.push(Inst::Bits { to: bits, from: whole });
                float(self, op, to, a, bits);
            }
            _ => return None,
        }
        Some(())
    }

    fn converted(&mut self, a: &Expr, to: Value) -> Option<()> {
        let from = self.function.type_of(a);
        match from.register {
            Register::I64 if from.lanes == 1 => {
                let from = self.whole(a)?;
                self.code.push(Inst::FromWhole { to, from });
            }
            register if register == self.ty(to).register => self.float_into(a, to, self.depth())?,
            Register::F32 | Register::F64 => {
                let from = self.last(a)?;
                self.code.push(Inst::Precision { to, from });
            }
            _ => return None,
        }
        Some(())
    }

    /// The lanes combined, halves first.
    fn reduced(&mut self, op: BinaryOp, a: &Expr, to: Value) -> Option<()> {
        let op = operation(op)?;
        let mut ty = self.function.type_of(a);
        let mut total = self.float(a)?;
        while ty.lanes > 1 {
            ty.lanes /= 2;
            let (half, sum) = (self.fresh(ty), self.fresh(ty));
            self.code.push(Inst::Half { to: half, from: total });
            let b = Float::Value(half);
            self.code.push(Inst::Float { op, to: sum, a: total, b });
            total = sum;
        }
        self.code.push(Inst::Move { to, from: total });
        Some(())
    }

    /// `array[lo..hi] = value`, by vectors and then by elements.
    pub(super) fn fill(&mut self, array: Array, bounds: [&Expr; 2], value: &Expr) -> Option<()> {
        let elem = self.function.arrays[array].elem;
        matches!(elem, DataType::F32 | DataType::F64).then_some(())?;
        let size = elem.size() as i32;
        let register = Type::scalar(elem.register());
        let one = self.float(value)?;
        let lanes = self.vectors.bytes() / size as u16;
        let all = self.fresh(Type { lanes, ..register });
        self.code.push(Inst::Splat { to: all, from: Float::Value(one) });
        let (at, last) = (self.fresh(Type::INDEX), self.fresh(Type::INDEX));
        let from = self.whole(bounds[0])?;
        let end = self.whole(bounds[1])?;
        self.code.push(Inst::Move { to: at, from });
        let lanes = i32::from(lanes);
        self.code.push(Inst::Whole { op: WholeOp::Sub, to: last, a: end, b: Whole::Const(lanes) });
        for (from, by, last) in [(all, lanes, last), (one, 1, end)] {
            self.stores(array, from, (at, by, last), by > 1);
        }
        Some(())
    }
}

fn is_load(e: &Expr) -> bool {
    matches!(e, Expr::Load { .. })
}

/// What is in every lane.
fn scalar(e: &Expr) -> &Expr {
    match e {
        Expr::Splat(a, _) => a,
        e => e,
    }
}

fn bits(c: Scalar) -> Option<i64> {
    match c {
        Scalar::F64(x) => Some(x.to_bits().cast_signed()),
        Scalar::F32(x) => Some(i64::from(x.to_bits())),
        _ => None,
    }
}

pub(super) fn operation(op: BinaryOp) -> Option<FloatOp> {
    Some(match op {
        BinaryOp::Add => FloatOp::Add,
        BinaryOp::Sub => FloatOp::Sub,
        BinaryOp::Mul => FloatOp::Mul,
        BinaryOp::Div => FloatOp::Div,
        BinaryOp::Min => FloatOp::Min,
        BinaryOp::Max => FloatOp::Max,
        _ => return None,
    })
}
