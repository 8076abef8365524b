//! Properties of the functions that programs compile to.

use std::path::Path;
use tamis_core::ir::parse::parse;
use tamis_core::ir::verify::verify;
use tamis_testing::case::Case;
use tamis_testing::random::Random;
use tamis_testing::{filetest, functions, generate};

/// The cases of the gallery, and random ones.
fn cases() -> Vec<Case> {
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
    cases
}

#[test]
fn functions_keep_the_invariants_and_read_back() {
    let mut count = 0;
    for case in cases() {
        // Random programs may be invalid.
        for function in functions::of(&case).unwrap_or_default() {
            verify(&function).unwrap_or_else(|d| panic!("{d}\n{function}{case}"));
            let text = function.to_string();
            let read = parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
            assert!(read == function && read.to_string() == text, "{text}\n{read}");
            count += 1;
        }
    }
    assert!(count > 3000, "only {count} functions");
}
