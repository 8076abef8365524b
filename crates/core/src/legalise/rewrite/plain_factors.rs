//! Products with factors that are not plain tensors, and sums that are terms of a larger value.
//!
//! ```text
//! H(i,l) = A(i,j) / d(i) * log(B(j,k)) * C(k,l)       t(i,j) = A(i,j) / d(i)
//!                                                     t_2(j,k) = log(B(j,k))
//!                                                     H(i,l) = t(i,j) * t_2(j,k) * C(k,l)
//!
//! H(i,l) = D(i,l) + A(i,j) * B(j,k) * C(k,l)          t(i,l) = A(i,j) * B(j,k) * C(k,l)
//!                                                     H(i,l) = D(i,l) + t(i,l)
//! ```
//!
//! Products of plain tensors are split ([`super::contraction`], [`super::factorize`]), and so would be the two
//! examples without the quotient, the logarithm and the addend. A number, a quotient or a function is computed into a
//! tensor of the product that has its variables, or into a temporary of its own; a sum that is a term becomes a
//! temporary. Both happen only if the product is split then, if a function is computed for far fewer elements, or if
//! the sum is cheaper in loops that the rest cannot have. Values stay with the entries of tensors that list
//! coordinates, so that no implicit zero is computed. Integers are left as they are: their quotients are rounded.

use crate::legalise::functions::has_functions;
use crate::legalise::order::best_order;
use crate::legalise::rewrite::contraction::{is_contracted, one_sum};
use crate::legalise::rewrite::factorize::order_apart;
use crate::legalise::rewrite::semiring::{Semiring, read_forwards};
use crate::legalise::{Context, Legaliser, Task};
use crate::notation::{Access, Expr};
use tamis_ir::algebra::{BinaryOp, ReduceOp};
use tamis_ir::datatype::DataType;
use tamis_ir::ids::IndexVar;

