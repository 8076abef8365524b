//! The invariants of plans.
//!
//! 1. Scope: an operand is located by a variable that has a value, and no loop runs over a variable that has one.
//! 2. Descent: an operand descends its levels one after another, and all of them before it is read.
//! 3. Methods: levels are located, searched and iterated by capabilities that they have, and only operands with
//!    positions for every coordinate are without a case for their absence.
//! 4. Lattices: points are sets of the drivers of the loop, more drivers first, none twice; only a loop over every
//!    coordinate has a point without drivers, and the leader of a loop is in each.
//! 5. Results: loops descend the levels that are written in order one after another, and all of them before
//!    the result is written.

use super::known::{Descent, Known};
use super::{
    Absent, Advance, Body, Driver, Duplicates, Locate, Lookup, Loop, Merge, Node, Output, Plan,
    Planner, print,
};
use crate::cin::{Kernel, Program, print as cin};
use crate::iteration::lattice::Set;
use crate::level::LevelKind;
use crate::notation::Access;
use std::collections::BTreeSet;
use tamis_ir::ids::TensorId;

type Checked = Result<(), String>;

/// The first rule that a plan breaks, in words.
pub fn verify(program: &Program, kernel: &Kernel, plan: &Plan) -> Checked {
    let planner = Planner::new(program, kernel);
    let checker = Checker { program, kernel, planner, output: &plan.output };
    checker.output()?;
    plan.root.as_ref().map_or(Ok(()), |root| checker.node(root, &Known::default()))
}

/// In builds with debug assertions, panics if a plan breaks a rule: a mistake of the planner.
pub fn assert_valid(program: &Program, kernel: &Kernel, plan: &Plan) {
    if cfg!(debug_assertions)
        && let Err(why) = verify(program, kernel, plan)
    {
        panic!("{why}, in the plan\n{}", print(program, kernel, plan));
    }
}

struct Checker<'p> {
    program: &'p Program,
    kernel: &'p Kernel,
    planner: Planner<'p>,
    output: &'p Output,
}

