//! C: a function of the imperative form as a self-contained text for people and compilers.
//!
//! ```text
//! int64_t compute_y(int64_t A1_size, const int32_t *restrict A2_pos, ..) {
//!   for (int64_t i = 0; i < A1_size; i++) {
//! ```
//!
//! Each function is followed by `NAME_entry`, which takes the slots of the calling convention of [`crate::ir::Param`].
//! The text is GNU C; compile it with `-fwrapv -ffp-contract=off` and without fast-math, so that it computes the same
//! bits as every other backend. It causes no warnings, and no name of the user has another meaning in it. Loops over
//! cores have OpenMP's pragma, for `-fopenmp`.

mod elementary;
mod expr;
mod lists;
pub(in crate::backend) mod names;
pub(in crate::backend) mod prelude;
mod scopes;
mod stmt;
mod threads;
mod typed;
pub(in crate::backend) mod types;
mod uses;

use super::cuda::Place;
use crate::datatype::{DataType, Register};
use crate::ids::Array;
use crate::ir::{ArrayRole, Function, Param};
use expr::Expressions;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::Deref;
use types::{element, type_name};

/// The functions as one C file.
pub fn emit(functions: &[&Function]) -> String {
    let mut body = String::new();
    for (function, name) in functions.iter().zip(names::functions(functions)) {
        let writer = Writer::new(function, name, None);
        let entry = writer.entry();
        body.push_str(&writer.function());
        body.push_str(&entry);
    }
    prelude::before(&body, None) + &body
}

/// A function with internal linkage, without an entry point.
pub fn emit_static(function: &Function) -> String {
    let names = names::functions(&[function]);
    let name = names.into_iter().next().expect("one function has one name");
    let body = format!("static {}", Writer::new(function, name, None).function());
    prelude::before(&body, None) + &body
}

/// The name of the function that [`emit_static`] prints.
pub fn static_name(function: &Function) -> String {
    names::functions(&[function]).concat()
}

/// A name as an identifier of C that is no keyword and that no header defines.
pub fn identifier(name: &str) -> String {
    names::escape(name)
}

/// Whether the C library defines this name, so that a program linked with the library must not.
pub fn is_of_library(name: &str) -> bool {
    names::is_of_library(name)
}

/// The type of an array's elements.
pub fn element_type(elem: DataType) -> &'static str {
    element(elem)
}

/// The names of the functions' entry points in their file.
pub fn entries(functions: &[&Function]) -> Vec<String> {
    names::functions(functions).into_iter().map(|name| format!("{name}_entry")).collect()
}

/// The state of printing one function.
pub(in crate::backend) struct Writer<'f> {
    expressions: Expressions<'f>,
    name: String,
    scopes: scopes::Scopes,
    uses: uses::Uses,
    text: String,
    pub(in crate::backend) indent: usize,
    fails: bool,
    /// The label at the end of an iteration, inside a loop on threads.
    part: Option<String>,
    /// Arrays that are local to each iteration of a loop on threads.
    of_parts: BTreeSet<Array>,
    /// The position within the code for a GPU, if it is for one.
    pub(in crate::backend) place: Option<Place>,
}

impl<'f> Deref for Writer<'f> {
    type Target = Expressions<'f>;

    fn deref(&self) -> &Expressions<'f> {
        &self.expressions
    }
}

