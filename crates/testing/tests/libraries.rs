//! Programs as libraries compute what kernels do.

use tamis::temporary::Temporary;
use tamis::{Program, Tensor};
use tamis_ir::algebra::{BinaryOp, UnaryOp};
use tamis_ir::ir::Status;
use tamis_testing::case::Case;
use tamis_testing::filetest;
use tamis_testing::libraries::{Sample, drawn, has_c_compilers, wrong_in_c, wrong_in_rust};
use tamis_testing::random::Random;
use tamis_testing::standalone;

#[test]
fn random_programs_are_right_as_libraries_in_c_and_rust() {
    are_right(&drawn(&mut Random::new(41), 40));
}

/// Each function and operator of each type of numbers that is computed in has a text that compiles.
#[test]
fn every_function_is_right_as_a_library() {
    let functions =
        UnaryOp::ALL.into_iter().filter(|op| op.name().starts_with(char::is_alphabetic));
    let calls = functions.map(|op| format!("{}(A(i))", op.name()));
    let operators = BinaryOp::ALL.into_iter().map(|op| match op.name() {
        name if name.starts_with(char::is_alphabetic) => format!("{name}(A(i), B(i))"),
        sign => format!("A(i) {sign} B(i)"),
    });
    let (mut samples, mut missing) = (vec![], vec![]);
    for value in calls.chain(operators).chain(["-A(i)".to_owned(), "not(A(i))".to_owned()]) {
        let before = samples.len();
        for datatype in ["f64", "f32", "i64", "u64"] {
            for numbers in [[1.0, 2.0, 3.0], [0.5, 0.25, 0.75], [0.0, 1.0, 1.0]] {
                let case = of_vectors(&value, datatype, numbers);
                let name = format!("case_{}", samples.len());
                // What has no value in real numbers, or is not defined for a type, is left out.
                if let Ok(Some(sample)) = Sample::of(&case, &name) {
                    samples.push((name, sample));
                    break;
                }
            }
        }
        if samples.len() == before {
            missing.push(value);
        }
    }
    assert_eq!(missing, Vec::<String>::new());
    are_right(&samples);
}

/// Libraries refuse dimensions that break what their schedule promises, as calls do, and take others.
#[test]
fn libraries_refuse_what_breaks_a_promise() {
    for (schedule, kept, broken) in [
        ("bound(j, jb, 4, max_exact)", 4, 5),
        ("bound(j, jb, 4, max_constraint)", 3, 5),
        ("split(j, j0, j1, 4); bound(j1, jb, 4, max_exact)", 8, 6),
        ("split(j, j0, j1, 4); bound(j0, jb, 2, max_exact)", 8, 9),
    ] {
        let kernel = Program::parse("y(i) = A(i,j)").and_then(|p| p.schedule(schedule)?.compile());
        let kernel = kernel.unwrap_or_else(|told| panic!("{told}"));
        for (columns, is_kept) in [(kept, true), (broken, false)] {
            let a = Tensor::dense(&[2, columns], vec![1.5; 2 * columns as usize]);
            let operands = [("A", &a.expect("a matrix"))];
            let called = kernel.run(&operands);
            assert_eq!(called.is_ok(), is_kept, "{schedule} of {columns}");
            let results = called.unwrap_or_default();
            let told = standalone::difference(&kernel, &operands, &results).expect("a function");
            let ended = format!("it ended with {}", Status::Dimensions.name());
            assert_eq!(told, (!is_kept).then_some(ended), "{schedule} of {columns}");
        }
    }
}

/// Loops on threads, for each way in which parts make up a result: the same bits on any number of threads.
#[test]
fn loops_on_threads_are_right_as_libraries() {
    let mut samples = vec![];
    let mut refused = vec![];
    for (formats, text, schedule) in on_threads().into_iter().chain(rows_on_threads()) {
        let name = format!("case_{}", samples.len());
        let case = threaded(&formats, text, &schedule);
        match Sample::of(&case, &name) {
            Ok(Some(sample)) => samples.push((name, sample)),
            Ok(None) => refused.push(format!("{schedule}: no numbers")),
            Err(why) => refused.push(why.to_string()),
        }
    }
    assert_eq!(refused, Vec::<String>::new());
    are_right(&samples);
}

