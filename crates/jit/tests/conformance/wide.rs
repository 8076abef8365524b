//! Loops with wide vectors, which have code of our own where the processor can: against the
//! interpreter, and against vectors of 128 bits. `TAMIS_CPU` names the level: vectors of its width must have such code.

use crate::harness::check;
use tamis_ir::datatype::{DataType, Scalar};
use tamis_ir::interpret::{Argument, Buffer};
use tamis_ir::ir::Function;
use tamis_ir::ir::parse::parse;
use tamis_ir::ir::verify::verify;
use tamis_runtime::processor;

const HEAD: &str = "fn f(n: i64, m: i64, x: f64, pos: in [i32], A: in [f64], F: in [f32], \
                    y: shared streamed [f64], z: shared streamed [f32], c: shared [i64], r: result [f64]) {\n  \
                    var i, j, k, p, q: i64\n  var b: bool\n  var s, t: f64\n  var u: f32\n  \
                    var v, w: f64x8\n  var g: f32x16\n  var h: f32x8\n";

const SIZE: i64 = 200;

/// A body that is written for vectors of 512 bits, with those of `lanes` doubles.
fn read(body: &str, lanes: usize) -> Function {
    let mut text = format!("{HEAD}{body}\n}}\n");
    let forms = ["f64x#", "f32x#", "; #]", ", #)", "step # "];
    // The wide ones first: what is made of them must not be found again.
    for form in forms {
        text = text.replace(&form.replace('#', "16"), &form.replace('#', "double"));
    }
    for form in forms {
        text = text.replace(&form.replace('#', "8"), &form.replace('#', &lanes.to_string()));
    }
    for form in forms {
        let double = (2 * lanes).to_string();
        text = text.replace(&form.replace('#', "double"), &form.replace('#', &double));
    }
    let function = parse(&text).unwrap_or_else(|d| panic!("{d}"));
    verify(&function).unwrap_or_else(|d| panic!("{d}"));
    let level = processor::level().expect("a level of this machine");
    if level.vector_bytes() == 8 * lanes {
        let taken = tamis_jit::compile_suited(&[&function]).unwrap_or_else(|d| panic!("{d}"));
        assert!(taken.is_some(), "{function}");
    }
    function
}

/// Runs a body for several sizes, with vectors of 512 bits and of 256.
fn run(body: &str) {
    for lanes in [8, 4] {
        run_sizes(&read(body, lanes));
    }
}

fn run_sizes(function: &Function) {
    for (n, m) in [(0, 1), (1, 3), (7, 8), (16, 5), (40, 17)] {
        let special = [0.0, -0.0, f64::NAN, f64::INFINITY, -1.5, 1e-310];
        let double = |k: i64| match k % 11 {
            0 => special[(k / 11 % 6) as usize],
            _ => (k * 37 % 101) as f64 / 8.0 - 5.0,
        };
        let doubles: Vec<f64> = (0..SIZE).map(double).collect();
        let floats: Vec<f32> = doubles.iter().map(|x| *x as f32).collect();
        let positions: Vec<i32> = (0..SIZE as i32).map(|k| k * 3 % 50).collect();
        check(
            function,
            vec![
                Argument::Scalar(Scalar::I64(n)),
                Argument::Scalar(Scalar::I64(m)),
                Argument::Scalar(Scalar::F64(2.5)),
                Argument::Array(Buffer::I32(positions)),
                Argument::Array(Buffer::F64(doubles.clone())),
                Argument::Array(Buffer::F32(floats.clone())),
                Argument::Array(Buffer::F64(vec![0.25; SIZE as usize])),
                Argument::Array(Buffer::F32(vec![0.5; SIZE as usize])),
                Argument::Array(Buffer::I64(vec![7; SIZE as usize])),
                Argument::Array(Buffer::of(DataType::F64, 0)),
            ],
        );
    }
}

