//! Element types over their whole range, on every backend.

use std::collections::BTreeMap;
use tamis::{Backend, Coordinates, DataType, Duplicates, F16, Kernel, Options, Tensor, Values};

/// What a program computes last, as the scalars of the dense result.
fn run(text: &str, operands: &[(&str, &Tensor)], wanted: Option<DataType>) -> Vec<Vec<String>> {
    let mut all = vec![];
    for backend in [Backend::Jit, Backend::Interpreter, Backend::C] {
        if backend == Backend::C && !tamis::has_c_compiler() {
            continue;
        }
        let options = Options { backend, datatype: wanted, ..Options::default() };
        let kernel = Kernel::compile(text, operands, &options).unwrap_or_else(|d| panic!("{d}"));
        let values = match kernel.run(operands) {
            Ok(results) => {
                let vals = results.last().expect("a result").1.vals().clone();
                (0..vals.len()).map(|k| vals.get(k).to_string()).collect()
            }
            Err(d) => vec![d.code.name().to_owned()],
        };
        all.push(values);
    }
    all
}

fn check(text: &str, operands: &[(&str, &Tensor)], wanted: Option<DataType>, expected: &str) {
    let expected: Vec<&str> = expected.split(' ').collect();
    for values in run(text, operands, wanted) {
        assert_eq!(values, expected, "{text}");
    }
}

#[test]
fn integers_of_64_bit_without_sign_keep_them_all() {
    let most = u64::MAX;
    let a = Tensor::dense(&[4], vec![most, 1 << 63, 7, 0]).expect("valid arrays");
    let b = Tensor::dense(&[4], vec![1 << 63, 3, most, 5]).expect("valid arrays");
    let check = |text: &str, expected: &str| {
        let mut operands = vec![("a", &a), ("b", &b)];
        operands.retain(|(name, _)| text.contains(&format!("{name}(")));
        check(text, &operands, None, expected);
    };
    check("r(i) = a(i) / 2", "9223372036854775807 4611686018427387904 3 0");
    check("r(i) = mod(a(i), b(i))", "9223372036854775807 2 7 0");
    check(
        "r(i) = max(a(i), b(i))",
        "18446744073709551615 9223372036854775808 18446744073709551615 5",
    );
    check("r(i) = min(a(i), b(i))", "9223372036854775808 3 7 0");
    check("r(i) = a(i) > b(i)", "1 1 0 0");
    check("r(i) = a(i) + b(i)", "9223372036854775807 9223372036854775811 6 5");
    check("r(i) = max(a(i), -1)", "18446744073709551615 9223372036854775808 7 0");
    check("r(i) = max(-3, a(i)) > -1", "1 1 1 1");
    check("r = max(i, a(i))", "18446744073709551615");
    check("r = a(i)", "9223372036854775814");
    check("r(i) = a(i) == 18446744073709551615", "1 0 0 0");
    check("r(i) = a(i) * 0.5", "9.223372036854776e18 4.611686018427388e18 3.5 0.0");
}

#[test]
fn integers_of_another_sign_are_checked_to_fit() {
    let a = Tensor::dense(&[2], vec![1u64 << 62, 9]).expect("valid arrays");
    let b = Tensor::dense(&[2], vec![u64::MAX, 9]).expect("valid arrays");
    let c = Tensor::dense(&[2], vec![-1i64, 9]).expect("valid arrays");
    check("r(i) = a(i)", &[("a", &a)], Some(DataType::I64), "4611686018427387904 9");
    check("r(i) = b(i)", &[("b", &b)], Some(DataType::I64), "integer-overflow");
    check("r(i) = c(i)", &[("c", &c)], Some(DataType::U64), "integer-overflow");
    check("r(i) = c(i) + 1", &[("c", &c)], Some(DataType::U64), "0 10");
    check("r(i) = c(i) / 2.0", &[("c", &c)], Some(DataType::U8), "0 4");
}

#[test]
fn narrow_integers_compute_in_64_bit_and_are_checked_to_fit() {
    let a = Tensor::dense(&[2], vec![-128i8, 127]).expect("valid arrays");
    let b = Tensor::dense(&[2], vec![200u8, 100]).expect("valid arrays");
    check("r(i) = a(i) * b(i)", &[("a", &a), ("b", &b)], None, "-25600 12700");
    check("r = a(i) * a(i) / 250", &[("a", &a)], None, "integer-overflow");
    check("r(i) = b(i) + b(i)", &[("b", &b)], None, "integer-overflow");
    check("r(i) = b(i) - 100", &[("b", &b)], None, "100 0");
}

