//! The dense reference: index notation evaluated element by element, as a textbook would.

use crate::number::Number;
use crate::presence::{self, Presence, Value};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use tamis::{Diagnostic, Strictness, Tensor};
use tamis_core::notation::{self, Access, Expr, Program, Statement};
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp, eval};
use tamis_ir::datatype::DataType;
use tamis_ir::ids::{IndexVar, TensorId};

/// A dense array of numbers.
#[derive(Clone, Debug)]
pub struct Dense {
    /// Its dimensions.
    pub dims: Vec<u64>,
    /// Its elements, last mode contiguous.
    pub vals: Vec<Number>,
    /// Which of them are implicit.
    pub presence: Vec<Presence>,
}

impl Dense {
    /// An array of one value.
    pub fn filled(dims: &[u64], value: Number) -> Dense {
        let size = dims.iter().product::<u64>() as usize;
        let presence = vec![Presence::Implicit; size];
        Dense { dims: dims.to_vec(), vals: vec![value; size], presence }
    }

    /// Every element of a tensor, stored or not.
    pub fn of(tensor: &Tensor) -> Dense {
        let mut dense = Dense::filled(tensor.dims(), Number::of(tensor.storage().fill));
        let list = tensor.to_coordinates().expect("room for a list");
        if tensor.vals().len() != list.vals().len() {
            dense.presence.fill(Presence::Either);
        }
        for n in 0..list.vals().len() {
            let place: Vec<u64> = list.crds().iter().map(|c| c[n]).collect();
            let at = dense.place(&place);
            let value = Number::of(list.vals().get(n));
            // Entries of the same coordinate are to be added; booleans stay true.
            let sum = stored(tensor.storage().datatype, dense.vals[at] + value);
            let seen = dense.presence[at] == Presence::Stored;
            dense.vals[at] = if seen { sum } else { value };
            dense.presence[at] = Presence::Stored;
        }
        dense
    }

    /// Sets an element.
    pub fn set(&mut self, coordinates: &[u64], value: Number) {
        let at = self.place(coordinates);
        self.vals[at] = value;
        self.presence[at] = Presence::Stored;
    }

    /// Whether formats and loops decide what some element is.
    pub fn is_undefined(&self) -> bool {
        self.presence.contains(&Presence::Undefined)
    }

    /// The value of an element.
    pub fn at(&self, coordinates: &[u64]) -> Number {
        self.vals[self.place(coordinates)]
    }

    /// The coordinates of all elements, last mode first.
    pub fn coordinates(&self) -> impl Iterator<Item = Vec<u64>> {
        (0..self.vals.len() as u64).map(|mut at| {
            let mut place = vec![0; self.dims.len()];
            for (c, dimension) in place.iter_mut().zip(&self.dims).rev() {
                (*c, at) = (at % dimension, at / dimension);
            }
            place
        })
    }

    /// Where an element is in the values.
    pub fn place(&self, coordinates: &[u64]) -> usize {
        coordinates.iter().zip(&self.dims).fold(0, |p, (&c, &d)| p * d as usize + c as usize)
    }
}

/// What a program leaves open, by name.
#[derive(Clone, Debug, Default)]
pub struct Sizes {
    /// Dimensions of index variables.
    pub dims: BTreeMap<String, u64>,
    /// Dimensions of results.
    pub shapes: BTreeMap<String, Vec<u64>>,
    /// Element types of results, one for each statement that writes them.
    pub types: BTreeMap<String, Vec<DataType>>,
    /// What elements of results are that nothing is written to; else 0.
    pub fills: BTreeMap<String, Number>,
    /// What index variables count for as values at their coordinates; else these.
    pub labels: BTreeMap<String, Vec<f64>>,
    /// What quotients and the like make of an implicit 0.
    pub strictness: Strictness,
}

