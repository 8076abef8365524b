//! Writes results: how an assignment stores its value, and the code before and after the loops.

use crate::cin::Role;
use crate::lower::partition::Interval;
use crate::lower::scope::Scope;
use crate::lower::symbols::Symbols;
use crate::lower::value::{Vals, Value};
use crate::lower::values::Values;
use crate::lower::write::append::LevelWriter;
use crate::lower::write::append::expected_room;
use crate::lower::write::count_then_fill::by_count;
use crate::lower::{Code, Lowerer};
use crate::notation::{self, Access};
use crate::plan::{Assembler, Assembly, Output, Rest};
use tamis_ir::algebra::{BinaryOp, ReduceOp};
use tamis_ir::datatype::{DataType, Register, Scalar};
use tamis_ir::ir::build::{add, assign, binary, int, store};
use tamis_ir::ir::{self, Expr, Status};

impl Lowerer<'_> {
    pub(in crate::lower) fn assignment(
        &mut self,
        lhs: &Access,
        op: Option<ReduceOp>,
        rhs: &notation::Expr,
        scope: &Scope,
    ) -> Code {
        let mut stmts = self.cx.noticed(lhs.tensor);
        let value = self.cx.value(rhs, scope, &mut stmts);
        let value = self.as_often(lhs.tensor, op, value, &mut stmts);
        if matches!(self.program.tensors[lhs.tensor].role, Role::Register(_)) {
            let held = self.cx.register(lhs.tensor);
            let value = match op {
                Some(op) => self.cx.combined(op, held.value(), value, &mut stmts),
                None => value,
            };
            stmts.extend(self.cx.assigned(held, value));
            return Code { stmts, covers: false };
        }
        if self.program.is_workspace(lhs.tensor) {
            let code = self.write_local(lhs, op, value, scope);
            return Code { stmts: [stmts, code.stmts].concat(), ..code };
        }
        let (mut scope, added) = (scope.clone(), self.cx.planner().adding(op, rhs));
        match &self.plan.output {
            Output::InPlace | Output::Insert => {
                let position = scope.block_position(&mut self.cx, int(0), 0, &mut stmts);
                stmts.extend(self.written(lhs, position, added, value, &scope));
            }
            Output::SharedStructure => {
                let position = self.known_position(lhs, &mut scope, &mut stmts);
                stmts.extend(self.written(lhs, position, added, value, &scope));
            }
            Output::Assemble(Assembly { in_order, rest, vars, .. }) => match rest {
                Rest::Block => {
                    let parent = scope.result.position.clone();
                    let position =
                        scope.block_position(&mut self.cx, parent, *in_order, &mut stmts);
                    match *in_order == vars.len() {
                        true => stmts.extend(self.writing.levels.append_leaf(
                            &mut self.cx,
                            position,
                            value,
                            &scope,
                        )),
                        false => stmts.extend(self.written(lhs, position, added, value, &scope)),
                    }
                    stmts.extend(self.writing.touched.map(|touched| assign(touched, int(1))));
                }
                Rest::AppendThenSort | Rest::AppendSortCombine => {
                    let value = self.cx.reduced(op, value);
                    let levels = &mut self.writing.levels;
                    stmts.extend(levels.append_entry(&mut self.cx, *in_order, value, &mut scope));
                }
                Rest::CoordinateBuffer => {
                    let value = self.cx.reduced(op, value);
                    let buffer = self.writing.buffer.as_ref();
                    let buffer = buffer.expect("the buffer is declared before its loops");
                    stmts.extend(buffer.push(&mut self.cx, value, &mut scope));
                }
                Rest::Accumulator | Rest::PositionAccumulator => {
                    let w = self.writing.accumulator.as_ref();
                    let w = w.expect("the accumulator is declared before its loops");
                    if w.slice.is_some() {
                        self.gpu.note_local(&self.cx, lhs.tensor, &scope);
                    }
                    let pass = self.writing.pass;
                    stmts.extend(match rest {
                        Rest::Accumulator => {
                            let value = self.cx.reduced(op, value);
                            w.gathered(&mut self.cx, value, &mut scope, pass)
                        }
                        _ => w.by_rank(&mut self.cx, op, value, &mut scope, pass),
                    });
                }
                Rest::CountThenFill | Rest::CountFillSort => {
                    let pass = self.writing.pass;
                    stmts.extend(by_count(&mut self.cx, value, &mut scope, pass));
                }
                Rest::CountThenInsert => {
                    stmts.extend(self.writing.by_insertion(&mut self.cx, value, &mut scope));
                }
            },
        }
        // No loop reaches elements off the diagonal.
        Code { stmts, covers: added.is_none() && !lhs.is_diagonal() }
    }

    /// The position of an element of a result with known levels: those of an operand, or of a pattern.
    fn known_position(
        &mut self,
        lhs: &Access,
        scope: &mut Scope,
        stmts: &mut Vec<ir::Stmt>,
    ) -> Expr {
        let Some(shared) = self.cx.planner().like() else {
            return scope.reached(lhs).position;
        };
        let position = scope.like.clone().expect("the operand is descended before the assignment");
        scope.block_position(&mut self.cx, position, shared.levels, stmts)
    }

    /// The code before the loops.
    pub(in crate::lower) fn before_result(&mut self, covered: bool) -> Vec<ir::Stmt> {
        let arrays = self.cx.result();
        let elsewhere = self.gpu.sums.sums_elsewhere(&mut self.cx);
        match &self.plan.output {
            // An operator's identity may not fit the narrow type of the elements.
            Output::InPlace | Output::SharedStructure if elsewhere => vec![],
            Output::InPlace | Output::SharedStructure
                if covered && self.cx.planner().has_plain_modes() =>
            {
                vec![]
            }
            Output::InPlace | Output::SharedStructure
                if let Some(part) = self.interval.clone().filter(Interval::shares_result) =>
            {
                part.filled(&mut self.cx, &self.plan.output)
            }
            Output::InPlace => {
                let levels = 0..arrays.levels.len();
                let size = self.cx.positions_at(self.kernel.result, levels, int(1));
                let initial = self.cx.planner().initial();
                self.cx.filled(arrays.vals, int(0), size, initial)
            }
            Output::SharedStructure => {
                let levels = 0..arrays.levels.len();
                let size = self.cx.positions_at(self.kernel.result, levels, int(1));
                let initial = self.cx.planner().initial();
                self.cx.filled(arrays.vals, int(0), size, initial)
            }
            Output::Insert => self.opened_root(),
            Output::Assemble(Assembly { in_order: 0, rest: Rest::CoordinateBuffer, .. }) => vec![],
            Output::Assemble(Assembly { rest, .. }) if rest.is_in_two_passes() => vec![],
            Output::Assemble(_) => {
                let mut stmts = self.opened_root();
                // Each of several parts would reserve memory for the whole.
                let appends = matches!(
                    self.plan.output.rest(),
                    Some(Rest::Block | Rest::AppendThenSort | Rest::AppendSortCombine)
                );
                if appends && self.parts.is_none() {
                    stmts.extend(expected_room(&mut self.cx));
                }
                stmts
            }
        }
    }

    /// The code after the loops.
    pub(in crate::lower) fn after_result(&mut self) -> Vec<ir::Stmt> {
        match self.plan.output.rest() {
            None => vec![],
            Some(rest) if rest.is_in_two_passes() => vec![],
            Some(_) => {
                let own = self.own_rows();
                self.writing.levels.finalize_levels(&mut self.cx, own)
            }
        }
    }

    /// Reserves memory for everything before the first coordinate.
    pub(in crate::lower) fn opened_root(&mut self) -> Vec<ir::Stmt> {
        let own = self.own_rows();
        self.writing.levels.open_root(&mut self.cx, own)
    }
}

