//! Programs on several ranks have the bits of one process.

mod matrices;

use matrices::{banded, packed, uneven};
use tamis::dist::{Counted, Distributed, Grid, Placement, Placements, Run, gathered, on_threads};
use tamis::{Coordinates, Diagnostic, Kernel, Options, Tensor, Values, format};
use tamis_testing::check::Outcome;
use tamis_testing::distributed::{RANKS, check};
use tamis_testing::generate;
use tamis_testing::random::Random;
use tamis_testing::schedules;

#[test]
fn random_programs_have_the_bits_of_one_process() {
    let mut right = 0;
    for seed in 0..150 {
        let mut random = Random::new(4300 + seed);
        let mut case = generate::case(&mut random);
        let ranks = *random.pick(&RANKS);
        if random.one_in(2) {
            case.schedule = schedules::on_ranks(&mut random, &case);
        }
        match check(&case, ranks) {
            Outcome::Right => right += 1,
            Outcome::Invalid => {}
            Outcome::Wrong(what) => panic!("{what}\n{case}"),
        }
    }
    assert!(right > 100, "{right} programs are valid");
}

/// Runs a program on ranks: its results as one process has them, and the bytes that each rank sent.
fn on_ranks(text: &str, operands: &[(&str, &Tensor)], ranks: usize) -> Vec<u64> {
    scheduled(text, "", operands, ranks)
}

/// The same with a schedule; the bytes are those that were forecast.
fn scheduled(text: &str, schedule: &str, operands: &[(&str, &Tensor)], ranks: usize) -> Vec<u64> {
    let schedule = tamis::schedule::parse(schedule).unwrap();
    let kernel =
        Kernel::compile(text, operands, &Options { schedule, ..Options::default() }).unwrap();
    let forecast = kernel.forecast(ranks, operands, &Placements::new()).unwrap();
    let expected = kernel.run(operands).unwrap();
    let found = on_threads(ranks, |comm| {
        let comm = Counted::new(comm);
        let mut parts = vec![];
        for (name, tensor) in operands {
            parts.push((*name, Distributed::split(&comm, tensor)?));
        }
        let parts: Vec<(&str, &Distributed)> = parts.iter().map(|(n, t)| (*n, t)).collect();
        let results = kernel.run_distributed(&comm, &parts)?;
        let sent = comm.counts().sent;
        Ok((gathered(&comm, &results)?, sent))
    });
    let each =
        found.into_iter().enumerate().map(|(rank, found): (usize, Result<_, Diagnostic>)| {
            let (results, sent) = found.unwrap();
            assert_eq!(results[0].1, expected[0].1, "{text} on {ranks} ranks");
            let told: u64 = forecast.steps_of(Run::First).map(|step| step.sent[rank]).sum();
            assert_eq!(told, sent, "{text} on {ranks} ranks: {}", forecast.text(None));
            sent
        });
    each.collect()
}

/// Only what other ranks need is sent.
#[test]
fn a_banded_matrix_needs_few_elements_of_others() {
    let n = 40_000;
    let a = packed(&banded(n), "csr");
    let x =
        Tensor::dense(&[n], (0..n).map(|i| 1.0 + i as f64 / 7.0).collect::<Vec<f64>>()).unwrap();
    for sent in on_ranks("y(i) = A(i,j) * x(j)", &[("A", &a), ("x", &x)], 4) {
        assert!(sent < 300, "{sent} bytes of {}", 8 * n);
    }
    let b = packed(&banded(n), "csr");
    for sent in on_ranks("C(i,j) = A(i,k) * B(k,j)", &[("A", &a), ("B", &b)], 3) {
        assert!(sent < 400, "{sent} bytes of {}", 12 * b.nnz());
    }
}

#[test]
fn sums_over_the_cut_loop_are_added_as_in_one_process() {
    let n = 300_000;
    let a = packed(&banded(n), "csr");
    let values = |k: u64| (0..n).map(|i| 1.0 / (1 + i % k) as f64).collect::<Vec<f64>>();
    let (x, z) =
        (Tensor::dense(&[n], values(77)).unwrap(), Tensor::dense(&[n], values(13)).unwrap());
    for ranks in [2, 3, 5] {
        let sent = on_ranks("s = x(i) * z(i)", &[("x", &x), ("z", &z)], ranks);
        assert!(sent.iter().all(|&sent| sent < 3_000_000 / ranks as u64), "{sent:?}");
        on_ranks("s = A(i,j) * x(j) * z(i)", &[("A", &a), ("x", &x), ("z", &z)], ranks);
    }
}

