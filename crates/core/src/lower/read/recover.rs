//! Binds index variables, and computes those that follow.
//!
//! ```text
//! i0, i1 of bcsr(4,4)      i = i0 * 4 + i1       if i < i_size
//! d, i of dia              j = d + i             if 0 <= j and j < j_size
//! i                        i0 = i / 4            where an operand is stored by blocks
//! ```

use crate::cin::{BoundType, FEW_PARTS, Relation};
use crate::format::LevelMap;
use crate::format::open::{Known, open};
use crate::lower::scope::Scope;
use crate::lower::symbols::Symbols;
pub(in crate::lower) use crate::plan::known::Tile;
use crate::plan::known::{Follows, Rule, next_value, tile_of};
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ids::{Id, IndexVar, Level, TensorId, Var};
use tamis_ir::ir::build::{add, assign, binary, int, lt, mul, sub};
use tamis_ir::ir::flow::mentions;
use tamis_ir::ir::{Expr, Stmt};

/// The consequences of binding a variable.
#[derive(Default)]
pub(in crate::lower) struct Bound {
    /// Code for variables that follow.
    pub(in crate::lower) stmts: Vec<Stmt>,
    /// Conditions for these variables to be inside the tensors.
    pub(in crate::lower) inside: Vec<Expr>,
}

impl Scope {
    /// Binds a loop variable, and every variable that follows. Values are known to be inside the tensors if `exact`.
    pub(in crate::lower) fn bind(
        &mut self,
        cx: &mut Symbols<'_>,
        own: IndexVar,
        value: Var,
        exact: bool,
    ) -> Bound {
        self.bound.insert(own, value);
        let mut bound = Bound::default();
        // These loops may leave the tensor: loops over tiles, positions, blocks and offsets ignore the range that
        // diagonals allow; fused tiles of one variable ignore the end of the last tile; and positions ignore the end
        // of the tensor in its last blocks.
        let scheduled = cx.program.derived.is_scheduled(own);
        let mut followed: Vec<Var> = vec![];
        loop {
            if let Some((var, value, conditions)) = self.following(cx) {
                let index = cx.index(var);
                let indirect = followed.iter().any(|v| mentions(&value, *v));
                followed.push(index);
                bound.stmts.push(assign(index, value));
                self.bound.insert(var, index);
                let squared = self.bound.keys().any(|&v| is_squared(cx, v));
                let stored = cx.program.derived.position(own).is_some()
                    && cx.program.derived.position(var).is_none();
                let from_zero =
                    (scheduled || indirect) && conditions.contains(&Condition::FromZero);
                if !exact || squared || stored || from_zero {
                    for condition in conditions {
                        let size = cx.size(var, self);
                        bound.inside.push(condition.of(Expr::Var(index), size));
                    }
                }
            } else if !self.recovered(cx, &mut bound) {
                return bound;
            }
        }
    }

    /// A variable without a value that follows from bound ones.
    fn following(&self, cx: &mut Symbols<'_>) -> Option<(IndexVar, Expr, Vec<Condition>)> {
        let is_bound = |v: IndexVar| self.bound.contains_key(&v);
        let Follows { var, rule } = next_value(&cx.program.derived, &is_bound)?;
        let of = |v: IndexVar| Expr::Var(self.bound[&v]);
        let below = vec![Condition::BelowDimension];
        let both = vec![Condition::FromZero, Condition::BelowDimension];
        let (value, conditions) = match rule {
            Rule::Blocks { block, place, size } => {
                (add(mul(of(block), int(size as i64)), of(place)), below)
            }
            Rule::Parts { part, place } => {
                let width = cx.width_of(part, self);
                (add(mul(of(part), width), of(place)), below)
            }
            Rule::Plus { diagonal, minus } => (add(of(diagonal), of(minus)), both),
            Rule::Minus { diagonal, plus } => (sub(of(plus), of(diagonal)), both),
            Rule::Outer { fused, inner } => {
                let size = cx.size(inner, &self.around(&cx.program.derived, fused));
                (binary(BinaryOp::Div, of(fused), size), vec![])
            }
            Rule::Inner { fused, inner } => {
                let size = cx.size(inner, &self.around(&cx.program.derived, fused));
                (binary(BinaryOp::Mod, of(fused), size), vec![])
            }
            Rule::Same { as_var } => (of(as_var), below),
        };
        Some((var, value, conditions))
    }

