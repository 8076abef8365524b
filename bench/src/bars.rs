//! What Tamis has to reach: the table of bars, and each race held against it.

use crate::contender::Role;
use crate::limits::Limits;
use crate::measure::{Entry, Race};
use crate::operation::{Factor, Operation, Order, Part, Storage};

/// One figure beside what it must be.
#[derive(Clone)]
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

/// The speeds an operation must have on every input, relative to others.
struct Speeds {
    /// The best tier against the fastest peer.
    peer: Option<f64>,
    /// The best tier against the hand-written kernel.
    hand: Option<f64>,
    /// The JIT alone against the hand-written kernel.
    jit_hand: Option<f64>,
}

fn required(operation: Operation) -> Speeds {
    let (peer, hand, jit_hand) = match operation {
        Operation::Spmm(_) => (Some(1.2), Some(0.8), Some(0.5)),
        Operation::SpaddMany(7) => (Some(1.2), None, None),
        // These are held to their geometric means, or to each other.
        Operation::Spgemm(..)
        | Operation::SpgemmPart(_)
        | Operation::SpaddMany(_)
        | Operation::MttkrpSparse(_) => (None, None, None),
        Operation::Mttkrp => (Some(1.0), Some(0.8), None),
        _ if operation == Operation::Spmv || operation.is_of_storage() => (Some(1.0), None, None),
        _ => (Some(1.0), Some(0.7), None),
    };
    Speeds { peer, hand, jit_hand }
}

/// A bar for the geometric mean over races.
struct Mean {
    what: &'static str,
    of: fn(Operation) -> bool,
    against: fn(&Race) -> Option<f64>,
    required: f64,
}

/// Products of sparse matrices against the libraries, on any number of threads.
const SPGEMM_OF_PEERS: Mean = Mean {
    what: "spgemm: best tier / fastest peer",
    of: |operation| matches!(operation, Operation::Spgemm(_, Order::Sorted)),
    against: |race| race.median_of(|entry| entry.role == Role::Peer),
    required: 1.0,
};

/// The bars for several threads beside those of single races.
const MEANS_ON_SEVERAL: [Mean; 2] = [
    Mean {
        what: "spgemm: best tier / alone on one thread",
        of: |operation| matches!(operation, Operation::Spgemm(_, Order::Sorted)),
        against: |race| race.median_of(|entry| entry.role == Role::TamisAlone),
        required: 1.7,
    },
    SPGEMM_OF_PEERS,
];

const MEANS: [Mean; 5] = [
    Mean {
        what: "conversions: best tier / fastest peer",
        of: |operation| matches!(operation, Operation::Convert(..)),
        against: |race| race.median_of(|entry| entry.role == Role::Peer),
        required: 1.5,
    },
    Mean {
        what: "spgemm: best tier / scipy with its sort",
        of: |operation| matches!(operation, Operation::Spgemm(_, Order::Sorted)),
        against: |race| race.median_of(|entry| entry.name.starts_with("scipy")),
        required: 1.3,
    },
    SPGEMM_OF_PEERS,
    Mean {
        what: "spgemm: best tier / hand",
        of: |operation| matches!(operation, Operation::Spgemm(_, Order::Sorted)),
        against: |race| race.median_of(|entry| entry.role == Role::Hand),
        required: 0.8,
    },
    Mean {
        what: "spgemm-unsorted: best tier / scipy",
        of: |operation| matches!(operation, Operation::Spgemm(_, Order::Unsorted)),
        against: |race| race.median_of(|entry| entry.name.starts_with("scipy")),
        required: 1.0,
    },
];

/// SpMV on the stencil must come this near to the time that triad bandwidth allows.
const STENCIL_OF_TRIAD: f64 = 0.8;

/// The bars that the races decide; none for a race without Tamis.
pub fn of_races(races: &[Race], limits: &Limits) -> Vec<Bar> {
    let mut bars: Vec<Bar> = races.iter().flat_map(|race| of_race(race, limits)).collect();
    bars.extend(races.iter().filter_map(|race| against_csr(race, races)));
    bars.extend(races.iter().filter_map(|race| sparse_factors(race, races)));
    bars.extend(races.iter().filter_map(|race| known_entries(race, races)));
    bars.extend(races.iter().filter_map(|race| twice_the_terms(race, races)));
    bars.extend(MEANS.iter().filter_map(|mean| mean.bar(races)));
    bars
}

