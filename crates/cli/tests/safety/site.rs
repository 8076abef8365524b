//! A folder of a test, commands in it, and what they leave.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tamis::temporary::Temporary;

/// A folder for the cache, outputs and compilers of a test.
pub struct Site(Temporary);

impl Site {
    pub fn new() -> Site {
        Site(Temporary::folder(&std::env::temp_dir()).expect("a temporary folder can be made"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The command, with the cache and temporaries in this folder.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
        self.prepare(&mut command);
        command.args(args);
        command
    }

    /// Has a command keep its cache and temporaries in this folder.
    pub fn prepare(&self, command: &mut Command) {
        let temporaries = self.path("tmp");
        fs::create_dir_all(&temporaries).unwrap();
        command.env("TMPDIR", temporaries).env("TAMIS_CACHE_DIR", self.path("cache"));
        command.current_dir(self.0.path()).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
    }

    /// A compiler that notes its process, and then goes on with a script.
    pub fn compiler(&self, script: &str) -> PathBuf {
        let path = self.path("compiler");
        let log = self.path("log");
        let log = log.display();
        let script =
            format!("#!/bin/sh\ncase \"$*\" in *kernel.c*) echo $$ >>{log}; {script};; esac\n");
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// The processes that the compiler noted.
    pub fn noted(&self) -> Vec<u32> {
        let log = fs::read_to_string(self.path("log")).unwrap_or_default();
        log.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Entries of the cache.
    pub fn entries(&self) -> Vec<PathBuf> {
        let inside = inside(&self.path("cache/tamis"));
        inside.into_iter().filter(|path| !is_hidden(path)).collect()
    }

    /// Temporary files and folders that were left.
    pub fn litter(&self) -> Vec<PathBuf> {
        let mut found = inside(self.0.path());
        found.retain(|path| is_hidden(path));
        // Not those of a home.
        found.retain(|path| !path.ends_with(".cache"));
        found.extend(inside(&self.path("tmp")));
        found
    }
}

/// All files and folders inside of one.
fn inside(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for item in fs::read_dir(folder).into_iter().flatten().flatten() {
        if item.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(inside(&item.path()));
        }
        found.push(item.path());
    }
    found
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().unwrap_or_default().to_string_lossy().starts_with('.')
}

/// Tells that a test, or a part of it, cannot run here.
pub fn skipped(reason: &str) {
    eprintln!("skipped: {reason}");
}

/// What a command printed.
pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// A product.
pub const PRODUCT: [&str; 8] =
    ["run", "y(i) = A(i,j) * x(j)", "-f", "A=csr", "-g", "A=100x100:0.1:7", "-g", "x=dense"];

/// The product by the C compiler.
pub fn product(site: &Site) -> Command {
    let mut command = site.command(&PRODUCT);
    command.args(["--backend", "c"]);
    command
}

/// Requires that a product is that of another backend.
pub fn is_right(mut command: Command, about: &str) {
    let mut jit = Command::new(env!("CARGO_BIN_EXE_tamis"));
    let expected = values(&jit.args(PRODUCT).args(["--backend", "jit"]).output().unwrap());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{about}: {}", text(&output));
    assert_eq!(values(&output), expected, "{about}: {}", text(&output));
    assert!(expected.len() > 5, "{expected:?}");
}

/// The lines with values.
fn values(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter(|line| line.starts_with("  ")).map(str::to_owned).collect()
}
