"""What users of NumPy and SciPy write, in the ways in which they write it."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
import tamis

DENSE = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, -3.0], [0.0, 0.0, 0.5]])


@pytest.fixture(params=["csr", "csc", "coo", "dense", "borrowed"])
def t(request):
    if request.param == "borrowed":
        return tamis.asarray(sp.csr_array(DENSE))
    return tamis.asarray(DENSE, format=request.param)


def same(found, expected):
    found = found.to_numpy() if isinstance(found, tamis.Tensor) else found
    np.testing.assert_array_equal(found, expected)
    assert np.shape(found) == np.shape(expected)
    assert found.dtype == expected.dtype


def test_take_counts_with_truth_values(t):
    mask = np.array([True, False, True])
    for axis in (0, 1, None):
        same(np.take(t, mask, axis), np.take(DENSE, mask, axis))
        same(t.take(mask, axis), DENSE.take(mask, axis))
        same(np.take(t, [True, False], axis), np.take(DENSE, [True, False], axis))


def test_points_and_edges_may_be_tensors(t):
    edges = tamis.asarray(np.array([-1.0, 0.0, 1.0]), format="sparse")
    known = edges.to_numpy()
    same(np.digitize(t, edges), np.digitize(DENSE, known))
    same(np.digitize(DENSE, edges), np.digitize(DENSE, known))
    same(np.interp(DENSE, edges, edges), np.interp(DENSE, known, known))
    same(np.isin(t, [0.5, 2.0], assume_unique=True), np.isin(DENSE, [0.5, 2.0]))


@pytest.mark.parametrize("options", [{"dtype": None}, {"casting": "unsafe"}, {"order": "K"}])
@pytest.mark.parametrize("dtype", [None, "f4", "c16"])
def test_functions_of_elements_compute_in_a_type(t, options, dtype):
    options = options | ({} if dtype is None else {"dtype": dtype})
    same(np.add(t, t, subok=True, **options), np.add(DENSE, DENSE, **options))
    same(np.sqrt(np.abs(t), **options), np.sqrt(np.abs(DENSE), **options))
    same(np.multiply(t, 2, **options), np.multiply(DENSE, 2, **options))


def test_types_that_are_no_casts_are_refused(t):
    same(np.less(t, 1, dtype=bool), np.less(DENSE, 1))
    with pytest.raises(tamis.TamisTypeError, match="does not cast float64 to int64"):
        np.add(t, t, dtype=np.int64)
    with pytest.raises(tamis.TamisTypeError):
        np.less(t, 1, dtype=np.float64)
    same(np.add(t, t, dtype=np.int64, casting="unsafe"), (2 * DENSE.astype(int)))


def test_numbers_and_lists_are_of_the_type_that_is_asked_for(t):
    row = list(range(DENSE.shape[-1]))
    for other in (2, 2.5, row, tuple(row)):
        for function in (np.add, np.multiply, np.maximum):
            same(function(t, other, dtype="f4"), function(DENSE, other, dtype="f4"))
            same(function(other, t, dtype="f4"), function(other, DENSE, dtype="f4"))
    narrow = np.multiply(DENSE.astype("f4"), 2, dtype="f4", casting="safe")
    same(np.multiply(t.astype("f4"), 2, dtype="f4", casting="safe"), narrow)
    whole = t.astype("i8")
    with pytest.raises(tamis.TamisTypeError, match="does not cast float64 to int64"):
        np.add(whole, 2.5, dtype="i8")
    unsafe = np.add(DENSE.astype("i8"), 2.5, dtype="i8", casting="unsafe")
    same(np.add(whole, 2.5, dtype="i8", casting="unsafe"), unsafe)


@pytest.mark.parametrize("dtype", ["u1", "i1", "u8", "f4"])
def test_numbers_fit_the_type_that_is_asked_for(t, dtype):
    made = np.abs(DENSE).astype(dtype)
    whole = np.abs(t).astype(dtype)
    for number in (2, 2.5, True, 1e300, 300, -1, 2**70, 1j):
        for function in (np.add, np.maximum):
            calls = [lambda x: function(x, number, dtype=dtype), lambda x: function(number, x, dtype=dtype)]
            for call in calls:
                with np.errstate(all="ignore"):
                    try:
                        expected = call(made)
                    except (OverflowError, TypeError):
                        with pytest.raises((OverflowError, TypeError)):
                            call(whole)
                        continue
                    same(call(whole), expected)


def test_words_of_scipys_methods(t):
    matrix = sp.csr_array(DENSE)
    for k in (-1, 0, 1):
        same(t.diagonal(k=k), matrix.diagonal(k=k))
    same(t.transpose(copy=True), DENSE.T)
    for order in ("C", "F"):
        same(t.reshape((9, 1), order=order), DENSE.reshape((9, 1), order=order))
        same(t.reshape(-1, order=order), DENSE.reshape(-1, order=order))
        same(t.ravel(order=order), DENSE.ravel(order=order))
        same(t.flatten(order), DENSE.flatten(order))
        assert t.toarray(order=order).flags[f"{order}_CONTIGUOUS"]
        same(t.toarray(order=order), DENSE)
    same(t.asformat("coo", copy=True), DENSE)


def test_refusals_name_what_users_can_see(t):
    with pytest.raises(tamis.TamisTypeError, match=r"tamis.Tensor.diagonal"):
        t.diagonal(angle=3)
    with pytest.raises(tamis.TamisTypeError, match=r"tamis.array_api.vecdot"):
        tamis.array_api.vecdot(t, t, turn=3)
    with pytest.raises(tamis.TamisTypeError, match=r"tamis.dask.from_delayed"):
        tamis.dask.from_delayed(1, turn=3)


def test_what_is_computed_later_stays_so(t):
    later = tamis.lazy(t) * 3
    for made, expected in [
        (t + later, DENSE * 4),
        (t - later, DENSE * -2),
        (t * later, DENSE * DENSE * 3),
        (np.add(t, later), DENSE * 4),
        (np.maximum(t, later), np.maximum(DENSE, 3 * DENSE)),
        (t > later, DENSE > 3 * DENSE),
        (t @ later, DENSE @ (3 * DENSE)),
        (later + t, DENSE * 4),
    ]:
        assert not isinstance(made, tamis.Tensor)
        same(tamis.compute(made), expected)


def test_weights_of_an_axis_are_not_spread():
    rng = np.random.default_rng(3)
    a = np.where(rng.random((4, 5, 3)) < 0.4, rng.standard_normal((4, 5, 3)), 0)
    t = tamis.asarray(a, format="csf")
    for axis, shape in [(0, 4), (1, 5), (2, 3), ((0, 2), (4, 3)), (None, (4, 5, 3)), (1, (4, 5, 3))]:
        weights = rng.random(shape) + 0.5
        for keepdims in (False, True):
            options = {"axis": axis, "weights": weights, "keepdims": keepdims, "returned": True}
            found, expected = np.average(t, **options), np.average(a, **options)
            for x, y in zip(found, expected):
                x = x.to_numpy() if isinstance(x, tamis.Tensor) else x
                assert np.shape(x) == np.shape(y)
                np.testing.assert_allclose(x, y, rtol=1e-12)
    n = 10**7
    one = tamis.coo(([1], [2]), [1.0], shape=(n, n))
    assert np.average(one, axis=0, weights=np.ones(n)).sum() == pytest.approx(1 / n)


def test_names_that_tensors_lack_say_what_to_write(t):
    for name, way_out in [
        ("offsets", "tensor.levels and tensor.values"),
        ("eliminate_zeros", "zeros that are stored count as zeros"),
        ("sum_duplicates", "tensor.canonical()"),
        ("cos", "call numpy.cos(tensor)"),
        ("subtract", "call numpy.subtract(tensor, other)"),
        ("nansum", "call numpy.nansum(tensor)"),
        ("setdiag", "tensors never change"),
        ("nonsense", "'Tensor' object has no attribute 'nonsense'"),
    ]:
        assert not hasattr(t, name)
        with pytest.raises(AttributeError, match=re.escape(way_out)):
            getattr(t, name)


def test_tensors_never_change(t):
    for call in (
        lambda: np.fill_diagonal(t, 1),
        lambda: np.place(t, t > 0, [1]),
        lambda: np.put(t, [0], 1),
        lambda: np.putmask(t, t > 0, 1),
        lambda: np.copyto(t, DENSE),
        lambda: np.put_along_axis(t, np.array([[0]]), 1, 0),
    ):
        with pytest.raises(tamis.TamisTypeError, match="never change"):
            call()
    for call in (
        lambda x, a: np.copyto(a, x),
        lambda x, a: np.copyto(a, 7.0, where=x != 0),
        lambda x, a: np.putmask(a, x > 0, [1.0, 2.0]),
        lambda x, a: np.place(a, x < 1, x),
        lambda x, a: np.put(a, [0, 4], x[0]),
    ):
        found, expected = np.ones((3, 3)), np.ones((3, 3))
        call(t, found)
        call(DENSE, expected)
        same(found, expected)


def test_orders_are_numpys_words(t):
    for order in ("C", "F", "A", "f", "c", None):
        same(np.reshape(t, (1, 9), order=order), np.reshape(DENSE, (1, 9), order=order or "C"))
        same(np.ravel(t, order or "C"), np.ravel(DENSE, order or "C"))
        same(t.reshape(9, 1, order=order), DENSE.reshape(9, 1, order=order or "C"))
    same(t.ravel("K"), DENSE.ravel("K"))
    same(t.flatten("F"), DENSE.flatten("F"))
    same(np.copy(t, order="F"), DENSE)
    wrong = [
        lambda: t.reshape(9, order="X"),
        lambda: t.reshape(9, order="K"),
        lambda: t.ravel("X"),
        lambda: t.flatten(""),
        lambda: t.copy("X"),
        lambda: t.astype(int, order="X"),
        lambda: np.reshape(t, 9, order="K"),
        lambda: np.sqrt(t, order="X"),
        lambda: np.zeros_like(t, order="X"),
        lambda: np.add(tamis.lazy(t), 1, order="X"),
    ]
    for call in wrong:
        with pytest.raises(ValueError, match="order"):
            call()
    with pytest.raises(TypeError, match="order"):
        t.reshape(9, order=1)


def test_copies_and_axes_are_scipys_words(t):
    same(t.reshape((9, 1), copy=True), DENSE.reshape(9, 1))
    for made in (t.reshape((3, 3), copy=True), t.conj(copy=True), t.conjugate(copy=True)):
        same(made, DENSE)
        assert not np.shares_memory(made.values, t.values)
    same(t.transpose(axes=(1, 0)), DENSE.T)
    same(t.transpose(axes=None), DENSE.T)
    with pytest.raises(TypeError, match="twice"):
        t.transpose(1, 0, axes=(1, 0))


@pytest.mark.parametrize("name", ["transpose", "sum", "conj", "argmax", "tocsr"])
def test_refusals_name_the_class_that_users_know(t, name):
    with pytest.raises(TypeError, match=rf"tamis\.Tensor\.{name}\(\) got an unexpected"):
        getattr(t, name)(word=1)


def test_casting_is_asked_for_as_of_arrays(t):
    whole = t.astype(int)
    for call in (
        lambda: np.sqrt(whole, casting="no"),
        lambda: np.add(t, whole, casting="no"),
        lambda: np.add(whole, 1.5, casting="equiv"),
        lambda: t.astype(int, casting="safe"),
    ):
        with pytest.raises(TypeError, match="as they are|do not become"):
            call()
    with pytest.raises(ValueError, match="cast"):
        np.sqrt(whole, casting="never")
    # With numbers of Python NumPy itself crashes on 'equiv'.
    for number in (1, 1.5, 1j):
        for tensor in (t, whole, t.astype(np.float32), t.astype(complex)):
            for function in (np.add, np.less, np.power):
                if number != 1j or function is not np.less:
                    try:
                        function(tensor, number, casting="equiv")
                    except TypeError:
                        pass
    same(np.add(t, whole, casting="safe"), np.add(DENSE, DENSE.astype(int)))
    same(np.add(t, 1, casting="no"), DENSE + 1)
    same(t.astype(np.float32, casting="same_kind"), DENSE.astype(np.float32))


def test_expressions_are_computed_in_a_type(t):
    lazy = tamis.lazy(t)
    same(tamis.compute(np.add(lazy, lazy, dtype=np.float32)), np.add(DENSE, DENSE, dtype="f4"))
    same(tamis.compute(np.add(lazy, lazy, order="F")), DENSE + DENSE)
    with pytest.raises(TypeError, match="does not cast"):
        np.add(lazy, lazy, dtype=int)


def test_arrays_are_made_like_tensors(t):
    known = [
        (np.zeros, ((2, 3),)),
        (np.ones, (3,)),
        (np.full, ((2, 2), 3)),
        (np.full, ((3, 2), [1, 2])),
        (np.full, (2, [1.5, 2], int)),
        (np.full, ((4, 3, 3), DENSE)),
        (np.eye, (3,)),
        (np.identity, (2,)),
        (np.arange, (2, 8, 2)),
        (np.asarray, ([[1, 2]],)),
        (np.array, (DENSE,)),
    ]
    for function, arguments in known:
        made = function(*arguments, like=t)
        assert isinstance(made, tamis.Tensor)
        same(made, function(*arguments))
    assert np.asarray(t, like=t) is t
    same(np.full((2, 3, 3), t, like=t), np.full((2, 3, 3), DENSE))
    same(np.full_like(t, [1, 2, 3]), np.full_like(DENSE, [1, 2, 3]))
    for call in (
        lambda: np.array([[1, 2]], copy=False, like=t),
        lambda: np.full((2, 2), [1, 2, 3], like=t),
        lambda: np.eye(3, order="X", like=t),
    ):
        with pytest.raises(ValueError):
            call()
    assert np.array(DENSE, copy=False, like=t).is_borrowed


def test_xarray_pads_shifts_and_takes_quantiles(t):
    xarray = pytest.importorskip("xarray")
    named, known = (xarray.DataArray(x, dims=("i", "j")) for x in (t, DENSE))
    same(named.pad(i=1, constant_values=0).data, known.pad(i=1, constant_values=0).data)
    same(named.shift(i=1, fill_value=0).data, known.shift(i=1, fill_value=0).data)
    same(named.shift(i=1).data, known.shift(i=1).data)
    same(named.quantile([0.25, 0.5], "i").data, known.quantile([0.25, 0.5], "i").data)


def test_no_type_is_that_of_numpy(t):
    for made in (np.zeros(3, dtype=None, like=t), np.empty(3, None, like=t), np.ones(3, None, like=t)):
        assert made.dtype == np.zeros(3, dtype=None).dtype
