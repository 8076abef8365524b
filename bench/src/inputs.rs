//! The benchmark's inputs: matrices in CSR, 3-tensors in CSF and dense operands, generated from fixed
//! seeds so that every run, everywhere, computes the same thing.
//!
//! Values lie in `[0.5, 1.5)`: sums never cancel, so a library that drops computed zeros stores the same
//! pattern as one that keeps them.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

/// A matrix in CSR: `crd[pos[i]..pos[i + 1]]` are the sorted columns of row `i`.
#[derive(Clone, Debug, Default)]
pub struct Csr {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Row positions, `rows + 1` of them.
    pub pos: Vec<i32>,
    /// Column coordinates.
    pub crd: Vec<i32>,
    /// Values.
    pub vals: Vec<f64>,
}

impl Csr {
    /// The transposed matrix, with new values.
    fn transposed(&self) -> Self {
        let keys = self.entries().map(|(i, j)| key(j, i)).collect();
        csr_from_keys([self.cols, self.rows], keys, 83)
    }

    /// The coordinates of every entry, by rows.
    pub fn entries(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.rows).flat_map(|i| {
            let row = self.pos[i] as usize..self.pos[i + 1] as usize;
            self.crd[row].iter().map(move |&j| (i, j as usize))
        })
    }
}

/// A 3-tensor as (dense, compressed, compressed): mode 0 dense, modes 1 and 2 compressed.
///
/// `crd1[pos1[i]..pos1[i + 1]]` are the mode-1 coordinates of slice `i`, each the head of a fiber `f`;
/// `crd2[pos2[f]..pos2[f + 1]]` are that fiber's mode-2 coordinates. No fiber is empty.
#[derive(Clone, Debug)]
pub struct Csf3 {
    /// The dimensions.
    pub dims: [usize; 3],
    /// Positions of the fibers of each slice, `dims[0] + 1` of them.
    pub pos1: Vec<i32>,
    /// Mode-1 coordinate of each fiber.
    pub crd1: Vec<i32>,
    /// Positions of the values of each fiber, `crd1.len() + 1` of them.
    pub pos2: Vec<i32>,
    /// Mode-2 coordinate of each value.
    pub crd2: Vec<i32>,
    /// Values.
    pub vals: Vec<f64>,
}

/// A dense row-major matrix whose first element lies on a cache line.
#[derive(Clone, Debug)]
pub struct Dense {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// The elements, row by row.
    pub vals: Arc<Aligned>,
}

impl Dense {
    /// The matrix with every element negated.
    pub fn negated(&self) -> Self {
        let mut vals = self.vals.iter();
        let vals = Aligned::from_fn(self.vals.len(), || vals.next().map_or(0.0, |v| -v));
        Self { vals: Arc::new(vals), ..*self }
    }
}

/// Numbers that start on a 64-byte boundary, as a careful caller would have them: wide loads that
/// straddle cache lines would otherwise decide the race by the luck of the allocator.
#[derive(Debug)]
pub struct Aligned {
    store: Vec<f64>,
    start: usize,
}

impl Aligned {
    fn from_fn(len: usize, mut value: impl FnMut() -> f64) -> Self {
        const LINE: usize = 64 / size_of::<f64>();
        let mut store: Vec<f64> = Vec::with_capacity(len + LINE);
        let start = store.as_ptr().align_offset(64).min(LINE);
        store.resize(start, 0.0);
        store.extend((0..len).map(|_| value()));
        Self { store, start }
    }
}

impl Deref for Aligned {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.store[self.start..]
    }
}

