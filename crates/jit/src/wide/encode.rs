//! The bytes of the few x86-64 instructions that wide loops need: integers in 64 bits by the old
//! encoding, floats and vectors by that of AVX2 (VEX) or AVX-512 (EVEX), which has 32 registers.
//!
//! ```text
//! 62 f2 f5 40 b8 54 c8 02      vfmadd231pd zmm2, zmm17, [rax + rcx * 8 + 2 * 64]
//! c4 e2 ed b8 44 c8 20         vfmadd231pd ymm0, ymm2, [rax + rcx * 8 + 32]
//! ```

use super::Vectors;
use super::inst::{Condition, Label};

/// An address in memory by machine registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    pub(super) base: u8,
    /// A register, and the exponent of what it is multiplied by.
    pub(super) index: Option<(u8, u8)>,
    pub(super) offset: i32,
}

impl Address {
    pub(super) fn at(base: u8, offset: i32) -> Address {
        Address { base, index: None, offset }
    }
}

/// The operand that may be in memory.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand {
    Register(u8),
    Memory(Address),
}

/// What an instruction's prefix says of it.
#[derive(Clone, Copy)]
pub(super) struct Vector {
    /// 1 for `0F`, 2 for `0F 38`, 3 for `0F 3A`.
    pub(super) map: u8,
    /// 0 for none, 1 for `66`, 2 for `F3`, 3 for `F2`.
    pub(super) prefix: u8,
    /// The bit W: for most instructions, whether lanes have 64 bits.
    pub(super) wide: bool,
    pub(super) opcode: u8,
    /// 0 for 16 bytes and scalars, 1 for 32, 2 for 64.
    pub(super) length: u8,
    /// Bytes of the operand in memory, by which small offsets are counted.
    pub(super) unit: i32,
}

/// Machine code that grows.
pub(super) struct Assembler {
    vectors: Vectors,
    pub(super) code: Vec<u8>,
    /// Where labels stand.
    labels: Vec<Option<usize>>,
    /// Where the distance to a label has to be written.
    open: Vec<(usize, Label)>,
}

/// Operations of two integer operands: the opcode for register and register or memory, and what
/// stands for it beside a constant.
#[derive(Clone, Copy)]
pub(super) enum Arithmetic {
    Add = 0,
    And = 4,
    Sub = 5,
    Cmp = 7,
}

impl Assembler {
    pub(super) fn of(vectors: Vectors) -> Assembler {
        Assembler { vectors, code: vec![], labels: vec![], open: vec![] }
    }

    pub(super) fn label(&mut self, label: Label) {
        let at = label.0 as usize;
        if self.labels.len() <= at {
            self.labels.resize(at + 1, None);
        }
        self.labels[at] = Some(self.code.len());
    }

