//! Text to a plan: what [`print`] writes.
//!
//! A text is read line by line into nodes. What it says beside these, such as the partition, follows from the kernel:
//! the plan is printed and compared with the text, so that no line says anything else.

use super::print::{ALL, COORDINATES, OUTPUTS, POSITIONS, print};
use super::{
    Absent, Advance, Assembly, Background, Body, Case, Driver, Duplicates, Locate, Lookup, Loop,
    Merge, Node, Output, Plan, Planner, Rest, Sum, Times, Where, Window, around,
};
use crate::cin::text::{CinParser, Reader};
use crate::cin::{Kernel, Program, Stmt};
use crate::iteration::lattice::Set;
use crate::notation::Access;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::TensorId;

/// Reads the plan of a kernel: how its result is written, and how its loops read and merge. How it is cut
/// into parts follows.
///
/// # Errors
///
/// [`Syntax`](tamis_ir::diagnostic::Code::Syntax), with the location, where the text does not follow the grammar of
/// [`print`](super::print()) or uses a name that the program does not have.
pub fn parse(program: &Program, kernel: &Kernel, text: &str) -> Result<Plan, Diagnostic> {
    let mut known: Vec<Access> = kernel.body.reads().into_iter().cloned().collect();
    kernel.body.for_each_assign(&mut |lhs, _, _| known.push(lhs.clone()));
    known.push(Access::of(kernel.result, program.tensors[kernel.result].modes.clone()));
    let names = CinParser::of(program);
    let mut lines = Lines { program, names, known, text, lines: lines(text), at: 0 };
    let output = lines.output(kernel)?;
    let follow = ["estimate of legalisation", "may be cut", "not cut"];
    while follow.iter().any(|words| lines.begins(words)) {
        lines.at += 1;
    }
    let root = match lines.begins("nothing") {
        true => {
            lines.at += 1;
            None
        }
        false => Some(lines.node(0)?),
    };
    match lines.lines.get(lines.at) {
        Some(_) => Err(lines.line()?.refuse("the plan goes on unexpectedly")),
        None => {
            let planner = Planner::new(program, kernel);
            let body = planner.facts.stmt(kernel.body.clone());
            let plan = around(planner, body.as_ref(), output, root);
            lines.compare(&print(program, kernel, &plan))?;
            Ok(plan)
        }
    }
}

/// The lines that are not empty, each with how far it is indented.
fn lines(text: &str) -> Vec<(usize, std::ops::Range<usize>)> {
    let mut at = 0;
    let mut found = vec![];
    for line in text.split('\n') {
        let indent = line.len() - line.trim_start().len();
        let (start, end) = (at + indent, at + line.trim_end().len());
        if start < end {
            found.push((indent / 2, start..end));
        }
        at += line.len() + 1;
    }
    found
}

/// What is left of a text.
struct Lines<'t> {
    program: &'t Program,
    names: CinParser,
    /// Every use of a tensor in the kernel, and the result by its own modes.
    known: Vec<Access>,
    text: &'t str,
    lines: Vec<(usize, std::ops::Range<usize>)>,
    at: usize,
}

type Parsed<T> = Result<T, Diagnostic>;

