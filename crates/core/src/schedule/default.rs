//! Schedules for a GPU where the user gives none.
//!
//! ```text
//! y(i) = A(i,j) * x(j)          a part of a warp per row, positions on its threads, which add up
//! C(i,k) = A(i,j) * B(j,k)      a warp per row, columns on its threads
//! y(j) = A(i,j) * x(i)          a thread per entry, which adds to an element of y
//! a = A(i,j) * B(i,j)           a part of a warp per row, each of which adds to the result
//! C(i,j) = A(i,j) * x(j)        C stored by rows: a warp per row, entries on its threads
//! C(i,j) = A(i,j) + B(i,j)      the same: a thread per row
//! ```
//!
//! What there is of a rule is tried from the best down; the first schedule that can be applied is
//! taken. A kernel for which there is none runs on the host.

use super::accumulate::accumulate;
use super::gpu::repeating;
use super::parse::parse;
use super::scheduler::Scheduler;
use super::sums;
use crate::cin::{Kernel, Program, Stmt};
use crate::ids::IndexVar;
use crate::notation::Access;

/// Rows of a block, and threads that have columns of a row.
const COLUMNS: [u64; 2] = [8, 32];
/// Rows of a block, and threads that add up one: most rows of sparse matrices are short.
const SUMS: [u64; 2] = [32, 8];
/// The threads of a block that have a row each, or an entry.
const THREADS: u64 = 256;

/// The program with loops on units of a GPU, and the schedule of each kernel that has some.
pub fn on_gpu(mut program: Program) -> (Program, Vec<Option<String>>) {
    let mut found = vec![];
    for k in 0..program.kernels.len() {
        let candidates = match nest(&program, &program.kernels[k]) {
            Some(nest) => nest.candidates(),
            None => vec![],
        };
        let applied = candidates.into_iter().find_map(|text| {
            let commands = parse(&text).ok()?;
            let scheduled = Scheduler::run_at(program.clone(), &commands, k).ok()?;
            sums::check(&accumulate(scheduled.clone()), &commands).ok()?;
            Some((scheduled, text))
        });
        match applied {
            Some((scheduled, text)) => {
                program = scheduled;
                found.push(Some(text));
            }
            None => found.push(None),
        }
    }
    (program, found)
}

/// Loops around everything else.
struct Nest<'p> {
    program: &'p Program,
    kernel: &'p Kernel,
    loops: Vec<IndexVar>,
    lhs: Access,
    inside: Inside,
    reads: Vec<Access>,
    names: Names,
}

/// What is in the loops.
enum Inside {
    /// An assignment.
    Assignment,
    /// A sum over these loops, and an assignment that reads it.
    Sum(Vec<IndexVar>),
    /// Anything else.
    More,
}

/// Names that nothing has.
struct Names {
    block: String,
    warp: String,
    thread: String,
    row: String,
    rest: String,
    fused: String,
}

fn nest<'p>(program: &'p Program, kernel: &'p Kernel) -> Option<Nest<'p>> {
    let mut loops = vec![];
    let mut at = &kernel.body;
    while let Stmt::Forall { var, body } = at {
        loops.push(*var);
        at = body;
    }
    let inside = match at {
        Stmt::Assign { .. } => Inside::Assignment,
        Stmt::Where { consumer, producer } if consumer.loops().is_empty() => {
            Inside::Sum(producer.loops())
        }
        _ => Inside::More,
    };
    let mut lhs = None;
    kernel.body.for_each_assign(&mut |access, _, _| {
        lhs = lhs.take().or_else(|| (access.tensor == kernel.result).then(|| access.clone()));
    });
    let lhs = lhs.filter(|_| !loops.is_empty())?;
    let taken = |name: &String| {
        program.vars.iter().any(|v| v == name) || program.tensors.iter().any(|t| t.name == *name)
    };
    let fresh = |name: &str| {
        let numbered = (2..).map(|k| format!("{name}_{k}"));
        let free = std::iter::once(name.to_owned()).chain(numbered).find(|name| !taken(name));
        free.unwrap_or_default()
    };
    let names = Names {
        block: fresh("block"),
        warp: fresh("warp"),
        thread: fresh("thread"),
        row: fresh("row"),
        rest: fresh("rest"),
        fused: fresh("fused"),
    };
    let reads = kernel.body.reads().into_iter().cloned().collect();
    Some(Nest { program, kernel, loops, lhs, inside, reads, names })
}

