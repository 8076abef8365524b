//! Index variables that stand for functions of others: blocks, offsets in blocks, diagonals, slots.
//!
//! ```text
//! A(i,j) stored by blocks of 4 x 4       A's levels are at i0 = i/4, j0 = j/4, i1 = i%4, j1 = j%4
//! ```
//!
//! Loops may run over them as over any variable; the rules here say which variables have a value once others have (the
//! provenance relations of the thesis and of sparse iteration space transformations).

use crate::format::{Format, LevelMap};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use tamis_ir::ids::{Id, IdVec, IndexVar, Level, Mode, TensorId};

/// Every derived variable of a program.
#[derive(Clone, Debug, Default)]
pub struct Derived {
    pub(super) vars: BTreeMap<Key, IndexVar>,
    pub(super) keys: BTreeMap<IndexVar, Key>,
    pub(super) aliases: BTreeMap<IndexVar, IndexVar>,
    pub(super) modes: BTreeMap<IndexVar, (TensorId, Mode)>,
    pub(super) relations: super::provenance::Relations,
    /// Blocks that a schedule made, and offsets in these blocks.
    pub(super) split: BTreeSet<IndexVar>,
    /// The rules, computed when they are first needed; cleared when a variable is added.
    rules: OnceLock<Rules>,
}

/// The function that a variable stands for. The slots of each tensor are variables of their own.
pub(super) type Key = (LevelMap<IndexVar>, Option<(TensorId, Level)>);

impl Derived {
    /// The function that a variable stands for; `None` if it is not derived.
    pub fn map(&self, var: IndexVar) -> Option<LevelMap<IndexVar>> {
        self.keys.get(&var).map(|(map, _)| *map)
    }

    /// The tensor and the level whose slots a variable counts.
    pub fn slots(&self, var: IndexVar) -> Option<(TensorId, Level)> {
        self.keys.get(&var).and_then(|(_, owner)| *owner)
    }

    /// The variable that stands for a function of others.
    pub fn var(&self, map: LevelMap<IndexVar>) -> Option<IndexVar> {
        self.vars.get(&(map, None)).copied()
    }

    /// Whether a variable has a value once others have.
    pub fn follows(&self, var: IndexVar, known: &[IndexVar]) -> bool {
        self.depth(var, known) != usize::MAX
    }

    /// How many of the loops have to be entered before a variable has a value; `usize::MAX` if it has none even inside
    /// all of them.
    pub fn depth(&self, var: IndexVar, loops: &[IndexVar]) -> usize {
        if let Some(at) = loops.iter().position(|&v| v == var) {
            return at + 1;
        }
        let rules = self.rules();
        let mut known = BTreeSet::new();
        for (at, &entered) in loops.iter().enumerate() {
            if rules.group(entered) != rules.group(var) {
                continue;
            }
            rules.learn(entered, &mut known);
            if known.contains(&var) {
                return at + 1;
            }
        }
        usize::MAX
    }

    /// Adds a variable to those that have values, with every variable that then follows.
    pub fn learn(&self, var: IndexVar, known: &mut BTreeSet<IndexVar>) {
        self.rules().learn(var, known);
    }

    /// The variables that have values in loops over these.
    pub fn known_in(&self, loops: &[IndexVar]) -> BTreeSet<IndexVar> {
        let mut known = BTreeSet::new();
        loops.iter().for_each(|var| self.learn(*var, &mut known));
        known
    }

    /// The variables that may change in a loop over `var`: itself, and all that follow from it, except those known
    /// outside of the loop.
    pub fn varying_with(&self, var: IndexVar, known: &BTreeSet<IndexVar>) -> BTreeSet<IndexVar> {
        let rules = self.rules();
        let mut varying = BTreeSet::new();
        let mut affected = vec![var];
        while let Some(var) = affected.pop() {
            if varying.insert(var) {
                let follow = rules.needing(var).map(|(follows, _)| *follows);
                affected.extend(follow.filter(|v| !known.contains(v)));
            }
        }
        varying
    }

    fn rules(&self) -> &Rules {
        self.rules.get_or_init(|| Rules::new(self.all_rules()))
    }