/// The names of the matrices, in the order in which they are run.
pub const MATRICES: [&str; 5] = ["lap2d_1000", "lap3d_100", "fem60k", "rmat17", "uni500k"];
/// Those that are a few diagonals.
pub const STENCILS: [&str; 2] = ["lap2d_1000", "lap3d_100"];
/// Those that are dense blocks of 3 x 3.
pub const BLOCKED: [&str; 1] = ["fem60k"];
/// Those that are squared: rmat14 stands for rmat17, whose square is ten times as large.
pub const SQUARED: [&str; 5] = ["lap2d_1000", "lap3d_100", "fem60k", "rmat14", "uni500k"];
/// Smaller siblings of all, to be multiplied by random matrices of a density.
pub const SMALL: [&str; 5] = ["lap2d_128", "lap3d_25", "fem15k", "rmat14", "uni16k"];
/// Those of which seven are added.
pub const ADDED: [&str; 6] =
    ["lap2d_1000", "lap3d_100", "fem60k", "rmat17", "uni500k", "densities10k"];
/// Those of which any number is added.
pub const MANY: [&str; 2] = ["rmat17", "densities10k"];
/// Densities of the terms of a sum (table 3 of "Sparse tensor algebra with workspaces").
const OF_TERMS: [f64; 7] = [2.56e-2, 1.68e-3, 2.89e-4, 2.50e-3, 2.92e-3, 2.96e-2, 1.06e-2];
/// The names of the 3-tensors.
pub const TENSORS: [&str; 2] = ["uni1000", "zipf5m"];

/// The matrix of that name, or `None` when there is none.
pub fn matrix(name: &str) -> Option<Csr> {
    Some(match name {
        "lap2d_1000" => stencil([1000, 1000, 1]),
        "lap2d_128" => stencil([128, 128, 1]),
        "lap3d_100" => stencil([100, 100, 100]),
        "lap3d_25" => stencil([25, 25, 25]),
        "fem60k" => blocks([25, 25, 32], 3),
        "fem5k" => blocks([12, 12, 12], 3),
        "fem15k" => blocks([25, 25, 8], 3),
        "rmat17" => power_law(17, 16, 3),
        "rmat14" => power_law(14, 16, 3),
        "uni500k" => uniform(500_000, 8, 5),
        "uni16k" => uniform(16_384, 8, 5),
        "densities10k" => random([10_000; 2], OF_TERMS[0], 7),
        "skewed200k" => skewed(200_000, 11),
        // Of the collection, to the entry.
        "lin" => stencil([80, 80, 40]),
        "atmosmodd" => stencil([148, 148, 58]),
        "dixmaanl" => diagonals(60_000, &[-40_000, -20_000, -1, 0, 1, 20_000, 40_000]),
        // Patterns of figures 17 and 18 of "The tensor algebra compiler".
        "dense2k" => random([2_000; 2], 0.95, 15),
        "hypersparse10k" => random([10_000; 2], 2.5e-5, 17),
        "rows5k" => slices(5_000, 9.5e-3, 19),
        "columns5k" => slices(5_000, 9.5e-3, 19).transposed(),
        "thermal5k" => stencil([71, 71, 1]),
        "blocked5k" => random_blocks(5_000, 4, 1e-3, 21),
        "rmat12" => power_law(12, 16, 3),
        "densities4k" => random([4_000; 2], OF_TERMS[0], 7),
        "wide" => random([10_000, 60_000], 1.0 / 60.0, 13),
        _ => return None,
    })
}

/// The `n`-th further operand for element-wise operations on the matrix of that name: another draw of a
/// random matrix; of a structured one, the columns moved by `n`, so that the patterns overlap in part.
pub fn another(name: &str, first: &Csr, n: usize) -> Csr {
    let seed = 20 * n as u64;
    match name {
        "rmat17" => power_law(17, 16, 3 + seed),
        "uni500k" => uniform(500_000, 8, 5 + seed),
        "densities10k" | "densities4k" => {
            random([first.rows; 2], OF_TERMS[n % OF_TERMS.len()], 7 + seed)
        }
        _ => shifted(first, n),
    }
}

