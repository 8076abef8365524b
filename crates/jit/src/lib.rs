//! Machine code in process: a function of the imperative form, compiled by Cranelift.
//!
//! Compilation takes a fraction of a millisecond for a small kernel. All of Cranelift's interface
//! is behind this crate; the version is pinned, since it moves between releases.
//!
//! # Modules
//!
//! | module | what it does |
//! |---|---|
//! | `stmt` | control flow and stores |
//! | `expr` | expressions |
//! | `integer` | operators of integers |
//! | `overflow` | tests for integer overflow |
//! | `vector` | wide vectors as several 128-bit ones |
//! | `wide` | loops with vectors of 256 and 512 bits, as machine code of our own |
//! | `functions` | functions of eight numbers at once |
//! | `home` | where variables live: in registers or in memory |
//! | `addresses` | which loops have the addresses of arrays in registers |
//! | `calls` | calls of code by its address |
//! | `grow` | the call that makes room, which changes no register |
//! | `load_sinking` | which loads may move to their use |
//! | `prefetch` | hints, which Cranelift does not have |
//! | `support` | what compiled code calls |
//! | `code` | executable memory |

mod addresses;
mod calls;
mod code;
mod expr;
mod functions;
mod grow;
mod home;
mod integer;
mod load_sinking;
mod overflow;
mod prefetch;
mod stmt;
mod support;
mod vector;
mod wide;

pub use code::Code;

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{AbiParam, UserFuncName, types};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use prefetch::Hints;
use std::sync::OnceLock;
use std::time::Instant;
use tamis_ir::diagnostic::{Code as DiagnosticCode, Diagnostic, Setting};
use tamis_ir::ir;
use tamis_runtime::processor::{self, Level};
use wide::Wide;

/// Compiles a function, ready to call.
pub fn compile(function: &ir::Function) -> Result<Code, Diagnostic> {
    let level = processor::level()?;
    with_effort(function, Wide::of(function, level)?, (level, Effort::of(function)))
}

/// Compiles the functions of a program. Large functions are compiled with less effort, so that the caller does not
/// wait long; in a large program, functions with few loops inside of each other, too.
pub fn compile_all(functions: &[&ir::Function]) -> Result<Vec<Code>, Diagnostic> {
    let level = processor::level()?;
    with_wide(functions, wide(functions, level)?, level)
}

/// The same; `None` if some loop has wide vectors that have no code here. Cranelift would make
/// several vectors of each, more than there are registers, so the functions are better transformed
/// for narrow ones.
pub fn compile_suited(functions: &[&ir::Function]) -> Result<Option<Vec<Code>>, Diagnostic> {
    let level = processor::level()?;
    let wide = wide(functions, level)?;
    match wide.iter().any(Wide::leaves_loops) {
        true => Ok(None),
        false => with_wide(functions, wide, level).map(Some),
    }
}

fn wide(functions: &[&ir::Function], level: Level) -> Result<Vec<Wide>, Diagnostic> {
    functions.iter().map(|function| Wide::of(function, level)).collect()
}

fn with_wide(
    functions: &[&ir::Function],
    wide: Vec<Wide>,
    level: Level,
) -> Result<Vec<Code>, Diagnostic> {
    let efforts = Effort::of_each(functions);
    let all = functions.iter().zip(wide).zip(efforts);
    all.map(|((f, wide), effort)| with_effort(f, wide, (level, effort))).collect()
}

/// What code is generated for, and how thoroughly.
type Generator = (Level, Effort);

fn with_effort(function: &ir::Function, wide: Wide, by: Generator) -> Result<Code, Diagnostic> {
    let begin = Instant::now();
    let code = match machine_code(function, by, Hints::native(), &wide)? {
        Some(code) => code,
        None => machine_code(function, by, Hints::Dropped, &wide)?
            .ok_or_else(|| internal("a hint that was dropped".to_owned()))?,
    };
    let compiled = begin.elapsed();
    let code = Code::new(&code)?;
    let steps =
        [("vectors", wide.took), ("cranelift", compiled), ("loading", begin.elapsed() - compiled)];
    Ok(code.generated_in(steps).calling(wide.into_code()))
}

