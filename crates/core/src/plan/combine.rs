//! How the results of parts become one.
//!
//! ```text
//! C(i,j) csr, parts of i        rows behind each other
//! C(i,j) ell, parts of i        entries listed and packed
//! y(j) dense, parts of i        arrays added up
//! ```
//!
//! Joins are in order of the parts, whoever runs them.

use super::partition::Partitioner;
use super::{Assembler, Assembly, CutBy, Output};
use crate::cin::simplify::written;
use crate::cin::{Relation, Scale, Stmt};
use crate::level::{Part, Query};
use crate::notation::Expr;
use tamis_ir::algebra::ReduceOp;
use tamis_ir::datatype::{DataType, Scalar};
use tamis_ir::ids::IndexVar;

/// How the results of parts become one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Join {
    /// They write elements of their own of one array, which has this value everywhere before.
    Shared {
        /// The value; `None` if every part gives all its elements one.
        initial: Option<Scalar>,
    },
    /// The levels of one follow those of the one before.
    Concatenate,
    /// They are arrays, and their elements are combined, in order of the parts.
    Combine(ReduceOp),
    /// They are rows of an array that follow each other, of which the first may be the last of
    /// the part before: then their elements are combined.
    Overlap {
        /// How elements are combined.
        op: ReduceOp,
        /// What every element is before.
        initial: Scalar,
    },
    /// Their entries are listed in order of the parts, and packed.
    Pack {
        /// How entries of the same coordinate are combined; `None` if only one part gives an
        /// element a value.
        op: Option<ReduceOp>,
        /// The padding value of elements that an entry stores for others; `None` if it brings none.
        around: Option<Scalar>,
    },
}