/// A kernel that runs again asks anew where its operands have other entries, on any rank.
#[test]
fn requests_are_kept_only_for_the_same_entries() {
    let n = 60;
    let storage = format::parse("csr", Some(2)).unwrap().resolve(tamis::DataType::F64).unwrap();
    let matrix = |shift: u64| {
        let rows: Vec<u64> = (0..n).collect();
        // Only rows of the last rank change with the shift.
        let columns =
            rows.iter().map(|row| if *row < 50 { (row + 9) % n } else { (row + shift) % n });
        let vals = Values::F64((0..n).map(|row| 1.0 + row as f64).collect());
        let list = Coordinates::new(vec![n, n], vec![rows.clone(), columns.collect()], vals);
        tamis::pack(&list.unwrap(), &storage, tamis::Duplicates::Refuse).unwrap()
    };
    let x =
        |k: u64| Tensor::dense(&[n], (0..n).map(|i| (i * k) as f64).collect::<Vec<f64>>()).unwrap();
    let (first, x0) = (matrix(1), x(1));
    let text = "y(i) = A(i,j) * x(j)";
    let kernel = Kernel::compile(text, &[("A", &first), ("x", &x0)], &Options::default()).unwrap();
    let sent = on_threads(4, |comm| {
        let mut sent = vec![];
        for (shift, k) in [(1, 1), (1, 2), (7, 3), (7, 4), (1, 5)] {
            let (a, x) = (matrix(shift), x(k));
            let expected = kernel.run(&[("A", &a), ("x", &x)])?;
            let comm = Counted::new(comm);
            let (a, x) = (Distributed::split(&comm, &a)?, Distributed::split(&comm, &x)?);
            let results = kernel.run_distributed(&comm, &[("A", &a), ("x", &x)])?;
            sent.push(comm.counts().sent);
            assert_eq!(results["y"].gather(&comm)?, expected["y"], "{shift} {k}");
        }
        Ok(sent)
    });
    for sent in sent {
        let sent = sent.unwrap();
        assert!(sent[1] < sent[0] && sent[3] < sent[2] && sent[4] == sent[0], "{sent:?}");
    }
}

/// The compiler's own variables have dimensions of others, and are others; blocks of a list are cut by their elements.
#[test]
fn variables_of_one_dimension_are_not_one() {
    let a = packed(&banded(40), "csr");
    for ranks in [2, 7] {
        let text = "R(i,j) = A(i,j); R(j,i[40::-1]) = 2 * R(i,j) + A(j,i)";
        on_ranks(text, &[("A", &a)], ranks);
        for blocks in
            ["(i) -> (i/3: compressed, i%3: dense)", "(i) -> (i/3: compressed, i%3: hashed)"]
        {
            let list =
                Coordinates::new(vec![40], vec![vec![4, 29, 38]], Values::F64(vec![1.0, 2.0, 3.0]));
            let storage =
                format::parse(blocks, Some(1)).unwrap().resolve(tamis::DataType::F64).unwrap();
            let x = tamis::pack(&list.unwrap(), &storage, tamis::Duplicates::Refuse).unwrap();
            on_ranks("y(j) = 2 * x(j)", &[("x", &x)], ranks);
            on_ranks("y(i) = A(i,j) * x(j) + x(i)", &[("A", &a), ("x", &x)], ranks);
        }
    }
}

/// Entries that lie anyhow come to the ranks that own them, with about as many on each.
#[test]
fn entries_of_any_rank_come_to_their_owners() {
    let list = banded(10_000);
    let storage = format::parse("csr", Some(2)).unwrap().resolve(tamis::DataType::F64).unwrap();
    let whole = packed(&list, "csr");
    let held = on_threads(4, |comm| {
        let mine = |n: &usize| n % comm.ranks() == comm.rank();
        let places: Vec<usize> = (0..list.vals().len()).filter(mine).collect();
        let crds = list.crds().iter().map(|c| places.iter().map(|&n| c[n]).collect()).collect();
        let vals = Values::F64(places.iter().map(|&n| list.vals().as_f64(n)).collect());
        let own = Coordinates::new(list.dims().to_vec(), crds, vals)?;
        let tensor = Distributed::from_entries(comm, &own, &storage)?;
        assert_eq!(tensor.gather(comm)?, whole);
        assert_eq!(tensor.stored(), whole.nnz());
        Ok(tensor.held())
    });
    let held: Vec<usize> = held.into_iter().map(Result::unwrap).collect();
    let even = whole.nnz() as f64 / 4.0;
    assert!(held.iter().all(|&held| (held as f64) < 1.05 * even), "{held:?}");
}

