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

use rayon::ThreadPoolBuilder;
use tamis::{Backend, Kernel, Options, Tensor, format};

use crate::bars::{Bar, Required};
use crate::contender::{Absent, Prepared, Role, in_process};
use crate::hand::Hand;
use crate::inputs::{self, Dense};
use crate::measure::{self, Effort, Entry, Outcome, Started};
use crate::problem::{Input, Output};
use crate::studies::{By, Ratio, STUDIES, Study, Way};
use crate::tamis_contender as tamis_input;

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
            let row = Row { study, input: name, entries: of_study(study, &input, hand, effort) };
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

/// The operands of a study: those of the kernels, and the dense ones as they are.
struct Operands {
    tensors: Vec<(&'static str, Tensor)>,
    dense: Vec<(&'static str, Dense)>,
}

impl Operands {
    fn of(study: &Study, input: &Input) -> Operands {
        let (dims, sparse) = match input {
            Input::Matrix(a) => (vec![a.rows, a.cols], tamis_input::csr(a)),
            Input::Tensor(b) => (b.dims.to_vec(), tamis_input::csf(b)),
        };
        let (name, modes) = study.sparse;
        let fixed = modes.iter().copied().zip(dims).chain(study.sizes.iter().copied());
        let sizes: std::collections::BTreeMap<&str, usize> = fixed.collect();
        let mut operands = Operands { tensors: vec![(name, sparse)], dense: vec![] };
        for (seed, (name, modes)) in study.dense.iter().enumerate() {
            let columns = modes.get(1).map_or(1, |mode| sizes[mode]);
            let matrix = inputs::dense(sizes[modes[0]], columns, 30 + seed as u64);
            let tensor = match modes.len() {
                1 => tamis_input::vector(&matrix),
                _ => tamis_input::dense(&matrix),
            };
            operands.tensors.push((name, tensor));
            operands.dense.push((name, matrix));
        }
        operands
    }
}

fn of_study(study: &'static Study, input: &Input, hand: &Hand, effort: Effort) -> Vec<Entry> {
    let operands = Operands::of(study, input);
    let start = |way: &'static Way| Started {
        name: way.name.to_owned(),
        role: if matches!(way.by, By::Hand) { Role::Hand } else { Role::TamisC },
        prepared: match way.by {
            By::Hand => by_hand(input, &operands, hand),
            By::Program(text, schedule, formats) => {
                program(text, schedule, formats, &operands.tensors, way.threads)
            }
        },
    };
    measure::timed(study.ways.iter().map(start), false, effort).0
}

fn by_hand<'a>(
    input: &'a Input,
    operands: &'a Operands,
    hand: &'a Hand,
) -> Result<Box<dyn Prepared + 'a>, Absent> {
    let (Input::Matrix(b), [(_, c), (_, d), (_, e)]) = (input, &operands.dense[..]) else {
        return Err(Absent::NoOperation);
    };
    hand.sddmm_spmm(b, [c, d, e])
}

fn program<'a>(
    text: &str,
    schedule: &str,
    formats: &[(&str, &str)],
    operands: &'a [(&'static str, Tensor)],
    threads: usize,
) -> Result<Box<dyn Prepared + 'a>, Absent> {
    let refused = |why: &dyn std::fmt::Display| Absent::NotAvailable(why.to_string());
    let mut options = Options { backend: Backend::C, ..Options::default() };
    options.schedule = tamis::schedule::parse(schedule).map_err(|d| refused(&d))?;
    for (name, given) in formats {
        let spec = format::parse(given, None).map_err(|d| refused(&d))?;
        options.results.insert((*name).to_owned(), spec);
    }
    let read = |name: &str| text.contains(&format!("{name}("));
    let used: Vec<&'a (&'static str, Tensor)> = operands.iter().filter(|(n, _)| read(n)).collect();
    let named: Vec<(&'a str, &'a Tensor)> = used.iter().map(|(name, t)| (*name, t)).collect();
    let kernel = Kernel::compile(text, &named, &options).map_err(|d| refused(&d))?;
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().map_err(|e| refused(&e))?;
    let step = move || {
        let results = pool.install(|| kernel.run(&named)).map_err(|d| d.to_string())?;
        results.into_iter().next_back().ok_or("there is no result".to_owned())
    };
    in_process(step, |(_, result): (String, Tensor)| {
        Output::dense(result.vals().as_slice::<f64>().map(<[f64]>::to_vec).unwrap_or_default())
    })
}
