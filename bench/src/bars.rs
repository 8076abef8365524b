//! What Tamis has to reach: the table of bars, and each race held against it.

use crate::contender::Role;
use crate::limits::Limits;
use crate::measure::Race;
use crate::problem::{Operation, Storage};

/// One figure beside what it must be.
pub struct Bar {
    /// What is measured, for people: "spmm64 on rmat17, best tier, against the fastest peer".
    pub what: String,
    /// The figure.
    pub reached: f64,
    /// The bar.
    pub required: Required,
    /// The unit of both, such as "ms" or "x".
    pub unit: &'static str,
}

/// Which side of the bar is good.
#[derive(Clone, Copy, Debug)]
pub enum Required {
    /// The figure must not be smaller.
    AtLeast(f64),
    /// The figure must not be larger.
    AtMost(f64),
}

impl Bar {
    /// Whether the figure is on the good side.
    pub fn holds(&self) -> bool {
        match self.required {
            Required::AtLeast(bar) => self.reached >= bar,
            Required::AtMost(bar) => self.reached <= bar,
        }
    }
}

/// The speeds an operation must have, relative to others.
struct Speeds {
    /// The best tier against the fastest peer.
    peer: f64,
    /// The best tier against the hand-written kernel.
    hand: Option<f64>,
    /// The JIT alone against the hand-written kernel.
    jit_hand: Option<f64>,
}

fn required(operation: Operation) -> Speeds {
    match operation {
        Operation::Spmv => Speeds { peer: 1.0, hand: None, jit_hand: None },
        _ if operation.is_of_storage() => Speeds { peer: 1.0, hand: None, jit_hand: None },
        Operation::Spmm(_) => Speeds { peer: 1.2, hand: Some(0.8), jit_hand: Some(0.5) },
        _ => Speeds { peer: 1.0, hand: Some(0.7), jit_hand: None },
    }
}

/// SpMV on the stencil must come this near to the time that triad bandwidth allows.
const STENCIL_OF_TRIAD: f64 = 0.8;

/// The bars that the races decide; none for a race without Tamis.
pub fn of_races(races: &[Race], limits: &Limits) -> Vec<Bar> {
    let mut bars: Vec<Bar> = races.iter().flat_map(|race| of_race(race, limits)).collect();
    bars.extend(races.iter().filter_map(|race| against_csr(race, races)));
    bars.extend(conversions(races));
    bars
}

/// Diagonals and blocks must beat compressed rows on the matrices that suit them.
fn against_csr(race: &Race, races: &[Race]) -> Option<Bar> {
    let Operation::SpmvOf(Storage::Dia | Storage::Bcsr) = race.operation else { return None };
    let same = |other: &&Race| other.operation == Operation::Spmv && other.input == race.input;
    Some(Bar {
        what: format!("{} {}: best tier / best tier with csr", race.operation, race.input),
        reached: races.iter().find(same)?.best_tamis()? / race.best_tamis()?,
        required: Required::AtLeast(1.0),
        unit: "x",
    })
}

/// The geometric mean of all conversions against the fastest peer.
fn conversions(races: &[Race]) -> Option<Bar> {
    let is_conversion = |race: &&Race| matches!(race.operation, Operation::Convert(..));
    let ratio = |race: &Race| {
        let peer = race.fastest(|role| role == Role::Peer).map(|(_, seconds)| seconds);
        Some(peer? / race.best_tamis()?)
    };
    let ratios: Vec<f64> = races.iter().filter(is_conversion).filter_map(ratio).collect();
    let mean = ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64;
    (!ratios.is_empty()).then(|| Bar {
        what: format!("{} conversions, geometric mean: best tier / fastest peer", ratios.len()),
        reached: mean.exp(),
        required: Required::AtLeast(1.5),
        unit: "x",
    })
}

fn of_race(race: &Race, limits: &Limits) -> Vec<Bar> {
    let Some(best) = race.best_tamis() else { return Vec::new() };
    let jit = race.fastest(|role| role == Role::TamisJit).map(|(_, seconds)| seconds);
    let hand = race.fastest(|role| role == Role::Hand).map(|(_, seconds)| seconds);
    let peer = race.fastest(|role| role == Role::Peer).map(|(_, seconds)| seconds);
    let speeds = required(race.operation);
    let stencil = race.operation == Operation::Spmv && race.input == "lap2d_1000";
    let triad = race.bytes as f64 / limits.triad;
    let rows = [
        ("best tier / fastest peer", peer, Some(best), Some(speeds.peer)),
        ("best tier / hand", hand, Some(best), speeds.hand),
        ("jit / hand", hand, jit, speeds.jit_hand),
        ("best tier / triad limit", stencil.then_some(triad), Some(best), Some(STENCIL_OF_TRIAD)),
    ];
    rows.into_iter()
        .filter_map(|(what, other, ours, bar)| {
            Some(Bar {
                what: format!("{} {}: {what}", race.operation, race.input),
                reached: other? / ours?,
                required: Required::AtLeast(bar?),
                unit: "x",
            })
        })
        .collect()
}

impl Race {
    /// The fastest of the contenders with such a role, and its median.
    pub fn fastest(&self, role: impl Fn(Role) -> bool) -> Option<(&str, f64)> {
        let candidates = self.entries.iter().filter(|entry| role(entry.role));
        candidates
            .filter_map(|entry| Some((entry.name.as_str(), entry.median()?)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The median of Tamis's better tier.
    pub fn best_tamis(&self) -> Option<f64> {
        self.fastest(|role| matches!(role, Role::TamisJit | Role::TamisC)).map(|(_, s)| s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_holds_on_its_good_side() {
        let bar = |reached, required| Bar { what: String::new(), reached, required, unit: "x" };
        assert!(bar(1.0, Required::AtLeast(1.0)).holds());
        assert!(!bar(0.9, Required::AtLeast(1.0)).holds());
        assert!(!bar(3.1, Required::AtMost(3.0)).holds());
    }
}
