//! Instructions as machine code, once every value has a home.
//!
//! A function of the address of a frame: slots of its inputs, its outputs and the values that found
//! no register.

use super::Vectors;
use super::encode::{Address, Arithmetic, Assembler, Operand, number};
use super::inst::{Condition, Grown, Inst, Label, Mem, Value, Whole, WholeOp};
use super::lower::EXIT;
use super::registers::{Home, Homes, WHOLE};
use crate::support;
use tamis_ir::datatype::{DataType, Register};
use tamis_ir::ids::Id;
use tamis_ir::ir::{Status, Type};

/// Registers for operands that are in memory.
pub(super) const SPARE: [u8; 2] = [0, 2];
/// The address of the frame.
const FRAME: u8 = 7;
/// Registers that a function hands back as they were.
const KEPT: [u8; 6] = [3, 5, 12, 13, 14, 15];

/// How instructions number that the last sum was beyond the largest integer.
const OVERFLOW: u8 = 0;

/// The second argument of a call; the first is where the frame is, the third a spare one.
const ARGUMENT: u8 = 6;
/// Bytes for the registers that calls change: six of integers in the first 64.
const SAVED: u32 = 32 * 64;

/// A function's code and its frame.
pub(super) struct Emitted {
    pub(super) code: Vec<u8>,
    pub(super) frame: Frame,
}

/// Where values are in memory.
pub(super) struct Frame {
    /// By value.
    slots: Vec<Option<i32>>,
    /// Where registers are while support functions run.
    saved: i32,
    pub(super) bytes: u32,
}

impl Frame {
    fn of(types: &[Type], homes: &Homes, outputs: &[Value]) -> Frame {
        let mut frame = Frame { slots: vec![None; types.len()], saved: 0, bytes: 0 };
        let kept = homes.of.iter().enumerate().filter(|(_, h)| **h == Some(Home::Memory));
        let kept = kept.map(|(k, _)| Value(k as u32));
        for v in homes.inputs.iter().chain(outputs).copied().chain(kept) {
            let size = super::float::bytes(types[v.index()]).next_multiple_of(8);
            let slot = &mut frame.slots[v.index()];
            if slot.is_none() {
                *slot = Some(frame.bytes as i32);
                frame.bytes += u32::from(size);
            }
        }
        frame
    }

    pub(super) fn slot(&self, v: Value) -> Option<i32> {
        self.slots[v.index()]
    }
}

pub(super) struct Emitter<'c> {
    pub(super) vectors: Vectors,
    pub(super) asm: Assembler,
    pub(super) types: &'c [Type],
    homes: &'c Homes,
    frame: Frame,
    outputs: &'c [Value],
    /// The byte offset of each array's slots.
    slots: &'c [i32],
}

/// The code of a function. `None` if a value has no home or a label no address.
pub(super) fn emit(
    vectors: Vectors,
    (code, types, homes): (&[Inst], &[Type], &Homes),
    outputs: &[Value],
    slots: &[i32],
) -> Option<Emitted> {
    let mut frame = Frame::of(types, homes, outputs);
    if code.iter().any(|inst| matches!(inst, Inst::Reserve { .. })) {
        frame.saved = frame.bytes as i32;
        frame.bytes += SAVED;
    }
    let asm = Assembler::of(vectors);
    let mut e = Emitter { vectors, asm, types, homes, frame, outputs, slots };
    let kept: Vec<u8> = e.kept().collect();
    kept.iter().for_each(|r| e.asm.push(*r));
    for &input in &homes.inputs {
        let slot = Address::at(FRAME, e.frame.slot(input)?);
        match e.home(input)? {
            Home::Register(to) if e.is_float(input) => e.float_load(to, slot, e.ty(input)),
            Home::Register(to) => e.asm.mov(to, Operand::Memory(slot)),
            Home::Memory => {}
        }
    }
    for inst in code {
        e.inst(inst)?;
    }
    e.results()?;
    e.asm.constant(SPARE[0], Status::Ok as i64);
    e.asm.label(EXIT);
    if code.iter().any(|inst| matches!(inst, Inst::FloatStore { streamed: true, .. })) {
        e.asm.store_fence();
    }
    e.asm.vzeroupper();
    kept.iter().rev().for_each(|r| e.asm.pop(*r));
    e.asm.ret();
    Some(Emitted { code: e.asm.finish()?, frame: e.frame })
}

