//! Writing results: where an assignment stores its value, and what happens before and after.

use crate::cin::{Kind, Relation, Role, Stmt, Walk};
use crate::format::LevelMap;
use crate::level::{Append, Insert};
use crate::lower::complex::{Vals, Value};
use crate::lower::read::locate::distinct;
use crate::lower::write::accumulator::Workspace;
use crate::lower::{Code, Lowerer, Scope};
use crate::notation::{self, Access};
use tamis_ir::algebra::{BinaryOp, ReduceOp};
use tamis_ir::datatype::{DataType, Register, Scalar};
use tamis_ir::ids::{Array, IndexVar, Var};
use tamis_ir::ir::build::{add, assign, binary, int, mul, store, when};
use tamis_ir::ir::{self, Expr, Status};

/// How the result of a kernel is stored.
#[derive(Clone)]
pub(in crate::lower) enum Plan {
    /// Every element has a place from the beginning, in an array of the caller.
    Full,
    /// Every element has a place from the beginning, and levels know which are present.
    Placed,
    /// Levels are assembled.
    Assemble(Assembly),
    /// Levels are those of a pattern, and values are written at its positions.
    Follow,
}

/// How a result with assembled levels is written.
#[derive(Clone)]
pub(in crate::lower) struct Assembly {
    /// The index variable of each level.
    pub(in crate::lower) vars: Vec<IndexVar>,
    /// The loop that gives each its value: of the first level, perhaps one over places in tiles.
    pub(in crate::lower) loops: Vec<IndexVar>,
    /// So many leading levels are written in order by the outermost loops.
    pub(in crate::lower) in_order: usize,
    /// Whether the remaining levels are located within a block of values, or staged.
    pub(in crate::lower) rest: Rest,
    /// The next free position of each appended level.
    pub(in crate::lower) next: Vec<Option<Var>>,
    /// Whether something was written to the block of values at hand, where it may stay empty.
    pub(in crate::lower) touched: Option<Var>,
}

/// What holds the levels of a result that the loops do not write in order.
#[derive(Clone)]
pub(in crate::lower) enum Rest {
    /// A block of values under each position of the last level in order, found by `locate`.
    Block,
    /// A list of coordinates and values, sorted before it is appended.
    Staged(Option<crate::lower::write::coo_buffer::Stage>),
    /// A dense workspace of the values of one level.
    Workspace(Option<Workspace>),
    /// A dense workspace of the positions of one level, with blocks of values below.
    Ranked(Option<Workspace>),
    /// Counts of the last level's coordinates for each position above.
    Counted,
}

