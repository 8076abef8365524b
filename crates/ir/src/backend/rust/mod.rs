//! Rust: a function of the imperative form as safe Rust that needs only the standard library.
//!
//! ```text
//! pub fn compute_y(A_dim1: i64, A2_pos: &[i32], y_vals: &mut Vec<f64>, ..) -> Result<(), Error> {
//!     for i in 0..A_dim1 {
//! ```
//!
//! An array is a slice or a `Vec`, so every index is checked, and operands with invalid arrays end in a panic. Vectors
//! of lanes are arrays; integers wrap, as in the imperative form.

mod expr;
mod names;
mod prelude;

use crate::datatype::{DataType, Register};
use crate::ids::{Array, Var};
use crate::ir::parallel::on_numbers;
use crate::ir::{ArrayRole, Expr, Function, Param, Status, Stmt, Type, build};
use names::Names;
use std::fmt::Write;

/// A function, preceded by the helpers that it needs. The surrounding text has to declare `Error`, an enumeration with
/// a variant for each status but the first ([`variant`]).
pub fn emit(function: &Function) -> String {
    let body = RustWriter { function, names: Names::of(function), text: String::new(), indent: 1 }
        .function();
    prelude::before(&body) + &body
}

/// A name as an identifier of Rust that nothing else defines.
pub fn identifier(name: &str) -> String {
    names::escape(name)
}

/// The variant of `Error` for a status.
pub fn variant(status: Status) -> &'static str {
    match status {
        Status::Ok => "Ok",
        Status::OutOfMemory => "OutOfMemory",
        Status::IntegerOverflow => "IntegerOverflow",
        Status::PositionOverflow => "PositionOverflow",
        Status::CannotHold => "CannotHold",
        Status::Dimensions => "Dimensions",
    }
}

/// The type of an array's elements.
pub fn element_type(elem: DataType) -> &'static str {
    match elem {
        DataType::Bool | DataType::U8 => "u8",
        DataType::I8 => "i8",
        DataType::I16 => "i16",
        DataType::I32 => "i32",
        DataType::I64 => "i64",
        DataType::U16 | DataType::F16 | DataType::Bf16 => "u16",
        DataType::U32 => "u32",
        DataType::U64 => "u64",
        DataType::F32 | DataType::C64 => "f32",
        DataType::F64 | DataType::C128 => "f64",
    }
}

fn scalar_type(register: Register) -> &'static str {
    match register {
        Register::Bool => "bool",
        Register::I64 => "i64",
        Register::U64 => "u64",
        Register::F32 => "f32",
        Register::F64 => "f64",
    }
}

/// An initial value, which is never read.
fn nothing(register: Register) -> &'static str {
    match register {
        Register::Bool => "false",
        Register::I64 | Register::U64 => "0",
        Register::F32 | Register::F64 => "0.0",
    }
}

struct RustWriter<'f> {
    function: &'f Function,
    names: Names,
    text: String,
    indent: usize,
}

