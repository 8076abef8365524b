//! The imperative form as text, which [`parse`](super::parse) reads back to the identical function.
//!
//! ```text
//! fn compute_y(A1_size: i64, A2_pos: in [i32], y_vals: out [f64]) {
//!   var i, pA2: i64
//!   var s: f64
//!   for i in 0..A1_size {
//!     s = 0.0
//!     for pA2 in A2_pos[i]..A2_pos[i + 1] {
//!       s = fma(A_vals[pA2], x_vals[A2_crd[pA2]], s)
//! ```

use super::{ArrayRole, Expr, Function, Param, Reduction, Stmt, Type};
use crate::algebra::{BinaryOp, UnaryOp};
use crate::datatype::Scalar;
use std::fmt::{self, Write};

/// The number of variables in a line of declarations.
const PER_LINE: usize = 10;

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let params: Vec<String> = self.params.iter().map(|p| param(self, *p)).collect();
        writeln!(f, "fn {}({}) {{", self.name, params.join(", "))?;
        for local in self.locals() {
            let array = &self.arrays[local];
            writeln!(f, "  {} {}: [{}]", role(array.role), array.name, array.elem)?;
        }
        let scalars = self.params.iter().filter(|p| matches!(p, Param::Scalar(_))).count();
        let vars = self.vars.as_slice().get(scalars..).unwrap_or_default();
        // Consecutive variables of a type share lines, so that parsing keeps the order.
        for run in vars
            .chunk_by(|a, b| (a.ty, a.by_lanes) == (b.ty, b.by_lanes))
            .flat_map(|run| run.chunks(PER_LINE))
        {
            let names: Vec<&str> = run.iter().map(|v| v.name.as_str()).collect();
            let lanes = if run[0].by_lanes { " by lanes" } else { "" };
            writeln!(f, "  var {}: {}{lanes}", names.join(", "), ty(run[0].ty))?;
        }
        block(self, f, &self.body, 1)?;
        f.write_str("}\n")
    }
}

fn param(function: &Function, param: Param) -> String {
    match param {
        Param::Scalar(v) => format!("{}: {}", function.vars[v].name, ty(function.vars[v].ty)),
        Param::Array(a) => {
            let array = &function.arrays[a];
            let streamed = if array.streamed { " streamed" } else { "" };
            format!("{}: {}{streamed} [{}]", array.name, role(array.role), array.elem)
        }
    }
}

fn role(role: ArrayRole) -> &'static str {
    match role {
        ArrayRole::Input => "in",
        ArrayRole::Output => "out",
        ArrayRole::Shared => "shared",
        ArrayRole::Result => "result",
        ArrayRole::Local => "local",
        ArrayRole::Common => "common",
    }
}

pub(super) fn ty(ty: Type) -> String {
    let name = ty.register.name();
    if ty.lanes == 1 { name.to_owned() } else { format!("{name}x{}", ty.lanes) }
}

fn block(function: &Function, f: &mut impl Write, stmts: &[Stmt], depth: usize) -> fmt::Result {
    stmts.iter().try_for_each(|s| stmt(function, f, s, depth))
}

fn stmt(function: &Function, f: &mut impl Write, s: &Stmt, depth: usize) -> fmt::Result {
    let e = |e: &Expr| expr(function, e);
    let array = |a: crate::ids::Array| &function.arrays[a].name;
    write!(f, "{:width$}", "", width = 2 * depth)?;
    match s {
        Stmt::Assign { var, value } => writeln!(f, "{} = {}", function.vars[*var].name, e(value)),
        Stmt::Store { array: a, index, value } => {
            let lanes = function.type_of(value).lanes;
            let lanes = if lanes == 1 { String::new() } else { format!("; {lanes}") };
            writeln!(f, "{}[{}{lanes}] = {}", array(*a), e(index), e(value))
        }
        Stmt::For { var, lo, hi, step, body } => {
            let step = if *step == 1 { String::new() } else { format!(" step {step}") };
            let name = &function.vars[*var].name;
            writeln!(f, "for {name} in {}..{}{step} {{", e(lo), e(hi))?;
            inner(function, f, body, depth)
        }
        Stmt::Parallel { unit, var, lo, hi, combined, body } => {
            let (name, with) = (&function.vars[*var].name, with(function, combined));
            writeln!(f, "for {name} in {}..{} on {}{with} {{", e(lo), e(hi), unit.name())?;
            inner(function, f, body, depth)
        }
        Stmt::Update { array: a, index, op, value } => {
            writeln!(f, "update {}[{}] by {}: {}", array(*a), e(index), op.name(), e(value))
        }
        Stmt::InOrder { body } => {
            writeln!(f, "in order {{")?;
            inner(function, f, body, depth)
        }
        Stmt::While { cond, body } => {
            writeln!(f, "while {} {{", e(cond))?;
            inner(function, f, body, depth)
        }
        Stmt::If { cond, then, otherwise } => {
            writeln!(f, "if {} {{", e(cond))?;
            if !otherwise.is_empty() {
                block(function, f, then, depth + 1)?;
                writeln!(f, "{:width$}}} else {{", "", width = 2 * depth)?;
            }
            inner(function, f, if otherwise.is_empty() { then } else { otherwise }, depth)
        }
        Stmt::Reserve { array: a, len } => writeln!(f, "reserve {}, {}", array(*a), e(len)),
        Stmt::Fill { array: a, lo, hi, value } => {
            writeln!(f, "fill {}[{}..{}] = {}", array(*a), e(lo), e(hi), e(value))
        }
        Stmt::Sort { keys, carried, lo, hi } => {
            let names = |list: &[crate::ids::Array]| {
                list.iter().map(|&a| array(a).as_str()).collect::<Vec<_>>().join(", ")
            };
            write!(f, "sort {}..{} by {}", e(lo), e(hi), names(keys))?;
            writeln!(f, "{}{}", if carried.is_empty() { "" } else { " with " }, names(carried))
        }
        Stmt::Prefetch { array: a, index, far } => {
            let far = if *far { " far" } else { "" };
            writeln!(f, "prefetch {}[{}]{far}", array(*a), e(index))
        }
        Stmt::Fail(status) => writeln!(f, "fail {}", status.name()),
        Stmt::Comment(text) => writeln!(f, "# {}", text.replace('\n', " ")),
    }
}

