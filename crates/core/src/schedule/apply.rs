//! Applies the commands of a schedule one after another, and refuses what lowering cannot do.

use super::assemble::assemble;
use super::bound::bound;
use super::command::Command;
use super::distribute::{communicate, distribute, restored};
use super::divide::divide;
use super::fuse::{fuse, unfused};
use super::list::Schedule;
use super::long_sums;
use super::loopfuse::loopfuse;
use super::mergeby::mergeby;
use super::parallelize::{check_threads, parallelize};
use super::position::{coord, follow_operands, pos};
use super::precompute::precompute;
use super::recover::{is_recoverable, recover};
use super::reorder::reorder;
use super::scheduler::{Scheduler, copies};
use super::split::split;
use super::unroll::unroll;
use super::{gpu, nest};
use crate::cin::{Kernel, Program, Relation, Role};
use crate::legalise::Statistics;
use crate::notation::Access;
use crate::plan::{count_searched, unreadable};
use std::collections::{BTreeMap, BTreeSet};
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::{IndexVar, TensorId};

/// The longest chain of loops in which each is derived from the previous one.
const MAX_DEPTH: usize = 32;

/// The largest number of searched operands with work left where they have no entry: each doubles the code.
const MOST_SEARCHED: usize = 8;

/// Why a schedule cannot be applied.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// What is wrong.
    pub diagnostic: Box<Diagnostic>,
    /// The tensor of the notation that the loops cannot read or write as it is stored, if that is the only reason.
    pub storage: Option<TensorId>,
}

impl From<Diagnostic> for Refusal {
    fn from(diagnostic: Diagnostic) -> Refusal {
        Refusal { diagnostic: Box::new(diagnostic), storage: None }
    }
}

impl From<Refusal> for Diagnostic {
    fn from(refusal: Refusal) -> Diagnostic {
        *refusal.diagnostic
    }
}

/// Applies every command in turn.
pub(super) fn apply(
    program: Program,
    schedule: &Schedule,
    sizes: &Statistics,
) -> Result<Program, Refusal> {
    let kernel = meant(&program, schedule);
    apply_to(program, schedule, kernel, sizes)
}

/// Applies every command in turn to a kernel.
pub(super) fn apply_to(
    program: Program,
    schedule: &Schedule,
    kernel: usize,
    sizes: &Statistics,
) -> Result<Program, Refusal> {
    let Some(first) = schedule.commands.first() else { return Ok(program) };
    let source = schedule.source.as_str();
    let mut scheduler = Scheduler { program, kernel, sizes, source, at: first };
    let chosen = std::mem::take(&mut scheduler.kernel_mut().tags);
    scheduler.leave_names(schedule);
    let long = long_sums::join(&mut scheduler, schedule);
    for placed in &schedule.commands {
        scheduler.at = placed;
        scheduler.apply(&placed.command)?;
        scheduler.check_depth()?;
        follow_operands(&mut scheduler);
        scheduler.check_positions()?;
        check_threads(&scheduler)?;
    }
    long_sums::spread(&mut scheduler, schedule, long)?;
    unfused(&mut scheduler);
    restored(&mut scheduler);
    // Choices of legalisation stay for loops that no command mentions.
    let loops = scheduler.kernel().body.loops();
    for (var, tag) in chosen.into_iter().filter(|(var, _)| loops.contains(var)) {
        scheduler.kernel_mut().tags.entry(var).or_insert(tag);
    }
    gpu::check(&mut scheduler, schedule)?;
    scheduler.at = first;
    scheduler.check_operands()?;
    Ok(scheduler.program)
}

