//! The counts of each loop of a function, including its bounds and excluding inner loops.
//!
//! ```text
//! for i in 0..n {                            3 iterations, 3 stores
//!   s = 0.0
//!   for p in A2_pos[i]..A2_pos[i + 1] {      5 iterations, 6 + 15 loads
//!     s = fma(A_vals[p], x_vals[A2_crd[p]], s)
//!   }
//!   y_vals[i] = s
//! }
//! ```

use super::memory::Counts;
use crate::ids::Var;
use crate::ir::{Expr, Function, Stmt};
use std::collections::HashMap;
use std::marker::PhantomData;

/// A loop and its counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loop {
    /// The variable that a `for` loop counts, or the variables that the condition of a `while` loop reads.
    pub vars: Vec<Var>,
    /// The index of the surrounding loop in the list.
    pub within: Option<usize>,
    /// The counts, including its bounds and excluding inner loops.
    pub counts: Counts,
}

/// The loops of a function, outer ones before inner ones.
pub(super) struct Loops<'f> {
    loops: Vec<Loop>,
    /// The index of each loop in the list, by the address of its statement, which stays borrowed.
    indices: HashMap<*const Stmt, usize>,
    function: PhantomData<&'f Function>,
}

impl<'f> Loops<'f> {
    pub(super) fn of(function: &'f Function) -> Loops<'f> {
        let mut loops = Loops { loops: vec![], indices: HashMap::new(), function: PhantomData };
        loops.block(&function.body, None);
        loops
    }

    fn block(&mut self, block: &'f [Stmt], within: Option<usize>) {
        for s in block {
            let vars = match s {
                Stmt::For { var, .. } | Stmt::Parallel { var, .. } => Some(vec![*var]),
                Stmt::While { cond, .. } => Some(read(cond)),
                _ => None,
            };
            let mut around = within;
            if let Some(vars) = vars {
                around = Some(self.loops.len());
                self.indices.insert(std::ptr::from_ref(s), self.loops.len());
                self.loops.push(Loop { vars, within, counts: Counts::default() });
            }
            s.blocks().for_each(|inner| self.block(inner, around));
        }
    }

    /// Adds the counts of a statement, if it is a loop.
    pub(super) fn ended(&mut self, s: &Stmt, before: Counts, after: Counts) {
        if let Some(&at) = self.indices.get(&std::ptr::from_ref(s)) {
            self.loops[at].counts.add(after.beyond(before));
        }
    }

    /// The counts of each loop on its own.
    pub(super) fn done(self) -> Vec<Loop> {
        let mut own = self.loops.clone();
        for inner in &self.loops {
            if let Some(outer) = inner.within {
                own[outer].counts = own[outer].counts.beyond(inner.counts);
            }
        }
        own
    }
}

/// The variables that an expression reads, each once.
fn read(e: &Expr) -> Vec<Var> {
    let mut found = vec![];
    e.walk(&mut |e| {
        if let Expr::Var(v) = e
            && !found.contains(v)
        {
            found.push(*v);
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use crate::interpret::{Argument, Buffer, run_by_loop};
    use crate::ir::parse::parse;
    use std::fmt::Write;

    fn check(text: &str, arguments: Vec<Argument>, expected: &str) {
        let function = parse(text).unwrap_or_else(|d| panic!("{d}"));
        let outcome = run_by_loop(&function, arguments, None).unwrap_or_else(|f| panic!("{f}"));
        let mut out = String::new();
        for told in &outcome.loops {
            let names: Vec<_> = told.vars.iter().map(|&v| &function.vars[v].name[..]).collect();
            let c = told.counts;
            let _ = writeln!(
                out,
                "{} in {:?}: {} iterations, {} loads, {} stores, {} bytes",
                names.join(" "),
                told.within,
                c.iterations,
                c.loads,
                c.stores,
                c.moved
            );
        }
        assert_eq!(out.trim(), expected.trim());
    }

    #[test]
    fn each_loop_has_what_the_loops_in_it_do_not() {
        let text = "fn f(n: i64, pos: in [i32], vals: in [f64], y: out [f64]) {
  var i, p, q: i64
  var s: f64
  for i in 0..n {
    s = 0.0
    for p in pos[i]..pos[i + 1] {
      s = s + vals[p]
    }
    y[i] = s
  }
  q = 0
  while q < n {
    y[q] = y[q] + 1.0
    q = q + 2
  }
}
";
        let array = Argument::Array;
        let arguments = vec![
            Argument::Scalar(crate::datatype::Scalar::I64(3)),
            array(Buffer::I32(vec![0, 2, 2, 5])),
            array(Buffer::F64(vec![1.0; 5])),
            array(Buffer::F64(vec![0.0; 3])),
        ];
        check(
            text,
            arguments,
            "i in None: 3 iterations, 0 loads, 3 stores, 24 bytes
p in Some(0): 5 iterations, 11 loads, 0 stores, 64 bytes
q n in None: 2 iterations, 2 loads, 2 stores, 32 bytes",
        );
    }
}
