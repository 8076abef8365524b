//! Results whose entries are counted before they are inserted, in two passes over the same loops.
//!
//! ```text
//! ell from csr       for .. counts of i;  the largest gives the slots;  for .. next slot of i = coordinate and value
//! dok from csr       for .. counts of i;  each gives the width of a hash map;  for .. inserted
//! ```
//!
//! (The thesis, section 3.4: the statistics that a level needs before anything is inserted.)

use super::Writing;
use super::pack_buffer::{edges, width};
use crate::format::LevelSpec;
use crate::lower::scope::Scope;
use crate::lower::symbols::Symbols;
use crate::lower::value::Value;
use crate::lower::write::Pass;
use crate::lower::write::append::LevelWriter;
use crate::lower::{Code, Lowerer};
use crate::plan::{Node, is_placed};
use tamis_ir::algebra::BinaryOp;
use tamis_ir::datatype::DataType;
use tamis_ir::ids::{Array, Var};
use tamis_ir::ir::build::{add, assign, binary, for_loop, int, load, mul, store};
use tamis_ir::ir::{self, Expr};

impl Lowerer<'_> {
    /// Assembles all levels by counting entries and inserting them.
    pub(in crate::lower) fn inserted(&mut self, body: &Node, scope: Scope) -> Code {
        let cx = &mut self.cx;
        let levels = cx.program.storage(cx.kernel.result).format.levels();
        let wide = levels.iter().position(LevelSpec::has_width);
        let wide = wide.expect("a result whose entries are counted to be inserted has a width");
        let name = format!("{}_counts", cx.program.tensors[cx.kernel.result].name);
        let counts = cx.local(&name, DataType::I64);
        self.writing.counts = Some(counts);
        self.writing.pass = Pass::Look;
        let look = self.node(body, scope.clone());
        self.writing.pass = Pass::Fill;
        let fill = self.node(body, scope);
        let cx = &mut self.cx;
        let arrays = cx.result();
        let size = grouping(cx).into_iter().map(|k| arrays.levels[k].size.clone());
        let size = size.fold(int(1), mul);
        let none = ir::Stmt::Fill { array: counts, lo: int(0), hi: size.clone(), value: int(0) };
        let g = cx.temp("g");
        let count = load(counts, Expr::Var(g));
        let mut stmts = vec![ir::Stmt::Reserve { array: counts, len: size.clone() }, none.clone()];
        stmts.extend(look.stmts);
        if levels[wide].insert_edges().is_some() {
            let own = edges(cx, wide, Expr::Var(g), count);
            let each = |_: &mut Symbols<'_>, _: &mut LevelWriter| {
                vec![for_loop(g, int(0), size.clone(), own.clone())]
            };
            stmts.extend(self.writing.levels.measured(cx, wide, &mut { each }));
        } else {
            let most = cx.temp("most");
            let more = binary(BinaryOp::Max, Expr::Var(most), count);
            stmts.push(assign(most, int(0)));
            stmts.push(for_loop(g, int(0), size, vec![assign(most, more)]));
            stmts.extend(width(cx, wide, Expr::Var(most)));
            stmts.extend(cx.levels().is_slot(wide).then_some(none));
        }
        stmts.extend(self.opened_root());
        stmts.extend(fill.stmts);
        Code { stmts, covers: false }
    }
}

impl Writing {
    /// Counts an entry, or inserts its coordinates and its value.
    pub(in crate::lower) fn by_insertion(
        &mut self,
        cx: &mut Symbols<'_>,
        value: Value,
        scope: &mut Scope,
    ) -> Vec<ir::Stmt> {
        let counts = self.counts.expect("the counts are declared before the loops");
        let mut stmts = vec![];
        let distances = distances(cx, scope, &mut stmts);
        let arrays = cx.result();
        let own = |k: &usize| distances[*k].clone().expect("a level above has a coordinate");
        let along = |at: Expr, k: usize| add(mul(at, arrays.levels[k].size.clone()), own(&k));
        let group = grouping(cx).into_iter().fold(int(0), along);
        if self.pass == Pass::Look {
            stmts.extend(counted(cx, counts, group).1);
            return stmts;
        }
        let mut slot = int(0);
        if distances.contains(&None) {
            let (before, next) = counted(cx, counts, group);
            stmts.extend(next);
            slot = Expr::Var(before);
        }
        let stored = |k: usize| distances[k].clone().unwrap_or_else(|| slot.clone());
        let mut position = int(0);
        for k in 0..distances.len() {
            (position, _) = self.levels.entered(cx, k, k, position, &stored, &mut stmts);
        }
        stmts.extend(cx.write(position, None, value));
        stmts
    }
}

/// The distances of coordinates of a result's levels from the lowest ones; slots have none.
fn distances(
    cx: &mut Symbols<'_>,
    scope: &mut Scope,
    stmts: &mut Vec<ir::Stmt>,
) -> Vec<Option<Expr>> {
    let (vars, arrays) = (cx.result_vars(), cx.result());
    let distance = |(k, &var): (usize, &tamis_ir::ids::IndexVar)| {
        if cx.levels().is_slot(k) {
            return None;
        }
        let coordinate = scope.coordinate(cx, var, stmts);
        let coordinate = coordinate.expect("all modes of a result are bound");
        Some(arrays.levels[k].from_least(Expr::Var(coordinate)))
    };
    vars.iter().enumerate().map(distance).collect()
}

/// The levels with a position for every coordinate: entries are counted for each combination of these. Levels with one
/// coordinate for each parent are excluded, since they follow from levels above.
fn grouping(cx: &Symbols<'_>) -> Vec<usize> {
    let format = &cx.program.storage(cx.kernel.result).format;
    let varies = |k: &usize| !format.levels()[*k].kind.properties().branchless;
    (0..format.levels().len()).filter(|k| is_placed(format, *k) && varies(k)).collect()
}

/// Counts one more entry of a group; returns the number before.
fn counted(cx: &mut Symbols<'_>, counts: Array, group: Expr) -> (Var, Vec<ir::Stmt>) {
    let (g, before) = (cx.temp("g"), cx.temp("before"));
    let at = || Expr::Var(g);
    let stmts = vec![
        assign(g, group),
        assign(before, load(counts, at())),
        store(counts, at(), add(Expr::Var(before), int(1))),
    ];
    (before, stmts)
}
