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
        if not hasattr(matrix, name):
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


@pytest.mark.parametrize("format", FORMATS)
def test_the_number_of_truth_values_is_of_those_that_hold(format):
    x, y = (array(seed, (4, 5)) for seed in (5, 6))
    y[:2] = x[:2]
    t, u, a, b = tensor(x, format), tensor(y, "csr"), sp.csr_array(x), sp.csr_array(y)
    for call in (
        lambda one, other: one != other,
        lambda one, other: one != one,
        lambda one, other: one > other,
        lambda one, other: other < one,
        lambda one, other: one > 1,
        lambda one, other: one != 0,
        lambda one, other: (one > 0) * (other > 0),
    ):
        found, expected = call(t, u), call(a, b)
        if not isinstance(found, tamis.Tensor) or found.is_full:
            continue
        assert found.nnz == found.getnnz() == expected.nnz
        np.testing.assert_array_equal(found.getnnz(0), expected.count_nonzero(axis=0))
        assert found.density == expected.nnz / 20
    equal = u == u
    assert equal.fill_value and equal.nnz == 0


def test_what_pydata_and_scipy_call_otherwise():
    x = array(3, (4, 5)) + 0.25 * (array(4, (4, 5)) > 0)
    t, a = tamis.asarray(x, format="csr"), sp.csr_array(x)
    for digits in ((), (1,), (0,), (-1,)):
        same(round(t, *digits).todense(), round(a, *digits).toarray())
    out = np.zeros((4, 5))
    assert t.todense(out=out) is out and (out == x).all()
    same(t.toarray(order="F"), x)
    with pytest.raises(tamis.TamisTypeError, match="has its order"):
        t.todense("C", out)
    with pytest.raises(tamis.TamisValueError, match="does not fit an array"):
        t.todense(out=np.zeros(4))
    np.testing.assert_allclose(plain(t.tensordot(t, axes=((0,), (0,)))), np.tensordot(x, x, ((0,), (0,))))
    same(t.broadcast_to((2, 4, 5)).todense(), np.broadcast_to(x, (2, 4, 5)))
    assert not t.isnan().any() and not t.isinf().any()
    assert sp.issparse(t.to_scipy_sparse()) and (t.to_scipy_sparse() != a).nnz == 0
    filled = tamis.coo(([0], [1]), [2.0], shape=(2, 2), fill_value=np.nan)
    assert filled.to_scipy_sparse(accept_fv=[0, np.nan]).toarray().tolist() == [[0, 2], [0, 0]]
    for call in (filled.to_scipy_sparse, lambda: t.to_scipy_sparse(accept_fv=np.nan)):
        with pytest.raises(tamis.TamisValueError, match="not accepted"):
            call()
    with pytest.raises(AttributeError, match="call todense"):
        t.maybe_densify()


def test_matrices_tell_their_order_and_blocks():
    blocks = STORED.tobsr((3, 2))
    t = tamis.asarray(blocks)
    assert t.blocksize == blocks.blocksize and t.has_canonical_format
    same(t.data, blocks.data)
    lists = {
        "csr": (True, True),
        "csc": (True, True),
        "coo": (True, True),
        "csr(nonordered)": (False, False),
        "coo(nonunique)": (False, True),
    }
    for format, told in lists.items():
        known = tamis.asarray(STORED.tocsr(), format=format)
        assert (known.has_canonical_format, known.has_sorted_indices) == told, format
    with pytest.raises(AttributeError, match="in blocks"):
        tamis.eye_array(3).blocksize


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
