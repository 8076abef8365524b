//! The two tiers of `auto`: machine code in process at once, and the C compiler's code where calls prove
//! that it is faster.
//!
//! ```text
//! calls     jit jit jit ..   | 0.3 s spent: the compiler starts, and calls go on
//!           c jit c jit c jit | its code is there: both are timed
//!           c c c c ..       | the faster one stays; both are timed again after 64, 256, 1024, .. calls
//! ```
//!
//! Both tiers compute the same bits, so any call may run on either. What was found is kept on disk by the text of
//! the kernels, the compiler and the processor: the C compiler's code, where it lost, is compiled in the next process
//! only after [`VERY_LONG`], to be timed again.

use crate::backend::{Backend, Executables};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tamis_core::lower::Lowered;
use tamis_ir::backend::c;
use tamis_ir::ir;
use tamis_runtime::cc;
use tamis_runtime::disk_cache::Cache;

/// Time in the first tier after which the second is worth its compilation; and where it was slower before.
const LONG: Duration = Duration::from_millis(300);
const VERY_LONG: Duration = Duration::from_secs(20);
/// How often each tier is timed before one is chosen; one that takes [`SLOW`] times as long is timed once.
const ROUNDS: usize = 3;
const SLOW: f64 = 1.5;
/// The other tier has to be so many times as fast as the one that runs.
const WORTH: f64 = 1.03;
/// After so many calls both are timed again, and then each time after four times as many.
const REVIEW: u64 = 64;

/// What runs a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tier {
    /// Machine code in process.
    First,
    /// The C compiler's code.
    Second,
}

/// The second tier of some kernels, and which of the two runs.
pub(crate) struct Tiers {
    second: OnceLock<Executables>,
    state: Mutex<State>,
}

struct State {
    stage: Stage,
    /// The tier that runs where none is timed.
    chosen: Tier,
    /// The tier of the last call.
    last: Tier,
    /// Time in the first tier.
    spent: Duration,
    /// Calls since the last choice, and after how many both are timed again.
    calls: u64,
    review: u64,
    /// Whether the second tier is known to have been slower in another process.
    lost: bool,
    /// Where the choice is kept.
    note: Option<Arc<Cache>>,
}

enum Stage {
    /// The second tier is not worth its compilation, as far as is known.
    First,
    /// The second tier is being compiled, or cannot be.
    Asked,
    /// Both are timed: seconds for each value of the operands, by tier.
    Timed([Vec<f64>; 2]),
    /// One is chosen.
    Chosen,
}

