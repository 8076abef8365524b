//! Kernels in memory, for calls that name no kernel: conversions and [`crate::evaluate`] compile a
//! program for certain formats once, however often they run.
//!
//! ```text
//! tensor(i0,i1) = A(i0,i1), A: csr of about 1024 x 1024, tensor: csc      one kernel
//! ```
//!
//! A kernel is found by its text, by how its operands are stored, and by what the compiler knows of
//! dimensions and entries. Those that came first go when there are too many.

use crate::operand::{longest, rounded};
use crate::{Kernel, Options};
use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use tamis_ir::datatype::IndexWidth;
use tamis_ir::diagnostic::Diagnostic;
use tamis_runtime::{Tensor, processor};

/// The most kernels that are kept.
const KEPT: usize = 64;

static KERNELS: Mutex<VecDeque<(String, Arc<Kernel>)>> = Mutex::new(VecDeque::new());

/// The kernel of a program for operands stored like these, compiled now or before.
pub(crate) fn kernel(
    text: &str,
    operands: &[(&str, &Tensor)],
    options: &Options,
) -> Result<Arc<Kernel>, Diagnostic> {
    let key = key(text, operands, options);
    let kernels = || KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, kernel)) = kernels().iter().find(|(known, _)| *known == key) {
        return Ok(Arc::clone(kernel));
    }
    // Compiled without the lock: others need not wait, and two that compile the same do no harm.
    let kernel = Arc::new(Kernel::compile(text, operands, options)?);
    let mut kernels = kernels();
    if kernels.len() == KEPT {
        kernels.pop_front();
    }
    kernels.push_back((key, Arc::clone(&kernel)));
    Ok(kernel)
}

/// Everything that a compilation depends on.
pub(crate) fn key(text: &str, operands: &[(&str, &Tensor)], options: &Options) -> String {
    let mut key = format!("{text}\n{options:?}\n{:?}\n", processor::level().ok());
    for (name, tensor) in operands {
        let largest = tensor.dims().iter().copied().max().unwrap_or(0);
        let dims: Vec<u64> = tensor.dims().iter().map(|&d| rounded(d)).collect();
        let (width, entries) = (IndexWidth::for_max(largest), rounded(tensor.vals().len() as u64));
        let longest = longest(*tensor, options);
        // Writing to a string cannot fail.
        let _ =
            writeln!(key, "{name} {:?} {dims:?} {width:?} {entries} {longest:?}", tensor.storage());
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tensors of like size share a kernel; other formats, types and texts have their own.
    #[test]
    fn kernels_are_compiled_once() {
        let dense =
            |n: u64| Tensor::dense(&[n], vec![1.0; n as usize]).unwrap_or_else(|d| panic!("{d}"));
        let of = |text: &str, x: &Tensor| {
            kernel(text, &[("x", x)], &Options::default()).unwrap_or_else(|d| panic!("{d}"))
        };
        let first = of("a = x(i) * x(i)", &dense(5));
        assert!(Arc::ptr_eq(&first, &of("a = x(i) * x(i)", &dense(6))));
        assert!(!Arc::ptr_eq(&first, &of("a = x(i) * x(i)", &dense(600))));
        assert!(!Arc::ptr_eq(&first, &of("a = x(i) + x(i)", &dense(5))));
        let narrow = Tensor::dense(&[5], vec![1.0f32; 5]).unwrap_or_else(|d| panic!("{d}"));
        assert!(!Arc::ptr_eq(&first, &of("a = x(i) * x(i)", &narrow)));
        for n in 0..2 * KEPT {
            of(&format!("a = {n} * x(i)"), &dense(5));
        }
        assert!(!Arc::ptr_eq(&first, &of("a = x(i) * x(i)", &dense(5))));
    }
}
