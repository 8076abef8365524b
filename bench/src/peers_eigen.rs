//! Eigen, a C++ library of headers: `peers/eigen.cpp` is compiled by the system's compiler when the benchmark
//! starts, and loaded. It has products (those of sparse matrices sorted), residuals
//! and sums; three or more terms are one expression.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use libloading::Library;

use crate::contender::{Absent, Contender, Prepared, Role, in_process};
use crate::inputs::{Csr, Dense};
use crate::operation::{Operation, Order};
use crate::pages::Pages;
use crate::problem::{Operands, Output, Problem};
use crate::process::succeeds;

/// Where Debian has the headers; `EIGEN` in the environment names another folder.
const HEADERS: &str = "/usr/include/eigen3";

/// Eigen, or why there is none.
pub struct Eigen {
    library: Result<Functions, String>,
    version: String,
}

/// A matrix of Eigen's, never looked into here.
enum Matrix {}

/// A matrix, as the C++ source has it.
#[repr(C)]
struct Borrowed {
    rows: i64,
    cols: i64,
    pos: *const i32,
    crd: *const i32,
    vals: *const f64,
}

type Arrays =
    unsafe extern "C" fn(*const Matrix, *mut *const i32, *mut *const i32, *mut *const f64) -> i64;

type Apply = unsafe extern "C" fn(*const Borrowed, i64, *const f64, *const f64, *mut f64);

struct Functions {
    product: unsafe extern "C" fn(*const Borrowed, *const Borrowed) -> *mut Matrix,
    sum: unsafe extern "C" fn(i64, *const Borrowed) -> *mut Matrix,
    apply: Apply,
    arrays: Arrays,
    free: unsafe extern "C" fn(*mut Matrix),
    /// Keeps the functions above mapped.
    _library: Library,
}

impl Eigen {
    /// Compiles and loads the library; `work` is a directory for it.
    pub fn compile(work: &Path) -> Self {
        let headers = std::env::var("EIGEN").unwrap_or_else(|_| HEADERS.into());
        let headers = PathBuf::from(headers);
        let library = build(work, &headers).and_then(|path| load(&path));
        Self { library, version: version(&headers).unwrap_or_default() }
    }
}

impl Contender for Eigen {
    fn name(&self) -> String {
        format!("eigen {}", self.version).trim_end().into()
    }

    fn role(&self) -> Role {
        Role::Peer
    }

    fn prepare<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Prepared + 'a>, Absent> {
        let library = self.library.as_ref().map_err(|why| Absent::NotAvailable(why.clone()))?;
        let dense = match (&problem.operands, problem.operation) {
            (Operands::MatrixVector { a, x }, Operation::Spmv) => Some((a, x, None)),
            (Operands::MatrixDense { a, x }, Operation::Spmm(_)) => Some((a, x, None)),
            (Operands::Residual { a, x, b }, _) => Some((a, x, Some(b))),
            _ => None,
        };
        if let Some((a, x, b)) = dense {
            return in_process(move || Ok(library.apply(a, x, b)), Output::dense);
        }
        let of: Vec<&Csr> = match (&problem.operands, problem.operation) {
            (Operands::TwoMatrices { a, b }, Operation::Spadd) => vec![a, b],
            (Operands::TwoMatrices { a, b }, Operation::Spgemm(_, Order::Sorted)) => vec![a, b],
            (Operands::Matrices { all }, _) if all.len() <= 8 => {
                all.iter().map(Rc::as_ref).collect()
            }
            _ => return Err(Absent::NoOperation),
        };
        let product = matches!(problem.operation, Operation::Spgemm(..));
        in_process(move || library.compute(product, &of), Owned::output)
    }
}

impl Borrowed {
    fn of(a: &Csr) -> Self {
        Self {
            rows: a.rows as i64,
            cols: a.cols as i64,
            pos: a.pos.as_ptr(),
            crd: a.crd.as_ptr(),
            vals: a.vals.as_ptr(),
        }
    }
}

impl Functions {
    fn apply(&self, a: &Csr, x: &Dense, b: Option<&Dense>) -> Vec<f64> {
        let len = a.rows * x.cols;
        let mut y = Vec::with_capacity(len);
        let b = b.map_or(std::ptr::null(), |b| b.vals.as_ptr());
        // SAFETY: a valid CSR matrix, x has its columns as rows, b its rows if there is one; y has room for the
        // result, all of which is written.
        unsafe {
            let (x, columns) = (x.vals.as_ptr(), x.cols as i64);
            (self.apply)(&Borrowed::of(a), columns, x, b, y.as_mut_ptr());
            y.set_len(len);
        }
        y
    }

