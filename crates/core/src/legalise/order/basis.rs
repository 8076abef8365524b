//! Over which variables the loops of a task may run: those of the notation, or the levels of an
//! operand or of the result that store functions of them.
//!
//! ```text
//! y(i) = A(i,j) * x(j)       i, j        A: csr
//!                            i0 j0 i1 j1 A: bcsr(4,4)    i and j follow
//!                            d i         A: dia          j follows
//!                            s i j       A: ell
//! ```

use crate::format::LevelMap;
use crate::legalise::{Legaliser, Task};
use crate::notation::Access;
use tamis_ir::ids::IndexVar;

/// How many sets of loops are weighed beside those over the variables of the notation.
const MAX_BASES: usize = 8;

impl Legaliser<'_> {
    /// The sets of loops worth considering, each in a first order.
    pub(in crate::legalise) fn bases(
        &self,
        task: &Task,
        accesses: &[Access],
    ) -> Vec<Vec<IndexVar>> {
        let plain = self.plain_basis(task);
        let mut bases = vec![];
        let result = (task.result, task.vars.as_slice());
        let uses = accesses.iter().map(|a| (a.tensor, a.indices.as_slice()));
        for (tensor, indices) in uses.chain([result]) {
            if bases.len() >= MAX_BASES {
                break;
            }
            let format = &self.program.storage(tensor).format;
            let mapped = |l: &crate::format::LevelSpec| !matches!(l.map, LevelMap::Mode(_));
            let outer = indices.iter().all(|v| plain.contains(v));
            // The levels of a diagonal are not independent, so they are no loops.
            let repeats = (1..indices.len()).any(|k| indices[..k].contains(&indices[k]));
            if !format.levels().iter().any(mapped) || !outer || repeats {
                continue;
            }
            let is_result = (tensor, indices) == (task.result, &task.vars[..]);
            let slots = |v: &IndexVar| self.program.derived.slots(*v).is_some();
            if is_result && self.program.level_vars(tensor, indices).iter().any(slots) {
                continue;
            }
            let levels = self.program.level_vars(tensor, indices);
            let mut found = vec![self.basis_of(levels.clone(), &plain)];
            if is_result {
                found.push(self.basis_of(self.outer_blocks(task, &levels), &plain));
            }
            for basis in found {
                if !bases.contains(&basis) && self.is_independent(&basis) {
                    bases.push(basis);
                }
            }
        }
        // Orders are tried in turn and the first of the cheapest is taken.
        bases.push(plain);
        bases
    }

    /// The loops over the variables of the notation: those of the result, then those reduced.
    fn plain_basis(&self, task: &Task) -> Vec<IndexVar> {
        let mut vars = self.storage_order(task);
        if let crate::notation::Expr::Reduce { vars: reduced, .. } = &task.value {
            vars.extend(reduced);
        }
        vars
    }

    /// The loops over the outermost blocks of a result, the offsets in them, and the variables of the notation.
    pub(in crate::legalise) fn block_basis(&self, task: &Task) -> Vec<IndexVar> {
        let levels = self.program.level_vars(task.result, &task.vars);
        self.basis_of(self.outer_blocks(task, &levels), &self.plain_basis(task))
    }

    /// The outermost levels of a result up to the first that is sparse, and the offsets in their
    /// blocks: loops over these write one row of blocks after another.
    fn outer_blocks(&self, task: &Task, vars: &[IndexVar]) -> Vec<IndexVar> {
        let levels = self.program.storage(task.result).format.levels();
        let full = levels.iter().take_while(|l| l.kind.properties().full).count();
        let place = |var: &IndexVar| match self.program.derived.map(*var) {
            Some(LevelMap::Div(i, size)) => self.program.derived.var(LevelMap::Mod(i, size)),
            _ => None,
        };
        let places: Vec<IndexVar> = vars[..full].iter().filter_map(place).collect();
        [&vars[..full], &places].concat()
    }

    /// The loops over some levels, and over what does not follow from them.
    fn basis_of(&self, levels: Vec<IndexVar>, plain: &[IndexVar]) -> Vec<IndexVar> {
        let mut basis: Vec<IndexVar> = vec![];
        for var in levels.iter().chain(plain) {
            if !self.follows(*var, &basis) {
                basis.push(*var);
            }
        }
        basis
    }

    /// Whether no variable follows from the others: one that did would come to each coordinate again,
    /// or to the wrong ones.
    fn is_independent(&self, basis: &[IndexVar]) -> bool {
        let others = |k: usize| [&basis[..k], &basis[k + 1..]].concat();
        (0..basis.len()).all(|k| !self.follows(basis[k], &others(k)))
    }

    /// After how many of the loops a variable has a value.
    pub(in crate::legalise) fn depth(&self, var: IndexVar, loops: &[IndexVar]) -> usize {
        self.program.derived.depth(var, loops)
    }

    /// Whether a variable has a value once others have.
    pub(in crate::legalise) fn follows(&self, var: IndexVar, known: &[IndexVar]) -> bool {
        self.program.derived.follows(var, known)
    }

    /// Whether a loop variable is reduced: it does not follow from the variables of the result.
    pub(in crate::legalise) fn is_reduced(&self, var: IndexVar, task: &Task) -> bool {
        !self.follows(var, &task.vars)
    }
}
