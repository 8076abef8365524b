//! Reading, printing and refusing index notation.

use super::{
    Access, Commutativity, Expr, Operator, OperatorProperties, Program, Statement, TensorDecl,
    VarDecl, make_explicit, parse, parse_with,
};
use crate::algebra::{BinaryOp, ReduceOp, UnaryOp};
use crate::datatype::Scalar;
use crate::ids::{Id, IndexVar, TensorId};

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
    check("a min= b", "a min= b");
    check("a or= b(i); c and= b(i); d *= b(i)", "a or= b(i); c and= b(i); d *= b(i)");
    check("a() = b()", "a = b");
    check("größe(ι) = _a1(ι)", "größe(ι) = _a1(ι)");
    check("A(i,i2) = B(i,i) * C(i2,i)", "A(i,i2) = B(i,i) * C(i2,i)");
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
    check("a = 1e999 - 1e400", "a = 1e999 - 1e999");
    check("a = 1e300", "a = 1e300");
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
         x(j)\n  |               ^\n  = help: operators are + - * / == != < <= > >=; statements are \
         separated by ;",
    );
    refused(
        "y(i) = A(i[2:8],j)",
        "error[syntax]: slices of an index variable are not known\n  | y(i) = A(i[2:8],j)\n  |           \
         ^\n  = help: use the whole mode, or cut the tensor before",
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
         write a name, as in A(i,j)",
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
        "a -= b",
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
        "a = 9223372036854775808",
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
         ^^^\n  = help: did you mean sqrt?",
    );
    refused(
        "y(i) mean= x(i)",
        "error[unknown-function]: nothing accumulates with mean=\n  | y(i) mean= x(i)\n  |      ^^^^\n  \
         = help: assignments are = += *= min= max= or= and=",
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
fn the_left_side_names_a_variable_once() {
    refused(
        "A(i,i) = b(i)",
        "error[result-variable]: the left side names i twice\n  | A(i,i) = b(i)\n  |     ^\n  = help: \
         use two variables; a diagonal is written A(i,j) = (i == j) * ...",
    );
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
        code(&text, "syntax");
    }
    let chain = format!("a = b{}", " + b".repeat(150));
    check(&chain, &chain);
}

/// A small random generator (xorshift), so that runs repeat.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// Grows random programs over the scalar `a`, the vector `b(i)` and the matrix `C(i,j)`.
struct Grower<'r> {
    random: &'r mut Random,
    bound: Vec<IndexVar>,
}

const VARS: [&str; 4] = ["i", "j", "k", "l"];

impl Grower<'_> {
    fn var(&mut self) -> IndexVar {
        IndexVar::new(self.random.below(VARS.len()))
    }

    fn literal(&mut self) -> Scalar {
        let bits = self.random.0;
        match self.random.below(4) {
            0 => Scalar::I64(self.random.below(9) as i64 - 4),
            1 => Scalar::I64(bits as i64),
            2 => Scalar::F64(self.random.of(&[0.0, -0.0, 1.0, -2.5, 1e-9, f64::INFINITY])),
            _ => Scalar::F64(f64::from_bits(bits)),
        }
    }

    fn leaf(&mut self) -> Expr {
        match self.random.below(5) {
            0 => match self.literal() {
                Scalar::F64(x) if x.is_nan() => Expr::Literal(Scalar::F64(-f64::INFINITY)),
                c => Expr::Literal(c),
            },
            1 => Expr::Index(self.var()),
            _ => {
                let order = self.random.below(3);
                let indices = (0..order).map(|_| self.var()).collect();
                Expr::Access(Access { tensor: TensorId::new(order), indices, span: 0..0 })
            }
        }
    }

    fn expr(&mut self, depth: usize) -> Expr {
        if depth == 0 {
            return self.leaf();
        }
        let shape = self.random.below(8);
        let mut operand = || Box::new(self.expr(depth - 1));
        match shape {
            0 => self.leaf(),
            1 => Expr::Unary(UnaryOp::Neg, operand()),
            2 => {
                let operand = operand();
                Expr::Unary(self.random.of(&UnaryOp::ALL), operand)
            }
            3 => self.reduce(depth),
            _ => {
                let (left, right) = (operand(), operand());
                Expr::Binary(self.random.of(&BinaryOp::ALL), left, right)
            }
        }
    }

    fn reduce(&mut self, depth: usize) -> Expr {
        let var = self.var();
        if self.bound.contains(&var) {
            return self.leaf();
        }
        self.bound.push(var);
        let body = Box::new(self.expr(depth - 1));
        self.bound.pop();
        Expr::Reduce { op: self.random.of(&ReduceOp::ALL), vars: vec![var], body }
    }

    fn program(&mut self) -> Program {
        let span = 0..0;
        // The result has every variable that is not reduced, so that each is an index.
        let indices: Vec<IndexVar> = (0..2).map(IndexVar::new).collect();
        self.bound.clone_from(&indices);
        let result = Access { tensor: TensorId::new(3), indices, span: span.clone() };
        let all = VARS.iter().enumerate().map(|(v, _)| IndexVar::new(v)).collect();
        let last = Access { tensor: TensorId::new(4), indices: all, span: span.clone() };
        let value = Box::new(self.expr(5));
        let value = Expr::Binary(BinaryOp::Add, value, Box::new(Expr::Access(last)));
        let choices = [None, Some(ReduceOp::Add), Some(ReduceOp::Min), Some(ReduceOp::Or)];
        let accumulate = self.random.of(&choices);
        let tensor = |(order, name): (usize, &str)| TensorDecl {
            name: name.to_owned(),
            order,
            span: span.clone(),
        };
        let var = |name: &&str| VarDecl { name: (*name).to_owned(), span: span.clone() };
        Program {
            statements: vec![Statement { result, accumulate, value, span: span.clone() }],
            tensors: [(0, "a"), (1, "b"), (2, "C"), (2, "R"), (4, "E")]
                .map(tensor)
                .into_iter()
                .collect(),
            vars: VARS.iter().map(var).collect(),
            ..Program::default()
        }
    }
}

