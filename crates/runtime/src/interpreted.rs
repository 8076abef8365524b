//! The interpreter behind the calling convention of compiled code.

use crate::kernel::Executable;
use crate::memory;
use std::sync::{Arc, Mutex, PoisonError};
use tamis_ir::datatype::{DataType, Register, Scalar};
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::{Array, Id};
use tamis_ir::interpret::{self, Argument, Buffer, Counts, Fault, Loop};
use tamis_ir::ir::{ArrayRole, Function, Param, Status};

/// A function to interpret.
pub struct Interpreted {
    function: Function,
    /// What the last call did, or the fault that it met.
    last: Mutex<Option<Result<Counts, Fault>>>,
}

impl Interpreted {
    /// A function, ready to interpret.
    pub fn new(function: Function) -> Interpreted {
        Interpreted { function, last: Mutex::new(None) }
    }

    /// What the last call did, or the fault that it met.
    pub fn last(&self) -> Option<Result<Counts, Fault>> {
        self.last.lock().ok()?.clone()
    }
}

/// A function to interpret, which counts what its loops do in all calls together.
pub struct Counting {
    function: Function,
    /// The most iterations of all calls.
    limit: u64,
    counted: Mutex<Counted>,
}

/// What the calls of a function did.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// All of it.
    pub counts: Counts,
    /// What each loop did.
    pub loops: Vec<Loop>,
    /// Whether a call ended because it took too many iterations.
    pub is_cut_off: bool,
}

impl Counting {
    /// A function, ready to interpret for so many iterations.
    pub fn new(function: Function, limit: u64) -> Counting {
        Counting { function, limit, counted: Mutex::new(Counted::default()) }
    }

    /// The function.
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// What the calls did so far.
    pub fn counted(&self) -> Counted {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Shared, so that whoever had it called can ask for its counts.
impl Executable for Arc<Counting> {
    fn is_concurrent(&self) -> bool {
        false
    }

    unsafe fn call(&self, slots: &mut [u64]) -> Status {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let left = self.limit.saturating_sub(counted.counts.iterations);
        // SAFETY: the caller passes slots of the function's calling convention.
        let arguments = unsafe { arguments(&self.function, slots) };
        let outcome = match interpret::run_by_loop(&self.function, arguments, Some(left)) {
            Ok(outcome) => outcome,
            Err(fault) if fault.is_limit() => {
                counted.is_cut_off = true;
                return Status::OutOfMemory;
            }
            Err(fault) => panic!("the interpreter met a fault: {fault}\n{}", self.function),
        };
        counted.counts.add(outcome.counts);
        if counted.loops.is_empty() {
            counted.loops = outcome.loops;
        } else {
            let all = counted.loops.iter_mut().zip(outcome.loops);
            all.for_each(|(sum, more)| sum.counts.add(more.counts));
        }
        // SAFETY: as above; the arrays are those of the slots.
        let kept = unsafe { give_back(&self.function, &outcome.arrays, slots) };
        if kept { outcome.status } else { Status::OutOfMemory }
    }

    fn failure(&self) -> Option<Diagnostic> {
        self.counted().is_cut_off.then(|| {
            let message = format!("counting takes more than {} iterations", self.limit);
            Diagnostic::new(Code::TooLarge, message).help("use smaller operands")
        })
    }
}

impl Executable for Interpreted {
    // It copies arrays in and out as a whole.
    fn is_concurrent(&self) -> bool {
        false
    }

    unsafe fn call(&self, slots: &mut [u64]) -> Status {
        // SAFETY: the caller passes slots of the function's calling convention.
        let arguments = unsafe { arguments(&self.function, slots) };
        let outcome = interpret::run(&self.function, arguments, None);
        let (status, report) = match outcome {
            Ok(outcome) => {
                // SAFETY: as above; the arrays are those of the slots.
                let kept = unsafe { give_back(&self.function, &outcome.arrays, slots) };
                (if kept { outcome.status } else { Status::OutOfMemory }, Ok(outcome.counts))
            }
            // A fault is a mistake of ours; no number may come of it.
            Err(fault) => panic!("the interpreter met a fault: {fault}\n{}", self.function),
        };
        if let Ok(mut last) = self.last.lock() {
            *last = Some(report);
        }
        status
    }
}

/// Copies the arguments out of the slots.
///
/// # Safety
/// The slots follow the function's calling convention.
unsafe fn arguments(function: &Function, slots: &[u64]) -> Vec<Argument> {
    let mut place = 0;
    let mut arguments = vec![];
    for param in &function.params {
        match param {
            Param::Scalar(v) => {
                let bits = slots[place];
                arguments.push(Argument::Scalar(match function.vars[*v].ty.register {
                    Register::F32 => Scalar::F32(f32::from_bits(bits as u32)),
                    Register::F64 => Scalar::F64(f64::from_bits(bits)),
                    Register::U64 => Scalar::U64(bits),
                    _ => Scalar::I64(bits as i64),
                }));
                place += 1;
            }
            Param::Array(a) => {
                let len = slots[place + 1] as usize;
                let array = &function.arrays[*a];
                let buffer = match array.role {
                    // SAFETY: the slot holds the address of `len` elements.
                    ArrayRole::Input | ArrayRole::Shared => unsafe {
                        copied(array.elem, slots[place], len)
                    },
                    ArrayRole::Output => Buffer::of(array.elem, len),
                    ArrayRole::Result | ArrayRole::Local | ArrayRole::Common => {
                        Buffer::of(array.elem, 0)
                    }
                };
                arguments.push(Argument::Array(buffer));
                place += 2;
            }
        }
    }
    arguments
}

/// # Safety
/// `address` holds `len` elements.
unsafe fn copied(elem: DataType, address: u64, len: usize) -> Buffer {
    let mut buffer = Buffer::of(elem, len);
    if len > 0 {
        let (from, to) = (address as *const u8, buffer.as_mut_ptr());
        // SAFETY: the caller promises `len` elements, for which the buffer has room.
        unsafe { std::ptr::copy_nonoverlapping(from, to, len * elem.size()) };
    }
    buffer
}

/// Writes outputs and results back; false without memory for them.
///
/// # Safety
/// The slots follow the function's calling convention.
unsafe fn give_back(function: &Function, arrays: &[Buffer], slots: &mut [u64]) -> bool {
    let mut place = 0;
    for param in &function.params {
        let Param::Array(a) = param else {
            place += 1;
            continue;
        };
        let buffer = &arrays[Array::index(*a)];
        let bytes = buffer.len() * buffer.elem().size();
        let address = match function.arrays[*a].role {
            ArrayRole::Output | ArrayRole::Shared => slots[place] as *mut u8,
            ArrayRole::Result if bytes == 0 => std::ptr::null_mut(),
            ArrayRole::Result => {
                // SAFETY: null, or what an earlier call left, of which nothing is kept.
                let fresh = unsafe { memory::reserve(slots[place] as *mut u8, 0, bytes) };
                if fresh.is_null() && bytes > 0 {
                    return false;
                }
                slots[place] = fresh as u64;
                slots[place + 1] = buffer.len() as u64;
                fresh
            }
            ArrayRole::Input | ArrayRole::Local | ArrayRole::Common => std::ptr::null_mut(),
        };
        if !address.is_null() {
            // SAFETY: the address has room for the array: it was allocated for it, or is the
            // output of this very length.
            unsafe { std::ptr::copy_nonoverlapping(buffer.as_ptr(), address, bytes) };
        }
        place += 2;
    }
    true
}
