"""Functions of elements have NumPy's values and types, and leave what is sparse sparse."""

import operator
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import tamis
from conftest import array, seeds
from forms import FORMATS, tensor, where_stored
from hypothesis import given
from hypothesis import strategies as st
from test_tensor import same

TYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]


@pytest.mark.parametrize("power", [0, 1, 2, 3, 39, 2.0, 3.0, 0.5, True, np.int64(2), np.float32(3)])
@pytest.mark.parametrize("dtype", TYPES)
def test_powers(power, dtype):
    made = np.array([0, 1, 3], dtype=dtype)
    found = tamis.asarray(made, format="sparse")
    with np.errstate(all="ignore"):
        # NumPy has its own ideas of squares, and of numbers that are NumPy's beside arrays.
        expected = made**power if type(power) is int else np.power(made, power)
        if expected.dtype.kind in "iu" and expected.dtype.itemsize < 8 and power == 39:
            with pytest.raises(tamis.TamisOverflowError, match="does not fit"):
                found**power
            return
        same(found**power, expected, exact=expected.dtype.kind in "iu")
        same(tamis.compute(tamis.lazy(found) ** power), expected, exact=expected.dtype.kind in "iu")


def test_powers_of_large_integers():
    made = np.array([0, 2**62 + 1, -(3**39)])
    found = tamis.asarray(made, format="sparse")
    for power in (1, np.int64(1), found * 0 + 1):
        same(found**power, made**1)
        same(tamis.compute(tamis.lazy(found) ** power), made**1)
    small = tamis.asarray(np.array([0, 3]), format="sparse")
    same(small ** tamis.asarray(np.array([2, 39]), format="sparse"), np.array([0, 3**39]))
    same(2**small, np.array([1, 8]))
    for call in (lambda x: x**-1, lambda x: x ** np.array([-1, 1]), lambda x: 2 ** (x - 1)):
        with pytest.raises(ValueError, match="negative integer powers"):
            call(np.array([0, 3]))
        with pytest.raises(tamis.TamisValueError, match="negative integer powers"):
            call(small)


LOGICAL = {
    "sum": lambda x, y: x + y,
    "product": lambda x, y: x * y,
    "scaled": lambda x, y: (x + y) * 1.0,
    "counted": lambda x, y: (x + y).sum(axis=0),
    "all counted": lambda x, y: (x + y).sum() * 1.0,
    "multiplied": lambda x, y: (x * y).prod(axis=1) + 1,
    "mean": lambda x, y: (x + y).mean(axis=0),
    "greater": lambda x, y: np.maximum(x, y) * 2,
    "number": lambda x, y: (x + True) * 1,
    "square": lambda x, y: x**2,
    "cube": lambda x, y: x**3,
    "remainder": lambda x, y: x % (y | True),
}


@pytest.mark.parametrize("name", LOGICAL)
def test_truth_values(name):
    x, y = array(1, (4, 5), "?"), array(2, (4, 5), "?")
    call = LOGICAL[name]
    if name != "remainder":
        one, other = (tamis.lazy(tamis.asarray(z, format="csr")) for z in (x, y))
        same(tamis.compute(call(one, other)), call(x, y))
    same(call(tamis.asarray(x, format="csr"), tamis.asarray(y, format="csr")), call(x, y))


def test_truth_values_have_no_difference():
    made = array(1, (4, 5), "?")
    for x in (made, tamis.asarray(made, format="csr"), tamis.lazy(made)):
        with pytest.raises(TypeError):
            x - x
        with pytest.raises(TypeError):
            -x


UNARY = "negative absolute square sqrt cbrt exp sin arctan tanh log10 logical_not".split()
#: The functions of two operands that are 0 where the first one is absent.
DIVIDED = ("divide", "remainder")
BINARY = "add subtract multiply divide power remainder arctan2 heaviside minimum less equal".split()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", UNARY)
def test_types_of_functions_of_one_operand(name, dtype):
    made = np.array([0, 1, 1], dtype=dtype)
    found = tamis.asarray(made, format="sparse")
    function = getattr(np, name)
    with np.errstate(all="ignore"):
        try:
            expected = function(made)
        except TypeError:
            with pytest.raises(tamis.TamisTypeError):
                function(found)
            with pytest.raises(tamis.TamisTypeError):
                function(tamis.lazy(found))
            return
        if name == "negative" and dtype in ("u1", "u2", "u4"):
            with pytest.raises(tamis.TamisOverflowError, match="does not fit"):
                function(found)
            return
        same(function(found), expected, exact=False)
        same(tamis.compute(function(tamis.lazy(found))), expected, exact=False)


