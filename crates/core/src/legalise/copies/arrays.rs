//! Copies hash maps into arrays, where loops do so many lookups that an array is cheaper.
//!
//! ```text
//! y(i) = A(i,j) * x(j)             A: csr, 1,000,000 entries     x: hash, 10,000 of 20,000 coordinates
//!
//! forall(j, x_located(j) = x(j))                                 x_located: bitmap
//! ```
//!
//! The loops stay the same: a lookup by a hash of the coordinate becomes one by the coordinate. The number of lookups
//! is counted in the plan of the kernel.

use super::bitmap::MOST_PLACES;
use super::in_order::replace;
use crate::cin::terms::Sizes;
use crate::cin::{Kernel, Role};
use crate::format::Format;
use crate::legalise::cost::unpredicted;
use crate::legalise::statistics::DIMENSION;
use crate::legalise::weights::{CONVERT, HASH};
use crate::legalise::{Context, Legaliser};
use crate::level::{BITMAP, DENSE, HASHED, LevelKind};
use crate::notation::{Access, Expr};
use crate::plan::{Node, plan};
use crate::steps::looks;
use tamis_ir::ids::IndexVar;

/// An array with the entries of a hash map.
pub(in crate::legalise) struct Array {
    format: Format,
    /// The variables of its levels.
    vars: Vec<IndexVar>,
    /// The cost of filling it.
    pub(in crate::legalise) cost: f64,
    /// The cost of a lookup.
    pub(in crate::legalise) look: f64,
}

/// The array into which an operand may be copied, if one of its levels is a hash map and all of them locate
/// coordinates.
pub(in crate::legalise) fn array_of(cx: &Context<'_>, access: &Access) -> Option<Array> {
    let entries = cx.known_entries(access)? as f64;
    let levels = cx.program.storage(access.tensor).format.levels();
    let locates = |kind: LevelKind| [DENSE, BITMAP, HASHED].contains(&kind);
    let is_plain = levels.iter().all(|level| locates(level.kind) && level.stores_mode());
    let is_free = !cx.request.commands.given && !access.is_diagonal() && !access.is_sliced();
    let vars = cx.level_vars(access);
    let size = |v: &IndexVar| cx.known_dimension(*v).map(|d| d as f64);
    let places = vars.iter().map(size).product::<Option<f64>>()?;
    let has_map = levels.iter().any(|level| level.kind == HASHED);
    if !(has_map && is_plain && is_free && places <= MOST_PLACES) {
        return None;
    }
    // A single mask marks the entries.
    let last = levels.iter().rposition(|level| level.kind != DENSE)?;
    let kinds = (0..levels.len()).map(|k| if k == last { BITMAP } else { DENSE });
    let (format, cost) = (Format::in_order(kinds), CONVERT * (places + entries));
    let look = 1.0 + unpredicted(entries / places.max(1.0));
    Some(Array { format, vars, cost, look })
}

/// The kernel, reading arrays where lookups in hash maps would cost more.
pub(in crate::legalise) fn with_arrays(l: &mut Legaliser<'_>, mut kernel: Kernel) -> Kernel {
    for access in looked_up(l, &kernel) {
        let Some(Array { format, vars, .. }) = array_of(l, &access) else { continue };
        let before = l.program.clone();
        let name = format!("{}_located", l.program.tensors[access.tensor].name);
        let source = Expr::Access(access.clone());
        let copy = l.temporary(&name, Some(format), vars, source, kernel.compute);
        l.declare_uses(&copy);
        let body = kernel.body.clone().map_exprs(&mut |e| replace(e, &access, &copy));
        let other = Kernel { body, ..kernel.clone() };
        let Expr::Access(Access { tensor, .. }) = copy else { continue };
        match plan(&l.program, &other).root.is_some_and(|root| root.walks(tensor)) {
            true => l.restore(before),
            false => kernel = other,
        }
    }
    kernel
}

/// The operands to copy into arrays.
fn looked_up(cx: &Context<'_>, kernel: &Kernel) -> Vec<Access> {
    let mut read: Vec<Access> = vec![];
    for access in kernel.body.reads() {
        let is_given = !matches!(cx.program.tensors[access.tensor].role, Role::Register(_));
        if is_given && access.tensor != kernel.result && !read.contains(access) {
            read.push(access.clone());
        }
    }
    let is_known = |a: &Access| cx.is_full(a) || cx.known_entries(a).is_some();
    if !read.iter().any(|a| array_of(cx, a).is_some()) || !read.iter().all(is_known) {
        return vec![];
    }
    let stored = |tensor| {
        let access = read.iter().find(|a| a.tensor == tensor)?;
        cx.known_entries(access)
    };
    let dimension = |var| cx.known_dimension(var).unwrap_or(DIMENSION as u64);
    let sizes = Sizes { dimension: &dimension, stored: &stored };
    let plan = plan(&cx.program, kernel);
    // The number of coordinates of a walked mask is unknown.
    let is_masked = |a: &Access| {
        let levels = cx.program.storage(a.tensor).format.levels();
        let walks = |root: &Node| root.walks(a.tensor);
        levels.iter().any(|level| level.kind == BITMAP) && plan.root.as_ref().is_some_and(walks)
    };
    if read.iter().any(is_masked) {
        return vec![];
    }
    let counted = looks(&cx.program, &plan, &sizes);
    let pays = |a: &Access| {
        let looks = counted.get(&a.tensor).copied().unwrap_or(0.0);
        array_of(cx, a).is_some_and(|array| array.cost + looks < HASH * looks)
    };
    read.retain(pays);
    read
}
