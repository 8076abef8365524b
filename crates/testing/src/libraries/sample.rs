//! A program as libraries, with operands and what the results are.

use crate::case::Case;
use crate::number::Number;
use crate::standalone::{array, copied};
use std::fmt::Write;
use tamis::{Backend, Bf16, DataType, Diagnostic, F16, Kernel, Options, Parts, Tensor};
use tamis_core::standalone::{Piece, Signature, Standalone, c, rust};
use tamis_ir::datatype::Scalar;
use tamis_ir::interpret;

/// A program as libraries, with operands and what the results are.
pub struct Sample {
    standalone: Standalone,
    tensors: Vec<(String, Tensor)>,
    expected: String,
}

impl Sample {
    /// A case, if it is valid and its results are numbers.
    ///
    /// # Errors
    ///
    /// If it is refused.
    pub fn of(case: &Case, name: &str) -> Result<Option<Sample>, Diagnostic> {
        let tensors = case.tensors()?;
        let operands: Vec<(&str, &Tensor)> = tensors.iter().map(|(n, t)| (n.as_str(), t)).collect();
        let parts = if case.is_threaded() { Parts::Own } else { Parts::Whole };
        let options = Options { parts, ..case.options(Backend::Interpreter)? };
        let kernel = Kernel::compile(&case.text, &operands, &options)?;
        let results = kernel.run(&operands)?;
        let Some(standalone) = kernel.standalone(name)? else { return Ok(None) };
        let is_nan =
            |t: &Tensor| (0..t.vals().len()).any(|at| !Number::of(t.vals().get(at)).is_finite());
        if results.iter().any(|(_, t)| is_nan(t)) {
            return Ok(None);
        }
        let mut expected = String::new();
        for result in &standalone.results {
            let (_, tensor) = results.iter().find(|(n, _)| *n == result.name).expect("a result");
            let dims: Vec<String> = tensor.dims().iter().map(u64::to_string).collect();
            let _ = writeln!(expected, "{} {}", result.name, dims.join(" "));
            for elements in elements(result, tensor) {
                let bytes = elements.concat();
                let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
                let _ = writeln!(expected, "{} {digits}", elements.len());
            }
        }
        Ok(Some(Sample { standalone, tensors, expected }))
    }

    /// What the programs print.
    pub fn expected(&self) -> &str {
        &self.expected
    }

    fn operands(&self) -> impl Iterator<Item = (usize, &Signature, &Tensor)> {
        self.standalone.operands.iter().enumerate().map(|(k, operand)| {
            let name = operand.name.trim_end_matches("_before");
            let (_, tensor) = self.tensors.iter().find(|(n, _)| n == name).expect("an operand");
            (k, operand, tensor)
        })
    }

    /// Files in C that compute the case, the last with a function `run_NAME` that prints the results.
    pub fn in_c(&self, name: &str) -> Vec<(String, String)> {
        let library = &self.standalone;
        vec![
            (format!("{name}.h"), c::header(library, name)),
            (format!("{name}.c"), c::source(library, name)),
            (format!("run_{name}.c"), self.caller_in_c(name)),
        ]
    }

    fn caller_in_c(&self, name: &str) -> String {
        let mut text = format!("#include \"{name}.h\"\n{SHOW_IN_C}void run_{name}(void);\n");
        let mut args = vec![];
        let mut line = |line: String| {
            let _ = writeln!(text, "{line}");
        };
        line(format!("void run_{name}(void) {{"));
        for (k, operand, tensor) in self.operands() {
            line(format!("  {name}_{} operand_{k};", operand.ident));
            for (mode, size) in tensor.dims().iter().enumerate() {
                line(format!("  operand_{k}.dims[{mode}] = {size};"));
            }
            for (piece, elements) in operand.arrays.iter().zip(elements(operand, tensor)) {
                let bytes: Vec<String> = elements.concat().iter().map(hex).collect();
                let bytes = if bytes.is_empty() { "0".to_owned() } else { bytes.join(",") };
                let piece = piece.name();
                line(format!(
                    "  static const _Alignas(16) unsigned char {piece}_{k}[] = {{{bytes}}};"
                ));
                line(format!("  operand_{k}.{piece} = (const void *){piece}_{k};"));
            }
            args.push(format!("&operand_{k}"));
        }
        for (k, result) in self.standalone.results.iter().enumerate() {
            line(format!("  {name}_{} result_{k};", result.ident));
            args.push(format!("&result_{k}"));
        }
        line(format!("  if ({name}({})) return;", args.join(", ")));
        for (k, result) in self.standalone.results.iter().enumerate() {
            let own = &result.ident;
            let dims =
                if result.order() == 0 { "NULL".to_owned() } else { format!("result_{k}.dims") };
            line(format!("  show_dims(\"{}\", {dims}, {});", result.name, result.order()));
            for piece in &result.arrays {
                let (size, piece) = (piece.elem(&result.storage).size(), piece.name());
                line(format!("  show(result_{k}.{piece}, result_{k}.{piece}_len, {size});"));
            }
            line(format!("  {name}_free_{own}(&result_{k});"));
        }
        text + "}\n"
    }

