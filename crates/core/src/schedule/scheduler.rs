//! What the commands share: the program under rewriting, names, and how they refuse.

use super::{Placed, Schedule, nest, reorder};
use crate::cin::{Kernel, Program};
use crate::diagnostic::{Code, Diagnostic};
use crate::ids::IndexVar;
use crate::legalise::unreadable;
use crate::schedule::Command;

/// A program and the command that rewrites it.
pub(super) struct Scheduler<'s> {
    pub(super) program: Program,
    /// The kernel that the schedule is for.
    kernel: usize,
    source: &'s str,
    at: &'s Placed,
}

impl<'s> Scheduler<'s> {
    /// Applies every command in turn.
    pub(super) fn run(program: Program, schedule: &'s Schedule) -> Result<Program, Diagnostic> {
        let Some(first) = schedule.commands.first() else { return Ok(program) };
        let kernel = meant(&program, schedule);
        let source = schedule.source.as_str();
        let mut scheduler = Scheduler { program, kernel, source, at: first };
        for placed in &schedule.commands {
            scheduler.at = placed;
            match &placed.command {
                Command::Reorder { vars } => reorder::reorder(&mut scheduler, vars)?,
            }
        }
        scheduler.at = first;
        scheduler.check_operands()?;
        Ok(scheduler.program)
    }

    /// Refuses loops that cannot read an operand as it is stored.
    fn check_operands(&self) -> Result<(), Diagnostic> {
        let Some((access, loops)) = unreadable(&self.program, self.kernel()) else { return Ok(()) };
        let tensor = &self.program.tensors[access.tensor];
        let loops: Vec<&str> = loops.iter().map(|&v| self.name(v)).collect();
        let message = format!(
            "loops over {} cannot read {}, stored as {}: its coordinates come in no order, or \
             again and again, or have to be visited in the order of its levels",
            loops.join(", "),
            tensor.name,
            tensor.storage.format
        );
        let help = format!("store {} as compressed or dense levels, such as csr", tensor.name);
        let diagnostic = Diagnostic::new(Code::UnsupportedSchedule, message).help(help);
        Err(diagnostic.at(self.source, 0..self.source.len()))
    }

    /// The kernel under rewriting.
    pub(super) fn kernel(&self) -> &Kernel {
        &self.program.kernels[self.kernel]
    }

    /// The same, to change.
    pub(super) fn kernel_mut(&mut self) -> &mut Kernel {
        &mut self.program.kernels[self.kernel]
    }

    /// The loop variable that an argument names.
    pub(super) fn loop_var(&self, arg: usize, name: &str) -> Result<IndexVar, Diagnostic> {
        let loops = nest::loops(&self.kernel().body);
        let named = |v: &&IndexVar| self.program.vars[**v] == name;
        if let Some(&var) = loops.iter().find(named) {
            return Ok(var);
        }
        let names: Vec<&str> = loops.iter().map(|&v| self.name(v)).collect();
        let message = format!("there is no loop over {name}");
        let help = match names.is_empty() {
            true => "the kernel has no loops".to_owned(),
            false => format!("the loops are over {}", names.join(", ")),
        };
        let diagnostic = Diagnostic::new(Code::UnknownVariable, message);
        Err(self.placed(diagnostic, arg).help(help))
    }

    /// The name of a variable.
    pub(super) fn name(&self, var: IndexVar) -> &str {
        &self.program.vars[var]
    }

    /// A precondition that does not hold: what is needed and why it is not so here, and what to
    /// do first.
    pub(super) fn refuse(&self, arg: usize, message: String, help: String) -> Diagnostic {
        self.placed(Diagnostic::new(Code::UnsupportedSchedule, message), arg).help(help)
    }

    fn placed(&self, diagnostic: Diagnostic, arg: usize) -> Diagnostic {
        let span = self.at.args.get(arg).unwrap_or(&self.at.span);
        diagnostic.at(self.source, span.clone())
    }
}

/// The kernel that a schedule is for: the last one with loops over all the variables that its
/// commands need and do not make themselves.
fn meant(program: &Program, schedule: &Schedule) -> usize {
    let mut needed = vec![];
    let mut made = vec![];
    for command in schedule.commands() {
        needed.extend(command.needs().into_iter().filter(|name| !made.contains(name)));
        made.extend(command.makes());
    }
    let fits = |kernel: &Kernel| {
        let loops = nest::loops(&kernel.body);
        needed.iter().all(|name| loops.iter().any(|&v| program.vars[v] == *name))
    };
    let last = program.kernels.len().saturating_sub(1);
    program.kernels.iter().rposition(fits).unwrap_or(last)
}