/// How one level of a result gets its coordinates.
#[derive(Clone, Copy)]
pub(in crate::lower) enum Assembler {
    /// Every coordinate has a place.
    Place,
    /// In order.
    Append(&'static dyn Append),
    /// In any order.
    Insert(&'static dyn Insert),
}

impl Plan {
    /// The number of levels that loops write in order, and the variable of each level.
    pub(in crate::lower) fn in_order(&self) -> Option<(usize, &[IndexVar])> {
        match self {
            Plan::Full | Plan::Placed | Plan::Follow => None,
            Plan::Assemble(assembly) => Some((assembly.in_order, &assembly.vars)),
        }
    }
}

impl Lowerer<'_> {
    /// Decides how the kernel stores its result: in place when every element has a place, appended
    /// when the outermost loops are those of its levels up to the last that is not full, staged
    /// else.
    pub(in crate::lower) fn plan(&self) -> Plan {
        let format = &self.program.storage(self.kernel.result).format;
        let levels = format.levels();
        if self.kernel.kind == Kind::Compute {
            return Plan::Follow;
        }
        if format.is_full() {
            return Plan::Full;
        }
        if format.is_placed() {
            return Plan::Placed;
        }
        let vars = self.level_vars(self.kernel.result);
        let last = (0..levels.len()).rposition(|k| !matches!(self.assembler(k), Assembler::Place));
        let last = last.unwrap_or(0);
        let inserts = (0..levels.len()).any(|k| matches!(self.assembler(k), Assembler::Insert(_)));
        let mut own_loops = vars.clone();
        let in_order = match inserts {
            true => 0,
            false => {
                let mut loops = outer_loops(&self.kernel.body);
                own_loops[0] = self.join_tiles(&mut loops, vars[0]).unwrap_or(vars[0]);
                let ordered = vars.iter().zip(&loops).take_while(|(a, b)| a == b);
                ordered.take_while(|(v, _)| !self.is_unordered(**v)).count()
            }
        };
        // What is added up in loops below the last level can only be appended once it is complete.
        let in_order = match last + 1 == levels.len() && self.accumulates() {
            true => in_order.min(last),
            false => in_order,
        };
        let (in_order, rest) = match in_order > last {
            true => (last + 1, Rest::Block),
            // A chain is written as a whole.
            false => {
                let first = format.chain_head(in_order);
                (first, self.gathering(first))
            }
        };
        let next = vec![None; levels.len()];
        Plan::Assemble(Assembly { vars, loops: own_loops, in_order, rest, next, touched: None })
    }

    /// Puts a variable in the place of the outermost loops if it ascends in these: they are over
    /// positions of its coordinates, or over tiles and the places in each, all of them in order; the
    /// loop that gives it its value.
    fn join_tiles(&self, loops: &mut Vec<IndexVar>, var: IndexVar) -> Option<IndexVar> {
        let whole = |k: &usize| self.joined(&loops[..*k]) == Some(var);
        let most = (1..=loops.len()).find(whole)?;
        if loops[..most].iter().any(|v| self.is_unordered(*v)) {
            return None;
        }
        let innermost = loops[most - 1];
        loops.splice(..most, [var]);
        Some(innermost)
    }

    /// The variable that several loops visit in order, as tiles and places in them.
    fn joined(&self, loops: &[IndexVar]) -> Option<IndexVar> {
        let (&outer, inner) = loops.split_first()?;
        let var = match inner.is_empty() {
            true => outer,
            false => self.tiled(outer, self.joined(inner)?)?,
        };
        Some(self.told_by_position(var).unwrap_or(var))
    }

    /// The variable whose coordinates ascend with the positions that another counts.
    fn told_by_position(&self, var: IndexVar) -> Option<IndexVar> {
        let Some(Relation::Position { of, access, level, .. }) = self.program.derived.relation(var)
        else {
            return None;
        };
        let kind = self.program.storage(access.tensor).format.levels()[*level].kind;
        let p = kind.properties();
        let ascends = p.ordered && p.unique && self.program.walk(access, *level) == Walk::AsStored;
        let [of] = of[..] else { return None };
        ascends.then_some(of)
    }

    /// Whether the kernel combines values with what its result holds.
    pub(in crate::lower) fn accumulates(&self) -> bool {
        let mut accumulates = false;
        self.kernel.body.for_each_assign(&mut |lhs, op, _| {
            accumulates |= lhs.tensor == self.kernel.result && op.is_some();
        });
        accumulates
    }

    /// Whether a loop over a variable may visit its coordinates in another order than ascending,
    /// or again.
    pub(in crate::lower) fn is_unordered(&self, var: IndexVar) -> bool {
        let mut hashed = false;
        let mut listed = false;
        for access in distinct(&self.kernel.body) {
            let vars = self.program.level_vars(access.tensor, &access.indices);
            let levels = self.program.storage(access.tensor).format.levels();
            for (k, level) in levels.iter().enumerate().filter(|(k, _)| vars[*k] == var) {
                let p = level.kind.properties();
                let reversed = self.program.walk(&access, k) == Walk::OutOfOrder;
                match (p.full, level.kind.locates()) {
                    (true, _) => {}
                    (_, true) => hashed |= !p.ordered || reversed,
                    (_, false) if self.only_alone(level.kind) || reversed => return true,
                    (_, false) => listed = true,
                }
            }
        }
        hashed && !listed
    }

    /// How a level of the result gets its coordinates.
    pub(in crate::lower) fn assembler(&self, k: usize) -> Assembler {
        let format = &self.program.storage(self.kernel.result).format;
        let kind = format.levels()[k].kind;
        let chained = format.chain_head(k) < k;
        match (kind.format().insert(), kind.format().append()) {
            _ if kind.properties().full => Assembler::Place,
            (Some(insert), Some(append)) => match chained {
                true => Assembler::Append(append),
                false => Assembler::Insert(insert),
            },
            (Some(insert), None) => Assembler::Insert(insert),
            (None, Some(append)) => Assembler::Append(append),
            (None, None) => Assembler::Place,
        }
    }

    /// The index variable of each level of a tensor by its own modes.
    pub(in crate::lower) fn level_vars(&self, tensor: tamis_ir::ids::TensorId) -> Vec<IndexVar> {
        self.program.level_vars(tensor, &self.program.tensors[tensor].modes)
    }
}

/// The loops around the assignment of the result, outermost first.
pub(in crate::lower) fn outer_loops(s: &Stmt) -> Vec<IndexVar> {
    match s {
        Stmt::Forall { var, body } => {
            let mut loops = vec![*var];
            loops.extend(outer_loops(body));
            loops
        }
        Stmt::Where { consumer, .. } => outer_loops(consumer),
        Stmt::Sequence(_) | Stmt::Assign { .. } | Stmt::Within { .. } => vec![],
    }
}

impl Lowerer<'_> {
    pub(in crate::lower) fn assignment(
        &mut self,
        lhs: &Access,
        op: Option<ReduceOp>,
        rhs: &notation::Expr,
        scope: &Scope,
    ) -> Code {
        let mut stmts = self.noticed(lhs.tensor);
        let value = self.value(rhs, scope, &mut stmts);
        let value = self.as_often(lhs.tensor, op, value, &mut stmts);
        if matches!(self.program.tensors[lhs.tensor].role, Role::Register(_)) {
            let held = self.register(lhs.tensor);
            let value = match op {
                Some(op) => self.combined(op, held.value(), value, &mut stmts),
                None => value,
            };
            stmts.extend(self.assigned(held, value));
            return Code { stmts, covers: false };
        }
        if self.is_workspace(lhs.tensor) {
            let code = self.write_local(lhs, op, value, scope);
            return Code { stmts: [stmts, code.stmts].concat(), ..code };
        }
        let (mut scope, added) = (scope.clone(), self.adding(op, rhs));
        match &self.plan.clone() {
            Plan::Full | Plan::Placed => {
                let position = self.block_position(int(0), 0, &mut scope, &mut stmts);
                stmts.extend(self.written(lhs, position, added, value, &scope));
            }
            Plan::Assemble(Assembly { in_order, rest: Rest::Block, vars, touched, .. }) => {
                let parent = scope.result.position.clone();
                let position = self.block_position(parent, *in_order, &mut scope, &mut stmts);
                match *in_order == vars.len() {
                    true => stmts.extend(self.append_leaf(position, value, &scope)),
                    false => stmts.extend(self.written(lhs, position, added, value, &scope)),
                }
                stmts.extend(touched.map(|touched| assign(touched, int(1))));
            }
            Plan::Assemble(Assembly { rest: Rest::Staged(stage), .. }) => {
                let stage = stage.as_ref().expect("the stage is declared before its loops");
                let value = self.reduced(op, value);
                stmts.extend(self.push(stage, value, &mut scope));
            }
            Plan::Assemble(Assembly { rest: Rest::Workspace(_), .. }) => {
                let value = self.reduced(op, value);
                stmts.extend(self.gathered(value, &mut scope));
            }
            Plan::Assemble(Assembly { rest: Rest::Ranked(_), .. }) => {
                stmts.extend(self.by_rank(op, value, &mut scope));
            }
            Plan::Assemble(Assembly { rest: Rest::Counted, .. }) => {
                stmts.extend(self.by_count(value, &mut scope));
            }
            Plan::Follow => {
                let position = self.known_position(lhs, &mut scope, &mut stmts);
                stmts.extend(self.written(lhs, position, added, value, &scope));
            }
        }
        Code { stmts, covers: added.is_none() }
    }

