//! Transformations by the laws of algebra, and of statements.

use super::sites::{one, upwards};
use crate::case::Case;
use crate::random::Random;
use tamis_core::notation::{Access, Expr, Program, Statement, TensorDecl};
use tamis_ir::algebra::{BinaryOp, ReduceOp, UnaryOp};
use tamis_ir::datatype::Scalar;
use tamis_ir::ids::IndexVar;

use BinaryOp::{Add, And, Max, Min, Mul, Or, Sub};

/// The most modes of a statement of its own.
const MOST_MODES: usize = 3;

fn binary(op: BinaryOp, a: &Expr, b: &Expr) -> Expr {
    Expr::Binary(op, Box::new(a.clone()), Box::new(b.clone()))
}

fn reduce(op: ReduceOp, vars: &[IndexVar], body: Expr) -> Expr {
    match vars {
        [] => body,
        _ => Expr::Reduce { op, vars: vars.to_vec(), body: Box::new(body) },
    }
}

/// Whether a reduction over no coordinates in which a variable is not used differs from its body.
fn uses(e: &Expr, var: IndexVar) -> bool {
    e.free_vars().contains(&var)
}

/// Operands of commutative operators change sides, each or not.
pub fn commuted(program: &Program, random: &mut Random) -> Option<Program> {
    Some(upwards(program, &mut |e| match e {
        Expr::Binary(op, a, b) if op.is_commutative() && random.one_in(2) => Expr::Binary(op, b, a),
        e => e,
    }))
}

/// Chains of one operator are joined at random.
pub fn reassociated(program: &Program, random: &mut Random) -> Option<Program> {
    Some(upwards(program, &mut |e| match &e {
        Expr::Binary(op, ..) if is_associative(*op) => {
            let mut operands = vec![];
            collect(&e, *op, &mut operands);
            let mut operands: Vec<Expr> = operands.into_iter().cloned().collect();
            while operands.len() > 1 {
                let at = random.below(operands.len() - 1);
                let right = operands.remove(at + 1);
                operands[at] = binary(*op, &operands[at], &right);
            }
            operands.swap_remove(0)
        }
        _ => e,
    }))
}

fn is_associative(op: BinaryOp) -> bool {
    matches!(op, Add | Mul | Min | Max | And | Or)
}

fn collect<'e>(e: &'e Expr, op: BinaryOp, found: &mut Vec<&'e Expr>) {
    match e {
        Expr::Binary(o, a, b) if *o == op => {
            collect(a, op, found);
            collect(b, op, found);
        }
        e => found.push(e),
    }
}

/// What distributes over what.
const DISTRIBUTIVE: [(BinaryOp, BinaryOp); 8] =
    [(Mul, Add), (Mul, Sub), (Add, Min), (Add, Max), (And, Or), (Or, And), (Min, Max), (Max, Min)];

/// One product of a sum becomes a sum of products.
pub fn distributed(program: &Program, random: &mut Random) -> Option<Program> {
    one(program, random, &mut |e| {
        let Expr::Binary(outer, a, b) = e else { return None };
        let over = |e: &Expr| match e {
            Expr::Binary(inner, c, d) if DISTRIBUTIVE.contains(&(*outer, *inner)) => {
                Some((*inner, c.clone(), d.clone()))
            }
            _ => None,
        };
        if let Some((inner, c, d)) = over(b) {
            return Some(binary(inner, &binary(*outer, a, &c), &binary(*outer, a, &d)));
        }
        let (inner, c, d) = over(a)?;
        Some(binary(inner, &binary(*outer, &c, b), &binary(*outer, &d, b)))
    })
}

/// One reduction of two terms becomes two reductions. A term that lacks a variable is left alone.
pub fn split_reduction(program: &Program, random: &mut Random) -> Option<Program> {
    one(program, random, &mut |e| {
        let Expr::Reduce { op, vars, body } = e else { return None };
        let Expr::Binary(inner, a, b) = &**body else { return None };
        let splits = op.binary() == *inner || (*op == ReduceOp::Add && *inner == Sub);
        let both = vars.iter().all(|&v| uses(a, v) && uses(b, v));
        let part = |e: &Expr| reduce(*op, vars, e.clone());
        (splits && both).then(|| binary(*inner, &part(a), &part(b)))
    })
}

/// One factor of a reduction moves into it.
pub fn pulled_in(program: &Program, random: &mut Random) -> Option<Program> {
    one(program, random, &mut |e| {
        let Expr::Binary(outer, a, b) = e else { return None };
        let into = |factor: &Expr, e: &Expr| match e {
            Expr::Reduce { op, vars, body }
                if (*outer, *op) == (Mul, ReduceOp::Add)
                    || (*outer, *op) == (Add, ReduceOp::Min)
                    || (*outer, *op) == (And, ReduceOp::Or) =>
            {
                Some((*op, vars.clone(), binary(*outer, factor, body)))
                    .filter(|_| !vars.iter().any(|&v| mentions(factor, v)))
            }
            _ => None,
        };
        let (op, vars, body) = into(a, b).or_else(|| into(b, a))?;
        Some(reduce(op, &vars, body))
    })
}

