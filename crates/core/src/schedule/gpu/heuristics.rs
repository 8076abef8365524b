//! Schedules for a GPU by heuristics, where the user gives none.
//!
//! ```text
//! y(i) = A(i,j) * x(j)          a part of a warp per row, positions on its threads, which are summed; a thread
//!                               where rows have few entries
//! C(i,k) = A(i,j) * B(j,k)      a part of a warp per row, columns on its threads, several of each
//!                               if long rows would delay all others: tiles of positions
//! y(j) = A(i,j) * x(i)          a thread per entry, which adds to an element of y
//! a = A(i,j) * B(i,j)           a part of a warp per row, whose sums are combined in order
//! C(i,j) = A(i,j) * x(j)        C stored by rows: a warp per row, entries on its threads
//! C(i,j) = A(i,j) + B(i,j)      the same: a thread per row
//! A(i,l) = w(k) * D(k,l)        w computed beforehand for each row: a warp per row, on whose threads the innermost
//!                               loops of w and A are
//! C(i,j) = A(i,j) * x(j)        C with the entries of A: a thread per entry, or a part of a warp
//! ```
//!
//! Applicable rules are tried in order of preference; the first schedule that can be applied is used. A kernel without
//! one runs on the host.

mod entries;
mod fit;
mod fused;
mod sums;
mod tiles;

use crate::cin::{Kernel, Program, Stmt};
use crate::legalise::{Request, Statistics};
use crate::level::LevelKind;
use crate::notation::Access;
use crate::schedule::accumulate::accumulate;
use crate::schedule::apply::apply_to;
use crate::schedule::gpu::repeating;
use crate::schedule::parse::parse;
use crate::schedule::partial_sums;
use entries::by_entries;
use fit::without_unit;
pub use fit::{Fit, Runs};
use std::collections::VecDeque;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::IndexVar;

/// Rows of a block, with a warp each.
const WARPS: u64 = 8;
/// The assumed number of columns of a result, if unknown.
const COLUMNS: u64 = 32;
/// Columns of a row that a thread computes together, and the threads of a block in that case.
const COLUMNS_OF_THREAD: u64 = 4;
const OF_COLUMNS: u64 = 128;
/// The largest number of threads that share the sum of a row.
const MOST_LANES: u64 = 32;
/// The largest number of rows of a block, if several threads share a row.
const MOST_ROWS: u64 = 32;
/// The threads of a block in which each thread has a row, an entry, or parts of rows.
const THREADS: u64 = 256;
/// The schedule of a kernel, or why none fits it.
pub type Found = Result<String, String>;

/// The program with loops on units of a GPU, and the schedule of each kernel that has some.
pub fn on_gpu(
    mut program: Program,
    request: &Request<'_>,
    runs: &Runs<'_>,
) -> (Program, Vec<Found>) {
    let mut found = vec![];
    for k in 0..program.kernels.len() {
        found.push(scheduled(&program, k, request, runs).map(|(scheduled, text)| {
            program = scheduled;
            text
        }));
    }
    (program, found)
}

/// The program with the first schedule of a kernel by which a GPU runs all of it, otherwise with one by which it runs
/// parts. A schedule with a tag that cannot be carried out comes last, without the tag.
fn scheduled(
    program: &Program,
    kernel: usize,
    request: &Request<'_>,
    runs: &Runs<'_>,
) -> Result<(Program, String), String> {
    let (mut in_part, mut refused) = (None, None);
    for program in std::iter::once(program.clone()).chain(by_entries(program, kernel)) {
        let nest = nest(&program, &program.kernels[kernel], request);
        let mut candidates: VecDeque<String> = nest.iter().flat_map(Nest::candidates).collect();
        while let Some(text) = candidates.pop_front() {
            let scheduled = match applied(&program, &text, (kernel, &request.statistics)) {
                Ok(scheduled) => scheduled,
                Err(why) => {
                    refused = Some(why.message);
                    continue;
                }
            };
            let mut alone = scheduled.clone();
            alone.kernels = vec![scheduled.kernels[kernel].clone()];
            match runs(&accumulate(alone)) {
                Fit::Whole => return Ok((scheduled, text)),
                Fit::PartOnHost => drop(in_part.get_or_insert((scheduled, text))),
                Fit::Serial { var, why } => {
                    refused = Some(why.to_owned());
                    candidates.extend(without_unit(&text, &var));
                }
            }
        }
    }
    let none = "no loop is around everything it does";
    in_part.ok_or_else(|| refused.unwrap_or(none.to_owned()))
}

