//! Statements: loops, branches, growing arrays, fills, sorts and failures.

use crate::harness::{Maker, check, machine};
use crate::operators::to;
use tamis_ir::algebra::{BinaryOp, UnaryOp};
use tamis_ir::datatype::{DataType, Register, Scalar};
use tamis_ir::ids::{Array, Var};
use tamis_ir::interpret::{Argument, Buffer};
use tamis_ir::ir::build::{
    add, all, assign, binary, eq, for_loop, int, load, lt, mul, store, when,
};
use tamis_ir::ir::{ArrayRole, Expr, Function, Status, Stmt};

fn var(v: Var) -> Expr {
    Expr::Var(v)
}

fn nothing(elem: DataType) -> Argument {
    Argument::Array(Buffer::of(elem, 0))
}

fn i64s(values: impl IntoIterator<Item = i64>) -> Argument {
    Argument::Array(Buffer::I64(values.into_iter().collect()))
}

#[test]
fn loops_run_from_the_lower_bound_to_before_the_upper() {
    let bounds =
        [(0, 5), (3, 3), (5, 2), (-4, 4), (i64::MAX - 3, i64::MAX), (i64::MIN, i64::MIN + 2)];
    for (lo, hi) in bounds {
        for step in [1, 2, 3, 1000] {
            let f = counting(step);
            let (_, arrays) = machine(&f, vec![i64s([0; 2]), i64s([lo, hi])]);
            let expected = match lo < hi {
                true => 1 + (i128::from(hi) - 1 - i128::from(lo)) / i128::from(step),
                false => 0,
            };
            let last = i128::from(lo) + (expected - 1).max(0) * i128::from(step);
            let last = if expected > 0 { last } else { 0 };
            assert_eq!(
                arrays[0],
                Buffer::I64(vec![expected as i64, last as i64]),
                "{lo}..{hi} by {step}"
            );
        }
    }
}

/// Stores how often a loop ran and its last index.
fn counting(step: i64) -> Function {
    let mut m = Maker::new();
    let out = m.array(DataType::I64, ArrayRole::Output);
    let bounds = m.array(DataType::I64, ArrayRole::Input);
    let (i, n, last) = (m.index(), m.index(), m.index());
    let body = vec![assign(n, add(var(n), int(1))), assign(last, var(i))];
    let (lo, hi) = (load(bounds, int(0)), load(bounds, int(1)));
    m.body(vec![
        assign(n, int(0)),
        assign(last, int(0)),
        Stmt::For { var: i, lo, hi, step, body },
        store(out, int(0), var(n)),
        store(out, int(1), var(last)),
    ])
}

#[test]
fn bounds_are_evaluated_once() {
    let mut m = Maker::new();
    let out = m.array(DataType::I64, ArrayRole::Output);
    let (i, hi, n) = (m.index(), m.index(), m.index());
    let body = vec![assign(hi, add(var(hi), int(1))), assign(n, add(var(n), var(i)))];
    let f = m.body(vec![
        assign(hi, int(4)),
        assign(n, int(0)),
        for_loop(i, int(0), var(hi), body),
        store(out, int(0), var(n)),
        store(out, int(1), var(hi)),
    ]);
    let (_, arrays) = check(&f, vec![i64s([0; 2])]);
    assert_eq!(arrays[0], Buffer::I64(vec![6, 8]));
}

