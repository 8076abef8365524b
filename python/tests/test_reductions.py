"""Reductions: of all elements by what is stored and the fill value, of complex numbers in NumPy's
order."""

import warnings

import numpy as np
import pytest
import tamis
from conftest import DTYPES, array, seeds
from forms import FORMATS, tensor, where_stored
from hypothesis import given
from hypothesis import strategies as st
from test_tensor import same

NAMES = ["sum", "prod", "min", "max", "any", "all"]


def shifted(made, fill, format):
    """A tensor of the elements of an array that does not store those that are a fill value."""
    coords = (made != fill).nonzero()
    found = tamis.coo(coords, made[coords], shape=made.shape, fill_value=fill)
    return found.asformat(format)


@given(
    st.sampled_from(NAMES),
    st.sampled_from(DTYPES),
    st.sampled_from(FORMATS),
    st.tuples(st.integers(1, 5), st.integers(1, 5)),
    seeds,
)
def test_all_elements(name, dtype, format, shape, seed):
    made = array(seed, shape, dtype)
    found = tensor(made, format)
    same(getattr(found, name)(), getattr(made, name)())
    same(getattr(np, name)(found), getattr(made, name)())
    if made.dtype.kind in "if":
        # Where all that is stored is less, or more, than what is not.
        for sign in (1, -1):
            same(getattr(sign * abs(found), name)(), getattr(sign * abs(made), name)())


@given(
    st.sampled_from(NAMES),
    st.sampled_from(["f8", "i4", "c16", "?"]),
    st.sampled_from(["csr", "coo", "csf"]),
    st.sampled_from([1, 2, -2]),
    seeds,
)
def test_all_elements_with_a_fill_value(name, dtype, format, fill, seed):
    made = array(seed, (3, 4), dtype)
    fill = made.dtype.type(fill)
    made[made == 0] = fill
    same(getattr(shifted(made, fill, format), name)(), getattr(made, name)())


@pytest.mark.parametrize("name", NAMES)
def test_no_elements(name):
    made = np.zeros((0, 3))
    found = tamis.asarray(made, format="csr")
    if name not in ("min", "max"):
        same(getattr(found, name)(), getattr(made, name)())
    nothing = np.zeros((2, 3))
    same(getattr(tamis.asarray(nothing, format="csr"), name)(), getattr(nothing, name)())


@pytest.mark.parametrize("name", ["min", "max", "sum", "any", "all"])
@pytest.mark.parametrize("place", [0, 3])
def test_what_is_no_number(name, place):
    made = np.array([0.0, 1.0, -2.0, 0.0])
    made[place] = np.nan
    found = tamis.asarray(made, format="sparse")
    same(getattr(found, name)(), getattr(made, name)())
    fill = tamis.coo(([1],), [1.0], shape=(4,), fill_value=np.nan)
    same(getattr(fill, name)(), getattr(fill.to_numpy(), name)())


def test_sums_of_64_bits_wrap_around():
    made = np.full(4, 2**62)
    same(tamis.asarray(made, format="sparse").sum(), made.sum())


@given(
    st.sampled_from(["min", "max"]),
    st.sampled_from([None, 0, 1, 2, (0, 2), (1, 2), (0, 1, 2)]),
    st.sampled_from([0, 1j, -2]),
    seeds,
)
def test_extremes_of_complex_numbers(name, axis, fill, seed):
    made = array(seed, (2, 3, 2), "c16", 0.7)
    made[made == 0] = fill
    found = shifted(made, fill, "csf")
    same(getattr(found, name)(axis=axis), getattr(made, name)(axis=axis))
    same(tamis.compute(getattr(tamis.lazy(found), name)(axis=axis)), getattr(made, name)(axis=axis))


def test_complex_numbers_have_an_order():
    made = array(1, (4, 5), "c16")
    found = tamis.asarray(made, format="csr")
    for call in (
        lambda x: np.argmax(x, axis=1),
        lambda x: np.argmin(x),
        lambda x: np.ptp(x, axis=0),
        lambda x: np.maximum(x, x.T.T[::-1]),
        lambda x: x < x[::-1],
        lambda x: x >= 1j,
    ):
        same(call(found), call(made))


def test_extents_beside_infinite_fill_values():
    for fill in (np.inf, -np.inf):
        for shape in ((3, 4), (4, 5, 7)):
            for axis in range(len(shape)):
                found = tamis.coo([[1]] * len(shape), [2.0], shape=shape, fill_value=fill)
                with np.errstate(invalid="ignore"):
                    same(np.ptp(found, axis=axis), np.ptp(found.to_numpy(), axis=axis))