/// A block in a statement, and its end.
fn inner(function: &Function, f: &mut impl Write, body: &[Stmt], depth: usize) -> fmt::Result {
    block(function, f, body, depth + 1)?;
    writeln!(f, "{:width$}}}", "", width = 2 * depth)
}

/// The reductions of iterations: ` with s by sum`.
fn with(function: &Function, combined: &[Reduction]) -> String {
    let one = |c: &Reduction| format!("{} by {}", function.vars[c.var].name, c.op.name());
    let all: Vec<String> = combined.iter().map(one).collect();
    if all.is_empty() { String::new() } else { format!(" with {}", all.join(", ")) }
}

/// The first line of a statement.
pub(super) fn head(function: &Function, s: &Stmt) -> String {
    let mut text = String::new();
    let written = stmt(function, &mut text, s, 0);
    written.expect("a string takes all that is written to it");
    text.lines().next().unwrap_or_default().to_owned()
}

/// An expression of a function as text.
pub fn expr(function: &Function, e: &Expr) -> String {
    operand(function, e, 0)
}

fn operand(function: &Function, e: &Expr, binding: u8) -> String {
    let (text, own) = written(function, e);
    if own < binding { format!("({text})") } else { text }
}

fn written(function: &Function, e: &Expr) -> (String, u8) {
    let inner = |e: &Expr| expr(function, e);
    let call = |name: &str, args: &[&Expr]| {
        let args: Vec<String> = args.iter().map(|a| inner(a)).collect();
        (format!("{name}({})", args.join(", ")), 9)
    };
    match e {
        Expr::Const(c) => {
            let text = constant(*c);
            let own = if text.starts_with('-') { 5 } else { 9 };
            (text, own)
        }
        Expr::Var(v) => (function.vars[*v].name.clone(), 9),
        Expr::Load { array, index, lanes } => {
            let lanes = if *lanes == 1 { String::new() } else { format!("; {lanes}") };
            (format!("{}[{}{lanes}]", function.arrays[*array].name, inner(index)), 9)
        }
        // `-1` is a constant.
        Expr::Unary(UnaryOp::Neg, a) if matches!(**a, Expr::Const(_)) => {
            (format!("-({})", inner(a)), 5)
        }
        Expr::Unary(UnaryOp::Neg, a) => (format!("-{}", operand(function, a, 6)), 5),
        Expr::Unary(op, a) => call(op.name(), &[a]),
        Expr::Binary(op, a, b) => binary(function, *op, a, b),
        Expr::BitAnd(a, b) => call("bitand", &[a, b]),
        Expr::AndThen(a, b) => {
            (format!("{} && {}", operand(function, a, 1), operand(function, b, 2)), 1)
        }
        Expr::Select(c, a, b) => call("select", &[c, a, b]),
        Expr::Fma(a, b, c) => call("fma", &[a, b, c]),
        Expr::Convert(to, a) => call(to.name(), &[a]),
        Expr::Splat(a, lanes) => (format!("splat({}, {lanes})", inner(a)), 9),
        Expr::Lanes(all) => call("lanes", &all.iter().collect::<Vec<_>>()),
        Expr::Reduce(BinaryOp::Add, a) => call("sum", &[a]),
        Expr::Reduce(op, a) => call(op.name(), &[a]),
        Expr::Len(array) => (format!("len({})", function.arrays[*array].name), 9),
    }
}

/// Text from which the type and all bits can be read back.
fn constant(c: Scalar) -> String {
    match c {
        Scalar::F32(x) if x.is_nan() && x.to_bits() != f32::NAN.to_bits() => {
            format!("nanf({})", x.to_bits())
        }
        Scalar::F64(x) if x.is_nan() && x.to_bits() != f64::NAN.to_bits() => {
            format!("nan({})", x.to_bits())
        }
        Scalar::F32(_) => format!("{c}f"),
        Scalar::U64(_) => format!("{c}u"),
        _ => c.to_string(),
    }
}

fn binary(function: &Function, op: BinaryOp, a: &Expr, b: &Expr) -> (String, u8) {
    let level = match op {
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
            2
        }
        BinaryOp::Add | BinaryOp::Sub => 3,
        BinaryOp::Mul | BinaryOp::Div => 4,
        _ => {
            let (a, b) = (expr(function, a), expr(function, b));
            return (format!("{}({a}, {b})", op.name()), 9);
        }
    };
    let left = operand(function, a, if level == 2 { 3 } else { level });
    (format!("{left} {} {}", op.name(), operand(function, b, level + 1)), level)
}
