//! Builds functions and runs them both as machine code and by the interpreter.

use std::sync::{Mutex, PoisonError};
use tamis_ir::datatype::{DataType, Register, Scalar};
use tamis_ir::ids::{Array, IdVec, Var};
use tamis_ir::interpret::{self, Argument, Buffer};
use tamis_ir::ir::{ArrayDecl, ArrayRole, Function, Param, Status, Stmt, Type, VarDecl};
use tamis_runtime::budget;
use tamis_runtime::kernel::Executable;
use tamis_runtime::processor::{self, Level};

/// A function under construction.
pub struct Maker(pub Function);

impl Maker {
    pub fn new() -> Maker {
        Maker(Function {
            name: "f".to_owned(),
            params: vec![],
            vars: IdVec::new(),
            arrays: IdVec::new(),
            body: vec![],
        })
    }

    pub fn var(&mut self, register: Register, lanes: u16) -> Var {
        let name = format!("v{}", self.0.vars.len());
        self.0.vars.push(VarDecl::new(&name, Type { register, lanes }))
    }

    pub fn index(&mut self) -> Var {
        self.var(Register::I64, 1)
    }

    pub fn scalar_param(&mut self, register: Register) -> Var {
        let var = self.var(register, 1);
        self.0.params.push(Param::Scalar(var));
        var
    }

    pub fn array(&mut self, elem: DataType, role: ArrayRole) -> Array {
        let name = format!("a{}", self.0.arrays.len());
        let array = self.0.arrays.push(ArrayDecl::new(&name, elem, role));
        if role != ArrayRole::Local {
            self.0.params.push(Param::Array(array));
        }
        array
    }

    pub fn body(mut self, body: Vec<Stmt>) -> Function {
        self.0.body = body;
        self.0
    }
}

/// Runs a function as machine code at each level that the machine has. Returns the status and the
/// arrays among the parameters, as code for all that the machine has leaves them.
pub fn machine(function: &Function, arguments: Vec<Argument>) -> (Status, Vec<Buffer>) {
    // The level is that of the process.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let at = |level| {
        processor::set_level(level).unwrap_or_else(|d| panic!("{d}"));
        compiled(function, arguments.clone())
    };
    let (status, arrays) = at(Level::Native);
    for level in Level::supported().filter(|l| *l != Level::Native) {
        let (lower, others) = at(level);
        assert_eq!(status, lower, "{level:?}");
        // What a result has behind what was stored is anything.
        if function.arrays.iter().all(|a| a.role != ArrayRole::Result) {
            for (a, b) in arrays.iter().zip(&others) {
                let equal = values(a).into_iter().zip(values(b)).all(|(a, b)| same(a, b));
                assert!(equal, "{level:?}: {a:?} is not {b:?}\n{function:?}");
            }
        }
    }
    (status, arrays)
}

fn compiled(function: &Function, mut arguments: Vec<Argument>) -> (Status, Vec<Buffer>) {
    let code = tamis_jit::compile(function).unwrap_or_else(|d| panic!("{d}"));
    let mut slots = slots(&mut arguments);
    let locals = slots.len()..slots.len() + 2 * function.locals().count();
    slots.resize(locals.end, 0);
    // SAFETY: the slots follow the calling convention, parameter by parameter.
    let status = unsafe { code.call(&mut slots) };
    let mut at = 0;
    let mut arrays = vec![];
    for (param, argument) in function.params.iter().zip(arguments) {
        match (param, argument) {
            (Param::Array(array), Argument::Array(buffer)) => {
                let decl = &function.arrays[*array];
                arrays.push(match decl.role {
                    // SAFETY: the kernel allocated the array of this length and gave it away.
                    ArrayRole::Result => unsafe { taken(decl.elem, slots[at], slots[at + 1]) },
                    _ => buffer,
                });
                at += 2;
            }
            _ => at += 1,
        }
    }
    for place in locals.step_by(2) {
        // SAFETY: locals are of the malloc family, or null.
        unsafe { budget::free(slots[place] as *mut _) };
    }
    (status, arrays)
}

/// The slots of arguments, without those of locals.
pub fn slots(arguments: &mut [Argument]) -> Vec<u64> {
    let mut slots: Vec<u64> = vec![];
    for argument in arguments {
        match argument {
            Argument::Scalar(x) => slots.push(bits(*x)),
            Argument::Array(buffer) if buffer.is_empty() => slots.extend([0, 0]),
            Argument::Array(buffer) => {
                slots.extend([buffer.as_mut_ptr() as u64, buffer.len() as u64])
            }
        }
    }
    slots
}

/// Runs a function both ways and insists on the same bits in every array that is not a result.
pub fn check(function: &Function, arguments: Vec<Argument>) -> (Status, Vec<Buffer>) {
    let (status, arrays) = machine(function, arguments.clone());
    let outcome = interpret::run(function, arguments, None).unwrap_or_else(|f| panic!("{f}"));
    assert_eq!(status, outcome.status);
    let params = function.params.iter().filter_map(|p| match p {
        Param::Array(a) => Some(*a),
        Param::Scalar(_) => None,
    });
    for (array, got) in params.zip(&arrays) {
        let want = &outcome.arrays[tamis_ir::ids::Id::index(array)];
        if function.arrays[array].role != ArrayRole::Result {
            for (k, (got, want)) in values(got).into_iter().zip(values(want)).enumerate() {
                let name = &function.arrays[array].name;
                assert!(same(got, want), "{name}[{k}] is {got:?}, not {want:?}\n{function:?}");
            }
        }
    }
    (status, arrays)
}

fn values(buffer: &Buffer) -> Vec<Scalar> {
    (0..buffer.len()).map(|k| buffer.get(k)).collect()
}

/// The same bits, any NaN for a NaN.
fn same(a: Scalar, b: Scalar) -> bool {
    a == b || (a.as_f64().is_nan() && b.as_f64().is_nan())
}

fn bits(x: Scalar) -> u64 {
    use Scalar::{Bool, F32, F64, I64, U64};
    match x {
        Bool(b) => u64::from(b),
        I64(x) => x as u64,
        U64(x) => x,
        F32(x) => u64::from(x.to_bits()),
        F64(x) => x.to_bits(),
        Scalar::C64(_) | Scalar::C128(_) => unreachable!("kernels take real numbers"),
    }
}

/// # Safety
/// The memory is of the malloc family, holds `len` elements and belongs to nobody else.
unsafe fn taken(elem: DataType, address: u64, len: u64) -> Buffer {
    let mut buffer = Buffer::of(elem, len as usize);
    if address != 0 {
        let bytes = buffer.len() * elem.size();
        // SAFETY: the memory holds the elements, and so does the buffer.
        unsafe {
            std::ptr::copy_nonoverlapping(address as *const u8, buffer.as_mut_ptr(), bytes);
            budget::free(address as *mut _);
        }
    }
    buffer
}
