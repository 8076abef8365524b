//! The plan of a kernel: how its loops read, merge and write, decided before any code is emitted.
//!
//! ```text
//! forall(i, where(y(i) = t, forall(j, t += A(i,j) * x(j))))        A: csr, x, y: dense
//!
//! y(i) in place
//! for i: every coordinate
//!   locate i in A(i,j) level 1 (dense)
//!   compute t
//!     for j: walk A(i,j) level 2 (compressed)
//!       locate j in x(j) level 1 (dense)
//!       t += A(i,j) * x(j)
//!   y(i) = t
//! ```
//!
//! Per `forall` an iteration lattice (The Tensor Algebra Compiler, sections 5 and 6) says which operands
//! drive the loop and what is left to do where some of them have no value. Operands whose coordinate is known are
//! located by arithmetic or hashing, or searched. [`plan`] is pure; [`crate::lower`] emits what it says.

pub(crate) mod access;
mod background;
mod certain;
mod combine;
pub mod distribution;
mod if_empty;
pub(crate) mod known;
mod lattices;
mod legality;
mod output;
mod output_order;
mod overflow;
mod parse;
mod partition;
mod print;
mod read;
mod result_levels;
mod shared_structure;
pub mod verify;
mod visits;
mod window;

pub use combine::Join;
pub use lattices::lattices;
pub use legality::{count_searched, unreadable};
pub use output::{Assembler, Assembly, Output, Rest, outer_loops};
pub(crate) use output::{distinct, given};
pub(crate) use output_order::OutputOrder;
pub use parse::parse;
pub use partition::{CutBy, Meeting, NotCut, Partition};
pub use print::print;
pub(crate) use result_levels::ResultLevels;
pub use shared_structure::SharedStructure;
pub(crate) use visits::{Visits, is_placed};

use crate::cin::simplify::Facts;
use crate::cin::{self, Kernel, Program, Role, Stmt};
use crate::iteration::lattice::Set;
use crate::notation::{Access, Expr};
use partition::Partitioner;
use tamis_ir::algebra::ReduceOp;
use tamis_ir::ids::{IndexVar, TensorId};
use tamis_ir::ir::Unit;

/// What a kernel does.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// How the result is written.
    pub output: Output,
    /// How parts of the outermost loop run at the same time, or why they do not.
    pub parts: Result<Partition, NotCut>,
    /// Operands of order 0, which are loaded once.
    pub scalars: Vec<TensorId>,
    /// The steps, if there are any.
    pub root: Option<Node>,
}

/// One step of a kernel.
#[derive(Clone, PartialEq, Debug)]
pub enum Node {
    /// A loop.
    Loop(Box<Loop>),
    /// An operand descends a level whose coordinate is known.
    Locate(Box<Locate>),
    /// The producer of a register or a workspace, then its consumer.
    Where(Box<Where>),
    /// A step that is skipped if nothing was added to a temporary; the loops around it run in any case.
    IfAny(TensorId, Box<Node>),
    /// One after another.
    Sequence(Vec<Node>),
    /// `lhs = rhs` or `lhs op= rhs`.
    Assign {
        /// What is written.
        lhs: Access,
        /// How it is combined with the stored value.
        op: Option<ReduceOp>,
        /// The value.
        rhs: Expr,
    },
}

/// The producer of a temporary and what reads it.
#[derive(Clone, PartialEq, Debug)]
pub struct Where {
    /// The register or the workspace.
    pub tensor: TensorId,
    /// Whether the producer first initialises the workspace at the entries of a pattern.
    pub opens: bool,
    /// Whether the consumer is skipped if nothing was added.
    pub asks: bool,
    /// Writes the temporary.
    pub producer: Node,
    /// Reads it.
    pub consumer: Node,
}

/// An operand that descends a level whose coordinate is known.
#[derive(Clone, PartialEq, Debug)]
pub struct Locate {
    /// The operand.
    pub access: Access,
    /// The level.
    pub level: usize,
    /// The variable of the level.
    pub var: IndexVar,
    /// How the position is found.
    pub by: Lookup,
    /// What is done at the position.
    pub present: Node,
    /// What is done where the operand has no entry.
    pub absent: Absent,
}

/// How the position of a known coordinate is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lookup {
    /// By the level's `locate`: arithmetic, or hashing.
    Locate,
    /// By a binary search, since the level is ordered.
    BinarySearch,
    /// By looking at one position after another.
    LinearSearch,
}

/// What is done where an operand has no entry.
#[derive(Clone, PartialEq, Debug)]
pub enum Absent {
    /// It has an entry at every coordinate.
    Never,
    /// Nothing.
    Nothing,
    /// This.
    Does(Node),
}