def test_sums_over_the_most_axes():
    found = tamis.coo([[0, 1]] * 64, [1.0, 2.0], shape=(2,) * 64)
    assert found.sum() == 3 and found.max() == 2 and found.min() == 0


def test_types_of_reductions_are_taken_before_they_are_made():
    def row(values):
        return tamis.asarray(np.array([values]), format="csr")

    assert row([1, -1]).sum(axis=1, dtype=bool) == [True]
    assert row([2.5, 2.5]).sum(axis=1, dtype="int64") == [4]
    assert row([0.5, 4.0]).prod(axis=1, dtype="int64") == [0]
    # Integers are added up as they are, and what does not fit is refused.
    assert row([-4, 21]).sum(axis=1, dtype="u2") == [17]
    assert row([-4, 21]).mean(axis=1, dtype="u2") == row([-4, 20]).mean(axis=1, dtype="i1") == [8]
    assert row([200, 201]).mean(axis=1, dtype="u1") == [200]
    with pytest.raises(tamis.TamisOverflowError):
        row([-4, 2]).sum(axis=1, dtype="u2")
    assert isinstance(np.nanmax(row([np.nan, 2.0])), np.float64)


def test_integers_in_lazy_floats_are_exact():
    one, other = (tamis.asarray(np.array([[2**53 + k]]), format="csr") for k in (1, 0))
    lazily = tamis.lazy(one)
    assert tamis.compute((lazily - other) * 0.5)[0, 0] == 0.5
    assert tamis.compute((lazily > other) * 1.0)[0, 0] == 1.0
    assert tamis.compute((lazily - other).sum() * 0.5) == 0.5


@pytest.mark.parametrize("dtype", ["int16", "int64", "uint8", "bool"])
@pytest.mark.parametrize("ord", [None, 1, -1, 2, 3, np.inf, 0])
def test_norms_of_integers_are_floats(dtype, ord):
    dense = np.array([[100, 0, 1], [90, 120, 3]]).astype(dtype)
    tensor = tamis.asarray(dense, format="csr")
    with np.errstate(divide="ignore"):
        expected = np.linalg.norm(dense.astype(float), ord, axis=1)
        got = np.linalg.norm(tensor, ord, axis=1)
    assert np.asarray(got).dtype == expected.dtype
    np.testing.assert_allclose(np.asarray(got), expected)


def test_truth_beside_an_initial_number_stays_truth():
    tensor = tamis.asarray(np.array([[True], [False]]), format="csr")
    same(tensor.max(axis=0, initial=3), np.array([True]))
    same(tensor.sum(axis=0, dtype=bool, initial=3), np.array([True]))
    same(tensor.max(axis=0, where=np.array([[True], [True]]), initial=0), np.array([True]))
    same(tensor.min(axis=0, where=np.array([[True], [False]]), initial=1), np.array([True]))
    numbers = tamis.asarray(np.eye(2, dtype="i4"), format="csr")
    for how in ({}, {"where": np.eye(2, dtype=bool)}):
        with pytest.raises(OverflowError):
            numbers.min(axis=0, initial=np.inf, **how)
    with pytest.raises(OverflowError):
        numbers[:0].max(axis=0, initial=np.inf)


LARGE = {
    "int64": np.array([[2**62, 2**62, 0], [2**62, 0, -5]]),
    "uint64": np.array([[2**63, 2**63, 1], [2**63 + 2**12, 0, 0]], dtype="u8"),
    "int32": np.array([[2**31 - 1, 7, 0], [2**31 - 1, 2**31 - 1, 0]], dtype="i4"),
    "bool": np.array([[True, False, False], [True, True, True]]),
    "float16": np.array([[1, 0, 2], [3, 0, 0]], dtype="f2"),
    "float32": np.array([[0.1, 0, 2], [3, 0, 0.7]], dtype="f4"),
    "float64": np.array([[0.1, 0, 2], [3, 0, 0.7]]),
    "complex64": np.array([[0.1j, 0, 2], [3, 0, 0.7]], dtype="c8"),
}