/// Merges two sorted lists: a loop with a conjunction and branches within branches.
#[test]
fn merging_two_lists() {
    let mut m = Maker::new();
    let (a, b) =
        (m.array(DataType::I32, ArrayRole::Input), m.array(DataType::I32, ArrayRole::Input));
    let (out, count) =
        (m.array(DataType::I64, ArrayRole::Output), m.array(DataType::I64, ArrayRole::Output));
    let (p, q, n, k) = (m.index(), m.index(), m.index(), m.index());
    let within = all([lt(var(p), Expr::Len(a)), lt(var(q), Expr::Len(b))]);
    let step = |v: Var| assign(v, add(var(v), int(1)));
    let emit = |m: &mut Vec<Stmt>, tag: i64| {
        m.push(store(out, var(n), add(mul(var(k), int(10)), int(tag))));
        m.push(step(n));
    };
    let (mut both, mut left, mut right) = (vec![], vec![], vec![]);
    emit(&mut both, 3);
    both.extend([step(p), step(q)]);
    emit(&mut left, 1);
    left.push(step(p));
    emit(&mut right, 2);
    right.push(step(q));
    let is = |array: Array, at: Var| eq(load(array, var(at)), var(k));
    let inner = Stmt::If { cond: is(a, p), then: left, otherwise: right };
    let outer = Stmt::If { cond: all([is(a, p), is(b, q)]), then: both, otherwise: vec![inner] };
    let smaller = binary(BinaryOp::Min, load(a, var(p)), load(b, var(q)));
    let body = vec![assign(k, smaller), outer];
    let zero = [p, q, n].map(|v| assign(v, int(0)));
    let mut stmts = zero.to_vec();
    stmts.push(Stmt::While { cond: within, body });
    stmts.push(store(count, int(0), var(n)));
    let f = m.body(stmts);
    let list = |v: &[i32]| Argument::Array(Buffer::I32(v.to_vec()));
    let arguments = vec![list(&[1, 3, 4, 8]), list(&[2, 3, 8, 9]), i64s([0; 8]), i64s([0])];
    let (_, arrays) = check(&f, arguments);
    assert_eq!(arrays[2], Buffer::I64(vec![11, 22, 33, 41, 83, 0, 0, 0]));
    assert_eq!(arrays[3], Buffer::I64(vec![5]));
}

#[test]
fn the_second_condition_waits_for_the_first() {
    let mut m = Maker::new();
    let (a, out) =
        (m.array(DataType::I64, ArrayRole::Input), m.array(DataType::I64, ArrayRole::Output));
    let p = m.index();
    // The load is outside the array when the first condition fails: the interpreter would object.
    let both = all([lt(var(p), Expr::Len(a)), eq(load(a, var(p)), int(7))]);
    let body = vec![store(out, var(p), to(Register::I64, both))];
    let f = m.body(vec![for_loop(p, int(0), int(4), body)]);
    let (_, arrays) = check(&f, vec![i64s([7, 8]), i64s([9; 4])]);
    assert_eq!(arrays[1], Buffer::I64(vec![1, 0, 0, 0]));
}

#[test]
fn appending_grows_results_and_locals() {
    for elem in DataType::ALL.into_iter().filter(|t| !t.is_complex()) {
        let mut m = Maker::new();
        let (result, local) = (m.array(elem, ArrayRole::Result), m.array(elem, ArrayRole::Local));
        let (i, n) = (m.index(), m.scalar_param(Register::I64));
        let value = |e: Expr| match elem.register() {
            register if register.is_float() && elem.size() > 2 => to(register, e),
            register => to(register, binary(BinaryOp::Mod, e, int(2))),
        };
        let reserve = |array| Stmt::Reserve { array, len: add(var(i), int(1)) };
        let append = vec![reserve(local), store(local, var(i), value(var(i)))];
        let copy = vec![reserve(result), store(result, var(i), load(local, var(i)))];
        let loops = [append, copy].map(|body| for_loop(i, int(0), var(n), body));
        let f = m.body(loops.to_vec());
        let len = 1_500_000;
        let arguments = vec![nothing(elem), Argument::Scalar(Scalar::I64(len))];
        let (status, arrays) = machine(&f, arguments);
        assert_eq!(status, Status::Ok);
        assert!((len as usize..3 * len as usize).contains(&arrays[0].len()));
        let at = |k: usize| arrays[0].get(k).as_f64();
        let counts = elem.is_float() && elem.size() > 2;
        let truth = |k: usize| if counts { k as f64 } else { (k % 2) as f64 };
        assert!((0..len as usize).all(|k| at(k) == truth(k)), "{elem}");
    }
}