/// A loop.
#[derive(Clone, PartialEq, Debug)]
pub struct Loop {
    /// The variable of the `forall`.
    pub own: IndexVar,
    /// The variable whose coordinates are visited: another one where the loop is over a part of them.
    pub var: IndexVar,
    /// Which of its coordinates are visited.
    pub window: Window,
    /// The operands whose coordinates are visited.
    pub drivers: Vec<Driver>,
    /// How the drivers are merged.
    pub merge: Merge,
    /// What is done at a coordinate, by which drivers are there.
    pub body: Body,
    /// The step that runs once for all coordinates that no driver has.
    pub background: Option<Background>,
    /// The level of the result that this loop writes in order.
    pub result_level: Option<usize>,
}

/// Which coordinates of a variable a loop visits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Window {
    /// All.
    Whole,
    /// Those of the part that the loop's own variable counts.
    Part,
    /// All of them if one of these variables has no coordinates, otherwise none.
    IfEmpty(Vec<IndexVar>),
}

/// An operand whose coordinates a loop visits.
#[derive(Clone, PartialEq, Debug)]
pub struct Driver {
    /// The operand.
    pub access: Access,
    /// The level that is iterated.
    pub level: usize,
    /// How duplicates are visited: positions of the same coordinate.
    pub duplicates: Duplicates,
    /// How the operand moves on where another one is ahead of it.
    pub advance: Advance,
}

/// How a loop visits duplicates: positions of the same coordinate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Duplicates {
    /// There are none, or each is visited.
    Each,
    /// They are taken together, as a segment (the thesis, section 4.4: deduplication and chaining).
    Segment,
}

/// How an operand moves on where another one is ahead of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advance {
    /// By one position.
    Step,
    /// By a search with steps that double.
    Gallop,
}

/// How a loop merges its drivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Merge {
    /// The loop has no work at any coordinate.
    Nothing,
    /// Every coordinate of the dimension is visited, and each driver is tested for an entry there.
    Universe,
    /// An intersection: there is work only where all drivers of this set have an entry. The other drivers are advanced along.
    Led(Set),
    /// Each driver with an entry adds its term to a register.
    NarySum,
    /// One loop while some point of the lattice is left: it finds the least coordinate and a flag per driver.
    Nary,
    /// A loop per point of the lattice, more drivers first.
    Points,
}

/// What is done at the coordinates of a loop.
#[derive(Clone, PartialEq, Debug)]
pub enum Body {
    /// By the points of the lattice, more drivers first.
    Cases(Vec<Case>),
    /// Terms of a sum in a register, and the step that reads the sum.
    Sum(Box<Sum>),
}

/// A point of the lattice.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// The drivers that are there.
    pub present: Set,
    /// What is done.
    pub node: Node,
}

/// Terms of a sum, each where its driver is.
#[derive(Clone, PartialEq, Debug)]
pub struct Sum {
    /// The register.
    pub register: TensorId,
    /// Per term its driver, and what adds it.
    pub terms: Vec<(usize, Node)>,
    /// The drivers that the consumer reads.
    pub pattern: Set,
    /// The step that reads the sum.
    pub consumer: Node,
}

/// What is done once for all coordinates that no driver has.
#[derive(Clone, PartialEq, Debug)]
pub struct Background {
    /// What is done.
    pub node: Node,
    /// How often it counts.
    pub times: Times,
}

/// How often the value of one iteration that stands for several coordinates is combined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Times {
    /// Once, however many there are, as in a maximum.
    Once,
    /// As often as there are coordinates, as in a sum.
    Each,
}

/// The plan of a kernel.
pub fn plan(program: &Program, kernel: &Kernel) -> Plan {
    let planner = Planner::new(program, kernel);
    let output = planner.output();
    let body = planner.facts.stmt(kernel.body.clone());
    let reader = read::ReadPlanner { planner, output: &output };
    let root = body.as_ref().map(|body| reader.begin(body));
    around(planner, body.as_ref(), output, root)
}

/// A plan with what follows from how the result is written.
fn around(planner: Planner<'_>, body: Option<&Stmt>, output: Output, root: Option<Node>) -> Plan {
    let parts = Partitioner { planner, output: &output, body, root: root.as_ref() }.cut();
    let scalars = body.map_or(vec![], |body| planner.scalars(body));
    Plan { output, parts, scalars, root }
}

/// What decisions are made of.
#[derive(Clone, Copy)]
pub(crate) struct Planner<'p> {
    program: &'p Program,
    kernel: &'p Kernel,
    facts: Facts<'p>,
}

