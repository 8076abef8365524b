//! The operations that contenders have, by the names of the command line and of the report.

use std::fmt;

use crate::inputs;

/// The rank of TTM and MTTKRP.
pub const RANK: usize = 32;

/// How a matrix is stored; blocks are 3 x 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// Compressed rows.
    Csr,
    /// Compressed columns.
    Csc,
    /// A list of coordinates.
    Coo,
    /// Diagonals.
    Dia,
    /// Compressed rows of blocks.
    Bcsr,
}

impl Storage {
    /// The name of the format, to Tamis.
    pub fn format(self) -> &'static str {
        match self {
            Self::Csr => "csr",
            Self::Csc => "csc",
            Self::Coo => "coo",
            Self::Dia => "dia",
            Self::Bcsr => "bcsr(3,3)",
        }
    }

    fn name(self) -> &'static str {
        self.format().split('(').next().unwrap_or_default()
    }
}

/// The second factor of a product of sparse matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    /// The matrix itself.
    Itself,
    /// A random matrix.
    Random(Density),
}

/// Whether the columns of a row have to ascend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// They ascend.
    Sorted,
    /// Unordered.
    Unsorted,
}

/// What is computed of a sparse result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Which entries it has.
    Assemble,
    /// The values of entries that are known.
    Compute,
}

/// The share of elements that are stored, in ten-thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Density(pub u32);

impl Density {
    /// The share.
    pub fn share(self) -> f64 {
        f64::from(self.0) / 1e4
    }
}

impl fmt::Display for Density {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.share())
    }
}

/// One operation; the number is its count of dense columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Sparse matrix times vector.
    Spmv,
    /// Sparse matrix times dense matrix of so many columns.
    Spmm(usize),
    /// Sparse plus sparse.
    Spadd,
    /// So many sparse matrices, added in one expression.
    SpaddMany(usize),
    /// Sparse times sparse.
    Spgemm(Factor, Order),
    /// A part of the product of a sparse matrix with itself.
    SpgemmPart(Part),
    /// Sparse times sparse, element by element.
    Hadamard,
    /// 3-tensor times vector in its last mode.
    Ttv,
    /// 3-tensor times matrix in its last mode.
    Ttm,
    /// Matricised tensor times Khatri-Rao product.
    Mttkrp,
    /// The same with sparse factors and a sparse result.
    MttkrpSparse(Density),
    /// 3-tensor plus 3-tensor.
    Plus,
    /// Inner product of 3-tensors.
    InnerProduct,
    /// Sampled dense-dense product with so many inner columns.
    Sddmm(usize),
    /// The same times a dense matrix, with so many columns everywhere.
    SddmmSpmm(usize),
    /// SpMV with another storage.
    SpmvOf(Storage),
    /// SpMM with another storage and so many dense columns.
    SpmmOf(Storage, usize),
    /// Vector minus the product of a sparse matrix and a vector.
    Residual,
    /// Sparse plus sparse with another storage.
    SpaddOf(Storage),
    /// One storage to another.
    Convert(Storage, Storage),
}

/// The densities of figure 13 of "Sparse tensor algebra with workspaces".
pub const DENSITIES: [Density; 6] =
    [Density(10_000), Density(2_500), Density(400), Density(100), Density(25), Density(1)];

