//! Statements for the threads of a GPU.
//!
//! ```text
//! for thread in 0..n on gpu_thread with s by sum {      const double s_before = s;
//!   ..                                                  s = 0.0;
//! }                                                     for (int64_t thread = threadIdx.x % 32; ..
//!                                                       s = s_before + tamis_warp_sum_f64(s, 32);
//! y_vals[i] = s                                         if (threadIdx.x % 32 == 0) y_vals[i] = s;
//! ```

use super::shape::{Shape, surely_most};
use crate::algebra::ReduceOp;
use crate::backend::c::Writer;
use crate::backend::c::types::{stored, suffix, type_name};
use crate::ids::{Array, Var};
use crate::ir::build::int;
use crate::ir::flow::mentions;
use crate::ir::parallel::on_numbers;
use crate::ir::{Expr, Reduction, Stmt, Type, Unit};
use std::collections::{BTreeMap, BTreeSet};

/// The position of a text within the code for a GPU.
pub(in crate::backend) struct Place {
    pub(super) shape: Shape,
    /// Arrays that every thread has for itself.
    pub(super) held: BTreeMap<Array, i64>,
    /// The statements that need a barrier before them.
    pub(super) barriers: BTreeSet<Vec<usize>>,
    /// The innermost surrounding unit, if there is one.
    pub(super) unit: Option<Unit>,
    /// Whether the text is inside a loop over warps.
    pub(super) in_warp: bool,
    /// The variables of the surrounding parallel loops that count from 0.
    pub(super) counted: Vec<Var>,
    /// Arrays whose lengths the kernel computes.
    pub(super) reserves: Vec<Array>,
}

/// Arrays that a block both reads and writes, or writes at several elements: these writes may need barriers.
pub(super) fn exchanged(block: &[Stmt]) -> BTreeSet<Array> {
    let mut seen = Seen::default();
    block.iter().for_each(|s| seen.stmt(s));
    let mixed = |a: &&Array| {
        let stores = seen.stored.iter().filter(|b| b == a).count();
        stores > 1 || stores > 0 && (seen.loaded.contains(a) || seen.updated.contains(a))
    };
    seen.stored.iter().filter(mixed).copied().collect()
}

/// Arrays that a block reads or writes again after it wrote to them: a thread may see values of another thread.
pub(super) fn reread(block: &[Stmt]) -> BTreeSet<Array> {
    let mut seen = Seen::default();
    block.iter().for_each(|s| seen.stmt(s));
    let updated = seen.updated.iter().filter(|a| seen.loaded.contains(a));
    exchanged(block).into_iter().chain(updated.copied()).collect()
}

#[derive(Default)]
struct Seen {
    stored: Vec<Array>,
    updated: BTreeSet<Array>,
    loaded: BTreeSet<Array>,
}

impl Seen {
    fn stmt(&mut self, s: &Stmt) {
        match s {
            Stmt::Store { array, .. } | Stmt::Fill { array, .. } => self.stored.push(*array),
            Stmt::Update { array, .. } => drop(self.updated.insert(*array)),
            _ => {}
        }
        for e in s.exprs() {
            e.walk(&mut |e| {
                if let Expr::Load { array, .. } = e {
                    self.loaded.insert(*array);
                }
            });
        }
        s.blocks().flatten().for_each(|s| self.stmt(s));
    }
}

