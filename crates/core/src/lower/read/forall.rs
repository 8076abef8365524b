//! One loop of the plan: its iterators, and the code of one case of its body.

use super::slice::Sliced;
use crate::level::{LevelArrays, LevelKind};
use crate::lower::builder::advance;
use crate::lower::partition::Interval;
use crate::lower::scope::{Reached, Scope};
use crate::lower::symbols::Symbols;
use crate::lower::{Code, Lowerer};
use crate::notation::Access;
use crate::plan::{self, Advance, Driver, Duplicates, Node, Window};
use tamis_ir::algebra::BinaryOp;
use tamis_ir::ids::{IndexVar, Var};
use tamis_ir::ir;
use tamis_ir::ir::build::{all, binary, eq, int, when};

/// One sparse operand at one index variable.
pub(in crate::lower) struct Iterator {
    /// The number of the driver in its loop.
    pub(in crate::lower) number: usize,
    pub(in crate::lower) access: Access,
    pub(in crate::lower) level: usize,
    pub(in crate::lower) kind: LevelKind,
    pub(in crate::lower) arrays: LevelArrays,
    pub(in crate::lower) parent: Reached,
    /// `pA2`, the position.
    pub(in crate::lower) position: Var,
    /// Whether duplicates are visited together, as a segment.
    pub(in crate::lower) segmented: bool,
    /// Whether it gallops.
    pub(in crate::lower) gallops: bool,
    /// The slice of the level, which determines the coordinates that are visited.
    pub(in crate::lower) sliced: Sliced,
    /// The first visited coordinate and the end, if not all are visited.
    pub(in crate::lower) window: Option<(ir::Expr, ir::Expr)>,
}

/// An operand, and the variable that holds its position.
pub(in crate::lower) type At<'i> = (&'i Iterator, Var);

/// The state of emitting a loop of the plan.
pub(in crate::lower) struct LoopEmitter<'s> {
    pub(in crate::lower) plan: &'s plan::Loop,
    /// The first visited coordinate and the end, if not all are visited.
    pub(in crate::lower) window: Option<(ir::Expr, ir::Expr)>,
    /// The variable of the coordinate.
    pub(in crate::lower) index: Var,
    pub(in crate::lower) iterators: Vec<Iterator>,
    pub(in crate::lower) scope: &'s Scope,
    /// The number of visited coordinates, if one iteration stands for all others.
    pub(in crate::lower) seen: Option<Var>,
    /// The part of the outermost loop that the function computes, if not all of it.
    pub(in crate::lower) interval: Option<Interval<'s>>,
}

impl Lowerer<'_> {
    pub(in crate::lower) fn forall(&mut self, plan: &plan::Loop, scope: &Scope) -> Code {
        let mut scope = scope.clone();
        let tile = scope.enter_tile(&mut self.cx, plan.own);
        let code = self.forall_in(plan, &scope);
        Code { stmts: [tile, code.stmts].concat(), ..code }
    }

    fn forall_in(&mut self, plan: &plan::Loop, scope: &Scope) -> Code {
        let window = scope.window(&mut self.cx, plan);
        let driver = |driver: (usize, &Driver)| self.cx.iterator(driver, scope, window.clone());
        let iterators: Vec<Iterator> = plan.drivers.iter().enumerate().map(driver).collect();
        let index = self.cx.index(plan.var);
        for var in iterators.iter().map(|it| it.position).chain([index]) {
            self.cx.values.builder.walks(var, plan.own);
        }
        let interval = self.interval.clone();
        let mut nest = LoopEmitter { plan, window, index, iterators, scope, seen: None, interval };
        let code = match &plan.background {
            Some(background) => self.with_background(&mut nest, background),
            None => nest.merge(self),
        };
        let code = match &plan.window {
            Window::IfEmpty(vars) => self.if_empty(vars, code),
            Window::Whole | Window::Part => code,
        };
        match plan.result_level {
            Some(level) => {
                let edges = self.writing.levels.edges(&mut self.cx, level, scope);
                Code { stmts: [code.stmts, edges].concat(), ..code }
            }
            None => code,
        }
    }
}

