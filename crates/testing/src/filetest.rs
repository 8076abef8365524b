//! Filetests: a program with its formats, and what is expected of it, as text.
//!
//! ```text
//! # what the test is for
//! A: csr | csc | dcsr | dense            alternatives; each is run
//! y(i) = A(i,j) * x(j)
//! schedule: reorder(j, i)                may be left out
//! kind: compute                          of the kernels in the stages; may be left out
//! strict: ieee                           where implicit zeros are to be divided; may be left out
//! stored: A 9x9 60 8                     of an operand in the stages: dimensions, entries, the longest row
//! ---- ir                                a stage of `tamis explain`
//! ...
//! ---- cuda with __shared__ __sync       the lines of a stage that contain one of these words
//! ...
//! ---- run                               entries of operands, then of results
//! A 2x2 = (0,1):2
//! x 2 = (0):1 (1):3
//! z 2 before = (1):1                     of a result that is added to, or written in part
//! y 2 = (0):6
//! ---- error                             instead: the diagnostic
//! ```
//!
//! A run is evaluated on every backend in every alternative and against the dense reference, the first alternative at each level of
//! the processor and each other one at one of them; one with loops for a GPU, or CUDA C expected, on an emulated one, too. A file has at most 60 lines, and whole texts of C or CUDA C only
//! if its head begins with `# text:`, as few do.
//! C is shown as for processors with AVX-512, whatever this one has. `BLESS=1` rewrites what is expected.

use crate::case::{Case, Operand};
use crate::check::{Outcome, check, result_types};
use crate::reference::{self, Dense, Sizes};
use std::collections::BTreeMap;
use std::fmt::Write;
use tamis::explain::{Explanation, Stage};
use tamis::notation::Program;
use tamis::processor::{self, Level};
use tamis::{Backend, Diagnostic, Kernel, KernelKind, Strictness, Tensor};

/// What tells the value that a result has before a run from the one that is expected of it.
pub(crate) const BEFORE: &str = "before";

/// A filetest as it is written.
struct Filetest {
    header: String,
    formats: Vec<(String, Vec<String>)>,
    dims: BTreeMap<String, u64>,
    shapes: BTreeMap<String, Vec<u64>>,
    about: Vec<About>,
    text: String,
    schedule: String,
    kind: KernelKind,
    strict: Strictness,
    sections: Vec<(String, String)>,
}

/// What the stages know of an operand.
struct About {
    name: String,
    dims: Vec<u64>,
    entries: u64,
    longest: u64,
}

impl About {
    /// Reads `A 9x9 60 8`.
    fn parse(text: &str) -> Result<About, String> {
        let wrong = || format!("expected NAME DIMS ENTRIES LONGEST, not {text}");
        let [name, dims, entries, longest] = text.split_whitespace().collect::<Vec<_>>()[..] else {
            return Err(wrong());
        };
        let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
        Ok(About {
            name: name.to_owned(),
            dims: dims.split('x').map(number).collect::<Result<_, _>>()?,
            entries: number(entries)?,
            longest: number(longest)?,
        })
    }
}

/// Runs a filetest; `Ok` is the text as it should be, which differs from the given one where an
/// expectation does.
pub fn run(text: &str) -> Result<String, String> {
    let test = parse(text)?;
    let mut out = test.header.clone();
    for (name, expected) in &test.sections {
        let _ = writeln!(out, "---- {name}");
        let got = match name.as_str() {
            "run" => test.run(expected)?,
            "error" => test.error(expected),
            stage => match stage.split_once(" with ") {
                Some((stage, words)) => excerpt(&test.stage(stage)?, words),
                None => test.stage(stage)?,
            },
        };
        out.push_str(got.trim_end());
        out.push('\n');
    }
    Ok(out)
}

/// The lines of a text that contain one of these words.
fn excerpt(text: &str, words: &str) -> String {
    let shown = |line: &&str| words.split_whitespace().any(|word| line.contains(word));
    text.lines().filter(shown).flat_map(|line| [line, "\n"]).collect()
}

/// A stage of the program of a filetest.
pub fn stage(text: &str, name: &str) -> Result<String, String> {
    parse(text)?.stage(name)
}

