//! Every statement, where C could part from the interpreter.

use crate::case::Case;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::datatype::{DataType, Register, Scalar};
use tamis_ir::ids::{Array, Var};
use tamis_ir::interpret::Buffer;
use tamis_ir::ir::build::{add, assign, binary, for_loop, int, load, lt, mul, store, when};
use tamis_ir::ir::{Expr, Status, Stmt, Type};

pub fn cases() -> Vec<Case> {
    let mut cases = vec![
        sort(DataType::I32),
        sort(DataType::I64),
        sort(DataType::Bool),
        sort_lists(DataType::I32),
        sort_lists(DataType::I64),
        fill(),
        hints(),
        streamed(DataType::F64, Buffer::F64((0..64).map(f64::from).collect())),
        streamed(DataType::F32, Buffer::F32((0..64u8).map(f32::from).collect())),
        neighbours(DataType::I32, Buffer::I32(vec![-1, i32::MIN, 5, i32::MAX])),
        neighbours(DataType::U32, Buffer::U32(vec![u32::MAX, 1 << 31, 5, 0])),
        bounds(),
        carried(),
        branches(),
        growth(),
        refused(),
        failure(),
        unused(),
        scalars(),
    ];
    let elems = [DataType::F32, DataType::F64, DataType::I32, DataType::I64];
    for (elem, group) in elems.into_iter().flat_map(|elem| (1..=4).map(move |n| (elem, n))) {
        cases.push(groups_of_either(elem, group));
    }
    cases
}

/// Groups of neighbouring elements, from one array or the other by a condition. Compilers make masked loads of them;
/// GCC 12 masks whole groups as if they were single elements.
fn groups_of_either(elem: DataType, group: i64) -> Case {
    let mut case = Case::new(&format!("compute_groups_{elem}_{group}"));
    let (n, i) = (40, case.index("i"));
    let size = case.scalar("size", Scalar::I64(n));
    let flags = case.input("flags", Buffer::I64((0..n).map(|k| k * 7 % 3).collect()));
    let values = |first: i64| {
        let all = first..first + n * group;
        match elem {
            DataType::F32 => Buffer::F32(all.map(|x| x as f32).collect()),
            DataType::F64 => Buffer::F64(all.map(|x| x as f64).collect()),
            DataType::I32 => Buffer::I32(all.map(|x| x as i32).collect()),
            _ => Buffer::I64(all.collect()),
        }
    };
    let [a, b] = [("a", 1000), ("b", 1)].map(|(name, first)| case.input(name, values(first)));
    let i_is = |op, x| binary(op, Expr::Var(i), int(x));
    let select = |x, y| Expr::Select(Box::new(lt(Expr::Var(i), int(8))), Box::new(x), Box::new(y));
    let moved = select(Expr::Var(i), add(Expr::Var(i), int(-4)));
    let conditions = [
        i_is(BinaryOp::Le, 3),
        i_is(BinaryOp::Ge, 5),
        binary(BinaryOp::Le, Expr::Var(i), select(int(3), int(9))),
        binary(BinaryOp::Or, i_is(BinaryOp::Le, 3), i_is(BinaryOp::Eq, 9)),
        binary(BinaryOp::Ne, load(flags, Expr::Var(i)), int(0)),
    ];
    let sources = [Expr::Var(i), moved];
    let both = conditions.iter().flat_map(|cond| sources.iter().map(move |from| (cond, from)));
    for (k, (cond, from)) in both.enumerate() {
        let out = case.output(&format!("out_{k}"), elem, (n * group) as usize);
        let at = |index: &Expr, lane| add(mul(index.clone(), int(group)), int(lane));
        let ty = Type::scalar(elem.register());
        let chosen: Vec<Var> =
            (0..group).map(|lane| case.var(&format!("c_{k}_{lane}"), ty)).collect();
        let taken = |array: Array, index: &Expr| -> Vec<Stmt> {
            let each = (0..group).zip(&chosen);
            each.map(|(lane, &var)| assign(var, load(array, at(index, lane)))).collect()
        };
        let (then, otherwise) = (taken(b, from), taken(a, &Expr::Var(i)));
        let mut body = vec![Stmt::If { cond: cond.clone(), then, otherwise }];
        let stores = (0..group).zip(&chosen);
        body.extend(stores.map(|(lane, &c)| store(out, at(&Expr::Var(i), lane), Expr::Var(c))));
        case.push(for_loop(i, int(0), Expr::Var(size), body));
    }
    case
}