impl LevelWriter {
    /// Appends a value at the next position of the last level.
    fn append_leaf(
        &mut self,
        cx: &mut Symbols<'_>,
        position: Expr,
        value: Value,
        scope: &Scope,
    ) -> Vec<ir::Stmt> {
        let vars = cx.result_vars();
        let k = vars.len() - 1;
        if !matches!(cx.levels().assembler(k), Assembler::Append(_)) {
            return cx.write(position, None, value);
        }
        let (lo, hi) = (position.clone(), add(position.clone(), int(1)));
        let mut stmts = self.open_below(cx, k, lo, hi);
        stmts.extend(cx.write(position, None, value));
        stmts.extend(self.keep(cx, k, &|l| Expr::Var(scope.bound[&vars[l]])));
        stmts
    }
}

impl Scope {
    /// The position of the bound coordinates below a position of the result, by `locate`; levels with a mask mark the
    /// coordinates.
    pub(in crate::lower) fn block_position(
        &mut self,
        cx: &mut Symbols<'_>,
        position: Expr,
        from: usize,
        stmts: &mut Vec<ir::Stmt>,
    ) -> Expr {
        let result = cx.kernel.result;
        let arrays = cx.arrays(result);
        let vars = cx.result_vars();
        let levels = cx.program.storage(result).format.levels();
        (from..levels.len()).fold(position, |position, k| {
            let coordinate = self.coordinate(cx, vars[k], stmts);
            let coordinate = Expr::Var(coordinate.expect("all modes of a result are bound"));
            let level = &arrays.levels[k];
            if let Assembler::Insert(insert) = cx.levels().assembler(k) {
                let at = insert.insert_position(
                    level,
                    position,
                    coordinate.clone(),
                    &mut cx.values.builder,
                );
                stmts.extend(at.stmts);
                stmts.extend(insert.insert_coord(level, at.position.clone(), coordinate));
                return at.position;
            }
            let located =
                levels[k].kind.locate(level, position, coordinate, &mut cx.values.builder);
            located.expect("levels in a block are full").position
        })
    }
}

