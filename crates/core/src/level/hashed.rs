//! The hashed level: each parent has a hash map of its own. The number of buckets is a power of two, and larger than
//! that of the coordinates. A hash of the coordinate, counted from the lowest one, gives its first bucket. If another
//! coordinate has that bucket, the buckets 1, 3, 6, 10, .. behind it are tried (triangular numbers: Knuth, The Art of
//! Computer Programming, section 6.4, exercise 20). -1 marks an empty bucket.
//!
//! The hash keeps [`BLOCK`] coordinates together, so that neighbours share a cache line. Two multiplications scatter
//! the blocks, so that coordinates at a fixed distance, such as those of a grid, do not cluster.
//!
//! ```text
//! parent    0              1        2
//! pos       0              4        5             9
//! crd       4 1 -1 0       -1       -1 5 2 -1       0 found its bucket taken by 4, and the next one by 1
//! ```

use super::hashed_workspace::{OF_KEY, OF_PARENT};
use super::{
    Bounds, Insert, InsertEdges, Labelled, LevelArrays, LevelFormat, LevelView, Located, Names,
    Part, Properties, compressed,
};
use tamis_ir::algebra::BinaryOp;
use tamis_ir::datatype::{Register, Scalar};
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{
    add, all, assign, binary, bit_and, div, eq, int, load, lt, mul, store, sub,
};
use tamis_ir::ir::{Expr, Stmt};

pub(super) const PROPERTIES: Properties =
    Properties { ordered: false, compact: false, ..Properties::LISTED };

#[derive(Debug)]
pub(super) struct Hashed;

impl LevelFormat for Hashed {
    fn name(&self) -> &'static str {
        "hashed"
    }

    fn properties(&self) -> Properties {
        PROPERTIES
    }

    fn parts(&self) -> &'static [Part] {
        &[Part::Pos, Part::Crd]
    }

    fn summary(&self) -> &'static str {
        "a hash map of coordinates for each parent"
    }

    fn walks(&self) -> bool {
        true
    }

    fn pos_bounds(&self, level: &LevelArrays, parent: Expr) -> Option<Bounds> {
        let (lo, hi) = table(level, parent);
        Some(Bounds { lo, hi })
    }

    fn pos_access(&self, level: &LevelArrays, _: Expr, position: Expr) -> Option<Labelled> {
        let stored = level.coordinate(position);
        let found = binary(BinaryOp::Ne, stored.clone(), int(-1));
        Some(Labelled { coordinate: level.with_least(stored), found: Some(found) })
    }

    fn locates(&self) -> bool {
        true
    }

    /// Probes bucket after bucket; each hash map has an empty bucket, which ends the search.
    fn locate(
        &self,
        level: &LevelArrays,
        parent: Expr,
        coordinate: Expr,
        names: &mut dyn Names,
    ) -> Option<Located> {
        let coordinate = level.from_least(coordinate);
        let (bucket, step, p) = (names.index("bucket"), names.index("step"), names.index("p"));
        let stored = || level.coordinate(Expr::Var(p));
        let (begin, end) = table(level, parent);
        let width = sub(end, begin.clone());
        let at = || assign(p, add(begin.clone(), Expr::Var(bucket)));
        let farther = assign(step, add(Expr::Var(step), int(1)));
        let next = bit_and(add(Expr::Var(bucket), Expr::Var(step)), sub(width.clone(), int(1)));
        let elsewhere = all([
            binary(BinaryOp::Ne, stored(), coordinate.clone()),
            binary(BinaryOp::Ne, stored(), int(-1)),
        ]);
        let mut stmts = first_bucket(bucket, coordinate.clone(), width);
        let body = vec![farther, assign(bucket, next), at()];
        stmts.extend([at(), assign(step, int(0)), Stmt::While { cond: elsewhere, body }]);
        let found = eq(stored(), coordinate);
        Some(Located { stmts, position: Expr::Var(p), found: Some(found) })
    }

    fn size(&self, level: &LevelArrays, parents: Expr) -> Option<Expr> {
        Some(load(level.pos(), parents))
    }

    fn insert(&self) -> Option<&dyn Insert> {
        Some(self)
    }

    fn positions(&self, level: &LevelView<'_>, parents: u64) -> u64 {
        level.pos(parents)
    }

    fn children(
        &self,
        level: &LevelView<'_>,
        parent: u64,
        _: (i64, i64),
        visit: &mut dyn FnMut(u64, i64),
    ) {
        for p in level.pos(parent)..level.pos(parent + 1) {
            let c = level.coordinate(p);
            if c != -1 {
                visit(p, c + level.header.least);
            }
        }
    }

    fn check(&self, level: &LevelView<'_>, parents: u64) -> Result<(), String> {
        compressed::check_segments(level, parents)?;
        (0..parents).try_for_each(|parent| {
            let begin = level.pos(parent);
            check_table(level, begin, level.pos(parent + 1) - begin)
        })
    }

    fn length(&self, level: &LevelView<'_>, part: Part, parents: u64) -> u64 {
        match part {
            Part::Pos => parents.saturating_add(1),
            _ => level.pos(parents),
        }
    }
}

