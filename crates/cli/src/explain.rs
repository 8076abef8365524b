//! `tamis explain`: the stages of compilation as text.

use crate::args::ExplainArgs;
use crate::failure::{Failure, invalid};
use crate::inputs;
use tamis::explain::{Explanation, Stage};

/// Runs the command.
pub fn explain(args: &ExplainArgs) -> Result<(), Failure> {
    let program = tamis::notation::parse(&args.expression)?;
    let schedule = tamis::schedule::parse(&args.schedule)?;
    let formats = inputs::formats(&program, &args.formats)?;
    let mut stages = vec![];
    for name in &args.emit {
        stages.push(Stage::parse(name).ok_or_else(|| {
            let known: Vec<&str> = Stage::ALL.iter().map(|s| s.name()).collect();
            invalid(
                &format!("--emit {name}"),
                "there is no such stage",
                &format!("use one of {}", known.join(", ")),
            )
        })?);
    }
    let explanation = Explanation::of(&program, &formats, &schedule)?;
    if let [stage] = stages[..] {
        print!("{}", explanation.stage(stage)?);
        return Ok(());
    }
    if stages.is_empty() {
        stages = vec![Stage::Notation, Stage::Cin, Stage::Graph, Stage::Lattice, Stage::Ir];
    }
    for stage in stages {
        println!("---- {}", stage.name());
        print!("{}", explanation.stage(stage)?);
    }
    Ok(())
}
