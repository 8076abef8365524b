//! What is told in plain words.

mod support;

use support::tamis;

const SPMV: &str = "y(i) = A(i,j) * x(j)";

#[test]
fn explanations_begin_with_plain_words() {
    let operands = ["-i", "A=data/bar.mtx.gz"];
    let output = tamis(&[&["explain", SPMV][..], &operands].concat());
    let text = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "# This computes y from A (csr) and x (dense).", "{text}");
    assert!(lines[1].starts_with("# It takes the sum over j; "), "{text}");
    assert!(lines[2].starts_with("# Below is what each stage"), "{text}");
    assert_eq!(lines[3], "---- notation", "{text}");
}