/// Lines of non-temporal stores, where those of memory begin and elsewhere.
fn streamed(elem: DataType, from: Buffer) -> Case {
    let mut case = Case::new(&format!("compute_streamed_{elem}"));
    let (i, lanes) = (case.index("i"), 64 / elem.size());
    let from = case.input("from", from);
    for at in 0..lanes {
        let to = case.output(&format!("to_{at}"), elem, 64 + lanes);
        case.function.arrays[to].streamed = true;
        let index = Box::new(Expr::Var(i));
        let line = Expr::Load { array: from, index, lanes: lanes as u16 };
        case.each(i, 64, lanes, (to, at), line);
    }
    case
}

fn copy(case: &mut Case, i: Var, from: Array, n: i64) {
    let elem = case.function.arrays[from].elem;
    let name = format!("{}_copy", case.function.arrays[from].name);
    let out = case.output(&name, elem, n as usize);
    case.push(for_loop(
        i,
        int(0),
        int(n),
        vec![store(out, Expr::Var(i), load(from, Expr::Var(i)))],
    ));
}

/// Keys of both signs, equal keys that keep their order, columns of every type.
fn sort(elem: DataType) -> Case {
    let mut case = Case::new(&format!("compute_sort_{elem}"));
    let n = 100;
    let i = case.index("i");
    let first: Vec<i64> = (0..n).map(|k| (k * 37 % 11 - 5) * 100_000_000).collect();
    let second: Vec<i64> = (0..n).map(|k| k * 53 % 7 - 3).collect();
    let narrow = |x: &i64| *x as i32;
    let given = |values: &[i64]| match elem {
        DataType::I32 => Buffer::I32(values.iter().map(narrow).collect()),
        DataType::Bool => Buffer::Bool(values.iter().map(|x| u8::from(*x < 0)).collect()),
        _ => Buffer::I64(values.iter().map(|x| x * 1_000_000_007).collect()),
    };
    let (a, b) = (case.input("a", given(&first)), case.input("b", given(&second)));
    let mut columns = vec![
        (case.local("first", elem), load(a, Expr::Var(i))),
        (case.local("second", elem), load(b, Expr::Var(i))),
    ];
    for carried in DataType::ALL.into_iter().filter(|elem| !elem.is_complex()) {
        let number = match carried {
            DataType::Bool => binary(BinaryOp::Mod, Expr::Var(i), int(2)),
            _ => Expr::Var(i),
        };
        let number = match carried.register() {
            Register::I64 | Register::Bool => number,
            register => Expr::Convert(register, Box::new(number)),
        };
        columns.push((case.local(&format!("of_{carried}"), carried), number));
    }
    let arrays: Vec<Array> = columns.iter().map(|(array, _)| *array).collect();
    for &array in &arrays {
        case.push(Stmt::Reserve { array, len: int(n) });
    }
    let body = columns.into_iter().map(|(array, e)| store(array, Expr::Var(i), e)).collect();
    case.push(for_loop(i, int(0), int(n), body));
    let (keys, rest) = (arrays[..2].to_vec(), arrays[2..].to_vec());
    for (lo, hi) in [(3, 90), (90, 91), (95, 95), (96, 94)] {
        case.push(Stmt::Sort {
            keys: keys.clone(),
            carried: rest.clone(),
            lo: int(lo),
            hi: int(hi),
        });
    }
    for array in arrays {
        copy(&mut case, i, array, n);
    }
    case
}

