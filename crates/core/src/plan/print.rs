//! A plan as text.
//!
//! ```text
//! C(i,j) assembled: 2 levels appended
//! for i, writes level 1: every coordinate
//!   locate i in A(i,j) level 1 (dense)
//!   locate i in B(i,j) level 1 (dense)
//!   for j, writes level 2: merge A(i,j) level 2 (compressed), B(i,j) level 2 (compressed)
//!     where A(i,j) and B(i,j)
//!       C(i,j) = A(i,j) + B(i,j)
//!     where only A(i,j)
//!       C(i,j) = A(i,j)
//!     where only B(i,j)
//!       C(i,j) = B(i,j)
//! ```

use super::{
    Absent, Advance, Assembly, Body, CutBy, Driver, Duplicates, Join, Locate, Lookup, Loop, Merge,
    Node, NotCut, Output, Partition, Plan, Planner, Rest, Times, Where, Window,
};
use crate::cin::{Choice, Kernel, ParallelUnit, Program, Races, Relation, Role, Stmt, Tag, text};
use crate::format::LevelMap;
use crate::iteration::graph::derivation;
use crate::iteration::lattice::Set;
use crate::notation::{Access, Expr};
use std::fmt::Write;
use tamis_ir::ids::IndexVar;

/// The plan of a kernel.
pub fn print(program: &Program, kernel: &Kernel, plan: &Plan) -> String {
    let names = text::Printer::new(program);
    let mut printer = Printer { program, kernel, names, out: String::new() };
    let modes = program.tensors[kernel.result].modes.clone();
    let result = printer.names.access(&Access::of(kernel.result, modes));
    let (role, source) = printer.role();
    let how = printer.output(&plan.output);
    printer.line(0, &format!("{role}{result}{source} {how}"));
    if let Some(choice) = kernel.choices.first().filter(|c| c.loops == each_once(kernel)) {
        printer.estimate(choice);
    }
    match &plan.parts {
        Err(NotCut::NotAsked) => {}
        Err(whole) => printer.line(0, &format!("not cut: {}", whole.reason())),
        Ok(partition) => printer.parts(partition),
    }
    match &plan.root {
        Some(node) => printer.node(node, 0),
        None => printer.line(0, "nothing"),
    }
    printer.out
}

/// Behind the drivers of a merge that does something only where all of them are.
pub(super) const ALL: &str = ", where all";

/// What loops without drivers visit.
pub(super) const COORDINATES: &str = "every coordinate";
pub(super) const POSITIONS: [&str; 3] =
    ["every position", "every tile of positions", "every position in the tile"];

/// How results are written whose levels are not assembled.
pub(super) const OUTPUTS: [(&str, Output); 3] = [
    ("in place", Output::InPlace),
    ("inserted", Output::Insert),
    ("at the positions of a known structure", Output::SharedStructure),
];

impl Rest {
    /// Every way.
    pub const ALL: [Rest; 9] = [
        Rest::Block,
        Rest::AppendThenSort,
        Rest::AppendSortCombine,
        Rest::CoordinateBuffer,
        Rest::PositionAccumulator,
        Rest::Accumulator,
        Rest::CountThenFill,
        Rest::CountFillSort,
        Rest::CountThenInsert,
    ];

    /// The name in plans.
    pub fn name(self) -> &'static str {
        match self {
            Rest::Block => "block",
            Rest::AppendThenSort => "append and sort",
            Rest::AppendSortCombine => "append, sort and combine",
            Rest::CoordinateBuffer => "coordinate buffer",
            Rest::Accumulator => "accumulator",
            Rest::PositionAccumulator => "accumulator of positions",
            Rest::CountThenFill => "count then fill",
            Rest::CountFillSort => "count, fill and sort",
            Rest::CountThenInsert => "count then insert",
        }
    }
}

/// What a statement copies, if it does nothing else.
fn copied(stmt: &Stmt) -> Option<&Access> {
    match stmt {
        Stmt::Forall { body, .. } => copied(body),
        Stmt::Assign { op: None, rhs: Expr::Access(source), .. } => Some(source),
        _ => None,
    }
}

/// The variables of a kernel's loops, outermost first, each once.
fn each_once(kernel: &Kernel) -> Vec<IndexVar> {
    let mut found = vec![];
    for var in kernel.body.loops() {
        if !found.contains(&var) {
            found.push(var);
        }
    }
    found
}

