//! Appending to the levels of a result in the order of the loops.
//!
//! ```text
//! for i in ..                      level 1 (dense): pC1 = i
//!   for j in ..                    level 2 (compressed)
//!     C2_crd[pC2] = j;  C_vals[pC2] = ..;  pC2 = pC2 + 1
//!   C2_pos[i + 1] = pC2
//! ```
//!
//! A coordinate of an outer compressed level is kept only if something was appended below it.

use super::result::{Assembly, Plan, Rest};
use super::{Code, Lowerer, Scope};
use crate::cin::Stmt;
use crate::ids::Var;
use crate::ir::build::{add, assign, int, lt, mul, when};
use crate::ir::{self, Expr};
use crate::level::Append;

/// More entries are not reserved before they come.
const MOST_EXPECTED: i64 = 1 << 27;

impl Lowerer<'_> {
    /// One coordinate of a level that is written in order: what is below it, and around that the
    /// level functions.
    pub(super) fn assembled(&mut self, k: usize, index: Var, body: &Stmt, scope: Scope) -> Code {
        let result = self.kernel.result;
        let level = self.arrays(result).levels[k];
        let kind = self.program.storage(result).format.levels()[k].kind;
        let parent = scope.result.position.clone();
        if let Some(position) = kind.locate(&level, parent, Expr::Var(index)) {
            return self.below(k, position, body, scope);
        }
        let next = self.next(k);
        if self.is_leaf(k) {
            // The assignment appends, since it may not be reached.
            return self.below(k, Expr::Var(next), body, scope);
        }
        let opened = self.open(k, Expr::Var(next));
        let below = self.below(k, Expr::Var(next), body, scope);
        if below.stmts.is_empty() {
            return Code::nothing();
        }
        let keep = self.keep(k, Expr::Var(index));
        let mut stmts = opened;
        match self.appended_below(k) {
            Some(child) => {
                let begin = self.temp(&format!("{}_begin", self.name_of(child)));
                stmts.push(assign(begin, Expr::Var(child)));
                stmts.extend(below.stmts);
                stmts.push(when(lt(Expr::Var(begin), Expr::Var(child)), keep));
            }
            None => stmts.extend([below.stmts, keep].concat()),
        }
        Code { stmts, covers: false }
    }

    /// Whether positions of level `k` are positions of values, appended one by one.
    pub(super) fn is_leaf(&self, k: usize) -> bool {
        k + 1 == self.program.storage(self.kernel.result).format.levels().len()
    }

    /// Appends a coordinate at the next position of level `k`.
    pub(super) fn keep(&mut self, k: usize, coordinate: Expr) -> Vec<ir::Stmt> {
        let level = self.arrays(self.kernel.result).levels[k];
        let next = self.next(k);
        let len = add(Expr::Var(next), int(1));
        let mut stmts = vec![ir::Stmt::Reserve { array: level.crd(), len }];
        stmts.extend(self.append_of(k).append_coord(&level, Expr::Var(next), coordinate));
        stmts.push(self.advance(next));
        stmts
    }

    /// What is below a position of level `k`.
    fn below(&mut self, k: usize, position: Expr, body: &Stmt, mut scope: Scope) -> Code {
        scope.result.levels = k + 1;
        scope.result.position = position.clone();
        match self.staged_from() {
            Some(first) if first == k + 1 => self.staged(first, position, body, scope),
            _ => self.resolved(body, scope),
        }
    }

    /// The first staged level, if any is.
    pub(super) fn staged_from(&self) -> Option<usize> {
        match &self.plan {
            Plan::Assemble(Assembly { in_order, rest: Rest::Staged(_), .. }) => Some(*in_order),
            _ => None,
        }
    }

    /// Makes room below a new position of level `k`: for the edges of the next appended level, or
    /// for a block of values.
    pub(super) fn open(&mut self, k: usize, position: Expr) -> Vec<ir::Stmt> {
        let arrays = self.arrays(self.kernel.result);
        let child = self.appended_level_below(k);
        let end = child.unwrap_or(arrays.levels.len());
        let sizes = arrays.levels[k + 1..end].iter().map(|l| Expr::Var(l.size));
        let block = sizes.fold(int(1), mul);
        let lo = mul(position.clone(), block.clone());
        let hi = mul(add(position, int(1)), block.clone());
        match child {
            Some(child) => {
                let append = self.append_of(child);
                append.append_parents(&arrays.levels[child], lo, hi)
            }
            None => {
                let array = arrays.vals;
                let mut stmts = vec![ir::Stmt::Reserve { array, len: hi.clone() }];
                if block != int(1) {
                    let value = Expr::Const(self.initial());
                    stmts.push(ir::Stmt::Fill { array, lo, hi, value });
                }
                stmts
            }
        }
    }

    /// `append_edges` after all children of a parent of level `k`.
    pub(super) fn edges(&mut self, k: usize, scope: &Scope) -> Vec<ir::Stmt> {
        self.edges_at(k, scope.result.position.clone())
    }

    pub(super) fn edges_at(&mut self, k: usize, parent: Expr) -> Vec<ir::Stmt> {
        let level = self.arrays(self.kernel.result).levels[k];
        if self.program.storage(self.kernel.result).format.levels()[k].kind.append().is_none() {
            return vec![];
        }
        let next = self.next(k);
        let mut stmts = self.check_position(level.pos(), Expr::Var(next));
        stmts.extend(self.append_of(k).append_edges(&level, parent, Expr::Var(next)));
        stmts
    }

    /// `append_init` for every appended level.
    pub(super) fn init_levels(&mut self) -> Vec<ir::Stmt> {
        let mut stmts = vec![];
        for (k, parents) in self.parents().into_iter().enumerate() {
            let level = self.arrays(self.kernel.result).levels[k];
            if let Some(append) = self.appendable(k) {
                stmts.extend(append.append_init(&level, parents));
                stmts.push(assign(self.next(k), int(0)));
            }
        }
        stmts.extend(self.expected_room());
        stmts
    }

    /// Room for as many entries as the sparse operands have together: memory that is not touched
    /// costs nothing, and growing copies.
    fn expected_room(&mut self) -> Vec<ir::Stmt> {
        let last = self.arrays(self.kernel.result).levels.len() - 1;
        if self.staged_from().is_some() || self.appendable(last).is_none() {
            return vec![];
        }
        let mut total = int(0);
        for access in super::resolve::distinct(&self.kernel.body) {
            if !self.program.storage(access.tensor).format.is_full() {
                total = add(total, self.entries(access.tensor));
            }
        }
        if total == int(0) {
            return vec![];
        }
        let arrays = self.arrays(self.kernel.result);
        let room = self.temp("room");
        let most = int(MOST_EXPECTED);
        let reserve = |array| ir::Stmt::Reserve { array, len: Expr::Var(room) };
        vec![
            assign(room, ir::build::binary(crate::algebra::BinaryOp::Min, total, most)),
            reserve(arrays.levels[last].crd()),
            reserve(arrays.vals),
        ]
    }

    /// The number of entries that an operand stores.
    fn entries(&mut self, tensor: crate::ids::TensorId) -> Expr {
        let arrays = self.arrays(tensor);
        let levels = self.program.storage(tensor).format.levels();
        arrays.levels.iter().zip(levels).fold(int(1), |parents, (level, spec)| {
            match spec.kind.size(level, parents.clone()) {
                Some(size) => size,
                None => match spec.kind.pos_bounds(level, parents) {
                    // The first child of the parent behind the last one is the end of all.
                    Some(bounds) => bounds.lo,
                    None => int(0),
                },
            }
        })
    }

    /// `append_finalize` for every appended level whose parents may have been passed over.
    pub(super) fn finalize_levels(&mut self) -> Vec<ir::Stmt> {
        let arrays = self.arrays(self.kernel.result);
        let result = self.kernel.result;
        let mut stmts = vec![];
        let mut count = int(1);
        for k in 0..arrays.levels.len() {
            let kind = self.program.storage(result).format.levels()[k].kind;
            match self.appendable(k) {
                Some(append) => {
                    let scattered = k > 0 && self.appendable(k - 1).is_none();
                    if scattered {
                        let p = self.temp("p");
                        stmts.extend(append.append_finalize(&arrays.levels[k], count, p));
                    }
                    count = Expr::Var(self.next(k));
                }
                None => {
                    let size = kind.size(&arrays.levels[k], count);
                    count = size.expect("a level without append has a size");
                }
            }
        }
        stmts
    }

    /// Per level the number of its parents, where the dimensions tell.
    fn parents(&mut self) -> Vec<Option<Expr>> {
        let arrays = self.arrays(self.kernel.result);
        let mut known = Some(int(1));
        let mut parents = vec![];
        for (k, level) in arrays.levels.iter().enumerate() {
            let kind = self.program.storage(self.kernel.result).format.levels()[k].kind;
            parents.push(known.clone());
            known = known.and_then(|n| kind.size(level, n));
        }
        parents
    }

    /// The next appended level below level `k`.
    fn appended_level_below(&self, k: usize) -> Option<usize> {
        let levels = self.program.storage(self.kernel.result).format.levels().len();
        (k + 1..levels).find(|&child| self.appendable(child).is_some())
    }

    /// The next free position of the next appended level below level `k`.
    pub(super) fn appended_below(&mut self, k: usize) -> Option<Var> {
        self.appended_level_below(k).map(|child| self.next(child))
    }

    pub(super) fn appendable(&self, k: usize) -> Option<&'static dyn Append> {
        let kind = self.program.storage(self.kernel.result).format.levels()[k].kind;
        kind.format().append()
    }

    pub(super) fn append_of(&self, k: usize) -> &'static dyn Append {
        self.appendable(k).expect("a level that is not full can be appended to")
    }

    /// The variable `pC2` with the next free position of an appended level.
    pub(super) fn next(&mut self, k: usize) -> Var {
        if let Plan::Assemble(Assembly { next, .. }) = &self.plan
            && let Some(var) = next[k]
        {
            return var;
        }
        let name = format!("p{}{}", self.program.tensors[self.kernel.result].name, k + 1);
        let var = self.temp(&name);
        if let Plan::Assemble(Assembly { next, .. }) = &mut self.plan {
            next[k] = Some(var);
        }
        var
    }
}
