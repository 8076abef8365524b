//! The state at a point of the loop nest: which index variables have a value, and how far each operand has descended
//! its levels.
//!
//! ```text
//! i0, i1 of bcsr(4,4)      i = i0 * 4 + i1
//! d, i of dia              j = d + i
//! i                        i0 = i / 4            where an operand is stored by blocks
//! f of fuse(i, j, f)       i = f / size of j,  j = f mod size of j
//! ```
//!
//! Planning and lowering share these rules: the plan asks which variable follows, lowering writes the code of the rule
//! (sparse iteration space transformations, section 6.2).

use crate::cin::{Derived, Program, Relation};
use crate::format::LevelMap;
use crate::notation::Access;
use std::collections::BTreeSet;
use tamis_ir::ids::{IndexVar, TensorId};

/// The state at a point of the loop nest.
#[derive(Clone, Default)]
pub(super) struct Known {
    /// Index variables with a value.
    pub(super) bound: BTreeSet<IndexVar>,
    /// How many levels each access has descended.
    pub(super) reached: Vec<(Access, Descent)>,
    /// The number of levels of the result, among those written in order, that the loops have descended.
    pub(super) result: usize,
    /// Temporaries without which the result gets no term: if one is an empty reduction, the assignment is skipped.
    pub(super) asked: Vec<TensorId>,
}

/// How many levels an access has descended.
#[derive(Clone, Copy, Default)]
pub(super) struct Descent {
    pub(super) levels: usize,
    /// Whether it is at a segment: several positions with the same coordinate.
    pub(super) is_segment: bool,
}

/// A variable whose value follows from variables that have one.
pub(crate) struct Follows {
    /// The variable.
    pub(crate) var: IndexVar,
    /// The function that gives its value.
    pub(crate) rule: Rule,
}

/// The function by which a variable follows from others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rule {
    /// `block * size + place`, in blocks that a format stores or a schedule made.
    Blocks { block: IndexVar, place: IndexVar, size: u64 },
    /// `part * width + place`, in parts of a variable's coordinates.
    Parts { part: IndexVar, place: IndexVar },
    /// `diagonal + minus`.
    Plus { diagonal: IndexVar, minus: IndexVar },
    /// `plus - diagonal`.
    Minus { diagonal: IndexVar, plus: IndexVar },
    /// `fused / size of inner`.
    Outer { fused: IndexVar, inner: IndexVar },
    /// `fused mod size of inner`.
    Inner { fused: IndexVar, inner: IndexVar },
    /// The same value.
    Same { as_var: IndexVar },
}

/// Which half of a tiled variable another variable is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tile {
    /// The number of the block.
    Block,
    /// The offset in the block.
    Place,
}

/// The first variable without a value that follows from those that have one. For coordinates at positions see
/// [`next_position`].
pub(crate) fn next_value(
    derived: &Derived,
    is_bound: &dyn Fn(IndexVar) -> bool,
) -> Option<Follows> {
    let stored = derived.iter().find_map(|(var, map)| match map {
        LevelMap::Div(i, size) if !is_bound(i) => {
            let place = derived.var(LevelMap::Mod(i, size)).filter(|v| is_bound(*v))?;
            let rule = Rule::Blocks { block: var, place, size };
            is_bound(var).then_some(Follows { var: i, rule })
        }
        LevelMap::Diff { plus, minus } if plus != minus && is_bound(var) => {
            match (is_bound(plus), is_bound(minus)) {
                (false, true) => {
                    Some(Follows { var: plus, rule: Rule::Plus { diagonal: var, minus } })
                }
                (true, false) => {
                    Some(Follows { var: minus, rule: Rule::Minus { diagonal: var, plus } })
                }
                _ => None,
            }
        }
        _ => None,
    });
    stored.or_else(|| next_of_schedule(derived, is_bound))
}

/// As [`next_value`], among the variables that a schedule made.
fn next_of_schedule(derived: &Derived, is_bound: &dyn Fn(IndexVar) -> bool) -> Option<Follows> {
    derived.relations().filter(|(own, _)| is_bound(*own)).find_map(|(own, relation)| {
        let (var, rule) = match *relation {
            Relation::Part { of, place, .. } if !is_bound(of) && is_bound(place) => {
                (of, Rule::Parts { part: own, place })
            }
            Relation::Fused { outer, inner } if !is_bound(outer) => {
                (outer, Rule::Outer { fused: own, inner })
            }
            Relation::Fused { inner, .. } if !is_bound(inner) => {
                (inner, Rule::Inner { fused: own, inner })
            }
            Relation::Same { of, .. } if !is_bound(of) => (of, Rule::Same { as_var: own }),
            _ => return None,
        };
        Some(Follows { var, rule })
    })
}

