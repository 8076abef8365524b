//! `tamis explain`: the stages of compilation as text.

use crate::args::{ExplainArgs, TensorArgs};
use crate::failure::{Failure, invalid, suggested};
use crate::introduction::introduction;
use crate::lists::Readers;
use crate::ranks::{Layout, Operands, Ranks, named};
use crate::{inputs, json, streams};
use serde_json::{Map, json};
use std::collections::BTreeMap;
use std::io::Write;
use tamis::dist::Network;
use tamis::explain::{Explanation, Stage};
use tamis::notation::Program;
use tamis::{FormatSpec, Kernel, KernelKind, Options, Schedule};
use tamis_io::FileFormat;

/// Runs the command.
pub fn explain(args: &ExplainArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let program = tamis::notation::parse(&args.expression)?;
    let schedule = tamis::schedule::parse(&args.schedule)?;
    let (texts, forms): (Vec<String>, Vec<String>) =
        args.tensors.formats.iter().cloned().partition(|text| text.contains('='));
    let is_form = |form: &String| FileFormat::parse(form).is_none();
    let forms: Vec<String> = forms.into_iter().filter(is_form).collect();
    let formats = inputs::formats(&program, &texts)?;
    inputs::check_standard(&args.tensors.formats, args.tensors.inputs.iter())?;
    let placements = inputs::placements(&program, &texts)?;
    if let (None, Some((name, _))) = (args.ranks, placements.first_key_value()) {
        let help = "add --ranks N, or leave out what stands behind @";
        return Err(invalid(&format!("-f {name}"), "there are no ranks to lie on", help));
    }
    let mut stages = vec![];
    for name in &args.emit {
        stages.push(Stage::parse(name.trim()).ok_or_else(|| {
            let known: Vec<&str> = Stage::ALL.iter().map(|s| s.name()).collect();
            invalid(
                &format!("--emit {name}"),
                "there is no such stage",
                &suggested(name, &known, "use one of"),
            )
        })?);
    }
    let is_dot = is_dot(&forms, &stages, args.json)?;
    let kind = KernelKind::parse(&args.kind).ok_or_else(|| {
        let known: Vec<&str> = KernelKind::ALL.iter().map(|kind| kind.name()).collect();
        invalid(
            &format!("--kind {}", args.kind),
            "there is no such kind of kernels",
            &suggested(&args.kind, &known, "use one of"),
        )
    })?;
    let (explanation, formats) = explanation(&program, &args.tensors, &formats, schedule)?;
    let mut explanation = explanation.of_kind(kind);
    if let Some(ranks) = args.ranks {
        explanation = explanation.of_ranks(forecast(&program, args, ranks, &stages)?);
    }
    if args.json {
        return as_json(&explanation, &stages, out);
    }
    if is_dot {
        return Ok(write!(out, "{}", explanation.graphviz()?)?);
    }
    if let [stage] = stages[..] {
        write!(out, "{}", explanation.stage(stage)?)?;
        return Ok(());
    }
    if stages.is_empty() {
        write!(out, "{}", introduction(&program, &formats)?)?;
        return all(&explanation, out);
    }
    for stage in stages {
        writeln!(out, "---- {}", stage.name())?;
        write!(out, "{}", explanation.stage(stage)?)?;
    }
    Ok(())
}

/// More ranks than this are not foretold: who sends to whom is found for each pair.
const MOST_RANKS: usize = 1 << 14;