#[test]
fn sums_into_registers() {
    run("for k in 0..n step 8 {\n v = splat(0.0, 8)\n for p in 0..m {\n j = i64(pos[p])\n \
         v = fma(splat(A[p], 8), A[j + k; 8], v)\n prefetch A[j * 1000]\n }\n y[k; 8] = v\n }");
    run("s = x\n v = splat(x, 8)\n w = splat(0.0, 8)\n for p in 0..m {\n \
         v = fma(A[p; 8], A[p + n; 8], v)\n w = w - A[p + 3; 8]\n }\n s = s + sum(v + w)\n y[0] = s");
    run("g = splat(F[1], 16)\n for p in 0..m {\n g = g + F[p; 16] * F[p + 5; 16]\n }\n \
         z[0] = sum(g)\n h = splat(F[2], 8)\n for p in 0..m {\n h = fma(F[p; 8], h, F[p + 1; 8])\n }\n \
         z[1; 8] = h\n z[20] = sum(h)");
}

#[test]
fn lines_past_the_caches() {
    run(
        "for k in 0..n {\n y[k; 8] = A[k + 3; 8]\n z[k; 16] = F[k + 1; 16]\n }\n s = y[n]\n y[0] = s",
    );
    run("for k in 0..n {\n z[k; 8] = F[k; 8] * F[k + 1; 8]\n if k < m {\n fail ok\n }\n }");
}

#[test]
fn operators_of_lanes() {
    for op in [
        "v + A[k; 8]",
        "A[k; 8] - v",
        "v * v",
        "v / A[k + 1; 8]",
        "min(v, A[k; 8])",
        "max(A[k; 8], v)",
        "min(A[k; 8], v)",
        "max(v, A[k; 8])",
        "-v",
        "abs(v)",
        "sqrt(abs(v))",
        "square(v)",
        "cube(v)",
        "fma(v, A[k; 8], splat(x, 8))",
        "fma(A[k; 8], A[k + 1; 8], v)",
        "f64(F[k; 8])",
        "splat(f64(k), 8)",
        "splat(3.5, 8) * v",
    ] {
        run(&format!(
            "for k in 0..n {{\n v = A[k + 5; 8]\n w = {op}\n v = {op}\n y[k * 3; 8] = v + w\n }}"
        ));
        let single = op.replace("A[", "F[").replace("; 8]", "; 16]").replace(", 8)", ", 16)");
        let single = single.replace('v', "g").replace("f64(F[k; 16])", "F[k; 16]");
        if !["x,", "f64", "3.5"].iter().any(|part| single.contains(part)) {
            run(&format!("for k in 0..n {{\n g = F[k + 5; 16]\n g = {single}\n z[k; 16] = g\n }}"));
        }
    }
    run("for k in 0..n {\n v = A[k; 8]\n h = f32(v)\n z[k; 8] = h\n }");
}

#[test]
fn lanes_that_lie_apart() {
    for lanes in [8, 4] {
        let apart = |array: &str, first: usize| {
            let one = |k: usize| format!("{array}[i64(pos[k + {}])]", first + k);
            format!("lanes({})", (0..lanes).map(one).collect::<Vec<_>>().join(", "))
        };
        let [one, other] = [apart("A", 0), apart("A", 3)];
        for body in [
            format!(
                "v = splat(x, 8)\n for k in 0..n {{\n v = fma(A[k; 8], {one}, v)\n }}\n y[0] = sum(v)"
            ),
            format!(
                "for k in 0..n {{\n v = {one}\n w = {one} * {other} - v\n y[k * 3; 8] = w\n }}"
            ),
        ] {
            run_sizes(&read(&body, lanes));
        }
    }
}

#[test]
fn choices_by_integers() {
    for compared in
        ["k < m", "k <= m", "k == m", "k != 3", "7 > k", "i64(pos[k]) >= j", "u64(k) < u64(m)"]
    {
        run(&format!(
            "j = m * 5\n s = x\n u = F[3]\n for k in 0..n {{\n y[k; 8] = A[k; 8]\n \
             s = select({compared}, fma(A[k], A[k + 1], s), s)\n t = select({compared}, s, A[k])\n \
             u = select({compared}, F[k], u)\n y[k + 60] = t\n z[k + 60] = u\n }}\n y[150] = s"
        ));
    }
}

