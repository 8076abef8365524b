//! C: a function of the imperative form as stand-alone text for people and compilers.
//!
//! ```text
//! int64_t compute_y(int64_t A1_size, const int32_t *restrict A2_pos, ..) {
//!   for (int64_t i = 0; i < A1_size; i++) {
//! ```
//!
//! Each function is followed by `NAME_entry`, which takes the slots of the calling convention of
//! [`crate::ir::Param`]. The text is GNU C; compile it with `-fwrapv -ffp-contract=off` and without
//! fast-math, so that it computes the same bits as every other backend. Names of the user never
//! reach the text unescaped.

mod expr;
mod names;
mod prelude;
mod scopes;
mod stmt;

use crate::datatype::{DataType, Register};
use crate::ir::{Function, Param, Role, Type};
use std::fmt::Write;

/// The functions as one C file.
pub fn emit(functions: &[&Function]) -> String {
    let mut body = String::new();
    for function in functions {
        body.push_str(&Writer::new(function).function());
    }
    prelude::before(&body) + &body
}

/// The name of a function's entry point in the emitted text.
pub fn entry(function: &Function) -> String {
    format!("{}_entry", names::escape(&function.name))
}

/// One function being written.
struct Writer<'f> {
    function: &'f Function,
    vars: Vec<String>,
    arrays: Vec<String>,
    scopes: scopes::Scopes,
    text: String,
    indent: usize,
    fails: bool,
}

impl<'f> Writer<'f> {
    fn new(function: &'f Function) -> Writer<'f> {
        let (vars, arrays) = names::all(function);
        Writer {
            function,
            vars,
            arrays,
            scopes: scopes::Scopes::of(function),
            text: String::new(),
            indent: 1,
            fails: false,
        }
    }

    fn function(mut self) -> String {
        let name = names::escape(&self.function.name);
        let signature = self.parameters(&name);
        self.openings();
        self.block(&self.function.body, &[]);
        let locals: Vec<String> =
            self.function.locals().map(|a| self.arrays[index(a)].clone()).collect();
        let mut out = format!("{signature} {{\n");
        if self.fails {
            out.push_str("  int64_t status = 0;\n");
        }
        out.push_str(&self.text);
        if self.fails {
            out.push_str("done:\n");
        }
        for local in locals {
            let _ = writeln!(out, "  free({local});");
        }
        out.push_str(if self.fails { "  return status;\n}\n" } else { "  return 0;\n}\n" });
        out.push_str(&self.entry(&name));
        out
    }

    /// `int64_t NAME(..)`.
    fn parameters(&self, name: &str) -> String {
        let mut params = vec![];
        for param in &self.function.params {
            match param {
                Param::Scalar(v) => {
                    let ty = type_name(self.function.vars[*v].ty);
                    params.push(format!("{ty} {}", self.vars[index(*v)]));
                }
                Param::Array(a) => {
                    let array = &self.function.arrays[*a];
                    let (ty, name) = (element(array.elem), &self.arrays[index(*a)]);
                    match array.role {
                        Role::Input => params.push(format!("const {ty} *restrict {name}")),
                        Role::Output => params.push(format!("{ty} *restrict {name}")),
                        Role::Result | Role::Local => {
                            params.push(format!("{ty} **{name}_out"));
                            params.push(format!("int64_t *{name}_out_len"));
                        }
                    }
                }
            }
        }
        if params.is_empty() {
            params.push("void".to_owned());
        }
        format!("int64_t {name}({})", params.join(", "))
    }

    /// Declares the arrays that the function allocates.
    fn openings(&mut self) {
        for (id, array) in self.function.arrays.enumerate() {
            let (ty, name) = (element(array.elem), self.arrays[index(id)].clone());
            match array.role {
                Role::Result => {
                    self.line(&format!("{ty} *restrict {name} = *{name}_out;"));
                    self.line(&format!("int64_t {name}_len = *{name}_out_len;"));
                }
                Role::Local => {
                    self.line(&format!("{ty} *restrict {name} = NULL;"));
                    self.line(&format!("int64_t {name}_len = 0;"));
                }
                Role::Input | Role::Output => {}
            }
        }
    }

    /// The wrapper that unpacks slots.
    fn entry(&self, name: &str) -> String {
        let mut args = vec![];
        let mut slot = 0;
        for param in &self.function.params {
            match param {
                Param::Scalar(v) => {
                    let helper = match self.function.vars[*v].ty.register {
                        Register::F32 => "tamis_f32_of",
                        Register::F64 => "tamis_f64_of",
                        _ => "(int64_t)",
                    };
                    args.push(format!("{helper}(slots[{slot}])"));
                    slot += 1;
                }
                Param::Array(a) => {
                    let array = &self.function.arrays[*a];
                    let ty = element(array.elem);
                    match array.role {
                        Role::Input => args.push(format!("(const {ty} *)slots[{slot}]")),
                        Role::Output => args.push(format!("({ty} *)slots[{slot}]")),
                        Role::Result | Role::Local => {
                            args.push(format!("({ty} **)&slots[{slot}]"));
                            args.push(format!("(int64_t *)&slots[{}]", slot + 1));
                        }
                    }
                    slot += 2;
                }
            }
        }
        let unused = if slot == 0 { "  (void)slots;\n" } else { "" };
        format!(
            "\nint64_t {name}_entry(uint64_t *slots) {{\n{unused}  return {name}({});\n}}\n",
            args.join(", ")
        )
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{:width$}{text}", "", width = 2 * self.indent);
    }
}

fn index<I: crate::ids::Id>(id: I) -> usize {
    id.index()
}

/// The C type of an array's elements.
fn element(elem: DataType) -> &'static str {
    match elem {
        DataType::Bool => "uint8_t",
        DataType::I32 => "int32_t",
        DataType::I64 => "int64_t",
        DataType::F32 => "float",
        DataType::F64 => "double",
    }
}

/// The C type of a value.
fn type_name(ty: Type) -> String {
    if ty.lanes > 1 {
        return format!("{}x{}", lane_name(ty.register), ty.lanes);
    }
    match ty.register {
        Register::Bool => "bool",
        Register::I64 => "int64_t",
        Register::F32 => "float",
        Register::F64 => "double",
    }
    .to_owned()
}

/// `f64`, as in the names of vector types.
fn lane_name(register: Register) -> &'static str {
    match register {
        Register::Bool => "b8",
        Register::I64 => "i64",
        Register::F32 => "f32",
        Register::F64 => "f64",
    }
}

#[cfg(test)]
mod tests;
