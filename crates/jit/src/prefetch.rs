//! Hints of what will be read. Cranelift has no instruction for them: each is translated to a load
//! of a byte that may trap, which therefore stays although nothing uses it, and whose position in the
//! machine code is recorded. There it becomes the instruction that is meant, which is as long.
//!
//! ```text
//! 48 0f b6 84 c8 00 20 00 00   movzbq 0x2000(%rax, %rcx, 8), %rax
//! 40 0f 18 8c c8 00 20 00 00   prefetcht0 0x2000(%rax, %rcx, 8)
//! 40 0f 18 94 c8 00 20 00 00   prefetcht1 0x2000(%rax, %rcx, 8), where it is far
//! ```

use crate::stmt::Translator;
use cranelift_codegen::MachTrap;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, TrapCode, types};
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::Array;
use tamis_ir::ir;

/// Whether hints become code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hints {
    Kept,
    Dropped,
}

impl Hints {
    /// What the machine can do.
    pub(crate) fn native() -> Hints {
        if cfg!(target_arch = "x86_64") { Hints::Kept } else { Hints::Dropped }
    }
}

/// What marks the loads that are hints.
const NEAR: TrapCode = TrapCode::unwrap_user(1);
const FAR: TrapCode = TrapCode::unwrap_user(2);

impl Translator<'_> {
    pub(crate) fn prefetch(
        &mut self,
        array: Array,
        index: &ir::Expr,
        far: bool,
    ) -> Result<(), Diagnostic> {
        if self.hints == Hints::Kept {
            let (address, offset) = self.place(array, index)?;
            let flags = MemFlagsData::new().with_trap_code(Some(if far { FAR } else { NEAR }));
            self.b.ins().uload8(types::I64, flags, address, offset);
        }
        Ok(())
    }
}

/// Makes hints of the loads that stand for them. `None` if one is not as expected: the code must
/// not run then, since the load may be of memory that is not there.
#[must_use]
pub(crate) fn encoded(mut code: Vec<u8>, traps: &[MachTrap]) -> Option<Vec<u8>> {
    for trap in traps {
        let level = match trap.code {
            NEAR => 1,
            FAR => 2,
            _ => continue,
        };
        hint(code.get_mut(trap.offset as usize..)?, level)?;
    }
    Some(code)
}

/// `movzx r, m8` as `prefetcht0 m8`: the opcode, and the level of cache instead of a register.
fn hint(code: &mut [u8], level: u8) -> Option<()> {
    let prefixed = matches!(code.first()?, 0x40..=0x4f);
    let (prefix, rest) = code.split_at_mut(usize::from(prefixed));
    let [0x0f, opcode @ 0xb6, operand, ..] = rest else { return None };
    (*operand < 0xc0).then_some(())?;
    *opcode = 0x18;
    *operand = *operand & 0b1100_0111 | level << 3;
    // The bits of the prefix for the operand's size and for the register mean nothing any more.
    prefix.iter_mut().for_each(|prefix| *prefix &= 0b1111_0011);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_become_hints_and_nothing_else_does() {
        let trap = |code: TrapCode| MachTrap { offset: 1, code };
        let load = vec![0x90, 0x4c, 0x0f, 0xb6, 0x94, 0xc8, 0, 0x20, 0, 0];
        let hint = vec![0x90, 0x40, 0x0f, 0x18, 0x8c, 0xc8, 0, 0x20, 0, 0];
        assert_eq!(encoded(load.clone(), &[trap(NEAR)]), Some(hint.clone()));
        let far = hint.iter().map(|&byte| if byte == 0x8c { 0x94 } else { byte }).collect();
        assert_eq!(encoded(load.clone(), &[trap(FAR)]), Some(far));
        let other = trap(TrapCode::unwrap_user(3));
        assert_eq!(encoded(load.clone(), &[other]), Some(load.clone()));
        for (at, byte) in [(2, 0x10), (3, 0xb7), (4, 0xd4)] {
            let mut strange = load.clone();
            strange[at] = byte;
            assert_eq!(encoded(strange, &[trap(NEAR)]), None);
        }
        assert_eq!(encoded(vec![0x90, 0x0f], &[trap(FAR)]), None);
    }
}
