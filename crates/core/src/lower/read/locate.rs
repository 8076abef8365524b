//! Descends the levels of operands whose index variable already has a value.
//!
//! A level with `locate` needs only arithmetic or hashing. Another level is searched: if nothing is found, the operand
//! has its fill value, and the statement simplifies accordingly. This is how diagonals `A(i,i)` are read, and operands
//! that are stored in another order than the loops.

use super::forall::Iterator;
use crate::level::Located;
use crate::lower::builder::Builder;
use crate::lower::builder::advance;
use crate::lower::scope::{Reached, Scope};
use crate::lower::symbols::Symbols;
use crate::lower::{Code, Lowerer};
use crate::notation::Access;
use crate::plan::{self, Absent, Lookup};
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ids::Var;
use tamis_ir::ir;
use tamis_ir::ir::build::{add, all, assign, binary, eq, int, lt, sub, when};

impl Lowerer<'_> {
    /// The code of a step after an operand has descended a level whose coordinate is known.
    pub(in crate::lower) fn located(&mut self, locate: &plan::Locate, mut scope: Scope) -> Code {
        let mut prefix = vec![];
        let coordinate = scope.coordinate(&mut self.cx, locate.var, &mut prefix);
        let coordinate = coordinate.expect("the plan locates what follows from known coordinates");
        let found = find(&mut self.cx, locate, coordinate, &scope);
        prefix.extend(found.stmts);
        let code = match found.found {
            Some(cond) => self.split(locate, found.reached, cond, scope),
            None => {
                let reached = held(&mut self.cx, &locate.access, found.reached, &mut prefix);
                scope.reach(self.cx.planner(), &locate.access, reached);
                self.node(&locate.present, scope)
            }
        };
        Code { stmts: [prefix, code.stmts].concat(), covers: code.covers }
    }

    /// The branches for an operand with and without an entry at a coordinate.
    fn split(
        &mut self,
        locate: &plan::Locate,
        reached: Reached,
        found: ir::Expr,
        scope: Scope,
    ) -> Code {
        let mut below = scope.clone();
        let mut then = vec![];
        let reached = held(&mut self.cx, &locate.access, reached, &mut then);
        below.reach(self.cx.planner(), &locate.access, reached);
        let present = self.node(&locate.present, below);
        then.extend(present.stmts);
        let absent = match &locate.absent {
            Absent::Does(rest) => self.node(rest, scope),
            Absent::Nothing => Code::nothing(),
            Absent::Never => unreachable!("a full level finds every coordinate"),
        };
        let covers = present.covers && absent.covers;
        let stmts = match absent.stmts.is_empty() {
            true => vec![when(found, then)],
            false => vec![ir::Stmt::If { cond: found, then, otherwise: absent.stmts }],
        };
        Code { stmts, covers }
    }
}

/// Holds a position in the variable that accompanies it.
fn held(
    cx: &mut Symbols<'_>,
    access: &Access,
    reached: Reached,
    prefix: &mut Vec<ir::Stmt>,
) -> Reached {
    if matches!(reached.position, ir::Expr::Var(_) | ir::Expr::Const(_)) {
        return reached;
    }
    let p = cx.position_var(access, reached.levels - 1);
    prefix.push(assign(p, reached.position));
    Reached { position: ir::Expr::Var(p), ..reached }
}

/// Descends one level by `locate`, or by a search where the level lacks it.
fn find(cx: &mut Symbols<'_>, locate: &plan::Locate, coordinate: Var, scope: &Scope) -> Found {
    let plan::Locate { ref access, level: k, by, .. } = *locate;
    let parent = scope.reached(access);
    let mut stmts = vec![];
    let (coordinate, inside) = stored(cx, access, k, coordinate, &mut stmts);
    let found = match by {
        Lookup::Locate => {
            let level = cx.arrays(access.tensor).levels[k].clone();
            let kind = cx.program.storage(access.tensor).format.levels()[k].kind;
            let located = kind.locate(&level, parent.position, coordinate, &mut cx.values.builder);
            let Located { stmts, position, found } =
                located.expect("the plan locates where levels have locate");
            let reached = Reached { levels: k + 1, position, end: None };
            Found { stmts, reached, found }
        }
        Lookup::BinarySearch | Lookup::LinearSearch => search(cx, locate, coordinate, scope),
    };
    stmts.extend(found.stmts);
    let inside = inside.into_iter().chain(found.found).reduce(|a, b| all([a, b]));
    Found { stmts, found: inside, ..found }
}

