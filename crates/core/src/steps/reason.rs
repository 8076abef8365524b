//! Why loops visit implicit coordinates, and how to write the program so that they do not.
//!
//! ```text
//! the value       where A has no entry, `A(i,j) / d(i)` is `0 / d(i)`       A(i,j) * (1 / d(i))
//! the order       B is stored by columns, and its rows are searched        another order of levels
//! the rows        A has an array over rows, few of which have entries      a level that lists them
//! none of these   every combination of i, j and k is visited              said only where it takes seconds
//! ```

use super::count::Around;
use super::sizes::Known;
use crate::cin::simplify::Facts;
use crate::cin::{Kernel, Program, Role, Stmt, Tensor, print};
use crate::format::{Format, LevelSpec};
use crate::level::COMPRESSED;
use crate::notation::{self, Access, Expr};
use crate::plan::Absent;
use std::ops::Range;
use tamis_ir::algebra::{BinaryOp, ReduceOp, Strictness};
use tamis_ir::datatype::Scalar;
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::{Id, IndexVar, Mode, TensorId};

/// Below this share of stored coordinates, an operand should rather list them.
const FEW: f64 = 0.125;

/// A value with more operands and operators is too long to print.
const LONGEST: usize = 50;

/// How to avoid IEEE's quotients; the command line, Python and Rust have the same word for these.
const UNDIVIDED: &str = "without strict, zeros that are not stored are left undivided";

/// A reason, its location in the text, and the way out.
pub(super) struct Reason {
    message: String,
    span: Range<usize>,
    help: String,
}

impl Reason {
    /// The diagnostic that begins with `what`.
    pub(super) fn told(self, code: Code, what: &str, notation: &notation::Program) -> Diagnostic {
        let told = Diagnostic::new(code, format!("{what}: {}", self.message)).help(self.help);
        match self.span.is_empty() {
            true => told,
            false => told.at(&notation.source, self.span),
        }
    }
}

/// The kernel with the slow loops.
pub(super) struct Blamed<'k> {
    pub(super) known: &'k Known<'k>,
    pub(super) kernel: &'k Kernel,
}

