//! Segmented reductions: sums over tiles of positions, in order and without atomic operations.
//!
//! ```text
//! for thread in .. on gpu_thread {          one tile each
//!   for k in 0..16 {
//!     if i == run { s = s + .. }            the same element as the entry before
//!     else {
//!       if head < 0 { head = run; edge = s } else { y_vals[run] = y_vals[run] + s }
//!       run = i; s = ..
//!     }
//!   }
//!   ..                                      the same for the last run
//!   y_at[tile] = head; y_edge[tile] = edge
//! }
//! carries of neighbouring tiles are combined in pairs, then pairs of these, those of a block at its end; a carry for
//! another element than its left neighbour's is added to its own element
//! ```
//!
//! The carry of a tile is the sum of its first run, which may have begun in earlier tiles. Every other run begins in
//! the tile, so no other tile stores to its element. When a carry is combined with one of another element, the run of
//! that element begins within the tiles in between, so the thread that combines them owns the element. (Segmented
//! reduction; sparse iteration space transformations, section 6.3.)

use crate::cin::tiles::Tiles;
use crate::lower::Code;
use crate::lower::gpu::scan::thread_per_tile;
use crate::lower::scope::Scope;
use crate::lower::symbols::Symbols;
use crate::lower::value::{Held, Vals, Value};
use tamis_ir::algebra::{BinaryOp, ReduceOp};
use tamis_ir::datatype::DataType;
use tamis_ir::ids::{Array, IndexVar, Var};
use tamis_ir::ir::build::{
    add, assign, binary, div, eq, for_loop, int, load, lt, mul, store, when,
};
use tamis_ir::ir::{Expr, Stmt, Unit};

/// The number of carries that a block combines.
const JOINED: i64 = 256;
/// The number of rounds by blocks before one thread adds up the rest, if no block has combined its own tiles.
const DEPTH: u32 = 2;
/// From this number of tiles on, combining its own tiles in a block saves a kernel that combines carries.
const MANY: i64 = 64;

/// The sums of tiles in the iterations of a loop.
#[derive(Clone)]
struct TileSums {
    /// The loop.
    var: IndexVar,
    op: ReduceOp,
    tiles: Tiles,
    /// The current element, and its sum so far.
    run: Var,
    sum: Held,
    /// The element of the tile's first run, and its sum.
    head: Var,
    edge: Held,
    /// The elements and carries of all tiles.
    places: Array,
    edges: Vals,
    /// The array that sums are added to: the result, or one of the sums' type.
    target: Vals,
    /// Whether code of the loop's body uses these, before the loop itself is emitted.
    open: bool,
    /// The number of tiles that a block combines at its end.
    joined: i64,
}

/// The carries of all tiles, in order; a tile may have several.
struct Row {
    tiles: Var,
    beside: Expr,
}

/// The segmented reductions of a kernel.
#[derive(Default)]
pub(in crate::lower) struct SegmentedReductions {
    edges: Vec<TileSums>,
}

impl SegmentedReductions {
    /// Adds a value to the sum of its element's run.
    pub(in crate::lower) fn in_run(
        &mut self,
        cx: &mut Symbols<'_>,
        tiles: &Tiles,
        position: Expr,
        op: ReduceOp,
        value: Value,
        scope: &Scope,
    ) -> Vec<Stmt> {
        let var = scope.loops[tiles.at];
        let known = self.edges.iter().position(|e| e.open && e.var == var && e.op == op);
        let k = known.unwrap_or_else(|| self.new_edges(cx, var, op, tiles.clone()));
        self.edges[k].open = true;
        let own = self.edges[k].clone();
        let at = cx.temp("at");
        // Both branches use the term: its loads do not wait for the element.
        let term = cx.held_vars("term", value.im.is_some());
        let mut stmts = cx.assigned(term, value);
        let value = term.value();
        let mut same = vec![];
        let sum = cx.combined(op, own.sum.value(), value.clone(), &mut same);
        same.extend(cx.assigned(own.sum, sum));
        let mut other = own.run_ended(cx);
        other.push(assign(own.run, Expr::Var(at)));
        let first = cx.reduced(Some(op), value);
        other.extend(cx.assigned(own.sum, first));
        let cond = eq(Expr::Var(at), Expr::Var(own.run));
        stmts.extend([assign(at, position), Stmt::If { cond, then: same, otherwise: other }]);
        stmts
    }