impl Lowerer<'_> {
    /// Code that runs if one of these variables has no coordinates.
    fn if_empty(&mut self, vars: &[IndexVar], code: Code) -> Code {
        let mut empty = |v: &IndexVar| eq(self.cx.size(*v, &Scope::default()), int(0));
        let conditions: Vec<ir::Expr> = vars.iter().map(&mut empty).collect();
        let any = conditions.into_iter().reduce(|a, b| binary(BinaryOp::Or, a, b));
        Code { stmts: any.map_or(vec![], |any| vec![when(any, code.stmts)]), covers: false }
    }
}

impl LoopEmitter<'_> {
    /// The code of one case, with the coordinate known and these operands at their positions.
    pub(in crate::lower) fn case(
        &self,
        lowerer: &mut Lowerer<'_>,
        present: &[At<'_>],
        body: &Node,
    ) -> Code {
        self.case_at(lowerer, present, body, self.plan.result_level)
    }

    /// The code of one case, at a level that the result writes in order, or at none.
    pub(in crate::lower) fn case_at(
        &self,
        lowerer: &mut Lowerer<'_>,
        present: &[At<'_>],
        body: &Node,
        level: Option<usize>,
    ) -> Code {
        let mut scope = self.scope.clone();
        scope.loops.push(self.plan.own);
        if present.iter().any(|(it, _)| !it.kind.properties().unique && !it.segmented) {
            scope.repeating.push(self.plan.own);
        }
        // A tile may exceed the range that surrounding diagonals allow.
        let exact = self.is_universal() && self.window.is_none();
        let bound = scope.bind(&mut lowerer.cx, self.plan.var, self.index, exact);
        for (it, position) in present {
            let end = it.segmented.then(|| ir::Expr::Var(lowerer.cx.segment_end(*position)));
            let position = ir::Expr::Var(*position);
            let reached = Reached { levels: it.level + 1, position, end };
            scope.reach(lowerer.cx.planner(), &it.access, reached);
        }
        let code = match level {
            Some(level) => {
                let own = lowerer.cx.result_vars()[level];
                let index = scope.bound.get(&own).copied().unwrap_or(self.index);
                lowerer.assembled(level, index, body, scope.clone(), self.is_universal())
            }
            None => lowerer.node(body, scope.clone()),
        };
        let mut code = lowerer.gpu.sums.as_tile(&mut lowerer.cx, self.plan.own, code, &mut scope);
        lowerer.gpu.sums.as_block(&mut lowerer.cx, self.plan.own, &mut code, &mut scope);
        if let Some(seen) = self.seen {
            code.stmts.insert(0, advance(seen));
        }
        if bound.stmts.is_empty() || code.stmts.is_empty() {
            return code;
        }
        let mut stmts = bound.stmts;
        match bound.inside.is_empty() {
            true => stmts.extend(code.stmts),
            false => stmts.push(when(all(bound.inside.clone()), code.stmts)),
        }
        Code { stmts, covers: code.covers && bound.inside.is_empty() }
    }
}

impl Symbols<'_> {
    pub(in crate::lower) fn iterator(
        &mut self,
        (number, driver): (usize, &Driver),
        scope: &Scope,
        window: Option<(ir::Expr, ir::Expr)>,
    ) -> Iterator {
        let segmented = driver.duplicates == Duplicates::Segment;
        let gallops = driver.advance == Advance::Gallop;
        Iterator { number, segmented, gallops, window, ..self.iterator_at(&driver.access, scope) }
    }

    /// The iterator over the next level of an operand, all of whose positions are visited.
    pub(in crate::lower) fn iterator_at(&mut self, access: &Access, scope: &Scope) -> Iterator {
        let parent = scope.reached(access);
        let level = parent.levels;
        Iterator {
            number: 0,
            access: access.clone(),
            level,
            kind: self.program.storage(access.tensor).format.levels()[level].kind,
            arrays: self.arrays(access.tensor).levels[level].clone(),
            parent,
            position: self.position_var(access, level),
            segmented: false,
            gallops: false,
            sliced: self.sliced(access, level),
            window: None,
        }
    }
}

impl LoopEmitter<'_> {
    /// Whether every coordinate is visited, which implies that all of them are inside the tensors.
    pub(in crate::lower) fn is_universal(&self) -> bool {
        self.plan.is_universal()
    }
}
