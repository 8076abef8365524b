//! The interpreter: runs the imperative form exactly by its semantics, and checks everything that compiled code
//! assumes: bounds, narrowing stores, reads of undefined elements.
//!
//! It is the oracle for compiled backends, and its counts of iterations, loads and stores pin costs in tests without a
//! clock.

mod loops;
mod memory;
mod races;

pub use loops::Loop;
pub use memory::{Buffer, Counts, Fault};

use crate::algebra::eval;
use crate::datatype::Scalar;
use crate::ids::{Array, Id, Var};
use crate::ir::flow::assigned;
use crate::ir::parallel::on_numbers;
use crate::ir::{ArrayRole, Expr, Function, Param, Reduction, Status, Stmt};
use loops::Loops;
use memory::Memory;
use races::{Races, Use};

/// The value of a parameter.
#[derive(Clone, Debug)]
pub enum Argument {
    /// A scalar.
    Scalar(Scalar),
    /// An array; empty for results.
    Array(Buffer),
}

/// The result of a call.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The status.
    pub status: Status,
    /// The arrays of the function by id; results have their reserved lengths.
    pub arrays: Vec<Buffer>,
    /// The counts of the run.
    pub counts: Counts,
    /// The counts of each loop, if requested: outer loops before inner ones.
    pub loops: Vec<Loop>,
}

/// Runs a function on arguments in the order of its parameters, with a limit for the number of iterations and for
/// array lengths.
pub fn run(
    function: &Function,
    arguments: Vec<Argument>,
    limit: Option<u64>,
) -> Result<Outcome, Fault> {
    outcome(function, arguments, limit, None)
}

/// [`run`], with counts of each loop.
pub fn run_by_loop(
    function: &Function,
    arguments: Vec<Argument>,
    limit: Option<u64>,
) -> Result<Outcome, Fault> {
    outcome(function, arguments, limit, Some(Loops::of(function)))
}

fn outcome(
    function: &Function,
    arguments: Vec<Argument>,
    limit: Option<u64>,
    loops: Option<Loops<'_>>,
) -> Result<Outcome, Fault> {
    let mut machine = Machine {
        function,
        loops,
        vars: vec![vec![]; function.vars.len()],
        memory: Memory::new(function),
        races: Races::of(function),
        limit: limit.unwrap_or(u64::MAX),
    };
    if arguments.len() != function.params.len() {
        return Err(Fault::new("the number of arguments is wrong"));
    }
    for (param, argument) in function.params.iter().zip(arguments) {
        match (param, argument) {
            (Param::Scalar(v), Argument::Scalar(x)) => machine.vars[v.index()] = vec![x],
            (Param::Array(a), Argument::Array(buffer)) => {
                let is_defined = function.arrays[*a].role == ArrayRole::Shared;
                machine.memory.give(*a, buffer, is_defined)?;
            }
            _ => return Err(Fault::new("an argument does not fit its parameter")),
        }
    }
    let status = match machine.block(&function.body)? {
        Flow::Next => Status::Ok,
        Flow::Ended(status) => status,
    };
    let bytes = machine.memory.own_bytes(function);
    let Memory { arrays, counts, .. } = machine.memory;
    let loops = machine.loops.map(Loops::done).unwrap_or_default();
    Ok(Outcome { status, arrays, counts: Counts { bytes, ..counts }, loops })
}

/// How the run continues after a statement.
enum Flow {
    Next,
    Ended(Status),
}

struct Machine<'f> {
    function: &'f Function,
    /// The counts of each loop, if requested.
    loops: Option<Loops<'f>>,
    /// The lanes of each variable; empty before its first assignment.
    vars: Vec<Vec<Scalar>>,
    memory: Memory,
    races: Races,
    limit: u64,
}

impl<'f> Machine<'f> {
    fn block(&mut self, stmts: &'f [Stmt]) -> Result<Flow, Fault> {
        for s in stmts {
            let flow = match self.loops {
                None => self.stmt(s)?,
                Some(_) => self.counted(s)?,
            };
            if let Flow::Ended(status) = flow {
                return Ok(Flow::Ended(status));
            }
        }
        Ok(Flow::Next)
    }

