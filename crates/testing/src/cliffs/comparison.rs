//! What programs take, and whether one of a pair takes too much.

use super::reasons::{REASONS, Reason};
use super::transformation::{Transformation, explicit};
use crate::case::Case;
use crate::functions::Functions;
use crate::generate;
use crate::number::Number;
use crate::random::Random;
use crate::reference::Dense;
use std::fmt;
use tamis::{Diagnostic, Strictness, Tensor};
use tamis_core::cin::{Kernel, Program, Role};
use tamis_core::lower::Lowered;
use tamis_core::notation::Expr;
use tamis_core::plan::Join;
use tamis_ir::ids::TensorId;
use tamis_ir::ir::Stmt;

/// How many times as much one of a pair may take as the other.
const MOST: f64 = 4.0;
/// How many times as many iterations twice as many coordinates may take.
const MOST_DOUBLED: f64 = 2.5;
/// So many steps more are no cliff: what is done once, whatever the operands.
pub const CONSTANT: u64 = 500;
/// So many bytes more are none.
pub const CONSTANT_BYTES: u64 = 16 << 10;

/// What a program takes.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// Iterations of loops.
    pub iterations: u64,
    /// Iterations, loads, stores, and elements that are filled before parts run.
    pub steps: u64,
    /// The most bytes of temporaries, of which each is kept until it is read last, and of a kernel's own arrays.
    pub bytes: u64,
    /// Bytes of the operands and results.
    pub given: u64,
    /// Entries of the copies of operands in other orders or formats, or the positions that are walked for them.
    pub copied: u64,
    /// Entries of what is sorted before it is assembled.
    pub sorted: u64,
    /// The results by name.
    pub results: Vec<(String, Tensor)>,
}

/// Runs a case in the interpreter.
pub fn taken(case: &Case) -> Result<Taken, Diagnostic> {
    let mut functions = Functions::of(case)?;
    let program = functions.program().clone();
    let mut taken = Taken { given: functions.values().map(bytes).sum(), ..Taken::default() };
    let (mut kept, last_reads) = (0, program.last_reads());
    for (k, lowered) in functions.compiled().to_vec().iter().enumerate() {
        let source = copied(&program, &program.kernels[k]);
        let walked = source.and_then(|t| functions.value(t)).map_or(0, |t| t.vals().len() as u64);
        let run = functions.run(k, lowered)?;
        let counts = run.counts;
        taken.iterations += counts.iterations;
        let kernel = &program.kernels[k];
        let target = &program.tensors[kernel.result];
        let entries = run.tensor.vals().len() as u64;
        let filled = if is_filled_before(lowered) { entries } else { 0 };
        taken.steps += counts.iterations + counts.loads + counts.stores + filled;
        taken.copied += if source.is_some() { entries.max(walked) } else { 0 };
        // A list has a value for each entry of an operand that is reduced.
        let listed = functions.values().map(|t| t.vals().len() as u64).max().unwrap_or(0);
        taken.sorted += if sorts(&lowered.function.body) { entries.max(listed) } else { 0 };
        match target.role {
            Role::Result(_) => {
                taken.results.retain(|(name, _)| *name != target.name);
                taken.results.push((target.name.clone(), run.tensor.clone()));
            }
            _ => kept += bytes(&run.tensor),
        }
        taken.bytes = taken.bytes.max(kept + counts.bytes);
        functions.keep(k, run.tensor);
        for &tensor in &last_reads[k] {
            kept -= functions.forget(tensor).map_or(0, |t| bytes(&t));
        }
    }
    taken.given += taken.results.iter().map(|(_, t)| bytes(t)).sum::<u64>();
    Ok(taken)
}

/// Whether somebody else fills the result of a function, which is cut into parts.
fn is_filled_before(lowered: &Lowered) -> bool {
    let join = lowered.partition.as_ref().map(|partition| &partition.join);
    matches!(join, Ok(Join::Shared { initial: Some(_) } | Join::Overlap { .. }))
}

/// The operand that a kernel copies into a temporary, if it does.
fn copied(program: &Program, kernel: &Kernel) -> Option<TensorId> {
    let mut all = program.tensors[kernel.result].role == Role::Temporary;
    let mut operand = None;
    kernel.body.for_each_assign(&mut |_, _, rhs| {
        let is_operand = |t| matches!(program.tensors[t].role, Role::Input(_));
        operand = match rhs {
            Expr::Access(a) if is_operand(a.tensor) => Some(a.tensor),
            _ => None,
        };
        all &= operand.is_some();
    });
    operand.filter(|_| all)
}

fn sorts(block: &[Stmt]) -> bool {
    block.iter().any(|s| matches!(s, Stmt::Sort { .. }) || s.blocks().any(sorts))
}

/// Bytes of all arrays of a tensor.
pub fn bytes(tensor: &Tensor) -> u64 {
    let levels = tensor.levels().iter().flat_map(|l| [&l.pos, &l.crd, &l.mask]).flatten();
    levels.chain([tensor.vals()]).map(|b| b.bytes() as u64).sum()
}

/// Two programs that compute the same.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The program, with explicit sums.
    pub case: Case,
    /// What was done to it.
    pub transformation: Transformation,
    /// The other program.
    pub other: Case,
    /// What both take.
    pub taken: [Taken; 2],
}