/// The cases that the run sections of a filetest ask for, one per alternative of its formats.
pub fn cases(text: &str) -> Result<Vec<Case>, String> {
    let test = parse(text)?;
    let results: Vec<String> = tamis::notation::parse(&test.text)
        .map(|p| p.results().into_iter().map(|id| p.tensors[id].name.clone()).collect())
        .map_err(|d| d.to_string())?;
    let mut cases = vec![];
    for (_, section) in test.sections.iter().filter(|(name, _)| name == "run") {
        let lines = section.lines().filter(|l| !l.trim().is_empty());
        let values: Vec<(Operand, bool)> = lines.map(entries).collect::<Result<_, _>>()?;
        let is_given = |(o, before): &(Operand, bool)| *before || !results.contains(&o.name);
        let operands: Vec<Operand> =
            values.into_iter().filter(is_given).map(|(operand, _)| operand).collect();
        cases.extend((0..test.alternatives()).map(|k| test.case(&operands, k)));
    }
    Ok(cases)
}

fn parse(text: &str) -> Result<Filetest, String> {
    let (head, rest) = text.split_once("---- ").ok_or("a filetest needs a section")?;
    if !head.starts_with('#') {
        return Err("the first line says what the test is for, after a #".to_owned());
    }
    let mut test = Filetest {
        header: head.to_owned(),
        formats: vec![],
        dims: BTreeMap::new(),
        shapes: BTreeMap::new(),
        about: vec![],
        text: String::new(),
        schedule: String::new(),
        kind: KernelKind::Fused,
        strict: Strictness::Sparse,
        sections: vec![],
    };
    for line in head.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty()) {
        let declared = line.split_once(": ").filter(|(name, _)| is_name(name));
        let sized = line.split_once(" = ").and_then(|(n, v)| {
            let size: Result<Vec<u64>, _> = v.trim().split('x').map(str::parse).collect();
            Some((n, size.ok()?))
        });
        if let Some(("schedule", commands)) = declared {
            let separator = if test.schedule.is_empty() { "" } else { "; " };
            test.schedule.push_str(&format!("{separator}{}", commands.trim()));
        } else if let Some(("stored", numbers)) = declared {
            test.about.push(About::parse(numbers)?);
        } else if let Some(("kind", kind)) = declared {
            let unknown = format!("there is no kind {kind}");
            test.kind = KernelKind::parse(kind.trim()).ok_or(unknown)?;
        } else if let Some(("strict", "ieee")) = declared {
            test.strict = Strictness::Ieee;
        } else if let Some((name, formats)) = declared {
            let formats = formats.split('|').map(|f| f.trim().to_owned()).collect();
            test.formats.push((name.to_owned(), formats));
        } else if let Some((name, size)) = sized.filter(|(n, _)| is_name(n) && test.text.is_empty())
        {
            match size[..] {
                [size] => drop(test.dims.insert(name.to_owned(), size)),
                _ => drop(test.shapes.insert(name.to_owned(), size)),
            }
        } else {
            test.text.push_str(line);
            test.text.push('\n');
        }
    }
    test.text = test.text.trim_end().to_owned();
    for section in rest.split("\n---- ") {
        let (name, body) = section.split_once('\n').unwrap_or((section, ""));
        test.sections.push((name.trim().to_owned(), body.to_owned()));
    }
    Ok(test)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

impl Filetest {
    /// Whether a GPU is to run some loop.
    fn is_for_gpu(&self) -> bool {
        self.schedule.contains("gpu_")
            || self.sections.iter().any(|(name, _)| name.starts_with("cuda"))
    }

    fn alternatives(&self) -> usize {
        self.formats.iter().map(|(_, f)| f.len()).max().unwrap_or(1)
    }

    fn format(&self, name: &str, alternative: usize) -> Option<&str> {
        let (_, formats) = self.formats.iter().find(|(n, _)| n == name)?;
        Some(&formats[alternative % formats.len()])
    }

