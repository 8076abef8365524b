//! Where the elements of a tensor lie, as users say it behind a format.
//!
//! ```text
//! A: csr @ rows(x)               as many rows on each rank along the axis x
//! A: csr @ nz(x)                 rows with about as many nonzeros on each
//! A: csr @ blocks(i: x, j: y)    as many rows along x, and of these as many columns along y
//! x: dense @ replicated          all of it on each
//! ```
//!
//! Ranks that differ along other axes alone have the same. (DISTAL and SpDISTAL: coordinate and nonzero partitions.)

use super::coords::Coords;
use super::fetch::{Fetched, Fetcher, counts_of};
use super::grid::Grid;
use super::sliced::{Slices, block_of};
use super::tensor::{
    Distributed, Held, Owners, balanced, converted, counted, even, own, packed, rows_of, within,
};
use std::collections::{BTreeMap, BTreeSet};
use tamis_core::format::Storage;
use tamis_core::plan::distribution::{cut_mode, is_rows, may_split};
use tamis_dist::{Communicator, grouped, phase};
use tamis_ir::diagnostic::{Code, Diagnostic, nearest};

/// Where the elements of a tensor lie.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Placement {
    /// As many coordinates on each rank along an axis, of the mode that the first level stores.
    Rows(String),
    /// As many nonzeros on each, about: coordinates of that mode stay together. Without an axis, along the only one.
    Nonzeros(Option<String>),
    /// As many coordinates of each of these modes on each rank along its axis.
    Blocks(Vec<(usize, String)>),
    /// All on each.
    Replicated,
}

/// Where tensors lie, by name; others lie as [`Distributed::split`] cuts them.
pub type Placements = BTreeMap<String, Placement>;

/// How a tensor is cut along one axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cut {
    /// After as many coordinates of the mode that the first level stores.
    Rows,
    /// After about as many nonzeros.
    Nonzeros,
    /// After as many coordinates of a mode.
    Mode(usize),
    /// Each rank has all.
    Replicated,
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

/// A format, without where a tensor lies.
pub fn format_of(text: &str) -> &str {
    text.split_once('@').map_or(text, |(format, _)| format.trim_end())
}

impl Placement {
    /// Reads what stands behind a format and `@`, given the mode that an index variable is of; none if nothing does.
    ///
    /// # Errors
    /// When it says nothing, or what ranks cannot do.
    ///
    /// ```
    /// use tamis::dist::Placement;
    /// let mode = |var: &str| ["i", "j"].iter().position(|own| *own == var);
    /// assert_eq!(Placement::parse("csr", mode)?, None);
    /// assert_eq!(Placement::parse("csr @ rows(x)", mode)?, Some(Placement::Rows("x".into())));
    /// let blocks = Placement::Blocks(vec![(0, "x".into()), (1, "y".into())]);
    /// assert_eq!(Placement::parse("csr @ blocks(i: x, j: y)", mode)?, Some(blocks));
    /// # Ok::<(), tamis::Diagnostic>(())
    /// ```
    pub fn parse(
        text: &str,
        mode: impl Fn(&str) -> Option<usize>,
    ) -> Result<Option<Placement>, Diagnostic> {
        let Some((_, words)) = text.split_once('@') else { return Ok(None) };
        let words = words.trim();
        let start = text.len() - text.split_once('@').map_or(0, |(_, w)| w.trim_start().len());
        let refuse = |(message, help): (String, String)| {
            let at = start..start + words.len();
            Diagnostic::new(Code::InvalidOption, message).at(text, at).help(help)
        };
        let (word, args) = match words.split_once('(').zip(words.strip_suffix(')')) {
            Some(((word, _), call)) => (word.trim_end(), Some(call[word.len() + 1..].trim())),
            None => (words, None),
        };
        let axis = || match args.filter(|name| is_name(name)) {
            Some(axis) => Ok(axis.to_owned()),
            None => {
                let message = format!("{word} takes the name of an axis of the grid of ranks");
                Err(refuse((message, format!("write {word}(x)"))))
            }
        };
        let placement = match (word, args) {
            ("rows", _) => Placement::Rows(axis()?),
            // All modes together (SpDISTAL's fused partition).
            ("nz", Some(vars)) if vars.split(',').all(|var| mode(var.trim()).is_some()) => {
                Placement::Nonzeros(None)
            }
            ("nz", _) => Placement::Nonzeros(Some(axis()?)),
            ("blocks", _) => Placement::Blocks(blocks(args.unwrap_or(""), mode).map_err(refuse)?),
            ("replicated", None) => Placement::Replicated,
            _ => return Err(refuse(unknown(words))),
        };
        Ok(Some(placement))
    }

