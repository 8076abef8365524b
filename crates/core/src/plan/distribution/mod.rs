//! How a kernel runs on several ranks: which part of its outermost loop each has, and which elements of operands
//! that part reads.
//!
//! ```text
//! y(i) = A(i,j) * x(j)          A: csr, x: dense
//!
//! y: a part of i on each rank
//!   A(i,j)   mode 1: the part       mode 2: any
//!   x(j)     mode 1: what A(i,j) stores in mode 2
//! ```
//!
//! The last is the image of A's coordinates (SpDISTAL: image and preimage of partitions): `x` is located where
//! `A` is walked, and nowhere else. A rank that runs the part needs no other elements.

mod reads;

use super::{CutBy, Join, Partition, Plan, distinct};
use crate::cin::{Kernel, OnRanks, Program, Relation, Root, Scale};
use crate::format::{Format, LevelMap, LevelSpec};
use crate::level::DENSE;
use crate::notation::Access;
use reads::reads;
use std::fmt::Write;
use tamis_ir::algebra::ReduceOp;
use tamis_ir::ids::{Id, IndexVar, TensorId};

/// How a kernel runs on several ranks.
#[derive(Clone, PartialEq, Debug)]
pub enum Distribution {
    /// Each runs a part of the outermost loop, and has its elements of the result.
    Parts {
        /// The part.
        part: Part,
        /// The mode of the result that is over the variable.
        mode: usize,
    },
    /// Each runs parts of the outermost loop, and the arrays that these give are combined in order.
    Combined {
        /// The parts.
        part: Part,
        /// How elements are combined.
        op: ReduceOp,
    },
    /// Each runs all of it, for this reason.
    Everywhere(&'static str),
}

/// A part of the outermost loop.
#[derive(Clone, PartialEq, Debug)]
pub struct Part {
    /// The variable whose coordinates are cut.
    pub var: IndexVar,
    /// Where ranks begin.
    pub starts: Starts,
    /// What iterations of the loop count of these; nothing where they count positions.
    pub scale: Scale,
    /// What is read.
    pub reads: Vec<Read>,
}

/// Where ranks begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Starts {
    /// Where they begin in an operand that is cut by the same variable.
    OfOperands,
    /// After as many coordinates each.
    Even,
    /// Where they begin in this operand, over whose positions the loop is: each runs over its own.
    OfPositions(TensorId),
}

/// Which coordinates of one mode are read.
#[derive(Clone, PartialEq, Debug)]
pub enum Need {
    /// Any.
    All,
    /// Those of the part.
    Part,
    /// The coordinates that other operands store: each pair is the number of a read, of which the needed entries count,
    /// and a mode of it.
    Image(Vec<(usize, usize)>),
}

/// One read of an operand.
#[derive(Clone, PartialEq, Debug)]
pub struct Read {
    /// The operand with its variables.
    pub access: Access,
    /// Per mode what is needed.
    pub modes: Vec<Need>,
}

/// The loops that a schedule has ranks share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked<'k> {
    /// The one of which each rank runs a part.
    pub cut: Option<&'k OnRanks>,
    /// Others: a rank runs all of them, on tensors of which it has a slice.
    pub sliced: Vec<&'k OnRanks>,
}