impl Partitioner<'_> {
    /// How results of parts become one; `None` if they cannot.
    pub(super) fn join(
        self,
        var: IndexVar,
        cut: CutBy,
        repeats: bool,
        body: &Stmt,
    ) -> Option<Join> {
        let disjoint = !repeats && self.planner.is_told_by_result(var);
        let combined = || self.combining_parts(body);
        let listed = || match self.writes_once(body) {
            true => Some(self.packing(None)),
            false => combined().map(|op| self.packing(Some(op))),
        };
        let Output::Assemble(Assembly { vars, in_order, .. }) = self.output else {
            return match (self.output, disjoint) {
                (Output::InPlace | Output::SharedStructure, true) => {
                    Some(Join::Shared { initial: self.initial_elsewhere(var, cut) })
                }
                (Output::InPlace, false) => combined().map(|op| match self.begins_in_order(var) {
                    true => Join::Overlap { op, initial: self.planner.initial() },
                    false => Join::Combine(op),
                }),
                (Output::SharedStructure, false) => combined().map(Join::Combine),
                (_, true) => Some(self.packing(None)),
                (_, false) => listed(),
            };
        };
        let ordered = *in_order > 0 && vars[0] == var && cut == CutBy::Coordinates;
        match disjoint {
            true if ordered && self.follows() => Some(Join::Concatenate),
            true => Some(self.packing(None)),
            false => listed(),
        }
    }

    /// Whether no element of the result gets a value twice, in whatever order its entries come: the
    /// loops visit it once.
    fn writes_once(self, body: &Stmt) -> bool {
        match body {
            Stmt::Forall { var, body } => {
                self.planner.is_told_by_result(*var) && self.writes_once(body)
            }
            Stmt::Assign { op: None, rhs, .. } => !self.planner.adds_entries(rhs),
            _ => false,
        }
    }

    /// Packing: several parts may store padding where another has an entry, in blocks and in spans.
    fn packing(self, op: Option<ReduceOp>) -> Join {
        let format = &self.planner.program.storage(self.planner.kernel.result).format;
        let full = |k: usize| format.levels()[k].kind.properties().full;
        let spans = |k: usize| match Assembler::of(format, k) {
            Assembler::Insert(insert) => insert.insert_query() == Query::Span,
            Assembler::Place | Assembler::Append(_) => false,
        };
        let mut below = (0..format.levels().len()).skip_while(|k| full(*k));
        let blocks = below.any(|k| full(k) || spans(k));
        Join::Pack { op, around: blocks.then(|| self.planner.initial()) }
    }

    /// Whether a loop visits positions in an order in which the first coordinates of the result
    /// ascend.
    fn begins_in_order(self, var: IndexVar) -> bool {
        let derived = &self.planner.program.derived;
        let position = derived.position(var).and_then(|p| derived.relation(p));
        let ordered = Scale::of(derived, var).is_some_and(|scale| scale.is_ordered());
        // Rows of a slice have other numbers than those of the tensor.
        let first = match position {
            Some(Relation::Position { of, access, .. }) => {
                of.first().filter(|_| self.planner.program.slicing(access, 0).is_none())
            }
            _ => None,
        };
        ordered
            && self.planner.has_plain_modes()
            && first.is_some()
            && self.planner.result_vars().first() == first
    }

    /// The operator that makes one value of those that parts have for the same element, where
    /// that gives what one loop gives: parts start from its identity, and nothing is lost when
    /// they are stored.
    fn combining_parts(self, body: &Stmt) -> Option<ReduceOp> {
        let mut ops = vec![];
        body.for_each_assign(&mut |lhs, op, rhs| {
            if lhs.tensor == self.planner.kernel.result {
                let scattered = if self.is_any(rhs) { ReduceOp::Or } else { ReduceOp::Add };
                ops.push(op.or(self.planner.kernel.scatter.then_some(scattered)));
            }
        });
        let op = match (body, &ops[..]) {
            // What is written once is what was combined before, also of entries that come one by one.
            (Stmt::Where { producer, consumer }, _) => self.reduction(producer, consumer)?,
            (_, [first, rest @ ..]) if rest.iter().all(|op| op == first) => (*first)?,
            _ => return None,
        };
        let storage = self.planner.program.storage(self.planner.kernel.result);
        let is_logical = matches!(op, ReduceOp::Or | ReduceOp::And);
        // What is listed starts from its own first value, and packing sums floats in 64 bits.
        let listed = matches!(
            (self.output, self.packing(None)),
            (Output::Assemble(_), Join::Pack { around: None, .. })
        );
        let kept = match storage.datatype {
            DataType::Bool => is_logical,
            d if listed && d.is_float() && op == ReduceOp::Add => true,
            d => d.part().register() == self.planner.facts.register() && is_register(d.part()),
        };
        let identity = self
            .planner
            .program
            .identity(op, self.planner.facts.compute)?
            .computed(storage.datatype);
        let from_identity =
            listed || matches!(body, Stmt::Where { .. }) || self.planner.initial() == identity;
        let whole = !self.planner.may_leave(body);
        (whole && kept && from_identity && !matches!(op, ReduceOp::User(_))).then_some(op)
    }

    /// Whether a sum of such values is stored as a truth value that is true if one of them is: they are truth
    /// values themselves, so none is negative.
    fn is_any(self, value: &Expr) -> bool {
        let is_bool = |tensor| self.planner.program.storage(tensor).datatype == DataType::Bool;
        let Expr::Access(access) = value else { return false };
        self.planner.facts.compute == DataType::Bool
            && is_bool(self.planner.kernel.result)
            && is_bool(access.tensor)
    }

    /// The operator of a loop that sums up a register, for the result that it is written to.
    fn reduction(self, producer: &Stmt, consumer: &Stmt) -> Option<ReduceOp> {
        let register = written(producer);
        let mut ops = vec![];
        producer.for_each_assign(&mut |lhs, op, rhs| {
            if lhs.tensor == register {
                ops.push((op, self.is_any(rhs)));
            }
        });
        let is_copied = matches!(
            consumer,
            Stmt::Assign { rhs: Expr::Access(access), .. } if access.tensor == register
        );
        match ops[..] {
            [(Some(ReduceOp::Add), true)] if is_copied => Some(ReduceOp::Or),
            [(op, _)] => op,
            _ => None,
        }
    }

    /// What the caller has to give every element beforehand, where parts do not do it themselves.
    fn initial_elsewhere(self, var: IndexVar, cut: CutBy) -> Option<Scalar> {
        (!self.planner.fills_own_part(self.output, var, cut)).then(|| self.planner.initial())
    }

    /// Whether the arrays of the result's levels can be put one behind the other.
    fn follows(self) -> bool {
        let levels = self.planner.program.storage(self.planner.kernel.result).format.levels();
        let placed = |k: usize| {
            !matches!(Assembler::of(self.planner.result_format(), k), Assembler::Insert(_))
        };
        let first = levels[0].kind.properties().full || levels[0].has(Part::Pos);
        first && (0..levels.len()).all(|k| placed(k) && !levels[k].has(Part::Width))
    }
}

/// Whether nothing is lost when a value is stored.
fn is_register(datatype: DataType) -> bool {
    datatype.register().datatype() == datatype
}
