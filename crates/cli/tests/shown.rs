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
    for page in ["README.md", "docs/README.md", "docs/guide/profile.md"] {
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

/// A line for each kernel and loop, with all columns; a dry run computes nothing.
#[test]
fn profiles_and_dry_runs_tell_each_loop() {
    let run = "tamis run 'y(i) = A(i,j) * x(j)' -f A=csr -i A=data/bar.mtx.gz -g x=dense";
    let text = |more: &str| {
        let output = shell(&["-c", &format!("{run} {more}")], &root());
        check(more, &output);
        String::from_utf8(output.stdout).expect("text")
    };
    let profile = text("--profile --time 3");
    for told in ["compiled in", "ran in"] {
        assert_eq!(profile.matches(told).count(), 1, "{told}: {profile}");
    }
    let begins = |begin: &str| {
        let line = profile.lines().find(|line| line.trim_start().starts_with(begin));
        line.unwrap_or_else(|| panic!("{begin}: {profile}")).split_whitespace().collect::<Vec<_>>()
    };
    assert_eq!(
        begins("iterations").join(" "),
        "iterations estimated loads stores bytes time GB/s of limit"
    );
    assert_eq!(begins("y by compute_y")[3..9], ["24002", "24002", "71406", "600", "292.8", "kB"]);
    assert_eq!(begins("i ")[..5], ["i", "600", "600", "0", "600"]);
    assert_eq!(begins("j of A")[..7], ["j", "of", "A", "23402", "23402", "71406", "0"]);
    let dry = text("--dry-run");
    assert!(dry.contains("y: about 600 stored, dense\n"), "{dry}");
    assert!(dry.contains("operands 288.0 kB, results 4.8 kB, workspaces 0 B\n"), "{dry}");
    assert!(dry.contains("steps: about 24002: i 600, j of A 23402\n"), "{dry}");
    assert!(dry.contains("nothing was computed") && !dry.contains("ran in"), "{dry}");
}
