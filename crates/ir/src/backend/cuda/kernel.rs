//! A kernel: its parameters, the values that every thread computes first, and its loops.
//!
//! Arrays are `__restrict__`, so that loads of operands may move, except arrays through which threads exchange values:
//! to compilers, `__restrict__` means that no other thread writes to them, despite barriers.

use super::barriers::barriers;
use super::device::{Place, exchanged, reread};
use super::launch::{LaunchArgument, arguments};
use super::plan::{Kind, Step, kernel_name};
use crate::backend::c::Writer;
use crate::backend::c::types::{element, type_name};
use crate::ids::Array;
use crate::ir::flow::{arrays, exposes};
use crate::ir::{ArrayRole, Function, Stmt};
use std::collections::BTreeSet;
use std::fmt::Write;

/// A block of this many threads can be launched however many registers a thread uses; compilers choose best without a
/// launch bound.
const ANY: i64 = 256;

/// The kernels of a function as text.
pub(super) fn write(function: &Function, name: &str, steps: &[Step]) -> String {
    let mut out = String::new();
    for (k, step) in steps.iter().enumerate() {
        let own = Function { body: needed(step), ..function.clone() };
        let alone = matches!(step.kind, Kind::Serial | Kind::Lengths);
        let blocks = if alone { "1 block" } else { "any number of blocks" };
        let (threads, kernel) = (step.shape.threads, kernel_name(name, k));
        let _ = writeln!(out, "/* {name}, {} of {}: {blocks} of {threads} */", k + 1, steps.len());
        let mut exchanged = exchanged(&own.body);
        exchanged.retain(|a| !step.workspaces.held.contains_key(a));
        let place = Place {
            shape: step.shape,
            held: step.workspaces.held.clone(),
            barriers: barriers(&own.body, &exchanged, &step.workspaces.owners()),
            unit: None,
            in_warp: false,
            counted: vec![],
            reserves: step.reserves(),
        };
        let mut writer = Writer::new(&own, kernel.clone(), Some(place));
        let params = params(&writer, &arguments(function, step), &reread(&own.body));
        let bounds = match threads > ANY {
            true => format!("__launch_bounds__({threads}) "),
            false => String::new(),
        };
        let _ = writeln!(out, "extern \"C\" __global__ void {bounds}{kernel}({params}) {{");
        let mut used = vec![];
        own.body.iter().for_each(|s| arrays(s, &mut used));
        let name = |array| writer.array(array).to_owned();
        for line in step.workspaces.declared(&own, step.shape, &used, &name) {
            let _ = writeln!(out, "  {line}");
        }
        out.push_str(&writer.body());
        out.push_str("}\n\n");
    }
    out
}

/// The parameters of a kernel; threads may exchange values through arrays in `reread`.
fn params(writer: &Writer<'_>, arguments: &[LaunchArgument], reread: &BTreeSet<Array>) -> String {
    let function = writer.function;
    let param = |argument: &LaunchArgument| match *argument {
        LaunchArgument::Scalar(v) => {
            format!("{} {}", type_name(function.vars[v].ty), writer.var(v))
        }
        LaunchArgument::Array(a) => {
            let array = &function.arrays[a];
            let fixed = if array.role == ArrayRole::Input { "const " } else { "" };
            let promise = if reread.contains(&a) { "" } else { "__restrict__ " };
            format!("{fixed}{} *{promise}{}", element(array.elem), writer.array(a))
        }
        LaunchArgument::Status => "int *tamis_status".to_owned(),
        LaunchArgument::Lengths => "int64_t *tamis_lengths".to_owned(),
    };
    arguments.iter().map(param).collect::<Vec<String>>().join(", ")
}

/// The statements of a kernel, with only those common values that it needs.
pub(super) fn needed(step: &Step) -> Vec<Stmt> {
    let mut kept: Vec<Stmt> = step.own.clone();
    for s in step.common.iter().rev() {
        let idle = matches!(s, Stmt::Assign { var, .. } if !exposes(&kept, *var));
        if !idle {
            kept.insert(0, s.clone());
        }
    }
    kept
}