/// A random matrix of so many rows and columns, of which about the given share is stored.
pub fn random([rows, cols]: [usize; 2], density: f64, seed: u64) -> Csr {
    let mut rng = Rng::new(seed);
    // Gaps between stored elements are geometric.
    let per_gap = (1.0 - density).ln().recip();
    let mut keys = Vec::with_capacity(((rows * cols) as f64 * density * 1.1) as usize);
    let mut at = 0;
    loop {
        at += if density < 1.0 { ((1.0 - rng.unit()).ln() * per_gap) as usize } else { 0 };
        if at >= rows * cols {
            return csr_from_keys([rows, cols], keys, seed + 1);
        }
        keys.push(key(at / cols, at % cols));
        at += 1;
    }
}

/// The 3-tensor of that name, or `None` when there is none.
pub fn tensor(name: &str) -> Option<Csf3> {
    Some(match name {
        "uni1000" => tensor_of([1000; 3], 2_000_000, |rng, dim| rng.below(dim)),
        "facebook" => tensor_of([1_591, 63_891, 63_890], 737_934, |rng, dim| rng.zipf(dim)),
        "cube160" => tensor_of([160; 3], 160 * 160 * 152, |rng, dim| rng.below(dim)),
        "zipf5m" => tensor_of([8000; 3], 5_000_000, |rng, dim| rng.zipf(dim)),
        _ => return None,
    })
}

/// A dense matrix of the given size.
pub fn dense(rows: usize, cols: usize, seed: u64) -> Dense {
    let mut rng = Rng::new(seed);
    Dense { rows, cols, vals: Arc::new(Aligned::from_fn(rows * cols, || rng.value())) }
}

/// The tensor with every coordinate of its last mode moved by one, cyclically, and new values.
pub fn another_tensor(b: &Csf3) -> Csf3 {
    let mut rng = Rng::new(77);
    let mut crd2: Vec<i32> = b.crd2.iter().map(|&k| (k + 1) % b.dims[2] as i32).collect();
    for fiber in b.pos2.windows(2) {
        crd2[fiber[0] as usize..fiber[1] as usize].sort_unstable();
    }
    let vals = crd2.iter().map(|_| rng.value()).collect();
    Csf3 { crd2, vals, ..b.clone() }
}

/// `a` with every column moved by `n` to the right, cyclically, and new values.
fn shifted(a: &Csr, n: usize) -> Csr {
    let mut rng = Rng::new(76 + n as u64);
    let mut crd: Vec<i32> = a.crd.iter().map(|&j| (j + n as i32) % a.cols as i32).collect();
    for row in a.pos.windows(2) {
        crd[row[0] as usize..row[1] as usize].sort_unstable();
    }
    let vals = crd.iter().map(|_| rng.value()).collect();
    Csr { rows: a.rows, cols: a.cols, pos: a.pos.clone(), crd, vals }
}

/// The entries of whole diagonals, by the columns less the rows.
fn diagonals(n: usize, offsets: &[i64]) -> Csr {
    let column = |row: usize, offset: &i64| usize::try_from(row as i64 + offset).ok();
    let row = |row: usize| offsets.iter().filter_map(move |o| Some((row, column(row, o)?)));
    let keys = (0..n).flat_map(row).filter(|&(_, j)| j < n).map(|(i, j)| key(i, j)).collect();
    csr_from_keys([n; 2], keys, 1)
}

/// Full rows among empty ones, of a density.
fn slices(n: usize, density: f64, seed: u64) -> Csr {
    let mut rng = Rng::new(seed);
    let mut rows = BTreeSet::new();
    while rows.len() < (n as f64 * density) as usize {
        rows.insert(rng.below(n));
    }
    let keys = rows.iter().flat_map(|&i| (0..n).map(move |j| key(i, j))).collect();
    csr_from_keys([n; 2], keys, seed + 1)
}

/// Dense blocks of `side` by `side` at random, of a density.
fn random_blocks(n: usize, side: usize, density: f64, seed: u64) -> Csr {
    let grid = random([n / side; 2], density, seed);
    let of = |(i, j): (usize, usize)| {
        (0..side * side).map(move |e| key(i * side + e / side, j * side + e % side))
    };
    csr_from_keys([n; 2], grid.entries().flat_map(of).collect(), seed + 1)
}

