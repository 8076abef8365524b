//! Builds schedules command by command. Each command is written and parsed, so that everything that is refused as text
//! is refused here.

use super::command::Command;
use super::command::WorkspaceKind;
use super::list::Schedule;
use super::parse::parse;
use crate::cin::{Assembling, BoundType, MergeStrategy, ParallelUnit, Races};
use tamis_ir::diagnostic::{Code, Diagnostic};

impl Schedule {
    /// Appends a command; refuses a name or number that cannot be written.
    pub fn push(&mut self, command: &Command) -> Result<&mut Schedule, Diagnostic> {
        let separator = if self.is_empty() { "" } else { "; " };
        let longer = parse(&format!("{self}{separator}{command}"))?;
        if longer.commands().last() != Some(command) {
            let message = format!("{command} cannot be written as a command");
            return Err(Diagnostic::new(Code::Syntax, message)
                .help("names are letters, digits and underscores"));
        }
        *self = longer;
        Ok(self)
    }

    /// Appends `assemble(..)`.
    pub fn assemble(&mut self, tensor: &str, how: Assembling) -> Result<&mut Schedule, Diagnostic> {
        self.push(&Command::Assemble { tensor: tensor.to_owned(), how })
    }

    /// Appends `reorder(..)`.
    pub fn reorder(&mut self, vars: &[&str]) -> Result<&mut Schedule, Diagnostic> {
        self.push(&Command::Reorder { vars: vars.iter().map(|&v| v.to_owned()).collect() })
    }

    /// Appends `split(..)`: an outer loop, and an inner one with this trip count.
    pub fn split(
        &mut self,
        var: &str,
        loops: (&str, &str),
        size: u64,
    ) -> Result<&mut Schedule, Diagnostic> {
        let (outer, inner) = (loops.0.to_owned(), loops.1.to_owned());
        self.push(&Command::Split { var: var.to_owned(), outer, inner, size })
    }

    /// Appends `divide(..)`: an outer loop with this trip count, and an inner one.
    pub fn divide(
        &mut self,
        var: &str,
        loops: (&str, &str),
        parts: u64,
    ) -> Result<&mut Schedule, Diagnostic> {
        let (outer, inner) = (loops.0.to_owned(), loops.1.to_owned());
        self.push(&Command::Divide { var: var.to_owned(), outer, inner, parts })
    }

    /// Appends `distribute(..)`: each rank along an axis of a grid runs a part of the loop.
    pub fn distribute(
        &mut self,
        var: &str,
        loops: (&str, &str),
        axis: &str,
    ) -> Result<&mut Schedule, Diagnostic> {
        let [var, outer, inner, axis] = [var, loops.0, loops.1, axis].map(str::to_owned);
        self.push(&Command::Distribute { var, outer, inner, axis })
    }

    /// Appends `communicate(..)`: ranks get the elements of a tensor that they need before their part of a loop.
    pub fn communicate(&mut self, tensor: &str, outer: &str) -> Result<&mut Schedule, Diagnostic> {
        let (tensor, outer) = (tensor.to_owned(), outer.to_owned());
        self.push(&Command::Communicate { tensor, outer })
    }

    /// Appends `fuse(..)`: an outer loop and the one directly inside become one loop.
    pub fn fuse(&mut self, loops: (&str, &str), fused: &str) -> Result<&mut Schedule, Diagnostic> {
        let (outer, inner) = (loops.0.to_owned(), loops.1.to_owned());
        self.push(&Command::Fuse { outer, inner, fused: fused.to_owned() })
    }

    /// Appends `pos(..)`: the operand by name, or as it is used: `A(i,j)`.
    pub fn pos(
        &mut self,
        var: &str,
        position: &str,
        operand: &str,
    ) -> Result<&mut Schedule, Diagnostic> {
        let (position, operand) = (position.to_owned(), operand.to_owned());
        self.push(&Command::Pos { var: var.to_owned(), position, operand })
    }

    /// Appends `coord(..)`.
    pub fn coord(&mut self, position: &str, var: &str) -> Result<&mut Schedule, Diagnostic> {
        self.push(&Command::Coord { position: position.to_owned(), var: var.to_owned() })
    }

    /// Appends `bound(..)`.
    pub fn bound(
        &mut self,
        var: &str,
        bounded: &str,
        bound: BoundType,
    ) -> Result<&mut Schedule, Diagnostic> {
        let (var, bounded) = (var.to_owned(), bounded.to_owned());
        self.push(&Command::Bound { var, bounded, bound })
    }

    /// Appends `unroll(..)`.
    pub fn unroll(&mut self, var: &str, factor: u64) -> Result<&mut Schedule, Diagnostic> {
        self.push(&Command::Unroll { var: var.to_owned(), factor })
    }

    /// Appends `mergeby(..)`.
    pub fn mergeby(
        &mut self,
        var: &str,
        merge: MergeStrategy,
    ) -> Result<&mut Schedule, Diagnostic> {
        self.push(&Command::Mergeby { var: var.to_owned(), merge })
    }

    /// Appends `parallelize(..)`.
    pub fn parallelize(
        &mut self,
        var: &str,
        unit: ParallelUnit,
        races: Races,
    ) -> Result<&mut Schedule, Diagnostic> {
        self.push(&Command::Parallelize { var: var.to_owned(), unit, races })
    }

    /// Appends `loopfuse(..)`: operands without common inner loops get separate loops, `times` times, starting with
    /// the last operand or with this one.
    pub fn loopfuse(
        &mut self,
        times: u64,
        operand: Option<&str>,
    ) -> Result<&mut Schedule, Diagnostic> {
        self.push(&Command::Loopfuse { times, operand: operand.map(str::to_owned) })
    }

    /// Appends `precompute(..)`: a part of a value over some loops, the names of these loops where it is computed, and
    /// the workspace.
    pub fn precompute(
        &mut self,
        value: &str,
        vars: &[&str],
        own: &[&str],
        workspace: &str,
        kind: Option<WorkspaceKind>,
    ) -> Result<&mut Schedule, Diagnostic> {
        let list = |names: &[&str]| names.iter().map(|&v| v.to_owned()).collect();
        let (vars, own) = (list(vars), list(own));
        let (value, workspace) = (value.to_owned(), workspace.to_owned());
        self.push(&Command::Precompute { value, vars, own, workspace, kind })
    }
}
