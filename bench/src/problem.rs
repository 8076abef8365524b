//! What is computed: an operation with its operands, and the result in a form that can be compared.
//!
//! In index notation, with A(i,j) and 3-tensors stored as in [`crate::inputs`] and dense operands row-major:
//!
//! | operation | meaning | result |
//! |---|---|---|
//! | spmv | `y(i) = A(i,j) * x(j)` | dense |
//! | spmm32, 64, 128 | `Y(i,k) = A(i,j) * X(j,k)` | dense, row-major |
//! | residual | `y(i) = b(i) - A(i,j) * x(j)`, x negative | dense |
//! | spadd | `C(i,j) = A(i,j) + B(i,j)` | CSR |
//! | spadd3 ... spadd8, spadd16 | `S(i,j) = A(i,j) + B(i,j) + ...`, one expression | CSR |
//! | hadamard | `C(i,j) = A(i,j) * B(i,j)` | CSR |
//! | spgemm | `C(i,j) = A(i,k) * A(k,j)` | CSR |
//! | spgemm-0.0001, -0.0025 | `C(i,j) = A(i,k) * B(k,j)`, B random of that density | CSR |
//! | spgemm-unsorted ... | the same | CSR with the columns of a row in any order |
//! | spgemm-assemble | the entries of spgemm alone | CSR, its values 0 |
//! | spgemm-compute | the values of spgemm, its entries known | CSR |
//! | ttv | `A(i,j) = B(i,j,k) * c(k)` | CSR, the fibers of B |
//! | ttm32 | `A(i,j,r) = B(i,j,k) * C(k,r)` | (dense, compressed, dense), the fibers of B |
//! | mttkrp32 | `A(i,r) = B(i,k,l) * C(k,r) * D(l,r)` | dense, row-major |
//! | mttkrp32-sparse-1 ... 0.0001 | the same with C, D of that density and in CSR | CSR |
//! | plus | `A(i,j,k) = B(i,j,k) + C(i,j,k)` | compared as rows of pairs (j, k) |
//! | innerprod | `a = B(i,j,k) * C(i,j,k)` | a number |
//! | fused-sddmm64-spmm | `A(i,l) = B(i,j) * C(i,k) * D(j,k) * E(j,l)` | dense, row-major |
//! | sddmm32, 128 | `A(i,j) = B(i,j) * C(i,k) * D(j,k)` | CSR, the pattern of B |
//! | spmv-coo, -dia, -bcsr, spmm32-coo | spmv and spmm with A stored so | dense |
//! | spadd-coo | spadd of lists to a list | compared as CSR |
//! | coo-csr, csr-csc, csr-dia, csr-bcsr | `T(i,j) = A(i,j)`, a conversion | compared as CSR, without zeros |

use std::rc::Rc;

use crate::inputs::{self, Csf3, Csr, Dense};
use crate::operation::{Factor, Operation, RANK};

/// An operation with all its operands.
pub struct Problem {
    /// What is computed.
    pub operation: Operation,
    /// The name of the sparse input.
    pub input: String,
    /// The numbers.
    pub operands: Operands,
}

/// Operands by the shape of the problem; letters as in the table at the top.
pub enum Operands {
    /// SpMV.
    MatrixVector {
        /// The sparse matrix A.
        a: Rc<Csr>,
        /// The vector x, a matrix of one column.
        x: Dense,
    },
    /// The residual.
    Residual {
        /// The sparse matrix A.
        a: Rc<Csr>,
        /// The vector x, a matrix of one column.
        x: Dense,
        /// The vector b, a matrix of one column.
        b: Dense,
    },
    /// A conversion.
    Matrix {
        /// The matrix.
        a: Rc<Csr>,
    },
    /// SpMM.
    MatrixDense {
        /// The sparse matrix A.
        a: Rc<Csr>,
        /// The dense matrix X.
        x: Dense,
    },
    /// Addition, Hadamard product, and product.
    TwoMatrices {
        /// The first matrix.
        a: Rc<Csr>,
        /// The second matrix, of the same dimensions.
        b: Rc<Csr>,
    },
    /// A part of the square of a sparse matrix.
    Squared(Rc<Csr>),
    /// Addition of several.
    Matrices {
        /// The matrices, of the same dimensions.
        all: Vec<Rc<Csr>>,
    },
    /// TTV.
    TensorVector {
        /// The tensor B.
        b: Rc<Csf3>,
        /// The vector c, a matrix of one column.
        c: Dense,
    },
    /// TTM.
    TensorMatrix {
        /// The tensor B.
        b: Rc<Csf3>,
        /// The matrix C.
        c: Dense,
    },
    /// MTTKRP.
    TensorTwoMatrices {
        /// The tensor B.
        b: Rc<Csf3>,
        /// The matrix C, over mode 1.
        c: Dense,
        /// The matrix D, over mode 2.
        d: Dense,
    },
    /// MTTKRP with sparse factors.
    TensorTwoSparse {
        /// The tensor B.
        b: Rc<Csf3>,
        /// The matrix C, over mode 1.
        c: Csr,
        /// The matrix D, over mode 2.
        d: Csr,
    },
    /// Sum and inner product of tensors.
    TwoTensors {
        /// The first tensor.
        b: Rc<Csf3>,
        /// The second tensor, of the same dimensions.
        c: Csf3,
    },
    /// SDDMM, then SpMM.
    SampledProduct {
        /// The sparse matrix B.
        b: Rc<Csr>,
        /// The dense matrices C, over the rows of B, D and E, over its columns.
        dense: [Dense; 3],
    },
    /// SDDMM.
    Sampled {
        /// The sparse matrix B.
        b: Rc<Csr>,
        /// The dense matrix C, over the rows of B.
        c: Dense,
        /// The dense matrix D, over the columns of B.
        d: Dense,
    },
}

