//! The dense reference: index notation evaluated element by element, as a textbook would.

use std::collections::BTreeMap;
use tamis::{Diagnostic, Tensor};
use tamis_core::algebra::{BinaryOp, ReduceOp, UnaryOp, eval};
use tamis_core::datatype::{DataType, Scalar};
use tamis_core::ids::{IndexVar, TensorId};
use tamis_core::notation::{self, Access, Expr, Program};

/// A dense array of doubles.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    /// Its dimensions.
    pub dims: Vec<u64>,
    /// Its elements, last mode contiguous.
    pub vals: Vec<f64>,
}

impl Dense {
    /// An array of one value.
    pub fn filled(dims: &[u64], value: f64) -> Dense {
        let size = dims.iter().product::<u64>() as usize;
        Dense { dims: dims.to_vec(), vals: vec![value; size] }
    }

    /// Every element of a tensor, stored or not.
    pub fn of(tensor: &Tensor) -> Dense {
        let mut dense = Dense::filled(tensor.dims(), tensor.storage().fill.as_f64());
        let list = tensor.to_coordinates();
        let mut seen = vec![false; dense.vals.len()];
        for n in 0..list.vals.len() {
            let place: Vec<u64> = list.crds.iter().map(|c| c[n]).collect();
            let at = dense.place(&place);
            let value = list.vals.as_f64(n);
            // Entries of the same coordinate are to be added.
            dense.vals[at] = if seen[at] { dense.vals[at] + value } else { value };
            seen[at] = true;
        }
        dense
    }

    fn place(&self, coordinates: &[u64]) -> usize {
        coordinates.iter().zip(&self.dims).fold(0, |p, (&c, &d)| p * d as usize + c as usize)
    }
}

/// The results of a program by name, for these operands and dimensions of index variables; results
/// are of these types.
pub fn evaluate(
    program: &Program,
    operands: &BTreeMap<String, Dense>,
    dims: &BTreeMap<String, u64>,
    types: &BTreeMap<String, DataType>,
) -> Result<BTreeMap<String, Dense>, Diagnostic> {
    let program = notation::make_explicit(program)?;
    let mut state = State { program: &program, tensors: BTreeMap::new(), dims: BTreeMap::new() };
    for (name, dense) in operands {
        if let Some(id) = program.tensor(name) {
            state.tensors.insert(id, dense.clone());
        }
    }
    for (name, &dimension) in dims {
        if let Some(var) = program.var(name) {
            state.dims.insert(var, dimension);
        }
    }
    state.learn_dims();
    for statement in &program.statements {
        let shape: Vec<u64> = statement.result.indices.iter().map(|v| state.dims[v]).collect();
        let mut result = Dense::filled(&shape, 0.0);
        let mut place = vec![0; shape.len()];
        let old = state.tensors.get(&statement.result.tensor).cloned();
        for at in 0..result.vals.len() {
            let mut rest = at as u64;
            for k in (0..shape.len()).rev() {
                place[k] = rest % shape[k];
                rest /= shape[k];
            }
            let mut env: BTreeMap<IndexVar, u64> =
                statement.result.indices.iter().copied().zip(place.iter().copied()).collect();
            let value = state.value(&statement.value, &mut env);
            let value = match (statement.accumulate, &old) {
                (Some(op), Some(old)) => combine(op, old.vals[at], value),
                _ => value,
            };
            let name = &program.tensors[statement.result.tensor].name;
            result.vals[at] = types.get(name).map_or(value, |&t| stored(t, value));
        }
        state.tensors.insert(statement.result.tensor, result);
    }
    let results = program.results().into_iter();
    Ok(results.map(|id| (program.tensors[id].name.clone(), state.tensors[&id].clone())).collect())
}

/// A value as a tensor of a type holds it; an integer that does not fit stays.
fn stored(datatype: DataType, x: f64) -> f64 {
    match datatype.integers() {
        _ if datatype == DataType::Bool => truth(x != 0.0),
        None => Scalar::F64(x).stored(datatype).as_f64(),
        Some(_) => x.trunc(),
    }
}

struct State<'p> {
    program: &'p Program,
    tensors: BTreeMap<TensorId, Dense>,
    dims: BTreeMap<IndexVar, u64>,
}

