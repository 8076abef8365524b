//! Whether iterations of parallel loops are independent, as their semantics promise.
//!
//! ```text
//! for i in 0..n on gpu_block { y[0] = x[i] }              a fault: two iterations store to y[0]
//! for i in 0..n on gpu_block { update y[0] by sum: x[i] }
//! ```
//!
//! A local array belongs to an iteration if the loop is around all its uses ([`owners`]).

use super::memory::Fault;
use crate::ids::Array;
use crate::ir::parallel::{has_parallel, owners};
use crate::ir::{ArrayDecl, ArrayRole, Function};
use std::collections::BTreeMap;

/// How an element is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Load,
    Store,
    Update,
    /// Any use by iterations one after another.
    InOrder,
}

/// The surrounding parallel loops, outermost first.
pub(super) struct Races {
    loops: Vec<Loop>,
    /// For each local array, the number of surrounding loops whose iterations have one each.
    own: BTreeMap<Array, usize>,
    /// Whether the current statement is one that iterations run one after another.
    pub(super) in_order: bool,
}

/// A running parallel loop.
struct Loop {
    /// The current iteration.
    iteration: i64,
    /// For each element, how it was used, and by which iteration, unless several used it.
    seen: BTreeMap<(Array, i64), (Option<i64>, Use)>,
}

impl Races {
    /// The state before a function runs.
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

    /// Records the use of an element; a fault if iterations conflict.
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
            // A store dominates other uses by the same iteration.
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

    /// Whether three iterations of a loop over blocks with this body run without a fault.
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