#[test]
fn reserving_what_cannot_be_had_fails() {
    let mut m = Maker::new();
    let result = m.array(DataType::F64, ArrayRole::Result);
    let out = m.array(DataType::I64, ArrayRole::Output);
    let n = m.scalar_param(Register::I64);
    let f = m.body(vec![
        Stmt::Reserve { array: result, len: int(3) },
        store(result, int(2), Expr::Const(Scalar::F64(5.0))),
        Stmt::Reserve { array: result, len: var(n) },
        store(out, int(0), Expr::Len(result)),
    ]);
    let run = |len: i64| {
        machine(&f, vec![nothing(DataType::F64), i64s([-1]), Argument::Scalar(Scalar::I64(len))])
    };
    for len in [-1, i64::MIN, i64::MAX, 1 << 60, 1 << 55] {
        let (status, arrays) = run(len);
        assert_eq!(status, Status::OutOfMemory, "{len}");
        assert_eq!(arrays[1], Buffer::I64(vec![-1]));
    }
    let (status, arrays) = run(100);
    let Buffer::F64(kept) = &arrays[0] else { return };
    assert_eq!((status, kept[2]), (Status::Ok, 5.0));
    assert_eq!(arrays[1], Buffer::I64(vec![kept.len() as i64]));
}

#[test]
fn failing_ends_the_call() {
    for status in Status::ALL {
        let mut m = Maker::new();
        let out = m.array(DataType::I64, ArrayRole::Output);
        let i = m.index();
        let body = vec![
            store(out, int(0), var(i)),
            when(eq(var(i), int(3)), vec![Stmt::Fail(status), store(out, int(0), int(99))]),
        ];
        let after = store(out, int(1), int(1));
        let f = m.body(vec![for_loop(i, int(0), int(10), body), after]);
        let (got, arrays) = check(&f, vec![i64s([0; 2])]);
        assert_eq!((got, &arrays[0]), (status, &Buffer::I64(vec![3, 0])));
    }
}

#[test]
fn fills_of_every_type_and_range() {
    let values = [0.0, -0.0, 1.0, f64::NAN, -7.5];
    for elem in DataType::ALL.into_iter().filter(|t| !t.is_complex()) {
        for (lo, hi) in [(0, 0), (1, 2), (3, 100), (5, 2), (0, 257)] {
            for x in values {
                let value = Scalar::F64(x).convert(elem.register());
                let value = if elem.holds(value) { value } else { Scalar::I64(1) };
                let mut m = Maker::new();
                let out = m.array(elem, ArrayRole::Output);
                let fill =
                    Stmt::Fill { array: out, lo: int(lo), hi: int(hi), value: Expr::Const(value) };
                let f = m.body(vec![fill]);
                check(&f, vec![Argument::Array(Buffer::of(elem, 257))]);
            }
        }
    }
}

#[test]
fn hints_may_be_of_what_is_not_there() {
    for elem in DataType::ALL.into_iter().filter(|t| !t.is_complex()) {
        let mut m = Maker::new();
        let (a, out) = (m.array(elem, ArrayRole::Input), m.array(DataType::I64, ArrayRole::Output));
        let i = m.index();
        let far = |by: i64| add(mul(var(i), int(1 << 40)), int(by));
        let hint = |index| Stmt::Prefetch { array: a, index, far: false };
        let body =
            vec![hint(var(i)), hint(far(1 << 50)), hint(far(-7)), store(out, var(i), var(i))];
        let before = Stmt::Prefetch { array: a, index: int(-1), far: true };
        let f = m.body(vec![before, for_loop(i, int(0), int(5), body)]);
        let (_, arrays) = check(&f, vec![Argument::Array(Buffer::of(elem, 3)), i64s([9; 5])]);
        assert_eq!(arrays[1], Buffer::I64(vec![0, 1, 2, 3, 4]));
    }
}