    /// The axes that are named.
    pub(super) fn axes(&self) -> Vec<&str> {
        match self {
            Placement::Rows(axis) | Placement::Nonzeros(Some(axis)) => vec![axis],
            Placement::Blocks(blocks) => blocks.iter().map(|(_, axis)| axis.as_str()).collect(),
            Placement::Nonzeros(None) | Placement::Replicated => vec![],
        }
    }

    /// How a tensor of a storage is cut over ranks along one axis.
    ///
    /// # Errors
    /// When several axes are named.
    pub(super) fn on_line(&self, ranks: usize, storage: &Storage) -> Result<Cut, Diagnostic> {
        let axis = self.axes().first().copied().unwrap_or("x");
        let cuts = self.on(&Grid::line(axis, ranks), storage)?;
        Ok(cuts.last().map_or(Cut::Replicated, |(_, cut)| *cut))
    }

    /// How a tensor of a storage is cut along each axis of a grid. Along one of them, the last here, it may be cut
    /// anyhow, along the others by modes alone.
    ///
    /// # Errors
    /// When the grid lacks an axis that is named.
    pub(super) fn on(
        &self,
        grid: &Grid,
        storage: &Storage,
    ) -> Result<Vec<(String, Cut)>, Diagnostic> {
        if let Some(axis) = self.axes().into_iter().find(|axis| grid.axis(axis).is_none()) {
            let message = format!("a grid {grid} has no axis {axis}");
            return Err(Diagnostic::new(Code::InvalidOption, message).help("name one of the grid"));
        }
        if *self == Placement::Nonzeros(None) && grid.dimensions() > 1 {
            let message = format!("nz without an axis, on a grid {grid} of several");
            let help = format!("write nz({})", grid.name(0));
            return Err(Diagnostic::new(Code::InvalidOption, message).help(help));
        }
        let (first, _) = cut_mode(&storage.format);
        let cut = |axis: &str| match self {
            Placement::Rows(own) if own == axis => Cut::Rows,
            Placement::Nonzeros(own) if own.as_deref().is_none_or(|own| own == axis) => {
                Cut::Nonzeros
            }
            Placement::Blocks(blocks) => match blocks.iter().find(|(_, own)| own == axis) {
                Some((mode, _)) if *mode == first => Cut::Rows,
                Some((mode, _)) => Cut::Mode(*mode),
                None => Cut::Replicated,
            },
            _ => Cut::Replicated,
        };
        let names = (0..grid.dimensions()).map(|axis| grid.name(axis));
        let mut cuts: Vec<(String, Cut)> = names.map(|name| (name.to_owned(), cut(name))).collect();
        cuts.sort_by_key(|(_, cut)| match cut {
            Cut::Replicated => 0,
            Cut::Mode(_) => 1,
            Cut::Rows | Cut::Nonzeros => 2,
        });
        Ok(cuts)
    }
}

/// What `blocks(..)` says: the mode of each variable, and the axis along which it is cut.
fn blocks(
    args: &str,
    mode: impl Fn(&str) -> Option<usize>,
) -> Result<Vec<(usize, String)>, (String, String)> {
    let write = || "write blocks(i: x, j: y)".to_owned();
    let (mut found, mut seen) = (vec![], BTreeSet::new());
    for arg in args.split(',') {
        let Some((var, axis)) = arg.split_once(':') else {
            let message = "blocks takes index variables, each with an axis of the grid of ranks";
            return Err((message.to_owned(), write()));
        };
        let (var, axis) = (var.trim(), axis.trim());
        if !is_name(axis) {
            return Err((format!("{axis} is no name of an axis"), write()));
        }
        let Some(mode) = mode(var) else {
            let message = format!("{var} is not the index of one mode of the tensor");
            return Err((message, "name variables that the program uses for its modes".to_owned()));
        };
        if !seen.insert(axis) || found.iter().any(|(other, _)| *other == mode) {
            let message = format!("{var} and {axis}: a mode or an axis is named twice");
            return Err((message, "name each once".to_owned()));
        }
        found.push((mode, axis.to_owned()));
    }
    Ok(found)
}