impl State<'_> {
    fn learn_dims(&mut self) {
        let mut shapes: BTreeMap<TensorId, Vec<u64>> =
            self.tensors.iter().map(|(&id, t)| (id, t.dims.clone())).collect();
        for statement in &self.program.statements {
            let mut accesses: Vec<&Access> = statement.value.accesses();
            accesses.push(&statement.result);
            for access in accesses {
                if let Some(shape) = shapes.get(&access.tensor) {
                    self.dims.extend(access.indices.iter().copied().zip(shape.iter().copied()));
                }
            }
            let shape: Option<Vec<u64>> =
                statement.result.indices.iter().map(|v| self.dims.get(v).copied()).collect();
            if let Some(shape) = shape {
                shapes.entry(statement.result.tensor).or_insert(shape);
            }
        }
    }

    fn value(&self, e: &Expr, env: &mut BTreeMap<IndexVar, u64>) -> f64 {
        match e {
            Expr::Literal(c) => c.as_f64(),
            Expr::Access(access) => {
                let tensor = &self.tensors[&access.tensor];
                let place: Vec<u64> = access.indices.iter().map(|v| env[v]).collect();
                tensor.vals[tensor.place(&place)]
            }
            Expr::Index(v) => env[v] as f64,
            Expr::Unary(op, a) => unary(*op, self.value(a, env)),
            Expr::Binary(op, a, b) => binary(*op, self.value(a, env), self.value(b, env)),
            Expr::Reduce { op, vars, body } => {
                let mut total = identity(*op);
                self.reduce(*op, vars, body, env, &mut total);
                total
            }
            Expr::Param(_) | Expr::UserUnary(..) => f64::NAN,
        }
    }

    fn reduce(
        &self,
        op: ReduceOp,
        vars: &[IndexVar],
        body: &Expr,
        env: &mut BTreeMap<IndexVar, u64>,
        total: &mut f64,
    ) {
        let Some((&var, rest)) = vars.split_first() else {
            *total = combine(op, *total, self.value(body, env));
            return;
        };
        for c in 0..self.dims[&var] {
            env.insert(var, c);
            self.reduce(op, rest, body, env, total);
        }
        env.remove(&var);
    }
}

fn truth(b: bool) -> f64 {
    f64::from(u8::from(b))
}

fn identity(op: ReduceOp) -> f64 {
    match op {
        ReduceOp::Add | ReduceOp::Or | ReduceOp::User(_) => 0.0,
        ReduceOp::Mul | ReduceOp::And => 1.0,
        ReduceOp::Min => f64::INFINITY,
        ReduceOp::Max => f64::NEG_INFINITY,
    }
}

fn combine(op: ReduceOp, a: f64, b: f64) -> f64 {
    binary(op.binary(), a, b)
}

fn unary(op: UnaryOp, x: f64) -> f64 {
    match op {
        UnaryOp::Neg => -x,
        UnaryOp::Not => truth(x == 0.0),
        UnaryOp::Abs => x.abs(),
        UnaryOp::Sqrt => x.sqrt(),
        UnaryOp::Cbrt | UnaryOp::Asinh | UnaryOp::Acosh | UnaryOp::Atanh => eval::unary_f64(op, x),
        UnaryOp::Square => x * x,
        UnaryOp::Cube => x * x * x,
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
    }
}

fn binary(op: BinaryOp, x: f64, y: f64) -> f64 {
    match op {
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        BinaryOp::Mul => x * y,
        BinaryOp::Div => x / y,
        BinaryOp::Min => x.min(y),
        BinaryOp::Max => x.max(y),
        BinaryOp::Pow => x.powf(y),
        BinaryOp::Mod => x - y * (x / y).floor(),
        BinaryOp::Atan2 => x.atan2(y),
        BinaryOp::Heaviside => {
            if x == 0.0 {
                y
            } else {
                truth(x > 0.0)
            }
        }
        BinaryOp::And => truth(x != 0.0 && y != 0.0),
        BinaryOp::Or => truth(x != 0.0 || y != 0.0),
        BinaryOp::Xor => truth((x != 0.0) != (y != 0.0)),
        BinaryOp::Eq => truth(x == y),
        BinaryOp::Ne => truth(x != y),
        BinaryOp::Lt => truth(x < y),
        BinaryOp::Le => truth(x <= y),
        BinaryOp::Gt => truth(x > y),
        BinaryOp::Ge => truth(x >= y),
        BinaryOp::User(_) => f64::NAN,
    }
}
