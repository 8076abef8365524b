//! Reading, printing and refusing index notation.

mod random;

use super::{Commutativity, Expr, Operator, OperatorProperties, make_explicit, parse, parse_with};

/// What a text reads as, printed; and what that reads as.
fn check(text: &str, expect: &str) {
    let program = parse(text).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(program.to_string(), expect, "{text}");
    let again = parse(expect).unwrap();
    assert_eq!(again.statements.len(), program.statements.len());
    for (a, b) in program.statements.iter().zip(&again.statements) {
        assert_eq!(a.value, b.value, "{text}");
        assert_eq!((&a.result, a.accumulate), (&b.result, b.accumulate), "{text}");
    }
}

fn refused(text: &str, expect: &str) {
    let diagnostic = parse(text).and_then(|p| make_explicit(&p)).unwrap_err();
    assert_eq!(diagnostic.to_string(), expect, "{text}");
}

fn code(text: &str, expect: &str) {
    let diagnostic = parse(text).expect_err(text);
    assert_eq!(diagnostic.code.name(), expect, "{diagnostic}");
    assert!(diagnostic.place.is_some() && diagnostic.help.is_some(), "{diagnostic}");
}

#[test]
fn statements() {
    check("y(i)=A(i,j)*x(j)", "y(i) = A(i,j) * x(j)");
    check("a = b; c(i) += d(i);", "a = b; c(i) += d(i)");
    check("a = b\n\nc(i) = d(i)\n", "a = b; c(i) = d(i)");
    check("y(i) =\n A(i,j)\n * x(j)", "y(i) = A(i,j) * x(j)");
    check("y(i) max= A(i,j)", "y(i) max= A(i,j)");
    check("a -= b + c; d(i[1:]) -= -A(i,j)", "a += -(b + c); d(i[1:]) += --A(i,j)");
    check("a min= b", "a min= b");
    check("a or= b(i); c and= b(i); d *= b(i)", "a or= b(i); c and= b(i); d *= b(i)");
    check("a() = b()", "a = b");
    check("größe(ι) = _a1(ι)", "größe(ι) = _a1(ι)");
    check("A(i,i2) = B(i,i) * C(i2,i)", "A(i,i2) = B(i,i) * C(i2,i)");
}

#[test]
fn slices() {
    check("y(i)=A(i[2:8], j[ : 10: 2])", "y(i) = A(i[2:8],j[:10:2])");
    check("y(i) = A(i[:], j[::])", "y(i) = A(i[:],j[:])");
    check("y(i) = x(i[7:1:-1]) + x(i[::-2])", "y(i) = x(i[7:1:-1]) + x(i[::-2])");
    check("y(i) = x(i[{1, 3,5}])", "y(i) = x(i[{1,3,5}])");
    check("A(i[2:8],j) += B(i,j)", "A(i[2:8],j) += B(i,j)");
    check("y = sum(i, x(i[3:3])) + z(k[2:])", "y = sum(i, x(i[3:3])) + z(k[2:])");
}

#[test]
fn what_is_no_slice_is_refused() {
    let slice = |inside: &str, caret: &str, reason: &str, help: &str| {
        let text = format!("y(i) = x(i{inside})");
        let expect = format!("error[syntax]: {reason}\n  | {text}\n  | {caret}\n  = help: {help}");
        refused(&text, &expect);
    };
    let example = "a slice is written i[2:8], i[0:10:2] or i[{1,3,5}]";
    let bar = |from: usize, to: usize| " ".repeat(from) + &"^".repeat(to - from);
    slice("[{}]", &bar(11, 13), "the set has no members", "name at least one");
    slice("[{1,1}]", &bar(14, 15), "1 is in the set twice", "name each coordinate once");
    slice("[{1,3,2}]", &bar(16, 17), "the members of a set ascend", "put 2 before 3");
    slice("[1:9:0]", &bar(15, 16), "the step is 0", "steps are 1, 2, -1, ...");
    slice("[8:2]", &bar(11, 14), "the slice starts after its end", "exchange the bounds");
    let (reason, help) =
        ("the slice counts down from its lower bound", "write the higher bound first");
    slice("[2:8:-1]", &bar(11, 17), reason, help);
    let help = "count from 0, or leave the bound out to go to the end";
    slice("[-3:]", &bar(11, 12), "coordinates are not negative", help);
    slice("[3]", &bar(10, 11), "one coordinate is no slice", "write a set of one: i[{3}]");
    slice("[j]", &bar(10, 11), "indices stand in parentheses", "write A(i,j)");
    slice("[1:2", &bar(14, 15), "expected ], found )", example);
    slice("[1.5:2]", &bar(11, 14), "expected a whole number, found 1.5", example);
    for text in [
        "y(i) = i[2:8] + x(i)",
        "y[2:8] = x(i)",
        "y(i) = sum(j[2:4], A(i,j))",
        "y(i) = sin(i[2:8])",
        "y(i) = x(i[{1,3)",
        "y(i) = x(i[2:99999999999999999999])",
    ] {
        code(text, "syntax");
    }
    code("A(i[0:2],i[2:4]) = x(i)", "result-variable");
}

