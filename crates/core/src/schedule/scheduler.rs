//! The state that commands share: the program being rewritten, names, and refusals.

use super::command::Command;
use super::list::{Placed, Schedule};
use crate::cin::{Kernel, OnRanks, Program, Relation, Role, Stmt, Tag};
use crate::format::LevelMap;
use crate::legalise::Statistics;
use crate::notation::{Access, Expr};
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::{IndexVar, TensorId};

/// A program and the command that rewrites it.
pub(super) struct Scheduler<'s> {
    pub(super) program: Program,
    /// The kernel that the schedule is for.
    pub(super) kernel: usize,
    /// Known sizes of tensors.
    pub(super) sizes: &'s Statistics,
    pub(super) source: &'s str,
    pub(super) at: &'s Placed,
}

impl<'s> Scheduler<'s> {
    /// Changes the loops.
    pub(super) fn rewrite(&mut self, f: impl FnOnce(Stmt) -> Stmt) {
        let kernel = self.kernel_mut();
        kernel.body = f(kernel.body.clone());
    }

    /// Refuses variables that do not count from 0 on: diagonals.
    pub(super) fn check_from_zero(&self, arg: usize, var: IndexVar) -> Result<(), Diagnostic> {
        let derived = &self.program.derived;
        let mut counted = var;
        while let Some(&Relation::Same { of, .. }) = derived.relation(counted) {
            counted = of;
        }
        if !matches!(derived.map(counted), Some(LevelMap::Diff { .. })) {
            return Ok(());
        }
        let name = self.name(var);
        let message = format!("{name} counts diagonals, of which the first is below 0");
        let help = format!("use pos({name}, p, A) and name p, or name a loop over coordinates");
        Err(self.refuse(arg, message, help))
    }

    /// Refuses variables whose number of coordinates does not follow from dimensions: diagonals, slots, and variables
    /// derived from slots.
    pub(super) fn check_sized(&self, arg: usize, var: IndexVar) -> Result<(), Diagnostic> {
        self.check_from_zero(arg, var)?;
        let derived = &self.program.derived;
        let counts_slots = |v: &IndexVar| matches!(derived.map(*v), Some(LevelMap::Slot(_)));
        if ![&[var], &derived.ancestors(var)[..]].concat().iter().any(counts_slots) {
            return Ok(());
        }
        let name = self.name(var);
        let message = format!("{name} counts slots, and how many there are only the operand tells");
        let help = "name a loop over coordinates; slots can be split and divided".to_owned();
        Err(self.refuse(arg, message, help))
    }

    /// Refuses loops that are already parallel or unrolled.
    pub(super) fn check_untagged(&self, arg: usize, var: IndexVar) -> Result<(), Diagnostic> {
        let tag = self.kernel().tags.get(&var);
        if tag.is_none_or(|tag| tag.parallel.is_none() && tag.unroll.is_none()) {
            return Ok(());
        }
        let name = self.name(var);
        let message = format!("the loop over {name} is parallel or unrolled already");
        let help = "shape loops first, and parallelize or unroll them then".to_owned();
        Err(self.refuse(arg, message, help))
    }

    /// Refuses a second command with a tag of the same kind for a loop: only one could be carried out.
    pub(super) fn check_unsaid(
        &self,
        arg: usize,
        var: IndexVar,
        said: impl Fn(&Tag) -> bool,
        what: &str,
    ) -> Result<(), Diagnostic> {
        if !self.kernel().tags.get(&var).is_some_and(said) {
            return Ok(());
        }
        let message = format!("an earlier command says {what} the loop over {}", self.name(var));
        Err(self.refuse(arg, message, "leave one of the two commands out".to_owned()))
    }

    /// Moves the tag of a loop to the loop derived from it. It can only be a merge strategy, since other tags are
    /// refused before ([`Self::check_untagged`]).
    pub(super) fn move_tag(&mut self, made: IndexVar, from: IndexVar) {
        if let Some(tag) = self.kernel_mut().tags.remove(&from) {
            self.kernel_mut().tags.insert(made, tag);
        }
    }

    /// A new variable.
    pub(super) fn fresh(&mut self, arg: usize, name: &str) -> Result<IndexVar, Diagnostic> {
        self.check_fresh(arg, name)?;
        Ok(self.program.vars.push(name.to_owned()))
    }

    /// Makes refusals point at the last command of a kind.
    pub(super) fn stand_at(&mut self, schedule: &'s Schedule, kind: &dyn Fn(&Command) -> bool) {
        let found = schedule.commands.iter().rev().find(|placed| kind(&placed.command));
        self.at = found.unwrap_or(self.at);
    }

    /// The kernel that is being rewritten.
    pub(super) fn kernel(&self) -> &Kernel {
        &self.program.kernels[self.kernel]
    }

    /// The kernel that is being rewritten, mutably.
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
        if let Some(ranks) = self.kernel().cut.ranks.iter().find(|r| r.outer == name) {
            let message = format!("{name} counts ranks, each of which runs one iteration of it");
            let help = format!("name the loop that each rank runs, {}", self.name(ranks.inner));
            return Err(self.refuse(arg, message, help));
        }
        let message = format!("there is no loop over {name}");
        let help = match self.loops_of_kernels() {
            Some(all) => format!("a schedule changes the loops of one kernel: {all}"),
            None if loops.is_empty() => "the kernel has no loops".to_owned(),
            None => format!("the loops are over {}", self.names(&loops)),
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
        let derived = &mut self.program.derived;
        let alone = derived.iter().all(|(_, map)| !map.modes().contains(&var));
        if alone && derived.relation(var).is_none() && derived.map(var).is_none() {
            return Ok(derived.named(var, name, &mut self.program.vars));
        }
        let own = self.program.vars.push(name.to_owned());
        self.program.derived.relate(own, Relation::Same { of: var, bound: None });
        Ok(own)
    }