/// A program that is compiled for parts which no rank has as a whole has the bits of one compiled for the whole.
#[test]
fn programs_are_compiled_for_parts() {
    let list = banded(3_000);
    let a = packed(&list, "csr");
    let x = Tensor::dense(&[3_000], (0..3_000).map(|n| f64::from(n % 17) / 3.0).collect()).unwrap();
    for text in ["y(i) = A(i,j) * x(j)", "C(i,j) = A(i,k) * A(k,j) + x(i) * A(i,j)"] {
        let operands = [("A", &a), ("x", &x)];
        let one = Kernel::compile(text, &operands, &Options::default()).unwrap();
        let one = one.run(&operands).unwrap();
        for ranks in [1, 2, 5] {
            let all = on_threads(ranks, |comm| {
                let share = |rank: usize| list.vals().len() * rank / comm.ranks();
                let own = share(comm.rank())..share(comm.rank() + 1);
                let crds = list.crds().iter().map(|crds| crds[own.clone()].to_vec()).collect();
                let vals = own.map(|n| list.vals().as_f64(n)).collect();
                let own = Coordinates::new(list.dims().to_vec(), crds, Values::F64(vals))?;
                let own = Distributed::from_entries(comm, &own, a.storage())?;
                let x = Distributed::split(comm, &x)?;
                let operands = [("A", &own), ("x", &x)];
                let program = tamis::notation::parse(text)?;
                let kernel = Kernel::of_distributed(program, &operands, &Options::default())?;
                assert!(kernel.warnings_of_distributed(&operands)?.is_empty());
                gathered(comm, &kernel.run_distributed(comm, &operands)?)
            });
            for results in all {
                assert_eq!(results.unwrap()[0].1, one[0].1, "{text} on {ranks} ranks");
            }
        }
    }
}

/// What is sent is what was forecast, to the byte, whichever loop ranks share; positions have the sums of one
/// process, which are of several parts.
#[test]
fn bytes_are_those_of_the_forecast() {
    let n = 6_000;
    let a = packed(&uneven(n), "csr");
    let values = |k: u64| (0..n).map(|i| 1.0 / (1 + i % k) as f64).collect::<Vec<f64>>();
    let x = Tensor::dense(&[n], values(77)).unwrap();
    let (by_matrix, by_vector) = ([("A", &a)], [("A", &a), ("x", &x)]);
    let listed = packed(&uneven(n), "dcsr");
    let by_listed = [("A", &listed), ("x", &x)];
    let (even, positions) =
        ("distribute(i, io, ii, x)", "fuse(i, j, f); pos(f, p, A); distribute(p, po, pi, x)");
    for ranks in [2, 4, 8, 16] {
        for schedule in ["", even, positions] {
            scheduled("y(i) = A(i,j) * x(j)", schedule, &by_vector, ranks);
        }
        for schedule in ["", even] {
            scheduled("y(j) = A(i,j) * x(i)", schedule, &by_vector, ranks);
            scheduled("C(i,j) = A(i,k) * A(k,j)", schedule, &by_matrix, ranks);
        }
        scheduled("y(j) = A(i,j) * x(i)", "", &by_listed, ranks);
        scheduled("y(i) = A(i,j) * x(j)", even, &by_listed, ranks);
        scheduled("S(i,j) = A(i,j) * x(i) * x(j)", positions, &by_vector, ranks);
        scheduled("B(i,j) = A(j,i); s = B(i,j) * x(j)", "", &by_vector, ranks);
    }
}

/// Rows of equal nonzeros are balanced, of equal numbers they are not.
#[test]
fn positions_are_shared_evenly() {
    let n = 6_000;
    let a = packed(&uneven(n), "csr");
    let x = Tensor::dense(&[n], vec![1.0; n as usize]).unwrap();
    let operands = [("A", &a), ("x", &x)];
    let imbalance = |schedule: &str| {
        let schedule = tamis::schedule::parse(schedule).unwrap();
        let options = Options { schedule, ..Options::default() };
        let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &operands, &options).unwrap();
        kernel.forecast(8, &operands, &Placements::new()).unwrap().kernels[0].imbalance().unwrap()
    };
    let even = imbalance("distribute(i, io, ii, x)");
    let positions = imbalance("fuse(i, j, f); pos(f, p, A); distribute(p, po, pi, x)");
    assert!(even > 1.5 && positions < 1.05, "{even} {positions}");
}

