//! Prefix sums (inclusive scans) by threads of a GPU.
//!
//! ```text
//! for tile in .. on gpu_thread      sums[tile] = a[tile * 64] + .. + a[tile * 64 + 63]
//! sums of the sums                  in the same way, the last few by one thread
//! for tile in .. on gpu_thread      s = sums[tile - 1]; for k in tile  s = s + a[k]; a[k] = s
//! ```
//!
//! (Blelloch, Prefix sums and their applications, 1990, section 1.2: processors with several elements each.)

use crate::lower::symbols::Symbols;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::datatype::DataType;
use tamis_ir::ids::Array;
use tamis_ir::ir::build::{
    add, assign, binary, div, for_loop, int, load, lt, mul, store, sub, when,
};
use tamis_ir::ir::{Expr, Stmt, Unit};

/// The elements of a tile.
const TILE: i64 = 64;
/// The threads of a block.
const THREADS: i64 = 256;

/// An array to replace by its prefix sums.
pub(in crate::lower) struct Sums {
    pub(in crate::lower) array: Array,
    /// The number of elements.
    pub(in crate::lower) len: Expr,
    /// How many times sums of tiles are themselves summed in tiles.
    pub(in crate::lower) depth: usize,
}

/// `array[k] = array[0] + .. + array[k]` for each of `len` elements; a sum that does not fit ends the call.
/// Allocations are added to `before`.
pub(in crate::lower) fn scanned(
    cx: &mut Symbols<'_>,
    sums: Sums,
    before: &mut Vec<Stmt>,
) -> Vec<Stmt> {
    let Sums { array, len, depth } = sums;
    if depth == 0 {
        return running_sums(cx, array, vec![], int(0), len);
    }
    let name = cx.arrays[array].name.clone();
    let above = cx.common(&format!("{name}_sums"), DataType::I64);
    let tiles = cx.temp(&format!("{name}_tiles"));
    before.push(assign(tiles, div(add(len.clone(), int(TILE - 1)), int(TILE))));
    before.push(Stmt::Reserve { array: above, len: Expr::Var(tiles) });
    let (s, k) = (cx.temp("s"), cx.temp("k"));
    let sum = assign(s, add(Expr::Var(s), load(array, Expr::Var(k))));
    let mut stmts = vec![thread_per_tile(cx, Expr::Var(tiles), &mut |_, tile| {
        let (lo, hi) = within(&tile, &len);
        vec![
            assign(s, int(0)),
            for_loop(k, lo, hi, vec![sum.clone()]),
            store(above, tile, Expr::Var(s)),
        ]
    })];
    let of_tiles = Sums { array: above, len: Expr::Var(tiles), depth: depth - 1 };
    stmts.extend(scanned(cx, of_tiles, before));
    stmts.push(thread_per_tile(cx, Expr::Var(tiles), &mut |cx, tile| {
        let (lo, hi) = within(&tile, &len);
        let first = load(above, sub(tile.clone(), int(1)));
        running_sums(cx, array, vec![(lt(int(0), tile), first)], lo, hi)
    }));
    stmts
}

/// A thread per tile.
pub(in crate::lower) fn thread_per_tile(
    cx: &mut Symbols<'_>,
    tiles: Expr,
    body: &mut dyn FnMut(&mut Symbols<'_>, Expr) -> Vec<Stmt>,
) -> Stmt {
    let (block, thread, tile) = (cx.temp("block"), cx.temp("thread"), cx.temp("tile"));
    let before = mul(Expr::Var(block), int(THREADS));
    let mut inner = vec![assign(tile, add(before.clone(), Expr::Var(thread)))];
    inner.extend(body(cx, Expr::Var(tile)));
    let rest = binary(BinaryOp::Min, sub(tiles.clone(), before), int(THREADS));
    let parallel = |unit, var, hi, body| {
        let (lo, combined) = (int(0), vec![]);
        Stmt::Parallel { unit, var, lo, hi, combined, body }
    };
    let threads = parallel(Unit::Thread, thread, rest, inner);
    let blocks = div(add(tiles, int(THREADS - 1)), int(THREADS));
    parallel(Unit::Block, block, blocks, vec![threads])
}

/// The running sums of a range; under conditions, starting from an earlier sum.
fn running_sums(
    cx: &mut Symbols<'_>,
    array: Array,
    before: Vec<(Expr, Expr)>,
    lo: Expr,
    hi: Expr,
) -> Vec<Stmt> {
    let (s, k) = (cx.temp("s"), cx.temp("k"));
    let mut each = vec![assign(s, add(Expr::Var(s), load(array, Expr::Var(k))))];
    each.extend(cx.check_position(array, Expr::Var(s)));
    each.push(store(array, Expr::Var(k), Expr::Var(s)));
    let mut stmts = vec![assign(s, int(0))];
    stmts.extend(before.into_iter().map(|(cond, sum)| when(cond, vec![assign(s, sum)])));
    stmts.push(for_loop(k, lo, hi, each));
    stmts
}

/// The elements of a tile.
fn within(tile: &Expr, len: &Expr) -> (Expr, Expr) {
    let lo = mul(tile.clone(), int(TILE));
    let hi = binary(BinaryOp::Min, add(lo.clone(), int(TILE)), len.clone());
    (lo, hi)
}