impl Scheduler<'_> {
    /// Renames tensors of legalisation that have the names that commands give to workspaces and their loops.
    fn leave_names(&mut self, schedule: &Schedule) {
        let mut given = BTreeSet::new();
        for placed in &schedule.commands {
            if let Command::Precompute { own, workspace, .. } = &placed.command {
                given.extend(own.iter().chain([workspace]).map(String::as_str));
            }
        }
        let own = self.kernel().result;
        let is_made = |role| !matches!(role, Role::Input(_) | Role::Result(_));
        let ids: Vec<TensorId> = self.program.tensors.enumerate().map(|(id, _)| id).collect();
        for id in ids.into_iter().filter(|&id| id != own) {
            let tensor = &self.program.tensors[id];
            let mut name = tensor.name.clone();
            while is_made(tensor.role) && given.contains(name.as_str()) {
                name = self.program.unused_name(&format!("{name}_"));
            }
            self.program.tensors[id].name = name;
        }
    }

    /// Refuses variables at the end of too long a chain of derivations: recovering the coordinate takes code for each
    /// step.
    fn check_depth(&self) -> Result<(), Diagnostic> {
        let derived = &self.program.derived;
        let mut depths: BTreeMap<IndexVar, usize> = BTreeMap::new();
        for (var, _) in self.program.vars.enumerate() {
            derived.generation(var, &mut depths);
        }
        if depths.values().all(|&depth| depth <= MAX_DEPTH) {
            return Ok(());
        }
        let message =
            format!("a loop is made from another by at most {MAX_DEPTH} commands in a row");
        let at = self.at.span.clone();
        Err(Diagnostic::new(Code::TooLarge, message).at(self.source, at).help("use fewer commands"))
    }

    fn apply(&mut self, command: &Command) -> Result<(), Diagnostic> {
        recover(self, &command.needs());
        match command {
            Command::Assemble { tensor, how } => assemble(self, tensor, *how),
            Command::Bound { var, bounded, bound: promise } => bound(self, var, bounded, *promise),
            Command::Communicate { tensor, outer } => communicate(self, tensor, outer),
            Command::Coord { position, var } => coord(self, position, var),
            Command::Distribute { var, outer, inner, axis } => {
                distribute(self, var, (outer, inner), axis)
            }
            Command::Divide { var, outer, inner, parts } => {
                divide(self, var, (outer, inner), *parts)
            }
            Command::Fuse { outer, inner, fused } => fuse(self, (outer, inner), fused),
            Command::Loopfuse { times, operand } => loopfuse(self, *times, operand.as_deref()),
            Command::Mergeby { var, merge } => mergeby(self, var, *merge),
            Command::Parallelize { var, unit, races } => parallelize(self, var, *unit, *races),
            Command::Pos { var, position, operand } => pos(self, var, position, operand),
            Command::Precompute { value, vars, own, workspace, kind } => {
                precompute(self, value, (vars, own), workspace, *kind)
            }
            Command::Reorder { vars } => reorder(self, vars),
            Command::Split { var, outer, inner, size } => split(self, var, (outer, inner), *size),
            Command::Unroll { var, factor } => unroll(self, var, *factor),
        }
    }

    /// Checks that loops over positions are inside of loops over the levels above.
    fn check_positions(&self) -> Result<(), Diagnostic> {
        let derived = &self.program.derived;
        for var in self.kernel().body.loops() {
            let Some(p) = derived.position(var) else { continue };
            let Some(Relation::Position { above, .. }) = derived.relation(p) else { continue };
            let known = |outer: &Vec<IndexVar>| above.iter().all(|v| derived.follows(*v, outer));
            if !nest::around(&self.kernel().body, var).iter().all(known) {
                let above: Vec<&str> = above.iter().map(|&v| self.name(v)).collect();
                let (above, name) = (above.join(", "), self.name(var));
                let message = format!(
                    "{name} counts positions below those of {above}, which would not be known yet"
                );
                let help = format!("keep {name} inside of the loops that give {above}");
                return Err(self.refuse(usize::MAX, message, help));
            }
        }
        Ok(())
    }

    /// Refuses loops that cannot read an operand as it is stored.
    fn check_operands(&self) -> Result<(), Refusal> {
        let searched = count_searched(&self.program, self.kernel());
        if searched > MOST_SEARCHED {
            let message = format!(
                "these loops search {searched} operands, each with code for where it has an entry \
                 and for where it has none; at most {MOST_SEARCHED} can be searched"
            );
            let help = "run loops in the order in which the operands are stored, or compute parts of \
                        the value by statements of their own";
            return Err(self.refuse(usize::MAX, message, help.to_owned()).into());
        }
        let Some((access, loops)) = unreadable(&self.program, self.kernel()) else { return Ok(()) };
        let tensor = &self.program.tensors[access.tensor];
        let loops: Vec<&str> = loops.iter().map(|&v| self.name(v)).collect();
        let message = format!(
            "loops over {} cannot read {}, stored as {}: its coordinates are unordered, or \
             duplicates, or have to be visited in the order of its levels",
            loops.join(", "),
            tensor.name,
            tensor.storage.format
        );
        let help = format!("store {} as compressed or dense levels, such as csr", tensor.name);
        let diagnostic = Diagnostic::new(Code::UnsupportedSchedule, message).help(help);
        let diagnostic = diagnostic.at(self.source, 0..self.source.len());
        let storage = match tensor.role {
            Role::Input(id) => Some(id),
            _ => None,
        };
        Err(Refusal { diagnostic: Box::new(diagnostic), storage })
    }
}

/// The kernel that a schedule is for: the last one with loops over all variables that its commands need and do not
/// make, and with the operands that they name. Kernels that only copy a tensor into another format are considered
/// last.
fn meant(program: &Program, schedule: &Schedule) -> usize {
    let mut needed = vec![];
    let mut made = vec![];
    for command in schedule.commands() {
        needed.extend(command.needs().into_iter().filter(|name| !made.contains(name)));
        made.extend(command.makes());
    }
    let fits = |kernel: &Kernel| {
        let loops = kernel.body.loops();
        let is_loop = |name: &str| loops.iter().any(|&v| program.vars[v] == *name);
        needed.iter().all(|name| is_loop(name) || is_recoverable(program, kernel, name, &needed))
    };
    let named: Vec<&str> = schedule.commands().filter_map(Command::names).collect();
    let reads = |kernel: &Kernel| {
        let is_named =
            |a: &&Access| named.iter().any(|text| is_in(text, &program.tensors[a.tensor].name));
        let is_sent = |command: &Command| {
            let result = program.tensors[kernel.result].name.as_str();
            matches!(command, Command::Communicate { tensor, .. } if tensor == result)
        };
        named.is_empty()
            || kernel.body.reads().iter().any(is_named)
            || schedule.commands().any(is_sent)
    };
    let kernels = &program.kernels;
    let computes = |kernel: &Kernel| fits(kernel) && reads(kernel) && !copies(program, kernel);
    let copying = |kernel: &Kernel| fits(kernel) && reads(kernel);
    let found = kernels.iter().rposition(computes).or_else(|| kernels.iter().rposition(copying));
    let last = kernels.len().saturating_sub(1);
    found.or_else(|| kernels.iter().rposition(fits)).unwrap_or(last)
}

/// Whether a text contains a name as a word.
fn is_in(text: &str, name: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}