/// A total that fits is given, whatever the order of its terms; one that leaves 64 bits is refused, also where it
/// wraps to a number that fits.
#[test]
fn sums_of_narrow_integers_are_tested_by_their_totals() {
    let (least, most) = (i32::MIN, i32::MAX);
    let signed = [
        // 2^64, and 2^64 + 2^32.
        (vec![least; 4], vec![least; 4], "integer-overflow"),
        (vec![least; 6], vec![least, least, least, least, -1, -1], "integer-overflow"),
        // The first two terms are 2^63.
        (vec![least, least, least, least, 7, 2], vec![least, least, most, most, 1, least], "7"),
        (vec![least, least, 3], vec![1, -1, 5], "15"),
    ];
    for (a, b, expected) in signed {
        let [a, b] = [a, b].map(|x| Tensor::dense(&[x.len() as u64], x).expect("valid arrays"));
        check("r = a(i) * b(i)", &[("a", &a), ("b", &b)], None, expected);
    }
    for count in [2, 8] {
        let vals = vec![u64::MAX / count + 1; count as usize];
        let a = Tensor::dense(&[count], vals).expect("valid arrays");
        check("r = a(i)", &[("a", &a)], Some(DataType::U32), "integer-overflow");
    }
    let a = Tensor::dense(&[3], vec![1u64 << 31, (1 << 31) - 1, 0]).expect("valid arrays");
    check("r = a(i)", &[("a", &a)], Some(DataType::U32), "4294967295");
}

/// By NumPy; a divisor without an entry is `0+0j`, too.
#[test]
fn quotients_by_complex_zeros_are_those_of_complex_numbers() {
    let a = Tensor::dense(&[3], vec![1.0, -2.0, 6.0]).expect("valid arrays");
    let vals = Values::C128(vec![[0.0, 2.0]]);
    let list = Coordinates::new(vec![3], vec![vec![1]], vals).expect("a list");
    for text in ["dense{c128}", "sparse{c128}"] {
        let spec = tamis::format::parse(text, Some(1)).expect("a format");
        let storage = spec.resolve(DataType::C128).expect("a storage");
        let z = tamis::pack(&list, &storage, Duplicates::Refuse).expect("a tensor");
        check("r(i) = a(i) / z(i)", &[("a", &a), ("z", &z)], None, "inf+nanj 0.0+1.0j inf+nanj");
    }
}

#[test]
fn floats_of_16_bits_sum_in_32_and_round_where_they_are_stored() {
    let halves =
        |v: &[f32]| Tensor::dense(&[v.len() as u64], v.iter().map(|&x| F16::from(x)).collect());
    let a = halves(&[2048.0, 1.0, 1.0, 0.1]).expect("valid arrays");
    check("r = a(i)", &[("a", &a)], None, "2050.0");
    check("r(i) = a(i) * 40.0", &[("a", &a)], None, "inf 40.0 40.0 4.0");
    check(
        "r(i) = a(i) / 3",
        &[("a", &a)],
        Some(DataType::F32),
        "682.6667 0.33333334 0.33333334 0.033325195",
    );
    check(
        "r(i) = a(i) / 3",
        &[("a", &a)],
        Some(DataType::Bf16),
        "684.0 0.33398438 0.33398438 0.033203125",
    );
}

/// Functions of complex numbers, as code and of constants.
#[test]
fn complex_numbers_have_elementary_functions() {
    let z = [[0.5f64, -1.25], [-4.0, 0.0], [0.0, 0.0], [3.0, 2.0]];
    let tensor = Tensor::dense(&[4], z.to_vec()).expect("valid arrays");
    let one = Tensor::dense(&[1], vec![z[0]]).expect("valid arrays");
    for f in ["exp", "log", "log10", "sqrt", "sin", "cos", "sinh", "cosh"] {
        let text = format!("r(i) = abs({f}(0.5 - 1.25j) - {f}(z(i))) < 1e-15");
        check(&text, &[("z", &one)], None, "1.0");
    }
    // Identities with operators that are checked elsewhere.
    for text in [
        "r(i) = abs(square(sqrt(z(i))) - z(i)) < 1e-14",
        "r(i) = abs(exp(z(i)) - (cosh(z(i)) + sinh(z(i)))) < 1e-13",
        "r(i) = abs(exp(1j * z(i)) - (cos(z(i)) + 1j * sin(z(i)))) < 1e-13",
        "r(i) = or(abs(exp(log(z(i))) - z(i)) < 1e-14, z(i) == 0)",
        "r(i) = or(abs(log10(z(i)) * log(10) - log(z(i))) < 1e-14, z(i) == 0)",
        "r(i) = real(sqrt(z(i))) >= 0",
        "r(i) = abs(exp(z(i)) / exp(conj(z(i))) - exp(2j * imag(z(i)))) < 1e-14",
    ] {
        for values in run(text, &[("z", &tensor)], None) {
            assert_eq!(values, ["1.0"; 4], "{text}");
        }
    }
}

