//! What the pass makes of small functions, the rules by evaluation, and random functions.

use super::rules::{Gives, IDENTITIES, On, Special};
use super::simplify;
use crate::algebra::eval;
use crate::datatype::{Register, Scalar};
use crate::ir::parse::parse;
use crate::transform::{Target, random};

const HEAD: &str = "fn f(n: i64, A: in [f64], t: in [bool], y: out [f64], z: out [i64]) {\n";
const VARS: &str = "  var i, j, k, m: i64\n  var s, r: f64\n  var c: bool\n";

/// Expects statements to become other statements.
fn check(body: &str, expect: &str) {
    let function = parse(&format!("{HEAD}{VARS}{body}\n}}\n")).unwrap_or_else(|d| panic!("{d}"));
    let text = simplify(function).to_string();
    let lines = text.lines().skip(1).filter(|l| !l.starts_with("  var"));
    let lines: Vec<&str> = lines.map(|l| l.strip_prefix("  ").unwrap_or(l)).collect();
    assert_eq!(lines[..lines.len() - 1].join("\n"), expect);
}

/// Expects an integer expression to become another one.
fn int(e: &str, expect: &str) {
    check(&format!("z[0] = {e}"), &format!("z[0] = {expect}"));
}

/// Expects a floating-point expression to become another one.
fn float(e: &str, expect: &str) {
    check(&format!("y[0] = {e}"), &format!("y[0] = {expect}"));
}

/// Expects a truth value to become another one.
fn truth(e: &str, expect: &str) {
    int(&format!("i64({e})"), &format!("i64({expect})"));
}

#[test]
fn constants_are_folded() {
    int("2 + 3 * 4", "14");
    int("mod(-7, 4) - 7 / 2", "-2");
    int("9223372036854775807 + 1", "-9223372036854775808");
    int("1 / 0 + min(2, 3)", "2");
    int("i64(2.9) + i64(1 < 2)", "3");
    float("0.1 + 0.2", "0.30000000000000004");
    float("1.0 / 0.0", "inf");
    float("f64(3) * -0.0", "-0.0");
    float("select(1.0 < 2.0, A[0], A[1])", "A[0]");
    // What a machine makes of these bits is not known here.
    float("0.0 / 0.0", "0.0 / 0.0");
    float("sin(1.0)", "sin(1.0)");
}

#[test]
fn integers_follow_their_identities() {
    int("(n + 0) * 1 - 0 + 0 * n", "n");
    int("n + 1 + 2 - 3", "n");
    int("n + 1 - 3", "n - 2");
    int("n - n + mod(n, 1) + n / 1", "n");
    int("-(-n)", "n");
    int("i64(bool(n))", "i64(bool(n))");
    int("i64(bool(t[n]))", "t[n]");
    int("select(n < 1, n, n)", "n");
}

#[test]
fn floats_keep_their_bits() {
    float("A[0] * 1.0 / 1.0 - 0.0 + -0.0", "A[0]");
    float("-(-A[0])", "A[0]");
    for kept in ["A[0] + 0.0", "A[0] * 0.0", "A[0] - A[0]", "0.0 - A[0]", "A[0] / A[0]"] {
        float(kept, kept);
    }
    truth("A[0] == A[0]", "A[0] == A[0]");
}

#[test]
fn truth_values_follow_their_identities() {
    truth("n < 1 && true", "n < 1");
    truth("or(n < 1, false)", "n < 1");
    truth("not(not(n < 1))", "n < 1");
    truth("(n < 1) == true", "n < 1");
    truth("bool(i64(n < 1))", "n < 1");
    int("i64(n < 1 && n != n)", "0");
    int("i64(and(n < 1, n < 1 && 2 < 1))", "0");
}

