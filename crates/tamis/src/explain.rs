//! What the compiler makes of a program, stage by stage, without operands.

use crate::Options;
use crate::backend::Backend;
use crate::dims;
use crate::operand::{operand, rounded, rounded_shapes, variable};
use crate::scattered;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use tamis_core::cin::terms::Sizes;
use tamis_core::cin::{self, KernelKind, Role, choice};
use tamis_core::format::{self, FormatSpec};
use tamis_core::iteration::graph;
use tamis_core::kind;
use tamis_core::legalise::{Commands, Request, Statistics, legalise};
use tamis_core::lower::Lowered;
use tamis_core::notation::{self, Program};
use tamis_core::pipeline::{self, OnGpu, for_gpu};
use tamis_core::plan::{self, distribution, lattices};
use tamis_core::schedule::{self, Found, Schedule};
use tamis_core::standalone::Given;
use tamis_core::steps;
use tamis_ir::backend::{c, cuda};
use tamis_ir::datatype::{DataType, IndexWidth};
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::TensorId;
use tamis_ir::transform::Target;
use tamis_runtime::processor::{self, Level};

/// A stage of compilation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Stage {
    /// Index notation with its sums written out.
    Notation,
    /// Concrete index notation.
    Cin,
    /// The schedule.
    Schedule,
    /// The iteration graph.
    Graph,
    /// The iteration lattices.
    Lattice,
    /// The plan: how loops read, merge and write.
    Plan,
    /// How kernels run on several ranks, and which elements of operands each needs.
    Comm,
    /// The imperative form.
    Ir,
    /// C.
    C,
    /// CUDA.
    Cuda,
    /// Machine code.
    Asm,
}

impl Stage {
    /// Every stage in order.
    pub const ALL: [Stage; 11] = [
        Stage::Notation,
        Stage::Cin,
        Stage::Schedule,
        Stage::Graph,
        Stage::Lattice,
        Stage::Plan,
        Stage::Comm,
        Stage::Ir,
        Stage::C,
        Stage::Cuda,
        Stage::Asm,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Notation => "notation",
            Stage::Cin => "cin",
            Stage::Schedule => "schedule",
            Stage::Graph => "graph",
            Stage::Lattice => "lattice",
            Stage::Plan => "plan",
            Stage::Comm => "comm",
            Stage::Ir => "ir",
            Stage::C => "c",
            Stage::Cuda => "cuda",
            Stage::Asm => "asm",
        }
    }

    /// The stage of this name.
    pub fn parse(name: &str) -> Option<Stage> {
        Stage::ALL.into_iter().find(|s| s.name() == name)
    }
}

/// A program and how its tensors are stored.
pub struct Explanation<'p> {
    pub(crate) request: Request<'p>,
    pub(crate) schedule: Schedule,
    kind: KernelKind,
    /// The level that C is for, if not the one in use.
    pub(crate) level: Option<Level>,
    /// The formats by name, as they were asked for.
    pub(crate) formats: BTreeMap<String, FormatSpec>,
    /// The dimensions that the options give.
    pub(crate) given: Given,
    /// The dimensions of index variables and tensors, as far as known.
    known: dims::Known,
    /// How many values operands store, as far as known.
    stored: BTreeMap<TensorId, u64>,
    /// What is told of ranks beside what the program says.
    of_ranks: Option<String>,
}

impl fmt::Debug for Explanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = &self.request.program.source;
        f.debug_struct("Explanation").field("program", source).finish_non_exhaustive()
    }
}

