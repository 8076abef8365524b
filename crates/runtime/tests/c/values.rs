//! Constants, and integer arithmetic that must be of 64 bit whatever its operands are in C.

use crate::case::Case;
use tamis_ir::algebra::{BinaryOp, UnaryOp};
use tamis_ir::datatype::{DataType, Register, Scalar};
use tamis_ir::interpret::Buffer;
use tamis_ir::ir::Expr;
use tamis_ir::ir::build::{binary, int, load, store};

pub fn cases() -> Vec<Case> {
    vec![constants(), products(), powers(), folding()]
}

/// Stores each value in an output of its own.
fn record(case: &mut Case, values: Vec<Expr>) {
    for (k, value) in values.into_iter().enumerate() {
        let register = case.function.type_of(&value).register;
        let out = case.output(&format!("out{k}"), register.datatype(), 1);
        let value = match register {
            Register::Bool => Expr::Convert(Register::I64, Box::new(value)),
            _ => value,
        };
        case.push(store(out, int(0), value));
    }
}

fn constants() -> Case {
    let mut case = Case::new("compute_constants");
    let integers = [
        0,
        -1,
        i64::from(i32::MAX),
        i64::from(i32::MAX) + 1,
        i64::from(i32::MIN),
        i64::from(i32::MIN) - 1,
        i64::from(u32::MAX),
        i64::MAX,
        i64::MIN,
        i64::MIN + 1,
    ];
    let doubles = [
        0.0,
        -0.0,
        0.1,
        -1.5,
        5e-324,
        -5e-324,
        f64::MAX,
        f64::MIN_POSITIVE,
        1e22,
        9007199254740993.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    let floats =
        [0.1f32, -0.0, 16777217.0, f32::MAX, 1e-45, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    let mut values: Vec<Scalar> = integers.map(Scalar::I64).to_vec();
    values.extend(integers.map(|x| Scalar::U64(x.cast_unsigned())));
    values.extend(doubles.map(Scalar::F64));
    values.extend(floats.map(Scalar::F32));
    values.extend([true, false].map(Scalar::Bool));
    let mut exprs: Vec<Expr> = values.iter().map(|&c| Expr::Const(c)).collect();
    for &c in &values {
        exprs.push(Expr::Unary(UnaryOp::Neg, Box::new(Expr::Const(c))));
        exprs.push(Expr::Unary(UnaryOp::Not, Box::new(Expr::Const(c))));
        for to in Register::ALL {
            exprs.push(Expr::Convert(to, Box::new(Expr::Const(c))));
        }
    }
    record(&mut case, exprs);
    case
}

/// Products of operands that C would multiply in 32 bit.
fn products() -> Case {
    let mut case = Case::new("compute_products");
    let narrow = case.input("narrow", Buffer::I32(vec![i32::MAX, i32::MIN, 100_000]));
    let bools = case.input("bools", Buffer::Bool(vec![1, 0]));
    let wide = case.input("wide", Buffer::I64(vec![i64::MIN, -1, 0]));
    let at = |k| load(narrow, int(k));
    let same = |e: Expr| Expr::Convert(Register::I64, Box::new(e));
    let negated = |e: Expr| Expr::Unary(UnaryOp::Neg, Box::new(e));
    let flag = Expr::Convert(Register::I64, Box::new(binary(BinaryOp::Lt, at(1), at(0))));
    let leaves = vec![
        at(0),
        at(1),
        same(at(1)),
        int(100_000),
        negated(int(100_000)),
        same(int(2_000_000_000)),
        int(i64::from(i32::MIN)),
        load(bools, int(0)),
        Expr::Unary(UnaryOp::Not, Box::new(load(bools, int(1)))),
        load(wide, int(0)),
        load(wide, int(1)),
        load(wide, int(2)),
        int(i64::MIN),
        int(i64::MAX),
        flag,
    ];
    let ops = BinaryOp::ALL.into_iter().filter(|op| {
        !op.needs_float() && !matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor)
    });
    let mut values: Vec<Expr> = vec![];
    for op in ops {
        for a in &leaves {
            for b in &leaves {
                values.push(binary(op, a.clone(), b.clone()));
            }
        }
    }
    for op in [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul] {
        values.extend(leaves.iter().map(|a| negated(binary(op, a.clone(), a.clone()))));
        let nested = |a: &Expr| binary(op, a.clone(), binary(op, int(65_536), int(65_536)));
        values.extend(leaves.iter().map(nested));
    }
    // In one array, since a thousand parameters are no function.
    let out = case.output("out", DataType::I64, values.len());
    for (k, value) in values.into_iter().enumerate() {
        let value = match case.function.type_of(&value).register {
            Register::Bool => Expr::Convert(Register::I64, Box::new(value)),
            _ => value,
        };
        case.push(store(out, int(k as i64), value));
    }
    case
}

/// Floats beside constants, which compilers simplify by what they know of the other operand: that it is an
/// integer, a truth value or has no sign.
fn folding() -> Case {
    let mut case = Case::new("compute_folding");
    let floats = [0.0, -0.0, 1.0, -2.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324];
    let n = floats.len();
    let floats = case.input("floats", Buffer::F64(floats.to_vec()));
    let wholes = case.input("wholes", Buffer::I64(vec![0, 1, -1, 2, i64::MIN, i64::MAX, 7, -7]));
    let i = case.index("i");
    let at = |array| load(array, Expr::Var(i));
    let double = |e: Expr| Expr::Convert(Register::F64, Box::new(e));
    let constant = |c: f64| Expr::Const(Scalar::F64(c));
    let unary = |op, e| Expr::Unary(op, Box::new(e));
    let operands = [
        at(floats),
        double(at(wholes)),
        double(binary(BinaryOp::Eq, at(floats), constant(0.0))),
        unary(UnaryOp::Abs, at(floats)),
        unary(UnaryOp::Sqrt, at(floats)),
        unary(UnaryOp::Neg, double(at(wholes))),
        binary(BinaryOp::Mul, at(floats), at(floats)),
        Expr::Convert(Register::F64, Box::new(Expr::Convert(Register::F32, Box::new(at(floats))))),
    ];
    let ops =
        [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Min, BinaryOp::Max];
    let constants = [0.0, -0.0, 1.0, -1.0, f64::INFINITY].map(constant);
    let mut values = vec![];
    for operand in operands {
        for (op, c) in ops.iter().flat_map(|&op| constants.iter().map(move |c| (op, c))) {
            values.push(binary(op, c.clone(), operand.clone()));
            values.push(binary(op, operand.clone(), c.clone()));
        }
    }
    let out = case.output("out", DataType::F64, n * values.len());
    for (k, value) in values.into_iter().enumerate() {
        case.each(i, n, 1, (out, k * n), value);
    }
    case
}

/// Powers with constant exponents, which compilers like to write as products.
fn powers() -> Case {
    let mut case = Case::new("compute_powers");
    let n = 4000;
    let bases: Vec<f64> = (1..=n).map(|k| f64::from(k) * 0.000_731 + 0.01).collect();
    let singles = bases.iter().map(|&x| x as f32).collect();
    let i = case.index("i");
    let doubles = case.input("doubles", Buffer::F64(bases));
    let singles = case.input("singles", Buffer::F32(singles));
    for exponent in [2.0, -1.0, 0.5, -2.0, 3.0] {
        let at = |array| load(array, Expr::Var(i));
        let power = binary(BinaryOp::Pow, at(doubles), Expr::Const(Scalar::F64(exponent)));
        let out = case.output(&format!("out{exponent}"), DataType::F64, n as usize);
        case.each(i, n as usize, 1, (out, 0), power);
        let power = binary(BinaryOp::Pow, at(singles), Expr::Const(Scalar::F32(exponent as f32)));
        let out = case.output(&format!("single{exponent}"), DataType::F32, n as usize);
        case.each(i, n as usize, 1, (out, 0), power);
    }
    let of_two = binary(BinaryOp::Pow, Expr::Const(Scalar::F64(2.0)), load(doubles, Expr::Var(i)));
    let out = case.output("of_two", DataType::F64, n as usize);
    case.each(i, n as usize, 1, (out, 0), of_two);
    case
}
