//! Matrices that tests of ranks share.

use tamis::{Coordinates, Tensor, Values, format};

/// A matrix with three entries in a row, beside its diagonal.
pub fn banded(n: u64) -> Coordinates {
    let (mut rows, mut columns, mut vals) = (vec![], vec![], vec![]);
    for row in 0..n {
        for column in row.saturating_sub(1)..(row + 2).min(n) {
            rows.push(row);
            columns.push(column);
            vals.push(1.0 / (1 + row + 3 * column) as f64);
        }
    }
    Coordinates::new(vec![n, n], vec![rows, columns], Values::F64(vals)).unwrap()
}

pub fn packed(list: &Coordinates, name: &str) -> Tensor {
    let storage = format::parse(name, Some(2)).unwrap().resolve(tamis::DataType::F64).unwrap();
    tamis::pack(list, &storage, tamis::Duplicates::Refuse).unwrap()
}

/// A matrix whose rows have very different numbers of entries, scattered over its columns.
pub fn uneven(n: u64) -> Coordinates {
    let (mut rows, mut columns, mut vals) = (vec![], vec![], vec![]);
    for row in 0..n {
        let count = 1 + (n / (1 + row)).min(n / 4) + row % 5;
        let mut own: Vec<u64> = (0..count).map(|k| (row * 7919 + k * k * 31 + k) % n).collect();
        own.sort_unstable();
        own.dedup();
        rows.extend(own.iter().map(|_| row));
        vals.extend(own.iter().map(|column| 1.0 / (3 + row + 2 * column) as f64));
        columns.extend(own);
    }
    Coordinates::new(vec![n, n], vec![rows, columns], Values::F64(vals)).unwrap()
}
