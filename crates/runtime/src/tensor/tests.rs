//! Arrays that break a promise of their level format: each is refused, and told why.

use super::{LevelData, Tensor};
use crate::memory::{Buffer, Truth};
use tamis_core::format::parse;
use tamis_core::level::Part;
use tamis_ir::datatype::DataType;
use tamis_ir::diagnostic::Code;

/// An array of a level, counted from 1, by its elements.
type Array<'a> = (usize, Part, &'a [i64]);

/// Arrays of a tensor that is valid.
struct Valid<'a> {
    format: &'a str,
    dims: &'a [u64],
    arrays: &'a [Array<'a>],
    vals: usize,
}

impl Valid<'_> {
    /// The message about the tensor with some arrays replaced; empty if there is none.
    fn message(&self, dims: &[u64], changed: &[Array<'_>], vals: usize) -> String {
        let spec = parse(self.format, Some(dims.len())).expect("the format exists");
        let mut levels = vec![LevelData::default(); spec.format.levels().len()];
        for &(level, part, elements) in self.arrays.iter().chain(changed) {
            let narrow = || elements.iter().map(|&x| x as i32).collect();
            *levels[level - 1].part_mut(part) = Some(match part {
                Part::Pos | Part::Crd => Buffer::from_vec::<i32>(narrow()),
                Part::Width => Buffer::from_vec(elements.to_vec()),
                Part::Mask => {
                    Buffer::from_vec(elements.iter().map(|&x| Truth::of_byte(x as u8)).collect())
                }
            });
        }
        let storage = spec.resolve(DataType::F64).expect("the storage exists");
        let vals = Buffer::from_vec(vec![1.0; vals]);
        match Tensor::try_from_parts(dims.to_vec(), storage, levels, vals) {
            Ok(_) => String::new(),
            Err(d) => {
                assert_eq!(d.code, Code::InvalidTensor, "{d}");
                d.message
            }
        }
    }

    /// Checks that the arrays are valid, and what is said of them with some replaced.
    fn check(&self, changes: &[(Array<'_>, &str)]) {
        assert_eq!(self.message(self.dims, &[], self.vals), "", "{}", self.format);
        for &(array, message) in changes {
            let got = self.message(self.dims, &[array], self.vals);
            assert_eq!(got, message, "{} with {array:?}", self.format);
        }
        let short = self.message(self.dims, &[], self.vals - 1);
        let positions = format!("{} positions of the last level", self.vals);
        assert_eq!(short, format!("there are {} values for {positions}", self.vals - 1));
    }
}

#[test]
fn compressed_levels() {
    let csr = Valid {
        format: "csr",
        dims: &[3, 4],
        arrays: &[(2, Part::Pos, &[0, 2, 2, 3]), (2, Part::Crd, &[1, 3, 0])],
        vals: 3,
    };
    csr.check(&[
        (
            (2, Part::Pos, &[0, 2, 3]),
            "pos of level 2 has 3 entries for 3 parents; it needs one more than parents",
        ),
        (
            (2, Part::Pos, &[1, 2, 2, 3]),
            "pos of level 2 goes from 1 to 3; it must go from 0 to the 3 coordinates",
        ),
        (
            (2, Part::Pos, &[0, 2, 2, 4]),
            "pos of level 2 goes from 0 to 4; it must go from 0 to the 3 coordinates",
        ),
        ((2, Part::Pos, &[0, 2, 1, 3]), "pos of level 2 does not ascend: 2 then 1 at parent 1"),
        (
            (2, Part::Crd, &[3, 1, 0]),
            "coordinates of level 2 do not ascend: 3 then 1 at position 1",
        ),
        (
            (2, Part::Crd, &[1, 1, 0]),
            "coordinates of level 2 do not ascend: 1 then 1 at position 1",
        ),
        (
            (2, Part::Crd, &[1, 4, 0]),
            "coordinate 4 at position 1 of level 2 is outside the dimension 4",
        ),
        (
            (2, Part::Crd, &[-1, 1, 0]),
            "coordinate -1 at position 0 of level 2 is outside the dimension 4",
        ),
        ((2, Part::Mask, &[1, 1, 1]), "level 2 is compressed, which has not a mask array"),
        ((1, Part::Crd, &[0, 1, 2]), "level 1 is dense, which has not a crd array"),
    ]);
}

#[test]
fn compressed_levels_below_functions_of_modes() {
    let blocks = Valid {
        format: "bcsr(2,2)",
        dims: &[3, 4],
        arrays: &[(2, Part::Pos, &[0, 2, 3]), (2, Part::Crd, &[0, 1, 1])],
        vals: 12,
    };
    blocks.check(&[
        ((2, Part::Pos, &[0, 3]), "level 2: pos has 2 entries for 2 parents"),
        ((2, Part::Pos, &[1, 2, 3]), "level 2: pos starts at 1, not 0"),
        ((2, Part::Pos, &[0, 4, 3]), "level 2: pos descends at entry 2"),
        ((2, Part::Pos, &[0, 2, 2]), "level 2: pos ends at 2, crd has 3 entries"),
        ((2, Part::Crd, &[1, 0, 1]), "level 2: the coordinate 0 comes after 1, at position 1"),
        ((2, Part::Crd, &[1, 1, 1]), "level 2: the coordinate 1 is repeated, at position 1"),
        ((2, Part::Crd, &[0, 2, 1]), "level 2: the coordinate 2 lies outside 0..2, at position 1"),
    ]);
}

#[test]
fn ranges_below_diagonals() {
    let dia = Valid {
        format: "dia",
        dims: &[3, 4],
        arrays: &[(1, Part::Pos, &[0, 3]), (1, Part::Crd, &[-2, 0, 3])],
        vals: 9,
    };
    dia.check(&[
        (
            (1, Part::Crd, &[-3, 0, 3]),
            "level 1: the coordinate -3 lies outside -2..4, at position 0",
        ),
        (
            (1, Part::Crd, &[-2, 0, 4]),
            "level 1: the coordinate 4 lies outside -2..4, at position 2",
        ),
        ((1, Part::Crd, &[0, -2, 3]), "level 1: the coordinate -2 comes after 0, at position 1"),
        ((1, Part::Crd, &[0, 0, 3]), "level 1: the coordinate 0 is repeated, at position 1"),
        ((2, Part::Crd, &[0]), "level 2 is range, which has not a crd array"),
    ]);
}

#[test]
fn offsets_below_diagonals() {
    let offsets = Valid {
        format: "(i, j) -> (j-i: compressed, i: range, j: offset)",
        dims: &[3, 4],
        arrays: &[(1, Part::Pos, &[0, 2]), (1, Part::Crd, &[0, 3])],
        vals: 6,
    };
    offsets.check(&[((3, Part::Crd, &[0]), "level 3 is offset, which has not a crd array")]);
}

#[test]
fn lists() {
    let coo = Valid {
        format: "coo",
        dims: &[3, 4],
        arrays: &[(1, Part::Pos, &[0, 3]), (1, Part::Crd, &[0, 0, 2]), (2, Part::Crd, &[1, 3, 0])],
        vals: 3,
    };
    coo.check(&[
        ((1, Part::Crd, &[0, 2, 0]), "level 1: the coordinate 0 comes after 2, at position 2"),
        ((2, Part::Crd, &[3, 1, 0]), "level 2: the coordinate 1 comes after 3, at position 1"),
        ((2, Part::Crd, &[3, 3, 0]), "level 2: the coordinate 3 is repeated, at position 1"),
        ((2, Part::Crd, &[1, 4, 0]), "level 2: the coordinate 4 lies outside 0..4, at position 1"),
        ((2, Part::Crd, &[1, 3]), "level 2: crd has 2 entries for 3 parents"),
        ((1, Part::Crd, &[0, 0, 3]), "level 1: the coordinate 3 lies outside 0..3, at position 2"),
    ]);
    let any = Valid { format: "coo(nonordered)", ..coo };
    let place = (1, Part::Crd, &[0, 2, 0][..]);
    assert_eq!(any.message(any.dims, &[place], 3), "");
    let twice = (2, Part::Crd, &[1, 3, 1][..]);
    let repeated = "level 2: the coordinate 1 is repeated, at position 2";
    assert_eq!(any.message(any.dims, &[place, twice], 3), repeated);
    let free = Valid { format: "coo(nonordered,nonunique)", ..any };
    assert_eq!(free.message(free.dims, &[place, twice], 3), "");
    let sorted = Valid { format: "coo(nonunique)", ..free };
    let twice = (2, Part::Crd, &[1, 1, 1][..]);
    assert_eq!(sorted.message(sorted.dims, &[twice], 3), "");
    let descends = "level 1: the coordinate 0 comes after 2, at position 2";
    assert_eq!(sorted.message(sorted.dims, &[place, twice], 3), descends);
}

#[test]
fn lists_that_alternate_coordinates() {
    let aos = Valid {
        format: "coo(aos)",
        dims: &[3, 4],
        arrays: &[(1, Part::Pos, &[0, 3]), (1, Part::Crd, &[0, 1, 0, 3, 2, 0])],
        vals: 3,
    };
    aos.check(&[
        ((1, Part::Crd, &[0, 1, 0, 3]), "level 1: pos ends at 3, crd has 2 entries"),
        (
            (1, Part::Crd, &[0, 1, 0, 3, 2, 0, 1]),
            "level 1: crd has 7 elements, which are not 2 for each position",
        ),
        (
            (1, Part::Crd, &[0, 3, 0, 1, 2, 0]),
            "level 2: the coordinate 1 comes after 3, at position 1",
        ),
        (
            (1, Part::Crd, &[0, 1, 0, 4, 2, 0]),
            "level 2: the coordinate 4 lies outside 0..4, at position 1",
        ),
        ((2, Part::Crd, &[1, 3, 0]), "level 2 is singleton, which has not a crd array"),
    ]);
}

#[test]
fn slots() {
    let ell = Valid {
        format: "ell",
        dims: &[3, 4],
        arrays: &[(1, Part::Width, &[2]), (3, Part::Crd, &[1, -1, 0, 3, -1, -1])],
        vals: 6,
    };
    ell.check(&[
        ((1, Part::Width, &[]), "the width of level 1 is not one number"),
        ((1, Part::Width, &[-1]), "the width of level 1 is not one number"),
        ((1, Part::Width, &[3]), "level 3: crd has 6 entries for 9 parents"),
        (
            (3, Part::Crd, &[1, -2, 0, 3, -1, -1]),
            "level 3: the coordinate -2 lies outside 0..4, at position 1",
        ),
        (
            (3, Part::Crd, &[1, -1, 0, 4, -1, -1]),
            "level 3: the coordinate 4 lies outside 0..4, at position 3",
        ),
    ]);
    let unpadded = Valid {
        format: "(i, j) -> (i: dense, j: singleton)",
        dims: &[3, 4],
        arrays: &[(2, Part::Crd, &[1, 0, 3])],
        vals: 3,
    };
    unpadded.check(&[(
        (2, Part::Crd, &[1, -1, 3]),
        "level 2: the coordinate -1 lies outside 0..4, at position 1",
    )]);
}

#[test]
fn hash_maps() {
    let dok = Valid {
        format: "dok",
        dims: &[2, 9],
        arrays: &[(2, Part::Pos, &[0, 4, 8]), (2, Part::Crd, &[4, 1, -1, 8, -1, -1, 2, -1])],
        vals: 8,
    };
    dok.check(&[
        (
            (2, Part::Pos, &[0, 3, 8]),
            "level 2: a hash table has 3 buckets, which is not a power of two",
        ),
        (
            (2, Part::Pos, &[0, 0, 8]),
            "level 2: a hash table has 0 buckets, which is not a power of two",
        ),
        ((2, Part::Pos, &[0, 4]), "level 2: pos has 2 entries for 2 parents"),
        ((2, Part::Pos, &[0, 8, 4]), "level 2: pos descends at entry 2"),
        ((2, Part::Pos, &[0, 8, 16]), "level 2: pos ends at 16, crd has 8 entries"),
        (
            (2, Part::Crd, &[4, 1, 3, 8, -1, -1, 2, -1]),
            "level 2: a hash table has no empty bucket, so searches would not end",
        ),
        (
            (2, Part::Crd, &[4, -1, -1, 8, -1, -1, 2, -1]),
            "level 2: the coordinate 8 is not found from its bucket on",
        ),
        (
            (2, Part::Crd, &[4, 4, -1, 8, -1, -1, 2, -1]),
            "level 2: the coordinate 4 is in a hash table twice",
        ),
        (
            (2, Part::Crd, &[4, 1, -1, 12, -1, -1, 2, -1]),
            "level 2: the coordinate 12 lies outside 0..9, at position 3",
        ),
        (
            (2, Part::Crd, &[4, 1, -2, -1, -1, -1, 2, -1]),
            "level 2: bucket 2 holds -2; -1 marks an empty one",
        ),
    ]);
}

#[test]
fn bitmaps() {
    let bitmap = Valid {
        format: "bitmap",
        dims: &[2, 3],
        arrays: &[(2, Part::Mask, &[1, 0, 0, 0, 1, 1])],
        vals: 6,
    };
    bitmap.check(&[
        ((2, Part::Mask, &[1, 0, 0]), "level 2: the mask has 3 entries for 6 positions"),
        ((2, Part::Mask, &[1, 0, 0, 0, 2, 1]), "level 2: entry 4 of the mask is 2, not a bool"),
    ]);
}

#[test]
fn arrays_that_are_missing_or_of_another_type() {
    let message = |format: &str, dims: &[u64]| {
        let arrays: &[Array<'_>] = &[];
        Valid { format, dims, arrays, vals: 0 }.message(dims, &[], 0)
    };
    assert_eq!(message("csr", &[0, 1]), "level 2 is compressed, which needs a pos array");
    assert_eq!(message("dok", &[0, 1]), "level 2 is hashed, which needs a pos array");
    assert_eq!(message("bitmap", &[0, 1]), "level 2 is bitmap, which needs a mask array");
    assert_eq!(message("ell", &[0, 1]), "level 1 is dense, which needs a width array");
    let storage = parse("csr", Some(2)).expect("a format").resolve(DataType::F64).expect("types");
    let level = LevelData {
        pos: Some(Buffer::from_vec(vec![0i64, 0])),
        crd: Some(Buffer::from_vec::<i32>(vec![])),
        ..LevelData::default()
    };
    let levels = vec![LevelData::default(), level];
    let vals = Buffer::from_vec::<f64>(vec![]);
    let refused = Tensor::try_from_parts(vec![1, 1], storage, levels, vals);
    let message = refused.map_err(|d| d.message).err();
    assert_eq!(message.as_deref(), Some("pos of level 2 is i64, the format says i32"));
}

/// The number of values is looked at before positions are walked, which there may be 2^60 of.
#[test]
fn huge_dense_levels_are_not_walked() {
    let blocks =
        Valid { format: "(i) -> (i/2: dense, i%2: dense)", dims: &[4], arrays: &[], vals: 4 };
    blocks.check(&[]);
    let message = blocks.message(&[1 << 60], &[], 4);
    assert_eq!(message, "there are 4 values for 1152921504606846976 positions of the last level");
}

/// Every constructor refuses more modes than programs have.
#[test]
fn tensors_have_as_many_modes_as_programs() {
    const MORE: usize = crate::MAX_ORDER + 1;
    let (ones, none) = ([1; MORE], [(); MORE].map(|()| (vec![0, 1], vec![0])));
    let made = [
        Tensor::dense(&ones, vec![1.0]),
        Tensor::zeros::<f64>(&ones),
        Tensor::coo(ones, [(); MORE].map(|()| vec![0]), vec![1.0]),
        Tensor::csf(ones, none, vec![1.0]),
        Tensor::from_triplets(ones, [([0; MORE], 1.0)]),
        crate::TensorView::dense(&ones, &[1.0]).map(|_| Tensor::scalar(1.0)),
    ];
    for (n, tensor) in made.into_iter().enumerate() {
        let told = tensor.expect_err("too many modes").to_string();
        assert!(told.starts_with("error[") && told.contains("64 modes"), "{n}: {told}");
    }
    let most = [1; crate::MAX_ORDER];
    assert!(Tensor::dense(&most, vec![1.0]).is_ok());
    assert!(Tensor::from_triplets(most, [([0; crate::MAX_ORDER], 1.0)]).is_ok());
}

/// Rows without an entry take memory as compressed rows, and there is a way out.
#[test]
fn many_rows_have_another_format() {
    let told = Tensor::from_triplets([1 << 60, 1 << 60], [([7, 1 << 59], 1.0)]).expect_err("rows");
    let told = told.to_string();
    assert!(told.contains("tamis::from_entries(dims, entries, \"dcsr\", ..)"), "{told}");
    let vector = Tensor::from_triplets([1 << 60], [([1 << 59], 1.0)]).expect("one entry");
    assert_eq!(vector.nnz(), 1);
}

/// Arrays are read with a sign; what they hold without one is told as it was given.
#[test]
fn indices_without_a_sign_are_told_as_given() {
    let (pos, crd, vals, dims) = ([0u32, 1], [3_000_000_000u32], [1.0], [1, 1 << 40]);
    let made = [
        Tensor::csr(dims, pos.to_vec(), crd.to_vec(), vals.to_vec()),
        Tensor::coo(dims, [vec![0], crd.to_vec()], vals.to_vec()),
        crate::TensorView::csr(dims, &pos, &crd, &vals).map(|_| Tensor::scalar(1.0)),
    ];
    for told in made.map(|tensor| tensor.expect_err("too large").message) {
        assert_eq!(told, "the index 3000000000 does not fit 32 bits with a sign");
    }
    let told = Tensor::csr([1, 4], vec![0u64, 1], vec![u64::MAX], vec![1.0]).expect_err("large");
    assert_eq!(told.message, "the index 18446744073709551615 does not fit 64 bits with a sign");
}

/// Truth values are told as such, stored or not, and where several are stored at a coordinate.
#[test]
fn elements_of_truth_values_are_truth_values() {
    let [no, yes] = [false, true].map(crate::Truth::from);
    let a = Tensor::from_triplets([2, 2], [([0, 1], yes), ([1, 0], no), ([0, 1], yes)]);
    let a = a.expect("a matrix");
    let at = |i, j| a.get(&[i, j]).expect("inside");
    assert_eq!([at(0, 1), at(1, 0), at(1, 1)], [true, false, false].map(crate::Scalar::Bool));
    assert_eq!(at(0, 1).as_f64(), 1.0);
}

/// What is refused because entries are unordered names the constructor that orders them.
#[test]
fn unordered_entries_have_another_constructor() {
    let told = Tensor::coo([3, 3], [vec![2, 0], vec![0, 1]], vec![1.0, 2.0]).expect_err("unsorted");
    assert_eq!(
        told.to_string(),
        "error[invalid-tensor]: level 1: the coordinate 0 comes after 2, at position 1\n  \
         = help: check how the arrays were made; Tensor::from_triplets takes entries in any order"
    );
}
