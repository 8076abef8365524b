//! A plan as text.
//!
//! ```text
//! C(i,j) appended: 2 levels in order
//! for i, writes level 1: every coordinate
//!   locate A(i,j) level 1 (dense)
//!   locate B(i,j) level 1 (dense)
//!   for j, writes level 2: merge A(i,j) level 2 (compressed), B(i,j) level 2 (compressed)
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
use crate::cin::{Kernel, Program, Races, Stmt, Tag, text};
use crate::iteration::lattice::Set;
use crate::notation::Access;
use std::fmt::Write;

/// The plan of a kernel.
pub fn print(program: &Program, kernel: &Kernel, plan: &Plan) -> String {
    let names = text::Printer::new(program);
    let mut printer = Printer { program, kernel, names, out: String::new() };
    let modes = program.tensors[kernel.result].modes.clone();
    let result = printer.names.access(&Access::of(kernel.result, modes));
    let how = printer.output(&plan.output);
    printer.line(0, &format!("{result} {how}"));
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

/// How results are written whose levels are not assembled.
pub(super) const OUTPUTS: [(&str, Output); 3] = [
    ("in place", Output::InPlace),
    ("inserted", Output::Insert),
    ("at the positions of a known structure", Output::SharedStructure),
];

impl Rest {
    /// Every way.
    pub const ALL: [Rest; 5] = [
        Rest::Block,
        Rest::CoordinateBuffer,
        Rest::PositionAccumulator,
        Rest::Accumulator,
        Rest::CountThenFill,
    ];

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
    names: text::Printer<'p>,
    out: String,
}

impl Printer<'_> {
    /// How a result is written, in words.
    fn output(&self, output: &Output) -> String {
        let Output::Assemble(Assembly { vars, loops, in_order, rest }) = output else {
            let named = OUTPUTS.iter().find(|(_, named)| named == output);
            return named.map_or_else(String::new, |(words, _)| (*words).to_owned());
        };
        let levels = if *in_order == 1 { "level" } else { "levels" };
        let mut text = format!("appended: {in_order} {levels} in order");
        if *rest != Rest::Block {
            let _ = write!(text, ", then {}", rest.name());
        }
        if loops[0] != vars[0] {
            let _ = write!(text, ", by {}", self.names.vars[loops[0]]);
        }
        text
    }

    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.out, "{:1$}{text}", "", 2 * depth);
    }

    /// How parts are cut, and how their results become one.
    fn parts(&mut self, partition: &Partition) {
        let var = &self.names.vars[partition.var];
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
                let Where { tensor, opens, producer, consumer } = &**inner;
                let first = if *opens { ", from a first value at each entry" } else { "" };
                self.line(depth, &format!("compute {}{first}", self.names.tensors[*tensor]));
                self.node(producer, depth + 1);
                self.node(consumer, depth);
            }
            Node::Sequence(parts) => {
                self.line(depth, &format!("sequence of {}", parts.len()));
                parts.iter().for_each(|part| self.node(part, depth + 1));
            }
            Node::Assign { lhs, op, rhs } => {
                let assign = Stmt::Assign { lhs: lhs.clone(), op: *op, rhs: rhs.clone() };
                self.line(depth, &self.names.stmt(&assign));
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
        let name = |v| self.names.vars[v].as_str();
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
                Times::Each => "times their number",
            };
            self.line(depth, &format!("elsewhere, {times}"));
            self.node(&rest.node, depth + 1);
        }
    }

    fn body(&mut self, nest: &Loop, depth: usize) {
        match &nest.body {
            Body::Cases(cases) => match &cases[..] {
                [case] if case.present == nest.all_drivers() => self.node(&case.node, depth),
                cases => {
                    for case in cases {
                        self.at(nest, case.present, &case.node, depth);
                    }
                }
            },
            Body::Sum(sum) => {
                for (driver, term) in &sum.terms {
                    self.at(nest, 1 << driver, term, depth);
                }
                self.at(nest, sum.pattern, &sum.consumer, depth);
            }
        }
    }

    fn at(&mut self, nest: &Loop, present: Set, node: &Node, depth: usize) {
        let at = self.present(nest, present);
        self.line(depth, &format!("at {at}"));
        self.node(node, depth + 1);
    }

    fn present(&self, nest: &Loop, present: Set) -> String {
        let members = nest.drivers.iter().enumerate().filter(|(k, _)| present & (1 << k) != 0);
        let names: Vec<String> = members.map(|(_, d)| self.names.access(&d.access)).collect();
        if names.is_empty() { "any".to_owned() } else { names.join(", ") }
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
                let leader = self.present(nest, 1 << leader);
                format!("led by {leader}{}, {drivers}", self.register(nest))
            }
            (Merge::NarySum, _) => format!("sum{}, {drivers}", self.register(nest)),
            (Merge::Nary, _) => format!("merge at once {drivers}"),
            (Merge::Points, [_]) => format!("walk {drivers}"),
            (Merge::Points, _) => format!("merge {drivers}"),
        }
    }

    /// The register of a sum.
    fn register(&self, nest: &Loop) -> String {
        match &nest.body {
            Body::Sum(sum) => format!(" in {}", self.names.tensors[sum.register]),
            Body::Cases(_) => String::new(),
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
        let access = self.names.access(access);
        format!("{access} level {} ({})", level + 1, kind.name())
    }
}
