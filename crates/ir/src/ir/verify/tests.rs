//! Each invariant with examples that break it, and some that nearly do.

use super::verify;
use crate::datatype::Register;
use crate::ids::{Array, Id, Var};
use crate::ir::build::{assign, int, store};
use crate::ir::parse::parse;
use crate::ir::{ArrayRole, Expr, Function, Param, Stmt, Type};

const DECLARATIONS: &str = "\
fn f(n: i64, A: in [f64], x: out [i32], r: result [i64]) {
  local list: [i64]
  local vals: [f32]
  var i, j: i64
  var s: f64
  var u: f32
  var c: bool
  var v: f64x4
";

fn function(body: &str) -> Function {
    parse(&format!("{DECLARATIONS}{body}\n}}\n")).unwrap_or_else(|d| panic!("{d}"))
}

fn holds(body: &str) {
    let function = function(body);
    verify(&function).unwrap_or_else(|d| panic!("{d}\n{function}"));
}

/// Expects a body to break an invariant, named first, in a statement, which is its last line but
/// for closing braces.
fn breaks(body: &str, expect: &str) {
    let mut lines = body.lines().rev().filter(|l| !l.trim_start().starts_with('}'));
    let last = lines.next().unwrap_or_default().trim();
    refused(&function(body), &format!("{expect}\n  | {last}\n  | {}", "^".repeat(last.len())));
}

fn refused(function: &Function, expect: &str) {
    let diagnostic = verify(function).expect_err("an invariant should break").to_string();
    assert_eq!(diagnostic, format!("error[internal]: {} breaks {expect}", function.name));
}

/// A function of two parameters and two variables, as `change` makes it.
fn changed(change: impl FnOnce(&mut Function)) -> Function {
    let mut function = parse("fn f(n: i64, A: in [f64]) {\n  var i: i64\n}\n").unwrap();
    change(&mut function);
    function
}

#[test]
fn names() {
    refused(&changed(|f| f.name = "a b".to_owned()), "`names`: `a b` is no name");
    let vars = |name: &str| changed(|f| f.vars[Id::new(1)].name = name.to_owned());
    refused(&vars("2i"), "`names`: `2i` is no name");
    refused(&vars("nan"), "`names`: `nan` is no name");
    refused(&vars("A"), "`names`: two things are named A");
    let lines = |f: &mut Function| f.body.push(Stmt::Comment("a\nb".to_owned()));
    refused(
        &changed(lines),
        "`names`: the comment \"a\\nb\" has several lines\n  | # a b\n  | ^^^^^",
    );
}

#[test]
fn declared() {
    let body = |s: Stmt| changed(|f| f.body = vec![s]);
    let (var, array) = (Var::new(9), Array::new(8));
    refused(&body(assign(var, int(0))), "`declared`: the variable v9 is not declared");
    let nested = Stmt::If { cond: Expr::Var(var), then: vec![], otherwise: vec![] };
    let nested = Stmt::While { cond: int(1), body: vec![nested] };
    refused(&body(nested), "`declared`: the variable v9 is not declared");
    refused(&body(store(array, int(0), int(0))), "`declared`: the array a8 is not declared");
    let len = assign(Var::new(1), Expr::Len(array));
    refused(&body(len), "`declared`: the array a8 is not declared");
    let param = changed(|f| f.params.push(Param::Scalar(var)));
    refused(&param, "`declared`: the variable v9 is not declared");
}

#[test]
fn lanes() {
    let vector = |f: &mut Function| f.vars[Id::new(0)].ty.lanes = 2;
    refused(&changed(vector), "`lanes`: the parameter n is a vector");
    let odd = Type { register: Register::F64, lanes: 3 };
    refused(&changed(|f| f.vars[Id::new(1)].ty = odd), "`lanes`: i has 3 lanes");
    breaks("s = sum(A[0; 0])", "`lanes`: `A[0; 0]` has 0 lanes");
    breaks("s = sum(splat(1.0, 6))", "`lanes`: `splat(1.0, 6)` has 6 lanes");
    breaks("s = sum(splat(1.0, 1))", "`lanes`: `splat(1.0, 1)` has 1 lanes");
}