@pytest.mark.parametrize("dtype", LARGE)
@pytest.mark.parametrize("kind", [None, "f4", "f8", "c16"])
@pytest.mark.parametrize("fill", [0, 1])
def test_means_and_spreads_are_in_floats(dtype, kind, fill):
    made = LARGE[dtype]
    if fill:
        made = np.where(made == 0, made.dtype.type(fill), made)
    found = shifted(made, made.dtype.type(fill), "csr")
    if made.dtype.kind == "c" and kind in ("f4", "f8"):
        return
    tolerance = 2e-3 if "f2" in (made.dtype.str[1:], kind) else 1e-5
    # Rounded to 32 bits, NumPy's single elements differ from their means.
    for axis in (None, 0, 1, -1, (0, 1), *[()] * (kind != "f4")):
        for keepdims in (False, True):
            how = {"axis": axis, "dtype": kind, "keepdims": keepdims}
            for name in ("mean", "var", "std"):
                calls = [lambda x: getattr(np, name)(x, **how), lambda x: getattr(x, name)(**how)]
                if name != "mean":
                    calls.append(lambda x: getattr(np, name)(x, ddof=1, **how))
                    calls.append(lambda x: getattr(np, name)(x, correction=0.5, **how))
                for call in calls:
                    with np.errstate(all="ignore"), warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        one, other = call(found), call(made)
                    one = one.to_numpy() if isinstance(one, tamis.Tensor) else np.asarray(one)
                    assert one.dtype == other.dtype and one.shape == np.shape(other), (name, how)
                    scale = np.abs(made).astype("f8").max() ** (2 if name == "var" else 1)
                    # What NumPy computes in 32 bits is as exact as that.
                    near = scale * tolerance if kind == "f4" else 0
                    np.testing.assert_allclose(one, other, tolerance, near, err_msg=f"{name} {how}")
        lazily = tamis.compute(tamis.lazy(found).mean(axis=axis, dtype=kind))
        lazily = lazily.to_numpy() if isinstance(lazily, tamis.Tensor) else lazily
        np.testing.assert_allclose(lazily, made.mean(axis=axis, dtype=kind), rtol=tolerance)


def test_means_of_a_type_of_integers():
    made = np.array([[1, 2, 4], [0, 0, 9]])
    found = tamis.asarray(made, format="csr")
    for axis in (None, 0, 1):
        same(found.mean(axis, dtype=int), made.mean(axis, dtype=int))
        same(found.var(axis, dtype=int), made.var(axis, dtype=int))
    same(tamis.asarray(made / 2, format="csr").mean(0, dtype="i4"), (made / 2).mean(0, dtype="i4"))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
def test_spreads_around_large_means_are_exact(dtype):
    rng = np.random.default_rng(1)
    center = {"f4": 1e4, "f8": 1e9, "i8": 2**40}[dtype]
    made = (center + rng.integers(-3, 4, size=(400, 50))).astype(dtype)
    expected = made.astype("f8") - center
    found = tamis.asarray(made, format="csr")
    for axis in (None, 0, 1):
        got = np.asarray(found.var(axis), dtype="f8")
        np.testing.assert_allclose(got, expected.var(axis), rtol=1e-6 if dtype == "f4" else 1e-12)


def test_reductions_of_many_rows_are_sparse():
    many = 2**40
    found = tamis.coo(([0, 2**39, 5], [1, 2**30, 3]), [1.0, 2.0, -3.0], shape=(many, many))
    small = np.array([1.0, 2.0, -3.0])
    for name in ("min", "max", "prod", "all", "any", "sum", "mean", "var", "std", "argmax", "argmin"):
        for axis, coords in ((1, (0, 2**39, 5)), (0, (1, 2**30, 3))):
            made = getattr(found, name)(axis=axis)
            assert isinstance(made, tamis.Tensor) and made.shape == (many,), name
            assert made.fill_value == 0 and made.nnz <= 3
            if name in ("min", "max"):
                expected = getattr(np, f"{name}imum")(small, 0)
                assert [made[k] for k in coords] == list(expected)
    assert found.max(axis=1, keepdims=True).shape == (many, 1)
    assert found.argmin(axis=1)[5] == 3 and found.argmax(axis=1)[2**39] == 2**30
    cube = tamis.coo(([1, 2], [3, 4], [5, 6]), [1.0, 2.0], shape=(many, many, many))
    assert cube.max(axis=2)[2, 4] == 2 and cube.argmax(axis=0)[4, 6] == 2


@pytest.mark.parametrize("dtype", ["f8", "c16", "f4"])
def test_unique_counts_nan_as_numpy_does(dtype):
    made = np.array([np.nan, 1, np.nan, 0, 1, np.nan], dtype=dtype)
    full = tamis.asarray(made, format="sparse")
    coords = np.flatnonzero(made == made)
    partly = tamis.coo((coords,), made[coords], shape=made.shape, fill_value=made.dtype.type(np.nan))
    for found in (full, partly):
        for equal in (True, False):
            same(np.unique(found, equal_nan=equal), np.unique(made, equal_nan=equal))
            counted = np.unique(found, return_counts=True, equal_nan=equal)
            for one, other in zip(counted, np.unique(made, return_counts=True, equal_nan=equal)):
                same(one, other)
    many = tamis.coo(([0], [0]), [1.0], shape=(2**40, 2**40), fill_value=np.nan)
    assert len(np.unique(many)) == 2
    for call in (tamis.array_api.unique_values, tamis.array_api.unique_counts):
        with pytest.raises(tamis.TamisValueError, match="each a value by itself"):
            call(many)


