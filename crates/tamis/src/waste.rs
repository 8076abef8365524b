//! Refusing formats that would take far more memory than entries need, before it is allocated: such
//! results are copies of what holds the entries (`legalise::split`), and looked at before they are
//! written.
//!
//! One long row gives every row of ELL as many slots, an entry on a diagonal of its own gives DIA
//! a whole diagonal. What is cheap to know is asked first: the number of entries, then how they
//! spread, then what each format takes ([`footprint`]).

use crate::footprint;
use tamis_core::cin::{Kernel, Program, Stmt};
use tamis_core::format::{self, Format, LevelMap, LevelSpec, Storage};
use tamis_core::level::{COMPRESSED, DENSE};
use tamis_core::notation::Expr;
use tamis_ir::diagnostic::{Code, Diagnostic};
use tamis_ir::ids::{Id, Mode, TensorId};
use tamis_runtime::budget;
use tamis_runtime::{Coordinates, Tensor, Values, longest_row};

/// From so many bytes on a tensor is looked at before it is stored.
const LARGE: u64 = 1 << 30;

/// So many times the bytes of its entries are more than anyone wants to spend on a tensor.
const WASTE: u64 = 20;

/// Refuses a kernel that copies a tensor into many times the memory that its entries need.
pub(crate) fn refuse_copy(
    program: &Program,
    kernel: &Kernel,
    value: &dyn Fn(TensorId) -> Result<Option<Tensor>, Diagnostic>,
) -> Result<(), Diagnostic> {
    let target = &program.tensors[kernel.result];
    if !target.storage.format.spreads() {
        return Ok(());
    }
    let Some((from, modes)) = copied(&kernel.body) else { return Ok(()) };
    let Some(source) = value(from)? else { return Ok(()) };
    let dims: Vec<u64> = modes.iter().map(|&mode| source.dims()[mode]).collect();
    let entries = source.vals().len();
    let slots = |mode: Mode| row_length(&source, modes[mode.index()]).unwrap_or(u64::MAX);
    if !is_possible(&dims, entries, &target.storage, &|_| u64::MAX)
        || !is_possible(&dims, entries, &target.storage, &slots)
    {
        return Ok(());
    }
    let (_, mut crds, vals) = places(&source)?.into_parts();
    let crds = modes.iter().map(|&mode| std::mem::take(&mut crds[mode])).collect();
    refuse(&target.name, &Coordinates::new(dims, crds, vals)?, &target.storage)
}

/// The tensor that a statement copies whole, and its mode for each of the result.
fn copied(body: &Stmt) -> Option<(TensorId, Vec<usize>)> {
    match body {
        Stmt::Forall { body, .. } => copied(body),
        Stmt::Assign { lhs, rhs: Expr::Access(access), .. } if !access.is_sliced() => {
            let place = |v| access.indices.iter().position(|w| w == v);
            let modes: Vec<usize> = lhs.indices.iter().map(place).collect::<Option<_>>()?;
            let once = |(k, mode)| !modes[..k].contains(mode);
            let whole = modes.len() == access.indices.len() && modes.iter().enumerate().all(once);
            whole.then_some((access.tensor, modes))
        }
        _ => None,
    }
}

/// Whether entries could take up far more memory than they need, by their number and the most in a row: slots for
/// every row where one is long, at most one for each combination of the other coordinates, or a diagonal for every
/// entry.
fn is_possible(
    dims: &[u64],
    entries: usize,
    storage: &Storage,
    longest: &dyn Fn(Mode) -> u64,
) -> bool {
    let levels = storage.format.levels();
    let entries = entries as u64;
    let headers = storage.format.headers(dims, &|_| entries);
    let others = |mode: Mode| {
        let others = dims.iter().enumerate().filter(|(k, _)| *k != mode.index());
        others.map(|(_, dim)| *dim).fold(1, u64::saturating_mul)
    };
    let places = levels.iter().zip(headers).map(|(level, header)| match level.map {
        LevelMap::Slot(mode) => entries.min(others(mode)).min(longest(mode)),
        map if map.spreads() => header.size.min(entries),
        _ => own(level, header.size),
    });
    places.fold(8, u64::saturating_mul) > LARGE
}

/// The most entries at one coordinate of a mode, where positions tell.
fn row_length(tensor: &Tensor, mode: usize) -> Option<u64> {
    let format = &tensor.storage().format;
    let levels = format.levels();
    let rows = levels.len() == 2 && levels[0].kind == DENSE && levels[1].kind == COMPRESSED;
    let is_first = levels.first()?.map.modes().iter().any(|m| m.index() == mode);
    (rows && format.is_basic() && is_first).then(|| longest_row(tensor))
}

