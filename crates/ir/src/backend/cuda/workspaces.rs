//! The memory of kernels' workspaces.
//!
//! ```text
//! w inside of a loop over threads       double w_vals[8];                    of each thread, in registers
//! the same, at indices that are not     __shared__ double tamis_w_vals[2304];
//!   known before it runs                double *const w_vals = tamis_w_vals + threadIdx.x * 9;
//! w in a loop over blocks, its          __shared__ double w_vals[512];       of the block
//!   threads inside
//! the same in a loop over warps         __shared__ double tamis_w_vals[256];
//!                                       double *const w_vals = tamis_w_vals + threadIdx.x / 32 * 32;
//! ```

use super::shape::{Shape, surely_most};
use crate::backend::c::types::element;
use crate::datatype::Register;
use crate::ids::{Array, Var};
use crate::ir::flow::arrays;
use crate::ir::parallel::owners;
use crate::ir::{ArrayDecl, ArrayRole, Expr, Function, Stmt, Unit};
use std::collections::{BTreeMap, BTreeSet};

/// The largest number of elements of an array that a thread holds in registers.
const MOST_HELD: i64 = 64;
/// The bytes of shared memory that a block has by default.
const MOST_SHARED: i64 = 48 << 10;
/// The part of these for a block's sum: a number of 8 bytes for each warp.
const BLOCK_SUM: i64 = 32 * 8;

/// The workspaces of a function, and their numbers of elements.
#[derive(Clone, Default)]
pub(super) struct Workspaces {
    /// Arrays that every thread has for itself.
    pub(super) held: BTreeMap<Array, i64>,
    /// Arrays that the threads of a block, or of each warp, share; within a kernel also arrays of single threads in
    /// memory of their block.
    pub(super) shared: BTreeMap<Array, (Unit, i64)>,
}

impl Workspaces {
    /// Memory for the workspaces of a function; or why one has none.
    pub(super) fn of(function: &Function) -> Result<Workspaces, String> {
        let mut workspaces = Workspaces::default();
        let is_local = |&(_, a): &(Array, &ArrayDecl)| a.role == ArrayRole::Local;
        for (array, _) in function.arrays.enumerate().filter(is_local) {
            workspaces.place(function, array)?;
        }
        Ok(workspaces)
    }

