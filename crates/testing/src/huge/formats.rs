//! Formats for tensors of huge dimensions: random ones that take little memory.

use super::embedding::Embedding;
use crate::case::{Case, Operand};
use crate::formats;
use crate::number::Number;
use crate::random::Random;
use std::collections::BTreeSet;

/// How often a format is drawn before a list of coordinates has to do.
const ATTEMPTS: usize = 40;
/// The most bytes of an operand, but for now and then.
const MOST_BYTES: usize = 64 << 10;
/// The most bytes of any operand.
const MOST_BYTES_EVER: usize = 4 << 20;

/// Gives operands and results of a case formats that they can have.
pub fn suit(random: &mut Random, case: &mut Case, embedding: &Embedding) {
    for operand in &mut case.operands {
        suit_operand(random, operand);
    }
    for (name, format) in &mut case.results {
        let written = embedding.program.tensor(name).map(|t| embedding.program.tensors[t].order);
        let Some(classes) = written.and_then(|n| embedding.classes.of_tensor(name, n)) else {
            continue;
        };
        let dims: Vec<u64> = classes.iter().map(|&class| embedding.huge.dims[class]).collect();
        // Most results have entries that are far from each other.
        let place = |part: u64| dims.iter().map(|d| (d - 1) / 2 * part).collect::<Vec<u64>>();
        let has_elements = !dims.contains(&0);
        let places: BTreeSet<Vec<u64>> = (0..3).filter(|_| has_elements).map(place).collect();
        let entries = places.into_iter().map(|place| (place, Number::from(1.0))).collect();
        let mut operand = Operand { name: name.clone(), format: format.clone(), dims, entries };
        suit_operand(random, &mut operand);
        *format = operand.format;
    }
}

fn suit_operand(random: &mut Random, operand: &mut Operand) {
    let order = operand.dims.len();
    let braces = braces(random, operand);
    let levels = operand.format.find('{').unwrap_or(operand.format.len());
    let mut levels = operand.format[..levels].to_owned();
    let most = if random.one_in(16) { MOST_BYTES_EVER } else { MOST_BYTES };
    for _ in 0..ATTEMPTS {
        operand.format = format!("{levels}{braces}");
        if operand.tensor().is_ok_and(|t| t.bytes() <= most) {
            return;
        }
        levels = formats::format(random, order);
    }
    let list = ["dense", "sparse", "coo", "coo"][order];
    operand.format = format!("{list}{braces}");
}

/// Type and fill value of an operand, with coordinates that are wide enough.
fn braces(random: &mut Random, operand: &Operand) -> String {
    let braces = operand.format.find('{').map_or("{}", |at| &operand.format[at..]);
    let is_narrow = operand.dims.iter().all(|&d| d <= 1 << 31);
    match braces.contains("crd:") || is_narrow && !random.one_in(4) {
        true => braces.to_owned(),
        false => braces.replace('}', ", crd: i64}").replace("{, ", "{"),
    }
}
