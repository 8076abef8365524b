//! What the commands share: the program under rewriting, names, and how they refuse.

use super::precompute::precompute;
use super::{Placed, Schedule, reorder};
use crate::cin::{Kernel, Program};
use crate::diagnostic::{Code, Diagnostic};
use crate::ids::IndexVar;
use crate::legalise::unreadable;
use crate::notation::Access;
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
                Command::Precompute { value, vars, own, workspace, kind } => {
                    precompute(&mut scheduler, value, (vars, own), workspace, *kind)?;
                }
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
        let loops = self.kernel().body.loops();
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

    /// A new variable over the same coordinates as a loop variable.
    pub(super) fn another(
        &mut self,
        arg: usize,
        name: &str,
        var: IndexVar,
    ) -> Result<IndexVar, Diagnostic> {
        self.check_fresh(arg, name)?;
        Ok(self.program.derived.named(var, name, &mut self.program.vars))
    }

    /// Refuses a name that something else has.
    pub(super) fn check_fresh(&self, arg: usize, name: &str) -> Result<(), Diagnostic> {
        let var = self.program.vars.iter().any(|v| v == name);
        if !var && self.program.tensors.iter().all(|t| t.name != name) {
            return Ok(());
        }
        let message = format!("{name} is the name of another variable or tensor");
        Err(self.refuse(arg, message, format!("choose a new name, such as {name}_")))
    }

    /// Gives the levels of every operand of the kernel their variables.
    pub(super) fn declare_uses(&mut self) {
        let reads: Vec<Access> = self.kernel().body.reads().into_iter().cloned().collect();
        for access in reads {
            let format = self.program.storage(access.tensor).format.clone();
            let (derived, vars) = (&mut self.program.derived, &mut self.program.vars);
            derived.declare(&format, access.tensor, &access.indices, vars);
        }
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

    /// A diagnostic that points at a stretch of an argument.
    pub(super) fn inside(
        &self,
        arg: usize,
        within: std::ops::Range<usize>,
        diagnostic: Diagnostic,
    ) -> Diagnostic {
        let span = self.at.args.get(arg).unwrap_or(&self.at.span);
        let at = |k: usize| (span.start + k).min(span.end);
        diagnostic.at(self.source, at(within.start)..at(within.end))
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
        let loops = kernel.body.loops();
        needed.iter().all(|name| loops.iter().any(|&v| program.vars[v] == *name))
    };
    let last = program.kernels.len().saturating_sub(1);
    program.kernels.iter().rposition(fits).unwrap_or(last)
}