    /// The case of an alternative with these operands.
    fn case(&self, operands: &[Operand], alternative: usize) -> Case {
        let operands: Vec<Operand> = operands
            .iter()
            .map(|o| Operand {
                format: self.format(&o.name, alternative).unwrap_or("dense").to_owned(),
                ..o.clone()
            })
            .collect();
        let is_operand = |name: &str| operands.iter().any(|o| o.name == name);
        let results = self
            .formats
            .iter()
            .filter(|(name, _)| !is_operand(name))
            .filter_map(|(name, _)| {
                Some((name.clone(), self.format(name, alternative)?.to_owned()))
            })
            .collect();
        // A vector is sized like an index variable.
        let is_tensor = |name: &str| self.text.contains(&format!("{name}("));
        let (mut dims, mut shapes) = (self.dims.clone(), self.shapes.clone());
        shapes.extend(
            self.dims.iter().filter(|(n, _)| is_tensor(n)).map(|(n, &d)| (n.clone(), vec![d])),
        );
        dims.retain(|name, _| !is_tensor(name));
        let (text, schedule) = (self.text.clone(), self.schedule.clone());
        Case { text, operands, results, dims, shapes, schedule, strict: self.strict }
    }

    fn stage(&self, name: &str) -> Result<String, String> {
        let stage = Stage::parse(name).ok_or(format!("there is no stage {name}"))?;
        let attempt = || -> Result<String, Diagnostic> {
            let program = tamis::notation::parse(&self.text)?;
            let mut formats = BTreeMap::new();
            for (name, texts) in &self.formats {
                let order = program.tensor(name).map(|id| program.tensors[id].order);
                formats.insert(name.clone(), tamis::format::parse(&texts[0], order)?);
            }
            let schedule = tamis::schedule::parse(&self.schedule)?;
            let mut options =
                tamis::Options { schedule, strict: self.strict, ..tamis::Options::default() };
            let told = |of: fn(&About) -> u64| -> BTreeMap<String, u64> {
                self.about.iter().map(|about| (about.name.clone(), of(about))).collect()
            };
            let (entries, longest) = (told(|a| a.entries), told(|a| a.longest));
            options.shapes.extend(self.about.iter().map(|a| (a.name.clone(), a.dims.clone())));
            let explanation = Explanation::of(&program, &formats, &options)?;
            let explanation = explanation.of_entries(&entries).of_longest(&longest);
            explanation.of_kind(self.kind).of_level(Level::V4).stage(stage)
        };
        attempt().map_err(|d| d.to_string())
    }

    fn run(&self, expected: &str) -> Result<String, String> {
        let program = tamis::notation::parse(&self.text).map_err(|d| d.to_string())?;
        let results: Vec<String> =
            program.results().into_iter().map(|id| program.tensors[id].name.clone()).collect();
        let mut out = String::new();
        let mut operands = vec![];
        for line in expected.lines().filter(|l| !l.trim().is_empty()) {
            let (operand, before) = entries(line)?;
            if before || !results.contains(&operand.name) {
                operands.push(operand);
                let _ = writeln!(out, "{line}");
            }
        }
        for alternative in 0..self.alternatives() {
            let case = self.case(&operands, alternative);
            for backend in [Backend::Jit, Backend::Interpreter, Backend::C, Backend::CudaEmulated] {
                let compiles = match backend {
                    Backend::C => alternative == 0 && tamis::has_c_compiler(),
                    Backend::CudaEmulated => self.is_for_gpu() && tamis::has_c_compiler(),
                    _ => true,
                };
                if !compiles {
                    continue;
                }
                on_backend(&case, backend, alternative)?;
            }
        }
        let case = self.case(&operands, 0);
        let values = reference_of(&case, &program).map_err(|d| d.to_string())?;
        for name in results {
            let _ = writeln!(out, "{}", line(&name, &values[&name]));
        }
        Ok(out)
    }

    /// The diagnostic that the program meets, given what the section says of operands.
    fn error(&self, expected: &str) -> String {
        let mut out = String::new();
        let mut operands = vec![];
        for line in expected.lines() {
            if let Ok((operand, _)) = entries(line) {
                operands.push(operand);
                let _ = writeln!(out, "{line}");
            }
        }
        let case = self.case(&operands, 0);
        let attempt = || -> Result<(), Diagnostic> {
            let options = case.options(Backend::Jit)?;
            let tensors = case.tensors()?;
            let operands: Vec<(&str, &Tensor)> =
                tensors.iter().map(|(n, t)| (n.as_str(), t)).collect();
            Kernel::compile(&case.text, &operands, &options)?.run(&operands)?;
            Ok(())
        };
        match attempt() {
            Ok(()) => out.push_str("none"),
            Err(d) => out.push_str(&d.to_string()),
        }
        out
    }
}

