//! Declarations of a function under construction, with generated names kept unique.

use super::TensorArrays;
use super::binding::Binding;
use super::complex::Vals;
use crate::cin::{Kind, Tensor};
use crate::level::{Crd, LevelArrays, Names, Part};
use std::collections::BTreeSet;
use tamis_ir::datatype::DataType;
use tamis_ir::ids::{Array, Id, IdVec, IndexVar, Level, TensorId, Var};
use tamis_ir::ir::build::int;
use tamis_ir::ir::verify::CONSTANTS;
use tamis_ir::ir::{ArrayDecl, Param, Role, Stmt, Type, VarDecl};

/// What has been declared so far.
pub(super) struct Builder {
    pub(super) name: String,
    pub(super) params: Vec<(Param, Binding)>,
    pub(super) vars: IdVec<Var, VarDecl>,
    pub(super) arrays: IdVec<Array, ArrayDecl>,
    /// Sizes of levels that follow from dimensions.
    pub(super) prologue: Vec<Stmt>,
    names: BTreeSet<String>,
}

impl Builder {
    pub(super) fn new(name: &str) -> Builder {
        Builder {
            name: name.to_owned(),
            params: vec![],
            vars: IdVec::new(),
            arrays: IdVec::new(),
            prologue: vec![],
            names: CONSTANTS.iter().chain([&name]).map(|&name| name.to_owned()).collect(),
        }
    }

    /// A new variable, named so if the name is free.
    pub(super) fn var(&mut self, name: &str, ty: Type) -> Var {
        let name = self.unique(name);
        self.vars.push(VarDecl::new(&name, ty))
    }

    /// A new array of the kernel's own.
    pub(super) fn local(&mut self, name: &str, elem: DataType) -> Array {
        self.own(name, elem, Role::Local)
    }

    /// A new array of the kernel's own that iterations of its loops share.
    pub(super) fn common(&mut self, name: &str, elem: DataType) -> Array {
        self.own(name, elem, Role::Common)
    }

    /// A new array of the kernel's own, of this role.
    pub(super) fn own(&mut self, name: &str, elem: DataType, role: Role) -> Array {
        let name = self.unique(name);
        self.arrays.push(ArrayDecl::new(&name, elem, role))
    }

    /// The parameter with the dimension of an index variable.
    pub(super) fn size(&mut self, name: &str, var: IndexVar) -> Var {
        let size = self.var(name, Type::INDEX);
        self.params.push((Param::Scalar(size), Binding::Dimension(var)));
        size
    }

    /// The parameters of a tensor, which may be the result of a kernel; sizes are for whoever knows
    /// the dimensions.
    pub(super) fn tensor(
        &mut self,
        id: TensorId,
        tensor: &Tensor,
        result: Option<Kind>,
    ) -> TensorArrays {
        let storage = &tensor.storage;
        let (role, role_of_vals) = match result {
            None => (Role::Input, Role::Input),
            Some(Kind::Compute) => (Role::Input, Role::Output),
            Some(_) if storage.format.is_full() => (Role::Output, Role::Output),
            Some(_) => (Role::Result, Role::Result),
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
            });
        }
        let name = format!("{}_vals", tensor.name);
        let elem = storage.datatype.part();
        let vals = self.array(&name, elem, role_of_vals, Binding::Vals { tensor: id });
        let vals = if storage.datatype.is_complex() { Vals::Pairs(vals) } else { Vals::Real(vals) };
        TensorArrays { levels, vals }
    }

    /// The arrays of a tensor that lives in the kernel.
    pub(super) fn workspace(&mut self, tensor: &Tensor) -> TensorArrays {
        let storage = &tensor.storage;
        let mut levels: Vec<LevelArrays> = vec![];
        for (k, spec) in storage.format.levels().iter().enumerate() {
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

    fn array(&mut self, name: &str, elem: DataType, role: Role, binding: Binding) -> Array {
        let name = self.unique(name);
        let array = self.arrays.push(ArrayDecl::new(&name, elem, role));
        self.params.push((Param::Array(array), binding));
        array
    }

    fn unique(&mut self, name: &str) -> String {
        let mut candidate = name.to_owned();
        let mut k = 1;
        while !self.names.insert(candidate.clone()) {
            k += 1;
            candidate = format!("{name}_{k}");
        }
        candidate
    }
}

impl Names for Builder {
    fn index(&mut self, name: &str) -> Var {
        self.var(name, Type::INDEX)
    }
}
