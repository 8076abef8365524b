//! Makes merges with unpredictable branches branchless: each step advances one operand or the other by arithmetic.
//!
//! ```text
//! while pA < pA_end && pB < pB_end {
//!   jA = A_crd[pA]; jB = B_crd[pB]
//!   if jA == jB { both }
//!   else if jA < jB { S[pS] = A[pA]; pS = pS + 1; pA = pA + 1 }
//!   else { S[pS] = B[pB]; pS = pS + 1; pB = pB + 1 }
//! }
//!
//! if mixed {
//!   while .. {
//!     jA = A_crd[pA]; jB = B_crd[pB]
//!     if jA == jB { both } else {
//!       first = jA < jB
//!       S[pS] = select(first, A[pA], B[pB]); pS = pS + 1
//!       pA = pA + select(first, 1, 0); pB = pB + select(first, 0, 1)
//!     }
//!   }
//! } else { as before }
//! ```
//!
//! In merges of random patterns, every other branch is mispredicted, and branchless code takes 0.7 of the time;
//! branches of stencils are predicted, and branchless code takes up to twice as long. A probe runs the first steps of
//! merges for some segments: patterns are mixed if most neighbours begin with different steps.

use super::steps::{Choice, reads};
use crate::algebra::BinaryOp;
use crate::datatype::Scalar;
use crate::ids::{Array, Id, Var};
use crate::ir::build::{
    add, all, assign, binary, div, eq, for_loop, int, load, lt, mul, sub, when,
};
use crate::ir::{ArrayRole, Expr, Function, Stmt, Type};
use crate::transform::{Target, fresh};

/// The largest number of probed segments.
const ASKED: i64 = 16;
/// The number of steps probed in each.
const STEPS: i64 = 12;
/// Merges of fewer coordinates finish before a probe would pay.
const WORTH: i64 = 1 << 14;

/// The pass.
pub(in crate::transform) fn branchless_merges(mut function: Function, target: Target) -> Function {
    // Targets that want prefetch hints are those that predict branches.
    if !target.prefetches {
        return function;
    }
    let reads = reads(&function);
    let body = std::mem::take(&mut function.body);
    let mut merges = Merges { function: &mut function, reads, known: vec![], questions: vec![] };
    let body = merges.block(body);
    let questions = merges.questions;
    Function { body: [questions, body].concat(), ..function }
}

struct Merges<'f> {
    function: &'f mut Function,
    /// How often each variable is read.
    reads: Vec<usize>,
    /// Probed merges, and the variables with the results.
    known: Vec<(Merged, Var)>,
    questions: Vec<Stmt>,
}

/// Two arrays of coordinates whose segments are merged.
#[derive(Clone, Copy, PartialEq)]
struct Merged {
    sides: [Side; 2],
    /// Whether segments with the same number are merged.
    aligned: bool,
}

/// The coordinates and the segments of one operand.
#[derive(Clone, Copy, PartialEq)]
struct Side {
    pos: Array,
    crd: Array,
}

