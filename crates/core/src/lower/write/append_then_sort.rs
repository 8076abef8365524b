//! Results whose rows are appended in the order of the loops, and then sorted. Most unordered matrices have ordered
//! rows, in which nothing moves. Where coordinates may be duplicates, the row is tested first: if its coordinates
//! ascend strictly, it is neither sorted nor combined.
//!
//! ```text
//! csr, one row       begin = pC2;  for .. C2_crd[pC2] = j;  C_vals[pC2] = ..;  pC2 = pC2 + 1
//!                    sort begin..pC2 by C2_crd with C_vals
//! with duplicates    unless C2_crd ascends, sort, and
//!                    for q in begin + 1..pC2  where C2_crd[q] is the last one that is kept, combine, else keep it
//! ```
//!
//! This is `reorder` of the thesis (section 4.4), and its `dedup`, applied to the result, without a scratch array.

use crate::level::LevelArrays;
use crate::lower::scope::Scope;
use crate::lower::symbols::Symbols;
use crate::lower::value::Value;
use crate::lower::write::append::LevelWriter;
use crate::lower::{Code, Lowerer};
use crate::plan::{Node, Rest};
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{add, assign, eq, for_loop, int, keep_room, lt, sub, when};
use tamis_ir::ir::{self, Expr};

impl Lowerer<'_> {
    /// Assembles the last level, below a position of the level before.
    pub(in crate::lower) fn appended_then_sorted(
        &mut self,
        level: usize,
        parent: Expr,
        body: &Node,
        scope: Scope,
    ) -> Code {
        let body = self.node(body, scope);
        if body.stmts.is_empty() {
            return Code::nothing();
        }
        let combines = self.plan.output.rest() == Some(Rest::AppendSortCombine);
        let (cx, levels) = (&mut self.cx, &mut self.writing.levels);
        let next = levels.next(cx, level);
        let begin = cx.temp_of(next, "_begin");
        let (lo, hi) = (Expr::Var(begin), Expr::Var(next));
        let arrays = cx.result();
        let crds = arrays.levels[level].clone();
        let crd = crds.crd.expect("a level that is appended has coordinates");
        let (keys, carried) = (vec![crd.array], arrays.vals.arrays());
        let sort = ir::Stmt::Sort { keys, carried, lo: lo.clone(), hi: hi.clone() };
        let several = match combines {
            true => {
                let stored = arrays.vals.arrays().into_iter().chain([crd.array]);
                let mut put_right: Vec<ir::Stmt> = stored.map(keep_room).collect();
                put_right.push(sort);
                put_right.extend(cx.combined_neighbours(level, begin, next));
                cx.unless_ascending(&crds, (begin, next), put_right)
            }
            false if cx.levels().kind(level).properties().ordered => vec![sort],
            false => vec![],
        };
        let mut stmts = vec![assign(begin, hi.clone())];
        stmts.extend(body.stmts);
        stmts.push(when(lt(add(lo, int(1)), hi), several));
        stmts.extend(levels.edges_at(cx, level, parent));
        Code { stmts, covers: false }
    }
}

impl Symbols<'_> {
    /// Statements that run only if the coordinates between two positions do not ascend strictly.
    fn unless_ascending(
        &mut self,
        crds: &LevelArrays,
        (begin, next): (Var, Var),
        then: Vec<ir::Stmt>,
    ) -> Vec<ir::Stmt> {
        let (q, falls) = (self.temp("q"), self.temp("falls"));
        let at = |v: Var| Expr::Var(v);
        let rises = lt(crds.coordinate(sub(at(q), int(1))), crds.coordinate(at(q)));
        let found = vec![assign(falls, int(1))];
        let check = vec![ir::Stmt::If { cond: rises, then: vec![], otherwise: found }];
        vec![
            assign(falls, int(0)),
            for_loop(q, add(at(begin), int(1)), at(next), check),
            when(lt(int(0), at(falls)), then),
        ]
    }

    /// Combines adjacent duplicates, in a row of two or more entries that ends at the next free position.
    fn combined_neighbours(&mut self, level: usize, begin: Var, next: Var) -> Vec<ir::Stmt> {
        let arrays = self.result();
        let (crds, vals) = (arrays.levels[level].clone(), arrays.vals);
        let op = self.planner().combining().expect("entries that come several times are combined");
        let (kept, q) = (self.temp_of(next, "_kept"), self.temp("q"));
        let at = |v: Var| Expr::Var(v);
        let mut again = vec![];
        let (old, new) = (self.loaded(vals, at(kept)), self.loaded(vals, at(q)));
        let total = self.combined(op, old, new, &mut again);
        again.extend(self.write(at(kept), None, total));
        let value = self.loaded(vals, at(q));
        let mut first = vec![assign(kept, add(at(kept), int(1)))];
        first.push(crds.set_coordinate(at(kept), crds.coordinate(at(q))));
        first.extend(self.write(at(kept), None, value));
        let same = eq(crds.coordinate(at(q)), crds.coordinate(at(kept)));
        let each = vec![ir::Stmt::If { cond: same, then: again, otherwise: first }];
        vec![
            assign(kept, at(begin)),
            for_loop(q, add(at(begin), int(1)), at(next), each),
            assign(next, add(at(kept), int(1))),
        ]
    }
}

impl LevelWriter {
    /// Appends an entry to the last level.
    pub(in crate::lower) fn append_entry(
        &mut self,
        cx: &mut Symbols<'_>,
        level: usize,
        value: Value,
        scope: &mut Scope,
    ) -> Vec<ir::Stmt> {
        let mut stmts = vec![];
        let coordinate = scope.coordinate(cx, cx.result_vars()[level], &mut stmts);
        let coordinate = Expr::Var(coordinate.expect("all modes of a result are bound"));
        let next = Expr::Var(self.next(cx, level));
        stmts.extend(cx.result().vals.reserve(&add(next.clone(), int(1))));
        stmts.extend(cx.write(next, None, value));
        stmts.extend(self.keep(cx, level, &|_| coordinate.clone()));
        stmts
    }
}
