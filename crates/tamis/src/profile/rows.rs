//! The loops of a kernel as rows: those of the code, as far as these were counted, beside those of the plan.
//!
//! ```text
//! while pA2 < pA2_end && pB2 < pB2_end {    \
//! for pA2_rest in pA2..pA2_end {             > j of A, B: one loop of the plan
//! for pB2_rest in pB2..pB2_end {            /
//! for q in 0..C_list_size {                   q: of the code alone
//! ```

use super::LoopProfile;
use crate::estimate::KernelEstimate;
use std::collections::BTreeMap;
use tamis_core::cin::Program;
use tamis_ir::ids::IndexVar;
use tamis_ir::interpret::Counts;
use tamis_ir::ir::Function;
use tamis_runtime::interpreted::Counted;

/// What each function of a program did.
pub(super) type All = Vec<(Function, Counted)>;

/// A row, and the row of the loop around it.
struct Row {
    /// The loop of the plan, or the name of one of the code alone.
    loops: Result<IndexVar, String>,
    within: Option<usize>,
    counts: Counts,
}

/// The loops of a kernel; `walked` says which loop a variable of the code counts or walks, by its name.
pub(super) fn loops(
    estimate: &KernelEstimate,
    walked: &BTreeMap<String, IndexVar>,
    program: &Program,
    counted: Option<&(Function, Counted)>,
) -> Vec<LoopProfile> {
    let Some((function, counted)) = counted else {
        return estimate.loops.iter().map(planned).collect();
    };
    let mut rows: Vec<Row> = vec![];
    let mut row_of = vec![];
    for one in &counted.loops {
        let within = one.within.map(|outer| row_of[outer]);
        let mut names = one.vars.iter().map(|&v| &function.vars[v].name);
        let var = names.clone().find_map(|name| walked.get(name).copied());
        let var = var.filter(|&var| !is_within(&rows, within, var));
        let loops = var.ok_or_else(|| names.next().cloned().unwrap_or_default());
        let known = rows.iter().position(|row| row.within == within && row.loops == loops);
        let at = known.unwrap_or_else(|| {
            rows.push(Row { loops, within, counts: Counts::default() });
            rows.len() - 1
        });
        rows[at].counts.add(one.counts);
        row_of.push(at);
    }
    let all = work(counted.counts);
    let mut out = vec![];
    nested(&rows, None, 0, &mut |row, depth| {
        let share = if all > 0.0 { work(row.counts) / all } else { 0.0 };
        let measured = |row: LoopProfile| LoopProfile { share: Some(share), depth, ..row };
        out.push(measured(profile(row, &rows, estimate, program)));
    });
    out
}

/// A loop as the plan has it.
fn planned(estimate: &crate::LoopEstimate) -> LoopProfile {
    LoopProfile {
        var: estimate.var.clone(),
        is_of_code: false,
        depth: estimate.depth,
        drivers: estimate.drivers.clone(),
        estimated: Some(estimate.iterations),
        counts: None,
        share: None,
    }
}

/// A loop that was counted, beside what was estimated of it.
fn profile(row: &Row, rows: &[Row], estimate: &KernelEstimate, program: &Program) -> LoopProfile {
    let counts = Some(row.counts);
    let plain = |var: String, is_of_code| LoopProfile {
        var,
        is_of_code,
        depth: 0,
        drivers: vec![],
        estimated: None,
        counts,
        share: None,
    };
    match &row.loops {
        Err(name) => plain(name.clone(), true),
        Ok(var) => {
            let within = around(rows, row.within).next();
            let of_plan = estimate.loops.iter().find(|known| known.ids == (*var, within));
            match of_plan {
                Some(known) => LoopProfile { counts, ..planned(known) },
                None => plain(program.vars[*var].clone(), false),
            }
        }
    }
}

/// The loops of the plan around a row, the innermost first.
fn around(rows: &[Row], within: Option<usize>) -> impl Iterator<Item = IndexVar> {
    let outer = std::iter::successors(within, |&at| rows[at].within);
    outer.filter_map(|at| rows[at].loops.as_ref().ok().copied())
}

fn is_within(rows: &[Row], within: Option<usize>, var: IndexVar) -> bool {
    around(rows, within).any(|outer| outer == var)
}

/// Calls `f` on each row before those in it, with how many are around it.
fn nested<'r>(
    rows: &'r [Row],
    within: Option<usize>,
    depth: usize,
    f: &mut dyn FnMut(&'r Row, usize),
) {
    for (at, row) in rows.iter().enumerate().filter(|(_, row)| row.within == within) {
        f(row, depth);
        nested(rows, Some(at), depth + 1, f);
    }
}

/// Iterations, loads and stores, each as much as the others.
fn work(counts: Counts) -> f64 {
    (counts.iterations + counts.loads + counts.stores) as f64
}