/// A fill value is 0 as a factor, also of a fill value that is not a number.
#[test]
fn nothing_times_nothing_is_nothing_whatever_it_is_filled_with() {
    let stored = |format: &str, dims: &[u64], crds: Vec<Vec<u64>>, vals: Vec<f64>| {
        let list =
            Coordinates::new(dims.to_vec(), crds, Values::F64(vals)).expect("a list of entries");
        let spec = tamis::format::parse(format, Some(dims.len()));
        let storage = spec.and_then(|spec| spec.resolve(DataType::F64));
        let packed = storage.and_then(|s| tamis::pack(&list, &s, Duplicates::Refuse));
        packed.unwrap_or_else(|d| panic!("{d}"))
    };
    for fill in ["nan", "inf"] {
        for rows in ["csr", "csc", "dcsr", "coo", "dok"] {
            let crds = vec![vec![0, 0, 1, 1], vec![0, 1, 0, 1]];
            let format = format!("{rows}{{fill: {fill}}}");
            let a = stored(&format, &[3, 2], crds, vec![1.0, 2.0, 3.0, 4.0]);
            for vector in ["sparse", "hash", "bitmap"] {
                let x = stored(vector, &[2], vec![vec![1]], vec![5.0]);
                let operands = [("A", &a), ("x", &x)];
                let product = format!("10.0 20.0 {fill}");
                check("t(i) = A(i,j) * x(j); y(i) = t(i) + 0 * i", &operands, None, &product);
                check("s = sum(i, sum(j, A(i,j) * x(j) * 0))", &operands, None, "0.0");
            }
        }
    }
}

/// The type of a result is that of its operands, in whatever format these are sliced.
#[test]
fn types_of_slices_do_not_depend_on_formats() {
    for datatype in [DataType::Bool, DataType::I8, DataType::F16, DataType::F64] {
        for format in ["csr", "dense", "bcsr(2,3)", "dia", "csb(2,2)"] {
            let crds = vec![vec![0, 1, 1, 5], vec![2, 0, 4, 6]];
            let list = Coordinates::new(vec![6, 8], crds, Values::F64(vec![1.0, 0.0, 1.0, 1.0]))
                .expect("a list of entries");
            let storage = tamis::format::parse(format, Some(2)).expect("a format");
            let storage = storage.resolve(datatype).expect("a storage");
            let e = tamis::pack(&list, &storage, Duplicates::Sum).expect("a tensor");
            for text in [
                "C(i,j) = E(i,j[0:8:2])",
                "C(i,j[0:4]) = E(i,j[0:8:2]); C(i,j[4:8]) = E(i,j[1:8:2])",
            ] {
                let mut options = Options::default();
                options.dims.insert("j".to_owned(), 4);
                options
                    .shapes
                    .insert("C".to_owned(), vec![6, if text.contains(';') { 8 } else { 4 }]);
                let kernel = Kernel::compile(text, &[("E", &e)], &options);
                let results = kernel.and_then(|kernel| kernel.run(&[("E", &e)]));
                let results = results.unwrap_or_else(|d| panic!("{text} {format}: {d}"));
                let (_, c) = results.last().expect("a result");
                assert_eq!(c.vals().datatype(), datatype, "{text} {format}");
            }
        }
    }
}

