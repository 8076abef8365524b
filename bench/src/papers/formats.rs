//! 003, "Unified sparse formats": matrices and tensors in coordinate, diagonal, slot, block and hash formats.

use std::rc::Rc;

use super::case::Entrant;
use super::{Case, Cells, Columns, Exhibit, Files};
use crate::files::Named;
use crate::inputs::Csr;
use crate::operation::{Operation, RANK, Storage};
use crate::problem::{Operands, Problem};
use crate::program::{Form, Program, csr, dense, stored, vector};
use crate::tamis_contender::of_problem;

const MATRICES: &str = "matrices of the collection; MKL, SciPy, TensorFlow, OSKI, Eigen, uBLAS. Here \
    `lin` and `atmosmodd` equal those of the collection to the entry of their patterns, the others stand for meshes, \
    graphs and random matrices";
const DIAGONAL: &str = "matrices of few diagonals; MKL, SciPy. `dixmaanl`, `lin`, `lap2d_1000` (ecology1) \
    and `atmosmodd` equal those of the collection in dimensions and entries";
const TENSORS: &str = "Facebook, NELL-2, NELL-1; the Tensor Toolbox and TensorFlow. Here a random tensor of \
    the dimensions of Facebook, and a denser one";

/// The matrices that are no diagonals.
const GENERAL: &[&str] = &["lin", "fem60k", "rmat17", "uni500k"];
const DIAGONALS: &[&str] = &["dixmaanl", "lin", "lap2d_1000", "atmosmodd"];

/// The formats of figure 2-2.
const FORMATS: [(&str, &str); 11] = [
    ("csr", "csr"),
    ("csc", "csc"),
    ("dcsr", "dcsr"),
    ("coo", "coo"),
    ("coo, AoS", "coo(aos)"),
    ("ell", "ell"),
    ("dia", "dia"),
    ("bcsr(3,3)", "bcsr(3,3)"),
    ("csb(256,256)", "csb(256,256)"),
    ("hash maps of rows", "dok"),
    ("bitmap", "bitmap"),
];

const SPMV: &str = "y(i) = A(i,j) * x(j)";
const SPMM: &str = "Y(i,k) = A(i,j) * X(j,k)";

/// The tables and figures.
pub fn exhibits() -> Vec<Exhibit> {
    let mut all = vec![
        matrices("figure 5-1", "Matrix in COO times vector", MATRICES, GENERAL, coo_spmv),
        matrices("figure 5-2", "Matrix in COO times 32 dense columns", MATRICES, GENERAL, coo_spmm),
        matrices("figure 5-3", "Sum of matrices in COO", MATRICES, GENERAL, coo_sum),
        matrices("figure 5-4", "Matrix in DIA times vector", DIAGONAL, DIAGONALS, dia_spmv),
        matrices("figure 5-5", "Matrix in CSR times vector", MATRICES, GENERAL, |input| {
            tiers(input, Operation::Spmv)
        }),
        matrices("figure 5-6", "SDDMM with 32 inner columns", MATRICES, GENERAL, |input| {
            tiers(input, Operation::Sddmm(32))
        }),
        matrices("figure 5-7", "RESIDUAL, b - A x", MATRICES, GENERAL, |input| {
            tiers(input, Operation::Residual)
        }),
    ];
    let of_tensors = [
        ("table 5.2, TTV", "Tensor times vector", Operation::Ttv),
        ("table 5.2, TTM", "Tensor times 32 dense columns", Operation::Ttm),
        ("table 5.2, MTTKRP", "MTTKRP with 32 columns", Operation::Mttkrp),
        ("table 5.2, PLUS", "Sum of tensors", Operation::Plus),
        ("table 5.2, INNERPROD", "Inner product of tensors", Operation::InnerProduct),
    ];
    all.extend(of_tensors.map(|(figure, title, operation)| tensors(figure, title, operation)));
    all.extend([
        matrices("figure 5-8", "COO, and CSR with its assembly", MATRICES, GENERAL, converted),
        matrices(
            "figure 5-9",
            "CSR and DIA on matrices of few diagonals and of many",
            "the matrices of figures 5-4 and 5-1; here rmat12 has many diagonals",
            &["dixmaanl", "lin", "lap2d_1000", "rmat12"],
            |input| by_format(input, &[("csr", "csr"), ("dia", "dia")]),
        ),
        Exhibit {
            cells: Cells::TimeAndStorage,
            ..matrices(
                "formats of figure 2-2",
                "Matrix times vector in every format",
                "no measurement: these are the formats that the thesis covers",
                &["lin", "fem15k", "rmat12", "uni16k"],
                |input| by_format(input, &FORMATS),
            )
        },
    ]);
    all
}

fn matrices(
    figure: &'static str,
    title: &str,
    original: &'static str,
    inputs: &'static [&'static str],
    case: fn(&Named) -> Result<Case, String>,
) -> Exhibit {
    Exhibit {
        figure,
        title: title.to_owned(),
        original,
        inputs,
        files: Files::Matrices,
        columns: Columns::Inputs,
        cells: Cells::Time,
        case: Box::new(move |input, _| case(input)),
    }
}

fn problem(operation: Operation, input: &Named) -> Result<Problem, String> {
    Problem::new(operation, &input.name, &input.input).ok_or_else(|| "no operands".to_owned())
}

