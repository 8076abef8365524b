//! How the kernels of a function are launched: their arguments, and the arrays to allocate after them.
//!
//! ```text
//! compute_y_1(A1_size, tamis_lengths)       y_at, y_edge are allocated after it, unless the host knows their lengths
//! compute_y_2(A2_pos, A1_size, pA1_begins)  writes a table that depends on A2_pos alone
//! ```

use super::kernel::needed;
use super::plan::{Kind, Step, changed, fails, kernel_name, steps};
use crate::algebra::BinaryOp;
use crate::backend::c::names;
use crate::ids::{Array, Id, Var};
use crate::ir::build::{add, binary, div, int, sub};
use crate::ir::flow::arrays;
use crate::ir::number::Used;
use crate::ir::{ArrayRole, Expr, Function, Param, Stmt, Unit};
use std::collections::BTreeSet;

/// The kernels of a function, in the order in which they run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Kernels {
    /// One after another.
    pub launches: Vec<Launch>,
    /// Arrays that they share.
    pub common: Vec<Array>,
}

/// How a kernel is launched.
#[derive(Clone, PartialEq, Debug)]
pub struct Launch {
    /// Its name in the text.
    pub name: String,
    /// The threads of each block.
    pub threads: u32,
    /// Whether any number of blocks may run it, instead of exactly one.
    pub many: bool,
    /// The number of blocks with work: assignments, and an expression in terms of these. `None` if it depends on more.
    pub blocks: Option<(Vec<Stmt>, Expr)>,
    /// Its arguments, in order.
    pub arguments: Vec<LaunchArgument>,
    /// Arrays to allocate after it; it writes their lengths one behind the other.
    pub reserves: Vec<Array>,
    /// The statements that compute these lengths, which the host may run as well: see [`lengths`](super::lengths()).
    pub lengths: Vec<Stmt>,
    /// The table that it writes, if the table depends on operands alone: for later kernels and other calls.
    pub table: Option<Table>,
}

/// An argument of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaunchArgument {
    /// A parameter of the function, by its value.
    Scalar(Var),
    /// An array of the function, by its address.
    Array(Array),
    /// The address of an `int` that gets the status if the kernel fails.
    Status,
    /// The address of 64-bit integers for the lengths of arrays.
    Lengths,
}

/// Arrays that kernels share, filled by one of them from operands alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// The arrays.
    pub arrays: Vec<Array>,
    /// The operands' arrays that are read.
    pub inputs: Vec<Array>,
}

impl Launch {
    /// Whether the kernel may end the call.
    pub fn fails(&self) -> bool {
        self.arguments.contains(&LaunchArgument::Status)
    }
}

/// How a function runs on a GPU; or the reason, in words, why it runs on the host.
pub fn kernels(functions: &[&Function]) -> Vec<Result<Kernels, String>> {
    let names = names::functions(functions);
    let of = |(function, name): (&&Function, String)| {
        let steps = steps(function)?;
        let launches = steps.iter().enumerate().map(|(k, step)| Launch {
            name: kernel_name(&name, k),
            threads: step.shape.threads as u32,
            many: matches!(step.kind, Kind::Grid | Kind::Fill),
            blocks: blocks(step),
            arguments: arguments(function, step),
            reserves: step.reserves(),
            lengths: if step.kind == Kind::Lengths { needed(step) } else { vec![] },
            table: table(function, &steps, k),
        });
        Ok(Kernels { launches: launches.collect(), common: common(function) })
    };
    functions.iter().zip(names).map(of).collect()
}

/// The number of blocks with work, over all loops over blocks and filled arrays.
fn blocks(step: &Step) -> Option<(Vec<Stmt>, Expr)> {
    let (mut before, mut counts) = (vec![], vec![]);
    for s in needed(step) {
        match s {
            Stmt::Assign { .. } => before.push(s),
            Stmt::Parallel { unit: Unit::Block, lo, hi, .. } => counts.push(sub(hi, lo)),
            Stmt::Fill { lo, hi, .. } if step.kind == Kind::Fill => {
                let threads = step.shape.threads;
                counts.push(div(add(sub(hi, lo), int(threads - 1)), int(threads)));
            }
            Stmt::Comment(_) => {}
            _ => return None,
        }
    }
    let most = counts.into_iter().reduce(|a, b| binary(BinaryOp::Max, a, b))?;
    Some((before, most))
}

/// The arguments of a kernel: those parameters of the function and shared arrays that it uses, then the addresses of
/// what the host reads.
pub(super) fn arguments(function: &Function, step: &Step) -> Vec<LaunchArgument> {
    let body = needed(step);
    let mut used = Used::none(function.vars.len(), function.arrays.len());
    used.block(&body);
    let mut touched = vec![];
    body.iter().for_each(|s| arrays(s, &mut touched));
    let named = step.reserves();
    let is_used = |array: &Array| {
        let count = |list: &[Array]| list.iter().filter(|a| *a == array).count();
        count(&touched) > count(&named)
    };
    let mut arguments = vec![];
    for param in &function.params {
        match param {
            Param::Scalar(v) if used.vars[v.index()] => arguments.push(LaunchArgument::Scalar(*v)),
            Param::Array(array) if is_used(array) => arguments.push(LaunchArgument::Array(*array)),
            _ => {}
        }
    }
    arguments.extend(common(function).into_iter().filter(is_used).map(LaunchArgument::Array));
    arguments.extend(fails(&body).then_some(LaunchArgument::Status));
    arguments.extend((!named.is_empty()).then_some(LaunchArgument::Lengths));
    arguments
}

/// The arrays that kernels of a function share.
fn common(function: &Function) -> Vec<Array> {
    let arrays = function.arrays.enumerate();
    arrays.filter(|(_, a)| a.role == ArrayRole::Common).map(|(id, _)| id).collect()
}

/// The table that a kernel writes, if it depends on operands alone and no other kernel writes to it.
fn table(function: &Function, steps: &[Step], k: usize) -> Option<Table> {
    let is = |array: &Array, role: ArrayRole| function.arrays[*array].role == role;
    let step = &steps[k];
    let own: BTreeSet<Array> = step.own.iter().flat_map(changed).collect();
    let others = (0..steps.len()).filter(|&other| other != k);
    let elsewhere =
        others.flat_map(|other| &steps[other].own).filter(|s| !matches!(s, Stmt::Reserve { .. }));
    let elsewhere: Vec<Array> = elsewhere.flat_map(changed).collect();
    let alone = own.iter().all(|a| is(a, ArrayRole::Common) && !elsewhere.contains(a));
    let mut used = vec![];
    needed(step).iter().for_each(|s| arrays(s, &mut used));
    let inputs: BTreeSet<Array> = used.into_iter().filter(|a| !own.contains(a)).collect();
    let told = inputs.iter().all(|a| is(a, ArrayRole::Input)) && !fails(&step.own);
    let kept = step.kind == Kind::Grid && !own.is_empty() && alone && told;
    kept.then(|| Table { arrays: own.into_iter().collect(), inputs: inputs.into_iter().collect() })
}