#[test]
fn what_becomes_16_bits_is_rounded_once() {
    // A little more than halfway between two floats of 16 bits, which an `f32` does not tell from halfway.
    let (half, brain) = (2f64.powi(-20), 2f64.powi(-30));
    let terms = Tensor::dense(&[2, 3], vec![396.0, 0.125, half, 1.0, 0.00390625, brain]);
    let terms = terms.expect("valid arrays");
    let halves = Tensor::dense(&[2], vec![396.125 + half, 1.0]).expect("valid arrays");
    let brains = Tensor::dense(&[2], vec![1.0 + 0.00390625 + brain, -3.0]).expect("valid arrays");
    let (f16, bf16) = (Some(DataType::F16), Some(DataType::Bf16));
    check("r(i) = A(i,j)", &[("A", &terms)], f16, "396.25 1.0039063");
    check("r(i) = A(i,j)", &[("A", &terms)], bf16, "396.0 1.0078125");
    check("r(i) = a(i)", &[("a", &halves)], f16, "396.25 1.0");
    check("r(i) = a(i) + 0 * b(i)", &[("a", &halves), ("b", &halves)], f16, "396.25 1.0");
    check("r(i) = a(i)", &[("a", &brains)], bf16, "1.0078125 -3.0");
    let single = 2f64.powi(-24);
    for (terms, datatype, expected) in [
        (vec![396.125 + half], DataType::F16, 396.25),
        (vec![396.0, 0.125, half], DataType::F16, 396.25),
        (vec![1.00390625 + brain], DataType::Bf16, 1.0078125),
        (vec![1.0 + single * 0.999, single * 0.002], DataType::F32, 1.0 + 2.0 * single),
    ] {
        let crds = vec![vec![0; terms.len()]];
        let list = Coordinates::new(vec![1], crds, Values::F64(terms));
        let storage = tamis::format::parse("dense", Some(1)).and_then(|f| f.resolve(datatype));
        let storage = storage.expect("a storage");
        let packed = tamis::pack(&list.expect("a list"), &storage, Duplicates::Sum);
        assert_eq!(packed.expect("a tensor").vals().get(0).as_f64(), expected);
    }
    let terms = vec![[1.0 + single * 0.999, 4.0], [single * 0.002, 1.0]];
    let crds = vec![vec![1, 1]];
    let list = Coordinates::new(vec![2], crds, Values::C128(terms)).expect("a list");
    let storage = tamis::format::parse("sparse", Some(1)).and_then(|f| f.resolve(DataType::C64));
    let packed = tamis::pack(&list, &storage.expect("a storage"), Duplicates::Sum);
    let [re, im] = packed.expect("a tensor").vals().get(0).parts().map(tamis::Scalar::as_f64);
    assert_eq!((re, im), (1.0 + 2.0 * single, 5.0));
}

#[test]
fn coordinates_have_a_sign_whatever_the_result_is() {
    for (text, expected) in [
        ("r(i) = max(1 - i, 0)", "1 0 0"),
        ("r(i) = abs(i - 2)", "2 1 0"),
        ("r(i) = (i - 3) / 2 + 5", "4 4 5"),
        ("r(i) = mod(i - 2, 3)", "1 2 0"),
        ("r(i) = i - 1", "integer-overflow"),
        ("r(i) = abs(2 - 5)", "3 3 3"),
        (
            "r(i) = 18446744073709551615 - i",
            "18446744073709551615 18446744073709551614 18446744073709551613",
        ),
    ] {
        for backend in [Backend::Jit, Backend::Interpreter] {
            let dims = BTreeMap::from([("i".to_owned(), 3)]);
            let datatype = Some(DataType::U64);
            let options = Options { backend, datatype, dims, ..Options::default() };
            let kernel = Kernel::compile(text, &[], &options).unwrap_or_else(|d| panic!("{d}"));
            let values: Vec<String> = match kernel.run(&[]) {
                Ok(results) => {
                    let vals = results[0].1.vals();
                    (0..vals.len()).map(|k| vals.get(k).to_string()).collect()
                }
                Err(d) => vec![d.code.name().to_owned()],
            };
            assert_eq!(values.join(" "), expected, "{text}");
        }
    }
}

#[test]
fn functions_of_large_numbers_do_not_leave_the_type_on_the_way() {
    let a = Tensor::dense(&[3], vec![1e308, -1.5e308, 1e9]).expect("valid arrays");
    let b = Tensor::dense(&[2], vec![3e38f32, 1e9]).expect("valid arrays");
    let expected = "709.889355822726 -710.2948209308341 21.416413017506358";
    check("r(i) = asinh(a(i))", &[("a", &a)], None, expected);
    check("r(i) = acosh(abs(a(i)))", &[("a", &a)], None, &expected.replace('-', ""));
    check("r(i) = asinh(b(i))", &[("b", &b)], None, "89.28999 21.416412");
    check("r(i) = acosh(b(i))", &[("b", &b)], None, "89.28999 21.416412");
}

#[test]
fn fractions_below_the_least_integer_lose_them() {
    let byte = Tensor::dense(&[2], vec![-128.9, 127.9]).expect("valid arrays");
    let word = Tensor::dense(&[1], vec![-2147483648.9]).expect("valid arrays");
    let single = Tensor::dense(&[1], vec![-2147483648f32]).expect("valid arrays");
    check("r(i) = a(i)", &[("a", &byte)], Some(DataType::I8), "-128 127");
    check("r(i) = a(i)", &[("a", &word)], Some(DataType::I32), "-2147483648");
    check("r(i) = a(i) - 1", &[("a", &word)], Some(DataType::I32), "integer-overflow");
    check("r(i) = a(i)", &[("a", &single)], Some(DataType::I32), "-2147483648");
    check("r(i) = a(i) - 0.2", &[("a", &byte)], Some(DataType::I8), "integer-overflow");
    check("r(i) = a(i) + 0.9", &[("a", &byte)], Some(DataType::U8), "integer-overflow");
}
