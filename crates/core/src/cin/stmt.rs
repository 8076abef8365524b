//! Statements of concrete index notation.

use crate::notation::{Access, Expr};
use tamis_ir::algebra::ReduceOp;
use tamis_ir::ids::IndexVar;

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    /// `forall(i, s)`: the statement for every value of the variable, in order.
    Forall {
        /// The variable.
        var: IndexVar,
        /// The body.
        body: Box<Stmt>,
    },
    /// `where(c, p)`: the producer computes a register or a workspace, which starts at its initial
    /// value, and the consumer reads it.
    Where {
        /// Reads the temporary.
        consumer: Box<Stmt>,
        /// Writes the temporary.
        producer: Box<Stmt>,
    },
    /// `sequence(s, t)`: statements that write the same tensor, one after another.
    Sequence(Vec<Stmt>),
    /// `lhs = rhs` or `lhs op= rhs`.
    Assign {
        /// What is written.
        lhs: Access,
        /// The operator that combines the value with the stored one.
        op: Option<ReduceOp>,
        /// The value.
        rhs: Expr,
    },
    /// `within(C(i,j), s)`: the statement where the pattern has an entry, and nothing elsewhere. The pattern is a use
    /// of a result whose entries are known before its values.
    Within {
        /// The result.
        pattern: Access,
        /// The statement at its entries.
        body: Box<Stmt>,
    },
}

impl Stmt {
    /// `forall` over several variables, outermost first.
    pub fn forall(vars: &[IndexVar], body: Stmt) -> Stmt {
        vars.iter().rev().fold(body, |body, &var| Stmt::Forall { var, body: Box::new(body) })
    }

    /// The statements directly inside, in the order in which they run: producers before consumers.
    pub fn children(&self) -> Vec<&Stmt> {
        match self {
            Stmt::Forall { body, .. } | Stmt::Within { body, .. } => vec![body],
            Stmt::Where { consumer, producer } => vec![producer, consumer],
            Stmt::Sequence(parts) => parts.iter().collect(),
            Stmt::Assign { .. } => vec![],
        }
    }

    /// The statement with `f` applied to its children, in the order of [`Stmt::children`].
    pub fn map_children(self, f: &mut dyn FnMut(Stmt) -> Stmt) -> Stmt {
        match self {
            Stmt::Forall { var, body } => Stmt::Forall { var, body: Box::new(f(*body)) },
            Stmt::Where { consumer, producer } => {
                let producer = Box::new(f(*producer));
                Stmt::Where { consumer: Box::new(f(*consumer)), producer }
            }
            Stmt::Sequence(parts) => Stmt::Sequence(parts.into_iter().map(f).collect()),
            Stmt::Within { pattern, body } => Stmt::Within { pattern, body: Box::new(f(*body)) },
            Stmt::Assign { .. } => self,
        }
    }

    /// The statement with `f` applied to every value.
    pub fn map_exprs(self, f: &mut dyn FnMut(Expr) -> Expr) -> Stmt {
        match self {
            Stmt::Assign { lhs, op, rhs } => Stmt::Assign { lhs, op, rhs: f(rhs) },
            other => other.map_children(&mut |child| child.map_exprs(f)),
        }
    }

    /// Calls `f` on each assignment.
    pub fn for_each_assign<'s>(
        &'s self,
        f: &mut dyn FnMut(&'s Access, Option<ReduceOp>, &'s Expr),
    ) {
        match self {
            Stmt::Assign { lhs, op, rhs } => f(lhs, *op, rhs),
            other => other.children().into_iter().for_each(|child| child.for_each_assign(f)),
        }
    }

    /// The variables of all loops, each once, outermost first, producers before consumers.
    pub fn loops(&self) -> Vec<IndexVar> {
        let mut found = vec![];
        self.collect_loops(&mut found);
        found
    }

    fn collect_loops(&self, found: &mut Vec<IndexVar>) {
        if let Stmt::Forall { var, .. } = self
            && !found.contains(var)
        {
            found.push(*var);
        }
        self.children().into_iter().for_each(|child| child.collect_loops(found));
    }

    /// Every use of a tensor on a right side, and every pattern.
    pub fn reads(&self) -> Vec<&Access> {
        let mut own = match self {
            Stmt::Assign { rhs, .. } => rhs.accesses(),
            Stmt::Within { pattern, .. } => vec![pattern],
            _ => vec![],
        };
        own.extend(self.children().into_iter().flat_map(Stmt::reads));
        own
    }
}