impl Merges<'_> {
    fn block(&mut self, block: Vec<Stmt>) -> Vec<Stmt> {
        block.into_iter().map(|s| self.asked_before(s)).collect()
    }

    /// A loop over merges as two loops, of which the probe's result chooses one; other statements with their blocks
    /// changed.
    fn asked_before(&mut self, s: Stmt) -> Stmt {
        if let Stmt::For { var, lo, hi, step, body } = &s
            && let Some((at, mixed, merge)) = (0..body.len()).find_map(|at| {
                let (mixed, merge) = self.without_branch(&body[..at], &body[at])?;
                Some((at, mixed, merge))
            })
        {
            let body = [&body[..at], &[merge], &body[at + 1..]].concat();
            let unbranched =
                Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), step: *step, body };
            let (then, otherwise) = (vec![unbranched], vec![s]);
            return Stmt::If { cond: Expr::Var(mixed), then, otherwise };
        }
        s.map_children(&mut |e| e, &mut |b| self.block(b))
    }

    /// A branchless merge, given the statements before it in the same block, and the variable that says whether its
    /// branches are unpredictable.
    fn without_branch(&mut self, before: &[Stmt], s: &Stmt) -> Option<(Var, Stmt)> {
        let Stmt::While { cond, body } = s else { return None };
        let [(p, p_end), (q, q_end)] = live(cond)?;
        let [first, second, Stmt::If { cond: same, then, otherwise }] = &body[..] else {
            return None;
        };
        let [(a, a_crd), (b, b_crd)] = [coordinate(first, p)?, coordinate(second, q)?];
        let [Stmt::If { cond: less, then: one, otherwise: other }] = &otherwise[..] else {
            return None;
        };
        let [a, b] = [a, b].map(Expr::Var);
        if *same != eq(a.clone(), b.clone()) || *less != lt(a.clone(), b.clone()) {
            return None;
        }
        let ((a_pos, i), (b_pos, j)) = (segment(before, p, p_end)?, segment(before, q, q_end)?);
        let sides = [Side { pos: a_pos, crd: a_crd }, Side { pos: b_pos, crd: b_crd }];
        let inputs = sides.iter().flat_map(|side| [side.pos, side.crd]);
        if !inputs.into_iter().all(|array| self.function.arrays[array].role == ArrayRole::Input) {
            return None;
        }
        let is_first = Var::new(self.function.vars.len());
        let mut choice = Choice::new(is_first, self.function, &self.reads);
        let steps = choice.steps((one, p), (other, q))?;
        let made = fresh(self.function, "first", Type::BOOL);
        debug_assert_eq!(made, is_first);
        let mixed = self.mixed(Merged { sides, aligned: i == j });
        let unbranched = [vec![assign(is_first, lt(a, b))], steps].concat();
        let step = Stmt::If { cond: same.clone(), then: then.clone(), otherwise: unbranched };
        let body = vec![first.clone(), second.clone(), step];
        Some((mixed, Stmt::While { cond: cond.clone(), body }))
    }

    /// The variable that says whether neighbours begin with different steps.
    fn mixed(&mut self, merged: Merged) -> Var {
        if let Some((_, answer)) = self.known.iter().find(|(known, _)| *known == merged) {
            return *answer;
        }
        let answer = fresh(self.function, "mixed", Type::BOOL);
        let names = ["counted", "asked", "t", "f", "g", "path", "next_path"];
        let [counted, asked, iteration, f, g, path, next] =
            names.map(|name| fresh(self.function, name, Type::INDEX));
        let [one, other] = merged.sides;
        let part = (iteration, asked);
        let mut question = self.asked(one, part, f);
        match merged.aligned {
            true => question.push(assign(g, Expr::Var(f))),
            false => question.extend(self.asked(other, part, g)),
        }
        if !merged.aligned && one.pos == other.pos {
            // A segment is not merged with itself.
            question.push(assign(g, add(Expr::Var(g), int(1))));
        }
        for (k, path) in [(0, path), (1, next)] {
            let segments = [f, g].map(|at| add(Expr::Var(at), int(k)));
            question.extend(self.path(merged.sides, segments, path));
        }
        let differs = binary(BinaryOp::Ne, Expr::Var(path), Expr::Var(next));
        question.push(when(differs, vec![assign(counted, add(Expr::Var(counted), int(1)))]));
        let segments = |side: Side| sub(Expr::Len(side.pos), int(3));
        let fewer = binary(BinaryOp::Min, segments(one), segments(other));
        let asks = binary(BinaryOp::Min, fewer, int(ASKED));
        let coordinates = add(Expr::Len(one.crd), Expr::Len(other.crd));
        self.questions.extend([
            assign(answer, Expr::Const(Scalar::Bool(false))),
            when(
                lt(int(WORTH), coordinates),
                vec![
                    assign(counted, int(0)),
                    assign(asked, binary(BinaryOp::Max, int(0), asks)),
                    for_loop(iteration, int(0), Expr::Var(asked), question),
                    assign(answer, lt(Expr::Var(asked), mul(Expr::Var(counted), int(2)))),
                ],
            ),
        ]);
        self.known.push((merged, answer));
        answer
    }

    /// Sets a variable to the number of a segment, chosen evenly over the array; two more segments follow it.
    fn asked(&mut self, side: Side, (iteration, asked): (Var, Var), segment: Var) -> Vec<Stmt> {
        let [at, end, middle] =
            ["at", "last", "middle"].map(|name| fresh(self.function, name, Type::INDEX));
        let [low, high, mid] = [segment, end, middle].map(Expr::Var);
        let coordinate = div(mul(Expr::Var(iteration), Expr::Len(side.crd)), Expr::Var(asked));
        let is_behind =
            binary(BinaryOp::Le, load(side.pos, add(mid.clone(), int(1))), Expr::Var(at));
        let search = vec![
            assign(middle, div(add(low.clone(), high.clone()), int(2))),
            Stmt::If {
                cond: is_behind,
                then: vec![assign(segment, add(mid.clone(), int(1)))],
                otherwise: vec![assign(end, mid)],
            },
        ];
        vec![
            assign(at, coordinate),
            assign(segment, int(0)),
            assign(end, sub(Expr::Len(side.pos), int(4))),
            Stmt::While { cond: lt(low, high), body: search },
        ]
    }

    /// Sets a variable to a number that encodes the first steps of a merge of two segments.
    fn path(&mut self, sides: [Side; 2], segments: [Expr; 2], path: Var) -> Vec<Stmt> {
        let names = ["one", "other", "steps", "c", "d"];
        let [p, q, steps, c, d] = names.map(|name| fresh(self.function, name, Type::INDEX));
        let begin = |k: usize| load(sides[k].pos, segments[k].clone());
        let end = |k: usize| load(sides[k].pos, add(segments[k].clone(), int(1)));
        let chosen =
            |cond: Expr, a: Expr, b: Expr| Expr::Select(Box::new(cond), Box::new(a), Box::new(b));
        let [less, more] = [(c, d), (d, c)].map(|(a, b)| lt(Expr::Var(a), Expr::Var(b)));
        let step = chosen(less.clone(), int(1), chosen(more.clone(), int(2), int(0)));
        let advanced =
            |p: Var, stays: Expr| assign(p, add(Expr::Var(p), chosen(stays, int(0), int(1))));
        let goes_on = all([
            lt(Expr::Var(p), end(0)),
            lt(Expr::Var(q), end(1)),
            lt(Expr::Var(steps), int(STEPS)),
        ]);
        let body = vec![
            assign(c, load(sides[0].crd, Expr::Var(p))),
            assign(d, load(sides[1].crd, Expr::Var(q))),
            assign(path, add(mul(Expr::Var(path), int(3)), step)),
            advanced(p, more),
            advanced(q, less),
            assign(steps, add(Expr::Var(steps), int(1))),
        ];
        let starts = [(p, begin(0)), (q, begin(1)), (steps, int(0)), (path, int(0))];
        let mut stmts: Vec<Stmt> = starts.map(|(var, value)| assign(var, value)).into();
        stmts.push(Stmt::While { cond: goes_on, body });
        stmts
    }
}

