//! Operands as far as a compilation depends on them: a kernel is for all that are stored alike and of like size.

use tamis::{IndexWidth, Storage, Tensor};

/// An operand that a kernel was compiled for.
pub(crate) struct Stored {
    pub(crate) name: String,
    pub(crate) storage: Storage,
    pub(crate) sizes: Vec<u64>,
    width: IndexWidth,
    /// How many entries it had; those of like operands may have others.
    pub(crate) entries: u64,
}

impl Stored {
    pub(crate) fn of(name: &str, tensor: &Tensor) -> Stored {
        let sizes = tensor.dims().to_vec();
        let width = IndexWidth::for_max(sizes.iter().copied().max().unwrap_or(0));
        let (name, storage) = (name.to_owned(), tensor.storage().clone());
        Stored { name, storage, sizes, width, entries: tensor.vals().len() as u64 }
    }

    pub(crate) fn is_of(&self, name: &str, tensor: &Tensor) -> bool {
        let dims = tensor.dims();
        let largest = dims.iter().copied().max().unwrap_or(0);
        let rounded_all = |dims: &[u64]| dims.iter().map(|&d| rounded(d)).collect::<Vec<_>>();
        self.name == name
            && self.width == IndexWidth::for_max(largest)
            && (self.sizes == dims || rounded_all(&self.sizes) == rounded_all(dims))
            && self.storage == *tensor.storage()
    }
}

/// A size as a compilation sees it.
pub(crate) fn rounded(size: u64) -> u64 {
    size.checked_next_power_of_two().unwrap_or(u64::MAX)
}
