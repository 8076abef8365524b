//! Where the elements of a tensor lie, as users say it behind a format.
//!
//! ```text
//! A: csr @ rows(x)         as many rows on each rank of the grid x
//! A: csr @ nz(x)           rows with about as many nonzeros on each
//! x: dense @ replicated    all of it on each
//! ```
//!
//! (SpDISTAL: coordinate and nonzero partitions, here of the mode that the format's first level stores.)

use super::coords::Coords;
use super::fetch::{Fetched, Fetcher, counts_of};
use super::tensor::{
    Distributed, Held, Owners, balanced, converted, counted, even, own, rows_of, within,
};
use std::collections::BTreeMap;
use std::fmt;
use tamis_core::format::Storage;
use tamis_core::plan::distribution::{cut_mode, is_rows, may_split};
use tamis_dist::{Communicator, phase};
use tamis_ir::diagnostic::{Code, Diagnostic, nearest};

/// Where the elements of a tensor lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// As many coordinates on each rank, of the mode that the first level stores.
    Rows,
    /// As many nonzeros on each, about: coordinates of that mode stay together.
    Nonzeros,
    /// All on each.
    Replicated,
}

/// Where operands lie, by name; others lie as [`Distributed::split`] cuts them.
pub type Placements = BTreeMap<String, Placement>;

/// A format, and where a tensor lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placed<'t> {
    /// The text of the format.
    pub format: &'t str,
    /// Where the tensor lies, if that is said.
    pub placement: Option<Placement>,
    /// The name of the grid of ranks.
    pub grid: Option<&'t str>,
}

/// Whether a text may name a grid of ranks, or a loop.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// What is told of the placement of an operand, with its name.
pub(super) fn of_operand(name: &str, told: Diagnostic) -> Diagnostic {
    Diagnostic { message: format!("{name}: {}", told.message), ..told }
}

impl Placement {
    /// Reads a format, and behind it and `@` where the tensor lies.
    ///
    /// # Errors
    /// When what stands behind `@` says nothing, or what ranks cannot do.
    ///
    /// ```
    /// use tamis::dist::Placement;
    /// let placed = Placement::behind("csr @ rows(x)")?;
    /// assert_eq!((placed.format, placed.placement), ("csr", Some(Placement::Rows)));
    /// assert_eq!(placed.grid, Some("x"));
    /// # Ok::<(), tamis::Diagnostic>(())
    /// ```
    pub fn behind(text: &str) -> Result<Placed<'_>, Diagnostic> {
        let Some((format, words)) = text.split_once('@') else {
            return Ok(Placed { format: text, placement: None, grid: None });
        };
        let (format, words) = (format.trim_end(), words.trim());
        let (word, grid) = match words.split_once('(').zip(words.strip_suffix(')')) {
            Some(((word, _), call)) => (word.trim_end(), Some(call[word.len() + 1..].trim())),
            None => (words, None),
        };
        let start = text.len() - words.len();
        let refuse = |message: String, help: &str| {
            Err(Diagnostic::new(Code::InvalidOption, message)
                .at(text, start..text.len())
                .help(help))
        };
        let placement = match word {
            "rows" => Placement::Rows,
            "nz" => Placement::Nonzeros,
            "replicated" if grid.is_none() => {
                return Ok(Placed { format, placement: Some(Placement::Replicated), grid });
            }
            "blocks" => {
                let message = "a tensor is cut by one mode, blocks by several".to_owned();
                return refuse(message, "use rows(x) or nz(x): grids of ranks have one dimension");
            }
            _ => {
                let known = ["rows(x)", "nz(x)", "replicated"];
                let help = match nearest(words, known) {
                    Some(meant) => format!("did you mean {meant}?"),
                    None => format!("use one of {}", known.join(", ")),
                };
                let message = match words {
                    "" => "nothing stands behind @".to_owned(),
                    _ => format!("{words} is no distribution"),
                };
                return refuse(message, &help);
            }
        };
        match grid.filter(|name| is_name(name)) {
            Some(_) => Ok(Placed { format, placement: Some(placement), grid }),
            None => {
                let message = format!("{word} takes the name of the grid of ranks");
                refuse(message, &format!("write {word}(x)"))
            }
        }
    }

    /// The mode by which a tensor is cut and where ranks begin, given how many entries lie in intervals of that mode; none
    /// where each has all.
    ///
    /// # Errors
    /// When tensors of this storage are not cut.
    pub(super) fn starts(
        self,
        (dims, storage): (&[u64], &Storage),
        ranks: usize,
        counts: impl FnOnce(usize) -> Result<Vec<u64>, Diagnostic>,
    ) -> Result<Option<(usize, Vec<u64>)>, Diagnostic> {
        if self == Placement::Replicated || dims.is_empty() {
            return Ok(None);
        }
        if !may_split(&storage.format) {
            let message = format!(
                "tensors stored as {} are whole on every rank: sums depend on the order of their entries",
                storage.format
            );
            return Err(Diagnostic::new(Code::FormatProperty, message)
                .help("write replicated, or choose a format with ordered levels, such as csr"));
        }
        let (mode, block) = cut_mode(&storage.format);
        let starts = match self == Placement::Rows || is_rows(&storage.format) {
            true => even(dims[mode], block, ranks),
            false => balanced(&counts(mode)?, dims[mode], block, ranks),
        };
        Ok(Some((mode, starts)))
    }
}

