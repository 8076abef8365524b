//! No list of entries is invalid, whatever it is made of.

use tamis_runtime::{Coordinates, DataType, Duplicates, Values, pack};

/// A sequence of numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }

    /// A length that is nearly always right.
    fn length(&mut self, right: u64) -> usize {
        match self.below(12) {
            0 => self.below(2 * right + 2) as usize,
            _ => right as usize,
        }
    }

    fn coordinate(&mut self, dimension: u64) -> u64 {
        match self.below(40) {
            0 => [dimension, u64::MAX, 1 << 63, 1 << 62][self.below(4) as usize],
            _ => self.below(dimension.max(1)),
        }
    }
}

/// Lists with wrong lengths, wrong numbers of modes, coordinates outside and odd truth values are
/// refused, and all others are packed or refused, in formats of the right and of a wrong order.
#[test]
fn corrupt_lists_are_refused() {
    let mut random = Random(5);
    let (mut refused, mut packed) = (0, 0);
    for _ in 0..20_000 {
        let (order, entries) = (random.below(4), random.below(6));
        let dims: Vec<u64> = (0..order).map(|_| random.below(5)).collect();
        let modes = random.length(order);
        let crds: Vec<Vec<u64>> = (0..modes)
            .map(|m| {
                let dimension = dims.get(m).copied().unwrap_or(3);
                (0..random.length(entries)).map(|_| random.coordinate(dimension)).collect()
            })
            .collect();
        let count = random.length(entries);
        let vals = match random.below(3) {
            0 => Values::Bool((0..count).map(|_| random.below(40).min(2) as u8 / 2).collect()),
            1 => Values::Bool((0..count).map(|_| random.below(3) as u8).collect()),
            _ => Values::F64(vec![1.0; count]),
        };
        let good = crds.len() == dims.len()
            && crds.iter().all(|c| c.len() == count)
            && crds.iter().zip(&dims).all(|(c, d)| c.iter().all(|c| c < d))
            && !matches!(&vals, Values::Bool(v) if v.iter().any(|&x| x > 1));
        let list = Coordinates::new(dims.clone(), crds, vals);
        assert_eq!(list.is_ok(), good, "{list:?}");
        let Ok(list) = list else {
            refused += 1;
            continue;
        };
        for format in ["dense", "csf", "coo", "csr", "sparse"] {
            let order = if random.below(9) == 0 { 3 } else { dims.len() };
            let Ok(spec) = tamis_core::format::parse(format, Some(order)) else { continue };
            let Ok(storage) = spec.resolve(DataType::F64) else { continue };
            packed += usize::from(pack(&list, &storage, Duplicates::Sum).is_ok());
        }
    }
    assert!(refused > 2000 && packed > 2000, "{refused} refused, {packed} packed");
}

/// Lists of nothing are packed and read back whatever the dimensions, or refused.
#[test]
fn tensors_without_elements_are_lists_of_nothing() {
    let kinds = ["dense", "compressed", "hashed", "bitmap"];
    let mut read = 0;
    for empty in 0..3 {
        for kind in (0..64).map(|n| [kinds[n % 4], kinds[n / 4 % 4], kinds[n / 16]]) {
            let mut dims = vec![1 << 34, 3, 1 << 40];
            dims[empty] = 0;
            let format = format!("(i, j, k) -> (i: {}, j: {}, k: {})", kind[0], kind[1], kind[2]);
            let Ok(spec) = tamis_core::format::parse(&format, Some(3)) else { continue };
            let storage = spec.resolve(DataType::F64).unwrap();
            if !storage.format.is_basic() {
                continue;
            }
            let list = Coordinates::new(dims, vec![vec![]; 3], Values::F64(vec![])).unwrap();
            let Ok(tensor) = pack(&list, &storage, Duplicates::Sum) else { continue };
            let again = tensor.to_coordinates();
            assert_eq!(again.as_ref().ok(), Some(&list), "{format} {again:?}");
            read += 1;
        }
    }
    assert!(read > 10, "{read}");
}
