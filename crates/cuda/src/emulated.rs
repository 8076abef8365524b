//! CUDA C on the processor, by the system's C compiler and a header that maps what CUDA has beyond
//! C to fibers.
//!
//! ```text
//! compute_y_1<<<3, 64>>>(..)        3 blocks, one after another, of 64 fibers in changing order
//! ```
//!
//! Slow, and meant for tests: a barrier that is missing shows as a wrong number, a collective that
//! not all of its threads meet as a fault.

use crate::kept::{self, Key};
use crate::resident;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex};
use tamis_core::backend::c;
use tamis_core::backend::cuda::{self, Kernels};
use tamis_core::datatype::Register;
use tamis_core::diagnostic::Diagnostic;
use tamis_core::ids::{Array, Var};
use tamis_core::ir::{Function, Param, Status};
use tamis_runtime::cc::{self, CFunction};
use tamis_runtime::kernel::Executable;

/// How many blocks run each kernel: fewer than there are iterations, mostly.
const BLOCKS: u32 = 3;

/// A function whose kernels run on fibers.
pub struct Emulated {
    function: CFunction,
    /// The slots of the calling convention, behind which each table has one that says whether it is
    /// there.
    slots: usize,
    /// The slots of numbers.
    scalars: Vec<usize>,
    tables: Vec<Table>,
    /// What tells its tables from those of others.
    number: u64,
    /// Fibers share what stands for a block's memory.
    alone: Mutex<()>,
}

/// What a kernel leaves by operands alone, and these, by their slots and the bytes of elements.
struct Table {
    launch: usize,
    arrays: Vec<(usize, usize)>,
    inputs: Vec<(usize, usize)>,
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
    let empty = Kernels { launches: vec![], common: vec![], fails: false, reserves: false };
    let kernels = cuda::kernels(functions).into_iter().map(|found| found.unwrap_or(empty.clone()));
    let kernels: Vec<Kernels> = kernels.collect();
    for ((function, kernels), entry) in functions.iter().zip(&kernels).zip(&entries) {
        source.push_str(&glue(function, kernels, entry));
    }
    let compiled = cc::compile(&source, &entries)?;
    let all = functions.iter().zip(&kernels).zip(compiled);
    Ok(all.map(|((function, kernels), compiled)| emulated(function, kernels, compiled)).collect())
}