    /// Clears the rules, since a variable was added.
    pub(super) fn changed(&mut self) {
        self.rules.take();
    }

    /// Each variable that follows from others, with the others.
    fn all_rules(&self) -> Vec<Rule> {
        let mut rules = vec![];
        for (var, relation) in self.relations() {
            rules.extend(relation.follows_from().map(|needed| (var, needed)));
            for of in relation.origins() {
                rules.extend(relation.gives(var, of).map(|needed| (of, needed)));
            }
        }
        for (var, map) in self.iter() {
            if !matches!(map, LevelMap::Slot(_)) {
                rules.push((var, map.modes()));
            }
            match map {
                LevelMap::Div(of, size) => {
                    let place = self.var(LevelMap::Mod(of, size));
                    rules.extend(place.map(|place| (of, vec![var, place])));
                }
                LevelMap::Diff { plus, minus } if plus != minus => {
                    rules.push((plus, vec![var, minus]));
                    rules.push((minus, vec![var, plus]));
                }
                _ => {}
            }
        }
        rules
    }

    /// Every derived variable with the function that it stands for.
    pub fn iter(&self) -> impl Iterator<Item = (IndexVar, LevelMap<IndexVar>)> + '_ {
        self.keys.iter().map(|(&var, (map, _))| (var, *map))
    }

    /// A new variable with the dimension of another.
    pub fn another(&mut self, var: IndexVar, names: &mut IdVec<IndexVar, String>) -> IndexVar {
        let name = format!("{}_2", names[self.alias(var)]);
        self.named(var, &name, names)
    }

    /// A new variable of this name, with the dimension of another.
    pub fn named(
        &mut self,
        var: IndexVar,
        name: &str,
        names: &mut IdVec<IndexVar, String>,
    ) -> IndexVar {
        let var = self.alias(var);
        let another = names.push(name.to_owned());
        self.aliases.insert(another, var);
        another
    }

    /// A new variable for a mode whose dimension no variable of the notation has; `tensor` is a tensor of the
    /// notation.
    pub fn of_mode(
        &mut self,
        tensor: TensorId,
        mode: Mode,
        names: &mut IdVec<IndexVar, String>,
    ) -> IndexVar {
        let var = names.push(format!("m{}", mode.index() + 1));
        self.modes.insert(var, (tensor, mode));
        var
    }

    /// The mode of a tensor of the notation that gives a variable its dimension.
    pub fn mode(&self, var: IndexVar) -> Option<(TensorId, Mode)> {
        self.modes.get(&var).copied()
    }

    /// The variable whose dimension this variable has: itself, or another.
    pub fn alias(&self, var: IndexVar) -> IndexVar {
        self.aliases.get(&var).copied().unwrap_or(var)
    }

    /// The variable of each level of a tensor of this format used with these index variables.
    ///
    /// # Panics
    /// If the use was not [declared](Derived::declare).
    pub fn of_levels(
        &self,
        format: &Format,
        tensor: TensorId,
        indices: &[IndexVar],
    ) -> Vec<IndexVar> {
        (0..format.levels().len()).map(|k| self.of_level(format, k, tensor, indices)).collect()
    }

    /// The variable of one of these levels.
    ///
    /// # Panics
    /// If the use was not [declared](Derived::declare).
    pub fn of_level(
        &self,
        format: &Format,
        level: usize,
        tensor: TensorId,
        indices: &[IndexVar],
    ) -> IndexVar {
        match key(format.levels()[level].map, tensor, level, indices) {
            (LevelMap::Mode(var), _) => var,
            key => *self.vars.get(&key).expect("uses of tensors are declared"),
        }
    }

    /// The variables of a variable's blocks and of the offsets in them, under these names. The levels of operands
    /// stored by such blocks are over the same variables.
    pub fn blocks(
        &mut self,
        var: IndexVar,
        size: u64,
        (outer, inner): (&str, &str),
        names: &mut IdVec<IndexVar, String>,
    ) -> (IndexVar, IndexVar) {
        self.changed();
        let mut block = |map: LevelMap<IndexVar>, name: &str| {
            let known = self.var(map);
            let var = known.unwrap_or_else(|| names.push(name.to_owned()));
            names[var] = name.to_owned();
            self.vars.insert((map, None), var);
            self.keys.insert(var, (map, None));
            self.split.insert(var);
            var
        };
        (block(LevelMap::Div(var, size), outer), block(LevelMap::Mod(var, size), inner))
    }

    /// Whether a schedule made a variable.
    pub fn is_scheduled(&self, var: IndexVar) -> bool {
        self.split.contains(&var) || self.relation(var).is_some()
    }

    /// Gives a variable to every level of a use of a tensor.
    pub fn declare(
        &mut self,
        format: &Format,
        tensor: TensorId,
        indices: &[IndexVar],
        names: &mut IdVec<IndexVar, String>,
    ) {
        for (k, level) in format.levels().iter().enumerate() {
            let key = key(level.map, tensor, k, indices);
            if matches!(key.0, LevelMap::Mode(_)) || self.vars.contains_key(&key) {
                continue;
            }
            let name = |v: IndexVar| names[v].clone();
            let name = match key.0 {
                LevelMap::Mode(v) => name(v),
                LevelMap::Div(v, _) => format!("{}0", name(v)),
                LevelMap::Mod(v, _) => format!("{}1", name(v)),
                LevelMap::Diff { .. } => "d".to_owned(),
                LevelMap::Slot(_) => "s".to_owned(),
            };
            self.changed();
            let var = names.push(name);
            self.vars.insert(key, var);
            self.keys.insert(var, key);
        }
    }
}

