//! Slices: operands that are read in part, and results that are written in part.
//!
//! ```text
//! B(i,j) = A(i[2:8],j)         A: bcsr(4,4)    A_plain(m1,m2) = A(m1,m2)
//!                                              B(i,j) = A_plain(i[2:8],j)
//! A(i[2:8],j) += B(i,j)                        part(i,j) = A_old(i[2:8],j) + B(i,j)
//!                                              A(m1,j) = choose(m1[2:8], part(m1->[2:8],j), A_old(m1,j))
//! ```
//!
//! A slice is read from an operand whose levels store modes, or from a copy with such levels; loops of a schedule that
//! cannot read an operand as it is stored read the same copy. A result is computed as a whole: the statement's value
//! within the slices, the previous value elsewhere.

use crate::cin::Role;
use crate::format::{Format, LevelMap, Storage};
use crate::legalise::copies::in_order::copy_format;
use crate::legalise::infer::formats::{DENSE_LIMIT, inferred_fill};
use crate::legalise::infer::types;
use crate::legalise::{Context, Legaliser};
use crate::level::COMPRESSED;
use crate::notation::{self, Access, Expr, Slicing, Within};
use tamis_ir::datatype::{DataType, Scalar};
use tamis_ir::ids::{Id, IndexVar, Mode, TensorId};

/// The whole tensor that a statement writes.
pub(in crate::legalise) struct Written {
    pub(in crate::legalise) vars: Vec<IndexVar>,
    pub(in crate::legalise) value: Expr,
    /// The type of the elements, if the user gives none.
    pub(in crate::legalise) stored: DataType,
    pub(in crate::legalise) compute: DataType,
    /// The value of elements outside of the slices, unless an earlier statement wrote them.
    pub(in crate::legalise) fill: Option<Scalar>,
}

/// The variables with the dimensions of an operand's modes.
pub(in crate::legalise) fn modes(
    cx: &mut Context<'_>,
    source: &notation::Program,
    id: TensorId,
) -> Vec<IndexVar> {
    let mut uses: Vec<&Access> = vec![];
    for statement in &source.statements {
        uses.extend(statement.value.accesses());
        uses.push(&statement.result);
    }
    uses.retain(|access| access.tensor == id);
    let order = source.tensors[id].order;
    let whole = |a: &&Access| !a.is_sliced();
    if let Some(access) = uses.iter().find(|a| whole(a)) {
        return access.indices.clone();
    }
    let mode = |k: usize| {
        let whole = uses.iter().find(|a| a.slicing(k).is_none_or(|s| s.slice().is_whole()));
        match whole {
            Some(access) => access.indices[k],
            None => cx.of_mode(id, Mode::new(k)),
        }
    };
    (0..order).map(mode).collect()
}