/// The operations that races run, in the order of the report; tables of papers have some more.
pub const OPERATIONS: [Operation; 40] = [
    Operation::Spmv,
    Operation::Spmm(32),
    Operation::Spmm(64),
    Operation::Spmm(128),
    Operation::Spadd,
    Operation::SpaddMany(3),
    Operation::SpaddMany(4),
    Operation::SpaddMany(5),
    Operation::SpaddMany(6),
    Operation::SpaddMany(7),
    Operation::SpaddMany(8),
    Operation::SpaddMany(16),
    Operation::Hadamard,
    Operation::Spgemm(Factor::Itself, Order::Sorted),
    Operation::Spgemm(Factor::Random(Density(1)), Order::Sorted),
    Operation::Spgemm(Factor::Random(Density(25)), Order::Sorted),
    Operation::SpgemmPart(Part::Assemble),
    Operation::SpgemmPart(Part::Compute),
    Operation::Spgemm(Factor::Itself, Order::Unsorted),
    Operation::Spgemm(Factor::Random(Density(1)), Order::Unsorted),
    Operation::Spgemm(Factor::Random(Density(25)), Order::Unsorted),
    Operation::Ttv,
    Operation::Ttm,
    Operation::Mttkrp,
    Operation::MttkrpSparse(DENSITIES[0]),
    Operation::MttkrpSparse(DENSITIES[1]),
    Operation::MttkrpSparse(DENSITIES[2]),
    Operation::MttkrpSparse(DENSITIES[3]),
    Operation::MttkrpSparse(DENSITIES[4]),
    Operation::MttkrpSparse(DENSITIES[5]),
    Operation::Sddmm(32),
    Operation::Sddmm(128),
    Operation::SpmvOf(Storage::Coo),
    Operation::SpmvOf(Storage::Dia),
    Operation::SpmvOf(Storage::Bcsr),
    Operation::SpaddOf(Storage::Coo),
    Operation::Convert(Storage::Coo, Storage::Csr),
    Operation::Convert(Storage::Csr, Storage::Csc),
    Operation::Convert(Storage::Csr, Storage::Dia),
    Operation::Convert(Storage::Csr, Storage::Bcsr),
];

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spmv => write!(f, "spmv"),
            Self::Spmm(columns) => write!(f, "spmm{columns}"),
            Self::Spadd => write!(f, "spadd"),
            Self::SpaddMany(terms) => write!(f, "spadd{terms}"),
            Self::Hadamard => write!(f, "hadamard"),
            Self::Spgemm(factor, order) => {
                f.write_str("spgemm")?;
                if *order == Order::Unsorted {
                    f.write_str("-unsorted")?;
                }
                match factor {
                    Factor::Itself => Ok(()),
                    Factor::Random(density) => write!(f, "-{density}"),
                }
            }
            Self::SpgemmPart(Part::Assemble) => write!(f, "spgemm-assemble"),
            Self::SpgemmPart(Part::Compute) => write!(f, "spgemm-compute"),
            Self::Ttv => write!(f, "ttv"),
            Self::Ttm => write!(f, "ttm{RANK}"),
            Self::Mttkrp => write!(f, "mttkrp{RANK}"),
            Self::MttkrpSparse(density) => write!(f, "mttkrp{RANK}-sparse-{density}"),
            Self::Sddmm(k) => write!(f, "sddmm{k}"),
            Self::SpmvOf(storage) => write!(f, "spmv-{}", storage.name()),
            Self::SpmmOf(storage, columns) => write!(f, "spmm{columns}-{}", storage.name()),
            Self::Residual => write!(f, "residual"),
            Self::Plus => write!(f, "plus"),
            Self::InnerProduct => write!(f, "innerprod"),
            Self::SddmmSpmm(k) => write!(f, "fused-sddmm{k}-spmm"),
            Self::SpaddOf(storage) => write!(f, "spadd-{}", storage.name()),
            Self::Convert(from, to) => write!(f, "{}-{}", from.name(), to.name()),
        }
    }
}

impl Operation {
    /// Whether it is about matrices in other storage than CSR.
    pub fn is_of_storage(self) -> bool {
        matches!(self, Self::SpmvOf(_) | Self::SpmmOf(..) | Self::SpaddOf(_) | Self::Convert(..))
    }

    /// The inputs it is run on.
    pub fn inputs(self) -> &'static [&'static str] {
        match self {
            Self::Ttv | Self::Ttm | Self::Mttkrp | Self::MttkrpSparse(_) => &inputs::TENSORS,
            Self::SpaddMany(7) => &inputs::ADDED,
            Self::SpaddMany(_) => &inputs::MANY,
            Self::Spgemm(Factor::Itself, _) | Self::SpgemmPart(_) => &inputs::SQUARED,
            Self::Spgemm(Factor::Random(_), _) => &inputs::SMALL,
            Self::SpmvOf(Storage::Dia) | Self::Convert(_, Storage::Dia) => &inputs::STENCILS,
            Self::SpmvOf(Storage::Bcsr) | Self::Convert(_, Storage::Bcsr) => &inputs::BLOCKED,
            _ => &inputs::MATRICES,
        }
    }
}
