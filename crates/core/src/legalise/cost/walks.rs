//! What loops cost that walk operands: steps of walks and merges, and looks at what is located beside.

use super::{Estimate, Operands};
use crate::legalise::copies::bitmap::MOST_PLACES;
use crate::legalise::order::merge_strategy::SKEWED;
use crate::legalise::weights::{BRANCH, SEARCH, SLOTS};
use crate::level;
use crate::notation::Access;
use tamis_ir::ids::IndexVar;

/// What it costs to find few coordinates among many that are listed, each from where the last one is.
fn searched(few: f64, many: f64) -> f64 {
    2.0 * SEARCH * few.max(1.0) * (many / few.max(1.0)).log2()
}

/// What it costs to ask for what a part of all cases have: the rarer answer is not predicted.
pub(in crate::legalise) fn unpredicted(part: f64) -> f64 {
    BRANCH * part.min(1.0 - part).max(0.0)
}

impl Estimate<'_> {
    /// What a loop over the coordinates that any operand lists costs each time, and how many these are.
    pub(super) fn union(&self, var: IndexVar, merged: &[(Access, f64)]) -> (f64, f64) {
        // They are at most every coordinate.
        let all = merged.iter().map(|(_, n)| n).sum::<f64>().min(self.dimension(var));
        let repeated: f64 = merged.iter().map(|it| self.repeated(it)).sum();
        (all * self.merge_step(var, merged) + repeated, all)
    }

    /// What a loop over the coordinates that all operands list costs each time, and how many these are.
    pub(super) fn intersection(&self, var: IndexVar, met: &[(Access, f64)]) -> (f64, f64) {
        let least = met.iter().map(|(_, n)| *n).fold(f64::INFINITY, f64::min);
        // What else meets is walked whole where no copy of it locates coordinates.
        let (located, walked): (Vec<_>, Vec<_>) =
            met.iter().cloned().partition(|(a, n)| self.is_located(a, *n, var));
        let looks = located.iter().map(|(_, n)| least * unpredicted(n / self.dimension(var)));
        let step = self.merge_step(var, &walked);
        let steps = walked.iter().map(|it| match it.1 < SKEWED * least {
            true => step * it.1 + self.repeated(it),
            false => searched(least, it.1).min(step * it.1),
        });
        let steps: f64 = looks.chain(steps).sum();
        // Where an operand has no coordinate, the others are not looked at.
        ((steps * least.min(1.0)).max(least) * self.slots(met), least)
    }

    /// How many positions of a list have the coordinate of the one before.
    pub(super) fn repeated(&self, (access, coordinates): &(Access, f64)) -> f64 {
        let below = || {
            let (_, k) = self.reached.iter().find(|(a, _)| a == access)?;
            let unique = self.level(access, *k)?.1.properties().unique;
            let (var, _) = self.level(access, k + 1).filter(|_| !unique)?;
            Some(self.fan_out(access, k + 1, var))
        };
        below().map_or(0.0, |entries| coordinates * (entries - 1.0).max(0.0))
    }

    /// What a step of a merge costs. A coordinate is of one of these kinds: one certain operand has it alone, or several
    /// operands have it. A processor predicts the most frequent kind, and each of the others costs a branch.
    fn merge_step(&self, var: IndexVar, merged: &[(Access, f64)]) -> f64 {
        let dimension = self.dimension(var).max(1.0);
        let densities: Vec<f64> = merged.iter().map(|(_, n)| (n / dimension).min(1.0)).collect();
        let without = |one: usize| -> f64 {
            let others = densities.iter().enumerate().filter(|(k, _)| *k != one);
            others.map(|(_, d)| 1.0 - d).product()
        };
        let alone: Vec<f64> = densities.iter().enumerate().map(|(k, d)| d * without(k)).collect();
        let one: f64 = alone.iter().sum();
        // A part of a huge dimension is lost beside 1.
        let any = one.max(1.0 - without(merged.len()));
        let several = any - one;
        let mostly = alone.into_iter().fold(several, f64::max);
        if any > 0.0 { 1.0 + BRANCH * (1.0 - mostly / any) } else { 1.0 }
    }

    /// How many positions a loop walks for each coordinate.
    fn slots(&self, iterated: &[(Access, f64)]) -> f64 {
        let is_map = |(access, k): &(Access, usize)| {
            let kind = self.level(access, *k).map(|(_, kind)| kind);
            kind == Some(level::HASHED) && iterated.iter().any(|(a, _)| a == access)
        };
        if self.reached.iter().any(is_map) { SLOTS } else { 1.0 }
    }

    /// Whether a small copy of an operand finds its coordinates of a variable at once, as loops look for so many that it
    /// pays: there is none beside sparse copies in the order of the loops.
    fn is_located(&self, access: &Access, entries: f64, var: IndexVar) -> bool {
        let Operands { cx, converted, .. } = self.operands;
        let vars = cx.level_vars(access);
        let places: f64 = vars.iter().map(|&v| self.dimension(v)).product();
        let pays = places <= MOST_PLACES.min(self.trips * entries);
        pays && vars.last() == Some(&var) && converted.iter().all(|(a, ..)| cx.is_full(a))
    }
}
