//! The provenance graph: what each variable that a schedule made was derived from.
//!
//! ```text
//! split(i, i0, i1, 32)       i = i0 * 32 + i1            (as if stored by blocks: see Derived)
//! divide(i, i0, i1, 4)       i = i0 * width + i1         width = ceil(size of i / 4)
//! fuse(i, j, f)              i = f / size of j           j = f mod size of j
//! pos(j, p, A)               j = coordinate of A at p    p counts from the first position, in the tile if j is in one
//! bound(i, ib, 32, ..)       i = ib
//! ```
//!
//! Sparse iteration space transformations, sections 4.2 and 6.2: loops run over derived variables,
//! and the originals are recovered from them.

use super::Derived;
use crate::format::LevelMap;
use crate::notation::Access;
use std::collections::BTreeMap;
use tamis_ir::ids::IndexVar;

/// How a variable was derived from others.
#[derive(Clone, PartialEq, Debug)]
pub enum Relation {
    /// The number of one of `parts` parts of a variable's coordinates.
    Part {
        /// The variable that is divided.
        of: IndexVar,
        /// The offset in the part.
        place: IndexVar,
        /// The number of parts.
        parts: u64,
    },
    /// The offset in such a part.
    Place {
        /// The variable that is divided.
        of: IndexVar,
        /// The number of the part.
        part: IndexVar,
    },
    /// Two loop variables fused into one.
    Fused {
        /// The outer variable, which varies slowly.
        outer: IndexVar,
        /// The inner variable, which varies fast.
        inner: IndexVar,
    },
    /// The positions of a level of an operand, counted from the first position below the known coordinates of outer
    /// levels.
    Position {
        /// The variables recovered from a position, by level, outermost first.
        of: Vec<IndexVar>,
        /// The variables that have to be known: those of outer levels, and tiles.
        above: Vec<IndexVar>,
        /// The offset in a tile of the first variable in `of`, if positions are those of a tile instead of all
        /// coordinates.
        within: Option<IndexVar>,
        /// The operand.
        access: Access,
        /// The level of the last variable in `of`.
        level: usize,
        /// Whether each coordinate has one position.
        unique: bool,
    },
    /// The same coordinates under another name, at most `bound` of them if that is known.
    Same {
        /// The other variable.
        of: IndexVar,
        /// How many coordinates there are.
        bound: Option<BoundType>,
    },
}

/// A promise about a size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BoundType {
    /// The size is this.
    Exact(u64),
    /// The size is at most this.
    Most(u64),
}

impl BoundType {
    /// The number.
    pub fn size(self) -> u64 {
        match self {
            BoundType::Exact(size) | BoundType::Most(size) => size,
        }
    }

    /// Whether a size keeps the promise.
    pub fn holds(self, size: u64) -> bool {
        match self {
            BoundType::Exact(promised) => size == promised,
            BoundType::Most(promised) => size <= promised,
        }
    }
}

/// The relations of a program's variables.
pub(super) type Relations = BTreeMap<IndexVar, Relation>;

impl Relation {
    /// The variables that the variable was made from.
    pub fn origins(&self) -> Vec<IndexVar> {
        match self {
            Relation::Part { of, .. } | Relation::Place { of, .. } | Relation::Same { of, .. } => {
                vec![*of]
            }
            Relation::Fused { outer, inner } => vec![*outer, *inner],
            Relation::Position { of, .. } => of.clone(),
        }
    }

    /// The variables from which this one follows, if it ever does: a position does not follow from a coordinate with
    /// several positions.
    pub(super) fn follows_from(&self) -> Option<Vec<IndexVar>> {
        match self {
            Relation::Position { unique: false, .. } => None,
            Relation::Position { of, above, .. } => Some([&above[..], of].concat()),
            relation => Some(relation.origins()),
        }
    }

    /// The variables that, together with `own`, determine this origin of it; `None` if they do not.
    pub(super) fn gives(&self, own: IndexVar, origin: IndexVar) -> Option<Vec<IndexVar>> {
        match self {
            _ if !self.origins().contains(&origin) => None,
            Relation::Part { place, .. } => Some(vec![own, *place]),
            Relation::Place { part, .. } => Some(vec![own, *part]),
            Relation::Position { above, .. } => Some([&above[..], &[own]].concat()),
            Relation::Fused { .. } | Relation::Same { .. } => Some(vec![own]),
        }
    }
}

impl Derived {
    /// How a schedule derived a variable.
    pub fn relation(&self, var: IndexVar) -> Option<&Relation> {
        self.relations.get(&var)
    }

    /// Every variable that a schedule made, except blocks and offsets.
    pub fn relations(&self) -> impl Iterator<Item = (IndexVar, &Relation)> {
        self.relations.iter().map(|(&var, relation)| (var, relation))
    }

    /// Records how a variable was derived.
    pub fn relate(&mut self, var: IndexVar, relation: Relation) {
        self.changed();
        self.relations.insert(var, relation);
    }

