"""No operation stores what none of its operands has, and no result is made dense unasked."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
import tamis
from test_tensor import same

FORMATS = {1: ["sparse"], 2: ["csr", "csc", "coo", "dcsr"], 3: ["csf", "coo"]}
SHAPES = [
    ((5, 7), (5, 7)),
    ((5, 1), (1, 7)),
    ((5, 1), (5, 7)),
    ((5, 7), (1, 7)),
    ((7,), (5, 7)),
    ((5, 1), (7,)),
    ((1, 1), (5, 7)),
    ((7,), (1,)),
    ((2, 1, 4), (3, 1)),
    ((2, 1, 1), (1, 3, 4)),
]
#: Where a function may be other than its fill value.
BOTH = ["multiply", "logical_and", "bitwise_and"]
FIRST = ["divide", "floor_divide", "remainder", "fmod", "left_shift", "right_shift"]
EITHER = [
    *("add", "subtract", "minimum", "maximum", "fmin", "fmax", "power", "hypot", "copysign"),
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    *("logical_or", "logical_xor", "bitwise_or", "bitwise_xor", "arctan2", "logaddexp"),
]
NO_TRUTH = {"subtract", "left_shift", "right_shift"}


def made(seed, shape, format, dtype):
    """A tensor, where it stores something, and the array that it is."""
    rng = np.random.default_rng(seed)
    stored = rng.random(shape) < 0.35
    values = rng.integers(1, 4, shape).astype(dtype)
    coords = np.nonzero(stored)
    tensor = tamis.coo(coords, values[coords], shape=shape, format=format)
    return tensor, stored, np.where(stored, values, np.zeros((), dtype))


def stored_of(found):
    if not isinstance(found, tamis.Tensor):
        return np.ones(np.shape(found), dtype=bool)
    stored = np.zeros(found.shape, dtype=bool)
    stored[tuple(found.entries()[0])] = True
    return stored


def operands(seed, types):
    for shapes in SHAPES:
        for formats in itertools.product(*(FORMATS[len(shape)] for shape in shapes)):
            for dtype in types:
                seed += 2
                pairs = zip(shapes, formats)
                yield [made(seed + k, *pair, dtype) for k, pair in enumerate(pairs)]


def types(name):
    if name.startswith(("bitwise", "left", "right")):
        return [t for t in ("?", "i8") if t == "i8" or name not in NO_TRUTH]
    return [t for t in ("?", "f8") if t == "f8" or name not in NO_TRUTH]


@pytest.mark.parametrize("name", BOTH + FIRST + EITHER)
def test_functions_store_what_they_need(name):
    function = getattr(np, name)
    for (a, in_a, x), (b, in_b, y) in operands(1, types(name)):
        found = function(a, b)
        with np.errstate(all="ignore"):
            expected = function(x, y)
        if name in BOTH:
            needed = in_a & in_b
        else:
            needed = in_a | (in_b & (name in EITHER))
        if name in FIRST:
            expected = np.where(np.broadcast_to(in_a, needed.shape), expected, 0 * expected.dtype.type(1))
        same(found, expected, exact=False)
        extra = stored_of(found) & ~needed
        assert not extra.any(), (a, b, found)


def chosen(condition, x, y):
    """Where a choice is needed."""
    return y | condition & x


@pytest.mark.parametrize("shapes", SHAPES)
def test_choices_store_what_they_need(shapes):
    for format in FORMATS[len(shapes[0])]:
        c, in_c, condition = made(1, shapes[0], format, "?")
        t, in_t, x = made(2, shapes[1], FORMATS[len(shapes[1])][0], "f8")
        u, in_u, y = made(3, shapes[1], FORMATS[len(shapes[1])][-1], "f8")
        none = np.zeros((), dtype=bool)
        for forms, arrays, needed in [
            ((c, t, 0), (condition, x, 0), in_c & in_t),
            ((c, t, u), (condition, x, y), in_u | in_c & in_t),
            ((c, 0, t), (condition, 0, x), in_t | in_c & none),
            ((c, 2, t), (condition, 2, x), in_t | in_c),
            ((condition, t, 0), (condition, x, 0), in_t | in_c & none),
            ((condition, t, u), (condition, x, y), in_t | in_u | in_c & none),
            ((c, x, 0), (condition, x, 0), in_c | in_t & none),
        ]:
            found = np.where(*forms)
            same(found, np.where(*arrays))
            if c.size > 1 and t.size > 1:
                assert not (stored_of(found) & ~needed).any()


@pytest.mark.parametrize("format", FORMATS[2])
def test_bounds_that_absent_elements_keep(format):
    t, in_t, x = made(1, (5, 7), format, "f8")
    for function, row in [(np.minimum, 1), (np.fmin, 1), (np.maximum, -1), (np.fmax, -1)]:
        for bound in (row * np.arange(7.0), row * np.ones((5, 1)), row * np.ones((5, 7))):
            found = function(t, bound)
            same(found, function(x, bound))
            assert not (stored_of(found) & ~in_t).any()
        same(function(t, -row * np.arange(7.0)), function(x, -row * np.arange(7.0)))


def test_lazy_expressions_store_what_they_need():
    (a, in_a, x), (b, in_b, y) = made(1, (5, 1), "csr", "f8"), made(2, (1, 7), "csr", "f8")
    for call, needed in [
        (lambda p, q: p * q, in_a & in_b),
        (lambda p, q: (p + p) * (q - p), in_a & np.ones((1, 7), bool)),
        (lambda p, q: (p * q).T, (in_a & in_b).T),
    ]:
        found = tamis.compute(call(tamis.lazy(a), tamis.lazy(b)))
        same(found, call(x, y))
        assert not (stored_of(found) & ~needed).any()
        found = tamis.compute(call(tamis.lazy(sp.csr_array(a.to_scipy())), tamis.lazy(b)))
        same(found, call(x, y))


def test_large_broadcasts_stay_small():
    n = 2**40
    column = tamis.coo(([3, n - 1], [0, 0]), [1, 2], shape=(n, 1))
    row = tamis.coo(([0, 0], [5, n - 2]), [3, 4], shape=(1, n))
    for found in (column * row, column & row, np.where(column != 0, row, 0), np.fmod(column * row, 2)):
        assert found.shape == (n, n) and len(found.values) == 4
    diagonal = tamis.coo((range(10), range(10)), np.ones(10), shape=(n, n))
    vector = tamis.coo(([0, 9, n - 1],), np.ones(3), shape=(n,))
    assert len((diagonal * vector).values) == 2
    assert len((diagonal / np.float64(2)).values) == 10


@pytest.mark.filterwarnings("ignore::tamis.PerformanceWarning")
@pytest.mark.parametrize("name", ["add", "hypot", "maximum", "logaddexp", "less", "bitwise_or"])
def test_what_does_not_fit_is_refused_before_memory_is_filled(name):
    n = 2**40
    dtype = int if name == "bitwise_or" else float
    diagonal = tamis.coo((range(10), range(10)), np.ones(10, dtype), shape=(n, 4000))
    for row in (np.arange(4000, dtype=dtype), np.arange(4000, dtype=dtype)[None]):
        for pair in ((diagonal, row), (row, diagonal)):
            with pytest.raises(tamis.TamisMemoryError, match="does not fit in memory"):
                getattr(np, name)(*pair)
    with pytest.raises(MemoryError):
        np.where(diagonal != 0, row, row + 1)
    with pytest.raises(MemoryError):
        np.broadcast_to(tamis.coo(([0],), [1.0], shape=(1,)), (n, 4000))
    with pytest.raises(MemoryError):
        np.repeat(tamis.coo(([0],), [1.0], shape=(1,)), n)
    with pytest.raises(MemoryError):
        np.tile(tamis.coo(([0],), [1.0], shape=(1,)), n)
    with pytest.raises(MemoryError):
        diagonal.to_numpy()


def test_numbers_that_are_the_fill_value_are_not_stored():
    n = 2**40
    wide = tamis.coo(([1, 2], [n - 1, 5]), [1.0, 2.0], shape=(4, n))
    assert np.insert(wide, 1, 0, axis=0).nnz == 2
    assert np.insert(wide, [1, 3], 0.0, axis=0).nnz == 2
    assert np.pad(wide, 1).nnz == 2
    assert np.broadcast_to(tamis.asarray(0.0), (n, n)).nnz == 0
    values = np.eye(4)
    for added in (0, [0, 0, 5, 0], np.array([[1, 0, 0, 2.0]])):
        found = np.insert(tamis.asarray(values, format="csr"), 1, added, axis=0)
        assert found.nnz == 4 + np.count_nonzero(added)
        same(found, np.insert(values, 1, added, axis=0))


@pytest.mark.parametrize("format", ["coo", "dcsr", "(i, j) -> (j: compressed, i: compressed)"])
def test_neighbouring_axes_of_any_size_become_one_and_several(format):
    n = 10**11
    rows, columns, values = np.array([0, 0, 3, 7, 7]), np.array([1, 5, 2, 0, 5]), np.arange(1.0, 6)
    whole = tamis.coo((rows * n + 1, columns * n), values, shape=(8 * n, 6 * n), format=format)
    small = np.zeros((8, 6))
    small[rows, columns] = values
    split = whole.reshape(8, n, 1, 6, n)
    same(split[:, 1, 0, :, 0], small)
    assert split.nnz == 5
    for shape in ((8, n, 6 * n), (8 * n, 1, 6, n), (1, 8 * n, 6 * n)):
        again = whole.reshape(shape).reshape(whole.shape)
        assert not np.any(again != whole) and again.nnz == 5
    product = np.kron(whole, tamis.asarray(np.eye(2), format="csr"))
    same(product[2 :: 2 * n, :: 2 * n], small)
    with pytest.raises(tamis.TamisValueError, match="more than coordinates"):
        whole.reshape(4 * n, 12 * n)


def test_integers_of_64_bits_are_not_compared_as_floats():
    x = tamis.coo(([0],), [7], shape=(3,), fill_value=2**53)
    for made in (np.insert(x, 1, 2**53 + 1), np.pad(x, 1, constant_values=2**53 + 1)):
        assert 2**53 + 1 in made.to_numpy().tolist()


def test_what_is_empty_is_joined_whatever_its_other_dimensions():
    empty = tamis.coo(([], [], []), [], shape=(2**34, 0, 5), format="(i, j, k) -> (i: dense, j: dense, k: compressed)")
    assert np.concatenate([empty, empty], axis=1).shape == (2**34, 0, 5)


def test_coordinates_that_are_found_fit_where_the_axis_does_not():
    x = tamis.coo(([0, 1], [4, 6]), [1.0, 2], shape=(2, 2**40), format="csr{crd: i32}")
    assert x[:, ::2].nnz == 2
