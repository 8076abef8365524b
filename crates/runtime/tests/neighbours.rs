//! Arrays and matrices of other crates become tensors and come back, in place where they are laid out alike.

use ndarray::{Array, Array1, Array2, Array3, ArrayD, Axis, ShapeBuilder, array, s};
use sprs::{CsMat, CsMatI, TriMat};
use tamis_core::format;
use tamis_ir::datatype::DataType;
use tamis_runtime::{Coordinates, Duplicates, Scalar, Tensor, TensorView, Values, pack};

/// Requires that a tensor has the elements of an array.
fn is_like(tensor: &Tensor, array: &ArrayD<f64>) {
    let shape: Vec<u64> = array.shape().iter().map(|&n| n as u64).collect();
    assert_eq!(tensor.shape(), shape);
    for (at, value) in array.indexed_iter() {
        let at: Vec<u64> = (0..array.ndim()).map(|m| at[m] as u64).collect();
        assert_eq!(tensor.get(&at).unwrap().as_f64(), *value, "{at:?}");
    }
}

fn numbers(shape: (usize, usize, usize)) -> Array3<f64> {
    Array::from_shape_fn(shape, |(i, j, k)| (100 * i + 10 * j + k) as f64)
}

#[test]
fn arrays_in_any_order_are_tensors() {
    let x = numbers((2, 3, 4));
    let at = x.as_ptr();
    let tensor = Tensor::try_from(x.clone()).unwrap();
    is_like(&tensor, &x.clone().into_dyn());
    let taken = Tensor::try_from(x.clone()).unwrap().into_vec::<f64>().unwrap();
    assert_eq!(taken, x.as_slice().unwrap());
    let same = Tensor::try_from(x.clone()).unwrap();
    assert_ne!(same.vals().address().cast(), at, "a clone has memory of its own");
    let own = numbers((2, 3, 4));
    let at = own.as_ptr();
    assert_eq!(Tensor::try_from(own).unwrap().vals().address().cast(), at);
    let by_columns = Array::from_shape_vec((2, 3).f(), vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]).unwrap();
    let rows = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    is_like(&Tensor::try_from(by_columns).unwrap(), &rows.into_dyn());
    let mut last = x.clone();
    last.slice_collapse(s![1.., .., ..]);
    is_like(&Tensor::try_from(last.clone()).unwrap(), &last.into_dyn());
    let mut reversed = x.clone();
    reversed.invert_axis(Axis(1));
    is_like(&Tensor::try_from(reversed.clone()).unwrap(), &reversed.into_dyn());
    let mut some = x.clone();
    some.slice_collapse(s![.., ..;2, 1..3]);
    is_like(&Tensor::try_from(some.clone()).unwrap(), &some.into_dyn());
    for empty in [Array2::<f64>::zeros((0, 3)), Array2::zeros((3, 0))] {
        is_like(&Tensor::try_from(empty.clone()).unwrap(), &empty.into_dyn());
    }
    let number = ndarray::arr0(2.5);
    assert_eq!(Tensor::try_from(number).unwrap().get(&[]).unwrap().as_f64(), 2.5);
    let whole = Tensor::try_from(Array1::from(vec![1i16, -2])).unwrap();
    assert_eq!(whole.storage().datatype, DataType::I16);
}

#[test]
fn views_lend_their_memory_or_are_refused() {
    let x = numbers((2, 3, 4));
    let view = TensorView::try_from(x.view()).unwrap();
    assert_eq!(view.vals().address().cast(), x.as_ptr());
    is_like(&view, &x.clone().into_dyn());
    let row = TensorView::try_from(x.slice(s![1, 2, ..])).unwrap();
    is_like(&row, &x.slice(s![1, 2, ..]).to_owned().into_dyn());
    for view in [x.view().reversed_axes(), x.slice(s![.., ..;2, ..])] {
        let refused = TensorView::try_from(view.view()).unwrap_err();
        assert!(refused.to_string().contains("not contiguous"), "{refused}");
        assert!(Tensor::try_from(view.to_owned()).is_ok());
    }
}