/// A variable, and those from which it follows.
type Rule = (IndexVar, Vec<IndexVar>);

/// The rules, indexed by the variables that they need: programs of many variables look these up for each variable in
/// each loop order.
#[derive(Clone, Debug)]
struct Rules {
    all: Vec<Rule>,
    needing: BTreeMap<IndexVar, Vec<usize>>,
    groups: Vec<usize>,
}

impl Rules {
    fn new(all: Vec<Rule>) -> Rules {
        let mut needing: BTreeMap<IndexVar, Vec<usize>> = BTreeMap::new();
        for (at, (_, needed)) in all.iter().enumerate() {
            needed.iter().for_each(|&v| needing.entry(v).or_default().push(at));
        }
        Rules { groups: groups(&all), all, needing }
    }

    /// The connected component of a variable in the graph of rules.
    fn group(&self, var: IndexVar) -> usize {
        self.groups.get(var.index()).copied().unwrap_or(var.index())
    }

    /// The rules that need a variable.
    fn needing(&self, var: IndexVar) -> impl Iterator<Item = &Rule> {
        self.needing.get(&var).into_iter().flatten().map(|&at| &self.all[at])
    }

    /// Adds a variable to the known ones, with every variable that then follows.
    fn learn(&self, var: IndexVar, known: &mut BTreeSet<IndexVar>) {
        let mut learnt = vec![var];
        while let Some(var) = learnt.pop() {
            if known.insert(var) {
                let complete = |(_, needed): &&Rule| needed.iter().all(|v| known.contains(v));
                learnt.extend(self.needing(var).filter(complete).map(|(follows, _)| *follows));
            }
        }
    }
}

/// The connected component of each variable in the rules, named by one of its variables.
fn groups(rules: &[Rule]) -> Vec<usize> {
    fn root(parents: &mut Vec<usize>, var: IndexVar) -> usize {
        parents.extend(parents.len()..=var.index());
        let mut at = var.index();
        while parents[at] != at {
            parents[at] = parents[parents[at]];
            at = parents[at];
        }
        at
    }
    let mut parents = vec![];
    for (follows, needed) in rules {
        for var in needed {
            let (joined, group) = (root(&mut parents, *var), root(&mut parents, *follows));
            parents[joined] = group;
        }
    }
    (0..parents.len()).map(|at| root(&mut parents, IndexVar::new(at))).collect()
}

fn key(map: LevelMap, tensor: TensorId, level: usize, indices: &[IndexVar]) -> Key {
    let map = map.map(|m| indices[m.index()]);
    let owner = matches!(map, LevelMap::Slot(_)).then(|| (tensor, Level::new(level)));
    (map, owner)
}
