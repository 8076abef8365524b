"""Moves that keep the order of entries, in every format: other shapes, parts joined, elements by coordinates."""

import numpy as np
import pytest
import scipy.sparse as sp
import tamis
from conftest import array, seeds
from forms import FORMATS, tensor
from hypothesis import given
from hypothesis import strategies as st

SHAPES = [(6,), (1,), (4, 6), (1, 6), (6, 1), (1, 1), (2, 3, 4), (1, 3, 1, 4), (0, 3), (3, 0)]


def same(found, expected):
    made = found.to_numpy() if isinstance(found, tamis.Tensor) else found
    assert made.dtype == expected.dtype
    np.testing.assert_array_equal(made, expected)
    if isinstance(found, tamis.Tensor) and found.ndim:
        # Whoever made it of arrays made valid ones.
        found.copy().canonical().asformat("coo").validate()
        again = tamis.coo(*found.entries(), shape=found.shape, fill_value=found.fill_value)
        np.testing.assert_array_equal(again.to_numpy(), expected)


@given(st.sampled_from(FORMATS), st.sampled_from(SHAPES), st.integers(0, 1), st.data(), seeds)
def test_moves_are_numpys(format, shape, fill, data, seed):
    x = array(seed, shape) + fill
    t = tensor(x, format)
    axis = data.draw(st.integers(0, x.ndim - 1))
    others = [s for s in SHAPES if np.prod(s) == x.size]
    for other in (*others, (-1,), (*shape, 1), (1, *shape), (*shape[:1], 1, *shape[1:])):
        if x.size or -1 not in other:
            same(t.reshape(other), x.reshape(other))
    same(np.expand_dims(t, axis), np.expand_dims(x, axis))
    same(np.squeeze(np.expand_dims(t, axis), axis), x)
    same(np.expand_dims(t, (0, -1)).squeeze(), x.squeeze())
    same(np.stack([t, t], axis=axis), np.stack([x, x], axis=axis))
    same(np.concatenate([t, t[:0], t], axis=0), np.concatenate([x, x[:0], x], axis=0))
    same(np.concatenate([t, t], axis=axis), np.concatenate([x, x], axis=axis))
    before, size = (slice(None),) * axis, shape[axis]
    steps = [slice(None, None, -1), slice(None, None, -2), slice(1, None, 2), slice(4, 0, -1)]
    lists = [[], range(size), range(size)[::-2], [*range(size)] * 2, [*range(size)][::2]]
    for key in (*steps, *(np.array(places, dtype=np.int64) for places in lists)):
        part, expected = t[(*before, key)], x[(*before, key)]
        same(part, expected)
        joined = np.concatenate([t, part, t.asformat("coo")], axis=axis)
        same(joined, np.concatenate([x, expected, x], axis=axis))
        same(np.concatenate([part, t], axis=axis), np.concatenate([expected, x], axis=axis))
    for shift in (1, -2, 7, 0):
        same(np.roll(t, shift, axis=axis), np.roll(x, shift, axis=axis))
    same(np.flip(t, axis), np.flip(x, axis))
    widths = [(1, 2)] * x.ndim
    same(np.pad(t, widths, constant_values=fill), np.pad(x, widths, constant_values=fill))
    if x.ndim > 1 and not fill:
        for k in (-1, 0, 2):
            same(np.tril(t, k), np.tril(x, k))
            same(np.triu(t, k), np.triu(x, k))
    if x.size:
        same(np.delete(t, 0, axis), np.delete(x, 0, axis))
        key = tuple(data.draw(st.lists(st.integers(-n, n - 1), min_size=4, max_size=4)) for n in shape)
        same(t[key], x[key])
        same(t[tuple(np.reshape(k, (2, 2)) for k in key)], x[tuple(np.reshape(k, (2, 2)) for k in key)])
    for found, expected in zip(t.nonzero(), x.nonzero()):
        same(found, expected)


@pytest.mark.parametrize("shape, width", [((8, 10**9), np.int32), ((2, 4 * 10**9), np.int64)])
def test_matrices_are_made_of_tensors_in_the_order_of_rows(shape, width):
    coords = [[0, 3, 3, 9], [2, 0, 5, 7], [7, 7, 8, 9]]
    found = tamis.coo(coords, [1.0, 2.0, 3.0, 4.0], shape=(10, 8, 10**8), format="csf", fill_value=1)
    made = found.reshape(shape)
    places = np.ravel_multi_index(coords, found.shape)
    assert made.format == "csr" and made.levels[1]["crd"].dtype == width and made.fill_value == 1
    np.testing.assert_array_equal(made.entries()[0], np.unravel_index(places, shape))
    np.testing.assert_array_equal(made.values, [1.0, 2.0, 3.0, 4.0])


