//! 004, "SparseLNR": fused kernels beside separate ones and single nests.

use super::iteration::of_study;
use super::{Exhibit, Files};

const MATRICES: &str = "matrices of the collection; taco's single nest (original) and its separate kernels. Here \
    generated matrices of about 2^14 rows; one thread";
const TENSORS: &str = "tensors of FROSTT, taco as before; here generated tensors, one thread";

/// The tables and figures.
pub fn exhibits() -> Vec<Exhibit> {
    let matrices = [
        ("figure 5a", "fused-sddmm-spmm", "SDDMM, SpMM"),
        ("figure 5c", "fused-spmm-gemm", "SpMM, GEMM"),
        ("figure 5e", "fused-spmmh-gemm", "SpMMH, GEMM"),
        ("figure 5g", "fused-sddmm-spmm-gemm", "SDDMM, SpMM, GEMM"),
        ("figure 5g, original", "original-sddmm-spmm-gemm", "SDDMM, SpMM, GEMM beside one nest"),
        ("figure 9, 16", "fused-spmm-gemm-16", "SpMM, GEMM with inner dimensions of 16"),
        ("figure 9, 64", "fused-spmm-gemm-64", "SpMM, GEMM with inner dimensions of 64"),
        ("figure 9, 256", "fused-spmm-gemm-256", "SpMM, GEMM with inner dimensions of 256"),
    ];
    let tensors = [
        ("figure 6a", "fused-mttkrp-gemm", "MTTKRP, GEMM"),
        ("figure 6c", "fused-spttm-spttm", "SpTTM, SpTTM"),
    ];
    // What SpTTM makes of a tensor of large dimensions is dense: no files.
    let of = |files: Files, original| {
        move |(figure, study, title)| of_study(figure, study, title, original, files)
    };
    let matrices = matrices.into_iter().map(of(Files::Matrices, MATRICES));
    matrices.chain(tensors.into_iter().map(of(Files::None, TENSORS))).collect()
}