impl<'p> Explanation<'p> {
    /// The program with these formats; operands without one are dense. Of the options count the
    /// data type, the dimensions, as far as known, the shapes, here of operands too, and the
    /// schedule.
    pub fn of(
        program: &'p Program,
        formats: &BTreeMap<String, FormatSpec>,
        options: &Options,
    ) -> Result<Explanation<'p>, Diagnostic> {
        let (mut inputs, mut results) = (BTreeMap::new(), BTreeMap::new());
        let mut written: Vec<TensorId> = vec![];
        for statement in &program.statements {
            for access in statement.value.accesses() {
                if !written.contains(&access.tensor) {
                    let decl = &program.tensors[access.tensor];
                    let dense = || format::parse("dense", Some(decl.order));
                    let spec = formats.get(&decl.name).cloned().map_or_else(dense, Ok)?;
                    let datatype = options.datatype.unwrap_or(DataType::F64);
                    inputs.insert(access.tensor, spec.storage_of(&decl.name, datatype)?);
                }
            }
            written.push(statement.result.tensor);
        }
        for (name, spec) in formats {
            let id = operand(program, name)?;
            if written.contains(&id) {
                results.insert(id, scattered::written(spec));
            }
        }
        let known = known_dims(program, options)?;
        let of_vars = || known.vars.enumerate().filter_map(|(var, d)| Some((var, (*d)?)));
        let all = of_vars().map(|(_, d)| d).chain(known.tensors.values().flatten().copied());
        let width = IndexWidth::for_max(all.max().unwrap_or(0));
        let dims = of_vars().map(|(var, d)| (var, rounded(d))).collect();
        let shapes = rounded_shapes(&known.tensors);
        let datatype = options.datatype;
        let schedule = options.schedule.clone();
        let (parallel, scheduled) = (false, schedule.shapes_loops());
        let request = Request {
            program,
            inputs,
            results,
            datatype,
            statistics: Statistics { dims, shapes, ..Statistics::default() },
            width,
            strictness: options.strict,
            parallel,
            threaded: false,
            commands: Commands { given: scheduled, apart: schedule.begins_apart(), whole: false },
            restored: BTreeSet::new(),
        };
        let stored = BTreeMap::new();
        let (kind, level) = (KernelKind::Fused, None);
        let (formats, given) = (formats.clone(), given(program, options)?);
        let of_ranks = None;
        Ok(Explanation { request, schedule, kind, level, formats, given, known, stored, of_ranks })
    }

    /// The same with results, by name, that have a value before, stored so.
    pub fn of_earlier(
        mut self,
        values: &BTreeMap<String, FormatSpec>,
    ) -> Result<Explanation<'p>, Diagnostic> {
        for (name, spec) in values {
            let id = operand(self.request.program, name)?;
            let datatype = self.request.datatype.unwrap_or(DataType::F64);
            self.request.inputs.insert(id, spec.storage_of(name, datatype)?);
        }
        Ok(self)
    }

    /// The same with operands, by name, that store so many entries.
    #[must_use]
    pub fn of_entries(mut self, entries: &BTreeMap<String, u64>) -> Explanation<'p> {
        self.stored = self.of_operands(entries);
        self.request.statistics.entries =
            self.stored.iter().map(|(&id, &n)| (id, rounded(n))).collect();
        self
    }

    /// The same with operands, by name, one of whose rows has so many entries and none has more.
    #[must_use]
    pub fn of_longest(mut self, longest: &BTreeMap<String, u64>) -> Explanation<'p> {
        let longest = self.of_operands(longest).into_iter();
        self.request.statistics.longest = longest.map(|(id, n)| (id, rounded(n))).collect();
        self
    }

    fn of_operands(&self, numbers: &BTreeMap<String, u64>) -> BTreeMap<TensorId, u64> {
        let known =
            |(name, &n): (&String, &u64)| self.request.program.tensor(name).map(|id| (id, n));
        numbers.iter().filter_map(known).collect()
    }

    /// The same with kernels of a kind.
    #[must_use]
    pub fn of_kind(self, kind: KernelKind) -> Explanation<'p> {
        Explanation { kind, ..self }
    }

    /// The same, where comm also tells this: what so many ranks would send, which depends on operands
    /// (`Kernel::forecast`, of the feature `dist`).
    #[must_use]
    pub fn of_ranks(self, told: String) -> Explanation<'p> {
        Explanation { of_ranks: Some(told), ..self }
    }

    /// The same with C for processors of a level, whether or not this is one: vectors are no wider, and
    /// tiles no larger, than its registers.
    #[must_use]
    pub fn of_level(self, level: Level) -> Explanation<'p> {
        Explanation { level: Some(level), ..self }
    }

    fn compiled(&self, target: Target) -> Result<pipeline::Compiled, Diagnostic> {
        let fused = pipeline::compile(&self.request, &self.schedule, target)?;
        Ok(pipeline::of_kind(&fused, self.kind, target))
    }

    /// The same, where functions run the loops that the schedule gives to threads in parts.
    fn threaded(&self, target: Target) -> Result<pipeline::Compiled, Diagnostic> {
        let request = Request { threaded: true, ..self.request.clone() };
        let fused = pipeline::compile(&request, &self.schedule, target)?;
        Ok(pipeline::of_kind(&fused, self.kind, target))
    }

    /// Concrete index notation, and which results are computed whole before their values are taken
    /// over at the entries of a pattern.
    fn cin(&self) -> Result<String, Diagnostic> {
        let program = self.compiled(Backend::Interpreter.target())?.program;
        let mut out = cin::print::program(&program);
        for (k, kernel) in program.kernels.iter().enumerate() {
            let whole = self.kind == KernelKind::Compute && kernel.kind == KernelKind::Fused;
            if whole && kind::follows(&program, k) {
                let name = program.name(kernel);
                out += &format!("# {name} is computed whole, then its values are taken over\n");
            }
        }
        Ok(out)
    }

    /// The loops that were chosen, rather than which, and commands that give the same ones.
    fn chosen(&self) -> Result<String, Diagnostic> {
        let program = self.compiled(Backend::Interpreter.target())?.program;
        let choices = choice::text(&program) + &self.warnings(&program);
        let commands = match self.commands()? {
            Some(none) if none.is_empty() => "# no commands are needed\n".to_owned(),
            Some(commands) => commands.commands().map(|c| format!("{c}\n")).collect(),
            None => "# no commands give the same loops: see cin\n".to_owned(),
        };
        Ok(choices + &commands)
    }

    /// What is going to be slow, as comments, where the sizes of all operands are known.
    fn warnings(&self, program: &cin::Program) -> String {
        let is_known = |tensor: &cin::Tensor| match tensor.role {
            Role::Input(id) => tensor.storage.format.is_full() || self.stored.contains_key(&id),
            _ => true,
        };
        let all = dims::all(self.request.program, &self.known).ok();
        let dims = all.and_then(|all| dims::compiled(program, &self.known, all));
        let Some(dims) = dims.filter(|_| program.tensors.iter().all(is_known)) else {
            return String::new();
        };
        let stored = |id: TensorId| match program.tensors[id].role {
            Role::Input(source) => self.stored.get(&source).copied(),
            _ => None,
        };
        let sizes = Sizes { dimension: &|var| dims[var], stored: &stored };
        let warnings = steps::warnings(self.request.program, program, &sizes, steps::FLOOR);
        let text = warnings.iter().map(|warning| format!("{warning}\n")).collect::<String>();
        text.lines().map(|line| format!("# {line}\n")).collect()
    }

    /// Commands that give the last computing kernel the loops that it has without any, if there are some.
    fn commands(&self) -> Result<Option<Schedule>, Diagnostic> {
        let without = legalise(&self.request)?;
        let candidates = schedule::chosen(&without);
        let sizes = &self.request.statistics;
        let without = schedule::schedule(without, &Schedule::default(), sizes)?;
        let request = Request {
            commands: Commands { given: true, ..Commands::default() },
            ..self.request.clone()
        };
        let begun = legalise(&request)?;
        let gives_the_same = |commands: &Schedule| {
            let with = schedule::schedule(begun.clone(), commands, sizes);
            let Ok(with) = with else { return false };
            let kernels = schedule::computing(&with).zip(schedule::computing(&without));
            kernels.is_some_and(|(a, b)| schedule::have_same_loops((&with, a), (&without, b)))
        };
        Ok(candidates.into_iter().find(gives_the_same))
    }

    /// The iteration graph in the language of Graphviz.
    pub fn graphviz(&self) -> Result<String, Diagnostic> {
        Ok(graph::dot(&self.compiled(Backend::Interpreter.target())?.program))
    }

    /// The schedules that kernels get on a GPU where none is given, or why they have none, as comments.
    fn found_for_gpu(&self) -> Result<String, Diagnostic> {
        if !self.schedule.leave_loops() {
            return Ok(String::new());
        }
        let mut on_gpu = for_gpu(&self.request, &self.schedule, &mut |_| ())?;
        if let (true, Some(apart)) = (self.kind != KernelKind::Fused, on_gpu.apart.take()) {
            on_gpu = *apart;
        }
        let OnGpu { program, found, .. } = on_gpu;
        let named = program.kernels.iter().zip(found);
        let line = |(kernel, found): (&cin::Kernel, Found)| {
            let name = program.name(kernel);
            match found {
                Ok(text) => format!("/* {name}: {text} */\n"),
                Err(why) => format!("/* {name} has no schedule for a GPU: {why} */\n"),
            }
        };
        Ok(named.map(line).collect())
    }

    /// One stage as text.
    pub fn stage(&self, stage: Stage) -> Result<String, Diagnostic> {
        let compiled = |backend: Backend| self.compiled(backend.target());
        Ok(match stage {
            Stage::Notation => format!("{}\n", notation::make_explicit(self.request.program)?),
            Stage::Cin => self.cin()?,
            Stage::Schedule if self.schedule.is_empty() => self.chosen()?,
            Stage::Schedule => {
                let warnings = self.warnings(&compiled(Backend::Interpreter)?.program);
                let commands = self.schedule.commands().map(|command| format!("{command}\n"));
                warnings + &commands.collect::<String>()
            }
            Stage::Graph => graph::text(&compiled(Backend::Interpreter)?.program),
            Stage::Lattice => lattices(&compiled(Backend::Interpreter)?.program),
            Stage::Plan | Stage::Comm => {
                let in_parts = Request { parallel: true, ..self.request.clone() };
                let fused =
                    pipeline::compile(&in_parts, &self.schedule, Backend::Interpreter.target())?;
                let program =
                    pipeline::of_kind(&fused, self.kind, Backend::Interpreter.target()).program;
                let text = |kernel| {
                    let plan = plan::plan(&program, kernel);
                    match stage {
                        Stage::Comm => {
                            let asked = distribution::Asked::of(&program, kernel, &plan);
                            let distribution = distribution::distribution(&program, kernel, &plan);
                            distribution::print(&program, kernel, (&asked, &distribution))
                        }
                        _ => plan::print(&program, kernel, &plan),
                    }
                };
                let kernels = program.kernels.iter().map(text);
                let of_ranks = self.of_ranks.clone().filter(|_| stage == Stage::Comm);
                kernels.chain(of_ranks).collect::<Vec<_>>().join("\n")
            }
            Stage::Ir => {
                let functions = compiled(Backend::Interpreter)?.functions;
                functions.iter().map(|l| l.function.to_string()).collect()
            }
            Stage::C => {
                let level = self.level.or_else(|| processor::level().ok());
                let functions = self.threaded(Backend::C.target_of(level))?.functions;
                c::emit(&functions.iter().map(|l| &l.function).collect::<Vec<_>>())
            }
            Stage::Asm => {
                let functions = compiled(Backend::Jit)?.functions;
                let texts: Result<Vec<String>, Diagnostic> =
                    functions.iter().map(|l| Backend::Jit.listing(&l.function)).collect();
                texts?.concat()
            }
            Stage::Cuda => {
                let functions = self.compiled(Target::GPU)?.functions;
                let hosts = on_host(&functions).into_iter();
                let hosts: String = hosts.map(|host| format!("/* {host} */\n")).collect();
                let functions: Vec<_> = functions.iter().map(|l| &l.function).collect();
                self.found_for_gpu()? + &hosts + &cuda::emit(&functions)
            }
        })
    }
}

