//! Checks the invariants of the imperative form, so that a mistake is found in the stage that made it, not in a
//! backend.
//!
//! ```text
//! error[internal]: compute_y breaks `values`: `i` of type i64 instead of f64
//!   | s = i
//!   | ^^^^^
//! ```
//!
//! # Invariants
//!
//! - `names`: names of variables and arrays are identifiers, unique among both, and none of
//!   [`CONSTANTS`]. The function's name is an identifier. A comment is one line.
//! - `declared`: every variable and array that is used is declared.
//! - `lanes`: numbers of lanes are powers of two. Parameters have one.
//! - `parameters`: parameters are declared before everything else, in their order, and each once.
//!   Every array is either local or a parameter, so each has one owner.
//! - `types`: operands have the types that the operator takes: equal ones for an operator of two
//!   operands; floats for [`Expr::Fma`] and the functions of floating point; scalars of integers
//!   for [`Expr::BitAnd`]; `Bool` for `and or xor not`, which with comparisons are all that takes
//!   `Bool`; never a user operator.
//!   Indices, bounds and lengths are scalars of `i64`.
//! - `conditions` of [`Stmt::If`], [`Stmt::While`], [`Expr::AndThen`] and [`Expr::Select`] are
//!   scalars of `Bool`.
//! - `values` have the type of the variable or array that takes them.
//! - `loops`: a loop variable is a scalar of `i64` that its body does not assign; steps are at
//!   least 1.
//! - `parallel`: loops over warps are in loops over blocks, those over threads in either, none in
//!   one of its own unit. Iterations combine numbers, by no operator of the user, and update elements
//!   that are as wide as registers. What else a body assigns has no value before and after an iteration.
//! - `roles`: inputs are not written. Only results and local arrays are reserved.
//! - `sorting` is by at least one array, of `i32` or `i64`; no array occurs twice in it.
//! - `assigned`: a variable is read only where it was assigned on every path. A loop variable has
//!   no value after its loop, and a body may run zero times. (Of a body that runs again, loops
//!   within count as if they came first, too.)
//! - `reserved`: an element of a result or local array is stored only where the array was reserved
//!   on every path, and loaded only where it was on some path.
//!
//! Not checked here, since it depends on values, but by the [interpreter](crate::interpret): that
//! indices lie within arrays, that narrowing stores fit, that elements are written before they are
//! read.

mod assigned;
mod parallel;
mod reserved;
mod types;

#[cfg(test)]
mod tests;

use super::print;
use super::{Expr, Function, Param, Stmt, Type};
use crate::diagnostic::{Code, Diagnostic};
use crate::ids::{Array, Id, Var};
use std::collections::BTreeSet;

/// The names of constants, which nothing else may have.
pub const CONSTANTS: [&str; 6] = ["true", "false", "inf", "inff", "nan", "nanf"];

/// Refuses a function that breaks an invariant of the imperative form.
///
/// # Errors
///
/// [`Code::Internal`] with the first invariant that is broken, why, and the statement.
pub fn verify(function: &Function) -> Result<(), Diagnostic> {
    let checked = names(function)
        .and_then(|()| declared(function, &function.body))
        .and_then(|()| parameters(function))
        .and_then(|()| types::block(function, &function.body))
        .and_then(|()| assigned::check(function))
        .and_then(|()| parallel::check(function))
        .and_then(|()| reserved::check(function));
    checked.map_err(|broken| {
        let Broken { invariant, reason, statement } = broken;
        let message = format!("{} breaks `{invariant}`: {reason}", function.name);
        let diagnostic = Diagnostic::new(Code::Internal, message);
        match statement {
            Some(text) => diagnostic.at(&text, 0..text.len()),
            None => diagnostic,
        }
    })
}

/// In builds with debug assertions, panics if a function that `stage` made breaks an invariant:
/// a mistake of that stage.
pub fn assert_valid(function: &Function, stage: &str) {
    if cfg!(debug_assertions)
        && let Err(diagnostic) = verify(function)
    {
        panic!("after {stage}: {diagnostic}\n{function}");
    }
}

/// Whether text can name a variable or an array.
pub(super) fn is_name(text: &str) -> bool {
    is_identifier(text) && !CONSTANTS.contains(&text)
}

