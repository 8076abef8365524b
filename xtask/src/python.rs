//! The tests of the Python package: in a virtual environment of their own under the target folder,
//! on the package as it would be installed.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// Builds the package and runs its tests, types included; true without them where there is no
/// Python.
pub fn test(profile: &str) -> bool {
    if !has_python() {
        println!("python tests were skipped: there is no python3 of version 3.11 or later");
        return true;
    }
    let target = target();
    let package = target.join("python-package");
    let python = environment().join("bin/python");
    install()
        && build(profile, &target, &package)
        && run(&python, &["-m", "mypy", "--no-error-summary"], None)
        && run(
            &python,
            &[
                OsStr::new("-m"),
                OsStr::new("pytest"),
                OsStr::new("--numprocesses=auto"),
                OsStr::new("--maxprocesses=4"),
                OsStr::new("--dist=loadfile"),
                OsStr::new("python/tests"),
                OsStr::new("docs/guide/python.md"),
                OsStr::new("docs/guide/python-examples.md"),
                OsStr::new("docs/guide/python"),
                OsStr::new("docs/guide/ranks.md"),
                package.join("tamis").as_os_str(),
            ],
            Some(&package),
        )
}

fn environment() -> PathBuf {
    target().join("python-environment")
}

/// Makes the environment of the tests; false where there is no Python, or what they need cannot be had.
pub fn install() -> bool {
    let project = fs::read_to_string("pyproject.toml").unwrap_or_default();
    has_python() && prepare(&environment(), &requirements(&project))
}

/// Whether there is a Python that is new enough.
pub fn has_python() -> bool {
    let check = "import sys; sys.exit(sys.version_info < (3, 11))";
    Command::new("python3").args(["-c", check]).status().is_ok_and(|s| s.success())
}

/// Where Cargo builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from)
}

/// Makes a virtual environment, unless it has the packages that are wanted; one at a time.
pub fn prepare(environment: &Path, wanted: &[String]) -> bool {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock();
    let python = environment.join("bin/python");
    let known = environment.join("requirements");
    if python.exists() && fs::read_to_string(&known).is_ok_and(|had| had == wanted.join("\n")) {
        return true;
    }
    println!("installing {} in {}", wanted.join(", "), environment.display());
    let venv = [OsStr::new("-m"), OsStr::new("venv"), environment.as_os_str()];
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"];
    let mut arguments: Vec<&str> = pip.to_vec();
    arguments.extend(wanted.iter().map(String::as_str));
    run(Path::new("python3"), &venv, None)
        && run(&python, &arguments, None)
        && fs::write(known, wanted.join("\n")).is_ok()
}

/// What `dependencies = [..]` and `test = [..]` list.
fn requirements(project: &str) -> Vec<String> {
    let lists = ["\ndependencies = [", "\ntest = ["];
    let inside = lists.iter().filter_map(|list| project.split(list).nth(1)?.split(']').next());
    let names = inside.flat_map(|list| list.split('"').skip(1).step_by(2));
    names.map(str::to_owned).collect()
}

/// Builds the native module and puts it beside the Python files.
fn build(profile: &str, target: &Path, package: &Path) -> bool {
    // With the features that tests of the workspace have: what these built serves.
    let built = Command::new("cargo")
        .args(["build", "--quiet", "--profile", profile, "--workspace", "--lib"])
        .status();
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = target.join(profile).join(format!("{prefix}tamis_native{suffix}"));
    built.is_ok_and(|s| s.success())
        && copied(&library, &package.join("tamis"))
            .inspect_err(|error| println!("the package cannot be put together: {error}"))
            .is_ok()
}

fn copied(library: &Path, package: &Path) -> io::Result<()> {
    if package.exists() {
        fs::remove_dir_all(package)?;
    }
    fs::create_dir_all(package)?;
    for entry in fs::read_dir("python/tamis")? {
        let path = entry?.path();
        if let (true, Some(name)) = (path.is_file(), path.file_name()) {
            fs::copy(&path, package.join(name))?;
        }
    }
    fs::copy(library, package.join("_native.abi3.so")).map(drop)
}

fn run<A: AsRef<OsStr>>(program: &Path, arguments: &[A], package: Option<&Path>) -> bool {
    let mut command = Command::new(program);
    command.args(arguments);
    if let Some(package) = package {
        command.env("PYTHONPATH", package);
    }
    command.status().is_ok_and(|s| s.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_those_of_the_project() {
        let project =
            "[project]\ndependencies = [\"a>=1\"]\nscipy = [\"b\"]\ntest = [\"c\", \"d\"]\n";
        assert_eq!(requirements(project), ["a>=1", "c", "d"]);
    }
}
