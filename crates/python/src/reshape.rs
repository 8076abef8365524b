//! Tensors whose entries are in the order of rows, as matrices of another shape: one pass over their levels.
//!
//! ```text
//! 2 x 2 x 3 with (0, 1, 2), (1, 0, 1)     elements 5 and 7 of all
//! 4 x 3                                   pos 0 0 1 2 2, crd 2 1
//! ```

use crate::array::known_format;
use crate::axes::is_in_rows;
use crate::convert::own;
use crate::failure::{detached, raised};
use crate::foreign::is_foreign;
use crate::select::mode;
use crate::tensor::{Tensor, valid};
use pyo3::prelude::*;
use tamis::{Buffer, Diagnostic, Element, IndexWidth, LevelData, Storage};

/// The elements of a tensor in so many rows and columns, as many, as compressed rows; nothing for formats
/// whose entries are not in the order of rows.
#[pyfunction]
pub fn in_rows(
    py: Python<'_>,
    tensor: &Bound<'_, Tensor>,
    rows: u64,
    columns: u64,
) -> PyResult<Option<Tensor>> {
    if !is_in_rows(tensor) {
        return Ok(None);
    }
    let known = tensor.get().checked(py)?;
    let format = known_format("csr", 2).map_err(|d| raised(py, &d))?;
    let made = detached(py, move || {
        let largest = rows.max(columns).max(known.vals().len() as u64);
        match i32::try_from(largest) {
            Ok(_) => reshaped::<i32>(&known, Storage { format, ..narrow(&known) }, [rows, columns]),
            Err(_) => reshaped::<i64>(&known, Storage { format, ..wide(&known) }, [rows, columns]),
        }
    })?;
    Ok(Some(Tensor::new(made)))
}

fn narrow(tensor: &tamis::Tensor) -> Storage {
    Storage { pos: IndexWidth::I32, crd: IndexWidth::I32, ..tensor.storage().clone() }
}

fn wide(tensor: &tamis::Tensor) -> Storage {
    Storage { pos: IndexWidth::I64, crd: IndexWidth::I64, ..tensor.storage().clone() }
}

/// An integer of the arrays of a matrix.
pub(crate) trait Index: Element {
    fn narrowed(number: u64) -> Self;

    fn number(self) -> usize;
}

impl Index for i32 {
    fn narrowed(number: u64) -> i32 {
        number as i32
    }

    fn number(self) -> usize {
        self as usize
    }
}

impl Index for i64 {
    fn narrowed(number: u64) -> i64 {
        number as i64
    }

    fn number(self) -> usize {
        self as usize
    }
}

fn reshaped<I: Index>(
    tensor: &tamis::Tensor,
    storage: Storage,
    [rows, columns]: [u64; 2],
) -> Result<tamis::Tensor, Diagnostic> {
    let mut matrix = Rows::<I>::of(rows, columns, tensor.vals().len());
    let sizes: Vec<u64> =
        tensor.storage().format.levels().iter().map(|l| tensor.dims()[mode(l)]).collect();
    // The number among all elements of each position of the levels so far, without the axes below.
    let mut places = vec![0];
    let levels = tensor.levels().iter().zip(sizes);
    let last = tensor.levels().len() - 1;
    for (k, (level, size)) in levels.enumerate() {
        match k == last {
            true => children(level, size, &places, &mut |place| matrix.push(place)),
            false => {
                let mut below = vec![];
                children(level, size, &places, &mut |place| below.push(place));
                places = below;
            }
        }
    }
    let (pos, crd) = matrix.finished();
    let levels = vec![
        LevelData::default(),
        LevelData { pos: Some(pos), crd: Some(crd), ..LevelData::default() },
    ];
    let vals = match is_foreign(tensor.vals()) {
        true => own(tensor.vals())?,
        false => tensor.vals().clone(),
    };
    valid(vec![rows, columns], storage, levels, vals)
}

/// Calls `f` with the number of each position of a level, below those of the level above.
fn children(level: &LevelData, size: u64, above: &[u64], f: &mut impl FnMut(u64)) {
    let (Some(pos), Some(crd)) = (&level.pos, &level.crd) else {
        return above.iter().for_each(|place| (0..size).for_each(|c| f(place * size + c)));
    };
    let (narrow, wide) = (pos.as_slice::<i32>(), pos.as_slice::<i64>());
    match (crd.as_slice::<i32>(), crd.as_slice::<i64>()) {
        (Some(crd), _) => match (narrow, wide) {
            (Some(pos), _) => listed(pos, crd, size, above, f),
            (_, Some(pos)) => listed(pos, crd, size, above, f),
            _ => {}
        },
        (_, Some(crd)) => match (narrow, wide) {
            (Some(pos), _) => listed(pos, crd, size, above, f),
            (_, Some(pos)) => listed(pos, crd, size, above, f),
            _ => {}
        },
        _ => {}
    }
}

fn listed<P: Element + Into<i64>, C: Element + Into<i64>>(
    pos: &[P],
    crd: &[C],
    size: u64,
    above: &[u64],
    f: &mut impl FnMut(u64),
) {
    let mut begin = pos[0].into() as usize;
    for (place, &end) in above.iter().zip(&pos[1..]) {
        let end = end.into() as usize;
        for &c in &crd[begin..end] {
            f(place * size + c.into() as u64);
        }
        begin = end;
    }
}

/// The rows of a matrix, whose entries come in their order.
struct Rows<I> {
    pos: Vec<I>,
    crd: Vec<I>,
    rows: u64,
    columns: u64,
    /// The first element after the row of the last entry.
    next: u64,
}

impl<I: Index> Rows<I> {
    fn of(rows: u64, columns: u64, entries: usize) -> Rows<I> {
        let mut pos = Vec::with_capacity(rows as usize + 1);
        pos.push(I::narrowed(0));
        Rows { pos, crd: Vec::with_capacity(entries), rows, columns, next: columns }
    }

    fn push(&mut self, place: u64) {
        while place >= self.next {
            self.pos.push(I::narrowed(self.crd.len() as u64));
            self.next += self.columns;
        }
        self.crd.push(I::narrowed(place - (self.next - self.columns)));
    }

    fn finished(mut self) -> (Buffer, Buffer) {
        self.pos.resize(self.rows as usize + 1, I::narrowed(self.crd.len() as u64));
        (Buffer::from_vec(self.pos), Buffer::from_vec(self.crd))
    }
}