/// A bound position variable whose operand has descended to just above the levels of `of`, some of which have no
/// coordinate yet.
pub(crate) fn next_position(
    derived: &Derived,
    is_bound: &dyn Fn(IndexVar) -> bool,
    levels_behind: &dyn Fn(&Access) -> usize,
) -> Option<IndexVar> {
    derived.relations().find_map(|(var, relation)| {
        let Relation::Position { of, access, above, level, .. } = relation else { return None };
        let open = is_bound(var) && of.iter().any(|v| !is_bound(*v));
        let known = above.iter().all(|v| is_bound(*v));
        (open && known && levels_behind(access) == level + 1 - of.len()).then_some(var)
    })
}

/// The variable of which `var` is the block or the offset.
pub(crate) fn tile_of(derived: &Derived, var: IndexVar) -> Option<(IndexVar, Tile)> {
    match (derived.relation(var), derived.map(var)) {
        (Some(&Relation::Part { of, .. }), _) => Some((of, Tile::Block)),
        (Some(&Relation::Place { of, .. }), _) => Some((of, Tile::Place)),
        (None, Some(LevelMap::Div(of, _))) => Some((of, Tile::Block)),
        (None, Some(LevelMap::Mod(of, _))) => Some((of, Tile::Place)),
        _ => None,
    }
}

/// The variable that gets a value together with another: the one that the other renames, or the tiled one whose other
/// half is known.
pub(crate) fn settled(
    derived: &Derived,
    var: IndexVar,
    is_bound: &dyn Fn(IndexVar) -> bool,
) -> Option<IndexVar> {
    if let Some(&Relation::Same { of, .. }) = derived.relation(var) {
        return Some(of);
    }
    let (of, _) = tile_of(derived, var)?;
    derived.other_half(var).filter(|other| is_bound(*other)).map(|_| of)
}

impl Known {
    pub(super) fn descent(&self, access: &Access) -> Descent {
        let known = self.reached.iter().find(|(a, _)| a == access);
        known.map_or(Descent::default(), |(_, descent)| *descent)
    }

    pub(super) fn descend(&mut self, access: &Access, descent: Descent) {
        match self.reached.iter_mut().find(|(a, _)| a == access) {
            Some((_, known)) => *known = descent,
            None => self.reached.push((access.clone(), descent)),
        }
    }

    /// Gives a variable a value if it has one or is a function of those that do; variables in between then have values
    /// as well.
    pub(super) fn evaluate(&mut self, program: &Program, var: IndexVar) -> bool {
        if self.bound.contains(&var) {
            return true;
        }
        let derived = &program.derived;
        let follows = match (derived.relation(var), tile_of(derived, var), derived.map(var)) {
            (Some(&Relation::Same { of, .. }), _, _) => self.evaluate(program, of),
            (_, Some((of, _)), _) => self.evaluate(program, of),
            (_, _, Some(LevelMap::Diff { plus, minus })) => {
                self.bound.contains(&plus) && self.bound.contains(&minus)
            }
            _ => false,
        };
        if follows {
            self.bound.insert(var);
        }
        follows
    }

    /// Gives a loop variable a value, and every variable that follows from it.
    pub(super) fn bind(&mut self, program: &Program, own: IndexVar) {
        self.bound.insert(own);
        let derived = &program.derived;
        loop {
            let is_bound = |v: IndexVar| self.bound.contains(&v);
            if let Some(Follows { var, .. }) = next_value(derived, &is_bound) {
                self.bound.insert(var);
                continue;
            }
            let behind = |access: &Access| self.descent(access).levels;
            let Some(var) = next_position(derived, &is_bound, &behind) else { return };
            let Some(Relation::Position { of, access, level, .. }) = derived.relation(var) else {
                return;
            };
            let vars = program.level_vars(access.tensor, &access.indices);
            self.bound.extend(&vars[level + 1 - of.len()..=*level]);
            self.descend(access, Descent { levels: level + 1, is_segment: false });
        }
    }

    /// The variable of the first level that an access has not descended.
    pub(super) fn next_var(&self, program: &Program, access: &Access) -> Option<IndexVar> {
        let format = &program.storage(access.tensor).format;
        let level = self.descent(access).levels;
        let is_level = level < format.levels().len();
        is_level.then(|| program.derived.of_level(format, level, access.tensor, &access.indices))
    }
}
