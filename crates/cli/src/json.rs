//! What `--json` prints; `docs/guide/json.md` has the keys.
//!
//! ```text
//! inf      "inf"
//! 1+2j     [1.0, 2.0]
//! ```

use crate::failure::{Failure, in_options};
use serde_json::{Value, json};
use std::io::{self, Write};
use tamis::dist::Distributed;
use tamis::unstable::pipeline::Compiled;
use tamis::{Backend, Diagnostic, Kernel, KernelKind, Place, Scalar, Storage, Tensor};
use tamis_io::FileError;

/// An estimate as a whole number; one beyond 64 bits as it is.
pub fn count(estimate: f64) -> Value {
    match estimate.round() {
        whole if whole < u64::MAX as f64 => json!(whole as u64),
        more => json!(more),
    }
}

/// Prints an object with the version of Tamis, on a line.
pub fn print(out: &mut dyn Write, mut object: Value) -> io::Result<()> {
    object["version"] = json!(env!("CARGO_PKG_VERSION"));
    writeln!(out, "{object}")
}

/// A number; one that JSON does not have as its text, a complex one as its parts.
pub fn scalar(value: Scalar) -> Value {
    let real = |x: f64| match x.is_finite() {
        true => json!(x),
        false => json!(x.to_string()),
    };
    match value {
        Scalar::Bool(x) => json!(x),
        Scalar::I64(x) => json!(x),
        Scalar::U64(x) => json!(x),
        Scalar::C64([re, im]) => json!([real(re.into()), real(im.into())]),
        Scalar::C128([re, im]) => json!([real(re), real(im)]),
        x => real(x.as_f64()),
    }
}

/// What a tensor is; a scalar has its value.
pub fn tensor(name: &str, tensor: &Tensor) -> Value {
    let storage = tensor.storage();
    let first = tensor.first_entries(1).first().map(|(_, value)| *value);
    json!({
        "name": name,
        "dims": tensor.dims(),
        "format": storage.format.to_string(),
        "type": storage.datatype.name(),
        "fill": scalar(storage.fill),
        "nnz": tensor.nnz(),
        "bytes": tensor.bytes(),
        "value": first.filter(|_| tensor.dims().is_empty()).map(scalar),
    })
}

/// What a tensor is of which ranks have parts.
pub fn distributed(name: &str, part: &Distributed) -> Value {
    if let Some(whole) = part.whole() {
        return tensor(name, whole);
    }
    described(name, part.dims(), part.storage(), part.stored())
}

/// What a tensor is that is not in memory as a whole.
pub fn described(name: &str, dims: &[u64], storage: &Storage, stored: usize) -> Value {
    json!({
        "name": name,
        "dims": dims,
        "format": storage.format.to_string(),
        "type": storage.datatype.name(),
        "fill": scalar(storage.fill),
        "nnz": stored,
        "bytes": null,
        "value": null,
    })
}

/// What was compiled, and on what it ran last.
pub fn kernels(kernel: &Kernel, backend: Backend) -> Vec<Value> {
    let ran_on = kernel.ran_on().unwrap_or(backend);
    let is_on_host = |code| backend.target().gpu && tamis::explain::is_on_host(code);
    let Compiled { program, functions, .. } = kernel.compiled();
    let kernels = program.kernels.iter().zip(functions).map(|(loops, code)| {
        let result = &program.tensors[loops.result].name;
        let cut = code.partition.is_ok();
        // What shares the structure of an operand computes no less than it would by itself.
        let kind = if loops.like.is_some() { KernelKind::Fused } else { loops.kind };
        let tier = if is_on_host(code) { Backend::Jit } else { ran_on };
        json!({"name": code.function.name, "result": result, "kind": kind.name(), "cut": cut,
               "tier": tier.name()})
    });
    kernels.collect()
}

/// A failure.
pub fn failure(failure: &Failure) -> Value {
    match failure {
        Failure::Diagnostic(d) => diagnostic(d),
        Failure::File(e) => file_error(e),
    }
}

/// A refusal or a warning.
pub fn diagnostic(d: &Diagnostic) -> Value {
    let d = &in_options(d);
    let place = d.place.as_ref().map(|place| match place {
        Place::Text { source, span, .. } => {
            let mut object = json!({"text": source, "start": span.start, "end": span.end});
            if let Some((path, line, column)) = place.in_file() {
                object["file"] = json!(path);
                object["line"] = json!(line);
                object["column"] = json!(column);
            }
            object
        }
        Place::File { path, line, column } => {
            json!({"file": path, "line": line, "column": column})
        }
    });
    json!({"code": d.code.name(), "message": d.message, "help": d.help, "place": place})
}

fn file_error(e: &FileError) -> Value {
    let place = json!({"file": e.path.to_string_lossy(), "line": e.line, "column": e.column});
    json!({"code": e.code.name(), "message": e.message, "help": e.help, "place": place})
}
