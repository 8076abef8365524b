//! Whether iterations of parallel loops are independent, as their semantics promise.
//!
//! ```text
//! for i in 0..n on gpu_block { y[0] = x[i] }              a fault: two iterations store to y[0]
//! for i in 0..n on gpu_block { update y[0] by sum: x[i] }
//! ```
//!
//! Local arrays are an iteration's own.

use super::memory::Fault;
use crate::ids::Array;
use crate::ir::{Function, Role};
use std::collections::BTreeMap;

/// What is done with an element.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Load,
    Store,
    Update,
}

/// The parallel loops around, outermost first.
#[derive(Default)]
pub(super) struct Races {
    loops: Vec<Loop>,
}

/// A parallel loop while it runs.
struct Loop {
    /// The iteration at hand.
    iteration: i64,
    /// Per element the iteration that used it, unless several did, and how.
    seen: BTreeMap<(Array, i64), (Option<i64>, Use)>,
}

impl Races {
    /// A loop begins.
    pub(super) fn enter(&mut self) {
        self.loops.push(Loop { iteration: 0, seen: BTreeMap::new() });
    }

    /// The innermost loop goes on to an iteration.
    pub(super) fn next(&mut self, iteration: i64) {
        if let Some(inner) = self.loops.last_mut() {
            inner.iteration = iteration;
        }
    }

    /// The innermost loop ends.
    pub(super) fn leave(&mut self) {
        self.loops.pop();
    }

    /// Notes the use of an element; a fault if iterations do not agree on it.
    pub(super) fn note(
        &mut self,
        function: &Function,
        array: Array,
        index: i64,
        used: Use,
    ) -> Result<(), Fault> {
        if self.loops.is_empty() || matches!(function.arrays[array].role, Role::Input | Role::Local)
        {
            return Ok(());
        }
        for outer in &mut self.loops {
            let own = Some(outer.iteration);
            let (before, how) = *outer.seen.entry((array, index)).or_insert((own, used));
            if before != own && (how != used || used == Use::Store) {
                let name = &function.arrays[array].name;
                return Err(Fault::new(format!(
                    "iteration {} of a parallel loop uses {name}[{index}], as another does",
                    outer.iteration
                )));
            }
            let users = if before == own { own } else { None };
            // A store weighs more than what else the iteration does.
            let most = if how == Use::Store { how } else { used };
            outer.seen.insert((array, index), (users, most));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::datatype::{DataType, Scalar};
    use crate::interpret::{Argument, Buffer, run};
    use crate::ir::parse::parse;

    /// Whether three iterations of a loop over blocks with this body end without a fault.
    fn runs(body: &str) -> bool {
        let text = format!(
            "fn f(n: i64, y: shared [i64]) {{\n  var i, j, s: i64\n  s = 0\n  \
             for i in 0..n on gpu_block {{\n{body}\n  }}\n}}\n"
        );
        let y = Buffer::of(DataType::I64, 9);
        let arguments = vec![Argument::Scalar(Scalar::I64(3)), Argument::Array(y)];
        run(&parse(&text).unwrap(), arguments, None).is_ok()
    }

    #[test]
    fn elements_that_iterations_share_are_found() {
        let right = ["y[i] = i", "y[i] = y[i] + 1", "update y[0] by sum: i", "j = y[0]"];
        let wrong = ["y[0] = i", "y[i] = y[0]", "j = y[0]\n update y[0] by sum: i", "y[i / 2] = 1"];
        assert!(right.into_iter().all(runs));
        assert!(!wrong.into_iter().any(runs));
    }

    #[test]
    fn iterations_hand_nothing_on() {
        assert!(runs("j = i\n y[i] = j"));
        assert!(!runs("if i > 0 {\n y[i] = j\n }\n j = i"));
        assert!(!runs("y[i] = s\n s = i"));
    }
}
