//! Expressions in commands: parses text to a value of the kernel, and finds it in the kernel.
//!
//! ```text
//! A(i,k) * B(k,j)      in    C(i,j) += A(i,k) * D(k,i) * B(k,j)      leaves    # * D(k,i)
//! ```
//!
//! Some operands of a chain of an associative and commutative operator count as a part of the value.

use super::scheduler::{Scheduler, copies};
use crate::cin::Program;
use crate::cin::simplify::Facts;
use crate::notation::{self, Access, Expr};
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp};
use tamis_ir::diagnostic::{Code, Diagnostic, Place};
use tamis_ir::ids::{IdVec, IndexVar, TensorId};

/// The placeholder for a part that was taken out.
pub(super) const HOLE: Expr = Expr::Param(0);

/// An operator between a part of a value and the value, and the side of the part.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// A function of the part.
    Unary(UnaryOp),
    /// The left operand of an operator.
    Left(BinaryOp),
    /// The right operand of an operator.
    Right(BinaryOp),
    /// Any other expression.
    Other,
}

/// A value with a part taken out, and the operators around the part, outermost first.
pub(super) struct Taken {
    /// The value, with [`HOLE`] instead of the part.
    pub(super) rest: Expr,
    pub(super) steps: Vec<Step>,
}

/// Parses an argument as a value of the kernel.
pub(super) fn read(s: &Scheduler<'_>, arg: usize, text: &str) -> Result<Expr, Diagnostic> {
    // A name for the target that occurs nowhere in the text.
    let free =
        (1..=text.len() + 1).map(|n| "_".repeat(n)).find(|name| !text.contains(name.as_str()));
    let target = format!("{} = ", free.expect("the longest name is longer than the text"));
    let program = notation::parse_with(&format!("{target}{text}"), s.program.operators.as_slice());
    let program = program.map_err(|d| {
        // Spans are relative to the text with a target in front.
        let within = match &d.place {
            Some(Place::Text { span, .. }) => {
                let within = behind(&target, span);
                within.start.min(text.len())..within.end.min(text.len())
            }
            _ => 0..text.len(),
        };
        s.inside(arg, within, Diagnostic { place: None, ..d })
    })?;
    let [statement] = &program.statements[..] else {
        let message = "expected one expression".to_owned();
        return Err(s.refuse(arg, message, "write precompute(A(i,j) * x(j), j, jw, w)".to_owned()));
    };
    let names = Names::of(s, arg, (&target, &program))?;
    let facts = Facts { program: &s.program, compute: s.kernel().compute };
    Ok(facts.expr(names.in_kernel(statement.value.clone())))
}

/// An operand of the kernel; for a copy, also the mode of the original tensor for each mode of the copy.
type Operand = (TensorId, Option<Vec<usize>>);

/// The meanings of an expression's names in the kernel.
struct Names {
    tensors: IdVec<TensorId, Option<Operand>>,
    vars: IdVec<IndexVar, IndexVar>,
}

impl Names {
    /// The names of a program that starts with the target.
    fn of(
        s: &Scheduler<'_>,
        arg: usize,
        (target, read): (&str, &notation::Program),
    ) -> Result<Names, Diagnostic> {
        let reads = s.kernel().body.reads();
        let mut tensors = IdVec::new();
        let result = read.statements[0].result.tensor;
        for (id, decl) in read.tensors.enumerate() {
            let is_read = || read.statements[0].value.accesses().iter().any(|a| a.tensor == id);
            if id == result && !is_read() {
                tensors.push(None);
                continue;
            }
            let is_meant = |a: &&&Access| s.is_named(a.tensor, &decl.name);
            let Some(access) = reads.iter().find(is_meant) else {
                let kernels = s.program.kernels.iter();
                let kernels = kernels.filter(|k| !copies(&s.program, k));
                let mut others = kernels.filter(|k| k.body.reads().iter().any(|a| is_meant(&a)));
                let help = match others.next() {
                    Some(other) => format!(
                        "{} reads it, which is computed beforehand: write it as a statement before",
                        s.program.name(other)
                    ),
                    None => "name a part of what the kernel computes".to_owned(),
                };
                let message = format!("the kernel does not read {}", decl.name);
                let diagnostic = Diagnostic::new(Code::UnknownTensor, message).help(help);
                return Err(s.inside(arg, behind(target, &decl.span), diagnostic));
            };
            let is_copy = s.program.tensors[access.tensor].name != decl.name;
            let modes = if is_copy { copied_modes(&s.program, access.tensor) } else { None };
            tensors.push(Some((access.tensor, modes)));
        }
        let mut known: Vec<IndexVar> = s.kernel().body.loops();
        known.extend(reads.iter().flat_map(|a| a.indices.iter().copied()));
        let mut vars = IdVec::new();
        for decl in read.vars.iter() {
            let Some(&var) = known.iter().find(|&&v| s.name(v) == decl.name) else {
                let message = format!("the kernel has no index variable {}", decl.name);
                let diagnostic = Diagnostic::new(Code::UnknownVariable, message)
                    .help("name a part of what the kernel computes");
                return Err(s.inside(arg, behind(target, &decl.span), diagnostic));
            };
            vars.push(var);
        }
        Ok(Names { tensors, vars })
    }

