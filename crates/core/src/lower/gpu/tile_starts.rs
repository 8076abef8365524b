//! Where tiles of positions begin: the searches for their parents, done once for each tile.
//!
//! ```text
//! for tile in .. on gpu_thread                A1_begins[tile] = the parent of position tile * 4096
//!
//! pA1 = 0; end = A1_size                      pA1 = A1_begins[block]; end = A1_begins[block + 1]
//! while pA1 < end { .. }                      while pA1 < end { .. }
//! ```
//!
//! A search for a position in a tile is between the parents of the tile's first position and of the
//! next tile's, of every level that is searched. (Sparse iteration space transformations, sections 6.2
//! and 8.3; the tables depend on the operand and the size of tiles alone.)

use crate::cin::Relation;
use crate::lower::{Lowerer, Scope};
use std::collections::BTreeMap;
use tamis_ir::datatype::DataType;
use tamis_ir::ids::{Array, IndexVar, Var};
use tamis_ir::ir::build::{add, assign, int, load, mul, store};
use tamis_ir::ir::{Expr, Stmt, Unit};

/// The parents of the first positions of tiles.
#[derive(Clone)]
pub(in crate::lower) struct Table {
    /// The loop over tiles.
    tile: IndexVar,
    /// Of each level that is searched.
    begins: BTreeMap<usize, Array>,
}

impl Lowerer<'_> {
    /// The variable of the tile of positions that a statement in the loops is in: an iteration of a loop
    /// over blocks, around everything else, over all positions of an operand.
    pub(in crate::lower) fn tile_around(
        &mut self,
        position: IndexVar,
        scope: &Scope,
    ) -> Option<Var> {
        let &outermost = scope.loops.first()?;
        let tiled = self.unit(outermost) == Some(Unit::Block)
            && self.program.derived.position(outermost) == Some(position)
            && outermost != position;
        let Some(Relation::Position { of, access, above, .. }) =
            self.program.derived.relation(position)
        else {
            return None;
        };
        let descended = scope.reached(access).levels > 0 || !above.is_empty() || of.is_empty();
        if !tiled || descended || self.first_of_tile(outermost, position, int(0)).is_none() {
            return None;
        }
        scope.bound.get(&outermost).copied()
    }

    /// The first position of a tile.
    fn first_of_tile(&mut self, tile: IndexVar, position: IndexVar, at: Expr) -> Option<Expr> {
        let (mut var, mut first) = (tile, at);
        while var != position {
            (var, first) = match self.program.derived.relation(var) {
                Some(&Relation::Same { of, .. }) => (of, first),
                _ => {
                    let (of, part, size) = self.cx.tile(var, &Scope::default())?;
                    let crate::plan::known::Tile::Block = part else { return None };
                    (of, mul(first, size))
                }
            };
        }
        Some(first)
    }

    /// The parents at a level between which those of a tile's positions are.
    pub(in crate::lower) fn bounds_in_tile(
        &mut self,
        position: IndexVar,
        level: usize,
        tile: Var,
    ) -> (Expr, Expr) {
        if !self.gpu.tables.contains_key(&position) {
            let levels = self.searched_levels(position);
            let mut begins = BTreeMap::new();
            for (level, parent) in levels {
                let name = format!("{}_begins", self.cx.name_of(parent));
                begins.insert(level, self.cx.values.builder.common(&name, DataType::I64));
            }
            let tile = self.cx.vars.iter().find(|(_, v)| **v == tile).map(|(&own, _)| own);
            let tile = tile.expect("loops over tiles have a variable");
            self.gpu.tables.insert(position, Table { tile, begins });
        }
        let array = self.gpu.tables[&position].begins[&level];
        let next = add(Expr::Var(tile), int(1));
        (load(array, Expr::Var(tile)), load(array, next))
    }

    /// Room for the tables, and what fills them.
    pub(in crate::lower) fn filled_tables(&mut self) -> [Vec<Stmt>; 2] {
        let (mut before, mut loops) = (vec![], vec![]);
        for (position, Table { tile, begins }) in self.gpu.tables.clone() {
            let tiles = self.cx.temp("tiles");
            let count = self.cx.size(tile, &Scope::default());
            before.push(assign(tiles, count));
            let len = add(Expr::Var(tiles), int(1));
            let reserved = begins.values();
            before.extend(reserved.map(|&array| Stmt::Reserve { array, len: len.clone() }));
            let nowhere = Scope::default();
            loops.push(self.tiles(len, &mut |lowerer, at| {
                let first = lowerer.first_of_tile(tile, position, at.clone());
                let first = first.expect("tiles have a first position");
                let mut stmts = lowerer.searched(position, first, &nowhere, None);
                for (level, parent) in lowerer.searched_levels(position) {
                    stmts.push(store(begins[&level], at.clone(), Expr::Var(parent)));
                }
                stmts
            }));
        }
        [before, loops]
    }
}
