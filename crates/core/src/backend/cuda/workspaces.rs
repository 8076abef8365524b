//! Where the workspaces of kernels live.
//!
//! ```text
//! w inside of a loop over threads       double w_vals[8];                    of each thread, in registers
//! w in a loop over blocks, its          __shared__ double w_vals[512];       of the block
//!   threads inside
//! the same in a loop over warps         __shared__ double tamis_w_vals[256];
//!                                       double *const w_vals = tamis_w_vals + threadIdx.x / 32 * 32;
//! ```

use super::shape::Shape;
use crate::backend::c::types::element;
use crate::datatype::{Register, Scalar};
use crate::ids::Array;
use crate::ir::flow::arrays;
use crate::ir::parallel::owner;
use crate::ir::{Expr, Function, Stmt, Unit};
use std::collections::{BTreeMap, BTreeSet};

/// The most elements of an array that a thread holds for itself.
const MOST_HELD: i64 = 64;
/// The bytes that the threads of a block can share without being asked at run time.
const MOST_SHARED: i64 = 48 << 10;
/// What a block's sum takes of them: a number of 8 bytes for each warp.
const BLOCK_SUM: i64 = 32 * 8;

/// The workspaces of a function, and how many elements they have.
#[derive(Clone, Default)]
pub(super) struct Workspaces {
    /// Every thread has one for itself.
    pub(super) held: BTreeMap<Array, i64>,
    /// The threads of a block, or of each warp, have one together.
    pub(super) shared: BTreeMap<Array, (Unit, i64)>,
}

impl Workspaces {
    /// Finds a place for a workspace; or why there is none.
    pub(super) fn place(
        &mut self,
        function: &Function,
        array: Array,
        len: &Expr,
    ) -> Result<(), String> {
        let name = &function.arrays[array].name;
        let Expr::Const(Scalar::I64(len)) = *len else {
            return Err(format!("{name} has no constant size"));
        };
        let owner = owner(&function.body, array);
        match owner.unit {
            Some(unit @ (Unit::Block | Unit::Warp)) if owner.shared || len > MOST_HELD => {
                self.shared.insert(array, (unit, len));
            }
            _ if len <= MOST_HELD => {
                self.held.insert(array, len);
            }
            _ => {
                return Err(format!(
                    "{name} has more than {MOST_HELD} elements, too many for each thread"
                ));
            }
        }
        Ok(())
    }

    /// Whether an array has a place.
    pub(super) fn have(&self, array: &Array) -> bool {
        self.held.contains_key(array) || self.shared.contains_key(array)
    }

    /// The units that have the shared ones.
    pub(super) fn owners(&self) -> BTreeMap<Array, Unit> {
        self.shared.iter().map(|(&array, &(unit, _))| (array, unit)).collect()
    }

    /// Fails if what the threads of a block share in a kernel is too large.
    pub(super) fn fit(&self, function: &Function, s: &Stmt, shape: Shape) -> Result<(), String> {
        let mut used = vec![];
        arrays(s, &mut used);
        let shared = self.shared.iter().filter(|(array, _)| used.contains(array));
        let (mut bytes, mut names) = (0_i64, vec![]);
        for (&array, &(unit, len)) in shared {
            let decl = &function.arrays[array];
            let size = len.saturating_mul(copies(unit, shape));
            bytes = bytes.saturating_add(size.saturating_mul(decl.elem.size() as i64));
            names.push(decl.name.clone());
        }
        let most = MOST_SHARED - BLOCK_SUM * sums(function, s).len() as i64;
        if bytes <= most {
            return Ok(());
        }
        Err(format!(
            "{} would take {bytes} bytes of the {most} that the threads of a block share: split \
             loops into smaller tiles",
            names.join(" and ")
        ))
    }

    /// The declarations of those that are used, with their names.
    pub(super) fn declared(
        &self,
        function: &Function,
        shape: Shape,
        used: &[Array],
        name: &dyn Fn(Array) -> String,
    ) -> Vec<String> {
        let elem = |array: Array| element(function.arrays[array].elem);
        let of = |array: &&Array| used.contains(array);
        let mut out = vec![];
        for &array in self.held.keys().filter(of) {
            let len = self.held[&array].max(1);
            out.push(format!("{} {}[{len}];", elem(array), name(array)));
        }
        for &array in self.shared.keys().filter(of) {
            let (unit, len) = self.shared[&array];
            let (elem, name, len) = (elem(array), name(array), len.max(1));
            if unit == Unit::Block {
                out.push(format!("__shared__ {elem} {name}[{len}];"));
                continue;
            }
            let (all, width) = (len * copies(unit, shape), shape.width);
            out.push(format!("__shared__ {elem} tamis_{name}[{all}];"));
            out.push(format!(
                "{elem} *const {name} = tamis_{name} + threadIdx.x / {width} * {len};"
            ));
        }
        out
    }
}

/// How many of its kind a block has.
fn copies(unit: Unit, shape: Shape) -> i64 {
    if unit == Unit::Warp { shape.threads / shape.width } else { 1 }
}

/// The kinds of sums over the threads of a block.
fn sums(function: &Function, s: &Stmt) -> BTreeSet<(String, Register)> {
    let mut found = BTreeSet::new();
    match s {
        Stmt::Parallel { unit: Unit::Warp, .. } => return found,
        Stmt::Parallel { combined, .. } => {
            let kind = |v| function.vars[v].ty.register;
            found.extend(combined.iter().map(|c| (format!("{:?}", c.op), kind(c.var))));
        }
        _ => {}
    }
    s.blocks().flatten().for_each(|s| found.extend(sums(function, s)));
    found
}