/// The code of a function; `None` if its hints cannot be encoded.
fn machine_code(
    function: &ir::Function,
    (level, effort): Generator,
    hints: Hints,
    wide: &Wide,
) -> Result<Option<Vec<u8>>, Diagnostic> {
    let isa = isa((level, effort))?;
    let mut context = translated(function, isa, (level, effort), hints, wide)?;
    let compiled = context
        .compile(&**isa, &mut ControlPlane::default())
        .map_err(|e| internal(format!("{:?}", e.inner)))?;
    if !compiled.buffer.relocs().is_empty() {
        return Err(internal("the code calls what it was not given".to_owned()));
    }
    let frame = compiled.buffer.frame_layout().map_or(0, |layout| layout.frame_to_fp_offset);
    match effort {
        _ if frame <= FRAME => {}
        Effort::Quick => return machine_code(function, (level, Effort::Full), hints, wide),
        Effort::Full => {
            let message = format!("{} would take {frame} bytes of stack", function.name);
            return Err(Diagnostic::new(DiagnosticCode::UnsupportedBackend, message).help_by(
                "compute parts of it by statements of their own, or use {}",
                [Setting::BackendC],
            ));
        }
    }
    Ok(prefetch::encoded(compiled.code_buffer().to_vec(), compiled.buffer.traps()))
}

/// The machine code of a function as text for people.
pub fn listing(function: &ir::Function) -> Result<String, Diagnostic> {
    let (level, effort) = (processor::level()?, Effort::of(function));
    let isa = isa((level, effort))?;
    let wide = Wide::of(function, level)?;
    let mut context = translated(function, isa, (level, effort), Hints::native(), &wide)?;
    context.set_disasm(true);
    let compiled = context
        .compile(&**isa, &mut ControlPlane::default())
        .map_err(|e| internal(format!("{:?}", e.inner)))?;
    Ok(compiled.vcode.clone().unwrap_or_default() + &Wide::listing(function, level))
}

fn translated(
    function: &ir::Function,
    isa: &OwnedTargetIsa,
    by: Generator,
    hints: Hints,
    wide: &Wide,
) -> Result<Context, Diagnostic> {
    let mut context = Context::new();
    context.func.name = UserFuncName::user(0, 0);
    context.func.signature.params.push(AbiParam::new(types::I64));
    context.func.signature.returns.push(AbiParam::new(types::I64));
    context.func.signature.call_conv = isa.default_call_conv();
    let mut frontend = FunctionBuilderContext::new();
    let builder = FunctionBuilder::new(&mut context.func, &mut frontend);
    stmt::translate(function, builder, isa, hints, by, wide)?;
    Ok(context)
}

/// The most bytes of stack that code takes: threads have two million, the first one on Windows half of that. Registers by
/// a single pass take the more the longer the code.
const FRAME: u32 = if cfg!(windows) { 128 << 10 } else { 512 << 10 };

/// What goes into the code of a function.
#[derive(Clone, Copy)]
enum Effort {
    /// Everything, for a millisecond of time or a few.
    Full,
    /// Registers by a single pass, since the time of everything else grows faster than the code.
    Quick,
}

/// Statements and operators from which on a function is compiled quickly: some 15 ms of full effort.
const LARGE: usize = 1500;
/// How many statements and operators of a program are compiled with full effort: functions with the deepest loops first.
const LARGE_PROGRAM: usize = 2 * LARGE;

impl Effort {
    fn of(function: &ir::Function) -> Effort {
        if size(&function.body) < LARGE { Effort::Full } else { Effort::Quick }
    }

    /// The effort for each function of a program.
    fn of_each(functions: &[&ir::Function]) -> Vec<Effort> {
        let mut efforts = vec![Effort::Quick; functions.len()];
        let mut deepest_first: Vec<usize> = (0..functions.len()).collect();
        deepest_first.sort_by_key(|&k| std::cmp::Reverse(depth(&functions[k].body)));
        let mut left = LARGE_PROGRAM;
        for k in deepest_first {
            let size = size(&functions[k].body);
            if size < LARGE && size <= left {
                efforts[k] = Effort::Full;
                left -= size;
            }
        }
        efforts
    }
}

/// How many loops are around what is in the most of them.
fn depth(block: &[ir::Stmt]) -> usize {
    let of = |s: &ir::Stmt| {
        let is_loop = matches!(s, ir::Stmt::For { .. } | ir::Stmt::While { .. });
        usize::from(is_loop) + s.blocks().map(depth).max().unwrap_or(0)
    };
    block.iter().map(of).max().unwrap_or(0)
}

