//! 002, "Sparse tensor algebra with workspaces": products of sparse matrices, MTTKRP, and sums.

use std::rc::Rc;

use super::case::{Entrant, part};
use super::{Axis, Case, Cells, Columns, Exhibit, Files};
use crate::files::Named;
use crate::inputs::Csr;
use crate::measure::Compared;
use crate::operation::{DENSITIES, Density, Factor, Operation, Order, Part};
use crate::problem::{Operands, Problem};
use crate::program::{Form, Known, Program, csf, csr, dense, stored};
use crate::tamis_contender::{TERMS, product, sum};

const MATRICES: &str = "bcsstk17, pdb1HYS, rma10, cant and consph; Eigen sorts, MKL does not. Here generated \
    matrices of 5,000 to 16,000 rows stand for them";
const TENSORS: &str = "Facebook, NELL-2 and NELL-1; SPLATT. Here a random tensor of the dimensions of Facebook, and \
     a denser one, stand for them; `hand` is SPLATT's algorithm";
const SUMS: &str = "Eigen, MKL, taco by binary statements (binop), taco in one merge, and a \
    workspace, on random matrices. `register` adds the terms of an element to a number; two are merged by \
    the points of the lattice";

/// The tables and figures.
pub fn exhibits() -> Vec<Exhibit> {
    let products = [
        ("figure 11, sorted, density 1e-4", Density(1), Order::Sorted),
        ("figure 11, unsorted, density 1e-4", Density(1), Order::Unsorted),
        ("table 2, sorted", Density(25), Order::Sorted),
        ("table 2, unsorted", Density(25), Order::Unsorted),
    ];
    let mut all: Vec<Exhibit> = products
        .into_iter()
        .map(|(figure, density, order)| spgemm(figure, density, order))
        .collect();
    all.extend([mttkrp(), sparse_mttkrp(), sums(), breakdown()]);
    all
}

fn spgemm(figure: &'static str, density: Density, order: Order) -> Exhibit {
    Exhibit {
        figure,
        title: format!("Sparse matrix times a random one of density {density}"),
        original: MATRICES,
        inputs: &["lap2d_128", "fem5k", "lap3d_25", "rmat14", "uni16k"],
        files: Files::Matrices,
        columns: Columns::Inputs,
        cells: Cells::Time,
        case: Box::new(move |input, _| product_case(input, density, order)),
    }
}

/// The entries that a random factor may have.
const FACTOR: f64 = 3e7;

fn product_case(input: &Named, density: Density, order: Order) -> Result<Case, String> {
    let a = input.matrix()?;
    let entries = (a.cols as f64).powi(2) * density.share();
    if entries > FACTOR {
        return Err(format!("the factor would have {entries:.0} entries"));
    }
    let operation = Operation::Spgemm(Factor::Random(density), order);
    let problem = Problem::new(operation, &input.name, &input.input);
    let Some(Operands::TwoMatrices { a, b }) = problem.as_ref().map(|p| &p.operands) else {
        return Err("no operands".to_owned());
    };
    let program = || product(a, b, order);
    let compared = Compared::of(operation);
    let programs = vec![
        Entrant::new("fused", Ok(program())).compared(compared),
        Entrant::jit("fused", Ok(program())).compared(compared),
        Entrant::new("assembly", Ok(part(program(), Part::Assemble))).compared(Compared::Entries),
        Entrant::new("compute", Ok(part(program(), Part::Compute))).compared(compared),
    ];
    Ok(Case::new(problem, programs))
}

const MTTKRP: &str = "A(i,r) = B(i,k,l) * C(k,r) * D(l,r)";

fn mttkrp() -> Exhibit {
    Exhibit {
        figure: "figure 12",
        title: "MTTKRP with dense factors of 32 columns".to_owned(),
        original: TENSORS,
        inputs: &["facebook", "uni1000"],
        files: Files::Tensors,
        columns: Columns::Inputs,
        cells: Cells::Time,
        case: Box::new(|input, _| {
            let problem = Problem::new(Operation::Mttkrp, &input.name, &input.input);
            let Some(Operands::TensorTwoMatrices { b, c, d }) =
                problem.as_ref().map(|p| &p.operands)
            else {
                return Err("no operands".to_owned());
            };
            let program = |schedule: &str| Program {
                schedule: schedule.to_owned(),
                ..Program::new(MTTKRP, vec![("B", csf(b)), ("C", dense(c)), ("D", dense(d))])
                    .format("A", "dense")
            };
            let workspace = "reorder(i, k, l, r); precompute(B(i,k,l) * D(l,r), r, r, w)";
            let programs = vec![
                Entrant::new("chosen", Ok(program(""))),
                Entrant::jit("chosen", Ok(program(""))),
                Entrant::new("workspace", Ok(program(workspace))),
                Entrant::new("merge", Ok(program("reorder(i, k, l, r)"))),
            ];
            Ok(Case::new(problem, programs))
        }),
    }
}

