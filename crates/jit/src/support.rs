//! What compiled code calls: growing, filling and sorting arrays, and mathematical functions.

use tamis_ir::algebra::{BinaryOp, UnaryOp, eval};
use tamis_ir::datatype::Scalar;
use tamis_ir::half::{Bf16, F16};
use tamis_ir::ir::Status;
use tamis_runtime::memory;
use tamis_runtime::records::sort_records;

/// How many times as long an array becomes, as a fraction: less where more does not fit. Were it only as much
/// longer as is asked for, appending to an array that nearly fills memory would copy it for each element.
const GROWTH: [(usize, usize); 4] = [(2, 1), (3, 2), (5, 4), (17, 16)];

/// Grows the array in two slots (address, length) to at least `len` elements of `size` bytes,
/// doubling it if that fits. Returns a [`Status`].
///
/// # Safety
/// `slot` points to the two slots of an array of the malloc family.
pub(crate) unsafe extern "C" fn reserve(slot: *mut u64, len: i64, size: i64) -> i64 {
    // SAFETY: the caller passes two valid slots.
    let (address, old) = unsafe { (*slot, *slot.add(1)) };
    let (Ok(len), Ok(size)) = (usize::try_from(len), usize::try_from(size)) else {
        return Status::OutOfMemory as i64;
    };
    let old = old as usize;
    for (times, of) in GROWTH {
        let wanted = len.max(old.saturating_mul(times) / of).max(16);
        let Some(bytes) = wanted.checked_mul(size).filter(|&b| b <= isize::MAX as usize) else {
            continue;
        };
        // SAFETY: the slots hold an array of `old` elements of the malloc family, or nothing.
        let fresh = unsafe {
            match of {
                1 => memory::reserve(address as *mut u8, old * size, bytes),
                _ => memory::grow(address as *mut u8, bytes),
            }
        };
        if !fresh.is_null() {
            // SAFETY: as above.
            unsafe {
                *slot = fresh as u64;
                *slot.add(1) = wanted as u64;
            }
            return Status::Ok as i64;
        }
    }
    Status::OutOfMemory as i64
}

/// [`reserve`] by the calling convention of the code that is not Cranelift's.
///
/// # Safety
/// As for [`reserve`].
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe extern "sysv64" fn reserve_of_unit(slot: *mut u64, len: i64, size: i64) -> i64 {
    // SAFETY: as the caller promises.
    unsafe { reserve(slot, len, size) }
}
#[cfg(not(target_arch = "x86_64"))]
pub(crate) use reserve as reserve_of_unit;

/// Sets `count` elements of `size` bytes at `address` to the low bytes of `bits`.
///
/// # Safety
/// The elements are writable.
pub(crate) unsafe extern "C" fn fill(address: *mut u8, count: i64, bits: u64, size: i64) {
    let Ok(count @ 1..) = usize::try_from(count) else { return };
    // SAFETY: the caller promises `count` writable elements, aligned to their size.
    unsafe {
        match size {
            _ if bits == 0 => std::ptr::write_bytes(address, 0, count * size as usize),
            1 => std::slice::from_raw_parts_mut(address, count).fill(bits as u8),
            2 => std::slice::from_raw_parts_mut(address.cast::<u16>(), count).fill(bits as u16),
            4 => std::slice::from_raw_parts_mut(address.cast::<u32>(), count).fill(bits as u32),
            _ => std::slice::from_raw_parts_mut(address.cast::<u64>(), count).fill(bits),
        }
    }
}

/// Sorts records; `arrays` holds an address and an element size per array, keys first. Returns a
/// [`Status`].
///
/// # Safety
/// The arrays are writable in `lo..hi`.
pub(crate) unsafe extern "C" fn sort(
    arrays: *const [u64; 2],
    keys: i64,
    carried: i64,
    lo: i64,
    hi: i64,
) -> i64 {
    if hi - lo < 2 {
        return Status::Ok as i64;
    }
    // SAFETY: the caller passes `keys + carried` descriptions of writable arrays.
    let sorted = unsafe {
        let arrays = std::slice::from_raw_parts(arrays, (keys + carried) as usize);
        sort_records(arrays, keys as usize, lo as usize, hi as usize)
    };
    sorted.map_or(Status::OutOfMemory, |()| Status::Ok) as i64
}

