//! Packing and unpacking against a map of coordinates, and every refusal.

use super::{Duplicates, pack};
use crate::coordinates::{Coordinates, Values};
use crate::tensor::Tensor;
use std::collections::BTreeMap;
use tamis_core::format::{Format, LevelSpec, Storage, parse};
use tamis_core::level::{COMPRESSED, DENSE};
use tamis_ir::datatype::{DataType, IndexWidth, Scalar};
use tamis_ir::ids::{Id, Mode};

/// Pseudo-random numbers: a linear congruential generator, of which the high bits are used.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 as u128 * n as u128) >> 64) as u64
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    fn storage(&mut self, order: usize) -> Storage {
        let mut modes: Vec<usize> = (0..order).collect();
        for k in (1..order).rev() {
            modes.swap(k, self.below(k as u64 + 1) as usize);
        }
        let levels = modes
            .into_iter()
            .map(|m| LevelSpec::of(Mode::new(m), self.pick(&[DENSE, COMPRESSED])))
            .collect();
        let datatype = self.pick(&DataType::ALL);
        let mut storage = Storage::of(Format::new(levels, order).unwrap(), datatype);
        storage.fill = Scalar::I64(self.below(2) as i64).convert(datatype.register());
        storage.pos = self.pick(&[IndexWidth::I32, IndexWidth::I64]);
        storage.crd = self.pick(&[IndexWidth::I32, IndexWidth::I64]);
        storage
    }

    /// Entries with values of small integers, in any of the value types that hold them.
    fn list(&mut self, dims: Vec<u64>, len: usize, signed: bool) -> Coordinates {
        let len = if dims.contains(&0) { 0 } else { len };
        let crds = dims.iter().map(|&d| (0..len).map(|_| self.below(d)).collect()).collect();
        let least = if signed { 3 } else { 0 };
        let numbers: Vec<i64> = (0..len).map(|_| self.below(7) as i64 - least).collect();
        let vals = match self.below(8) {
            0 => Values::Bool(numbers.iter().map(|&x| u8::from(x > 0)).collect()),
            1 => Values::I32(numbers.iter().map(|&x| x as i32).collect()),
            2 => Values::I64(numbers),
            4 => Values::I8(numbers.iter().map(|&x| x as i8).collect()),
            5 if !signed => Values::U16(numbers.iter().map(|&x| x as u16).collect()),
            6 if !signed => Values::U64(numbers.iter().map(|&x| x as u64).collect()),
            3 => Values::F32(numbers.iter().map(|&x| x as f32).collect()),
            _ => Values::F64(numbers.iter().map(|&x| x as f64).collect()),
        };
        Coordinates::new(dims, crds, vals).unwrap()
    }
}

fn number(vals: &Values, n: usize) -> i64 {
    vals.get(n).as_i64()
}

/// The coordinates of an entry in level order.
fn key(list: &Coordinates, storage: &Storage, n: usize) -> Vec<u64> {
    storage.format.levels().iter().map(|l| list.crds()[l.map.modes()[0].index()][n]).collect()
}

/// The entries by coordinates in level order, which is the order in which they are stored.
fn model(list: &Coordinates, storage: &Storage) -> BTreeMap<Vec<u64>, i64> {
    let mut map = BTreeMap::new();
    for n in 0..list.vals().len() {
        let x = number(list.vals(), n);
        let truth = storage.datatype == DataType::Bool;
        let sum = map.entry(key(list, storage, n)).or_insert(0);
        *sum = if truth { i64::from(*sum != 0 || x != 0) } else { *sum + x };
    }
    map
}

/// All arrays of a tensor, as bits.
fn arrays(tensor: &Tensor) -> Vec<Vec<Scalar>> {
    let levels = tensor.levels().iter().flat_map(|l| [l.pos.as_ref(), l.crd.as_ref()]).flatten();
    let all = levels.chain([tensor.vals()]);
    all.map(|array| (0..array.len()).map(|k| array.get(k)).collect()).collect()
}

