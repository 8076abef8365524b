//! Whether positions and coordinates of others are read where they are, or copied first. Memory that
//! another thread writes while a kernel runs can lead the kernel outside of its arrays; a copy that
//! was checked cannot.

use crate::convert::own;
use crate::failure::{raised, refused};
use crate::foreign::is_foreign;
use pyo3::prelude::*;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use tamis::level::Part;
use tamis::{Buffer, Code, Diagnostic, LevelData};

const VARIABLE: &str = "TAMIS_COPY";

static COPIES: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread copies now, whatever is set for all.
    static COPIES_NOW: Cell<bool> = const { Cell::new(false) };
}

/// Sets whether kernels read positions and coordinates of SciPy's arrays, and of others, where they
/// are (the default), or copies of them: then no other thread that writes them meanwhile can crash the
/// interpreter. Values are borrowed either way.
#[pyfunction]
pub fn set_borrowing(borrows: &Bound<'_, PyAny>) -> PyResult<()> {
    let Ok(borrows) = borrows.extract::<bool>() else {
        let message = format!("{borrows} is neither True nor False");
        return Err(refused(borrows.py(), Code::TypeMismatch, message, "give one of them"));
    };
    COPIES.store(!borrows, Ordering::Relaxed);
    Ok(())
}

/// Whether positions and coordinates are read where they are: what `set_borrowing` or the
/// environment's `TAMIS_COPY` said.
#[pyfunction]
pub fn get_borrowing() -> bool {
    !copies()
}

/// Sets what the environment asks for, if it does.
pub(crate) fn follow_environment(py: Python<'_>) -> PyResult<()> {
    let Some(text) = std::env::var_os(VARIABLE) else { return Ok(()) };
    let copies = match text.to_str() {
        Some("0" | "") => false,
        Some("1") => true,
        _ => {
            let message = format!("{VARIABLE}={} says neither 0 nor 1", text.display());
            return Err(refused(py, Code::InvalidOption, message, "set it to 1 to copy"));
        }
    };
    COPIES.store(copies, Ordering::Relaxed);
    Ok(())
}

/// Whether positions and coordinates of others are copied.
pub(crate) fn copies() -> bool {
    COPIES_NOW.get() || COPIES.load(Ordering::Relaxed)
}

/// Does work that copies positions and coordinates, whatever is set.
pub(crate) fn copying<T>(work: impl FnOnce() -> T) -> T {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            COPIES_NOW.set(self.0);
        }
    }
    let _before = Before(COPIES_NOW.replace(true));
    work()
}

/// An array of a level as kernels may read it: itself, or a copy of what is somebody else's.
pub(crate) fn stable(py: Python<'_>, array: Buffer) -> PyResult<Buffer> {
    match copies() && is_foreign(&array) {
        true => own(&array).map_err(|diagnostic| raised(py, &diagnostic)),
        false => Ok(array),
    }
}

/// The arrays of levels as kernels may read them.
pub(crate) fn stable_levels(levels: &[LevelData]) -> Result<Vec<LevelData>, Diagnostic> {
    let mut made = levels.to_vec();
    if !copies() {
        return Ok(made);
    }
    for level in &mut made {
        for part in Part::ALL {
            if let Some(array) = level.part(part).filter(|array| is_foreign(array)) {
                *level.part_mut(part) = Some(own(array)?);
            }
        }
    }
    Ok(made)
}
