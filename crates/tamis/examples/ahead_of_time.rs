//! A product of sparse matrices as a C library, whose text needs nothing of Tamis to compile or run.

use std::collections::BTreeMap;
use tamis::explain::Explanation;
use tamis::{Diagnostic, Language, Options, format, notation};

/// Prints the header of the library.
pub fn main() -> Result<(), Diagnostic> {
    let program = notation::parse("C(i,j) = A(i,k) * B(k,j)")?;
    let csr = format::parse("csr", Some(2))?;
    let formats: BTreeMap<_, _> =
        ["A", "B", "C"].into_iter().map(|name| (name.to_owned(), csr.clone())).collect();
    let program = Explanation::of(&program, &formats, &Options::default())?;
    let files = program.library("spgemm", Language::C)?;
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["spgemm.h", "spgemm.c"]);
    assert!(
        files[0].text.contains("int spgemm(const spgemm_A *A, const spgemm_B *B, spgemm_C *C)")
    );
    println!("{}", files[0].text);
    Ok(())
}
