//! The two tiers of `auto`: machine code in process at once, and the C compiler's code where calls prove
//! that it is faster.
//!
//! ```text
//! calls     jit jit jit ..     | 0.3 s spent: the compiler starts, and calls go on
//!           c c jit jit c c .. | its code is there: both are timed, but for its first call
//!           c c c c ..         | the faster one stays; both are timed again after 64, 256, 1024, .. calls, from
//!                              | 64 on where that changes the choice
//! ```
//!
//! Both tiers compute the same bits, so any call may run on either. What two rounds of timing agree on is kept on
//! disk by all that it depends on: the C compiler's code, where it clearly lost, is compiled in the next process only
//! after [`VERY_LONG`], to be timed again.

mod round;

use crate::backend::{Backend, Executables};
use crate::binding::Values;
use crate::operand::{Operand, rounded};
use round::Round;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tamis_core::lower::Lowered;
use tamis_core::pipeline::{self, Compiled};
use tamis_ir::backend::c;
use tamis_ir::ir;
use tamis_runtime::disk_cache::Cache;
use tamis_runtime::{Tensor, cc, processor, threads};

/// Time in the first tier after which the second is worth its compilation; and where it was slower before.
const LONG: Duration = Duration::from_millis(300);
const VERY_LONG: Duration = Duration::from_secs(20);
/// After so many calls both are timed again, and then each time after four times as many.
const REVIEW: u64 = 64;
/// What is kept on disk changes where the other tier is so many times as fast. That the second tier lost is kept only
/// then, too: where both take about the same, another process may find it faster.
const CLEAR: f64 = 1.1;

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
    second: OnceLock<Second>,
    state: Mutex<State>,
}

struct Second {
    executables: Executables,
    /// Where it is kept which tier is faster.
    note: Cache,
}

/// What the second tier is compiled from, and what the choice depends on beside the machine.
struct Subject {
    /// The functions for the second tier.
    functions: Vec<Lowered>,
    /// Those of the first tier, as text.
    first: String,
    /// The sizes of the operands, rounded.
    sizes: String,
}

/// A call that begins: the tier that runs it, and what its time counts for.
#[derive(Clone, Copy)]
pub(crate) struct Begun {
    pub(crate) tier: Tier,
    /// How many values its operands have, and one.
    size: u64,
    /// The round that it is timed for.
    round: Option<u64>,
    /// How many programs this process had started, all of which had ended.
    quiet: Option<u64>,
}

struct State {
    stage: Stage,
    /// The tier that runs where none is timed.
    chosen: Tier,
    /// What the last round of timing chose, here or in another process.
    found: Option<Tier>,
    /// What is kept on disk.
    noted: Option<Tier>,
    /// Whether the second tier was slower in another process.
    lost: bool,
    /// Whether the second tier ran: its first call finds cold code and pages that are not there.
    is_warm: bool,
    /// Time in the first tier.
    spent: Duration,
    /// Calls since the last choice, and after how many both are timed again.
    calls: u64,
    review: u64,
    round: Round,
}

#[derive(PartialEq, Eq)]
enum Stage {
    /// The second tier is not worth its compilation, as far as is known.
    First,
    /// The second tier is being compiled in this process: a forked one has no thread that compiles.
    Asked(u32),
    /// Both are timed.
    Timed,
    /// One is chosen.
    Chosen,
}

impl Tiers {
    fn new() -> Arc<Tiers> {
        Arc::new(Tiers { second: OnceLock::new(), state: Mutex::new(State::new()) })
    }

    /// The tiers of a backend: of `auto` there are two.
    pub(crate) fn of(backend: Backend) -> Option<Arc<Tiers>> {
        (backend == Backend::Auto).then(Tiers::new)
    }

