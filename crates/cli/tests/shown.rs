//! Commands that pages and scripts show work as written: those in blocks marked `sh`, with the files of the
//! repository, and the scripts of `examples`.

#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tamis::temporary::Temporary;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a shell on a script, with the command in its path.
fn shell(arguments: &[&str], folder: &Path) -> Output {
    let built = Path::new(env!("CARGO_BIN_EXE_tamis")).parent().expect("a folder");
    let usual = std::env::var_os("PATH").unwrap_or_default();
    let path = [built.to_owned()].into_iter().chain(std::env::split_paths(&usual));
    let path = std::env::join_paths(path).expect("no folder has a colon in its name");
    let mut command = Command::new("sh");
    command.args(arguments).current_dir(folder).env("PATH", path).env("TAMIS_CACHE_DIR", "off");
    command.output().expect("there is a shell")
}

/// Requires that a script succeeds and prints something, and no warning.
fn check(name: &str, output: &Output) {
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {told}");
    assert!(!output.stdout.is_empty(), "{name} prints nothing");
    assert!(!told.contains("warning"), "{name}: {told}");
}

/// The lines of blocks marked `sh` that begin with the command.
fn commands(page: &str) -> Vec<&str> {
    let blocks = page.split("```sh\n").skip(1).filter_map(|block| block.split("```").next());
    blocks.flat_map(str::lines).filter(|line| line.starts_with("tamis ")).collect()
}

/// Commands write to the folder in which they run: one of its own, with the data in it.
#[test]
fn commands_of_pages_work_as_written() {
    let folder = Temporary::folder(&std::env::temp_dir()).expect("a folder");
    let data = root().join("data").canonicalize().expect("the data");
    std::os::unix::fs::symlink(data, folder.path().join("data")).expect("a link");
    for page in ["README.md", "docs/README.md"] {
        let text = std::fs::read_to_string(root().join(page)).expect("a page");
        let commands = commands(&text);
        assert!(!commands.is_empty(), "{page} has no commands");
        for command in commands {
            check(command, &shell(&["-c", command], folder.path()));
        }
    }
}

#[test]
fn scripts_of_examples_work_as_written() {
    let folder = std::fs::read_dir(root().join("examples")).expect("a folder");
    let paths = folder.map(|entry| entry.expect("an entry").path());
    let scripts: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "sh")).collect();
    assert!(!scripts.is_empty());
    for script in scripts {
        let name = script.to_string_lossy();
        check(&name, &shell(&[&name], &root()));
    }
}
