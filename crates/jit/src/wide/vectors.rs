//! Floats and vectors as machine code.

use super::Vectors;
use super::emit::{Emitter, SPARE as SPARE_WHOLE};
use super::encode::{Address, Arithmetic, Operand, Vector, number};
use super::float::bytes;
use super::inst::{Condition, Float, FloatCondition, FloatOp, FloatOrder, Inst, Label, Mem, Value};
use tamis_ir::datatype::Register;
use tamis_ir::ir::Type;

/// Registers that no value has, with AVX-512 and with AVX2.
const SPARE: u8 = 31;
const SPARE_OF_AVX2: [u8; 2] = [14, 15];
/// The mask register that is used.
const MASK: u8 = 1;
/// The code of a comparison that holds where one is NaN.
const UNORDERED: u8 = 3;

impl Emitter<'_> {
    pub(super) fn float_inst(&mut self, inst: &Inst) -> Option<()> {
        match *inst {
            Inst::Zero { to } => {
                let to = self.float(to)?;
                let xor = Vector { opcode: 0xef, ..WHOLE };
                self.asm.vector(Vector { length: 0, ..xor }, to, to, Operand::Register(to));
            }
            Inst::Bits { to, from } => {
                let whole = self.whole(from, 0)?;
                self.bits(self.float(to)?, whole, self.ty(to));
            }
            Inst::FloatLoad { to, mem } => {
                let place = self.address(mem)?;
                self.float_load(self.float(to)?, place, self.ty(to));
            }
            Inst::FloatStore { from, mem, streamed } => {
                let place = self.address(mem)?;
                self.stored(place, from, streamed)?;
            }
            Inst::Splat { to, from } => {
                let ty = self.ty(to);
                let (to, from) = (self.float(to)?, self.last(from)?);
                self.splat(to, from, ty);
            }
            Inst::Float { op, to, a, b } => self.operation(op, to, a, b)?,
            Inst::Fma { to, a, b } => {
                let ty = self.ty(to);
                let opcode = if ty.lanes == 1 { 0xb9 } else { 0xb8 };
                let fma = Vector { map: 2, prefix: 1, ..arithmetic(ty, opcode) };
                let (to, a, b) = (self.float(to)?, self.float(a)?, self.last(b)?);
                self.asm.vector(fma, to, a, b);
            }
            Inst::Sqrt { to, from } => {
                let ty = self.ty(to);
                let (to, from) = (self.float(to)?, self.float(from)?);
                let second = if ty.lanes == 1 { from } else { 0 };
                self.asm.vector(arithmetic(ty, 0x51), to, second, Operand::Register(from));
            }
            Inst::Half { to, from } => self.half(to, from)?,
            Inst::Pair { to, low, high } => self.pair(to, low, high)?,
            Inst::Join { to, low, high } => self.join(to, low, high)?,
            Inst::Choice { to, if_, a, b, yes, no } => {
                let a = self.whole(a, SPARE_WHOLE[0])?;
                self.compare(a, b)?;
                self.choice(if_, to, [yes, no])?;
            }
            Inst::Precision { to, from } => self.precision(to, from)?,
            Inst::FromWhole { to, from } => self.float_of_whole(to, from)?,
            _ => return None,
        }
        Some(())
    }

    fn float_of_whole(&mut self, to: Value, from: Value) -> Option<()> {
        let convert = Vector { wide: true, ..arithmetic(self.ty(to), 0x2a) };
        let from = Operand::Register(self.whole(from, 0)?);
        self.float_inst(&Inst::Zero { to })?;
        let to = self.float(to)?;
        self.asm.vector(convert, to, to, from);
        Some(())
    }

    /// The bits of an integer in each lane.
    fn bits(&mut self, to: u8, from: u8, ty: Type) {
        let one = Vector { opcode: 0x6e, length: 0, wide: is_double(ty), ..WHOLE };
        let all = Vector { map: 2, opcode: 0x7c, length: length(ty), ..one };
        if ty.lanes == 1 {
            self.asm.vector(one, to, 0, Operand::Register(from));
        } else if self.vectors == Vectors::Avx512 {
            self.asm.vector(all, to, 0, Operand::Register(from));
        } else {
            self.asm.vector(one, to, 0, Operand::Register(from));
            self.splat(to, Operand::Register(to), ty);
        }
    }

    /// A scalar in each lane.
    fn splat(&mut self, to: u8, from: Operand, ty: Type) {
        let opcode = if is_double(ty) { 0x19 } else { 0x18 };
        let splat = Vector { map: 2, opcode, unit: element(ty), ..packed(ty, 1) };
        // Only AVX-512 has the bit for 64 bits a lane.
        let wide = splat.wide && self.vectors == Vectors::Avx512;
        self.asm.vector(Vector { wide, ..splat }, to, 0, from);
    }

    pub(super) fn float_load(&mut self, to: u8, place: Address, ty: Type) {
        self.asm.vector(arithmetic(ty, 0x10), to, 0, Operand::Memory(place));
    }

    pub(super) fn float_store(&mut self, place: Address, from: u8, ty: Type) {
        self.asm.vector(arithmetic(ty, 0x11), from, 0, Operand::Memory(place));
    }

    fn stored(&mut self, place: Address, from: Value, streamed: bool) -> Option<()> {
        let (from, ty) = (self.float(from)?, self.ty(from));
        match streamed && bytes(ty) == self.vectors.bytes() {
            true => self.stream(place, from, ty),
            false => self.float_store(place, from, ty),
        }
        Some(())
    }

    /// Stores a whole register by a non-temporal store if it begins at a multiple of its size.
    fn stream(&mut self, place: Address, from: u8, ty: Type) {
        let [at, low] = SPARE_WHOLE;
        self.asm.lea(at, place);
        self.asm.mov(low, Operand::Register(at));
        self.asm.arithmetic_const(Arithmetic::And, low, i32::from(bytes(ty)) - 1);
        let place = Address::at(at, 0);
        let askew = self.asm.skip_if(5);
        self.asm.vector(arithmetic(ty, 0x2b), from, 0, Operand::Memory(place));
        let done = self.asm.skip();
        self.asm.here(askew);
        self.float_store(place, from, ty);
        self.asm.here(done);
    }

    /// Moves all lanes there are.
    pub(super) fn float_move(&mut self, to: u8, from: u8) {
        if to != from {
            let mov = Vector { wide: true, opcode: 0x28, ..WHOLE };
            self.asm.vector(mov, to, 0, Operand::Register(from));
        }
    }

    pub(super) fn float_branch(
        &mut self,
        if_: FloatCondition,
        a: Value,
        b: Value,
        to: Label,
    ) -> Option<()> {
        self.float_compare(a, b)?;
        match (if_.holds, if_.negated) {
            (FloatOrder::Greater, negated) => self.asm.jump_if(if negated { 6 } else { 7 }, to),
            (FloatOrder::GreaterOrEqual, negated) => {
                self.asm.jump_if(if negated { 2 } else { 3 }, to);
            }
            // NaN sets the flag of equality and that of parity.
            (FloatOrder::Equal, true) => {
                self.asm.jump_if(5, to);
                self.asm.jump_if(10, to);
            }
            (FloatOrder::Equal, false) => self.asm.jump_if_equal(to),
        }
        Some(())
    }

    fn float_compare(&mut self, a: Value, b: Value) -> Option<()> {
        let ty = self.ty(a);
        let compare = packed(ty, u8::from(is_double(ty)));
        let (a, b) = (self.float(a)?, self.float(b)?);
        let compare = Vector { opcode: 0x2e, length: 0, ..compare };
        self.asm.vector(compare, a, 0, Operand::Register(b));
        Some(())
    }

    fn last(&mut self, from: Float) -> Option<Operand> {
        Some(match from {
            Float::Value(v) => Operand::Register(self.float(v)?),
            Float::Mem(mem) => Operand::Memory(self.address(mem)?),
        })
    }

    fn operation(&mut self, op: FloatOp, to: Value, a: Value, b: Float) -> Option<()> {
        let ty = self.ty(to);
        let (to, a, b) = (self.float(to)?, self.float(a)?, self.last(b)?);
        let bits = |opcode: u8| Vector { opcode, wide: is_double(ty), length: length(ty), ..WHOLE };
        let form = match op {
            FloatOp::Add => arithmetic(ty, 0x58),
            FloatOp::Mul => arithmetic(ty, 0x59),
            FloatOp::Sub => arithmetic(ty, 0x5c),
            FloatOp::Div => arithmetic(ty, 0x5e),
            FloatOp::And => bits(0xdb),
            FloatOp::Xor => bits(0xef),
            FloatOp::Min => return self.extreme(arithmetic(ty, 0x5d), to, a, b, ty),
            FloatOp::Max => return self.extreme(arithmetic(ty, 0x5f), to, a, b, ty),
        };
        self.asm.vector(form, to, a, b);
        Some(())
    }

    /// The instruction gives the second operand where one is NaN, we the first if that is NaN.
    fn extreme(&mut self, form: Vector, to: u8, a: u8, b: Operand, ty: Type) -> Option<()> {
        if self.vectors == Vectors::Avx2 {
            return self.extreme_of_avx2(form, (to, a, b), ty);
        }
        self.asm.vector(form, SPARE, a, b);
        let all = packed(ty, u8::from(is_double(ty)));
        let compare = Vector { opcode: 0xc2, ..all };
        self.asm.vector_const(compare, (MASK, a), Operand::Register(a), UNORDERED);
        let mov = Vector { opcode: 0x28, ..all };
        self.asm.masked(mov, SPARE, 0, Operand::Register(a), MASK);
        self.float_move(to, SPARE);
        Some(())
    }

    /// The same without masks: by a blend.
    fn extreme_of_avx2(
        &mut self,
        form: Vector,
        operands: (u8, u8, Operand),
        ty: Type,
    ) -> Option<()> {
        let (to, a, b) = operands;
        let [extreme, mask] = SPARE_OF_AVX2;
        let a_again = Operand::Register(a);
        self.asm.vector(form, extreme, a, b);
        let all = packed(ty, u8::from(is_double(ty)));
        self.asm.vector_const(Vector { opcode: 0xc2, ..all }, (mask, a), a_again, UNORDERED);
        let opcode = if is_double(ty) { 0x4b } else { 0x4a };
        let blend = Vector { map: 3, prefix: 1, wide: false, opcode, ..all };
        self.asm.vector_const(blend, (to, extreme), a_again, mask << 4);
        Some(())
    }

    /// Instructions that extract name the register that they write last.
    fn half(&mut self, to: Value, from: Value) -> Option<()> {
        let ty = self.ty(from);
        let (to, from) = (self.float(to)?, self.float(from)?);
        let (wide, opcode, registers, choice) = match bytes(ty) {
            64 => (true, 0x1b, (from, to), 1),
            32 => (false, 0x19, (from, to), 1),
            16 => (true, 0x05, (to, from), 0b11),
            _ => (false, 0x04, (to, from), 0b01),
        };
        // Only AVX-512 has the bit for 64 bits a lane.
        let wide = wide && self.vectors == Vectors::Avx512;
        let form = Vector { map: 3, wide, opcode, length: length(ty), ..WHOLE };
        self.asm.vector_const(form, (registers.0, 0), Operand::Register(registers.1), choice);
        Some(())
    }

    fn pair(&mut self, to: Value, low: Mem, high: Mem) -> Option<()> {
        let to = self.float(to)?;
        let low = self.address(low)?;
        self.float_load(to, low, Type::scalar(Register::F64));
        let high = Operand::Memory(self.address(high)?);
        let form = Vector { wide: true, opcode: 0x16, length: 0, unit: 8, ..WHOLE };
        self.asm.vector(form, to, to, high);
        Some(())
    }

    fn join(&mut self, to: Value, low: Value, high: Value) -> Option<()> {
        let ty = self.ty(to);
        let opcode = if bytes(ty) == 64 { 0x1a } else { 0x18 };
        // Only AVX-512 has the bit for 64 bits a lane.
        let wide = self.vectors == Vectors::Avx512;
        let form = Vector { map: 3, wide, opcode, length: length(ty), ..WHOLE };
        let [to, low, high] = [to, low, high].map(|v| self.float(v));
        self.asm.vector_const(form, (to?, low?), Operand::Register(high?), 1);
        Some(())
    }

    /// One of two scalars, as the last comparison of integers came out: by a mask, which a branch that is not
    /// predicted costs more than.
    fn choice(&mut self, if_: Condition, to: Value, [yes, no]: [Value; 2]) -> Option<()> {
        let ty = self.ty(to);
        let [to, yes, no] = [to, yes, no].map(|v| self.float(v));
        let (to, yes, no) = (to?, Operand::Register(yes?), no?);
        let truth = SPARE_WHOLE[0];
        self.asm.truth(number(if_), truth);
        let all = packed(ty, 1);
        if self.vectors == Vectors::Avx512 {
            self.asm.mask(MASK, truth);
            let blend = Vector { map: 2, opcode: 0x65, length: 0, ..all };
            self.asm.masked(blend, to, no, yes, MASK);
            return Some(());
        }
        let mask = SPARE_OF_AVX2[0];
        self.asm.extended(truth, Operand::Register(truth), 1, false);
        self.asm.negate(truth);
        self.bits(mask, truth, Type::scalar(Register::F64));
        let opcode = if is_double(ty) { 0x4b } else { 0x4a };
        let blend = Vector { map: 3, wide: false, opcode, length: 0, ..all };
        self.asm.vector_const(blend, (to, no), yes, mask << 4);
        Some(())
    }

    fn precision(&mut self, to: Value, from: Float) -> Option<()> {
        let ty = self.ty(to);
        let other = if is_double(ty) { Register::F32 } else { Register::F64 };
        let source = Type { register: other, ..ty };
        let wider = if is_double(ty) { ty } else { source };
        let convert = Vector {
            length: if ty.lanes == 1 { 0 } else { length(wider) },
            ..arithmetic(source, 0x5a)
        };
        let (to, from) = (self.float(to)?, self.last(from)?);
        let second = if ty.lanes == 1 { to } else { 0 };
        self.asm.vector(convert, to, second, from);
        Some(())
    }
}

/// Instructions on whole registers.
const WHOLE: Vector = Vector { map: 1, prefix: 1, wide: false, opcode: 0, length: 2, unit: 64 };

fn is_double(ty: Type) -> bool {
    ty.register == Register::F64
}

/// Bytes of a lane.
fn element(ty: Type) -> i32 {
    if is_double(ty) { 8 } else { 4 }
}

fn length(ty: Type) -> u8 {
    match bytes(ty) {
        64 => 2,
        32 => 1,
        _ => 0,
    }
}

fn packed(ty: Type, prefix: u8) -> Vector {
    let unit = i32::from(bytes(ty));
    Vector { map: 1, prefix, wide: is_double(ty), opcode: 0, length: length(ty), unit }
}

/// Arithmetic on a scalar or on all lanes.
fn arithmetic(ty: Type, opcode: u8) -> Vector {
    let prefix = match (ty.lanes, is_double(ty)) {
        (1, true) => 3,
        (1, false) => 2,
        (_, true) => 1,
        (_, false) => 0,
    };
    Vector { opcode, ..packed(ty, prefix) }
}