    /// The variable that holds a coordinate, if it is bound or follows from bound ones.
    pub(in crate::lower) fn coordinate(
        &mut self,
        cx: &mut Symbols<'_>,
        var: IndexVar,
        prefix: &mut Vec<Stmt>,
    ) -> Option<Var> {
        if let Some(&known) = self.bound.get(&var) {
            return Some(known);
        }
        if let Some(&Relation::Same { of: i, .. }) = cx.program.derived.relation(var) {
            let same = self.coordinate(cx, i, prefix)?;
            self.bound.insert(var, same);
            return Some(same);
        }
        if let Some((of, origin, size)) = cx.tile(var, self) {
            let i = Expr::Var(self.coordinate(cx, of, prefix)?);
            let value = match origin {
                Tile::Block => binary(BinaryOp::Div, i, size),
                Tile::Place => binary(BinaryOp::Mod, i, size),
            };
            let fresh = cx.index_temp(var);
            prefix.push(assign(fresh, value));
            self.bound.insert(var, fresh);
            return Some(fresh);
        }
        let of = |v: IndexVar| self.bound.get(&v).map(|&v| Expr::Var(v));
        let value = match cx.program.derived.map(var)? {
            LevelMap::Mode(_) | LevelMap::Slot(_) => return None,
            LevelMap::Div(..) | LevelMap::Mod(..) => unreachable!("blocks are tiles"),
            LevelMap::Diff { plus, minus } => sub(of(plus)?, of(minus)?),
        };
        let fresh = cx.index_temp(var);
        prefix.push(assign(fresh, value));
        self.bound.insert(var, fresh);
        Some(fresh)
    }
}

/// Whether a variable counts all pairs of two variables that were derived from the same one. Some of these pairs stand
/// for no coordinate of that one.
fn is_squared(cx: &Symbols<'_>, var: IndexVar) -> bool {
    let derived = &cx.program.derived;
    let Some(&Relation::Fused { outer, inner }) = derived.relation(var) else { return false };
    let of_outer = derived.ancestors(outer);
    derived.ancestors(inner).iter().any(|v| of_outer.contains(v))
}

