"""Keys of tensors that are larger than what is looked at together: NumPy's elements, in every format that finds
them by its arrays."""

import numpy as np
import pytest
import scipy.sparse as sp
import tamis
from test_tensor import same

FORMS = ["csr", "csc", "csr(nonordered)", "coo", "dcsr"]


def matrix(rows, columns, density, seed, dtype="f8"):
    rng = np.random.default_rng(seed)
    made = sp.random_array((rows, columns), density=density, rng=rng, format="csr")
    made.data = rng.integers(1, 100, made.nnz).astype(dtype)
    return made


@pytest.mark.parametrize("form", FORMS)
def test_rows_and_columns(form):
    rng = np.random.default_rng(1)
    for rows, columns, density in ((300, 40, 0.5), (7, 5000, 0.6), (5000, 7, 0.01), (1, 3000, 1.0), (0, 4, 0)):
        made = matrix(rows, columns, density, 2)
        t, x = tamis.asarray(made, format=form, copy=True), made.toarray()
        many = rng.integers(0, rows, 2 * rows) if rows else np.zeros(0, dtype=int)
        some = np.sort(rng.choice(columns, columns // 2, replace=False))
        for key in (
            np.s_[::-1],
            np.s_[1::3],
            np.s_[-2::-2],
            (many,),
            np.s_[:, some],
            np.s_[:, some[::-1]],
            np.s_[:, ::3],
            np.s_[:, ::-1],
            np.s_[::-1, some],
            np.s_[many, 1:],
            (slice(None), -1 - some),
        ):
            same(t[key], x[key])
        same(np.flip(t), np.flip(x))
        same(np.repeat(t, 2, axis=0), np.repeat(x, 2, axis=0))


@pytest.mark.parametrize("wide", [False, True])
def test_single_elements(wide):
    made = matrix(400, 300, 0.2, 3)
    if wide:
        made.indices, made.indptr = made.indices.astype(np.int64), made.indptr.astype(np.int64)
    rng = np.random.default_rng(4)
    for count in (1, 31, 32, 33, 1000):
        rows, columns = rng.integers(-400, 400, count), rng.integers(-300, 300, count)
        for form in ("csr", "csc", "dcsr"):
            t = tamis.asarray(made, format=form)
            same(t[rows, columns], made.toarray()[rows, columns])


def test_rows_of_which_most_are_empty():
    for rows in (1, 15, 16, 17, 33, 1000):
        for filled in ([0], [rows - 1], list(range(0, rows, 5))):
            x = np.zeros((rows, 3))
            x[filled, 1] = np.arange(1.0, len(filled) + 1)
            t = tamis.asarray(x, format="csr")
            same(np.array([c.tolist() for c in t.nonzero()]), np.array(x.nonzero()))
            same(t.asformat("coo"), x)


def test_arrays_that_are_no_matrix_are_refused():
    made = matrix(50, 30, 0.3, 5)
    t = tamis.asarray(made)
    made.indptr[20] = 2**30
    for use in (lambda: t[::-1], lambda: t[[3, 20]], lambda: t[:, [2, 5]], lambda: t[[20], [3]]):
        with pytest.raises(tamis.TamisError):
            use()


def test_distances_of_the_same_coordinates():
    t = tamis.asarray(matrix(30, 20, 0.3, 6))
    for dtype in ("f8", "f4", "i8", "c16"):
        x = t.astype(dtype)
        assert np.allclose(x, x) and not np.allclose(x, x * 2)
        same(np.isclose(x, x + 0 * x), np.ones(x.shape, bool))
        near = x._with_values((x.values * (1 + 1e-3)).astype(dtype), 0)
        for rtol in (1e-2, 1e-4, 0):
            same(np.isclose(x, near, rtol), np.isclose(x.to_numpy(), near.to_numpy(), rtol))


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "f4", "c16"])
def test_entries_of_all_lines(dtype):
    made = matrix(60, 2100, 0.4, 5, dtype)
    key = np.random.default_rng(6).permutation(2100)
    for form in ("csr", "csc"):
        t, x = tamis.asarray(made, format=form, copy=True), made.toarray()
        for some in (key, key[:50], np.sort(key[:50]), np.repeat(key[:9], 2), slice(2000, 3, -7), key < 0):
            same(t[:, some], x[:, some])
            same(t.T[some], x.T[some])
            # Arrays of others are looked at first, and what is made of them is looked at, too.
            same(tamis.asarray(made if form == "csr" else made.tocsc())[:, some], x[:, some])


@pytest.mark.parametrize("shape", [(50, 40), (3, 200), (200, 3), (1, 1), (0, 4), (4, 0)])
def test_diagonals(shape):
    x = np.arange(1.0, 1 + shape[0] * shape[1]).reshape(shape)
    x[::2, ::3] = 0
    for form in ("csr", "csc"):
        t = tamis.asarray(x, format=form)
        for offset in range(-shape[0] - 1, shape[1] + 2):
            same(np.diagonal(t, offset), np.diagonal(x, offset))
            same(np.diagonal(t > 9, offset), np.diagonal(x > 9, offset))


@pytest.mark.parametrize("dtype", ["?", "i2", "u2", "f8", "c8"])
def test_lines_of_several_parts(dtype):
    parts = [matrix(30, columns, density, 7, dtype) for columns, density in ((40, 0.3), (1, 1.0), (300, 0.01))]
    for form in ("csr", "csc"):
        own = [tamis.asarray(x if form == "csr" else x.T, format=form, copy=True) for x in parts]
        whole = np.concatenate([x.toarray() for x in parts], axis=1)
        same(np.concatenate(own, axis=int(form == "csr")), whole if form == "csr" else whole.T)
        same(np.concatenate([own[0][:0], own[0][:0]], axis=1), np.zeros((0, 2 * own[0].shape[1]), dtype))


def test_steps_and_masks_that_name_little():
    x = np.arange(12.0).reshape(3, 4) % 5
    for form in (*FORMS, "dense"):
        t = tamis.asarray(x, format=form)
        for key in (
            np.s_[:: 2**63],
            np.s_[:, :: -(2**64)],
            np.s_[:, 1 : 2**70],
            np.s_[5 :: -(2**63), 1],
            np.zeros(0, bool),
            np.zeros((3, 0), bool),
            np.zeros((0, 4), bool),
        ):
            same(t[key], x[key])
        for mask in (np.zeros((2, 0), bool), np.zeros(2, bool), np.zeros((0, 0, 0), bool)):
            with pytest.raises(tamis.TamisIndexError):
                t[mask]