#[test]
fn operators_bind_as_usual() {
    check("a = b - (c - d) - e", "a = b - (c - d) - e");
    check("a = ((b + c)) * d", "a = (b + c) * d");
    check("a = b + (c * d)", "a = b + c * d");
    check("a = b / (c / d)", "a = b / (c / d)");
    check("a = (b * c) * d", "a = b * c * d");
    check("a = b * (c * d)", "a = b * (c * d)");
    check("a = -b * -c", "a = -b * -c");
    check("a = -(b * c) - (-d)", "a = -(b * c) - -d");
    check("a = - -b", "a = --b");
    check("a = b + c < d * e", "a = b + c < d * e");
    check("a = (b < c) == (d >= e)", "a = (b < c) == (d >= e)");
    check("a = (b != c) * d", "a = (b != c) * d");
}

#[test]
fn numbers() {
    check("a = 1 + 2.0 + .5 + 1e-3 + 1.", "a = 1 + 2.0 + 0.5 + 0.001 + 1.0");
    check("a = -3 - -4.5", "a = -3 - -4.5");
    check("a = -(3)", "a = -(3)");
    check("a = -9223372036854775808", "a = -9223372036854775808");
    check("a = 9223372036854775807", "a = 9223372036854775807");
    check("a = -0.0 + -0", "a = -0.0 + 0");
    check("a = inf - inf", "a = inf - inf");
    check("a = 1e300", "a = 1e300");
    check("a = -inf + infj * infj", "a = -inf + infj * infj");
}

#[test]
fn functions() {
    check("y(i) = sqrt(x(i)) + exp(-x(i))", "y(i) = sqrt(x(i)) + exp(-x(i))");
    check("y(i) = min(x(i), 2, z(i))", "y(i) = min(x(i), 2, z(i))");
    check("y(i) = min(min(x(i), 2), z(i))", "y(i) = min(x(i), 2, z(i))");
    check("y(i) = min(x(i), min(2, z(i)))", "y(i) = min(x(i), min(2, z(i)))");
    check("y(i) = xor(x(i), 1, 0)", "y(i) = xor(x(i), 1, 0)");
    check("y(i) = heaviside(x(i))", "y(i) = heaviside(x(i), 0.5)");
    check("y(i) = pow(x(i), 2) + mod(x(i), 3)", "y(i) = pow(x(i), 2) + mod(x(i), 3)");
    check("y(i) = not(and(x(i) > 0, x(i) < 1))", "y(i) = not(and(x(i) > 0, x(i) < 1))");
    check("y(i) = max((x(i) > 0), 0)", "y(i) = max(x(i) > 0, 0)");
}

