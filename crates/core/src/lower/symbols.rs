//! Names and sizes of tensors, dimensions and index variables in code; they are declared on first use.
//!
//! ```text
//! A: csr      A1_size, A2_pos, A2_crd, A_vals      i, j: variables; pA2: the position of A(i,j) in its second level
//! ```

use super::builder::TensorArrays;
use super::expression::{Operands, value};
use super::scope::Scope;
use super::value::{Held, Vals, Value};
use super::values::{Values, convert};
use crate::format::open::extent;
use crate::level::LevelArrays;
use crate::notation::{self, Access, Slicing, Within};
use crate::plan::ResultLevels;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use tamis_ir::datatype::Scalar;
use tamis_ir::ids::{Id, IndexVar, Mode, TensorId, Var};
use tamis_ir::ir::build::{assign, int};
use tamis_ir::ir::{self, Expr};

/// The function so far, and the names declared in it.
pub(super) struct Symbols<'p> {
    pub(super) values: Values<'p>,
    pub(super) tensors: BTreeMap<TensorId, TensorArrays>,
    pub(super) dims: BTreeMap<IndexVar, Var>,
    pub(super) vars: BTreeMap<IndexVar, Var>,
    registers: BTreeMap<TensorId, Held>,
    /// The flags of temporaries that may be empty reductions.
    anys: BTreeMap<TensorId, Var>,
    positions: BTreeMap<Place, Var>,
}

/// A level of a use of a tensor.
type Place = (TensorId, Vec<IndexVar>, BTreeMap<Mode, Slicing>, usize);

impl<'p> Deref for Symbols<'p> {
    type Target = Values<'p>;

    fn deref(&self) -> &Values<'p> {
        &self.values
    }
}

impl<'p> DerefMut for Symbols<'p> {
    fn deref_mut(&mut self) -> &mut Values<'p> {
        &mut self.values
    }
}

impl<'p> Symbols<'p> {
    pub(super) fn new(values: Values<'p>) -> Symbols<'p> {
        Symbols {
            values,
            tensors: BTreeMap::new(),
            dims: BTreeMap::new(),
            vars: BTreeMap::new(),
            registers: BTreeMap::new(),
            anys: BTreeMap::new(),
            positions: BTreeMap::new(),
        }
    }
}

impl<'p> Symbols<'p> {
    /// The variables that hold a register tensor.
    pub(super) fn register(&mut self, tensor: TensorId) -> Held {
        if let Some(&held) = self.registers.get(&tensor) {
            return held;
        }
        let name = self.program.tensors[tensor].name.clone();
        let is_complex = self.program.storage(tensor).datatype.is_complex();
        let held = self.held_vars(&name, is_complex);
        self.registers.insert(tensor, held);
        held
    }

    /// Another variable for the value of an index variable.
    pub(super) fn index_temp(&mut self, var: IndexVar) -> Var {
        let name = self.program.vars[var].clone();
        self.temp(&name)
    }

    /// The variable that holds the value of an index variable.
    pub(super) fn index(&mut self, var: IndexVar) -> Var {
        if let Some(&known) = self.vars.get(&var) {
            return known;
        }
        let name = self.program.vars[var].clone();
        let fresh = self.values.builder.var(&name, ir::Type::INDEX);
        self.vars.insert(var, fresh);
        fresh
    }

    /// The parameter with the dimension of an index variable, named `A2_size` after a level that stores the variable.
    pub(super) fn dim(&mut self, var: IndexVar) -> Var {
        let var = self.program.derived.alias(var);
        if let Some(&known) = self.dims.get(&var) {
            return known;
        }
        let result = &self.program.tensors[self.kernel.result];
        let written = (self.kernel.result, result.modes.as_slice());
        let reads = self.kernel.body.reads();
        // The variable of a slice has the dimension of the slice, not of the tensor's mode.
        let whole = |a: &&&Access| a.slices.is_empty();
        let own = |a: &&Access| (a.tensor, self.program.tensors[a.tensor].modes.as_slice());
        let uses = reads.iter().filter(whole).map(|a| (a.tensor, a.indices.as_slice()));
        let sliced = reads.iter().filter(|a| !whole(a)).map(own);
        let name = uses
            .chain(sliced)
            .chain([written])
            .filter_map(|(tensor, vars)| {
                let levels = self.program.level_vars(tensor, vars);
                let level = levels.iter().position(|&v| v == var)?;
                Some(format!("{}{}_size", self.program.tensors[tensor].name, level + 1))
            })
            .next()
            .unwrap_or_else(|| format!("{}_size", self.program.vars[var]));
        let fresh = self.values.builder.dimension(&name, var);
        self.dims.insert(var, fresh);
        fresh
    }

    /// The arrays of a tensor, declared on first use.
    pub(super) fn arrays(&mut self, tensor: TensorId) -> TensorArrays {
        self.arrays_in(tensor, &Scope::default())
    }

    /// The arrays of the result.
    pub(super) fn result(&mut self) -> TensorArrays {
        self.arrays(self.kernel.result)
    }

    /// The levels of the result.
    pub(super) fn levels(&self) -> ResultLevels<'p> {
        ResultLevels(&self.program.storage(self.kernel.result).format)
    }

    /// The index variable of each level of the result.
    pub(super) fn result_vars(&self) -> Vec<IndexVar> {
        let result = self.kernel.result;
        self.program.level_vars(result, &self.program.tensors[result].modes)
    }

