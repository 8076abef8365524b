//! Iteration graphs as text: the loops of each kernel, and the path of each tensor through them, one step per level
//! (The Tensor Algebra Compiler, section 4); and the provenance graph: what each variable was derived from (Sparse
//! Iteration Space Transformations, section 5).
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
//!
//! Where a temporary is computed beforehand, the loops branch, as in the branched iteration graphs of SparseLNR
//! (section 4.1): `A: loops i -> j -> {w: k; A: l}`.

use crate::cin::simplify::written;
use crate::cin::{BoundType, Kernel, Program, Relation, Stmt, print};
use crate::format::LevelMap;
use crate::notation::Access;
use std::fmt::Write;
use tamis_ir::ids::{Id, IdVec, IndexVar, TensorId};

/// The iteration graph of each kernel: its loops, and each tensor's path through them.
pub fn text(program: &Program) -> String {
    let mut out = String::new();
    for kernel in &program.kernels {
        let loops = loops(program, kernel, &kernel.body);
        let _ = writeln!(out, "{}: loops {loops}", program.name(kernel));
        for path in Branches::of(program, kernel).paths(program) {
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

/// The loops of a statement; in braces the branches for each tensor that it computes one after another.
fn loops(program: &Program, kernel: &Kernel, s: &Stmt) -> String {
    match s {
        Stmt::Forall { var, body } => {
            match (label(program, kernel, *var), loops(program, kernel, body)) {
                (name, inside) if inside.is_empty() => name,
                (name, inside) => format!("{name} -> {inside}"),
            }
        }
        Stmt::Where { .. } | Stmt::Sequence(_) => {
            let mut parts = vec![];
            branches(s, &mut parts);
            let parts = parts.into_iter().map(|part| (written(part), loops(program, kernel, part)));
            let parts: Vec<(TensorId, String)> =
                parts.filter(|(_, text)| !text.is_empty()).collect();
            match &parts[..] {
                [] => String::new(),
                [(_, only)] => only.clone(),
                several => {
                    let of = |(t, text): &(TensorId, String)| {
                        format!("{}: {text}", program.tensors[*t].name)
                    };
                    format!("{{{}}}", several.iter().map(of).collect::<Vec<_>>().join("; "))
                }
            }
        }
        Stmt::Within { body, .. } => loops(program, kernel, body),
        Stmt::Assign { .. } => String::new(),
    }
}

/// The statements that run one after another.
fn branches<'s>(s: &'s Stmt, into: &mut Vec<&'s Stmt>) {
    match s {
        Stmt::Where { consumer, producer } => {
            branches(producer, into);
            branches(consumer, into);
        }
        Stmt::Sequence(parts) => parts.iter().for_each(|part| branches(part, into)),
        s => into.push(s),
    }
}

/// The name of a loop, with the unit that runs its iterations.
fn label(program: &Program, kernel: &Kernel, var: IndexVar) -> String {
    let name = &program.vars[var];
    match kernel.tags.get(&var).and_then(|tag| tag.parallel) {
        Some((unit, _)) => format!("{name} on {}", unit.name()),
        None => name.clone(),
    }
}

/// The iteration graph in Graphviz's language: a box per kernel. Index variables are in loop order, joined by dashed
/// edges; solid edges lead from a tensor's name through its levels; dotted edges lead from variables to variables
/// derived from them; bold edges lead from the loop that computes a temporary to the loop that reads it.
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
    let tree = Branches::of(program, kernel);
    let origins = provenance(program, kernel);
    let node = |var: IndexVar| format!("v{k}_{}", var.index());
    // Of several loops over a variable, the first one has its node.
    let of_loop = |at: usize| {
        let var = tree.loops[at].0;
        let before = tree.loops[..at].iter().filter(|(v, _)| *v == var).count();
        if before == 0 { node(var) } else { format!("{}_{before}", node(var)) }
    };
    let paths = tree.paths(program);
    let mut seen: Vec<IndexVar> = vec![];
    for (at, (var, _)) in tree.loops.iter().enumerate() {
        seen.push(*var);
        let name = quoted(&label(program, kernel, *var));
        let _ = writeln!(out, "    {} [label={name}];", of_loop(at));
    }
    let visited = paths.iter().flat_map(|p| p.steps.iter().map(|s| s.0));
    let derived = origins.iter().flat_map(|o| o.from.iter().chain([&o.var]).copied());
    for var in visited.chain(derived) {
        if !seen.contains(&var) {
            seen.push(var);
            let _ = writeln!(out, "    {} [label={}];", node(var), quoted(&program.vars[var]));
        }
    }
    for (at, (_, around)) in tree.loops.iter().enumerate() {
        if let Some(around) = around {
            let _ = writeln!(out, "    {} -> {} [style=dashed];", of_loop(*around), of_loop(at));
        }
    }
    for (from, to, tensor) in &tree.flows {
        let look = format!("[label={}, style=bold]", quoted(&program.tensors[*tensor].name));
        let _ = writeln!(out, "    {} -> {} {look};", of_loop(*from), of_loop(*to));
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
            let own = path.around.iter().rev().find(|at| tree.loops[**at].0 == var);
            let to = own.map_or_else(|| node(var), |at| of_loop(*at));
            let level = quoted(level);
            let look = format!("[label={level}, color={color}]");
            let _ = writeln!(out, "    {from} -> {to} {look};");
            from = to;
        }
    }
}