impl Checker<'_> {
    fn output(&self) -> Checked {
        let Output::Assemble(assembly) = self.output else { return Ok(()) };
        let levels = self.planner.result_vars().len();
        match assembly.in_order <= levels && assembly.loops.len() == levels {
            true => Ok(()),
            false => Err(format!("the result has {levels} levels")),
        }
    }

    fn node(&self, node: &Node, known: &Known) -> Checked {
        match node {
            Node::Loop(nest) => self.nest(nest, known),
            Node::Locate(locate) => self.locate(locate, known.clone()),
            Node::Where(temporary) => {
                if !self.program.is_local(temporary.tensor) {
                    return Err(format!("{} is no temporary", self.tensor(temporary.tensor)));
                }
                self.node(&temporary.producer, known)?;
                let mut after = known.clone();
                after.asked.push(temporary.tensor);
                self.node(&temporary.consumer, &after)
            }
            Node::IfAny(tensor, node) => match known.asked.contains(tensor) {
                true => self.node(node, known),
                false => Err(format!("nothing around computes {}", self.tensor(*tensor))),
            },
            Node::Sequence(parts) => parts.iter().try_for_each(|part| self.node(part, known)),
            Node::Assign { lhs, rhs, .. } => {
                for access in rhs.accesses() {
                    let levels = self.program.level_vars(access.tensor, &access.indices).len();
                    if known.descent(access).levels != levels {
                        return Err(format!(
                            "{} is read before all its levels",
                            self.access(access)
                        ));
                    }
                }
                let in_order = self.output.in_order().map_or(0, |(levels, _)| levels);
                match lhs.tensor == self.kernel.result && known.result != in_order {
                    true => {
                        Err("the result is written before the loops over its levels".to_owned())
                    }
                    false => Ok(()),
                }
            }
        }
    }

    fn locate(&self, locate: &Locate, mut known: Known) -> Checked {
        let Locate { access, level, var, by, present, absent } = locate;
        self.next(access, *level, &known)?;
        let before = known.clone();
        if known.next_var(self.program, access) != Some(*var) || !known.evaluate(self.program, *var)
        {
            return Err(format!("{} is located by what is not known", self.access(access)));
        }
        let kind = self.kind(access, *level);
        let p = kind.properties();
        let has_method = match by {
            Lookup::Locate => kind.locates(),
            Lookup::BinarySearch => p.ordered,
            Lookup::LinearSearch => true,
        };
        let always = self.planner.is_always_found(access, *level);
        if !has_method || (*absent == Absent::Never && !always) {
            return Err(format!("level {} of {} is not read so", level + 1, self.access(access)));
        }
        if let Absent::Does(rest) = absent {
            let mut around = before;
            around.evaluate(self.program, *var);
            self.node(rest, &around)?;
        }
        let is_segment = !p.unique && *by != Lookup::Locate;
        known.descend(access, Descent { levels: level + 1, is_segment });
        self.node(present, &known)
    }

    fn nest(&self, nest: &Loop, known: &Known) -> Checked {
        let name = &self.program.vars[nest.own];
        if known.bound.contains(&nest.own) {
            return Err(format!("{name} has a value outside of its loop"));
        }
        let mut seen: Vec<&Access> = vec![];
        for driver in &nest.drivers {
            self.next(&driver.access, driver.level, known)?;
            let drives = known.next_var(self.program, &driver.access) == Some(nest.var);
            let is_full = self.kind(&driver.access, driver.level).properties().full;
            if !drives || is_full || seen.contains(&&driver.access) {
                return Err(format!("{} cannot drive {name}", self.access(&driver.access)));
            }
            let is_repeated = !self.kind(&driver.access, driver.level).properties().unique;
            if driver.duplicates == Duplicates::Segment && !is_repeated {
                return Err(format!("{} has no duplicates", self.access(&driver.access)));
            }
            let gallops = driver.advance == Advance::Gallop;
            if gallops && !matches!(nest.merge, Merge::Points | Merge::Led(_)) {
                return Err(format!("{} does not gallop", self.access(&driver.access)));
            }
            seen.push(&driver.access);
        }
        let alone = |driver: &Driver| self.planner.only_alone(&driver.access, driver.level);
        if nest.drivers.len() > 1 && nest.drivers.iter().any(alone) {
            return Err(format!("an operand that is walked alone is merged at {name}"));
        }
        self.lattice(nest).map_err(|why| format!("{why} at {name}"))?;
        let mut inside = known.clone();
        inside.bound.insert(nest.own);
        inside.bind(self.program, nest.var);
        if let Some(level) = nest.result_level {
            if level != known.result || nest.background.is_some() {
                return Err(format!("{name} writes level {} out of order", level + 1));
            }
            inside.result = level + 1;
        }
        if let Some(background) = &nest.background {
            self.node(&background.node, &inside)?;
        }
        match &nest.body {
            Body::Cases(cases) => cases
                .iter()
                .try_for_each(|case| self.node(&case.node, &self.at(nest, case.present, &inside))),
            Body::Sum(sum) => {
                let term = Known { result: known.result, ..inside.clone() };
                for (driver, node) in &sum.terms {
                    self.node(node, &self.at(nest, 1 << driver, &term))?;
                }
                self.node(&sum.consumer, &self.at(nest, sum.pattern, &inside))
            }
        }
    }

    /// Checks the points of a loop's lattice.
    fn lattice(&self, nest: &Loop) -> Checked {
        let points = nest.points();
        let all = nest.all_drivers();
        let distinct: BTreeSet<Set> = points.iter().copied().collect();
        let descends = points.is_sorted_by_key(|p| std::cmp::Reverse(p.count_ones()));
        if points.iter().any(|p| p & !all != 0) || distinct.len() != points.len() || !descends {
            return Err("the points are no sets of drivers, the largest first,".to_owned());
        }
        let fits = match nest.merge {
            Merge::Nothing => points.is_empty() && nest.drivers.is_empty(),
            Merge::Universe => distinct.contains(&0),
            Merge::Led(leaders) => leaders != 0 && points.iter().all(|p| leaders & !p == 0),
            Merge::NarySum => {
                let each = |driver: &Driver| driver.duplicates == Duplicates::Each;
                matches!(nest.body, Body::Sum(_)) && nest.drivers.iter().all(each)
            }
            Merge::Nary | Merge::Points => matches!(nest.body, Body::Cases(_)),
        };
        let visits_all = distinct.contains(&0) == (nest.merge == Merge::Universe);
        if fits && visits_all { Ok(()) } else { Err("the drivers are not merged so".to_owned()) }
    }

    /// The state where these drivers have an entry.
    fn at(&self, nest: &Loop, present: Set, inside: &Known) -> Known {
        let mut known = inside.clone();
        for (k, driver) in nest.drivers.iter().enumerate() {
            if present & 1 << k != 0 {
                let is_segment = driver.duplicates == Duplicates::Segment;
                known.descend(&driver.access, Descent { levels: driver.level + 1, is_segment });
            }
        }
        known
    }

    fn next(&self, access: &Access, level: usize, known: &Known) -> Checked {
        match known.descent(access).levels == level {
            true => Ok(()),
            false => Err(format!("{} does not come to level {}", self.access(access), level + 1)),
        }
    }

    fn kind(&self, access: &Access, level: usize) -> LevelKind {
        self.program.storage(access.tensor).format.levels()[level].kind
    }

    fn access(&self, access: &Access) -> String {
        cin::access(self.program, access)
    }

    fn tensor(&self, tensor: TensorId) -> &str {
        &self.program.tensors[tensor].name
    }
}
