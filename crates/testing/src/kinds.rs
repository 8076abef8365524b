//! Assembling results and computing their values apart, against computing them at once.
//!
//! ```text
//! assemble                      the entries that run gives, all at the fill value
//! compute on these entries      what run gives
//! compute on any entries        what the reference has there
//! ```

use crate::check::keeps_promises;
use crate::number::Number;
use crate::reference::Dense;
use std::collections::BTreeMap;
use tamis::level::Part;
use tamis::{Coordinates, Diagnostic, Duplicates, Kernel, Tensor, Values};

type Named = [(String, Tensor)];

/// What is wrong with the kinds of a kernel, in one line; `results` are those of run.
pub fn check(
    kernel: &Kernel,
    operands: &[(&str, &Tensor)],
    results: &Named,
    expected: &BTreeMap<String, Dense>,
) -> Result<Option<String>, Diagnostic> {
    if results.iter().all(|(_, tensor)| tensor.storage().format.is_full()) {
        return Ok(None);
    }
    let assembled = kernel.assemble(operands)?;
    for ((name, whole), (_, pattern)) in results.iter().zip(&assembled) {
        if let Some(problem) = misses(name, whole, pattern)? {
            return Ok(Some(problem));
        }
    }
    let patterns = names(&assembled);
    for (name, tensor) in &kernel.compute(operands, &patterns)? {
        if let Some(problem) = differs(name, tensor, &expected[name], &|_| true)? {
            return Ok(Some(format!("computed again, {problem}")));
        }
    }
    // What a later statement reads of a result is what was computed of it.
    if kernel.program().statements.len() > 1 {
        return Ok(None);
    }
    for every in [2, 3] {
        let Some(patterns) = some_entries(results, every) else { continue };
        for (name, tensor) in &kernel.compute(operands, &names(&patterns))? {
            let (_, pattern) = patterns.iter().find(|(n, _)| n == name).expect("of the same names");
            let full = pattern.storage().format.is_full();
            let stored = entries(pattern);
            let has = |at: usize| full || stored.binary_search(&at).is_ok();
            if let Some(problem) = differs(name, tensor, &expected[name], &has)? {
                return Ok(Some(format!("computed at entries {stored:?}, {problem}")));
            }
            if entries(tensor) != stored {
                return Ok(Some(format!("{name} has other entries than its pattern")));
            }
        }
    }
    Ok(None)
}

fn names(tensors: &Named) -> Vec<(&str, &Tensor)> {
    tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect()
}

/// What is wrong with a pattern beside the result that was computed at once.
fn misses(name: &str, whole: &Tensor, pattern: &Tensor) -> Result<Option<String>, Diagnostic> {
    keeps_promises(pattern)?;
    let arrays = |t: &Tensor| {
        let levels = t.levels().iter().flat_map(|l| Part::ALL.map(|part| l.part(part).cloned()));
        levels.map(|array| array.map(|a| (0..a.len()).map(|at| a.index(at)).collect())).collect()
    };
    let (some, others): (Vec<Option<Vec<i64>>>, _) = (arrays(whole), arrays(pattern));
    if some != others {
        return Ok(Some(format!("{name} has the levels {some:?}, and assembled {others:?}")));
    }
    let fill = Number::of(pattern.storage().fill);
    let list = pattern.to_coordinates().expect("room for a list");
    let values = list.vals();
    let unfilled = (0..values.len()).any(|n| !Number::of(values.get(n)).is_same(fill));
    Ok(unfilled.then(|| format!("{name} is assembled with other values than the fill")))
}

/// What is wrong with a result that has values of a reference at some coordinates, and fill elsewhere.
fn differs(
    name: &str,
    tensor: &Tensor,
    expected: &Dense,
    has: &dyn Fn(usize) -> bool,
) -> Result<Option<String>, Diagnostic> {
    Tensor::try_from_parts(
        tensor.dims().to_vec(),
        tensor.storage().clone(),
        tensor.levels().to_vec(),
        tensor.vals().clone(),
    )?;
    let got = Dense::of(tensor);
    let fill = Number::of(tensor.storage().fill);
    for (at, (&got, &value)) in got.vals.iter().zip(&expected.vals).enumerate() {
        let want = if has(at) { value } else { fill };
        if !got.is_same(want) {
            return Ok(Some(format!("{name} at {at} is {got}, not {want}")));
        }
    }
    Ok(None)
}

/// Tensors that are stored as these, with one of so many elements; `None` where no tensor of the
/// format has them.
fn some_entries(results: &Named, every: u64) -> Option<Vec<(String, Tensor)>> {
    let pattern = |(name, tensor): &(String, Tensor)| {
        let dims = tensor.dims().to_vec();
        let size = dims.iter().product::<u64>();
        let chosen = (0..size).filter(|at| (at * 7 + at / 5).is_multiple_of(every));
        let mut crds = vec![vec![]; dims.len()];
        let mut count = 0;
        for mut at in chosen {
            count += 1;
            for (crd, &d) in crds.iter_mut().zip(&dims).rev() {
                crd.push(at % d);
                at /= d;
            }
        }
        let list =
            Coordinates::new(dims, crds, Values::I8(vec![1; count])).expect("a list of entries");
        let packed = tamis::pack(&list, tensor.storage(), Duplicates::Refuse).ok()?;
        Some((name.clone(), packed))
    };
    results.iter().map(pattern).collect()
}

/// The indices of the entries of a tensor in a dense one, in order.
fn entries(tensor: &Tensor) -> Vec<usize> {
    let list = tensor.to_coordinates().expect("room for a list");
    let place = |n: usize| {
        let modes = list.crds().iter().zip(list.dims());
        modes.fold(0, |at, (crd, &d)| at * d as usize + crd[n] as usize)
    };
    let mut places: Vec<usize> = (0..list.vals().len()).map(place).collect();
    places.sort_unstable();
    places
}