/// What so many ranks would send each other, as text.
fn forecast(
    program: &Program,
    args: &ExplainArgs,
    ranks: usize,
    stages: &[Stage],
) -> Result<String, Failure> {
    let option = format!("--ranks {ranks}");
    if !(1..=MOST_RANKS).contains(&ranks) {
        let help = format!("use 1 to {MOST_RANKS}");
        return Err(invalid(&option, "so many ranks are not foretold", &help));
    }
    if !stages.is_empty() && !stages.contains(&Stage::Comm) {
        return Err(invalid(&option, "comm alone tells of ranks", "write --emit comm"));
    }
    if let Some(file) = streams::first_read_once(&args.tensors.inputs) {
        let reason = format!("operands are read twice, {file} once");
        return Err(invalid(&option, &reason, "give files by -i"));
    }
    let network = args.network.as_deref().map(Network::parse).transpose()?;
    let dtype = inputs::datatype(&args.tensors)?;
    let texts: Vec<String> =
        args.tensors.formats.iter().filter(|text| text.contains('=')).cloned().collect();
    let formats = inputs::formats(program, &texts)?;
    let placements = inputs::placements(program, &texts)?;
    let schedule = tamis::schedule::parse(&args.schedule)?;
    let layout = Layout::of(args.grid.as_deref(), &schedule, placements, ranks)?;
    if layout.grid.dimensions() > 1 {
        let reason = "what ranks in a grid of several axes send is not foretold";
        return Err(invalid(&option, reason, "name one axis"));
    }
    let readers = Readers::Ranks(Ranks::One);
    let held = inputs::operands(program, &args.tensors, &formats, dtype, readers)?;
    let Operands::Whole(held) = Operands::on(Ranks::One, held, &layout)? else {
        unreachable!("one process has all")
    };
    let operands = named(&held);
    let dimensions = crate::dimensions::dimensions(program, &args.tensors.dimensions)?;
    let options = Options {
        results: formats.into_iter().filter(|(n, _)| inputs::is_result(program, n)).collect(),
        datatype: dtype,
        dims: dimensions.vars,
        shapes: dimensions.tensors,
        schedule,
        strict: inputs::strictness(&args.tensors),
        // As a rank computes.
        threads: Some(1),
        ..Options::default()
    };
    let kernel = Kernel::of_program(program.clone(), &operands, &options)?;
    Ok(kernel.forecast(ranks, &operands, &layout.placements)?.text(network))
}

/// A program with what the command line says of its tensors and loops, and the formats of operands,
/// by name, that it fixes.
pub fn explanation<'p>(
    program: &'p Program,
    tensors: &TensorArgs,
    formats: &BTreeMap<String, FormatSpec>,
    schedule: Schedule,
) -> Result<(Explanation<'p>, BTreeMap<String, FormatSpec>), Failure> {
    let dtype = inputs::datatype(tensors)?;
    let known = inputs::storages(program, tensors, formats, dtype)?;
    let options = Options {
        datatype: dtype,
        dims: known.dimensions.vars,
        shapes: known.dimensions.tensors,
        schedule,
        strict: inputs::strictness(tensors),
        ..Options::default()
    };
    let explanation = Explanation::of(program, &known.formats, &options)?;
    let explanation = explanation.of_earlier(&known.earlier)?;
    let explanation = explanation.of_entries(&known.values).of_longest(&known.longest);
    Ok((explanation, known.formats))
}

/// All stages, of C, CUDA and machine code only how long they are.
fn all(explanation: &Explanation, out: &mut dyn Write) -> Result<(), Failure> {
    for stage in Stage::ALL {
        let name = stage.name();
        let text = match stage {
            Stage::C | Stage::Cuda | Stage::Asm => match explanation.stage(stage) {
                Ok(text) => format!("# {} lines: --emit {name}\n", text.lines().count()),
                Err(why) => format!("# {}\n", why.message),
            },
            _ => explanation.stage(stage)?,
        };
        write!(out, "---- {name}\n{text}")?;
    }
    Ok(())
}

/// The text of each stage, or null for a stage that this machine cannot show.
fn as_json(
    explanation: &Explanation,
    stages: &[Stage],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let stages = if stages.is_empty() { &Stage::ALL } else { stages };
    let mut texts = Map::new();
    for stage in stages {
        let text = match (stage, explanation.stage(*stage)) {
            (Stage::C | Stage::Cuda | Stage::Asm, text) => json!(text.ok()),
            (_, text) => json!(text?),
        };
        texts.insert(stage.name().to_owned(), text);
    }
    Ok(json::print(out, json!({"stages": texts}))?)
}

/// Whether the graph is wanted in the language of Graphviz: a `--format` that names no tensor.
fn is_dot(forms: &[String], stages: &[Stage], is_json: bool) -> Result<bool, Failure> {
    let Some(form) = forms.last() else { return Ok(false) };
    let option = format!("--format {form}");
    match (form.as_str(), stages) {
        ("text" | "dot", _) if forms.len() > 1 => {
            Err(invalid(&option, "the form of the graph is given twice", "give it once"))
        }
        ("text" | "dot", _) if is_json => {
            let reason = "--json has each stage as its text";
            Err(invalid(&option, reason, "leave out --json or --format"))
        }
        ("text", _) => Ok(false),
        ("dot", [Stage::Graph]) => Ok(true),
        ("dot", _) => Err(invalid(&option, "only the graph is drawn", "write --emit graph")),
        _ => Err(invalid(
            &option,
            "expected NAME=VALUE, or the form of the graph",
            "write -f A=csr for a tensor; --format text or dot for the graph, mtx or tns for -i A=-",
        )),
    }
}