#[test]
fn parameters() {
    refused(
        &changed(|f| f.params.push(f.params[0])),
        "`parameters`: the parameter n is not declared in its order",
    );
    refused(
        &changed(|f| f.params[0] = Param::Scalar(Var::new(1))),
        "`parameters`: the parameter i is not declared in its order",
    );
    refused(
        &changed(|f| f.params.push(f.params[1])),
        "`parameters`: the parameter A is not declared in its order",
    );
    refused(
        &changed(|f| f.arrays[Id::new(0)].role = ArrayRole::Local),
        "`parameters`: the local array A is a parameter",
    );
    refused(&changed(|f| f.params.truncate(1)), "`parameters`: A is neither local nor a parameter");
}

#[test]
fn types() {
    breaks("s = 1.0 + 2", "`types`: `2` of type i64 instead of f64");
    breaks("s = 1.0 * 2.0f", "`types`: `2.0f` of type f32 instead of f64");
    breaks("v = splat(1.0, 4) + 1.0", "`types`: `1.0` of type f64 instead of f64x4");
    breaks("s = A[1.0]", "`types`: `1.0` of type f64 instead of i64");
    breaks("x[n < 1] = 1", "`types`: `n < 1` of type bool instead of i64");
    breaks("for i in 0..1.0 {\n}", "`types`: `1.0` of type f64 instead of i64");
    breaks("fill x[0..true] = 1", "`types`: `true` of type bool instead of i64");
    breaks("reserve list, 1.0", "`types`: `1.0` of type f64 instead of i64");
    breaks("sort 0..1.0 by list", "`types`: `1.0` of type f64 instead of i64");
    breaks("i = fma(n, n, n)", "`types`: fma of `n` of type i64");
    breaks("i = sqrt(n)", "`types`: sqrt of `n` of type i64");
    breaks("i = pow(n, n)", "`types`: pow of `n` of type i64");
    breaks("c = abs(true)", "`types`: abs of `true` of type bool");
    breaks("c = true + true", "`types`: + of `true` of type bool");
    breaks("i = and(n, n)", "`types`: and of `n` of type i64");
    breaks("i = not(n)", "`types`: not of `n` of type i64");
    breaks("v = splat(splat(1.0, 4), 4)", "`types`: splat of `splat(1.0, 4)` of type f64x4");
    breaks("s = sum(1.0)", "`types`: sum of `1.0` of type f64");
    breaks("s = select(true, 1.0, 2)", "`types`: `2` of type i64 instead of f64");
    holds("c = and(not(n < 1), true == false)\ni = mod(square(n), abs(-n))");
    holds(
        "s = f64(sum(splat(n, 4)))\nv = fma(A[n; 4], splat(s, 4), -A[0; 4])\ns = pow(s, sqrt(s))",
    );
}

#[test]
fn conditions() {
    breaks("if n {\n}", "`conditions`: `n` of type i64 instead of bool");
    breaks("while 1.0 {\n}", "`conditions`: `1.0` of type f64 instead of bool");
    breaks("c = n && true", "`conditions`: `n` of type i64 instead of bool");
    breaks("c = true && n", "`conditions`: `n` of type i64 instead of bool");
    breaks("s = select(n, 1.0, 2.0)", "`conditions`: `n` of type i64 instead of bool");
}

#[test]
fn values() {
    breaks("s = n", "`values`: `n` of type i64 instead of f64");
    breaks("v = 1.0", "`values`: `1.0` of type f64 instead of f64x4");
    breaks("c = A[0] == A[1; 1]\nu = A[0]", "`values`: `A[0]` of type f64 instead of f32");
    breaks("x[0] = 1.0", "`values`: `1.0` of type f64 instead of i64");
    breaks("fill x[0..n] = n < 1", "`values`: `n < 1` of type bool instead of i64");
    holds("reserve vals, n\nu = f32(1.0)\nvals[0] = u");
}

