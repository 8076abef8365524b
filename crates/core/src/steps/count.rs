//! Estimated trip counts of the loops of a plan: each operand has the average number of children below each position,
//! and operands are independent of each other.

use super::sizes::{Known, distinct};
use crate::iteration::lattice::Set;
use crate::level::HASHED;
use crate::notation::{Access, Expr};
use crate::plan::{Absent, Advance, Body, Driver, Locate, Lookup, Loop, Merge, Node, Window};
use std::collections::BTreeMap;
use tamis_ir::ids::{IndexVar, TensorId};

/// The cost of a contiguous dense iteration, which vectorises, relative to another one.
pub(crate) const CONTIGUOUS: f64 = 0.3;

/// Estimated counts for the loops of a kernel.
pub(super) struct Counts<'k, 'n> {
    pub(super) known: &'k Known<'k>,
    /// Iterations of loops, and steps of searches.
    pub(super) steps: f64,
    /// The time that the steps take, in multiply-adds on cached data.
    pub(super) work: f64,
    /// The loops around the current statement, outermost first.
    path: Vec<Around<'n>>,
    /// The most expensive loop: its work, and the loop with those around it, outermost first.
    pub(super) hottest: (f64, Vec<Around<'n>>),
    /// The iterations of each loop, in the order of the plan.
    pub(super) loops: Vec<Iterations<'n>>,
    /// How often elements of each tensor are written.
    pub(super) written: BTreeMap<TensorId, f64>,
    /// The number of lookups in each hash map.
    pub(super) looks: BTreeMap<TensorId, f64>,
    /// The number of values that a workspace holds at a time.
    workspaces: BTreeMap<TensorId, f64>,
}

/// The number of iterations of a loop of the plan.
pub(super) struct Iterations<'n> {
    pub(super) nest: &'n Loop,
    /// The number of loops around it.
    pub(super) depth: usize,
    /// The innermost loop around it.
    pub(super) within: Option<IndexVar>,
    pub(super) count: f64,
}

/// A loop, and the operands that are located in its body outside of inner loops.
#[derive(Clone)]
pub(super) struct Around<'n> {
    /// The loop's own variable.
    own: IndexVar,
    /// The variable whose coordinates it visits.
    pub(super) var: IndexVar,
    /// Whether every coordinate is visited.
    pub(super) visits_all: bool,
    pub(super) drivers: &'n [Driver],
    pub(super) found: Vec<&'n Locate>,
}

impl<'k, 'n> Counts<'k, 'n> {
    pub(super) fn of(known: &'k Known<'k>, root: Option<&'n Node>) -> Counts<'k, 'n> {
        let hottest = (0.0, vec![]);
        let (written, looks, workspaces) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (steps, work, path, loops) = (0.0, 0.0, vec![], vec![]);
        let mut count =
            Counts { known, steps, work, path, hottest, loops, written, looks, workspaces };
        if let Some(root) = root {
            count.node(root, 1.0);
        }
        count
    }

    fn node(&mut self, node: &'n Node, trips: f64) {
        match node {
            Node::Loop(nest) => self.nest(nest, trips),
            Node::Locate(locate) => self.locate(locate, trips),
            Node::Where(temporary) => {
                let before = self.written.get(&temporary.tensor).copied().unwrap_or(0.0);
                self.node(&temporary.producer, trips);
                let after = self.written.get(&temporary.tensor).copied().unwrap_or(0.0);
                if trips > 0.0 {
                    let each =
                        distinct((after - before) / trips, self.known.elements(temporary.tensor));
                    self.workspaces.insert(temporary.tensor, each);
                }
                self.node(&temporary.consumer, trips);
            }
            Node::IfAny(_, node) => self.node(node, trips),
            Node::Sequence(parts) => parts.iter().for_each(|part| self.node(part, trips)),
            Node::Assign { lhs, .. } => *self.written.entry(lhs.tensor).or_default() += trips,
        }
    }

    fn nest(&mut self, nest: &'n Loop, trips: f64) {
        let is_left_out = match &nest.window {
            Window::IfEmpty(vars) => vars.iter().all(|v| self.known.coordinates(*v) > 0.0),
            Window::Whole | Window::Part => false,
        };
        let all = if is_left_out { 0.0 } else { self.known.coordinates(nest.own) };
        let children: Vec<f64> = nest.drivers.iter().map(|d| self.driven(nest, d, all)).collect();
        let there: Vec<f64> = children
            .iter()
            .map(|n| if all > 0.0 { n / all } else { 0.0 })
            .map(|p| p.min(1.0))
            .collect();
        let iterations = match nest.merge {
            Merge::Nothing => 0.0,
            Merge::Universe => all,
            Merge::Led(leaders) => merged(nest, leaders, &children, &there, all),
            Merge::NarySum | Merge::Nary | Merge::Points => {
                merged(nest, nest.all_drivers(), &children, &there, all)
            }
        };
        let (depth, within) = (self.path.len(), self.path.last().map(|around| around.own));
        self.loops.push(Iterations { nest, depth, within, count: trips * iterations });
        self.path.push(Around {
            own: nest.own,
            var: nest.var,
            visits_all: nest.merge == Merge::Universe,
            drivers: &nest.drivers,
            found: found_in(nest),
        });
        let steps = trips * iterations;
        let passed = match nest.merge {
            Merge::Led(leaders) => trips * passed(nest, leaders, &children, &there, all),
            _ => 0.0,
        };
        self.takes(steps + passed, if is_contiguous(nest) { CONTIGUOUS } else { 1.0 });
        let points = nest.points();
        let expected = |present: u64| -> f64 {
            let factor = |(k, p): (usize, &f64)| match present & 1 << k != 0 {
                true => *p,
                false if points.contains(&(present | 1 << k)) => 1.0 - p,
                false => 1.0,
            };
            trips * all * there.iter().enumerate().map(factor).product::<f64>()
        };
        match &nest.body {
            Body::Cases(cases) => {
                cases.iter().for_each(|case| self.node(&case.node, expected(case.present)));
            }
            Body::Sum(sum) => {
                for (k, term) in &sum.terms {
                    self.node(term, trips * children[*k]);
                }
                self.node(&sum.consumer, steps);
            }
        }
        if let Some(background) = &nest.background {
            self.node(&background.node, trips);
        }
        self.path.pop();
    }

