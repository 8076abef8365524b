//! Packing: a list of coordinates and values becomes a tensor of any format.
//!
//! Entries are sorted by their coordinates in level order (stable, so that duplicates combine in
//! the order of the input for any number of threads), then each level is built in one pass. A list
//! that is in order already is not sorted.

use crate::coordinates::{Coordinates, Values};
use crate::memory::{Buffer, Element};
use crate::sort::sorted_order;
use crate::tensor::{LevelData, Tensor, check_dims, too_large};
use tamis_core::datatype::{DataType, IndexWidth};
use tamis_core::diagnostic::{Code, Diagnostic};
use tamis_core::format::Storage;
use tamis_core::ids::Id;

/// What to do with entries of the same coordinate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Duplicates {
    /// Add them up, in the order of the list.
    Sum,
    /// Refuse them.
    Refuse,
}

/// A tensor of this storage with these entries. Explicit zeros are kept.
///
/// Values become the storage's data type, checked to fit. Refused are coordinates outside their
/// dimension, positions or coordinates that do not fit their index width, and, if asked,
/// duplicates.
pub fn pack(
    list: &Coordinates,
    storage: &Storage,
    duplicates: Duplicates,
) -> Result<Tensor, Diagnostic> {
    check_list(list, storage)?;
    let modes: Vec<usize> = storage.format.levels().iter().map(|l| l.mode.index()).collect();
    let keys: Vec<&[u64]> = modes.iter().map(|&m| list.crds[m].as_slice()).collect();
    let dims: Vec<u64> = modes.iter().map(|&m| list.dims[m]).collect();
    let order = sorted_order(&keys, &dims, list.vals.len());
    let entries = Entries { keys: &keys, order: order.as_deref(), len: list.vals.len() };
    if duplicates == Duplicates::Refuse {
        refuse_duplicates(list, &entries)?;
    }
    let (levels, places, count) = levels(&entries, storage, &dims)?;
    let vals = values(list, &entries, &places, count, storage)?;
    // SAFETY: coordinates were checked to lie in their dimensions and are sorted; levels are built
    // from them without repetition, and there is one value per position of the last level.
    Ok(unsafe { Tensor::from_parts_unchecked(list.dims.clone(), storage.clone(), levels, vals) })
}

/// Entries in level order.
struct Entries<'l> {
    keys: &'l [&'l [u64]],
    order: Option<&'l [u32]>,
    len: usize,
}

impl Entries<'_> {
    fn at(&self, k: usize) -> usize {
        self.order.map_or(k, |order| order[k] as usize)
    }

    /// The first level in which an entry differs from the one before.
    fn differs(&self, k: usize) -> usize {
        if k == 0 {
            return 0;
        }
        let (a, b) = (self.at(k - 1), self.at(k));
        self.keys.iter().position(|key| key[a] != key[b]).unwrap_or(self.keys.len())
    }
}

fn check_list(list: &Coordinates, storage: &Storage) -> Result<(), Diagnostic> {
    check_dims(&list.dims)?;
    let order = storage.format.order();
    if list.dims.len() != order || list.crds.len() != order {
        let message =
            format!("a tensor of order {} got a format of order {order}", list.dims.len());
        return Err(Diagnostic::new(Code::FormatOrder, message).help("choose another format"));
    }
    if list.vals.len() > u32::MAX as usize {
        let message = format!("{} entries are more than 2^32 - 1", list.vals.len());
        return Err(Diagnostic::new(Code::OutOfMemory, message).help("pack the tensor in parts"));
    }
    for (m, (crds, &dimension)) in list.crds.iter().zip(&list.dims).enumerate() {
        if crds.len() != list.vals.len() {
            let message = format!(
                "mode {} has {} coordinates for {} values",
                m + 1,
                crds.len(),
                list.vals.len()
            );
            return Err(Diagnostic::new(Code::InvalidTensor, message)
                .help("give one coordinate per mode and value"));
        }
        if let Some(at) = crds.iter().position(|&c| c >= dimension) {
            let message = format!(
                "coordinate {} of entry {at} is outside the dimension {dimension} of mode {}",
                crds[at],
                m + 1
            );
            return Err(
                Diagnostic::new(Code::InvalidTensor, message).help("coordinates count from 0")
            );
        }
        if storage.crd == IndexWidth::I32
            && dimension > i32::MAX as u64 + 1
            && !storage.format.is_full()
        {
            return Err(too_wide("coordinate", dimension - 1));
        }
    }
    Ok(())
}

