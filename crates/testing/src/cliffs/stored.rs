//! Transformations of how tensors are named, sliced and stored, and of how large they are.

use super::sites::one;
use crate::case::{Case, Operand};
use crate::formats;
use crate::random::Random;
use std::collections::BTreeMap;
use tamis_core::format::{self, FormatSpec};
use tamis_core::notation::{Access, Expr, Program, Slice, Slicing};
use tamis_ir::ids::{Id, Mode};

/// How many times as much one format may store as another.
const ALIKE: f64 = 1.5;
/// The same for a hash map, which has up to so many slots for an entry.
const ALIKE_HASHED: f64 = 4.0;
/// So many formats are tried.
const ATTEMPTS: usize = 20;

/// All of a mode, or of each, is sliced.
pub fn sliced(program: &Program, case: &Case, random: &mut Random) -> Option<Program> {
    let all = random.one_in(2);
    one(program, random, &mut |e| {
        let Expr::Access(access) = e else { return None };
        let name = &program.tensors[access.tensor].name;
        let operand = case.operands.iter().find(|o| o.name == *name)?;
        let count = if all { operand.dims.len() } else { operand.dims.len().min(1) };
        let slice = |k: usize| {
            let end = Some(operand.dims[k]);
            (Mode::new(k), Slicing::Taken(Slice::Range { start: Some(0), end, step: 1 }))
        };
        let slices: BTreeMap<Mode, Slicing> = (0..count).map(slice).collect();
        (count > 0).then(|| Expr::Access(Access { slices, ..access.clone() }))
    })
}

/// The names of index variables are permuted.
pub fn renamed_variables(mut program: Program, case: &Case, random: &mut Random) -> Option<Case> {
    let old: Vec<String> = program.vars.iter().map(|v| v.name.clone()).collect();
    let mut new = old.clone();
    random.shuffle(&mut new);
    for (var, name) in program.vars.iter_mut().zip(&new) {
        var.name.clone_from(name);
    }
    let name = |v: &String| old.iter().position(|o| o == v).map_or(v, |at| &new[at]).clone();
    let dims = case.dims.iter().map(|(v, &d)| (name(v), d)).collect();
    (old != new).then(|| Case { text: program.to_string(), dims, ..case.clone() })
}

/// The names of operands are permuted.
pub fn renamed_tensors(mut program: Program, case: &Case, random: &mut Random) -> Option<Case> {
    let old: Vec<String> = case.operands.iter().map(|o| o.name.clone()).collect();
    let is_written = |name: &String| case.results.contains_key(name);
    let mut new = old.clone();
    random.shuffle(&mut new);
    if old == new || old.iter().any(is_written) {
        return None;
    }
    let name = |v: &String| old.iter().position(|o| o == v).map_or(v, |at| &new[at]).clone();
    for tensor in program.tensors.iter_mut() {
        tensor.name = name(&tensor.name);
    }
    let mut operands: Vec<Operand> = case.operands.clone();
    operands.iter_mut().for_each(|o| o.name = name(&o.name));
    Some(Case { text: program.to_string(), operands, ..case.clone() })
}

/// The modes of a tensor get other numbers: the same arrays under other names.
pub fn permuted(mut program: Program, case: &Case, random: &mut Random) -> Option<Case> {
    let is_stored = |name: &str| {
        case.operands.iter().any(|o| o.name == name) || case.results.contains_key(name)
    };
    let orders = program.tensors.enumerate().filter(|(_, t)| t.order > 1 && is_stored(&t.name));
    let tensors: Vec<_> = orders.map(|(id, t)| (id, t.clone())).collect();
    if tensors.is_empty() {
        return None;
    }
    let (id, tensor) = random.pick(&tensors).clone();
    let mut modes: Vec<usize> = (0..tensor.order).collect();
    while modes.is_sorted() {
        random.shuffle(&mut modes);
    }
    let mut new = case.clone();
    for operand in new.operands.iter_mut().filter(|o| o.name == tensor.name) {
        operand.format = permuted_format(&operand.format, &modes)?;
        operand.dims = modes.iter().map(|&m| operand.dims[m]).collect();
        for (place, _) in &mut operand.entries {
            *place = modes.iter().map(|&m| place[m]).collect();
        }
    }
    if let Some(format) = new.results.get_mut(&tensor.name) {
        *format = permuted_format(format, &modes)?;
    }
    let permute =
        |a: &Access| Access { indices: modes.iter().map(|&m| a.indices[m]).collect(), ..a.clone() };
    for statement in &mut program.statements {
        if statement.result.tensor == id {
            statement.result = permute(&statement.result);
        }
    }
    let program = super::sites::each(&program, &mut |e| match e {
        Expr::Access(a) if a.tensor == id => Some(Expr::Access(permute(a))),
        _ => None,
    });
    Some(Case { text: program.to_string(), ..new })
}