#[test]
fn every_function_of_the_language() {
    let unary = "abs sqrt cbrt square cube exp log log10 sin cos tan asin acos atan sinh cosh tanh \
                 asinh acosh atanh not";
    for name in unary.split_whitespace() {
        check(&format!("y(i) = {name}(x(i))"), &format!("y(i) = {name}(x(i))"));
    }
    for name in "min max pow mod atan2 heaviside and or xor".split_whitespace() {
        check(&format!("y(i) = {name}(x(i), z)"), &format!("y(i) = {name}(x(i), z)"));
    }
    for name in "sum prod min max any all".split_whitespace() {
        check(&format!("y(i) = {name}(j, A(i,j))"), &format!("y(i) = {name}(j, A(i,j))"));
        let both = format!("y = {name}(i, j, A(i,j))");
        check(&both, &both);
    }
}

#[test]
fn index_variables_as_values() {
    let program = parse("A(i,j) = i + j + k").unwrap();
    assert_eq!((program.vars.len(), program.tensors.len()), (2, 2), "k is a scalar");
    let program = parse("a = sum(k, k * n)").unwrap();
    assert_eq!((program.vars.len(), program.tensors.len()), (1, 2));
    check("y(i) = A(i,j) * (i == j)", "y(i) = A(i,j) * (i == j)");
}

#[test]
fn min_and_max_reduce_over_free_variables() {
    let value = |text: &str| parse(text).unwrap().statements.remove(0).value;
    let reduces = |text: &str| matches!(value(text), Expr::Reduce { .. });
    assert!(reduces("y(i) = min(j, A(i,j))"));
    assert!(reduces("y = max(i, j, A(i,j))"));
    assert!(!reduces("y(i) = min(i, x(i))"), "i is on the left side");
    assert!(!reduces("y(i) = min(j, x(i))"), "j is a scalar");
    assert!(!reduces("y(i) = min((j), A(i,j))"), "in parentheses j is a value");
    assert!(!reduces("y(i) = min(2, A(i,j))"));
    check("y(i) = A(i,j) * min((j), 3)", "y(i) = A(i,j) * min((j), 3)");
    check("y(i) = sum(j, A(i,j) * min(j, 3))", "y(i) = sum(j, A(i,j) * min(j, 3))");
    check("y(i) = min((j), i, A(i,j))", "y(i) = min(j, i, A(i,j))");
}

fn commutative() -> OperatorProperties {
    let commutative = Commutativity::Commutative;
    OperatorProperties { identity: Some(0.0), annihilator: None, commutative }
}

#[test]
fn user_operators() {
    let plus = Operator::binary("plus", commutative(), |x, y| x + y).unwrap();
    let minus = Operator::binary("minus", OperatorProperties::default(), |x, y| x - y).unwrap();
    let twice = Operator::unary("twice", OperatorProperties::default(), |x| 2 * x).unwrap();
    let operators = [plus, minus, twice];
    let text = "y(i) plus= plus(j, twice(A(i,j))) + minus(x(i), 1)";
    assert_eq!(parse_with(text, &operators).unwrap().to_string(), text);
    let refused = |text: &str| parse_with(text, &operators).unwrap_err().to_string();
    assert_eq!(
        refused("y minus= x(i)"),
        "error[argument-count]: minus is not declared commutative and cannot combine values\n  | y \
         minus= x(i)\n  |   ^^^^^\n  = help: declare it commutative if it is",
    );
    assert!(refused("y = twice(a, b)").contains("twice takes one argument, not 2"));
    assert!(refused("y = minus(a)").contains("minus takes two arguments, not 1"));
    assert!(refused("plus = a").contains("plus is the name of a function"));
    let twin = Operator::unary("twice", commutative(), |x| x).unwrap();
    assert!(parse_with("a = b", &[operators[2].clone(), twin]).is_err());
}