/// The loops of a kernel, which branch at temporaries.
#[derive(Default)]
struct Branches {
    /// The variables of the loops, each with the number of the surrounding loop.
    loops: Vec<(IndexVar, Option<usize>)>,
    /// For each temporary, the loop that computes it and the loop that reads it.
    flows: Vec<(usize, usize, TensorId)>,
    /// The operands, with the numbers of the loops around them; the result comes last.
    uses: Vec<(String, Access, Vec<usize>)>,
}

impl Branches {
    fn of(program: &Program, kernel: &Kernel) -> Branches {
        let mut found = Branches::default();
        let mut result = None;
        found.add(program, (&kernel.body, kernel.result), &mut vec![], &mut result);
        found.uses.extend(result);
        found
    }

    /// Adds the loops of a statement inside of others; returns the first and the last of them.
    fn add(
        &mut self,
        program: &Program,
        (s, result): (&Stmt, TensorId),
        around: &mut Vec<usize>,
        written_to: &mut Option<(String, Access, Vec<usize>)>,
    ) -> Option<(usize, usize)> {
        match s {
            Stmt::Forall { var, body } => {
                let own = self.loops.len();
                self.loops.push((*var, around.last().copied()));
                around.push(own);
                let inside = self.add(program, (body, result), around, written_to);
                around.pop();
                Some((own, inside.map_or(own, |(_, last)| last)))
            }
            Stmt::Within { body, .. } => self.add(program, (body, result), around, written_to),
            Stmt::Assign { lhs, rhs, .. } => {
                for access in rhs.accesses() {
                    let is_new = self.uses.iter().all(|(_, other, _)| other != access);
                    if is_new && !access.indices.is_empty() {
                        let name = print::access(program, access);
                        self.uses.push((name, access.clone(), around.clone()));
                    }
                }
                if lhs.tensor == result && !lhs.indices.is_empty() && written_to.is_none() {
                    let name = format!("result {}", print::access(program, lhs));
                    *written_to = Some((name, lhs.clone(), around.clone()));
                }
                None
            }
            Stmt::Where { consumer, producer } => {
                let before = self.add(program, (producer, result), around, written_to);
                let after = self.add(program, (consumer, result), around, written_to);
                if let (Some((_, last)), Some((first, _))) = (before, after) {
                    self.flows.push((last, first, written(producer)));
                }
                Some((before.or(after)?.0, after.or(before)?.1))
            }
            Stmt::Sequence(parts) => {
                let mut all = None;
                for part in parts {
                    let own = self.add(program, (part, result), around, written_to);
                    all = match (all, own) {
                        (Some((first, _)), Some((_, last))) => Some((first, last)),
                        (all, own) => all.or(own),
                    };
                }
                all
            }
        }
    }

    /// The paths of the operands; the path of the result comes last.
    fn paths(&self, program: &Program) -> Vec<Path> {
        let path = |(name, access, around): &(String, Access, Vec<usize>)| {
            let levels = program.levels(access).into_iter();
            let steps = levels.map(|(l, v)| (v, l.kind.name())).collect();
            Path { name: name.clone(), steps, around: around.clone() }
        };
        self.uses.iter().map(path).collect()
    }
}

/// The number of colours in the scheme.
const COLOURS: usize = 8;

/// The path of a use of a tensor through its levels: the variable and the format of each.
struct Path {
    name: String,
    steps: Vec<(IndexVar, &'static str)>,
    /// The loops around the use.
    around: Vec<usize>,
}

/// The variables that a variable was derived from, and how.
struct Origin {
    var: IndexVar,
    from: Vec<IndexVar>,
    how: String,
}

/// The derivations of the variables of a kernel's loops, in the order of their creation.
fn provenance(program: &Program, kernel: &Kernel) -> Vec<Origin> {
    let derived = &program.derived;
    // Positions of fused loops were derived from the fused variable's origins.
    let origins = |var: IndexVar| match derived.relation(var) {
        Some(Relation::Position { of, .. }) => {
            derived.fused(of).map_or_else(|| of.clone(), |fused| vec![fused])
        }
        _ => derived.origins(var),
    };
    let mut vars: Vec<IndexVar> = vec![];
    for var in kernel.body.loops() {
        let mut ancestors = origins(var);
        let mut at = 0;
        while at < ancestors.len() {
            ancestors.extend(origins(ancestors[at]));
            at += 1;
        }
        for var in ancestors.into_iter().rev().chain([var]) {
            if !vars.contains(&var) {
                vars.push(var);
            }
        }
    }
    let origin = |var| {
        let how = derivation(program, &program.vars, var)?;
        Some(Origin { var, from: origins(var), how })
    };
    vars.into_iter().filter_map(origin).collect()
}

/// How a variable was derived from others, in words.
pub(crate) fn derivation(
    program: &Program,
    names: &IdVec<IndexVar, String>,
    var: IndexVar,
) -> Option<String> {
    let name = |v: &IndexVar| names[*v].as_str();
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
        Relation::Part { parts, .. } => format!("one of {parts} parts"),
        Relation::Place { .. } => "the offset in a part".to_owned(),
        Relation::Fused { outer, inner } => format!("all {} of each {}", name(inner), name(outer)),
        Relation::Position { access, .. } => {
            format!("positions of {}", print::access(program, access))
        }
        Relation::Same { bound: None, .. } => "the same".to_owned(),
        Relation::Same { bound: Some(BoundType::Exact(n)), .. } => format!("the same, {n} of them"),
        Relation::Same { bound: Some(BoundType::Most(n)), .. } => format!("the same, at most {n}"),
    })
}

/// A text between quotation marks.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