    /// Refuses a name that is already in use.
    pub(super) fn check_fresh(&self, arg: usize, name: &str) -> Result<(), Diagnostic> {
        let mut used = vec![];
        for kernel in &self.program.kernels {
            used.extend(kernel.body.loops());
            used.extend(kernel.body.reads().iter().flat_map(|a| a.indices.iter().copied()));
        }
        used.extend(self.program.derived.relations().map(|(var, _)| var));
        let is_outer = |ranks: &OnRanks| ranks.outer == name;
        let outer = self.program.kernels.iter().any(|k| k.cut.ranks.iter().any(is_outer));
        let var = outer || used.iter().any(|&v| self.name(v) == name);
        if !var && self.program.tensors.iter().all(|t| t.name != name) {
            return Ok(());
        }
        let message = format!("{name} is the name of another variable or tensor");
        Err(self.refuse(arg, message, format!("choose a new name, such as {name}_")))
    }

    /// Refuses names in use for two new loops, which are the arguments from the second on.
    pub(super) fn check_fresh_pair(&self, outer: &str, inner: &str) -> Result<(), Diagnostic> {
        self.check_fresh(1, outer)?;
        self.check_fresh(2, inner)?;
        if outer != inner {
            return Ok(());
        }
        let message = format!("{inner} would be the name of both new loops");
        Err(self.refuse(2, message, format!("choose another name, such as {inner}_")))
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

    /// From now on, loops over chains visit each coordinate once, with all of its duplicates, since a part of a sum
    /// has to include all duplicates; unless an operand has to be walked entry by entry.
    pub(super) fn walk_by_coordinates(&mut self) {
        let reads = self.kernel().body.reads();
        let format = |access: &Access| &self.program.storage(access.tensor).format;
        if !reads.into_iter().any(|access| format(access).is_revisiting()) {
            self.kernel_mut().scatter = false;
        }
    }

    /// Whether a name means a tensor: a copy also has the name of the original.
    pub(super) fn is_named(&self, tensor: TensorId, name: &str) -> bool {
        let declared = &self.program.tensors[tensor];
        let of = |suffix| declared.name.strip_suffix(suffix) == Some(name);
        let is_copy = declared.role == Role::Temporary && (of("_sorted") || of("_plain"));
        declared.name == name || is_copy
    }

    /// The name of the tensor that the kernel computes, if a result of this name is a copy of it.
    pub(super) fn own_name<'n>(&'n self, name: &'n str) -> &'n str {
        let Program { kernels, tensors, .. } = &self.program;
        let own = self.kernel().result;
        let reads_own = |k: &Kernel| k.body.reads().iter().any(|a| a.tensor == own);
        let stores =
            |k: &Kernel| copies(&self.program, k) && tensors[k.result].name == name && reads_own(k);
        if kernels.iter().any(stores) { &tensors[own].name } else { name }
    }

    /// The loops of each computing kernel, if there are several: the schedule may be for another kernel than the user
    /// meant.
    pub(super) fn loops_of_kernels(&self) -> Option<String> {
        let computes = |kernel: &&Kernel| !copies(&self.program, kernel);
        let all: Vec<&Kernel> = self.program.kernels.iter().filter(computes).collect();
        let told = |kernel: &&Kernel| {
            let (loops, result) = (kernel.body.loops(), &self.program.tensors[kernel.result].name);
            let loops = if loops.is_empty() { "none".to_owned() } else { self.names(&loops) };
            format!("{result} has {loops}")
        };
        (all.len() > 1).then(|| all.iter().map(told).collect::<Vec<_>>().join("; "))
    }

    fn names(&self, vars: &[IndexVar]) -> String {
        vars.iter().map(|&v| self.name(v)).collect::<Vec<_>>().join(", ")
    }

    /// The name of a variable.
    pub(super) fn name(&self, var: IndexVar) -> &str {
        &self.program.vars[var]
    }

    /// The diagnostic for a precondition that does not hold: what is needed, why it does not hold, and how to make it
    /// hold.
    pub(super) fn refuse(&self, arg: usize, message: String, help: String) -> Diagnostic {
        self.placed(Diagnostic::new(Code::UnsupportedSchedule, message), arg).help(help)
    }

    /// A diagnostic that points at a part of an argument.
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

/// The last kernel that does more than copy another tensor into a format, if there is one.
pub fn computing(program: &Program) -> Option<&Kernel> {
    let mut backwards = program.kernels.iter().rev();
    backwards.find(|kernel| !copies(program, kernel)).or(program.kernels.last())
}

/// Whether a kernel only copies a tensor that the compiler made.
pub(super) fn copies(program: &Program, kernel: &Kernel) -> bool {
    let mut copied = vec![];
    kernel.body.for_each_assign(&mut |_, op, value| {
        copied.push(match value {
            Expr::Access(access) if op.is_none() => {
                program.tensors[access.tensor].role == Role::Temporary
            }
            _ => false,
        });
    });
    copied == [true]
}