#[test]
fn neighbours_are_loaded_at_once() {
    for elem in DataType::ALL.into_iter().filter(|t| !t.is_complex() && !t.is_float()) {
        let mut m = Maker::new();
        let (a, out) = (m.array(elem, ArrayRole::Input), m.array(elem, ArrayRole::Output));
        let i = m.index();
        let vars = [(); 3].map(|()| m.var(elem.register(), 1));
        let loads = |at: i64| load(a, add(var(i), int(at)));
        let mut body: Vec<Stmt> =
            vars.iter().zip([0, 1, 2]).map(|(v, at)| assign(*v, loads(at))).collect();
        body.extend(vars.iter().rev().map(|v| store(out, var(i), var(*v))));
        body.push(store(out, add(var(i), int(2)), var(vars[1])));
        let f = m.body(vec![for_loop(i, int(0), int(4), body)]);
        let values = [-1.0, 3.0, 4_000_000_000.0, -2_147_483_648.0, 0.0, 7.0];
        let fitting = |x: f64| {
            let x = Scalar::F64(x).convert(elem.register());
            if elem.holds(x) { x } else { Scalar::I64(1).convert(elem.register()) }
        };
        let numbers =
            Buffer::holding(elem, &values.map(fitting)).unwrap_or_else(|| panic!("{elem}"));
        let arguments = [numbers, Buffer::of(elem, 6)].map(Argument::Array);
        check(&f, arguments.into());
    }
}

/// What a loop that does not run would load stays unread, wherever it may be.
#[test]
fn loads_stay_in_their_loops() {
    for lanes in [1, 8] {
        let mut m = Maker::new();
        let n = m.scalar_param(Register::I64);
        let (a, out) =
            (m.array(DataType::F64, ArrayRole::Input), m.array(DataType::F64, ArrayRole::Output));
        let (i, j) = (m.index(), m.index());
        let sum = m.var(Register::F64, lanes);
        let far = Expr::Load { array: a, index: Box::new(add(var(j), int(1 << 40))), lanes };
        let near = Expr::Load { array: a, index: Box::new(mul(var(i), var(n))), lanes };
        let step = |value| assign(sum, binary(BinaryOp::Add, var(sum), value));
        let inner = for_loop(i, int(0), var(n), vec![step(far), step(near)]);
        let whole =
            if lanes > 1 { Expr::Reduce(BinaryOp::Add, Box::new(var(sum))) } else { var(sum) };
        let zero = Expr::Const(Scalar::F64(0.0));
        let zero = if lanes > 1 { Expr::Splat(Box::new(zero), lanes) } else { zero };
        let body = vec![assign(sum, zero), inner, store(out, var(j), whole)];
        let f = m.body(vec![for_loop(j, int(0), int(3), body)]);
        let arguments = vec![
            Argument::Scalar(Scalar::I64(0)),
            Argument::Array(Buffer::F64(vec![])),
            Argument::Array(Buffer::F64(vec![1.0; 3])),
        ];
        let (_, arrays) = check(&f, arguments);
        assert_eq!(arrays[1], Buffer::F64(vec![0.0; 3]));
    }
}

#[test]
fn sorts_are_stable_for_any_keys() {
    let key_types: [&[DataType]; 6] = [
        &[DataType::I32],
        &[DataType::I64],
        &[DataType::I32, DataType::I32],
        &[DataType::I64, DataType::I32],
        &[DataType::I64, DataType::I64, DataType::I64],
        &[DataType::I32, DataType::I32, DataType::I32, DataType::I32],
    ];
    let carried: [&[DataType]; 6] = [
        &[],
        &[DataType::U8],
        &[DataType::I16, DataType::U64, DataType::F16],
        &[DataType::I64],
        &[DataType::F64, DataType::I32],
        &[DataType::Bool, DataType::F32, DataType::I64],
    ];
    for keys in key_types {
        for carried in carried {
            for (len, largest) in [
                (0, 1),
                (1, 1),
                (2, 9),
                (17, 5),
                (48, 1000),
                (66, 7),
                (300, 3),
                (3000, 100),
                (70_000, 50),
                (5000, i64::MAX),
            ] {
                sort(keys, carried, len, largest);
            }
        }
    }
}

