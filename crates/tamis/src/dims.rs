//! Dimensions of index variables and tensors, from the operands and from what the user says.

use std::collections::BTreeMap;
use tamis_core::cin::{self, Role, Root, Scale};
use tamis_core::notation::{Access, Program, Slice};
use tamis_ir::diagnostic::{Code, Diagnostic, Setting};
use tamis_ir::ids::{Id, IdVec, IndexVar, TensorId};

/// What is known of dimensions.
pub(crate) struct Known {
    /// The dimension of each index variable, as far as something fixes it.
    pub(crate) vars: IdVec<IndexVar, Option<u64>>,
    /// The dimensions of operands, and of results as far as their variables fix them.
    pub(crate) tensors: BTreeMap<TensorId, Vec<u64>>,
}

/// The dimension of each index variable, as far as tensors and `given` fix it.
///
/// `tensors` has the dimensions of operands and of those results that the user gave some; two
/// uses of a variable must agree.
pub(crate) fn known(
    program: &Program,
    tensors: BTreeMap<TensorId, Vec<u64>>,
    given: &BTreeMap<IndexVar, u64>,
) -> Result<Known, Diagnostic> {
    let vars = program.vars.iter().map(|_| None).collect();
    let origin = program.vars.iter().map(|_| None).collect();
    let mut learner = Learner { program, known: Known { vars, tensors }, origin };
    for (&var, &dimension) in given {
        learner.known.vars[var] = Some(dimension);
    }
    for statement in &program.statements {
        for access in statement.value.accesses() {
            learner.learn(access)?;
        }
        let result = &statement.result;
        learner.learn(result)?;
        let dims: Option<Vec<u64>> =
            result.indices.iter().map(|&v| learner.known.vars[v]).collect();
        if let (Some(dims), true) = (dims, !result.is_sliced()) {
            learner.known.tensors.entry(result.tensor).or_insert(dims);
        }
    }
    Ok(learner.known)
}

struct Learner<'p> {
    program: &'p Program,
    known: Known,
    /// The use of a tensor and its mode that fixed each variable, unless an option did.
    origin: IdVec<IndexVar, Option<(&'p Access, usize)>>,
}

impl<'p> Learner<'p> {
    /// What a use of a tensor says of its variables.
    fn learn(&mut self, access: &'p Access) -> Result<(), Diagnostic> {
        let Some(dims) = self.known.tensors.get(&access.tensor) else { return Ok(()) };
        let program = self.program;
        if dims.len() != access.indices.len() {
            let modes =
                if dims.len() == 1 { "1 mode".to_owned() } else { format!("{} modes", dims.len()) };
            let message = format!(
                "{} has {modes} and is used with {}",
                program.tensors[access.tensor].name,
                access.indices.len()
            );
            return Err(Diagnostic::new(Code::OrderMismatch, message)
                .at(&program.source, access.span.clone())
                .help("use one index variable per mode"));
        }
        for (mode, (&var, &dimension)) in access.indices.iter().zip(dims).enumerate() {
            let dimension = match access.slicing(mode) {
                Some(slicing) => {
                    let slice = slicing.slice();
                    let members = slice.len(dimension);
                    members.map_err(|c| self.beyond(access, mode, slice, c, dimension))?
                }
                None => dimension,
            };
            match self.known.vars[var] {
                Some(known) if known != dimension => {
                    return Err(self.mismatch(var, known, access, mode, dimension));
                }
                Some(_) => {}
                None => {
                    self.known.vars[var] = Some(dimension);
                    self.origin[var] = Some((access, mode));
                }
            }
        }
        Ok(())
    }

    /// Two dimensions of one variable.
    fn mismatch(
        &self,
        var: IndexVar,
        known: u64,
        access: &Access,
        mode: usize,
        dimension: u64,
    ) -> Diagnostic {
        let (program, name) = (self.program, &self.program.vars[var].name);
        let (before, here) = (self.place(self.origin[var]), self.place(Some((access, mode))));
        let mut message = format!("index {name}: {before} has {known}, {here} has {dimension}");
        let mut help = "use different index variables, or operands of equal dimension".to_owned();
        let statement = |access: &Access| program.statement_at(&access.span);
        if let (Some(here), Some((other, _))) = (statement(access), self.origin[var])
            && statement(other).is_some_and(|before| before.span != here.span)
        {
            message.push_str("; a name is one index variable in all statements");
            help = format!("name it otherwise: {}", program.with_own_variable(here, var));
        }
        let told = Diagnostic::new(Code::DimensionMismatch, message)
            .at(&program.source, access.span.clone());
        if self.origin[var].is_none() {
            // Operands fix it.
            let (help, setting) =
                (format!("leave out {{}}, or {help}"), Setting::Dimension(name.clone()));
            return told.help_by(help, [setting]).naming(Setting::Dimensions);
        }
        told.help(help).naming(Setting::Dimensions)
    }

