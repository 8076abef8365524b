//! The examples run, and check what they compute.

use std::path::Path;
use tamis::Diagnostic;

/// The examples as modules, and their names with what each runs.
macro_rules! examples {
    ($($name:ident in $path:literal),*) => {
        $(#[path = $path] mod $name;)*
        const EXAMPLES: &[(&str, fn() -> Result<(), Diagnostic>)] =
            &[$((stringify!($name), $name::main)),*];
    };
}

examples!(
    ahead_of_time in "../examples/ahead_of_time.rs",
    arrays in "../examples/arrays.rs",
    conjugate_gradients in "../examples/conjugate_gradients.rs",
    sddmm in "../examples/sddmm.rs",
    shortest_paths in "../examples/shortest_paths.rs",
    spgemm in "../examples/spgemm.rs",
    spmv in "../examples/spmv.rs"
);

#[test]
fn every_example_runs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let names = std::fs::read_dir(folder).expect("a folder").map(|entry| {
        let path = entry.expect("an entry").path();
        path.file_stem().expect("a name").to_string_lossy().into_owned()
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    let run = EXAMPLES.iter().map(|(name, run)| {
        run().unwrap_or_else(|refused| panic!("{name}: {refused}"));
        *name
    });
    assert_eq!(names, run.collect::<Vec<&str>>());
}
