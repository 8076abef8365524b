//! Software prefetch of streams, since the processor's own prefetching ends with each page.
//!
//! ```text
//! beyond = len(A_vals) > 2^20
//! for i in 0..n {
//!   p_begin = pos[i]
//!   if beyond { prefetch A_vals[p_begin + 1024] far }
//!   for p in p_begin..p_mid step 4 {
//!     if beyond { prefetch A_vals[p + 1024] far }
//!     s0 = fma(A_vals[p], x[crd[p]], s0); s1 = ..
//! ```
//!
//! A stream is read at the positions of consecutive segments: from `pos[i]` on, in the loop over `i`. One hint per
//! segment is cheap if segments are short; split sums have one in each iteration, since their segments may be long.
//! Tiles read a segment several times and get none. Hints are given only if the stream is larger than a cache: they
//! take a tenth of the time of SpMV. Streams are prefetched into the second level of cache: into the first, SpMV on a
//! stencil takes 1.25 times as long.
//!
//! The rows of a dense operand that a stream of coordinates chooses are unordered: a sum over such a row, or a tile
//! that takes a few of its lines, prefetches the row of a later coordinate.
//!
//! ```text
//! ahead = min(pos[i + 1] + 16, pos[n]) - pos[i + 1]
//! for p in pos[i]..pos[i + 1] {
//!   for k in 0..k_mid step 16 {
//!     if scattered { prefetch D[crd[p + ahead] * m + k]; prefetch D[crd[p + ahead] * m + k + 8] }
//!     s0 = fma(C[i * m + k; 8], D[crd[p] * m + k; 8], s0); ..
//!   }
//! }
//! ```
//!
//! If earlier rows keep the rows of a sum in cache, hints would only take time, so a probe tests whether coordinates
//! stay close to those of the previous segment.
//!
//! If each step of a stream has a block of values, each step prefetches one.
//!
//! Entries that are written to the next slot of their coordinate's row, or column, get hints as well.

mod blocks;
mod rows;
mod slots;

use crate::algebra::BinaryOp;
use crate::ids::{Array, Var};
use crate::ir::build::{add, assign, binary, int, load, lt, sub, when};
use crate::ir::flow::{assigned, mentions, replace};
use crate::ir::{ArrayRole, Expr, Function, Stmt, Type};
use crate::transform::Target;
use crate::transform::branchless::probe::Questions;

/// The distance of hints, in bytes: two of the smallest pages.
const AHEAD: usize = 8 << 10;
/// From this size on, in bytes, an array certainly exceeds the caches.
const CACHE: usize = 8 << 20;
/// Bytes that one hint fetches.
const LINE: usize = 64;

/// The pass.
pub(in crate::transform) fn prefetch(mut function: Function, target: Target) -> Function {
    if !target.prefetches {
        return function;
    }
    let body = std::mem::take(&mut function.body);
    let mut streams = Streams {
        function: &mut function,
        questions: Questions::default(),
        sizes: vec![],
        iterations: vec![],
        positions: vec![],
        steps: None,
    };
    let body = streams.block(body);
    let questions = [streams.sizes(), streams.questions.stmts].concat();
    Function { body: [questions, body].concat(), ..function }
}

struct Streams<'f> {
    function: &'f mut Function,
    /// The probes of streams.
    questions: Questions,
    /// The arrays whose size is compared with the caches, and the variables with the results.
    sizes: Vec<(Array, Var)>,
    /// The surrounding loops, outermost first.
    iterations: Vec<Iteration>,
    /// The surrounding loop, if it is over the positions of a stream.
    steps: Option<Steps>,
    /// The variables that hold the start of a segment.
    positions: Vec<Var>,
}

/// A surrounding loop.
struct Iteration {
    /// `None` for a block that not every iteration runs.
    var: Option<Var>,
    /// Whether it visits every value.
    is_every: bool,
    /// Its end, if that is loop-invariant.
    end: Option<Expr>,
}