/// About the given share of a matrix's entries.
pub fn thinned(a: &Csr, share: f64) -> Csr {
    let mut rng = Rng::new(79);
    let kept = a.entries().filter(|_| share >= 1.0 || rng.unit() < share);
    csr_from_keys([a.rows, a.cols], kept.map(|(i, j)| key(i, j)).collect(), 80)
}

/// About the given share of a tensor's entries.
pub fn thinned_tensor(b: &Csf3, share: f64) -> Csf3 {
    let mut rng = Rng::new(81);
    let slices =
        (0..b.dims[0]).flat_map(|i| (b.pos1[i]..b.pos1[i + 1]).map(move |f| (i, f as usize)));
    let entries = slices.flat_map(|(i, f)| {
        (b.pos2[f]..b.pos2[f + 1])
            .map(move |p| tensor_key([i, b.crd1[f] as usize, b.crd2[p as usize] as usize]))
    });
    let keys: Vec<u64> = entries.filter(|_| share >= 1.0 || rng.unit() < share).collect();
    csf_from_keys(b.dims, &keys)
}

/// The 5-point (one dimension 1) or 7-point stencil on a grid, in natural order.
fn stencil(grid: [usize; 3]) -> Csr {
    let [nx, ny, nz] = grid;
    let strides = [1, nx, nx * ny];
    let mut keys = Vec::with_capacity(7 * nx * ny * nz);
    for (row, at) in grid_points(grid).enumerate() {
        keys.push(key(row, row));
        for d in 0..3 {
            if at[d] > 0 {
                keys.push(key(row, row - strides[d]));
            }
            if at[d] + 1 < grid[d] {
                keys.push(key(row, row + strides[d]));
            }
        }
    }
    csr_from_keys([nx * ny * nz; 2], keys, 1)
}

/// Finite elements in miniature: the nodes of a grid see 86 % of their 26 neighbours, symmetrically, and
/// each coupling is a dense block of `dofs` by `dofs`.
fn blocks(grid: [usize; 3], dofs: usize) -> Csr {
    let nodes = grid[0] * grid[1] * grid[2];
    let mut keys = Vec::new();
    for (a, at) in grid_points(grid).enumerate() {
        for b in neighbours(at, grid) {
            let pair = ((a.min(b) as u64) << 32) | a.max(b) as u64;
            if a == b || Rng::new(pair).unit() < 0.86 {
                keys.extend(
                    (0..dofs * dofs).map(|e| key(a * dofs + e / dofs, b * dofs + e % dofs)),
                );
            }
        }
    }
    csr_from_keys([nodes * dofs; 2], keys, 2)
}

/// R-MAT with the Graph500 probabilities (0.57, 0.19, 0.19, 0.05); edges drawn twice count once.
fn power_law(scale: u32, per_row: usize, seed: u64) -> Csr {
    let n = 1usize << scale;
    let mut rng = Rng::new(seed);
    let keys = (0..n * per_row)
        .map(|_| {
            (0..scale).fold(0u64, |edge, _| {
                let u = rng.unit();
                let (row, col) = match u {
                    _ if u < 0.57 => (0, 0),
                    _ if u < 0.76 => (0, 1),
                    _ if u < 0.95 => (1, 0),
                    _ => (1, 1),
                };
                (edge << 1) | (row << 32) | col
            })
        })
        .collect();
    csr_from_keys([n; 2], keys, seed + 1)
}

/// Uniformly random coordinates, about `per_row` to a row.
fn uniform(n: usize, per_row: usize, seed: u64) -> Csr {
    let mut rng = Rng::new(seed);
    let keys = (0..n * per_row).map(|_| key(rng.below(n), rng.below(n))).collect();
    csr_from_keys([n; 2], keys, seed + 1)
}