    /// Runs a statement; if it is a loop, counts its work.
    fn counted(&mut self, s: &'f Stmt) -> Result<Flow, Fault> {
        let before = self.memory.counts;
        let flow = self.stmt(s)?;
        if let Some(loops) = &mut self.loops {
            loops.ended(s, before, self.memory.counts);
        }
        Ok(flow)
    }

    fn stmt(&mut self, s: &'f Stmt) -> Result<Flow, Fault> {
        match s {
            Stmt::Assign { var, value } if self.function.vars[*var].ty.lanes == 1 => {
                let value = self.scalar(value)?;
                self.assign(*var, value);
            }
            Stmt::Assign { var, value } => self.vars[var.index()] = self.lanes(value)?,
            Stmt::Store { array, index, value } => self.store_all(*array, index, value)?,
            Stmt::For { var, lo, hi, step, body } => {
                return self.for_loop(*var, lo, hi, *step, body);
            }
            Stmt::Parallel { var, lo, hi, combined, body, .. } => {
                return self.parallel(*var, (lo, hi), combined, body);
            }
            Stmt::Update { array, index, op, value } => {
                let (at, value) = (self.index(index)?, self.scalar(value)?);
                self.races.note(self.function, *array, at, Use::Update)?;
                let old = self.memory.load(self.function, *array, at)?;
                same_type(old, value)?;
                let new = eval::binary(on_numbers(*op), old, value);
                self.memory.store(self.function, *array, at, new)?;
            }
            Stmt::While { cond, body } => {
                while self.truth(cond)? {
                    self.iterate()?;
                    if let Flow::Ended(status) = self.block(body)? {
                        return Ok(Flow::Ended(status));
                    }
                }
            }
            Stmt::If { cond, then, otherwise } => {
                let branch = if self.truth(cond)? { then } else { otherwise };
                return self.block(branch);
            }
            Stmt::InOrder { body } => return self.in_order(body),
            Stmt::Reserve { array, len } => return self.reserve(*array, len),
            Stmt::Fill { array, lo, hi, value } => {
                let (lo, hi, value) = (self.index(lo)?, self.index(hi)?, self.scalar(value)?);
                for k in lo..hi {
                    self.store(*array, k, value)?;
                }
            }
            Stmt::Sort { keys, carried, lo, hi } => {
                let (lo, hi) = (self.index(lo)?, self.index(hi)?);
                self.memory.sort(self.function, keys, carried, lo, hi)?;
            }
            Stmt::Prefetch { index, .. } => {
                self.index(index)?;
            }
            Stmt::Fail(status) => return Ok(Flow::Ended(*status)),
            Stmt::Comment(_) => {}
        }
        Ok(Flow::Next)
    }

    fn reserve(&mut self, array: Array, len: &Expr) -> Result<Flow, Fault> {
        let len = self.index(len)?;
        if u64::try_from(len).is_ok_and(|len| len > self.limit) {
            return Err(Fault::limit());
        }
        Ok(match self.memory.reserve(array, len) {
            true => Flow::Next,
            false => Flow::Ended(Status::OutOfMemory),
        })
    }

    fn for_loop(
        &mut self,
        var: Var,
        lo: &Expr,
        hi: &Expr,
        step: i64,
        body: &'f [Stmt],
    ) -> Result<Flow, Fault> {
        let (lo, hi) = (self.index(lo)?, self.index(hi)?);
        let mut i = lo;
        while i < hi {
            self.iterate()?;
            self.assign(var, Scalar::I64(i));
            if let Flow::Ended(status) = self.block(body)? {
                return Ok(Flow::Ended(status));
            }
            i += step;
        }
        self.vars[var.index()] = vec![];
        Ok(Flow::Next)
    }

