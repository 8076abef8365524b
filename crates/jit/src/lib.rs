//! Machine code in process: a function of the imperative form, compiled by Cranelift.
//!
//! Compilation takes a fraction of a millisecond for a small kernel. All of Cranelift's interface
//! is behind this crate; the version is pinned, since it moves between releases.

mod anchor;
mod code;
mod expr;
mod prefetch;
mod stmt;
mod support;
mod vector;

pub use code::Code;

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{AbiParam, UserFuncName, types};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use prefetch::Hints;
use std::sync::OnceLock;
use tamis_core::diagnostic::{Code as DiagnosticCode, Diagnostic};
use tamis_core::ir;

/// Compiles a function, ready to call.
pub fn compile(function: &ir::Function) -> Result<Code, Diagnostic> {
    match machine_code(function, Hints::native())? {
        Some(code) => Code::new(&code),
        None => {
            let code = machine_code(function, Hints::Dropped)?;
            Code::new(&code.ok_or_else(|| internal("a hint that was dropped".to_owned()))?)
        }
    }
}

/// The code of a function; `None` if its hints cannot be encoded.
fn machine_code(function: &ir::Function, hints: Hints) -> Result<Option<Vec<u8>>, Diagnostic> {
    let isa = isa()?;
    let mut context = translated(function, isa, hints)?;
    let compiled = context
        .compile(&**isa, &mut ControlPlane::default())
        .map_err(|e| internal(format!("{:?}", e.inner)))?;
    if !compiled.buffer.relocs().is_empty() {
        return Err(internal("the code calls what it was not given".to_owned()));
    }
    Ok(prefetch::encoded(compiled.code_buffer().to_vec(), compiled.buffer.traps()))
}

/// The machine code of a function as text for people.
pub fn listing(function: &ir::Function) -> Result<String, Diagnostic> {
    let isa = isa()?;
    let mut context = translated(function, isa, Hints::native())?;
    context.set_disasm(true);
    let compiled = context
        .compile(&**isa, &mut ControlPlane::default())
        .map_err(|e| internal(format!("{:?}", e.inner)))?;
    Ok(compiled.vcode.clone().unwrap_or_default())
}

fn translated(
    function: &ir::Function,
    isa: &OwnedTargetIsa,
    hints: Hints,
) -> Result<Context, Diagnostic> {
    let mut context = Context::new();
    context.func.name = UserFuncName::user(0, 0);
    context.func.signature.params.push(AbiParam::new(types::I64));
    context.func.signature.returns.push(AbiParam::new(types::I64));
    context.func.signature.call_conv = isa.default_call_conv();
    let mut frontend = FunctionBuilderContext::new();
    let builder = FunctionBuilder::new(&mut context.func, &mut frontend);
    stmt::translate(function, builder, isa, hints)?;
    Ok(context)
}

/// The code generator for this machine, made once.
fn isa() -> Result<&'static OwnedTargetIsa, Diagnostic> {
    static ISA: OnceLock<Result<OwnedTargetIsa, String>> = OnceLock::new();
    ISA.get_or_init(make_isa).as_ref().map_err(|e| {
        Diagnostic::new(DiagnosticCode::UnsupportedBackend, format!("no machine code here: {e}"))
            .help("use --backend c or --backend interp")
    })
}

fn make_isa() -> Result<OwnedTargetIsa, String> {
    let mut flags = settings::builder();
    let verifier = if cfg!(debug_assertions) { "true" } else { "false" };
    let choices = [
        ("opt_level", "speed"),
        ("enable_verifier", verifier),
        ("unwind_info", "false"),
        ("preserve_frame_pointers", "false"),
        ("enable_probestack", "false"),
    ];
    for (name, value) in choices {
        flags.set(name, value).map_err(|e| e.to_string())?;
    }
    let builder = cranelift_native::builder().map_err(str::to_owned)?;
    builder.finish(settings::Flags::new(flags)).map_err(|e| e.to_string())
}

fn internal(message: String) -> Diagnostic {
    Diagnostic::new(DiagnosticCode::Internal, format!("machine code generation: {message}"))
        .help("report this; --backend c or --backend interp may work meanwhile")
}
