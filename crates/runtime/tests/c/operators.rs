//! Every operator, on every register type, in every width, on values that matter.

use crate::case::Case;
use tamis_ir::algebra::{BinaryOp, UnaryOp};
use tamis_ir::datatype::{DataType, Register, Scalar};
use tamis_ir::half::{Bf16, F16};
use tamis_ir::ids::{Array, Var};
use tamis_ir::interpret::Buffer;
use tamis_ir::ir::build::{add, int};
use tamis_ir::ir::{Expr, Type};

pub fn scalars() -> Vec<Case> {
    Register::ALL.into_iter().flat_map(|r| cases(r, 1)).collect()
}

pub fn vectors() -> Vec<Case> {
    let common = [2, 4, 8].into_iter().flat_map(|lanes| Register::ALL.map(|r| cases(r, lanes)));
    let wide = [
        cases(Register::F32, 16),
        cases(Register::Bool, 16),
        cases(Register::I64, 16),
        cases(Register::F64, 16),
        cases(Register::F32, 32),
    ];
    common.chain(wide).flatten().collect()
}

const FLOATS: [f64; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -2.5,
    3.0,
    1e-310,
    1e300,
    -7.25e18,
    1.0e19,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    0.1,
    123.456,
];

const INTEGERS: [i64; 16] = [
    0,
    1,
    -1,
    2,
    -2,
    7,
    -7,
    64,
    i64::MIN,
    i64::MAX,
    i64::MIN + 1,
    10_000_000_000,
    -3_000_000_001,
    1 << 31,
    (1 << 53) + 1,
    -1000,
];

/// All pairs of values, as two arrays.
fn pairs(register: Register) -> (Buffer, Buffer) {
    let place = |k: usize| (k / 16, k % 16);
    macro_rules! both {
        ($kind:ident, $of:expr) => {
            (
                Buffer::$kind((0..256).map(|k| $of(place(k).0)).collect()),
                Buffer::$kind((0..256).map(|k| $of(place(k).1)).collect()),
            )
        };
    }
    match register {
        Register::Bool => both!(Bool, |k: usize| (k % 2) as u8),
        Register::I64 => both!(I64, |k: usize| INTEGERS[k]),
        Register::U64 => both!(U64, |k: usize| INTEGERS[k].cast_unsigned()),
        Register::F32 => both!(F32, |k: usize| FLOATS[k] as f32),
        Register::F64 => both!(F64, |k: usize| FLOATS[k]),
    }
}

/// Numbers of many sizes.
fn spread(register: Register) -> Buffer {
    let number = |k: i32| f64::from(k - 128) * 1.0931f64.powi((k * 37) % 200 - 100) / 100.0;
    match register {
        Register::F32 => Buffer::F32((0..256).map(|k| number(k) as f32).collect()),
        _ => Buffer::F64((0..256).map(number).collect()),
    }
}

/// A function that stores the results of all operators, each in a part of its own.
struct Sheet {
    done: Vec<Case>,
    case: Case,
    i: Var,
    lanes: u16,
    a: Array,
    b: Array,
    register: Register,
}

/// The cases of a type, a function each for an operator: compilers take more than twice as long over functions
/// that are twice as long.
fn cases(register: Register, lanes: u16) -> Vec<Case> {
    let (case, i, a, b) = operands(register, lanes, 0);
    let mut sheet = Sheet { done: vec![], case, i, lanes, a, b, register };
    sheet.unary();
    sheet.binary();
    sheet.others();
    sheet.begin();
    sheet.done
}

/// A case without statements, its index, and its operands.
fn operands(register: Register, lanes: u16, number: usize) -> (Case, Var, Array, Array) {
    let (a, b) = pairs(register);
    let mut case = Case::new(&format!("compute_{register:?}x{lanes}_{number}").to_lowercase());
    let i = case.index("i");
    let (a, b) = (case.input("a", a), case.input("b", b));
    (case, i, a, b)
}

impl Sheet {
    /// Begins another case; index and operands have the same numbers in each.
    fn begin(&mut self) {
        if !self.case.function.body.is_empty() {
            let (case, ..) = operands(self.register, self.lanes, self.done.len() + 1);
            self.done.push(std::mem::replace(&mut self.case, case));
        }
    }

    /// Lanes of an operand, of the register type of the sheet.
    fn operand(&self, array: Array) -> Expr {
        let load = Expr::Load { array, index: Box::new(Expr::Var(self.i)), lanes: self.lanes };
        match self.register {
            Register::Bool => Expr::Convert(Register::Bool, Box::new(load)),
            _ => load,
        }
    }

    fn a(&self) -> Box<Expr> {
        Box::new(self.operand(self.a))
    }

