//! `tamis formats`: the level formats and named formats, from the tables in the code.

use crate::failure::Failure;
use tamis::level::{LevelFormat, REGISTRY};

/// Runs the command.
pub fn formats() -> Result<(), Failure> {
    println!("Level formats:");
    for kind in REGISTRY {
        let format: &dyn LevelFormat = kind.format();
        println!("  {:<12} {}", format.name(), format.summary());
        let p = format.properties();
        let all = [
            (p.full, "full"),
            (p.ordered, "ordered"),
            (p.unique, "unique"),
            (p.branchless, "branchless"),
            (p.compact, "compact"),
        ];
        let held: Vec<&str> =
            all.iter().filter(|(holds, _)| *holds).map(|(_, name)| *name).collect();
        println!("  {:<12} {}", "", held.join(", "));
    }
    println!("\nNamed formats:");
    for named in &tamis::format::NAMED {
        println!("  {:<12} {}", named.name, named.summary);
    }
    println!("\nElement types: {}", tamis::DataType::ALL.map(|t| t.name()).join(", "));
    Ok(())
}
