//! Transformations of a program that leave what it computes, and about how long that takes.
//!
//! ```text
//! distribute   y(i) = (A(i,j) + B(i,j)) * x(j)    y(i) = A(i,j) * x(j) + B(i,j) * x(j)
//! permute      C(i,j) = A(i,j), A: csr            C(i,j) = A(j,i), A: csc
//! ```

use super::{algebraic, stored};
use crate::case::Case;
use crate::random::Random;
use tamis_core::notation::{self, Program};

/// A transformation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Transformation {
    /// Operands of commutative operators change sides.
    Commute,
    /// Operands of sums, products and the like are joined in another order.
    Reassociate,
    /// `a * (b + c)` is `a * b + a * c`, and so for other operators.
    Distribute,
    /// The sum of a sum is a sum of sums.
    SplitReduction,
    /// A factor moves into a sum.
    PullIn,
    /// Variables are summed over one after the other, in another order.
    NestReductions,
    /// A part becomes a statement of its own.
    SplitStatement,
    /// `T` is `T + 0*T`.
    AddNothing,
    /// `e` is `1 * e`.
    MultiplyByOne,
    /// `a - b` is `a + -b`.
    AddNegative,
    /// `T(i)` is `T(i[0:n])`.
    SliceWhole,
    /// The modes of a tensor are numbered in another way, in its format too.
    PermuteModes,
    /// Index variables change names.
    RenameVariables,
    /// Tensors change names.
    RenameTensors,
    /// An operand is stored in another format with about as many positions.
    Reformat,
    /// A dimension is doubled, with twice the entries.
    Double,
}

impl Transformation {
    /// All of them.
    pub const ALL: [Transformation; 16] = {
        use Transformation::*;
        [
            Commute,
            Reassociate,
            Distribute,
            SplitReduction,
            PullIn,
            NestReductions,
            SplitStatement,
            AddNothing,
            MultiplyByOne,
            AddNegative,
            SliceWhole,
            PermuteModes,
            RenameVariables,
            RenameTensors,
            Reformat,
            Double,
        ]
    };

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        use Transformation::*;
        match self {
            Commute => "commute",
            Reassociate => "reassociate",
            Distribute => "distribute",
            SplitReduction => "split-reduction",
            PullIn => "pull-in",
            NestReductions => "nest-reductions",
            SplitStatement => "split-statement",
            AddNothing => "add-nothing",
            MultiplyByOne => "multiply-by-one",
            AddNegative => "add-negative",
            SliceWhole => "slice-whole",
            PermuteModes => "permute-modes",
            RenameVariables => "rename-variables",
            RenameTensors => "rename-tensors",
            Reformat => "reformat",
            Double => "double",
        }
    }

    /// The transformation of a name.
    pub fn parse(name: &str) -> Option<Transformation> {
        Transformation::ALL.into_iter().find(|t| t.name() == name)
    }

    /// Whether the results are the same.
    pub fn keeps_results(self) -> bool {
        self != Transformation::Double
    }

    /// Another case, if the transformation has something to change. The sums of the case are explicit.
    pub fn apply(self, case: &Case, random: &mut Random) -> Option<Case> {
        use Transformation::*;
        let program = notation::parse(&case.text).ok()?;
        let changed = match self {
            Commute => algebraic::commuted(&program, random),
            Reassociate => algebraic::reassociated(&program, random),
            Distribute => algebraic::distributed(&program, random),
            SplitReduction => algebraic::split_reduction(&program, random),
            PullIn => algebraic::pulled_in(&program, random),
            NestReductions => algebraic::nested(&program, random),
            SplitStatement => algebraic::split_statement(&program, random),
            AddNothing => algebraic::added_nothing(&program, case, random),
            MultiplyByOne => algebraic::multiplied_by_one(&program, case, random),
            AddNegative => algebraic::added_negative(&program, random),
            SliceWhole => stored::sliced(&program, case, random),
            RenameVariables => return stored::renamed_variables(program, case, random),
            RenameTensors => return stored::renamed_tensors(program, case, random),
            PermuteModes => return stored::permuted(program, case, random),
            Reformat => return stored::reformatted(case, random),
            Double => return stored::doubled(&program, case, random),
        };
        let text = changed?.to_string();
        (text != case.text).then(|| Case { text, ..case.clone() })
    }
}

/// The case with its sums written out, so that a rewritten part means what it meant.
pub fn explicit(case: &Case) -> Option<Case> {
    let program: Program = notation::make_explicit(&notation::parse(&case.text).ok()?).ok()?;
    Some(Case { text: program.to_string(), ..case.clone() })
}
