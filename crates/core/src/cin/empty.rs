//! Statements that write only fill values unless one of their reductions is empty.
//!
//! ```text
//! s max= 0 for each k, then R(i,j) = s        R's fill value is 0: nothing, but -inf where k has no coordinates
//! ```

use super::simplify::{Facts, replace, written};
use super::{Role, Stmt};
use crate::notation::Expr;
use tamis_ir::algebra::{ReduceOp, eval};
use tamis_ir::datatype::Scalar;
use tamis_ir::ids::IndexVar;

impl Facts<'_> {
    /// The variables that must all have coordinates for the statement to write only fill values; `None` if it may
    /// write other values even then.
    pub(crate) fn fills_unless_empty(&self, s: &Stmt) -> Option<Vec<IndexVar>> {
        let mut vars = vec![];
        self.fills(s.clone(), &mut vars).then_some(vars)
    }

    fn fills(&self, s: Stmt, vars: &mut Vec<IndexVar>) -> bool {
        match s {
            Stmt::Forall { body, .. } => self.fills(*body, vars),
            Stmt::Where { consumer, producer } => {
                let Some(c) = self.reduced_constant(&producer, vars) else { return false };
                let register = written(&producer);
                let consumer = consumer.map_exprs(&mut |e| replace(e, register, c));
                self.stmt(consumer).is_none_or(|consumer| self.fills(consumer, vars))
            }
            _ => false,
        }
    }

    /// The value of a register that a loop reduces from one constant, if the loop has iterations.
    fn reduced_constant(&self, producer: &Stmt, vars: &mut Vec<IndexVar>) -> Option<Scalar> {
        match producer {
            Stmt::Forall { var, body } => {
                let plain = self.program.derived.map(*var).is_none();
                if !plain || self.program.derived.is_scheduled(*var) {
                    return None;
                }
                vars.push(*var);
                self.reduced_constant(body, vars)
            }
            Stmt::Assign { lhs, op: Some(op), rhs: Expr::Literal(c) } => {
                let is_register =
                    matches!(self.program.tensors[lhs.tensor].role, Role::Register(_));
                (is_register && self.is_kept(*op, *c)).then_some(*c)
            }
            _ => None,
        }
    }

    /// A value in which each reduction of a constant is that constant, as for reductions that are not empty.
    pub(crate) fn unless_empty(&self, e: Expr) -> Expr {
        fn go(facts: &Facts<'_>, e: Expr) -> Expr {
            match e {
                Expr::Reduce { op, vars, body } => match facts.expr(go(facts, *body)) {
                    Expr::Literal(c) if facts.is_kept(op, c) => Expr::Literal(c),
                    body => Expr::Reduce { op, vars, body: Box::new(body) },
                },
                e => e.map_children(&mut |child| go(facts, child)),
            }
        }
        self.expr(go(self, e))
    }

    /// Whether a reduction of one constant, with one term or more, is that constant.
    pub(crate) fn is_kept(&self, op: ReduceOp, c: Scalar) -> bool {
        let gives = |first| self.typed(eval::binary(op.binary(), first, c)).same_value(c);
        let is_user = matches!(op, ReduceOp::User(_));
        let identity = self.program.identity(op, self.compute).filter(|_| !is_user);
        identity.is_some_and(gives) && gives(c)
    }
}