    /// Runs iterations in order. They share nothing but the values that they combine: all other variables that they
    /// assign have no value before and after each.
    fn parallel(
        &mut self,
        var: Var,
        (lo, hi): (&Expr, &Expr),
        combined: &[Reduction],
        body: &'f [Stmt],
    ) -> Result<Flow, Fault> {
        let mut own = vec![];
        assigned(body, &mut own);
        own.retain(|v| combined.iter().all(|c| c.var != *v));
        let (lo, hi) = (self.index(lo)?, self.index(hi)?);
        self.races.enter();
        for i in lo..hi {
            self.iterate()?;
            self.races.next(i);
            own.iter().for_each(|v| self.vars[v.index()].clear());
            self.vars[var.index()] = vec![Scalar::I64(i)];
            if let Flow::Ended(status) = self.block(body)? {
                return Ok(Flow::Ended(status));
            }
        }
        self.races.leave();
        own.iter().chain([&var]).for_each(|v| self.vars[v.index()].clear());
        Ok(Flow::Next)
    }

    fn in_order(&mut self, body: &'f [Stmt]) -> Result<Flow, Fault> {
        self.races.in_order = true;
        let flow = self.block(body);
        self.races.in_order = false;
        flow
    }

    /// Stores the lanes of a value, one element each.
    fn store_all(&mut self, array: Array, index: &Expr, value: &Expr) -> Result<(), Fault> {
        if self.function.type_of(value).lanes == 1 {
            let value = self.scalar(value)?;
            let at = self.index(index)?;
            return self.store(array, at, value);
        }
        let values = self.lanes(value)?;
        let at = self.index(index)?;
        for (k, value) in values.into_iter().enumerate() {
            self.store(array, at + k as i64, value)?;
        }
        Ok(())
    }

    /// Assigns a scalar variable.
    fn assign(&mut self, var: Var, value: Scalar) {
        let lanes = &mut self.vars[var.index()];
        lanes.clear();
        lanes.push(value);
    }

    fn store(&mut self, array: Array, at: i64, value: Scalar) -> Result<(), Fault> {
        self.races.note(self.function, array, at, Use::Store)?;
        self.memory.store(self.function, array, at, value)
    }

    fn load(&mut self, array: Array, at: i64) -> Result<Scalar, Fault> {
        self.races.note(self.function, array, at, Use::Load)?;
        self.memory.load(self.function, array, at)
    }

    fn iterate(&mut self) -> Result<(), Fault> {
        self.memory.counts.iterations += 1;
        match self.memory.counts.iterations > self.limit {
            true => Err(Fault::limit()),
            false => Ok(()),
        }
    }

    fn index(&mut self, e: &Expr) -> Result<i64, Fault> {
        match self.scalar(e)? {
            Scalar::I64(x) => Ok(x),
            other => Err(Fault::new(format!("{other} is not an index"))),
        }
    }

    fn truth(&mut self, e: &Expr) -> Result<bool, Fault> {
        match self.scalar(e)? {
            Scalar::Bool(b) => Ok(b),
            other => Err(Fault::new(format!("{other} is not a truth value"))),
        }
    }