#[test]
fn copies_and_constants_are_carried() {
    check("i = n\nj = i\nz[j] = i + j", "z[n] = n + n");
    check("i = 2\nk = i * 3\nz[0] = k", "z[0] = 6");
    let changed = "k = z[0]\nj = k\nk = z[1]\nz[0] = j - k";
    check(changed, changed);
    check("if n < 1 {\n  i = 4\n} else {\n  i = 4\n}\nz[0] = i", "z[0] = 4");
    let merged = "if n < 1 {\n  i = 4\n} else {\n  i = 5\n}\nz[0] = i";
    check(merged, merged);
    check(
        "i = 4\nif n < 1 {\n  i = 5\n  fail ok\n}\nz[0] = i",
        "if n < 1 {\n  fail ok\n}\nz[0] = 4",
    );
    let counted = "i = 0\nwhile i < n {\n  z[i] = i\n  i = i + 1\n}";
    check(counted, counted);
    check("i = n\nfor j in 0..i {\n  z[j] = i\n}", "for j in 0..n {\n  z[j] = n\n}");
}

#[test]
fn known_floats_keep_their_names_in_sums() {
    let sum = "s = 0.0\nr = s + A[0]\ny[0] = r\ny[1] = r";
    check(sum, sum);
    check(
        "s = 1.0\nr = s * A[0]\ny[0] = r + s\ny[1] = s",
        "s = 1.0\nr = A[0]\ny[0] = r + s\ny[1] = 1.0",
    );
}

#[test]
fn statements_without_effect_are_removed() {
    check("i = n\ni = 3\nz[0] = 1", "z[0] = 1");
    check("i = z[0]\nj = i\nk = j + 1", "");
    check("for i in 0..n {\n  j = i\n}\nif n < 2 {\n  j = 1\n}", "");
    check("for i in 3..3 {\n  z[i] = 1\n}\nfor i in n..n {\n  z[i] = 1\n}", "");
    check("i = 0\nwhile i < 0 {\n  z[i] = 1\n  i = i + 1\n}\nz[0] = i", "z[0] = 0");
    check(
        "while 1 < 0 {\n  z[0] = 1\n}\nif 0 < 1 {\n  z[0] = 2\n} else {\n  z[0] = 3\n}",
        "z[0] = 2",
    );
    check("fail ok\nz[0] = 1", "fail ok");
    // A loop that does nothing may yet never end.
    check("while n < 1 {\n  i = 0\n}", "while n < 1 {\n}");
    // What the next run of the body reads is needed.
    let carried = "i = 0\nfor j in 0..n {\n  z[j] = i\n  i = j\n}";
    check(carried, carried);
}

#[test]
fn identities_hold_by_evaluation() {
    let numbers = [0.0, -0.0, 1.0, -1.0, 0.1, 1e300, 5e-324, f64::INFINITY, f64::NEG_INFINITY];
    let integers = [0, 1, -1, 7, i64::MAX, i64::MIN];
    for (op, on, special, gives) in IDENTITIES {
        let mut values: Vec<Scalar> = vec![];
        if on == On::Truth {
            values.extend([true, false].map(Scalar::Bool));
        } else {
            if on != On::Unsigned {
                values.extend(integers.map(Scalar::I64));
            }
            values.extend(integers.map(|x| Scalar::U64(x as u64)));
        }
        if on == On::Numbers {
            values.extend(numbers.map(Scalar::F64));
            values.extend(numbers.map(|x| Scalar::F32(x as f32)));
        }
        for x in values {
            let constant = |c: f64| Scalar::F64(c).convert(x.register());
            let value = match special {
                Special::Left(c) => eval::binary(op, constant(c), x),
                Special::Right(c) => eval::binary(op, x, constant(c)),
                Special::Same => eval::binary(op, x, x),
            };
            let register = if op.is_logical() { Register::Bool } else { x.register() };
            let expect = match gives {
                Gives::Other => x,
                Gives::Constant(c) => Scalar::F64(c).convert(register),
            };
            assert_eq!(value, expect, "{op:?} of {x}");
        }
    }
}

#[test]
fn random_functions_stay_the_same() {
    random::check(|f, _| simplify(f), Target::SCALAR, 5000);
}
