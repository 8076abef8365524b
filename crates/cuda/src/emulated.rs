//! CUDA C on the processor, by the system's C compiler and a header that maps what CUDA has beyond
//! C to fibers.
//!
//! ```text
//! compute_y_1<<<3, 64>>>(..)        3 blocks, one after another, of 64 fibers in changing order
//! ```
//!
//! Slow, and meant for tests: a barrier that is missing shows as a wrong number, a collective that
//! not all of its threads meet as a fault.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use tamis_core::backend::c;
use tamis_core::backend::cuda::{self, Kernels};
use tamis_core::datatype::Register;
use tamis_core::diagnostic::Diagnostic;
use tamis_core::ids::Array;
use tamis_core::ir::{Function, Param, Status};
use tamis_runtime::cc::{self, CFunction};
use tamis_runtime::kernel::Executable;

/// How many blocks run each kernel: fewer than there are iterations, mostly.
const BLOCKS: u32 = 3;

/// A function whose kernels run on fibers.
pub struct Emulated {
    function: CFunction,
    /// Fibers share what stands for a block's memory.
    alone: Mutex<()>,
}

/// Compiles the kernels of functions that have some; see [`cuda::kernels`].
pub fn compile(functions: &[&Function]) -> Result<Vec<Emulated>, Diagnostic> {
    compile_text(functions, &cuda::emit(functions))
}

/// The same with a text that may have been changed.
pub fn compile_text(functions: &[&Function], text: &str) -> Result<Vec<Emulated>, Diagnostic> {
    let entries = c::entries(functions);
    let mut source = String::from("#pragma GCC optimize (\"O0\")\n");
    source.push_str(include_str!("emulate.h"));
    source.push_str(&with_pauses(&text.replace("extern \"C\" ", "")));
    for ((function, kernels), entry) in functions.iter().zip(cuda::kernels(functions)).zip(&entries)
    {
        let empty = Kernels { launches: vec![], common: vec![], fails: false, reserves: false };
        source.push_str(&glue(function, &kernels.unwrap_or(empty), entry));
    }
    let compiled = cc::compile(&source, &entries)?;
    Ok(compiled.into_iter().map(|function| Emulated { function, alone: Mutex::new(()) }).collect())
}

/// A text in which other threads may run between what a store reads and what it writes.
fn with_pauses(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let code = line.trim_start();
        let (condition, store) = match code.strip_prefix("if (").and_then(|c| c.split_once(") ")) {
            Some((_, rest)) => code.split_at(code.len() - rest.len()),
            None => ("", code),
        };
        let array = store.split('[').next().unwrap_or_default();
        let is_name = array.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        match store.strip_suffix(';').and_then(|s| s.split_once("] = ")) {
            Some((place, value)) if is_name && !array.is_empty() => {
                let _ = writeln!(
                    out,
                    "{condition}{{ __typeof__({place}] + 0) tamis_value = {value}; tamis_pause(); \
                     {place}] = tamis_value; }}"
                );
            }
            _ => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}

/// A function that takes slots and starts the kernels.
fn glue(function: &Function, kernels: &Kernels, entry: &str) -> String {
    let (mut args, places) = arguments(function, entry);
    let at = |array| format!("(void *){entry}_slots[{}]", places[array]);
    args.extend(kernels.common.iter().map(at));
    args.extend(kernels.fails.then(|| format!("&{entry}_status")));
    args.extend(kernels.reserves.then(|| format!("{entry}_lengths")));
    let args = args.join(", ");
    let mut out = format!(
        "\nstatic unsigned long long *{entry}_slots;\nstatic int {entry}_status;\n\
         static int64_t {entry}_lengths[{}];\n",
        function.arrays.len() + 1
    );
    for launch in &kernels.launches {
        let name = &launch.name;
        let _ = writeln!(out, "static void {name}_thread(void) {{ {name}({args}); }}");
    }
    let _ = writeln!(out, "long {entry}(unsigned long long *slots) {{");
    let _ = writeln!(out, "  int failed = 0;\n  {entry}_slots = slots;\n  {entry}_status = 0;");
    for launch in &kernels.launches {
        let blocks = if launch.many { BLOCKS } else { 1 };
        let (name, threads) = (&launch.name, launch.threads);
        let _ = writeln!(
            out,
            "  if (!failed) failed = tamis_launch({blocks}, {threads}, {name}_thread);\n  \
             if (!failed) failed = {entry}_status;"
        );
        for (k, array) in launch.reserves.iter().enumerate() {
            let (slot, size) = (places[array], function.arrays[*array].elem.size());
            let _ = writeln!(
                out,
                "  if (!failed) failed = tamis_allocate(slots + {slot}, {entry}_lengths[{k}], \
                 {size});"
            );
        }
    }
    let _ = writeln!(out, "  return failed;\n}}");
    out
}

/// The arguments for the parameters of a function, and of each array the slot with its address.
fn arguments(function: &Function, entry: &str) -> (Vec<String>, BTreeMap<Array, usize>) {
    let mut args = vec![];
    let mut places = BTreeMap::new();
    let mut slot = 0;
    for param in &function.params {
        let at = format!("{entry}_slots[{slot}]");
        match param {
            Param::Scalar(v) => {
                args.push(match function.vars[*v].ty.register {
                    Register::F32 => format!("__int_as_float((int){at})"),
                    Register::F64 => format!("__longlong_as_double((long long){at})"),
                    _ => at,
                });
                slot += 1;
            }
            Param::Array(array) => {
                places.insert(*array, slot);
                args.push(format!("(void *){at}"));
                slot += 2;
            }
        }
    }
    for local in function.locals() {
        places.insert(local, slot);
        slot += 2;
    }
    (args, places)
}

impl Executable for Emulated {
    fn is_concurrent(&self) -> bool {
        false
    }

    unsafe fn call(&self, slots: &mut [u64]) -> Status {
        let _alone = self.alone.lock();
        // SAFETY: the caller passes slots of the function's calling convention.
        unsafe { self.function.call(slots) }
    }
}
