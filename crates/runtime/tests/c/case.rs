//! A function with arguments, run by the interpreter and as C.

use tamis_ir::algebra::BinaryOp;
use tamis_ir::datatype::{DataType, Scalar};
use tamis_ir::ids::{Array, Id, IdVec, Var};
use tamis_ir::interpret::{self, Argument, Buffer};
use tamis_ir::ir::build::{for_loop, int};
use tamis_ir::ir::{ArrayDecl, ArrayRole, Expr, Function, Param, Status, Stmt, Type, VarDecl};
use tamis_runtime::cc::CFunction;
use tamis_runtime::kernel::Executable;

/// A function and what it is called with.
pub struct Case {
    pub function: Function,
    arguments: Vec<Argument>,
}

/// What a call left.
pub struct Left {
    status: Status,
    /// The output arrays, in the order of the parameters.
    outputs: Vec<(String, Buffer)>,
}

impl Case {
    /// A function without parameters and statements.
    pub fn new(name: &str) -> Case {
        let function = Function {
            name: name.to_owned(),
            params: vec![],
            vars: IdVec::new(),
            arrays: IdVec::new(),
            body: vec![],
        };
        Case { function, arguments: vec![] }
    }

    pub fn var(&mut self, name: &str, ty: Type) -> Var {
        self.function.vars.push(VarDecl::new(name, ty))
    }

    pub fn index(&mut self, name: &str) -> Var {
        self.var(name, Type::INDEX)
    }

    pub fn scalar(&mut self, name: &str, value: Scalar) -> Var {
        let var = self.var(name, Type::scalar(value.register()));
        self.function.params.push(Param::Scalar(var));
        self.arguments.push(Argument::Scalar(value));
        var
    }

    pub fn input(&mut self, name: &str, buffer: Buffer) -> Array {
        self.array(name, buffer, ArrayRole::Input)
    }

    pub fn output(&mut self, name: &str, elem: DataType, len: usize) -> Array {
        self.array(name, Buffer::of(elem, len), ArrayRole::Output)
    }

    pub fn result(&mut self, name: &str, elem: DataType) -> Array {
        self.array(name, Buffer::of(elem, 0), ArrayRole::Result)
    }

    pub fn local(&mut self, name: &str, elem: DataType) -> Array {
        self.function.arrays.push(ArrayDecl::new(name, elem, ArrayRole::Local))
    }

    fn array(&mut self, name: &str, buffer: Buffer, role: ArrayRole) -> Array {
        let elem = buffer.elem();
        let array = self.function.arrays.push(ArrayDecl::new(name, elem, role));
        self.function.params.push(Param::Array(array));
        self.arguments.push(Argument::Array(buffer));
        array
    }

    pub fn push(&mut self, s: Stmt) {
        self.function.body.push(s);
    }

    /// `for i in 0..n step step { array[base + i] = value }`, the value in what the array holds.
    pub fn each(&mut self, i: Var, n: usize, step: usize, to: (Array, usize), value: Expr) {
        let (array, base) = to;
        let place = Expr::Binary(BinaryOp::Add, Box::new(Expr::Var(i)), Box::new(int(base as i64)));
        let elem = self.function.arrays[array].elem.register();
        let value = match self.function.type_of(&value).register == elem {
            true => value,
            false => Expr::Convert(elem, Box::new(value)),
        };
        let body = vec![Stmt::Store { array, index: place, value }];
        let mut s = for_loop(i, int(0), int(n as i64), body);
        if let Stmt::For { step: by, .. } = &mut s {
            *by = step as i64;
        }
        self.push(s);
    }

    pub fn interpreted(&self) -> Left {
        let outcome = interpret::run(&self.function, self.arguments.clone(), Some(10_000_000));
        let outcome = outcome.unwrap_or_else(|fault| panic!("{fault}\n{}", self.function));
        let outputs = self.outputs(|a| outcome.arrays[a.index()].clone());
        Left { status: outcome.status, outputs }
    }

    pub fn called(&self, executable: &CFunction) -> Left {
        let mut arguments = self.arguments.clone();
        let mut slots = vec![];
        for argument in &mut arguments {
            match argument {
                Argument::Scalar(Scalar::F32(x)) => slots.push(u64::from(x.to_bits())),
                Argument::Scalar(Scalar::F64(x)) => slots.push(x.to_bits()),
                Argument::Scalar(Scalar::U64(x)) => slots.push(*x),
                Argument::Scalar(x) => slots.push(x.as_i64() as u64),
                Argument::Array(b) if b.is_empty() => slots.extend([0, 0]),
                Argument::Array(b) => slots.extend([b.as_mut_ptr() as u64, b.len() as u64]),
            }
        }
        slots.extend(self.function.locals().flat_map(|_| [0, 0]));
        // SAFETY: the slots follow the parameters one by one; the buffers live through the call.
        let status = unsafe { executable.call(&mut slots) };
        let place = |a: Array| {
            let at = self.function.params.iter().position(|p| *p == Param::Array(a));
            match &arguments[at.expect("an output is a parameter")] {
                Argument::Array(buffer) => buffer.clone(),
                Argument::Scalar(_) => unreachable!("an output is an array"),
            }
        };
        Left { status, outputs: self.outputs(place) }
    }

    fn outputs(&self, of: impl Fn(Array) -> Buffer) -> Vec<(String, Buffer)> {
        let outputs = self.function.arrays.enumerate().filter(|(_, a)| a.role == ArrayRole::Output);
        outputs.map(|(id, a)| (a.name.clone(), of(id))).collect()
    }

    /// Where two calls differ, at most once per output.
    pub fn differences(&self, expected: &Left, got: &Left) -> Vec<String> {
        let name = &self.function.name;
        if expected.status != got.status {
            return vec![format!("{name} ends {:?}, not {:?}", got.status, expected.status)];
        }
        let pairs = expected.outputs.iter().zip(&got.outputs);
        pairs
            .filter_map(|((array, want), (_, got))| {
                let (want, got) = (texts(want), texts(got));
                let at = (0..want.len()).find(|&k| want[k] != got[k])?;
                Some(format!("{name}: {array}[{at}] is {}, not {}", got[at], want[at]))
            })
            .collect()
    }
}

/// The elements as text that is equal where the bits are; every NaN is one.
fn texts(buffer: &Buffer) -> Vec<String> {
    (0..buffer.len()).map(|k| buffer.get(k).to_string()).collect()
}