/// Sorts all but the first and the last of so many random records.
fn sort(keys: &[DataType], carried: &[DataType], len: usize, largest: i64) {
    let mut m = Maker::new();
    let mut out = |elems: &[DataType]| -> Vec<Array> {
        elems.iter().map(|&e| m.array(e, ArrayRole::Output)).collect()
    };
    let (keys_out, carried_out) = (out(keys), out(carried));
    let elems: Vec<DataType> = [keys, carried].concat();
    let outs: Vec<Array> = keys_out.iter().chain(&carried_out).copied().collect();
    let inputs: Vec<Array> = elems.iter().map(|&e| m.array(e, ArrayRole::Input)).collect();
    let i = m.index();
    let copy = outs.iter().zip(&inputs).map(|(&o, &a)| store(o, var(i), load(a, var(i)))).collect();
    let all = for_loop(i, int(0), int(len as i64), copy);
    let (lo, hi) = (int(1), int(len as i64 - 1));
    let f = m.body(vec![all, Stmt::Sort { keys: keys_out, carried: carried_out, lo, hi }]);
    let mut state = 1u64;
    let mut arguments: Vec<Argument> =
        elems.iter().map(|&e| Argument::Array(Buffer::of(e, len))).collect();
    for (k, &elem) in elems.iter().enumerate() {
        let mut next = |n: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let random = (state >> 1) as i64 % largest;
            if k < keys.len() { random } else { n as i64 }
        };
        let column: Vec<i64> = (0..len).map(&mut next).collect();
        let most = elem.integers().map_or(i128::from(i64::MAX), |all| *all.end());
        let fitting = |&x: &i64| (i128::from(x) % (most + 1)) as i64;
        let column: Vec<Scalar> =
            column.iter().map(|x| Scalar::I64(fitting(x)).convert(elem.register())).collect();
        arguments.push(Argument::Array(Buffer::holding(elem, &column).unwrap()));
    }
    check(&f, arguments);
}

#[test]
fn scalars_pass_by_value() {
    let mut m = Maker::new();
    let (x, y) = (m.scalar_param(Register::F64), m.scalar_param(Register::F32));
    let out = m.array(DataType::F64, ArrayRole::Output);
    let (b, n) = (m.scalar_param(Register::Bool), m.scalar_param(Register::I64));
    let f = m.body(vec![
        store(out, int(0), var(x)),
        store(out, int(1), to(Register::F64, var(y))),
        store(out, int(2), to(Register::F64, var(b))),
        store(out, int(3), to(Register::F64, var(n))),
        Stmt::Comment("done".to_owned()),
    ]);
    let arguments = vec![
        Argument::Scalar(Scalar::F64(-1.5)),
        Argument::Scalar(Scalar::F32(0.1)),
        Argument::Array(Buffer::of(DataType::F64, 4)),
        Argument::Scalar(Scalar::Bool(true)),
        Argument::Scalar(Scalar::I64(-9)),
    ];
    let (_, arrays) = check(&f, arguments);
    assert_eq!(arrays[0], Buffer::F64(vec![-1.5, f64::from(0.1f32), 1.0, -9.0]));
}

/// Vectors in variables, loaded from and stored to narrower elements.
#[test]
fn vectors_widen_and_narrow() {
    for elem in DataType::ALL.into_iter().filter(|t| !t.is_complex()) {
        for lanes in [2u16, 4, 8] {
            let mut m = Maker::new();
            let (a, out) = (m.array(elem, ArrayRole::Input), m.array(elem, ArrayRole::Output));
            let (i, v) = (m.index(), m.var(elem.register(), lanes));
            let wide = Expr::Load { array: a, index: Box::new(add(var(i), int(1))), lanes };
            let one = Scalar::I64(1).convert(elem.register());
            let one = Expr::Splat(Box::new(Expr::Const(one)), lanes);
            let body =
                vec![assign(v, binary(BinaryOp::Min, wide, one)), store(out, var(i), var(v))];
            let (lo, hi, step) = (int(0), int(16), i64::from(lanes));
            let f = m.body(vec![Stmt::For { var: i, lo, hi, step, body }]);
            let least = elem.integers().map_or(-8, |all| (*all.start()).max(-8) as i64);
            let values =
                (least..least + 17).map(|x| if elem == DataType::Bool { x % 2 } else { x });
            let values: Vec<Scalar> =
                values.map(|x| Scalar::I64(x).convert(elem.register())).collect();
            let input = Buffer::holding(elem, &values).unwrap();
            check(&f, vec![Argument::Array(input), Argument::Array(Buffer::of(elem, 16))]);
        }
    }
}