impl<'f> Writer<'f> {
    /// A function with this name; for a GPU if `place` is given.
    pub(in crate::backend) fn new(
        function: &'f Function,
        name: String,
        place: Option<Place>,
    ) -> Writer<'f> {
        let names = names::Locals::of(function);
        Writer {
            expressions: Expressions { function, names, on_gpu: place.is_some() },
            name,
            scopes: scopes::Scopes::of(function),
            uses: uses::Uses::of(function),
            text: String::new(),
            indent: 1,
            fails: false,
            part: None,
            of_parts: threads::own(function),
            place,
        }
    }

    fn function(mut self) -> String {
        self.openings();
        self.block(&self.function.body, &[]);
        let mut out = format!("{} {{\n", self.signature());
        if self.fails {
            out.push_str("  int64_t status = 0;\n");
        }
        out.push_str(&self.text);
        if self.fails {
            out.push_str("done:\n");
        }
        let locals = self.function.locals().filter(|a| self.uses.touches(*a));
        for local in locals.filter(|a| !self.of_parts.contains(a)) {
            let _ = writeln!(out, "  free({});", self.array(local));
        }
        if self.text.contains("tamis_stream_") {
            out.push_str("  tamis_streamed();\n");
        }
        out.push_str(if self.fails { "  return status;\n}\n" } else { "  return 0;\n}\n" });
        out
    }

    /// The statements of the function.
    pub(in crate::backend) fn body(&mut self) -> String {
        self.block(&self.function.body, &[]);
        std::mem::take(&mut self.text)
    }

    /// `int64_t NAME(..)`.
    fn signature(&self) -> String {
        let mut params = vec![];
        for param in &self.function.params {
            match param {
                Param::Scalar(v) => {
                    let ty = type_name(self.function.vars[*v].ty);
                    params.push(format!("{ty} {}", self.var(*v)));
                }
                Param::Array(a) => {
                    let array = &self.function.arrays[*a];
                    let (ty, names) = (element(array.elem), self.names.array(*a));
                    match array.role {
                        ArrayRole::Input => {
                            params.push(format!("const {ty} *restrict {}", names.name))
                        }
                        ArrayRole::Output | ArrayRole::Shared => {
                            params.push(format!("{ty} *restrict {}", names.name))
                        }
                        ArrayRole::Result | ArrayRole::Local | ArrayRole::Common => {
                            params.push(format!("{ty} **{}", names.out));
                            params.push(format!("int64_t *{}", names.out_len));
                        }
                    }
                    if self.takes_length(*a) {
                        params.push(format!("int64_t {}", names.len));
                    }
                }
            }
        }
        if params.is_empty() {
            params.push("void".to_owned());
        }
        format!("int64_t {}({})", self.name, params.join(", "))
    }

    /// Whether an array is passed with its length, which the function does not change.
    fn takes_length(&self, array: Array) -> bool {
        let fixed = |role| matches!(role, ArrayRole::Input | ArrayRole::Output | ArrayRole::Shared);
        fixed(self.function.arrays[array].role) && self.uses.sizes(array)
    }

    /// Declares the arrays that the function allocates, and marks unused parameters.
    fn openings(&mut self) {
        let mut lines = vec![];
        let mut unused = vec![];
        for param in &self.function.params {
            match param {
                Param::Scalar(v) if !self.uses.reads(*v) => unused.push(self.var(*v)),
                _ => {}
            }
        }
        let all = self.function.arrays.enumerate();
        for (id, array) in all.filter(|(id, _)| !self.of_parts.contains(id)) {
            let (ty, names) = (element(array.elem), self.names.array(id));
            let (touched, sized) = (self.uses.touches(id), self.uses.sizes(id));
            let (start, len) = match array.role {
                ArrayRole::Result => (format!("*{}", names.out), format!("*{}", names.out_len)),
                ArrayRole::Local | ArrayRole::Common => ("NULL".to_owned(), "0".to_owned()),
                ArrayRole::Input | ArrayRole::Output | ArrayRole::Shared if touched => continue,
                ArrayRole::Input | ArrayRole::Output | ArrayRole::Shared => {
                    unused.push(&names.name);
                    continue;
                }
            };
            if touched {
                lines.push(format!("{ty} *restrict {} = {start};", names.name));
            } else if array.role == ArrayRole::Result {
                unused.push(&names.out);
            }
            if sized {
                lines.push(format!("int64_t {} = {len};", names.len));
            } else if array.role == ArrayRole::Result {
                unused.push(&names.out_len);
            }
        }
        lines.extend(unused.into_iter().map(|name| format!("(void){name};")));
        lines.iter().for_each(|line| self.line(line));
    }

    /// The wrapper that unpacks slots.
    fn entry(&self) -> String {
        let mut args = vec![];
        let mut slot = 0;
        for param in &self.function.params {
            match param {
                Param::Scalar(v) => {
                    args.push(match self.function.vars[*v].ty.register {
                        Register::F32 => format!("tamis_f32_of(slots[{slot}])"),
                        Register::F64 => format!("tamis_f64_of(slots[{slot}])"),
                        Register::U64 => format!("slots[{slot}]"),
                        _ => format!("(int64_t)slots[{slot}]"),
                    });
                    slot += 1;
                }
                Param::Array(a) => {
                    let array = &self.function.arrays[*a];
                    let ty = element(array.elem);
                    match array.role {
                        ArrayRole::Input => args.push(format!("(const {ty} *)slots[{slot}]")),
                        ArrayRole::Output | ArrayRole::Shared => {
                            args.push(format!("({ty} *)slots[{slot}]"))
                        }
                        ArrayRole::Result | ArrayRole::Local | ArrayRole::Common => {
                            args.push(format!("({ty} **)&slots[{slot}]"));
                            args.push(format!("(int64_t *)&slots[{}]", slot + 1));
                        }
                    }
                    if self.takes_length(*a) {
                        args.push(format!("(int64_t)slots[{}]", slot + 1));
                    }
                    slot += 2;
                }
            }
        }
        let unused = if slot == 0 { "  (void)slots;\n" } else { "" };
        let name = &self.name;
        format!(
            "\nint64_t {name}_entry(uint64_t *slots) {{\n{unused}  return {name}({});\n}}\n",
            args.join(", ")
        )
    }

    pub(in crate::backend) fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{:width$}{text}", "", width = 2 * self.indent);
    }
}

#[cfg(test)]
mod tests;
