//! The command as a user starts it.

#![allow(dead_code, reason = "each test uses some")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tamis::temporary::Temporary;

/// What the command does with some arguments, in the folder of the repository.
pub fn tamis(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
    command.args(args).current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    command.output().expect("the command starts")
}

/// Requires an exit status and a text in what is printed.
pub fn check(args: &[&str], status: i32, expected: &str) {
    let output = tamis(args);
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    let text = String::from_utf8_lossy(&text);
    assert_eq!(output.status.code(), Some(status), "{args:?}: {text}");
    assert!(text.contains(expected), "{args:?}: {text}");
}

/// A file of this name in a folder of the test that asks, which ends with it.
pub fn scratch(name: &str) -> PathBuf {
    thread_local! {
        static FOLDER: Temporary =
            Temporary::folder(&std::env::temp_dir()).expect("a temporary folder can be made");
    }
    FOLDER.with(|folder| folder.path().join(name))
}
