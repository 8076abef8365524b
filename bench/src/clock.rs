//! Which clock the races run by.
//!
//! Everything runs on one thread, so processor time is what a contender takes when nobody else wants the core:
//! on a machine that is shared it leaves out the time of others.

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::time::{ClockId, clock_gettime};

/// A clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Time that passes for everybody.
    Wall,
    /// Time that this thread has a processor.
    Processor,
}

static PROCESSOR: AtomicBool = AtomicBool::new(false);

impl Clock {
    /// Runs all races by this clock from now on.
    pub fn choose(self) {
        PROCESSOR.store(self == Self::Processor, Ordering::Relaxed);
    }

    /// The clock that was chosen.
    pub fn chosen() -> Self {
        if PROCESSOR.load(Ordering::Relaxed) { Self::Processor } else { Self::Wall }
    }

    /// Seconds since some beginning.
    pub fn seconds(self) -> f64 {
        let time = clock_gettime(match self {
            Self::Wall => ClockId::Monotonic,
            Self::Processor => ClockId::ThreadCPUTime,
        });
        time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
    }

    /// The name on the command line, and in Python's workers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wall => "wall",
            Self::Processor => "processor",
        }
    }
}