fn refuse_duplicates(list: &Coordinates, entries: &Entries<'_>) -> Result<(), Diagnostic> {
    let Some(k) = (1..entries.len).find(|&k| entries.differs(k) == entries.keys.len()) else {
        return Ok(());
    };
    let place: Vec<String> = list.crds.iter().map(|crds| crds[entries.at(k)].to_string()).collect();
    let message = format!("the coordinate ({}) occurs twice", place.join(", "));
    Err(Diagnostic::new(Code::DuplicateEntry, message).help("remove one, or let them be summed"))
}

/// The arrays of the levels, per entry its position in the last level, and how many there are.
fn levels(
    entries: &Entries<'_>,
    storage: &Storage,
    dims: &[u64],
) -> Result<(Vec<LevelData>, Vec<usize>, usize), Diagnostic> {
    let mut places = vec![0usize; entries.len];
    let differs: Vec<u8> = (0..entries.len).map(|k| entries.differs(k).min(255) as u8).collect();
    let mut parents = 1usize;
    let mut levels = vec![];
    for (k, spec) in storage.format.levels().iter().enumerate() {
        let key = entries.keys[k];
        if spec.kind.properties().full {
            let size = (parents as u64).checked_mul(dims[k]).filter(|&n| n <= i64::MAX as u64);
            parents = size.ok_or_else(|| too_large(dims))? as usize;
            for (n, place) in places.iter_mut().enumerate() {
                *place = *place * dims[k] as usize + key[entries.at(n)] as usize;
            }
            levels.push(LevelData::default());
        } else {
            let (data, count) = compressed(entries, k, &differs, &mut places, parents, storage)?;
            levels.push(data);
            parents = count;
        }
    }
    Ok((levels, places, parents))
}

/// One compressed level; `places` go from positions of the parent to positions of the level.
fn compressed(
    entries: &Entries<'_>,
    k: usize,
    differs: &[u8],
    places: &mut [usize],
    parents: usize,
    storage: &Storage,
) -> Result<(LevelData, usize), Diagnostic> {
    let entries_of_pos = parents.saturating_add(1);
    let bytes = entries_of_pos as f64 * 8.0;
    let mut pos: Vec<i64> = vec![];
    pos.try_reserve_exact(entries_of_pos).map_err(|_| crate::memory::out_of_memory(bytes))?;
    pos.resize(entries_of_pos, 0);
    let mut crd: Vec<u64> = vec![];
    for n in 0..entries.len {
        if usize::from(differs[n]) <= k || n == 0 {
            crd.push(entries.keys[k][entries.at(n)]);
            pos[places[n] + 1] += 1;
        }
        places[n] = crd.len() - 1;
    }
    for p in 0..parents {
        pos[p + 1] += pos[p];
    }
    let count = crd.len();
    if storage.pos == IndexWidth::I32 && count > i32::MAX as usize {
        return Err(too_wide("position", count as u64));
    }
    let pos = narrow(storage.pos, pos.into_iter());
    let crd = narrow(storage.crd, crd.into_iter().map(|c| c as i64));
    Ok((LevelData { pos: Some(pos), crd: Some(crd) }, count))
}

fn narrow(width: IndexWidth, items: impl Iterator<Item = i64>) -> Buffer {
    match width {
        IndexWidth::I32 => Buffer::from_vec(items.map(|x| x as i32).collect::<Vec<i32>>()),
        IndexWidth::I64 => Buffer::from_vec(items.collect::<Vec<i64>>()),
    }
}

fn too_wide(what: &str, number: u64) -> Diagnostic {
    Diagnostic::new(Code::PositionOverflow, format!("the {what} {number} does not fit 32 bits"))
        .help("ask for 64-bit positions and coordinates: {pos: i64, crd: i64}")
}

