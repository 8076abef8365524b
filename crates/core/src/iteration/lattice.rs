//! The iteration lattice of one `forall`: which combinations of sparse operands need a case.
//!
//! ```text
//! a(i) = b(i) * c(i) + d(i)
//!     {b, c, d}   b * c + d
//!     {b, c}      b * c
//!     {d}         d
//! ```
//!
//! A point is a set of operands that have a value at a coordinate, with the statement simplified for that case. Points
//! below it lack operands. Combinations without work have no point (The Tensor Algebra Compiler, section 5: merge
//! lattices, here built from the algebra of operators instead of from a list of operators).

use crate::cin::Stmt;
use crate::cin::simplify::Facts;
use crate::notation::Access;
use std::collections::BTreeMap;

/// A set of iterators, as the bits of their indices in the list given to [`Lattice::build`].
pub type Set = u64;

/// One combination of operands.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// The operands that have a value.
    pub present: Set,
    /// The statement that remains.
    pub body: Stmt,
}

/// The points, more operands first.
#[derive(Clone, PartialEq, Debug)]
pub struct Lattice {
    /// No two have the same set.
    pub points: Vec<Point>,
    /// Whether operands are terms of a sum, each of which is added to a register where its operand has an entry. Then
    /// each term has a point with the whole statement; cases of several operands follow from these.
    pub sums: bool,
}

impl Lattice {
    /// The lattice of a statement; `iterators` are the accesses that are sparse at the variable of the loop.
    pub fn build(facts: Facts<'_>, body: &Stmt, iterators: &[Access]) -> Lattice {
        if let Some(points) = terms(facts, body, iterators) {
            return Lattice { points, sums: true };
        }
        let all: Set = (1u64 << iterators.len()) - 1;
        let mut bodies: BTreeMap<Set, Stmt> = BTreeMap::new();
        let mut frontier: Vec<(Set, Stmt)> =
            facts.stmt(body.clone()).into_iter().map(|s| (all, s)).collect();
        while let Some((present, stmt)) = frontier.pop() {
            if bodies.contains_key(&present) {
                continue;
            }
            for (k, iterator) in iterators.iter().enumerate() {
                let smaller = present & !(1 << k);
                if smaller != present && !bodies.contains_key(&smaller) {
                    let rest = facts.without(&stmt, &|a| a == iterator);
                    frontier.extend(rest.map(|s| (smaller, s)));
                }
            }
            bodies.insert(present, stmt);
        }
        Lattice { points: simplify(bodies), sums: false }
    }

    /// Whether every coordinate of the dimension has to be visited.
    pub fn is_universal(&self) -> bool {
        self.points.last().is_some_and(|p| p.present == 0)
    }

    /// The points that may hold while only the iterators of `present` are left.
    pub fn below(&self, present: Set) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(move |p| p.present & !present == 0)
    }
}

/// A point for each term of a sum of several operands in a register, with the pattern of the result if there is one:
/// `where(C(i,j) = s, sequence(s += A(i,j), s += B(i,j), ..))`.
fn terms(facts: Facts<'_>, body: &Stmt, iterators: &[Access]) -> Option<Vec<Point>> {
    let Stmt::Where { consumer, producer } = body else { return None };
    let Stmt::Sequence(parts) = &**producer else { return None };
    let read_by = |s: &Stmt| -> Vec<usize> {
        let reads = s.reads();
        (0..iterators.len()).filter(|&k| reads.contains(&&iterators[k])).collect()
    };
    let pattern: Set = read_by(consumer).iter().map(|k| 1 << k).sum();
    let mut points: Vec<Point> = vec![];
    for part in parts {
        let (Stmt::Assign { op: Some(_), .. }, &[k]) = (part, &read_by(part)[..]) else {
            return None;
        };
        let silent = facts.without(part, &|a| *a == iterators[k]).is_none();
        let present = 1 << k | pattern;
        if !silent || pattern & 1 << k != 0 || points.iter().any(|p| p.present == present) {
            return None;
        }
        points.push(Point { present, body: body.clone() });
    }
    (points.len() > 2 && points.len() + pattern.count_ones() as usize == iterators.len())
        .then_some(points)
}

/// Sorts points by size, largest first; at run time the first one that fits is taken. Drops a point if the next one
/// that fits has the same statement. Smaller points may have another one: the zeros that absent operands leave may
/// differ in their signs.
fn simplify(bodies: BTreeMap<Set, Stmt>) -> Vec<Point> {
    let mut points: Vec<Point> =
        bodies.into_iter().map(|(present, body)| Point { present, body }).collect();
    points.sort_by_key(|p| (std::cmp::Reverse(p.present.count_ones()), p.present));
    let same_as = |p: &Point| points.iter().position(|q| q.body == p.body);
    let does: Vec<Option<usize>> = points.iter().map(same_as).collect();
    let within = |p: Set, q: Set| p & !q == 0;
    let mut kept: Vec<usize> = (0..points.len()).collect();
    for k in 0..points.len() {
        let others: Vec<usize> = kept.iter().copied().filter(|&q| q != k).collect();
        let is_same = |s: &usize| {
            let taken = others.iter().find(|&&q| within(points[q].present, points[*s].present));
            taken.is_some_and(|&q| does[q] == does[*s])
        };
        let mut above = (0..points.len()).filter(|&s| within(points[k].present, points[s].present));
        if above.all(|s| is_same(&s)) {
            kept = others;
        }
    }
    let mut at = 0..;
    points.retain(|_| at.next().is_some_and(|k| kept.contains(&k)));
    points
}
