//! Declarations of a function under construction, with generated names kept unique.

use super::binding::Binding;
use super::value::Vals;
use crate::cin::{KernelKind, Tensor};
use crate::level::{Crd, HashTable, LevelArrays, Names, Part, Scratch};
use std::collections::BTreeMap;
use tamis_ir::algebra::BinaryOp;
use tamis_ir::datatype::DataType;
use tamis_ir::ids::{Array, Id, IdVec, IndexVar, Level, TensorId, Var};
use tamis_ir::ir::build::{UniqueNames, add, assign, binary, int, when};
use tamis_ir::ir::verify::CONSTANTS;
use tamis_ir::ir::{ArrayDecl, ArrayRole, Expr, Param, Status, Stmt, Type, VarDecl};

/// The declarations so far.
pub(super) struct Builder {
    pub(super) name: String,
    pub(super) params: Vec<(Param, Binding)>,
    pub(super) vars: IdVec<Var, VarDecl>,
    pub(super) arrays: IdVec<Array, ArrayDecl>,
    /// Statements that compute sizes of levels from dimensions.
    pub(super) prologue: Vec<Stmt>,
    /// The loop of the kernel that each variable counts or walks, by its name.
    pub(super) loops: BTreeMap<String, IndexVar>,
    names: UniqueNames,
    /// Variables that accompany the variable of a position.
    beside: BTreeMap<(Var, Beside), Var>,
}

/// The meaning of a variable that accompanies a position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Beside {
    /// The end of the walked positions.
    End,
    /// The coordinate at the position.
    Coordinate,
    /// Whether the position has the current coordinate.
    Flag,
    /// The end of the segment: of positions with the same coordinate.
    SegmentEnd,
}

/// The arrays of a tensor under their generated names.
#[derive(Clone)]
pub(super) struct TensorArrays {
    pub(super) levels: Vec<LevelArrays>,
    pub(super) vals: Vals,
}

/// `var = var + 1`.
pub(super) fn advance(var: Var) -> Stmt {
    assign(var, add(Expr::Var(var), int(1)))
}

impl Builder {
    pub(super) fn new(name: &str) -> Builder {
        Builder {
            name: name.to_owned(),
            params: vec![],
            vars: IdVec::new(),
            arrays: IdVec::new(),
            prologue: vec![],
            loops: BTreeMap::new(),
            beside: BTreeMap::new(),
            names: UniqueNames::of(CONSTANTS.iter().copied().chain([name])),
        }
    }

    /// A new variable, with this name if it is free.
    pub(super) fn var(&mut self, name: &str, ty: Type) -> Var {
        let name = self.names.fresh(name);
        self.vars.push(VarDecl::new(&name, ty))
    }

    /// A new index variable of the code.
    pub(super) fn temp(&mut self, name: &str) -> Var {
        self.var(name, Type::INDEX)
    }

    /// A new index variable named after another.
    pub(super) fn temp_of(&mut self, var: Var, suffix: &str) -> Var {
        let temp = self.temp(&format!("{}{suffix}", self.vars[var].name));
        if let Some(&of) = self.loops.get(&self.vars[var].name) {
            self.walks(temp, of);
        }
        temp
    }

    /// Records that a variable counts or walks a loop of the kernel.
    pub(super) fn walks(&mut self, var: Var, of: IndexVar) {
        self.loops.insert(self.vars[var].name.clone(), of);
    }

    pub(super) fn name_of(&self, var: Var) -> String {
        self.vars[var].name.clone()
    }

    /// The variable that accompanies a position, declared under this name on first use.
    pub(super) fn beside(&mut self, position: Var, what: Beside, name: &str) -> Var {
        if let Some(&known) = self.beside.get(&(position, what)) {
            return known;
        }
        let ty = if what == Beside::Flag { Type::BOOL } else { Type::INDEX };
        let var = self.var(name, ty);
        self.beside.insert((position, what), var);
        var
    }

    /// The variable `pA1_segend` for a position variable.
    pub(super) fn segment_end(&mut self, position: Var) -> Var {
        self.beside(position, Beside::SegmentEnd, &format!("{}_segend", self.name_of(position)))
    }

    /// Ends the call if a position does not fit the index width of its array.
    pub(super) fn check_position(&self, array: Array, position: Expr) -> Vec<Stmt> {
        if self.arrays[array].elem != DataType::I32 {
            return vec![];
        }
        let beyond = binary(BinaryOp::Gt, position, int(i64::from(i32::MAX)));
        vec![when(beyond, vec![Stmt::Fail(Status::PositionOverflow)])]
    }

    /// A new array local to the kernel.
    pub(super) fn local(&mut self, name: &str, elem: DataType) -> Array {
        self.own(name, elem, ArrayRole::Local)
    }

    /// A new array local to the kernel, which iterations of its loops share.
    pub(super) fn common(&mut self, name: &str, elem: DataType) -> Array {
        self.own(name, elem, ArrayRole::Common)
    }

