"""NumPy's functions of tensors, and what takes tensors as SciPy's arrays: the same results, or a
refusal that says what to call."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph as csgraph
import scipy.sparse.linalg as sl
import sparse
import tamis
from forms import tensor
from test_tensor import same

A = np.array([[1.0, 0, np.nan, 0], [0, -2, 0, 0], [0, 0, 3, 0], [4, 0, 0, 5]])
B = np.nan_to_num(A)
C3 = np.arange(24.0).reshape(2, 3, 4) * (np.arange(24).reshape(2, 3, 4) % 3 == 0)
FORMS = ["csr", "csc", "coo", "dcsr", "bcsr(2,2)", "dense"]
W = np.arange(1.0, 5)

CALLS = {
    "nanmax": lambda a, b: np.nanmax(a),
    "nanmax, axis": lambda a, b: np.nanmax(a, axis=0),
    "nanmax of a slice": lambda a, b: np.nanmax(a[:1, 2:3], axis=1),
    "nanmin, keepdims": lambda a, b: np.nanmin(a, axis=1, keepdims=True),
    "nanmin, initial": lambda a, b: np.nanmin(a, axis=1, initial=-7.0),
    "nanmean": lambda a, b: np.nanmean(a),
    "nanmean, axis": lambda a, b: np.nanmean(a, axis=0),
    "nanmean of integers": lambda a, b: np.nanmean(b.astype(int), axis=0),
    "nansum": lambda a, b: np.nansum(a, axis=1),
    "nanprod": lambda a, b: np.nanprod(a, axis=0),
    "block": lambda a, b: np.block([[b, b + b], [b[:1], b[:1]]]),
    "block, flat": lambda a, b: np.block([b, 2 * b]),
    "matrix_power": lambda a, b: np.linalg.matrix_power(b, 5),
    "matrix_power 0": lambda a, b: np.linalg.matrix_power(b, 0),
    "multi_dot": lambda a, b: np.linalg.multi_dot([b[:2], b, b[:, :1]]),
    "matrix_transpose": lambda a, b: np.linalg.matrix_transpose(b),
    **{f"rot90 {k}": lambda a, b, k=k: np.rot90(b[:3], k) for k in range(-3, 4)},
    "rot90, axes": lambda a, b: np.rot90(b[:3], 1, (1, 0)),
    "fliplr": lambda a, b: np.fliplr(b),
    "flipud": lambda a, b: np.flipud(b),
    **{f"diag {k}": lambda a, b, k=k: np.diag(b, k) for k in (0, 1, -2, 9)},
    **{f"diag of a row {k}": lambda a, b, k=k: np.diag(b[3], k) for k in (0, 1, -2)},
    "diagflat": lambda a, b: np.diagflat(b[:2], 1),
    "apply_along_axis": lambda a, b: np.apply_along_axis(np.ptp, 0, b[:3]),
    "apply_along_axis, lines": lambda a, b: np.apply_along_axis(lambda x, n: np.sort(x)[n:], 1, b, n=1),
    "apply_along_axis, matrices": lambda a, b: np.apply_along_axis(np.diag, -2, b[:, :3]),
    "apply_along_axis, vector": lambda a, b: np.apply_along_axis(lambda x: x > 1, 0, b[3]),
    "apply_over_axes": lambda a, b: np.apply_over_axes(np.sum, b, [0, -1]),
    "apply_over_axes, lines": lambda a, b: np.apply_over_axes(np.cumsum, b, 1),
    "average": lambda a, b: np.average(b),
    "average, weights": lambda a, b: np.average(b, axis=0, weights=W),
    "average, all weights": lambda a, b: np.average(b, weights=np.outer(W, W)),
    "average, returned": lambda a, b: np.average(b, axis=1, weights=W, returned=True)[1],
    "delete": lambda a, b: np.delete(b, 1, axis=0),
    "delete, some": lambda a, b: np.delete(b, [0, -1], axis=1),
    "delete, slice": lambda a, b: np.delete(b, slice(0, 3, 2), axis=1),
    "delete, mask": lambda a, b: np.delete(b, [True, False, False, True], axis=0),
    "delete, flat": lambda a, b: np.delete(b, 3),
    "insert": lambda a, b: np.insert(b, 1, 5.0, axis=0),
    "insert, columns": lambda a, b: np.insert(b, [0, 2], np.ones((4, 2)), axis=1),
    "insert, rows at one": lambda a, b: np.insert(b, 2, np.ones((3, 4)), axis=0),
    "insert, column at one": lambda a, b: np.insert(b, -1, W, axis=1),
    "insert, a row": lambda a, b: np.insert(b, 2, b[0], axis=0),
    "insert, flat": lambda a, b: np.insert(b, 3, 7.0),
    "insert, twice": lambda a, b: np.insert(b, [1, 1, 3], [[1.0], [2], [3]], axis=0),
    "insert, slice": lambda a, b: np.insert(b, slice(0, 3, 2), 9.0, axis=0),
    "clip": lambda a, b: np.clip(b, min=0, max=2),
    "zeros_like": lambda a, b: np.zeros_like(b, shape=(2, 3)),
    "ones_like": lambda a, b: np.ones_like(b, shape=5, dtype=int),
    "full_like": lambda a, b: np.full_like(b, 2, shape=(2,)),
    "unique": lambda a, b: np.unique(b, return_counts=True)[1],
    "add, out": lambda a, b: np.add(b, b, where=np.eye(4, dtype=bool), out=np.ones((4, 4))),
    "sqrt, out": lambda a, b: np.sqrt(b, where=b > 1, out=np.zeros((4, 4))),
    "sum, where": lambda a, b: np.sum(b, axis=0, where=b > 1),
    "prod, where": lambda a, b: np.prod(b, where=b > 1),
    "any, where": lambda a, b: np.any(b, axis=1, where=b > 3),
    "all, where": lambda a, b: np.all(b, axis=1, where=b > 3),
    "max, where": lambda a, b: np.max(b, axis=1, where=b > 1, initial=1.5),
    "divmod": lambda a, b: np.divmod(b + 1.0, a - 2.5)[0],
    "divmod of an array": lambda a, b: divmod(np.full((4, 4), 7.0), b + 1.0)[1],
    "modf": lambda a, b: np.stack(np.modf(b / 4)),
    "frexp": lambda a, b: np.stack(np.frexp(b)),
    "dot, number": lambda a, b: np.dot(b.astype("i1"), 100),
    "inner, number": lambda a, b: np.inner(2.5, b.astype("f2")),
    "interp": lambda a, b: np.interp(b, [0, 1, 5], [0.0, 2, 3]),
    "transpose": lambda a, b: np.transpose(b[:2], axes=(1, 0)),
    "add.outer": lambda a, b: np.add.outer(b[0], b[1]),
    "multiply.outer": lambda a, b: np.multiply.outer(b, b[0]),
    "hypot.outer": lambda a, b: np.hypot.outer(b[0], b[1]),
    "pad": lambda a, b: np.pad(b, 1, constant_values=3.0),
    "pad, each": lambda a, b: np.pad(b, ((1, 0), (0, 2)), constant_values=((1, 2), (3, 4))),
    **{f"pad, {mode}": lambda a, b, mode=mode: np.pad(b, ((2, 1), (0, 3)), mode=mode)
       for mode in ("edge", "reflect", "symmetric", "wrap")},
    **{f"pad, {mode}": lambda a, b, mode=mode: np.pad(b, ((2, 1), (0, 3)), mode=mode)
       for mode in ("maximum", "minimum", "mean", "median", "linear_ramp")},
    "pad, few": lambda a, b: np.pad(b, 2, "mean", stat_length=((1, 2), (3, 9))),
    "pad, end": lambda a, b: np.pad(b, (1, 4), "linear_ramp", end_values=((1, 2), (0, -3.5))),
    "pad, odd": lambda a, b: np.pad(b, ((2, 1), (0, 9)), "reflect", reflect_type="odd"),
    "pad, odd ends": lambda a, b: np.pad(b, 3, "symmetric", reflect_type="odd"),
    "pad, odd integers": lambda a, b: np.pad(b[:1].astype("i8"), 2, "reflect", reflect_type="odd"),
    "unwrap": lambda a, b: np.unwrap(b * 3, axis=0),
    "unwrap, small steps": lambda a, b: np.unwrap(b, discont=100),
    "unwrap, integers": lambda a, b: np.unwrap(b.astype("i8"), period=3, axis=-2),
    "unwrap, even period": lambda a, b: np.unwrap(b.astype("i8"), period=2),
    "vander": lambda a, b: np.vander(b[0]),
    "vander, increasing": lambda a, b: np.vander(b[1].astype("i4"), 3, increasing=True),
    "vander, of truth": lambda a, b: np.vander(b[1] > 0, 2),
    "diff, ends": lambda a, b: np.diff(b, axis=0, prepend=1.5, append=b[:2]),
    "diff, twice": lambda a, b: np.diff(b, n=2, append=0),
    "full_like, cut off": lambda a, b: np.full_like(b, 2.5, dtype="i4") + np.full_like(b, -2.5, dtype="i1"),
    "full_like, truth": lambda a, b: np.full_like(b, 0.5, dtype="?"),
    "pad, even": lambda a, b: np.pad(b, 5, "reflect", reflect_type="even"),
    "pad of integers": lambda a, b: np.pad(b.astype("i4"), 2, "mean", stat_length=3),
    "pad of integers, ramp": lambda a, b: np.pad(b.astype("i2"), 3, "linear_ramp", end_values=7),
    "pad of truth": lambda a, b: np.pad(b > 0, 1, "maximum"),
    "take": lambda a, b: np.take(b, [1, 5]),
    "take, grid": lambda a, b: np.take(b, [[1, 0], [2, 3]], axis=1),
    "compress": lambda a, b: np.compress([True, False, True], b, axis=0),
    "select": lambda a, b: np.select([b > 1, b < 0], [b, b * 2], 0),
    "choose": lambda a, b: np.choose(b.astype("i8") % 3, [b, b * 2, 7]),
    "choose, clip": lambda a, b: np.choose(b.astype("i4"), [10, 20, 30], mode="clip"),
    "choose, wrap": lambda a, b: np.choose(b.astype("i8"), (b, W, 1.5), mode="wrap"),
    "choose, truth": lambda a, b: np.choose(b > 0, [W, np.ones((2, 1, 1))]),
    "choose, one": lambda a, b: np.choose(b.astype("i8") * 0, [W.astype("f4")]),
    "piecewise": lambda a, b: np.piecewise(b, [b > 0, b < 0, b == 5], [lambda x: x**2, -1, 0.5]),
    "piecewise, else": lambda a, b: np.piecewise(b, [b > 1], [lambda x, y: x - x.mean() + y, 2], 3),
    "piecewise, stack": lambda a, b: np.piecewise(b, np.stack([b < 0, b > 3]), [np.cos, 9, np.negative]),
    "piecewise, zeros": lambda a, b: np.piecewise(b, [b <= 0, b != 3], [np.cos, 9, np.negative]),
    "piecewise of integers": lambda a, b: np.piecewise(b.astype(int), [b.astype(int) > 1], [1.7]),
    "searchsorted": lambda a, b: np.searchsorted([-1.0, 0, 2, 3], b, side="right"),
    "searchsorted in": lambda a, b: np.searchsorted(b[3], [0.0, 4.5], sorter=np.argsort(b[3])),
    "searchsorted, number": lambda a, b: np.searchsorted(np.sort(b[3]), 4.0),
    "intersect1d": lambda a, b: np.intersect1d(b, [5.0, 0, 0, 7]),
    "intersect1d, both": lambda a, b: np.intersect1d(a[1:], b[:2]),
    "union1d": lambda a, b: np.union1d(b, a[:1]),
    "setdiff1d": lambda a, b: np.setdiff1d(b, b[1:3]),
    "setxor1d": lambda a, b: np.setxor1d(b[:2], b[1:]),
    "lexsort": lambda a, b: np.lexsort((b[1], b[3])),
    "lexsort, rows": lambda a, b: np.lexsort(b, axis=0),
    "argwhere": lambda a, b: np.argwhere(b),
    "flatnonzero": lambda a, b: np.flatnonzero(b),
    "take_along_axis": lambda a, b: np.take_along_axis(b, np.argsort(b, axis=1), 1),
    "take_along_axis, one": lambda a, b: np.take_along_axis(b, np.argmax(b, axis=0, keepdims=True), 0),
    "unique, inverse": lambda a, b: np.unique(b, return_inverse=True)[1],
    "unique, all": lambda a, b: np.stack(np.unique(b, True, False, True)),
    "digitize": lambda a, b: np.digitize(b, [0.0, 1, 2]),
    "sinc": lambda a, b: np.sinc(b),
    "angle": lambda a, b: np.angle(b),
}


@pytest.mark.filterwarnings("ignore:All-NaN slice:RuntimeWarning")
@pytest.mark.parametrize("name", CALLS)
def test_functions(name):
    expected = CALLS[name](A, B)
    for form in FORMS:
        found = CALLS[name](tensor(A, form), tensor(B, form))
        same(found, expected, exact=expected.dtype.kind != "f")


def test_functions_leave_sparse_what_is():
    t = tamis.coo(([0, 2**30], [1, 5]), [1.0, 2.0], shape=(2**31, 2**31))
    for call in (
        np.fliplr,
        np.rot90,
        lambda x: np.insert(x[0], 3, 2.0),
        lambda x: np.diag(x[0]),
        lambda x: np.block([[x, x]]),
        lambda x: np.linalg.matrix_power(x, 3),
        lambda x: np.pad(x, 1, constant_values=0),
        lambda x: np.pad(x, 1, "median", stat_length=1),
        lambda x: np.pad(x, ((0, 0), (2, 3)), "linear_ramp"),
    ):
        assert call(t).nbytes < 10_000


def test_coordinates_outside_are_refused():
    t = tamis.asarray(B, format="csr")
    for call in (lambda: np.delete(t, 4, axis=0), lambda: np.insert(t, 5, 1.0, axis=0)):
        with pytest.raises(IndexError, match="outside of an axis of 4"):
            call()
    with pytest.raises(tamis.TamisTypeError, match="no coordinates"):
        np.delete(t, 1.5, axis=0)


@pytest.mark.parametrize("dtype", ["f8", "i4", "u1", "?", "c16"])
@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dense", "csf"])
def test_parts_that_differ(form, dtype):
    rng = np.random.default_rng(5)
    for shape in ((12, 2), (3, 9), (5, 2, 2), (4, 0), (0, 3), (7,)):
        made = (rng.integers(-1, 2, shape) * (rng.random(shape) < 0.6)).astype(dtype)
        if dtype == "c16":
            made = made + 1j * made
        for axis in range(-1, len(shape) - 1):
            expected = np.unique(made, True, True, True, axis=axis)
            for found, wanted in zip(np.unique(tensor(made, form), True, True, True, axis=axis), expected):
                same(found, wanted)
            same(np.unique(tensor(made, form), axis=axis), expected[0])
    filled = tamis.coo(([0, 1, 1, 3], [1, 0, 2, 1]), [5.0, -1, 2, 5], shape=(5, 3), fill_value=2.0)
    for axis in (0, 1):
        same(np.unique(filled, axis=axis), np.unique(filled.to_numpy(), axis=axis))
    huge = tamis.coo(([0, 1, 2], [2**40, 5, 2**40]), [1.0, 1, 1], shape=(3, 2**41))
    found, counts = np.unique(huge, return_counts=True, axis=0)
    assert counts.tolist() == [2, 1] and found[1, 5] == 1


def test_choices_are_there():
    t = tamis.asarray(B.astype("i8"), format="csr")
    for call in (
        lambda: np.choose(t, [1, 2]),
        lambda: np.piecewise(t, [t > 0], [1, 2, 3]),
        lambda: np.choose(t * 0, []),
        lambda: np.choose(t, [1, 2], mode="other"),
        lambda: np.searchsorted(t, [1.0]),
        lambda: np.pad(t, 1, "maximum", stat_length=0),
        lambda: np.pad(t[:0], 1, "mean"),
        lambda: np.pad(t, 1, "edge", reflect_type="odd"),
        lambda: np.pad(t > 0, 1, "reflect", reflect_type="odd"),
        lambda: np.vander(t),
    ):
        with pytest.raises((ValueError, TypeError)) as refused:
            call()
        assert isinstance(refused.value, tamis.TamisError)


def test_other_axes():
    t = tamis.asarray(C3, format="csf")
    same(np.nanmax(t, axis=(0, 2)), np.nanmax(C3, axis=(0, 2)))
    same(np.delete(t, 1, axis=-1), np.delete(C3, 1, axis=-1))
    same(np.insert(t, 1, 2.0, axis=1), np.insert(C3, 1, 2.0, axis=1))
    for axis in range(3):
        for call in (np.max, np.diff, np.diag):
            same(np.apply_along_axis(call, axis, t), np.apply_along_axis(call, axis, C3))
    with pytest.raises(tamis.TamisValueError, match="no lines"):
        np.apply_along_axis(np.sum, 0, t[:, :0])
    same(np.rot90(t, axes=(0, 2)), np.rot90(C3, axes=(0, 2)))
    same(np.block([t, t]), np.block([C3, C3]))
    assert np.einsum_path("ij,jk->ik", B, tamis.asarray(B))[0] == ["einsum_path", (0, 1)]


def test_missing_values_everywhere():
    t = tamis.coo(([0], [0]), [1.0], shape=(3, 2), fill_value=np.nan)
    x = t.to_numpy()
    same(np.nansum(t, axis=0), np.nansum(x, axis=0))
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning):
        expected = [np.nanmax(x, axis=1), np.nanmean(x, axis=1)]
    same(np.nanmax(t, axis=1), expected[0])
    same(np.nanmean(t, axis=1), expected[1])
    assert np.nanmean(t) == 1.0


def test_arrays_take_results():
    t = tamis.asarray(B, format="csr")
    for x in (np.ones((4, 4)), np.ones(4)):
        wanted = x @ B
        x @= t
        same(x, wanted)
    with pytest.raises(tamis.TamisTypeError, match="where beside out only"):
        np.add(t, t, where=B > 0)
    with pytest.raises(tamis.TamisTypeError, match="give it: initial="):
        np.max(t, where=B > 0)


def test_coordinates_tell_a_shape():
    t = tamis.coo(([0, 3], [1, 0]), [1.0, 2.0])
    assert t.shape == (4, 2)
    assert tamis.coo(([2],), [1]).shape == (3,)
    with pytest.raises(tamis.TamisValueError, match="give shape="):
        tamis.coo(([], []), [])


def test_refusals_say_what_to_call():
    t = tamis.asarray(B, format="csr")
    with pytest.raises(tamis.TamisTypeError, match="numpy.where"):
        t[0, 0] = 1
    with pytest.raises(tamis.TamisTypeError, match=r"array\[tensor.nonzero\(\)\]"):
        B[t > 0]
    same(B[(t > 0).nonzero()], B[B > 0])
    large = tamis.coo(([0], [0]), [1.0], shape=(10**6, 10**6))
    for call in (
        np.asarray,
        sp.csr_array,
        sl.splu,
        lambda x: sl.spsolve(x, np.ones(10**6)),
        lambda x: sp.vstack([x, x]),
        lambda x: csgraph.connected_components(x),
    ):
        with pytest.raises((TypeError, ValueError)) as refusal:
            call(large)
        # SciPy says that the refusal is the cause of its own.
        told = refusal.value if isinstance(refusal.value, tamis.TamisError) else refusal.value.__cause__
        assert "call to_scipy" in str(told) and "to_numpy" not in str(told)


def test_scipy_takes_what_refusals_name():
    t = tamis.asarray(B + np.eye(4), format="csr")
    same(sl.spsolve(t.to_scipy(), np.ones(4)), np.linalg.solve(B + np.eye(4), np.ones(4)), exact=False)
    assert sp.vstack([t.to_scipy(), t.tocoo()]).shape == (8, 4)
    for form in FORMS:
        for name in ("tocsr", "tocsc", "tocoo"):
            found = getattr(tensor(B, form), name)()
            assert found.format == name[2:]
            same(found.toarray(), B)


def test_numpy_compares():
    t = tamis.asarray(B, format="csr")
    np.testing.assert_allclose(t, B)
    np.testing.assert_array_equal(B, t)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(t, B + 1)


def test_tables_are_told():
    pandas = pytest.importorskip("pandas")
    t = tamis.asarray(B, format="csr")
    with pytest.raises(tamis.TamisTypeError, match=r"table.to_numpy\(\) @ tensor"):
        pandas.DataFrame(B) @ t
    same(pandas.DataFrame(B).to_numpy() @ t, B @ B)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_adjoints(dtype):
    made = (B[:, :3] * (1 + 2j)).astype(dtype) if dtype == "c16" else B[:, :3]
    t = tamis.asarray(made, format="csr")
    x, adjoint = np.arange(8.0).reshape(4, 2), made.conj().T
    operator = sl.aslinearoperator(t)
    for found in (operator.H @ x, operator.rmatmat(x), t.rmatmat(x)):
        same(found, adjoint @ x, exact=False)
    for one in (x[:, 0], x[:, :1]):
        same(t.rmatvec(one), adjoint @ one, exact=False)
    square = tamis.asarray(B, format="csr")
    assert sl.onenormest(square) == sl.onenormest(sp.csr_array(B))


def test_unordered_gcxs():
    parts = (np.array([1.0, 2, 3]), np.array([3, 1, 0]), np.array([0, 2, 2, 3]))
    for axes in ((0,), (1,)):
        shape = (3, 4) if axes == (0,) else (4, 3)
        x = sparse.GCXS(parts, shape=shape, compressed_axes=axes)
        same(tamis.asarray(x), x.todense())


def test_fill_values_without_a_number():
    import pickle

    for fill in (complex(np.nan, np.nan), complex(np.inf, -np.nan), complex(1, np.nan), np.nan):
        t = tamis.coo(([0],), [1 + 0j], shape=(3,), fill_value=fill)
        same(pickle.loads(pickle.dumps(t)), t.to_numpy())
        same(tamis.asarray(t, format=t.storage), t.to_numpy())
    none = tamis.asarray(np.zeros((0, 2)), format="csr")
    same(none.min(axis=0, initial=5), np.zeros((0, 2)).min(axis=0, initial=5))
    same(np.array([1.0, 0]) / tamis.asarray(np.zeros(2, complex), format="sparse"),
         np.array([complex(np.inf, np.nan), complex(np.nan, np.nan)]))
    assert 2.0 in tamis.asarray(np.array([0, 2.0]), format="sparse")


SPECIAL = [0.0, 2.5, -1.5, np.nan, np.inf, -np.inf]


@pytest.mark.parametrize("form", [*FORMS, "csf"])
def test_short_ways(form):
    """What is computed of values alone, where it can be, is what it is of all elements."""
    rng = np.random.default_rng(3)
    for least in (1, 3, 6):
        x = np.where(rng.random((4, 6)) < 0.5, rng.choice(SPECIAL[:least], (4, 6)), 0.0)
        y = np.where(rng.random((4, 6)) < 0.5, x + rng.choice([0, 1e-9, 1.0]), 0.0)
        for made in (x, -abs(x), y):
            t, other = tensor(made, form), tensor(y, form)
            with np.errstate(all="ignore"):
                for call in (
                    np.argmax,
                    np.argmin,
                    np.std,
                    lambda z: np.var(z, keepdims=True),
                    lambda z: np.repeat(z, 3, axis=1),
                    lambda z: np.repeat(z, [0, 2, 1, 3], axis=0),
                    lambda z: z[z > 1],
                    lambda z: z[z == 0],
                    lambda z: z[abs(z) >= 0],
                ):
                    same(call(t), call(made), exact=False)
                same(np.isclose(t, other), np.isclose(made, y))
                assert np.allclose(t, other) == np.allclose(made, y)
                same(np.fmax(t, other), np.fmax(made, y))


def test_short_ways_of_other_fill_values():
    for fill in (2.0, -3.0, np.nan):
        t = tamis.coo(([0, 1, 1], [1, 0, 2]), [1.0, 5, -4], shape=(2, 3), fill_value=fill, format="csr")
        for call in (np.argmax, np.argmin, np.std, lambda z: z[z > 1], lambda z: z[z < 2]):
            same(call(t), call(t.to_numpy()), exact=False)


def test_fill_values_beside_formats_with_settings():
    entries = (([0, 1], [1, 0]), [3.0, 4.0])
    for format in ("csr", "csr{pos: i64}", "csr{pos: i64, fill: 2}", "csr{f32}", "coo{f32, fill: 2.0}", "csr{ }"):
        t = tamis.coo(*entries, shape=(2, 2), format=format, fill_value=2)
        assert t.fill_value == 2 and t[0, 0] == 2 and t[0, 1] == 3
    assert tamis.coo(*entries, shape=(2, 2), format="csr{fill: 2}").fill_value == 2
    with pytest.raises(tamis.TamisValueError, match="fill value 2.0, and fill_value is 1.0"):
        tamis.coo(*entries, shape=(2, 2), format="csr{fill: 2}", fill_value=1)


def test_truth_values_are_of_two_bytes():
    t = tamis.asarray(np.eye(2), format="csr")
    odd = np.array([1, 7], dtype=np.uint8).view(bool)
    with pytest.raises(tamis.TamisValueError, match="not a bool"):
        t._with_values(odd.copy(), False)


@pytest.mark.filterwarnings("ignore:Mean of empty slice:RuntimeWarning")
@pytest.mark.parametrize("form", FORMS)
def test_means_of_nothing_that_is_held(form):
    held = np.array([[1, 0, 1, 0], [0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]], dtype=bool)
    for where in (held, tensor(held, "csr")):
        for how in ({"axis": 0}, {"axis": 1, "keepdims": True}, {}):
            with np.errstate(all="ignore"):
                expected = B.mean(where=held, **how)
            same(tensor(B, form).mean(where=where, **how), expected)
    assert np.isnan(tensor(B, form).mean(where=held[1]))


@pytest.mark.parametrize("form", FORMS)
def test_tolerances_of_each_element(form):
    near = B + 1e-3
    for rtol, atol in (([1e-5, 1e-2, 1, 1], 1e-8), (1e-5, W[:, None] * 4e-4), (W, W)):
        expected = np.isclose(B, near, rtol, atol)
        for other in (near, tensor(near, form)):
            same(np.isclose(tensor(B, form), other, rtol, atol), expected)
        assert np.allclose(tensor(B, form), near, rtol, atol) == expected.all()


@pytest.mark.parametrize("fill", [0, np.nan])
def test_numbers_among_more_elements_than_64_bits_count(fill):
    t = tamis.coo(([0, 5], [1, 2]), [3.0, np.nan], shape=(2**61, 8), fill_value=fill)
    count = 1 if np.isnan(fill) else 2.0**64
    assert np.nanmax(t) == 3 and np.nanmin(t) == (3 if count == 1 else 0)
    assert np.nanmean(t) == np.nanmean(t, axis=(0, 1)) == 3 / count
    assert np.nanmean(t, keepdims=True).shape == (1, 1)


def test_what_is_put_in_beside_another_fill_value():
    t = tamis.coo([[0, 1], [0, 1]], [1.0, 5.0], shape=(2, 2), fill_value=1)
    for added in (sp.csr_array([[0.0, 3.0]]), np.array([[0.0, 3.0]]), 0.0):
        full = added.toarray() if sp.issparse(added) else added
        same(np.insert(t, [0], added, axis=0), np.insert(t.to_numpy(), [0], full, axis=0))
    same(np.pad(t, 1, constant_values=0), np.pad(t.to_numpy(), 1, constant_values=0))


def test_values_that_do_not_fit_are_refused():
    t, x = tamis.asarray(np.eye(2, dtype="i1"), format="csr"), tamis.asarray(np.eye(2))
    for value in (300, np.nan, 1.5, 1 + 2j, 2.0**63, 2**70):
        for call in (
            lambda v: np.insert(t, 0, v),
            lambda v: np.full_like(t, v),
            lambda v: np.pad(t, 1, constant_values=v),
        ):
            if value == 1.5 and call(2).fill_value == 2:
                # As NumPy fills arrays: what is behind the point is lost.
                assert call(value).fill_value == 1
                continue
            with pytest.raises(tamis.TamisError, match="value|number|type|integer"):
                call(value)
    with pytest.raises(tamis.TamisTypeError, match="does not become float64"):
        np.insert(x, 0, 1 + 2j)
    same(np.insert(t, 0, 5.0), np.insert(t.to_numpy(), 0, 5.0))
    assert np.full_like(x, 2**70).fill_value == 2.0**70


def test_masks_have_the_length_of_the_axis():
    t = tamis.asarray(B, format="csr")
    for mask in ([True, False], [False] * 6, np.zeros(0, dtype=bool), True):
        with pytest.raises(tamis.TamisValueError, match="truth values"):
            np.delete(t, mask, axis=0)
    with pytest.raises(tamis.TamisIndexError, match="outside"):
        np.insert(t, np.ones(6, dtype=bool), 1.0, axis=0)


def test_pickles_have_arrays_of_their_own():
    import pickle

    made = sp.random_array((50, 40), density=0.2, rng=np.random.default_rng(1), format="csr")
    t = tamis.asarray(made, copy=True)
    for protocol in range(2, 6):
        found = pickle.loads(pickle.dumps(t, protocol))
        assert not found.is_borrowed and found.storage == t.storage
        same(found, made.toarray())
    lent = []
    text = pickle.dumps(t, 5, buffer_callback=lent.append)
    arrays = [bytearray(buffer) for buffer in lent]
    found = pickle.loads(text, buffers=arrays)
    for x in arrays:
        x[:] = bytes(len(x))
    same(found, made.toarray())
    shape, storage, levels, values = t.__reduce__()[1]
    levels[1] = {**levels[1], "crd": levels[1]["crd"] - 1}
    with pytest.raises(ValueError, match="invalid-tensor"):
        t.__reduce__()[0](shape, storage, levels, values)