impl Legaliser<'_> {
    /// The value, with slices only of tensors whose levels store modes; other tensors are copied, in the type of sums,
    /// so the type of the value has to be known before.
    pub(in crate::legalise) fn sliceable(&mut self, value: Expr) -> Expr {
        let Expr::Access(access) = value else {
            return value.map_children(&mut |child| self.sliceable(child));
        };
        let mut access = access.without_whole_slices();
        let is_mapped = |map: LevelMap| {
            !matches!(map, LevelMap::Mode(_))
                && map.modes().iter().any(|mode| access.slices.contains_key(mode))
        };
        let levels = self.program.storage(access.tensor).format.levels();
        if levels.iter().any(|level| is_mapped(level.map)) || is_copied(self, access.tensor) {
            access.tensor = self.plain(access.tensor);
        }
        Expr::Access(access)
    }

    /// A copy of a tensor in which levels store modes.
    fn plain(&mut self, tensor: TensorId) -> TensorId {
        if let Some(&known) = self.plain.get(&tensor) {
            return known;
        }
        let declared = &self.program.tensors[tensor];
        let (name, datatype) = (format!("{}_plain", declared.name), declared.storage.datatype);
        let modes = declared.modes.clone();
        let vars: Vec<IndexVar> = modes.into_iter().map(|mode| self.another(mode)).collect();
        let source = Access::of(tensor, vars.clone());
        let format = copy_format(self, &source, &vars);
        let value = Expr::Access(source);
        let copy = self.temporary(&name, Some(format), vars, value, datatype);
        let Expr::Access(copy) = copy else { return tensor };
        self.plain.insert(tensor, copy.tensor);
        copy.tensor
    }

    /// The whole result of a statement that writes slices of it.
    pub(in crate::legalise) fn patched(
        &mut self,
        result: &Access,
        value: Expr,
        (computed, wanted): (DataType, Option<DataType>),
        fill: Option<Scalar>,
    ) -> Written {
        let old = self.current.get(&result.tensor).copied();
        let mut vars = result.indices.clone();
        let mut within = vec![];
        for (&mode, slicing) in &result.slices {
            if slicing.slice().is_whole() {
                continue;
            }
            let var = match old {
                Some(old) => {
                    let whole = self.program.tensors[old].modes[mode.index()];
                    self.another(whole)
                }
                None => self.of_mode(result.tensor, mode),
            };
            let counter = std::mem::replace(&mut vars[mode.index()], var);
            within.push(Within { var, counter, slice: slicing.slice().clone() });
        }
        let old = old.map(|old| Expr::Access(Access::of(old, vars.clone())));
        let both = old.iter().cloned().chain([value.clone()]);
        let both = both.reduce(|a, b| Expr::Choose {
            within: vec![],
            then: Box::new(a),
            otherwise: Box::new(b),
        });
        let both = both.unwrap_or_else(|| value.clone());
        let stored = types::compute_type(&self.program, &both, wanted);
        let compute = stored.promote(computed);
        let value = self.sliceable(value);
        let listed = within.iter().any(|w| self.known_dimension(w.var) > Some(DENSE_LIMIT));
        let format = listed.then(|| Format::in_order(vars.iter().map(|_| COMPRESSED)));
        let part = self.part(&result.indices, value, compute, format);
        let (otherwise, fill) = match old {
            Some(old) => (old, fill),
            None => {
                let value = Expr::Access(part.clone());
                let own = || types::value_type(&self.program, &value, stored);
                let inferred = || inferred_fill(self, &value, compute, wanted.unwrap_or_else(own));
                let fill = fill.unwrap_or_else(inferred);
                (Expr::Literal(self.facts(compute).typed(fill)), Some(fill))
            }
        };
        let then = Box::new(Expr::Access(placed(part, &within)));
        let value = Expr::Choose { within, then, otherwise: Box::new(otherwise) };
        Written { vars, value, stored, compute, fill }
    }

    /// The value that is written to the slices, as one operand; with a format, one that lists its coordinates: it is
    /// walked where the whole has too many coordinates to visit each.
    fn part(
        &mut self,
        vars: &[IndexVar],
        value: Expr,
        compute: DataType,
        format: Option<Format>,
    ) -> Access {
        if let Expr::Access(access) = &value
            && self.program.storage(access.tensor).format.is_plain()
            && access.slices.is_empty()
            && access.indices.iter().all(|v| vars.contains(v))
            && (format.is_none() || self.lists(access))
        {
            return access.clone();
        }
        match self.temporary("part", format, vars.to_vec(), value, compute) {
            Expr::Access(part) => part,
            _ => unreachable!("a temporary is a tensor"),
        }
    }

    /// Whether an operand lists the coordinates of each level.
    fn lists(&self, access: &Access) -> bool {
        self.program.levels(access).iter().all(|(level, _)| !level.kind.properties().full)
    }

    /// The storage of a result that is written in part: that of its previous value.
    pub(in crate::legalise) fn kept_storage(
        &self,
        result: &Access,
        datatype: DataType,
    ) -> Option<Storage> {
        let &old = self.current.get(&result.tensor).filter(|_| result.is_sliced())?;
        let storage = self.program.storage(old);
        let fits = storage.format.is_plain()
            && storage.datatype == datatype
            && storage.format.unwritable_level().is_none();
        fits.then(|| Storage {
            pos: self.request.width,
            crd: self.request.width,
            ..storage.clone()
        })
    }
}

/// Whether loops of a schedule read a copy of an operand.
fn is_copied(cx: &Context<'_>, tensor: TensorId) -> bool {
    matches!(cx.program.tensors[tensor].role, Role::Input(id) if cx.request.restored.contains(&id))
}

/// A use of the written part, by the variables of the whole.
fn placed(part: Access, within: &[Within]) -> Access {
    let mut access = part;
    for (k, index) in access.indices.iter_mut().enumerate() {
        if let Some(place) = within.iter().find(|w| w.counter == *index) {
            *index = place.var;
            access.slices.insert(Mode::new(k), Slicing::Placed(place.slice.clone()));
        }
    }
    access
}