#[test]
fn loops() {
    breaks("for s in 0..n {\n}", "`loops`: the loop variable s is a f64");
    breaks("for i in 0..n step 0 {\n}", "`loops`: the loop over i has step 0");
    let function = function("for i in 0..n {\n  if n < 1 {\n    i = 1\n  }\n}");
    let loop_text = "\n  | for i in 0..n {\n  | ^^^^^^^^^^^^^^^";
    let expect = format!("`loops`: the loop variable i is assigned within its loop{loop_text}");
    refused(&function, &expect);
    holds("for i in 0..n {\n}\nfor i in 0..n step 8 {\n  for j in i..n {\n  }\n}\ni = 1");
}

#[test]
fn roles() {
    breaks("A[0] = 1.0", "`roles`: the input A is written");
    breaks("fill A[0..n] = 1.0", "`roles`: the input A is written");
    breaks("sort 0..n by list with A", "`roles`: the input A is written");
    breaks("reserve A, n", "`roles`: A is reserved, but has a fixed size");
    breaks("reserve x, n", "`roles`: x is reserved, but has a fixed size");
}

#[test]
fn sorting() {
    breaks("sort 0..n by vals", "`sorting`: the sort key vals is of f32");
    breaks("sort 0..n by list, r, list", "`sorting`: list occurs twice in a sort");
    breaks("sort 0..n by list with vals, list", "`sorting`: list occurs twice in a sort");
    let sort = Stmt::Sort { keys: vec![], carried: vec![], lo: int(0), hi: int(0) };
    let keyless = changed(|f| f.body = vec![sort]);
    refused(&keyless, "`sorting`: a sort has no keys\n  | sort 0..0 by \n  | ^^^^^^^^^^^^^");
    holds("sort 0..n by list, x with vals, r");
}

#[test]
fn assigned() {
    let unassigned = |name: &str| format!("`assigned`: {name} is read where it may have no value");
    breaks("s = s + 1.0", &unassigned("s"));
    breaks("if n < 1 {\n  s = 1.0\n}\ns = s", &unassigned("s"));
    breaks("for i in 0..n {\n  s = 1.0\n}\nx[0] = i64(s)", &unassigned("s"));
    breaks("for i in 0..n {\n}\nx[0] = i", &unassigned("i"));
    breaks("i = 0\nwhile i < n {\n  x[i] = j\n}", &unassigned("j"));
    // The second time around, the loop has taken its variable away.
    let function = function("i = 0\nwhile n < 1 {\n  x[0] = i\n  for i in 0..n {\n  }\n}");
    refused(&function, &format!("{}\n  | x[0] = i\n  | ^^^^^^^^", unassigned("i")));
    holds("if n < 1 {\n  s = 1.0\n} else {\n  s = 2.0\n}\ns = s");
    holds("if n < 1 {\n  fail out_of_memory\n} else {\n  s = 2.0\n}\ns = s");
    holds("i = 0\nwhile i < n {\n  j = 1\n  i = i + j\n}\nx[0] = i");
}

#[test]
fn reserved() {
    let unreserved = |name: &str| format!("`reserved`: {name} is used but never reserved");
    breaks("list[0] = 1", &unreserved("list"));
    breaks("i = r[0]", &unreserved("r"));
    breaks("if n < 1 {\n  reserve r, n\n}\nr[0] = 1", &unreserved("r"));
    breaks("for i in 0..n {\n  reserve r, n\n}\nr[0] = 1", &unreserved("r"));
    breaks("for i in 0..n {\n  j = r[0]\n}", &unreserved("r"));
    holds("for i in 0..n {\n  reserve r, n\n  r[i] = 1\n}\nj = r[0]");
    holds("for i in 0..n {\n  if i < 1 {\n    reserve r, n\n  } else {\n    j = r[0]\n  }\n}");
    holds("if n < 1 {\n  reserve r, n\n} else {\n  fail out_of_memory\n}\nr[0] = 1");
    holds("i = len(list)\nfill list[0..i] = 0");
}
