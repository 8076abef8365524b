//! A plan as text.
//!
//! ```text
//! C(i,j) appended: 2 levels in order
//! for i of level 1: every coordinate
//!   locate A(i,j) level 1
//!   locate B(i,j) level 1
//!   for j of level 2: merge A(i,j) level 2, B(i,j) level 2
//!     at A(i,j), B(i,j)
//!       C(i,j) = A(i,j) + B(i,j)
//!     at A(i,j)
//!       C(i,j) = A(i,j)
//!     at B(i,j)
//!       C(i,j) = B(i,j)
//! ```

use super::{
    Absent, Advance, Assembly, Body, CutPoint, Driver, Duplicates, Join, Locate, Lookup, Loop,
    Merge, Node, NotCut, Output, Partition, Plan, Rest, Times, Where, Window,
};
use crate::cin::{Kernel, Program, Races, Stmt, Tag, print};
use crate::iteration::lattice::Set;
use crate::notation::Access;
use std::fmt::Write;

/// The plan of a kernel.
pub fn print(program: &Program, kernel: &Kernel, plan: &Plan) -> String {
    let modes = program.tensors[kernel.result].modes.clone();
    let result = print::access(program, &Access::of(kernel.result, modes));
    let mut printer = Printer { program, kernel, out: String::new() };
    let _ = writeln!(printer.out, "{result} {}", output(&plan.output));
    if let Some(choice) = kernel.choices.first() {
        printer
            .line(0, &format!("about {:.0} steps, by what is known of the operands", choice.cost));
    }
    match &plan.parts {
        Err(NotCut::NotAsked) => {}
        Err(whole) => printer.line(0, &format!("whole: {}", whole.reason())),
        Ok(partition) => printer.parts(partition),
    }
    match &plan.root {
        Some(node) => printer.node(node, 0),
        None => printer.line(0, "nothing"),
    }
    printer.out
}

/// How a result is written, in words.
fn output(output: &Output) -> String {
    match output {
        Output::InPlace => "in place".to_owned(),
        Output::Insert => "inserted".to_owned(),
        Output::SharedStructure => "at the positions of a known structure".to_owned(),
        Output::Assemble(Assembly { in_order, rest, .. }) => {
            let levels =
                |n: usize| if n == 1 { "1 level".to_owned() } else { format!("{n} levels") };
            match (in_order, rest) {
                (n, Rest::Block) => format!("appended: {} in order", levels(*n)),
                (0, rest) => format!("appended: {}", rest.name()),
                (n, rest) => format!("appended: {} in order, then {}", levels(*n), rest.name()),
            }
        }
    }
}

impl Rest {
    /// The name in plans.
    pub fn name(self) -> &'static str {
        match self {
            Rest::Block => "block",
            Rest::CoordinateBuffer => "coordinate buffer",
            Rest::Accumulator => "accumulator",
            Rest::PositionAccumulator => "accumulator of positions",
            Rest::CountThenFill => "count then fill",
        }
    }
}

/// What runs the iterations of a loop.
fn unit(tag: &Tag) -> String {
    let mut text = String::new();
    if let Some((unit, races)) = tag.parallel {
        let _ = write!(text, " on {}", unit.name());
        if races != Races::NoRaces {
            let _ = write!(text, " with {}", races.name());
        }
    }
    if let Some(factor) = tag.unroll {
        let _ = write!(text, " unrolled {factor} times");
    }
    text
}

struct Printer<'p> {
    program: &'p Program,
    kernel: &'p Kernel,
    out: String,
}

