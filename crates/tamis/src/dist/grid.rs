//! The grid of ranks, whose axes schedules and formats name.
//!
//! ```text
//! x=2,y=3      rank 0: x 0, y 0      rank 1: x 0, y 1      ..      rank 5: x 1, y 2
//! ```

use super::placement::{Placement, Placements, is_name};
use std::collections::BTreeSet;
use std::fmt;
use tamis_core::notation::Program;
use tamis_core::schedule::{Command, Schedule};
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::TensorId;

/// Ranks in a grid of one or more dimensions. They are numbered by rows: the last axis changes fastest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grid {
    axes: Vec<(String, usize)>,
}

/// Where tensors of a program lie, of which each has a format by name, and behind it and `@` perhaps a distribution.
///
/// # Errors
/// When a distribution cannot be read, or is of a mode that the tensor does not have.
pub fn placements<'t>(
    program: &Program,
    formats: impl IntoIterator<Item = (&'t str, &'t str)>,
) -> Result<Placements, Diagnostic> {
    let mut placements = Placements::new();
    for (name, format) in formats {
        let names = |var: &str| program.tensor(name).and_then(|id| mode_of(program, id, var));
        if let Some(placement) = Placement::parse(format, names)? {
            placements.insert(name.to_owned(), placement);
        }
    }
    Ok(placements)
}

/// The mode of a tensor that a variable is the index of wherever it is one; none if there is no such mode.
fn mode_of(program: &Program, id: TensorId, var: &str) -> Option<usize> {
    let mut found = BTreeSet::new();
    for statement in &program.statements {
        let accesses = statement.value.accesses().into_iter().chain([&statement.result]);
        for access in accesses.filter(|access| access.tensor == id) {
            let own = access.indices.iter().enumerate();
            found.extend(own.filter(|(_, v)| program.vars[**v].name == var).map(|(mode, _)| mode));
        }
    }
    found.pop_first().filter(|_| found.is_empty())
}

impl Grid {
    /// All ranks along one axis.
    pub fn line(axis: &str, ranks: usize) -> Grid {
        Grid { axes: vec![(axis.to_owned(), ranks)] }
    }

    /// The grid of so many ranks whose axes a schedule and placements name: as `x=2,y=3` says, else along one axis.
    ///
    /// # Errors
    /// When the text cannot be read, is of more or fewer ranks, or lacks an axis that is named.
    ///
    /// ```
    /// use tamis::dist::{Grid, Placements};
    /// let schedule = tamis::schedule::parse("distribute(i, io, ii, x)")?;
    /// let grid = |text, ranks| Grid::of(Some(text), &schedule, &Placements::new(), ranks);
    /// assert_eq!(grid("x=2,y=2", 4)?.to_string(), "x=2,y=2");
    /// assert!(grid("x=2,y=2", 3).is_err());
    /// assert!(grid("y=4", 4).is_err());
    /// # Ok::<(), tamis::Diagnostic>(())
    /// ```
    pub fn of(
        text: Option<&str>,
        schedule: &Schedule,
        placements: &Placements,
        ranks: usize,
    ) -> Result<Grid, Diagnostic> {
        let mut named: BTreeSet<&str> = placements.values().flat_map(Placement::axes).collect();
        named.extend(schedule.commands().filter_map(|command| match command {
            Command::Distribute { axis, .. } => Some(axis.as_str()),
            _ => None,
        }));
        let named: Vec<&str> = named.into_iter().collect();
        let Some(text) = text else {
            return match named[..] {
                [] => Ok(Grid::line("x", ranks)),
                [one] => Ok(Grid::line(one, ranks)),
                _ if ranks == 1 => {
                    Ok(Grid { axes: named.iter().map(|axis| ((*axis).to_owned(), 1)).collect() })
                }
                _ => {
                    let message = format!("{} name axes of a grid of ranks", named.join(" and "));
                    let sizes: Vec<String> = named.iter().map(|axis| format!("{axis}=2")).collect();
                    let help = format!(
                        "say how many ranks there are along each, as in the grid {}",
                        sizes.join(",")
                    );
                    Err(Diagnostic::new(Code::InvalidOption, message).help(help))
                }
            };
        };
        let grid = Grid::parse(text)?;
        let refuse = |message: String, help: String| {
            Err(Diagnostic::new(Code::InvalidOption, message).help(help))
        };
        let size = grid.ranks();
        if size != Some(ranks) {
            let are = if ranks == 1 { "is 1" } else { &format!("are {ranks}") };
            let has = match size {
                Some(1) => "1 rank".to_owned(),
                Some(size) => format!("{size} ranks"),
                None => "too many ranks".to_owned(),
            };
            let message = format!("grid {text}: the grid has {has}, and there {are}");
            return refuse(message, "make them as many, or leave the grid out".to_owned());
        }
        match named.into_iter().find(|name| grid.axis(name).is_none()) {
            None => Ok(grid),
            Some(name) => {
                let names: Vec<&str> = grid.axes.iter().map(|(name, _)| name.as_str()).collect();
                let message =
                    format!("grid {text}: a schedule or a distribution names an axis {name}");
                refuse(message, format!("name {} there, or add {name} here", names.join(" or ")))
            }
        }
    }