    fn new_edges(
        &mut self,
        cx: &mut Symbols<'_>,
        var: IndexVar,
        op: ReduceOp,
        tiles: Tiles,
    ) -> usize {
        let (vals, wide) = (cx.result().vals, cx.is_wide());
        let result = &cx.program.tensors[cx.kernel.result];
        let (name, complex) = (result.name.clone(), result.storage.datatype.is_complex());
        let elem = cx.facts.register().datatype();
        let mut common = |name: String| {
            let re = cx.common(&name, elem);
            match complex {
                true => Vals::Split(re, cx.common(&format!("{name}_im"), elem)),
                false => Vals::Real(re),
            }
        };
        let edges = common(format!("{name}_edge"));
        let sums = if wide { vals } else { common(format!("{name}_sums")) };
        let target = self.edges.first().map_or(sums, |other| other.target);
        let places = cx.common(&format!("{name}_at"), DataType::I64);
        let (run, head) = (cx.temp("run"), cx.temp("head"));
        let (sum, edge) = (cx.held_vars("s", complex), cx.held_vars("edge", complex));
        self.edges.push(TileSums {
            var,
            op,
            tiles,
            run,
            sum,
            head,
            edge,
            places,
            edges,
            target,
            open: false,
            joined: 1,
        });
        self.edges.len() - 1
    }

    /// The body of a loop that runs a tile in each iteration.
    pub(in crate::lower) fn as_tile(
        &mut self,
        cx: &mut Symbols<'_>,
        var: IndexVar,
        code: Code,
        scope: &mut Scope,
    ) -> Code {
        let mut code = code;
        for k in 0..self.edges.len() {
            let own = self.edges[k].clone();
            if own.var != var || !own.open {
                continue;
            }
            self.edges[k].open = false;
            let nothing = || Value { re: cx.zero(), im: own.sum.im.map(|_| cx.zero()) };
            let (sum, edge) = (nothing(), nothing());
            let mut stmts = vec![assign(own.run, int(-1)), assign(own.head, int(-1))];
            stmts.extend(cx.assigned(own.sum, sum));
            stmts.extend(cx.assigned(own.edge, edge));
            stmts.append(&mut code.stmts);
            stmts.extend(own.run_ended(cx));
            let slot = own.slot(cx, scope, &mut stmts);
            stmts.push(store(own.places, slot.clone(), Expr::Var(own.head)));
            let zero = cx.zero();
            stmts.extend(own.edges.store(&slot, own.edge.value(), zero));
            code.stmts = stmts;
        }
        code
    }

    /// The body of the outermost loop, whose blocks combine the tiles that they run.
    pub(in crate::lower) fn as_block(
        &mut self,
        cx: &mut Symbols<'_>,
        var: IndexVar,
        code: &mut Code,
        scope: &mut Scope,
    ) {
        let on_blocks = cx.kernel.tags.get(&var).and_then(|tag| tag.gpu()) == Some(Unit::Block);
        if !on_blocks || scope.loops != [var] || code.stmts.is_empty() {
            return;
        }
        for k in 0..self.edges.len() {
            let own = self.edges[k].clone();
            let Some(tiles) = own.tiles_of_block(cx, var) else { continue };
            let known = scope.coordinate(cx, var, &mut code.stmts);
            let block = known.expect("loops around have a value");
            let row = own.row(cx, &mut code.stmts);
            code.stmts.extend(own.joining(cx, &row, (1, tiles), block));
            self.edges[k].joined = tiles;
        }
    }

    /// Whether tiles are summed in an array of another type than the result's, from which every element of the result
    /// is then written.
    pub(in crate::lower) fn sums_elsewhere(&mut self, cx: &mut Symbols<'_>) -> bool {
        !self.edges.is_empty() && !cx.is_wide()
    }

