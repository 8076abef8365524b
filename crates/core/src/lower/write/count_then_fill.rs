//! Results whose last level, or chain of levels, is counted before it is written, in two passes over the same loops.
//!
//! ```text
//! csc from csr       for .. count of j;  sums of counts;  for .. next slot of j = value
//! csr from csb       the same with i and j exchanged, and for each i  sort its slots by j
//! ```

use super::Pass;
use crate::level::LevelArrays;
use crate::lower::scope::Scope;
use crate::lower::symbols::Symbols;
use crate::lower::value::Value;
use crate::lower::{Code, Lowerer};
use crate::plan::{Node, Rest};
use tamis_ir::ids::Var;
use tamis_ir::ir::build::{add, for_loop, int, lt, when};
use tamis_ir::ir::{self, Expr};

impl Lowerer<'_> {
    /// Assembles all levels by counting the last one.
    pub(in crate::lower) fn counted(&mut self, rest: Rest, body: &Node, scope: Scope) -> Code {
        let arrays = self.cx.result();
        let head = head(&self.cx);
        let level = arrays.levels[head].clone();
        let count = self.cx.levels().count_of(head);
        let parents = self.cx.positions_at(self.kernel.result, 0..head, int(1));
        self.writing.pass = Pass::Look;
        let look = self.node(body, scope.clone());
        self.writing.pass = Pass::Fill;
        let fill = self.node(body, scope);
        let (p, total) = (self.cx.temp("p"), self.cx.temp("total"));
        let mut stmts = count.count_init(&level, parents.clone());
        stmts.extend(look.stmts);
        let fits = level.pos.map_or(vec![], |pos| self.cx.check_position(pos, Expr::Var(total)));
        stmts.extend(count.count_sums(&level, parents.clone(), p, total, fits));
        let room = |l: &LevelArrays| l.reserve_coordinates(Expr::Var(total));
        stmts.extend(arrays.levels[head..].iter().map(room));
        stmts.extend(arrays.vals.reserve(&Expr::Var(total)));
        stmts.extend(fill.stmts);
        if rest == Rest::CountFillSort {
            stmts.push(sorted_below(&mut self.cx, head, parents, p));
        }
        Code { stmts, covers: false }
    }
}

/// The head of the chain that contains the last level.
fn head(cx: &Symbols<'_>) -> usize {
    cx.levels().head(cx.levels().len() - 1)
}

/// Sorts the coordinates below each position of the level above.
fn sorted_below(cx: &mut Symbols<'_>, head: usize, parents: Expr, p: Var) -> ir::Stmt {
    let arrays = cx.result();
    let bounds = cx.levels().kind(head).pos_bounds(&arrays.levels[head], Expr::Var(p));
    let bounds = bounds.expect("a level whose entries are counted has positions");
    let crd = |l: &LevelArrays| l.crd.expect("levels in a chain have coordinates").array;
    let keys = arrays.levels[head..].iter().map(crd).collect();
    let carried = arrays.vals.arrays();
    let several = lt(add(bounds.lo.clone(), int(1)), bounds.hi.clone());
    let sort = ir::Stmt::Sort { keys, carried, lo: bounds.lo, hi: bounds.hi };
    for_loop(p, int(0), parents, vec![when(several, vec![sort])])
}

/// Counts a coordinate, or writes it and its value to the next position of its parent.
pub(in crate::lower) fn by_count(
    cx: &mut Symbols<'_>,
    value: Value,
    scope: &mut Scope,
    pass: Pass,
) -> Vec<ir::Stmt> {
    let arrays = cx.result();
    let vars = cx.result_vars();
    let head = head(cx);
    let level = &arrays.levels[head];
    let levels = cx.levels();
    let count = levels.count_of(head);
    let mut stmts = vec![];
    let mut parent = int(0);
    for (k, var) in vars.iter().enumerate().take(head) {
        let coordinate = scope.coordinate(cx, *var, &mut stmts);
        let coordinate = Expr::Var(coordinate.expect("all modes of a result are bound"));
        let located =
            levels.kind(k).locate(&arrays.levels[k], parent, coordinate, &mut cx.values.builder);
        parent = located.expect("levels above are full").position;
    }
    if pass == Pass::Look {
        stmts.extend(count.count_coord(level, parent));
        return stmts;
    }
    let place = cx.temp("place");
    let mut coordinates = vec![];
    for &var in &vars[head..] {
        let coordinate = scope.coordinate(cx, var, &mut stmts);
        coordinates.push(Expr::Var(coordinate.expect("all modes of a result are bound")));
    }
    stmts.extend(count.count_next(level, parent, place));
    let tail = arrays.levels[head..].iter().zip(coordinates);
    stmts.extend(tail.map(|(level, c)| level.set_coordinate(Expr::Var(place), c)));
    stmts.extend(cx.write(Expr::Var(place), None, value));
    stmts
}