    fn place(&mut self, function: &Function, array: Array) -> Result<(), String> {
        let name = &function.arrays[array].name;
        let Some(len) = longest(&function.body, array, &function.body) else {
            return Err(format!("{name} has no constant size"));
        };
        let owners = owners(&function.body, array);
        let unit = owners.first().and_then(|owner| owner.unit);
        if owners.iter().any(|owner| owner.unit != unit) {
            return Err(format!("{name} belongs to other units in each of its loops"));
        }
        let shared = owners.iter().any(|owner| owner.shared);
        match unit {
            Some(unit @ (Unit::Block | Unit::Warp)) if shared || len > MOST_HELD => {
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

    /// Whether an array has memory.
    pub(super) fn have(&self, array: &Array) -> bool {
        self.held.contains_key(array) || self.shared.contains_key(array)
    }

    /// The units that have the shared ones.
    pub(super) fn owners(&self) -> BTreeMap<Array, Unit> {
        self.shared.iter().map(|(&array, &(unit, _))| (array, unit)).collect()
    }

    /// The addresses in a kernel; fails if shared arrays are too large. Remaining shared memory is for arrays of
    /// single threads that do not fit registers.
    pub(super) fn fitted(
        &self,
        function: &Function,
        s: &Stmt,
        shape: Shape,
    ) -> Result<Workspaces, String> {
        let mut used = vec![];
        arrays(s, &mut used);
        let shared = self.shared.iter().filter(|(array, _)| used.contains(array));
        let (mut bytes, mut names) = (0_i64, vec![]);
        let size = |array: Array, unit: Unit, len: i64| {
            let elements = stride(unit, len).saturating_mul(copies(unit, shape));
            elements.saturating_mul(function.arrays[array].elem.size() as i64)
        };
        for (&array, &(unit, len)) in shared {
            bytes = bytes.saturating_add(size(array, unit, len));
            names.push(function.arrays[array].name.clone());
        }
        let most = MOST_SHARED - BLOCK_SUM * sums(function, s).len() as i64;
        if bytes > most {
            return Err(format!(
                "{} would take {bytes} bytes of the {most} that the threads of a block share: split \
                 loops into smaller tiles",
                names.join(" and ")
            ));
        }
        let mut fitted = self.clone();
        for (&array, &len) in self.held.iter().filter(|(array, _)| used.contains(array)) {
            let owners = owners(&function.body, array);
            let own = owners.iter().any(|owner| owner.unit == Some(Unit::Thread));
            let bytes_of = size(array, Unit::Thread, len);
            if own && bytes_of <= most - bytes && !is_at_constants(s, array, &mut vec![]) {
                bytes += bytes_of;
                fitted.held.remove(&array);
                fitted.shared.insert(array, (Unit::Thread, len));
            }
        }
        Ok(fitted)
    }

    /// The declarations of used arrays, with their names.
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
            let stride = stride(unit, len);
            let (all, width) = (stride * copies(unit, shape), shape.width);
            let which = match unit {
                Unit::Thread => "threadIdx.x".to_owned(),
                _ => format!("threadIdx.x / {width}"),
            };
            out.push(format!("__shared__ {elem} tamis_{name}[{all}];"));
            out.push(format!("{elem} *const {name} = tamis_{name} + {which} * {stride};"));
        }
        out
    }
}

/// The number of such units in a block.
fn copies(unit: Unit, shape: Shape) -> i64 {
    match unit {
        Unit::Core | Unit::Block => 1,
        Unit::Warp => shape.threads / shape.width,
        Unit::Thread => shape.threads,
    }
}

/// The distance between copies. Between threads it is odd, so that threads in lockstep do not access the same bank.
fn stride(unit: Unit, len: i64) -> i64 {
    if unit == Unit::Thread { len | 1 } else { len }
}

/// The largest length of an array, if constants determine it.
fn longest(block: &[Stmt], array: Array, body: &[Stmt]) -> Option<i64> {
    let mut most = 0;
    for s in block {
        if let Stmt::Reserve { array: a, len } = s
            && *a == array
        {
            most = most.max(at_most(len, body)?);
        }
        for inner in s.blocks() {
            most = most.max(longest(inner, array, body)?);
        }
    }
    Some(most)
}

/// The upper limit of an expression, or of the values assigned to a variable.
fn at_most(e: &Expr, body: &[Stmt]) -> Option<i64> {
    match e {
        Expr::Var(var) => {
            let mut most = None;
            for value in values(body, *var) {
                most = Some(surely_most(value, &[])?.max(most.unwrap_or(0)));
            }
            most
        }
        e => surely_most(e, &[]),
    }
}

/// The values assigned to a variable in a block.
fn values(block: &[Stmt], var: Var) -> Vec<&Expr> {
    let mut found = vec![];
    for s in block {
        match s {
            Stmt::Assign { var: v, value } if *v == var => found.push(value),
            s => s.blocks().for_each(|b| found.extend(values(b, var))),
        }
    }
    found
}

/// Whether compilers know the indices at which an array is used, once they have unrolled `loops`.
fn is_at_constants(s: &Stmt, array: Array, loops: &mut Vec<Var>) -> bool {
    let is_known = |e: &Expr| {
        let mut known = true;
        e.walk(&mut |e| {
            known &= match e {
                Expr::Var(v) => loops.contains(v),
                Expr::Load { .. } => false,
                _ => true,
            };
        });
        known
    };
    let mut known = match s {
        Stmt::Store { array: a, index, .. } | Stmt::Update { array: a, index, .. } => {
            *a != array || is_known(index)
        }
        Stmt::Fill { array: a, lo, hi, .. } => *a != array || is_known(lo) && is_known(hi),
        _ => true,
    };
    for e in s.exprs() {
        e.walk(&mut |e| {
            if let Expr::Load { array: a, index, .. } = e {
                known &= *a != array || is_known(index);
            }
        });
    }
    let depth = loops.len();
    if let Stmt::For { var, lo: Expr::Const(_), hi: Expr::Const(_), .. } = s {
        loops.push(*var);
    }
    let known = known && s.blocks().flatten().all(|s| is_at_constants(s, array, loops));
    loops.truncate(depth);
    known
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

#[cfg(test)]
mod tests {
    use crate::ir::parse::parse;

    /// The text of a function with a workspace of `len` elements, and this body in a loop over blocks.
    fn text(len: &str, body: &str) -> String {
        let function = parse(&format!(
            "fn f(n: i64, x: in [i64], y: shared [i64]) {{\n  local w: [i64]\n  \
             var b, v, t, u, i: i64\n  reserve w, {len}\n  for b in 0..n on gpu_block {{\n{body}\n  \
             }}\n}}\n"
        ));
        crate::backend::cuda::emit(&[&function.unwrap()])
    }

    /// Why such a function cannot run on a GPU.
    fn refused(len: &str, body: &str) -> String {
        let text = format!(
            "fn f(n: i64, x: in [i64], y: shared [i64]) {{\n  local w: [i64]\n  \
             var b, t, u: i64\n  reserve w, {len}\n  for b in 0..n on gpu_block {{\n{body}\n  }}\n}}\n"
        );
        super::super::plan::steps(&parse(&text).unwrap()).err().unwrap()
    }

    const TOGETHER: &str = "for t in 0..64 on gpu_thread {\n w[t] = x[t]\n }\n \
        for u in 0..64 on gpu_thread {\n y[b * 64 + u] = w[63 - u]\n }";

    fn alone(at: &str) -> String {
        format!(
            "for t in 0..64 on gpu_thread {{\n for i in 0..4 {{\n w[i] = x[i]\n }}\n \
             y[b * 64 + t] = w[{at}]\n }}"
        )
    }

    #[test]
    fn what_threads_share_is_of_their_block_or_warp() {
        assert!(text("64", TOGETHER).contains("__shared__ int64_t w[64];"));
        let warps = TOGETHER.replace("64 on", "8 on");
        let warps = format!("for v in 0..4 on gpu_warp {{\n {} }}", warps.replace("y[b", "y[v"));
        let cuda = text("64", &warps);
        assert!(cuda.contains("__shared__ int64_t tamis_w[256];"), "{cuda}");
        assert!(cuda.contains("*const w = tamis_w + threadIdx.x / 8 * 64;"), "{cuda}");
        assert!(text("min(n, 64)", TOGETHER).contains("__shared__ int64_t w[64];"));
    }

    #[test]
    fn what_a_thread_has_is_in_registers_where_these_can_be_named() {
        assert!(text("4", &alone("3")).contains("  int64_t w[4];"));
        let cuda = text("4", &alone("x[t]"));
        assert!(cuda.contains("__shared__ int64_t tamis_w[320];"), "{cuda}");
        assert!(cuda.contains("*const w = tamis_w + threadIdx.x * 5;"), "{cuda}");
        // The block's memory has no room for this many.
        let many = alone("x[t]").replace("0..64", "0..256");
        assert!(text("64", &many).contains("  int64_t w[64];"));
    }

    #[test]
    fn loops_may_not_disagree_on_an_owner() {
        let alone = "for t in 0..64 on gpu_thread {\n w[0] = x[t]\n y[b * 64 + t] = w[0]\n }";
        let two = format!("{TOGETHER}\n }}\n for b in 0..n on gpu_block {{\n {alone}");
        assert_eq!(refused("64", &two), "w belongs to other units in each of its loops");
        let again = format!("{TOGETHER}\n }}\n for b in 0..n on gpu_block {{\n {TOGETHER}");
        assert_eq!(text("64", &again).matches("__shared__ int64_t w[64];").count(), 2);
    }

    #[test]
    fn what_is_too_large_or_of_no_known_size_is_told() {
        assert_eq!(refused("n", TOGETHER), "w has no constant size");
        let large = "w would take 56000 bytes of the 49152 that the threads of a block share: split loops \
                     into smaller tiles";
        assert_eq!(refused("7000", TOGETHER), large);
        let alone = "for t in 0..64 on gpu_thread {\n w[t] = 1\n y[b * 64 + t] = w[t]\n }";
        let many = "w has more than 64 elements, too many for each thread";
        assert_eq!(refused("65", alone), many);
    }
}
