//! Text that reads back, and text that is refused.

use super::*;
use crate::datatype::Scalar;

/// Every statement and every kind of expression.
const ALL: &str = "\
fn f(n: i64, A_vals: in [f64], b: f32, y_vals: out [f32], r: result [i32]) {
  local list: [i64]
  local l2: [bool]
  var i, p: i64
  var t: f64
  var v, w: f64x8
  var u: f32
  var k: i64
  var c: bool
  # a remark: with, all = [sorts]; of {things}
  #  indented
  # 
  i = (n + 1) * 2 - -3 / (k - (p - 1))
  k = -9223372036854775808
  t = fma(-t, -(1.0), -(-A_vals[i + 1])) + 1e300 * -2.5e-7 + inf - -inf
  u = b * 0.1f + -1.5e20f + nanf + inff
  v = splat(A_vals[0], 8) + A_vals[4 * i; 8]
  t = sum(v * w) + nan + nan(18444492273895866368) + -0.0
  c = and(n < k, not(i >= p)) && (c && 0 == 1) && true
  c = (i < k) == false
  t = select(c, f64(n), min(max(t, 1.0), sqrt(abs(t))))
  y_vals[i] = f32(t)
  A_vals[i; 8] = v
  for i in 0..n {
    for p in A_vals[i]..len(list) step 4 {
      fail ok
    }
  }
  while c && n < k {
    if mod(n, 2) == 1 {
    } else {
      reserve list, n + 1
    }
    if i64(c) != 0 {
      fail position_overflow
    }
  }
  fill y_vals[0..n] = 0.0f
  sort 0..len(list) by list with l2, r
  sort 1..n by list, r
}
";

#[test]
fn everything_reads_back() {
    let function = parse(ALL).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(function.to_string(), ALL);
    assert_eq!(parse(&function.to_string()).unwrap(), function);
}

#[test]
fn words_of_the_grammar_are_names_too() {
    let text = "\
fn fn(for: i64, in: in [i64], sum: out [i64]) {
  local local: [i64]
  local with: [i64]
  var var, step, by, len, if, while: i64
  for step in by..step step 2 {
  }
  sort by..by by local
  with[if] = while
  if = sum[len] + len(sum)
  if if < while {
  }
  var = 3
}
";
    assert_eq!(parse(text).unwrap_or_else(|d| panic!("{d}")).to_string(), text);
}

#[test]
fn constants_keep_type_and_bits() {
    let mut constants = vec![Scalar::Bool(true), Scalar::Bool(false)];
    constants.extend([0, 1, -1, i64::MAX, i64::MIN].map(Scalar::I64));
    constants.extend([0, 1, u64::MAX].map(Scalar::U64));
    let doubles = [0.0, 0.1, 1e16, 1e300, f64::MIN_POSITIVE, 5e-324, f64::MAX, f64::INFINITY];
    let singles = [0.0, 0.1, 1e16, 1e-45, f32::MAX, f32::INFINITY];
    constants.extend(doubles.iter().flat_map(|&x| [x, -x]).map(Scalar::F64));
    constants.extend(singles.iter().flat_map(|&x| [x, -x]).map(Scalar::F32));
    let patterns = [0x7ff8 << 48, 0xfff8 << 48, (0x7ff8 << 48) + 7, (0x7ff0 << 48) + 1];
    constants.extend(patterns.map(|bits| Scalar::F64(f64::from_bits(bits))));
    constants.extend([0x7fc0_0000, 0xffc0_0001].map(|bits| Scalar::F32(f32::from_bits(bits))));
    for c in constants {
        let mut function = parse("fn f() {\n}\n").unwrap();
        let e = Expr::Const(c);
        function.body = vec![Stmt::Reserve { array: function.arrays.push(local()), len: e }];
        assert_eq!(parse(&function.to_string()), Ok(function));
    }
}

fn local() -> ArrayDecl {
    ArrayDecl::new("a", DataType::Bool, ArrayRole::Local)
}

/// What is said of a body, below the line that it points at.
fn check(body: &str, expect: &str) {
    let head = "fn f(n: i64, x: in [f64]) {\n  var s: f64\n  var v: f64x8\n";
    let diagnostic = parse(&format!("{head}{body}\n}}\n")).unwrap_err();
    assert_eq!(diagnostic.code, Code::Syntax);
    assert_eq!(diagnostic.to_string(), format!("error[syntax]: {expect}"));
}