/// A coordinate that a stream has at each step, and the variable that it is assigned to.
#[derive(Clone, PartialEq)]
struct Chosen {
    var: Var,
    coordinate: Expr,
}

/// A loop over the positions of a stream.
struct Steps {
    position: Var,
    /// The positions array.
    segments: Array,
    /// The end of this segment, and of the last one.
    ends: [Expr; 2],
    /// The distances of hints in steps, with variables that are smaller near the end of the stream.
    ahead: Vec<(i64, Var)>,
}

impl Steps {
    /// The position `steps` later.
    fn later(&mut self, function: &mut Function, steps: i64) -> Expr {
        let var = match self.ahead.iter().find(|(by, _)| *by == steps) {
            Some((_, var)) => *var,
            None => {
                let var = crate::transform::fresh(function, "ahead", Type::INDEX);
                self.ahead.push((steps, var));
                var
            }
        };
        add(Expr::Var(self.position), Expr::Var(var))
    }

    /// Computes the numbers of remaining steps, before the loop.
    fn names(self) -> impl Iterator<Item = Stmt> {
        let [end, last] = self.ends;
        self.ahead.into_iter().map(move |(steps, var)| {
            let reached = binary(BinaryOp::Min, add(end.clone(), int(steps)), last.clone());
            assign(var, sub(reached, end.clone()))
        })
    }
}

