//! The grid of ranks that schedules and distributions of operands name.

use crate::failure::{Failure, assignment, invalid};
use std::collections::BTreeSet;
use tamis::Schedule;
use tamis::schedule::Command;

/// Checks that what a schedule and distributions name is the grid of so many ranks.
pub fn check(
    grid: Option<&str>,
    schedule: &Schedule,
    placed: &BTreeSet<String>,
    ranks: usize,
) -> Result<(), Failure> {
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
                let reason = format!("{} name grids, and there is one", named.join(" and "));
                Err(invalid("--grid", &reason, "use one name for it"))
            }
        };
    };
    let option = format!("--grid {text}");
    if text.contains(',') {
        let reason = "grids of ranks have one dimension";
        return Err(invalid(&option, reason, &format!("write --grid x={ranks}")));
    }
    let (name, size) = assignment("--grid", text, || Some("x".to_owned()))?;
    if size.parse() != Ok(ranks) {
        let are = if ranks == 1 { "is 1" } else { &format!("are {ranks}") };
        let reason = format!("the grid has {size} ranks, and there {are}");
        return Err(invalid(&option, &reason, "make them as many, or leave the grid out"));
    }
    match named.iter().find(|other| **other != name) {
        None => Ok(()),
        Some(other) => {
            let reason = format!("a schedule or a distribution names a grid {other}");
            Err(invalid(&option, &reason, &format!("name it {name} there")))
        }
    }
}