/// The results of a program by name, for these operands.
pub fn evaluate(
    program: &Program,
    operands: &BTreeMap<String, Dense>,
    sizes: &Sizes,
) -> Result<BTreeMap<String, Dense>, Diagnostic> {
    Ok(evaluated(program, operands, sizes)?.results)
}

/// The results of a program, and what they are made of.
pub struct Evaluated {
    /// The results by name.
    pub results: BTreeMap<String, Dense>,
    /// The sums of the sizes of what is added up, and products of those of what is multiplied, as bits.
    pub magnitudes: BTreeSet<u64>,
}

/// The results of a program and how large what is reduced is, for these operands.
pub fn evaluated(
    program: &Program,
    operands: &BTreeMap<String, Dense>,
    sizes: &Sizes,
) -> Result<Evaluated, Diagnostic> {
    let program = notation::make_explicit(program)?;
    let mut state = State::new(&program, operands, sizes);
    for (k, statement) in program.statements.iter().enumerate() {
        let tensor = statement.result.tensor;
        let name = &program.tensors[tensor].name;
        let before = program.statements[..k].iter().filter(|s| s.result.tensor == tensor).count();
        let fill = sizes.fills.get(name).copied().unwrap_or_default();
        let mut result = state.statement(statement, sizes.shapes.get(name), fill);
        if let Some(&datatype) = sizes.types.get(name).and_then(|types| types.get(before)) {
            result.vals.iter_mut().for_each(|x| *x = stored(datatype, *x));
        }
        state.tensors.insert(statement.result.tensor, result);
    }
    let results = program.results().into_iter();
    let named = results.map(|id| (program.tensors[id].name.clone(), state.tensors[&id].clone()));
    Ok(Evaluated { results: named.collect(), magnitudes: state.magnitudes.into_inner() })
}

/// How large products and sums on the way to the elements of the only statement may become in any order of their
/// factors and terms: zeros count as 1, since they may come last, and so do sums without terms.
pub fn reach(
    program: &Program,
    operands: &BTreeMap<String, Dense>,
    sizes: &Sizes,
) -> Result<f64, Diagnostic> {
    let program = notation::make_explicit(program)?;
    let state = State::new(&program, operands, sizes);
    let [statement] = &program.statements[..] else { return Ok(f64::INFINITY) };
    let mut most = 0.0_f64;
    state.each(1, &statement.result.indices, &mut BTreeMap::new(), &mut |env| {
        most = most.max(state.reach(&statement.value, env));
    });
    Ok(most)
}

/// A value as a tensor of a type holds it; an integer that does not fit stays.
pub(crate) fn stored(datatype: DataType, x: Number) -> Number {
    match datatype.integers() {
        _ if datatype == DataType::Bool => truth(x.is_true()),
        None => Number::of(x.scalar().stored(datatype)),
        Some(_) => x.re.trunc().into(),
    }
}

struct State<'p> {
    program: &'p Program,
    tensors: BTreeMap<TensorId, Dense>,
    dims: BTreeMap<IndexVar, u64>,
    labels: BTreeMap<IndexVar, Vec<f64>>,
    strictness: Strictness,
    magnitudes: RefCell<BTreeSet<u64>>,
}

