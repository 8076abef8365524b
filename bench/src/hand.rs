//! The hand-written kernels of `bench/hand/*.c`: compiled by the system's C compiler when the benchmark
//! starts, loaded, and raced as the yardstick. The only file here with unsafe code.
//!
//! Results are allocated freshly for every run, on cache lines, without being cleared first: the kernels
//! write every element.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use libloading::Library;

use crate::contender::{Absent, Contender, Prepared, Role, in_process};
use crate::inputs::{Csf3, Csr, Dense};
use crate::operation::{Operation, Order, RANK};
use crate::problem::{Operands, Output, Problem};

const SOURCES: [&str; 8] =
    ["spmv.c", "spmm.c", "merge.c", "sum.c", "spgemm.c", "tensor.c", "sddmm.c", "fused.c"];
const FLAGS: [&str; 6] = ["-O3", "-march=native", "-std=gnu11", "-shared", "-fPIC", "-w"];

/// The kernels, or why there are none.
pub struct Hand {
    kernels: Result<Kernels, String>,
}

type Index = *const i32;
type Number = *const f64;
type Merge = unsafe extern "C" fn(
    i64,
    Index,
    Index,
    Number,
    Index,
    Index,
    Number,
    *mut i32,
    *mut i32,
    *mut f64,
) -> i64;

type Product = unsafe extern "C" fn(
    i64,
    Index,
    Index,
    Number,
    Index,
    Index,
    Number,
    *mut i32,
    *mut i32,
    *mut f64,
    *mut u8,
    *mut f64,
    *mut i32,
    *mut i32,
    *mut u64,
    i32,
) -> i64;

/// A term of a sum, as the C source has it.
#[repr(C)]
struct Term {
    pos: Index,
    crd: Index,
    vals: Number,
}

/// The functions of the library, with the signatures of the C sources.
struct Kernels {
    spmv: unsafe extern "C" fn(i64, Index, Index, Number, Number, *mut f64),
    spmm: unsafe extern "C" fn(i64, i64, Index, Index, Number, Number, *mut f64),
    add: Merge,
    hadamard: Merge,
    sum: unsafe extern "C" fn(i64, i64, *const Term, *mut i32, *mut i32, *mut f64) -> i64,
    spgemm: Product,
    ttv: unsafe extern "C" fn(i64, Index, Index, Number, Number, *mut f64),
    ttm32: unsafe extern "C" fn(i64, Index, Index, Number, Number, *mut f64),
    mttkrp32:
        unsafe extern "C" fn(i64, Index, Index, Index, Index, Number, Number, Number, *mut f64),
    sddmm32: unsafe extern "C" fn(i64, Index, Index, Number, Number, Number, *mut f64),
    sddmm128: unsafe extern "C" fn(i64, Index, Index, Number, Number, Number, *mut f64),
    sddmm_spmm64: unsafe extern "C" fn(i64, Index, Index, Number, Number, Number, Number, *mut f64),
    /// Keeps the functions above mapped.
    _library: Library,
}

impl Hand {
    /// Compiles and loads the kernels; `work` is a directory for the library.
    pub fn compile(work: &Path) -> Self {
        Self { kernels: build(work).and_then(|library| Kernels::load(&library)) }
    }
}

impl Contender for Hand {
    fn name(&self) -> String {
        "hand".into()
    }

    fn role(&self) -> Role {
        Role::Hand
    }