/// The program with a schedule of one kernel.
fn applied(
    program: &Program,
    text: &str,
    (kernel, sizes): (usize, &Statistics),
) -> Result<Program, Diagnostic> {
    let commands = parse(text)?;
    let scheduled = apply_to(program.clone(), &commands, kernel, sizes)?;
    partial_sums::check(&accumulate(scheduled.clone()), &commands)?;
    Ok(scheduled)
}

/// The loops around the whole statement of a kernel.
#[derive(Clone)]
struct Nest<'p> {
    request: &'p Request<'p>,
    program: &'p Program,
    kernel: &'p Kernel,
    loops: Vec<IndexVar>,
    /// The number of outermost loops that make up a row: all loops over levels that the result shares with an operand,
    /// or one.
    outer: usize,
    lhs: Access,
    inside: Inside,
    reads: Vec<Access>,
    names: Names,
}

/// The statement inside the loops.
#[derive(Clone)]
enum Inside {
    /// An assignment.
    Assignment,
    /// A sum over these loops, and an assignment that reads it.
    Sum(Vec<IndexVar>),
    /// Any other statement.
    More,
}

/// Unused names.
#[derive(Clone)]
struct Names {
    block: String,
    warp: String,
    thread: String,
    row: String,
    fiber: String,
    rest: String,
    fused: String,
    entry: String,
    column: String,
}

fn nest<'p>(
    program: &'p Program,
    kernel: &'p Kernel,
    request: &'p Request<'p>,
) -> Option<Nest<'p>> {
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
    let fresh = |name: &str| program.unused_name(name);
    let names = Names {
        block: fresh("block"),
        warp: fresh("warp"),
        thread: fresh("thread"),
        row: fresh("row"),
        fiber: fresh("fiber"),
        rest: fresh("rest"),
        fused: fresh("fused"),
        entry: fresh("entry"),
        column: fresh("column"),
    };
    let reads = kernel.body.reads().into_iter().cloned().collect();
    let outer = match kernel.like {
        Some(_) => program.listed_levels(kernel.result),
        None => 1,
    };
    Some(Nest { request, program, kernel, loops, outer, lhs, inside, reads, names })
}

