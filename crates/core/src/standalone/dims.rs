//! Code for the dimensions of index variables, from those of operands, which have to agree.

use super::{Given, unknown};
use crate::cin::{self, BoundType, Relation, Role, Root, Scale};
use crate::notation::{Access, Program};
use crate::schedule::bound::{counted, parts_around};
use std::collections::BTreeMap;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::diagnostic::Diagnostic;
use tamis_ir::ids::{Id, IdVec, IndexVar, TensorId};
use tamis_ir::ir::build::{binary, int, when};
use tamis_ir::ir::{Expr, Status, Stmt};

/// The known dimensions.
pub(super) struct Dims {
    /// Those of index variables; variables of the notation come first.
    vars: IdVec<IndexVar, Option<Expr>>,
    /// Those of tensors of the notation.
    tensors: BTreeMap<TensorId, Vec<Expr>>,
}

impl Dims {
    /// The dimensions of a program, and tests that they agree. Operands have known dimensions, and index variables
    /// whose dimension does not follow have a `size`.
    pub(super) fn of(
        program: &Program,
        given: &Given,
        operands: Vec<(TensorId, Vec<Expr>)>,
        size: &mut dyn FnMut(&str) -> Expr,
    ) -> Result<(Dims, Vec<Stmt>), Diagnostic> {
        let constant = |d: u64| int(d as i64);
        let mut tensors = BTreeMap::new();
        for (&id, dims) in &given.tensors {
            tensors.insert(id, dims.iter().map(|&d| constant(d)).collect());
        }
        tensors.extend(operands);
        let mut vars: IdVec<IndexVar, Option<Expr>> = program.vars.iter().map(|_| None).collect();
        for (&var, &dimension) in &given.vars {
            vars[var] = Some(constant(dimension));
        }
        let free = Dims { vars: vars.clone(), tensors: tensors.clone() }.free(program);
        for var in free {
            vars[var] = Some(size(&program.vars[var].name));
        }
        let mut dims = Dims { vars, tensors };
        let mut checks = vec![];
        dims.learn_all(program, &mut checks);
        let is_unknown = |a: &&Access| !dims.tensors.contains_key(&a.tensor);
        if let Some(result) = program.statements.iter().map(|s| &s.result).find(is_unknown) {
            return Err(unknown(program, result));
        }
        Ok((dims, checks))
    }

    /// The index variables whose dimension does not follow.
    fn free(mut self, program: &Program) -> Vec<IndexVar> {
        self.learn_all(program, &mut vec![]);
        let named = |var: &IndexVar| !program.vars[*var].name.is_empty();
        let free = self.vars.enumerate().filter(|(_, d)| d.is_none()).map(|(var, _)| var);
        free.filter(named).collect()
    }

    fn learn_all(&mut self, program: &Program, checks: &mut Vec<Stmt>) {
        for statement in &program.statements {
            for access in statement.value.accesses() {
                self.learn(access, checks);
            }
            let result = &statement.result;
            self.learn(result, checks);
            let dims: Option<Vec<Expr>> =
                result.indices.iter().map(|&v| self.vars[v].clone()).collect();
            if let (Some(dims), false) = (dims, result.is_sliced()) {
                self.tensors.entry(result.tensor).or_insert(dims);
            }
        }
    }

    /// Derives dimensions of variables from a use of a tensor.
    fn learn(&mut self, access: &Access, checks: &mut Vec<Stmt>) {
        let Some(dims) = self.tensors.get(&access.tensor).cloned() else { return };
        let refuse = |cond: Expr| when(cond, vec![Stmt::Fail(Status::Dimensions)]);
        for (mode, (&var, mut dimension)) in access.indices.iter().zip(dims).enumerate() {
            if let Some(slicing) = access.slicing(mode) {
                if let Some(member) = slicing.slice().largest_member() {
                    let beyond = binary(BinaryOp::Le, dimension.clone(), int(member as i64));
                    checks.push(refuse(beyond));
                }
                dimension = slicing.slice().count(dimension);
            }
            match &self.vars[var] {
                Some(known) if *known == dimension => {}
                Some(known) => {
                    checks.push(refuse(binary(BinaryOp::Ne, known.clone(), dimension)));
                }
                None => self.vars[var] = Some(dimension),
            }
        }
    }

    /// Tests promises of a schedule about dimensions, and that loops over fused coordinates count fewer than 2^63, as
    /// [`check_dimensions`](crate::schedule::check_dimensions) does for calls.
    pub(super) fn promises(&self, program: &cin::Program) -> Vec<Stmt> {
        let derived = &program.derived;
        let counted = counted(program);
        let size = |var: IndexVar| {
            let scale = Scale::of(derived, var)?;
            let Root::Coordinates(root) = scale.root else { return None };
            Some(scale.count(self.of_var(program, root), &|v| self.of_var(program, v)))
        };
        let mut broken = vec![];
        for (var, relation) in derived.relations() {
            match *relation {
                Relation::Same { of, bound: Some(BoundType::Most(most)) } => {
                    broken.extend(size(of).map(|n| binary(BinaryOp::Lt, int(most as i64), n)));
                }
                Relation::Same { of, bound: Some(BoundType::Exact(exact)) } => {
                    broken.extend(size(of).map(|n| binary(BinaryOp::Ne, n, int(exact as i64))));
                    for (split, parts) in parts_around(program, var, of) {
                        let rest = |n| binary(BinaryOp::Mod, n, int(parts as i64));
                        let rest = size(split).map(rest);
                        broken.extend(rest.map(|rest| binary(BinaryOp::Ne, rest, int(0))));
                    }
                }
                Relation::Fused { outer, inner } if counted.contains(&var) => {
                    let most = |n| {
                        let one = binary(BinaryOp::Max, n, int(1));
                        binary(BinaryOp::Div, int(i64::MAX), one)
                    };
                    let sizes = size(outer).zip(size(inner).map(most));
                    broken.extend(sizes.map(|(n, most)| binary(BinaryOp::Lt, most, n)));
                }
                _ => {}
            }
        }
        broken
            .into_iter()
            .map(|is_broken| when(is_broken, vec![Stmt::Fail(Status::Dimensions)]))
            .collect()
    }

    /// The dimension of a variable of the compiled program: a variable of the compiler has the dimension of another
    /// one, of a mode, or of a loop of the schedule.
    pub(super) fn of_var(&self, program: &cin::Program, var: IndexVar) -> Expr {
        if let Some(Some(known)) = self.vars.get(var) {
            return known.clone();
        }
        if self.vars.get(var).is_some() {
            return int(0);
        }
        let alias = program.derived.alias(var);
        match program.derived.mode(var) {
            Some((tensor, mode)) => self.tensors[&tensor][mode.index()].clone(),
            None if alias != var => self.of_var(program, alias),
            None => self.of_scheduled(program, var),
        }
    }

    /// The dimension of a variable that a schedule made, if it is one of a temporary.
    fn of_scheduled(&self, program: &cin::Program, var: IndexVar) -> Expr {
        let stored = |t: &cin::Tensor| t.role == Role::Temporary && t.modes.contains(&var);
        let scale = Scale::of(&program.derived, var);
        match scale.filter(|_| program.tensors.iter().any(stored)) {
            Some(scale) => match scale.root {
                Root::Coordinates(of) if of != var => {
                    scale.extent(self.of_var(program, of), &|v| self.of_var(program, v))
                }
                _ => int(0),
            },
            None => int(0),
        }
    }
}
