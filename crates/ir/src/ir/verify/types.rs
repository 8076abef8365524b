//! `types`, `conditions`, `values`, `loops`, `roles`, `sorting`; `lanes` of expressions and `names`
//! of comments.

use super::{Broken, Checked, check, shown};
use crate::algebra::{BinaryOp, UnaryOp};
use crate::datatype::{DataType, Register, Scalar};
use crate::ids::{Array, Var};
use crate::ir::flow::assigns;
use crate::ir::print::{expr, ty as type_text};
use crate::ir::{ArrayRole, Expr, Function, Stmt, Type};

/// Checks statements and everything in them.
pub(super) fn block(function: &Function, stmts: &[Stmt]) -> Checked {
    stmts.iter().try_for_each(|s| {
        stmt(function, s).map_err(|broken| broken.at(function, s))?;
        s.blocks().try_for_each(|b| block(function, b))
    })
}

fn stmt(function: &Function, s: &Stmt) -> Checked {
    match s {
        Stmt::Assign { var, value } => typed(function, value, function.vars[*var].ty, "values"),
        Stmt::Store { array, index, value } => {
            writable(function, *array)?;
            self::index(function, index)?;
            let ty = type_of(function, value)?;
            if ty == Type::scalar(Register::F64) && function.arrays[*array].elem.is_half() {
                return Ok(());
            }
            typed(function, value, Type { lanes: ty.lanes, ..element(function, *array) }, "values")
        }
        Stmt::For { var, lo, hi, step, body } => {
            index(function, lo)?;
            index(function, hi)?;
            for_loop(function, *var, *step, body)
        }
        Stmt::Parallel { var, lo, hi, body, .. } => {
            index(function, lo)?;
            index(function, hi)?;
            for_loop(function, *var, 1, body)
        }
        Stmt::Update { array, index, value, .. } => {
            writable(function, *array)?;
            self::index(function, index)?;
            typed(function, value, element(function, *array), "values")
        }
        Stmt::While { cond, .. } | Stmt::If { cond, .. } => condition(function, cond),
        Stmt::Reserve { array, len } => {
            let decl = &function.arrays[*array];
            let grows = decl.role == ArrayRole::Result || decl.role.is_own();
            let fixed = || format!("{} is reserved, but has a fixed size", decl.name);
            check(grows, "roles", fixed)?;
            index(function, len)
        }
        Stmt::Fill { array, lo, hi, value } => {
            writable(function, *array)?;
            index(function, lo)?;
            index(function, hi)?;
            typed(function, value, element(function, *array), "values")
        }
        Stmt::Sort { keys, carried, lo, hi } => {
            index(function, lo)?;
            index(function, hi)?;
            sort(function, keys, carried)
        }
        Stmt::Prefetch { index: at, .. } => index(function, at),
        Stmt::InOrder { .. } | Stmt::Fail(_) => Ok(()),
        Stmt::Comment(text) => {
            let lines = || format!("the comment {text:?} has several lines");
            check(!text.contains('\n'), "names", lines)
        }
    }
}

fn element(function: &Function, array: Array) -> Type {
    Type::scalar(function.arrays[array].elem.register())
}

fn writable(function: &Function, array: Array) -> Checked {
    let decl = &function.arrays[array];
    check(decl.role != ArrayRole::Input, "roles", || format!("the input {} is written", decl.name))
}

fn for_loop(function: &Function, var: Var, step: i64, body: &[Stmt]) -> Checked {
    let decl = &function.vars[var];
    let index = decl.ty == Type::INDEX;
    let name = &decl.name;
    check(index, "loops", || format!("the loop variable {name} is a {}", type_text(decl.ty)))?;
    check(step >= 1, "loops", || format!("the loop over {name} has step {step}"))?;
    let constant = !body.iter().any(|s| assigns(s, var));
    check(constant, "loops", || format!("the loop variable {name} is assigned within its loop"))
}

fn sort(function: &Function, keys: &[Array], carried: &[Array]) -> Checked {
    check(!keys.is_empty(), "sorting", || "a sort has no keys".to_owned())?;
    for &key in keys {
        let decl = &function.arrays[key];
        let integer = matches!(decl.elem, DataType::I32 | DataType::I64);
        check(integer, "sorting", || format!("the sort key {} is of {}", decl.name, decl.elem))?;
    }
    let all = [keys, carried].concat();
    for (k, &array) in all.iter().enumerate() {
        writable(function, array)?;
        let name = &function.arrays[array].name;
        check(!all[..k].contains(&array), "sorting", || format!("{name} occurs twice in a sort"))?;
    }
    Ok(())
}

fn index(function: &Function, e: &Expr) -> Checked {
    typed(function, e, Type::INDEX, "types")
}

fn condition(function: &Function, e: &Expr) -> Checked {
    typed(function, e, Type::BOOL, "conditions")
}

/// Checks that an expression is well formed, and that it has a type for the sake of an invariant.
fn typed(function: &Function, e: &Expr, expected: Type, invariant: &'static str) -> Checked {
    let ty = type_of(function, e)?;
    let other = || format!("{} instead of {}", shown(function, e, ty), type_text(expected));
    check(ty == expected, invariant, other)
}

