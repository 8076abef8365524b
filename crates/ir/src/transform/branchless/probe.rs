//! Run-time sampling probes: properties of streams, measured on some of their segments before the body of a function.
//!
//! ```text
//! few = false
//! if len(A) < len(pos) * 4 {
//!   counted = 0
//!   asked = min(len(pos) - 2, 32)
//!   for t in 0..asked {
//!     f = t * (len(pos) - 2) / asked
//!     if pos[f + 2] - pos[f + 1] != pos[f + 1] - pos[f] { counted = counted + 1 }
//!   }
//!   few = asked < counted * 4
//! }
//! ```
//!
//! What is chosen by the answer must not change results.

use crate::algebra::BinaryOp;
use crate::datatype::Scalar;
use crate::ids::{Array, Var};
use crate::ir::build::{add, assign, binary, div, for_loop, int, load, lt, mul, sub, when};
use crate::ir::{Expr, Function, Stmt, Type};
use crate::transform::fresh;

/// How many segments are asked at most.
const ASKED: i64 = 32;
/// The answer is yes where it is for more than one of so many.
const ENOUGH: i64 = 4;

/// The questions that a pass asks.
#[derive(Default)]
pub(in crate::transform) struct Questions {
    known: Vec<(Array, Array, Var)>,
    /// What answers them.
    pub(in crate::transform) stmts: Vec<Stmt>,
}

impl Questions {
    /// Whether something holds often of a segment `pos[f]..pos[f + 1]` and the next one, given the
    /// three bounds; it does not where it is not worth asking. `of` is the array that the question is about.
    pub(in crate::transform) fn ask(
        &mut self,
        function: &mut Function,
        (name, pos, of): (&str, Array, Array),
        worth: Expr,
        holds: impl Fn([Expr; 3]) -> Expr,
    ) -> Expr {
        if let Some((.., answer)) = self.known.iter().find(|(p, o, _)| (*p, *o) == (pos, of)) {
            return Expr::Var(*answer);
        }
        let answer = fresh(function, name, Type::BOOL);
        let [counted, asked, iteration, at] =
            ["counted", "asked", "t", "f"].map(|name| fresh(function, name, Type::INDEX));
        let bounds = [0, 1, 2].map(|k| load(pos, add(Expr::Var(at), int(k))));
        let neighbours = sub(Expr::Len(pos), int(2));
        let question = vec![
            assign(at, div(mul(Expr::Var(iteration), neighbours.clone()), Expr::Var(asked))),
            when(holds(bounds), vec![assign(counted, add(Expr::Var(counted), int(1)))]),
        ];
        let enough = lt(Expr::Var(asked), mul(Expr::Var(counted), int(ENOUGH)));
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
        self.known.push((pos, of, answer));
        Expr::Var(answer)
    }
}
