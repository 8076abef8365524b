//! Random programs of large dimensions.

use super::{Flavour, Generator, MOST_ELEMENTS};
use crate::case::Case;
use crate::formats;
use crate::random::Random;
use std::collections::BTreeMap;
use tamis::DataType;

/// How many entries operands have in large programs, if they have more than twice as many elements.
const MANY_ENTRIES: u64 = 100;
/// How many they have at most, about.
pub(super) const MOST_ENTRIES: u64 = 4000;

/// A random case with so many coordinates and entries that what they take outweighs what any program takes.
pub fn large(random: &mut Random) -> Case {
    let mut g = Generator::new(random, &formats::format);
    g.enlarge();
    let statements = if g.random.one_in(6) { 2 } else { 1 };
    let texts: Vec<String> =
        ["R", "S"][..statements].iter().map(|name| g.statement(name)).collect();
    g.finish(texts.join("; "))
}

impl Generator<'_> {
    /// Large dimensions, and what a rewritten program computes alike: floats in whole tensors.
    fn enlarge(&mut self) {
        self.vars.truncate(4);
        let (least, more) = [(60, 60), (60, 60), (40, 60), (20, 8), (10, 4)][self.vars.len()];
        for &v in &self.vars {
            self.sizes.insert(v, least + self.random.below(more) as u64);
        }
        self.types =
            vec![if self.flavour == Flavour::Logic { DataType::Bool } else { DataType::F64 }];
        (self.least, self.slices) = (MANY_ENTRIES, false);
        self.divides = self.flavour == Flavour::Arithmetic && self.random.one_in(4);
    }
}

/// Makes one or two dimensions large, such that the loops over all of them end soon.
pub(super) fn widen(random: &mut Random, sizes: &mut BTreeMap<&'static str, u64>) {
    let mut vars: Vec<&'static str> = sizes.keys().copied().collect();
    random.shuffle(&mut vars);
    sizes.insert(vars[0], 100 + random.below(2000) as u64);
    let others = vars.iter().skip(1).filter(|_| random.one_in(2)).copied().collect::<Vec<_>>();
    if let Some(&second) = others.first() {
        sizes.insert(second, 1);
        let rest = MOST_ELEMENTS / sizes.values().map(|&size| size.max(1)).product::<u64>();
        sizes.insert(second, 1 + random.below(rest as usize) as u64);
    }
}
