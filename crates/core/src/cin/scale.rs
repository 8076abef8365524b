//! The mapping between iterations of a loop and the coordinates or positions that its variable was derived from.
//!
//! ```text
//! split(i, i0, i1, 32)                          i0 = 3 begins at coordinate 96 of i
//! fuse(i, j, f); pos(f, p, A); divide(p, p0, p1, 4)
//!                                               p0 = 1 begins at a quarter of A's positions
//! ```
//!
//! Code that cuts such a loop knows the distribution of work by coordinates or positions of tensors.

use super::{Derived, Relation};
use crate::format::LevelMap;
use crate::format::open::Arithmetic;
use tamis_ir::ids::{IndexVar, TensorId};

/// Up to this number of parts, a loop over parts has exactly that many iterations, a constant for GPU units and
/// unrolling; parts beyond the last coordinate are empty.
pub const FEW_PARTS: u64 = 1 << 10;

/// What the iterations of a loop count.
#[derive(Clone, PartialEq, Debug)]
pub struct Scale {
    /// The coordinates or positions at the start of the derivation.
    pub root: Root,
    /// The derivations from there to the loop's variable.
    steps: Vec<Step>,
}

/// The coordinates or positions from which a loop variable was derived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Root {
    /// The coordinates of a variable.
    Coordinates(IndexVar),
    /// All positions of a level of a tensor.
    Positions(TensorId, usize),
    /// The coordinates of a level of a tensor.
    Level(TensorId, usize),
}

#[derive(Clone, PartialEq, Debug)]
enum Step {
    /// Blocks of this size.
    Blocks(u64),
    /// This number of parts, of equal width.
    Parts(u64),
    /// Offsets in blocks of this size.
    Places(u64),
    /// Offsets in one of this number of parts.
    PlacesOfParts(u64),
    /// One iteration for each combination with a coordinate of another variable.
    Fused(Box<Scale>),
}

impl Scale {
    /// The scale of a variable; `None` where it depends on surrounding loops.
    pub fn of(derived: &Derived, var: IndexVar) -> Option<Scale> {
        let further = |of: IndexVar, step: Step| {
            let mut scale = Scale::of(derived, of)?;
            scale.steps.push(step);
            Some(scale)
        };
        match derived.relation(var) {
            Some(&Relation::Part { of, parts, .. }) => return further(of, Step::Parts(parts)),
            Some(&Relation::Place { of, part }) => match derived.relation(part) {
                Some(&Relation::Part { parts, .. }) => {
                    return further(of, Step::PlacesOfParts(parts));
                }
                _ => return None,
            },
            Some(&Relation::Same { of, .. }) => return Scale::of(derived, of),
            Some(&Relation::Fused { outer, inner }) => {
                return further(outer, Step::Fused(Box::new(Scale::of(derived, inner)?)));
            }
            Some(Relation::Position { access, above, level, .. }) => {
                let root = Root::Positions(access.tensor, *level);
                return above.is_empty().then(|| Scale { root, steps: vec![] });
            }
            None => {}
        }
        match derived.map(var) {
            Some(LevelMap::Div(of, size)) => further(of, Step::Blocks(size)),
            Some(LevelMap::Mod(of, size)) => further(of, Step::Places(size)),
            Some(LevelMap::Diff { .. } | LevelMap::Slot(_)) => None,
            _ => Some(Scale::plain(derived.alias(var))),
        }
    }

    /// The scale of a variable that counts its own coordinates.
    pub fn plain(var: IndexVar) -> Scale {
        Scale::whole(Root::Coordinates(var))
    }

    /// The scale of a variable that counts all of `root`.
    pub fn whole(root: Root) -> Scale {
        Scale { root, steps: vec![] }
    }

    /// Whether each iteration is one coordinate or position of the root.
    pub fn is_plain(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether iterations follow the order of the coordinates or positions of the root.
    pub fn is_ordered(&self) -> bool {
        !self.steps.iter().any(|s| matches!(s, Step::Places(_) | Step::PlacesOfParts(_)))
    }

    /// The number of iterations, given the number `of` of coordinates or positions: a number, or code.
    pub fn count<A: Arithmetic>(&self, of: A, dimension: &dyn Fn(IndexVar) -> A) -> A {
        self.steps.iter().fold(of, |of, step| step.count(of, dimension))
    }

    /// The length of an array indexed by the variable, including empty parts.
    pub fn extent<A: Arithmetic>(&self, of: A, dimension: &dyn Fn(IndexVar) -> A) -> A {
        self.steps.iter().fold(of, |of, step| match step {
            Step::Parts(n) if *n <= FEW_PARTS => A::constant(*n as i64),
            Step::Fused(inner) => match inner.root {
                Root::Coordinates(var) => of.by(inner.extent(dimension(var), dimension)),
                _ => step.count(of, dimension),
            },
            _ => step.count(of, dimension),
        })
    }

    /// The iteration that contains `at`, one of `of` coordinates or positions.
    pub fn iteration(&self, at: u64, of: u64, dimension: &dyn Fn(IndexVar) -> u64) -> u64 {
        let step = |(at, of): (u64, u64), step: &Step| {
            (step.iteration(at, of, dimension), step.count(of, dimension))
        };
        self.steps.iter().fold((at, of), step).0
    }

    /// The first of `of` coordinates or positions in an iteration: a number, or code.
    pub fn first<A: Arithmetic>(
        &self,
        iteration: A,
        of: A,
        dimension: &dyn Fn(IndexVar) -> A,
    ) -> A {
        let mut counts = vec![of.clone()];
        for step in &self.steps {
            counts.push(step.count(counts[counts.len() - 1].clone(), dimension));
        }
        let back = self.steps.iter().zip(counts).rev();
        back.fold(iteration, |at, (step, of)| step.first(at, of, dimension)).least(of)
    }
}

impl Step {
    fn count<A: Arithmetic>(&self, of: A, dimension: &dyn Fn(IndexVar) -> A) -> A {
        let constant = |n: u64| A::constant(n as i64);
        match self {
            Step::Blocks(n) | Step::PlacesOfParts(n) => of.plus(constant(*n - 1)).over(*n),
            // Parts beyond the last coordinate are empty.
            Step::Parts(n) => of.least(constant(*n)),
            Step::Places(n) => constant(*n),
            Step::Fused(inner) => of.by(size(inner, dimension)),
        }
    }

    fn iteration(&self, at: u64, of: u64, dimension: &dyn Fn(IndexVar) -> u64) -> u64 {
        match self {
            Step::Blocks(size) => at / size,
            Step::Parts(parts) => at / of.div_ceil(*parts).max(1),
            Step::Places(_) | Step::PlacesOfParts(_) => at,
            Step::Fused(inner) => at.saturating_mul(size(inner, dimension)),
        }
    }

    fn first<A: Arithmetic>(&self, iteration: A, of: A, dimension: &dyn Fn(IndexVar) -> A) -> A {
        match self {
            Step::Blocks(size) => iteration.times(*size),
            Step::Parts(parts) => {
                iteration.by(of.plus(A::constant(*parts as i64 - 1)).over(*parts))
            }
            Step::Places(_) | Step::PlacesOfParts(_) => iteration,
            Step::Fused(inner) => iteration.divided(size(inner, dimension)),
        }
    }
}

/// The number of coordinates of the inner of two fused variables.
fn size<A: Arithmetic>(inner: &Scale, dimension: &dyn Fn(IndexVar) -> A) -> A {
    match inner.root {
        Root::Coordinates(var) => inner.count(dimension(var), dimension),
        Root::Positions(..) | Root::Level(..) => unreachable!("only coordinates are fused"),
    }
}
