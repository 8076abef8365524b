//! Makes sums over a few entries, with unpredictable trip counts, branchless.
//!
//! ```text
//! few_before = select(!even && len(A) < len(pos) * 4, len(A) - 3, 0)
//! ..
//! if hi - lo >= 8 { .. } else if lo < few_before {
//!   if lo < hi {
//!     j_2 = crd[lo]; j_3 = crd[lo + 1]; ..
//!     s = fma(A[lo], x[j_2], s)
//!     s = select(lo + 1 < hi, fma(A[lo + 1], x[j_3], s), s)
//!     ..
//!   }
//!   for p in lo + 4..hi { s = fma(A[p], x[crd[p]], s) }
//! } else { .. }
//! ```
//!
//! If a segment of a stream is often longer or shorter than the next one, its end is mispredicted, which costs as much
//! as several entries: the fibers of a sparse 3-tensor times a vector are summed in half the time. Loads beyond a
//! segment are of the next ones. The order of additions is that of the loop.

use crate::algebra::{BinaryOp, UnaryOp};
use crate::ids::Array;
use crate::ir::build::{add, all, assign, binary, for_loop, int, load, lt, mul, sub, when};
use crate::ir::flow::{mentions, replace};
use crate::ir::{ArrayRole, Expr, Function, Stmt};
use crate::transform::branchless::probe::{Holds, Questions};
use crate::transform::vector::sum::{Left, Segments, Sum};

/// Segments with more entries than this, on average, are long, however unpredictable their ends are.
const MANY: i64 = 16;
/// The number of entries that are added without a branch; segments have fewer on average.
const ENTRIES: i64 = 4;

fn not(e: Expr) -> Expr {
    Expr::Unary(UnaryOp::Not, Box::new(e))
}

/// The sum over a segment of a stream, or any other sum: `even` tells whether neighbouring segments have the same
/// length.
pub(in crate::transform) fn summed(
    function: &mut Function,
    questions: &mut Questions,
    sum: Sum,
) -> Vec<Stmt> {
    let Some((pos, values)) = stream(function, &sum) else { return sum.over_scalars(function) };
    let fewer = |than: i64| lt(Expr::Len(values), mul(Expr::Len(pos), int(than)));
    let differ = |[first, second, end]: [Expr; 3]| {
        binary(BinaryOp::Ne, sub(end, second.clone()), sub(second, first))
    };
    let even = questions.ask(function, ("even", pos, values), fewer(MANY), (Holds::Seldom, differ));
    let is_few = all([not(even.clone()), fewer(ENTRIES)]);
    // Behind the last entries there is nothing that could be loaded.
    let before = Expr::Select(
        Box::new(is_few),
        Box::new(sub(Expr::Len(values), int(ENTRIES - 1))),
        Box::new(int(0)),
    );
    let before = questions.conclude(function, ("few_before", pos, values), before);
    let (begin, end, bounds) = sum.bounds(function);
    let (lo, hi) = (Expr::Var(begin), Expr::Var(end));
    let mut entries = vec![];
    let iterations = sum.named(function, sum.value.clone(), (ENTRIES, 1), &mut entries);
    entries.extend((0..).zip(iterations).map(|(k, value)| match k {
        0 => assign(sum.total, value),
        k => {
            let is_there = Box::new(lt(add(lo.clone(), int(k)), hi.clone()));
            let total = Box::new(Expr::Var(sum.total));
            assign(sum.total, Expr::Select(is_there, Box::new(value), total))
        }
    }));
    let from_here = |s: Stmt| s.map_children(&mut |e| replace(e, sum.var, &lo), &mut |b| b);
    let entries = entries.into_iter().map(from_here).collect();
    let first = when(lt(lo.clone(), hi.clone()), entries);
    let rest = for_loop(sum.var, add(lo.clone(), int(ENTRIES)), hi.clone(), sum.body.clone());
    let few = (lt(lo.clone(), before), vec![first, rest]);
    let left = Left::Asked(Segments { even, few });
    [bounds, Sum { lo, hi, left, ..sum }.over_scalars(function)].concat()
}

/// The positions array of the stream that a sum is over, and an array that it reads at positions, if computing a value
/// is cheap and is safe for entries of other segments. All arrays read at positions of one positions array have the
/// same length.
fn stream(function: &Function, sum: &Sum) -> Option<(Array, Array)> {
    let Expr::Load { array: pos, index: at, lanes: 1 } = &sum.lo else { return None };
    let end = load(*pos, add((**at).clone(), int(1)));
    let is_input = |array: &Array| function.arrays[*array].role == ArrayRole::Input;
    if sum.hi != end || !is_input(pos) {
        return None;
    }
    let (mut values, mut is_fit) = (None, true);
    sum.value.walk(&mut |e| match e {
        Expr::Load { array, index, .. } if **index == Expr::Var(sum.var) && is_input(array) => {
            values = Some(*array);
        }
        Expr::Load { index, .. } => is_fit &= sum.is_anywhere(index),
        Expr::Var(_) | Expr::Const(_) | Expr::Convert(..) | Expr::Fma(..) => {}
        Expr::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, ..) => {}
        _ => is_fit = false,
    });
    values.filter(|_| is_fit).map(|values| (*pos, values))
}

