//! The cost of loops that walk operands: steps of walks and merges, and lookups in located operands.

use super::{Estimate, Levels, Operands, Walked};
use crate::legalise::copies::bitmap::MOST_PLACES;
use crate::legalise::order::merge_strategy::SKEWED;
use crate::legalise::weights::{BRANCH, SEARCH, SLOTS};
use crate::level;
use crate::notation::Access;
use std::ptr;
use tamis_ir::ids::IndexVar;

/// The cost of galloping: finding few coordinates among many, each from the last one on.
fn searched(few: f64, many: f64) -> f64 {
    2.0 * SEARCH * few.max(1.0) * (many / few.max(1.0)).log2()
}

/// The cost of a branch that is taken for this share of iterations: the rarer outcome is mispredicted.
pub(in crate::legalise) fn unpredicted(part: f64) -> f64 {
    BRANCH * part.min(1.0 - part).max(0.0)
}

impl Estimate<'_> {
    /// The cost of a loop over the coordinates that any operand lists, each time it runs, and the number of these
    /// coordinates.
    pub(super) fn union(&self, var: IndexVar, merged: &[Walked<'_>]) -> (f64, f64) {
        // There are at most as many as the dimension.
        let all = merged.iter().map(|(_, n)| n).sum::<f64>().min(self.dimension(var));
        let repeated: f64 = merged.iter().map(|it| self.repeated(it)).sum();
        (all * self.merge_step(var, merged) + repeated, all)
    }

    /// The cost of a loop over the coordinates that all operands list, each time it runs, and the number of these
    /// coordinates.
    pub(super) fn intersection(&self, var: IndexVar, met: &[Walked<'_>]) -> (f64, f64) {
        let least = met.iter().map(|(_, n)| *n).fold(f64::INFINITY, f64::min);
        // An operand is walked as a whole unless a copy of it locates coordinates.
        let (located, walked): (Vec<Walked<'_>>, Vec<Walked<'_>>) =
            met.iter().partition(|(levels, n)| self.is_located(&levels.access, *n, var));
        let looks = located.iter().map(|(_, n)| least * unpredicted(n / self.dimension(var)));
        let step = self.merge_step(var, &walked);
        let steps = walked.iter().map(|it| match it.1 < SKEWED * least {
            true => step * it.1 + self.repeated(it),
            false => searched(least, it.1).min(step * it.1),
        });
        let steps: f64 = looks.chain(steps).sum();
        // If an operand has no coordinates, the others are not read.
        ((steps * least.min(1.0)).max(least) * self.slots(met), least)
    }

    /// The number of positions of a level with the same coordinate as the position before.
    pub(super) fn repeated(&self, &(levels, coordinates): &Walked<'_>) -> f64 {
        let below = || {
            let (_, k) = self.reached.iter().find(|(reached, _)| ptr::eq(*reached, levels))?;
            let unique = levels.get(*k)?.1.properties().unique;
            let (var, _) = levels.get(k + 1).filter(|_| !unique)?;
            Some(self.fan_out(levels, k + 1, var))
        };
        below().map_or(0.0, |entries| coordinates * (entries - 1.0).max(0.0))
    }

    /// The cost of a step of a merge. At each coordinate, either one certain operand has an entry, or several operands
    /// have one. A processor predicts the most frequent of these cases, and each of the others costs a mispredicted
    /// branch.
    fn merge_step(&self, var: IndexVar, merged: &[Walked<'_>]) -> f64 {
        let dimension = self.dimension(var).max(1.0);
        let densities: Vec<f64> = merged.iter().map(|(_, n)| (n / dimension).min(1.0)).collect();
        let without = |one: usize| -> f64 {
            let others = densities.iter().enumerate().filter(|(k, _)| *k != one);
            others.map(|(_, d)| 1.0 - d).product()
        };
        let alone: Vec<f64> = densities.iter().enumerate().map(|(k, d)| d * without(k)).collect();
        let one: f64 = alone.iter().sum();
        // One minus a small share rounds to 1 in huge dimensions.
        let any = one.max(1.0 - without(merged.len()));
        let several = any - one;
        let mostly = alone.into_iter().fold(several, f64::max);
        if any > 0.0 { 1.0 + BRANCH * (1.0 - mostly / any) } else { 1.0 }
    }

    /// The number of positions that a loop walks for each coordinate.
    fn slots(&self, iterated: &[Walked<'_>]) -> f64 {
        let is_map = |&(levels, k): &(&Levels, usize)| {
            let kind = levels.get(k).map(|(_, kind)| kind);
            kind == Some(level::HASHED)
                && iterated.iter().any(|(walked, _)| ptr::eq(*walked, levels))
        };
        if self.reached.iter().any(is_map) { SLOTS } else { 1.0 }
    }

    /// Whether a small copy of an operand locates its coordinates of a variable, since there are so many lookups
    /// that the copy pays. There is no such copy beside sparse copies in loop order.
    fn is_located(&self, access: &Access, entries: f64, var: IndexVar) -> bool {
        let Operands { cx, converted, .. } = self.operands;
        let vars = cx.level_vars(access);
        if vars.last() != Some(&var) || converted.iter().any(|(a, ..)| !cx.is_full(a)) {
            return false;
        }
        let places: f64 = vars.iter().map(|&v| self.dimension(v)).product();
        places <= MOST_PLACES.min(self.trips * entries)
    }
}