/// What is told of words that are no distribution.
fn unknown(words: &str) -> (String, String) {
    let known = ["rows(x)", "nz(x)", "blocks(i: x, j: y)", "replicated"];
    let help = match nearest(words, known) {
        Some(meant) => format!("did you mean {meant}?"),
        None => format!("use one of {}", known.join(", ")),
    };
    let message = match words {
        "" => "nothing stands behind @".to_owned(),
        _ => format!("{words} is no distribution"),
    };
    (message, help)
}

impl Cut {
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
        if self == Cut::Replicated || dims.is_empty() {
            return Ok(None);
        }
        let format = &storage.format;
        let refused = || {
            let message = format!(
                "tensors stored as {format} are whole on every rank: sums depend on the order of their entries"
            );
            Diagnostic::new(Code::FormatProperty, message)
                .help("write replicated, or choose a format with ordered levels, such as csr")
        };
        if !may_split(format) {
            return Err(refused());
        }
        let other_mode = || {
            let message = format!("tensors stored as {format} are not cut by this mode");
            Diagnostic::new(Code::FormatProperty, message).help(
                "name the mode that the first level stores, or choose another format, such as csr",
            )
        };
        let (mode, block) = match self {
            Cut::Mode(mode) => (mode, block_of(storage, mode).ok_or_else(other_mode)?),
            _ => cut_mode(format),
        };
        let starts = match self != Cut::Nonzeros || is_rows(format) {
            true => even(dims[mode], block, ranks),
            false => balanced(&counts(mode)?, dims[mode], block, ranks),
        };
        Ok(Some((mode, starts)))
    }
}

impl Distributed {
    /// The tensor with its elements where they are wanted of one of this name, if that is said.
    ///
    /// # Errors
    /// Those of [`Distributed::placed`], with the name.
    pub fn placed_as(
        self,
        comm: &dyn Communicator,
        grid: &Grid,
        (name, placements): (&str, &Placements),
    ) -> Result<Distributed, Diagnostic> {
        match placements.get(name) {
            Some(place) => self.placed(comm, grid, place).map_err(|told| of_operand(name, told)),
            None => Ok(self),
        }
    }