    /// The value of a scalar expression.
    fn scalar(&mut self, e: &Expr) -> Result<Scalar, Fault> {
        match e {
            Expr::Const(c) => Ok(*c),
            Expr::Var(v) => match self.vars[v.index()][..] {
                [x] => Ok(x),
                _ => Err(Fault::new(format!("{} has no value", self.function.vars[*v].name))),
            },
            Expr::Load { array, index, lanes: 1 } => {
                let at = self.index(index)?;
                self.load(*array, at)
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.scalar(a)?, self.scalar(b)?);
                same_type(a, b)?;
                Ok(eval::binary(*op, a, b))
            }
            _ => self.rare(e),
        }
    }

    fn rare(&mut self, e: &Expr) -> Result<Scalar, Fault> {
        match e {
            Expr::Unary(op, a) => Ok(eval::unary(*op, self.scalar(a)?)),
            Expr::BitAnd(a, b) => bit_and(self.scalar(a)?, self.scalar(b)?),
            Expr::AndThen(a, b) => Ok(Scalar::Bool(self.truth(a)? && self.truth(b)?)),
            Expr::Select(c, a, b) => {
                let (c, a, b) = (self.truth(c)?, self.scalar(a)?, self.scalar(b)?);
                Ok(if c { a } else { b })
            }
            Expr::Fma(a, b, c) => fused(self.scalar(a)?, self.scalar(b)?, self.scalar(c)?),
            Expr::Convert(to, a) => Ok(self.scalar(a)?.convert(*to)),
            Expr::Reduce(op, a) => {
                let mut lanes = self.lanes(a)?;
                while lanes.len() > 1 {
                    let high = lanes.split_off(lanes.len() / 2);
                    for (low, high) in lanes.iter_mut().zip(high) {
                        *low = eval::binary(*op, *low, high);
                    }
                }
                lanes.first().copied().ok_or_else(|| Fault::new("a vector of no lanes"))
            }
            Expr::Len(array) => Ok(Scalar::I64(self.memory.len(*array) as i64)),
            _ => Err(Fault::new("a vector where a scalar is needed")),
        }
    }

    /// The lanes of an expression.
    fn lanes(&mut self, e: &Expr) -> Result<Vec<Scalar>, Fault> {
        if self.function.type_of(e).lanes == 1 {
            return Ok(vec![self.scalar(e)?]);
        }
        match e {
            Expr::Var(v) => Ok(self.vars[v.index()].clone()),
            Expr::Load { array, index, lanes } => {
                let at = self.index(index)?;
                let lane = |k| self.load(*array, at + i64::from(k));
                (0..*lanes).map(lane).collect()
            }
            Expr::Splat(a, lanes) => Ok(vec![self.scalar(a)?; usize::from(*lanes)]),
            Expr::Lanes(all) => all.iter().map(|lane| self.scalar(lane)).collect(),
            Expr::Unary(op, a) => {
                Ok(self.lanes(a)?.into_iter().map(|x| eval::unary(*op, x)).collect())
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.lanes(a)?, self.lanes(b)?);
                Ok(a.into_iter().zip(b).map(|(a, b)| eval::binary(*op, a, b)).collect())
            }
            Expr::Fma(a, b, c) => {
                let (a, b, c) = (self.lanes(a)?, self.lanes(b)?, self.lanes(c)?);
                a.into_iter().zip(b).zip(c).map(|((a, b), c)| fused(a, b, c)).collect()
            }
            Expr::Select(c, a, b) if self.function.type_of(c).lanes > 1 => {
                let (c, a, b) = (self.lanes(c)?, self.lanes(a)?, self.lanes(b)?);
                let chosen = c.into_iter().zip(a.into_iter().zip(b));
                Ok(chosen.map(|(c, (a, b))| if c == Scalar::Bool(true) { a } else { b }).collect())
            }
            Expr::Select(c, a, b) => {
                let (c, a, b) = (self.truth(c)?, self.lanes(a)?, self.lanes(b)?);
                Ok(if c { a } else { b })
            }
            Expr::Convert(to, a) => {
                Ok(self.lanes(a)?.into_iter().map(|x| x.convert(*to)).collect())
            }
            _ => Err(Fault::new("a scalar where a vector is needed")),
        }
    }
}

fn same_type(a: Scalar, b: Scalar) -> Result<(), Fault> {
    match a.register() == b.register() {
        true => Ok(()),
        false => Err(Fault::new(format!("{a} and {b} have different types"))),
    }
}

fn bit_and(a: Scalar, b: Scalar) -> Result<Scalar, Fault> {
    match (a, b) {
        (Scalar::I64(a), Scalar::I64(b)) => Ok(Scalar::I64(a & b)),
        (Scalar::U64(a), Scalar::U64(b)) => Ok(Scalar::U64(a & b)),
        _ => Err(Fault::new("the bits of other than integers")),
    }
}

fn fused(a: Scalar, b: Scalar, c: Scalar) -> Result<Scalar, Fault> {
    match (a, b, c) {
        (Scalar::F64(a), Scalar::F64(b), Scalar::F64(c)) => Ok(Scalar::F64(a.mul_add(b, c))),
        (Scalar::F32(a), Scalar::F32(b), Scalar::F32(c)) => Ok(Scalar::F32(a.mul_add(b, c))),
        _ => Err(Fault::new("a fused multiply-add of other than floats")),
    }
}