/// Lists of one key, of every length at which they are sorted in another way, in every order that decides which.
fn sort_lists(elem: DataType) -> Case {
    let mut case = Case::new(&format!("compute_sort_lists_{elem}"));
    let i = case.index("i");
    let (mut all, mut ranges) = (vec![], vec![]);
    for len in [1i64, 2, 8, 9, 16, 17, 31, 32, 33, 96, 97, 257] {
        for stride in [1, 40, 1 << 20] {
            let ascending: Vec<i64> = (0..len).map(|k| (k - len / 2) * stride).collect();
            let mut rotated = ascending.clone();
            rotated.rotate_left(len as usize / 2);
            let mut nearly = ascending.clone();
            nearly.swap(0, len as usize / 2);
            let repeated = rotated.iter().map(|c| c / (2 * stride) * stride).collect();
            // 101 is a prime that divides no length.
            let shuffled = (0..len).map(|k| (k * 101 % len) * stride).collect();
            for list in [ascending, rotated, nearly, repeated, shuffled] {
                ranges.push((all.len(), all.len() + list.len()));
                all.extend(list);
            }
        }
    }
    let n = all.len() as i64;
    let given = match elem {
        DataType::I32 => Buffer::I32(all.iter().map(|&c| c as i32).collect()),
        _ => Buffer::I64(all.iter().map(|c| c << 20).collect()),
    };
    let (given, lists) = (case.input("given", given), case.local("lists", elem));
    case.push(Stmt::Reserve { array: lists, len: int(n) });
    let copied = store(lists, Expr::Var(i), load(given, Expr::Var(i)));
    case.push(for_loop(i, int(0), int(n), vec![copied]));
    for (lo, hi) in ranges {
        let (lo, hi) = (int(lo as i64), int(hi as i64));
        case.push(Stmt::Sort { keys: vec![lists], carried: vec![], lo, hi });
    }
    copy(&mut case, i, lists, n);
    case
}

/// A value that the filling would change is taken before.
fn fill() -> Case {
    let mut case = Case::new("compute_fill");
    let i = case.index("i");
    for elem in DataType::ALL {
        let list = case.local(&format!("list_{elem}"), elem);
        case.push(Stmt::Reserve { array: list, len: int(8) });
        let one = Expr::Const(Scalar::I64(1).convert(elem.register()));
        let zero = Expr::Const(Scalar::I64(0).convert(elem.register()));
        case.push(Stmt::Fill { array: list, lo: int(0), hi: int(8), value: zero });
        case.push(Stmt::Fill { array: list, lo: int(5), hi: int(2), value: one.clone() });
        let next = binary(BinaryOp::Sub, one, load(list, int(3)));
        case.push(Stmt::Fill { array: list, lo: load_index(), hi: int(8), value: next });
        copy(&mut case, i, list, 8);
    }
    case
}

fn load_index() -> Expr {
    add(int(1), int(0))
}

/// Bounds are evaluated once, also if they name the variable itself or change within.
fn bounds() -> Case {
    let mut case = Case::new("compute_bounds");
    let (i, n, t) = (case.index("i"), case.index("n"), case.index("t"));
    let end = case.local("end", DataType::I64);
    let out = case.output("out", DataType::I64, 4);
    case.push(Stmt::Reserve { array: end, len: int(1) });
    case.push(store(end, int(0), int(5)));
    case.push(assign(i, int(2)));
    case.push(assign(t, int(0)));
    let count = || assign(t, add(binary(BinaryOp::Mul, Expr::Var(t), int(3)), Expr::Var(i)));
    let own = add(Expr::Var(i), int(4));
    case.push(for_loop(i, Expr::Var(i), own, vec![count()]));
    case.push(store(out, int(0), Expr::Var(t)));
    case.push(assign(n, int(4)));
    let grow = assign(n, add(Expr::Var(n), int(1)));
    case.push(for_loop(i, int(0), Expr::Var(n), vec![count(), grow]));
    case.push(store(out, int(1), Expr::Var(t)));
    let change = store(end, int(0), int(50));
    case.push(for_loop(i, int(0), load(end, int(0)), vec![count(), change]));
    case.push(store(out, int(2), Expr::Var(t)));
    let longer = Stmt::Reserve { array: end, len: add(Expr::Len(end), int(1)) };
    case.push(Stmt::For {
        var: i,
        lo: int(-3),
        hi: binary(BinaryOp::Min, Expr::Len(end), int(1)),
        step: 3,
        body: vec![count(), longer],
    });
    case.push(store(out, int(3), Expr::Var(t)));
    case
}

