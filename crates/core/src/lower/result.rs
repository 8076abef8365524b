//! Writing results: where an assignment stores its value, and what happens before and after.

use super::{Code, Lowerer, Scope};
use crate::algebra::{BinaryOp, ReduceOp};
use crate::cin::{Kernel, Program, Role, Stmt};
use crate::datatype::{DataType, Register, Scalar};
use crate::ids::{Array, Id, IndexVar, Var};
use crate::ir::build::{add, assign, binary, int, mul, store, when};
use crate::ir::{self, Expr, Status};
use crate::notation::{self, Access};

/// How the result of a kernel is stored.
#[derive(Clone)]
pub(super) enum Plan {
    /// Every element has a place from the beginning.
    Full,
    /// Levels are appended.
    Assemble(Assembly),
}

/// How a result with appended levels is written.
#[derive(Clone)]
pub(super) struct Assembly {
    /// The index variable of each level.
    pub(super) vars: Vec<IndexVar>,
    /// So many leading levels are written in order by the outermost loops.
    pub(super) in_order: usize,
    /// Whether the remaining levels are located within a block of values, or staged.
    pub(super) rest: Rest,
    /// The next free position of each appended level.
    pub(super) next: Vec<Option<Var>>,
}

/// What holds the levels of a result that the loops do not write in order.
#[derive(Clone)]
pub(super) enum Rest {
    /// A block of values under each position of the last level in order, found by `locate`.
    Block,
    /// A list of coordinates and values, sorted before it is appended.
    Staged(Option<super::stage::Stage>),
}

impl Plan {
    /// The number of levels that loops write in order, and the variable of each level.
    pub(super) fn in_order(&self) -> Option<(usize, &[IndexVar])> {
        match self {
            Plan::Full => None,
            Plan::Assemble(assembly) => Some((assembly.in_order, &assembly.vars)),
        }
    }
}

/// Decides how a kernel stores its result: in place when every element has a place, appended when
/// the outermost loops are those of its levels up to the last that is not full, staged else.
pub(super) fn plan(program: &Program, kernel: &Kernel) -> Plan {
    let tensor = &program.tensors[kernel.result];
    let levels = tensor.storage.format.levels();
    let Some(last) = levels.iter().rposition(|l| !l.kind.properties().full) else {
        return Plan::Full;
    };
    let vars: Vec<IndexVar> = levels.iter().map(|l| tensor.modes[l.mode.index()]).collect();
    let loops = outer_loops(&kernel.body);
    let in_order = vars.iter().zip(&loops).take_while(|(a, b)| a == b).count();
    let (in_order, rest) = match in_order > last {
        true => (last + 1, Rest::Block),
        false => (in_order, Rest::Staged(None)),
    };
    let next = vec![None; levels.len()];
    Plan::Assemble(Assembly { vars, in_order, rest, next })
}

/// The loops around the assignment of the result, outermost first.
fn outer_loops(s: &Stmt) -> Vec<IndexVar> {
    match s {
        Stmt::Forall { var, body } => {
            let mut loops = vec![*var];
            loops.extend(outer_loops(body));
            loops
        }
        Stmt::Where { consumer, .. } => outer_loops(consumer),
        Stmt::Assign { .. } => vec![],
    }
}