/// The start and the end of a parent's hash map.
fn table(level: &LevelArrays, parent: Expr) -> (Expr, Expr) {
    (load(level.pos(), parent.clone()), load(level.pos(), add(parent, int(1))))
}

/// The number of consecutive coordinates, from a multiple of it on, that hash to adjacent buckets.
const BLOCK: u64 = 8;
/// The multipliers of block numbers, applied one after the other.
const FACTORS: [u64; 2] = [OF_KEY.cast_unsigned(), OF_PARENT.cast_unsigned()];
const HALF: u64 = 1 << 32;

/// The bucket at which the search for a coordinate begins.
fn first_bucket(bucket: Var, coordinate: Expr, width: Expr) -> Vec<Stmt> {
    let number = |x| Expr::Const(Scalar::U64(x));
    let convert = |to, e| Expr::Convert(to, Box::new(e));
    let coordinate = convert(Register::U64, coordinate);
    let block = div(coordinate.clone(), number(BLOCK));
    let first = mul(block, number(FACTORS[0]));
    // The hash mixes both halves of the product.
    let product = convert(Register::U64, Expr::Var(bucket));
    let halves = add(product.clone(), div(product, number(HALF)));
    let second = div(mul(halves, number(FACTORS[1])), number(HALF));
    let within = bit_and(coordinate, number(BLOCK - 1));
    let bits = convert(Register::I64, add(mul(second, number(BLOCK)), within));
    vec![
        assign(bucket, convert(Register::I64, first)),
        assign(bucket, bit_and(bits, sub(width, int(1)))),
    ]
}

/// The first bucket of a coordinate, computed on the host: see [`first_bucket`].
fn first_bucket_of(coordinate: i64, width: u64) -> u64 {
    let coordinate = coordinate.cast_unsigned();
    let first = (coordinate / BLOCK).wrapping_mul(FACTORS[0]);
    let second = first.wrapping_add(first / HALF).wrapping_mul(FACTORS[1]) / HALF;
    (second * BLOCK + coordinate % BLOCK) % width
}

/// Checks that probing from its first bucket on finds each coordinate, and that every search ends.
fn check_table(level: &LevelView<'_>, base: u64, width: u64) -> Result<(), String> {
    if !width.is_power_of_two() {
        return Err(format!("a hash table has {width} buckets, which is not a power of two"));
    }
    if !(0..width).any(|b| level.coordinate(base + b) == -1) {
        return Err("a hash table has no empty bucket, so searches would not end".to_owned());
    }
    for b in 0..width {
        let c = level.coordinate(base + b);
        match c {
            -1 => continue,
            ..-1 => return Err(format!("bucket {b} holds {c}; -1 marks an empty one")),
            0.. => {}
        }
        let (mut at, mut step) = (first_bucket_of(c, width), 0);
        while at != b && !matches!(level.coordinate(base + at), -1) {
            if level.coordinate(base + at) == c {
                return Err(format!("the coordinate {c} is in a hash table twice"));
            }
            step += 1;
            at = (at + step) % width;
        }
        if at != b {
            return Err(format!("the coordinate {c} is not found from its bucket on"));
        }
    }
    Ok(())
}

impl Insert for Hashed {
    fn insert_init(&self, level: &LevelArrays, lo: Expr, hi: Expr) -> Vec<Stmt> {
        let crd = level.crd.expect("a hashed level has coordinates");
        let room = Stmt::Reserve { array: crd.array, len: hi.clone() };
        vec![room, Stmt::Fill { array: crd.array, lo, hi, value: int(-1) }]
    }