    /// The arrays of a tensor, declared in a scope with enough known variables.
    pub(super) fn arrays_in(&mut self, tensor: TensorId, scope: &Scope) -> TensorArrays {
        if let Some(known) = self.tensors.get(&tensor) {
            return known.clone();
        }
        let result = (tensor == self.kernel.result).then_some(self.kernel.kind);
        let declared = &self.program.tensors[tensor];
        let mut arrays = match self.program.is_workspace(tensor) {
            true => self.values.builder.workspace(declared),
            false => self.values.builder.tensor(tensor, declared, result),
        };
        if let (true, Some(_), Vals::Real(vals)) = (declared.streamed, result, arrays.vals) {
            self.values.builder.arrays[vals].streamed = true;
        }
        for k in 0..arrays.levels.len() {
            let (least, size) = self.extent(tensor, k, &arrays.levels[k], scope);
            arrays.levels[k].least = least;
            arrays.levels[k].size = size;
        }
        if self.program.is_workspace(tensor) {
            self.allocate_local(tensor, &arrays);
        }
        if let (Some(like), true) = (self.planner().like(), result.is_some()) {
            let levels = self.arrays(like.operand).levels;
            arrays.levels[..like.levels].clone_from_slice(&levels[..like.levels]);
        }
        self.tensors.insert(tensor, arrays.clone());
        arrays
    }

    /// The lowest coordinate of a level, and the number of coordinates.
    pub(super) fn extent(
        &mut self,
        tensor: TensorId,
        k: usize,
        level: &LevelArrays,
        scope: &Scope,
    ) -> (Expr, Expr) {
        let declared = &self.program.tensors[tensor];
        let spec = declared.storage.format.levels()[k];
        let is_own = self.program.is_workspace(tensor);
        let mut dimension = |m: Mode| match declared.modes[m.index()] {
            mode if is_own => self.elements(mode, scope),
            mode => self.size(mode, scope),
        };
        let mut slots = || level.width();
        let (least, size) = extent::<Mode, Expr>(spec.map, &mut dimension, &mut slots);
        let name = format!("{}{}", declared.name, k + 1);
        let mut named = |e: Expr, suffix: &str| match e {
            Expr::Const(_) | Expr::Var(_) | Expr::Load { .. } => e,
            e => {
                let var = self.values.builder.var(&format!("{name}_{suffix}"), ir::Type::INDEX);
                self.values.builder.prologue.push(assign(var, e));
                Expr::Var(var)
            }
        };
        (named(least, "least"), named(size, "size"))
    }

    /// The variable `pA2` for the position of an access at a level.
    pub(super) fn position_var(&mut self, access: &Access, level: usize) -> Var {
        let key = (access.tensor, access.indices.clone(), access.slices.clone(), level);
        if let Some(&known) = self.positions.get(&key) {
            return known;
        }
        let name = format!("p{}{}", self.program.tensors[access.tensor].name, level + 1);
        let var = self.temp(&name);
        self.positions.insert(key, var);
        var
    }

    /// A flag that tells whether a temporary was added to; its producer resets it.
    pub(super) fn any_flag(&mut self, tensor: TensorId) -> Var {
        if let Some(&flag) = self.anys.get(&tensor) {
            return flag;
        }
        let name = format!("any_{}", self.program.tensors[tensor].name);
        let flag = self.var(&name, ir::Type::BOOL);
        self.anys.insert(tensor, flag);
        flag
    }

    /// Sets the flag of a temporary: something was added to it.
    pub(super) fn noticed(&self, tensor: TensorId) -> Vec<ir::Stmt> {
        let any = self.anys.get(&tensor);
        any.map(|&any| assign(any, Expr::Const(Scalar::Bool(true)))).into_iter().collect()
    }

    /// Loads operands of order 0, once, before everything else.
    pub(super) fn scalar_operands(&mut self, scalars: &[TensorId]) -> Vec<ir::Stmt> {
        let mut stmts = vec![];
        for &tensor in scalars {
            let vals = self.arrays(tensor).vals;
            let value = self.loaded(vals, int(0));
            let held = self.register(tensor);
            let datatype = self.program.storage(tensor).datatype;
            self.intervals.note(&held.value(), datatype);
            stmts.extend(self.assigned(held, value));
        }
        stmts
    }

    /// The value of an expression at a statement of the loops; statements that compute it are added to `prefix`.
    pub(super) fn value(
        &mut self,
        e: &notation::Expr,
        scope: &Scope,
        prefix: &mut Vec<ir::Stmt>,
    ) -> Value {
        value(&mut Reads { symbols: self, scope }, e, prefix)
    }
}

/// The operands of expressions at a statement of the loops.
struct Reads<'s, 'l, 'p> {
    symbols: &'l mut Symbols<'p>,
    scope: &'s Scope,
}

impl<'p> Operands<'p> for Reads<'_, '_, 'p> {
    fn values(&mut self) -> &mut Values<'p> {
        &mut self.symbols.values
    }

    fn operand(&mut self, e: &notation::Expr, prefix: &mut Vec<ir::Stmt>) -> Value {
        match e {
            notation::Expr::Access(access) if access.indices.is_empty() => {
                self.symbols.register(access.tensor).value()
            }
            notation::Expr::Access(access) => {
                let (stmts, value) = self.symbols.summed(self.scope.reached(access), access);
                prefix.extend(stmts);
                value
            }
            notation::Expr::Index(v) => {
                let register = self.symbols.facts.register();
                convert(register, Expr::Var(self.scope.bound[v])).into()
            }
            _ => unreachable!("loops have no parameters"),
        }
    }

    fn is_within(&mut self, within: &[Within]) -> Expr {
        self.symbols.is_within(within, self.scope)
    }
}