/// The bars of races on two threads or more.
pub fn of_races_on_several(races: &[Race], limits: &Limits) -> Vec<Bar> {
    let mut bars: Vec<Bar> = races.iter().flat_map(|race| on_several(race, limits)).collect();
    bars.extend(MEANS_ON_SEVERAL.iter().filter_map(|mean| mean.bar(races)));
    bars
}

/// What is computed gains 1.8 by a second thread, what is streamed comes near to the limit of memory.
fn on_several(race: &Race, limits: &Limits) -> Vec<Bar> {
    let peer = race.fastest(|role| role == Role::Peer).map(|(_, seconds)| seconds);
    let alone = race.fastest(|role| role == Role::TamisAlone).map(|(_, seconds)| seconds);
    let best = race.best_tamis();
    let bar = |what: &str, slow: Option<f64>, required| {
        Some(Bar {
            what: format!("{} {}: {what}", race.operation, race.input),
            reached: slow? / best?,
            required: Required::AtLeast(required),
            unit: "x",
        })
    };
    let faster = || bar("best tier / alone on one thread", alone, 1.8);
    let bars = match race.operation {
        Operation::Spmm(_) => [faster(), bar("best tier / fastest peer", peer, 1.0)],
        Operation::Mttkrp => [faster(), None],
        Operation::Spmv => {
            let streamed = Some(race.bytes as f64 / limits.triad);
            let near = bar("best tier / triad limit", streamed, 0.9);
            [faster().filter(|bar| bar.holds() || near.is_none()).or(near), None]
        }
        _ => [None, None],
    };
    bars.into_iter().flatten().collect()
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

/// Values at known entries must take a third of the time of values and entries.
fn known_entries(race: &Race, races: &[Race]) -> Option<Bar> {
    let fused = Operation::Spgemm(Factor::Itself, Order::Sorted);
    let same = |other: &&Race| other.operation == fused && other.input == race.input;
    let fused = races.iter().find(same)?.best_tamis()?;
    (race.operation == Operation::SpgemmPart(Part::Compute)).then_some(Bar {
        what: format!("{} {}: best tier / best tier fused", race.operation, race.input),
        reached: fused / race.best_tamis()?,
        required: Required::AtLeast(3.0),
        unit: "x",
    })
}

/// Below a quarter, sparse factors must be ahead of dense ones.
fn sparse_factors(race: &Race, races: &[Race]) -> Option<Bar> {
    let Operation::MttkrpSparse(density) = race.operation else { return None };
    let same = |other: &&Race| other.operation == Operation::Mttkrp && other.input == race.input;
    let dense = races.iter().find(same)?.best_tamis()?;
    (density.share() < 0.25).then_some(Bar {
        what: format!(
            "{} {}: best tier / best tier with dense factors",
            race.operation, race.input
        ),
        reached: dense / race.best_tamis()?,
        required: Required::AtLeast(1.0),
        unit: "x",
    })
}

/// Sums must be linear in the number of their terms: merging is a little more than that.
fn twice_the_terms(race: &Race, races: &[Race]) -> Option<Bar> {
    let half =
        |other: &&Race| other.operation == Operation::SpaddMany(8) && other.input == race.input;
    let half = races.iter().find(half).filter(|_| race.operation == Operation::SpaddMany(16))?;
    let per_byte = |race: &Race| Some(race.best_tamis()? / race.bytes as f64);
    Some(Bar {
        what: format!("spadd16 {}: time for a byte / with 8 terms", race.input),
        reached: per_byte(race)? / per_byte(half)?,
        required: Required::AtMost(1.25),
        unit: "x",
    })
}

impl Mean {
    fn bar(&self, races: &[Race]) -> Option<Bar> {
        let ratio = |race: &Race| Some((self.against)(race)? / race.best_tamis()?);
        let of = races.iter().filter(|race| (self.of)(race.operation));
        let ratios: Vec<f64> = of.filter_map(ratio).collect();
        let mean = ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64;
        (!ratios.is_empty()).then(|| Bar {
            what: format!("geometric mean of {} x {}", ratios.len(), self.what),
            reached: mean.exp(),
            required: Required::AtLeast(self.required),
            unit: "x",
        })
    }
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
        ("best tier / fastest peer", peer, Some(best), speeds.peer),
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

    /// The least median of such entries.
    fn median_of(&self, entry: impl Fn(&Entry) -> bool) -> Option<f64> {
        let entries = self.entries.iter().filter(|e| entry(e));
        entries.filter_map(Entry::median).min_by(f64::total_cmp)
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