/// A factor of a product, or a divisor.
#[derive(Clone, Copy)]
enum Factor<'e> {
    Tensor(&'e Access),
    Times(&'e Expr),
    Over(&'e Expr),
}

impl Legaliser<'_> {
    /// The value of a task, with temporaries for the factors that prevent splitting its products.
    pub(super) fn with_plain_factors(&mut self, task: &Task) -> Option<Expr> {
        let is_real = task.compute.is_float() && !task.compute.is_complex();
        if self.request.commands.given || !is_real {
            return None;
        }
        match &task.value {
            Expr::Reduce { op: ReduceOp::Add, .. } => self.plain_product(task),
            value => {
                let mut found = false;
                let value = self.sums_apart(value.clone(), task, &mut found);
                found.then_some(value)
            }
        }
    }

    /// The value, where a sum of a product over all elements of the result is a temporary if its loops are split then.
    fn sums_apart(&mut self, e: Expr, task: &Task, found: &mut bool) -> Expr {
        let Expr::Reduce { op, .. } = &e else {
            return e.map_children(&mut |child| self.sums_apart(child, task, found));
        };
        let free = e.free_vars();
        let is_whole = free.len() == task.vars.len() && task.vars.iter().all(|v| free.contains(v));
        let is_stored = self.program.storage(task.result).format.is_full();
        let sum = Task { value: e.clone(), vars: task.vars.clone(), ..*task };
        if *op != ReduceOp::Add || !is_whole || !is_stored || !self.is_better_split(&sum) {
            return e;
        }
        *found = true;
        self.temporary("t", None, self.storage_order(task), e, task.compute)
    }

    /// Whether the loops of a sum would be split.
    fn is_better_split(&mut self, task: &Task) -> bool {
        let before = self.program.clone();
        let becomes_plain = self.plain_product(task).is_some();
        self.restore(before);
        becomes_plain || splits(self, task) || has_other_loops(self, task)
    }

    /// A sum as a product of plain tensors, if that can be split better than the sum.
    fn plain_product(&mut self, task: &Task) -> Option<Expr> {
        let sum = one_sum(self, &task.value, task.compute);
        let Expr::Reduce { vars, body, .. } = sum else { return None };
        let mut factors = vec![];
        factors_of(&body, &mut factors);
        if factors.iter().all(|f| matches!(f, Factor::Tensor(_))) {
            return None;
        }
        let before = self.program.clone();
        let plain = self.plain_factors(&factors, task).map(|factors| {
            let value = Semiring::arithmetic(task.compute).summed(vars, factors);
            Task { value, vars: task.vars.clone(), ..*task }
        });
        let pays = pays_alone(self, &factors, task.compute);
        match plain.filter(|plain| pays || splits(self, plain)) {
            Some(plain) => Some(plain.value),
            None => {
                self.restore(before);
                None
            }
        }
    }

    /// Plain tensors in place of all factors: those of the product, or temporaries.
    fn plain_factors(&mut self, factors: &[Factor<'_>], task: &Task) -> Option<Vec<Expr>> {
        let tensors: Vec<&Access> = factors.iter().filter_map(|f| f.tensor()).collect();
        let mut own: Vec<Vec<Factor<'_>>> = vec![vec![]; tensors.len()];
        let mut alone = vec![];
        for &factor in factors {
            let Some(value) = factor.value() else { continue };
            match home(self, &tensors, &value.free_vars(), task.compute) {
                Some(home) => own[home].push(factor),
                // A quotient that is stored first is rounded: 1 / d(i) would be rounded before it is multiplied.
                None if matches!(factor, Factor::Over(_)) => return None,
                None => alone.push(value),
            }
        }
        let mut plain = vec![];
        for (tensor, own) in tensors.into_iter().zip(own) {
            plain.push(match own.is_empty() {
                true => Expr::Access(tensor.clone()),
                false => self.joined(tensor, &own, task)?,
            });
        }
        for value in alone {
            let is_full = value.accesses().iter().all(|a| self.is_full(a));
            let vars = value.accesses().iter().find_map(|a| {
                let vars = value.free_vars();
                let same =
                    vars.len() == a.indices.len() && vars.iter().all(|v| a.indices.contains(v));
                same.then(|| order_of(self, a))
            });
            if !is_full {
                return None;
            }
            let vars = vars.unwrap_or_else(|| value.free_vars());
            plain.push(self.temporary("t", None, vars, value.clone(), task.compute));
        }
        Some(plain)
    }

    /// A tensor, multiplied and divided by some factors; `None` if that would fill it.
    fn joined(&mut self, tensor: &Access, own: &[Factor<'_>], task: &Task) -> Option<Expr> {
        let first = Box::new(Expr::Access(tensor.clone()));
        let value = own.iter().fold(*first, |value, factor| match factor {
            Factor::Over(e) => Expr::Binary(BinaryOp::Div, Box::new(value), Box::new((*e).clone())),
            Factor::Times(e) => {
                Expr::Binary(BinaryOp::Mul, Box::new((*e).clone()), Box::new(value))
            }
            Factor::Tensor(_) => value,
        });
        let vars = order_of(self, tensor);
        let temporary = self.temporary("t", None, vars, value, task.compute);
        let Expr::Access(access) = &temporary else { return None };
        (self.is_full(access) == self.is_full(tensor)).then_some(temporary)
    }
}

/// Whether the cheapest loops of a sum begin with other variables than the result.
fn has_other_loops(cx: &Context<'_>, task: &Task) -> bool {
    !best_order(cx, task, false).vars.starts_with(&cx.storage_order(task))
}

/// Whether a factor that is not a tensor is expensive, and has far fewer elements than the product has terms.
fn pays_alone(cx: &Context<'_>, factors: &[Factor<'_>], compute: DataType) -> bool {
    let tensors: Vec<&Access> = factors.iter().filter_map(|f| f.tensor()).collect();
    let size = |vars: &[IndexVar]| vars.iter().map(|v| cx.dimension_of(*v)).product::<f64>();
    let listed = tensors.iter().find(|a| !cx.is_full(a));
    let Some((listed, entries)) = listed.and_then(|a| Some((a, cx.known_entries(a)?))) else {
        return false;
    };
    factors.iter().any(|factor| {
        let Factor::Times(value) = factor else { return false };
        let own = value.free_vars();
        let mut others = own.clone();
        others.retain(|v| !listed.indices.contains(v));
        home(cx, &tensors, &own, compute).is_none()
            && has_functions(value)
            && 2.0 * size(&own) < entries as f64 * size(&others)
    })
}

/// The tensor to multiply or divide by factors over these variables: one with few entries, which stay as few.
fn home(
    cx: &Context<'_>,
    tensors: &[&Access],
    vars: &[IndexVar],
    compute: DataType,
) -> Option<usize> {
    let product = Semiring::arithmetic(compute);
    let stays = |a: &Access| cx.is_full(a) || product.skips(cx, a);
    let fits =
        |k: &usize| stays(tensors[*k]) && vars.iter().all(|v| tensors[*k].indices.contains(v));
    let cost = |k: &usize| (cx.is_full(tensors[*k]), tensors[*k].indices.len());
    (0..tensors.len()).filter(fits).min_by_key(cost)
}

/// The variables of an operand: in the order of its levels, if these store modes.
fn order_of(cx: &Context<'_>, access: &Access) -> Vec<IndexVar> {
    let levels = cx.level_vars(access);
    let vars = Expr::Access(access.clone()).free_vars();
    let is_plain = levels.len() == vars.len() && vars.iter().all(|v| levels.contains(v));
    if is_plain { levels } else { vars }
}

/// Whether the loops of a sum of a product of tensors are split.
fn splits(cx: &Context<'_>, task: &Task) -> bool {
    let sum = one_sum(cx, &task.value, task.compute);
    let Some((semiring, vars, body)) = Semiring::of(&sum, task.compute) else { return false };
    let factors = semiring.tensors(body);
    factors.is_some_and(|all| {
        is_contracted(cx, semiring, &all, vars) || order_apart(cx, task).is_some()
    })
}

impl<'e> Factor<'e> {
    fn tensor(self) -> Option<&'e Access> {
        match self {
            Factor::Tensor(access) => Some(access),
            Factor::Times(_) | Factor::Over(_) => None,
        }
    }

    fn value(self) -> Option<&'e Expr> {
        match self {
            Factor::Tensor(_) => None,
            Factor::Times(e) | Factor::Over(e) => Some(e),
        }
    }
}

/// Collects the factors and divisors of a product, and those of numerators in it.
fn factors_of<'e>(e: &'e Expr, into: &mut Vec<Factor<'e>>) {
    match e {
        Expr::Binary(BinaryOp::Mul, a, b) => {
            factors_of(a, into);
            factors_of(b, into);
        }
        Expr::Binary(BinaryOp::Div, a, b) => {
            factors_of(a, into);
            into.push(Factor::Over(b));
        }
        Expr::Access(access) if read_forwards(e).is_some() => into.push(Factor::Tensor(access)),
        e => into.push(Factor::Times(e)),
    }
}