fn permuted_format(text: &str, modes: &[usize]) -> Option<String> {
    let spec = format::parse(text, Some(modes.len())).ok()?;
    let modes: Vec<Mode> = modes.iter().map(|&m| Mode::new(m)).collect();
    let format = spec.format.permuted(&modes).ok()?;
    Some(FormatSpec { format, ..spec }.to_string())
}

/// An operand is stored otherwise, with about as many values.
pub fn reformatted(case: &Case, random: &mut Random) -> Option<Case> {
    let with_modes: Vec<usize> =
        (0..case.operands.len()).filter(|&k| !case.operands[k].dims.is_empty()).collect();
    if with_modes.is_empty() {
        return None;
    }
    let at = *random.pick(&with_modes);
    let old = &case.operands[at];
    let stored = |o: &Operand| o.tensor().ok().map(|t| t.vals().len() as f64);
    let braces = old.format.find('{').map_or("", |at| &old.format[at..]);
    let before = stored(old)?;
    for _ in 0..ATTEMPTS {
        let format = format!("{}{braces}", formats::format(random, old.dims.len()));
        if format == old.format {
            continue;
        }
        let new = Operand { format, ..old.clone() };
        let Some(after) = stored(&new) else { continue };
        let is_hashed = ["hash", "dok"]
            .iter()
            .any(|name| old.format.contains(name) || new.format.contains(name));
        let alike = if is_hashed { ALIKE_HASHED } else { ALIKE };
        if after.max(before) <= alike * after.min(before) {
            let mut case = case.clone();
            case.operands[at] = new;
            return Some(case);
        }
    }
    None
}

/// A variable gets twice the coordinates, with the entries once more for the second half.
pub fn doubled(program: &Program, case: &Case, random: &mut Random) -> Option<Case> {
    let vars: Vec<_> = program.vars.ids().collect();
    if vars.is_empty() {
        return None;
    }
    let var = *random.pick(&vars);
    let mut modes: BTreeMap<String, Option<usize>> = BTreeMap::new();
    for statement in &program.statements {
        for access in statement.value.accesses().into_iter().chain([&statement.result]) {
            let name = &program.tensors[access.tensor].name;
            let mut at = (0..access.indices.len()).filter(|&k| access.indices[k] == var);
            let mode = at.next();
            if at.next().is_some() || *modes.entry(name.clone()).or_insert(mode) != mode {
                return None;
            }
        }
    }
    let mut new = case.clone();
    for operand in &mut new.operands {
        let Some(&Some(mode)) = modes.get(&operand.name) else { continue };
        let count = operand.dims[mode];
        operand.dims[mode] = 2 * count;
        let more = operand.entries.clone();
        operand.entries.extend(more.into_iter().map(|(mut place, value)| {
            place[mode] += count;
            (place, value)
        }));
    }
    // A diagonal more may store a row more for each of its entries: that is no linear program.
    let stored = |case: &Case| -> Option<usize> {
        case.operands.iter().map(|o| o.tensor().ok().map(|t| t.vals().len())).sum()
    };
    if stored(&new)? > 2 * stored(case)? {
        return None;
    }
    let size = new.dims.get_mut(&program.vars[var].name)?;
    *size *= 2;
    Some(new)
}
