//! A word before it is slow: kernels and explanations say the same, and the work decides.

use std::collections::BTreeMap;
use tamis::explain::{Explanation, Stage};
use tamis::{Kernel, Options, Strictness, Tensor, format, notation, schedule};

/// A square matrix with an entry in the first row.
fn csr(n: u64) -> Tensor {
    let mut rows = vec![1; n as usize + 1];
    rows[0] = 0;
    Tensor::csr([n, n], rows, vec![3], vec![1.0]).expect("valid arrays")
}

fn dense(n: u64) -> Tensor {
    Tensor::dense(&[n], vec![2.0; n as usize]).expect("valid arrays")
}

fn strict(commands: &str) -> Options {
    let schedule = schedule::parse(commands).expect("a valid schedule");
    Options { strict: Strictness::Ieee, schedule, ..Options::default() }
}

fn warned(text: &str, operands: &[(&str, &Tensor)], options: &Options) -> Vec<String> {
    let kernel = Kernel::compile(text, operands, options).unwrap_or_else(|d| panic!("{text}: {d}"));
    let warnings = kernel.warnings(operands).unwrap_or_else(|d| panic!("{text}: {d}"));
    warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn kernels_and_explanations_say_the_same() {
    let (a, d) = (csr(10_000), dense(10_000));
    let operands = [("A", &a), ("d", &d)];
    let formats = BTreeMap::from([("A".to_owned(), format::parse("csr", Some(2)).expect("csr"))]);
    for (text, commands) in [
        ("y(i) = A(i,j) / d(j)", ""),
        ("y(i) = A(i,j) / d(j)", "split(i, i0, i1, 32)"),
        ("N(i,j) = A(i,j) / d(i)", "split(j, j0, j1, 100); reorder(i, j0, j1)"),
        ("y(i) = A(i,j) / d(j) + d(i) * d(i)", "precompute(d(i) * d(i), i, ip, t)"),
        ("y(i) = A(i,j) * d(j)", ""),
    ] {
        let options = strict(commands);
        let warned = warned(text, &operands, &options);
        let dims = BTreeMap::from(["i", "j"].map(|name| (name.to_owned(), 10_000)));
        let program = notation::parse(text).expect("a valid program");
        let explained = Explanation::of(&program, &formats, &Options { dims, ..options });
        let explained = explained.unwrap_or_else(|d| panic!("{text}: {d}"));
        let explained = explained.of_entries(&BTreeMap::from([("A".to_owned(), 1)]));
        let stage = explained.stage(Stage::Schedule).unwrap_or_else(|d| panic!("{text}: {d}"));
        assert_eq!(stage.matches("# warning[").count(), warned.len(), "{commands}: {stage}");
        for warning in warned.iter().flat_map(|warning| warning.lines()) {
            assert!(stage.contains(&format!("# {warning}\n")), "{commands}: {warning} in {stage}");
        }
        assert_eq!(warned.is_empty(), text.contains('*') && !text.contains('/'), "{text}");
    }
}

/// There are more steps over x, which vectorise; the quotients take more time.
#[test]
fn what_takes_most_time_is_told() {
    let (a, d, x) = (csr(20_000), dense(20_000), dense(30_000));
    let text = "y(i) = A(i,j) / d(j); a = sum(k, sum(l, x(k) * sqrt(x(k) + x(l))))";
    let [warning] = &warned(text, &[("A", &a), ("d", &d), ("x", &x)], &strict(""))[..] else {
        panic!("one warning");
    };
    assert!(warning.contains("`A(i,j) / d(j)` is `0.0 / d(j)`"), "{warning}");
}

/// Where all operands are dense, or all loops are over entries, there is nothing to write instead.
#[test]
fn there_is_no_word_without_a_way_out() {
    let options = Options::default();
    let n = 3500u64;
    let square = Tensor::dense(&[n, n], vec![1.0; (n * n) as usize]).expect("a matrix");
    let product = "C(i,j) = A(i,k) * B(k,j)";
    assert_eq!(warned(product, &[("A", &square), ("B", &square)], &options), [""; 0]);
    let x = dense(50_000);
    let sums = "a = sum(i, sum(j, sqrt(x(i) + x(j))))";
    assert_eq!(warned(sums, &[("x", &x)], &options), [""; 0]);
    let x = dense(400_000);
    let [warning] = &warned(sums, &[("x", &x)], &options)[..] else { panic!("one warning") };
    assert!(warning.contains("every combination of i and j"), "what takes minutes: {warning}");
    let (n, each) = (4000u64, 400u64);
    let rows = (0..=n).map(|row| (row * each) as i32).collect();
    let columns = (0..n).flat_map(|_| 0..each as i32).collect();
    let graph = Tensor::csr([n, n], rows, columns, vec![1.0; (n * each) as usize]);
    let graph = graph.expect("valid arrays");
    let triangles = "t = A(i,j) * A(j,k) * A(i,k)";
    assert_eq!(warned(triangles, &[("A", &graph)], &options), [""; 0]);
}