impl Writer<'_> {
    fn place(&mut self) -> &mut Place {
        self.place.as_mut().expect("statements of a device have a location")
    }

    /// Prints a statement, if threads run it in a special way.
    pub(in crate::backend) fn on_device(&mut self, s: &Stmt, path: &mut [usize]) -> bool {
        if self.place().barriers.contains(path) {
            self.barrier();
        }
        match s {
            Stmt::Parallel { unit, var, lo, hi, combined, body } => {
                self.parallel(*unit, (*var, lo, hi), combined, body, path);
            }
            Stmt::Store { array, index, value } => {
                let line = self.stored(*array, index, value);
                self.by_one(*array, &line);
            }
            Stmt::Update { array, index, op, value } => {
                let ty = self.function.type_of(value);
                let (name, at, value) = (self.array(*array), self.expr(index), self.expr(value));
                let helper = format!("tamis_update_{}_{}", op.name(), suffix(ty));
                let line = format!("{helper}(&{name}[{at}], {value});");
                self.by_one(*array, &line);
            }
            Stmt::Fill { array, lo, hi, value } if !self.place().held.contains_key(array) => {
                self.fill_together(*array, lo, hi, value);
            }
            // Workspaces are declared instead.
            Stmt::Reserve { array, len } => {
                let at = self.place().reserves.iter().position(|a| a == array);
                if let Some(at) = at {
                    let len = self.expr(len);
                    self.line(&format!("tamis_lengths[{at}] = {len};"));
                }
            }
            Stmt::Fail(status) => {
                self.line(&format!("atomicMax(tamis_status, {});", *status as i64));
            }
            Stmt::Prefetch { .. } => {}
            _ => return false,
        }
        true
    }

    /// Loops whose iterations are dealt out to units.
    fn parallel(
        &mut self,
        unit: Unit,
        (var, lo, hi): (Var, &Expr, &Expr),
        combined: &[Reduction],
        body: &[Stmt],
        path: &mut [usize],
    ) {
        let Place { shape: Shape { threads, width }, unit: outer, in_warp, .. } = *self.place();
        let (first, several) = match unit {
            Unit::Core | Unit::Block => ("blockIdx.x".to_owned(), None),
            Unit::Warp if width == 1 => ("threadIdx.x".to_owned(), Some(threads)),
            Unit::Warp => (format!("threadIdx.x / {width}"), Some(threads / width)),
            Unit::Thread if in_warp => (format!("threadIdx.x % {width}"), Some(width)),
            Unit::Thread => ("threadIdx.x".to_owned(), Some(threads)),
        };
        let once = several.is_some_and(|n| self.is_at_most(var, lo, hi, n));
        let scoped = once || !combined.is_empty();
        if scoped {
            self.line("{");
            self.indent += 1;
        }
        self.begin(combined);
        match (once, several) {
            (true, Some(all)) => self.once(var, &first, hi, all),
            (_, several) => {
                let step = several.map_or("gridDim.x".to_owned(), |n| n.to_string());
                self.for_loop(var, (lo, &first), hi, &step, body);
            }
        }
        let place = self.place();
        place.unit = Some(unit);
        place.in_warp |= unit == Unit::Warp;
        let counts = *lo == int(0);
        place.counted.extend(counts.then_some(var));
        self.nested(body, path, 0);
        self.line("}");
        let place = self.place();
        (place.unit, place.in_warp) = (outer, in_warp);
        place.counted.retain(|v| *v != var);
        self.end(combined);
        if scoped {
            self.indent -= 1;
            self.line("}");
        }
    }

    /// Whether a loop certainly has at most this many iterations, so that each of as many threads has one.
    fn is_at_most(&mut self, var: Var, lo: &Expr, hi: &Expr, most: i64) -> bool {
        let own = mentions(hi, var) || *lo != int(0);
        !own && surely_most(hi, &self.place().counted).is_some_and(|count| count <= most)
    }

    /// The head of a block that each thread runs at most once.
    fn once(&mut self, var: Var, first: &str, hi: &Expr, all: i64) {
        let (name, bound) = (self.var(var).to_owned(), self.expr(hi));
        self.line(&format!("int64_t {name} = {first};"));
        match *hi == int(all) {
            true => self.line("{"),
            false => self.line(&format!("if ({name} < {bound}) {{")),
        }
    }

    /// Initialises reduction variables of every thread with the identity.
    fn begin(&mut self, combined: &[Reduction]) {
        for c in combined {
            let ty = self.function.vars[c.var].ty;
            let identity = c.op.identity(ty.register).expect("its iterations combine values");
            let identity = self.constant(identity).0;
            let names = self.names.var(c.var);
            let (name, before) = (names.name.clone(), names.before.clone());
            self.line(&format!("const {} {before} = {name};", type_name(ty)));
            self.line(&format!("{name} = {identity};"));
        }
    }

    /// Gives every thread the combined value.
    fn end(&mut self, combined: &[Reduction]) {
        for c in combined {
            let ty = self.function.vars[c.var].ty;
            let names = self.names.var(c.var);
            let (name, before) = (names.name.clone(), names.before.clone());
            let all = self.over_threads(c.op, ty, &name);
            let total = combination(c.op, ty, &before, &all);
            self.line(&format!("{name} = {total};"));
        }
    }

    /// The combined value of a variable over all threads of the unit.
    fn over_threads(&mut self, op: ReduceOp, ty: Type, name: &str) -> String {
        let Place { shape: Shape { threads, width }, in_warp, .. } = *self.place();
        let (op, ty) = (op.name(), suffix(ty));
        match in_warp {
            true => format!("tamis_warp_{op}_{ty}({name}, {width})"),
            false => format!("tamis_block_{op}_{ty}({name}, {threads})"),
        }
    }

    /// A statement that writes to an array: of several threads that run it, one does.
    fn by_one(&mut self, array: Array, line: &str) {
        let place = self.place();
        let width = place.shape.width;
        let all = place.held.contains_key(&array);
        let condition = match place.unit {
            _ if all => None,
            None | Some(Unit::Thread) => None,
            Some(Unit::Warp) if width == 1 => None,
            Some(Unit::Warp) => Some(format!("threadIdx.x % {width} == 0")),
            Some(Unit::Core | Unit::Block) => Some("threadIdx.x == 0".to_owned()),
        };
        match condition {
            Some(condition) => self.line(&format!("if ({condition}) {line}")),
            None => self.line(line),
        }
    }

    /// Fills a range of an array, by all threads of the unit.
    fn fill_together(&mut self, array: Array, lo: &Expr, hi: &Expr, value: &Expr) {
        let Place { shape: Shape { threads, width }, unit, .. } = *self.place();
        let (first, step) = match unit {
            None => (
                format!("(int64_t)blockIdx.x * {threads} + threadIdx.x"),
                format!("(int64_t)gridDim.x * {threads}"),
            ),
            Some(Unit::Core | Unit::Block) => ("threadIdx.x".to_owned(), threads.to_string()),
            Some(Unit::Warp) => (format!("threadIdx.x % {width}"), width.to_string()),
            Some(Unit::Thread) => ("0".to_owned(), "1".to_owned()),
        };
        let elem = self.function.arrays[array].elem;
        let (lo, hi) = (self.expr(lo), self.expr(hi));
        let register = self.function.type_of(value).register;
        let value = stored(elem, register, &self.expr(value));
        let first = if lo == "0" { first } else { format!("{lo} + {first}") };
        let name = self.array(array).to_owned();
        self.line(&format!(
            "for (int64_t tamis_k = {first}; tamis_k < {hi}; tamis_k += {step}) {name}[tamis_k] = \
             {value};"
        ));
    }

    /// A barrier for the threads of the unit.
    fn barrier(&mut self) {
        let Place { shape: Shape { width, .. }, unit, .. } = *self.place();
        match unit {
            Some(Unit::Core | Unit::Block) => self.line("__syncthreads();"),
            Some(Unit::Warp) if width > 1 => {
                self.line(&format!("__syncwarp(tamis_mask({width}));"));
            }
            _ => {}
        }
    }
}

/// `a op b` as text.
pub(super) fn combination(op: ReduceOp, ty: Type, a: &str, b: &str) -> String {
    match op {
        ReduceOp::Add => format!("{a} + {b}"),
        ReduceOp::Mul => format!("{a} * {b}"),
        op => format!("tamis_{}_{}({a}, {b})", on_numbers(op).name(), suffix(ty)),
    }
}
