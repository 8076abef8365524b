//! The path from the outside of a statement to one of its assignments, and which parts of a value need its elements.

use super::scheduler::Scheduler;
use crate::cin::Stmt;
use crate::cin::simplify::written;
use crate::notation::{Access, Expr};
use tamis_ir::ids::{IndexVar, TensorId};

/// A loop, or a temporary whose producer runs before the statement inside.
#[derive(Clone)]
pub(super) enum Element {
    Loop(IndexVar),
    Temporary(Stmt),
}

/// Which parts of a value need an element.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Side {
    Part,
    Rest,
    Both,
}

/// The elements, outermost first, and the statement inside all of them.
pub(super) struct Way<'s> {
    pub(super) elements: Vec<Element>,
    pub(super) leaf: &'s Stmt,
}

impl Element {
    /// The variable of a loop.
    pub(super) fn var(&self) -> Option<IndexVar> {
        match self {
            Element::Loop(var) => Some(*var),
            Element::Temporary(_) => None,
        }
    }

    /// The temporary of a producer.
    pub(super) fn written(&self) -> Option<TensorId> {
        match self {
            Element::Loop(_) => None,
            Element::Temporary(producer) => Some(written(producer)),
        }
    }

    /// A statement inside elements.
    pub(super) fn around(elements: Vec<Element>, leaf: Stmt) -> Stmt {
        elements.into_iter().rev().fold(leaf, |inner, element| {
            let inner = Box::new(inner);
            match element {
                Element::Loop(var) => Stmt::Forall { var, body: inner },
                Element::Temporary(producer) => {
                    Stmt::Where { consumer: inner, producer: Box::new(producer) }
                }
            }
        })
    }
}

impl Way<'_> {
    /// The path down consumers to an assignment or a sequence.
    pub(super) fn down(stmt: &Stmt) -> Way<'_> {
        let (mut elements, mut leaf) = (vec![], stmt);
        loop {
            match leaf {
                Stmt::Forall { var, body } => {
                    elements.push(Element::Loop(*var));
                    leaf = body;
                }
                Stmt::Where { consumer, producer } => {
                    elements.push(Element::Temporary((**producer).clone()));
                    leaf = consumer;
                }
                Stmt::Sequence(_) | Stmt::Assign { .. } | Stmt::Within { .. } => {
                    return Way { elements, leaf };
                }
            }
        }
    }

    /// Which parts of a value need each element, given the loops around all of them. Written coordinates belong to the
    /// rest; also to the part, if that is written there as well.
    pub(super) fn sides(
        &self,
        s: &Scheduler<'_>,
        outer: &[IndexVar],
        lhs: &Access,
        (part, rest): (&Expr, &Expr),
        part_is_written: bool,
    ) -> Vec<Side> {
        let mut of_part = Needs::of(part);
        let mut of_rest = Needs::of(rest);
        of_rest.vars.extend(&lhs.indices);
        if part_is_written {
            of_part.vars.extend(&lhs.indices);
        }
        let mut loops = outer.to_vec();
        loops.extend(self.elements.iter().filter_map(Element::var));
        let mut sides = vec![Side::Both; self.elements.len()];
        for (k, element) in self.elements.iter().enumerate().rev() {
            let (by_part, by_rest) = match element {
                Element::Loop(var) => {
                    (of_part.depends(s, *var, &loops), of_rest.depends(s, *var, &loops))
                }
                Element::Temporary(producer) => (of_part.read(producer), of_rest.read(producer)),
            };
            sides[k] = match (by_part, by_rest) {
                (true, false) => Side::Part,
                (false, true) => Side::Rest,
                // A loop that no part needs repeats everything.
                (true, true) | (false, false) => Side::Both,
            };
        }
        sides
    }
}

/// The loops and temporaries that a part of a value needs.
struct Needs {
    vars: Vec<IndexVar>,
    accesses: Vec<Access>,
}

impl Needs {
    fn of(e: &Expr) -> Needs {
        let mut needs = Needs { vars: vec![], accesses: vec![] };
        needs.add(e);
        needs
    }

    fn add(&mut self, e: &Expr) {
        e.walk(&mut |e| match e {
            Expr::Access(a) => {
                self.vars.extend(&a.indices);
                self.accesses.push(a.clone());
            }
            Expr::Index(v) => self.vars.push(*v),
            Expr::Choose { within, .. } => {
                self.vars.extend(within.iter().flat_map(|w| [w.var, w.counter]));
            }
            _ => {}
        });
    }

    /// Whether the temporary of a producer is read; if so, the needs of the producer are added.
    fn read(&mut self, producer: &Stmt) -> bool {
        let tensor = written(producer);
        if !self.accesses.iter().any(|a| a.tensor == tensor) {
            return false;
        }
        let loops = producer.loops();
        let before = std::mem::take(&mut self.vars);
        producer.for_each_assign(&mut |lhs, _, rhs| {
            self.vars.extend(&lhs.indices);
            self.add(rhs);
        });
        self.vars.retain(|v| !loops.contains(v));
        self.vars.extend(before);
        true
    }

    /// Whether a needed variable follows from a loop variable.
    fn depends(&self, s: &Scheduler<'_>, var: IndexVar, loops: &[IndexVar]) -> bool {
        let others: Vec<IndexVar> = loops.iter().copied().filter(|&v| v != var).collect();
        let known = |v: &IndexVar| s.program.derived.follows(*v, &others);
        self.vars.iter().any(|v| *v == var || !known(v))
    }
}