    /// A new array local to the kernel, with this role.
    pub(super) fn own(&mut self, name: &str, elem: DataType, role: ArrayRole) -> Array {
        let name = self.names.fresh(name);
        self.arrays.push(ArrayDecl::new(&name, elem, role))
    }

    /// The parameter with the dimension of an index variable.
    pub(super) fn dimension(&mut self, name: &str, var: IndexVar) -> Var {
        let size = self.temp(name);
        self.params.push((Param::Scalar(size), Binding::Dimension(var)));
        size
    }

    /// The parameters of a tensor, which may be the result of a kernel; the caller adds the sizes, for which it needs
    /// dimensions.
    pub(super) fn tensor(
        &mut self,
        id: TensorId,
        tensor: &Tensor,
        result: Option<KernelKind>,
    ) -> TensorArrays {
        let storage = &tensor.storage;
        let (role, role_of_vals) = match result {
            None => (ArrayRole::Input, ArrayRole::Input),
            Some(KernelKind::Compute) => (ArrayRole::Input, ArrayRole::Output),
            Some(_) if storage.format.is_full() => (ArrayRole::Output, ArrayRole::Output),
            Some(_) => (ArrayRole::Result, ArrayRole::Result),
        };
        let mut levels: Vec<LevelArrays> = vec![];
        for (k, spec) in storage.format.levels().iter().enumerate() {
            let level = Level::new(k);
            let mut declare = |part: Part, elem: DataType| {
                spec.has(part).then(|| {
                    let name = format!("{}{}_{}", tensor.name, k + 1, part.name());
                    self.array(&name, elem, role, Binding::Level { tensor: id, level, part })
                })
            };
            let pos = declare(Part::Pos, storage.pos.datatype());
            let width = declare(Part::Width, DataType::I64);
            let mask = declare(Part::Mask, DataType::Bool);
            let crd = match storage.format.interleaved(k) {
                Some((head, shared)) if head < k => {
                    let array = levels[head].crd.map(|crd| crd.array);
                    array.map(|array| shared.of(array))
                }
                Some((_, own)) => {
                    declare(Part::Crd, storage.crd.datatype()).map(|array| own.of(array))
                }
                None => declare(Part::Crd, storage.crd.datatype()).map(|array| Crd {
                    array,
                    stride: 1,
                    offset: 0,
                }),
            };
            levels.push(LevelArrays {
                properties: spec.kind.properties(),
                least: int(0),
                size: int(0),
                pos,
                crd,
                width,
                mask,
                table: None,
            });
        }
        let name = format!("{}_vals", tensor.name);
        let elem = storage.datatype.part();
        let vals = self.array(&name, elem, role_of_vals, Binding::Vals { tensor: id });
        let vals = if storage.datatype.is_complex() { Vals::Pairs(vals) } else { Vals::Real(vals) };
        TensorArrays { levels, vals }
    }

    /// The arrays of a tensor that is local to the kernel.
    pub(super) fn workspace(&mut self, tensor: &Tensor) -> TensorArrays {
        let storage = &tensor.storage;
        let mut levels: Vec<LevelArrays> = vec![];
        for (k, spec) in storage.format.levels().iter().enumerate() {
            let grows = spec.kind.format().scratch().is_some_and(Scratch::grows);
            let table = grows.then(|| self.table(tensor, k));
            let mut declare = |part: Part, elem: DataType| {
                let name = format!("{}{}_{}", tensor.name, k + 1, part.name());
                spec.has(part).then(|| self.local(&name, elem))
            };
            let crd = declare(Part::Crd, storage.crd.datatype());
            levels.push(LevelArrays {
                properties: spec.kind.properties(),
                least: int(0),
                size: int(0),
                pos: declare(Part::Pos, DataType::I64),
                crd: crd.map(|array| Crd { array, stride: 1, offset: 0 }),
                width: declare(Part::Width, DataType::I64),
                mask: declare(Part::Mask, DataType::Bool),
                table,
            });
        }
        let name = format!("{}_vals", tensor.name);
        let re = self.local(&name, storage.datatype.part());
        let vals = match storage.datatype.is_complex() {
            true => Vals::Split(re, self.local(&format!("{name}_im"), storage.datatype.part())),
            false => Vals::Real(re),
        };
        TensorArrays { levels, vals }
    }

    /// The hash table of a level of a workspace.
    fn table(&mut self, tensor: &Tensor, k: usize) -> HashTable {
        let mut declare =
            |what, elem| self.local(&format!("{}{}_{what}", tensor.name, k + 1), elem);
        HashTable {
            counts: declare("counts", DataType::I64),
            keys: declare("keys", tensor.storage.crd.datatype()),
            above: (k > 0).then(|| declare("above", DataType::I64)),
            slots: declare("slots", DataType::I64),
        }
    }

    fn array(&mut self, name: &str, elem: DataType, role: ArrayRole, binding: Binding) -> Array {
        let name = self.names.fresh(name);
        let array = self.arrays.push(ArrayDecl::new(&name, elem, role));
        self.params.push((Param::Array(array), binding));
        array
    }
}

impl Names for Builder {
    fn index(&mut self, name: &str) -> Var {
        self.var(name, Type::INDEX)
    }
}
