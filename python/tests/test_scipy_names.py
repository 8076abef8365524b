"""Methods and arrays that tensors have by SciPy's names: its results, types and errors."""

import numpy as np
import pytest
import scipy.sparse as sp
import tamis
from conftest import DTYPES, array
from forms import FORMATS, tensor
from test_tensor import same

#: What is called of SciPy's matrix and of a tensor; the second has the same shape.
CALLS = {
    "multiply": lambda a, b: a.multiply(b),
    "multiply, number": lambda a, b: a.multiply(3),
    "multiply, row": lambda a, b: a.multiply(np.arange(5, dtype=a.dtype)),
    "multiply, column": lambda a, b: a.multiply(b[:, [2]]),
    "maximum": lambda a, b: a.maximum(b),
    "minimum": lambda a, b: a.minimum(b),
    "maximum, number": lambda a, b: a.maximum(-1),
    "minimum, number": lambda a, b: a.minimum(-1),
    "power": lambda a, b: a.power(3),
    "power, typed": lambda a, b: a.power(2, dtype="f8"),
    "count_nonzero": lambda a, b: a.count_nonzero(),
    "count_nonzero, rows": lambda a, b: a.count_nonzero(axis=1),
    "count_nonzero, columns": lambda a, b: a.count_nonzero(axis=-2),
    "getrow": lambda a, b: a.getrow(2),
    "getrow, last": lambda a, b: a.getrow(-1),
    "getcol": lambda a, b: a.getcol(np.int64(3)),
    "getcol, last": lambda a, b: a.getcol(-5),
    "getH": lambda a, b: a.getH(),
    "nanmax": lambda a, b: a.nanmax(),
    "nanmin, rows": lambda a, b: a.nanmin(axis=1),
    **{f"to{form}": lambda a, b, form=form: getattr(a, f"to{form}")() for form in ("bsr", "dia", "dok", "lil")},
    "tobsr, blocks": lambda a, b: a.tobsr(blocksize=(2, 5), copy=True),
    **{
        name: lambda a, b, name=name: getattr(a, name)()
        for name in dir(sp.csr_array)
        if isinstance(vars(np).get(name), np.ufunc) and name not in dir(np.ndarray)
        if name not in ("maximum", "minimum", "multiply", "power")
    },
}
REFUSALS = (OverflowError, TypeError, ValueError)


def plain(x):
    return np.asarray(x.todense() if sp.issparse(x) or isinstance(x, tamis.Tensor) else x)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_methods_are_scipys(dtype, format):
    made, other = (array(seed, (4, 5), dtype) for seed in (5, 6))
    t, u, a, b = tensor(made, format), tensor(other, "csr"), sp.csr_matrix(made), sp.csr_matrix(other)
    for name, call in CALLS.items():
        with np.errstate(all="ignore"):
            try:
                expected = plain(call(a, b))
            except REFUSALS as error:
                # SciPy has no floats of 16 bits, tensors do.
                if "float16" not in str(error):
                    with pytest.raises(REFUSALS):
                        call(t, u)
                continue
            found = plain(call(t, u))
        # SciPy's matrices keep two axes, and its counts have the type of its coordinates.
        counts = expected.astype(np.int64) if name.startswith("count") else expected
        same(found.reshape(expected.shape), counts, exact=False)


STORED = sp.coo_matrix(([1.0, 0, 2, 3], ([0, 0, 2, 2], [1, 2, 0, 3])), shape=(3, 4))


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr"])
def test_arrays_are_scipys(format):
    matrix = STORED.asformat(format)
    t = tamis.asarray(matrix)
    for axis in (None, 0, 1, -1):
        same(plain(t.getnnz(axis)), np.asarray(STORED.getnnz(axis), dtype=np.int64))
    for name in ("data", "indices", "indptr", "row", "col", "coords"):
        if format == "bsr" or not hasattr(matrix, name):
            assert not hasattr(t, name)
            with pytest.raises(AttributeError, match="tensor.levels and tensor.values"):
                getattr(t, name)
        else:
            same(getattr(t, name), getattr(matrix, name))
    same(t.power(0), STORED.toarray() ** 0)
    with np.errstate(all="ignore"):
        same(t.power(-1), STORED.toarray() ** -1)
    with pytest.raises(ValueError):
        t.getnnz(2)
    for call in (lambda: t.getrow(3), lambda: t.getcol(-5)):
        with pytest.raises(IndexError):
            call()
    with pytest.raises(ValueError):
        t.multiply(np.ones((3, 3)))