/// The interpreter has no masks, so the lanes are compared here.
#[test]
fn lanes_are_selected_by_masks() {
    for lanes in [2u16, 4, 8] {
        let mut m = Maker::new();
        let (a, b) =
            (m.array(DataType::F64, ArrayRole::Input), m.array(DataType::F64, ArrayRole::Input));
        let (keys, out) =
            (m.array(DataType::F32, ArrayRole::Input), m.array(DataType::F64, ArrayRole::Output));
        let i = m.index();
        let wide = |array| Box::new(Expr::Load { array, index: Box::new(var(i)), lanes });
        let less = Box::new(Expr::Binary(BinaryOp::Lt, wide(a), wide(b)));
        let zero = Box::new(Expr::Splat(Box::new(Expr::Const(Scalar::F32(0.0))), lanes));
        let positive = Box::new(Expr::Binary(BinaryOp::Gt, wide(keys), zero));
        let by_mask = Box::new(Expr::Select(less.clone(), wide(a), wide(b)));
        let mixed = Box::new(Expr::Binary(BinaryOp::And, less, positive));
        let value = Expr::Select(mixed, wide(b), by_mask);
        let (lo, hi, step) = (int(0), int(8), i64::from(lanes));
        let f =
            m.body(vec![Stmt::For { var: i, lo, hi, step, body: vec![store(out, var(i), value)] }]);
        let (x, y) = ([1., 5., 2., 6., f64::NAN, 3., 0., 9.], [2., 4., 3., 5., 1., 8., -0., 9.5]);
        let k = [1f32, 1., -1., -1., 1., 1., -1., -1.];
        let arguments = vec![
            Argument::Array(Buffer::F64(x.to_vec())),
            Argument::Array(Buffer::F64(y.to_vec())),
            Argument::Array(Buffer::F32(k.to_vec())),
            Argument::Array(Buffer::of(DataType::F64, 8)),
        ];
        let (_, arrays) = machine(&f, arguments);
        let expected = (0..8).map(|n| match (x[n] < y[n], k[n] > 0.0) {
            (true, true) | (false, _) => y[n],
            (true, false) => x[n],
        });
        assert_eq!(arrays[3], Buffer::F64(expected.collect()));
    }
}

/// Masks joined by every truth operator, over floats and integers of the same width.
#[test]
fn masks_are_joined() {
    type Join = (BinaryOp, fn(bool, bool) -> bool);
    let joins: [Join; 3] = [
        (BinaryOp::And, |a, b| !a && b),
        (BinaryOp::Or, |a, b| !a || b),
        (BinaryOp::Xor, |a, b| a == b),
    ];
    let (x, n) = ([0.5, f64::NAN, -1.0, 2.0], [3i64, -4, -5, 6]);
    for (op, join) in joins {
        let mut m = Maker::new();
        let (a, b) =
            (m.array(DataType::F64, ArrayRole::Input), m.array(DataType::I64, ArrayRole::Input));
        let out = m.array(DataType::F64, ArrayRole::Output);
        let wide = |array| Expr::Load { array, index: Box::new(int(0)), lanes: 4 };
        let splat = |c| Expr::Splat(Box::new(Expr::Const(c)), 4);
        let positive = binary(BinaryOp::Gt, wide(a), splat(Scalar::F64(0.0)));
        let not = Expr::Unary(UnaryOp::Not, Box::new(positive));
        let below = binary(BinaryOp::Lt, wide(b), splat(Scalar::I64(4)));
        let cond = Box::new(binary(op, not, below));
        let (yes, no) = (splat(Scalar::F64(1.0)), wide(a));
        let value = Expr::Select(cond, Box::new(yes), Box::new(no));
        let f = m.body(vec![store(out, int(0), value)]);
        let arguments = vec![
            Argument::Array(Buffer::F64(x.to_vec())),
            i64s(n),
            Argument::Array(Buffer::of(DataType::F64, 4)),
        ];
        let (_, arrays) = machine(&f, arguments);
        let Buffer::F64(got) = &arrays[2] else { return };
        for k in 0..4 {
            let want = if join(x[k] > 0.0, n[k] < 4) { 1.0 } else { x[k] };
            assert_eq!(got[k].to_bits(), want.to_bits(), "{} {k}", op.name());
        }
    }
}
