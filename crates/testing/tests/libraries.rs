//! Programs as libraries compute what kernels do.

use tamis::temporary::Temporary;
use tamis_ir::algebra::{BinaryOp, UnaryOp};
use tamis_testing::case::Case;
use tamis_testing::filetest;
use tamis_testing::libraries::{Sample, drawn, has_c_compilers, wrong_in_c, wrong_in_rust};
use tamis_testing::random::Random;

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
