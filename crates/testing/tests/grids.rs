//! Ranks in a grid have blocks of results, with the bits of one process.

mod matrices;

use matrices::{banded, packed, uneven};
use tamis::dist::{Distributed, Grid, gathered, on_threads};
use tamis::{Diagnostic, Kernel, Options, Tensor};

/// A program whose loops over some variables are shared along the axes `x` and `y` of a grid.
struct OnGrid<'c> {
    text: &'c str,
    vars: &'c [&'c str],
    operands: &'c [(&'c str, &'c Tensor)],
    /// Formats of operands, with where these lie.
    lie: &'c [(&'c str, &'c str)],
}

impl OnGrid<'_> {
    /// Compares its last result on a grid of these sizes with that of one process, and how even the blocks are.
    fn check(&self, sizes: &[usize]) {
        let (text, operands) = (self.text, self.operands);
        let axes: Vec<(&str, &usize)> =
            ["x", "y"].into_iter().zip(sizes).take(self.vars.len()).collect();
        let command = |(var, (axis, _)): (&&str, &(&str, &usize))| {
            format!("distribute({var}, {var}o, {var}i, {axis})")
        };
        let schedule: Vec<String> = self.vars.iter().zip(&axes).map(command).collect();
        let schedule = tamis::schedule::parse(&schedule.join("; ")).unwrap();
        let program = tamis::notation::parse(text).unwrap();
        let placements = tamis::dist::placements(&program, self.lie.iter().copied()).unwrap();
        let grid: Vec<String> = axes.iter().map(|(axis, n)| format!("{axis}={n}")).collect();
        let ranks = axes.iter().map(|(_, n)| *n).product();
        let grid = Grid::of(Some(&grid.join(",")), &schedule, &placements, ranks).unwrap();
        let options = Options { schedule, ..Options::default() };
        let kernel = Kernel::compile(text, operands, &options).unwrap();
        let expected = kernel.run(operands).unwrap();
        let held = on_threads(ranks, |comm| {
            let mut parts = vec![];
            for (name, tensor) in operands {
                let part = Distributed::split(comm, tensor)?;
                parts.push((*name, part.placed_as(comm, &grid, (name, &placements))?));
            }
            let parts: Vec<(&str, &Distributed)> = parts.iter().map(|(n, t)| (*n, t)).collect();
            let results = kernel.run_on_grid(comm, &grid, &parts)?;
            let (name, last) = results.iter().last().unwrap();
            let held = last.entries(comm)?.vals().len();
            let whole = gathered(comm, &results)?;
            assert_eq!(whole[name.as_str()], expected[name.as_str()], "{text} on {grid}");
            Ok((held, whole[name.as_str()].nnz()))
        });
        let held: Vec<(usize, usize)> = held.into_iter().map(Result::unwrap).collect();
        assert_eq!(held.iter().map(|(own, _)| own).sum::<usize>(), held[0].1, "{text}");
        // No rank has much more than its share, where there is something to share.
        let most = 4 * (held[0].1 / ranks) + 40;
        assert!(held.iter().all(|(own, _)| *own <= most), "{text} on {grid}: {held:?}");
    }
}

/// Loops over other modes of a result are shared along other axes of a grid: each rank holds its block.
#[test]
fn ranks_in_a_grid_have_blocks_of_results() {
    let n = 60;
    let dense = |rows: u64, columns: u64| {
        let value = |k: u64| 1.0 / (1 + k % 13) as f64;
        Tensor::dense(&[rows, columns], (0..rows * columns).map(value).collect()).unwrap()
    };
    let (a, b, d) = (packed(&uneven(n), "csr"), dense(n, 17), dense(17, n));
    let (listed, columns) = (packed(&uneven(n), "dcsr"), packed(&banded(n), "csc"));
    let check = |text: &str, vars: &[&str], operands: &[(&str, &Tensor)], lie: &[(&str, &str)]| {
        for sizes in [[2, 2], [3, 2], [1, 4], [5, 1]] {
            OnGrid { text, vars, operands, lie }.check(&sizes);
        }
    };
    let (by_b, by_d, by_columns) =
        ([("A", &a), ("B", &b)], [("A", &a), ("B", &b), ("D", &d)], [("A", &a), ("E", &columns)]);
    let blocks = ("A", "csr @ blocks(i: x, j: y)");
    let lie = [blocks, ("B", "dense @ blocks(k: y)")];
    check("C(i,k) = A(i,j) * B(j,k)", &["i", "k"], &by_b, &lie);
    check("S(i,j) = A(i,j) * B(i,k) * D(k,j)", &["i", "j"], &by_d, &[blocks]);
    let lie = [("E", "csc @ blocks(i: y, j: x)")];
    check("S(i,j) = A(i,j) + E(i,j)", &["j", "i"], &[("A", &listed), ("E", &columns)], &lie);
    let lie = [("A", "csr @ rows(x)"), ("E", "csc @ nz(y)")];
    check("C(i,j) = A(i,k) * E(k,j)", &["i", "j"], &by_columns, &lie);
    check("y(i) = A(i,j) * E(j,i)", &["i"], &by_columns, &[("E", "csc @ rows(x)")]);
    check("T(i,k,l) = A(i,k) * B(k,l) * B(i,l)", &["i", "l"], &by_b, &[]);
    check("T(i,k) = A(i,j) * B(j,k); U(l,k) = D(l,i) * T(i,k)", &["l", "k"], &by_d, &[]);
}

/// Programs that would see that they run on slices are refused; what no kernel reads is sliced, too.
#[test]
fn slices_that_a_program_would_see_are_refused() {
    let n = 40;
    let (a, z) = (packed(&banded(n), "csr"), Tensor::dense(&[n], vec![1.0; n as usize]).unwrap());
    let operands = [("A", &a), ("Z", &z)];
    let schedule = tamis::schedule::parse("distribute(j, jo, ji, y)").unwrap();
    let options = Options { schedule, ..Options::default() };
    let on_slices = |text: &str, operands: &[(&str, &Tensor)]| {
        let kernel = Kernel::compile(text, operands, &options)?;
        let expected = kernel.run(operands)?;
        let found = on_threads(3, |comm| {
            let parts = operands.iter().map(|(n, t)| Ok((*n, Distributed::split(comm, t)?)));
            let parts = parts.collect::<Result<Vec<(&str, Distributed)>, Diagnostic>>()?;
            let parts: Vec<(&str, &Distributed)> = parts.iter().map(|(n, t)| (*n, t)).collect();
            gathered(comm, &kernel.run_distributed(comm, &parts)?)
        });
        for results in found {
            assert_eq!(results?[0].1, expected[0].1, "{text}");
        }
        Ok::<(), Diagnostic>(())
    };
    for text in [
        "C(i,j) = A(i,j) + 0 * Z(j)",
        "C(i,j) = A(i,j); E(p,q) = C(p,q) + 0 * Z(q)",
        "C(i,j) = A(i,j) * Z(i)",
    ] {
        on_slices(text, &operands).unwrap();
    }
    for (text, why) in [
        ("C(i,j) = A(i,j) + 0 * Z(j) * Z(i)", "Z is read as a whole, too"),
        ("C(i,j) = A(i,j); E(p,q) = C(p,q) * Z(q) * q", "it uses q as a value"),
        ("C(i,j) = A(i,j) * Z(j) * A(j,i)", "A has it in several modes"),
        ("Y(j) = A(i,j) * Z(i)", "are added up in Y"),
    ] {
        let told = on_slices(text, &operands).unwrap_err();
        assert!(told.message.contains(why), "{text}: {}", told.message);
    }
}