/// A sparse input that several operations share.
#[derive(Clone)]
pub enum Input {
    /// A matrix.
    Matrix(Rc<Csr>),
    /// A 3-tensor.
    Tensor(Rc<Csf3>),
}

impl Input {
    /// Generates the input of that name.
    pub fn generate(name: &str) -> Option<Self> {
        inputs::matrix(name)
            .map(|a| Self::Matrix(Rc::new(a)))
            .or_else(|| inputs::tensor(name).map(|b| Self::Tensor(Rc::new(b))))
    }

    /// Dimensions and number of nonzeros, for people.
    pub fn describe(&self) -> String {
        match self {
            Self::Matrix(a) => format!("{} x {}, {} nonzeros", a.rows, a.cols, a.vals.len()),
            Self::Tensor(b) => {
                let [i, j, k] = b.dims;
                let (fibers, nnz) = (b.crd1.len(), b.vals.len());
                format!("{i} x {j} x {k}, {nnz} nonzeros in {fibers} fibers")
            }
        }
    }
}

impl Problem {
    /// Makes the other operands for an operation on an input; `None` when they do not go together.
    pub fn new(operation: Operation, name: &str, input: &Input) -> Option<Self> {
        let operands = match input {
            Input::Matrix(a) => of_matrix(operation, name, a.clone()),
            Input::Tensor(b) => of_tensor(operation, b.clone()),
        };
        Some(Self { operation, input: name.to_owned(), operands: operands? })
    }

    /// The dense operands in the order of their letters.
    pub fn dense(&self) -> Vec<&Dense> {
        match &self.operands {
            Operands::MatrixVector { x, .. } | Operands::MatrixDense { x, .. } => vec![x],
            Operands::Residual { x, b, .. } => vec![x, b],
            Operands::TensorVector { c, .. } | Operands::TensorMatrix { c, .. } => vec![c],
            Operands::TensorTwoMatrices { c, d, .. } | Operands::Sampled { c, d, .. } => vec![c, d],
            Operands::SampledProduct { dense, .. } => dense.iter().collect(),
            _ => vec![],
        }
    }

    /// Bytes of all operands: each has to be read at least once.
    pub fn operand_bytes(&self) -> usize {
        match &self.operands {
            Operands::MatrixVector { a, x } | Operands::MatrixDense { a, x } => {
                csr_bytes(a) + 8 * x.vals.len()
            }
            Operands::Residual { a, x, b } => csr_bytes(a) + 8 * (x.vals.len() + b.vals.len()),
            Operands::TwoTensors { b, c } => csf_bytes(b) + csf_bytes(c),
            Operands::SampledProduct { b, dense } => {
                csr_bytes(b) + 8 * dense.iter().map(|x| x.vals.len()).sum::<usize>()
            }
            Operands::Matrix { a } => csr_bytes(a),
            Operands::TwoMatrices { a, b } => csr_bytes(a) + csr_bytes(b),
            Operands::Squared(a) => 2 * csr_bytes(a),
            Operands::Matrices { all } => all.iter().map(|a| csr_bytes(a)).sum(),
            Operands::TensorTwoSparse { b, c, d } => csf_bytes(b) + csr_bytes(c) + csr_bytes(d),
            Operands::TensorVector { b, c } | Operands::TensorMatrix { b, c } => {
                csf_bytes(b) + 8 * c.vals.len()
            }
            Operands::TensorTwoMatrices { b, c, d } => {
                csf_bytes(b) + 8 * (c.vals.len() + d.vals.len())
            }
            Operands::Sampled { b, c, d } => csr_bytes(b) + 8 * (c.vals.len() + d.vals.len()),
        }
    }
}