/// The number of statements and operators.
fn size(block: &[ir::Stmt]) -> usize {
    let mut count = 0;
    for s in block {
        count += 1;
        s.exprs().for_each(|e| e.walk(&mut |_| count += 1));
        count += s.blocks().map(size).sum::<usize>();
    }
    count
}

/// The code generators for this machine, each made once.
fn isa((level, effort): Generator) -> Result<&'static OwnedTargetIsa, Diagnostic> {
    type Made = [OnceLock<Result<OwnedTargetIsa, String>>; Level::ALL.len()];
    static FULL: Made = [const { OnceLock::new() }; Level::ALL.len()];
    static QUICK: Made = [const { OnceLock::new() }; Level::ALL.len()];
    let at = level as usize;
    let isa = match effort {
        Effort::Full => FULL[at].get_or_init(|| make_isa(level, "speed", "backtracking")),
        Effort::Quick => QUICK[at].get_or_init(|| make_isa(level, "none", "single_pass")),
    };
    isa.as_ref().map_err(|e| {
        Diagnostic::new(DiagnosticCode::UnsupportedBackend, format!("no machine code here: {e}"))
            .help_by("use {} or {}", [Setting::BackendC, Setting::BackendInterpreter])
    })
}

fn make_isa(level: Level, effort: &str, registers: &str) -> Result<OwnedTargetIsa, String> {
    let mut flags = settings::builder();
    let verifier = if cfg!(debug_assertions) { "true" } else { "false" };
    let choices = [
        ("opt_level", effort),
        ("regalloc_algorithm", registers),
        ("enable_verifier", verifier),
        ("unwind_info", "false"),
        ("preserve_frame_pointers", "false"),
        // Windows gives a stack its pages one after the other.
        ("enable_probestack", if cfg!(windows) { "true" } else { "false" }),
        ("probestack_strategy", "inline"),
    ];
    for (name, value) in choices {
        flags.set(name, value).map_err(|e| e.to_string())?;
    }
    let native = level == Level::Native;
    let mut builder = cranelift_native::builder_with_options(native).map_err(str::to_owned)?;
    for (_, features) in FEATURES.iter().filter(|(of, _)| !native && level.allows(*of)) {
        for feature in features.split(' ') {
            builder.enable(&format!("has_{feature}")).map_err(|e| e.to_string())?;
        }
    }
    builder.finish(settings::Flags::new(flags)).map_err(|e| e.to_string())
}

/// What Cranelift calls the features that a level adds.
const FEATURES: [(Level, &str); 3] = [
    (Level::V2, "cmpxchg16b sse3 ssse3 sse41 sse42 popcnt"),
    (Level::V3, "avx avx2 bmi1 bmi2 fma lzcnt"),
    (Level::V4, "avx512f avx512dq avx512vl"),
];

fn internal(message: String) -> Diagnostic {
    Diagnostic::new(DiagnosticCode::Internal, format!("machine code generation: {message}"))
        .help_by(
            "report this; {} or {} may work meanwhile",
            [Setting::BackendC, Setting::BackendInterpreter],
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_ir::ir::parse::parse;

    /// A function of so many statements, in a loop or not.
    fn function(statements: usize, is_loop: bool) -> ir::Function {
        let body = "s = s + 1.0\n".repeat(statements);
        let body = if is_loop { format!("for i in 0..n {{\n{body}}}\n") } else { body };
        let text = format!(
            "fn f(n: i64, y: out [f64]) {{\n  var i: i64\n  var s: f64\n  s = 0.0\n{body}  y[0] = s\n}}\n"
        );
        parse(&text).unwrap_or_else(|d| panic!("{d}"))
    }

    /// Which functions of a program are compiled with full effort.
    fn full(functions: &[ir::Function]) -> Vec<bool> {
        let efforts = Effort::of_each(&functions.iter().collect::<Vec<_>>());
        efforts.iter().map(|effort| matches!(effort, Effort::Full)).collect()
    }

    #[test]
    fn what_is_left_of_a_large_program_is_compiled_quickly() {
        let [small, large] = [10, LARGE].map(|n| function(n, true));
        assert_eq!(full(&[small.clone(), large, small]), [true, false, true]);
        // Each has a few operators for every statement.
        let [plain, nest] = [false, true].map(|is_loop| function(LARGE / 8, is_loop));
        let program = [plain.clone(), plain.clone(), plain, nest];
        assert_eq!(full(&program), [true, true, false, true]);
    }
}