/// A letter or `_`, then letters, digits and `_`.
fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c == '_' || c.is_alphabetic())
        && chars.all(|c| c == '_' || c.is_alphanumeric())
}

/// An invariant that does not hold.
struct Broken {
    invariant: &'static str,
    reason: String,
    /// The first line of the statement.
    statement: Option<String>,
}

impl Broken {
    /// Points at a statement, unless one within it is known already.
    fn at(mut self, function: &Function, s: &Stmt) -> Broken {
        self.statement.get_or_insert_with(|| print::head(function, s));
        self
    }
}

/// The result of a check.
type Checked = Result<(), Broken>;

fn check(holds: bool, invariant: &'static str, reason: impl FnOnce() -> String) -> Checked {
    match holds {
        true => Ok(()),
        false => Err(Broken { invariant, reason: reason(), statement: None }),
    }
}

fn names(function: &Function) -> Checked {
    let no_name = |name: &str| format!("`{name}` is no name");
    check(is_identifier(&function.name), "names", || no_name(&function.name))?;
    let vars = function.vars.iter().map(|v| &v.name);
    let mut seen = BTreeSet::new();
    for name in vars.chain(function.arrays.iter().map(|a| &a.name)) {
        check(is_name(name), "names", || no_name(name))?;
        check(seen.insert(name), "names", || format!("two things are named {name}"))?;
    }
    for array in function.arrays.iter() {
        let complex = || format!("{} is an array of complex numbers", array.name);
        check(!array.elem.is_complex(), "types", complex)?;
    }
    for var in function.vars.iter() {
        let lanes = var.ty.lanes;
        check(lanes.is_power_of_two(), "lanes", || format!("{} has {lanes} lanes", var.name))?;
    }
    Ok(())
}

/// Every use is of something declared. Checked early, since printing relies on it.
fn declared(function: &Function, block: &[Stmt]) -> Checked {
    for s in block {
        let (vars, arrays) = s.named();
        vars.into_iter().try_for_each(|v| var(function, v))?;
        arrays.into_iter().try_for_each(|a| array(function, a))?;
        let mut checked = Ok(());
        for e in s.exprs() {
            e.walk(&mut |e| {
                let this = match e {
                    Expr::Var(v) => var(function, *v),
                    Expr::Load { array: a, .. } | Expr::Len(a) => array(function, *a),
                    _ => Ok(()),
                };
                checked = std::mem::replace(&mut checked, Ok(())).and(this);
            });
        }
        checked?;
        s.blocks().try_for_each(|b| declared(function, b))?;
    }
    Ok(())
}

fn var(function: &Function, v: Var) -> Checked {
    let known = function.vars.get(v).is_some();
    check(known, "declared", || format!("the variable {v:?} is not declared"))
}

fn array(function: &Function, a: Array) -> Checked {
    let known = function.arrays.get(a).is_some();
    check(known, "declared", || format!("the array {a:?} is not declared"))
}

fn parameters(function: &Function) -> Checked {
    let order = |name: &str| format!("the parameter {name} is not declared in its order");
    let (mut vars, mut arrays) = (0, 0);
    for param in &function.params {
        match *param {
            Param::Scalar(v) => {
                var(function, v)?;
                let decl = &function.vars[v];
                check(v.index() == vars, "parameters", || order(&decl.name))?;
                let vector = || format!("the parameter {} is a vector", decl.name);
                check(decl.ty.lanes == 1, "lanes", vector)?;
                vars += 1;
            }
            Param::Array(a) => {
                array(function, a)?;
                let decl = &function.arrays[a];
                check(a.index() == arrays, "parameters", || order(&decl.name))?;
                let local = || format!("the local array {} is a parameter", decl.name);
                check(!decl.role.is_own(), "parameters", local)?;
                arrays += 1;
            }
        }
    }
    let mut others = function.arrays.iter().skip(arrays);
    let unowned = others.find(|a| !a.role.is_own());
    let name = || unowned.map_or("", |a| &a.name);
    check(unowned.is_none(), "parameters", || {
        format!("{} is neither local nor a parameter", name())
    })
}

/// An expression with its type, for messages.
fn shown(function: &Function, e: &Expr, ty: Type) -> String {
    format!("`{}` of type {}", print::expr(function, e), print::ty(ty))
}
