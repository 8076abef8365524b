//! Which elements of operands a part of a loop reads.

use super::{Need, Read};
use crate::cin::{Kernel, Program, Relation};
use crate::format::LevelMap;
use crate::iteration::lattice::Set;
use crate::notation::Access;
use crate::plan::{Absent, Body, Driver, Loop, Node, Plan, distinct};
use tamis_ir::ids::{Id, IndexVar, Mode};

/// What a part of the loop over a variable reads.
pub(super) fn reads(program: &Program, kernel: &Kernel, plan: &Plan, cut: IndexVar) -> Vec<Read> {
    let reads = distinct(&kernel.body);
    let reads: Vec<Access> = reads.into_iter().filter(|a| !program.is_local(a.tensor)).collect();
    let search = Search { program, reads: &reads, cut };
    let read = |access: &Access| {
        let modes = (0..access.indices.len()).map(|m| search.need(plan.root.as_ref(), access, m));
        Read { access: access.clone(), modes: modes.collect() }
    };
    reads.iter().map(read).collect()
}

#[derive(Clone, Copy)]
struct Search<'s> {
    program: &'s Program,
    reads: &'s [Access],
    cut: IndexVar,
}

/// Where a read was found, inside of loops over the variable of a mode.
enum Found {
    /// Nowhere.
    Nowhere,
    /// Only where one of these has the coordinate.
    Beside(Vec<(usize, usize)>),
    /// Also elsewhere.
    Elsewhere,
}

impl Found {
    /// Where one of two nodes reads it.
    fn or(self, other: Found) -> Found {
        match (self, other) {
            (Found::Elsewhere, _) | (_, Found::Elsewhere) => Found::Elsewhere,
            (Found::Nowhere, found) | (found, Found::Nowhere) => found,
            (Found::Beside(mut some), Found::Beside(others)) => {
                for other in others {
                    if !some.contains(&other) {
                        some.push(other);
                    }
                }
                Found::Beside(some)
            }
        }
    }
}

impl Search<'_> {
    fn need(self, root: Option<&Node>, access: &Access, mode: usize) -> Need {
        let var = access.indices[mode];
        if access.is_sliced() || !self.is_free(access, mode) {
            return Need::All;
        }
        if var == self.cut {
            return Need::Part;
        }
        match root.map_or(Found::Nowhere, |root| self.found(root, access, var, None)) {
            Found::Beside(images) => Need::Image(images),
            Found::Nowhere | Found::Elsewhere => Need::All,
        }
    }

    /// Whether no level above that of a mode lists coordinates: those would be gone with the last entry below.
    fn is_free(self, access: &Access, mode: usize) -> bool {
        let levels = self.program.storage(access.tensor).format.levels();
        let own = |map: LevelMap| map.modes().contains(&Mode::new(mode));
        let above = levels.iter().take_while(|level| !own(level.map));
        above.into_iter().all(|level| level.kind.properties().full)
    }

    /// Where a node reads an operand; `beside` has the coordinate of the variable there, if something has.
    ///
    /// What is sought: whatever looks at this use of the operand, inside of loops over the variable, does it look at
    /// a coordinate that another operand stores? Then entries at other coordinates are never seen. To look is to
    /// read the value, to look up the variable's level or one below it, and to walk.
    fn found(
        self,
        node: &Node,
        access: &Access,
        var: IndexVar,
        beside: Option<(usize, usize)>,
    ) -> Found {
        let here = || beside.map_or(Found::Elsewhere, |image| Found::Beside(vec![image]));
        let within = |node: &Node| self.found(node, access, var, beside);
        match node {
            Node::Loop(nest) if nest.var == var => self.in_loop_over(nest, access, var),
            Node::Loop(nest) => {
                // The coordinates of an entry are known where positions are counted.
                let own = self.counted(nest.var, var, access);
                let beside = own.or(beside);
                let within = |node: &Node| self.found(node, access, var, beside);
                let background = nest.background.iter().map(|background| &background.node);
                let nodes = nest.nodes().into_iter().chain(background);
                let found = nodes.map(within).fold(Found::Nowhere, Found::or);
                match nest.drivers.iter().any(|driver| driver.access == *access) && beside.is_some()
                {
                    true => found.or(here()),
                    false => found,
                }
            }
            Node::Locate(locate) => {
                let found = match &locate.absent {
                    Absent::Does(absent) => within(&locate.present).or(within(absent)),
                    Absent::Never | Absent::Nothing => within(&locate.present),
                };
                let is_own = locate.var == var || beside.is_some();
                match locate.access == *access && is_own {
                    true => found.or(here()),
                    false => found,
                }
            }
            Node::Where(temporary) => within(&temporary.producer).or(within(&temporary.consumer)),
            Node::IfAny(_, node) => within(node),
            Node::Sequence(parts) => parts.iter().map(within).fold(Found::Nowhere, Found::or),
            Node::Assign { rhs, .. } => match rhs.accesses().contains(&access) {
                true => here(),
                false => Found::Nowhere,
            },
        }
    }

    /// The read and the mode whose coordinates a loop over positions gives a variable, if it is another read than
    /// `access`.
    fn counted(self, of: IndexVar, var: IndexVar, access: &Access) -> Option<(usize, usize)> {
        let derived = &self.program.derived;
        let Relation::Position { of, access: counted, .. } =
            derived.relation(derived.position(of)?)?
        else {
            return None;
        };
        let mode = counted.indices.iter().position(|v| *v == var)?;
        let read = self.reads.iter().position(|read| read == counted)?;
        let is_other = counted != access && !counted.is_sliced() && of.contains(&var);
        is_other.then_some((read, mode))
    }

    fn in_loop_over(self, nest: &Loop, access: &Access, var: IndexVar) -> Found {
        // Any operand that is there will do: it has the coordinate.
        let beside = |present: Set| {
            let others = nest.drivers.iter().enumerate().filter(|(k, _)| present & (1 << k) != 0);
            others.map(|(_, driver)| driver).find_map(|driver| self.image(driver, access))
        };
        let own = nest.drivers.iter().position(|driver| driver.access == *access);
        let at = |present: Set, node: &Node| {
            let beside = beside(present);
            let found = self.found(node, access, var, beside);
            // What is done may depend on the entry alone.
            match (own.is_some_and(|k| present & (1 << k) != 0), beside) {
                (false, _) => found,
                (true, None) => Found::Elsewhere,
                (true, Some(image)) => found.or(Found::Beside(vec![image])),
            }
        };
        let found = match &nest.body {
            Body::Cases(cases) => {
                cases.iter().map(|c| at(c.present, &c.node)).fold(Found::Nowhere, Found::or)
            }
            Body::Sum(sum) => {
                let terms = sum.terms.iter().map(|(k, node)| at(1 << k, node));
                let consumer = at(sum.pattern, &sum.consumer);
                terms.fold(Found::Nowhere, Found::or).or(consumer)
            }
        };
        match &nest.background {
            Some(background) => found.or(at(0, &background.node)),
            None => found,
        }
    }

    /// The read and the mode that a driver's coordinates are of, if it is another one than `access`.
    fn image(self, driver: &Driver, access: &Access) -> Option<(usize, usize)> {
        let levels = self.program.storage(driver.access.tensor).format.levels();
        let LevelMap::Mode(mode) = levels[driver.level].map else { return None };
        let read = self.reads.iter().position(|read| *read == driver.access)?;
        let lists = !levels[driver.level].kind.properties().full;
        let other = driver.access != *access && !driver.access.is_sliced() && lists;
        other.then_some((read, mode.index()))
    }
}