impl Lowerer<'_> {
    pub(super) fn assignment(
        &mut self,
        lhs: &Access,
        op: Option<ReduceOp>,
        rhs: &notation::Expr,
        scope: &Scope,
    ) -> Code {
        let mut stmts = vec![];
        let value = self.value(rhs, scope, &mut stmts);
        if matches!(self.program.tensors[lhs.tensor].role, Role::Register(_)) {
            let var = self.register(lhs.tensor);
            let value = match op {
                Some(op) => self.combined(op, Expr::Var(var), value, &mut stmts),
                None => value,
            };
            stmts.push(assign(var, value));
            return Code { stmts, covers: false };
        }
        let plan = self.plan.clone();
        match &plan {
            Plan::Full => {
                let position = self.block_position(int(0), 0, scope);
                stmts.extend(self.write(position, op, value));
            }
            Plan::Assemble(Assembly { in_order, rest: Rest::Block, vars, .. }) => {
                let position = self.block_position(scope.result.position.clone(), *in_order, scope);
                match *in_order == vars.len() {
                    true => stmts.extend(self.append_leaf(&plan, position, value, scope)),
                    false => stmts.extend(self.write(position, op, value)),
                }
            }
            Plan::Assemble(Assembly { rest: Rest::Staged(stage), .. }) => {
                let stage = stage.as_ref().expect("the stage is declared before its loops");
                stmts.extend(self.push(stage, value, scope));
            }
        }
        Code { stmts, covers: op.is_none() }
    }

    /// Appends a value at the next position of the last level.
    fn append_leaf(
        &mut self,
        assembly: &Plan,
        position: Expr,
        value: Expr,
        scope: &Scope,
    ) -> Vec<ir::Stmt> {
        let Some((levels, vars)) = assembly.in_order() else { return vec![] };
        let k = levels - 1;
        let coordinate = Expr::Var(scope.bound[&vars[k]]);
        let mut stmts = self.open(k, position.clone());
        stmts.extend(self.write(position, None, value));
        stmts.extend(self.keep(k, coordinate));
        stmts
    }

    /// The position of the bound coordinates below a position of the result, by `locate`.
    fn block_position(&mut self, position: Expr, from: usize, scope: &Scope) -> Expr {
        let result = self.kernel.result;
        let arrays = self.arrays(result);
        let vars = self.level_vars(result);
        let levels = self.program.storage(result).format.levels();
        (from..levels.len()).fold(position, |position, k| {
            let coordinate = Expr::Var(scope.bound[&vars[k]]);
            let located = levels[k].kind.locate(&arrays.levels[k], position, coordinate);
            located.expect("levels in a block are full")
        })
    }

    /// `vals[position] = value`, or combined with what is there.
    pub(super) fn write(
        &mut self,
        position: Expr,
        op: Option<ReduceOp>,
        value: Expr,
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
    fn narrowed(&mut self, vals: Array, position: Expr, value: Expr) -> Vec<ir::Stmt> {
        let elem = self.builder.arrays[vals].elem;
        let from = self.facts.register;
        let to = elem.register();
        match elem {
            DataType::Bool => {
                let truth = Expr::Convert(Register::Bool, Box::new(value));
                vec![store(vals, position, Expr::Convert(Register::I64, Box::new(truth)))]
            }
            DataType::I32 | DataType::I64 if from != Register::I64 || elem == DataType::I32 => {
                let ty = ir::Type::scalar(from);
                let var = self.builder.var("value", ty);
                let held = || Expr::Var(var);
                let (least, most) = integer_range(elem, from);
                // The conditions are so that a NaN fails them.
                let fits = ir::build::all([
                    binary(BinaryOp::Ge, held(), Expr::Const(least)),
                    binary(BinaryOp::Lt, held(), Expr::Const(most)),
                ]);
                let stored = if from == to {
                    held()
                } else {
                    Expr::Convert(Register::I64, Box::new(held()))
                };
                let fail = vec![ir::Stmt::Fail(Status::IntegerOverflow)];
                vec![
                    assign(var, value),
                    ir::Stmt::If {
                        cond: fits,
                        then: vec![store(vals, position, stored)],
                        otherwise: fail,
                    },
                ]
            }
            _ if from == to => vec![store(vals, position, value)],
            _ => vec![store(vals, position, Expr::Convert(to, Box::new(value)))],
        }
    }

    /// The constant that elements have before the first value is written.
    pub(super) fn initial(&self) -> Scalar {
        let storage = self.program.storage(self.kernel.result);
        let mut initial = storage.fill;
        self.kernel.body.for_each_assign(&mut |lhs, op, _| {
            let identity = op.and_then(|op| self.program.identity(op, self.facts.register));
            if let (true, Some(identity)) = (lhs.tensor == self.kernel.result, identity) {
                initial = identity.convert(storage.datatype.register());
            }
        });
        initial
    }

    /// What runs before the loops.
    pub(super) fn before_result(&mut self, covered: bool) -> Vec<ir::Stmt> {
        match &self.plan {
            Plan::Full if covered => {
                self.arrays(self.kernel.result);
                vec![]
            }
            Plan::Full => {
                let arrays = self.arrays(self.kernel.result);
                let sizes = arrays.levels.iter().map(|l| Expr::Var(l.size));
                let size = sizes.fold(int(1), mul);
                let value = Expr::Const(self.initial());
                vec![ir::Stmt::Fill { array: arrays.vals, lo: int(0), hi: size, value }]
            }
            Plan::Assemble(_) => self.init_levels(),
        }
    }

    /// What runs after the loops.
    pub(super) fn after_result(&mut self) -> Vec<ir::Stmt> {
        match &self.plan {
            Plan::Full => vec![],
            Plan::Assemble(_) => self.finalize_levels(),
        }
    }

    /// Ends the call if a position does not fit the result's index width.
    pub(super) fn check_position(&self, array: Array, position: Expr) -> Vec<ir::Stmt> {
        if self.builder.arrays[array].elem != DataType::I32 {
            return vec![];
        }
        let beyond = binary(BinaryOp::Gt, position, int(i64::from(i32::MAX)));
        vec![when(beyond, vec![ir::Stmt::Fail(Status::PositionOverflow)])]
    }

    /// `var = var + 1`.
    pub(super) fn advance(&self, var: Var) -> ir::Stmt {
        assign(var, add(Expr::Var(var), int(1)))
    }
}

/// The least value of an integer type, and the first beyond it, in the type `from`.
fn integer_range(elem: DataType, from: Register) -> (Scalar, Scalar) {
    let (least, most) = match elem {
        DataType::I32 => (f64::from(i32::MIN), f64::from(i32::MAX) + 1.0),
        _ => (-(2f64.powi(63)), 2f64.powi(63)),
    };
    (Scalar::F64(least).convert(from), Scalar::F64(most).convert(from))
}
