//! Whether integers near the limits of their types are right or refused: no step beyond 64 bits may leave
//! a number in a result of fewer bits.
//!
//! The values of a case become those at which 32 and 64 bits end, and its results are compared with exact
//! ones, in 128 bits. A call may be refused where a result does not fit, or where the sizes of the terms
//! of some sum, or a product, are beyond 64 bits.

use crate::case::{Case, Operand};
use crate::check::{Outcome, invalid, refused_schedule, result_types};
use crate::number::Number;
use crate::random::Random;
use std::collections::BTreeMap;
use tamis::{Backend, Code, DataType, Diagnostic, Kernel, Tensor};
use tamis_core::notation::{self, Access, Expr, Program};
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp};
use tamis_ir::ids::{IndexVar, TensorId};

/// Beyond this an exact value may be none.
const MOST: i128 = 1 << 124;

/// A case whose operands are integers near the limits of a type of up to 32 bits, and whose result is one,
/// too.
pub fn drawn(case: &Case, random: &mut Random) -> Case {
    let datatype = *random.pick(&[DataType::I32, DataType::I32, DataType::U32, DataType::I16]);
    let stored = |format: &str, datatype: DataType| {
        let levels = format.split('{').next().unwrap_or_default();
        format!("{levels}{{{datatype}}}")
    };
    let all = datatype.integers().unwrap_or(0..=0);
    let ends = [*all.start(), *all.end(), *all.end() / 2 + 1, 1 << 15, 1, -1, *all.end() - 1];
    let operands = case.operands.iter().map(|o| {
        let size = *random.pick(&[ends.len(), 3, 1]);
        let mut value = || {
            let x = ends[random.below(size)];
            Number::from(if all.contains(&x) { x as f64 } else { 1.0 })
        };
        let entries = o.entries.iter().map(|(at, _)| (at.clone(), value())).collect();
        Operand { entries, format: stored(&o.format, datatype), ..o.clone() }
    });
    let results = case.results.iter().map(|(name, f)| (name.clone(), stored(f, datatype)));
    Case { operands: operands.collect(), results: results.collect(), ..case.clone() }
}

/// Runs a case and compares; one with other operators than exact ones is invalid.
pub fn check(case: &Case, backend: Backend) -> Outcome {
    match std::panic::catch_unwind(|| attempt(case, backend)) {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(d)) if invalid(&d) || refused_schedule(case, &d) => Outcome::Invalid,
        Ok(Err(d)) => Outcome::Wrong(format!("refused: {d}")),
        Err(_) => Outcome::Wrong("a panic".to_owned()),
    }
}

fn attempt(case: &Case, backend: Backend) -> Result<Outcome, Diagnostic> {
    let program = notation::make_explicit(&notation::parse(&case.text)?)?;
    let [statement] = &program.statements[..] else { return Ok(Outcome::Invalid) };
    if statement.accumulate.is_some()
        || statement.result.is_sliced()
        || statement.result.is_diagonal()
        || !is_exact(&statement.value)
    {
        return Ok(Outcome::Invalid);
    }
    let tensors = case.tensors()?;
    let operands: Vec<(&str, &Tensor)> = tensors.iter().map(|(n, t)| (n.as_str(), t)).collect();
    let value = |name: &str| tensors.iter().find(|(n, _)| n == name).map(|(_, t)| t);
    let read = statement.value.accesses();
    if read.iter().any(|a| value(&program.tensors[a.tensor].name).is_none()) {
        return Ok(Outcome::Invalid);
    }
    let mut state = Exact { tensors: BTreeMap::new(), dims: BTreeMap::new() };
    for (id, declared) in program.tensors.enumerate() {
        state.tensors.extend(value(&declared.name).map(|t| (id, elements(t))));
    }
    state.learn_dims(&program, case);
    let kernel = Kernel::compile(&case.text, &operands, &case.options(backend)?)?;
    let name = &program.tensors[statement.result.tensor].name;
    let stored = result_types(&kernel)[name].last().and_then(|t| Some((*t, t.integers()?)));
    let Some((datatype, held)) = stored.filter(|(t, _)| t.size() < 8 && *t != DataType::Bool)
    else {
        return Ok(Outcome::Invalid);
    };
    let expected = state.every(&statement.result.indices, &statement.value);
    let far = expected.iter().any(|v| v.reach >= MOST);
    let beyond = expected.iter().any(|v| v.reach >= 1 << 63 || !held.contains(&v.value));
    match kernel.run(&operands) {
        _ if far => Ok(Outcome::Invalid),
        Err(d) if d.code == Code::IntegerOverflow && beyond => Ok(Outcome::Right),
        // What elements or terms share is computed once, also where there is none.
        Err(d) if d.code == Code::IntegerOverflow && state.dims.values().any(|&n| n == 0) => {
            Ok(Outcome::Invalid)
        }
        Err(d) => Err(d),
        Ok(results) => {
            let (_, tensor) = results.last().expect("a result");
            let got = elements(tensor);
            let wrong = expected.iter().enumerate().find(|(k, v)| got.1[*k] != v.value);
            Ok(wrong.map_or(Outcome::Right, |(k, v)| {
                let why = format!("{name} at {k} is {} of {datatype}, not {}", got.1[k], v.value);
                Outcome::Wrong(why)
            }))
        }
    }
}

