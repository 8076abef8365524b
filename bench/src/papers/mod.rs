//! The tables and figures of papers, each as data: its inputs, what libraries compute of them, and the programs of
//! Tamis beside. Running, comparing and timing are those of all races ([`crate::measure`]).
//!
//! | module | what it holds |
//! |---|---|
//! | [`case`] | what takes part |
//! | `compiler` | 000, "The tensor algebra compiler" |
//! | `iteration` | 001, "Sparse iteration space transformations" |
//! | `workspaces` | 002, "Sparse tensor algebra with workspaces" |
//! | `formats` | 003, "Unified sparse formats" |
//! | `sparselnr` | 004, "SparseLNR" |
//! | `page` | Markdown, and `bench/RESULTS.md` |
//! | `plot` | the same as pictures |

mod case;
mod compiler;
mod formats;
mod iteration;
mod page;
mod plot;
mod sparselnr;
mod workspaces;

use std::path::PathBuf;

use crate::clock::Clock;
use crate::contender::{Absent, Contender, Role};
use crate::files::{self, Named};
use crate::measure::{self, Effort, Entry, Outcome, Started};
use crate::problem::Input;
pub use case::Case;
pub use page::{save, section};

/// A paper: its number, its name, and its tables and figures.
pub struct Paper {
    /// The number on the command line.
    pub number: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Its tables and figures.
    pub exhibits: fn() -> Vec<Exhibit>,
}

/// All papers.
pub const PAPERS: [Paper; 5] = [
    Paper { number: "000", title: "The tensor algebra compiler", exhibits: compiler::exhibits },
    Paper {
        number: "001",
        title: "Sparse iteration space transformations",
        exhibits: iteration::exhibits,
    },
    Paper {
        number: "002",
        title: "Sparse tensor algebra with workspaces",
        exhibits: workspaces::exhibits,
    },
    Paper { number: "003", title: "Unified sparse formats", exhibits: formats::exhibits },
    Paper { number: "004", title: "SparseLNR", exhibits: sparselnr::exhibits },
];

/// A table or figure.
pub struct Exhibit {
    /// Which one: "table 2, sorted".
    pub figure: &'static str,
    /// What is measured.
    pub title: String,
    /// What stands in the paper, and what stands for it here.
    pub original: &'static str,
    /// The inputs that are generated.
    pub inputs: &'static [&'static str],
    /// The files that it takes as further inputs.
    pub files: Files,
    /// The columns of a table.
    pub columns: Columns,
    /// What cells show.
    pub cells: Cells,
    /// What takes part on an input, at a value of the parameter.
    pub case: Box<CaseOf>,
}

/// What takes part on an input, at a value of the parameter.
pub type CaseOf = dyn Fn(&Named, f64) -> Result<Case, String>;

/// What files an exhibit takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files {
    /// Matrices.
    Matrices,
    /// 3-tensors.
    Tensors,
    /// None: its inputs are made for it.
    None,
}

/// The columns of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Columns {
    /// One for each input.
    Inputs,
    /// One for each value of a parameter; each input has a table of its own.
    Parameter {
        /// Its name.
        name: &'static str,
        /// Its values.
        values: &'static [f64],
        /// How a plot shows them.
        axis: Axis,
    },
}

/// How a plot shows a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Values lie as far apart as they are.
    Linear,
    /// Values lie as far apart as their logarithms.
    Logarithmic,
}

/// What the cells of a table show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// Milliseconds.
    Time,
    /// Milliseconds, and megabytes of the sparse operand.
    TimeAndStorage,
}

/// A table: an exhibit on all inputs, or on one for all values of its parameter.
pub struct Table {
    /// The input, where columns are values of a parameter.
    pub input: Option<String>,
    /// The columns.
    pub columns: Vec<Column>,
}

/// A column of a table.
pub struct Column {
    /// Its head.
    pub head: String,
    /// The value of the parameter.
    pub at: f64,
    /// The input, for people.
    pub description: String,
    /// How each contender did, or why nothing ran.
    pub entries: Result<Vec<Entry>, String>,
    /// The bytes of the sparse operand by contender.
    pub storage: Vec<(String, usize)>,
}

/// What was found out about an exhibit.
pub struct Shown {
    /// The exhibit.
    pub exhibit: Exhibit,
    /// Its tables.
    pub tables: Vec<Table>,
}

impl Shown {
    /// Whether every result agreed.
    pub fn agrees(&self) -> bool {
        let columns = self.tables.iter().flat_map(|table| &table.columns);
        let mut entries = columns.filter_map(|column| column.entries.as_ref().ok()).flatten();
        !entries.any(|entry| matches!(entry.outcome, Outcome::Wrong(_)))
    }
}

/// Which inputs and values of parameters are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All.
    Whole,
    /// The first two inputs of each exhibit, and every third value.
    Sample,
}