/// What runs the iterations of a loop.
fn unit(tag: &Tag) -> String {
    let mut text = String::new();
    if let Some((unit, races)) = tag.parallel {
        match unit {
            ParallelUnit::NotParallel => text += " not parallel",
            unit => {
                let _ = write!(text, " on {}", unit.name());
            }
        }
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
    /// What tells a temporary from a result, and a copy from what is computed.
    fn role(&self) -> (&'static str, String) {
        let is_temporary = self.program.tensors[self.kernel.result].role == Role::Temporary;
        match copied(&self.kernel.body) {
            Some(source) if is_temporary => {
                ("temporary ", format!(", a copy of {},", self.names.access(source)))
            }
            _ if is_temporary => ("temporary ", String::new()),
            _ => ("", String::new()),
        }
    }

    /// What the loops cost, and that of copies for them.
    fn estimate(&mut self, choice: &Choice) {
        let names = choice.copied.iter().map(|&t| self.names.tensors[t].as_str());
        let names = names.collect::<Vec<_>>().join(" and ");
        let copies = if names.is_empty() { names } else { format!(", with copies of {names}") };
        self.line(
            0,
            &format!("estimate of legalisation: {:.0e} multiply-adds{copies}", choice.cost),
        );
    }

    /// How a result is written, in words.
    fn output(&self, output: &Output) -> String {
        let Output::Assemble(Assembly { vars, loops, in_order, rest }) = output else {
            let named = OUTPUTS.iter().find(|(_, named)| named == output);
            let mut text = named.map_or_else(String::new, |(words, _)| (*words).to_owned());
            let initial = Planner::new(self.program, self.kernel).initial();
            if *output == Output::InPlace && !initial.is_zero() {
                let _ = write!(text, ", elements start at {initial}");
            }
            return text;
        };
        let mut steps = vec![];
        match in_order {
            0 => {}
            1 => steps.push("1 level appended".to_owned()),
            levels => steps.push(format!("{levels} levels appended")),
        }
        if *rest != Rest::Block || steps.is_empty() {
            steps.push(rest.name().to_owned());
        }
        let mut text = format!("assembled: {}", steps.join(", then "));
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
            CutBy::Coordinates => "coordinates",
            CutBy::Positions => "positions",
            CutBy::Segments => "segments of equal coordinates",
        };
        let join = match partition.join {
            Join::Shared { .. } => "parts write elements of their own".to_owned(),
            Join::Concatenate => "levels of parts are concatenated".to_owned(),
            Join::Combine(op) => format!("arrays of parts are combined by {}", op.binary().name()),
            Join::Overlap { op, .. } => {
                format!("arrays of parts are combined by {} where they overlap", op.binary().name())
            }
            Join::Pack { .. } => "entries of parts are packed together".to_owned(),
        };
        self.line(0, &format!("may be cut by {cut} of {var}: {join}"));
    }

    fn node(&mut self, node: &Node, depth: usize) {
        match node {
            Node::Loop(nest) => self.nest(nest, depth),
            Node::Locate(locate) => self.locate(locate, depth),
            Node::Where(inner) => {
                let Where { tensor, opens, asks, producer, consumer } = &**inner;
                let first = if *opens { ", from a first value at each entry" } else { "" };
                let asks = if *asks { ", where found" } else { "" };
                let name = &self.names.tensors[*tensor];
                self.line(depth, &format!("compute {name}{first}{asks}"));
                self.node(producer, depth + 1);
                self.node(consumer, depth);
            }
            Node::IfAny(tensor, node) => {
                self.line(depth, &format!("if any {}", self.names.tensors[*tensor]));
                self.node(node, depth + 1);
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
        let Locate { access, level, var, by, present, absent } = locate;
        let (how, search) = match by {
            Lookup::Locate => ("locate", ""),
            Lookup::BinarySearch => ("search", ", binary"),
            Lookup::LinearSearch => ("search", ", linear"),
        };
        let at = self.level(access, *level);
        let at = format!("{} in {at}{search}", self.names.vars[*var]);
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
        head += &self.derivation(nest.own);
        if nest.var != nest.own || nest.window == Window::Part {
            let part = if nest.window == Window::Part { "a part of " } else { "" };
            let _ = write!(head, " in {part}{}", name(nest.var));
        }
        if let Window::IfEmpty(vars) = &nest.window {
            let vars: Vec<&str> = vars.iter().map(|v| name(*v)).collect();
            let _ = write!(head, " if there is no {}", vars.join(" or "));
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
            self.line(depth, &format!("at coordinates left out, {times}"));
            self.node(&rest.node, depth + 1);
        }
    }

    /// What a loop's variable was made from; positions are named by what the loop visits.
    fn derivation(&self, own: IndexVar) -> String {
        let (derived, vars) = (&self.program.derived, &self.names.vars);
        let Some(how) = derivation(self.program, vars, own) else { return String::new() };
        match derived.relation(own) {
            Some(Relation::Position { .. }) => String::new(),
            None | Some(Relation::Fused { .. }) => format!(" ({how})"),
            Some(_) => {
                let from = derived.origins(own).into_iter().map(|v| vars[v].as_str());
                format!(" (from {}: {how})", from.collect::<Vec<_>>().join(" and "))
            }
        }
    }

    fn body(&mut self, nest: &Loop, depth: usize) {
        match &nest.body {
            Body::Cases(cases) => match &cases[..] {
                [case] if case.present == nest.all_drivers() => self.node(&case.node, depth),
                cases => {
                    for case in cases {
                        let all = self.names_of(nest, nest.all_drivers());
                        let names = self.names_of(nest, case.present);
                        let there = match (&names[..], &all[..]) {
                            ([], [one]) => format!("not {one}"),
                            ([], all) => format!("neither {}", all.join(" nor ")),
                            (names, all) if names.len() == all.len() => names.join(" and "),
                            (names, _) => format!("only {}", names.join(" and ")),
                        };
                        self.line(depth, &format!("where {there}"));
                        self.node(&case.node, depth + 1);
                    }
                }
            },
            Body::Sum(sum) => {
                for (driver, term) in &sum.terms {
                    let names = self.names_of(nest, 1 << driver);
                    self.line(depth, &format!("add where {}", names.join(" and ")));
                    self.node(term, depth + 1);
                }
                let pattern = match &self.names_of(nest, sum.pattern)[..] {
                    [] => "any".to_owned(),
                    names => names.join(" and "),
                };
                self.line(depth, &format!("then where {pattern}"));
                self.node(&sum.consumer, depth + 1);
            }
        }
    }

    /// The drivers of a set.
    fn names_of(&self, nest: &Loop, present: Set) -> Vec<String> {
        let members = nest.drivers.iter().enumerate().filter(|(k, _)| present & (1 << k) != 0);
        members.map(|(_, d)| self.names.access(&d.access)).collect()
    }

    /// How the drivers of a loop are merged, in words.
    fn merge(&self, nest: &Loop) -> String {
        let drivers: Vec<String> = nest.drivers.iter().map(|d| self.driver(d)).collect();
        let drivers = drivers.join(", ");
        match (nest.merge, &nest.drivers[..]) {
            (Merge::Nothing, _) => "nothing".to_owned(),
            (Merge::Universe, []) => self.every(nest.own),
            (Merge::Universe, _) => format!("{}, beside {drivers}", self.every(nest.own)),
            (Merge::Led(leaders), _) => {
                let leaders = self.names_of(nest, leaders).join(" and ");
                format!("led by {leaders}{}, {drivers}{}", self.register(nest), self.all(nest))
            }
            (Merge::NarySum, _) => format!("sum{}, {drivers}", self.register(nest)),
            (Merge::Nary, _) => format!("merge n-ary {drivers}{}", self.all(nest)),
            (Merge::Points, [_]) => format!("walk {drivers}"),
            (Merge::Points, _) => format!("merge {drivers}{}", self.all(nest)),
        }
    }

    /// What a loop without drivers visits: coordinates, or positions of an operand that a schedule counts.
    fn every(&self, own: IndexVar) -> String {
        let derived = &self.program.derived;
        let relation = |var| derived.relation(var);
        let counted = derived.position(own).and_then(relation);
        let Some(Relation::Position { access, level, .. }) = counted else {
            return COORDINATES.to_owned();
        };
        let words = match (relation(own), derived.map(own)) {
            (Some(Relation::Part { .. }), _) | (_, Some(LevelMap::Div(..))) => POSITIONS[1],
            (Some(Relation::Place { .. }), _) | (_, Some(LevelMap::Mod(..))) => POSITIONS[2],
            _ => POSITIONS[0],
        };
        format!("{words} of {}", self.level(access, *level))
    }

    /// What tells that something is done only where all drivers are.
    fn all(&self, nest: &Loop) -> &'static str {
        match &nest.body {
            Body::Cases(cases) if matches!(&cases[..], [c] if c.present == nest.all_drivers()) => {
                ALL
            }
            _ => "",
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