    /// The variables that a variable was made from.
    pub fn origins(&self, var: IndexVar) -> Vec<IndexVar> {
        match (self.relation(var), self.map(var)) {
            (Some(relation), _) => relation.origins(),
            (None, Some(map)) => map.modes(),
            (None, None) => vec![],
        }
    }

    /// The variables that a variable was derived from, directly or through others.
    pub fn ancestors(&self, var: IndexVar) -> Vec<IndexVar> {
        let mut found = self.origins(var);
        let mut at = 0;
        while at < found.len() {
            for origin in self.origins(found[at]) {
                if !found.contains(&origin) {
                    found.push(origin);
                }
            }
            at += 1;
        }
        found
    }

    /// The length of the longest chain of derivations behind a variable, remembered in `known`.
    pub fn generation(&self, var: IndexVar, known: &mut BTreeMap<IndexVar, usize>) -> usize {
        if let Some(&generation) = known.get(&var) {
            return generation;
        }
        let origins = self.origins(var);
        let of = origins.into_iter().filter(|&origin| origin != var);
        let generation = of.map(|origin| 1 + self.generation(origin, known)).max().unwrap_or(0);
        known.insert(var, generation);
        generation
    }

    /// The variable of the offsets in a block, or of the block that an offset is in.
    pub fn other_half(&self, var: IndexVar) -> Option<IndexVar> {
        match (self.relation(var), self.map(var)) {
            (
                Some(&(Relation::Place { part: other, .. } | Relation::Part { place: other, .. })),
                _,
            ) => Some(other),
            (None, Some(LevelMap::Mod(i, size))) => self.var(LevelMap::Div(i, size)),
            (None, Some(LevelMap::Div(i, size))) => self.var(LevelMap::Mod(i, size)),
            _ => None,
        }
    }

    /// The tiles that have to be known so that `var` counts coordinates of `of` in steps of one, perhaps under another
    /// name; `None` if it never does.
    pub fn tiles_of(&self, var: IndexVar, of: IndexVar) -> Option<Vec<IndexVar>> {
        if var == of {
            return Some(vec![]);
        }
        let (next, tile) = match (self.relation(var), self.map(var)) {
            (Some(&Relation::Same { of, .. }), _) => (of, None),
            (Some(&Relation::Place { of, part }), _) => (of, Some(part)),
            (None, Some(LevelMap::Mod(of, _))) => (of, Some(self.other_half(var)?)),
            _ => return None,
        };
        Some(tile.into_iter().chain(self.tiles_of(next, of)?).collect())
    }

    /// The variables that a variable was fused from, or itself.
    pub fn unfused(&self, var: IndexVar) -> Vec<IndexVar> {
        match self.relation(var) {
            Some(&Relation::Fused { outer, inner }) => {
                [self.unfused(outer), self.unfused(inner)].concat()
            }
            _ => vec![var],
        }
    }

    /// The variable that several were fused to.
    pub fn fused(&self, from: &[IndexVar]) -> Option<IndexVar> {
        let mut fused =
            self.relations().filter(|(_, relation)| matches!(relation, Relation::Fused { .. }));
        fused.find(|(var, _)| self.unfused(*var) == from).map(|(var, _)| var)
    }

    /// Whether a variable is another one renamed.
    pub fn is_same(&self, var: IndexVar, of: IndexVar) -> bool {
        match self.relation(var) {
            _ if var == of => true,
            Some(&Relation::Same { of: next, .. }) => self.is_same(next, of),
            _ => false,
        }
    }

    /// The position variable that a variable is, or was derived from, if there is one.
    pub fn position(&self, var: IndexVar) -> Option<IndexVar> {
        if matches!(self.relation(var), Some(Relation::Position { .. })) {
            return Some(var);
        }
        self.origins(var).into_iter().find_map(|origin| self.position(origin))
    }

    /// The number of coordinates of a variable, from the dimensions of others; `None` if it depends on the data, or
    /// exceeds 2^63.
    pub fn size(&self, var: IndexVar, dimension: &dyn Fn(IndexVar) -> u64) -> Option<u64> {
        let size = |v: IndexVar| self.size(v, dimension);
        match (self.relation(var), self.map(var)) {
            (Some(Relation::Part { of, parts, .. }), _) => Some(size(*of)?.min(*parts)),
            (Some(Relation::Place { of, part }), _) => match self.relation(*part) {
                Some(Relation::Part { parts, .. }) => Some(size(*of)?.div_ceil(*parts)),
                _ => None,
            },
            (Some(Relation::Fused { outer, inner }), _) => {
                size(*outer)?.checked_mul(size(*inner)?).filter(|&n| i64::try_from(n).is_ok())
            }
            (Some(Relation::Position { .. }), _) => None,
            (Some(Relation::Same { of, .. }), _) => size(*of),
            (None, Some(LevelMap::Div(i, b))) => Some(size(i)?.div_ceil(b)),
            (None, Some(LevelMap::Mod(_, b))) => Some(b),
            (None, Some(_)) => None,
            (None, None) => Some(dimension(self.alias(var))),
        }
    }
}