    fn b(&self) -> Box<Expr> {
        Box::new(self.operand(self.b))
    }

    /// Another case, which stores what an expression gives for each pair.
    fn record(&mut self, name: &str, value: Expr) {
        self.begin();
        self.store(name, value);
    }

    /// Stores what an expression gives for each pair.
    fn store(&mut self, name: &str, value: Expr) {
        let register = self.case.function.type_of(&value).register;
        let out = self.case.output(&format!("out_{name}"), register.datatype(), 256);
        self.case.each(self.i, 256, self.lanes.into(), (out, 0), value);
    }

    /// Whether the vectors are wider than those of any machine, which compilers take long over.
    fn is_widest(&self) -> bool {
        let bytes = if self.register == Register::F32 { 4 } else { 8 };
        self.lanes * bytes > 64
    }

    fn unary(&mut self) {
        // A library's functions go lane by lane: one width stands for the others.
        let (wide, widest) = (self.lanes > 2, self.is_widest());
        let rare = |op: UnaryOp| {
            op.is_of_parts()
                || op != UnaryOp::Abs && (widest || op.needs_float() && op != UnaryOp::Sqrt && wide)
        };
        for op in UnaryOp::ALL.into_iter().filter(|op| !rare(*op)) {
            self.record(op.name(), Expr::Unary(op, self.a()));
        }
        if matches!(self.register, Register::F32 | Register::F64) && self.lanes < 2 {
            for op in UnaryOp::ALL.into_iter().filter(|op| !op.is_of_parts()) {
                self.begin();
                let spread = self.case.input("spread", spread(self.register));
                self.store(op.name(), Expr::Unary(op, Box::new(self.operand(spread))));
            }
        }
    }

