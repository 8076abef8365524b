//! Profiles and estimates: every loop of a plan is found in the code, and counts are those of the loops.

use tamis::{Kernel, Options, Profile, Tensor, ToFormat, format};

fn matrix(n: u64, entries: u64) -> Tensor {
    let places = (0..entries).map(|k| ([k * 7 % n, k * k % n], 1.0 + k as f64));
    let places: std::collections::BTreeMap<[u64; 2], f64> = places.collect();
    Tensor::from_triplets([n, n], places).unwrap_or_else(|d| panic!("{d}"))
}

/// The profile of a program on matrices A and B, vectors x and y, in formats.
fn profile(text: &str, formats: &[(&str, &str)], result: &str) -> Profile {
    let in_format = |tensor: Tensor, name: &str| {
        let Some((_, text)) = formats.iter().find(|(n, _)| *n == name) else { return tensor };
        let spec = format::parse(text, Some(tensor.dims().len())).unwrap_or_else(|d| panic!("{d}"));
        let storage = spec.resolve(tamis::DataType::F64).unwrap_or_else(|d| panic!("{d}"));
        tensor.to_format(&storage).unwrap_or_else(|d| panic!("{d}"))
    };
    let vector = Tensor::dense(&[50], vec![2.0; 50]).unwrap_or_else(|d| panic!("{d}"));
    let all = [("A", matrix(50, 200)), ("B", matrix(50, 120)), ("x", vector)];
    let all = all.map(|(name, tensor)| (name, in_format(tensor, name)));
    let program = tamis::notation::parse(text).unwrap_or_else(|d| panic!("{d}"));
    let used = all.iter().filter(|(name, _)| program.tensor(name).is_some());
    let operands: Vec<(&str, &Tensor)> = used.map(|(name, tensor)| (*name, tensor)).collect();
    let mut options = Options::default();
    if !result.is_empty() {
        let spec = format::parse(result, Some(2)).unwrap_or_else(|d| panic!("{d}"));
        options.results.insert("C".to_owned(), spec);
    }
    let kernel = Kernel::of_program(program, &operands, &options).unwrap_or_else(|d| panic!("{d}"));
    let (results, profile) = kernel.profile(&operands, 2).unwrap_or_else(|d| panic!("{d}"));
    let plain = kernel.run(&operands).unwrap_or_else(|d| panic!("{d}"));
    assert!(results.iter().zip(plain.iter()).all(|(a, b)| a == b), "{text}");
    profile
}

/// A program, the formats of its operands and of its result, and its loops.
type Case<'c> = (&'c str, &'c [(&'c str, &'c str)], &'c str, &'c str);

/// Loops of the code are those of the plan, but for levels with one child below each position; what is counted of loops
/// is not more than of the kernel, and tables have a line for each.
#[test]
fn loops_of_the_code_are_those_of_the_plan() {
    let csr = &[("A", "csr"), ("B", "csr")];
    let product = "C(i,j) = A(i,k) * B(k,j)";
    let programs: [Case<'_>; 9] = [
        ("y(i) = A(i,j) * x(j)", &[("A", "csr")], "", "i, j of A"),
        ("y(i) = A(i,j) * x(j)", &[("A", "coo")], "", "i of A"),
        ("y(i) = A(i,j) * x(j)", &[("A", "dia")], "", "d of A, i"),
        ("y(i) = A(i,j) * x(j)", &[("A", "bcsr(5,5)")], "", "i0, j0 of A, i1, j1"),
        (product, csr, "csr", "i, k of A, j of B"),
        (product, &[("A", "csc"), ("B", "csc")], "csc", "j, k of B, i of A"),
        ("C(i,j) = A(i,j) + B(i,j)", &[("A", "csr"), ("B", "coo")], "csr", "i of B, j of A and B"),
        ("C(i,j) = A(i,j) + B(j,i)", csr, "dcsr", "j, i of B, i, j of A and B_sorted"),
        (
            "C(i,j) = A(i,j) * B(i,j); s = C(i,j) * x(i)",
            &[("A", "ell"), ("B", "csr")],
            "csr",
            "i, s, i, j of A_sorted and B, i, j of C",
        ),
    ];
    for (text, formats, result, expected) in programs {
        let profile = profile(text, formats, result);
        assert!(profile.is_counted, "{text}");
        let mut found = vec![];
        for kernel in &profile.kernels {
            let counts = kernel.counts.expect("it was counted");
            found.extend(kernel.loops.iter().filter(|l| !l.is_of_code).map(|l| {
                let of = if l.drivers.is_empty() { "" } else { " of " };
                format!("{}{of}{}", l.var, l.drivers.join(" and "))
            }));
            let of_loops = |of: fn(tamis::Counts) -> u64| {
                kernel.loops.iter().filter_map(|l| l.counts).map(of).sum::<u64>()
            };
            assert_eq!(of_loops(|c| c.iterations), counts.iterations, "{text}\n{profile}");
            assert!(of_loops(|c| c.loads) <= counts.loads, "{text}\n{profile}");
            assert!(of_loops(|c| c.stores) <= counts.stores, "{text}\n{profile}");
        }
        assert_eq!(found.join(", "), expected, "{text}\n{profile}");
        let loops: usize = profile.kernels.iter().map(|kernel| kernel.loops.len()).sum();
        let lines = profile.to_string().lines().count();
        assert_eq!(lines, 4 + profile.kernels.len() + loops, "{profile}");
    }
}

/// Where the plan knows them, iterations and values are those of the run; so are workspaces.
#[test]
fn estimates_are_what_is_counted_where_entries_do_not_matter() {
    let spmv = profile("y(i) = A(i,j) * x(j)", &[("A", "csr")], "");
    let kernel = &spmv.kernels[0];
    for row in &kernel.loops {
        let counted = row.counts.expect("it was counted").iterations as f64;
        assert_eq!(row.estimated, Some(counted), "{spmv}");
    }
    assert_eq!((kernel.estimate.values, kernel.values), (50.0, Some(50)));
    assert_eq!(kernel.estimate.bytes, 400.0);
    let spgemm = profile("C(i,j) = A(i,k) * B(k,j)", &[("A", "csr"), ("B", "csr")], "csr");
    let kernel = &spgemm.kernels[0];
    let counted = kernel.counts.expect("it was counted").bytes;
    assert!(counted > 0, "{spgemm}");
    assert_eq!(kernel.estimate.workspace_bytes, counted as f64, "{spgemm}");
    let total: f64 = spgemm.stages.iter().map(|(_, seconds)| seconds).sum();
    assert_eq!(total, spgemm.compile_seconds());
    assert!(spgemm.stages.iter().any(|(stage, seconds)| *stage == "cranelift" && *seconds > 0.0));
}
