//! 001, "Sparse iteration space transformations": kernels by the paper's schedules for processors, by the schedules that Tamis
//! chooses, and by libraries.

use super::case::Entrant;
use super::{Case, Cells, Columns, Exhibit, Files};
use crate::files::Named;
use crate::schedules::Operands;
use crate::studies::{STUDIES, Study};

const MATRICES: &str =
    "matrices of the collection; MKL, Eigen. Figures 16, 18 and 20 are of a GPU: `cargo xtask gpu`";
const TENSORS: &str = "tensors of FROSTT; SPLATT, whose algorithm `hand` is";

/// The tables and figures.
pub fn exhibits() -> Vec<Exhibit> {
    vec![
        of_study("figure 15", "spmv", "Matrix times vector", MATRICES, Files::Matrices),
        of_study("figure 17", "spmm32", "Matrix times 32 dense columns", MATRICES, Files::Matrices),
        of_study("figure 19", "mttkrp32", "MTTKRP with 32 columns", TENSORS, Files::Tensors),
        of_study(
            "section 8.4",
            "skewed",
            "Matrix times vector, rows of very different lengths, cut by coordinates and positions",
            "a power law; two threads run by the wall clock only",
            Files::None,
        ),
        of_study(
            "section 8.6",
            "tiled",
            "Matrix times 32 dense columns in tiles of coordinates and positions",
            "wide matrices of long rows",
            Files::None,
        ),
    ]
}

/// The ways of a study as a table.
pub fn of_study(
    figure: &'static str,
    study: &'static str,
    title: &str,
    original: &'static str,
    files: Files,
) -> Exhibit {
    let study = STUDIES.iter().find(|s| s.name == study).expect("a study of that name");
    Exhibit {
        figure,
        title: title.to_owned(),
        original,
        inputs: study.inputs,
        files,
        columns: Columns::Inputs,
        cells: Cells::Time,
        case: Box::new(move |input, _| case(study, input)),
    }
}

fn case(study: &Study, input: &Named) -> Result<Case, String> {
    let operands = Operands::of(study, &input.name, &input.input);
    let programs = study.ways.iter().filter_map(|way| {
        let program = operands.program(way)?;
        Some(Entrant { threads: way.threads, ..Entrant::new(way.name, Ok(program)) })
    });
    let programs = programs.collect();
    Ok(Case::new(operands.problem, programs))
}