    /// Appends a value at the next position of the last level.
    fn append_leaf(&mut self, position: Expr, value: Value, scope: &Scope) -> Vec<ir::Stmt> {
        let vars = self.level_vars(self.kernel.result);
        let k = vars.len() - 1;
        if !matches!(self.assembler(k), Assembler::Append(_)) {
            return self.write(position, None, value);
        }
        let (lo, hi) = (position.clone(), add(position.clone(), int(1)));
        let mut stmts = self.open_below(k, lo, hi);
        stmts.extend(self.write(position, None, value));
        stmts.extend(self.keep(k, &|l| Expr::Var(scope.bound[&vars[l]])));
        stmts
    }

    /// The position of the bound coordinates below a position of the result, by `locate`; levels
    /// that know which coordinates are present learn of these.
    pub(in crate::lower) fn block_position(
        &mut self,
        position: Expr,
        from: usize,
        scope: &mut Scope,
        stmts: &mut Vec<ir::Stmt>,
    ) -> Expr {
        let result = self.kernel.result;
        let arrays = self.arrays(result);
        let vars = self.level_vars(result);
        let levels = self.program.storage(result).format.levels();
        (from..levels.len()).fold(position, |position, k| {
            let coordinate = self.coordinate(vars[k], scope, stmts);
            let coordinate = Expr::Var(coordinate.expect("all modes of a result are bound"));
            let level = &arrays.levels[k];
            if let Assembler::Insert(insert) = self.assembler(k) {
                let at =
                    insert.insert_position(level, position, coordinate.clone(), &mut self.builder);
                stmts.extend(at.stmts);
                stmts.extend(insert.insert_coord(level, at.position.clone(), coordinate));
                return at.position;
            }
            let located = levels[k].kind.locate(level, position, coordinate, &mut self.builder);
            located.expect("levels in a block are full").position
        })
    }