macro_rules! functions {
    ($unary:ident, $unary32:ident, $($op:ident $f:ident $f32:ident;)*) => {
        $(
            extern "C" fn $f(x: f64) -> f64 {
                eval::unary_f64(UnaryOp::$op, x)
            }
            extern "C" fn $f32(x: f32) -> f32 {
                eval::unary_f32(UnaryOp::$op, x)
            }
        )*
        /// The address of a function of doubles.
        pub(crate) fn $unary(op: UnaryOp) -> Option<usize> {
            Some(match op {
                $(UnaryOp::$op => $f as *const () as usize,)*
                _ => return None,
            })
        }
        /// The address of a function of floats.
        pub(crate) fn $unary32(op: UnaryOp) -> Option<usize> {
            Some(match op {
                $(UnaryOp::$op => $f32 as *const () as usize,)*
                _ => return None,
            })
        }
    };
}

functions! { unary, unary32,
    Cbrt cbrt cbrt32;
    Exp exp exp32;
    Log log log32;
    Log10 log10 log1032;
    Sin sin sin32;
    Cos cos cos32;
    Tan tan tan32;
    Asin asin asin32;
    Acos acos acos32;
    Atan atan atan32;
    Sinh sinh sinh32;
    Cosh cosh cosh32;
    Tanh tanh tanh32;
    Asinh asinh asinh32;
    Acosh acosh acosh32;
    Atanh atanh atanh32;
}

/// The bits of a number as `f16`.
pub(crate) extern "C" fn round_f16(x: f64) -> u64 {
    F16::from(x).to_bits().into()
}
/// The bits of a number as `bf16`.
pub(crate) extern "C" fn round_bf16(x: f64) -> u64 {
    Bf16::from(x).to_bits().into()
}

extern "C" fn pow(x: f64, y: f64) -> f64 {
    x.powf(y)
}
extern "C" fn pow32(x: f32, y: f32) -> f32 {
    x.powf(y)
}
extern "C" fn atan2(x: f64, y: f64) -> f64 {
    x.atan2(y)
}
extern "C" fn atan232(x: f32, y: f32) -> f32 {
    x.atan2(y)
}
extern "C" fn floor_mod(x: f64, y: f64) -> f64 {
    match eval::binary(BinaryOp::Mod, Scalar::F64(x), Scalar::F64(y)) {
        Scalar::F64(r) => r,
        _ => f64::NAN,
    }
}
extern "C" fn floor_mod32(x: f32, y: f32) -> f32 {
    match eval::binary(BinaryOp::Mod, Scalar::F32(x), Scalar::F32(y)) {
        Scalar::F32(r) => r,
        _ => f32::NAN,
    }
}

/// The address of a function of two doubles.
pub(crate) fn binary(op: BinaryOp) -> Option<usize> {
    Some(match op {
        BinaryOp::Pow => pow as *const () as usize,
        BinaryOp::Atan2 => atan2 as *const () as usize,
        BinaryOp::Mod => floor_mod as *const () as usize,
        _ => return None,
    })
}

/// The address of a function of two floats.
pub(crate) fn binary32(op: BinaryOp) -> Option<usize> {
    Some(match op {
        BinaryOp::Pow => pow32 as *const () as usize,
        BinaryOp::Atan2 => atan232 as *const () as usize,
        BinaryOp::Mod => floor_mod32 as *const () as usize,
        _ => return None,
    })
}

extern "C" fn fused(a: f64, b: f64, c: f64) -> f64 {
    a.mul_add(b, c)
}
extern "C" fn fused32(a: f32, b: f32, c: f32) -> f32 {
    a.mul_add(b, c)
}

/// The address of a fused multiply-add for machines without the instruction.
pub(crate) fn fma(double: bool) -> usize {
    if double { fused as *const () as usize } else { fused32 as *const () as usize }
}