impl Symbols<'_> {
    /// `vals[position] = value`, or combined with the stored value.
    pub(in crate::lower) fn write(
        &mut self,
        position: Expr,
        op: Option<ReduceOp>,
        value: Value,
    ) -> Vec<ir::Stmt> {
        let vals = self.result().vals;
        let mut stmts = vec![];
        let value = match op {
            Some(op) => {
                let old = self.loaded(vals, position.clone());
                self.combined(op, old, value, &mut stmts)
            }
            None => value,
        };
        stmts.extend(self.narrowed(vals, position, value));
        stmts
    }
}

impl Values<'_> {
    /// Stores a value of the compute type, checked to fit the array's data type.
    fn narrowed(&mut self, vals: Vals, position: Expr, value: Value) -> Vec<ir::Stmt> {
        let elem = self.builder.arrays[vals.arrays()[0]].elem;
        let from = self.facts.register();
        // A store rounds to 16 bits by itself: from the computed value, not from an `f32` in between.
        let to =
            if elem.is_half() && from != Register::F32 { Register::F64 } else { elem.register() };
        let converted = |e: Expr| if from == to { e } else { Expr::Convert(to, Box::new(e)) };
        let Vals::Real(vals) = vals else {
            let mut stmts = vec![];
            let Value { re, im } = self.hold(value, &mut stmts);
            let zero = Expr::Const(Scalar::F64(0.0).convert(to));
            let value = Value { re: converted(re), im: im.map(converted) };
            stmts.extend(vals.store(&position, value, zero));
            return stmts;
        };
        if elem == DataType::Bool {
            let truth = Box::new(self.is_true(value));
            return vec![store(vals, position, Expr::Convert(Register::I64, truth))];
        }
        let value = value.re;
        if fitting(elem, &value, from).is_empty() {
            return vec![store(vals, position, converted(value))];
        }
        let var = self.builder.var("value", ir::Type::scalar(from));
        vec![
            assign(var, value),
            ir::Stmt::If {
                cond: ir::build::all(fitting(elem, &Expr::Var(var), from)),
                then: vec![store(vals, position, converted(Expr::Var(var)))],
                otherwise: vec![ir::Stmt::Fail(Status::IntegerOverflow)],
            },
        ]
    }
}

/// The conditions for a value of a register type to fit the elements of an array, which a NaN fails.
fn fitting(elem: DataType, value: &Expr, from: Register) -> Vec<Expr> {
    let Some(held) = elem.integers() else { return vec![] };
    let is = |op, bound: Scalar| binary(op, value.clone(), Expr::Const(bound.convert(from)));
    let beyond = held.end() + 1;
    let Some(all) = from.datatype().integers() else {
        let least = match from.number_below(*held.start()) {
            Some(below) => is(BinaryOp::Gt, below),
            None => is(BinaryOp::Ge, Scalar::F64(*held.start() as f64)),
        };
        return vec![least, is(BinaryOp::Lt, Scalar::F64(beyond as f64))];
    };
    let mut conditions = vec![];
    if all.start() < held.start() {
        conditions.push(is(BinaryOp::Ge, Scalar::I64(*held.start() as i64)));
    }
    if held.end() < all.end() {
        conditions.push(is(BinaryOp::Lt, Scalar::U64(beyond as u64)));
    }
    conditions
}