impl<'t> Lines<'t> {
    /// The line at hand.
    fn line(&self) -> Parsed<Reader<'t>> {
        let end = self.text.len();
        let part = self.lines.get(self.at).map_or(end..end, |(_, part)| part.clone());
        let line = Reader::new(self.text, part);
        if line.rest().is_empty() { Err(line.refuse("the plan ends early")) } else { Ok(line) }
    }

    /// Whether the line at hand begins with a word.
    fn begins(&self, word: &str) -> bool {
        let part = self.lines.get(self.at).map(|(_, part)| part.clone());
        part.is_some_and(|part| Reader::new(self.text, part).eat(word))
    }

    /// Refuses the first line that says something else than the plan that was read.
    fn compare(&mut self, printed: &str) -> Parsed<()> {
        for (at, line) in printed.lines().enumerate() {
            self.at = at;
            let own = self.lines.get(at).map(|(_, part)| &self.text[part.clone()]);
            if own != Some(line.trim_start()) {
                let message = format!("this line would be: {}", line.trim_start());
                return Err(self.line()?.refuse(&message));
            }
        }
        Ok(())
    }

    /// A use of a tensor that the kernel reads or writes.
    fn access(&mut self, line: &mut Reader<'t>) -> Parsed<Access> {
        let access = self.names.access(line)?;
        match self.known.contains(&access) {
            true => Ok(access),
            false => Err(line.refuse("the kernel has no such operand as the one before this")),
        }
    }

    /// Whether the line at hand stands so deep.
    fn is_at(&self, depth: usize) -> bool {
        self.lines.get(self.at).is_some_and(|(own, _)| *own == depth)
    }

    fn output(&mut self, kernel: &Kernel) -> Parsed<Output> {
        let mut line = self.line()?;
        self.at += 1;
        line.eat("temporary");
        self.access(&mut line)?;
        if line.eat(", a copy of") {
            self.access(&mut line)?;
            line.expect(",")?;
        }
        if let Some((_, output)) = OUTPUTS.into_iter().find(|(words, _)| line.eat(words)) {
            // What elements hold before follows from the kernel.
            return Ok(output);
        }
        line.expect("assembled:")?;
        let mut named = Rest::ALL.into_iter().find(|rest| line.eat(rest.name()));
        let mut in_order = 0;
        if named.is_none() {
            in_order = line.integer()? as usize;
            let _ = line.eat("levels appended") || line.eat("level appended");
            named = match line.eat(", then") {
                false => Some(Rest::Block),
                true => Rest::ALL.into_iter().find(|rest| line.eat(rest.name())),
            };
        }
        let rest = named.ok_or_else(|| line.refuse("no way to write levels has this name"))?;
        let vars = Planner::new(self.program, kernel).result_vars();
        let mut loops = vars.clone();
        if line.eat(", by") {
            let var = self.names.var(&mut line)?;
            *loops.first_mut().ok_or_else(|| line.refuse("the result has no levels"))? = var;
        }
        line.finish()?;
        Ok(Output::Assemble(Assembly { vars, loops, in_order, rest }))
    }

    fn node(&mut self, depth: usize) -> Parsed<Node> {
        let mut line = self.line()?;
        if !self.is_at(depth) {
            return Err(line.refuse("this line is not indented as the lines before say"));
        }
        self.at += 1;
        if line.rest().starts_with("for ") {
            return self.nest(&mut line, depth);
        }
        for words in ["locate", "search"] {
            if line.rest().starts_with(&format!("{words} ")) {
                line.eat(words);
                return self.locate(&mut line, depth);
            }
        }
        if line.rest().starts_with("compute ") {
            line.eat("compute");
            let tensor = self.names.tensor(&mut line)?;
            let opens = line.eat(", from a first value at each entry");
            let asks = line.eat(", where found");
            line.finish()?;
            let producer = self.node(depth + 1)?;
            let consumer = self.node(depth)?;
            let temporary = Where { tensor, opens, asks, producer, consumer };
            return Ok(Node::Where(Box::new(temporary)));
        }
        if line.rest().starts_with("if any ") {
            line.eat("if any");
            let tensor = self.names.tensor(&mut line)?;
            line.finish()?;
            return Ok(Node::IfAny(tensor, Box::new(self.node(depth + 1)?)));
        }
        if line.eat("sequence of") {
            let count = line.integer()?;
            let parts: Parsed<Vec<Node>> = (0..count).map(|_| self.node(depth + 1)).collect();
            return Ok(Node::Sequence(parts?));
        }
        let stmt = self.names.stmt(&mut line)?;
        line.finish()?;
        match stmt {
            Stmt::Assign { lhs, op, rhs }
                if self.known.contains(&lhs)
                    && rhs.accesses().into_iter().all(|a| self.known.contains(a)) =>
            {
                Ok(Node::Assign { lhs, op, rhs })
            }
            _ => Err(line.refuse("an assignment of what the kernel reads is expected before this")),
        }
    }

    fn locate(&mut self, line: &mut Reader<'t>, depth: usize) -> Parsed<Node> {
        self.names.var(line)?;
        line.expect("in")?;
        let Driver { access, level, .. } = self.driver(line)?;
        let by = match () {
            () if line.eat(", binary") => Lookup::BinarySearch,
            () if line.eat(", linear") => Lookup::LinearSearch,
            () => Lookup::Locate,
        };
        let var = self.program.level_vars(access.tensor, &access.indices)[level];
        let always = !line.eat(", where found");
        line.finish()?;
        let present = self.node(if always { depth } else { depth + 1 })?;
        let absent = match always {
            true => Absent::Never,
            false if self.is_at(depth) && self.begins("else") => {
                self.at += 1;
                Absent::Does(self.node(depth + 1)?)
            }
            false => Absent::Nothing,
        };
        Ok(Node::Locate(Box::new(Locate { access, level, var, by, present, absent })))
    }

    fn nest(&mut self, line: &mut Reader<'t>, depth: usize) -> Parsed<Node> {
        line.expect("for")?;
        let own = self.names.var(line)?;
        if line.eat("(") {
            // What the variable was made from is said by the kernel.
            line.until(")")?;
        }
        let (mut var, mut window) = (own, Window::Whole);
        if line.eat("in") {
            window = if line.eat("a part of") { Window::Part } else { Window::Whole };
            var = self.names.var(line)?;
        }
        if line.eat("if there is no") {
            let mut vars = vec![self.names.var(line)?];
            while line.eat("or") {
                vars.push(self.names.var(line)?);
            }
            window = Window::IfEmpty(vars);
        }
        // What runs the loop is said by the kernel.
        let before = line.until(": ")?;
        let result_level = match before.split_once(", writes level ") {
            Some((_, level)) => {
                let level: usize = level.trim().parse().unwrap_or(0);
                Some(level.checked_sub(1).ok_or_else(|| line.refuse("no level stands before"))?)
            }
            None => None,
        };
        let (merge, register, drivers) = self.merge(line)?;
        let mut nest = Loop {
            own,
            var,
            window,
            drivers,
            merge,
            body: Body::Cases(vec![]),
            background: None,
            result_level,
        };
        nest.body = self.body(&nest, register, depth + 1)?;
        if self.is_at(depth) && self.begins("at coordinates left out") {
            let mut line = self.line()?;
            self.at += 1;
            let times = match line.eat("at coordinates left out, once") {
                true => Times::Once,
                false => {
                    line.expect("at coordinates left out, times their number")?;
                    Times::Each
                }
            };
            nest.background = Some(Background { node: self.node(depth + 1)?, times });
        }
        Ok(Node::Loop(Box::new(nest)))
    }

    /// How drivers are merged, the register of a sum, and the drivers.
    fn merge(&mut self, line: &mut Reader<'t>) -> Parsed<(Merge, Option<TensorId>, Vec<Driver>)> {
        if line.eat("nothing") {
            return Ok((Merge::Nothing, None, vec![]));
        }
        if line.eat(COORDINATES) || POSITIONS.iter().any(|words| line.eat(words)) {
            // Which positions follows from the kernel.
            if line.eat("of") {
                self.driver(line)?;
            }
            let drivers = if line.eat(", beside") { self.drivers(line)? } else { vec![] };
            return Ok((Merge::Universe, None, drivers));
        }
        let register = |lines: &mut Self, line: &mut Reader<'t>| match line.eat("in") {
            true => lines.names.tensor(line).map(Some),
            false => Ok(None),
        };
        if line.eat("led by") {
            let mut leaders = vec![self.access(line)?];
            while line.eat("and") {
                leaders.push(self.access(line)?);
            }
            let sum = register(self, line)?;
            line.expect(",")?;
            let drivers = self.drivers(line)?;
            let number = |leader: &Access| drivers.iter().position(|d| d.access == *leader);
            let of_all = leaders.iter().try_fold(0, |set, leader| Some(set | 1 << number(leader)?));
            let of_all = of_all.ok_or_else(|| line.refuse("a leader is none of the operands"))?;
            return Ok((Merge::Led(of_all), sum, drivers));
        }
        if line.eat("sum") {
            let sum = register(self, line)?;
            line.expect(",")?;
            return Ok((Merge::NarySum, sum, self.drivers(line)?));
        }
        let merge = if line.eat("merge n-ary") { Merge::Nary } else { Merge::Points };
        let _ = line.eat("merge") || line.eat("walk");
        Ok((merge, None, self.drivers(line)?))
    }

    fn drivers(&mut self, line: &mut Reader<'t>) -> Parsed<Vec<Driver>> {
        let mut drivers = vec![self.driver(line)?];
        while !line.eat(ALL) && line.eat(",") {
            drivers.push(self.driver(line)?);
        }
        line.finish()?;
        Ok(drivers)
    }

    fn driver(&mut self, line: &mut Reader<'t>) -> Parsed<Driver> {
        let access = self.access(line)?;
        line.expect("level")?;
        let level = line.integer()? as usize;
        let levels = self.program.storage(access.tensor).format.levels().len();
        if level == 0 || level > levels {
            return Err(line.refuse(&format!("the operand has {levels} levels")));
        }
        line.expect("(")?;
        line.until(")")?;
        let duplicates =
            if line.eat("by segments") { Duplicates::Segment } else { Duplicates::Each };
        let advance = if line.eat("galloping") { Advance::Gallop } else { Advance::Step };
        Ok(Driver { access, level: level - 1, duplicates, advance })
    }

    fn body(&mut self, nest: &Loop, register: Option<TensorId>, depth: usize) -> Parsed<Body> {
        if nest.merge == Merge::Nothing {
            return Ok(Body::Cases(vec![]));
        }
        let mut cases = vec![];
        let words = if register.is_some() { &["add where", "then where"][..] } else { &["where"] };
        while self.is_at(depth) && words.iter().any(|words| self.begins(words)) {
            let mut line = self.line()?;
            self.at += 1;
            let _ = words.iter().any(|words| line.eat(words));
            line.eat("only");
            let present = self.present(nest, &mut line)?;
            cases.push(Case { present, node: self.node(depth + 1)? });
        }
        if let Some(register) = register {
            let Some(Case { present: pattern, node: consumer }) = cases.pop() else {
                return Err(self.line()?.refuse("no terms of a sum stand before this"));
            };
            if cases.iter().any(|case| !case.present.is_power_of_two()) {
                return Err(self.line()?.refuse("each term before this has one operand"));
            }
            let driver = |case: Case| (case.present.trailing_zeros() as usize, case.node);
            let terms = cases.into_iter().map(driver).collect();
            return Ok(Body::Sum(Box::new(Sum { register, terms, pattern, consumer })));
        }
        if cases.is_empty() {
            cases.push(Case { present: nest.all_drivers(), node: self.node(depth)? });
        }
        Ok(Body::Cases(cases))
    }

    /// The set of some drivers.
    fn present(&mut self, nest: &Loop, line: &mut Reader<'t>) -> Parsed<Set> {
        if ["any", "not", "neither"].iter().any(|word| line.eat(word)) {
            // Which operands these are follows from the loop.
            return Ok(0);
        }
        let mut set: Set = 0;
        loop {
            let access = self.access(line)?;
            let at = nest.drivers.iter().position(|d| d.access == access);
            set |=
                1 << at.ok_or_else(|| line.refuse("no operand of the loop stands before this"))?;
            if !line.eat("and") {
                return line.finish().map(|()| set);
            }
        }
    }
}
