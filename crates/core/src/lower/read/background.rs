//! Coordinates at which no operand has an entry, where one turn does what all of them do.
//!
//! ```text
//! s max= A(i,j)        A is 0 elsewhere
//!
//! seen = 0
//! for pA2 in A2_pos[i]..A2_pos[i + 1]
//!   s = max(s, A_vals[pA2]);  seen = seen + 1
//! if seen < j_size   s = max(s, 0)
//! ```
//!
//! What operators take a value once, however often it comes, is told by
//! [`Facts::is_once`](crate::cin::simplify::Facts::is_once). What is added up is taken as often as there are
//! such coordinates:
//!
//! ```text
//! s += A(i,j) == 0
//!
//! j_absent = j_size - (A2_pos[i + 1] - A2_pos[i])
//! if 0 < j_absent   s = s + 1 * j_absent
//! ```

use super::forall::Loop;
use crate::cin::Stmt;
use crate::cin::simplify::written;
use crate::format::LevelMap;
use crate::lower::complex::Value;
use crate::lower::{Code, Lowerer, Scope};
use tamis_ir::algebra::{BinaryOp, ReduceOp};
use tamis_ir::ids::{IndexVar, TensorId, Var};
use tamis_ir::ir::build::{assign, binary, int, lt, mul, sub, when};
use tamis_ir::ir::{self, Expr, Type};

impl Lowerer<'_> {
    /// Takes the turns without an operand out of a loop where one of them is enough, and has the
    /// others counted.
    pub(in crate::lower) fn taken_once(&mut self, nest: &mut Loop<'_>) -> Option<Stmt> {
        let rest = &nest.lattice.points.last()?.body;
        if !self.is_once(nest.own, rest) || nest.result_level.is_some() {
            return None;
        }
        let rest = nest.lattice.points.pop_if(|point| point.present == 0)?;
        let name = format!("{}_seen", self.name_of(nest.index));
        nest.seen = Some(self.builder.var(&name, Type::INDEX));
        Some(rest.body)
    }

    /// Whether a statement does for one coordinate of a loop what it does for all of them, at any
    /// time.
    pub(in crate::lower) fn is_once(&self, own: IndexVar, s: &Stmt) -> bool {
        let is_plain = !self.program.derived.is_scheduled(own)
            && !self.kernel.tags.contains_key(&own)
            && !self.kernel.scatter;
        is_plain && self.facts.is_once(own, s)
    }

    /// A loop over the coordinates that operands have, and the turn for all others after it.
    pub(in crate::lower) fn with_rest(
        &mut self,
        nest: &mut Loop<'_>,
        code: Code,
        rest: &Stmt,
    ) -> Code {
        let Some(seen) = nest.seen.take() else { return code };
        let (lo, hi) = self.turns(nest);
        let hi = match self.program.derived.map(nest.var) {
            // A place in a block that is larger than the dimension is that of no coordinate.
            Some(LevelMap::Mod(of, _)) => {
                binary(BinaryOp::Min, hi, self.size(of, &Scope::default()))
            }
            _ => hi,
        };
        let is_added = adds(rest);
        let name = format!("{}_absent", self.name_of(nest.index));
        let absent = is_added.then(|| self.builder.var(&name, Type::INDEX));
        self.times.extend(absent.map(|absent| (written(rest), absent)));
        let once = self.case(nest, &[], rest).stmts;
        self.times.truncate(self.times.len() - usize::from(is_added));
        let mut stmts = vec![assign(seen, int(0))];
        stmts.extend(code.stmts);
        let count = self.count_of_turns(&mut stmts, seen).unwrap_or(Expr::Var(seen));
        if !once.is_empty() {
            let once = [vec![assign(nest.index, lo.clone())], once].concat();
            let all = sub(hi, lo);
            match absent {
                Some(absent) => {
                    stmts.push(assign(absent, sub(all, count)));
                    stmts.push(when(lt(int(0), Expr::Var(absent)), once));
                }
                None => stmts.push(when(lt(count, all), once)),
            }
        }
        Code { stmts, covers: false }
    }

    /// A value that is added to a tensor, as often as there are coordinates for which one turn does so.
    pub(in crate::lower) fn as_often(
        &mut self,
        lhs: TensorId,
        op: Option<ReduceOp>,
        value: Value,
        stmts: &mut Vec<ir::Stmt>,
    ) -> Value {
        let times = self.times.iter().filter(|(tensor, _)| *tensor == lhs && op.is_some());
        let counts: Vec<Var> = times.map(|(_, absent)| *absent).collect();
        counts.into_iter().fold(value, |value, absent| {
            let count = Expr::Convert(self.facts.register(), Box::new(Expr::Var(absent)));
            let im = value.im.map(|im| mul(im, count.clone()));
            Value { re: self.arithmetic(BinaryOp::Mul, value.re, count, stmts), im }
        })
    }

    /// How many turns a loop over positions has, each of which counts one: then none needs to.
    fn count_of_turns(&mut self, stmts: &mut Vec<ir::Stmt>, seen: Var) -> Option<Expr> {
        let one = self.advance(seen);
        let [_, ir::Stmt::For { lo, hi, step: 1, body, .. }] = &mut stmts[..] else { return None };
        let at = body.iter().position(|s| *s == one)?;
        body.remove(at);
        let count = sub(hi.clone(), lo.clone());
        stmts.remove(0);
        Some(count)
    }
}

/// Whether a statement adds values up.
fn adds(s: &Stmt) -> bool {
    let mut found = false;
    let target = written(s);
    s.for_each_assign(&mut |lhs, op, _| found |= lhs.tensor == target && op == Some(ReduceOp::Add));
    found
}