impl Emitter<'_> {
    fn home(&self, v: Value) -> Option<Home> {
        self.homes.of[v.index()]
    }

    pub(super) fn ty(&self, v: Value) -> Type {
        self.types[v.index()]
    }

    fn is_float(&self, v: Value) -> bool {
        self.ty(v).register.is_float()
    }

    fn results(&mut self) -> Option<()> {
        for &output in self.outputs {
            let slot = Address::at(FRAME, self.frame.slot(output)?);
            match self.home(output)? {
                Home::Register(from) if self.is_float(output) => {
                    self.float_store(slot, from, self.ty(output));
                }
                Home::Register(from) => self.asm.store(slot, from),
                Home::Memory => {}
            }
        }
        Some(())
    }

    fn slot(&self, v: Value) -> Option<Address> {
        Some(Address::at(FRAME, self.frame.slot(v)?))
    }

    /// The register of a float or vector.
    pub(super) fn float(&self, v: Value) -> Option<u8> {
        match self.home(v)? {
            Home::Register(r) => Some(r),
            Home::Memory => None,
        }
    }

    /// An integer in a register: its own, or the spare one.
    pub(super) fn whole(&mut self, v: Value, spare: u8) -> Option<u8> {
        match self.home(v)? {
            Home::Register(r) => Some(r),
            Home::Memory => {
                let slot = self.slot(v)?;
                self.asm.mov(spare, Operand::Memory(slot));
                Some(spare)
            }
        }
    }

    /// An integer where it is.
    fn operand(&self, v: Value) -> Option<Operand> {
        Some(match self.home(v)? {
            Home::Register(r) => Operand::Register(r),
            Home::Memory => Operand::Memory(self.slot(v)?),
        })
    }

    /// The register that an integer is computed in.
    fn target(&self, v: Value) -> Option<u8> {
        Some(match self.home(v)? {
            Home::Register(r) => r,
            Home::Memory => SPARE[0],
        })
    }

    /// Puts an integer that was computed where it belongs.
    fn keep(&mut self, v: Value) -> Option<()> {
        if self.home(v)? == Home::Memory {
            let slot = self.slot(v)?;
            self.asm.store(slot, SPARE[0]);
        }
        Some(())
    }

    /// An address by registers, which may be both spare ones.
    pub(super) fn address(&mut self, mem: Mem) -> Option<Address> {
        let base = self.whole(mem.base, SPARE[0])?;
        let index = match mem.index {
            Some((index, exponent)) => Some((self.whole(index, SPARE[1])?, exponent)),
            None => None,
        };
        Some(Address { base, index, offset: mem.offset })
    }

    fn inst(&mut self, inst: &Inst) -> Option<()> {
        match *inst {
            Inst::Nothing => {}
            Inst::Label(label) => self.asm.label(label),
            Inst::Jump(to) => self.asm.jump(to),
            Inst::Branch { if_, a, b, to } => self.branch(if_, a, b, to)?,
            Inst::FloatBranch { if_, a, b, to } => self.float_branch(if_, a, b, to)?,
            Inst::Next { i, by, end, to } => self.next((i, by), end, to)?,
            Inst::Reserve { array, len } => self.reserve(array, len)?,
            Inst::Fail(status) => {
                self.asm.constant(SPARE[0], status as i64);
                self.asm.jump(EXIT);
            }
            Inst::Const { to, value } => {
                let register = self.target(to)?;
                self.asm.constant(register, value);
                self.keep(to)?;
            }
            Inst::Move { to, from } if self.is_float(to) => {
                let (to, from) = (self.float(to)?, self.float(from)?);
                self.float_move(to, from);
            }
            Inst::Move { to, from } => self.move_whole(to, from)?,
            Inst::Whole { op, to, a, b } => {
                self.whole_op(op, to, a, b)?;
                self.keep(to)?;
            }
            Inst::Address { to, mem } => {
                let place = self.address(mem)?;
                let register = self.target(to)?;
                self.asm.lea(register, place);
                self.keep(to)?;
            }
            Inst::Load { to, mem, elem } => {
                let place = Operand::Memory(self.address(mem)?);
                let register = self.target(to)?;
                self.asm.extended(register, place, elem.size(), is_signed(elem));
                self.keep(to)?;
            }
            Inst::Store { from, mem, elem } => self.store(from, mem, elem)?,
            Inst::Prefetch { mem, far } => {
                let place = self.address(mem)?;
                self.asm.prefetch(place, far);
            }
            ref float => self.float_inst(float)?,
        }
        Some(())
    }

    fn branch(&mut self, if_: Condition, a: Value, b: Whole, to: Label) -> Option<()> {
        if let Whole::Const(c) = b {
            let a = self.operand(a)?;
            self.asm.arithmetic_const_at(Arithmetic::Cmp, a, c);
        } else {
            let a = self.whole(a, SPARE[0])?;
            self.compare(a, b)?;
        }
        self.asm.jump_if(number(if_), to);
        Some(())
    }

    fn next(&mut self, (i, by): (Value, i32), end: Whole, to: Label) -> Option<()> {
        let register = self.whole(i, SPARE[0])?;
        self.asm.arithmetic_const(Arithmetic::Add, register, by);
        // The next value may be beyond the largest integer.
        let beyond = self.asm.skip_if(OVERFLOW);
        self.keep(i)?;
        self.compare(register, end)?;
        self.asm.jump_if(number(Condition::Less), to);
        self.asm.here(beyond);
        Some(())
    }

    /// Compares lengths without sign, and calls the support function if there is too little.
    fn reserve(&mut self, array: Grown, len: Value) -> Option<()> {
        let held = self.whole(array.len, SPARE[0])?;
        self.compare(held, Whole::Value(len))?;
        let enough = self.asm.skip_if(number(Condition::AboveOrEqual));
        self.save(Assembler::store, Self::float_store);
        let offset = *self.slots.get(array.array.index())?;
        let (slots, len) = (self.operand(array.slots)?, self.operand(len)?);
        self.asm.mov(SPARE[0], len);
        self.asm.mov(SPARE[1], slots);
        let pushed = 1 + self.kept().count();
        self.asm.push(FRAME);
        // The stack is a multiple of 16 bytes at calls, and a return address is on it.
        let padding = pushed.is_multiple_of(2);
        if padding {
            self.asm.push(FRAME);
        }
        self.asm.lea(FRAME, Address::at(SPARE[1], offset));
        self.asm.mov(ARGUMENT, Operand::Register(SPARE[0]));
        self.asm.constant(SPARE[1], array.size as i64);
        self.asm.large(SPARE[0], support::reserve_of_unit as *const () as usize as u64);
        self.asm.call(SPARE[0]);
        if padding {
            self.asm.pop(FRAME);
        }
        self.asm.pop(FRAME);
        self.asm.arithmetic_const(Arithmetic::Cmp, SPARE[0], Status::Ok as i32);
        self.asm.jump_if(number(Condition::NotEqual), EXIT);
        self.save(
            |asm, place, register| asm.mov(register, Operand::Memory(place)),
            |e, place, register, ty| e.float_load(register, place, ty),
        );
        let slots = self.whole(array.slots, SPARE[1])?;
        for (value, more) in [(array.base, 0), (array.len, 8)] {
            let register = self.target(value)?;
            self.asm.mov(register, Operand::Memory(Address::at(slots, offset + more)));
            self.keep(value)?;
        }
        self.asm.here(enough);
        Some(())
    }

    /// Does something for each register that calls change, and for its slot in the frame.
    fn save(
        &mut self,
        whole: impl Fn(&mut Assembler, Address, u8),
        float: impl Fn(&mut Self, Address, u8, Type),
    ) {
        let at = |k: i32| Address::at(FRAME, k);
        for (k, register) in WHOLE.into_iter().filter(|r| !KEPT.contains(r)).enumerate() {
            whole(&mut self.asm, at(self.frame.saved + 8 * k as i32), register);
        }
        let all = Type { register: Register::F64, lanes: self.vectors.bytes() / 8 };
        let homes = self.homes.of.iter().zip(self.types).filter(|(_, ty)| ty.register.is_float());
        let used = homes.filter_map(|(home, _)| *home);
        let most = used.filter_map(|home| match home {
            Home::Register(r) => Some(r + 1),
            Home::Memory => None,
        });
        for register in 0..most.max().unwrap_or(0) {
            let place = at(self.frame.saved + 64 * (1 + i32::from(register)));
            float(self, place, register, all);
        }
    }

    /// The registers that are used and handed back as they were.
    fn kept(&self) -> impl DoubleEndedIterator<Item = u8> + use<'_> {
        KEPT.into_iter().filter(|r| self.homes.of.contains(&Some(Home::Register(*r))))
    }

    pub(super) fn compare(&mut self, a: u8, b: Whole) -> Option<()> {
        match b {
            Whole::Const(c) => self.asm.arithmetic_const(Arithmetic::Cmp, a, c),
            Whole::Value(b) => {
                let b = self.operand(b)?;
                self.asm.arithmetic(Arithmetic::Cmp, a, b);
            }
        }
        Some(())
    }

    fn move_whole(&mut self, to: Value, from: Value) -> Option<()> {
        let from = self.operand(from)?;
        match (self.home(to)?, from) {
            (Home::Register(to), from) => self.move_to(to, from),
            (Home::Memory, Operand::Register(from)) => {
                let slot = self.slot(to)?;
                self.asm.store(slot, from);
            }
            (Home::Memory, from) => {
                self.asm.mov(SPARE[0], from);
                self.keep(to)?;
            }
        }
        Some(())
    }

    fn move_to(&mut self, to: u8, from: Operand) {
        if !matches!(from, Operand::Register(from) if from == to) {
            self.asm.mov(to, from);
        }
    }

    fn store(&mut self, from: Value, mem: Mem, elem: DataType) -> Option<()> {
        let mut place = self.address(mem)?;
        if self.home(from)? == Home::Memory {
            self.asm.lea(SPARE[0], place);
            place = Address::at(SPARE[0], 0);
        }
        let from = self.whole(from, SPARE[1])?;
        match elem.size() {
            8 => self.asm.store(place, from),
            bytes => self.asm.store_narrow(place, from, bytes),
        }
        Some(())
    }

    fn whole_op(&mut self, op: WholeOp, to: Value, a: Value, b: Whole) -> Option<()> {
        let register = self.target(to)?;
        let a = self.operand(a)?;
        let b = match b {
            Whole::Const(c) => return self.by_constant(op, register, a, c),
            Whole::Value(b) => self.operand(b)?,
        };
        let is_to = |o: Operand| matches!(o, Operand::Register(r) if r == register);
        if let WholeOp::Choose(condition) = op {
            self.choose(condition, register, a, b);
            return Some(());
        }
        match (op, a, b) {
            (WholeOp::Div, ..) => {
                self.asm.mov(SPARE[0], a);
                self.asm.divide(b);
                self.move_to(register, Operand::Register(SPARE[0]));
                return Some(());
            }
            (WholeOp::Add, Operand::Register(x), Operand::Register(y))
                if x != register && y != register =>
            {
                let sum = Address { base: x, index: Some((y, 0)), offset: 0 };
                self.asm.lea(register, sum);
                return Some(());
            }
            (WholeOp::Sub, ..) if is_to(b) => {
                self.asm.mov(SPARE[0], a);
                self.asm.arithmetic(Arithmetic::Sub, SPARE[0], b);
                self.asm.mov(register, Operand::Register(SPARE[0]));
                return Some(());
            }
            _ => {}
        }
        let (a, b) = if is_to(b) { (b, a) } else { (a, b) };
        self.move_to(register, a);
        match op {
            WholeOp::Add => self.asm.arithmetic(Arithmetic::Add, register, b),
            WholeOp::Sub => self.asm.arithmetic(Arithmetic::Sub, register, b),
            WholeOp::And => self.asm.arithmetic(Arithmetic::And, register, b),
            WholeOp::Mul => self.asm.imul(register, b),
            _ => return None,
        }
        Some(())
    }

    fn by_constant(&mut self, op: WholeOp, to: u8, a: Operand, c: i32) -> Option<()> {
        match (op, a) {
            (WholeOp::Mul, a) => {
                self.asm.imul_const(to, a, c);
                return Some(());
            }
            (WholeOp::Add, Operand::Register(a)) if a != to => {
                self.asm.lea(to, Address::at(a, c));
                return Some(());
            }
            (WholeOp::Choose(condition), a) => {
                self.asm.constant(SPARE[1], i64::from(c));
                self.choose(condition, to, a, Operand::Register(SPARE[1]));
                return Some(());
            }
            _ => {}
        }
        self.move_to(to, a);
        match op {
            WholeOp::Add => self.asm.arithmetic_const(Arithmetic::Add, to, c),
            WholeOp::Sub => self.asm.arithmetic_const(Arithmetic::Sub, to, c),
            WholeOp::And => self.asm.arithmetic_const(Arithmetic::And, to, c),
            WholeOp::Left => self.asm.shift(to, true, c as u8),
            WholeOp::Right => self.asm.shift(to, false, c as u8),
            _ => return None,
        }
        Some(())
    }

    /// `to = a` if the comparison with `b` comes out so, else `b`.
    fn choose(&mut self, condition: Condition, to: u8, a: Operand, b: Operand) {
        let first = match a {
            Operand::Register(a) => a,
            a => {
                self.asm.mov(SPARE[0], a);
                SPARE[0]
            }
        };
        self.asm.arithmetic(Arithmetic::Cmp, first, b);
        if first == to {
            self.asm.mov_if(number(condition.negated()), to, b);
        } else {
            self.move_to(to, b);
            self.asm.mov_if(number(condition), to, Operand::Register(first));
        }
    }
}

fn is_signed(elem: DataType) -> bool {
    matches!(elem, DataType::I8 | DataType::I16 | DataType::I32 | DataType::I64)
}