impl Streams<'_> {
    fn block(&mut self, block: Vec<Stmt>) -> Vec<Stmt> {
        let known = self.positions.len();
        let mut out = Vec::with_capacity(block.len());
        let mut rest = block.into_iter();
        while let Some(s) = rest.next() {
            match s {
                Stmt::Assign { var, value } if self.begins(&value, rest.as_slice()) => {
                    out.push(Stmt::Assign { var, value });
                    self.hints(rest.as_slice(), var, &Expr::Var(var), &mut out);
                    self.positions.push(var);
                }
                Stmt::For { var, lo, hi, step, body } => {
                    if self.begins_to(&lo, &hi) {
                        self.hints(&body, var, &lo, &mut out);
                    }
                    let mut hints = self.summed_rows(&out, step, &body);
                    let steps = if step == 1 { self.steps_over(var, &lo, &hi) } else { None };
                    let around = std::mem::replace(&mut self.steps, steps);
                    let after = [self.tiled_rows(&body), self.slots(&body)].concat();
                    let blocks = match step == 1 && self.begins_to(&lo, &hi) {
                        true => self.blocks(var, &body),
                        false => vec![],
                    };
                    hints.extend(blocks);
                    let body = [hints, self.body(var, (&lo, &hi, step), body), after].concat();
                    let steps = std::mem::replace(&mut self.steps, around);
                    out.extend(steps.into_iter().flat_map(Steps::names));
                    out.push(Stmt::For { var, lo, hi, step, body });
                }
                Stmt::While { cond, body } if counted(&body).is_some() => {
                    self.iterations.push(Iteration {
                        var: counted(&body),
                        is_every: true,
                        end: None,
                    });
                    let around = self.steps.take();
                    out.push(Stmt::While { cond, body: self.block(body) });
                    self.steps = around;
                    self.iterations.pop();
                }
                s => {
                    self.iterations.push(Iteration { var: None, is_every: false, end: None });
                    let around = self.steps.take();
                    out.push(s.map_children(&mut |e| e, &mut |b| self.block(b)));
                    self.steps = around;
                    self.iterations.pop();
                }
            }
        }
        self.positions.truncate(known);
        out
    }

    fn body(
        &mut self,
        var: Var,
        (lo, hi, step): (&Expr, &Expr, i64),
        body: Vec<Stmt>,
    ) -> Vec<Stmt> {
        let follows = matches!(lo, Expr::Var(v) if self.positions.contains(v));
        let is_sum = body.iter().all(|s| matches!(s, Stmt::Assign { .. }));
        if !follows || step == 1 || !is_sum {
            let mut changed = vec![];
            assigned(&body, &mut changed);
            let end = (!changed.iter().any(|v| mentions(hi, *v))).then(|| hi.clone());
            self.iterations.push(Iteration { var: Some(var), is_every: step == 1, end });
            let body = self.block(body);
            self.iterations.pop();
            return body;
        }
        let mut hinted = vec![];
        self.hints(&body, var, &Expr::Var(var), &mut hinted);
        [hinted, body].concat()
    }

    /// A loop over the segment of a surrounding iteration.
    fn steps_over(&self, position: Var, lo: &Expr, hi: &Expr) -> Option<Steps> {
        let segments =
            |iteration: &&Iteration| iteration.is_every && self.is_segment(iteration, lo, hi);
        let mut sure = self.iterations.iter().rev().take_while(|iteration| iteration.var.is_some());
        let iteration = sure.find(segments)?;
        let Expr::Load { array, .. } = lo else { return None };
        let ends = [hi.clone(), load(*array, iteration.end.clone()?)];
        Some(Steps { position, segments: *array, ends, ahead: vec![] })
    }

    /// Whether an expression is the start of this iteration's segment, whose end the following statements read.
    fn begins(&self, e: &Expr, rest: &[Stmt]) -> bool {
        rest.iter().flat_map(Stmt::exprs).any(|end| self.begins_to(e, end))
    }

    /// Whether two expressions are the start and the end of this iteration's segment, also where not every iteration
    /// has one.
    fn begins_to(&self, e: &Expr, end: &Expr) -> bool {
        let iteration = self.iterations.iter().rfind(|iteration| iteration.var.is_some());
        iteration.is_some_and(|iteration| iteration.is_every && self.is_segment(iteration, e, end))
    }

    /// Whether two expressions are the start and the end of an iteration's segment, or of a range between segments.
    fn is_segment(&self, iteration: &Iteration, e: &Expr, end: &Expr) -> bool {
        let begin = unbounded(e, BinaryOp::Max);
        let (Expr::Load { array, index, lanes: 1 }, Some(iteration)) = (begin, iteration.var)
        else {
            return false;
        };
        let next = load(*array, add(Expr::Var(iteration), int(1)));
        let is_end = *unbounded(end, BinaryOp::Min) == next;
        **index == Expr::Var(iteration) && is_end && self.is_input(*array)
    }

    /// The coordinate that one of these statements assigns to a variable, as a stream has it at a position.
    fn chosen(&self, statements: &[Stmt], position: Var, by: &Expr) -> Option<Chosen> {
        statements.iter().find_map(|s| match s {
            Stmt::Assign { var, value: coordinate @ Expr::Load { array, index, .. } }
                if mentions(by, *var)
                    && **index == Expr::Var(position)
                    && self.is_input(*array) =>
            {
                Some(Chosen { var: *var, coordinate: coordinate.clone() })
            }
            _ => None,
        })
    }

    /// A hint for an index of an array, at the coordinate that the stream has `steps` later.
    fn hint(&mut self, array: Array, index: Expr, chosen: &Chosen, steps: i64) -> Option<Stmt> {
        if self.function.arrays[array].streamed {
            return None;
        }
        let stream = self.steps.as_mut()?;
        let later = stream.later(self.function, steps);
        let coordinate = replace(chosen.coordinate.clone(), stream.position, &later);
        Some(Stmt::Prefetch { array, index: replace(index, chosen.var, &coordinate), far: false })
    }

    fn is_input(&self, array: Array) -> bool {
        self.function.arrays[array].role == ArrayRole::Input
    }

    /// Hints for the elements that statements read at a position, which starts at `from`.
    fn hints(&mut self, block: &[Stmt], position: Var, from: &Expr, out: &mut Vec<Stmt>) {
        let mut arrays = vec![];
        self.read_at(block, position, &mut arrays);
        // Arrays of one stream have the same length, or are shorter.
        let size = |array: &Array| self.function.arrays[*array].elem.size();
        let Some(largest) = arrays.iter().copied().max_by_key(size) else { return };
        let hints = arrays.into_iter().map(|array| {
            let ahead = AHEAD / size(&array);
            Stmt::Prefetch { array, index: add(from.clone(), int(ahead as i64)), far: true }
        });
        let hints = hints.collect();
        out.push(when(Expr::Var(self.beyond(largest)), hints));
    }

    /// Whether an array is larger than a cache.
    fn beyond(&mut self, array: Array) -> Var {
        if let Some((_, answer)) = self.sizes.iter().find(|(of, _)| *of == array) {
            return *answer;
        }
        let answer = crate::transform::fresh(self.function, "beyond", Type::BOOL);
        self.sizes.push((array, answer));
        answer
    }

    /// The statements that compare arrays with a cache.
    fn sizes(&self) -> Vec<Stmt> {
        let asked = |(array, answer): &(Array, Var)| {
            let most = CACHE / self.function.arrays[*array].elem.size();
            assign(*answer, lt(int(most as i64), Expr::Len(*array)))
        };
        self.sizes.iter().map(asked).collect()
    }

    /// Adds the inputs that statements read at a position, or in a loop that starts from it.
    fn read_at(&self, block: &[Stmt], position: Var, arrays: &mut Vec<Array>) {
        for s in block {
            for e in s.exprs() {
                e.walk(&mut |e| match e {
                    Expr::Load { array, index, .. }
                        if **index == Expr::Var(position)
                            && self.is_input(*array)
                            && !arrays.contains(array) =>
                    {
                        arrays.push(*array);
                    }
                    _ => {}
                });
            }
            if let Stmt::For { var, lo, body, .. } = s
                && *lo == Expr::Var(position)
            {
                self.read_at(body, *var, arrays);
            }
            s.blocks().for_each(|b| self.read_at(b, position, arrays));
        }
    }
}