#[test]
fn scalars_beside_vectors() {
    let around = |body: &str| format!("for k in 0..n {{\n y[k; 8] = A[k; 8]\n {body}\n }}");
    for body in [
        "s = A[k]\n s = max(min(s, x), A[k + 1])\n y[k] = s",
        "s = sqrt(abs(A[k])) / x - square(A[k])\n y[k + 9] = cube(-s)",
        "u = F[k] * F[k + 1]\n z[k] = u\n y[k] = f64(u)\n z[k + 1] = f32(A[k])",
        "c[k] = (k - 9) / 4\n c[k + 50] = mod(k - 9, 8)\n c[k + 100] = (k - 9) / 7\n c[k + 150] = mod(k - 9, 7)",
        "c[k] = min(k * 3, m) - max(n, 4)\n c[k + 50] = max(k - 20, min(-3, k)) * 5",
        "if A[k] < x {\n y[k] = 1.0\n } else {\n y[k] = 2.0\n }",
        "if A[k] >= A[k + 1] {\n y[k] = 1.0\n }\n if A[k] == A[k + 11] {\n y[k] = 3.0\n }",
        "if A[k] != A[k] {\n y[k] = 1.0\n }\n if not(A[k] <= x) {\n y[k] = 4.0\n }\n if not(A[k] > x) {\n c[k] = 4\n }",
        "b = A[k] < x\n if b {\n y[k] = 1.0\n }\n b = and(k < m, not(b))\n if or(b, k == 3) {\n c[k] = 2\n }",
        "p = k\n while p < m && i64(pos[p]) < 20 {\n p = p + 1\n }\n c[k] = p",
        "fill y[k..k + m] = 1.5\n fill z[k..m] = 0.0f",
        "j = k - 9\n if j >= 0 {\n c[k] = j / 4 * 4\n c[k + 50] = j / 8\n }\n c[k + 100] = j / 4 * 4 - j / 8",
        "j = m - 9\n if j >= 0 {\n c[k] = j / 4 * 4\n j = k - 20\n c[k + 50] = j / 4 * 4\n }\n c[k + 100] = j / 4 * 4",
        "for q in k..m step 3 {\n c[q] = q + k\n }\n for q in -5..k - 20 step 4 {\n c[q + 9] = q\n }",
    ] {
        run(&around(body));
    }
}

#[test]
fn more_integers_than_registers() {
    let names: Vec<String> = (0..24).map(|k| format!("a{k}")).collect();
    let given: Vec<String> = (0..24).map(|k| format!("a{k} = i64(pos[{k}]) + n")).collect();
    let used: Vec<String> =
        (0..24).map(|k| format!("c[{k}] = a{k} - a{} * k", (k * 7 + 1) % 24)).collect();
    let changed: Vec<String> =
        (0..24).map(|k| format!("a{k} = min(a{} + k, 30)", (k + 5) % 24)).collect();
    let body = format!(
        "var {}: i64\n{}\n for k in 0..m {{\n v = A[a3 + a5; 8]\n y[a7; 8] = v\n {}\n {}\n }}",
        names.join(", "),
        given.join("\n "),
        used.join("\n "),
        changed.join("\n ")
    );
    run(&body);
}

#[test]
fn values_that_turns_give_each_other() {
    // The loop around grows an array by sorting, which no code of our own does.
    // Sorting has no code of our own, so the loop around has none.
    run("j = 0\n for i in 0..n {\n sort 0..1 by c\n for p in 0..m {\n v = A[p; 8]\n \
         y[p; 8] = v\n c[j / 4] = i\n j = j + 1\n }\n }");
    run("s = 0.0\n v = splat(1.0, 8)\n for i in 0..n {\n for p in 0..m {\n v = v + A[p; 8]\n \
         if p == 2 {\n s = s + 1.0\n j = p\n }\n }\n y[i; 8] = v\n y[100] = s\n }");
}

#[test]
fn arrays_that_grow() {
    run(
        "j = 0\n for i in 0..n {\n reserve r, j + m + 8\n for p in 0..m {\n r[j; 8] = A[p; 8] + splat(x, 8)\n \
         j = j + 1\n }\n c[i] = len(r) - len(r)\n y[i] = r[j / 2]\n }",
    );
    run("for i in 0..n {\n y[i; 8] = A[i; 8]\n if i == 9 {\n fail position_overflow\n }\n }");
}