/// Refuses to store entries, whose coordinates lie inside the tensor, in many times the memory that
/// they need.
fn refuse(name: &str, list: &Coordinates, storage: &Storage) -> Result<(), Diagnostic> {
    if most(list, storage) <= LARGE {
        return Ok(());
    }
    let Some(bytes) = footprint(list, storage) else { return Ok(()) };
    let (plain, least) = sparse(list, storage)?;
    let wasteful = bytes > LARGE && bytes / WASTE > least;
    let limit = budget::limit() as u64;
    if !wasteful && bytes <= limit {
        return Ok(());
    }
    let room = match bytes > limit {
        true => format!("; there are {:.1} MB", limit as f64 / 1e6),
        false => String::new(),
    };
    let message = format!(
        "{} entries take {:.1} MB as {}, and {:.1} MB as {}{room}",
        list.vals().len(),
        bytes as f64 / 1e6,
        storage.format,
        least as f64 / 1e6,
        plain
    );
    let help =
        format!("store {name} as {plain}; slots suit rows of like length, diagonals a band of few");
    Err(Diagnostic::new(Code::OutOfMemory, message).help(help))
}

/// A format for any entries, and the bytes that these take in it: one with a position per row,
/// unless most rows are empty.
fn sparse(list: &Coordinates, storage: &Storage) -> Result<(Format, u64), Diagnostic> {
    let of = |name: &str| -> Result<(Format, u64), Diagnostic> {
        let format = format::parse(name, Some(list.dims().len()))?.format;
        let bytes = footprint(list, &Storage { format: format.clone(), ..storage.clone() });
        Ok((format, bytes.unwrap_or(u64::MAX)))
    };
    let fibers = of("csf")?;
    let rows = if list.dims().len() == 2 { of("csr")? } else { fibers.clone() };
    Ok(if fibers.1 < rows.1 / 2 { fibers } else { rows })
}

/// Arrays by coordinate are no longer than this.
const LONGEST: u64 = 1 << 28;

/// No less than the bytes of the values, by how many diagonals there are and how many entries the
/// fullest coordinate has.
fn most(list: &Coordinates, storage: &Storage) -> u64 {
    let levels = storage.format.levels();
    let headers = storage.format.headers(list.dims(), &|_| 0);
    if headers.iter().any(|header| header.size > LONGEST) {
        return u64::MAX;
    }
    let places = levels.iter().zip(headers).map(|(level, header)| match level.map {
        LevelMap::Slot(mode) => fullest(list, mode),
        LevelMap::Diff { plus, minus } => {
            let mut seen = vec![false; header.size as usize];
            let (plus, minus) = (&list.crds()[plus.index()], &list.crds()[minus.index()]);
            for (&p, &m) in plus.iter().zip(minus) {
                seen[(p as i64 - m as i64 - header.least) as usize] = true;
            }
            seen.iter().filter(|&&seen| seen).count() as u64
        }
        _ => own(level, header.size),
    });
    places.fold(8, u64::saturating_mul)
}

/// The most positions of a level below each position above.
fn own(level: &LevelSpec, size: u64) -> u64 {
    if level.kind.properties().branchless { 1 } else { size }
}

/// The most entries at one coordinate of a mode.
fn fullest(list: &Coordinates, mode: Mode) -> u64 {
    let mut counts = vec![0u64; list.dims()[mode.index()] as usize];
    list.crds()[mode.index()].iter().for_each(|&c| counts[c as usize] += 1);
    counts.into_iter().max().unwrap_or(0)
}

/// The coordinates of a tensor's entries, with any values.
fn places(tensor: &Tensor) -> Result<Coordinates, Diagnostic> {
    let levels = tensor.storage().format.levels();
    let rows = levels.len() == 2 && levels[0].kind == DENSE && levels[1].kind == COMPRESSED;
    let crd = tensor.levels().get(1).and_then(|l| l.pos.as_ref().zip(l.crd.as_ref()));
    let (true, true, Some((pos, crd))) = (rows, tensor.storage().format.is_basic(), crd) else {
        return tensor.to_coordinates();
    };
    budget::check("the indices of entries", 24.0 * crd.len() as f64, budget::SMALLER_RESULT)?;
    let modes: Vec<usize> =
        levels.iter().flat_map(|l| l.map.modes()).map(|mode| mode.index()).collect();
    let mut crds: Vec<Vec<u64>> = vec![vec![]; 2];
    for p in 0..pos.len() - 1 {
        crds[modes[0]].extend((pos.index(p)..pos.index(p + 1)).map(|_| p as u64));
    }
    crds[modes[1]].extend((0..crd.len()).map(|q| crd.index(q) as u64));
    let vals = Values::F64(vec![0.0; crd.len()]);
    Coordinates::new(tensor.dims().to_vec(), crds, vals)
}

#[cfg(test)]
mod tests {
    use crate::{DataType, Duplicates, ToFormat, Values, format, pack};
    use tamis_runtime::Coordinates;

    fn message(list: &Coordinates, text: &str) -> (String, String) {
        let storage = |text: &str| {
            let spec = format::parse(text, Some(2)).unwrap_or_else(|d| panic!("{d}"));
            spec.resolve(DataType::F64).unwrap_or_else(|d| panic!("{d}"))
        };
        let of = |result: Result<crate::Tensor, crate::Diagnostic>| {
            result.map_or_else(
                |d| without_room(&d.message),
                |tensor| format!("{} bytes", tensor.bytes()),
            )
        };
        let csr = pack(list, &storage("csr"), Duplicates::Refuse).unwrap_or_else(|d| panic!("{d}"));
        let packed = of(pack(list, &storage(text), Duplicates::Refuse));
        (packed, of(csr.to_format(&storage(text))))
    }