    fn prepare<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Prepared + 'a>, Absent> {
        let kernels = self.kernels.as_ref().map_err(|why| Absent::NotAvailable(why.clone()))?;
        if problem.operation.is_of_storage() {
            return Err(Absent::NoOperation);
        }
        match &problem.operands {
            Operands::MatrixVector { a, x } => {
                in_process(|| Ok(kernels.spmv(a, x)), |(vals, n)| Output::dense(flat(&vals, n)))
            }
            Operands::Matrix { .. } => Err(Absent::NoOperation),
            Operands::MatrixDense { a, x } => {
                in_process(|| Ok(kernels.spmm(a, x)), |(vals, n)| Output::dense(flat(&vals, n)))
            }
            Operands::TensorTwoSparse { .. }
            | Operands::Squared(_)
            | Operands::Residual { .. }
            | Operands::TwoTensors { .. } => Err(Absent::NoOperation),
            Operands::SampledProduct { b, dense } => {
                let len = b.rows * dense[2].cols;
                in_process(
                    move || Ok(kernels.sddmm_spmm(b, dense)),
                    move |v| Output::dense(flat(&v, len)),
                )
            }
            Operands::Matrices { all } => {
                in_process(|| Ok(kernels.sum(all)), |(pos, crd, vals)| Output { pos, crd, vals })
            }
            Operands::TwoMatrices { a, b } => {
                if let Operation::Spgemm(_, order) = problem.operation {
                    return in_process(
                        move || Ok(kernels.spgemm(a, b, order)),
                        |(pos, crd, vals)| Output { pos, crd, vals },
                    );
                }
                let merge = match problem.operation {
                    Operation::Spadd => kernels.add,
                    _ => kernels.hadamard,
                };
                in_process(
                    move || Ok(merged(merge, a, b)),
                    |(pos, crd, vals)| Output { pos, crd, vals },
                )
            }
            Operands::TensorVector { b, c } => {
                in_process(|| Ok(kernels.tensor(kernels.ttv, b, c, 1)), Sparse::output)
            }
            Operands::TensorMatrix { b, c } => {
                in_process(|| Ok(kernels.tensor(kernels.ttm32, b, c, RANK)), Sparse::output)
            }
            Operands::TensorTwoMatrices { b, c, d } => in_process(
                || Ok(kernels.mttkrp(b, c, d)),
                |(vals, n)| Output::dense(flat(&vals, n)),
            ),
            Operands::Sampled { b, c, d } => {
                in_process(|| Ok(kernels.sddmm(b, c, d)), Sparse::output)
            }
        }
    }
}

fn build(work: &Path) -> Result<PathBuf, String> {
    let library = work.join("libhand.so");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("hand");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let made = Command::new(&compiler)
        .args(FLAGS)
        .args(SOURCES.map(|name| sources.join(name)))
        .arg("-o")
        .arg(&library)
        .output()
        .map_err(|e| format!("no C compiler: {compiler}: {e}"))?;
    if made.status.success() {
        Ok(library)
    } else {
        Err(format!("{compiler} failed: {}", String::from_utf8_lossy(&made.stderr)))
    }
}

impl Kernels {
    fn load(path: &Path) -> Result<Self, String> {
        // SAFETY: the library was compiled from this package's sources, which run nothing on loading;
        // each symbol has the type under which `hand/*.c` defines it.
        let loaded = unsafe {
            Library::new(path).and_then(|library| {
                Ok(Self {
                    spmv: *library.get(b"hand_spmv")?,
                    spmm: *library.get(b"hand_spmm")?,
                    add: *library.get(b"hand_add")?,
                    hadamard: *library.get(b"hand_hadamard")?,
                    sum: *library.get(b"hand_sum")?,
                    spgemm: *library.get(b"hand_spgemm")?,
                    ttv: *library.get(b"hand_ttv")?,
                    ttm32: *library.get(b"hand_ttm32")?,
                    mttkrp32: *library.get(b"hand_mttkrp32")?,
                    sddmm32: *library.get(b"hand_sddmm32")?,
                    sddmm128: *library.get(b"hand_sddmm128")?,
                    sddmm_spmm64: *library.get(b"hand_sddmm_spmm64")?,
                    _library: library,
                })
            })
        };
        loaded.map_err(|e| format!("loading {}: {e}", path.display()))
    }

    fn spmv(&self, a: &Csr, x: &Dense) -> (Vec<Line>, usize) {
        let y = fill(a.rows, |y| {
            let (pos, crd, vals) = (a.pos.as_ptr(), a.crd.as_ptr(), a.vals.as_ptr());
            // SAFETY: a valid CSR matrix, x has a.cols elements and y room for a.rows, all written.
            unsafe { (self.spmv)(a.rows as i64, pos, crd, vals, x.vals.as_ptr(), y) }
        });
        (y, a.rows)
    }

    fn spmm(&self, a: &Csr, x: &Dense) -> (Vec<Line>, usize) {
        let len = a.rows * x.cols;
        let y = fill(len, |y| {
            let (pos, crd, vals) = (a.pos.as_ptr(), a.crd.as_ptr(), a.vals.as_ptr());
            let (rows, cols) = (a.rows as i64, x.cols as i64);
            // SAFETY: a valid CSR matrix, x is a.cols by cols (a multiple of 32), y rows by cols, all written.
            unsafe { (self.spmm)(rows, cols, pos, crd, vals, x.vals.as_ptr(), y) }
        });
        (y, len)
    }