/// Packs, validates, reads every stored entry, and packs what was unpacked.
fn check(list: &Coordinates, storage: &Storage) {
    let tensor = pack(list, storage, Duplicates::Sum).unwrap();
    let (dims, levels) = (tensor.dims().to_vec(), tensor.levels().to_vec());
    Tensor::try_from_parts(dims, storage.clone(), levels, tensor.vals().clone()).unwrap();
    let map = model(list, storage);
    let back = tensor.to_coordinates().expect("room for a list");
    assert_eq!(back.dims(), list.dims());
    let mut last: Option<Vec<u64>> = None;
    let mut found = 0;
    for n in 0..back.vals().len() {
        let key = key(&back, storage, n);
        assert!(last.as_ref() < Some(&key), "{storage:?}: entries are in storage order");
        let expected = map.get(&key).copied().unwrap_or(storage.fill.as_i64());
        assert_eq!(number(back.vals(), n), expected, "{storage:?} at {key:?}");
        let place: Vec<u64> = back.crds().iter().map(|c| c[n]).collect();
        assert_eq!(tensor.get(&place).map(|value| value.as_i64()), Ok(expected));
        found += usize::from(map.contains_key(&key));
        last = Some(key);
    }
    assert_eq!(found, map.len(), "{storage:?}: every entry is stored");
    let first = tensor.first_entries(5);
    assert_eq!(first.len(), back.vals().len().min(5), "{storage:?}");
    for (n, (place, value)) in first.into_iter().enumerate() {
        assert_eq!(place, back.crds().iter().map(|c| c[n]).collect::<Vec<_>>(), "{storage:?}");
        assert_eq!(value, back.vals().get(n), "{storage:?}");
    }
    let again = pack(&back, storage, Duplicates::Refuse).unwrap();
    assert_eq!(arrays(&tensor), arrays(&again), "{storage:?}: unpacking lost something");
}

#[test]
fn random_lists_in_random_formats_come_back() {
    let mut random = Random(1);
    for round in 0..4000 {
        let order = random.below(5) as usize;
        let dims = (0..order).map(|_| random.below(6)).collect();
        let len = if round % 5 == 0 { 0 } else { random.below(30) as usize };
        let storage = random.storage(order);
        let signed = storage.datatype.integers().is_none_or(|all| *all.start() < 0);
        check(&random.list(dims, len, signed), &storage);
    }
}

#[test]
fn long_lists_and_wide_keys_come_back() {
    let mut random = Random(2);
    for (text, dims) in [
        ("csr", vec![300, 200]),
        ("csc", vec![70_000, 3]),
        ("dcsr", vec![1 << 31, 1 << 31]),
        ("csf", vec![1 << 30, 1 << 20, 1 << 30]),
        ("csf", vec![1 << 61, 4, 1 << 61, 2, 1 << 40]),
        ("dense", vec![40, 50, 60]),
        ("sparse", vec![20]),
        ("dense", vec![]),
    ] {
        let mut spec = parse(text, Some(dims.len())).unwrap();
        spec.crd = Some(IndexWidth::I64);
        check(&random.list(dims, 150_000, true), &spec.resolve(DataType::F64).unwrap());
    }
}

#[test]
fn the_threads_do_not_change_a_bit() {
    let mut random = Random(3);
    let list = random.list(vec![1000, 50], 300_000, true);
    // Sums of these depend on their order.
    let vals = (0..300_000).map(|_| 1.0 / (1 + random.below(999)) as f64).collect();
    let (dims, crds, _) = list.into_parts();
    let list = Coordinates::new(dims, crds, Values::F64(vals)).unwrap();
    let storage = parse("csc", None).unwrap().resolve(DataType::F64).unwrap();
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        arrays(&pool.install(|| pack(&list, &storage, Duplicates::Sum)).unwrap())
    };
    let one = with(1);
    assert_eq!(one, with(3));
    let mut sums = BTreeMap::new();
    let Values::F64(vals) = &list.vals() else { unreachable!("just made") };
    for (n, x) in vals.iter().enumerate() {
        *sums.entry((list.crds()[1][n], list.crds()[0][n])).or_insert(0.0) += x;
    }
    assert_eq!(one[2], sums.values().map(|&x| Scalar::F64(x)).collect::<Vec<_>>());
}