#[test]
fn bad_text_is_refused_with_its_place() {
    check("s = $", "$ has no meaning here\n  | s = $\n  |     ^");
    check("s = 1.0 +", "expected an expression, not `}`\n  | }\n  | ^");
    check("s = t", "t is not declared\n  | s = t\n  |     ^");
    check("s = x", "expected `[`, not `}`\n  | }\n  | ^");
    check("x = 1.0", "expected a variable, not `x`\n  | x = 1.0\n  | ^");
    check("n[0] = 1.0", "expected an array, not `n`\n  | n[0] = 1.0\n  | ^");
    check("s = size(n)", "there is no function size of 1 operands\n  | s = size(n)\n  |     ^^^^");
    check(
        "s = fma(s, s)",
        "there is no function fma of 2 operands\n  | s = fma(s, s)\n  |     ^^^",
    );
    check("s = sqrt(s; 2)", "expected `)`, not `;`\n  | s = sqrt(s; 2)\n  |           ^");
    check(
        "n = 9223372036854775808",
        "expected a constant, not `9223372036854775808`\n  | n = 9223372036854775808\n  |     ^^^^^^^^^^^^^^^^^^^",
    );
    check("s = nan(1)", "expected its bits, not `1`\n  | s = nan(1)\n  |         ^");
    check("x[n; 4] = v", "4 elements are to take 8 lanes\n  | x[n; 4] = v\n  |    ^");
    check(
        "v = x[n; 70000]",
        "expected a number of lanes, not `70000`\n  | v = x[n; 70000]\n  |          ^^^^^",
    );
    check("for n in 0, n {", "expected `..`, not `,`\n  | for n in 0, n {\n  |           ^");
    check(
        "for n in 0..n step s {",
        "expected an integer, not `s`\n  | for n in 0..n step s {\n  |                    ^",
    );
    check("fail badly", "expected a status, not `badly`\n  | fail badly\n  |      ^^^^^");
    check("return", "expected a statement, not `return`\n  | return\n  | ^^^^^^");
    check("}\n}", "expected the end of the text, not `}`\n  | }\n  | ^");
    check("if n < n {", "expected a statement, not the end of the text\n  | \n  | ^");
    let deep = "(".repeat(1000);
    let shown =
        format!("this is nested too deep\n  | ..{}..\n  | {}^", "(".repeat(160), " ".repeat(42));
    check(&format!("s = {deep}"), &shown);
}

#[test]
fn bad_declarations_are_refused_with_their_place() {
    let check = |text: &str, expect: &str| {
        assert_eq!(parse(text).unwrap_err().to_string(), format!("error[syntax]: {expect}"));
    };
    check("", "expected `fn`, not the end of the text\n  | \n  | ^");
    check(
        "fn f(a: i64, a: f64)",
        "a is declared already\n  | fn f(a: i64, a: f64)\n  |              ^",
    );
    check(
        "fn f(a: local [f64])",
        "expected a type, not `local`\n  | fn f(a: local [f64])\n  |         ^^^^^",
    );
    check(
        "fn f(a: in [f8])",
        "expected the type of elements, not `f8`\n  | fn f(a: in [f8])\n  |             ^^",
    );
    check(
        "fn f() { var inf: i64 }",
        "inf is a constant\n  | fn f() { var inf: i64 }\n  |              ^^^",
    );
    check(
        "fn f() { var a, a: i64 }",
        "a is declared already\n  | fn f() { var a, a: i64 }\n  |                 ^",
    );
    check(
        "fn f() { var a: f64y2 }",
        "expected a type, not `f64y2`\n  | fn f() { var a: f64y2 }\n  |                 ^^^^^",
    );
}

/// Whatever is done to a text, reading it gives a function or a diagnostic.
#[test]
fn no_text_is_too_broken() {
    let words: Vec<&str> = ALL.split_inclusive([' ', '\n', '(', '[', ',']).collect();
    for k in 0..words.len() {
        let without = [&words[..k], &words[k + 1..]].concat().concat();
        let doubled = [&words[..=k], &words[k..]].concat().concat();
        let cut = words[..k].concat();
        for text in [without, doubled, cut] {
            if let Ok(function) = parse(&text) {
                assert_eq!(parse(&function.to_string()), Ok(function), "{text}");
            }
        }
    }
}
