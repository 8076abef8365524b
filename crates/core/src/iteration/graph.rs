//! Iteration graphs for people: the loops of each kernel, and the path of each tensor through
//! them, a level a step (The Tensor Algebra Compiler, section 4).
//!
//! ```text
//! y: loops i -> j
//!   A(i,j): i (dense) -> j (compressed)
//!   x(j): j (dense)
//!   result y(i): i (dense)
//! ```

use crate::cin::{Kernel, Program, print};
use crate::ids::{Id, IndexVar};
use crate::notation::Access;
use std::fmt::Write;

/// The iteration graph of each kernel: its loops, and each tensor's path through them.
pub fn text(program: &Program) -> String {
    let mut out = String::new();
    for kernel in &program.kernels {
        let loops = kernel.body.loops();
        let names: Vec<&str> = loops.iter().map(|&v| program.vars[v].as_str()).collect();
        let _ = writeln!(out, "{}: loops {}", program.name(kernel), names.join(" -> "));
        for path in paths(program, kernel) {
            let steps =
                path.steps.iter().map(|(var, level)| format!("{} ({level})", program.vars[*var]));
            let steps: Vec<String> = steps.collect();
            let _ = writeln!(out, "  {}: {}", path.name, steps.join(" -> "));
        }
    }
    out
}

/// The same in the language of Graphviz: a box per kernel; index variables in the order of the
/// loops, joined by dashed edges, and per tensor a path of solid ones from its name through its
/// levels.
///
/// ```text
/// digraph iteration {
///   subgraph cluster_0 {
///     label="y";
///     v0_0 [label="i"];
///     v0_1 [label="j"];
///     v0_0 -> v0_1 [style=dashed];
///     a0_0 [label="A(i,j)", shape=plaintext];
///     a0_0 -> v0_0 [label="dense", color=1];
///     v0_0 -> v0_1 [label="compressed", color=1];
/// ```
pub fn dot(program: &Program) -> String {
    let mut out = String::from("digraph iteration {\n");
    let _ = writeln!(out, "  node [shape=circle];\n  edge [colorscheme=dark28];");
    for (k, kernel) in program.kernels.iter().enumerate() {
        let _ = writeln!(out, "  subgraph cluster_{k} {{");
        let _ = writeln!(out, "    label={};", quoted(program.name(kernel)));
        cluster(program, kernel, k, &mut out);
        let _ = writeln!(out, "  }}");
    }
    out + "}\n"
}

/// The nodes and edges of one kernel.
fn cluster(program: &Program, kernel: &Kernel, k: usize, out: &mut String) {
    let node = |var: IndexVar| format!("v{k}_{}", var.index());
    let paths = paths(program, kernel);
    let loops = kernel.body.loops();
    let mut seen: Vec<IndexVar> = vec![];
    for var in loops.iter().copied().chain(paths.iter().flat_map(|p| p.steps.iter().map(|s| s.0))) {
        if !seen.contains(&var) {
            seen.push(var);
            let _ = writeln!(out, "    {} [label={}];", node(var), quoted(&program.vars[var]));
        }
    }
    for pair in loops.windows(2) {
        let _ = writeln!(out, "    {} -> {} [style=dashed];", node(pair[0]), node(pair[1]));
    }
    for (p, path) in paths.iter().enumerate() {
        let color = 1 + p % COLOURS;
        let mut from = format!("a{k}_{p}");
        let _ = writeln!(out, "    {from} [label={}, shape=plaintext];", quoted(&path.name));
        for &(var, level) in &path.steps {
            let to = node(var);
            let level = quoted(level);
            let look = format!("[label={level}, color={color}]");
            let _ = writeln!(out, "    {from} -> {to} {look};");
            from = to;
        }
    }
}

/// How many colours the scheme has.
const COLOURS: usize = 8;

/// The way of a use of a tensor through its levels: the variable and the format of each.
struct Path {
    name: String,
    steps: Vec<(IndexVar, &'static str)>,
}

/// The paths of the operands of a kernel, and that of its result at the end.
fn paths(program: &Program, kernel: &Kernel) -> Vec<Path> {
    let path = |name: String, access: &Access| {
        let levels = program.storage(access.tensor).format.levels();
        let vars = program.level_vars(access.tensor, &access.indices);
        let steps = vars.into_iter().zip(levels).map(|(v, l)| (v, l.kind.name())).collect();
        Path { name, steps }
    };
    let mut seen: Vec<&Access> = vec![];
    let mut paths = vec![];
    for access in kernel.body.reads() {
        if !access.indices.is_empty() && !seen.contains(&access) {
            seen.push(access);
            paths.push(path(print::access(program, access), access));
        }
    }
    let mut result = None;
    kernel.body.for_each_assign(&mut |lhs, _, _| {
        result = result.or(Some(lhs).filter(|lhs| lhs.tensor == kernel.result));
    });
    if let Some(result) = result.filter(|access| !access.indices.is_empty()) {
        paths.push(path(format!("result {}", print::access(program, result)), result));
    }
    paths
}

/// A text between quotation marks.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