    fn insert_position(
        &self,
        level: &LevelArrays,
        parent: Expr,
        coordinate: Expr,
        names: &mut dyn Names,
    ) -> Located {
        self.locate(level, parent, coordinate, names).expect("a hashed level locates")
    }

    fn insert_coord(&self, level: &LevelArrays, position: Expr, coordinate: Expr) -> Vec<Stmt> {
        vec![level.set_coordinate(position, level.from_least(coordinate))]
    }

    fn edges(&self) -> Option<&dyn InsertEdges> {
        Some(self)
    }

    /// Twice the children, as a power of two, so that a bucket stays empty.
    fn insert_width(&self, children: Expr, width: Var) -> Option<Vec<Stmt>> {
        let narrow = lt(Expr::Var(width), mul(children, int(2)));
        let wider = assign(width, mul(Expr::Var(width), int(2)));
        Some(vec![assign(width, int(1)), Stmt::While { cond: narrow, body: vec![wider] }])
    }
}

impl InsertEdges for Hashed {
    /// A hash map without coordinates has one bucket.
    fn edges_init(&self, level: &LevelArrays, lo: Expr, hi: Expr) -> Vec<Stmt> {
        let (lo, hi) = (add(lo, int(1)), add(hi, int(1)));
        let room = Stmt::Reserve { array: level.pos(), len: hi.clone() };
        vec![room, Stmt::Fill { array: level.pos(), lo, hi, value: int(1) }]
    }

    fn insert_edges(&self, level: &LevelArrays, parent: Expr, width: Expr) -> Vec<Stmt> {
        vec![store(level.pos(), add(parent, int(1)), width)]
    }

    fn edges_finalize(
        &self,
        level: &LevelArrays,
        parents: Expr,
        scratch: Var,
        total: Var,
        check: Vec<Stmt>,
    ) -> Vec<Stmt> {
        let mut stmts = vec![
            Stmt::Reserve { array: level.pos(), len: add(parents.clone(), int(1)) },
            store(level.pos(), int(0), int(0)),
        ];
        stmts.extend(compressed::sums(level, 1, parents, (scratch, total), check));
        stmts
    }
}

#[cfg(test)]
mod tests {
    use super::first_bucket_of;

    /// The average number of buckets that a search reads: for each of the first `count` coordinates, which are stored,
    /// and for each of the next `count`, which are not.
    fn looks(count: i64, coordinate: impl Fn(i64) -> i64) -> [f64; 2] {
        let width = (2 * count).cast_unsigned().next_power_of_two();
        let mut taken = vec![false; width as usize];
        let mut look = |c: i64, is_stored: bool| {
            let (mut at, mut step) = (first_bucket_of(c, width), 0);
            while taken[at as usize] {
                step += 1;
                at = (at + step) % width;
            }
            taken[at as usize] |= is_stored;
            (step + 1) as f64 / count as f64
        };
        let stored = (0..count).map(|k| look(coordinate(k), true)).sum();
        let absent = (count..2 * count).map(|k| look(coordinate(k), false)).sum();
        [stored, absent]
    }

    #[test]
    fn few_buckets_are_looked_at_whatever_the_distance_of_coordinates() {
        let far = (20..50).map(|bits| 1 << bits);
        for stride in (1..200).chain([905, 3607, 4884, 11019]).chain(far) {
            for count in [10, 100, 1000, 8000, 1_000_000] {
                let count = count.min(i64::MAX / stride / 2);
                let is_slow = count > 10_000 && !matches!(stride, 1 | 8 | 905 | 0x40_0000);
                if is_slow {
                    continue;
                }
                let [stored, absent] = looks(count, |k| k * stride);
                assert!(stored < 8.0, "{count} at a distance of {stride}: {stored}");
                assert!(absent < 16.0, "none of {count} at a distance of {stride}: {absent}");
            }
        }
        // Rows of a grid, rows of a matrix of blocks, and runs with large gaps.
        for (run, gap) in [(3, 141), (3, 4096), (16, 1 << 16), (100, 1 << 20)] {
            let [stored, absent] = looks(20_000, |k| k / run * gap + k % run);
            assert!(stored < 8.0 && absent < 16.0, "runs of {run}, {gap} apart");
        }
    }
}