    /// Reserves memory for the carries of tiles, and combines these after the loops.
    pub(in crate::lower) fn joined_tiles(&mut self, cx: &mut Symbols<'_>) -> [Vec<Stmt>; 2] {
        let (mut before, mut filled, mut after) = (vec![], vec![], vec![]);
        for own in self.edges.clone() {
            let row = own.row(cx, &mut before);
            let all = mul(Expr::Var(row.tiles), row.beside.clone());
            before.push(Stmt::Reserve { array: own.places, len: all.clone() });
            before.extend(own.edges.reserve(&all));
            let (lo, hi) = (int(0), all);
            filled.push(Stmt::Fill { array: own.places, lo, hi, value: int(-1) });
            let depth = if own.joined < MANY { DEPTH } else { DEPTH - 1 };
            let strides = (0..depth).map(|k| own.joined * JOINED.pow(k));
            after.extend(strides.map(|stride| own.joined_edges(cx, &row, stride)));
            after.push(own.last_edges(cx, &row, own.joined * JOINED.pow(depth)));
        }
        if let Some(target) = self.edges.first().map(|own| own.target)
            && !cx.is_wide()
        {
            let levels = 0..cx.result().levels.len();
            let size = cx.positions_at(cx.kernel.result, levels, int(1));
            before.extend(target.reserve(&size));
            let initial = cx.planner().initial_as(cx.facts.compute);
            filled.extend(cx.filled(target, int(0), size.clone(), initial));
            after.push(thread_per_tile(cx, size, &mut |cx, element| {
                let sum = cx.loaded(target, element.clone());
                cx.write(element, None, sum)
            }));
        }
        before.extend(filled);
        [before, after]
    }
}

impl TileSums {
    /// The first run of a tile becomes its carry; later runs are added to their elements.
    fn run_ended(&self, cx: &mut Symbols<'_>) -> Vec<Stmt> {
        let mut then = vec![assign(self.head, Expr::Var(self.run))];
        then.extend(cx.assigned(self.edge, self.sum.value()));
        let cond = lt(Expr::Var(self.head), int(0));
        let otherwise = self.added(cx, self.target, Expr::Var(self.run), self.sum.value());
        vec![Stmt::If { cond, then, otherwise }]
    }

    /// `vals[position] = vals[position] op value`.
    fn added(&self, cx: &mut Symbols<'_>, vals: Vals, position: Expr, value: Value) -> Vec<Stmt> {
        let mut stmts = vec![];
        let old = cx.loaded(vals, position.clone());
        let sum = cx.combined(self.op, old, value, &mut stmts);
        let sum = cx.hold(sum, &mut stmts);
        let zero = cx.zero();
        stmts.extend(vals.store(&position, sum, zero));
        stmts
    }

    /// The index of a tile's carry.
    fn slot(&self, cx: &mut Symbols<'_>, scope: &mut Scope, stmts: &mut Vec<Stmt>) -> Expr {
        let loops = [&self.tiles.tiles[..], &self.tiles.beside].concat();
        let place = loops.into_iter().fold(int(0), |place, v| {
            let known = scope.coordinate(cx, v, stmts);
            let at = known.expect("loops around have a value");
            let most = most_iterations(cx, v);
            add(mul(place, most), Expr::Var(at))
        });
        let slot = cx.temp("slot");
        stmts.push(assign(slot, place));
        Expr::Var(slot)
    }

    /// The number of tiles of each iteration of the outermost loop, if a block can combine them in pairs.
    fn tiles_of_block(&self, cx: &mut Symbols<'_>, outermost: IndexVar) -> Option<i64> {
        let (first, rest) = self.tiles.tiles.split_first()?;
        let tiles = rest.iter().map(|&v| most_iterations(cx, v)).fold(int(1), mul);
        let Expr::Const(tiles) = tiles else { return None };
        let tiles = tiles.as_i64();
        let pairs = (2..=JOINED).contains(&tiles) && tiles.count_ones() == 1;
        (*first == outermost && pairs).then_some(tiles)
    }