#[test]
fn syntax_is_refused_with_the_place() {
    refused(
        "y(i) = A(i,j) x(j)",
        "error[syntax]: expected an operator or the end of the statement, found x\n  | y(i) = A(i,j) \
         x(j)\n  |               ^\n  = help: write A(i,j) * x(j)",
    );
    refused(
        "y(i) = A[i,j]",
        "error[syntax]: indices stand in parentheses\n  | y(i) = A[i,j]\n  |         ^\n  = help: write \
         A(i,j)",
    );
    refused(
        "a = b < c < d",
        "error[syntax]: comparisons do not chain\n  | a = b < c < d\n  |           ^\n  = help: write \
         and(a < b, b < c), or parentheses",
    );
    refused(
        "y(i) = A(i+1)",
        "error[syntax]: an index has to be a variable\n  | y(i) = A(i+1)\n  |          ^^^\n  = help: \
         write A(i[1:])",
    );
    refused(
        "y(i) = A(i,1:n)",
        "error[syntax]: an index has to be a variable\n  | y(i) = A(i,1:n)\n  |            ^^^\n  = help: \
         write A(i,k[1:n])",
    );
    refused(
        "y(i) = A(:, i, B(j[{0,1}]), 1:, 2)",
        "error[syntax]: an index has to be a variable\n  | y(i) = A(:, i, B(j[{0,1}]), 1:, 2)\n  |          ^\n  = help: \
         write A(k,i,B(j[{0,1}]),l[1:],m[{2}])",
    );
    refused(
        "y(i) = A(i,0,2)",
        "error[syntax]: an index has to be a variable\n  | y(i) = A(i,0,2)\n  |            ^\n  = help: \
         write A(i,k[{0}],l[{2}])",
    );
    refused(
        "exp(i) = A(i)",
        "error[syntax]: exp is the name of a function\n  | exp(i) = A(i)\n  | ^^^\n  = help: choose \
         another name, such as exp_",
    );
    refused(
        "a(i) = i(j)",
        "error[syntax]: i names a tensor and an index variable\n  | a(i) = i(j)\n  |        ^\n  = \
         help: rename one of them",
    );
    refused(
        "",
        "error[syntax]: there is no statement\n  | \n  | ^\n  = help: write a statement: y(i) = A(i,j) * x(j)",
    );
    refused(
        "a = 1; b(i[1:]) /= c(i)",
        "error[syntax]: expected =, found /=\n  | a = 1; b(i[1:]) /= c(i)\n  |                 ^^\n  = \
         help: write b(i[1:]) *= 1 / (...)",
    );
}

#[test]
fn other_syntax_is_refused() {
    for text in [
        "a",
        "a =",
        "= b",
        "a = = b",
        "a == b",
        "a = b = c",
        "a -= = b",
        "a /= b",
        "1 = a",
        "a = (b",
        "a = b)",
        "a = +b",
        "a = b +",
        "a = b c",
        "a(i = b",
        "a(i) = b(i,)",
        "a = b(,)",
        "a = min(b, )",
        "a(1) = b",
        "a(i+1) = b(i)",
        "a = b ** 2",
        "a = b ^ 2",
        "a = b % 2",
        "a = A'",
        "a = sum",
        "sum = a",
        "a = sum(1, b(i))",
        "a = sum((i), b(i))",
        "a + b = c",
        "a = 18446744073709551616",
        "a = b @ c",
        "a = \"b\"",
        "a = b; ; c",
        "-a = b",
        "a = i; b(i) = c(i)",
        "a(j) = b(j); b(j) = j(j)",
        "a(exp) = b(exp)",
        "a = sum(min, 2)",
    ] {
        code(text, "syntax");
    }
}

#[test]
fn unknown_functions_are_refused() {
    refused(
        "y(i) = sqr(x(i))",
        "error[unknown-function]: there is no function named sqr\n  | y(i) = sqr(x(i))\n  |        \
         ^^^\n  = help: did you mean sqrt? docs/guide/notation.md lists the functions",
    );
    refused(
        "y(i) = foo(x(i))",
        "error[unknown-function]: there is no function named foo\n  | y(i) = foo(x(i))\n  |        \
         ^^^\n  = help: docs/guide/notation.md lists the functions; of a tensor foo, write sum(k, foo(k) * (k == \
         x(i))), or multiply by a sparse matrix that is 1 where k == x(i)",
    );
    refused(
        "y(i) mean= x(i)",
        "error[unknown-function]: nothing accumulates with mean=\n  | y(i) mean= x(i)\n  |      ^^^^\n  \
         = help: assignments are = += -= *= min= max= or= and=",
    );
    code("y(i) = frobnicate(x(i), 2)", "unknown-function");
    code("a = f(2.5)", "unknown-function");
    code("a sum= b", "unknown-function");
}

