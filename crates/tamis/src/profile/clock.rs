//! What stages took, each since the one before it ended.

use std::time::{Duration, Instant};

/// A running clock.
pub(crate) struct Clock {
    last: Instant,
    laps: Vec<(&'static str, Duration)>,
}

impl Clock {
    pub(crate) fn start() -> Clock {
        Clock { last: Instant::now(), laps: vec![] }
    }

    /// A stage ended.
    pub(crate) fn lap(&mut self, stage: &'static str) {
        let now = Instant::now();
        let took = now - self.last;
        self.last = now;
        self.add(stage, took);
    }

    fn add(&mut self, stage: &'static str, took: Duration) {
        match self.laps.iter_mut().find(|(known, _)| *known == stage) {
            Some((_, sum)) => *sum += took,
            None => self.laps.push((stage, took)),
        }
    }

    /// Takes steps out of a stage, so that it has the rest.
    pub(crate) fn split(
        &mut self,
        stage: &'static str,
        steps: impl Iterator<Item = (&'static str, Duration)>,
    ) {
        let Some(at) = self.laps.iter().position(|(known, _)| *known == stage) else { return };
        let (stage, mut rest) = self.laps.remove(at);
        for (step, took) in steps {
            rest = rest.saturating_sub(took);
            self.add(step, took);
        }
        self.laps.push((stage, rest));
    }

    /// The stages and their seconds.
    pub(crate) fn done(self) -> Vec<(&'static str, f64)> {
        self.laps.into_iter().map(|(stage, took)| (stage, took.as_secs_f64())).collect()
    }
}
