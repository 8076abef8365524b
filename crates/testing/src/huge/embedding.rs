//! One program in small dimensions and in huge ones.
//!
//! ```text
//! small    A 6, entries at 0, 2, 3; 6, 7, 8 have none: they stand for all coordinates without an image
//! huge     A 2^53, entries at 0, 2^31, 2^53 - 1, the images of 0, 2, 3
//! ```
//!
//! A slice of a mode counts the images of the coordinates that it counted. Where a variable gets more
//! coordinates, the slices that it counts become longer, and what they leave out stays around them.

use super::classes::{Classes, Use, step};
use crate::case::{Case, Operand};
use std::collections::BTreeMap;
use tamis_core::notation::{Access, Expr, Program, Slice, Slicing};
use tamis_ir::ids::{Id, Mode};

/// A program, and which of its classes of modes and variables become huge.
#[derive(Clone, Debug)]
pub struct Embedding {
    /// The program in the dimensions in which it was drawn.
    pub program: Program,
    /// Its classes.
    pub classes: Classes,
    /// What becomes of each.
    pub scalings: Vec<Scaling>,
    /// The huge dimensions.
    pub huge: Side,
}

/// What becomes of a class.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scaling {
    /// It has the same dimension on all sides.
    Kept,
    /// It becomes huge.
    Huge,
    /// It becomes huge since all its slices do, which a variable of another class counts.
    Follows(Follower),
}

/// Which of the coordinates without an image.
#[derive(Clone, Copy)]
pub enum Gaps {
    /// The lowest.
    Lowest,
    /// The highest.
    Highest,
}

/// The slices of a class that become huge.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Follower {
    /// The class of the variable that counts them.
    pub counter: usize,
    /// The lowest of their coordinates.
    pub lowest: u64,
    /// From one coordinate to the next.
    pub step: i64,
}

/// Dimensions of the classes, and where the coordinates of the drawn program are in them.
#[derive(Clone, Debug)]
pub struct Side {
    /// The dimension of each class.
    pub dims: Vec<u64>,
    /// The image of each coordinate, ascending.
    pub images: Vec<Vec<u64>>,
}

impl Follower {
    /// The coordinate that the variable's value names, of so many.
    fn coordinate(self, value: u64, count: u64) -> u64 {
        let cell = if self.step < 0 { count - 1 - value } else { value };
        self.lowest + cell * self.step.unsigned_abs()
    }

    /// A coordinate on a side where the variable has `to` values instead of `from`; `value` tells which value there
    /// one becomes.
    fn moved(self, at: u64, [from, to]: [u64; 2], value: &mut dyn FnMut(u64) -> u64) -> u64 {
        let width = self.step.unsigned_abs();
        let Some(offset) = at.checked_sub(self.lowest) else { return at };
        let (cell, rest) = (offset / width, offset % width);
        if cell >= from {
            return at - width * from + width * to;
        }
        let old = if self.step < 0 { from - 1 - cell } else { cell };
        self.coordinate(value(old), to) + rest
    }
}

impl Side {
    /// The drawn dimensions, with so many coordinates more in each class that becomes huge.
    pub fn small(classes: &Classes, scalings: &[Scaling], more: u64) -> Side {
        let size = |(class, scaling): (usize, &Scaling)| match scaling {
            Scaling::Huge => classes.sizes[class] + more,
            _ => classes.sizes[class],
        };
        let images = classes.sizes.iter().map(|&n| (0..n).collect()).collect();
        Side { dims: scalings.iter().enumerate().map(size).collect(), images }
            .with_followers(classes, scalings)
    }

    /// The same, where classes with huge slices follow the variables that count them.
    pub fn with_followers(mut self, classes: &Classes, scalings: &[Scaling]) -> Side {
        for (class, scaling) in scalings.iter().enumerate() {
            let Scaling::Follows(follower) = *scaling else { continue };
            let counts = [classes.sizes[follower.counter], self.dims[follower.counter]];
            let of_counter = &self.images[follower.counter];
            let moved =
                |at| follower.moved(at, counts, &mut |value: u64| of_counter[value as usize]);
            let images = (0..classes.sizes[class]).map(moved).collect();
            let width = follower.step.unsigned_abs();
            self.dims[class] = classes.sizes[class] + width * (counts[1] - counts[0]);
            self.images[class] = images;
        }
        self
    }
}

impl Embedding {
    /// The drawn dimensions, with so many coordinates more in each class that becomes huge.
    pub fn small(&self, more: u64) -> Side {
        Side::small(&self.classes, &self.scalings, more)
    }

    /// What variables whose values are computed with count for at the coordinates of the drawn program, and
    /// at some coordinates without an image.
    pub fn labels(&self, gaps: Gaps, count: u64) -> BTreeMap<String, Vec<f64>> {
        let of = |class: usize| -> Vec<f64> {
            let (images, dimension) = (&self.huge.images[class], self.huge.dims[class]);
            let is_gap = |at: &u64| images.binary_search(at).is_err();
            let gaps: Vec<u64> = match (self.scalings[class], gaps) {
                (Scaling::Kept, _) => vec![],
                (_, Gaps::Lowest) => (0..).filter(is_gap).take(count as usize).collect(),
                (_, Gaps::Highest) => {
                    (0..dimension).rev().filter(is_gap).take(count as usize).collect()
                }
            };
            images.iter().chain(&gaps).map(|&at| at as f64).collect()
        };
        let valued = self.classes.vars.iter().filter(|(_, class)| self.classes.valued[**class]);
        valued.map(|(var, &class)| (var.clone(), of(class))).collect()
    }