/// How much is run.
pub struct Request<'a> {
    /// Libraries, kernels by hand, and all else.
    pub contenders: &'a [Box<dyn Contender>],
    /// How long each is measured.
    pub effort: Effort,
    /// On how much.
    pub extent: Extent,
    /// Further inputs.
    pub files: &'a [Named],
    /// Which exhibits are wanted, by the beginning of their names.
    pub wants: &'a dyn Fn(&str) -> bool,
    /// Which generated inputs are wanted.
    pub wants_input: &'a dyn Fn(&str) -> bool,
}

/// Reads files that are given as inputs; what cannot be used is told and left out.
pub fn read(paths: &[PathBuf]) -> Vec<Named> {
    let read = |path: &PathBuf| files::read(path).map_err(|why| eprintln!("left out: {why}")).ok();
    paths.iter().filter_map(read).collect()
}

/// Runs the exhibits of a paper.
pub fn run(paper: &Paper, request: &Request) -> Vec<Shown> {
    let wanted = (paper.exhibits)().into_iter().filter(|exhibit| (request.wants)(exhibit.figure));
    wanted.map(|exhibit| shown(paper, exhibit, request)).collect()
}

fn shown(paper: &Paper, exhibit: Exhibit, request: &Request) -> Shown {
    let inputs = exhibit.inputs.iter().filter(|name| (request.wants_input)(name));
    let inputs = inputs.take(if request.extent == Extent::Sample { 2 } else { usize::MAX });
    let inputs = inputs
        .filter_map(|&name| Some(Named { name: name.to_owned(), input: Input::generate(name)? }));
    let mut tables: Vec<Table> = vec![];
    for input in inputs {
        add(&mut tables, paper, &exhibit, &input, request);
    }
    for file in request.files.iter().filter(|file| exhibit.takes(&file.input)) {
        add(&mut tables, paper, &exhibit, file, request);
    }
    let shown = Shown { exhibit, tables };
    eprintln!("{}", page::exhibit(paper.number, &shown));
    shown
}

/// The columns of an input: a table of their own, or the next of the only table.
fn add(
    tables: &mut Vec<Table>,
    paper: &Paper,
    exhibit: &Exhibit,
    input: &Named,
    request: &Request,
) {
    let column = |head: String, at: f64| {
        eprintln!("{} {}: {} {head}", paper.number, exhibit.figure, input.name);
        column(head, at, exhibit, input, request)
    };
    let step = if request.extent == Extent::Sample { 3 } else { 1 };
    match exhibit.columns {
        Columns::Parameter { values, .. } => tables.push(Table {
            input: Some(input.name.clone()),
            columns: (values.iter().step_by(step))
                .map(|&value| column(value.to_string(), value))
                .collect(),
        }),
        Columns::Inputs => {
            let column = column(input.name.clone(), 0.0);
            match tables.first_mut() {
                Some(table) => table.columns.push(column),
                None => tables.push(Table { input: None, columns: vec![column] }),
            }
        }
    }
}

fn column(head: String, at: f64, exhibit: &Exhibit, input: &Named, request: &Request) -> Column {
    let case = (exhibit.case)(input, at);
    let description = input.input.describe();
    let storage = case.as_ref().map(Case::storage).unwrap_or_default();
    let entries = case.map(|case| entries(case, request));
    Column { head, at, description, entries, storage }
}

fn entries(case: Case, request: &Request) -> Vec<Entry> {
    let Case { problem, programs } = case;
    let others = request.contenders.iter().filter(|c| matches!(c.role(), Role::Hand | Role::Peer));
    let others = others.filter_map(|contender| {
        let problem = problem.as_ref()?;
        Some(Started {
            name: contender.name(),
            role: contender.role(),
            compared: measure::Compared::of(problem.operation),
            prepared: contender.prepare(problem),
        })
    });
    // The clock of one thread counts no other.
    let alone = Clock::chosen() == Clock::Processor;
    let programs = programs.into_iter().filter(|program| program.threads == 1 || !alone);
    let programs = programs.map(case::Entrant::start);
    let (mut entries, _) = measure::timed(others.chain(programs), request.effort);
    entries.retain(|entry| !matches!(entry.outcome, Outcome::Absent(Absent::NoOperation)));
    entries
}

impl Exhibit {
    fn takes(&self, input: &Input) -> bool {
        matches!(
            (self.files, input),
            (Files::Matrices, Input::Matrix(_)) | (Files::Tensors, Input::Tensor(_))
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exhibits_have_inputs_and_plots_of_their_own() {
        let mut plots = vec![];
        for paper in &PAPERS {
            for exhibit in (paper.exhibits)() {
                let table = Table { input: None, columns: vec![] };
                plots.push(plot::name(paper.number, exhibit.figure, &table));
            }
        }
        let count = plots.len();
        plots.sort();
        plots.dedup();
        assert_eq!(plots.len(), count);
    }
}