    /// A message without what depends on the machine.
    fn without_room(message: &str) -> String {
        message.split("; there are").next().unwrap_or_default().to_owned()
    }

    /// One full row among empty ones, and one entry on each of many diagonals.
    #[test]
    fn formats_that_would_waste_memory_are_refused() {
        let n = 50_000u64;
        let vals = Values::F64(vec![1.0; n as usize]);
        let crds = vec![vec![7; n as usize], (0..n).collect()];
        let row = Coordinates::new(vec![n, n], crds, vals).expect("a list");
        let told = "50000 entries take 30000.0 MB as ell, and 0.8 MB as csr".to_owned();
        assert_eq!(message(&row, "ell"), (told.clone(), told));
        let crds = vec![(0..n).collect(), (0..n).rev().collect()];
        let across = Coordinates::new(vec![n, n], crds, row.vals().clone()).expect("a list");
        let told = "50000 entries take 20000.2 MB as dia, and 0.8 MB as csr".to_owned();
        assert_eq!(message(&across, "dia"), (told.clone(), told));
    }

    /// Results of kernels are told from their entries too, and computed where they fit.
    #[test]
    fn results_that_would_waste_memory_are_refused() {
        let n = 50_000u64;
        let csr = |crds| {
            let vals = Values::F64(vec![1.0; n as usize]);
            let list = Coordinates::new(vec![n, n], crds, vals).expect("a list");
            let spec = format::parse("csr", Some(2)).unwrap_or_else(|d| panic!("{d}"));
            let storage = spec.resolve(DataType::F64).unwrap_or_else(|d| panic!("{d}"));
            pack(&list, &storage, Duplicates::Refuse).unwrap_or_else(|d| panic!("{d}"))
        };
        let told = |text: &str, format: &str, a: &crate::Tensor| {
            let spec = format::parse(format, Some(2)).unwrap_or_else(|d| panic!("{d}"));
            let results = [("C".to_owned(), spec)].into();
            let options = crate::Options { results, ..Default::default() };
            let run = || crate::Kernel::compile(text, &[("A", a)], &options)?.run(&[("A", a)]);
            run().map_or_else(
                |d| without_room(&d.message),
                |results| results[0].1.bytes().to_string(),
            )
        };
        let row = csr(vec![vec![7; n as usize], (0..n).collect()]);
        let ell = "50000 entries take 30000.0 MB as ell, and 0.8 MB as csr";
        assert_eq!(told("C(i,j) = 2 * A(i,j)", "ell", &row), ell);
        let across = csr(vec![(0..n).collect(), (0..n).rev().collect()]);
        let dia = "50000 entries take 20000.2 MB as dia, and 0.8 MB as csr";
        assert_eq!(told("C(j,i) = A(i,j) + A(j,i)", "dia", &across), dia);
        assert_eq!(told("C(j,i) = A(i,j)", "dia", &across), dia);
        let along = csr(vec![(0..n).collect(), (0..n).collect()]);
        assert_eq!(told("C(i,j) = 2 * A(i,j)", "ell", &along), (8 + 12 * n).to_string());
    }

    /// Coordinates are looked at only once they are known to be valid, whatever the dimensions.
    #[test]
    fn wrong_entries_and_huge_dimensions_are_told() {
        let vals = Values::F64(vec![1.0; 3]);
        let crds = vec![vec![0, 5, 1 << 50], vec![1, 2, 3]];
        let list = Coordinates::new(vec![1 << 40, 1 << 40], crds.clone(), vals.clone());
        let told = list.map_or_else(|d| d.message, |_| String::new());
        assert!(told.starts_with("coordinate 1125899906842624 of entry 2 is outside"), "{told}");
        let spec = format::parse("dia{crd: i64}", Some(2)).unwrap_or_else(|d| panic!("{d}"));
        let storage = spec.resolve(DataType::F64).unwrap_or_else(|d| panic!("{d}"));
        let refused = |list: &Coordinates| {
            let packed = pack(list, &storage, Duplicates::Refuse);
            packed.map_or_else(|d| d.message, |_| String::new())
        };
        let list = Coordinates::new(vec![1 << 51, 1 << 40], crds, vals).expect("a list");
        let told = refused(&list);
        assert!(told.starts_with("3 entries take 54043195528.4 MB as dia"), "{told}");
    }

    /// The same number of entries in few slots, and on few diagonals.
    #[test]
    fn large_tensors_that_fit_a_format_are_stored() {
        let n = 50_000u64;
        let vals = Values::F64(vec![1.0; n as usize]);
        let crds = vec![(0..n).collect(), (0..n).collect()];
        let along = Coordinates::new(vec![n, n], crds, vals).expect("a list");
        let of = |bytes: usize| (format!("{bytes} bytes"), format!("{bytes} bytes"));
        assert_eq!(message(&along, "ell"), of(8 + 12 * 50_000));
        assert_eq!(message(&along, "dia"), of(12 + 8 * 50_000));
    }
}
