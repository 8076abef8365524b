//! Run-time sampling probes: properties of streams, measured on some of their segments before the body of a function.
//!
//! ```text
//! even = false
//! if len(A) < len(pos) * 16 {
//!   counted = 0
//!   asked = min(len(pos) - 2, 32)
//!   for t in 0..asked {
//!     f = t * (len(pos) - 2) / asked
//!     if pos[f + 2] - pos[f + 1] != pos[f + 1] - pos[f] { counted = counted + 1 }
//!   }
//!   even = asked >= counted * 4
//! }
//! ```
//!
//! A choice by a probe, or by an index computed from probes, must not change results.

use crate::algebra::BinaryOp;
use crate::datatype::Scalar;
use crate::ids::{Array, Var};
use crate::ir::build::{add, assign, binary, div, for_loop, int, load, lt, mul, sub, when};
use crate::ir::{Expr, Function, Stmt, Type};
use crate::transform::fresh;

/// The largest number of probed segments.
const ASKED: i64 = 32;
/// A property that more than one in this number of segments has counts as frequent.
const ENOUGH: i64 = 4;

/// Which share of the segments must have a property.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::transform) enum Holds {
    Often,
    Seldom,
}

/// The name of a probe, its positions array, and the array that it is about.
type About = (&'static str, Array, Array);

/// The probes of a pass.
#[derive(Default)]
pub(in crate::transform) struct Questions {
    known: Vec<(About, Var)>,
    /// The code of the probes.
    pub(in crate::transform) stmts: Vec<Stmt>,
}

impl Questions {
    /// Probes whether a property of a segment `pos[f]..pos[f + 1]` and the next one holds often, or seldom, given the
    /// three bounds. The result is false where probing does not pay.
    pub(in crate::transform) fn ask(
        &mut self,
        function: &mut Function,
        about: About,
        worth: Expr,
        (wanted, holds): (Holds, impl Fn([Expr; 3]) -> Expr),
    ) -> Expr {
        if let Some(answer) = self.answer(about) {
            return answer;
        }
        let (name, pos, _) = about;
        let answer = fresh(function, name, Type::BOOL);
        let [counted, asked, iteration, at] =
            ["counted", "asked", "t", "f"].map(|name| fresh(function, name, Type::INDEX));
        let bounds = [0, 1, 2].map(|k| load(pos, add(Expr::Var(at), int(k))));
        let neighbours = sub(Expr::Len(pos), int(2));
        let question = vec![
            assign(at, div(mul(Expr::Var(iteration), neighbours.clone()), Expr::Var(asked))),
            when(holds(bounds), vec![assign(counted, add(Expr::Var(counted), int(1)))]),
        ];
        let weighed = [Expr::Var(asked), mul(Expr::Var(counted), int(ENOUGH))];
        let enough = match (wanted, weighed) {
            (Holds::Often, [asked, counted]) => lt(asked, counted),
            (Holds::Seldom, [asked, counted]) => binary(BinaryOp::Ge, asked, counted),
        };
        self.stmts.extend([
            assign(answer, Expr::Const(Scalar::Bool(false))),
            when(
                worth,
                vec![
                    assign(counted, int(0)),
                    assign(asked, binary(BinaryOp::Min, neighbours, int(ASKED))),
                    for_loop(iteration, int(0), Expr::Var(asked), question),
                    assign(answer, enough),
                ],
            ),
        ]);
        self.known.push((about, answer));
        Expr::Var(answer)
    }

    /// An index computed from results of probes.
    pub(in crate::transform) fn conclude(
        &mut self,
        function: &mut Function,
        about: About,
        value: Expr,
    ) -> Expr {
        if let Some(answer) = self.answer(about) {
            return answer;
        }
        let answer = fresh(function, about.0, Type::INDEX);
        self.stmts.push(assign(answer, value));
        self.known.push((about, answer));
        Expr::Var(answer)
    }

    fn answer(&self, about: About) -> Option<Expr> {
        let known = self.known.iter().find(|(known, _)| *known == about);
        known.map(|(_, answer)| Expr::Var(*answer))
    }
}