/// Operands lie where they are wanted, whatever lay where before; a loop that is cut as its operand lies gets nothing of it.
#[test]
fn operands_lie_where_they_are_wanted() {
    let n = 600;
    let a = packed(&uneven(n), "csr");
    let x =
        Tensor::dense(&[n], (0..n).map(|i| 1.0 / (1 + i) as f64).collect::<Vec<f64>>()).unwrap();
    let operands = [("A", &a), ("x", &x)];
    let schedule = tamis::schedule::parse("distribute(i, io, ii, x)").unwrap();
    let options = Options { schedule, ..Options::default() };
    let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &operands, &options).unwrap();
    let sent = |placements: &[(&str, &Placement)]| {
        let placements =
            placements.iter().map(|(name, p)| ((*name).to_owned(), (*p).clone())).collect();
        kernel.forecast(5, &operands, &placements).unwrap().bytes(Run::Later)
    };
    let (by_rows, nonzeros) = (Placement::Rows("x".into()), Placement::Nonzeros(None));
    let rows = ("A", &by_rows);
    let all = [sent(&[]), sent(&[rows]), sent(&[rows, ("x", &Placement::Replicated)])];
    assert!(all[0] > 2 * all[1] && all[1] > 2 * all[2], "{all:?}");
    let held = on_threads(5, |comm| {
        let split = Distributed::split(comm, &a)?;
        let mut told = vec![];
        let line = Grid::line("x", 5);
        for placement in [&by_rows, &Placement::Replicated, &nonzeros] {
            let placed = split.placed(comm, &line, placement)?;
            let back = placed.placed(comm, &line, &nonzeros)?;
            assert_eq!(back.gather(comm)?, a, "{placement:?}");
            assert_eq!((back.interval(2), back.held()), (split.interval(2), split.held()));
            told.push(placed.held());
        }
        Ok(told)
    });
    let held: Vec<Vec<usize>> = held.into_iter().collect::<Result<_, Diagnostic>>().unwrap();
    let of = |k: usize| held.iter().map(|held| held[k]).sum::<usize>();
    assert_eq!((of(0), of(1), of(2)), (a.nnz(), 5 * a.nnz(), a.nnz()));
    let list = Coordinates::new(vec![n], vec![vec![3, 5]], Values::F64(vec![1.0, 2.0])).unwrap();
    let storage = format::parse("(i) -> (i: hashed)", Some(1))
        .unwrap()
        .resolve(tamis::DataType::F64)
        .unwrap();
    let hashed = tamis::pack(&list, &storage, tamis::Duplicates::Refuse).unwrap();
    for told in on_threads(3, |comm| {
        Distributed::split(comm, &hashed)?.placed(comm, &Grid::line("x", 3), &by_rows).map(|_| ())
    }) {
        assert!(told.is_err_and(|told| told.message.contains("are whole on every rank")));
    }
}

/// Parts belong to the ranks of the communicator that they were made on.
#[test]
fn parts_of_another_communicator_are_refused() {
    let n = 64;
    let a = packed(&banded(n), "csr");
    let x = Tensor::dense(&[n], (0..n).map(|i| 1.0 + i as f64).collect::<Vec<f64>>()).unwrap();
    let operands = [("A", &a), ("x", &x)];
    let kernel = Kernel::compile("y(i) = A(i,j) * x(j)", &operands, &Options::default()).unwrap();
    let expected = kernel.run(&operands).unwrap();
    let parts =
        on_threads(4, |comm| Ok((Distributed::split(comm, &a)?, Distributed::split(comm, &x)?)));
    let parts: Vec<(Distributed, Distributed)> = parts.into_iter().map(Result::unwrap).collect();
    for order in [vec![0, 1, 2, 3], vec![0, 1], vec![3, 2, 1, 0], vec![0, 1, 2, 3, 0]] {
        let own = |rank: usize| &parts[order[rank]];
        let runs = on_threads(order.len(), |comm| {
            let (a, x) = own(comm.rank());
            kernel.run_distributed(comm, &[("A", a), ("x", x)])?["y"].gather(comm)
        });
        let gathers = on_threads(order.len(), |comm| own(comm.rank()).1.gather(comm));
        let places = on_threads(order.len(), |comm| {
            let line = Grid::line("x", comm.ranks());
            own(comm.rank()).1.placed(comm, &line, &Placement::Replicated)?.gather(comm)
        });
        let all = [(runs, &expected["y"]), (gathers, &x), (places, &x)];
        for (found, expected) in
            all.into_iter().flat_map(|(all, e)| all.into_iter().map(move |t| (t, e)))
        {
            match found {
                Ok(found) => {
                    assert!(order.len() == 4 && order[0] == 0 && found == *expected, "{order:?}")
                }
                Err(told) => assert_eq!(told.code, tamis::Code::RanksDiffer, "{order:?}: {told}"),
            }
        }
    }
}

#[test]
fn entries_that_come_twice_are_stored_once() {
    let list = banded(100);
    let storage = format::parse("csr", Some(2)).unwrap().resolve(tamis::DataType::F64).unwrap();
    for told in on_threads(3, |comm| {
        // Each rank gives all.
        let tensor = Distributed::from_entries(comm, &list, &storage)?;
        Ok((tensor.stored(), tensor.gather(comm)?.nnz()))
    }) {
        let (stored, nnz) = told.unwrap();
        assert_eq!(stored, nnz);
    }
}