impl Blamed<'_> {
    /// Why an inner loop iterates so often, if there is a way out.
    pub(super) fn reason(&self, path: &[Around<'_>]) -> Option<Reason> {
        let of_all = path.iter().filter(|around| around.visits_all);
        let all: Vec<IndexVar> = of_all.clone().map(|around| around.var).collect();
        let driven = of_all.flat_map(|around| around.drivers);
        let mut passed = driven.map(|d| (&d.access, d.level, true)).collect::<Vec<_>>();
        for locate in path.iter().flat_map(|around| &around.found) {
            if all.contains(&locate.var) && locate.absent != Absent::Never {
                let does = matches!(locate.absent, Absent::Does(_));
                passed.push((&locate.access, locate.level, does));
            }
        }
        passed.retain(|(access, level, _)| self.is_few(access, *level));
        let valued = passed.iter().find(|(_, _, does)| *does).map(|(access, ..)| *access);
        if let Some(reason) = valued.and_then(|access| self.valued(&|a| a == access)) {
            return Some(reason);
        }
        if let Some((access, level, _)) = passed.iter().find(|(_, _, does)| !does) {
            return Some(self.against(access, *level, path));
        }
        all.iter().find_map(|&var| self.rows(var))
    }

    /// Why a result stores every element, if that is due to its value where no sparse operand has an entry.
    pub(super) fn dense(&self, result: TensorId) -> Option<Reason> {
        let reads = self.kernel.body.reads();
        let sparse: Vec<&Access> = reads.into_iter().filter(|a| self.is_sparse(a)).collect();
        let modes = &self.program().tensors[result].modes;
        let is_covered = modes.iter().all(|var| sparse.iter().any(|a| a.indices.contains(var)));
        let left =
            self.facts().without(&self.kernel.body, &|a| self.is_sparse(a) && !self.is_register(a));
        if !is_covered || modes.is_empty() || left.is_none() {
            return None;
        }
        self.valued(&|a| self.is_sparse(a))
    }

    /// The tensors that the kernel reads.
    pub(super) fn operands(&self) -> Vec<TensorId> {
        let mut operands: Vec<TensorId> =
            self.kernel.body.reads().iter().map(|a| a.tensor).collect();
        operands.retain(|t| !self.program().is_local(*t));
        operands.sort();
        operands.dedup();
        operands
    }

    fn program(&self) -> &Program {
        self.known.program
    }

    fn facts(&self) -> Facts<'_> {
        Facts { program: self.known.program, compute: self.kernel.compute }
    }

    /// Whether a tensor may have no entry at a coordinate, or is a sum that may be empty.
    fn is_sparse(&self, access: &Access) -> bool {
        let tensor = &self.program().tensors[access.tensor];
        match tensor.role {
            Role::Register(_) => true,
            Role::Input(_) | Role::Result(_) | Role::Temporary => {
                access.tensor != self.kernel.result && !tensor.storage.format.is_full()
            }
            _ => false,
        }
    }

    fn is_register(&self, access: &Access) -> bool {
        matches!(self.program().tensors[access.tensor].role, Role::Register(_))
    }

    fn is_few(&self, access: &Access, level: usize) -> bool {
        let var = self.program().level_vars(access.tensor, &access.indices)[level];
        self.known.children(access, level) <= FEW * self.known.coordinates(var)
    }

    /// Reason: the value where operands have no entry differs between elements.
    fn valued(&self, absent: &dyn Fn(&Access) -> bool) -> Option<Reason> {
        let either = |a: &Access| absent(a) || self.is_register(a);
        let values = values(self.program(), &self.kernel.body);
        let (culprit, without) = culprit(self.facts(), &values, &either)?;
        let of = culprit
            .accesses()
            .into_iter()
            .find(|a| absent(a))
            .or_else(|| culprit.accesses().first().copied())?
            .clone();
        let origin = self.originals(Expr::Access(of));
        let of = (*origin.accesses().first()?).clone();
        let show = |e: &Expr| print::expr(self.program(), &self.originals(e.clone()));
        let Tensor { name, storage, .. } = &self.program().tensors[of.tensor];
        let fill = storage.fill;
        let (culprit_text, entry) = (show(&culprit), print::access(self.program(), &of));
        let what = match &without {
            Expr::Literal(c) => format!("{c}, which is not the fill value of what is computed"),
            // A reduction of constants.
            without if without.free_vars().is_empty() && without.accesses().is_empty() => {
                format!("`{}`, which depends on dimensions", show(without))
            }
            without => format!("`{}`, which differs from element to element", show(without)),
        };
        let message = format!("where {name} has no entry, `{culprit_text}` is {what}");
        let relaxed = Program { strictness: Strictness::Sparse, ..self.program().clone() };
        let relaxed = Facts { program: &relaxed, compute: self.kernel.compute };
        let leaves = matches!(relaxed.expr_without(&culprit, absent), Expr::Literal(_));
        let divides = leaves && !matches!(without, Expr::Literal(_));
        let help = match &culprit {
            Expr::Binary(BinaryOp::Div, a, b) if divides => {
                let divisor =
                    if matches!(**b, Expr::Access(_)) { show(b) } else { format!("({})", show(b)) };
                format!("{UNDIVIDED}; or write `{} * (1 / {divisor})`", show(a))
            }
            _ if divides => UNDIVIDED.to_owned(),
            _ => match self.with_fill(&of, &values) {
                Some(help) => help,
                None => {
                    let is_there = match self.reduced(&culprit, &of) {
                        vars if vars.is_empty() => format!("({entry} != {fill})"),
                        vars => format!("any({}, {entry} != {fill})", vars.join(", ")),
                    };
                    format!("for values at entries of {name} alone, multiply by `{is_there}`")
                }
            },
        };
        Some(Reason { message, span: span(&culprit), help })
    }

    /// The variables of an operand over which a value is reduced.
    fn reduced(&self, value: &Expr, of: &Access) -> Vec<&str> {
        let free = value.free_vars();
        let bound = of.indices.iter().filter(|var| !free.contains(var));
        bound.map(|&var| self.program().vars[var].as_str()).collect()
    }

    /// The identity of the minimum or maximum that reduces values.
    fn least(&self) -> Option<Scalar> {
        let mut found = None;
        self.kernel.body.for_each_assign(&mut |_, op, _| {
            found = found.or(op.filter(|op| matches!(op, ReduceOp::Min | ReduceOp::Max)));
        });
        self.program().identity(found?, self.kernel.compute)
    }

    /// How to compute values at entries alone: set the fill value of the result, if the value is constant elsewhere,
    /// or the operand's fill value for a minimum or maximum.
    fn with_fill(&self, of: &Access, values: &[Expr]) -> Option<String> {
        let program = self.program();
        let value = self.originals(values.first()?.clone());
        let elsewhere = |program: &Program| {
            let facts = Facts { program, compute: self.kernel.compute };
            let absent = |a: &Access| !program.storage(a.tensor).format.is_full();
            facts.unless_empty(facts.expr_without(&value, &absent))
        };
        let result = self.kernel.result;
        if let (Role::Result(_), Expr::Literal(c)) =
            (program.tensors[result].role, elsewhere(program))
        {
            return Some(match c.same_value(self.facts().fill(result)) {
                true => self.terms_first(&value)?,
                false => format!("store {} with `fill: {c}`", program.name(self.kernel)),
            });
        }
        let least = self.least()?;
        let Tensor { name, storage, .. } = &program.tensors[of.tensor];
        let mut changed = program.clone();
        changed.tensors[of.tensor].storage.fill = least.computed(storage.datatype);
        let is_least = matches!(elsewhere(&changed), Expr::Literal(c) if c.same_value(least));
        is_least.then(|| format!("for entries of {name} alone, store it with `fill: {least}`"))
    }

    /// A way out by two statements: the first lists the terms of a reduction, the second reduces them.
    fn terms_first(&self, value: &Expr) -> Option<String> {
        let Expr::Reduce { op, vars, body } = value else { return None };
        let program = self.program();
        let is_taken = |name: &str| program.tensors.iter().any(|tensor| tensor.name == name);
        let name = ["T", "terms", "all_terms"].into_iter().find(|name| !is_taken(name))?;
        let result = self.kernel.result;
        let names = |vars: &[IndexVar]| -> Vec<String> {
            vars.iter().map(|v| program.vars[*v].clone()).collect()
        };
        let modes = names(&program.tensors[result].modes);
        let indices = [modes.clone(), names(vars)].concat().join(",");
        let written = format!("{}({})", program.name(self.kernel), modes.join(","));
        let (terms, op, reduced) = (print::expr(program, body), op.name(), names(vars).join(", "));
        let first = format!("{name}({indices}) = {terms}");
        let then = format!("{written} = {op}({reduced}, {name}({indices}))");
        Some(format!("list the terms in a statement of their own: `{first}; {then}`"))
    }

    /// The value as the user wrote it, with temporaries replaced by the values assigned to them.
    fn originals(&self, e: Expr) -> Expr {
        match e {
            Expr::Access(a) => self.origin(&a).map_or(Expr::Access(a), |e| self.originals(e)),
            e => e.map_children(&mut |child| self.originals(child)),
        }
    }

    /// The value assigned to a temporary, for the indices of one use of it.
    fn origin(&self, access: &Access) -> Option<Expr> {
        let program = self.program();
        let is_temporary = program.tensors[access.tensor].role == Role::Temporary;
        let kernel = program.kernels.iter().find(|k| is_temporary && k.result == access.tensor)?;
        let mut assigned = vec![];
        kernel.body.for_each_assign(&mut |lhs, op, rhs| assigned.push((lhs, op, rhs)));
        let [(lhs, None, value)] = assigned[..] else { return None };
        let used = |var: &IndexVar| {
            let at = lhs.indices.iter().position(|v| v == var);
            at.map_or(*var, |at| access.indices[at])
        };
        Some(value.clone().renamed(&used))
    }

    /// Reason: loops reach a level of an operand before a level above it.
    fn against(&self, access: &Access, level: usize, path: &[Around<'_>]) -> Reason {
        let program = self.program();
        let name = &program.tensors[access.tensor].name;
        let vars = program.level_vars(access.tensor, &access.indices);
        let var = |v: IndexVar| program.vars[v].as_str();
        let loops: Vec<&str> = path.iter().map(|around| var(around.var)).collect();
        let message = format!(
            "every {} is looked up in {name}, which stores {}, in loops over {}",
            var(vars[level]),
            listed(&vars.iter().rev().map(|&v| var(v)).collect::<Vec<_>>(), "below"),
            listed(&loops, "and"),
        );
        let depth =
            |v: &IndexVar| path.iter().position(|around| around.var == *v).unwrap_or(path.len());
        let mut modes: Vec<usize> = (0..access.indices.len()).collect();
        modes.sort_by_key(|&k| depth(&access.indices[k]));
        let levels = modes.into_iter().map(|k| LevelSpec::of(Mode::new(k), COMPRESSED)).collect();
        let help = match Format::new(levels, access.indices.len()) {
            Ok(format) => format!("store {name} as {format}, in the order of the loops"),
            Err(_) => format!("store {name} in the order of the loops"),
        };
        Reason { message, span: access.span.clone(), help }
    }

    /// Reason: an operand has an array over a variable, and entries at few of its coordinates.
    fn rows(&self, var: IndexVar) -> Option<Reason> {
        let program = self.program();
        let operands = self.kernel.body.reads();
        let (access, level) = operands.into_iter().find_map(|access| {
            let levels = program.levels(access);
            let level =
                levels.iter().position(|(level, v)| *v == var && level.kind.properties().full)?;
            let lists = levels.iter().any(|(level, _)| !level.kind.properties().full);
            let few = self.known.entries(access.tensor)? <= FEW * self.known.coordinates(var);
            (lists && few && !program.is_local(access.tensor)).then_some((access, level))
        })?;
        let name = &program.tensors[access.tensor].name;
        let row = &program.vars[var];
        let message = format!("every {row} is visited, and {name} has an entry at few of them");
        let format = &program.storage(access.tensor).format;
        let listing = |(k, spec): (usize, &LevelSpec)| match k == level {
            true => LevelSpec { kind: COMPRESSED, ..*spec },
            false => *spec,
        };
        let levels = format.levels().iter().enumerate().map(listing).collect();
        let help = match Format::new(levels, format.order()) {
            Ok(format) => {
                format!("store {name} as {format}, which lists the {row} that have entries")
            }
            Err(_) => format!("store {name} in a format that lists the {row} that have entries"),
        };
        Some(Reason { message, span: access.span.clone(), help })
    }

    /// Reason: the size of the problem, and nothing else.
    pub(super) fn product(&self, path: &[Around<'_>]) -> Reason {
        let program = self.program();
        let vars: Vec<&str> = path.iter().map(|around| program.vars[around.var].as_str()).collect();
        let visits_all = path.iter().all(|around| around.visits_all);
        let message = match visits_all {
            true => format!("every combination of {} is visited", listed(&vars, "and")),
            false => format!("so many combinations of {} have entries", listed(&vars, "and")),
        };
        let mut text = 0..0;
        self.kernel.body.for_each_assign(&mut |_, _, rhs| {
            text = if text.is_empty() { span(rhs) } else { text.clone() };
        });
        let reads = self.kernel.body.reads();
        let dense = reads.iter().find(|a| {
            !a.indices.is_empty()
                && program.storage(a.tensor).format.is_full()
                && matches!(program.tensors[a.tensor].role, Role::Input(_))
        });
        let help = match dense {
            Some(a) => format!(
                "if most of {} is zeros, store it in a sparse format; there is no cheaper way for what is dense",
                program.tensors[a.tensor].name
            ),
            None => {
                "use a part of the operands: there is no cheaper way for all of them".to_owned()
            }
        };
        Reason { message, span: text, help }
    }
}

/// The values that a statement computes, with each register replaced by the reduction that computes it.
fn values(program: &Program, s: &Stmt) -> Vec<Expr> {
    match s {
        Stmt::Assign { rhs, .. } => vec![rhs.clone()],
        Stmt::Where { consumer, producer } => match reduction(program, producer) {
            Some((register, value)) => values(program, &inlined(consumer, register, &value)),
            None => [values(program, consumer), values(program, producer)].concat(),
        },
        other => other.children().into_iter().flat_map(|part| values(program, part)).collect(),
    }
}

/// The register that a statement computes, and its reduction, if the statement has that form.
fn reduction(program: &Program, s: &Stmt) -> Option<(TensorId, Expr)> {
    match s {
        Stmt::Forall { var, body } => {
            let (register, value) = reduction(program, body)?;
            let Expr::Reduce { op, mut vars, body } = value else { return None };
            vars.insert(0, *var);
            Some((register, Expr::Reduce { op, vars, body }))
        }
        Stmt::Where { consumer, producer } => {
            let (register, value) = reduction(program, producer)?;
            reduction(program, &inlined(consumer, register, &value))
        }
        Stmt::Assign { lhs, op: Some(op), rhs } => {
            let is_register = matches!(program.tensors[lhs.tensor].role, Role::Register(_));
            let mut length = 0;
            rhs.walk(&mut |_| length += 1);
            let body = Box::new(rhs.clone());
            (is_register && length <= LONGEST)
                .then_some((lhs.tensor, Expr::Reduce { op: *op, vars: vec![], body }))
        }
        _ => None,
    }
}

/// A statement that reads a value instead of the register.
fn inlined(s: &Stmt, register: TensorId, value: &Expr) -> Stmt {
    fn go(e: Expr, register: TensorId, value: &Expr) -> Expr {
        match e {
            Expr::Access(a) if a.tensor == register => value.clone(),
            e => e.map_children(&mut |child| go(child, register, value)),
        }
    }
    s.clone().map_exprs(&mut |e| go(e, register, value))
}

/// The smallest part of the values that is not constant where operands have no entry, and its value there; if all are
/// constant, the value that reads such an operand.
fn culprit(
    facts: Facts<'_>,
    values: &[Expr],
    absent: &dyn Fn(&Access) -> bool,
) -> Option<(Expr, Expr)> {
    let reads = |e: &&Expr| e.accesses().into_iter().any(absent);
    let values: Vec<&Expr> = values.iter().filter(reads).collect();
    let differs = |e: &&Expr| {
        e.accesses().into_iter().any(absent)
            && !matches!(facts.expr_without(e, absent), Expr::Literal(_))
    };
    let mut smallest = match values.iter().copied().find(differs) {
        Some(value) => value,
        None => values.first().copied()?,
    };
    while let Some(part) = smallest.children().into_iter().find(differs) {
        smallest = part;
    }
    Some((smallest.clone(), facts.expr_without(smallest, absent)))
}

/// The location of a value in the text.
fn span(e: &Expr) -> Range<usize> {
    let spans = e.accesses().into_iter().map(|a| &a.span).filter(|span| !span.is_empty());
    spans.fold(0..0, |all, span| match all.is_empty() {
        true => span.clone(),
        false => all.start.min(span.start)..all.end.max(span.end),
    })
}

/// `i, j and k`.
fn listed(names: &[&str], last: &str) -> String {
    match names {
        [] => "nothing".to_owned(),
        [one] => (*one).to_owned(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}