/// The positions of two operands and their ends, if the condition tests both.
fn live(cond: &Expr) -> Option<[(Var, Var); 2]> {
    let Expr::AndThen(a, b) = cond else { return None };
    let before = |e: &Expr| match e {
        Expr::Binary(BinaryOp::Lt, p, end) => match (&**p, &**end) {
            (Expr::Var(p), Expr::Var(end)) => Some((*p, *end)),
            _ => None,
        },
        _ => None,
    };
    Some([before(a)?, before(b)?])
}

/// The variable with the coordinate at a position, and the array of coordinates.
fn coordinate(s: &Stmt, position: Var) -> Option<(Var, Array)> {
    match s {
        Stmt::Assign { var, value: Expr::Load { array, index, lanes: 1 } }
            if **index == Expr::Var(position) =>
        {
            Some((*var, *array))
        }
        _ => None,
    }
}

/// The positions array and the number of the segment that begins at a position and ends at `end`.
fn segment(before: &[Stmt], position: Var, end: Var) -> Option<(Array, Expr)> {
    let value_of = |of: Var| {
        before.iter().rev().find_map(|s| match s {
            Stmt::Assign { var, value } if *var == of => Some(value),
            _ => None,
        })
    };
    let Expr::Load { array, index, lanes: 1 } = value_of(position)? else { return None };
    // A single segment has no neighbours to probe.
    if !matches!(**index, Expr::Var(_)) {
        return None;
    }
    let next = load(*array, add((**index).clone(), int(1)));
    (*value_of(end)? == next).then(|| (*array, (**index).clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpret::{Argument, Buffer, run};
    use crate::ir::Param;
    use crate::ir::parse::parse;
    use crate::transform::random;

    const TARGET: Target = Target { prefetches: true, ..Target::SCALAR };

    /// The sum of two matrices by rows, with the given steps.
    fn merge(both: &str, one: &str, other: &str) -> Function {
        let text = format!(
            "fn f(n: i64, a_pos: in [i32], a_crd: in [i32], b_pos: in [i32], b_crd: in [i32], \
             A: in [f64], B: in [f64], S: out [f64]) {{\n\
             var i, p, p_end, q, q_end, j, k, s: i64\n\
             var t, u: i64\n\
             var v, w: f64\n\
             s = 0\n t = 0\n u = 0\n v = 0.0\n w = 0.0\n\
             for i in 0..n {{\n\
             p = a_pos[i]\n p_end = a_pos[i + 1]\n q = b_pos[i]\n q_end = b_pos[i + 1]\n\
             while p < p_end && q < q_end {{\n\
             j = a_crd[p]\n k = b_crd[q]\n\
             if j == k {{ {both} }} else {{ if j < k {{ {one} }} else {{ {other} }} }}\n\
             }}\n}}\n}}\n"
        );
        parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"))
    }

    fn sum() -> Function {
        merge(
            "S[s] = A[p] + B[q] s = s + 1 p = p + 1 q = q + 1",
            "S[s] = A[p] s = s + 1 p = p + 1",
            "S[s] = B[q] s = s + 1 q = q + 1",
        )
    }

    #[test]
    fn steps_of_either_become_one() {
        let text = branchless_merges(sum(), TARGET).to_string();
        let steps = "first = j < k\n          S[s] = select(first, A[p], B[q])\n          s = s + 1\n          \
                     p = p + i64(first)\n          q = q + (1 - i64(first))\n";
        assert!(text.contains(steps), "{text}");
        assert!(text.contains("  if mixed {\n    for i in 0..n {\n"), "{text}");
        assert!(text.contains("mixed = asked < counted * 2"), "{text}");
    }

    #[test]
    fn names_and_conditions_of_either_become_one() {
        let both = "s = s + 1 p = p + 1 q = q + 1";
        let checked = |own: &str, value: &str| {
            format!(
                "{own} = {value} if {own} < 9.0 {{ S[s] = {own} }} else {{ fail integer_overflow }} s = s + 1"
            )
        };
        let one = format!("{} p = p + 1", checked("v", "max(A[p], 0.0)"));
        let other = format!("{} q = q + 1", checked("w", "max(0.0, B[q])"));
        let text = branchless_merges(merge(both, &one, &other), TARGET).to_string();
        let steps = "v = select(first, max(A[p], 0.0), max(0.0, B[q]))\n          \
                     if v < 9.0 {\n            S[s] = v\n          } else {\n            \
                     fail integer_overflow";
        assert!(text.contains(steps), "{text}");
        // A variable that is read later keeps its value where the other branch runs.
        let both = "S[0] = w s = s + 1 p = p + 1 q = q + 1";
        let function = merge(both, &one, &other);
        assert_eq!(branchless_merges(function.clone(), TARGET), function);
    }

    /// Elements are read only where they are known to exist: not at an index that the other branch computes, and not
    /// without the test of their own branch.
    #[test]
    fn elements_of_one_branch_are_read_in_it() {
        let both = "s = s + 1 p = p + 1 q = q + 1";
        for (one, other) in [
            ("t = j + 10 S[s] = A[t]", "u = k + 90 S[s] = B[u]"),
            ("t = j + 10 S[s] = A[t]", "t = k + 90 S[s] = B[t]"),
            ("if j < 9 { S[s] = A[j] }", "if k < 9 { S[s] = B[k] }"),
        ] {
            let [one, other] = [(one, "p"), (other, "q")]
                .map(|(own, at)| format!("{own} s = s + 1 {at} = {at} + 1"));
            let function = merge(both, &one, &other);
            assert_eq!(branchless_merges(function.clone(), TARGET), function);
        }
        let [one, other] = [("A", "p"), ("B", "q")].map(|(of, at)| {
            format!("if {of}[{at}] < 9.0 {{ S[s] = {of}[{at}] }} s = s + 1 {at} = {at} + 1")
        });
        assert_ne!(branchless_merges(merge(both, &one, &other), TARGET), merge(both, &one, &other));
    }

    #[test]
    fn others_stay() {
        let step = "s = s + 1 p = p + 1";
        for function in [
            // Steps of different kinds, variables that only one step has, or a position that is advanced in between.
            merge("p = p + 1 q = q + 1", step, "q = q + 1"),
            merge("p = p + 1 q = q + 1", "S[0] = A[p] p = p + 1", "S[1] = B[q] q = q + 1"),
            merge("p = p + 1 q = q + 1", "p = p + 1 s = p", "q = q + 1 s = q"),
        ] {
            assert_eq!(branchless_merges(function.clone(), TARGET), function);
        }
        assert_eq!(branchless_merges(sum(), Target::SCALAR), sum());
        random::check(branchless_merges, TARGET, 300);
    }

    /// Rows of random lengths and coordinates, or all the same.
    fn rows(random: &mut dyn FnMut(u64) -> u64, regular: bool) -> (Vec<i32>, Vec<i32>) {
        let (mut pos, mut crd) = (vec![0], vec![]);
        for row in 0..3000 {
            match regular {
                true => crd.extend([row, row + 3, row + 4]),
                false => crd.extend((0..20).filter(|_| random(2) == 0)),
            }
            pos.push(crd.len() as i32);
        }
        (pos, crd)
    }

    /// Large sums, of mixed and of regular patterns, keep their values.
    #[test]
    fn sums_stay_the_same() {
        let mut state = 5u64;
        let mut random = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        for regular in [[false, false], [true, true], [false, true]] {
            let [(a_pos, a_crd), (b_pos, b_crd)] = regular.map(|r| rows(&mut random, r));
            let before = sum();
            let after = branchless_merges(before.clone(), TARGET);
            let values = |n: usize| Buffer::F64((0..n).map(|k| k as f64 * 0.5).collect());
            let outcome = |function: &Function| {
                let argument = |param: &Param| match *param {
                    Param::Scalar(_) => Argument::Scalar(Scalar::I64(3000)),
                    Param::Array(array) => Argument::Array(match &*function.arrays[array].name {
                        "a_pos" => Buffer::I32(a_pos.clone()),
                        "a_crd" => Buffer::I32(a_crd.clone()),
                        "b_pos" => Buffer::I32(b_pos.clone()),
                        "b_crd" => Buffer::I32(b_crd.clone()),
                        "A" => values(a_crd.len()),
                        "B" => values(b_crd.len()),
                        _ => Buffer::F64(vec![0.0; a_crd.len() + b_crd.len()]),
                    }),
                };
                let arguments = function.params.iter().map(argument).collect();
                run(function, arguments, None).unwrap_or_else(|fault| panic!("{fault}"))
            };
            let (old, new) = (outcome(&before), outcome(&after));
            assert_eq!(old.arrays.last(), new.arrays.last(), "{regular:?}");
            // Branchless code reads both values.
            let mixed = new.counts.loads > old.counts.loads + 2000;
            assert_eq!(mixed, regular.contains(&false), "{:?} {:?}", old.counts, new.counts);
        }
    }
}