    fn binary(&mut self) {
        let (wide, widest) = (self.lanes > 2, self.is_widest());
        let some = [BinaryOp::Add, BinaryOp::Min, BinaryOp::Le, BinaryOp::Mod];
        let rare = |op: BinaryOp| widest && !some.contains(&op) || op.needs_float() && wide;
        for op in BinaryOp::ALL.into_iter().filter(|op| !rare(*op)) {
            let of_bools = matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor);
            if !of_bools || self.register == Register::Bool {
                self.record(op.name(), Expr::Binary(op, self.a(), self.b()));
            }
        }
    }

    fn others(&mut self) {
        let all = if self.is_widest() { 1..2 } else { 0..5 };
        for to in &Register::ALL[all] {
            self.record("convert", Expr::Convert(*to, self.a()));
        }
        let less = || Box::new(Expr::Binary(BinaryOp::Lt, self.a(), self.b()));
        let by_lane = Expr::Select(less(), self.b(), self.a());
        let scalar = |array| {
            let index = Box::new(Expr::Var(self.i));
            let load = Expr::Load { array, index, lanes: 1 };
            Box::new(Expr::Convert(self.register, Box::new(load)))
        };
        let one = Expr::Binary(BinaryOp::Le, scalar(self.a), scalar(self.b));
        let by_one = Expr::Select(Box::new(one), self.b(), self.a());
        let both = Expr::Binary(BinaryOp::And, less(), Box::new(Expr::Unary(UnaryOp::Not, less())));
        let either =
            Expr::Binary(BinaryOp::Or, less(), Box::new(Expr::Unary(UnaryOp::Not, less())));
        let fused = Expr::Fma(self.a(), self.b(), self.a());
        if self.lanes > 1 {
            let splat = Expr::Splat(scalar(self.b), self.lanes);
            self.record("splat", splat);
            self.combined("totals", BinaryOp::Add);
            if self.register.is_float() {
                self.combined("minima", BinaryOp::Min);
                self.combined("maxima", BinaryOp::Max);
            }
        }
        if self.lanes > 1 && self.register != Register::Bool {
            let lane = |k: u16| {
                let index = Box::new(add(Expr::Var(self.i), int(k.into())));
                let load = Expr::Load { array: self.a, index, lanes: 1 };
                Expr::Convert(self.register, Box::new(load))
            };
            let reversed = Expr::Lanes((0..self.lanes).rev().map(lane).collect());
            self.record("lanes", reversed);
        }
        self.record("select", by_lane);
        self.record("choose", by_one);
        self.record("both", both);
        self.record("either", either);
        if matches!(self.register, Register::F32 | Register::F64) {
            self.record("fma", fused);
        }
        self.variable();
        self.narrow();
    }

    /// The lanes of every group combined.
    fn combined(&mut self, name: &str, op: BinaryOp) {
        let combined = Expr::Reduce(op, self.a());
        self.begin();
        let out = self.case.output(name, self.register.datatype(), 256);
        self.case.each(self.i, 256 - usize::from(self.lanes), 1, (out, 0), combined);
    }

    /// A variable of the type.
    fn variable(&mut self) {
        let ty = Type { register: self.register, lanes: self.lanes };
        self.begin();
        let v = self.case.var("v", ty);
        let assign = tamis_ir::ir::build::assign(v, *self.a());
        self.store("variable", Expr::Var(v));
        if let Some(tamis_ir::ir::Stmt::For { body, .. }) = self.case.function.body.last_mut() {
            body.insert(0, assign);
        }
    }

    /// Narrow arrays are widened by loads and narrowed by stores.
    fn narrow(&mut self) {
        match self.register {
            Register::I64 => {}
            Register::F32 => return self.narrow_floats(),
            _ => return,
        }
        let widest = self.is_widest();
        let narrow = DataType::ALL.into_iter().filter(|t| t.register() == Register::I64);
        for elem in narrow.filter(|t| !widest || *t == DataType::I32) {
            self.narrow_to(elem);
        }
        self.begin();
        let flags = self.case.output("flags", DataType::Bool, 256);
        let value =
            Expr::Convert(Register::I64, Box::new(Expr::Binary(BinaryOp::Lt, self.a(), self.b())));
        self.case.each(self.i, 256, self.lanes.into(), (flags, 0), value);
    }

    fn narrow_to(&mut self, elem: DataType) {
        let all = elem.integers().unwrap_or(0..=0);
        let wrapped = |&x: &i64| (i128::from(x) - all.start()) % (all.end() - all.start() + 1);
        let fitting = |x| Scalar::I64((all.start() + wrapped(x).abs()) as i64);
        let values: Vec<Scalar> = INTEGERS.iter().cycle().take(256).map(fitting).collect();
        let buffer = Buffer::holding(elem, &values).expect("the values fit");
        self.begin();
        let array = self.case.input(&format!("narrow_{elem}"), buffer);
        let operand = || Box::new(self.operand(array));
        let product = Expr::Binary(BinaryOp::Mul, operand(), operand());
        self.store("product", product);
        let out = self.case.output(&format!("narrowed_{elem}"), elem, 256);
        let value = self.operand(array);
        self.case.each(self.i, 256, self.lanes.into(), (out, 0), value);
    }

    /// Floats of 16 bits: all of them are loaded, and the numbers of the sheet rounded.
    fn narrow_floats(&mut self) {
        // They go lane by lane, which compilers take long over.
        if self.lanes > 8 {
            return;
        }
        for elem in [DataType::F16, DataType::Bf16] {
            let all = 0..=u16::MAX;
            let buffer = match elem {
                DataType::F16 => Buffer::F16(all.map(F16::from_bits).collect()),
                _ => Buffer::Bf16(all.map(Bf16::from_bits).collect()),
            };
            self.begin();
            let array = self.case.input(&format!("narrow_{elem}"), buffer);
            let wide = self.case.output(&format!("wide_{elem}"), DataType::F32, 1 << 16);
            let again = self.case.output(&format!("again_{elem}"), elem, 1 << 16);
            let scaled = self.case.output(&format!("scaled_{elem}"), elem, 1 << 16);
            let factor = Expr::Const(Scalar::F32(0.100_097_656));
            let factor = match self.lanes {
                1 => factor,
                lanes => Expr::Splat(Box::new(factor), lanes),
            };
            let product =
                Expr::Binary(BinaryOp::Mul, Box::new(self.operand(array)), Box::new(factor));
            let step = usize::from(self.lanes);
            for (out, value) in
                [(wide, self.operand(array)), (again, self.operand(array)), (scaled, product)]
            {
                self.case.each(self.i, 1 << 16, step, (out, 0), value);
            }
            let out = self.case.output(&format!("rounded_{elem}"), elem, 256);
            self.case.each(self.i, 256, step, (out, 0), *self.a());
            if self.lanes == 1 {
                // A little more than halfway between two, which an `f32` does not tell from halfway.
                let halfway = if elem == DataType::F16 { 11 } else { 8 };
                let factor = 1.0 + 0.5f64.powi(halfway) + 0.5f64.powi(40);
                let factor = Box::new(Expr::Const(Scalar::F64(factor)));
                let exact = Box::new(Expr::Convert(Register::F64, Box::new(self.operand(array))));
                let out = self.case.output(&format!("once_{elem}"), elem, 1 << 16);
                let product = Expr::Binary(BinaryOp::Mul, exact, factor);
                self.case.each(self.i, 1 << 16, step, (out, 0), product);
            }
        }
    }
}
