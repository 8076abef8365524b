//! Loops with vectors of 256 and 512 bits, which Cranelift does not have: code of our own.
//!
//! A run of statements with vectors in its loops becomes a function of a frame, which Cranelift's
//! code fills with what the statements read, calls, and reads what they assigned.
//!
//! ```text
//! for i in 0..n { .. for p in pos[i]..pos[i + 1] { t0 = fma(splat(A[p], 8), X[crd[p] * m; 8], t0) } .. }
//!
//! frame[0] = n; frame[8] = pos; ..; call
//! ```
//!
//! It has the calling convention of System V on every system, and so has what it calls.
//!
//! Statements become instructions on values (`lower`, `stmt`, `whole`, `float`, `inst`), values get
//! registers (`registers`), instructions become bytes (`emit`, `vectors`, `encode`). What has no
//! instruction here (sorting, functions of mathematics, floats of 16 bits) is left to Cranelift, and
//! with it the loops around it.

mod call;
mod emit;
mod encode;
mod float;
mod inst;
mod lower;
mod registers;
mod select;
mod stmt;
mod vectors;
mod whole;

use crate::code::Code;
use lower::Name;
use select::Units;
use std::time::{Duration, Instant};
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::{Array, Var};
use tamis_ir::ir::{Function, Stmt};
use tamis_runtime::processor::Level;

/// What of a function has code of our own.
pub(crate) struct Wide {
    units: Vec<Unit>,
    code: Option<Code>,
    /// Whether some loop with wide vectors is in no unit.
    left: bool,
    /// How long it took to find units and to make their code.
    pub(crate) took: Duration,
}

/// A run of statements.
pub(crate) struct Unit {
    first: *const Stmt,
    /// How many statements.
    pub(crate) len: usize,
    /// What the code reads, and where it is in the frame.
    inputs: Vec<(Name, i32)>,
    /// What is read after it.
    outputs: Vec<(Var, i32)>,
    /// The arrays that it may make longer.
    grown: Vec<Array>,
    /// Whether it may end the call, by a status other than 0.
    fails: bool,
    /// Bytes of the frame.
    frame: u32,
    /// Where its code begins.
    offset: usize,
}

/// The vectors that code of our own uses, and how its instructions are encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Vectors {
    /// 256 bits in 16 registers, by the prefix VEX.
    Avx2,
    /// 512 bits in 32 registers, by the prefix EVEX.
    Avx512,
}

impl Vectors {
    /// Those of a level.
    fn of(level: Level) -> Option<Vectors> {
        match () {
            () if level.allows(Level::V4) => Some(Vectors::Avx512),
            () if level.allows(Level::V3) => Some(Vectors::Avx2),
            () => None,
        }
    }

    /// The most bytes of a vector.
    fn bytes(self) -> u16 {
        match self {
            Vectors::Avx2 => 32,
            Vectors::Avx512 => 64,
        }
    }

    /// How many registers hold values; those after them are for what an instruction needs besides.
    fn registers(self) -> u8 {
        match self {
            Vectors::Avx2 => 14,
            Vectors::Avx512 => 31,
        }
    }
}

impl Wide {
    /// Leaves everything to Cranelift.
    pub(crate) fn none() -> Wide {
        Wide { units: vec![], code: None, left: false, took: Duration::ZERO }
    }

    /// Whether loops with wide vectors are left to Cranelift.
    pub(crate) fn leaves_loops(&self) -> bool {
        self.left
    }

    /// The code for what of a function can have some.
    pub(crate) fn of(function: &Function, level: Level) -> Result<Wide, Diagnostic> {
        let Some(vectors) = Vectors::of(level) else { return Ok(Wide::none()) };
        let start = Instant::now();
        let Units { units, code, left, .. } = select::units(function, vectors);
        let code = if units.is_empty() { None } else { Some(Code::new(&code)?) };
        Ok(Wide { units, code, left, took: start.elapsed() })
    }

    /// The instructions as text for people.
    pub(crate) fn listing(function: &Function, level: Level) -> String {
        let units = |vectors| select::units(function, vectors).texts;
        let texts = Vectors::of(level).map_or(vec![], units);
        let lines = texts.iter().map(|code| {
            let lines = code.iter().map(|inst| format!("    {inst:?}\n"));
            format!("wide loops:\n{}", lines.collect::<String>())
        });
        lines.collect()
    }

    /// The unit that begins with these statements.
    pub(crate) fn at(&self, stmts: &[Stmt]) -> Option<&Unit> {
        self.units.iter().find(|unit| std::ptr::eq(unit.first, stmts.as_ptr()))
    }

    /// The code, which has to be kept as long as what calls it.
    pub(crate) fn into_code(self) -> Option<Code> {
        self.code
    }
}
