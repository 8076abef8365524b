//! The invariants of programs in concrete index notation, after legalisation and after each schedule.
//!
//! 1. Names: every use of a tensor has an index variable per mode.
//! 2. Loops: a variable has at most one loop around each statement.
//! 3. Scope: index variables of uses, values and slices are loops around them, or follow from these
//!    ([`Derived::follows`](super::Derived::follows)).
//! 4. Values: no reduction is left; what they read was given, or computed by an earlier kernel or a producer.
//! 5. A producer writes a register or a workspace; kernels write nothing else but their results, each its own.
//! 6. Modes of temporaries are coordinates: no diagonals, which may be negative, and no slots.
//! 7. Tags belong to loops of their kernel; operators have as many operands as they take.

use super::{Kernel, Program, Role, Stmt, print};
use crate::format::LevelMap;
use crate::notation::{Access, Expr};
use std::collections::BTreeSet;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ids::{IndexVar, TensorId};

/// The first rule that a program breaks, in words.
pub fn verify(program: &Program) -> Result<(), String> {
    let given = |t: &TensorId| matches!(program.tensors[*t].role, Role::Input(_));
    let mut known: BTreeSet<TensorId> = program.tensors.ids().filter(given).collect();
    for kernel in &program.kernels {
        let within = |why| format!("{why}, in {}", print::stmt(program, &kernel.body));
        let checker = Checker { program, kernel };
        checker.tags().map_err(within)?;
        let mut local = known.clone();
        checker.stmt(&kernel.body, &mut vec![], &mut local).map_err(within)?;
        if !known.insert(kernel.result) {
            return Err(format!("{} is computed twice", program.name(kernel)));
        }
    }
    Ok(())
}

/// In builds with debug assertions, panics if a program breaks a rule: a mistake of `stage`, which made it.
pub fn assert_valid(program: &Program, stage: &str) {
    if cfg!(debug_assertions)
        && let Err(why) = verify(program)
    {
        panic!("after {stage}: {why}\n{}", super::text::print(program));
    }
}

struct Checker<'p> {
    program: &'p Program,
    kernel: &'p Kernel,
}

type Checked = Result<(), String>;

impl Checker<'_> {
    fn tags(&self) -> Checked {
        let loops = self.kernel.body.loops();
        let other = self.kernel.tags.keys().find(|var| !loops.contains(var));
        other
            .map_or(Ok(()), |&var| Err(format!("a tag names {}, which is no loop", self.name(var))))
    }

    fn stmt(&self, s: &Stmt, loops: &mut Vec<IndexVar>, known: &mut BTreeSet<TensorId>) -> Checked {
        match s {
            Stmt::Forall { var, body } => {
                if loops.contains(var) {
                    return Err(format!("{} has two loops", self.name(*var)));
                }
                loops.push(*var);
                let checked = self.stmt(body, loops, known);
                loops.pop();
                checked
            }
            Stmt::Where { consumer, producer } => {
                self.producer(producer)?;
                self.stmt(producer, loops, known)?;
                self.stmt(consumer, loops, known)
            }
            Stmt::Sequence(parts) => parts.iter().try_for_each(|s| self.stmt(s, loops, known)),
            Stmt::Within { pattern, body } => {
                self.access(pattern, loops)?;
                self.stmt(body, loops, known)
            }
            Stmt::Assign { lhs, rhs, .. } => {
                self.access(lhs, loops)?;
                if lhs.tensor != self.kernel.result && !self.program.is_local(lhs.tensor) {
                    return Err(format!(
                        "{} is not the kernel's to write",
                        self.tensor(lhs.tensor)
                    ));
                }
                self.value(rhs, loops, known)?;
                known.insert(lhs.tensor);
                Ok(())
            }
        }
    }

    fn producer(&self, producer: &Stmt) -> Checked {
        let mut written = BTreeSet::new();
        producer.for_each_assign(&mut |lhs, _, _| {
            written.insert(lhs.tensor);
        });
        match written.iter().any(|&t| self.program.is_local(t)) {
            true => Ok(()),
            false => Err("a producer writes no register and no workspace".to_owned()),
        }
    }

    fn value(&self, e: &Expr, loops: &[IndexVar], known: &BTreeSet<TensorId>) -> Checked {
        match e {
            Expr::Access(a) => {
                self.access(a, loops)?;
                if !known.contains(&a.tensor) {
                    return Err(format!("{} is read before it is computed", self.tensor(a.tensor)));
                }
            }
            Expr::Index(var) => self.in_scope(*var, loops)?,
            Expr::Param(k) => return Err(format!("the value names parameter {k}")),
            Expr::Reduce { .. } => return Err("a reduction is left in a value".to_owned()),
            Expr::UserUnary(op, _) => self.arity(*op, 1)?,
            Expr::Binary(BinaryOp::User(op), ..) => self.arity(*op, 2)?,
            Expr::Choose { within, .. } => {
                within.iter().try_for_each(|w| self.in_scope(w.var, loops))?;
            }
            Expr::Literal(_) | Expr::Unary(..) | Expr::Binary(..) => {}
        }
        e.children().into_iter().try_for_each(|child| self.value(child, loops, known))
    }

    fn arity(&self, op: tamis_ir::ids::UserOp, operands: usize) -> Checked {
        let operator = &self.program.operators[op];
        match operator.arity == operands {
            true => Ok(()),
            false => Err(format!("{} takes {} operands", operator.name, operator.arity)),
        }
    }

    fn access(&self, a: &Access, loops: &[IndexVar]) -> Checked {
        let order = self.program.storage(a.tensor).format.order();
        if a.indices.len() != order {
            let (name, used) = (self.tensor(a.tensor), a.indices.len());
            return Err(format!("{name} has {order} modes and is used with {used}"));
        }
        if self.program.tensors[a.tensor].role == Role::Temporary {
            a.indices.iter().try_for_each(|&var| self.is_coordinate(var))?;
        }
        a.indices.iter().try_for_each(|&var| self.in_scope(var, loops))
    }

    fn is_coordinate(&self, var: IndexVar) -> Checked {
        match self.program.derived.map(var) {
            Some(LevelMap::Diff { .. } | LevelMap::Slot(_)) => {
                Err(format!("a temporary has a mode of {}, which is no coordinate", self.name(var)))
            }
            _ => Ok(()),
        }
    }

    fn in_scope(&self, var: IndexVar, loops: &[IndexVar]) -> Checked {
        match self.program.derived.follows(var, loops) {
            true => Ok(()),
            false => Err(format!("{} does not follow from the loops around it", self.name(var))),
        }
    }

    fn name(&self, var: IndexVar) -> &str {
        &self.program.vars[var]
    }

    fn tensor(&self, tensor: TensorId) -> &str {
        &self.program.tensors[tensor].name
    }
}