    /// Adds steps of the current innermost loop, each with this much work.
    fn takes(&mut self, steps: f64, each: f64) {
        self.steps += steps;
        self.work += each * steps;
        if each * steps > self.hottest.0 {
            self.hottest = (each * steps, self.path.clone());
        }
    }

    /// The number of coordinates that a driver has below one position.
    fn driven(&self, nest: &Loop, driver: &Driver, all: f64) -> f64 {
        let children = self.children(&driver.access, driver.level);
        match nest.window {
            Window::Whole | Window::IfEmpty(_) => children,
            Window::Part => children * (all / self.known.coordinates(nest.var).max(1.0)).min(1.0),
        }
    }

    fn children(&self, access: &Access, level: usize) -> f64 {
        match self.workspaces.get(&access.tensor) {
            Some(&values) => values,
            None => self.known.children(access, level),
        }
    }

    fn locate(&mut self, locate: &'n Locate, trips: f64) {
        let children = self.children(&locate.access, locate.level);
        let steps = trips
            * match locate.by {
                Lookup::Locate => 0.0,
                Lookup::BinarySearch => (children + 1.0).log2(),
                Lookup::LinearSearch => children,
            };
        self.takes(steps, 1.0);
        let format = &self.known.program.storage(locate.access.tensor).format;
        if format.levels()[locate.level].kind == HASHED {
            *self.looks.entry(locate.access.tensor).or_default() += trips;
        }
        let all = self.known.coordinates(locate.var);
        match &locate.absent {
            Absent::Never => self.node(&locate.present, trips),
            absent => {
                let there = if all > 0.0 { (children / all).min(1.0) } else { 0.0 };
                self.node(&locate.present, trips * there);
                if let Absent::Does(node) = absent {
                    self.node(node, trips * (1.0 - there));
                }
            }
        }
    }
}

/// The number of iterations of a loop that merges the drivers of a set.
fn merged(nest: &Loop, set: Set, children: &[f64], there: &[f64], all: f64) -> f64 {
    let members = || (0..children.len()).filter(|k| set & 1 << k != 0);
    if set.count_ones() == 1 {
        return members().map(|k| children[k]).sum();
    }
    let needed = |k: &usize| nest.points().iter().all(|present| present & 1 << k != 0);
    let shortest = members().filter(needed).map(|k| children[k]).fold(f64::INFINITY, f64::min);
    let gallops = |k: usize| nest.drivers[k].advance == Advance::Gallop;
    if members().any(gallops) && shortest.is_finite() {
        return 2.0 * shortest;
    }
    let either = all * (1.0 - members().map(|k| 1.0 - there[k]).product::<f64>());
    // The loop ends with the last coordinate of the shortest driver.
    if shortest.is_finite() { either * shortest / (shortest + 1.0) } else { either }
}

/// The number of coordinates that drivers skip step by step, on the way to where the leaders of a set meet.
fn passed(nest: &Loop, leaders: Set, children: &[f64], there: &[f64], all: f64) -> f64 {
    let leads = |k: &usize| leaders & 1 << k != 0;
    let steps = |k: &usize| !leads(k) && nest.drivers[*k].advance == Advance::Step;
    let drivers = || 0..children.len();
    let met = all * drivers().filter(leads).map(|k| there[k]).product::<f64>();
    // Skipping ends at the last coordinate where they meet.
    drivers().filter(steps).map(|k| children[k]).sum::<f64>() * met / (met + 1.0)
}

/// Whether the body of a loop over all coordinates is only arithmetic on full operands.
fn is_contiguous(nest: &Loop) -> bool {
    fn is_plain(node: &Node) -> bool {
        match node {
            Node::Loop(_) | Node::Where(_) | Node::IfAny(..) => false,
            Node::Sequence(parts) => parts.iter().all(is_plain),
            Node::Locate(locate) => locate.absent == Absent::Never && is_plain(&locate.present),
            Node::Assign { rhs, .. } => !matches!(rhs, Expr::Choose { .. }),
        }
    }
    let Body::Cases(cases) = &nest.body else { return false };
    nest.drivers.is_empty() && cases.iter().all(|case| is_plain(&case.node))
}

/// The operands that are located or searched in the body of a loop, outside of inner loops.
fn found_in(nest: &Loop) -> Vec<&Locate> {
    fn collect<'n>(node: &'n Node, found: &mut Vec<&'n Locate>) {
        match node {
            Node::Loop(_) | Node::Assign { .. } => {}
            Node::Where(temporary) => {
                collect(&temporary.producer, found);
                collect(&temporary.consumer, found);
            }
            Node::IfAny(_, node) => collect(node, found),
            Node::Sequence(parts) => parts.iter().for_each(|part| collect(part, found)),
            Node::Locate(locate) => {
                found.push(locate);
                collect(&locate.present, found);
            }
        }
    }
    let mut found = vec![];
    match &nest.body {
        Body::Cases(cases) => cases.iter().for_each(|case| collect(&case.node, &mut found)),
        Body::Sum(sum) => sum.terms.iter().for_each(|(_, term)| collect(term, &mut found)),
    }
    found
}
