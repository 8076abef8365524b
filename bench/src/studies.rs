//! What the studies of schedules compare: the ways, and how much faster some must be than others.

use crate::bars::Required::{self, AtLeast, AtMost};
use crate::inputs::{SMALL, TENSORS};
use crate::operation::Operation;

/// One program in several ways.
pub struct Study {
    /// Its name.
    pub name: &'static str,
    /// The sparse inputs it is run on.
    pub inputs: &'static [&'static str],
    /// The sparse operand: its name and the sizes of its modes.
    pub sparse: (&'static str, &'static [&'static str]),
    /// Dense operands, row-major: their names and the sizes of their modes.
    pub dense: &'static [(&'static str, &'static [&'static str])],
    /// Sizes that the sparse operand does not fix.
    pub sizes: &'static [(&'static str, usize)],
    /// The operation, for contenders that run no programs.
    pub operation: Option<Operation>,
    /// The ways.
    pub ways: &'static [Way],
    /// What must be faster than what.
    pub ratios: &'static [Ratio],
}

/// One way to compute the result.
pub struct Way {
    /// Its name in the table.
    pub name: &'static str,
    /// What computes it.
    pub by: By,
    /// On so many threads.
    pub threads: usize,
}

/// What computes a result.
pub enum By {
    /// Statements, of which the last computes the result, under a schedule, with formats for results
    /// that are not dense.
    Program(&'static str, &'static str, &'static [(&'static str, &'static str)]),
    /// The kernel that is written by hand.
    Hand,
}

/// How many times as fast the fastest of some ways is as the fastest of others.
pub struct Ratio {
    /// These.
    pub fast: &'static [&'static str],
    /// Those.
    pub slow: &'static [&'static str],
    /// The geometric mean over the inputs.
    pub mean: Required,
    /// Every one.
    pub each: Option<f64>,
}

const fn one(name: &'static str, text: &'static str, schedule: &'static str) -> Way {
    Way { name, by: By::Program(text, schedule, &[]), threads: 1 }
}

const fn two(name: &'static str, text: &'static str, schedule: &'static str) -> Way {
    Way { name, by: By::Program(text, schedule, &[]), threads: 2 }
}

const fn with(name: &'static str, text: &'static str, formats: &'static [(&str, &str)]) -> Way {
    Way { name, by: By::Program(text, "", formats), threads: 1 }
}

const fn ratio(fast: &'static [&'static str], slow: &'static [&'static str], mean: f64) -> Ratio {
    Ratio { fast, slow, mean: AtLeast(mean), each: None }
}

/// Fused against the best of the ways to separate, as SparseLNR reports it.
const AGAINST_SEPARATE: Ratio = Ratio {
    fast: &["loopfuse"],
    slow: &["separate", "separate-2"],
    mean: AtLeast(1.0),
    each: None,
};
/// The same where the compiler chooses.
const CHOSEN: Ratio = Ratio {
    fast: &["chosen"],
    slow: &["separate", "separate-2"],
    mean: AtLeast(1.0),
    each: Some(0.85),
};

const SDDMM_SPMM: &str = "A(i,l) = B(i,j) * C(i,k) * D(j,k) * E(j,l)";
const SPMMH_GEMM: &str = "A(i,l) = B(i,j) * C(j,k) * D(j,k) * E(k,l)";
const SPMM_GEMM: &str = "A(i,l) = B(i,j) * C(j,k) * D(k,l)";
const THREE: &str = "A(i,m) = B(i,j) * C(i,k) * D(j,k) * E(j,l) * F(l,m)";
const MTTKRP_GEMM: &str = "A(i,m) = B(i,j,k) * C(j,l) * D(k,l) * E(l,m)";
const SPTTM_SPTTM: &str = "A(i,l,m) = B(i,j,k) * C(k,l) * D(j,m)";
const SPMV: &str = "y(i) = B(i,j) * x(j)";
const SPMM: &str = "Y(i,k) = B(i,j) * X(j,k)";
const MTTKRP: &str = "A(i,j) = B(i,k,l) * C(k,j) * D(l,j)";

