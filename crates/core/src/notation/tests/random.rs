//! Random programs print and read back; random texts are read or refused.

use crate::notation::{
    Access, Expr, IndexVarDecl, Program, Slice, Slicing, Statement, TensorDecl, make_explicit,
    parse,
};
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp};
use tamis_ir::datatype::Scalar;
use tamis_ir::ids::{Id, IndexVar, Mode, TensorId};

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
        match self.random.below(5) {
            4 => Scalar::C128([0.0, self.random.of(&[0.0, -0.0, 1.5, -2.0, f64::INFINITY])]),
            0 => Scalar::I64(self.random.below(9) as i64 - 4),
            1 => Scalar::I64(bits as i64),
            2 => Scalar::F64(self.random.of(&[0.0, -0.0, 1.0, -2.5, 1e-9, f64::INFINITY])),
            _ => Scalar::F64(f64::from_bits(bits)),
        }
    }

    fn slice(&mut self) -> Option<Slicing> {
        let mut bound = |least: usize| {
            let bound = (least + self.random.below(5)) as u64;
            (self.random.below(3) > 0).then_some(bound)
        };
        let (lo, hi) = (bound(0), bound(4));
        let slice = match self.random.below(6) {
            0 => Slice::Range { start: lo, end: hi, step: self.random.of(&[1, 2, 7]) },
            1 => Slice::Range { start: hi, end: lo, step: self.random.of(&[-1, -3]) },
            2 => Slice::Set(vec![1, 3, 4 + self.random.below(9) as u64]),
            _ => return None,
        };
        Some(Slicing::Taken(slice))
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
                let slices = (0..order).filter_map(|k| Some((Mode::new(k), self.slice()?)));
                let slices = slices.collect();
                Expr::Access(Access { tensor: TensorId::new(order), indices, slices, span: 0..0 })
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
        let result = Access::of(TensorId::new(3), indices);
        let all = VARS.iter().enumerate().map(|(v, _)| IndexVar::new(v)).collect();
        let last = Access::of(TensorId::new(4), all);
        let value = Box::new(self.expr(5));
        let value = Expr::Binary(BinaryOp::Add, value, Box::new(Expr::Access(last)));
        let choices = [None, Some(ReduceOp::Add), Some(ReduceOp::Min), Some(ReduceOp::Or)];
        let accumulate = self.random.of(&choices);
        let tensor = |(order, name): (usize, &str)| TensorDecl {
            name: name.to_owned(),
            order,
            span: span.clone(),
        };
        let var = |name: &&str| IndexVarDecl { name: (*name).to_owned(), span: span.clone() };
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
            format!("{}{indices:?}{:?}", program.tensors[a.tensor].name, a.slices)
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
        "A(i[2:8],j) = B(i[{1,3,5}],j[::-2]) + B(i[4:],j[:7])",
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
