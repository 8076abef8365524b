//! The parameters of a function that the code uses, and their meaning.

use crate::level::Part;
use crate::lower::binding::Binding;
use crate::lower::builder::Builder;
use crate::lower::dropped::Dropped;
use crate::lower::gpu::fallback::GpuFallback;
use crate::lower::read::collapse::Known;
use crate::lower::reserves;
use crate::plan::{NotCut, Partition, SharedStructure};
use std::collections::BTreeMap;
use tamis_ir::ids::{Array, Id, IdVec, IndexVar};
use tamis_ir::ir::number::{Used, number};
use tamis_ir::ir::{ArrayDecl, ArrayRole, Function, Param, Stmt};

/// A function and the meaning of its parameters, one binding per parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct Lowered {
    /// The code.
    pub function: Function,
    /// The meaning of each parameter.
    pub bindings: Vec<Binding>,
    /// How parts of the outermost loop are cut and joined, or why the kernel is not cut.
    pub partition: Result<Partition, NotCut>,
    /// Why the host runs the kernel, if its schedule has loops on units of a GPU.
    pub host: Option<GpuFallback>,
    /// The operand whose levels the result shares, and how many.
    pub like: Option<SharedStructure>,
    /// Requests of the schedule that the code does not carry out.
    pub dropped: Vec<Dropped>,
    /// The loop of the kernel that each variable of the code counts or walks: by name, which passes keep.
    pub loops: BTreeMap<String, IndexVar>,
}

/// The function with this body, without unused declarations.
///
/// Arrays of the result stay: the caller gets them back even if they are empty.
pub(super) fn finish(
    builder: Builder,
    body: Vec<Stmt>,
    partition: Result<Partition, NotCut>,
    host: Option<GpuFallback>,
    like: Option<SharedStructure>,
) -> Lowered {
    let Builder { name, params, vars, arrays, loops, .. } = builder;
    let body = reserves::checked(known(&params, &arrays).flattened(body));
    let mut used = Used::none(vars.len(), arrays.len());
    used.block(&body);
    let is_used = |(param, _): &(Param, Binding)| match param {
        Param::Scalar(v) => used.vars[v.index()],
        Param::Array(a) => used.arrays[a.index()] || arrays[*a].role != ArrayRole::Input,
    };
    let mut params: Vec<(Param, Binding)> = params.into_iter().filter(is_used).collect();
    params.sort_by_key(|(_, binding)| binding.place());
    let (params, bindings) = params.into_iter().unzip();
    Lowered {
        function: number(Function { name, params, vars, arrays, body }),
        bindings,
        partition,
        host,
        like,
        dropped: vec![],
        loops,
    }
}

/// Facts about the parameters that hold for all calls.
fn known(params: &[(Param, Binding)], arrays: &IdVec<Array, ArrayDecl>) -> Known {
    let mut known = Known { positions: vec![], sizes: vec![] };
    for (param, binding) in params {
        match (param, binding) {
            (Param::Scalar(size), Binding::Dimension(_)) => known.sizes.push(*size),
            (Param::Array(array), Binding::Level { part: Part::Pos, .. })
                if arrays[*array].role == ArrayRole::Input =>
            {
                known.positions.push(*array);
            }
            _ => {}
        }
    }
    known
}