/// Rows whose lengths fall exponentially, by a factor of e every hundredth of the rows; the first has 3,000
/// nonzeros.
fn skewed(n: usize, seed: u64) -> Csr {
    let mut rng = Rng::new(seed);
    let length = |row: usize| 3_000.0 * (-(row as f64) / (n as f64 / 100.0)).exp();
    let keys = (0..n).flat_map(|row| (0..length(row).ceil() as usize).map(move |_| row));
    let keys = keys.map(|row| key(row, rng.below(n))).collect();
    csr_from_keys([n; 2], keys, seed + 1)
}

/// A tensor of exactly `nnz` distinct coordinates, each mode drawn by `draw`.
fn tensor_of(dims: [usize; 3], nnz: usize, draw: impl Fn(&mut Rng, usize) -> usize) -> Csf3 {
    let mut rng = Rng::new(7);
    let mut keys: Vec<u64> = Vec::with_capacity(nnz);
    while keys.len() < nnz {
        keys.extend((keys.len()..nnz).map(|_| tensor_key(dims.map(|dim| draw(&mut rng, dim)))));
        keys.sort_unstable();
        keys.dedup();
    }
    csf_from_keys(dims, &keys)
}

/// The coordinates of an entry of a tensor in one number, for dimensions below 2^21.
pub fn tensor_key(coordinates: [usize; 3]) -> u64 {
    coordinates.iter().fold(0, |key, &c| (key << 21) | c as u64)
}

/// A tensor of the entries with these keys, which ascend.
pub fn csf_from_keys(dims: [usize; 3], keys: &[u64]) -> Csf3 {
    let mut rng = Rng::new(8);
    let mut pos1 = vec![0; dims[0] + 1];
    let (mut crd1, mut pos2, mut crd2) = (Vec::new(), Vec::new(), Vec::new());
    let mut fiber = None;
    for (p, &k) in keys.iter().enumerate() {
        if fiber != Some(k >> 21) {
            fiber = Some(k >> 21);
            pos1[(k >> 42) as usize + 1] += 1;
            crd1.push((k >> 21 & 0x1f_ffff) as i32);
            pos2.push(p as i32);
        }
        crd2.push((k & 0x1f_ffff) as i32);
    }
    pos2.push(keys.len() as i32);
    accumulate(&mut pos1);
    let vals = keys.iter().map(|_| rng.value()).collect();
    Csf3 { dims, pos1, crd1, pos2, crd2, vals }
}

/// A matrix of the entries with these keys, in any order.
pub fn csr_from_keys([rows, cols]: [usize; 2], mut keys: Vec<u64>, seed: u64) -> Csr {
    keys.sort_unstable();
    keys.dedup();
    let mut rng = Rng::new(seed);
    let mut pos = vec![0; rows + 1];
    for k in &keys {
        pos[(k >> 32) as usize + 1] += 1;
    }
    accumulate(&mut pos);
    let crd = keys.iter().map(|&k| k as u32 as i32).collect();
    let vals = keys.iter().map(|_| rng.value()).collect();
    Csr { rows, cols, pos, crd, vals }
}

/// The coordinates of an entry of a matrix in one number.
pub fn key(row: usize, col: usize) -> u64 {
    (row as u64) << 32 | col as u64
}

fn accumulate(counts: &mut [i32]) {
    let mut sum = 0;
    for c in counts {
        sum += *c;
        *c = sum;
    }
}

fn grid_points([nx, ny, nz]: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..nz).flat_map(move |z| (0..ny).flat_map(move |y| (0..nx).map(move |x| [x, y, z])))
}

/// The numbers of the points of the 3x3x3 cube around `at` that lie in the grid.
fn neighbours(at: [usize; 3], grid: [usize; 3]) -> impl Iterator<Item = usize> {
    grid_points([3; 3]).filter_map(move |step| {
        let mut to = [0; 3];
        for d in 0..3 {
            to[d] = (at[d] + step[d]).checked_sub(1).filter(|&c| c < grid[d])?;
        }
        Some(to[0] + grid[0] * (to[1] + grid[1] * to[2]))
    })
}