@pytest.mark.parametrize("dtypes", [(x, y) for x in TYPES for y in ("?", "i1", "u4", "f4", "c8")])
def test_types_of_functions_of_two_operands(dtypes):
    made = [np.array([0, 1, 2], dtype=dtypes[0]), np.array([0, 1, 1], dtype=dtypes[1])]
    x, y = (tamis.asarray(m, format="sparse") for m in made)
    for name in BINARY:
        function = getattr(np, name)
        try:
            with np.errstate(all="ignore"):
                expected = function(*made)
        except TypeError:
            for z in (x, tamis.lazy(x)):
                with pytest.raises(tamis.TamisTypeError):
                    function(z, y)
            continue
        if name in DIVIDED:
            expected[0] = 0
        for other in (y, made[1]):
            same(function(x, other), expected, exact=False)
            same(tamis.compute(function(tamis.lazy(x), other)), expected, exact=False)


def test_narrow_integers_are_refused_where_they_do_not_fit():
    found = tamis.asarray(np.array([0, 100, 7], dtype="i1"), format="sparse")
    for call in (
        lambda x: x * 2,
        lambda x: x + 100,
        lambda x: x**2,
        lambda x: np.square(x),
        lambda x: 3 - (x - 100) * 2,
        lambda x: x + x,
        lambda x: x * np.array([1, 2, 1], dtype="i1"),
    ):
        with pytest.raises(tamis.TamisOverflowError, match="does not fit"):
            call(found)
    same(found * np.int64(2), np.array([0, 200, 14]))


QUOTIENTS = {
    "number": lambda x: x / 2,
    "negative": lambda x: x / -4.0,
    "number of numpy": lambda x: x / np.float64(3),
    "greatest": lambda x: x / x.max(),
    "zero": lambda x: x / 0,
    "infinity": lambda x: x / np.inf,
    "nan": lambda x: x / np.nan,
    "below": lambda x: 1 / x,
    "below nothing": lambda x: 0 / x,
    "with fill": lambda x: (x + 1) * 2,
    "of fill": lambda x: (x + 1) / 3,
    "exponential": lambda x: np.exp(x) * 2,
    "rows": lambda x: x / np.arange(1.0, 5)[:, None],
    "columns": lambda x: x / np.array([1, -2, np.inf, 4, 5]),
    "by zeros": lambda x: x / np.array([0.0, 1, 2, 0])[:, None],
    "by some zeros": lambda x: x / np.array([0.0, 1, 2, np.nan, 5]),
    "by elements": lambda x: x / np.arange(20).reshape(4, 5),
    "integers": lambda x: x.astype(int) / np.array([[0], [1], [2], [3]]),
    "sums of rows": lambda x: x / x.sum(axis=1)[:, None],
    "means of rows": lambda x: x.mean(axis=0) / 2,
}


#: Those whose numerators are not absent.
FULL = ("below", "below nothing", "with fill", "of fill", "exponential", "means of rows")


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bcsr(2,2)", "dia", "dcsr"])
@pytest.mark.parametrize("name", QUOTIENTS)
def test_quotients(name, format):
    made = array(3, (4, 5))
    found = tamis.asarray(made, format=format)
    with np.errstate(all="ignore"):
        expected = QUOTIENTS[name](made)
        expected = expected if name in FULL else where_stored(found, expected)
        result = QUOTIENTS[name](found)
        assert isinstance(result, tamis.Tensor) or name == "means of rows"
        same(result, expected)
        if name not in ("integers", "greatest", "sums of rows"):
            lazy = tamis.compute(QUOTIENTS[name](tamis.lazy(found)))
            assert isinstance(lazy, tamis.Tensor) or name in ("means of rows", "nan", "infinity")
            same(lazy, expected)


@given(st.sampled_from(FORMATS), st.sampled_from(["f8", "i4", "?", "c16"]), st.data(), seeds)
def test_quotients_by_arrays(format, dtype, data, seed):
    made = array(seed, (4, 5), dtype)
    sizes = data.draw(st.sampled_from([(4, 1), (5,), (1, 5), (4, 5), (1, 1), (2, 4, 5), (3, 1, 1)]))
    divisor = array(seed + 1, sizes, data.draw(st.sampled_from(["f8", "i4"])), density=0.8)
    with np.errstate(all="ignore"):
        found = tensor(made, format)
        expected = where_stored(found, made / divisor)
        # Of complex numbers NumPy's infinities have signs of zeros.
        same(found / divisor, expected, exact=dtype != "c16")


@given(st.sampled_from(FORMATS), st.sampled_from(["f8", "i4"]), st.data(), seeds)
def test_functions_that_vanish_with_their_first_operand(format, dtype, data, seed):
    made = array(seed, (4, 5), dtype)
    sizes = data.draw(st.sampled_from([(4, 1), (5,), (4, 5), (2, 4, 5), ()]))
    divisor = array(seed + 1, sizes, data.draw(st.sampled_from(["f8", "i4"])), density=0.8)
    function = data.draw(st.sampled_from([np.floor_divide, np.remainder, np.fmod]))
    found = tensor(made, format)
    is_sparse = sizes == (4, 5) and data.draw(st.booleans())
    other = tamis.asarray(divisor, format="csr") if is_sparse else divisor
    with np.errstate(all="ignore"):
        expected = where_stored(found, function(made, divisor))
        same(function(found, other), expected, exact=False)


