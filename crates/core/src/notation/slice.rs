//! Slices: the coordinates of a mode that an index variable counts.
//!
//! ```text
//! A(i[2:8], j)        i = 0..6 stands for coordinates 2..8 of A's first mode
//! A(i[::2], j)        every second coordinate
//! A(i[7:1:-1], j)     7, 6, .. 2
//! A(i[{1,3,5}], j)    1, 3, 5
//! ```
//!
//! The conventions are Python's: the end is exclusive, bounds may be omitted, and bounds beyond the dimension mean the
//! dimension. The members of a set have to exist.

use crate::format::open::Arithmetic;
use std::fmt::{self, Display};

/// Some coordinates of a mode, in the order in which an index variable counts them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Slice {
    /// `start:end:step`
    Range {
        /// The first coordinate; if omitted, the mode's first one, or its last one if the step is negative.
        start: Option<u64>,
        /// The coordinate before which the slice stops; if omitted, it stops at the end of the mode.
        end: Option<u64>,
        /// Never 0.
        step: i64,
    },
    /// `{1,3,5}`: at least one coordinate, ascending.
    Set(Vec<u64>),
}

/// The relation between the coordinates of a mode and the values of its index variable, if they differ.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Slicing {
    /// The variable counts the slice's coordinates of the mode: `A(i[2:8])`.
    Taken(Slice),
    /// The mode counts the slice's values of the variable: other values have no element. This has no syntax; it
    /// moves parts of results to their coordinates.
    Placed(Slice),
}

impl Slice {
    /// The number of its coordinates in a mode of this dimension; the error is a member of a set that the mode lacks.
    pub fn len(&self, dimension: u64) -> Result<u64, u64> {
        match self.largest_member() {
            Some(member) if member >= dimension => Err(member),
            _ => Ok(self.count(bound(dimension)) as u64),
        }
    }

    /// The largest member of a set, which a mode must have.
    pub fn largest_member(&self) -> Option<u64> {
        match self {
            Slice::Set(members) => members.last().copied(),
            Slice::Range { .. } => None,
        }
    }

    /// The number of its coordinates in a mode of this dimension that has all members of a set: a number, or code.
    pub fn count<A: Arithmetic>(&self, dimension: A) -> A {
        let constant = |x: u64| A::constant(bound(x));
        let (start, end, step) = match self {
            Slice::Set(members) => return constant(members.len() as u64),
            Slice::Range { start, end, step } => (start, end, step),
        };
        let clipped = |x: &u64, most: A| constant(*x).least(most);
        let distance = if *step > 0 {
            let end = end.as_ref().map_or(dimension.clone(), |e| clipped(e, dimension.clone()));
            end.minus(start.as_ref().map_or(A::constant(0), |s| clipped(s, dimension)))
        } else {
            let last = dimension.minus(A::constant(1));
            let first = start.as_ref().map_or(last.clone(), |s| clipped(s, last.clone()));
            first.minus(end.as_ref().map_or(A::constant(-1), |e| clipped(e, last)))
        };
        let step = bound(step.unsigned_abs());
        distance.greatest(A::constant(0)).plus(A::constant(step - 1)).over(step as u64)
    }

    /// The coordinate at value `k` of the variable.
    pub fn coordinate(&self, k: u64, dimension: u64) -> u64 {
        match self {
            Slice::Set(members) => members[k as usize],
            Slice::Range { step, .. } => {
                (self.first(dimension) + i128::from(k) * i128::from(*step)) as u64
            }
        }
    }

    /// Whether it contains every coordinate in order, whatever the dimension.
    pub fn is_whole(&self) -> bool {
        matches!(self, Slice::Range { start: None | Some(0), end: None, step: 1 })
    }

    /// The first coordinate of the slice: beyond the last one of the mode, or before the first, if the slice is empty.
    fn first(&self, dimension: u64) -> i128 {
        let dimension = i128::from(dimension);
        match *self {
            Slice::Range { start, step, .. } if step > 0 => {
                start.map_or(0, |s| dimension.min(s.into()))
            }
            Slice::Range { start, .. } => {
                start.map_or(dimension - 1, |s| i128::from(s).min(dimension - 1))
            }
            Slice::Set(ref members) => members.first().copied().unwrap_or(0).into(),
        }
    }
}

/// A number within the range of code: dimensions are smaller.
fn bound(x: u64) -> i64 {
    x.min(1 << 62) as i64
}

impl Slicing {
    /// The slice.
    pub fn slice(&self) -> &Slice {
        match self {
            Slicing::Taken(slice) | Slicing::Placed(slice) => slice,
        }
    }

    /// Whether coordinates of the mode ascend with the values of its index variable.
    pub fn ascends(&self) -> bool {
        match self.slice() {
            Slice::Range { step, .. } => *step > 0,
            Slice::Set(_) => true,
        }
    }
}

/// `[2:8]`, `[::-1]`, `[{1,3,5}]`
impl Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Slice::Range { start, end, step } => {
                let text = |bound: &Option<u64>| bound.map_or(String::new(), |b| b.to_string());
                write!(f, "[{}:{}", text(start), text(end))?;
                match step {
                    1 => f.write_str("]"),
                    _ => write!(f, ":{step}]"),
                }
            }
            Slice::Set(members) => {
                let members: Vec<String> = members.iter().map(u64::to_string).collect();
                write!(f, "[{{{}}}]", members.join(","))
            }
        }
    }
}

/// As users write it; with an arrow if it is placed.
impl Display for Slicing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Slicing::Taken(slice) => slice.fmt(f),
            Slicing::Placed(slice) => write!(f, "->{slice}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Slice;

    fn check(start: Option<u64>, end: Option<u64>, step: i64, dimension: u64, expect: &[u64]) {
        let slice = Slice::Range { start, end, step };
        let len = slice.len(dimension).unwrap();
        let got: Vec<u64> = (0..len).map(|k| slice.coordinate(k, dimension)).collect();
        assert_eq!(got, expect, "{slice} of {dimension}");
    }

    #[test]
    fn ranges_are_those_of_python() {
        check(Some(2), Some(8), 1, 10, &[2, 3, 4, 5, 6, 7]);
        check(Some(2), Some(8), 1, 4, &[2, 3]);
        check(Some(2), Some(8), 1, 2, &[]);
        check(None, None, 1, 0, &[]);
        check(None, Some(10), 2, 5, &[0, 2, 4]);
        check(Some(1), None, 3, 6, &[1, 4]);
        check(None, None, -1, 3, &[2, 1, 0]);
        check(None, None, -1, 0, &[]);
        check(Some(7), Some(1), -2, 10, &[7, 5, 3]);
        check(Some(7), Some(1), -2, 5, &[4, 2]);
        check(Some(7), Some(3), -1, 3, &[]);
        check(Some(2), None, -2, 9, &[2, 0]);
        check(Some(u64::MAX), Some(0), i64::MIN, 9, &[8]);
    }

    #[test]
    fn members_of_a_set_exist() {
        assert_eq!(Slice::Set(vec![1, 5]).len(6), Ok(2));
        assert_eq!(Slice::Set(vec![1, 5]).len(5), Err(5));
    }
}