    fn sddmm_spmm(&self, b: &Csr, [c, d, e]: &[Dense; 3]) -> Vec<Line> {
        assert!([c, d, e].iter().all(|x| x.cols == 64), "the kernel is for 64 columns");
        fill(b.rows * e.cols, |a| {
            let (pos, crd, vals) = (b.pos.as_ptr(), b.crd.as_ptr(), b.vals.as_ptr());
            let [c, d, e] = [c, d, e].map(|x| x.vals.as_ptr());
            // SAFETY: a valid CSR matrix, c has b.rows rows, d and e have b.cols, all of 64 columns; a has
            // room for b.rows by 64, all written.
            unsafe { (self.sddmm_spmm64)(b.rows as i64, pos, crd, vals, c, d, e, a) }
        })
    }

    fn tensor(
        &self,
        kernel: unsafe extern "C" fn(i64, Index, Index, Number, Number, *mut f64),
        b: &Csf3,
        c: &Dense,
        width: usize,
    ) -> Sparse {
        let fibers = b.crd1.len();
        let vals = fill(fibers * width, |out| {
            let (pos, crd, vals) = (b.pos2.as_ptr(), b.crd2.as_ptr(), b.vals.as_ptr());
            // SAFETY: the fibers of a valid tensor, c is b.dims[2] by width, out fibers by width, all written.
            unsafe { kernel(fibers as i64, pos, crd, vals, c.vals.as_ptr(), out) }
        });
        Sparse { pos: b.pos1.clone(), crd: b.crd1.clone(), vals, len: fibers * width }
    }

    /// The sum of matrices: room for every possible nonzero, untouched beyond those there are.
    fn sum(&self, all: &[Rc<Csr>]) -> (Vec<i32>, Vec<i32>, Vec<f64>) {
        let most = all.iter().map(|a| a.vals.len()).sum();
        let rows = all[0].rows;
        let terms: Vec<Term> = all
            .iter()
            .map(|a| Term { pos: a.pos.as_ptr(), crd: a.crd.as_ptr(), vals: a.vals.as_ptr() })
            .collect();
        written(rows, most, |pos, crd, vals| {
            // SAFETY: at most sixteen valid CSR matrices of the same dimensions; at most one element is
            // written per nonzero of theirs.
            unsafe { (self.sum)(terms.len() as i64, rows as i64, terms.as_ptr(), pos, crd, vals) }
        })
    }

    /// The product of matrices, with room for every multiplication.
    fn spgemm(&self, a: &Csr, b: &Csr, order: Order) -> (Vec<i32>, Vec<i32>, Vec<f64>) {
        let row = |k: &i32| (b.pos[*k as usize + 1] - b.pos[*k as usize]) as usize;
        let most = a.crd.iter().map(row).sum();
        let (mut marks, mut sums) = (vec![0u8; b.cols], vec![0.0; b.cols]);
        let (mut list, mut other) = (vec![0; b.cols + 1], vec![0; b.cols + 1]);
        let mut bits = vec![0u64; b.cols / 64 + 1];
        written(a.rows, most, |pos, crd, vals| {
            // SAFETY: two valid CSR matrices that may be multiplied; the work arrays are as long as the
            // source asks, and at most one element is written per multiplication.
            unsafe {
                (self.spgemm)(
                    a.rows as i64,
                    a.pos.as_ptr(),
                    a.crd.as_ptr(),
                    a.vals.as_ptr(),
                    b.pos.as_ptr(),
                    b.crd.as_ptr(),
                    b.vals.as_ptr(),
                    pos,
                    crd,
                    vals,
                    marks.as_mut_ptr(),
                    sums.as_mut_ptr(),
                    list.as_mut_ptr(),
                    other.as_mut_ptr(),
                    bits.as_mut_ptr(),
                    i32::from(order == Order::Sorted),
                )
            }
        })
    }