    fn in_kernel(&self, e: Expr) -> Expr {
        match e {
            Expr::Access(a) => {
                let known = self.tensors[a.tensor].as_ref();
                let (tensor, modes) = known.expect("what is read is an operand");
                let own: Vec<IndexVar> = a.indices.iter().map(|&v| self.vars[v]).collect();
                let of_copy = |modes: &Vec<usize>| -> Option<Vec<IndexVar>> {
                    modes.iter().map(|&mode| own.get(mode).copied()).collect()
                };
                let copied = modes.as_ref().filter(|_| !a.is_sliced()).and_then(of_copy);
                let access = Access { tensor: *tensor, indices: copied.unwrap_or(own), ..a };
                Expr::Access(access.without_whole_slices())
            }
            Expr::Index(v) => Expr::Index(self.vars[v]),
            e => e.map_children(&mut |child| self.in_kernel(child)),
        }
    }
}

/// For each mode of a copy, the mode of the original tensor.
fn copied_modes(program: &Program, copy: TensorId) -> Option<Vec<usize>> {
    let kernel = program.kernels.iter().find(|kernel| kernel.result == copy)?;
    let mut modes = None;
    kernel.body.for_each_assign(&mut |lhs, _, rhs| {
        if let Expr::Access(of) = rhs {
            let mode = |v: &IndexVar| of.indices.iter().position(|w| w == v);
            modes = lhs.indices.iter().map(mode).collect();
        }
    });
    modes
}

/// A span in the text behind the target.
fn behind(target: &str, span: &std::ops::Range<usize>) -> std::ops::Range<usize> {
    span.start.saturating_sub(target.len())..span.end.saturating_sub(target.len())
}

/// The value with a part taken out; `None` if the part does not occur.
pub(super) fn take(value: &Expr, part: &Expr) -> Option<Taken> {
    if value == part {
        return Some(Taken { rest: HOLE, steps: vec![] });
    }
    if let Some(taken) = take_from_chain(value, part) {
        return Some(taken);
    }
    let children = value.children();
    let (at, taken) = children
        .iter()
        .enumerate()
        .find_map(|(k, child)| take(child, part).map(|taken| (k, taken)))?;
    let step = match (value, at) {
        (Expr::Unary(op, _), _) => Step::Unary(*op),
        (Expr::Binary(op, ..), 0) => Step::Left(*op),
        (Expr::Binary(op, ..), _) => Step::Right(*op),
        _ => Step::Other,
    };
    let mut k = 0;
    let rest = value.clone().map_children(&mut |child| {
        k += 1;
        if k == at + 1 { taken.rest.clone() } else { child }
    });
    Some(Taken { rest, steps: [vec![step], taken.steps].concat() })
}

/// Takes out a part that consists of some operands of a chain.
fn take_from_chain(value: &Expr, part: &Expr) -> Option<Taken> {
    let (op, mut operands) = chain(value)?;
    let mut first = operands.len();
    for operand in &self::operands(part, op) {
        let at = operands.iter().position(|o| o == operand)?;
        first = first.min(at);
        operands.remove(at);
    }
    if operands.is_empty() {
        return Some(Taken { rest: HOLE, steps: vec![] });
    }
    operands.insert(first.min(operands.len()), HOLE);
    Some(Taken { rest: of_operands(op, operands)?, steps: vec![Step::Left(op)] })
}

