//! The compiler on one page.

use crate::cin::verify::assert_valid as assert_valid_program;
use crate::cin::{self, KernelKind, Overflow, ParallelUnit};
use crate::kind;
use crate::legalise::{Request, legalise};
use crate::lower::{Dropped, Lowered, lower};
use crate::outline::outlined;
use crate::plan::plan;
use crate::plan::verify::assert_valid as assert_valid_plan;
use crate::schedule::{Fit, Found, Schedule, Wanted, refuse_dropped, schedule, schedule_on_gpu};
use tamis_ir::backend::cuda::why_on_host;
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ir::flow::size as size_of;
use tamis_ir::ir::verify::assert_valid;
use tamis_ir::transform::{Obstacle, Target, obstacle, transform};

/// A program, ready for a backend.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The kernels as concrete index notation, and the tensors they share.
    pub program: cin::Program,
    /// The kernels as functions, in the order in which they run.
    pub functions: Vec<Lowered>,
    /// The same program before results took over levels of operands, if any did: kernels of other kinds are made from
    /// it.
    pub apart: Option<Box<cin::Program>>,
}

/// A stage of compilation. Each may end several times: commands may send the program back to legalisation, and each
/// kernel is planned and lowered by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Statements become kernels.
    Legalise,
    /// Commands rewrite loops; then kernels are outlined.
    Schedule,
    /// How loops read, merge and write.
    Plan,
    /// Plans become functions.
    Lower,
    /// Passes rewrite functions.
    Passes,
}

impl Stage {
    /// The name in profiles.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Legalise => "legalise",
            Stage::Schedule => "schedule",
            Stage::Plan => "plan",
            Stage::Lower => "lower",
            Stage::Passes => "passes",
        }
    }
}

/// Called at the end of each stage.
pub type Observer<'o> = &'o mut dyn FnMut(Stage);

/// Compiles a program to functions of the imperative form.
pub fn compile(
    request: &Request<'_>,
    commands: &Schedule,
    target: Target,
) -> Result<Compiled, Diagnostic> {
    compile_observed(request, commands, target, &mut |_| ())
}

/// [`compile`], which calls `ended` at the end of each stage.
pub fn compile_observed(
    request: &Request<'_>,
    commands: &Schedule,
    target: Target,
    ended: Observer<'_>,
) -> Result<Compiled, Diagnostic> {
    let (program, apart) = match target.gpu && commands.leave_loops() {
        true => {
            let OnGpu { program, apart, .. } = for_gpu(request, commands, ended)?;
            (program, apart.map(|apart| Box::new(outlined(apart.program))))
        }
        false => {
            let program = scheduled(request, commands, ended)?;
            // Functions that run the parts of their loops on threads themselves write whole results.
            let is_called = commands.is_empty() && !request.threaded;
            match is_called.then(|| kind::shared_structure(&program, &[])).flatten() {
                Some(shared) => (shared, Some(Box::new(outlined(program)))),
                None => (program, None),
            }
        }
    };
    let program = outlined(program);
    assert_valid_program(&program, "scheduling");
    ended(Stage::Schedule);
    let mut counted = vec![];
    let mut size = 0;
    let mut functions = vec![];
    for kernel in &program.kernels {
        let lowered = lowered_observed(&program, kernel, ended);
        counted.push(lowered.function.vars.iter().any(|v| v.by_lanes));
        size += size_of(&lowered.function.body);
        if size > MAX_SIZE {
            return Err(too_large());
        }
        functions.push(transformed(lowered, target));
        ended(Stage::Passes);
    }
    check_carried_out(&program, &functions, &counted, commands)?;
    Ok(Compiled { program, functions, apart })
}

/// The largest program, in statements, operators and operands of its functions: about two seconds of transforming and
/// compiling.
const MAX_SIZE: usize = 60_000;

fn too_large() -> Diagnostic {
    let message = format!("the program becomes more than {MAX_SIZE} operations of code");
    Diagnostic::new(Code::TooLarge, message).help("split it into several programs")
}

/// A program that is scheduled for a GPU by heuristics, since the user does not schedule its loops.
pub struct OnGpu {
    /// The scheduled kernels.
    pub program: cin::Program,
    /// For each kernel, its schedule or why there is none.
    pub found: Vec<Found>,
    /// The same program before results took over levels of operands, if any did.
    pub apart: Option<Box<OnGpu>>,
}

/// Legalises a program and schedules its loops for a GPU. The commands leave the loops open
/// ([`Schedule::leave_loops`]).
pub fn for_gpu(
    request: &Request<'_>,
    commands: &Schedule,
    ended: Observer<'_>,
) -> Result<OnGpu, Diagnostic> {
    let program = match commands.is_empty() {
        true => {
            let program = legalise(request)?;
            assert_valid_program(&program, "legalisation");
            ended(Stage::Legalise);
            program
        }
        false => scheduled(request, commands, ended)?,
    };
    Ok(on_gpu(program, request))
}

/// Schedules the kernels of a program for a GPU. A result with the entries of an operand is computed at the operand's
/// positions, if a schedule is found for that.
fn on_gpu(program: cin::Program, request: &Request<'_>) -> OnGpu {
    let mut others = vec![];
    while let Some(shared) = kind::shared_structure(&program, &others) {
        let (shared, found) = schedule_on_gpu(shared, request, &runs_on_gpu);
        let without = |(kernel, found): (&cin::Kernel, &Found)| {
            (kernel.like.is_some() && found.is_err()).then_some(kernel.result)
        };
        let refused: Vec<_> = shared.kernels.iter().zip(&found).filter_map(without).collect();
        if refused.is_empty() {
            let apart = Some(Box::new(OnGpu::apart(program, request)));
            return OnGpu { program: shared, found, apart };
        }
        others.extend(refused);
    }
    OnGpu::apart(program, request)
}