impl<'p> Planner<'p> {
    pub(crate) fn new(program: &'p Program, kernel: &'p Kernel) -> Planner<'p> {
        Planner { program, kernel, facts: Facts { program, compute: kernel.compute } }
    }

    /// The unit of a GPU that runs a loop.
    pub(crate) fn unit(self, own: IndexVar) -> Option<Unit> {
        self.kernel.tags.get(&own).and_then(|tag| tag.gpu())
    }

    /// Whether a schedule has threads share a loop.
    fn is_on_threads(self, own: IndexVar) -> bool {
        self.kernel.tags.get(&own).is_some_and(cin::Tag::is_on_threads)
    }

    /// Operands of order 0, each once.
    fn scalars(self, body: &Stmt) -> Vec<TensorId> {
        let is_register = |t| matches!(self.program.tensors[t].role, Role::Register(_));
        let mut found = vec![];
        for access in body.reads() {
            let is_scalar = access.indices.is_empty() && !is_register(access.tensor);
            if is_scalar && !found.contains(&access.tensor) {
                found.push(access.tensor);
            }
        }
        found
    }
}

impl Node {
    /// The tensor that the step writes, if it writes any.
    pub fn written(&self) -> Option<TensorId> {
        match self {
            Node::Loop(nest) => {
                let background = nest.background.as_ref();
                nest.written().or_else(|| background.and_then(|b| b.node.written()))
            }
            Node::Locate(locate) => locate.present.written(),
            Node::Where(temporary) => temporary.consumer.written(),
            Node::IfAny(_, node) => node.written(),
            Node::Sequence(parts) => parts.last().and_then(Node::written),
            Node::Assign { lhs, .. } => Some(lhs.tensor),
        }
    }
}

impl Node {
    /// The steps that it is made of, in the order in which they run.
    fn steps(&self) -> Vec<&Node> {
        match self {
            Node::Loop(nest) => {
                let background = nest.background.iter().map(|background| &background.node);
                nest.nodes().into_iter().chain(background).collect()
            }
            Node::Locate(locate) => match &locate.absent {
                Absent::Does(node) => vec![&locate.present, node],
                Absent::Never | Absent::Nothing => vec![&locate.present],
            },
            Node::Where(temporary) => vec![&temporary.producer, &temporary.consumer],
            Node::IfAny(_, node) => vec![node],
            Node::Sequence(parts) => parts.iter().collect(),
            Node::Assign { .. } => vec![],
        }
    }

    /// The loops of a variable, in the order in which they run.
    pub(crate) fn loops_over(&self, own: IndexVar) -> Vec<&Loop> {
        match self {
            Node::Loop(nest) if nest.own == own => vec![nest],
            node => node.steps().into_iter().flat_map(|step| step.loops_over(own)).collect(),
        }
    }

    /// Whether a step in it is skipped if nothing was added to a temporary.
    pub(crate) fn asks_for(&self, tensor: TensorId) -> bool {
        matches!(self, Node::IfAny(asked, _) if *asked == tensor)
            || self.steps().into_iter().any(|step| step.asks_for(tensor))
    }

    /// Whether a loop walks the entries of a tensor.
    pub(crate) fn walks(&self, tensor: TensorId) -> bool {
        let drives = |nest: &Loop| nest.drivers.iter().any(|d| d.access.tensor == tensor);
        matches!(self, Node::Loop(nest) if drives(nest))
            || self.steps().into_iter().any(|step| step.walks(tensor))
    }
}

impl Loop {
    /// Whether it searches an operand for the coordinates of others.
    pub(crate) fn gallops(&self) -> bool {
        self.drivers.iter().any(|driver| driver.advance == Advance::Gallop)
    }

    /// The sets of drivers that the lattice has a point for, more drivers first.
    pub fn points(&self) -> Vec<Set> {
        match &self.body {
            Body::Cases(cases) => cases.iter().map(|case| case.present).collect(),
            Body::Sum(sum) => sum.terms.iter().map(|(k, _)| 1 << k | sum.pattern).collect(),
        }
    }

    /// What is done at coordinates that some driver has.
    fn nodes(&self) -> Vec<&Node> {
        match &self.body {
            Body::Cases(cases) => cases.iter().map(|case| &case.node).collect(),
            Body::Sum(sum) => {
                let terms = sum.terms.iter().map(|(_, node)| node);
                terms.chain([&sum.consumer]).collect()
            }
        }
    }

    /// The cases that may hold while only the drivers of `present` are left, more drivers first.
    pub fn below(&self, present: Set) -> impl Iterator<Item = &Case> {
        let cases = match &self.body {
            Body::Cases(cases) => &cases[..],
            Body::Sum(_) => &[],
        };
        cases.iter().filter(move |case| case.present & !present == 0)
    }

    /// The set of all drivers.
    pub(crate) fn all_drivers(&self) -> Set {
        (1 << self.drivers.len()) - 1
    }

    /// The tensor that the loop writes, if it writes any.
    pub fn written(&self) -> Option<TensorId> {
        match &self.body {
            Body::Cases(cases) => cases.iter().find_map(|case| case.node.written()),
            Body::Sum(sum) => sum.consumer.written(),
        }
    }

    /// Whether every coordinate of the dimension is visited.
    pub fn is_universal(&self) -> bool {
        self.merge == Merge::Universe
    }
}
