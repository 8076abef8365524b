//! Matrices of `faer` and `nalgebra-sparse`, with what they may hold and tensors may not, and the other way around.

use faer::sparse::{SparseColMat, SparseRowMat, SymbolicSparseRowMat, Triplet};
use faer::{Mat, MatRef};
use nalgebra_sparse::{CscMatrix, CsrMatrix};
use tamis_ir::datatype::Scalar;
use tamis_runtime::{Tensor, TensorView};

const ENTRIES: [([u64; 2], f64); 3] = [([0, 0], 1.0), ([0, 2], 2.0), ([1, 1], 3.0)];

fn by_rows() -> Tensor {
    Tensor::csr([2, 3], vec![0usize, 2, 3], vec![0usize, 2, 1], vec![1.0, 2.0, 3.0]).unwrap()
}

fn by_columns() -> Tensor {
    Tensor::csc([2, 3], vec![0usize, 1, 2, 3], vec![0usize, 1, 0], vec![1.0, 3.0, 2.0]).unwrap()
}

fn message<T, E: std::fmt::Display>(result: Result<T, E>) -> String {
    result.err().map_or_else(String::new, |e| e.to_string())
}

#[test]
fn matrices_of_faer_come_back() {
    let entries = ENTRIES.map(|([i, j], v)| Triplet::new(i as usize, j as usize, v));
    let rows = SparseRowMat::<usize, f64>::try_new_from_triplets(2, 3, &entries).unwrap();
    let columns = SparseColMat::<usize, f64>::try_new_from_triplets(2, 3, &entries).unwrap();
    assert_eq!(*TensorView::try_from(rows.as_ref()).unwrap(), by_rows());
    assert_eq!(*TensorView::try_from(columns.as_ref()).unwrap(), by_columns());
    assert_eq!(Tensor::try_from(rows).unwrap(), by_rows());
    assert_eq!(Tensor::try_from(columns).unwrap(), by_columns());
    let rows = SparseRowMat::<u32, f64>::try_from(by_rows()).unwrap();
    assert_eq!((rows.nrows(), rows.ncols(), rows.val()), (2, 3, &[1.0, 2.0, 3.0][..]));
    let columns = SparseColMat::<u64, f64>::try_from(by_columns()).unwrap();
    assert_eq!((columns.nrows(), columns.ncols(), columns.val()), (2, 3, &[1.0, 3.0, 2.0][..]));
}

#[test]
fn matrices_of_nalgebra_come_back() {
    let rows = CsrMatrix::<f64>::try_from(by_rows()).unwrap();
    let columns = CscMatrix::<f64>::try_from(by_columns()).unwrap();
    assert_eq!(*TensorView::try_from(&rows).unwrap(), by_rows());
    assert_eq!(*TensorView::try_from(&columns).unwrap(), by_columns());
    assert_eq!(Tensor::try_from(rows).unwrap(), by_rows());
    assert_eq!(Tensor::try_from(columns).unwrap(), by_columns());
}

/// Room between rows, an order that is none, a column twice; room behind the last entry is left out.
#[test]
fn matrices_of_faer_that_no_tensor_is_are_refused() {
    let matrix = |pos: Vec<usize>, lengths, crd: Vec<usize>| {
        let vals = vec![1.0; crd.len()];
        SparseRowMat::new(SymbolicSparseRowMat::new_unsorted_checked(2, 3, pos, lengths, crd), vals)
    };
    let room = matrix(vec![0, 2, 3], Some(vec![1, 1]), vec![0, 0, 1]);
    assert!(message(TensorView::try_from(room.as_ref())).contains("not compressed"));
    assert!(message(Tensor::try_from(room)).contains("not compressed"));
    let unordered = matrix(vec![0, 2, 3], None, vec![2, 0, 1]);
    assert!(message(Tensor::try_from(unordered)).contains("do not ascend"));
    let twice = matrix(vec![0, 2, 3], None, vec![1, 1, 1]);
    assert!(message(TensorView::try_from(twice.as_ref())).contains("do not ascend"));
    let longer = matrix(vec![0, 1, 2], None, vec![0, 1, 2, 2]);
    assert_eq!(Tensor::try_from(longer).unwrap().nnz(), 2);
}

#[test]
fn tensors_that_no_matrix_is_are_refused() {
    let filled = by_rows().with_fill(Scalar::F64(1.0)).unwrap();
    assert!(message(CsrMatrix::<f64>::try_from(filled.clone())).contains("the fill value"));
    assert!(message(SparseRowMat::<usize, f64>::try_from(filled)).contains("the fill value"));
    assert!(message(CsrMatrix::<f64>::try_from(by_columns())).contains("no matrix in csr"));
    assert!(message(SparseColMat::<usize, f64>::try_from(by_rows())).contains("no matrix in csc"));
    assert!(!message(CsrMatrix::<f32>::try_from(by_rows())).is_empty());
    let wide = Tensor::csr([1, 1 << 40], vec![0i64, 1], vec![5i64], vec![1.0]).unwrap();
    assert!(message(SparseRowMat::<u32, f64>::try_from(wide.clone())).contains("wider indices"));
    assert_eq!(SparseRowMat::<u64, f64>::try_from(wide).unwrap().ncols(), 1 << 40);
    let cube = Tensor::zeros::<f64>(&[1, 1, 1]).unwrap();
    assert!(message(Mat::<f64>::try_from(cube)).contains("order 3"));
}

/// Those without elements too, which may be as large as numbers are.
#[test]
fn dense_matrices_come_back() {
    let matrix = Mat::from_fn(5, 3, |i, j| (10 * i + j) as f64);
    let tensor = Tensor::try_from(matrix.as_ref()).unwrap();
    assert_eq!(Mat::<f64>::try_from(tensor).unwrap(), matrix);
    let sparse = Mat::<f64>::try_from(by_columns()).unwrap();
    assert!(ENTRIES.iter().all(|&([i, j], v)| sparse[(i as usize, j as usize)] == v));
    for dims in [[0, 3], [3, 0], [0, 0]] {
        let empty = Tensor::zeros::<f64>(&dims).unwrap();
        let matrix = Mat::<f64>::try_from(empty).unwrap();
        assert_eq!([matrix.nrows() as u64, matrix.ncols() as u64], dims);
        assert_eq!(Tensor::try_from(matrix.as_ref()).unwrap().shape(), dims);
    }
    for dims in [[0, 1 << 61], [1 << 61, 0]] {
        let empty = Tensor::zeros::<f64>(&dims).unwrap();
        assert!(message(Mat::<f64>::try_from(empty)).contains("no matrix of dimension"));
    }
    let tall = MatRef::<f64>::from_column_major_slice(&[], 1 << 61, 0);
    assert_eq!(Tensor::try_from(tall).unwrap().shape(), [1 << 61, 0]);
}
