//! How many random programs run in parts, or on a GPU, when that is asked for, and why the others do not.
//!
//! ```text
//! sparse results     9571 of 9580 kernels in parts       Commanded 6, NoLoop 3
//! ```

use crate::case::Case;
use std::collections::BTreeMap;
use tamis::explain::{Explanation, Stage};
use tamis::{Backend, Diagnostic, Kernel, Parts, Tensor};
use tamis_core::cin::{Role, print};
use tamis_core::lower::Lowered;
use tamis_core::pipeline::Compiled;
use tamis_core::plan::NotCut;

/// What became of the programs with a result of some kind.
#[derive(Default)]
pub struct Share {
    /// Programs of which every kernel with a loop runs in parts.
    pub parallel: u64,
    /// Programs without a loop, or told to run on one thread.
    pub exempt: u64,
    /// The others, by why the first of their kernels that does not is whole, with one as a filetest.
    pub whole: BTreeMap<NotCut, (u64, String)>,
}

impl Share {
    /// All programs that could run in parts.
    pub fn all(&self) -> u64 {
        self.parallel + self.whole.values().map(|(count, _)| count).sum::<u64>()
    }
}

/// The shares of programs, those with a sparse result and the others.
#[derive(Default)]
pub struct Shares {
    /// Programs of which some result is sparse.
    pub sparse: Share,
    /// Programs of which none is.
    pub full: Share,
}

impl Shares {
    /// Counts a program, if it is valid.
    pub fn count(&mut self, case: &Case) {
        let Ok(Ok(Loops { sparse, kernels })) = std::panic::catch_unwind(|| loops(case)) else {
            return;
        };
        let share = if sparse { &mut self.sparse } else { &mut self.full };
        let exempt = |whole: &NotCut| matches!(whole, NotCut::NoLoop | NotCut::Commanded);
        let whole = |(_, whole): &&(String, Option<NotCut>)| whole.is_some_and(|w| !exempt(&w));
        match kernels.iter().find(whole) {
            Some((loops, Some(whole))) => {
                let text = || format!("{case}{loops}\n");
                share.whole.entry(*whole).or_insert_with(|| (0, text())).0 += 1;
            }
            _ if kernels.iter().all(|(_, whole)| whole.is_some()) => share.exempt += 1,
            _ => share.parallel += 1,
        }
    }
}

/// How many programs run on a GPU with the schedules that kernels get there.
#[derive(Default)]
pub struct OnGpu {
    /// Programs of which every kernel runs there.
    pub whole: u64,
    /// The others, by why the first of their kernels that does not runs on the host, with one as a
    /// filetest.
    pub host: BTreeMap<String, (u64, String)>,
}

impl OnGpu {
    /// All programs.
    pub fn all(&self) -> u64 {
        self.whole + self.host.values().map(|(count, _)| count).sum::<u64>()
    }
}

/// Shares of programs with a sparse result and of the others.
#[derive(Default)]
pub struct SharesOnGpu {
    /// Programs of which some result is sparse.
    pub sparse: OnGpu,
    /// Programs of which none is.
    pub full: OnGpu,
}

impl SharesOnGpu {
    /// Counts a program without its schedule, if it is valid.
    pub fn count(&mut self, case: &Case) {
        let case = Case { schedule: String::new(), ..case.clone() };
        let Ok(Loops { sparse, .. }) = loops(&case) else { return };
        let Ok(text) = cuda_text(&case) else { return };
        let share = if sparse { &mut self.sparse } else { &mut self.full };
        let hosts = text.lines().filter_map(|line| line.split_once(" runs on the host: "));
        let name = |word: &str| word.chars().any(|c| !c.is_alphabetic());
        match hosts.map(|(_, why)| why.trim_end_matches(" */")).next() {
            None => share.whole += 1,
            Some(why) => {
                let why: Vec<&str> =
                    why.split(' ').map(|word| if name(word) { "_" } else { word }).collect();
                share.host.entry(why.join(" ")).or_insert_with(|| (0, case.to_string())).0 += 1;
            }
        }
    }
}

/// What a program's kernels are on a GPU.
pub(crate) fn cuda_text(case: &Case) -> Result<String, Diagnostic> {
    let program = tamis::notation::parse(&case.text)?;
    let mut options = case.options(Backend::Interpreter)?;
    let mut formats = std::mem::take(&mut options.results);
    for (name, tensor) in case.tensors()? {
        options.shapes.insert(name.clone(), tensor.dims().to_vec());
        let operand = case.operands.iter().find(|operand| operand.name == name);
        if let Some(operand) = operand {
            let order = program.tensor(&name).map(|t| program.tensors[t].order);
            formats.insert(name, tamis::format::parse(&operand.format, order)?);
        }
    }
    Explanation::of(&program, &formats, &options)?.stage(Stage::Cuda)
}

/// The kernels of a program.
struct Loops {
    /// Whether a result is sparse.
    sparse: bool,
    /// For each its loops, and why it is whole, if it is.
    kernels: Vec<(String, Option<NotCut>)>,
}

fn loops(case: &Case) -> Result<Loops, Diagnostic> {
    let tensors = case.tensors()?;
    let operands: Vec<(&str, &Tensor)> = tensors.iter().map(|(n, t)| (n.as_str(), t)).collect();
    let mut options = case.options(Backend::Interpreter)?;
    options.parts = Parts::OfElements(1);
    let kernel = Kernel::compile(&case.text, &operands, &options)?;
    let Compiled { program, functions, .. } = kernel.compiled();
    let mut results = program.tensors.iter().filter(|t| matches!(t.role, Role::Result(_)));
    let sparse = results.any(|t| !t.storage.format.is_full());
    let whole = |f: &Lowered| f.partition.as_ref().err().copied();
    let kernels = program.kernels.iter().zip(functions);
    let kernels = kernels.map(|(k, f)| (print::stmt(program, &k.body), whole(f))).collect();
    Ok(Loops { sparse, kernels })
}