impl RustWriter<'_> {
    fn function(mut self) -> String {
        self.declarations();
        let body: &[Stmt] = &self.function.body;
        self.block(body);
        let name = names::escape(&self.function.name);
        let params = self.parameters().join(", ");
        format!("pub fn {name}({params}) -> Result<(), Error> {{\n{}    Ok(())\n}}\n", self.text)
    }

    fn parameters(&self) -> Vec<String> {
        let parameter = |param: &Param| match param {
            Param::Scalar(v) => {
                format!("{}: {}", self.var(*v), scalar_type(self.function.vars[*v].ty.register))
            }
            Param::Array(a) => {
                let array = &self.function.arrays[*a];
                let (name, ty) = (self.array(*a), element_type(array.elem));
                match array.role {
                    ArrayRole::Input => format!("{name}: &[{ty}]"),
                    ArrayRole::Output | ArrayRole::Shared => format!("{name}: &mut [{ty}]"),
                    ArrayRole::Result | ArrayRole::Local | ArrayRole::Common => {
                        format!("{name}: &mut Vec<{ty}>")
                    }
                }
            }
        };
        self.function.params.iter().map(parameter).collect()
    }

    /// Declares variables, and local arrays. Those of loops are declared at the loops.
    fn declarations(&mut self) {
        let is_param = |var: Var| self.function.params.contains(&Param::Scalar(var));
        let mut lines = vec![];
        for (var, decl) in self.function.vars.enumerate() {
            if is_param(var) || !assigned(&self.function.body, var) {
                continue;
            }
            let Type { register, lanes } = decl.ty;
            let (ty, start) = (scalar_type(register), nothing(register));
            let name = self.var(var);
            lines.push(match lanes {
                1 => format!("let mut {name}: {ty} = {start};"),
                _ => format!("let mut {name}: [{ty}; {lanes}] = [{start}; {lanes}];"),
            });
        }
        for array in self.function.locals() {
            let ty = element_type(self.function.arrays[array].elem);
            lines.push(format!("let mut {}: Vec<{ty}> = Vec::new();", self.array(array)));
        }
        // An assigned parameter is copied to a variable.
        for param in &self.function.params {
            if let Param::Scalar(var) = param
                && assigned(&self.function.body, *var)
            {
                lines.push(format!("let mut {0} = {0};", self.var(*var)));
            }
        }
        lines.iter().for_each(|line| self.line(line));
    }

    fn var(&self, var: Var) -> &str {
        self.names.var(var)
    }

    fn array(&self, array: Array) -> &str {
        self.names.array(array)
    }

    /// The argument for a function that changes an array.
    fn lent(&self, array: Array) -> String {
        let name = self.array(array);
        if self.function.arrays[array].role.is_own() {
            format!("&mut {name}")
        } else {
            name.to_owned()
        }
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{:width$}{text}", "", width = 4 * self.indent);
    }

    fn block(&mut self, stmts: &[Stmt]) {
        stmts.iter().for_each(|s| self.stmt(s));
    }

    fn nested(&mut self, stmts: &[Stmt]) {
        self.indent += 1;
        self.block(stmts);
        self.indent -= 1;
    }

    fn stmt(&mut self, s: &Stmt) {
        match s {
            Stmt::Assign { var, value } => {
                let text = format!("{} = {};", self.var(*var), self.bare(value));
                self.line(&text);
            }
            Stmt::Store { array, index, value } => self.store(*array, index, value),
            Stmt::Update { array, index, op, value } => {
                let old = build::load(*array, index.clone());
                self.store(*array, index, &build::binary(on_numbers(*op), old, value.clone()));
            }
            Stmt::For { var, lo, hi, step, body } => self.for_loop(*var, lo, hi, *step, body),
            Stmt::Parallel { var, lo, hi, body, .. } => self.for_loop(*var, lo, hi, 1, body),
            Stmt::InOrder { body } => {
                self.line("{");
                self.nested(body);
                self.line("}");
            }
            Stmt::While { cond, body } => {
                let head = format!("while {} {{", self.bare(cond));
                self.line(&head);
                self.nested(body);
                self.line("}");
            }
            Stmt::If { cond, then, otherwise } => {
                let head = format!("if {} {{", self.bare(cond));
                self.line(&head);
                self.nested(then);
                if !otherwise.is_empty() {
                    self.line("} else {");
                    self.nested(otherwise);
                }
                self.line("}");
            }
            Stmt::Reserve { array, len } => {
                let text = format!("reserve({}, {})?;", self.bare(len), self.lent(*array));
                self.line(&text);
            }
            Stmt::Fill { array, lo, hi, value } => self.fill(*array, lo, hi, value),
            Stmt::Sort { keys, carried, lo, hi } => self.sort(keys, carried, lo, hi),
            Stmt::Prefetch { .. } => {}
            Stmt::Fail(status) => {
                let text = format!("return Err(Error::{});", variant(*status));
                self.line(&text);
            }
            Stmt::Comment(text) => {
                let text = format!("// {}", text.replace('\n', " "));
                self.line(&text);
            }
        }
    }

    fn for_loop(&mut self, var: Var, lo: &Expr, hi: &Expr, step: i64, body: &[Stmt]) {
        let (lo, hi) = (self.expr(lo), self.expr(hi));
        let lo = if lo == "0i64" { "0" } else { &lo };
        let range = match step {
            1 => format!("{lo}..{hi}"),
            step => format!("({lo}..{hi}).step_by({step})"),
        };
        let head = format!("for {} in {range} {{", self.var(var));
        self.line(&head);
        self.nested(body);
        self.line("}");
    }

    fn store(&mut self, array: Array, index: &Expr, value: &Expr) {
        let Type { register, lanes } = self.function.type_of(value);
        let name = self.array(array).to_owned();
        let at = self.index(index, "");
        let elem = self.function.arrays[array].elem;
        if lanes == 1 {
            let text =
                format!("{name}[{at}] = {};", expr::stored(elem, register, &self.bare(value)));
            return self.line(&text);
        }
        let text = format!("let (at, lanes) = ({at}, {});", self.expr(value));
        let lane = expr::stored(elem, register, "lanes[k]");
        self.line("{");
        self.indent += 1;
        self.line(&text);
        self.line(&format!("for k in 0..{lanes} {{ {name}[at + k] = {lane}; }}"));
        self.indent -= 1;
        self.line("}");
    }

    fn fill(&mut self, array: Array, lo: &Expr, hi: &Expr, value: &Expr) {
        let elem = self.function.arrays[array].elem;
        let register = self.function.type_of(value).register;
        let value = expr::stored(elem, register, &self.expr(value));
        let (lo, hi) = (self.bare(lo), self.bare(hi));
        let text = format!("fill({lo}, {hi}, {value}, {});", self.lent(array));
        self.line(&text);
    }

    fn sort(&mut self, keys: &[Array], carried: &[Array], lo: &Expr, hi: &Expr) {
        let range = format!("{} as usize..{} as usize", self.expr(lo), self.expr(hi));
        if let ([list], []) = (keys, carried) {
            let text = format!("{}[{range}].sort_unstable();", self.array(*list));
            return self.line(&text);
        }
        let compare: Vec<String> = keys
            .iter()
            .enumerate()
            .map(|(k, key)| {
                let name = self.array(*key);
                let one = format!("{name}[a].cmp(&{name}[b])");
                if k == 0 { one } else { format!(".then_with(|| {one})") }
            })
            .collect();
        self.line("{");
        self.indent += 1;
        self.line(&format!("let mut order: Vec<usize> = ({range}).collect();"));
        self.line(&format!("order.sort_by(|&a, &b| {});", compare.concat()));
        for array in keys.iter().chain(carried) {
            let text = format!("permute({}, &order, {});", self.expr(lo), self.lent(*array));
            self.line(&text);
        }
        self.indent -= 1;
        self.line("}");
    }
}

/// Whether statements assign a variable, other than as a loop variable.
fn assigned(block: &[Stmt], var: Var) -> bool {
    block.iter().any(|s| {
        matches!(s, Stmt::Assign { var: v, .. } if *v == var)
            || s.blocks().any(|b| assigned(b, var))
    })
}
