//! Functions of mathematics of a vector of numbers in memory, compiled for each processor level: what
//! [`tamis_ir::algebra`] gives for each number alone, by the same operations.

use crate::stmt::Translator;
use cranelift_codegen::ir::InstBuilder;
use tamis_ir::algebra::{UnaryOp, exp, log};
use tamis_ir::datatype::DataType;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::Array;
use tamis_ir::ir::Expr;
use tamis_runtime::processor::Level;

/// The functions of a level: of doubles and of floats, each of 2, 4 and 8.
struct Functions {
    exp: [[usize; 3]; 2],
    log: [[usize; 3]; 2],
}

impl Translator<'_> {
    /// Stores a function of lanes, if there is one for it: what it is of first, then it is computed where that is.
    pub(crate) fn computed_in_memory(
        &mut self,
        array: Array,
        index: &Expr,
        value: &Expr,
    ) -> Result<bool, Diagnostic> {
        let Expr::Unary(op, argument) = value else { return Ok(false) };
        let (ty, elem) = (self.function.type_of(argument), self.function.arrays[array].elem);
        let fits = ty.register.datatype() == elem;
        let f = of_lanes(*op, (elem, ty.lanes), self.level).filter(|_| fits);
        let Some(f) = f else { return Ok(false) };
        let is_there = matches!(&**argument, Expr::Load { array: from, index: at, .. }
            if *from == array && **at == *index);
        if !is_there {
            let values = self.expr(argument)?;
            self.stored(array, index, values)?;
        }
        let (address, offset) = self.place(array, index)?;
        let address = self.b.ins().iadd_imm_s(address, i64::from(offset));
        self.call(f, &[address], None);
        Ok(true)
    }
}

/// The address of a function of so many elements, if there is one.
fn of_lanes(op: UnaryOp, (elem, lanes): (DataType, u16), level: Level) -> Option<usize> {
    let functions = of_level(level);
    let [double, single] = match op {
        UnaryOp::Exp => functions.exp,
        UnaryOp::Log => functions.log,
        _ => return None,
    };
    let functions = match elem {
        DataType::F64 => double,
        DataType::F32 => single,
        _ => return None,
    };
    [2, 4, 8].into_iter().zip(functions).find(|(n, _)| *n == lanes).map(|(_, f)| f)
}

#[cfg(target_arch = "x86_64")]
fn of_level(level: Level) -> Functions {
    match () {
        () if level.allows(Level::V4) => avx512(),
        () if level.allows(Level::V3) => avx2(),
        () => plain(),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn of_level(_: Level) -> Functions {
    plain()
}

/// A function that gives [`Functions`], compiled for these features.
macro_rules! functions {
    ($name:ident $(, #[$features:meta])?) => {
        fn $name() -> Functions {
            functions!(@each double_exp, f64, exp $(, #[$features])?);
            functions!(@each double_log, f64, log $(, #[$features])?);
            functions!(@each single_exp, f32, exp $(, #[$features])?);
            functions!(@each single_log, f32, log $(, #[$features])?);
            Functions {
                exp: [functions!(@all double_exp), functions!(@all single_exp)],
                log: [functions!(@all double_log), functions!(@all single_log)],
            }
        }
    };
    (@all $name:ident) => {
        [
            $name::<2> as *const () as usize,
            $name::<4> as *const () as usize,
            $name::<8> as *const () as usize,
        ]
    };
    (@each $name:ident, $t:ident, $f:ident $(, #[$features:meta])?) => {
        $(#[$features])?
        unsafe extern "C" fn $name<const LANES: usize>(numbers: *mut [$t; LANES]) {
            // SAFETY: code that calls this has so many numbers there, of which it alone knows.
            let numbers = unsafe { &mut *numbers };
            numbers.iter_mut().for_each(|x| *x = $f(f64::from(*x)) as $t);
        }
    };
}

functions!(plain);
#[cfg(target_arch = "x86_64")]
functions!(avx2, #[target_feature(enable = "avx2")]);
#[cfg(target_arch = "x86_64")]
functions!(avx512, #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]);