    fn mttkrp(&self, b: &Csf3, c: &Dense, d: &Dense) -> (Vec<Line>, usize) {
        let len = b.dims[0] * RANK;
        let out = fill(len, |out| {
            let (pos1, crd1) = (b.pos1.as_ptr(), b.crd1.as_ptr());
            let (pos2, crd2, vals) = (b.pos2.as_ptr(), b.crd2.as_ptr(), b.vals.as_ptr());
            let (c, d) = (c.vals.as_ptr(), d.vals.as_ptr());
            // SAFETY: a valid tensor without empty fibers, c and d are b.dims[1] and b.dims[2] by RANK,
            // out b.dims[0] by RANK, all written.
            unsafe { (self.mttkrp32)(b.dims[0] as i64, pos1, crd1, pos2, crd2, vals, c, d, out) }
        });
        (out, len)
    }

    fn sddmm(&self, b: &Csr, c: &Dense, d: &Dense) -> Sparse {
        let kernel = if c.cols == 32 { self.sddmm32 } else { self.sddmm128 };
        let vals = fill(b.vals.len(), |out| {
            let (pos, crd, vals) = (b.pos.as_ptr(), b.crd.as_ptr(), b.vals.as_ptr());
            // SAFETY: a valid CSR matrix, c and d have its rows and columns by k (32 or 128, and the
            // kernel is the one for k), out has an element per nonzero, all written.
            unsafe { kernel(b.rows as i64, pos, crd, vals, c.vals.as_ptr(), d.vals.as_ptr(), out) }
        });
        Sparse { pos: b.pos.clone(), crd: b.crd.clone(), vals, len: b.vals.len() }
    }
}

/// The sum or product of two matrices: room for every possible nonzero, untouched beyond those there are.
fn merged(merge: Merge, a: &Csr, b: &Csr) -> (Vec<i32>, Vec<i32>, Vec<f64>) {
    written(a.rows, a.vals.len() + b.vals.len(), |pos, crd, vals| {
        // SAFETY: two valid CSR matrices of the same dimensions; at most one element is written per nonzero of
        // a and b (and at most one beyond them is never started, since a step writes only while both rows have
        // elements left).
        unsafe {
            merge(
                a.rows as i64,
                a.pos.as_ptr(),
                a.crd.as_ptr(),
                a.vals.as_ptr(),
                b.pos.as_ptr(),
                b.crd.as_ptr(),
                b.vals.as_ptr(),
                pos,
                crd,
                vals,
            )
        }
    })
}

/// A matrix of so many rows and at most so many elements, which `write` writes: all positions, and as many
/// elements as it says.
fn written(
    rows: usize,
    most: usize,
    write: impl FnOnce(*mut i32, *mut i32, *mut f64) -> i64,
) -> (Vec<i32>, Vec<i32>, Vec<f64>) {
    let (mut pos, mut crd) = (Vec::with_capacity(rows + 1), Vec::with_capacity(most));
    let mut vals = Vec::with_capacity(most);
    let nnz = write(pos.as_mut_ptr(), crd.as_mut_ptr(), vals.as_mut_ptr()) as usize;
    assert!(nnz <= most, "a kernel writes no more than there is room for");
    // SAFETY: `write` has written so many of each.
    unsafe {
        pos.set_len(rows + 1);
        crd.set_len(nnz);
        vals.set_len(nnz);
    }
    (pos, crd, vals)
}

/// A cache line of numbers: a vector of them is aligned as the kernels like it.
#[repr(C, align(64))]
struct Line([f64; 8]);

/// Room for `len` numbers, which `write` must write, every one.
fn fill(len: usize, write: impl FnOnce(*mut f64)) -> Vec<Line> {
    let lines = len.div_ceil(8);
    let mut room: Vec<Line> = Vec::with_capacity(lines);
    if let Some(last) = room.spare_capacity_mut()[..lines].last_mut() {
        last.write(Line([0.0; 8]));
    }
    write(room.as_mut_ptr().cast());
    // SAFETY: `write` has written the first `len` numbers, and the rest of the last line is zero.
    unsafe { room.set_len(lines) };
    room
}

fn flat(lines: &[Line], len: usize) -> Vec<f64> {
    lines.iter().flat_map(|line| line.0).take(len).collect()
}

/// A sparse result whose values are on cache lines.
struct Sparse {
    pos: Vec<i32>,
    crd: Vec<i32>,
    vals: Vec<Line>,
    len: usize,
}

impl Sparse {
    fn output(self) -> Output {
        Output { vals: flat(&self.vals, self.len), pos: self.pos, crd: self.crd }
    }
}