impl<'p> State<'p> {
    fn new(program: &'p Program, operands: &BTreeMap<String, Dense>, sizes: &Sizes) -> State<'p> {
        let (tensors, dims) = (BTreeMap::new(), BTreeMap::new());
        let labels = sizes.labels.iter();
        let labels = labels.filter_map(|(name, all)| Some((program.var(name)?, all.clone())));
        let (labels, strictness) = (labels.collect(), sizes.strictness);
        let magnitudes = RefCell::default();
        let mut state = State { program, tensors, dims, labels, strictness, magnitudes };
        for (name, dense) in operands {
            if let Some(id) = program.tensor(name) {
                state.tensors.insert(id, dense.clone());
            }
        }
        for (name, &dimension) in &sizes.dims {
            if let Some(var) = program.var(name) {
                state.dims.insert(var, dimension);
            }
        }
        let shapes = sizes.shapes.iter();
        let shapes = shapes.filter_map(|(name, s)| Some((program.tensor(name)?, s.clone())));
        state.learn_dims(shapes.collect());
        state
    }

    /// Calls `f` at all coordinates of some variables, of each of which there are at least so many.
    fn each(
        &self,
        least: u64,
        vars: &[IndexVar],
        env: &mut BTreeMap<IndexVar, u64>,
        f: &mut dyn FnMut(&mut BTreeMap<IndexVar, u64>),
    ) {
        let Some((&var, rest)) = vars.split_first() else { return f(env) };
        for c in 0..self.dims[&var].max(least) {
            env.insert(var, c);
            self.each(least, rest, env, f);
        }
        env.remove(&var);
    }

    /// How large what leads to a value may be; zeros count as 1, and so does what no coordinate has.
    fn reach(&self, e: &Expr, env: &mut BTreeMap<IndexVar, u64>) -> f64 {
        match e {
            Expr::Unary(UnaryOp::Square, a) => self.reach(a, env).powi(2),
            Expr::Unary(UnaryOp::Cube, a) => self.reach(a, env).powi(3),
            Expr::Unary(_, a) => self.reach(a, env),
            Expr::Binary(BinaryOp::Mul, a, b) => self.reach(a, env) * self.reach(b, env),
            Expr::Binary(_, a, b) => self.reach(a, env) + self.reach(b, env),
            Expr::Reduce { op, vars, body } => {
                let is_product = *op == ReduceOp::Mul;
                let mut total = if is_product { 1.0 } else { 0.0 };
                self.each(1, vars, env, &mut |env| match is_product {
                    true => total *= self.reach(body, env),
                    false => total += self.reach(body, env),
                });
                total
            }
            Expr::Access(access) if access.indices.iter().any(|v| self.dims[v] == 0) => 1.0,
            leaf => self.value(leaf, env).number.size().max(1.0),
        }
    }

    /// The result after a statement.
    fn statement(&self, statement: &Statement, shape: Option<&Vec<u64>>, fill: Number) -> Dense {
        let access = &statement.result;
        let old = self.tensors.get(&access.tensor);
        let counts: Vec<u64> = access.indices.iter().map(|v| self.dims[v]).collect();
        let mut result = match (access.is_sliced(), old, shape) {
            (true, Some(old), _) => old.clone(),
            (true, None, Some(shape)) => Dense::filled(shape, fill),
            _ => Dense::filled(&counts, fill),
        };
        for at in 0..counts.iter().product() {
            let mut rest = at;
            let mut env: BTreeMap<IndexVar, u64> = BTreeMap::new();
            let mut is_written = true;
            for (&v, &count) in access.indices.iter().zip(&counts).rev() {
                // A variable of several modes means their diagonal.
                is_written &= env.insert(v, rest % count).is_none_or(|other| other == rest % count);
                rest /= count;
            }
            if !is_written {
                continue;
            }
            let value = self.value(&statement.value, &mut env);
            let Value { number, presence } = value;
            let at = result.place(&place(access, &result, &env));
            // An implicit infinity may decide the sum, or NaN may: then the result is undefined.
            let both = |op: ReduceOp, old: &Dense| {
                let before = Value { number: old.vals[at], presence: old.presence[at] };
                let added = |a, b| combine(op, a, b);
                presence::binary(op.binary(), [before, value], self.strictness, added).presence
            };
            let both = statement.accumulate.zip(old).map(|(op, old)| both(op, old));
            result.vals[at] = match (statement.accumulate, old) {
                (Some(op), Some(old)) => combine(op, old.vals[at], number),
                (Some(op @ (ReduceOp::Or | ReduceOp::And)), None) => {
                    combine(op, identity(op), number)
                }
                _ => number,
            };
            // Of what was there before nothing is left where the statement writes all of it anew.
            let is_anew = statement.accumulate.is_none() && !access.is_sliced();
            let before = old.filter(|_| !is_anew).map_or(Presence::Either, |old| old.presence[at]);
            result.presence[at] = match both {
                Some(Presence::Undefined) => Presence::Undefined,
                _ => presence.max(before),
            };
        }
        // What is read of it is stored in some formats.
        let read = |p: &mut Presence| *p = (*p).max(Presence::Either);
        result.presence.iter_mut().for_each(read);
        result
    }

    fn learn_dims(&mut self, mut shapes: BTreeMap<TensorId, Vec<u64>>) {
        shapes.extend(self.tensors.iter().map(|(&id, t)| (id, t.dims.clone())));
        for statement in &self.program.statements {
            let mut accesses: Vec<&Access> = statement.value.accesses();
            accesses.push(&statement.result);
            for access in accesses {
                if let Some(shape) = shapes.get(&access.tensor) {
                    for (mode, (&var, &dimension)) in access.indices.iter().zip(shape).enumerate() {
                        let slicing = access.slicing(mode);
                        let count = slicing.and_then(|s| s.slice().len(dimension).ok());
                        self.dims.insert(var, count.unwrap_or(dimension));
                    }
                }
            }
            let shape: Option<Vec<u64>> =
                statement.result.indices.iter().map(|v| self.dims.get(v).copied()).collect();
            if let (Some(shape), false) = (shape, statement.result.is_sliced()) {
                shapes.entry(statement.result.tensor).or_insert(shape);
            }
        }
    }

    fn value(&self, e: &Expr, env: &mut BTreeMap<IndexVar, u64>) -> Value {
        match e {
            Expr::Literal(c) => Value::constant(Number::of(*c)),
            Expr::Access(access) => {
                let tensor = &self.tensors[&access.tensor];
                let at = tensor.place(&place(access, tensor, env));
                Value { number: tensor.vals[at], presence: tensor.presence[at] }
            }
            Expr::Index(v) => {
                let label = self.labels.get(v).and_then(|all| all.get(env[v] as usize));
                Value::stored(label.copied().unwrap_or(env[v] as f64).into())
            }
            Expr::Unary(op, a) => {
                let Value { number, presence } = self.value(a, env);
                Value { number: unary(*op, number), presence }
            }
            Expr::Binary(op, a, b) => {
                let sides = [a, b].map(|side| self.value(side, env));
                presence::binary(*op, sides, self.strictness, |a, b| binary(*op, a, b))
            }
            Expr::Reduce { op, vars, body } => {
                let mut total = Value::constant(identity(*op));
                self.reduce(*op, vars, body, env, &mut total);
                let products = *op == ReduceOp::Mul || multiplies(body);
                let presence = presence::reduced(total.presence, products, total.number);
                Value { presence, ..total }
            }
            Expr::Param(_) | Expr::UserUnary(..) | Expr::Choose { .. } => {
                Value::stored(f64::NAN.into())
            }
        }
    }

    fn reduce(
        &self,
        op: ReduceOp,
        vars: &[IndexVar],
        body: &Expr,
        env: &mut BTreeMap<IndexVar, u64>,
        total: &mut Value,
    ) {
        let mut magnitude = if op == ReduceOp::Mul { 1.0 } else { 0.0 };
        self.each(0, vars, env, &mut |env| {
            let Value { number, presence } = self.value(body, env);
            match op {
                ReduceOp::Add => magnitude += number.size(),
                ReduceOp::Mul => magnitude *= number.size(),
                _ => {}
            }
            total.number = combine(op, total.number, number);
            total.presence = total.presence.max(presence);
        });
        self.magnitudes.borrow_mut().insert(magnitude.to_bits());
    }
}

/// The coordinates that a use of a tensor names.
fn place(access: &Access, tensor: &Dense, env: &BTreeMap<IndexVar, u64>) -> Vec<u64> {
    let coordinate = |(mode, v): (usize, &IndexVar)| match access.slicing(mode) {
        Some(slicing) => slicing.slice().coordinate(env[v], tensor.dims[mode]),
        None => env[v],
    };
    access.indices.iter().enumerate().map(coordinate).collect()
}

fn truth(b: bool) -> Number {
    f64::from(u8::from(b)).into()
}

fn identity(op: ReduceOp) -> Number {
    let identity = match op {
        ReduceOp::Add | ReduceOp::Or | ReduceOp::User(_) => 0.0,
        ReduceOp::Mul | ReduceOp::And => 1.0,
        ReduceOp::Min => f64::INFINITY,
        ReduceOp::Max => f64::NEG_INFINITY,
    };
    identity.into()
}

fn combine(op: ReduceOp, a: Number, b: Number) -> Number {
    binary(op.binary(), a, b)
}

/// Whether an expression multiplies.
fn multiplies(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e, Expr::Binary(BinaryOp::Mul, ..)));
    found
}