/// A value that one iteration leaves for the next, in a block within the loop.
fn carried() -> Case {
    let mut case = Case::new("compute_carried");
    let (i, j, s) = (case.index("i"), case.index("j"), case.index("s"));
    let w = case.var("w", Type { register: Register::F64, lanes: 4 });
    let out = case.output("out", DataType::I64, 30);
    let wide = case.output("wide", DataType::F64, 30 * 4);
    let is = |k| binary(BinaryOp::Eq, add(Expr::Var(i), Expr::Var(j)), int(k));
    let four = |x: f64| Expr::Splat(Box::new(Expr::Const(Scalar::F64(x))), 4);
    let at = add(binary(BinaryOp::Mul, Expr::Var(i), int(6)), Expr::Var(j));
    let body = vec![
        when(is(0), vec![assign(s, int(7)), assign(w, four(0.5))]),
        when(is(3), vec![assign(s, int(-2))]),
        assign(s, add(Expr::Var(s), Expr::Var(j))),
        assign(w, binary(BinaryOp::Add, Expr::Var(w), four(1.0))),
        store(out, at.clone(), Expr::Var(s)),
        store(wide, binary(BinaryOp::Mul, at, int(4)), Expr::Var(w)),
    ];
    let inner = for_loop(j, int(0), int(6), body);
    case.push(for_loop(i, int(0), int(5), vec![inner]));
    case
}

/// Conditions that need their first half, and both ways out of each.
fn branches() -> Case {
    let mut case = Case::new("compute_branches");
    let a = case.input("a", Buffer::I64(vec![1, -4, 9, 0, 6]));
    let (i, p, x) = (case.index("i"), case.index("p"), case.index("x"));
    let out = case.output("out", DataType::I64, 9);
    let inside = lt(Expr::Var(i), int(5));
    let positive = lt(int(0), load(a, Expr::Var(i)));
    let both = Expr::AndThen(Box::new(inside), Box::new(positive));
    let split = Stmt::If {
        cond: Expr::AndThen(Box::new(both.clone()), Box::new(both)),
        then: vec![assign(x, load(a, Expr::Var(i)))],
        otherwise: vec![assign(x, int(-1)), Stmt::Comment("neither".to_owned())],
    };
    let body = vec![split, store(out, Expr::Var(i), Expr::Var(x))];
    case.push(for_loop(i, int(0), int(8), body));
    case.push(assign(p, int(0)));
    let next = add(Expr::Var(p), int(1));
    let going = Expr::AndThen(
        Box::new(lt(Expr::Var(p), int(5))),
        Box::new(binary(BinaryOp::Ne, load(a, Expr::Var(p)), int(0))),
    );
    case.push(Stmt::While { cond: going, body: vec![assign(p, next)] });
    case.push(store(out, int(8), Expr::Var(p)));
    case
}

/// Appending keeps what was there, through small and large sizes.
fn growth() -> Case {
    let mut case = Case::new("compute_growth");
    let i = case.index("i");
    let n = 600_000;
    let wide = case.local("wide", DataType::F64);
    let narrow = case.local("narrow", DataType::Bool);
    let body = vec![
        Stmt::Reserve { array: wide, len: add(Expr::Var(i), int(1)) },
        Stmt::Reserve { array: narrow, len: add(Expr::Var(i), int(1)) },
        store(wide, Expr::Var(i), Expr::Convert(Register::F64, Box::new(Expr::Var(i)))),
        store(narrow, Expr::Var(i), binary(BinaryOp::Mod, Expr::Var(i), int(2))),
    ];
    case.push(for_loop(i, int(0), int(n), body));
    copy(&mut case, i, wide, n);
    copy(&mut case, i, narrow, n);
    case
}