/// Whether a function that was compiled for a GPU runs on the host.
pub fn is_on_host(lowered: &Lowered) -> bool {
    cuda::why_on_host(&lowered.function).is_some()
}

/// Which of a program's functions run on the host though they were compiled for a GPU, and why.
pub fn on_host(functions: &[Lowered]) -> Vec<String> {
    let line = |lowered: &Lowered| {
        let why = cuda::why_on_host(&lowered.function)?;
        let known = lowered.host.map(|host| host.reason().to_owned());
        Some(format!("{} runs on the host: {}", lowered.function.name, known.unwrap_or(why)))
    };
    functions.iter().filter_map(line).collect()
}

/// The dimensions of index variables, as far as the options tell them.
fn known_dims(program: &Program, options: &Options) -> Result<dims::Known, Diagnostic> {
    let Given { vars, tensors } = given(program, options)?;
    dims::known(program, tensors, &vars)
}

/// The dimensions that the options give.
fn given(program: &Program, options: &Options) -> Result<Given, Diagnostic> {
    let of_var = |(name, &size): (&String, &u64)| Ok((variable(program, name)?, size));
    let of_tensor =
        |(name, dims): (&String, &Vec<u64>)| Ok((operand(program, name)?, dims.clone()));
    Ok(Given {
        vars: options.dims.iter().map(of_var).collect::<Result<_, Diagnostic>>()?,
        tensors: options.shapes.iter().map(of_tensor).collect::<Result<_, Diagnostic>>()?,
    })
}