/// Whether an expression has none but operators that are exact on integers.
fn is_exact(e: &Expr) -> bool {
    use BinaryOp::{Add, Eq, Ge, Gt, Le, Lt, Max, Min, Mul, Ne, Sub};
    let own = match e {
        Expr::Literal(c) => c.integer().is_some(),
        Expr::Access(a) => !a.is_sliced(),
        Expr::Unary(op, _) => matches!(op, UnaryOp::Neg | UnaryOp::Abs),
        Expr::Binary(op, ..) => {
            matches!(op, Add | Sub | Mul | Min | Max | Eq | Ne | Lt | Le | Gt | Ge)
        }
        Expr::Reduce { op, .. } => matches!(op, ReduceOp::Add | ReduceOp::Mul),
        Expr::Index(_) => true,
        _ => false,
    };
    own && e.children().into_iter().all(is_exact)
}

/// The dimensions and elements of a tensor.
fn elements(tensor: &Tensor) -> (Vec<u64>, Vec<i128>) {
    let dims = tensor.dims().to_vec();
    let fill = tensor.storage().fill.integer().unwrap_or(0);
    let mut all = vec![fill; dims.iter().product::<u64>() as usize];
    let list = tensor.to_coordinates().expect("small tensors have lists");
    let mut seen = vec![false; all.len()];
    for n in 0..list.vals().len() {
        let at = list.crds().iter().zip(&dims).fold(0, |p, (c, &d)| p * d + c[n]) as usize;
        let value = list.vals().get(n).integer().unwrap_or(0);
        all[at] = if seen[at] { all[at] + value } else { value };
        seen[at] = true;
    }
    (dims, all)
}

/// A value, and what the sizes of all that leads to it may add up to.
#[derive(Clone, Copy)]
struct Reached {
    value: i128,
    reach: i128,
}

impl Reached {
    fn of(value: i128) -> Reached {
        Reached { value, reach: value.abs() }
    }
}

/// What exact values are made of.
struct Exact {
    tensors: BTreeMap<TensorId, (Vec<u64>, Vec<i128>)>,
    dims: BTreeMap<IndexVar, u64>,
}

impl Exact {
    fn learn_dims(&mut self, program: &Program, case: &Case) {
        for (name, &size) in &case.dims {
            self.dims.extend(program.var(name).map(|v| (v, size)));
        }
        for access in program.statements[0].value.accesses() {
            let dims = &self.tensors[&access.tensor].0;
            self.dims.extend(access.indices.iter().copied().zip(dims.iter().copied()));
        }
    }

    /// The values at all coordinates of some variables, the last of them innermost.
    fn every(&self, vars: &[IndexVar], value: &Expr) -> Vec<Reached> {
        let mut all = vec![];
        self.each(vars, &mut BTreeMap::new(), &mut |env| all.push(self.value(value, env)));
        all
    }

    fn each(
        &self,
        vars: &[IndexVar],
        env: &mut BTreeMap<IndexVar, u64>,
        f: &mut dyn FnMut(&mut BTreeMap<IndexVar, u64>),
    ) {
        let Some((var, rest)) = vars.split_first() else { return f(env) };
        for at in 0..self.dims[var] {
            env.insert(*var, at);
            self.each(rest, env, f);
        }
    }

    fn at(&self, access: &Access, env: &BTreeMap<IndexVar, u64>) -> i128 {
        let (dims, vals) = &self.tensors[&access.tensor];
        vals[access.indices.iter().zip(dims).fold(0, |p, (v, &d)| p * d + env[v]) as usize]
    }

    fn value(&self, e: &Expr, env: &mut BTreeMap<IndexVar, u64>) -> Reached {
        match e {
            Expr::Literal(c) => Reached::of(c.integer().unwrap_or(0)),
            Expr::Access(a) => Reached::of(self.at(a, env)),
            Expr::Index(v) => Reached::of(env[v].into()),
            Expr::Unary(op, a) => {
                let Reached { value, reach } = self.value(a, env);
                Reached { value: if *op == UnaryOp::Neg { -value } else { value.abs() }, reach }
            }
            Expr::Binary(op, a, b) => combined(*op, self.value(a, env), self.value(b, env)),
            Expr::Reduce { op, vars, body } => {
                let start = Reached::of(i128::from(*op == ReduceOp::Mul));
                let mut total = start;
                let mut inner = env.clone();
                self.each(vars, &mut inner, &mut |env| {
                    total = combined(op.binary(), total, self.value(body, env));
                });
                total
            }
            _ => unreachable!("no exact operator"),
        }
    }
}

fn combined(op: BinaryOp, a: Reached, b: Reached) -> Reached {
    let (x, y) = (a.value, b.value);
    let sum = a.reach.saturating_add(b.reach).min(MOST);
    let most = a.reach.max(b.reach);
    let product = || a.reach.max(1).saturating_mul(b.reach.max(1)).min(MOST);
    let (value, reach) = match op {
        BinaryOp::Add => (x.saturating_add(y), sum),
        BinaryOp::Sub => (x.saturating_sub(y), sum),
        BinaryOp::Mul => (x.saturating_mul(y), product()),
        BinaryOp::Min => (x.min(y), most),
        BinaryOp::Max => (x.max(y), most),
        BinaryOp::Eq => ((x == y).into(), most),
        BinaryOp::Ne => ((x != y).into(), most),
        BinaryOp::Lt => ((x < y).into(), most),
        BinaryOp::Le => ((x <= y).into(), most),
        BinaryOp::Gt => ((x > y).into(), most),
        _ => ((x >= y).into(), most),
    };
    Reached { value, reach }
}