fn sparse_mttkrp() -> Exhibit {
    Exhibit {
        figure: "figure 13",
        title: "MTTKRP with factors of a density".to_owned(),
        original: "Facebook, NELL-1 and NELL-2, sparse factors beside the same ones stored dense",
        inputs: &["facebook", "uni1000"],
        files: Files::Tensors,
        columns: Columns::Parameter {
            name: "density",
            values: &[1.0, 0.25, 0.04, 0.01, 0.0025, 0.0001],
            axis: Axis::Logarithmic,
        },
        cells: Cells::Time,
        case: Box::new(|input, share| {
            let density = DENSITIES.into_iter().find(|density| density.share() == share);
            let density = density.ok_or("no such density")?;
            let operation = Operation::MttkrpSparse(density);
            let problem = Problem::new(operation, &input.name, &input.input);
            let Some(Operands::TensorTwoSparse { b, c, d }) = problem.as_ref().map(|p| &p.operands)
            else {
                return Err("no operands".to_owned());
            };
            let sparse = || {
                Program::new(MTTKRP, vec![("B", csf(b)), ("C", csr(c)), ("D", csr(d))])
                    .format("A", "csr")
            };
            let factor = |x: &Csr| stored(&csr(x), "dense");
            let dense = factor(c).and_then(|c| Ok((c, factor(d)?))).map(|(c, d)| {
                let program = Program::new(MTTKRP, vec![("B", csf(b)), ("C", c), ("D", d)]);
                Program { form: Form::Entries, ..program.format("A", "dense") }
            });
            let programs = vec![
                Entrant::new("sparse factors", Ok(sparse())),
                Entrant::jit("sparse factors", Ok(sparse())),
                Entrant::new("dense factors", dense),
            ];
            Ok(Case::new(problem, programs))
        }),
    }
}

fn sums() -> Exhibit {
    Exhibit {
        figure: "figure 14",
        title: "Sums of so many sparse matrices".to_owned(),
        original: SUMS,
        inputs: &["densities4k"],
        files: Files::Matrices,
        columns: Columns::Parameter {
            name: "terms",
            values: &[2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
            axis: Axis::Linear,
        },
        cells: Cells::Time,
        case: Box::new(|input, terms| {
            let (problem, all) = terms_of(input, terms as usize)?;
            let programs = vec![
                Entrant::new("chosen", Ok(sum(&all))),
                Entrant::jit("chosen", Ok(sum(&all))),
                Entrant::new("lattice or register", Ok(by_formats(&all))),
                Entrant::new("workspace", Ok(by_workspace(&all))),
                Entrant::new("binary statements", Ok(by_statements(&all))),
            ];
            Ok(Case::new(Some(problem), programs))
        }),
    }
}

fn breakdown() -> Exhibit {
    Exhibit {
        figure: "table 3",
        title: "Sum of seven sparse matrices, its entries and values apart".to_owned(),
        original: SUMS,
        inputs: &["densities10k"],
        files: Files::Matrices,
        columns: Columns::Inputs,
        cells: Cells::Time,
        case: Box::new(|input, _| {
            let (problem, all) = terms_of(input, 7)?;
            let ways: [(&str, Sum); 4] = [
                ("chosen", sum),
                ("register", by_formats),
                ("workspace", by_workspace),
                ("binary statements", by_statements),
            ];
            let mut programs = vec![Entrant::jit("chosen", Ok(sum(&all)))];
            for (name, program) in ways {
                programs.push(Entrant::new(name, Ok(program(&all))));
            }
            for (name, program) in ways {
                let assembly = part(program(&all), Part::Assemble);
                let name = |what: &str| format!("{name}, {what}");
                programs.push(
                    Entrant::new(&name("assembly"), Ok(assembly)).compared(Compared::Entries),
                );
                let compute = part(program(&all), Part::Compute);
                programs.push(Entrant::new(&name("compute"), Ok(compute)));
            }
            Ok(Case::new(Some(problem), programs))
        }),
    }
}

/// The program of a sum of these terms.
type Sum = fn(&[Rc<Csr>]) -> Program;

fn terms_of(input: &Named, terms: usize) -> Result<(Problem, Vec<Rc<Csr>>), String> {
    let operation = Operation::SpaddMany(terms);
    let problem = Problem::new(operation, &input.name, &input.input).ok_or("no operands")?;
    let Operands::Matrices { all } = &problem.operands else {
        return Err("no operands".to_owned());
    };
    let all = all.clone();
    Ok((problem, all))
}

/// The sum as it is compiled when nothing is known of the lengths of rows.
fn by_formats(all: &[Rc<Csr>]) -> Program {
    Program { known: Known::Formats, ..sum(all) }
}

/// Each term is added to a workspace of a row.
fn by_workspace(all: &[Rc<Csr>]) -> Program {
    let terms: Vec<String> =
        TERMS.iter().take(all.len()).map(|name| format!("{name}(i,j)")).collect();
    let splits = (1..=all.len()).rev();
    let splits = splits.map(|n| format!("precompute({}, j, j, w)", terms[..n].join(" + ")));
    Program { schedule: splits.collect::<Vec<_>>().join("; "), ..sum(all) }
}

/// Two terms at a time, each sum a tensor.
fn by_statements(all: &[Rc<Csr>]) -> Program {
    let last = all.len() - 1;
    let result = |n: usize| if n == last { "S".to_owned() } else { format!("T{n}") };
    let first = |n: usize| if n == 1 { TERMS[0].to_owned() } else { result(n - 1) };
    let statement =
        |n: usize| format!("{}(i,j) = {}(i,j) + {}(i,j)", result(n), first(n), TERMS[n]);
    let text = (1..all.len()).map(statement).collect::<Vec<_>>().join("; ");
    let program = Program { text, ..sum(all) };
    (1..last).fold(program, |program, n| program.format(&result(n), "csr"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs;

    #[test]
    fn sums_are_split_into_two_terms_at_a_time() {
        let all: Vec<Rc<Csr>> = (0..3).map(|n| Rc::new(inputs::random([4; 2], 0.5, n))).collect();
        let program = by_statements(&all);
        assert_eq!(program.text, "T1(i,j) = A(i,j) + B(i,j); S(i,j) = T1(i,j) + C(i,j)");
        let temporary = ("T1".to_owned(), "csr".to_owned());
        assert_eq!(program.formats, [("S".to_owned(), "csr".to_owned()), temporary]);
    }
}
