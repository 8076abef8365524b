"""Reductions: of all elements by what is stored and the fill value, of complex numbers in NumPy's
order."""

import numpy as np
import pytest
import tamis
from conftest import DTYPES, array, seeds
from forms import FORMATS, tensor
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


def test_sums_over_the_most_axes():
    found = tamis.coo([[0, 1]] * 64, [1.0, 2.0], shape=(2,) * 64)
    assert found.sum() == 3 and found.max() == 2 and found.min() == 0


def test_types_of_reductions_are_taken_before_they_are_made():
    def row(values):
        return tamis.asarray(np.array([values]), format="csr")

    assert row([1, -1]).sum(axis=1, dtype=bool) == [True]
    assert row([2.5, 2.5]).sum(axis=1, dtype="int64") == [4]
    assert row([0.5, 4.0]).prod(axis=1, dtype="int64") == [0]


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
