//! Results that are collected before they are written in order: in an accumulator, by counts, or in a coordinate
//! buffer.

use super::coo_buffer::CooBuffer;
use super::pack_buffer::widths_of_nothing;
use crate::lower::scope::Scope;
use crate::lower::{Code, Lowerer};
use crate::plan::{Node, Rest};
use tamis_ir::ir::Expr;
use tamis_ir::ir::build::{assign, int};

impl Lowerer<'_> {
    /// The statement with its results collected, below a position of the level above `first`.
    pub(in crate::lower) fn staged(
        &mut self,
        first: usize,
        parent: Expr,
        body: Option<&Node>,
        scope: Scope,
    ) -> Code {
        let Some(rest) = self.plan.output.rest() else { return Code::nothing() };
        match (rest, body) {
            (Rest::Accumulator, Some(body)) => self.accumulated(first, parent, body, scope),
            (Rest::AppendThenSort | Rest::AppendSortCombine, Some(body)) => {
                self.appended_then_sorted(first, parent, body, scope)
            }
            (Rest::PositionAccumulator, Some(body)) => self.ranked(first, parent, body, scope),
            (Rest::CountThenFill | Rest::CountFillSort, Some(body)) => {
                self.counted(rest, body, scope)
            }
            (Rest::CountThenInsert, Some(body)) => self.inserted(body, scope),
            (_, body) => self.listed_and_sorted(first, parent, body, scope),
        }
    }

    /// The statement with its results in a coordinate buffer.
    fn listed_and_sorted(
        &mut self,
        first: usize,
        parent: Expr,
        body: Option<&Node>,
        scope: Scope,
    ) -> Code {
        let body = match body {
            Some(body) => {
                self.stage(first);
                self.node(body, scope)
            }
            None => Code::nothing(),
        };
        if body.stmts.is_empty() && first > 0 {
            return Code::nothing();
        }
        if body.stmts.is_empty() {
            let widths = widths_of_nothing(&mut self.cx, &mut self.writing.levels);
            return Code { stmts: [widths, self.opened_root()].concat(), covers: false };
        }
        let stage = self.stage(first);
        let mut stmts = vec![assign(stage.count, int(0))];
        stmts.extend(body.stmts);
        stmts.push(stage.sorted());
        stmts.extend(stage.widths(&mut self.cx, &mut self.writing.levels));
        if first == 0 {
            stmts.extend(self.opened_root());
        }
        let (levels, all) = (&mut self.writing.levels, (int(0), Expr::Var(stage.count)));
        stmts.extend(stage.unstage(&mut self.cx, levels, first, parent, all));
        Code { stmts, covers: false }
    }

    /// The coordinate buffer, declared on first use.
    fn stage(&mut self, first: usize) -> CooBuffer {
        let cx = &mut self.cx;
        self.writing.buffer.get_or_insert_with(|| CooBuffer::declared(cx, first)).clone()
    }
}