/// SplitMix64: small, seedable by anything, good enough for inputs.
pub struct Rng(u64);

impl Rng {
    /// A generator whose whole sequence follows from the seed. The seed is scrambled: counting seeds would
    /// otherwise give one sequence from neighbouring starts.
    pub fn new(seed: u64) -> Self {
        Self(scramble(!seed))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        scramble(self.0)
    }

    /// Uniform in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in `0..n`.
    pub fn below(&mut self, n: usize) -> usize {
        ((self.next() as u128 * n as u128) >> 64) as usize
    }

    fn value(&mut self) -> f64 {
        0.5 + self.unit()
    }

    /// Zipf with exponent 1 by the continuous inverse: rank `r` with a chance near `1 / r`. Ranks are
    /// scattered over the coordinates, since popular things seldom come first in real data.
    fn zipf(&mut self, n: usize) -> usize {
        let rank = ((n as f64 + 1.0).powf(self.unit()) - 1.0) as usize;
        rank.min(n - 1) * 7919 % n
    }
}

fn scramble(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_csr(a: &Csr) {
        assert_eq!((a.pos.len(), a.pos[a.rows] as usize), (a.rows + 1, a.crd.len()));
        for row in a.pos.windows(2) {
            let crd = &a.crd[row[0] as usize..row[1] as usize];
            assert!(crd.windows(2).all(|w| w[0] < w[1]));
            assert!(crd.iter().all(|&j| (0..a.cols as i32).contains(&j)));
        }
    }

    #[test]
    fn generators_give_sorted_rows() {
        let small =
            [stencil([4, 3, 1]), stencil([3, 3, 3]), blocks([3, 3, 2], 3), power_law(6, 4, 1)];
        for a in small {
            check_csr(&a);
            check_csr(&shifted(&a, 2));
        }
        assert_eq!(stencil([4, 3, 1]).crd.len(), 12 + 2 * (3 * 3 + 4 * 2));
    }

    #[test]
    fn random_matrices_have_their_density() {
        for (density, least, most) in [(1.0, 120_000, 120_000), (0.04, 4500, 5100)] {
            let a = random([300, 400], density, 9);
            check_csr(&a);
            assert!((least..=most).contains(&a.crd.len()), "{}", a.crd.len());
        }
    }

    #[test]
    fn thinned_inputs_keep_a_share() {
        let a = thinned(&random([200; 2], 1.0, 9), 0.25);
        check_csr(&a);
        assert!((9_000..11_000).contains(&a.crd.len()), "{}", a.crd.len());
        let b = tensor_of([50; 3], 3000, |rng, dim| rng.zipf(dim));
        assert_eq!(thinned_tensor(&b, 1.0).crd2, b.crd2);
        assert_eq!(another_tensor(&b).pos2, b.pos2);
    }

    #[test]
    fn diagonals_slices_and_blocks_are_where_they_should_be() {
        assert_eq!(diagonals(5, &[-3, 0, 1]).crd, [0, 1, 1, 2, 2, 3, 0, 3, 4, 1, 4]);
        let rows = slices(100, 0.1, 19);
        assert_eq!(rows.crd.len(), 1000);
        check_csr(&rows.transposed());
        check_csr(&random_blocks(40, 4, 0.2, 21));
    }

    #[test]
    fn tensors_have_the_promised_size() {
        let t = tensor_of([50; 3], 3000, |rng, dim| rng.zipf(dim));
        assert_eq!(t.vals.len(), 3000);
        assert_eq!(*t.pos1.last().unwrap() as usize, t.crd1.len());
        assert!(t.pos2.windows(2).all(|w| w[0] < w[1]));
    }

    #[test]
    fn dense_operands_start_on_a_cache_line() {
        assert_eq!(dense(3, 5, 1).vals.as_ptr().align_offset(64), 0);
        assert_eq!(dense(3, 5, 1).vals.len(), 15);
    }
}
