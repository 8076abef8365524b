//! 000, "The tensor algebra compiler": what a density and a pattern make of formats.

use super::case::Entrant;
use super::{Axis, Case, Cells, Columns, Exhibit, Files};
use crate::inputs::{thinned, thinned_tensor};
use crate::operation::Operation;
use crate::problem::{Input, Operands, Problem};
use crate::program::{Program, csf, csr, stored, vector};

const DENSITIES: Columns = Columns::Parameter {
    name: "density",
    values: &[1.0, 0.9, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1, 0.05, 0.01],
    axis: Axis::Linear,
};

/// The formats of figure 18, as the paper writes them.
const FORMATS: [(&str, &str); 10] = [
    ("DD", "dense"),
    ("DS (csr)", "csr"),
    ("SD", "(i, j) -> (i: compressed, j: dense)"),
    ("SS (dcsr)", "dcsr"),
    ("DDᵀ", "dense-column"),
    ("SDᵀ (csc)", "csc"),
    ("DSᵀ", "(i, j) -> (j: compressed, i: dense)"),
    ("SSᵀ (dcsc)", "dcsc"),
    ("DSDD (bcsr)", "bcsr(4,4)"),
    ("SSDD", "(i, j) -> (i/4: compressed, j/4: compressed, i%4: dense, j%4: dense)"),
];

/// The formats of figure 17: of matrices, and of 3-tensors.
const OF_MATRICES: [(&str, &str); 3] =
    [("DD", "dense"), ("DS (csr)", "csr"), ("SS (dcsr)", "dcsr")];
const OF_TENSORS: [(&str, &str); 4] = [
    ("DDD", "dense"),
    ("DDS", "(i, j, k) -> (i: dense, j: dense, k: compressed)"),
    ("DSS", "(i, j, k) -> (i: dense, j: compressed, k: compressed)"),
    ("SSS (csf)", "csf"),
];

/// The tables and figures.
pub fn exhibits() -> Vec<Exhibit> {
    vec![matrices_by_density(), tensors_by_density(), by_pattern()]
}

fn matrices_by_density() -> Exhibit {
    Exhibit {
        figure: "figure 17, matrices",
        title: "Matrix times vector by density".to_owned(),
        original: "random matrices, taco's formats; here of 2,000 x 2,000, with libraries that have CSR",
        inputs: &["dense2k"],
        files: Files::None,
        columns: DENSITIES,
        cells: Cells::TimeAndStorage,
        case: Box::new(|input, density| {
            let a = thinned(&*input.matrix()?, density);
            spmv(&input.name, &Input::Matrix(a.into()), &OF_MATRICES)
        }),
    }
}

fn tensors_by_density() -> Exhibit {
    Exhibit {
        figure: "figure 17, tensors",
        title: "3-tensor times vector by density, into a dense matrix".to_owned(),
        original: "random tensors, taco's formats; here of 160 x 160 x 160",
        inputs: &["cube160"],
        files: Files::None,
        columns: DENSITIES,
        cells: Cells::TimeAndStorage,
        case: Box::new(|input, density| {
            let b = thinned_tensor(&*input.tensor()?, density);
            let c = vector(&crate::inputs::dense(b.dims[2], 1, 15));
            let b = csf(&b);
            let program = |format: &str| {
                let b = stored(&b, format)?;
                let operands = vec![("B", b), ("c", c.clone())];
                Ok(Program::new("A(i,j) = B(i,j,k) * c(k)", operands).format("A", "dense"))
            };
            let programs = OF_TENSORS.map(|(name, format)| Entrant::new(name, program(format)));
            Ok(Case::new(None, programs.into()))
        }),
    }
}

fn by_pattern() -> Exhibit {
    Exhibit {
        figure: "figure 18",
        title: "Matrix times vector by pattern and format".to_owned(),
        original: "six patterns of these densities (dense 0.95, hypersparse 2.5e-5, row and column slices 9.5e-3, \
                   thermal and blocked 1e-3), taco's formats",
        inputs: &["dense2k", "hypersparse10k", "rows5k", "columns5k", "thermal5k", "blocked5k"],
        files: Files::Matrices,
        columns: Columns::Inputs,
        cells: Cells::TimeAndStorage,
        case: Box::new(|input, _| spmv(&input.name, &input.input, &FORMATS)),
    }
}

fn spmv(name: &str, input: &Input, formats: &[(&str, &str)]) -> Result<Case, String> {
    let problem = Problem::new(Operation::Spmv, name, input);
    let Some(Operands::MatrixVector { a, x }) = problem.as_ref().map(|p| &p.operands) else {
        return Err("no operands".to_owned());
    };
    let program = |format: &str| {
        let operands = vec![("A", stored(&csr(a), format)?), ("x", vector(x))];
        Ok(Program::new("y(i) = A(i,j) * x(j)", operands).format("y", "dense"))
    };
    let entrant = |&(name, format): &(&str, &str)| Entrant::new(name, program(format));
    let programs = formats.iter().map(entrant).collect();
    Ok(Case::new(problem, programs))
}