/// The operator of a value that is a chain, and its operands.
fn chain(value: &Expr) -> Option<(BinaryOp, Vec<Expr>)> {
    let op = match value {
        Expr::Binary(BinaryOp::Sub, ..) => BinaryOp::Add,
        Expr::Binary(op, ..) => *op,
        _ => return None,
    };
    is_chain(op).then(|| (op, operands(value, op)))
}

/// The operands of a chain of an operator; subtracted operands of a sum are negated.
pub(super) fn operands(value: &Expr, op: BinaryOp) -> Vec<Expr> {
    match value {
        Expr::Binary(o, a, b) if *o == op => [operands(a, op), operands(b, op)].concat(),
        Expr::Binary(BinaryOp::Sub, a, b) if op == BinaryOp::Add => {
            let mut all = operands(a, op);
            all.extend(operands(b, op).into_iter().map(negated));
            all
        }
        e => vec![e.clone()],
    }
}

/// The chain of these operands.
pub(super) fn of_operands(op: BinaryOp, operands: Vec<Expr>) -> Option<Expr> {
    operands.into_iter().reduce(|a, b| match b {
        Expr::Unary(UnaryOp::Neg, b) if op == BinaryOp::Add => {
            Expr::Binary(BinaryOp::Sub, Box::new(a), b)
        }
        b => Expr::Binary(op, Box::new(a), Box::new(b)),
    })
}

fn negated(e: Expr) -> Expr {
    match e {
        Expr::Unary(UnaryOp::Neg, e) => *e,
        e => Expr::Unary(UnaryOp::Neg, Box::new(e)),
    }
}

/// Whether operands may be grouped in any way.
fn is_chain(op: BinaryOp) -> bool {
    use BinaryOp::{Add, And, Max, Min, Mul, Or};
    matches!(op, Add | Mul | Min | Max | And | Or)
}

/// The operands of a chain except the last one, and the last one.
pub(super) fn without_last(value: &Expr) -> Option<(Expr, Expr)> {
    let (op, mut operands) = chain(value)?;
    let last = operands.pop()?;
    Some((of_operands(op, operands)?, last))
}

/// The operands of a chain except those of another chain.
pub(super) fn without(value: &Expr, others: &Expr) -> Option<Expr> {
    let (op, mut operands) = chain(value)?;
    for operand in &self::operands(others, op) {
        operands.remove(operands.iter().position(|o| o == operand)?);
    }
    of_operands(op, operands)
}

/// Whether an operator may be applied to the reduction of a part instead of each term.
pub(super) fn distributes(step: Step, over: ReduceOp) -> bool {
    use BinaryOp::{Add, And, Max, Min, Mul, Or, Sub};
    // The operator also has to map the value of an empty reduction to that of an empty reduction.
    match over {
        ReduceOp::Add => matches!(
            step,
            Step::Unary(UnaryOp::Neg | UnaryOp::Conj) | Step::Left(Mul) | Step::Right(Mul)
        ),
        ReduceOp::Min => matches!(step, Step::Left(Add | Sub | Max) | Step::Right(Add | Max)),
        ReduceOp::Max => matches!(step, Step::Left(Add | Sub | Min) | Step::Right(Add | Min)),
        ReduceOp::Or => matches!(step, Step::Left(And) | Step::Right(And)),
        ReduceOp::And => matches!(step, Step::Left(Or) | Step::Right(Or)),
        ReduceOp::Mul | ReduceOp::User(_) => false,
    }
}

/// The name of an operator in messages.
pub(super) fn step_name(step: Step) -> &'static str {
    match step {
        Step::Unary(op) => op.name(),
        Step::Left(op) | Step::Right(op) => op.name(),
        Step::Other => "a function",
    }
}

/// A value, with another one at the placeholder.
pub(super) fn filled(e: Expr, with: &Expr) -> Expr {
    match e {
        HOLE => with.clone(),
        e => e.map_children(&mut |child| filled(child, with)),
    }
}