    /// Writes the distances of jumps. `None` if a label stands nowhere.
    pub(super) fn finish(mut self) -> Option<Vec<u8>> {
        for (at, label) in self.open {
            let target = *self.labels.get(label.0 as usize)?.as_ref()?;
            let distance = i32::try_from(target as i64 - (at as i64 + 4)).ok()?;
            self.code[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        Some(self.code)
    }

    pub(super) fn jump(&mut self, to: Label) {
        self.code.push(0xe9);
        self.distance(to);
    }

    pub(super) fn jump_if(&mut self, condition: u8, to: Label) {
        self.code.extend([0x0f, 0x80 | condition]);
        self.distance(to);
    }

    /// Jumps if floats were equal, which the flag of parity denies.
    pub(super) fn jump_if_equal(&mut self, to: Label) {
        self.code.extend([0x7a, 6]);
        self.jump_if(4, to);
    }

    /// A jump over what follows, up to the position that [`Assembler::here`] gives it.
    pub(super) fn skip_if(&mut self, condition: u8) -> usize {
        self.code.extend([0x0f, 0x80 | condition, 0, 0, 0, 0]);
        self.code.len()
    }

    /// The same whatever was found.
    pub(super) fn skip(&mut self) -> usize {
        self.code.extend([0xe9, 0, 0, 0, 0]);
        self.code.len()
    }

    /// Makes non-temporal stores visible before what follows.
    pub(super) fn store_fence(&mut self) {
        self.code.extend([0x0f, 0xae, 0xf8]);
    }

    pub(super) fn here(&mut self, from: usize) {
        let distance = (self.code.len() - from) as i32;
        self.code[from - 4..from].copy_from_slice(&distance.to_le_bytes());
    }

    /// Calls the function at the address in a register.
    pub(super) fn call(&mut self, register: u8) {
        if register >= 8 {
            self.code.push(0x41);
        }
        self.code.extend([0xff, 0xd0 | register & 7]);
    }

    fn distance(&mut self, to: Label) {
        self.open.push((self.code.len(), to));
        self.code.extend([0; 4]);
    }

    pub(super) fn push(&mut self, register: u8) {
        self.short(0x50, register);
    }

    pub(super) fn pop(&mut self, register: u8) {
        self.short(0x58, register);
    }

    fn short(&mut self, opcode: u8, register: u8) {
        if register >= 8 {
            self.code.push(0x41);
        }
        self.code.push(opcode | register & 7);
    }

    /// Ends a function that used vectors.
    pub(super) fn vzeroupper(&mut self) {
        self.code.extend([0xc5, 0xf8, 0x77]);
    }

    pub(super) fn ret(&mut self) {
        self.code.push(0xc3);
    }

    /// `to = value`.
    pub(super) fn constant(&mut self, to: u8, value: i64) {
        if let Ok(small) = i32::try_from(value) {
            self.whole(&[0xc7], 0, Operand::Register(to));
            self.code.extend(small.to_le_bytes());
        } else {
            self.large(to, value.cast_unsigned());
        }
    }

    /// `to = value`, which takes ten bytes.
    pub(super) fn large(&mut self, to: u8, value: u64) {
        self.code.extend([0x48 | to >> 3, 0xb8 | to & 7]);
        self.code.extend(value.to_le_bytes());
    }

    /// `to = from`, 64 bits.
    pub(super) fn mov(&mut self, to: u8, from: Operand) {
        self.whole(&[0x8b], to, from);
    }

    /// `[to] = from`, 64 bits.
    pub(super) fn store(&mut self, to: Address, from: u8) {
        self.whole(&[0x89], from, Operand::Memory(to));
    }

    /// A store of the low bytes of a register.
    pub(super) fn store_narrow(&mut self, to: Address, from: u8, bytes: usize) {
        let opcode: &[u8] = if bytes == 1 { &[0x88] } else { &[0x89] };
        if bytes == 2 {
            self.code.push(0x66);
        }
        self.old(opcode, from, Operand::Memory(to), false);
    }

    /// An integer of fewer bytes, extended by its sign or by zeros.
    pub(super) fn extended(&mut self, to: u8, from: Operand, bytes: usize, signed: bool) {
        match (bytes, signed) {
            (1, false) => self.whole(&[0x0f, 0xb6], to, from),
            (1, true) => self.whole(&[0x0f, 0xbe], to, from),
            (2, false) => self.whole(&[0x0f, 0xb7], to, from),
            (2, true) => self.whole(&[0x0f, 0xbf], to, from),
            (4, true) => self.whole(&[0x63], to, from),
            (4, false) => self.old(&[0x8b], to, from, false),
            _ => self.mov(to, from),
        }
    }

    /// `to = to op from`, or a comparison.
    pub(super) fn arithmetic(&mut self, op: Arithmetic, to: u8, from: Operand) {
        self.whole(&[(op as u8) << 3 | 3], to, from);
    }

    /// `to = to op value`, or a comparison.
    pub(super) fn arithmetic_const(&mut self, op: Arithmetic, to: u8, value: i32) {
        self.arithmetic_const_at(op, Operand::Register(to), value);
    }

    /// The same for an operand that may be in memory.
    pub(super) fn arithmetic_const_at(&mut self, op: Arithmetic, to: Operand, value: i32) {
        if let Ok(small) = i8::try_from(value) {
            self.whole(&[0x83], op as u8, to);
            self.code.push(small as u8);
        } else {
            self.whole(&[0x81], op as u8, to);
            self.code.extend(value.to_le_bytes());
        }
    }

    /// `to = to * from`.
    pub(super) fn imul(&mut self, to: u8, from: Operand) {
        self.whole(&[0x0f, 0xaf], to, from);
    }

    /// `to = from * value`.
    pub(super) fn imul_const(&mut self, to: u8, from: Operand, value: i32) {
        self.whole(&[0x69], to, from);
        self.code.extend(value.to_le_bytes());
    }

    /// Divides `rax` with its sign in `rdx`.
    pub(super) fn divide(&mut self, by: Operand) {
        self.code.extend([0x48, 0x99]);
        self.whole(&[0xf7], 7, by);
    }

    /// A shift to the left, or to the right with the sign.
    pub(super) fn shift(&mut self, to: u8, left: bool, by: u8) {
        self.whole(&[0xc1], if left { 4 } else { 7 }, Operand::Register(to));
        self.code.push(by);
    }

    /// `to = from` if the last comparison came out so.
    pub(super) fn mov_if(&mut self, condition: u8, to: u8, from: Operand) {
        self.whole(&[0x0f, 0x40 | condition], to, from);
    }

    /// `to = -to`.
    pub(super) fn negate(&mut self, to: u8) {
        self.whole(&[0xf7], 3, Operand::Register(to));
    }

    /// The low byte of a register, one of the first four, is 1 if the last comparison came out so, else 0.
    pub(super) fn truth(&mut self, condition: u8, to: u8) {
        self.code.extend([0x0f, 0x90 | condition, 0xc0 | to & 3]);
    }

    /// The low bits of a register, one of the first eight, as a mask.
    pub(super) fn mask(&mut self, to: u8, from: u8) {
        self.code.extend([0xc5, 0xf8, 0x92, 0xc0 | (to & 7) << 3 | from & 7]);
    }

    /// `to = ` an effective address.
    pub(super) fn lea(&mut self, to: u8, place: Address) {
        self.whole(&[0x8d], to, Operand::Memory(place));
    }

    pub(super) fn prefetch(&mut self, place: Address, far: bool) {
        self.old(&[0x0f, 0x18], 1 + u8::from(far), Operand::Memory(place), false);
    }

    /// An instruction on 64 bits.
    fn whole(&mut self, opcode: &[u8], register: u8, operand: Operand) {
        self.old(opcode, register, operand, true);
    }

    fn old(&mut self, opcode: &[u8], register: u8, operand: Operand, wide: bool) {
        let (x, b) = match operand {
            Operand::Register(r) => (0, r >> 3),
            Operand::Memory(m) => (m.index.map_or(0, |(index, _)| index >> 3), m.base >> 3),
        };
        // The low byte of registers 4 to 7 is had by a prefix alone.
        let prefix = 0x40 | u8::from(wide) << 3 | (register >> 3) << 2 | x << 1 | b;
        if prefix != 0x40 || opcode == [0x88] {
            self.code.push(prefix);
        }
        self.code.extend(opcode);
        self.operand(register, operand, 1);
    }

    /// An instruction on `register`, `second` and the operand.
    pub(super) fn vector(&mut self, v: Vector, register: u8, second: u8, operand: Operand) {
        match self.vectors {
            Vectors::Avx2 => self.vex(v, register, second, operand),
            Vectors::Avx512 => self.masked(v, register, second, operand, 0),
        }
    }

    /// An instruction of AVX2; its offsets are in bytes.
    fn vex(&mut self, v: Vector, register: u8, second: u8, operand: Operand) {
        let (x, b) = match operand {
            Operand::Register(r) => (0, r >> 3),
            Operand::Memory(m) => (m.index.map_or(0, |(index, _)| index >> 3), m.base >> 3),
        };
        let not = |bit: u8| !bit & 1;
        self.code.extend([
            0xc4,
            not(register >> 3) << 7 | not(x) << 6 | not(b) << 5 | v.map,
            u8::from(v.wide) << 7 | (!second & 15) << 3 | v.length.min(1) << 2 | v.prefix,
            v.opcode,
        ]);
        self.operand(register, operand, 1);
    }

    /// An instruction of AVX-512 for the lanes of a mask, by its register; 0 stands for all lanes.
    pub(super) fn masked(&mut self, v: Vector, register: u8, second: u8, operand: Operand, k: u8) {
        let (x, b) = match operand {
            Operand::Register(r) => (r >> 4, r >> 3),
            Operand::Memory(m) => (m.index.map_or(0, |(index, _)| index >> 3), m.base >> 3),
        };
        let not = |bit: u8| !bit & 1;
        let registers =
            not(register >> 3) << 7 | not(x) << 6 | not(b) << 5 | not(register >> 4) << 4;
        self.code.extend([
            0x62,
            registers | v.map,
            u8::from(v.wide) << 7 | (!second & 15) << 3 | 4 | v.prefix,
            v.length << 5 | not(second >> 4) << 3 | k,
            v.opcode,
        ]);
        self.operand(register, operand, v.unit);
    }

    /// An instruction with a constant byte.
    pub(super) fn vector_const(
        &mut self,
        v: Vector,
        (register, second): (u8, u8),
        operand: Operand,
        value: u8,
    ) {
        self.vector(v, register, second, operand);
        self.code.push(value);
    }

    /// The bytes that name a register and an operand. Offsets that are a small multiple of the unit
    /// take one byte.
    fn operand(&mut self, register: u8, operand: Operand, unit: i32) {
        let register = (register & 7) << 3;
        let m = match operand {
            Operand::Register(r) => {
                self.code.push(0xc0 | register | r & 7);
                return;
            }
            Operand::Memory(m) => m,
        };
        let units = i8::try_from(m.offset / unit).ok().filter(|_| m.offset % unit == 0);
        // Without an offset, bases 5 and 13 would mean none.
        let mode = match units {
            Some(0) if m.base & 7 != 5 => 0,
            Some(_) => 1,
            None => 2,
        };
        // Bases 4 and 12 stand for the longer form.
        let long = m.index.is_some() || m.base & 7 == 4;
        self.code.push(mode << 6 | register | if long { 4 } else { m.base & 7 });
        if long {
            let (index, exponent) = m.index.unwrap_or((4, 0));
            self.code.push(exponent << 6 | (index & 7) << 3 | m.base & 7);
        }
        match (mode, units) {
            (0, _) => {}
            (1, Some(units)) => self.code.push(units as u8),
            _ => self.code.extend(m.offset.to_le_bytes()),
        }
    }
}

/// How instructions number a comparison of integers.
pub(super) fn number(condition: Condition) -> u8 {
    match condition {
        Condition::Below => 2,
        Condition::AboveOrEqual => 3,
        Condition::Equal => 4,
        Condition::NotEqual => 5,
        Condition::BelowOrEqual => 6,
        Condition::Above => 7,
        Condition::Less => 12,
        Condition::GreaterOrEqual => 13,
        Condition::LessOrEqual => 14,
        Condition::Greater => 15,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(f: impl Fn(&mut Assembler), expect: &str) {
        check_with(Vectors::Avx512, f, expect);
    }

    fn check_with(vectors: Vectors, f: impl Fn(&mut Assembler), expect: &str) {
        let mut assembler = Assembler::of(vectors);
        f(&mut assembler);
        let code = assembler.finish().unwrap_or_default();
        let text: Vec<String> = code.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(text.join(" "), expect);
    }

    fn at(base: u8, index: Option<(u8, u8)>, offset: i32) -> Address {
        Address { base, index, offset }
    }

    /// The bytes of other assemblers.
    #[test]
    fn integers() {
        let memory = |base, index, offset| Operand::Memory(at(base, index, offset));
        // cmp rax, [rdi + 0x140]
        check(|a| a.arithmetic(Arithmetic::Cmp, 0, memory(7, None, 0x140)), "48 3b 87 40 01 00 00");
        // movsxd rcx, dword [r10 + r8 * 4 + 4]
        check(|a| a.extended(1, memory(10, Some((8, 2)), 4), 4, true), "4b 63 4c 82 04");
        // lea r13, [rbp + r15 * 8]
        check(|a| a.lea(13, at(5, Some((15, 3)), 0)), "4e 8d 6c fd 00");
        // prefetcht0 [r13 + r12 * 8]
        check(|a| a.prefetch(at(13, Some((12, 3)), 0), false), "43 0f 18 4c e5 00");
        // prefetcht1 [r13 + r12 * 8]
        check(|a| a.prefetch(at(13, Some((12, 3)), 0), true), "43 0f 18 54 e5 00");
        // mov [r12], rsi; mov byte [r8], sil; mov word [rax], r9w
        check(|a| a.store(at(12, None, 0), 6), "49 89 34 24");
        check(|a| a.store_narrow(at(8, None, 0), 6, 1), "41 88 30");
        check(|a| a.store_narrow(at(0, None, 0), 9, 2), "66 44 89 08");
        // mov rax, 3; movabs r9, 1 << 40; and rcx, -256; imul r8, rcx, 24; sar rsi, 63; cmovl r9, rbx
        check(|a| a.constant(0, 3), "48 c7 c0 03 00 00 00");
        check(|a| a.constant(9, 1 << 40), "49 b9 00 00 00 00 00 01 00 00");
        check(|a| a.arithmetic_const(Arithmetic::And, 1, -256), "48 81 e1 00 ff ff ff");
        // cmp qword [rdi + 24], 0
        check(|a| a.arithmetic_const_at(Arithmetic::Cmp, memory(7, None, 24), 0), "48 83 7f 18 00");
        check(|a| a.imul_const(8, Operand::Register(1), 24), "4c 69 c1 18 00 00 00");
        check(|a| a.shift(6, false, 63), "48 c1 fe 3f");
        check(|a| a.mov_if(number(Condition::Less), 9, Operand::Register(3)), "4c 0f 4c cb");
        // neg rax; setl al; setne dl; kmovw k1, eax
        check(|a| a.negate(0), "48 f7 d8");
        check(|a| a.truth(number(Condition::Less), 0), "0f 9c c0");
        check(|a| a.truth(number(Condition::NotEqual), 2), "0f 95 c2");
        check(|a| a.mask(1, 0), "c5 f8 92 c8");
        // cqo; idiv r10; push r12; pop rbx; call r9
        check(|a| a.divide(Operand::Register(10)), "48 99 49 f7 fa");
        check(|a| a.push(12), "41 54");
        check(|a| a.pop(3), "5b");
        check(|a| a.call(9), "41 ff d1");
    }

    #[test]
    fn vectors() {
        let fma = Vector { map: 2, prefix: 1, wide: true, opcode: 0xb8, length: 2, unit: 64 };
        let memory = |base, index, offset| Operand::Memory(at(base, index, offset));
        // vfmadd231pd zmm2, zmm17, [rax + rcx * 8 + 128]
        check(|a| a.vector(fma, 2, 17, memory(0, Some((1, 3)), 128)), "62 f2 f5 40 b8 54 c8 02");
        // vfmadd231pd zmm0, zmm1, [r13 + r12 * 8]
        check(|a| a.vector(fma, 0, 1, memory(13, Some((12, 3)), 0)), "62 92 f5 48 b8 44 e5 00");
        // vfmadd231pd zmm30, zmm31, zmm29
        check(|a| a.vector(fma, 30, 31, Operand::Register(29)), "62 02 85 40 b8 f5");
        // vmovsd xmm0, [r11 + r8 * 8 + 4]: no multiple of 8
        let load = Vector { map: 1, prefix: 3, opcode: 0x10, length: 0, unit: 8, ..fma };
        check(
            |a| a.vector(load, 0, 0, memory(11, Some((8, 3)), 4)),
            "62 91 ff 08 10 84 c3 04 00 00 00",
        );
        // vmovapd zmm31 {k1}, zmm2
        let mov = Vector { map: 1, opcode: 0x28, ..fma };
        check(|a| a.masked(mov, 31, 0, Operand::Register(2), 1), "62 61 fd 49 28 fa");
    }

    /// Instructions of AVX2, by the bytes of other assemblers.
    #[test]
    fn vectors_of_avx2() {
        let check = |f: &dyn Fn(&mut Assembler), bytes| check_with(Vectors::Avx2, f, bytes);
        let fma = Vector { map: 2, prefix: 1, wide: true, opcode: 0xb8, length: 1, unit: 32 };
        let memory = |base, index, offset| Operand::Memory(at(base, index, offset));
        // vfmadd231pd ymm2, ymm13, [rax + rcx * 8 + 128]
        check(
            &|a| a.vector(fma, 2, 13, memory(0, Some((1, 3)), 128)),
            "c4 e2 95 b8 94 c8 80 00 00 00",
        );
        // vfmadd231pd ymm0, ymm1, [r13 + r12 * 8]
        check(&|a| a.vector(fma, 0, 1, memory(13, Some((12, 3)), 0)), "c4 82 f5 b8 44 e5 00");
        // vfmadd231pd ymm14, ymm15, ymm9
        check(&|a| a.vector(fma, 14, 15, Operand::Register(9)), "c4 42 85 b8 f1");
        // vblendvpd ymm3, ymm14, ymm2, ymm15
        let blend = Vector { map: 3, wide: false, opcode: 0x4b, ..fma };
        check(&|a| a.vector_const(blend, (3, 14), Operand::Register(2), 0xf0), "c4 e3 0d 4b da f0");
        // vbroadcastsd ymm1, [rsi + 8]
        let splat = Vector { wide: false, opcode: 0x19, ..fma };
        check(&|a| a.vector(splat, 1, 0, memory(6, None, 8)), "c4 e2 7d 19 4e 08");
    }

    #[test]
    fn jumps() {
        let (top, after) = (Label(0), Label(1));
        check(
            |a| {
                a.label(top);
                a.jump_if(number(Condition::Less), after);
                a.jump(top);
                a.label(after);
                a.ret();
            },
            "0f 8c 05 00 00 00 e9 f5 ff ff ff c3",
        );
        let mut assembler = Assembler::of(Vectors::Avx512);
        assembler.jump(after);
        assert_eq!(assembler.finish(), None);
    }
}
