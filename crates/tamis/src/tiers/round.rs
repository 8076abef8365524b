//! Both tiers timed in alternation, and which of them is faster.
//!
//! ```text
//! c jit jit c c jit ..      times for each value of operands whose sizes differ by a factor of 2 at most
//! ```
//!
//! The least times are compared: what else a machine does makes calls longer, and none shorter. The order does
//! not favour a tier where operands alternate, or where the machine gets slower. Times of operands of very
//! different sizes are not compared, since what a value takes depends on where in the caches it is.

use super::Tier;
use std::cmp::Ordering;

/// How often each tier is timed at most before one is chosen.
const FULL: usize = 5;
/// With one time of each, a tier that takes so many times as long has lost; with two or more, so many times.
const HOPELESS: f64 = 5.0;
const SLOW: f64 = 1.5;
/// The other tier has to be so many times as fast as the one that runs.
const WORTH: f64 = 1.03;
/// So many calls on smaller operands begin a round anew, with these.
const SKIPPED: u32 = 32;
/// A round that begins anew more often ends without a choice.
const BEGUN: u32 = 8;

/// A round of timing.
#[derive(Default)]
pub(super) struct Round {
    /// Which round it is: times of calls that began in an earlier one do not count.
    number: u64,
    /// How many values the operands have.
    size: u64,
    /// Calls on smaller operands so far, and how often the round began.
    skipped: u32,
    begun: u32,
    /// Seconds for each value of the operands, by tier.
    times: [Vec<f64>; 2],
}

/// Which tier a round found to be faster, and how many times as fast as the other.
#[derive(Clone, Copy)]
pub(super) struct Verdict {
    pub(super) tier: Tier,
    pub(super) gain: f64,
}

impl Round {
    /// Begins the next round.
    pub(super) fn next(&mut self) {
        *self = Round { number: self.number + 1, ..Round::default() };
    }

    /// The round's number and the tier of a call on operands of so many values, if it is to be timed. Larger ones
    /// begin the round anew: they take most of the time.
    pub(super) fn admit(&mut self, size: u64) -> Option<(u64, Tier)> {
        let is_within = |a: u64, b: u64| a <= b.saturating_mul(2);
        let is_larger = !is_within(size, self.size);
        let is_smaller = !is_within(self.size, size);
        self.skipped += u32::from(is_smaller);
        if is_larger || self.skipped > SKIPPED {
            let (number, begun) = (self.number + 1, self.begun + 1);
            *self = Round { number, begun, size, ..Round::default() };
        }
        (is_within(self.size, size)).then(|| (self.number, self.due()))
    }

    /// Whether operands differ so much that no two calls are alike.
    pub(super) fn is_vain(&self) -> bool {
        self.begun > BEGUN
    }

    /// Whether the round is one of this number.
    pub(super) fn is(&self, number: Option<u64>) -> bool {
        number == Some(self.number)
    }

    /// Adds the seconds of a call on operands of so many values.
    pub(super) fn add(&mut self, tier: Tier, seconds: f64, size: u64) {
        self.times[tier as usize].push(seconds / size as f64);
    }

    /// How many times there are of each tier.
    pub(super) fn counts(&self) -> [usize; 2] {
        self.times.each_ref().map(Vec::len)
    }

    fn due(&self) -> Tier {
        let [first, second] = self.counts();
        match first.cmp(&second) {
            Ordering::Less => Tier::First,
            Ordering::Greater => Tier::Second,
            Ordering::Equal if first % 2 == 1 => Tier::First,
            Ordering::Equal => Tier::Second,
        }
    }

    /// The tier that is to run instead of the one that does, or that one, once that can be told.
    pub(super) fn verdict(&self, running: Tier) -> Option<Verdict> {
        let least = |tier: Tier| self.times[tier as usize].iter().copied().reduce(f64::min);
        let (own, others) = (least(running)?, least(running.other())?);
        let tier = if others * WORTH < own { running.other() } else { running };
        let gain = (own / others).max(others / own);
        let is_clear = match self.counts().into_iter().min()? {
            1 => gain >= HOPELESS,
            timed => gain >= SLOW || timed >= FULL,
        };
        is_clear.then_some(Verdict { tier, gain })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(sizes: impl IntoIterator<Item = u64>) -> (Round, String) {
        let mut round = Round::default();
        let mut ran = String::new();
        for size in sizes {
            ran += match round.admit(size) {
                None => ".",
                Some((_, tier)) => {
                    round.add(tier, 1.0, size);
                    tier.name()
                }
            };
            ran.push(' ');
        }
        (round, ran)
    }

    #[test]
    fn tiers_alternate_in_mirrored_order() {
        assert_eq!(ran([10; 6]).1, "c jit jit c c jit ");
        assert_eq!(ran([10, 20, 5, 5, 10, 20]).1, "c jit jit c c jit ", "like sizes");
    }

    #[test]
    fn operands_of_other_sizes_are_not_compared() {
        assert_eq!(ran([10, 4, 10, 4, 10]).1, "c . jit . jit ", "smaller ones are skipped");
        assert_eq!(ran([10, 21, 21, 10]).1, "c c jit . ", "larger ones begin the round anew");
        let (round, ran) = ran(std::iter::once(10).chain([4; 40]));
        assert!(ran.ends_with("c jit jit c c jit jit c "), "rare large ones are forgotten: {ran}");
        assert!(!round.is_vain());
    }

    #[test]
    fn a_round_ends_though_no_two_sizes_are_alike() {
        let (round, _) = ran((0..20).map(|n| 1 << (2 * n)));
        assert!(round.is_vain());
    }

    /// One spike does not decide, whichever tier it hits.
    #[test]
    fn one_time_decides_only_what_is_hopeless() {
        let verdict = |first: &[f64], second: &[f64]| {
            let round = Round { times: [first.to_vec(), second.to_vec()], ..Round::default() };
            round.verdict(Tier::First).map(|verdict| verdict.tier)
        };
        assert_eq!(verdict(&[1.0], &[4.9]), None);
        assert_eq!(verdict(&[1.0], &[5.1]), Some(Tier::First));
        assert_eq!(verdict(&[4.9], &[1.0]), None);
        assert_eq!(verdict(&[1.0, 1.0], &[1.6]), None);
        assert_eq!(verdict(&[1.0, 1.0], &[1.6, 1.6]), Some(Tier::First));
        assert_eq!(verdict(&[9.0, 1.0], &[9.0, 1.4]), None);
        assert_eq!(verdict(&[1.0; FULL], &[0.98; FULL]), Some(Tier::First));
        assert_eq!(verdict(&[1.0; FULL], &[0.96; FULL]), Some(Tier::Second));
    }
}