impl OnGpu {
    fn apart(program: cin::Program, request: &Request<'_>) -> OnGpu {
        let (program, found) = schedule_on_gpu(program, request, &runs_on_gpu);
        OnGpu { program, found, apart: None }
    }
}

/// How much of a program's only kernel a GPU runs as its loops are scheduled.
fn runs_on_gpu(program: &cin::Program) -> Fit {
    let functions = functions(&outlined(program.clone()), Target::GPU);
    let mut dropped = functions.iter().flat_map(|lowered| &lowered.dropped);
    match dropped.next() {
        Some(dropped) => Fit::Serial { var: dropped.names[0].clone(), why: dropped.why },
        None if functions.iter().any(|f| why_on_host(&f.function).is_some()) => Fit::PartOnHost,
        None => Fit::Whole,
    }
}

/// Legalises a program and applies commands to its kernels. Tensors that the scheduled loops cannot read or write as
/// they are stored are copied; if a command does not find the part of a value that it names, values stay whole.
fn scheduled(
    request: &Request<'_>,
    commands: &Schedule,
    ended: Observer<'_>,
) -> Result<cin::Program, Diagnostic> {
    let mut request = request.clone();
    let mut why = None;
    loop {
        let program = legalise(&request).map_err(|d| why.take().map_or(d, |why: Box<_>| *why))?;
        assert_valid_program(&program, "legalisation");
        ended(Stage::Legalise);
        let refusal = match schedule(program, commands, &request.statistics) {
            Ok(program) => return Ok(program),
            Err(refusal) => refusal,
        };
        let why = why.get_or_insert(refusal.diagnostic);
        if refusal.storage.is_some_and(|tensor| request.restored.insert(tensor)) {
            continue;
        }
        if request.commands.whole || !commands.names_values() {
            return Err(*why.clone());
        }
        request.commands.whole = true;
        request.restored.clear();
    }
}

/// Refuses a schedule that tags a loop where the code ignores the tag. A loop is vectorised if lowering marked one
/// (`counted`, a flag per function) and a pass can widen it.
fn check_carried_out(
    program: &cin::Program,
    functions: &[Lowered],
    counted: &[bool],
    commands: &Schedule,
) -> Result<(), Diagnostic> {
    for ((kernel, lowered), counted) in program.kernels.iter().zip(functions).zip(counted) {
        let by_lanes = kernel.tags.iter().find(|(_, tag)| tag.is_by_lanes());
        let by_lanes = by_lanes.and_then(|(&var, _)| {
            let found = match counted {
                true => obstacle(&lowered.function),
                false => Some(Obstacle::Uncounted),
            };
            let (wanted, why) = (Wanted::On(ParallelUnit::CpuVector), found?.reason());
            Some(Dropped { names: vec![program.vars[var].clone()], wanted, why })
        });
        for Dropped { names, wanted, why } in lowered.dropped.iter().chain(&by_lanes) {
            refuse_dropped(commands, names, *wanted, why)?;
        }
    }
    Ok(())
}

/// Makes kernels of another kind from a program of fused kernels. The new kernels follow the schedule where they can:
/// the fused kernels were checked against it.
pub fn of_kind(compiled: &Compiled, kind: KernelKind, target: Target) -> Compiled {
    if kind == KernelKind::Fused {
        return compiled.clone();
    }
    let program = compiled.apart.as_deref().unwrap_or(&compiled.program);
    let program = kind::of_kind(program.clone(), kind);
    let functions = functions(&program, target);
    Compiled { program, functions, apart: None }
}

/// The same kernels for sums of so many terms that even 32-bit terms may overflow 64 bits.
pub fn with_long_sums(compiled: &Compiled, target: Target) -> Compiled {
    let mut program = compiled.program.clone();
    let checked = program.kernels.iter_mut().filter(|kernel| kernel.overflow.is_checked());
    checked.for_each(|kernel| kernel.overflow = Overflow::CheckedLong);
    let functions = functions(&program, target);
    Compiled { program, functions, apart: None }
}

/// The functions of kernels for a target. Their parameters do not depend on the target.
pub fn functions(program: &cin::Program, target: Target) -> Vec<Lowered> {
    let kernels = program.kernels.iter();
    kernels.map(|kernel| transformed(lowered(program, kernel), target)).collect()
}

/// The function of a kernel, before any pass.
pub fn lowered(program: &cin::Program, kernel: &cin::Kernel) -> Lowered {
    lowered_observed(program, kernel, &mut |_| ())
}

fn lowered_observed(program: &cin::Program, kernel: &cin::Kernel, ended: Observer<'_>) -> Lowered {
    let plan = plan(program, kernel);
    assert_valid_plan(program, kernel, &plan);
    ended(Stage::Plan);
    let verb = match kernel.kind {
        KernelKind::Fused | KernelKind::Compute => "compute",
        KernelKind::Assemble => "assemble",
    };
    let name = format!("{verb}_{}", program.name(kernel));
    let lowered = lower(program, kernel, &plan, &name);
    assert_valid(&lowered.function, "lowering");
    ended(Stage::Lower);
    lowered
}

fn transformed(lowered: Lowered, target: Target) -> Lowered {
    let function = transform(lowered.function, target);
    Lowered { function, ..lowered }
}