/// The program of the races in both tiers.
fn tiers(input: &Named, operation: Operation) -> Result<Case, String> {
    let problem = problem(operation, input)?;
    let program = || of_problem(&problem).map_err(|_| "no program".to_owned());
    let programs = vec![Entrant::new("csr", program()), Entrant::jit("csr", program())];
    Ok(Case::new(Some(problem), programs))
}

/// A matrix in COO in both layouts, and in CSR.
fn lists(program: impl Fn(&str) -> Result<Program, String>) -> Vec<Entrant> {
    vec![
        Entrant::new("coo", program("coo")),
        Entrant::jit("coo", program("coo")),
        Entrant::new("coo, AoS", program("coo(aos)")),
        Entrant::new("csr", program("csr")),
    ]
}

fn coo_spmv(input: &Named) -> Result<Case, String> {
    let problem = problem(Operation::SpmvOf(Storage::Coo), input)?;
    let programs = lists(|format| spmv(&problem, format));
    Ok(Case::new(Some(problem), programs))
}

fn spmv(problem: &Problem, format: &str) -> Result<Program, String> {
    let Operands::MatrixVector { a, x } = &problem.operands else {
        return Err("no operands".to_owned());
    };
    let operands = vec![("A", stored(&csr(a), format)?), ("x", vector(x))];
    Ok(Program::new(SPMV, operands).format("y", "dense"))
}

fn coo_spmm(input: &Named) -> Result<Case, String> {
    let problem = problem(Operation::SpmmOf(Storage::Coo, RANK), input)?;
    let Operands::MatrixDense { a, x } = &problem.operands else {
        return Err("no operands".to_owned());
    };
    let programs = lists(|format| {
        let operands = vec![("A", stored(&csr(a), format)?), ("X", dense(x))];
        Ok(Program::new(SPMM, operands).format("Y", "dense"))
    });
    Ok(Case::new(Some(problem), programs))
}

fn coo_sum(input: &Named) -> Result<Case, String> {
    let problem = problem(Operation::SpaddOf(Storage::Coo), input)?;
    let Operands::TwoMatrices { a, b } = &problem.operands else {
        return Err("no operands".to_owned());
    };
    let stored = |a: &Rc<Csr>, format: &str| stored(&csr(a), format);
    let programs = lists(|format| {
        let operands = vec![("A", stored(a, format)?), ("B", stored(b, format)?)];
        let sum = Program::new("C(i,j) = A(i,j) + B(i,j)", operands).format("C", format);
        Ok(Program { form: Form::Entries, ..sum })
    });
    Ok(Case::new(Some(problem), programs))
}

fn dia_spmv(input: &Named) -> Result<Case, String> {
    let problem = problem(Operation::SpmvOf(Storage::Dia), input)?;
    let programs = vec![
        Entrant::new("dia", spmv(&problem, "dia")),
        Entrant::jit("dia", spmv(&problem, "dia")),
        Entrant::new("csr", spmv(&problem, "csr")),
    ];
    Ok(Case::new(Some(problem), programs))
}

fn converted(input: &Named) -> Result<Case, String> {
    let problem = problem(Operation::SpmvOf(Storage::Coo), input)?;
    let both = spmv(&problem, "coo").map(|program| Program {
        text: "T(i,j) = A(i,j); y(i) = T(i,j) * x(j)".to_owned(),
        ..program.format("T", "csr")
    });
    let programs = vec![
        Entrant::new("coo", spmv(&problem, "coo")),
        Entrant::new("csr", spmv(&problem, "csr")),
        Entrant::new("coo to csr, then csr", both),
    ];
    Ok(Case::new(Some(problem), programs))
}

fn by_format(input: &Named, formats: &[(&str, &str)]) -> Result<Case, String> {
    let problem = problem(Operation::Spmv, input)?;
    let entrant = |&(name, format): &(&str, &str)| Entrant::new(name, spmv(&problem, format));
    let programs = formats.iter().map(entrant).collect();
    Ok(Case::new(Some(problem), programs))
}

fn tensors(figure: &'static str, title: &str, operation: Operation) -> Exhibit {
    Exhibit {
        figure,
        title: format!("{title}, of tensors in COO"),
        original: TENSORS,
        inputs: &["facebook", "uni1000"],
        files: Files::Tensors,
        columns: Columns::Inputs,
        cells: Cells::Time,
        case: Box::new(move |input, _| {
            let problem = problem(operation, input)?;
            let programs = vec![
                Entrant::new("coo", of_lists(&problem)),
                Entrant::jit("coo", of_lists(&problem)),
                Entrant::new("csf", of_problem(&problem).map_err(|_| "no program".to_owned())),
            ];
            Ok(Case::new(Some(problem), programs))
        }),
    }
}

/// The program of a problem, its tensors in COO, and so are its results where a pattern of entries has to be found.
fn of_lists(problem: &Problem) -> Result<Program, String> {
    let mut program = of_problem(problem).map_err(|_| "no program".to_owned())?;
    for (_, tensor) in &mut program.operands {
        if tensor.ndim() == 3 {
            *tensor = stored(tensor, "coo")?;
        }
    }
    if matches!(problem.operation, Operation::Ttv | Operation::Plus) {
        program.formats = vec![("A".to_owned(), "coo".to_owned())];
        program.form = Form::Entries;
    }
    Ok(program)
}
