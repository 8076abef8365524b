//! The grid of ranks that schedules and formats name.

use super::placement::{Placement, Placements, is_name};
use std::collections::BTreeSet;
use tamis_core::notation::Program;
use tamis_core::schedule::{Command, Schedule};
use tamis_ir::diagnostic::{Code, Diagnostic};

/// Where the operands of a program lie, of which each has a format by name, and behind it and `@` perhaps a
/// distribution; and the grids of ranks that are named there.
///
/// # Errors
/// When a distribution cannot be read, or is that of a result.
pub fn placements<'t>(
    program: &Program,
    formats: impl IntoIterator<Item = (&'t str, &'t str)>,
) -> Result<(Placements, BTreeSet<String>), Diagnostic> {
    let (mut placements, mut grids) = (Placements::new(), BTreeSet::new());
    for (name, format) in formats {
        let placed = Placement::behind(format)?;
        let Some(placement) = placed.placement else { continue };
        if program.tensor(name).is_some_and(|id| program.results().contains(&id)) {
            let message = format!("{name} is a result, and lies where ranks compute it");
            let help = "say by a schedule which loop ranks share, as in distribute(i, io, ii, x)";
            return Err(Diagnostic::new(Code::InvalidOption, message).help(help));
        }
        grids.extend(placed.grid.map(str::to_owned));
        placements.insert(name.to_owned(), placement);
    }
    Ok((placements, grids))
}

/// Checks that what a schedule and formats name is the grid of so many ranks: `x=4`, if that is given.
///
/// # Errors
/// When there are not as many ranks, or several grids.
///
/// ```
/// use std::collections::BTreeSet;
/// let schedule = tamis::schedule::parse("distribute(i, io, ii, x)")?;
/// assert!(tamis::dist::check_grid(Some("x=4"), &schedule, &BTreeSet::new(), 4).is_ok());
/// assert!(tamis::dist::check_grid(Some("x=4"), &schedule, &BTreeSet::new(), 3).is_err());
/// assert!(tamis::dist::check_grid(Some("y=4"), &schedule, &BTreeSet::new(), 4).is_err());
/// # Ok::<(), tamis::Diagnostic>(())
/// ```
pub fn check_grid(
    grid: Option<&str>,
    schedule: &Schedule,
    placed: &BTreeSet<String>,
    ranks: usize,
) -> Result<(), Diagnostic> {
    let refuse = |message: String, help: String| {
        Err(Diagnostic::new(Code::InvalidOption, message).help(help))
    };
    let mut named = placed.clone();
    named.extend(schedule.commands().filter_map(|command| match command {
        Command::Distribute { grid, .. } => Some(grid.clone()),
        _ => None,
    }));
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    let Some(text) = grid else {
        return match named.len() {
            0 | 1 => Ok(()),
            _ => {
                let message = format!("{} name grids, and there is one", named.join(" and "));
                refuse(message, "use one name for it".to_owned())
            }
        };
    };
    let as_one = format!("write it as x={ranks}");
    if text.contains(',') {
        return refuse(format!("grid {text}: grids of ranks have one dimension"), as_one);
    }
    let parts =
        text.split_once('=').map(|(name, size)| (name.trim(), size.trim().parse::<usize>()));
    let Some((name, Ok(size))) = parts.filter(|(name, _)| is_name(name)) else {
        return refuse(format!("grid {text}: expected a name and a number of ranks"), as_one);
    };
    if size != ranks {
        let are = if ranks == 1 { "is 1" } else { &format!("are {ranks}") };
        let has = if size == 1 { "1 rank".to_owned() } else { format!("{size} ranks") };
        let message = format!("grid {text}: the grid has {has}, and there {are}");
        return refuse(message, "make them as many, or leave the grid out".to_owned());
    }
    match named.iter().find(|other| **other != name) {
        None => Ok(()),
        Some(other) => {
            let message = format!("grid {text}: a schedule or a distribution names a grid {other}");
            refuse(message, format!("name it {name} there"))
        }
    }
}
