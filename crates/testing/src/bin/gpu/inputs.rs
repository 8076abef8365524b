//! Matrices and tensors of order 3: stencils, entries anywhere, and power laws.

use tamis::{Coordinates, Values};
use tamis_testing::random::Random;

/// What an input is like.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// A five-point stencil on a square.
    Stencil,
    /// Entries anywhere, more of them in the first rows.
    Random,
    /// Entries anywhere, of rows that have half as many where there are twice as many before.
    PowerLaw,
}

/// What an input is for, and how many entries it has, about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// A trial of the program.
    Quick,
    /// Operands larger than caches.
    Full(usize),
    /// Matrices whose square is as large as that of so many entries.
    Squared(usize),
}

/// The entries of operands of 240 MB and more.
pub const ENTRIES: usize = 24_000_000;

impl Pattern {
    /// All of them.
    pub const ALL: [Pattern; 3] = [Pattern::Stencil, Pattern::Random, Pattern::PowerLaw];

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Pattern::Stencil => "stencil",
            Pattern::Random => "random",
            Pattern::PowerLaw => "power-law",
        }
    }

    /// The entries of a matrix, or of a tensor of order 3.
    pub fn entries(self, order: usize, size: Size) -> Coordinates {
        let (rows, count): (u64, usize) = match (order, size) {
            (2, Size::Quick) => (2_000, 20_000),
            (2, Size::Full(count)) => (1 << 20, count),
            (2, Size::Squared(count)) => match self {
                Pattern::PowerLaw => (1 << 17, count / 24),
                _ => (1 << 20, count / 3),
            },
            (_, Size::Quick) => (200, 20_000),
            (_, Size::Full(count) | Size::Squared(count)) => (1 << 12, count),
        };
        let dims = vec![rows; order];
        match self {
            Pattern::Stencil if size == Size::Quick => stencil(40, order),
            Pattern::Stencil => stencil((count / 5).isqrt() as u64, order),
            Pattern::Random => listed(dims, count, &mut |random, rows| {
                let below = 1 + random.below(rows as usize);
                random.below(below) as u64
            }),
            Pattern::PowerLaw => listed(dims, count, &mut |random, rows| {
                let share = random.below(STEPS) as f64 / STEPS as f64;
                ((rows as f64).powf(share) as u64).clamp(1, rows) - 1
            }),
        }
    }
}

/// So finely are numbers between 0 and 1 drawn.
const STEPS: usize = 1 << 30;

/// A five-point stencil on a square; of order 3 each entry has a third coordinate below 64.
fn stencil(side: u64, order: usize) -> Coordinates {
    let n = side * side;
    let (mut crds, mut vals) = (vec![vec![]; order], vec![]);
    for row in 0..n {
        let (x, y) = (row % side, row / side);
        let mut push = |column: u64, value: f64| {
            crds[0].push(row);
            crds[1].push(column);
            if let Some(third) = crds.get_mut(2) {
                third.push(row % 64);
            }
            vals.push(value);
        };
        if y > 0 {
            push(row - side, -1.0);
        }
        if x > 0 {
            push(row - 1, -1.0);
        }
        push(row, 4.0);
        if x + 1 < side {
            push(row + 1, -1.0);
        }
        if y + 1 < side {
            push(row + side, -1.0);
        }
    }
    let dims = [n, n, 64][..order].to_vec();
    Coordinates::new(dims, crds, Values::F64(vals)).expect("a list of entries")
}

/// Entries in rows of someone's choice, anywhere in these.
fn listed(
    dims: Vec<u64>,
    entries: usize,
    row: &mut dyn FnMut(&mut Random, u64) -> u64,
) -> Coordinates {
    let mut random = Random::new(7);
    let mut crds = vec![Vec::with_capacity(entries); dims.len()];
    let mut vals = Vec::with_capacity(entries);
    for _ in 0..entries {
        for (k, (list, &dim)) in crds.iter_mut().zip(&dims).enumerate() {
            list.push(match k {
                0 => row(&mut random, dim),
                _ => random.below(dim as usize) as u64,
            });
        }
        vals.push(1.0 + random.below(8) as f64);
    }
    Coordinates::new(dims, crds, Values::F64(vals)).expect("a list of entries")
}