/// The variable to which the last statement of a body adds 1, if no other statement assigns it.
fn counted(body: &[Stmt]) -> Option<Var> {
    let (Stmt::Assign { var, value }, others) = body.split_last()? else { return None };
    let mut changed = vec![];
    assigned(others, &mut changed);
    (*value == add(Expr::Var(*var), int(1)) && !changed.contains(var)).then_some(*var)
}

/// A value without its bound, if it has one.
fn unbounded(e: &Expr, bound: BinaryOp) -> &Expr {
    match e {
        Expr::Binary(op, _, value) if *op == bound => value,
        e => e,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;

    const TARGET: Target = Target { prefetches: true, ..Target::SCALAR };

    /// Expects these hints, each given with the following statement.
    fn check(body: &str, expect: &[&str]) {
        let head = "fn f(n: i64, pos: in [i32], crd: in [i32], A: in [f64], x: in [f64], \
                    next: out [i32], y: out [f64]) {\n  var i, j, k, p, q: i64\n  var s: f64\n  var v: f64x8\n";
        let function = parse(&format!("{head}{body}\n}}\n")).unwrap_or_else(|d| panic!("{d}"));
        let text = prefetch(function, TARGET).to_string();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let hinted = lines.windows(2).filter(|pair| pair[0].starts_with("prefetch"));
        assert_eq!(hinted.map(|pair| pair.join(" | ")).collect::<Vec<_>>(), expect, "{text}");
    }

    #[test]
    fn segments_that_follow_each_other_are_streams() {
        check(
            "for i in 0..n {\n for p in pos[i]..pos[i + 1] {\n j = crd[p]\n y[i] = A[p] * x[j]\n }\n}",
            &[
                "prefetch crd[pos[i] + 2048] far | prefetch A[pos[i] + 1024] far",
                "prefetch A[pos[i] + 1024] far | }",
            ],
        );
        check(
            "for i in 0..n {\n p = pos[i]\n q = pos[i + 1]\n while p < q {\n \
             p = p + i64(A[p])\n }\n}",
            &["prefetch A[p + 1024] far | }"],
        );
    }

    #[test]
    fn parts_of_segments_are_streams() {
        check(
            "i = 0\n while pos[i] < n {\n for p in max(k, pos[i])..min(n, pos[i + 1]) {\n \
             y[i] = A[p]\n }\n i = i + 1\n}",
            &["prefetch A[max(k, pos[i]) + 1024] far | }"],
        );
    }

    #[test]
    fn sums_that_were_split_ask_each_iteration() {
        check(
            "for i in 0..n {\n s = 0.0\n p = pos[i]\n j = pos[i + 1]\n \
             for q in p..j step 4 {\n s = s + A[q]\n }\n y[i] = s\n}",
            &["prefetch A[p + 1024] far | }", "prefetch A[q + 1024] far | }"],
        );
    }

    #[test]
    fn what_is_read_here_and_there_is_no_stream() {
        for body in [
            "for p in pos[0]..pos[1] {\n y[p] = A[p]\n}",
            "for i in 0..n {\n j = crd[i]\n for p in pos[j]..pos[j + 1] {\n y[p] = A[p]\n }\n}",
            "for i in 0..n step 2 {\n for p in pos[i]..pos[i + 1] {\n y[p] = A[p]\n }\n}",
            "for i in 0..n {\n for j in 0..n {\n for p in pos[i]..n {\n y[p] = A[p]\n }\n }\n}",
        ] {
            check(body, &[]);
        }
    }

    #[test]
    fn slots_of_later_entries_are_prefetched() {
        let with = |more: &str| {
            format!(
                "for i in 0..n {{\n for p in pos[i]..pos[i + 1] {{\n j = crd[p]\n \
                 k = next[j + 1]\n next[j + 1] = k + 1\n y[k] = A[p]\n{more} }}\n}}"
            )
        };
        let streams = [
            "prefetch crd[pos[i] + 2048] far | prefetch A[pos[i] + 1024] far",
            "prefetch A[pos[i] + 1024] far | }",
        ];
        check(
            &with(""),
            &[
                streams[0],
                "prefetch A[pos[i] + 1024] far | }",
                "prefetch y[next[crd[p + ahead] + 1]] | }",
            ],
        );
        // Some steps may have no slot.
        check(&with("if j > 2 {\n y[k] = 0.0\n }\n"), &streams);
    }

    #[test]
    fn rows_of_later_coordinates_are_asked_for() {
        check(
            "k = n - 1\n for i in 0..k {\n for p in pos[i]..pos[i + 1] {\n j = crd[p]\n \
             for q in 0..n step 16 {\n v = fma(A[q; 8], x[j * n + q; 8], v)\n }\n }\n}",
            &[
                "prefetch crd[pos[i] + 2048] far | }",
                "prefetch x[crd[p + ahead] * n + q] | prefetch x[crd[p + ahead] * n + q + 8]",
                "prefetch x[crd[p + ahead] * n + q + 8] | }",
            ],
        );
        // A tile prefetches its own lines of rows.
        check(
            "for i in 0..n {\n for k in 0..n step 16 {\n for p in pos[i]..pos[i + 1] {\n j = crd[p]\n \
             v = fma(v, x[j * n + k; 8], v)\n v = fma(v, x[j * n + k + 8; 8], v)\n }\n }\n }",
            &[
                "prefetch x[crd[p + ahead] * n + k] | prefetch x[crd[p + ahead] * n + k + 8]",
                "prefetch x[crd[p + ahead] * n + k + 8] | }",
            ],
        );
        // The end of the segments must be known.
        check(
            "k = n\n for i in 0..k {\n for p in pos[i]..pos[i + 1] {\n j = crd[p]\n \
             for q in 0..n step 16 {\n v = fma(A[q; 8], x[j * n + q; 8], v)\n }\n }\n k = 0\n }",
            &["prefetch crd[pos[i] + 2048] far | }"],
        );
    }
}
