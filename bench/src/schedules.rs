//! The same program in several ways: as the compiler chooses, as a schedule says, as several kernels.
//!
//! | study | from |
//! |---|---|
//! | fused-*, original-* | "SparseLNR", sections 6.2 and 6.3 |
//! | spmv, spmm32, mttkrp32 | "Sparse iteration space transformations", figures 15, 17, 19 |
//! | skewed, tiled | its sections 8.4, 8.6 |
//!
//! The C tier runs them by the wall clock, since some ways run on two threads; their results are compared before
//! anything is timed. The ways themselves are in [`crate::studies`].

use std::collections::BTreeMap;

use tamis::{Backend, Tensor};

use crate::bars::{Bar, Required};
use crate::contender::{Absent, Contender, Role};
use crate::hand::Hand;
use crate::inputs;
use crate::measure::{self, Compared, Effort, Entry, Outcome, Started};
use crate::problem::{Input, Problem};
use crate::program::{self, Form, Program};
use crate::studies::{By, Ratio, STUDIES, Study, Way};

/// A study on one input.
pub struct Row {
    /// The study.
    pub study: &'static Study,
    /// The sparse input.
    pub input: &'static str,
    /// How each way did.
    pub entries: Vec<Entry>,
}

/// Runs the studies that are wanted on the inputs that are wanted.
pub fn run(
    wants: &dyn Fn(&str) -> bool,
    wants_input: &dyn Fn(&str) -> bool,
    hand: &Hand,
    effort: Effort,
) -> Vec<Row> {
    let mut rows = vec![];
    for study in STUDIES.iter().filter(|study| wants(study.name)) {
        for &name in study.inputs.iter().filter(|name| wants_input(name)) {
            let Some(input) = Input::generate(name) else { continue };
            eprintln!("{} {name}", study.name);
            let row =
                Row { study, input: name, entries: of_study(study, name, &input, hand, effort) };
            eprintln!("{}", row.text());
            rows.push(row);
        }
    }
    rows
}

impl Row {
    /// The row of a table.
    pub fn text(&self) -> String {
        let time = |entry: &Entry| match (&entry.outcome, entry.median()) {
            (_, Some(seconds)) => format!("{} {:.2}", entry.name, seconds * 1e3),
            (Outcome::Wrong(why), _) => format!("{} **{why}**", entry.name),
            (Outcome::Absent(Absent::NotAvailable(why)), _) => format!("{} ({why})", entry.name),
            _ => format!("{} -", entry.name),
        };
        let times: Vec<String> = self.entries.iter().map(time).collect();
        format!("| {} | {} | {} |", self.study.name, self.input, times.join(", "))
    }

    fn ratio(&self, ratio: &Ratio) -> Option<f64> {
        let least = |names: &[&str]| {
            let of = self.entries.iter().filter(|entry| names.contains(&entry.name.as_str()));
            of.filter_map(Entry::median).reduce(f64::min)
        };
        Some(least(ratio.slow)? / least(ratio.fast)?)
    }
}

/// The bars that studies decide.
pub fn bars(rows: &[Row]) -> Vec<Bar> {
    let ratios = STUDIES.iter().flat_map(|study| study.ratios.iter().map(move |r| (study, r)));
    ratios.flat_map(|(study, ratio)| of_ratio(rows, study, ratio)).collect()
}

/// The geometric mean over the inputs, and the least where that has a bar of its own.
fn of_ratio(rows: &[Row], study: &Study, ratio: &Ratio) -> Vec<Bar> {
    let of = rows.iter().filter(|row| row.study.name == study.name);
    let reached: Vec<f64> = of.filter_map(|row| row.ratio(ratio)).collect();
    if reached.is_empty() {
        return vec![];
    }
    let [fast, slow] = [ratio.fast, ratio.slow].map(|names| names.join(" or "));
    let bar = |which: &str, reached, required| Bar {
        what: format!("{}: {fast} / {slow}, {which}", study.name),
        reached,
        required,
        unit: "x",
    };
    let mean = (reached.iter().map(|r| r.ln()).sum::<f64>() / reached.len() as f64).exp();
    let least = reached.into_iter().fold(f64::INFINITY, f64::min);
    let each = ratio.each.map(|each| bar("least", least, Required::AtLeast(each)));
    [bar("geometric mean", mean, ratio.mean)].into_iter().chain(each).collect()
}

/// What a study computes on an input.
pub struct Operands {
    /// The operands by name.
    pub tensors: Vec<(&'static str, Tensor)>,
    /// The same for contenders that run no programs, where they have the operation.
    pub problem: Option<Problem>,
}

impl Operands {
    /// The operands of a study on an input of that name.
    pub fn of(study: &Study, name: &str, input: &Input) -> Operands {
        let (dims, sparse) = match input {
            Input::Matrix(a) => (vec![a.rows, a.cols], program::csr(a)),
            Input::Tensor(b) => (b.dims.to_vec(), program::csf(b)),
        };
        let (sparse_name, modes) = study.sparse;
        let fixed = modes.iter().copied().zip(dims).chain(study.sizes.iter().copied());
        let sizes: BTreeMap<&str, usize> = fixed.collect();
        let problem = study.operation.and_then(|operation| Problem::new(operation, name, input));
        let given = problem.as_ref().map_or(vec![], Problem::dense);
        let mut tensors = vec![(sparse_name, sparse)];
        for (n, (name, modes)) in study.dense.iter().enumerate() {
            let columns = modes.get(1).map_or(1, |mode| sizes[mode]);
            let made = || inputs::dense(sizes[modes[0]], columns, 30 + n as u64);
            let matrix = given.get(n).map_or_else(made, |&x| x.clone());
            let tensor = match modes.len() {
                1 => program::vector(&matrix),
                _ => program::dense(&matrix),
            };
            tensors.push((name, tensor));
        }
        Operands { tensors, problem }
    }

    /// The program of a way, where it is one.
    pub fn program(&self, way: &Way) -> Option<Program> {
        let By::Program(text, schedule, formats) = way.by else { return None };
        Some(Program {
            schedule: schedule.to_owned(),
            form: Form::Values,
            formats: formats.iter().map(|(n, f)| (n.to_string(), f.to_string())).collect(),
            ..Program::new(text, self.tensors.clone())
        })
    }
}

fn of_study(
    study: &'static Study,
    name: &str,
    input: &Input,
    hand: &Hand,
    effort: Effort,
) -> Vec<Entry> {
    let operands = Operands::of(study, name, input);
    let start = |way: &'static Way| match operands.program(way) {
        Some(program) => Started {
            name: way.name.to_owned(),
            role: Role::TamisC,
            compared: Compared::Whole,
            prepared: program.prepare(Backend::C, way.threads),
        },
        None => Started {
            name: way.name.to_owned(),
            role: Role::Hand,
            compared: Compared::Whole,
            prepared: match &operands.problem {
                Some(problem) => hand.prepare(problem),
                None => Err(Absent::NoOperation),
            },
        },
    };
    measure::timed(study.ways.iter().map(start), effort).0
}