impl Symbols<'_> {
    /// The variable of which `var` is the block or the offset, and the size of blocks.
    pub(in crate::lower) fn tile(
        &mut self,
        var: IndexVar,
        scope: &Scope,
    ) -> Option<(IndexVar, Tile, Expr)> {
        let derived = &self.program.derived;
        let (of, tile) = tile_of(derived, var)?;
        let size = match (derived.relation(var), derived.map(var)) {
            (Some(Relation::Part { .. }), _) => self.width_of(var, scope),
            (Some(&Relation::Place { part, .. }), _) => self.width_of(part, scope),
            (_, Some(LevelMap::Div(_, size) | LevelMap::Mod(_, size))) => int(size as i64),
            _ => return None,
        };
        Some((of, tile, size))
    }

    /// The range of coordinates that a loop over a variable visits, without further restrictions.
    pub(in crate::lower) fn range(&mut self, var: IndexVar, scope: &Scope) -> (Expr, Expr) {
        let derived = &self.program.derived;
        let of = |v: &IndexVar| scope.bound.get(v).map(|&v| Expr::Var(v));
        match derived.relation(var) {
            Some(&Relation::Part { of: i, place, parts }) => {
                let hi = match of(&place) {
                    None if parts <= FEW_PARTS => int(parts as i64),
                    // Parts beyond the last coordinate are empty.
                    None => binary(BinaryOp::Min, self.divided(var, scope), int(parts as i64)),
                    // The parts that contain this offset.
                    Some(place) => {
                        let width = self.width_of(var, scope);
                        let rest = sub(self.size(i, scope), place);
                        let last = sub(add(rest, width.clone()), int(1));
                        binary(BinaryOp::Div, last, width)
                    }
                };
                (int(0), hi)
            }
            Some(&Relation::Place { of: i, part }) => {
                let width = self.width_of(part, scope);
                let hi = match of(&part) {
                    None => width,
                    Some(part) => {
                        let before = mul(part, width.clone());
                        let rest = sub(self.size(i, scope), before);
                        binary(BinaryOp::Min, rest, width)
                    }
                };
                (int(0), hi)
            }
            Some(Relation::Fused { outer, inner }) => {
                let (outer, inner) = (*outer, *inner);
                (int(0), mul(self.size(outer, scope), self.size(inner, scope)))
            }
            Some(Relation::Position { .. }) => (int(0), self.positions_of(var, scope)),
            Some(&Relation::Same { bound: Some(BoundType::Exact(size)), .. }) => {
                (int(0), int(size as i64))
            }
            Some(&Relation::Same { of, .. }) => self.range(of, scope),
            None => {
                let map = derived.map(var).unwrap_or(LevelMap::Mode(var));
                let slots = derived.slots(var);
                open(map, &mut Surroundings { symbols: self, scope, slots })
            }
        }
    }

    /// The number of coordinates of a variable, given the bound variables.
    pub(in crate::lower) fn size(&mut self, var: IndexVar, scope: &Scope) -> Expr {
        let derived = &self.program.derived;
        match (derived.relation(var), derived.map(var)) {
            (None, None) => Expr::Var(self.dim(var)),
            // A renamed variable has a promised size, or that of the original, even where its coordinate is known.
            (Some(&Relation::Same { of, bound }), _) => match bound {
                Some(BoundType::Exact(size)) => int(size as i64),
                _ => self.size(of, scope),
            },
            _ => self.range(var, scope).1,
        }
    }

    /// The number of elements of a workspace's mode: as many as its variable has coordinates; for offsets in large
    /// blocks, at most as many as the tiled variable has.
    pub(in crate::lower) fn elements(&mut self, mode: IndexVar, scope: &Scope) -> Expr {
        const LARGE: u64 = 1 << 12;
        let derived = &self.program.derived;
        let mut place = mode;
        while let Some(&Relation::Same { of, .. }) = derived.relation(place) {
            place = of;
        }
        let size = self.size(mode, scope);
        match derived.map(place) {
            Some(LevelMap::Mod(of, block)) if block > LARGE => {
                binary(BinaryOp::Min, size, self.size(of, scope))
            }
            _ => size,
        }
    }

    /// The width of the parts that a variable counts; it is the same in all loops over variables derived from the same
    /// one.
    fn width_of(&mut self, part: IndexVar, scope: &Scope) -> Expr {
        let Some(&Relation::Part { parts, .. }) = self.program.derived.relation(part) else {
            unreachable!("parts have a width");
        };
        let up = add(self.divided(part, scope), int(parts as i64 - 1));
        binary(BinaryOp::Div, up, int(parts as i64))
    }

    /// The number of coordinates or positions of all parts that a variable counts.
    fn divided(&mut self, part: IndexVar, scope: &Scope) -> Expr {
        let Some(&Relation::Part { of, .. }) = self.program.derived.relation(part) else {
            unreachable!("parts are of something");
        };
        let derived = &self.program.derived;
        let mut around = scope.around(derived, of);
        let origins = derived.ancestors(of);
        around.bound.retain(|&v, _| {
            let related = || derived.ancestors(v).iter().any(|v| origins.contains(v));
            !(derived.is_scheduled(v) && related())
        });
        self.size(of, &around)
    }
}

/// A condition for the value of a variable that follows.
#[derive(PartialEq)]
enum Condition {
    FromZero,
    BelowDimension,
}

impl Condition {
    fn of(&self, value: Expr, size: Expr) -> Expr {
        match self {
            Condition::FromZero => binary(BinaryOp::Ge, value, int(0)),
            Condition::BelowDimension => lt(value, size),
        }
    }
}

/// The variables bound at a statement of the loops.
struct Surroundings<'s, 'l, 'p> {
    symbols: &'l mut Symbols<'p>,
    scope: &'s Scope,
    slots: Option<(TensorId, Level)>,
}

impl Known<IndexVar, Expr> for Surroundings<'_, '_, '_> {
    fn dimension(&mut self, var: IndexVar) -> Expr {
        self.symbols.size(var, self.scope)
    }

    fn mode(&mut self, var: IndexVar) -> Option<Expr> {
        self.scope.bound.get(&var).map(|&v| Expr::Var(v))
    }

    fn level(&mut self, map: LevelMap<IndexVar>) -> Option<Expr> {
        let var = self.symbols.program.derived.var(map)?;
        self.mode(var)
    }

    fn diagonals(&mut self, var: IndexVar) -> Vec<LevelMap<IndexVar>> {
        let takes = |map: &LevelMap<IndexVar>| matches!(*map, LevelMap::Diff { plus, minus } if plus == var || minus == var);
        let derived = self.symbols.program.derived.iter();
        let bound = derived.filter(|(var, _)| self.scope.bound.contains_key(var));
        bound.map(|(_, map)| map).filter(takes).collect()
    }

    fn slots(&mut self) -> Expr {
        let (tensor, level) = self.slots.expect("slots belong to a tensor");
        self.symbols.arrays(tensor).levels[level.index()].width()
    }
}