fn emulated(function: &Function, kernels: &Kernels, compiled: CFunction) -> Emulated {
    let layout = Layout::of(function);
    let slot = |&array: &Array| (layout.places[&array], function.arrays[array].elem.size());
    let slots = |arrays: &[Array]| arrays.iter().map(slot).collect();
    let tables = kernels.launches.iter().enumerate().filter_map(|(launch, start)| {
        let table = start.table.as_ref()?;
        Some(Table { launch, arrays: slots(&table.arrays), inputs: slots(&table.inputs) })
    });
    Emulated {
        function: compiled,
        slots: layout.slots,
        scalars: layout.scalars.values().copied().collect(),
        tables: tables.collect(),
        number: kept::function(),
        alone: Mutex::new(()),
    }
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
    let mut args = arguments(function, &layout, entry);
    let places = &layout.places;
    // The slot that says that a table is there, by the kernel or by an array.
    let mut tables = BTreeMap::new();
    let mut kept = BTreeMap::new();
    for (k, launch) in kernels.launches.iter().enumerate() {
        if let Some(table) = &launch.table {
            let slot = layout.slots + tables.len();
            tables.insert(k, slot);
            kept.extend(table.arrays.iter().map(|&array| (array, slot)));
        }
    }
    let unless = |slot: Option<&usize>| match slot {
        Some(slot) => format!(" && !slots[{slot}]"),
        None => String::new(),
    };
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
    for (k, launch) in kernels.launches.iter().enumerate() {
        let there = unless(tables.get(&k));
        let blocks = if launch.many { BLOCKS } else { 1 };
        let (name, threads) = (&launch.name, launch.threads);
        let _ = writeln!(
            out,
            "  if (!failed{there}) failed = tamis_launch({blocks}, {threads}, {name}_thread);\n  \
             if (!failed) failed = {entry}_status;"
        );
        for (k, array) in launch.reserves.iter().enumerate() {
            let (slot, size) = (places[array], function.arrays[*array].elem.size());
            let there = unless(kept.get(array));
            let _ = writeln!(
                out,
                "  if (!failed{there}) failed = tamis_allocate(slots + {slot}, {entry}_lengths[{k}], \
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
    /// How many there are.
    slots: usize,
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
        Layout { places, scalars, slots }
    }
}

/// The arguments for the parameters of a function.
fn arguments(function: &Function, layout: &Layout, entry: &str) -> Vec<String> {
    let argument = |param: &Param| match param {
        Param::Scalar(v) => {
            let at = format!("{entry}_slots[{}]", layout.scalars[v]);
            match function.vars[*v].ty.register {
                Register::F32 => format!("__int_as_float((int){at})"),
                Register::F64 => format!("__longlong_as_double((long long){at})"),
                _ => at,
            }
        }
        Param::Array(array) => format!("(void *){entry}_slots[{}]", layout.places[array]),
    };
    function.params.iter().map(argument).collect()
}

impl Emulated {
    /// What decides a table, if it is tensors that stay where they are.
    fn key(&self, slots: &[u64], table: &Table) -> Option<Key> {
        let place = |&(slot, size): &(usize, usize)| (slots[slot], slots[slot + 1] as usize * size);
        let inputs: Vec<_> = table.inputs.iter().map(place).collect();
        let scalars = self.scalars.iter().map(|&slot| slots[slot]).collect();
        let held = inputs.iter().all(|&place| resident::is_held(place));
        held.then_some(Key { function: self.number, launch: table.launch, scalars, inputs })
    }

    /// Keeps what a kernel has left in arrays.
    ///
    /// # Safety
    /// The slots are those of a call that has ended well.
    unsafe fn keep(&self, slots: &[u64], table: &Table, key: Key) {
        let copy = |&(slot, size): &(usize, usize)| {
            let (address, len) = (slots[slot] as *const u8, slots[slot + 1] as usize);
            let mut copy = vec![0u64; (len * size).div_ceil(8)];
            // SAFETY: the call left an array of so many elements, and the copy has room for them.
            unsafe { address.copy_to_nonoverlapping(copy.as_mut_ptr().cast(), len * size) };
            (copy, len)
        };
        let arrays: Kept = table.arrays.iter().map(copy).collect();
        kept::keep(key, Arc::new(arrays));
    }
}

/// The arrays of a table, and their lengths.
type Kept = Vec<(Vec<u64>, usize)>;

impl Executable for Emulated {
    fn is_concurrent(&self) -> bool {
        false
    }

    unsafe fn call(&self, slots: &mut [u64]) -> Status {
        let _alone = self.alone.lock();
        let mut all = slots[..self.slots].to_vec();
        let mut there = vec![];
        for table in &self.tables {
            let key = self.key(slots, table);
            let found = key.as_ref().and_then(kept::find);
            let found = found.and_then(|arrays| arrays.downcast::<Kept>().ok());
            for (&(slot, _), (array, len)) in
                table.arrays.iter().zip(found.iter().flat_map(|f| f.iter()))
            {
                (all[slot], all[slot + 1]) = (array.as_ptr() as u64, *len as u64);
            }
            there.push((key, found));
        }
        all.extend(there.iter().map(|(_, found)| u64::from(found.is_some())));
        // SAFETY: the caller passes slots of the function's calling convention.
        let status = unsafe { self.function.call(&mut all) };
        for (table, (key, found)) in self.tables.iter().zip(there) {
            match (key, found) {
                // What is kept is nobody's to free.
                (_, Some(_)) => {
                    table.arrays.iter().for_each(|&(slot, _)| (all[slot], all[slot + 1]) = (0, 0));
                }
                // SAFETY: the call has ended well.
                (Some(key), None) if status == Status::Ok => unsafe { self.keep(&all, table, key) },
                _ => {}
            }
        }
        slots[..self.slots].copy_from_slice(&all[..self.slots]);
        status
    }
}