    /// The tier for the next call of kernels on these operands: see [`next`](Tiers::next).
    pub(crate) fn begin(
        self: &Arc<Self>,
        compiled: &Compiled,
        operands: &Values<'_, Tensor>,
    ) -> (Begun, Option<&Executables>) {
        let values = operands.iter().flatten().map(|value| value.stored() as u64).sum();
        self.next(values, || Subject::of(compiled, operands))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tier for the next call, on operands of so many values, and its code if that is the second. Has the second
    /// compiled in the background once kernels that proved long are called again: one that runs once needs no
    /// compiler.
    fn next(
        self: &Arc<Self>,
        values: u64,
        subject: impl FnOnce() -> Subject,
    ) -> (Begun, Option<&Executables>) {
        let size = values.saturating_add(1);
        // A forked process may have the lock of a thread that it does not have.
        let Ok(mut state) = self.state.try_lock() else { return (Begun::untimed(size), None) };
        let is_due = state.ask(std::process::id);
        let begun = state.next(size, cc::quiet);
        drop(state);
        if is_due {
            let (tiers, subject) = (Arc::clone(self), subject());
            // Without another thread the first tier goes on.
            drop(std::thread::Builder::new().spawn(move || tiers.compile(&subject)));
        }
        let second = self.second.get().filter(|_| begun.tier == Tier::Second);
        (begun, second.map(|second| &second.executables))
    }

    /// Compiles the second tier, unless another process found it slower: then it has to wait.
    fn compile(&self, subject: &Subject) {
        let functions: Vec<&ir::Function> = subject.functions.iter().map(|l| &l.function).collect();
        let Ok(compiler) = cc::identity() else { return self.state().stay() };
        let machine = format!("{compiler}\n{}\n{} threads", processor::model(), threads::count());
        let note = Cache::open(&subject.key(&machine, &c::emit(&functions)));
        let noted = note.find().and_then(|name| Tier::parse(&name));
        if !self.state().known(noted) {
            return;
        }
        let Ok(executables) = Backend::C.load(&functions) else { return self.state().stay() };
        let _ = self.second.set(Second { executables, note });
        self.state().loaded();
    }

    /// Notes how long a call took.
    pub(crate) fn timed(self: &Arc<Self>, begun: Begun, time: Duration) {
        let Ok(mut state) = self.state.try_lock() else { return };
        let noted = state.timed(begun, time, cc::quiet);
        drop(state);
        if let Some(tier) = noted {
            let tiers = Arc::clone(self);
            let store = move || {
                if let Some(second) = tiers.second.get() {
                    second.note.store(tier.name().as_bytes());
                }
            };
            // The caller does not wait for the disk; without another thread nothing is kept.
            drop(std::thread::Builder::new().spawn(store));
        }
    }
}

impl Subject {
    /// For operands like these: the functions of the second tier have the parameters of the first one's.
    fn of(compiled: &Compiled, operands: &[Option<Cow<'_, Tensor>>]) -> Subject {
        Subject {
            functions: pipeline::functions(&compiled.program, Backend::C.target()),
            first: compiled.functions.iter().map(|l| l.function.to_string()).collect(),
            sizes: rounded_sizes(operands),
        }
    }

    /// Everything that the choice depends on: this version, whose parts are pinned, generates the machine code.
    fn key<'k>(&'k self, machine: &'k str, second: &'k str) -> [&'k str; 6] {
        ["tier", env!("CARGO_PKG_VERSION"), machine, &self.sizes, &self.first, second]
    }
}

/// The dimensions and entries of operands as choices see them, as text.
fn rounded_sizes(values: &[Option<Cow<'_, Tensor>>]) -> String {
    let sizes = values.iter().flatten().map(|value| {
        let dims: Vec<u64> = value.dims().iter().map(|&d| rounded(d)).collect();
        format!("{dims:?} {}\n", rounded(value.stored() as u64))
    });
    sizes.collect()
}

impl Begun {
    fn untimed(size: u64) -> Begun {
        Begun { tier: Tier::First, size, round: None, quiet: None }
    }
}

impl State {
    fn new() -> State {
        State {
            stage: Stage::First,
            chosen: Tier::First,
            found: None,
            noted: None,
            lost: false,
            is_warm: false,
            spent: Duration::ZERO,
            calls: 0,
            review: 0,
            round: Round::default(),
        }
    }

    /// Whether the second tier is to be compiled now, by this process, which is so once.
    fn ask(&mut self, process: impl Fn() -> u32) -> bool {
        let long = if self.lost { VERY_LONG } else { LONG };
        let is_due = match self.stage {
            Stage::First => self.spent >= long,
            Stage::Asked(other) => other != process(),
            Stage::Timed | Stage::Chosen => false,
        };
        if is_due {
            self.stage = Stage::Asked(process());
        }
        is_due
    }

    /// Takes over what another process found, and whether the second tier is to be compiled then.
    fn known(&mut self, noted: Option<Tier>) -> bool {
        self.noted = noted;
        let waits = noted == Some(Tier::First) && !self.lost;
        if waits {
            (self.lost, self.stage) = (true, Stage::First);
        }
        !waits
    }

    /// There is no second tier.
    fn stay(&mut self) {
        (self.stage, self.review) = (Stage::Chosen, u64::MAX);
    }

    /// The second tier is there.
    fn loaded(&mut self) {
        match self.noted {
            Some(Tier::Second) => {
                self.found = self.noted;
                self.choose(Tier::Second);
            }
            _ => self.stage = Stage::Timed,
        }
    }

    /// A call on operands of a size. What a compiler takes of the machine is not the tiers' time.
    fn next(&mut self, size: u64, quiet: impl FnOnce() -> Option<u64>) -> Begun {
        let quiet = if self.stage == Stage::Timed { quiet() } else { None };
        let admitted = quiet.and_then(|_| self.round.admit(size));
        if self.round.is_vain() {
            self.choose(self.chosen);
        }
        match admitted.filter(|_| self.stage == Stage::Timed) {
            Some((round, tier)) => Begun { tier, size, round: Some(round), quiet },
            None => Begun { tier: self.chosen, ..Begun::untimed(size) },
        }
    }

    /// Counts the time of a call, and what is to be kept on disk then.
    fn timed(
        &mut self,
        begun: Begun,
        time: Duration,
        quiet: impl FnOnce() -> Option<u64>,
    ) -> Option<Tier> {
        self.calls += 1;
        if begun.tier == Tier::First {
            self.spent += time;
        } else if !std::mem::replace(&mut self.is_warm, true) {
            return None;
        }
        match self.stage {
            Stage::Chosen if self.calls >= self.review => {
                self.stage = Stage::Timed;
                None
            }
            Stage::Timed if self.round.is(begun.round) && begun.quiet == quiet() => {
                self.round.add(begun.tier, time.as_secs_f64(), begun.size);
                self.decide()
            }
            _ => None,
        }
    }

    /// Chooses the faster tier, if that can be told. It is kept once two rounds agree: one may have met with noise.
    fn decide(&mut self) -> Option<Tier> {
        let verdict = self.round.verdict(self.chosen)?;
        let agrees = self.found.replace(verdict.tier) == Some(verdict.tier);
        if verdict.tier != self.chosen {
            // One of the two rounds was wrong: the next one comes soon.
            self.review = 0;
        }
        self.choose(verdict.tier);
        let is_first_win = self.noted.is_none() && verdict.tier == Tier::Second;
        let is_new = self.noted != Some(verdict.tier) && (is_first_win || verdict.gain >= CLEAR);
        if !agrees || !is_new {
            return None;
        }
        self.noted = Some(verdict.tier);
        self.noted
    }

    fn choose(&mut self, tier: Tier) {
        self.stage = Stage::Chosen;
        self.chosen = tier;
        self.review = self.review.saturating_mul(4).max(REVIEW);
        self.calls = 0;
        self.round.next();
    }
}

impl Tier {
    fn other(self) -> Tier {
        match self {
            Tier::First => Tier::Second,
            Tier::Second => Tier::First,
        }
    }

    /// The name of the backend whose code it is.
    fn name(self) -> &'static str {
        match self {
            Tier::First => Backend::Jit.name(),
            Tier::Second => Backend::C.name(),
        }
    }

    fn parse(name: &[u8]) -> Option<Tier> {
        [Tier::First, Tier::Second].into_iter().find(|tier| tier.name().as_bytes() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: fn() -> Option<u64> = || Some(0);

    /// Runs calls on operands of 10 values, each tier of which takes so many milliseconds. The tiers that ran, and
    /// what was kept on disk last.
    fn calls(
        state: &mut State,
        count: usize,
        mut cost: impl FnMut(Tier) -> f64,
    ) -> (Vec<Tier>, Option<Tier>) {
        let mut kept = None;
        let call = |_| {
            let begun = state.next(10, QUIET);
            let time = Duration::from_secs_f64(cost(begun.tier) / 1e3);
            kept = state.timed(begun, time, QUIET).or(kept);
            begun.tier
        };
        ((0..count).map(call).collect(), kept)
    }

    fn with_second_tier() -> State {
        State { stage: Stage::Timed, ..State::new() }
    }

    fn slow_calls(ran: &[Tier], slow: Tier) -> usize {
        ran.iter().filter(|tier| **tier == slow).count()
    }

    #[test]
    fn the_faster_tier_stays_whichever_it_is() {
        for (first, second, slow) in
            [(30.0, 100.0, Tier::Second), (100.0, 30.0, Tier::First), (1.0, 10.0, Tier::Second)]
        {
            let mut state = with_second_tier();
            let (ran, kept) = calls(&mut state, 1000, |tier| [first, second][tier as usize]);
            assert!(slow_calls(&ran[..50], slow) <= 3, "the slow tier is tried a few times");
            assert!(slow_calls(&ran, slow) <= 9, "and then ever more rarely");
            assert_eq!(kept, Some(slow.other()));
        }
    }

    #[test]
    fn a_tier_that_is_hardly_faster_does_not_replace_the_other() {
        let mut state = with_second_tier();
        let (ran, _) = calls(&mut state, 60, |tier| [100.0, 98.0][tier as usize]);
        assert_eq!(state.chosen, Tier::First);
        assert!(slow_calls(&ran, Tier::Second) <= 6);
    }

    #[test]
    fn what_becomes_faster_later_is_found() {
        let mut state = with_second_tier();
        calls(&mut state, 50, |tier| [30.0, 100.0][tier as usize]);
        let (ran, _) = calls(&mut state, 50, |tier| [100.0, 30.0][tier as usize]);
        assert_eq!(ran.last(), Some(&Tier::Second));
    }

    /// Calls take 0.8 to 2.5 times as long as in their tier, and some ten times, as spikes do.
    #[test]
    fn noise_is_not_kept_on_disk() {
        for fast in [Tier::First, Tier::Second] {
            let (mut right, mut slow) = (0, 0);
            for seed in 0..1000u64 {
                let mut random = seed * 2 + 1;
                let mut jitter = || {
                    random =
                        random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    let part = (random >> 33) as f64 / (1u64 << 31) as f64;
                    if part > 0.97 { 10.0 } else { 0.8 + 1.7 * part }
                };
                let mut state = with_second_tier();
                let cost = |tier| jitter() * if tier == fast { 1.0 } else { 2.0 };
                let (ran, kept) = calls(&mut state, 2000, cost);
                right += u32::from(kept == Some(fast));
                slow += slow_calls(&ran[1000..], fast.other());
            }
            assert!(right >= 990, "{right} of 1,000 keep {fast:?}");
            assert!(slow <= 1000 * 1000 / 100, "{slow} of 1,000,000 calls are slow");
        }
    }

    /// A first round may be wrong; nothing is kept before another agrees.
    #[test]
    fn one_round_is_not_kept() {
        let mut state = with_second_tier();
        let (_, kept) = calls(&mut state, 60, |tier| [30.0, 100.0][tier as usize]);
        assert_eq!((state.chosen, kept), (Tier::First, None));
        let (_, kept) = calls(&mut state, 30, |tier| [100.0, 30.0][tier as usize]);
        assert_eq!((state.chosen, kept), (Tier::Second, None));
        let (_, kept) = calls(&mut state, 300, |tier| [100.0, 30.0][tier as usize]);
        assert_eq!(kept, Some(Tier::Second));
        let (_, kept) = calls(&mut state, 20_000, |tier| [100.0, 105.0][tier as usize]);
        assert_eq!((state.chosen, kept), (Tier::First, None), "less than a tenth is no news");
    }

    /// A process that finds the second tier hardly slower leaves it to the next one to try it.
    #[test]
    fn a_narrow_loss_is_not_kept() {
        for (second, expected) in
            [(105.0, None), (120.0, Some(Tier::First)), (95.0, Some(Tier::Second))]
        {
            let mut state = with_second_tier();
            let (_, kept) = calls(&mut state, 2000, |tier| [100.0, second][tier as usize]);
            assert_eq!(kept, expected, "{second}");
        }
    }

    /// Calls that alternate between operands of very different sizes are timed on the larger.
    #[test]
    fn sizes_may_alternate() {
        for large in [4000, 100] {
            let mut state = with_second_tier();
            for call in 0..60 {
                let size = [large, 1000][call % 2];
                let begun = state.next(size, QUIET);
                // The second tier is faster on large operands only.
                let nanoseconds = match begun.tier {
                    Tier::First => size * 10,
                    Tier::Second => size + 5000,
                };
                state.timed(begun, Duration::from_nanos(nanoseconds), QUIET);
            }
            assert_eq!(state.chosen, Tier::Second, "{large}");
            assert!(state.stage == Stage::Chosen);
        }
    }

    /// Times of calls that began before timing did, in an earlier round, or beside a compiler.
    #[test]
    fn other_times_do_not_count() {
        let mut state = with_second_tier();
        state.is_warm = true;
        let early = Begun::untimed(10);
        let begun = state.next(10, QUIET);
        for (begun, quiet) in [(early, Some(0)), (begun, None), (begun, Some(1))] {
            state.timed(begun, Duration::from_secs(1), || quiet);
            assert_eq!(state.round.counts(), [0, 0]);
        }
        assert_eq!(state.next(10, || None).round, None, "nor are calls timed beside a compiler");
        state.timed(begun, Duration::from_secs(1), QUIET);
        assert_eq!(state.round.counts(), [0, 1]);
        state.round.next();
        state.timed(begun, Duration::from_secs(1), QUIET);
        assert_eq!(state.round.counts(), [0, 0], "of another round");
    }

    #[test]
    fn a_tier_that_lost_before_is_asked_for_later() {
        let mut state = State::new();
        calls(&mut state, 4, |_| 100.0);
        assert!(state.ask(|| 1));
        assert!(!state.known(Some(Tier::First)), "it is not compiled");
        calls(&mut state, 100, |_| 100.0);
        assert!(!state.ask(|| 1));
        calls(&mut state, 101, |_| 100.0);
        assert!(state.ask(|| 1));
        assert!(!state.ask(|| 1), "it is asked for once");
        assert!(state.known(Some(Tier::First)));
        state.loaded();
        assert!(state.stage == Stage::Timed);
    }

    #[test]
    fn what_another_process_found_runs_at_once() {
        let mut state = State::new();
        assert!(state.known(Some(Tier::Second)));
        state.loaded();
        let (ran, kept) = calls(&mut state, 100, |tier| [100.0, 30.0][tier as usize]);
        assert!(slow_calls(&ran, Tier::First) <= 2);
        assert_eq!(kept, None, "it is kept already");
    }

    #[test]
    fn like_sizes_are_one() {
        let of = |n: usize| {
            let x = Tensor::dense(&[n as u64], vec![1.0; n]).expect("a vector");
            rounded_sizes(&[None, Some(Cow::Owned(x))])
        };
        assert_eq!(of(5), of(8));
        assert_ne!(of(5), of(9));
    }

    #[test]
    fn what_is_kept_is_for_all_that_the_choice_depends_on() {
        let (first, sizes) = ("jit".to_owned(), "[8] 8".to_owned());
        let subject = Subject { functions: vec![], first, sizes };
        let key = subject.key("gcc on 2 threads", "c");
        let version = env!("CARGO_PKG_VERSION");
        for part in [version, "gcc on 2 threads", "[8] 8", "jit", "c"] {
            assert!(key.contains(&part), "{part}");
        }
    }

    #[test]
    fn short_kernels_need_no_compiler() {
        let mut state = State::new();
        let (ran, _) = calls(&mut state, 200, |_| 1.0);
        assert!(ran.iter().all(|tier| *tier == Tier::First));
        assert!(!state.ask(|| 1));
    }

    #[test]
    fn without_a_compiler_the_first_tier_stays() {
        let mut state = State::new();
        calls(&mut state, 4, |_| 100.0);
        assert!(state.ask(|| 1));
        state.stay();
        let (ran, _) = calls(&mut state, 1000, |_| 100.0);
        assert!(ran.iter().all(|tier| *tier == Tier::First) && !state.ask(|| 2));
    }

    #[test]
    fn a_forked_process_asks_for_itself() {
        let mut state = State::new();
        calls(&mut state, 4, |_| 100.0);
        assert!(state.ask(|| 1) && !state.ask(|| 1));
        assert!(state.ask(|| 2) && !state.ask(|| 2));
    }

    /// The thread that has the lock is not there in a forked process.
    #[test]
    fn a_lock_that_another_has_is_not_waited_for() {
        let tiers = Tiers::new();
        let _lock = tiers.state();
        let (begun, second) = tiers.next(10, || unreachable!("nothing is asked for"));
        assert!(begun.tier == Tier::First && second.is_none());
        tiers.timed(begun, Duration::from_secs(1));
    }
}
