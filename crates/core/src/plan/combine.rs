//! How the results of parts are joined.
//!
//! ```text
//! C(i,j) csr, parts of i        rows behind each other
//! C(i,j) ell, parts of i        entries in a coordinate buffer, then packed
//! y(j) dense, parts of i        arrays combined element by element
//! ```
//!
//! The order of joins is that of the parts, whichever thread runs them.

use super::partition::Partitioner;
use super::{Assembler, Assembly, CutBy, Output};
use crate::cin::simplify::written;
use crate::cin::{Relation, Scale, Stmt};
use crate::level::{Part, Query};
use crate::notation::Expr;
use tamis_ir::algebra::ReduceOp;
use tamis_ir::datatype::{DataType, Scalar};
use tamis_ir::ids::IndexVar;

/// How the results of parts are joined.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Join {
    /// Parts write disjoint elements of one array, initialised with this value.
    Shared {
        /// The value; `None` if the parts write all of their elements.
        initial: Option<Scalar>,
    },
    /// The levels of each part follow those of the previous part.
    Concatenate,
    /// Each part has an array of its own; elements are combined in order of the parts.
    Combine(ReduceOp),
    /// Each part has a range of rows of an array. Its first row may be the last row of the previous part: then their
    /// elements are combined.
    Overlap {
        /// How elements are combined.
        op: ReduceOp,
        /// The initial value of each element.
        initial: Scalar,
    },
    /// Entries of all parts go into a coordinate buffer, in order of the parts, which is packed.
    Pack {
        /// How entries of the same coordinate are combined; `None` if each element gets its value from one part.
        op: Option<ReduceOp>,
        /// The padding value where an entry also stores elements of other coordinates; `None` where none does.
        around: Option<Scalar>,
    },
}

impl Partitioner<'_> {
    /// How the results of parts are joined; `None` if they cannot be.
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

    /// Whether each element of the result gets at most one value, in any order: the loops visit it once.
    fn writes_once(self, body: &Stmt) -> bool {
        match body {
            Stmt::Forall { var, body } => {
                self.planner.is_told_by_result(*var) && self.writes_once(body)
            }
            Stmt::Assign { op: None, rhs, .. } => !self.planner.adds_entries(rhs),
            _ => false,
        }
    }

    /// Joins by packing. In blocks and in levels with spans, a part may store padding where another part has an entry.
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

    /// Whether the first coordinates of the result ascend in the order in which a loop visits positions.
    fn begins_in_order(self, var: IndexVar) -> bool {
        let derived = &self.planner.program.derived;
        let position = derived.position(var).and_then(|p| derived.relation(p));
        let ordered = Scale::of(derived, var).is_some_and(|scale| scale.is_ordered());
        // Rows of a slice are numbered differently from rows of the tensor.
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

    /// The operator that combines the values that several parts have for one element, if that gives the value of a
    /// single loop: parts start from its identity, and storing their values loses nothing.
    fn combining_parts(self, body: &Stmt) -> Option<ReduceOp> {
        let mut ops = vec![];
        body.for_each_assign(&mut |lhs, op, rhs| {
            if lhs.tensor == self.planner.kernel.result {
                let scattered = if self.is_any(rhs) { ReduceOp::Or } else { ReduceOp::Add };
                ops.push(op.or(self.planner.kernel.scatter.then_some(scattered)));
            }
        });
        let op = match (body, &ops[..]) {
            // The result is written once, with a value that a register accumulated, also entry by entry.
            (Stmt::Where { producer, consumer }, _) => self.reduction(producer, consumer)?,
            (_, [first, rest @ ..]) if rest.iter().all(|op| op == first) => (*first)?,
            _ => return None,
        };
        let storage = self.planner.program.storage(self.planner.kernel.result);
        let is_logical = matches!(op, ReduceOp::Or | ReduceOp::And);
        // In a coordinate buffer an element starts from its first value, and packing sums floats in 64 bits.
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

    /// Whether a sum of these values is stored as a truth value that is true if one of them is: they are truth values,
    /// so none is negative.
    fn is_any(self, value: &Expr) -> bool {
        let is_bool = |tensor| self.planner.program.storage(tensor).datatype == DataType::Bool;
        let Expr::Access(access) = value else { return false };
        self.planner.facts.compute == DataType::Bool
            && is_bool(self.planner.kernel.result)
            && is_bool(access.tensor)
    }

    /// The operator of the loop that accumulates a register, if the result is that register.
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

    /// The value with which the caller has to initialise every element, where parts do not initialise theirs.
    fn initial_elsewhere(self, var: IndexVar, cut: CutBy) -> Option<Scalar> {
        (!self.planner.fills_own_part(self.output, var, cut)).then(|| self.planner.initial())
    }

    /// Whether the arrays of the result's levels can be concatenated.
    fn follows(self) -> bool {
        let levels = self.planner.program.storage(self.planner.kernel.result).format.levels();
        let placed = |k: usize| {
            !matches!(Assembler::of(self.planner.result_format(), k), Assembler::Insert(_))
        };
        let first = levels[0].kind.properties().full || levels[0].has(Part::Pos);
        first && (0..levels.len()).all(|k| placed(k) && !levels[k].has(Part::Width))
    }
}

/// Whether storing a value loses nothing.
fn is_register(datatype: DataType) -> bool {
    datatype.register().datatype() == datatype
}
