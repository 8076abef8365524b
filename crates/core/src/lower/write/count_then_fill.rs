//! Results whose last level is counted before it is written, in two passes over the same loops.
//!
//! ```text
//! csc from csr       for .. count of j;  sums of counts;  for .. next slot of j = value
//! ```

use super::Pass;
use crate::lower::scope::Scope;
use crate::lower::symbols::Symbols;
use crate::lower::value::Value;
use crate::lower::{Code, Lowerer};
use crate::plan::Node;
use tamis_ir::ir::build::{int, mul};
use tamis_ir::ir::{self, Expr};

impl Lowerer<'_> {
    /// All levels by counting the last one.
    pub(in crate::lower) fn counted(&mut self, body: &Node, scope: Scope) -> Code {
        let arrays = self.cx.result();
        let last = arrays.levels.len() - 1;
        let level = arrays.levels[last].clone();
        let count = self.cx.levels().count_of(last);
        let sizes = arrays.levels[..last].iter().map(|l| l.size.clone());
        let parents = sizes.fold(int(1), mul);
        self.writing.pass = Pass::Look;
        let look = self.node(body, scope.clone());
        self.writing.pass = Pass::Fill;
        let fill = self.node(body, scope);
        let (p, total) = (self.cx.temp("p"), self.cx.temp("total"));
        let mut stmts = count.count_init(&level, parents.clone());
        stmts.extend(look.stmts);
        let fits = level.pos.map_or(vec![], |pos| self.cx.check_position(pos, Expr::Var(total)));
        stmts.extend(count.count_sums(&level, parents, p, total, fits));
        stmts.push(level.reserve_coordinates(Expr::Var(total)));
        stmts.extend(arrays.vals.reserve(&Expr::Var(total)));
        stmts.extend(fill.stmts);
        Code { stmts, covers: false }
    }
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
    let last = arrays.levels.len() - 1;
    let level = &arrays.levels[last];
    let levels = cx.levels();
    let count = levels.count_of(last);
    let mut stmts = vec![];
    let mut parent = int(0);
    for (k, var) in vars.iter().enumerate().take(last) {
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
    let coordinate = scope.coordinate(cx, vars[last], &mut stmts);
    let coordinate = Expr::Var(coordinate.expect("all modes of a result are bound"));
    let place = cx.temp("place");
    stmts.extend(count.count_next(level, parent, place));
    stmts.push(level.set_coordinate(Expr::Var(place), coordinate));
    stmts.extend(cx.write(Expr::Var(place), None, value));
    stmts
}
