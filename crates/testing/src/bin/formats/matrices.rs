//! The matrices: from files, or generated.

use std::path::Path;
use tamis::{Coordinates, DataType, Duplicates, Tensor, ToFormat, Values, format};
use tamis_testing::random::Random;

/// A matrix, and what it is called.
pub struct Matrix {
    name: String,
    /// Its entries.
    pub entries: Coordinates,
}

/// Those in files, or some that are generated.
pub fn all(files: &[String]) -> Result<Vec<Matrix>, String> {
    if files.is_empty() {
        return Ok(vec![blocks(1600, 10), random(20_000, 8), random(20_000, 2)]);
    }
    let read = |file: &String| {
        let path = Path::new(file);
        let file = tamis_io::read(path).map_err(|e| e.to_string())?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Matrix { name, entries: floats(&file.coordinates)? })
    };
    files.iter().map(read).collect()
}

impl Matrix {
    /// Its name and sizes.
    pub fn about(&self) -> String {
        let dims = self.entries.dims();
        format!("{}: {} x {}, {} entries", self.name, dims[0], dims[1], self.entries.vals().len())
    }

    /// The matrix in a format.
    pub fn packed(&self, name: &str) -> Result<Tensor, tamis::Diagnostic> {
        tamis::pack(&self.entries, &storage(name)?, Duplicates::Sum)
    }

    /// Its entries in other columns, as a matrix of another pattern that is about as dense.
    pub fn moved(&self, by: u64) -> Result<Matrix, tamis::Diagnostic> {
        let dims = self.entries.dims().to_vec();
        let crds = self.entries.crds();
        let columns = crds[1].iter().map(|j| (j + by) % dims[1]).collect();
        let rows = crds[0].clone();
        let entries = Coordinates::new(dims, vec![rows, columns], self.entries.vals().clone())?;
        Ok(Matrix { name: format!("{} moved", self.name), entries })
    }
}

/// The storage of floats in a format of matrices.
pub fn storage(name: &str) -> Result<tamis::Storage, tamis::Diagnostic> {
    format::parse(name, Some(2))?.resolve(DataType::F64)
}

/// A tensor in a format.
pub fn stored(tensor: &Tensor, name: &str) -> Result<Tensor, tamis::Diagnostic> {
    tensor.to_format(&storage(name)?)
}

fn floats(entries: &Coordinates) -> Result<Coordinates, String> {
    let vals = (0..entries.vals().len()).map(|n| entries.vals().as_f64(n)).collect();
    let (dims, crds) = (entries.dims().to_vec(), entries.crds().to_vec());
    Coordinates::new(dims, crds, Values::F64(vals)).map_err(|d| d.to_string())
}

fn of(name: &str, n: u64, mut coordinates: Vec<(u64, u64)>) -> Matrix {
    coordinates.sort_unstable();
    coordinates.dedup();
    let vals = (0..coordinates.len()).map(|n| 0.5 + (n % 9) as f64).collect();
    let (rows, columns) = coordinates.into_iter().unzip();
    let entries = Coordinates::new(vec![n, n], vec![rows, columns], Values::F64(vals));
    let entries = entries.expect("coordinates are generated inside their dimensions");
    Matrix { name: name.to_owned(), entries }
}

/// Rows of blocks near the diagonal, as finite elements give.
fn blocks(rows: u64, per_row: u64) -> Matrix {
    let mut random = Random::new(1);
    let mut coordinates = vec![];
    for row in 0..rows {
        for _ in 0..per_row {
            let column = (row + random.below(60) as u64).saturating_sub(30).min(rows - 1);
            let block = (0..9).map(|k| (3 * row + k / 3, 3 * column + k % 3));
            coordinates.extend(block);
        }
    }
    of("blocks", 3 * rows, coordinates)
}

fn random(n: u64, per_row: u64) -> Matrix {
    let mut random = Random::new(2);
    let mut below = || random.below(n as usize) as u64;
    let coordinates = (0..n * per_row).map(|_| (below(), below())).collect();
    of("random", n, coordinates)
}
