//! Concrete index notation as text: `forall(i, where(y(i) = t, forall(j, t += A(i,j) * x(j))))`.

use super::{Kernel, Program, Stmt};
use crate::notation::{Access, Expr};
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp};
use tamis_ir::ids::IndexVar;

/// The kernels of a program, one per line.
pub fn program(program: &Program) -> String {
    let kernel = |kernel: &Kernel| stmt(program, &kernel.body) + &tags(program, kernel) + "\n";
    program.kernels.iter().map(kernel).collect()
}

/// The tags of a kernel's loops.
fn tags(program: &Program, kernel: &Kernel) -> String {
    let assembled = kernel.assembly.wanted.map(|how| format!("  assemble {}", how.name()));
    let mut out = assembled.unwrap_or_default();
    for ranks in &kernel.cut.ranks {
        let (inner, outer, axis) = (&program.vars[ranks.inner], &ranks.outer, &ranks.axis);
        out += &format!("  {inner}: a part on each rank of {axis}, by {outer}");
    }
    for (&var, tag) in &kernel.tags {
        let mut words = vec![];
        words.extend(tag.parallel.map(|(unit, races)| format!("{} {}", unit.name(), races.name())));
        words.extend(tag.unroll.map(|factor| format!("unroll {factor}")));
        words.extend(tag.merge.map(|merge| merge.name().to_owned()));
        out += &format!("  {}: {}", program.vars[var], words.join(", "));
    }
    out
}

/// A statement on one line.
pub fn stmt(program: &Program, s: &Stmt) -> String {
    match s {
        Stmt::Forall { var, body } => {
            format!("forall({}, {})", program.vars[*var], stmt(program, body))
        }
        Stmt::Where { consumer, producer } => {
            format!("where({}, {})", stmt(program, consumer), stmt(program, producer))
        }
        Stmt::Sequence(parts) => {
            let parts: Vec<String> = parts.iter().map(|part| stmt(program, part)).collect();
            format!("sequence({})", parts.join(", "))
        }
        Stmt::Assign { lhs, op, rhs } => {
            let op = op.map_or(String::new(), |op| match op {
                ReduceOp::User(id) => format!("{} ", program.operators[id].name),
                ReduceOp::Min | ReduceOp::Max | ReduceOp::Or | ReduceOp::And => {
                    format!("{} ", op.binary().name()).trim_end().to_owned()
                }
                _ => op.binary().name().to_owned(),
            });
            format!("{} {op}= {}", access(program, lhs), expr(program, rhs))
        }
        Stmt::Within { pattern, body } => {
            format!("within({}, {})", access(program, pattern), stmt(program, body))
        }
    }
}

/// A use of a tensor.
pub fn access(program: &Program, a: &Access) -> String {
    let name = &program.tensors[a.tensor].name;
    if a.indices.is_empty() {
        return name.clone();
    }
    let index = |(k, &v): (usize, &IndexVar)| match a.slicing(k) {
        Some(slicing) => format!("{}{slicing}", program.vars[v]),
        None => program.vars[v].clone(),
    };
    let indices: Vec<String> = a.indices.iter().enumerate().map(index).collect();
    format!("{name}({})", indices.join(","))
}

/// A value, with the parentheses that its operators need.
pub fn expr(program: &Program, e: &Expr) -> String {
    operand(program, e, 0)
}

/// `binding` is the precedence of the surrounding operator.
fn operand(program: &Program, e: &Expr, binding: u8) -> String {
    let (text, own) = match e {
        Expr::Literal(x) => (x.to_string(), if x.is_complex() { 0 } else { 9 }),
        Expr::Access(a) => (access(program, a), 9),
        Expr::Index(v) => (program.vars[*v].clone(), 9),
        Expr::Param(k) => (format!("#{k}"), 9),
        Expr::Unary(UnaryOp::Neg, a) => (format!("-{}", operand(program, a, 4)), 3),
        Expr::Unary(op, a) => (format!("{}({})", op.name(), expr(program, a)), 9),
        Expr::UserUnary(op, a) => {
            (format!("{}({})", program.operators[*op].name, expr(program, a)), 9)
        }
        Expr::Binary(op, a, b) => binary(program, *op, a, b),
        Expr::Reduce { op, vars, body } => {
            let vars: Vec<&str> = vars.iter().map(|&v| program.vars[v].as_str()).collect();
            (format!("{}({}, {})", op.name(), vars.join(", "), expr(program, body)), 9)
        }
        Expr::Choose { within, then, otherwise } => {
            let within = within.iter().map(|w| format!("{}{}", program.vars[w.var], w.slice));
            let within: Vec<String> = within.collect();
            let (then, otherwise) = (expr(program, then), expr(program, otherwise));
            (format!("choose({}, {then}, {otherwise})", within.join(" ")), 9)
        }
    };
    if own < binding { format!("({text})") } else { text }
}

fn binary(program: &Program, op: BinaryOp, a: &Expr, b: &Expr) -> (String, u8) {
    let level = match op {
        BinaryOp::Add | BinaryOp::Sub => 2,
        BinaryOp::Mul | BinaryOp::Div => 3,
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
            let text =
                format!("{} {} {}", operand(program, a, 2), op.name(), operand(program, b, 2));
            return (text, 1);
        }
        _ => {
            let name = match op {
                BinaryOp::User(id) => &program.operators[id].name,
                _ => op.name(),
            };
            return (format!("{name}({}, {})", expr(program, a), expr(program, b)), 9);
        }
    };
    let left = operand(program, a, level);
    (format!("{left} {} {}", op.name(), operand(program, b, level + 1)), level)
}
