//! `tamis info`: what a tensor file holds, and the formats that suit it.

use crate::args::InfoArgs;
use crate::failure::Failure;
use crate::progress;
use crate::recommend::{self, Measures};
use tamis::Values;

/// Runs the command.
pub fn info(args: &InfoArgs) -> Result<(), Failure> {
    let file = progress::read(&args.file)?;
    let list = &file.coordinates;
    let measures = Measures::of(list);
    let dims: Vec<String> = list.dims.iter().map(u64::to_string).collect();
    println!("order       {}", list.dims.len());
    println!(
        "dimensions  {}",
        if dims.is_empty() { "none (a scalar)".to_owned() } else { dims.join(" x ") }
    );
    println!("nonzeros    {}", list.vals.len());
    println!("density     {:.3e}", measures.density);
    println!("stored as   {:?}, {:?}", file.header.field, file.header.symmetry);
    let zeros = zeros(&list.vals);
    if zeros > 0 {
        println!("zeros       {zeros} explicit");
    }
    measures.print();
    recommend::print(list, &measures)
}

fn zeros(vals: &Values) -> usize {
    (0..vals.len()).filter(|&n| vals.get(n).is_zero()).count()
}
