//! `--tune` as a user meets it.

use std::process::Command;

/// With `j` outermost every row would be searched for every column.
#[test]
fn schedules_of_far_more_steps_are_not_tuned() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
    command.args(["run", "C(i,j) = A(i,j) * B(i,j)", "--tune", "--backend", "jit"]);
    command.args(["-f", "A=csr", "-f", "B=csr", "-f", "C=csr", "-g", "A=2000x2000:5/row:1"]);
    command.args(["-g", "B=2000x2000:5/row:2"]).env("TAMIS_CACHE_DIR", "off");
    let output = command.output().expect("the command starts");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("tuned:\n") && text.contains("mergeby("), "{text}");
    assert!(!text.contains("reorder(j, i)"), "{text}");
}
