//! What a call computed, by name.

use std::ops::{Deref, Index};
use tamis_runtime::Tensor;

/// The results of a kernel by name, in the order of the statements that wrote them last.
///
/// Their positions and coordinates have 32 bits unless their format says otherwise: `csr{pos: i64, crd: i64}`.
///
/// ```
/// use tamis::{Kernel, Options, Tensor};
/// # fn main() -> Result<(), tamis::Diagnostic> {
/// let x = Tensor::dense(&[2], vec![3.0, 4.0])?;
/// let text = "y(i) = 2 * x(i); s = x(i) * y(i)";
/// let kernel = Kernel::compile(text, &[("x", &x)], &Options::default())?;
/// let mut results = kernel.run(&[("x", &x)])?;
/// assert_eq!(results["y"].values::<f64>()?, [6.0, 8.0]);
/// assert_eq!(results.get("s").map(|s| s.vals().get(0).as_f64()), Some(50.0));
/// assert_eq!(results.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["y", "s"]);
/// let y = results.take("y");
/// assert!(y.is_some() && results.get("y").is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Results<T = Tensor>(Vec<(String, T)>);

impl<T> Results<T> {
    pub(crate) fn new(results: Vec<(String, T)>) -> Results<T> {
        Results(results)
    }

    /// The result of this name, if there is one.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, result)| result)
    }

    /// The result of this name, which is not among them afterwards.
    pub fn take(&mut self, name: &str) -> Option<T> {
        let at = self.0.iter().position(|(n, _)| n == name)?;
        Some(self.0.remove(at).1)
    }

    /// The result at a position.
    ///
    /// # Panics
    /// When there are not so many.
    pub fn remove(&mut self, at: usize) -> (String, T) {
        self.0.remove(at)
    }

    /// The last result, which is not among them afterwards.
    pub fn pop(&mut self) -> Option<(String, T)> {
        self.0.pop()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut (String, T)> {
        self.0.iter_mut()
    }
}

impl<T> Default for Results<T> {
    /// No results.
    fn default() -> Results<T> {
        Results(vec![])
    }
}

impl<T> Deref for Results<T> {
    type Target = [(String, T)];

    fn deref(&self) -> &[(String, T)] {
        &self.0
    }
}

impl<T> Index<&str> for Results<T> {
    type Output = T;

    /// The result of this name.
    ///
    /// # Panics
    /// When there is none: [`Results::get`] tells.
    fn index(&self, name: &str) -> &T {
        self.get(name).unwrap_or_else(|| panic!("there is no result {name}"))
    }
}

impl<T> Index<usize> for Results<T> {
    type Output = (String, T);

    fn index(&self, at: usize) -> &(String, T) {
        &self.0[at]
    }
}

impl<T> IntoIterator for Results<T> {
    type Item = (String, T);
    type IntoIter = std::vec::IntoIter<(String, T)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'r, T> IntoIterator for &'r Results<T> {
    type Item = &'r (String, T);
    type IntoIter = std::slice::Iter<'r, (String, T)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