impl Sum {
    /// Whether an element can also be read at entries of other segments: its index is the same for all entries, or
    /// depends on the coordinate alone.
    fn is_anywhere(&self, index: &Expr) -> bool {
        let same = |e: &Expr| !mentions(e, self.var);
        match index {
            Expr::Binary(BinaryOp::Add, row, within) if same(within) => self.is_row(row),
            e => same(e) || self.is_coordinate(e) || self.is_row(e),
        }
    }

    fn is_row(&self, e: &Expr) -> bool {
        matches!(e, Expr::Binary(BinaryOp::Mul, coordinate, size)
            if self.is_coordinate(coordinate) && !mentions(size, self.var))
    }

    fn is_coordinate(&self, e: &Expr) -> bool {
        matches!(e, Expr::Load { index, .. } if **index == Expr::Var(self.var))
    }
}

#[cfg(test)]
mod tests {
    use crate::datatype::Scalar;
    use crate::interpret::{Argument, Buffer, Counts, run};
    use crate::ir::Function;
    use crate::ir::parse::parse;
    use crate::ir::verify::verify;
    use crate::transform::Target;
    use crate::transform::vector::split_accumulators;

    /// A function that sums over segments, before and after the pass.
    fn functions(value: &str) -> [Function; 2] {
        let text = "fn f(n: i64, pos: in [i32], crd: in [i32], A: in [f64], x: in [f64], \
                    y: out [f64]) {\n  var i, j, p: i64\n  var s: f64\n for i in 0..n {\n s = 0.0\n \
                    for p in pos[i]..pos[i + 1] {\n j = crd[p]\n s = VALUE\n }\n \
                    y[i] = s\n }\n}\n";
        let function = parse(&text.replace("VALUE", value)).unwrap_or_else(|d| panic!("{d}"));
        let target = Target { vector_bytes: 16, ..Target::SCALAR };
        let split = split_accumulators::split_accumulators(function.clone(), target);
        verify(&split).unwrap_or_else(|d| panic!("{d}\n{split}"));
        [function, split]
    }

    #[test]
    fn what_only_this_segment_may_read_is_not_read_for_others() {
        let is_few = |value: &str| functions(value)[1].to_string().contains("few");
        for value in ["fma(A[p], x[j], s)", "fma(A[p], x[j * n], s)", "fma(A[p], x[j * n + i], s)"]
        {
            assert!(is_few(value), "{value}");
        }
        // Coordinates are relative to a block, and the last block may be smaller.
        let blocks = ["x[i * 4 + j]", "x[j + i * 4]", "x[(i * 4 + j) * n]", "x[j - i]", "x[p * 2]"];
        for x in blocks {
            assert!(!is_few(&format!("fma(A[p], {x}, s)")), "{x}");
        }
    }

    /// The sums over segments of these lengths, before and after the pass, and their counts.
    fn summed(lengths: &[i32]) -> [(Vec<f64>, Counts); 2] {
        functions("fma(A[p], x[j], s)").map(|function| {
            let mut pos = vec![0];
            pos.extend(lengths.iter().scan(0, |end, length| {
                *end += length;
                Some(*end)
            }));
            let n = pos[lengths.len()];
            let values = (0..n).map(|p| 1.0 / f64::from(p + 3)).collect();
            // Values behind a segment must not be added, not even times 0.
            let x = vec![0.1, f64::INFINITY, 1e-300, -7.3];
            let arrays = [
                Buffer::I32(pos),
                Buffer::I32((0..n).map(|p| p * p % 4).collect()),
                Buffer::F64(values),
                Buffer::F64(x),
                Buffer::F64(vec![0.0; lengths.len()]),
            ];
            let size = Argument::Scalar(Scalar::I64(lengths.len() as i64));
            let arguments = [size].into_iter().chain(arrays.map(Argument::Array)).collect();
            let outcome = run(&function, arguments, None).unwrap_or_else(|f| panic!("{f}"));
            let Buffer::F64(sums) = &outcome.arrays[4] else { panic!("{outcome:?}") };
            (sums.clone(), outcome.counts)
        })
    }

    #[test]
    fn sums_over_few_entries_stay_the_same() {
        for lengths in [
            &[][..],
            &[3],
            &[1, 2],
            &[0, 7, 0, 0, 4, 1],
            &[5, 0, 2, 6, 1, 3, 7, 0],
            &[8, 9, 1, 10, 0, 11, 23, 9],
        ] {
            let [before, after] = summed(lengths);
            assert_eq!(before.0, after.0, "{lengths:?}");
        }
    }

    #[test]
    fn streams_are_asked() {
        // Where there is only one entry, three of the four loads are repeated.
        let uneven: Vec<i32> = (0..100).map(|k| 1 + k % 2).collect();
        let [before, after] = summed(&uneven);
        assert_eq!(before.0, after.0);
        assert!(after.1.loads > before.1.loads * 3 / 2, "{before:?} {after:?}");
        // The first are even, and the others are long; no remaining entry is loaded twice.
        for lengths in [&[2; 100][..], &[1, 27].repeat(50), &[9; 100]] {
            let [before, after] = summed(lengths);
            assert!(after.1.loads <= before.1.loads + 32 * 4, "{before:?} {after:?}");
        }
        // In long uneven segments, the last entry is loaded again where none remain.
        let [before, after] = summed(&[9, 11].repeat(50));
        assert_eq!(before.0, after.0);
        assert!(after.1.loads > before.1.loads + 200, "{before:?} {after:?}");
    }
}