/// Whether a variable occurs, bound or not.
fn mentions(e: &Expr, var: IndexVar) -> bool {
    let mut found = uses(e, var);
    e.walk(&mut |e| found |= matches!(e, Expr::Reduce { vars, .. } if vars.contains(&var)));
    found
}

/// One reduction over several variables becomes several over one each.
pub fn nested(program: &Program, random: &mut Random) -> Option<Program> {
    let mut order = random.clone();
    random.draw();
    one(program, random, &mut |e| {
        let Expr::Reduce { op, vars, body } = e else { return None };
        let mut shuffled = vars.clone();
        order.shuffle(&mut shuffled);
        let body = shuffled.iter().fold((**body).clone(), |body, &v| reduce(*op, &[v], body));
        (vars.len() > 1).then_some(body)
    })
}

/// Computes a part of an expression in a statement `T` of its own, which runs first.
pub fn split_statement(program: &Program, random: &mut Random) -> Option<Program> {
    let name = "T";
    if program.tensor(name).is_some() {
        return None;
    }
    let mut new = program.clone();
    let tensor = new.tensors.push(TensorDecl { name: name.to_owned(), order: 0, span: 0..0 });
    let mut part = None;
    let written = program.results();
    let changed = one(&new, random, &mut |e| {
        let vars = e.free_vars();
        let accesses = e.accesses();
        let splits = !matches!(e, Expr::Access(_) | Expr::Literal(_) | Expr::Index(_))
            && vars.len() <= MOST_MODES
            && !accesses.is_empty()
            && !accesses.iter().any(|a| written.contains(&a.tensor))
            && !program.statements.iter().any(|s| s.value == *e);
        splits.then(|| {
            part = Some(e.clone());
            Expr::Access(Access::of(tensor, vars))
        })
    });
    let mut changed = changed?;
    let part = chosen(program, &changed, tensor).or(part)?;
    let vars = part.free_vars();
    changed.tensors[tensor].order = vars.len();
    let result = Access::of(tensor, vars);
    let statement = Statement { result, accumulate: None, value: part, span: 0..0 };
    changed.statements.insert(0, statement);
    Some(changed)
}

/// What a tensor stands for that is new in a program.
fn chosen(old: &Program, new: &Program, tensor: tamis_ir::ids::TensorId) -> Option<Expr> {
    fn find(old: &Expr, new: &Expr, tensor: tamis_ir::ids::TensorId) -> Option<Expr> {
        match new {
            Expr::Access(a) if a.tensor == tensor => Some(old.clone()),
            _ => {
                let pairs = old.children().into_iter().zip(new.children());
                pairs.into_iter().find_map(|(a, b)| find(a, b, tensor))
            }
        }
    }
    let pairs = old.statements.iter().zip(&new.statements);
    pairs.into_iter().find_map(|(a, b)| find(&a.value, &b.value, tensor))
}

/// Whether an operand has floats, and 0 where it has no entry.
fn is_real(case: &Case, name: &str) -> bool {
    let operand = case.operands.iter().find(|o| o.name == name);
    operand.is_some_and(|o| !o.format.contains("inf") && !o.format.contains("bool"))
}

/// `T` is `T + 0*T`, of one operand.
pub fn added_nothing(program: &Program, case: &Case, random: &mut Random) -> Option<Program> {
    let zero = Expr::Literal(Scalar::I64(0));
    one(program, random, &mut |e| {
        let Expr::Access(access) = e else { return None };
        is_real(case, &program.tensors[access.tensor].name)
            .then(|| binary(Add, e, &binary(Mul, &zero, e)))
    })
}

/// One part is multiplied by 1.
pub fn multiplied_by_one(program: &Program, case: &Case, random: &mut Random) -> Option<Program> {
    let one_itself = Expr::Literal(Scalar::I64(1));
    one(program, random, &mut |e| {
        let accesses = e.accesses();
        let is_one = accesses.iter().all(|a| is_real(case, &program.tensors[a.tensor].name));
        (is_one && !accesses.is_empty()).then(|| binary(Mul, &one_itself, e))
    })
}

/// A difference is the sum with the negative.
pub fn added_negative(program: &Program, random: &mut Random) -> Option<Program> {
    one(program, random, &mut |e| match e {
        Expr::Binary(Sub, a, b) => Some(binary(Add, a, &Expr::Unary(UnaryOp::Neg, b.clone()))),
        _ => None,
    })
}
