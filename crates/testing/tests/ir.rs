//! Properties of the functions that programs compile to, and of the passes on them.

use std::path::Path;
use tamis::Backend;
use tamis_core::lower::Lowered;
use tamis_ir::ir::parse::parse;
use tamis_ir::ir::verify::verify;
use tamis_ir::transform::{PASSES, Target};
use tamis_testing::case::Case;
use tamis_testing::functions::{Functions, bits};
use tamis_testing::random::Random;
use tamis_testing::{filetest, generate};

const BACKENDS: [Backend; 3] = [Backend::Interpreter, Backend::Jit, Backend::C];

/// Passes that must leave every bit and may only save work.
const SAVING: [&str; 3] = ["forward-stores", "simplify", "hoist-invariants"];

/// The programs of the gallery, and random ones that are valid.
fn programs() -> Vec<(Case, Functions)> {
    let gallery = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/gallery");
    let mut paths: Vec<_> = std::fs::read_dir(gallery)
        .expect("the gallery can be read")
        .map(|entry| entry.expect("the gallery can be read").path())
        .collect();
    paths.sort();
    let mut cases = vec![];
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a filetest can be read");
        cases.extend(filetest::cases(&text).expect("the gallery is well formed"));
    }
    assert!(cases.len() > 100, "only {} cases were found in the gallery", cases.len());
    cases.extend((0..600).map(|seed| generate::case(&mut Random::new(seed))));
    let valid = |case: Case| Functions::of(&case).ok().map(|functions| (case, functions));
    let programs: Vec<_> = cases.into_iter().filter_map(valid).collect();
    assert!(programs.len() > 500, "only {} programs are valid", programs.len());
    programs
}

#[test]
fn functions_keep_the_invariants_and_read_back() {
    for (case, functions) in programs() {
        for function in BACKENDS.iter().flat_map(|b| functions.all(b.target())) {
            verify(&function).unwrap_or_else(|d| panic!("{d}\n{function}{case}"));
            let text = function.to_string();
            let read = parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
            assert!(read == function && read.to_string() == text, "{text}\n{read}");
        }
    }
}

#[test]
fn saving_passes_change_no_bit_and_do_no_more() {
    for (case, mut functions) in programs() {
        for (k, lowered) in functions.lowered().into_iter().enumerate() {
            for backend in BACKENDS {
                saving_passes(&case, &functions, k, lowered.clone(), backend.target());
            }
            match functions.run(k, &lowered) {
                Ok(run) => functions.keep(k, run.tensor),
                Err(_) => break,
            }
        }
    }
}

/// Runs the function of a kernel before and after each saving pass.
fn saving_passes(case: &Case, functions: &Functions, k: usize, mut now: Lowered, target: Target) {
    for (name, pass) in PASSES {
        let before = now.clone();
        now.function = pass(now.function, target);
        if !SAVING.contains(&name) {
            continue;
        }
        let shown = || format!("{name}\n{}{}{case}", before.function, now.function);
        assert!(pass(now.function.clone(), target) == now.function, "more to do: {}", shown());
        match (functions.run(k, &before), functions.run(k, &now)) {
            (Ok(old), Ok(new)) => {
                assert!(bits(&old.tensor) == bits(&new.tensor), "other bits: {}", shown());
                let (old, new) = (old.counts, new.counts);
                let less = new.loads + new.iterations <= old.loads + old.iterations;
                assert!(less && new.stores <= old.stores, "{old:?} {new:?}: {}", shown());
            }
            (old, new) => assert_eq!(old.err(), new.err(), "{}", shown()),
        }
    }
}
