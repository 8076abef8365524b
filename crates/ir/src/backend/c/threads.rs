//! Loops on the threads of a processor, by OpenMP; without it, the same loops on one thread.
//!
//! ```text
//! #pragma omp parallel for schedule(dynamic, 1) reduction(max : status)
//!   for (int64_t part = 0; part < parts; part++) {
//!     double *w_vals = NULL;
//!     ..                              status = tamis_max_i64(status, 1); goto part_end;
//!   part_end:;
//!     free(w_vals);
//!   }
//!   if (status) goto done;
//! ```
//!
//! All iterations run to their end or fail, so that the status does not depend on the threads. Statements in order are
//! an ordered region.

use super::Writer;
use super::types::element;
use crate::ids::{Array, Var};
use crate::ir::flow::arrays;
use crate::ir::{ArrayRole, Expr, Function, Stmt, Unit};
use std::collections::BTreeSet;

impl Writer<'_> {
    /// A loop on several threads: each takes the next iteration that no thread has taken.
    pub(super) fn on_threads(
        &mut self,
        (var, lo, hi): (Var, &Expr, &Expr),
        stmts: &[Stmt],
        path: &mut [usize],
    ) {
        let end = self.names.var(var).end.clone();
        let before = std::mem::take(&mut self.text);
        let failed = std::mem::take(&mut self.fails);
        self.for_loop(var, (lo, ""), hi, "1", stmts);
        let own = self.own_arrays(stmts);
        self.indent += 1;
        own.iter().for_each(|array| self.declare_array(*array));
        self.indent -= 1;
        self.part = Some(end.clone());
        self.nested(stmts, path, 0);
        self.part = None;
        let fails = std::mem::replace(&mut self.fails, failed);
        if self.text.contains(&format!("goto {end};")) {
            self.line(&format!("{end}:;"));
        }
        self.indent += 1;
        for array in own {
            let free = format!("free({});", self.array(array));
            self.line(&free);
        }
        if self.text.contains("tamis_stream_") {
            self.line("tamis_streamed();");
        }
        self.indent -= 1;
        self.line("}");
        let body = std::mem::replace(&mut self.text, before);
        let status = if fails { " reduction(max : status)" } else { "" };
        let is_ordered = stmts.iter().any(|s| matches!(s, Stmt::InOrder { .. }));
        let ordered = if is_ordered { " ordered" } else { "" };
        self.text += &format!(
            "#ifdef _OPENMP\n#pragma omp parallel for schedule(dynamic, 1){ordered}{status}\n#endif\n{body}"
        );
        if fails {
            self.fails = true;
            self.line("if (status) goto done;");
        }
    }

    /// Statements that iterations run one after another; a failure ends them.
    pub(super) fn in_order(&mut self, body: &[Stmt], path: &mut [usize]) {
        self.text += "#ifdef _OPENMP\n#pragma omp ordered\n#endif\n";
        self.line("{");
        let outer = self.part.take();
        let end = outer.as_ref().map(|end| format!("{end}_in_order"));
        self.part.clone_from(&end);
        self.nested(body, path, 0);
        if let Some(end) = end.filter(|end| self.text.contains(&format!("goto {end};"))) {
            self.line(&format!("{end}:;"));
        }
        self.part = outer;
        self.line("}");
    }

    /// The arrays that are local to an iteration with this body.
    fn own_arrays(&self, body: &[Stmt]) -> Vec<Array> {
        let mut used = vec![];
        body.iter().for_each(|s| arrays(s, &mut used));
        let own = |a: &Array| used.contains(a) && self.uses.touches(*a);
        self.of_parts.iter().copied().filter(own).collect()
    }

    fn declare_array(&mut self, array: Array) {
        let (ty, names) = (element(self.function.arrays[array].elem), self.names.array(array));
        let mut line = format!("{ty} *restrict {} = NULL;", names.name);
        if self.uses.sizes(array) {
            line += &format!(" int64_t {} = 0;", names.len);
        }
        self.line(&line);
    }
}

/// The local arrays of a function that only one loop on threads uses.
pub(super) fn own(function: &Function) -> BTreeSet<Array> {
    let (mut outside, mut inside) = (vec![], vec![]);
    apart(&function.body, &mut outside, &mut inside);
    let mut own = BTreeSet::new();
    for (k, used) in inside.iter().enumerate() {
        let elsewhere = |a: &Array| {
            let mut others = inside.iter().enumerate().filter(|(other, _)| *other != k);
            outside.contains(a) || others.any(|(_, used)| used.contains(a))
        };
        let is_own = |a: &&Array| function.arrays[**a].role == ArrayRole::Local && !elsewhere(a);
        own.extend(used.iter().filter(is_own));
    }
    own
}

/// Collects the arrays that statements use outside of loops on threads, and those of each such loop.
fn apart(block: &[Stmt], outside: &mut Vec<Array>, inside: &mut Vec<Vec<Array>>) {
    for s in block {
        match s {
            Stmt::Parallel { unit: Unit::Core, body, .. } => {
                let mut used = vec![];
                body.iter().for_each(|s| arrays(s, &mut used));
                inside.push(used);
            }
            s => {
                let alone = s.clone().map_children(&mut |e| e, &mut |_| vec![]);
                arrays(&alone, outside);
                s.blocks().for_each(|b| apart(b, outside, inside));
            }
        }
    }
}
