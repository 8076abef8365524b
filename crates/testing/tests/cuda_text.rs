//! What the text of every kernel of the gallery promises is true.

use std::path::{Path, PathBuf};
use tamis::{Backend, Kernel, Options, Tensor, format, schedule};
use tamis_testing::filetest;
use tamis_testing::functions::bits;
use tamis_testing::random::Random;

/// To NVIDIA's compiler, nobody else writes to what is `__restrict__`, not even where threads wait for
/// each other: a kernel that reads what its threads wrote would read what it knows of it.
#[test]
fn what_threads_hand_on_is_not_restricted() {
    let (mut handed_on, mut promised) = (0, 0);
    for path in gallery() {
        let text = std::fs::read_to_string(&path).unwrap();
        if !text.contains("gpu_") {
            continue;
        }
        for kernel in filetest::stage(&text, "cuda").unwrap().split("extern \"C\"").skip(1) {
            let (head, body) = kernel.split_once(") {\n").unwrap();
            let params = head.split_once('(').unwrap().1;
            for param in params.split(", ").filter(|p| p.contains('*') && !p.contains("const ")) {
                let name = param.rsplit([' ', '*']).next().unwrap();
                let (writes, reads) = uses(body, name);
                let restricted = param.contains("__restrict__");
                let shared = writes > 1 || writes > 0 && reads > 0;
                assert!(!(shared && restricted), "{}: {param} in\n{body}", path.display());
                handed_on += usize::from(shared);
                promised += usize::from(restricted && writes > 0);
            }
        }
    }
    assert!(handed_on >= 20 && promised >= 20, "{handed_on} arrays, {promised} promises");
}

/// Columns of rows on two threads each.
const COLUMNS: &str = "split(i, block, warp, 8); split(k, rest, thread, 2); reorder(block, warp, thread, rest, j); \
                       parallelize(block, gpu_block, no_races); parallelize(warp, gpu_warp, no_races); \
                       parallelize(thread, gpu_thread, no_races)";

/// Sums of fractions have the bits that a processor gives them by the same schedule, however many columns a thread takes together, and
/// equal columns are equal.
#[test]
fn sums_of_columns_have_the_bits_of_processors() {
    if !tamis::has_c_compiler() {
        eprintln!("skipped: there is no C compiler");
        return;
    }
    let mut random = Random::new(5);
    let mut fractions = |count: usize| -> Vec<f64> {
        (0..count).map(|_| (random.below(1 << 20) as f64 - 5e5) / 3e5).collect()
    };
    let (rows, inner) = (12, 40);
    let mut pos = vec![0];
    let mut crd = vec![];
    for row in 0..rows {
        crd.extend((0..inner).filter(|j| (j * 7 + row * 3) % 5 < 1 + row % 4));
        pos.push(crd.len() as i64);
    }
    let crd: Vec<i64> = crd.into_iter().map(|j| j as i64).collect();
    let vals = fractions(crd.len());
    let a = Tensor::csr([rows as u64, inner as u64], pos, crd, vals).unwrap();
    for columns in [3, 6, 7, 33] {
        let column = fractions(inner);
        let same = column.iter().flat_map(|&x| vec![x; columns]).collect();
        let b = Tensor::dense(&[inner as u64, columns as u64], same).unwrap();
        let operands = [("A", &a), ("B", &b)];
        let on = |backend| {
            let mut options = Options { backend, ..Options::default() };
            options.results.insert("C".to_owned(), format::parse("dense", Some(2)).unwrap());
            options.schedule = schedule::parse(COLUMNS).unwrap();
            let text = "C(i,k) = A(i,j) * B(j,k)";
            let kernel = Kernel::compile(text, &operands, &options).unwrap();
            kernel.run(&operands).unwrap().remove(0).1
        };
        let (expected, got) = (on(Backend::Interpreter), on(Backend::CudaEmulated));
        assert_eq!(bits(&got), bits(&expected), "{columns} columns");
        let vals = got.vals().as_slice::<f64>().unwrap();
        for row in vals.chunks(columns) {
            assert!(row.iter().all(|x| x.to_bits() == row[0].to_bits()), "{row:?}");
        }
    }
}

/// How often a text writes to an array, and reads from it; what it updates it does not read.
fn uses(body: &str, name: &str) -> (usize, usize) {
    let (mut writes, mut reads) = (0, 0);
    for line in body.lines() {
        let element = format!("{name}[");
        let is_word =
            |at: usize| !line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let found = line.match_indices(&element).filter(|(at, _)| is_word(*at));
        for (at, _) in found {
            let after = &line[at..];
            let is_target = after.split_once("] = ").is_some_and(|(index, _)| {
                index.matches('[').count() == index.matches(']').count() + 1
            });
            let begins = line[..at].trim_end();
            let is_statement = begins.is_empty() || begins.ends_with(')') || begins.ends_with('{');
            match is_target && is_statement {
                true => writes += 1,
                false => reads += usize::from(!line[..at].ends_with('&')),
            }
        }
    }
    (writes, reads)
}

fn gallery() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/gallery");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}