/// What packing says to a list of these parts.
fn refusal(format: &str, dims: &[u64], crds: &[&[u64]], vals: Values) -> String {
    let crds = crds.iter().map(|c| c.to_vec()).collect();
    let list = Coordinates::new(dims.to_vec(), crds, vals);
    let storage = parse(format, Some(dims.len())).unwrap().resolve(DataType::F64).unwrap();
    list.and_then(|list| pack(&list, &storage, Duplicates::Refuse)).unwrap_err().to_string()
}

fn ones(n: usize) -> Values {
    Values::F64(vec![1.0; n])
}

#[test]
fn lists_that_are_no_tensor_are_refused() {
    let check = |text: &str, expected: &str| assert_eq!(text, expected);
    check(
        &refusal("csr", &[2, 3], &[&[0, 1, 0], &[2, 1, 2]], ones(3)),
        "error[duplicate-entry]: the coordinate (0, 2) occurs twice\n  \
         = help: remove one, or let them be summed",
    );
    check(
        &refusal("csc", &[2, 3], &[&[0, 1], &[2, 3]], ones(2)),
        "error[invalid-tensor]: coordinate 3 of entry 1 is outside the dimension 3 of mode 2\n  \
         = help: coordinates count from 0",
    );
    check(
        &refusal("csr", &[2, 3], &[&[0, 1], &[2]], ones(2)),
        "error[invalid-tensor]: mode 2 has 1 coordinates for 2 values\n  \
         = help: give one coordinate per mode and value",
    );
    check(
        &refusal("csr", &[2, 3], &[&[0, 1]], ones(2)),
        "error[invalid-tensor]: there are coordinates of 1 modes for 2\n  \
         = help: give one coordinate per mode and value",
    );
    check(
        &refusal("sparse", &[1 << 40], &[&[1 << 35]], ones(1)),
        "error[position-overflow]: the coordinate 34359738368 does not fit 32 bits\n  \
         = help: ask for 64-bit positions and coordinates: {pos: i64, crd: i64}",
    );
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let check = |text: &str, expected: &str| assert_eq!(text, expected);
    check(
        &refusal("sparse{i32}", &[9], &[&[0, 1]], Values::F64(vec![1.0, 2.5])),
        "error[type-mismatch]: the value 2.5 is not an integer that fits i32\n  \
         = help: store the tensor as f64",
    );
    check(
        &refusal("sparse{i64}", &[9], &[&[0]], Values::F64(vec![9_223_372_036_854_775_808.0])),
        "error[type-mismatch]: the value 9.223372036854776e18 is not an integer that fits i64\n  \
         = help: store the tensor as f64",
    );
    check(
        &refusal("sparse{i32}", &[9], &[&[0]], Values::F64(vec![1e300])),
        "error[type-mismatch]: the value 1e300 is not an integer that fits i32\n  \
         = help: store the tensor as f64",
    );
    check(
        &refusal("sparse{f32}", &[9], &[&[0, 1]], Values::F64(vec![f64::INFINITY, 1e300])),
        "error[type-mismatch]: the value 1e300 does not fit f32\n  \
         = help: store the tensor as f64",
    );
    check(
        &refusal("sparse{i32}", &[9], &[&[0]], Values::I64(vec![1 << 31])),
        "error[integer-overflow]: the value 2147483648 does not fit i32\n  \
         = help: store the tensor as i64",
    );
    check(
        &refusal("sparse{u64}", &[9], &[&[0]], Values::I8(vec![-1])),
        "error[integer-overflow]: the value -1 does not fit u64\n  \
         = help: store the tensor as i64",
    );
    check(
        &refusal("sparse{i8}", &[9], &[&[0]], Values::U64(vec![u64::MAX])),
        "error[integer-overflow]: the value 18446744073709551615 does not fit i8\n  \
         = help: store the tensor as u64",
    );
    check(
        &refusal("sparse", &[9], &[&[0]], Values::C128(vec![[1.0, 0.0]])),
        "error[type-mismatch]: the values are complex, but the tensor holds f64\n  \
         = help: store the tensor as c128",
    );
}