/// The type of an expression, checked.
fn type_of(function: &Function, e: &Expr) -> Result<Type, Broken> {
    let operand = |e: &Expr| type_of(function, e);
    let refused = |e: &Expr, ty: Type, by: &str| format!("{by} of {}", shown(function, e, ty));
    Ok(match e {
        Expr::Const(c) => constant(*c)?,
        Expr::Var(v) => function.vars[*v].ty,
        Expr::Len(_) => Type::INDEX,
        Expr::Load { array, index, lanes } => {
            self::index(function, index)?;
            let one_or_more = lanes.is_power_of_two();
            check(one_or_more, "lanes", || format!("`{}` has {lanes} lanes", expr(function, e)))?;
            Type { lanes: *lanes, ..element(function, *array) }
        }
        Expr::Unary(op, a) => {
            let ty = operand(a)?;
            check(takes_one(*op, ty.register), "types", || refused(a, ty, op.name()))?;
            ty
        }
        Expr::Binary(op, a, b) => {
            let ty = operand(a)?;
            typed(function, b, ty, "types")?;
            check(takes(*op, ty.register), "types", || refused(a, ty, op.name()))?;
            if op.is_logical() { Type { register: Register::Bool, ..ty } } else { ty }
        }
        Expr::BitAnd(a, b) => {
            let ty = operand(a)?;
            let takes = ty.register.is_integer() && ty.lanes == 1;
            check(takes, "types", || refused(a, ty, "bitand"))?;
            typed(function, b, ty, "types")?;
            ty
        }
        Expr::AndThen(a, b) => {
            [a, b].into_iter().try_for_each(|e| condition(function, e))?;
            Type::BOOL
        }
        Expr::Select(c, a, b) => {
            condition(function, c)?;
            let ty = operand(a)?;
            typed(function, b, ty, "types")?;
            ty
        }
        Expr::Fma(a, b, c) => {
            let ty = operand(a)?;
            check(ty.register.is_float(), "types", || refused(a, ty, "fma"))?;
            typed(function, b, ty, "types")?;
            typed(function, c, ty, "types")?;
            ty
        }
        Expr::Convert(to, a) => Type { register: *to, ..operand(a)? },
        Expr::Splat(a, lanes) => {
            let ty = operand(a)?;
            let several = *lanes > 1 && lanes.is_power_of_two();
            check(several, "lanes", || format!("`{}` has {lanes} lanes", expr(function, e)))?;
            check(ty.lanes == 1, "types", || refused(a, ty, "splat"))?;
            Type { lanes: *lanes, ..ty }
        }
        Expr::Lanes(all) => side_by_side(function, e, all)?,
        Expr::Reduce(op, a) => of_lanes(*op, a, operand(a)?, &refused)?,
    })
}

/// The type of lanes of this type combined by an operator.
fn of_lanes(
    op: BinaryOp,
    a: &Expr,
    ty: Type,
    refused: &dyn Fn(&Expr, Type, &str) -> String,
) -> Result<Type, Broken> {
    let (name, combines) = match op {
        BinaryOp::Add => ("sum", ty.register != Register::Bool),
        op => {
            let is_extreme = matches!(op, BinaryOp::Min | BinaryOp::Max);
            (op.name(), is_extreme && ty.register.is_float())
        }
    };
    check(combines && ty.lanes > 1, "types", || refused(a, ty, name))?;
    Ok(Type::scalar(ty.register))
}

/// The type of an expression with these lanes.
fn side_by_side(function: &Function, e: &Expr, all: &[Expr]) -> Result<Type, Broken> {
    let count = u16::try_from(all.len()).unwrap_or(0);
    check(count > 1 && count.is_power_of_two(), "lanes", || {
        format!("`{}` has {} lanes", expr(function, e), all.len())
    })?;
    let ty = type_of(function, &all[0])?;
    check(ty.lanes == 1 && ty.register != Register::Bool, "types", || {
        format!("lanes of {}", shown(function, &all[0], ty))
    })?;
    all[1..].iter().try_for_each(|lane| typed(function, lane, ty, "types"))?;
    Ok(Type { lanes: count, ..ty })
}

fn constant(c: Scalar) -> Result<Type, Broken> {
    check(!c.is_complex(), "types", || format!("the complex constant {c}"))?;
    Ok(Type::scalar(c.register()))
}

fn takes_one(op: UnaryOp, register: Register) -> bool {
    match register {
        Register::Bool => op == UnaryOp::Not,
        _ if op.is_of_parts() => false,
        Register::I64 | Register::U64 => op != UnaryOp::Not && !op.needs_float(),
        Register::F32 | Register::F64 => op != UnaryOp::Not,
    }
}

fn takes(op: BinaryOp, register: Register) -> bool {
    let truth = matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor);
    let user = matches!(op, BinaryOp::User(_));
    match register {
        Register::Bool => op.is_logical(),
        Register::I64 | Register::U64 => !truth && !user && !op.needs_float(),
        Register::F32 | Register::F64 => !truth && !user,
    }
}
