//! The Rust libraries: sprs, faer and nalgebra-sparse, each through its own public API, single-threaded,
//! with its own index type and its preferred layout of dense operands.

use std::rc::Rc;

use faer::sparse::linalg::matmul::{sparse_dense_matmul, sparse_sparse_matmul};
use faer::sparse::{SparseColMat, SparseRowMat, SymbolicSparseColMat, SymbolicSparseRowMat};
use faer::{Accum, Mat, MatRef, Par};
use nalgebra::DMatrix;
use nalgebra_sparse::CsrMatrix;
use nalgebra_sparse::ops::Op;
use nalgebra_sparse::ops::serial::spmm_csr_dense;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use sprs::binop::mul_mat_same_storage;
use sprs::{CsMatI, CsMatViewI};

use crate::contender::{Absent, Contender, Prepared, Role, in_process};
use crate::inputs::{Csr, Dense};
use crate::operation::Operation;
use crate::problem::{Operands, Output, Problem};

/// The crate sprs, with 32-bit indices and row-major dense operands, all borrowed.
pub struct Sprs;

/// The crate faer, with 32-bit indices; matrices in CSR, dense operands column-major, as it likes them.
pub struct Faer;

/// The crate nalgebra-sparse; it has 64-bit indices and column-major dense operands only.
pub struct Nalgebra;

impl Contender for Sprs {
    fn name(&self) -> String {
        "sprs".into()
    }

    fn role(&self) -> Role {
        Role::Peer
    }

    fn prepare<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Prepared + 'a>, Absent> {
        if problem.operation.is_of_storage() {
            return Err(Absent::NoOperation);
        }
        match &problem.operands {
            Operands::MatrixVector { a, x } => {
                let (a, x) = (sprs_view(a), ArrayView1::from(&x.vals[..]));
                in_process(
                    move || {
                        let mut y = Array1::<f64>::zeros(a.rows());
                        sprs::prod::mul_acc_mat_vec_csr(a, x, y.view_mut());
                        Ok(y)
                    },
                    |y| Output::dense(y.into_raw_vec_and_offset().0),
                )
            }
            Operands::MatrixDense { a, x } => {
                let columns = x.cols;
                let x = ArrayView2::from_shape((x.rows, columns), &x.vals[..]).map_err(unusable)?;
                let a = sprs_view(a);
                in_process(
                    move || {
                        let mut y = Array2::<f64>::zeros((a.rows(), columns));
                        sprs::prod::csr_mulacc_dense_rowmaj(a, x, y.view_mut());
                        Ok(y)
                    },
                    |y| Output::dense(y.into_raw_vec_and_offset().0),
                )
            }
            Operands::Matrices { all } => {
                let all: Vec<_> = all.iter().map(|a| sprs_view(a)).collect();
                in_process(
                    move || {
                        let first = &all[0] + &all[1];
                        Ok(all[2..].iter().fold(first, |sum, a| &sum + a))
                    },
                    sprs_output,
                )
            }
            Operands::TwoMatrices { a, b } => {
                let (a, b) = (sprs_view(a), sprs_view(b));
                match problem.operation {
                    Operation::Spgemm(..) => in_process(move || Ok(&a * &b), sprs_output),
                    Operation::Spadd => in_process(move || Ok(&a + &b), sprs_output),
                    _ => in_process(
                        move || Ok(mul_mat_same_storage::<f64, f64, f64, _, _, _, _>(&a, &b)),
                        sprs_output,
                    ),
                }
            }
            _ => Err(Absent::NoOperation),
        }
    }
}

impl Contender for Faer {
    fn name(&self) -> String {
        "faer".into()
    }

    fn role(&self) -> Role {
        Role::Peer
    }

    fn prepare<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Prepared + 'a>, Absent> {
        if problem.operation.is_of_storage() {
            return Err(Absent::NoOperation);
        }
        match &problem.operands {
            Operands::MatrixVector { a, x } | Operands::MatrixDense { a, x } => {
                let x = MatRef::from_row_major_slice(&x.vals, x.rows, x.cols).to_owned();
                let a = SparseRowMat::new(
                    SymbolicSparseRowMat::new_checked(
                        a.rows,
                        a.cols,
                        unsigned(&a.pos),
                        None,
                        unsigned(&a.crd),
                    ),
                    a.vals.clone(),
                );
                in_process(
                    move || {
                        let mut y = Mat::<f64>::zeros(a.nrows(), x.ncols());
                        let (into, x) = (y.as_mut(), x.as_ref());
                        sparse_dense_matmul(into, Accum::Replace, a.as_ref(), x, 1.0, Par::Seq);
                        Ok(y)
                    },
                    |y| {
                        Output::dense(
                            (0..y.nrows()).flat_map(|i| y.row(i).iter().copied()).collect(),
                        )
                    },
                )
            }
            Operands::TwoMatrices { a, b } => match problem.operation {
                Operation::Spadd => faer_sum(&[a.clone(), b.clone()]),
                Operation::Spgemm(..) => faer_product(a, b),
                _ => Err(Absent::NoOperation),
            },
            Operands::Matrices { all } => faer_sum(all),
            _ => Err(Absent::NoOperation),
        }
    }
}