/// As it is written behind `@`, for a grid `x`.
impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Placement::Rows => "rows(x)",
            Placement::Nonzeros => "nz(x)",
            Placement::Replicated => "replicated",
        })
    }
}

impl Distributed {
    /// The tensor with its elements where they are wanted of an operand of this name, if that is said.
    ///
    /// # Errors
    /// Those of [`Distributed::placed`], with the name.
    pub fn placed_as(
        self,
        comm: &dyn Communicator,
        name: &str,
        placements: &Placements,
    ) -> Result<Distributed, Diagnostic> {
        match placements.get(name) {
            Some(placement) => self.placed(comm, *placement).map_err(|told| of_operand(name, told)),
            None => Ok(self),
        }
    }

    /// The same tensor with its elements where they are wanted.
    ///
    /// # Errors
    /// When it is not cut so, or what a rank is to hold does not fit in its memory.
    ///
    /// ```
    /// use tamis::dist::{self, Distributed, Placement};
    /// use tamis::Tensor;
    /// # fn main() -> Result<(), tamis::Diagnostic> {
    /// // All entries lie in the first row of four.
    /// let a = Tensor::csr([4, 3], vec![0, 3, 3, 3, 3], vec![0, 1, 2], vec![1.0; 3])?;
    /// let intervals = dist::on_threads(2, |comm| {
    ///     let a = Distributed::split(comm, &a)?.placed(comm, Placement::Rows)?;
    ///     Ok((a.interval(0), a.interval(1), a.held()))
    /// });
    /// let (first, second, held) = intervals[0].clone()?;
    /// assert_eq!((first, second, held), (Some((0, 0..2)), Some((0, 2..4)), 3));
    /// # Ok(())
    /// # }
    /// ```
    pub fn placed(
        &self,
        comm: &dyn Communicator,
        placement: Placement,
    ) -> Result<Distributed, Diagnostic> {
        phase(comm, || {
            self.check_on(comm)?;
            let layout = (&self.dims[..], &self.storage);
            let starts = placement.starts(layout, comm.ranks(), |mode| self.counts(comm, mode))?;
            let fetcher = Fetcher::new(comm, None);
            let mut need = vec![Coords::All; self.dims.len()];
            let Some((mode, starts)) = starts.filter(|_| comm.ranks() > 1) else {
                return Ok(Distributed::everyone(fetcher.tensor(self, &need)?));
            };
            let interval = own(&starts, comm.rank());
            need[mode] = Coords::Some(interval.clone(), vec![]);
            let layout = (self.dims.clone(), self.storage.clone());
            let part = match fetcher.elements(self, &need)? {
                Fetched::Tensor(tensor) if is_rows(&self.storage.format) => {
                    Held::Rows(rows_of(&tensor, interval))
                }
                Fetched::Tensor(tensor) => {
                    Held::Entries(within(&tensor.to_coordinates()?, mode, interval)?)
                }
                // Intervals of the same mode follow each other as their entries do.
                Fetched::Entries(list) if self.interval(0).is_some_and(|(m, _)| m == mode) => {
                    Held::Entries(list)
                }
                Fetched::Entries(list) => Held::Entries(converted(&list, &self.storage)?),
            };
            let owners = (Owners::Intervals { mode, starts }, comm.rank());
            Ok(Distributed::new(layout, self.stored, owners, part))
        })
    }

    /// How many entries of all ranks lie in intervals of the mode that is cut.
    fn counts(&self, comm: &dyn Communicator, mode: usize) -> Result<Vec<u64>, Diagnostic> {
        match &self.part {
            Held::Whole(tensor) => {
                Ok(counted(&tensor.to_coordinates()?.crds()[mode], self.dims[mode]))
            }
            Held::Entries(list) => counts_of(comm, &list.crds()[mode], self.dims[mode]),
            Held::Rows(_) => Ok(vec![]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Placement;

    #[test]
    fn what_stands_behind_a_format_is_read() {
        let read = |text| {
            let read = Placement::behind(text).map_err(|d| d.message)?;
            Ok((read.format, read.placement, read.grid))
        };
        assert_eq!(read("csr"), Ok(("csr", None, None)));
        assert_eq!(read("dense@replicated"), Ok(("dense", Some(Placement::Replicated), None)));
        assert_eq!(
            read("csr{f32} @ nz( x )"),
            Ok(("csr{f32}", Some(Placement::Nonzeros), Some("x")))
        );
        assert_eq!(read("csr @ rows"), Err("rows takes the name of the grid of ranks".to_owned()));
        assert_eq!(
            read("csr @ nz(i, j)"),
            Err("nz takes the name of the grid of ranks".to_owned())
        );
        assert_eq!(read("csr @ colums(x)"), Err("colums(x) is no distribution".to_owned()));
        assert_eq!(read("csr @"), Err("nothing stands behind @".to_owned()));
        assert_eq!(
            read("csr @ blocks(i: x, j: y)"),
            Err("a tensor is cut by one mode, blocks by several".to_owned())
        );
    }
}
