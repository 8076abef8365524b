//! Whether iterations of parallel loops are independent, as their semantics promise.
//!
//! ```text
//! for i in 0..n on gpu_block { y[0] = x[i] }              a fault: two iterations store to y[0]
//! for i in 0..n on gpu_block { update y[0] by sum: x[i] }
//! ```
//!
//! Local arrays are an iteration's own where the loop is around all that uses them
//! ([`owners`]).

use super::memory::Fault;
use crate::ids::Array;
use crate::ir::parallel::{has_parallel, owners};
use crate::ir::{ArrayDecl, ArrayRole, Function};
use std::collections::BTreeMap;

/// What is done with an element.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Load,
    Store,
    Update,
    /// Whatever iterations do one after another.
    InOrder,
}

/// The parallel loops around, outermost first.
pub(super) struct Races {
    loops: Vec<Loop>,
    /// Local arrays, and how many of the loops around have one in each iteration.
    own: BTreeMap<Array, usize>,
    /// Whether iterations do one after another what is done now.
    pub(super) in_order: bool,
}

/// A parallel loop while it runs.
struct Loop {
    /// The iteration at hand.
    iteration: i64,
    /// Per element the iteration that used it, unless several did, and how.
    seen: BTreeMap<(Array, i64), (Option<i64>, Use)>,
}

impl Races {
    /// Before a function runs.
    pub(super) fn of(function: &Function) -> Races {
        let is_local = |&(_, a): &(Array, &ArrayDecl)| a.role == ArrayRole::Local;
        let locals = function.arrays.enumerate().filter(is_local);
        let own = |(array, _): (Array, &ArrayDecl)| {
            let loops = owners(&function.body, array).into_iter().map(|owner| owner.loops);
            (array, loops.max().unwrap_or(0))
        };
        let own = match has_parallel(&function.body) {
            true => locals.map(own).collect(),
            false => BTreeMap::new(),
        };
        Races { loops: vec![], own, in_order: false }
    }

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
        if self.loops.is_empty() || function.arrays[array].role == ArrayRole::Input {
            return Ok(());
        }
        let used = if self.in_order { Use::InOrder } else { used };
        let own = self.own.get(&array).copied().unwrap_or(0);
        for outer in self.loops.iter_mut().skip(own) {
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
    fn what_a_block_has_to_itself_its_threads_share() {
        let runs = |body: &str| {
            let text = format!(
                "fn f(n: i64, y: shared [i64]) {{\n  local w: [i64]\n  var i, j, k, s: i64\n  \
                 reserve w, 3\n  for i in 0..n on gpu_block {{\n{body}\n  }}\n}}\n"
            );
            let arguments = vec![
                Argument::Scalar(Scalar::I64(3)),
                Argument::Array(Buffer::of(DataType::I64, 9)),
            ];
            run(&parse(&text).unwrap(), arguments, None).is_ok()
        };
        let fill = |at: &str| format!("for j in 0..3 on gpu_thread {{\n w[{at}] = i\n }}\n");
        let read = "for k in 0..3 on gpu_thread {\n y[i * 3 + k] = w[2 - k]\n }";
        assert!(runs(&format!("{}{read}", fill("j"))));
        assert!(!runs(&format!("{}{read}", fill("0"))));
        let own = "for j in 0..3 on gpu_thread {\n w[0] = i\n y[i * 3 + j] = w[0]\n }\n";
        assert!(runs(own));
        assert!(runs(&format!("{own}{own}")));
        assert!(runs(&format!("if i > 1 {{\n{own} }} else {{\n{own} }}")));
        let some =
            "for j in 0..3 on gpu_thread {\n if j > i {\n w[0] = i\n }\n y[i * 3 + j] = w[0]\n }";
        assert!(!runs(&format!("{}{some}", fill("j"))));
        let iterations = |write: &str| {
            format!("for s in 0..2 {{\n if s == 0 {{\n{write} }} else {{\n{read} }}\n}}")
        };
        assert!(runs(&iterations(&fill("j"))));
        assert!(!runs(&iterations(&fill("0"))));
    }

    #[test]
    fn iterations_hand_nothing_on() {
        assert!(runs("j = i\n y[i] = j"));
        assert!(!runs("if i > 0 {\n y[i] = j\n }\n j = i"));
        assert!(!runs("y[i] = s\n s = i"));
    }
}