const INNER: &[Way] = &[
    one("chosen", SPMM_GEMM, ""),
    one("loopfuse", SPMM_GEMM, "loopfuse(1)"),
    one("separate", "T(i,k) = B(i,j) * C(j,k); A(i,l) = T(i,k) * D(k,l)", ""),
    one("separate-2", "T(j,l) = C(j,k) * D(k,l); A(i,l) = B(i,j) * T(j,l)", ""),
];

/// SpMM and GEMM with other inner dimensions (section 6.3 of "SparseLNR").
const fn inner(name: &'static str, sizes: &'static [(&'static str, usize)]) -> Study {
    Study {
        name,
        inputs: &["fem15k", "rmat14"],
        sparse: ("B", &["i", "j"]),
        dense: &[("C", &["j", "k"]), ("D", &["k", "l"])],
        sizes,
        operation: None,
        ways: INNER,
        ratios: &[CHOSEN],
    }
}

/// All studies, in the order in which they run.
pub const STUDIES: [Study; 15] = [
    Study {
        name: "fused-sddmm-spmm",
        inputs: &SMALL,
        sparse: ("B", &["i", "j"]),
        dense: &[("C", &["i", "k"]), ("D", &["j", "k"]), ("E", &["j", "l"])],
        sizes: &[("k", 64), ("l", 64)],
        operation: Some(Operation::SddmmSpmm(64)),
        ways: &[
            one("chosen", SDDMM_SPMM, ""),
            one("loopfuse", SDDMM_SPMM, "loopfuse(1)"),
            with(
                "separate",
                "S(i,j) = B(i,j) * C(i,k) * D(j,k); A(i,l) = S(i,j) * E(j,l)",
                &[("S", "csr")],
            ),
            one("original", SDDMM_SPMM, "reorder(i, j, k, l)"),
            Way { name: "hand", by: By::Hand, threads: 1 },
        ],
        ratios: &[
            AGAINST_SEPARATE,
            CHOSEN,
            ratio(&["loopfuse"], &["original"], 10.0),
            ratio(&["chosen", "loopfuse"], &["hand"], 0.9),
        ],
    },
    Study {
        name: "fused-spmmh-gemm",
        inputs: &SMALL,
        sparse: ("B", &["i", "j"]),
        dense: &[("C", &["j", "k"]), ("D", &["j", "k"]), ("E", &["k", "l"])],
        sizes: &[("k", 128), ("l", 128)],
        operation: None,
        ways: &[
            one("chosen", SPMMH_GEMM, ""),
            one("loopfuse", SPMMH_GEMM, "loopfuse(1)"),
            one("separate", "T(i,k) = B(i,j) * C(j,k) * D(j,k); A(i,l) = T(i,k) * E(k,l)", ""),
            one(
                "separate-2",
                "H(j,k) = C(j,k) * D(j,k); T(i,k) = B(i,j) * H(j,k); A(i,l) = T(i,k) * E(k,l)",
                "",
            ),
        ],
        ratios: &[AGAINST_SEPARATE, CHOSEN],
    },
    Study {
        name: "fused-spmm-gemm",
        inputs: &SMALL,
        sparse: ("B", &["i", "j"]),
        dense: &[("C", &["j", "k"]), ("D", &["k", "l"])],
        sizes: &[("k", 128), ("l", 64)],
        operation: None,
        ways: &[
            one("chosen", SPMM_GEMM, ""),
            one("loopfuse", SPMM_GEMM, "loopfuse(1)"),
            one("separate", "T(i,k) = B(i,j) * C(j,k); A(i,l) = T(i,k) * D(k,l)", ""),
            one("separate-2", "T(j,l) = C(j,k) * D(k,l); A(i,l) = B(i,j) * T(j,l)", ""),
            one("original", SPMM_GEMM, "reorder(i, j, k, l)"),
        ],
        ratios: &[AGAINST_SEPARATE, CHOSEN, ratio(&["loopfuse"], &["original"], 7.0)],
    },
    Study {
        name: "fused-sddmm-spmm-gemm",
        inputs: &SMALL,
        sparse: ("B", &["i", "j"]),
        dense: &[("C", &["i", "k"]), ("D", &["j", "k"]), ("E", &["j", "l"]), ("F", &["l", "m"])],
        sizes: &[("k", 64), ("l", 64), ("m", 64)],
        operation: None,
        ways: &[
            one("chosen", THREE, ""),
            one("loopfuse", THREE, "loopfuse(2)"),
            with(
                "separate",
                "S(i,j) = B(i,j) * C(i,k) * D(j,k); T(i,l) = S(i,j) * E(j,l); A(i,m) = T(i,l) * F(l,m)",
                &[("S", "csr")],
            ),
            with(
                "separate-2",
                "S(i,j) = B(i,j) * C(i,k) * D(j,k); T(j,m) = E(j,l) * F(l,m); A(i,m) = S(i,j) * T(j,m)",
                &[("S", "csr")],
            ),
        ],
        ratios: &[AGAINST_SEPARATE, CHOSEN],
    },
    Study {
        name: "original-sddmm-spmm-gemm",
        inputs: &["lap2d_128", "lap3d_25"],
        sparse: ("B", &["i", "j"]),
        dense: &[("C", &["i", "k"]), ("D", &["j", "k"]), ("E", &["j", "l"]), ("F", &["l", "m"])],
        sizes: &[("k", 64), ("l", 64), ("m", 64)],
        operation: None,
        ways: &[
            one("loopfuse", THREE, "loopfuse(2)"),
            one("original", THREE, "reorder(i, j, k, l, m)"),
        ],
        ratios: &[ratio(&["loopfuse"], &["original"], 90.0)],
    },
    Study {
        name: "fused-mttkrp-gemm",
        inputs: &TENSORS,
        sparse: ("B", &["i", "j", "k"]),
        dense: &[("C", &["j", "l"]), ("D", &["k", "l"]), ("E", &["l", "m"])],
        sizes: &[("l", 32), ("m", 64)],
        operation: None,
        ways: &[
            one("chosen", MTTKRP_GEMM, ""),
            one("loopfuse", MTTKRP_GEMM, "loopfuse(1)"),
            one("separate", "T(i,l) = B(i,j,k) * C(j,l) * D(k,l); A(i,m) = T(i,l) * E(l,m)", ""),
            one("original", MTTKRP_GEMM, "reorder(i, j, k, l, m)"),
        ],
        ratios: &[AGAINST_SEPARATE, CHOSEN],
    },
    Study {
        name: "fused-spttm-spttm",
        inputs: &["uni1000"],
        sparse: ("B", &["i", "j", "k"]),
        dense: &[("C", &["k", "l"]), ("D", &["j", "m"])],
        sizes: &[("l", 32), ("m", 64)],
        operation: None,
        ways: &[
            one("chosen", SPTTM_SPTTM, ""),
            one("loopfuse", SPTTM_SPTTM, "loopfuse(1)"),
            with(
                "separate",
                "T(i,j,l) = B(i,j,k) * C(k,l); A(i,l,m) = T(i,j,l) * D(j,m)",
                &[("T", "(i, j, l) -> (i: dense, j: compressed, l: dense)")],
            ),
            one("original", SPTTM_SPTTM, "reorder(i, j, k, l, m)"),
        ],
        ratios: &[AGAINST_SEPARATE, CHOSEN],
    },
    inner("fused-spmm-gemm-16", &[("k", 16), ("l", 16)]),
    inner("fused-spmm-gemm-64", &[("k", 64), ("l", 64)]),
    inner("fused-spmm-gemm-256", &[("k", 256), ("l", 256)]),
    Study {
        name: "spmv",
        inputs: &["lap2d_1000", "rmat17", "uni500k"],
        sparse: ("B", &["i", "j"]),
        dense: &[("x", &["j"])],
        sizes: &[],
        operation: Some(Operation::Spmv),
        ways: &[
            one("chosen", SPMV, ""),
            one(
                "scheduled",
                SPMV,
                "split(i, i0, i1, 1024); reorder(i0, i1, j); parallelize(i0, cpu_thread, no_races)",
            ),
            two("chosen on two", SPMV, ""),
        ],
        ratios: &[ratio(&["chosen"], &["scheduled"], 0.95)],
    },
    Study {
        name: "spmm32",
        inputs: &["lap2d_1000", "fem60k", "rmat17", "uni500k"],
        sparse: ("B", &["i", "j"]),
        dense: &[("X", &["j", "k"])],
        sizes: &[("k", 32)],
        operation: Some(Operation::Spmm(32)),
        ways: &[
            one("chosen", SPMM, ""),
            one(
                "scheduled",
                SPMM,
                "split(i, i0, i1, 256); pos(j, jpos, B(i,j)); split(jpos, jpos0, jpos1, 8); \
                 reorder(i0, i1, jpos0, k, jpos1); parallelize(i0, cpu_thread, no_races); \
                 parallelize(k, cpu_vector, ignore_races)",
            ),
            two("chosen on two", SPMM, ""),
        ],
        ratios: &[
            ratio(&["chosen"], &["scheduled"], 0.95),
            ratio(&["chosen on two"], &["chosen"], 1.8),
        ],
    },
    Study {
        name: "mttkrp32",
        inputs: &TENSORS,
        sparse: ("B", &["i", "k", "l"]),
        dense: &[("C", &["k", "j"]), ("D", &["l", "j"])],
        sizes: &[("j", 32)],
        operation: Some(Operation::Mttkrp),
        ways: &[
            one("chosen", MTTKRP, ""),
            one("scheduled", MTTKRP, "reorder(i, k, l, j)"),
            two("chosen on two", MTTKRP, ""),
        ],
        ratios: &[
            ratio(&["chosen"], &["scheduled"], 0.95),
            ratio(&["chosen on two"], &["chosen"], 1.8),
        ],
    },
    Study {
        name: "skewed",
        inputs: &["skewed200k"],
        sparse: ("B", &["i", "j"]),
        dense: &[("x", &["j"])],
        sizes: &[],
        operation: Some(Operation::Spmv),
        ways: &[
            one("one", SPMV, ""),
            two(
                "coordinates on two",
                SPMV,
                "divide(i, i0, i1, 2); parallelize(i0, cpu_thread, no_races)",
            ),
            two(
                "positions on two",
                SPMV,
                "fuse(i, j, f); pos(f, p, B(i,j)); divide(p, p0, p1, 64); \
                 parallelize(p0, cpu_thread, temporary)",
            ),
            two("chosen on two", SPMV, ""),
        ],
        ratios: &[
            ratio(&["positions on two"], &["one"], 1.7),
            ratio(&["chosen on two"], &["one"], 1.7),
            Ratio { fast: &["coordinates on two"], slow: &["one"], mean: AtMost(1.2), each: None },
        ],
    },
    Study {
        name: "tiled",
        inputs: &["wide"],
        sparse: ("B", &["i", "j"]),
        dense: &[("X", &["j", "k"])],
        sizes: &[("k", 32)],
        operation: Some(Operation::Spmm(32)),
        ways: &[
            one("chosen", SPMM, ""),
            one("untiled", SPMM, "reorder(i, k, j)"),
            one(
                "positions",
                SPMM,
                "pos(j, jpos, B(i,j)); split(jpos, jpos0, jpos1, 32); reorder(i, jpos0, k, jpos1)",
            ),
            one("coordinates", SPMM, "split(j, j0, j1, 4096); reorder(j0, i, j1, k)"),
        ],
        ratios: &[ratio(&["positions", "coordinates", "chosen"], &["untiled"], 1.5)],
    },
];