    /// What fixed a variable, in words.
    fn place(&self, origin: Option<(&Access, usize)>) -> String {
        let Some((access, mode)) = origin else { return Setting::Dimensions.to_string() };
        let of = format!("mode {} of {}", mode + 1, self.program.tensors[access.tensor].name);
        match access.slicing(mode) {
            Some(slicing) => format!("{} of {of}", slicing.slice()),
            None => of,
        }
    }

    /// A set with a member that the mode lacks.
    fn beyond(
        &self,
        access: &Access,
        mode: usize,
        slice: &Slice,
        member: u64,
        dimension: u64,
    ) -> Diagnostic {
        let name = &self.program.tensors[access.tensor].name;
        let message =
            format!("{slice} names {member}, mode {} of {name} has {dimension}", mode + 1);
        Diagnostic::new(Code::DimensionMismatch, message)
            .at(&self.program.source, access.span.clone())
            .help("name coordinates from 0 on and below the dimension")
    }
}

/// Every dimension, or the diagnostic for the first that nothing fixes.
pub(crate) fn all(program: &Program, known: &Known) -> Result<IdVec<IndexVar, u64>, Diagnostic> {
    // With these, those of index variables may be known.
    let unknown = |a: &&Access| a.is_sliced() && !known.tensors.contains_key(&a.tensor);
    if let Some(result) = program.statements.iter().map(|s| &s.result).find(unknown) {
        let name = &program.tensors[result.tensor].name;
        let message =
            format!("nothing fixes the dimensions of {name}, of which a slice is written");
        return Err(Diagnostic::new(Code::DimensionUnknown, message)
            .at(&program.source, result.span.clone())
            .help_by(
                format!("give {name} a value, or its dimensions: {{}}"),
                [Setting::Shape(name.clone(), result.indices.len())],
            ));
    }
    for (var, dimension) in known.vars.enumerate() {
        if dimension.is_none() && !program.vars[var].name.is_empty() {
            let decl = &program.vars[var];
            return Err(Diagnostic::new(
                Code::DimensionUnknown,
                format!("nothing fixes the dimension of {}", decl.name),
            )
            .at(&program.source, decl.span.clone())
            .help_by("give it: {}", [Setting::Dimension(decl.name.clone())]));
        }
    }
    Ok(known.vars.iter().map(|d| d.unwrap_or(0)).collect())
}

/// The dimensions of a compiled program's variables, given those of the notation. The compiler's own have none, or
/// that of another or of a mode. `None` if that is a mode of a tensor whose dimensions are not known.
pub(crate) fn compiled(
    program: &cin::Program,
    known: &Known,
    mut all: IdVec<IndexVar, u64>,
) -> Option<IdVec<IndexVar, u64>> {
    while all.len() < program.vars.len() {
        let var = IndexVar::new(all.len());
        let alias = program.derived.alias(var);
        all.push(match program.derived.mode(var) {
            Some((tensor, mode)) => *known.tensors.get(&tensor)?.get(mode.index())?,
            None if alias == var => scheduled(program, var, &all),
            None => all[alias],
        });
    }
    Some(all)
}

/// The dimension of a variable that a schedule made, if it is one of a temporary.
fn scheduled(program: &cin::Program, var: IndexVar, dims: &IdVec<IndexVar, u64>) -> u64 {
    let stored = |t: &cin::Tensor| t.role == Role::Temporary && t.modes.contains(&var);
    let scale = Scale::of(&program.derived, var);
    match scale.filter(|_| program.tensors.iter().any(stored)) {
        Some(scale) => match scale.root {
            Root::Coordinates(of) if of != var => scale.extent(dims[of], &|v| dims[v]),
            _ => 0,
        },
        None => 0,
    }
}
