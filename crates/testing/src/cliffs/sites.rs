//! Parts of a program that a transformation may rewrite: found, chosen and replaced.

use crate::random::Random;
use tamis_core::notation::{Expr, Program};

/// What an expression may be replaced by, if by anything.
pub type Rewrite<'r> = dyn FnMut(&Expr) -> Option<Expr> + 'r;

/// Replaces one of the expressions that `rewrite` has something for, chosen at random.
pub fn one(program: &Program, random: &mut Random, rewrite: &mut Rewrite<'_>) -> Option<Program> {
    let mut count = 0;
    each(program, &mut |e| {
        count += usize::from(rewrite(e).is_some());
        None
    });
    let mut left = random.below(count.checked_sub(1)? + 1);
    Some(each(program, &mut |e| {
        let new = rewrite(e)?;
        let chosen = left == 0;
        left = left.wrapping_sub(1);
        chosen.then_some(new)
    }))
}

/// Replaces every expression that `rewrite` has something for, outermost first; what is new is not looked at.
pub fn each(program: &Program, rewrite: &mut Rewrite<'_>) -> Program {
    let mut new = program.clone();
    for statement in &mut new.statements {
        statement.value = replaced(statement.value.clone(), rewrite);
    }
    new
}

fn replaced(e: Expr, rewrite: &mut Rewrite<'_>) -> Expr {
    match rewrite(&e) {
        Some(new) => new,
        None => e.map_children(&mut |child| replaced(child, rewrite)),
    }
}

/// The same program with every expression replaced after its operands were.
pub fn upwards(program: &Program, rewrite: &mut dyn FnMut(Expr) -> Expr) -> Program {
    fn go(e: Expr, rewrite: &mut dyn FnMut(Expr) -> Expr) -> Expr {
        let e = e.map_children(&mut |child| go(child, rewrite));
        rewrite(e)
    }
    let mut new = program.clone();
    for statement in &mut new.statements {
        statement.value = go(statement.value.clone(), rewrite);
    }
    new
}
