//! The loop orders of a kernel that legalisation compared, for people to read.
//!
//! ```text
//! # A: loops i -> j -> k -> l with sums apart, about 2e7 multiply-adds
//! #   rather than i -> j -> k -> l, 1e10; k -> i -> j -> l, 3e10
//! ```

use super::Program;
use tamis_ir::ids::{IndexVar, TensorId};

/// How many choices each kernel keeps.
pub const KEPT: usize = 4;

/// One choice of loops for a kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct Choice {
    /// The loops, outermost first.
    pub loops: Vec<IndexVar>,
    /// Operands that are copied into another order before the loops run.
    pub copied: Vec<TensorId>,
    /// Whether sums that do not depend on all factors run in loops of their own.
    pub apart: bool,
    /// The estimated cost, in multiply-adds on cached data.
    pub cost: f64,
}

/// The loops that were chosen for each kernel, and the alternatives.
pub fn text(program: &Program) -> String {
    let mut out = String::new();
    for kernel in &program.kernels {
        let Some((chosen, others)) = kernel.choices.split_first() else { continue };
        let (name, way) = (program.name(kernel), way(program, chosen));
        out += &format!("# {name}: loops {way}, about {:.0e} multiply-adds\n", chosen.cost);
        let others = others.iter().map(|c| format!("{}, {:.0e}", self::way(program, c), c.cost));
        let others: Vec<String> = others.collect();
        if !others.is_empty() {
            out += &format!("#   rather than {}\n", others.join("; "));
        }
    }
    out
}

fn way(program: &Program, choice: &Choice) -> String {
    let loops: Vec<&str> = choice.loops.iter().map(|&v| program.vars[v].as_str()).collect();
    let copied: Vec<&str> =
        choice.copied.iter().map(|&t| program.tensors[t].name.as_str()).collect();
    let mut way = if loops.is_empty() { "none".to_owned() } else { loops.join(" -> ") };
    if choice.apart {
        way += " with sums apart";
    }
    if !copied.is_empty() {
        way += &format!(" with {} in another order", copied.join(" and "));
    }
    way
}
