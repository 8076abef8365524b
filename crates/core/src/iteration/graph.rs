//! Iteration graphs for people: the loops of each kernel, and the path of each tensor through
//! them, a level a step (The Tensor Algebra Compiler, section 4); and the provenance graph, what
//! each derived variable was made from (Sparse Iteration Space Transformations, section 5).
//!
//! ```text
//! y: loops i0 -> i1 -> jp
//!   A(i,j): i (dense) -> j (compressed)
//!   x(j): j (dense)
//!   result y(i): i (dense)
//!   i0 from i: i/32
//!   i1 from i: i%32
//!   jp from j: positions of A(i,j)
//! ```

use crate::cin::{Bound, Kernel, Program, Relation, print};
use crate::format::LevelMap;
use crate::notation::Access;
use std::fmt::Write;
use tamis_ir::ids::{Id, IndexVar};

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
        for Origin { var, from, how } in provenance(program, kernel) {
            let from: Vec<&str> = from.iter().map(|&v| program.vars[v].as_str()).collect();
            let _ = writeln!(out, "  {} from {}: {how}", program.vars[var], from.join(", "));
        }
    }
    out
}

/// The same in the language of Graphviz: a box per kernel; index variables in the order of the
/// loops, joined by dashed edges, and per tensor a path of solid ones from its name through its
/// levels; dotted edges go from variables to those made from them.
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
    let origins = provenance(program, kernel);
    let mut seen: Vec<IndexVar> = vec![];
    let visited = paths.iter().flat_map(|p| p.steps.iter().map(|s| s.0));
    let derived = origins.iter().flat_map(|o| o.from.iter().chain([&o.var]).copied());
    for var in loops.iter().copied().chain(visited).chain(derived) {
        if !seen.contains(&var) {
            seen.push(var);
            let _ = writeln!(out, "    {} [label={}];", node(var), quoted(&program.vars[var]));
        }
    }
    for pair in loops.windows(2) {
        let _ = writeln!(out, "    {} -> {} [style=dashed];", node(pair[0]), node(pair[1]));
    }
    for Origin { var, from, how } in &origins {
        for &origin in from {
            let look = format!("[label={}, style=dotted]", quoted(how));
            let _ = writeln!(out, "    {} -> {} {look};", node(origin), node(*var));
        }
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
        let steps = program.levels(access).into_iter().map(|(l, v)| (v, l.kind.name())).collect();
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

/// What a variable was made from, and how.
struct Origin {
    var: IndexVar,
    from: Vec<IndexVar>,
    how: String,
}

/// Where the derived variables of a kernel's loops come from, those made first first.
fn provenance(program: &Program, kernel: &Kernel) -> Vec<Origin> {
    let derived = &program.derived;
    let mut vars: Vec<IndexVar> = vec![];
    for var in kernel.body.loops() {
        let ancestors = derived.ancestors(var).into_iter().rev();
        for var in ancestors.chain([var]) {
            if !vars.contains(&var) {
                vars.push(var);
            }
        }
    }
    let origin = |var| {
        let how = derivation(program, var)?;
        Some(Origin { var, from: derived.origins(var), how })
    };
    vars.into_iter().filter_map(origin).collect()
}

/// How a variable follows from those it was made from.
fn derivation(program: &Program, var: IndexVar) -> Option<String> {
    let name = |v: &IndexVar| program.vars[*v].as_str();
    let Some(relation) = program.derived.relation(var) else {
        let map = program.derived.map(var)?;
        return Some(match map {
            LevelMap::Mode(_) => return None,
            LevelMap::Div(v, b) => format!("{}/{b}", name(&v)),
            LevelMap::Mod(v, b) => format!("{}%{b}", name(&v)),
            LevelMap::Diff { plus, minus } => format!("{}-{}", name(&plus), name(&minus)),
            LevelMap::Slot(v) => format!("slots of {}", name(&v)),
        });
    };
    Some(match relation {
        Relation::Part { place, parts, .. } => format!("one of {parts} parts, of {}", name(place)),
        Relation::Place { part, .. } => format!("the offset in part {}", name(part)),
        Relation::Fused { outer, inner } => format!("all {} of each {}", name(inner), name(outer)),
        Relation::Position { access, .. } => {
            format!("positions of {}", print::access(program, access))
        }
        Relation::Same { bound: None, .. } => "the same".to_owned(),
        Relation::Same { bound: Some(Bound::Exact(n)), .. } => format!("the same, {n} of them"),
        Relation::Same { bound: Some(Bound::Most(n)), .. } => format!("the same, at most {n}"),
    })
}

/// A text between quotation marks.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
