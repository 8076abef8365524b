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
use tamis_ir::backend::c;
use tamis_ir::backend::cuda::{self, Kernels, LaunchArgument};
use tamis_ir::datatype::Register;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::{Array, Var};
use tamis_ir::ir::{Function, Param, Status};
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
    let kernels = cuda::kernels(functions).into_iter().map(Result::unwrap_or_default);
    let kernels: Vec<Kernels> = kernels.collect();
    for ((function, kernels), entry) in functions.iter().zip(&kernels).zip(&entries) {
        source.push_str(&glue(function, kernels, entry));
    }
    let compiled = cc::compile(&source, &entries)?;
    let emulated = |function| Emulated { function, alone: Mutex::new(()) };
    Ok(compiled.into_iter().map(emulated).collect())
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
    let layout = Layout::of(function);
    let mut out = format!(
        "\nstatic unsigned long long *{entry}_slots;\nstatic int {entry}_status;\n\
         static int64_t {entry}_lengths[{}];\n",
        function.arrays.len() + 1
    );
    for launch in &kernels.launches {
        let name = &launch.name;
        let args = launch.arguments.iter().map(|arg| argument(function, &layout, entry, arg));
        let args = args.collect::<Vec<String>>().join(", ");
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
            let (slot, size) = (layout.places[array], function.arrays[*array].elem.size());
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

/// The slots of a function.
struct Layout {
    /// Of each array the slot with its address.
    places: BTreeMap<Array, usize>,
    scalars: BTreeMap<Var, usize>,
}

impl Layout {
    fn of(function: &Function) -> Layout {
        let (mut places, mut scalars) = (BTreeMap::new(), BTreeMap::new());
        let mut slots = 0;
        for param in &function.params {
            match param {
                Param::Scalar(v) => drop(scalars.insert(*v, slots)),
                Param::Array(array) => drop(places.insert(*array, slots)),
            }
            slots += if matches!(param, Param::Scalar(_)) { 1 } else { 2 };
        }
        for local in function.locals() {
            places.insert(local, slots);
            slots += 2;
        }
        Layout { places, scalars }
    }
}

/// What a kernel is given.
fn argument(
    function: &Function,
    layout: &Layout,
    entry: &str,
    argument: &LaunchArgument,
) -> String {
    match argument {
        LaunchArgument::Scalar(v) => {
            let at = format!("{entry}_slots[{}]", layout.scalars[v]);
            match function.vars[*v].ty.register {
                Register::F32 => format!("__int_as_float((int){at})"),
                Register::F64 => format!("__longlong_as_double((long long){at})"),
                _ => at,
            }
        }
        LaunchArgument::Array(array) => format!("(void *){entry}_slots[{}]", layout.places[array]),
        LaunchArgument::Status => format!("&{entry}_status"),
        LaunchArgument::Lengths => format!("{entry}_lengths"),
    }
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