/// An expression with names for ids, which differ between a program and its reading.
fn named(program: &Program, expr: &Expr) -> String {
    let children: Vec<String> = expr.children().iter().map(|e| named(program, e)).collect();
    let var = |v: &IndexVar| program.vars[*v].name.clone();
    let head = match expr {
        Expr::Access(a) => {
            let indices: Vec<String> = a.indices.iter().map(var).collect();
            format!("{}{indices:?}", program.tensors[a.tensor].name)
        }
        Expr::Index(v) => format!("index {}", var(v)),
        Expr::Unary(op, _) => format!("{op:?}"),
        Expr::Binary(op, ..) => format!("{op:?}"),
        Expr::Reduce { op, vars, .. } => {
            format!("{op:?} over {:?}", vars.iter().map(var).collect::<Vec<_>>())
        }
        leaf => format!("{leaf:?}"),
    };
    format!("{head}{children:?}")
}

#[test]
fn printing_then_reading_is_the_identity() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..3000 {
        let program = Grower { random: &mut random, bound: vec![] }.program();
        let text = program.to_string();
        let again = parse(&text).unwrap_or_else(|d| panic!("{d}"));
        let (a, b) = (&program.statements[0], &again.statements[0]);
        assert_eq!(named(&program, &a.value), named(&again, &b.value), "{text}");
        assert_eq!(a.accumulate, b.accumulate, "{text}");
        assert_eq!(again.to_string(), text);
        if let Ok(explicit) = make_explicit(&again) {
            let text = explicit.to_string();
            assert_eq!(parse(&text).map(|p| p.to_string()), Ok(text.clone()), "{text}");
        }
    }
}

#[test]
fn no_text_panics() {
    let seeds = [
        "y(i) = A(i,j) * x(j); z += max(i, y(i)) - 1.5e-3",
        "A(i,j) min= sum(k, l, B(i,k,l) / (C(k) + -2)) >= heaviside(é)",
        "(i, j) -> (j: dense, i: compressed){f32, fill: -inf, pos: i64}",
        "ds:1,0{bool, crd: i32}",
    ];
    let pieces = [
        "(", ")", ",", ";", "=", "+=", "-", "*", "<", "i", "A", "sum(", "min(", "1", ".", "e9",
        "\n", "é", "[", ":", "{", "}", "->", "\0", "\u{2028}", "'", "#",
    ];
    let mut random = Random(42);
    for round in 0..20_000 {
        let mut chars: Vec<char> = seeds[round % seeds.len()].chars().collect();
        for _ in 0..=random.below(6) {
            let (from, to) = (random.below(chars.len() + 1), random.below(chars.len() + 1));
            let piece = random.of(&pieces).chars();
            let text: Vec<char> = match random.below(3) {
                0 => vec![],
                1 => piece.collect(),
                _ => chars[from.min(to)..from.max(to)].iter().copied().chain(piece).collect(),
            };
            let cut = if random.below(8) == 0 { to.max(from) } else { (from + 1).min(chars.len()) };
            chars.splice(from.min(cut)..cut, text.into_iter().take(40));
        }
        let bytes: Vec<u8> = (0..random.below(30)).map(|_| random.below(256) as u8).collect();
        for text in [chars.into_iter().collect(), String::from_utf8_lossy(&bytes).into_owned()] {
            let shown = match parse(&text).and_then(|p| make_explicit(&p)) {
                Ok(program) => program.to_string(),
                Err(diagnostic) => diagnostic.to_string(),
            };
            assert!(!shown.is_empty());
            for order in [None, Some(0), Some(2), Some(3)] {
                match crate::format::parse(&text, order) {
                    Ok(spec) => {
                        let order = Some(spec.format.order());
                        assert_eq!(crate::format::parse(&spec.to_string(), order), Ok(spec));
                    }
                    Err(diagnostic) => assert!(!diagnostic.to_string().is_empty()),
                }
            }
        }
    }
}