impl<'k> Asked<'k> {
    /// Those of a kernel.
    pub fn of(program: &Program, kernel: &'k Kernel, plan: &Plan) -> Asked<'k> {
        let is_cut = |ranks: &&OnRanks| {
            plan.parts.as_ref().is_ok_and(|partition| {
                let ancestors = program.derived.ancestors(partition.var);
                ranks.inner == partition.var || ancestors.contains(&ranks.inner)
            })
        };
        let cut = kernel.cut.ranks.iter().find(is_cut);
        let sliced = kernel.cut.ranks.iter().filter(|&ranks| Some(ranks) != cut).collect();
        Asked { cut, sliced }
    }
}

/// Why ranks do not share a loop that is neither cut nor [sliced](sliced_mode).
pub const NOT_SHARED: &str = "it is not the loop that is cut, the outermost one or the one that threads share, and its \
                              result does not tell it";

/// The mode of a kernel's result that tells a loop which ranks share, if one does.
pub fn sliced_mode(program: &Program, kernel: &Kernel, ranks: &OnRanks) -> Option<usize> {
    let var = origin(program, ranks.inner);
    let modes = &program.tensors[kernel.result].modes;
    let mut own = modes.iter().enumerate().filter(|(_, mode)| origin(program, **mode) == var);
    own.next().map(|(mode, _)| mode).filter(|_| own.next().is_none())
}

/// How a kernel runs on several ranks.
pub fn distribution(program: &Program, kernel: &Kernel, plan: &Plan) -> Distribution {
    let partition = match &plan.parts {
        Ok(partition) => partition,
        Err(why) => return Distribution::Everywhere(why.reason()),
    };
    let target = &program.tensors[kernel.result];
    let format = &target.storage.format;
    let asked = Asked::of(program, kernel, plan).cut;
    if let Root::Positions(..) = partition.scale.root {
        return of_positions(program, kernel, plan, partition);
    }
    let is_of_coordinates = |scale: &Scale| matches!(scale.root, Root::Coordinates(_));
    let scale = Scale::of(&program.derived, partition.var).filter(is_of_coordinates);
    let Some(scale) = scale.filter(|_| is_of_coordinates(&partition.scale)) else {
        return Distribution::Everywhere(BY_POSITIONS);
    };
    if partition.cut != CutBy::Coordinates || !scale.is_ordered() {
        return Distribution::Everywhere("the coordinates of its outermost loop have no order");
    }
    let var = origin(program, partition.var);
    let part = || {
        let starts = if asked.is_some() { Starts::Even } else { Starts::OfOperands };
        Part { var, starts, scale: scale.clone(), reads: reads(program, kernel, plan, var) }
    };
    match partition.join {
        Join::Combine(op) if is_rows(format) => Distribution::Combined { part: part(), op },
        Join::Pack { op: None, .. } if !format.is_plain() => Distribution::Everywhere(
            "elements of several parts meet in its result as it is stored, which they do not in csr",
        ),
        Join::Shared { .. } | Join::Concatenate | Join::Pack { op: None, .. }
            if may_split(format) =>
        {
            let is_cut = |mode: &usize| target.modes[*mode] == var;
            // On a diagonal, parts write what follows each other in memory.
            let mut modes = [cut_mode(format).0].into_iter().chain(0..target.modes.len());
            match modes.find(is_cut) {
                Some(mode) => Distribution::Parts { part: part(), mode },
                None => Distribution::Everywhere("its result does not tell the outermost loop"),
            }
        }
        _ => Distribution::Everywhere("entries of its parts would have to be combined"),
    }
}

const BY_POSITIONS: &str =
    "its outermost loop is over positions of which no rank has those of whole rows";
const BY_BLOCKS: &str =
    "its outermost loop is over blocks of positions, in which rows of several ranks meet";
const BY_SLICES: &str =
    "its outermost loop is over positions of an operand that is sliced, or read twice";

/// Distributes a kernel whose outermost loop is over the positions of an operand. Each rank has whole rows of the operand
/// and runs over their positions. Within its rows it begins parts where one process begins them, so that sums have
/// the same bits.
fn of_positions(
    program: &Program,
    kernel: &Kernel,
    plan: &Plan,
    partition: &Partition,
) -> Distribution {
    let position = program.derived.position(partition.var);
    let relation = position.and_then(|p| program.derived.relation(p));
    let Some(Relation::Position { access, .. }) = relation else {
        return Distribution::Everywhere(BY_POSITIONS);
    };
    let format = &program.storage(access.tensor).format;
    let (mode, block) = cut_mode(format);
    let mut uses = distinct(&kernel.body);
    uses.retain(|other| other.tensor == access.tensor);
    if uses.len() != 1 || access.is_sliced() {
        return Distribution::Everywhere(BY_SLICES);
    }
    if !may_split(format) || is_rows(format) || block != 1 {
        return Distribution::Everywhere(BY_POSITIONS);
    }
    if !partition.scale.is_plain() {
        return Distribution::Everywhere(BY_BLOCKS);
    }
    let var = access.indices[mode];
    let target = &program.tensors[kernel.result];
    let is_kept = match partition.join {
        Join::Overlap { .. } => is_rows(&target.storage.format),
        Join::Shared { .. } | Join::Pack { op: None, .. } => may_split(&target.storage.format),
        Join::Concatenate | Join::Combine(_) | Join::Pack { .. } => false,
    };
    match target.modes.iter().position(|own| *own == var) {
        Some(mode) if is_kept => {
            let (starts, scale) = (Starts::OfPositions(access.tensor), Scale::plain(var));
            let reads = reads(program, kernel, plan, var);
            Distribution::Parts { part: Part { var, starts, scale, reads }, mode }
        }
        _ => Distribution::Everywhere("entries of its parts would have to be combined"),
    }
}

/// The variable of the notation, or of the compiler's own, that a loop's variable was made from. Another one of the
/// same dimension (`Derived::alias`) is another variable.
pub fn origin(program: &Program, var: IndexVar) -> IndexVar {
    let of = match (program.derived.relation(var), program.derived.map(var)) {
        (Some(Relation::Fused { outer, .. }), _) => *outer,
        (Some(Relation::Part { of, .. } | Relation::Place { of, .. }), _) => *of,
        (Some(Relation::Same { of, .. }), _) => *of,
        (None, Some(LevelMap::Div(of, _) | LevelMap::Mod(of, _))) => of,
        _ => return var,
    };
    origin(program, of)
}

/// Whether tensors of a format may be held in parts: their entries come in one order, however they were made.
pub fn may_split(format: &Format) -> bool {
    let in_order = |level: &LevelSpec| {
        let p = level.kind.properties();
        p.ordered || p.full
    };
    // An entry on one rank may store elements of others, which are read as entries there.
    !format.levels().is_empty() && !format.spreads() && format.levels().iter().all(in_order)
}

/// Whether rows of the outermost mode follow each other in memory, and are all there.
pub fn is_rows(format: &Format) -> bool {
    let dense = |level: &LevelSpec| level.kind == DENSE && level.stores_mode();
    format.levels().iter().all(dense)
}

/// The mode by whose coordinates tensors of a format are cut, and what cuts are multiples of.
pub fn cut_mode(format: &Format) -> (usize, u64) {
    match format.levels().first().map(|level| level.map) {
        Some(LevelMap::Mode(mode)) => (mode.index(), 1),
        Some(LevelMap::Div(mode, size)) => (mode.index(), size),
        _ => (0, 1),
    }
}

/// How a kernel runs on several ranks, in words.
pub fn print(
    program: &Program,
    kernel: &Kernel,
    (asked, distribution): (&Asked<'_>, &Distribution),
) -> String {
    let (mut text, name) = (String::new(), program.name(kernel));
    for OnRanks { inner, axis, .. } in &asked.sliced {
        let var = &program.vars[origin(program, *inner)];
        let _ = writeln!(text, "{name}: a slice of {var} on each rank along {axis}");
    }
    let _ = write!(text, "{name}: ");
    let part = match distribution {
        Distribution::Parts { part, .. } => {
            let how = match part.starts {
                Starts::OfOperands => String::new(),
                Starts::Even => ", of as many coordinates".to_owned(),
                Starts::OfPositions(of) => {
                    format!(", the rows that it has of {}", program.tensors[of].name)
                }
            };
            let _ = writeln!(text, "a part of {} on each rank{how}", program.vars[part.var]);
            part
        }
        Distribution::Combined { part, op } => {
            let (var, op) = (&program.vars[part.var], op.name());
            let _ = writeln!(text, "parts of {var} on each rank, combined by {op} in order");
            part
        }
        Distribution::Everywhere(why) => {
            let _ = writeln!(text, "all of it on each rank: {why}");
            return text;
        }
    };
    let name = |access: &Access| {
        let vars: Vec<&str> = access.indices.iter().map(|v| program.vars[*v].as_str()).collect();
        format!("{}({})", program.tensors[access.tensor].name, vars.join(","))
    };
    for read in part.reads.iter().filter(|read| !read.modes.is_empty()) {
        let modes = read.modes.iter().enumerate().map(|(m, need)| {
            let what = match need {
                Need::All => "any".to_owned(),
                Need::Part => "the part".to_owned(),
                Need::Image(of) => {
                    let image = |(read, mode): &(usize, usize)| {
                        format!("{} stores in mode {}", name(&part.reads[*read].access), mode + 1)
                    };
                    format!("what {}", of.iter().map(image).collect::<Vec<_>>().join(", or "))
                }
            };
            format!("mode {}: {what}", m + 1)
        });
        let _ =
            writeln!(text, "  {}  {}", name(&read.access), modes.collect::<Vec<_>>().join("; "));
    }
    text
}
