//! Every operator on every register type, one lane and several, on the edges of its domain.

use crate::harness::{Maker, check};
use tamis_ir::algebra::{BinaryOp, UnaryOp};
use tamis_ir::datatype::{Register, Scalar};
use tamis_ir::interpret::{Argument, Buffer};
use tamis_ir::ir::build::{add, binary, int, store};
use tamis_ir::ir::{ArrayRole, Expr, Stmt};

const LANES: [u16; 5] = [1, 2, 4, 8, 16];

const INTS: [i64; 14] =
    [0, 1, -1, 2, -2, 3, -3, 7, -8, i64::MAX, i64::MIN, i64::MIN + 1, 1 << 53, (1 << 62) + 12345];

const FLOATS: [f64; 20] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -2.5,
    3.0,
    -3.0,
    1e-310,
    1e300,
    -1e19,
    9.3e18,
    9223372036854775808.0,
    4294967296.5,
    -0.999,
    0.1,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    f64::MIN_POSITIVE,
];

#[test]
fn unary_operators() {
    for op in UnaryOp::ALL.into_iter().filter(|op| !op.is_of_parts()) {
        for register in registers().filter(|&r| op != UnaryOp::Not && fits(op.needs_float(), r)) {
            each_lanes(register, |x, _| Expr::Unary(op, Box::new(x)), register);
        }
    }
    let not = |x: Expr, _| Expr::Unary(UnaryOp::Not, Box::new(to(Register::Bool, x)));
    each_lanes(Register::I64, not, Register::Bool);
}

#[test]
fn binary_operators() {
    use BinaryOp::{And, Or, Xor};
    for op in BinaryOp::ALL {
        let of_truths = op.is_logical();
        if of_truths {
            let truths = |x, y| binary(op, to(Register::Bool, x), to(Register::Bool, y));
            each_lanes(Register::I64, truths, Register::Bool);
        }
        let of_numbers = !matches!(op, And | Or | Xor);
        for register in registers().filter(|&r| of_numbers && fits(op.needs_float(), r)) {
            let result = if op.is_logical() { Register::Bool } else { register };
            each_lanes(register, |x, y| binary(op, x, y), result);
        }
    }
}

#[test]
fn division_by_constants() {
    for c in [1, 2, 8, 1 << 40, 1 << 62, -1, -4, 0, 3, i64::MIN, i64::MAX] {
        for op in [BinaryOp::Div, BinaryOp::Mod] {
            let by = move |x, _| binary(op, x, int(c));
            run(Register::I64, 1, &by, Register::I64);
        }
    }
}

#[test]
fn conversions() {
    for from in registers() {
        for into in Register::ALL {
            each_lanes(from, |x, _| to(into, x), into);
        }
        let through_truth = |x, _| to(from, to(Register::Bool, x));
        each_lanes(from, through_truth, from);
    }
}

#[test]
fn fused_multiply_add() {
    for register in [Register::F32, Register::F64] {
        let square = |x: Expr, y: Expr| {
            Expr::Fma(
                Box::new(x.clone()),
                Box::new(y.clone()),
                Box::new(binary(BinaryOp::Sub, x, y)),
            )
        };
        each_lanes(register, square, register);
    }
}

#[test]
fn splats_by_lanes() {
    for lanes in LANES.into_iter().skip(1) {
        let third = Expr::Const(Scalar::F64(1.0 / 3.0));
        let scaled = |x, _| {
            let factor = Expr::Splat(Box::new(third.clone()), lanes);
            Expr::Fma(Box::new(factor.clone()), Box::new(x), Box::new(factor))
        };
        run(Register::F64, lanes, &scaled, Register::F64);
        let truth = |x, _| {
            let truth = Expr::Splat(Box::new(Expr::Const(Scalar::Bool(true))), lanes);
            binary(BinaryOp::Xor, truth, to(Register::Bool, x))
        };
        run(Register::I64, lanes, &truth, Register::Bool);
    }
}

#[test]
fn lanes_are_scalars_side_by_side() {
    for register in registers() {
        for lanes in LANES.into_iter().skip(1) {
            let sums = |x: Expr, y: Expr| {
                let lane = |k| {
                    let of = if k % 3 == 0 { x.clone() } else { y.clone() };
                    Expr::Reduce(BinaryOp::Add, Box::new(of))
                };
                Expr::Lanes((0..lanes).map(lane).collect())
            };
            run(register, lanes, &sums, register);
        }
    }
}