def test_rows_and_columns_stay_what_they_are():
    x = array(3, (4, 6))
    for format, kept in (("csr", "csr"), ("csc", "csc")):
        t = tensor(x, format)
        moves = [np.tril(t), np.pad(t, 1), np.roll(t, 1, 0), np.roll(t, 1, 1), np.delete(t, 1, 0)]
        moves += [np.concatenate([t, t], 0), np.concatenate([t, t], 1), np.flip(t, 0)]
        assert {moved.format for moved in moves} == {kept}


@pytest.mark.parametrize("format", ["csr", "csc", "dcsr", "csf"])
def test_axes_of_one_element_take_no_arrays(format):
    t = tensor(array(5, (40, 60)), format)
    for made in (np.expand_dims(t, 0), t[:, None, :], t[None, ..., None]):
        assert np.shares_memory(made.values, t.values)
        assert np.shares_memory(made.squeeze().values, t.values)
        assert made.squeeze().format == t.format


def test_arrays_that_are_shared_are_looked_at_again():
    a = sp.csr_array(np.eye(3))
    t = np.expand_dims(tamis.asarray(a), 0)
    assert np.shares_memory(t.values, a.data)
    assert (t * 2).sum() == 6
    a.indices[0] = 7
    for use in (lambda: t * 2, lambda: t.sum(axis=2), lambda: t[0], lambda: np.tril(t)):
        with pytest.raises(tamis.TamisValueError):
            use()


@pytest.mark.parametrize("scheme", ["csr", "csc"])
def test_large_shared_arrays_are_looked_at_in_every_call(scheme):
    a = sp.random_array((300, 200), density=0.6, format=scheme, rng=np.random.default_rng(7))
    t, x = tamis.asarray(a), np.arange(200.0)
    assert np.shares_memory(t.values, a.data) and t.values.size > 1 << 15
    # After some calls nobody looks at the order any more.
    for _ in range(12):
        np.testing.assert_allclose(tamis.evaluate("y(i) = A(i,j) * x(j)", A=t, x=x), a @ x)
    kept = a.indices[5]
    for outside in (300, -1, 2**31 - 1):
        a.indices[5] = outside
        with pytest.raises(tamis.TamisValueError, match="in operand A|outside"):
            tamis.evaluate("y(i) = A(i,j) * x(j)", A=t, x=x)
    a.indices[5] = kept
    np.testing.assert_allclose(tamis.evaluate("y(i) = A(i,j) * x(j)", A=t, x=x), a @ x)


def test_coordinates_outside_are_refused():
    t = tensor(array(5, (4, 6)), "csr")
    for key in (([4], [0]), ([0], [6]), ([-5], [0])):
        with pytest.raises(tamis.TamisIndexError):
            t[key]
    from tamis import _native

    for coords in ([[4], [0]], [[0], [6]], [[0, 1], [0]], [[0]], []):
        with pytest.raises(tamis.TamisValueError):
            _native.positions(t, [np.array(c) for c in coords])


@given(st.sampled_from(["csr", "csc", "csf"]), st.sampled_from(["f8", "f4", "i4", "?", "c16"]), seeds)
def test_variances_by_sums_are_numpys(format, dtype, seed):
    for density in (0.1, 0.4, 0.9):
        x = array(seed, (7, 9), dtype, density)
        for shifted in (0, 1):
            made = x + np.asarray(shifted).astype(x.dtype)
            t = tamis.asarray(x, format=format) + np.asarray(shifted).astype(x.dtype)[()]
            for axis in (0, 1, None):
                for ddof in (0, 1):
                    expected = np.var(made.astype(complex if dtype == "c16" else float), axis, ddof=ddof)
                    found = np.var(t, axis, ddof=ddof)
                    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-7)


def test_a_variance_keeps_its_digits():
    x = np.zeros((1000, 3))
    x[:900, 0] = 1e8 + np.arange(900) % 2
    x[::2, 1] = 1e8
    x[:, 2] = 1e8
    t = tamis.asarray(x, format="csr")
    np.testing.assert_allclose(np.var(t, axis=0), np.var(x, axis=0), rtol=1e-9)


@pytest.mark.parametrize("large", [1e155, 1e200, np.inf, np.nan])
def test_variances_beyond_floats_are_numpys(large):
    x = np.zeros((3, 9))
    x[0, 1], x[1, 2], x[0, 5] = large, 3, 2
    for axis in (None, 0, 1):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(np.var(tamis.asarray(x, format="csr"), axis), np.var(x, axis))