/// The values at their places, duplicates summed in order.
fn values(
    list: &Coordinates,
    entries: &Entries<'_>,
    places: &[usize],
    count: usize,
    storage: &Storage,
) -> Result<Buffer, Diagnostic> {
    let fill = storage.fill;
    let scatter = Scatter { entries, places, count };
    match storage.datatype {
        DataType::F64 => {
            let get = floats(&list.vals)?;
            scatter.run(fill.as_f64(), get, |a, b| a + b, Ok)
        }
        DataType::F32 => {
            let get = floats(&list.vals)?;
            scatter.run(fill.as_f64() as f32, |n| get(n) as f32, |a, b| a + b, Ok)
        }
        DataType::I64 | DataType::I32 | DataType::Bool => {
            let get = integers(&list.vals, storage.datatype)?;
            let add = |a: i64, b: i64| a.wrapping_add(b);
            let start = fill.as_i64();
            match storage.datatype {
                DataType::I64 => scatter.run(start, get, add, Ok),
                DataType::I32 => {
                    let fit = |x: i64| i32::try_from(x).map_err(|_| overflow(x));
                    scatter.run(start, get, add, fit)
                }
                _ => scatter.run(start, get, add, |x| Ok(u8::from(x != 0))),
            }
        }
    }
}

struct Scatter<'e> {
    entries: &'e Entries<'e>,
    places: &'e [usize],
    count: usize,
}

impl Scatter<'_> {
    fn run<A: Copy, T: Element>(
        &self,
        fill: A,
        get: impl Fn(usize) -> A,
        add: impl Fn(A, A) -> A,
        store: impl Fn(A) -> Result<T, Diagnostic>,
    ) -> Result<Buffer, Diagnostic> {
        let mut vals: Vec<T> = vec![];
        let bytes = self.count as f64 * T::DATATYPE.size() as f64;
        vals.try_reserve_exact(self.count).map_err(|_| crate::memory::out_of_memory(bytes))?;
        // Places that no entry has keep the fill value.
        vals.resize(self.count, store(fill)?);
        let mut n = 0;
        while n < self.entries.len {
            let place = self.places[n];
            let mut sum = get(self.entries.at(n));
            n += 1;
            while n < self.entries.len && self.places[n] == place {
                sum = add(sum, get(self.entries.at(n)));
                n += 1;
            }
            vals[place] = store(sum)?;
        }
        Ok(Buffer::from_vec(vals))
    }
}

type Getter<'v, T> = Box<dyn Fn(usize) -> T + 'v>;

fn floats(vals: &Values) -> Result<Getter<'_, f64>, Diagnostic> {
    Ok(match vals {
        Values::Bool(v) => Box::new(|n| f64::from(v[n])),
        Values::I32(v) => Box::new(|n| f64::from(v[n])),
        Values::I64(v) => Box::new(|n| v[n] as f64),
        Values::F32(v) => Box::new(|n| f64::from(v[n])),
        Values::F64(v) => Box::new(|n| v[n]),
        Values::C128(_) => return Err(complex()),
    })
}

fn integers(vals: &Values, datatype: DataType) -> Result<Getter<'_, i64>, Diagnostic> {
    let truth = datatype == DataType::Bool;
    let fraction = |x: f64| {
        let message = format!("the value {x} is not an integer that fits {datatype}");
        Diagnostic::new(Code::TypeMismatch, message).help("store the tensor as f64")
    };
    let whole = |x: f64| truth || (x.trunc() == x && x.abs() < 9.3e18);
    let pick = move |x: f64| if truth { i64::from(x != 0.0) } else { x as i64 };
    Ok(match vals {
        Values::Bool(v) => Box::new(|n| i64::from(v[n])),
        Values::I32(v) => Box::new(|n| i64::from(v[n])),
        Values::I64(v) => Box::new(|n| v[n]),
        Values::F32(v) => {
            if let Some(&x) = v.iter().find(|&&x| !whole(f64::from(x))) {
                return Err(fraction(f64::from(x)));
            }
            Box::new(move |n| pick(f64::from(v[n])))
        }
        Values::F64(v) => {
            if let Some(&x) = v.iter().find(|&&x| !whole(x)) {
                return Err(fraction(x));
            }
            Box::new(move |n| pick(v[n]))
        }
        Values::C128(_) => return Err(complex()),
    })
}

fn complex() -> Diagnostic {
    Diagnostic::new(Code::TypeMismatch, "the values are complex, which kernels do not compute yet")
        .help("take real and imaginary parts apart")
}

fn overflow(x: i64) -> Diagnostic {
    Diagnostic::new(Code::IntegerOverflow, format!("the value {x} does not fit i32"))
        .help("store the tensor as i64")
}