impl Tiers {
    pub(crate) fn new() -> Arc<Tiers> {
        let state = State {
            stage: Stage::First,
            chosen: Tier::First,
            last: Tier::First,
            spent: Duration::ZERO,
            calls: 0,
            review: 0,
            lost: false,
            note: None,
        };
        Arc::new(Tiers { second: OnceLock::new(), state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tier of the last call.
    pub(crate) fn last(&self) -> Tier {
        self.state().last
    }

    /// The tier for the next call, and its code if that is the second. Has the second compiled in the background
    /// once kernels that proved long are called again: one that runs once needs no compiler.
    pub(crate) fn next(
        self: &Arc<Self>,
        functions: impl FnOnce() -> Vec<Lowered>,
    ) -> (Tier, Option<&Executables>) {
        let is_due = self.state().ask();
        if is_due {
            let (tiers, functions) = (Arc::clone(self), functions());
            // Without another thread the first tier goes on.
            drop(std::thread::Builder::new().spawn(move || tiers.compile(&functions)));
        }
        let tier = self.state().next();
        match tier {
            Tier::First => (tier, None),
            Tier::Second => (tier, self.second.get()),
        }
    }

    /// Compiles the second tier, unless another process found it slower: then it has to wait.
    fn compile(&self, lowered: &[Lowered]) {
        let functions: Vec<&ir::Function> = lowered.iter().map(|l| &l.function).collect();
        let Ok(compiler) = cc::identity() else { return };
        let note = Cache::open(&["tier", &compiler, &c::emit(&functions)]);
        let known = match self.state().lost {
            true => None,
            false => note.find().and_then(|name| Tier::parse(&name)),
        };
        if known == Some(Tier::First) {
            let mut state = self.state();
            (state.lost, state.stage) = (true, Stage::First);
            return;
        }
        let Ok(executables) = Backend::C.load(&functions) else { return };
        let _ = self.second.set(executables);
        let mut state = self.state();
        state.note = Some(Arc::new(note));
        match known {
            Some(tier) => state.choose(tier),
            None => state.stage = Stage::Timed([vec![], vec![]]),
        }
    }

    /// Notes how long a call took on operands of so many values.
    pub(crate) fn timed(&self, tier: Tier, time: Duration, values: u64) {
        let mut state = self.state();
        state.last = tier;
        state.calls += 1;
        if tier == Tier::First {
            state.spent += time;
        }
        if matches!(state.stage, Stage::Chosen) && state.calls >= state.review {
            state.stage = Stage::Timed([vec![], vec![]]);
            return;
        }
        let running = state.chosen;
        let Stage::Timed(times) = &mut state.stage else { return };
        times[tier as usize].push(time.as_secs_f64() / (values + 1) as f64);
        let Some(fastest) = fastest(times, running) else { return };
        let is_new = fastest != state.chosen || state.review == 0;
        state.choose(fastest);
        let note = state.note.clone().filter(|_| is_new);
        // Other calls go on while the disk is written.
        drop(state);
        if let Some(note) = note {
            note.store(fastest.name().as_bytes());
        }
    }
}

impl State {
    /// Whether the second tier is to be compiled now, which is so once.
    fn ask(&mut self) -> bool {
        let long = if self.lost { VERY_LONG } else { LONG };
        let is_due = matches!(self.stage, Stage::First) && self.spent >= long;
        if is_due {
            self.stage = Stage::Asked;
        }
        is_due
    }

    fn next(&self) -> Tier {
        match &self.stage {
            Stage::First | Stage::Asked => Tier::First,
            Stage::Timed([first, second]) if second.len() > first.len() => Tier::First,
            Stage::Timed(_) => Tier::Second,
            Stage::Chosen => self.chosen,
        }
    }

    fn choose(&mut self, tier: Tier) {
        self.stage = Stage::Chosen;
        self.chosen = tier;
        self.review = self.review.saturating_mul(4).max(REVIEW);
        self.calls = 0;
    }
}

/// The tier that is to run, once that can be told.
fn fastest(times: &[Vec<f64>; 2], running: Tier) -> Option<Tier> {
    let least = |tier: Tier| times[tier as usize].iter().copied().reduce(f64::min);
    let other = running.other();
    let (own, others) = (least(running)?, least(other)?);
    let is_timed = times.iter().all(|times| times.len() >= ROUNDS);
    match (is_timed, others * WORTH < own) {
        (true, true) => Some(other),
        (true, false) => Some(running),
        (false, _) if others > SLOW * own => Some(running),
        (false, _) if own > SLOW * others => Some(other),
        (false, _) => None,
    }
}

impl Tier {
    fn other(self) -> Tier {
        match self {
            Tier::First => Tier::Second,
            Tier::Second => Tier::First,
        }
    }

    /// The backend whose code it is.
    pub(crate) fn backend(self) -> Backend {
        match self {
            Tier::First => Backend::Jit,
            Tier::Second => Backend::C,
        }
    }

    fn name(self) -> &'static str {
        self.backend().name()
    }

    fn parse(name: &[u8]) -> Option<Tier> {
        [Tier::First, Tier::Second].into_iter().find(|tier| tier.name().as_bytes() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tier that takes so many milliseconds per call in each stage.
    fn calls(tiers: &Tiers, count: usize, cost: impl Fn(Tier) -> u64) -> Vec<Tier> {
        let call = |_| {
            let tier = tiers.state().next();
            tiers.timed(tier, Duration::from_millis(cost(tier)), 10);
            tier
        };
        (0..count).map(call).collect()
    }

    fn with_second_tier() -> Arc<Tiers> {
        let tiers = Tiers::new();
        tiers.state().stage = Stage::Timed([vec![], vec![]]);
        tiers
    }

    fn slow_calls(ran: &[Tier], slow: Tier) -> usize {
        ran.iter().filter(|tier| **tier == slow).count()
    }

    #[test]
    fn the_faster_tier_stays_whichever_it_is() {
        for (first, second, slow) in [(30, 100, Tier::Second), (100, 30, Tier::First)] {
            let tiers = with_second_tier();
            let ran = calls(&tiers, 1000, |tier| [first, second][tier as usize]);
            assert!(slow_calls(&ran[..50], slow) <= 1, "the slow tier is tried once");
            assert!(slow_calls(&ran, slow) <= 4, "and then ever more rarely");
        }
    }

    #[test]
    fn a_tier_that_is_hardly_faster_does_not_replace_the_other() {
        let tiers = with_second_tier();
        let ran = calls(&tiers, 60, |tier| [100, 98][tier as usize]);
        assert_eq!(tiers.state().chosen, Tier::First);
        assert_eq!(slow_calls(&ran, Tier::Second), ROUNDS);
    }

    #[test]
    fn what_becomes_faster_later_is_found() {
        let tiers = with_second_tier();
        calls(&tiers, 50, |tier| [30, 100][tier as usize]);
        let ran = calls(&tiers, 50, |tier| [100, 30][tier as usize]);
        assert_eq!(ran.last(), Some(&Tier::Second));
    }

    #[test]
    fn a_tier_that_lost_before_is_asked_for_later() {
        let tiers = Tiers::new();
        tiers.state().lost = true;
        calls(&tiers, 100, |_| 100);
        assert!(!tiers.state().ask());
        calls(&tiers, 101, |_| 100);
        assert!(tiers.state().ask());
        assert!(!tiers.state().ask(), "it is asked for once");
    }

    #[test]
    fn short_kernels_need_no_compiler() {
        let tiers = Tiers::new();
        let ran = calls(&tiers, 200, |_| 1);
        assert!(ran.iter().all(|tier| *tier == Tier::First));
        assert!(!tiers.state().ask());
    }
}