    fn parse(text: &str) -> Result<Grid, Diagnostic> {
        let refuse = |message: String| {
            Diagnostic::new(Code::InvalidOption, format!("grid {text}: {message}"))
                .help("write it as x=4, or as x=2,y=2")
        };
        let mut axes: Vec<(String, usize)> = vec![];
        for axis in text.split(',') {
            let (name, size) = axis.split_once('=').unwrap_or_default();
            let (name, size) = (name.trim(), size.trim().parse::<usize>());
            let Some(size) = size.ok().filter(|size| *size > 0 && is_name(name)) else {
                return Err(refuse("expected a name and a number of ranks".to_owned()));
            };
            if axes.iter().any(|(other, _)| other == name) {
                return Err(refuse(format!("{name} is named twice")));
            }
            axes.push((name.to_owned(), size));
        }
        Ok(Grid { axes })
    }

    /// How many ranks there are; none if their number has more than 64 bits.
    pub(super) fn ranks(&self) -> Option<usize> {
        self.axes.iter().try_fold(1usize, |ranks, (_, size)| ranks.checked_mul(*size))
    }

    /// Requires that a communicator has as many ranks.
    pub(super) fn check(&self, ranks: usize) -> Result<(), Diagnostic> {
        if self.ranks() == Some(ranks) {
            return Ok(());
        }
        let message = format!("a grid {self} for {ranks} ranks");
        Err(Diagnostic::new(Code::InvalidOption, message).help("make them as many"))
    }

    /// How many axes there are.
    pub fn dimensions(&self) -> usize {
        self.axes.len()
    }

    /// The number of an axis.
    pub(super) fn axis(&self, name: &str) -> Option<usize> {
        self.axes.iter().position(|(own, _)| own == name)
    }

    /// The name of an axis.
    pub(super) fn name(&self, axis: usize) -> &str {
        &self.axes[axis].0
    }

    /// How many ranks there are along an axis.
    pub(super) fn size(&self, axis: usize) -> usize {
        self.axes[axis].1
    }

    /// Where a rank is along an axis.
    pub(super) fn place(&self, rank: usize, axis: usize) -> usize {
        let after: usize = self.axes[axis + 1..].iter().map(|(_, size)| size).product();
        rank / after % self.size(axis)
    }

    /// The number of a rank within its group: the ranks at the same position along an axis.
    pub(super) fn within(&self, rank: usize, axis: usize) -> usize {
        let others = (0..self.axes.len()).filter(|&other| other != axis);
        others.fold(0, |number, other| number * self.size(other) + self.place(rank, other))
    }

    /// The grid of such a group: the other axes.
    pub(super) fn without(&self, axis: usize) -> Grid {
        let mut axes = self.axes.clone();
        axes.remove(axis);
        Grid { axes }
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let axes: Vec<String> = self.axes.iter().map(|(name, n)| format!("{name}={n}")).collect();
        f.write_str(&axes.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::Grid;

    #[test]
    fn ranks_of_a_group_keep_their_order() {
        let grid = Grid::parse("x=2,y=3,z=4").unwrap();
        for axis in 0..3 {
            for place in 0..grid.size(axis) {
                let group = (0..24).filter(|&rank| grid.place(rank, axis) == place);
                let within: Vec<usize> = group.map(|rank| grid.within(rank, axis)).collect();
                assert_eq!(within, (0..24 / grid.size(axis)).collect::<Vec<_>>());
            }
        }
        assert_eq!(grid.without(1).to_string(), "x=2,z=4");
    }
}