/// Checks a case on a backend; in machine code the first alternative at each level of the processor, and the
/// k-th at the k-th level, from the lowest one again after the highest.
fn on_backend(case: &Case, backend: Backend, alternative: usize) -> Result<(), String> {
    let asked = processor::level().map_err(|d| d.to_string())?;
    let all: Vec<Level> = Level::supported().collect();
    let levels = match (backend, alternative) {
        (Backend::Jit, 0) => all,
        (Backend::Jit, k) => vec![all[k % all.len()]],
        _ => vec![asked],
    };
    for level in levels {
        processor::set_level(level).map_err(|d| d.to_string())?;
        let outcome = check(case, backend);
        if outcome != Outcome::Right {
            let on = format!("{} at {}", backend.name(), level.name());
            let formats = format!("{:?} {:?}", case.operands, case.results);
            return Err(format!("{outcome:?} on {on} with {formats}"));
        }
    }
    processor::set_level(asked).map_err(|d| d.to_string())
}

/// What the dense reference says of a case.
fn reference_of(case: &Case, program: &Program) -> Result<BTreeMap<String, Dense>, Diagnostic> {
    let tensors = case.tensors()?;
    let operands: Vec<(&str, &Tensor)> = tensors.iter().map(|(n, t)| (n.as_str(), t)).collect();
    let kernel = Kernel::compile(&case.text, &operands, &case.options(Backend::Interpreter)?)?;
    let dense = tensors.iter().map(|(n, t)| (n.clone(), Dense::of(t))).collect();
    let sizes = Sizes {
        dims: case.dims.clone(),
        shapes: case.shapes.clone(),
        types: result_types(&kernel),
        strictness: case.strict,
        ..Sizes::default()
    };
    reference::evaluate(program, &dense, &sizes)
}

/// Reads `A 2x2 = (0,1):2 (1,1):3`, and whether it is what a result has before: `A 2x2 before = (0,1):2`.
fn entries(line: &str) -> Result<(Operand, bool), String> {
    let wrong = || format!("expected NAME DIMS [before] = (COORDINATE):VALUE .., not {line}");
    let (head, list) = line.split_once('=').ok_or_else(wrong)?;
    let mut head = head.split_whitespace();
    let before = head.clone().last() == Some(BEFORE);
    let name = head.next().filter(|n| is_name(n)).ok_or_else(wrong)?.to_owned();
    let dims: Vec<u64> = match head.next().filter(|text| *text != BEFORE) {
        Some(dims) => {
            dims.split('x').map(|d| d.parse().map_err(|_| wrong())).collect::<Result<_, _>>()?
        }
        None => vec![],
    };
    let mut entries = vec![];
    for entry in list.split_whitespace() {
        let (place, value) = entry.split_once(':').ok_or_else(wrong)?;
        let inner = place.strip_prefix('(').and_then(|p| p.strip_suffix(')')).ok_or_else(wrong)?;
        let place: Vec<u64> = inner
            .split(',')
            .filter(|c| !c.is_empty())
            .map(|c| c.parse().map_err(|_| wrong()))
            .collect::<Result<_, _>>()?;
        entries.push((place, value.parse().map_err(|_| wrong())?));
    }
    Ok((Operand { name, format: "dense".to_owned(), dims, entries }, before))
}

/// Writes the elements that are not 0.
fn line(name: &str, dense: &Dense) -> String {
    let dims: Vec<String> = dense.dims.iter().map(u64::to_string).collect();
    let mut out = format!("{name} {}", dims.join("x")).trim_end().to_owned() + " =";
    for (at, value) in dense.vals.iter().enumerate().filter(|(_, v)| v.is_true()) {
        let mut rest = at as u64;
        let mut place = vec![String::new(); dense.dims.len()];
        for (p, &d) in place.iter_mut().zip(&dense.dims).rev() {
            *p = (rest % d).to_string();
            rest /= d;
        }
        let _ = write!(out, " ({}):{value}", place.join(","));
    }
    out
}