/// Of variables with and without a value.
fn hints() -> Case {
    let mut case = Case::new("compute_hints");
    let a = case.input("a", Buffer::I32(vec![3, 1]));
    let out = case.output("out", DataType::I64, 2);
    let i = case.index("i");
    let hint = |index| Stmt::Prefetch { array: a, index, far: false };
    let far = add(Expr::Var(i), int(1 << 50));
    let read = store(out, Expr::Var(i), load(a, Expr::Var(i)));
    case.push(Stmt::Prefetch { array: a, index: int(-9), far: true });
    case.push(for_loop(i, int(0), int(2), vec![hint(load(a, int(1))), hint(far), read]));
    case
}

/// What is loaded at once.
fn neighbours(elem: DataType, values: Buffer) -> Case {
    let mut case = Case::new(&format!("compute_neighbours_{elem}"));
    let a = case.input("a", values);
    let out = case.output("out", DataType::I64, 6);
    let i = case.index("i");
    let [low, high] = ["low", "high"].map(|name| case.index(name));
    let at = |k: i64| add(Expr::Var(i), int(k));
    let loads = [(low, 0), (high, 1)].map(|(v, k)| assign(v, load(a, at(k))));
    let stores = [store(out, at(0), Expr::Var(low)), store(out, at(3), Expr::Var(high))];
    case.push(for_loop(i, int(0), int(3), loads.into_iter().chain(stores).collect()));
    case
}

/// A length that cannot be had ends the call.
fn refused() -> Case {
    let mut case = Case::new("compute_refused");
    let list = case.local("list", DataType::F64);
    let out = case.output("out", DataType::I64, 1);
    case.push(Stmt::Reserve { array: list, len: int(4) });
    case.push(store(out, int(0), int(1)));
    case.push(Stmt::Reserve { array: list, len: int(-1) });
    case.push(store(out, int(0), int(2)));
    case
}

fn failure() -> Case {
    let mut case = Case::new("compute_failure");
    let i = case.index("i");
    let out = case.output("out", DataType::I64, 5);
    case.push(Stmt::Fill { array: out, lo: int(0), hi: int(5), value: int(0) });
    let fail = when(
        binary(BinaryOp::Eq, Expr::Var(i), int(3)),
        vec![Stmt::Fail(Status::PositionOverflow), store(out, int(4), int(9))],
    );
    case.push(for_loop(i, int(0), int(5), vec![fail, store(out, Expr::Var(i), Expr::Var(i))]));
    case
}

/// Nothing uses what is declared.
fn unused() -> Case {
    let mut case = Case::new("compute_unused");
    case.scalar("size", Scalar::I64(3));
    case.scalar("weight", Scalar::F64(0.5));
    case.input("a", Buffer::I32(vec![]));
    case.output("b", DataType::F32, 1);
    case.result("c", DataType::F64);
    case.local("d", DataType::F64);
    let (v, i) = (case.index("v"), case.index("i"));
    let r = case.result("r", DataType::I64);
    case.push(assign(v, int(3)));
    case.push(Stmt::Reserve { array: r, len: int(3) });
    case.push(for_loop(i, int(0), int(2), vec![assign(v, int(4))]));
    case
}

/// Scalars of each type arrive as they are.
fn scalars() -> Case {
    let mut case = Case::new("compute_scalars");
    let values =
        [Scalar::I64(i64::MIN + 7), Scalar::F32(-0.1), Scalar::F64(1e-300), Scalar::F64(-0.0)];
    for (k, value) in values.into_iter().enumerate() {
        let v = case.scalar(&format!("s{k}"), value);
        let out = case.output(&format!("out{k}"), value.register().datatype(), 1);
        case.push(store(out, int(0), Expr::Var(v)));
    }
    case
}