#[test]
fn wrong_numbers_of_arguments_are_refused() {
    refused(
        "y(i) = min(A(i,j))",
        "error[argument-count]: min takes two arguments, not 1\n  | y(i) = min(A(i,j))\n  |        \
         ^^^\n  = help: to reduce, name the variables: min(j, A(i,j))",
    );
    refused(
        "y(i) = sum(A(i,j) * x(j))",
        "error[argument-count]: sum needs the variables that it reduces\n  | y(i) = sum(A(i,j) * \
         x(j))\n  |        ^^^\n  = help: write sum(j, A(i,j) * x(j))",
    );
    for text in [
        "a = exp()",
        "a = exp(b, c)",
        "a = pow(b)",
        "a = pow(b, c, d)",
        "a = sum()",
        "a = min()",
        "a = heaviside()",
        "a = sum(3)",
    ] {
        code(text, "argument-count");
    }
}

#[test]
fn one_order_per_tensor() {
    refused(
        "y(i) = A(i,j) * A(i)",
        "error[order-mismatch]: A has 1 index here, but 2 indices before\n  | y(i) = A(i,j) * A(i)\n  \
         |                 ^\n  = help: every use of a tensor has one index per mode",
    );
    code("y(i) = y", "order-mismatch");
}

#[test]
fn the_left_side_may_be_a_diagonal_without_slices() {
    refused(
        "A(i,i[2:4]) = b(i)",
        "error[result-variable]: the left side names i twice, and a slice\n  | A(i,i[2:4]) = b(i)\n  |     \
         ^\n  = help: write the diagonal of a tensor without slices, then add that to slices",
    );
    check("A(i,i) = b(i)", "A(i,i) = b(i)");
    check("A(i,j) = b(i)", "A(i,j) = b(i)");
}

#[test]
fn a_variable_is_bound_once() {
    refused(
        "y(i) = sum(i, A(i))",
        "error[bound-variable]: i is bound already, by the left side or by a reduction around\n  | \
         y(i) = sum(i, A(i))\n  |            ^\n  = help: reduce over another variable",
    );
    code("y = sum(i, i, A(i))", "bound-variable");
    code("y = sum(i, A(i) * sum(i, B(i)))", "bound-variable");
    check("y = sum(i, A(i)) * sum(i, B(i))", "y = sum(i, A(i)) * sum(i, B(i))");
}

#[test]
fn a_tensor_is_written_before_it_is_read() {
    refused(
        "y(i) = a(i); y(i) = b(i)",
        "error[result-redefined]: y is overwritten by a second statement\n  | y(i) = a(i); y(i) = \
         b(i)\n  |              ^^^^\n  = help: accumulate with y += ..., or use another name",
    );
    refused(
        "z(i) = y(i); y(i) = b(i)",
        "error[result-redefined]: y is read before the statement that writes it\n  | z(i) = y(i); \
         y(i) = b(i)\n  |        ^^^^\n  = help: write y first, or give one of the two another name",
    );
    for text in [
        "y(i) = a(i); y(i) += b(i)",
        "y(i) = y(i) + a(i)",
        "y(i) = a(i); z(i) = y(i); z(i) += y(i)",
        "y(i) = y(i); z(i) = y(i)",
    ] {
        check(text, text);
    }
}

#[test]
fn depth_is_bounded() {
    let nested = |n: usize| format!("a = {}b{}", "(".repeat(n), ")".repeat(n));
    check(&nested(150), "a = b");
    for text in [
        nested(201),
        nested(100_000),
        format!("a = {}", "(".repeat(100_000)),
        format!("a = {}b", "-".repeat(100_000)),
        format!("a = b{}", " + b".repeat(100_000)),
        format!("a = {}b", "exp(".repeat(100_000)),
        format!("a = min(b{})", ", b".repeat(100_000)),
        "a = b\n".repeat(2000),
    ] {
        code(&text, "too-large");
    }
    let chain = format!("a = b{}", " + b".repeat(150));
    check(&chain, &chain);
}
