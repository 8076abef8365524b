//! Whether code does what a schedule says of loops: an oracle that reads what is printed of it.
//!
//! ```text
//! parallelize(k, gpu_thread, atomics)      for k in 0..C2_size on gpu_thread
//! unroll(k, 4)                             for k in 0..k_whole step 4
//! mergeby(j, gallop)                       galloping, in the plan
//! distribute(i, io, ii, x)                 a part of i on each rank
//! ```
//!
//! It counts words, and knows nothing of why the compiler wrote them.

use tamis_core::cin::{Assembling, Kernel, MergeStrategy, ParallelUnit, Program, Tag, print};
use tamis_core::lower::Lowered;
use tamis_core::pipeline::{Compiled, lowered};
use tamis_core::plan;
use tamis_core::plan::distribution::{self, Asked, distribution};
use tamis_ir::ir;

/// What a schedule says of a loop that the code of some kernel does not do, if there is such.
pub fn dropped(compiled: &Compiled) -> Option<String> {
    let Compiled { program, functions, .. } = compiled;
    let kernels = program.kernels.iter().zip(functions);
    let says = |kernel: &Kernel| !kernel.tags.is_empty() || !kernel.cut.ranks.is_empty();
    kernels.filter(|(kernel, _)| says(kernel)).find_map(|(kernel, function)| {
        let what = dropped_of(program, kernel, function)?;
        Some(format!("{what} in\n{}{}", print::program(program), function.function))
    })
}

fn dropped_of(program: &Program, kernel: &Kernel, done: &Lowered) -> Option<String> {
    let tags: Vec<Tag> = kernel.tags.values().copied().collect();
    let asked = |wanted: &dyn Fn(&Tag) -> bool| tags.iter().filter(|tag| wanted(tag)).count();
    let lowered = lowered(program, kernel);
    let text = lowered.function.to_string();
    let written = |words: &str| text.lines().filter(|line| line.contains(words)).count();
    let plan = plan::plan(program, kernel);
    plan.root.as_ref()?;
    for unit in [ir::Unit::Block, ir::Unit::Warp, ir::Unit::Thread] {
        let on = asked(&|tag| tag.gpu() == Some(unit));
        if lowered.host.is_none() && written(&format!(" on {}", unit.name())) < on {
            return Some(format!("a loop on {}", unit.name()));
        }
    }
    for factor in 2..=64 {
        let unrolled = asked(&|tag| tag.unroll == Some(factor));
        if written(&format!(" step {factor} {{")) < unrolled {
            return Some(format!("a loop unrolled {factor} times"));
        }
    }
    let on = |unit: ParallelUnit| move |tag: &Tag| tag.parallel.is_some_and(|(u, _)| u == unit);
    if asked(&on(ParallelUnit::CpuThread)) > 0 && !is_on_threads(kernel, done, &text) {
        return Some("a loop on cpu_thread".to_owned());
    }
    if kernel.cut.chunked {
        let asked = Asked::of(program, kernel, &plan);
        let text =
            distribution::print(program, kernel, (&asked, &distribution(program, kernel, &plan)));
        let shared = |line: &&str| line.contains(" on each rank") && !line.contains("all of it");
        if text.lines().filter(shared).count() < kernel.cut.ranks.len() {
            return Some("a loop that ranks share".to_owned());
        }
    }
    // Lanes of vectors are marked by a comma and their number or a splat.
    let vectors = |line: &str| line.contains("splat(") || line.contains("; ");
    let wide = done.function.to_string().lines().any(vectors);
    if asked(&on(ParallelUnit::CpuVector)) > 0 && !wide {
        return Some("a loop on cpu_vector".to_owned());
    }
    let plan = plan::print(program, kernel, &plan);
    let wrong: &[&str] = match kernel.assembly.wanted {
        Some(Assembling::Append) => {
            &["in place", "inserted", "coordinate buffer", "count then", "count, fill and sort"]
        }
        Some(Assembling::Insert) => &["appended", "accumulator", "coordinate buffer"],
        None => &[],
    };
    let how = plan.lines().next().unwrap_or_default();
    if let Some(other) = wrong.iter().find(|words| how.contains(**words)) {
        return Some(format!("a result that is {other}"));
    }
    let galloping = plan.contains(" galloping");
    let gallops = asked(&|tag| tag.merge == Some(MergeStrategy::Gallop));
    (gallops > 0 && !galloping).then(|| "a loop that gallops".to_owned())
}

/// Whether threads run a loop that they are to run, if who calls the kernel, or its own code, has threads.
fn is_on_threads(kernel: &Kernel, done: &Lowered, text: &str) -> bool {
    let in_parts = done.partition.as_ref().is_ok_and(|partition| partition.asked);
    match kernel.cut.threaded {
        true => text.contains(" on cpu_thread {") || text.contains("one thread runs "),
        false => in_parts || !kernel.cut.chunked,
    }
}