fn unary(op: UnaryOp, z: Number) -> Number {
    let x = z.re;
    let real = match op {
        UnaryOp::Neg => return -z,
        UnaryOp::Not => return truth(!z.is_true()),
        UnaryOp::Square => return z * z,
        UnaryOp::Cube => return z * z * z,
        UnaryOp::Conj => return Number { re: x, im: -z.im },
        UnaryOp::Real => x,
        UnaryOp::Imag => z.im,
        UnaryOp::Abs if z.im == 0.0 => x.abs(),
        UnaryOp::Abs => return Number::of(eval::unary(op, z.scalar())),
        UnaryOp::Sqrt => x.sqrt(),
        UnaryOp::Cbrt | UnaryOp::Asinh | UnaryOp::Acosh | UnaryOp::Atanh => eval::unary_f64(op, x),
        UnaryOp::Exp => x.exp(),
        UnaryOp::Log => x.ln(),
        UnaryOp::Log10 => x.log10(),
        UnaryOp::Sin => x.sin(),
        UnaryOp::Cos => x.cos(),
        UnaryOp::Tan => x.tan(),
        UnaryOp::Asin => x.asin(),
        UnaryOp::Acos => x.acos(),
        UnaryOp::Atan => x.atan(),
        UnaryOp::Sinh => x.sinh(),
        UnaryOp::Cosh => x.cosh(),
        UnaryOp::Tanh => x.tanh(),
    };
    real.into()
}