/// faer adds matrices stored by columns; the columns of the transpose are the rows here.
fn faer_sum<'a>(all: &[Rc<Csr>]) -> Result<Box<dyn Prepared + 'a>, Absent> {
    let all: Vec<_> = all.iter().map(|a| transposed(a)).collect();
    let add = |a: &SparseColMat<u32, f64>, b: &SparseColMat<u32, f64>| {
        faer::sparse::ops::add(a.as_ref(), b.as_ref()).map_err(|e| format!("{e:?}"))
    };
    in_process(
        move || all[2..].iter().try_fold(add(&all[0], &all[1])?, |sum, a| add(&sum, a)),
        faer_output,
    )
}

/// The transpose of a product is the product of the transposes, the other way round.
fn faer_product<'a>(a: &Csr, b: &Csr) -> Result<Box<dyn Prepared + 'a>, Absent> {
    let (a, b) = (transposed(a), transposed(b));
    in_process(
        move || {
            sparse_sparse_matmul(b.as_ref(), a.as_ref(), 1.0, Par::Seq)
                .map_err(|e| format!("{e:?}"))
        },
        faer_output,
    )
}

fn transposed(m: &Csr) -> SparseColMat<u32, f64> {
    let (pos, crd) = (unsigned(&m.pos), unsigned(&m.crd));
    let pattern = SymbolicSparseColMat::new_checked(m.cols, m.rows, pos, None, crd);
    SparseColMat::new(pattern, m.vals.clone())
}

fn faer_output(c: SparseColMat<u32, f64>) -> Output {
    let (pattern, vals) = c.into_parts();
    let (_, _, pos, _, crd) = pattern.into_parts();
    Output { pos: signed(&pos), crd: signed(&crd), vals }
}

impl Contender for Nalgebra {
    fn name(&self) -> String {
        "nalgebra".into()
    }

    fn role(&self) -> Role {
        Role::Peer
    }

    fn prepare<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Prepared + 'a>, Absent> {
        if problem.operation.is_of_storage() {
            return Err(Absent::NoOperation);
        }
        match &problem.operands {
            Operands::MatrixVector { a, x } | Operands::MatrixDense { a, x } => {
                let (a, x) = (nalgebra_matrix(a)?, nalgebra_dense(x));
                in_process(
                    move || {
                        let mut y = DMatrix::<f64>::zeros(a.nrows(), x.ncols());
                        spmm_csr_dense(0.0, &mut y, 1.0, Op::NoOp(&a), Op::NoOp(&x));
                        Ok(y)
                    },
                    |y| Output::dense(y.transpose().as_slice().to_vec()),
                )
            }
            Operands::TwoMatrices { a, b } if problem.operation == Operation::Spadd => {
                let (a, b) = (nalgebra_matrix(a)?, nalgebra_matrix(b)?);
                in_process(move || Ok(&a + &b), nalgebra_output)
            }
            Operands::TwoMatrices { a, b }
                if matches!(problem.operation, Operation::Spgemm(..)) =>
            {
                let (a, b) = (nalgebra_matrix(a)?, nalgebra_matrix(b)?);
                in_process(move || Ok(&a * &b), nalgebra_output)
            }
            Operands::Matrices { all } => {
                let all = all.iter().map(|a| nalgebra_matrix(a)).collect::<Result<Vec<_>, _>>()?;
                in_process(
                    move || Ok(all[2..].iter().fold(&all[0] + &all[1], |sum, a| sum + a)),
                    nalgebra_output,
                )
            }
            _ => Err(Absent::NoOperation),
        }
    }
}

fn unusable(e: impl std::fmt::Display) -> Absent {
    Absent::NotAvailable(e.to_string())
}

fn sprs_view(a: &Csr) -> CsMatViewI<'_, f64, i32> {
    CsMatViewI::new((a.rows, a.cols), &a.pos, &a.crd, &a.vals)
}

fn sprs_output(c: CsMatI<f64, i32>) -> Output {
    let (pos, crd, vals) = c.into_raw_storage();
    Output { pos, crd, vals }
}

fn unsigned(index: &[i32]) -> Vec<u32> {
    index.iter().map(|&i| i as u32).collect()
}

fn signed(index: &[u32]) -> Vec<i32> {
    index.iter().map(|&i| i as i32).collect()
}

fn nalgebra_matrix(a: &Csr) -> Result<CsrMatrix<f64>, Absent> {
    let wide = |index: &[i32]| index.iter().map(|&i| i as usize).collect::<Vec<_>>();
    CsrMatrix::try_from_csr_data(a.rows, a.cols, wide(&a.pos), wide(&a.crd), a.vals.clone())
        .map_err(unusable)
}

fn nalgebra_dense(x: &Dense) -> DMatrix<f64> {
    DMatrix::from_row_slice(x.rows, x.cols, &x.vals)
}

fn nalgebra_output(c: CsrMatrix<f64>) -> Output {
    let (pos, crd, vals) = c.disassemble();
    let narrow = |index: Vec<usize>| index.into_iter().map(|i| i as i32).collect();
    Output { pos: narrow(pos), crd: narrow(crd), vals }
}