    /// A module in Rust, and a function `run_NAME` that computes the case and prints the results.
    pub fn in_rust(&self, name: &str) -> (String, String) {
        use tamis_ir::backend::rust::element_type;
        let (mut text, mut args) = (format!("fn run_{name}() {{\n"), vec![]);
        let mut line = |line: String| {
            let _ = writeln!(text, "    {line}");
        };
        for (k, operand, tensor) in self.operands() {
            let mut fields = vec![format!("dims: {:?}", tensor.dims())];
            for (piece, elements) in operand.arrays.iter().zip(elements(operand, tensor)) {
                let ty = element_type(piece.elem(&operand.storage));
                let numbers: Vec<String> = elements.iter().map(|b| number_of(ty, b)).collect();
                fields.push(format!("{}: &[{}]", piece.name(), numbers.join(", ")));
            }
            let own = &operand.ident;
            line(format!("let operand_{k} = {name}::{own} {{ {} }};", fields.join(", ")));
            args.push(format!("&operand_{k}"));
        }
        let results = &self.standalone.results;
        let names: Vec<String> = (0..results.len()).map(|k| format!("result_{k}")).collect();
        let pattern = match &names[..] {
            [one] => one.clone(),
            several => format!("({})", several.join(", ")),
        };
        line(format!("let Ok({pattern}) = {name}::{name}({}) else {{ return }};", args.join(", ")));
        for (k, result) in results.iter().enumerate() {
            line(format!("show_dims(\"{}\", &result_{k}.dims);", result.name));
            for piece in &result.arrays {
                let array = format!("result_{k}.{}", piece.name());
                let bytes = format!("{array}.iter().flat_map(|x| x.to_le_bytes())");
                line(format!("show({array}.len(), {bytes});"));
            }
        }
        (rust::module(&self.standalone, name), text + "}\n")
    }
}

const SHOW_IN_C: &str = r#"#include <stdio.h>
static void show_dims(const char *name, const int64_t *dims, int order) {
  printf("%s ", name);
  for (int k = 0; k < order; k++) printf(k ? " %lld" : "%lld", (long long)dims[k]);
  printf("\n");
}
static void show(const void *array, int64_t len, int64_t size) {
  const unsigned char *bytes = array;
  printf("%lld ", (long long)len);
  for (int64_t k = 0; k < len * size; k++) printf("%02x", bytes[k]);
  printf("\n");
}
"#;

/// What the functions of [`Sample::in_rust`] print with.
pub(super) const SHOW_IN_RUST: &str = r#"fn show_dims(name: &str, dims: &[usize]) {
    let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
    println!("{name} {}", dims.join(" "));
}
fn show(len: usize, bytes: impl Iterator<Item = u8>) {
    println!("{len} {}", bytes.map(|b| format!("{b:02x}")).collect::<String>());
}
"#;

/// The bytes of each element of each array of a tensor.
fn elements(signature: &Signature, tensor: &Tensor) -> Vec<Vec<Vec<u8>>> {
    let of_piece = |&piece| {
        let array = copied(array(tensor, piece), Piece::elem(piece, &signature.storage));
        (0..array.len()).map(|at| bytes(&array, at)).collect()
    };
    signature.arrays.iter().map(of_piece).collect()
}

/// Two digits as C and Rust write a byte.
fn hex(byte: &u8) -> String {
    format!("{byte:#04x}")
}

/// The bytes of an element in memory.
fn bytes(array: &interpret::Buffer, at: usize) -> Vec<u8> {
    let size = array.elem().size();
    match array.get(at) {
        Scalar::F32(x) if array.elem() == DataType::F16 => {
            F16::from(x).to_bits().to_le_bytes().to_vec()
        }
        Scalar::F32(x) if array.elem() == DataType::Bf16 => {
            Bf16::from(x).to_bits().to_le_bytes().to_vec()
        }
        Scalar::F32(x) => x.to_le_bytes().to_vec(),
        Scalar::F64(x) => x.to_le_bytes().to_vec(),
        Scalar::U64(x) => x.to_le_bytes().to_vec(),
        Scalar::I64(x) => x.to_le_bytes()[..size].to_vec(),
        Scalar::Bool(_) | Scalar::C64(_) | Scalar::C128(_) => unreachable!("elements are numbers"),
    }
}

/// An element of a type, in Rust, of these bytes.
fn number_of(ty: &str, bytes: &[u8]) -> String {
    let list: Vec<String> = bytes.iter().map(hex).collect();
    format!("{ty}::from_le_bytes([{}])", list.join(", "))
}
