//! Passes from imperative form to imperative form; each is one pure function in one file.

mod affine;
mod branchless;
mod copies;
mod loops;
mod memory;
#[cfg(test)]
mod random;
mod registers;
mod simplify;
mod vector;

pub use vector::vectorize::{Obstacle, obstacle};

use crate::ids::Var;
use crate::ir::build::{add, assign, div, for_loop, int, mul, sub};
use crate::ir::verify::assert_valid;
use crate::ir::{Expr, Function, Stmt, Type};
use branchless::merge::branchless_merges;
use loops::defer_overflow::defer_overflow;
use loops::fuse_init::fuse_init;
use loops::guard_empty::guard_empty;
use loops::hoist_invariants::hoist_invariants;
use loops::position_loops::position_loops;
use loops::reserve_once::reserve_once;
use loops::sink_flags::sink_flags;
use loops::split_by_parent::split_by_parent;
use loops::strip_mine::strip_mine;
use loops::unroll::unroll;
use loops::unswitch::unswitch;
use memory::loads_first::loads_first;
use memory::nontemporal::nontemporal;
use memory::prefetch::prefetch;
use memory::slice_workspaces::slice_workspaces;
use registers::forward_stores::forward_stores;
use registers::promote_elements::promote_elements;
use registers::promote_rows::promote_rows;
use simplify::simplify;
use std::collections::BTreeSet;
use vector::batch_functions::batch_functions;
use vector::privatize_sums::privatize_sums;
use vector::register_tile::register_tile;
use vector::split_accumulators::split_accumulators;
use vector::split_vectors::split_vectors;
use vector::unroll_and_jam::unroll_and_jam;
use vector::unroll_twice::unroll_twice;
use vector::vectorize::vectorize;

/// Facts about the machine that will run the function, for the passes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Target {
    /// The bytes of a vector register; with 0, code stays scalar except for vectors that decide the bits of sums.
    pub vector_bytes: u16,
    /// How many vector registers hold the accumulators of a tile.
    pub tile_registers: u16,
    /// Whether to hoist loads out of loops, since no later compiler does.
    pub hoists: bool,
    /// Whether to add prefetch hints.
    pub prefetches: bool,
    /// Whether threads of a GPU run it, which have no vectors.
    pub gpu: bool,
}

impl Target {
    /// Scalar code: best for the interpreter, and for people to read.
    pub const SCALAR: Target =
        Target { vector_bytes: 0, tile_registers: 0, hoists: false, prefetches: false, gpu: false };

    /// Code for the threads of a GPU.
    pub const GPU: Target = Target { gpu: true, ..Target::SCALAR };
}

/// A pass.
pub type Pass = fn(Function, Target) -> Function;

/// All passes in order, under their names.
///
/// Sums are split the same way for every processor, since that decides their bits; tiles keep each
/// element's order of additions, so they may differ between targets.
pub const PASSES: [(&str, Pass); 28] = [
    ("defer-overflow", |f, _| defer_overflow(f)),
    ("sink-flags", |f, _| sink_flags(f)),
    ("fuse-init", |f, _| fuse_init(f)),
    ("position-loops", |f, _| position_loops(f)),
    ("batch-functions", batch_functions),
    ("strip-mine", strip_mine),
    ("unswitch", |f, _| unswitch(f)),
    ("guard-empty", guard_empty),
    ("unroll", |f, _| unroll(f)),
    ("split-by-parent", |f, _| split_by_parent(f)),
    ("promote-elements", |f, _| promote_elements(f)),
    ("privatize-sums", privatize_sums),
    ("split-accumulators", split_accumulators),
    ("vectorize", vectorize),
    ("promote-rows", promote_rows),
    ("register-tile", register_tile),
    ("branchless-merges", branchless_merges),
    ("reserve-once", |f, _| reserve_once(f)),
    ("nontemporal", |f, _| nontemporal(f)),
    ("prefetch", prefetch),
    ("unroll-and-jam", unroll_and_jam),
    ("unroll-twice", unroll_twice),
    ("split-vectors", split_vectors),
    ("loads-first", loads_first),
    ("forward-stores", |f, _| forward_stores(f)),
    ("slice-workspaces", slice_workspaces),
    ("simplify", |f, _| simplify(f)),
    ("hoist-invariants", hoist_invariants),
];

/// Runs all passes.
pub fn transform(function: Function, target: Target) -> Function {
    PASSES.into_iter().fold(function, |function, (name, pass)| {
        let function = pass(function, target);
        assert_valid(&function, name);
        function
    })
}

/// A block with `f` applied to each statement, outermost first. If `f` returns nothing, the statement's own blocks are
/// visited.
fn rewrite(block: Vec<Stmt>, f: &mut impl FnMut(&Stmt) -> Option<Vec<Stmt>>) -> Vec<Stmt> {
    let mut out = vec![];
    for s in block {
        match f(&s) {
            Some(new) => out.extend(new),
            None => out.push(s.map_children(&mut |e| e, &mut |b| rewrite(b, f))),
        }
    }
    out
}

/// Calls `f` on each statement of a block and of the blocks in it.
fn for_each(block: &[Stmt], f: &mut dyn FnMut(&Stmt)) {
    for s in block {
        f(s);
        s.blocks().for_each(|b| for_each(b, f));
    }
}

/// Splits `for var in lo..hi { body }` into a loop of several iterations per step and a loop of the remaining ones;
/// `several` is the code of several iterations.
fn by_iterations(
    function: &mut Function,
    (var, lo, hi): (Var, &Expr, &Expr),
    (iterations, several): (i64, Vec<Stmt>),
    body: &[Stmt],
) -> Vec<Stmt> {
    let name = function.vars[var].name.clone();
    let [begin, end, mid] = ["first", "hi", "mid"]
        .map(|suffix| fresh(function, &format!("{name}_{suffix}"), Type::INDEX));
    let (from, to, middle) = (Expr::Var(begin), Expr::Var(end), Expr::Var(mid));
    let count = div(sub(to.clone(), from.clone()), int(iterations));
    vec![
        assign(begin, lo.clone()),
        assign(end, hi.clone()),
        assign(mid, add(from.clone(), mul(count, int(iterations)))),
        Stmt::For { var, lo: from, hi: middle.clone(), step: iterations, body: several },
        for_loop(var, middle, to, body.to_vec()),
    ]
}

/// A new variable with a unique name.
fn fresh(function: &mut Function, name: &str, ty: Type) -> Var {
    let unique = unused(function, name);
    function.vars.push(crate::ir::VarDecl::new(&unique, ty))
}

/// A unique name.
fn unused(function: &Function, name: &str) -> String {
    let vars = function.vars.iter().map(|v| v.name.as_str());
    let names = vars.chain(function.arrays.iter().map(|a| a.name.as_str()));
    // The numbers behind names with the same beginning; the name itself counts as the first.
    let number = |other: &str| match other.strip_prefix(name)? {
        "" => Some(1),
        rest => rest.strip_prefix('_')?.parse::<u32>().ok(),
    };
    let taken: BTreeSet<u32> = names.filter_map(number).collect();
    match (1..).find(|k| !taken.contains(k)) {
        Some(1) | None => name.to_owned(),
        Some(k) => format!("{name}_{k}"),
    }
}