    fn compute(&self, product: bool, of: &[&Csr]) -> Result<Owned<'_>, String> {
        let all: Vec<Borrowed> = of.iter().map(|a| Borrowed::of(a)).collect();
        // SAFETY: valid CSR matrices of dimensions that go together, at least two of them.
        let matrix = unsafe {
            match product {
                true => (self.product)(&all[0], &all[1]),
                false => (self.sum)(all.len() as i64, all.as_ptr()),
            }
        };
        if matrix.is_null() {
            Err("out of memory".into())
        } else {
            Ok(Owned { matrix, library: self, rows: of[0].rows })
        }
    }
}

/// A result of Eigen's.
struct Owned<'a> {
    matrix: *mut Matrix,
    library: &'a Functions,
    rows: usize,
}

impl Owned<'_> {
    fn output(self) -> Output {
        let (mut pos, mut crd, mut vals) = (std::ptr::null(), std::ptr::null(), std::ptr::null());
        // SAFETY: the matrix lives until `self` is dropped; it has rows + 1 positions (never none), and as many
        // coordinates and values as the call returns, whose arrays are null when there are none.
        unsafe {
            let nnz = (self.library.arrays)(self.matrix, &mut pos, &mut crd, &mut vals) as usize;
            let pos = std::slice::from_raw_parts(pos, self.rows + 1).to_vec();
            if nnz == 0 {
                return Output { pos, ..Output::default() };
            }
            let crd = std::slice::from_raw_parts(crd, nnz).to_vec();
            let vals = std::slice::from_raw_parts(vals, nnz).to_vec();
            Output { pos, crd, vals }
        }
    }
}

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        // SAFETY: the matrix came from this library and is freed once.
        unsafe { (self.library.free)(self.matrix) }
    }
}

fn build(work: &Path, headers: &Path) -> Result<PathBuf, String> {
    if !headers.join("Eigen/Sparse").exists() {
        return Err(format!("no headers in {} (Debian: libeigen3-dev)", headers.display()));
    }
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
    let library = work.join("libeigen.so");
    let pages = work.join("pages.o");
    let flags = ["-O3", "-march=native", "-fPIC", "-w", "-DNDEBUG"];
    let compiler = |variable: &str, default: &str| {
        let mut command = Command::new(std::env::var(variable).unwrap_or_else(|_| default.into()));
        command.args(flags);
        command
    };
    succeeds(compiler("CC", "cc").arg("-c").arg(sources.join("pages.c")).arg("-o").arg(&pages))?;
    // Its own malloc comes first: libc's has no say in pages.
    succeeds(
        compiler("CXX", "c++")
            .args(["-std=gnu++17", "-shared", "-Wl,-Bsymbolic-functions", "-I"])
            .arg(headers)
            .args([&sources.join("eigen.cpp"), &pages])
            .arg("-o")
            .arg(&library),
    )?;
    Ok(library)
}

fn load(path: &Path) -> Result<Functions, String> {
    // SAFETY: the library was compiled from this package's source, which runs nothing on loading; each symbol has
    // the type under which `peers/eigen.cpp` defines it.
    let loaded = unsafe {
        Library::new(path).and_then(|library| {
            **library.get::<*mut i32>(b"pages_huge")? = i32::from(Pages::current() == Pages::Huge);
            Ok(Functions {
                product: *library.get(b"eigen_product")?,
                sum: *library.get(b"eigen_sum")?,
                apply: *library.get(b"eigen_apply")?,
                arrays: *library.get(b"eigen_arrays")?,
                free: *library.get(b"eigen_free")?,
                _library: library,
            })
        })
    };
    loaded.map_err(|e| format!("loading {}: {e}", path.display()))
}

/// What the headers say of themselves.
fn version(headers: &Path) -> Option<String> {
    let text = std::fs::read_to_string(headers.join("Eigen/src/Core/util/Macros.h")).ok()?;
    let part = |name: &str| {
        let line =
            text.lines().find(|l| l.starts_with(&format!("#define EIGEN_{name}_VERSION")))?;
        Some(line.split_whitespace().nth(2)?.to_owned())
    };
    Some(format!("{}.{}.{}", part("WORLD")?, part("MAJOR")?, part("MINOR")?))
}