def test_quotients_store_what_is_not_zero():
    found = tamis.coo(([0, 5, 9], [1, 2, 3]), [1.0, 2.0, 3.0], shape=(10, 10**6))
    assert (found / 2).nnz == (found / np.ones(10**6)).nnz == 3
    assert (found / 0).nnz == 3 and (found / 0).fill_value == 0
    made = found / np.array([1.0] * 9 + [0])[:, None]
    assert (found * (1 / np.arange(10.0, 0, -1)[:, None])).nnz == 3
    assert made.nnz == 3
    assert np.isinf(made[9, 3]) and made[9, 4] == 0 and made[8, 4] == 0
    wide = tamis.coo(([0], [1]), [1.0], shape=(10**5, 10**6))
    for function in (np.divide, np.floor_divide, np.remainder, np.fmod):
        for divisor in (np.zeros((10**5, 1)), np.zeros(10**6), np.arange(10.0**6), 0.0, wide):
            assert function(wide, divisor).nnz == 1


def test_strict_programs_divide_what_is_absent():
    found = tamis.asarray(np.array([0, 2.0, 0]), format="sparse")
    text, divisor = "q(i) = A(i) / d(i)", np.array([0, 1.0, 4])
    assert tamis.evaluate(text, A=found, d=divisor).nnz == 1
    same(tamis.evaluate(text, A=found, d=divisor, strict=True), np.array([np.nan, 2, 0]))
    kernel = pickle.loads(pickle.dumps(tamis.compile(text, strict=True)))
    same(kernel(found, divisor), np.array([np.nan, 2, 0]))


def test_products_with_infinity_leave_absent_elements():
    found = tamis.asarray(np.array([0, 2.0, 0]), format="sparse")
    for infinity in (np.inf, np.float64(np.inf), np.array(np.inf), np.full(3, np.inf)):
        same(found * infinity, np.array([0, np.inf, 0]))


def test_results_have_places_of_their_own():
    stored = sp.csr_array(array(3, (4, 5)))
    borrowed = tamis.asarray(stored)
    made, parts = borrowed * 2, np.real(borrowed)
    assert not made.is_borrowed and not parts.is_borrowed
    expected = stored.toarray()
    stored.data[:] = 9
    stored.indices[:] = 0
    same(made, expected * 2)
    same(parts, expected)
    own = tamis.asarray(sp.csr_array(expected), copy=True)
    assert np.shares_memory((own * 2).levels[1]["crd"], own.levels[1]["crd"])


def test_long_expressions_are_several_kernels():
    made = np.array([0, 1.0, 0.5])
    x = expected = made
    lazy = tamis.lazy(tamis.asarray(made, format="sparse"))
    y, z = lazy, lazy
    for _ in range(20):
        x, y = x * x + made, y * y + lazy
        x, y = x / 4, y / 4
    same(tamis.compute(y), x, exact=False)
    for k in range(2000):
        expected, z = expected + k * made, z + k * lazy
    same(tamis.compute(z), expected, exact=False)
    same(tamis.compute((z > 0).sum()), (expected > 0).sum())


def test_sums_over_many_axes():
    found = tamis.coo([[0, 1]] * 40, [1.0, 2.0], shape=(2,) * 40)
    assert found.sum() == 3
    assert tamis.compute(tamis.lazy(found).sum()) == 3


@pytest.mark.parametrize("format", ["csr", "coo", "dense"])
@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons_of_integers_without_a_common_type(name, format):
    compared = getattr(operator, name)
    signed = np.array([[2**63 - 1, -1, 0, 5]])
    unsigned = np.array([[2**63, 2**64 - 1, 0, 5]], np.uint64)
    one, other = (tamis.asarray(x, format=format) for x in (signed, unsigned))
    same(compared(one, other), compared(signed, unsigned))
    same(tamis.compute(compared(tamis.lazy(other), one)), compared(unsigned, signed))


def test_lazy_remainders_are_those_of_integers_beside_floats():
    a, b = np.array([5, 7], np.int32), np.array([0, 2], np.int32)
    lazy = tamis.lazy(a) % tamis.lazy(b)
    np.testing.assert_array_equal(tamis.compute(lazy + np.zeros(2)), [0.0, 1.0])
    np.testing.assert_array_equal(tamis.compute((lazy + 1) * np.ones(2)), [1.0, 2.0])


def test_lazy_expressions_are_neither_arrays_nor_true():
    x = tamis.lazy(np.eye(2))
    for function in (np.count_nonzero, np.linalg.norm, lambda x: np.where(x > 0, 1, 2), bool):
        with pytest.raises(tamis.TamisTypeError, match="compute"):
            function(x)
    both = sp.csr_array(np.eye(2)) + x
    np.testing.assert_array_equal(tamis.compute(both), 2 * np.eye(2))
