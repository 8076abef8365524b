//! cuSPARSE, by the Python packages that call it, in a process of its own.
//!
//! Operands travel as raw little-endian files; what comes back is a line per package: its name, the
//! milliseconds, and the sum of the result's values.

use std::path::Path;
use std::process::Command;
use tamis::temporary::Temporary;
use tamis::{Buffer, Tensor};

/// The program that calls the packages.
const PROGRAM: &str = include_str!("peers.py");

/// What a package needed.
pub struct Time {
    /// The package.
    pub name: String,
    /// Milliseconds, by the device's clock.
    pub ms: f32,
    /// The sum of the values of the result.
    pub sum: f64,
}

/// Runs an operation on compressed rows and dense operands; nothing where no package is to be had.
pub fn times(operation: &str, operands: &[(&str, &Tensor)]) -> Vec<Time> {
    let Ok(folder) = Temporary::folder(&std::env::temp_dir()) else { return vec![] };
    let folder = folder.path();
    let mut arguments = vec![];
    let written = operands.iter().try_for_each(|(name, tensor)| {
        let dims: Vec<String> = tensor.dims().iter().map(u64::to_string).collect();
        arguments.push(format!("{name}={}", dims.join("x")));
        let matrix = tensor.levels().last().filter(|level| level.pos.is_some());
        let parts = [
            ("pos", matrix.and_then(|level| level.pos.as_ref())),
            ("crd", matrix.and_then(|level| level.crd.as_ref())),
            ("vals", Some(tensor.vals())),
        ];
        let mut stored = parts.into_iter().filter_map(|(part, array)| Some((part, array?)));
        stored.try_for_each(|(part, array)| write(folder, name, part, array))
    });
    if written.is_err() {
        return vec![];
    }
    let python = std::env::var_os("TAMIS_PYTHON").unwrap_or_else(|| "python3".into());
    let mut command = Command::new(python);
    command.arg("-c").arg(PROGRAM).arg(operation).arg(folder).args(arguments);
    let Ok(output) = command.output() else { return vec![] };
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter_map(read).collect()
}

fn write(folder: &Path, name: &str, part: &str, array: &Buffer) -> std::io::Result<()> {
    let datatype = array.datatype();
    let bytes: Vec<u8> = match array.as_slice::<f64>() {
        Some(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        None => (0..array.len())
            .flat_map(|k| array.index(k).to_le_bytes().into_iter().take(datatype.size()))
            .collect(),
    };
    std::fs::write(folder.join(format!("{name}.{part}.{datatype}")), bytes)
}

/// `name ms sum`.
fn read(line: &str) -> Option<Time> {
    let mut words = line.split_whitespace();
    let name = words.next()?.to_owned();
    Some(Time { name, ms: words.next()?.parse().ok()?, sum: words.next()?.parse().ok()? })
}
