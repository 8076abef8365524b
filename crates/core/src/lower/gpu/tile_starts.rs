//! Where tiles of positions start: the searches for their parents, done once for each tile.
//!
//! ```text
//! for tile in .. on gpu_thread                A1_begins[tile] = the parent of position tile * 4096
//!
//! pA1 = 0; end = A1_size                      pA1 = A1_begins[block]; end = A1_begins[block + 1]
//! while pA1 < end { .. }                      while pA1 < end { .. }
//! ```
//!
//! A search for the parents of a position in a tile is between the parents of the tile's first position and of the
//! next tile's, in every level. (Sparse iteration space transformations, sections 6.2 and 8.3; these tables depend
//! only on the operand and the size of tiles.)

use crate::cin::Relation;
use crate::lower::gpu::scan::thread_per_tile;
use crate::lower::read::position::searched;
use crate::lower::read::position::searched_levels;
use crate::lower::scope::Scope;
use crate::lower::symbols::Symbols;
use std::collections::BTreeMap;
use tamis_ir::datatype::DataType;
use tamis_ir::ids::{Array, IndexVar, Var};
use tamis_ir::ir::build::{add, assign, int, load, mul, store};
use tamis_ir::ir::{Expr, Stmt, Unit};

/// The parents of the first positions of tiles.
#[derive(Clone)]
struct Table {
    /// The loop over tiles.
    tile: IndexVar,
    /// The array of each searched level.
    begins: BTreeMap<usize, Array>,
}

impl Table {
    /// The arrays for the tiles of a loop.
    fn declared(cx: &mut Symbols<'_>, position: IndexVar, tile: IndexVar) -> Table {
        let mut begins = BTreeMap::new();
        for (level, parent) in searched_levels(cx, position) {
            let name = format!("{}_begins", cx.name_of(parent));
            begins.insert(level, cx.common(&name, DataType::I64));
        }
        Table { tile, begins }
    }
}

/// The tables of a kernel, by the variables of positions.
#[derive(Default)]
pub(in crate::lower) struct TileStarts {
    tables: BTreeMap<IndexVar, Table>,
}

impl TileStarts {
    /// Code before a loop that visits every value of a variable from the first on: it finds the parents of the first
    /// position, from which those of later positions are tracked.
    pub(in crate::lower) fn tracking(
        &mut self,
        cx: &mut Symbols<'_>,
        var: IndexVar,
        first: &Expr,
        scope: &Scope,
    ) -> Vec<tamis_ir::ir::Stmt> {
        let (mut at, mut value) = (var, first.clone());
        loop {
            if let Some(Relation::Position { .. }) = cx.program.derived.relation(at) {
                return self.found_first(cx, at, value, scope);
            }
            match scope.settled(cx, at, value) {
                Some((of, next)) if !scope.bound.contains_key(&of) => (at, value) = (of, next),
                _ => return vec![],
            }
        }
    }

    /// Code before a loop that visits positions from `first` on: searches for the parents of the first position,
    /// between those of a surrounding tile if there is one.
    fn found_first(
        &mut self,
        cx: &mut Symbols<'_>,
        var: IndexVar,
        first: Expr,
        scope: &Scope,
    ) -> Vec<Stmt> {
        let Some(tile) = tile_around(cx, var, scope) else {
            return searched(cx, var, first, scope, None);
        };
        let mut between = |cx: &mut Symbols<'_>, level| self.bounds_in_tile(cx, var, level, tile);
        searched(cx, var, first, scope, Some(&mut between))
    }

    /// The range of parents at a level for the positions of a tile.
    fn bounds_in_tile(
        &mut self,
        cx: &mut Symbols<'_>,
        position: IndexVar,
        level: usize,
        (tile, at): (IndexVar, Var),
    ) -> (Expr, Expr) {
        let table =
            self.tables.entry(position).or_insert_with(|| Table::declared(cx, position, tile));
        let array = table.begins[&level];
        let next = add(Expr::Var(at), int(1));
        (load(array, Expr::Var(at)), load(array, next))
    }

    /// Allocates and fills the tables.
    pub(in crate::lower) fn filled_tables(&mut self, cx: &mut Symbols<'_>) -> [Vec<Stmt>; 2] {
        let (mut before, mut loops) = (vec![], vec![]);
        for (position, Table { tile, begins }) in self.tables.clone() {
            let tiles = cx.temp("tiles");
            let count = cx.size(tile, &Scope::default());
            before.push(assign(tiles, count));
            let len = add(Expr::Var(tiles), int(1));
            let reserved = begins.values();
            before.extend(reserved.map(|&array| Stmt::Reserve { array, len: len.clone() }));
            let nowhere = Scope::default();
            loops.push(thread_per_tile(cx, len, &mut |cx, at| {
                let first = first_of_tile(cx, tile, position, at.clone());
                let first = first.expect("tiles have a first position");
                let mut stmts = searched(cx, position, first, &nowhere, None);
                for (level, parent) in searched_levels(cx, position) {
                    stmts.push(store(begins[&level], at.clone(), Expr::Var(parent)));
                }
                stmts
            }));
        }
        [before, loops]
    }
}

/// The tile of positions around a statement, and the variable of the code that counts it: an iteration of the
/// outermost loop, on blocks, over all positions of an operand.
fn tile_around(cx: &mut Symbols<'_>, position: IndexVar, scope: &Scope) -> Option<(IndexVar, Var)> {
    let &outermost = scope.loops.first()?;
    let tiled = cx.planner().unit(outermost) == Some(Unit::Block)
        && cx.program.derived.position(outermost) == Some(position)
        && outermost != position;
    let Some(Relation::Position { of, access, above, .. }) = cx.program.derived.relation(position)
    else {
        return None;
    };
    let descended = scope.reached(access).levels > 0 || !above.is_empty() || of.is_empty();
    if !tiled || descended || first_of_tile(cx, outermost, position, int(0)).is_none() {
        return None;
    }
    Some((outermost, *scope.bound.get(&outermost)?))
}

/// The first position of a tile.
fn first_of_tile(
    cx: &mut Symbols<'_>,
    tile: IndexVar,
    position: IndexVar,
    at: Expr,
) -> Option<Expr> {
    let (mut var, mut first) = (tile, at);
    while var != position {
        (var, first) = match cx.program.derived.relation(var) {
            Some(&Relation::Same { of, .. }) => (of, first),
            _ => {
                let (of, part, size) = cx.tile(var, &Scope::default())?;
                let crate::plan::known::Tile::Block = part else { return None };
                (of, mul(first, size))
            }
        };
    }
    Some(first)
}
