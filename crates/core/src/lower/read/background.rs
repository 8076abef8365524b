//! Coordinates at which no operand has an entry, for all of which one iteration stands.
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
//! [`Facts::is_once`](crate::cin::simplify::Facts::is_once) tells which operators combine a value once, however many
//! iterations it stands for. Other values are added up, as many times as there are such coordinates:
//!
//! ```text
//! s += A(i,j) == 0
//!
//! j_absent = j_size - (A2_pos[i + 1] - A2_pos[i])
//! if 0 < j_absent   s = s + 1 * j_absent
//! ```

use super::forall::LoopEmitter;
use crate::format::LevelMap;
use crate::lower::builder::advance;
use crate::lower::scope::Scope;
use crate::lower::value::Value;
use crate::lower::{Code, Lowerer};
use crate::plan::{Background, Times};
use tamis_ir::algebra::{BinaryOp, ReduceOp};
use tamis_ir::ids::{TensorId, Var};
use tamis_ir::ir::build::{assign, binary, int, lt, mul, sub, when};
use tamis_ir::ir::{self, Expr, Type};

impl Lowerer<'_> {
    /// A loop over the coordinates that drivers have, and then the iteration that stands for all others.
    pub(in crate::lower) fn with_background(
        &mut self,
        nest: &mut LoopEmitter<'_>,
        background: &Background,
    ) -> Code {
        let name = format!("{}_seen", self.cx.name_of(nest.index));
        let seen = self.cx.var(&name, Type::INDEX);
        nest.seen = Some(seen);
        let code = nest.merge(self);
        nest.seen = None;
        let (lo, hi) = nest.coordinate_range(&mut self.cx);
        let hi = match self.program.derived.map(nest.plan.var) {
            // An offset beyond the dimension, in the last block, is no coordinate.
            Some(LevelMap::Mod(of, _)) => {
                binary(BinaryOp::Min, hi, self.cx.size(of, &Scope::default()))
            }
            _ => hi,
        };
        let absent = match background.times {
            Times::Once => None,
            Times::Each => {
                let tensor = background.node.written().expect("what is added is written");
                let name = format!("{}_absent", self.cx.name_of(nest.index));
                let absent = self.cx.var(&name, Type::INDEX);
                self.times.push((tensor, absent));
                Some(absent)
            }
        };
        let once = nest.case(self, &[], &background.node).stmts;
        self.times.truncate(self.times.len() - usize::from(absent.is_some()));
        let mut stmts = vec![assign(seen, int(0))];
        stmts.extend(code.stmts);
        let count = trip_count(&mut stmts, seen).unwrap_or(Expr::Var(seen));
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

    /// A value that is added to a tensor as many times as there are coordinates that its iteration stands for.
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
            let count = Expr::Convert(self.cx.facts.register(), Box::new(Expr::Var(absent)));
            let im = value.im.map(|im| mul(im, count.clone()));
            Value { re: self.cx.arithmetic(BinaryOp::Mul, value.re, count, stmts), im }
        })
    }
}

/// The trip count of a loop over positions that increments `seen` in each iteration; the increment is then removed.
fn trip_count(stmts: &mut Vec<ir::Stmt>, seen: Var) -> Option<Expr> {
    let one = advance(seen);
    let [_, ir::Stmt::For { lo, hi, step: 1, body, .. }] = &mut stmts[..] else { return None };
    let at = body.iter().position(|s| *s == one)?;
    body.remove(at);
    let count = sub(hi.clone(), lo.clone());
    stmts.remove(0);
    Some(count)
}
