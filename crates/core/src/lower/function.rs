//! Declarations of a function under construction, with generated names kept unique.

use super::TensorArrays;
use super::signature::Binding;
use crate::cin::Tensor;
use crate::datatype::DataType;
use crate::ids::{Array, Id, IdVec, Level, TensorId, Var};
use crate::ir::{ArrayDecl, Param, Role, Type, VarDecl};
use crate::level::{LevelArrays, Part};
use std::collections::BTreeSet;

/// What has been declared so far.
pub(super) struct Builder {
    pub(super) name: String,
    pub(super) params: Vec<(Param, Binding)>,
    pub(super) vars: IdVec<Var, VarDecl>,
    pub(super) arrays: IdVec<Array, ArrayDecl>,
    names: BTreeSet<String>,
}

impl Builder {
    pub(super) fn new(name: &str) -> Builder {
        Builder {
            name: name.to_owned(),
            params: vec![],
            vars: IdVec::new(),
            arrays: IdVec::new(),
            names: BTreeSet::from([name.to_owned()]),
        }
    }

    /// A new variable, named so if the name is free.
    pub(super) fn var(&mut self, name: &str, ty: Type) -> Var {
        let name = self.unique(name);
        self.vars.push(VarDecl { name, ty })
    }

    /// A new array of the kernel's own.
    pub(super) fn local(&mut self, name: &str, elem: DataType) -> Array {
        let name = self.unique(name);
        self.arrays.push(ArrayDecl { name, elem, role: Role::Local })
    }

    /// The parameter with the size of a level.
    pub(super) fn size(&mut self, tensor_name: &str, tensor: TensorId, level: Level) -> Var {
        let var = self.var(&format!("{tensor_name}{}_size", level.index() + 1), Type::INDEX);
        self.params.push((Param::Scalar(var), Binding::Size { tensor, level }));
        var
    }

    /// The parameters of a tensor.
    pub(super) fn tensor(
        &mut self,
        id: TensorId,
        tensor: &Tensor,
        sizes: &[Var],
        is_result: bool,
    ) -> TensorArrays {
        let storage = &tensor.storage;
        let full = storage.format.is_full();
        let role = match (is_result, full) {
            (false, _) => Role::Input,
            (true, true) => Role::Output,
            (true, false) => Role::Result,
        };
        let mut levels = vec![];
        for (k, spec) in storage.format.levels().iter().enumerate() {
            let level = Level::new(k);
            let mut declare = |part: Part, suffix: &str, elem: DataType| {
                spec.kind.parts().contains(&part).then(|| {
                    let name = format!("{}{}_{suffix}", tensor.name, k + 1);
                    self.array(&name, elem, role, Binding::Level { tensor: id, level, part })
                })
            };
            let pos = declare(Part::Pos, "pos", storage.pos.datatype());
            let crd = declare(Part::Crd, "crd", storage.crd.datatype());
            levels.push(LevelArrays { size: sizes[k], pos, crd });
        }
        let name = format!("{}_vals", tensor.name);
        let vals = self.array(&name, storage.datatype, role, Binding::Vals { tensor: id });
        TensorArrays { levels, vals }
    }

    fn array(&mut self, name: &str, elem: DataType, role: Role, binding: Binding) -> Array {
        let name = self.unique(name);
        let array = self.arrays.push(ArrayDecl { name, elem, role });
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
