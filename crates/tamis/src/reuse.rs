//! Results in tensors that the caller has: loops that call a kernel allocate nothing for them.
//!
//! ```text
//! run        y = a new tensor
//! run_into   y's array is written, if y is stored and shaped as the result
//! ```

use crate::binding::{Values, check_once};
use crate::kernel::Kernel;
use crate::operand::operand;
use crate::results::Results;
use smallvec::SmallVec;
use std::borrow::Cow;
use tamis_core::cin::{KernelKind, Role};
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::{Id, TensorId};
use tamis_runtime::Tensor;

impl Kernel {
    /// Computes results as [`run`](Kernel::run) does, into tensors that are there.
    ///
    /// A tensor that is stored and shaped as its result gives its memory to it: values of a dense result are
    /// written in place, and so are those of a result with the entries of an operand, where the tensor has
    /// these entries already; other sparse results use the memory of the tensor as far as it reaches. What
    /// others have as well, such as clones of the tensor, is not written to: then, and where formats or
    /// dimensions or types of elements differ, the tensor is replaced. Results that are not named are computed and
    /// dropped. With more than eight tensors in the program a call allocates a few hundred bytes.
    ///
    /// A statement such as `x(i) += a * p(i)` or `x(i) = p(i) + b * x(i)` reads what the tensor has, where the kernel was
    /// compiled with a value of `x` and `operands` have none. The values of a dense one are copied to memory that the
    /// kernel keeps for its next call, and computed in place from there.
    ///
    /// # Errors
    /// As for [`run`](Kernel::run), and where a name is not that of a result, or is given twice, or where the kernel adds
    /// to a result and was compiled without a value of it. After an error the tensors are valid and hold
    /// anything.
    ///
    /// ```
    /// use tamis::{Kernel, Options, Tensor};
    /// # fn main() -> Result<(), tamis::Diagnostic> {
    /// let a = Tensor::csr([2, 2], vec![0, 1, 2], vec![1, 0], vec![0.5, 0.5])?;
    /// let (mut x, mut y) = (Tensor::dense(&[2], vec![4.0, 8.0])?, Tensor::zeros::<f64>(&[2])?);
    /// let step = Kernel::compile("y(i) = A(i,j) * x(j)", &[("A", &a), ("x", &x)], &Options::default())?;
    /// for _ in 0..2 {
    ///     step.run_into(&[("A", &a), ("x", &x)], &mut [("y", &mut y)])?;
    ///     std::mem::swap(&mut x, &mut y);
    /// }
    /// assert_eq!(x.values::<f64>()?, [1.0, 2.0]);
    ///
    /// let add = Kernel::compile("y(i) += x(i)", &[("x", &x), ("y", &y)], &Options::default())?;
    /// add.run_into(&[("x", &x)], &mut [("y", &mut y)])?;
    /// assert_eq!(y.values::<f64>()?, [5.0, 4.0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn run_into(
        &self,
        operands: &[(&str, &Tensor)],
        results: &mut [(&str, &mut Tensor)],
    ) -> Result<(), Diagnostic> {
        let before = self.values_before(operands, results)?;
        let done = self.run_from(&with_values(operands, &before), results);
        self.keep(before);
        done
    }

    /// Runs into results whose values before are among the operands.
    fn run_from(
        &self,
        operands: &[(&str, &Tensor)],
        results: &mut [(&str, &mut Tensor)],
    ) -> Result<(), Diagnostic> {
        let ids = self.result_ids(results)?;
        if self.form(KernelKind::Fused)?.steps().is_some() {
            return assign(self.run(operands)?, results);
        }
        let mut values = Values::new();
        let binding = self.bound(operands, &mut values)?;
        for (&id, (name, into)) in ids.iter().zip(&mut *results) {
            if !self.is_scattered(name) {
                values[id.index()] = Some(Cow::Owned(std::mem::take(*into)));
            }
        }
        let done = self.fused().run(&mut values, &binding.dims);
        for (&id, (name, into)) in ids.iter().zip(&mut *results) {
            if let Some(value) = values[id.index()].take() {
                **into = match self.scattered(name, &value) {
                    Ok(Some(packed)) => packed,
                    Ok(None) => value.into_owned(),
                    Err(refused) => return Err(refused),
                };
            }
        }
        self.note(done?);
        Ok(())
    }

    /// Computes values at known entries as [`compute`](Kernel::compute) does, into the tensors that have the
    /// entries. Their values are written in place; values that are shared with somebody else are replaced.
    ///
    /// # Errors
    /// As for [`compute`](Kernel::compute). After an error the tensors are valid and hold any values.
    ///
    /// ```
    /// use tamis::{Kernel, Options, Tensor};
    /// # fn main() -> Result<(), tamis::Diagnostic> {
    /// let csr = |vals| Tensor::csr([2, 2], vec![0, 2, 3], vec![0, 1, 1], vals);
    /// let mut options = Options::default();
    /// options.results.insert("C".to_owned(), tamis::format::parse("csr", Some(2))?);
    /// let a = csr(vec![1.0, 2.0, 3.0])?;
    /// let kernel = Kernel::compile("C(i,j) = A(i,k) * A(k,j)", &[("A", &a)], &options)?;
    /// let mut c = kernel.assemble(&[("A", &a)])?.remove(0).1;
    /// for step in 1..4 {
    ///     let a = csr(vec![f64::from(step), 2.0, 3.0])?;
    ///     kernel.compute_into(&[("A", &a)], &mut [("C", &mut c)])?;
    ///     assert_eq!(c.get(&[0, 0])?.as_f64(), f64::from(step * step));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn compute_into(
        &self,
        operands: &[(&str, &Tensor)],
        results: &mut [(&str, &mut Tensor)],
    ) -> Result<(), Diagnostic> {
        let before = self.values_before(operands, results)?;
        let done = self.compute_from(&with_values(operands, &before), results);
        self.keep(before);
        done
    }

    /// Computes into results whose values before are among the operands.
    fn compute_from(
        &self,
        operands: &[(&str, &Tensor)],
        results: &mut [(&str, &mut Tensor)],
    ) -> Result<(), Diagnostic> {
        let ids = self.result_ids(results)?;
        let form = self.form(KernelKind::Compute)?;
        if form.steps().is_some() || results.iter().any(|(name, _)| self.is_scattered(name)) {
            let computed = {
                let patterns = results.iter().map(|(name, into)| (*name, &**into));
                self.compute(operands, &patterns.collect::<Vec<(&str, &Tensor)>>())?
            };
            return assign(computed, results);
        }
        let mut values = Values::new();
        let binding = self.bound(operands, &mut values)?;
        {
            let patterns = results.iter().map(|(name, into)| (*name, &**into));
            let patterns: SmallVec<[(&str, &Tensor); 4]> = patterns.collect();
            self.pattern_places(&patterns, &binding.dims)?;
        }
        for (&id, (_, into)) in ids.iter().zip(&mut *results) {
            values[id.index()] = Some(Cow::Owned(std::mem::take(*into)));
        }
        let done = form.run(&mut values, &binding.dims);
        for (&id, (_, into)) in ids.iter().zip(&mut *results) {
            if let Some(value) = values[id.index()].take() {
                **into = value.into_owned();
            }
        }
        done.map(drop)
    }

    /// What results are that the program reads before it writes them, where no operand gives their values. Dense
    /// ones are copies, so that nobody else has the arrays that are written.
    fn values_before<'n>(
        &self,
        operands: &[(&str, &Tensor)],
        results: &[(&'n str, &mut Tensor)],
    ) -> Result<Named<'n>, Diagnostic> {
        let mut values = Named::new();
        let program = self.program();
        for (name, tensor) in results {
            let mut statements = program.statements.iter();
            let first = statements.find(|s| program.tensors[s.result.tensor].name == *name);
            let Some(first) = first else { continue };
            let is_input = |role: Role| role == Role::Input(first.result.tensor);
            let is_read = self.compiled().program.tensors.iter().any(|t| is_input(t.role));
            if is_read && operands.iter().all(|(other, _)| other != name) {
                values.push((*name, self.copy_of(tensor)?));
            } else if !is_read && first.accumulate.is_some() {
                let message = format!(
                    "the kernel adds to {name}, and was compiled without a value of {name}"
                );
                let help =
                    format!("compile it with one, by Program::operand(\"{name}\", ..), or write =");
                return Err(Diagnostic::new(Code::MissingInput, message)
                    .at(&program.source, first.result.span.clone())
                    .help(help));
            }
        }
        Ok(values)
    }

    /// The tensor in memory of an earlier call, if it is dense; otherwise it shares its arrays.
    fn copy_of(&self, tensor: &Tensor) -> Result<Tensor, Diagnostic> {
        if !tensor.is_only_values() {
            return Ok(tensor.clone());
        }
        let kept = self.before.try_lock().ok().and_then(|mut kept| kept.pop());
        if let Some(mut copy) = kept
            && copy.take_values(tensor)
        {
            return Ok(copy);
        }
        tensor.copied()
    }

    /// Keeps the memory of copies for the next call, which wants the last one first.
    fn keep(&self, mut before: Named<'_>) {
        before.retain(|(_, copy)| copy.is_only_values());
        if let Ok(mut kept) = self.before.try_lock() {
            kept.clear();
            kept.extend(before.into_iter().rev().map(|(_, copy)| copy));
        }
    }

    /// The last compiled tensor of each result.
    fn result_ids(
        &self,
        results: &[(&str, &mut Tensor)],
    ) -> Result<SmallVec<[TensorId; 4]>, Diagnostic> {
        check_once(results.iter().map(|(name, _)| *name))?;
        results.iter().map(|(name, _)| self.result_id(name)).collect()
    }

    /// The compiled tensor that a result is in the end.
    pub(crate) fn result_id(&self, name: &str) -> Result<TensorId, Diagnostic> {
        let mut last = None;
        for (id, tensor) in self.compiled().program.tensors.enumerate() {
            if let Role::Result(source) = tensor.role
                && self.program().tensors[source].name == name
            {
                last = Some(id);
            }
        }
        match last {
            Some(id) => Ok(id),
            None => {
                operand(self.program(), name)?;
                Err(Diagnostic::new(Code::UnknownTensor, format!("{name} is not a result"))
                    .help("name results, and give values to operands"))
            }
        }
    }
}

/// Tensors by name.
type Named<'n> = SmallVec<[(&'n str, Tensor); 4]>;

/// Operands and the values of results before.
fn with_values<'a>(
    operands: &[(&'a str, &'a Tensor)],
    before: &'a Named<'_>,
) -> SmallVec<[(&'a str, &'a Tensor); 8]> {
    operands.iter().copied().chain(before.iter().map(|(name, value)| (*name, value))).collect()
}

/// Gives results to those who asked for them.
fn assign(computed: Results, results: &mut [(&str, &mut Tensor)]) -> Result<(), Diagnostic> {
    for (name, tensor) in computed {
        if let Some((_, into)) = results.iter_mut().find(|(n, _)| *n == name) {
            **into = tensor;
        }
    }
    Ok(())
}