/// What is found of a pair.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Both take about the same.
    Alike,
    /// One takes more, for this reason.
    Explained(&'static Reason),
    /// One takes far more.
    Cliff(Cliff),
    /// The results differ: a mistake of the transformation or the compiler.
    Differs(String),
}

/// What one of a pair takes too much of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cliff {
    /// Iterations, loads and stores.
    Steps,
    /// Memory.
    Bytes,
}

/// The random program of a seed, if it is valid, and what it takes.
pub fn drawn(seed: u64) -> Option<(Case, Taken)> {
    let mut random = Random::new(seed.wrapping_mul(0x1234_5678_9ABC_DEF1));
    let case = explicit(&generate::large(&mut random))?;
    let taken = taken(&case).ok()?;
    Some((case, taken))
}

/// What a transformation makes of a case.
pub fn pair(
    case: &Case,
    before: &Taken,
    transformation: Transformation,
    seed: u64,
) -> Option<Result<Pair, Diagnostic>> {
    let mut random = Random::new(seed ^ (transformation as u64 + 1).wrapping_mul(0x9E37_79B9));
    let other = transformation.apply(case, &mut random)?;
    Some(taken(&other).map(|after| Pair {
        case: case.clone(),
        transformation,
        other,
        taken: [before.clone(), after],
    }))
}

impl Pair {
    /// What is found.
    pub fn verdict(&self) -> Verdict {
        if let Some(why) = self.difference() {
            return Verdict::Differs(why);
        }
        let extra = |cliff| match cliff {
            Cliff::Steps => CONSTANT,
            // A copy of the operands or of a result is no cliff.
            Cliff::Bytes => CONSTANT_BYTES + self.taken[0].given.min(self.taken[1].given),
        };
        for cliff in [Cliff::Steps, Cliff::Bytes] {
            if self.is_far(cliff, extra(cliff)) {
                let holds = |r: &&Reason| !self.is_far(cliff, extra(cliff) + r.extra(self, cliff));
                return match REASONS.iter().find(holds) {
                    Some(reason) => Verdict::Explained(reason),
                    None => Verdict::Cliff(cliff),
                };
            }
        }
        Verdict::Alike
    }

    /// Whether one takes more than so many times what the other does, and so much more; of a doubled one only
    /// whether that has grown: its loops may have another order, where a sum is not in a register.
    fn is_far(&self, cliff: Cliff, extra: u64) -> bool {
        let doubles = self.transformation == Transformation::Double;
        let far = |measure: fn(&Taken) -> u64, most: f64| {
            let [a, b] = [&self.taken[0], &self.taken[1]].map(measure);
            let (less, more) = if doubles { (a, b) } else { (a.min(b), a.max(b)) };
            more as f64 > most * less as f64 + extra as f64
        };
        match cliff {
            Cliff::Bytes => far(|taken| taken.bytes, MOST),
            Cliff::Steps => {
                far(|taken| taken.steps, MOST)
                    || doubles && far(|taken| taken.iterations, MOST_DOUBLED)
            }
        }
    }

    fn difference(&self) -> Option<String> {
        let [a, b] = &self.taken;
        // An implicit 0 over 0 is 0, and formats decide what is implicit.
        let divides = ["/", "mod("].iter().any(|sign| self.case.text.contains(sign));
        if !self.transformation.keeps_results() || divides {
            return None;
        }
        let shared = a.results.iter().filter_map(|(name, t)| {
            let (_, u) = b.results.iter().find(|(other, _)| other == name)?;
            Some((name, t, u)).filter(|_| t.dims() == u.dims())
        });
        shared.into_iter().find_map(|(name, t, u)| {
            let (t, u) = (Dense::of(t), Dense::of(u));
            let permuted = self.transformation == Transformation::PermuteModes;
            let same = |(a, b): (&Number, &Number)| is_about(*a, *b);
            let alike = permuted || t.vals.iter().zip(&u.vals).all(same);
            (!alike).then(|| format!("{name} differs"))
        })
    }
}

/// Whether two numbers are the same but for rounding: sums of large numbers may cancel.
fn is_about(a: Number, b: Number) -> bool {
    let exact = |x: Number| x.size() < 1e9;
    a.is_same(b) || !exact(a) || !exact(b) || (a.re - b.re).abs() <= 1e-6 * a.size().max(1.0)
}

/// The program, its formats and sizes; of entries how many there are.
pub struct Summary<'c>(pub &'c Case);

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let case = self.0;
        for o in &case.operands {
            let dims: Vec<String> = o.dims.iter().map(u64::to_string).collect();
            let (dims, count) = (dims.join("x"), o.entries.len());
            writeln!(f, "  {}: {}  {dims}, {count} entries", o.name, o.format)?;
        }
        for (name, format) in &case.results {
            writeln!(f, "  {name}: {format}")?;
        }
        let dims: Vec<String> = case.dims.iter().map(|(v, d)| format!("{v} = {d}")).collect();
        let strict = if case.strict == Strictness::Ieee { ", strict: ieee" } else { "" };
        writeln!(f, "  {}{strict}", dims.join(", "))?;
        write!(f, "  {}", case.text)
    }
}

/// Both programs and what they take.
impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = &self.taken;
        writeln!(f, "{}\n  {} steps, {} bytes", Summary(&self.case), a.steps, a.bytes)?;
        writeln!(f, "--- {}", self.transformation.name())?;
        write!(f, "{}\n  {} steps, {} bytes", Summary(&self.other), b.steps, b.bytes)
    }
}