def test_arrays_of_other_axes():
    x = array(3, (4, 3, 5))
    t = tamis.asarray(x, format="coo")
    np.testing.assert_array_equal(t.coords, np.nonzero(x))
    same(t.data, x[x != 0])
    same(t.getnnz(axis=2).reshape(-1), np.count_nonzero(x, axis=2).reshape(-1))
    row = tamis.asarray(x[0, 0], format="sparse")
    np.testing.assert_array_equal(row.coords[0], np.flatnonzero(x[0, 0]))
    for made in (t, row, tamis.asarray(STORED, format="coo(aos)")):
        assert not hasattr(made, "row") and not hasattr(made, "col")
    with pytest.raises(tamis.TamisTypeError, match="3 axes has no rows"):
        t.getrow(0)
    beside = tamis.coo(([0], [1]), [2.0], shape=(2, 2), fill_value=np.inf, format="csr")
    assert beside.getnnz() == 1 and beside.data.tolist() == [2.0]


MAKERS = {
    "eye": lambda m: m.eye_array(4),
    "eye, rows": lambda m: m.eye_array(4, 3, k=-2, dtype="i4", format="csc"),
    "eye, matrix": lambda m: m.eye(2, 3, 1, "f4", "csr"),
    "diags, matrix": lambda m: m.diags([[1.0, 2], 3.0], [0, 1], (2, 3), "csc"),
    "random, matrix": lambda m: m.random(9, 5, 0.3, "csr", rng=5),
    "diags": lambda m: m.diags_array([np.arange(1.0, 4), [5.0, 6], [7.0]], offsets=[0, 1, -2]),
    "diags, shape": lambda m: m.diags_array([1.0, 2.0], offsets=[-1, 2], shape=(3, 5), format="csr"),
    "diags, one": lambda m: m.diags_array([1, 2, 3], offsets=1, dtype="i8", format="coo"),
    "random": lambda m: m.random_array((30, 20), density=0.2, rng=np.random.default_rng(1)),
    "random, rows": lambda m: m.random_array((9, 5), density=0.5, format="csr", dtype="f4", rng=2),
    "random, sampled": lambda m: m.random_array((9, 5), density=0.5, data_sampler=lambda size: np.ones(size), rng=3),
    "random, axes": lambda m: m.random_array((4, 5, 6), density=0.1, rng=4),
}


@pytest.mark.parametrize("name", MAKERS)
def test_tensors_are_made_as_by_scipy(name):
    found, expected = MAKERS[name](tamis), MAKERS[name](sp)
    assert isinstance(found, tamis.Tensor) and not found.is_borrowed
    assert found.nnz == expected.count_nonzero()
    if "format" in MAKERS[name].__code__.co_names or expected.format == "coo":
        assert found.format == expected.format
    same(found, expected.toarray())


def test_makers_take_formats_of_tensors():
    assert tamis.eye_array(4, format="bcsr(2,2)").format == "bcsr(2,2)"
    assert tamis.random_array((4, 4, 4), density=0.5, format="csf").format == "csf"
    assert tamis.eye_array(10**7).nnz == 10**7
    wrong = [
        (lambda: tamis.eye_array(-1), "-1 is no size"),
        (lambda: tamis.random_array((2, 2), density=3), "random_array"),
        (lambda: tamis.diags_array([[1.0, 2], [3.0, 4]], offsets=[0, 0]), "tamis.diags"),
        (lambda: tamis.diags_array([1.0], shape="a"), "tamis.diags"),
    ]
    for call, told in wrong:
        with pytest.raises(tamis.TamisError, match=told):
            call()
