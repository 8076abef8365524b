//! The meanings of names of functions and reductions.

use super::Operator;
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp};
use tamis_ir::diagnostic;
use tamis_ir::ids::{IdVec, UserOp};

/// The meaning of a name that is applied to arguments.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Word {
    /// A function of one argument.
    Unary(UnaryOp),
    /// A function of two arguments, and the reduction of the same name.
    Binary(BinaryOp, Option<ReduceOp>),
    /// A reduction over named variables.
    Reduce(ReduceOp),
    /// An operator that the user defined.
    User(UserOp),
}

/// The functions of two arguments that are written with a name.
const FUNCTIONS: [BinaryOp; 9] = {
    use BinaryOp::*;
    [Min, Max, Pow, Mod, Atan2, Heaviside, And, Or, Xor]
};

/// Functions that take two or more arguments, folded from the left.
pub(super) fn is_variadic(op: BinaryOp) -> bool {
    use BinaryOp::*;
    matches!(op, Min | Max | And | Or | Xor)
}

/// The meaning of a built-in name, if it has one.
pub(super) fn builtin(name: &str) -> Option<Word> {
    let unary = UnaryOp::ALL.into_iter().find(|op| op.name() == name).map(Word::Unary);
    let reduce = ReduceOp::ALL.into_iter().find(|op| op.name() == name);
    let binary = FUNCTIONS.into_iter().find(|op| op.name() == name);
    unary.or(binary.map(|op| Word::Binary(op, reduce))).or(reduce.map(Word::Reduce))
}

/// The meaning of a name that is built in or defined by the user.
pub(super) fn meaning(name: &str, operators: &IdVec<UserOp, Operator>) -> Option<Word> {
    let user = || operators.enumerate().find(|(_, op)| op.name == name);
    builtin(name).or_else(|| user().map(|(id, _)| Word::User(id)))
}

/// The accumulation written as this sign or name before `=`.
pub(super) fn accumulation(name: &str, operators: &IdVec<UserOp, Operator>) -> Option<ReduceOp> {
    let builtin = ReduceOp::ALL.into_iter().find(|op| op.binary().name() == name);
    builtin.or_else(|| match meaning(name, operators) {
        Some(Word::User(op)) => Some(ReduceOp::User(op)),
        _ => None,
    })
}

/// The function with the most similar name, if any is similar.
pub(super) fn nearest<'o>(name: &str, operators: &'o IdVec<UserOp, Operator>) -> Option<&'o str> {
    let mut names: Vec<&'o str> = operators.iter().map(|op| op.name.as_str()).collect();
    names.extend(UnaryOp::ALL.into_iter().skip(1).map(|op| op.name()));
    names.extend(FUNCTIONS.into_iter().map(|op| op.name()));
    names.extend(ReduceOp::ALL.into_iter().map(|op| op.name()));
    diagnostic::nearest(name, names)
}