fn binary(op: BinaryOp, a: Number, b: Number) -> Number {
    let (x, y) = (a.re, b.re);
    let real = match op {
        BinaryOp::Add => return a + b,
        BinaryOp::Sub => return a - b,
        BinaryOp::Mul => return a * b,
        BinaryOp::Div if a.im == 0.0 && b.im == 0.0 => x / y,
        BinaryOp::Div => return Number::of(eval::binary(op, a.scalar(), b.scalar())),
        BinaryOp::Min | BinaryOp::Max if x.is_nan() || y.is_nan() => f64::NAN,
        BinaryOp::Min => x.min(y),
        BinaryOp::Max => x.max(y),
        BinaryOp::Pow => x.powf(y),
        BinaryOp::Mod => x - y * (x / y).floor(),
        BinaryOp::Atan2 => x.atan2(y),
        BinaryOp::Heaviside if x == 0.0 => y,
        BinaryOp::Heaviside => return truth(x > 0.0),
        BinaryOp::And => return truth(a.is_true() && b.is_true()),
        BinaryOp::Or => return truth(a.is_true() || b.is_true()),
        BinaryOp::Xor => return truth(a.is_true() != b.is_true()),
        BinaryOp::Eq => return truth(a == b),
        BinaryOp::Ne => return truth(a != b),
        BinaryOp::Lt => return truth(x < y),
        BinaryOp::Le => return truth(x <= y),
        BinaryOp::Gt => return truth(x > y),
        BinaryOp::Ge => return truth(x >= y),
        BinaryOp::User(_) => f64::NAN,
    };
    real.into()
}