/// The coordinate of a level at a value of its index variable, and the condition that there is one.
fn stored(
    cx: &mut Symbols<'_>,
    access: &Access,
    level: usize,
    value: Var,
    stmts: &mut Vec<ir::Stmt>,
) -> (ir::Expr, Vec<ir::Expr>) {
    let (coordinate, inside) = cx.sliced(access, level).coordinate(ir::Expr::Var(value));
    if matches!(coordinate, ir::Expr::Var(_)) {
        return (coordinate, inside);
    }
    let name = &cx.program.tensors[access.tensor].name;
    let held = cx.temp_of(value, name);
    stmts.push(assign(held, coordinate));
    (ir::Expr::Var(held), inside)
}

/// Descends one level by a search for the coordinate among the children: a binary search if they are ordered,
/// otherwise a linear one.
fn search(
    cx: &mut Symbols<'_>,
    locate: &plan::Locate,
    coordinate: ir::Expr,
    scope: &Scope,
) -> Found {
    let it = cx.iterator_at(&locate.access, scope);
    let bounds = it.bounds();
    let (p, hi) = (it.position, it.end(cx));
    let (lo, end) = (ir::Expr::Var(p), ir::Expr::Var(hi));
    let mut stmts = vec![assign(p, bounds.lo), assign(hi, bounds.hi)];
    match locate.by == Lookup::BinarySearch {
        true => stmts.extend(it.lower_bound(cx, p, coordinate.clone())),
        false => {
            let here = binary(BinaryOp::Ne, it.raw(p).coordinate, coordinate.clone());
            let cond = all([lt(lo.clone(), end.clone()), here]);
            stmts.push(ir::Stmt::While { cond, body: vec![advance(p)] });
        }
    }
    let here = all([lt(lo.clone(), end.clone()), eq(it.raw(p).coordinate, coordinate.clone())]);
    let mut reached = Reached { levels: it.level + 1, position: lo, end: None };
    if !it.kind.properties().unique {
        // If nothing is found, the segment stays empty.
        stmts.extend(it.segment(cx, p, coordinate, end));
        reached.end = Some(ir::Expr::Var(cx.segment_end(p)));
    }
    Found { stmts, reached, found: Some(here) }
}

/// Moves a position to the first one not below a bound, or to the end.
pub(in crate::lower) fn first_from(
    cx: &mut Builder,
    p: Var,
    before: &dyn Fn(Var) -> ir::Expr,
    behind: ir::Expr,
) -> Vec<ir::Stmt> {
    let (count, half, mid) = (cx.temp("count"), cx.temp("half"), cx.temp("mid"));
    let [left, part, here] = [count, half, p].map(ir::Expr::Var);
    let next = |at: Var| {
        let behind = add(ir::Expr::Var(at), int(1));
        ir::Expr::Select(Box::new(before(at)), Box::new(behind), Box::new(here.clone()))
    };
    // A fixed number of steps, each without a branch.
    let halve = ir::Stmt::While {
        cond: lt(int(1), left.clone()),
        body: vec![
            assign(half, binary(BinaryOp::Div, left.clone(), int(2))),
            assign(mid, sub(add(here.clone(), part.clone()), int(1))),
            assign(p, next(mid)),
            assign(count, sub(left.clone(), part)),
        ],
    };
    let last =
        ir::Stmt::If { cond: lt(int(0), left), then: vec![assign(p, next(p))], otherwise: vec![] };
    vec![assign(count, sub(behind, here.clone())), halve, last]
}

impl Iterator {
    /// Moves a position of an operand to the first child with a coordinate of its level not below a bound.
    pub(in crate::lower) fn lower_bound(
        &self,
        cx: &mut Builder,
        p: Var,
        coordinate: ir::Expr,
    ) -> Vec<ir::Stmt> {
        let end = ir::Expr::Var(self.end(cx));
        first_from(cx, p, &|at| lt(self.raw(at).coordinate, coordinate.clone()), end)
    }
}

/// The result of descending a level at a coordinate.
struct Found {
    stmts: Vec<ir::Stmt>,
    reached: Reached,
    /// Whether the coordinate is stored; `None` if every coordinate is.
    found: Option<ir::Expr>,
}
