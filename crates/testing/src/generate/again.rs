//! Other uses of operands that a program has already.

use super::{Generator, access};
use crate::slices::slice;

impl Generator<'_> {
    /// Names a variable twice now and then, so that a diagonal is written. What else is drawn does not depend on it.
    pub(super) fn repeat(&self, free: &mut [&'static str]) {
        let mut random = self.random.clone();
        if free.len() > 1 && !self.slices && random.one_in(8) {
            let to = 1 + random.below(free.len() - 1);
            free[to] = free[0];
        }
    }

    /// An operand that the program has, through slices of its modes, if one is large enough.
    pub(super) fn sliced_again(&mut self, vars: &[&'static str]) -> Option<String> {
        let counts: Vec<u64> = vars.iter().map(|v| self.sizes[v]).collect();
        let fits = |dims: &[u64]| {
            dims.len() == counts.len() && dims.iter().zip(&counts).all(|(dim, count)| dim >= count)
        };
        let operand = self.operands.iter().find(|o| fits(&o.dims) && !counts.is_empty())?;
        let (name, dims) = (operand.name.clone(), operand.dims.clone());
        let mut texts = vec![];
        for ((v, count), dim) in vars.iter().zip(counts).zip(dims) {
            let is_whole = dim == count && self.random.one_in(2);
            let part = if is_whole { String::new() } else { slice(self.random, count, dim) };
            texts.push(format!("{v}{part}"));
        }
        Some(access(&name, &texts.join(",")))
    }
}