fn of_matrix(operation: Operation, name: &str, a: Rc<Csr>) -> Option<Operands> {
    Some(match operation {
        Operation::Convert(..) => Operands::Matrix { a },
        Operation::Spmv | Operation::SpmvOf(_) => {
            Operands::MatrixVector { x: inputs::dense(a.cols, 1, 11), a }
        }
        Operation::Residual => Operands::Residual {
            x: inputs::dense(a.cols, 1, 11).negated(),
            b: inputs::dense(a.rows, 1, 19),
            a,
        },
        Operation::SddmmSpmm(k) => Operands::SampledProduct {
            dense: [(a.rows, 13), (a.cols, 14), (a.cols, 20)]
                .map(|(rows, seed)| inputs::dense(rows, k, seed)),
            b: a,
        },
        Operation::Spmm(columns) | Operation::SpmmOf(_, columns) => {
            Operands::MatrixDense { x: inputs::dense(a.cols, columns, 12), a }
        }
        Operation::Spadd | Operation::SpaddOf(_) | Operation::Hadamard => {
            Operands::TwoMatrices { b: Rc::new(inputs::another(name, &a, 1)), a }
        }
        Operation::SpaddMany(terms) => {
            let others = (1..terms).map(|n| Rc::new(inputs::another(name, &a, n)));
            Operands::Matrices { all: std::iter::once(a.clone()).chain(others).collect() }
        }
        Operation::Spgemm(Factor::Itself, _) => Operands::TwoMatrices { b: a.clone(), a },
        Operation::SpgemmPart(_) => Operands::Squared(a),
        Operation::Spgemm(Factor::Random(density), _) => {
            let b = inputs::random([a.cols, a.cols], density.share(), 31);
            Operands::TwoMatrices { b: Rc::new(b), a }
        }
        Operation::Sddmm(k) => Operands::Sampled {
            c: inputs::dense(a.rows, k, 13),
            d: inputs::dense(a.cols, k, 14),
            b: a,
        },
        _ => return None,
    })
}

fn of_tensor(operation: Operation, b: Rc<Csf3>) -> Option<Operands> {
    Some(match operation {
        Operation::Plus | Operation::InnerProduct => {
            Operands::TwoTensors { c: inputs::another_tensor(&b), b }
        }
        Operation::Ttv => Operands::TensorVector { c: inputs::dense(b.dims[2], 1, 15), b },
        Operation::Ttm => Operands::TensorMatrix { c: inputs::dense(b.dims[2], RANK, 16), b },
        Operation::Mttkrp => Operands::TensorTwoMatrices {
            c: inputs::dense(b.dims[1], RANK, 17),
            d: inputs::dense(b.dims[2], RANK, 18),
            b,
        },
        Operation::MttkrpSparse(density) => Operands::TensorTwoSparse {
            c: inputs::random([b.dims[1], RANK], density.share(), 32),
            d: inputs::random([b.dims[2], RANK], density.share(), 33),
            b,
        },
        _ => return None,
    })
}

fn csr_bytes(a: &Csr) -> usize {
    4 * (a.pos.len() + a.crd.len()) + 8 * a.vals.len()
}

fn csf_bytes(b: &Csf3) -> usize {
    4 * (b.pos1.len() + b.crd1.len() + b.pos2.len() + b.crd2.len()) + 8 * b.vals.len()
}

/// A result: `pos` and `crd` are empty for dense ones. Sparse ones are rows as in CSR, with one value
/// (or [`RANK`] values, for TTM) to a coordinate.
#[derive(Debug, Default)]
pub struct Output {
    /// Row positions.
    pub pos: Vec<i32>,
    /// Coordinates, sorted within a row unless the operation is [`Order::Unsorted`].
    pub crd: Vec<i32>,
    /// Values; dense results row-major.
    pub vals: Vec<f64>,
}

impl Output {
    /// A dense result.
    pub fn dense(vals: Vec<f64>) -> Self {
        Self { vals, ..Self::default() }
    }

    /// Bytes of the result: each has to be written at least once.
    pub fn bytes(&self) -> usize {
        4 * (self.pos.len() + self.crd.len()) + 8 * self.vals.len()
    }

    /// The same with the coordinates of every row sorted.
    pub fn in_order(mut self) -> Self {
        for row in self.pos.windows(2) {
            let row = row[0] as usize..row[1] as usize;
            let entries = self.crd[row.clone()].iter().zip(&self.vals[row.clone()]);
            let mut entries: Vec<(i32, f64)> = entries.map(|(&j, &v)| (j, v)).collect();
            entries.sort_unstable_by_key(|e| e.0);
            for (at, (j, v)) in row.zip(entries) {
                (self.crd[at], self.vals[at]) = (j, v);
            }
        }
        self
    }

    /// Where the two differ, if they do: patterns exactly, values by more than 1e-9 of themselves.
    pub fn difference(&self, other: &Self) -> Option<String> {
        if let Some(difference) = self.difference_of_entries(other) {
            return Some(difference);
        }
        let close = |x: f64, y: f64| (x - y).abs() <= 1e-9 * x.abs().max(y.abs());
        let at = self.vals.iter().zip(&other.vals).position(|(&x, &y)| !close(x, y))?;
        Some(format!("value {at}: {} and {}", self.vals[at], other.vals[at]))
    }

    /// Where the two have entries that the other lacks.
    pub fn difference_of_entries(&self, other: &Self) -> Option<String> {
        let sizes = |o: &Self| (o.pos.len(), o.crd.len(), o.vals.len());
        if sizes(self) != sizes(other) {
            return Some(format!("sizes {:?} and {:?}", sizes(self), sizes(other)));
        }
        let same = self.pos == other.pos && self.crd == other.crd;
        (!same).then(|| "the patterns differ".into())
    }
}