impl Printer<'_> {
    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.out, "{:1$}{text}", "", 2 * depth);
    }

    /// How parts are cut, and how their results become one.
    fn parts(&mut self, partition: &Partition) {
        let var = &self.program.vars[partition.var];
        let cut = match partition.cut {
            CutPoint::Coordinates => "coordinates",
            CutPoint::Positions => "positions",
            CutPoint::Segments => "segments of equal coordinates",
        };
        let join = match partition.join {
            Join::Shared { .. } => "which write elements of their own".to_owned(),
            Join::Concatenate => "which follow each other".to_owned(),
            Join::Combine(op) => format!("combined by {}", op.binary().name()),
            Join::Overlap { op, .. } => {
                format!("combined by {} where they meet", op.binary().name())
            }
            Join::Pack { .. } => "listed and packed".to_owned(),
        };
        self.line(0, &format!("parts by {cut} of {var}, {join}"));
    }

    fn node(&mut self, node: &Node, depth: usize) {
        match node {
            Node::Loop(nest) => self.nest(nest, depth),
            Node::Locate(locate) => self.locate(locate, depth),
            Node::Where(inner) => {
                let Where { tensor, producer, consumer, .. } = &**inner;
                let name = &self.program.tensors[*tensor].name;
                self.line(depth, &format!("compute {name}"));
                self.node(producer, depth + 1);
                self.node(consumer, depth);
            }
            Node::Sequence(parts) => parts.iter().for_each(|part| self.node(part, depth)),
            Node::Assign { lhs, op, rhs } => {
                let assign = Stmt::Assign { lhs: lhs.clone(), op: *op, rhs: rhs.clone() };
                self.line(depth, &print::stmt(self.program, &assign));
            }
        }
    }

    fn locate(&mut self, locate: &Locate, depth: usize) {
        let Locate { access, level, by, present, absent, .. } = locate;
        let how = match by {
            Lookup::Locate => "locate",
            Lookup::BinarySearch => "search",
            Lookup::LinearSearch => "search linearly",
        };
        let at = self.level(access, *level);
        match absent {
            Absent::Never => {
                self.line(depth, &format!("{how} {at}"));
                self.node(present, depth);
            }
            Absent::Nothing => {
                self.line(depth, &format!("{how} {at}, where found"));
                self.node(present, depth + 1);
            }
            Absent::Does(rest) => {
                self.line(depth, &format!("{how} {at}, where found"));
                self.node(present, depth + 1);
                self.line(depth, "else");
                self.node(rest, depth + 1);
            }
        }
    }

    fn nest(&mut self, nest: &Loop, depth: usize) {
        let name = |v| self.program.vars[v].as_str();
        let mut head = format!("for {}", name(nest.own));
        if nest.var != nest.own || nest.window == Window::Part {
            let part = if nest.window == Window::Part { "a part of " } else { "" };
            let _ = write!(head, " in {part}{}", name(nest.var));
        }
        if let Some(tag) = self.kernel.tags.get(&nest.own) {
            head += &unit(tag);
        }
        if let Some(level) = nest.result_level {
            let _ = write!(head, ", writes level {}", level + 1);
        }
        let how = self.merge(nest);
        self.line(depth, &format!("{head}: {how}"));
        self.body(nest, depth + 1);
        if let Some(rest) = &nest.background {
            let times = match rest.times {
                Times::Once => "once",
                Times::Each(_) => "times their number",
            };
            self.line(depth, &format!("at all other {}, {times}", self.program.vars[nest.var]));
            self.node(&rest.node, depth + 1);
        }
    }

    fn body(&mut self, nest: &Loop, depth: usize) {
        let every: Set = nest.points().iter().fold(0, |set, point| set | point);
        match &nest.body {
            Body::Cases(cases) => match &cases[..] {
                [case] if case.present == every => self.node(&case.node, depth),
                cases => {
                    for case in cases {
                        let at = self.present(nest, case.present);
                        self.line(depth, &format!("at {at}"));
                        self.node(&case.node, depth + 1);
                    }
                }
            },
            Body::Sum(sum) => {
                for (driver, term) in &sum.terms {
                    let at = self.present(nest, 1 << driver);
                    self.line(depth, &format!("at {at}"));
                    self.node(term, depth + 1);
                }
                self.node(&sum.consumer, depth);
            }
        }
    }

    fn present(&self, nest: &Loop, present: Set) -> String {
        let members = nest.drivers.iter().enumerate().filter(|(k, _)| present & (1 << k) != 0);
        let names: Vec<String> =
            members.map(|(_, d)| print::access(self.program, &d.access)).collect();
        if names.is_empty() { "no other".to_owned() } else { names.join(", ") }
    }

    /// How the drivers of a loop are merged, in words.
    fn merge(&self, nest: &Loop) -> String {
        let drivers: Vec<String> = nest.drivers.iter().map(|d| self.driver(d)).collect();
        let drivers = drivers.join(", ");
        match (nest.merge, &nest.drivers[..]) {
            (Merge::Nothing, _) => "nothing".to_owned(),
            (Merge::Universe, []) => "every coordinate".to_owned(),
            (Merge::Universe, _) => format!("every coordinate, with {drivers}"),
            (Merge::Led(leader), _) => {
                format!("{drivers}, led by {}", self.present(nest, 1 << leader))
            }
            (Merge::NarySum, _) => format!("sum of {drivers}"),
            (Merge::Nary, _) => format!("merge at once {drivers}"),
            (Merge::Points, [_]) => format!("walk {drivers}"),
            (Merge::Points, _) => format!("merge {drivers}"),
        }
    }

    fn driver(&self, driver: &Driver) -> String {
        let mut text = self.level(&driver.access, driver.level);
        if driver.duplicates == Duplicates::Segment {
            text += " by segments";
        }
        if driver.advance == Advance::Gallop {
            text += " galloping";
        }
        text
    }

    fn level(&self, access: &Access, level: usize) -> String {
        let kind = self.program.storage(access.tensor).format.levels()[level].kind;
        let access = print::access(self.program, access);
        format!("{access} level {} ({})", level + 1, kind.name())
    }
}