/// The total counts: four times 2^62 is 2^64, whose lower half is 0.
#[test]
fn sums_of_duplicates_do_not_wrap_to_a_narrower_type() {
    let sum = |datatype: &str, vals: Vec<i64>| {
        let crds = vec![vec![3; vals.len()]];
        let list = Coordinates::new(vec![9], crds, Values::I64(vals)).unwrap();
        let text = format!("sparse{{{datatype}}}");
        let storage = parse(&text, Some(1)).unwrap().resolve(DataType::F64).unwrap();
        let packed = pack(&list, &storage, Duplicates::Sum);
        packed.map_or_else(|d| d.to_string(), |tensor| tensor.vals().get(0).to_string())
    };
    let (large, most) = (1 << 62, i64::MAX);
    for datatype in ["i8", "i16", "i32", "u8", "u16", "u32"] {
        let expected = format!(
            "error[integer-overflow]: the value 18446744073709551616 does not fit {datatype}\n  \
             = help: store the tensor as f64"
        );
        assert_eq!(sum(datatype, vec![large; 4]), expected);
        assert_eq!(sum(datatype, vec![most, most, 5, -most, -most]), "5");
    }
}

#[test]
fn tensors_beyond_memory_are_refused() {
    let check = |text: &str, expected: &str| assert_eq!(text, expected);
    check(
        &refusal("dense", &[1 << 25, 1 << 25], &[&[], &[]], ones(0)),
        "error[out-of-memory]: an array does not fit in memory: 9007.199 TB more were needed\n  \
         = help: choose a format that takes less, or work on a smaller part",
    );
    check(
        &refusal("csr", &[1 << 50, 3], &[&[], &[]], ones(0)),
        "error[out-of-memory]: an array does not fit in memory: 4503.600 TB more were needed\n  \
         = help: choose a format that takes less, or work on a smaller part",
    );
    check(
        &refusal("dense", &[1 << 40, 1 << 40], &[&[], &[]], ones(0)),
        "error[dimension-too-large]: the sizes 1099511627776 x 1099511627776 multiply beyond \
         2^63 - 1\n  = help: use a sparse format, whose memory does not depend on the product of \
         dimensions",
    );
}

#[test]
fn explicit_zeros_stay_and_integers_are_summed_wide() {
    let pack_as = |format: &str, vals| {
        let list = Coordinates::new(vec![4], vec![vec![2, 1, 2]], vals).unwrap();
        let storage = parse(format, Some(1)).unwrap().resolve(DataType::F64).unwrap();
        arrays(&pack(&list, &storage, Duplicates::Sum).unwrap())[2].clone()
    };
    let most = i64::from(i32::MAX);
    assert_eq!(pack_as("sparse", ones(3)), [Scalar::F64(1.0), Scalar::F64(2.0)]);
    assert_eq!(
        pack_as("sparse{i32}", Values::I64(vec![most + 5, 0, -5])),
        [Scalar::I64(0), Scalar::I64(most)]
    );
    assert_eq!(
        pack_as("sparse{bool}", Values::I64(vec![1, 0, -1])),
        [Scalar::I64(0), Scalar::I64(1)]
    );
}