#[test]
fn tensors_in_any_format_are_arrays() {
    let crds = vec![vec![0, 2, 0, 2], vec![1, 0, 3, 0]];
    let list = Coordinates::new(vec![3, 4], crds, Values::F64(vec![1.0, 2.0, 3.0, 0.5])).unwrap();
    for (name, fill) in
        [("csr", 0.0), ("csc", 0.0), ("dense", 0.0), ("coo", 7.0), ("dcsr", f64::INFINITY)]
    {
        let mut storage = format::parse(name, Some(2)).unwrap().resolve(DataType::F64).unwrap();
        storage.fill = Scalar::F64(fill);
        let tensor = pack(&list, &storage, Duplicates::Sum).unwrap();
        let mut expected = Array2::from_elem((3, 4), fill);
        (expected[[0, 1]], expected[[0, 3]], expected[[2, 0]]) = (1.0, 3.0, 2.5);
        let found = ArrayD::<f64>::try_from(tensor.clone()).unwrap();
        assert_eq!(found, expected.into_dyn(), "{name}");
        assert!(ArrayD::<f32>::try_from(tensor).is_err(), "{name}");
    }
    let x = numbers((2, 2, 2));
    let at = x.as_ptr();
    let back = ArrayD::<f64>::try_from(Tensor::try_from(x).unwrap()).unwrap();
    assert_eq!(back.as_ptr(), at, "the same memory");
}

fn random(rows: usize, columns: usize, seed: u64) -> TriMat<f64> {
    let mut entries = TriMat::new((rows, columns));
    let mut state = seed;
    for row in 0..rows {
        for column in 0..columns {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            if state >> 62 == 0 {
                entries.add_triplet(row, column, (state >> 33) as f64);
            }
        }
    }
    entries
}

#[test]
fn matrices_by_rows_and_by_columns_come_back() {
    for (rows, columns) in [(7, 5), (1, 9), (9, 1), (0, 3), (3, 0)] {
        let entries = random(rows, columns, 3);
        for matrix in [entries.to_csr::<usize>(), entries.to_csc()] {
            let dense = matrix.to_dense().into_dyn();
            let view = TensorView::try_from(&matrix).unwrap();
            assert_eq!(view.vals().len(), matrix.nnz());
            is_like(&view, &dense);
            drop(view);
            let (at, same) = (matrix.indices().as_ptr(), matrix.clone());
            let tensor = Tensor::try_from(matrix).unwrap();
            is_like(&tensor, &dense);
            let shared = tensor.clone();
            let narrow = CsMatI::<f64, u32, i64>::try_from(shared).unwrap();
            assert_eq!(narrow.to_other_types::<usize, f64, usize>(), same);
            let back = CsMat::<f64>::try_from(tensor).unwrap();
            assert_eq!((back.indices().as_ptr(), &back), (at, &same), "the same memory");
        }
    }
}

#[test]
fn what_sprs_cannot_hold_is_refused() {
    let told = |tensor: Tensor| CsMat::<f64>::try_from(tensor).unwrap_err().to_string();
    let vector = Tensor::dense(&[2], vec![1.0, 2.0]).unwrap();
    assert!(told(vector).contains("no matrix in csr or csc"));
    let square = |fill| Tensor::eye(2, 1.0).unwrap().with_fill(Scalar::F64(fill)).unwrap();
    let csr = |fill| {
        let parts = square(fill);
        Tensor::csr([2, 2], vec![0, 1, 2], vec![0, 1], vec![1.0, 1.0])
            .unwrap()
            .with_fill(parts.storage().fill)
            .unwrap()
    };
    assert!(told(csr(1.0)).contains("the fill value of the tensor is 1"));
    let narrow = Tensor::csr([1, 2], vec![0, 1], vec![1], vec![1f32]).unwrap();
    assert!(CsMat::<f64>::try_from(narrow).is_err());
    let wide = Tensor::csr([1, 1 << 40], vec![0, 1], vec![1i64 << 39], vec![1.0]).unwrap();
    let refused = CsMatI::<f64, u32, usize>::try_from(wide).unwrap_err().to_string();
    assert!(refused.contains("does not fit u32"), "{refused}");
}