    /// `vals[position] = value`, or combined with what is there.
    pub(in crate::lower) fn write(
        &mut self,
        position: Expr,
        op: Option<ReduceOp>,
        value: Value,
    ) -> Vec<ir::Stmt> {
        let vals = self.arrays(self.kernel.result).vals;
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

    /// Stores a value of the compute type, checked to fit the array's data type.
    fn narrowed(&mut self, vals: Vals, position: Expr, value: Value) -> Vec<ir::Stmt> {
        let elem = self.builder.arrays[vals.arrays()[0]].elem;
        let from = self.facts.register();
        let to = elem.register();
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

    /// The constant that elements have before the first value is written.
    pub(in crate::lower) fn initial(&self) -> Scalar {
        self.initial_as(self.program.storage(self.kernel.result).datatype)
    }

    /// The same in another type.
    pub(in crate::lower) fn initial_as(&self, datatype: DataType) -> Scalar {
        let mut initial = self.program.storage(self.kernel.result).fill.computed(datatype);
        self.kernel.body.for_each_assign(&mut |lhs, op, _| {
            let identity = op.and_then(|op| self.program.identity(op, self.facts.compute));
            if let (true, Some(identity)) = (lhs.tensor == self.kernel.result, identity) {
                initial = identity.computed(datatype);
            }
        });
        initial
    }

    /// What runs before the loops.
    pub(in crate::lower) fn before_result(&mut self, covered: bool) -> Vec<ir::Stmt> {
        let arrays = self.arrays(self.kernel.result);
        let elsewhere = self.sums_elsewhere();
        match &self.plan {
            // The identity of an operator may be beyond the narrow type of the elements.
            Plan::Full | Plan::Follow if elsewhere => vec![],
            Plan::Full if covered && self.has_plain_modes() => vec![],
            Plan::Full if self.shares_result() => self.filled_part(),
            Plan::Full => {
                let sizes = arrays.levels.iter().map(|l| l.size.clone());
                let size = sizes.fold(int(1), mul);
                let initial = self.initial();
                self.filled(arrays.vals, int(0), size, initial)
            }
            Plan::Follow if covered && self.has_plain_modes() => vec![],
            Plan::Follow if self.shares_result() => self.filled_part(),
            Plan::Follow => {
                let levels = 0..arrays.levels.len();
                let size = self.positions_at(self.kernel.result, levels, int(1));
                let initial = self.initial();
                self.filled(arrays.vals, int(0), size, initial)
            }
            Plan::Placed => self.open_root(),
            Plan::Assemble(Assembly { in_order: 0, rest: Rest::Staged(_), .. })
            | Plan::Assemble(Assembly { rest: Rest::Counted, .. }) => vec![],
            Plan::Assemble(_) => {
                let mut stmts = self.open_root();
                stmts.extend(self.expected_room());
                stmts
            }
        }
    }

    /// Whether the levels of the result are its modes, so that its elements are all there is.
    pub(in crate::lower) fn has_plain_modes(&self) -> bool {
        let levels = self.program.storage(self.kernel.result).format.levels();
        levels.iter().all(|l| matches!(l.map, LevelMap::Mode(_)) && !l.kind.properties().branchless)
    }

    /// What runs after the loops.
    pub(in crate::lower) fn after_result(&mut self) -> Vec<ir::Stmt> {
        match &self.plan {
            Plan::Full | Plan::Placed | Plan::Follow => vec![],
            Plan::Assemble(Assembly { rest: Rest::Counted, .. }) => vec![],
            Plan::Assemble(_) => self.finalize_levels(),
        }
    }

    /// Ends the call if a position does not fit the result's index width.
    pub(in crate::lower) fn check_position(&self, array: Array, position: Expr) -> Vec<ir::Stmt> {
        if self.builder.arrays[array].elem != DataType::I32 {
            return vec![];
        }
        let beyond = binary(BinaryOp::Gt, position, int(i64::from(i32::MAX)));
        vec![when(beyond, vec![ir::Stmt::Fail(Status::PositionOverflow)])]
    }

    /// `var = var + 1`.
    pub(in crate::lower) fn advance(&self, var: Var) -> ir::Stmt {
        assign(var, add(Expr::Var(var), int(1)))
    }
}

/// When a value of a register type fits the elements of an array, so that a NaN fails.
fn fitting(elem: DataType, value: &Expr, from: Register) -> Vec<Expr> {
    let Some(held) = elem.integers() else { return vec![] };
    let is = |op, bound: Scalar| binary(op, value.clone(), Expr::Const(bound.convert(from)));
    let beyond = held.end() + 1;
    let Some(all) = from.datatype().integers() else {
        // What is above -1 is 0 without its fraction.
        let least = match *held.start() {
            0 => is(BinaryOp::Gt, Scalar::F64(-1.0)),
            least => is(BinaryOp::Ge, Scalar::F64(least as f64)),
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