impl Nest<'_> {
    /// Schedules, the best first.
    fn candidates(&self) -> Vec<String> {
        let derived = &self.program.derived;
        let plain = |v: &IndexVar| derived.map(*v).is_none() && derived.relation(*v).is_none();
        let mut found = vec![];
        if self.kernel.like.is_some() {
            return self.at_positions();
        }
        if self.gathers_rows() {
            found.push(self.rows());
        }
        if self.loops.iter().all(plain) {
            if self.appends_rows() {
                found.extend(self.appending());
            }
            match &self.inside {
                Inside::Assignment => found.extend(self.of_assignment()),
                Inside::Sum(vars) => found.extend(self.inner_sums(vars)),
                Inside::More => found.extend(self.branches()),
            }
            found.push(self.rows());
        } else if let Inside::Assignment = self.inside {
            found.extend(self.owned());
        }
        found.push(self.as_they_are());
        // Schedules that sum in order are also tried with atomics, which need no order.
        let in_order = found.iter().filter(|text| text.contains(", temporary)"));
        let atomic: Vec<String> =
            in_order.map(|text| text.replace(", temporary)", ", atomics)")).collect();
        found.extend(atomic);
        found
    }

    /// Schedules for results at the positions of an operand.
    fn at_positions(&self) -> Vec<String> {
        let inner = &self.loops[self.outer..];
        let mut found = vec![];
        match &self.inside {
            Inside::Assignment => {
                let column = inner.iter().rev().find(|v| self.is_column(**v));
                found.extend(column.map(|&column| self.columns(column)));
                let sum = inner.iter().rev().find(|v| !self.is_told(**v));
                found.extend(sum.into_iter().flat_map(|&sum| self.sums(sum)));
            }
            Inside::Sum(vars) => found.extend(self.inner_sums(vars)),
            Inside::More => {}
        }
        found.push(self.rows());
        found
    }

    /// Schedules for operands whose loops over slots or diagonals are around those over coordinates: the latter move
    /// outwards, first those whose variables follow from the result.
    fn owned(&self) -> Vec<String> {
        let derived = &self.program.derived;
        let plain = |v: &IndexVar| derived.map(*v).is_none() && derived.relation(*v).is_none();
        let listed = |v: &IndexVar| {
            self.reads.iter().any(|access| {
                let format = &self.program.storage(access.tensor).format;
                !format.is_full()
                    && self.program.level_vars(access.tensor, &access.indices).contains(v)
            })
        };
        let rows = self.loops.iter().copied().filter(|v| plain(v) && listed(v));
        let (first, then): (Vec<IndexVar>, Vec<_>) = rows.partition(|v| self.is_told(*v));
        let with_first = |row: IndexVar| {
            let others = self.loops.iter().copied().filter(|v| *v != row);
            let (told, summed): (Vec<_>, Vec<_>) =
                others.partition(|v| plain(v) && self.is_told(*v) && !listed(v));
            let loops = [vec![row], told, summed].concat();
            let names: Vec<&str> = loops.iter().map(|v| self.name(*v)).collect();
            let order = format!("reorder({}); ", names.join(", "));
            let nest = Nest { loops, outer: 1, ..self.clone() };
            let is_column = |v: &&IndexVar| plain(v) && nest.is_column(**v);
            let columns = nest.loops[1..].iter().rev().find(is_column).map(|&v| nest.columns(v));
            let found: Vec<String> = columns.into_iter().chain([nest.rows()]).collect();
            found.into_iter().map(move |text| order.clone() + &text)
        };
        first.into_iter().chain(then).flat_map(with_first).collect()
    }

    /// Whether the result stores entries row by row, in loop order: rows are then counted before they are written, and
    /// each has one writer.
    fn appends_rows(&self) -> bool {
        let levels = self.program.storage(self.lhs.tensor).format.levels();
        let vars = self.program.level_vars(self.lhs.tensor, &self.lhs.indices);
        let listed = |k: usize| !levels[k].kind.properties().full;
        let more = matches!(self.inside, Inside::More);
        vars == self.loops && (0..vars.len()).any(listed) && !more
    }

    /// Whether the entries of each row are unordered, or duplicates.
    fn gathers_rows(&self) -> bool {
        let levels = self.program.storage(self.lhs.tensor).format.levels();
        let vars = self.program.level_vars(self.lhs.tensor, &self.lhs.indices);
        let listed = |k: usize| !levels[k].kind.properties().full;
        let appended = self.appends_rows();
        !appended && vars.first() == self.loops.first() && (1..vars.len()).any(listed)
    }

    /// Schedules for results whose entries are ordered.
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
            (Inside::Sum(sums), _) if !sums.is_empty() => self.inner_sums(sums),
            (_, &[_, j]) if alone(j) => vec![self.entries_of_rows(j), self.rows()],
            _ => vec![self.rows()],
        }
    }

    /// A warp per row, entries on its threads.
    fn entries_of_rows(&self, entry: IndexVar) -> String {
        let Names { block, warp, .. } = &self.names;
        let rows = self.split_rows(block, warp, WARPS);
        let units = [(&**block, "gpu_block"), (warp, "gpu_warp"), (self.name(entry), "gpu_thread")];
        format!("{rows}{}", self.on_units("no_races", &units))
    }

    /// Schedules for loops around an assignment.
    fn of_assignment(&self) -> Vec<String> {
        let mut found: Vec<String> = self.tiles().into_iter().collect();
        if let Some(&column) = self.loops[1..].iter().rev().find(|v| self.is_column(**v)) {
            found.push(self.columns(column));
        }
        let sum = self.loops[1..].iter().rev().find(|v| !self.is_told(**v));
        found.extend(sum.into_iter().flat_map(|&sum| self.sums(sum)));
        found.extend(self.entries());
        found
    }

    fn name(&self, var: IndexVar) -> &str {
        &self.program.vars[var]
    }

    /// Whether a variable follows from the written coordinates.
    fn is_told(&self, var: IndexVar) -> bool {
        self.program.derived.follows(var, &self.lhs.indices)
    }

    /// The operand whose level over a variable stores its coordinates.
    fn sparse(&self, var: IndexVar) -> Option<&Access> {
        self.reads.iter().find(|access| {
            let vars = self.program.level_vars(access.tensor, &access.indices);
            let levels = self.program.storage(access.tensor).format.levels();
            levels.iter().zip(vars).any(|(l, v)| v == var && !l.kind.properties().full)
        })
    }

    /// Whether every operand is full at a variable.
    fn is_in_arrays(&self, var: IndexVar) -> bool {
        self.reads.iter().all(|access| {
            let vars = self.program.level_vars(access.tensor, &access.indices);
            let levels = self.program.storage(access.tensor).format.levels();
            let in_array = |kind: LevelKind| kind.locates() && kind.properties().ordered;
            levels.iter().zip(vars).all(|(level, v)| v != var || in_array(level.kind))
        })
    }

    /// Whether a variable is over columns of the result, at which every operand is full.
    fn is_column(&self, var: IndexVar) -> bool {
        self.is_told(var) && self.sparse(var).is_none()
    }

    /// `split(i, block, warp, 8)`; of positions, if an operand stores the coordinates.
    fn split_rows(&self, outer: &str, inner: &str, size: u64) -> String {
        let row = &self.names.row;
        let (rows, fused) = self.fused(self.outer, &self.names.fiber);
        match self.sparse(self.loops[self.outer - 1]) {
            Some(access) => {
                let operand = crate::cin::print::access(self.program, access);
                format!(
                    "{fused}pos({rows}, {row}, {operand}); split({row}, {outer}, {inner}, {size})"
                )
            }
            None => format!("split({rows}, {outer}, {inner}, {size})"),
        }
    }

    /// The loop into which the outermost `count` loops are fused, with a name like this, and the commands.
    fn fused(&self, count: usize, name: &str) -> (String, String) {
        let (mut text, mut outer) = (String::new(), self.name(self.loops[0]).to_owned());
        for (k, v) in self.loops[1..count].iter().enumerate() {
            let both = if k == 0 { name.to_owned() } else { format!("{name}_{}", k + 1) };
            text += &format!("fuse({outer}, {}, {both}); ", self.name(*v));
            outer = both;
        }
        (outer, text)
    }

    /// `parallelize(..)` of each unit.
    fn on_units(&self, races: &str, units: &[(&str, &str)]) -> String {
        let one = |(var, unit): &(&str, &str)| format!("; parallelize({var}, {unit}, {races})");
        units.iter().map(one).collect()
    }

    /// How rows of the outermost loop that add to the same element are combined.
    fn races(&self) -> &'static str {
        let outermost = self.loops[0];
        let alone = repeating(self.program, self.kernel, outermost).is_none();
        match self.is_told(outermost) && alone {
            true => "no_races",
            false if self.lhs.indices.is_empty() => "temporary",
            false => "atomics",
        }
    }

    /// The number of columns, or an estimate.
    fn count_columns(&self, column: IndexVar) -> u64 {
        self.request.statistics.dims.get(&column).copied().unwrap_or(COLUMNS)
    }

    /// A part of a warp per row, columns on its threads, several columns per thread.
    fn columns(&self, column: IndexVar) -> String {
        let Names { block, warp, thread, rest, .. } = &self.names;
        let threads = (self.count_columns(column) / COLUMNS_OF_THREAD)
            .next_power_of_two()
            .clamp(1, MOST_LANES);
        let warps = (OF_COLUMNS / threads).min(MOST_ROWS);
        let k = self.name(column);
        let inner = self.loops[self.outer..].iter().filter(|v| **v != column);
        let inner: String = inner.map(|v| format!(", {}", self.name(*v))).collect();
        let rows = self.split_rows(block, warp, warps);
        let units = [(&**block, "gpu_block"), (warp, "gpu_warp"), (thread, "gpu_thread")];
        format!(
            "{rows}; split({k}, {rest}, {thread}, {threads}); reorder({block}, {warp}, {thread}, \
             {rest}{inner}){}",
            self.on_units(self.races(), &units)
        )
    }

    /// A block per iteration of the outermost loop, threads on an inner loop whose variable follows from the result.
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

    /// A thread per entry of the operand that stores the coordinates of the two outermost loops, or of a chain over
    /// more loops.
    fn entries(&self) -> Option<String> {
        let Names { block, thread, row, fused, .. } = &self.names;
        let access = self.sparse(*self.loops.get(1)?)?;
        let vars = self.program.level_vars(access.tensor, &access.indices);
        let is_list = self.program.storage(access.tensor).format.chain_goes_on(0);
        let count = if is_list && self.loops.starts_with(&vars) { vars.len() } else { 2 };
        let (fused, text) = self.fused(count, fused);
        let operand = crate::cin::print::access(self.program, access);
        let units = [(&**block, "gpu_block"), (thread, "gpu_thread")];
        let races = if self.lhs.indices.is_empty() { "temporary" } else { "atomics" };
        Some(format!(
            "{text}pos({fused}, {row}, {operand}); split({row}, {block}, {thread}, {THREADS}){}",
            self.on_units(races, &units)
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