    /// A case of one side on another, with its first statements.
    pub fn moved(&self, case: &Case, from: &Side, to: &Side) -> Case {
        let statements = case.text.split("; ").count();
        let dims_of = |tensor: &str, order: usize| -> Vec<u64> {
            let classes = self.classes.of_tensor(tensor, order).expect("a tensor of the program");
            classes.into_iter().map(|class| to.dims[class]).collect()
        };
        let operand = |o: &Operand| {
            let classes = self.classes.of_tensor(&o.name, o.dims.len()).expect("an operand");
            let place = |place: &[u64]| self.place(&classes, place, from, to);
            let entries = o.entries.iter().map(|(at, value)| (place(at), *value)).collect();
            Operand { dims: dims_of(&o.name, o.dims.len()), entries, ..o.clone() }
        };
        let dims = case
            .dims
            .keys()
            .filter_map(|var| Some((var.clone(), to.dims[*self.classes.vars.get(var)?])));
        let shapes = case.shapes.iter();
        Case {
            text: self.text(to, statements),
            operands: case.operands.iter().map(operand).collect(),
            dims: dims.collect(),
            shapes: shapes.map(|(t, s)| (t.clone(), dims_of(t, s.len()))).collect(),
            ..case.clone()
        }
    }

    /// The coordinates of one side on another, where those without an image become additional ones, in the order in
    /// which they are met.
    pub fn place(&self, classes: &[usize], place: &[u64], from: &Side, to: &Side) -> Vec<u64> {
        let mut gaps = BTreeMap::new();
        let at = classes.iter().zip(place);
        at.map(|(&class, &c)| self.coordinate(class, c, [from, to], &mut gaps)).collect()
    }

    fn coordinate(
        &self,
        class: usize,
        at: u64,
        [from, to]: [&Side; 2],
        gaps: &mut BTreeMap<usize, Vec<u64>>,
    ) -> u64 {
        match self.scalings[class] {
            Scaling::Kept => at,
            Scaling::Huge => match from.images[class].binary_search(&at) {
                Ok(found) => to.images[class][found],
                Err(_) => {
                    let gaps = gaps.entry(class).or_default();
                    let known = gaps.iter().position(|gap| *gap == at);
                    let index = known.unwrap_or(gaps.len());
                    gaps.extend(known.is_none().then_some(at));
                    self.classes.sizes[class] + index as u64
                }
            },
            Scaling::Follows(follower) => {
                let counter = follower.counter;
                let counts = [from.dims[counter], to.dims[counter]];
                follower.moved(at, counts, &mut |value| {
                    self.coordinate(counter, value, [from, to], gaps)
                })
            }
        }
    }

    /// The first statements of the program on a side.
    fn text(&self, side: &Side, statements: usize) -> String {
        let mut program = self.program.clone();
        program.statements.truncate(statements);
        let mut uses = self.classes.uses.iter();
        for statement in &mut program.statements {
            self.slice(&mut statement.result, side, &mut uses);
            let value = std::mem::replace(&mut statement.value, Expr::Param(0));
            statement.value = self.sliced(value, side, &mut uses);
        }
        program.to_string()
    }

    /// An expression with the slices of a side.
    fn sliced<'u>(&self, e: Expr, side: &Side, uses: &mut impl Iterator<Item = &'u Use>) -> Expr {
        match e {
            Expr::Access(mut access) => {
                self.slice(&mut access, side, uses);
                Expr::Access(access)
            }
            e => e.map_children(&mut |child| self.sliced(child, side, &mut *uses)),
        }
    }

    fn slice<'u>(
        &self,
        access: &mut Access,
        side: &Side,
        uses: &mut impl Iterator<Item = &'u Use>,
    ) {
        for mode in 0..access.indices.len() {
            if let Some(slicing) = access.slices.get_mut(&Mode::new(mode)) {
                let used = uses.next().expect("every slice is known");
                *slicing = Slicing::Taken(self.slice_of(used, side));
            }
        }
    }

    fn slice_of(&self, used: &Use, side: &Side) -> Slice {
        let dimension = side.dims[used.mode];
        if let Scaling::Follows(follower) = self.scalings[used.mode] {
            let count = side.dims[used.counter];
            return range(follower.coordinate(0, count), follower.step, count, dimension);
        }
        let image = |c: &u64| side.images[used.mode][*c as usize];
        let images: Vec<u64> = used.coordinates.iter().map(image).collect();
        match step(&images).filter(|_| !used.is_set) {
            Some(step) => {
                let first = images.first().copied().unwrap_or(0);
                range(first, step, images.len() as u64, dimension)
            }
            None => Slice::Set(images),
        }
    }
}

/// A slice that counts so many coordinates; open at its end if it takes all that there are.
fn range(first: u64, step: i64, count: u64, dimension: u64) -> Slice {
    if count == 0 {
        return Slice::Range { start: Some(first), end: Some(first), step: 1 };
    }
    let (last, width) = ((count - 1) * step.unsigned_abs(), step.unsigned_abs());
    let end = match step > 0 {
        true => Some(first + last + 1).filter(|_| first + last + width < dimension),
        false => (first - last).checked_sub(1).filter(|_| first - last >= width),
    };
    Slice::Range { start: Some(first), end, step }
}