    /// The largest number of tiles, and the number of carries of each.
    fn row(&self, cx: &mut Symbols<'_>, stmts: &mut Vec<Stmt>) -> Row {
        let product = |cx: &mut Symbols<'_>, loops: &[IndexVar]| {
            loops.iter().map(|&v| most_iterations(cx, v)).fold(int(1), mul)
        };
        let of_tiles = product(cx, &self.tiles.tiles);
        let beside = product(cx, &self.tiles.beside);
        let tiles = cx.temp("tiles");
        stmts.push(assign(tiles, of_tiles));
        let beside = match beside {
            Expr::Const(_) | Expr::Var(_) => beside,
            many => {
                let columns = cx.temp("columns");
                stmts.push(assign(columns, many));
                Expr::Var(columns)
            }
        };
        Row { tiles, beside }
    }

    /// Combines carries of `stride` tiles each, by blocks.
    fn joined_edges(&self, cx: &mut Symbols<'_>, row: &Row, stride: i64) -> Stmt {
        let block = cx.temp("block");
        let body = self.joining(cx, row, (stride, JOINED), block);
        let up = JOINED * stride;
        let hi = div(add(Expr::Var(row.tiles), int(up - 1)), int(up));
        Stmt::Parallel { unit: Unit::Block, var: block, lo: int(0), hi, combined: vec![], body }
    }

    /// Combines a block's share of carries of `stride` tiles each.
    fn joining(
        &self,
        cx: &mut Symbols<'_>,
        row: &Row,
        (stride, edges): (i64, i64),
        block: Var,
    ) -> Vec<Stmt> {
        let [half, thread, left, right] =
            ["half", "thread", "left", "right"].map(|name| cx.temp(name));
        let var = Expr::Var;
        let pairs = binary(BinaryOp::Div, int(edges / 2), var(half));
        let (pair, column) = match row.beside == int(1) {
            true => (var(thread), int(0)),
            false => (
                binary(BinaryOp::Div, var(thread), row.beside.clone()),
                binary(BinaryOp::Mod, var(thread), row.beside.clone()),
            ),
        };
        let first = add(mul(var(block), int(edges)), mul(mul(pair, int(2)), var(half)));
        let place =
            |tile: Expr| add(mul(mul(tile, int(stride)), row.beside.clone()), column.clone());
        let second = add(var(left), var(half));
        let [at, here, there] = ["at", "here", "there"].map(|name| cx.temp(name));
        let pair = self.pair(cx, at, var(here), var(there));
        let stmts = vec![
            assign(left, first),
            assign(right, second),
            when(
                lt(mul(var(right), int(stride)), var(row.tiles)),
                vec![
                    assign(here, place(var(left))),
                    assign(there, place(var(right))),
                    assign(at, load(self.places, var(there))),
                    when(binary(BinaryOp::Ge, var(at), int(0)), pair),
                ],
            ),
        ];
        let hi = mul(pairs, row.beside.clone());
        let threads = Stmt::Parallel {
            unit: Unit::Thread,
            var: thread,
            lo: int(0),
            hi,
            combined: vec![],
            body: stmts,
        };
        let double = assign(half, mul(var(half), int(2)));
        let cond = lt(var(half), int(edges));
        vec![assign(half, int(1)), Stmt::While { cond, body: vec![threads, double] }]
    }

    /// Combines the right carry with the left one if both have the same element; otherwise adds it to its element.
    fn pair(&self, cx: &mut Symbols<'_>, at: Var, left: Expr, right: Expr) -> Vec<Stmt> {
        let before = cx.temp("before");
        let edge = cx.loaded(self.edges, right);
        let zero = cx.zero();
        let mut moved = vec![store(self.places, left.clone(), Expr::Var(at))];
        moved.extend(self.edges.store(&left, edge.clone(), zero));
        let then = self.added(cx, self.edges, left.clone(), edge.clone());
        let otherwise = self.added(cx, self.target, Expr::Var(at), edge);
        let other = Stmt::If { cond: eq(Expr::Var(before), Expr::Var(at)), then, otherwise };
        vec![
            assign(before, load(self.places, left)),
            Stmt::If { cond: lt(Expr::Var(before), int(0)), then: moved, otherwise: vec![other] },
        ]
    }

    /// Combines the remaining carries, one after another.
    fn last_edges(&self, cx: &mut Symbols<'_>, row: &Row, stride: i64) -> Stmt {
        let beside = row.beside.clone();
        let tiles = div(add(Expr::Var(row.tiles), int(stride - 1)), int(stride));
        thread_per_tile(cx, beside.clone(), &mut |cx, column| {
            let (tile, at) = (cx.temp("tile"), cx.temp("at"));
            let place = add(mul(mul(Expr::Var(tile), int(stride)), beside.clone()), column);
            let edge = cx.loaded(self.edges, place.clone());
            let added = self.added(cx, self.target, Expr::Var(at), edge);
            let body = vec![
                assign(at, load(self.places, place)),
                when(binary(BinaryOp::Ge, Expr::Var(at), int(0)), added),
            ];
            vec![for_loop(tile, int(0), tiles.clone(), body)]
        })
    }
}

/// The largest trip count of a loop, over all iterations of surrounding loops.
fn most_iterations(cx: &mut Symbols<'_>, var: IndexVar) -> Expr {
    cx.size(var, &Scope::default())
}