def test_a_complex_zero_divides_as_numpys():
    top = np.array([1.0, 0.0, 1j, -2.0])
    below = np.array([0, 0, 0, 1 + 1j])
    for one in (top, top.real):
        for x in (one, tamis.asarray(one, format="sparse")):
            found = tamis.asarray(below, format="sparse")
            with np.errstate(all="ignore"):
                expected = one / below
            if isinstance(x, tamis.Tensor):
                expected = where_stored(x, expected)
            for made in (x / found, tamis.compute(tamis.lazy(x) / found)):
                same(made, expected, exact=False)


@given(
    st.sampled_from(DTYPES),
    st.sampled_from(FORMATS),
    st.sampled_from([0, 1, -1, (0, 1), None]),
    st.booleans(),
    seeds,
)
def test_counts_of_lines(dtype, format, axis, keepdims, seed):
    made = array(seed, (4, 3), dtype)
    found = tensor(made, format)
    for x, y in ((found, made), (found * 0, made * 0), (found.T, made.T)):
        same(np.count_nonzero(x, axis=axis, keepdims=keepdims), np.count_nonzero(y, axis=axis, keepdims=keepdims))
    cube = array(seed, (2, 3, 4), dtype)
    for form in ("csf", "dds", "dss"):
        same(np.count_nonzero(tamis.asarray(cube, format=form), axis=2), np.count_nonzero(cube, axis=2))


@given(
    st.sampled_from(["f8", "f4", "i4", "c16"]),
    st.sampled_from([0, 1, None]),
    st.sampled_from([0, 2, np.nan]),
    st.booleans(),
    seeds,
)
def test_places_of_numbers(dtype, axis, fill, keepdims, seed):
    made = array(seed, (4, 5), dtype, 0.6)
    if made.dtype.kind != "i":
        made[seed % 4, seed % 5] = np.nan
    fill = 0 if made.dtype.kind == "i" else fill
    made[made == 0] = fill
    found = shifted(made, fill, "csr")
    for search in (np.nanargmax, np.nanargmin):
        if np.isnan(made).all(axis=axis).any():
            with pytest.raises(ValueError, match="NaN"):
                search(found, axis=axis)
        else:
            same(search(found, axis=axis, keepdims=keepdims), search(made, axis=axis, keepdims=keepdims))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "?", "c16"])
def test_accumulate_and_reduceat(dtype, format):
    made = array(8, (5, 4), dtype)
    t = tensor(made, format)
    for function in (np.add, np.multiply, np.maximum, np.minimum, np.logical_or, np.logical_and):
        for axis in (0, 1, -2):
            same(function.accumulate(t, axis=axis), function.accumulate(made, axis=axis))
            for places in ([0, 2], [3, 0, 1], [1, 1, 2, 0]):
                same(function.reduceat(t, places, axis=axis), function.reduceat(made, places, axis=axis))
    same(np.add.accumulate(t[0], axis=None), np.add.accumulate(made[0], axis=None))
    same(np.add.reduceat(t, np.array([1, 3]), dtype="c16"), np.add.reduceat(made, [1, 3], dtype="c16"))


def test_reduceat_of_other_tensors():
    made = array(9, (3, 4, 5))
    for axis in range(3):
        same(np.add.reduceat(tensor(made, "csf"), [2, 0], axis), np.add.reduceat(made, [2, 0], axis))
    filled = tamis.coo(([0, 3], [1, 2]), [5.0, -1], shape=(4, 3), fill_value=2.0)
    for function in (np.add, np.maximum):
        same(function.reduceat(filled, [0, 1]), function.reduceat(filled.to_numpy(), [0, 1]))
        same(function.accumulate(filled), function.accumulate(filled.to_numpy()))
    huge = tamis.coo(([5, 2**40], [3, 2]), [1.0, 2], shape=(2**41, 10**6))
    assert np.add.reduceat(huge, [0, 3], axis=1).nnz == 2
    for call, error in [
        (lambda: np.add.reduceat(filled, [4]), IndexError),
        (lambda: np.add.reduceat(filled, [-1]), IndexError),
        (lambda: np.add.reduceat(filled, [0.5]), ValueError),
        (lambda: np.add.accumulate(filled, axis=(0, 1)), TypeError),
        (lambda: np.maximum.accumulate(huge), MemoryError),
    ]:
        with pytest.raises(error) as refused:
            call()
        assert isinstance(refused.value, tamis.TamisError)