/// Formats, statements and schedules with a loop on threads.
fn on_threads() -> Vec<(String, &'static str, String)> {
    let spmv = "y(i) = A(i,j) * x(j)";
    let by_positions = "fuse(i, j, f); pos(f, p, A); split(p, p0, p1, 3)";
    let rows = |format: &str| format!("A: {format}\nx: dense\ny: dense\n");
    let product = |result: &str| format!("A: csr\nB: csr\nC: {result}\n");
    vec![
        (rows("csr"), spmv, "parallelize(i, cpu_thread, no_races)".to_owned()),
        (rows("dcsr"), spmv, "parallelize(i, cpu_thread, no_races)".to_owned()),
        (rows("coo"), spmv, "parallelize(i, cpu_thread, no_races)".to_owned()),
        (rows("csc"), spmv, "reorder(j, i); parallelize(j, cpu_thread, temporary)".to_owned()),
        (rows("csr"), spmv, format!("{by_positions}; parallelize(p0, cpu_thread, atomics)")),
        (rows("dcsr"), spmv, format!("{by_positions}; parallelize(p0, cpu_thread, temporary)")),
        (rows("csr{c128}"), spmv, "parallelize(i, cpu_thread, no_races)".to_owned()),
        (rows("csc{c128}"), spmv, "reorder(j, i); parallelize(j, cpu_thread, atomics)".to_owned()),
        (rows("csr"), spmv, "parallelize(j, cpu_thread, parallel_reduction)".to_owned()),
        (
            rows("csr"),
            "y(i) = min(j, A(i,j) * x(j))",
            "reorder(j, i); parallelize(j, cpu_thread, temporary)".to_owned(),
        ),
        (
            "A: csr{i32}\nx: dense{i32}\ny: dense{i32}\n".to_owned(),
            spmv,
            "parallelize(i, cpu_thread, no_races)".to_owned(),
        ),
        (
            "A: csr\nx: dense\n".to_owned(),
            "s = A(i,j) * x(j)",
            "parallelize(i, cpu_thread, parallel_reduction)".to_owned(),
        ),
        (
            product("dense"),
            "C(i,j) = A(i,k) * B(k,j)",
            "precompute(A(i,k) * B(k,j), j, jw, w); parallelize(i, cpu_thread, no_races)"
                .to_owned(),
        ),
        (
            product("csr"),
            "C(i,j) = A(i,k) * B(k,j)",
            "parallelize(i, cpu_thread, no_races)".to_owned(),
        ),
        (
            product("(i, j) -> (i/2: dense, i%2: dense, j/2: dense, j%2: dense)"),
            "C(i,j) = A(i,k) * B(k,j)",
            "reorder(k, i, j); parallelize(k, cpu_thread, temporary)".to_owned(),
        ),
        (
            "A: dense\nB: dense\nC: dense\n".to_owned(),
            "C(i,j) = A(i,k) * B(k,j)",
            "reorder(k, i, j); parallelize(i, cpu_thread, no_races)".to_owned(),
        ),
    ]
}

/// Loops over rows on threads, whose results follow each other or are packed, or that need functions.
fn rows_on_threads() -> impl Iterator<Item = (String, &'static str, String)> {
    let sum = "C(i,j) = A(i,j) + B(i,j)";
    let of = |formats: &str, text, row| {
        (formats.to_owned(), text, format!("parallelize({row}, cpu_thread, no_races)"))
    };
    let rows = ["dcsr", "coo", "csr{c128}", "csr{pos: i64}", "(i, j) -> (i: dense, j: bitmap)"];
    let sums = rows.into_iter().map(move |c| of(&format!("A: csr\nB: csr\nC: {c}\n"), sum, "i"));
    let others = [
        of("A: csr\nB: csr\nC: csr\n", "C(i,j) = A(i,j) * B(i,j)", "i"),
        of("A: csr\nB: csr\nC: bcsr(2,2)\n", sum, "i0"),
        of("A: csr\nx: dense\ny: dense\n", "y(i) = A(i,j) * exp(x(j))", "i"),
    ];
    sums.chain(others)
}

/// A program of matrices of 11 x 11 and vectors, one row of the first of which has no entries.
fn threaded(formats: &str, text: &str, schedule: &str) -> Case {
    let mut values = String::new();
    for name in ["A", "B", "x"].into_iter().filter(|name| formats.contains(&format!("{name}: "))) {
        let dims = if name == "x" { "11" } else { "11x11" };
        values += &format!("{name} {dims} =");
        for k in 0..if name == "x" { 11 } else { 121 } {
            let (i, j) = (k / 11, k % 11);
            match name {
                "x" => values += &format!(" ({k}):{}", 1 + k % 4),
                _ if (i * 7 + j * j) % 3 == 0 && i != 4 => {
                    values += &format!(" ({i},{j}):{}", 1 + (k * 5) % 9);
                }
                _ => {}
            }
        }
        values += "\n";
    }
    let text = format!("# x\n{formats}{text}\nschedule: {schedule}\n---- run\n{values}");
    filetest::cases(&text).expect("a filetest").remove(0)
}

/// A value of two vectors, one of which is sparse, as a program.
fn of_vectors(value: &str, datatype: &str, [x, y, z]: [f64; 3]) -> Case {
    let names = ["A", "B"].into_iter().filter(|name| value.contains(name));
    let formats = names.clone().zip(["dense", "sparse"]);
    let formats = formats.map(|(name, format)| format!("{name}: {format}{{{datatype}}}\n"));
    let values = names.map(|name| format!("{name} 3 = (0):{x} (1):{y} (2):{z}\n"));
    let (formats, values) = (formats.collect::<String>(), values.collect::<String>());
    let text = format!("# x\n{formats}R(i) = {value}\n---- run\n{values}");
    filetest::cases(&text).expect("a filetest").remove(0)
}

/// Builds and runs libraries.
fn are_right(samples: &[(String, Sample)]) {
    let folder = Temporary::folder(&std::env::temp_dir()).expect("there is room for a folder");
    if has_c_compilers() {
        assert_eq!(wrong_in_c(samples, folder.path()), Vec::<String>::new());
    }
    assert_eq!(wrong_in_rust(samples, folder.path()), Vec::<String>::new());
}
