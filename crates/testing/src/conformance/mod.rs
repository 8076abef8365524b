//! The conformance suite of level formats: what a format's code does is what its arrays mean.
//!
//! ```text
//! compositions   the level alone, above and below others, of blocks, of diagonals
//! functions      the code of its level functions = `LevelFormat::children`
//! tensors        packed, converted there and back = the entries that went in
//! kernels        random programs whose tensors have the level = the dense reference
//! ```
//!
//! A level format of another crate is held to the same: see `docs/guide/extend/level-format.md`.

mod compositions;
mod functions;

use crate::case::Operand;
use crate::check::{Outcome, check};
use crate::formats;
use crate::generate::case_in;
use crate::random::Random;
use crate::reference::Dense;
pub use compositions::compositions;
use tamis::level::{LevelFormat, LevelKind, register};
use tamis::{Backend, DataType, Diagnostic, Tensor, ToFormat};

/// How many random kernels are run.
const KERNELS: u64 = 200;

/// The dimensions of the tensors that are packed; blocks of 2 and 3 do not divide all of them.
const SHAPES: [&[u64]; 11] = [
    &[0],
    &[1],
    &[7],
    &[4, 5],
    &[5, 1],
    &[1, 6],
    &[0, 3],
    &[3, 0],
    &[7, 7],
    &[3, 4, 2],
    &[2, 1, 3],
];

/// What was checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Report {
    /// Formats that have the level.
    pub formats: usize,
    /// Tensors that were packed in them.
    pub tensors: usize,
    /// Random kernels that were right.
    pub kernels: usize,
}

/// Holds a level format to its promises; it is registered if it is not yet. The error is the first
/// thing that is wrong.
pub fn conformance(format: &'static dyn LevelFormat) -> Result<Report, String> {
    register(format);
    let kind = LevelKind::parse(format.name()).ok_or("the format's name cannot be read")?;
    let formats: Vec<Vec<String>> = (0..=3).map(|order| compositions(kind, order)).collect();
    let count = formats.iter().map(Vec::len).sum();
    if count == 0 {
        return Err(format!("no tensor can be stored with a {} level", format.name()));
    }
    let mut random = Random::new(1);
    let mut tensors = 0;
    for dims in SHAPES {
        for text in &formats[dims.len()] {
            let density = *random.pick(&[0, 40, 40, 100]);
            let operand = operand(&mut random, text, dims, density);
            let broken = |reason| format!("{text} of {dims:?}, {density} % full: {reason}");
            tensor(&mut random, &operand, kind).map_err(broken)?;
            tensors += 1;
        }
    }
    let kernels = kernels(&formats)?;
    Ok(Report { formats: count, tensors, kernels })
}

/// A tensor of random entries.
fn operand(random: &mut Random, format: &str, dims: &[u64], density: u64) -> Operand {
    let size: u64 = dims.iter().product();
    let mut entries = vec![];
    for at in 0..size {
        if (random.below(100) as u64) < density {
            let mut rest = at;
            let mut place = vec![0; dims.len()];
            for (c, d) in place.iter_mut().zip(dims).rev() {
                (*c, rest) = (rest % d, rest / d);
            }
            entries.push((place, (1.0 + random.below(5) as f64).into()));
        }
    }
    random.shuffle(&mut entries);
    Operand { name: "A".to_owned(), format: format.to_owned(), dims: dims.to_vec(), entries }
}

/// Packs a tensor, compares what its arrays mean with the entries and with what the level's code
/// makes of them, and converts it there and back.
fn tensor(random: &mut Random, operand: &Operand, kind: LevelKind) -> Result<(), String> {
    let text = |d: Diagnostic| d.to_string();
    let packed = operand.tensor().map_err(text)?;
    let mut expected = Dense::filled(&operand.dims, 0.0.into());
    for (place, value) in &operand.entries {
        expected.set(place, *value);
    }
    same("packing", &packed, &expected)?;
    for (k, level) in packed.storage().format.levels().iter().enumerate() {
        if level.kind.name() == kind.name() {
            let broken = |reason| format!("level {}: {reason}", k + 1);
            functions::compare(&packed, k).map_err(broken)?;
        }
    }
    let others: &[&str] = match operand.dims.len() {
        1 => &["dense", "sparse", "hash"],
        2 => &["dense", "csc", "coo(nonordered)", "dok"],
        _ => &["dense", "csf", "coo"],
    };
    let other = *random.pick(others);
    let spec = tamis::format::parse(other, Some(operand.dims.len())).map_err(text)?;
    let storage = spec.resolve(DataType::F64).map_err(text)?;
    let there = packed.to_format(&storage).map_err(text)?;
    same(&format!("to {other}"), &there, &expected)?;
    let back = there.to_format(packed.storage()).map_err(text)?;
    same(&format!("from {other}"), &back, &expected)
}

/// Checks that a tensor is valid and has the expected elements.
fn same(what: &str, tensor: &Tensor, expected: &Dense) -> Result<(), String> {
    let (dims, storage) = (tensor.dims().to_vec(), tensor.storage().clone());
    let (levels, vals) = (tensor.levels().to_vec(), tensor.vals().clone());
    Tensor::try_from_parts(dims, storage, levels, vals).map_err(|d| format!("{what}: {d}"))?;
    let got = Dense::of(tensor);
    match (&got.dims, &got.vals) == (&expected.dims, &expected.vals) {
        true => Ok(()),
        false => Err(format!("{what}: {:?}, not {:?}", got.vals, expected.vals)),
    }
}

/// Random kernels of tensors that mostly have the level, on the interpreter and in machine code.
fn kernels(compositions: &[Vec<String>]) -> Result<usize, String> {
    let mut right = 0;
    let all = compositions.to_vec();
    let draw = move |random: &mut Random, order: usize| match all.get(order) {
        Some(own) if !own.is_empty() && !random.one_in(4) => random.pick(own).clone(),
        _ => formats::format(random, order),
    };
    for seed in 0..KERNELS {
        let case = case_in(&mut Random::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)), &draw);
        // Machine code of large merges takes long to compile.
        let backend = if seed % 4 == 0 { Backend::Jit } else { Backend::Interpreter };
        match check(&case, backend) {
            Outcome::Right => right += 1,
            Outcome::Invalid => {}
            Outcome::Wrong(problem) => {
                return Err(format!("{problem} on {}\n{case}", backend.name()));
            }
        }
    }
    match right > KERNELS as usize / 3 {
        true => Ok(right),
        false => Err(format!("only {right} of {KERNELS} random kernels are valid")),
    }
}