impl Nest<'_> {
    /// Schedules, the best first.
    fn candidates(&self) -> Vec<String> {
        let derived = &self.program.derived;
        let plain = |v: &IndexVar| derived.map(*v).is_none() && derived.relation(*v).is_none();
        let mut found = vec![];
        if self.loops.iter().all(plain) {
            if self.appends_rows() {
                found.extend(self.appending());
            }
            match &self.inside {
                Inside::Assignment => found.extend(self.of_assignment()),
                Inside::Sum(vars) => found.extend(vars.last().map(|&k| self.inner_sum(k))),
                Inside::More => {}
            }
            found.push(self.rows());
        }
        found.push(self.as_they_are());
        found
    }

    /// Whether the result stores entries row by row, in the order of the loops: then rows are counted
    /// before they are written, and have one writer.
    fn appends_rows(&self) -> bool {
        let levels = self.program.storage(self.lhs.tensor).format.levels();
        let vars = self.program.level_vars(self.lhs.tensor, &self.lhs.indices);
        let listed = |k: usize| !levels[k].kind.properties().full;
        let more = matches!(self.inside, Inside::More);
        vars.len() > 1 && vars == self.loops && !listed(0) && (1..vars.len()).any(listed) && !more
    }

    /// Schedules for results whose entries come in order.
    fn appending(&self) -> Vec<String> {
        let alone = |var: IndexVar| {
            let stores = |access: &&Access| {
                let vars = self.program.level_vars(access.tensor, &access.indices);
                let levels = self.program.storage(access.tensor).format.levels();
                levels.iter().zip(vars).any(|(l, v)| v == var && !l.kind.properties().full)
            };
            self.reads.iter().filter(stores).count() == 1
        };
        match (&self.inside, &self.loops[..]) {
            (Inside::Sum(sums), _) if !sums.is_empty() => {
                sums.last().map(|&k| self.inner_sum(k)).into_iter().collect()
            }
            (_, &[_, j]) if alone(j) => vec![self.entries_of_rows(j), self.rows()],
            _ => vec![self.rows()],
        }
    }

    /// A warp per row, entries on its threads.
    fn entries_of_rows(&self, entry: IndexVar) -> String {
        let Names { block, warp, .. } = &self.names;
        let [warps, _] = COLUMNS;
        let rows = self.split_rows(block, warp, warps);
        let units = [(&**block, "gpu_block"), (warp, "gpu_warp"), (self.name(entry), "gpu_thread")];
        format!("{rows}{}", self.on_units("no_races", &units))
    }

    /// Schedules for loops around an assignment.
    fn of_assignment(&self) -> Vec<String> {
        let mut found = vec![];
        if let Some(&column) = self.loops[1..].iter().rev().find(|v| self.is_column(**v)) {
            found.push(self.columns(column));
        }
        let sum = self.loops[1..].iter().rev().find(|v| !self.is_told(**v));
        found
            .extend(sum.into_iter().flat_map(|&sum| [self.sums(sum, true), self.sums(sum, false)]));
        found.extend(self.entries());
        found
    }

    fn name(&self, var: IndexVar) -> &str {
        &self.program.vars[var]
    }

    /// Whether the coordinates that are written tell a variable.
    fn is_told(&self, var: IndexVar) -> bool {
        self.program.derived.depth(var, &self.lhs.indices) != usize::MAX
    }

    /// The operand whose level over a variable stores its coordinates.
    fn sparse(&self, var: IndexVar) -> Option<&Access> {
        self.reads.iter().find(|access| {
            let vars = self.program.level_vars(access.tensor, &access.indices);
            let levels = self.program.storage(access.tensor).format.levels();
            levels.iter().zip(vars).any(|(l, v)| v == var && !l.kind.properties().full)
        })
    }

    /// Whether a variable is over columns of the result, of which every operand has all.
    fn is_column(&self, var: IndexVar) -> bool {
        self.is_told(var) && self.sparse(var).is_none()
    }

    /// `split(i, block, warp, 8)`, of positions where an operand stores the coordinates.
    fn split_rows(&self, outer: &str, inner: &str, size: u64) -> String {
        let (i, row) = (self.name(self.loops[0]), &self.names.row);
        match self.sparse(self.loops[0]) {
            Some(access) => {
                let operand = crate::cin::print::access(self.program, access);
                format!("pos({i}, {row}, {operand}); split({row}, {outer}, {inner}, {size})")
            }
            None => format!("split({i}, {outer}, {inner}, {size})"),
        }
    }

    /// `parallelize(..)` of each unit.
    fn on_units(&self, races: &str, units: &[(&str, &str)]) -> String {
        let one = |(var, unit): &(&str, &str)| format!("; parallelize({var}, {unit}, {races})");
        units.iter().map(one).collect()
    }

    /// What several rows of the outermost loop add to.
    fn races(&self) -> &'static str {
        let outermost = self.loops[0];
        match self.is_told(outermost) && repeating(self.program, self.kernel, outermost).is_none() {
            true => "no_races",
            false => "atomics",
        }
    }

    /// A warp per row, columns on its threads.
    fn columns(&self, column: IndexVar) -> String {
        let Names { block, warp, thread, rest, .. } = &self.names;
        let [warps, threads] = COLUMNS;
        let k = self.name(column);
        let inner = self.loops[1..].iter().filter(|v| **v != column);
        let inner: String = inner.map(|v| format!(", {}", self.name(*v))).collect();
        let rows = self.split_rows(block, warp, warps);
        let units = [(&**block, "gpu_block"), (warp, "gpu_warp"), (thread, "gpu_thread")];
        format!(
            "{rows}; split({k}, {rest}, {thread}, {threads}); reorder({block}, {warp}, {rest}, \
             {thread}{inner}){}",
            self.on_units(self.races(), &units)
        )
    }

    /// A warp per row, the coordinates or entries of a sum on its threads.
    fn sums(&self, sum: IndexVar, by_position: bool) -> String {
        let Names { block, warp, thread, rest, fused, .. } = &self.names;
        let [warps, threads] = SUMS;
        let rows = self.split_rows(block, warp, warps);
        let j = self.name(sum);
        let split = match self.sparse(sum).filter(|_| by_position) {
            Some(access) => {
                let operand = crate::cin::print::access(self.program, access);
                format!("pos({j}, {fused}, {operand}); split({fused}, {rest}, {thread}, {threads})")
            }
            None => format!("split({j}, {rest}, {thread}, {threads})"),
        };
        let (outer, inner): (Vec<IndexVar>, Vec<IndexVar>) = {
            let at = self.loops.iter().position(|v| *v == sum).unwrap_or(0);
            (self.loops[1..at.max(1)].to_vec(), self.loops[at + 1..].to_vec())
        };
        let list = |vars: &[IndexVar]| -> String {
            vars.iter().map(|v| format!(", {}", self.name(*v))).collect()
        };
        let is_sum = inner.iter().all(|v| !self.is_told(*v));
        let races = if is_sum { "parallel_reduction" } else { "atomics" };
        let units = [(&**block, "gpu_block"), (warp, "gpu_warp")];
        format!(
            "{rows}; {split}; reorder({block}, {warp}{}, {thread}, {rest}{}){}; \
             parallelize({thread}, gpu_thread, {races})",
            list(&outer),
            list(&inner),
            self.on_units(self.races(), &units)
        )
    }

    /// A warp per row, the coordinates of a sum inside of all loops on its threads.
    fn inner_sum(&self, sum: IndexVar) -> String {
        let Names { block, warp, thread, rest, .. } = &self.names;
        let [warps, threads] = SUMS;
        let rows = self.split_rows(block, warp, warps);
        let units = [(&**block, "gpu_block"), (warp, "gpu_warp")];
        format!(
            "{rows}; split({}, {rest}, {thread}, {threads}); reorder({thread}, {rest}){}; \
             parallelize({thread}, gpu_thread, parallel_reduction)",
            self.name(sum),
            self.on_units(self.races(), &units)
        )
    }

    /// A block per iteration of the outermost loop, threads on one inside that the result tells.
    fn as_they_are(&self) -> String {
        let outer =
            format!("parallelize({}, gpu_block, {})", self.name(self.loops[0]), self.races());
        match self.loops[1..].iter().find(|v| self.is_told(**v)) {
            Some(inner) => {
                format!("{outer}; parallelize({}, gpu_thread, atomics)", self.name(*inner))
            }
            None => outer,
        }
    }

    /// A thread per entry of the operand that stores the two outermost loops' coordinates.
    fn entries(&self) -> Option<String> {
        let Names { block, thread, row, fused, .. } = &self.names;
        let [i, j] = [*self.loops.first()?, *self.loops.get(1)?];
        let operand = crate::cin::print::access(self.program, self.sparse(j)?);
        let units = [(&**block, "gpu_block"), (thread, "gpu_thread")];
        let (i, j) = (self.name(i), self.name(j));
        Some(format!(
            "fuse({i}, {j}, {fused}); pos({fused}, {row}, {operand}); split({row}, {block}, \
             {thread}, {THREADS}){}",
            self.on_units("atomics", &units)
        ))
    }

    /// A thread per row.
    fn rows(&self) -> String {
        let Names { block, thread, .. } = &self.names;
        let rows = self.split_rows(block, thread, THREADS);
        let units = [(&**block, "gpu_block"), (thread, "gpu_thread")];
        format!("{rows}{}", self.on_units(self.races(), &units))
    }
}