    /// The same tensor with its elements where they are wanted.
    ///
    /// # Errors
    /// When it is not cut so, or what a rank is to hold does not fit in its memory.
    ///
    /// ```
    /// use tamis::dist::{self, Distributed, Grid, Placement};
    /// use tamis::Tensor;
    /// # fn main() -> Result<(), tamis::Diagnostic> {
    /// // All entries lie in the first row of four.
    /// let a = Tensor::csr([4, 3], vec![0, 3, 3, 3, 3], vec![0, 1, 2], vec![1.0; 3])?;
    /// let rows = Placement::Rows("x".to_owned());
    /// let intervals = dist::on_threads(2, |comm| {
    ///     let a = Distributed::split(comm, &a)?.placed(comm, &Grid::line("x", 2), &rows)?;
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
        grid: &Grid,
        placement: &Placement,
    ) -> Result<Distributed, Diagnostic> {
        phase(comm, || {
            self.check_on(comm)?;
            grid.check(comm.ranks())?;
            let cuts = placement.on(grid, &self.storage)?;
            match cuts.iter().all(|(_, cut)| *cut == Cut::Replicated) {
                true => self.lined(comm)?.along(comm, Cut::Replicated),
                false => self.cut_along(comm, grid, &cuts),
            }
        })
    }

    /// The same, cut along each axis of a grid.
    fn cut_along(
        &self,
        comm: &dyn Communicator,
        grid: &Grid,
        cuts: &[(String, Cut)],
    ) -> Result<Distributed, Diagnostic> {
        let (cut, others) = match cuts {
            [] => return Ok(self.clone()),
            [(_, only)] => return self.lined(comm)?.along(comm, *only),
            [first, others @ ..] => (first, others),
        };
        let axis = grid.axis(&cut.0).expect("cuts are along the axes of the grid");
        let starts = cut.1.starts((&self.dims, &self.storage), grid.size(axis), |_| Ok(vec![]))?;
        let slices = Slices::along(grid, axis, starts);
        let slice = self.slice(comm, &slices)?;
        let inner = grouped(comm, slices.group(comm.rank()), |own| {
            slice.part(own)?.cut_along(own, &slices.inner(), others)
        })?;
        Distributed::of_slices(comm, slices, inner)
    }

    /// The same, cut along the one axis of all ranks.
    fn along(&self, comm: &dyn Communicator, cut: Cut) -> Result<Distributed, Diagnostic> {
        let layout = (&self.dims[..], &self.storage);
        let starts = cut.starts(layout, comm.ranks(), |mode| self.counts(comm, mode))?;
        let fetcher = Fetcher::new(comm, None);
        let mut need = vec![Coords::All; self.dims.len()];
        let Some((mode, starts)) = starts.filter(|_| comm.ranks() > 1) else {
            return Ok(Distributed::everyone(fetcher.tensor(self, &need)?));
        };
        let interval = own(&starts, comm.rank());
        need[mode] = Coords::Some(interval.clone(), vec![]);
        let layout = (self.dims.clone(), self.storage.clone());
        let has_rows = is_rows(&self.storage.format) && cut_mode(&self.storage.format).0 == mode;
        let part = match fetcher.elements(self, &need)? {
            Fetched::Tensor(tensor) if has_rows => Held::Rows(rows_of(&tensor, interval)),
            Fetched::Tensor(tensor) => {
                Held::Entries(within(&tensor.to_coordinates()?, mode, interval)?)
            }
            Fetched::Entries(list) if has_rows => {
                Held::Rows(rows_of(&packed(&list, &self.storage)?, interval))
            }
            // Intervals of the same mode follow each other as their entries do.
            Fetched::Entries(list) if self.interval(0).is_some_and(|(m, _)| m == mode) => {
                Held::Entries(list)
            }
            Fetched::Entries(list) => Held::Entries(converted(&list, &self.storage)?),
        };
        let owners = (Owners::Intervals { mode, starts }, comm.rank());
        Ok(Distributed::new(layout, self.stored, owners, part))
    }

    /// How many entries of all ranks lie in intervals of the mode that is cut.
    fn counts(&self, comm: &dyn Communicator, mode: usize) -> Result<Vec<u64>, Diagnostic> {
        match &self.part {
            Held::Whole(tensor) => {
                Ok(counted(&tensor.to_coordinates()?.crds()[mode], self.dims[mode]))
            }
            Held::Entries(list) => counts_of(comm, &list.crds()[mode], self.dims[mode]),
            Held::Rows(_) | Held::Slice(_) => Ok(vec![]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Placement;

    #[test]
    fn what_stands_behind_a_format_is_read() {
        let mode = |var: &str| ["i", "j"].iter().position(|own| *own == var);
        let read = |text| Placement::parse(text, mode).map_err(|d| d.message);
        let told = |text| read(text).unwrap_err();
        assert_eq!(read("csr"), Ok(None));
        assert_eq!(read("dense@replicated"), Ok(Some(Placement::Replicated)));
        assert_eq!(read("csr{f32} @ nz( x )"), Ok(Some(Placement::Nonzeros(Some("x".into())))));
        assert_eq!(read("csr @ nz(i, j)"), Ok(Some(Placement::Nonzeros(None))));
        assert_eq!(read("csr @ blocks(j: y)"), Ok(Some(Placement::Blocks(vec![(1, "y".into())]))));
        assert_eq!(told("csr @ rows"), "rows takes the name of an axis of the grid of ranks");
        assert_eq!(told("csr @ nz(x, y)"), "nz takes the name of an axis of the grid of ranks");
        assert_eq!(told("csr @ colums(x)"), "colums(x) is no distribution");
        assert_eq!(told("csr @"), "nothing stands behind @");
        assert_eq!(told("csr @ blocks(k: x)"), "k is not the index of one mode of the tensor");
        assert_eq!(told("csr @ blocks(i: x, j: x)"), "j and x: a mode or an axis is named twice");
    }
}
