//! The declared `rust-version` is at least that of every dependency.

use super::Tree;
use std::process::Command;

pub fn check(tree: &Tree) -> Vec<String> {
    match metadata() {
        Ok(text) => newer(tree.get("Cargo.toml").unwrap_or_default(), &text),
        Err(why) => vec![format!("cargo metadata: {why}")],
    }
}

/// What Cargo knows of all dependencies of the workspace, as JSON.
fn metadata() -> Result<String, String> {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let mut command = Command::new("cargo");
    command.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", &target]);
    let output = command.output().map_err(|e| e.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Dependencies that need a newer Rust than the manifest declares.
fn newer(manifest: &str, metadata: &str) -> Vec<String> {
    let Some(declared) = manifest.split("rust-version = ").nth(1).and_then(quoted) else {
        return vec!["Cargo.toml declares no rust-version".to_owned()];
    };
    let mut findings = vec![];
    let mut before = "";
    for part in metadata.split("\"rust_version\":") {
        // A package tells where its manifest is before it tells its version of Rust.
        let package = before.rsplit("\"manifest_path\":").next().and_then(quoted);
        if let (Some(package), Some(needed)) = (package, quoted(part))
            && part.starts_with('"')
            && numbers(needed) > numbers(declared)
        {
            let name = package.trim_end_matches("/Cargo.toml").rsplit('/').next();
            let name = name.unwrap_or(package);
            findings.push(format!("rust-version is {declared}, and {name} needs {needed}"));
        }
        before = part;
    }
    findings
}

/// The first text in quotes.
fn quoted(text: &str) -> Option<&str> {
    text.split('"').nth(1)
}

/// `1.95.0` and `1.95` as the same numbers.
fn numbers(version: &str) -> [u64; 3] {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    [(); 3].map(|()| parts.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_that_need_a_newer_rust_are_found() {
        let package = |name: &str, version: &str| {
            let path = format!("/registry/{name}/Cargo.toml");
            format!(
                "{{\"name\":\"{name}\",\"manifest_path\":\"{path}\",\"rust_version\":{version}}}"
            )
        };
        let all = [
            package("a-1.0", "\"1.95.0\""),
            package("b-1.0", "null"),
            package("c-2.1", "\"1.96\""),
            package("d-1.0", "\"1.9\""),
        ];
        assert_eq!(
            newer("rust-version = \"1.95\"\n", &all.join(",")),
            ["rust-version is 1.95, and c-2.1 needs 1.96"]
        );
    }
}