#[test]
fn halves_of_lanes_are_combined_first() {
    for register in registers() {
        for op in [BinaryOp::Add, BinaryOp::Min, BinaryOp::Max] {
            if op != BinaryOp::Add && !register.is_float() {
                continue;
            }
            for lanes in LANES {
                let of_two = |x, y| {
                    let one = Expr::Reduce(op, Box::new(binary(BinaryOp::Add, x, y)));
                    Expr::Splat(Box::new(one), lanes)
                };
                let of_one = |x: Expr, _| Expr::Reduce(op, Box::new(x));
                run(register, lanes, if lanes == 1 { &of_one } else { &of_two }, register);
            }
        }
    }
}

#[test]
fn selections() {
    for register in registers() {
        for lanes in LANES {
            let whole = |x: Expr, y: Expr| {
                let c = Expr::Binary(BinaryOp::Lt, Box::new(int(1)), Box::new(int(2)));
                Expr::Select(Box::new(c), Box::new(x), Box::new(y))
            };
            run(register, lanes, &whole, register);
        }
        let lesser = |x: Expr, y: Expr| {
            let c = binary(BinaryOp::Lt, x.clone(), y.clone());
            Expr::Select(Box::new(c), Box::new(x), Box::new(y))
        };
        run(register, 1, &lesser, register);
    }
}

fn registers() -> impl Iterator<Item = Register> {
    Register::ALL.into_iter().filter(|r| *r != Register::Bool)
}

fn fits(needs_float: bool, register: Register) -> bool {
    !needs_float || register.is_float()
}

pub fn to(register: Register, e: Expr) -> Expr {
    Expr::Convert(register, Box::new(e))
}

fn each_lanes(from: Register, f: impl Fn(Expr, Expr) -> Expr, result: Register) {
    for lanes in LANES {
        run(from, lanes, &f, result);
    }
}

/// Applies `f` to all pairs of edge values, so many lanes at a time and off their alignment.
fn run(from: Register, lanes: u16, f: &dyn Fn(Expr, Expr) -> Expr, result: Register) {
    let (x, y) = pairs(from);
    let len = x.len() - 1;
    let mut m = Maker::new();
    let arrays = [m.array(x.elem(), ArrayRole::Input), m.array(y.elem(), ArrayRole::Input)];
    let elem = result.datatype();
    let out = m.array(elem, ArrayRole::Output);
    let i = m.index();
    let load = |n: usize| Expr::Load {
        array: arrays[n],
        index: Box::new(add(Expr::Var(i), int(1))),
        lanes,
    };
    let value = f(load(0), load(1));
    let value = if result == Register::Bool { to(Register::I64, value) } else { value };
    let (lo, hi, step) = (int(0), int(len as i64), i64::from(lanes));
    let f = m.body(vec![Stmt::For {
        var: i,
        lo,
        hi,
        step,
        body: vec![store(out, Expr::Var(i), value)],
    }]);
    check(&f, vec![Argument::Array(x), Argument::Array(y), Argument::Array(Buffer::of(elem, len))]);
}

/// All pairs of edge values, a multiple of 16, behind one element that is not used.
fn pairs(register: Register) -> (Buffer, Buffer) {
    fn all<T: Copy>(values: &[T]) -> (Vec<T>, Vec<T>) {
        let mut pairs = vec![(values[0], values[0])];
        pairs.extend(values.iter().flat_map(|&x| values.iter().map(move |&y| (x, y))));
        pairs.resize((pairs.len() - 1).next_multiple_of(16) + 1, (values[0], values[0]));
        pairs.into_iter().unzip()
    }
    match register {
        Register::F64 => {
            let (x, y) = all(&FLOATS);
            (Buffer::F64(x), Buffer::F64(y))
        }
        Register::F32 => {
            let (x, y) = all(&FLOATS.map(|x| x as f32));
            (Buffer::F32(x), Buffer::F32(y))
        }
        Register::U64 => {
            let (x, y) = all(&INTS.map(i64::cast_unsigned));
            (Buffer::U64(x), Buffer::U64(y))
        }
        Register::I64 | Register::Bool => {
            let (x, y) = all(&INTS);
            (Buffer::I64(x), Buffer::I64(y))
        }
    }
}
